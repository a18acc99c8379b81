use super::*;
use crate::lock::Place;

#[test]
fn admit_refuses_every_wrong_bit() {
    let mut page = vec![0; 256];
    header::init(&mut page, ptr(0x0102_0304), Kind::Branch, 5);
    header::set_count(&mut page, 0xABCD);
    let check = |page: &[u8]| admit(page, ptr(0x0102_0304), Kind::Branch, 5);
    assert_eq!(check(&page), Ok(0xABCD));
    for bit in 0..128 {
        let mut page = page.clone();
        page[8 + bit / 8] ^= 1 << (bit % 8);
        match bit / 8 {
            6 | 7 => assert!(check(&page).is_ok_and(|count| count != 0xABCD)),
            _ => assert_eq!(check(&page), Err(Reason::Header)),
        }
    }
    header::set_ptr(&mut page, ptr(9));
    assert_eq!((header::ptr(&page), header::level(&page)), (ptr(9), 5));
    assert_eq!(admit(&page, ptr(9), Kind::Branch, 5), Ok(0xABCD));
}

#[test]
fn seal_sees_every_bit() {
    let seal = Seal::new(&[7; 16]);
    let mut page = Rng(1).bytes(256);
    seal.stamp(&mut page);
    assert_eq!(seal.verify(&page), Ok(()));
    assert_eq!(Seal::new(&[8; 16]).verify(&page), Err(Reason::Checksum));
    for bit in (0..256 * 8).step_by(sized(1, 61)) {
        page[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(seal.verify(&page), Err(Reason::Checksum));
        page[bit / 8] ^= 1 << (bit % 8);
    }
    figure("flip", "flips of a sealed page seen", 256 * 8 / sized(1, 61) as u64);
}

#[test]
fn run_references_come_back() {
    let run = RunRef { pgno: Pgno(9), birth: Txnid(1 << 40), bytes: 5000, checksum: u64::MAX };
    assert_eq!(RunRef::decode(&run.encode()), Ok(run));
    assert_eq!((run.pages(4096), run.pages(256), overflow_pages(4096, 4096)), (2, 20, 1));
    assert_eq!(RunRef::decode(&run.encode()[1..]), Err(Reason::Run));
    let refused = [
        RunRef { pgno: Pgno(0), ..run },
        RunRef { bytes: 0, ..run },
        RunRef { bytes: MAX_VALUE_BYTES as u32 + 1, ..run },
    ];
    for run in refused {
        assert_eq!(RunRef::decode(&run.encode()), Err(Reason::Run));
    }
}

fn tree() -> Tree {
    Tree {
        root: ptr(50),
        depth: 3,
        order: OrderKind::Native8,
        entries: 1 << 33,
        branch_pages: 2,
        leaf_pages: 3,
        overflow_pages: 4,
        sequence: 5,
        changed: Txnid(6),
        ..Tree::default()
    }
}

#[test]
fn trees_come_back() {
    for order in 0..5 {
        let order = OrderKind::decode(order).unwrap();
        let empty = Tree::new(order);
        assert_eq!(Tree::decode(&empty.encode()), Ok(empty));
    }
    let bytes = tree().encode();
    assert_eq!(Tree::decode(&bytes), Ok(tree()));
    assert_eq!(Tree::decode(&bytes[1..]), Err(Reason::Tree));
    // Depth, order, flags, root, the length of values and the reserved end.
    let wrong =
        [(4, 0), (4, 41), (5, 5), (6, 2), (6, 4), (7, 1), (0, 0), (52, 1), (56, 1), (63, 1)];
    for (at, value) in wrong {
        let mut bytes = bytes;
        bytes[at] = value;
        assert_eq!(Tree::decode(&bytes), Err(Reason::Tree), "byte {at} = {value}");
    }
}

#[test]
fn multimaps_come_back() {
    let many = |order, equal| Some(ManyValues { order, equal });
    for order in (0..5).map(|order| OrderKind::decode(order).unwrap()) {
        for (equal, fixed_bytes) in [(false, 0), (true, 4), (true, 8)] {
            let table = Tree { many: many(order, equal), fixed_bytes, ..tree() };
            if order.key_bytes().is_some_and(|bytes| bytes != fixed_bytes as usize) {
                // Integers have the length of their order.
                assert_eq!(Tree::decode(&table.encode()), Err(Reason::Tree), "{table:?}");
                continue;
            }
            assert_eq!(Tree::decode(&table.encode()), Ok(table));
            let values = Tree { root: ptr(9), depth: 2, entries: 7, ..table.of_values() };
            assert_eq!(table.decode_values(&values.encode()), Ok(values));
            assert_eq!(values.has_fixed_leaves(), fixed_bytes != 0);
        }
    }
    let table = Tree { many: many(OrderKind::Reversed, true), fixed_bytes: 8, ..tree() };
    // An order of values, and a length of values of any length.
    for (at, value) in [(7, 5), (6, 1)] {
        let mut bytes = table.encode();
        bytes[at] = value;
        assert_eq!(Tree::decode(&bytes), Err(Reason::Tree), "byte {at} = {value}");
    }
    // One length, which is not known only as long as there are no values.
    let unknown = Tree { fixed_bytes: 0, ..table };
    assert_eq!(Tree::decode(&unknown.encode()), Err(Reason::Tree));
    let empty = Tree { many: unknown.many, ..Tree::new(OrderKind::Bytes) };
    assert_eq!(Tree::decode(&empty.encode()), Ok(empty));
    let values = Tree { root: ptr(9), depth: 2, entries: 7, ..table.of_values() };
    let wrong = [
        Tree { order: OrderKind::Bytes, ..values },
        Tree { fixed_bytes: 4, ..values },
        Tree { overflow_pages: 1, ..values },
        Tree { sequence: 1, ..values },
        Tree { many: table.many, ..values },
        Tree { entries: 0, ..values },
        table.of_values(),
    ];
    for wrong in wrong {
        assert_eq!(table.decode_values(&wrong.encode()), Err(Reason::Tree), "{wrong:?}");
    }
    assert_eq!(tree().decode_values(&values.encode()), Err(Reason::Tree), "a plain table");
    assert!(Tree::decode(&values.encode()).is_err(), "a tree of values is no table");
}

#[test]
fn chunks_come_back() {
    for page_bytes in [256, 4096, sized(65536, 512)] {
        let items: Vec<Item> = (1..=chunk_capacity(page_bytes) as u32)
            .map(|i| Item { pgno: i, pages: i % 3, birth: u64::from(i), freed: u64::MAX })
            .collect();
        let mut page = vec![0xFF; page_bytes];
        write_chunk(&mut page, ptr(5), ptr(6), &items);
        let count = admit(&page, ptr(5), Kind::Chunk, 0).unwrap();
        let chunk = Chunk::view(&page, count).unwrap();
        assert_eq!((chunk.next(), chunk.count()), (ptr(6), items.len()));
        let read: Result<Vec<Item>, Reason> = chunk.items().collect();
        assert_eq!(read.as_ref(), Ok(&items));
        assert_eq!(chunk.item(items.len()), Err(Reason::Count));
        assert!(Chunk::view(&page, 79).is_err() && Chunk::view(&page[..40], 0).is_err());
        page[48..56].fill(0xFF);
        assert_eq!(Chunk::view(&page, count).unwrap().item(0), Err(Reason::Space));
        page[48..56].fill(0);
        assert_eq!(Chunk::view(&page, count).unwrap().item(0), Err(Reason::Space));
    }
    let large = Item::run(Pgno(8), 3, Txnid(1), Txnid(2), false);
    assert_eq!(Item::decode(&large.encode()), Ok(large));
    let none = Item::run(Pgno(8), 0, Txnid(1), Txnid(2), false);
    assert_eq!(Item::decode(&none.encode()), Err(Reason::Space));
    assert_eq!((chunk_capacity(256), chunk_capacity(4096)), (8, 78));
}

pub(super) fn meta() -> Meta {
    Meta {
        uuid: [0x3C; 16],
        page_bytes: 4096,
        commit: CommitKind::OneFlush,
        txnid: Txnid(200),
        before: Txnid(190),
        ceiling: 1 << 32,
        geometry: PageGeometry { min_pages: 10, max_pages: 1000, grow: 16, shrink: 32 },
        used: 100,
        main: tree(),
        markers: [1, 2, u64::MAX],
        markers_txnid: 150,
        app_flags: 0xF0F0,
        sweep: Sweep::default(),
        place: Place::default(),
        names: false,
        items: vec![Item { pgno: 70, pages: 30, birth: 1, freed: 2 }; META_ITEMS_MAX],
    }
}

#[test]
fn metas_come_back() {
    let empty = Meta { items: Vec::new(), main: Tree::default(), ..meta() };
    let fresh = Meta { txnid: Txnid(1), before: Txnid(0), used: 3, ..empty.clone() };
    let two_flush = Meta { commit: CommitKind::TwoFlush, ..meta() };
    for meta in [meta(), empty, fresh, two_flush, Meta { names: true, ..meta() }] {
        assert_eq!(Meta::decode(&meta.encode()), Ok(meta));
    }
    assert_eq!([256, 4096, 8192, 16384, 65536].map(first_data_page), [48, 3, 2, 1, 1]);
}

/// A commit writes its list where another one was: nothing of that is left.
#[test]
fn a_block_that_held_another_meta_is_written_whole() {
    let mut block = [0; META_BYTES];
    let whole = meta();
    for count in [META_ITEMS_MAX, 1, 0, 77, 76, META_ITEMS_MAX, 0] {
        let (items, rest) = whole.items.split_at(count);
        assert_eq!(items.len() + rest.len(), META_ITEMS_MAX);
        let head = Meta { items: Vec::new(), txnid: Txnid(191 + count as u64 % 9), ..meta() };
        let used = head.encode_listing(items.iter().copied(), &mut block).unwrap();
        assert!(block[used..].iter().all(|byte| *byte == 0));
        let fresh = Meta { items: items.to_vec(), ..head };
        assert_eq!(block, fresh.encode());
        assert_eq!(Meta::decode(&block), Ok(fresh));
    }
    let flawed = Meta { txnid: Txnid(0), ..meta() };
    assert!(flawed.encode_listing(std::iter::empty(), &mut block).is_err());
}

#[test]
fn metas_refuse_every_flip() {
    for names in [false, true] {
        let block = Meta { names, ..meta() }.encode();
        let mut flips = 0;
        for bit in (0..META_BYTES * 8).step_by(sized(1, 4001)) {
            let mut block = block;
            block[bit / 8] ^= 1 << (bit % 8);
            let fault = Meta::decode(&block).unwrap_err();
            let right = match bit / 8 {
                0..4 => fault == MetaFault::NotADatabase,
                4..8 => matches!(fault, MetaFault::Version(_)),
                // The features of a journal and of names: what belongs to them says otherwise.
                8 if bit % 8 < 2 => matches!(fault, MetaFault::Unknown(_)),
                8..16 => matches!(fault, MetaFault::Features(_)),
                _ => matches!(fault, MetaFault::Corrupt(_)),
            };
            assert_eq!(fault.is_unknown(), (4..16).contains(&(bit / 8)), "bit {bit}");
            assert!(right, "bit {bit}: {fault:?}");
            flips += 1;
        }
        figure("flip", "flips of a meta seen", flips);
    }
}

/// A block with these bytes changed and the checksum made right again.
fn forged(changes: &[(usize, &[u8])]) -> MetaFault {
    let mut block = meta().encode();
    for (at, bytes) in changes {
        block[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    let sum = Seal::new(&meta().uuid).run(&block[24..]);
    block[16..24].copy_from_slice(&sum.to_le_bytes());
    Meta::decode(&block).unwrap_err()
}

#[test]
fn metas_are_held_against_sense() {
    for page_bytes in [0_u32, 1, 128, 4095, 131_072, u32::MAX] {
        assert_eq!(forged(&[(40, &page_bytes.to_le_bytes())]), MetaFault::PageSize(page_bytes));
    }
    let unknown: [(usize, &[u8]); 6] =
        [(44, &[3]), (101, &[5]), (102, &[8]), (100, &[41]), (152, &[1]), (216, &[1])];
    for (at, bytes) in unknown {
        let fault = forged(&[(at, bytes)]);
        assert!(fault.is_unknown() && matches!(fault, MetaFault::Unknown(_)), "byte {at}");
    }
    let senseless: [(usize, &[u8]); 9] = [
        (48, &[100]),
        (64, &[199, 0, 0, 0, 0]),
        (72, &[0xFF, 0xFF]),
        (76, &[99, 0]),
        (88, &[99]),
        (88, &[2]),
        (96, &[2]),
        (192, &[161]),
        (256, &[0xFF, 0xFF, 0xFF, 0xFF]),
    ];
    for (at, bytes) in senseless {
        assert!(matches!(forged(&[(at, bytes)]), MetaFault::Corrupt(_)), "byte {at}");
    }
    let text = |fault: MetaFault| crate::error::Error::from(fault).to_string();
    assert!(text(MetaFault::Version(9)).contains("version 9"));
    assert!(text(MetaFault::Stray(9)).contains("version 9"));
    assert!(text(MetaFault::Unknown("x")).contains("not supported"));
    assert!(text(MetaFault::Features(4)).contains("0x4"));
    assert!(text(MetaFault::NotADatabase).contains("HUON"));
    assert!(text(MetaFault::PageSize(3)).contains("3 bytes"));
    assert!(text(MetaFault::Corrupt("x")).contains("damaged"));
}

//! Damaged and hostile pages: a reason, never a panic.

use super::*;

/// Reads everything there is to read. Whether nothing was wrong.
fn read<O: KeyOrder>(order: O, page: &[u8], keys: &[Vec<u8>]) -> Result<(), Reason> {
    let count = header::count(page);
    let mut out = vec![0; page.len()];
    if let Ok(leaf) = SlottedLeaf::view(page, count) {
        let _ = leaf.audit(order);
        for i in 0..leaf.count() {
            let _ = (leaf.key(i), leaf.cell(i));
        }
        for key in keys {
            let probe = Probe::new(order, key);
            let _ = (leaf.search(order, key), leaf.get(&probe));
            if let Some(tie) = leaf.guess_steadily(&probe) {
                let _ = (leaf.bytes_from(tie.mid), leaf.get_at(&probe, tie));
            }
        }
    }
    if let Ok(branch) = Branch::view(page, count) {
        let _ = branch.audit(order);
        for i in 0..branch.count() {
            let _ = branch.separator(i).map(|separator| separator.whole(order));
            let _ = branch.child(i);
        }
        for key in keys {
            assert!(branch.find(order, key).unwrap_or(0) < branch.count());
            let steadily = branch.find_steadily(&Probe::new(order, key));
            assert!(steadily.unwrap_or(0) < branch.count());
        }
    }
    read_fixed(order, page, keys);
    if let Ok(chunk) = Chunk::view(page, count) {
        let _ = chunk.items().count() + chunk.next().pgno.0 as usize;
    }
    pack(order, page, &mut out)?;
    pack_for_writing(&mut out, &mut page.to_vec());
    Ok(())
}

/// The page as a fixed leaf, and what is on it as a set of values.
fn read_fixed<O: KeyOrder>(order: O, page: &[u8], keys: &[Vec<u8>]) {
    let (count, key_bytes) = (header::count(page), header::prefix_bytes(page));
    if let Ok(leaf) = FixedLeaf::view(page, count, key_bytes) {
        let _ = leaf.audit(page, order);
        assert_eq!((leaf.count(), leaf.bytes().len()), (count, count * key_bytes));
        for key in keys {
            assert!(leaf.search(order, key).unwrap_or_else(|at| at) <= count);
        }
        let mut items = AnyLeaf::Fixed(leaf);
        for i in 0..count {
            let item = if i % 2 == 0 { items.take_first() } else { items.take_last() };
            assert_eq!(item.unwrap().unwrap().len(), key_bytes);
        }
        assert!(items.take_first().is_none());
    }
    for fixed_bytes in [0, key_bytes, keys[0].len()] {
        for payload in [&page[HEADER_BYTES..], &page[page.len() - keys[1].len()..]] {
            let Ok(set) = ValueSet::view(payload, fixed_bytes) else { continue };
            let _ = (set.audit(order), set.search(order, &keys[2]));
            let mut items = set.items();
            while items.next().is_some() && items.next_back().is_some() {}
        }
    }
}

/// The page as a fixed leaf, edited as the tree would. Whether nothing was wrong.
fn edit_fixed<O: KeyOrder>(order: O, page: &[u8], rng: &mut Rng) -> Result<(), Reason> {
    let key_bytes = header::prefix_bytes(page);
    let (mut left, mut right) = (page.to_vec(), vec![0; page.len()]);
    for _ in 0..4 {
        let key = rng.bytes(key_bytes);
        let leaf = FixedLeaf::view(&left, header::count(&left), key_bytes)?;
        match leaf.search(order, &key) {
            Ok(i) => FixedMut::view(&mut left, key_bytes)?.remove_range(i..i + 1),
            Err(i) => drop(FixedMut::view(&mut left, key_bytes)?.insert(i, &key)),
        }
    }
    let key = rng.bytes(key_bytes);
    let index = rng.below(header::count(&left) + 1);
    let edges = (rng.chance(3), rng.chance(3));
    split_fixed(order, &mut left, &mut right, ptr(8), (index, &key), edges)?;
    merge_fixed(&mut left, page, key_bytes)?;
    merge_fixed(&mut left, &right, key_bytes).map(drop)
}

/// Edits the page as the tree would. Whether nothing was wrong.
fn edit_leaf<O: KeyOrder>(
    order: O,
    page: &[u8],
    keys: &[Vec<u8>],
    rng: &mut Rng,
) -> Result<(), Reason> {
    let mut copy = page.to_vec();
    for key in keys {
        let bytes = rng.bytes(rng.0 as usize % 40);
        let mut edit = LeafMut::view(&mut copy)?;
        match edit.as_leaf().search(order, key)? {
            Ok(i) if rng.chance(2) => edit.remove(i)?,
            Ok(i) if rng.chance(2) => {
                let at = rng.below(edit.as_leaf().cell(i)?.payload.len() + 1);
                if let Some(payload) =
                    edit.widen(order, i, PayloadKind::Inline, (at, bytes.len()))?
                {
                    payload[at..at + bytes.len()].copy_from_slice(&bytes);
                }
            }
            Ok(i) => drop(edit.replace(order, i, PayloadKind::Inline, &bytes)?),
            Err(i) => drop(edit.insert(order, i, key, PayloadKind::Inline, &bytes)?),
        }
        if edit.as_leaf().count() > 0 {
            let i = rng.below(edit.as_leaf().count());
            edit.payload_mut(i)?.fill(0xFF);
        }
    }
    let (mut left, mut right) = (page.to_vec(), vec![0; page.len()]);
    let leaf = SlottedLeaf::view(page, header::count(page))?;
    if leaf.count() > 0 {
        let index = rng.below(leaf.count() + 1);
        let place = choose_split(&leaf, index, 40, rng.chance(4), rng.chance(4))?;
        split_leaf(order, &mut left, &mut right, ptr(8), place, index, &keys[0])?;
        merge_leaf(order, &mut left, page)?;
    }
    Ok(())
}

fn edit_branch<O: KeyOrder>(
    order: O,
    page: &[u8],
    keys: &[Vec<u8>],
    rng: &mut Rng,
) -> Result<(), Reason> {
    let mut copy = page.to_vec();
    for key in keys {
        let mut edit = BranchMut::view(&mut copy)?;
        let i = edit.as_branch().find(order, key)?;
        edit.set_child(i, ptr(5));
        match rng.below(3) {
            0 if edit.as_branch().count() > 1 => edit.remove(i)?,
            1 if i > 0 => drop(edit.set_separator(order, i, key)?),
            _ => drop(edit.insert(order, i + 1, key, ptr(6))?),
        }
    }
    let count = Branch::view(page, header::count(page))?.count();
    let (mut left, mut right) = (page.to_vec(), vec![0; page.len()]);
    let new = NewChild { index: 1 + rng.below(count), separator: &keys[0], child: ptr(7) };
    split_branch_insert(order, &mut left, &mut right, ptr(8), new, false, false)?;
    merge_branch(order, &mut left, &keys[1], page)?;
    let mut left = page.to_vec();
    if count > 1 {
        split_branch(order, &mut left, &mut right, ptr(8), 1 + rng.below(count - 1))?;
    }
    Ok(())
}

fn attack<O: KeyOrder>(case: &Case<O>, page: &[u8], rng: &mut Rng) -> [u64; 2] {
    let keys: Vec<Vec<u8>> = (0..4).map(|_| rng.key(key_bytes_max(page.len()))).collect();
    let results = [
        read(case.order, page, &keys),
        edit_leaf(case.order, page, &keys, rng),
        edit_branch(case.order, page, &keys, rng),
        edit_fixed(case.order, page, rng),
    ];
    let fine = results.iter().filter(|result| result.is_ok()).count() as u64;
    [fine, results.len() as u64 - fine]
}

fn sound_page<O: KeyOrder>(case: &Case<O>, page_bytes: usize, rng: &mut Rng) -> Vec<u8> {
    let mut page = vec![0; page_bytes];
    let mut keys: Vec<Vec<u8>> = (0..1 + rng.below(16)).map(|_| rng.key(30)).collect();
    case.sort(&mut keys);
    if rng.chance(4) {
        let key_bytes = 1 + rng.below(20);
        FixedMut::init(&mut page, ptr(4), key_bytes);
        let mut edit = FixedMut::view(&mut page, key_bytes).unwrap();
        let most = rng.below(40);
        let _ = (0..most).take_while(|&i| edit.insert(i, &rng.bytes(key_bytes))).count();
        return page;
    } else if rng.chance(2) {
        let mut edit = LeafMut::init(&mut page, ptr(4));
        for (i, key) in keys.iter().enumerate() {
            let bytes = rng.bytes(i);
            let _ =
                edit.insert(case.order, edit.as_leaf().count(), key, PayloadKind::Inline, &bytes);
        }
    } else {
        let mut edit = BranchMut::init(&mut page, ptr(4), 1, ptr(1));
        for key in &keys {
            let _ = edit.insert(case.order, edit.as_branch().count(), key, ptr(2));
        }
    }
    let mut out = vec![0; page_bytes];
    pack(case.order, &page, &mut out).unwrap();
    if rng.chance(2) { out } else { page }
}

fn flips<O: KeyOrder>(case: &Case<O>, page_bytes: usize, pages: usize) -> u64 {
    let (mut rng, mut results) = (Rng(11), [0, 0]);
    for _ in 0..pages {
        let mut page = sound_page(case, page_bytes, &mut rng);
        let table = (HEADER_BYTES + 20 * 16).min(page_bytes);
        for _ in 0..1 + rng.below(6) {
            let end = if rng.chance(4) { page_bytes } else { table };
            let at = rng.below(end);
            page[at] = if rng.chance(2) { rng.next() as u8 } else { page[at] ^ 1 << rng.below(8) };
        }
        let [fine, refused] = attack(case, &page, &mut rng);
        results = [results[0] + fine, results[1] + refused];
    }
    assert!(results.iter().all(|n| *n > 0), "one kind of answer never came: {results:?}");
    pages as u64
}

fn noise<O: KeyOrder>(case: &Case<O>, page_bytes: usize, pages: usize) -> u64 {
    let mut rng = Rng(12);
    for _ in 0..pages {
        let mut page = rng.bytes(page_bytes);
        // Random bytes alone are refused at once; these get further.
        let count = rng.below(page_bytes / 8);
        header::set_count(&mut page, if rng.chance(2) { count } else { rng.below(12) });
        page[12] = 1 + rng.below(4) as u8;
        if rng.chance(2) {
            let heap = rng.below(page_bytes);
            header::set_heap_bytes(&mut page, heap);
            header::set_dead_bytes(&mut page, rng.below(heap + 1));
            header::set_prefix_bytes(&mut page, rng.below(20));
        }
        attack(case, &page, &mut rng);
    }
    pages as u64
}

#[test]
fn damaged_pages_give_reasons() {
    let done = each_order!(flips(256, 20_000)) + each_order!(flips(4096, 2_000));
    figure("flip", "damaged pages read and edited", done);
}

#[test]
fn random_bytes_give_reasons() {
    let done = each_order!(noise(256, 20_000)) + each_order!(noise(65536, 200));
    figure("flip", "pages of random bytes read and edited", done);
}

#[test]
fn false_sums_of_dead_bytes_are_seen() {
    let mut page = vec![0; 256];
    let mut edit = LeafMut::init(&mut page, ptr(4));
    for (i, key) in [b"a", b"b"].into_iter().enumerate() {
        assert!(edit.insert(BytesOrder, i, key, PayloadKind::Inline, &[0; 80]).unwrap());
    }
    header::set_dead_bytes(&mut page, 80);
    let mut edit = LeafMut::view(&mut page).unwrap();
    let refused = edit.insert(BytesOrder, 2, b"c", PayloadKind::Inline, &[0; 60]);
    assert_eq!(refused, Err(Reason::Cell));
    assert_eq!(edit.as_leaf().cell(1).unwrap().payload, [0; 80]);
    let lowest = header::heap_bytes(&page) - 84;
    header::set_dead_bytes(&mut page, lowest);
    assert_eq!(LeafMut::view(&mut page).unwrap().remove(1), Err(Reason::Cell));

    let mut page = vec![0; 256];
    let mut edit = BranchMut::init(&mut page, ptr(4), 1, ptr(1));
    for (i, key) in [b"aa", b"ab"].into_iter().enumerate() {
        assert!(edit.insert(BytesOrder, i + 1, key, ptr(2)).unwrap());
    }
    let mut packed = vec![0; 256];
    pack(BytesOrder, &page, &mut packed).unwrap();
    header::set_dead_bytes(&mut packed, 2);
    assert_eq!(BranchMut::view(&mut packed).unwrap().remove(1), Err(Reason::Cell));
}

#[test]
fn short_pages_give_reasons() {
    for bytes in 0..64 {
        let page = vec![1; bytes];
        assert!(admit(&page, ptr(1), Kind::Leaf, 0).is_err());
        let _ = (SlottedLeaf::view(&page, 257), Branch::view(&page, 257).is_err());
        assert!(SlottedLeaf::view(&page, 257).is_err() && Branch::view(&page, 257).is_err());
        assert!(bytes < 30 || FixedLeaf::view(&page, 257, 257).is_err());
        assert!(Chunk::view(&page, 257).is_err());
        assert!(Seal { seed: 1 }.verify(&page).is_err());
    }
}

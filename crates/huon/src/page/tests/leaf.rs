use super::*;

type Record = (Vec<u8>, PayloadKind, Vec<u8>);

/// The page must hold exactly these records, and find every one of `probes` as they do.
fn same<O: KeyOrder>(case: &Case<O>, page: &[u8], model: &[Record], probes: &[Vec<u8>]) {
    let (order, leaf) = (case.order, leaf(page));
    leaf.audit(order).unwrap();
    assert_eq!(leaf.count(), model.len());
    let mut live = 0;
    for (i, (key, kind, payload)) in model.iter().enumerate() {
        assert_eq!(leaf.cell(i).unwrap(), Cell { key, kind: *kind, payload });
        assert_eq!(leaf.key(i).unwrap(), key);
        live += leaf_cell_bytes(key.len(), payload.len());
    }
    assert_eq!((leaf.live_bytes(), leaf.free_bytes()), (live, page.len() - HEADER_BYTES - live));
    for key in probes {
        let place = model.binary_search_by(|record| (case.plain)(&record.0, key));
        assert_eq!(leaf.search(order, key).unwrap(), place, "{key:x?}");
        let probe = Probe::new(order, key);
        let found = leaf.get(&probe).unwrap();
        assert_eq!(found.map(|cell| cell.payload), place.ok().map(|i| &model[i].2[..]));
        let steadily =
            leaf.guess_steadily(&probe).and_then(|tie| leaf.get_at(&probe, tie).unwrap());
        assert_eq!(steadily, found, "{key:x?}");
    }
}

fn insert<O: KeyOrder>(case: &Case<O>, page: &mut [u8], model: &mut Vec<Record>, key: &[u8]) {
    let order = case.order;
    let place = model.binary_search_by(|record| (case.plain)(&record.0, key)).unwrap_err();
    let payload = key.repeat(2);
    let mut leaf = LeafMut::view(page).unwrap();
    assert!(leaf.insert(order, place, key, PayloadKind::Inline, &payload).unwrap());
    model.insert(place, (key.to_vec(), PayloadKind::Inline, payload));
}

fn every_insertion_order<O: KeyOrder>(case: &Case<O>, keys: &[Vec<u8>]) -> u64 {
    let (mut page, mut done) = (vec![0; 256], 0);
    let ways = permutations(4);
    let sets = (0_u32..1 << keys.len()).step_by(sized(1, 977));
    for set in sets.filter(|set| set.count_ones() == 4) {
        let chosen: Vec<&Vec<u8>> =
            (0..keys.len()).filter(|i| set >> i & 1 == 1).map(|i| &keys[i]).collect();
        for way in ways.iter().step_by(sized(1, 11)) {
            LeafMut::init(&mut page, ptr(7));
            let mut model = Vec::new();
            for i in way {
                insert(case, &mut page, &mut model, chosen[*i]);
            }
            same(case, &page, &model, keys);
            done += 1;
        }
    }
    done
}

#[test]
fn every_insertion_order_of_small_key_sets() {
    let keys = all_keys(&[0, 0xFF], 3);
    let done = each_order!(every_insertion_order(&keys));
    figure("exhaustive", "leaves filled in every insertion order", done);
}

fn every_removal_order<O: KeyOrder>(case: &Case<O>, keys: &[Vec<u8>]) -> u64 {
    let (mut page, mut done) = (vec![0; 256], 0);
    for chosen in keys.windows(5).step_by(sized(1, 20)) {
        for way in permutations(5).into_iter().step_by(sized(1, 99)) {
            LeafMut::init(&mut page, ptr(7));
            let mut model = Vec::new();
            for i in &way {
                insert(case, &mut page, &mut model, &chosen[*i]);
            }
            for key in chosen {
                let place = model.binary_search_by(|r| (case.plain)(&r.0, key)).unwrap();
                LeafMut::view(&mut page).unwrap().remove(place).unwrap();
                model.remove(place);
                same(case, &page, &model, chosen);
                done += 1;
            }
        }
    }
    done
}

#[test]
fn every_removal_order_of_small_key_sets() {
    let keys = all_keys(&[0, b'a', 0xFF], 3);
    let done = each_order!(every_removal_order(&keys));
    figure("exhaustive", "removals from leaves in every order", done);
}

fn payload(rng: &mut Rng, page_bytes: usize) -> (PayloadKind, Vec<u8>) {
    let kinds = [
        PayloadKind::Inline,
        PayloadKind::Table,
        PayloadKind::Run,
        PayloadKind::DuplicateSet,
        PayloadKind::DuplicateTree,
    ];
    let bytes = match rng.below(8) {
        0 => rng.below(page_bytes),
        1 => 0,
        2 => rng.below(page_bytes / 4),
        _ => rng.below(24),
    };
    (kinds[rng.below(5)], rng.bytes(bytes))
}

fn random_edits<O: KeyOrder>(case: &Case<O>, page_bytes: usize, edits: usize, seed: u64) -> u64 {
    let (order, mut rng) = (case.order, Rng(seed));
    let mut page = vec![0xAA; page_bytes];
    LeafMut::init(&mut page, ptr(9));
    let mut model: Vec<Record> = Vec::new();
    let room = page_bytes - HEADER_BYTES;
    let mut refused = 0;
    for _ in 0..edits {
        let live = leaf(&page).live_bytes();
        let key = if rng.chance(3) && !model.is_empty() {
            model[rng.below(model.len())].0.clone()
        } else {
            rng.key(key_bytes_max(page_bytes))
        };
        let (kind, bytes) = payload(&mut rng, page_bytes);
        let place = model.binary_search_by(|record| (case.plain)(&record.0, &key));
        let before = page.clone();
        let mut edit = LeafMut::view(&mut page).unwrap();
        match place {
            Err(place) => {
                let fits = live + leaf_cell_bytes(key.len(), bytes.len()) <= room;
                assert_eq!(edit.insert(order, place, &key, kind, &bytes).unwrap(), fits);
                if fits {
                    model.insert(place, (key.clone(), kind, bytes));
                } else {
                    assert_eq!(page, before, "a refused insert changed the page");
                }
                refused += u64::from(!fits);
            }
            Ok(place) if rng.chance(2) => {
                edit.remove(place).unwrap();
                model.remove(place);
            }
            Ok(place) if rng.chance(4) => {
                edit.payload_mut(place).unwrap().fill(0x55);
                model[place].2.fill(0x55);
            }
            Ok(place) if rng.chance(2) => {
                let at = rng.below(model[place].2.len() + 1);
                let fits = live + bytes.len() <= room;
                let payload = edit.widen(order, place, kind, (at, bytes.len())).unwrap();
                assert_eq!(payload.is_some(), fits);
                if let Some(payload) = payload {
                    payload[at..at + bytes.len()].copy_from_slice(&bytes);
                    model[place].1 = kind;
                    model[place].2.splice(at..at, bytes);
                } else {
                    assert_eq!(page, before, "a refused widening changed the page");
                }
                refused += u64::from(!fits);
            }
            Ok(place) => {
                let fits = live - model[place].2.len() + bytes.len() <= room;
                assert_eq!(edit.replace(order, place, kind, &bytes).unwrap(), fits);
                if fits {
                    (model[place].1, model[place].2) = (kind, bytes);
                } else {
                    assert_eq!(page, before, "a refused replace changed the page");
                }
                refused += u64::from(!fits);
            }
        }
        same(case, &page, &model, std::slice::from_ref(&key));
        if rng.chance(20) {
            let probes: Vec<Vec<u8>> = (0..8).map(|_| rng.key(20)).collect();
            for form in packed_forms(order, &page) {
                same(case, &form, &model, &probes);
                page = form;
            }
        }
    }
    assert!(refused > 0, "the page never was full");
    edits as u64
}

#[test]
fn random_edits_agree_with_a_vector() {
    let mut done = 0;
    for (page_bytes, edits) in [(256, 20_000), (512, 10_000), (4096, 3_000), (65536, 300)] {
        done += each_order!(random_edits(page_bytes, edits, page_bytes as u64));
    }
    figure("model", "random edits of leaves", done);
}

/// Fills pages with records in order, at once and one by one: every byte must be the same.
fn filled_pages<O: KeyOrder>(case: &Case<O>, page_bytes: usize, pages: u64) -> u64 {
    let (order, mut rng) = (case.order, Rng(pages));
    let mut fill = LeafFill::default();
    for _ in 0..pages {
        let (mut page, mut whole) = (vec![0; page_bytes], vec![0; page_bytes]);
        LeafMut::init(&mut page, ptr(9));
        LeafMut::init(&mut whole, ptr(9));
        fill.begin(page_bytes).unwrap();
        let mut keys: Vec<Vec<u8>> =
            (0..1 + rng.below(80)).map(|_| rng.key(key_bytes_max(page_bytes))).collect();
        case.sort(&mut keys);
        for (at, key) in keys.iter().enumerate() {
            let (kind, payload) = payload(&mut rng, page_bytes);
            let mut edit = LeafMut::view(&mut page).unwrap();
            let fits = edit.insert(order, at, key, kind, &payload).unwrap();
            assert_eq!(fill.push(key, kind, &payload).unwrap(), fits);
            if !fits {
                break;
            }
        }
        fill.write(order, &mut whole);
        assert!(!header::is_edited(&whole), "it is packed when it is written");
        pack_for_writing(&mut page, &mut vec![0; page_bytes]);
        assert!(page == whole);
    }
    pages
}

#[test]
fn a_page_that_is_filled_at_once_is_what_its_records_make_it() {
    let mut done = 0;
    for (page_bytes, pages) in [(256, 2000), (4096, 500), (65536, 20)] {
        done += each_order!(filled_pages(page_bytes, pages));
    }
    figure("model", "pages that are filled at once", done);
}

/// What is pushed is what is inserted behind all others, where there is nothing else to do.
fn pushed<O: KeyOrder>(case: &Case<O>, page_bytes: usize, pages: u64) -> u64 {
    let (order, mut rng, mut done) = (case.order, Rng(pages), 0);
    for _ in 0..pages {
        let mut page = vec![0; page_bytes];
        LeafMut::init(&mut page, ptr(9));
        let mut keys: Vec<Vec<u8>> =
            (0..1 + rng.below(80)).map(|_| rng.key(key_bytes_max(page_bytes))).collect();
        case.sort(&mut keys);
        for _ in 0..rng.below(3) {
            let other = rng.below(keys.len());
            keys.swap(0, other);
        }
        for key in keys {
            let (kind, payload) = payload(&mut rng, page_bytes);
            let (mut inserted, before) = (page.clone(), leaf(&page));
            let last = before.count().checked_sub(1).map(|last| before.key(last).unwrap());
            let prefix_bytes = before.prefix_bytes();
            let goes_on = last.is_some_and(|last| {
                (case.plain)(last, &key).is_lt()
                    && order.lead(last, prefix_bytes) == order.lead(&key, prefix_bytes)
            });
            let taken = SLOT_BYTES * before.count() + header::heap_bytes(&page);
            let bytes = leaf_cell_bytes(key.len(), payload.len());
            let fits = HEADER_BYTES + taken + bytes <= page_bytes;
            let place = before.search(order, &key).unwrap().unwrap_err();
            let mut edit = LeafMut::view(&mut inserted).unwrap();
            edit.insert(order, place, &key, kind, &payload).unwrap();
            let mut edit = LeafMut::view(&mut page).unwrap();
            let slot = edit.push(order, &key, kind, &payload).unwrap();
            assert_eq!(slot, (goes_on && fits).then_some(place));
            assert!(slot.is_none() || page == inserted);
            page = inserted;
            done += u64::from(slot.is_some());
        }
    }
    done
}

#[test]
fn a_record_is_pushed_where_it_comes_last() {
    let mut done = 0;
    for (page_bytes, pages) in [(256, 2000), (4096, 500), (65536, 20)] {
        done += each_order!(pushed(page_bytes, pages));
    }
    assert!(done > 10_000, "{done} were pushed");
    figure("model", "records that are pushed", done);
}

/// FORMAT allows cells in any order, and dead bytes: a page that another program wrote may have
/// both.
#[test]
fn a_page_that_is_marked_as_packed_and_is_not() {
    let case = &Case { order: BytesOrder, plain: |a: &[u8], b: &[u8]| a.cmp(b) };
    let (mut rng, mut page) = (Rng(3), vec![0; 512]);
    let mut model: Vec<Record> = Vec::new();
    LeafMut::init(&mut page, ptr(9));
    for _ in 0..20_000 {
        let key = if rng.chance(2) && !model.is_empty() {
            model[rng.below(model.len())].0.clone()
        } else {
            rng.key(12)
        };
        match model.binary_search_by(|record| record.0.cmp(&key)) {
            Ok(place) => {
                LeafMut::view(&mut page).unwrap().remove(place).unwrap();
                model.remove(place);
            }
            Err(_) if header::count(&page) == 8 => {}
            Err(_) => insert(case, &mut page, &mut model, &key),
        }
        if rng.chance(2) {
            header::set_edited(&mut page, false);
        }
        same(case, &page, &model, std::slice::from_ref(&key));
    }
}

/// A payload that grows in a packed page leaves it packed, with nothing dead.
#[test]
fn what_is_widened_stays_packed() {
    let (mut rng, mut page) = (Rng(4), vec![0; 4096]);
    LeafMut::init(&mut page, ptr(9));
    let mut model: Vec<Record> =
        (0..20u8).map(|n| (vec![n], PayloadKind::Inline, vec![])).collect();
    for (at, (key, kind, payload)) in model.iter().enumerate() {
        let mut edit = LeafMut::view(&mut page).unwrap();
        assert!(edit.insert(BytesOrder, at, key, *kind, payload).unwrap());
    }
    page = packed_forms(BytesOrder, &page).into_iter().next().unwrap();
    for _ in 0..300 {
        let (place, byte) = (rng.below(model.len()), rng.next() as u8);
        let payload = &mut model[place].2;
        let at = rng.below(payload.len() + 1);
        payload.insert(at, byte);
        let mut edit = LeafMut::view(&mut page).unwrap();
        let room = edit.widen(BytesOrder, place, PayloadKind::Inline, (at, 1)).unwrap();
        room.expect("it fits")[at] = byte;
        assert_eq!((header::dead_bytes(&page), header::is_edited(&page)), (0, false));
    }
    let case = &Case { order: BytesOrder, plain: |a: &[u8], b: &[u8]| a.cmp(b) };
    same(case, &page, &model, &[]);
}

#[test]
fn longest_keys_and_values_fit() {
    for shift in 8..=16 {
        let page_bytes = 1 << shift;
        let max = key_bytes_max(page_bytes);
        for (byte, payload_bytes) in [(0, 0), (0xFF, RUN_REF_BYTES), (b'k', TREE_BYTES)] {
            let mut page = vec![0; page_bytes];
            let mut edit = LeafMut::init(&mut page, ptr(1));
            let (key, payload) = (vec![byte; max], vec![1; payload_bytes]);
            assert!(edit.insert(BytesOrder, 0, &key, PayloadKind::Run, &payload).unwrap());
            edit.as_leaf().audit(BytesOrder).unwrap();
            assert_eq!(edit.as_leaf().search(BytesOrder, &key).unwrap(), Ok(0));
            assert_eq!(edit.as_leaf().search(BytesOrder, &key[1..]).unwrap(), Err(0));
        }
        let half = (page_bytes - HEADER_BYTES) / 2;
        assert!(fits_inline(page_bytes, 20, half - 32) && fits_inline(page_bytes, max, 28));
        assert!(!fits_inline(page_bytes, 20, half - 31) && !fits_inline(page_bytes, 0, half));
        assert!(!fits_inline(page_bytes, 0, usize::MAX) && !fits_inline(page_bytes, max, 29));
    }
}

#[test]
fn reserve_hands_out_the_payload() {
    let mut page = vec![0; 256];
    let mut edit = LeafMut::init(&mut page, ptr(1));
    let kind = PayloadKind::Inline;
    let place = edit.insert_reserve(BytesOrder, 0, b"key", kind, 5).unwrap().unwrap();
    place.copy_from_slice(b"value");
    assert_eq!(edit.as_leaf().cell(0).unwrap().payload, b"value");
    let place = edit.replace_reserve(BytesOrder, 0, kind, 6).unwrap().unwrap();
    place.copy_from_slice(b"longer");
    assert_eq!(edit.as_leaf().cell(0).unwrap().payload, b"longer");
    assert!(edit.insert_reserve(BytesOrder, 1, b"z", kind, 256).unwrap().is_none());
    assert!(edit.insert_reserve(BytesOrder, 1, b"z", kind, usize::MAX).unwrap().is_none());
    assert!(edit.replace_reserve(BytesOrder, 0, kind, usize::MAX).unwrap().is_none());
}

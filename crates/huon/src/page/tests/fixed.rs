use super::*;
use crate::page::header::{set_count, set_dead_bytes, set_heap_bytes, set_prefix_bytes};

type Keys = Vec<Vec<u8>>;

fn view(page: &[u8], key_bytes: usize) -> FixedLeaf<'_> {
    FixedLeaf::view(page, header::count(page), key_bytes).unwrap()
}

fn keys_of(page: &[u8], key_bytes: usize) -> Keys {
    let leaf = view(page, key_bytes);
    (0..leaf.count()).map(|i| leaf.key(i).to_vec()).collect()
}

/// A key of so many bytes, which often begins and ends like others.
fn key(rng: &mut Rng, key_bytes: usize) -> Vec<u8> {
    if rng.chance(2) {
        return rng.bytes(key_bytes);
    }
    let alphabet: &[u8] = if rng.chance(3) { &[0, 1, 0xFE, 0xFF] } else { b"abcdefgh" };
    let mut key: Vec<u8> = (0..key_bytes).map(|_| alphabet[rng.below(alphabet.len())]).collect();
    let same = if rng.chance(2) { key_bytes - rng.below(key_bytes.min(4) + 1) } else { 0 };
    key[..same].fill(b'k');
    if rng.chance(2) {
        key.reverse();
    }
    key
}

/// Up to `most` keys in order.
fn some_keys<O: KeyOrder>(case: &Case<O>, rng: &mut Rng, key_bytes: usize, most: usize) -> Keys {
    let mut keys: Keys = (0..most * 2).map(|_| key(rng, key_bytes)).collect();
    case.sort(&mut keys);
    keys.truncate(most);
    keys
}

fn fill(page_bytes: usize, key_bytes: usize, keys: &Keys) -> Vec<u8> {
    let mut page = vec![0xAA; page_bytes];
    FixedMut::init(&mut page, ptr(3), key_bytes);
    let mut leaf = FixedMut::view(&mut page, key_bytes).unwrap();
    keys.iter().enumerate().for_each(|(i, key)| assert!(leaf.insert(i, key)));
    page
}

/// The page must hold exactly these keys, and find every one of `probes` as they do.
fn same<O: KeyOrder>(case: &Case<O>, page: &[u8], model: &Keys, key_bytes: usize, probes: &Keys) {
    let leaf = view(page, key_bytes);
    leaf.audit(page, case.order).unwrap();
    assert_eq!(admit(page, header::ptr(page), Kind::Fixed, 0), Ok(model.len()));
    assert_eq!(keys_of(page, key_bytes), *model);
    assert_eq!(leaf.bytes(), model.concat());
    let any = AnyLeaf::Fixed(leaf);
    assert_eq!(any.live_bytes(), model.len() * key_bytes);
    for probe in probes {
        assert_eq!(leaf.search(case.order, probe), case.place(model, probe), "{probe:x?}");
        assert_eq!(any.search(case.order, probe), Ok(case.place(model, probe)));
    }
}

/// What iterating from both ends gives of the keys `from..until`.
fn from_both_ends(page: &[u8], key_bytes: usize, from: usize, until: usize, rng: &mut Rng) -> Keys {
    let mut items = AnyLeaf::Fixed(view(page, key_bytes)).slice(from, until).unwrap();
    let (mut low, mut high) = (Vec::new(), Vec::new());
    while items.count() > 0 {
        if rng.chance(2) {
            low.push(items.take_first().unwrap().unwrap().to_vec());
        } else {
            high.push(items.take_last().unwrap().unwrap().to_vec());
        }
    }
    assert!(items.take_first().is_none() && items.take_last().is_none());
    high.reverse();
    low.extend(high);
    low
}

fn random_edits<O: KeyOrder>(case: &Case<O>, page_bytes: usize, key_bytes: usize) -> u64 {
    let mut rng = Rng((page_bytes + key_bytes) as u64);
    let capacity = (page_bytes - HEADER_BYTES) / key_bytes;
    let mut page = vec![0xAA; page_bytes];
    FixedMut::init(&mut page, ptr(9), key_bytes);
    let (mut model, mut refused) = (Keys::new(), 0);
    let edits = sized(3 * capacity + 600, 60);
    for _ in 0..edits {
        let new = key(&mut rng, key_bytes);
        let before = if model.len() == capacity { page.clone() } else { vec![] };
        let mut leaf = FixedMut::view(&mut page, key_bytes).unwrap();
        match case.place(&model, &new) {
            Err(place) => {
                let fits = model.len() < capacity;
                assert_eq!(leaf.insert(place, &new), fits);
                if fits {
                    model.insert(place, new.clone());
                } else {
                    assert_eq!(page, before, "a refused insert changed the page");
                }
                refused += u64::from(!fits);
            }
            Ok(place) => {
                leaf.remove_range(place..place + 1);
                model.remove(place);
            }
        }
        if rng.chance(40 + capacity) {
            let from = rng.below(model.len() + 1);
            let until = from + rng.below(model.len() - from + 1);
            assert_eq!(from_both_ends(&page, key_bytes, from, until, &mut rng), model[from..until]);
            FixedMut::view(&mut page, key_bytes).unwrap().remove_range(from..until);
            model.drain(from..until);
        }
        if rng.chance(8 + capacity / 16) {
            let probes = [new, key(&mut rng, key_bytes), vec![], vec![0xFF; key_bytes + 1]];
            same(case, &page, &model, key_bytes, &probes.into());
        }
    }
    same(case, &page, &model, key_bytes, &Keys::new());
    let enough = key_bytes < 4 || refused > 0 || edits < 100;
    assert!(enough, "the page of keys of {key_bytes} bytes never was full");
    edits as u64
}

#[test]
fn random_edits_agree_with_a_vector() {
    let mut done = 0;
    for page_bytes in [256, 512, 4096] {
        for key_bytes in [1, 2, 3, 4, 8, 20, 33, key_bytes_max(page_bytes)] {
            done += each_order!(random_edits(page_bytes, key_bytes));
        }
    }
    done += each_order!(random_edits(65536, 8));
    figure("model", "random edits of fixed leaves", done);
}

/// Divides the page for a new key, and puts that where the separator says.
fn divide<O: KeyOrder>(
    case: &Case<O>,
    keys: &Keys,
    new: &[u8],
    index: usize,
    edges: (bool, bool),
) -> [Vec<u8>; 2] {
    let key_bytes = new.len();
    let (mut left, mut right) = (fill(256, key_bytes, keys), vec![0x77; 256]);
    // As if they had come in any order.
    header::forget_inserts_from(&mut left, 0);
    let (order, at) = (case.order, (index, new));
    let separator = split_fixed(order, &mut left, &mut right, ptr(8), at, edges).unwrap();
    assert_eq!((header::ptr(&left), header::ptr(&right)), (ptr(3), ptr(8)));
    let (low, high) = (keys_of(&left, key_bytes), keys_of(&right, key_bytes));
    assert_eq!([low.clone(), high.clone()].concat(), *keys);
    let mut merged = left.clone();
    assert_eq!(merge_fixed(&mut merged, &right, key_bytes), Ok(true));
    same(case, &merged, keys, key_bytes, keys);
    let to_the_right = (case.plain)(&separator, new) != Ordering::Greater;
    let side = if to_the_right { &mut right } else { &mut left };
    let place = case.place(&keys_of(side, key_bytes), new).unwrap_err();
    assert!(FixedMut::view(side, key_bytes).unwrap().insert(place, new), "no room was made");
    let above = |key: &Vec<u8>| (case.plain)(&separator, key) != Ordering::Greater;
    let (low, high) = (keys_of(&left, key_bytes), keys_of(&right, key_bytes));
    assert!(!low.iter().any(above) && high.iter().all(above), "{separator:x?}");
    assert!(!low.is_empty() && !high.is_empty());
    for (page, keys) in [(&left, &low), (&right, &high)] {
        same(case, page, keys, key_bytes, keys);
    }
    [left, right]
}

fn every_split<O: KeyOrder>(case: &Case<O>, rounds: usize) -> u64 {
    let (mut rng, mut done) = (Rng(3), 0);
    for key_bytes in [1, 3, 8, 40, 75, 102] {
        let capacity = (256 - HEADER_BYTES) / key_bytes;
        for round in 0..rounds {
            let count = if round % 2 == 0 { capacity } else { 1 + rng.below(capacity) };
            let keys = some_keys(case, &mut rng, key_bytes, count);
            for new in (0..6).map(|_| key(&mut rng, key_bytes)) {
                let Err(index) = case.place(&keys, &new) else { continue };
                for (rightmost, leftmost) in
                    [(false, false), (true, false), (false, true), (true, true)]
                {
                    let [left, right] = divide(case, &keys, &new, index, (rightmost, leftmost));
                    let counts = (header::count(&left), header::count(&right));
                    match index {
                        // At an edge the full page stays full.
                        _ if rightmost && index == keys.len() => assert_eq!(counts.1, 1),
                        0 if leftmost => assert_eq!(counts.0, 1),
                        _ => assert!(counts.0.abs_diff(counts.1) <= 2, "{counts:?}"),
                    }
                    done += 1;
                }
            }
        }
    }
    done
}

#[test]
fn every_way_to_divide_a_fixed_leaf() {
    let done = each_order!(every_split(sized(20, 2)));
    figure("exhaustive", "fixed leaves divided, in the middle and at the edges", done);
}

fn every_merge<O: KeyOrder>(case: &Case<O>, rounds: usize) -> u64 {
    let (mut rng, mut done) = (Rng(4), 0);
    for key_bytes in [1, 3, 8, 40, 102] {
        let capacity = (256 - HEADER_BYTES) / key_bytes;
        for _ in 0..rounds {
            let most = 1 + rng.below(capacity * 2);
            let keys = some_keys(case, &mut rng, key_bytes, most);
            for at in 0..=keys.len() {
                let (low, high) = (keys[..at].to_vec(), keys[at..].to_vec());
                if low.len().max(high.len()) > capacity {
                    continue;
                }
                let (mut left, right) = (fill(256, key_bytes, &low), fill(256, key_bytes, &high));
                let before = left.clone();
                let merged = merge_fixed(&mut left, &right, key_bytes).unwrap();
                assert_eq!(merged, keys.len() <= capacity);
                if merged {
                    same(case, &left, &keys, key_bytes, &keys);
                } else {
                    assert_eq!(left, before);
                }
                done += 1;
            }
        }
    }
    done
}

#[test]
fn every_pair_of_fixed_leaves_merges_if_it_fits() {
    let done = each_order!(every_merge(sized(20, 2)));
    figure("exhaustive", "pairs of fixed leaves merged or refused", done);
}

/// Each kind of damage is refused, by viewing the page or by its audit.
#[test]
fn damage_is_refused() {
    let keys: Keys = (0..20u32).map(|n| n.to_be_bytes().to_vec()).collect();
    let sound = fill(256, 4, &keys);
    let reading = |page: &[u8], key_bytes: usize| {
        FixedLeaf::view(page, header::count(page), key_bytes)
            .and_then(|leaf| leaf.audit(page, BytesOrder))
    };
    assert_eq!(reading(&sound, 4), Ok(()));
    for key_bytes in [0, 3, 5, 8] {
        assert_eq!(reading(&sound, key_bytes), Err(Reason::Cell), "{key_bytes}");
    }
    let refused = |reason: Reason, edit: &dyn Fn(&mut [u8])| {
        let mut page = sound.clone();
        edit(&mut page);
        assert_eq!(reading(&page, 4), Err(reason));
    };
    refused(Reason::Count, &|page| set_count(page, 57));
    refused(Reason::Count, &|page| set_count(page, 0xFFFF));
    refused(Reason::Count, &|page| set_heap_bytes(page, 1));
    refused(Reason::Count, &|page| set_dead_bytes(page, 1));
    refused(Reason::Cell, &|page| set_prefix_bytes(page, 0));
    refused(Reason::Cell, &|page| set_prefix_bytes(page, 3));
    // One less leaves a key behind the last, one more has a key of zeros.
    refused(Reason::Cell, &|page| set_count(page, 19));
    refused(Reason::Order, &|page| set_count(page, 21));
    refused(Reason::Order, &|page| page.copy_within(HEADER_BYTES..HEADER_BYTES + 4, 36));
    refused(Reason::Order, &|page| page.swap(HEADER_BYTES + 3, HEADER_BYTES + 7));
    for at in HEADER_BYTES + 80..256 {
        refused(Reason::Cell, &|page| page[at] = 1);
    }
    let mut leaf_of_other_kind = sound.clone();
    LeafMut::init(&mut leaf_of_other_kind, ptr(3));
    assert_eq!(admit(&leaf_of_other_kind, ptr(3), Kind::Fixed, 0), Err(Reason::Header));
    assert_eq!(admit(&sound, ptr(3), Kind::Leaf, 0), Err(Reason::Header));
    assert_eq!(admit(&sound, ptr(3), Kind::Fixed, 1), Err(Reason::Header));
}

/// As other leaves, behind keys that came in a row.
#[test]
fn a_fixed_leaf_is_divided_behind_a_row_of_inserts() {
    for low in 2..=28_u64 {
        let mut left = vec![0; 256];
        FixedMut::init(&mut left, ptr(3), 8);
        let key = |n: u64| n.to_be_bytes();
        let mut leaf = FixedMut::view(&mut left, 8).unwrap();
        (low..28).for_each(|n| assert!(leaf.insert((n - low) as usize, &key(100 + n))));
        (0..low).for_each(|n| assert!(leaf.insert(n as usize, &key(n))));
        let (mut right, new) = (vec![0; 256], key(low));
        assert!(!leaf.insert(low as usize, &new));
        let at = (low as usize, &new[..]);
        let separator =
            split_fixed(BytesOrder, &mut left, &mut right, ptr(8), at, (false, false)).unwrap();
        let counts = [header::count(&left), header::count(&right)];
        let to_the_right = separator[..] <= new[..];
        match low {
            2 => assert_eq!(counts, [14, 14], "two may have come in a row by chance"),
            _ => assert_eq!((counts, to_the_right), ([low as usize, 28 - low as usize], low == 28)),
        }
    }
}

/// A page of keys that are too long for it, or of none, cannot be divided.
#[test]
fn pages_that_hold_no_key_are_refused() {
    let (mut left, mut right) = (vec![0; 256], vec![0; 256]);
    FixedMut::init(&mut left, ptr(1), 300);
    assert!(!FixedMut::view(&mut left, 300).unwrap().insert(0, &[1; 300]));
    let new = (0, &[1; 300][..]);
    let split = split_fixed(BytesOrder, &mut left, &mut right, ptr(2), new, (true, true));
    assert_eq!(split, Err(Reason::Count));
}

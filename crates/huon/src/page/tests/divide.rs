use super::branch::{Child, packed_bytes, same as same_branch};
use super::*;

fn fill<O: KeyOrder>(case: &Case<O>, page_bytes: usize, keys: &[Vec<u8>]) -> Vec<u8> {
    let mut page = vec![0; page_bytes];
    let mut edit = LeafMut::init(&mut page, ptr(3));
    for (i, key) in keys.iter().enumerate() {
        let payload = payload_of(key);
        assert!(edit.insert(case.order, i, key, PayloadKind::Inline, &payload).unwrap());
    }
    // As if they had come in any order.
    header::forget_inserts_from(&mut page, 0);
    page
}

fn payload_of(key: &[u8]) -> Vec<u8> {
    let sum: usize = key.iter().map(|byte| usize::from(*byte)).sum();
    vec![sum as u8; (key.len() * 7 + sum) % 13]
}

fn cell_bytes(key: &[u8]) -> usize {
    leaf_cell_bytes(key.len(), payload_of(key).len())
}

fn keys_of(page: &[u8]) -> Vec<Vec<u8>> {
    (0..leaf(page).count()).map(|i| leaf(page).key(i).unwrap().to_vec()).collect()
}

/// Distinct keys in order whose cells fit a page.
fn some_keys<O: KeyOrder>(case: &Case<O>, rng: &mut Rng, page_bytes: usize) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    let mut bytes = 0;
    let most = if rng.chance(4) { 2 } else { 1 + rng.below(24) };
    for _ in 0..most {
        let key = rng.key(key_bytes_max(page_bytes));
        bytes += cell_bytes(&key);
        if bytes > page_bytes - HEADER_BYTES {
            break;
        }
        keys.push(key);
    }
    case.sort(&mut keys);
    keys
}

/// Divides the page there and inserts the key; the separator must divide everything. Whether it
/// fitted.
fn divide<O: KeyOrder>(
    case: &Case<O>,
    page: &[u8],
    place: SplitPoint,
    index: usize,
    key: &[u8],
) -> bool {
    let order = case.order;
    let all = keys_of(page);
    let (mut left, mut right) = (page.to_vec(), vec![0x77; page.len()]);
    let separator = split_leaf(order, &mut left, &mut right, ptr(8), place, index, key).unwrap();
    assert_eq!((keys_of(&left), keys_of(&right)), (all[..place.at].into(), all[place.at..].into()));
    assert_eq!((header::ptr(&left), header::ptr(&right)), (ptr(3), ptr(8)));
    let (low, high) = (keys_of(&left), keys_of(&right));
    let (mut low_all, mut high_all) = (low.clone(), high.clone());
    if place.side == Side::Left { &mut low_all } else { &mut high_all }.push(key.to_vec());
    let at_or_above = |key: &Vec<u8>| (case.plain)(&separator, key) != Ordering::Greater;
    assert!(!low_all.iter().any(at_or_above) && high_all.iter().all(at_or_above));
    let is_at_end = place.at == all.len();
    assert!(!is_at_end || left == page, "it stays as it is");
    for (side, may_be_edited) in [(&left, is_at_end), (&right, false)] {
        leaf(side).audit(order).unwrap();
        assert!(may_be_edited || header::flags(side) == 0);
        for i in 0..leaf(side).count() {
            let cell = leaf(side).cell(i).unwrap();
            assert_eq!(cell.payload, payload_of(cell.key));
        }
    }
    let mut merged = left.clone();
    assert!(merge_leaf(order, &mut merged, &right).unwrap());
    leaf(&merged).audit(order).unwrap();
    assert_eq!(keys_of(&merged), all);
    let side = if place.side == Side::Left { &mut left } else { &mut right };
    let mut edit = LeafMut::view(side).unwrap();
    let (at, payload) = (place.index(index), payload_of(key));
    let fitted = edit.insert(order, at, key, PayloadKind::Inline, &payload).unwrap();
    edit.as_leaf().audit(order).unwrap();
    fitted
}

fn places(count: usize, index: usize) -> Vec<SplitPoint> {
    let sides = |at| [SplitPoint { at, side: Side::Left }, SplitPoint { at, side: Side::Right }];
    let sound = |place: &SplitPoint| match place.side {
        Side::Left => index <= place.at && place.at < count,
        Side::Right => place.at <= index && place.at > 0,
    };
    (0..=count).flat_map(sides).filter(sound).collect()
}

fn every_split<O: KeyOrder>(case: &Case<O>, pages: usize) -> u64 {
    let (mut rng, mut done) = (Rng(3), 0);
    for _ in 0..pages {
        let keys = some_keys(case, &mut rng, 256);
        let page = fill(case, 256, &keys);
        for _ in 0..4 {
            let key = rng.key(key_bytes_max(256));
            let Err(index) = case.place(&keys, &key) else { continue };
            if keys.is_empty() {
                continue;
            }
            let mut best = None;
            for place in places(keys.len(), index) {
                let fitted = divide(case, &page, place, index, &key);
                done += 1;
                let (low, high) = keys.split_at(place.at);
                let bytes = |keys: &[Vec<u8>]| keys.iter().map(|key| cell_bytes(key)).sum();
                let (mut low, mut high): (usize, usize) = (bytes(low), bytes(high));
                if place.side == Side::Left { &mut low } else { &mut high }
                    .add_assign(cell_bytes(&key));
                assert_eq!(fitted, low.max(high) <= 224);
                if fitted {
                    best = Some(best.unwrap_or(usize::MAX).min(low.abs_diff(high)));
                }
            }
            chosen(case, &page, index, &key, best);
        }
    }
    done
}

/// The chosen place fits if one does, and is the most balanced; if none does, dividing again helps.
fn chosen<O: KeyOrder>(case: &Case<O>, page: &[u8], index: usize, key: &[u8], best: Option<usize>) {
    let count = leaf(page).count();
    let choose = |rightmost, leftmost| {
        choose_split(&leaf(page), index, cell_bytes(key), rightmost, leftmost).unwrap()
    };
    let place = choose(false, false);
    assert!(places(count, index).contains(&place), "{place:?} of {count} at {index}");
    assert_eq!(divide(case, page, place, index, key), best.is_some());
    if index == count {
        assert_eq!(choose(true, false), SplitPoint { at: count, side: Side::Right });
    }
    if index == 0 {
        assert_eq!(choose(false, true), SplitPoint { at: 0, side: Side::Left });
    }
    if let Some(best) = best {
        let bytes = |keys: &[Vec<u8>]| keys.iter().map(|key| cell_bytes(key)).sum::<usize>();
        let (all, new) = (keys_of(page), cell_bytes(key) as isize);
        let skew = bytes(&all[..place.at]) as isize - bytes(&all[place.at..]) as isize;
        let new = if place.side == Side::Left { new } else { -new };
        assert_eq!((skew + new).unsigned_abs(), best);
        return;
    }
    let (mut left, mut right) = (page.to_vec(), vec![0; page.len()]);
    split_leaf(case.order, &mut left, &mut right, ptr(8), place, index, key).unwrap();
    let side = if place.side == Side::Left { &left } else { &right };
    let index = place.index(index);
    let again = choose_split(&leaf(side), index, cell_bytes(key), false, false).unwrap();
    assert!({
        let (mut low, mut high) = (side.clone(), vec![0; page.len()]);
        split_leaf(case.order, &mut low, &mut high, ptr(9), again, index, key).unwrap();
        let target = if again.side == Side::Left { &mut low } else { &mut high };
        let mut edit = LeafMut::view(target).unwrap();
        let kind = PayloadKind::Inline;
        edit.insert(case.order, again.index(index), key, kind, &payload_of(key)).unwrap()
    });
}

/// Keys of two groups, of which `low` are of the first, with the first one's last three inserted
/// last.
fn two_groups(low: usize) -> Vec<u8> {
    let mut page = vec![0; 256];
    let mut edit = LeafMut::init(&mut page, ptr(3));
    let mut put = |index: usize, key: &[u8]| {
        assert!(edit.insert(BytesOrder, index, key, PayloadKind::Inline, b"value").unwrap());
    };
    (low..10).for_each(|i| put(i - low, format!("b{i}").as_bytes()));
    (0..low).for_each(|i| put(i, format!("a{i}").as_bytes()));
    page
}

/// Where some records came in a row, the next one is put behind them: they stay, and what follows
/// goes.
#[test]
fn a_leaf_is_divided_behind_a_row_of_inserts() {
    let choose = |page: &[u8], index| choose_split(&leaf(page), index, 19, false, false).unwrap();
    for low in 3..=10 {
        let page = two_groups(low);
        let side = if low == 10 { Side::Right } else { Side::Left };
        assert_eq!(choose(&page, low), SplitPoint { at: low, side });
        // At any other place they are divided in halves.
        assert!((4..=6).contains(&choose(&page, low - 1).at) && choose(&page, 0).at <= 6);
        // The left part goes on with the row, and the other has none.
        let (mut left, mut right) = (page.clone(), vec![0; 256]);
        let place = SplitPoint { at: low, side };
        let key = b"a9z";
        split_leaf(BytesOrder, &mut left, &mut right, ptr(8), place, low, key).unwrap();
        assert_eq!((header::count(&left), header::count(&right)), (low, 10 - low));
        assert!(header::goes_on_at(&left, low) && header::flags(&right) == 0);
        // One that leaves from the row ends it, and one behind it does not.
        let mut edit = LeafMut::view(&mut left).unwrap();
        edit.remove(low - 1).unwrap();
        assert!(!header::goes_on_at(&left, low) && !header::goes_on_at(&left, low - 1));
        if low < 10 {
            let mut page = page.clone();
            LeafMut::view(&mut page).unwrap().remove(low).unwrap();
            assert!(header::goes_on_at(&page, low));
        }
    }
    // Two in a row may have come by chance.
    assert!((4..=6).contains(&choose(&two_groups(2), 2).at));
}

/// A record that is longer than what it takes the place of goes to the right.
#[test]
fn a_row_ends_where_its_next_record_has_no_room() {
    let page = two_groups(9);
    let choose = |bytes| choose_split(&leaf(&page), 9, bytes, false, false).unwrap();
    assert_eq!(choose(53), SplitPoint { at: 9, side: Side::Left });
    assert_eq!(choose(54), SplitPoint { at: 9, side: Side::Right });
}

use std::ops::AddAssign;

#[test]
fn every_split_point_of_a_leaf() {
    let done = each_order!(every_split(1_500));
    figure("exhaustive", "leaves divided, at every place", done);
}

fn every_merge<O: KeyOrder>(case: &Case<O>, pages: usize) -> u64 {
    let (mut rng, mut done) = (Rng(4), 0);
    for _ in 0..pages {
        let mut keys = some_keys(case, &mut rng, 256);
        keys.extend(some_keys(case, &mut rng, 256));
        case.sort(&mut keys);
        let fits = |keys: &[Vec<u8>]| keys.iter().map(|key| cell_bytes(key)).sum::<usize>() <= 224;
        for at in 0..=keys.len() {
            let (low, high) = keys.split_at(at);
            if !fits(low) || !fits(high) {
                continue;
            }
            let (mut left, right) = (fill(case, 256, low), fill(case, 256, high));
            let before = left.clone();
            let merged = merge_leaf(case.order, &mut left, &right).unwrap();
            assert_eq!(merged, fits(&keys));
            if merged {
                leaf(&left).audit(case.order).unwrap();
                assert_eq!(keys_of(&left), keys);
            } else {
                assert_eq!(left, before);
            }
            done += 1;
        }
    }
    done
}

#[test]
fn every_pair_of_leaves_merges_if_it_fits() {
    let done = each_order!(every_merge(sized(3_000, 1)));
    figure("exhaustive", "pairs of leaves merged or refused", done);
}

fn write_branch<O: KeyOrder>(case: &Case<O>, page_bytes: usize, model: &[Child]) -> Vec<u8> {
    let mut page = vec![0; page_bytes];
    let mut edit = BranchMut::init(&mut page, ptr(3), 2, model[0].1);
    for (i, (separator, child)) in model.iter().enumerate().skip(1) {
        assert!(edit.insert(case.order, i, separator, *child).unwrap());
    }
    page
}

/// Children in order that fit a page; the separator of the first is what its parent would have.
fn some_children<O: KeyOrder>(case: &Case<O>, rng: &mut Rng, page_bytes: usize) -> Vec<Child> {
    let long = rng.chance(3);
    let most = 2 + rng.below(12);
    let mut keys: Vec<Vec<u8>> = (0..most)
        .map(|_| {
            let mut key = rng.key(if long { key_bytes_max(page_bytes) } else { 24 });
            let shared = if rng.chance(2) { 0 } else { key_bytes_max(page_bytes) - 24 };
            key.truncate(key_bytes_max(page_bytes) - shared);
            let mut joined = vec![0; shared + key.len()];
            case.order.join(&vec![b'P'; shared], &key, &mut joined);
            joined
        })
        .collect();
    case.sort(&mut keys);
    let mut model: Vec<Child> = Vec::new();
    for (i, key) in keys.into_iter().enumerate() {
        model.push((key, ptr(i as u32 + 20)));
        if packed_bytes(case, &model) > page_bytes {
            model.pop();
        }
    }
    model
}

fn every_branch_split<O: KeyOrder>(case: &Case<O>, pages: usize) -> u64 {
    let (order, mut rng, mut done) = (case.order, Rng(5), 0);
    for _ in 0..pages {
        let model = some_children(case, &mut rng, 256);
        let page = write_branch(case, 256, &model);
        let probes: Vec<Vec<u8>> = model.iter().map(|child| child.0.clone()).collect();
        for at in 1..model.len() {
            let (mut left, mut right) = (page.clone(), vec![0x77; 256]);
            let up = split_branch(order, &mut left, &mut right, ptr(8), at).unwrap();
            assert_eq!(up, model[at].0);
            same_branch(case, &left, &model[..at], &probes);
            same_branch(case, &right, &model[at..], &probes);
            assert_eq!((header::ptr(&right), header::level(&right)), (ptr(8), 2));
            assert!(merge_branch(order, &mut left, &up, &right).unwrap());
            same_branch(case, &left, &model, &probes);
            done += 1;
        }
        for key in (0..6).map(|_| rng.key(key_bytes_max(256))).chain([probes[0].repeat(2)]) {
            let Err(index) = model[1..].binary_search_by(|c| (case.plain)(&c.0, &key)) else {
                continue;
            };
            if key.len() <= key_bytes_max(256) {
                done += split_with(case, &page, &model, index + 1, &key);
            }
        }
    }
    done
}

/// Divides a branch with a new child in it, as if at every edge of the tree.
fn split_with<O: KeyOrder>(
    case: &Case<O>,
    page: &[u8],
    model: &[Child],
    index: usize,
    key: &[u8],
) -> u64 {
    let mut wanted = model.to_vec();
    wanted.insert(index, (key.to_vec(), ptr(99)));
    let probes: Vec<Vec<u8>> = wanted.iter().map(|child| child.0.clone()).collect();
    for (rightmost, leftmost) in [(false, false), (true, false), (false, true), (true, true)] {
        let (mut left, mut right) = (page.to_vec(), vec![0x77; page.len()]);
        let new = NewChild { index, separator: key, child: ptr(99) };
        let (up, at) = split_branch_insert(
            case.order,
            &mut left,
            &mut right,
            ptr(8),
            new,
            rightmost,
            leftmost,
        )
        .unwrap();
        assert_eq!(up, wanted[at].0);
        same_branch(case, &left, &wanted[..at], &probes);
        same_branch(case, &right, &wanted[at..], &probes);
        if rightmost && index == model.len() {
            assert_eq!(at, model.len(), "the right edge keeps the left page full");
        }
    }
    4
}

#[test]
fn every_split_point_of_a_branch() {
    let done = each_order!(every_branch_split(4_000));
    figure("exhaustive", "branches divided, at every place", done);
}

fn every_branch_merge<O: KeyOrder>(case: &Case<O>, pages: usize) -> u64 {
    let (order, mut rng, mut done) = (case.order, Rng(6), 0);
    for _ in 0..pages {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for _ in 0..2 {
            keys.extend(some_children(case, &mut rng, 256).into_iter().map(|child| child.0));
        }
        case.sort(&mut keys);
        let all: Vec<Child> =
            keys.into_iter().enumerate().map(|(i, key)| (key, ptr(i as u32 + 20))).collect();
        for at in 1..all.len() {
            let (low, high) = all.split_at(at);
            if packed_bytes(case, low).max(packed_bytes(case, high)) > 256 {
                continue;
            }
            let (mut left, right) = (write_branch(case, 256, low), write_branch(case, 256, high));
            let before = left.clone();
            let merged = merge_branch(order, &mut left, &all[at].0, &right).unwrap();
            assert_eq!(merged, packed_bytes(case, &all) <= 256);
            if merged {
                same_branch(case, &left, &all, &[]);
            } else {
                assert_eq!(left, before);
            }
            done += 1;
        }
    }
    done
}

#[test]
fn every_pair_of_branches_merges_if_it_fits() {
    let done = each_order!(every_branch_merge(sized(3_000, 1)));
    figure("exhaustive", "pairs of branches merged or refused", done);
}

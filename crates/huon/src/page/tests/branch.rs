use super::*;

/// Separator and child; the first separator stands for "below everything".
pub(super) type Child = (Vec<u8>, Ptr);

/// The page must hold exactly these children, and lead every probe as they do.
pub(super) fn same<O: KeyOrder>(case: &Case<O>, page: &[u8], model: &[Child], probes: &[Vec<u8>]) {
    let (order, branch) = (case.order, branch(page));
    branch.audit(order).unwrap();
    assert_eq!(branch.count(), model.len());
    assert_eq!(branch.live_bytes() + branch.free_bytes(), page.len() - HEADER_BYTES);
    for (i, (separator, child)) in model.iter().enumerate() {
        assert_eq!(branch.child(i), *child);
        if i > 0 {
            assert_eq!(branch.separator(i).unwrap().whole(order).unwrap(), *separator);
        }
    }
    for key in probes {
        let below = |child: &Child| (case.plain)(&child.0, key) != Ordering::Greater;
        let child = model[1..].partition_point(below);
        assert_eq!(branch.find(order, key).unwrap(), child, "{key:x?}");
        let steadily = branch.find_steadily(&Probe::new(order, key)).unwrap();
        assert_eq!(steadily, child, "{key:x?}");
    }
}

/// Bytes of a packed branch with the best prefix.
pub(super) fn packed_bytes<O: KeyOrder>(case: &Case<O>, model: &[Child]) -> usize {
    let separators: Vec<&[u8]> = model[1..].iter().map(|child| &child.0[..]).collect();
    let prefix = match (separators.first(), separators.last()) {
        (Some(first), Some(last)) => case.order.common(first, last),
        _ => 0,
    };
    let rests: usize = separators.iter().map(|separator| separator.len() - prefix).sum();
    HEADER_BYTES + 20 * model.len() + prefix + rests
}

fn every_insertion_order<O: KeyOrder>(case: &Case<O>, keys: &[Vec<u8>]) -> u64 {
    let (mut page, mut done) = (vec![0; 256], 0);
    let ways = permutations(4);
    let sets = (0_u32..1 << keys.len()).step_by(sized(1, 977));
    for set in sets.filter(|set| set.count_ones() == 4) {
        let chosen: Vec<&Vec<u8>> =
            (0..keys.len()).filter(|i| set >> i & 1 == 1).map(|i| &keys[i]).collect();
        for way in ways.iter().step_by(sized(1, 11)) {
            BranchMut::init(&mut page, ptr(7), 3, ptr(1));
            let mut model = vec![(Vec::new(), ptr(1))];
            for i in way {
                let at = 1 + model[1..]
                    .partition_point(|child| (case.plain)(&child.0, chosen[*i]) == Ordering::Less);
                let child = ptr(10 + *i as u32);
                let mut edit = BranchMut::view(&mut page).unwrap();
                assert!(edit.insert(case.order, at, chosen[*i], child).unwrap());
                model.insert(at, (chosen[*i].clone(), child));
            }
            same(case, &page, &model, keys);
            done += 1;
        }
    }
    done
}

#[test]
fn every_insertion_order_of_small_separator_sets() {
    let keys = all_keys(&[0, 0xFF], 3);
    let done = each_order!(every_insertion_order(&keys));
    figure("exhaustive", "branches filled in every insertion order", done);
}

fn random_edits<O: KeyOrder>(case: &Case<O>, page_bytes: usize, edits: usize, seed: u64) -> u64 {
    let (order, mut rng) = (case.order, Rng(seed));
    let max = key_bytes_max(page_bytes);
    let mut page = vec![0xAA; page_bytes];
    BranchMut::init(&mut page, ptr(7), 1, ptr(1));
    let mut model: Vec<Child> = vec![(Vec::new(), ptr(1))];
    let mut refused = 0;
    for n in 0..edits {
        let mut edit = BranchMut::view(&mut page).unwrap();
        let (key, child) = (rng.key(max), ptr(n as u32 + 2));
        let place = model[1..].binary_search_by(|child| (case.plain)(&child.0, &key));
        let mut wanted = model.clone();
        let done = match (rng.below(8), place) {
            (0..=1, _) if model.len() > 1 => {
                let i = rng.below(model.len());
                wanted.remove(i);
                edit.remove(i).unwrap();
                true
            }
            (2, _) => {
                let i = rng.below(model.len());
                wanted[i].1 = child;
                edit.set_child(i, child);
                true
            }
            (3, Err(i)) if i > 0 => {
                wanted[i].0.clone_from(&key);
                edit.set_separator(order, i, &key).unwrap()
            }
            (_, Err(i)) => {
                wanted.insert(i + 1, (key.clone(), child));
                edit.insert(order, i + 1, &key, child).unwrap()
            }
            _ => true,
        };
        wanted[0].0.clear();
        assert_eq!(done, packed_bytes(case, &wanted) <= page_bytes);
        model = if done { wanted } else { model };
        refused += u64::from(!done);
        let probes = [key, rng.key(max), rng.key(20)];
        same(case, &page, &model, &probes);
        if rng.chance(20) {
            for form in packed_forms(order, &page) {
                same(case, &form, &model, &probes);
                page = form;
            }
            assert!(HEADER_BYTES + branch(&page).live_bytes() >= packed_bytes(case, &model));
        }
    }
    assert!(refused > 0, "the page never was full");
    edits as u64
}

#[test]
fn random_edits_agree_with_a_vector() {
    let mut done = 0;
    for (page_bytes, edits) in [(256, 20_000), (512, 10_000), (4096, 2_000), (65536, 300)] {
        done += each_order!(random_edits(page_bytes, edits, page_bytes as u64));
    }
    figure("model", "random edits of branches", done);
}

#[test]
fn empty_separators_and_full_pages_of_64_kib() {
    let falling = |a: &[u8], b: &[u8]| b.cmp(a);
    let order = CustomOrder(&falling);
    let mut page = vec![0; 65536];
    let mut edit = BranchMut::init(&mut page, ptr(7), 1, ptr(1));
    assert!(edit.insert(order, 1, b"", ptr(2)).unwrap());
    edit.as_branch().audit(order).unwrap();
    assert_eq!(edit.as_branch().find(order, b"").unwrap(), 1);
    assert_eq!(edit.as_branch().find(order, b"a").unwrap(), 0);
    let mut edit = BranchMut::init(&mut page, ptr(7), 1, ptr(1));
    let mut n = 1_u32;
    while edit.insert(BytesOrder, n as usize, &n.to_be_bytes(), ptr(n)).unwrap() {
        n += 1;
    }
    // All separators share two bytes.
    assert_eq!(n, 1 + (65504 - 20 - 2) / 22);
    edit.as_branch().audit(BytesOrder).unwrap();
}

#[test]
fn the_first_separator_is_all_prefix_and_later_ones_shorten_it() {
    let mut page = vec![0; 256];
    BranchMut::init(&mut page, ptr(7), 1, ptr(1));
    for (at, separator, prefix) in
        [(1, &b"user/50"[..], 7), (2, b"user/75", 5), (2, b"user/60", 5), (1, b"use", 3)]
    {
        let mut edit = BranchMut::view(&mut page).unwrap();
        assert!(edit.insert(BytesOrder, at, separator, ptr(9)).unwrap());
        let branch = branch(&page);
        assert_eq!(branch.prefix_bytes(), prefix);
        branch.audit(BytesOrder).unwrap();
    }
    for (key, child) in [(&b"us"[..], 0), (b"use", 1), (b"user", 1), (b"user/6", 2), (b"v", 4)] {
        assert_eq!(branch(&page).find(BytesOrder, key).unwrap(), child, "{key:?}");
    }
}

use super::*;

fn shares(keys: [&[u8]; 2], from_end: bool) -> usize {
    let [a, b] = keys;
    if from_end {
        a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
    } else {
        a.iter().zip(b).take_while(|(x, y)| x == y).count()
    }
}

fn pair<O: KeyOrder>(case: &Case<O>, a: &[u8], b: &[u8]) {
    let order = case.order;
    assert_eq!(order.compare(a, b), (case.plain)(a, b), "{a:x?} {b:x?}");
    let from_end = order.has_heads() && order.lead(b"xy", 1) == b"y";
    let common = if order.has_heads() { shares([a, b], from_end) } else { 0 };
    assert_eq!(order.common(a, b), common);
    for n in 0..a.len() + 2 {
        let (lead, rest) = (order.lead(a, n), order.rest(a, n));
        let mut joined = vec![0; lead.len() + rest.len()];
        order.join(lead, rest, &mut joined);
        assert_eq!((joined.as_slice(), lead.len()), (a, n.min(a.len())));
        assert_eq!(Probe::new(order, a).head(n), order.head(a, n));
    }
    prefix_as_a_number(case, a, b);
    if order.compare(a, b) != Ordering::Less {
        return;
    }
    for skip in 0..=common {
        assert!(order.head(a, skip) <= order.head(b, skip), "heads out of order: {a:x?} {b:x?}");
    }
    let separator = order.separator(a, b);
    let apart = |key: &[u8]| order.compare(a, key) == Ordering::Less;
    assert!(apart(separator) && order.compare(separator, b) != Ordering::Greater);
    if order.has_heads() {
        let shorter = order.lead(separator, separator.len() - 1);
        assert!(!apart(shorter), "{shorter:x?} would do between {a:x?} and {b:x?}");
    }
}

/// The first bytes of `b`, in key order, at the end of a page: `a` compares with them as with any
/// key.
fn prefix_as_a_number<O: KeyOrder>(case: &Case<O>, a: &[u8], b: &[u8]) {
    let order = case.order;
    for n in 0..=b.len().min(8) {
        let lead = order.lead(b, n);
        let mut tail = [0x5A; 8];
        tail[8 - n..].copy_from_slice(lead);
        let known = order.has_heads() && n > 0 && a.len() >= n;
        let expected = order.compare(order.lead(a, n), lead);
        let compared = Probe::new(order, a).compare_lead(&tail, n);
        assert_eq!(compared, known.then_some(expected), "{a:x?} {lead:x?}");
    }
    assert_eq!(Probe::new(order, a).compare_lead(&[0; 8], 9), None);
}

fn all_pairs<O: KeyOrder>(case: &Case<O>, keys: &[Vec<u8>]) -> u64 {
    for a in keys {
        keys.iter().for_each(|b| pair(case, a, b));
    }
    (keys.len() * keys.len()) as u64
}

#[test]
fn orders_keep_their_promises() {
    let mut keys = all_keys(&[0, b'a', 0xFF], 3);
    let mut rng = Rng(1);
    keys.extend((0..200).map(|_| rng.key(40)));
    let pairs = each_order!(all_pairs(&keys));
    figure("exhaustive", "pairs of keys compared in every order", pairs);
}

#[test]
fn native_integers_are_the_reversed_order() {
    let mut rng = Rng(2);
    let mut edge = vec![0, 1, 255, 256, 65535, 65536, u64::MAX, 1 << 63];
    edge.extend((0..200).map(|_| rng.next() >> rng.below(64)));
    for a in &edge {
        for b in &edge {
            let order = ReversedOrder;
            assert_eq!(order.compare(&a.to_le_bytes(), &b.to_le_bytes()), a.cmp(b));
            let (x, y) = (*a as u32, *b as u32);
            assert_eq!(order.compare(&x.to_le_bytes(), &y.to_le_bytes()), x.cmp(&y));
        }
        assert_eq!(ReversedOrder.head(&a.to_le_bytes(), 0), (a >> 32) as u32);
    }
}

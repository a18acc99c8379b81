//! The orders of keys and values, as functions of two pieces of bytes.

use std::cmp::Ordering;

use crate::flags::dbi;

/// Orders two keys, or two values of one key.
pub(crate) type Order = fn(&[u8], &[u8]) -> Ordering;

/// How keys are ordered in a table of these flags.
pub(crate) fn of_keys(flags: u32) -> Order {
    match flags {
        _ if flags & dbi::REVERSEKEY != 0 => backwards,
        _ if flags & dbi::INTEGERKEY != 0 => integers,
        _ => by_bytes,
    }
}

/// How the values of a key are ordered in a table of these flags; where a key has one value, this
/// tells only whether two are equal.
pub(crate) fn of_values(flags: u32) -> Order {
    match flags {
        _ if flags & dbi::DUPSORT == 0 => shorter_first,
        _ if flags & dbi::INTEGERDUP != 0 => integers,
        _ if flags & dbi::REVERSEDUP != 0 => backwards,
        _ => by_bytes,
    }
}

/// From the first byte to the last; what is a beginning of the other comes first.
pub(crate) fn by_bytes(a: &[u8], b: &[u8]) -> Ordering {
    a.cmp(b)
}

/// From the last byte to the first; what is an end of the other comes first.
pub(crate) fn backwards(a: &[u8], b: &[u8]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// As `u32` or `u64`. What has another length is no key of such a table; it has some place.
pub(crate) fn integers(a: &[u8], b: &[u8]) -> Ordering {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) if a != b => a.cmp(&b),
        _ => shorter_first(a, b),
    }
}

/// By length, then by bytes.
pub(crate) fn shorter_first(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn integer(bytes: &[u8]) -> Option<u64> {
    match bytes.len() {
        4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
        8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_has_its_order() {
        let keys = |flags| of_keys(flags)(b"ab", b"b");
        assert_eq!([keys(0), keys(dbi::DUPSORT)], [Ordering::Less; 2]);
        assert_eq!(of_keys(dbi::REVERSEKEY)(b"ab", b"b"), Ordering::Greater);
        assert_eq!(of_keys(dbi::REVERSEKEY)(b"az", b"ya"), Ordering::Greater);
        assert_eq!(of_values(dbi::DUPSORT | dbi::REVERSEDUP)(b"az", b"ya"), Ordering::Greater);
        assert_eq!(of_values(dbi::DUPSORT)(b"ab", b"b"), Ordering::Less);
        assert_eq!(of_values(0)(b"ab", b"b"), Ordering::Greater);
        for (a, b) in [(1_u64, 256_u64), (255, 1 << 40), (7, u64::MAX)] {
            let (a, b) = (a.to_ne_bytes(), b.to_ne_bytes());
            assert_eq!(of_keys(dbi::INTEGERKEY)(&a, &b), Ordering::Less);
            assert_eq!(of_values(dbi::DUPSORT | dbi::INTEGERDUP)(&b, &a), Ordering::Greater);
        }
        assert_eq!(integers(&1_u32.to_ne_bytes(), &256_u32.to_ne_bytes()), Ordering::Less);
    }

    #[test]
    fn every_order_is_one() {
        let words: [&[u8]; 9] = [
            b"",
            b"a",
            b"b",
            b"ab",
            b"ba",
            b"abcd",
            b"dcba",
            b"aaaaaaaa",
            &[0, 0, 0, 1, 0, 0, 0, 0],
        ];
        for order in [by_bytes, backwards, shorter_first] {
            for (a, b) in words.iter().flat_map(|a| words.iter().map(move |b| (a, b))) {
                assert_eq!(order(a, b), order(b, a).reverse());
                assert_eq!(order(a, b) == Ordering::Equal, a == b);
                for c in words {
                    assert!(order(a, b).is_gt() || order(b, c).is_gt() || order(a, c).is_le());
                }
            }
        }
    }
}

//! Comparing byte strings by words, without a call where they are short.
//!
//! The C library compares short strings by loads of whole vectors, which reach behind their ends.
//! At the last cell of a page, and at the prefix of a branch, that is another page, which need not
//! be in the cache, or even mapped. Here nothing is read but the strings.

use std::cmp::Ordering;

/// Longer strings are the C library's: it reads no further than their end, and more at once.
const SHORT_BYTES_MAX: usize = 32;

/// Whether the two are the same.
#[inline(always)]
pub(super) fn are_same(a: &[u8], b: &[u8]) -> bool {
    match a.len() {
        bytes if bytes != b.len() => false,
        0..8 => word_of_few(a) == word_of_few(b),
        8..=16 => have_same_ends::<8>(a, b),
        17..=SHORT_BYTES_MAX => have_same_ends::<16>(a, b),
        _ => a == b,
    }
}

/// Whether the first so many bytes of the two are the same, and the last.
#[inline(always)]
fn have_same_ends<const BYTES: usize>(a: &[u8], b: &[u8]) -> bool {
    a.first_chunk::<BYTES>() == b.first_chunk() && a.last_chunk::<BYTES>() == b.last_chunk()
}

/// How the two compare as byte strings.
#[inline(always)]
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    match a.len().min(b.len()) {
        0..=SHORT_BYTES_MAX => match first_difference(a, b) {
            Some((a, b)) => a.cmp(&b),
            None => a.len().cmp(&b.len()),
        },
        _ => a.cmp(b),
    }
}

/// The first words of the two that differ, as numbers that compare as their bytes do. `None`: they
/// are the same as far as both go.
#[inline(always)]
fn first_difference(a: &[u8], b: &[u8]) -> Option<(u64, u64)> {
    let bytes = a.len().min(b.len());
    let (a, b) = (&a[..bytes], &b[..bytes]);
    let (Some(a_last), Some(b_last)) = (a.last_chunk(), b.last_chunk()) else {
        return differing(word_of_few(a), word_of_few(b));
    };
    for (x, y) in a.as_chunks().0.iter().zip(b.as_chunks().0) {
        let found = differing(u64::from_be_bytes(*x), u64::from_be_bytes(*y));
        if found.is_some() {
            return found;
        }
    }
    // The rest, with bytes before it that are the same.
    differing(u64::from_be_bytes(*a_last), u64::from_be_bytes(*b_last))
}

#[inline(always)]
fn differing(a: u64, b: u64) -> Option<(u64, u64)> {
    (a != b).then_some((a, b))
}

/// All of less than eight bytes, some of them twice: of strings of one length the words compare as
/// the strings do.
#[inline(always)]
fn word_of_few(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_be_bytes(*first)) << 32 | u64::from(u32::from_be_bytes(*last));
    }
    match *bytes {
        [] => 0,
        [first, ..] => {
            let (middle, last) = (bytes[bytes.len() / 2], bytes[bytes.len() - 1]);
            u64::from(first) << 16 | u64::from(middle) << 8 | u64::from(last)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of lengths, equal as far as both go and with each byte in turn higher.
    #[test]
    fn every_byte_and_every_length_counts() {
        let longest = SHORT_BYTES_MAX + 9;
        let bytes: Vec<u8> = (0..longest as u8).map(|n| n.wrapping_mul(37)).collect();
        for a_bytes in 0..=longest {
            for b_bytes in 0..=longest {
                let (a, b) = (&bytes[..a_bytes], &bytes[..b_bytes]);
                assert_eq!(compare(a, b), a_bytes.cmp(&b_bytes));
                assert_eq!(are_same(a, b), a_bytes == b_bytes);
                for at in 0..b_bytes {
                    let mut b = b.to_vec();
                    b[at] ^= 0x80;
                    assert_eq!(compare(a, &b), a.cmp(&b), "{a:x?} {b:x?}");
                    assert_eq!(compare(&b, a), b.as_slice().cmp(a), "{b:x?} {a:x?}");
                    assert_eq!(are_same(a, &b), a == b, "{a:x?} {b:x?}");
                }
            }
        }
    }
}

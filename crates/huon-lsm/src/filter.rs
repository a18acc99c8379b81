//! Filters: whether a run may hold a key.
//!
//! A split block Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom
//! Filters, 2007; as in Impala and Parquet): a key has eight bits in one block of 32 bytes, so a
//! question reads one cache line. Bytes only, so that a filter can be used where it lies in the
//! file.

use huon::Result;
use twox_hash::XxHash3_64;

use crate::format::Header;

const BLOCK: usize = 32;

/// Odd numbers that spread a hash over the eight words of a block.
const SALT: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// The hash of a key, which all filters share.
#[inline]
pub(crate) fn hash(key: &[u8]) -> u64 {
    XxHash3_64::oneshot(key)
}

/// So many hashes wait until they are added together. A filter of a large run lies in no cache, and
/// a merge does too much between two records for the processor to wait for two lines at a time; one
/// after the other, it waits for many.
const TOGETHER: usize = 64;

/// A filter that is being made.
pub(crate) struct Maker {
    blocks: Vec<u8>,
    /// Hashes that are to be added: the first `count`.
    waiting: [u64; TOGETHER],
    count: usize,
}

impl Maker {
    /// For so many keys at so many bits each. More keys make it less sure, never wrong.
    pub(crate) fn new(keys: u64, bits: u32) -> Result<Maker> {
        let blocks = keys.saturating_mul(bits.into()).div_ceil(BLOCK as u64 * 8).max(1);
        let bytes = usize::try_from(blocks).unwrap_or(usize::MAX).saturating_mul(BLOCK);
        let mut filter = Vec::new();
        filter.try_reserve_exact(bytes)?;
        filter.resize(bytes, 0);
        Ok(Maker { blocks: filter, waiting: [0; TOGETHER], count: 0 })
    }

    /// For so many keys of a table, if it has filters.
    pub(crate) fn of_table(header: &Header, keys: u64) -> Result<Option<Maker>> {
        let bits = header.filter_bits.into();
        if bits > 0 { Maker::new(keys, bits).map(Some) } else { Ok(None) }
    }

    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        self.waiting[self.count] = hash;
        self.count += 1;
        if self.count == TOGETHER {
            self.add_waiting();
        }
    }

    fn add_waiting(&mut self) {
        for hash in &self.waiting[..self.count] {
            let at = block_of(self.blocks.len(), *hash);
            let words = self.blocks[at..at + BLOCK].as_chunks_mut::<4>().0;
            for (word, bit) in words.iter_mut().zip(bits(*hash)) {
                *word = (u32::from_le_bytes(*word) | bit).to_le_bytes();
            }
        }
        self.count = 0;
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.add_waiting();
        self.blocks
    }
}

/// Whether the bytes can be a filter.
pub(crate) fn is_sound(filter: &[u8]) -> bool {
    !filter.is_empty() && filter.len().is_multiple_of(BLOCK)
}

/// Whether a key of this hash may be there; `false` is sure. The filter [`is_sound`].
#[inline]
pub(crate) fn may_hold(filter: &[u8], hash: u64) -> bool {
    let at = block_of(filter.len(), hash);
    let words = filter[at..at + BLOCK].as_chunks::<4>().0;
    let missing = words.iter().zip(bits(hash)).map(|(word, bit)| bit & !u32::from_le_bytes(*word));
    missing.fold(0, |all, bits| all | bits) == 0
}

#[inline]
fn bits(hash: u64) -> impl Iterator<Item = u32> {
    SALT.iter().map(move |salt| 1 << ((hash as u32).wrapping_mul(*salt) >> 27))
}

/// Where the block of a hash begins.
#[inline]
fn block_of(filter_bytes: usize, hash: u64) -> usize {
    let blocks = (filter_bytes / BLOCK) as u64;
    (((hash >> 32) * blocks) >> 32) as usize * BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_there_are_never_denied_and_few_others_pass() {
        for (keys, bits) in [(1u64, 12u32), (1000, 12), (100_000, 12), (100_000, 8)] {
            let mut maker = Maker::new(keys, bits).unwrap();
            (0..keys).for_each(|n| maker.add(hash(&n.to_be_bytes())));
            let filter = maker.finish();
            assert!(is_sound(&filter) && filter.len() as u64 <= keys * u64::from(bits) / 8 + 32);
            assert!((0..keys).all(|n| may_hold(&filter, hash(&n.to_be_bytes()))));
            let absent = (keys..keys + 100_000).map(|n| hash(&n.to_be_bytes()));
            let passed = absent.filter(|hash| may_hold(&filter, *hash)).count();
            // About 0.5 % at 12 bits a key, 3 % at 8.
            assert!(passed < if bits == 12 { 1500 } else { 5000 }, "{keys} {bits}: {passed}");
        }
    }

    #[test]
    fn bytes_of_other_lengths_are_no_filter() {
        assert!(!is_sound(&[]) && !is_sound(&[0; 31]) && !is_sound(&[0; 33]) && is_sound(&[0; 64]));
    }
}

//! A set of page numbers.

use crate::alloc::{Reserved, filled};

/// A bit for each page below a limit.
pub(crate) struct Bitmap {
    words: Vec<u64>,
    limit: u32,
}

impl Bitmap {
    pub(crate) fn new(limit: u32) -> Reserved<Bitmap> {
        Ok(Bitmap { words: filled(0, limit.div_ceil(64) as usize)?, limit })
    }

    /// Pages that the set can hold: those below this number.
    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    pub(crate) fn has(&self, pgno: u32) -> bool {
        self.words.get(pgno as usize / 64).is_some_and(|word| word >> (pgno % 64) & 1 == 1)
    }

    /// Adds a page; whether it was there before. A page past the limit is left out.
    pub(crate) fn put(&mut self, pgno: u32) -> bool {
        if pgno >= self.limit {
            return false;
        }
        let word = &mut self.words[pgno as usize / 64];
        let bit = 1 << (pgno % 64);
        let had = *word & bit != 0;
        *word |= bit;
        had
    }

    /// The runs of pages from `first` on that are in neither set, as first page and page count.
    pub(crate) fn gaps<'b>(
        &'b self,
        other: &'b Bitmap,
        first: u32,
    ) -> impl Iterator<Item = (u32, u32)> + 'b {
        let mut at = first;
        std::iter::from_fn(move || {
            let start = self.seek(other, at, false)?;
            let end = self.seek(other, start, true).unwrap_or(self.limit);
            at = end;
            Some((start, end - start))
        })
    }

    /// The first page from `at` on that is in one of the sets (`taken`), or in neither.
    fn seek(&self, other: &Bitmap, at: u32, taken: bool) -> Option<u32> {
        let mut at = at;
        while at < self.limit {
            let index = at as usize / 64;
            let union = self.words[index] | other.words.get(index).copied().unwrap_or(0);
            let wanted = if taken { union } else { !union };
            let rest = wanted >> (at % 64);
            if rest != 0 {
                let found = at + rest.trailing_zeros();
                return (found < self.limit).then_some(found);
            }
            at = at.checked_next_multiple_of(64).filter(|&next| next > at).or(at.checked_add(64))?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_the_pages_in_neither_set() {
        let mut random = crate::testing::Random::new(7);
        for limit in [0, 1, 63, 64, 65, 200, 1000] {
            let [mut a, mut b] = [(), ()].map(|()| Bitmap::new(limit).unwrap());
            let mut model = vec![false; limit as usize];
            for _ in 0..limit * 3 {
                let pgno = random.below(u64::from(limit) + 3) as u32;
                let set = if random.below(2) == 0 { &mut a } else { &mut b };
                set.put(pgno);
                if let Some(bit) = model.get_mut(pgno as usize) {
                    *bit = true;
                }
            }
            for first in 0..limit.min(130) {
                let pages = a.gaps(&b, first).flat_map(|(start, count)| start..start + count);
                let expected = (first..limit).filter(|&pgno| !model[pgno as usize]);
                assert!(pages.eq(expected), "limit {limit}, first {first}");
            }
        }
    }
}

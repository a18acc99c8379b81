//! A set of page numbers: small where they lie close together, nothing where there are none.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;

use crate::alloc::Reserved;
use crate::page::Pgno;
use crate::store::by_pgno::PgnoHasher;

const BITS: u32 = 64;

/// Numbers by groups of 64.
#[derive(Default)]
pub(crate) struct PageSet(HashMap<u32, u64, BuildHasherDefault<PgnoHasher>>);

impl PageSet {
    pub(crate) fn insert(&mut self, pgno: Pgno, pages: u32) -> Reserved<()> {
        for (group, bits) in groups(pgno, pages) {
            self.0.try_reserve(1)?;
            *self.0.entry(group).or_default() |= bits;
        }
        Ok(())
    }

    /// They are all in the set, and leave it.
    pub(crate) fn remove(&mut self, pgno: Pgno, pages: u32) {
        for (group, bits) in groups(pgno, pages) {
            if let Entry::Occupied(mut entry) = self.0.entry(group) {
                *entry.get_mut() &= !bits;
                if *entry.get() == 0 {
                    entry.remove();
                }
            }
        }
    }

    /// Whether all of these pages are in the set.
    pub(crate) fn holds(&self, pgno: Pgno, pages: u32) -> bool {
        groups(pgno, pages)
            .all(|(group, bits)| self.0.get(&group).is_some_and(|g| g & bits == bits))
    }

    /// Whether any of these pages is in the set.
    #[inline]
    pub(crate) fn meets(&self, pgno: Pgno, pages: u32) -> bool {
        !self.0.is_empty()
            && groups(pgno, pages)
                .any(|(group, bits)| self.0.get(&group).is_some_and(|g| g & bits != 0))
    }
}

/// The groups that a run of pages lies in, each with the run's bits.
fn groups(pgno: Pgno, pages: u32) -> impl Iterator<Item = (u32, u64)> {
    let (from, to) = (u64::from(pgno.0), u64::from(pgno.0) + u64::from(pages));
    let bits = u64::from(BITS);
    (from / bits..to.div_ceil(bits)).map(move |group| {
        let low = from.saturating_sub(group * bits);
        let high = (to - group * bits).min(bits);
        (group as u32, (u64::MAX >> (bits - (high - low))) << low)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_meet_where_they_share_a_page() {
        let mut checks = 0u64;
        for (pgno, pages) in [(0, 1), (63, 1), (64, 1), (60, 8), (1, 200), (u32::MAX - 70, 70)] {
            let mut set = PageSet::default();
            assert!(!set.meets(Pgno(pgno), pages));
            set.insert(Pgno(pgno), pages).unwrap();
            let (from, to) = (u64::from(pgno), u64::from(pgno) + u64::from(pages));
            for at in from.saturating_sub(130)..(to + 130).min(u64::from(u32::MAX)) {
                for count in [1, 2, 63, 64, 65, 129] {
                    let expected = at < to && at + count > from;
                    assert_eq!(set.meets(Pgno(at as u32), count as u32), expected, "{at} {count}");
                    let all = at >= from && at + count <= to;
                    assert_eq!(set.holds(Pgno(at as u32), count as u32), all, "{at} {count}");
                    checks += 1;
                }
            }
            let part = pages / 2;
            if part > 0 {
                set.remove(Pgno(pgno), part);
                assert!(!set.meets(Pgno(pgno), part));
            }
            assert!(set.holds(Pgno(pgno + part), pages - part));
            set.remove(Pgno(pgno + part), pages - part);
            assert!(set.0.is_empty());
        }
        assert!(checks > 1000);
    }
}

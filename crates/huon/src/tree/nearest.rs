//! Reading a tree: the record at one of its ends, or the one nearest to a key.
//!
//! No path is made. A record that is not in the leaf which a key leads to is at the near end of the
//! part of the tree beside the way down: of those parts, only the last one that was passed counts.
//!
//! Where anything is wrong it is not said what: a caller that wants the reason walks there.

use crate::os::prefetch_start;
use crate::page::{Cell, KeyOrder, Probe, Ptr};
use crate::store::source::PageSource;
use crate::tree::view::TreeView;

/// A record that is wanted for its place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nearest<'k> {
    First,
    Last,
    AtOrAbove(&'k [u8]),
    AtOrBelow(&'k [u8]),
}

/// A page, and how many levels above the leaves it is.
type Below = (Ptr, u8);

impl<'s, S: PageSource + ?Sized, O: KeyOrder> TreeView<'s, '_, S, O> {
    /// The cell of the record, if there is one; `None` where anything is wrong.
    ///
    /// Costs a page for each level, as a get; at most one less than twice as many where the leaf of
    /// the key does not hold the record.
    #[inline(always)]
    pub(crate) fn fast_nearest(&self, wanted: Nearest<'_>) -> Option<Option<Cell<'s>>> {
        let Some(level) = self.tree.depth.checked_sub(1) else { return Some(None) };
        let whole = (self.tree.root, level);
        match wanted {
            Nearest::First => self.end_of(whole, true).map(Some),
            Nearest::Last => self.end_of(whole, false).map(Some),
            Nearest::AtOrAbove(key) => self.beside_key(whole, key, true),
            Nearest::AtOrBelow(key) => self.beside_key(whole, key, false),
        }
    }

    /// The first record below a page, or the last.
    #[inline(always)]
    fn end_of(&self, (mut ptr, mut level): Below, first: bool) -> Option<Cell<'s>> {
        while level > 0 {
            let branch = self.source.fast_branch(ptr, level)?;
            ptr = branch.child(if first { 0 } else { branch.count() - 1 });
            level -= 1;
        }
        let mut leaf = self.source.fast_leaf(ptr)?;
        let cell = if first { leaf.take_first() } else { leaf.take_last() };
        cell?.ok()
    }

    /// The record of the key, or else the next one above or below it.
    #[inline(always)]
    fn beside_key(
        &self,
        (mut ptr, level): Below,
        key: &[u8],
        above: bool,
    ) -> Option<Option<Cell<'s>>> {
        let probe = Probe::new(self.order, key);
        let mut beside = None;
        for level in (1..=level).rev() {
            let branch = self.source.fast_branch(ptr, level)?;
            let child = branch.find_probe(&probe).ok()?;
            let next = if above { child + 1 } else { child.wrapping_sub(1) };
            if next < branch.count() {
                beside = Some((branch.child(next), level - 1));
            }
            ptr = branch.child(child);
            self.source.prefetch(ptr);
        }
        let leaf = self.source.fast_leaf(ptr)?;
        let place = match leaf.search_probe(&probe).ok()? {
            Ok(place) => place,
            Err(place) if above => place,
            Err(place) => place.wrapping_sub(1),
        };
        if place < leaf.count() {
            prefetch_start(leaf.bytes_from(place));
            return leaf.cell(place).ok().map(Some);
        }
        match beside {
            Some(part) => self.end_of(part, above).map(Some),
            None => Some(None),
        }
    }
}

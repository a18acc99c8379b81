//! Reading a tree: many keys side by side.
//!
//! The keys of a batch descend together, a level at a time. The page that a key needs next is
//! prefetched as soon as it is known, and read only after the other keys had their turn, so that
//! the batch waits for memory about once a level and not once a key. The same holds for pages that
//! are still on the disk.
//!
//! A batch finds what a get of each of its keys finds. Where it fails, it does not say why: a
//! caller that wants the reason, and the records before it, gets the keys one at a time.

use crate::os::{Disk, prefetch_start};
use crate::page::{Cell, KeyOrder, Probe, Ptr, SlottedLeaf, Tie};
use crate::store::source::PageSource;
use crate::tree::view::TreeView;

/// Keys that descend together: enough to hide the latency of memory; twice as many add nothing.
pub(crate) const BATCH: usize = 16;

impl<'s, S: PageSource, O: KeyOrder> TreeView<'s, '_, S, O> {
    /// The cells of at most [`BATCH`] keys, in their order; `None` where one could not be read.
    /// Costs a search of a page for each key and level, and no memory but the stack.
    pub(crate) fn get_batch(
        &self,
        keys: &[&[u8]],
        cells: &mut [Option<Cell<'s>>; BATCH],
    ) -> Option<()> {
        assert!(keys.len() <= BATCH, "a batch that is too large");
        *cells = [None; BATCH];
        let (source, tree) = (self.source, self.tree);
        if tree.depth == 0 {
            return Some(());
        }
        let probe_of = |i| Probe::new(self.order, keys.get(i).copied().unwrap_or_default());
        let probes: [Probe<'_, O>; BATCH] = std::array::from_fn(probe_of);
        let probes = &probes[..keys.len()];
        let mut ptrs = [tree.root; BATCH];
        let disk = source.disk().filter(Disk::is_slow);
        for level in (1..tree.depth).rev() {
            descend(source, level, probes, &mut ptrs)?;
            if let Some(disk) = disk {
                disk.ask(ptrs[..keys.len()].iter().map(|ptr| ptr.pgno.0));
            }
        }
        find(source, probes, &ptrs, cells)
    }
}

/// Moves every key from its branch of `level` to the child that may hold it.
#[inline]
fn descend<S: PageSource, O: KeyOrder>(
    source: &S,
    level: u8,
    probes: &[Probe<'_, O>],
    ptrs: &mut [Ptr; BATCH],
) -> Option<()> {
    for (probe, ptr) in probes.iter().zip(ptrs) {
        let branch = source.fast_branch(*ptr, level)?;
        *ptr = branch.child(branch.find_steadily(probe).ok()?);
        source.prefetch(*ptr);
    }
    Some(())
}

/// Looks every key up in its leaf, in two rounds: the slots, then the cells.
#[inline]
fn find<'s, S: PageSource, O: KeyOrder>(
    source: &'s S,
    probes: &[Probe<'_, O>],
    ptrs: &[Ptr; BATCH],
    cells: &mut [Option<Cell<'s>>; BATCH],
) -> Option<()> {
    let mut guesses: [Option<(SlottedLeaf<'s>, Tie)>; BATCH] = [None; BATCH];
    for ((probe, ptr), guess) in probes.iter().zip(ptrs).zip(&mut guesses) {
        let leaf = source.fast_leaf(*ptr)?;
        if let Some(tie) = leaf.guess_steadily(probe) {
            prefetch_start(leaf.bytes_from(tie.mid));
            *guess = Some((leaf, tie));
        }
    }
    for (i, probe) in probes.iter().enumerate() {
        if let Some((leaf, tie)) = guesses[i] {
            cells[i] = leaf.get_at(probe, tie).ok()?;
        }
    }
    Some(())
}

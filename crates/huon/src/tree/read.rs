//! Reading a tree: one key, and what a found cell means.

use crate::error::{Error, Result};
use crate::os::prefetch_start;
use crate::page::{Cell, KeyOrder, PayloadKind, Probe, RunRef};
use crate::store::source::{OnPage, PageSource};
use crate::tree::view::TreeView;

impl<'s, S: PageSource + ?Sized, O: KeyOrder> TreeView<'s, '_, S, O> {
    /// The cell of `key`, if there is one. Needs no path: nothing is remembered on the way down.
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Cell<'s>>> {
        match self.fast_get(key) {
            Some(found) => Ok(found),
            None => self.look(key),
        }
    }

    /// As [`TreeView::get`]; `None` where anything is wrong. That errors are made elsewhere is what
    /// makes it fast: each that could be made here costs all lookups registers.
    ///
    /// Costs a page for each level: a look at its header, one at its tag (was it verified?), and a
    /// search. A million records of 116 bytes are three levels deep: some 600 instructions
    /// (callgrind).
    #[inline(always)]
    pub(crate) fn fast_get(&self, key: &[u8]) -> Option<Option<Cell<'s>>> {
        let (source, tree) = (self.source, self.tree);
        if tree.depth == 0 {
            return Some(None);
        }
        let probe = Probe::new(self.order, key);
        let mut ptr = tree.root;
        for level in (1..tree.depth).rev() {
            let branch = source.fast_branch(ptr, level)?;
            ptr = branch.child(branch.find_probe(&probe).ok()?);
            source.prefetch(ptr);
        }
        let leaf = source.fast_leaf(ptr)?;
        let Some(tie) = leaf.guess(&probe) else { return Some(None) };
        // How long the value is says the cell, so that its end would be asked for after its
        // beginning.
        prefetch_start(leaf.bytes_from(tie.mid));
        leaf.get_at(&probe, tie).ok()
    }

    /// As [`TreeView::get`], with the reason where it fails.
    #[cold]
    #[inline(never)]
    fn look(&self, key: &[u8]) -> Result<Option<Cell<'s>>> {
        let probe = Probe::new(self.order, key);
        let mut ptr = self.tree.root;
        for level in (1..self.tree.depth).rev() {
            let branch = self.source.branch(ptr, level)?;
            ptr = branch.child(branch.find_probe(&probe).on(ptr)?);
        }
        self.source.leaf(ptr)?.get(&probe).on(ptr)
    }
}

/// The value that a cell holds or points to. `None`: the cell is a table's record.
///
/// Inlined with all that it calls: with a call for each layer, walks over large values that lie in
/// memory but not in the cache took 2.5 times as long. (Measured; why it is so much is not known.)
#[inline(always)]
pub(crate) fn value<'s, S: PageSource + ?Sized>(
    source: &'s S,
    cell: &Cell<'s>,
) -> Result<Option<&'s [u8]>> {
    match cell.kind {
        PayloadKind::Inline => Ok(Some(cell.payload)),
        PayloadKind::Run => source.run(&run_ref(cell)?).map(Some),
        PayloadKind::Table => Ok(None),
        PayloadKind::DuplicateSet | PayloadKind::DuplicateTree => {
            Err(Error::corrupt_file("a plain table holds duplicate values"))
        }
    }
}

/// The large value that a cell points to.
#[inline(always)]
pub(crate) fn run_ref(cell: &Cell<'_>) -> Result<RunRef> {
    RunRef::decode(cell.payload).in_file()
}

//! A source of pages for tests, which counts what a walk or a search looks at.

use std::cell::{Cell, RefCell};

use crate::error::Result;
use crate::os::Ahead;
use crate::page::{Ptr, RunRef, SlottedLeaf};
use crate::store::source::PageSource;
use crate::txn::snapshot::Snapshot;

/// A snapshot, and what was asked of it.
pub(super) struct Watched<'t> {
    source: &'t Snapshot,
    /// Pages that were read and checked, each time anew.
    pub(super) pages: Cell<u32>,
    /// Leaves whose headers were looked at, each time anew.
    pub(super) headers: Cell<u32>,
    /// Pages that were asked for ahead.
    pub(super) ahead: RefCell<Vec<Ptr>>,
}

impl Watched<'_> {
    pub(super) fn new(source: &Snapshot) -> Watched<'_> {
        let (pages, headers, ahead) = (Cell::new(0), Cell::new(0), RefCell::default());
        Watched { source, pages, headers, ahead }
    }
}

impl PageSource for Watched<'_> {
    fn bytes(&self, ptr: Ptr) -> Result<&[u8]> {
        self.pages.set(self.pages.get() + 1);
        self.source.bytes(ptr)
    }

    fn bytes_again(&self, ptr: Ptr) -> Option<&[u8]> {
        self.source.bytes_again(ptr)
    }

    fn run(&self, run: &RunRef) -> Result<&[u8]> {
        self.source.run(run)
    }

    fn pages_max(&self) -> u32 {
        self.source.pages_max()
    }

    fn bytes_max(&self) -> u64 {
        self.source.bytes_max()
    }

    fn ahead(&self, ptr: Ptr) -> Ahead {
        self.ahead.borrow_mut().push(ptr);
        Ahead::NONE
    }

    fn leaf(&self, ptr: Ptr) -> Result<SlottedLeaf<'_>> {
        self.headers.set(self.headers.get() + 1);
        self.source.leaf(ptr)
    }
}

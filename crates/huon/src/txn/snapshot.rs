//! A pinned snapshot as a source of pages.

use std::sync::Arc;

use crate::error::Result;
use crate::os::{Ahead, Disk};
use crate::page::{Ptr, RunRef};
use crate::store::source::PageSource;
use crate::txn::Core;

/// The pages that one snapshot can reach. Its owner keeps the snapshot protected.
pub(crate) struct Snapshot {
    pub(crate) core: Arc<Core>,
    /// First page number past the part of the file that the snapshot uses.
    pub(crate) used: u32,
}

impl PageSource for Snapshot {
    #[inline(always)]
    fn bytes(&self, ptr: Ptr) -> Result<&[u8]> {
        self.core.store.page(ptr, self.used)
    }

    #[inline(always)]
    fn fast_bytes(&self, ptr: Ptr) -> Option<&[u8]> {
        self.core.store.fast_page(ptr, self.used)
    }

    #[inline(always)]
    fn bytes_again(&self, ptr: Ptr) -> Option<&[u8]> {
        self.core.store.page_again(ptr)
    }

    #[inline(always)]
    fn run(&self, run: &RunRef) -> Result<&[u8]> {
        self.core.store.run(run, self.used)
    }

    #[inline]
    fn check_alive(&self) -> Result<()> {
        self.core.check_forked()
    }

    fn pages_max(&self) -> u32 {
        self.core.store.pages_max(self.used)
    }

    fn bytes_max(&self) -> u64 {
        u64::from(self.pages_max()) * self.core.store.page_bytes as u64
    }

    #[inline]
    fn prefetch(&self, ptr: Ptr) {
        self.core.store.prefetch(ptr);
    }

    #[inline]
    fn ahead(&self, ptr: Ptr) -> Ahead {
        self.core.store.ahead(ptr)
    }

    #[inline(always)]
    fn disk(&self) -> Option<Disk<'_>> {
        self.core.store.disk()
    }
}

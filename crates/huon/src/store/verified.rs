//! The pages of a snapshot, read with every checksum verified.

use crate::error::Result;
use crate::os::Disk;
use crate::page::{Ptr, RunRef};
use crate::store::Store;
use crate::store::source::PageSource;

/// The pages of a snapshot, each verified whenever it is read.
pub(crate) struct Verified<'s> {
    pub(crate) store: &'s Store,
    pub(crate) used: u32,
}

impl PageSource for Verified<'_> {
    fn bytes(&self, ptr: Ptr) -> Result<&[u8]> {
        self.store.page_verified(ptr, self.used)
    }

    fn run(&self, run: &RunRef) -> Result<&[u8]> {
        self.store.run_verified(run, self.used)
    }

    fn pages_max(&self) -> u32 {
        self.store.pages_max(self.used)
    }

    fn bytes_max(&self) -> u64 {
        u64::from(self.pages_max()) * self.store.page_bytes as u64
    }

    fn disk(&self) -> Option<Disk<'_>> {
        self.store.disk()
    }
}

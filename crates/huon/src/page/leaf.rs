//! Leaves: reading.
use super::order::KeyOrder;
use super::probe::{Probe, Slot};
use super::types::{Ptr, Reason};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum PayloadKind {
    Inline = 0,
    Table = 1,
    Run = 2,
    DuplicateSet = 3,
    DuplicateTree = 4,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell<'p> {
    pub(crate) key: &'p [u8],
    pub(crate) kind: PayloadKind,
    pub(crate) payload: &'p [u8],
}

#[derive(Clone, Copy)]
pub(crate) struct Leaf<'p> {
    page: &'p [u8],
    slots: &'p [Slot],
}

impl<'p> Leaf<'p> {
    /// `count` is what `header::admit` returned.
    #[inline]
    pub(crate) fn view(page: &'p [u8], count: usize) -> Result<Leaf<'p>, Reason> {
        todo!()
    }
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }
    pub(crate) fn prefix_bytes(&self) -> usize {
        todo!()
    }
    pub(crate) fn key(&self, i: usize) -> Result<&'p [u8], Reason> {
        todo!()
    }
    pub(crate) fn cell(&self, i: usize) -> Result<Cell<'p>, Reason> {
        todo!()
    }
    /// The cell of exactly that key (hot path; no prefix comparison).
    pub(crate) fn get<O: KeyOrder>(&self, probe: &Probe<'_, O>) -> Result<Option<Cell<'p>>, Reason> {
        todo!()
    }
    /// Where the key is (`Ok`), or where it would be inserted (`Err`).
    pub(crate) fn search<O: KeyOrder>(
        &self,
        order: O,
        key: &[u8],
    ) -> Result<Result<usize, usize>, Reason> {
        self.search_probe(&Probe::new(order, key))
    }
    pub(crate) fn search_probe<O: KeyOrder>(
        &self,
        probe: &Probe<'_, O>,
    ) -> Result<Result<usize, usize>, Reason> {
        todo!()
    }
    /// Bytes of slots and cells.
    pub(crate) fn live_bytes(&self) -> usize {
        todo!()
    }
    /// Bytes that another slot and cell may have, after compaction.
    pub(crate) fn free_bytes(&self) -> usize {
        todo!()
    }
    /// Everything `check` wants to know: cells inside the heap and apart, keys in order, heads, prefix.
    pub(crate) fn audit<O: KeyOrder>(&self, order: O) -> Result<(), Reason> {
        todo!()
    }
}

/// Bytes that a cell and its slot take.
pub(crate) const fn leaf_cell_bytes(key_bytes: usize, payload_bytes: usize) -> usize {
    8 + 4 + key_bytes + payload_bytes
}

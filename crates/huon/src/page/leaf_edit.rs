//! Leaves: editing.
use super::leaf::{Leaf, PayloadKind};
use super::order::KeyOrder;
use super::types::{Ptr, Reason};

pub(crate) struct LeafMut<'p> {
    page: &'p mut [u8],
}

impl<'p> LeafMut<'p> {
    /// An empty leaf.
    pub(crate) fn init(page: &'p mut [u8], ptr: Ptr) -> LeafMut<'p> {
        todo!()
    }
    /// A leaf that was admitted.
    pub(crate) fn view(page: &'p mut [u8]) -> Result<LeafMut<'p>, Reason> {
        todo!()
    }
    pub(crate) fn as_leaf(&self) -> Leaf<'_> {
        todo!()
    }
    /// False: it does not fit, nothing changed.
    pub(crate) fn insert<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        key: &[u8],
        kind: PayloadKind,
        payload: &[u8],
    ) -> Result<bool, Reason> {
        todo!()
    }
    /// Like `insert`; the payload's bytes are unspecified until the caller fills them.
    pub(crate) fn insert_reserve<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        key: &[u8],
        kind: PayloadKind,
        payload_bytes: usize,
    ) -> Result<Option<&mut [u8]>, Reason> {
        todo!()
    }
    pub(crate) fn remove(&mut self, index: usize) -> Result<(), Reason> {
        todo!()
    }
    /// False: it does not fit, nothing changed.
    pub(crate) fn replace<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        kind: PayloadKind,
        payload: &[u8],
    ) -> Result<bool, Reason> {
        todo!()
    }
    /// Like `replace`, for a payload the caller fills.
    pub(crate) fn replace_reserve<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        kind: PayloadKind,
        payload_bytes: usize,
    ) -> Result<Option<&mut [u8]>, Reason> {
        todo!()
    }
    pub(crate) fn payload_mut(&mut self, index: usize) -> Result<&mut [u8], Reason> {
        todo!()
    }
}

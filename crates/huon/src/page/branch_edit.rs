//! Branches: editing.
use super::branch::Branch;
use super::order::KeyOrder;
use super::types::{Ptr, Reason};

pub(crate) struct BranchMut<'p> {
    page: &'p mut [u8],
}

impl<'p> BranchMut<'p> {
    pub(crate) fn init(page: &'p mut [u8], ptr: Ptr, level: u8, first_child: Ptr) -> BranchMut<'p> {
        todo!()
    }
    pub(crate) fn view(page: &'p mut [u8]) -> Result<BranchMut<'p>, Reason> {
        todo!()
    }
    pub(crate) fn as_branch(&self) -> Branch<'_> {
        todo!()
    }
    /// `index >= 1`. False: it does not fit, nothing changed.
    pub(crate) fn insert<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        separator: &[u8],
        child: Ptr,
    ) -> Result<bool, Reason> {
        todo!()
    }
    /// Removes a child and its separator (index 0: that of the new first child). Not the last one.
    pub(crate) fn remove(&mut self, index: usize) -> Result<(), Reason> {
        todo!()
    }
    pub(crate) fn set_child(&mut self, index: usize, child: Ptr) {
        todo!()
    }
    /// False: it does not fit, nothing changed.
    pub(crate) fn set_separator<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        separator: &[u8],
    ) -> Result<bool, Reason> {
        todo!()
    }
}

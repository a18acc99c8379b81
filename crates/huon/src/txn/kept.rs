//! The tables that functions of the caller's order, as a transaction keeps them for as long as it
//! lives: iterators borrow the functions from it, also if a table's number is given back meanwhile.

use std::sync::{Arc, OnceLock};

use crate::error::Result;
use crate::txn::meaning::TableInfo;
use crate::txn::names::TableNo;

/// A list that only grows. Few transactions use more than a few such tables.
#[derive(Default)]
pub(super) struct Kept(OnceLock<Box<Node>>);

struct Node {
    no: TableNo,
    info: Arc<TableInfo>,
    next: Kept,
}

impl Kept {
    /// What is kept of a table; `find` says it the first time.
    pub(super) fn get(
        &self,
        no: TableNo,
        find: impl FnOnce() -> Result<Arc<TableInfo>>,
    ) -> Result<&Arc<TableInfo>> {
        let mut at = self;
        while let Some(node) = at.0.get() {
            if node.no == no {
                return Ok(&node.info);
            }
            at = &node.next;
        }
        let mut fresh = Box::new(Node { no, info: find()?, next: Kept::default() });
        // Other threads may keep others meanwhile.
        while let Err(back) = at.0.set(fresh) {
            fresh = back;
            at = &at.0.get().expect("another one is there").next;
        }
        Ok(&at.0.get().expect("it was put there").info)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // One after the other: a list may be longer than the stack is deep.
        let mut next = self.0.take();
        while let Some(mut node) = next {
            next = node.next.0.take();
        }
    }
}

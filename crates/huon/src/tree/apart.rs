//! The leaves that two trees have apart: for the difference of two snapshots.
//!
//! D1. Two pointers of one file that are equal lead to equal subtrees. So what both trees have is
//!     passed over whole, and the work is in proportion to the pages in which they differ, times
//!     what a branch holds. No key is compared.

use std::collections::HashSet;

use crate::alloc::{TryGrow, inserted};
use crate::error::Result;
use crate::page::{Ptr, Reason, Tree};
use crate::planted::{self, Bug};
use crate::store::source::{PageSource, damaged};

/// Leaves of one tree that another one does not have, in its order, and those of the other.
pub(crate) struct Apart {
    pub(crate) old: Vec<Ptr>,
    pub(crate) new: Vec<Ptr>,
}

/// A tree from its root downwards: those of its pages on a level that the other does not have.
struct Descent<'s, S: ?Sized> {
    source: &'s S,
    level: u8,
    nodes: Vec<Ptr>,
}

impl<S: PageSource + ?Sized> Descent<'_, S> {
    fn of<'s>(source: &'s S, tree: &Tree) -> Descent<'s, S> {
        let nodes = if tree.depth == 0 { Vec::new() } else { vec![tree.root] };
        Descent { source, level: tree.depth.saturating_sub(1), nodes }
    }

    /// Goes a level down.
    fn descend(&mut self) -> Result<()> {
        let (mut children, mut seen) = (Vec::new(), HashSet::new());
        for &ptr in &self.nodes {
            let branch = self.source.branch(ptr, self.level)?;
            for i in 0..branch.count() {
                let child = branch.child(i);
                // However pages point to each other, each is entered once.
                if !inserted(&mut seen, child.pgno.0)? {
                    return Err(damaged(child, Reason::Cycle));
                }
                children.try_push(child)?;
            }
        }
        (self.nodes, self.level) = (children, self.level - 1);
        Ok(())
    }

    fn leave_out(&mut self, others: &HashSet<(u32, u64)>) {
        self.nodes.retain(|ptr| !others.contains(&pair(*ptr)));
    }

    fn pairs(&self) -> HashSet<(u32, u64)> {
        self.nodes.iter().map(|ptr| pair(*ptr)).collect()
    }
}

fn pair(ptr: Ptr) -> (u32, u64) {
    (ptr.pgno.0, ptr.birth.0)
}

/// The leaves that two trees of one file have apart.
pub(crate) fn apart<S: PageSource + ?Sized>(
    (old_source, old): (&S, &Tree),
    (new_source, new): (&S, &Tree),
) -> Result<Apart> {
    let (mut old, mut new) = (Descent::of(old_source, old), Descent::of(new_source, new));
    loop {
        if old.level == new.level {
            let (of_old, of_new) = (old.pairs(), new.pairs());
            if !planted::is(Bug::SharedApart) {
                old.leave_out(&of_new);
            }
            new.leave_out(&of_old);
        }
        match old.level.cmp(&new.level) {
            std::cmp::Ordering::Greater => old.descend()?,
            std::cmp::Ordering::Less => new.descend()?,
            std::cmp::Ordering::Equal if old.level == 0 => {
                return Ok(Apart { old: old.nodes, new: new.nodes });
            }
            std::cmp::Ordering::Equal => {
                old.descend()?;
                new.descend()?;
            }
        }
    }
}

/// All leaves of a tree, in its order.
pub(crate) fn leaves<S: PageSource + ?Sized>(source: &S, tree: &Tree) -> Result<Vec<Ptr>> {
    let none = Tree::default();
    Ok(apart((source, &none), (source, tree))?.new)
}

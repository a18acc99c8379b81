//! Visiting every page of a tree once, top down and in key order.
//!
//! The base of check, copy, drop and statistics. A damaged or hostile tree cannot make it run long: levels
//! count down to the leaves, and the caller's `enter` may refuse a page it has seen before.

use crate::error::Result;
use crate::page::{Branch, Leaf, Ptr, Tree};
use crate::store::source::PageSource;

/// A page as the walk meets it.
pub(crate) enum Visit<'s> {
    Branch(Branch<'s>, u8),
    Leaf(Leaf<'s>),
}

/// What a visitor does with the pages of a tree.
pub(crate) trait Visitor {
    /// Before a page is read: `false` leaves it and all below it out.
    fn enter(&mut self, ptr: Ptr, level: u8) -> Result<bool>;
    /// The page itself.
    fn visit(&mut self, ptr: Ptr, page: Visit<'_>) -> Result<()>;
    /// The page could not be read; an error ends the walk.
    fn trouble(&mut self, ptr: Ptr, error: crate::error::Error) -> Result<()>;
}

/// Visits the pages of `tree`.
pub(crate) fn walk<S: PageSource>(
    source: &S,
    tree: &Tree,
    visitor: &mut impl Visitor,
) -> Result<()> {
    match tree.depth {
        0 => Ok(()),
        depth => walk_below(source, tree.root, depth - 1, visitor),
    }
}

fn walk_below<S: PageSource>(
    source: &S,
    ptr: Ptr,
    level: u8,
    visitor: &mut impl Visitor,
) -> Result<()> {
    if !visitor.enter(ptr, level)? {
        return Ok(());
    }
    if level == 0 {
        return match source.leaf(ptr) {
            Ok(leaf) => visitor.visit(ptr, Visit::Leaf(leaf)),
            Err(error) => visitor.trouble(ptr, error),
        };
    }
    let branch = match source.branch(ptr, level) {
        Ok(branch) => branch,
        Err(error) => return visitor.trouble(ptr, error),
    };
    visitor.visit(ptr, Visit::Branch(branch, level))?;
    for index in 0..branch.count() {
        walk_below(source, branch.child(index), level - 1, visitor)?;
    }
    Ok(())
}

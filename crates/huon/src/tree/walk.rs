//! Visiting every page of a tree once, top down and in key order.
//!
//! The base of check, copy and statistics. A damaged or hostile tree cannot make it run long:
//! levels count down to the leaves, and the visitor's `enter` may refuse a page it has seen before.

use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::os::Disk;
use crate::page::{Branch, FixedLeaf, KeyOrder, Kind, Ptr, Reason, SlottedLeaf, Txnid, admit};
use crate::store::source::{OnPage, PageSource};
use crate::tree::view::TreeView;

/// Pages that are asked for at once, if they have to be waited for.
const ASKED: usize = 64;

/// A place in a tree, as the pages above it describe it.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'b> {
    pub(crate) ptr: Ptr,
    pub(crate) level: u8,
    /// The birth of the page that points here: nothing below is younger.
    pub(crate) above: Txnid,
    /// No key below is lower.
    pub(crate) lower: Option<&'b [u8]>,
    /// All keys below are lower.
    pub(crate) upper: Option<&'b [u8]>,
}

/// A page as the walk visits it.
#[derive(Clone, Copy)]
pub(crate) enum Visit<'s> {
    Branch(Branch<'s>),
    Leaf(SlottedLeaf<'s>),
    /// Of a tree of values.
    Fixed(FixedLeaf<'s>),
}

impl<'s> Visit<'s> {
    /// The values of a leaf of a tree of values, as bounded as [`SlottedLeaf::cells`]; none of a
    /// branch.
    pub(crate) fn values(self) -> impl Iterator<Item = std::result::Result<&'s [u8], Reason>> {
        let (slotted, fixed) = match self {
            Visit::Branch(_) => (None, None),
            Visit::Leaf(leaf) => (Some(leaf), None),
            Visit::Fixed(leaf) => (None, Some(leaf)),
        };
        let slotted = slotted.into_iter().flat_map(|leaf| leaf.cells());
        let slotted = slotted.map(|cell| cell.map(|cell| cell.key));
        let fixed = fixed.into_iter().flat_map(|leaf| (0..leaf.count()).map(move |i| leaf.key(i)));
        slotted.chain(fixed.map(Ok))
    }
}

/// What a visitor does with the pages of a tree; an error ends the walk.
pub(crate) trait Visitor<'s> {
    /// Before a page is read: `false` leaves it and all below it out.
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool>;
    /// The page itself, in bytes and in meaning.
    fn visit(&mut self, spot: &Spot<'_>, bytes: &'s [u8], page: Visit<'s>) -> Result<()>;
    /// The page is damaged. Other errors end the walk.
    fn trouble(&mut self, spot: &Spot<'_>, error: Error) -> Result<()>;
}

impl<'s, S: PageSource, O: KeyOrder> TreeView<'s, '_, S, O> {
    /// Visits the pages of the tree. The trees of values that its leaves point to are trees of
    /// their own: a visitor that wants them walks them. The record of the tree lies on a page (or
    /// in a meta) born with `above`.
    pub(crate) fn walk(&self, above: Txnid, visitor: &mut impl Visitor<'s>) -> Result<()> {
        let Some(level) = self.tree.depth.checked_sub(1) else { return Ok(()) };
        self.walk_below(
            Spot { ptr: self.tree.root, level, above, lower: None, upper: None },
            visitor,
        )
    }

    fn walk_below(&self, spot: Spot<'_>, visitor: &mut impl Visitor<'s>) -> Result<()> {
        if !visitor.enter(&spot)? {
            return Ok(());
        }
        let (bytes, page) = match self.page(spot.ptr, spot.level) {
            Ok(read) => read,
            Err(error) if error.is_damage() => return visitor.trouble(&spot, error),
            Err(error) => return Err(error),
        };
        visitor.visit(&spot, bytes, page)?;
        let Visit::Branch(branch) = page else { return Ok(()) };
        let mut lower = spot.lower.map(copied).transpose()?;
        let disk = self.source.disk().filter(Disk::is_slow);
        for index in 0..branch.count() {
            if let Some(disk) = disk
                && index % ASKED == 0
            {
                let next = index..branch.count().min(index + ASKED);
                disk.ask(next.map(|child| branch.child(child).pgno.0));
            }
            let upper = if index + 1 == branch.count() {
                spot.upper.map(copied).transpose()?
            } else {
                // A damaged separator bounds nothing; the visitor has seen it.
                match branch.separator(index + 1) {
                    Ok(separator) => Some(separator.whole(self.order)?),
                    Err(_) => None,
                }
            };
            let child = Spot {
                ptr: branch.child(index),
                level: spot.level - 1,
                above: spot.ptr.birth,
                lower: lower.as_deref(),
                upper: upper.as_deref(),
            };
            self.walk_below(child, visitor)?;
            lower = upper;
        }
        Ok(())
    }

    /// A page in bytes and in meaning.
    fn page(&self, ptr: Ptr, level: u8) -> Result<(&'s [u8], Visit<'s>)> {
        let bytes = self.source.bytes(ptr)?;
        let view = match level {
            0 if self.tree.has_fixed_leaves() => admit(bytes, ptr, Kind::Fixed, 0)
                .and_then(|count| FixedLeaf::view(bytes, count, self.tree.fixed_bytes as usize))
                .map(Visit::Fixed),
            0 => admit(bytes, ptr, Kind::Leaf, 0)
                .and_then(|count| SlottedLeaf::view(bytes, count))
                .map(Visit::Leaf),
            _ => admit(bytes, ptr, Kind::Branch, level)
                .and_then(|count| Branch::view(bytes, count))
                .map(Visit::Branch),
        };
        Ok((bytes, view.on(ptr)?))
    }
}

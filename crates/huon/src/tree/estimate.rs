//! How many items lie between two keys, roughly: from the two paths alone.
//!
//! A path is a position in the tree, as a share of it: the place in the root, refined by the place
//! in each page below, as if all pages of a level held as much. Within a leaf, and in two of which
//! one follows the other, items are counted.

use std::ops::Bound;

use crate::error::Result;
use crate::page::KeyOrder;
use crate::store::source::PageSource;
use crate::tree::cursor::{Edge, is_reversed, place};
use crate::tree::path::Path;
use crate::tree::view::TreeView;

impl<S: PageSource + ?Sized, O: KeyOrder> TreeView<'_, '_, S, O> {
    /// About how many of the tree's entries lie between the bounds. Costs two descents.
    pub(crate) fn estimate(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<u64> {
        let tree = self.tree;
        if tree.depth == 0 || is_reversed(self.order, from, to) {
            return Ok(0);
        }
        let (mut low, mut high) = (Path::new(), Path::new());
        place(*self, &mut low, from, Edge::Lower)?;
        place(*self, &mut high, to, Edge::Upper)?;
        if tree.many.is_none()
            && let Some(exact) = counted(&low, &high)
        {
            return Ok(exact);
        }
        let share = (position(&high) - position(&low)).max(0.0);
        // Records may lie between two places that cannot be told apart.
        let least = u64::from(!low.same_place(&high));
        let about = (share * tree.entries as f64).round() as u64;
        Ok(about.clamp(least.min(tree.entries), tree.entries))
    }
}

/// The items between two paths that end in one leaf, or in one and the next.
fn counted(low: &Path, high: &Path) -> Option<u64> {
    let (from, to) = (low.last(), high.last());
    if from.ptr == to.ptr {
        return Some(to.index.saturating_sub(from.index) as u64);
    }
    let mut pairs = low.frames().iter().zip(high.frames());
    let (a, b) = pairs.find(|(a, b)| a.ptr != b.ptr || a.index != b.index)?;
    // Below where they part, one goes along the right edge, and the other along the left one.
    let branches = low.frames().len().checked_sub(1)?;
    let parted = low.frames()[..branches].iter().zip(&high.frames()[..branches]);
    let mut below = parted.skip_while(|(a, b)| a.ptr == b.ptr);
    let next = a.ptr == b.ptr
        && a.index + 1 == b.index
        && below.all(|(a, b)| a.index + 1 == a.count && b.index == 0);
    next.then(|| (from.count - from.index + to.index) as u64)
}

/// Where a path stands: 0 at the beginning of the tree, 1 at its end.
fn position(path: &Path) -> f64 {
    let (mut at, mut width) = (0.0, 1.0);
    for frame in path.frames() {
        width /= frame.count.max(1) as f64;
        at += width * frame.index as f64;
    }
    at
}

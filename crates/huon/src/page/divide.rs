//! Dividing and joining pages.
//!
//! 1. A divided page and its new right neighbour are packed, and hold what the page held before. A
//!    leaf that keeps all of it, as one does where keys come in order, is left as it is.
//! 2. The separator is the shortest lead that is above everything on the left and not above
//!    anything on the right, the new key included.
//! 3. Pages with a single cell or child are ordinary: keys near the maximum leave no choice.
//!
//! Which pages are neighbours, and what happens to their parent, is the tree's business.

use super::branch::Branch;
use super::branch_edit::{ChildEntry, branch_bytes, entries, write_branch};
use super::header::{self, HEADER_BYTES};
use super::leaf::{SlottedLeaf, leaf_cell_bytes};
use super::leaf_edit::pack_cells;
use super::limits::key_bytes_max;
use super::order::KeyOrder;
use super::types::{Kind, Ptr, Reason};
use crate::alloc::{Reserved, TryGrow, copied};
use std::cmp::Ordering;
use std::ops::Range;

/// One of the two pages of a division.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Where a leaf is divided: cells `at..` go to the right, and the new cell belongs to `side`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SplitPoint {
    pub(crate) at: usize,
    pub(crate) side: Side,
}

impl SplitPoint {
    /// The division that leaves `left` cells on the left, the new one at `index` counted.
    fn new(left: usize, index: usize) -> SplitPoint {
        if left <= index {
            SplitPoint { at: left, side: Side::Right }
        } else {
            SplitPoint { at: left - 1, side: Side::Left }
        }
    }

    #[cfg(test)]
    /// Where the new cell goes on its side, if it was to go before slot `index` of the whole.
    pub(crate) fn index(self, index: usize) -> usize {
        match self.side {
            Side::Left => index,
            Side::Right => index - self.at,
        }
    }
}

/// Where to divide a leaf so that a new cell before slot `index` fits its side.
///
/// `new_cell_bytes` is [`leaf_cell_bytes`] of it. The halves, the new cell counted, are as equal in
/// bytes as they can be, so the new cell fits if it does anywhere. Where keys arrive in order, at
/// the edges of the tree or behind those of one group of many, the page stays as full as it is up
/// to there. (InnoDB's pages know where they were inserted into last, too.) If the cell does not
/// fit (it is large, and so are its neighbours) choose and divide again on its side: that has fewer
/// cells each time.
pub(crate) fn choose_split(
    leaf: &SlottedLeaf<'_>,
    index: usize,
    new_cell_bytes: usize,
    rightmost: bool,
    leftmost: bool,
) -> Result<SplitPoint, Reason> {
    let count = leaf.count();
    assert!(index <= count, "choose_split: no such place");
    if count == 0 {
        // An empty leaf has room, unless its header lies about its heap.
        return Err(Reason::Cell);
    }
    if rightmost && index == count {
        return Ok(SplitPoint::new(count, index));
    }
    if leftmost && index == 0 {
        return Ok(SplitPoint::new(1, index));
    }
    let size = |i: usize| -> Result<usize, Reason> {
        let cell = leaf.cell(i)?;
        Ok(leaf_cell_bytes(cell.key.len(), cell.payload.len()))
    };
    let sizes = |slots: Range<usize>| slots.map(size).sum::<Result<usize, Reason>>();
    if leaf.goes_on_at(index) {
        let fits = index < count && sizes(0..index)? + new_cell_bytes <= leaf.room();
        return Ok(SplitPoint { at: index, side: if fits { Side::Left } else { Side::Right } });
    }
    let total = new_cell_bytes + sizes(0..count)?;
    let (mut left, mut best) = (0, (usize::MAX, count));
    for here in 1..=count {
        let last = here - 1;
        left += match last.cmp(&index) {
            Ordering::Less => size(last)?,
            Ordering::Equal => new_cell_bytes,
            Ordering::Greater => size(last - 1)?,
        };
        best = best.min((left.abs_diff(total - left), here));
    }
    Ok(SplitPoint::new(best.1, index))
}

/// Divides a leaf: cells from `place.at` on go to `right`, which becomes the leaf `right_ptr`.
///
/// `key` is the new key, to be inserted before slot `index` of the whole; it bounds the separator
/// if it goes to the border. Returns the separator.
pub(crate) fn split_leaf<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    right: &mut [u8],
    right_ptr: Ptr,
    place: SplitPoint,
    index: usize,
    key: &[u8],
) -> Result<Vec<u8>, Reason> {
    let leaf = SlottedLeaf::view(left, header::count(left))?;
    let (at, count) = (place.at, leaf.count());
    assert!(at <= count && index <= count, "split_leaf: no such place");
    let new_at_border = index == at;
    let below = match place.side {
        Side::Left if new_at_border => key,
        _ => leaf.key(at.checked_sub(1).expect("split_leaf: nothing on the left"))?,
    };
    let above = match place.side {
        Side::Right if new_at_border => key,
        _ if at < count => leaf.key(at)?,
        _ => panic!("split_leaf: nothing on the right"),
    };
    let separator = copied(order.separator(below, above))?;
    if separator.len() > key_bytes_max(left.len()) {
        return Err(Reason::Cell);
    }
    header::init(right, right_ptr, Kind::Leaf, 0);
    if at == count {
        return Ok(separator);
    }
    let copy = copied(left)?;
    let leaf = SlottedLeaf::view(&copy, count)?;
    pack_cells(order, right, &[leaf.part(at, count)])?;
    pack_cells(order, left, &[leaf.part(0, at)])?;
    header::forget_inserts_from(left, at);
    Ok(separator)
}

/// Moves all cells of `right` into `left`. False: they do not fit, and nothing changed.
pub(crate) fn merge_leaf<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    right: &[u8],
) -> Result<bool, Reason> {
    let copy = copied(left)?;
    let low = SlottedLeaf::view(&copy, header::count(&copy))?;
    let high = SlottedLeaf::view(right, header::count(right))?;
    if low.live_bytes() + high.live_bytes() > left.len() - HEADER_BYTES {
        return Ok(false);
    }
    pack_cells(order, left, &[low, high])?;
    Ok(true)
}

#[cfg(test)]
/// Divides a branch: children from `at` on (not the first) go to `right`, which becomes the branch
/// `right_ptr`. Returns the separator between the two.
pub(crate) fn split_branch<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    right: &mut [u8],
    right_ptr: Ptr,
    at: usize,
) -> Result<Vec<u8>, Reason> {
    let copy = copied(left)?;
    let entries = entries(Branch::view(&copy, header::count(&copy))?)?;
    divide_entries(order, left, right, right_ptr, &entries, at)
}

/// A child to be inserted into a branch, not as its first.
#[derive(Clone, Copy)]
pub(crate) struct NewChild<'a> {
    pub(crate) index: usize,
    pub(crate) separator: &'a [u8],
    pub(crate) child: Ptr,
}

/// Divides a branch that has no room for `new`, with `new` in it. One call is always enough: the
/// new child can be the first on the right, where its separator is not stored.
///
/// The halves are balanced by count as far as they fit; at the edges of the tree the full page
/// stays full. Returns the separator between the two, and how many children the left one has.
pub(crate) fn split_branch_insert<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    right: &mut [u8],
    right_ptr: Ptr,
    new: NewChild<'_>,
    rightmost: bool,
    leftmost: bool,
) -> Result<(Vec<u8>, usize), Reason> {
    let copy = copied(left)?;
    let mut entries = entries(Branch::view(&copy, header::count(&copy))?)?;
    let count = entries.len();
    assert!(new.index >= 1 && new.index <= count, "split_branch_insert: no such place");
    entries.insert(new.index, ChildEntry::new(new.separator, new.child));
    let wanted = if rightmost && new.index == count {
        count
    } else if leftmost && new.index == 1 {
        1
    } else {
        balanced(&entries)
    };
    let room = left.len() - HEADER_BYTES;
    let fits = |at: usize| -> Reserved<bool> {
        let (low, high) = entries.split_at(at);
        Ok(branch_bytes(order, low)? <= room && branch_bytes(order, high)? <= room)
    };
    // From the wanted place toward the one that always fits.
    let mut at = wanted;
    while at != new.index && !fits(at)? {
        at = if at < new.index { at + 1 } else { at - 1 };
    }
    Ok((divide_entries(order, left, right, right_ptr, &entries, at)?, at))
}

/// Where both halves have about the same bytes; between the first child and the last.
fn balanced(entries: &[ChildEntry<'_>]) -> usize {
    let size = |entry: &ChildEntry<'_>| 20 + entry.separator.rest.len();
    let total: usize = entries.iter().map(size).sum();
    let mut left = 0;
    for (i, entry) in entries.iter().enumerate() {
        left += size(entry);
        if left * 2 >= total {
            return (i + 1).clamp(1, entries.len() - 1);
        }
    }
    entries.len() - 1
}

fn divide_entries<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    right: &mut [u8],
    right_ptr: Ptr,
    entries: &[ChildEntry<'_>],
    at: usize,
) -> Result<Vec<u8>, Reason> {
    assert!(at >= 1 && at < entries.len(), "a branch keeps a child");
    let separator = entries[at].separator.whole(order)?;
    if separator.len() > key_bytes_max(left.len()) {
        return Err(Reason::Cell);
    }
    header::init(right, right_ptr, Kind::Branch, header::level(left));
    let fits =
        write_branch(order, right, &entries[at..])? && write_branch(order, left, &entries[..at])?;
    if !fits {
        return Err(Reason::Cell);
    }
    Ok(separator)
}

/// Moves all children of `right` into `left`, with `separator` between them. False: they do not
/// fit, and nothing changed.
pub(crate) fn merge_branch<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    separator: &[u8],
    right: &[u8],
) -> Result<bool, Reason> {
    let copy = copied(left)?;
    let mut all = entries(Branch::view(&copy, header::count(&copy))?)?;
    let high = entries(Branch::view(right, header::count(right))?)?;
    all.try_push(ChildEntry::new(separator, high[0].child))?;
    all.try_extend(high[1..].iter().copied())?;
    write_branch(order, left, &all)
}

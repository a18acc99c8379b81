//! Dividing, joining and packing pages.
use super::leaf::Leaf;
use super::order::KeyOrder;
use super::types::{Ptr, Reason};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Where a leaf is divided: cells `at..` go right, and the new cell belongs to `side`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) at: usize,
    pub(crate) side: Side,
}

/// `new_cell_bytes` = `leaf_cell_bytes(key, payload)`; `index` is where the new cell would go.
/// After the split the new cell's index on its side is `index` (Left) or `index - at` (Right).
/// If it does not fit there even so, choose and split again on that side.
pub(crate) fn choose_split(
    leaf: &Leaf<'_>,
    index: usize,
    new_cell_bytes: usize,
    rightmost: bool,
    leftmost: bool,
) -> Result<Place, Reason> {
    todo!()
}

/// `key` is the new key, which decides the separator if `index == place.at`. Returns the separator.
pub(crate) fn split_leaf<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    right: &mut [u8],
    right_ptr: Ptr,
    place: Place,
    index: usize,
    key: &[u8],
) -> Result<Vec<u8>, Reason> {
    todo!()
}

/// False: they do not fit one page, nothing changed.
pub(crate) fn merge_leaf<O: KeyOrder>(order: O, left: &mut [u8], right: &[u8]) -> Result<bool, Reason> {
    todo!()
}

/// Children `at..` (`1..count`) go right. Returns the separator that moves up.
pub(crate) fn split_branch<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    right: &mut [u8],
    right_ptr: Ptr,
    at: usize,
) -> Result<Vec<u8>, Reason> {
    todo!()
}

/// A child to be inserted into a branch.
#[derive(Clone, Copy)]
pub(crate) struct NewChild<'a> {
    pub(crate) index: usize,
    pub(crate) separator: &'a [u8],
    pub(crate) child: Ptr,
}

/// Divides a full branch with the new child in it; one call is always enough. Returns the separator that
/// moves up, and how many children the left page has now.
pub(crate) fn split_branch_insert<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    right: &mut [u8],
    right_ptr: Ptr,
    new: NewChild<'_>,
    rightmost: bool,
    leftmost: bool,
) -> Result<(Vec<u8>, usize), Reason> {
    todo!()
}

/// False: they do not fit one page, nothing changed.
pub(crate) fn merge_branch<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    separator: &[u8],
    right: &[u8],
) -> Result<bool, Reason> {
    todo!()
}

/// The same page (leaf, branch or chunk) with cells in key order, no dead bytes, the best prefix.
pub(crate) fn pack<O: KeyOrder>(order: O, page: &[u8], out: &mut [u8]) -> Result<(), Reason> {
    todo!()
}

//! Packing pages before they are written: cells in key order, no dead bytes, zero where nothing is.
//!
//! 1. A page keeps its meaning: the same name, the same records or children, in the same order.
//! 2. A page that is packed still is left as it is.
//!
//! The prefix is kept; it is the best one nearly always, since dividing a page finds it and later
//! keys share it.

use super::branch::{Branch, CHILD_BYTES};
use super::header::{self, HEADER_BYTES};
use super::leaf::{SLOT_BYTES, SlottedLeaf};
use super::types::{Kind, Reason};

/// Packs the page in place, through a scratch page of the same size. The checksum is not set.
///
/// A page too damaged to be packed stays as it is; its next reader finds the damage.
pub(crate) fn pack_for_writing(page: &mut [u8], scratch: &mut [u8]) {
    if !header::is_edited(page) {
        return;
    }
    scratch.copy_from_slice(page);
    let count = header::count(page);
    let packed = match header::kind(page) {
        Some(Kind::Leaf) => SlottedLeaf::view(scratch, count).and_then(|leaf| {
            let place = |i| Ok((leaf.offset(i), leaf.cell(i)?.bytes()));
            gather(page, scratch, HEADER_BYTES + SLOT_BYTES * count, 0, 0..count, place)
        }),
        Some(Kind::Branch) => Branch::view(scratch, count).and_then(|branch| {
            let place = |i| branch.rest_place(i);
            let table_end = HEADER_BYTES + CHILD_BYTES * count;
            gather(page, scratch, table_end, branch.prefix_bytes(), 1..count, place)
        }),
        _ => return,
    };
    match packed {
        Ok(()) => header::set_edited(page, false),
        Err(_) => page.copy_from_slice(scratch),
    }
}

/// Copies what the slots name, `place(i)` in `from`, to the top of `page`, below its last
/// `tail_bytes`.
fn gather(
    page: &mut [u8],
    from: &[u8],
    table_end: usize,
    tail_bytes: usize,
    slots: std::ops::Range<usize>,
    place: impl Fn(usize) -> Result<(usize, usize), Reason>,
) -> Result<(), Reason> {
    let mut top = page.len().checked_sub(tail_bytes).ok_or(Reason::Cell)?;
    for i in slots.rev() {
        let (offset, bytes) = place(i)?;
        let source = from.get(offset..).and_then(|rest| rest.get(..bytes)).ok_or(Reason::Cell)?;
        top = top.checked_sub(bytes).ok_or(Reason::Cell)?;
        page[top..top + bytes].copy_from_slice(source);
        let offset = if bytes == 0 { 0 } else { top };
        let at = HEADER_BYTES + SLOT_BYTES * i + 4;
        page[at..at + 2].copy_from_slice(&(offset as u16).to_le_bytes());
    }
    if top < table_end {
        return Err(Reason::Cell);
    }
    page[table_end..top].fill(0);
    header::set_heap_bytes(page, page.len() - top);
    header::set_dead_bytes(page, 0);
    Ok(())
}

//! Branches: editing a page that this transaction level buffers.
//!
//! 1. After every call the page is a valid branch, unless the page was damaged before (`Err`).
//! 2. A separator that does not share the page's prefix makes all others longer, so inserting it
//!    may be refused although the separator itself would fit.

use super::branch::{Branch, CHILD_BYTES, SeparatorRef};
use super::header::{self, HEADER_BYTES};
use super::leaf::{SLOT_BYTES, audit_heap};
use super::limits::key_bytes_max;
use super::order::KeyOrder;
use super::probe::{SlotBytes, slot};
use super::types::{Kind, Ptr, Reason};
use crate::alloc::{Reserved, copied};

/// A branch that may be edited.
pub(crate) struct BranchMut<'p> {
    page: &'p mut [u8],
}

impl<'p> BranchMut<'p> {
    /// Makes the page a branch with one child.
    pub(crate) fn init(page: &'p mut [u8], ptr: Ptr, level: u8, first_child: Ptr) -> BranchMut<'p> {
        assert!(level > 0, "branches lie above level 0");
        header::init(page, ptr, Kind::Branch, level);
        header::set_count(page, 1);
        let mut branch = BranchMut { page };
        branch.set_child(0, first_child);
        branch
    }

    /// A branch whose header was admitted when it was read.
    pub(crate) fn view(page: &'p mut [u8]) -> Result<BranchMut<'p>, Reason> {
        let count = header::count(page);
        Branch::view(page, count)?;
        audit_heap(page, CHILD_BYTES * count)?;
        if header::prefix_bytes(page) > header::heap_bytes(page) {
            return Err(Reason::Cell);
        }
        Ok(BranchMut { page })
    }

    pub(crate) fn as_branch(&self) -> Branch<'_> {
        Branch::view(self.page, header::count(self.page)).expect("slots were bounded by view")
    }

    /// Inserts a child at `index`, not the first. False: it does not fit, and nothing changed.
    pub(crate) fn insert<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        separator: &[u8],
        child: Ptr,
    ) -> Result<bool, Reason> {
        let count = header::count(self.page);
        assert!(index >= 1 && index <= count, "insert: no such place");
        assert!(separator.len() <= key_bytes_max(self.page.len()), "insert: separator too long");
        let branch = self.as_branch();
        let prefix_bytes = branch.prefix_bytes();
        let shares = prefix_bytes == 0
            || order.lead(separator, prefix_bytes) == branch.separator(count - 1)?.prefix;
        let rest = order.rest(separator, prefix_bytes);
        // The first separator is all prefix: later ones can only make it shorter.
        if count == 1 || !shares || CHILD_BYTES + rest.len() > self.gap() {
            return self.insert_rebuild(order, index, separator, child);
        }
        let heap = header::heap_bytes(self.page) + rest.len();
        let offset = self.page.len() - heap;
        self.page[offset..offset + rest.len()].copy_from_slice(rest);
        self.open(index, count);
        let cell = rest_slot(order, rest, offset);
        let at = HEADER_BYTES + SLOT_BYTES * index;
        self.page[at..at + SLOT_BYTES].copy_from_slice(&cell);
        header::set_heap_bytes(self.page, heap);
        header::set_count(self.page, count + 1);
        header::set_edited(self.page, true);
        self.set_child(index, child);
        Ok(true)
    }

    /// Removes child `index` with its separator; of child 0, with that of the child that is first
    /// then. Not the only child.
    pub(crate) fn remove(&mut self, index: usize) -> Result<(), Reason> {
        let count = header::count(self.page);
        assert!(count > 1 && index < count, "remove: no such child, or the only one");
        let (_, bytes) = self.as_branch().rest_place(index.max(1))?;
        let dead = header::dead_bytes(self.page) + bytes;
        if dead + header::prefix_bytes(self.page) > header::heap_bytes(self.page) {
            return Err(Reason::Cell);
        }
        header::set_dead_bytes(self.page, dead);
        self.close(index, count);
        header::set_count(self.page, count - 1);
        header::set_edited(self.page, true);
        if index == 0 {
            self.page[HEADER_BYTES..HEADER_BYTES + SLOT_BYTES].fill(0);
        }
        if count == 2 {
            header::set_heap_bytes(self.page, 0);
            header::set_dead_bytes(self.page, 0);
            header::set_prefix_bytes(self.page, 0);
        }
        Ok(())
    }

    /// Gives child `index` another pointer.
    pub(crate) fn set_child(&mut self, index: usize, child: Ptr) {
        let count = header::count(self.page);
        assert!(index < count, "set_child: no such child");
        let at = HEADER_BYTES + SLOT_BYTES * count + Ptr::BYTES * index;
        self.page[at..at + Ptr::BYTES].copy_from_slice(&child.encode());
    }

    #[cfg(test)]
    /// Gives child `index`, not the first, another separator. False: it does not fit, nothing
    /// changed.
    pub(crate) fn set_separator<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        separator: &[u8],
    ) -> Result<bool, Reason> {
        assert!(index >= 1 && index < header::count(self.page), "set_separator: no such place");
        assert!(separator.len() <= key_bytes_max(self.page.len()), "separator too long");
        let copy = copied(self.page)?;
        let mut entries = entries(Branch::view(&copy, header::count(&copy))?)?;
        entries[index].separator = SeparatorRef { prefix: &[], rest: separator };
        self.rebuild(order, &entries)
    }

    fn insert_rebuild<O: KeyOrder>(
        &mut self,
        order: O,
        index: usize,
        separator: &[u8],
        child: Ptr,
    ) -> Result<bool, Reason> {
        let copy = copied(self.page)?;
        let mut entries = entries(Branch::view(&copy, header::count(&copy))?)?;
        entries.insert(index, ChildEntry::new(separator, child));
        self.rebuild(order, &entries)
    }

    fn rebuild<O: KeyOrder>(
        &mut self,
        order: O,
        entries: &[ChildEntry<'_>],
    ) -> Result<bool, Reason> {
        let done = write_branch(order, self.page, entries)?;
        if done {
            header::set_edited(self.page, true);
        }
        Ok(done)
    }

    /// Bytes between pointers and heap.
    fn gap(&self) -> usize {
        let table = HEADER_BYTES + CHILD_BYTES * header::count(self.page);
        self.page.len() - table - header::heap_bytes(self.page)
    }

    /// Makes room for one child in slots and pointers.
    fn open(&mut self, index: usize, count: usize) {
        let pointers = HEADER_BYTES + SLOT_BYTES * count;
        let split = pointers + Ptr::BYTES * index;
        let end = pointers + Ptr::BYTES * count;
        self.page.copy_within(split..end, split + CHILD_BYTES);
        self.page.copy_within(pointers..split, pointers + SLOT_BYTES);
        let at = HEADER_BYTES + SLOT_BYTES * index;
        self.page.copy_within(at..pointers, at + SLOT_BYTES);
    }

    /// Takes one child out of slots and pointers.
    fn close(&mut self, index: usize, count: usize) {
        let pointers = HEADER_BYTES + SLOT_BYTES * count;
        let split = pointers + Ptr::BYTES * index;
        let end = pointers + Ptr::BYTES * count;
        let at = HEADER_BYTES + SLOT_BYTES * index;
        self.page.copy_within(at + SLOT_BYTES..pointers, at);
        self.page.copy_within(pointers..split, pointers - SLOT_BYTES);
        self.page.copy_within(split + Ptr::BYTES..end, split - SLOT_BYTES);
    }
}

/// A child with its separator, on its way into a page; the separator of a first child is ignored.
#[derive(Clone, Copy)]
pub(super) struct ChildEntry<'a> {
    pub(super) separator: SeparatorRef<'a>,
    pub(super) child: Ptr,
}

impl<'a> ChildEntry<'a> {
    pub(super) fn new(separator: &'a [u8], child: Ptr) -> ChildEntry<'a> {
        ChildEntry { separator: SeparatorRef { prefix: &[], rest: separator }, child }
    }
}

/// The children of a branch.
pub(super) fn entries(branch: Branch<'_>) -> Result<Vec<ChildEntry<'_>>, Reason> {
    let mut out = Vec::new();
    out.try_reserve_exact(branch.count() + 1)?;
    for i in 0..branch.count() {
        out.push(ChildEntry { separator: branch.separator(i)?, child: branch.child(i) });
    }
    Ok(out)
}

/// What all separators share: in a sorted page, what the first and the last share.
fn best_prefix<O: KeyOrder>(order: O, entries: &[ChildEntry<'_>]) -> Reserved<Vec<u8>> {
    let [_, first, ..] = entries else { return Ok(Vec::new()) };
    let last = entries.last().unwrap_or(first).separator.whole(order)?;
    let n = order.common(&first.separator.whole(order)?, &last);
    copied(order.lead(&last, n))
}

/// Bytes that the children take in a page of their own, without its header.
pub(super) fn branch_bytes<O: KeyOrder>(order: O, entries: &[ChildEntry<'_>]) -> Reserved<usize> {
    let prefix_bytes = best_prefix(order, entries)?.len();
    Ok(packed_bytes(entries, prefix_bytes))
}

fn packed_bytes(entries: &[ChildEntry<'_>], prefix_bytes: usize) -> usize {
    let separators = entries.iter().skip(1).map(|entry| entry.separator.bytes());
    let rests: usize = separators.map(|bytes| bytes.saturating_sub(prefix_bytes)).sum();
    CHILD_BYTES * entries.len() + prefix_bytes + rests
}

/// Fills a branch whose header names it: packed, with the best prefix, free bytes zero. False: the
/// children do not fit, and nothing changed.
pub(super) fn write_branch<O: KeyOrder>(
    order: O,
    out: &mut [u8],
    entries: &[ChildEntry<'_>],
) -> Result<bool, Reason> {
    let prefix = best_prefix(order, entries)?;
    if HEADER_BYTES + packed_bytes(entries, prefix.len()) > out.len() {
        return Ok(false);
    }
    if entries.iter().skip(1).any(|entry| !has_prefix(order, entry.separator, &prefix)) {
        return Err(Reason::Order);
    }
    let mut top = out.len() - prefix.len();
    out[top..].copy_from_slice(&prefix);
    let pointers = HEADER_BYTES + SLOT_BYTES * entries.len();
    for (i, entry) in entries.iter().enumerate().rev() {
        let mut cell = [0; SLOT_BYTES];
        if i != 0 {
            let bytes = entry.separator.bytes() - prefix.len();
            top -= bytes;
            write_rest(order, entry.separator, prefix.len(), &mut out[top..top + bytes]);
            cell = rest_slot(order, &out[top..top + bytes], top);
        }
        let at = HEADER_BYTES + SLOT_BYTES * i;
        out[at..at + SLOT_BYTES].copy_from_slice(&cell);
        let at = pointers + Ptr::BYTES * i;
        out[at..at + Ptr::BYTES].copy_from_slice(&entry.child.encode());
    }
    out[pointers + Ptr::BYTES * entries.len()..top].fill(0);
    header::set_count(out, entries.len());
    header::set_heap_bytes(out, out.len() - top);
    header::set_dead_bytes(out, 0);
    header::set_prefix_bytes(out, prefix.len());
    header::set_edited(out, false);
    Ok(true)
}

/// The slot of a separator whose rest lies at `offset`. An empty rest may lie anywhere: at the very
/// end of a page of 64 KiB its offset would not fit 16 bits.
fn rest_slot<O: KeyOrder>(order: O, rest: &[u8], offset: usize) -> SlotBytes {
    slot(order.head(rest, 0), if rest.is_empty() { 0 } else { offset }, rest.len())
}

/// Whether the separator begins with the prefix, in key order.
fn has_prefix<O: KeyOrder>(order: O, separator: SeparatorRef<'_>, prefix: &[u8]) -> bool {
    let (n, known) = (prefix.len(), separator.prefix.len());
    if n <= known {
        return order.lead(separator.prefix, n) == prefix;
    }
    separator.prefix == order.lead(prefix, known)
        && order.lead(separator.rest, n - known) == order.rest(prefix, known)
}

/// Writes what follows the first `n` bytes of the separator, in key order.
fn write_rest<O: KeyOrder>(order: O, separator: SeparatorRef<'_>, n: usize, out: &mut [u8]) {
    let known = separator.prefix.len();
    if n >= known {
        out.copy_from_slice(order.rest(separator.rest, n - known));
    } else {
        order.join(order.rest(separator.prefix, n), separator.rest, out);
    }
}

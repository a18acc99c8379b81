//! Fixed leaves: keys of one length, in order and without slots. The values of a multimap's key lie
//! in them where all have one length.
//!
//! ```text
//! header | keys, `key_bytes` each | zeros
//! ```
//!
//! 1. The header says the length of a key where other pages have their prefix; it is never 0. A
//!    fixed leaf has no heap.
//! 2. Keys rise. Nothing but zeros follows them.
//!
//! [`AnyLeaf`] is a leaf of a tree whose kind is known at run time only. Plain tables are read
//! through [`SlottedLeaf`] alone, which a second kind would slow down.

use std::cmp::Ordering;
use std::ops::Range;

use super::header::{self, HEADER_BYTES};
use super::leaf::{Cell, SlottedLeaf};
use super::order::KeyOrder;
use super::probe::search_keys;
use super::types::{Kind, Ptr, Reason};
use crate::alloc::copied;

/// A fixed leaf, or some consecutive keys of one.
#[derive(Clone, Copy)]
pub(crate) struct FixedLeaf<'p> {
    keys: &'p [u8],
    key_bytes: usize,
}

impl<'p> FixedLeaf<'p> {
    /// The leaf in `page`, whose keys must have `key_bytes`; `count` is what [`header::admit`]
    /// returned.
    pub(crate) fn view(
        page: &'p [u8],
        count: usize,
        key_bytes: usize,
    ) -> Result<FixedLeaf<'p>, Reason> {
        if key_bytes == 0 || header::prefix_bytes(page) != key_bytes {
            return Err(Reason::Cell);
        }
        match page.get(HEADER_BYTES..HEADER_BYTES + count * key_bytes) {
            Some(keys) => Ok(FixedLeaf { keys, key_bytes }),
            None => Err(Reason::Count),
        }
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.keys.len() / self.key_bytes
    }

    /// Panics if there is no such key: an internal mistake.
    #[inline]
    pub(crate) fn key(&self, i: usize) -> &'p [u8] {
        &self.keys[i * self.key_bytes..][..self.key_bytes]
    }

    /// Where the key is (`Ok`), or where it would be inserted (`Err`).
    pub(crate) fn search<O: KeyOrder>(&self, order: O, key: &[u8]) -> Result<usize, usize> {
        search_keys(order, key, self.count(), |at| self.key(at))
    }

    /// All its keys, one behind the other.
    pub(crate) fn bytes(&self) -> &'p [u8] {
        self.keys
    }

    fn slice(self, from: usize, until: usize) -> Option<FixedLeaf<'p>> {
        let keys = self.keys.get(from * self.key_bytes..until * self.key_bytes)?;
        Some(FixedLeaf { keys, ..self })
    }

    /// Whether the page is all that it should be.
    pub(crate) fn audit<O: KeyOrder>(&self, page: &[u8], order: O) -> Result<(), Reason> {
        if header::heap_bytes(page) != 0 || header::dead_bytes(page) != 0 {
            return Err(Reason::Count);
        }
        let rises = |i: usize| order.compare(self.key(i - 1), self.key(i)) == Ordering::Less;
        if !(1..self.count()).all(rises) {
            return Err(Reason::Order);
        }
        if page[HEADER_BYTES + self.keys.len()..].iter().all(|&byte| byte == 0) {
            Ok(())
        } else {
            Err(Reason::Cell)
        }
    }
}

/// A fixed leaf that may be edited.
pub(crate) struct FixedMut<'p> {
    page: &'p mut [u8],
    key_bytes: usize,
}

impl<'p> FixedMut<'p> {
    /// Makes the page an empty fixed leaf.
    pub(crate) fn init(page: &'p mut [u8], ptr: Ptr, key_bytes: usize) {
        assert_ne!(key_bytes, 0, "keys of a fixed leaf have bytes");
        header::init(page, ptr, Kind::Fixed, 0);
        header::set_prefix_bytes(page, key_bytes);
    }

    /// A leaf whose header was admitted when it was read.
    pub(crate) fn view(page: &'p mut [u8], key_bytes: usize) -> Result<FixedMut<'p>, Reason> {
        FixedLeaf::view(page, header::count(page), key_bytes)?;
        Ok(FixedMut { page, key_bytes })
    }

    /// Inserts a key before key `index`. False: there is no room, and nothing changed.
    pub(crate) fn insert(&mut self, index: usize, key: &[u8]) -> bool {
        let count = header::count(self.page);
        assert!(index <= count, "insert: no such place");
        assert_eq!(key.len(), self.key_bytes, "insert: all keys have one length");
        let (at, next) = self.place(index);
        let (end, _) = self.place(count);
        if end + self.key_bytes > self.page.len() {
            return false;
        }
        self.page.copy_within(at..end, next);
        self.page[at..next].copy_from_slice(key);
        header::set_count(self.page, count + 1);
        header::note_insert(self.page, index);
        true
    }

    /// Removes several keys.
    pub(crate) fn remove_range(&mut self, keys: Range<usize>) {
        let count = header::count(self.page);
        assert!(keys.start <= keys.end && keys.end <= count, "remove: no such keys");
        let ((at, _), (next, _), (end, _)) =
            (self.place(keys.start), self.place(keys.end), self.place(count));
        self.page.copy_within(next..end, at);
        self.page[end - (next - at)..end].fill(0);
        header::set_count(self.page, count - keys.len());
        header::forget_inserts_from(self.page, keys.start);
    }

    /// Where key `index` begins and ends.
    fn place(&self, index: usize) -> (usize, usize) {
        let at = HEADER_BYTES + index * self.key_bytes;
        (at, at + self.key_bytes)
    }
}

/// Divides a full fixed leaf to make room for a new key before key `index`: in the middle, or as
/// [`super::choose_split`] does where keys come in order. The right part becomes the leaf
/// `right_ptr`. Returns the separator.
pub(crate) fn split_fixed<O: KeyOrder>(
    order: O,
    left: &mut [u8],
    right: &mut [u8],
    right_ptr: Ptr,
    (index, key): (usize, &[u8]),
    (rightmost, leftmost): (bool, bool),
) -> Result<Vec<u8>, Reason> {
    let leaf = FixedLeaf::view(left, header::count(left), key.len())?;
    let count = leaf.count();
    assert!(index <= count, "split_fixed: no such place");
    let goes_on = header::goes_on_at(left, index);
    // Keys from `at` on go to the right.
    let at = match count {
        0 => return Err(Reason::Count),
        1 => index,
        _ if rightmost && index == count => count,
        _ if leftmost && index == 0 => 0,
        _ if goes_on => index,
        _ => count / 2,
    };
    // A new one at the border becomes the first there, except at the left edge, where it is all
    // that the left part has, and where it goes on with that part.
    let ends_left = index == at && (at == 0 || goes_on && at < count);
    let below = if ends_left { key } else { leaf.key(at - 1) };
    let above = if index == at && !ends_left { key } else { leaf.key(at) };
    let separator = copied(order.separator(below, above))?;
    FixedMut::init(right, right_ptr, key.len());
    let moved = copied(&leaf.bytes()[at * key.len()..])?;
    right[HEADER_BYTES..HEADER_BYTES + moved.len()].copy_from_slice(&moved);
    header::set_count(right, count - at);
    FixedMut::view(left, key.len())?.remove_range(at..count);
    Ok(separator)
}

/// Moves all keys of `right` into `left`. False: they do not fit, and nothing changed.
pub(crate) fn merge_fixed(left: &mut [u8], right: &[u8], key_bytes: usize) -> Result<bool, Reason> {
    let high = FixedLeaf::view(right, header::count(right), key_bytes)?;
    let low = FixedLeaf::view(left, header::count(left), key_bytes)?;
    let (count, at) = (low.count() + high.count(), HEADER_BYTES + low.bytes().len());
    let Some(place) = left.get_mut(at..at + high.bytes().len()) else { return Ok(false) };
    place.copy_from_slice(high.bytes());
    header::set_count(left, count);
    Ok(true)
}

/// What iterating needs of the items of a leaf.
pub(crate) trait LeafItems<'p>: Copy {
    /// One of them.
    type Item;
    /// None of no page.
    const NONE: Self;

    fn count(&self) -> usize;
    /// The same without those before `from` and from `until` on; `None` if there are no such.
    fn slice(self, from: usize, until: usize) -> Option<Self>;
    fn take_first(&mut self) -> Option<Result<Self::Item, Reason>>;
    fn take_last(&mut self) -> Option<Result<Self::Item, Reason>>;
}

impl<'p> LeafItems<'p> for SlottedLeaf<'p> {
    type Item = Cell<'p>;
    const NONE: Self = SlottedLeaf::NONE;

    #[inline(always)]
    fn count(&self) -> usize {
        SlottedLeaf::count(self)
    }

    #[inline(always)]
    fn slice(self, from: usize, until: usize) -> Option<Self> {
        SlottedLeaf::slice(self, from, until)
    }

    #[inline(always)]
    fn take_first(&mut self) -> Option<Result<Cell<'p>, Reason>> {
        SlottedLeaf::take_first(self)
    }

    #[inline(always)]
    fn take_last(&mut self) -> Option<Result<Cell<'p>, Reason>> {
        SlottedLeaf::take_last(self)
    }
}

/// A leaf of either kind; its items are keys.
#[derive(Clone, Copy)]
pub(crate) enum AnyLeaf<'p> {
    Slotted(SlottedLeaf<'p>),
    Fixed(FixedLeaf<'p>),
}

impl<'p> AnyLeaf<'p> {
    /// Panics if there is no such key: an internal mistake.
    pub(crate) fn key(&self, i: usize) -> Result<&'p [u8], Reason> {
        match self {
            AnyLeaf::Slotted(leaf) => leaf.key(i),
            AnyLeaf::Fixed(leaf) => Ok(leaf.key(i)),
        }
    }

    /// Where the key is (`Ok`), or where it would be inserted (`Err`).
    pub(crate) fn search<O: KeyOrder>(
        &self,
        order: O,
        key: &[u8],
    ) -> Result<Result<usize, usize>, Reason> {
        match self {
            AnyLeaf::Slotted(leaf) => leaf.search(order, key),
            AnyLeaf::Fixed(leaf) => Ok(leaf.search(order, key)),
        }
    }

    /// Whether there are keys, all of them below this one.
    #[inline]
    pub(crate) fn ends_below<O: KeyOrder>(&self, order: O, key: &[u8]) -> Result<bool, Reason> {
        match self.count() {
            0 => Ok(false),
            count => Ok(order.compare(self.key(count - 1)?, key) == Ordering::Less),
        }
    }

    /// The keys one behind the other, if all have one length.
    pub(crate) fn packed(&self) -> Option<&'p [u8]> {
        match self {
            AnyLeaf::Slotted(_) => None,
            AnyLeaf::Fixed(leaf) => Some(leaf.bytes()),
        }
    }

    /// Bytes of slots and cells, or of keys.
    pub(crate) fn live_bytes(&self) -> usize {
        match self {
            AnyLeaf::Slotted(leaf) => leaf.live_bytes(),
            AnyLeaf::Fixed(leaf) => leaf.bytes().len(),
        }
    }
}

impl<'p> LeafItems<'p> for AnyLeaf<'p> {
    type Item = &'p [u8];
    const NONE: Self = AnyLeaf::Slotted(SlottedLeaf::NONE);

    fn count(&self) -> usize {
        match self {
            AnyLeaf::Slotted(leaf) => leaf.count(),
            AnyLeaf::Fixed(leaf) => leaf.count(),
        }
    }

    fn slice(self, from: usize, until: usize) -> Option<Self> {
        Some(match self {
            AnyLeaf::Slotted(leaf) => AnyLeaf::Slotted(leaf.slice(from, until)?),
            AnyLeaf::Fixed(leaf) => AnyLeaf::Fixed(leaf.slice(from, until)?),
        })
    }

    fn take_first(&mut self) -> Option<Result<&'p [u8], Reason>> {
        match self {
            AnyLeaf::Slotted(leaf) => leaf.take_first().map(|cell| cell.map(|cell| cell.key)),
            AnyLeaf::Fixed(leaf) => {
                let (first, rest) = leaf.keys.split_at_checked(leaf.key_bytes)?;
                leaf.keys = rest;
                Some(Ok(first))
            }
        }
    }

    fn take_last(&mut self) -> Option<Result<&'p [u8], Reason>> {
        match self {
            AnyLeaf::Slotted(leaf) => leaf.take_last().map(|cell| cell.map(|cell| cell.key)),
            AnyLeaf::Fixed(leaf) => {
                let at = leaf.keys.len().checked_sub(leaf.key_bytes)?;
                let (rest, last) = leaf.keys.split_at(at);
                leaf.keys = rest;
                Some(Ok(last))
            }
        }
    }
}

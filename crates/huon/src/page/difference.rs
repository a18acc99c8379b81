//! The difference between a page and the one that it was copied from, as the journal keeps it.
//!
//! A page is taken for its *frame* (the header, and what does not repeat) and its *elements* in
//! order: the records of a leaf, the children of a branch, the keys of a fixed leaf, the items of a
//! chunk or of a meta. A difference has the frame whole, and says of the elements which runs of the
//! old page stay, and which new ones come behind each run. A page without a predecessor is the
//! difference to one without elements.
//!
//! ```text
//! u8 form | frame | until all elements are there: u16 first, u16 kept, u16 fresh, fresh elements
//!
//!    form     frame                        element
//! 0  plain    u32 bytes, the page's first  -
//! 1  leaf     header                       u32 head, u16 key_bytes, cell
//! 2  branch   header, prefix               u32 head, u16 key_bytes, pointer, rest of the separator
//! 3  fixed    header                       key
//! 4  chunk    header, 16 bytes             item
//! 5  meta     256 bytes                    item
//! ```
//!
//! 1. [`apply`] makes of what [`write()`] wrote the same bytes again, checksum included: pages are
//!    packed when they are written, so their elements say where these lie. A page of which that is
//!    not true is written plain: `write` looks whether each cell lies where `apply` would lay it,
//!    with zeros before the first.
//! 2. [`apply`] believes nothing: whatever the bytes are, it fails or makes some page. Whether that
//!    is the right one is for the page's checksum to say.
//!
//! Elements are compared as bytes: no order and no meaning is known here. In packed pages a run of
//! elements is three stretches of bytes, in slots, array and cells, and is compared as these.

use std::num::NonZero;
use std::ops::Range;

use super::PAGE_BYTES_MAX;
use super::chunk::{ITEM_BYTES, ITEMS_START};
use super::header::{self, HEADER_BYTES};
use super::leaf::{SLOT_BYTES, TAG_BYTES, payload_bytes_of};
use super::meta;
use super::probe::{SlotBytes, slot_key_bytes, slot_offset};
use super::types::{Kind, Ptr};
use crate::alloc::{Reserved, TryGrow, filled};
use crate::error::{Error, Result};

/// How far ahead a place is looked for from which both pages go on alike.
const AHEAD: usize = 12;

/// A slot's bytes but for the offset: head and key_bytes.
const SLOT_MASK: u64 = !(0xFFFF << 32);

/// What the bytes of a page are taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Form {
    Plain = 0,
    Leaf = 1,
    Branch = 2,
    Fixed = 3,
    Chunk = 4,
    Meta = 5,
}

impl Form {
    fn decode(number: u8) -> Option<Form> {
        use Form::{Branch, Chunk, Fixed, Leaf, Meta, Plain};
        [Plain, Leaf, Branch, Fixed, Chunk, Meta].into_iter().find(|form| *form as u8 == number)
    }

    fn of(page: &[u8]) -> Form {
        match header::kind(page) {
            _ if meta::is_meta(page) => Form::Meta,
            Some(Kind::Leaf) => Form::Leaf,
            Some(Kind::Branch) => Form::Branch,
            Some(Kind::Fixed) => Form::Fixed,
            Some(Kind::Chunk) => Form::Chunk,
            None => Form::Plain,
        }
    }

    /// Bytes at the front of a page of this form that belong to its frame.
    fn front_bytes(self) -> usize {
        match self {
            Form::Plain => 0,
            Form::Leaf | Form::Branch | Form::Fixed => HEADER_BYTES,
            Form::Chunk => ITEMS_START,
            Form::Meta => meta::FRAME_BYTES,
        }
    }

    fn has_slots(self) -> bool {
        matches!(self, Form::Leaf | Form::Branch)
    }
}

/// How a page of one form is laid out, which its front says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Layout {
    form: Form,
    count: usize,
    /// Bytes of an element in an array behind the slots.
    flat_bytes: usize,
    /// Bytes of the frame at the end of the page.
    tail_bytes: usize,
}

impl Layout {
    fn of(form: Form, front: &[u8]) -> Layout {
        let (count, flat_bytes, tail_bytes) = match form {
            Form::Plain => (0, 0, 0),
            Form::Leaf => (header::count(front), 0, 0),
            Form::Branch => (header::count(front), Ptr::BYTES, header::prefix_bytes(front)),
            Form::Fixed => (header::count(front), header::prefix_bytes(front), 0),
            Form::Chunk => (header::count(front), ITEM_BYTES, 0),
            Form::Meta => (meta::item_count(front), ITEM_BYTES, 0),
        };
        Layout { form, count, flat_bytes, tail_bytes }
    }

    /// Where slot `i` begins.
    fn slot(&self, i: usize) -> usize {
        self.form.front_bytes() + if self.form.has_slots() { SLOT_BYTES * i } else { 0 }
    }

    /// Where the array's part of element `i` lies.
    fn flat(&self, i: usize) -> Range<usize> {
        let at = self.slot(self.count) + self.flat_bytes * i;
        at..at + self.flat_bytes
    }

    /// Where slots and array end.
    fn table_end(&self) -> usize {
        self.flat(self.count).start
    }
}

/// What repeats in a page.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Element<'p> {
    /// Head and key_bytes of the slot.
    slot: u64,
    flat: &'p [u8],
    cell: &'p [u8],
}

impl<'p> Element<'p> {
    /// The cell that begins `bytes`, of an element with this slot.
    fn cell(form: Form, slot: u64, bytes: &'p [u8]) -> Option<&'p [u8]> {
        let key_bytes = slot_key_bytes(&slot.to_le_bytes());
        match form {
            Form::Leaf => {
                let tag = bytes.first_chunk()?;
                bytes.get(..TAG_BYTES + key_bytes + payload_bytes_of(*tag))
            }
            Form::Branch => bytes.get(..key_bytes),
            _ => Some(&[]),
        }
    }

    fn write(&self, form: Form, out: &mut Vec<u8>) -> Reserved<()> {
        if form.has_slots() {
            let bytes = self.slot.to_le_bytes();
            out.try_append(&bytes[..4])?;
            out.try_append(&bytes[6..])?;
        }
        out.try_append(self.flat)?;
        out.try_append(self.cell)
    }

    fn read(layout: &Layout, from: &mut Front<'p>) -> Option<Element<'p>> {
        let mut slot = [0; SLOT_BYTES];
        if layout.form.has_slots() {
            slot[..4].copy_from_slice(from.take(4)?);
            slot[6..].copy_from_slice(from.take(2)?);
        }
        let slot = u64::from_le_bytes(slot);
        let flat = from.take(layout.flat_bytes)?;
        let cell = Element::cell(layout.form, slot, from.0)?;
        from.take(cell.len())?;
        Some(Element { slot, flat, cell })
    }
}

/// A page as its elements.
#[derive(Clone, Copy)]
struct Elements<'p> {
    page: &'p [u8],
    layout: Layout,
    /// They lie where [`lay_out`] lays them.
    packed: bool,
}

impl<'p> Elements<'p> {
    /// Those of a page of this form; none if it has another.
    fn of(page: &'p [u8], form: Form) -> Elements<'p> {
        if form == Form::Plain || Form::of(page) != form {
            return Elements { page: &[], layout: Layout::of(Form::Plain, &[]), packed: true };
        }
        let all = Elements { page, layout: Layout::of(form, page), packed: false };
        Elements { packed: all.are_packed(), ..all }
    }

    fn are_packed(&self) -> bool {
        let Some(mut top) = self.page.len().checked_sub(self.layout.tail_bytes) else {
            return false;
        };
        let cells = if self.layout.form.has_slots() { self.layout.count } else { 0 };
        for i in (0..cells).rev() {
            let Some(element) = self.get(i) else { return false };
            let Some(below) = top.checked_sub(element.cell.len()) else { return false };
            top = below;
            // A cell without bytes lies nowhere.
            if self.offset(i) != if element.cell.is_empty() { 0 } else { top } {
                return false;
            }
        }
        let gap = self.page.get(self.layout.table_end()..top);
        gap.is_some_and(|gap| alike_bytes(gap, &[0; PAGE_BYTES_MAX]) == gap.len())
    }

    fn slot(&self, i: usize) -> SlotBytes {
        let mut slot = [0; SLOT_BYTES];
        slot.copy_from_slice(&self.page[self.layout.slot(i)..][..SLOT_BYTES]);
        slot
    }

    fn offset(&self, i: usize) -> usize {
        slot_offset(&self.slot(i))
    }

    /// Where the cells from element `i` on begin, in a packed page.
    fn cells_at(&self, i: usize) -> usize {
        let offsets = (i..self.layout.count).map(|i| self.offset(i));
        let top = self.page.len() - self.layout.tail_bytes;
        offsets.into_iter().find(|at| *at != 0).unwrap_or(top)
    }

    fn get(&self, i: usize) -> Option<Element<'p>> {
        if i >= self.layout.count {
            return None;
        }
        let flat = self.page.get(self.layout.flat(i))?;
        if !self.layout.form.has_slots() {
            return Some(Element { slot: 0, flat, cell: &[] });
        }
        let slot = self.page.get(self.layout.slot(i)..)?.first_chunk()?;
        let masked = u64::from_le_bytes(*slot) & SLOT_MASK;
        let cell = Element::cell(self.layout.form, masked, self.page.get(slot_offset(slot)..)?)?;
        Some(Element { slot: masked, flat, cell })
    }

    fn are_alike(&self, i: usize, other: &Elements<'_>, j: usize) -> bool {
        let element = self.get(i);
        element.is_some() && element == other.get(j)
    }

    /// The array's part of so many elements.
    fn flats(&self, from: usize, count: usize) -> &'p [u8] {
        &self.page[self.layout.flat(from).start..self.layout.flat(from + count).start]
    }

    /// How many elements from `i` on are those of `other` from `j` on.
    fn alike(&self, i: usize, other: &Elements<'_>, j: usize) -> usize {
        let flat_bytes = self.layout.flat_bytes;
        if !self.packed || !other.packed || flat_bytes != other.layout.flat_bytes {
            return (0..).take_while(|n| self.are_alike(i + n, other, j + n)).count();
        }
        let left = |all: &Elements<'_>, from: usize| all.layout.count.saturating_sub(from);
        let mut count = left(self, i).min(left(other, j));
        if count == 0 {
            return 0;
        }
        if let Some(flat_bytes) = NonZero::new(flat_bytes) {
            count = alike_bytes(self.flats(i, count), other.flats(j, count)) / flat_bytes;
        }
        if self.layout.form.has_slots() {
            let slot = |all: &Elements<'_>, i: usize| u64::from_le_bytes(all.slot(i)) & SLOT_MASK;
            count = (0..count).take_while(|n| slot(self, i + n) == slot(other, j + n)).count();
            // A cell says by itself how long it is, so those in bytes that are alike are alike.
            let (from, begin) = (self.cells_at(i), other.cells_at(j));
            let cells = alike_bytes(&self.page[from..], &other.page[begin..]);
            while count > 0 && other.cells_at(j + count) - begin > cells {
                count -= 1;
            }
        }
        count
    }

    /// The nearest places, from `i` and `j` on, at which both are alike.
    fn meet(&self, i: usize, other: &Elements<'_>, j: usize) -> Option<(usize, usize)> {
        if i >= self.layout.count {
            return None;
        }
        let apart = |sum: usize| (0..=sum).map(move |ahead| (i + ahead, j + sum - ahead));
        (1..=AHEAD).flat_map(apart).find(|(i, j)| self.are_alike(*i, other, *j))
    }
}

/// Some bytes, taken from their front.
struct Front<'b>(&'b [u8]);

impl<'b> Front<'b> {
    fn take(&mut self, bytes: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn half(&mut self) -> Option<usize> {
        self.take(2).map(|half| usize::from(u16::from_le_bytes([half[0], half[1]])))
    }
}

/// How many bytes both begin with.
fn alike_bytes(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let blocks = a.as_chunks::<BLOCK>().0.iter().zip(b.as_chunks::<BLOCK>().0);
    let from = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
    from + a[from..].iter().zip(&b[from..]).take_while(|(a, b)| a == b).count()
}

/// Appends to `out` what makes `new` of `old`. Costs a look at each slot and each byte of both.
pub(crate) fn write(old: Option<&[u8]>, new: &[u8], out: &mut Vec<u8>) -> Reserved<()> {
    let (old, from) = (old.unwrap_or(&[]), out.len());
    let form = Form::of(new);
    if form != Form::Plain && write_elements(old, new, form, out)? {
        debug_assert!(leads_to(old, &out[from..], new), "rule 1");
        return Ok(());
    }
    out.truncate(from);
    write_plain(new, out)
}

/// As far as there is memory to look.
fn leads_to(old: &[u8], difference: &[u8], new: &[u8]) -> bool {
    let Ok(mut made) = filled(0xEE, new.len()) else { return true };
    apply(old, difference, &mut made).is_ok() && made == new
}

fn write_plain(new: &[u8], out: &mut Vec<u8>) -> Reserved<()> {
    let used = new.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    out.try_push(Form::Plain as u8)?;
    out.try_append(&(used as u32).to_le_bytes())?;
    out.try_append(&new[..used])
}

/// False if that is not possible.
fn write_elements(old: &[u8], new: &[u8], form: Form, out: &mut Vec<u8>) -> Reserved<bool> {
    let (old, new) = (Elements::of(old, form), Elements::of(new, form));
    let layout = new.layout;
    if !new.packed {
        return Ok(false);
    }
    let tail = new.page.len() - layout.tail_bytes;
    out.try_push(form as u8)?;
    out.try_append(&new.page[..form.front_bytes()])?;
    out.try_append(&new.page[tail..])?;
    let (mut i, mut j) = (0, 0);
    while j < layout.count {
        let (first, kept) = (i, old.alike(i, &new, j));
        (i, j) = (i + kept, j + kept);
        // Where they do not meet again soon, elements that go are taken for ones that change.
        let (next, until) = match old.meet(i, &new, j) {
            Some(places) => places,
            None => (i + AHEAD, layout.count.min(j + AHEAD)),
        };
        if kept + until > j {
            for half in [first, kept, until - j] {
                let Ok(half) = u16::try_from(half) else { return Ok(false) };
                out.try_append(&half.to_le_bytes())?;
            }
        }
        for fresh in j..until {
            let Some(element) = new.get(fresh) else { return Ok(false) };
            element.write(form, out)?;
        }
        (i, j) = (next, until);
    }
    Ok(true)
}

/// Makes `out` the page that `difference` leads to from `old`, which is empty where there was none.
pub(crate) fn apply(old: &[u8], difference: &[u8], out: &mut [u8]) -> Result<()> {
    let mut from = Front(difference);
    let made = read(old, &mut from, out)?;
    if made && from.0.is_empty() {
        Ok(())
    } else {
        Err(Error::corrupt_file("a difference of pages in the journal makes no page"))
    }
}

/// False if that makes no page.
fn read<'d>(old: &'d [u8], from: &mut Front<'d>, out: &mut [u8]) -> Reserved<bool> {
    let form = from.take(1).and_then(|form| Form::decode(form[0]));
    let Some(form) = form else { return Ok(false) };
    let front_bytes = match form {
        Form::Plain => from.take(4).map_or(usize::MAX, |bytes| {
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
        }),
        form => form.front_bytes(),
    };
    let Some(front) = from.take(front_bytes) else { return Ok(false) };
    if front.len() > out.len() {
        return Ok(false);
    }
    out.fill(0);
    out[..front.len()].copy_from_slice(front);
    let layout = Layout::of(form, front);
    let Some(tail) = from.take(layout.tail_bytes) else { return Ok(false) };
    if layout.table_end().saturating_add(tail.len()) > out.len() {
        return Ok(false);
    }
    let top = out.len() - tail.len();
    out[top..].copy_from_slice(tail);
    match elements(old, from, &layout)? {
        Some(all) => Ok(lay_out(&all, &layout, top, out)),
        None => Ok(false),
    }
}

/// All elements of the new page. `None`: there are others than it says.
fn elements<'d>(
    old: &'d [u8],
    from: &mut Front<'d>,
    layout: &Layout,
) -> Reserved<Option<Vec<Element<'d>>>> {
    let old = Elements::of(old, layout.form);
    let mut all: Vec<Element<'d>> = Vec::new();
    all.try_reserve_exact(layout.count)?;
    while all.len() < layout.count {
        let [Some(first), Some(kept), Some(fresh)] = [from.half(), from.half(), from.half()] else {
            return Ok(None);
        };
        if kept + fresh == 0 || all.len() + kept + fresh > layout.count {
            return Ok(None);
        }
        for i in first..first + kept {
            let element = old.get(i).filter(|old| old.flat.len() == layout.flat_bytes);
            let Some(element) = element else { return Ok(None) };
            all.push(element);
        }
        for _ in 0..fresh {
            let Some(element) = Element::read(layout, from) else { return Ok(None) };
            all.push(element);
        }
    }
    Ok(Some(all))
}

/// Writes the elements, of which the last one's cell ends at `top`; whether they fit.
fn lay_out(all: &[Element<'_>], layout: &Layout, mut top: usize, out: &mut [u8]) -> bool {
    for (i, element) in all.iter().enumerate().rev() {
        out[layout.flat(i)].copy_from_slice(element.flat);
        if !layout.form.has_slots() {
            continue;
        }
        let bytes = element.cell.len();
        match top.checked_sub(bytes) {
            Some(below) if below >= layout.table_end() => top = below,
            _ => return false,
        }
        out[top..top + bytes].copy_from_slice(element.cell);
        // A cell without bytes lies nowhere.
        let offset = if bytes == 0 { 0 } else { top as u64 };
        let slot = element.slot | offset << 32;
        out[layout.slot(i)..layout.slot(i + 1)].copy_from_slice(&slot.to_le_bytes());
    }
    true
}

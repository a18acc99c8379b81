//! The header that every page starts with; its picture is in the module above.
//!
//! 1. [`admit`] is the only way from a pointer to a page: pgno, kind, level and birth are compared
//!    in one test, and nothing else of a page is read before it passed.
//! 2. `count` is only bounded here by its 16 bits; the views of leaf, branch and chunk bound it by
//!    the page.

use super::types::{Kind, Pgno, Ptr, Reason, Txnid};
use crate::planted::{self, Bug};

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 32;
/// The smallest page, for tests; in bytes.
pub(crate) const PAGE_BYTES_MIN: usize = 256;
/// The largest page, in bytes.
pub(crate) const PAGE_BYTES_MAX: usize = 65536;

const WORD: usize = 8;
const BIRTH: usize = 16;
const HEAP: usize = 24;
const DEAD: usize = 26;
const PREFIX: usize = 28;
const FLAGS: usize = 30;

/// Flag: the page was edited so that it is not packed any more.
const FLAG_EDITED: u16 = 1;
/// The other flags of a leaf say where records came last: two bits how many in a row, each right
/// behind the one before, as far as that counts; the others the slot of the last.
const ROW_SHIFT: u32 = 1;
const ROW_MAX: u16 = 3;
const LAST_SHIFT: u32 = 3;
const LAST_MAX: usize = (1 << (16 - LAST_SHIFT)) - 1;

const COUNT_SHIFT: u32 = 48;

const fn expected(pgno: Pgno, kind: Kind, level: u8) -> u64 {
    pgno.0 as u64 | (kind as u64) << 32 | (level as u64) << 40
}

#[inline(always)]
fn header(page: &[u8]) -> Option<&[u8; HEADER_BYTES]> {
    page.first_chunk()
}

#[inline(always)]
fn word(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(header.as_chunks().0[at / 8])
}

#[inline(always)]
fn half(page: &[u8], at: usize) -> usize {
    match header(page) {
        Some(header) => usize::from(u16::from_le_bytes(header.as_chunks().0[at / 2])),
        None => 0,
    }
}

#[inline]
fn set_half(page: &mut [u8], at: usize, value: usize) {
    let value = u16::try_from(value).expect("header fields have 16 bits");
    page[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

/// The `count` of a page, once its header is what `ptr`, `kind` and `level` promise.
#[inline(always)]
pub(crate) fn admit(page: &[u8], ptr: Ptr, kind: Kind, level: u8) -> Result<usize, Reason> {
    let Some(header) = header(page) else { return Err(Reason::OutOfRange) };
    let (word0, birth) = (word(header, WORD), word(header, BIRTH));
    let birth = if planted::is(Bug::BirthUnchecked) { ptr.birth.0 } else { birth };
    let differs = (word0 ^ expected(ptr.pgno, kind, level)) << 16 | (birth ^ ptr.birth.0);
    if differs != 0 {
        return Err(Reason::Header);
    }
    Ok((word0 >> COUNT_SHIFT) as usize)
}

/// Makes `page` an empty page; everything behind the header is zeroed.
pub(crate) fn init(page: &mut [u8], ptr: Ptr, kind: Kind, level: u8) {
    assert!(page.len() >= PAGE_BYTES_MIN && page.len() <= PAGE_BYTES_MAX, "page size");
    page.fill(0);
    page[WORD..WORD + 8].copy_from_slice(&expected(ptr.pgno, kind, level).to_le_bytes());
    page[BIRTH..BIRTH + 8].copy_from_slice(&ptr.birth.0.to_le_bytes());
}

/// Gives the page another name: what `touch` does to a copy.
pub(crate) fn set_ptr(page: &mut [u8], ptr: Ptr) {
    page[WORD..WORD + 4].copy_from_slice(&ptr.pgno.0.to_le_bytes());
    page[BIRTH..BIRTH + 8].copy_from_slice(&ptr.birth.0.to_le_bytes());
}

/// The name that the page carries.
pub(crate) fn ptr(page: &[u8]) -> Ptr {
    match header(page) {
        Some(header) => {
            Ptr { pgno: Pgno(word(header, WORD) as u32), birth: Txnid(word(header, BIRTH)) }
        }
        None => Ptr::NONE,
    }
}

/// The kind that the page carries, if it is one.
pub(crate) fn kind(page: &[u8]) -> Option<Kind> {
    match page.get(WORD + 4)? {
        1 => Some(Kind::Branch),
        2 => Some(Kind::Leaf),
        3 => Some(Kind::Fixed),
        4 => Some(Kind::Chunk),
        _ => None,
    }
}

/// The level that the page carries.
pub(crate) fn level(page: &[u8]) -> u8 {
    page.get(WORD + 5).copied().unwrap_or(0)
}

/// Slots, or items of a chunk.
#[inline]
pub(crate) fn count(page: &[u8]) -> usize {
    half(page, WORD + 6)
}

#[inline]
pub(crate) fn set_count(page: &mut [u8], count: usize) {
    set_half(page, WORD + 6, count);
}

/// Bytes of the heap, counted from the end of the page.
#[inline]
pub(crate) fn heap_bytes(page: &[u8]) -> usize {
    half(page, HEAP)
}

#[inline]
pub(crate) fn set_heap_bytes(page: &mut [u8], bytes: usize) {
    set_half(page, HEAP, bytes);
}

/// Bytes of the heap that nothing names.
#[inline]
pub(crate) fn dead_bytes(page: &[u8]) -> usize {
    half(page, DEAD)
}

pub(crate) fn set_dead_bytes(page: &mut [u8], bytes: usize) {
    set_half(page, DEAD, bytes);
}

/// Leading bytes, in key order, that all keys of the page share.
#[inline]
pub(crate) fn prefix_bytes(page: &[u8]) -> usize {
    half(page, PREFIX)
}

pub(crate) fn set_prefix_bytes(page: &mut [u8], bytes: usize) {
    set_half(page, PREFIX, bytes);
}

#[inline]
pub(crate) fn flags(page: &[u8]) -> u16 {
    half(page, FLAGS) as u16
}

#[inline]
fn set_flags(page: &mut [u8], flags: u16) {
    set_half(page, FLAGS, usize::from(flags));
}

/// Whether the page may not be packed.
pub(crate) fn is_edited(page: &[u8]) -> bool {
    flags(page) & FLAG_EDITED != 0
}

#[inline]
pub(crate) fn set_edited(page: &mut [u8], edited: bool) {
    set_flags(page, flags(page) & !FLAG_EDITED | u16::from(edited));
}

/// How many of the last inserts of a leaf came in a row, and the slot of the last one.
#[inline]
fn row(page: &[u8]) -> (u16, usize) {
    (flags(page) >> ROW_SHIFT & ROW_MAX, usize::from(flags(page) >> LAST_SHIFT))
}

#[inline]
fn set_row(page: &mut [u8], inserts: u16, last: usize) {
    let row = if last > LAST_MAX { 0 } else { (last as u16) << LAST_SHIFT | inserts << ROW_SHIFT };
    set_flags(page, flags(page) & FLAG_EDITED | row);
}

/// A record was inserted as slot `index` of a leaf.
#[inline]
pub(crate) fn note_insert(page: &mut [u8], index: usize) {
    let (inserts, last) = row(page);
    let goes_on = inserts > 0 && last + 1 == index;
    set_row(page, if goes_on { ROW_MAX.min(inserts + 1) } else { 1 }, index);
}

/// All `count` records of a leaf were inserted in a row.
pub(crate) fn note_row(page: &mut [u8], count: usize) {
    set_row(page, count.min(ROW_MAX.into()) as u16, count.saturating_sub(1));
}

/// Slots from `index` on have left a leaf, or have others' records.
pub(crate) fn forget_inserts_from(page: &mut [u8], index: usize) {
    if row(page).1 >= index {
        set_row(page, 0, 0);
    }
}

/// Whether some records were inserted in a row, and one for slot `index` goes on with it. A hint:
/// damaged pages may say anything.
pub(crate) fn goes_on_at(page: &[u8], index: usize) -> bool {
    let (inserts, last) = row(page);
    inserts == ROW_MAX && last + 1 == index
}

const _: () = assert!(FLAGS + 2 == HEADER_BYTES);

//! Cursors.
//!
//! U1. A cursor holds no page and no transaction: it stands between two records, and is told with
//!     each step which transaction to look by. So it may outlive one, and a change beside it.
//! U2. One of a range never shows what lies outside of it.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ops::Bound;

use huon::{Bytes, MultiCursor, Txn};
use huon_c::{Handles, in_txn};
use huon_lsm::LsmCursor;

use super::batch::Packer;
use super::def::{huon_multi, huon_table};
use super::lsm::{huon_lsm_table, lsm_table_of};
use super::range::{InBytes, Span, huon_range, within};
use super::txn::{huon_txn, in_view, look};
use crate::border::{Fault, Own, Res, border, close, enter, found, object, wanted};
use crate::bytes::{Out, huon_bytes, huon_pair, shown_pair};

/// A cursor: a place between two records of a table, or two pairs of a multimap. It belongs to
/// no transaction: each step names one, and may name another one than the step before. After a
/// change it goes on where it stood. One thread at a time uses it.
pub struct huon_cursor(());

static CURSORS: Handles<Own<Cursor>> = Handles::new(5);

huon_c::recent!(static RECENT: Own<Cursor>, of CURSORS);

/// A cursor as C holds it.
#[derive(Clone)]
struct Cursor {
    walk: Walk,
    span: Span,
}

#[derive(Clone)]
enum Walk {
    Table(huon::Cursor<Bytes, Bytes>),
    Multi(MultiCursor<Bytes, Bytes>),
    Lsm(Box<LsmCursor<Bytes, Bytes>>),
}

/// Does something with whichever cursor it is.
macro_rules! each {
    ($walk:expr, $cursor:ident => $work:expr) => {
        match $walk {
            Walk::Table($cursor) => $work,
            Walk::Multi($cursor) => $work,
            Walk::Lsm($cursor) => $work,
        }
    };
}

type Record<'t> = Option<(&'t [u8], &'t [u8])>;

impl Cursor {
    /// At the start of its range.
    fn new(walk: Walk, span: Span) -> Res<Own<Cursor>> {
        let mut cursor = Cursor { walk, span };
        cursor.turn(true)?;
        Ok(Own::new(cursor))
    }

    /// To one end of its range.
    fn turn(&mut self, to_start: bool) -> Res<()> {
        let Cursor { walk, span } = self;
        let end = if to_start { &span.from } else { &span.to };
        each!(walk, cursor => match (end, to_start) {
            (Bound::Unbounded, true) => cursor.to_start(),
            (Bound::Unbounded, false) => cursor.to_end(),
            (Bound::Included(key), true) | (Bound::Excluded(key), false) => cursor.seek(key)?,
            (Bound::Excluded(key), true) | (Bound::Included(key), false) => {
                cursor.seek_after(key)?;
            }
        });
        Ok(())
    }

    #[inline]
    fn step<'t>(&mut self, txn: &'t impl Txn, forward: bool) -> huon::Result<Record<'t>> {
        let Cursor { walk, span } = self;
        match (walk, forward) {
            (Walk::Table(cursor), true) => match end(&span.to) {
                Bound::Unbounded => cursor.next(txn),
                to => cursor.next_until(txn, to),
            },
            (Walk::Table(cursor), false) => match end(&span.from) {
                Bound::Unbounded => cursor.prev(txn),
                from => cursor.prev_until(txn, from),
            },
            (Walk::Multi(cursor), true) => cursor.next_until(txn, end(&span.to)),
            (Walk::Multi(cursor), false) => cursor.prev_until(txn, end(&span.from)),
            (Walk::Lsm(cursor), forward) => step_lsm(cursor, span, txn, forward),
        }
    }

    /// As [`huon::Cursor::walk`].
    fn walk(
        &mut self,
        txn: &impl Txn,
        forward: bool,
        most: usize,
        take: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> huon::Result<()> {
        let Cursor { walk, span } = self;
        let to = end(if forward { &span.to } else { &span.from });
        each!(walk, cursor => cursor.walk(txn, forward, to, most, take).map(drop))
    }

    fn check_free(&self) -> Res<()> {
        let is_free = self.span.is_all();
        if is_free { Ok(()) } else { Err(BOUND) }
    }
}

fn end(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// As `Cursor::next_until` of ordinary tables.
fn step_lsm<'t>(
    cursor: &mut LsmCursor<Bytes, Bytes>,
    span: &Span,
    txn: &'t impl Txn,
    forward: bool,
) -> huon::Result<Record<'t>> {
    let found = if forward { cursor.next(txn)? } else { cursor.prev(txn)? };
    let Some((key, _)) = found else { return Ok(None) };
    let is_within = match (forward, end(&span.from), end(&span.to)) {
        (true, _, Bound::Included(to)) => key <= to,
        (true, _, Bound::Excluded(to)) => key < to,
        (false, Bound::Included(from), _) => key >= from,
        (false, Bound::Excluded(from), _) => key > from,
        _ => true,
    };
    if is_within {
        return Ok(found);
    }
    // Back to where it was.
    if forward {
        cursor.seek(key)?
    } else {
        cursor.seek_after(key)?
    }
    Ok(None)
}

const BOUND: Fault =
    Fault::argument("a cursor of a range goes from its ends: open one without a range to seek");
const ONE_VALUE: Fault = Fault::argument("that is for cursors of multimaps");

fn with_cursor<R>(cursor: *mut huon_cursor, work: impl FnOnce(&mut Cursor) -> Res<R>) -> Res<R> {
    RECENT.with(cursor as usize, |own| work(&mut *own.get()?)).unwrap_or(Err(Fault::HANDLE))
}

/// A cursor at the start of a table, or of a range of it; NULL: all there is. Close it by
/// huon_cursor_close.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_open(
    txn: *mut huon_txn,
    table: huon_table,
    range: Option<&huon_range<'_>>,
    cursor: Option<&mut MaybeUninit<*mut huon_cursor>>,
) -> c_int {
    border("huon_cursor_open", || {
        enter(&CURSORS, cursor, || {
            let table = table.get()?;
            in_view!(txn, txn => Ok(table.len(txn)?))?;
            Cursor::new(Walk::Table(table.cursor()), within(txn, range, table)?)
        })
    })
}

/// A cursor at the start of a multimap, or of a range of its keys. It goes from pair to pair: a key
/// comes once for each of its values, which come in their order.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_cursor_open(
    txn: *mut huon_txn,
    multi: huon_multi,
    range: Option<&huon_range<'_>>,
    cursor: Option<&mut MaybeUninit<*mut huon_cursor>>,
) -> c_int {
    border("huon_multi_cursor_open", || {
        enter(&CURSORS, cursor, || {
            let multi = multi.get()?;
            in_view!(txn, txn => Ok(multi.len(txn)?))?;
            Cursor::new(Walk::Multi(multi.cursor()), within(txn, range, multi)?)
        })
    })
}

/// A cursor of the values of one key of a multimap.
#[unsafe(no_mangle)]
pub extern "C" fn huon_multi_values_open(
    txn: *mut huon_txn,
    multi: huon_multi,
    key: huon_bytes<'_>,
    cursor: Option<&mut MaybeUninit<*mut huon_cursor>>,
) -> c_int {
    border("huon_multi_values_open", || {
        enter(&CURSORS, cursor, || {
            let (multi, key) = (multi.get()?, key.get()?);
            in_view!(txn, txn => Ok(multi.len(txn)?))?;
            Cursor::new(Walk::Multi(multi.cursor()), Span::of_key(key))
        })
    })
}

/// A cursor at the start of a write-optimised table, or of a range of it.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_cursor_open(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    range: Option<&huon_range<'_>>,
    cursor: Option<&mut MaybeUninit<*mut huon_cursor>>,
) -> c_int {
    border("huon_lsm_cursor_open", || {
        enter(&CURSORS, cursor, || {
            let walk = Walk::Lsm(Box::new(lsm_table_of(table)?.cursor()));
            Cursor::new(walk, within(txn, range, InBytes)?)
        })
    })
}

/// Another cursor at the same place.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_copy(
    cursor: *mut huon_cursor,
    copy: Option<&mut MaybeUninit<*mut huon_cursor>>,
) -> c_int {
    border("huon_cursor_copy", || {
        enter(&CURSORS, copy, || with_cursor(cursor, |cursor| Ok(Own::new(cursor.clone()))))
    })
}

/// Closes a cursor; NULL is none, and fine.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_close(cursor: *mut huon_cursor) -> c_int {
    border("huon_cursor_close", || {
        RECENT.forget(cursor as usize);
        if !cursor.is_null() && !object(&CURSORS, cursor)?.is_inherited() {
            // One that another thread uses stays.
            drop(object(&CURSORS, cursor)?.get()?);
        }
        Own::end(close(&CURSORS, cursor)?);
        Ok(())
    })
}

/// Moves before the first record of the range.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_to_start(cursor: *mut huon_cursor) -> c_int {
    border("huon_cursor_to_start", || with_cursor(cursor, |cursor| cursor.turn(true)))
}

/// Moves behind the last record of the range.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_to_end(cursor: *mut huon_cursor) -> c_int {
    border("huon_cursor_to_end", || with_cursor(cursor, |cursor| cursor.turn(false)))
}

/// Moves before a key, whether it is there or not; in a multimap before its first value. Not for a
/// cursor of a range.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_seek(cursor: *mut huon_cursor, key: huon_bytes<'_>) -> c_int {
    border("huon_cursor_seek", || {
        let key = key.get()?;
        with_cursor(cursor, |own| {
            own.check_free()?;
            each!(&mut own.walk, cursor => Ok(cursor.seek(key)?))
        })
    })
}

/// Moves behind a key, whether it is there or not; in a multimap behind its last value. Not for a
/// cursor of a range.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_seek_after(cursor: *mut huon_cursor, key: huon_bytes<'_>) -> c_int {
    border("huon_cursor_seek_after", || {
        let key = key.get()?;
        with_cursor(cursor, |own| {
            own.check_free()?;
            each!(&mut own.walk, cursor => Ok(cursor.seek_after(key)?))
        })
    })
}

/// Moves before a pair of a multimap, whether it is there or not. Not for a cursor of a range.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_seek_pair(
    cursor: *mut huon_cursor,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_cursor_seek_pair", || {
        let (key, value) = (key.get()?, value.get()?);
        with_cursor(cursor, |own| {
            own.check_free()?;
            match &mut own.walk {
                Walk::Multi(cursor) => Ok(cursor.seek_pair(key, value)?),
                _ => Err(ONE_VALUE),
            }
        })
    })
}

/// Passes over the other values of the key that was shown last, the way of huon_cursor_next: the
/// next pair is the first of another key.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_skip_key(cursor: *mut huon_cursor) -> c_int {
    border("huon_cursor_skip_key", || {
        with_cursor(cursor, |own| match &mut own.walk {
            Walk::Multi(cursor) => {
                cursor.skip_key();
                Ok(())
            }
            _ => Err(ONE_VALUE),
        })
    })
}

/// The same the way of huon_cursor_prev.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_skip_key_back(cursor: *mut huon_cursor) -> c_int {
    border("huon_cursor_skip_key_back", || {
        with_cursor(cursor, |own| match &mut own.walk {
            Walk::Multi(cursor) => {
                cursor.skip_key_back();
                Ok(())
            }
            _ => Err(ONE_VALUE),
        })
    })
}

/// One step.
#[inline]
fn step(
    cursor: *mut huon_cursor,
    txn: *mut huon_txn,
    forward: bool,
    pair: Out<'_, huon_pair<'_>>,
) -> Res<()> {
    let pair = wanted(pair)?;
    with_cursor(cursor, |cursor| {
        look(txn, |view| {
            let record = in_txn!(view, txn => cursor.step(txn, forward)?);
            *pair = shown_pair(found(record)?);
            Ok(())
        })
    })
}

/// The next record, behind which the cursor stands then. HUON_NOT_FOUND at the end of the range,
/// where it stays: records that are put there later are still shown. Costs a copy of the key, and
/// after a change a descent; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_next(
    cursor: *mut huon_cursor,
    txn: *mut huon_txn,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_cursor_next", || step(cursor, txn, true, pair))
}

/// The record before, before which the cursor stands then. HUON_NOT_FOUND at the start of the
/// range.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_prev(
    cursor: *mut huon_cursor,
    txn: *mut huon_txn,
    pair: Option<&mut MaybeUninit<huon_pair<'_>>>,
) -> c_int {
    border("huon_cursor_prev", || step(cursor, txn, false, pair))
}

/// Takes `most` steps at most, as long as `take` takes what it is shown.
fn walk(
    cursor: *mut huon_cursor,
    txn: *mut huon_txn,
    forward: bool,
    most: usize,
    take: impl FnMut(&[u8], &[u8]) -> bool,
) -> Res<()> {
    with_cursor(cursor, |cursor| {
        look(txn, |view| in_txn!(view, txn => Ok(cursor.walk(txn, forward, most, take)?)))
    })
}

fn fill(
    cursor: *mut huon_cursor,
    txn: *mut huon_txn,
    forward: bool,
    room: &mut [MaybeUninit<huon_pair<'_>>],
    count: Out<'_, usize>,
) -> Res<()> {
    let count = wanted(count)?;
    count.write(0);
    let (mut filled, all) = (0, room.len());
    let mut free = room.iter_mut();
    walk(cursor, txn, forward, all, |key, value| {
        let Some(place) = free.next() else { return false };
        *place = shown_pair((key, value));
        filled += 1;
        true
    })?;
    count.write(filled);
    if filled > 0 || all == 0 { Ok(()) } else { Err(Fault::NOT_FOUND) }
}

/// The next records, as many as there is room for; `count` tells how many there were.
/// HUON_NOT_FOUND if there are none. The way through many records: one call for them all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_cursor_next_many(
    cursor: *mut huon_cursor,
    txn: *mut huon_txn,
    pairs: *mut huon_pair<'static>,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_cursor_next_many", || {
        // SAFETY: A2.
        fill(cursor, txn, true, unsafe { crate::bytes::room(pairs, capacity) }?, count)
    })
}

/// The same backwards: the first of them is the nearest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_cursor_prev_many(
    cursor: *mut huon_cursor,
    txn: *mut huon_txn,
    pairs: *mut huon_pair<'static>,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_cursor_prev_many", || {
        // SAFETY: A2.
        fill(cursor, txn, false, unsafe { crate::bytes::room(pairs, capacity) }?, count)
    })
}

/// Copies the next records into `room`, as many as fit and at most `records`, each as the lengths
/// of key and value (uint32_t, of the machine's byte order) and their bytes. For bindings that copy
/// anyway. `count` tells how many there are, `used` how many bytes they take. HUON_NOT_FOUND at the
/// end; if the next record alone does not fit, `count` is 0 and `used` what it takes. Backwards if
/// `backwards` is true.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_cursor_next_packed(
    cursor: *mut huon_cursor,
    txn: *mut huon_txn,
    backwards: bool,
    records: usize,
    room: *mut u8,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
    used: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_cursor_next_packed", || {
        let (count, used) = (wanted(count)?, wanted(used)?);
        // SAFETY: A2.
        let mut packer = Packer::new(unsafe { crate::bytes::room(room, capacity) }?);
        let mut missing = 0;
        walk(cursor, txn, !backwards, records, |key, value| {
            let added = packer.add(key, value);
            missing = added.err().unwrap_or(0);
            missing == 0
        })?;
        count.write(packer.count);
        used.write(if packer.count == 0 { missing } else { packer.used });
        let is_over = packer.count == 0 && missing == 0 && records > 0;
        if is_over { Err(Fault::NOT_FOUND) } else { Ok(()) }
    })
}

/// The key that the cursor stands beside: that of the record shown last, or the one sought. It
/// stays until the cursor moves. HUON_NOT_FOUND at the ends of the table.
#[unsafe(no_mangle)]
pub extern "C" fn huon_cursor_position(
    cursor: *mut huon_cursor,
    key: Option<&mut MaybeUninit<huon_bytes<'_>>>,
) -> c_int {
    border("huon_cursor_position", || {
        with_cursor(cursor, |cursor| {
            let found = match &cursor.walk {
                Walk::Table(cursor) => cursor.position(),
                Walk::Multi(cursor) => cursor.position().map(|(key, _)| key),
                Walk::Lsm(cursor) => cursor.position(),
            };
            *wanted(key)? = crate::bytes::shown(crate::border::found(found)?);
            Ok(())
        })
    })
}

//! Transactions and cursors by their handles, for all interfaces in a library.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::cursor::{Bound, Cursor};
use crate::data::Shown;
use crate::dbi;
use crate::env::Env;
use crate::fault::{Fault, Res};
use crate::handles::Handles;
use crate::recent;
use crate::row;
use crate::steps::{Op, Step};
use crate::txn::{Begin, Txn};

static TXNS: Handles<Txn> = Handles::new(2);
static CURSORS: Handles<Cursor> = Handles::new(3);

recent!(static RECENT_TXN: Txn, of TXNS);
recent!(static RECENT_CURSOR: Cursor, of CURSORS);

/// What is wrong with a handle that nothing is found by.
pub fn missing(handle: usize) -> Fault {
    if handle == 0 { Fault::Invalid } else { Fault::Handle }
}

/// The transaction of a handle.
pub fn txn(handle: usize) -> Res<Arc<Txn>> {
    TXNS.get(handle).ok_or_else(|| missing(handle))
}

/// The cursor of a handle.
pub fn cursor(handle: usize) -> Res<Arc<Cursor>> {
    CURSORS.get(handle).ok_or_else(|| missing(handle))
}

/// As [`txn`], for what programs do often.
#[inline]
pub fn with_txn<R>(handle: usize, work: impl FnOnce(&Arc<Txn>) -> Res<R>) -> Res<R> {
    RECENT_TXN.with(handle, work).unwrap_or_else(|| Err(missing(handle)))
}

/// As [`cursor`], for what programs do often.
#[inline]
pub fn with_cursor<R>(handle: usize, work: impl FnOnce(&Arc<Cursor>) -> Res<R>) -> Res<R> {
    RECENT_CURSOR.with(handle, work).unwrap_or_else(|| Err(missing(handle)))
}

/// Shows the record that the operation of a number leads to, or the one that the cursor stands on,
/// if that is in the row that the thread steps along with a cursor. `false`, and nothing has
/// happened: it is more than that. Does not panic.
#[inline(always)]
pub fn step_in_row(handle: usize, op: u32, show: impl FnOnce(Shown, Shown)) -> bool {
    row::show(handle, op, show)
}

/// What a cursor comes to by another step, where the thread has used it last, and it goes on as it
/// came; else `None`, and nothing has moved.
pub fn step(handle: usize, op: Op) -> Option<Res<Step>> {
    if op != Op::GetCurrent {
        op.direction()?;
    }
    row::with(|row| {
        row.step(handle, op).or_else(|| {
            let step = |cursor: &Arc<Cursor>, me| cursor.step(me, op, row);
            RECENT_CURSOR.with_same(handle, step)
        })
    })
}

/// Begins a transaction, in the one of another handle unless that is 0; its handle.
pub fn begin(env: &Arc<Env>, env_handle: usize, parent: usize, how: Begin) -> Res<usize> {
    let parent = match parent {
        0 => None,
        handle => Some((handle, txn(handle)?)),
    };
    let begun = Arc::new(Txn::begin(env, env_handle, parent, how)?);
    let Some(handle) = TXNS.insert(begun.clone()) else {
        begun.end(false);
        return Err(Fault::NoMemory);
    };
    begun.set_handle(handle);
    if let Err(fault) = dbi::main_is_open(&begun) {
        end(handle, false)?;
        return Err(fault);
    }
    Ok(handle)
}

/// Ends a transaction. Its handle is none any more, whatever comes of it, but for
/// [`Fault::WrongThread`].
pub fn end(handle: usize, commit: bool) -> Res<()> {
    txn(handle)?.check_thread()?;
    let ending = TXNS.remove(handle).ok_or_else(|| missing(handle))?;
    let ended = ending.end(commit);
    if ending.is_dead() {
        // Threads of the parent may have been in the middle of changing it.
        std::mem::forget(ending);
        return ended.result;
    }
    ended.txns.into_iter().for_each(|txn| drop(TXNS.remove(txn)));
    if !ending.env.keeps_cursors() {
        ended.cursors.into_iter().for_each(|cursor| drop(remove_cursor(cursor)));
    }
    ended.result
}

/// Makes transactions that no thread will end any more release what they hold.
pub(crate) fn let_go(is_left: impl Fn(&Txn) -> bool) {
    TXNS.all(is_left).iter().for_each(|txn| txn.let_go());
}

/// Opens a cursor of a table that the transaction may use, nowhere yet; its handle.
pub fn open_cursor(txn: &Arc<Txn>, dbi: u32) -> Res<usize> {
    add_cursor(Some(Bound::new(txn, dbi)?))
}

/// Makes a cursor of no table, with a pointer of the program's; its handle.
pub fn create_cursor(context: usize) -> Res<usize> {
    let handle = add_cursor(None)?;
    cursor(handle)?.context.store(context, Ordering::Release);
    Ok(handle)
}

fn add_cursor(bound: Option<Bound>) -> Res<usize> {
    // A writer is to know its cursors before they have handles.
    let is_told = bound.as_ref().is_some_and(|own| own.txn.is_write());
    let mut fresh = Some(bound);
    let renew = |spare: &Arc<Cursor>, handle| spare.becomes(&mut fresh, handle);
    if !is_told && let Some(handle) = RECENT_CURSOR.open(renew) {
        return Ok(handle);
    }
    let cursor = Arc::new(Cursor::with(fresh.ok_or(Fault::Invalid)?));
    Cursor::enlist(&cursor)?;
    let told = |handle, words| {
        cursor.set_handle(handle);
        cursor.set_words(words);
        cursor
    };
    CURSORS.insert_with(told).ok_or(Fault::NoMemory)
}

/// Takes all cursors of a transaction out of it, or closes them; how many there were.
pub fn release_cursors(txn: &Txn, unbind: bool) -> Res<usize> {
    txn.check_thread()?;
    let cursors = CURSORS.all(|cursor| cursor.belongs_to(txn));
    for cursor in &cursors {
        if unbind { Cursor::unbind(cursor)? } else { close_cursor(cursor.handle())? }
    }
    Ok(cursors.len())
}

/// Closes a cursor.
pub fn close_cursor(handle: usize) -> Res<()> {
    if RECENT_CURSOR.keep(handle, Cursor::rest) {
        return Ok(());
    }
    let cursor = remove_cursor(handle).ok_or_else(|| missing(handle))?;
    if cursor.is_inherited() {
        std::mem::forget(cursor);
    }
    Ok(())
}

/// Takes a cursor's handle away.
fn remove_cursor(handle: usize) -> Option<Arc<Cursor>> {
    let cursor = CURSORS.remove(handle)?;
    cursor.lose_handle();
    Some(cursor)
}

//! Transactions.
//!
//! X1. A transaction is used by one call at a time, of any thread. A call that reads in a read
//!     transaction waits for another one's end; all others are refused meanwhile.
//! X2. A handle is gone once its transaction was told to end, whatever came of that; what it held
//!     is released at once, though a thread may keep the husk that it used last.
//! X3. A change has keys and values of its own: those that the caller gives may lie on pages that
//!     the change moves. A call of many changes has all of them before the first.
//! X4. What takes long, as a copy of what a read transaction sees, shares the engine's transaction,
//!     and leaves the handle to others. The snapshot stays until both have let go of it.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::Arc;

use huon::{Bytes, Error, Owned, Parked, ReadTxn, Resting, Ticket, WriteTxn};
use huon_c::{Handles, View};

use super::codes::{HUON_BAD_TXN, HUON_TIMED_OUT};
use super::env::{answer, duration, env_of, huon_env};
use super::options;
use crate::border::{Fault, Own, Res, border, close, done, enter, fill, give, insert, object};
use crate::bytes::{huon_bytes, huon_pair, shown, shown_pair};

/// A transaction: one that reads, or one that writes. Any thread may use it, one call at a time.
/// A forked child cannot use those of its parent (HUON_FORKED), and may end them.
pub struct huon_txn(());

/// A commit whose durability can be waited for, in any thread.
pub struct huon_ticket(());

/// A transaction that reads.
pub const HUON_TXN_READS: c_int = 0;
/// A transaction that writes.
pub const HUON_TXN_WRITES: c_int = 1;
/// A read transaction that was reset.
pub const HUON_TXN_RESET: c_int = 2;
/// A read transaction that is parked.
pub const HUON_TXN_PARKED: c_int = 3;

static TXNS: Handles<Own<Inside>> = Handles::new(3);
static TICKETS: Handles<Ticket> = Handles::new(4);

huon_c::recent!(static RECENT: Own<Inside>, of TXNS);

/// A transaction as C holds it: what a call works with.
pub(super) struct Inside {
    pub(super) stage: Stage,
    /// What was shown last that lies in no page.
    kept: Vec<u8>,
    /// The same of several values of a key.
    kept_values: Vec<Owned<Bytes>>,
    names: Vec<Vec<u8>>,
    /// For what is copied before it is stored.
    room: Vec<u8>,
}

pub(super) enum Stage {
    Reads(Box<ReadTxn>),
    /// The same, while something that takes long may use it, too (X4).
    Shared(Arc<ReadTxn>),
    Rests(Resting),
    Parked(Box<Parked>),
    Writes(Box<WriteTxn>),
    Ended,
}

/// More bytes than this are copied only if they have to be: to find that out takes a look at each
/// page that the transaction has written.
pub(super) const COPIED_BYTES_MAX: usize = 64 << 10;

const READS_ONLY: Fault =
    Fault::Misuse(HUON_BAD_TXN, "the transaction only reads: begin one with huon_begin_write");
const NOT_A_READER: Fault =
    Fault::Misuse(HUON_BAD_TXN, "the transaction writes, and that is for those that read");
const NOT_THERE: Fault = Fault::Misuse(
    HUON_BAD_TXN,
    "the transaction was reset or parked: renew or unpark it before it is used",
);

impl Inside {
    fn new(stage: Stage) -> Inside {
        Inside {
            stage,
            kept: Vec::new(),
            kept_values: Vec::new(),
            names: Vec::new(),
            room: Vec::new(),
        }
    }

    /// The engine's transaction.
    #[inline]
    pub(super) fn view(&self) -> Res<View<'_>> {
        match &self.stage {
            Stage::Reads(txn) => Ok(View::Read(txn)),
            Stage::Shared(txn) => Ok(View::Read(txn)),
            Stage::Writes(txn) => Ok(View::Write(txn)),
            Stage::Rests(_) | Stage::Parked(_) | Stage::Ended => Err(NOT_THERE),
        }
    }

    pub(super) fn writer(&mut self) -> Res<&mut WriteTxn> {
        match &mut self.stage {
            Stage::Writes(txn) => Ok(txn),
            _ => Err(READS_ONLY),
        }
    }

    /// Keeps bytes until something is kept again, and shows them.
    pub(super) fn keep(&mut self, bytes: Vec<u8>) -> MaybeUninit<huon_bytes<'static>> {
        self.kept = bytes;
        shown(&self.kept)
    }

    /// The same for a key and a value.
    pub(super) fn keep_pair(
        &mut self,
        key: &[u8],
        value: &[u8],
    ) -> MaybeUninit<huon_pair<'static>> {
        self.kept = [key, value].concat();
        shown_pair(self.kept.split_at(key.len()))
    }

    /// The same for values, of which as many are shown as there is room for; how many they are.
    pub(super) fn keep_all(
        &mut self,
        values: Vec<Owned<Bytes>>,
        room: &mut [MaybeUninit<huon_bytes<'static>>],
    ) -> usize {
        self.kept_values = values;
        room.iter_mut().zip(&self.kept_values).for_each(|(to, value)| *to = shown(value.bytes()));
        self.kept_values.len()
    }

    /// A change with a key and a value of its own (X3).
    pub(super) fn change<R>(
        &mut self,
        (key, value): (&[u8], &[u8]),
        work: impl FnOnce(&mut WriteTxn, &[u8], &[u8]) -> huon::Result<R>,
    ) -> Res<R> {
        let mut room = std::mem::take(&mut self.room);
        let txn = self.writer()?;
        room.clear();
        room.extend_from_slice(key);
        let is_copied = value.len() <= COPIED_BYTES_MAX || txn.is_dirty(value);
        if is_copied {
            room.extend_from_slice(value);
        }
        let (key, own) = room.split_at(key.len());
        let changed = work(txn, key, if is_copied { own } else { value });
        if room.capacity() <= 2 * COPIED_BYTES_MAX {
            self.room = room;
        }
        Ok(changed?)
    }
}

/// Does something in the transaction of a handle (X1).
#[inline]
pub(super) fn inside<R>(txn: *mut huon_txn, work: impl FnOnce(&mut Inside) -> Res<R>) -> Res<R> {
    RECENT.with(txn as usize, |own| work(&mut *own.get()?)).unwrap_or(Err(Fault::HANDLE))
}

/// Looks at something by the transaction of a handle.
#[inline]
pub(super) fn look<R>(txn: *mut huon_txn, work: impl FnOnce(View<'_>) -> Res<R>) -> Res<R> {
    inside(txn, |inside| work(inside.view()?))
}

/// Changes something in the transaction of a handle.
pub(super) fn write<R>(txn: *mut huon_txn, work: impl FnOnce(&mut WriteTxn) -> Res<R>) -> Res<R> {
    inside(txn, |inside| work(inside.writer()?))
}

/// Does something with the engine's transaction of a handle, whichever kind it is.
macro_rules! in_view {
    ($handle:expr, $txn:ident => $work:expr) => {
        $crate::abi::txn::look($handle, |view| huon_c::in_txn!(view, $txn => $work))
    };
}
pub(super) use in_view;

/// Takes the transaction of a handle that is to end (X2). `None`: it is the parent's, and left
/// alone.
fn ending(txn: *mut huon_txn) -> Res<Option<Stage>> {
    if let Some(stage) = spared(txn) {
        return Ok(Some(stage));
    }
    let found = object(&TXNS, txn)?;
    if found.is_inherited() {
        // Threads of the parent may have been in the middle of changing it.
        std::mem::forget(close(&TXNS, txn)?);
        return Ok(None);
    }
    let mut inside = found.get()?;
    close(&TXNS, txn)?;
    Ok(Some(std::mem::replace(&mut inside.stage, Stage::Ended)))
}

/// The same for one that reads and no other call uses: the object serves the next one.
fn spared(txn: *mut huon_txn) -> Option<Stage> {
    let mut taken = None;
    let rest = |own: &Own<Inside>| match own.get() {
        Ok(mut inside) if own.waits() => {
            taken = Some(std::mem::replace(&mut inside.stage, Stage::Ended));
            true
        }
        _ => false,
    };
    if RECENT.keep(txn as usize, rest) { taken } else { None }
}

/// Ends a transaction whose commit was asked for wrongly: the caller forgets the handle (X2).
fn refused<R>(txn: *mut huon_txn, fault: Fault) -> Res<R> {
    drop(ending(txn)?);
    Err(fault)
}

/// Ends a transaction; what its commit came to, if it writes.
fn committed<R>(
    txn: *mut huon_txn,
    commit: impl FnOnce(WriteTxn) -> huon::Result<R>,
) -> Res<Option<R>> {
    match ending(txn)? {
        Some(Stage::Writes(txn)) => Ok(Some(commit(*txn)?)),
        Some(_) => Ok(None),
        None => Err(Fault::Engine(Error::Forked)),
    }
}

/// Begins a transaction that reads the newest commit. It never waits, and costs some hundred
/// nanoseconds; huon_reset and huon_renew cost less. End it by huon_abort or huon_commit: as long
/// as it lives, the file keeps what it sees.
#[unsafe(no_mangle)]
pub extern "C" fn huon_begin_read(
    env: *mut huon_env,
    txn: Option<&mut MaybeUninit<*mut huon_txn>>,
) -> c_int {
    border("huon_begin_read", || fill(txn, std::ptr::null_mut(), || begun(env_of(env)?.read()?)))
}

/// A handle of a read transaction: that which this thread used last, if it is free.
pub(super) fn begun(txn: ReadTxn) -> Res<*mut huon_txn> {
    let mut begun = Some(Stage::Reads(Box::new(txn)));
    let renew = |own: &Arc<Own<Inside>>, _| match own.get() {
        Ok(mut inside) => {
            inside.stage = begun.take().unwrap_or(Stage::Ended);
            true
        }
        Err(_) => false,
    };
    if let Some(handle) = RECENT.open(renew) {
        return Ok(handle as *mut huon_txn);
    }
    let begun = begun.unwrap_or(Stage::Ended);
    Ok(insert(&TXNS, Own::waiting(Inside::new(begun)))? as *mut huon_txn)
}

/// Begins the one transaction that writes. Waits for another one's end, of any thread or process,
/// for so many milliseconds; below 0: as HUON_LOCK_TIMEOUT_MS says. HUON_BUSY after that, with a
/// message that names the holder; HUON_THREAD_WRITES if this thread would wait for itself. End it
/// by huon_commit or huon_abort, in any thread.
#[unsafe(no_mangle)]
pub extern "C" fn huon_begin_write(
    env: *mut huon_env,
    wait_ms: i64,
    txn: Option<&mut MaybeUninit<*mut huon_txn>>,
) -> c_int {
    border("huon_begin_write", || {
        enter(&TXNS, txn, || {
            let env = env_of(env)?;
            let txn = if wait_ms < 0 { env.write() } else { env.write_within(duration(wait_ms)) }?;
            Ok(Own::new(Inside::new(Stage::Writes(Box::new(txn)))))
        })
    })
}

/// Ends a transaction: commits what it has changed, and waits as the environment's HUON_DURABILITY
/// says. The handle is none any more, whatever the answer, but for HUON_IN_USE. An error means that
/// nothing was committed; HUON_POISONED, that it is not known whether a power loss takes it away.
#[unsafe(no_mangle)]
pub extern "C" fn huon_commit(txn: *mut huon_txn) -> c_int {
    border("huon_commit", || committed(txn, WriteTxn::commit).map(drop))
}

/// The same with a durability of its own, HUON_DURABLE to HUON_UNSYNCED. `id` tells the id of the
/// snapshot that it made, or began with if it changed nothing; 0 for a transaction that only reads.
#[unsafe(no_mangle)]
pub extern "C" fn huon_commit_with(
    txn: *mut huon_txn,
    durability: c_int,
    id: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_commit_with", || {
        match options::durability(u64::try_from(durability).unwrap_or(u64::MAX)) {
            Ok(how) => give(id, committed(txn, |txn| txn.commit_with(how))?.unwrap_or(0)),
            Err(fault) => return refused(txn, fault),
        }
        Ok(())
    })
}

/// Commits at once, and gives a ticket that the commit's durability can be waited for with:
/// huon_ticket_wait. Give it back by huon_ticket_free. A transaction that only reads is ended, and
/// gives none: HUON_BAD_TXN.
#[unsafe(no_mangle)]
pub extern "C" fn huon_commit_ticket(
    txn: *mut huon_txn,
    ticket: Option<&mut MaybeUninit<*mut huon_ticket>>,
) -> c_int {
    border("huon_commit_ticket", || {
        if ticket.is_none() {
            return refused(txn, Fault::NULL);
        }
        enter(&TICKETS, ticket, || committed(txn, WriteTxn::commit_ticket)?.ok_or(READS_ONLY))
    })
}

/// Ends a transaction, and undoes what it has changed; NULL is none, and fine.
#[unsafe(no_mangle)]
pub extern "C" fn huon_abort(txn: *mut huon_txn) -> c_int {
    border("huon_abort", || {
        if !txn.is_null() {
            drop(ending(txn)?);
        }
        Ok(())
    })
}

/// Waits until the commit is durable, for so many milliseconds while others flush; below 0: without
/// end. HUON_TIMED_OUT if it took longer; 0 only asks.
#[unsafe(no_mangle)]
pub extern "C" fn huon_ticket_wait(ticket: *mut huon_ticket, timeout_ms: i64) -> c_int {
    border("huon_ticket_wait", || {
        let ticket = object(&TICKETS, ticket)?;
        let is_durable = match timeout_ms {
            0 => ticket.is_durable(),
            ..0 => ticket.wait().map(|()| true)?,
            _ => ticket.wait_within(duration(timeout_ms))?,
        };
        done(is_durable, Fault::Answer(HUON_TIMED_OUT))
    })
}

/// The id of the snapshot that the commit made.
#[unsafe(no_mangle)]
pub extern "C" fn huon_ticket_id(
    ticket: *mut huon_ticket,
    id: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_ticket_id", || answer(id, object(&TICKETS, ticket)?.id()))
}

/// Gives a ticket back; NULL is none, and fine. The commit stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn huon_ticket_free(ticket: *mut huon_ticket) -> c_int {
    border("huon_ticket_free", || close(&TICKETS, ticket).map(drop))
}

/// The id of the snapshot that a transaction reads, or of that which its commit would make at this
/// moment. Ids rise from commit to commit.
#[unsafe(no_mangle)]
pub extern "C" fn huon_txn_id(txn: *mut huon_txn, id: Option<&mut MaybeUninit<u64>>) -> c_int {
    border("huon_txn_id", || answer(id, in_view!(txn, txn => Ok(txn.id()))?))
}

/// What a transaction is: one of HUON_TXN_*.
#[unsafe(no_mangle)]
pub extern "C" fn huon_txn_state(
    txn: *mut huon_txn,
    state: Option<&mut MaybeUninit<c_int>>,
) -> c_int {
    border("huon_txn_state", || {
        answer(
            state,
            inside(txn, |inside| match inside.stage {
                Stage::Reads(_) | Stage::Shared(_) => Ok(HUON_TXN_READS),
                Stage::Writes(_) => Ok(HUON_TXN_WRITES),
                Stage::Rests(_) => Ok(HUON_TXN_RESET),
                Stage::Parked(_) => Ok(HUON_TXN_PARKED),
                Stage::Ended => Err(Fault::HANDLE),
            })?,
        )
    })
}

/// Moves a read transaction to another stage; one that fails has ended.
fn turn(txn: *mut huon_txn, next: impl FnOnce(Stage) -> Res<Stage>) -> Res<()> {
    inside(txn, |inside| {
        match inside.stage {
            Stage::Writes(_) => return Err(NOT_A_READER),
            Stage::Ended => return Err(Fault::HANDLE),
            Stage::Reads(_) | Stage::Shared(_) | Stage::Rests(_) | Stage::Parked(_) => {}
        }
        let stage = match std::mem::replace(&mut inside.stage, Stage::Ended) {
            Stage::Shared(shared) => match Arc::try_unwrap(shared) {
                Ok(own) => Stage::Reads(Box::new(own)),
                Err(shared) => {
                    inside.stage = Stage::Shared(shared);
                    return Err(Fault::IN_USE);
                }
            },
            other => other,
        };
        inside.stage = next(stage)?;
        Ok(())
    })
}

/// Has a read transaction let go of its snapshot, and keep what it takes to begin again. What it
/// has shown is not to be read any more.
#[unsafe(no_mangle)]
pub extern "C" fn huon_reset(txn: *mut huon_txn) -> c_int {
    border("huon_reset", || {
        turn(txn, |stage| match stage {
            Stage::Reads(txn) => Ok(Stage::Rests(txn.rest())),
            Stage::Parked(txn) => Ok(Stage::Rests(Box::new(txn.unpark()?).rest())),
            other => Ok(other),
        })
    })
}

/// Has a read transaction read the newest commit, whether it was reset before or not. Costs some
/// nanoseconds if that is the one that it has. What it has shown is not to be read any more.
#[unsafe(no_mangle)]
pub extern "C" fn huon_renew(txn: *mut huon_txn) -> c_int {
    border("huon_renew", || {
        turn(txn, |stage| match stage {
            Stage::Rests(txn) => Ok(Stage::Reads(txn.wake()?)),
            Stage::Reads(mut txn) => {
                txn.renew()?;
                Ok(Stage::Reads(txn))
            }
            Stage::Parked(txn) => Ok(Stage::Reads(Box::new(txn.unpark()?).rest().wake()?)),
            other => Ok(other),
        })
    })
}

/// Puts a read transaction aside. It keeps its snapshot until a writer, in any process, would
/// otherwise fail for want of room. What it has shown is not to be read any more.
#[unsafe(no_mangle)]
pub extern "C" fn huon_park(txn: *mut huon_txn) -> c_int {
    border("huon_park", || {
        turn(txn, |stage| match stage {
            Stage::Reads(txn) => Ok(Stage::Parked(Box::new(txn.park()?))),
            other => Ok(other),
        })
    })
}

/// Goes on with a parked transaction, at the same snapshot. HUON_EVICTED if a writer needed its
/// pages: it can only be ended then.
#[unsafe(no_mangle)]
pub extern "C" fn huon_unpark(txn: *mut huon_txn) -> c_int {
    border("huon_unpark", || {
        turn(txn, |stage| match stage {
            Stage::Parked(txn) => Ok(Stage::Reads(Box::new(txn.unpark()?))),
            other => Ok(other),
        })
    })
}

/// Sets a savepoint of that name in a write transaction; they nest, also several of one name.
#[unsafe(no_mangle)]
pub extern "C" fn huon_savepoint(txn: *mut huon_txn, name: huon_bytes<'_>) -> c_int {
    border("huon_savepoint", || write(txn, |txn| Ok(txn.savepoint(name.get()?)?)))
}

/// Undoes all changes since the newest savepoint of that name, which stays.
#[unsafe(no_mangle)]
pub extern "C" fn huon_roll_back_to(txn: *mut huon_txn, name: huon_bytes<'_>) -> c_int {
    border("huon_roll_back_to", || write(txn, |txn| Ok(txn.roll_back_to(name.get()?)?)))
}

/// Keeps all changes since the newest savepoint of that name, and forgets it and those after it.
#[unsafe(no_mangle)]
pub extern "C" fn huon_release(txn: *mut huon_txn, name: huon_bytes<'_>) -> c_int {
    border("huon_release", || write(txn, |txn| Ok(txn.release(name.get()?)?)))
}

/// The three numbers that a program may keep with its snapshots; 0 in a new environment. `values`
/// has room for three.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_markers(txn: *mut huon_txn, values: *mut u64) -> c_int {
    border("huon_markers", || {
        // SAFETY: A2.
        let room = unsafe { crate::bytes::room(values, 3) }?;
        let markers = in_view!(txn, txn => Ok(txn.markers()))?;
        room.iter_mut().zip(markers.values).for_each(|(to, value)| {
            to.write(value);
        });
        Ok(())
    })
}

/// Sets the three numbers, which are committed with the transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_set_markers(txn: *mut huon_txn, values: *const u64) -> c_int {
    border("huon_set_markers", || {
        // SAFETY: A2.
        let values = unsafe { crate::bytes::items(values, 3) }?;
        write(txn, |txn| Ok(txn.set_markers([values[0], values[1], values[2]])?))
    })
}

/// The names of all named tables, in order: as many as there is room for; `count` tells how many
/// there are. They stay until the next call of this function, or the end of the transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_table_names(
    txn: *mut huon_txn,
    names: *mut huon_bytes<'static>,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_table_names", || {
        // SAFETY: A2.
        let room = unsafe { crate::bytes::room(names, capacity) }?;
        let found = inside(txn, |inside| {
            inside.names = huon_c::in_txn!(inside.view()?, txn => txn.table_names()?);
            room.iter_mut().zip(&inside.names).for_each(|(to, name)| *to = shown(name));
            Ok(inside.names.len())
        })?;
        answer(count, found)
    })
}

/// The engine's transaction of one that reads, for what takes long (X4).
pub(super) fn shared_reader(txn: *mut huon_txn) -> Res<Arc<ReadTxn>> {
    inside(txn, |inside| {
        let shared = match std::mem::replace(&mut inside.stage, Stage::Ended) {
            Stage::Reads(txn) => Arc::new(*txn),
            Stage::Shared(txn) => txn,
            other => {
                inside.stage = other;
                return Err(inside.view().map_or_else(|fault| fault, |_| NOT_A_READER));
            }
        };
        inside.stage = Stage::Shared(shared.clone());
        Ok(shared)
    })
}

//! Functions that a program calls now and then.

use std::sync::Arc;

use huon::{Env, WriteTxn};
use napi_derive::napi;
use serde_json::to_string;

use crate::failure::{Failure, Result as Res};
use crate::jobs::{self, Answer, Stop, Watch};
use crate::lsm::{LsmTables, Merging};
use crate::options::{LsmOptionsGiven, OpenOptions, durability, millis};
use crate::state::{
    self, Handle, Held, Kind, Named, Open, Seat, Slot, Source, State, Writing, in_txn,
};

/// What is thrown where it fails. The macro knows it by its name.
pub(crate) type Result<T> = std::result::Result<T, napi::Error<String>>;

/// Does something with this thread's state; a failure is thrown.
pub(crate) fn with<R>(work: impl FnOnce(&mut State) -> Res<R>) -> Result<R> {
    Ok(state::with(work)?)
}

/// What the last bare function failed for: a code and a sentence.
#[napi(catch_unwind)]
pub fn failure() -> Vec<String> {
    let failure = state::with(|state| state.failure.take());
    let failure = failure.unwrap_or_else(|| Failure::misuse("nothing has failed"));
    vec![failure.code.to_owned(), failure.text]
}

/// Opens the environment at a path; in memory if there is none.
#[napi(catch_unwind)]
pub fn open(path: Option<String>, options: OpenOptions) -> Result<f64> {
    with(|state| {
        let lsm_options = options.lsm.as_ref().map(LsmOptionsGiven::options).transpose()?;
        let options = options.options()?;
        let env = match path {
            Some(path) => options.open(path)?,
            None => options.open_in_memory()?,
        };
        let lsm = LsmTables::new(&env, lsm_options.unwrap_or_default())?;
        state.envs.add(Open {
            env,
            tables: Vec::new(),
            lsm,
            worker: jobs::Worker::default(),
            committer: jobs::Worker::default(),
            closing: Stop::default(),
        })
    })
}

/// Ends all that is open in an environment, and closes it: the job answers when it is flushed.
#[napi(catch_unwind)]
pub fn close(env: f64, job: f64) -> Result<()> {
    with(|state| {
        let mailbox = state.mailbox()?;
        let Open { env: closed, mut worker, .. } = state.envs.take(env)?;
        drop(state.seats.sweep(|seat| seat.env == env));
        state.running.end_streams(env);
        let compactors = state.compactors.sweep(|merging| merging.env == env);
        worker.run(&mailbox, job, move || {
            // What went wrong in them is for those that stop them.
            compactors.into_iter().map(Merging::threads).for_each(drop);
            closed.close()?;
            Ok(Answer::Nothing)
        })
    })
}

/// Deletes the files of an environment.
#[napi(catch_unwind)]
pub fn delete_files(path: String) -> Result<bool> {
    with(|_| Ok(Env::delete(path)?))
}

/// The number of a table, which is looked for when it is used.
#[napi(catch_unwind)]
pub fn table(env: f64, name: String, kind: u32, order: u32) -> Result<u32> {
    with(|state| {
        let named = Named { name, kind: Kind::of(kind)?, order, is_made: true };
        let open = state.env(env)?;
        let handle = named.handle(&open.lsm, Source::Env(&open.env))?.ok_or_else(missing)?;
        open.number(named, handle)
    })
}

/// The number of a table that is there, or -1.
#[napi(catch_unwind)]
pub fn open_table(seat: f64, name: String, kind: u32, order: u32) -> Result<i64> {
    with(|state| {
        let State { envs, seats, .. } = state;
        let seat = seats.get(seat)?;
        let open = envs.get(seat.env)?;
        let named = Named { name, kind: Kind::of(kind)?, order, is_made: false };
        seat.wake(&open.env)?;
        let handle = match &seat.held {
            Held::Write(writing) => named.handle(&open.lsm, Source::Write(&writing.txn)),
            Held::Read(txn) => named.handle(&open.lsm, Source::Read(txn)),
            held => Err(state::no_view(held)),
        };
        seat.rest();
        match handle? {
            Some(handle) => open.number(named, handle).map(i64::from),
            None => Ok(-1),
        }
    })
}

fn missing() -> Failure {
    Failure::from(huon::Error::TableNotFound)
}

impl Open {
    /// The number of a table: the one that it has already, if it was named so before.
    fn number(&mut self, named: Named, handle: Handle) -> Res<u32> {
        let is_same = |slot: &Arc<Slot>| slot.named == named && slot.handle.is(&handle);
        let at = self.tables.iter().position(is_same).unwrap_or(self.tables.len());
        if at == self.tables.len() {
            self.tables.push(Arc::new(Slot { named, handle }));
        }
        u32::try_from(at).map_err(|_| Failure::misuse("too many tables"))
    }
}

impl Handle {
    fn is(&self, other: &Handle) -> bool {
        match (self, other) {
            (Handle::Table(one), Handle::Table(two)) => one.words() == two.words(),
            (Handle::Multi(one), Handle::Multi(two)) => one.words() == two.words(),
            // Handles of one name are of one table.
            (Handle::Lsm(_), Handle::Lsm(_)) => true,
            _ => false,
        }
    }
}

/// Names of the tables in a snapshot.
#[napi(catch_unwind)]
pub fn tables(seat: f64) -> Result<Vec<String>> {
    with(|state| {
        let State { envs, seats, .. } = state;
        let seat = seats.get(seat)?;
        seat.wake(&envs.get(seat.env)?.env)?;
        let names = in_txn!(&seat.held, txn => Ok(txn.table_names()?));
        seat.rest();
        Ok(names?.into_iter().map(|name| String::from_utf8_lossy(&name).into_owned()).collect())
    })
}

/// The sequence of a table.
#[napi(catch_unwind)]
pub fn sequence(seat: f64, table: f64) -> Result<f64> {
    with(|state| {
        let State { envs, seats, .. } = state;
        let seat = seats.get(seat)?;
        let open = envs.get(seat.env)?;
        let handle = &open.slot(table)?.handle;
        seat.wake(&open.env)?;
        let sequence = in_txn!(&seat.held, txn => match handle {
            Handle::Table(table) => Ok(table.sequence(txn)?),
            Handle::Multi(multi) => Ok(multi.sequence(txn)?),
            Handle::Lsm(_) => Err(Failure::from(huon::Error::TableKind)),
        });
        seat.rest();
        Ok(sequence? as f64)
    })
}

/// The seat from which the newest snapshot is read.
#[napi(catch_unwind)]
pub fn newest(env: f64) -> Result<f64> {
    with(|state| {
        state.env(env)?;
        state.seats.add(Seat { env, is_newest: true, held: Held::Resting(None) })
    })
}

/// Begins a read transaction.
#[napi(catch_unwind)]
pub fn begin_read(env: f64) -> Result<f64> {
    with(|state| {
        let held = Held::Read(Box::new(state.env(env)?.env.read()?));
        state.seats.add(Seat { env, is_newest: false, held })
    })
}

/// Begins the write transaction, and waits for it so long.
#[napi(catch_unwind)]
pub fn begin_write(env: f64, timeout: f64) -> Result<f64> {
    with(|state| {
        let txn = Box::new(state.env(env)?.env.write_within(millis(timeout)?)?);
        state.seats.add(Seat { env, is_newest: false, held: Held::Write(Writing::new(txn)) })
    })
}

/// Has the writer thread begin it; the job answers its seat.
#[napi(catch_unwind)]
pub fn begin_write_later(env: f64, job: f64, can_stop: bool) -> Result<()> {
    write_later(env, job, can_stop, move |_, txn, watch| {
        Ok(Answer::Seat(env, Held::Write(Writing::new(Box::new(txn))), Some(watch)))
    })
}

/// Has the writer thread begin it, and do `work` with it. A wait for other writers that can be
/// stopped looks now and then whether it was.
pub(crate) fn write_later(
    env: f64,
    job: f64,
    can_stop: bool,
    work: impl FnOnce(&Env, WriteTxn, Watch) -> Res<Answer> + Send + 'static,
) -> Result<()> {
    with(|state| {
        let mailbox = state.mailbox()?;
        let begun = state.env(env)?.env.clone();
        let watch = state.running.begin(job, env, None);
        state.env(env)?.worker.run(&mailbox, job, move || {
            let txn = if can_stop { write_unless(&begun, &watch)? } else { begun.write()? };
            work(&begun, txn, watch)
        })
    })
}

/// Waits for the writer lock in slices, unless it is told to stop.
fn write_unless(env: &Env, watch: &Watch) -> Res<WriteTxn> {
    let mut last = None;
    let begun = watch.wait(env.settings().lock_timeout, |slice| match env.write_within(slice) {
        Err(error @ huon::Error::Busy(_)) => {
            last = Some(error);
            Ok(None)
        }
        begun => Ok(Some(begun?)),
    })?;
    // What was given up before the lock was free is not begun with it.
    if begun.is_some() && watch.is_stopped() {
        return Err(Failure::stopped());
    }
    begun.ok_or_else(|| last.map_or_else(Failure::stopped, Failure::from))
}

/// Takes a write transaction out of its seat; with the number of its environment.
fn take_writer(state: &mut State, seat: f64) -> Res<(f64, Box<WriteTxn>)> {
    state.seats.get(seat)?.writing()?;
    match state.seats.take(seat)? {
        Seat { env, held: Held::Write(writing), .. } => Ok((env, writing.txn)),
        _ => Err(huon::Error::ReadOnly.into()),
    }
}

fn commit_now(txn: WriteTxn, how: Option<String>) -> Res<u64> {
    Ok(match how {
        Some(how) => txn.commit_with(durability(&how)?)?,
        None => txn.commit()?,
    })
}

/// Commits in another thread than that of changes, which may wait for what is committed here. The
/// job answers the id of the snapshot.
#[napi(catch_unwind)]
pub fn commit(seat: f64, job: f64, durability: Option<String>) -> Result<()> {
    with(|state| {
        let mailbox = state.mailbox()?;
        let (env, txn) = take_writer(state, seat)?;
        let work = move || Ok(Answer::Number(commit_now(*txn, durability)? as f64));
        state.env(env)?.committer.run(&mailbox, job, work)
    })
}

/// Commits at once.
#[napi(catch_unwind)]
pub fn commit_sync(seat: f64, durability: Option<String>) -> Result<f64> {
    with(|state| Ok(commit_now(*take_writer(state, seat)?.1, durability)? as f64))
}

/// Commits without waiting until that is durable, as [`commit`] does. The job answers a seat with
/// the ticket.
#[napi(catch_unwind)]
pub fn commit_ticket(seat: f64, job: f64) -> Result<()> {
    with(|state| {
        let mailbox = state.mailbox()?;
        let (env, txn) = take_writer(state, seat)?;
        let work = move || Ok(Answer::Seat(env, Held::Ticket(txn.commit_ticket()?), None));
        state.env(env)?.committer.run(&mailbox, job, work)
    })
}

/// The same at once: the seat with the ticket.
#[napi(catch_unwind)]
pub fn commit_ticket_sync(seat: f64) -> Result<f64> {
    with(|state| {
        let (env, txn) = take_writer(state, seat)?;
        let held = Held::Ticket(txn.commit_ticket()?);
        state.seats.add(Seat { env, is_newest: false, held })
    })
}

/// Ends a transaction: one that writes is undone.
#[napi(catch_unwind)]
pub fn end(seat: f64) -> Result<()> {
    with(|state| state.seats.take(seat).map(drop))
}

/// The id of what a seat shows.
#[napi(catch_unwind)]
pub fn id(seat: f64) -> Result<f64> {
    with(|state| {
        let State { envs, seats, .. } = state;
        let seat = seats.get(seat)?;
        seat.wake(&envs.get(seat.env)?.env)?;
        let id = match &seat.held {
            Held::Parked(parked) => parked.id(),
            Held::Ticket(ticket) => ticket.id(),
            held => in_txn!(held, txn => Ok(txn.id()))?,
        };
        seat.rest();
        Ok(id as f64)
    })
}

/// Moves a read transaction on to the newest snapshot: whether there was a newer one.
#[napi(catch_unwind)]
pub fn renew(seat: f64) -> Result<bool> {
    with(|state| match &mut state.seats.get(seat)?.held {
        Held::Read(txn) => Ok(txn.renew()?),
        _ => Err(Failure::misuse("only a read transaction can be renewed")),
    })
}

/// Parks a read transaction. If that fails, its snapshot is lost.
#[napi(catch_unwind)]
pub fn park(seat: f64) -> Result<()> {
    with(|state| {
        let seat = state.seats.get(seat)?;
        if !matches!(seat.held, Held::Read(_)) {
            return Err(Failure::misuse("only a read transaction that reads can be parked"));
        }
        if let Held::Read(txn) = std::mem::replace(&mut seat.held, Held::Resting(None)) {
            seat.held = Held::Parked(Box::new(txn.park()?));
        }
        Ok(())
    })
}

/// Goes on with a parked one. If that fails, its snapshot is lost.
#[napi(catch_unwind)]
pub fn unpark(seat: f64) -> Result<()> {
    with(|state| {
        let seat = state.seats.get(seat)?;
        match std::mem::replace(&mut seat.held, Held::Resting(None)) {
            Held::Parked(parked) => seat.held = Held::Read(Box::new(parked.unpark()?)),
            held => {
                seat.held = held;
                return Err(Failure::misuse("the transaction is not parked"));
            }
        }
        Ok(())
    })
}

/// Sets a savepoint in a write transaction.
#[napi(catch_unwind)]
pub fn savepoint(seat: f64, name: String) -> Result<()> {
    with(|state| Ok(state.seats.get(seat)?.writing()?.txn.savepoint(name)?))
}

/// Undoes all since then; the savepoint stays.
#[napi(catch_unwind)]
pub fn roll_back_to(seat: f64, name: String) -> Result<()> {
    with(|state| {
        let writing = state.seats.get(seat)?.writing()?;
        writing.made.clear();
        Ok(writing.txn.roll_back_to(name)?)
    })
}

/// Forgets it, and all that was done since then stays.
#[napi(catch_unwind)]
pub fn release(seat: f64, name: String) -> Result<()> {
    with(|state| Ok(state.seats.get(seat)?.writing()?.txn.release(name)?))
}

/// The longest key of an environment, in bytes.
#[napi(catch_unwind)]
pub fn key_bytes_max(env: f64) -> Result<u32> {
    with(|state| Ok(state.env(env)?.env.info()?.key_bytes_max))
}

/// All there is to know at once, as JSON.
#[napi(catch_unwind)]
pub fn info(env: f64) -> Result<String> {
    with(|state| json(&state.env(env)?.env.info()?))
}

/// The newest commit that is durable.
#[napi(catch_unwind)]
pub fn durable_id(env: f64) -> Result<f64> {
    with(|state| Ok(state.env(env)?.env.durable_id() as f64))
}

pub(crate) fn json(report: &impl serde::Serialize) -> Res<String> {
    to_string(report).map_err(|error| Failure { code: "Encode", text: error.to_string() })
}

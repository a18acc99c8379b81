//! Batches of threads that wait for the writer lock, written in one transaction.
//!
//! A thread that finds none at work leads: it takes all batches that wait, joins them, and commits
//! for all. Threads that come meanwhile wait. (As the writers' queue of LevelDB does it.)
//!
//! Each thread has of its batch what it would have had alone. Where a transaction cannot be because
//! of what one of the batches holds, each is written in one of its own. None is written again once
//! it may have been sealed.
//!
//! A lazy commit is over sooner than a sleeping thread is woken, and waking costs a system call. So
//! threads give way to others a few times before they sleep, and sleepers alone are woken. Those
//! that were answered together come again together, a moment later: a leader gives way to them
//! before it takes its group, or half of them would always wait for the next.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use huon::{Env, Error, IoError, Result, WriteTxn};

use crate::lsm::WriteBatch;
use crate::pending::Pending;

/// A group takes no more batches once it has so many bytes, so that none waits for long.
const GROUP_BYTES: usize = 1 << 20;

/// How often a thread that waits gives way before it sleeps: some tens of microseconds.
const YIELDS: u32 = 100;

/// How often a leader gives way to those that were in the last group, at most.
const LEADER_YIELDS: u32 = 20;

/// Batches that wait.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Whether a thread leads. Changed under `state`.
    is_led: AtomicBool,
    /// A group is done.
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// In the order in which they came.
    waiting: Vec<Waiting>,
    /// Batches of the last group, and of those that waited when it was done.
    expected: usize,
    sleepers: usize,
}

/// A batch, and where its thread looks for what became of it.
struct Waiting {
    batch: WriteBatch,
    answer: Arc<Answer>,
}

/// What a thread has of its batch, which may be the panic of a merge operator.
type Outcome = std::thread::Result<Result<u64>>;

pub(crate) type Answer = Mutex<Option<Outcome>>;

/// How transactions are committed: tests have one that fails after the seal.
type Commit = fn(WriteTxn) -> Result<u64>;

impl Queue {
    pub(crate) fn write(&self, env: &Env, batch: WriteBatch) -> Result<u64> {
        self.write_by(env, batch, WriteTxn::commit)
    }

    pub(crate) fn write_by(&self, env: &Env, batch: WriteBatch, commit: Commit) -> Result<u64> {
        // Each thread sorts its own. Where it is joined to others, it is sorted once more.
        if batch.bytes() >= GROUP_BYTES {
            batch.sort()?;
        }
        let answer = self.push(batch);
        let mut yields = 0;
        loop {
            if let Some(outcome) = locked(&answer).take() {
                return outcome.unwrap_or_else(|panic| resume_unwind(panic));
            }
            if self.is_led.load(Ordering::Relaxed) && yields < YIELDS {
                yields += 1;
                std::thread::yield_now();
            } else {
                self.lead_or_sleep(env, &answer, commit);
            }
        }
    }

    /// Has a batch wait.
    pub(crate) fn push(&self, batch: WriteBatch) -> Arc<Answer> {
        let answer = Arc::new(Answer::default());
        locked(&self.state).waiting.push(Waiting { batch, answer: answer.clone() });
        answer
    }

    fn lead_or_sleep(&self, env: &Env, answer: &Arc<Answer>, commit: Commit) {
        let mut state = locked(&self.state);
        if locked(answer).is_some() {
            return;
        }
        if self.is_led.load(Ordering::Relaxed) {
            state.sleepers += 1;
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleepers -= 1;
            return;
        }
        self.is_led.store(true, Ordering::Relaxed);
        let group = self.gather(state);
        let count = group.len();
        Lead { queue: self, own: answer, count, left: group.into_iter() }.write_group(env, commit);
    }

    /// The next group, which has one batch at least.
    fn gather<'q>(&'q self, mut state: MutexGuard<'q, State>) -> Vec<Waiting> {
        for _ in 0..LEADER_YIELDS {
            if state.waiting.len() >= state.expected {
                break;
            }
            drop(state);
            std::thread::yield_now();
            state = locked(&self.state);
        }
        take_group(&mut state.waiting)
    }
}

fn take_group(waiting: &mut Vec<Waiting>) -> Vec<Waiting> {
    let mut bytes = 0;
    let fits = |one: &&Waiting| {
        let has_room = bytes < GROUP_BYTES;
        bytes += one.batch.bytes();
        has_room
    };
    let count = waiting.iter().take_while(fits).count();
    waiting.drain(..count).collect()
}

/// A thread leads until this goes, also by a panic: the others get an error then, and no end of
/// waiting.
struct Lead<'q> {
    queue: &'q Queue,
    /// Of the leader's own batch, which may have to wait for the next group.
    own: &'q Arc<Answer>,
    /// Batches of the group.
    count: usize,
    /// Those that have no answer yet.
    left: std::vec::IntoIter<Waiting>,
}

impl Lead<'_> {
    fn write_group(&mut self, env: &Env, commit: Commit) {
        let is_joined = self.count > 1;
        match is_joined.then(|| write(env, &mut self.joined()?, commit)) {
            None | Some(Err(Failure::Refused(_))) => self.write_each(env, commit),
            Some(Ok(id)) => self.answer_all(|| Ok(id)),
            Some(Err(Failure::NotBegun(error))) => self.turn_away(&error),
            Some(Err(Failure::Unknown(error))) => self.answer_all(|| Err(same(&error))),
        }
    }

    fn joined(&self) -> std::result::Result<WriteBatch, Failure> {
        let mut joined = WriteBatch::default();
        let mut batches = self.left.as_slice().iter().map(|one| &one.batch);
        attempt(|| batches.try_for_each(|batch| joined.join(batch)))?;
        Ok(joined)
    }

    fn write_each(&mut self, env: &Env, commit: Commit) {
        while let Some(next) = self.left.as_mut_slice().first_mut() {
            match write(env, &mut next.batch, commit) {
                Ok(id) => self.answer(Ok(Ok(id))),
                Err(Failure::Refused(outcome)) => self.answer(outcome),
                Err(Failure::Unknown(error)) => self.answer(Ok(Err(error))),
                Err(Failure::NotBegun(error)) => self.turn_away(&error),
            }
        }
    }

    /// Answers all that are left where there can be no transaction: none has to wait for a lock in
    /// vain after the other. But if the leader has one already, others have not, and one of them
    /// leads next.
    fn turn_away(&mut self, error: &Error) {
        if !matches!(error, Error::ThreadWrites) {
            return self.answer_all(|| Err(same(error)));
        }
        let waiting = &mut locked(&self.queue.state).waiting;
        waiting.splice(..0, self.left.by_ref());
        if let Some(own) = waiting.iter().position(|one| Arc::ptr_eq(&one.answer, self.own)) {
            waiting.remove(own);
            *locked(self.own) = Some(Ok(Err(Error::ThreadWrites)));
        }
    }

    fn answer(&mut self, outcome: Outcome) {
        if let Some(one) = self.left.next() {
            *locked(&one.answer) = Some(outcome);
        }
    }

    fn answer_all(&mut self, result: impl Fn() -> Result<u64>) {
        self.left.by_ref().for_each(|one| *locked(&one.answer) = Some(Ok(result())));
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.answer_all(|| Err(Error::TxnBroken));
        let mut state = locked(&self.queue.state);
        state.expected = self.count + state.waiting.len();
        self.queue.is_led.store(false, Ordering::Relaxed);
        if state.sleepers > 0 {
            self.queue.done.notify_all();
        }
    }
}

/// Why a batch is not written, as far as one knows.
enum Failure {
    /// No transaction began, whatever the batch holds.
    NotBegun(Error),
    /// Because of what it holds. Nothing has happened.
    Refused(Outcome),
    /// The commit failed, perhaps after the seal.
    Unknown(Error),
}

/// Writes a batch, which is left empty once its transaction has begun.
fn write(env: &Env, batch: &mut WriteBatch, commit: Commit) -> std::result::Result<u64, Failure> {
    attempt(|| batch.sort())?;
    let mut txn = env.write().map_err(Failure::NotBegun)?;
    attempt(|| Pending::write(&mut txn, std::mem::take(batch)))?;
    commit(txn).map_err(|error| match error {
        // No page is taken any more after the seal.
        Error::MapFull(_) | Error::MapTooSmall { .. } => Failure::Refused(Ok(Err(error))),
        _ => Failure::Unknown(error),
    })
}

/// Does what merge operators have a part in.
fn attempt(work: impl FnOnce() -> Result<()>) -> std::result::Result<(), Failure> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Failure::Refused(Ok(Err(error)))),
        Err(panic) => Err(Failure::Refused(Err(panic))),
    }
}

/// An error of the environment, once more for another thread.
fn same(error: &Error) -> Error {
    match error {
        Error::Busy(text) => Error::Busy(text.clone()),
        Error::Corrupt(damage) => Error::Corrupt(damage.clone()),
        Error::EnvironmentsFull { max } => Error::EnvironmentsFull { max: *max },
        Error::Forked => Error::Forked,
        Error::Io(io) => {
            let number = io.source.raw_os_error().map(std::io::Error::from_raw_os_error);
            let source = number.unwrap_or_else(|| io.source.kind().into());
            Error::Io(Box::new(IoError {
                operation: io.operation,
                place: io.place.clone(),
                source,
            }))
        }
        Error::Journal(text) => Error::Journal(text.clone()),
        Error::OutOfMemory => Error::OutOfMemory,
        Error::Poisoned => Error::Poisoned,
        Error::ReadOnly => Error::ReadOnly,
        Error::TxnBroken => Error::TxnBroken,
        other => Error::Decode(other.to_string().into()),
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Batches of threads that wait for the writer lock, written in one transaction.
//!
//! A thread that finds none at work leads: it takes all batches that wait, joins them, and commits
//! for all. Threads that come meanwhile wait. (As the writers' queue of LevelDB does it.)
//!
//! A lazy commit is over sooner than a sleeping thread is woken, and waking costs a system call. So
//! threads give way to others a few times before they sleep, and sleepers alone are woken. Those
//! that were answered together come again together, a moment later: a leader gives way to them
//! before it takes its group, or half of them would always wait for the next.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use huon::{Env, Error, Result};

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

type Answer = Mutex<Option<Result<u64>>>;

impl Queue {
    pub(crate) fn write(&self, env: &Env, batch: WriteBatch) -> Result<u64> {
        // Each thread sorts its own. Where it is joined to others, it is sorted once more.
        if batch.bytes() >= GROUP_BYTES {
            sort(&batch);
        }
        let answer = Arc::new(Answer::default());
        locked(&self.state).waiting.push(Waiting { batch, answer: answer.clone() });
        let mut yields = 0;
        loop {
            if let Some(result) = locked(&answer).take() {
                return result;
            }
            if self.is_led.load(Ordering::Relaxed) && yields < YIELDS {
                yields += 1;
                std::thread::yield_now();
            } else {
                self.lead_or_sleep(env, &answer);
            }
        }
    }

    fn lead_or_sleep(&self, env: &Env, answer: &Answer) {
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
        let (batches, answers) = group.into_iter().map(|one| (one.batch, one.answer)).unzip();
        let mut lead = Lead { queue: self, answers, results: Vec::new() };
        lead.results = write_group(env, batches);
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
    answers: Vec<Arc<Answer>>,
    /// One for each, or none after a panic.
    results: Vec<Result<u64>>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut results = self.results.drain(..);
        for answer in &self.answers {
            *locked(answer) = Some(results.next().unwrap_or(Err(Error::TxnBroken)));
        }
        let mut state = locked(&self.queue.state);
        state.expected = self.answers.len() + state.waiting.len();
        self.queue.is_led.store(false, Ordering::Relaxed);
        if state.sleepers > 0 {
            self.queue.done.notify_all();
        }
    }
}

/// What became of each batch.
fn write_group(env: &Env, group: Vec<WriteBatch>) -> Vec<Result<u64>> {
    if group.len() < 2 {
        return group.into_iter().map(|batch| write_alone(env, batch)).collect();
    }
    let mut joined = WriteBatch::default();
    let all = group.iter().try_for_each(|batch| joined.join(batch));
    match all.and_then(|()| write_alone(env, joined)) {
        Ok(id) => group.iter().map(|_| Ok(id)).collect(),
        // Nothing has happened, so each can fail, or not, for itself.
        Err(Error::Poisoned) => group.iter().map(|_| Err(Error::Poisoned)).collect(),
        Err(_) => group.into_iter().map(|batch| write_alone(env, batch)).collect(),
    }
}

fn write_alone(env: &Env, batch: WriteBatch) -> Result<u64> {
    sort(&batch);
    let mut txn = env.write()?;
    for (shared, batch) in batch.tables {
        Pending::of_mut(&mut txn, &shared)?.take(batch)?;
    }
    txn.commit()
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn sort(batch: &WriteBatch) {
    for (_, batch) in &batch.tables {
        let _ = batch.sorted();
    }
}

//! Batches of threads that wait for the writer lock, written in one transaction.
//!
//! The first thread that comes leads: it takes all batches that wait, joins them, and commits for
//! all. Threads that come meanwhile wait; when the leader is done, one of them leads the next
//! group. (As the writers' queue of LevelDB does it.)

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};

use huon::{Env, Error, Result};

use crate::lsm::WriteBatch;
use crate::manifest::locked;
use crate::pending::Pending;

/// A group takes no more batches once it has so many bytes, so that none waits for long.
const GROUP_BYTES: usize = 1 << 20;

/// Batches that wait.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// A group is done.
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// In the order in which they came.
    waiting: Vec<(u64, WriteBatch)>,
    results: HashMap<u64, Result<u64>>,
    next: u64,
    is_led: bool,
}

impl Queue {
    pub(crate) fn write(&self, env: &Env, batch: WriteBatch) -> Result<u64> {
        // Each thread sorts its own. Where it is joined to others, it is sorted once more.
        if batch.bytes() >= GROUP_BYTES {
            sort(&batch);
        }
        let mut state = locked(&self.state);
        let ticket = state.next;
        state.next += 1;
        state.waiting.push((ticket, batch));
        loop {
            if let Some(result) = state.results.remove(&ticket) {
                return result;
            }
            if state.is_led {
                state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.is_led = true;
            let group = take_group(&mut state);
            drop(state);
            let tickets = group.iter().map(|(ticket, _)| *ticket).collect();
            let mut lead = Lead { queue: self, tickets, results: Vec::new() };
            lead.results = write_group(env, group);
            drop(lead);
            state = locked(&self.state);
        }
    }
}

fn take_group(state: &mut State) -> Vec<(u64, WriteBatch)> {
    let mut bytes = 0;
    let fits = |(_, batch): &&(u64, WriteBatch)| {
        let has_room = bytes < GROUP_BYTES;
        bytes += batch.bytes();
        has_room
    };
    let count = state.waiting.iter().take_while(fits).count();
    state.waiting.drain(..count).collect()
}

/// A thread leads until this goes, also by a panic: the others get an error then, and no end of
/// waiting.
struct Lead<'q> {
    queue: &'q Queue,
    tickets: Vec<u64>,
    results: Vec<(u64, Result<u64>)>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = locked(&self.queue.state);
        if self.results.is_empty() {
            let broken = |ticket: u64| (ticket, Err(Error::TxnBroken));
            state.results.extend(self.tickets.drain(..).map(broken));
        }
        state.results.extend(self.results.drain(..));
        state.is_led = false;
        self.queue.done.notify_all();
    }
}

fn write_group(env: &Env, mut group: Vec<(u64, WriteBatch)>) -> Vec<(u64, Result<u64>)> {
    let alone = |(ticket, batch)| (ticket, write_alone(env, batch));
    if group.len() < 2 {
        return group.into_iter().map(alone).collect();
    }
    let mut joined = WriteBatch::default();
    let all = group.iter().try_for_each(|(_, batch)| joined.join(batch));
    match all.and_then(|()| write_alone(env, joined)) {
        Ok(id) => group.drain(..).map(|(ticket, _)| (ticket, Ok(id))).collect(),
        // Nothing has happened, so each can fail, or not, for itself.
        Err(Error::Poisoned) => group.drain(..).map(|(n, _)| (n, Err(Error::Poisoned))).collect(),
        Err(_) => group.into_iter().map(alone).collect(),
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

fn sort(batch: &WriteBatch) {
    for (_, batch) in &batch.tables {
        let _ = batch.sorted();
    }
}

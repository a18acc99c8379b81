//! What takes long, and is done by a thread of its own.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use huon::{CheckOptions, CompactOptions, CopyOptions, Env, Progress};
use napi_derive::napi;

use crate::failure::{Failure, Result as Res};
use crate::jobs::{self, Answer, Mailbox, Watch};
use crate::options::millis;
use crate::rare::{Result, json, with};
use crate::state::Held;

/// What a job has of the JavaScript thread that wants it.
pub(crate) struct Link {
    number: f64,
    mailbox: Arc<Mailbox>,
    watch: Watch,
}

impl Link {
    pub(crate) fn new(number: f64, mailbox: Arc<Mailbox>, watch: Watch) -> Link {
        Link { number, mailbox, watch }
    }

    /// Tells how far it is; whether it is to go on.
    pub(crate) fn tell(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.mailbox.post(self.number, Ok(Answer::Progress(done as f64, total as f64)));
        self.go_on()
    }

    /// What reports progress, which is told if it is wanted.
    pub(crate) fn reporting(&self, is_told: bool) -> impl FnMut(&Progress) -> ControlFlow<()> {
        move |at| {
            if is_told { self.tell(at.done_bytes, at.total_bytes) } else { self.go_on() }
        }
    }

    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        self.watch.go_on()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.watch.is_stopped()
    }
}

/// Does something that takes long with an environment, in a thread of its own.
pub(crate) fn apart(
    env: f64,
    job: f64,
    work: impl FnOnce(Env, Link) -> Res<Answer> + Send + 'static,
) -> Result<()> {
    with(|state| {
        let mailbox = state.mailbox()?;
        let engine = state.env(env)?.env.clone();
        let watch = state.running.begin(job, env, None);
        let link = Link::new(job, mailbox.clone(), watch);
        let begun = jobs::apart(mailbox, job, move || work(engine, link));
        begun.inspect_err(|_| state.running.end(job))
    })
}

/// Has a job that works stop at its next step. No transaction comes of it any more.
#[napi(catch_unwind)]
pub fn stop(job: f64) -> Result<()> {
    with(|state| {
        state.running.end(job);
        state.mailbox()?.recall(job);
        Ok(())
    })
}

/// Flushes all commits so far: the job answers the newest that is durable.
#[napi(catch_unwind)]
pub fn sync(env: f64, job: f64) -> Result<()> {
    apart(env, job, |env, _| Ok(Answer::Number(env.sync()? as f64)))
}

/// Waits until the commit of a ticket is durable, and flushes it if no other thread does.
#[napi(catch_unwind)]
pub fn wait_for_ticket(env: f64, job: f64, seat: f64) -> Result<()> {
    let ticket = with(|state| match &state.seats.get(seat)?.held {
        Held::Ticket(ticket) => Ok(ticket.clone()),
        _ => Err(Failure::misuse("there is no ticket")),
    })?;
    apart(env, job, move |_, link| {
        let waited = link.watch.wait(Duration::MAX, |slice| {
            Ok(ticket.wait_within(slice)?.then_some(Answer::Nothing))
        })?;
        waited.ok_or_else(Failure::stopped)
    })
}

/// Whether the commit of a ticket is durable.
#[napi(catch_unwind)]
pub fn is_durable(seat: f64) -> Result<bool> {
    with(|state| match &state.seats.get(seat)?.held {
        Held::Ticket(ticket) => Ok(ticket.is_durable()),
        _ => Err(Failure::misuse("there is no ticket")),
    })
}

/// Where the space is: the job answers as JSON.
#[napi(catch_unwind)]
pub fn stat(env: f64, job: f64) -> Result<()> {
    apart(env, job, |env, _| Ok(Answer::Text(json(&env.stat()?)?)))
}

/// Verifies all pages: the job answers as JSON.
#[napi(catch_unwind)]
pub fn check(env: f64, job: f64, is_told: bool) -> Result<()> {
    apart(env, job, move |env, link| {
        let options = CheckOptions::new().progress(link.reporting(is_told));
        Ok(Answer::Text(json(&env.check_with(options)?)?))
    })
}

/// Copies the newest snapshot to a file: the job answers as JSON.
#[napi(catch_unwind)]
pub fn copy_to(env: f64, job: f64, path: String, compact: bool, is_told: bool) -> Result<()> {
    apart(env, job, move |env, link| {
        let options = CopyOptions::new().compact(compact).progress(link.reporting(is_told));
        Ok(Answer::Text(json(&env.copy_to(path, options)?)?))
    })
}

/// Makes the file smaller: the job answers as JSON.
#[napi(catch_unwind)]
pub fn compact(
    env: f64,
    job: f64,
    target: Option<f64>,
    time_limit: Option<f64>,
    is_told: bool,
) -> Result<()> {
    apart(env, job, move |env, link| {
        let mut options = CompactOptions::new().progress(link.reporting(is_told));
        if let Some(times) = target {
            options = options.target(times);
        }
        if let Some(ms) = time_limit {
            options = options.time_limit(millis(ms)?);
        }
        let report = env.compact(options)?;
        // It has kept what it had done, and says nothing of the stop.
        if link.is_stopped() { Err(Failure::stopped()) } else { Ok(Answer::Text(json(&report)?)) }
    })
}

/// Waits for a commit after a snapshot: the job answers the newest one, or nothing after so long or
/// if the environment is closed.
#[napi(catch_unwind)]
pub fn wait_for_commit(env: f64, job: f64, after: f64, timeout: f64) -> Result<()> {
    let (timeout, closing) = with(|state| Ok((millis(timeout)?, state.env(env)?.closing.watch())))?;
    apart(env, job, move |env, link| {
        let id = link.watch.wait(timeout, |slice| {
            match env.wait_for_commit(after as u64, slice)? {
                None if closing.get() => Ok(Some(Answer::Nothing)),
                id => Ok(id.map(|id| Answer::Number(id as f64))),
            }
        })?;
        Ok(id.unwrap_or(Answer::Nothing))
    })
}

//! What other threads do, and how they answer.
//!
//! J1. Each environment has one thread that writes for it, with the changes of one tick in each
//!     transaction. It is no thread of Node's pool: one that waits for the writer lock would keep
//!     others from what they need to let go of it. For the same reason another thread commits what
//!     JavaScript has filled: it never waits for the lock.
//! J2. An answer names the job by a number that JavaScript has given it. It is put into a box, from
//!     where Node's loop fetches all that are there.
//! J3. A job that can be stopped looks now and then whether it was: by JavaScript, for a signal of
//!     the program, or as the JavaScript thread has ended. It answers all the same.
//! J4. What is read from a job or handed to it goes in steps (`pipe`). Where JavaScript makes none
//!     any more, its end of their channel is dropped: with the job, its environment or its thread.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::change::Answered;
use crate::failure::{Failure, Result};
use crate::raw::Bell;
use crate::state::Held;

/// What a job answers.
pub(crate) enum Answer {
    Nothing,
    Number(f64),
    /// Of changes, in their order.
    Changes(Vec<Answered>),
    /// JSON.
    Text(String),
    Bytes(Vec<u8>),
    /// What comes into a seat of the environment of that number, unless it is not wanted any more.
    Seat(f64, Held, Option<Watch>),
    /// How far it is, and how far it has to go: the answer follows.
    Progress(f64, f64),
}

type Work = Box<dyn FnOnce() -> Result<Answer> + Send>;

/// Answers for a JavaScript thread.
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
}

struct Inner {
    /// Wakes Node's loop; none once that has ended.
    bell: Option<Bell>,
    answers: Vec<(f64, Result<Answer>)>,
}

impl Mailbox {
    pub(crate) fn new(bell: Bell) -> Mailbox {
        Mailbox { inner: Mutex::new(Inner { bell: Some(bell), answers: Vec::new() }) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an answer in. If the loop has ended, it is dropped: a transaction is undone.
    pub(crate) fn post(&self, number: f64, mut answer: Result<Answer>) {
        let mut inner = self.lock();
        let Some(bell) = inner.bell else { return };
        // Under the lock: `recall` finds it otherwise.
        if let Ok(Answer::Seat(.., Some(watch))) = &answer
            && watch.is_stopped()
        {
            answer = Err(Failure::stopped());
        }
        // Of a loop that is busy the last word counts.
        if matches!(answer, Ok(Answer::Progress(..))) {
            let is_older = |(of, told): &(f64, Result<Answer>)| {
                *of == number && matches!(told, Ok(Answer::Progress(..)))
            };
            inner.answers.retain(|posted| !is_older(posted));
        }
        inner.answers.push((number, answer));
        if inner.answers.len() == 1 {
            bell.ring();
        }
    }

    /// Undoes what a job that was stopped has answered, if it is a transaction.
    pub(crate) fn recall(&self, number: f64) {
        for (of, answer) in &mut self.lock().answers {
            if *of == number && matches!(answer, Ok(Answer::Seat(.., Some(_)))) {
                *answer = Err(Failure::stopped());
            }
        }
    }

    pub(crate) fn fetch(&self) -> Vec<(f64, Result<Answer>)> {
        std::mem::take(&mut self.lock().answers)
    }

    /// The bell, as long as it can be rung.
    pub(crate) fn bell(&self) -> Option<Bell> {
        self.lock().bell
    }

    /// Node's loop ends: the bell must not be rung any more.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.bell = None;
        drop(std::mem::take(&mut inner.answers));
    }

    /// Does a job and posts its answer; a panic is one, too.
    fn answer(&self, number: f64, work: Work) {
        let answer = catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|panic| Err(Failure::of_panic(&*panic)));
        self.post(number, answer);
    }
}

/// A thread for the jobs of an environment, one after another, begun at the first (J1).
#[derive(Default)]
pub(crate) struct Worker {
    sender: Option<Sender<(f64, Work)>>,
}

impl Worker {
    /// Does `work` behind all jobs so far.
    pub(crate) fn run(
        &mut self,
        mailbox: &Arc<Mailbox>,
        number: f64,
        work: impl FnOnce() -> Result<Answer> + Send + 'static,
    ) -> Result<()> {
        let sender = match &self.sender {
            Some(sender) => sender,
            None => self.sender.insert(begin(mailbox.clone())?),
        };
        sender.send((number, Box::new(work))).map_err(|_| Failure::misuse("the writer has ended"))
    }
}

fn begin(mailbox: Arc<Mailbox>) -> Result<Sender<(f64, Work)>> {
    let (sender, jobs) = channel();
    spawn("huon-writer", move || {
        for (number, work) in jobs {
            mailbox.answer(number, work);
        }
    })?;
    Ok(sender)
}

/// Does something that takes long in a thread of its own.
pub(crate) fn apart(
    mailbox: Arc<Mailbox>,
    number: f64,
    work: impl FnOnce() -> Result<Answer> + Send + 'static,
) -> Result<()> {
    spawn("huon-job", move || mailbox.answer(number, Box::new(work)))
}

/// Drops something in a thread for which no other waits; here, if the system starts none.
pub(crate) fn drop_apart(what: impl Send + 'static) {
    let _ = spawn("huon-end", move || drop(what));
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map(drop)
        .map_err(|error| Failure { code: "Io", text: format!("cannot begin a thread: {error}") })
}

/// Tells threads to end what they do for it, by being dropped.
#[derive(Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn watch(&self) -> IsStopped {
        IsStopped(self.0.clone())
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The same, as such a thread asks for it.
pub(crate) struct IsStopped(Arc<AtomicBool>);

impl IsStopped {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What JavaScript hands a job in a step (J4).
pub(crate) enum Handed {
    /// It wants a piece, or has no more.
    Nothing,
    Piece(Vec<u8>),
    /// All of a file, by its path.
    File(String),
}

/// A step of a job: the number of the job that is answered when it was made, and what it hands.
pub(crate) type Step = (f64, Handed);

/// Jobs that can be stopped, by number (J3).
pub(crate) struct Running(BTreeMap<u64, Job>);

/// The environment of a job that has none.
pub(crate) const NO_ENV: f64 = 0.0;

struct Job {
    env: f64,
    steps: Option<Sender<Step>>,
    _stop: Stop,
}

impl Running {
    pub(crate) const fn new() -> Running {
        Running(BTreeMap::new())
    }

    pub(crate) fn begin(&mut self, job: f64, env: f64, steps: Option<Sender<Step>>) -> Watch {
        let stop = Stop::default();
        let watch = Watch(stop.watch());
        self.0.insert(job as u64, Job { env, steps, _stop: stop });
        watch
    }

    /// It has answered, or is to stop.
    pub(crate) fn end(&mut self, job: f64) {
        drop(self.0.remove(&(job as u64)));
    }

    /// The streams of an environment, which go on only as long as a program reads them.
    pub(crate) fn end_streams(&mut self, env: f64) {
        self.0.retain(|_, job| job.steps.is_none() || job.env != env);
    }

    /// Makes a step of a job, which answers `asker` when that is done.
    pub(crate) fn step(&self, job: f64, asker: f64, handed: Handed) -> Result<()> {
        let steps = self.0.get(&(job as u64)).and_then(|job| job.steps.as_ref());
        let is_sent = steps.is_some_and(|steps| steps.send((asker, handed)).is_ok());
        is_sent.then_some(()).ok_or_else(Failure::cut)
    }
}

/// How long a thread that waits does not look whether it is to stop.
const WAIT_SLICE: Duration = Duration::from_millis(50);

/// Tells a job whether it is to stop.
pub(crate) struct Watch(IsStopped);

impl Watch {
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.get()
    }

    /// Whether work goes on.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Calls `wait` with times to wait at most, until it gives something, so long has passed, or it
    /// is to stop.
    pub(crate) fn wait<T>(
        &self,
        timeout: Duration,
        mut wait: impl FnMut(Duration) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let end = Instant::now().checked_add(timeout);
        loop {
            let left = end.map_or(WAIT_SLICE, |end| end.saturating_duration_since(Instant::now()));
            let found = wait(left.min(WAIT_SLICE))?;
            if found.is_some() || left.is_zero() || self.is_stopped() {
                return Ok(found);
            }
        }
    }
}

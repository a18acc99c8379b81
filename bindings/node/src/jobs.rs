//! What other threads do, and how they answer.
//!
//! J1. Each environment has one thread that writes for it, with the changes of one tick in each
//!     transaction. It is no thread of Node's pool: one that waits for the writer lock would keep
//!     others from what they need to let go of it. For the same reason another thread commits what
//!     JavaScript has filled: it never waits for the lock.
//! J2. An answer names the job by a number that JavaScript has given it. It is put into a box, from
//!     where Node's loop fetches all that are there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use huon::WriteTxn;

use crate::change::Answered;
use crate::failure::{Failure, Result};
use crate::raw::Bell;

/// What a job answers.
pub(crate) enum Answer {
    Nothing,
    Number(f64),
    /// Of changes, in their order.
    Changes(Vec<Answered>),
    /// JSON.
    Text(String),
    /// A write transaction of the environment of that number.
    Writer(f64, Box<WriteTxn>),
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
    fn post(&self, number: f64, answer: Result<Answer>) {
        let mut inner = self.lock();
        let Some(bell) = inner.bell else { return };
        inner.answers.push((number, answer));
        if inner.answers.len() == 1 {
            bell.ring();
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

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map(drop)
        .map_err(|error| Failure { code: "Io", text: format!("cannot begin a thread: {error}") })
}

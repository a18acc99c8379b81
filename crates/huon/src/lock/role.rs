//! The writer lock, the flusher lock and the journaller's: roles that one client has at a time.
//!
//! The role is a word of the lock file that names its holder. In front of the word stands a queue
//! of the threads of this client, so at most one of them deals with the word.
//!
//! Invariants:
//! 1. The word is 0 or a client's name, generation included; it changes by compare-and-swap only.
//!    So a takeover succeeds only against the very holder that was found dead (P1).
//! 2. Only the client that the word names may put 0 there; only a dead holder's name is replaced.
//! 3. No client judges itself dead: within a client the queue decides (P2).
//! 4. Neither queue nor word knows threads: any thread of the client may release.
//! 5. Waits are timed and check the holder again: a dead one wakes no waiter (P2).
//! 6. A thread that waits for itself is refused, and no other. That is known at once where the
//!    holder cannot be given away meanwhile ([`Role::bind`]). Elsewhere it may have been moved to
//!    another thread, which is known only once it is used there ([`Role::used_here`]): the wait
//!    goes on for [`MOVING`], and is refused if it was not seen elsewhere by then.
//!
//! The caller decides what a takeover means for the dead holder's work.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

use super::board::Board;
use super::clients::{ClientId, Clients, process_text};
use super::layout::*;
use crate::error::{Error, Result};
use crate::os::word::{
    Condvar, Mutex, MutexGuard, Ordering, Word, fence, load_behind_exchange, pause, spin,
};
use crate::os::{ANY_MARK, Wake, clock, even_if_poisoned, fork};
use crate::planted::{self, Bug};

/// How long a waiter spins before it sleeps: some small commits, and about the cost of sleeping and
/// being woken.
const SPIN: Duration = Duration::from_micros(100);
/// How often in a row a thread that is awake may overtake one that sleeps.
const OVERTAKEN_MAX: u32 = 8;
/// How long a wait lasts before the holder's byte is checked again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How long the thread that was last seen with the role may wait for it before it counts as waiting
/// for itself.
const MOVING: Duration = Duration::from_millis(500);
/// How long a client that was asked to hand over waits for the other to come.
/// (Shuttle's schedules must not depend on the clock.)
const GIVE_WAY: Duration = Duration::from_millis(if cfg!(shuttle) { 0 } else { 1 });

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoleKind {
    Writer,
    Flusher,
    /// Of the flushes of the journal (J2.3).
    Journaller,
}

/// How the role was acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Acquired {
    /// The holder before died with it: the work that it had begun is to be dropped, or finished.
    pub(crate) took_over_from_dead: bool,
    /// No other client has had the role since this one had it last.
    pub(crate) again: bool,
}

/// The client that holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockHolder {
    pub(crate) client: ClientId,
    /// 0 if the client table has forgotten it.
    pub(crate) pid: u32,
    /// The PID namespace in which that number counts; 0 where it is not known.
    space: u64,
    pub(crate) thread: u32,
    /// For how long, in milliseconds.
    pub(crate) age_ms: u64,
    /// Whether it is this very client.
    pub(crate) me: bool,
}

/// One of the two roles, as one client sees it.
pub(crate) struct Role {
    clients: Arc<Clients>,
    me: ClientId,
    kind: RoleKind,
    at: usize,
    queue: Mutex<Queue>,
    turn: Condvar,
    /// What [`Queue::is_open`] said last: a hint, to look at without the lock.
    looks_open: AtomicBool,
    /// Another client slept when the role was released last.
    give_way: AtomicBool,
    /// The thread that was seen last with the role; 0 while it is free.
    user: AtomicU32,
    /// The thread that has it and cannot give it away now; 0 for none.
    bound: AtomicU32,
    fork_generation: u32,
}

/// While it lasts, this thread cannot give away the owner of the role: see [`Role::bind`].
pub(crate) struct Bound<'r> {
    role: &'r Role,
    before: u32,
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        self.role.bound.store(self.before, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Queue {
    busy: bool,
    waiting: u32,
    /// Released to the waiting threads: a newcomer queues behind them.
    handed: bool,
    /// Releases since one was handed over: a thread that was awake may have been faster.
    overtaken: u32,
    /// A thread came, found it closed, and left.
    turned_away: bool,
}

impl Queue {
    /// Whether a newcomer may go to the word.
    fn is_open(&self) -> bool {
        !self.busy && !self.handed
    }

    /// The thread inside has left; whether to wake one of the sleeping threads.
    fn leave(&mut self) -> bool {
        assert!(self.busy, "a role is released once");
        self.busy = false;
        if self.waiting == 0 {
            return false;
        }
        // Handing over takes as long as waking a thread; one that is awake is faster.
        self.handed = self.overtaken >= OVERTAKEN_MAX;
        self.overtaken = if self.handed { 0 } else { self.overtaken + 1 };
        true
    }
}

/// What one look at the word came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Taken(Acquired),
    HeldBy(u64),
}

impl Role {
    /// The client must have joined. One of each kind for a client, since its queue is in it.
    pub(crate) fn new(clients: Arc<Clients>, kind: RoleKind) -> Role {
        Role {
            me: clients.me(),
            clients,
            kind,
            at: match kind {
                RoleKind::Writer => WRITER,
                RoleKind::Flusher => FLUSHER,
                RoleKind::Journaller => JOURNALLER,
            },
            queue: Mutex::default(),
            turn: Condvar::new(),
            looks_open: AtomicBool::new(true),
            give_way: AtomicBool::new(false),
            user: AtomicU32::new(0),
            bound: AtomicU32::new(0),
            fork_generation: fork::generation(),
        }
    }

    /// Takes the role, waiting at most `timeout`; then `Error::Busy` names the holder. A thread
    /// that would wait for itself gets [`Error::ThreadWrites`] (invariant 6).
    pub(crate) fn acquire(&self, timeout: Duration) -> Result<Acquired> {
        let deadline = Deadline::after(timeout);
        match self.acquire_by(&deadline)? {
            Some(acquired) => Ok(acquired),
            None => Err(Error::Busy(self.held_text(deadline.waited()).into())),
        }
    }

    /// Takes the role if no living client has it. Never waits.
    pub(crate) fn try_acquire(&self) -> Result<Option<Acquired>> {
        self.acquire_by(&Deadline::after(Duration::ZERO))
    }

    /// Releases the role. Only after a successful acquire, once, from any thread.
    pub(crate) fn release(&self) {
        if self.forked() {
            return;
        }
        self.user.store(0, Ordering::Relaxed);
        self.leave_word();
        self.leave_queue();
        if self.kind != RoleKind::Writer {
            // Last: the woken client must find the role free, also in this client's queue.
            self.board().notify_next();
        }
    }

    /// This thread works with the role now, which may have been taken in another.
    #[inline]
    pub(crate) fn used_here(&self) {
        let me = clock::thread_id();
        if self.user.load(Ordering::Relaxed) != me && !planted::is(Bug::MoveUnnoted) {
            self.moved_to(me);
        }
    }

    #[cold]
    fn moved_to(&self, thread: u32) {
        if self.user.swap(thread, Ordering::Relaxed) != 0 {
            self.word(ROLE_THREAD).store(u64::from(thread), Ordering::Relaxed);
        }
    }

    /// The owner of the role stays with this thread as long as the result lives: a function that
    /// the thread is in borrows it.
    pub(crate) fn bind(&self) -> Bound<'_> {
        Bound { role: self, before: self.bound.swap(clock::thread_id(), Ordering::Relaxed) }
    }

    /// Whether this thread, which has waited for so long, waits for itself.
    fn waits_for_itself(&self, waited: Duration) -> bool {
        let me = clock::thread_id();
        // In models all threads are one thread of the kernel.
        !cfg!(any(loom, shuttle))
            && (self.bound.load(Ordering::Relaxed) == me
                || waited >= MOVING && self.user.load(Ordering::Relaxed) == me)
    }

    /// The same, where another client has the role: it may be one of this thread's.
    fn waits_for_itself_elsewhere(&self, holder: u64, waited: Duration) -> bool {
        waited >= MOVING
            && self.word(ROLE_THREAD).load(Ordering::Relaxed) == u64::from(clock::thread_id())
            && self.clients.is_of_this_process(ClientId::of_word(holder))
    }

    /// Whether this client still has the role: no other has taken it for dead (P3).
    pub(crate) fn still_ours(&self) -> bool {
        self.word(ROLE_HOLDER).load(Ordering::Acquire) == self.me.word()
    }

    /// Refuses to go on without the role, or without the lock that shows others that its holder is
    /// alive (P3, P5). Costs a system call.
    pub(crate) fn check_ours(&self) -> Result<()> {
        self.clients.check_intact()?;
        if self.still_ours() {
            Ok(())
        } else {
            let text = "the writer lock was taken over in the middle of a transaction";
            Err(Error::Busy(text.into()))
        }
    }

    /// P5: refuses to use a descriptor without one for the lock file. Costs a system call.
    pub(crate) fn check_descriptor(&self) -> Result<()> {
        self.clients.check_intact()
    }

    /// The client that holds the lock at this moment, dead or alive.
    pub(crate) fn holder(&self) -> Option<LockHolder> {
        let word = self.word(ROLE_HOLDER).load(Ordering::Acquire);
        if word == 0 {
            return None;
        }
        let client = ClientId::of_word(word);
        let since = self.word(ROLE_SINCE).load(Ordering::Relaxed);
        let (pid, space) = self.clients.info(client).map_or((0, 0), |info| (info.pid, info.space));
        Some(LockHolder {
            client,
            pid,
            space,
            thread: self.word(ROLE_THREAD).load(Ordering::Relaxed) as u32,
            age_ms: clock::now_ms().saturating_sub(since),
            me: client == self.me,
        })
    }

    fn acquire_by(&self, deadline: &Deadline) -> Result<Option<Acquired>> {
        // Before the queue: in a forked child its mutex may be locked for ever.
        if self.forked() {
            return Err(Error::Forked);
        }
        if !self.board().writable() {
            return Err(Error::ReadOnly);
        }
        if !self.enter_queue(deadline)? {
            return Ok(None);
        }
        let acquired = self.take_word(deadline);
        match acquired {
            Ok(Some(_)) => {
                let thread = clock::thread_id();
                self.user.store(thread, Ordering::Relaxed);
                self.word(ROLE_SINCE).store(clock::now_ms(), Ordering::Relaxed);
                self.word(ROLE_THREAD).store(u64::from(thread), Ordering::Relaxed);
            }
            Ok(None) | Err(_) => {
                // A thread that this attempt turned away may wait for a flush now, and no client
                // has the role.
                if self.leave_queue() && self.kind != RoleKind::Writer {
                    self.board().notify_next();
                }
            }
        }
        acquired
    }

    // ---- the queue of this client's threads

    fn lock_queue(&self) -> MutexGuard<'_, Queue> {
        even_if_poisoned(self.queue.lock())
    }

    fn enter_queue(&self, deadline: &Deadline) -> Result<bool> {
        if !deadline.timeout.is_zero() {
            spin(SPIN, || self.looks_open.load(Ordering::Relaxed));
        }
        let mut queue = self.lock_queue();
        if !queue.is_open() {
            queue.waiting += 1;
            let mut ours = false;
            // A role that was handed over is for the threads that sleep here: a newcomer sleeps
            // first.
            let mut alone = false;
            while !ours && !alone && !deadline.left().is_zero() {
                let waited = deadline.waited();
                alone = self.waits_for_itself(waited);
                let nap = MOVING.checked_sub(waited).unwrap_or(deadline.left());
                let nap = if alone { Duration::ZERO } else { nap.min(deadline.left()) };
                let woken = self.turn.wait_timeout(queue, nap);
                queue = even_if_poisoned(woken).0;
                ours = !queue.busy;
            }
            queue.waiting -= 1;
            if !ours {
                queue.turned_away = true;
                return if alone { Err(Error::ThreadWrites) } else { Ok(false) };
            }
            queue.handed = false;
        }
        queue.busy = true;
        self.looks_open.store(false, Ordering::Relaxed);
        Ok(true)
    }

    /// Whether a thread was turned away meanwhile.
    fn leave_queue(&self) -> bool {
        let mut queue = self.lock_queue();
        let wake = queue.leave();
        self.looks_open.store(queue.is_open(), Ordering::Relaxed);
        if wake {
            self.turn.notify_one();
        }
        std::mem::take(&mut queue.turned_away)
    }

    // ---- the word

    fn take_word(&self, deadline: &Deadline) -> Result<Option<Acquired>> {
        if self.give_way.load(Ordering::Relaxed) && self.give_way.swap(false, Ordering::Relaxed) {
            self.let_others_in();
        }
        let mut spun = false;
        loop {
            let holder = match self.attempt()? {
                Attempt::Taken(acquired) => return Ok(Some(acquired)),
                Attempt::HeldBy(holder) => holder,
            };
            let left = deadline.left();
            if left.is_zero() {
                return Ok(None);
            }
            if self.waits_for_itself_elsewhere(holder, deadline.waited()) {
                return Err(Error::ThreadWrites);
            }
            if !std::mem::replace(&mut spun, true) {
                spin(SPIN, || self.word(ROLE_HOLDER).load(Ordering::Acquire) != holder);
                continue;
            }
            // Before the note: a holder that finds and clears the note raises the number
            // afterwards, and we do not sleep, even if the same holder is back by then.
            let events = self.word(ROLE_EVENTS).load(Ordering::Acquire);
            self.word(ROLE_WAITERS).store(1, Ordering::Relaxed);
            // Pairs with the fence of `leave_word`: it sees the note, or we that the role is free.
            fence(Ordering::SeqCst);
            if let Attempt::Taken(acquired) = self.attempt()? {
                return Ok(Some(acquired));
            }
            let nap = if planted::is(Bug::SilentHolder) { left } else { left.min(LOOK_AGAIN) };
            self.board().shared().wait(self.at + ROLE_EVENTS, events, nap, ANY_MARK);
        }
    }

    /// Takes the word if it is free or its holder dead.
    fn attempt(&self) -> Result<Attempt> {
        let word = self.word(ROLE_HOLDER);
        let mut holder = word.load(Ordering::Acquire);
        loop {
            // A word that names us is held as any other: no client judges itself (P2).
            let dead = holder != 0
                && !self.clients.is_alive(ClientId::of_word(holder))?
                && !planted::is(Bug::DeadHolder);
            assert!(!dead || holder != self.me.word(), "P2: no client judges itself dead");
            if holder != 0 && !dead {
                return Ok(Attempt::HeldBy(holder));
            }
            // After the judgement: through a closed descriptor every client looks dead (P5).
            if dead || self.needs_descriptor() {
                self.clients.check_intact()?;
            }
            let taken =
                word.compare_exchange(holder, self.me.word(), Ordering::AcqRel, Ordering::Acquire);
            match taken {
                Ok(_) => {
                    let again = self.note_last();
                    return Ok(Attempt::Taken(Acquired { took_over_from_dead: dead, again }));
                }
                Err(now) => holder = now,
            }
        }
    }

    /// P5: whether the lock file's descriptor must be this client's still for the role to be taken.
    /// A flusher writes through descriptors next. A writer does not, and asks again before it does;
    /// but where its byte goes with the descriptor, others take it for dead meanwhile.
    fn needs_descriptor(&self) -> bool {
        self.kind != RoleKind::Writer || !self.board().shared().lasts()
    }

    /// Notes this client as the last holder, before it uses the role; whether it was the last one
    /// before, too.
    fn note_last(&self) -> bool {
        let last = self.word(ROLE_LAST);
        let again = last.load(Ordering::Relaxed) == self.me.word();
        if !again {
            last.store(self.me.word(), Ordering::Relaxed);
            self.board().forget_used();
        }
        again
    }

    fn leave_word(&self) {
        let word = self.word(ROLE_HOLDER);
        let left = word.compare_exchange(self.me.word(), 0, Ordering::SeqCst, Ordering::Relaxed);
        if left.is_err() {
            return;
        }
        // Pairs with the fence of `take_word`.
        if load_behind_exchange(self.word(ROLE_WAITERS)) != 0 {
            self.word(ROLE_WAITERS).store(0, Ordering::Relaxed);
            self.word(ROLE_EVENTS).fetch_add(1, Ordering::AcqRel);
            // The note may be our own, or of a client that gave up: then none comes.
            let slept = self.board().shared().wake(self.at + ROLE_EVENTS, Wake::All);
            self.give_way.store(slept, Ordering::Relaxed);
        }
    }

    /// Lets another client have its turn, which was woken and needs a moment: a client that writes
    /// all the time would otherwise win each race for the word.
    fn let_others_in(&self) {
        let start = Instant::now();
        let none_came = || {
            self.word(ROLE_HOLDER).load(Ordering::Relaxed) == 0
                && self.word(ROLE_LAST).load(Ordering::Relaxed) == self.me.word()
        };
        while none_came() && start.elapsed() < GIVE_WAY {
            pause(Duration::from_micros(50));
        }
    }

    /// Whether the next attempt of this client lets others go first.
    #[cfg(test)]
    pub(super) fn gives_way(&self) -> bool {
        self.give_way.load(Ordering::Relaxed)
    }

    fn board(&self) -> &Board {
        self.clients.board()
    }

    fn word(&self, which: usize) -> &Word {
        &self.board().fixed()[self.at + which]
    }

    fn forked(&self) -> bool {
        fork::is_inherited(self.fork_generation)
    }

    #[cold]
    fn held_text(&self, waited: Duration) -> String {
        let what = match self.kind {
            RoleKind::Writer => "the writer lock",
            RoleKind::Flusher => "the flusher lock",
            RoleKind::Journaller => "the journaller's lock",
        };
        let waited = waited.as_millis();
        let Some(holder) = self.holder() else {
            return format!("{what} was not free within {waited} ms");
        };
        let place = if holder.me {
            "this environment".to_string()
        } else if self.clients.is_of_this_process(holder.client) {
            "another environment of this process".to_string()
        } else {
            process_text(holder.pid, holder.space)
        };
        format!(
            "{what} was not free within {waited} ms: client {} of {place}, thread {}, \
             has held it for {} ms",
            holder.client.number, holder.thread, holder.age_ms
        )
    }
}

/// The end of a wait. Its clock is asked from the first wait on: most acquires have none.
struct Deadline {
    start: OnceCell<Instant>,
    timeout: Duration,
}

impl Deadline {
    fn after(timeout: Duration) -> Deadline {
        Deadline { start: OnceCell::new(), timeout }
    }

    fn waited(&self) -> Duration {
        self.start.get_or_init(Instant::now).elapsed()
    }

    fn left(&self) -> Duration {
        if self.timeout.is_zero() {
            return Duration::ZERO;
        }
        self.timeout.saturating_sub(self.waited())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_client_is_overtaken_so_often_and_no_more() {
        let mut queue = Queue { busy: true, ..Queue::default() };
        assert!(!queue.leave() && queue.is_open(), "no thread waits");
        queue.waiting = 2;
        for _ in 0..3 {
            for _ in 0..OVERTAKEN_MAX {
                queue.busy = true;
                assert!(queue.leave() && queue.is_open());
            }
            queue.busy = true;
            assert!(queue.leave() && !queue.is_open(), "handed over");
            // As a woken thread does.
            queue.handed = false;
        }
    }
}

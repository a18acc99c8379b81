//! A process that is to be killed: it notes how far it is, and stops where it was told to.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use huon::sim::{Point, on_points};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use rustix::time::{ClockId, clock_gettime};

use super::content::Outcome;
use super::ledger::{Acked, Ledger, SeatWord, THREADS};
use super::orders::{Act, DATA_PATH, LEDGER_PATH, ORDERS, Orders, Place, Role};
use super::phase::{Context, Phase};
use super::{System, orphan, reader, writer};
use crate::support::random::Random;

/// A child process, as its own threads know it.
pub(crate) struct Child {
    pub(crate) orders: Orders,
    pub(crate) path: PathBuf,
    pub(crate) ledger: Ledger,
    pub(crate) system: System,
    /// The highest that this process was told is committed.
    acked: Mutex<Acked>,
    passes: AtomicU64,
    arrived: AtomicBool,
    /// In a forked child: nothing is noted any more.
    silent: AtomicBool,
}

static CHILD: OnceLock<Child> = OnceLock::new();

thread_local! {
    static THREAD: Cell<usize> = const { Cell::new(0) };
    static CONTEXT: Cell<Context> = const { Cell::new(Context::Starting) };
    static DAWDLING: RefCell<Random> = RefCell::new(Random::new(0));
}

/// Does what this process was started for; returns at once if that is nothing.
///
/// # Panics
/// If the orders make no sense.
pub fn child(system: System) {
    let Ok(text) = std::env::var(ORDERS) else { return };
    let orders = Orders::of_text(&text).expect("orders");
    let path = |name| PathBuf::from(std::env::var_os(name).expect("a path"));
    // A supervisor that is gone can neither kill its children nor wait for them.
    set_parent_process_death_signal(Some(Signal::KILL)).expect("a death signal");
    if getppid().is_none_or(|pid| pid.as_raw_nonzero().get() as u32 != orders.supervisor) {
        return;
    }
    let child = CHILD.get_or_init(|| {
        let ledger = Ledger::open(&path(LEDGER_PATH));
        Child {
            acked: Mutex::new(ledger.acked_by(orders.seat)),
            orders,
            path: path(DATA_PATH),
            ledger,
            system,
            passes: AtomicU64::new(0),
            arrived: AtomicBool::new(false),
            silent: AtomicBool::new(false),
        }
    });
    child.be_thread(0);
    on_points(hook);
    let done = match orders.role {
        Role::Writer => writer::run(child),
        Role::Reader | Role::Guest => reader::run(child),
    };
    if let Err(text) = done {
        child.fail(&text);
    }
}

fn hook(point: Point) {
    if let Some(child) = CHILD.get() {
        child.pass(point);
    }
}

/// The kernel's clock in nanoseconds: the same for all processes.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Child {
    /// The calling thread is number `thread`.
    pub(crate) fn be_thread(&self, thread: usize) {
        assert!(thread < THREADS);
        THREAD.set(thread);
        let seed = self.orders.seed ^ (thread as u64 + 1) << 32;
        DAWDLING.replace(Random::new(seed));
    }

    /// What the calling thread is about from now on.
    pub(crate) fn enter(&self, context: Context) {
        CONTEXT.set(context);
        self.note(None);
    }

    /// The calling thread is between transactions, now and then for a while.
    pub(crate) fn outside(&self, random: &mut Random) {
        self.enter(Context::Outside);
        self.stop_at(Place::Outside, || orphan::at_a_point(self));
        if random.chance(4) {
            std::thread::sleep(Duration::from_micros(random.below(3000)));
        }
    }

    fn note(&self, point: Option<Point>) {
        let phase = Phase { context: CONTEXT.get(), point };
        self.ledger.set_phase(self.orders.seat, THREAD.get(), phase);
    }

    fn pass(&self, point: Point) {
        if self.silent.load(Ordering::Relaxed) {
            return;
        }
        self.note(Some(point));
        match point {
            Point::WriterTaken => self.ledger.set(self.orders.seat, SeatWord::TakenAt, now()),
            Point::RepairSealed => self.ledger.note_repair(),
            _ => {}
        }
        self.stop_at(Place::Point(point), || orphan::at_a_point(self));
        if self.orders.dawdles {
            DAWDLING.with_borrow_mut(|random| dawdle(point, random));
        }
    }

    /// Stops here if this is the place where it was told to; whether it was. `live_on`: what a
    /// forked child does.
    pub(crate) fn stop_at(&self, place: Place, live_on: impl FnOnce()) -> bool {
        let Some(stop) = self.orders.stop.filter(|stop| stop.place == place) else { return false };
        if self.passes.fetch_add(1, Ordering::Relaxed) < stop.passes {
            return false;
        }
        if self.arrived.swap(true, Ordering::Relaxed) {
            return false;
        }
        let seat = self.orders.seat;
        if stop.act == Act::Fork {
            let this = std::process::id();
            if (self.system.fork)() {
                self.silent.store(true, Ordering::Relaxed);
                self.ledger.set(seat, SeatWord::Fork, u64::from(std::process::id()));
                // If its parent was killed before it said so, the supervisor does not know of it,
                // and would not wait for its end.
                if is_child_of(this) {
                    live_on();
                }
                (self.system.exit)(0);
            }
            // Until the child runs, it has what a fork shares, and keeps its parent's locks alive.
            while self.ledger.get(seat, SeatWord::Fork) == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        self.ledger.set(seat, SeatWord::Arrived, THREAD.get() as u64 + 1);
        while stop.act != Act::PassOn && self.ledger.get(seat, SeatWord::GoOn) == 0 {
            std::thread::sleep(Duration::from_micros(200));
        }
        true
    }

    /// Commit `seq` was acknowledged to the calling thread.
    pub(crate) fn ack(&self, seq: u64, durable: bool) {
        let mut acked = self.acked.lock().unwrap_or_else(PoisonError::into_inner);
        acked.any = acked.any.max(seq);
        acked.durable = if durable { acked.durable.max(seq) } else { acked.durable };
        self.ledger.ack(self.orders.seat, seq, *acked);
    }

    /// One more of what a word counts.
    pub(crate) fn count(&self, word: SeatWord) {
        let seat = self.orders.seat;
        self.ledger.set(seat, word, self.ledger.get(seat, word) + 1);
    }

    /// Says what is wrong, and ends the process.
    pub(crate) fn fail(&self, text: &str) -> ! {
        self.ledger.set_trouble(self.orders.seat, text);
        (self.system.exit)(1)
    }

    /// Whether the canary is what was begun under its number.
    pub(crate) fn compare(&self, canary: &super::content::Canary) -> Outcome<()> {
        compare(&self.ledger, canary)
    }
}

/// Whether the process that forked this one is still there.
fn is_child_of(pid: u32) -> bool {
    rustix::process::getppid().is_some_and(|parent| parent.as_raw_nonzero().get() as u32 == pid)
}

/// Waits a little now and then. A reader that comes late to its pin must notice, so it often does.
fn dawdle(point: Point, random: &mut Random) {
    let micros = match random.below(200) {
        0 => random.below(3000),
        1..16 => random.below(300),
        16..32 if point == Point::SnapshotSeen => random.below(8000),
        _ => return,
    };
    std::thread::sleep(Duration::from_micros(micros));
}

/// Whether the canary is what was begun under its number.
pub(crate) fn compare(ledger: &Ledger, canary: &super::content::Canary) -> Outcome<()> {
    let entry = ledger.entry(canary.seq);
    let same = (entry.seq, entry.txnid, entry.chain) == (canary.seq, canary.txnid, canary.chain);
    if same { Ok(()) } else { Err(format!("{canary:x?} is not what was begun: {entry:x?}")) }
}

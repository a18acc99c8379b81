//! A process that writes to an LSM table, merges or reads it, until it is killed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use huon::sim::{Point, on_points};
use huon::{Durability, Env, Result};
use huon_testkit::random::Random;
use rustix::process::{Signal, getpid, getppid, kill_process, set_parent_process_death_signal};

use crate::work::{Replay, lsm_options, open, options, prepare, unless_evicted};

pub(crate) const ORDERS: &str = "HUON_LSM_ORDERS";
pub(crate) const DATA_PATH: &str = "HUON_LSM_DATA";

/// For so long others leave a merge to a compactor that may be dead.
pub(crate) const LEASE: Duration = Duration::from_millis(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Writer,
    Compactor,
    Reader,
}

pub(crate) const ROLES: [Role; 3] = [Role::Writer, Role::Compactor, Role::Reader];

/// What a process is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Orders {
    pub(crate) role: Role,
    pub(crate) seat: u64,
    pub(crate) seed: u64,
    /// It kills itself where it comes to this point after so many passes.
    pub(crate) stop: Option<(Point, u64)>,
    pub(crate) supervisor: u32,
}

impl Orders {
    pub(crate) fn to_text(self) -> String {
        let role = ROLES.iter().position(|role| *role == self.role).unwrap_or(0) as u64;
        let (point, passes) = self.stop.map_or((255, 0), |(point, passes)| (point as u64, passes));
        let words = [role, self.seat, self.seed, point, passes, u64::from(self.supervisor)];
        words.map(|word| word.to_string()).join(" ")
    }

    fn of_text(text: &str) -> Option<Orders> {
        let words: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
        let [role, seat, seed, point, passes, supervisor] = words?.try_into().ok()?;
        let stop = Point::ALL.get(point as usize).map(|point| (*point, passes));
        let role = *ROLES.get(role as usize)?;
        Some(Orders { role, seat, seed, stop, supervisor: supervisor as u32 })
    }
}

static STOP: OnceLock<(Point, u64)> = OnceLock::new();
static PASSES: AtomicU64 = AtomicU64::new(0);

/// For the hook of this binary.
pub(crate) fn came_to(point: Point) {
    let Some((place, passes)) = STOP.get() else { return };
    if *place == point && PASSES.fetch_add(1, Ordering::Relaxed) == *passes {
        println!("there");
        // Others come to wait for it. It is not left to the supervisor to kill it, which may be one
        // of them.
        std::thread::sleep(Duration::from_millis(5));
        kill_process(getpid(), Signal::KILL).expect("a signal");
    }
}

/// Does what this process was started for; returns at once if that is nothing.
pub(crate) fn child() {
    let Ok(text) = std::env::var(ORDERS) else { return };
    let orders = Orders::of_text(&text).expect("orders");
    set_parent_process_death_signal(Some(Signal::KILL)).expect("a death signal");
    if getppid().is_none_or(|pid| pid.as_raw_nonzero().get() as u32 != orders.supervisor) {
        return;
    }
    if let Some(stop) = orders.stop {
        STOP.set(stop).expect("they come once");
        on_points(crate::hook);
    }
    let path = std::env::var_os(DATA_PATH).expect("a path");
    let mut options = options();
    // Steps of a merge are flushed by its compactor there.
    if orders.seat.is_multiple_of(2) && orders.role == Role::Compactor {
        options.durability(Durability::Durable);
    }
    let env = options.open(path).expect("an environment");
    let random = Random::new(orders.seed);
    let done = match orders.role {
        Role::Writer => write(&env, orders.seat, random),
        Role::Compactor => compact(&env, random),
        Role::Reader => read(&env, random),
    };
    done.expect("no error");
}

fn write(env: &Env, seat: u64, mut random: Random) -> Result<()> {
    // Some merge themselves after their commits.
    let (_lsm, table) = open(env, lsm_options(if seat == 0 { 1 } else { 100 }, LEASE));
    loop {
        let mut txn = env.write()?;
        let number = prepare(&mut txn, &table, seat)?;
        if random.chance(10) {
            txn.abort();
            continue;
        }
        let is_durable = random.chance(20);
        txn.commit_with(if is_durable { Durability::Durable } else { Durability::Lazy })?;
        println!("acknowledged {number}");
        if random.chance(20) {
            std::thread::sleep(Duration::from_micros(random.below(2000)));
        }
    }
}

fn compact(env: &Env, mut random: Random) -> Result<()> {
    let (lsm, _table) = open(env, lsm_options(100, LEASE));
    loop {
        if random.chance(2) {
            lsm.compactor().merge_all()?;
        } else if !lsm.compactor().run_once()? {
            std::thread::sleep(Duration::from_micros(300));
            continue;
        }
        println!("step");
        // Now and then for longer than its claim lasts.
        let most = if random.chance(3) { 50_000 } else { 1000 };
        std::thread::sleep(Duration::from_micros(random.below(most)));
    }
}

/// Verifies each snapshot when it comes, and again when it was held or parked over merges.
fn read(env: &Env, mut random: Random) -> Result<()> {
    let (_lsm, table) = open(env, lsm_options(100, LEASE));
    let mut replay = Replay::default();
    loop {
        let txn = env.read()?;
        replay.verify(&txn, &table)?;
        println!("read");
        let pause = Duration::from_micros(random.below(20_000));
        if random.chance(50) {
            std::thread::sleep(pause);
            replay.compare(&txn, &table)?;
            println!("held");
        } else {
            let parked = txn.park()?;
            std::thread::sleep(pause);
            if let Some(txn) = unless_evicted(parked.unpark())? {
                replay.compare(&txn, &table)?;
                println!("parked");
            }
        }
    }
}

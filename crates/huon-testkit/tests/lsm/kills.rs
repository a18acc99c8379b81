//! Writers, compactors and readers of one LSM table in processes that are killed: at random times,
//! and at the engine's points between its steps.
//!
//! 1. After each death another process goes on, and nothing acknowledged is missing.
//! 2. From time to time all are killed. What is left is sound then, and the claim of a compactor
//!    that is dead lapses: another one finishes its merge.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use huon::Env;
use huon::sim::Point;
use huon_lsm::{Lsm, RawLsmTable};
use huon_testkit::figures;
use huon_testkit::random::Random;
use huon_testkit::scale::{self, goes_on};
use rustix::process::{Pid, Signal, kill_process};

use crate::child::{DATA_PATH, LEASE, ORDERS, Orders, Role};
use crate::work::{Replay, check, count, is_merging, lsm_options, open, options, prepare};

const KILLS: u64 = 3000;
/// Longer than anything takes.
const HANG: Duration = Duration::from_secs(60);
/// One that has not come to its point by then is killed where it is.
const ARRIVAL: Duration = Duration::from_millis(250);
/// The supervisor's own number as a writer.
const OWN: u64 = 100;

/// Writers, compactors that share their lanes, and a reader.
const SEATS: [Role; 6] =
    [Role::Writer, Role::Writer, Role::Writer, Role::Compactor, Role::Compactor, Role::Reader];

/// Where processes that write and merge are killed.
const POINTS: [Point; 16] = [
    Point::Pinned,
    Point::WriterWanted,
    Point::WriterTaken,
    Point::Begun,
    Point::CommitBegun,
    Point::TablesStored,
    Point::PagesWritten,
    Point::ImageFilled,
    Point::Sealed,
    Point::Published,
    Point::WriterLeft,
    Point::FlusherTaken,
    Point::CandidateStored,
    Point::MetaWritten,
    Point::Flushed,
    Point::CommitDone,
];

/// What a process has said.
#[derive(Default)]
struct Said {
    acknowledged: AtomicU64,
    work: AtomicU64,
    held: AtomicU64,
    parked: AtomicU64,
    is_there: AtomicBool,
}

struct Process {
    orders: Orders,
    child: Child,
    said: Arc<Said>,
    listener: std::thread::JoinHandle<()>,
    started: Instant,
    due: Duration,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Default, Debug)]
struct Tally {
    writers: u64,
    compactors: u64,
    readers: u64,
    at_points: u64,
    /// Compactors whose death left a merge that had begun.
    merging: u64,
    /// All processes at once, with a merge that had begun.
    collapses: u64,
    stopped: u64,
    commits: u64,
    steps: u64,
    held: u64,
    parked: u64,
}

impl Tally {
    fn kills(&self) -> u64 {
        self.writers + self.compactors + self.readers
    }

    /// What each run has to hit and this one did not.
    fn lacks(&self) -> Vec<&'static str> {
        let cases = [
            ("writers killed", self.writers),
            ("compactors killed", self.compactors),
            ("readers killed", self.readers),
            ("killed at a point", self.at_points),
            ("compactors killed in the middle of a merge", self.merging),
            ("collapses in the middle of a merge", self.collapses),
            ("compactors that were stopped", self.stopped),
            ("snapshots that were held", self.held),
            ("snapshots that were parked", self.parked),
            ("steps of compactors", self.steps),
        ];
        cases.into_iter().filter(|case| case.1 == 0).map(|case| case.0).collect()
    }
}

struct Supervisor {
    path: PathBuf,
    random: Random,
    seats: [Option<Process>; SEATS.len()],
    /// The highest number that each writer had acknowledged.
    acknowledged: [u64; SEATS.len()],
    replay: Replay,
    /// This process's own handles; dropped before all are killed.
    own: Option<(Env, Lsm, RawLsmTable)>,
    points: Vec<Point>,
    tally: Tally,
}

impl Supervisor {
    fn new(dir: &Path, seed: u64) -> Supervisor {
        Supervisor {
            path: dir.join("lsm.huon"),
            random: Random::new(seed),
            seats: Default::default(),
            acknowledged: Default::default(),
            replay: Replay::default(),
            own: None,
            points: Vec::new(),
            tally: Tally::default(),
        }
    }

    fn own(&mut self) -> &(Env, Lsm, RawLsmTable) {
        self.own.get_or_insert_with(|| {
            let env = options().lock_timeout(HANG).open(&self.path).expect("it opens");
            let (lsm, table) = open(&env, lsm_options(100, LEASE));
            (env, lsm, table)
        })
    }

    fn start(&mut self, seat: usize) {
        let role = SEATS[seat];
        if self.points.is_empty() {
            self.points = POINTS.to_vec();
        }
        let stop = (role != Role::Reader && self.random.chance(60)).then(|| {
            let at = self.random.index(self.points.len());
            (self.points.swap_remove(at), self.random.below(6))
        });
        let supervisor = std::process::id();
        let seed = self.random.next();
        let orders = Orders { role, seat: seat as u64, seed, stop, supervisor };
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "child_process", "--nocapture", "--test-threads=1"])
            .env(ORDERS, orders.to_text())
            .env(DATA_PATH, &self.path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child process");
        let said = Arc::new(Said::default());
        let (lines, heard) = (child.stdout.take().expect("a pipe"), said.clone());
        let listener = std::thread::spawn(move || {
            BufReader::new(lines).lines().map_while(Result::ok).for_each(|line| heard.hear(&line));
        });
        let due = Duration::from_millis(10 + self.random.below(60));
        let started = Instant::now();
        self.seats[seat] = Some(Process { orders, child, said, listener, started, due });
    }

    /// Whether the process in a seat is to be killed.
    fn is_due(&mut self, seat: usize) -> bool {
        let Some(process) = &mut self.seats[seat] else { return false };
        if let Some(status) = process.child.try_wait().expect("a child") {
            // It has come to its point.
            assert!(status.code().is_none(), "seat {seat}, {status}: {:?}", process.orders);
            return true;
        }
        let works = process.said.work.load(Ordering::Relaxed) > 0;
        let age = process.started.elapsed();
        assert!(works || age < HANG, "seat {seat} hangs: {:?}", process.orders);
        match process.orders.stop {
            Some(_) => works && age > ARRIVAL,
            None => works && age > process.due,
        }
    }

    /// Kills the process in a seat, once all that it has said was heard.
    fn kill(&mut self, seat: usize) {
        let Some(mut process) = self.seats[seat].take() else { return };
        process.child.kill().expect("SIGKILL");
        let status = process.child.wait().expect("its end");
        assert!(status.code().is_none(), "seat {seat} ended by itself, {status}");
        while !process.listener.is_finished() {
            std::thread::yield_now();
        }
        let said = &process.said;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let tally = &mut self.tally;
        match process.orders.role {
            Role::Writer => {
                (tally.writers, tally.commits) = (tally.writers + 1, tally.commits + of(&said.work))
            }
            Role::Compactor => {
                (tally.compactors, tally.steps) =
                    (tally.compactors + 1, tally.steps + of(&said.work))
            }
            Role::Reader => tally.readers += 1,
        }
        tally.held += of(&said.held);
        tally.parked += of(&said.parked);
        tally.at_points += u64::from(said.is_there.load(Ordering::Relaxed));
        let acknowledged = &mut self.acknowledged[seat];
        *acknowledged = (*acknowledged).max(of(&said.acknowledged));
    }

    /// This process goes on, and misses nothing.
    fn go_on(&mut self) {
        let (env, lsm, table) = self.own().clone();
        let mut txn = env.write().expect("the writer lock");
        prepare(&mut txn, &table, OWN).expect("a transaction");
        txn.commit().expect("a commit");
        let txn = env.read().expect("a snapshot");
        self.replay.verify(&txn, &table).expect("records");
        for (seat, acknowledged) in self.acknowledged.iter().enumerate() {
            let there = count(&txn, seat as u64).expect("a count");
            assert!(
                there >= *acknowledged,
                "seat {seat}: {acknowledged} is lost, {there} is there"
            );
        }
        drop(txn);
        lsm.compactor().run_once().expect("a step");
    }

    /// All die. Another process finds all as it should be, and finishes merges that had begun.
    fn collapse(&mut self) {
        self.own = None;
        (0..SEATS.len()).for_each(|seat| self.kill(seat));
        let (env, lsm, table) = self.own().clone();
        check(&env, &table);
        let was_merging = is_merging(&env.read().expect("a snapshot"), &table);
        self.tally.collapses += u64::from(was_merging);
        lsm.compactor().run_until_idle().expect("merges");
        assert!(!is_merging(&env.read().expect("a snapshot"), &table), "a claim does not lapse");
        check(&env, &table);
        self.go_on();
    }

    /// Stops a process for longer than its claims last, wherever it is.
    fn stop_one(&mut self) {
        let seat = 3 + self.random.index(2);
        let Some(process) = &self.seats[seat] else { return };
        let pid = Pid::from_raw(process.child.id() as i32).expect("a process id");
        kill_process(pid, Signal::STOP).expect("a living process");
        std::thread::sleep(2 * LEASE);
        kill_process(pid, Signal::CONT).expect("a living process");
        self.tally.stopped += 1;
    }

    fn turn(&mut self) {
        for (seat, role) in SEATS.into_iter().enumerate() {
            if self.seats[seat].is_none() {
                self.start(seat);
            }
            if !self.is_due(seat) {
                continue;
            }
            self.kill(seat);
            if role == Role::Compactor {
                let (env, _, table) = self.own().clone();
                let txn = env.read().expect("a snapshot");
                self.tally.merging += u64::from(is_merging(&txn, &table));
            }
            self.go_on();
            if self.random.chance(8) {
                self.collapse();
            } else if self.random.chance(8) {
                self.stop_one();
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Said {
    fn hear(&self, line: &str) {
        let add = |count: &AtomicU64| count.fetch_add(1, Ordering::Relaxed);
        if let Some(number) = line.strip_prefix("acknowledged ") {
            self.acknowledged.store(number.parse().expect("a number"), Ordering::Relaxed);
            add(&self.work);
        }
        match line {
            "step" | "read" => drop(add(&self.work)),
            "held" => drop(add(&self.held)),
            "parked" => drop(add(&self.parked)),
            "there" => self.is_there.store(true, Ordering::Release),
            _ => {}
        }
    }
}

#[test]
fn killed_processes_lose_nothing_and_their_merges_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut supervisor = Supervisor::new(dir.path(), scale::seed("lsm kills", 0));
    supervisor.go_on();
    let (start, kills, until) = (Instant::now(), scale::share(KILLS), scale::until());
    let goes_on = |tally: &Tally| match until {
        Some(end) => Instant::now() < end,
        None => goes_on(tally.kills(), kills, || !tally.lacks().is_empty()),
    };
    while goes_on(&supervisor.tally) {
        supervisor.turn();
    }
    supervisor.collapse();
    let tally = &supervisor.tally;
    println!("{tally:?}, {:?}", start.elapsed());
    figures::add("kill", tally.kills());
    figures::named("lsm.kills", tally.kills());
    assert!(
        !scale::has_minimums() || tally.lacks().is_empty(),
        "no {:?}: {tally:?}",
        tally.lacks()
    );
}

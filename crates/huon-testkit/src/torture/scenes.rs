//! What is shown step by step rather than by many kills: dead readers retain nothing, and a stopped
//! process holds up others only as long as they are willing to wait.

use std::path::Path;
use std::time::Duration;

use huon::sim::Point;
use huon::{Error, RetainedBy};
use rustix::process::Signal;

use super::content::{Amount, Waits, commit, verify};
use super::crew::Crew;
use super::ledger::SeatWord;
use super::orders::{Act, Orders, Place, Role, Stop};
use super::{OpenEnv, options};
use crate::support::audit::audit;
use crate::support::random::Random;

/// How long a process is willing to wait that is to wait in vain.
const SHORT: Duration = Duration::from_millis(60);

/// A crew, and an environment in the supervisor's own process that writes beside it.
struct Scene {
    crew: Crew,
    env: OpenEnv,
    random: Random,
}

impl Scene {
    fn new(dir: &Path, name: &str, seed: u64) -> Scene {
        let path = dir.join(format!("{name}.huon"));
        let crew = Crew::new(&path);
        let env = OpenEnv(options(512, false).open(&path).expect("a new file"));
        let mut scene = Scene { crew, env, random: Random::new(seed) };
        scene.commit(Amount::Much, Waits::ForDisk);
        scene
    }

    fn commit(&mut self, amount: Amount, waits: Waits) {
        let done = commit(&self.env, &self.crew.ledger, &mut self.random, amount, waits);
        done.unwrap_or_else(|text| panic!("{text}\n{}", self.crew.report()));
    }

    fn start(&mut self, role: Role, seat: usize, stop: Option<Stop>, lazy: u64) {
        self.crew.start(Orders {
            role,
            seat,
            seed: self.random.next(),
            stop,
            threads: 1,
            lazy,
            page_bytes: 512,
            journal: false,
            supervisor: std::process::id(),
            dawdles: false,
        });
    }

    fn await_arrivals(&mut self, seats: &[usize]) {
        self.crew.wait_until("a stop of one of them", |crew| {
            seats.iter().all(|seat| crew.has_arrived(*seat))
        });
    }

    fn verify(&self) {
        let txn = self.env.read().expect("readers are never held up");
        let canary = verify(&txn, false).expect("a whole snapshot");
        super::child::compare(&self.crew.ledger, &canary).expect("one that was begun");
    }

    /// Process ids of the readers that the environment lists as retaining pages, and the pages
    /// that each retains.
    fn readers(&self) -> Vec<(u32, u64)> {
        let stat = self.env.stat().expect("where the space is");
        let reader = |snapshot: &huon::RetainedSnapshot| match snapshot.by {
            RetainedBy::Reader(info) => Some((info.pid, snapshot.pages)),
            _ => None,
        };
        stat.retained_snapshots.iter().filter_map(reader).collect()
    }
}

/// Kills readers that have snapshots pinned, or are about to, until so many are dead; returns how
/// many, and how many of them had forked a child that lived on.
///
/// # Panics
/// If what they retained is not free after the next commits.
pub fn kill_readers_that_hold(dir: &Path, seed: u64, kills: u64) -> (u64, u64) {
    let mut scene = Scene::new(dir, "holders", seed);
    (0..6).for_each(|_| scene.commit(Amount::Much, Waits::ForDisk));
    let alone = scene.env.info().expect("information").used_bytes;
    let claimed = Place::Point(Point::SlotClaimed);
    let seats = [
        (8, Place::Point(Point::Pinned), Act::WaitThere),
        (9, Place::InTransaction, Act::WaitThere),
        (10, Place::InTransaction, Act::Fork),
        (11, claimed, Act::WaitThere),
    ];
    let (mut killed, mut parents) = (0, 0);
    while killed < kills {
        for (seat, place, act) in seats {
            // Later it may claim a slot for a check while it has a snapshot.
            let passes = if place == claimed { 0 } else { scene.random.below(3) };
            scene.start(Role::Reader, seat, Some(Stop { place, passes, act }), 0);
        }
        scene.await_arrivals(&seats.map(|(seat, ..)| seat));
        (0..3).for_each(|_| scene.commit(Amount::Much, Waits::ForDisk));
        let readers = scene.readers();
        for (seat, place, _) in seats {
            let pid = scene.crew.pid(seat).as_raw_nonzero().get() as u32;
            let pages = readers.iter().find(|reader| reader.0 == pid).map(|reader| reader.1);
            let retains = pages.is_some_and(|pages| pages > 0);
            assert!(retains == (place != claimed), "{place:?}, process {pid}: {readers:?}");
        }
        for (seat, ..) in seats {
            let remains = scene.crew.kill(seat);
            killed += 1;
            parents += u64::from(remains.has_orphan);
        }
        // The scan of the first finds them dead; what they retained the second may use.
        (0..2).for_each(|_| scene.commit(Amount::Much, Waits::ForDisk));
        let readers = scene.readers();
        assert!(readers.is_empty(), "dead readers retain pages: {readers:?}");
        let readers = scene.env.info().expect("information").readers;
        assert!(readers.is_empty(), "dead readers are listed: {readers:?}");
        scene.crew.end_orphans();
    }
    let used = scene.env.info().expect("information").used_bytes;
    // The most of all rounds, whose sizes are random: 2 to 3 times as much, over many seeds. If
    // what dead readers retained were lost, each round would add to it.
    assert!(used < alone * 4, "{used} bytes in use, {alone} before there were readers");
    audit(&scene.env).expect("a clean file");
    (killed, parents)
}

/// Stops writers, flushers and readers in the middle of their work, so many of each; some go on,
/// and some die. Returns how often a process was stopped, and how many writers were killed.
///
/// # Panics
/// If others are held up by more than an error in time, or anything is lost.
pub fn stop_processes(dir: &Path, seed: u64, rounds: u64) -> (u64, u64) {
    let mut scene = Scene::new(dir, "stopped", seed);
    let with_role = [
        Point::WriterTaken,
        Point::Begun,
        Point::TablesStored,
        Point::PagesWritten,
        Point::ImageFilled,
        Point::Sealed,
        Point::Published,
    ];
    let flushing = [
        Point::FlusherTaken,
        Point::CandidateStored,
        Point::PlanStored,
        Point::MetaWritten,
        Point::Flushed,
        Point::FlushPublished,
        Point::DurableMoved,
    ];
    let mut killed = 0;
    for round in 0..rounds {
        let goes_on = round % 2 == 0;
        let point = with_role[round as usize / 2 % with_role.len()];
        stopped_writer(&mut scene, point, goes_on);
        let point = flushing[round as usize / 2 % flushing.len()];
        stopped_flusher(&mut scene, point, goes_on);
        stopped_reader(&mut scene);
        killed += 3;
    }
    audit(&scene.env).expect("a clean file");
    (rounds * 3, killed)
}

fn stop_in(scene: &mut Scene, seat: usize, point: Point, lazy: u64) {
    let stop = Stop { place: Place::Point(point), passes: 1, act: Act::WaitThere };
    scene.start(Role::Writer, seat, Some(stop), lazy);
    scene.await_arrivals(&[seat]);
    scene.crew.signal(seat, Signal::STOP);
}

fn go_on(scene: &mut Scene, seat: usize) {
    scene.crew.ledger.set(seat, SeatWord::GoOn, 1);
    scene.crew.signal(seat, Signal::CONT);
    let before = scene.crew.work(seat);
    let what = "the work of one that was stopped";
    scene.crew.wait_until(what, |crew| crew.work(seat) > before + 2);
}

/// A client that wants to write gets an error that names the holder; readers notice nothing.
fn stopped_writer(scene: &mut Scene, point: Point, goes_on: bool) {
    stop_in(scene, 0, point, 100);
    let pid = scene.crew.pid(0).as_raw_nonzero().get();
    match scene.env.write_within(SHORT) {
        Err(Error::Busy(text)) if text.contains(&format!("process {pid},")) => {}
        other => panic!("{point:?}, process {pid} is stopped: {other:?}"),
    }
    scene.verify();
    if goes_on {
        go_on(scene, 0);
    }
    scene.crew.kill(0);
    scene.commit(Amount::Little, Waits::ForDisk);
    scene.verify();
}

/// Lazy commits go on; a client that waits for its flush waits for as long as it is stopped, or
/// until it is dead.
fn stopped_flusher(scene: &mut Scene, point: Point, goes_on: bool) {
    stop_in(scene, 0, point, 0);
    scene.commit(Amount::Little, Waits::ForNothing);
    scene.verify();
    scene.start(Role::Writer, 1, None, 0);
    scene.crew.wait_until("one that waits for a flush", |crew| {
        crew.work(1) > 0 || crew.ledger.phases(1)[0].waits_for_flush()
    });
    // Only after `durable` has moved is there nothing more to wait for, but for the next flush.
    let moved = point >= Point::DurableMoved;
    assert!(moved || scene.crew.work(1) == 0, "{point:?}: durable without a flush");
    if goes_on {
        go_on(scene, 0);
    } else {
        scene.crew.kill(0);
    }
    scene.crew.wait_until("the client that waited for a flush", |crew| crew.work(1) > 0);
    if goes_on {
        scene.crew.kill(0);
    }
    scene.crew.kill(1);
    scene.commit(Amount::Little, Waits::ForDisk);
    scene.verify();
}

/// A snapshot stays what it is while its reader is stopped.
fn stopped_reader(scene: &mut Scene) {
    let stop = Stop { place: Place::InTransaction, passes: 2, act: Act::WaitThere };
    scene.start(Role::Reader, 8, Some(stop), 0);
    scene.await_arrivals(&[8]);
    scene.crew.signal(8, Signal::STOP);
    (0..4).for_each(|_| scene.commit(Amount::Much, Waits::ForNothing));
    go_on(scene, 8);
    scene.crew.kill(8);
}

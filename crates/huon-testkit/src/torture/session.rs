//! One file, its processes, and the kills: the supervisor's work.
//!
//! Most kills come at a random time of a process's life, or when it has come to the point where it
//! was told to stop. After a writer's death no process is killed at random until another writer has
//! the lock, so that the time until then can be taken. From time to time all are killed at once,
//! and then those that open the file again, before some are left alone.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use huon::sim::Point;
use huon::{Env, Recovery};
use rustix::process::Signal;

use super::child::compare;
use super::content::{Amount, Canary, Waits, commit, told, verify};
use super::crew::{Crew, HANG};
use super::ledger::SeatWord;
use super::orders::{Act, Orders, Place, Role, Stop};
use super::phase::{GUESTS_POINTS, READING_POINTS, is_for_writers};
use super::tally::Tally;
use super::{OpenEnv, options};
use crate::support::audit::audit;
use crate::support::random::Random;

/// Seats from here on are readers'.
const READERS_AT: usize = 8;
/// A process that has not come to its point after so much work, or by then, never does.
const WORK_MAX: u64 = 60;
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one that has come is left there, so that others come to wait for it.
const COMPANY: Duration = Duration::from_millis(25);
/// Kills of writers between two times that all are killed.
const COLLAPSE_EACH: u64 = 25;

/// What a run is like.
#[derive(Clone, Debug)]
pub struct Session {
    /// A word for the output.
    pub name: String,
    /// Where its file and ledger lie.
    pub dir: PathBuf,
    /// The seed of all that is not a matter of time.
    pub seed: u64,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Writers at a time.
    pub writers: usize,
    /// Readers at a time.
    pub readers: usize,
    /// How many of the readers may not write.
    pub guests: usize,
    /// Threads of each writer.
    pub threads: usize,
    /// How many commits in a hundred are lazy.
    pub lazy: u64,
    /// Whether it has a journal.
    pub journal: bool,
}

/// Places that ordinary work comes to; each is drawn as often as the others.
fn live_places() -> Vec<Place> {
    let opening = [Point::OpenAlone, Point::OpenChosen, Point::OpenReady];
    let repair = [Point::TailRewritten, Point::RepairSealed, Point::RepairFlushed];
    let special = [&opening[..], &repair].concat();
    let points = Point::ALL.iter().copied();
    let points = points.filter(|point| !special.contains(point) && is_for_writers(*point));
    points.map(Place::Point).chain([Place::InTransaction, Place::Outside]).collect()
}

/// Places that the first one to come after a collapse meets.
fn recovery_places() -> Vec<Place> {
    let flush = Point::CandidateStored..=Point::FlightEnded;
    let repair = [Point::TailRewritten, Point::RepairSealed, Point::RepairFlushed, Point::Begun];
    let opening = [Point::OpenAlone, Point::OpenChosen, Point::OpenReady];
    let more = Point::ALL.iter().copied().filter(|point| flush.contains(point));
    opening.into_iter().chain(repair).chain(more).map(Place::Point).collect()
}

/// Cards that all come up before one comes again.
struct Deck {
    cards: Vec<Place>,
    left: Vec<Place>,
}

impl Deck {
    fn new(cards: Vec<Place>) -> Deck {
        Deck { cards, left: Vec::new() }
    }

    fn draw(&mut self, random: &mut Random) -> Place {
        if self.left.is_empty() {
            self.left = self.cards.clone();
        }
        let at = random.index(self.left.len());
        self.left.swap_remove(at)
    }

    /// A card that came to nothing is drawn again, unless it seems to lead nowhere.
    fn put_back(&mut self, card: Place, random: &mut Random) {
        if random.chance(75) {
            self.left.push(card);
        }
    }
}

struct Supervisor {
    session: Session,
    crew: Crew,
    random: Random,
    tally: Tally,
    live: Deck,
    recovery: Deck,
    /// When each seat's process is killed if nothing else kills it.
    due: [Instant; 16],
    /// Since when a process has been where it was to stop.
    there: [Option<Instant>; 16],
    /// A writer's death after which no client has taken the lock yet.
    pending: Option<(u64, Instant)>,
    since_collapse: u64,
}

impl Session {
    /// Runs until so many writers and readers are killed, or until `until`, if that is given.
    ///
    /// # Panics
    /// If anything is lost, wrong, or hangs.
    pub fn run(&self, writers: u64, readers: u64, until: Option<Instant>) -> Tally {
        let mut supervisor = Supervisor::new(self.clone());
        supervisor.found();
        let wants = |tally: &Tally| match until {
            Some(end) => (Instant::now() < end, Instant::now() < end),
            None => (tally.writers < writers, tally.readers < readers),
        };
        loop {
            let (more_writers, more_readers) = wants(&supervisor.tally);
            if !more_writers && !more_readers {
                break;
            }
            supervisor.turn(more_writers, more_readers);
        }
        supervisor.finish()
    }
}

impl Supervisor {
    fn new(session: Session) -> Supervisor {
        let path = session.dir.join(format!("{}.huon", session.name));
        let crew = Crew::new(&path);
        Supervisor {
            crew,
            random: Random::new(session.seed),
            session,
            tally: Tally::default(),
            live: Deck::new(live_places()),
            recovery: Deck::new(recovery_places()),
            due: [Instant::now(); 16],
            there: [None; 16],
            pending: None,
            since_collapse: 0,
        }
    }

    fn open(&self) -> OpenEnv {
        let opened = options(self.session.page_bytes, self.session.journal).open(&self.crew.path);
        let env = opened.unwrap_or_else(|e| panic!("{}\n{}", told(e), self.crew.report()));
        // Nothing tells of a repair that this process makes, at the latest when it closes.
        if !matches!(env.recovery(), Recovery::New | Recovery::Clean) {
            self.crew.ledger.note_repair();
        }
        OpenEnv(env)
    }

    /// The file, with one commit in it.
    fn found(&mut self) {
        self.commit(&self.open(), Amount::Much);
    }

    fn commit(&mut self, env: &Env, amount: Amount) -> Canary {
        let (ledger, random) = (&self.crew.ledger, &mut self.random);
        let done = commit(env, ledger, random, amount, Waits::ForDisk);
        done.unwrap_or_else(|text| panic!("{text}\n{}", self.crew.report()))
    }

    /// One look at everything.
    fn turn(&mut self, more_writers: bool, more_readers: bool) {
        self.crew.look_for_trouble();
        self.man_the_seats();
        let more = |role| match role {
            Role::Writer => more_writers,
            Role::Reader | Role::Guest => more_readers,
        };
        for seat in self.occupied() {
            let process = self.crew.process(seat).expect("a process in that seat");
            let wanted = more(process.orders.role);
            let writes = process.orders.role == Role::Writer;
            if self.is_due(seat, wanted)
                && let Some(missed) = self.kill(seat)
                && writes
            {
                self.live.put_back(missed, &mut self.random);
            }
        }
        self.look_for_the_next_writer();
        if self.pending.is_none() {
            self.crew.release_orphans();
            if self.random.below(150) == 0 {
                self.stop_one_process();
            }
            if self.since_collapse >= COLLAPSE_EACH {
                self.collapse();
            }
        }
        std::thread::sleep(Duration::from_micros(300));
    }

    fn occupied(&self) -> Vec<usize> {
        self.crew.living().map(|process| process.orders.seat).collect()
    }

    fn man_the_seats(&mut self) {
        let readers = READERS_AT..READERS_AT + self.session.readers;
        let guests = readers.end - self.session.guests..readers.end;
        for seat in (0..self.session.writers).chain(readers) {
            if self.crew.is_vacant(seat) {
                let role = match seat {
                    seat if guests.contains(&seat) => Role::Guest,
                    seat if seat < READERS_AT => Role::Writer,
                    _ => Role::Reader,
                };
                let stop = match role {
                    Role::Writer => self.writers_stop(),
                    Role::Reader => self.readers_stop(&READING_POINTS),
                    // It has no slot, and no client knows of it.
                    Role::Guest => self.readers_stop(&GUESTS_POINTS),
                };
                self.start(role, seat, stop);
            }
        }
    }

    fn start(&mut self, role: Role, seat: usize, stop: Option<Stop>) {
        // A forked child has one thread: what another thread had locked would stay so in it.
        let forks = stop.is_some_and(|stop| stop.act == Act::Fork);
        let threads = if role != Role::Writer || forks { 1 } else { self.session.threads };
        // Some die before they have come to anything.
        let longest = if self.random.chance(10) { 8_000 } else { 400_000 };
        let life = self.random.below(longest) * self.random.below(100) / 100;
        let life = if stop.is_some() { ARRIVAL_TIMEOUT } else { Duration::from_micros(life) };
        self.due[seat] = Instant::now() + life;
        self.there[seat] = None;
        self.crew.start(Orders {
            role,
            seat,
            seed: self.random.next(),
            stop,
            threads,
            lazy: self.session.lazy,
            page_bytes: self.session.page_bytes,
            journal: self.session.journal,
            supervisor: std::process::id(),
            dawdles: self.random.chance(80),
        });
    }

    fn writers_stop(&mut self) -> Option<Stop> {
        let passes = self.random.below(12);
        if self.random.chance(3) {
            return Some(Stop { place: Place::InTransaction, passes, act: Act::Fork });
        }
        if self.random.chance(45) {
            return None;
        }
        let place = self.live.draw(&mut self.random);
        // After these two the process waits by itself.
        let waits = [Point::WriterWanted, Point::FlushAwaited].map(Place::Point).contains(&place);
        let act = match () {
            () if waits => Act::PassOn,
            () if self.random.chance(12) => Act::Fork,
            () => Act::WaitThere,
        };
        // Every process comes to each once, or seldom.
        let once =
            [Point::OpenJoined, Point::FlushAwaited, Point::FirstFlushed, Point::FlushPostponed];
        let passes = if once.map(Place::Point).contains(&place) { 0 } else { passes };
        Some(Stop { place, passes, act })
    }

    fn readers_stop(&mut self, reading: &[Point]) -> Option<Stop> {
        let passes = self.random.below(30);
        let act = if self.random.chance(10) { Act::Fork } else { Act::WaitThere };
        match self.random.below(100) {
            0..20 => Some(Stop { place: Place::InTransaction, passes, act }),
            20..50 => {
                let points = [reading, &[Point::OpenJoined]].concat();
                let point = self.random.pick(&points);
                let passes = if point == Point::OpenJoined { 0 } else { passes };
                Some(Stop { place: Place::Point(point), passes, act })
            }
            _ => None,
        }
    }

    /// Whether the process in that seat is to be killed now. `wanted`: more kills of its kind are.
    /// One that has stopped somewhere is killed in any case, as others may wait for it.
    fn is_due(&mut self, seat: usize, wanted: bool) -> bool {
        if self.there[seat].is_none() && self.crew.has_arrived(seat) {
            self.there[seat] = Some(Instant::now());
            // Some are left for a while, so that others come to wait for them.
            let stays = self.random.chance(35);
            self.due[seat] = Instant::now() + if stays { COMPANY } else { Duration::ZERO };
        }
        if let Some(there) = self.there[seat] {
            let passes = self.crew.process(seat).and_then(|process| process.act());
            let waited_for = there.elapsed() > Duration::from_millis(1) && self.is_waited_for(seat);
            return passes == Some(Act::PassOn) || waited_for || Instant::now() >= self.due[seat];
        }
        let stops = self.crew.process(seat).is_some_and(|process| process.act().is_some());
        let gives_up = stops && self.crew.work(seat) > WORK_MAX;
        wanted && self.pending.is_none() && (gives_up || Instant::now() >= self.due[seat])
    }

    /// Whether another process waits for a flush or for the writer lock.
    fn is_waited_for(&self, seat: usize) -> bool {
        let phases = self.crew.ledger.phases(seat);
        let flushes = phases.iter().any(|phase| phase.is_flushing());
        self.others(seat)
            .any(|phase| if flushes { phase.waits_for_flush() } else { phase.waits_for_role() })
    }

    fn others(&self, seat: usize) -> impl Iterator<Item = super::phase::Phase> {
        let others = self.crew.living().map(|p| p.orders.seat).filter(move |other| *other != seat);
        others.flat_map(|other| self.crew.ledger.phases(other))
    }

    fn kill_all(&mut self) {
        self.kill_all_but(None);
    }

    fn kill_all_but(&mut self, role: Option<Role>) {
        let in_opening = Place::Point(Point::OpenJoined);
        for seat in self.occupied() {
            // One that stays in its opening keeps the gate, and all others out.
            let is_spared = self.crew.process(seat).is_some_and(|process| {
                let stops = process.orders.stop.is_some_and(|stop| stop.place == in_opening);
                role == Some(process.orders.role) && !stops
            });
            if !is_spared {
                self.kill(seat);
            }
        }
    }

    /// Kills the process in that seat; returns the place where it was to be, if it was not there.
    fn kill(&mut self, seat: usize) -> Option<Place> {
        let awaited = self.others(seat).any(|phase| phase.waits_for_flush());
        let remains = self.crew.kill(seat);
        self.tally.kill(&remains, awaited);
        self.tally.commits += self.crew.ledger.get(seat, SeatWord::Commits);
        self.tally.snapshots += self.crew.ledger.get(seat, SeatWord::Snapshots);
        self.tally.audits += self.crew.ledger.get(seat, SeatWord::Audits);
        self.there[seat] = None;
        if remains.orders.role == Role::Writer {
            self.since_collapse += 1;
            let others = self.crew.living().any(|p| p.orders.role == Role::Writer);
            self.pending = others.then(|| (remains.dead_at, Instant::now()));
        }
        let place = remains.orders.stop?.place;
        (!remains.phase.is_at(place)).then_some(place)
    }

    fn look_for_the_next_writer(&mut self) {
        let Some((dead_at, since)) = self.pending else { return };
        let taken_at = self.crew.taken_at();
        if taken_at > dead_at {
            self.tally.latency(taken_at - dead_at);
            self.pending = None;
        } else if since.elapsed() > HANG {
            panic!("no writer for {HANG:?} after one was killed\n{}", self.crew.report());
        }
    }

    /// Stops a process for a moment; then it goes on, or dies without going on.
    fn stop_one_process(&mut self) {
        let occupied = self.occupied();
        if occupied.is_empty() {
            return;
        }
        let seat = self.random.pick(&occupied);
        self.crew.signal(seat, Signal::STOP);
        std::thread::sleep(Duration::from_micros(self.random.below(12_000)));
        self.tally.stops += 1;
        if self.random.chance(50) {
            self.kill(seat);
            self.tally.stopped += 1;
        } else {
            self.crew.signal(seat, Signal::CONT);
        }
    }

    /// All processes die, except guests now and then; their successors may die too, and find every
    /// acknowledged commit.
    fn collapse(&mut self) {
        self.since_collapse = 0;
        self.tally.collapses += 1;
        let spared = self.random.chance(40).then_some(Role::Guest);
        self.kill_all_but(spared);
        self.crew.end_orphans();
        self.pending = None;
        if self.crew.living().next().is_some() {
            // The next client goes on from where the last one died, and is not the first.
            self.tally.guests_alone += 1;
            self.inspect(self.crew.acked().any, true);
            return;
        }
        if self.random.chance(40) {
            self.tally.lock_files_lost += 1;
            let lock = super::lock_path(&self.crew.path);
            std::fs::remove_file(&lock).expect("a lock file");
            let found = self.inspect(self.crew.acked().durable, false);
            self.crew.ledger.rewind(found.seq);
        }
        for _ in 0..1 + self.random.below(9) {
            self.kill_one_that_recovers();
        }
        if self.random.chance(50) {
            self.inspect(self.crew.acked().any, true);
        }
        self.pending = None;
    }

    /// Starts one process alone, and kills it while it opens, repairs, or first writes.
    fn kill_one_that_recovers(&mut self) {
        let writes = self.random.chance(85);
        let opening = [Point::OpenAlone, Point::OpenChosen, Point::OpenReady];
        let place = if writes {
            self.recovery.draw(&mut self.random)
        } else {
            Place::Point(self.random.pick(&opening))
        };
        let act = if self.random.chance(5) { Act::Fork } else { Act::WaitThere };
        let stop = Stop { place, passes: 0, act };
        let (role, seat) = if writes { (Role::Writer, 0) } else { (Role::Reader, READERS_AT) };
        self.start(role, seat, Some(stop));
        let due = self.due[seat];
        self.crew.wait_until("a process that opens", |crew| {
            crew.has_arrived(seat) || crew.work(seat) > 2 || Instant::now() > due
        });
        if let Some(missed) = self.kill(seat) {
            self.recovery.put_back(missed, &mut self.random);
        }
        self.tally.recovering += 1;
        self.crew.end_orphans();
    }

    /// Checks the newest snapshot from here, when no other process is there: it is whole, and not
    /// older than `expected`.
    fn inspect(&mut self, expected: u64, checks: bool) -> Canary {
        let env = self.open();
        let txn = env.read().expect("a snapshot");
        let seen = verify(&txn, false).and_then(|canary| {
            compare(&self.crew.ledger, &canary)?;
            if canary.seq >= expected {
                Ok(canary)
            } else {
                Err(format!("{canary:x?} is the newest, {expected} was acknowledged"))
            }
        });
        drop(txn);
        if checks && seen.is_ok() {
            self.tally.audits += 1;
            audit(&env).unwrap_or_else(|text| panic!("{text}\n{}", self.crew.report()));
        }
        seen.unwrap_or_else(|text| panic!("{text}\n{}", self.crew.report()))
    }

    /// All are killed, and the file is checked once more, and closed cleanly.
    fn finish(mut self) -> Tally {
        self.kill_all();
        self.crew.end_orphans();
        let found = self.inspect(self.crew.acked().any, true);
        let env = self.open();
        let last = self.commit(&env, Amount::Little);
        assert_eq!(last.seq, found.seq + 1);
        drop(env);
        let env = self.open();
        assert_eq!(env.recovery(), Recovery::Clean);
        assert_eq!(verify(&env.read().expect("a snapshot"), true), Ok(last));
        audit(&env).expect("a clean file");
        self.tally.audits += 1;
        self.tally
    }
}

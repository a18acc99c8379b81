//! Crash images of scripts with LSM batches, operands, freezing of the open run, steps and last
//! steps of merges.
//!
//! 1. After each, the environment opens, and shows the state of one commit over the LSM table and
//!    an ordinary one: not older than the last one acknowledged as durable (after a kill: as
//!    committed), not newer than the last one begun. A step of a merge changes no state.
//! 2. Both checks are clean, and a compactor goes on where the one before was.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use huon::sim::{Point, SimDisk, on_points};
use huon::{Bytes, Durability, Env, Error, Options, TableDef, WriteTxn};
use huon_lsm::{Lsm, LsmOptions, RawLsmTable};
use huon_testkit::crash::{Caps, Losses};
use huon_testkit::random::Random;
use huon_testkit::{audit::audit, figures, scale};

use crate::work;

const RESERVE_BYTES: u64 = 2 << 20;
const STATE: TableDef<Bytes, Bytes> = TableDef::new("state");
const KEYS: u64 = 120;

type Model = BTreeMap<u64, Vec<u8>>;

/// A state that was committed.
struct State {
    model: Model,
    /// Events that had happened when its commit began.
    begun: usize,
    /// And once it was acknowledged as durable.
    durable: Option<usize>,
}

/// What a kill at some point leaves.
struct Kill {
    at: usize,
    point: Point,
    lock: Vec<u64>,
    /// The state that must show.
    state: usize,
}

struct Recorder {
    disk: SimDisk,
    kills: Vec<Kill>,
    spans: Vec<Range<usize>>,
    begun: Option<usize>,
    /// The state that every kill leaves, and how many there are.
    sealed: usize,
    count: usize,
}

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

/// For the hook of this binary.
pub(crate) fn came_to(point: Point) {
    RECORDER.with_borrow_mut(|recorder| {
        if let Some(recorder) = recorder {
            recorder.note(point);
        }
    });
}

impl Recorder {
    fn note(&mut self, point: Point) {
        let at = self.disk.event_count();
        match point {
            Point::SlotClaimed | Point::SnapshotSeen | Point::Pinned => return,
            Point::Begun => self.begun = Some(at),
            Point::Sealed => {
                self.spans.extend(self.begun.take().map(|begun| begun..at));
                self.sealed = self.count - 1;
            }
            _ => {}
        }
        let state = self.sealed;
        self.kills.push(Kill { at, point, lock: self.disk.lock_image(), state });
    }
}

fn options(page_bytes: usize) -> Options {
    let mut options = Env::options();
    options
        .page_bytes(page_bytes)
        .max_bytes(RESERVE_BYTES)
        .grow_bytes(8 * page_bytes as u64)
        .durability(Durability::Lazy);
    options
}

fn lsm_options() -> LsmOptions {
    LsmOptions {
        fan: 3,
        filter_bits: 10,
        small: 6,
        open_bytes: 700,
        base_bytes: 600,
        step_bytes: 400,
        batch_bytes: 3000,
        filter_memory: 300,
        slack: 1000,
        runs_max: 2000,
        lease: Duration::ZERO,
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("key {number:03}").into_bytes()
}

fn open(disk: &SimDisk, page_bytes: usize) -> (Env, Lsm, RawLsmTable) {
    let env = options(page_bytes).open_simulated(disk).expect("it opens");
    let (lsm, table) = work::open(&env, lsm_options());
    (env, lsm, table)
}

/// A script while it runs.
struct Stage {
    env: Env,
    lsm: Lsm,
    table: RawLsmTable,
    disk: SimDisk,
    states: Vec<State>,
    random: Random,
}

impl Stage {
    fn model(&self) -> Model {
        self.states.last().expect("the first one").model.clone()
    }

    /// A commit of what `change` does.
    fn commit(
        &mut self,
        durability: Durability,
        change: impl FnOnce(&mut WriteTxn, &RawLsmTable, &mut Model, &mut Random),
    ) {
        let mut model = self.model();
        let mut txn = self.env.write().expect("begin");
        change(&mut txn, &self.table, &mut model, &mut self.random);
        let number = self.states.len() as u64;
        let state = txn.create_table(&STATE).expect("a table");
        state.put(&mut txn, b"state", &number.to_le_bytes()).expect("a record");
        self.states.push(State { model, begun: self.disk.event_count(), durable: None });
        RECORDER.with_borrow_mut(|recorder| {
            let recorder = recorder.as_mut().expect("a recorder");
            recorder.count = recorder.count.max(number as usize + 1);
        });
        txn.commit_with(durability).expect("a commit");
        if durability == Durability::Durable {
            self.acknowledge();
        }
    }

    fn acknowledge(&mut self) {
        let now = self.disk.event_count();
        self.states.iter_mut().for_each(|state| {
            state.durable.get_or_insert(now);
        });
    }

    fn sync(&mut self) {
        self.env.sync().expect("a flush");
        self.acknowledge();
    }

    /// A commit of so many records, some of which are deletes, and some operands.
    fn batch(&mut self, durability: Durability, count: u64) {
        self.commit(durability, |txn, t, model, random| {
            for _ in 0..count {
                let (number, bytes) = (random.below(KEYS), random.below(24));
                if random.chance(25) {
                    t.delete(txn, &key(number)).expect("a delete");
                    model.remove(&number);
                } else if random.chance(25) {
                    let operand = vec![random.next() as u8; bytes as usize / 8];
                    t.merge(txn, &key(number), &operand).expect("a merge");
                    let older = model.entry(number).or_default();
                    *older = work::tail(older, &operand);
                } else {
                    let value = vec![random.next() as u8; bytes as usize];
                    t.put(txn, &key(number), &value).expect("a put");
                    model.insert(number, value);
                }
            }
        });
    }

    fn delete_range(&mut self, durability: Durability) {
        self.commit(durability, |txn, t, model, random| {
            let from = random.below(KEYS - 20);
            t.delete_range(txn, &key(from)[..]..&key(from + 20)[..]).expect("a delete");
            model.retain(|number, _| !(from..from + 20).contains(number));
        });
    }

    /// Steps of merges; whether all were made.
    fn steps(&mut self, count: usize) -> bool {
        (0..count).all(|_| self.lsm.compactor().run_once().expect("a step"))
    }

    fn is_merging(&self) -> bool {
        self.table.stat(&self.env.read().expect("a snapshot")).expect("figures").merging_bytes > 0
    }
}

type Script = fn(&mut Stage);

const LAZY: Durability = Durability::Lazy;
const DURABLE: Durability = Durability::Durable;

/// What happens to an LSM table, each time with durable and lazy commits in turns.
const SCRIPTS: [(&str, Script); 6] = [
    ("batches that become runs", |stage| {
        for round in 0..6 {
            stage.batch(if round % 2 == 0 { LAZY } else { DURABLE }, 10 + round);
        }
    }),
    ("an open run that is frozen", |stage| {
        for round in 0..16 {
            stage.batch(if round % 5 == 0 { DURABLE } else { LAZY }, 4);
        }
        stage.batch(DURABLE, 12);
        stage.batch(LAZY, 2);
        stage.sync();
    }),
    ("a merge of several steps", |stage| {
        (0..4).for_each(|_| stage.batch(LAZY, 30));
        stage.sync();
        assert!(stage.steps(1) && stage.is_merging());
        stage.sync();
        assert!(stage.steps(1) && stage.is_merging());
        // It goes on with the merge, too.
        stage.batch(DURABLE, 8);
        while stage.steps(1) {}
        assert!(!stage.is_merging());
        stage.batch(LAZY, 3);
        stage.sync();
    }),
    ("a last step that no flush follows", |stage| {
        (0..3).for_each(|_| stage.batch(DURABLE, 14));
        while stage.steps(1) {}
        stage.batch(LAZY, 14);
        stage.delete_range(LAZY);
        (0..2).for_each(|_| stage.batch(DURABLE, 14));
        assert!(stage.steps(1));
    }),
    ("a deleted range below a merge", |stage| {
        (0..4).for_each(|_| stage.batch(LAZY, 30));
        assert!(stage.steps(1) && stage.is_merging());
        stage.delete_range(DURABLE);
        stage.batch(LAZY, 9);
        while stage.steps(1) {}
        stage.sync();
        stage.commit(DURABLE, |txn, t, model, _| {
            t.drop_table(txn).expect("it goes");
            model.clear();
        });
        stage.batch(LAZY, 9);
        stage.sync();
    }),
    ("one transaction of several runs", |stage| {
        stage.batch(DURABLE, 200);
        stage.batch(LAZY, 200);
        while stage.steps(1) {}
        stage.commit(DURABLE, |txn, t, model, _| {
            for number in KEYS..KEYS + 40 {
                t.put(txn, &key(number), b"in order").expect("a put");
                model.insert(number, b"in order".to_vec());
            }
        });
        stage.lsm.compactor().merge_all().expect("a merge");
    }),
];

/// What must be true of an image.
struct Judge<'s> {
    states: &'s [State],
    page_bytes: usize,
    cases: u64,
    merging: u64,
}

impl Judge<'_> {
    fn judge(&mut self, machine: &SimDisk, may_show: Range<usize>) {
        self.cases += 1;
        let (env, lsm, table) = open(machine, self.page_bytes);
        let txn = env.read().expect("a snapshot");
        let number = match txn.open_table(&STATE).expect("a table") {
            None => 0,
            Some(state) => {
                let bytes = state.get(&txn, b"state").expect("a record").expect("a state");
                u64::from_le_bytes(bytes.try_into().expect("eight bytes")) as usize
            }
        };
        assert!(may_show.contains(&number), "shows state {number}, not one of {may_show:?}");
        drop(txn);
        let mut model = self.states[number].model.clone();
        is_sound(&env, &table, &model, "opened");
        let stat = table.stat(&env.read().expect("a snapshot")).expect("figures");
        self.merging += u64::from(stat.merging_bytes > 0);
        // The merge that has begun goes on, a step at a time.
        while lsm.compactor().run_once().expect("a step") {}
        is_sound(&env, &table, &model, "merged");
        env.update(|txn| {
            for number in 0..9 {
                table.put(txn, &key(number * 11), b"later")?;
                model.insert(number * 11, b"later".to_vec());
            }
            table.delete(txn, &key(60))
        })
        .expect("a commit");
        model.remove(&60);
        lsm.compactor().merge_all().expect("a merge");
        is_sound(&env, &table, &model, "used");
    }
}

fn is_sound(env: &Env, table: &RawLsmTable, model: &Model, when: &str) {
    let txn = env.read().expect("a snapshot");
    let check = table.check(&txn).unwrap_or_else(|error| panic!("{when}: {error}"));
    assert!(check.is_clean(), "{when}: {:?}", check.problems);
    let found = table.iter(&txn).expect("records").collect::<Result<Vec<_>, Error>>();
    let found = found.unwrap_or_else(|error| panic!("{when}: {error}"));
    let same = found.len() == model.len()
        && model
            .iter()
            .zip(found)
            .all(|((number, value), found)| (&key(*number)[..], &value[..]) == found);
    assert!(same, "{when}: it holds other records");
    for number in (0..KEYS).step_by(7) {
        let got = table.get(&txn, &key(number)).expect("a get");
        assert_eq!(got, model.get(&number).map(|value| &value[..]), "{when}: key {number}");
    }
    audit(env).unwrap_or_else(|what| panic!("{when}: {what}"));
}

/// Says which image a failed assertion is of.
struct Context(String);

impl Drop for Context {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {}", self.0);
        }
    }
}

fn caps() -> Caps {
    if scale::is_full() {
        Caps::FULL
    } else {
        Caps {
            whole_units: 5,
            singles: 3,
            pairs: 1,
            randoms: 4,
            tear_step: 61,
            torn: 1,
            ..Caps::FEW
        }
    }
}

/// Plays a script and judges its images; how many there were, and how many within a merge.
fn run(name: &str, script: Script, page_bytes: usize, seed: u64) -> (u64, u64) {
    on_points(crate::hook);
    let disk = SimDisk::new(RESERVE_BYTES).expect("a machine");
    drop(open(&disk, page_bytes));
    let first = disk.image();
    disk.clear_events();
    let (env, lsm, table) = open(&disk, page_bytes);
    let state = State { model: Model::new(), begun: 0, durable: Some(0) };
    let recorder = Recorder {
        disk: disk.clone(),
        kills: Vec::new(),
        spans: Vec::new(),
        begun: None,
        sealed: 0,
        count: 1,
    };
    RECORDER.set(Some(recorder));
    let random = Random::new(seed);
    let mut stage = Stage { env, lsm, table, disk: disk.clone(), states: vec![state], random };
    script(&mut stage);
    let Some(Recorder { kills, spans, .. }) = RECORDER.take() else { unreachable!("it was set") };
    let (events, states) = (disk.events(), std::mem::take(&mut stage.states));
    let boot = disk.boot();
    drop(stage);
    let machine = disk.after_crash(&[], true).expect("the same machine").quiet();
    let mut judge = Judge { states: &states, page_bytes, cases: 0, merging: 0 };
    let durable = |state: &State, at| state.durable.is_some_and(|durable| durable <= at);
    let may_show = |at: usize, upto: usize| {
        let oldest = states.iter().rposition(|state| durable(state, at)).unwrap_or(0);
        let newest = states.iter().rposition(|state| state.begun < upto).unwrap_or(0);
        oldest..newest.max(oldest) + 1
    };
    let losses = Losses::new(page_bytes, &disk, first.clone(), events.clone(), spans);
    let key = |loss: &huon_testkit::crash::Loss<'_>| {
        let states = may_show(loss.at, loss.upto);
        (states.start << 32 | states.end) as u64
    };
    losses.each(caps(), seed, key, &mut |loss| {
        let states = may_show(loss.at, loss.upto);
        let what = format!("\"{name}\", {page_bytes}, seed {seed}, {} at {}", loss.level, loss.at);
        let _context = Context(what);
        machine.restart(loss.image, None, None);
        judge.judge(&machine, states);
    });
    // Kills: all that was written is there, and the lock file.
    let (mut image, mut done) = (first, 0);
    let step = if scale::is_full() { 1 } else { 3 };
    for kill in kills.iter().skip(seed as usize % step).step_by(step) {
        events[done..kill.at]
            .iter()
            .for_each(|event| huon_testkit::trail::apply(&mut image, event));
        done = kill.at;
        let what = format!("\"{name}\", {page_bytes}, seed {seed}, killed at {:?}", kill.point);
        let _context = Context(what);
        machine.restart(&image, Some(boot), Some(&kill.lock));
        judge.judge(&machine, kill.state..kill.state + 1);
    }
    (judge.cases, judge.merging)
}

#[test]
fn what_a_crash_leaves_of_an_lsm_table_goes_on() {
    let (mut images, mut merging) = (0, 0);
    for (n, (name, script)) in SCRIPTS.into_iter().enumerate() {
        let pages = if scale::is_full() { vec![512, 1024, 4096] } else { vec![512] };
        for page_bytes in pages {
            let start = std::time::Instant::now();
            let seed = scale::seed("lsm crash", n as u64);
            let (cases, in_merges) = run(name, script, page_bytes, seed);
            println!("{name:36} {page_bytes:5} {cases:6} images, {:?}", start.elapsed());
            assert!(cases > 50, "{name}: {cases}");
            images += cases;
            merging += in_merges;
        }
    }
    println!("{images} images, {merging} in the middle of a merge");
    assert!(!scale::has_minimums() || images > 1000 && merging > 100, "{images}, {merging}");
    figures::add("crash", images);
    figures::named("lsm.crash.images", images);
}

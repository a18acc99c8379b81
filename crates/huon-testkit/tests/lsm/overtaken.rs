//! Two compactors on one lane: at each step of one, right before it takes the writer lock, the
//! other or a writer does something else.

use std::cell::RefCell;
use std::time::Duration;

use huon::Env;
use huon::sim::{Point, SimDisk};
use huon_lsm::{Lsm, LsmOptions, RawLsmTable};
use huon_testkit::figures;

use crate::work::{Replay, check, lsm_options, open, options, prepare};

thread_local! {
    /// What this thread does when it wants the writer lock next.
    static AMBUSH: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// For the hook of this binary.
pub(crate) fn came_to(point: Point) {
    if point == Point::WriterWanted
        && let Some(act) = AMBUSH.take()
    {
        act();
    }
}

#[derive(Clone)]
struct Client {
    env: Env,
    lsm: Lsm,
    table: RawLsmTable,
}

impl Client {
    fn new(disk: &SimDisk, step_bytes: usize) -> Client {
        let env = options().max_bytes(2 << 20).open_simulated(disk).expect("an environment");
        let options = LsmOptions { step_bytes, ..lsm_options(1000, Duration::ZERO) };
        let (lsm, table) = open(&env, options);
        Client { env, lsm, table }
    }

    fn commit(&self, writer: u64) {
        let mut txn = self.env.write().expect("begin");
        prepare(&mut txn, &self.table, writer).expect("changes");
        txn.commit().expect("a commit");
    }

    fn step(&self) -> bool {
        self.lsm.compactor().run_once().expect("a step")
    }
}

type Act = fn(&Client);

/// What the other client does meanwhile.
const ACTS: [(&str, Act); 6] = [
    ("makes the same step", |other| assert!(other.step())),
    ("makes two steps", |other| {
        assert!(other.step());
        other.step();
    }),
    ("finishes the merge, and as many runs are added", |other| {
        other.lsm.compactor().run_until_idle().expect("merges");
        (0..48).for_each(|_| other.commit(8));
    }),
    ("merges all", |other| {
        other.lsm.compactor().merge_all().expect("a merge");
    }),
    ("commits", |other| other.commit(9)),
    ("freezes the open run", |other| {
        (0..3).for_each(|_| other.commit(10));
        other.step();
    }),
];

/// Whether there was a step with this number.
fn overtake(step: u64, step_bytes: usize, act: Act) -> bool {
    let disk = SimDisk::new(2 << 20).expect("a machine").quiet();
    let (first, other) = (Client::new(&disk, step_bytes), Client::new(&disk, step_bytes));
    let mut replay = Replay::default();
    let mut verify = |client: &Client| {
        let txn = client.env.read().expect("a snapshot");
        replay.verify(&txn, &client.table).expect("records");
        check(&client.env, &client.table);
    };
    (0..24).for_each(|n| first.commit(n % 3));
    // No commit between them: it would go on with the merge.
    if !(0..step).all(|_| first.step()) {
        return false;
    }
    verify(&other);
    let meanwhile = other.clone();
    AMBUSH.set(Some(Box::new(move || act(&meanwhile))));
    let made = first.step();
    if AMBUSH.take().is_some() {
        return made;
    }
    [&first, &other].into_iter().for_each(&mut verify);
    for client in [&first, &other] {
        client.lsm.compactor().run_until_idle().expect("merges");
        verify(client);
    }
    true
}

#[test]
fn a_compactor_that_is_overtaken_does_no_harm() {
    huon::sim::on_points(crate::hook);
    let mut cases = 0;
    for (what, act) in ACTS {
        // Merges of many steps, and of one.
        for (step_bytes, least) in [(500, 10), (100_000, 1)] {
            let steps = (0..16).filter(|step| overtake(*step, step_bytes, act)).count();
            println!("{what}: at {steps} steps");
            assert!(steps >= least, "{what}: at {steps} steps");
            cases += steps as u64;
        }
    }
    figures::add("exhaustive", cases);
}

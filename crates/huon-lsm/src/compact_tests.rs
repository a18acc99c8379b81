//! Steps of merges, with everything that others may do between what a step reads and what it
//! writes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use huon::{Env, U64};

use crate::compact::{Found, Job, RETAINED_STEPS, Step, Wanted};
use crate::hand_over::Merged;
use crate::policy::{Lane, Pace};
use crate::{Lsm, LsmDef, LsmOptions, LsmTable};

type Table = LsmTable<U64, U64>;

/// A table whose runs are merged by nothing but the test.
struct World {
    env: Env,
    table: Table,
    model: BTreeMap<u64, u64>,
}

/// Another handle, as another process would have it.
fn open(env: &Env, step_bytes: usize) -> Table {
    let options = LsmOptions {
        fan: 3,
        small: 4,
        base_bytes: 1024,
        step_bytes,
        slack: 1000,
        runs_max: 2000,
        lease: Duration::ZERO,
        ..LsmOptions::default()
    };
    let lsm = Lsm::with_options(env, options).unwrap();
    let def = LsmDef::new("t").merged_by("sum", |a: u64, b, sum| sum.set(a.wrapping_add(b)));
    lsm.table(&def).unwrap()
}

fn step(table: &Table, lane: Lane) -> Step {
    table.shared().steps(lane, Wanted::ANY_DUE, None, &mut |_| Ok(false)).unwrap()
}

/// What is due while runs come.
const COMING: Wanted = Wanted::Due { slack: 0, pace: Some(Pace::Coming) };

/// A step that a process is about to hand over.
type Prepared = (Job, Merged);

/// The lane that has something to do, and what was prepared there.
fn prepare(table: &Table, wanted: Wanted) -> Option<(Lane, Prepared)> {
    let shared = table.shared();
    let txn = shared.env.read().unwrap();
    let view = shared.view(&txn).unwrap();
    let found = Lane::ALL.map(|lane| (lane, shared.find(&view, lane, wanted).unwrap()));
    found.into_iter().find_map(|(lane, found)| {
        let Found::Job(job) = found else { return None };
        let filter = shared.filter_so_far(&txn, &view, &job, None).unwrap();
        let mut merge = shared.merge(&txn, &view, &job).unwrap();
        let merged = shared.merge_step(&mut merge, &job.claim, filter).unwrap();
        Some((lane, (job, merged)))
    })
}

fn hand_over(table: &Table, (job, merged): Prepared) {
    table.shared().hand_over(job, merged, None).unwrap();
}

impl World {
    /// Four runs, of which the second and the third lie in the middle.
    fn new(step_bytes: usize) -> World {
        let env = Env::in_memory().unwrap();
        let table = open(&env, step_bytes);
        let mut world = World { env, table, model: BTreeMap::new() };
        world.commit(0..200, 0..0);
        world.commit(60..120, 0..70);
        world.commit(60..120, 100..130);
        world.commit(0..200, 150..180);
        world
    }

    /// A run of some of the keys, some of them merged onto what is there, and of tombstones.
    fn commit(&mut self, keys: Range<u64>, deleted: Range<u64>) {
        let value = self.model.values().max().map_or(1, |value| value + 1);
        let keys = keys.filter(|key| !(key + value).is_multiple_of(3));
        self.env
            .update(|txn| {
                for key in keys {
                    if (key + value).is_multiple_of(4) {
                        self.table.merge(txn, key, value)?;
                        *self.model.entry(key).or_default() += value;
                    } else {
                        self.table.put(txn, key, value)?;
                        self.model.insert(key, value);
                    }
                }
                for key in deleted {
                    self.table.delete(txn, key)?;
                    self.model.remove(&key);
                }
                Ok(())
            })
            .unwrap();
    }

    fn delete_range(&mut self, range: Range<u64>) {
        self.env.update(|txn| self.table.delete_range(txn, range.clone())).unwrap();
        self.model.retain(|key, _| !range.contains(key));
    }

    fn drop_table(&mut self) {
        self.env.update(|txn| self.table.drop_table(txn)).unwrap();
        self.model.clear();
    }

    fn lost(&self) -> u64 {
        self.table.stat(&self.env.read().unwrap()).unwrap().lost_steps
    }

    #[track_caller]
    fn check(&self) {
        let txn = self.env.read().unwrap();
        let found = self.table.iter(&txn).unwrap().map(|record| record.unwrap());
        assert!(found.eq(self.model.iter().map(|(key, value)| (*key, *value))));
        assert_eq!(self.table.check(&txn).unwrap().problems, Vec::<String>::new());
        let keys: Vec<u64> = (0..400).collect();
        let mut found = vec![None; keys.len()];
        self.table.get_many(&txn, &keys, |i, value| found[i] = value).unwrap();
        for (key, found) in keys.into_iter().zip(found) {
            let wanted = self.model.get(&key).copied();
            assert_eq!((self.table.get(&txn, key).unwrap(), found), (wanted, wanted), "{key}");
        }
    }

    /// Merges the rest, with the same handle and with another.
    fn finish(mut self, step_bytes: usize) {
        self.check();
        self.commit(0..250, 20..40);
        for table in [self.table.clone(), open(&self.env, step_bytes)] {
            while let Some((_, prepared)) = prepare(&table, Wanted::All) {
                hand_over(&table, prepared);
                self.check();
            }
        }
        assert_eq!(self.table.stat(&self.env.read().unwrap()).unwrap().runs(), 1);
    }
}

/// A change by another thread or process; whether the step that was prepared before it is in vain.
type Change = (&'static str, fn(&mut World), bool);

const CHANGES: [Change; 9] = [
    ("nothing", |_| (), false),
    ("another run", |world| world.commit(0..200, 30..50), false),
    // It is appended to the oldest run, which is another one then.
    ("a range above", |world| world.delete_range(200..300), false),
    ("a part of the runs", |world| world.delete_range(0..100), false),
    // The two in the middle are dropped at once, if no merge has claimed them.
    ("what some runs hold", |world| world.delete_range(55..135), true),
    ("all", |world| world.delete_range(0..1000), true),
    ("the table", World::drop_table, true),
    (
        "another table",
        |world| {
            world.drop_table();
            (0..5).for_each(|n| world.commit(n..100 + n, 0..9));
        },
        true,
    ),
    (
        "the same merge",
        |world| {
            let other = open(&world.env, 100_000);
            while let Some((_, prepared)) = prepare(&other, Wanted::All) {
                hand_over(&other, prepared);
            }
        },
        true,
    ),
];

#[test]
fn a_merge_of_one_step_ends_only_where_its_inputs_are_still_there() {
    for (name, change, is_in_vain) in CHANGES {
        for wanted in [Wanted::ANY_DUE, Wanted::All] {
            let mut world = World::new(100_000);
            let (_, prepared) = prepare(&world.table, wanted).expect("four runs are due");
            change(&mut world);
            hand_over(&world.table, prepared);
            assert_eq!(world.lost() > 0, is_in_vain, "{name}");
            world.finish(100_000);
        }
    }
}

#[test]
fn what_is_appended_to_an_input_is_not_lost() {
    let env = Env::in_memory().unwrap();
    let table = open(&env, 100_000);
    let mut world = World { env, table, model: BTreeMap::new() };
    world.commit(0..100, 0..0);
    (0..3).for_each(|n| world.commit(20 * n..100, 0..10));
    let (_, prepared) = prepare(&world.table, Wanted::All).expect("four runs");
    // Above all of them: the oldest takes it, and is another run.
    world.commit(200..260, 0..0);
    assert_eq!(world.table.stat(&world.env.read().unwrap()).unwrap().runs(), 4);
    hand_over(&world.table, prepared);
    assert_eq!(world.lost(), 1);
    world.finish(100_000);
}

/// The runs below one that a delete hides have made that delete, and are asked no more for the keys
/// that it covers.
#[test]
fn nothing_is_appended_into_a_range_that_the_oldest_run_has_deleted() {
    let env = Env::in_memory().unwrap();
    let table = open(&env, 100_000);
    let mut world = World { env, table, model: BTreeMap::new() };
    (0..4).for_each(|n| world.commit(0..20 + n, 0..0));
    world.commit(0..200, 0..0);
    world.commit(180..220, 0..0);
    // It hides the newest run, which has keys of it, and what lies below in name only.
    world.delete_range(205..1000);
    let runs = |world: &World| world.table.stat(&world.env.read().unwrap()).unwrap().runs();
    assert_eq!(runs(&world), 6);
    let (_, prepared) = prepare(&world.table, COMING).expect("five runs are due");
    hand_over(&world.table, prepared);
    assert_eq!(runs(&world), 2, "the newest has taken no part");
    world.check();
    // Above all that is there: a batch, and small ones that are frozen.
    world.commit(300..320, 0..0);
    world.check();
    (0..4).for_each(|n| world.commit(320 + n..323 + n, 0..0));
    world.check();
    world.table.shared().freeze().unwrap();
    world.check();
    world.finish(100_000);
}

#[test]
fn a_step_goes_on_only_from_where_the_merge_is() {
    for steps_before in 0..4 {
        for (name, change, _) in CHANGES {
            let mut world = World::new(600);
            for _ in 0..steps_before {
                let (lane, _) = prepare(&world.table, Wanted::All).expect("it has begun");
                world.table.shared().steps(lane, Wanted::All, None, &mut |_| Ok(false)).unwrap();
            }
            let (_, prepared) = prepare(&world.table, Wanted::All).expect("it goes on");
            change(&mut world);
            world.check();
            hand_over(&world.table, prepared);
            assert!(name != "the table" || world.lost() > 0, "{name}");
            world.finish(600);
        }
    }
}

#[test]
fn steps_of_one_snapshot_end_where_the_merge_is_no_more_what_it_was() {
    for (name, change, _) in CHANGES {
        let mut world = World::new(500);
        let (lane, _) = prepare(&world.table, Wanted::All).expect("four runs");
        let table = world.table.clone();
        let mut made = 0;
        let mut go_on = |_| {
            made += 1;
            if made == 1 {
                change(&mut world);
                world.check();
            }
            Ok(true)
        };
        table.shared().steps(lane, Wanted::All, None, &mut go_on).unwrap();
        assert!(made > 1, "{name}");
        assert!(name != "the table" || world.lost() > 0, "{name}");
        world.check();
        world.finish(600);
    }
}

#[test]
fn steps_read_one_snapshot_until_what_they_give_back_is_to_be_reused() {
    let count_steps = |step_bytes| {
        let world = World::new(step_bytes);
        let (lane, _) = prepare(&world.table, Wanted::All).expect("four runs");
        let mut made: u64 = 0;
        let mut go_on = |_| {
            made += 1;
            Ok(true)
        };
        world.table.shared().steps(lane, Wanted::All, None, &mut go_on).unwrap();
        made
    };
    // Two steps at least, and else one part in sixteen of the table.
    assert_eq!(count_steps(2000), RETAINED_STEPS);
    assert!(count_steps(100) > RETAINED_STEPS);
}

#[test]
fn one_step_is_made_once() {
    let world = World::new(200);
    let other = open(&world.env, 200);
    let mut made = 0;
    while let Some((lane, first)) = prepare(&world.table, Wanted::All) {
        // The other one wants the same, and is faster.
        let (_, second) = prepare(&other, Wanted::All).expect("it sees the same");
        hand_over(&other, second);
        world.check();
        hand_over(&world.table, first);
        world.check();
        made += 1;
        assert_eq!(world.lost(), made, "it was too late");
        // The filter that it had made so far is not that of the output.
        let before = world.lost();
        world.table.shared().steps(lane, Wanted::All, None, &mut |_| Ok(false)).unwrap();
        assert_eq!(world.lost(), before);
        world.check();
    }
    assert!(made > 3);
    world.finish(200);
}

#[test]
fn lanes_do_not_take_each_others_inputs() {
    // A merge of the large lane has begun; what is due of the newer runs is the small one's.
    let mut world = World::new(300);
    assert!(matches!(step(&world.table, Lane::Large), Step::Made(_)));
    let claimed = world.table.stat(&world.env.read().unwrap()).unwrap().merging_bytes;
    assert!(claimed > 0);
    (0..6).for_each(|n| world.commit(10 * n..10 * n + 10, 0..0));
    assert!(matches!(step(&world.table, Lane::Small), Step::Made(_)));
    world.check();
    // One that was found before the other lane claimed some of its inputs is in vain.
    let mut world = World::new(300);
    let (lane, prepared) = prepare(&world.table, Wanted::All).expect("four runs");
    (0..9).for_each(|n| world.commit(100 * n..100 * n + 100, 0..0));
    // A handle with longer steps has other lanes.
    let other = open(&world.env, 4000);
    let (claimed, begun) = prepare(&other, Wanted::All).expect("thirteen runs");
    assert!(claimed != lane);
    hand_over(&other, begun);
    assert!(other.stat(&world.env.read().unwrap()).unwrap().merging_bytes > 0);
    hand_over(&world.table, prepared);
    assert_eq!(world.lost(), 1);
    world.check();
    world.finish(300);
}

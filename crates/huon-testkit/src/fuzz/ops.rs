//! Operations that bytes choose, against a model; and what a crash leaves of them.

use std::sync::{Arc, Mutex};

use huon::sim::{Event, SimDisk};
use huon::{Durability, Env, Options, WriteTxn};

use super::Choices;
use crate::history;
use crate::history::program::{self, Config, Value};
use crate::model::{Model, TableId, Values};
use crate::support::audit::audit;
use crate::support::random::Random;
use crate::support::trail::{SECTOR_BYTES, apply};

/// Runs the program that these bytes choose on an environment and on its model.
pub fn ops(data: &[u8]) {
    let mut choices = Choices::new(data);
    let page_bytes = choices.pick(&[256, 512, 4096]);
    let config = Config {
        page_bytes,
        write_buffer_bytes: page_bytes * choices.pick(&[1000, 8, 30]),
        real: false,
        keys: choices.pick(&[40, 12, 200]),
        shrink_bytes: choices.pick(&[0, 4, 16]) * page_bytes as u64,
        journal: page_bytes == 512,
        ops_count: 4 + choices.clone().rest().len() / 5,
    };
    let program = program::make_with(Random::of_choices(choices.rest()), config);
    if let Err(failure) = history::run(&program) {
        panic!("operation {}: {}", failure.at, failure.what);
    }
}

const PAGE_BYTES: usize = 256;
const RESERVE_BYTES: u64 = 1 << 20;

fn options() -> Options {
    let mut options = Env::options();
    options
        .page_bytes(PAGE_BYTES)
        .max_bytes(RESERVE_BYTES)
        .grow_bytes(8 * PAGE_BYTES as u64)
        .shrink_bytes(6 * PAGE_BYTES as u64)
        .write_buffer_bytes(12 * PAGE_BYTES);
    options
}

/// A state, and the numbers of events after which it may and must show.
struct State {
    model: Model,
    begun: usize,
    committed: usize,
    durable: usize,
}

/// Commits as the first bytes say, crashes as the next ones do, and goes on.
pub fn crash(data: &[u8]) {
    let mut choices = Choices::new(data);
    let disk = SimDisk::new(RESERVE_BYTES).expect("a machine");
    let locks: Arc<Mutex<Vec<Vec<u64>>>> = Arc::default();
    let seen = locks.clone();
    disk.watch(move |disk| seen.lock().expect("no thread panics here").push(disk.lock_image()));
    let states = commits(&mut choices, &disk);
    let events = disk.events();
    let locks = std::mem::take(&mut *locks.lock().expect("no thread panics here"));
    // A new file's first events are the making of it, which happens beside its final name.
    let first = states[0].begun;
    let at = first + choices.below(events.len() - first + 1);
    let killed = at > first && choices.once_in(3);
    let image = image(&mut choices, &events, at, killed);
    let crashed = disk.after_crash(&image, killed).expect("a machine");
    let crashed = match at.checked_sub(1) {
        Some(last) if killed || choices.once_in(4) => crashed.with_lock_image(&locks[last]),
        _ => crashed,
    };
    let oldest = states
        .iter()
        .rposition(|state| if killed { state.committed < at } else { state.durable <= at });
    let newest = states.iter().rposition(|state| state.begun <= at).expect("the first");
    go_on(&mut choices, &crashed, &states[oldest.unwrap_or(0)..=newest]);
}

/// Some commits; the first state is the empty one.
fn commits(choices: &mut Choices<'_>, disk: &SimDisk) -> Vec<State> {
    let mut env = options().open_simulated(disk).expect("an environment");
    let now = disk.event_count();
    let model = Model::default();
    let mut states = vec![State { model, begun: now, committed: now, durable: now }];
    for _ in 0..1 + choices.below(8) {
        let mut model = states.last().expect("there is one").model.clone();
        change(
            choices,
            &env,
            &mut model,
            &mut |model, begun, committed, durable| {
                states.push(State { model, begun, committed, durable });
            },
            disk,
        );
        let _ = &mut model;
        let all_durable = match choices.below(6) {
            1 => env.sync().map(|_| true).expect("a flush"),
            2 => {
                drop(env);
                env = options().open_simulated(disk).expect("it opens again");
                true
            }
            _ => false,
        };
        if all_durable || states.last().is_some_and(|state| state.durable != usize::MAX) {
            let now = disk.event_count();
            states.iter_mut().for_each(|state| state.durable = state.durable.min(now));
        }
    }
    states
}

/// One transaction.
fn change(
    choices: &mut Choices<'_>,
    env: &Env,
    model: &mut Model,
    done: &mut dyn FnMut(Model, usize, usize, usize),
    disk: &SimDisk,
) {
    let mut txn = env.write().expect("begin");
    for _ in 0..1 + choices.below(24) {
        let id = TableId(choices.pick(&[2, 4, 12, 14, 26]));
        match id.values() {
            None => change_record(choices, &mut txn, model, id),
            Some(values) => change_pairs(choices, &mut txn, model, id, values),
        }
    }
    let durability = choices.pick(&[
        Durability::Durable,
        Durability::Lazy,
        Durability::NoMetaSync,
        Durability::Unsynced,
    ]);
    let begun = disk.event_count();
    txn.commit_with(durability).expect("a commit");
    let committed = disk.event_count();
    // Also of a transaction that changed nothing: what it found is durable then.
    let durable = if durability == Durability::Durable { committed } else { usize::MAX };
    done(model.clone(), begun, committed, durable);
}

fn change_record(choices: &mut Choices<'_>, txn: &mut WriteTxn, model: &mut Model, id: TableId) {
    let table = txn.create_table(&id.def()).expect("a table");
    model.create(id);
    let records = model.table_mut(id).expect("it was created");
    let key = program::key(id.order(), PAGE_BYTES, choices.below(40) as u64);
    if choices.below(3) == 2 {
        table.remove(txn, &key).expect("a delete");
        records.delete(&id.order().sort_key(&key));
    } else {
        let bytes = choices.pick(&[20, 0, 90, 700]);
        let value = Value { bytes, seed: txn.id() ^ bytes as u64 }.make();
        table.put(txn, &key, &value).expect("a record");
        records.put(id.order().sort_key(&key), &key, &value);
    }
}

/// Some values of a key come or go, or all of them.
fn change_pairs(
    choices: &mut Choices<'_>,
    txn: &mut WriteTxn,
    model: &mut Model,
    id: TableId,
    values: Values,
) {
    let multi = txn.create_table(&id.multi_def()).expect("a multimap");
    model.create(id);
    let pairs = model.multi_mut(id).expect("it was created");
    let key = program::key(id.order(), PAGE_BYTES, 10 + choices.below(3) as u64);
    let (kind, first) = (choices.below(4), choices.below(30));
    if kind == 3 {
        let count = multi.remove_key(txn, &key).expect("a key that goes");
        return assert_eq!(count, pairs.remove_all(&key), "how many values there were");
    }
    for n in first..first + choices.below(30) {
        let value = program::value(values, PAGE_BYTES, n as u64);
        let (found, expected) = match kind {
            2 => (multi.remove(txn, &key, &value), pairs.remove(&key, &value)),
            _ => (multi.put(txn, &key, &value), pairs.insert(&key, &value)),
        };
        assert_eq!(found.expect("a pair"), expected, "whether it was there");
    }
}

/// What is left after `at` events: all of it after a kill, else what was flushed, and the sectors
/// that are chosen of what was written since.
fn image(choices: &mut Choices<'_>, events: &[Event], at: usize, killed: bool) -> Vec<u8> {
    let flushed = events[..at].iter().rposition(|event| *event == Event::Sync).unwrap_or(0);
    let flushed = if killed { at } else { flushed };
    let mut image = Vec::new();
    events[..flushed].iter().for_each(|event| apply(&mut image, event));
    let (mut bits, mut left) = (0, 0);
    for piece in events[flushed..at].iter().flat_map(sectors) {
        if left == 0 {
            (bits, left) = (choices.byte(), 8);
        }
        if bits & 1 == 1 {
            apply(&mut image, &piece);
        }
        (bits, left) = (bits >> 1, left - 1);
    }
    image
}

/// An event in parts that reach the disk on their own.
fn sectors(event: &Event) -> Vec<Event> {
    let Event::Write { offset, bytes } = event else { return vec![event.clone()] };
    let (start, end) = (*offset as usize, *offset as usize + bytes.len());
    let firsts = (start / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES)).map(|n| n * SECTOR_BYTES);
    let part = |first: usize| {
        let (from, to) = (first.max(start), (first + SECTOR_BYTES).min(end));
        Event::Write { offset: from as u64, bytes: Arc::from(&bytes[from - start..to - start]) }
    };
    firsts.map(part).collect()
}

/// What opens shows one of the states that may show, checks clean, and works.
fn go_on(choices: &mut Choices<'_>, disk: &SimDisk, states: &[State]) {
    let env = options().open_simulated(disk).expect("it opens");
    let txn = env.read().expect("a reader");
    let compared: Vec<_> = states.iter().map(|state| state.model.compare(&txn)).collect();
    let shown = compared.iter().rposition(|compared| compared.is_ok());
    let shown = shown.unwrap_or_else(|| panic!("{:?}: {compared:#?}", env.recovery()));
    drop(txn);
    audit(&env).expect("a sound environment");
    let mut model = states[shown].model.clone();
    change(choices, &env, &mut model, &mut |_, _, _, _| {}, disk);
    model.compare(&env.read().expect("a reader")).expect("what was committed");
    audit(&env).expect("a sound environment");
    drop(env);
    let env = options().open_simulated(disk).expect("it opens again");
    model.compare(&env.read().expect("a reader")).expect("what was committed");
}

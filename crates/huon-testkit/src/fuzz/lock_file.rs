//! A lock file with anything in it, before an opening and under living clients.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use huon::sim::SimDisk;
use huon::{Durability, Env, Error, Options, ReadTxn, WriteTxn};

use super::Choices;
use crate::history::program::{self, Value};
use crate::model::{Model, TableId};

const PAGE_BYTES: usize = 512;
const RESERVE_BYTES: u64 = 2 << 20;

/// Data file and lock file at one moment.
struct Moment {
    data: Vec<u8>,
    lock: Vec<u64>,
    /// The number of the newest state that was durable then.
    durable: usize,
}

/// A short life of an environment.
struct Past {
    disk: SimDisk,
    moments: Vec<Moment>,
    states: Vec<Model>,
}

fn options() -> Options {
    let mut options = Env::options();
    options
        .page_bytes(PAGE_BYTES)
        .max_bytes(RESERVE_BYTES)
        .grow_bytes(16 * PAGE_BYTES as u64)
        .lock_timeout(Duration::from_millis(1));
    options
}

/// Changes some records, the same in both; what they hold depends on `round`.
fn change(txn: &mut WriteTxn, model: &mut Model, round: u64) -> Result<(), Error> {
    for n in 0..12 {
        let id = TableId(if n % 3 == 0 { 4 } else { 2 });
        let table = txn.create_table(&id.def())?;
        let key = program::key(id.order(), PAGE_BYTES, n * 5 + round % 7);
        let bytes = if n == 7 { 2 * PAGE_BYTES } else { 20 };
        let value = Value { bytes, seed: round * 100 + n }.make();
        table.put(txn, &key, &value)?;
        model.create(id);
        let records = model.table_mut(id).expect("it was created");
        records.put(id.order().sort_key(&key), &key, &value);
    }
    Ok(())
}

/// Lazy and durable commits of two clients, with readers, and the files after each step.
fn past() -> &'static Past {
    static PAST: OnceLock<Past> = OnceLock::new();
    PAST.get_or_init(|| {
        let disk = SimDisk::new(RESERVE_BYTES).expect("a machine");
        let envs = [0; 2].map(|_| options().open_simulated(&disk).expect("a client"));
        let seen: Arc<Mutex<Vec<Moment>>> = Arc::default();
        let durable = Arc::new(Mutex::new(0));
        let (log, now) = (seen.clone(), durable.clone());
        let note = move |disk: &SimDisk| {
            let durable = *now.lock().expect("no thread panics here");
            let moment = Moment { data: disk.image(), lock: disk.lock_image(), durable };
            log.lock().expect("no thread panics here").push(moment);
        };
        disk.watch(note.clone());
        let mut states = vec![Model::default()];
        let mut readers = Vec::new();
        for round in 0..8usize {
            let mut model = states[round].clone();
            let mut txn = envs[round % 2].write().expect("begin");
            change(&mut txn, &mut model, round as u64).expect("a change");
            states.push(model);
            let lazy = round % 3 != 2;
            let durability = if lazy { Durability::Lazy } else { Durability::Durable };
            txn.commit_with(durability).expect("commit");
            *durable.lock().expect("no thread panics here") =
                if lazy { round / 3 * 3 } else { round + 1 };
            readers.push(envs[round % 2].read().expect("a reader"));
            note(&disk);
        }
        drop(readers);
        drop(envs);
        note(&disk);
        let moments = std::mem::take(&mut *seen.lock().expect("no thread panics here"));
        Past { disk, moments, states }
    })
}

/// Changes words of a lock file: mostly those that mean something, mostly to what is nearly right.
fn damage(choices: &mut Choices<'_>, words: &mut Vec<u64>) {
    for _ in 0..1 + choices.below(4) {
        let at = word(choices, words.len());
        let near = words.get(at).copied().unwrap_or(0);
        let value = match choices.below(4) {
            0 => words.get(word(choices, words.len())).copied().unwrap_or(0),
            _ => choices.trouble(near),
        };
        if let Some(word) = words.get_mut(at) {
            *word = value;
        }
    }
    match choices.below(24) {
        1 => words.truncate(choices.below(words.len())),
        2 => words.fill(u64::MAX),
        3 => {
            let end = words.len();
            let first = choices.below(end);
            words[first..end.min(first + 600)].fill(0);
        }
        4 => words.extend(std::iter::repeat_n(7, choices.below(5000))),
        6..=8 => rename_image(choices, words),
        5 => words
            .iter_mut()
            .skip(3)
            .for_each(|word| *word = word.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        _ => {}
    }
}

/// Gives an image another name, and has it named as sealed, published, durable or in flight.
fn rename_image(choices: &mut Choices<'_>, words: &mut [u64]) {
    let index = choices.below(8);
    let Some(&old) = words.get(80 + index) else { return };
    let mark = choices.trouble(old >> 3) << 3 | index as u64;
    for at in [80 + index, choices.pick(&[40, 32, 48, 41]), choices.pick(&[40, 64, 68, 72])] {
        if let Some(word) = words.get_mut(at) {
            *word = mark;
        }
    }
}

/// The number of a word; see the picture in the engine's `lock/layout.rs`.
fn word(choices: &mut Choices<'_>, count: usize) -> usize {
    match choices.below(8) {
        // Everything before the images.
        0..=4 => choices.below(88),
        5 => 520 + choices.below(8) * 512 + choices.below(32),
        6 => 4624 + choices.below(64),
        _ => choices.below(count),
    }
}

/// Damages a lock file before an opening, or under living clients.
pub fn lock_file(data: &[u8]) {
    let mut choices = Choices::new(data);
    match choices.below(2) {
        0 => before_opening(&mut choices),
        _ => under_clients(&mut choices),
    }
}

/// Whatever the lock file says, the data file decides: what is durable is there, and what is shown
/// is the state of one commit.
fn before_opening(choices: &mut Choices<'_>) {
    let past = past();
    let at = choices.below(past.moments.len());
    let moment = &past.moments[at];
    // Sometimes the lock file of an earlier time.
    let of = if choices.once_in(4) { choices.below(at + 1) } else { at };
    let mut lock = past.moments[of].lock.clone();
    damage(choices, &mut lock);
    let disk = past.disk.after_crash(&moment.data, !choices.once_in(5)).expect("a machine");
    let disk = disk.with_lock_image(&lock).quiet();
    let env = match options().open_simulated(&disk) {
        Ok(env) => env,
        Err(error) => return clear(&error),
    };
    let txn = env.read().expect("the first client made the lock file anew");
    let shown = past.states.iter().rposition(|state| state.compare(&txn).is_ok());
    let shown = shown
        .unwrap_or_else(|| panic!("no state: {:?}", past.states[moment.durable].compare(&txn)));
    assert!(
        shown >= moment.durable,
        "state {shown} is older than the durable one, {}",
        moment.durable
    );
    drop(txn);
    let report = env.check().expect("a check");
    assert!(report.is_clean(), "{:?}", report.problems);
    let mut model = past.states[shown].clone();
    let mut txn = env.write().expect("a write transaction");
    change(&mut txn, &mut model, 50).expect("a change");
    txn.commit().expect("a commit");
    model.compare(&env.read().expect("a reader")).expect("what was committed");
    assert!(env.check().expect("a check").is_clean());
}

/// Clients go on, or say clearly that they cannot; the file opens afterwards, or says why not.
fn under_clients(choices: &mut Choices<'_>) {
    let past = past();
    let moment = &past.moments[choices.below(past.moments.len())];
    let disk = past.disk.after_crash(&moment.data, false).expect("a machine").quiet();
    let envs = [0; 2].map(|_| options().open_simulated(&disk));
    let Ok([first, second]) = envs
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map(|envs| <[Env; 2]>::try_from(envs).expect("two"))
    else {
        return;
    };
    let mut clients = vec![first, second];
    let mut readers: Vec<ReadTxn> = Vec::new();
    let mut writer: Option<WriteTxn> = None;
    let mut round = 100;
    for _ in 0..64 {
        if choices.is_empty() {
            break;
        }
        step(choices, &disk, &mut clients, &mut readers, &mut writer, &mut round);
    }
    drop((readers, writer, clients));
    let disk = disk.after_crash(&disk.image(), false).expect("a machine");
    if let Ok(env) = options().open_simulated(&disk) {
        env.check().map(drop).unwrap_or_else(|error| clear(&error));
    }
}

fn step(
    choices: &mut Choices<'_>,
    disk: &SimDisk,
    clients: &mut [Env],
    readers: &mut Vec<ReadTxn>,
    writer: &mut Option<WriteTxn>,
    round: &mut u64,
) {
    let env = clients[choices.below(clients.len())].clone();
    let done = match choices.below(16) {
        0..=5 => {
            let words = disk.lock_image();
            let at = word(choices, words.len());
            let value = choices.trouble(words.get(at).copied().unwrap_or(0));
            // A role that a living client seems to have is waited for: that is no damage.
            if !(at == 16 || at == 24) || value >> 18 > 64 {
                disk.poke_lock(at, value);
            }
            Ok(())
        }
        6 => env.read().map(|txn| readers.push(txn)),
        7 => {
            readers.truncate(choices.below(3));
            Ok(())
        }
        8 => readers.last().map_or(Ok(()), |txn| txn.table_names().map(drop)),
        9 if writer.is_none() => env.write().map(|txn| *writer = Some(txn)),
        10 => writer.as_mut().map_or(Ok(()), |txn| {
            *round += 1;
            change(txn, &mut Model::default(), *round)
        }),
        11 => writer.take().map_or(Ok(()), |txn| txn.commit_with(Durability::Lazy).map(drop)),
        12 => writer.take().map_or(Ok(()), |txn| txn.commit().map(drop)),
        13 => env.sync().map(drop),
        14 => env.info().map(drop).and(env.check().map(drop)).and(env.stat().map(drop)),
        // A client that joins waits two seconds for others to show in what it finds.
        _ if is_joinable(disk) => {
            options().open_simulated(disk).map(|env| clients[choices.below(2)] = env)
        }
        _ => Ok(()),
    };
    done.unwrap_or_else(|error| clear(&error));
}

/// Whether the words that a joining client looks at first are what they were.
fn is_joinable(disk: &SimDisk) -> bool {
    let (now, before) = (disk.lock_image(), &past().moments[0].lock);
    now[..8] == before[..8] && (2..100).contains(&now[13])
}

/// An error that a user can read.
fn clear(error: &Error) {
    assert!(!error.to_string().is_empty());
}

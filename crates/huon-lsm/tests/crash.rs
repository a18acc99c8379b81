//! Crash images: what a power loss or a kill leaves behind commits and merges shows a whole prefix
//! of the commits, keeps L1 to L8, and lets any compactor go on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use huon::sim::SimDisk;
use huon::{Bytes, Durability, Env, Error, Result};
use huon_lsm::{Lsm, LsmDef, LsmOptions, RawLsmTable};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % n
    }
}

/// What a crash may leave at a moment.
struct Image {
    bytes: Vec<u8>,
    /// After a kill: the lock file.
    lock: Option<Vec<u64>>,
    /// The states that may show.
    states: std::ops::RangeInclusive<usize>,
}

/// What is known while the script runs.
#[derive(Default)]
struct Moment {
    /// State that was acknowledged as durable, as committed, and that was begun.
    durable: usize,
    committed: usize,
    begun: usize,
    images: Vec<Image>,
}

fn options() -> LsmOptions {
    LsmOptions {
        fan: 3,
        small: 6,
        open_bytes: 600,
        base_bytes: 512,
        step_bytes: 700,
        batch_bytes: 2500,
        filter_memory: 300,
        slack: 2,
        runs_max: 30,
        lease: Duration::ZERO,
        ..LsmOptions::default()
    }
}

fn open(disk: &SimDisk) -> Result<(Env, Lsm, RawLsmTable)> {
    let mut settings = Env::options();
    let env = settings.page_bytes(1024).durability(Durability::Lazy).open_simulated(disk)?;
    let lsm = Lsm::with_options(&env, options())?;
    let def = LsmDef::<Bytes, Bytes>::new("t");
    let def = def.merged_by("append", |older, newer, both| both.set(&[older, newer].concat()));
    let table = lsm.table(&def)?;
    Ok((env, lsm, table))
}

fn watch(disk: &SimDisk, moment: &Arc<Mutex<Moment>>, seed: u64) {
    let (moment, random) = (moment.clone(), Mutex::new(Random(seed)));
    disk.watch(move |disk| {
        let (mut moment, mut random) = (moment.lock().unwrap(), random.lock().unwrap());
        let Moment { durable, committed, begun, .. } = *moment;
        match random.below(10) {
            0 => {
                let share = random.below(5);
                let bytes = disk.disk_image(|_| random.below(4) < share);
                moment.images.push(Image { bytes, lock: None, states: durable..=begun });
            }
            1 => {
                let (bytes, lock) = (disk.image(), Some(disk.lock_image()));
                moment.images.push(Image { bytes, lock, states: committed..=begun });
            }
            _ => {}
        }
    });
}

/// A transaction of the script, and its model.
fn change(
    txn: &mut huon::WriteTxn,
    t: &RawLsmTable,
    model: &mut Model,
    random: &mut Random,
) -> Result<()> {
    let count = [2, 5, 20, 90][random.below(4) as usize];
    for n in 0..count {
        let key = format!("{:03}", random.below(200)).into_bytes();
        match random.below(40) {
            0 => {
                let to = format!("{:03}", random.below(200)).into_bytes();
                t.delete_range(txn, &key[..]..&to[..])?;
                model.retain(|known, _| !(*known >= key && *known < to));
            }
            1..=9 => {
                t.delete(txn, &key)?;
                model.remove(&key);
            }
            10 if random.below(8) == 0 => {
                t.drop_table(txn)?;
                model.clear();
            }
            11 => {
                let before = model.clone();
                let undone: Result<()> = txn.nested(|txn| {
                    t.put(txn, &key, b"undone")?;
                    t.delete_range(txn, &key[..]..)?;
                    Err(Error::Invalid("undone"))
                });
                assert!(undone.is_err() && before == *model);
            }
            12..=20 => {
                let operand = vec![n as u8; random.below(3) as usize];
                t.merge(txn, &key, &operand)?;
                model.entry(key).or_default().extend(operand);
            }
            _ => {
                let value = vec![n as u8; random.below(20) as usize];
                t.put(txn, &key, &value)?;
                model.insert(key, value);
            }
        }
    }
    Ok(())
}

fn shown(env: &Env, t: &RawLsmTable) -> Model {
    let txn = env.read().unwrap();
    assert_eq!(t.check(&txn).unwrap().problems, Vec::<String>::new());
    let records = t.iter(&txn).unwrap().map(|record| record.unwrap());
    records.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Opens what a crash has left, and goes on.
fn judge(disk: &SimDisk, image: &Image, states: &[Model], random: &mut Random) -> usize {
    let machine = match &image.lock {
        Some(lock) => disk.after_crash(&image.bytes, true).unwrap().with_lock_image(lock),
        None => disk.after_crash(&image.bytes, false).unwrap(),
    };
    let (env, lsm, t) = open(&machine.quiet()).unwrap();
    let found = shown(&env, &t);
    let state = image.states.clone().rev().find(|state| states[*state] == found);
    assert!(state.is_some(), "none of the states {:?} shows", image.states);
    let was_merging = t.stat(&env.read().unwrap()).unwrap().merging_bytes > 0;
    let mut model = found;
    for _ in 0..2 {
        lsm.compactor().run_until_idle().unwrap();
        assert!(shown(&env, &t) == model, "after merges");
        env.update(|txn| change(txn, &t, &mut model, random)).unwrap();
        assert!(shown(&env, &t) == model, "after another commit");
    }
    lsm.compactor().merge_all().unwrap();
    assert!(shown(&env, &t) == model, "after a merge of all");
    assert!(env.check().unwrap().is_clean());
    usize::from(was_merging)
}

fn play(seed: u64) -> (usize, usize) {
    let mut random = Random(seed);
    let disk = SimDisk::new(8 << 20).unwrap().lossy();
    let (env, lsm, t) = open(&disk).unwrap();
    let moment = Arc::new(Mutex::new(Moment::default()));
    env.sync().unwrap();
    watch(&disk, &moment, seed + 1000);
    let mut states = vec![Model::new()];
    for _ in 0..40 {
        match random.below(10) {
            0..=5 => {
                let mut model = states[states.len() - 1].clone();
                let mut txn = env.write().unwrap();
                change(&mut txn, &t, &mut model, &mut random).unwrap();
                states.push(model);
                let state = states.len() - 1;
                moment.lock().unwrap().begun = state;
                let is_durable = random.below(3) == 0;
                let durability = if is_durable { Durability::Durable } else { Durability::Lazy };
                txn.commit_with(durability).unwrap();
                let mut moment = moment.lock().unwrap();
                moment.committed = state;
                if is_durable {
                    moment.durable = state;
                }
            }
            6 => {
                env.sync().unwrap();
                let mut moment = moment.lock().unwrap();
                moment.durable = moment.committed;
            }
            7 if random.below(3) == 0 => drop(lsm.compactor().merge_all().unwrap()),
            _ => drop(lsm.compactor().run_once().unwrap()),
        }
    }
    let images = std::mem::take(&mut moment.lock().unwrap().images);
    drop((t, lsm, env));
    let merging = images.iter().map(|image| judge(&disk, image, &states, &mut random)).sum();
    (images.len(), merging)
}

#[test]
fn a_crash_leaves_whole_commits_and_merges_that_go_on() {
    let (mut images, mut merging) = (0, 0);
    for seed in 0..20 {
        let played = play(seed);
        images += played.0;
        merging += played.1;
    }
    println!("{images} images, {merging} of them with a merge that had begun");
    assert!(images > 300 && merging > 20, "{images} {merging}");
}

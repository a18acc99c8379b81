//! LSM tables made to mislead: a manifest and runs whose records were changed through Huon's own
//! interface, so that every checksum is right; and everything that can be done with such a table.
//!
//! 1. Nothing panics, and every call ends.
//! 2. Where a check finds nothing, all reads succeed, agree with each other, and find what is to be
//!    found; writes and merges succeed, and leave it so.

use std::collections::BTreeMap;
use std::time::Duration;

use huon::sim::SimDisk;
use huon::{Bytes, Durability, Env, Options, RawTable, TableDef, WriteTxn};
use huon_lsm::{Lsm, LsmDef, LsmOptions, RawLsmTable};

/// What the table holds.
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const NAME: &[u8] = b"t";
const RESERVE_BYTES: u64 = 2 << 20;
/// Keys of the table are numbers below this one, as text.
const KEYS: u64 = 96;
/// More steps than any merge of the fixture takes.
const STEPS_MAX: usize = 200;

/// A sound table, and the file that it lies in.
pub struct Fixture {
    image: Vec<u8>,
    lsm_options: LsmOptions,
    /// Whether the table has a merge operator: it appends bytes.
    pub is_merged: bool,
    /// What the table holds.
    pub model: Model,
    /// Records of the manifest.
    pub manifest: Vec<(Vec<u8>, Vec<u8>)>,
    /// Slots of the runs that never change again, and of the output of a merge that has begun.
    pub slots: Vec<u32>,
    /// Those of them that a merge has begun to take the records of.
    pub inputs: Vec<u32>,
}

/// What a changed table turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It does not open, or a check finds something.
    Noticed,
    /// Nothing is wrong with what it holds.
    Harmless,
}

/// How much of what a table holds the change must leave, if a check finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// All of it.
    All,
    /// Anything, which reads agree on: the change is one that a program might have made.
    Anything,
}

/// A key of the table.
pub fn key(number: u64) -> Vec<u8> {
    format!("{number:03}").into_bytes()
}

fn options() -> Options {
    let mut options = Env::options();
    options.page_bytes(512).max_bytes(RESERVE_BYTES).durability(Durability::Lazy);
    options
}

fn lsm_options(filter_bits: u16, filter_memory: usize) -> LsmOptions {
    LsmOptions {
        fan: 3,
        filter_bits,
        small: 5,
        open_bytes: 4000,
        base_bytes: 400,
        step_bytes: 300,
        batch_bytes: 5000,
        filter_memory,
        slack: 1000,
        runs_max: 2000,
        lease: Duration::ZERO,
    }
}

/// The ordinary table of the manifest.
pub fn manifest_def() -> TableDef<Bytes, Bytes> {
    TableDef::named([&b"\0lsm/"[..], NAME, b"/m"].concat())
}

/// The ordinary table of a run.
pub fn run_def(slot: u32) -> TableDef<Bytes, Bytes> {
    TableDef::named([&b"\0lsm/"[..], NAME, format!("/r/{slot:03}").as_bytes()].concat())
}

impl Fixture {
    /// Tables that differ in their filters, which are in memory, in the file, or not there; and one
    /// with a merge operator.
    pub fn all() -> Vec<Fixture> {
        let all = [(10, 1 << 20, false), (10, 0, false), (0, 0, false), (10, 1 << 20, true)];
        all.map(|(bits, bytes, is_merged)| Fixture::new(bits, bytes, is_merged)).into()
    }

    fn new(filter_bits: u16, filter_memory: usize, is_merged: bool) -> Fixture {
        let disk = SimDisk::new(RESERVE_BYTES).expect("a machine").quiet();
        let env = options().open_simulated(&disk).expect("an environment");
        let lsm_options = lsm_options(filter_bits, filter_memory);
        let lsm = Lsm::with_options(&env, lsm_options.clone()).expect("options");
        let table = open(&lsm, is_merged).expect("a table");
        let mut model = Model::new();
        fill(&env, &lsm, &table, is_merged, &mut model);
        let txn = env.read().expect("a snapshot");
        let check = table.check(&txn).expect("a check");
        assert!(check.is_clean(), "{:?}", check.problems);
        let stat = table.stat(&txn).expect("figures");
        assert!(stat.has_open_run && stat.merging_bytes > 0 && stat.range_deletes > 0, "{stat:?}");
        assert!(stat.tombstones > 0 && stat.runs() > 4, "{stat:?}");
        let manifest = raw(&txn.open_table(&manifest_def()).unwrap().expect("a manifest"), &txn);
        let open = open_slot(&manifest);
        let slots = (0..20).filter(|slot| Some(*slot) != open);
        let slots = slots.filter(|slot| txn.open_table(&run_def(*slot)).unwrap().is_some());
        let slots: Vec<u32> = slots.collect();
        let is_input = |slot: &u32| {
            let table = run_def(*slot);
            check.runs.iter().any(|run| run.is_input && run.table == table.name())
        };
        let inputs = slots.iter().copied().filter(is_input).collect();
        drop((txn, table, lsm, env));
        Fixture { image: disk.image(), lsm_options, is_merged, model, manifest, slots, inputs }
    }

    /// A machine for [`Fixture::judge`].
    pub fn machine(&self) -> SimDisk {
        SimDisk::from_image(&self.image, RESERVE_BYTES).expect("a machine").quiet()
    }

    /// Changes the table, and judges what it is then.
    ///
    /// # Panics
    /// If that is wrong.
    pub fn judge(
        &self,
        machine: &mut SimDisk,
        leaves: Leaves,
        change: impl FnOnce(&mut WriteTxn) -> huon::Result<()>,
    ) -> Outcome {
        machine.rewind(&self.image);
        let env = options().open_simulated(machine).expect("an environment");
        env.update(change).expect("a change of ordinary tables");
        let lsm = Lsm::with_options(&env, self.lsm_options.clone()).expect("options");
        let judge = Judge { env: &env, lsm, is_merged: self.is_merged };
        if judge.look(leaves, &self.model) {
            judge.write((leaves == Leaves::All).then(|| self.model.clone()));
            Outcome::Harmless
        } else {
            judge.try_all();
            Outcome::Noticed
        }
    }
}

/// Opens the table.
fn open(lsm: &Lsm, is_merged: bool) -> huon::Result<RawLsmTable> {
    let def = LsmDef::<Bytes, Bytes>::named(NAME);
    if !is_merged {
        return lsm.table(&def);
    }
    lsm.table(&def.merged_by("append", |older, newer, both| both.set(&[older, newer].concat())))
}

fn raw(table: &RawTable, txn: &huon::ReadTxn) -> Vec<(Vec<u8>, Vec<u8>)> {
    let records = table.iter(txn).expect("records").map(|record| record.expect("a record"));
    records.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// The slot of the open run.
fn open_slot(manifest: &[(Vec<u8>, Vec<u8>)]) -> Option<u32> {
    let open = manifest.iter().find(|(key, value)| key[0] == 0 && value[8] == 0)?;
    Some(u32::from_le_bytes(*open.1[9..].first_chunk()?))
}

/// Runs of all kinds: one that was appended to, some with tombstones, one that is open, and a merge
/// that has begun.
fn fill(env: &Env, lsm: &Lsm, table: &RawLsmTable, is_merged: bool, model: &mut Model) {
    let mut put = |txn: &mut WriteTxn, number: u64, round: u64| {
        if (number + round).is_multiple_of(4) && round > 1 {
            model.remove(&key(number));
            return table.delete(txn, &key(number));
        }
        let value = vec![7; 1 + ((number * 7 + round * 5) % 11) as usize];
        if is_merged && (number + round).is_multiple_of(3) {
            model.entry(key(number)).or_default().extend(&value);
            return table.merge(txn, &key(number), &value);
        }
        model.insert(key(number), value.clone());
        table.put(txn, &key(number), &value)
    };
    env.update(|txn| (0..30).try_for_each(|n| put(txn, n, 0))).unwrap();
    env.update(|txn| (30..50).try_for_each(|n| put(txn, n, 1))).unwrap();
    for round in 2..5 {
        env.update(|txn| (0..12).try_for_each(|n| put(txn, n * 7 % 60, round))).unwrap();
    }
    env.update(|txn| table.delete_range(txn, &key(20)[..]..&key(24)[..])).unwrap();
    (20..24).for_each(|n| drop(model.remove(&key(n))));
    let mut put = |txn: &mut WriteTxn, number: u64| {
        if is_merged && number.is_multiple_of(3) {
            model.entry(key(number)).or_default().extend(b"more");
            return table.merge(txn, &key(number), b"more");
        }
        model.insert(key(number), b"new".to_vec());
        table.put(txn, &key(number), b"new")
    };
    for round in 0..3 {
        env.update(|txn| (0..9).try_for_each(|n| put(txn, (n * 5 + 18 + round) % 60))).unwrap();
    }
    env.update(|txn| put(txn, 19)).unwrap();
    env.update(|txn| table.delete(txn, &key(18))).unwrap();
    model.remove(&key(18));
    // A commit after it would go on with the merge.
    assert!(lsm.compactor().run_once().expect("a step"));
}

struct Judge<'e> {
    env: &'e Env,
    lsm: Lsm,
    is_merged: bool,
}

impl Judge<'_> {
    /// Whether a check finds nothing; then the table holds what it must.
    fn look(&self, leaves: Leaves, model: &Model) -> bool {
        let Ok(table) = open(&self.lsm, self.is_merged).map_err(clear) else { return false };
        let txn = self.env.read().expect("a snapshot");
        if !table.check(&txn).map_err(clear).is_ok_and(|check| check.is_clean()) {
            return false;
        }
        let found = self.agreed(&table);
        if leaves == Leaves::All {
            assert!(found == *model, "a check finds nothing, and {}", differs(&found, model));
        }
        true
    }

    /// What all reads agree that the table holds.
    fn agreed(&self, table: &RawLsmTable) -> Model {
        let txn = self.env.read().expect("a snapshot");
        let owned = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
        let there: Vec<_> = table.iter(&txn).unwrap().map(|it| owned(it.unwrap())).collect();
        let mut back: Vec<_> =
            table.iter(&txn).unwrap().rev().map(|it| owned(it.unwrap())).collect();
        back.reverse();
        assert!(there == back, "the way back is another one");
        let model: Model = there.iter().cloned().collect();
        assert!(model.into_iter().eq(there.iter().cloned()), "records are not in order");
        let model: Model = there.into_iter().collect();
        let keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut many = Vec::new();
        table.get_many(&txn, &keys, |_, value| many.push(value.map(<[u8]>::to_vec))).unwrap();
        for (key, many) in keys.iter().zip(&many) {
            let (one, known) = (table.get(&txn, key).unwrap(), model.get(*key));
            let name = key.escape_ascii();
            assert_eq!(one, known.map(|value| &value[..]), "a get of {name}, and a scan");
            assert_eq!(many.as_ref(), known, "many gets, and a scan, of {name}");
        }
        let (low, high) = (key(15), key(40));
        let range = table.range(&txn, &low[..]..&high[..]).unwrap();
        assert!(
            range
                .map(|it| owned(it.unwrap()))
                .eq(model.range(low..high).map(|(k, v)| (k.clone(), v.clone())))
        );
        table.stat(&txn).unwrap();
        model
    }

    /// All writes and merges, of a table in which a check found nothing. `model`: what it holds, if
    /// that is known also of the merge that has begun.
    fn write(&self, mut model: Option<Model>) {
        let table = open(&self.lsm, self.is_merged).unwrap();
        let is = |model: &Option<Model>, what: &str| {
            let found = self.agreed(&table);
            if let Some(model) = model {
                assert!(found == *model, "after {what}: {}", differs(&found, model));
            }
            let check = table.check(&self.env.read().unwrap()).unwrap();
            assert!(check.is_clean(), "after {what}: {:?}", check.problems);
        };
        for count in [1, 12] {
            self.env.update(|txn| put_some(txn, &table, count)).unwrap();
            let put = |n| (key(n * 9 % 60), b"later".to_vec());
            if let Some(model) = &mut model {
                model.extend((0..count).map(put));
            }
        }
        is(&model, "puts");
        assert!(merge(&self.lsm).unwrap(), "merges do not end");
        is(&model, "merges");
        self.env.update(|txn| table.delete_range(txn, &key(30)[..]..&key(50)[..])).unwrap();
        let low_to_high = key(30)..key(50);
        if let Some(model) = &mut model {
            model.retain(|key, _| !low_to_high.contains(key));
        }
        self.lsm.compactor().merge_all().unwrap();
        is(&model, "a merge of all");
    }

    /// Everything, of a table that is known to be wrong: there may be errors.
    fn try_all(&self) {
        let Ok(table) = open(&self.lsm, self.is_merged) else { return };
        let txn = self.env.read().expect("a snapshot");
        let mut count = 0;
        let _ = table.iter(&txn).map(|all| {
            all.take(10_000).for_each(|it| count += usize::from(it.map_err(clear).is_ok()))
        });
        assert!(count < 10_000, "a scan does not end");
        let _ = table
            .iter(&txn)
            .map(|all| all.rev().take(10_000).filter_map(|it| it.map_err(clear).ok()).count());
        let keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        for key in &keys {
            let _ = table.get(&txn, key).map_err(clear);
        }
        let _ = table.get_many(&txn, &keys, |_, _| ()).map_err(clear);
        let _ = table.stat(&txn).map_err(clear);
        drop(txn);
        let _ = self.env.update(|txn| put_some(txn, &table, 2)).map_err(clear);
        let _ = self.env.update(|txn| put_some(txn, &table, 12)).map_err(clear);
        let range = &key(30)[..]..&key(50)[..];
        let _ = self.env.update(|txn| table.delete_range(txn, range.clone())).map_err(clear);
        let _ = merge(&self.lsm).map_err(clear);
        let _ = table.check(&self.env.read().expect("a snapshot")).map_err(clear);
        let _ = self.env.update(|txn| table.drop_table(txn)).map_err(clear);
    }
}

fn put_some(txn: &mut WriteTxn, table: &RawLsmTable, count: u64) -> huon::Result<()> {
    (0..count).try_for_each(|n| table.put(txn, &key(n * 9 % 60), b"later"))
}

/// Merges until nothing is due; whether that comes to an end.
fn merge(lsm: &Lsm) -> huon::Result<bool> {
    for _ in 0..STEPS_MAX {
        if !lsm.compactor().run_once()? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An error that a user can read.
fn clear(error: huon::Error) -> huon::Error {
    assert!(!error.to_string().is_empty());
    error
}

fn differs(found: &Model, model: &Model) -> String {
    let all: std::collections::BTreeSet<_> = found.keys().chain(model.keys()).collect();
    let wrong = all.into_iter().filter(|key| found.get(*key) != model.get(*key));
    let wrong: Vec<String> = wrong.take(5).map(|key| key.escape_ascii().to_string()).collect();
    format!("these keys are wrong: {wrong:?}")
}

//! Multimaps against a model: every kind of values, at several page sizes, with a check after each
//! commit. `SEEDS=n` runs more histories, `SEED=n` a single one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use huon::{Env, Error, Multi, MultiDef, Order, RawMulti, Result, Txn, WriteTxn};

type Model = BTreeMap<Vec<u8>, BTreeSet<Value>>;

/// How the values of a history are made and ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Any,
    Reversed,
    Fixed(u32),
    Native4,
    Native8,
    Custom,
}

const ALL: [Values; 8] = [
    Values::Any,
    Values::Reversed,
    Values::Fixed(3),
    Values::Fixed(16),
    Values::Fixed(0),
    Values::Native4,
    Values::Native8,
    Values::Custom,
];

/// A value as the model sorts it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Value {
    rank: Vec<u8>,
    bytes: Vec<u8>,
}

fn backwards() -> Order {
    Order::custom("backwards", |a, b| b.cmp(a))
}

impl Values {
    fn def(self, name: &str) -> MultiDef<huon::Bytes, huon::Bytes> {
        let def = MultiDef::named(name);
        match self {
            Values::Any => def,
            Values::Reversed => def.values_ordered(Order::Reversed),
            Values::Fixed(bytes) => def.values_of_bytes(bytes),
            Values::Native4 => def.values_ordered(Order::NativeU32).values_of_bytes(4),
            Values::Native8 => def.values_ordered(Order::NativeU64).values_of_bytes(8),
            Values::Custom => def.values_ordered(backwards()),
        }
    }

    fn value(self, random: &mut Random, max: usize) -> Value {
        let bytes = match self {
            Values::Any | Values::Reversed | Values::Custom => {
                let bytes = match random.below(10) {
                    0 => max,
                    1 => random.below(max as u64 + 1) as usize,
                    _ => random.below(12) as usize,
                };
                random.bytes(bytes)
            }
            Values::Fixed(0) => random.bytes(7),
            Values::Fixed(bytes) => random.bytes(bytes as usize),
            Values::Native4 => (random.below(5000) as u32).to_le_bytes().to_vec(),
            Values::Native8 => random.below(5000).to_le_bytes().to_vec(),
        };
        self.ranked(bytes)
    }

    fn ranked(self, bytes: Vec<u8>) -> Value {
        let rank = match self {
            Values::Any | Values::Fixed(_) => bytes.clone(),
            Values::Reversed | Values::Native4 | Values::Native8 => {
                bytes.iter().rev().copied().collect()
            }
            // Backwards; what is a lead of another comes behind it.
            Values::Custom => bytes.iter().flat_map(|byte| [0, 255 - byte]).chain([1]).collect(),
        };
        Value { rank, bytes }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Few different bytes, so that values share leads; none is 255, for the backwards order.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| [0, 1, 7, 254][self.below(4) as usize]).collect()
    }
}

fn key_of(random: &mut Random, max: usize) -> Vec<u8> {
    let number = random.below(12);
    let mut key = format!("key{number}").into_bytes();
    if number == 11 {
        key.resize(max, b'x');
    }
    key
}

/// One history: changes, aborts, commits, and a look at everything after each commit.
fn history(seed: u64, page_bytes: usize, values: Values) {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(page_bytes).open(dir.path().join("a.huon")).unwrap();
    let max = (page_bytes - 32) / 2 - 10;
    let mut random = Random(seed);
    let mut model = Model::new();
    let def = values.def("m");
    for _ in 0..6 {
        let mut txn = env.write().unwrap();
        let table = txn.create_table(&def).unwrap();
        let before = model.clone();
        for _ in 0..random.below(120) {
            change(&mut txn, table, &mut model, values, &mut random, max);
        }
        compare(&txn, table, &model, values);
        scan_beside_changes(&mut txn, table, &mut model, values, &mut random, max);
        if random.below(4) == 0 {
            txn.abort();
            model = before;
        } else {
            txn.commit().unwrap();
        }
        let report = env.check().unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
        let txn = env.read().unwrap();
        match txn.open_table(&def).unwrap() {
            Some(table) => {
                compare(&txn, table, &model, values);
                wander(&txn, table, &model, values, &mut random, max);
            }
            None => assert!(model.is_empty()),
        }
    }
    copied(&env, dir.path(), &def, &model, values);
}

fn change(
    txn: &mut WriteTxn,
    table: RawMulti,
    model: &mut Model,
    values: Values,
    random: &mut Random,
    max: usize,
) {
    let key = key_of(random, max);
    let value = values.value(random, max);
    let held = model.entry(key.clone()).or_default();
    match random.below(40) {
        0..=1 => {
            let others = held.iter().filter(|other| **other != value).count() as u64;
            *held = BTreeSet::from([value.clone()]);
            assert_eq!(table.set(txn, &key, &value.bytes).unwrap(), others);
        }
        2 => {
            let count = std::mem::take(held).len() as u64;
            assert_eq!(table.remove_key(txn, &key).unwrap(), count);
        }
        21 => {
            let old = held.iter().nth(random.below(held.len() as u64 * 2) as usize).cloned();
            let old = old.unwrap_or_else(|| values.value(random, max));
            let there = held.contains(&old);
            if there {
                held.remove(&old);
                held.insert(value.clone());
            }
            assert_eq!(table.update(txn, &key, &old.bytes, &value.bytes).unwrap(), there);
        }
        22 => {
            let only = held.first().map(|old| old.bytes.clone());
            let updated = table.update_with(txn, &key, |old, new| {
                assert_eq!(old, only.as_deref());
                if old.is_some() { new.set(&value.bytes) } else { Ok(()) }
            });
            match held.len() {
                0 => assert!(!updated.unwrap()),
                1 => {
                    assert!(updated.unwrap());
                    *held = BTreeSet::from([value]);
                }
                _ => assert!(matches!(updated, Err(Error::ManyValues))),
            }
        }
        3..=4 => {
            let new = held.is_empty();
            if new {
                held.insert(value.clone());
            }
            assert_eq!(table.put_if_absent(txn, &key, &value.bytes).unwrap(), new);
        }
        5 => {
            let highest = model.iter().rev().find(|(_, held)| !held.is_empty());
            let above =
                highest.is_none_or(|(last, held)| (last, held.last().unwrap()) < (&key, &value));
            let appended = table.append(txn, &key, &value.bytes);
            if above {
                appended.unwrap();
                model.get_mut(&key).unwrap().insert(value);
            } else {
                assert!(matches!(appended, Err(Error::KeyOutOfOrder)));
            }
        }
        6..=15 => {
            // One that is there, mostly.
            let at = random.below(held.len() as u64) as usize;
            let value = held.iter().nth(at).cloned().unwrap_or(value);
            let there = held.remove(&value);
            assert_eq!(table.remove(txn, &key, &value.bytes).unwrap(), there);
        }
        16 => {
            let (from, to) = (key_of(random, max), key_of(random, max));
            let count: usize = model
                .iter_mut()
                .filter(|(key, _)| **key >= from && **key < to)
                .map(|(_, held)| std::mem::take(held).len())
                .sum();
            let range = (Bound::Included(&from[..]), Bound::Excluded(&to[..]));
            assert_eq!(table.remove_range(txn, range).unwrap(), count as u64);
        }
        17 => {
            let undone = txn.nested(|txn| {
                table.put(txn, &key, &value.bytes)?;
                table.remove_key(txn, b"key1")?;
                Err::<(), _>(Error::Invalid("on second thoughts"))
            });
            assert!(matches!(undone, Err(Error::Invalid(_))));
        }
        23..=25 => {
            let row: Vec<Value> = (0..random.below(80)).map(|_| values.value(random, 9)).collect();
            let before = held.len();
            held.extend(row.iter().cloned());
            let bytes = row.iter().map(|value| &value.bytes[..]);
            let new = table.put_many(txn, &key, bytes).unwrap();
            assert_eq!(new, (held.len() - before) as u64);
        }
        18..=20 => {
            for _ in 0..random.below(60) {
                let value = values.value(random, 9);
                let new = held.insert(value.clone());
                assert_eq!(table.put(txn, &key, &value.bytes).unwrap(), new);
            }
        }
        _ => {
            let new = held.insert(value.clone());
            assert_eq!(table.put(txn, &key, &value.bytes).unwrap(), new);
        }
    }
    model.retain(|_, held| !held.is_empty());
}

/// Everything that can be asked.
fn compare(txn: &impl Txn, table: RawMulti, model: &Model, values: Values) {
    let pairs: Vec<(&[u8], &[u8])> = model
        .iter()
        .flat_map(|(key, held)| held.iter().map(|value| (&key[..], &value.bytes[..])))
        .collect();
    assert_eq!(table.len(txn).unwrap(), pairs.len() as u64);
    same(&table.iter(txn).unwrap().collect::<Result<Vec<_>>>().unwrap(), &pairs);
    let mut backwards = table.iter(txn).unwrap().rev().collect::<Result<Vec<_>>>().unwrap();
    backwards.reverse();
    same(&backwards, &pairs);
    both_ends(table.iter(txn).unwrap(), &pairs);
    assert_eq!(table.first(txn).unwrap(), pairs.first().copied());
    assert_eq!(table.last(txn).unwrap(), pairs.last().copied());
    let keys: Vec<(&[u8], u64)> =
        model.iter().map(|(key, held)| (&key[..], held.len() as u64)).collect();
    assert_eq!(table.keys(txn).unwrap().collect::<Result<Vec<_>>>().unwrap(), keys);
    let late: Vec<_> = pairs.iter().copied().filter(|(key, _)| *key >= &b"key5"[..]).collect();
    let range = table.range(txn, (Bound::Included(&b"key5"[..]), Bound::Unbounded));
    same(&range.unwrap().collect::<Result<Vec<_>>>().unwrap(), &late);
    for (key, held) in model {
        let all: Vec<&[u8]> = held.iter().map(|value| &value.bytes[..]).collect();
        assert_eq!(table.get(txn, key).unwrap(), all.first().copied());
        assert_eq!(table.count_values(txn, key).unwrap(), all.len() as u64);
        same(&table.values(txn, key).unwrap().collect::<Result<Vec<_>>>().unwrap(), &all);
        both_ends(table.values(txn, key).unwrap(), &all);
        let middle = held.iter().nth(all.len() / 2).unwrap();
        assert!(table.contains(txn, key, &middle.bytes).unwrap());
        let from = (Bound::Excluded(&middle.bytes[..]), Bound::Unbounded);
        let above: Vec<_> = all[all.len() / 2 + 1..].to_vec();
        let found = table.values_range(txn, key, from).unwrap();
        same(&found.collect::<Result<Vec<_>>>().unwrap(), &above);
        let to = (Bound::Unbounded, Bound::Included(&middle.bytes[..]));
        let found = table.values_range(txn, key, to).unwrap();
        let below = all[..=all.len() / 2].to_vec();
        same(&found.collect::<Result<Vec<_>>>().unwrap(), &below);
        let batches = table.values(txn, key).unwrap().batches().collect::<Result<Vec<_>>>();
        let batches = batches.unwrap();
        match table.value_bytes(txn).unwrap() {
            Some(bytes) => {
                let packed: Vec<&[u8]> =
                    batches.into_iter().flat_map(|b| b.chunks(bytes as usize)).collect();
                same(&packed, &all);
            }
            None => assert!(batches.is_empty(), "there are none, however few the values are"),
        }
        let absent = values.ranked(vec![9; middle.bytes.len().max(1)]);
        assert_eq!(table.contains(txn, key, &absent.bytes).unwrap(), held.contains(&absent));
    }
    assert_eq!(table.count_values(txn, b"none").unwrap(), 0);
    assert_eq!(table.values(txn, b"none").unwrap().count(), 0);
}

/// A scan goes where it is sent, and both ways from there.
fn wander(
    txn: &impl Txn,
    table: RawMulti,
    model: &Model,
    values: Values,
    random: &mut Random,
    max: usize,
) {
    let pairs: Vec<(&Vec<u8>, &Value)> =
        model.iter().flat_map(|(key, held)| held.iter().map(move |value| (key, value))).collect();
    let mut scan = table.cursor();
    let mut at = 0;
    for _ in 0..40 {
        let key = key_of(random, max);
        let value = match model.get(&key).filter(|_| random.below(2) == 0) {
            Some(held) => held.iter().nth(random.below(held.len() as u64) as usize).cloned(),
            None => None,
        };
        let value = value.unwrap_or_else(|| values.value(random, max));
        match random.below(12) {
            0 => (_, at) = (scan.to_start(), 0),
            1 => (_, at) = (scan.to_end(), pairs.len()),
            2 => (_, at) = (scan.seek(&key), pairs.partition_point(|(k, _)| **k < key)),
            3 => (_, at) = (scan.seek_after(&key), pairs.partition_point(|(k, _)| **k <= key)),
            4 => {
                scan.seek_pair(&key, &value.bytes).unwrap();
                at = pairs.partition_point(|pair| *pair < (&key, &value));
            }
            5 => {
                scan.seek_after_pair(&key, &value.bytes).unwrap();
                at = pairs.partition_point(|pair| *pair <= (&key, &value));
            }
            _ => {}
        }
        for _ in 0..random.below(6) {
            let forward = random.below(2) == 0;
            let found = if forward { scan.next(txn).unwrap() } else { scan.prev(txn).unwrap() };
            let expected = if forward { pairs.get(at) } else { pairs[..at].last() };
            assert_eq!(found, expected.map(|(k, v)| (&k[..], &v.bytes[..])));
            match (found, forward) {
                (Some(_), true) => at += 1,
                (Some(_), false) => at -= 1,
                (None, _) => continue,
            }
            if random.below(10) == 0 {
                let key = if forward { pairs[at - 1].0 } else { pairs[at].0 };
                match random.below(2) {
                    0 => (_, at) = (scan.skip_key(), pairs.partition_point(|(k, _)| *k <= key)),
                    _ => (_, at) = (scan.skip_key_back(), pairs.partition_point(|(k, _)| *k < key)),
                }
            }
        }
    }
}

/// A scan goes through everything while the multimap changes around it: it returns what is there
/// when it comes by.
fn scan_beside_changes(
    txn: &mut WriteTxn,
    table: RawMulti,
    model: &mut Model,
    values: Values,
    random: &mut Random,
    max: usize,
) {
    let mut scan = table.cursor();
    let mut last: Option<(Vec<u8>, Value)> = None;
    loop {
        let behind = |(key, value): &(&Vec<u8>, &Value)| {
            last.as_ref().is_none_or(|(last_key, last)| (*key, *value) > (last_key, last))
        };
        let expected = model
            .iter()
            .flat_map(|(key, held)| held.iter().map(move |value| (key, value)))
            .find(behind)
            .map(|(key, value)| (key.clone(), value.clone()));
        let found = scan.next(txn).unwrap();
        assert_eq!(found, expected.as_ref().map(|(k, v)| (&k[..], &v.bytes[..])));
        let Some(pair) = expected else { break };
        last = Some(pair);
        if random.below(3) == 0 {
            change(txn, table, model, values, random, max);
        }
        if random.below(20) == 0 {
            break;
        }
    }
}

/// Says the first difference, and not all of both.
fn same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T]) {
    let differs = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let at = differs.unwrap_or(found.len().min(expected.len()));
    assert!(
        found == expected,
        "item {at} of {}: {:?} where {:?} was expected",
        expected.len(),
        found.get(at),
        expected.get(at)
    );
}

/// Three from the front, one from the back, and so on until they meet.
fn both_ends<T: PartialEq + std::fmt::Debug>(
    mut items: impl DoubleEndedIterator<Item = Result<T>>,
    expected: &[T],
) {
    let (mut from, mut until, mut step) = (0, expected.len(), 0);
    while from < until {
        step += 1;
        if step % 4 == 0 {
            until -= 1;
            assert_eq!(items.next_back().unwrap().unwrap(), expected[until]);
        } else {
            assert_eq!(items.next().unwrap().unwrap(), expected[from]);
            from += 1;
        }
    }
    assert!(items.next().is_none() && items.next_back().is_none());
}

/// The same in a plain copy, in a compact one, and in what a dump loads.
fn copied(
    env: &Env,
    dir: &std::path::Path,
    def: &MultiDef<huon::Bytes, huon::Bytes>,
    model: &Model,
    values: Values,
) {
    let is = |path: &std::path::Path| {
        let env = Env::options().open(path).unwrap();
        let txn = env.read().unwrap();
        match txn.open_table(def).unwrap() {
            Some(table) => compare(&txn, table, model, values),
            None => assert!(model.is_empty()),
        }
        let report = env.check().unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
    };
    for compact in [false, true] {
        let path = dir.join(format!("copy-{compact}.huon"));
        env.copy_to(&path, huon::CopyOptions::new().compact(compact)).unwrap();
        is(&path);
    }
    for rescue in [false, true] {
        let mut text = Vec::new();
        huon_text::dump(env, &mut text, huon_text::DumpOptions::new().rescue(rescue)).unwrap();
        let path = dir.join(format!("loaded-{rescue}.huon"));
        let page_bytes = env.info().unwrap().page_bytes as usize;
        let loaded = Env::options().page_bytes(page_bytes).open(&path).unwrap();
        for _ in 0..2 {
            let options = huon_text::LoadOptions::new().comparator(backwards());
            huon_text::load(&loaded, &mut &text[..], options).unwrap();
        }
        drop(loaded);
        is(&path);
    }
}

#[test]
fn multimaps_do_what_the_model_does() {
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let one: Option<u64> = std::env::var("SEED").ok().and_then(|n| n.parse().ok());
    for seed in one.map_or(0..seeds, |seed| seed..seed + 1) {
        for page_bytes in [256, 512, 4096] {
            for values in ALL {
                println!("SEED={seed} at {page_bytes} bytes a page, {values:?}");
                history(seed, page_bytes, values);
            }
        }
    }
}

#[test]
fn tables_of_different_kinds_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("a.huon")).unwrap();
    let mut txn = env.write().unwrap();
    txn.create_table(&Values::Any.def("m")).unwrap();
    txn.create_table(&huon::TableDef::<huon::Bytes, huon::Bytes>::new("t")).unwrap();
    for values in &ALL[1..] {
        let opened = txn.open_table(&values.def("m"));
        assert!(matches!(opened, Err(Error::TableKind)), "{values:?}");
    }
    let plain = huon::TableDef::<huon::Bytes, huon::Bytes>::new("m");
    assert!(matches!(txn.create_table(&plain), Err(Error::TableKind)));
    assert!(matches!(txn.create_table(&Values::Any.def("t")), Err(Error::TableKind)));
    assert!(matches!(txn.create_table(&Values::Any.def("")), Err(Error::Invalid(_))));
    let stored = Values::Any.def("m").values_ordered(Order::Stored);
    assert!(txn.open_table(&stored).unwrap().is_some());
}

#[test]
fn what_is_refused_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(512).open(dir.path().join("a.huon")).unwrap();
    let mut txn = env.write().unwrap();
    let any = txn.create_table(&Values::Any.def("any")).unwrap();
    let fixed = txn.create_table(&Values::Fixed(0).def("fixed")).unwrap();
    let max = (512 - 32) / 2 - 10;
    any.put(&mut txn, b"a", &vec![1; max]).unwrap();
    let refused = any.put(&mut txn, b"a", &vec![1; max + 1]);
    assert!(matches!(refused, Err(Error::SortedValueTooLong { .. })), "{refused:?}");
    assert!(matches!(fixed.put(&mut txn, b"a", b""), Err(Error::ValueLength)));
    fixed.put(&mut txn, b"a", b"four").unwrap();
    assert!(matches!(fixed.put(&mut txn, b"b", b"five!"), Err(Error::ValueLength)));
    assert!(matches!(fixed.set(&mut txn, b"a", b"five!"), Err(Error::ValueLength)));
    assert_eq!(fixed.len(&txn).unwrap(), 1);
    // Of many values none is there then, not even those before the one that is refused.
    let long = vec![1; max + 1];
    let refused = any.put_many(&mut txn, b"b", [&b"fine"[..], &long]);
    assert!(matches!(refused, Err(Error::SortedValueTooLong { .. })), "{refused:?}");
    for fresh in [fixed, txn.create_table(&Values::Fixed(0).def("fresh")).unwrap()] {
        let refused = fresh.put_many(&mut txn, b"c", [&b"four"[..], b"five!"]);
        assert!(matches!(refused, Err(Error::ValueLength)), "{refused:?}");
        assert_eq!(fresh.put_many(&mut txn, b"c", []).unwrap(), 0);
        assert_eq!(fresh.count_values(&txn, b"c").unwrap(), 0);
    }
    assert_eq!((any.len(&txn).unwrap(), fixed.len(&txn).unwrap()), (1, 1));
    txn.commit().unwrap();
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// Bytes that values take, counted in pages.
#[test]
fn integers_fill_their_pages() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(4096).open(dir.path().join("a.huon")).unwrap();
    let def = MultiDef::<huon::Str, huon::NativeU64>::new("m");
    let mut txn = env.write().unwrap();
    let table: Multi<_, _> = txn.create_table(&def).unwrap();
    // (4096 - 32) / 8 = 508 values a leaf, hundred leaves.
    (0..50_800).try_for_each(|n| table.append(&mut txn, "all", n)).unwrap();
    assert_eq!(table.count_values(&txn, "all").unwrap(), 50_800);
    txn.commit().unwrap();
    let stat = env.stat().unwrap();
    let table = stat.tables.iter().find(|table| table.name == b"m").unwrap();
    assert_eq!(table.entries, 50_800);
    // One more for the key's own leaf.
    assert_eq!(table.leaf_pages, 101, "{table:?}");
}

/// From one value to a tree of them and back.
#[test]
fn values_come_back_to_their_key() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().page_bytes(4096).open(dir.path().join("a.huon")).unwrap();
    let def = MultiDef::<huon::Str, huon::NativeU64>::new("m");
    let mut txn = env.write().unwrap();
    let table = txn.create_table(&def).unwrap();
    for n in 0..400 {
        assert!(table.put(&mut txn, "all", n).unwrap());
    }
    for n in (1..400).rev() {
        assert!(table.remove(&mut txn, "all", n).unwrap());
    }
    assert_eq!(table.len(&txn).unwrap(), 1);
    txn.commit().unwrap();
    let stat = env.stat().unwrap();
    let table = stat.tables.iter().find(|table| table.name == b"m").unwrap();
    assert_eq!(table.leaf_pages, 1, "one value lies with its key again: {table:?}");
}

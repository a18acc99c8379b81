//! Everything once, on a simulated machine with pages of 256 bytes: small enough for Miri, which
//! looks for undefined behaviour and races, also on machines of other byte order and address width.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use huon::sim::SimDisk;
use huon::{
    Bytes, Durability, Env, MultiDef, Order, RawMulti, RawTable, Recovery, TableDef, U64, WriteTxn,
};
use huon_testkit::audit::audit;
use huon_testkit::random::Random;
use huon_testkit::trail::Trail;

const RESERVE_BYTES: u64 = 256 << 10;
/// Between two looks of a reader: time for the writer, which has only Miri's clock there.
const NAP_MS: u64 = if FEW { 2_000 } else { 1 };
/// Miri takes a thousand times as long.
const FEW: bool = cfg!(miri);
const ORDERS: usize = if FEW { 1 } else { 5 };
const ROUNDS: u64 = if FEW { 1 } else { 2 };
/// Values of a key: more than a leaf of 256 bytes holds.
const VALUES: u64 = if FEW { 70 } else { 90 };
const DURABLE: u64 = if FEW { 1 } else { 5 };
const LAZY: u64 = if FEW { 1 } else { 3 };
const SEEN: u64 = if FEW { 1 } else { 3 };
const T: TableDef<U64, Bytes> = TableDef::new("t");

/// Records of a table, by a key that compares as bytes.
type Records = BTreeMap<Vec<u8>, (Vec<u8>, Vec<u8>)>;

fn open(disk: &SimDisk) -> Env {
    let mut options = Env::options();
    options.page_bytes(256).max_bytes(RESERVE_BYTES).grow_bytes(4096).shrink_bytes(1024);
    options.open_simulated(disk).unwrap()
}

fn orders() -> [(&'static str, Order); 5] {
    [
        ("bytes", Order::Bytes),
        ("reversed", Order::Reversed),
        ("four", Order::NativeU32),
        ("eight", Order::NativeU64),
        ("custom", Order::custom("backwards", |a, b| b.cmp(a))),
    ]
}

fn key(order: &Order, n: u64) -> Vec<u8> {
    let mixed = Random::new(n).next();
    match order {
        Order::NativeU32 => (mixed as u32).to_le_bytes().to_vec(),
        Order::NativeU64 => mixed.to_le_bytes().to_vec(),
        _ => format!("{}/{n}", "shared".repeat(n as usize % 12)).into_bytes(),
    }
}

fn sort_key(order: &Order, key: &[u8]) -> Vec<u8> {
    match order {
        Order::Bytes => key.to_vec(),
        // Complemented, and with an end that is above all.
        Order::Custom(_) => key.iter().map(|byte| !byte).chain([0xFF]).collect(),
        _ => key.iter().rev().copied().collect(),
    }
}

fn value(n: u64) -> Vec<u8> {
    let bytes = if n % 16 == 5 { 700 } else { n as usize * 7 % 40 };
    (0..bytes).map(|i| (n as usize + i) as u8).collect()
}

/// Compares both ways, by key, and with a cursor from the middle on.
fn compare(env: &Env, name: &'static str, order: &Order, expected: &Records) {
    let txn = env.read().unwrap();
    let def = TableDef::<Bytes, Bytes>::new(name).ordered(order.clone());
    let table = txn.open_table(&def).unwrap().expect("it was made");
    let owned = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
    let found = table.iter(&txn).unwrap().map(|record| owned(record.unwrap()));
    assert!(found.eq(expected.values().cloned()), "{name}: forward");
    let found = table.iter(&txn).unwrap().rev().map(|record| owned(record.unwrap()));
    assert!(found.eq(expected.values().rev().cloned()), "{name}: backward");
    for (key, value) in expected.values() {
        assert_eq!(table.get(&txn, key).unwrap(), Some(&value[..]), "{name}");
    }
    let middle: Vec<_> = expected.values().skip(expected.len() / 2).take(4).collect();
    let mut cursor = table.cursor();
    cursor.seek(&middle[0].0).unwrap();
    for (key, value) in &middle {
        assert_eq!(cursor.next(&txn).unwrap(), Some((&key[..], &value[..])), "{name}: cursor");
    }
    for (key, value) in middle.iter().rev() {
        assert_eq!(cursor.prev(&txn).unwrap(), Some((&key[..], &value[..])), "{name}: cursor");
    }
}

/// Puts, deletes, a deleted range and an undone level, the same in the model.
fn change(txn: &mut WriteTxn, table: RawTable, order: &Order, model: &mut Records, round: u64) {
    for n in 0..24 {
        let (n, key) = (n * 3 + round, key(order, n * 3 + round));
        table.put(txn, &key, &value(n)).unwrap();
        model.insert(sort_key(order, &key), (key, value(n)));
    }
    for n in (0..24).filter(|n| n % 5 == round) {
        let key = key(order, n);
        let gone = model.remove(&sort_key(order, &key)).is_some();
        assert_eq!(table.remove(txn, &key).unwrap(), gone);
    }
    let undone: huon::Result<()> = txn.nested(|level| {
        table.clear(level)?;
        table.put(level, &key(order, 1), b"undone")?;
        Err(huon::Error::Invalid("undo"))
    });
    assert!(undone.is_err());
    let keys: Vec<Vec<u8>> = model.keys().skip(10).take(8).cloned().collect();
    let (first, last) = (&model[&keys[0]].0, &model[&keys[7]].0);
    let deleted = table.remove_range(txn, &first[..]..=&last[..]).unwrap();
    assert_eq!(deleted, 8);
    keys.iter().for_each(|key| drop(model.remove(key)));
    let reserved = table.reserve(txn, &key(order, 0), 5, |place| place.copy_from_slice(b"place"));
    reserved.unwrap();
    let first = key(order, 0);
    model.insert(sort_key(order, &first), (first, b"place".to_vec()));
}

#[test]
fn tables_of_every_order_hold_what_was_put() {
    let disk = SimDisk::new(RESERVE_BYTES).unwrap();
    for (name, order) in orders().into_iter().take(ORDERS) {
        let mut model = Records::new();
        for round in 0..ROUNDS {
            let env = open(&disk);
            let def = TableDef::<Bytes, Bytes>::new(name).ordered(order.clone());
            let mut txn = env.write().unwrap();
            let table = txn.create_table(&def).unwrap();
            change(&mut txn, table, &order, &mut model, round);
            txn.commit().unwrap();
            compare(&env, name, &order, &model);
        }
    }
    let audit = audit(&open(&disk)).unwrap();
    assert!(audit.depth_max > ROUNDS && audit.branch_pages > 0 && audit.overflow_pages > 0);
}

/// Pairs of a multimap, as its key and values compare.
type Pairs = BTreeSet<(Vec<u8>, Vec<u8>)>;

/// Many values for one key, in a tree of their own, and few for others, in cells; an undone level,
/// and values that go, as many as bring the rest back into the cell in the last round.
fn change_pairs(txn: &mut WriteTxn, multi: RawMulti, bytes: usize, model: &mut Pairs, last: bool) {
    let value = |n: u64| {
        let bytes = if bytes == 0 { 3 + n as usize % 9 } else { bytes };
        n.to_be_bytes()[6..].iter().copied().cycle().take(bytes).collect::<Vec<u8>>()
    };
    for n in 0..VALUES {
        let key = if n % 8 == 3 { [b'a', n as u8] } else { *b"kk" };
        let is_new = model.insert((key.to_vec(), value(n)));
        assert_eq!(multi.put(txn, &key, &value(n)).unwrap(), is_new);
    }
    let undone: huon::Result<()> = txn.nested(|level| {
        multi.remove_key(level, b"kk")?;
        multi.put(level, b"x", &value(1))?;
        Err(huon::Error::Invalid("undo"))
    });
    assert!(undone.is_err());
    let left = if last { 2 } else { VALUES * 2 / 3 };
    for n in left..VALUES {
        let was_there = model.remove(&(b"kk".to_vec(), value(n)));
        assert_eq!(multi.remove(txn, b"kk", &value(n)).unwrap(), was_there);
    }
    assert_eq!(multi.remove_key(txn, &[b'a', 11]).unwrap(), 1);
    model.retain(|(key, _)| key[..] != [b'a', 11]);
}

fn compare_pairs(env: &Env, def: &MultiDef<Bytes, Bytes>, expected: &Pairs) {
    let txn = env.read().unwrap();
    let multi = txn.open_table(def).unwrap().expect("it was made");
    let owned = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
    let found = multi.iter(&txn).unwrap().map(|pair| owned(pair.unwrap()));
    assert!(found.eq(expected.iter().cloned()), "forward");
    let found = multi.iter(&txn).unwrap().rev().map(|pair| owned(pair.unwrap()));
    assert!(found.eq(expected.iter().rev().cloned()), "backward");
    let of_key = expected.iter().filter(|(key, _)| key == b"kk").map(|(_, value)| value.clone());
    let found = multi.values(&txn, b"kk").unwrap().map(|value| value.unwrap().to_vec());
    assert!(found.eq(of_key.clone()), "values of a key");
    assert_eq!(multi.count_values(&txn, b"kk").unwrap(), of_key.count() as u64);
    for (key, value) in expected.iter().step_by(5) {
        assert!(multi.contains(&txn, key, value).unwrap());
    }
    assert_eq!(multi.len(&txn).unwrap(), expected.len() as u64);
}

fn leaf_pages(env: &Env, name: &str) -> u32 {
    let tables = env.stat().unwrap().tables;
    tables.iter().find(|table| table.name == name.as_bytes()).map_or(0, |table| table.leaf_pages)
}

#[test]
fn multimaps_hold_their_values_in_cells_and_in_trees() {
    let disk = SimDisk::new(RESERVE_BYTES).unwrap();
    for (name, bytes) in [("any", 0), ("fixed", 6)] {
        let def = MultiDef::<Bytes, Bytes>::named(name);
        let def = if bytes == 0 { def } else { def.values_of_bytes(bytes) };
        let mut model = Pairs::new();
        for round in (0..2).rev() {
            let env = open(&disk);
            let mut txn = env.write().unwrap();
            let multi = txn.create_table(&def).unwrap();
            change_pairs(&mut txn, multi, bytes as usize, &mut model, round == 0);
            txn.commit().unwrap();
            compare_pairs(&env, &def, &model);
            // Leaves of the keys, and those of the tree of values.
            let leaves = leaf_pages(&env, name);
            // A small one that no delete came to may be left.
            let fits = if round > 0 { leaves > 2 } else { leaves <= 3 };
            assert!(fits, "{name}: {leaves} leaves");
        }
    }
    let env = open(&disk);
    let mut txn = env.write().unwrap();
    for name in ["any", "fixed"] {
        let def = MultiDef::<Bytes, Bytes>::named(name).values_ordered(Order::Stored);
        assert!(txn.open_table(&def).unwrap().unwrap().drop_table(&mut txn).unwrap());
    }
    txn.commit().unwrap();
    assert_eq!(audit(&env).unwrap().leaf_pages, 0);
}

fn put(env: &Env, key: u64, durability: Durability) -> u64 {
    let mut txn = env.write().unwrap();
    txn.create_table(&T).unwrap().put(&mut txn, key, &value(key)).unwrap();
    txn.commit_with(durability).unwrap()
}

fn keys(env: &Env) -> Vec<u64> {
    let txn = env.read().unwrap();
    let Some(t) = txn.open_table(&T).unwrap() else { return Vec::new() };
    t.iter(&txn).unwrap().map(|record| record.unwrap().0).collect()
}

#[test]
fn kills_and_power_losses_leave_whole_commits() {
    let disk = SimDisk::new(RESERVE_BYTES).unwrap();
    let env = open(&disk);
    for n in 0..DURABLE + LAZY {
        put(&env, n, if n < DURABLE { Durability::Durable } else { Durability::Lazy });
    }
    let killed = disk.after_crash(&disk.image(), true).unwrap();
    let env = open(&killed.with_lock_image(&disk.lock_image()));
    assert_eq!(env.recovery(), Recovery::Newest);
    assert_eq!(keys(&env), Vec::from_iter(0..DURABLE + LAZY));
    put(&env, 100, Durability::Durable);
    audit(&env).unwrap();

    let mut trail = Trail::default();
    trail.follow(&disk);
    let mut random = Random::new(1);
    for _ in 0..ROUNDS {
        let cut = disk.after_crash(&trail.random_image(&mut random).data, false).unwrap();
        let env = open(&cut);
        let found = keys(&env);
        assert!((DURABLE..=DURABLE + LAZY).contains(&(found.len() as u64)), "{found:?}");
        assert_eq!(found, Vec::from_iter(0..found.len() as u64));
        put(&env, 100, Durability::Durable);
        audit(&env).unwrap();
    }
}

/// Each commit writes one value to all keys: a reader that sees two has seen a torn snapshot.
#[test]
fn readers_see_whole_snapshots_while_one_writes() {
    let disk = SimDisk::new(RESERVE_BYTES).unwrap().quiet();
    let writer = open(&disk);
    let write = |round: u64| {
        let mut txn = writer.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        for key in 0..6 {
            t.put(&mut txn, key, &[round.to_le_bytes(); 4].concat()).unwrap();
        }
        let durability = [Durability::Lazy, Durability::Durable][round as usize % 2];
        txn.commit_with(durability).unwrap();
    };
    write(0);
    let read = |env: &Env, last: u64| {
        let txn = env.read().unwrap();
        let t = txn.open_table(&T).unwrap().unwrap();
        let values: Vec<&[u8]> = t.iter(&txn).unwrap().map(|r| r.unwrap().1).collect();
        assert_eq!(values, [values[0]; 6], "a torn snapshot");
        let round = u64::from_le_bytes(values[0][..8].try_into().unwrap());
        assert!(round >= last, "time went back");
        round
    };
    let clients = [open(&disk), writer.clone()];
    let reading = AtomicUsize::new(clients.len());
    std::thread::scope(|scope| {
        for env in &clients {
            scope.spawn(|| {
                let mut last = 0;
                // Until the writer has made some progress that was seen.
                while last < SEEN {
                    last = read(env, last);
                    std::thread::sleep(Duration::from_millis(NAP_MS));
                }
                reading.fetch_sub(1, Ordering::Release);
            });
        }
        (1..).take_while(|_| reading.load(Ordering::Acquire) > 0).for_each(write);
    });
    audit(&writer).unwrap();
}

#[test]
fn writers_of_every_durability_take_turns() {
    let disk = SimDisk::new(RESERVE_BYTES).unwrap().quiet();
    let first = open(&disk);
    put(&first, 0, Durability::Durable);
    let clients = [open(&disk), open(&disk), first.clone()];
    std::thread::scope(|scope| {
        for (n, env) in (0u64..).zip(&clients) {
            scope.spawn(move || {
                let first = 100 * (n + 1);
                put(env, first, Durability::Durable);
                put(env, first + 1, Durability::NoMetaSync);
                put(env, first + 2, Durability::Lazy);
                let mut txn = env.write().unwrap();
                txn.create_table(&T).unwrap().put(&mut txn, first + 3, b"ticket").unwrap();
                let ticket = txn.commit_ticket().unwrap();
                ticket.wait().unwrap();
                assert!(env.durable_id() >= ticket.id());
            });
        }
    });
    let expected = (1..=3).flat_map(|n| (0..4).map(move |k| 100 * n + k));
    assert_eq!(keys(&first)[1..], Vec::from_iter(expected));
    let info = first.info().unwrap();
    assert_eq!((info.durable, info.newest), (first.sync().unwrap(), info.newest));
    audit(&first).unwrap();
}

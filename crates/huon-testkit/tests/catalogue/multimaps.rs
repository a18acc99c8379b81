//! Keys of many values: where other stores changed the form in which they keep them.

use std::collections::{BTreeMap, BTreeSet};

use huon::{Bytes, Env, Error, MultiDef, Order, RawMulti, Result, Txn, WriteTxn};

use super::{Place, assert_clean, small};

type Model = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

fn def() -> MultiDef<Bytes, Bytes> {
    MultiDef::new("m")
}

/// Values of one length, or of lengths that differ, which rise with their number.
fn value(fixed_bytes: Option<usize>, n: usize) -> Vec<u8> {
    let mut value = (n as u32).to_be_bytes().to_vec();
    value.resize(fixed_bytes.unwrap_or(4 + n * 7 % 23), b'.');
    value
}

fn same(txn: &impl Txn, m: RawMulti, model: &Model, when: &str) {
    let pairs: Vec<(&[u8], &[u8])> = model
        .iter()
        .flat_map(|(key, held)| held.iter().map(|value| (&key[..], &value[..])))
        .collect();
    let found = m.iter(txn).unwrap().collect::<Result<Vec<_>>>().unwrap();
    assert!(found == pairs, "{when}: {} pairs where {} were put", found.len(), pairs.len());
    let back = m.iter(txn).unwrap().rev().collect::<Result<Vec<_>>>().unwrap();
    assert!(back.iter().rev().eq(&pairs), "{when}, backwards");
    assert_eq!(m.len(txn).unwrap(), pairs.len() as u64, "{when}");
}

/// B3. LMDB, libmdbx: deleting what the cursor stands on, in a loop, crashed or skipped values.
#[test]
fn loops_that_delete_what_they_meet() {
    for count in [1, 2, 3, 31, 32, 255, 256, 600] {
        for fixed_bytes in [None, Some(4), Some(9)] {
            for order in 0..6 {
                let place = Place::new();
                let env = small().open(&place.path).unwrap();
                let mut txn = env.write().unwrap();
                let m = txn.create_table(&def()).unwrap();
                for key in [b"a", b"b", b"c"] {
                    insert_many(m, &mut txn, key, (0..count).map(|n| value(fixed_bytes, n)))
                        .unwrap();
                }
                delete_in_order(&mut txn, m, order, count);
                let when = format!("{count} values of {fixed_bytes:?} bytes, order {order}");
                assert_eq!(m.len(&txn).unwrap(), 0, "{when}");
                txn.commit().unwrap();
                assert_clean(&env, &when);
            }
        }
    }
}

fn delete_in_order(txn: &mut WriteTxn, m: RawMulti, order: u32, count: usize) {
    let mut scan = m.cursor();
    let mut met = 0;
    if order % 2 == 1 {
        scan.to_end();
    }
    loop {
        let found = match order {
            0 | 2 | 4 => scan.next(txn).unwrap(),
            _ => scan.prev(txn).unwrap(),
        };
        let Some((key, value)) = found.map(|(key, value)| (key.to_vec(), value.to_vec())) else {
            break;
        };
        met += 1;
        // All, or the others, or all of a key at its first value; the rest in another round.
        match order {
            0 | 1 => assert!(m.remove(txn, &key, &value).unwrap()),
            2 | 3 if met % 2 == 0 => assert!(m.remove(txn, &key, &value).unwrap()),
            2 | 3 => {}
            _ => assert_eq!(m.remove_key(txn, &key).unwrap(), count as u64),
        }
    }
    match order {
        0 | 1 => assert_eq!(met, 3 * count),
        2 | 3 => {
            assert_eq!(met, 3 * count);
            assert_eq!(m.len(txn).unwrap(), (3 * count).div_ceil(2) as u64);
            m.remove_range(txn, ..).unwrap();
        }
        _ => assert_eq!(met, 3),
    }
}

/// B4. LMDB, libmdbx: values were lost or mixed up when their set became a tree, or came back,
/// with odd lengths of keys and values above all.
#[test]
fn sets_that_grow_and_shrink_by_one_value() {
    for page_bytes in [256, 512, 4096] {
        for (key_bytes, fixed_bytes) in
            [(1, None), (7, Some(1)), (8, Some(2)), (33, Some(5)), (64, Some(8)), (90, Some(33))]
        {
            let place = Place::new();
            let mut options = small();
            let env = options.page_bytes(page_bytes).open(&place.path).unwrap();
            let when = format!("{page_bytes} {key_bytes} {fixed_bytes:?}");
            let key = vec![b'k'; key_bytes];
            let mut model = Model::new();
            let mut txn = env.write().unwrap();
            let m = txn.create_table(&def()).unwrap();
            m.put(&mut txn, b"a", b"neighbour").unwrap();
            m.put(&mut txn, b"z", b"neighbour").unwrap();
            model.insert(b"a".to_vec(), [b"neighbour".to_vec()].into());
            model.insert(b"z".to_vec(), [b"neighbour".to_vec()].into());
            let held = |n: usize| match fixed_bytes {
                Some(1) => vec![n as u8],
                Some(2) => (n as u16).to_be_bytes().to_vec(),
                fixed_bytes => value(fixed_bytes, n),
            };
            // Past both borders and back, from the middle outward.
            let values: Vec<Vec<u8>> =
                (0..if page_bytes > 512 { 250 } else { 60 }).map(held).collect();
            for (step, at) in outward(values.len()).into_iter().enumerate() {
                assert!(m.put(&mut txn, &key, &values[at]).unwrap(), "{when}");
                model.entry(key.clone()).or_default().insert(values[at].clone());
                if step % 7 == 0 {
                    same(&txn, m, &model, &when);
                }
            }
            for at in outward(values.len()).into_iter().rev() {
                assert!(m.remove(&mut txn, &key, &values[at]).unwrap(), "{when}");
                model.get_mut(&key).unwrap().remove(&values[at]);
                model.retain(|_, held| !held.is_empty());
                if at % 7 == 0 {
                    same(&txn, m, &model, &when);
                }
            }
            same(&txn, m, &model, &when);
            txn.commit().unwrap();
            assert_clean(&env, &when);
        }
    }
}

/// The numbers below `count`, from the middle outward.
fn outward(count: usize) -> Vec<usize> {
    let middle = count / 2;
    let mut all: Vec<usize> = (0..count).collect();
    all.sort_by_key(|n| n.abs_diff(middle) * 2 + usize::from(*n < middle));
    all
}

/// B4. libmdbx: a batch of values that crossed the border in its middle damaged the tree.
#[test]
fn batches_that_cross_the_border_at_each_place() {
    let place = Place::new();
    let env = small().page_bytes(512).open(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    let m = txn.create_table(&def().values_of_bytes(8)).unwrap();
    let mut model = Model::new();
    for before in 0..60usize {
        for batch in [1, 2, 30, 64] {
            let key = [before as u8, batch as u8];
            let all = |n: usize| (n as u64 * 3).to_be_bytes().to_vec();
            insert_many(m, &mut txn, &key, (0..before).map(all)).unwrap();
            let more = (before..before + batch).rev().map(all);
            assert_eq!(insert_many(m, &mut txn, &key, more).unwrap(), batch as u64);
            model.insert(key.to_vec(), (0..before + batch).map(|n| all(n).to_vec()).collect());
        }
    }
    same(&txn, m, &model, "batches");
    txn.commit().unwrap();
    assert_clean(&env, "batches");
}

/// B5. LMDB, libmdbx: empty values, and values replaced by shorter and longer ones.
#[test]
fn values_of_every_length_take_each_others_place() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let max = (256 - 32) / 2 - 10;
    let lengths = [0, 1, 2, 27, 28, 29, 63, 64, 65, max - 1, max];
    let mut txn = env.write().unwrap();
    let m = txn.create_table(&def()).unwrap();
    for others in [0usize, 1, 3, 40] {
        for from in lengths {
            for to in lengths {
                let mut model = BTreeSet::new();
                for n in 0..others {
                    let other = value(None, n);
                    m.put(&mut txn, b"k", &other).unwrap();
                    model.insert(other);
                }
                let (old, new) = (vec![b'o'; from], vec![b'n'; to]);
                m.put(&mut txn, b"k", &old).unwrap();
                assert!(m.update(&mut txn, b"k", &old, &new).unwrap());
                model.insert(new);
                let when = format!("{others} others, {from} by {to}");
                same(&txn, m, &[(b"k".to_vec(), model)].into(), &when);
                assert_eq!(m.remove_key(&mut txn, b"k").unwrap(), others as u64 + 1);
            }
        }
    }
    txn.commit().unwrap();
    assert_clean(&env, "replaced");
}

/// B6. LMDB: pages of equal values were divided at the wrong place for some lengths and page sizes.
#[test]
fn values_of_one_length_fill_pages_of_every_size() {
    for page_bytes in [256, 1024, 4096, 65536] {
        let max = (page_bytes - 32) / 2 - 10;
        for bytes in [1, 2, 3, 7, 8, 100, max - 1, max] {
            let place = Place::new();
            let env = small().page_bytes(page_bytes).open(&place.path).unwrap();
            let mut txn = env.write().unwrap();
            let m = txn.create_table(&def().values_of_bytes(bytes as u32)).unwrap();
            let room = ((page_bytes - 32) / bytes * 3).min(if bytes == 1 { 256 } else { 5000 });
            let held = |n: usize| -> Vec<u8> {
                let number = (n as u64).to_be_bytes();
                let short = &number[8 - bytes.min(8)..];
                short.iter().copied().chain(std::iter::repeat(b'.')).take(bytes).collect()
            };
            // In order, backwards, and from the middle outward: the three ways to divide.
            for (key, numbers) in [
                (b"a", (0..room).collect()),
                (b"b", (0..room).rev().collect()),
                (b"c", outward(room)),
            ] {
                let new = insert_many(m, &mut txn, key, numbers.into_iter().map(held)).unwrap();
                assert_eq!(new, room as u64);
            }
            let when = format!("{bytes} bytes, pages of {page_bytes}");
            let all: BTreeSet<Vec<u8>> = (0..room).map(held).collect();
            let model = [b"a", b"b", b"c"].map(|key| (key.to_vec(), all.clone())).into();
            same(&txn, m, &model, &when);
            txn.commit().unwrap();
            assert_clean(&env, &when);
        }
    }
}

/// B10. LMDB, libmdbx: appending to a key of one value, to the last one deleted, and out of order.
#[test]
fn appending_at_every_kind_of_end() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    let m = txn.create_table(&def()).unwrap();
    for last in [1usize, 2, 3, 20, 200] {
        m.remove_range(&mut txn, ..).unwrap();
        let mut model = BTreeSet::new();
        for n in 0..last {
            m.append(&mut txn, b"k", &value(None, n)).unwrap();
            model.insert(value(None, n));
        }
        let refused = |appended: Result<()>| assert!(matches!(appended, Err(Error::KeyOutOfOrder)));
        refused(m.append(&mut txn, b"k", &value(None, last - 1)));
        refused(m.append(&mut txn, b"k", &value(None, 0)));
        refused(m.append(&mut txn, b"a", &value(None, last)));
        // What was deleted at the end can be appended again.
        m.remove(&mut txn, b"k", &value(None, last - 1)).unwrap();
        m.append(&mut txn, b"k", &value(None, last - 1)).unwrap();
        same(&txn, m, &[(b"k".to_vec(), model)].into(), &format!("{last} appended"));
        m.append(&mut txn, b"l", b"").unwrap();
        refused(m.append(&mut txn, b"k", &value(None, last)));
    }
    txn.commit().unwrap();
    assert_clean(&env, "appended");
}

/// libmdbx: replacing all values of a table's only key damaged the tree at the commit.
#[test]
fn all_values_of_the_only_key_are_replaced() {
    for count in [1usize, 2, 10, 300] {
        let place = Place::new();
        let env = small().open(&place.path).unwrap();
        for round in 0..3 {
            let mut txn = env.write().unwrap();
            let m = txn.create_table(&def()).unwrap();
            insert_many(m, &mut txn, b"only", (0..count).map(|n| value(None, n))).unwrap();
            m.set(&mut txn, b"only", b"one").unwrap();
            txn.commit().unwrap();
            assert_clean(&env, &format!("{count} values, round {round}"));
        }
        let txn = env.read().unwrap();
        let m = txn.open_table(&def()).unwrap().unwrap();
        same(&txn, m, &[(b"only".to_vec(), [b"one".to_vec()].into())].into(), "replaced");
    }
}

/// libmdbx: a table was lost when a nested transaction that dropped it was aborted.
#[test]
fn what_a_nested_transaction_dropped_comes_back() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    let m = txn.create_table(&def()).unwrap();
    insert_many(m, &mut txn, b"k", (0..200).map(|n| value(None, n))).unwrap();
    txn.commit().unwrap();
    let model: Model = [(b"k".to_vec(), (0..200).map(|n| value(None, n)).collect())].into();
    let mut txn = env.write().unwrap();
    for depth in 1..4 {
        let undone = nested_drop(&mut txn, m, depth);
        assert!(matches!(undone, Err(Error::Invalid("undone"))));
        same(&txn, m, &model, "after the abort");
    }
    txn.commit().unwrap();
    assert_clean(&env, "undone");
    // And with the commit it is gone, and its name free for another kind.
    env.update(|txn| txn.nested(|txn| m.drop_table(txn))).unwrap();
    env.update(|txn| txn.create_table(&super::def()).map(drop)).unwrap();
    env.update(|txn| {
        let plain = huon::TableDef::<Bytes, Bytes>::new("m");
        txn.create_table(&plain)?.put(txn, b"k", b"one value now").map(drop)
    })
    .unwrap();
    assert_clean(&env, "dropped");
}

fn nested_drop(txn: &mut WriteTxn, m: RawMulti, depth: u32) -> Result<()> {
    txn.nested(|txn| {
        if depth > 1 {
            m.remove(txn, b"k", &value(None, depth as usize))?;
            let inner: Result<()> = nested_drop(txn, m, depth - 1);
            return inner;
        }
        m.drop_table(txn)?;
        assert!(matches!(m.len(txn), Err(Error::TableNotFound)));
        Err(Error::Invalid("undone"))
    })
}

/// LMDB, libmdbx: order of values and of keys were mixed up, with functions of the caller above
/// all.
#[test]
fn every_order_of_keys_with_every_order_of_values() {
    let backwards = || Order::custom("backwards", |a, b| b.cmp(a));
    let orders = || [Order::Bytes, Order::Reversed, Order::NativeU64, backwards()];
    let rank = |order: &Order, bytes: &[u8]| -> u64 {
        let bytes: [u8; 8] = bytes.try_into().unwrap();
        match order {
            Order::Bytes => u64::from_be_bytes(bytes),
            Order::Custom(_) => !u64::from_be_bytes(bytes),
            _ => u64::from_le_bytes(bytes),
        }
    };
    for (i, keys) in orders().into_iter().enumerate() {
        for (j, values) in orders().into_iter().enumerate() {
            let place = Place::new();
            let env: Env = small().open(&place.path).unwrap();
            let mut txn = env.write().unwrap();
            let def = def().ordered(keys.clone()).values_ordered(values.clone());
            let m = txn.create_table(&def.values_of_bytes(8)).unwrap();
            let number = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
            let mut pairs = Vec::new();
            for n in 0..400 {
                let (key, value) = (number(n % 5), number(n + 7));
                m.put(&mut txn, &key, &value).unwrap();
                pairs.push((key, value));
            }
            pairs.sort_by_key(|(key, value)| (rank(&keys, key), rank(&values, value)));
            let found = m.iter(&txn).unwrap().map(|pair| {
                let (key, value) = pair.unwrap();
                (key.try_into().unwrap(), value.try_into().unwrap())
            });
            assert!(found.eq(pairs), "order {i} of keys, {j} of values");
            txn.commit().unwrap();
            assert_clean(&env, &format!("order {i} of keys, {j} of values"));
        }
    }
}

/// B4. libmdbx: batches of values damaged memory and trees once pages had been spilled.
#[test]
fn batches_that_spill_on_their_way() {
    for fixed_bytes in [None, Some(4), Some(60)] {
        let place = Place::new();
        let env = small().write_buffer_bytes(8 * 256).open(&place.path).unwrap();
        let mut txn = env.write().unwrap();
        let m = txn.create_table(&def()).unwrap();
        let mut model = Model::new();
        for part in 0..6 {
            for key in [b"a", b"b", b"c"] {
                let batch = (0..300).map(|n| value(fixed_bytes, n * 6 + part));
                let undone: Result<()> = txn.nested(|txn| {
                    insert_many(m, txn, key, batch.clone())?;
                    m.remove_key(txn, b"b")?;
                    Err(Error::Invalid("undone"))
                });
                assert!(matches!(undone, Err(Error::Invalid("undone"))));
                insert_many(m, &mut txn, key, batch.clone()).unwrap();
                model.entry(key.to_vec()).or_default().extend(batch);
            }
        }
        let when = format!("values of {fixed_bytes:?} bytes");
        same(&txn, m, &model, &when);
        txn.commit().unwrap();
        assert!(env.info().unwrap().io.spills > 20, "{when}: hardly a spill");
        same(&env.read().unwrap(), m, &model, &when);
        assert_clean(&env, &when);
    }
}

/// A1. LMDB: deleting the last value failed while a reader looked.
#[test]
fn everything_is_taken_while_a_reader_looks() {
    for fixed_bytes in [None, Some(8)] {
        let place = Place::new();
        let env = small().open(&place.path).unwrap();
        let all: BTreeSet<Vec<u8>> = (0..120).map(|n| value(fixed_bytes, n)).collect();
        let model: Model = [(b"k".to_vec(), all.clone()), (b"l".to_vec(), all.clone())].into();
        let put_all = |txn: &mut WriteTxn| -> Result<RawMulti> {
            let m = txn.create_table(&def())?;
            for key in model.keys() {
                insert_many(m, txn, key, all.iter().cloned())?;
            }
            Ok(m)
        };
        for in_order in [true, false] {
            let m = env.update(put_all).unwrap();
            let reader = env.read().unwrap();
            let order: Vec<_> =
                if in_order { all.iter().collect() } else { all.iter().rev().collect() };
            for (key, value) in model.keys().flat_map(|key| order.iter().map(move |v| (key, v))) {
                assert!(env.update(|txn| m.remove(txn, key, value)).unwrap());
                same(&reader, m, &model, "what the reader sees");
            }
            assert_eq!(m.len(&env.read().unwrap()).unwrap(), 0);
            assert_clean(&env, "emptied beside a reader");
            drop(reader);
            env.update(|txn| m.drop_table(txn)).unwrap();
            assert_clean(&env, "dropped");
        }
    }
}

/// A4. ReOpenLDAP: a full file could not be emptied. With trees of values there are two paths to
/// copy for each value that goes.
#[test]
fn a_file_full_of_values_can_be_emptied() {
    for fixed_bytes in [None, Some(16)] {
        let place = Place::new();
        let env = small().max_bytes(64 << 10).open(&place.path).unwrap();
        let m = env.update(|txn| txn.create_table(&def())).unwrap();
        let pair = |n: usize| ([b'k', (n % 3) as u8], value(fixed_bytes, n));
        let mut held = BTreeSet::new();
        let full = (0..).find_map(|n| {
            let (key, value) = pair(n);
            let done = env.update(|txn| m.put(txn, &key, &value));
            held.extend(done.is_ok().then_some(n));
            done.err()
        });
        assert!(matches!(full, Some(Error::MapFull(_))), "{full:?}");
        assert_clean(&env, "full");
        assert!(held.len() > 500);
        for n in &held {
            let (key, value) = pair(*n);
            assert!(env.update(|txn| m.remove(txn, &key, &value)).unwrap(), "{n}");
        }
        assert_eq!(m.len(&env.read().unwrap()).unwrap(), 0);
        assert_clean(&env, "empty");
    }
}

/// Adds several values to those of a key; how many were not there.
fn insert_many(
    table: RawMulti,
    txn: &mut WriteTxn,
    key: &[u8],
    values: impl IntoIterator<Item = Vec<u8>>,
) -> huon::Result<u64> {
    values.into_iter().try_fold(0, |new, value| Ok(new + u64::from(table.put(txn, key, &value)?)))
}

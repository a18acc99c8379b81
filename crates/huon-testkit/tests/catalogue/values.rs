//! Keys and values of every size that means something, from anywhere, replaced by any other.

use huon::{Error, Verify};
use huon_testkit::{figures, scale};

use super::{Model, Place, assert_clean, assert_holds, assert_same, def, put, small};

/// What lies around a limit.
fn around(limits: &[usize]) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        limits.iter().flat_map(|&limit| [limit.saturating_sub(1), limit, limit + 1]).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// LMDB and libmdbx met empty values, values replaced by longer and shorter ones, and values about
/// as long as a page with failed assertions and wrong pages (2015 to 2020); redb and bbolt stopped
/// at huge ones.
#[test]
fn values_of_every_size_replaced_by_every_other() {
    let mut count = 0;
    for page_bytes in [256, 512, 4096, 65536] {
        let place = Place::new();
        let mut options = small();
        let env = options.page_bytes(page_bytes).open(&place.path).unwrap();
        let longest = env.info().unwrap().key_bytes_max as usize;
        let mut txn = env.write().unwrap();
        let (t, mut model) = (txn.create_table(&def()).unwrap(), Model::new());
        for key in [vec![], vec![7], vec![8; 8], vec![9; longest]] {
            // A value lies in the leaf up to here.
            let inline = ((page_bytes - 32) / 2).saturating_sub(12 + key.len()).max(28);
            let sizes = around(&[0, 28, inline, page_bytes, 2 * page_bytes, 3 * page_bytes + 40]);
            for &from in &sizes {
                for &to in &sizes {
                    put(&mut txn, t, &mut model, &key, &vec![from as u8; from]);
                    put(&mut txn, t, &mut model, &key, &vec![to as u8 ^ 0x55; to]);
                    assert_eq!(t.get(&txn, &key).unwrap(), model.get(&key).map(|v| &v[..]));
                    count += 1;
                }
                assert_same(&txn, t, &model, &format!("{page_bytes}: a value of {from}"));
            }
            // The neighbour of the next key.
            put(&mut txn, t, &mut model, &key, &vec![1; inline]);
        }
        txn.commit().unwrap();
        assert_clean(&env, &format!("pages of {page_bytes}"));
        drop(env);
        let env = options.verify(Verify::PagesAndValues).open(&place.path).unwrap();
        assert_holds(&env, &model, &format!("pages of {page_bytes}"));
        env.update(|txn| t_of(txn).and_then(|t| model.keys().try_for_each(|k| deleted(t, txn, k))))
            .unwrap();
        let table = &env.stat().unwrap().tables[1];
        assert_eq!((table.entries, table.pages()), (0, 0), "no page stays with an empty table");
        assert_clean(&env, &format!("pages of {page_bytes}, empty"));
    }
    figures::add("exhaustive", count);
}

fn t_of(txn: &huon::WriteTxn) -> huon::Result<huon::RawTable> {
    txn.open_table(&def())?.ok_or(Error::TableNotFound)
}

fn deleted(t: huon::RawTable, txn: &mut huon::WriteTxn, key: &[u8]) -> huon::Result<()> {
    assert!(t.remove(txn, key)?);
    Ok(())
}

/// redb, LMDB and bbolt (2021 to 2025) failed at values past 2 or 4 GiB, which they said they took.
/// The longest value is written in a proof, a tenth of it in a test run.
#[test]
fn the_longest_value() {
    const LONGEST: u64 = 0x7FF0_0000;
    let place = Place::on_disk();
    let mut options = small();
    options.page_bytes(4096).max_bytes(6 << 30).grow_bytes(0).verify(Verify::PagesAndValues);
    let env = options.open(&place.path).unwrap();
    let bytes = scale::share(LONGEST) as usize;
    // Memory that is never touched costs none.
    let mut value = vec![0; bytes];
    let marks = (0..bytes).step_by(64 << 20).chain([bytes - 1]);
    marks.clone().for_each(|at| value[at] = at as u8 | 1);
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&def()).unwrap();
    t.put(&mut txn, b"long", &value).unwrap();
    let too_long = t.reserve(&mut txn, b"longer", LONGEST as usize + 1, |_| panic!("refused"));
    assert!(matches!(too_long, Err(Error::ValueTooLong)));
    txn.commit().unwrap();
    let size = env.info().unwrap().used_bytes;
    let txn = env.read().unwrap();
    let found = t.get(&txn, b"long").unwrap().unwrap();
    assert_eq!(found.len(), bytes);
    assert!(marks.clone().all(|at| found[at] == value[at]));
    assert_eq!(found.iter().filter(|&&byte| byte != 0).count(), marks.count());
    drop(txn);
    drop(value);
    // Its pages are one piece of free space again.
    env.update(|txn| deleted(t, txn, b"long")).unwrap();
    env.update(|txn| t.reserve(txn, b"next", bytes, |place| place[0] = 1)).unwrap();
    assert!(env.info().unwrap().used_bytes <= size + (1 << 20));
    assert_clean(&env, "the longest value");
}

/// LMDB's users (heed in 2022, and others) gave it keys and values that lay in its own map, in
/// pages about to be changed. Here the compiler refuses a slice from the transaction that writes
/// (the documentation of `WriteTxn` shows it); one from a reader is fine, wherever it lies.
#[test]
fn values_that_lie_in_the_map_can_be_put() {
    for page_bytes in [256, 4096] {
        let place = Place::new();
        let env = small().page_bytes(page_bytes).open(&place.path).unwrap();
        let mut txn = env.write().unwrap();
        let (t, mut model) = (txn.create_table(&def()).unwrap(), Model::new());
        for n in 0..150u32 {
            let bytes = [0, 20, 90, 300, 5000][n as usize % 5];
            put(&mut txn, t, &mut model, &n.to_be_bytes(), &vec![n as u8; bytes]);
        }
        txn.commit().unwrap();
        let reader = env.read().unwrap();
        let all: Vec<(&[u8], &[u8])> = t.iter(&reader).unwrap().collect::<Result<_, _>>().unwrap();
        assert!(all.iter().all(|(key, value)| reader.is_mapped(key) && reader.is_mapped(value)));
        let mut txn = env.write().unwrap();
        for step in [1, 7, 150 - 1, 0] {
            for (n, (key, _)) in all.iter().enumerate() {
                let (_, value) = all[(n + step) % all.len()];
                t.put(&mut txn, key, value).unwrap();
                model.insert(key.to_vec(), value.to_vec());
                // A key out of the map as a value, and a value out of the map as a key.
                t.put(&mut txn, &value[..value.len().min(60)], key).unwrap();
                model.insert(value[..value.len().min(60)].to_vec(), key.to_vec());
            }
            assert_same(&txn, t, &model, &format!("{page_bytes}, {step} further"));
        }
        txn.commit().unwrap();
        assert_clean(&env, "values from the map");
        assert_holds(&env, &model, "values from the map");
        assert!(all.iter().all(|(key, _)| key.len() == 4), "the reader sees what it saw");
    }
}

/// LMDB (2015, 2024) and libmdbx appended where the last key had just been deleted, or was the
/// same, and built trees that were out of order.
#[test]
fn appending_at_every_kind_of_end() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let mut count = 0;
    let key = |n: u32| (n * 10).to_be_bytes();
    for records in [0, 1, 2, 3, 20, 200] {
        for deleted in 0..5u32 {
            for at in [-11i64, -10, -9, -1, 0, 1, 10] {
                let mut txn = env.write().unwrap();
                let (t, mut model) = (txn.create_table(&def()).unwrap(), Model::new());
                t.clear(&mut txn).unwrap();
                for n in 1..=records {
                    t.append(&mut txn, &key(n), &[n as u8; 30]).unwrap();
                    model.insert(key(n).to_vec(), vec![n as u8; 30]);
                }
                // The last ones go again, one by one or as a range.
                let first = (records + 1).saturating_sub(deleted).max(1);
                match deleted % 2 {
                    0 => (first..=records)
                        .for_each(|n| t.remove(&mut txn, &key(n)).map(drop).unwrap()),
                    _ => t.remove_range(&mut txn, &key(first)[..]..).map(drop).unwrap(),
                }
                model.retain(|have, _| have[..] < key(first)[..]);
                let new = (i64::from(key_of(records)) + at).max(0) as u32;
                let new = new.to_be_bytes().to_vec();
                let is_above = model.keys().next_back().is_none_or(|last| new > *last);
                let appended = t.append(&mut txn, &new, b"appended");
                if is_above {
                    appended.unwrap();
                    model.insert(new, b"appended".to_vec());
                } else {
                    assert!(matches!(appended, Err(Error::KeyOutOfOrder)));
                }
                // A refusal breaks nothing, and the next append goes where it belongs.
                let far = [0xFF; 5];
                t.append(&mut txn, &far, b"").unwrap();
                model.insert(far.to_vec(), Vec::new());
                assert!(matches!(t.append(&mut txn, &far, b""), Err(Error::KeyOutOfOrder)));
                let what = format!("{records} records, {deleted} deleted, {at}");
                assert_same(&txn, t, &model, &what);
                txn.commit().unwrap();
                assert_clean(&env, &what);
                count += 1;
            }
        }
    }
    figures::add("exhaustive", count);
}

/// The number in the last key of so many records.
fn key_of(records: u32) -> u32 {
    records * 10
}

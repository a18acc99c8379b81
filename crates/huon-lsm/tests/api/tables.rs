//! Handles, types, and what surrounds an LSM table.

use std::ops::Bound;

use huon::{Bytes, Durability, Env, Error, Str, TableDef, U64};
use huon_lsm::{Lsm, LsmDef, LsmOptions};

use crate::small_options;

const T: LsmDef<Str, U64> = LsmDef::new("t");

fn is_decode<R>(result: &huon::Result<R>) -> bool {
    matches!(result, Err(Error::Decode(_)))
}

#[test]
fn a_table_opens_as_the_types_that_it_was_made_with() {
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::open(&env).unwrap();
    // Until something is put, nothing is known of it.
    let other = lsm.table(&LsmDef::<U64, U64>::new("t")).unwrap();
    let t = lsm.table(&T).unwrap();
    env.update(|txn| t.put(txn, "a", 1)).unwrap();
    assert!(is_decode(&other.get(&env.read().unwrap(), 1)));
    assert!(is_decode(&env.update(|txn| other.put(txn, 1, 1))));
    assert!(is_decode(&lsm.table(&LsmDef::<U64, U64>::new("t"))));
    assert!(is_decode(&Lsm::open(&env).unwrap().table(&LsmDef::<Str, Str>::new("t"))));
    let raw = lsm.table(&LsmDef::<Bytes, U64>::new("t")).unwrap();
    let txn = env.read().unwrap();
    assert_eq!(raw.get(&txn, b"a").unwrap(), Some(1));
    assert_eq!(lsm.raw_table("t").unwrap().iter(&txn).unwrap().count(), 1);
    assert!(matches!(lsm.table(&LsmDef::<Str, U64>::new("")), Err(Error::Invalid(_))));
}

#[test]
fn one_commit_has_several_tables_or_none() {
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::with_options(&env, small_options()).unwrap();
    let (a, b) = (lsm.table(&T).unwrap(), lsm.table(&LsmDef::<U64, Str>::new("b")).unwrap());
    let ordinary = env.table(&TableDef::<Str, Str>::new("t")).unwrap();
    let fill = |txn: &mut huon::WriteTxn| {
        (0..50).try_for_each(|n| a.put(txn, &format!("{n:02}"), n))?;
        b.put(txn, 7, "seven")?;
        txn.create_table(&TableDef::<Str, Str>::new("t"))?;
        ordinary.put(txn, "x", "y").map(drop)
    };
    let mut txn = env.write().unwrap();
    fill(&mut txn).unwrap();
    // Nested, and undone.
    let undone: huon::Result<()> = txn.nested(|txn| {
        a.clear(txn)?;
        b.put(txn, 8, "eight")?;
        assert_eq!(a.iter(txn)?.count(), 0);
        Err(Error::Invalid("undone"))
    });
    assert!(undone.is_err());
    assert_eq!((a.iter(&txn).unwrap().count(), b.get(&txn, 8).unwrap()), (50, None));
    txn.abort();
    let txn = env.read().unwrap();
    assert!(a.first(&txn).unwrap().is_none() && txn.table_names().unwrap().is_empty());
    let before = env.read().unwrap();
    env.update(fill).unwrap();
    let after = env.read().unwrap();
    assert_eq!(after.id(), before.id() + 1);
    assert_eq!(a.get(&after, "07").unwrap(), Some(7));
    assert_eq!(b.get(&after, 7).unwrap(), Some("seven"));
    assert_eq!(ordinary.get(&after, "x").unwrap(), Some("y"));
    assert_eq!(a.get(&before, "07").unwrap(), None);
    assert_eq!(lsm.table_names(&after).unwrap(), [b"b".to_vec(), b"t".to_vec()]);
}

#[test]
fn two_handles_of_a_table_in_one_transaction_are_one() {
    let env = Env::in_memory().unwrap();
    let first = Lsm::with_options(&env, small_options()).unwrap().table(&T).unwrap();
    let second = Lsm::open(&env).unwrap().table(&T).unwrap();
    let mut txn = env.write().unwrap();
    first.put(&mut txn, "a", 1).unwrap();
    second.put(&mut txn, "a", 2).unwrap();
    assert_eq!(first.get(&txn, "a").unwrap(), Some(2));
    first.delete(&mut txn, "b").unwrap();
    txn.commit().unwrap();
    assert_eq!(second.get(&env.read().unwrap(), "a").unwrap(), Some(2));
}

#[test]
fn a_handle_of_another_environment_is_refused() {
    let (env, other) = (Env::in_memory().unwrap(), Env::in_memory().unwrap());
    let t = Lsm::open(&env).unwrap().table(&T).unwrap();
    let own = Lsm::open(&other).unwrap().table(&T).unwrap();
    let mut txn = other.write().unwrap();
    assert!(matches!(t.put(&mut txn, "a", 1), Err(Error::Invalid(_))));
    assert!(matches!(t.get(&txn, "a"), Err(Error::Invalid(_))));
    own.put(&mut txn, "a", 1).unwrap();
    assert!(t.put(&mut txn, "b", 1).is_err(), "also where one of its name is written");
    txn.commit().unwrap();
    assert!(t.get(&other.read().unwrap(), "a").is_err());
    assert_eq!(own.iter(&other.read().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_table_that_is_dropped_and_made_again_is_another() {
    let env = Env::in_memory().unwrap();
    let options = small_options();
    let lsm = Lsm::with_options(&env, options.clone()).unwrap();
    let t = lsm.table(&T).unwrap();
    let elsewhere = Lsm::with_options(&env, options).unwrap().table(&T).unwrap();
    let mut snapshots = Vec::new();
    for round in 0..10 {
        env.update(|txn| (0..20 + round).try_for_each(|n| t.put(txn, &format!("{n:02}"), round)))
            .unwrap();
        let txn = env.read().unwrap();
        assert_eq!(elsewhere.get(&txn, "00").unwrap(), Some(round));
        snapshots.push(txn);
        env.update(|txn| t.drop_table(txn)).unwrap();
        let txn = env.read().unwrap();
        assert!(t.first(&txn).unwrap().is_none() && elsewhere.first(&txn).unwrap().is_none());
        assert!(txn.table_names().unwrap().is_empty());
    }
    for (round, txn) in (0..).zip(&snapshots) {
        for handle in [&t, &elsewhere] {
            assert_eq!(handle.iter(txn).unwrap().count() as u64, 20 + round);
            assert_eq!(handle.last(txn).unwrap().unwrap().1, round);
        }
    }
    // Dropped and filled in one transaction: it is emptied.
    env.update(|txn| {
        t.put(txn, "before", 1)?;
        t.drop_table(txn)?;
        t.put(txn, "after", 2)
    })
    .unwrap();
    let txn = env.read().unwrap();
    let all: Vec<_> = t.iter(&txn).unwrap().map(|record| record.unwrap()).collect();
    assert_eq!(all, [("after", 2)]);
}

#[test]
fn options_of_a_table_are_those_that_it_was_made_with() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let open = || Env::options().durability(Durability::Lazy).open(&path).unwrap();
    let env = open();
    let first = LsmOptions { filter_bits: 0, ..small_options() };
    let t = Lsm::with_options(&env, first).unwrap().table(&T).unwrap();
    env.update(|txn| (0..100).try_for_each(|n| t.put(txn, &format!("{n:03}"), n))).unwrap();
    drop((t, env));
    let env = open();
    let lsm = Lsm::open(&env).unwrap();
    let t = lsm.table(&T).unwrap();
    env.update(|txn| (0..100).try_for_each(|n| t.put(txn, &format!("{n:03}x"), n))).unwrap();
    lsm.compactor().merge_all().unwrap();
    let stat = t.stat(&env.read().unwrap()).unwrap();
    assert_eq!((stat.filter_bytes, stat.records), (0, 200), "no filters");
    for options in [
        LsmOptions { fan: 1, ..LsmOptions::default() },
        LsmOptions { filter_bits: 65, ..LsmOptions::default() },
        LsmOptions { runs_max: 15, ..LsmOptions::default() },
        LsmOptions { step_bytes: 0, ..LsmOptions::default() },
        LsmOptions { lease: std::time::Duration::from_secs(61), ..LsmOptions::default() },
    ] {
        assert!(matches!(Lsm::with_options(&env, options), Err(Error::Invalid(_))));
    }
}

#[test]
fn records_are_dumped_and_loaded() {
    let (env, other) = (Env::in_memory().unwrap(), Env::in_memory().unwrap());
    let t = Lsm::with_options(&env, small_options()).unwrap().table(&T).unwrap();
    for round in 0..5 {
        env.update(|txn| {
            (0..100).try_for_each(|n| t.put(txn, &format!("{:03}", n * 7 % 200), n + round))?;
            t.delete_range(txn, "010".."020")?;
            t.delete(txn, "100")
        })
        .unwrap();
    }
    let txn = env.read().unwrap();
    let copy = Lsm::open(&other).unwrap().table(&T).unwrap();
    other.update(|into| copy.load(into, t.iter(&txn)?)).unwrap();
    let bulk = Lsm::open(&other).unwrap().table(&LsmDef::<Str, U64>::new("bulk")).unwrap();
    other
        .update(|into| {
            bulk.bulk_load(into, |append| {
                t.iter(&txn)?.try_for_each(|record| record.and_then(|(k, v)| append(k, v)))
            })
        })
        .unwrap();
    let read = other.read().unwrap();
    for copy in [copy, bulk] {
        let both = copy.iter(&read).unwrap().zip(t.iter(&txn).unwrap());
        assert!(both.into_iter().all(|(a, b)| a.unwrap() == b.unwrap()));
        assert_eq!(copy.iter(&read).unwrap().count(), t.iter(&txn).unwrap().count());
    }
}

/// Records of the manifest and values that no version writes: an error, and never a panic.
#[test]
fn hostile_manifests_are_errors() {
    let env = Env::in_memory().unwrap();
    let options = LsmOptions { slack: 100, runs_max: 100, ..small_options() };
    let lsm = Lsm::with_options(&env, options.clone()).unwrap();
    let t = lsm.table(&T).unwrap();
    for round in 0..5 {
        let key = |n: u64| format!("{:03}", (n * 7 + round * 40) % 199);
        env.update(|txn| (0..50).try_for_each(|n| t.put(txn, &key(n), n + round))).unwrap();
    }
    env.update(|txn| t.put(txn, "open", 1)).unwrap();
    env.update(|txn| t.delete_range(txn, "010".."012")).unwrap();
    lsm.compactor().run_once().unwrap();
    let manifest = env.table(&TableDef::<Bytes, Bytes>::new("\0lsm/t/m")).unwrap();
    let records: Vec<(Vec<u8>, Vec<u8>)> = {
        let txn = env.read().unwrap();
        let all = manifest.iter(&txn).unwrap().map(|record| record.unwrap());
        all.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
    };
    assert!(records.len() > 10);
    let before = t.iter(&env.read().unwrap()).unwrap().count();
    let mut errors = 0;
    for (key, value) in &records {
        let cut = |bytes: usize| value[..bytes.min(value.len())].to_vec();
        let mut variants = vec![cut(0), cut(1), cut(9), cut(value.len() - 1)];
        for at in 0..value.len().min(80) {
            for byte in [0, 1, 0x7F, 0xFF] {
                let mut other = value.clone();
                other[at] = byte;
                variants.push(other);
            }
        }
        for variant in variants {
            let mut txn = env.write().unwrap();
            manifest.put(&mut txn, key, &variant).unwrap();
            // Another version, so that no process believes what it knows.
            manifest.take_sequence(&mut txn, 1).unwrap();
            let fresh = Lsm::with_options(&env, options.clone()).unwrap().table(&T).unwrap();
            let got = fresh.get(&txn, "005").map(drop);
            let scanned = fresh.iter(&txn).and_then(|mut all| all.try_for_each(|r| r.map(drop)));
            let checked = fresh.check(&txn).map(|check| check.is_clean());
            let is_found = matches!(checked, Err(_) | Ok(false));
            let seen = got.and(scanned).and(fresh.stat(&txn).map(drop));
            errors += usize::from(seen.is_err() || is_found);
            // What changes it meets the same.
            let changed = (0..30).try_for_each(|n| fresh.put(&mut txn, &format!("{n:03}"), n));
            changed.unwrap();
            let _ = fresh.delete_range(&mut txn, "003"..);
            let _ = txn.nested(|txn| fresh.bulk_load(txn, |append| append("a", 1)));
            txn.extend(|| Undo);
            assert!(txn.commit().is_err());
        }
    }
    assert!(errors > 300, "{errors}");
    assert_eq!(t.iter(&env.read().unwrap()).unwrap().count(), before);
}

/// A manifest that lost its sequence, as one does that was copied record by record, is no table
/// that does not exist.
#[test]
fn a_manifest_without_a_version_is_an_error() {
    let env = Env::in_memory().unwrap();
    let t = Lsm::open(&env).unwrap().table(&T).unwrap();
    let manifest = TableDef::<Bytes, Bytes>::new("\0lsm/t/m");
    env.update(|txn| txn.create_table(&manifest)?.put(txn, &[0; 9], b"a run")).unwrap();
    let txn = env.read().unwrap();
    assert!(is_decode(&t.get(&txn, "a")) && is_decode(&t.stat(&txn)));
    assert!(is_decode(&env.update(|txn| t.put(txn, "a", 1))));
    assert!(is_decode(&Lsm::open(&env).unwrap().table(&T)));
}

/// A claim of a merge whose output is another run, or whose inputs are not there: the merge would
/// write into a run, or drop one.
#[test]
fn a_merge_into_a_run_is_refused() {
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::with_options(&env, LsmOptions { slack: 100, ..small_options() }).unwrap();
    let t = lsm.table(&T).unwrap();
    for round in 0..3 {
        let put = |n: u64, txn: &mut huon::WriteTxn| t.put(txn, &format!("{n:03}"), round);
        env.update(|txn| (0..50).try_for_each(|n| put(n * 3 + round, txn))).unwrap();
    }
    let manifest = env.table(&TableDef::<Bytes, Bytes>::new("\0lsm/t/m")).unwrap();
    let ids: Vec<Vec<u8>> = {
        let txn = env.read().unwrap();
        let runs = manifest.prefix(&txn, &[0]).unwrap();
        runs.map(|run| run.unwrap().1[..8].to_vec()).collect()
    };
    let before = t.iter(&env.read().unwrap()).unwrap().count();
    let lane = [&[2][..], &[0; 8]].concat();
    for (output, inputs) in [(&ids[2], vec![&ids[1]]), (&ids[1], vec![]), (&ids[1], vec![&ids[2]])]
    {
        let mut claim = [&[0; 25][..], output].concat();
        claim.extend((inputs.len() as u32).to_le_bytes());
        inputs.iter().for_each(|input| claim.extend(*input));
        let put = |txn: &mut huon::WriteTxn| {
            manifest.put(txn, &lane, &claim)?;
            manifest.take_sequence(txn, 2).map(drop)
        };
        env.update(put).unwrap();
        assert!(is_decode(&lsm.compactor().run_once()));
        assert!(is_decode(&env.update(|txn| t.delete_range(txn, "zz"..))));
        let undo = |txn: &mut huon::WriteTxn| {
            manifest.remove(txn, &lane)?;
            manifest.take_sequence(txn, 2).map(drop)
        };
        env.update(undo).unwrap();
        assert_eq!(t.iter(&env.read().unwrap()).unwrap().count(), before);
    }
}

/// Many steps in one call are as many steps: over runs, what is not committed, and deletes.
#[test]
fn a_cursor_goes_many_steps_at_once() {
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::with_options(&env, small_options()).unwrap();
    let t = lsm.raw_table("t").unwrap();
    let key = |n: u32| (n * 37 % 1009).to_be_bytes();
    for round in 0..10 {
        env.update(|txn| {
            (0..60).try_for_each(|n| t.put(txn, &key(round * 50 + n), &[round as u8]))
        })
        .unwrap();
    }
    let mut txn = env.write().unwrap();
    for n in 0..600 {
        match n % 7 {
            0 => t.delete(&mut txn, &key(n)).unwrap(),
            1 => t.put(&mut txn, &key(n), b"new").unwrap(),
            _ => {}
        }
    }
    let all: Vec<_> = t.iter(&txn).unwrap().collect::<huon::Result<_>>().unwrap();
    for forward in [true, false] {
        for (most, end) in [(1, None), (7, None), (1000, None), (7, Some(300)), (7, Some(2000))] {
            let mut cursor = t.cursor();
            let end = end.map(|end: u32| end.to_be_bytes());
            let bound = end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(&end[..]));
            if !forward {
                cursor.to_end();
            }
            let mut seen = Vec::new();
            let mut take = |key, value| {
                seen.push((key, value));
                true
            };
            while cursor.walk(&txn, forward, bound, most, &mut take).unwrap() > 0 {}
            let is_within = |key: &[u8]| match &end {
                None => true,
                Some(end) => (key < &end[..]) == forward && key != &end[..],
            };
            let mut wanted: Vec<_> =
                all.iter().copied().filter(|(key, _)| is_within(key)).collect();
            if !forward {
                wanted.reverse();
            }
            assert_eq!(seen, wanted);
            // It stands beside the last one, and what is not taken stays before it.
            if let Some(last) = wanted.last() {
                let refused =
                    cursor.walk(&txn, !forward, Bound::Unbounded, 5, |_, _| false).unwrap();
                let one = if forward { cursor.prev(&txn) } else { cursor.next(&txn) };
                assert_eq!((refused, one.unwrap()), (0, Some(*last)));
            }
        }
    }
}

/// Has a commit fail at its end.
struct Undo;

impl huon::Extension for Undo {
    fn before_commit(&mut self, _: &mut huon::WriteTxn) -> huon::Result<()> {
        Err(Error::Invalid("undone"))
    }
}

/// Handles go between threads; a range of a snapshot, too.
#[test]
fn what_is_handed_out_may_be_sent() {
    fn is_send<T: Send>(_: &T) {}
    fn is_sync<T: Sync>(_: &T) {}
    let env = Env::in_memory().unwrap();
    let lsm = Lsm::open(&env).unwrap();
    let t = lsm.table(&T).unwrap();
    let txn = env.read().unwrap();
    is_send(&lsm);
    is_sync(&lsm);
    is_send(&t);
    is_sync(&t);
    is_send(&lsm.batch());
    is_send(&t.cursor());
    is_send(&lsm.compactor());
    is_send(&t.iter(&txn).unwrap());
}

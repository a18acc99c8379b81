//! Transactions that fail in the middle: what is broken stays so, and nothing of it is seen.

use std::fs;

use huon::{Env, Error, RawTable, TableDef, WriteTxn};
use huon_testkit::figures;

use super::{Model, Place, assert_clean, assert_holds, def, put, small};

fn key(n: u64) -> Vec<u8> {
    format!("key {n:06}").into_bytes()
}

/// redb (2024 to 2026) let a transaction commit after a rename, a delete or a restore in it had
/// failed half-way.
#[test]
fn a_change_that_meets_damage_breaks_the_transaction() {
    type Act = fn(RawTable, &mut WriteTxn) -> huon::Result<()>;
    let acts: [(&str, Act); 12] = [
        ("put", |t, txn| t.put(txn, &key(150), &[1; 30]).map(drop)),
        ("put a large value", |t, txn| t.put(txn, &key(150), &[1; 3000]).map(drop)),
        ("insert", |t, txn| t.put_if_absent(txn, &key(1500), &[1; 30]).map(drop)),
        ("update", |t, txn| t.update(txn, &key(150), &[1; 30]).map(drop)),
        ("append", |t, txn| t.append(txn, &key(9999), &[1; 30])),
        ("reserve", |t, txn| t.reserve(txn, &key(150), 30, |_| ())),
        ("delete", |t, txn| t.remove(txn, &key(150)).map(drop)),
        ("delete a range", |t, txn| t.remove_range(txn, &key(10)[..]..&key(250)[..]).map(drop)),
        ("delete all", |t, txn| t.remove_range(txn, &key(0)[..]..).map(drop)),
        ("clear", |t, txn| t.clear(txn)),
        ("drop", |t, txn| t.drop_table(txn).map(drop)),
        ("rename", |t, txn| t.rename(txn, b"150000 and more")),
    ];
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let (mut txn, mut model) = (env.write().unwrap(), Model::new());
    let t = txn.create_table(&def()).unwrap();
    (0..300).for_each(|n| put(&mut txn, t, &mut model, &key(n), &[n as u8; 60]));
    txn.commit().unwrap();
    env.sync().unwrap();
    // An opening verifies what the last checkpoint wrote: that is a table more, among others.
    let names = |n: u32| TableDef::<huon::Str, huon::Str>::named(format!("{}", 10_000 * n));
    let mut txn = env.write().unwrap();
    (0..40).for_each(|n| txn.create_table(&names(n)).map(drop).unwrap());
    txn.commit().unwrap();
    env.sync().unwrap();
    env.update(|txn| txn.create_table(&names(50)).map(drop)).unwrap();
    env.close().unwrap();
    let whole = fs::read(&place.path).unwrap();
    let mut met = vec![0; acts.len()];
    for page in (48..whole.len() / 256).filter(|page| matches!(whole[page * 256 + 12], 1 | 2)) {
        let mut image = whole.clone();
        image[page * 256 + 200] ^= 0x10;
        fs::write(&place.path, &image).unwrap();
        for (number, (what, act)) in acts.iter().enumerate() {
            let env = small().open(&place.path).unwrap();
            let mut txn = env.write().unwrap();
            let Ok(Some(t)) = txn.open_table(&def()) else { continue };
            match act(t, &mut txn) {
                Ok(()) => txn.abort(),
                Err(error) => {
                    assert!(matches!(error, Error::Corrupt(_)), "{what}: {error}");
                    met[number] += 1;
                    match t.put(&mut txn, b"", b"") {
                        Err(Error::TxnBroken) => {
                            assert!(matches!(txn.commit(), Err(Error::TxnBroken)), "{what}");
                        }
                        // Whether the new name is free is asked before anything is changed.
                        other => assert!(other.is_ok() && *what == "rename", "{what}: {other:?}"),
                    }
                }
            }
            env.close_without_flush();
            fs::write(&place.path, &image).unwrap();
            fs::remove_file(place.lock()).unwrap();
        }
    }
    assert!(met.iter().all(|&times| times > 0), "each act met damage: {met:?}");
    figures::add("exhaustive", met.iter().sum());
}

/// A nested transaction that met damage is undone, and the outer one goes on: LMDB and libmdbx
/// (2020, 2025) left the outer one with freed memory or with half of the inner one's changes.
#[test]
fn an_outer_transaction_outlives_a_broken_inner_one() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let other = TableDef::<huon::Bytes, huon::Bytes>::new("other");
    let mut txn = env.write().unwrap();
    let damaged = txn.create_table(&other).unwrap();
    (0..100).for_each(|n| damaged.put(&mut txn, &key(n), &[9; 60]).map(drop).unwrap());
    txn.commit().unwrap();
    let leaves = fs::read(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    let (t, mut model) = (txn.create_table(&def()).unwrap(), Model::new());
    (0..100).for_each(|n| put(&mut txn, t, &mut model, &key(n), &[1; 60]));
    txn.commit().unwrap();
    env.close().unwrap();
    let mut image = fs::read(&place.path).unwrap();
    // Leaves of the first table only: they were there before the second one was.
    for page in 48..leaves.len() / 256 {
        let at = page * 256;
        if leaves[at + 12] == 2 && image[at..at + 256] == leaves[at..at + 256] {
            image[at + 200] ^= 1;
        }
    }
    fs::write(&place.path, &image).unwrap();
    let env = small().open(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.open_table(&def()).unwrap().unwrap();
    for depth in 0..3u64 {
        let failed = nest(&mut txn, depth, &|child| {
            (0..50).try_for_each(|n| t.put(child, &key(n + 200), &[3; 300]).map(drop))?;
            damaged_in(child, &other)
        });
        assert!(matches!(failed, Err(Error::Corrupt(_))), "{failed:?}");
        put(&mut txn, t, &mut model, &key(depth), &[depth as u8; 90]);
    }
    txn.commit().unwrap();
    assert_holds(&env, &model, "what the outer transaction did");
}

fn damaged_in(txn: &mut WriteTxn, def: &TableDef<huon::Bytes, huon::Bytes>) -> huon::Result<()> {
    let t = txn.open_table(def)?.ok_or(Error::TableNotFound)?;
    t.remove_range(txn, &key(5)[..]..&key(95)[..]).map(drop)
}

fn nest(
    txn: &mut WriteTxn,
    depth: u64,
    act: &dyn Fn(&mut WriteTxn) -> huon::Result<()>,
) -> huon::Result<()> {
    txn.nested(|child| if depth == 0 { act(child) } else { nest(child, depth - 1, act) })
}

/// A change of the size limit's test: each needs pages in another way.
fn step(txn: &mut WriteTxn, t: RawTable, model: &mut Model, n: u64) -> huon::Result<()> {
    let (key, value) = (key(n * 7 % 500), vec![n as u8; [60, 700, 90, 20][n as usize % 4]]);
    match n % 9 {
        7 => {
            t.remove(txn, &key)?;
            model.remove(&key);
        }
        8 => txn.nested(|child| {
            t.put(child, &key, &value)?;
            model.insert(key, value);
            Ok::<(), Error>(())
        })?,
        _ => {
            t.put(txn, &key, &value)?;
            model.insert(key, value);
        }
    }
    Ok(())
}

/// mdbx-rs (2024) was left with a file that no longer opened, after the map had been full and the
/// transaction was aborted; libmdbx forgot to undo a change of the file's size.
#[test]
fn the_size_limit_is_met_at_any_point() {
    let mut kinds = [0u64; 3];
    for max_pages in (180..420).step_by(3) {
        for spill in [8, 10_000] {
            let place = Place::new();
            let mut options = small();
            options.max_bytes(max_pages * 256).write_buffer_bytes(spill * 256).grow_bytes(256);
            let env = options.open(&place.path).unwrap();
            let what = format!("{max_pages} pages, spilling at {spill}");
            let (mut model, mut n) = (Model::new(), 0);
            let t = env.update(|txn| txn.create_table(&def())).unwrap();
            // Commits of eight changes until one fails, wherever that is.
            let error = loop {
                let mut now = model.clone();
                let mut txn = env.write().unwrap();
                let changed = (n..n + 8).try_for_each(|n| step(&mut txn, t, &mut now, n));
                let point = usize::from(changed.is_ok());
                match changed.and_then(|()| txn.commit()) {
                    Ok(_) => (model, n) = (now, n + 8),
                    Err(error) => {
                        kinds[point] += 1;
                        break error;
                    }
                }
                assert!(n < 4000, "{what}: it never gets full");
            };
            assert!(matches!(error, Error::MapFull(_)), "{what}: {error}");
            assert!(env.info().unwrap().file_bytes <= max_pages.max(200) * 256, "{what}");
            assert_holds(&env, &model, &what);
            assert_clean(&env, &what);
            drop(env);
            let env = options.open(&place.path).unwrap();
            assert_holds(&env, &model, &what);
            // Deleting works without a page to spare, one by one.
            while let Some(key) = model.keys().next().cloned() {
                env.update(|txn| t_delete(txn, &key)).unwrap_or_else(|e| panic!("{what}: {e}"));
                model.remove(&key);
            }
            assert_clean(&env, &what);
            // What the last checkpoint holds comes free at the next one.
            env.sync().unwrap();
            env.update(|txn| txn.open_table(&def())?.unwrap().put(txn, b"k", &[1; 2000]).map(drop))
                .unwrap_or_else(|error| panic!("{what}: after deleting: {error}"));
            kinds[2] += 1;
        }
    }
    assert!(kinds[0] > 20 && kinds[2] > 100, "in a change, in a commit, all: {kinds:?}");
    figures::add("exhaustive", kinds[2]);
}

fn t_delete(txn: &mut WriteTxn, key: &[u8]) -> huon::Result<()> {
    let t = txn.open_table(&def())?.ok_or(Error::TableNotFound)?;
    assert!(t.remove(txn, key)?);
    Ok(())
}

/// LMDB and libmdbx answered with an error of their own kind, or changed the wrong transaction,
/// when the outer one was used beside the inner one. Here the compiler refuses that (the
/// documentation of `WriteTxn::nested` shows it); what is left is a handle of another environment.
#[test]
fn a_handle_of_another_environment_is_refused() {
    let (one, two) = (Place::new(), Place::new());
    let (first, second) = (small().open(&one.path).unwrap(), small().open(&two.path).unwrap());
    let t = first.update(|txn| txn.create_table(&def())).unwrap();
    second.update(|txn| txn.create_table(&def()).map(drop)).unwrap();
    let again = small().open(&one.path).unwrap();
    for env in [&second, &again] {
        let mut txn: WriteTxn = write(env);
        assert!(matches!(t.put(&mut txn, b"k", b"v"), Err(Error::Invalid(_))));
        assert!(matches!(t.get(&txn, b"k"), Err(Error::Invalid(_))));
        assert!(matches!(t.cursor().next(&txn), Err(Error::Invalid(_))));
        let own = txn.open_table(&def()).unwrap().unwrap();
        own.put(&mut txn, b"own", b"v").unwrap();
        txn.commit().unwrap();
    }
    assert_holds(&first, &Model::from([(b"own".to_vec(), b"v".to_vec())]), "its own");
}

fn write(env: &Env) -> WriteTxn {
    env.write_within(std::time::Duration::from_secs(10)).unwrap()
}

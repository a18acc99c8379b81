//! What is undone within a transaction: nested transactions and savepoints, with what stands in
//! their way.

use std::collections::BTreeSet;

use huon::{Bytes, Env, Error, Geometry, MultiCursor, MultiDef, RawMulti, Result, WriteTxn};
use huon_testkit::scale;

use super::{Model, Place, assert_clean, assert_same, def, put, small};

type Pairs = BTreeSet<(Vec<u8>, Vec<u8>)>;

fn multi_def() -> MultiDef<Bytes, Bytes> {
    MultiDef::new("m")
}

/// All that a transaction shows.
#[derive(Clone)]
struct State {
    records: Model,
    pairs: Option<Pairs>,
    geometry: Geometry,
}

/// What one step does. With five of nine there is every order of two savepoints.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put,
    Pour,
    Drop,
    Limit,
    Set(&'static str),
    Back(&'static str),
    Release(&'static str),
}

const STEPS: [Step; 9] = [
    Step::Put,
    Step::Pour,
    Step::Drop,
    Step::Limit,
    Step::Set("a"),
    Step::Set("b"),
    Step::Back("a"),
    Step::Back("b"),
    Step::Release("a"),
];
const LENGTH: u32 = 5;

/// A transaction beside its model, and the savepoints of that.
struct Program {
    txn: WriteTxn,
    now: State,
    saved: Vec<(&'static str, State)>,
}

impl Program {
    fn step(&mut self, step: Step, n: u8) {
        let Program { txn, now, saved } = self;
        let found = |saved: &[(&str, State)], name| saved.iter().rposition(|(its, _)| *its == name);
        match step {
            Step::Put => {
                let t = txn.create_table(&def()).unwrap();
                put(txn, t, &mut now.records, &[b'r', n], &[n; 70]);
            }
            // So many that they need a tree of their own, and come back from one that was undone.
            Step::Pour => {
                let m = txn.create_table(&multi_def()).unwrap();
                let pairs = now.pairs.get_or_insert_default();
                for value in 0..30 {
                    m.put(txn, b"k", &[n, value, 1, 2]).unwrap();
                    pairs.insert((b"k".to_vec(), vec![n, value, 1, 2]));
                }
            }
            Step::Drop => {
                if let Some(m) = txn.open_table(&multi_def()).unwrap() {
                    assert!(m.drop_table(txn).unwrap());
                }
                now.pairs = None;
            }
            Step::Limit => {
                now.geometry.max_bytes -= 256 * u64::from(n + 1);
                txn.set_geometry(now.geometry).unwrap();
            }
            Step::Set(name) => {
                txn.savepoint(name).unwrap();
                saved.push((name, now.clone()));
            }
            Step::Back(name) => match found(saved, name) {
                Some(at) => {
                    txn.roll_back_to(name).unwrap();
                    saved.truncate(at + 1);
                    *now = saved[at].1.clone();
                }
                None => assert!(matches!(txn.roll_back_to(name), Err(Error::Invalid(_)))),
            },
            Step::Release(name) => match found(saved, name) {
                Some(at) => {
                    txn.release(name).unwrap();
                    saved.truncate(at);
                }
                None => assert!(matches!(txn.release(name), Err(Error::Invalid(_)))),
            },
        }
    }

    fn assert_same(&self, when: &str) {
        let Program { txn, now, .. } = self;
        let table = txn.open_table(&def()).unwrap().unwrap();
        assert_same(txn, table, &now.records, when);
        assert_eq!(txn.geometry(), now.geometry, "{when}");
        let multi = txn.open_table(&multi_def()).unwrap();
        assert_eq!(multi.is_some(), now.pairs.is_some(), "{when}: the multimap");
        if let (Some(m), Some(pairs)) = (multi, &now.pairs) {
            let found = m.iter(txn).unwrap().map(|pair| {
                let (key, value) = pair.unwrap();
                (key.to_vec(), value.to_vec())
            });
            assert!(found.eq(pairs.iter().cloned()), "{when}: pairs");
        }
    }
}

/// C4, C7. redb: a savepoint was restored wrongly after earlier changes in the same transaction.
/// libmdbx: other limits outlived the level that had set them.
#[test]
fn every_short_program_of_savepoints() {
    let place = Place::new();
    let env = small().write_buffer_bytes(8 * 256).max_bytes(8 << 20).open(&place.path).unwrap();
    let mut base =
        State { records: Model::new(), pairs: None, geometry: env.info().unwrap().geometry };
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&def()).unwrap();
    (0..20).for_each(|n| put(&mut txn, t, &mut base.records, &[b'b', n], &[n; 40]));
    txn.commit().unwrap();
    let all = STEPS.len().pow(LENGTH);
    // Odd, so that each step comes at each place.
    for number in (0..all).step_by(scale::step() as usize | 1) {
        let txn = env.write().unwrap();
        let mut program = Program { txn, now: base.clone(), saved: Vec::new() };
        let mut rest = number;
        let steps: Vec<Step> = (0..LENGTH)
            .map(|_| {
                let step = STEPS[rest % STEPS.len()];
                rest /= STEPS.len();
                step
            })
            .collect();
        for (n, step) in (0u8..).zip(&steps) {
            program.step(*step, n);
        }
        program.assert_same(&format!("{steps:?}"));
        match number % 40 {
            0 => {
                program.txn.commit().unwrap();
                assert_clean(&env, &format!("{steps:?}"));
                let mut txn = env.write().unwrap();
                txn.set_geometry(base.geometry).unwrap();
                let t = txn.open_table(&def()).unwrap().unwrap();
                let b = t.remove_range(&mut txn, &b"r"[..]..&b"s"[..]).unwrap();
                assert_eq!(b, (program.now.records.len() - base.records.len()) as u64);
                if let Some(m) = txn.open_table(&multi_def()).unwrap() {
                    m.drop_table(&mut txn).unwrap();
                }
                txn.commit().unwrap();
            }
            _ => program.txn.abort(),
        }
    }
    assert!(env.info().unwrap().io.spills > 0, "nothing was spilled");
    assert_clean(&env, "after all");
}

/// How a level ends.
const ENDS: [&str; 4] = ["committed", "aborted", "released", "rolled back"];

/// What a level does to the multimap and its model.
fn change(txn: &mut WriteTxn, m: RawMulti, pairs: &mut Pairs, which: usize) -> Result<()> {
    let mut insert = |txn: &mut WriteTxn, key: &[u8], value: &[u8]| {
        pairs.insert((key.to_vec(), value.to_vec()));
        m.put(txn, key, value).map(drop)
    };
    match which {
        // Appended to the values of each key.
        0 => {
            let keys = [b"a", b"b", b"c"];
            return keys.iter().try_for_each(|key| insert(txn, *key, b"zzzzz"));
        }
        // Between all that there are.
        1 => {
            let values = (0..60u8).map(|n| [n / 2, 128 + n % 2, 0, 0, 0]);
            return values.into_iter().try_for_each(|value| insert(txn, b"b", &value));
        }
        // Every other value, so that a tree of values comes back into its cell.
        2 => {
            let gone: Vec<_> = pairs.iter().skip(1).step_by(2).cloned().collect();
            for (key, value) in gone {
                assert!(m.remove(txn, &key, &value)?);
                pairs.remove(&(key, value));
            }
        }
        3 => {
            m.remove_key(txn, b"b")?;
            pairs.retain(|(key, _)| key != b"b");
        }
        4 => {
            m.set(txn, b"b", &[16; 5])?;
            pairs.retain(|(key, _)| key != b"b");
            pairs.insert((b"b".to_vec(), vec![16; 5]));
        }
        _ => {
            m.clear(txn)?;
            pairs.clear();
        }
    }
    Ok(())
}

/// What lies behind and before a scan that stands behind `pair`.
fn assert_around(
    txn: &WriteTxn,
    scan: &MultiCursor<Bytes, Bytes>,
    pair: &(Vec<u8>, Vec<u8>),
    pairs: &Pairs,
    when: &str,
) {
    let owned = |found: Option<(&[u8], &[u8])>| found.map(|(k, v)| (k.to_vec(), v.to_vec()));
    let behind = pairs.iter().find(|its| *its > pair).cloned();
    assert_eq!(owned(scan.clone().next(txn).unwrap()), behind, "{when}, behind {pair:?}");
    let before = pairs.iter().rfind(|its| *its <= pair).cloned();
    assert_eq!(owned(scan.clone().prev(txn).unwrap()), before, "{when}, before {pair:?}");
}

/// B2, B10. libmdbx: cursors that were opened outside of a nested transaction stood wrongly in it
/// or after it, and one behind the last value of a key did not see what was appended.
#[test]
fn scans_go_on_in_levels_and_after_them() {
    // The leaves of a tree of values are of another kind where all values have one length.
    for def in [multi_def(), multi_def().values_of_bytes(5)] {
        scans_go_on(&def);
    }
}

fn scans_go_on(def: &MultiDef<Bytes, Bytes>) {
    let place = Place::new();
    let env = small().write_buffer_bytes(8 * 256).open(&place.path).unwrap();
    let mut base = Pairs::new();
    env.update(|txn| {
        let m = txn.create_table(def)?;
        for (key, count) in [(b"a", 2), (b"b", 48), (b"c", 5)] {
            for n in 0..count {
                m.put(txn, key, &[n, 3, 4, 5, 6])?;
                base.insert((key.to_vec(), vec![n, 3, 4, 5, 6]));
            }
        }
        Ok::<(), Error>(())
    })
    .unwrap();
    for at in 0..base.len() {
        for which in 0..6 {
            for end in ENDS {
                one_level(&env, def, &base, at, which, end);
            }
        }
    }
    assert_clean(&env, "after all");
}

fn one_level(
    env: &Env,
    def: &MultiDef<Bytes, Bytes>,
    base: &Pairs,
    at: usize,
    which: usize,
    end: &str,
) {
    let when = format!("change {which}, {end}");
    let mut txn = env.write().unwrap();
    let m = txn.open_table(def).unwrap().unwrap();
    let mut scan = m.cursor();
    for _ in 0..=at {
        scan.next(&txn).unwrap().expect("a pair");
    }
    let pair = base.iter().nth(at).unwrap();
    let mut pairs = base.clone();
    let inside = |txn: &mut WriteTxn, pairs: &mut Pairs| {
        change(txn, m, pairs, which).unwrap();
        assert_around(txn, &scan, pair, pairs, &when);
    };
    match end {
        "committed" | "aborted" => {
            let done = txn.nested(|txn| {
                inside(txn, &mut pairs);
                if end == "aborted" { Err(Error::Invalid("undone")) } else { Ok(()) }
            });
            assert_eq!(done.is_err(), end == "aborted");
        }
        _ => {
            txn.savepoint("here").unwrap();
            inside(&mut txn, &mut pairs);
            match end {
                "released" => txn.release("here").unwrap(),
                _ => txn.roll_back_to("here").unwrap(),
            }
        }
    }
    let now = if matches!(end, "aborted" | "rolled back") { base } else { &pairs };
    assert_around(&txn, &scan, pair, now, &format!("{when}, afterwards"));
    txn.abort();
}

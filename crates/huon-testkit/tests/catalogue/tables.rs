//! Tables that are made, dropped, renamed and cleared at any depth, and undone.

use std::collections::BTreeMap;

use huon::{Bytes, Env, Error, TableDef, Txn, WriteTxn};
use huon_testkit::figures;

use super::{Model, Place, assert_clean, assert_same, small};

type Tables = BTreeMap<&'static str, Model>;

const NAMES: [&str; 2] = ["a", "b"];

fn def(name: &str) -> TableDef<Bytes, Bytes> {
    TableDef::named(name)
}

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Create,
    Drop,
    RenameThere,
    RenameBack,
    Clear,
    Put,
    Open,
    Commit,
    Abort,
}

const STEPS: [Step; 9] = [
    Step::Create,
    Step::Drop,
    Step::RenameThere,
    Step::RenameBack,
    Step::Clear,
    Step::Put,
    Step::Open,
    Step::Commit,
    Step::Abort,
];

/// Whether levels open and close properly, and at most three deep.
fn is_program(steps: &[Step]) -> bool {
    let mut depth = 0;
    for step in steps {
        match step {
            Step::Open => depth += 1,
            Step::Commit | Step::Abort if depth == 0 => return false,
            Step::Commit | Step::Abort => depth -= 1,
            _ => {}
        }
        if depth > 3 {
            return false;
        }
    }
    depth == 0
}

fn run(txn: &mut WriteTxn, steps: &[Step], tables: &mut Tables, nth: &mut u8) -> usize {
    let mut at = 0;
    while let Some(&step) = steps.get(at) {
        at += 1;
        match step {
            Step::Open => {
                let before = tables.clone();
                let mut used = 0;
                let ended = txn.nested(|child| {
                    used = run(child, &steps[at..], tables, nth);
                    match steps[at + used - 1] {
                        Step::Commit => Ok(()),
                        _ => Err(Error::Invalid("undone")),
                    }
                });
                at += used;
                if ended.is_err() {
                    *tables = before;
                }
            }
            Step::Commit | Step::Abort => return at,
            step => apply(txn, step, tables, nth),
        }
        compare(txn, tables, &format!("{steps:?} up to {at}"));
    }
    at
}

fn apply(txn: &mut WriteTxn, step: Step, tables: &mut Tables, nth: &mut u8) {
    *nth += 1;
    let [a, b] = NAMES;
    let rename = |txn: &mut WriteTxn, tables: &mut Tables, from: &'static str, to: &'static str| {
        let Some(t) = txn.open_table(&def(from)).unwrap() else { return };
        match t.rename(txn, to.as_bytes()) {
            Ok(()) => {
                let records = tables.remove(from).unwrap();
                assert!(tables.insert(to, records).is_none());
                assert!(matches!(t.len(txn), Err(Error::TableNotFound)), "the old handle");
            }
            Err(error) => {
                assert!(matches!(error, Error::TableExists) && tables.contains_key(to), "{error}");
            }
        }
    };
    match step {
        Step::Create => {
            txn.create_table(&def(a)).unwrap();
            tables.entry(a).or_default();
        }
        Step::Drop => {
            if let Some(t) = txn.open_table(&def(a)).unwrap() {
                assert!(t.drop_table(txn).unwrap());
                assert!(!t.drop_table(txn).unwrap(), "it is gone");
            }
            tables.remove(a);
        }
        Step::RenameThere => rename(txn, tables, a, b),
        Step::RenameBack => rename(txn, tables, b, a),
        Step::Clear => {
            if let Some(t) = txn.open_table(&def(a)).unwrap() {
                t.clear(txn).unwrap();
                tables.get_mut(a).unwrap().clear();
            }
        }
        _ => {
            if let Some(t) = txn.open_table(&def(a)).unwrap() {
                let (key, value) = (vec![*nth % 4], vec![*nth; 90]);
                t.put(txn, &key, &value).unwrap();
                tables.get_mut(a).unwrap().insert(key, value);
            }
        }
    }
}

trait Opens: Txn {
    fn table(&self, name: &str) -> Option<huon::RawTable>;
    fn names(&self) -> Vec<Vec<u8>>;
}

impl Opens for huon::ReadTxn {
    fn table(&self, name: &str) -> Option<huon::RawTable> {
        self.open_table(&def(name)).unwrap()
    }
    fn names(&self) -> Vec<Vec<u8>> {
        self.table_names().unwrap()
    }
}

impl Opens for WriteTxn {
    fn table(&self, name: &str) -> Option<huon::RawTable> {
        self.open_table(&def(name)).unwrap()
    }
    fn names(&self) -> Vec<Vec<u8>> {
        self.table_names().unwrap()
    }
}

fn compare(txn: &impl Opens, tables: &Tables, what: &str) {
    let names = txn.names();
    assert!(names.iter().eq(tables.keys().map(|name| name.as_bytes())), "{what}: {names:?}");
    for name in NAMES {
        match (txn.table(name), tables.get(name)) {
            (Some(t), Some(model)) => assert_same(txn, t, model, what),
            (None, None) => {}
            (found, _) => panic!("{what}: {name} is there: {}", found.is_some()),
        }
    }
}

/// Tables as a program finds them: none, one, both.
fn begin(env: &Env, kind: usize) -> Tables {
    let mut tables = Tables::new();
    let mut txn = env.write().unwrap();
    for (n, name) in NAMES.into_iter().enumerate() {
        if let Some(t) = txn.open_table(&def(name)).unwrap() {
            t.drop_table(&mut txn).unwrap();
        }
        if n < kind {
            let t = txn.create_table(&def(name)).unwrap();
            let records = tables.entry(name).or_default();
            for key in 0..3 {
                super::put(&mut txn, t, records, &[key], &[n as u8; 80]);
            }
        }
    }
    txn.commit().unwrap();
    tables
}

/// libmdbx (2021 to 2026) lost tables, or kept dropped ones, when tables were made, dropped or
/// renamed in a nested transaction that was undone. Here every program of up to five steps runs, of
/// up to three levels, on no table, one and two, then is committed or not.
#[test]
fn every_short_program_of_tables() {
    let place = Place::new();
    let mut env = small().open(&place.path).unwrap();
    let mut count = 0u64;
    for length in 1..=5u32 {
        for number in 0..STEPS.len().pow(length) {
            let program: Vec<Step> =
                (0..length).map(|at| STEPS[number / STEPS.len().pow(at) % STEPS.len()]).collect();
            if !is_program(&program) {
                continue;
            }
            // All of the shorter ones; of the longest those in which something is undone.
            if length == 5 && !program.contains(&Step::Abort) {
                continue;
            }
            let kind = number % 3;
            let before = begin(&env, kind);
            let mut tables = before.clone();
            let mut txn = env.write().unwrap();
            run(&mut txn, &program, &mut tables, &mut 0);
            count += 1;
            match count % 3 {
                0 => {
                    txn.abort();
                    tables = before;
                }
                _ => drop(txn.commit().unwrap()),
            }
            if count.is_multiple_of(200) {
                drop(env);
                env = small().open(&place.path).unwrap();
            }
            let what = format!("{program:?} on {kind}");
            compare(&env.read().unwrap(), &tables, &what);
            if count.is_multiple_of(5) {
                assert_clean(&env, &what);
            }
        }
    }
    assert!(count > 4000, "{count}");
    figures::add("exhaustive", count);
}

/// A handle outlives what it stands for: it finds its table again, or says that it is missing.
#[test]
fn handles_of_tables_that_come_and_go() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    let t = env.update(|txn| txn.create_table(&def("a"))).unwrap();
    let reader = env.read().unwrap();
    env.update(|txn| t.put(txn, b"k", b"1").map(drop)).unwrap();
    env.update(|txn| t.rename(txn, b"b")).unwrap();
    assert!(matches!(t.get(&env.read().unwrap(), b"k"), Err(Error::TableNotFound)));
    let gone = env.update(|txn| t.put(txn, b"k", b"2").map(drop));
    assert!(matches!(gone, Err(Error::TableNotFound)), "a refusal, and nothing is broken");
    // Another table under the old name is what the old handle stands for.
    env.update(|txn| txn.create_table(&def("a")).map(drop)).unwrap();
    assert_eq!(t.get(&env.read().unwrap(), b"k").unwrap(), None);
    env.update(|txn| t.put(txn, b"k", b"3").map(drop)).unwrap();
    assert_eq!(t.get(&env.read().unwrap(), b"k").unwrap(), Some(&b"3"[..]));
    assert_eq!(t.get(&reader, b"k").unwrap(), None, "the old snapshot has the old table");
    // A table of another order under the name is refused by the handle that expects bytes.
    let other = TableDef::<Bytes, Bytes>::new("a").ordered(huon::Order::Reversed);
    env.update(|txn| {
        t.drop_table(txn)?;
        txn.create_table(&other).map(drop)
    })
    .unwrap();
    assert!(matches!(t.get(&env.read().unwrap(), b"k"), Err(Error::TableKind)));
    assert_clean(&env, "tables under old names");
}

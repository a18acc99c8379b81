//! Bugs that other stores have had, each as a test of this one. What happened elsewhere is said in
//! a sentence at each test; `docs/CATALOGUE.md` lists them all, with those that other tests cover.

mod child;
mod cursors;
mod durability;
mod followers;
mod forks;
mod heirs;
mod levels;
mod limits;
mod multimaps;
mod processes;
mod space;
mod storms;
mod system;
mod tables;
mod tree;
mod txn;
mod values;
mod workers;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use huon::{Bytes, Durability, Env, Options, RawTable, TableDef, Txn, WriteTxn};

/// What a table should hold.
pub(crate) type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// The table that most tests use.
pub(crate) fn def() -> TableDef<Bytes, Bytes> {
    TableDef::new("t")
}

/// A directory that vanishes, in memory where there is such a place, and a file to be made in it.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Place {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Place::of(dir.unwrap())
    }

    /// On the disk: for files with holes, which memory may refuse.
    pub(crate) fn on_disk() -> Place {
        Place::of(tempfile::tempdir().unwrap())
    }

    fn of(dir: tempfile::TempDir) -> Place {
        let path = dir.path().join("a.huon");
        Place { dir, path }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn lock(&self) -> PathBuf {
        lock_of(&self.path)
    }
}

/// The lock file of a data file.
pub(crate) fn lock_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-lock", path.display()))
}

/// The smallest pages, and commits that wait for nothing.
pub(crate) fn small() -> Options {
    let mut options = Env::options();
    options.page_bytes(256).durability(Durability::Lazy).max_bytes(1 << 30).grow_bytes(16 << 10);
    options
}

/// The newest snapshot has no flaw.
pub(crate) fn assert_clean(env: &Env, when: &str) {
    let report = env.check().unwrap();
    assert!(report.is_clean(), "{when}: {:?}", &report.problems[..report.problems.len().min(5)]);
}

/// The table holds what the model says, seen from both ends.
pub(crate) fn assert_same(txn: &impl Txn, table: RawTable, model: &Model, when: &str) {
    assert_eq!(table.len(txn).unwrap(), model.len() as u64, "{when}: how many");
    let mut found = table.iter(txn).unwrap();
    for (key, value) in model {
        let (found_key, found_value) = found.next().expect(when).unwrap();
        assert_eq!(found_key, key, "{when}");
        assert!(found_value == value, "{when}: another value under {key:?}");
    }
    assert!(found.next().is_none(), "{when}: too many");
    let mut found = table.iter(txn).unwrap();
    for key in model.keys().rev() {
        assert_eq!(found.next_back().expect(when).unwrap().0, key, "{when}, backwards");
    }
}

/// The same for the newest snapshot of an environment, which must have the table.
pub(crate) fn assert_holds(env: &Env, model: &Model, when: &str) {
    let txn = env.read().unwrap();
    let table = txn.open_table(&def()).unwrap().expect(when);
    assert_same(&txn, table, model, when);
}

/// Puts a record into table and model.
pub(crate) fn put(txn: &mut WriteTxn, t: RawTable, model: &mut Model, key: &[u8], value: &[u8]) {
    t.put(txn, key, value).unwrap();
    model.insert(key.to_vec(), value.to_vec());
}

/// Bounds as ranges take them.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Whether a key lies between bounds.
pub(crate) fn is_between(key: &[u8], (from, to): &Bounds) -> bool {
    let above = match from {
        Bound::Unbounded => true,
        Bound::Included(from) => key >= &from[..],
        Bound::Excluded(from) => key > &from[..],
    };
    let below = match to {
        Bound::Unbounded => true,
        Bound::Included(to) => key <= &to[..],
        Bound::Excluded(to) => key < &to[..],
    };
    above && below
}

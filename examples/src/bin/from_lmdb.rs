//! Moves databases of an LMDB environment into a file of Huon, and compares both.
//!
//! ```text
//! from_lmdb old-lmdb-dir new.huon people by-city:multi
//! ```
//!
//! Names are given, with `:multi` for databases that LMDB calls DUPSORT, since a program knows its
//! own tables. (For a file about which nothing is known: `mdb_dump -a DIR | huon load FILE`.) Both
//! stores keep keys in the order of their bytes, so records come in order and are appended, which
//! is the fastest way in and packs pages.

use heed::types::Bytes as Any;
use huon::{Bytes, Env, Multi, MultiDef, Table, TableDef, WriteTxn};

type Error = Box<dyn std::error::Error>;

/// Records that one transaction takes over.
const STEP: usize = 100_000;

#[derive(Clone, Copy)]
enum Target {
    Plain(Table<Bytes, Bytes>),
    Multi(Multi<Bytes, Bytes>),
}

impl Target {
    fn create(env: &Env, name: &str, multi: bool) -> huon::Result<Target> {
        env.update(|txn| {
            Ok(if multi {
                Target::Multi(txn.create_table(&MultiDef::named(name))?)
            } else {
                Target::Plain(txn.create_table(&TableDef::named(name))?)
            })
        })
    }

    fn append(self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> huon::Result<()> {
        match self {
            Target::Plain(table) => table.append(txn, key, value),
            Target::Multi(table) => table.append(txn, key, value),
        }
    }

    /// Whether a record is there as it was.
    fn holds(self, txn: &huon::ReadTxn, key: &[u8], value: &[u8]) -> huon::Result<bool> {
        match self {
            Target::Plain(table) => Ok(table.get(txn, key)? == Some(value)),
            Target::Multi(table) => table.contains(txn, key, value),
        }
    }

    fn len(self, txn: &huon::ReadTxn) -> huon::Result<u64> {
        match self {
            Target::Plain(table) => table.len(txn),
            Target::Multi(table) => table.len(txn),
        }
    }
}

/// Moves one database; how many records it has.
fn copy(lmdb: &heed::Env, env: &Env, name: &str, multi: bool) -> Result<u64, Error> {
    let from = lmdb.read_txn()?;
    let source = lmdb.open_database::<Any, Any>(&from, Some(name))?;
    let source = source.ok_or_else(|| format!("there is no database {name}"))?;
    let target = Target::create(env, name, multi)?;
    let mut records = source.iter(&from)?;
    loop {
        let mut taken = 0;
        env.try_update(|txn| -> Result<(), Error> {
            for record in records.by_ref().take(STEP) {
                let (key, value) = record?;
                target.append(txn, key, value)?;
                taken += 1;
            }
            Ok(())
        })?;
        if taken < STEP {
            break;
        }
    }
    // Nothing is believed that was not looked at.
    let to = env.read()?;
    for record in source.iter(&from)? {
        let (key, value) = record?;
        if !target.holds(&to, key, value)? {
            return Err(format!("{name}: the record {key:?} is not what it was").into());
        }
    }
    let (before, after) = (source.len(&from)?, target.len(&to)?);
    if before != after {
        return Err(format!("{name}: {before} records became {after}").into());
    }
    Ok(after)
}

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [source, target, names @ ..] = args.as_slice() else {
        return Err("usage: from_lmdb LMDB_DIR FILE NAME[:multi]..".into());
    };
    // SAFETY: the environment is opened once in this process, and no other program of this machine
    // changes its files but through LMDB.
    let lmdb = unsafe { heed::EnvOpenOptions::new().max_dbs(names.len() as u32 + 1).open(source)? };
    let env = Env::open(target)?;
    for name in names {
        let (name, multi) = match name.strip_suffix(":multi") {
            Some(name) => (name, true),
            None => (name.as_str(), false),
        };
        println!("{name}: {} records", copy(&lmdb, &env, name, multi)?);
    }
    env.close()?;
    Ok(())
}

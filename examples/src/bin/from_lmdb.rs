//! Moves databases of an LMDB environment into a file of Huon.
//!
//! ```text
//! cargo run -p huon-examples --bin from_lmdb -- old-lmdb-dir new.huon people by-city:multi
//! ```
//!
//! A program knows its databases, so their names are given, with `:multi` where LMDB was told
//! `MDB_DUPSORT`. Both stores sort keys by their bytes: records come in order, and are loaded in
//! bulk. A database with integer keys (`MDB_INTEGERKEY`) is refused by that. All of it is one
//! transaction, which commits once every record was compared. Without a program of your own:
//! `mdb_dump -a DIR | huon load FILE`.

use std::error::Error;

use heed::types::Bytes as Any;
use heed::{Database, EnvOpenOptions, RoTxn};
use huon::{Append, Bytes, Env, MultiDef, TableDef, WriteTxn};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A database of LMDB, and a transaction that reads it.
struct Source<'s> {
    txn: &'s RoTxn<'s>,
    database: Database<Any, Any>,
}

impl Source<'_> {
    /// Hands all records to a bulk load.
    fn feed(&self, append: &mut Append<'_, Bytes, Bytes>) -> huon::Result<()> {
        // An error of LMDB ends the load.
        let refused = |error: heed::Error| huon::Error::Decode(error.into());
        for record in self.database.iter(self.txn).map_err(refused)? {
            let (key, value) = record.map_err(refused)?;
            append(key, value)?;
        }
        Ok(())
    }

    /// Compares all records with those that were loaded; how many there are.
    fn compare<'t>(
        &self,
        loaded: impl Iterator<Item = huon::Result<(&'t [u8], &'t [u8])>>,
    ) -> Result<u64> {
        let mut count = 0;
        let mut loaded = loaded.fuse();
        for record in self.database.iter(self.txn)? {
            if loaded.next().transpose()? != Some(record?) {
                return Err(format!("record {count} is not what it was").into());
            }
            count += 1;
        }
        if loaded.next().is_some() { Err("there are too many records".into()) } else { Ok(count) }
    }

    /// Loads a new table; how many records it has.
    fn load(&self, txn: &mut WriteTxn, name: &str, multi: bool) -> Result<u64> {
        if multi {
            let table = txn.create_table(&MultiDef::<Bytes, Bytes>::named(name))?;
            table.bulk_load(txn, |append| self.feed(append))?;
            self.compare(table.iter(txn)?)
        } else {
            let table = txn.create_table(&TableDef::<Bytes, Bytes>::named(name))?;
            table.bulk_load(txn, |append| self.feed(append))?;
            self.compare(table.iter(txn)?)
        }
    }
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, names @ ..] = &args[..] else {
        return Err("from_lmdb DIRECTORY FILE NAME[:multi]..".into());
    };
    // SAFETY: it is opened once in this process, and its files are changed through LMDB alone.
    let lmdb = unsafe { EnvOpenOptions::new().max_dbs(names.len() as u32).open(from)? };
    let old = lmdb.read_txn()?;
    Env::open(to)?.try_update(|txn| {
        for name in names {
            let (name, multi) =
                name.strip_suffix(":multi").map_or((name.as_str(), false), |name| (name, true));
            let database = lmdb.open_database(&old, Some(name))?;
            let database = database.ok_or_else(|| format!("there is no database {name}"))?;
            let source = Source { txn: &old, database };
            println!("{name}: {} records", source.load(txn, name, multi)?);
        }
        Ok(())
    })
}

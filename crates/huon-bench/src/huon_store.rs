//! Huon through its public interface.

use std::path::Path;

use huon::{Bytes, Durability, Env, TableDef};

use crate::store::{Key, Result, Store, touched, value};

const TABLE: TableDef<Bytes, Bytes> = TableDef::new("bench");

/// One Huon file.
pub(crate) struct Huon {
    env: Env,
}

impl Huon {
    /// Creates a file at `path`.
    pub(crate) fn create(path: &Path) -> Result<Huon> {
        Ok(Huon { env: Env::options().open(path)? })
    }
}

impl Store for Huon {
    fn name(&self) -> &'static str {
        "Huon"
    }

    fn put_all(&mut self, keys: &[Key]) -> Result<()> {
        let mut txn = self.env.write()?;
        let table = txn.create(&TABLE)?;
        for key in keys {
            table.put(&mut txn, key, &value(key))?;
        }
        txn.commit_with(Durability::Lazy)?;
        Ok(())
    }

    fn get_all(&self, keys: &[Key]) -> Result<u64> {
        let snapshot = self.env.read()?;
        let table = snapshot.open(&TABLE)?.ok_or("Huon: no table")?;
        let mut sum = 0;
        for key in keys {
            sum += touched(table.get(&snapshot, key)?.ok_or("Huon: a key is missing")?);
        }
        Ok(sum)
    }
}

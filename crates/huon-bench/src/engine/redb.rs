//! redb through its public interface.
//!
//! Its lazy commits stay in the memory of the process until a durable one.

use std::ops::Bound;
use std::path::Path;

use redb::{
    Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, Table, TableDefinition,
    WriteTransaction,
};

use super::{Engine, Mode, Read, Result, Setup, Way, Write};

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("bench");

/// One redb file.
pub(crate) struct Redb {
    db: Database,
    durability: Durability,
}

impl Engine for Redb {
    const NAME: &'static str = "redb";
    type Read<'e> = Snapshot;
    type Write<'e> = Txn;

    fn version() -> String {
        env!("VERSION_redb").to_string()
    }

    fn options(setup: &Setup) -> String {
        let durability = durability(setup.mode);
        format!("{} MiB cache; Durability::{durability:?}", setup.cache_bytes >> 20)
    }

    fn offers(mode: Mode) -> bool {
        mode != Mode::Unsynced
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Redb> {
        let mut builder = Database::builder();
        let db = builder.set_cache_size(setup.cache_bytes).create(dir.join("bench.redb"))?;
        let txn = db.begin_write()?;
        txn.open_table(TABLE)?;
        txn.commit()?;
        Ok(Redb { db, durability: durability(setup.mode) })
    }

    fn read(&self) -> Result<Snapshot> {
        Ok(Snapshot { table: self.db.begin_read()?.open_table(TABLE)? })
    }

    fn write(&self) -> Result<Txn> {
        let mut txn = self.db.begin_write()?;
        txn.set_durability(self.durability)?;
        Ok(Txn { opened: Opened::try_new(txn, |txn| txn.open_table(TABLE))? })
    }

    /// Commits durably, which takes all earlier commits with it.
    fn sync(&self) -> Result<()> {
        let mut txn = self.db.begin_write()?;
        txn.set_durability(Durability::Immediate)?;
        Ok(txn.commit()?)
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

fn durability(mode: Mode) -> Durability {
    match mode {
        Mode::Durable => Durability::Immediate,
        Mode::Lazy | Mode::Unsynced => Durability::None,
    }
}

/// The table of a read transaction, which keeps the transaction alive.
pub(crate) struct Snapshot {
    table: ReadOnlyTable<&'static [u8], &'static [u8]>,
}

impl Read for Snapshot {
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(self.table.get(key)?.map(|value| look(value.value())))
    }

    fn scan(
        &mut self,
        from: Option<&[u8]>,
        way: Way,
        limit: u64,
        mut look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        let bound = from.map_or(Bound::Unbounded, Bound::Included);
        let mut range = match way {
            Way::Up => self.table.range::<&[u8]>((bound, Bound::Unbounded))?,
            Way::Down => self.table.range::<&[u8]>((Bound::Unbounded, bound))?,
        };
        let mut count = 0;
        while count < limit {
            let next = match way {
                Way::Up => range.next(),
                Way::Down => range.next_back(),
            };
            let Some(record) = next else { break };
            let (key, value) = record?;
            look(key.value(), value.value());
            count += 1;
        }
        Ok(count)
    }
}

type BenchTable<'t> = Table<'t, &'static [u8], &'static [u8]>;

self_cell::self_cell!(
    /// A write transaction with its open table: to open it for each change would cost more.
    struct Opened {
        owner: WriteTransaction,
        #[not_covariant]
        dependent: BenchTable,
    }
);

/// The writer's transaction.
pub(crate) struct Txn {
    opened: Opened,
}

impl Write for Txn {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.opened.with_dependent_mut(|_, table| table.insert(key, value).map(drop))?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.opened.with_dependent_mut(|_, table| table.remove(key).map(|v| v.is_some()))?)
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(self.opened.with_dependent(|_, table| {
            table.get(key).map(|value| value.map(|value| look(value.value())))
        })?)
    }

    fn commit(self) -> Result<()> {
        Ok(self.opened.into_owner().commit()?)
    }

    fn abort(self) -> Result<()> {
        Ok(self.opened.into_owner().abort()?)
    }
}

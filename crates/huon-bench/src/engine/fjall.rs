//! fjall through its public interface.
//!
//! A write transaction is a batch, which cannot be read from, and nothing looks for conflicts; that
//! is its fastest way. A read transaction is a snapshot.

use std::ops::Bound;
use std::path::Path;
use std::time::Duration;

use fjall::config::CompressionPolicy;
use fjall::{
    AbstractTree, CompressionType, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch,
    PersistMode, Readable,
};

use super::{Debt, Engine, Mode, Read, Result, Setup, Way, Write};

const WORKERS_COUNT: usize = 2;
/// Looks at idle workers, one after another, that say that nothing is left to be done.
const IDLE_LOOKS: u32 = 3;
const LOOK_EACH: Duration = Duration::from_millis(10);

/// One fjall database with one keyspace.
pub(crate) struct Fjall {
    db: Database,
    keyspace: Keyspace,
    persist: Option<PersistMode>,
}

impl Engine for Fjall {
    const NAME: &'static str = "fjall";
    const DEBT: Debt = Debt::Known;
    type Read<'e> = Snapshot<'e>;
    type Write<'e> = Batch<'e>;

    fn version() -> String {
        env!("VERSION_fjall").to_string()
    }

    fn options(setup: &Setup) -> String {
        format!(
            "write batches and snapshots; {} MiB cache, {WORKERS_COUNT} workers, no compression; \
             persist = {:?}",
            setup.cache_bytes >> 20,
            persist(setup.mode)
        )
    }

    fn offers(mode: Mode) -> bool {
        mode != Mode::Unsynced
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Fjall> {
        let db = Database::builder(dir)
            .cache_size(setup.cache_bytes as u64)
            .worker_threads(WORKERS_COUNT)
            .journal_compression(CompressionType::None)
            .open()?;
        let keyspace = db.keyspace("bench", || {
            let none = CompressionPolicy::all(CompressionType::None);
            KeyspaceCreateOptions::default()
                .data_block_compression_policy(none.clone())
                .index_block_compression_policy(none)
        })?;
        Ok(Fjall { db, keyspace, persist: persist(setup.mode) })
    }

    fn read(&self) -> Result<Snapshot<'_>> {
        Ok(Snapshot { snapshot: self.db.snapshot(), keyspace: &self.keyspace })
    }

    fn write(&self) -> Result<Batch<'_>> {
        Ok(Batch { batch: self.db.batch().durability(self.persist), keyspace: &self.keyspace })
    }

    fn sync(&self) -> Result<()> {
        Ok(self.db.persist(PersistMode::SyncAll)?)
    }

    /// Waits until the workers have had nothing to do for a while: one compaction may ask for
    /// another.
    fn work_off(&self) -> Result<()> {
        let mut idle_count = 0;
        while idle_count < IDLE_LOOKS {
            std::thread::sleep(LOOK_EACH);
            let flushes_count = self.keyspace.tree.sealed_memtable_count();
            let is_idle = flushes_count == 0 && self.db.active_compactions() == 0;
            idle_count = if is_idle { idle_count + 1 } else { 0 };
        }
        Ok(())
    }

    /// Writes what is in memory to tables, and compacts everything.
    fn settle(&self) -> Result<()> {
        self.keyspace.rotate_memtable_and_wait()?;
        Ok(self.keyspace.major_compact()?)
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

fn persist(mode: Mode) -> Option<PersistMode> {
    (mode == Mode::Durable).then_some(PersistMode::SyncAll)
}

/// A snapshot.
pub(crate) struct Snapshot<'e> {
    snapshot: fjall::Snapshot,
    keyspace: &'e Keyspace,
}

impl Read for Snapshot<'_> {
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(self.snapshot.get(self.keyspace, key)?.map(|value| look(&value)))
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
            Way::Up => self.snapshot.range::<&[u8], _>(self.keyspace, (bound, Bound::Unbounded)),
            Way::Down => self.snapshot.range::<&[u8], _>(self.keyspace, (Bound::Unbounded, bound)),
        };
        let mut count = 0;
        while count < limit {
            let next = match way {
                Way::Up => range.next(),
                Way::Down => range.next_back(),
            };
            let Some(record) = next else { break };
            let (key, value) = record.into_inner()?;
            look(&key, &value);
            count += 1;
        }
        Ok(count)
    }
}

/// A batch of writes.
pub(crate) struct Batch<'e> {
    batch: OwnedWriteBatch,
    keyspace: &'e Keyspace,
}

impl Write for Batch<'_> {
    const SEES_ITSELF: bool = false;

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.batch.insert(self.keyspace, key, value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.batch.remove(self.keyspace, key);
        Ok(true)
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(self.keyspace.get(key)?.map(|value| look(&value)))
    }

    fn commit(self) -> Result<()> {
        Ok(self.batch.commit()?)
    }

    fn abort(self) -> Result<()> {
        Ok(())
    }
}

//! canopydb through its public interface: its log on, one writer at a time.

use std::ops::Bound;
use std::path::Path;

use canopydb::{
    Database, DbOptions, EnvOptions, Environment, ReadTransaction, Tree, TreeOptions,
    WriteTransaction,
};

use super::{Engine, Mode, Read, Result, Setup, Way, Write};

const TREE: &[u8] = b"bench";

/// One canopydb environment with one database.
pub(crate) struct Canopydb {
    // Dropped before the environment.
    db: Database,
    _env: Environment,
    durable: bool,
}

impl Engine for Canopydb {
    const NAME: &'static str = "canopydb";
    type Read<'e> = Snapshot;
    type Write<'e> = Txn;

    fn version() -> String {
        env!("VERSION_canopydb").to_string()
    }

    fn options(setup: &Setup) -> String {
        format!(
            "log on, {} MiB cache, no compression, no flushes in the background; sync = {}",
            setup.cache_bytes >> 20,
            setup.mode == Mode::Durable
        )
    }

    fn offers(mode: Mode) -> bool {
        mode != Mode::Unsynced
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Canopydb> {
        let mut options = EnvOptions::new(dir);
        options.page_cache_size = setup.cache_bytes;
        options.wal_background_sync_interval = None;
        let env = Environment::with_options(options)?;
        let durable = setup.mode == Mode::Durable;
        let mut options = DbOptions::default();
        options.use_wal = true;
        options.default_commit_sync = durable;
        let db = env.get_or_create_database_with("bench", options)?;
        let mut tree = TreeOptions::default();
        tree.compress_overflow_values = None;
        let txn = db.begin_write()?;
        txn.get_or_create_tree_with(TREE, tree)?;
        txn.commit()?;
        Ok(Canopydb { db, _env: env, durable })
    }

    fn read(&self) -> Result<Snapshot> {
        let opened = OpenedRead::try_new(self.db.begin_read()?, |txn| -> Result<Tree<'_>> {
            txn.get_tree(TREE)?.ok_or_else(|| "canopydb: the tree is gone".into())
        })?;
        Ok(Snapshot { opened })
    }

    fn write(&self) -> Result<Txn> {
        let opened = OpenedWrite::try_new(self.db.begin_write()?, |txn| -> Result<Tree<'_>> {
            txn.get_tree(TREE)?.ok_or_else(|| "canopydb: the tree is gone".into())
        })?;
        Ok(Txn { opened, durable: self.durable })
    }

    /// Brings everything to the file, with its flushes.
    fn sync(&self) -> Result<()> {
        Ok(self.db.checkpoint()?)
    }

    fn settle(&self) -> Result<()> {
        Ok(self.db.checkpoint()?)
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

self_cell::self_cell!(
    /// A read transaction with its open tree: to open it for each lookup would cost more.
    struct OpenedRead {
        owner: ReadTransaction,
        #[not_covariant]
        dependent: Tree,
    }
);

self_cell::self_cell!(
    /// A write transaction with its open tree.
    struct OpenedWrite {
        owner: WriteTransaction,
        #[not_covariant]
        dependent: Tree,
    }
);

/// A read transaction.
pub(crate) struct Snapshot {
    opened: OpenedRead,
}

impl Read for Snapshot {
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(self
            .opened
            .with_dependent(|_, tree| tree.get(key).map(|value| value.map(|value| look(&value))))?)
    }

    fn scan(
        &mut self,
        from: Option<&[u8]>,
        way: Way,
        limit: u64,
        mut look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        let bound = from.map_or(Bound::Unbounded, Bound::Included);
        self.opened.with_dependent(|_, tree| {
            let mut range = match way {
                Way::Up => tree.range::<&[u8]>((bound, Bound::Unbounded))?,
                Way::Down => tree.range::<&[u8]>((Bound::Unbounded, bound))?,
            };
            let mut count = 0;
            while count < limit {
                let next = match way {
                    Way::Up => range.next(),
                    Way::Down => range.next_back(),
                };
                let Some(record) = next else { break };
                let (key, value) = record?;
                look(&key, &value);
                count += 1;
            }
            Ok(count)
        })
    }
}

/// The writer's transaction.
pub(crate) struct Txn {
    opened: OpenedWrite,
    durable: bool,
}

impl Write for Txn {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.opened.with_dependent_mut(|_, tree| tree.insert(key, value))?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.opened.with_dependent_mut(|_, tree| tree.delete(key))?)
    }

    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(self
            .opened
            .with_dependent(|_, tree| tree.get(key).map(|value| value.map(|value| look(&value))))?)
    }

    fn commit(self) -> Result<()> {
        let durable = self.durable;
        self.opened.into_owner().commit_with(durable)?;
        Ok(())
    }

    fn abort(self) -> Result<()> {
        Ok(self.opened.into_owner().rollback()?)
    }
}

//! What an engine must do to be measured, and the list of engines.
//!
//! Dispatch is static: a workload is a function generic over [`Engine`], so that what is measured
//! holds no call through a table. What an engine does not offer it says so, and the cell is left
//! out and named, never imitated with something slower or faster.

use std::path::Path;

#[cfg(engine_bdb)]
mod bdb;
#[cfg(engine_bf_tree)]
mod bf_tree;
#[cfg(engine_canopydb)]
mod canopydb;
#[cfg(test)]
mod conformance;
#[cfg(engine_fjall)]
mod fjall;
mod floor;
#[cfg(engine_huon)]
mod huon;
#[cfg(engine_huon_lsm)]
mod huon_lsm;
#[cfg(engine_leveldb)]
mod leveldb;
mod list;
#[cfg(engine_lmdb)]
mod lmdb;
#[cfg(engine_mdbx)]
mod mdbx;
#[cfg(engine_redb)]
mod redb;
#[cfg(engine_rocksdb)]
mod rocksdb;
#[cfg(engine_sqlite)]
mod sqlite;
#[cfg(engine_rocksdb)]
mod system;
#[cfg(any(engine_lmdb, engine_mdbx))]
mod walk;

#[cfg(test)]
pub(crate) use floor::Null;
pub(crate) use list::{ENGINES, Visit, visit};

/// Whatever went wrong in an engine, as text.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// When a commit may be lost.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// Never, once acknowledged.
    Durable,
    /// With the last ones, in a crash of the operating system; what is left is whole.
    Lazy,
    /// As `Lazy`, and what is left may be broken.
    Unsynced,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Durable => "durable",
            Mode::Lazy => "lazy",
            Mode::Unsynced => "unsynced",
        }
    }
}

/// How a database is opened.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) mode: Mode,
    /// Bytes that an engine with a cache of its own may keep.
    pub(crate) cache_bytes: usize,
    /// Bytes of a page, for engines that have a choice; `None`: what a user gets.
    pub(crate) page_bytes: Option<usize>,
    /// Whether the engine may work in threads of its own. Another process does that work instead
    /// where several write: see [`Engine::tend`].
    pub(crate) background: bool,
}

/// What records an engine takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) key_bytes_max: usize,
    pub(crate) value_bytes_min: usize,
    pub(crate) record_bytes_max: usize,
}

impl Limits {
    /// More than any workload asks for.
    pub(crate) const NONE: Limits =
        Limits { key_bytes_max: usize::MAX, value_bytes_min: 0, record_bytes_max: usize::MAX };

    /// Why records are not taken whose keys and values are so long, if they are not.
    pub(crate) fn refuse(self, key_bytes: usize, value_bytes: usize) -> Option<String> {
        let Limits { key_bytes_max, value_bytes_min, record_bytes_max } = self;
        if key_bytes > key_bytes_max {
            return Some(format!("it takes keys of at most {key_bytes_max} bytes"));
        }
        if value_bytes < value_bytes_min {
            return Some(format!("it takes values of at least {value_bytes_min} bytes"));
        }
        (key_bytes.saturating_add(value_bytes) > record_bytes_max)
            .then(|| format!("it takes records of at most {record_bytes_max} bytes"))
    }
}

/// What writes leave to be done later, beside a sync.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Debt {
    /// Nothing.
    None,
    /// Merges, which [`Engine::work_off`] does.
    Known,
    /// Merges that the driver can neither do nor wait for; the engine can only be asked to do more.
    Unknown,
}

/// Which way a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Up,
    Down,
}

/// One engine with one open database in a directory of its own: one ordered map of byte strings.
pub(crate) trait Engine: Sized + Sync + 'static {
    /// What the tables call it.
    const NAME: &'static str;

    /// Whether it keeps what it is given. A floor does not: its answers are not checked.
    const KEEPS: bool = true;

    /// Whether it can be read from.
    const READS: bool = true;

    /// Whether readers see all that a write transaction did or nothing of it, and a read
    /// transaction sees one snapshot.
    const TRANSACTS: bool = true;

    /// Whether several processes can have the database open and write to it.
    const SHARED: bool = false;

    /// Whether a database can be opened with less cache than it was filled with.
    const SHRINKS: bool = true;

    /// Whether deletes are kept when the database is opened anew. No workload asks for it.
    #[cfg(test)]
    const KEEPS_DELETES: bool = true;

    /// What it leaves to be done later.
    const DEBT: Debt = Debt::None;

    /// What records it takes.
    const LIMITS: Limits = Limits::NONE;

    /// A view of one snapshot.
    type Read<'e>: Read
    where
        Self: 'e;
    /// The writer's transaction.
    type Write<'e>: Write
    where
        Self: 'e;

    /// Version of the library that is measured, asked of the library itself.
    fn version() -> String;

    /// The options it is opened with, as the report prints them.
    fn options(setup: &Setup) -> String;

    /// Whether it has this mode.
    fn offers(mode: Mode) -> bool;

    /// Opens the database in `dir`, or creates it.
    fn open(dir: &Path, setup: &Setup) -> Result<Self>;

    /// Begins a read transaction.
    fn read(&self) -> Result<Self::Read<'_>>;

    /// Begins a write transaction, waiting for its turn.
    fn write(&self) -> Result<Self::Write<'_>>;

    /// Commits one put, in the way that is cheapest where several threads do so at a time.
    fn put_alone(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut txn = self.write()?;
        txn.put(key, value)?;
        txn.commit()
    }

    /// An empty multimap in the same database, if the engine has multimaps.
    fn pairs(&self) -> Result<Option<impl Pairs>> {
        Ok(None::<NoPairs>)
    }

    /// Makes everything that is committed durable.
    fn sync(&self) -> Result<()>;

    /// Begins to work off in threads of this process what writes leave to be done, those of other
    /// processes included, until the database is closed.
    fn tend(&self) -> Result<()> {
        Ok(())
    }

    /// Does what the writes so far leave to be done, or waits for it, and no more than the engine
    /// would do by itself, if its [`Engine::DEBT`] is known.
    fn work_off(&self) -> Result<()> {
        Ok(())
    }

    /// Whether [`Engine::shorten`] does anything.
    const SHORTENS: bool = false;

    /// Gives back what lies free in the file, as the engine does by itself after a while without
    /// writes, if it [`Engine::SHORTENS`] files.
    fn shorten(&self) -> Result<()> {
        Ok(())
    }

    /// Brings the database into the form that is read fastest, and waits until nothing goes on in
    /// the background: an LSM tree is compacted as far as can be.
    fn settle(&self) -> Result<()> {
        Ok(())
    }

    /// What the engine tells about itself that the tables should have, in a few words.
    fn remarks(&self) -> Result<String> {
        Ok(String::new())
    }

    /// Closes the database; its cost can be measured.
    fn close(self) -> Result<()>;
}

/// A key and one of its values.
pub(crate) type Pair = ([u8; 8], [u8; 8]);

/// A multimap whose keys and values have eight bytes.
pub(crate) trait Pairs {
    /// Puts pairs one by one in a transaction.
    fn put(&self, pairs: &[Pair]) -> Result<()>;

    /// Puts them in a transaction by a call for each `row` of values, which have one key.
    fn put_rows(&self, pairs: &[Pair], row: usize) -> Result<()>;

    /// How many there are.
    fn count(&self) -> Result<u64>;
}

/// The multimap of an engine that has none.
enum NoPairs {}

impl Pairs for NoPairs {
    fn put(&self, _pairs: &[Pair]) -> Result<()> {
        match *self {}
    }

    fn put_rows(&self, _pairs: &[Pair], _row: usize) -> Result<()> {
        match *self {}
    }

    fn count(&self) -> Result<u64> {
        match *self {}
    }
}

/// The number that a value is.
fn number(value: &[u8]) -> u64 {
    value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A view of one snapshot.
pub(crate) trait Read {
    /// Gives the value of `key` to `look`, in the cheapest way the engine has.
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>>;

    /// The number of a key, to which [`Write::add`] added; 0 where there is none.
    fn sum(&mut self, key: &[u8]) -> Result<u64> {
        Ok(self.get(key, number)?.unwrap_or(0))
    }

    /// Whether [`Read::get_many`] is there.
    const GETS_MANY: bool = false;

    /// Gives what each of `keys` has to `look`, with its place in `keys`.
    fn get_many(&mut self, _keys: &[&[u8]], _look: impl FnMut(usize, Option<&[u8]>)) -> Result<()> {
        Err("this engine has no lookup of many keys at once".into())
    }

    /// Gives records to `look` from `from` on (`None`: from the end that `way` starts at), at most
    /// `limit` of them, and answers how many it gave.
    fn scan(
        &mut self,
        from: Option<&[u8]>,
        way: Way,
        limit: u64,
        look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64>;

    /// Gives the record at the end that `way` starts at to `look`, in the cheapest way the engine
    /// has.
    fn end<T>(&mut self, way: Way, look: impl FnMut(&[u8], &[u8]) -> T) -> Result<Option<T>> {
        one_of_scan(self, None, way, look)
    }

    /// Gives the record of `key` to `look`, or else the next one in that way.
    fn near<T>(
        &mut self,
        key: &[u8],
        way: Way,
        look: impl FnMut(&[u8], &[u8]) -> T,
    ) -> Result<Option<T>> {
        one_of_scan(self, Some(key), way, look)
    }

    /// Whether [`Read::steps`] is there.
    const STEPS: bool = false;

    /// As a whole [`Read::scan`] upwards, with a cursor that is still good after changes.
    fn steps(&mut self, _look: impl FnMut(&[u8], &[u8])) -> Result<u64> {
        Err("this engine has no cursor that outlives changes".into())
    }

    /// Whether [`Read::scan`] goes downwards, too.
    const SCANS_DOWN: bool = true;

    /// Whether [`Read::scan_pages`] is there.
    const SCANS_PAGES: bool = false;

    /// As a whole [`Read::scan`] upwards, in the form that hands over a page of records at a time.
    fn scan_pages(&mut self, _look: impl FnMut(&[u8], &[u8])) -> Result<u64> {
        Err("this engine has no scan of pages".into())
    }

    /// The same, with each record asked for by its number in the page.
    fn number_pages(&mut self, _look: impl FnMut(&[u8], &[u8])) -> Result<u64> {
        Err("this engine has no scan of pages".into())
    }

    /// Whether [`Read::renew`] is there.
    const RENEWS: bool = false;

    /// Moves on to the newest snapshot, in the cheapest way the engine has.
    fn renew(&mut self) -> Result<()> {
        Err("this engine cannot renew a read transaction".into())
    }
}

/// The first record of a scan, as `look` sees it.
fn one_of_scan<R: Read + ?Sized, T>(
    read: &mut R,
    from: Option<&[u8]>,
    way: Way,
    mut look: impl FnMut(&[u8], &[u8]) -> T,
) -> Result<Option<T>> {
    let mut seen = None;
    read.scan(from, way, 1, |key, value| seen = Some(look(key, value)))?;
    Ok(seen)
}

/// The writer's transaction; gone without a trace if it is dropped.
pub(crate) trait Write {
    /// Stores a record, whether or not the key is there.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Adds to the number that a key has, in the cheapest way the engine has.
    fn add(&mut self, key: &[u8], more: u64) -> Result<()> {
        let known = self.get(key, number)?.unwrap_or(0);
        self.put(key, &(known + more).to_le_bytes())
    }

    /// Stores a record whose key is above all others, in the cheapest way the engine has.
    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put(key, value)
    }

    /// Whether [`Write::build`] is there.
    const BUILDS: bool = false;

    /// Fills the empty database from records in key order, in the cheapest way the engine has.
    fn build<'d>(&mut self, _records: impl Iterator<Item = (&'d [u8], &'d [u8])>) -> Result<()> {
        Err("this engine has no bulk build".into())
    }

    /// Deletes a key; whether it was there, where the engine says so for nothing, else `true`.
    fn delete(&mut self, key: &[u8]) -> Result<bool>;

    /// Whether [`Write::get`] sees what this transaction did; a batch of an engine without
    /// transactions sees what was committed before.
    const SEES_ITSELF: bool = true;

    /// As [`Read::get`], with what this transaction did if [`Write::SEES_ITSELF`].
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>>;

    /// Commits as the database was opened: durable, lazy or unsynced.
    fn commit(self) -> Result<()>;

    /// Gives up.
    fn abort(self) -> Result<()>;
}

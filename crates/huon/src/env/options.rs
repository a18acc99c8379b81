//! How an environment is opened, and created.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::env::Env;
use crate::env::limits::check_page_bytes;
use crate::env::settings::Settings;
use crate::error::{Error, Result};
use crate::journal::{JOURNAL_BYTES_MAX, JOURNAL_BYTES_MIN};
use crate::os::{self, ReadAhead};
use crate::page;
use crate::store::Verify;
use crate::store::slow::{Callback, SlowReader, SlowReaderAnswer};
use crate::txn::Core;
use crate::txn::commit::Durability;
use crate::txn::geometry::Geometry;
use crate::txn::image::Image;
use crate::txn::recovery::Missing;

/// Page size of new environments, in bytes.
pub(crate) const PAGE_BYTES_DEFAULT: usize = 4096;
/// Maximum size of new environments, in bytes: address space, not disk. Programs of 32 bits have
/// two or three GiB of it for everything.
const MAX_BYTES_DEFAULT: u64 = if usize::BITS < 64 { 512 << 20 } else { 1 << 40 };
/// Memory that a write transaction buffers before it spills, in bytes.
const WRITE_BUFFER_BYTES_DEFAULT: usize = 256 << 20;
/// A free tail of the file at least this long is given back, in bytes.
const SHRINK_BYTES_DEFAULT: u64 = 8 << 20;

/// Options of an environment; see [`Env::options`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let env = huon::Env::options()
///     // Taken when the file is created:
///     .page_bytes(8192)
///     .min_bytes(1 << 20)
///     .max_bytes(1 << 30)
///     .grow_bytes(4 << 20)
///     .shrink_bytes(16 << 20)
///     .mode(0o640)
///     // Taken each time:
///     .create(true)
///     .durability(huon::Durability::Lazy)
///     .flush_after_bytes(16 << 20)
///     .flush_after(std::time::Duration::from_secs(10))
///     .verify(huon::Verify::PagesAndValues)
///     .read_ahead(huon::ReadAhead::IfItFits)
///     .write_buffer_bytes(64 << 20)
///     .lock_timeout(std::time::Duration::from_secs(5))
///     .open(dir.path().join("data.huon"))?;
/// assert_eq!(env.info()?.page_bytes, 8192);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) page_bytes: Option<usize>,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) map_bytes: u64,
    pub(crate) min_bytes: u64,
    pub(crate) grow_bytes: u64,
    pub(crate) shrink_bytes: u64,
    pub(crate) write_buffer_bytes: usize,
    pub(crate) mode: u32,
    pub(crate) create: bool,
    pub(crate) read_only: bool,
    pub(crate) exclusive: bool,
    pub(crate) durability: Durability,
    pub(crate) inherit_durability: bool,
    pub(crate) flush_bytes: u64,
    pub(crate) flush_ms: u64,
    pub(crate) journal_bytes: u64,
    pub(crate) give_up_journal: bool,
    pub(crate) verify: Verify,
    pub(crate) read_ahead: ReadAhead,
    pub(crate) lock_timeout: Duration,
    pub(crate) meta_slot: Option<u8>,
    /// The lock file is neither read nor written, and no other client may have the file open.
    pub(crate) apart: bool,
    /// A new file is the beginning of a copy of this image's file.
    pub(crate) twin_of: Option<Image>,
    pub(crate) slow_reader: Option<SlowReaderCallback>,
    pub(crate) slow_before_growing: bool,
}

/// The callback for slow readers.
#[derive(Clone)]
pub(crate) struct SlowReaderCallback(pub(crate) Callback);

impl std::fmt::Debug for SlowReaderCallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a callback")
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            page_bytes: None,
            max_bytes: None,
            map_bytes: 0,
            min_bytes: 0,
            grow_bytes: 0,
            shrink_bytes: SHRINK_BYTES_DEFAULT,
            write_buffer_bytes: WRITE_BUFFER_BYTES_DEFAULT,
            mode: 0o600,
            create: true,
            read_only: false,
            exclusive: false,
            durability: Durability::Durable,
            inherit_durability: false,
            flush_bytes: u64::MAX,
            flush_ms: u64::MAX,
            journal_bytes: 0,
            give_up_journal: false,
            verify: Verify::Pages,
            read_ahead: ReadAhead::IfItFits,
            lock_timeout: Duration::from_secs(30),
            meta_slot: None,
            apart: false,
            twin_of: None,
            slow_reader: None,
            slow_before_growing: false,
        }
    }
}

impl Options {
    /// Page size of a new environment: a power of two from 256 to 65536 bytes; default 4096. An
    /// existing file keeps its own, and opening it with another one is an error.
    pub fn page_bytes(&mut self, bytes: usize) -> &mut Self {
        self.page_bytes = Some(bytes);
        self
    }

    /// How large a new file may become, in bytes, and how much address space is reserved for it;
    /// default 1 TiB (512 MiB in 32-bit programs), or as much as the kernel allows. An existing
    /// file keeps its limit, which [`WriteTxn::set_geometry`](crate::WriteTxn::set_geometry)
    /// changes.
    pub fn max_bytes(&mut self, bytes: u64) -> &mut Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Address space to reserve for the file, in bytes, if that is more than
    /// [`Options::max_bytes`]: then the limit can be raised so far while the file is open. A
    /// process that has little address space left reserves no more than the maximum size, or less.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let mut options = huon::Env::options();
    /// let env = options.max_bytes(1 << 20).map_bytes(1 << 30).open(dir.path().join("a.huon"))?;
    /// let info = env.info()?;
    /// assert!(info.max_bytes == 1 << 20 && info.map_bytes >= 1 << 30);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn map_bytes(&mut self, bytes: u64) -> &mut Self {
        self.map_bytes = bytes;
        self
    }

    /// Lets durable commits be appends to a journal beside the file, of so many bytes:
    /// [`limits::JOURNAL_BYTES_USUAL`] serves most programs; default 0, none. What a crash or a
    /// power loss may take away is the same with and without it.
    ///
    /// A commit is durable then after one write and one flush of a small file whose blocks do not
    /// move, instead of a flush of all pages that it wrote. Those are flushed together once half of
    /// the journal is used. The journal is there from the first opening with this option to the
    /// last close, for all processes that open the file in between, with the option or without it;
    /// its size is what the first of them asked for. After a close in order the file needs it no
    /// more, and stays as it is when it is opened without the option.
    ///
    /// The journal has the file's name with `-journal` appended. Until that close the two belong
    /// together: the newest commits may be in the journal alone. If it is missing after a power
    /// loss, or is an older one, opening fails with [`Error::Journal`]; see
    /// [`Options::give_up_journal`]. [`Env::delete`] deletes it. Copies never need one.
    ///
    /// Commits go without it that have more than 1 MiB to tell, large values, more pages than a
    /// transaction buffers, or another durability before them since the last checkpoint; and all
    /// of them after a write of the journal has failed. [`EnvInfo::journal`] shows how it fares.
    /// An environment in memory has none.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Env, TableDef, U64, limits};
    /// const T: TableDef<U64, U64> = TableDef::new("t");
    /// let path = dir.path().join("a.huon");
    /// let env = Env::options().journal(limits::JOURNAL_BYTES_USUAL).open(&path)?;
    /// for n in 0..10 {
    ///     env.update(|txn| txn.create_table(&T)?.put(txn, n, n))?;
    /// }
    /// let journal = env.info()?.journal.expect("it is on");
    /// assert_eq!((journal.bytes, journal.batches), (16 << 20, 9), "the first begins it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// So many bytes of the disk, all written and flushed when the journal is made, and 4 MiB of
    /// the lock file and of memory, of which one only counts what waits for a flush. A commit reads
    /// and compares the pages that it changed.
    ///
    /// # Errors
    /// [`Options::open`] fails with [`Error::Invalid`] if there are no journals of that size:
    /// they have 64 KiB to 64 GiB ([`limits`]), and whole blocks of 4 KiB, to which the size is
    /// rounded up; and with [`Error::Io`] if the disk has no room for it.
    ///
    /// [`limits`]: crate::limits
    /// [`limits::JOURNAL_BYTES_USUAL`]: crate::limits::JOURNAL_BYTES_USUAL
    /// [`EnvInfo::journal`]: crate::EnvInfo::journal
    pub fn journal(&mut self, bytes: u64) -> &mut Self {
        self.journal_bytes = bytes;
        self
    }

    /// Opens a file whose journal is lost, and gives up the commits that were in it alone: the
    /// answer to [`Error::Journal`] if the right journal cannot be found. Default: that is an
    /// error.
    ///
    /// What is left is the last checkpoint, whole; [`Env::recovery`] is
    /// [`Recovery::JournalGivenUp`] then. A journal that is there and whole is used all the same.
    /// With [`Options::read_only`] nothing changes, and the checkpoint is shown in any case: the
    /// lock file is left alone, and others can open the file only when this is closed.
    /// [`Error::Busy`] if it is open elsewhere.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.huon");
    /// let env = huon::Env::options().give_up_journal(true).open(&path)?;
    /// if env.recovery() == huon::Recovery::JournalGivenUp {
    ///     eprintln!("commits after number {} are lost", env.read()?.id());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Recovery::JournalGivenUp`]: crate::Recovery::JournalGivenUp
    pub fn give_up_journal(&mut self, yes: bool) -> &mut Self {
        self.give_up_journal = yes;
        self
    }

    /// Bytes below which a new environment's file never shrinks; it is created with this length.
    pub fn min_bytes(&mut self, bytes: u64) -> &mut Self {
        self.min_bytes = bytes;
        self
    }

    /// Bytes that the file of a new environment grows by; 0, the default, lets the growth follow
    /// the size: it doubles up to 1 MiB, grows by 1 MiB up to 32 MiB, and then by a thirty-second
    /// of its length, at most 64 MiB, and always by less than the tail that is cut off (see
    /// [`shrink_bytes`](Options::shrink_bytes)).
    pub fn grow_bytes(&mut self, bytes: u64) -> &mut Self {
        self.grow_bytes = bytes;
        self
    }

    /// A free tail of at least so many bytes is cut off the file, if it is longer than what the
    /// file was told to grow by; default 8 MiB, 0: never. Applies when the environment is created.
    ///
    /// A sixteenth of the file, at most 256 pages, stays beyond that for the pages that commits
    /// write again and again. The tail is given back by the commits that follow, once no reader
    /// sees it: by the next few if its pages were freed lately, by more if the free pages of the
    /// file are in very many pieces, of which a commit looks at a bounded number.
    pub fn shrink_bytes(&mut self, bytes: u64) -> &mut Self {
        self.shrink_bytes = bytes;
        self
    }

    /// Bytes of changed pages that a write transaction keeps in memory before it writes them out;
    /// default 256 MiB. Larger transactions only cost writes, never correctness.
    pub fn write_buffer_bytes(&mut self, bytes: usize) -> &mut Self {
        self.write_buffer_bytes = bytes;
        self
    }

    /// Permission bits of files that are created; default 0600.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = mode;
        self
    }

    /// Whether a missing file is created (the default) or an error.
    pub fn create(&mut self, yes: bool) -> &mut Self {
        self.create = yes;
        self
    }

    /// Opens for reading only. Readers still use the lock file where it can be written, and make it
    /// where it is missing.
    ///
    /// After a power loss an opening to read replays a journal ([`Options::journal`]), if it may
    /// write the file; else that is [`Error::Journal`].
    ///
    /// Where the lock file can be neither opened nor created, as on a read-only file system or in a
    /// directory without write permission, the file opens if no client has it open for writing. Any
    /// number of such readers share it. While one has it open, no client can open it for writing:
    /// the later one fails with [`Error::Busy`], after two seconds.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.huon");
    /// # huon::Env::open(&path)?.close()?;
    /// let env = huon::Env::options().read_only(true).open(&path)?;
    /// assert!(matches!(env.write(), Err(huon::Error::ReadOnly)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_only(&mut self, yes: bool) -> &mut Self {
        self.read_only = yes;
        self
    }

    /// Refuses to share the file: the open fails with [`Error::Busy`] if the file is open anywhere,
    /// and no other client can open it until this one is closed.
    pub fn exclusive(&mut self, yes: bool) -> &mut Self {
        self.exclusive = yes;
        self
    }

    /// What [`WriteTxn::commit`](crate::WriteTxn::commit) waits for; default durable.
    pub fn durability(&mut self, durability: Durability) -> &mut Self {
        self.durability = durability;
        self
    }

    /// Takes over [`Options::durability`], [`Options::flush_after_bytes`] and
    /// [`Options::flush_after`] from the clients that have the environment open: as the first of
    /// them that may write set them, since it was last closed everywhere. If no client has it open,
    /// these options hold. [`Env::durability`] returns the result.
    ///
    /// There is nothing else to agree on. Page size and geometry are the file's, the platform
    /// decides how clients lock, and each client may commit as it likes: a commit of any durability
    /// is safe beside those of others.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.huon");
    /// use huon::{Durability, Env};
    /// let first = Env::options().durability(Durability::Lazy).open(&path)?;
    /// assert_eq!(Env::open(&path)?.durability(), Durability::Durable);
    /// let second = Env::options().inherit_durability(true).open(&path)?;
    /// assert_eq!(second.durability(), Durability::Lazy);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn inherit_durability(&mut self, yes: bool) -> &mut Self {
        self.inherit_durability = yes;
        self
    }

    /// A lazy commit makes a checkpoint once so many bytes have been written since the last one, by
    /// this client or another. Without this, and without [`Options::flush_after`], lazy commits
    /// make none.
    pub fn flush_after_bytes(&mut self, bytes: u64) -> &mut Self {
        self.flush_bytes = bytes;
        self
    }

    /// A lazy commit makes a checkpoint when a commit has been unflushed for so long, to some
    /// milliseconds. Nothing runs in the background: a program that may fall silent calls
    /// [`Env::flush_if_due`] now and then.
    pub fn flush_after(&mut self, period: Duration) -> &mut Self {
        self.flush_ms = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// When checksums are verified in reading.
    pub fn verify(&mut self, verify: Verify) -> &mut Self {
        self.verify = verify;
        self
    }

    /// Whether the kernel reads ahead: also the pages beside those that are accessed. By default it
    /// does as long as the file is no longer than half of the memory that this process may use.
    ///
    /// It holds for this opening and its clones, and is decided anew when the file's length has
    /// changed. The size of the memory is read once per opening.
    pub fn read_ahead(&mut self, read_ahead: ReadAhead) -> &mut Self {
        self.read_ahead = read_ahead;
        self
    }

    /// How long [`Env::write`] waits for another writer before it fails with [`Error::Busy`];
    /// default 30 seconds.
    pub fn lock_timeout(&mut self, timeout: Duration) -> &mut Self {
        self.lock_timeout = timeout;
        self
    }

    /// Calls `callback` when a write transaction needs pages, no freed page may be reused, and the
    /// file has reached its maximum size, if a reader in any process retains freed pages. Without a
    /// callback parked readers are evicted then, as many as necessary, and live ones never.
    ///
    /// It is asked in the thread that writes, in the middle of a change. It may read, sleep, end
    /// transactions and processes; it may not write to the environment, which is
    /// [`Error::ThreadWrites`] then.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Bytes, Env, SlowReaderAnswer, TableDef, U64};
    /// const T: TableDef<U64, Bytes> = TableDef::new("t");
    /// let env = Env::options()
    ///     .max_bytes(1 << 20)
    ///     .on_slow_reader(|slow| match (slow.reader.parked, slow.retries) {
    ///         (true, _) => SlowReaderAnswer::Evict,
    ///         (false, 0..10) => {
    ///             eprintln!("process {} is {} behind", slow.reader.pid, slow.reader.ids_behind);
    ///             std::thread::sleep(std::time::Duration::from_millis(10));
    ///             SlowReaderAnswer::Retry
    ///         }
    ///         _ => SlowReaderAnswer::GiveUp,
    ///     })
    ///     .open(dir.path().join("a.huon"))?;
    /// let fill = |byte| {
    ///     env.update(|txn| {
    ///         let t = txn.create_table(&T)?;
    ///         (0..200).try_for_each(|n| t.put(txn, n, &[byte; 2000]).map(drop))
    ///     })
    /// };
    /// fill(1)?;
    /// let parked = env.read()?.park()?;
    /// fill(2)?;
    /// fill(3)?; // There is no room for three of them.
    /// assert!(parked.is_evicted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_slow_reader(
        &mut self,
        callback: impl Fn(&SlowReader) -> SlowReaderAnswer + Send + Sync + 'static,
    ) -> &mut Self {
        self.slow_reader = Some(SlowReaderCallback(Arc::new(callback)));
        self
    }

    /// Opens from the meta in slot 0, 1 or 2, whatever the others say: the last resort for a file
    /// that does not open otherwise. (The file begins with three metas, in slots; the words are
    /// those of FORMAT.md.) The first write gives up everything newer than that meta, and only a
    /// check shows whether its snapshot is whole: [`Env::switch_to_meta`] makes that check first.
    ///
    /// With [`Options::read_only`] nothing changes: the lock file is left alone, and others can
    /// open the file only when this is closed. [`Error::Busy`] if it is open elsewhere.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.huon");
    /// # huon::Env::open(&path)?.close()?;
    /// let env = huon::Env::options().read_only(true).meta_slot(0).open(&path)?;
    /// assert_eq!(env.recovery(), huon::Recovery::ByHand);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn meta_slot(&mut self, slot: u8) -> &mut Self {
        self.meta_slot = Some(slot);
        self
    }

    /// Opens or creates the environment at `path`; its lock file lies beside it, with `-lock`
    /// appended.
    ///
    /// # Soundness
    /// Sound as long as no process modifies or truncates the file except through Huon. If you
    /// cannot promise that (a directory that others write to), the result is undefined behaviour or
    /// `SIGBUS`.
    ///
    /// The function is safe all the same, as opening `/proc/self/mem` for writing is: Rust cannot
    /// check what another program does to a file. Huon does its part: locks hold its own users to
    /// the rule, no page that a transaction can reach is written, every offset and length from the
    /// file is checked where it is used, and no reference to the whole map ever exists.
    ///
    /// # Errors
    /// [`Error::NotADatabase`] for a file that is no environment, [`Error::Version`] for one of a
    /// newer format, [`Error::Corrupt`] for a damaged one, [`Error::Busy`] if it cannot be shared,
    /// [`Error::Io`] for everything that the operating system refuses.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Env> {
        self.check()?;
        Env::open_at(path.as_ref(), self)
    }

    /// Opens the data file of a simulated machine as one more client.
    #[cfg(any(test, feature = "simulation"))]
    #[doc(hidden)]
    pub fn open_simulated(&self, disk: &crate::sim::SimDisk) -> Result<Env> {
        self.check()?;
        Env::open_sim(disk, None, false, self)
    }

    /// Opens the data file of a simulated machine as a process that may read its data file and its
    /// lock file and write neither.
    #[cfg(any(test, feature = "simulation"))]
    #[doc(hidden)]
    pub fn open_simulated_to_read(&self, disk: &crate::sim::SimDisk) -> Result<Env> {
        self.check()?;
        Env::open_sim(disk, None, true, self)
    }

    /// The same, with calls that fail as `plan` says.
    #[cfg(any(test, feature = "simulation"))]
    #[doc(hidden)]
    pub fn open_faulty(
        &self,
        disk: &crate::sim::SimDisk,
        plan: &crate::sim::FaultPlan,
    ) -> Result<Env> {
        self.check()?;
        Env::open_sim(disk, Some(plan), false, self)
    }

    /// As [`Options::open_simulated_to_read`], with calls that fail as `plan` says.
    #[cfg(any(test, feature = "simulation"))]
    #[doc(hidden)]
    pub fn open_faulty_to_read(
        &self,
        disk: &crate::sim::SimDisk,
        plan: &crate::sim::FaultPlan,
    ) -> Result<Env> {
        self.check()?;
        Env::open_sim(disk, Some(plan), true, self)
    }

    pub(super) fn check(&self) -> Result<()> {
        let size = self.page_bytes.unwrap_or(PAGE_BYTES_DEFAULT);
        check_page_bytes(size)?;
        if self.meta_slot.is_some_and(|slot| slot > 2) {
            return Err(Error::Invalid("there are meta slots 0, 1 and 2"));
        }
        if self.journal_bytes != 0
            && !(JOURNAL_BYTES_MIN..=JOURNAL_BYTES_MAX).contains(&self.journal_bytes)
        {
            return Err(Error::Invalid(
                "a journal has 65536 bytes (64 KiB) to 68719476736 bytes (64 GiB); 0 is none, and \
                 16777216 (16 MiB) serve most programs",
            ));
        }
        if self.max_bytes.is_some_and(|max| max < self.min_bytes) {
            return Err(Error::Invalid("the maximum size lies below the minimum size"));
        }
        Ok(())
    }

    /// For a switch to the meta in `slot`.
    pub(crate) fn switching(&mut self, slot: u8) -> &mut Self {
        self.apart = true;
        self.create(false).exclusive(true).meta_slot(slot)
    }

    /// Whether this opening must leave no trace in the lock file: the caller only looks at the
    /// snapshot of a meta of its choice, or without a journal, or may reject that choice, and the
    /// next client must not start from there.
    pub(crate) fn stays_apart(&self) -> bool {
        self.apart || self.read_only && (self.meta_slot.is_some() || self.give_up_journal)
    }

    /// What to do if the journal is not the one that goes with the file (J5.1, J5.4).
    pub(crate) fn journal_missing(&self) -> Missing {
        match (self.give_up_journal, self.read_only) {
            (false, _) => Missing::Refused,
            (true, false) => Missing::GivenUp,
            (true, true) => Missing::NotLookedAt,
        }
    }

    /// The options that can be changed while the environment is open: as set here, except those
    /// that the client has taken over from others.
    pub(crate) fn settings(&self, core: &Core) -> Settings {
        Settings {
            durability: core.durability(),
            flush_after_bytes: core.flush_bytes.load(Ordering::Relaxed),
            flush_after: Duration::from_millis(core.flush_ms.load(Ordering::Relaxed)),
            write_buffer_bytes: self.write_buffer_bytes,
            verify: self.verify,
            lock_timeout: self.lock_timeout,
            slow_readers_before_growing: self.slow_before_growing,
        }
    }

    pub(crate) fn max_bytes_or_default(&self) -> u64 {
        self.max_bytes.unwrap_or(MAX_BYTES_DEFAULT)
    }

    /// Bytes of address space to reserve.
    pub(crate) fn reservation(&self) -> u64 {
        let max_bytes = self.max_bytes_or_default();
        if self.map_bytes > max_bytes && os::has_plenty(self.map_bytes) {
            self.map_bytes
        } else {
            max_bytes
        }
    }

    /// The geometry of a new environment.
    pub(crate) fn geometry(&self, page_bytes: usize) -> page::PageGeometry {
        let wanted = Geometry {
            min_bytes: self.min_bytes,
            max_bytes: self.max_bytes_or_default(),
            grow_bytes: self.grow_bytes,
            shrink_bytes: self.shrink_bytes,
        };
        wanted.in_pages(page_bytes)
    }
}

//! The one error type: what went wrong, where, and what it means for the caller.
//!
//! "Not found" is never an error. Damage in a file is [`Error::Corrupt`], an error of the operating
//! system is [`Error::Io`]; a broken internal invariant is an assertion, not an error.
//!
//! E1. `Display` says all of it, the cause included, since many programs print nothing else.
//! E2. `source` gives only what `Display` has not said: the causes of that cause. So a program that
//!     prints the whole chain prints each cause once.

use std::fmt;

/// The result of every fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
///
/// Each variant has a stable number, [`Error::code`].
///
/// The text is whole: it includes the text of the operating system or codec. `source` goes on after
/// that, so that a chain of causes never repeats one. A program that needs the cause itself finds
/// it in the variant, as [`IoError::source`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Env, Error};
/// let path = dir.path().join("notes.txt");
/// std::fs::write(&path, "not a database")?;
/// match Env::open(&path) {
///     Err(Error::NotADatabase(what)) => println!("{}: {what}", path.display()),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A key is longer than the page size allows. Lengths in bytes.
    KeyTooLong {
        /// Length of the key that was given.
        bytes: u32,
        /// The longest key of this environment.
        max: u32,
    },
    /// A value is longer than `0x7FF0_0000` bytes.
    ValueTooLong,
    /// A key has a length that the order of its table does not allow (native integers: 4 or 8
    /// bytes).
    KeyLength,
    /// An append, or the input of a bulk build, was not in the order of the table.
    KeyOutOfOrder,
    /// The named table does not exist in this snapshot.
    TableNotFound,
    /// A table of that name has another kind or order: one value a key or many, other lengths of
    /// values, another order of keys or values.
    TableKind,
    /// A table of that name exists already.
    TableExists,
    /// A codec could not read stored bytes.
    Decode(Box<dyn std::error::Error + Send + Sync>),
    /// The environment, or the file system under it, cannot be written.
    ReadOnly,
    /// An option or argument makes no sense; the text says which and why.
    Invalid(&'static str),
    /// The file has reached the maximum size of its geometry; see [`FullMap`] for the readers that
    /// retain pages.
    MapFull(Box<FullMap>),
    /// An earlier failure left this transaction unusable; drop it, nothing of it was committed.
    TxnBroken,
    /// A lock was not free in time; the text names its holder.
    Busy(Box<str>),
    /// The file is not a Huon environment; the text says what was found.
    NotADatabase(Box<str>),
    /// The file was written by a newer format, or needs a feature that this version lacks.
    Version(Box<str>),
    /// The environment has another page size than the caller insists on.
    PageSize {
        /// Page size of the file, in bytes.
        found: u32,
        /// Page size that the caller asked for, in bytes.
        wanted: u32,
    },
    /// The newest commits are in the file's journal, and that is not the one that goes with it; the
    /// text says which file is wanted.
    Journal(Box<str>),
    /// Changes do not follow the snapshot of the file that they were to be written to: it is at
    /// another one, or was written on its own; the text names both.
    Diverged(Box<str>),
    /// A flush failed earlier: what reached the disk is unknown. Close it everywhere and open
    /// again.
    Poisoned,
    /// The transaction, cursor or ticket is of the process that this one was forked from. Or the
    /// environment is, and its path does not lead to the same files any more: open it anew. One in
    /// memory has no path, and is its parent's alone.
    Forked,
    /// The operating system returned an error.
    Io(Box<IoError>),
    /// The file is damaged.
    Corrupt(Box<Corruption>),
    /// A value is longer than those of a multimap may be, which are as long as keys at most.
    /// Lengths in bytes.
    SortedValueTooLong {
        /// Length of the value that was given.
        bytes: u32,
        /// The longest value of a multimap of this environment.
        max: u32,
    },
    /// All values of this multimap have one length, and the given one has another.
    ValueLength,
    /// A key of a multimap has several values, and which one is meant was not said.
    ManyValues,
    /// There is not enough memory. Allocations of less than 4096 bytes end the process instead.
    OutOfMemory,
    /// The file is, or has to become, longer than the address space that this process reserved when
    /// it opened it: open it again, with [`Options::max_bytes`](crate::Options::max_bytes) of at
    /// least so much. Processes that reserved more are not affected.
    MapTooSmall {
        /// Bytes that have to be in the map.
        needed_bytes: u64,
        /// Bytes of address space that are reserved.
        map_bytes: u64,
    },
    /// A writer needed the pages that a parked read transaction retained, and evicted it; see
    /// [`ReadTxn::park`](crate::ReadTxn::park).
    Evicted,
    /// The table is ordered by a comparator of another name; see [`Order::custom`].
    ///
    /// [`Order::custom`]: crate::Order::custom
    WrongOrder(Box<WrongOrder>),
    /// This thread has the write transaction of the environment already, and would wait for itself:
    /// end that one first, or nest in it ([`WriteTxn::nested`](crate::WriteTxn::nested)). See
    /// [`Env::write`](crate::Env::write) for transactions that move to other threads.
    ThreadWrites,
    /// This process has as many environments open as it can have.
    EnvironmentsFull {
        /// How many that are.
        max: u32,
    },
    /// The name is not free for this: an ordinary record of the main table has it where a table was
    /// wanted, or a table where a record was to be put or deleted.
    NameTaken,
    /// A comparator orders the table that this handle does not have: it can only be read from end
    /// to end. Open it with the comparator ([`Order::custom`](crate::Order::custom)).
    OrderUnknown,
    /// Keys that begin alike do not lie together in this table, since their order is not that of
    /// byte strings.
    PrefixOrder,
    /// The main table holds the records of named tables, which neither a clear nor the deletion of
    /// a range may sweep away: drop those first.
    TablesInside,
    /// Keys or values of the table are of another type; see [`Codec::NAME`](crate::Codec::NAME).
    TableType(Box<TableTypes>),
    /// A codec could not write a key or a value as bytes.
    Encode(Box<dyn std::error::Error + Send + Sync>),
}

/// Which comparator orders a table, and which one a caller gave: see [`Error::WrongOrder`].
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// use huon::{Error, Order, Str, TableDef, Unit};
/// let table = |order| TableDef::<Str, Unit>::new("t").ordered(order);
/// let by_length = Order::custom("by-length", |a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
/// env.update(|txn| txn.create_table(&table(by_length)).map(drop))?;
/// let backwards = Order::custom("backwards", |a, b| b.cmp(a));
/// let Err(Error::WrongOrder(wrong)) = env.read()?.open_table(&table(backwards)) else { panic!() };
/// assert_eq!((&*wrong.stored, &*wrong.wanted), ("by-length", "backwards"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrongOrder {
    /// The name of the comparator that the table was created with.
    pub stored: Box<str>,
    /// The name of the comparator that the caller gave.
    pub wanted: Box<str>,
}

/// Which types the keys and values of a table have, and which ones a caller gave: see
/// [`Error::TableType`].
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// use huon::{Error, Str, TableDef, U64};
/// env.update(|txn| txn.create_table(&TableDef::<Str, U64>::new("ages")).map(drop))?;
/// let wrong = env.read()?.open_table(&TableDef::<Str, Str>::new("ages"));
/// let Err(Error::TableType(types)) = wrong else { panic!() };
/// assert_eq!((&*types.stored, &*types.wanted), ("<str, u64>", "<str, str>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableTypes {
    /// The types that the table was created with.
    pub stored: Box<str>,
    /// The types that the caller gave.
    pub wanted: Box<str>,
}

const EVICTED: &str = "a writer needed the pages that the parked read transaction kept";
const NAME_TAKEN: &str =
    "the name is taken in the main table: a table and a record cannot both have it";
const ORDER_UNKNOWN: &str = "a comparator orders the table that was not given when it was opened";
const PREFIX_ORDER: &str = "keys that begin alike do not lie together in this table, as its order \
                            is not that of bytes";
const TABLES_INSIDE: &str = "the main table holds named tables; drop those first";
const ALL_OPEN: &str = "in this process, as many as it can have";
const THREAD_WRITES: &str = "this thread has the write transaction already and would wait for \
                             itself; end it first, or nest in it";

/// Why there is no room: see [`Error::MapFull`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Bytes, Env, Error, TableDef, U64};
/// const T: TableDef<U64, Bytes> = TableDef::new("t");
/// let env = Env::options().max_bytes(1 << 20).open(dir.path().join("a.huon"))?;
/// let full = env.update(|txn| {
///     let t = txn.create_table(&T)?;
///     (0..1000).try_for_each(|n| t.put(txn, n, &[0; 2000]).map(drop))
/// });
/// let Err(Error::MapFull(full)) = full else { panic!("it does not fit") };
/// assert_eq!(full.limit_bytes, 1 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FullMap {
    /// How long the file may become, in bytes.
    pub limit_bytes: u64,
    /// How long it would have to be, in bytes; a few pages are kept for deletes and commits.
    pub needed_bytes: u64,
    /// Read transactions that retain free pages, which cannot be used again; those first without
    /// which most would be free. Empty if that is not known: where the limit was to be lowered.
    pub readers: Vec<RetainingReader>,
    /// Bytes that only the durable snapshot retains: [`Env::sync`](crate::Env::sync) frees them.
    pub unflushed_bytes: u64,
    /// Bytes that only named snapshots retain, each alone:
    /// [`WriteTxn::drop_snapshot`](crate::WriteTxn::drop_snapshot) frees them.
    pub named_bytes: u64,
}

/// A read transaction that retains free pages: see [`FullMap`].
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetainingReader {
    /// Number of its client in the lock file.
    pub client: u32,
    /// Process id as the client saw it; for people only, since containers count on their own.
    pub pid: u32,
    /// Thread id as the client saw it when the transaction began; for people only.
    pub thread: u32,
    /// The snapshot it reads.
    pub txnid: u64,
    /// How many ids were used since: one for each commit, more for one that spilled.
    pub ids_behind: u64,
    /// Bytes of free pages that it sees. Others may see them, too.
    pub retained_bytes: u64,
    /// Bytes that would be free if its snapshot were not read.
    pub freed_bytes: u64,
    /// It is parked, and can be evicted: see [`ReadTxn::park`](crate::ReadTxn::park).
    pub parked: bool,
    /// It may not write the lock file. The kernel does not tell which process it is, or how many
    /// there are: client, process and thread mean nothing then.
    pub guest: bool,
}

/// A failed system operation.
#[derive(Debug)]
pub struct IoError {
    /// The operation that failed, for example `"flush"`.
    pub operation: &'static str,
    /// Where: a path, or an offset in the data file; empty where neither applies.
    pub place: String,
    /// The error of the operating system.
    pub source: std::io::Error,
}

/// Damage found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corruption {
    /// The page it was found on; `None` if the damage is not on a page.
    pub pgno: Option<u32>,
    /// What is wrong there.
    pub reason: &'static str,
}

impl Error {
    /// A system error of `operation` at `place`.
    pub(crate) fn io(
        operation: &'static str,
        place: impl Into<String>,
        source: std::io::Error,
    ) -> Self {
        Error::Io(Box::new(IoError { operation, place: place.into(), source }))
    }

    /// Damage on page `pgno`.
    #[cold]
    pub(crate) fn corrupt(pgno: u32, reason: &'static str) -> Self {
        Error::Corrupt(Box::new(Corruption { pgno: Some(pgno), reason }))
    }

    /// Damage that is not on a page.
    #[cold]
    pub(crate) fn corrupt_file(reason: &'static str) -> Self {
        Error::Corrupt(Box::new(Corruption { pgno: None, reason }))
    }

    /// The table is ordered by the comparator `stored`.
    #[cold]
    pub(crate) fn wrong_order(stored: &str, wanted: &str) -> Self {
        let (stored, wanted) = (stored.into(), wanted.into());
        Error::WrongOrder(Box::new(WrongOrder { stored, wanted }))
    }

    /// The table has other types.
    #[cold]
    pub(crate) fn table_type(stored: &str, wanted: &str) -> Self {
        let (stored, wanted) = (stored.into(), wanted.into());
        Error::TableType(Box::new(TableTypes { stored, wanted }))
    }

    /// No room for so many bytes in a file that may not have more than `limit_bytes`.
    #[cold]
    pub(crate) fn map_full(limit_bytes: u64, needed_bytes: u64) -> Self {
        Error::MapFull(Box::new(FullMap {
            limit_bytes,
            needed_bytes,
            readers: Vec::new(),
            unflushed_bytes: 0,
            named_bytes: 0,
        }))
    }

    /// Whether it says that the file is damaged: as against that something failed, which says
    /// nothing about the file.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Error::Corrupt(_))
    }

    /// The highest number of a kind of error; there is one of each from 1 on.
    #[cfg(test)]
    const CODES: i32 = 37;

    /// The stable number of this kind of error; never reused for another.
    ///
    /// ```
    /// assert_eq!(huon::Error::ValueTooLong.code(), 2);
    /// ```
    pub fn code(&self) -> i32 {
        match self {
            Error::KeyTooLong { .. } => 1,
            Error::ValueTooLong => 2,
            Error::KeyLength => 3,
            Error::KeyOutOfOrder => 4,
            Error::TableNotFound => 5,
            Error::TableKind => 6,
            Error::TableExists => 7,
            Error::Decode(_) => 8,
            Error::ReadOnly => 9,
            Error::Invalid(_) => 10,
            Error::MapFull(_) => 11,
            Error::TxnBroken => 12,
            Error::Busy(_) => 13,
            Error::NotADatabase(_) => 14,
            Error::Version(_) => 15,
            Error::PageSize { .. } => 16,
            Error::Poisoned => 17,
            Error::Forked => 18,
            Error::Io(_) => 19,
            Error::Corrupt(_) => 20,
            Error::EnvironmentsFull { .. } => 21,
            Error::OutOfMemory => 22,
            Error::SortedValueTooLong { .. } => 23,
            Error::ValueLength => 24,
            Error::ManyValues => 25,
            Error::MapTooSmall { .. } => 26,
            Error::Evicted => 27,
            Error::WrongOrder(_) => 28,
            Error::ThreadWrites => 29,
            Error::NameTaken => 30,
            Error::OrderUnknown => 31,
            Error::PrefixOrder => 32,
            Error::TablesInside => 33,
            Error::Encode(_) => 34,
            Error::TableType(_) => 35,
            Error::Journal(_) => 36,
            Error::Diverged(_) => 37,
        }
    }
}

const FORKED: &str = "it was open before fork, and is the parent's: begin anew in this process; or \
                      the files of the environment were renamed, deleted or replaced since";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::KeyTooLong { bytes, max } => {
                write!(f, "key of {bytes} bytes is too long: this page size allows {max}")
            }
            Error::ValueTooLong => {
                write!(f, "value is too long: the limit is {} bytes", 0x7FF0_0000)
            }
            Error::KeyLength => write!(
                f,
                "key length does not fit the table: native integer keys have 4 or 8 bytes"
            ),
            Error::KeyOutOfOrder => {
                write!(f, "key is not above the last key of the table, which append needs")
            }
            Error::TableNotFound | Error::TableKind | Error::TableExists | Error::NameTaken => {
                f.write_str(self.of_tables())
            }
            Error::Decode(e) => write!(f, "stored bytes do not decode: {e}"),
            Error::ReadOnly => write!(f, "the environment is read-only"),
            Error::Invalid(what) => write!(f, "{what}"),
            Error::MapFull(full) => write!(f, "{full}"),
            Error::TxnBroken => write!(
                f,
                "an earlier failure made this transaction unusable; drop it and begin again"
            ),
            Error::Busy(text) => write!(f, "busy: {text}"),
            Error::NotADatabase(what) => write!(f, "not a Huon environment: {what}"),
            Error::Version(what) => write!(f, "format not supported: {what}"),
            Error::PageSize { found, wanted } => {
                write!(f, "the file has pages of {found} bytes, and {wanted} were asked for")
            }
            Error::Journal(what) | Error::Diverged(what) => write!(f, "{what}"),
            Error::Poisoned => write!(
                f,
                "a flush failed and what reached the disk is unknown; close the file in all \
                 processes and open it again"
            ),
            Error::Forked => write!(f, "{FORKED}"),
            Error::Io(e) if e.place.is_empty() => write!(f, "{} failed: {}", e.operation, e.source),
            Error::Io(e) => write!(f, "{} failed at {}: {}", e.operation, e.place, e.source),
            Error::Corrupt(c) => match c.pgno {
                Some(pgno) => write!(f, "damaged file: page {pgno}: {}", c.reason),
                None => write!(f, "damaged file: {}", c.reason),
            },
            Error::SortedValueTooLong { bytes, max } => write!(
                f,
                "value of {bytes} bytes is too long for a multimap: this page size allows {max}"
            ),
            Error::ValueLength => {
                write!(f, "value length does not fit the table: all its values have one length")
            }
            Error::ManyValues => write!(f, "the key has several values; say which one is meant"),
            Error::OutOfMemory => write!(f, "there is not enough memory"),
            Error::MapTooSmall { needed_bytes, map_bytes } => write!(
                f,
                "the file needs {needed_bytes} bytes of address space and {map_bytes} are \
                 reserved; open it again with a larger reservation"
            ),
            Error::Evicted => f.write_str(EVICTED),
            Error::WrongOrder(wrong) => write!(f, "{wrong}"),
            Error::ThreadWrites => f.write_str(THREAD_WRITES),
            Error::EnvironmentsFull { max } => write!(f, "{max} environments are open {ALL_OPEN}"),
            Error::OrderUnknown | Error::PrefixOrder | Error::TablesInside => {
                f.write_str(self.of_tables())
            }
            Error::TableType(types) => write!(f, "{types}"),
            Error::Encode(e) => write!(f, "it cannot be stored: {e}"),
        }
    }
}

impl Error {
    /// The text of an error about a table that has no details.
    fn of_tables(&self) -> &'static str {
        match self {
            Error::TableNotFound => "no table of that name",
            Error::TableKind => {
                "the table of that name has another kind or order, or other lengths"
            }
            Error::TableExists => "a table of that name exists already",
            Error::NameTaken => NAME_TAKEN,
            Error::OrderUnknown => ORDER_UNKNOWN,
            Error::PrefixOrder => PREFIX_ORDER,
            _ => TABLES_INSIDE,
        }
    }
}

impl fmt::Display for WrongOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrongOrder { stored, wanted } = self;
        write!(f, "the table is ordered by the comparator `{stored}`, not by `{wanted}`")
    }
}

impl fmt::Display for TableTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the table is of {}, and was opened as one of {}", self.stored, self.wanted)
    }
}

impl fmt::Display for FullMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FullMap { limit_bytes, needed_bytes, readers, unflushed_bytes, named_bytes } = self;
        write!(
            f,
            "the file would need {needed_bytes} bytes and may have {limit_bytes}, its maximum \
             size; raise the limit or delete data"
        )?;
        if *unflushed_bytes > 0 {
            write!(f, "; a sync would free {unflushed_bytes} bytes")?;
        }
        if *named_bytes > 0 {
            write!(f, "; named snapshots retain {named_bytes} bytes")?;
        }
        for reader in readers.iter().take(3) {
            let RetainingReader { client, pid, txnid, ids_behind, freed_bytes, guest, .. } = reader;
            if *guest {
                write!(f, "; a reader that may not write the lock file")?;
            } else {
                write!(f, "; process {pid} (client {client})")?;
            }
            write!(
                f,
                " retains {freed_bytes} bytes by reading snapshot {txnid}, which is {ids_behind} \
                 ids behind"
            )?;
        }
        match readers.len() {
            ..=3 => Ok(()),
            count => write!(f, "; so do {} others", count - 3),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // E2: `Display` has said these two themselves.
            Error::Io(e) => e.source.source(),
            Error::Decode(e) | Error::Encode(e) => e.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;

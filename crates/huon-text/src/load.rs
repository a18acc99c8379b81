//! Load: tables from text that LMDB's, libmdbx's and Berkeley DB's tools write.
//!
//! L1. Whatever the text says, memory is bounded by the longest key and value, and by what a
//!     transaction buffers.
//! L2. Everything before a line that is wrong is loaded and committed, and nothing behind it.
//! L3. Loading the same text again changes nothing.
//! L4. No transaction is kept open while the input has nothing, or for longer than a second while
//!     it is slow.

use std::io::BufRead;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use huon::limits::{VALUE_BYTES_MAX, key_bytes_max};
use huon::{
    Bytes, Durability, Env, MultiDef, Order, Progress, RawMulti, RawTable, TableDef, TableStat,
    WriteTxn,
};

use crate::error::{Error, Result};
use crate::header::{Header, Wanted};
use crate::lines::{Data, OnWait, TextReader};
use crate::meter::{Meter, OnProgress};

/// A transaction is committed after so much time, or so many bytes.
const COMMIT_EVERY: Duration = Duration::from_millis(500);
const COMMIT_BYTES: u64 = 64 << 20;

/// Options of a load; see [`load()`].
#[derive(Default)]
#[must_use = "options do nothing until a load takes them"]
pub struct LoadOptions<'a> {
    table: Option<Vec<u8>>,
    order: Option<Order>,
    comparators: Vec<Order>,
    keep: bool,
    durability: Durability,
    progress: Option<OnProgress<'a>>,
}

impl<'a> LoadOptions<'a> {
    /// Loads every section into the table that it names, durably.
    pub fn new() -> LoadOptions<'a> {
        LoadOptions::default()
    }

    /// Loads all sections into this table, whatever they name; the empty name is the main table.
    pub fn table(mut self, name: impl AsRef<[u8]>) -> LoadOptions<'a> {
        self.table = Some(name.as_ref().to_vec());
        self
    }

    /// Creates tables with this order, whatever their sections say.
    pub fn order(mut self, order: Order) -> LoadOptions<'a> {
        self.order = Some(order);
        self
    }

    /// A comparator of the application's ([`Order::custom`]), for the tables and values whose
    /// sections, or which in the environment, name it. May be said for several.
    pub fn comparator(mut self, comparator: Order) -> LoadOptions<'a> {
        self.comparators.push(comparator);
        self
    }

    /// Keeps the values of keys that exist already, rather than replacing them.
    pub fn keep_existing(mut self, yes: bool) -> LoadOptions<'a> {
        self.keep = yes;
        self
    }

    /// What each commit waits for.
    pub fn durability(mut self, durability: Durability) -> LoadOptions<'a> {
        self.durability = durability;
        self
    }

    /// Calls `report` about once a megabyte; if it breaks, the load commits what it has and ends.
    pub fn progress(
        mut self,
        report: &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + 'a),
    ) -> LoadOptions<'a> {
        self.progress = Some(report);
        self
    }
}

impl std::fmt::Debug for LoadOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadOptions")
            .field("table", &self.table.as_ref().map(|name| name.escape_ascii().to_string()))
            .field("order", &self.order)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

/// What a load came to.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// Sections read.
    pub tables: u64,
    /// Records read and stored.
    pub records: u64,
    /// Commits made.
    pub commits: u64,
    /// Lines read.
    pub lines: u64,
    /// Header lines that mean nothing here, each word once.
    pub ignored: Vec<String>,
    /// The caller stopped it: what was read until then is committed.
    pub stopped: bool,
}

/// Loads text in the format of `mdb_dump`, as [`dump()`](crate::dump()) writes it too.
///
/// Tables are created with the order that the text says; one that exists keeps its own. Records
/// replace those with the same key; values of a multimap are added to those that its key has. It
/// commits at least every second while there is input, so a load that was broken off is simply
/// repeated.
///
/// Input may stall. An `input` that answers [`TimedOut`](std::io::ErrorKind::TimedOut) or
/// [`WouldBlock`](std::io::ErrorKind::WouldBlock) has nothing for now: what was read is committed,
/// other writers may go ahead, and the input is asked again until it has more, ends, or fails
/// otherwise. One that waits for as long as it takes, as standard input and sockets do by default,
/// keeps the transaction open meanwhile: give it a read timeout of half a second.
///
/// # Errors
/// [`Error::Input`] names the line that is wrong, or too long. Everything before that line is
/// committed.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::open(dir.path().join("a.huon"))?;
/// let head = "VERSION=3\nformat=print\ndatabase=ages\ntype=btree\nHEADER=END\n";
/// let text = format!("{head} ada\n 36\nDATA=END\n");
/// let report = huon_text::load(&env, &mut text.as_bytes(), huon_text::LoadOptions::new())?;
/// assert_eq!((report.tables, report.records), (1, 1));
/// let ages = huon::TableDef::<huon::Str, huon::Str>::new("ages");
/// let txn = env.read()?;
/// assert_eq!(txn.open_table(&ages)?.unwrap().get(&txn, "ada")?, Some("36"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(env: &Env, input: &mut dyn BufRead, options: LoadOptions<'_>) -> Result<LoadReport> {
    let LoadOptions { table, order, comparators, keep, durability, progress } = options;
    let (txn, began) = (None, Instant::now());
    let mut load = Load {
        text: TextReader::new(input),
        table,
        order,
        comparators,
        keep,
        key_bytes_max: key_bytes_max(env.info()?.page_bytes as usize)?,
        batch: Batch { env, durability, txn, began, bytes: 0, commits: 0 },
        meter: Meter::new(progress),
        report: LoadReport::default(),
    };
    match load.sections() {
        Ok(flow) => load.report.stopped = flow.is_break(),
        Err(error @ Error::Input(_)) => {
            load.batch.commit()?;
            return Err(error);
        }
        Err(error) => return Err(error),
    }
    load.batch.commit()?;
    Ok(LoadReport { lines: load.text.line, commits: load.batch.commits, ..load.report })
}

/// What is stored and not committed yet.
struct Batch<'e> {
    env: &'e Env,
    durability: Durability,
    txn: Option<WriteTxn>,
    began: Instant,
    /// Of text.
    bytes: u64,
    commits: u64,
}

impl Batch<'_> {
    fn txn(&mut self) -> Result<&mut WriteTxn> {
        if self.txn.is_none() {
            self.txn = Some(self.env.write()?);
            (self.began, self.bytes) = (Instant::now(), 0);
        }
        Ok(self.txn.as_mut().expect("it was just begun"))
    }

    fn commit(&mut self) -> Result<()> {
        if let Some(txn) = self.txn.take() {
            txn.commit_with(self.durability)?;
            self.commits += 1;
        }
        Ok(())
    }

    /// Commits when it is time.
    fn commit_if_due(&mut self) -> Result<()> {
        if self.bytes >= COMMIT_BYTES || self.began.elapsed() >= COMMIT_EVERY {
            return self.commit();
        }
        Ok(())
    }
}

/// L4.
impl OnWait for Batch<'_> {
    fn idle(&mut self) -> Result<()> {
        self.commit()
    }

    fn slow(&mut self) -> Result<()> {
        self.commit_if_due()
    }
}

/// A load under way.
struct Load<'e, 'i, 'a> {
    text: TextReader<'i>,
    table: Option<Vec<u8>>,
    order: Option<Order>,
    comparators: Vec<Order>,
    keep: bool,
    key_bytes_max: usize,
    batch: Batch<'e>,
    meter: Meter<'a>,
    report: LoadReport,
}

impl Load<'_, '_, '_> {
    /// Reads to the end, or until the caller wants no more.
    fn sections(&mut self) -> Result<ControlFlow<()>> {
        while let Some(header) =
            Header::read(&mut self.text, &mut self.batch, &mut self.report.ignored)?
        {
            if self.section(&header)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.report.tables += 1;
        }
        if self.report.tables == 0 {
            return Err(self.text.error("the input is empty"));
        }
        Ok(self.meter.tell())
    }

    fn section(&mut self, header: &Header) -> Result<ControlFlow<()>> {
        let (print, key_max) = (header.print, self.key_bytes_max);
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut table: Option<Target> = None;
        let value_max = if header.many { key_max } else { VALUE_BYTES_MAX };
        // Records in order are appended, which fills pages wholly, until one is not.
        let mut rising = !self.keep;
        loop {
            let before = self.text.bytes;
            let next = self.text.data(&mut self.batch, print, key_max, &mut key)?;
            if next == Data::End {
                break;
            }
            let next = self.text.data(&mut self.batch, print, value_max, &mut value)?;
            if next == Data::End {
                return Err(self.text.error("a key without its value"));
            }
            let table = match table {
                Some(table) => table,
                None => *table.insert(self.open(header, Some((key.len(), value.len())))?),
            };
            let keep = self.keep;
            let txn = self.batch.txn()?;
            let mut stored = table.store(txn, &key, &value, rising, keep);
            if matches!(stored, Err(huon::Error::KeyOutOfOrder)) {
                rising = false;
                stored = table.store(txn, &key, &value, false, keep);
            }
            stored.map_err(|error| self.refused(error))?;
            self.report.records += 1;
            self.meter.now.records += 1;
            if self.done(self.text.bytes - before)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let table = match table {
            Some(table) => table,
            None => self.open(header, None)?,
        };
        let txn = self.batch.txn()?;
        if let Some(markers) = header.markers {
            txn.set_markers(markers)?;
        }
        table.raise_sequence(txn, header.sequence)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Counts, and commits when it is time.
    fn done(&mut self, bytes: u64) -> Result<ControlFlow<()>> {
        self.batch.bytes += bytes;
        self.batch.commit_if_due()?;
        Ok(self.meter.advance(bytes))
    }

    /// What a table refuses is the input's fault, and the line says where.
    fn refused(&self, error: huon::Error) -> Error {
        use huon::Error as E;
        match error {
            E::KeyTooLong { .. }
            | E::ValueTooLong
            | E::KeyLength
            | E::SortedValueTooLong { .. }
            | E::ValueLength
            | E::TableKind
            | E::NameTaken
            | E::OrderUnknown
            | E::TablesInside
            | E::WrongOrder(_)
            | E::TableType(_)
            | E::TableExists => self.text.error(error.to_string()),
            error => error.into(),
        }
    }

    /// The table of a section: the one that exists, or a new one. `lengths` are those of its first
    /// key and value.
    fn open(&mut self, header: &Header, lengths: Option<(usize, usize)>) -> Result<Target> {
        let name = self.table.as_ref().unwrap_or(&header.name).clone();
        if name.is_empty() {
            return self.open_main(header);
        }
        let stat = self.batch.txn()?.table_stat(&name);
        let stat = stat.map_err(|error| self.refused(error))?;
        let order = self.key_order(header, lengths.map(|(key, _)| key), stat.as_ref())?;
        let name_of = |name: &Option<String>| name.clone().unwrap_or_default();
        let (key, value) = (name_of(&header.key_type), name_of(&header.value_type));
        let created = if header.many {
            let def = MultiDef::named(name).ordered(order).type_names(&key, &value);
            let def = self.with_values(def, header, lengths.map(|(_, value)| value), stat)?;
            self.batch.txn()?.create_table(&def).map(Target::Multi)
        } else {
            let def = TableDef::named(name).ordered(order).type_names(&key, &value);
            self.batch.txn()?.create_table(&def).map(Target::Plain)
        };
        created.map_err(|error| self.refused(error))
    }

    fn open_main(&mut self, header: &Header) -> Result<Target> {
        if header.many {
            return Err(self.text.error("the main table has one value a key; name another"));
        }
        if !matches!(self.key_order(header, None, None)?, Order::Bytes) {
            return Err(self.text.error("the main table has another order; name a table for it"));
        }
        Ok(self.batch.txn()?.create_table(&TableDef::main()).map(Target::Plain)?)
    }

    /// How the keys of a table compare, which has this `stat` if it exists.
    fn key_order(
        &self,
        header: &Header,
        bytes: Option<usize>,
        stat: Option<&TableStat>,
    ) -> Result<Order> {
        match (&self.order, stat) {
            (Some(order @ Order::Custom(_)), _) => Ok(order.clone()),
            (_, Some(stat)) => self.stored(stat.order, stat.comparator.as_deref()),
            (Some(order), None) => Ok(order.clone()),
            (None, None) => self.wanted(header.wanted, bytes, header.comparator.as_deref()),
        }
    }

    /// The multimap with its order and lengths of values.
    fn with_values(
        &self,
        def: RawMultiDef,
        header: &Header,
        bytes: Option<usize>,
        stat: Option<TableStat>,
    ) -> Result<RawMultiDef> {
        if let Some((stat, order)) = stat.as_ref().and_then(|stat| Some((stat, stat.values?))) {
            let order = self.stored(order, stat.value_comparator.as_deref())?;
            // First the lengths as they are, then what a comparator says.
            return Ok(def.values_ordered(Order::Stored).values_ordered(order));
        }
        let order = self.wanted(header.values, bytes, header.value_comparator.as_deref())?;
        let def = def.values_ordered(order);
        Ok(if header.equal { def.values_of_bytes(0) } else { def })
    }

    /// The order that a section asks for.
    fn wanted(
        &self,
        wanted: Wanted,
        bytes: Option<usize>,
        comparator: Option<&str>,
    ) -> Result<Order> {
        match wanted {
            Wanted::Order(order) => Ok(order.of()),
            Wanted::Integers => match bytes {
                Some(4) => Ok(Order::NativeU32),
                Some(8) | None => Ok(Order::NativeU64),
                Some(_) => Err(self.text.error("integers have 4 or 8 bytes")),
            },
            Wanted::Custom => self.comparator(comparator),
        }
    }

    /// The order of a table that exists.
    fn stored(&self, order: &str, comparator: Option<&str>) -> Result<Order> {
        if order == "custom" { self.comparator(comparator) } else { Ok(Order::Stored) }
    }

    fn comparator(&self, name: Option<&str>) -> Result<Order> {
        let has_name = |order: &&Order| match order {
            Order::Custom(comparator) => name.is_some() && comparator.name() == name,
            _ => false,
        };
        let found = self.comparators.iter().find(has_name).cloned();
        found.ok_or_else(|| {
            let own = "the table has an order of its own";
            self.text.error(match name {
                Some(name) => format!("{own}, \"{name}\"; load it with that, or with another one"),
                None => format!("{own}; load it with that order, or with another one"),
            })
        })
    }
}

/// A multimap of any bytes.
type RawMultiDef = MultiDef<Bytes, Bytes>;

/// The table that a section goes to.
#[derive(Clone, Copy)]
enum Target {
    Plain(RawTable),
    Multi(RawMulti),
}

impl Target {
    /// Moves the table's counter on to what the text says; never back.
    fn raise_sequence(self, txn: &mut WriteTxn, wanted: u64) -> huon::Result<()> {
        let now = match self {
            Target::Plain(table) => table.sequence(txn)?,
            Target::Multi(table) => table.sequence(txn)?,
        };
        match (wanted.saturating_sub(now), self) {
            (0, _) => Ok(()),
            (more, Target::Plain(table)) => table.take_sequence(txn, more).map(drop),
            (more, Target::Multi(table)) => table.take_sequence(txn, more).map(drop),
        }
    }

    /// Stores a record: at the end if records are `rising`, and not in the place of another where
    /// those are to be kept.
    fn store(
        self,
        txn: &mut WriteTxn,
        key: &[u8],
        value: &[u8],
        rising: bool,
        keep: bool,
    ) -> huon::Result<()> {
        match (self, rising, keep) {
            (Target::Plain(table), true, _) => table.append(txn, key, value),
            (Target::Plain(table), _, true) => table.put_if_absent(txn, key, value).map(drop),
            (Target::Plain(table), _, _) => table.put(txn, key, value).map(drop),
            (Target::Multi(table), true, _) => table.append(txn, key, value),
            (Target::Multi(table), _, _) => table.put(txn, key, value).map(drop),
        }
    }
}

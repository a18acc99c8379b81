//! Load: tables from text that LMDB's, libmdbx's and Berkeley DB's tools write.
//!
//! L1. Whatever the text says, memory is bounded by the longest key and value, and by what a
//!     transaction buffers.
//! L2. Everything before a line that is wrong is loaded and committed, and nothing behind it.
//! L3. Loading the same text again changes nothing.
//! L4. No transaction is kept open while the input has nothing, or for longer than a second while
//!     it is slow.

mod header;

use std::io::BufRead;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::progress::{Meter, OnProgress, Progress};
use crate::ops::text::{Data, OnWait, TextReader};
use crate::page::{MAX_VALUE_BYTES, key_bytes_max};
use crate::table::def::{RawTable, Table, TableDef};
use crate::table::multi::{Multi, RawMulti};
use crate::txn::commit::Durability;
use crate::txn::meaning::{Lengths, Many, TableInfo, TableSpec};
use crate::txn::order::Order;
use crate::txn::write::WriteTxn;
use header::{Header, Wanted};

/// A transaction is committed after so much time, or so many bytes.
const COMMIT_EVERY: Duration = Duration::from_millis(500);
const COMMIT_BYTES: u64 = 64 << 20;

/// Options of a load; see [`Env::load`].
#[derive(Default)]
pub struct LoadOptions<'a> {
    table: Option<Vec<u8>>,
    order: Option<Order>,
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
    pub fn table(mut self, name: impl Into<Vec<u8>>) -> LoadOptions<'a> {
        self.table = Some(name.into());
        self
    }

    /// Creates tables with this order, whatever their sections say. Needed for tables with a
    /// comparator of their own, unless they exist and are open with it.
    pub fn order(mut self, order: Order) -> LoadOptions<'a> {
        self.order = Some(order);
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

impl Env {
    /// Loads text in the format of `mdb_dump`, as [`Env::dump`] writes it too.
    ///
    /// Tables are created with the order that the text says; one that exists keeps its own.
    /// Records replace those with the same key; values of a multimap are added to those that its
    /// key has. It commits at least every second while there is input, so a load that was broken
    /// off is simply repeated.
    ///
    /// Input may stall. An `input` that answers [`TimedOut`](std::io::ErrorKind::TimedOut) or
    /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) has nothing for now: what was read is
    /// committed, other writers may go ahead, and the input is asked again until it has more, ends,
    /// or fails otherwise. One that waits for as long as it takes, as standard input and sockets do
    /// by default, keeps the transaction open meanwhile: give it a read timeout of half a second.
    ///
    /// # Errors
    /// [`Error::Input`] names the line that is wrong, or too long. Everything before that line is
    /// committed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// let head = "VERSION=3\nformat=print\ndatabase=ages\ntype=btree\nHEADER=END\n";
    /// let text = format!("{head} ada\n 36\nDATA=END\n");
    /// let report = env.load(&mut text.as_bytes(), &mut huon::LoadOptions::new())?;
    /// assert_eq!((report.tables, report.records), (1, 1));
    /// let ages = huon::TableDef::<huon::Str, huon::Str>::new("ages");
    /// let txn = env.read()?;
    /// assert_eq!(txn.open(&ages)?.unwrap().get(&txn, "ada")?, Some("36"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(
        &self,
        input: &mut dyn BufRead,
        options: &mut LoadOptions<'_>,
    ) -> Result<LoadReport> {
        let (table, order) = (options.table.clone(), options.order.clone());
        let (keep, durability) = (options.keep, options.durability);
        let progress: Option<OnProgress<'_>> = match &mut options.progress {
            Some(progress) => Some(&mut **progress),
            None => None,
        };
        let mut load = Load {
            text: TextReader::new(input),
            table,
            order,
            keep,
            batch: Batch {
                env: self,
                durability,
                txn: None,
                began: Instant::now(),
                bytes: 0,
                commits: 0,
            },
            meter: Meter::new(progress, 0),
            report: LoadReport::default(),
        };
        let outcome = load.sections();
        match outcome {
            Err(_) if load.meter.stopped => load.report.stopped = true,
            Ok(()) => {}
            Err(error @ Error::Input(_)) => {
                load.batch.commit()?;
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        load.batch.commit()?;
        Ok(LoadReport { lines: load.text.line, commits: load.batch.commits, ..load.report })
    }
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
            self.commit()
        } else {
            Ok(())
        }
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
    keep: bool,
    batch: Batch<'e>,
    meter: Meter<'a>,
    report: LoadReport,
}

impl Load<'_, '_, '_> {
    fn sections(&mut self) -> Result<()> {
        while let Some(header) =
            Header::read(&mut self.text, &mut self.batch, &mut self.report.ignored)?
        {
            self.section(&header)?;
            self.report.tables += 1;
        }
        match self.report.tables {
            0 => Err(self.text.error("the input is empty")),
            _ => self.meter.tell(),
        }
    }

    fn section(&mut self, header: &Header) -> Result<()> {
        let page_bytes = self.batch.env.core()?.store.page_bytes;
        let (print, key_max) = (header.print, key_bytes_max(page_bytes));
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut table: Option<Target> = None;
        let value_max = if header.many { key_max } else { MAX_VALUE_BYTES };
        // Records in order are appended, which fills pages to the brim, until one is not.
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
            if matches!(stored, Err(Error::KeyOutOfOrder)) {
                rising = false;
                stored = table.store(txn, &key, &value, false, keep);
            }
            stored.map_err(|error| self.refused(error))?;
            self.report.records += 1;
            self.meter.now.records += 1;
            self.done(self.text.bytes - before)?;
        }
        let table = match table {
            Some(table) => table,
            None => self.open(header, None)?,
        };
        let txn = self.batch.txn()?;
        if let Some(markers) = header.markers {
            txn.set_markers(markers)?;
        }
        table.raise_sequence(txn, header.sequence)
    }

    /// Counts, and commits when it is time.
    fn done(&mut self, bytes: u64) -> Result<()> {
        self.batch.bytes += bytes;
        self.batch.commit_if_due()?;
        self.meter.advance(bytes)
    }

    /// What a table refuses is the input's fault, and the line says where.
    fn refused(&self, error: Error) -> Error {
        match error {
            Error::KeyTooLong { .. }
            | Error::ValueTooLong
            | Error::KeyLength
            | Error::SortedValueTooLong { .. }
            | Error::ValueLength
            | Error::TableKind
            | Error::WrongOrder(_)
            | Error::TableExists => self.text.error(error.to_string()),
            error => error,
        }
    }

    /// The table of a section: the one that exists, or a new one. `lengths` are those of its first
    /// key and value.
    fn open(&mut self, header: &Header, lengths: Option<(usize, usize)>) -> Result<Target> {
        let name = self.table.clone().unwrap_or_else(|| header.name.clone());
        let known = self.known_order(&name, |info| Some(&info.order));
        let order = match &self.order {
            Some(order) => order.clone(),
            None => self.wanted(header.wanted, lengths.map(|(key, _)| key), &known)?,
        };
        if name.is_empty() {
            return match (order, header.many) {
                (Order::Bytes, false) => {
                    self.batch.txn()?.create(&TableDef::main()).map(Target::Plain)
                }
                (_, true) => {
                    Err(self.text.error("the main table has one value a key; name another"))
                }
                _ => Err(self.text.error("the main table has another order; name a table for it")),
            };
        }
        let known_values = self.known_order(&name, |info| Some(&info.many.as_ref()?.order));
        let many = if !header.many {
            None
        } else {
            Some(Many {
                order: self.wanted(
                    header.values,
                    lengths.map(|(_, value)| value),
                    &known_values,
                )?,
                lengths: if header.equal { Lengths::Equal(0) } else { Lengths::Any },
            })
        };
        let created = self.create(&name, (order, known), many.map(|many| (many, known_values)));
        created.map_err(|error| self.refused(error))
    }

    /// The order that a section asks for.
    fn wanted(&self, wanted: Wanted, bytes: Option<usize>, known: &Option<Order>) -> Result<Order> {
        let order = match wanted {
            Wanted::Order(order) => Ok(order.of()),
            Wanted::Integers => match bytes {
                Some(4) => Ok(Order::NativeU32),
                Some(8) | None => Ok(Order::NativeU64),
                Some(_) => Err("integers have 4 or 8 bytes"),
            },
            Wanted::Custom => known.clone().ok_or(
                "the table has an order of its own; load it with that order, or with another one",
            ),
        };
        order.map_err(|what| self.text.error(what))
    }

    /// Opens the table, or creates it as it is wanted. One that exists keeps its orders; only a
    /// comparator must come from outside.
    fn create(
        &mut self,
        name: &[u8],
        (wanted, known): (Order, Option<Order>),
        many: Option<(Many, Option<Order>)>,
    ) -> Result<Target> {
        let as_it_is = |wanted: &Order, known: Option<Order>| match wanted {
            Order::Custom(_) => wanted.clone(),
            _ => known.unwrap_or(Order::Stored),
        };
        let stored = many.as_ref().map(|_| Many { order: Order::Stored, lengths: Lengths::Stored });
        let as_stored = TableSpec { name, order: &Order::Stored, many: stored.as_ref() };
        let exists = self.batch.txn()?.open_table(&as_stored)?.is_some();
        let (order, many) = if exists {
            let many = many.map(|(many, known)| Many {
                order: as_it_is(&many.order, known),
                lengths: Lengths::Stored,
            });
            (as_it_is(&wanted, known), many)
        } else {
            (wanted, many.map(|(many, _)| many))
        };
        let wanted = TableSpec { name, order: &order, many: many.as_ref() };
        let number = self.batch.txn()?.create_table(&wanted)?;
        let id = self.batch.env.core()?.names.handle(number);
        Ok(if many.is_some() { Target::Multi(Multi::of(id)) } else { Target::Plain(Table::of(id)) })
    }

    /// The comparator with which a table was opened in this environment before.
    fn known_order(&self, name: &[u8], of: impl Fn(&TableInfo) -> Option<&Order>) -> Option<Order> {
        self.batch.env.core().ok()?.names.known_order(name, of)
    }
}

/// The table that a section goes to.
#[derive(Clone, Copy)]
enum Target {
    Plain(RawTable),
    Multi(RawMulti),
}

impl Target {
    /// Moves the table's counter on to what the text says; never back.
    fn raise_sequence(self, txn: &mut WriteTxn, wanted: u64) -> Result<()> {
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
    ) -> Result<()> {
        match (self, rising, keep) {
            (Target::Plain(table), true, _) => table.append(txn, key, value),
            (Target::Plain(table), _, true) => table.insert_new(txn, key, value).map(drop),
            (Target::Plain(table), _, _) => table.put(txn, key, value).map(drop),
            (Target::Multi(table), true, _) => table.append(txn, key, value),
            (Target::Multi(table), _, _) => table.insert(txn, key, value).map(drop),
        }
    }
}

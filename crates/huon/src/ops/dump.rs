//! Dump: tables as text that LMDB's, libmdbx's and Berkeley DB's tools read.
//!
//! A rescuing dump does not stop at damage: it takes what it can reach from whole branches, and
//! then whole leaves that nothing reaches any more, and says what it left out.

mod rescue;

use std::io::Write;
use std::ops::ControlFlow;

use crate::alloc::TryGrow;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::bitmap::Bitmap;
use crate::ops::check::{Problem, keep, order_name};
use crate::ops::pinned::{self, Verified};
use crate::ops::progress::{Meter, OnProgress, Progress};
use crate::ops::tables::{self, each_record, each_value};
use crate::ops::text::TextWriter;
use crate::page::{ManyValues, Meta, OrderKind, PayloadKind, Tree};
use crate::tree::read;

/// What is left out is listed up to this number.
const SKIPPED_KEPT_MAX: usize = 1000;

/// Options of a dump; see [`Env::dump`].
#[derive(Default)]
pub struct DumpOptions<'a> {
    table: Option<Vec<u8>>,
    print: bool,
    rescue: bool,
    progress: Option<OnProgress<'a>>,
}

impl<'a> DumpOptions<'a> {
    /// All tables, in hexadecimal digits.
    pub fn new() -> DumpOptions<'a> {
        DumpOptions::default()
    }

    /// Only this table; the empty name is the unnamed main table.
    pub fn table(mut self, name: impl Into<Vec<u8>>) -> DumpOptions<'a> {
        self.table = Some(name.into());
        self
    }

    /// Writes printable characters as they are, for people.
    pub fn print(mut self, yes: bool) -> DumpOptions<'a> {
        self.print = yes;
        self
    }

    /// Goes on where something is damaged, and reports what was left out. Of pages that cannot be
    /// told to a table any more, whole leaves go to a table called `huon_rescued`.
    pub fn rescue(mut self, yes: bool) -> DumpOptions<'a> {
        self.rescue = yes;
        self
    }

    /// Calls `report` about once a megabyte; the dump ends with an error if it breaks.
    pub fn progress(
        mut self,
        report: &'a mut (dyn FnMut(&Progress) -> ControlFlow<()> + 'a),
    ) -> DumpOptions<'a> {
        self.progress = Some(report);
        self
    }
}

impl std::fmt::Debug for DumpOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DumpOptions")
            .field("table", &self.table.as_ref().map(|name| name.escape_ascii().to_string()))
            .field("print", &self.print)
            .field("rescue", &self.rescue)
            .finish_non_exhaustive()
    }
}

/// What a dump came to.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DumpReport {
    /// The snapshot that was dumped.
    pub txnid: u64,
    /// Sections written.
    pub tables: u64,
    /// Records written.
    pub records: u64,
    /// The first thousand things that a rescuing dump left out.
    pub skipped: Vec<Problem>,
    /// How many it left out.
    pub skipped_count: u64,
}

impl DumpReport {
    fn skip(&mut self, pgno: Option<u32>, table: &[u8], text: impl FnOnce() -> String) {
        self.skipped_count += 1;
        keep(&mut self.skipped, SKIPPED_KEPT_MAX, pgno, Some(table), text);
    }
}

impl Env {
    /// Writes the newest visible snapshot as text in the format of `mdb_dump`, which
    /// [`Env::load`], LMDB, libmdbx and Berkeley DB read.
    ///
    /// Tables come one after another, the main table first if it has records of its own. Every
    /// checksum is verified.
    ///
    /// # Errors
    /// [`Error::Corrupt`] at the first damage, unless it is to be rescued; [`Error::TableMissing`];
    /// [`Error::Io`] from `out`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// env.update(|txn| {
    ///     txn.create(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?.put(txn, "key", "value")
    /// })?;
    /// let mut text = Vec::new();
    /// let report = env.dump(&mut text, &mut huon::DumpOptions::new().print(true))?;
    /// assert_eq!(report.records, 1);
    /// assert!(String::from_utf8(text)?.ends_with("HEADER=END\n key\n value\nDATA=END\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dump(&self, out: &mut dyn Write, options: &mut DumpOptions<'_>) -> Result<DumpReport> {
        let (_pin, meta) = pinned::pin(self)?;
        let store = &self.core()?.store;
        let progress: Option<OnProgress<'_>> = match &mut options.progress {
            Some(progress) => Some(&mut **progress),
            None => None,
        };
        let mut dump = Dump {
            source: Verified { store, used: meta.used },
            meta: &meta,
            print: options.print,
            text: TextWriter::new(out, options.print)?,
            meter: Meter::new(progress, 0),
            report: DumpReport { txnid: meta.txnid.0, ..DumpReport::default() },
        };
        if options.rescue {
            dump.rescue(options.table.as_deref())?;
        } else {
            dump.all(options.table.as_deref())?;
        }
        dump.text.finish()?;
        dump.meter.now.done_bytes = dump.meter.now.total_bytes;
        dump.meter.tell()?;
        Ok(dump.report)
    }
}

/// A dump under way.
struct Dump<'s, 'o, 'a> {
    source: Verified<'s>,
    meta: &'s Meta,
    print: bool,
    text: TextWriter<'o>,
    meter: Meter<'a>,
    report: DumpReport,
}

impl Dump<'_, '_, '_> {
    /// Every wanted table, up to the first damage.
    fn all(&mut self, wanted: Option<&[u8]>) -> Result<()> {
        let main = self.meta.main;
        let named = tables::named(&self.source, &main)?;
        let own = main.entries.saturating_sub(named.len() as u64);
        let mut tables = vec![(Vec::new(), main)];
        tables.try_extend(named.into_iter())?;
        match wanted {
            Some(name) => tables.retain(|(table, _)| table == name),
            None if own == 0 && tables.len() > 1 => drop(tables.remove(0)),
            None => {}
        }
        if tables.is_empty() {
            return Err(Error::TableMissing);
        }
        let bytes = tables.iter().map(|(_, tree)| self.bytes(tree));
        self.meter.now.total_bytes = bytes.fold(0, u64::saturating_add);
        let mut met = tables::no_pages(&self.source)?;
        tables.iter().try_for_each(|(name, tree)| self.table(name, tree, &mut met))
    }

    /// Bytes of a table, as its record has it.
    fn bytes(&self, tree: &Tree) -> u64 {
        let pages = u64::from(tree.leaf_pages) + u64::from(tree.run_pages);
        pages * self.source.store.page_bytes as u64
    }

    fn table(&mut self, name: &[u8], tree: &Tree, met: &mut Bitmap) -> Result<()> {
        self.header(name, tree)?;
        let Verified { store, used } = self.source;
        let source = Verified { store, used };
        each_record(&source, tree, met, &mut |cell, met| {
            if cell.kind == PayloadKind::Table && name.is_empty() {
                return Ok(());
            }
            if tree.many.is_some() {
                return each_value(&source, tree, &cell, met, &mut |value| {
                    self.record(cell.key, value)
                });
            }
            match read::value(&source, &cell)? {
                Some(value) => self.record(cell.key, value),
                None => Err(Error::corrupt_file("a named table holds a table's record")),
            }
        })?;
        self.text.header("DATA=END")
    }

    fn record(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.text.data(key)?;
        self.text.data(value)?;
        self.report.records += 1;
        self.meter.now.records += 1;
        self.meter.advance((key.len() + value.len()) as u64)
    }

    fn header(&mut self, name: &[u8], tree: &Tree) -> Result<()> {
        self.report.tables += 1;
        let text = &mut self.text;
        text.header("VERSION=3")?;
        text.header(if self.print { "format=print" } else { "format=bytevalue" })?;
        if !name.is_empty() {
            let plain = !name.iter().any(|byte| byte.is_ascii_control());
            text.raw(b"database=")?;
            if plain {
                text.raw(name)?;
            } else {
                name.escape_ascii().try_for_each(|byte| text.raw(&[byte]))?;
            }
            text.raw(b"\n")?;
            if !plain {
                // A line cannot hold it as it is.
                text.raw(b"huon_name=")?;
                text.encoded(name, false)?;
                text.raw(b"\n")?;
            }
        }
        text.header("type=btree")?;
        // LMDB reserves so much for what it loads; its default is ten megabytes.
        let used = u64::from(self.meta.used) * u64::from(self.meta.page_bytes);
        text.header(format!("mapsize={}", used.saturating_mul(4).next_multiple_of(1 << 24)))?;
        text.header("maxreaders=126")?;
        if self.meta.markers_txnid != 0 {
            // libmdbx's line.
            let ([x, y, z], v) = (self.meta.markers, self.meta.markers_txnid);
            text.header(format!("canary=v{v},x{x},y{y},z{z}"))?;
        }
        let order = tree.order;
        match order {
            OrderKind::Bytes => {}
            OrderKind::Reversed => text.header("reversekey=1")?,
            OrderKind::Native4 | OrderKind::Native8 => {
                text.header("integerkey=1")?;
                text.header(format!("huon_order={}", order_name(order)))?;
            }
            OrderKind::Custom => text.header(format!("huon_order={}", order_name(order)))?,
        }
        if let Some(many) = tree.many {
            self.values_header(many)?;
        }
        if tree.sequence != 0 {
            // libmdbx's line.
            self.text.header(format!("sequence={}", tree.sequence))?;
        }
        self.text.header(format!("db_pagesize={}", self.meta.page_bytes))?;
        self.text.header("HEADER=END")
    }

    /// What the header of a multimap says about values.
    fn values_header(&mut self, many: ManyValues) -> Result<()> {
        let text = &mut self.text;
        // LMDB's word, which all of them know; what else it is called is passed over by mdb_load,
        // and then one value a key is left.
        text.header("dupsort=1")?;
        if many.equal {
            text.header("dupfixed=1")?;
        }
        match many.order {
            OrderKind::Bytes => Ok(()),
            OrderKind::Reversed => text.header("reversedup=1"),
            OrderKind::Native4 | OrderKind::Native8 => {
                text.header("integerdup=1")?;
                text.header(format!("huon_values={}", order_name(many.order)))
            }
            OrderKind::Custom => text.header(format!("huon_values={}", order_name(many.order))),
        }
    }
}

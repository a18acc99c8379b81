//! Dump: tables as text that LMDB's, libmdbx's and Berkeley DB's tools read.

use std::io::Write;
use std::ops::ControlFlow;

use huon::{Contents, Env, Problem, Progress, RecordVisitor, TableStat};

use crate::error::{Error, Result};
use crate::lines::TextWriter;
use crate::meter::{Meter, OnProgress};

/// What is left out is listed up to this number.
const SKIPPED_KEPT_MAX: usize = 1000;

/// Options of a dump; see [`dump()`].
#[derive(Default)]
#[must_use = "options do nothing until a dump takes them"]
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
    pub fn table(mut self, name: impl AsRef<[u8]>) -> DumpOptions<'a> {
        self.table = Some(name.as_ref().to_vec());
        self
    }

    /// Writes printable characters as they are, for people.
    pub fn print(mut self, yes: bool) -> DumpOptions<'a> {
        self.print = yes;
        self
    }

    /// Goes on where something is damaged, and reports what was left out: see
    /// [`huon::Env::salvage`].
    pub fn rescue(mut self, yes: bool) -> DumpOptions<'a> {
        self.rescue = yes;
        self
    }

    /// Calls `report` about once a megabyte; the dump ends, as one that was stopped, if it breaks.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
    /// The caller stopped it: the text ends in the middle.
    pub stopped: bool,
}

/// Writes the newest visible snapshot as text in the format of `mdb_dump`, which
/// [`load()`](crate::load()), LMDB, libmdbx and Berkeley DB read.
///
/// Tables come one after another, the main table first if it has records of its own. Every checksum
/// is verified.
///
/// # Errors
/// [`huon::Error::Corrupt`] at the first damage, unless it is to be rescued;
/// [`huon::Error::TableNotFound`]; [`Error::Io`] from `out`.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::open(dir.path().join("a.huon"))?;
/// env.update(|txn| {
///     let def = huon::TableDef::<huon::Str, huon::Str>::new("t");
///     txn.create_table(&def)?.put(txn, "key", "value")
/// })?;
/// let mut text = Vec::new();
/// let options = huon_text::DumpOptions::new().print(true);
/// assert_eq!(huon_text::dump(&env, &mut text, options)?.records, 1);
/// assert!(String::from_utf8(text)?.ends_with("HEADER=END\n key\n value\nDATA=END\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn dump(env: &Env, out: &mut dyn Write, options: DumpOptions<'_>) -> Result<DumpReport> {
    let DumpOptions { table, print, rescue, progress } = options;
    let mut dump = Dump {
        wanted: table,
        print,
        rescue,
        contents: None,
        text: TextWriter::new(out, print)?,
        meter: Meter::new(progress),
        report: DumpReport::default(),
        failed: None,
    };
    let txnid = if rescue { env.salvage(&mut dump)? } else { env.visit_records(&mut dump)? };
    if let Some(error) = dump.failed {
        return Err(error);
    }
    dump.text.finish()?;
    dump.meter.now.done_bytes = dump.meter.now.total_bytes;
    dump.report.stopped |= dump.meter.tell().is_break();
    Ok(DumpReport { txnid, ..dump.report })
}

/// A dump under way.
struct Dump<'o, 'a> {
    wanted: Option<Vec<u8>>,
    print: bool,
    rescue: bool,
    /// What the snapshot holds, once the walk has begun.
    contents: Option<Contents>,
    text: TextWriter<'o>,
    meter: Meter<'a>,
    report: DumpReport,
    /// What ended the walk, where it was neither the environment nor the caller.
    failed: Option<Error>,
}

impl RecordVisitor for Dump<'_, '_> {
    fn begin(&mut self, contents: &Contents) -> ControlFlow<()> {
        let is_here = |wanted: &Vec<u8>| contents.tables.iter().any(|table| table.name == *wanted);
        if !self.rescue && !self.wanted.as_ref().is_none_or(is_here) {
            self.failed = Some(huon::Error::TableNotFound.into());
            return ControlFlow::Break(());
        }
        if !self.rescue {
            let wanted = contents.tables.iter().filter(|table| self.wants(table, contents));
            let bytes = |table: &TableStat| {
                let pages = u64::from(table.leaf_pages) + u64::from(table.overflow_pages);
                pages * u64::from(contents.page_bytes)
            };
            self.meter.now.total_bytes = wanted.map(bytes).fold(0, u64::saturating_add);
        }
        self.contents = Some(contents.clone());
        ControlFlow::Continue(())
    }

    fn table(&mut self, table: &TableStat) -> ControlFlow<(), bool> {
        let Some(contents) = self.contents.take() else { return ControlFlow::Continue(false) };
        let is_wanted = self.wants(table, &contents);
        let written = if is_wanted { self.header(table, &contents) } else { Ok(()) };
        self.contents = Some(contents);
        self.go_on(written).map_continue(|()| is_wanted)
    }

    fn record(&mut self, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        let written = self.text.data(key).and_then(|()| self.text.data(value));
        self.go_on(written)?;
        self.report.records += 1;
        self.meter.now.records += 1;
        let flow = self.meter.advance((key.len() + value.len()) as u64);
        self.report.stopped |= flow.is_break();
        flow
    }

    fn table_end(&mut self) -> ControlFlow<()> {
        let written = self.text.header("DATA=END");
        self.go_on(written)
    }

    fn lost(&mut self, problem: &Problem) -> ControlFlow<()> {
        let of_another = |table: &Vec<u8>| self.wanted.as_ref().is_some_and(|it| it != table);
        if problem.table.as_ref().is_some_and(of_another) {
            return ControlFlow::Continue(());
        }
        self.report.skipped_count += 1;
        if self.report.skipped.len() < SKIPPED_KEPT_MAX
            && self.report.skipped.try_reserve(1).is_ok()
        {
            self.report.skipped.push(problem.clone());
        }
        ControlFlow::Continue(())
    }
}

impl Dump<'_, '_> {
    fn wants(&self, table: &TableStat, contents: &Contents) -> bool {
        match &self.wanted {
            Some(wanted) => *wanted == table.name,
            None if table.name.is_empty() => {
                contents.has_main_records || contents.tables.len() == 1
            }
            None => true,
        }
    }

    /// Notes what went wrong, if anything did.
    fn go_on(&mut self, outcome: Result<()>) -> ControlFlow<()> {
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn header(&mut self, table: &TableStat, contents: &Contents) -> Result<()> {
        self.report.tables += 1;
        let text = &mut self.text;
        text.header("VERSION=3")?;
        text.header(if self.print { "format=print" } else { "format=bytevalue" })?;
        if !table.name.is_empty() {
            text.table_name(&table.name)?;
        }
        text.header("type=btree")?;
        // LMDB reserves so much for what it loads; its default is ten megabytes.
        let map_bytes = contents.used_bytes.saturating_mul(4).next_multiple_of(1 << 24);
        text.header(format!("mapsize={map_bytes}"))?;
        text.header("maxreaders=126")?;
        if contents.markers.txnid != 0 {
            // libmdbx's line.
            let ([x, y, z], v) = (contents.markers.values, contents.markers.txnid);
            text.header(format!("canary=v{v},x{x},y{y},z{z}"))?;
        }
        match table.order {
            "bytes" => {}
            "reversed" => text.header("reversekey=1")?,
            "custom" => text.header("huon_order=custom")?,
            native => {
                text.header("integerkey=1")?;
                text.header(format!("huon_order={native}"))?;
            }
        }
        if let Some(comparator) = &table.comparator {
            text.named("huon_comparator", comparator.as_bytes())?;
        }
        for (word, name) in
            [("huon_key_type", &table.key_type), ("huon_value_type", &table.value_type)]
        {
            if let Some(name) = name {
                text.named(word, name.as_bytes())?;
            }
        }
        if let Some(order) = table.values {
            values(text, order, table)?;
        }
        if table.sequence != 0 {
            // libmdbx's line.
            text.header(format!("sequence={}", table.sequence))?;
        }
        text.header(format!("db_pagesize={}", contents.page_bytes))?;
        text.header("HEADER=END")
    }
}

/// What the header of a multimap says about values.
fn values(text: &mut TextWriter<'_>, order: &str, table: &TableStat) -> Result<()> {
    // LMDB's word, which all of them know; mdb_load passes over the other words for it, and then
    // keeps one value a key.
    text.header("dupsort=1")?;
    if table.value_bytes.is_some() {
        text.header("dupfixed=1")?;
    }
    match order {
        "bytes" => {}
        "reversed" => text.header("reversedup=1")?,
        "custom" => text.header("huon_values=custom")?,
        native => {
            text.header("integerdup=1")?;
            text.header(format!("huon_values={native}"))?;
        }
    }
    match &table.value_comparator {
        Some(comparator) => text.named("huon_value_comparator", comparator.as_bytes()),
        None => Ok(()),
    }
}

//! The merged records of LSM tables as text: `lsm dump`, `lsm load`.

use std::collections::HashMap;
use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use huon::{Env, ReadTxn};
use huon_lsm::{Lsm, RawLsmTable, WriteBatch};
use huon_text::{DumpReport, Section, SectionSink, SectionWriter, read_sections};
use serde_json::{Map, Value};

use super::{Named, needs_operator, tables};
use crate::args::{LsmDump, LsmLoad, TypeArgs};
use crate::columns::Types;
use crate::commands::dump::{Dumped, special, to_output};
use crate::commands::load::{StoppableInput, input, input_name};
use crate::fail::{Code, Failure, Outcome};
use crate::guard;
use crate::open;
use crate::parts;
use crate::progress::{self, Bar};
use crate::stop::Stop;
use crate::text::{Form, many};

/// A batch is committed after so much time, or so many bytes.
const COMMIT_EVERY: Duration = Duration::from_millis(500);
const COMMIT_BYTES: usize = 16 << 20;

/// Records between two looks at the clock and at signals.
const LOOK_EVERY: u64 = 256;

/// `huon lsm dump`.
pub(super) fn dump(args: &LsmDump) -> Outcome {
    types_are_for_json(&args.types, args.json)?;
    guard::output(&args.file, &args.output)?;
    let env = open::look(&args.file)?;
    let (lsm, txn) = (Lsm::open(&env)?, env.read()?);
    let found = tables(&lsm, &txn, &args.file, args.table.as_deref())?;
    if args.json && found.len() > 1 {
        let text = "JSON has the records of one table; say which with --table.";
        return Err(Failure::usage(text));
    }
    let special = special(&args.output)?;
    let stop = Stop::on_signals()?;
    if args.output.as_os_str() == "-" && io::stdout().is_terminal() {
        // The text itself shows how it goes on.
        progress::be_quiet();
    }
    let bar = Bar::bytes("dumping");
    let writing = Writing { args, txn: &txn, bar: &bar, stop: &stop };
    let dumped = to_output(&args.file, &args.output, args.force, special, |out| {
        if args.json { writing.json(&found, out) } else { writing.sections(&found, out) }
    });
    drop(bar);
    dumped.map(|_| Code::Fine)
}

/// A dump under way.
struct Writing<'d> {
    args: &'d LsmDump,
    txn: &'d ReadTxn,
    bar: &'d Bar,
    stop: &'d Stop,
}

impl Writing<'_> {
    fn sections(&self, found: &[Named], out: &mut dyn Write) -> Dumped {
        let mut report = DumpReport::default();
        let mut writer = SectionWriter::new(out, self.args.print)?;
        let mut bytes = 0;
        for (name, table) in found {
            let (key, value) = table.stat(self.txn)?.types;
            let mut section = Section::new(name);
            section.types = [key, value].map(|name| Some(name).filter(|name| !name.is_empty()));
            writer.begin(&section)?;
            self.each(table, &mut report, &mut bytes, |key, value| Ok(writer.record(key, value)?))?;
            writer.end()?;
            report.tables += 1;
        }
        writer.finish()?;
        Ok(report)
    }

    fn json(&self, found: &[Named], out: &mut dyn Write) -> Dumped {
        let mut report = DumpReport::default();
        for (_, table) in found {
            let types = types(&self.args.types, table, self.txn)?;
            self.each(table, &mut report, &mut 0, |key, value| {
                let mut object = Map::new();
                types.key.add_to(&mut object, key)?;
                types.value.add_to(&mut object, value)?;
                Ok(writeln!(out, "{}", Value::Object(object))?)
            })?;
        }
        out.flush()?;
        Ok(report)
    }

    /// Calls `act` with the records of a table, until the user wants to stop.
    fn each(
        &self,
        table: &RawLsmTable,
        report: &mut DumpReport,
        bytes: &mut u64,
        mut act: impl FnMut(&[u8], &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for record in table.iter(self.txn)? {
            let (key, value) = record.map_err(|error| self.unread(table, error))?;
            act(key, value)?;
            report.records += 1;
            *bytes += (key.len() + value.len()) as u64;
            if report.records.is_multiple_of(LOOK_EVERY) {
                self.bar.at(*bytes, 0);
                report.stopped |= self.stop.is_asked();
            }
            if report.stopped {
                break;
            }
        }
        Ok(())
    }

    /// Why the records of a table cannot be read.
    fn unread(&self, table: &RawLsmTable, error: huon::Error) -> Failure {
        match (error, table.stat(self.txn)) {
            (huon::Error::Invalid(_), Ok(stat)) if !stat.operator.is_empty() => {
                let needed = needs_operator(table.name(), &stat);
                Failure::usage(format!("{needed} read what they have not merged to one run."))
            }
            (error, _) => error.into(),
        }
    }
}

/// A dump has bytes, whatever they are.
fn types_are_for_json(args: &TypeArgs, is_json: bool) -> Result<(), Failure> {
    let is_said = args.key_type.is_some() || args.value_type.is_some() || args.hex;
    if is_said && !is_json {
        let text = "--key, --value and --hex say what JSON has; add --json, or leave them out.";
        return Err(Failure::usage(text));
    }
    Ok(())
}

/// What keys and values of a table are: what the user says, else what the table does.
fn types(args: &TypeArgs, table: &RawLsmTable, txn: &ReadTxn) -> Result<Types, Failure> {
    let (key, value) = table.stat(txn)?.types;
    Ok(Types::of_names(args, &key, &value))
}

/// `huon lsm load`.
pub(super) fn load(args: &LsmLoad) -> Outcome {
    types_are_for_json(&args.types, args.json)?;
    guard::input(&args.file, &args.input)?;
    let (reader, total) = input(&args.input)?;
    let stop = Stop::on_signals()?;
    open::make_and_change(&args.file, &args.writing, |env| {
        let mut input = StoppableInput::start(reader, stop.clone());
        load_into(env, args, &mut input, total, stop)
    })
}

fn load_into(
    env: &Env,
    args: &LsmLoad,
    input: &mut StoppableInput,
    total: u64,
    stop: Stop,
) -> Outcome {
    let lsm = Lsm::open(env)?;
    let only = match &args.table {
        Some(name) => Some(table_to_fill(&lsm, &open::name(Some(name))?).map_err(Failure::usage)?),
        None => None,
    };
    let bar = Bar::bytes("loading");
    let mut sink = Sink::new(&lsm, only, &bar, total, stop);
    let loaded = if args.json {
        load_objects(env, args, input, &mut sink)
    } else {
        load_sections(env, args, input, &mut sink)
    };
    // What was read before an error is committed.
    let committed = sink.commit();
    let (stop, records, only) = (sink.stop, sink.records, sink.only);
    drop(bar);
    loaded?;
    committed?;
    if stop.is_asked() {
        let text = "interrupted; what was read until then is committed, load again to go on.";
        return Err(Failure::Told(Code::Interrupted, text.into()));
    }
    if io::stderr().is_terminal() {
        tell!("loaded {}", many(records, "record"));
        if let Some(table) = only {
            tell_cost(env, &table)?;
        }
    }
    drop(lsm);
    Ok(Code::Fine)
}

/// How often records were written, and whether commits had to wait.
fn tell_cost(env: &Env, table: &RawLsmTable) -> Result<(), Failure> {
    let stat = table.stat(&env.read()?)?;
    if let Some(times) = stat.write_amplification() {
        let stalls = many(stat.stalls, "stall");
        let waited = stat.stall_time.as_secs_f64();
        tell!("each byte was written {times:.1} times so far; {stalls}, {waited:.1} s");
    }
    Ok(())
}

/// The table to load into, which need not be there; or what is wrong with the name.
fn table_to_fill(lsm: &Lsm, name: &[u8]) -> Result<RawLsmTable, String> {
    let shown = Form::Plain.show(name);
    if let Some(part) = parts::part_of(name) {
        return Err(format!("\"{shown}\" is {}; load that as a whole.", part.said()));
    }
    if name.is_empty() {
        return Err("an LSM table has a name; say which with --table.".into());
    }
    lsm.raw_table(name).map_err(|error| format!("LSM table \"{shown}\": {error}."))
}

/// Collects records and commits them.
struct Sink<'l> {
    lsm: &'l Lsm,
    /// Where everything goes.
    only: Option<RawLsmTable>,
    known: HashMap<Vec<u8>, RawLsmTable>,
    /// Where records go now.
    table: Option<RawLsmTable>,
    batch: WriteBatch,
    began: Instant,
    records: u64,
    bytes: u64,
    bar: &'l Bar,
    total: u64,
    stop: Stop,
}

impl<'l> Sink<'l> {
    fn new(lsm: &'l Lsm, only: Option<RawLsmTable>, bar: &'l Bar, total: u64, stop: Stop) -> Self {
        let (table, batch, known) = (only.clone(), lsm.batch(), HashMap::new());
        let began = Instant::now();
        Sink { lsm, only, known, table, batch, began, records: 0, bytes: 0, bar, total, stop }
    }

    fn commit(&mut self) -> huon::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.began = Instant::now();
        if !batch.is_empty() {
            self.lsm.write(batch)?;
        }
        Ok(())
    }

    fn commit_if_due(&mut self) -> huon::Result<()> {
        if self.batch.bytes() >= COMMIT_BYTES || self.began.elapsed() >= COMMIT_EVERY {
            return self.commit();
        }
        Ok(())
    }
}

impl SectionSink for Sink<'_> {
    fn begin(&mut self, section: &Section) -> Result<(), String> {
        if section.is_multimap {
            return Err("an LSM table has one value for each key, and this is a multimap".into());
        }
        if section.has_other_order {
            let text = "keys of LSM tables are in the order of bytes, and these are in another";
            return Err(text.into());
        }
        if self.only.is_some() {
            return Ok(());
        }
        let name = &section.table;
        if !self.known.contains_key(name) {
            let opened = table_to_fill(self.lsm, name);
            let opened = opened.map_err(|why| why.trim_end_matches('.').to_owned())?;
            self.known.insert(name.clone(), opened);
        }
        self.table = self.known.get(name).cloned();
        Ok(())
    }

    fn record(&mut self, key: &[u8], value: &[u8], bytes: u64) -> huon::Result<ControlFlow<()>> {
        let Some(table) = &self.table else { return Ok(ControlFlow::Break(())) };
        self.batch.put(table, key, value)?;
        self.records += 1;
        self.bytes += bytes;
        if self.batch.bytes() >= COMMIT_BYTES || self.records.is_multiple_of(LOOK_EVERY) {
            self.commit_if_due()?;
            self.bar.at(self.bytes, self.total);
        }
        let stops = self.stop.is_asked();
        Ok(if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn wait(&mut self) -> huon::Result<()> {
        self.commit_if_due()
    }
}

fn load_sections(
    env: &Env,
    args: &LsmLoad,
    input: &mut StoppableInput,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    let key_bytes_max = huon::limits::key_bytes_max(env.info()?.page_bytes as usize)?;
    match read_sections(input, key_bytes_max, sink) {
        // The input ends where the user wants to stop.
        _ if sink.stop.is_asked() => Ok(()),
        Ok(_) => Ok(()),
        Err(huon_text::Error::Input(wrong)) => Err(wrong_line(args, wrong.line, &wrong.what)),
        Err(error) => Err(error.into()),
    }
}

fn wrong_line(args: &LsmLoad, line: u64, what: &str) -> Failure {
    let name = input_name(&args.input);
    let text = match line {
        0 => format!("{name}: {what}; nothing was changed."),
        line => format!("{name}, line {line}: {what}; what comes before it is committed."),
    };
    Failure::usage(text)
}

/// Objects, a line each.
fn load_objects(
    env: &Env,
    args: &LsmLoad,
    input: &mut StoppableInput,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    let Some(table) = &sink.only else { return Ok(()) };
    let types = types(&args.types, table, &env.read()?)?;
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        if !read_line(input, sink, &mut text)? || sink.stop.is_asked() {
            return Ok(());
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let wrong = |what: String| wrong_line(args, line, &what);
        let (key, value) = object(&types, &text).map_err(wrong)?;
        let taken = sink.record(&key, &value, text.len() as u64).map_err(|error| match error {
            huon::Error::KeyTooLong { .. } | huon::Error::ValueTooLong => wrong(error.to_string()),
            error => error.into(),
        })?;
        if taken.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// The key and the value that an object has.
fn object(types: &Types, text: &[u8]) -> Result<(Vec<u8>, Vec<u8>), String> {
    let object: Map<String, Value> = serde_json::from_slice(text)
        .map_err(|_| "a JSON object with `key` and `value` is expected".to_owned())?;
    let key = types.key.of_json(&object)?.ok_or("there is no `key` and no `key_hex`")?;
    let value = types.value.of_json(&object)?.ok_or("there is no `value` and no `value_hex`")?;
    Ok((key, value))
}

/// Reads to the end of a line; `false`: there is none. Commits while the input has nothing.
fn read_line(
    input: &mut StoppableInput,
    sink: &mut Sink<'_>,
    text: &mut Vec<u8>,
) -> Result<bool, Failure> {
    loop {
        match input.read_until(b'\n', text) {
            Ok(_) => return Ok(!text.is_empty()),
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
                sink.commit_if_due()?;
            }
            Err(error) => return Err(Failure::io("cannot read the input", &error)),
        }
    }
}

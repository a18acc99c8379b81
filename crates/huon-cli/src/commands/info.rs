//! What an environment says about itself: `info`, `tables`.

use std::path::Path;

use huon::{
    Bytes, Env, EnvInfo, Error, JournalInfo, JournalState, ReadTxn, Recovery, Stat, TableDef,
    TableStat,
};
use serde_json::{Value, json};

use crate::args::{Look, Names};
use crate::commands::readers;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::parts::{self, part_of};
use crate::table::kind;
use crate::text::{Form, json_name, many, number, share, size, span};

/// `huon info`.
pub(crate) fn info(args: &Look) -> Outcome {
    let env = open::look(&args.file)?;
    let state = State { info: env.info()?, recovery: env.recovery(), tables: count_tables(&env)? };
    let mut out = Out::new();
    if args.json {
        out.json(&state.json())?;
    } else {
        state.print(&mut out)?;
    }
    out.finish()?;
    Ok(if state.info.poisoned { Code::Problems } else { Code::Fine })
}

/// Named tables, and multimaps among them. `None` where damage hides them: the rest is still worth
/// knowing.
fn count_tables(env: &Env) -> Result<Option<(usize, usize)>, Failure> {
    match env.stat() {
        Ok(stat) => {
            let multi = stat.tables.iter().filter(|table| table.values.is_some()).count();
            Ok(Some((stat.tables.len() - 1, multi)))
        }
        Err(Error::Corrupt(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What there is to say about an environment.
struct State {
    info: EnvInfo,
    recovery: Recovery,
    tables: Option<(usize, usize)>,
}

impl State {
    fn json(&self) -> Value {
        let info = &self.info;
        json!({
            "uuid": Form::Hex.show(&info.uuid),
            "page_bytes": info.page_bytes,
            "key_bytes_max": info.key_bytes_max,
            "file_bytes": info.file_bytes,
            "used_bytes": info.used_bytes,
            "min_bytes": info.geometry.min_bytes,
            "max_bytes": info.max_bytes,
            "grow_bytes": info.geometry.grow_bytes,
            "shrink_bytes": info.geometry.shrink_bytes,
            "newest": info.newest,
            "visible": info.visible,
            "durable": info.durable,
            "unflushed_bytes": info.unflushed_bytes,
            "journal": info.journal.as_ref().map(journal_json),
            "recovery": format!("{:?}", self.recovery),
            "poisoned": info.poisoned,
            "repair_due": info.repair_due,
            "tables": self.tables.map(|(tables, _)| tables),
            "multimaps": self.tables.map(|(_, multi)| multi),
            "other_clients": others(info),
            "readers": info.readers.len(),
            "parked_readers": parked(info),
            "oldest_reader": info.oldest_reader().map(readers::reader_json),
            "map_bytes": info.map_bytes,
        })
    }

    fn print(&self, out: &mut Out) -> Result<(), Failure> {
        let info = &self.info;
        let used = share(info.used_bytes, info.file_bytes);
        out.field("uuid", Form::Hex.show(&info.uuid))?;
        out.field("page size", format!("{} bytes", info.page_bytes))?;
        out.field("longest key", format!("{} bytes", info.key_bytes_max))?;
        out.field("file size", size(info.file_bytes))?;
        out.field("in use", format!("{} ({used} of the file)", size(info.used_bytes)))?;
        out.field("minimum size", size(info.geometry.min_bytes))?;
        out.field("maximum size", size(info.max_bytes))?;
        out.field("address space", format!("{} in each process", size(info.map_bytes)))?;
        out.field("grows by", growth(info.geometry.grow_bytes))?;
        out.field("shrinks by", shrinking(info.geometry.shrink_bytes))?;
        out.field("newest snapshot", info.newest)?;
        if info.visible != info.newest {
            let visible = info.visible;
            out.field("visible snapshot", format!("{visible} (newer ones wait for a flush)"))?;
        }
        out.field("durable snapshot", durable(info))?;
        out.field("mode of commits", mode(info))?;
        if let Some(journal) = &info.journal {
            out.field("journal", journal_text(journal))?;
        }
        out.field("tables", tables_text(self.tables))?;
        out.field("open elsewhere", clients(info))?;
        out.field("readers", readers_text(info))?;
        out.field("state", state(info, self.recovery))?;
        if info.repair_due && self.recovery != Recovery::New {
            out.field("next id", "far ahead: after an unclean end ids jump past all used ones")?;
        }
        if info.journal.is_some_and(|journal| journal.state == JournalState::Failed) {
            out.field("PROBLEM", "the journal could not be written; commits go without it")?;
        }
        if info.poisoned {
            out.field("PROBLEM", "a flush failed; close it everywhere and open it again")?;
        }
        Ok(())
    }
}

fn journal_json(journal: &JournalInfo) -> Value {
    json!({
        "bytes": journal.bytes,
        "state": format!("{:?}", journal.state).to_lowercase(),
        "next_at": journal.next_at,
        "used_bytes": journal.used_bytes,
        "batches": journal.batches,
        "checkpoint": journal.checkpoint,
    })
}

/// Its length, and what lies in it.
fn journal_text(journal: &JournalInfo) -> String {
    let bytes = size(journal.bytes);
    match journal.state {
        JournalState::Running => format!(
            "{bytes}; batches since the checkpoint at snapshot {}: {}, of {}",
            journal.checkpoint,
            number(journal.batches),
            size(journal.used_bytes)
        ),
        JournalState::Failed => format!("{bytes}; out of use since it could not be written"),
        _ => format!("{bytes}; the next durable commit begins it"),
    }
}

/// This command is a client too.
fn others(info: &EnvInfo) -> u32 {
    info.clients.saturating_sub(1)
}

fn growth(bytes: u64) -> String {
    if bytes == 0 { "as much as its size suggests".into() } else { size(bytes) }
}

fn shrinking(bytes: u64) -> String {
    match bytes {
        0 => "nothing: a free end is kept".into(),
        bytes => format!("free ends of {} or more", size(bytes)),
    }
}

/// A mode is a choice of each program, and of each commit; the file shows what came of it.
fn mode(info: &EnvInfo) -> &'static str {
    if info.newest > info.durable {
        "lazy: the newest ones wait for a flush"
    } else {
        "all of them are flushed"
    }
}

fn tables_text(tables: Option<(usize, usize)>) -> String {
    let Some((tables, multi)) = tables else {
        return "cannot be read; see `huon check`".into();
    };
    let tables = format!("{} and the main one", number(tables as u64));
    match multi {
        0 => tables,
        1 => format!("{tables}; 1 is a multimap"),
        n => format!("{tables}; {} are multimaps", number(n as u64)),
    }
}

/// How the snapshot was found that is shown.
fn state(info: &EnvInfo, recovery: Recovery) -> &'static str {
    match recovery {
        Recovery::New => "nothing was ever committed",
        Recovery::Clean if others(info) > 0 => "in use",
        Recovery::Clean => "closed in order",
        Recovery::Newest => "not closed in order; nothing is missing",
        Recovery::Flushed => "not closed in order; this is what was flushed",
        Recovery::SteppedBack => "the newest snapshot is damaged; this is the one before it",
        Recovery::Replayed => "not closed in order; nothing durable is missing",
        Recovery::JournalGivenUp => "the journal is lost; this is the last checkpoint",
        _ => "chosen by hand",
    }
}

fn durable(info: &EnvInfo) -> String {
    match info.newest - info.durable.min(info.newest) {
        0 => info.durable.to_string(),
        behind => format!(
            "{} ({} behind, {} not flushed)",
            info.durable,
            number(behind),
            size(info.unflushed_bytes)
        ),
    }
}

fn clients(info: &EnvInfo) -> String {
    match others(info) {
        0 => "no".into(),
        n => format!("by {}", many(n.into(), "client")),
    }
}

fn parked(info: &EnvInfo) -> usize {
    info.readers.iter().filter(|reader| reader.parked).count()
}

/// How many there are, and which is furthest behind.
fn readers_text(info: &EnvInfo) -> String {
    let Some(oldest) = info.oldest_reader() else { return "0".into() };
    let parked = match parked(info) {
        0 => String::new(),
        n => format!(" ({n} parked)"),
    };
    let (count, age) = (info.readers.len(), span(oldest.age_ms));
    let behind = match oldest.ids_behind {
        0 => "at the newest snapshot".into(),
        ids => format!("{} behind", number(ids)),
    };
    format!("{count}{parked}; the oldest, in process {}, is {behind}, {age} old", oldest.pid)
}

/// `huon tables`.
pub(crate) fn tables(args: &Names) -> Outcome {
    let stat = open::look(&args.look.file)?.stat()?;
    let form = Form::hex(args.hex);
    let mut out = Out::new();
    if args.look.json {
        let tables: Vec<Value> = stat.tables.iter().map(|t| table_json(&stat, t, form)).collect();
        out.json(&json!({ "snapshot": stat.txnid, "tables": tables }))?;
    } else {
        for table in &stat.tables {
            let (name, records) = (table_name(table, form), own_records(&stat, table));
            let (order, values) = (key_order(table), value_order(table));
            let kind = kind(&order, values.as_deref(), table.value_bytes);
            let part = part_of(&table.name).map(|part| part.said());
            let told = [Some(kind).filter(|kind| !kind.is_empty()), types(table), part];
            let told: Vec<String> = told.into_iter().flatten().collect();
            if told.is_empty() {
                out.line(format_args!("{name}\t{records}"))?;
            } else {
                out.line(format_args!("{name}\t{records}\t{}", told.join("; ")))?;
            }
        }
    }
    out.finish()?;
    Ok(Code::Fine)
}

/// The names of named tables, a line each.
pub(crate) fn print_names(file: &Path) -> Outcome {
    let env = open::look(file)?;
    let mut out = Out::new();
    for name in env.read()?.table_names()? {
        out.line(Form::Plain.show(&name))?;
    }
    out.finish()?;
    Ok(Code::Fine)
}

fn table_json(stat: &Stat, table: &TableStat, form: Form) -> Value {
    let (field, name) = json_name("name", &table.name, form);
    let object = json!({
        (field): name,
        "records": own_records(stat, table),
        "order": table.order,
        "comparator": table.comparator,
        "values": table.values,
        "value_comparator": table.value_comparator,
        "value_bytes": table.value_bytes,
        "key_type": table.key_type,
        "value_type": table.value_type,
    });
    parts::add_to(object, &table.name)
}

/// The types of keys and values, for people, if a program has named them.
pub(crate) fn types(table: &TableStat) -> Option<String> {
    if table.key_type.is_none() && table.value_type.is_none() {
        return None;
    }
    let [key, value] = [&table.key_type, &table.value_type]
        .map(|name| name.as_ref().map_or("bytes".into(), |name| Form::Plain.show(name.as_bytes())));
    Some(format!("{key} -> {value}"))
}

/// How the keys of a table are ordered, for people: with the name of a program's own order.
pub(crate) fn key_order(table: &TableStat) -> String {
    order(table.order, table.comparator.as_deref())
}

/// How the values of a key are ordered, where it may have many.
pub(crate) fn value_order(table: &TableStat) -> Option<String> {
    table.values.map(|values| order(values, table.value_comparator.as_deref()))
}

fn order(kind: &str, comparator: Option<&str>) -> String {
    match comparator {
        Some(name) => format!("{kind} \"{}\"", Form::Plain.show(name.as_bytes())),
        None => kind.into(),
    }
}

/// A table's name for people.
pub(crate) fn table_name(table: &TableStat, form: Form) -> String {
    if table.name.is_empty() { "(main)".into() } else { form.show(&table.name) }
}

/// The records of a table; those of the main table without the ones that stand for tables, which
/// are none to its users.
pub(crate) fn own_records(stat: &Stat, table: &TableStat) -> u64 {
    let tables = if table.name.is_empty() { stat.tables.len() as u64 - 1 } else { 0 };
    table.entries.saturating_sub(tables)
}

/// The main table's own records, without those that stand for tables.
pub(crate) fn main_count(txn: &ReadTxn) -> Result<u64, Failure> {
    let Some(main) = txn.open_table(&TableDef::<Bytes, Bytes>::main())? else { return Ok(0) };
    Ok(main.len(txn)?.saturating_sub(txn.table_names()?.len() as u64))
}

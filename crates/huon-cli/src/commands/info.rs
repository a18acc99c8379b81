//! What an environment says about itself: `info`, `tables`, `readers`.

use std::fmt::Display;

use huon::{EnvInfo, HeldBy, ReadTxn, ReaderInfo, Recovery};
use serde_json::{Value, json};

use crate::args::Look;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::text::{Form, number, size, span};

/// `huon info`.
pub(crate) fn info(args: &Look) -> Outcome {
    let env = open::look(&args.file)?;
    let info = env.info()?;
    let tables = env.read()?.table_names()?.len();
    let mut out = Out::new();
    match args.json {
        true => out.json(&info_json(&info, env.recovery(), tables))?,
        false => info_text(&mut out, &info, env.recovery(), tables)?,
    }
    out.finish()?;
    Ok(if info.poisoned { Code::Problems } else { Code::Fine })
}

fn info_json(info: &EnvInfo, recovery: Recovery, tables: usize) -> Value {
    json!({
        "uuid": Form::Hex.show(&info.uuid),
        "page_bytes": info.page_bytes,
        "key_bytes_max": info.key_bytes_max,
        "file_bytes": info.file_bytes,
        "used_bytes": info.used_bytes,
        "upper_bytes": info.upper_bytes,
        "newest": info.newest,
        "visible": info.visible,
        "durable": info.durable,
        "unflushed_bytes": info.unflushed_bytes,
        "recovery": format!("{recovery:?}"),
        "poisoned": info.poisoned,
        "tables": tables,
        "other_clients": others(info),
        "readers": info.readers.len(),
    })
}

/// This command is a client too.
fn others(info: &EnvInfo) -> u32 {
    info.clients.saturating_sub(1)
}

fn info_text(
    out: &mut Out,
    info: &EnvInfo,
    recovery: Recovery,
    tables: usize,
) -> Result<(), Failure> {
    let of = |part: u64, whole: u64| (part as f64 / whole.max(1) as f64 * 100.0).round();
    out.field("uuid", Form::Hex.show(&info.uuid))?;
    out.field("page size", format!("{} bytes", info.page_bytes))?;
    out.field("longest key", format!("{} bytes", info.key_bytes_max))?;
    out.field("file size", size(info.file_bytes))?;
    let used = of(info.used_bytes, info.file_bytes);
    out.field("in use", format!("{} ({used}% of the file)", size(info.used_bytes)))?;
    out.field("upper limit", size(info.upper_bytes))?;
    out.field("newest snapshot", info.newest)?;
    out.field("durable snapshot", durable(info))?;
    out.field("tables", format!("{} and the main one", number(tables as u64)))?;
    out.field("open elsewhere", clients(info))?;
    out.field("readers", info.readers.len())?;
    match recovery {
        Recovery::SteppedBack => {
            out.field("note", "the newest snapshot is damaged; this is the one before it")?
        }
        Recovery::Newest => out.field("note", "it was not closed cleanly; nothing is missing")?,
        _ => {}
    }
    if info.poisoned {
        out.field("PROBLEM", "a flush failed; close it everywhere and open it again")?;
    }
    Ok(())
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
        1 => "by 1 client".into(),
        n => format!("by {n} clients"),
    }
}

/// `huon tables`.
pub(crate) fn tables(args: &Look) -> Outcome {
    let env = open::look(&args.file)?;
    let txn = env.read()?;
    let form = Form::hex(args.hex);
    let mut out = Out::new();
    let mut list = Vec::new();
    for (name, records) in counts(&txn)? {
        match args.json {
            true => list.push(json!({ "name": form.show(&name), "records": records })),
            false if name.is_empty() => out.line(format_args!("(main)\t{records}"))?,
            false => out.line(format_args!("{}\t{records}", form.show(&name)))?,
        }
    }
    if args.json {
        out.json(&json!({ "snapshot": txn.id(), "tables": list }))?;
    }
    out.finish()?;
    Ok(Code::Fine)
}

/// All tables and how many records they have; the main one first, under an empty name.
fn counts(txn: &ReadTxn) -> Result<Vec<(Vec<u8>, u64)>, Failure> {
    let names = txn.table_names()?;
    let mut counts = vec![(Vec::new(), main_count(txn)?)];
    for name in names {
        let def = huon::TableDef::<huon::Bytes, huon::Bytes>::named(name.clone());
        if let Some(table) = txn.open(&def.ordered(huon::Order::Stored))? {
            counts.push((name, table.count(txn)?));
        }
    }
    Ok(counts)
}

/// The main table's own records, without those that stand for tables.
pub(crate) fn main_count(txn: &ReadTxn) -> Result<u64, Failure> {
    let Some(main) = txn.open(&open::definition(None)?)? else { return Ok(0) };
    Ok(main.count(txn)?.saturating_sub(txn.table_names()?.len() as u64))
}

/// `huon readers`.
pub(crate) fn readers(args: &Look) -> Outcome {
    let env = open::look(&args.file)?;
    let info = env.info()?;
    let page_bytes = u64::from(info.page_bytes);
    let readers: Vec<(ReaderInfo, u64)> = env
        .holders()?
        .into_iter()
        .filter_map(|holder| match holder.by {
            HeldBy::Reader(reader) => Some((reader, holder.pages * page_bytes)),
            _ => None,
        })
        .collect();
    let mut out = Out::new();
    match (args.json, readers.is_empty()) {
        (true, _) => {
            let readers: Vec<Value> = readers.iter().map(reader_json).collect();
            out.json(&json!({ "newest": info.newest, "readers": readers }))?;
        }
        (false, true) => out.line("no readers")?,
        (false, false) => {
            out.line(reader_row("client", "pid", "snapshot", "lag", "age", "holds"))?;
            for (r, held) in readers {
                let (lag, age) = (number(r.lag), span(r.age_ms));
                out.line(reader_row(r.client, r.pid, r.txnid, lag, age, size(held)))?;
            }
        }
    }
    out.finish()?;
    Ok(Code::Fine)
}

fn reader_json((reader, held_bytes): &(ReaderInfo, u64)) -> Value {
    json!({
        "client": reader.client,
        "pid": reader.pid,
        "snapshot": reader.txnid,
        "lag": reader.lag,
        "age_ms": reader.age_ms,
        "held_bytes": held_bytes,
    })
}

fn reader_row(
    client: impl Display,
    pid: impl Display,
    snapshot: impl Display,
    lag: impl Display,
    age: impl Display,
    holds: impl Display,
) -> String {
    format!("{client:>7} {pid:>10} {snapshot:>20} {lag:>10} {age:>10} {holds:>12}")
}

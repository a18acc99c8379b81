//! Where the space is: `stat`.

use huon::{RetainedBy, RetainedSnapshot, Stat, TableStat};
use serde_json::{Value, json};

use crate::args::{Look, Names};
use crate::commands::info::{own_records, table_name, types, value_order};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::parts;
use crate::text::{Form, json_name, number, size, span};

/// `huon stat`.
pub(crate) fn stat(args: &Names) -> Outcome {
    let stat = open::look(&args.look.file)?.stat()?;
    let form = Form::hex(args.hex);
    let mut out = Out::new();
    if args.look.json {
        out.json(&as_json(&stat, form))?;
    } else {
        print_space(&mut out, &stat)?;
        print_retained(&mut out, &stat)?;
        print_tables(&mut out, &stat, form)?;
    }
    out.finish()?;
    Ok(Code::Fine)
}

/// The part of it that is about the file and not about tables.
pub(crate) fn space(args: &Look) -> Outcome {
    let stat = open::look(&args.file)?.stat()?;
    let mut out = Out::new();
    print_space(&mut out, &stat)?;
    print_retained(&mut out, &stat)?;
    out.finish()?;
    Ok(Code::Fine)
}

fn as_json(stat: &Stat, form: Form) -> Value {
    let table = |table: &TableStat| {
        let (field, name) = json_name("name", &table.name, form);
        let object = json!({
            (field): name,
            "order": table.order,
            "comparator": table.comparator,
            "values": table.values,
            "value_comparator": table.value_comparator,
            "value_bytes": table.value_bytes,
            "key_type": table.key_type,
            "value_type": table.value_type,
            "entries": table.entries,
            "depth": table.depth,
            "branch_pages": table.branch_pages,
            "leaf_pages": table.leaf_pages,
            "overflow_pages": table.overflow_pages,
            "changed": table.changed,
        });
        parts::add_to(object, &table.name)
    };
    let retained = |snapshot: &RetainedSnapshot| {
        let (by, reader) = match snapshot.by {
            RetainedBy::Durable => ("durable", None),
            RetainedBy::Flush => ("flush", None),
            RetainedBy::Reader(reader) => ("reader", Some(reader)),
            RetainedBy::Name => ("name", None),
            _ => ("other", None),
        };
        json!({
            "by": by,
            "pid": reader.map(|reader| reader.pid),
            "ids_behind": reader.map(|reader| reader.ids_behind),
            "age_ms": reader.map(|reader| reader.age_ms),
            "parked": reader.map(|reader| reader.parked),
            "snapshot": snapshot.txnid,
            "pages": snapshot.pages,
            "alone_pages": snapshot.alone_pages,
        })
    };
    json!({
        "snapshot": stat.txnid,
        "page_bytes": stat.page_bytes,
        "file_bytes": stat.file_bytes,
        "meta_pages": stat.meta_pages,
        "live_pages": stat.live_pages,
        "free_list_pages": stat.free_list_pages,
        "reusable_pages": stat.reusable_pages,
        "retained_pages": stat.retained_pages,
        "tail_bytes": stat.tail_bytes,
        "journal_bytes": stat.journal_bytes,
        "retained_snapshots": stat.retained_snapshots.iter().map(retained).collect::<Vec<_>>(),
        "tables": stat.tables.iter().map(table).collect::<Vec<_>>(),
    })
}

fn print_space(out: &mut Out, stat: &Stat) -> Result<(), Failure> {
    let page_bytes = u64::from(stat.page_bytes);
    out.line(format_args!("snapshot {}, pages of {page_bytes} bytes", stat.txnid))?;
    out.line("")?;
    let mut row = |what: &str, pages: u64, bytes: u64, why: &str| {
        let share = bytes as f64 / stat.file_bytes.max(1) as f64 * 100.0;
        let (pages, bytes) = (number(pages), size(bytes));
        out.line(format_args!("{what:<10} {pages:>11} {bytes:>11} {share:>5.1}%  {why}"))
    };
    let mut pages_row = |what, pages, why| row(what, pages, pages * page_bytes, why);
    pages_row("metas", stat.meta_pages, "what the file begins with")?;
    pages_row("live", stat.live_pages, "pages of tables")?;
    pages_row("free list", stat.free_list_pages, "pages that list free ones")?;
    pages_row("reusable", stat.reusable_pages, "free for the next writer")?;
    pages_row("retained", stat.retained_pages, "free, but an older snapshot sees them")?;
    row("tail", stat.tail_bytes / page_bytes, stat.tail_bytes, "not used yet")?;
    row("file", stat.file_bytes / page_bytes, stat.file_bytes, "all of it")?;
    if stat.journal_bytes > 0 {
        out.line(format_args!("beside it, a journal of {}", size(stat.journal_bytes)))?;
    }
    Ok(())
}

fn print_retained(out: &mut Out, stat: &Stat) -> Result<(), Failure> {
    let page_bytes = u64::from(stat.page_bytes);
    let mut heading = "\nretained by";
    for snapshot in stat.retained_snapshots.iter().filter(|snapshot| snapshot.pages > 0) {
        let name = match snapshot.by {
            RetainedBy::Durable => "the durable snapshot, until the next flush".into(),
            RetainedBy::Flush => "a flush that is under way".into(),
            RetainedBy::Reader(r) => {
                let kind = if r.parked { "parked reader" } else { "reader" };
                format!("{kind} in process {}, {} old", r.pid, span(r.age_ms))
            }
            RetainedBy::Name => format!("the named snapshot {}", snapshot.txnid),
            _ => "another snapshot".into(),
        };
        if !heading.is_empty() {
            out.line(heading)?;
            heading = "";
        }
        let (all, alone) =
            (size(snapshot.pages * page_bytes), size(snapshot.alone_pages * page_bytes));
        out.line(format_args!("  {name}: {all}, {alone} of it alone"))?;
    }
    Ok(())
}

fn print_tables(out: &mut Out, stat: &Stat, form: Form) -> Result<(), Failure> {
    let page_bytes = u64::from(stat.page_bytes);
    out.line("")?;
    out.line(format_args!(
        "{:<20} {:<10} {:>12} {:>5} {:>8} {:>8} {:>11}",
        "table", "order", "records", "depth", "branches", "leaves", "size"
    ))?;
    for table in &stat.tables {
        let (name, records) = (table_name(table, form), own_records(stat, table));
        let bytes = size(table.pages() * page_bytes);
        out.line(format_args!(
            "{name:<20} {:<10} {:>12} {:>5} {:>8} {:>8} {bytes:>11}",
            table.order,
            number(records),
            table.depth,
            number(u64::from(table.branch_pages)),
            number(u64::from(table.leaf_pages)),
        ))?;
        if let Some(name) = &table.comparator {
            let name = Form::Plain.show(name.as_bytes());
            out.line(format_args!("  its keys in the order of the comparator \"{name}\""))?;
        }
        if let Some(types) = types(table) {
            out.line(format_args!("  its types: {types}"))?;
        }
        if let Some(values) = value_order(table) {
            let bytes = match table.value_bytes {
                None | Some(0) => String::new(),
                Some(bytes) => format!(", {bytes} bytes each"),
            };
            out.line(format_args!("  a multimap, its values in the order {values}{bytes}"))?;
        }
    }
    match parts::note(stat.tables.iter().map(|table| &table.name[..])) {
        Some(note) => out.line(format_args!("\nnote: {note}")),
        None => Ok(()),
    }
}

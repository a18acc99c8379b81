//! Whether a file is whole: `check`.

use std::ops::ControlFlow;

use huon::{CheckOptions, CheckReport, Problem, Progress};
use serde_json::{Value, json};

use crate::args::Check;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::paint::{BAD, GOOD, painted};
use crate::parts::{self, part_of};
use crate::progress::Bar;
use crate::table::kind;
use crate::text::{Form, json_name, many, number, share};

/// Problems that are printed; the others are counted.
const SHOWN_MAX: usize = 50;

/// `huon check`.
pub(crate) fn check(args: &Check) -> Outcome {
    let env = open::look_from(&args.look.file, args.start.meta_slot)?;
    let stepped_back = open::is_stepped_back(&env);
    let bar = Bar::bytes("checking");
    let mut report = |now: &Progress| {
        bar.at(now.done_bytes, now.total_bytes);
        ControlFlow::Continue(())
    };
    let found = env.check_with(CheckOptions::new().progress(&mut report))?;
    drop(bar);
    let mut out = Out::new();
    if args.look.json {
        out.json(&as_json(&found, stepped_back))?;
    } else if !args.quiet {
        if args.verbose {
            print_tables(&mut out, &found)?;
        }
        print(&mut out, &found, stepped_back)?;
    }
    out.finish()?;
    Ok(if found.is_clean() && !stepped_back { Code::Fine } else { Code::Problems })
}

fn as_json(found: &CheckReport, stepped_back: bool) -> Value {
    let problem = |p: &Problem| {
        let no_table = || ("table".into(), Value::Null);
        let named = |name: &Vec<u8>| json_name("table", name, Form::Plain);
        let (field, table) = p.table.as_ref().map_or_else(no_table, named);
        json!({ "page": p.pgno, (field): table, "text": p.text })
    };
    let unordered = |name: &Vec<u8>| {
        let (field, name) = json_name("name", name, Form::Plain);
        json!({ (field): name })
    };
    let tables: Vec<Value> = found
        .tables
        .iter()
        .map(|t| {
            let (field, name) = json_name("name", &t.name, Form::Plain);
            json!({
                (field): name,
                "order": t.order,
                "values": t.values,
                "entries": t.entries,
                "ordered": t.ordered,
            })
        })
        .collect();
    json!({
        "snapshot": found.txnid,
        "clean": found.is_clean() && !stepped_back,
        "stepped_back": stepped_back,
        "problem_count": found.problem_count,
        "problems": found.problems.iter().map(problem).collect::<Vec<_>>(),
        "notes": found.notes,
        "tables": tables,
        "tables_unordered": found.tables_unordered.iter().map(unordered).collect::<Vec<_>>(),
        "journal_batches": found.journal_batches,
        "reachable_pages": found.reachable_pages,
        "free_list_pages": found.free_list_pages,
        "free_pages": found.free_pages,
        "retained_pages": found.retained_pages,
        "pages_total": found.pages_total,
    })
}

/// A line for each table.
fn print_tables(out: &mut Out, found: &CheckReport) -> Result<(), Failure> {
    // The records that stand for tables are none to a user of the main table.
    let named = (found.tables.len() as u64).saturating_sub(1);
    for table in &found.tables {
        let name = if table.name.is_empty() {
            "main table".into()
        } else {
            format!("table \"{}\"", Form::Plain.show(&table.name))
        };
        let kind = match (part_of(&table.name), kind(table.order, table.values, None)) {
            (Some(part), _) => format!(" ({})", part.said()),
            (None, kind) if kind.is_empty() => kind,
            (None, kind) => format!(" ({kind})"),
        };
        let pages = [table.branch_pages, table.leaf_pages, table.overflow_pages].map(u64::from);
        let pages: u64 = pages.iter().sum();
        let bytes = pages * u64::from(found.page_bytes);
        out.line(format_args!(
            "{name}{kind}: records {}, levels {}, pages {}, {} full",
            number(table.entries.saturating_sub(if table.name.is_empty() { named } else { 0 })),
            table.depth,
            number(pages),
            share(table.used_bytes, bytes),
        ))?;
    }
    Ok(())
}

fn print(out: &mut Out, found: &CheckReport, stepped_back: bool) -> Result<(), Failure> {
    for problem in found.problems.iter().take(SHOWN_MAX) {
        out.line(problem)?;
    }
    let shown = found.problems.len().min(SHOWN_MAX) as u64;
    if found.problem_count > shown {
        out.line(format_args!("... and {} more", number(found.problem_count - shown)))?;
    }
    for table in &found.tables_unordered {
        let name = Form::Plain.show(table);
        out.line(format_args!(
            "note: the order of table \"{name}\" is its program's own; not checked"
        ))?;
    }
    for note in &found.notes {
        out.line(format_args!("note: {note}"))?;
    }
    if let Some(note) = parts::note(found.tables.iter().map(|table| &table.name[..])) {
        out.line(format_args!("note: {note}; `huon lsm check` verifies what they hold"))?;
    }
    let free = found.free_pages + found.retained_pages;
    let multi = match found.tables.iter().filter(|table| table.values.is_some()).count() {
        0 => String::new(),
        n => format!(" ({})", many(n as u64, "multimap")),
    };
    out.line(format_args!(
        "snapshot {}: {}, {} in {}{multi}, {} free, {} for the free list",
        found.txnid,
        many(found.pages_total, "page"),
        number(found.reachable_pages),
        many(found.tables.len() as u64, "table"),
        number(free),
        number(found.free_list_pages),
    ))?;
    match found.problem_count {
        0 if stepped_back => out.line("no problems in this snapshot, but a newer one is damaged"),
        0 => out.line(painted(GOOD, "no problems")),
        n => out.line(painted(BAD, many(n, "problem"))),
    }
}

//! Lists of records: `ls`.

use std::io::{self, IsTerminal};
use std::ops::Bound;

use huon::{Error, ReadTxn};
use serde_json::json;

use crate::args::Ls;
use crate::commands::info::main_count;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::table::{self, AnyTable, Part, Records};
use crate::text::Form;

/// `huon ls`.
pub(crate) fn ls(args: &Ls) -> Outcome {
    let form = Form::hex(args.hex);
    let env = open::look(&args.target.file)?;
    let txn = env.read()?;
    let table = table::named(&txn, &args.target)?;
    let part = part(args, form)?;
    let records = if args.keys { table.keys(&txn, &part) } else { table.records(&txn, &part) };
    let records = records.map_err(|error| refused(error, &part))?;
    let mut out = Out::new();
    let is_many = matches!(table, AnyTable::Many(_));
    let printed = if args.reverse {
        list(&mut out, Box::new(records.rev()), is_many, args, form)?
    } else {
        list(&mut out, records, is_many, args, form)?
    };
    out.finish()?;
    if printed == 0 && args.target.table.is_none() && io::stdout().is_terminal() {
        hint_at_tables(&txn, args)?;
    }
    Ok(Code::Fine)
}

/// Why there is no such part.
fn refused(error: Error, part: &Part) -> Failure {
    match (error, part) {
        (Error::TableKind, Part::Prefix(_)) => Failure::usage(
            "keys that begin alike do not lie together in this table, as its order is not that of \
             bytes; leave --prefix out.",
        ),
        (error, _) => error.into(),
    }
}

/// The part of the table that the options name.
fn part(args: &Ls, form: Form) -> Result<Part, Failure> {
    if let Some(prefix) = &args.prefix {
        return Ok(Part::Prefix(form.argument("prefix", prefix)?));
    }
    let read = |key: &Option<_>| key.as_deref().map(|key| form.argument("key", key)).transpose();
    let (from, to) = (read(&args.from)?, read(&args.to)?);
    if from.is_none() && to.is_none() {
        return Ok(Part::All);
    }
    let from = from.map_or(Bound::Unbounded, Bound::Included);
    Ok(Part::Between(from, to.map_or(Bound::Unbounded, Bound::Excluded)))
}

fn list(
    out: &mut Out,
    records: Records<'_>,
    is_many: bool,
    args: &Ls,
    form: Form,
) -> Result<u64, Failure> {
    let limit = args.limit.unwrap_or(u64::MAX);
    let (mut printed, mut last) = (0, None);
    for record in records {
        if printed == limit {
            break;
        }
        let (key, value) = record?;
        // A multimap has a key once for each value.
        if args.keys && is_many && last.replace(key) == Some(key) {
            continue;
        }
        let key = form.show(key);
        match (args.json, args.keys) {
            (true, true) => out.json(&json!({ "key": key }))?,
            (true, false) => out.json(&json!({ "key": key, "value": form.show(value) }))?,
            (false, true) => out.line(key)?,
            (false, false) => out.line(format_args!("{key}\t{}", form.show(value)))?,
        }
        printed += 1;
    }
    Ok(printed)
}

/// Somebody looks at an empty main table, while what they look for is in a named one.
fn hint_at_tables(txn: &ReadTxn, args: &Ls) -> Result<(), Failure> {
    let tables = txn.table_names()?.len();
    if main_count(txn)? == 0 && tables > 0 {
        let path = args.target.file.display();
        tell!("The main table is empty; `huon tables {path}` lists {tables} more.");
    }
    Ok(())
}

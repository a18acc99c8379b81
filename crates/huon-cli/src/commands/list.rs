//! Lists of records: `ls`.

use std::io::{self, IsTerminal};

use huon::ReadTxn;

use crate::args::Ls;
use crate::commands::info::main_count;
use crate::commands::show::{Columns, Printer};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::table::{self, Records};

/// `huon ls`.
pub(crate) fn ls(args: &Ls) -> Outcome {
    let env = open::look(&args.target.file)?;
    let txn = open::read(&env, args.at.snapshot.as_deref())?;
    let table = table::named(&txn, &args.target)?;
    let types = table::types(&txn, &args.target, &args.types)?;
    let part = table::part(&args.part, &types)?;
    let records = if args.keys { table.keys(&txn, &part) } else { table.records(&txn, &part) };
    let records = records.map_err(|error| table::refused(error, &part))?;
    let columns = if args.keys { Columns::Keys } else { Columns::Both };
    let mut printer = Printer::new(args.format.format(), &types, columns)?;
    let records: Records<'_> = if args.reverse { Box::new(records.rev()) } else { records };
    let printed = list(&mut printer, records, args.limit.unwrap_or(u64::MAX))?;
    printer.finish()?;
    if printed == 0 && args.target.table.is_none() && io::stdout().is_terminal() {
        hint_at_tables(&txn, args)?;
    }
    Ok(Code::Fine)
}

/// Prints them up to a limit; how many that were.
fn list(printer: &mut Printer<'_>, records: Records<'_>, limit: u64) -> Result<u64, Failure> {
    let mut printed = 0;
    for record in records {
        if printed == limit {
            break;
        }
        let (key, value) = record?;
        printer.record(key, value)?;
        printed += 1;
    }
    Ok(printed)
}

/// The main table is empty, while there are named ones, which a newcomer may look for.
fn hint_at_tables(txn: &ReadTxn, args: &Ls) -> Result<(), Failure> {
    let tables = txn.table_names()?.len();
    if main_count(txn)? == 0 && tables > 0 {
        let path = args.target.file.display();
        tell!("The main table is empty; `huon tables {path}` lists {tables} more.");
    }
    Ok(())
}

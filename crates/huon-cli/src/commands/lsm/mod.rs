//! LSM tables: `lsm stat`, `lsm compact`, `lsm check`, `lsm dump`, `lsm load`, `lsm drop`.

mod check;
mod compact;
mod stat;
mod text;

use std::ffi::OsStr;
use std::path::Path;

use huon::{Env, Txn};
use huon_lsm::{Lsm, LsmStat, RawLsmTable};

use crate::args;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::parts::part_of;
use crate::table;
use crate::text::Form;

/// Runs one of the commands.
pub(super) fn run(command: &args::Lsm) -> Outcome {
    match command {
        args::Lsm::Stat(args) => stat::stat(args),
        args::Lsm::Compact(args) => compact::compact(args),
        args::Lsm::Check(args) => check::check(args),
        args::Lsm::Dump(args) => text::dump(args),
        args::Lsm::Load(args) => text::load(args),
        args::Lsm::Drop(args) => drop_table(args),
    }
}

/// An LSM table and its name.
type Named = (Vec<u8>, RawLsmTable);

/// The name of the LSM table that the user names, which must be there, or those of all.
fn names(
    lsm: &Lsm,
    txn: &impl Txn,
    file: &Path,
    table: Option<&OsStr>,
) -> Result<Vec<Vec<u8>>, Failure> {
    let names = lsm.table_names(txn)?;
    let Some(wanted) = table else { return Ok(names) };
    let wanted = open::name(Some(wanted))?;
    if names.contains(&wanted) { Ok(vec![wanted]) } else { Err(no_lsm_table(txn, file, &wanted)?) }
}

/// The same with their handles.
fn tables(
    lsm: &Lsm,
    txn: &impl Txn,
    file: &Path,
    table: Option<&OsStr>,
) -> Result<Vec<Named>, Failure> {
    let open = |name: Vec<u8>| lsm.raw_table(&name).map(|table| (name, table));
    let names = names(lsm, txn, file, table)?;
    Ok(names.into_iter().map(open).collect::<huon::Result<_>>()?)
}

/// The beginning of a sentence about a table with a merge operator.
fn needs_operator(name: &[u8], stat: &LsmStat) -> String {
    let (name, operator) = (Form::Plain.show(name), Form::Plain.show(stat.operator.as_bytes()));
    format!("{name}: only programs that have its merge operator \"{operator}\" can")
}

/// Why there is no LSM table of that name.
fn no_lsm_table(txn: &impl Txn, file: &Path, name: &[u8]) -> Result<Failure, Failure> {
    let (path, shown) = (file.display(), Form::Plain.show(name));
    Ok(if let Some(part) = part_of(name) {
        let table = Form::Plain.show(part.table);
        Failure::usage(format!("\"{shown}\" is {}; name that: --table {table}.", part.said()))
    } else if name.is_empty() {
        Failure::usage("the main table is an ordinary one; `huon stat` and its like show it.")
    } else if table::find(txn, name)?.is_some() {
        Failure::usage(format!(
            "table \"{shown}\" of {path} is an ordinary one and no LSM table; `huon stat`, `huon \
             check`, `huon ls` and `huon dump` are for it."
        ))
    } else {
        let text = format!(
            "{path} has no LSM table \"{shown}\"; `huon lsm stat {path}` lists what it has."
        );
        Failure::Told(Code::Problems, text)
    })
}

/// `huon lsm drop`.
fn drop_table(args: &args::LsmDrop) -> Outcome {
    let env = open::change(&args.file, &args.writing, false)?;
    let lsm = Lsm::open(&env)?;
    let found = tables(&lsm, &env.read()?, &args.file, Some(&args.table))?;
    env.update(|txn| found.iter().try_for_each(|(_, table)| table.drop_table(txn)))?;
    close(env, lsm)?;
    Ok(Code::Fine)
}

/// Closes the environment in order.
fn close(env: Env, lsm: Lsm) -> Result<(), Failure> {
    drop(lsm);
    env.close()?;
    Ok(())
}

//! Whether LSM tables are whole: `lsm check`.

use huon::{Error, ReadTxn};
use huon_lsm::Lsm;
use serde_json::{Value, json};

use super::names;
use crate::args::LsmCheck;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::paint::{BAD, GOOD, painted};
use crate::parts::part_of;
use crate::progress::Bar;
use crate::text::{Form, json_name, many, number};

type Found = (Vec<u8>, huon_lsm::LsmCheck);

/// `huon lsm check`.
pub(super) fn check(args: &LsmCheck) -> Outcome {
    let file = &args.target.file;
    let env = open::look(file)?;
    let (lsm, txn) = (Lsm::open(&env)?, env.read()?);
    let names = names(&lsm, &txn, file, args.target.table.as_deref())?;
    let bar = Bar::count("checking", names.len() as u64);
    let mut found: Vec<Found> = Vec::new();
    for name in names {
        let checked = check_table(&lsm, &txn, &name)?;
        found.push((name, checked));
        bar.at(found.len() as u64, 0);
    }
    drop(bar);
    let strays = if args.target.table.is_none() { strays(&txn, &found)? } else { Vec::new() };
    let mut out = Out::new();
    if args.json {
        out.json(&as_json(&txn, &found, &strays))?;
    } else if !args.quiet {
        print(&mut out, &found, &strays, args.verbose)?;
    }
    out.finish()?;
    let is_clean = strays.is_empty() && found.iter().all(|(_, checked)| checked.is_clean());
    Ok(if is_clean { Code::Fine } else { Code::Problems })
}

/// Checks a table. What cannot be read of it is a problem of that table alone.
fn check_table(lsm: &Lsm, txn: &ReadTxn, name: &[u8]) -> Result<huon_lsm::LsmCheck, Failure> {
    let checked = lsm.raw_table(name).and_then(|table| table.check(txn));
    match checked {
        Err(error @ (Error::Corrupt(_) | Error::Decode(_) | Error::Version(_))) => {
            let mut checked = huon_lsm::LsmCheck::default();
            checked.problems.push(error.to_string());
            Ok(checked)
        }
        checked => Ok(checked?),
    }
}

/// Tables that have the names of runs of an LSM table which is not there.
fn strays(txn: &ReadTxn, found: &[Found]) -> Result<Vec<Vec<u8>>, Failure> {
    let is_stray = |name: &Vec<u8>| {
        part_of(name).is_some_and(|part| found.iter().all(|(known, _)| known != part.table))
    };
    Ok(txn.table_names()?.into_iter().filter(is_stray).collect())
}

fn said(stray: &[u8]) -> String {
    let part = part_of(stray).map(|part| part.said()).unwrap_or_default();
    format!("table \"{}\" is {part}, which is not there", Form::Plain.show(stray))
}

fn as_json(txn: &ReadTxn, found: &[Found], strays: &[Vec<u8>]) -> Value {
    let table = |(name, checked): &Found| {
        let (field, name) = json_name("name", name, Form::Plain);
        let run = |run: &huon_lsm::RunCheck| {
            json!({
                "id": run.id,
                "number": run.number,
                "open": run.is_open,
                "records": run.records,
                "tombstones": run.tombstones,
                "digest": format!("{:016x}", run.digest),
            })
        };
        json!({
            (field): name,
            "clean": checked.is_clean(),
            "problems": checked.problems,
            "runs": checked.runs.iter().map(run).collect::<Vec<_>>(),
        })
    };
    json!({
        "snapshot": txn.id(),
        "clean": strays.is_empty() && found.iter().all(|(_, checked)| checked.is_clean()),
        "problems": strays.iter().map(|name| said(name)).collect::<Vec<_>>(),
        "tables": found.iter().map(table).collect::<Vec<_>>(),
    })
}

fn print(
    out: &mut Out,
    found: &[Found],
    strays: &[Vec<u8>],
    is_verbose: bool,
) -> Result<(), Failure> {
    let (mut runs, mut records, mut problems) = (0, 0, strays.len() as u64);
    for (name, checked) in found {
        let name = Form::Plain.show(name);
        for run in &checked.runs {
            runs += 1;
            records += run.records;
            if is_verbose {
                let open = if run.is_open { ", open" } else { "" };
                out.line(format_args!(
                    "LSM table \"{name}\": run {} ({}{open}): records {}, tombstones {}",
                    run.id,
                    run.number,
                    number(run.records),
                    number(run.tombstones),
                ))?;
            }
        }
        for problem in &checked.problems {
            problems += 1;
            out.line(format_args!("LSM table \"{name}\": {problem}"))?;
        }
    }
    for stray in strays {
        out.line(said(stray))?;
    }
    out.line(format_args!(
        "{}, {}, {}",
        many(found.len() as u64, "LSM table"),
        many(runs, "run"),
        many(records, "record"),
    ))?;
    match problems {
        0 => out.line(painted(GOOD, "no problems")),
        n => out.line(painted(BAD, many(n, "problem"))),
    }
}

//! Single records and lists of them: `get`, `put`, `del`, `ls`, `count`.

use std::ffi::OsStr;
use std::io::{self, BufRead, IsTerminal, Read};
use std::ops::Bound;

use huon::{Bytes, RawTable, ReadTxn, WriteTxn};
use serde_json::json;

use crate::args::{Count, Del, Get, Ls, Put};
use crate::commands::info::main_count;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::text::Form;

/// `huon get`.
pub(crate) fn get(args: &Get) -> Outcome {
    let form = Form::hex(args.hex);
    let env = open::look(&args.target.file)?;
    let txn = env.read()?;
    let table = open::table(&txn, &args.target)?;
    let mut out = Out::new();
    let mut absent = Absent::default();
    let many = is_standard(&args.key);
    let mut get_one = |key: Vec<u8>| {
        let Some(value) = table.get(&txn, &key)? else {
            absent.note(&key, form);
            return Ok(());
        };
        if args.raw {
            out.bytes(value)
        } else if args.json {
            out.json(&json!({ "key": form.show(&key), "value": form.show(value) }))
        } else if many {
            out.line(format_args!("{}\t{}", form.show(&key), form.show(value)))
        } else {
            out.line(form.show(value))
        }
    };
    match many {
        true => each_line(|line| get_one(key_of(form, line)?))?,
        false => get_one(form.argument("key", &args.key)?)?,
    }
    out.finish()?;
    Ok(absent.outcome(&args.target.file))
}

/// `huon put`.
pub(crate) fn put(args: &Put) -> Outcome {
    let form = Form::hex(args.hex);
    let stdin = is_standard(&args.key);
    let record = match (&args.value, stdin) {
        (Some(_), true) => {
            let text =
                "`put FILE -` reads whole records and takes no value; the key \"-\" is \\2d.";
            return Err(Failure::usage(text));
        }
        (None, false) => {
            let text = "put needs a value after the key, or `-` to read it from standard input.";
            return Err(Failure::usage(text));
        }
        (None, true) => None,
        (Some(value), false) => Some((form.argument("key", &args.key)?, value_of(form, value)?)),
    };
    let env = open::change(&args.target.file, &args.writing, true)?;
    let mut txn = env.write()?;
    let table = txn.create(&open::definition(args.target.table.as_deref())?)?;
    let mut kept = 0;
    let mut put_one = |txn: &mut WriteTxn, key: &[u8], value: &[u8]| {
        if !args.new {
            table.put(txn, key, value)?;
        } else if !table.insert_new(txn, key, value)? {
            eprintln!("huon: key {} is there already and was left as it is.", form.show(key));
            kept += 1;
        }
        Ok::<(), Failure>(())
    };
    match record {
        Some((key, value)) => put_one(&mut txn, &key, &value)?,
        None => each_line(|line| {
            let Some(tab) = line.iter().position(|&b| b == b'\t') else {
                return Err(wrong("there is no tab between key and value"));
            };
            let (key, value) = (key_of(form, &line[..tab])?, key_of(form, &line[tab + 1..])?);
            put_one(&mut txn, &key, &value)
        })?,
    }
    txn.commit()?;
    Ok(if kept == 0 { Code::Fine } else { Code::Problems })
}

/// `huon del`.
pub(crate) fn del(args: &Del) -> Outcome {
    let form = Form::hex(args.hex);
    let env = open::change(&args.target.file, &args.writing, false)?;
    let mut txn = env.write()?;
    let table = open::table_to_change(&txn, &args.target)?;
    let mut absent = Absent::default();
    let mut delete_one = |key: Vec<u8>| {
        if !table.delete(&mut txn, &key)? {
            absent.note(&key, form);
        }
        Ok(())
    };
    match is_standard(&args.key) {
        true => each_line(|line| delete_one(key_of(form, line)?))?,
        false => delete_one(form.argument("key", &args.key)?)?,
    }
    txn.commit()?;
    Ok(absent.outcome(&args.target.file))
}

/// `huon count`.
pub(crate) fn count(args: &Count) -> Outcome {
    let env = open::look(&args.target.file)?;
    let txn = env.read()?;
    let table = open::table(&txn, &args.target)?;
    let is_main = args.target.table.as_ref().is_none_or(|name| name.is_empty());
    let count = if is_main { main_count(&txn)? } else { table.count(&txn)? };
    let mut out = Out::new();
    match args.json {
        true => out.json(&json!({ "count": count }))?,
        false => out.line(count)?,
    }
    out.finish()?;
    Ok(Code::Fine)
}

/// `huon ls`.
pub(crate) fn ls(args: &Ls) -> Outcome {
    let form = Form::hex(args.hex);
    let env = open::look(&args.target.file)?;
    let txn = env.read()?;
    let table = open::table(&txn, &args.target)?;
    let range = part(&txn, table, args, form)?;
    let limit = args.limit.unwrap_or(u64::MAX);
    let mut out = Out::new();
    let printed = match args.reverse {
        true => list(&mut out, range.rev(), limit, args, form)?,
        false => list(&mut out, range, limit, args, form)?,
    };
    out.finish()?;
    if printed == 0 && args.target.table.is_none() && io::stdout().is_terminal() {
        hint_at_tables(&txn, args)?;
    }
    Ok(Code::Fine)
}

/// The part of the table that the options name.
fn part<'t>(
    txn: &'t ReadTxn,
    table: RawTable,
    args: &Ls,
    form: Form,
) -> Result<huon::Range<'t, Bytes, Bytes>, Failure> {
    if let Some(prefix) = &args.prefix {
        return Ok(table.prefix(txn, &form.argument("prefix", prefix)?)?);
    }
    let read = |key: &Option<_>| key.as_deref().map(|key| form.argument("key", key)).transpose();
    let (from, to) = (read(&args.from)?, read(&args.to)?);
    if from.is_none() && to.is_none() {
        return Ok(table.iter(txn)?);
    }
    let from = from.as_ref().map_or(Bound::Unbounded, Bound::Included);
    let to = to.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    Ok(table.range::<Vec<u8>>(txn, (from, to))?)
}

fn list<'t>(
    out: &mut Out,
    records: impl Iterator<Item = huon::Result<(&'t [u8], &'t [u8])>>,
    limit: u64,
    args: &Ls,
    form: Form,
) -> Result<u64, Failure> {
    let mut printed = 0;
    for record in records {
        if printed == limit {
            break;
        }
        let (key, value) = record?;
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
        eprintln!("The main table is empty; `huon tables {path}` lists {tables} more.");
    }
    Ok(())
}

fn is_standard(text: &OsStr) -> bool {
    text == "-"
}

/// The value of an argument, or all of standard input.
fn value_of(form: Form, text: &OsStr) -> Result<Vec<u8>, Failure> {
    if !is_standard(text) {
        return form.argument("value", text);
    }
    let mut value = Vec::new();
    io::stdin().lock().read_to_end(&mut value).map_err(|e| input_failed(&e))?;
    Ok(value)
}

/// Calls `act` with each line of standard input, without its end; errors name the line.
fn each_line(mut act: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(|e| input_failed(&e))? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        act(text).map_err(|failure| match failure {
            Failure::Told(Code::Usage, text) => {
                Failure::usage(format!("line {number} of standard input: {text}"))
            }
            other => other,
        })?;
    }
    Ok(())
}

fn input_failed(error: &io::Error) -> Failure {
    Failure::io("cannot read standard input", error)
}

fn key_of(form: Form, text: &[u8]) -> Result<Vec<u8>, Failure> {
    form.read(text).map_err(wrong)
}

fn wrong(why: &str) -> Failure {
    Failure::usage(format!("{why}; nothing was changed."))
}

/// Keys that were asked for in vain.
#[derive(Default)]
struct Absent {
    count: u64,
    first: String,
}

impl Absent {
    fn note(&mut self, key: &[u8], form: Form) {
        if self.count == 0 {
            self.first = form.show(key);
        }
        self.count += 1;
    }

    fn outcome(&self, path: &std::path::Path) -> Code {
        let path = path.display();
        match self.count {
            0 => return Code::Fine,
            1 => eprintln!("huon: {path} has no key \"{}\" in this table.", self.first),
            n => eprintln!("huon: {path} lacks {n} of these keys; the first is {}.", self.first),
        }
        Code::Problems
    }
}

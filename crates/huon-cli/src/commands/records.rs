//! Single records: `get`, `put`, `del`, `count`.

use std::path::Path;

use huon::{Env, WriteTxn};
use serde_json::json;

use crate::args::{Count, Del, Get, Put};
use crate::columns::Types;
use crate::commands::info::main_count;
use crate::commands::input::{each_record, is_standard, whole_input, wrong};
use crate::commands::show::{Columns, Printer};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::parts;
use crate::table::{self, AnyTable, Part};
use crate::text::number;

/// `huon get`.
pub(crate) fn get(args: &Get) -> Outcome {
    let env = open::look(&args.target.file)?;
    let txn = open::read(&env, args.at.snapshot.as_deref())?;
    let table = table::named(&txn, &args.target)?;
    let types = table::types(&txn, &args.target, &args.types)?;
    let is_many = is_standard(&args.key);
    let columns = if is_many { Columns::Both } else { Columns::Values };
    let mut printer = Printer::new(args.format.format(), &types, columns)?;
    let mut absent = Absent::new(&types);
    let mut get_one = |key: Vec<u8>| {
        let is_all = !(args.first || args.last);
        if args.raw && is_all {
            refuse_many(table.count_values(&txn, &key)?, &key, &types)?;
        }
        let values = table.values(&txn, &key)?;
        let mut values = if args.last { Box::new(values.rev()) } else { values };
        let mut is_found = false;
        while let Some(value) = values.next().filter(|_| is_all || !is_found).transpose()? {
            is_found = true;
            if args.raw { printer.raw(value)? } else { printer.record(&key, value)? }
        }
        if is_found { Ok(()) } else { absent.note(&key, None) }
    };
    if is_many {
        each_record(args.format.format(), &types, &mut |key, _| get_one(key))?;
    } else {
        get_one(types.key.argument(&args.key)?)?;
    }
    printer.finish()?;
    Ok(absent.outcome(&args.target.file))
}

/// Nothing would tell the bytes of one value from those of the next.
fn refuse_many(count: u64, key: &[u8], types: &Types) -> Result<(), Failure> {
    if count <= 1 {
        return Ok(());
    }
    let (key, count) = (types.key.show(key)?, number(count));
    Err(Failure::usage(format!(
        "key \"{key}\" has {count} values, and --raw prints one: add --first or --last."
    )))
}

/// `huon put`.
pub(crate) fn put(args: &Put) -> Outcome {
    match (&args.value, is_standard(&args.key)) {
        (Some(_), true) => {
            let text =
                "`put FILE -` reads whole records and takes no value; the key \"-\" is \\2d.";
            return Err(Failure::usage(text));
        }
        (None, false) => {
            let text = "put needs a value after the key, or `-` to read it from standard input.";
            return Err(Failure::usage(text));
        }
        _ => {}
    }
    // Other writers do not wait for that.
    let read = match &args.value {
        Some(value) if is_standard(value) => Some(whole_input()?),
        _ => None,
    };
    open::make_and_change(&args.target.file, &args.writing, |env| put_into(env, args, read))
}

/// Puts the record of the arguments, whose value may be what was `read`, or the records of standard
/// input, in one transaction.
fn put_into(env: &Env, args: &Put, read: Option<Vec<u8>>) -> Outcome {
    let mut txn = env.write()?;
    let table = table::to_fill(&mut txn, &args.target, &args.make, &args.types)?;
    let types = table::types(&txn, &args.target, &args.types)?;
    let mut kept = 0;
    let mut put_one = |key: &[u8], value: &[u8]| {
        if !store(&mut txn, table, key, value, args)? {
            let key = types.key.show(key)?;
            tell!("huon: key {key} is there already and was left as it is.");
            kept += 1;
        }
        Ok::<(), Failure>(())
    };
    match &args.value {
        Some(value) => {
            let value = match read {
                Some(read) => types.value.whole(read)?,
                None => types.value.argument(value)?,
            };
            put_one(&types.key.argument(&args.key)?, &value)?;
        }
        None => each_record(args.format.format(), &types, &mut |key, value| {
            put_one(&key, &value.ok_or_else(|| wrong("there is a key without a value"))?)
        })?,
    }
    txn.commit()?;
    Ok(if kept == 0 { Code::Fine } else { Code::Problems })
}

/// Stores a record as the options say; `false` if its key was there and is to be left alone.
fn store(
    txn: &mut WriteTxn,
    table: AnyTable,
    key: &[u8],
    value: &[u8],
    args: &Put,
) -> huon::Result<bool> {
    match (table, args.new, args.replace) {
        (AnyTable::One(table), true, _) => table.put_if_absent(txn, key, value),
        (AnyTable::One(table), false, _) => table.put(txn, key, value).map(|_| true),
        (AnyTable::Many(table), true, _) => table.put_if_absent(txn, key, value),
        (AnyTable::Many(table), _, true) => table.set(txn, key, value).map(|_| true),
        (AnyTable::Many(table), _, _) => table.put(txn, key, value).map(|_| true),
    }
}

/// `huon del`.
pub(crate) fn del(args: &Del) -> Outcome {
    let is_many = is_standard(&args.key);
    if is_many && args.value.is_some() {
        let text = "`del FILE -` reads keys and values from standard input and takes no value.";
        return Err(Failure::usage(text));
    }
    parts::refuse(&open::name(args.target.table.as_deref())?)?;
    let env = open::change(&args.target.file, &args.writing, false)?;
    let mut txn = env.write()?;
    let table = table::named(&txn, &args.target)?;
    let types = table::types(&txn, &args.target, &args.types)?;
    let mut absent = Absent::new(&types);
    let mut delete_one = |key: Vec<u8>, value: Option<Vec<u8>>| {
        let gone = match &value {
            None => delete(&mut txn, table, &key)?,
            Some(value) => delete_pair(&mut txn, table, &key, value)?,
        };
        if gone { Ok(()) } else { absent.note(&key, value.as_deref()) }
    };
    if is_many {
        each_record(args.format.format(), &types, &mut delete_one)?;
    } else {
        let value = args.value.as_ref().map(|value| types.value.argument(value));
        delete_one(types.key.argument(&args.key)?, value.transpose()?)?;
    }
    txn.commit()?;
    Ok(absent.outcome(&args.target.file))
}

/// Whether the key was there.
fn delete(txn: &mut WriteTxn, table: AnyTable, key: &[u8]) -> huon::Result<bool> {
    match table {
        AnyTable::One(table) => table.remove(txn, key),
        AnyTable::Many(table) => table.remove_key(txn, key).map(|count| count > 0),
    }
}

/// Whether the key was there with that value.
fn delete_pair(
    txn: &mut WriteTxn,
    table: AnyTable,
    key: &[u8],
    value: &[u8],
) -> huon::Result<bool> {
    match table {
        AnyTable::One(table) => {
            if table.get(txn, key)? == Some(value) {
                table.remove(txn, key)
            } else {
                Ok(false)
            }
        }
        AnyTable::Many(table) => table.remove(txn, key, value),
    }
}

/// `huon count`.
pub(crate) fn count(args: &Count) -> Outcome {
    let env = open::look(&args.target.file)?;
    let txn = open::read(&env, args.at.snapshot.as_deref())?;
    let table = table::named(&txn, &args.target)?;
    let types = table::types(&txn, &args.target, &args.types)?;
    let is_main = args.target.table.as_ref().is_none_or(|name| name.is_empty());
    let count = match (&args.key, table::part(&args.part, &types)?) {
        (Some(key), _) => table.count_values(&txn, &types.key.argument(key)?)?,
        (None, Part::All) if is_main => main_count(&txn)?,
        (None, part) => table.count(&txn, &part)?,
    };
    let mut out = Out::new();
    if args.json {
        out.json(&json!({ "count": count }))?;
    } else {
        out.line(count)?;
    }
    out.finish()?;
    Ok(Code::Fine)
}

/// Keys that were asked for in vain.
struct Absent<'t> {
    types: &'t Types,
    count: u64,
    first: String,
}

impl<'t> Absent<'t> {
    fn new(types: &'t Types) -> Absent<'t> {
        Absent { types, count: 0, first: String::new() }
    }

    fn note(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Failure> {
        self.count += 1;
        if self.count > 1 {
            return Ok(());
        }
        self.first = self.types.key.show(key)?;
        if let Some(value) = value {
            let value = self.types.value.show(value)?;
            self.first = format!("{}\" with the value \"{value}", self.first);
        }
        Ok(())
    }

    fn outcome(&self, path: &Path) -> Code {
        let path = path.display();
        match self.count {
            0 => return Code::Fine,
            1 => tell!("huon: {path} has no key \"{}\" in this table.", self.first),
            n => {
                tell!("huon: {path} lacks {n} of these keys; the first is \"{}\".", self.first)
            }
        }
        Code::Problems
    }
}

//! Single records: `get`, `put`, `del`, `count`.

use huon::{Env, WriteTxn};
use serde_json::json;

use crate::args::{Count, Del, Get, Put};
use crate::commands::info::main_count;
use crate::commands::input::{each_line, is_standard, key_of, value_of, wrong};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::table::{self, AnyTable};
use crate::text::{Form, number};

/// `huon get`.
pub(crate) fn get(args: &Get) -> Outcome {
    let form = Form::hex(args.hex);
    let env = open::look(&args.target.file)?;
    let txn = env.read()?;
    let table = table::named(&txn, &args.target)?;
    let mut out = Out::new();
    let mut absent = Absent::default();
    let many = is_standard(&args.key);
    let mut get_one = |key: Vec<u8>| {
        if args.raw && !(args.first || args.last) {
            refuse_many(table.count_of(&txn, &key)?, &key, form)?;
        }
        let values = table.values(&txn, &key)?;
        let all = !(args.first || args.last);
        let mut values = if args.last { Box::new(values.rev()) } else { values };
        let mut found = false;
        while let Some(value) = values.next().filter(|_| all || !found).transpose()? {
            found = true;
            if args.raw {
                out.bytes(value)?;
            } else if args.json {
                out.json(&json!({ "key": form.show(&key), "value": form.show(value) }))?;
            } else if many {
                out.line(format_args!("{}\t{}", form.show(&key), form.show(value)))?;
            } else {
                out.line(form.show(value))?;
            }
        }
        if !found {
            absent.note(&key, form);
        }
        Ok(())
    };
    if many {
        each_line(|line| get_one(key_of(form, line)?))?;
    } else {
        get_one(form.argument("key", &args.key)?)?;
    }
    out.finish()?;
    Ok(absent.outcome(&args.target.file))
}

/// Nothing would tell the bytes of one value from those of the next.
fn refuse_many(count: u64, key: &[u8], form: Form) -> Result<(), Failure> {
    match count {
        0 | 1 => Ok(()),
        n => Err(Failure::usage(format!(
            "key \"{}\" has {} values, and --raw prints one: add --first or --last.",
            form.show(key),
            number(n)
        ))),
    }
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
    open::make_and_change(&args.target.file, &args.writing, |env| put_into(env, args, record, form))
}

/// Puts `record`, or those of standard input, in one transaction.
fn put_into(env: &Env, args: &Put, record: Option<(Vec<u8>, Vec<u8>)>, form: Form) -> Outcome {
    let mut txn = env.write()?;
    let table = table::to_fill(&mut txn, &args.target, &args.make)?;
    let mut kept = 0;
    let mut put_one = |txn: &mut WriteTxn, key: &[u8], value: &[u8]| {
        if !store(txn, table, key, value, args)? {
            tell!("huon: key {} is there already and was left as it is.", form.show(key));
            kept += 1;
        }
        Ok::<(), Failure>(())
    };
    match record {
        Some((key, value)) => put_one(&mut txn, &key, &value)?,
        None => each_line(|line| {
            let (key, value) =
                pair(line).ok_or_else(|| wrong("there is no tab between key and value"))?;
            put_one(&mut txn, &key_of(form, key)?, &key_of(form, value)?)
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
        (AnyTable::One(table), true, _) => table.insert_new(txn, key, value),
        (AnyTable::One(table), false, _) => table.put(txn, key, value).map(|_| true),
        (AnyTable::Many(table), true, _) => table.insert_new(txn, key, value),
        (AnyTable::Many(table), _, true) => table.set(txn, key, value).map(|_| true),
        (AnyTable::Many(table), _, _) => table.insert(txn, key, value).map(|_| true),
    }
}

/// What stands before and behind the tab of a line.
fn pair(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let tab = line.iter().position(|&byte| byte == b'\t')?;
    Some((&line[..tab], &line[tab + 1..]))
}

/// `huon del`.
pub(crate) fn del(args: &Del) -> Outcome {
    let form = Form::hex(args.hex);
    let stdin = is_standard(&args.key);
    if stdin && args.value.is_some() {
        let text = "`del FILE -` reads keys and values from standard input and takes no value.";
        return Err(Failure::usage(text));
    }
    let env = open::change(&args.target.file, &args.writing, false)?;
    let mut txn = env.write()?;
    let table = table::named(&txn, &args.target)?;
    let mut absent = Absent::default();
    let mut delete_one = |key: Vec<u8>, value: Option<Vec<u8>>| {
        let gone = match &value {
            None => delete(&mut txn, table, &key)?,
            Some(value) => delete_pair(&mut txn, table, &key, value)?,
        };
        if !gone {
            absent.note_pair(&key, value.as_deref(), form);
        }
        Ok(())
    };
    if stdin {
        each_line(|line| match pair(line) {
            Some((key, value)) => delete_one(key_of(form, key)?, Some(key_of(form, value)?)),
            None => delete_one(key_of(form, line)?, None),
        })?;
    } else {
        let value = args.value.as_ref().map(|value| form.argument("value", value));
        delete_one(form.argument("key", &args.key)?, value.transpose()?)?;
    }
    txn.commit()?;
    Ok(absent.outcome(&args.target.file))
}

/// Whether the key was there.
fn delete(txn: &mut WriteTxn, table: AnyTable, key: &[u8]) -> huon::Result<bool> {
    match table {
        AnyTable::One(table) => table.delete(txn, key),
        AnyTable::Many(table) => table.remove_all(txn, key).map(|count| count > 0),
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
                table.delete(txn, key)
            } else {
                Ok(false)
            }
        }
        AnyTable::Many(table) => table.remove(txn, key, value),
    }
}

/// `huon count`.
pub(crate) fn count(args: &Count) -> Outcome {
    let form = Form::hex(args.hex);
    let env = open::look(&args.target.file)?;
    let txn = env.read()?;
    let table = table::named(&txn, &args.target)?;
    let is_main = args.target.table.as_ref().is_none_or(|name| name.is_empty());
    let count = match &args.key {
        Some(key) => table.count_of(&txn, &form.argument("key", key)?)?,
        None if is_main => main_count(&txn)?,
        None => table.count(&txn)?,
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

    fn note_pair(&mut self, key: &[u8], value: Option<&[u8]>, form: Form) {
        self.note(key, form);
        if let (1, Some(value)) = (self.count, value) {
            self.first = format!("{}\" with the value \"{}", self.first, form.show(value));
        }
    }

    fn outcome(&self, path: &std::path::Path) -> Code {
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

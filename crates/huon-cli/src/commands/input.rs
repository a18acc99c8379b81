//! Keys, values and records from arguments and from standard input.

use std::ffi::OsStr;
use std::io::{self, BufRead, Read};

use serde_json::{Map, Value};

use crate::args::Format;
use crate::columns::{Column, Types};
use crate::fail::{Code, Failure};

pub(super) fn is_standard(text: &OsStr) -> bool {
    text == "-"
}

/// All of standard input.
pub(super) fn whole_input() -> Result<Vec<u8>, Failure> {
    let mut value = Vec::new();
    io::stdin().lock().read_to_end(&mut value).map_err(|e| input_failed(&e))?;
    Ok(value)
}

/// What is done with each record: its key, and its value where there is one.
type EachRecord<'f> = dyn FnMut(Vec<u8>, Option<Vec<u8>>) -> Result<(), Failure> + 'f;

/// Calls `act` with each record of standard input. Errors name where it is.
pub(super) fn each_record(
    format: Format,
    types: &Types,
    act: &mut EachRecord<'_>,
) -> Result<(), Failure> {
    match format {
        Format::Lines => each_line(types, act),
        Format::Json => each_object(types, act),
        Format::Csv => each_row(types, act),
    }
}

/// Adds the place to what is wrong there.
fn at(place: impl std::fmt::Display) -> impl FnOnce(Failure) -> Failure {
    move |failure| match failure {
        Failure::Told(Code::Usage, text) => Failure::usage(format!("{place}: {text}")),
        other => other,
    }
}

fn each_line(types: &Types, act: &mut EachRecord<'_>) -> Result<(), Failure> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(|e| input_failed(&e))? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let tab = text.iter().position(|&byte| byte == b'\t');
        let (key, value) = match tab {
            Some(tab) => (&text[..tab], Some(&text[tab + 1..])),
            None => (text, None),
        };
        let key = types.key.read(key).map_err(|why| wrong(&why));
        let record = key.and_then(|key| {
            let value = value.map(|value| types.value.read(value)).transpose();
            Ok((key, value.map_err(|why| wrong(&why))?))
        });
        record
            .and_then(|(key, value)| act(key, value))
            .map_err(at(format_args!("line {number} of standard input")))?;
    }
    Ok(())
}

/// JSON objects, each on a line of its own or not.
fn each_object(types: &Types, act: &mut EachRecord<'_>) -> Result<(), Failure> {
    let input = io::stdin().lock();
    let objects = serde_json::Deserializer::from_reader(input).into_iter::<Map<String, Value>>();
    for (number, object) in (1u64..).zip(objects) {
        let object = object.map_err(|error| match error.io_error_kind() {
            Some(kind) => input_failed(&kind.into()),
            None => Failure::usage(format!("standard input: {error}; nothing was changed.")),
        })?;
        let column = |column: &Column| column.of_json(&object).map_err(|why| wrong(&why));
        column(&types.key)
            .and_then(|key| key.ok_or_else(|| wrong("there is no `key` and no `key_hex`")))
            .and_then(|key| act(key, column(&types.value)?))
            .map_err(at(format_args!("record {number} of standard input")))?;
    }
    Ok(())
}

/// Rows of CSV, behind one that names the columns.
fn each_row(types: &Types, act: &mut EachRecord<'_>) -> Result<(), Failure> {
    let mut reader = csv::Reader::from_reader(io::stdin().lock());
    let names = reader.byte_headers().map_err(csv_failed)?.clone();
    let column = |name: &str| names.iter().position(|column| column == name.as_bytes());
    let key = column("key").ok_or_else(|| {
        wrong("the first row of standard input must name the columns: key, or key,value")
    })?;
    let value = column("value");
    if names.len() > 1 + usize::from(value.is_some()) {
        return Err(wrong("standard input has other columns than key and value"));
    }
    let mut row = csv::ByteRecord::new();
    while reader.read_byte_record(&mut row).map_err(csv_failed)? {
        let line = row.position().map_or(0, csv::Position::line);
        let field = |column: &Column, at: usize| {
            column.of_csv(row.get(at).unwrap_or_default()).map_err(|why| wrong(&why))
        };
        let value = value.map(|at| field(&types.value, at)).transpose();
        value
            .and_then(|value| act(field(&types.key, key)?, value))
            .map_err(at(format_args!("line {line} of standard input")))?;
    }
    Ok(())
}

fn csv_failed(error: csv::Error) -> Failure {
    let text = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => input_failed(&error),
        _ => Failure::usage(format!("standard input: {text}; nothing was changed.")),
    }
}

pub(super) fn input_failed(error: &io::Error) -> Failure {
    Failure::io("cannot read standard input", error)
}

pub(super) fn wrong(why: &str) -> Failure {
    Failure::usage(format!("{why}; nothing was changed."))
}

//! Records on standard output: as lines, as JSON, as CSV.

use serde_json::{Map, Value};

use crate::args::Format;
use crate::columns::Types;
use crate::fail::Failure;
use crate::out::Out;
use crate::paint::{KEY, painted};

/// What is shown of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    Keys,
    /// Values alone, where lines are written; JSON and CSV name their key, too.
    Values,
    Both,
}

/// Writes records.
pub(super) struct Printer<'t> {
    sink: Sink,
    types: &'t Types,
    columns: Columns,
}

enum Sink {
    Lines(Out),
    Json(Out),
    Csv(Box<csv::Writer<Out>>),
}

impl<'t> Printer<'t> {
    pub(super) fn new(
        format: Format,
        types: &'t Types,
        columns: Columns,
    ) -> Result<Printer<'t>, Failure> {
        let sink = match format {
            Format::Lines => Sink::Lines(Out::new()),
            Format::Json => Sink::Json(Out::new()),
            Format::Csv => {
                let mut writer = Box::new(csv::Writer::from_writer(Out::new()));
                let names: &[&str] =
                    if columns == Columns::Keys { &["key"] } else { &["key", "value"] };
                writer.write_record(names).map_err(csv_failed)?;
                Sink::Csv(writer)
            }
        };
        Ok(Printer { sink, types, columns })
    }

    pub(super) fn record(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let Types { key: keys, value: values } = self.types;
        let has_value = self.columns != Columns::Keys;
        match &mut self.sink {
            Sink::Lines(out) => match self.columns {
                Columns::Keys => out.line(keys.show(key)?),
                Columns::Values => out.line(values.show(value)?),
                Columns::Both => {
                    let (key, value) = (keys.show(key)?, values.show(value)?);
                    out.line(format_args!("{}\t{value}", painted(KEY, key)))
                }
            },
            Sink::Json(out) => {
                let mut object = Map::new();
                keys.add_to(&mut object, key)?;
                if has_value {
                    values.add_to(&mut object, value)?;
                }
                out.json(&Value::Object(object))
            }
            Sink::Csv(writer) => {
                writer.write_field(keys.csv(key)?).map_err(csv_failed)?;
                if has_value {
                    writer.write_field(values.csv(value)?).map_err(csv_failed)?;
                }
                writer.write_record(None::<&[u8]>).map_err(csv_failed)
            }
        }
    }

    /// The value's bytes, and nothing else.
    pub(super) fn raw(&mut self, value: &[u8]) -> Result<(), Failure> {
        match &mut self.sink {
            Sink::Lines(out) | Sink::Json(out) => out.bytes(value),
            Sink::Csv(writer) => writer.write_record([value]).map_err(csv_failed),
        }
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        match self.sink {
            Sink::Lines(out) | Sink::Json(out) => out.finish(),
            Sink::Csv(mut writer) => Ok(writer.flush()?),
        }
    }
}

fn csv_failed(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        kind => Failure::usage(format!("cannot write CSV: {kind:?}.")),
    }
}

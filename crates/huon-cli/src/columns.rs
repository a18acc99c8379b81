//! The keys and the values of a table, by the types that they have.
//!
//! 1. Without a word of the user's, the table says what its keys and values are. What does not fit
//!    that is shown nonetheless: as text whose first byte is escaped, in JSON as hex under a name
//!    that says so. Nothing of another type begins with a backslash, so it is read back, too.
//! 2. What does not fit a type that the user names is an error.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use huon::TableStat;
use serde_json::{Map, Value};

use crate::args::TypeArgs;
use crate::fail::Failure;
use crate::text::Form;
use crate::types::Type;

/// The type of all keys, or of all values, of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    kind: Type,
    /// The user said so, and not the table.
    is_asked: bool,
    /// `key` or `value`.
    name: &'static str,
}

impl Column {
    fn new(name: &'static str, asked: Option<&Type>, is_hex: bool, stored: Type) -> Column {
        let asked = asked.cloned().or(is_hex.then_some(Type::Hex));
        let is_asked = asked.is_some();
        Column { kind: asked.unwrap_or(stored), is_asked, name }
    }

    pub(crate) fn show(&self, bytes: &[u8]) -> Result<String, Failure> {
        match self.kind.show(bytes) {
            Some(text) => Ok(text),
            None => self.misfit(bytes),
        }
    }

    pub(crate) fn csv(&self, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        match self.kind.csv(bytes) {
            Some(field) => Ok(field),
            None => self.misfit(bytes).map(String::into_bytes),
        }
    }

    /// Adds it to a JSON object.
    pub(crate) fn add_to(
        &self,
        object: &mut Map<String, Value>,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        self.add_as(self.name, object, bytes)
    }

    /// The same under another name.
    pub(crate) fn add_as(
        &self,
        name: &str,
        object: &mut Map<String, Value>,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        let (value, is_hex) = match self.kind.json(bytes) {
            Some(found) => found,
            None => {
                self.misfit(bytes)?;
                (Form::Hex.show(bytes).into(), true)
            }
        };
        object.insert(if is_hex { format!("{name}_hex") } else { name.into() }, value);
        Ok(())
    }

    /// What is not of this type, as rules 1 and 2 have it.
    fn misfit(&self, bytes: &[u8]) -> Result<String, Failure> {
        let Column { kind, is_asked, name } = self;
        if !is_asked {
            let Some((first, rest)) = bytes.split_first() else { return Ok(String::new()) };
            return Ok(format!("\\{first:02x}{}", Form::Plain.show(rest)));
        }
        let (kind, shown) = (kind.name(), Form::Plain.show(&bytes[..bytes.len().min(32)]));
        let more = if bytes.len() > 32 { ".." } else { "" };
        Err(Failure::usage(format!(
            "the {name} \"{shown}{more}\" is not of type {kind}; --{name} text shows all."
        )))
    }

    /// Whether text stands for bytes that are not of the type that the table names.
    fn is_escaped(&self, text: &[u8]) -> bool {
        !self.is_asked && self.kind != Type::Text && text.first() == Some(&b'\\')
    }

    /// What a line has of it.
    pub(crate) fn read(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        if self.is_escaped(text) || (text.is_empty() && !self.is_asked) {
            return Ok(Form::Plain.read(text)?);
        }
        self.kind.read(text)
    }

    /// A value that is read as a whole: text and bytes as they are.
    pub(crate) fn whole(&self, bytes: Vec<u8>) -> Result<Vec<u8>, Failure> {
        if matches!(self.kind, Type::Text | Type::Hex) {
            return Ok(bytes);
        }
        let read = self.kind.read(bytes.trim_ascii());
        read.map_err(|why| Failure::usage(format!("cannot read the {}: {why}.", self.name)))
    }

    /// What a field of CSV has of it.
    pub(crate) fn of_csv(&self, field: &[u8]) -> Result<Vec<u8>, String> {
        if self.kind == Type::Text { self.kind.of_csv(field) } else { self.read(field) }
    }

    /// What a JSON object has of it, if anything.
    pub(crate) fn of_json(&self, object: &Map<String, Value>) -> Result<Option<Vec<u8>>, String> {
        if let Some(value) = object.get(self.name) {
            return self.kind.of_json(value).map(Some);
        }
        match object.get(&format!("{}_hex", self.name)) {
            None => Ok(None),
            Some(Value::String(digits)) => Ok(Some(Form::Hex.read(digits.as_bytes())?)),
            Some(value) => Err(format!("hex digits are expected, not {value}")),
        }
    }

    /// The bytes that an argument of the command line stands for.
    pub(crate) fn argument(&self, text: &OsStr) -> Result<Vec<u8>, Failure> {
        self.argued(text, Type::read)
    }

    /// The bytes with which keys begin that an argument names: of those of several parts, some
    /// leading ones or all.
    pub(crate) fn leading(&self, text: &OsStr) -> Result<Vec<u8>, Failure> {
        self.argued(text, Type::leading)
    }

    fn argued(
        &self,
        text: &OsStr,
        read: fn(&Type, &[u8]) -> Result<Vec<u8>, String>,
    ) -> Result<Vec<u8>, Failure> {
        let text = text.as_bytes();
        let kind = if self.is_escaped(text) { &Type::Text } else { &self.kind };
        read(kind, text).map_err(|why| {
            let text = text.escape_ascii();
            Failure::usage(format!("cannot read the {} \"{text}\": {why}.", self.name))
        })
    }
}

/// The types of a table's keys and values.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    pub(crate) key: Column,
    pub(crate) value: Column,
}

impl Types {
    /// What the user says; else what the first of the tables says that says anything.
    pub(crate) fn of_tables(args: &TypeArgs, tables: &[&TableStat]) -> Types {
        let named = |name: &Option<String>| Type::stored(name.as_deref()?);
        let order = |order: &str| Type::of_order(order);
        let first = tables.first();
        let key = tables.iter().find_map(|table| named(&table.key_type));
        let key = key.or(first.map(|table| order(table.order)));
        let value = tables.iter().find_map(|table| named(&table.value_type));
        let value = value.or(first.and_then(|table| table.values).map(order));
        Types::new(args, key, value)
    }

    /// What the user says; else types of these names, if they are known.
    pub(crate) fn of_names(args: &TypeArgs, key: &str, value: &str) -> Types {
        Types::new(args, Type::stored(key), Type::stored(value))
    }

    fn new(args: &TypeArgs, key: Option<Type>, value: Option<Type>) -> Types {
        let stored = |kind: Option<Type>| kind.unwrap_or(Type::Text);
        Types {
            key: Column::new("key", args.key_type.as_ref(), args.hex, stored(key)),
            value: Column::new("value", args.value_type.as_ref(), args.hex, stored(value)),
        }
    }
}

//! Tables of both kinds, seen as bytes: with one value for each key, and multimaps.
//!
//! 1. Whatever order a table has is the right one.
//! 2. A name that is no table's says what it is.

use std::ops::Bound;
use std::path::Path;

use huon::{
    Error, MultiDef, Order, RawMulti, RawTable, ReadTxn, TableDef, TableStat, Txn, WriteTxn,
};

use crate::args::{Make, PartArgs, Target, TypeArgs};
use crate::columns::Types;
use crate::fail::{Code, Failure};
use crate::open;
use crate::parts;
use crate::text::Form;

/// A table of either kind.
#[derive(Clone, Copy)]
pub(crate) enum AnyTable {
    /// A key has one value.
    One(RawTable),
    /// A key may have many.
    Many(RawMulti),
}

pub(crate) type Record<'t> = huon::Result<(&'t [u8], &'t [u8])>;
/// Records in order, from both ends.
pub(crate) type Records<'t> = Box<dyn DoubleEndedIterator<Item = Record<'t>> + 't>;

/// Which records.
pub(crate) enum Part {
    All,
    Prefix(Vec<u8>),
    Between(Bound<Vec<u8>>, Bound<Vec<u8>>),
}

/// A transaction that says what there is of a table.
pub(crate) trait Stats: Txn {
    fn stat(&self, name: &[u8]) -> huon::Result<Option<TableStat>>;
}

impl Stats for ReadTxn {
    fn stat(&self, name: &[u8]) -> huon::Result<Option<TableStat>> {
        self.table_stat(name)
    }
}

impl Stats for WriteTxn {
    fn stat(&self, name: &[u8]) -> huon::Result<Option<TableStat>> {
        self.table_stat(name)
    }
}

/// The table of that name; the empty one is the main table's.
pub(crate) fn find(txn: &impl Txn, name: &[u8]) -> Result<Option<AnyTable>, Failure> {
    if name.is_empty() {
        return Ok(txn.open_table(&TableDef::main())?.map(AnyTable::One));
    }
    match txn.open_table(&TableDef::named(name).ordered(Order::Stored)) {
        Err(Error::TableKind) => {}
        Err(Error::NameTaken) => {
            let name = Form::Plain.show(name);
            let text = format!("\"{name}\" is a record of the main table, not a table.");
            return Err(Failure::usage(text));
        }
        found => return Ok(found?.map(AnyTable::One)),
    }
    let def = MultiDef::named(name).ordered(Order::Stored).values_ordered(Order::Stored);
    Ok(txn.open_table(&def)?.map(AnyTable::Many))
}

/// The table that a command names, which must be there.
pub(crate) fn named(txn: &impl Txn, target: &Target) -> Result<AnyTable, Failure> {
    let name = open::name(target.table.as_deref())?;
    match find(txn, &name)? {
        Some(table) => Ok(table),
        None => Err(absent(txn, &target.file, &name)?),
    }
}

/// The types of the table's keys and values.
pub(crate) fn types(txn: &impl Stats, target: &Target, args: &TypeArgs) -> Result<Types, Failure> {
    let name = open::name(target.table.as_deref())?;
    Ok(Types::of_tables(args, txn.stat(&name)?.as_ref().as_slice()))
}

/// The part of a table that the arguments name.
pub(crate) fn part(args: &PartArgs, types: &Types) -> Result<Part, Failure> {
    if let Some(prefix) = &args.prefix {
        return Ok(Part::Prefix(types.key.leading(prefix)?));
    }
    let read = |key: &Option<_>| key.as_deref().map(|key| types.key.leading(key)).transpose();
    let (from, to) = (read(&args.from)?, read(&args.to)?);
    if from.is_none() && to.is_none() {
        return Ok(Part::All);
    }
    let from = from.map_or(Bound::Unbounded, Bound::Included);
    Ok(Part::Between(from, to.map_or(Bound::Unbounded, Bound::Excluded)))
}

/// Why there is no such part.
pub(crate) fn refused(error: Error, part: &Part) -> Failure {
    match (error, part) {
        (Error::PrefixOrder, Part::Prefix(_)) => Failure::usage(
            "keys that begin alike do not lie together in this table, as its order is not that of \
             bytes; leave --prefix out.",
        ),
        (error, _) => error.into(),
    }
}

/// The same, where an LSM table may have that name.
pub(crate) fn absent(txn: &impl Txn, file: &Path, name: &[u8]) -> Result<Failure, Failure> {
    if !parts::has_lsm_table(txn, name)? {
        return Ok(missing(file, name));
    }
    let (path, name) = (file.display(), Form::Plain.show(name));
    let text = format!(
        "{path} has \"{name}\" as an LSM table, not as an ordinary one; `huon lsm` has its \
         commands, and `huon lsm dump {path} --table {name}` its records."
    );
    Ok(Failure::Told(Code::Problems, text))
}

pub(crate) fn missing(file: &Path, name: &[u8]) -> Failure {
    let (path, name) = (file.display(), Form::Plain.show(name));
    let text = format!("{path} has no table \"{name}\"; `huon tables {path}` lists what it has.");
    Failure::Told(Code::Problems, text)
}

/// The table to put into. If it is not there it is made, with the types that the user names.
pub(crate) fn to_fill(
    txn: &mut WriteTxn,
    target: &Target,
    make: &Make,
    types: &TypeArgs,
) -> Result<AnyTable, Failure> {
    let name = open::name(target.table.as_deref())?;
    if name.is_empty() && (make.is_multi() || make.order.is_some()) {
        let text = "the main table has one value for each key, ordered as bytes; name another \
                    table with --table.";
        return Err(Failure::usage(text));
    }
    parts::refuse(&name)?;
    if let (Some(native), Some(bytes)) = (make.native_bytes(), make.value_bytes)
        && bytes != native
    {
        let text = format!("values in this order have {native} bytes; leave --value-bytes out.");
        return Err(Failure::usage(text));
    }
    let found = find(txn, &name)?;
    match found {
        Some(table) if name.is_empty() || !make.has_wishes() => return Ok(table),
        Some(AnyTable::One(_)) if make.is_multi() => {
            let name = Form::Plain.show(&name);
            let text = format!("table \"{name}\" is there, with one value for each key.");
            return Err(Failure::usage(text));
        }
        _ => {}
    }
    let is_multi = make.is_multi() || matches!(found, Some(AnyTable::Many(_)));
    // What is there keeps the types that it has.
    let none = TypeArgs::default();
    let types = if found.is_none() { types } else { &none };
    let made = if is_multi {
        txn.create_table(&make.multi(&name, types)).map(AnyTable::Many)
    } else {
        txn.create_table(&make.table(&name, types)).map(AnyTable::One)
    };
    made.map_err(|error| match error {
        Error::TableKind => {
            let (path, name) = (target.file.display(), Form::Plain.show(&name));
            Failure::usage(format!(
                "table \"{name}\" is there with another order, or other lengths of values; \
                 `huon tables {path}` shows them."
            ))
        }
        error => error.into(),
    })
}

impl AnyTable {
    /// How many values the keys of a part have together.
    pub(crate) fn count(self, txn: &ReadTxn, part: &Part) -> Result<u64, Failure> {
        let counted = match (self, part) {
            (AnyTable::One(table), Part::All) => table.len(txn),
            (AnyTable::One(table), Part::Between(from, to)) => {
                table.count(txn, (slice(from), slice(to)))
            }
            (AnyTable::One(table), Part::Prefix(prefix)) => table.prefix(txn, prefix).and_then(
                // Leaf by leaf, as the engine counts a range.
                |records| records.leaves().map(|leaf| leaf.map(|leaf| leaf.len() as u64)).sum(),
            ),
            (AnyTable::Many(table), Part::All) => table.len(txn),
            (AnyTable::Many(table), Part::Between(from, to)) => {
                table.count(txn, (slice(from), slice(to)))
            }
            (AnyTable::Many(table), Part::Prefix(prefix)) => table
                .keys_prefix(txn, prefix)
                .and_then(|keys| keys.map(|key| key.map(|(_, values)| values)).sum()),
        };
        counted.map_err(|error| refused(error, part))
    }

    /// How many values `key` has.
    pub(crate) fn count_values(self, txn: &impl Txn, key: &[u8]) -> huon::Result<u64> {
        match self {
            AnyTable::One(table) => table.contains(txn, key).map(u64::from),
            AnyTable::Many(table) => table.count_values(txn, key),
        }
    }

    /// The values of `key`, from both ends.
    pub(crate) fn values<'t>(
        self,
        txn: &'t ReadTxn,
        key: &[u8],
    ) -> huon::Result<Box<dyn DoubleEndedIterator<Item = huon::Result<&'t [u8]>> + 't>> {
        Ok(match self {
            AnyTable::One(table) => Box::new(table.get(txn, key)?.map(Ok).into_iter()),
            AnyTable::Many(table) => Box::new(table.values(txn, key)?),
        })
    }

    /// The records of a part, a multimap's once for each value.
    pub(crate) fn records<'t>(self, txn: &'t ReadTxn, part: &Part) -> huon::Result<Records<'t>> {
        Ok(match (self, part) {
            (AnyTable::One(table), Part::All) => Box::new(table.iter(txn)?),
            (AnyTable::One(table), Part::Prefix(prefix)) => Box::new(table.prefix(txn, prefix)?),
            (AnyTable::One(table), Part::Between(from, to)) => {
                Box::new(table.range(txn, (slice(from), slice(to)))?)
            }
            (AnyTable::Many(table), Part::All) => Box::new(table.iter(txn)?),
            (AnyTable::Many(table), Part::Prefix(prefix)) => Box::new(table.prefix(txn, prefix)?),
            (AnyTable::Many(table), Part::Between(from, to)) => {
                Box::new(table.range(txn, (slice(from), slice(to)))?)
            }
        })
    }

    /// Every key of a part, once; those of a multimap with an empty value, as theirs are not read.
    pub(crate) fn keys<'t>(self, txn: &'t ReadTxn, part: &Part) -> huon::Result<Records<'t>> {
        let AnyTable::Many(table) = self else { return self.records(txn, part) };
        let keys = match part {
            Part::All => table.keys(txn)?,
            Part::Prefix(prefix) => table.keys_prefix(txn, prefix)?,
            Part::Between(from, to) => table.keys_range(txn, (slice(from), slice(to)))?,
        };
        Ok(Box::new(keys.map(|key| Ok((key?.0, &[][..])))))
    }
}

fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// What a table is, in words: nothing where a key has one value, and keys are ordered as bytes.
pub(crate) fn kind(order: &str, values: Option<&str>, value_bytes: Option<u32>) -> String {
    let mut words = Vec::new();
    if values.is_some() {
        words.push("multimap".to_string());
    }
    if order != "bytes" {
        words.push(format!("keys: {order}"));
    }
    if let Some(values) = values {
        words.push(format!("values: {values}"));
    }
    match value_bytes {
        Some(0) => words.push("of one length".into()),
        Some(bytes) => words.push(format!("{bytes} bytes each")),
        None => {}
    }
    words.join(", ")
}

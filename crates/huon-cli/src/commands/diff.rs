//! What two files, or two tables, do not have in common: `diff`.
//!
//! Two tables in one order are walked beside each other, so it costs a read of both and no memory.
//! Two snapshots of one file share pages, and only those that differ are read.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::path::Path;

use huon::{Difference, ReadTxn, TableStat};
use serde_json::{Map, Value, json};

use crate::args::{Diff, TypeArgs};
use crate::columns::Types;
use crate::commands::info::{self, key_order, value_order};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::paint::{ADDED, HEAD, REMOVED, painted};
use crate::table::{self, Part, Records};
use crate::text::{Form, json_name};

/// `huon diff`.
pub(crate) fn diff(args: &Diff) -> Outcome {
    let mut diff = Differ { args, out: Out::new(), count: 0, headed: false };
    match (&args.other, &args.since) {
        (Some(other), _) => diff.files(other)?,
        (None, Some(since)) => diff.snapshots(since)?,
        (None, None) => {
            let text = "compare with what? Name another file, or a snapshot with --since.";
            return Err(Failure::usage(text));
        }
    }
    diff.out.finish()?;
    Ok(if diff.count == 0 { Code::Fine } else { Code::Problems })
}

/// The table of the named snapshots, and the type of its keys, which no program's table has.
const SNAPSHOTS: &[u8] = b"huon.snapshots";
const SNAPSHOT_KEYS: &str = "huon.SnapshotKey";

/// One of the two files.
struct Side {
    txn: ReadTxn,
}

impl Side {
    /// The main table, which has no name, and the others. That of the named snapshots says
    /// something of its file only.
    fn names(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let mut names = self.txn.table_names()?;
        let own = names.iter().position(|name| name == SNAPSHOTS);
        if let Some(own) = own
            && self
                .txn
                .table_stat(SNAPSHOTS)?
                .is_some_and(|stat| stat.key_type.as_deref() == Some(SNAPSHOT_KEYS))
        {
            names.remove(own);
        }
        names.push(Vec::new());
        Ok(names)
    }

    fn records(&self, name: &[u8]) -> Result<Peekable<Records<'_>>, Failure> {
        let records = match table::find(&self.txn, name)? {
            Some(table) => table.records(&self.txn, &Part::All)?,
            None => Box::new(std::iter::empty()),
        };
        Ok(records.peekable())
    }
}

/// A key and its value.
type Record<'t> = (&'t [u8], &'t [u8]);

fn next<'t>(side: &mut Peekable<Records<'t>>) -> huon::Result<Option<Record<'t>>> {
    side.next().transpose()
}

struct Differ<'a> {
    args: &'a Diff,
    out: Out,
    /// Differences so far.
    count: u64,
    /// The name of the present table was shown.
    headed: bool,
}

impl Differ<'_> {
    /// Compares two files.
    fn files(&mut self, other: &Path) -> Result<(), Failure> {
        let args = self.args;
        let new = open::look(other).map_err(|failure| failure.about(other))?;
        let old = Side { txn: open::look(&args.file)?.read()? };
        let new = Side { txn: new.read()? };
        let Some(name) = &args.table else {
            let names = BTreeSet::from_iter(old.names()?.into_iter().chain(new.names()?));
            return names.iter().try_for_each(|name| self.tables(&old, name, &new, name));
        };
        let with = open::name(args.with.as_deref().or(Some(name)))?;
        let name = open::name(Some(name))?;
        let there = |side: &Side, file, name: &[u8]| match side.txn.table_stat(name)? {
            Some(_) => Ok(()),
            None => Err(table::missing(file, name)),
        };
        there(&old, &args.file, &name)?;
        there(&new, other, &with)?;
        self.tables(&old, &name, &new, &with)
    }

    /// Compares a named snapshot with the newest: reads what differs only.
    fn snapshots(&mut self, since: &str) -> Result<(), Failure> {
        let args = self.args;
        let env = open::look(&args.file)?;
        let (old, new) = (open::read(&env, Some(since))?, env.read()?);
        let wanted = args.table.as_deref().map(|name| open::name(Some(name))).transpose()?;
        let (mut at, mut done) = (None, Ok(()));
        let mut types = Types::of_tables(&args.types, &[]);
        new.difference(&old, &mut |difference| {
            let table = table_of(difference);
            if wanted.as_ref().is_some_and(|wanted| wanted != table) {
                return ControlFlow::Continue(());
            }
            done = (|| {
                if at.as_deref() != Some(table) {
                    let stats = [old.table_stat(table)?, new.table_stat(table)?];
                    let stats: Vec<&TableStat> = stats.iter().flatten().collect();
                    types = Types::of_tables(&args.types, &stats);
                    (at, self.headed) = (Some(table.to_vec()), false);
                }
                match *difference {
                    Difference::TableCreated { .. } => self.told(table, "only since then"),
                    Difference::TableDropped { .. } => self.told(table, "only before"),
                    Difference::Removed { key, old, .. } => {
                        self.found(table, &types, Some((key, old)), None)
                    }
                    Difference::Added { key, new, .. } => {
                        self.found(table, &types, None, Some((key, new)))
                    }
                    Difference::Changed { key, old, new, .. } => {
                        self.found(table, &types, Some((key, old)), Some((key, new)))
                    }
                    _ => Ok(()),
                }
            })();
            match done {
                Ok(()) if !args.quiet || self.count == 0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })?;
        done
    }

    /// Compares two tables; of one that is not there all records are missing.
    fn tables(&mut self, old: &Side, name: &[u8], new: &Side, with: &[u8]) -> Result<(), Failure> {
        self.headed = false;
        let (left, right) = (old.txn.table_stat(name)?, new.txn.table_stat(with)?);
        let Some(stat) = left.as_ref().or(right.as_ref()) else { return Ok(()) };
        let stats: Vec<&TableStat> = [&left, &right].into_iter().flatten().collect();
        let types = Types::of_tables(&self.args.types, &stats);
        match (&left, &right) {
            (Some(left), Some(right)) if !is_alike(left, right) => {
                let (left, right) = (shape(left), shape(right));
                return self.told(name, &format!("a table of another kind: {left}; {right}"));
            }
            (Some(left), Some(right)) if !has_types_alike(left, right, &self.args.types) => {
                let named = |stat: &TableStat| info::types(stat).unwrap_or_default();
                let (left, right) = (named(left), named(right));
                return self.told(name, &format!("a table of other types: {left}; {right}"));
            }
            (Some(_), Some(_)) => {}
            (Some(_), None) => self.told(name, "only in the first file")?,
            _ => self.told(name, "only in the other file")?,
        }
        let is_one_sided = left.is_none() || right.is_none();
        let order = match Order::of(stat) {
            Some(order) => order,
            // No two records are compared.
            None if is_one_sided => Order { keys: Ord::cmp, values: None },
            None => {
                let name = Form::Plain.show(name);
                return Err(Failure::usage(format!(
                    "table \"{name}\" is in the order of its program's own, which is not known \
                     here; compare others with --table."
                )));
            }
        };
        self.records(name, &types, &order, old.records(name)?, new.records(with)?)
    }

    fn records(
        &mut self,
        name: &[u8],
        types: &Types,
        order: &Order,
        mut old: Peekable<Records<'_>>,
        mut new: Peekable<Records<'_>>,
    ) -> Result<(), Failure> {
        loop {
            let which = match (old.peek(), new.peek()) {
                (Some(Ok(old)), Some(Ok(new))) => order.compare(*old, *new),
                (None, None) => return Ok(()),
                // An error comes first, to be told.
                (Some(_), None) | (Some(Err(_)), _) => Ordering::Less,
                (None, Some(_)) | (_, Some(Err(_))) => Ordering::Greater,
            };
            match which {
                Ordering::Less => self.found(name, types, next(&mut old)?, None)?,
                Ordering::Greater => self.found(name, types, None, next(&mut new)?)?,
                Ordering::Equal => {
                    let (old, new) = (next(&mut old)?, next(&mut new)?);
                    if old != new {
                        self.found(name, types, old, new)?;
                    }
                }
            }
            if self.args.quiet && self.count > 0 {
                return Ok(());
            }
        }
    }

    /// Shows a difference.
    fn found(
        &mut self,
        name: &[u8],
        types: &Types,
        old: Option<Record<'_>>,
        new: Option<Record<'_>>,
    ) -> Result<(), Failure> {
        self.count += 1;
        if self.args.quiet {
            return Ok(());
        }
        if self.args.json {
            let mut object = Map::from_iter([json_name("table", name, Form::Plain)]);
            if let Some((key, _)) = old.or(new) {
                types.key.add_to(&mut object, key)?;
            }
            for (side, record) in [("old", old), ("new", new)] {
                if let Some((_, value)) = record {
                    types.value.add_as(side, &mut object, value)?;
                }
            }
            return self.out.json(&Value::Object(object));
        }
        self.head(name)?;
        for (sign, style, record) in [('-', REMOVED, old), ('+', ADDED, new)] {
            if let Some((key, value)) = record {
                let (key, value) = (types.key.show(key)?, types.value.show(value)?);
                self.out.line(painted(style, format_args!("{sign} {key}\t{value}")))?;
            }
        }
        Ok(())
    }

    /// A difference of the tables themselves.
    fn told(&mut self, name: &[u8], what: &str) -> Result<(), Failure> {
        self.count += 1;
        if self.args.quiet {
            return Ok(());
        }
        if self.args.json {
            let (field, name) = json_name("table", name, Form::Plain);
            return self.out.json(&json!({ (field): name, "difference": what }));
        }
        self.head(name)?;
        self.out.line(format_args!("  {what}"))
    }

    fn head(&mut self, name: &[u8]) -> Result<(), Failure> {
        if std::mem::replace(&mut self.headed, true) {
            return Ok(());
        }
        let name = match name {
            [] => "main table".into(),
            name => format!("table {}", Form::Plain.show(name)),
        };
        self.out.line(painted(HEAD, name))
    }
}

/// The table that a difference is in.
fn table_of<'t>(difference: &Difference<'t>) -> &'t [u8] {
    match *difference {
        Difference::TableCreated { table }
        | Difference::TableDropped { table }
        | Difference::Removed { table, .. }
        | Difference::Changed { table, .. }
        | Difference::Added { table, .. } => table,
        _ => &[],
    }
}

/// Whether the records of both follow each other in the same way.
fn is_alike(a: &TableStat, b: &TableStat) -> bool {
    (a.order, a.values) == (b.order, b.values)
        && agree(&a.comparator, &b.comparator)
        && agree(&a.value_comparator, &b.value_comparator)
}

/// Whether what the user does not name the types of is of the same types.
fn has_types_alike(a: &TableStat, b: &TableStat, args: &TypeArgs) -> bool {
    (args.hex || args.key_type.is_some() || agree(&a.key_type, &b.key_type))
        && (args.hex || args.value_type.is_some() || agree(&a.value_type, &b.value_type))
}

/// As when a table is opened: where no name is stored, any will do.
fn agree(a: &Option<String>, b: &Option<String>) -> bool {
    a.is_none() || b.is_none() || a == b
}

fn shape(stat: &TableStat) -> String {
    let (keys, values) = (key_order(stat), value_order(stat));
    let kind = table::kind(&keys, values.as_deref(), stat.value_bytes);
    if kind.is_empty() { "one value a key".into() } else { kind }
}

type Compare = fn(&[u8], &[u8]) -> Ordering;

/// How the records of a table follow each other.
struct Order {
    keys: Compare,
    /// In a multimap, how the values of a key do.
    values: Option<Compare>,
}

impl Order {
    /// `None`: by a function of a program's own.
    fn of(stat: &TableStat) -> Option<Order> {
        let values = stat.values.map(Order::named);
        if let Some(None) = values {
            return None;
        }
        Some(Order { keys: Order::named(stat.order)?, values: values.flatten() })
    }

    fn named(order: &str) -> Option<Compare> {
        match order {
            "bytes" => Some(Ord::cmp),
            "reversed" | "native-u32" | "native-u64" => {
                Some(|a, b| a.iter().rev().cmp(b.iter().rev()))
            }
            _ => None,
        }
    }

    fn compare(&self, old: Record<'_>, new: Record<'_>) -> Ordering {
        let keys = (self.keys)(old.0, new.0);
        keys.then_with(|| self.values.map_or(Ordering::Equal, |compare| compare(old.1, new.1)))
    }
}

//! What an environment should hold: plain maps, cloned at will.
//!
//! Every order that the tests use can be written as a transformation of keys whose results compare
//! as bytes, so one kind of map serves all of them.

mod compare;
pub(crate) mod driver;
pub(crate) mod handle;
pub mod pairs;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use huon::{Bytes, Geometry, Markers, MultiDef, Order, RawTable, ReadTxn, TableDef, Txn};

pub use compare::{Mismatch, compare_table, same, short};
use pairs::Pairs;

/// The orders of keys that tests use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyOrder {
    /// As byte strings.
    Bytes,
    /// From the last byte.
    Reversed,
    /// Integers of 4 bytes.
    NativeU32,
    /// Integers of 8 bytes.
    NativeU64,
    /// A caller's function: shorter keys first, then as byte strings.
    ByLength,
}

fn by_length(a: &[u8], b: &[u8]) -> Ordering {
    (a.len(), a).cmp(&(b.len(), b))
}

impl KeyOrder {
    /// Bytes that compare as the key does in this order.
    pub fn sort_key(self, key: &[u8]) -> Vec<u8> {
        match self {
            KeyOrder::Bytes => key.to_vec(),
            KeyOrder::Reversed | KeyOrder::NativeU32 | KeyOrder::NativeU64 => {
                key.iter().rev().copied().collect()
            }
            KeyOrder::ByLength => [&(key.len() as u32).to_be_bytes()[..], key].concat(),
        }
    }

    /// The engine's word for it.
    pub fn order(self) -> Order {
        match self {
            KeyOrder::Bytes => Order::Bytes,
            KeyOrder::Reversed => Order::Reversed,
            KeyOrder::NativeU32 => Order::NativeU32,
            KeyOrder::NativeU64 => Order::NativeU64,
            KeyOrder::ByLength => Order::custom("by-length", by_length),
        }
    }

    /// The one length of keys, where there is one.
    pub fn key_bytes(self) -> Option<usize> {
        match self {
            KeyOrder::NativeU32 => Some(4),
            KeyOrder::NativeU64 => Some(8),
            _ => None,
        }
    }
}

/// A table of the tests: one of a few places, each with an order, under one of two names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct TableId(pub u8);

/// What the values of a multimap's key are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Values {
    /// How they compare.
    pub order: KeyOrder,
    /// The one length of all of them, if they have one; 0: that of the first.
    pub equal_bytes: Option<u32>,
}

struct Place {
    name: &'static str,
    order: KeyOrder,
    /// `None`: a key has one value.
    values: Option<Values>,
}

const fn plain(name: &'static str, order: KeyOrder) -> Place {
    Place { name, order, values: None }
}

const fn multi(
    name: &'static str,
    order: KeyOrder,
    value_order: KeyOrder,
    equal_bytes: Option<u32>,
) -> Place {
    Place { name, order, values: Some(Values { order: value_order, equal_bytes }) }
}

const PLACES: [Place; 15] = [
    plain("", KeyOrder::Bytes),
    plain("bytes", KeyOrder::Bytes),
    plain("reversed", KeyOrder::Reversed),
    plain("four", KeyOrder::NativeU32),
    plain("eight", KeyOrder::NativeU64),
    plain("length", KeyOrder::ByLength),
    plain("wide", KeyOrder::Bytes),
    multi("many", KeyOrder::Bytes, KeyOrder::Bytes, None),
    multi("many reversed", KeyOrder::Reversed, KeyOrder::Reversed, None),
    multi("many of five", KeyOrder::ByLength, KeyOrder::Reversed, Some(5)),
    multi("many hashes", KeyOrder::Bytes, KeyOrder::Bytes, Some(20)),
    multi("many as the first", KeyOrder::NativeU64, KeyOrder::ByLength, Some(0)),
    multi("many fours", KeyOrder::NativeU32, KeyOrder::NativeU32, Some(4)),
    multi("many eights", KeyOrder::Bytes, KeyOrder::NativeU64, None),
    multi("many by length", KeyOrder::Bytes, KeyOrder::ByLength, None),
];

impl TableId {
    /// The unnamed table.
    pub const MAIN: TableId = TableId(0);
    /// Ids below this exist; 1 is no table of its own, it is the main table again.
    pub const END: u8 = 2 * PLACES.len() as u8;
    /// Tables below this have one value a key, the others are multimaps.
    pub const MULTI: u8 = 14;

    /// Whether it is the unnamed table.
    pub fn is_main(self) -> bool {
        self.0 < 2
    }

    /// The order of its keys.
    pub fn order(self) -> KeyOrder {
        self.place().order
    }

    /// What the values of a key are, if it may have many.
    pub fn values(self) -> Option<Values> {
        self.place().values
    }

    fn place(self) -> &'static Place {
        &PLACES[usize::from(self.0 / 2)]
    }

    /// Its name.
    pub fn name(self) -> Vec<u8> {
        let mut name = self.place().name.as_bytes().to_vec();
        if !self.is_main() && self.0 % 2 == 1 {
            name.push(b'x');
        }
        name
    }

    /// The same place under its other name.
    pub fn renamed(self) -> TableId {
        TableId(self.0 ^ 1)
    }

    /// The engine's definition of the table, which has one value a key.
    pub fn def(self) -> TableDef<Bytes, Bytes> {
        if self.is_main() {
            TableDef::main()
        } else {
            TableDef::named(self.name()).ordered(self.order().order())
        }
    }

    /// The engine's definition of the multimap.
    ///
    /// # Panics
    /// If it is none.
    pub fn multi_def(self) -> MultiDef<Bytes, Bytes> {
        let values = self.values().expect("a multimap");
        let def = MultiDef::named(self.name()).ordered(self.order().order());
        let def = match values.order {
            KeyOrder::Bytes => def,
            order => def.values_ordered(order.order()),
        };
        match values.equal_bytes {
            Some(bytes) => def.values_of_bytes(bytes),
            None => def,
        }
    }

    /// All tables, main once.
    pub fn all() -> impl Iterator<Item = TableId> {
        std::iter::once(TableId::MAIN).chain((2..TableId::END).map(TableId))
    }
}

/// A record: key and value.
pub type Record = (Arc<[u8]>, Arc<[u8]>);

/// What a table should hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records(BTreeMap<Vec<u8>, Record>);

impl Records {
    /// How many records there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All records in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.0.values()
    }

    /// Sort keys and records in order, between bounds of sort keys.
    pub fn between(
        &self,
        from: Bound<Vec<u8>>,
        to: Bound<Vec<u8>>,
    ) -> Box<dyn DoubleEndedIterator<Item = (&Vec<u8>, &Record)> + '_> {
        if is_reversed(&from, &to) {
            return Box::new(std::iter::empty());
        }
        Box::new(self.0.range((from, to)))
    }

    /// The value under a sort key.
    pub fn get(&self, sort_key: &[u8]) -> Option<&Arc<[u8]>> {
        self.0.get(sort_key).map(|record| &record.1)
    }

    /// Stores a record.
    pub fn put(&mut self, sort_key: Vec<u8>, key: &[u8], value: &[u8]) {
        self.0.insert(sort_key, (key.into(), value.into()));
    }

    /// Deletes a record.
    pub fn delete(&mut self, sort_key: &[u8]) -> bool {
        self.0.remove(sort_key).is_some()
    }

    /// The highest sort key.
    pub fn last(&self) -> Option<&Vec<u8>> {
        self.0.last_key_value().map(|(key, _)| key)
    }

    /// Deletes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

pub(crate) fn is_reversed(from: &Bound<Vec<u8>>, to: &Bound<Vec<u8>>) -> bool {
    use Bound::{Excluded, Included, Unbounded};
    match (from, to) {
        (Unbounded, _) | (_, Unbounded) => false,
        (Included(from), Included(to)) => from > to,
        (Included(from) | Excluded(from), Included(to) | Excluded(to)) => from >= to,
    }
}

/// What a table of either kind should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Plain(Arc<Records>),
    Multi(Arc<Pairs>),
}

/// What an environment should hold; tables are shared between clones until they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    tables: BTreeMap<TableId, Content>,
    /// Of tables whose sequence is not 0.
    sequences: BTreeMap<TableId, u64>,
    /// The application's markers.
    pub markers: Markers,
    /// The limits of the file's length, where a test minds them. No snapshot shows them.
    pub geometry: Option<Geometry>,
    /// The named snapshots. Each is compared by itself, where a test has some.
    pub snapshots: BTreeMap<String, Arc<Model>>,
    /// There is, or was, one: the engine's table of them is there.
    pub names_table: bool,
}

/// The engine's table of named snapshots, of which a model knows nothing.
pub const SNAPSHOTS_TABLE: &[u8] = b"huon.snapshots";

impl Default for Model {
    fn default() -> Model {
        Model {
            tables: BTreeMap::from([(TableId::MAIN, Content::Plain(Arc::default()))]),
            sequences: BTreeMap::new(),
            markers: Markers::default(),
            geometry: None,
            snapshots: BTreeMap::new(),
            names_table: false,
        }
    }
}

impl Model {
    /// Records of tables in the main one.
    pub fn hidden(&self) -> usize {
        self.named().count() + usize::from(self.names_table)
    }

    fn id(id: TableId) -> TableId {
        if id.is_main() { TableId::MAIN } else { id }
    }

    /// The records of a table, if it exists and is no multimap.
    pub fn table(&self, id: TableId) -> Option<&Records> {
        match self.tables.get(&Model::id(id))? {
            Content::Plain(records) => Some(records),
            Content::Multi(_) => None,
        }
    }

    /// The same, for a change.
    pub fn table_mut(&mut self, id: TableId) -> Option<&mut Records> {
        match self.tables.get_mut(&Model::id(id))? {
            Content::Plain(records) => Some(Arc::make_mut(records)),
            Content::Multi(_) => None,
        }
    }

    /// The pairs of a multimap, if it exists.
    pub fn multi(&self, id: TableId) -> Option<&Pairs> {
        match self.tables.get(&id)? {
            Content::Plain(_) => None,
            Content::Multi(pairs) => Some(pairs),
        }
    }

    /// The same, for a change.
    pub fn multi_mut(&mut self, id: TableId) -> Option<&mut Pairs> {
        match self.tables.get_mut(&id)? {
            Content::Plain(_) => None,
            Content::Multi(pairs) => Some(Arc::make_mut(pairs)),
        }
    }

    /// Whether there is such a table or multimap.
    pub fn exists(&self, id: TableId) -> bool {
        self.tables.contains_key(&Model::id(id))
    }

    /// How many records or pairs a table holds.
    pub fn count_in(&self, id: TableId) -> usize {
        self.tables.get(&Model::id(id)).map_or(0, Content::count)
    }

    /// Adds an empty table unless it exists.
    pub fn create(&mut self, id: TableId) {
        self.tables.entry(Model::id(id)).or_insert_with(|| match id.values() {
            None => Content::Plain(Arc::default()),
            Some(values) => Content::Multi(Arc::new(Pairs::new(id.order(), values))),
        });
    }

    /// Takes everything from a table; whether it exists.
    pub fn clear(&mut self, id: TableId) -> bool {
        match self.tables.get_mut(&Model::id(id)) {
            None => return false,
            Some(Content::Plain(records)) => Arc::make_mut(records).clear(),
            Some(Content::Multi(pairs)) => Arc::make_mut(pairs).clear(),
        }
        true
    }

    /// Takes a range of keys from a table; how many records or pairs there were, if it exists.
    pub fn delete_range(
        &mut self,
        id: TableId,
        from: &Bound<Vec<u8>>,
        to: &Bound<Vec<u8>>,
    ) -> Option<u64> {
        let sorted = |bound: &Bound<Vec<u8>>| bound.clone().map(|key| id.order().sort_key(&key));
        let (from, to) = (sorted(from), sorted(to));
        match self.tables.get_mut(&Model::id(id))? {
            Content::Plain(records) => {
                let records = Arc::make_mut(records);
                let gone: Vec<Vec<u8>> =
                    records.between(from, to).map(|(key, _)| key.clone()).collect();
                gone.iter().for_each(|key| assert!(records.delete(key)));
                Some(gone.len() as u64)
            }
            Content::Multi(pairs) => Some(Arc::make_mut(pairs).delete_range(from, to)),
        }
    }

    /// Removes a table; whether it existed.
    pub fn drop_table(&mut self, id: TableId) -> bool {
        self.sequences.remove(&id);
        self.tables.remove(&id).is_some()
    }

    /// Gives a table another name, which must be free.
    pub fn rename(&mut self, id: TableId, to: TableId) {
        if let Some(content) = self.tables.remove(&id) {
            self.tables.insert(to, content);
        }
        if let Some(sequence) = self.sequences.remove(&id) {
            self.sequences.insert(to, sequence);
        }
    }

    /// The sequence of a table.
    pub fn sequence(&self, id: TableId) -> u64 {
        self.sequences.get(&Model::id(id)).copied().unwrap_or(0)
    }

    /// Sets the sequence of a table.
    pub fn set_sequence(&mut self, id: TableId, sequence: u64) {
        self.sequences.insert(Model::id(id), sequence);
        self.sequences.retain(|_, sequence| *sequence != 0);
    }

    /// Named tables that exist.
    pub fn named(&self) -> impl Iterator<Item = TableId> + '_ {
        self.tables.keys().copied().filter(|id| !id.is_main())
    }

    /// Whether `key` of the main table is the name of a table that exists.
    pub fn is_name(&self, key: &[u8]) -> bool {
        self.named().any(|id| id.name() == key)
    }

    /// Whether an ordinary record of the main table has the table's name.
    pub fn hides(&self, id: TableId) -> bool {
        let records = self.table(TableId::MAIN);
        !id.is_main() && records.is_some_and(|records| records.get(&id.name()).is_some())
    }

    /// How many records and pairs all tables hold.
    pub fn count(&self) -> usize {
        self.tables.values().map(Content::count).sum()
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        let bytes = |(key, value): &Record| key.len() + value.len();
        let of = |content: &Content| -> usize {
            match content {
                Content::Plain(records) => records.iter().map(bytes).sum(),
                Content::Multi(pairs) => pairs.iter().map(bytes).sum(),
            }
        };
        self.tables.values().map(of).sum()
    }
}

impl Content {
    fn count(&self) -> usize {
        match self {
            Content::Plain(records) => records.count(),
            Content::Multi(pairs) => pairs.count(),
        }
    }
}

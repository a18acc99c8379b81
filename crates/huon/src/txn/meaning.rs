//! The table that a handle stands for: its name, how it is ordered, and whether keys have many
//! values.

use std::borrow::Cow;

use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::page::{AnyOrder, LABEL_BYTES_MAX, Labels, ManyValues, OrderKind, Tree};
use crate::planted::{self, Bug};
use crate::txn::order::{Order, built_in};

/// What a handle means by the values of a key where there may be many.
#[derive(Clone, Debug)]
pub(crate) struct MultiSpec {
    pub(crate) order: Order,
    pub(crate) lengths: Lengths,
}

/// How long the values of a multimap are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lengths {
    /// Of any length.
    Any,
    /// All of one length, in bytes; 0: that of the first.
    Equal(u32),
    /// As the table was created.
    Stored,
}

/// The names of the types of keys and values; empty ones say nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeNames {
    pub(crate) key: Cow<'static, str>,
    pub(crate) value: Cow<'static, str>,
}

impl TypeNames {
    /// No types: bytes.
    pub(crate) const BYTES: TypeNames =
        TypeNames { key: Cow::Borrowed(""), value: Cow::Borrowed("") };
}

/// A table as a caller asks for it.
#[derive(Clone, Copy)]
pub(crate) struct TableSpec<'d> {
    /// Empty for the main table.
    pub(crate) name: &'d [u8],
    pub(crate) order: &'d Order,
    /// `None`: a key has one value.
    pub(crate) many: Option<&'d MultiSpec>,
    pub(crate) types: &'d TypeNames,
}

impl<'d> TableSpec<'d> {
    /// The names of its comparators and of its types.
    pub(crate) fn labels(&self) -> Result<Labels<'d>> {
        let named = |name: &'d str| Some(name).filter(|name| !name.is_empty());
        let (key_type, value_type) = (named(&self.types.key), named(&self.types.value));
        if [key_type, value_type].into_iter().flatten().any(|name| name.len() > LABEL_BYTES_MAX) {
            return Err(Error::Invalid("the name of a type has at most 255 bytes"));
        }
        let values = self.many.map(|many| many.order.label()).transpose()?.flatten();
        Ok(Labels { keys: self.order.label()?, values, key_type, value_type })
    }

    /// What a handle of it means.
    pub(crate) fn shape(&self) -> Result<TableShape> {
        let values = self.many.map(|many| (Sort::of(&many.order), many.lengths));
        let labels = self.labels()?.fingerprint();
        Ok(TableShape { keys: Sort::of(self.order), values, labels })
    }

    /// The table when it is created. A stored order means bytes then.
    pub(crate) fn empty(&self) -> Tree {
        let kind = |order: &Order| order.kind().unwrap_or_default();
        let mut tree = Tree::new(kind(self.order));
        if let Some(many) = self.many {
            let order = kind(&many.order);
            let bytes = match many.lengths {
                Lengths::Any | Lengths::Stored => None,
                Lengths::Equal(bytes) => Some(bytes),
            };
            let native = order.key_bytes().map(|bytes| bytes as u32);
            let equal = native.or(bytes);
            tree.many = Some(ManyValues { order, equal: equal.is_some() });
            tree.fixed_bytes = equal.unwrap_or(0);
        }
        tree
    }

    /// A copy that stays.
    pub(crate) fn kept(&self) -> Result<TableInfo> {
        let name = copied(self.name)?.into_boxed_slice();
        let (order, many) = (self.order.clone(), self.many.cloned());
        Ok(TableInfo { name, order, many, types: self.types.clone() })
    }
}

/// A table as a handle means it.
#[derive(Debug)]
pub(crate) struct TableInfo {
    pub(crate) name: Box<[u8]>,
    pub(crate) order: Order,
    pub(crate) many: Option<MultiSpec>,
    pub(crate) types: TypeNames,
}

impl TableInfo {
    fn spec(&self) -> TableSpec<'_> {
        let TableInfo { name, order, many, types } = self;
        TableSpec { name, order, many: many.as_ref(), types }
    }

    /// The table when it is created.
    pub(crate) fn empty(&self) -> Tree {
        self.spec().empty()
    }

    /// The names of its comparators and of its types.
    pub(crate) fn labels(&self) -> Result<Labels<'_>> {
        self.spec().labels()
    }
}

/// Whether the values of a key compare as a function of the caller's says.
pub(crate) fn has_own_values(tree: &Tree) -> bool {
    tree.many.is_some_and(|many| many.order == OrderKind::Custom)
}

/// How the values of a key of a multimap compare. `info` says it where that is a function.
pub(crate) fn value_order<'i>(tree: &Tree, info: Option<&'i TableInfo>) -> Result<AnyOrder<'i>> {
    let Some(many) = tree.many else { return Err(Error::TableKind) };
    if let Some(order) = built_in(many.order) {
        return Ok(order);
    }
    let own = info.and_then(|info| info.many.as_ref()?.order.resolve(many.order));
    own.ok_or(Error::OrderUnknown)
}

/// An order, as far as two can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Stored,
    BuiltIn(OrderKind),
    /// A function that has a name.
    Named,
    /// One that has none: where it lies. No other can lie there as long as a place keeps this one.
    Function(usize),
}

impl Sort {
    fn of(order: &Order) -> Sort {
        match order {
            Order::Custom(comparator) if comparator.name().is_some() => Sort::Named,
            Order::Custom(comparator) => Sort::Function(comparator.address()),
            order => order.kind().map_or(Sort::Stored, Sort::BuiltIn),
        }
    }

    fn fits(self, stored: OrderKind) -> bool {
        match self {
            Sort::Stored => true,
            Sort::BuiltIn(kind) => kind == stored,
            Sort::Named | Sort::Function(_) => stored == OrderKind::Custom,
        }
    }

    fn of_words([sort, word]: [u64; 2]) -> Sort {
        match sort {
            0 => Sort::Stored,
            1 => Sort::BuiltIn(OrderKind::decode(word as u8).unwrap_or_default()),
            2 => Sort::Named,
            _ => Sort::Function(word as usize),
        }
    }

    fn words(self) -> [u64; 2] {
        match self {
            Sort::Stored => [0, 0],
            Sort::BuiltIn(kind) => [1, kind as u64],
            Sort::Named => [2, 0],
            Sort::Function(at) => [3, at as u64],
        }
    }
}

/// What a handle means by a table without its name, in a form that is small and can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableShape {
    keys: Sort,
    /// `None`: a key has one value.
    values: Option<(Sort, Lengths)>,
    /// The fingerprint of the names of comparators and types; 0: there are none.
    labels: u64,
}

impl TableShape {
    /// Words that say all of it.
    pub(crate) const WORDS: usize = 7;

    /// The same as words; two that differ have different ones.
    pub(crate) fn words(&self) -> [u64; TableShape::WORDS] {
        let [keys, at] = self.keys.words();
        let labels = self.labels;
        let Some((values, lengths)) = self.values else { return [keys, at, 0, 0, 0, 0, labels] };
        let [values, value_at] = values.words();
        let (lengths, bytes) = match lengths {
            Lengths::Any => (1, 0),
            Lengths::Equal(bytes) => (2, u64::from(bytes)),
            Lengths::Stored => (3, 0),
        };
        [keys, at, values, value_at, lengths, bytes, labels]
    }

    /// The shape that these words say. Words that [`TableShape::words`] has not made say some
    /// shape.
    pub(crate) fn of_words(words: &[u64; TableShape::WORDS]) -> TableShape {
        let &[keys, at, values, value_at, lengths, bytes, labels] = words;
        let lengths = match lengths {
            0 => None,
            1 => Some(Lengths::Any),
            2 => Some(Lengths::Equal(bytes as u32)),
            _ => Some(Lengths::Stored),
        };
        let values = lengths.map(|lengths| (Sort::of_words([values, value_at]), lengths));
        TableShape { keys: Sort::of_words([keys, at]), values, labels }
    }

    /// Whether functions without a name order keys or values: one that is made anew at each opening
    /// is another shape each time.
    pub(crate) fn has_function(&self) -> bool {
        let is_function = |sort: &Sort| matches!(sort, Sort::Function(_));
        is_function(&self.keys) || self.values.as_ref().is_some_and(|(sort, _)| is_function(sort))
    }

    /// Whether the names have to be compared themselves: both sides have some,
    /// and they are not all the same.
    #[inline]
    pub(crate) fn names_differ(&self, tree: &Tree) -> bool {
        let differ = self.labels != 0 && tree.labels != 0 && self.labels != tree.labels;
        differ && !planted::is(Bug::ComparatorName)
    }

    /// Fails unless the stored table is such as the caller expects.
    pub(crate) fn check(&self, tree: &Tree) -> Result<()> {
        let values = match (&self.values, &tree.many) {
            (None, None) => true,
            (Some((sort, lengths)), Some(stored)) => {
                let lengths = match lengths {
                    Lengths::Stored => true,
                    Lengths::Any => !stored.equal || stored.order.key_bytes().is_some(),
                    Lengths::Equal(0) => stored.equal,
                    Lengths::Equal(bytes) => stored.equal && tree.fixed_bytes == *bytes,
                };
                sort.fits(stored.order) && lengths
            }
            _ => false,
        };
        if self.keys.fits(tree.order) && values { Ok(()) } else { Err(Error::TableKind) }
    }
}

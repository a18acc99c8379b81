//! Iterating a table: ranges and prefixes.

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use crate::error::Result;
use crate::page::{AnyOrder, PayloadKind, SlottedLeaf, Tree};
use crate::store::pages::Pages;
use crate::table::codec::{Codec, KeyCodec, KeyPrefix};
use crate::table::def::Table;
use crate::table::txn::{AnySource, AnyTxn, Txn, in_range, value};
use crate::tree::cursor::{Cells, Items, LeafSpan};
use crate::txn::names::TableId;
use crate::txn::snapshot::Snapshot;

/// The records of a part of a table, from both ends; see [`Table::range`].
///
/// Steps cost no allocation and no system call. An item is an error where a page is damaged; leaves
/// beyond it are not returned. [`Range::leaves`] gives the same records a leaf at a time, and
/// [`OwnedRange`](crate::OwnedRange) keeps its transaction.
///
/// It may be sent to another thread, and be held across an `.await` in a task that moves between
/// threads:
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # async fn send(_: u64) {}
/// async fn send_all(env: huon::Env, t: huon::Table<huon::Str, huon::U64>) -> huon::Result<()> {
///     let txn = env.read()?;
///     for record in t.iter(&txn)? {
///         send(record?.1).await;
///     }
///     Ok(())
/// }
/// fn spawn(_: impl Future + Send + 'static) {}
/// # const T: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("t");
/// # let t = env.update(|txn| txn.create_table(&T))?;
/// spawn(send_all(env.clone(), t));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "records are read when they are asked for"]
pub struct Range<'t, K, V> {
    pub(super) source: &'t AnySource,
    pub(super) leaves: LeafSpans<'t>,
    pub(super) items: Items<SlottedLeaf<'t>>,
    pub(super) is_main: bool,
    types: PhantomData<fn(K) -> V>,
}

/// The leaves of either kind of transaction. Each kind has its own code here: through
/// [`AnySource`] a scan takes 5 % more instructions.
pub(super) enum LeafSpans<'t> {
    Read(LeafSpan<'t, Snapshot>),
    Write(LeafSpan<'t, Pages>),
}

impl<'t> LeafSpans<'t> {
    pub(super) fn next(&mut self, out: &mut Cells<'t>) -> Result<()> {
        match self {
            LeafSpans::Read(leaves) => leaves.next(out),
            LeafSpans::Write(leaves) => leaves.next(out),
        }
    }

    pub(super) fn next_back(&mut self, out: &mut Cells<'t>) -> Result<()> {
        match self {
            LeafSpans::Read(leaves) => leaves.next_back(out),
            LeafSpans::Write(leaves) => leaves.next_back(out),
        }
    }
}

pub(crate) type Record<'t, K, V> = (<K as Codec>::Out<'t>, <V as Codec>::Out<'t>);

impl<'t, K: KeyCodec, V: Codec> Range<'t, K, V> {
    #[inline]
    pub(super) fn new(
        txn: AnyTxn<'t>,
        id: TableId,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Range<'t, K, V>> {
        // As most gets: a table at hand, whose record need not be copied to be looked at.
        if let AnyTxn::Read(read) = txn
            && let Some(Some(tree)) = read.tree_at_hand(read.core().names.number(id)?)
        {
            return Range::within(txn, id, tree, (from, to));
        }
        Range::within(txn, id, &txn.tree(id)?, (from, to))
    }

    /// As [`Range::new`], in the table's tree.
    fn within(
        txn: AnyTxn<'t>,
        id: TableId,
        tree: &Tree,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<Range<'t, K, V>> {
        let order = txn.order_in(id, tree, (from, to))?;
        let mut range = Range {
            source: txn.source(),
            leaves: match txn {
                AnyTxn::Read(txn) => LeafSpans::Read(LeafSpan::all(&txn.snapshot, tree)),
                AnyTxn::Write(txn) => LeafSpans::Write(LeafSpan::all(txn.pages(), tree)),
            },
            items: Items::new(),
            is_main: id.is_main(),
            types: PhantomData,
        };
        match (&mut range.leaves, order) {
            (LeafSpans::Read(leaves), AnyOrder::Bytes(order)) => leaves.bound(order, from, to)?,
            (LeafSpans::Read(leaves), order) => leaves.bound(order, from, to)?,
            (LeafSpans::Write(leaves), order) => leaves.bound(order, from, to)?,
        }
        Ok(range)
    }

    #[inline(always)]
    pub(super) fn step(&mut self, forward: bool) -> Result<Option<Record<'t, K, V>>> {
        loop {
            let cell = if forward {
                self.items.next(|out| self.leaves.next(out))?
            } else {
                self.items.next_back(|out| self.leaves.next_back(out))?
            };
            let Some(cell) = cell else { return Ok(None) };
            let value = match cell.kind {
                PayloadKind::Inline => cell.payload,
                _ => match value(self.source, &cell)? {
                    Some(value) => value,
                    // The main table's iterators pass over the records of named tables.
                    None => continue,
                },
            };
            return Ok(Some((K::decode(cell.key)?, V::decode(value)?)));
        }
    }
}

impl<'t, K: KeyCodec, V: Codec> Iterator for Range<'t, K, V> {
    type Item = Result<Record<'t, K, V>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.step(true).transpose()
    }
}

impl<K: KeyCodec, V: Codec> DoubleEndedIterator for Range<'_, K, V> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(false).transpose()
    }
}

impl<K: KeyCodec, V: Codec> FusedIterator for Range<'_, K, V> {}

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// All records, in key order.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "bob", 2)?;
    /// t.put(&mut txn, "ann", 1)?;
    /// let all: Result<Vec<_>, _> = t.iter(&txn)?.collect();
    /// assert_eq!(all?, [("ann", 1), ("bob", 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter<'t>(self, txn: &'t impl Txn) -> Result<Range<'t, K, V>> {
        Range::new(txn.any(), self.id, Bound::Unbounded, Bound::Unbounded)
    }

    /// The records of a range of keys, in key order; `.rev()` goes the other way. An upper bound
    /// below the lower one gives nothing.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (i, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
    ///     t.put(&mut txn, name, i as u64)?;
    /// }
    /// let late: Result<Vec<_>, _> = t.range(&txn, "b"..)?.rev().collect();
    /// assert_eq!(late?, [("cid", 2), ("bob", 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<'t, 'k>(
        self,
        txn: &'t impl Txn,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<Range<'t, K, V>> {
        in_range::<K, _, _>(range, |from, to| Range::new(txn.any(), self.id, from, to))
    }

    /// The records whose keys begin with the bytes of `prefix`.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// for name in ["ann", "anton", "bob"] {
    ///     t.put(&mut txn, name, 0)?;
    /// }
    /// assert_eq!(t.prefix(&txn, "an")?.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PrefixOrder`](crate::Error::PrefixOrder) unless keys are ordered as byte strings:
    /// elsewhere they do not lie together.
    pub fn prefix<'t>(
        self,
        txn: &'t impl Txn,
        prefix: impl KeyPrefix<K>,
    ) -> Result<Range<'t, K, V>> {
        let txn = txn.any();
        txn.in_prefix::<K, _>(self.id, &prefix, |from, to| Range::new(txn, self.id, from, to))
    }
}

//! A range that keeps its transaction.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use crate::error::Result;
use crate::page::{Cell, Tree};
use crate::table::codec::{Codec, KeyCodec, KeyPrefix};
use crate::table::def::Table;
use crate::table::iter::Record;
use crate::table::txn::{AnyTxn, in_range, value};
use crate::tree::cursor::Ends;
use crate::tree::view::TreeView;
use crate::txn::names::TableId;
use crate::txn::read::ReadTxn;

/// The records of a part of a table, from both ends, with the transaction that shows them; see
/// [`Table::into_range`].
///
/// It borrows nothing, so it lives as long as it likes: in a struct, in a task, behind the handle
/// of a binding to another language. As long as it does, the pages of its snapshot are retained, as
/// by any [`ReadTxn`]. Its items borrow it, so it is no [`Iterator`]; one that copies is
/// made in a line:
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// use huon::{Str, TableDef, U64};
/// # let t = env.update(|txn| {
/// #     let t = txn.create_table(&TableDef::<Str, U64>::new("ages"))?;
/// #     for (n, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
/// #         t.put(txn, name, n as u64)?;
/// #     }
/// #     Ok(t)
/// # })?;
/// fn people(
///     env: &huon::Env,
///     ages: huon::Table<Str, U64>,
/// ) -> huon::Result<impl Iterator<Item = huon::Result<(String, u64)>> + Send + 'static> {
///     let mut range = ages.into_range(env.read()?, "b"..)?;
///     Ok(std::iter::from_fn(move || {
///         range.next().map(|found| found.map(|(name, age)| (name.to_owned(), age))).transpose()
///     }))
/// }
/// let late: Result<Vec<_>, _> = people(&env, t)?.collect();
/// assert_eq!(late?, [("bob".to_owned(), 1), ("cid".to_owned(), 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A step reads one leaf, and makes no allocation and no system call.
#[must_use = "records are read when they are asked for"]
pub struct OwnedRange<K, V> {
    txn: ReadTxn,
    tree: Tree,
    ends: Box<Ends>,
    types: PhantomData<fn(K) -> V>,
}

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// As [`Table::range`], with a transaction that the range keeps.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let t = env.update(|txn| {
    /// #     let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("ages"))?;
    /// #     for (n, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
    /// #         t.put(txn, name, n as u64)?;
    /// #     }
    /// #     Ok(t)
    /// # })?;
    /// let mut range = t.into_range(env.read()?, "b"..)?;
    /// assert_eq!(range.next_back()?, Some(("cid", 2)));
    /// assert_eq!(range.next()?, Some(("bob", 1)));
    /// assert_eq!(range.next()?, None);
    /// assert_eq!(t.get(range.txn(), "ann")?, Some(0), "the transaction is there as before");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of all methods of a table; the transaction has ended then.
    pub fn into_range<'k>(
        self,
        txn: ReadTxn,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<OwnedRange<K, V>> {
        let found = in_range::<K, _, _>(range, |from, to| between(&txn, self.id, from, to))?;
        Ok(OwnedRange::of(txn, found))
    }

    /// As [`Table::prefix`], with a transaction that the range keeps.
    ///
    /// # Errors
    /// As [`Table::into_range`], and [`Error::PrefixOrder`](crate::Error::PrefixOrder) unless keys
    /// are ordered as byte strings.
    pub fn into_prefix(self, txn: ReadTxn, prefix: impl KeyPrefix<K>) -> Result<OwnedRange<K, V>> {
        let any = AnyTxn::Read(&txn);
        let found =
            any.in_prefix::<K, _>(self.id, &prefix, |from, to| between(&txn, self.id, from, to))?;
        Ok(OwnedRange::of(txn, found))
    }

    /// As [`Table::iter`], with a transaction that the range keeps: all records.
    ///
    /// # Errors
    /// As [`Table::into_range`].
    pub fn into_iter(self, txn: ReadTxn) -> Result<OwnedRange<K, V>> {
        let found = between(&txn, self.id, Bound::Unbounded, Bound::Unbounded)?;
        Ok(OwnedRange::of(txn, found))
    }
}

/// A table's record, and the ends of a range in it.
fn between(
    txn: &ReadTxn,
    id: TableId,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
) -> Result<(Tree, Ends)> {
    let any = AnyTxn::Read(txn);
    let tree = any.tree(id)?;
    let order = any.order_in(id, &tree, (from, to))?;
    Ok((tree, Ends::new(TreeView::new(&txn.snapshot, &tree, order), from, to)?))
}

impl<K: KeyCodec, V: Codec> OwnedRange<K, V> {
    fn of(txn: ReadTxn, (tree, ends): (Tree, Ends)) -> OwnedRange<K, V> {
        OwnedRange { txn, tree, ends: Box::new(ends), types: PhantomData }
    }

    /// The next record from the front. After an error there are no more.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record<'_, K, V>>> {
        self.step(true)
    }

    /// The next record from the back.
    pub fn next_back(&mut self) -> Result<Option<Record<'_, K, V>>> {
        self.step(false)
    }

    fn step(&mut self, forward: bool) -> Result<Option<Record<'_, K, V>>> {
        let OwnedRange { txn, tree, ends, .. } = self;
        let source = &txn.snapshot;
        let view = TreeView::unordered(source, tree);
        loop {
            let cell: Option<Cell<'_>> =
                if forward { ends.next(view)? } else { ends.next_back(view)? };
            let Some(cell) = cell else { return Ok(None) };
            // The main table's ranges pass over the records of named tables.
            if let Some(value) = value(source, &cell)? {
                return Ok(Some((K::decode(cell.key)?, V::decode(value)?)));
            }
        }
    }

    /// The transaction.
    pub fn txn(&self) -> &ReadTxn {
        &self.txn
    }

    /// Ends the range and gives its transaction back.
    pub fn into_txn(self) -> ReadTxn {
        self.txn
    }
}

const _: () = {
    const fn is_send<T: Send>() {}
    const fn is_sync<T: Sync>() {}
    is_send::<OwnedRange<(), ()>>();
    is_send::<crate::table::owned_pairs::OwnedPairs<(), ()>>();
    is_send::<crate::table::owned_pairs::OwnedValues<()>>();
    is_sync::<ReadTxn>();
    is_send::<crate::table::iter::Range<'_, (), ()>>();
    is_send::<crate::table::leaves::Leaves<'_, (), ()>>();
    is_send::<crate::table::leaves::LeafIter<'_, (), ()>>();
    is_send::<crate::table::pairs::Values<'_, ()>>();
    is_send::<crate::table::pairs::Batches<'_>>();
    is_send::<crate::table::pairs::Pairs<'_, (), ()>>();
    is_send::<crate::table::pairs::Keys<'_, ()>>();
};

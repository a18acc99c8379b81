//! Reading in a transaction of either kind.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::page::{AnyOrder, BytesOrder, Cell, OrderKind, PayloadKind, Tree};
use crate::planted::{self, Bug};
use crate::store::source::PageSource;
use crate::table::codec::{Codec, KeyCodec, KeyPrefix, Scratch};
use crate::table::def::{Definition, Id};
use crate::tree::many::BATCH;
use crate::tree::read;
use crate::tree::view::TreeView;
use crate::txn::catalog;
use crate::txn::meaning::{TableInfo, has_own_values, value_order};
use crate::txn::names::{Names, TableId};
use crate::txn::order::built_in;
use crate::txn::read::ReadTxn;
use crate::txn::write::{How, WriteTxn};

mod sealed {
    pub trait Sealed {}
}

/// The transaction behind a `&impl Txn`, for layers on top of Huon that keep something with one:
/// [`ReadTxn::attach`], [`WriteTxn::extension`].
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// fn id(txn: &impl huon::Txn) -> u64 {
///     match txn.any() {
///         huon::AnyTxn::Read(txn) => txn.id(),
///         huon::AnyTxn::Write(txn) => txn.id(),
///     }
/// }
/// assert_eq!(id(&env.read()?), env.read()?.id());
/// assert!(id(&env.write()?) > id(&env.read()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub enum AnyTxn<'t> {
    /// A snapshot.
    Read(&'t ReadTxn),
    /// The writer's.
    Write(&'t WriteTxn),
}

/// The pages that a transaction of either kind shows.
///
/// Search for keys and values, and walks of multimaps, exist once for both: they ask a few times a
/// leaf. A table's ranges and all cursors, where each instruction counts, know their transaction.
/// The pages can be read from any thread.
pub(crate) type AnySource = dyn PageSource + Sync;

/// A transaction that can be read from: [`ReadTxn`] or [`WriteTxn`].
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
/// fn count(table: huon::Table<huon::Str, huon::U64>, txn: &impl huon::Txn) -> huon::Result<u64> {
///     table.len(txn)
/// }
/// assert_eq!(count(t, &txn)?, 0);
/// txn.commit()?;
/// assert_eq!(count(t, &env.read()?)?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Txn: sealed::Sealed {
    /// Which kind of transaction it is.
    fn any(&self) -> AnyTxn<'_>;

    /// As [`ReadTxn::open_table`].
    ///
    /// # Errors
    /// As there.
    fn open_table<D: Definition>(&self, def: &D) -> Result<Option<D::Handle>>;
}

impl sealed::Sealed for ReadTxn {}

impl sealed::Sealed for WriteTxn {}

impl Txn for ReadTxn {
    #[inline]
    fn any(&self) -> AnyTxn<'_> {
        AnyTxn::Read(self)
    }

    fn open_table<D: Definition>(&self, def: &D) -> Result<Option<D::Handle>> {
        self.open_table(def)
    }
}

impl Txn for WriteTxn {
    #[inline]
    fn any(&self) -> AnyTxn<'_> {
        AnyTxn::Write(self)
    }

    fn open_table<D: Definition>(&self, def: &D) -> Result<Option<D::Handle>> {
        self.open_table(def)
    }
}

impl<'t> AnyTxn<'t> {
    /// The numbers of tables of its environment.
    #[inline(always)]
    pub(crate) fn names(self) -> &'t Names {
        match self {
            AnyTxn::Read(txn) => &txn.core().names,
            AnyTxn::Write(txn) => &txn.core.names,
        }
    }

    /// The table behind a handle; it must exist.
    #[inline]
    pub(crate) fn tree(self, id: TableId) -> Result<Tree> {
        let number = self.names().number(id)?;
        let tree = match self {
            AnyTxn::Read(txn) => txn.tree(number)?,
            AnyTxn::Write(txn) => txn.tree(number)?,
        };
        match tree {
            Some(tree) => Ok(tree),
            None => self.missing(id),
        }
    }

    /// The tree where the table does not exist: a handle that was made without looking for the
    /// table finds an empty one.
    #[cold]
    fn missing(self, id: TableId) -> Result<Tree> {
        if id.is_unfounded() { Ok(self.info(id)?.empty()) } else { Err(Error::TableNotFound) }
    }

    fn info(self, id: TableId) -> Result<&'t Arc<TableInfo>> {
        let number = self.names().number(id)?;
        match self {
            AnyTxn::Read(txn) => txn.info(number),
            AnyTxn::Write(txn) => txn.info(number),
        }
    }

    /// How the table's keys compare.
    #[inline]
    pub(crate) fn order(self, id: TableId, tree: &Tree) -> Result<AnyOrder<'t>> {
        match built_in(tree.order) {
            Some(order) => Ok(order),
            None => self.info(id)?.order.resolve(tree.order).ok_or(Error::OrderUnknown),
        }
    }

    /// How the table's keys compare with the bounds of a range; where it has none, none do.
    pub(super) fn order_in(
        self,
        id: TableId,
        tree: &Tree,
        range: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<AnyOrder<'t>> {
        match range {
            (Bound::Unbounded, Bound::Unbounded) => Ok(AnyOrder::UNORDERED),
            _ => self.order(id, tree),
        }
    }

    /// How the values of a key of a multimap compare.
    pub(crate) fn value_order(self, id: TableId, tree: &Tree) -> Result<AnyOrder<'t>> {
        if has_own_values(tree) {
            value_order(tree, Some(self.info(id)?))
        } else {
            value_order(tree, None)
        }
    }

    /// Refuses to go on in a forked child (C1).
    #[inline]
    pub(crate) fn check_alive(self) -> Result<()> {
        match self {
            AnyTxn::Read(txn) => txn.core().check_forked(),
            AnyTxn::Write(txn) => txn.core.check_forked(),
        }
    }

    /// Changes whenever what the transaction shows may have changed.
    #[inline]
    pub(crate) fn version(self) -> (u64, u64) {
        match self {
            AnyTxn::Read(txn) => (txn.id(), 0),
            AnyTxn::Write(txn) if planted::is(Bug::EditUnnoticed) => (txn.id(), 1),
            AnyTxn::Write(txn) => (txn.id(), txn.stamp() + 1),
        }
    }

    /// The pages that the transaction shows.
    #[inline]
    pub(crate) fn source(self) -> &'t AnySource {
        match self {
            AnyTxn::Read(txn) => &txn.snapshot,
            AnyTxn::Write(txn) => txn.pages(),
        }
    }

    /// The value of a cell; `None` for the record of a table. Callers that expect the value in the
    /// cell look there first.
    pub(crate) fn value(self, cell: &Cell<'t>) -> Result<Option<&'t [u8]>> {
        value(self.source(), cell)
    }

    /// About how many entries of the table lie in a range of keys.
    pub(crate) fn estimate<'k, K: Codec>(
        self,
        id: TableId,
        range: impl RangeBounds<K::In<'k>>,
    ) -> Result<u64> {
        let tree = self.tree(id)?;
        let order = self.order(id, &tree)?;
        let view = TreeView::new(self.source(), &tree, order);
        in_range::<K, _, _>(range, |from, to| view.estimate(from, to))
    }

    /// Hands on the range of all keys that begin with the bytes of `prefix`. Unless keys are
    /// ordered as byte strings, they do not lie together.
    pub(super) fn in_prefix<K: KeyCodec, R>(
        self,
        id: TableId,
        prefix: &impl KeyPrefix<K>,
        act: impl FnOnce(Bound<&[u8]>, Bound<&[u8]>) -> Result<R>,
    ) -> Result<R> {
        if self.tree(id)?.order != OrderKind::Bytes {
            return Err(Error::PrefixOrder);
        }
        let mut scratch = Scratch::default();
        let from = prefix.encode(&mut scratch)?;
        let end = after_prefix(from)?;
        act(Bound::Included(from), end.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
    }

    /// The value of a key.
    #[inline]
    pub(crate) fn get(self, id: TableId, key: &[u8]) -> Result<Option<&'t [u8]>> {
        match self {
            AnyTxn::Read(txn) => txn.get(id, key),
            AnyTxn::Write(txn) => txn.get(id, key),
        }
    }
}

impl<'t> AnyTxn<'t> {
    /// The cells of a batch of keys; see [`TreeView::get_batch`].
    pub(crate) fn get_batch(
        self,
        tree: &Tree,
        order: AnyOrder<'_>,
        keys: &[&[u8]],
        cells: &mut [Option<Cell<'t>>; BATCH],
    ) -> Option<()> {
        match (self, order) {
            (AnyTxn::Read(txn), AnyOrder::Bytes(order)) => {
                TreeView::new(&txn.snapshot, tree, order).get_batch(keys, cells)
            }
            (AnyTxn::Read(txn), order) => {
                TreeView::new(&txn.snapshot, tree, order).get_batch(keys, cells)
            }
            (AnyTxn::Write(txn), order) => {
                TreeView::new(txn.pages(), tree, order).get_batch(keys, cells)
            }
        }
    }
}

impl ReadTxn {
    /// The value of a key.
    #[inline]
    fn get(&self, id: TableId, key: &[u8]) -> Result<Option<&[u8]>> {
        let number = self.core().names.number(id)?;
        // Where most lookups go: a table at hand, keys that are bytes, and nothing wrong.
        if let Some(Some(tree)) = self.tree_at_hand(number)
            && tree.order == OrderKind::Bytes
            && let Some(found) = TreeView::new(&self.snapshot, tree, BytesOrder).fast_get(key)
        {
            return match found {
                Some(cell) if cell.kind == PayloadKind::Inline => Ok(Some(cell.payload)),
                Some(cell) => read::value(&self.snapshot, &cell),
                None => Ok(None),
            };
        }
        self.look(id, key)
    }

    /// As [`ReadTxn::get`], in every case.
    #[inline(never)]
    fn look(&self, id: TableId, key: &[u8]) -> Result<Option<&[u8]>> {
        let txn = AnyTxn::Read(self);
        let tree = txn.tree(id)?;
        let cell = match txn.order(id, &tree)? {
            AnyOrder::Reversed(order) => TreeView::new(&self.snapshot, &tree, order).get(key)?,
            order => TreeView::new(&self.snapshot, &tree, order).get(key)?,
        };
        match cell {
            Some(cell) => read::value(&self.snapshot, &cell),
            None => Ok(None),
        }
    }

    /// A handle of the table, if it exists in this snapshot: a [`Table`](crate::Table) or a
    /// [`Multi`](crate::Multi), as the definition says. Costs a descent into the catalog, the first
    /// time.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// const AGES: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("ages");
    /// const TAGS: huon::MultiDef<huon::Str, huon::Str> = huon::MultiDef::new("tags");
    /// env.update(|txn| txn.create_table(&TAGS).map(drop))?;
    /// let txn = env.read()?;
    /// assert!(txn.open_table(&AGES)?.is_none());
    /// assert!(txn.open_table(&TAGS)?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NameTaken`] if an ordinary record has the name, [`Error::TableKind`] if a table of
    /// another kind or order has it, [`Error::WrongOrder`] if another comparator orders it.
    pub fn open_table<D: Definition>(&self, def: &D) -> Result<Option<D::Handle>> {
        let no = self.open_spec(&def.asked()?.0)?;
        Ok(no.map(|no| D::opened(Id(self.core().names.handle(no)))))
    }

    /// The names of all named tables, in order.
    pub fn table_names(&self) -> Result<Vec<Vec<u8>>> {
        self.core().check_forked()?;
        catalog::names(&self.snapshot, self.main())
    }
}

impl WriteTxn {
    /// The value of a key.
    fn get(&self, id: TableId, key: &[u8]) -> Result<Option<&[u8]>> {
        let txn = AnyTxn::Write(self);
        let tree = txn.tree(id)?;
        match TreeView::new(self.pages(), &tree, txn.order(id, &tree)?).get(key)? {
            Some(cell) => read::value(self.pages(), &cell),
            None => Ok(None),
        }
    }

    /// A handle of the table, if it exists.
    ///
    /// # Errors
    /// As [`ReadTxn::open_table`].
    pub fn open_table<D: Definition>(&self, def: &D) -> Result<Option<D::Handle>> {
        let no = self.open_spec(&def.asked()?.0)?;
        Ok(no.map(|no| D::opened(Id(self.core.names.handle(no)))))
    }

    /// A handle of the table, which is created if it does not exist.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// const T: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("t");
    /// assert!(txn.open_table(&T)?.is_none());
    /// let t = txn.create_table(&T)?;
    /// t.put(&mut txn, "ann", 1)?;
    /// assert_eq!(txn.create_table(&T)?.len(&txn)?, 1, "it is the same table");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadTxn::open_table`].
    pub fn create_table<D: Definition>(&mut self, def: &D) -> Result<D::Handle> {
        let no = self.create_spec(&def.asked()?.0)?;
        Ok(D::opened(Id(self.core.names.handle(no))))
    }

    /// The names of all named tables, in order.
    pub fn table_names(&self) -> Result<Vec<Vec<u8>>> {
        catalog::names(self.pages(), &self.main)
    }

    /// Adds to the sequence of a table; returns the number before.
    pub(crate) fn take_sequence(&mut self, id: TableId, count: u64) -> Result<u64> {
        self.edit(self.core.names.number(id)?, How::Unordered, |tree| {
            let first = tree.tree.sequence;
            let next = first.checked_add(count);
            tree.tree.sequence = next.ok_or(Error::Invalid("the sequence has no more numbers"))?;
            Ok(first)
        })
    }
}

/// As [`read::value`], out of line: what expects the value in the cell looks there first.
#[inline(never)]
pub(super) fn value<'t>(source: &'t AnySource, cell: &Cell<'t>) -> Result<Option<&'t [u8]>> {
    read::value(source, cell)
}

/// Hands on the bounds of a range as bytes.
pub(super) fn in_range<'k, K: Codec, B: RangeBounds<K::In<'k>>, R>(
    range: B,
    act: impl FnOnce(Bound<&[u8]>, Bound<&[u8]>) -> Result<R>,
) -> Result<R> {
    let (mut from_room, mut to_room) = (Scratch::default(), Scratch::default());
    let from = encoded::<K>(range.start_bound(), &mut from_room)?;
    act(from, encoded::<K>(range.end_bound(), &mut to_room)?)
}

/// The bound of a range as bytes.
pub(super) fn encoded<'e, K: Codec>(
    bound: Bound<&'e K::In<'_>>,
    scratch: &'e mut Scratch,
) -> Result<Bound<&'e [u8]>> {
    Ok(match bound {
        Bound::Included(key) => Bound::Included(K::encode(key, scratch)?),
        Bound::Excluded(key) => Bound::Excluded(K::encode(key, scratch)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// The first byte string above everything that begins with `prefix`; `None` if there is none.
fn after_prefix(prefix: &[u8]) -> Result<Option<Vec<u8>>> {
    let Some(keep) = prefix.iter().rposition(|&byte| byte != 0xFF) else { return Ok(None) };
    let mut end = copied(&prefix[..=keep])?;
    end[keep] += 1;
    Ok(Some(end))
}

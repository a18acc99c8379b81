//! Iterating a table: ranges, prefixes, borrowing cursors and detached scans.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use crate::error::Result;
use crate::page::{AnyOrder, Cell, Leaf, PayloadKind, Tree};
use crate::store::pages::Pages;
use crate::store::source::PageSource;
use crate::table::codec::{Bytes, Codec, KeyCodec, Scratch};
use crate::table::def::Table;
use crate::table::plain::UNORDERED;
use crate::table::standing::{Gap, Standing};
use crate::table::txn::{SeatKind, Txn, in_range};
use crate::tree::cursor::{Cells, Items, LeafSpan};
use crate::tree::path::Path;
use crate::txn::names::TableId;
use crate::txn::snapshot::Snapshot;

/// The records of a part of a table, from both ends; see [`Table::range`].
///
/// Steps cost no allocation and no system call. An item is an error where a page is damaged; leaves
/// beyond it are not given. [`Range::leaves`] gives the same records a leaf at a time.
pub struct Range<'t, K, V> {
    pub(super) seat: SeatKind<'t>,
    pub(super) leaves: LeafSpans<'t>,
    pub(super) items: Items<Leaf<'t>>,
    pub(super) is_main: bool,
    types: PhantomData<fn(K) -> V>,
}

pub(super) enum LeafSpans<'t> {
    Read(LeafSpan<'t, Snapshot, AnyOrder<'t>>),
    Write(LeafSpan<'t, Pages, AnyOrder<'t>>),
}

impl<'t> LeafSpans<'t> {
    pub(super) fn next(&mut self) -> Result<Option<Cells<'t>>> {
        match self {
            LeafSpans::Read(leaves) => leaves.next(),
            LeafSpans::Write(leaves) => leaves.next(),
        }
    }

    pub(super) fn next_back(&mut self) -> Result<Option<Cells<'t>>> {
        match self {
            LeafSpans::Read(leaves) => leaves.next_back(),
            LeafSpans::Write(leaves) => leaves.next_back(),
        }
    }
}

pub(crate) type Record<'t, K, V> = (<K as Codec>::Out<'t>, <V as Codec>::Out<'t>);

impl<'t, K: KeyCodec, V: Codec> Range<'t, K, V> {
    fn new(
        seat: SeatKind<'t>,
        id: TableId,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Range<'t, K, V>> {
        let tree = seat.tree(id)?;
        let order = match (from, to) {
            (Bound::Unbounded, Bound::Unbounded) => UNORDERED,
            _ => seat.order(id, &tree)?,
        };
        let leaves = match seat {
            SeatKind::Read(txn) => {
                LeafSpans::Read(LeafSpan::new(&txn.snapshot, &tree, order, from, to)?)
            }
            SeatKind::Write(txn) => {
                LeafSpans::Write(LeafSpan::new(txn.pages(), &tree, order, from, to)?)
            }
        };
        let is_main = id.is_main();
        Ok(Range { seat, leaves, items: Items::new(), is_main, types: PhantomData })
    }

    #[inline(always)]
    fn step(&mut self, forward: bool) -> Result<Option<Record<'t, K, V>>> {
        loop {
            let cell = if forward {
                self.items.next(|| self.leaves.next())?
            } else {
                self.items.next_back(|| self.leaves.next_back())?
            };
            let Some(cell) = cell else { return Ok(None) };
            let value = match cell.kind {
                PayloadKind::Inline => cell.payload,
                _ => match self.seat.value(&cell)? {
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

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// All records, in key order.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "bob", &2)?;
    /// t.put(&mut txn, "ann", &1)?;
    /// let all: Result<Vec<_>, _> = t.iter(&txn)?.collect();
    /// assert_eq!(all?, [("ann", 1), ("bob", 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter<'t>(self, txn: &'t impl Txn) -> Result<Range<'t, K, V>> {
        Range::new(txn.seat().0, self.id, Bound::Unbounded, Bound::Unbounded)
    }

    /// The records of a range of keys, in key order; `.rev()` goes the other way. An upper bound
    /// below the lower one gives nothing.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (i, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
    ///     t.put(&mut txn, name, &(i as u64))?;
    /// }
    /// let late: Result<Vec<_>, _> = t.range(&txn, "b"..)?.rev().collect();
    /// assert_eq!(late?, [("cid", 2), ("bob", 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<'t, Q: Borrow<K::In>>(
        self,
        txn: &'t impl Txn,
        range: impl RangeBounds<Q>,
    ) -> Result<Range<'t, K, V>> {
        in_range::<K, Q, _>(range, |from, to| Range::new(txn.seat().0, self.id, from, to))
    }

    /// The records whose keys begin with the bytes of `prefix`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// for name in ["ann", "anton", "bob"] {
    ///     t.put(&mut txn, name, &0)?;
    /// }
    /// assert_eq!(t.prefix(&txn, "an")?.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PrefixOrder`](crate::Error::PrefixOrder) unless keys are ordered as byte strings:
    /// elsewhere they do not lie together.
    pub fn prefix<'t>(self, txn: &'t impl Txn, prefix: &K::In) -> Result<Range<'t, K, V>> {
        let seat = txn.seat().0;
        seat.in_prefix::<K, _>(self.id, prefix, |from, to| Range::new(seat, self.id, from, to))
    }

    /// The record with the lowest key.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (n, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
    ///     t.put(&mut txn, name, &(n as u64))?;
    /// }
    /// assert_eq!(t.first(&txn)?, Some(("ann", 0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first<'t>(self, txn: &'t impl Txn) -> Result<Option<Record<'t, K, V>>> {
        self.iter(txn)?.step(true)
    }

    /// The record with the highest key.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (n, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
    ///     t.put(&mut txn, name, &(n as u64))?;
    /// }
    /// assert_eq!(t.last(&txn)?, Some(("cid", 2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last<'t>(self, txn: &'t impl Txn) -> Result<Option<Record<'t, K, V>>> {
        self.iter(txn)?.step(false)
    }

    /// The record with the lowest key that is not below `key`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &1)?;
    /// t.put(&mut txn, "cid", &3)?;
    /// assert_eq!(t.at_or_above(&txn, "bob")?, Some(("cid", 3)));
    /// assert_eq!(t.at_or_below(&txn, "bob")?, Some(("ann", 1)));
    /// assert_eq!(t.at_or_above(&txn, "dan")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at_or_above<'t>(
        self,
        txn: &'t impl Txn,
        key: &K::In,
    ) -> Result<Option<Record<'t, K, V>>> {
        let mut scratch = Scratch::default();
        let from = Bound::Included(K::encode(key, &mut scratch));
        Range::<K, V>::new(txn.seat().0, self.id, from, Bound::Unbounded)?.step(true)
    }

    /// The record with the highest key that is not above `key`; see [`Table::at_or_above`].
    pub fn at_or_below<'t>(
        self,
        txn: &'t impl Txn,
        key: &K::In,
    ) -> Result<Option<Record<'t, K, V>>> {
        let mut scratch = Scratch::default();
        let to = Bound::Included(K::encode(key, &mut scratch));
        Range::<K, V>::new(txn.seat().0, self.id, Bound::Unbounded, to)?.step(false)
    }

    /// A cursor that borrows the transaction, before the first record.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (n, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
    ///     t.put(&mut txn, name, &(n as u64))?;
    /// }
    /// let mut cursor = t.cursor(&txn)?;
    /// cursor.seek("b");
    /// assert_eq!(cursor.next()?, Some(("bob", 1)));
    /// assert_eq!(cursor.peek_next()?, Some(("cid", 2)));
    /// assert_eq!(cursor.prev()?, Some(("bob", 1)));
    /// assert_eq!(cursor.prev()?, Some(("ann", 0)));
    /// assert_eq!(cursor.prev()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cursor<'t, T: Txn>(self, txn: &'t T) -> Result<Cursor<'t, T, K, V>> {
        let mut cursor = Cursor { txn, scan: self.scan() };
        cursor.scan.place(txn.seat().0)?;
        Ok(cursor)
    }

    /// A detached cursor, before the first record: it borrows nothing, so several may live beside
    /// writes.
    pub fn scan(self) -> Scan<K, V> {
        Scan { standing: Standing::new(self.id), path: Path::new(), types: PhantomData }
    }
}

/// A detached cursor: a gap between two records, remembered by key.
///
/// It may be used with any transaction of the environment, one after another, and between the
/// changes of a write transaction: after each it goes on where it stood. What it has returned last
/// is not returned again, and what is inserted next to it is seen. A step costs one key copy; after
/// a change also a descent.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
/// # let mut txn = env.write()?;
/// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
/// (0..6).try_for_each(|n| t.put(&mut txn, &n, &()).map(drop))?;
/// let mut scan = t.scan();
/// while let Some((n, ())) = scan.next(&txn)? {
///     if n % 2 == 0 {
///         t.delete(&mut txn, &n)?;
///     }
/// }
/// assert_eq!(t.count(&txn)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Scan<K, V> {
    standing: Standing,
    path: Path,
    types: PhantomData<fn(K) -> V>,
}

impl<K, V> Clone for Scan<K, V> {
    fn clone(&self) -> Self {
        let (standing, path) = (self.standing.clone(), self.path.clone());
        Scan { standing, path, types: PhantomData }
    }
}

impl<K: KeyCodec, V: Codec> Scan<K, V> {
    /// Moves before the first record.
    pub fn to_start(&mut self) {
        self.standing.turn(Gap::Start);
    }

    /// Moves behind the last record.
    pub fn to_end(&mut self) {
        self.standing.turn(Gap::End);
    }

    /// Moves before `key`, whether it is there or not.
    pub fn seek(&mut self, key: &K::In) {
        self.aim(key, Gap::BeforeKey);
    }

    /// Moves behind `key`, whether it is there or not.
    pub fn seek_after(&mut self, key: &K::In) {
        self.aim(key, Gap::AfterKey);
    }

    fn aim(&mut self, key: &K::In, gap: Gap) {
        let mut scratch = Scratch::default();
        self.standing.aim((K::encode(key, &mut scratch), &[]), gap);
    }

    /// The record behind the gap; the gap moves behind it.
    pub fn next<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<Record<'t, K, V>>> {
        self.step(txn.seat().0, true)
    }

    /// The record before the gap; the gap moves before it.
    pub fn prev<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<Record<'t, K, V>>> {
        self.step(txn.seat().0, false)
    }

    /// Whether nothing lies before the gap. Costs as much as a step.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
    /// (0..2).try_for_each(|n| t.put(&mut txn, &n, &()).map(drop))?;
    /// let mut scan = t.scan();
    /// assert!(scan.at_start(&txn)? && !scan.at_end(&txn)?);
    /// while scan.next(&txn)?.is_some() {}
    /// assert!(!scan.at_start(&txn)? && scan.at_end(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at_start(&self, txn: &impl Txn) -> Result<bool> {
        Ok(self.clone().prev(txn)?.is_none())
    }

    /// Whether nothing lies behind the gap. Costs as much as a step.
    pub fn at_end(&self, txn: &impl Txn) -> Result<bool> {
        Ok(self.clone().next(txn)?.is_none())
    }

    /// The bytes of the key that the gap lies at, which is that of the record returned last, or the
    /// one sought; `None` at the ends of the table.
    pub fn near(&self) -> Option<&[u8]> {
        matches!(self.standing.gap, Gap::BeforeKey | Gap::AfterKey).then(|| self.standing.pair().0)
    }

    fn step<'t>(&mut self, seat: SeatKind<'t>, forward: bool) -> Result<Option<Record<'t, K, V>>> {
        self.place(seat)?;
        loop {
            // The gap stays where it is: what is added beyond it later is still to come.
            let Some(cell) = self.pass(seat, forward)? else { return Ok(None) };
            if let Some(value) = seat.value(&cell)? {
                self.stand_beyond(&cell, forward);
                return Ok(Some((K::decode(cell.key)?, V::decode(value)?)));
            }
        }
    }

    /// A step over what comes, record or table.
    fn step_any<'t>(&mut self, seat: SeatKind<'t>, forward: bool) -> Result<Option<Entry<'t>>> {
        self.place(seat)?;
        let Some(cell) = self.pass(seat, forward)? else { return Ok(None) };
        self.stand_beyond(&cell, forward);
        Ok(Some((cell.key, seat.value(&cell)?)))
    }

    /// Moves the path over one item.
    #[inline]
    fn pass<'t>(&mut self, seat: SeatKind<'t>, forward: bool) -> Result<Option<Cell<'t>>> {
        let (tree, path) = (self.standing.tree(), &mut self.path);
        match seat {
            SeatKind::Read(txn) => move_path(&txn.snapshot, tree, path, forward),
            SeatKind::Write(txn) => move_path(txn.pages(), tree, path, forward),
        }
    }

    fn stand_beyond(&mut self, cell: &Cell<'_>, forward: bool) {
        let gap = if forward { Gap::AfterKey } else { Gap::BeforeKey };
        self.standing.stand((cell.key, &[]), gap);
    }

    /// Makes the path stand where the gap is in what the transaction shows now.
    #[inline]
    fn place(&mut self, seat: SeatKind<'_>) -> Result<()> {
        if self.standing.is_placed(seat)? { Ok(()) } else { self.find(seat) }
    }

    /// Leads the path to the gap.
    #[cold]
    fn find(&mut self, seat: SeatKind<'_>) -> Result<()> {
        let tree = seat.tree(self.standing.id)?;
        let order = match self.standing.gap {
            Gap::Start | Gap::End => UNORDERED,
            _ => seat.order(self.standing.id, &tree)?,
        };
        match seat {
            SeatKind::Read(txn) => self.place_in(&txn.snapshot, &tree, order)?,
            SeatKind::Write(txn) => self.place_in(txn.pages(), &tree, order)?,
        }
        self.standing.place(seat, tree);
        Ok(())
    }

    fn place_in<S: PageSource>(
        &mut self,
        source: &S,
        tree: &Tree,
        order: AnyOrder<'_>,
    ) -> Result<()> {
        match self.standing.gap {
            Gap::Start => self.path.first(source, tree, order)?,
            Gap::End => self.path.end(source, tree, order)?,
            gap => {
                let found = self.path.seek(source, tree, order, self.standing.pair().0)?;
                if found && gap == Gap::AfterKey {
                    self.path.last_mut().index += 1;
                }
            }
        }
        self.path.settle(source, tree, order)
    }
}

/// A key of the main table, with its value, or with `None` if it is the name of a table.
pub type Entry<'t> = (&'t [u8], Option<&'t [u8]>);

impl Scan<Bytes, Bytes> {
    /// As [`Scan::next`], and stops at the names of tables too, which are keys of the main table.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// use huon::{Bytes, TableDef};
    /// let main = txn.create_table(&TableDef::<Bytes, Bytes>::main())?;
    /// txn.create_table(&TableDef::<Bytes, Bytes>::new("users"))?;
    /// main.put(&mut txn, b"version", b"3")?;
    /// let mut scan = main.scan();
    /// assert_eq!(scan.next_entry(&txn)?, Some((&b"users"[..], None)));
    /// assert_eq!(scan.next_entry(&txn)?, Some((&b"version"[..], Some(&b"3"[..]))));
    /// assert_eq!(scan.next_entry(&txn)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_entry<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<Entry<'t>>> {
        self.step_any(txn.seat().0, true)
    }

    /// As [`Scan::prev`], and stops at the names of tables too.
    pub fn prev_entry<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<Entry<'t>>> {
        self.step_any(txn.seat().0, false)
    }
}

/// Steps over one item; the path stands on the item behind the gap.
fn move_path<'t, S: PageSource>(
    source: &'t S,
    tree: &Tree,
    path: &mut Path,
    forward: bool,
) -> Result<Option<Cell<'t>>> {
    if forward {
        if !path.on_item() {
            return Ok(None);
        }
        let cell = cell_at(source, path)?;
        path.step();
        path.settle(source, tree, UNORDERED)?;
        return Ok(Some(cell));
    }
    if path.step_back(source, tree, UNORDERED)? {
        cell_at(source, path).map(Some)
    } else {
        Ok(None)
    }
}

fn cell_at<'t, S: PageSource>(source: &'t S, path: &Path) -> Result<Cell<'t>> {
    let frame = path.last();
    let cell = source.leaf(frame.ptr)?.cell(frame.index);
    cell.map_err(|reason| crate::store::source::damaged(frame.ptr, reason))
}

/// A cursor that borrows its transaction: a gap between two records.
pub struct Cursor<'t, T, K, V> {
    txn: &'t T,
    scan: Scan<K, V>,
}

impl<T, K, V> Clone for Cursor<'_, T, K, V> {
    fn clone(&self) -> Self {
        Cursor { txn: self.txn, scan: self.scan.clone() }
    }
}

impl<'t, T: Txn, K: KeyCodec, V: Codec> Cursor<'t, T, K, V> {
    /// Moves before the first record.
    pub fn to_start(&mut self) {
        self.scan.to_start();
    }

    /// Moves behind the last record.
    pub fn to_end(&mut self) {
        self.scan.to_end();
    }

    /// Moves before `key`, whether it is there or not.
    pub fn seek(&mut self, key: &K::In) {
        self.scan.seek(key);
    }

    /// The record behind the gap; the gap moves behind it.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record<'t, K, V>>> {
        self.scan.next(self.txn)
    }

    /// The record before the gap; the gap moves before it.
    pub fn prev(&mut self) -> Result<Option<Record<'t, K, V>>> {
        self.scan.prev(self.txn)
    }

    /// The record behind the gap, without moving.
    pub fn peek_next(&mut self) -> Result<Option<Record<'t, K, V>>> {
        let found = self.scan.next(self.txn)?;
        if found.is_some() {
            self.scan.prev(self.txn)?;
        }
        Ok(found)
    }

    /// The record before the gap, without moving.
    pub fn peek_prev(&mut self) -> Result<Option<Record<'t, K, V>>> {
        let found = self.scan.prev(self.txn)?;
        if found.is_some() {
            self.scan.next(self.txn)?;
        }
        Ok(found)
    }
}

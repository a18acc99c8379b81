//! Cursors: gaps between two records, or two pairs, that outlive what happens to the pages.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Bound;

use crate::error::{Error, Result};
use crate::page::{AnyOrder, BytesOrder, KeyOrder, PayloadKind};
use crate::store::source::PageSource;
use crate::table::codec::{Codec, KeyCodec, Scratch};
use crate::table::def::Table;
use crate::table::iter::Record;
use crate::table::multi::Multi;
use crate::table::standing::{Gap, Standing};
use crate::table::txn::{AnyTxn, Txn, encoded};
use crate::tree::pair_path::PairPath;
use crate::tree::values::{Orders, Pair};
use crate::tree::view::TreeView;

/// A cursor: a gap between two records of a [`Table`], or between two pairs of a
/// [`Multi`], where it is a [`MultiCursor`].
///
/// It borrows nothing. It may be used with any transaction of the environment, one after another,
/// and between the changes of a write transaction: after each it goes on where it stood. The record
/// that it returned last is not returned again, and records inserted next to it are seen. A step
/// costs a copy of the key, and of the value in a multimap; the first one after a change also the
/// descent to it. Where nothing changes meanwhile, a [`Range`](crate::Range) is faster.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
/// (0..6).try_for_each(|n| t.put(&mut txn, n, ()).map(drop))?;
/// let mut cursor = t.cursor();
/// while let Some((n, ())) = cursor.next(&txn)? {
///     if n % 2 == 0 {
///         t.remove(&mut txn, n)?;
///     }
/// }
/// assert_eq!(t.len(&txn)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It goes both ways, and from anywhere:
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
/// for (n, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
///     t.put(&mut txn, name, n as u64)?;
/// }
/// let mut cursor = t.cursor();
/// cursor.seek("b")?;
/// assert_eq!(cursor.next(&txn)?, Some(("bob", 1)));
/// assert_eq!(cursor.prev(&txn)?, Some(("bob", 1)));
/// assert_eq!(cursor.prev(&txn)?, Some(("ann", 0)));
/// assert_eq!(cursor.prev(&txn)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// In a multimap:
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
/// for n in 0..4 {
///     t.put(&mut txn, "ann", n)?;
///     t.put(&mut txn, "bob", n)?;
/// }
/// let mut cursor = t.cursor();
/// while let Some((name, n)) = cursor.next(&txn)? {
///     if n % 2 == 0 {
///         let name = name.to_owned();
///         t.remove(&mut txn, &name, n)?;
///     }
/// }
/// assert_eq!(t.len(&txn)?, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a cursor does nothing until it is asked"]
pub struct Cursor<K, V, S: Shape = Single> {
    pub(super) standing: Standing,
    /// The way to the gap, which ends at a key where that has one value.
    pub(super) path: PairPath,
    types: PhantomData<fn(K, S) -> V>,
}

/// A cursor of a multimap: a gap between two pairs, remembered by key and value.
pub type MultiCursor<K, V> = Cursor<K, V, Many>;

/// What a table holds under a key: one value ([`Single`]) or many ([`Many`]).
pub trait Shape: sealed::Sealed {}

/// One value under a key: a [`Table`].
#[derive(Debug)]
pub enum Single {}

/// Many values under a key: a [`Multi`].
#[derive(Debug)]
pub enum Many {}

impl Shape for Single {}
impl Shape for Many {}

mod sealed {
    pub trait Sealed {
        /// Whether a cursor stands between pairs.
        const MANY: bool;
    }

    impl Sealed for super::Single {
        const MANY: bool = false;
    }

    impl Sealed for super::Many {
        const MANY: bool = true;
    }
}

/// The end of the way that a cursor goes.
pub(super) struct Limit<'t, 'e> {
    order: AnyOrder<'t>,
    end: &'e [u8],
    is_included: bool,
    /// How keys that come before it compare with it.
    before: Ordering,
}

impl Limit<'_, '_> {
    #[inline(always)]
    pub(super) fn has(&self, key: &[u8]) -> bool {
        let found = self.order.compare(key, self.end);
        found == self.before || self.is_included && found.is_eq()
    }
}

#[inline(always)]
fn decoded<'t, K: Codec, V: Codec>((key, value): Pair<'t>) -> Result<Record<'t, K, V>> {
    Ok((K::decode(key)?, V::decode(value)?))
}

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// A cursor, before the first record.
    pub fn cursor(self) -> Cursor<K, V> {
        Cursor::new(Standing::new(self.id))
    }
}

impl<K: KeyCodec, V: KeyCodec> Multi<K, V> {
    /// A cursor, before the first pair.
    pub fn cursor(self) -> MultiCursor<K, V> {
        Cursor::new(Standing::new(self.id))
    }
}

impl<K, V, S: Shape> Clone for Cursor<K, V, S> {
    fn clone(&self) -> Self {
        let (standing, path) = (self.standing.clone(), self.path.clone());
        Cursor { standing, path, types: PhantomData }
    }
}

impl<K: KeyCodec, V: Codec, S: Shape> Cursor<K, V, S> {
    fn new(standing: Standing) -> Cursor<K, V, S> {
        Cursor { standing, path: PairPath::new(), types: PhantomData }
    }

    /// Moves before the first record.
    pub fn to_start(&mut self) {
        self.standing.turn(Gap::Start);
    }

    /// Moves behind the last record.
    pub fn to_end(&mut self) {
        self.standing.turn(Gap::End);
    }

    /// Moves before `key`, whether it is there or not; in a multimap before its first value.
    ///
    /// # Errors
    /// [`Error::Encode`] from the codec.
    pub fn seek(&mut self, key: K::In<'_>) -> Result<()> {
        self.aim(key, Gap::BeforeKey)
    }

    /// Moves behind `key`, whether it is there or not; in a multimap behind its last value.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn seek_after(&mut self, key: K::In<'_>) -> Result<()> {
        self.aim(key, Gap::AfterKey)
    }

    fn aim(&mut self, key: K::In<'_>, gap: Gap) -> Result<()> {
        let mut scratch = Scratch::default();
        self.standing.aim((K::encode(&key, &mut scratch)?, &[]), gap);
        Ok(())
    }

    /// The record behind the gap; the gap moves behind it. At the end it stays: records that are
    /// added there later are still returned.
    ///
    /// A copy can look without moving this one:
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
    /// t.put(&mut txn, 7, ())?;
    /// let mut cursor = t.cursor();
    /// let is_at_end = cursor.clone().next(&txn)?.is_none();
    /// assert!(!is_at_end);
    /// assert_eq!(cursor.next(&txn)?, Some((7, ())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<Record<'t, K, V>>> {
        self.step(txn.any(), true)
    }

    /// The record before the gap; the gap moves before it.
    pub fn prev<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<Record<'t, K, V>>> {
        self.step(txn.any(), false)
    }

    /// As [`Cursor::next`] up to a bound: a record beyond it is not returned, and the cursor stays
    /// where it is. Records that are added there later, up to the bound, are still returned.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// use std::ops::Bound;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
    /// (0..6).try_for_each(|n| t.put(&mut txn, n, ()).map(drop))?;
    /// let mut cursor = t.cursor();
    /// cursor.seek(2)?;
    /// assert_eq!(cursor.next_until(&txn, Bound::Included(3))?, Some((2, ())));
    /// assert_eq!(cursor.next_until(&txn, Bound::Excluded(3))?, None);
    /// assert_eq!(cursor.next_until(&txn, Bound::Included(3))?, Some((3, ())));
    /// assert_eq!(cursor.prev_until(&txn, Bound::Excluded(3))?, None);
    /// assert_eq!(cursor.prev_until(&txn, Bound::Unbounded)?, Some((3, ())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Also [`Error::OrderUnknown`] if a comparator orders the table that its handle lacks.
    pub fn next_until<'t>(
        &mut self,
        txn: &'t impl Txn,
        to: Bound<K::In<'_>>,
    ) -> Result<Option<Record<'t, K, V>>> {
        self.step_until(txn.any(), true, to)
    }

    /// As [`Cursor::prev`] down to a bound; see [`Cursor::next_until`].
    pub fn prev_until<'t>(
        &mut self,
        txn: &'t impl Txn,
        from: Bound<K::In<'_>>,
    ) -> Result<Option<Record<'t, K, V>>> {
        self.step_until(txn.any(), false, from)
    }

    #[inline(always)]
    fn step_until<'t>(
        &mut self,
        txn: AnyTxn<'t>,
        forward: bool,
        end: Bound<K::In<'_>>,
    ) -> Result<Option<Record<'t, K, V>>> {
        let mut scratch = Scratch::default();
        let end = encoded::<K>(end.as_ref(), &mut scratch)?;
        self.place(txn)?;
        let limit = self.limit(txn, forward, end)?;
        let is_within = |key: &[u8]| limit.as_ref().is_none_or(|limit| limit.has(key));
        self.step_if(txn, forward, |key, _| is_within(key))?.map(decoded::<K, V>).transpose()
    }

    /// What a bound on the way means in the tree that the path leads through; `None`: nothing.
    #[inline(always)]
    pub(super) fn limit<'t, 'e>(
        &self,
        txn: AnyTxn<'t>,
        forward: bool,
        end: Bound<&'e [u8]>,
    ) -> Result<Option<Limit<'t, 'e>>> {
        let (end, is_included) = match end {
            Bound::Unbounded => return Ok(None),
            Bound::Included(end) => (end, true),
            Bound::Excluded(end) => (end, false),
        };
        let order = txn.order(self.standing.id, self.standing.tree())?;
        let before = if forward { Ordering::Less } else { Ordering::Greater };
        Ok(Some(Limit { order, end, is_included, before }))
    }

    /// Inlined, so that each direction has code of its own.
    #[inline(always)]
    fn step<'t>(&mut self, txn: AnyTxn<'t>, forward: bool) -> Result<Option<Record<'t, K, V>>> {
        self.place(txn)?;
        self.step_if(txn, forward, |_, _| true)?.map(decoded::<K, V>).transpose()
    }

    /// Steps over the record that comes, if it `is_wanted`. The path leads to the gap.
    #[inline(always)]
    pub(super) fn step_if<'t>(
        &mut self,
        txn: AnyTxn<'t>,
        forward: bool,
        mut is_wanted: impl FnMut(&'t [u8], &'t [u8]) -> bool,
    ) -> Result<Option<Pair<'t>>> {
        while let Some((key, value)) = self.pass(txn, forward)? {
            // A cursor of the main table passes over the records of named tables.
            let Some(value) = value else { continue };
            if !is_wanted(key, value) {
                self.standing.lose_path();
                break;
            }
            self.stand_beyond((key, value), forward);
            return Ok(Some((key, value)));
        }
        Ok(None)
    }

    /// Moves the path over what comes. After an error the cursor is where it was.
    #[inline(always)]
    pub(super) fn pass<'t>(&mut self, txn: AnyTxn<'t>, forward: bool) -> Result<Option<Entry<'t>>> {
        let passed = match txn {
            AnyTxn::Read(read) => self.pass_in(&read.snapshot, txn, forward),
            AnyTxn::Write(write) => self.pass_in(write.pages(), txn, forward),
        };
        if passed.is_err() {
            self.standing.lose_path();
        }
        passed
    }

    #[inline(always)]
    fn pass_in<'t, P: PageSource>(
        &mut self,
        source: &'t P,
        txn: AnyTxn<'t>,
        forward: bool,
    ) -> Result<Option<Entry<'t>>> {
        let view = TreeView::unordered(source, self.standing.tree());
        if S::MANY {
            let pair = self.path.step(view, forward)?;
            return Ok(pair.map(|(key, value)| (key, Some(value))));
        }
        // As ranges do it, whose code this shares.
        match self.path.keys.pass(view, forward)? {
            Some(cell) if cell.kind == PayloadKind::Inline => {
                Ok(Some((cell.key, Some(cell.payload))))
            }
            Some(cell) => Ok(Some((cell.key, txn.value(&cell)?))),
            None => Ok(None),
        }
    }

    #[inline(always)]
    pub(super) fn stand_beyond(&mut self, (key, value): (&[u8], &[u8]), forward: bool) {
        if S::MANY {
            let gap = if forward { Gap::AfterPair } else { Gap::BeforePair };
            self.standing.stand((key, value), gap);
        } else {
            let gap = if forward { Gap::AfterKey } else { Gap::BeforeKey };
            self.standing.stand((key, &[]), gap);
        }
    }

    /// Makes the path stand where the gap is in what the transaction shows now.
    #[inline(always)]
    pub(super) fn place(&mut self, txn: AnyTxn<'_>) -> Result<()> {
        if self.standing.is_placed(txn)? { Ok(()) } else { self.find(txn) }
    }

    /// Leads the path to the gap.
    #[cold]
    fn find(&mut self, txn: AnyTxn<'_>) -> Result<()> {
        if matches!(self.standing.gap, Gap::OnPath { .. }) {
            // It was a path in another state, and leads nowhere in this one (see `glide`).
            self.standing.turn(Gap::Start);
        }
        self.standing.lose_path();
        let (id, gap) = (self.standing.id, self.standing.gap);
        let tree = txn.tree(id)?;
        let any = AnyOrder::UNORDERED;
        let keys = if gap.is_beside_key() { txn.order(id, &tree)? } else { any };
        let values = if gap.is_beside_pair() { txn.value_order(id, &tree)? } else { any };
        let view = TreeView::new(txn.source(), &tree, Orders { keys, values });
        let (path, pair) = (&mut self.path, self.standing.pair());
        match gap {
            Gap::Start | Gap::OnPath { .. } => path.first(view.ordered_by(BytesOrder))?,
            Gap::End => path.end(view.ordered_by(BytesOrder))?,
            Gap::Lost => return Err(Error::OutOfMemory),
            Gap::BeforeKey => path.seek_key(view, pair.0, false)?,
            Gap::AfterKey => path.seek_key(view, pair.0, true)?,
            Gap::BeforePair => path.seek(view, pair, false)?,
            Gap::AfterPair => path.seek(view, pair, true)?,
        }
        self.standing.place(txn, tree);
        Ok(())
    }
}

impl<K: KeyCodec, V: Codec> Cursor<K, V> {
    /// The bytes of the key that the gap lies at, which is that of the record returned last, or the
    /// one sought; `None` at the ends of the table.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let mut cursor = env.table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?.cursor();
    /// assert_eq!(cursor.position(), None);
    /// cursor.seek("ann")?;
    /// assert_eq!(cursor.position(), Some(&b"ann"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn position(&self) -> Option<&[u8]> {
        self.standing.gap.is_beside_key().then(|| self.standing.pair().0)
    }
}

impl<K: KeyCodec, V: KeyCodec> MultiCursor<K, V> {
    /// Moves before a pair, whether it is there or not.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// [10, 20, 30].into_iter().try_for_each(|n| t.put(&mut txn, "ann", n).map(drop))?;
    /// let mut cursor = t.cursor();
    /// cursor.seek_pair("ann", 15)?;
    /// assert_eq!(cursor.next(&txn)?, Some(("ann", 20)));
    /// cursor.seek_pair("ann", 15)?;
    /// assert_eq!(cursor.prev(&txn)?, Some(("ann", 10)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn seek_pair(&mut self, key: K::In<'_>, value: V::In<'_>) -> Result<()> {
        self.aim_pair(key, value, Gap::BeforePair)
    }

    /// Moves behind a pair, whether it is there or not.
    ///
    /// # Errors
    /// As [`Cursor::seek`].
    pub fn seek_after_pair(&mut self, key: K::In<'_>, value: V::In<'_>) -> Result<()> {
        self.aim_pair(key, value, Gap::AfterPair)
    }

    /// Moves behind the last value of the key whose value was returned last: the next pair is the
    /// first of another key.
    pub fn skip_key(&mut self) {
        if self.standing.gap.is_beside_pair() {
            self.standing.turn(Gap::AfterKey);
        }
    }

    /// Moves before the first value of the key whose value was returned last: the pair before is
    /// the last of another key.
    pub fn skip_key_back(&mut self) {
        if self.standing.gap.is_beside_pair() {
            self.standing.turn(Gap::BeforeKey);
        }
    }

    /// The bytes of the pair that the gap lies at: the one returned last, or sought. `None` at the
    /// ends of the table, and where only a key was sought.
    pub fn position(&self) -> Option<(&[u8], &[u8])> {
        self.standing.gap.is_beside_pair().then(|| self.standing.pair())
    }

    fn aim_pair(&mut self, key: K::In<'_>, value: V::In<'_>, gap: Gap) -> Result<()> {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let value = V::encode(&value, &mut value_room)?;
        self.standing.aim((K::encode(&key, &mut key_room)?, value), gap);
        Ok(())
    }
}

/// A key of the main table, with its value, or with `None` if it is the name of a table. For the C
/// interfaces.
#[doc(hidden)]
pub type Entry<'t> = (&'t [u8], Option<&'t [u8]>);

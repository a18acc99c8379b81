//! Detached cursors of multimaps.

use std::marker::PhantomData;

use crate::alloc::TryGrow;
use crate::error::{Error, Result};
use crate::page::Tree;
use crate::store::source::PageSource;
use crate::table::codec::{KeyCodec, Scratch};
use crate::table::multi::Multi;
use crate::table::plain::UNORDERED;
use crate::table::txn::{SeatKind, Txn};
use crate::tree::values::{Orders, Pair, PairPath};
use crate::txn::names::TableId;

/// Where a scan stands: always between two pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gap {
    Start,
    End,
    /// Before the first pair of the key, or where it would be.
    BeforeKey,
    /// Behind the last pair of the key.
    AfterKey,
    /// Before the pair, whether it is there or not.
    Before,
    After,
    /// There was no memory to remember the pair.
    Lost,
}

/// A detached cursor of a multimap: a gap between two pairs, remembered by key and value.
///
/// As [`Scan`](crate::Scan) is for tables of one value a key: it borrows nothing, may be used with
/// any transaction of the environment, one after another, and between the changes of a write
/// transaction. A step copies a pair; after a change it also costs the descents to it.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
/// # let mut txn = env.write()?;
/// let t = txn.create_multi(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
/// t.insert_many(&mut txn, "ann", 0..4)?;
/// t.insert_many(&mut txn, "bob", 0..4)?;
/// let mut scan = t.scan();
/// while let Some((name, n)) = scan.next(&txn)? {
///     if n % 2 == 0 {
///         let name = name.to_owned();
///         t.remove(&mut txn, &name, &n)?;
///     }
/// }
/// assert_eq!(t.count(&txn)?, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MultiScan<K, V> {
    id: TableId,
    at: PairPath,
    tree: Option<Tree>,
    version: (u64, u64),
    gap: Gap,
    key: Vec<u8>,
    value: Vec<u8>,
    types: PhantomData<fn(K) -> V>,
}

impl<K: KeyCodec, V: KeyCodec> Multi<K, V> {
    /// A detached cursor, before the first pair.
    pub fn scan(self) -> MultiScan<K, V> {
        MultiScan {
            id: self.id,
            at: PairPath::new(),
            tree: None,
            version: (0, 0),
            gap: Gap::Start,
            key: Vec::new(),
            value: Vec::new(),
            types: PhantomData,
        }
    }
}

impl<K, V> Clone for MultiScan<K, V> {
    fn clone(&self) -> Self {
        let (at, key, value) = (self.at.clone(), self.key.clone(), self.value.clone());
        MultiScan { at, key, value, ..*self }
    }
}

/// A pair as it comes out.
type Found<'t, K, V> =
    (<K as crate::table::codec::Codec>::Out<'t>, <V as crate::table::codec::Codec>::Out<'t>);

impl<K: KeyCodec, V: KeyCodec> MultiScan<K, V> {
    /// Moves before the first pair.
    pub fn to_start(&mut self) {
        (self.gap, self.tree) = (Gap::Start, None);
    }

    /// Moves behind the last pair.
    pub fn to_end(&mut self) {
        (self.gap, self.tree) = (Gap::End, None);
    }

    /// Moves before the first value of `key`, whether it has any or not.
    pub fn seek(&mut self, key: &K::In) {
        self.aim(key, None, Gap::BeforeKey);
    }

    /// Moves behind the last value of `key`, whether it has any or not.
    pub fn seek_after(&mut self, key: &K::In) {
        self.aim(key, None, Gap::AfterKey);
    }

    /// Moves before a pair, whether it is there or not.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_multi(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.insert_many(&mut txn, "ann", [10, 20, 30])?;
    /// let mut scan = t.scan();
    /// scan.seek_pair("ann", &15);
    /// assert_eq!(scan.next(&txn)?, Some(("ann", 20)));
    /// scan.seek_pair("ann", &15);
    /// assert_eq!(scan.prev(&txn)?, Some(("ann", 10)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seek_pair(&mut self, key: &K::In, value: &V::In) {
        self.aim(key, Some(value), Gap::Before);
    }

    /// Moves behind a pair, whether it is there or not.
    pub fn seek_after_pair(&mut self, key: &K::In, value: &V::In) {
        self.aim(key, Some(value), Gap::After);
    }

    /// Moves behind the last value of the key whose value was returned last: the next pair is the
    /// first of another key.
    pub fn skip_key(&mut self) {
        if matches!(self.gap, Gap::Before | Gap::After) {
            (self.gap, self.tree) = (Gap::AfterKey, None);
        }
    }

    /// Moves before the first value of the key whose value was returned last: the pair before is
    /// the last of another key.
    pub fn skip_key_back(&mut self) {
        if matches!(self.gap, Gap::Before | Gap::After) {
            (self.gap, self.tree) = (Gap::BeforeKey, None);
        }
    }

    /// The pair behind the gap; the gap moves behind it.
    pub fn next<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<Found<'t, K, V>>> {
        self.step(txn.seat().0, true)
    }

    /// The pair before the gap; the gap moves before it.
    pub fn prev<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<Found<'t, K, V>>> {
        self.step(txn.seat().0, false)
    }

    /// Whether nothing lies before the gap. Costs as much as a step.
    pub fn at_start(&self, txn: &impl Txn) -> Result<bool> {
        Ok(self.clone().prev(txn)?.is_none())
    }

    /// Whether nothing lies behind the gap. Costs as much as a step.
    pub fn at_end(&self, txn: &impl Txn) -> Result<bool> {
        Ok(self.clone().next(txn)?.is_none())
    }

    /// The bytes of the pair that the gap lies at: the one returned last, or sought. `None` at the
    /// ends of the table, and where only a key was sought.
    pub fn near(&self) -> Option<(&[u8], &[u8])> {
        matches!(self.gap, Gap::Before | Gap::After).then_some((&self.key, &self.value))
    }

    fn aim(&mut self, key: &K::In, value: Option<&V::In>, gap: Gap) {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let value = value.map(|value| V::encode(value, &mut value_room)).unwrap_or(&[]);
        self.stand((K::encode(key, &mut key_room), value), gap);
        self.tree = None;
    }

    /// The gap at a pair.
    fn stand(&mut self, (key, value): Pair<'_>, gap: Gap) {
        let kept = self.key.try_set(key).and_then(|()| self.value.try_set(value));
        self.gap = if kept.is_ok() { gap } else { Gap::Lost };
    }

    fn step<'t>(&mut self, seat: SeatKind<'t>, forward: bool) -> Result<Option<Found<'t, K, V>>> {
        let tree = self.place(seat)?;
        let pair = match seat {
            SeatKind::Read(txn) => self.at.step(&txn.snapshot, &tree, forward)?,
            SeatKind::Write(txn) => self.at.step(txn.pages(), &tree, forward)?,
        };
        // The gap stays where it is: what is added beyond it later is still to come.
        let Some(pair) = pair else { return Ok(None) };
        self.stand(pair, if forward { Gap::After } else { Gap::Before });
        Ok(Some((K::decode(pair.0)?, V::decode(pair.1)?)))
    }

    /// Makes the path stand where the gap is in what the transaction shows now.
    fn place(&mut self, seat: SeatKind<'_>) -> Result<Tree> {
        let version = seat.version();
        if self.gap == Gap::Lost {
            return Err(Error::OutOfMemory);
        }
        if let Some(tree) = self.tree.filter(|_| self.version == version) {
            return Ok(tree);
        }
        let tree = seat.tree(self.id)?;
        let orders = match self.gap {
            Gap::Start | Gap::End | Gap::Lost => Orders { keys: UNORDERED, values: UNORDERED },
            Gap::BeforeKey | Gap::AfterKey => {
                Orders { keys: seat.order(self.id, &tree)?, values: UNORDERED }
            }
            Gap::Before | Gap::After => Orders {
                keys: seat.order(self.id, &tree)?,
                values: seat.info(self.id)?.value_order(&tree)?,
            },
        };
        match seat {
            SeatKind::Read(txn) => self.place_in(&txn.snapshot, &tree, orders)?,
            SeatKind::Write(txn) => self.place_in(txn.pages(), &tree, orders)?,
        }
        (self.tree, self.version) = (Some(tree), version);
        Ok(tree)
    }

    fn place_in<S: PageSource>(
        &mut self,
        source: &S,
        tree: &Tree,
        orders: Orders<'_>,
    ) -> Result<()> {
        let (at, pair) = (&mut self.at, (&self.key[..], &self.value[..]));
        match self.gap {
            Gap::Start => at.first(source, tree),
            Gap::End | Gap::Lost => at.end(source, tree),
            Gap::BeforeKey => at.seek_key(source, tree, orders, pair.0, false),
            Gap::AfterKey => at.seek_key(source, tree, orders, pair.0, true),
            Gap::Before => at.seek(source, tree, orders, pair, false),
            Gap::After => at.seek(source, tree, orders, pair, true),
        }
    }
}

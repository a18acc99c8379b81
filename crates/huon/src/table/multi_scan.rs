//! Detached cursors of multimaps.

use std::marker::PhantomData;

use crate::error::Result;
use crate::page::Tree;
use crate::store::source::PageSource;
use crate::table::codec::{KeyCodec, Scratch};
use crate::table::multi::Multi;
use crate::table::plain::UNORDERED;
use crate::table::standing::{Gap, Standing};
use crate::table::txn::{SeatKind, Txn};
use crate::tree::values::{Orders, PairPath};

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
/// let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
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
    standing: Standing,
    at: PairPath,
    types: PhantomData<fn(K) -> V>,
}

impl<K: KeyCodec, V: KeyCodec> Multi<K, V> {
    /// A detached cursor, before the first pair.
    pub fn scan(self) -> MultiScan<K, V> {
        MultiScan { standing: Standing::new(self.id), at: PairPath::new(), types: PhantomData }
    }
}

impl<K, V> Clone for MultiScan<K, V> {
    fn clone(&self) -> Self {
        let (standing, at) = (self.standing.clone(), self.at.clone());
        MultiScan { standing, at, types: PhantomData }
    }
}

/// A pair as it comes out.
type Found<'t, K, V> =
    (<K as crate::table::codec::Codec>::Out<'t>, <V as crate::table::codec::Codec>::Out<'t>);

impl<K: KeyCodec, V: KeyCodec> MultiScan<K, V> {
    /// Moves before the first pair.
    pub fn to_start(&mut self) {
        self.standing.turn(Gap::Start);
    }

    /// Moves behind the last pair.
    pub fn to_end(&mut self) {
        self.standing.turn(Gap::End);
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
    /// let t = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.insert_many(&mut txn, "ann", [10, 20, 30])?;
    /// let mut scan = t.scan();
    /// scan.seek_pair("ann", &15);
    /// assert_eq!(scan.next(&txn)?, Some(("ann", 20)));
    /// scan.seek_pair("ann", &15);
    /// assert_eq!(scan.prev(&txn)?, Some(("ann", 10)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seek_pair(&mut self, key: &K::In, value: &V::In) {
        self.aim(key, Some(value), Gap::BeforePair);
    }

    /// Moves behind a pair, whether it is there or not.
    pub fn seek_after_pair(&mut self, key: &K::In, value: &V::In) {
        self.aim(key, Some(value), Gap::AfterPair);
    }

    /// Moves behind the last value of the key whose value was returned last: the next pair is the
    /// first of another key.
    pub fn skip_key(&mut self) {
        if matches!(self.standing.gap, Gap::BeforePair | Gap::AfterPair) {
            self.standing.turn(Gap::AfterKey);
        }
    }

    /// Moves before the first value of the key whose value was returned last: the pair before is
    /// the last of another key.
    pub fn skip_key_back(&mut self) {
        if matches!(self.standing.gap, Gap::BeforePair | Gap::AfterPair) {
            self.standing.turn(Gap::BeforeKey);
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
        matches!(self.standing.gap, Gap::BeforePair | Gap::AfterPair).then(|| self.standing.pair())
    }

    fn aim(&mut self, key: &K::In, value: Option<&V::In>, gap: Gap) {
        let (mut key_room, mut value_room) = (Scratch::default(), Scratch::default());
        let value = value.map(|value| V::encode(value, &mut value_room)).unwrap_or(&[]);
        self.standing.aim((K::encode(key, &mut key_room), value), gap);
    }

    fn step<'t>(&mut self, seat: SeatKind<'t>, forward: bool) -> Result<Option<Found<'t, K, V>>> {
        self.place(seat)?;
        let tree = self.standing.tree();
        let pair = match seat {
            SeatKind::Read(txn) => self.at.step(&txn.snapshot, tree, forward)?,
            SeatKind::Write(txn) => self.at.step(txn.pages(), tree, forward)?,
        };
        // The gap stays where it is: what is added beyond it later is still to come.
        let Some(pair) = pair else { return Ok(None) };
        self.standing.stand(pair, if forward { Gap::AfterPair } else { Gap::BeforePair });
        Ok(Some((K::decode(pair.0)?, V::decode(pair.1)?)))
    }

    /// Makes the path stand where the gap is in what the transaction shows now.
    #[inline]
    fn place(&mut self, seat: SeatKind<'_>) -> Result<()> {
        if self.standing.is_placed(seat)? { Ok(()) } else { self.find(seat) }
    }

    /// Leads the path to the gap.
    #[cold]
    fn find(&mut self, seat: SeatKind<'_>) -> Result<()> {
        let id = self.standing.id;
        let tree = seat.tree(id)?;
        let orders = match self.standing.gap {
            Gap::Start | Gap::End | Gap::Lost => Orders { keys: UNORDERED, values: UNORDERED },
            Gap::BeforeKey | Gap::AfterKey => {
                Orders { keys: seat.order(id, &tree)?, values: UNORDERED }
            }
            Gap::BeforePair | Gap::AfterPair => {
                Orders { keys: seat.order(id, &tree)?, values: seat.value_order(id, &tree)? }
            }
        };
        match seat {
            SeatKind::Read(txn) => self.place_in(&txn.snapshot, &tree, orders)?,
            SeatKind::Write(txn) => self.place_in(txn.pages(), &tree, orders)?,
        }
        self.standing.place(seat, tree);
        Ok(())
    }

    fn place_in<S: PageSource>(
        &mut self,
        source: &S,
        tree: &Tree,
        orders: Orders<'_>,
    ) -> Result<()> {
        let (at, pair) = (&mut self.at, self.standing.pair());
        match self.standing.gap {
            Gap::Start => at.first(source, tree),
            Gap::End | Gap::Lost => at.end(source, tree),
            Gap::BeforeKey => at.seek_key(source, tree, orders, pair.0, false),
            Gap::AfterKey => at.seek_key(source, tree, orders, pair.0, true),
            Gap::BeforePair => at.seek(source, tree, orders, pair, false),
            Gap::AfterPair => at.seek(source, tree, orders, pair, true),
        }
    }
}

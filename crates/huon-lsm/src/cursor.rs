//! Cursors: gaps between two records, remembered by their keys.

use std::marker::PhantomData;
use std::ops::Bound;
use std::sync::Arc;

use huon::{AnyTxn, Bytes, Codec, KeyCodec, Result, Scratch, Txn};

use crate::manifest::Shared;
use crate::merge::{Bounds, Record};
use crate::range::{is_beyond, merge};
use crate::table::LsmTable;

/// A cursor: a gap between two records of an [`LsmTable`].
///
/// It borrows nothing. It may be used with any transaction of the environment, one after another,
/// and between the changes of a write transaction: after each it goes on where it stood.
///
/// ```
/// # use huon::{Env, U64, Unit};
/// # use huon_lsm::{Lsm, LsmDef};
/// # let env = Env::in_memory()?;
/// let t = Lsm::open(&env)?.table(&LsmDef::<U64, Unit>::new("t"))?;
/// let mut txn = env.write()?;
/// (0..6).try_for_each(|n| t.put(&mut txn, n, ()))?;
/// let mut cursor = t.cursor();
/// while let Some((n, ())) = cursor.next(&txn)? {
///     if n % 2 == 0 {
///         t.delete(&mut txn, n)?;
///     }
/// }
/// assert_eq!(cursor.prev(&txn)?, Some((5, ())));
/// assert_eq!(t.iter(&txn)?.count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
/// Each step descends in all runs whose keys meet what lies ahead: a few microseconds where a step
/// of an [`LsmRange`](crate::LsmRange) costs a few dozen nanoseconds. Use that one where nothing
/// changes meanwhile.
#[must_use = "a cursor does nothing until it is asked"]
pub struct LsmCursor<K, V> {
    shared: Arc<Shared>,
    gap: Gap,
    types: PhantomData<fn(K) -> V>,
}

/// Where a cursor stands.
#[derive(Clone)]
enum Gap {
    Start,
    Before(Vec<u8>),
    After(Vec<u8>),
    End,
}

impl Gap {
    /// The bounds of what lies ahead; `None`: nothing does.
    fn ahead(&self, back: bool) -> Option<Bounds<'_>> {
        use Bound::{Excluded, Included, Unbounded};
        match (self, back) {
            (Gap::Start, false) | (Gap::End, true) => Some((Unbounded, Unbounded)),
            (Gap::Start, true) | (Gap::End, false) => None,
            (Gap::Before(key), false) => Some((Included(key), Unbounded)),
            (Gap::After(key), false) => Some((Excluded(key), Unbounded)),
            (Gap::Before(key), true) => Some((Unbounded, Excluded(key))),
            (Gap::After(key), true) => Some((Unbounded, Included(key))),
        }
    }
}

impl<K: KeyCodec, V: Codec> LsmTable<K, V> {
    /// A cursor, before the first record.
    pub fn cursor(&self) -> LsmCursor<K, V> {
        LsmCursor { shared: self.shared().clone(), gap: Gap::Start, types: PhantomData }
    }
}

impl<K: KeyCodec, V: Codec> LsmCursor<K, V> {
    /// Moves before the first record.
    pub fn to_start(&mut self) {
        self.gap = Gap::Start;
    }

    /// Moves behind the last record.
    pub fn to_end(&mut self) {
        self.gap = Gap::End;
    }

    /// Moves before `key`, whether it is there or not.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let ages = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?;
    /// env.update(|txn| ages.put(txn, "bob", 47).and_then(|()| ages.put(txn, "ann", 31)))?;
    /// let txn = env.read()?;
    /// let mut cursor = ages.cursor();
    /// cursor.seek("b")?;
    /// assert_eq!(cursor.next(&txn)?, Some(("bob", 47)));
    /// assert_eq!(cursor.prev(&txn)?, Some(("bob", 47)));
    /// assert_eq!(cursor.prev(&txn)?, Some(("ann", 31)));
    /// assert_eq!(cursor.prev(&txn)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`huon::Error::Encode`] from the codec.
    pub fn seek(&mut self, key: K::In<'_>) -> Result<()> {
        let mut scratch = Scratch::default();
        self.gap = Gap::Before(K::encode(&key, &mut scratch)?.to_vec());
        Ok(())
    }

    /// Moves behind `key`, whether it is there or not.
    ///
    /// # Errors
    /// As [`LsmCursor::seek`].
    pub fn seek_after(&mut self, key: K::In<'_>) -> Result<()> {
        let mut scratch = Scratch::default();
        self.gap = Gap::After(K::encode(&key, &mut scratch)?.to_vec());
        Ok(())
    }

    /// The record behind the gap; the gap moves behind it. At the end it stays: records that are
    /// added behind the last one later are still returned.
    ///
    /// # Errors
    /// As [`LsmTable::get`].
    pub fn next<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        self.step(txn.any(), false)
    }

    /// The record before the gap; the gap moves before it.
    ///
    /// # Errors
    /// As [`LsmTable::get`].
    pub fn prev<'t>(&mut self, txn: &'t impl Txn) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        self.step(txn.any(), true)
    }

    /// The bytes of the key that the gap lies at, which is that of the record returned last, or the
    /// one sought; `None` at the ends of the table.
    ///
    /// ```
    /// # use huon::{Env, Str, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let mut cursor = Lsm::open(&env)?.table(&LsmDef::<Str, U64>::new("ages"))?.cursor();
    /// assert_eq!(cursor.position(), None);
    /// cursor.seek("ann")?;
    /// assert_eq!(cursor.position(), Some(&b"ann"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn position(&self) -> Option<&[u8]> {
        match &self.gap {
            Gap::Before(key) | Gap::After(key) => Some(key),
            Gap::Start | Gap::End => None,
        }
    }

    fn step<'t>(
        &mut self,
        txn: AnyTxn<'t>,
        back: bool,
    ) -> Result<Option<(K::Out<'t>, V::Out<'t>)>> {
        let Some((key, value)) = self.find(txn, back)? else { return Ok(None) };
        let decoded = (K::decode(key)?, V::decode(value)?);
        self.gap = if back { Gap::Before(key.to_vec()) } else { Gap::After(key.to_vec()) };
        Ok(Some(decoded))
    }

    fn find<'t>(&self, txn: AnyTxn<'t>, back: bool) -> Result<Option<Record<'t>>> {
        let Some(bounds) = self.gap.ahead(back) else { return Ok(None) };
        let mut merge = merge(&self.shared, txn, bounds, back)?;
        while let Some((key, tagged)) = merge.next()? {
            if let Some(value) = merge.value(tagged)? {
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }
}

impl LsmCursor<Bytes, Bytes> {
    /// As [`LsmCursor::next`], or as [`LsmCursor::prev`], for `most` records at most, none of them
    /// beyond `end`, as long as `take` takes what it is shown. How many it took; the cursor stands
    /// beside the last one.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// use std::ops::Bound;
    /// use huon::Bytes;
    /// use huon_lsm::{Lsm, LsmDef};
    /// let table = Lsm::open(&env)?.table(&LsmDef::<Bytes, Bytes>::new("t"))?;
    /// env.update(|txn| (b'a'..=b'z').try_for_each(|n| table.put(txn, &[n], b"")))?;
    /// let (txn, mut cursor) = (env.read()?, table.cursor());
    /// assert_eq!(cursor.walk(&txn, true, Bound::Unbounded, 9, |key, _| key < b"d")?, 3);
    /// assert_eq!(cursor.walk(&txn, true, Bound::Excluded(b"g"), 9, |_, _| true)?, 3);
    /// assert_eq!(cursor.next(&txn)?, Some((&b"g"[..], &b""[..])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// One descent in all runs whose keys meet what lies ahead, and some dozen nanoseconds for each
    /// record.
    ///
    /// # Errors
    /// As [`LsmTable::get`]; the cursor stays.
    #[doc(hidden)]
    pub fn walk<'t>(
        &mut self,
        txn: &'t impl Txn,
        forward: bool,
        end: Bound<&[u8]>,
        most: usize,
        mut take: impl FnMut(&'t [u8], &'t [u8]) -> bool,
    ) -> Result<usize> {
        let (back, mut taken, mut last) = (!forward, 0, None);
        let Some((from, to)) = self.gap.ahead(back) else { return Ok(0) };
        let bounds = if back { (end, to) } else { (from, end) };
        if most == 0 || self.position().is_some_and(|key| is_beyond(bounds, back, key)) {
            return Ok(0);
        }
        let mut merge = merge(&self.shared, txn.any(), bounds, back)?;
        while taken < most
            && let Some((key, tagged)) = merge.next()?
            && !is_beyond(bounds, back, key)
        {
            let Some(value) = merge.value(tagged)? else { continue };
            if !take(key, value) {
                break;
            }
            (taken, last) = (taken + 1, Some(key));
        }
        if let Some(key) = last {
            self.gap = if back { Gap::Before(key.to_vec()) } else { Gap::After(key.to_vec()) };
        }
        Ok(taken)
    }
}

impl<K, V> Clone for LsmCursor<K, V> {
    fn clone(&self) -> Self {
        LsmCursor { shared: self.shared.clone(), gap: self.gap.clone(), types: PhantomData }
    }
}

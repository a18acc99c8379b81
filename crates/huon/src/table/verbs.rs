//! Changes of a table that look at what is there first.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use crate::alloc::copied;
use crate::error::Result;
use crate::table::codec::{Codec, KeyCodec, Scratch};
use crate::table::def::Table;
use crate::table::txn::{Txn, in_range};
use crate::table::value::Owned;
use crate::tree::change::Made;
use crate::txn::write::{How, WriteTxn};

/// So many keys are kept in memory at a time.
pub(super) const DOOMED: usize = 256;

/// The change that [`Table::update_with`] makes to a value; by default none.
pub struct Change<V> {
    made: Made,
    types: PhantomData<fn(V)>,
}

/// A record that was taken out of its table.
pub(super) type OwnedRecord<K, V> = (Owned<K>, Owned<V>);

impl<V: Codec> Change<V> {
    /// What `change` makes of the value that is there: nothing where it returns an error, which
    /// goes to `refused`. The caller's error is no failure of the transaction.
    pub(super) fn ask(
        old: Option<&[u8]>,
        change: impl FnOnce(Option<V::Out<'_>>, &mut Change<V>) -> Result<()>,
        refused: &mut Result<()>,
    ) -> Made {
        let mut wanted = Change { made: Made::Nothing, types: PhantomData };
        let old = old.map(V::decode).transpose();
        *refused = old.and_then(|old| change(old, &mut wanted));
        if refused.is_ok() { wanted.made } else { Made::Nothing }
    }

    /// Stores this value.
    ///
    /// # Errors
    /// [`Error::Encode`](crate::Error::Encode) from the codec.
    pub fn set(&mut self, value: V::In<'_>) -> Result<()> {
        let mut scratch = Scratch::default();
        self.made = Made::Value(copied(V::encode(&value, &mut scratch)?)?);
        Ok(())
    }

    /// Removes the key.
    ///
    /// # Errors
    /// None; a closure can end with it as with [`Change::set`].
    pub fn remove(&mut self) -> Result<()> {
        self.made = Made::Removal;
        Ok(())
    }
}

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// Hands the value of `key` to `change`, which says what becomes of it: another value, none, or
    /// the same if it says nothing. Returns whether the key was there.
    ///
    /// One descent, where a get and a put would make two.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let hits = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("hits"))?;
    /// for _ in 0..3 {
    ///     hits.update_with(&mut txn, "index", |old, new| new.set(old.unwrap_or(0) + 1))?;
    /// }
    /// assert_eq!(hits.get(&txn, "index")?, Some(3));
    /// hits.update_with(&mut txn, "index", |_, new| new.remove())?;
    /// assert!(hits.is_empty(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What `change` returns, and as [`Table::put`]. [`Error::Decode`](crate::Error::Decode) if the
    /// value that is there does not decode. Nothing has changed then.
    pub fn update_with(
        self,
        txn: &mut WriteTxn,
        key: K::In<'_>,
        change: impl FnOnce(Option<V::Out<'_>>, &mut Change<V>) -> Result<()>,
    ) -> Result<bool> {
        let mut scratch = Scratch::default();
        let key = K::encode(&key, &mut scratch)?;
        let mut refused = Ok(());
        let wanted = |old: Option<&[u8]>| Change::ask(old, change, &mut refused);
        let found = txn.edit(self.number_in(txn)?, How::Grow, |tree| tree.change(key, wanted))?;
        refused.map(|()| found)
    }

    /// Takes the first record out of the table.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let jobs = txn.create_table(&huon::TableDef::<huon::U64, huon::Str>::new("jobs"))?;
    /// jobs.put(&mut txn, 1, "sweep")?;
    /// jobs.put(&mut txn, 2, "mop")?;
    /// let (number, job) = jobs.pop_first(&mut txn)?.expect("there are two");
    /// assert_eq!((number.get()?, job.get()?), (1, "sweep"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_first(self, txn: &mut WriteTxn) -> Result<Option<OwnedRecord<K, V>>> {
        let first = self.raw().first(txn)?.map(owned::<K, V>).transpose()?;
        self.pop(txn, first)
    }

    /// Takes the last record out of the table; see [`Table::pop_first`].
    pub fn pop_last(self, txn: &mut WriteTxn) -> Result<Option<OwnedRecord<K, V>>> {
        let last = self.raw().last(txn)?.map(owned::<K, V>).transpose()?;
        self.pop(txn, last)
    }

    fn pop(
        self,
        txn: &mut WriteTxn,
        record: Option<OwnedRecord<K, V>>,
    ) -> Result<Option<OwnedRecord<K, V>>> {
        if let Some((key, _)) = &record {
            self.raw().remove(txn, key.bytes())?;
        }
        Ok(record)
    }

    /// Removes the records of a range that `keep` refuses, and returns how many there were. `keep`
    /// sees the records in order.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::U64>::new("t"))?;
    /// (0..10).try_for_each(|n| t.put(&mut txn, n, n % 3).map(drop))?;
    /// assert_eq!(t.retain(&mut txn, 5.., |_, value| value != 0)?, 2);
    /// assert_eq!(t.retain(&mut txn, .., |key, _| key < 5)?, 3);
    /// assert_eq!(t.len(&txn)?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Records that were removed before an error stay removed.
    pub fn retain<'k>(
        self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::In<'k>>,
        mut keep: impl FnMut(K::Out<'_>, V::Out<'_>) -> bool,
    ) -> Result<u64> {
        let table = self.raw();
        in_range::<K, _, _>(range, |from, to| {
            let (mut removed, mut start) = (0, own(from)?);
            loop {
                let mut doomed = Vec::new();
                let mut next = None;
                for record in table.range(txn, (start.as_ref().map(Vec::as_slice), to))? {
                    let (key, value) = record?;
                    if keep(K::decode(key)?, V::decode(value)?) {
                        continue;
                    }
                    doomed.push(copied(key)?);
                    if doomed.len() == DOOMED {
                        next = Some(Bound::Excluded(copied(key)?));
                        break;
                    }
                }
                for key in &doomed {
                    removed += u64::from(table.remove(txn, key)?);
                }
                match next {
                    Some(next) => start = next,
                    None => return Ok(removed),
                }
            }
        })
    }

    /// How many records a range of keys has, exactly. Reads the leaves of the range;
    /// [`Table::estimate`] does not.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::U64, huon::Unit>::new("t"))?;
    /// (0..1000).try_for_each(|n| t.put(&mut txn, n, ()).map(drop))?;
    /// assert_eq!(t.count(&txn, 10..=20)?, 11);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count<'k>(self, txn: &impl Txn, range: impl RangeBounds<K::In<'k>>) -> Result<u64> {
        let table = self.raw();
        in_range::<K, _, _>(range, |from, to| {
            let range = table.range(txn, (from, to))?;
            if self.is_main() {
                // Records of named tables lie between those of the main table.
                return range.map(|record| record.map(|_| 1)).sum();
            }
            range.leaves().map(|leaf| leaf.map(|leaf| leaf.len() as u64)).sum()
        })
    }
}

pub(super) fn owned<K, V>((key, value): (&[u8], &[u8])) -> Result<OwnedRecord<K, V>> {
    Ok((Owned::of(copied(key)?), Owned::of(copied(value)?)))
}

/// A bound that owns its key.
pub(super) fn own(bound: Bound<&[u8]>) -> Result<Bound<Vec<u8>>> {
    Ok(match bound {
        Bound::Included(key) => Bound::Included(copied(key)?),
        Bound::Excluded(key) => Bound::Excluded(copied(key)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

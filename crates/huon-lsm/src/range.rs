//! The records of a part of an LSM table: a merge of what the transaction has collected and of the
//! runs, from each end.

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use huon::{AnyTxn, Codec, KeyCodec, ReadTxn, Result, Scratch};

use crate::format::{Bounds as RunBounds, DeleteRecord};
use crate::manifest::{Shared, View, view_in};
use crate::merge::{Bounds, Merge, Record, Source};
use crate::pending::Pending;
use crate::record::{Says, says};

/// The records of a part of an LSM table in key order, from both ends; see
/// [`LsmTable::range`](crate::LsmTable::range).
///
/// An item is an error where a page or a value is damaged; nothing follows it. It may be sent to
/// another thread, and be held across an `.await`:
///
/// ```
/// # use huon::{Env, Str, U64};
/// # use huon_lsm::{Lsm, LsmDef, LsmTable};
/// async fn sum(env: &Env, hits: &LsmTable<Str, U64>) -> huon::Result<u64> {
///     let txn = env.read()?;
///     let mut sum = 0;
///     for record in hits.iter(&txn)? {
///         sum += record?.1;
///         std::future::ready(()).await;
///     }
///     Ok(sum)
/// }
/// fn is_send<T: Send>(_: T) {}
/// # let env = Env::in_memory()?;
/// # let hits = Lsm::open(&env)?.table(&LsmDef::new("hits"))?;
/// is_send(sum(&env, &hits));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cost
/// The first record from an end costs a descent in each run whose keys meet the range; each record
/// after it some comparisons, as many as the number of runs has binary digits.
#[must_use = "records are read when they are asked for"]
pub struct LsmRange<'t, K, V> {
    bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    front: End<'t>,
    back: End<'t>,
    is_done: bool,
    types: PhantomData<fn(K) -> V>,
}

/// One end of a range.
struct End<'t> {
    merge: Lazy<'t>,
    /// The key that was returned last.
    last: Option<&'t [u8]>,
}

/// A merge that costs nothing until its end is asked.
enum Lazy<'t> {
    Later(Arc<Shared>, &'t ReadTxn),
    /// A write transaction can only be asked by its own thread, so it is asked at once.
    Now(Merge<'t>),
}

impl<'t, K: KeyCodec, V: Codec> LsmRange<'t, K, V> {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        txn: AnyTxn<'t>,
        bounds: Bounds<'_>,
    ) -> Result<LsmRange<'t, K, V>> {
        let end = |back| {
            let merge = match txn {
                AnyTxn::Read(txn) => Lazy::Later(shared.clone(), txn),
                AnyTxn::Write(_) => Lazy::Now(merge(shared, txn, bounds, back)?),
            };
            Ok::<_, huon::Error>(End { merge, last: None })
        };
        let (front, back) = (end(false)?, end(true)?);
        let bounds = (bounds.0.map(<[u8]>::to_vec), bounds.1.map(<[u8]>::to_vec));
        Ok(LsmRange { bounds, front, back, is_done: false, types: PhantomData })
    }

    fn step(&mut self, back: bool) -> Option<Result<(K::Out<'t>, V::Out<'t>)>> {
        if self.is_done {
            return None;
        }
        let found = self.find(back).transpose();
        let found = found.map(|found| {
            let (key, value) = found?;
            Ok((K::decode(key)?, V::decode(value)?))
        });
        // What one end has not found, the other will not.
        self.is_done = !matches!(found, Some(Ok(_)));
        found
    }

    /// The next record from an end that was put and lies before what the other end has returned.
    fn find(&mut self, back: bool) -> Result<Option<Record<'t>>> {
        let bounds = borrowed(&self.bounds);
        let (end, other) =
            if back { (&mut self.back, &self.front) } else { (&mut self.front, &self.back) };
        let merge = end.merge.get(bounds, back)?;
        while let Some((key, tagged)) = merge.next()? {
            let is_met =
                other.last.is_some_and(|last| if back { key <= last } else { key >= last });
            if is_met || is_beyond(bounds, back, key) {
                return Ok(None);
            }
            if let Some(value) = merge.value(tagged)? {
                end.last = Some(key);
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }
}

impl<'t> Lazy<'t> {
    fn get(&mut self, bounds: Bounds<'_>, back: bool) -> Result<&mut Merge<'t>> {
        if let Lazy::Later(shared, txn) = self {
            *self = Lazy::Now(merge(shared, AnyTxn::Read(txn), bounds, back)?);
        }
        match self {
            Lazy::Now(merge) => Ok(merge),
            Lazy::Later(..) => unreachable!("it was made above"),
        }
    }
}

impl<'t, K: KeyCodec, V: Codec> Iterator for LsmRange<'t, K, V> {
    type Item = Result<(K::Out<'t>, V::Out<'t>)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.step(false)
    }
}

impl<K: KeyCodec, V: Codec> DoubleEndedIterator for LsmRange<'_, K, V> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(true)
    }
}

impl<K: KeyCodec, V: Codec> FusedIterator for LsmRange<'_, K, V> {}

fn borrowed(bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Bounds<'_> {
    (bounds.0.as_ref().map(Vec::as_slice), bounds.1.as_ref().map(Vec::as_slice))
}

/// Whether a key lies beyond the bound that the merge goes towards.
#[inline]
pub(crate) fn is_beyond(bounds: Bounds<'_>, back: bool, key: &[u8]) -> bool {
    match if back { bounds.0 } else { bounds.1 } {
        Bound::Unbounded => false,
        Bound::Included(bound) => {
            if back {
                key < bound
            } else {
                key > bound
            }
        }
        Bound::Excluded(bound) => {
            if back {
                key <= bound
            } else {
                key >= bound
            }
        }
    }
}

/// A merge of all that the transaction shows of a range, tombstones included. It may go on beyond
/// the far bound, to which no run is descended.
pub(crate) fn merge<'t>(
    shared: &Shared,
    txn: AnyTxn<'t>,
    bounds: Bounds<'_>,
    back: bool,
) -> Result<Merge<'t>> {
    Merge::new(sources(shared, txn, bounds, back)?, back, Some(shared.folder(txn)?))
}

/// So many records of a range at most, of which nothing is folded.
pub(crate) fn count(
    shared: &Shared,
    txn: AnyTxn<'_>,
    bounds: Bounds<'_>,
    most: u64,
) -> Result<u64> {
    let mut merge = Merge::new(sources(shared, txn, bounds, false)?, false, None)?;
    let mut count = 0;
    while count < most
        && let Some((key, tagged)) = merge.next()?
        && !is_beyond(bounds, false, key)
    {
        count += u64::from(says(tagged)? != Says::Nothing);
    }
    Ok(count)
}

fn sources<'t>(
    shared: &Shared,
    txn: AnyTxn<'t>,
    bounds: Bounds<'_>,
    back: bool,
) -> Result<Vec<Source<'t>>> {
    let mut sources = Vec::new();
    match txn {
        AnyTxn::Read(read) => {
            let view = view_in(shared, read)?;
            add_runs(&mut sources, &view, txn, bounds, back, &[])?;
        }
        AnyTxn::Write(write) => match Pending::of(write, shared) {
            None => {
                let view = shared.view(write)?;
                add_runs(&mut sources, &view, txn, bounds, back, &[])?;
            }
            Some(pending) => {
                let deletes: Vec<DeleteRecord> = pending.batch.deletes().cloned().collect();
                sources.push(Source::batch(pending.batch.sorted()?, bounds));
                let view = pending.view(write)?;
                add_runs(&mut sources, &view, txn, bounds, back, &deletes)?;
            }
        },
    }
    Ok(sources)
}

/// Adds the runs that meet the bounds. `deletes`: of ranges in all of them.
fn add_runs<'t>(
    sources: &mut Vec<Source<'t>>,
    view: &View,
    txn: AnyTxn<'t>,
    bounds: Bounds<'_>,
    back: bool,
    deletes: &[DeleteRecord],
) -> Result<()> {
    for run in &view.runs {
        let meets = |delete: &DeleteRecord| run.is_open() || delete.meets(&run.record.bounds);
        if !run.is_open() && !may_meet(&run.record.bounds, bounds) {
            continue;
        }
        let committed = view.deletes.iter().filter(|delete| delete.hides(run));
        let all = committed.map(|delete| &delete.range).chain(deletes);
        let deleted: Vec<_> = all.filter(|delete| meets(delete)).cloned().collect();
        // Each bound costs a descent; without the far one a source may pass over many deleted
        // records in vain.
        let (from, to) = bounds;
        let near = match (deleted.is_empty(), back) {
            (false, _) => bounds,
            (true, false) => (from, Bound::Unbounded),
            (true, true) => (Bound::Unbounded, to),
        };
        sources.push(Source::run(run.table, txn, near, deleted)?);
    }
    Ok(())
}

/// Whether a run with these keys may have some in the range.
fn may_meet(run: &RunBounds, (from, to): Bounds<'_>) -> bool {
    let is_below = match from {
        Bound::Unbounded => false,
        Bound::Included(key) | Bound::Excluded(key) => run.is_below(key),
    };
    let is_above = match to {
        Bound::Unbounded => false,
        Bound::Included(key) | Bound::Excluded(key) => run.is_above(key),
    };
    !is_below && !is_above
}

/// Hands on the bounds of a range as bytes.
pub(crate) fn in_range<'k, K: Codec, B: RangeBounds<K::In<'k>>, R>(
    range: &B,
    act: impl FnOnce(Bounds<'_>) -> Result<R>,
) -> Result<R> {
    let (mut from_room, mut to_room) = (Scratch::default(), Scratch::default());
    let from = encoded::<K>(range.start_bound(), &mut from_room)?;
    act((from, encoded::<K>(range.end_bound(), &mut to_room)?))
}

fn encoded<'e, K: Codec>(
    bound: Bound<&'e K::In<'_>>,
    scratch: &'e mut Scratch,
) -> Result<Bound<&'e [u8]>> {
    Ok(match bound {
        Bound::Included(key) => Bound::Included(K::encode(key, scratch)?),
        Bound::Excluded(key) => Bound::Excluded(K::encode(key, scratch)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// Hands on the bounds of the keys that begin with `prefix`.
pub(crate) fn in_prefix<R>(prefix: &[u8], act: impl FnOnce(Bounds<'_>) -> Result<R>) -> Result<R> {
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xFF) {
        end.pop();
    }
    let to = match end.last_mut() {
        Some(last) => {
            *last += 1;
            Bound::Excluded(&end[..])
        }
        None => Bound::Unbounded,
    };
    act((Bound::Included(prefix), to))
}

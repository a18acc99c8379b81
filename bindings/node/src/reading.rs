//! Reading: many keys, and ranges, into memory that JavaScript sees.

use std::ops::Bound;

use huon::{Bytes, MultiCursor, RawMulti, RawTable, Txn};
use huon_lsm::RawLsmTable;

use crate::failure::Result;
use crate::state::Handle;

/// What the numbers of a range mean, as bits.
#[derive(Clone, Copy)]
pub(crate) struct Bounds(pub(crate) u32);

impl Bounds {
    const REVERSE: u32 = 1;
    const FROM: u32 = 2;
    const FROM_EXCLUDED: u32 = 4;
    const TO: u32 = 8;
    const TO_INCLUDED: u32 = 16;
    /// It goes on behind a pair of a multimap.
    const PAIR: u32 = 32;
    /// The snapshot is wanted again.
    const KEEP: u32 = 64;
    /// Each key of a multimap once, with how many values it has.
    const DISTINCT: u32 = 128;
    /// Of a table the keys alone.
    const KEYS_ONLY: u32 = 256;

    fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    pub(crate) fn is_kept(self) -> bool {
        self.has(Self::KEEP)
    }
}

/// A range of keys.
#[derive(Clone, Copy)]
pub(crate) struct Span<'b> {
    bounds: Bounds,
    from: Bound<&'b [u8]>,
    to: Bound<&'b [u8]>,
    /// How many of its records were shown: where a function that is not known here compares the
    /// keys, it goes on by that.
    shown: usize,
}

impl<'b> Span<'b> {
    pub(crate) fn new(bounds: Bounds, from: &'b [u8], to: &'b [u8], shown: usize) -> Span<'b> {
        let from = match () {
            () if !bounds.has(Bounds::FROM) => Bound::Unbounded,
            () if bounds.has(Bounds::FROM_EXCLUDED) => Bound::Excluded(from),
            () => Bound::Included(from),
        };
        let to = match () {
            () if !bounds.has(Bounds::TO) => Bound::Unbounded,
            () if bounds.has(Bounds::TO_INCLUDED) => Bound::Included(to),
            () => Bound::Excluded(to),
        };
        Span { bounds, from, to, shown }
    }

    pub(crate) fn bounds(&self) -> (Bound<&'b [u8]>, Bound<&'b [u8]>) {
        (self.from, self.to)
    }

    /// Whether it is all of the table. What has shown a part of one whose order is not known was.
    fn is_whole(&self) -> bool {
        self.shown > 0 || matches!(self.bounds(), (Bound::Unbounded, Bound::Unbounded))
    }

    /// How many records it has.
    pub(crate) fn count(&self, txn: &impl Txn, handle: &Handle) -> Result<u64> {
        Ok(match (handle, self.bounds()) {
            (Handle::Table(table), (Bound::Unbounded, Bound::Unbounded)) => table.len(txn)?,
            (Handle::Multi(multi), (Bound::Unbounded, Bound::Unbounded)) => multi.len(txn)?,
            (Handle::Table(table), range) => table.count(txn, range)?,
            (Handle::Multi(multi), range) => multi.count(txn, range)?,
            (Handle::Lsm(table), range) => table.count(txn, range)?,
        })
    }
}

/// How many keys are looked up before there is another look whether there is room: as many as the
/// engine looks up side by side.
const LOOKED_UP: usize = 16;

/// Where records go: the bytes one behind another, and two lengths for each.
pub(crate) struct Tray<'m> {
    pub(crate) bytes: &'m mut [u8],
    pub(crate) sizes: &'m mut [u32],
    used_bytes: usize,
    count: usize,
    max: usize,
    /// Bytes that the first record would have taken, if it did not fit.
    pub(crate) wanted: usize,
}

impl<'m> Tray<'m> {
    pub(crate) fn new(bytes: &'m mut [u8], sizes: &'m mut [u32], max: usize) -> Tray<'m> {
        let max = max.min(sizes.len() / 2);
        Tray { bytes, sizes, used_bytes: 0, count: 0, max, wanted: 0 }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether it was put there: `false` if it is full.
    #[inline]
    fn add(&mut self, key: &[u8], value: &[u8]) -> bool {
        let length = key.len() + value.len();
        if self.count == self.max {
            return false;
        }
        let Some(room) = self.bytes[self.used_bytes..].get_mut(..length) else {
            if self.count == 0 {
                self.wanted = length;
            }
            return false;
        };
        let (for_key, for_value) = room.split_at_mut(key.len());
        for_key.copy_from_slice(key);
        for_value.copy_from_slice(value);
        self.sizes[2 * self.count] = key.len() as u32;
        self.sizes[2 * self.count + 1] = value.len() as u32;
        self.used_bytes += length;
        self.count += 1;
        true
    }

    /// Puts the records of a range there until it is full. Returns whether there are more.
    pub(crate) fn fill(
        &mut self,
        txn: &impl Txn,
        handle: &Handle,
        span: Span<'_>,
        from_value: &[u8],
    ) -> Result<bool> {
        let filled = match handle {
            Handle::Table(table) => self.fill_from_table(txn, *table, span),
            Handle::Multi(multi) if span.bounds.has(Bounds::DISTINCT) => {
                self.fill_with_keys(txn, *multi, span)
            }
            Handle::Multi(multi) => self.fill_from_multi(txn, *multi, span, from_value),
            Handle::Lsm(table) => self.fill_from_lsm(txn, table, span),
        };
        match (filled, handle) {
            (Err(failure), _) if failure.code != "OrderUnknown" || !span.is_whole() => Err(failure),
            (Err(_), Handle::Table(table)) => self.fill_behind(table.iter(txn)?, span),
            (Err(_), Handle::Multi(multi)) if !span.bounds.has(Bounds::DISTINCT) => {
                self.fill_behind(multi.iter(txn)?, span)
            }
            (filled, _) => filled,
        }
    }

    fn fill_from_table(&mut self, txn: &impl Txn, table: RawTable, span: Span<'_>) -> Result<bool> {
        let mut leaves = table.range(txn, span.bounds())?.leaves();
        let is_forward = !span.bounds.has(Bounds::REVERSE);
        let value_bytes_max = if span.bounds.has(Bounds::KEYS_ONLY) { 0 } else { usize::MAX };
        while let Some(leaf) = if is_forward { leaves.next() } else { leaves.next_back() } {
            let mut records = leaf?.iter();
            while let Some(record) = if is_forward { records.next() } else { records.next_back() } {
                let (key, value) = record?;
                let value = &value[..value.len().min(value_bytes_max)];
                if !self.add(key, value) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// From the records of a whole table, without those that were shown.
    fn fill_behind<'t>(
        &mut self,
        records: impl DoubleEndedIterator<Item = huon::Result<(&'t [u8], &'t [u8])>>,
        span: Span<'_>,
    ) -> Result<bool> {
        if span.bounds.has(Bounds::REVERSE) {
            self.fill_from_all(records.rev().skip(span.shown))
        } else {
            self.fill_from_all(records.skip(span.shown))
        }
    }

    fn fill_from_all<'t>(
        &mut self,
        records: impl Iterator<Item = huon::Result<(&'t [u8], &'t [u8])>>,
    ) -> Result<bool> {
        for record in records {
            let (key, value) = record?;
            if !self.add(key, value) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fill_from_lsm(
        &mut self,
        txn: &impl Txn,
        table: &RawLsmTable,
        span: Span<'_>,
    ) -> Result<bool> {
        let mut records = table.range(txn, span.bounds())?;
        let is_forward = !span.bounds.has(Bounds::REVERSE);
        let value_bytes_max = if span.bounds.has(Bounds::KEYS_ONLY) { 0 } else { usize::MAX };
        while let Some(record) = if is_forward { records.next() } else { records.next_back() } {
            let (key, value) = record?;
            if !self.add(key, &value[..value.len().min(value_bytes_max)]) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fill_from_multi(
        &mut self,
        txn: &impl Txn,
        multi: RawMulti,
        span: Span<'_>,
        from_value: &[u8],
    ) -> Result<bool> {
        let mut cursor = multi.cursor();
        let is_forward = !span.bounds.has(Bounds::REVERSE);
        place(&mut cursor, span, from_value)?;
        while let Some((key, value)) = if is_forward {
            cursor.next_until(txn, span.to)?
        } else {
            cursor.prev_until(txn, span.from)?
        } {
            if !self.add(key, value) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fill_with_keys(&mut self, txn: &impl Txn, multi: RawMulti, span: Span<'_>) -> Result<bool> {
        for key in multi.keys_range(txn, span.bounds())? {
            let (key, count) = key?;
            if !self.add(key, &count.to_le_bytes()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts the value of each key there, with 1 before its length, or 0 for none. The rest is for
    /// another time where it is full.
    pub(crate) fn look_up(
        &mut self,
        txn: &impl Txn,
        handle: &Handle,
        keys: &[&[u8]],
    ) -> Result<()> {
        for keys in keys.chunks(LOOKED_UP) {
            let count = self.count;
            self.look_up_some(txn, handle, keys)?;
            if self.count < count + keys.len() {
                break;
            }
        }
        Ok(())
    }

    fn look_up_some(&mut self, txn: &impl Txn, handle: &Handle, keys: &[&[u8]]) -> Result<()> {
        let mut is_full = false;
        let mut found = |value: Option<&[u8]>| {
            is_full = is_full || !self.add(&[], value.unwrap_or_default());
            if !is_full {
                self.sizes[2 * self.count - 2] = u32::from(value.is_some());
            }
        };
        match handle {
            Handle::Table(table) => Ok(table.get_many(txn, keys, |_, value| found(value))?),
            Handle::Lsm(table) => Ok(table.get_many(txn, keys, |_, value| found(value))?),
            Handle::Multi(multi) => {
                let mut failed = None;
                multi.get_many(txn, keys, |_, mut values| match values.next().transpose() {
                    Ok(value) => found(value),
                    Err(error) => failed = Some(error),
                })?;
                failed.map_or(Ok(()), |error| Err(error.into()))
            }
        }
    }
}

/// Places a cursor at the end of a range from which it goes, or at the pair that was shown last.
fn place(cursor: &mut MultiCursor<Bytes, Bytes>, span: Span<'_>, value: &[u8]) -> huon::Result<()> {
    let is_forward = !span.bounds.has(Bounds::REVERSE);
    let begin = if is_forward { span.from } else { span.to };
    match (begin, is_forward) {
        (Bound::Excluded(key), true) if span.bounds.has(Bounds::PAIR) => {
            cursor.seek_after_pair(key, value)
        }
        (Bound::Excluded(key), false) if span.bounds.has(Bounds::PAIR) => {
            cursor.seek_pair(key, value)
        }
        (Bound::Unbounded, true) => {
            cursor.to_start();
            Ok(())
        }
        (Bound::Unbounded, false) => {
            cursor.to_end();
            Ok(())
        }
        (Bound::Included(key), true) | (Bound::Excluded(key), false) => cursor.seek(key),
        (Bound::Excluded(key), true) | (Bound::Included(key), false) => cursor.seek_after(key),
    }
}

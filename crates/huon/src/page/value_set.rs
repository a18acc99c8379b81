//! Value sets: the few values of a multimap's key, in one cell.
//!
//! ```text
//! all of one length:   the values, one behind the other
//! of any length:       u16 count, u16 end of each value, the values one behind the other
//! ```
//!
//! 1. Values rise in their order, so none is there twice. There are at least two in a cell that is
//!    called a set: a single value lies there as it is. In memory that is a set, too.
//! 2. Ends count from the first byte of the first value. They never fall.
//!
//! Sets are short: a cell is at most half a page. A new value is written into the cell
//! ([`Growth`]) as long as that fits its page; else the set is made anew.

use std::cmp::Ordering;

use super::leaf::PayloadKind;
use super::order::KeyOrder;
use super::types::Reason;

/// Bytes of the count, and of an end.
const HALF_BYTES: usize = 2;

/// The values in a cell.
#[derive(Clone, Copy)]
pub(crate) struct ValueSet<'p> {
    /// `None`: the values have one length.
    ends: Option<&'p [[u8; HALF_BYTES]]>,
    values: &'p [u8],
    fixed_bytes: usize,
    count: usize,
    /// Values of the table have not one length that is known.
    is_odd: bool,
}

impl<'p> ValueSet<'p> {
    /// The set in `payload`; `fixed_bytes` is the length of each value, or 0 where they differ.
    /// Costs a look at each end.
    pub(crate) fn view(payload: &'p [u8], fixed_bytes: usize) -> Result<ValueSet<'p>, Reason> {
        let set = if fixed_bytes != 0 {
            if !payload.len().is_multiple_of(fixed_bytes) {
                return Err(Reason::Cell);
            }
            let count = payload.len() / fixed_bytes;
            ValueSet { ends: None, values: payload, fixed_bytes, count, is_odd: false }
        } else {
            let (count, rest) = payload.split_first_chunk::<HALF_BYTES>().ok_or(Reason::Cell)?;
            let count = usize::from(u16::from_le_bytes(*count));
            let (ends, values) = rest.split_at_checked(count * HALF_BYTES).ok_or(Reason::Cell)?;
            let ends = ends.as_chunks().0;
            let mut last = 0;
            for &end in ends {
                let end = u16::from_le_bytes(end);
                if end < last {
                    return Err(Reason::Cell);
                }
                last = end;
            }
            if usize::from(last) != values.len() {
                return Err(Reason::Cell);
            }
            ValueSet { ends: Some(ends), values, fixed_bytes, count, is_odd: true }
        };
        if set.count < 2 { Err(Reason::Cell) } else { Ok(set) }
    }

    /// The set of a single value; `fixed_bytes` as in [`ValueSet::view`].
    pub(crate) fn single(value: &'p [u8], fixed_bytes: usize) -> ValueSet<'p> {
        let is_odd = fixed_bytes == 0;
        ValueSet { ends: None, values: value, fixed_bytes: value.len(), count: 1, is_odd }
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Panics if there is no such value: an internal mistake.
    #[inline]
    pub(crate) fn value(&self, i: usize) -> &'p [u8] {
        &self.values[self.start(i)..self.start(i + 1)]
    }

    /// Where value `i` begins, or the values before it end.
    #[inline]
    fn start(&self, i: usize) -> usize {
        match self.ends {
            None => i * self.fixed_bytes,
            Some(_) if i == 0 => 0,
            Some(ends) => usize::from(u16::from_le_bytes(ends[i - 1])),
        }
    }

    /// What a new value makes of the payload, which goes before value `index`.
    pub(crate) fn growth(&self, index: usize, value_bytes: usize) -> Growth {
        let table = |count: usize| match (self.is_odd, count) {
            (false, _) | (true, 1) => 0,
            (true, count) => HALF_BYTES * (1 + count),
        };
        Growth {
            index,
            count: self.count,
            start: self.start(index),
            old_table: table(self.count),
            table: table(self.count + 1),
            value_bytes,
            bytes: table(self.count + 1) + self.values.len() + value_bytes,
        }
    }

    /// Where the value is (`Ok`), or where it would be inserted (`Err`).
    pub(crate) fn search<O: KeyOrder>(&self, order: O, value: &[u8]) -> Result<usize, usize> {
        let (mut lo, mut hi) = (0, self.count);
        while lo < hi {
            let mid = (lo + hi) / 2;
            match order.compare(value, self.value(mid)) {
                Ordering::Less => hi = mid,
                Ordering::Greater => lo = mid + 1,
                Ordering::Equal => return Ok(mid),
            }
        }
        Err(lo)
    }

    /// As [`ValueSet::search`] for a value to be added: one above all others is found at once.
    pub(crate) fn place<O: KeyOrder>(&self, order: O, value: &[u8]) -> Result<usize, usize> {
        match order.compare(self.value(self.count - 1), value) {
            Ordering::Less => Err(self.count),
            _ => self.search(order, value),
        }
    }

    /// The values one behind the other, if all have one length and it is known.
    fn packed(&self) -> Option<&'p [u8]> {
        (!self.is_odd).then_some(self.values)
    }

    /// All values, or some: see [`SetItems`].
    pub(crate) fn items(self) -> SetItems<'p> {
        SetItems { set: self, from: 0, until: self.count }
    }

    /// Whether values rise.
    pub(crate) fn audit<O: KeyOrder>(&self, order: O) -> Result<(), Reason> {
        let rises = |i: usize| order.compare(self.value(i - 1), self.value(i)) == Ordering::Less;
        if (1..self.count).all(rises) { Ok(()) } else { Err(Reason::Order) }
    }
}

/// A new value on its way into the payload of a cell that holds a set, or a single value.
#[derive(Clone, Copy)]
pub(crate) struct Growth {
    index: usize,
    /// Values that were there before.
    count: usize,
    /// Where the new one begins among the others.
    start: usize,
    /// Bytes of the count and the ends, before and after.
    old_table: usize,
    table: usize,
    value_bytes: usize,
    /// Bytes of the payload with the value in it.
    pub(crate) bytes: usize,
}

impl Growth {
    /// Before which byte of the payload room is needed, and how many bytes.
    pub(crate) fn room(&self) -> (usize, usize) {
        (self.old_table + self.start, self.table - self.old_table + self.value_bytes)
    }

    /// Writes the value into the payload, in which there is room now.
    pub(crate) fn fill(&self, payload: &mut [u8], value: &[u8]) -> Result<(), Reason> {
        let Growth { index, count, start, old_table, table, value_bytes, bytes } = *self;
        if payload.len() != bytes || value.len() != value_bytes {
            return Err(Reason::Cell);
        }
        payload.copy_within(old_table..old_table + start, table);
        payload[table + start..][..value_bytes].copy_from_slice(value);
        if table == 0 {
            return Ok(());
        }
        // A cell is at most half a page, so that all ends have 16 bits.
        let halves = payload[..table].as_chunks_mut::<HALF_BYTES>().0;
        let half = |end: usize| (end as u16).to_le_bytes();
        halves[0] = half(count + 1);
        if count == 1 {
            halves[1] = half(bytes - table - value_bytes);
        }
        for i in (index + 1..=count).rev() {
            halves[i + 1] = half(usize::from(u16::from_le_bytes(halves[i])) + value_bytes);
        }
        halves[index + 1] = half(start + value_bytes);
        Ok(())
    }
}

/// Consecutive values of a set, from both ends.
#[derive(Clone, Copy)]
pub(crate) struct SetItems<'p> {
    set: ValueSet<'p>,
    from: usize,
    until: usize,
}

impl<'p> SetItems<'p> {
    /// Those from `from` on and before `until`, counted in the set; none if they meet.
    pub(crate) fn between(self, from: usize, until: usize) -> SetItems<'p> {
        SetItems { from, until: until.max(from), ..self }
    }

    /// All of them one behind the other, if all have one length; then none are left.
    pub(crate) fn take_packed(&mut self) -> Option<&'p [u8]> {
        let bytes = self.set.fixed_bytes;
        let packed = self.set.packed()?.get(self.from * bytes..self.until * bytes)?;
        self.from = self.until;
        Some(packed)
    }

    pub(crate) fn next(&mut self) -> Option<&'p [u8]> {
        let value = (self.from < self.until).then(|| self.set.value(self.from))?;
        self.from += 1;
        Some(value)
    }

    pub(crate) fn next_back(&mut self) -> Option<&'p [u8]> {
        let last = self.until.checked_sub(1).filter(|&last| last >= self.from)?;
        self.until = last;
        Some(self.set.value(last))
    }
}

/// Writes the payload of a cell with these values, which rise, and says what it is; `fixed_bytes`
/// as for [`ValueSet::view`]. `None`: it has more bytes than `max`, and `out` holds anything.
pub(crate) fn write_values<'v>(
    out: &mut Vec<u8>,
    values: impl Iterator<Item = &'v [u8]> + Clone,
    fixed_bytes: usize,
    max: usize,
) -> Result<Option<PayloadKind>, Reason> {
    let (mut count, mut bytes) = (0usize, 0usize);
    for value in values.clone() {
        (count, bytes) = (count + 1, bytes + value.len());
    }
    let is_set = count > 1;
    let has_table = is_set && fixed_bytes == 0;
    let table = if has_table { HALF_BYTES * (1 + count) } else { 0 };
    if table + bytes > max || bytes > usize::from(u16::MAX) {
        return Ok(None);
    }
    out.clear();
    out.try_reserve(table + bytes)?;
    if has_table {
        out.extend_from_slice(&(count as u16).to_le_bytes());
        let mut end = 0;
        for value in values.clone() {
            end += value.len();
            out.extend_from_slice(&(end as u16).to_le_bytes());
        }
    }
    values.for_each(|value| out.extend_from_slice(value));
    Ok(Some(if is_set { PayloadKind::DuplicateSet } else { PayloadKind::Inline }))
}

//! How keys compare, and what their leading bytes in that order are.
//!
//! 1. An order with heads compares as its `lead`s do: `a < b` exactly when the first place where
//!    the two differ, counted in key order, holds the smaller byte in `a`, or `a` is a lead of `b`.
//! 2. `lead(key, n)` and `rest(key, n)` are the two parts of the key for every `n`; both saturate.
//! 3. Equal bytes compare equal in every order; only a caller's comparator may call others equal
//!    too.
//!
//! Native little-endian integers are the reversed order with a fixed key length.

use super::compare::compare;
use crate::planted::{self, Bug};
use std::cmp::Ordering;

/// An order of keys.
pub(crate) trait KeyOrder: Copy {
    /// False for a caller's comparator: heads and prefixes of its pages are always 0.
    fn has_heads(&self) -> bool;
    /// The first eight bytes in key order, zero padded, as a big-endian number.
    fn first(&self, key: &[u8]) -> u64;
    /// The same of the last `bytes` of `tail`, 1 to 8.
    fn first_of_last(&self, tail: &[u8; 8], bytes: usize) -> u64;
    /// Four bytes behind the `skip` leading ones, zero padded, as a big-endian number.
    fn head(&self, key: &[u8], skip: usize) -> u32;
    /// The key without its `skip` leading bytes.
    fn rest<'k>(&self, key: &'k [u8], skip: usize) -> &'k [u8];
    /// The `n` leading bytes of the key.
    fn lead<'k>(&self, key: &'k [u8], n: usize) -> &'k [u8];
    /// How many leading bytes the two share.
    fn common(&self, a: &[u8], b: &[u8]) -> usize;
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;
    /// The shortest lead of `right` that is above `left`, where `left < right`.
    fn separator<'k>(&self, left: &[u8], right: &'k [u8]) -> &'k [u8];
    /// Writes the key whose lead and rest these are; `out` has exactly their length.
    fn join(&self, lead: &[u8], rest: &[u8], out: &mut [u8]);
}

/// A [`KeyOrder::first`] with its leading `bytes`, 1 to 8, and zeros for the others.
#[inline(always)]
pub(super) fn lead_of(first: u64, bytes: usize) -> u64 {
    first & u64::MAX << (64 - 8 * bytes)
}

/// Keys compare as byte strings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BytesOrder;

/// Keys compare from their last byte to their first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReversedOrder;

/// Keys compare as the caller says.
#[derive(Clone, Copy)]
pub(crate) struct CustomOrder<'a>(pub(crate) &'a (dyn Fn(&[u8], &[u8]) -> Ordering + Send + Sync));

/// Any of the three, where the order is known at run time only.
#[derive(Clone, Copy)]
pub(crate) enum AnyOrder<'a> {
    Bytes(BytesOrder),
    Reversed(ReversedOrder),
    Custom(CustomOrder<'a>),
}

impl AnyOrder<'static> {
    /// Any order will do where no key is compared.
    pub(crate) const UNORDERED: AnyOrder<'static> = AnyOrder::Bytes(BytesOrder);
}

impl KeyOrder for BytesOrder {
    #[inline(always)]
    fn has_heads(&self) -> bool {
        true
    }

    #[inline(always)]
    fn first(&self, key: &[u8]) -> u64 {
        match key.first_chunk::<8>() {
            Some(eight) => u64::from_be_bytes(*eight),
            None => {
                let mut eight = [0; 8];
                eight[..key.len()].copy_from_slice(key);
                u64::from_be_bytes(eight)
            }
        }
    }

    #[inline(always)]
    fn first_of_last(&self, tail: &[u8; 8], bytes: usize) -> u64 {
        u64::from_be_bytes(*tail) << (64 - 8 * bytes)
    }

    #[inline]
    fn head(&self, key: &[u8], skip: usize) -> u32 {
        let rest = self.rest(key, skip);
        match rest.first_chunk::<4>() {
            Some(four) => u32::from_be_bytes(*four),
            None => {
                let mut four = [0; 4];
                four[..rest.len()].copy_from_slice(rest);
                u32::from_be_bytes(four)
            }
        }
    }

    #[inline(always)]
    fn rest<'k>(&self, key: &'k [u8], skip: usize) -> &'k [u8] {
        key.get(skip..).unwrap_or(&[])
    }

    #[inline(always)]
    fn lead<'k>(&self, key: &'k [u8], n: usize) -> &'k [u8] {
        key.get(..n).unwrap_or(key)
    }

    #[inline]
    fn common(&self, a: &[u8], b: &[u8]) -> usize {
        let mut same = 0;
        let (a8, b8) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
        for (x, y) in a8.iter().zip(b8) {
            let differs = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
            if differs != 0 {
                return same + differs.trailing_zeros() as usize / 8;
            }
            same += 8;
        }
        same + a[same..].iter().zip(&b[same..]).take_while(|(x, y)| x == y).count()
    }

    #[inline(always)]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        compare(a, b)
    }

    #[inline]
    fn separator<'k>(&self, left: &[u8], right: &'k [u8]) -> &'k [u8] {
        self.lead(right, self.common(left, right) + usize::from(!planted::is(Bug::SeparatorCut)))
    }

    fn join(&self, lead: &[u8], rest: &[u8], out: &mut [u8]) {
        let (front, back) = out.split_at_mut(lead.len());
        front.copy_from_slice(lead);
        back.copy_from_slice(rest);
    }
}

impl KeyOrder for ReversedOrder {
    #[inline(always)]
    fn has_heads(&self) -> bool {
        true
    }

    #[inline(always)]
    fn first(&self, key: &[u8]) -> u64 {
        match key.last_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => {
                let mut eight = [0; 8];
                eight[8 - key.len()..].copy_from_slice(key);
                u64::from_le_bytes(eight)
            }
        }
    }

    #[inline(always)]
    fn first_of_last(&self, tail: &[u8; 8], bytes: usize) -> u64 {
        lead_of(u64::from_le_bytes(*tail), bytes)
    }

    #[inline]
    fn head(&self, key: &[u8], skip: usize) -> u32 {
        let rest = self.rest(key, skip);
        match rest.last_chunk::<4>() {
            Some(four) => u32::from_le_bytes(*four),
            None => {
                let mut four = [0; 4];
                four[4 - rest.len()..].copy_from_slice(rest);
                u32::from_le_bytes(four)
            }
        }
    }

    #[inline(always)]
    fn rest<'k>(&self, key: &'k [u8], skip: usize) -> &'k [u8] {
        &key[..key.len().saturating_sub(skip)]
    }

    #[inline(always)]
    fn lead<'k>(&self, key: &'k [u8], n: usize) -> &'k [u8] {
        &key[key.len().saturating_sub(n)..]
    }

    #[inline]
    fn common(&self, a: &[u8], b: &[u8]) -> usize {
        let (mut a, mut b, mut same) = (a, b, 0);
        while let (Some((a_front, x)), Some((b_front, y))) =
            (a.split_last_chunk::<8>(), b.split_last_chunk::<8>())
        {
            let differs = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
            if differs != 0 {
                return same + differs.leading_zeros() as usize / 8;
            }
            (a, b, same) = (a_front, b_front, same + 8);
        }
        same + a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (mut a, mut b) = (a, b);
        while let (Some((a_front, x)), Some((b_front, y))) =
            (a.split_last_chunk::<8>(), b.split_last_chunk::<8>())
        {
            let (x, y) = (u64::from_le_bytes(*x), u64::from_le_bytes(*y));
            if x != y {
                return x.cmp(&y);
            }
            (a, b) = (a_front, b_front);
        }
        a.iter().rev().cmp(b.iter().rev())
    }

    #[inline]
    fn separator<'k>(&self, left: &[u8], right: &'k [u8]) -> &'k [u8] {
        self.lead(right, self.common(left, right) + 1)
    }

    fn join(&self, lead: &[u8], rest: &[u8], out: &mut [u8]) {
        let (front, back) = out.split_at_mut(rest.len());
        front.copy_from_slice(rest);
        back.copy_from_slice(lead);
    }
}

impl KeyOrder for CustomOrder<'_> {
    #[inline(always)]
    fn has_heads(&self) -> bool {
        false
    }

    #[inline(always)]
    fn first(&self, _key: &[u8]) -> u64 {
        0
    }

    #[inline(always)]
    fn first_of_last(&self, _tail: &[u8; 8], _bytes: usize) -> u64 {
        0
    }

    #[inline(always)]
    fn head(&self, _key: &[u8], _skip: usize) -> u32 {
        0
    }

    #[inline(always)]
    fn rest<'k>(&self, key: &'k [u8], skip: usize) -> &'k [u8] {
        key.get(skip..).unwrap_or(&[])
    }

    #[inline(always)]
    fn lead<'k>(&self, key: &'k [u8], n: usize) -> &'k [u8] {
        key.get(..n).unwrap_or(key)
    }

    #[inline(always)]
    fn common(&self, _a: &[u8], _b: &[u8]) -> usize {
        0
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        (self.0)(a, b)
    }

    fn separator<'k>(&self, _left: &[u8], right: &'k [u8]) -> &'k [u8] {
        right
    }

    fn join(&self, lead: &[u8], rest: &[u8], out: &mut [u8]) {
        BytesOrder.join(lead, rest, out);
    }
}

/// The same expression for each kind of order.
macro_rules! each {
    ($any:expr, $order:ident => $call:expr) => {
        match $any {
            AnyOrder::Bytes($order) => $call,
            AnyOrder::Reversed($order) => $call,
            AnyOrder::Custom($order) => $call,
        }
    };
}

impl KeyOrder for AnyOrder<'_> {
    #[inline]
    fn has_heads(&self) -> bool {
        each!(self, order => order.has_heads())
    }

    #[inline]
    fn first(&self, key: &[u8]) -> u64 {
        each!(self, order => order.first(key))
    }

    #[inline]
    fn first_of_last(&self, tail: &[u8; 8], bytes: usize) -> u64 {
        each!(self, order => order.first_of_last(tail, bytes))
    }

    #[inline]
    fn head(&self, key: &[u8], skip: usize) -> u32 {
        each!(self, order => order.head(key, skip))
    }

    #[inline]
    fn rest<'k>(&self, key: &'k [u8], skip: usize) -> &'k [u8] {
        each!(self, order => order.rest(key, skip))
    }

    #[inline]
    fn lead<'k>(&self, key: &'k [u8], n: usize) -> &'k [u8] {
        each!(self, order => order.lead(key, n))
    }

    #[inline]
    fn common(&self, a: &[u8], b: &[u8]) -> usize {
        each!(self, order => order.common(a, b))
    }

    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        each!(self, order => order.compare(a, b))
    }

    #[inline]
    fn separator<'k>(&self, left: &[u8], right: &'k [u8]) -> &'k [u8] {
        each!(self, order => order.separator(left, right))
    }

    fn join(&self, lead: &[u8], rest: &[u8], out: &mut [u8]) {
        each!(self, order => order.join(lead, rest, out))
    }
}

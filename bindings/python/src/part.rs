//! Parts of tables: from where to where, in which order, and how much of it.

use std::ops::Bound as End;
use std::ops::Bound::{Excluded, Included, Unbounded};

use crate::bytes::Data;

/// The ends of a range of keys, or of values.
pub(crate) type Ends<'a> = (End<&'a [u8]>, End<&'a [u8]>);

/// Which records, and in which order.
#[derive(Clone, Default)]
pub(crate) struct Part {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    pub(crate) prefix: Option<Vec<u8>>,
    pub(crate) reverse: bool,
    pub(crate) limit: Option<u64>,
}

impl Part {
    pub(crate) fn new(
        prefix: Option<Data<'_>>,
        from: Option<Data<'_>>,
        to: Option<Data<'_>>,
        reverse: bool,
        limit: Option<u64>,
    ) -> Part {
        let [prefix, mut from, mut to] = [prefix, from, to].map(|end| end.map(Data::into_vec));
        if let Some(prefix) = &prefix {
            from = from.max(Some(prefix.clone()));
            let end = successor(prefix);
            to = if to.is_none() || end.is_some() && end < to { end } else { to };
        }
        Part { from, to, prefix, reverse, limit }
    }

    pub(crate) fn reversed(&self) -> Part {
        Part { reverse: !self.reverse, ..self.clone() }
    }

    pub(crate) fn bounds(&self) -> Ends<'_> {
        let from = self.from.as_deref().map_or(Unbounded, Included);
        (from, self.to.as_deref().map_or(Unbounded, Excluded))
    }

    pub(crate) fn is_all(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }
}

/// The first byte string above all that begin with `prefix`, if there is one.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.len() - prefix.iter().rev().take_while(|byte| **byte == 0xFF).count();
    let mut end = prefix[..kept].to_vec();
    *end.last_mut()? += 1;
    Some(end)
}

/// The part of a range that lies behind a bound, in the direction of the walk.
pub(crate) fn behind<'b>(
    (from, to): Ends<'b>,
    after: Option<End<&'b [u8]>>,
    reverse: bool,
) -> Ends<'b> {
    match after {
        None => (from, to),
        Some(after) if reverse => (from, after),
        Some(after) => (after, to),
    }
}

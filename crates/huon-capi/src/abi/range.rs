//! Ranges of keys.

use std::ops::Bound;

use huon::{Error, RawMulti, RawTable, Txn};

use super::txn::{huon_txn, in_view};
use crate::border::{Fault, Res};
use crate::bytes::huon_bytes;

/// The range begins with the key `from`.
pub const HUON_FROM: u32 = 1;
/// The range begins behind the key `from`.
pub const HUON_AFTER: u32 = 2;
/// The range ends with the key `to`.
pub const HUON_TO: u32 = 4;
/// The range ends before the key `to`.
pub const HUON_BEFORE: u32 = 8;
/// The range has the keys that begin with the bytes `from`, in a table whose order is that of
/// bytes. With one other flag it is the part of these which that flag says of `to`: so a program
/// goes on behind a key (HUON_AFTER), or before one (HUON_BEFORE).
pub const HUON_PREFIX: u32 = 16;

/// A range of keys: what its flags say of `from` and `to`; without a flag that end is open. The
/// bytes are copied.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_range<'a> {
    /// HUON_FROM, HUON_AFTER or none; HUON_TO, HUON_BEFORE or none; or HUON_PREFIX with one of
    /// these or none.
    pub flags: u32,
    /// The lower end, or the prefix.
    pub from: huon_bytes<'a>,
    /// The upper end; with HUON_PREFIX the one that the other flag speaks of.
    pub to: huon_bytes<'a>,
}

/// A range whose bytes are its own.
#[derive(Clone)]
pub(super) struct Span {
    pub(super) from: Bound<Vec<u8>>,
    pub(super) to: Bound<Vec<u8>>,
}

pub(super) type Bounds<'s> = (Bound<&'s [u8]>, Bound<&'s [u8]>);

impl Span {
    pub(super) const ALL: Span = Span { from: Bound::Unbounded, to: Bound::Unbounded };

    /// A single key.
    pub(super) fn of_key(key: &[u8]) -> Span {
        Span { from: Bound::Included(key.to_vec()), to: Bound::Included(key.to_vec()) }
    }

    pub(super) fn bounds(&self) -> Bounds<'_> {
        (self.from.as_ref().map(Vec::as_slice), self.to.as_ref().map(Vec::as_slice))
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self, Span { from: Bound::Unbounded, to: Bound::Unbounded })
    }

    /// All keys that begin so, as byte strings are ordered.
    fn of_prefix(prefix: &[u8]) -> Span {
        let to = prefix.iter().rposition(|&byte| byte != 0xFF).map(|last| {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            end
        });
        let to = to.map_or(Bound::Unbounded, Bound::Excluded);
        Span { from: Bound::Included(prefix.to_vec()), to }
    }

    /// The part that begins, or ends, at a key, as byte strings are ordered.
    fn cut(self, flag: u32, key: huon_bytes<'_>) -> Res<Span> {
        if flag == 0 {
            return Ok(self);
        }
        let (Span { from, to }, key) = (self, key.get()?);
        let is_lower = matches!(&from, Bound::Included(from) if key < from.as_slice());
        let is_upper = matches!(&to, Bound::Excluded(to) if key >= to.as_slice());
        Ok(match (flag, key.to_vec()) {
            (HUON_FROM | HUON_AFTER, _) if is_lower => Span { from, to },
            (HUON_TO | HUON_BEFORE, _) if is_upper => Span { from, to },
            (HUON_FROM, key) => Span { from: Bound::Included(key), to },
            (HUON_AFTER, key) => Span { from: Bound::Excluded(key), to },
            (HUON_TO, key) => Span { from, to: Bound::Included(key) },
            (HUON_BEFORE, key) => Span { from, to: Bound::Excluded(key) },
            _ => return Err(NO_RANGE),
        })
    }
}

/// What a range is of, which says whether it can be one of a prefix.
pub(super) trait Ranged: Copy {
    fn check_prefix(self, txn: &impl Txn, prefix: &[u8]) -> huon::Result<()>;
}

impl Ranged for RawTable {
    fn check_prefix(self, txn: &impl Txn, prefix: &[u8]) -> huon::Result<()> {
        self.prefix(txn, prefix).map(drop)
    }
}

impl Ranged for RawMulti {
    fn check_prefix(self, txn: &impl Txn, prefix: &[u8]) -> huon::Result<()> {
        self.keys_prefix(txn, prefix).map(drop)
    }
}

/// A table of runs, whose keys are in the order of bytes.
#[derive(Clone, Copy)]
pub(super) struct InBytes;

impl Ranged for InBytes {
    fn check_prefix(self, _: &impl Txn, _: &[u8]) -> huon::Result<()> {
        Ok(())
    }
}

/// The values of a key of a multimap, which the engine finds no prefixes of.
#[derive(Clone, Copy)]
pub(super) struct OfValues;

impl Ranged for OfValues {
    fn check_prefix(self, _: &impl Txn, _: &[u8]) -> huon::Result<()> {
        Err(Error::Invalid("a range of values has two ends, and no prefix: leave HUON_PREFIX out"))
    }
}

/// The range that a caller asks for; all there is for a null pointer.
pub(super) fn within(
    txn: *mut huon_txn,
    range: Option<&huon_range<'_>>,
    of: impl Ranged,
) -> Res<Span> {
    let Some(range) = range else { return Ok(Span::ALL) };
    if range.flags & HUON_PREFIX != 0 {
        let prefix = range.from.get()?;
        in_view!(txn, txn => Ok(of.check_prefix(txn, prefix)?))?;
        return Span::of_prefix(prefix).cut(range.flags & !HUON_PREFIX, range.to);
    }
    let own = |bytes: huon_bytes<'_>| bytes.get().map(<[u8]>::to_vec);
    let from = match range.flags & (HUON_FROM | HUON_AFTER) {
        0 => Bound::Unbounded,
        HUON_FROM => Bound::Included(own(range.from)?),
        HUON_AFTER => Bound::Excluded(own(range.from)?),
        _ => return Err(NO_RANGE),
    };
    let to = match range.flags & !(HUON_FROM | HUON_AFTER) {
        0 => Bound::Unbounded,
        HUON_TO => Bound::Included(own(range.to)?),
        HUON_BEFORE => Bound::Excluded(own(range.to)?),
        _ => return Err(NO_RANGE),
    };
    Ok(Span { from, to })
}

const NO_RANGE: Fault = Fault::argument("the flags of the range do not go together");

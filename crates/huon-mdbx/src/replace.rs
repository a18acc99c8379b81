//! A value in the place of another one, which the caller gets.

use std::sync::Arc;

use huon_c::cursor::Cursor;
use huon_c::data::{self, Outcome, Shown, Value};
use huon_c::flags::put::*;
use huon_c::steps::Op;
use huon_c::{Fault, Res, Txn};

/// What a replacement may ask for.
const ALL: u32 = NOOVERWRITE | NODUPDATA | CURRENT | ALLDUPS | RESERVE | APPEND | APPENDDUP;
/// The caller names one of many values.
const BY_VALUE: u32 = CURRENT | NOOVERWRITE;

/// Whether the flags say that the caller names the value that is to go.
pub(crate) fn is_by_value(flags: u32) -> bool {
    flags & BY_VALUE == BY_VALUE
}

/// What was there.
#[derive(Clone, Copy)]
pub(crate) enum Old {
    /// Nothing.
    None,
    /// The value that the caller has named.
    Known,
    /// This value, which the caller wants to have.
    Kept(Shown),
    /// This value, which is to stay.
    Exists(Shown),
}

/// The record that is to be replaced.
pub(crate) struct Found {
    cursor: Arc<Cursor>,
    old: Old,
}

/// Looks for the record that is to be replaced, or deleted (`!has_new`).
pub(crate) fn find(
    txn: &Arc<Txn>,
    dbi: u32,
    key: &[u8],
    of: Option<&[u8]>,
    has_new: bool,
    flags: u32,
) -> Res<Found> {
    if flags & !ALL != 0 || !has_new && flags & CURRENT == 0 {
        return Err(Fault::Invalid);
    }
    // Refuses a read transaction, before anything else.
    drop(txn.writer()?);
    let cursor = Arc::new(Cursor::new());
    Cursor::bind(&cursor, txn, dbi)?;
    let old = match of {
        Some(_) if !cursor.has_many()? => return Err(Fault::Invalid),
        Some(value) => {
            cursor.get(Op::GetBoth, Some(key), Some(value))?;
            Old::Known
        }
        None => match cursor.get(Op::SetKey, Some(key), None) {
            Err(Fault::NotFound) if flags & CURRENT == 0 => Old::None,
            Err(fault) => return Err(fault),
            Ok(given) => {
                let found = given.value.ok_or(Fault::NotFound)?;
                match flags & (NOOVERWRITE | CURRENT) {
                    NOOVERWRITE => Old::Exists(found),
                    CURRENT if cursor.count()? > 1 => return Err(Fault::ManyValues),
                    _ => Old::Kept(found),
                }
            }
        },
    };
    Ok(Found { cursor, old })
}

impl Found {
    pub(crate) fn old(&self) -> Old {
        self.old
    }

    /// Puts the new value there, or none.
    pub(crate) fn finish(
        &self,
        txn: &Txn,
        dbi: u32,
        key: &[u8],
        new: Option<Value<'_>>,
        flags: u32,
    ) -> Res<Outcome> {
        match (new, self.old) {
            (None, _) => self.cursor.delete(flags & ALLDUPS != 0).map(|()| Outcome::Stored),
            (Some(new), Old::None) => data::put(txn, dbi, key, new, flags),
            (Some(new), _) => self.cursor.put(key, new, CURRENT | flags & (ALLDUPS | RESERVE)),
        }
    }
}

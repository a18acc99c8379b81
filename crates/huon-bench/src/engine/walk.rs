//! Scans with a cursor that is moved step by step, as LMDB's.

use super::{Result, Way};

/// Where a cursor goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    First,
    Last,
    Next,
    Prev,
    /// To the first record at the key or above it.
    Seek,
}

/// Gives at most `limit` records to `look`, from `from` on or from the end that `way` starts at;
/// how many it gave. `go` moves the cursor, with the key for [`Step::Seek`], and answers the record
/// there.
#[inline]
pub(super) fn walk<'t>(
    from: Option<&[u8]>,
    way: Way,
    limit: u64,
    mut go: impl FnMut(Step, Option<&[u8]>) -> Result<Option<(&'t [u8], &'t [u8])>>,
    mut look: impl FnMut(&[u8], &[u8]),
) -> Result<u64> {
    let (first, next) = match way {
        Way::Up => (Step::First, Step::Next),
        Way::Down => (Step::Last, Step::Prev),
    };
    if limit == 0 {
        return Ok(0);
    }
    let mut record = match from {
        None => go(first, None)?,
        Some(key) => match (go(Step::Seek, Some(key))?, way) {
            (None, Way::Down) => go(first, None)?,
            // Down from a key that is not there: from the one below it.
            (Some((found, _)), Way::Down) if found != key => go(next, None)?,
            (record, _) => record,
        },
    };
    let mut count = 0;
    while let Some((key, value)) = record {
        look(key, value);
        count += 1;
        if count >= limit {
            break;
        }
        record = go(next, None)?;
    }
    Ok(count)
}

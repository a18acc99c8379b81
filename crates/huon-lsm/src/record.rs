//! Records of runs and batches: a value, and behind it a tag that says what it is.
//!
//! The tag is the last byte, so that a value keeps its alignment and is returned without a copy.

use std::borrow::Cow;
use std::time::SystemTime;

use huon::limits::VALUE_BYTES_MAX;
use huon::{Error, Result};

use crate::format::damaged;
use crate::planted::{self, Bug};

/// The last byte of a value in a run.
pub(crate) mod tag {
    /// The value was put.
    pub(crate) const PUT: u8 = 0;
    /// The key was deleted.
    pub(crate) const DELETE: u8 = 1;
    /// The value was merged onto what the key had before.
    pub(crate) const OPERAND: u8 = 2;
    /// The value was put, and counts until a time: milliseconds since 1970 in the 8 bytes before.
    pub(crate) const PUT_UNTIL: u8 = 3;
    /// The same, and another value was merged onto it: that one, its length in 4 bytes, and the
    /// time lie between the value and the tag. When the time is over, the other one is left.
    pub(crate) const MERGED_UNTIL: u8 = 4;
}

/// What [`tag::MERGED_UNTIL`] adds to the value and the operand.
const MERGED_UNTIL_BYTES: usize = 4 + 8 + 1;

/// A value that ends at a time, and an operand, are no longer: else the two would not fit into one
/// record where a merge brings them together.
pub(crate) const PART_BYTES_MAX: usize = (VALUE_BYTES_MAX - MERGED_UNTIL_BYTES) / 2;

/// What a record says of its key, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says<'v> {
    /// It has no value: it was deleted, or the value's time is over.
    Nothing,
    Value(&'v [u8]),
    /// This was merged onto what older records say.
    Operand(&'v [u8]),
    /// It has a value until a time that is still to come, and this was merged onto it.
    Until {
        value: &'v [u8],
        until: u64,
        operand: Option<&'v [u8]>,
    },
}

/// What a value with its tag says.
#[inline]
pub(crate) fn says(tagged: &[u8]) -> Result<Says<'_>> {
    match tagged.split_last() {
        Some((&tag::PUT, value)) => Ok(Says::Value(value)),
        Some((&tag::DELETE, [])) => Ok(Says::Nothing),
        Some((&tag::OPERAND, value)) => Ok(Says::Operand(value)),
        Some((&tag::PUT_UNTIL, value)) => says_until(value, false),
        Some((&tag::MERGED_UNTIL, value)) => says_until(value, true),
        _ => Err(damaged("a value without a tag")),
    }
}

#[cold]
fn says_until(timed: &[u8], is_merged: bool) -> Result<Says<'_>> {
    let no_time = || damaged("a value without the end of its time");
    let (mut value, until) = timed.split_last_chunk().ok_or_else(no_time)?;
    let mut operand = None;
    if is_merged {
        let split = value.split_last_chunk().and_then(|(both, length)| {
            both.split_at_checked(both.len().checked_sub(u32::from_le_bytes(*length) as usize)?)
        });
        let (first, other) = split.ok_or_else(|| damaged("a value without its operand"))?;
        (value, operand) = (first, Some(other));
    }
    let until = u64::from_le_bytes(*until);
    Ok(match operand {
        _ if now_ms() < until => Says::Until { value, until, operand },
        Some(operand) => Says::Value(operand),
        None => Says::Nothing,
    })
}

/// A value with a tag.
pub(crate) fn tagged(mut value: Vec<u8>, tag: u8) -> Vec<u8> {
    value.push(tag);
    value
}

/// Refuses a value with a time, or an operand, that is too long for a record of both.
#[inline]
pub(crate) fn check_part(part: &[u8]) -> Result<()> {
    if part.len() > PART_BYTES_MAX { Err(Error::ValueTooLong) } else { Ok(()) }
}

/// A value that counts until a time, without its tag.
pub(crate) fn timed(value: &[u8], until: u64) -> Vec<u8> {
    [value, &until.to_le_bytes()].concat()
}

/// A value that counts until a time, with an operand on it.
pub(crate) fn merged_until(value: &[u8], until: u64, operand: &[u8]) -> Vec<u8> {
    let length = (operand.len() as u32).to_le_bytes();
    [value, operand, &length, &until.to_le_bytes(), &[tag::MERGED_UNTIL]].concat()
}

/// Whether older records of the key are wanted, too.
#[inline]
pub(crate) fn is_operand(tagged: &[u8]) -> bool {
    tagged.last() == Some(&tag::OPERAND)
}

/// Whether a merge operator has to do with the record.
pub(crate) fn is_merged(tagged: &[u8]) -> bool {
    matches!(tagged.last(), Some(&(tag::OPERAND | tag::MERGED_UNTIL)))
}

/// What is stored of a record; `None`: nothing. `is_oldest`: no older record of the key is left.
///
/// L4, L9. Only then a tombstone goes, and an operand is a value.
#[inline]
pub(crate) fn settled(record: &[u8], is_oldest: bool) -> Option<Cow<'_, [u8]>> {
    match record.last() {
        None | Some(&tag::PUT) => Some(Cow::Borrowed(record)),
        _ => settled_other(record, is_oldest),
    }
}

#[cold]
fn settled_other(record: &[u8], is_oldest: bool) -> Option<Cow<'_, [u8]>> {
    let put = |value: &[u8]| Some(Cow::Owned(tagged(value.to_vec(), tag::PUT)));
    match says(record) {
        Ok(Says::Nothing) if is_oldest => None,
        Ok(Says::Nothing) => Some(Cow::Borrowed(&[tag::DELETE])),
        Ok(Says::Value(value)) => put(value),
        Ok(Says::Operand(value)) if is_oldest || planted::is(Bug::OperandEarly) => put(value),
        // What cannot be read stays what it is.
        Ok(Says::Operand(_) | Says::Until { .. }) | Err(_) => Some(Cow::Borrowed(record)),
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    ms_of(SystemTime::now())
}

pub(crate) fn ms_of(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: u64 = u64::MAX;

    #[test]
    fn a_record_says_what_it_was_made_of() {
        let until = |until| tagged(timed(b"ab", until), tag::PUT_UNTIL);
        let value = &b"ab"[..];
        assert_eq!(says(b"ab\0").unwrap(), Says::Value(value));
        assert_eq!(says(b"\x01").unwrap(), Says::Nothing);
        assert_eq!(says(b"ab\x02").unwrap(), Says::Operand(value));
        assert_eq!(says(b"\x02").unwrap(), Says::Operand(b""));
        let on_time = |operand| Says::Until { value, until: LATER, operand };
        assert_eq!(says(&until(LATER)).unwrap(), on_time(None));
        assert_eq!(says(&until(now_ms() - 1)).unwrap(), Says::Nothing);
        for operand in [&b""[..], b"cde"] {
            let merged = |until| merged_until(value, until, operand);
            assert_eq!(says(&merged(LATER)).unwrap(), on_time(Some(operand)));
            assert_eq!(says(&merged(0)).unwrap(), Says::Value(operand));
        }
    }

    #[test]
    fn the_longest_parts_fit_into_one_record() {
        assert_eq!(merged_until(b"ab", 0, b"cde").len(), 5 + MERGED_UNTIL_BYTES);
        let longest = 2 * PART_BYTES_MAX + MERGED_UNTIL_BYTES;
        assert!(longest <= VALUE_BYTES_MAX && longest + 2 > VALUE_BYTES_MAX);
    }

    #[test]
    fn other_bytes_are_errors() {
        let short = merged_until(b"", 0, b"");
        for wrong in [&b""[..], b"\x05", b"a\x01", b"1234567\x03", b"\x04", &short[1..]] {
            assert!(says(wrong).is_err(), "{wrong:?}");
            assert_eq!(settled(wrong, true).as_deref(), Some(wrong));
        }
        // The operand is longer than what lies before it.
        let mut wrong = merged_until(b"ab", 0, b"cd");
        wrong[4] = 5;
        assert!(says(&wrong).is_err());
    }

    #[test]
    fn only_the_oldest_record_of_a_key_is_dropped_or_made_a_value() {
        let merged = |until| merged_until(b"ab", until, b"c");
        let gone = tagged(timed(b"ab", 0), tag::PUT_UNTIL);
        for (record, above, oldest) in [
            (&b"a\0"[..], Some(&b"a\0"[..]), Some(&b"a\0"[..])),
            (b"\x01", Some(b"\x01"), None),
            (&gone, Some(b"\x01"), None),
            (b"a\x02", Some(b"a\x02"), Some(b"a\0")),
            (&merged(LATER), Some(&merged(LATER)), Some(&merged(LATER))),
            (&merged(0), Some(b"c\0"), Some(b"c\0")),
        ] {
            assert_eq!(settled(record, false).as_deref(), above, "{record:?}");
            assert_eq!(settled(record, true).as_deref(), oldest, "{record:?}");
        }
    }
}

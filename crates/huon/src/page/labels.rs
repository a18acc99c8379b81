//! The names behind the record of a table in the catalog: those of the comparators that order it.
//!
//! ```text
//!  0  u8  role     2  the name
//!  1  u8  length
//! ```
//!
//! One after the other, in the order of their roles. The record holds a fingerprint of all of it,
//! so that most handles are compared without a look at the names.

use twox_hash::XxHash3_64;

use super::types::Reason;

/// The longest name of a comparator, in bytes.
pub(crate) const LABEL_BYTES_MAX: usize = 255;

const KEYS: u8 = 1;
const VALUES: u8 = 2;

/// Names of comparators; `None`: it has none, or is not one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Labels<'n> {
    pub(crate) keys: Option<&'n str>,
    pub(crate) values: Option<&'n str>,
}

impl<'n> Labels<'n> {
    /// The bytes behind the record; none where nothing has a name.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (role, name) in [(KEYS, self.keys), (VALUES, self.values)] {
            let Some(name) = name else { continue };
            let bytes = u8::try_from(name.len()).expect("names were checked when they were made");
            out.extend([role, bytes]);
            out.extend(name.as_bytes());
        }
        out
    }

    /// Reads the bytes behind a record. Names of roles that are not known are passed over.
    pub(crate) fn decode(mut bytes: &'n [u8]) -> Result<Labels<'n>, Reason> {
        let mut labels = Labels::default();
        let mut before = 0;
        while let Some((&[role, length], rest)) = bytes.split_first_chunk() {
            let (name, rest) = rest.split_at_checked(length.into()).ok_or(Reason::Tree)?;
            let name = str::from_utf8(name).map_err(|_| Reason::Tree)?;
            if role <= before || name.is_empty() {
                return Err(Reason::Tree);
            }
            match role {
                KEYS => labels.keys = Some(name),
                VALUES => labels.values = Some(name),
                _ => {}
            }
            (before, bytes) = (role, rest);
        }
        if bytes.is_empty() { Ok(labels) } else { Err(Reason::Tree) }
    }

    /// The two names that differ, if any do: that of a caller, and that in the file.
    pub(crate) fn conflict(&self, stored: &Labels<'n>) -> Option<(&'n str, &'n str)> {
        let pairs = [(self.keys, stored.keys), (self.values, stored.values)];
        pairs.into_iter().find_map(|(own, stored)| Some((own?, stored?)).filter(|(a, b)| a != b))
    }
}

/// What a record says of the bytes behind it; 0: there are none.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    if bytes.is_empty() { 0 } else { XxHash3_64::oneshot(bytes).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let names = [None, Some("a"), Some("by-length")];
        for keys in names {
            for values in names {
                let labels = Labels { keys, values };
                assert_eq!(Labels::decode(&labels.encode()), Ok(labels));
            }
        }
        assert_eq!(fingerprint(&Labels::default().encode()), 0);
    }

    #[test]
    fn wrong_bytes_are_refused() {
        let bytes = Labels { keys: Some("one"), values: Some("two") }.encode();
        for cut in 1..bytes.len() {
            let is_whole = cut == 5;
            assert_eq!(Labels::decode(&bytes[..cut]).is_ok(), is_whole, "{cut} bytes");
        }
        assert_eq!(Labels::decode(&[1, 0]), Err(Reason::Tree), "no name is empty");
        assert_eq!(Labels::decode(&[1, 1, 0xFF]), Err(Reason::Tree), "not UTF-8");
        assert_eq!(Labels::decode(&[2, 1, b'a', 1, 1, b'a']), Err(Reason::Tree), "not in order");
        assert_eq!(Labels::decode(&[9, 1, b'a']), Ok(Labels::default()), "of another version");
    }
}

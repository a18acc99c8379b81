//! The names behind the record of a table in the catalog: those of the comparators that order it,
//! and of the types of its keys and values.
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

/// The longest name, in bytes.
pub(crate) const LABEL_BYTES_MAX: usize = 255;

const KEYS: u8 = 1;
const VALUES: u8 = 2;
const KEY_TYPE: u8 = 3;
const VALUE_TYPE: u8 = 4;

/// Names; `None`: there is none, and any will do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Labels<'n> {
    /// Of the comparator of keys.
    pub(crate) keys: Option<&'n str>,
    /// Of the comparator of values.
    pub(crate) values: Option<&'n str>,
    pub(crate) key_type: Option<&'n str>,
    pub(crate) value_type: Option<&'n str>,
}

/// How the names that a caller expects differ from those in the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Conflict<'n> {
    /// These comparators.
    Order { wanted: &'n str, stored: &'n str },
    /// The types, in one of them at least.
    Types,
}

impl<'n> Labels<'n> {
    /// The bytes behind the record; none where nothing has a name.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (role, name) in self.roles() {
            out.extend([role, bytes_of(name)]);
            out.extend(name.as_bytes());
        }
        out
    }

    /// The fingerprint of these bytes, which are not allocated if they are few.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut few = [0; 64];
        let mut at = 0;
        for (role, name) in self.roles() {
            let next = at + 2 + name.len();
            let Some(place) = few.get_mut(at..next) else { return fingerprint(&self.encode()) };
            (place[0], place[1]) = (role, bytes_of(name));
            place[2..].copy_from_slice(name.as_bytes());
            at = next;
        }
        fingerprint(&few[..at])
    }

    fn roles(&self) -> impl Iterator<Item = (u8, &'n str)> {
        let Labels { keys, values, key_type, value_type } = *self;
        let all = [(KEYS, keys), (VALUES, values), (KEY_TYPE, key_type), (VALUE_TYPE, value_type)];
        all.into_iter().filter_map(|(role, name)| Some((role, name?)))
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
                KEY_TYPE => labels.key_type = Some(name),
                VALUE_TYPE => labels.value_type = Some(name),
                _ => {}
            }
            (before, bytes) = (role, rest);
        }
        if bytes.is_empty() { Ok(labels) } else { Err(Reason::Tree) }
    }

    /// What differs of the names of a caller and those in the file, if anything does.
    pub(crate) fn conflict(&self, stored: &Labels<'n>) -> Option<Conflict<'n>> {
        let differ = |own: Option<&'n str>, stored: Option<&'n str>| {
            Some((own?, stored?)).filter(|(wanted, stored)| wanted != stored)
        };
        let orders = differ(self.keys, stored.keys).or(differ(self.values, stored.values));
        if let Some((wanted, stored)) = orders {
            return Some(Conflict::Order { wanted, stored });
        }
        let keys = differ(self.key_type, stored.key_type);
        keys.or(differ(self.value_type, stored.value_type)).map(|_| Conflict::Types)
    }
}

fn bytes_of(name: &str) -> u8 {
    u8::try_from(name.len()).expect("names were checked when they were made")
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
                for key_type in [None, Some("(str, u64)")] {
                    for value_type in [None, Some("a type whose name is longer than others are")] {
                        let labels = Labels { keys, values, key_type, value_type };
                        assert_eq!(Labels::decode(&labels.encode()), Ok(labels));
                        assert_eq!(labels.fingerprint(), fingerprint(&labels.encode()));
                    }
                }
            }
        }
        assert_eq!(fingerprint(&Labels::default().encode()), 0);
    }

    #[test]
    fn wrong_bytes_are_refused() {
        let bytes = Labels { keys: Some("one"), values: Some("two"), ..Labels::default() }.encode();
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

//! Names and identities in reports that are serialised: as people write them.

use serde::{Serialize, Serializer};

/// The name of a table: a string where it is UTF-8, else its bytes as numbers.
struct SerialName<'n>(&'n [u8]);

impl Serialize for SerialName<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => out.serialize_str(text),
            Err(_) => out.collect_seq(self.0),
        }
    }
}

pub(crate) fn name<S: Serializer>(name: &impl AsRef<[u8]>, out: S) -> Result<S::Ok, S::Error> {
    SerialName(name.as_ref()).serialize(out)
}

pub(crate) fn name_if_any<S: Serializer>(
    name: &Option<impl AsRef<[u8]>>,
    out: S,
) -> Result<S::Ok, S::Error> {
    name.as_ref().map(|name| SerialName(name.as_ref())).serialize(out)
}

pub(crate) fn names<S: Serializer>(names: &[Vec<u8>], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(names.iter().map(|name| SerialName(name)))
}

/// 32 hexadecimal digits, in the five groups that RFC 9562 gives them.
pub(crate) fn uuid<S: Serializer>(uuid: &[u8; 16], out: S) -> Result<S::Ok, S::Error> {
    let mut text = String::with_capacity(36);
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    out.serialize_str(&text)
}

//! Keys and values as text, and back.
//!
//! 1. Plain form: printable ASCII stands for itself, a backslash is doubled, every other byte is
//!    `\xx` in lower-case hex, as mdb_dump prints it. Reading back also takes bytes outside ASCII
//!    as they are, so that UTF-8 can be typed.
//! 2. Hex form: two digits a byte.
//! 3. Neither form has a tab or a line end in it, so these can separate.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

use crate::fail::Failure;

/// How keys and values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Hex,
}

impl Form {
    pub(crate) fn hex(yes: bool) -> Form {
        if yes { Form::Hex } else { Form::Plain }
    }

    /// `bytes` in this form.
    pub(crate) fn show(self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        for &byte in bytes {
            match (self, byte) {
                (Form::Plain, b'\\') => text.push_str("\\\\"),
                (Form::Plain, b' '..=b'~') => text.push(char::from(byte)),
                (Form::Plain, _) => write!(text, "\\{byte:02x}").unwrap_or_default(),
                (Form::Hex, _) => write!(text, "{byte:02x}").unwrap_or_default(),
            }
        }
        text
    }

    /// The bytes that `text` stands for; or what is wrong with it.
    pub(crate) fn read(self, text: &[u8]) -> Result<Vec<u8>, &'static str> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text;
        while let [first, tail @ ..] = rest {
            rest = match (self, *first, tail) {
                (Form::Hex, _, _) => {
                    bytes.push(byte(rest).ok_or("hex needs two digits (0-9, a-f) for each byte")?);
                    &rest[2..]
                }
                (Form::Plain, b'\\', [b'\\', tail @ ..]) => {
                    bytes.push(b'\\');
                    tail
                }
                (Form::Plain, b'\\', _) => {
                    let read = byte(tail);
                    bytes.push(read.ok_or("a backslash needs two hex digits or another one")?);
                    &tail[2..]
                }
                (Form::Plain, plain, tail) => {
                    bytes.push(plain);
                    tail
                }
            };
        }
        Ok(bytes)
    }

    /// The same for an argument of the command line.
    pub(crate) fn argument(self, what: &str, text: &OsStr) -> Result<Vec<u8>, Failure> {
        self.read(text.as_bytes()).map_err(|why| {
            let text = text.as_bytes().escape_ascii();
            Failure::usage(format!("cannot read the {what} \"{text}\": {why}."))
        })
    }
}

/// The byte whose two hex digits begin `text`.
fn byte(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}

/// Words for a number of bytes, as `12.3 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// A part of a whole, as `71%`.
pub(crate) fn share(part: u64, whole: u64) -> String {
    let share = part as f64 / whole.max(1) as f64;
    format!("{}%", (share * 100.0).round())
}

/// A number with its thousands apart, as `12,345`.
pub(crate) fn number(count: u64) -> String {
    indicatif::HumanCount(count).to_string()
}

/// So many of them, as `1 record` or `12,345 records`.
pub(crate) fn many(count: u64, what: &str) -> String {
    format!("{} {what}{}", number(count), if count == 1 { "" } else { "s" })
}

/// Words for a span of time, as `250 ms`, `3.2 s` or `5 min`.
pub(crate) fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..7_200_000 => format!("{} min", ms / 60_000),
        _ => format!("{} h", ms / 3_600_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let bytes: Vec<u8> = (0..=255).chain([b'\\', b'5', b'c']).collect();
        for form in [Form::Plain, Form::Hex] {
            let text = form.show(&bytes);
            assert!(text.bytes().all(|b| (b' '..=b'~').contains(&b)));
            assert_eq!(form.read(text.as_bytes()), Ok(bytes.clone()));
        }
        assert_eq!(Form::Plain.show(b"a\tb\\\xff"), "a\\09b\\\\\\ff");
        assert_eq!(Form::Plain.read("gr\u{fc}n".as_bytes()), Ok("gr\u{fc}n".into()));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["\\", "\\4", "a\\g0", "\\+1"] {
            assert!(Form::Plain.read(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["0", "0g", "+1", "abc"] {
            assert!(Form::Hex.read(text.as_bytes()).is_err(), "{text}");
        }
    }
}

//! Keys and values as text, and back.
//!
//! 1. Plain form: printable UTF-8 stands for itself, a backslash is doubled, every other byte is
//!    `\xx` in lower-case hex, as mdb_dump prints it. A terminal whose locale is not UTF-8 is shown
//!    ASCII alone. Reading back takes bytes outside ASCII as they are.
//! 2. Hex form: two digits a byte.
//! 3. Neither form has a tab or a line end in it, so these can separate.

use std::ffi::OsStr;
use std::fmt::Write;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use serde_json::Value;

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
        match self {
            Form::Plain => plain(bytes, takes_utf8()),
            Form::Hex => {
                let mut text = String::with_capacity(2 * bytes.len());
                bytes.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap_or_default());
                text
            }
        }
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

/// The name of a table in JSON, and the field that it stands in: a string where it is UTF-8, else
/// hex digits under `field_hex`, as in hex form. No terminal changes it.
pub(crate) fn json_name(field: &str, name: &[u8], form: Form) -> (String, Value) {
    match std::str::from_utf8(name) {
        Ok(text) if form == Form::Plain => (field.into(), text.into()),
        _ => (format!("{field}_hex"), Form::Hex.show(name).into()),
    }
}

/// JSON as text for people: what has no form of its own on the screen is escaped, as in plain form.
pub(crate) fn json_text(value: &Value) -> String {
    let mut text = String::new();
    for char in value.to_string().chars() {
        if matches!(char, ' '..='~') || (!char.is_ascii() && takes_utf8() && is_printable(char)) {
            text.push(char);
            continue;
        }
        let units = char.encode_utf16(&mut [0; 2]).to_vec();
        units.iter().for_each(|unit| write!(text, "\\u{unit:04x}").unwrap_or_default());
    }
    text
}

fn plain(bytes: &[u8], takes_utf8: bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    let escape = |text: &mut String, bytes: &[u8]| {
        bytes.iter().for_each(|byte| write!(text, "\\{byte:02x}").unwrap_or_default());
    };
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => text.push_str("\\\\"),
                ' '..='~' => text.push(char),
                _ if takes_utf8 && is_printable(char) => text.push(char),
                _ => escape(&mut text, char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

/// Whether it has a form of its own on a screen: no control, no mark that turns the direction of
/// text, nothing without a width. Marks above and below letters have one, behind a letter.
fn is_printable(char: char) -> bool {
    let mut text = *b"a\0\0\0\0";
    let bytes = 1 + char.encode_utf8(&mut text[1..]).len();
    std::str::from_utf8(&text[..bytes]).is_ok_and(|text| text.escape_debug().eq(text.chars()))
}

/// Whether standard output takes UTF-8: what is no terminal does.
fn takes_utf8() -> bool {
    static TAKES: OnceLock<bool> = OnceLock::new();
    *TAKES.get_or_init(|| {
        if !std::io::stdout().is_terminal() {
            return true;
        }
        let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let name = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(set);
        let locale = name.and_then(|name| std::env::var(name).ok()).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
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
        for char in '\0'..=char::MAX {
            let bytes = char.to_string().into_bytes();
            for takes_utf8 in [false, true] {
                let text = plain(&bytes, takes_utf8);
                assert!(!text.contains(char::is_control) && (takes_utf8 || text.is_ascii()));
                assert_eq!(Form::Plain.read(text.as_bytes()), Ok(bytes.clone()), "{char:?}");
            }
        }
        assert_eq!(plain("gr\u{fc}n \u{65e5}".as_bytes(), true), "gr\u{fc}n \u{65e5}");
        assert_eq!(plain("gr\u{fc}n".as_bytes(), false), "gr\\c3\\bcn");
        // What turns the direction of text, has no width, or is no character.
        for (text, shown) in [("\u{202e}", "\\e2\\80\\ae"), ("\u{feff}", "\\ef\\bb\\bf")] {
            assert_eq!(plain(text.as_bytes(), true), shown);
        }
        assert_eq!(plain(b"\xe6\x97 \xff", true), "\\e6\\97 \\ff");
        assert_eq!(Form::Plain.show(b"a\tb\\\xff"), "a\\09b\\\\\\ff");
        assert_eq!(Form::Plain.read("gr\u{fc}n".as_bytes()), Ok("gr\u{fc}n".into()));
    }

    #[test]
    fn json_for_people_is_the_same_json() {
        for char in '\0'..=char::MAX {
            let value = Value::from(char.to_string());
            let text = json_text(&value);
            assert!(!text.contains(char::is_control), "{char:?}");
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
        assert_eq!(json_text(&"gr\u{fc}n \u{202e}\u{7f}".into()), "\"gr\u{fc}n \\u202e\\u007f\"");
    }

    #[test]
    fn names_in_json_are_strings_or_hex() {
        let named = |name: &[u8], form| {
            let (field, value) = json_name("table", name, form);
            format!("{field}: {value}")
        };
        assert_eq!(named("gr\u{fc}n\\".as_bytes(), Form::Plain), "table: \"gr\u{fc}n\\\\\"");
        assert_eq!(named(b"a\xFF", Form::Plain), "table_hex: \"61ff\"");
        assert_eq!(named(b"a", Form::Hex), "table_hex: \"61\"");
        assert_eq!(named(b"", Form::Plain), "table: \"\"");
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

//! The text of a dump: the format of Berkeley DB's db_dump, as mdb_dump writes it.
//!
//! ```text
//! VERSION=3                 a section for each table: header lines, then
//! format=bytevalue          a line for each key and one for its value,
//! database=people           each after one space, in hexadecimal digits or,
//! type=btree                with format=print, as text in which \xx stands
//! HEADER=END                for any other byte
//!  616461
//!  3336
//! DATA=END
//! ```
//!
//! Known lines of other programs are read, and unknown ones passed over. Lines that only Huon
//! understands begin with `huon_`; other programs pass over them.

use std::collections::TryReserveError;
use std::io::{self, BufRead, ErrorKind, Write};
use std::time::Duration;

use crate::error::{Error, InputError, Result};

/// Bytes of a header line at most.
const HEADER_LINE_MAX: usize = 1 << 17;
/// Bytes of text that are written at once.
const BUFFER_BYTES: usize = 1 << 16;
/// Bytes encoded at once.
const PIECE_BYTES: usize = 1 << 12;
/// Before an input is asked again that had nothing: it may have said so without waiting itself.
const ASK_AGAIN: Duration = Duration::from_millis(1);

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes lines.
pub(crate) struct TextWriter<'o> {
    out: &'o mut dyn Write,
    print: bool,
    /// Text on its way out; it never grows past [`BUFFER_BYTES`].
    buffer: Vec<u8>,
}

impl<'o> TextWriter<'o> {
    pub(crate) fn new(out: &'o mut dyn Write, print: bool) -> Result<TextWriter<'o>> {
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(BUFFER_BYTES)?;
        Ok(TextWriter { out, print, buffer })
    }

    /// A line of the header, or between sections.
    pub(crate) fn header(&mut self, line: impl AsRef<[u8]>) -> Result<()> {
        self.raw(line.as_ref())?;
        self.raw(b"\n")
    }

    /// A header line whose value is a name of any bytes, as digits.
    pub(crate) fn named(&mut self, word: &str, name: &[u8]) -> Result<()> {
        self.raw(word.as_bytes())?;
        self.raw(b"=")?;
        self.encoded(name, false)?;
        self.raw(b"\n")
    }

    /// The header lines of a table's name.
    pub(crate) fn table_name(&mut self, name: &[u8]) -> Result<()> {
        let is_plain = !name.iter().any(|byte| byte.is_ascii_control());
        self.raw(b"database=")?;
        if is_plain {
            self.raw(name)?;
            return self.raw(b"\n");
        }
        name.escape_ascii().try_for_each(|byte| self.raw(&[byte]))?;
        self.raw(b"\n")?;
        // A line cannot hold it as it is.
        self.named("huon_name", name)
    }

    /// A key or a value.
    pub(crate) fn data(&mut self, bytes: &[u8]) -> Result<()> {
        self.raw(b" ")?;
        self.encoded(bytes, self.print)?;
        self.raw(b"\n")
    }

    /// Bytes as text that has no ends of lines in it.
    fn encoded(&mut self, bytes: &[u8], print: bool) -> Result<()> {
        for part in bytes.chunks(PIECE_BYTES) {
            // A byte is three characters at most.
            self.make_room(3 * PIECE_BYTES)?;
            if print {
                encode_print(part, &mut self.buffer);
            } else {
                encode_hex(part, &mut self.buffer);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self) -> Result<()> {
        self.make_room(BUFFER_BYTES)?;
        self.out.flush().map_err(write_error)
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        for part in bytes.chunks(PIECE_BYTES) {
            self.make_room(part.len())?;
            self.buffer.extend_from_slice(part);
        }
        Ok(())
    }

    fn make_room(&mut self, bytes: usize) -> Result<()> {
        if self.buffer.len() + bytes > BUFFER_BYTES {
            self.out.write_all(&self.buffer).map_err(write_error)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn write_error(error: io::Error) -> Error {
    Error::Io { operation: "write the dump", source: error }
}

/// Two digits a byte.
fn encode_hex(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// Printable bytes as they are. The backslash is written as a number too: old programs read
/// `\\` wrongly.
fn encode_print(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            b' '..=b'~' if byte != b'\\' => out.push(byte),
            _ => {
                out.push(b'\\');
                encode_hex(&[byte], out);
            }
        }
    }
}

/// Bytes of pairs of digits; `None` if there is anything else.
pub(crate) fn decode_hex(digits: &[u8]) -> Result<Option<Vec<u8>>> {
    let (pairs, []) = digits.as_chunks::<2>() else { return Ok(None) };
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(pairs.len())?;
    for [high, low] in pairs {
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { return Ok(None) };
        bytes.push(high << 4 | low);
    }
    Ok(Some(bytes))
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// What the caller of a reader does while the input is slow.
pub(crate) trait OnWait {
    /// The input has nothing for now.
    fn idle(&mut self) -> Result<()>;
    /// A line is still not whole, or a header's line begins: time may have passed.
    fn slow(&mut self) -> Result<()>;
}

/// Reads lines, and counts them for errors.
pub(crate) struct TextReader<'i> {
    input: &'i mut dyn BufRead,
    /// The line being read, from 1.
    pub(crate) line: u64,
    /// Bytes read so far.
    pub(crate) bytes: u64,
}

/// What comes next in the data of a section.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Data {
    Item,
    End,
}

impl<'i> TextReader<'i> {
    pub(crate) fn new(input: &'i mut dyn BufRead) -> TextReader<'i> {
        TextReader { input, line: 0, bytes: 0 }
    }

    /// An error at the line that was read last.
    #[cold]
    pub(crate) fn error(&self, what: impl Into<String>) -> Error {
        Error::Input(InputError { line: self.line, what: what.into() })
    }

    /// The next header line, without its end. `false`: there is none.
    pub(crate) fn header(&mut self, wait: &mut dyn OnWait, into: &mut Vec<u8>) -> Result<bool> {
        wait.slow()?;
        self.line += 1;
        into.clear();
        let mut take = |part: &[u8]| {
            if into.len() + part.len() > HEADER_LINE_MAX {
                return Err(Refusal::Text("this header line is too long"));
            }
            into.try_reserve(part.len())?;
            into.extend_from_slice(part);
            Ok(())
        };
        if !self.rest_of_line(wait, &mut take)? && into.is_empty() {
            self.line -= 1;
            return Ok(false);
        }
        if into.last() == Some(&b'\r') {
            into.pop();
        }
        Ok(true)
    }

    /// The next key or value, of at most `max` bytes.
    pub(crate) fn data(
        &mut self,
        wait: &mut dyn OnWait,
        print: bool,
        max: usize,
        into: &mut Vec<u8>,
    ) -> Result<Data> {
        self.line += 1;
        into.clear();
        let first = self.part(wait, |part| {
            let first = part.first().copied();
            (usize::from(first == Some(b' ')), first)
        })?;
        match first {
            None => return Err(self.error("the input ends without DATA=END")),
            Some(b' ') => {}
            Some(_) => return self.end_of_data(wait),
        }
        let mut decoder = Decoder { print, max, state: State::Plain, carriage_return: false };
        let whole = self.rest_of_line(wait, &mut |part| decoder.decode(part, into))?;
        if !whole {
            return Err(self.error("the input ends in the middle of a line"));
        }
        match decoder.state {
            State::Plain => Ok(Data::Item),
            _ if print => Err(self.error("a backslash must be followed by two digits")),
            _ => Err(self.error("an odd number of hexadecimal digits")),
        }
    }

    fn end_of_data(&mut self, wait: &mut dyn OnWait) -> Result<Data> {
        let mut line = Vec::new();
        self.line -= 1;
        self.header(wait, &mut line)?;
        if line != b"DATA=END" {
            return Err(self.error("a line of data begins with a space"));
        }
        Ok(Data::End)
    }

    /// Hands the rest of the line to `take`, part by part; whether it ended as lines do.
    fn rest_of_line(
        &mut self,
        wait: &mut dyn OnWait,
        take: &mut dyn FnMut(&[u8]) -> std::result::Result<(), Refusal>,
    ) -> Result<bool> {
        loop {
            let (taken, is_last, is_whole) = self.part(wait, |part| {
                let end = part.iter().position(|&byte| byte == b'\n');
                let bytes = end.map_or(part.len(), |end| end + 1);
                let taken = take(&part[..end.unwrap_or(part.len())]);
                (bytes, (taken, part.is_empty(), end.is_some()))
            })?;
            match taken {
                Ok(()) => {}
                Err(Refusal::Text(what)) => return Err(self.error(what)),
                Err(Refusal::Memory) => return Err(huon::Error::OutOfMemory.into()),
            }
            if is_last || is_whole {
                return Ok(is_whole);
            }
            wait.slow()?;
        }
    }

    /// Shows what the input has ready to `look`, and goes past as many bytes as that says; nothing
    /// is ready at the end only.
    ///
    /// The input is asked once for each answer: one that had nothing may have something when it is
    /// asked again.
    fn part<R>(
        &mut self,
        wait: &mut dyn OnWait,
        look: impl FnOnce(&[u8]) -> (usize, R),
    ) -> Result<R> {
        loop {
            match self.input.fill_buf() {
                Ok(part) => {
                    let (bytes, found) = look(part);
                    self.input.consume(bytes);
                    self.bytes += bytes as u64;
                    return Ok(found);
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                        wait.idle()?;
                        std::thread::sleep(ASK_AGAIN);
                    }
                    _ => return Err(Error::Io { operation: "read the input", source: error }),
                },
            }
        }
    }
}

/// Why a part of a line is not taken.
enum Refusal {
    /// The text is not as it should be.
    Text(&'static str),
    Memory,
}

impl From<TryReserveError> for Refusal {
    fn from(_: TryReserveError) -> Refusal {
        Refusal::Memory
    }
}

#[derive(Clone, Copy)]
enum State {
    /// Between two bytes.
    Plain,
    /// Behind a backslash.
    Backslash,
    /// Behind the first digit.
    High(u8),
}

/// Turns a line's text into bytes, in parts.
struct Decoder {
    print: bool,
    max: usize,
    state: State,
    /// One was read; it counts only if something follows.
    carriage_return: bool,
}

impl Decoder {
    fn decode(&mut self, part: &[u8], into: &mut Vec<u8>) -> std::result::Result<(), Refusal> {
        let max = self.max;
        let mut push = |byte| {
            if into.len() >= max {
                return Err(Refusal::Text("longer than a key or value may be here"));
            }
            into.try_reserve(1)?;
            into.push(byte);
            Ok(())
        };
        for &byte in part {
            if self.carriage_return {
                self.carriage_return = false;
                if !self.print {
                    return Err(NOT_A_DIGIT);
                }
                push(b'\r')?;
            }
            match (self.state, byte) {
                (State::Plain, b'\r') => self.carriage_return = true,
                (State::Plain, b'\\') if self.print => self.state = State::Backslash,
                (State::Plain, byte) if self.print => push(byte)?,
                (State::Backslash, b'\\') => {
                    push(b'\\')?;
                    self.state = State::Plain;
                }
                (State::Plain | State::Backslash, byte) => {
                    self.state = State::High(digit(byte).ok_or(NOT_A_DIGIT)?);
                }
                (State::High(high), byte) => {
                    push(high << 4 | digit(byte).ok_or(NOT_A_DIGIT)?)?;
                    self.state = State::Plain;
                }
            }
        }
        Ok(())
    }
}

const NOT_A_DIGIT: Refusal = Refusal::Text("a character that is not a hexadecimal digit");

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that has nothing else to do.
    struct JustWait;

    impl OnWait for JustWait {
        fn idle(&mut self) -> Result<()> {
            Ok(())
        }

        fn slow(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn read(text: &[u8], print: bool, buffer: usize) -> Result<Vec<Vec<u8>>> {
        let mut input = std::io::BufReader::with_capacity(buffer, text);
        let mut reader = TextReader::new(&mut input);
        let mut items = Vec::new();
        let mut item = Vec::new();
        while reader.data(&mut JustWait, print, 1000, &mut item)? == Data::Item {
            items.push(item.clone());
        }
        Ok(items)
    }

    #[test]
    fn every_byte_survives_in_both_formats() {
        let all: Vec<u8> = (0..=255).collect();
        for print in [false, true] {
            let mut text = Vec::new();
            let mut writer = TextWriter::new(&mut text, print).unwrap();
            writer.data(&all).unwrap();
            writer.data(b"").unwrap();
            writer.header("DATA=END").unwrap();
            writer.finish().unwrap();
            drop(writer);
            for buffer in [1, 2, 3, 7, 4096] {
                assert_eq!(read(&text, print, buffer).unwrap(), [all.clone(), Vec::new()]);
            }
            let windows = String::from_utf8(text).unwrap().replace('\n', "\r\n");
            assert_eq!(read(windows.as_bytes(), print, 5).unwrap(), [all.clone(), Vec::new()]);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, print, line) in [
            (" 61\n 6", false, 2),
            (" 61\n 6\n", false, 2),
            (" 6g\n", false, 1),
            (" 61\n", false, 2),
            ("", false, 1),
            (" a\\6\n", true, 1),
            (" a\\", true, 1),
            (" a\\xx\n", true, 1),
            (" a\n\nDATA=END\n", true, 2),
            (" a\nDATA=ENDLESS\n", true, 2),
            (&" a".repeat(600), true, 1),
        ] {
            match read(text.as_bytes(), print, 3) {
                Err(Error::Input(error)) => assert_eq!(error.line, line, "{text:?}: {error:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
        assert_eq!(read(b" a\\\\b\nDATA=END", true, 2).unwrap(), [b"a\\b".to_vec()]);
    }
}

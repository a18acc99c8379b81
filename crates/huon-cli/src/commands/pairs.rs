//! Plain lines, a key and its value in turn, read as a section of a dump.

use std::io::{self, Read};

/// Bytes read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Text with a header before it, a space at the beginning of each line, and an end.
pub(super) struct Pairs<R> {
    inner: R,
    ready: Vec<u8>,
    used: usize,
    /// The next byte begins a line.
    at_start: bool,
    ended: bool,
}

impl<R: Read> Pairs<R> {
    pub(super) fn new(inner: R, header: &str) -> Pairs<R> {
        Pairs { inner, ready: header.into(), used: 0, at_start: true, ended: false }
    }

    /// Makes the next bytes ready.
    fn fill(&mut self) -> io::Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        let bytes = self.inner.read(&mut piece)?;
        self.ready.clear();
        self.used = 0;
        for &byte in &piece[..bytes] {
            if self.at_start {
                self.ready.push(b' ');
            }
            self.ready.push(byte);
            self.at_start = byte == b'\n';
        }
        if bytes == 0 {
            self.ended = true;
            let end: &[u8] = if self.at_start { b"DATA=END\n" } else { b"\nDATA=END\n" };
            self.ready.extend(end);
        }
        Ok(())
    }
}

impl<R: Read> Read for Pairs<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used == self.ready.len() && !self.ended {
            self.fill()?;
        }
        let bytes = buffer.len().min(self.ready.len() - self.used);
        buffer[..bytes].copy_from_slice(&self.ready[self.used..][..bytes]);
        self.used += bytes;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_a_section() {
        let cases = [("", "H\nDATA=END\n"), ("a\n1\n", "H\n a\n 1\nDATA=END\n")];
        for (text, section) in cases.into_iter().chain([("a\n\nb", "H\n a\n \n b\nDATA=END\n")]) {
            let mut read = String::new();
            Pairs::new(text.as_bytes(), "H\n").read_to_string(&mut read).unwrap();
            assert_eq!(read, section);
        }
    }
}

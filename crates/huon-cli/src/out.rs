//! Standard output: whole, buffered, and quiet when its reader has closed it.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde_json::Value;

use crate::fail::Failure;

/// Standard output, buffered. What is written is only sure to be out after [`Out::finish`].
pub(crate) struct Out(BufWriter<StdoutLock<'static>>);

impl Out {
    pub(crate) fn new() -> Out {
        Out(BufWriter::with_capacity(64 << 10, io::stdout().lock()))
    }

    /// One line.
    pub(crate) fn line(&mut self, text: impl std::fmt::Display) -> Result<(), Failure> {
        Ok(writeln!(self.0, "{text}")?)
    }

    /// A name and a value, aligned with its neighbours.
    pub(crate) fn field(
        &mut self,
        name: &str,
        value: impl std::fmt::Display,
    ) -> Result<(), Failure> {
        Ok(writeln!(self.0, "{name:<18} {value}")?)
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.0.write_all(bytes)?)
    }

    /// One JSON document on a line of its own.
    pub(crate) fn json(&mut self, value: &Value) -> Result<(), Failure> {
        self.line(value)
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        Ok(self.0.flush()?)
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

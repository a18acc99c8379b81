//! Sections of tables that lie elsewhere than in tables of an environment: the text alone.

use std::io::{BufRead, Write};
use std::ops::ControlFlow;

use huon::limits::VALUE_BYTES_MAX;

use crate::error::Result;
use crate::header::{Header, Known, Wanted};
use crate::lines::{Data, OnWait, TextReader, TextWriter};

/// What the header of a section says of its table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The table's name; empty: none is said.
    pub table: Vec<u8>,
    /// The name of the type of its keys, and of that of its values.
    pub types: [Option<String>; 2],
    /// Keys are in another order than that of bytes.
    pub has_other_order: bool,
    /// A key may have many values.
    pub is_multimap: bool,
}

impl Section {
    /// Of a table with one value a key, in the order of bytes.
    pub fn new(table: impl AsRef<[u8]>) -> Section {
        Section { table: table.as_ref().to_vec(), ..Section::default() }
    }
}

/// Writes sections as [`dump()`](crate::dump()) does, of records that the caller has.
///
/// ```
/// use huon_text::{Section, SectionWriter};
///
/// let mut text = Vec::new();
/// let mut writer = SectionWriter::new(&mut text, true)?;
/// writer.begin(&Section::new("ages"))?;
/// writer.record(b"ada", b"36")?;
/// writer.end()?;
/// writer.finish()?;
/// let head = "VERSION=3\nformat=print\ndatabase=ages\ntype=btree\nHEADER=END\n";
/// assert_eq!(String::from_utf8(text)?, format!("{head} ada\n 36\nDATA=END\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SectionWriter<'o> {
    text: TextWriter<'o>,
    print: bool,
}

impl<'o> SectionWriter<'o> {
    /// `print`: printable characters are written as they are, for people.
    ///
    /// # Errors
    /// [`huon::Error::OutOfMemory`].
    pub fn new(out: &'o mut dyn Write, print: bool) -> Result<SectionWriter<'o>> {
        Ok(SectionWriter { text: TextWriter::new(out, print)?, print })
    }

    /// Writes the header of a section. It says nothing of another order or of many values.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io), as of the other methods.
    pub fn begin(&mut self, section: &Section) -> Result<()> {
        let text = &mut self.text;
        text.header("VERSION=3")?;
        text.header(if self.print { "format=print" } else { "format=bytevalue" })?;
        if !section.table.is_empty() {
            text.table_name(&section.table)?;
        }
        text.header("type=btree")?;
        for (word, name) in ["huon_key_type", "huon_value_type"].into_iter().zip(&section.types) {
            if let Some(name) = name {
                text.named(word, name.as_bytes())?;
            }
        }
        text.header("HEADER=END")
    }

    /// Writes a record.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    pub fn record(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.text.data(key)?;
        self.text.data(value)
    }

    /// Ends the section.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    pub fn end(&mut self) -> Result<()> {
        self.text.header("DATA=END")
    }

    /// Writes what is buffered: without it the text may be cut.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    pub fn finish(mut self) -> Result<()> {
        self.text.finish()
    }
}

impl std::fmt::Debug for SectionWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SectionWriter").field("print", &self.print).finish_non_exhaustive()
    }
}

/// Takes what [`read_sections()`] reads.
pub trait SectionSink {
    /// A section begins. The text of an error is that of an
    /// [`Error::Input`](crate::Error::Input), which names the line.
    ///
    /// # Errors
    /// Why its records are not taken.
    fn begin(&mut self, section: &Section) -> std::result::Result<(), String>;

    /// A record of the section; `bytes` of text were read for it. A break ends the reading.
    ///
    /// # Errors
    /// Any; a key or a value that is too long is told with its line.
    fn record(&mut self, key: &[u8], value: &[u8], bytes: u64) -> huon::Result<ControlFlow<()>>;

    /// The input has nothing for now, or is slow: see [`load()`](crate::load()).
    ///
    /// # Errors
    /// Any; it ends the reading.
    fn wait(&mut self) -> huon::Result<()>;
}

/// Lets a sink be told of waits.
struct Waiting<'s>(&'s mut dyn SectionSink);

impl OnWait for Waiting<'_> {
    fn idle(&mut self) -> Result<()> {
        Ok(self.0.wait()?)
    }

    fn slow(&mut self) -> Result<()> {
        Ok(self.0.wait()?)
    }
}

/// Reads text in the format of `mdb_dump` and hands its records on; returns how many sections it
/// has read. `key_bytes_max`: longer keys are errors.
///
/// ```
/// use std::ops::ControlFlow;
/// use huon_text::{Section, SectionSink};
///
/// struct Count(u64);
/// impl SectionSink for Count {
///     fn begin(&mut self, section: &Section) -> Result<(), String> {
///         if section.table == b"ages" { Ok(()) } else { Err("another table".into()) }
///     }
///     fn record(&mut self, _: &[u8], _: &[u8], _: u64) -> huon::Result<ControlFlow<()>> {
///         self.0 += 1;
///         Ok(ControlFlow::Continue(()))
///     }
///     fn wait(&mut self) -> huon::Result<()> {
///         Ok(())
///     }
/// }
/// let head = "VERSION=3\nformat=print\ndatabase=ages\ntype=btree\nHEADER=END\n";
/// let text = format!("{head} ada\n 36\nDATA=END\n");
/// let mut count = Count(0);
/// assert_eq!(huon_text::read_sections(&mut text.as_bytes(), 511, &mut count)?, 1);
/// assert_eq!(count.0, 1);
/// # Ok::<(), huon_text::Error>(())
/// ```
///
/// # Errors
/// [`Error::Input`](crate::Error::Input) names the line that is wrong; those of the sink and of the
/// input.
pub fn read_sections(
    input: &mut dyn BufRead,
    key_bytes_max: usize,
    sink: &mut dyn SectionSink,
) -> Result<u64> {
    let mut text = TextReader::new(input);
    let mut sections = 0;
    while let Some(header) = Header::read(&mut text, &mut Waiting(sink), &mut Vec::new())? {
        sections += 1;
        let section = Section {
            table: header.name,
            types: [header.key_type, header.value_type],
            has_other_order: !matches!(header.wanted, Wanted::Order(Known::Bytes)),
            is_multimap: header.many,
        };
        sink.begin(&section).map_err(|why| text.error(why))?;
        if records(&mut text, header.print, key_bytes_max, sink)?.is_break() {
            return Ok(sections);
        }
    }
    if sections == 0 {
        return Err(text.error("the input is empty"));
    }
    Ok(sections)
}

fn records(
    text: &mut TextReader<'_>,
    print: bool,
    key_bytes_max: usize,
    sink: &mut dyn SectionSink,
) -> Result<ControlFlow<()>> {
    let (mut key, mut value) = (Vec::new(), Vec::new());
    loop {
        let before = text.bytes;
        if text.data(&mut Waiting(sink), print, key_bytes_max, &mut key)? == Data::End {
            return Ok(ControlFlow::Continue(()));
        }
        if text.data(&mut Waiting(sink), print, VALUE_BYTES_MAX, &mut value)? == Data::End {
            return Err(text.error("a key without its value"));
        }
        let bytes = text.bytes - before;
        let taken = sink.record(&key, &value, bytes).map_err(|error| match error {
            huon::Error::KeyTooLong { .. } | huon::Error::ValueTooLong => {
                text.error(error.to_string())
            }
            error => error.into(),
        })?;
        if taken.is_break() {
            return Ok(taken);
        }
    }
}

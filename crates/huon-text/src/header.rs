//! The header of a section.

use huon::Order;

use crate::error::Result;
use crate::lines::{OnWait, TextReader, decode_hex};

/// What a section says about its table.
pub(crate) struct Header {
    /// Empty for the main table.
    pub(crate) name: Vec<u8>,
    pub(crate) print: bool,
    pub(crate) wanted: Wanted,
    /// The name of the comparator of the keys.
    pub(crate) comparator: Option<String>,
    /// A key may have many values.
    pub(crate) many: bool,
    /// Their order.
    pub(crate) values: Wanted,
    /// The name of their comparator.
    pub(crate) value_comparator: Option<String>,
    /// The names of the types of keys and values.
    pub(crate) key_type: Option<String>,
    pub(crate) value_type: Option<String>,
    /// All of them have one length.
    pub(crate) equal: bool,
    /// The counter of the table for the application.
    pub(crate) sequence: u64,
    /// The environment's markers.
    pub(crate) markers: Option<[u64; 3]>,
}

/// The order that a section asks for.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    Order(Known),
    /// Integers of a length that the keys show.
    Integers,
    /// A comparator.
    Custom,
}

/// Orders that need nothing from outside.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    Bytes,
    Reversed,
    NativeU32,
    NativeU64,
}

impl Known {
    pub(crate) fn of(self) -> Order {
        match self {
            Known::Bytes => Order::Bytes,
            Known::Reversed => Order::Reversed,
            Known::NativeU32 => Order::NativeU32,
            Known::NativeU64 => Order::NativeU64,
        }
    }
}

impl Wanted {
    /// The order of that name.
    fn named(text: &TextReader<'_>, name: &[u8]) -> Result<Wanted> {
        Ok(match name {
            b"bytes" => Wanted::Order(Known::Bytes),
            b"reversed" => Wanted::Order(Known::Reversed),
            b"native-u32" => Wanted::Order(Known::NativeU32),
            b"native-u64" => Wanted::Order(Known::NativeU64),
            b"custom" => Wanted::Custom,
            _ => return Err(text.error("this order is not known")),
        })
    }

    /// Integers; the line that says more may have come before.
    fn be_integers(&mut self) {
        if !matches!(self, Wanted::Order(Known::NativeU32 | Known::NativeU64)) {
            *self = Wanted::Integers;
        }
    }
}

/// Words that describe the environment or the pages that a dump came from, and need no mention.
const EXPECTED: [&str; 10] = [
    "mapsize",
    "mapaddr",
    "maxreaders",
    "db_pagesize",
    "geometry",
    "db_lorder",
    "chksum",
    "bt_minkey",
    "h_ffactor",
    "h_nelem",
];

/// Words that mean nothing where they are 0.
const FLAGS: [&str; 8] = [
    "reversekey",
    "integerkey",
    "duplicates",
    "dupsort",
    "dupfixed",
    "dupfix",
    "integerdup",
    "reversedup",
];

/// No page holds a longer name.
const NAME_BYTES_MAX: usize = huon::limits::PAGE_BYTES_MAX;

/// Unknown words kept at most.
const IGNORED_MAX: usize = 32;

impl Header {
    /// The next header. `None`: the input ends here.
    pub(crate) fn read(
        text: &mut TextReader<'_>,
        wait: &mut dyn OnWait,
        ignored: &mut Vec<String>,
    ) -> Result<Option<Header>> {
        let mut header = Header {
            name: Vec::new(),
            print: false,
            wanted: Wanted::Order(Known::Bytes),
            comparator: None,
            many: false,
            values: Wanted::Order(Known::Bytes),
            value_comparator: None,
            key_type: None,
            value_type: None,
            equal: false,
            sequence: 0,
            markers: None,
        };
        let mut line = Vec::new();
        let mut exact = false;
        let mut any = false;
        let mut in_name = false;
        loop {
            if !text.header(wait, &mut line)? {
                if any {
                    return Err(text.error("the input ends inside a header"));
                }
                return Ok(None);
            }
            if line.is_empty() && !any {
                continue;
            }
            any = true;
            let Some(at) = line.iter().position(|&byte| byte == b'=') else {
                if in_name {
                    header.go_on_with_name(text, &line)?;
                    continue;
                }
                return Err(text.error("a header line has the form word=value"));
            };
            in_name = false;
            let word = std::str::from_utf8(&line[..at]).unwrap_or("a word that is not UTF-8");
            let value = &line[at + 1..];
            match word {
                "HEADER" if value == b"END" => return Ok(Some(header)),
                "huon_name" => {
                    header.name = decode_hex(value)?.ok_or_else(|| text.error("no such name"))?;
                    exact = true;
                }
                "database" if exact => {}
                "database" => {
                    header.name.clear();
                    grow(&mut header.name, value)?;
                    in_name = true;
                }
                _ => header.line(text, word, value, ignored)?,
            }
        }
    }

    /// `mdb_dump` writes a name as it is, and each line of one that has several as a line.
    fn go_on_with_name(&mut self, text: &TextReader<'_>, line: &[u8]) -> Result<()> {
        if self.name.len() + line.len() > NAME_BYTES_MAX {
            return Err(text.error("this name is too long"));
        }
        grow(&mut self.name, b"\n")?;
        grow(&mut self.name, line)
    }

    fn line(
        &mut self,
        text: &TextReader<'_>,
        word: &str,
        value: &[u8],
        ignored: &mut Vec<String>,
    ) -> Result<()> {
        let on = value != b"0";
        match word {
            "VERSION" if value == b"3" || value == b"2" || value == b"1" => {}
            "VERSION" => return Err(text.error("this version of the format is not known")),
            "format" => {
                self.print = match value {
                    b"bytevalue" => false,
                    b"print" => true,
                    _ => return Err(text.error("format must be bytevalue or print")),
                }
            }
            // Berkeley DB's hash tables have keys and values, too; only their order means nothing.
            "type" if value == b"btree" || value == b"hash" => {}
            "type" => return Err(text.error("only type=btree and type=hash can be loaded")),
            "keys" if on => {}
            "keys" => return Err(text.error("records without keys cannot be loaded")),
            "sequence" => {
                let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.sequence = number.ok_or_else(|| text.error("sequence must be a number"))?;
            }
            "canary" => {
                let markers = markers_of(value);
                self.markers = Some(markers.ok_or_else(|| text.error("canary has four numbers"))?);
            }
            "reversekey" if on => self.wanted = Wanted::Order(Known::Reversed),
            "integerkey" if on => self.wanted.be_integers(),
            "huon_comparator" => self.comparator = name(text, value)?,
            "huon_value_comparator" => self.value_comparator = name(text, value)?,
            "huon_key_type" => self.key_type = name(text, value)?,
            "huon_value_type" => self.value_type = name(text, value)?,
            "huon_order" => self.wanted = Wanted::named(text, value)?,
            "duplicates" | "dupsort" if on => self.many = true,
            "dupfixed" | "dupfix" if on => (self.many, self.equal) = (true, true),
            "reversedup" if on => {
                (self.many, self.values) = (true, Wanted::Order(Known::Reversed));
            }
            "integerdup" if on => {
                self.many = true;
                self.values.be_integers();
            }
            "huon_values" => {
                (self.many, self.values) = (true, Wanted::named(text, value)?);
            }
            word if FLAGS.contains(&word) || EXPECTED.contains(&word) => {}
            word => {
                if ignored.len() < IGNORED_MAX && !ignored.iter().any(|known| known == word) {
                    let mut known = String::new();
                    known.try_reserve_exact(word.len())?;
                    known.push_str(word);
                    ignored.push(known);
                }
            }
        }
        Ok(())
    }
}

/// libmdbx's form of them: `v1,x2,y3,z4`, of which `v` is the transaction that set the others.
fn markers_of(value: &[u8]) -> Option<[u64; 3]> {
    let mut parts = std::str::from_utf8(value).ok()?.split(',');
    let mut number = |name| parts.next()?.trim().strip_prefix(name)?.parse().ok();
    let [_, x, y, z] = [number('v')?, number('x')?, number('y')?, number('z')?];
    parts.next().is_none().then_some([x, y, z])
}

/// The name of a comparator or of a type, from its digits.
fn name(text: &TextReader<'_>, value: &[u8]) -> Result<Option<String>> {
    let name = decode_hex(value)?.and_then(|name| String::from_utf8(name).ok());
    name.map(Some).ok_or_else(|| text.error("no such name of a comparator or a type"))
}

fn grow(bytes: &mut Vec<u8>, more: &[u8]) -> Result<()> {
    bytes.try_reserve(more.len())?;
    bytes.extend_from_slice(more);
    Ok(())
}

//! FORMAT.md as data: its tables of fields and of numbers.

use std::collections::BTreeMap;

/// A field of a block: where it lies in it, and how long it is, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
}

/// What the document says, by the heading above each table.
#[derive(Default)]
pub(crate) struct Format {
    fields: BTreeMap<String, Vec<(String, Field)>>,
    numbers: BTreeMap<String, Vec<(u64, String)>>,
    limits: BTreeMap<String, String>,
}

impl Format {
    /// The section on LSM tables is read by the tests of their crate.
    pub(crate) fn parse(text: &str) -> Format {
        let (before, lsm) = text.split_once("\n## LSM tables\n").expect("the section is there");
        let after = lsm.split_once("\n## ").map_or("", |(_, after)| after);
        let text = &[before, after].join("\n## ");
        let mut format = Format::default();
        let mut heading = String::new();
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("##") {
                heading = title.trim_start_matches('#').trim().to_lowercase();
            }
            let Some(row) = line.strip_prefix('|') else { continue };
            let row = row.replace("\\|", "or");
            let cells: Vec<&str> =
                row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            match (cells[0].parse::<u64>(), cells[1].parse::<usize>()) {
                (Ok(at), Ok(bytes)) => {
                    let field = Field { at: at as usize, bytes };
                    let fields = format.fields.entry(heading.clone()).or_default();
                    fields.push((cells[2].to_string(), field));
                }
                (Ok(number), Err(_)) => {
                    let numbers = format.numbers.entry(heading.clone()).or_default();
                    numbers.push((number, cells[1].to_string()));
                }
                _ if heading == "limits" => {
                    let what = cells[0].replace('`', "");
                    format.limits.insert(what, cells[1].to_string());
                }
                _ => {}
            }
        }
        format
    }

    /// A field by the heading of its table and its name.
    pub(crate) fn field(&self, heading: &str, name: &str) -> Field {
        let fields = self.fields.get(heading).unwrap_or_else(|| panic!("no table `{heading}`"));
        let field = fields.iter().find(|(known, _)| known == name);
        field.unwrap_or_else(|| panic!("no field `{name}` in `{heading}`")).1
    }

    /// Bytes from the start of a block to the end of its last field; the fields must cover them.
    pub(crate) fn block_bytes(&self, heading: &str) -> usize {
        let mut end = 0;
        for (name, field) in &self.fields[heading] {
            assert_eq!(field.at, end, "`{name}` in `{heading}` does not follow the field before");
            end += field.bytes;
        }
        end
    }

    /// The headings of all tables of fields.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// The number that stands for `name`.
    pub(crate) fn number(&self, heading: &str, name: &str) -> u64 {
        let numbers = self.numbers.get(heading).unwrap_or_else(|| panic!("no table `{heading}`"));
        let number = numbers.iter().find(|(_, known)| known == name);
        number.unwrap_or_else(|| panic!("no `{name}` in `{heading}`")).0
    }

    /// The name that `number` stands for.
    pub(crate) fn name(&self, heading: &str, number: u64) -> &str {
        let name = self.numbers[heading].iter().find(|(known, _)| *known == number);
        &name.unwrap_or_else(|| panic!("no number {number} in `{heading}`")).1
    }

    /// A limit, as it is written.
    pub(crate) fn limit(&self, what: &str) -> &str {
        self.limits.get(what).unwrap_or_else(|| panic!("no limit `{what}`"))
    }

    /// The number in a field of `block`.
    pub(crate) fn get(&self, block: &[u8], heading: &str, name: &str) -> u64 {
        let mut number = [0; 8];
        let bytes = self.bytes(block, heading, name);
        number[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(number)
    }

    /// The bytes of a field of `block`.
    pub(crate) fn bytes<'b>(&self, block: &'b [u8], heading: &str, name: &str) -> &'b [u8] {
        let field = self.field(heading, name);
        &block[field.at..field.at + field.bytes]
    }
}

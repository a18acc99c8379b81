//! Ordinary tables that are parts of LSM tables, by their names; FORMAT.md describes them.

use huon::Txn;

use crate::fail::Failure;
use crate::table::find;
use crate::text::{Form, json_name, many};

/// Names of parts begin so.
const PREFIX: &[u8] = b"\0lsm/";

/// What an ordinary table is to an LSM table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'n> {
    /// The name of the LSM table.
    pub(crate) table: &'n [u8],
    pub(crate) is_manifest: bool,
}

/// The part that a table of this name is.
pub(crate) fn part_of(name: &[u8]) -> Option<Part<'_>> {
    let rest = name.strip_prefix(PREFIX)?;
    if let Some(table) = rest.strip_suffix(b"/m") {
        return Some(Part { table, is_manifest: true });
    }
    let slash = rest.iter().rposition(|byte| *byte == b'/')?;
    let (table, slot) = (rest[..slash].strip_suffix(b"/r")?, &rest[slash + 1..]);
    let is_slot = !slot.is_empty() && slot.iter().all(u8::is_ascii_digit);
    is_slot.then_some(Part { table, is_manifest: false })
}

impl Part<'_> {
    /// For people: `a run of the LSM table "events"`.
    pub(crate) fn said(&self) -> String {
        let what = if self.is_manifest { "the manifest" } else { "a run" };
        format!("{what} of the LSM table \"{}\"", Form::Plain.show(self.table))
    }
}

/// Says in the JSON of a table which part it is, if it is one.
pub(crate) fn add_to(mut object: serde_json::Value, name: &[u8]) -> serde_json::Value {
    if let Some(part) = part_of(name) {
        let (field, table) = json_name("lsm_table", part.table, Form::Plain);
        object[field] = table;
        object["lsm_part"] = if part.is_manifest { "manifest" } else { "run" }.into();
    }
    object
}

/// What is said below a list of tables of which some are parts.
pub(crate) fn note<'n>(names: impl Iterator<Item = &'n [u8]>) -> Option<String> {
    let parts: Vec<Part<'_>> = names.filter_map(part_of).collect();
    let mut tables: Vec<&[u8]> = parts.iter().map(|part| part.table).collect();
    tables.sort_unstable();
    tables.dedup();
    let count = many(parts.len() as u64, "table");
    let are = if parts.len() == 1 { "is part" } else { "are parts" };
    let names: Vec<String> =
        tables.iter().map(|name| format!("\"{}\"", Form::Plain.show(name))).collect();
    (!parts.is_empty()).then(|| format!("{count} {are} of LSM tables: {}", names.join(", ")))
}

/// Refuses to change a table that is a part: the others would not fit it any more.
pub(crate) fn refuse(name: &[u8]) -> Result<(), Failure> {
    let Some(part) = part_of(name) else { return Ok(()) };
    let name = Form::Plain.show(name);
    let text = format!(
        "table \"{name}\" is {}, which `huon lsm` and the crate huon-lsm change as a whole.",
        part.said()
    );
    Err(Failure::usage(text))
}

/// Whether there is an LSM table of that name.
pub(crate) fn has_lsm_table(txn: &impl Txn, name: &[u8]) -> Result<bool, Failure> {
    Ok(!name.is_empty() && find(txn, &[PREFIX, name, b"/m"].concat())?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_known_by_their_names() {
        let part = |name: &'static str| {
            part_of(name.as_bytes()).map(|part| (part.table.escape_ascii().to_string(), part))
        };
        let of = |name: &'static str| part(name).map(|(table, part)| (table, part.is_manifest));
        assert_eq!(of("\0lsm/events/m"), Some(("events".into(), true)));
        assert_eq!(of("\0lsm/events/r/007"), Some(("events".into(), false)));
        assert_eq!(of("\0lsm/a/r/1/m"), Some(("a/r/1".into(), true)));
        assert_eq!(of("\0lsm/a/m/r/12345"), Some(("a/m".into(), false)));
        for name in ["events", "lsm/events/m", "\0lsm/events", "\0lsm/a/r/", "\0lsm/a/r/x"] {
            assert_eq!(of(name), None, "{name:?}");
        }
    }
}

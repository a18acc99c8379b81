//! The result of a check.

use crate::alloc::copied;

/// Problems that a report keeps; the others are only counted.
const PROBLEMS_KEPT_MAX: usize = 1000;

/// Something that is not as it must be.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The page it was found on; `None` if it is not on a page.
    pub pgno: Option<u32>,
    /// The table it belongs to, the unnamed main table being empty; `None` if it is in no table.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::name_if_any"))]
    pub table: Option<Vec<u8>>,
    /// What is wrong.
    pub text: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(table) = &self.table {
            if table.is_empty() {
                write!(f, "main table: ")?;
            } else {
                write!(f, "table \"{}\": ", table.escape_ascii())?;
            }
        }
        if let Some(pgno) = self.pgno {
            write!(f, "page {pgno}: ")?;
        }
        f.write_str(&self.text)
    }
}

/// What a check counted in a table.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TableReport {
    /// The table's name; empty for the unnamed main table.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::name"))]
    pub name: Vec<u8>,
    /// How its keys are ordered: `bytes`, `reversed`, `native-u32`, `native-u64` or `custom`.
    pub order: &'static str,
    /// How the values of a key are ordered; `None` if it has one value only.
    pub values: Option<&'static str>,
    /// Whether the order of keys, and of values, was checked: not for a comparator that is not
    /// known here.
    pub ordered: bool,
    /// Records, or values of all keys; for the main table, the records of named tables too.
    pub entries: u64,
    /// Levels of pages: 0 if it is empty.
    pub depth: u8,
    /// Pages of branches.
    pub branch_pages: u32,
    /// Pages of leaves.
    pub leaf_pages: u32,
    /// Pages of large values.
    pub overflow_pages: u32,
    /// Bytes of these pages that hold something, headers included.
    pub used_bytes: u64,
}

/// Keeps a problem if there are not too many yet, and there is memory for it.
fn keep(
    problems: &mut Vec<Problem>,
    pgno: Option<u32>,
    table: Option<&[u8]>,
    text: impl FnOnce() -> String,
) {
    if problems.len() < PROBLEMS_KEPT_MAX
        && problems.try_reserve(1).is_ok()
        && let Ok(table) = table.map(copied).transpose()
    {
        problems.push(Problem { pgno, table, text: text() });
    }
}

/// The result of [`Env::check`](crate::Env::check).
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// The snapshot that was checked.
    pub txnid: u64,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// The first thousand problems.
    pub problems: Vec<Problem>,
    /// How many problems there are.
    pub problem_count: u64,
    /// Problems that come from a page which a transaction after this snapshot has used again: in a
    /// check against an older meta ([`CheckOptions::meta_slot`](crate::CheckOptions::meta_slot)).
    pub reused_pages: u64,
    /// What is worth knowing, but no problem.
    pub notes: Vec<String>,
    /// The main table, then the named ones in the order of their names.
    pub tables: Vec<TableReport>,
    /// Names of tables whose keys were not compared, since their comparator is not known here. Open
    /// such a table with its comparator first, and its order is checked too.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::names"))]
    pub tables_unordered: Vec<Vec<u8>>,
    /// Batches of the journal since the last checkpoint that are whole and follow from one another;
    /// see [`Options::journal`](crate::Options::journal).
    pub journal_batches: u64,
    /// Named snapshots of which every page is there, and whole.
    pub named_snapshots: u64,
    /// Pages of all tables.
    pub reachable_pages: u64,
    /// Pages of the free-space list itself.
    pub free_list_pages: u64,
    /// Free pages that the next write transaction may use.
    pub free_pages: u64,
    /// Free pages that the durable snapshot, a named one or a reader can still see.
    pub retained_pages: u64,
    /// Pages that the snapshot spans, without the metas.
    pub pages_total: u64,
}

impl CheckReport {
    /// Whether no problem was found.
    pub fn is_clean(&self) -> bool {
        self.problem_count == 0
    }

    /// Adds a problem; its text is made only if it is kept.
    pub(super) fn add(
        &mut self,
        pgno: Option<u32>,
        table: Option<&[u8]>,
        text: impl FnOnce() -> String,
    ) {
        self.problem_count += 1;
        keep(&mut self.problems, pgno, table, text);
    }
}

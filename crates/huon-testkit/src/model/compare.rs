//! Comparing what is there with a model.

use super::*;

impl Model {
    /// Compares everything that a snapshot shows; the answer is the first difference.
    pub fn compare(&self, txn: &ReadTxn) -> Result<(), String> {
        self.compare_with(txn).map_err(|mismatch| mismatch.to_string())
    }

    /// The same, with errors told from differences.
    pub fn compare_with(&self, txn: &ReadTxn) -> Result<(), Mismatch> {
        self.compare_beside(txn, &[])
    }

    /// The same, beside tables of these names that the model knows nothing of.
    pub fn compare_beside(&self, txn: &ReadTxn, others: &[Vec<u8>]) -> Result<(), Mismatch> {
        let mut names: Vec<Vec<u8>> = self.named().map(TableId::name).collect();
        names.extend_from_slice(others);
        names.sort();
        let mut found = txn.table_names()?;
        let hidden = found.len();
        found.retain(|name| name != SNAPSHOTS_TABLE);
        if found != names {
            return Err(format!("tables are {found:?}, expected {names:?}").into());
        }
        if txn.markers() != self.markers {
            let found = txn.markers();
            return Err(format!("markers are {found:?}, expected {:?}", self.markers).into());
        }
        for id in TableId::all() {
            let compared = match id.values() {
                None => self.compare_table(txn, id, hidden),
                Some(_) => self.compare_multi(txn, id),
            };
            compared.map_err(|mismatch| match mismatch {
                Mismatch::Different(what) => {
                    let name = id.name();
                    Mismatch::Different(format!("table \"{}\": {what}", name.escape_ascii()))
                }
                error => error,
            })?;
        }
        Ok(())
    }

    fn compare_table(&self, txn: &ReadTxn, id: TableId, hidden: usize) -> Result<(), Mismatch> {
        let opened = self.opened(id, txn.open_table(&id.def()))?;
        let hidden = if id.is_main() { hidden } else { 0 };
        match (opened, self.table(id)) {
            (Some(table), Some(records)) => {
                self.compare_sequence(id, table.sequence(txn)?)?;
                compare_records(txn, table, records, hidden)
            }
            _ => Ok(()),
        }
    }

    fn compare_multi(&self, txn: &ReadTxn, id: TableId) -> Result<(), Mismatch> {
        let opened = self.opened(id, txn.open_table(&id.multi_def()))?;
        match (opened, self.multi(id)) {
            (Some(multi), Some(pairs)) => {
                self.compare_sequence(id, multi.sequence(txn)?)?;
                pairs::compare(txn, multi, pairs)
            }
            _ => Ok(()),
        }
    }

    fn compare_sequence(&self, id: TableId, found: u64) -> Result<(), Mismatch> {
        let expected = self.sequence(id);
        if found == expected {
            Ok(())
        } else {
            Err(format!("the sequence is {found}, expected {expected}").into())
        }
    }

    /// The handle that opening a table gave, which exists if it should.
    fn opened<T>(&self, id: TableId, open: huon::Result<Option<T>>) -> Result<Option<T>, Mismatch> {
        let found = match open {
            // An ordinary record has the name.
            Err(huon::Error::NameTaken) if self.hides(id) => None,
            open => open?,
        };
        if found.is_some() == self.exists(id) {
            Ok(found)
        } else {
            Err(format!("it exists: {}", found.is_some()).into())
        }
    }
}

/// Why a comparison failed.
#[derive(Debug)]
pub enum Mismatch {
    /// The environment could not say.
    Error(huon::Error),
    /// It said something else.
    Different(String),
}

impl From<huon::Error> for Mismatch {
    fn from(error: huon::Error) -> Mismatch {
        Mismatch::Error(error)
    }
}

impl From<String> for Mismatch {
    fn from(what: String) -> Mismatch {
        Mismatch::Different(what)
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mismatch::Error(error) => error.fmt(f),
            Mismatch::Different(what) => f.write_str(what),
        }
    }
}

/// Compares a table with its model: every record both ways, by key, and the count. `hidden` records
/// are counted and not shown.
pub fn compare_table<T: Txn>(
    txn: &T,
    table: RawTable,
    records: &Records,
    hidden: usize,
) -> Result<(), String> {
    compare_records(txn, table, records, hidden).map_err(|mismatch| mismatch.to_string())
}

fn compare_records<T: Txn>(
    txn: &T,
    table: RawTable,
    records: &Records,
    hidden: usize,
) -> Result<(), Mismatch> {
    let mut expected = records.iter();
    for found in table.iter(txn)? {
        same(Some(found?), expected.next(), "forward")?;
    }
    same(None, expected.next(), "forward")?;
    let mut expected = records.iter().rev();
    for found in table.iter(txn)?.rev() {
        same(Some(found?), expected.next(), "backward")?;
    }
    same(None, expected.next(), "backward")?;
    for (key, value) in records.iter() {
        let found = table.get(txn, key)?;
        if found != Some(&value[..]) {
            return Err(format!("get {} gave {:?}", short(key), found.map(short)).into());
        }
    }
    let count = table.len(txn)?;
    if count != (records.count() + hidden) as u64 {
        return Err(format!("count is {count}, expected {} + {hidden}", records.count()).into());
    }
    Ok(())
}

/// Compares one record with the expected one.
pub fn same(
    found: Option<(&[u8], &[u8])>,
    expected: Option<&Record>,
    what: &str,
) -> Result<(), String> {
    match (found, expected) {
        (None, None) => Ok(()),
        (Some((key, value)), Some((k, v))) if *key == **k && *value == **v => Ok(()),
        (found, expected) => Err(format!(
            "{what}: found {}, expected {}",
            found.map_or("nothing".into(), |(k, v)| format!("{} = {}", short(k), short(v))),
            expected.map_or("nothing".into(), |(k, v)| format!("{} = {}", short(k), short(v))),
        )),
    }
}

/// Bytes for people: the beginning, and how many there are.
pub fn short(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(24)];
    format!("\"{}\"({})", shown.escape_ascii(), bytes.len())
}

//! The process that recomputes: every snapshot it catches, from the entries alone.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use huon::{Bytes, ReadTxn, TableDef};

use super::tables::{DIRECTORIES, ENTRIES, EXTENSIONS, Totals, directories, extension, root_key};
use crate::fail::{Code, Outcome};
use crate::open;

/// How long to wait where there is nothing new.
const PAUSE: Duration = Duration::from_millis(2);

/// Checks snapshots until standard input ends, and the newest one then; a line for each on standard
/// output: its id, its entries, its mismatches.
pub(super) fn run(dir: &Path, file: &Path) -> Outcome {
    let ended = Arc::new(AtomicBool::new(false));
    let seen = ended.clone();
    thread::spawn(move || {
        let mut rest = Vec::new();
        // An error is an end, too.
        let _ = io::stdin().lock().read_to_end(&mut rest);
        seen.store(true, Ordering::Release);
    });
    let env = open::look(file)?;
    let mut last = 0;
    loop {
        let is_last = ended.load(Ordering::Acquire);
        let txn = env.read()?;
        if txn.id() != last {
            last = txn.id();
            let (entries, mismatches) = recompute(&txn, root_key(dir))?;
            let mut out = io::stdout().lock();
            writeln!(out, "{last} {entries} {mismatches}")?;
            out.flush()?;
        } else if is_last {
            return Ok(Code::Fine);
        } else {
            drop(txn);
            thread::sleep(PAUSE);
        }
    }
}

/// How many entries the snapshot has, and how many of its totals are not what they add up to.
pub(super) fn recompute(txn: &ReadTxn, root: &[u8]) -> huon::Result<(u64, u64)> {
    let Some(table) = txn.open_table(&ENTRIES)? else { return Ok((0, 0)) };
    // Keys borrow the snapshot: nothing is copied.
    let mut by_directory: HashMap<&[u8], Totals> = HashMap::new();
    let mut by_extension: HashMap<&[u8], Totals> = HashMap::new();
    let mut entries = 0;
    for record in table.iter(txn)? {
        let (path, entry) = record?;
        let count = |totals: &mut Totals| {
            totals.entries += 1;
            totals.bytes += entry.bytes();
        };
        for directory in directories(root, path) {
            count(by_directory.entry(directory).or_default());
        }
        if let Some(extension) = extension(path, &entry) {
            count(by_extension.entry(extension).or_default());
        }
        entries += 1;
    }
    let mut mismatches = u64::from(entries != table.len(txn)?);
    mismatches += compare(txn, &DIRECTORIES, &by_directory)?;
    mismatches += compare(txn, &EXTENSIONS, &by_extension)?;
    Ok((entries, mismatches))
}

/// How many records are wrong, too many or missing.
fn compare(
    txn: &ReadTxn,
    def: &TableDef<Bytes, Totals>,
    expected: &HashMap<&[u8], Totals>,
) -> huon::Result<u64> {
    let Some(table) = txn.open_table(def)? else { return Ok(expected.len() as u64) };
    let (mut right, mut wrong) = (0, 0);
    for record in table.iter(txn)? {
        let (key, totals) = record?;
        match expected.get(key) {
            Some(sum) if *sum == totals => right += 1,
            _ => wrong += 1,
        }
    }
    Ok((expected.len() as u64 - right).max(wrong))
}

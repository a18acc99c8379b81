//! The process that writes: entries and totals, a batch a durable commit.
//!
//! 1. Entries and the totals they count in change in one transaction: every snapshot is consistent.
//! 2. It can be killed and started again at any time: an entry that is there already changes the
//!    totals by the difference only.
//! 3. It tells its parent of each commit, and makes the next one only when the parent has answered
//!    the last: so the parent knows that a kill in place of an answer meets an open transaction.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use huon::{Bytes, Env, Error, Table, WriteTxn};
use walkdir::WalkDir;

use super::tables::{
    DIRECTORIES, ENTRIES, EXTENSIONS, Entry, Totals, directories, extension, root_key,
};
use crate::fail::{Code, Failure, Outcome};

/// What a writer is told.
pub(super) struct Task<'a> {
    pub(super) dir: &'a Path,
    pub(super) file: &'a Path,
    pub(super) batch: usize,
    pub(super) limit: usize,
}

/// Everything below `dir`, on its file system. What cannot be read is passed over.
pub(super) fn walk(dir: &Path, limit: usize) -> impl Iterator<Item = walkdir::DirEntry> {
    let tree = WalkDir::new(dir).min_depth(1).same_file_system(true);
    tree.into_iter().filter_map(Result::ok).take(limit)
}

/// Writes everything, and says so on standard output.
pub(super) fn run(task: &Task<'_>) -> Outcome {
    let env = Env::options().create(false).open(task.file)?;
    say(format_args!("ready 0"))?;
    let mut answers = io::stdin().lock().lines();
    let root = root_key(task.dir);
    let mut entries = walk(task.dir, task.limit).peekable();
    let (mut done, mut passed_over) = (0, 0);
    while entries.peek().is_some() {
        let mut txn = env.write()?;
        let mut changes = Changes::default();
        let table = txn.create_table(&ENTRIES)?;
        for found in entries.by_ref().take(task.batch) {
            let Ok(meta) = found.metadata() else { continue };
            let entry = Entry { size: meta.size(), mode: meta.mode(), mtime: meta.mtime() };
            let path = found.into_path().into_os_string().into_vec();
            let old = match table.get(&txn, &path) {
                // Paths may be longer than keys.
                Err(Error::KeyTooLong { .. }) => None,
                got => got?,
            };
            match table.put(&mut txn, &path, &entry) {
                Err(Error::KeyTooLong { .. }) => passed_over += 1,
                put => {
                    put?;
                    changes.replace(root, &path, old.as_ref(), &entry);
                    done += 1;
                }
            }
        }
        changes.apply(&mut txn)?;
        match answers.next() {
            Some(Ok(_)) => txn.commit()?,
            _ => return Ok(Code::Interrupted),
        };
        say(format_args!("done {done}"))?;
    }
    say(format_args!("end {passed_over}"))?;
    Ok(Code::Fine)
}

fn say(line: std::fmt::Arguments<'_>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// What one transaction adds to the totals.
#[derive(Default)]
struct Changes {
    directories: HashMap<Vec<u8>, Change>,
    extensions: HashMap<Vec<u8>, Change>,
}

#[derive(Default, Clone, Copy)]
struct Change {
    entries: i64,
    bytes: i64,
}

impl Changes {
    fn replace(&mut self, root: &[u8], path: &[u8], old: Option<&Entry>, new: &Entry) {
        if old == Some(new) {
            return;
        }
        if let Some(old) = old {
            self.count(root, path, old, -1);
        }
        self.count(root, path, new, 1);
    }

    fn count(&mut self, root: &[u8], path: &[u8], entry: &Entry, sign: i64) {
        let change = Change { entries: sign, bytes: sign * entry.bytes().cast_signed() };
        for directory in directories(root, path) {
            add(&mut self.directories, directory, change);
        }
        if let Some(extension) = extension(path, entry) {
            add(&mut self.extensions, extension, change);
        }
    }

    fn apply(self, txn: &mut WriteTxn) -> huon::Result<()> {
        let directories = txn.create_table(&DIRECTORIES)?;
        let extensions = txn.create_table(&EXTENSIONS)?;
        apply(txn, directories, self.directories)?;
        apply(txn, extensions, self.extensions)
    }
}

fn add(changes: &mut HashMap<Vec<u8>, Change>, key: &[u8], change: Change) {
    if !changes.contains_key(key) {
        changes.insert(key.to_vec(), Change::default());
    }
    if let Some(sum) = changes.get_mut(key) {
        sum.entries += change.entries;
        sum.bytes += change.bytes;
    }
}

fn apply(
    txn: &mut WriteTxn,
    table: Table<Bytes, Totals>,
    changes: HashMap<Vec<u8>, Change>,
) -> huon::Result<()> {
    for (key, change) in changes {
        let old = table.get(txn, &key)?.unwrap_or_default();
        let new = Totals {
            entries: old.entries.wrapping_add_signed(change.entries),
            bytes: old.bytes.wrapping_add_signed(change.bytes),
        };
        match new.entries {
            0 => table.remove(txn, &key)?,
            _ => table.put(txn, &key, &new)?,
        };
    }
    Ok(())
}

//! The short table at the end of the demo.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use huon::{Bytes, Env, ReadTxn, TableDef};

use super::tables::{DIRECTORIES, ENTRIES, EXTENSIONS, Totals, root_key};
use super::{Results, Scene};
use crate::fail::Failure;
use crate::text::{Form, number, size};

/// How long lookups are made for the figure.
const LOOKUPS_FOR: Duration = Duration::from_millis(700);
const TOP: usize = 5;

/// Measures lookups and prints everything.
pub(super) fn print(scene: &Scene, results: &Results) -> Result<(), Failure> {
    let env = Env::options().create(false).open(&scene.file)?;
    let txn = env.read()?;
    let records = |def: &TableDef<Bytes, Totals>| match txn.open_table(def)? {
        Some(table) => table.len(&txn),
        None => Ok(0),
    };
    let (entries, lookups) = look_up(&txn)?;
    let seconds = results.writing.as_secs_f64();
    let info = env.info()?;
    let (directories, extensions) = (records(&DIRECTORIES)?, records(&EXTENSIONS)?);
    say!();
    field("entries", number(entries))?;
    field(
        "totals",
        format!("{} directories, {} extensions", number(directories), number(extensions)),
    )?;
    if results.passed_over > 0 {
        field("left out", format!("{} paths longer than a key", number(results.passed_over)))?;
    }
    field("time", format!("{seconds:.1} s, two runs of the writer, the kill between them"))?;
    field("rate", format!("{} entries a second", number((entries as f64 / seconds) as u64)))?;
    field("file size", format!("{}, {} in use", size(info.file_bytes), size(info.used_bytes)))?;
    field("lookups", format!("{} a second, in random order, one thread", number(lookups)))?;
    field(
        "snapshots",
        format!(
            "{} recomputed while written, {} mismatches",
            number(results.snapshots),
            number(results.mismatches)
        ),
    )?;
    field(
        "the kill cost",
        format!(
            "{} acknowledged entries; {:.1} ms to open, {:.1} ms to check",
            number(results.lost),
            results.open.as_secs_f64() * 1e3,
            results.check.as_secs_f64() * 1e3
        ),
    )?;
    print_largest(&txn, scene)
}

fn field(name: &str, value: impl std::fmt::Display) -> Result<(), Failure> {
    say!("   {name:<15} {value}");
    Ok(())
}

/// How many entries there are, and how many of them can be looked up in a second.
fn look_up(txn: &ReadTxn) -> huon::Result<(u64, u64)> {
    let Some(table) = txn.open_table(&ENTRIES)? else { return Ok((0, 0)) };
    let mut paths = Vec::new();
    for record in table.iter(txn)? {
        paths.push(record?.0);
    }
    fastrand::Rng::with_seed(1).shuffle(&mut paths);
    let (mut found, start) = (0u64, Instant::now());
    for chunk in paths.chunks(1000).cycle() {
        for path in chunk {
            found += u64::from(table.get(txn, path)?.is_some());
        }
        if start.elapsed() > LOOKUPS_FOR {
            break;
        }
    }
    Ok((paths.len() as u64, (found as f64 / start.elapsed().as_secs_f64()) as u64))
}

/// The largest directories below the tree's root, then those in the largest of them, and the
/// largest extensions: each is a range of keys with one prefix.
fn print_largest(txn: &ReadTxn, scene: &Scene) -> Result<(), Failure> {
    let mut prefix = root_key(&scene.dir).to_vec();
    prefix.push(b'/');
    let top = largest(txn, &DIRECTORIES, &prefix, true)?;
    print_list("largest directories", &prefix, &top)?;
    if let Some((first, _)) = top.first() {
        let prefix = [first.as_slice(), b"/"].concat();
        let inside = largest(txn, &DIRECTORIES, &prefix, true)?;
        if !inside.is_empty() {
            print_list("largest directories", &prefix, &inside)?;
        }
    }
    print_list("largest extensions", b".", &largest(txn, &EXTENSIONS, b".", false)?)?;
    say!();
    Ok(())
}

fn print_list(what: &str, prefix: &[u8], list: &[(Vec<u8>, Totals)]) -> Result<(), Failure> {
    let what = format!("{what}, prefix ");
    let what = format!("{what}{}", shown(prefix, 50 - what.len()));
    say!();
    say!("   {what:<50} {:>11} {:>12}", "entries", "bytes");
    for (key, totals) in list {
        let (entries, bytes) = (number(totals.entries), size(totals.bytes));
        say!("   {:<50} {entries:>11} {bytes:>12}", shown(key, 50));
    }
    Ok(())
}

/// The records of largest size among those whose keys begin with `prefix`; with `flat`, only
/// directories right below it.
fn largest(
    txn: &ReadTxn,
    def: &TableDef<Bytes, Totals>,
    prefix: &[u8],
    flat: bool,
) -> huon::Result<Vec<(Vec<u8>, Totals)>> {
    let Some(table) = txn.open_table(def)? else { return Ok(Vec::new()) };
    let mut top: Vec<(Vec<u8>, Totals)> = Vec::new();
    for record in table.prefix(txn, prefix)? {
        let (key, totals) = record?;
        if flat && key[prefix.len()..].contains(&b'/') {
            continue;
        }
        top.push((key.to_vec(), totals));
        top.sort_by_key(|(_, totals)| Reverse(totals.bytes));
        top.truncate(TOP);
    }
    Ok(top)
}

/// A key in at most `width` columns; a long one loses its middle.
fn shown(key: &[u8], width: usize) -> String {
    // UTF-8 is shown as it is; what is none, escaped.
    let text = match std::str::from_utf8(key) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => Form::Plain.show(key),
    };
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= width {
        return text;
    }
    let (head, tail) = (width / 3, width - width / 3 - 2);
    chars[..head].iter().chain(&['.', '.']).chain(&chars[chars.len() - tail..]).collect()
}

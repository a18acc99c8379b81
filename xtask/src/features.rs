//! `cargo xtask features`: the checklist row by row, each with the tests that show it.
//!
//! A row of docs/FEATURES.md is `| id | what | shown by |`. Its last column names tests as
//! [`crate::named`] reads them, or says `not yet` and why. Every named test is run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::named;
use crate::shell::{Shell, shown};
use crate::source::{self, Source};

/// The checklist.
pub(crate) const PAGE: &str = "docs/FEATURES.md";
/// What a row says that nothing shows so far.
const NOT_YET: &str = "not yet";

/// A row: what it is called, and the functions that it names.
struct Row<'p> {
    line: usize,
    id: &'p str,
    named: Vec<(&'p str, &'p str)>,
    not_yet: bool,
}

/// Runs the tests of every row; whether all are there and pass.
pub(crate) fn run(shell: &Shell) -> Result<bool, String> {
    let files = source::files(&shell.root)?;
    let page = files.iter().find(|file| file.path == PAGE).ok_or(format!("{PAGE} is missing"))?;
    let rows = rows(&page.text);
    let complaints = check(&files);
    if !complaints.is_empty() {
        complaints.iter().for_each(|complaint| println!("{complaint}"));
        return Ok(false);
    }
    let tests = list(shell)?;
    let wanted: BTreeSet<&str> =
        rows.iter().flat_map(|row| &row.named).flat_map(|(_, name)| of(&tests, name)).collect();
    let results = results(shell, &wanted)?;
    let mut good = true;
    for row in &rows {
        let (said, ok) = verdict(row, &tests, &results);
        println!("{:<5} {said}", row.id);
        good &= ok;
    }
    let open = rows.iter().filter(|row| row.not_yet).count();
    println!("\n{} rows, {} tests; {open} rows not yet", rows.len(), wanted.len());
    Ok(good)
}

/// Complains about rows that name nothing, or what is not there.
pub(crate) fn check(files: &[Source]) -> Vec<String> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return vec![format!("{PAGE} is missing")];
    };
    let mut complaints = Vec::new();
    let rows = rows(&page.text);
    if rows.is_empty() {
        complaints.push(format!("{PAGE} has no rows"));
    }
    for row in rows {
        let mut add = |what: String| complaints.push(format!("{PAGE}:{}: {what}", row.line));
        if row.named.is_empty() && !row.not_yet {
            add(format!("{} names no test, and does not say that it is {NOT_YET}", row.id));
        }
        for (file, function) in row.named {
            if !named::is_there(files, file, function) {
                add(format!("no `{function}` in any {file}"));
            }
        }
    }
    complaints
}

/// The rows of a page.
fn rows(text: &str) -> Vec<Row<'_>> {
    let is_id = |id: &str| {
        let number = id.trim_start_matches(|c: char| c.is_ascii_uppercase());
        number.len() < id.len() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    };
    let found = text.lines().enumerate().filter_map(|(at, line)| {
        let mut columns = line.strip_prefix('|')?.split('|').map(str::trim);
        let id = columns.next().filter(|id| is_id(id))?;
        let shown_by = columns.nth(1)?;
        let not_yet = shown_by.starts_with(NOT_YET);
        Some(Row { line: at + 1, id, named: named::named(shown_by), not_yet })
    });
    found.collect()
}

/// The paths of all tests, by the name of the function.
fn list(shell: &Shell) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut cargo = shell.cargo(["test", "--workspace", "--", "--list"]);
    each_line(&mut cargo, |line| {
        if let Some(path) = line.strip_suffix(": test") {
            let name = path.rsplit("::").next().unwrap_or(path);
            tests.entry(name.to_owned()).or_default().push(path.to_owned());
        }
    })?;
    Ok(tests)
}

/// The paths of a test.
fn of<'t>(tests: &'t BTreeMap<String, Vec<String>>, name: &str) -> impl Iterator<Item = &'t str> {
    tests.get(name).into_iter().flatten().map(String::as_str)
}

/// Runs the tests; how each went.
fn results(shell: &Shell, wanted: &BTreeSet<&str>) -> Result<BTreeMap<String, bool>, String> {
    let mut results = BTreeMap::new();
    let mut cargo = shell.cargo(["test", "--workspace", "--no-fail-fast", "--lib", "--bins"]);
    cargo.args(["--tests", "--", "--exact"]).args(wanted);
    each_line(&mut cargo, |line| {
        let Some((path, how)) = line.strip_prefix("test ").and_then(|t| t.split_once(" ... "))
        else {
            return;
        };
        // A test of that path may be in several binaries: all must pass.
        let passed = results.entry(path.to_owned()).or_insert(true);
        *passed &= how == "ok";
    })?;
    Ok(results)
}

/// What is said of a row, and whether it is shown.
fn verdict(
    row: &Row<'_>,
    tests: &BTreeMap<String, Vec<String>>,
    results: &BTreeMap<String, bool>,
) -> (String, bool) {
    let mut failed = Vec::new();
    for (_, name) in &row.named {
        let paths: Vec<&str> = of(tests, name).collect();
        let passed = |path: &&str| results.get(*path) == Some(&true);
        if paths.is_empty() {
            failed.push(format!("{name} is no test"));
        } else if !paths.iter().all(passed) {
            failed.push(format!("{name} did not pass"));
        }
    }
    match (failed.is_empty(), row.not_yet) {
        (false, _) => (failed.join(", "), false),
        (true, true) => (NOT_YET.to_owned(), true),
        (true, false) => (format!("ok, {} tests", row.named.len()), true),
    }
}

/// Runs `command` and takes its output line by line.
fn each_line(command: &mut Command, mut each: impl FnMut(&str)) -> Result<(), String> {
    let shown = shown(command);
    eprintln!("+ {}", &shown[..shown.len().min(100)]);
    let fail = |e: std::io::Error| format!("{shown}: {e}");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(fail)?;
    let output = child.stdout.take().ok_or("no output")?;
    for line in BufReader::new(output).lines() {
        each(line.map_err(fail)?.trim_end());
    }
    child.wait().map_err(fail)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "| id | what | shown by |\n|---|---|---|\n\
        | M1 | maps | `a.rs` `one`, `two` |\n| M30 | Windows | not yet: later |\n\
        | X2 | none | nothing |\n| words | no row | `a.rs` `one` |\n";

    #[test]
    fn rows_are_those_with_an_id() {
        let rows = rows(TEXT);
        let found: Vec<_> =
            rows.iter().map(|row| (row.line, row.id, row.named.len(), row.not_yet)).collect();
        assert_eq!(found, [(3, "M1", 2, false), (4, "M30", 0, true), (5, "X2", 0, false)]);
    }

    #[test]
    fn a_row_that_shows_nothing_is_told() {
        let file = |path: &str, text: &str| Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code: None,
        };
        let files = [file(PAGE, TEXT), file("x/a.rs", "fn one() {}")];
        let told = [
            "docs/FEATURES.md:3: no `two` in any a.rs",
            "docs/FEATURES.md:5: X2 names no test, and does not say that it is not yet",
        ];
        assert_eq!(check(&files), told);
        assert_eq!(check(&[]), ["docs/FEATURES.md is missing"]);
    }

    #[test]
    fn a_row_is_good_if_all_its_tests_are() {
        let tests = BTreeMap::from([
            ("one".to_owned(), vec!["a::one".to_owned(), "b::one".to_owned()]),
            ("two".to_owned(), vec!["a::two".to_owned()]),
        ]);
        let row = |names: &[&'static str]| Row {
            line: 1,
            id: "M1",
            named: names.iter().map(|name| ("a.rs", *name)).collect(),
            not_yet: false,
        };
        let mut results = BTreeMap::from([
            ("a::one".to_owned(), true),
            ("b::one".to_owned(), true),
            ("a::two".to_owned(), false),
        ]);
        assert!(verdict(&row(&["one"]), &tests, &results).1);
        assert!(!verdict(&row(&["one", "two"]), &tests, &results).1);
        assert!(!verdict(&row(&["three"]), &tests, &results).1, "it is no test");
        results.remove("b::one");
        assert!(!verdict(&row(&["one"]), &tests, &results).1, "it did not run");
    }
}

//! Pages that say which test shows something must name tests that are there.
//!
//! In a row of a table, `` `files.rs` `a_test` `` names a function of a file; more of that file may
//! follow after commas, as in `` `files.rs` `a_test`, `another` ``. A file may be given with
//! directories before its name, as far as they are needed to tell it from others.
//!
//! The page of invariants names files alone: those must be there, too.

use crate::source::Source;

/// The pages whose tables name tests.
const PAGES: [&str; 2] = ["docs/CATALOGUE.md", "docs/RELIABILITY.md"];

/// The page that says in which files rules are asserted and tested.
const RULES: &str = "docs/INVARIANTS.md";

/// Complains about every named function that no file of that name has, and about named files that
/// are not there, as `path:line: what`.
pub(crate) fn check(files: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for page in PAGES {
        let Some(source) = files.iter().find(|file| file.path == page) else {
            complaints.push(format!("{page} is missing"));
            continue;
        };
        let mut names_count = 0;
        for (at, line) in source.text.lines().enumerate().filter(|(_, line)| line.starts_with('|'))
        {
            for (file, function) in named(line) {
                names_count += 1;
                if !is_there(files, file, function) {
                    complaints.push(format!("{page}:{}: no `{function}` in any {file}", at + 1));
                }
            }
        }
        if names_count == 0 {
            complaints.push(format!("{page} names no test"));
        }
    }
    complaints.extend(files_of_rules(files));
    complaints
}

/// Complains about files and directories that the page of invariants names and that are not there.
fn files_of_rules(files: &[Source]) -> Vec<String> {
    let Some(page) = files.iter().find(|file| file.path == RULES) else {
        return vec![format!("{RULES} is missing")];
    };
    let mut complaints = Vec::new();
    for (at, line) in page.text.lines().enumerate() {
        // Every second part between marks is code.
        for path in line.split('`').skip(1).step_by(2).filter(|code| is_path(code)) {
            let (as_file, as_directory) = (format!("/{path}"), format!("/{path}/"));
            let is_there = files
                .iter()
                .map(|file| format!("/{}", file.path))
                .any(|file| file.ends_with(&as_file) || file.contains(&as_directory));
            if !is_there {
                complaints.push(format!("{RULES}:{}: no `{path}`", at + 1));
            }
        }
    }
    complaints
}

fn is_path(code: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    code.bytes().all(is_part) && (code.ends_with(".rs") || code.contains('/'))
}

/// Files and functions that a row names.
pub(crate) fn named(line: &str) -> Vec<(&str, &str)> {
    let mut names = Vec::new();
    let (mut file, mut between) = (None, "");
    // What lies between marks is code and text in turn.
    for (at, part) in line.split('`').enumerate() {
        if at % 2 == 0 {
            between = part;
            continue;
        }
        let is_name =
            !part.is_empty() && part.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
        file = match file {
            _ if part.ends_with(".rs") => Some((part, true)),
            Some((name, first)) if is_name && between == if first { " " } else { ", " } => {
                names.push((name, part));
                Some((name, false))
            }
            _ => None,
        };
    }
    names
}

/// Whether a file of that name has the function.
pub(crate) fn is_there(files: &[Source], name: &str, function: &str) -> bool {
    let suffix = format!("/{name}");
    let heads = [format!("fn {function}("), format!("fn {function}<")];
    files.iter().any(|file| {
        format!("/{}", file.path).ends_with(&suffix)
            && heads.iter().any(|head| file.text.contains(head))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned(), code: None }
    }

    #[test]
    fn rows_name_functions_of_files() {
        let line = "| A | all of `x` | `a.rs` `one`, `two`; `b/c.rs` `three`, and `Env::read` |";
        assert_eq!(named(line), [("a.rs", "one"), ("a.rs", "two"), ("b/c.rs", "three")]);
        assert_eq!(named("| `a.rs` has `one` | `two` |"), []);
        assert_eq!(named("no marks"), []);
    }

    #[test]
    fn what_is_not_there_is_told() {
        let row = "| `a.rs` `one` | `x/a.rs` `one` | `d/a.rs` `two`, `gone` | `c.rs` `one` |";
        let files = [
            file("docs/CATALOGUE.md", row),
            file("docs/RELIABILITY.md", "| none |"),
            file("docs/INVARIANTS.md", "text\n| R1 | `d/a.rs`, `x/d`, `d/c.rs` | `a/b`, `f()` |"),
            file("x/a.rs", "fn one() {}"),
            file("x/d/a.rs", "fn two<T>() {}"),
            file("x/bc.rs", "fn one() {}"),
        ];
        let told = [
            "docs/CATALOGUE.md:1: no `gone` in any d/a.rs",
            "docs/CATALOGUE.md:1: no `one` in any c.rs",
            "docs/RELIABILITY.md names no test",
            "docs/INVARIANTS.md:2: no `d/c.rs`",
            "docs/INVARIANTS.md:2: no `a/b`",
        ];
        assert_eq!(check(&files), told);
    }
}

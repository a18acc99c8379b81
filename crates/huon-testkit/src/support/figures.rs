//! Figures of a test run: how many images, faults, operations a test went through.
//!
//! `cargo xtask test` names a file in the environment variable `HUON_FIGURES`, sums the lines that
//! tests append to it, and fails when a kind stays at zero. Without the variable nothing is
//! written.
//!
//! 1. A line is written by one `write` to a file opened for appending, so lines of threads and of
//!    child processes do not mix.

use std::fs::OpenOptions;
use std::io::Write;

/// The kinds of figures, in the order of the summary. `unit` is counted by the test run itself.
pub const KINDS: [&str; 8] =
    ["exhaustive", "model", "audit", "crash", "fault", "flip", "fuzz", "kill"];

/// Adds `count` to the figure of `kind`, one of [`KINDS`].
///
/// Call it once at the end of a test, not once per operation: it opens a file.
///
/// ```
/// huon_testkit::figures::add("model", 0);
/// ```
///
/// # Panics
/// If `kind` is unknown, or the file cannot be written.
pub fn add(kind: &str, count: u64) {
    assert!(KINDS.contains(&kind), "unknown kind of figure: {kind}");
    append(&format!("{kind} {count}\n"));
}

/// Tells how many steps of the conformance file a language's binding has run.
///
/// # Panics
/// If `name` is empty or has more than one line, or the file cannot be written.
pub fn language(name: &str, steps: u64) {
    assert!(!name.trim().is_empty() && !name.contains('\n'), "no name of a language: {name}");
    append(&format!("language {name} {steps}\n"));
}

/// Adds `count` to the figure called `name` in the figures file of a proof.
///
/// A name is words joined by dots, as in `kills.writer.total`; one given twice is summed.
///
/// # Panics
/// If `name` has a space or is empty, or the file cannot be written.
pub fn named(name: &str, count: u64) {
    assert!(!name.is_empty() && !name.contains(char::is_whitespace), "no name of a figure: {name}");
    append(&format!("named {name} {count}\n"));
}

/// Puts a table into the figures file of a proof, and prints it: Markdown, with its heading `name`.
///
/// # Panics
/// If `name` has more than one line, or the file cannot be written.
pub fn table(name: &str, markdown: &str) {
    assert!(!name.contains(['\n', '|']), "no name of a table: {name}");
    println!("{name}\n{markdown}");
    let lines = markdown.lines().map(|line| format!("table {name}|{line}\n"));
    append(&lines.collect::<String>());
}

/// Notes that the test `name` did nothing here, and why; it is then counted as skipped, not passed.
///
/// Call it at most once per test and return right after.
///
/// # Panics
/// If `name` or `reason` is empty or has more than one line, or the file cannot be written.
pub fn skip(name: &str, reason: &str) {
    let one_line = |text: &str| !text.trim().is_empty() && !text.contains('\n');
    assert!(one_line(name) && one_line(reason), "a skip needs a name and a reason, a line each");
    eprintln!("skip {name}: {reason}");
    append(&format!("skip {name}: {reason}\n"));
}

fn append(line: &str) {
    let Some(path) = std::env::var_os("HUON_FIGURES") else { return };
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(e) = written {
        panic!("{}: {e}", path.display());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[should_panic(expected = "unknown kind")]
    fn unknown_kind_is_refused() {
        super::add("lucky", 1);
    }

    #[test]
    #[should_panic(expected = "needs a name and a reason")]
    fn skip_needs_a_reason() {
        super::skip("a test", " ");
    }
}

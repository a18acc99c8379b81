//! The C programs of `tests/c`, built with our header, linked to our library, and run.

use std::path::Path;

use crate::library::LIBRARY;
use huon_testkit::c_library::programs::{Built, are_installed, text};

/// What is in `tests/c`, without what has tests of its own: `layout.c`, `growth.c`,
/// `guests.c`, and `mixed.c`, which `mixed.rs` runs.
const PROGRAMS: [&str; 10] = [
    "environment",
    "transactions",
    "tables",
    "data",
    "cursors",
    "duplicates",
    "copies",
    "readers",
    "misuse",
    "limits",
];

/// Those that valgrind watches: not the two that spend their time in filling files.
const WATCHED: [&str; 7] =
    ["transactions", "tables", "data", "cursors", "duplicates", "readers", "misuse"];

#[test]
fn programs_in_c_pass() {
    LIBRARY.programs_pass(&PROGRAMS, "programs_in_c_pass");
}

/// A program need not know of it.
#[test]
fn programs_in_c_pass_with_a_journal() {
    let with = [("HUON_JOURNAL", "65536")];
    LIBRARY.programs_pass_with(&["data", "tables"], &with, "programs_in_c_pass_with_a_journal");
}

#[test]
fn readers_without_write_permission_in_c() {
    LIBRARY.programs_of_two_users_pass(&["guests"], "readers_without_write_permission_in_c");
}

#[test]
fn programs_in_c_are_clean_under_valgrind() {
    LIBRARY.programs_are_clean(&WATCHED, "programs_in_c_are_clean_under_valgrind");
}

/// How many instructions a program takes to put so many records in one transaction.
fn instructions(built: &Built<'_>, program: &Path, count: u32) -> u64 {
    let dir = tempfile::tempdir().expect("a directory");
    let mut valgrind = built.command(Path::new("valgrind"));
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).current_dir(dir.path());
    let output = valgrind.arg(program).arg(count.to_string()).output().expect("valgrind");
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    collected.and_then(|(_, n)| n.trim().parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

/// It is 1.6 times as much, and 2.9 times where each put looks at all pages that have changed.
#[test]
fn twice_as_many_puts_in_a_transaction_cost_about_twice_as_much() {
    const NAME: &str = "twice_as_many_puts_in_a_transaction_cost_about_twice_as_much";
    if !are_installed(&["cc", "valgrind"], NAME) {
        return;
    }
    let built = LIBRARY.built();
    let program = built.shared("growth");
    let [start, once, twice] = [0, 5000, 10_000].map(|n| instructions(&built, &program, n));
    let ratio = (twice - start) as f64 / (once - start) as f64;
    assert!(ratio < 2.2, "{ratio:.2} times as much: {start}, {once}, {twice} instructions");
}

#[test]
fn numbers_and_layouts_in_c_and_cpp() {
    LIBRARY.layout_holds("numbers_and_layouts_in_c_and_cpp");
}

#[test]
fn the_static_library_is_whole() {
    LIBRARY.archive_is_whole("data", "the_static_library_is_whole");
}

#[test]
fn the_library_exports_the_interface_and_nothing_else() {
    LIBRARY.exports_what_is_declared("the_library_exports_the_interface_and_nothing_else");
}

//! The C programs of `tests/c`, built with our header, linked to our library, and run.
//!
//! 1. A program's every case passes; none skips itself, since all of them are written for us.
//! 2. Where valgrind is installed, no case of the watched ones reads or frees what it must not, nor
//!    jumps on what was never written.

#[path = "common/built.rs"]
mod built;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use built::{Built, installed, library, root, text};

/// What is in `tests/c`, without the harness and what has tests of its own: `layout.c`,
/// `growth.c`, and `mixed.c` in `mixed.rs`.
const PROGRAMS: [&str; 9] = [
    "environment",
    "transactions",
    "tables",
    "data",
    "cursors",
    "duplicates",
    "copies",
    "readers",
    "misuse",
];

/// Those that valgrind watches: not the two that spend their time in filling files.
fn watched() -> impl Iterator<Item = &'static str> {
    PROGRAMS.into_iter().filter(|name| !["environment", "copies"].contains(name))
}

/// The functions of the interface.
const FUNCTIONS_COUNT: usize = 56;

/// The number of cases that passed; panics if one did not.
fn cases_passed(name: &str, output: &Output) -> usize {
    let said = text(output);
    assert!(output.status.success(), "{name}: {}\n{said}", output.status);
    assert!(!said.lines().any(|line| line.starts_with("skip ")), "{name}:\n{said}");
    let passed_count = said.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(passed_count > 0, "{name} did nothing:\n{said}");
    passed_count
}

#[test]
fn programs_in_c_pass() {
    if !installed("cc", "programs_in_c_pass") {
        return;
    }
    let built = Built::new();
    let mut failures = Vec::new();
    for name in PROGRAMS {
        let output = built.command(&built.shared(name)).output().expect("a program");
        let run = std::panic::catch_unwind(|| cases_passed(name, &output));
        if run.is_err() {
            failures.push(name);
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn programs_in_c_are_clean_under_valgrind() {
    const NAME: &str = "programs_in_c_are_clean_under_valgrind";
    if !installed("cc", NAME) || !installed("valgrind", NAME) {
        return;
    }
    let built = Built::new();
    let runs = watched().map(|name| {
        let program = built.shared(name);
        let mut valgrind = built.command(Path::new("valgrind"));
        valgrind.args(["--quiet", "--error-exitcode=99", "--leak-check=no"]);
        let run = valgrind.arg(program).env("HUON_C_SMALL", "1");
        run.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        (name, run.spawn().expect("valgrind"))
    });
    for (name, run) in runs.collect::<Vec<_>>() {
        cases_passed(name, &run.wait_with_output().expect("valgrind"));
    }
}

/// How many instructions a program takes to put so many records in one transaction.
fn instructions(built: &Built, program: &Path, count: u32) -> u64 {
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
    if !installed("cc", NAME) || !installed("valgrind", NAME) {
        return;
    }
    let built = Built::new();
    let program = built.shared("growth");
    let [start, once, twice] = [0, 5000, 10_000].map(|n| instructions(&built, &program, n));
    let ratio = (twice - start) as f64 / (once - start) as f64;
    assert!(ratio < 2.2, "{ratio:.2} times as much: {start}, {once}, {twice} instructions");
}

#[test]
fn numbers_and_layouts_in_c_and_cpp() {
    const NAME: &str = "numbers_and_layouts_in_c_and_cpp";
    let built = Built::new();
    let search = format!("-L{}", built.path().display());
    let ways = [("cc", ["-std=c99", "-pedantic"]), ("c++", ["-std=c++11", "-xc++"])];
    for (compiler, flags) in ways {
        if installed(compiler, NAME) {
            let program = built.program(compiler, &flags, "layout.c", &[&search, "-llmdb"]);
            cases_passed(NAME, &built.command(&program).output().expect("a program"));
        }
    }
}

#[test]
fn the_static_library_is_whole() {
    if !installed("cc", "the_static_library_is_whole") {
        return;
    }
    let built = Built::new();
    let archive = library("liblmdb.a");
    let archive = archive.to_str().expect("a path of text");
    let program = built.program("cc", &["-std=gnu99"], "data.c", &[archive, "-ldl", "-lm"]);
    let output = Command::new(program).env("TMPDIR", built.path()).output().expect("a program");
    cases_passed("data", &output);
}

#[test]
fn the_library_exports_the_interface_and_nothing_else() {
    const NAME: &str = "the_library_exports_the_interface_and_nothing_else";
    if !installed("nm", NAME) || !installed("readelf", NAME) {
        return;
    }
    let built = Built::new();
    let header = fs::read_to_string(root().join("include/lmdb.h")).expect("the header");
    let mut nm = Command::new("nm");
    let output = nm.args(["-D", "--defined-only"]).arg(&built.library).output().expect("nm");
    let listed = text(&output);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next_back()).collect();
    for name in &names {
        assert!(header.contains(&format!("{name}(")), "`{name}` is not in the header");
    }
    assert_eq!(names.len(), FUNCTIONS_COUNT, "{listed}");
    let mut readelf = Command::new("readelf");
    let output = readelf.arg("-d").arg(&built.library).output().expect("readelf");
    let dynamic = text(&output);
    assert!(dynamic.contains("soname: [liblmdb.so.0]"), "{dynamic}");
}

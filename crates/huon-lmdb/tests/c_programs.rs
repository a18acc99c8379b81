//! The C programs of `tests/c`, built with our header, linked to our library, and run.
//!
//! 1. A program's every case passes; none skips itself, since all of them are written for us.
//! 2. Where valgrind is installed, no case of the watched ones reads or frees what it must not, nor
//!    jumps on what was never written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use huon_testkit::figures;
use tempfile::TempDir;

/// What is in `tests/c`, without the harness and `layout.c`, which has a test of its own.
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

/// A directory with the library under the names that linkers and programs look for.
struct Built {
    dir: TempDir,
    library: PathBuf,
}

impl Built {
    fn new() -> Built {
        let dir = tempfile::tempdir().expect("a directory");
        let library = library("liblmdb.so");
        symlink(&library, dir.path().join("liblmdb.so")).expect("a link");
        symlink(&library, dir.path().join("liblmdb.so.0")).expect("a link");
        Built { dir, library }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Builds `tests/c/{source}` by `compiler` and `flags`, and gives back the program.
    fn program(&self, compiler: &str, flags: &[&str], source: &str, link: &[&str]) -> PathBuf {
        let program = self.path().join(format!("{source}-{compiler}"));
        let mut command = Command::new(compiler);
        command.args(["-g", "-O1", "-Wall", "-Wextra", "-Werror"]).args(flags);
        command.arg("-I").arg(root().join("include")).arg("-I").arg(root().join("../huon-c/c"));
        command.arg("-o").arg(&program);
        command.arg(root().join("tests/c").join(source)).args(link).arg("-pthread");
        let output = command.output().expect("the compiler runs");
        assert!(output.status.success(), "{source}:\n{}", text(&output));
        program
    }

    /// One of the programs, linked to the shared library.
    fn shared(&self, name: &str) -> PathBuf {
        let search = format!("-L{}", self.path().display());
        self.program("cc", &["-std=gnu99"], &format!("{name}.c"), &[&search, "-llmdb"])
    }

    /// `program`, to be run with the library and a place for its files.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.path()).env("TMPDIR", self.path());
        command
    }
}

/// This package's directory.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A library that cargo has built beside this test.
fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path of this test");
    let deps = test.parent().expect("a directory of tests");
    let found =
        [deps.join(name), deps.join("..").join(name)].into_iter().find(|path| path.exists());
    let found = found.unwrap_or_else(|| panic!("cargo built no {name} in {}", deps.display()));
    found.canonicalize().expect("a path")
}

fn text(output: &Output) -> String {
    let lossy = String::from_utf8_lossy;
    format!("{}{}", lossy(&output.stdout), lossy(&output.stderr))
}

/// Whether a program is installed; if not, `test` is skipped.
fn installed(program: &str, test: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        figures::skip(test, &format!("{program} is not installed"));
    }
    there
}

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

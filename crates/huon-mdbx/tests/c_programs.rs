//! The C programs of `tests/c`, built with our header, linked to our library, and run.
//!
//! 1. A program's every case passes; none skips itself, since all of them are written for us.
//! 2. Where valgrind is installed, no case reads or frees what it must not, nor jumps on what was
//!    never written.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use huon_testkit::figures;
use tempfile::TempDir;

/// Programs of `tests/c`; `layout.c` has a test of its own.
const PROGRAMS: [&str; 1] = ["library"];

/// A directory with the library under the names that linkers and programs look for.
struct Built {
    dir: TempDir,
    library: PathBuf,
}

impl Built {
    fn new() -> Built {
        let dir = tempfile::tempdir().expect("a directory");
        let library = library("libhuon_mdbx.so");
        symlink(&library, dir.path().join("libhuon_mdbx.so")).expect("a link");
        symlink(&library, dir.path().join("libhuon_mdbx.so.0")).expect("a link");
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
        self.program("cc", &["-std=gnu99"], &format!("{name}.c"), &[&search, "-lhuon_mdbx"])
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

/// Panics if a case did not pass.
fn check(name: &str, output: &Output) {
    let said = text(output);
    assert!(output.status.success(), "{name}: {}\n{said}", output.status);
    assert!(!said.lines().any(|line| line.starts_with("skip ")), "{name}:\n{said}");
    assert!(said.lines().any(|line| line.starts_with("ok ")), "{name} did nothing:\n{said}");
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
        if std::panic::catch_unwind(|| check(name, &output)).is_err() {
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
    for name in PROGRAMS {
        let mut valgrind = built.command(Path::new("valgrind"));
        valgrind.args(["--quiet", "--error-exitcode=99", "--leak-check=no"]);
        valgrind.arg(built.shared(name)).env("HUON_C_SMALL", "1");
        check(name, &valgrind.output().expect("valgrind"));
    }
}

#[test]
fn the_static_library_is_whole() {
    if !installed("cc", "the_static_library_is_whole") {
        return;
    }
    let built = Built::new();
    let archive = library("libhuon_mdbx.a");
    let archive = archive.to_str().expect("a path of text");
    let program = built.program("cc", &["-std=gnu99"], "library.c", &[archive, "-ldl", "-lm"]);
    let output = Command::new(program).env("TMPDIR", built.path()).output().expect("a program");
    check("library", &output);
}

#[test]
fn numbers_layouts_and_prototypes_in_c_and_cpp() {
    const NAME: &str = "numbers_layouts_and_prototypes_in_c_and_cpp";
    let built = Built::new();
    let ways = [
        ("cc", ["-std=c99", "-pedantic", "-xc", "-c"]),
        ("c++", ["-std=c++11", "-pedantic", "-xc++", "-c"]),
        ("c++", ["-std=c++17", "-pedantic", "-xc++", "-c"]),
    ];
    for (compiler, flags) in ways.into_iter().filter(|(compiler, _)| installed(compiler, NAME)) {
        built.program(compiler, &flags, "layout.c", &[]);
    }
}

#[test]
fn the_library_exports_what_the_header_declares() {
    const NAME: &str = "the_library_exports_what_the_header_declares";
    if !installed("nm", NAME) || !installed("readelf", NAME) {
        return;
    }
    let built = Built::new();
    let header = fs::read_to_string(root().join("include/mdbx.h")).expect("the header");
    let mut nm = Command::new("nm");
    let output = nm.args(["-D", "--defined-only"]).arg(&built.library).output().expect("nm");
    let listed = text(&output);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next_back()).collect();
    assert!(names.len() > 2, "{listed}");
    for name in &names {
        let declared = [format!("{name}("), format!("{name};")];
        assert!(declared.iter().any(|d| header.contains(d)), "`{name}` is not in the header");
    }
    let mut readelf = Command::new("readelf");
    let output = readelf.arg("-d").arg(&built.library).output().expect("readelf");
    let dynamic = text(&output);
    assert!(dynamic.contains("soname: [libhuon_mdbx.so.0]"), "{dynamic}");
}

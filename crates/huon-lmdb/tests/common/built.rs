//! What cargo has built beside a test, as programs in C look for it, and how those are built.

#![allow(dead_code)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use huon_testkit::figures;
use tempfile::TempDir;

/// A directory with the library under the names that linkers and programs look for.
pub(crate) struct Built {
    dir: TempDir,
    pub(crate) library: PathBuf,
}

impl Built {
    pub(crate) fn new() -> Built {
        let dir = tempfile::tempdir().expect("a directory");
        let library = library("liblmdb.so");
        symlink(&library, dir.path().join("liblmdb.so")).expect("a link");
        symlink(&library, dir.path().join("liblmdb.so.0")).expect("a link");
        Built { dir, library }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Builds `tests/c/{source}` by `compiler` and `flags`, and gives back the program.
    pub(crate) fn program(
        &self,
        compiler: &str,
        flags: &[&str],
        source: &str,
        link: &[&str],
    ) -> PathBuf {
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
    pub(crate) fn shared(&self, name: &str) -> PathBuf {
        let search = format!("-L{}", self.path().display());
        self.program("cc", &["-std=gnu99"], &format!("{name}.c"), &[&search, "-llmdb"])
    }

    /// `program`, to be run with the library and a place for its files.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.path()).env("TMPDIR", self.path());
        command
    }
}

/// This package's directory.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A library that cargo has built beside this test.
pub(crate) fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path of this test");
    let deps = test.parent().expect("a directory of tests");
    let found =
        [deps.join(name), deps.join("..").join(name)].into_iter().find(|path| path.exists());
    let found = found.unwrap_or_else(|| panic!("cargo built no {name} in {}", deps.display()));
    found.canonicalize().expect("a path")
}

pub(crate) fn text(output: &Output) -> String {
    let lossy = String::from_utf8_lossy;
    format!("{}{}", lossy(&output.stdout), lossy(&output.stderr))
}

/// Whether a program is installed; if not, `test` is skipped.
pub(crate) fn installed(program: &str, test: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        figures::skip(test, &format!("{program} is not installed"));
    }
    there
}

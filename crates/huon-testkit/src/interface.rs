//! A library behind a C interface, and the programs in C of its crate (`tests/c`): built with its
//! header, linked to it, and run.
//!
//! 1. A program's every case passes; none skips itself, since all of them are written for us.
//! 2. Where valgrind is installed, no case of the watched ones reads or frees what it must not, nor
//!    jumps on what was never written.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::figures;

/// A library, and where it comes from.
pub struct Interface {
    /// What `-l` of a linker says.
    pub name: &'static str,
    /// What programs look for.
    pub soname: &'static str,
    /// What the names of its functions begin with.
    pub prefix: &'static str,
    /// The crate that builds it.
    pub package_dir: &'static str,
    /// Its header, in `include` there.
    pub header: &'static str,
}

impl Interface {
    /// All cases of programs pass.
    pub fn programs_pass(&self, test: &str, names: &[&str]) {
        if !installed("cc", test) {
            return;
        }
        let built = Built::new(self);
        let failed = |name: &&&str| {
            let output = built.command(&built.shared(name)).output().expect("a program");
            catch_unwind(|| cases_passed(name, &output)).is_err()
        };
        let failures: Vec<_> = names.iter().filter(failed).collect();
        assert!(failures.is_empty(), "{failures:?}");
    }

    /// They do so in valgrind's eyes, too.
    pub fn programs_are_clean_under_valgrind(&self, test: &str, names: &[&str]) {
        if !installed("cc", test) || !installed("valgrind", test) {
            return;
        }
        let built = Built::new(self);
        let start = |name| {
            let mut valgrind = built.command(Path::new("valgrind"));
            valgrind.args(["--quiet", "--error-exitcode=99", "--leak-check=no"]);
            let run = valgrind.arg(built.shared(name)).env("HUON_C_SMALL", "1");
            (name, run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("valgrind"))
        };
        let runs: Vec<_> = names.iter().map(|name| start(name)).collect();
        for (name, run) in runs {
            cases_passed(name, &run.wait_with_output().expect("valgrind"));
        }
    }

    /// A program passes that is built by any of these compilers, with such flags.
    pub fn program_passes_in(&self, test: &str, name: &str, ways: &[(&str, &[&str])]) {
        let built = Built::new(self);
        for (compiler, flags) in ways.iter().filter(|(compiler, _)| installed(compiler, test)) {
            let program = built.program(compiler, flags, name, &built.shared_link());
            cases_passed(name, &built.command(&program).output().expect("a program"));
        }
    }

    /// A program passes that has all of the library in it.
    pub fn static_library_is_whole(&self, test: &str, name: &str) {
        if !installed("cc", test) {
            return;
        }
        let built = Built::new(self);
        let archive = library(&format!("lib{}.a", self.name));
        let archive = archive.to_str().expect("a path of text").to_owned();
        let link = [archive, "-ldl".into(), "-lm".into()];
        let program = built.program("cc", &["-std=gnu99"], name, &link);
        let output = Command::new(program).env("TMPDIR", built.dir.path()).output();
        cases_passed(name, &output.expect("a program"));
    }

    /// The library has what the header declares, and shows nothing else.
    pub fn exports_what_the_header_declares(&self, test: &str) {
        if !installed("nm", test) || !installed("readelf", test) {
            return;
        }
        let shared = library(&format!("lib{}.so", self.name));
        let mut nm = Command::new("nm");
        let output = nm.args(["-D", "--defined-only"]).arg(&shared).output().expect("nm");
        let listed = text(&output);
        let exported = listed.lines().filter_map(|line| line.split(' ').next_back());
        let exported: BTreeSet<String> = exported.map(str::to_owned).collect();
        let declared = self.declared();
        let missing: Vec<_> = declared.difference(&exported).collect();
        let strange: Vec<_> = exported.difference(&declared).collect();
        assert!(missing.is_empty() && strange.is_empty(), "without {missing:?}, with {strange:?}");
        let mut readelf = Command::new("readelf");
        let output = readelf.arg("-d").arg(&shared).output().expect("readelf");
        let dynamic = text(&output);
        assert!(dynamic.contains(&format!("soname: [{}]", self.soname)), "{dynamic}");
    }

    /// The functions and objects that the header has, which has their names in comments, too.
    fn declared(&self) -> BTreeSet<String> {
        let header = self.root().join("include").join(self.header);
        let header = fs::read_to_string(header).expect("the header");
        let mut code = String::new();
        for (at, part) in header.split("/*").enumerate() {
            code += if at == 0 { part } else { part.split_once("*/").expect("an end").1 };
        }
        // Old names are macros.
        let code: String =
            code.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect();
        let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let named = |word: &&str| word.starts_with(self.prefix) && !word.ends_with("_t");
        let declared: BTreeSet<String> = words.filter(named).map(str::to_owned).collect();
        assert!(declared.len() > 50, "the header was not understood");
        declared
    }

    fn root(&self) -> PathBuf {
        PathBuf::from(self.package_dir)
    }
}

/// A directory with the library under the names that linkers and programs look for.
pub struct Built<'i> {
    dir: TempDir,
    of: &'i Interface,
}

impl Built<'_> {
    /// The library that cargo has built beside this test.
    pub fn new(of: &Interface) -> Built<'_> {
        let dir = tempfile::tempdir().expect("a directory");
        let file = format!("lib{}.so", of.name);
        let built = library(&file);
        symlink(&built, dir.path().join(file)).expect("a link");
        symlink(&built, dir.path().join(of.soname)).expect("a link");
        Built { dir, of }
    }

    /// The directory, in which there may be more.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Builds `tests/c/{name}.c` by `compiler` and `flags`, and gives back the program.
    fn program(&self, compiler: &str, flags: &[&str], name: &str, link: &[String]) -> PathBuf {
        let program = self.dir.path().join(format!("{name}-{compiler}"));
        let root = self.of.root();
        let mut command = Command::new(compiler);
        command.args(["-g", "-O1", "-Wall", "-Wextra", "-Werror"]).args(flags);
        command.arg("-I").arg(root.join("include")).arg("-I").arg(root.join("../huon-c/c"));
        command.arg("-o").arg(&program).arg(root.join("tests/c").join(format!("{name}.c")));
        let output = command.args(link).arg("-pthread").output().expect("the compiler runs");
        assert!(output.status.success(), "{name}:\n{}", text(&output));
        program
    }

    fn shared_link(&self) -> [String; 2] {
        [format!("-L{}", self.dir.path().display()), format!("-l{}", self.of.name)]
    }

    /// One of the programs, linked to the shared library.
    pub fn shared(&self, name: &str) -> PathBuf {
        self.program("cc", &["-std=gnu99"], name, &self.shared_link())
    }

    /// `program`, to be run with the library and a place for its files.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.dir.path()).env("TMPDIR", self.dir.path());
        command
    }
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

/// What a program has said.
pub fn text(output: &Output) -> String {
    let lossy = String::from_utf8_lossy;
    format!("{}{}", lossy(&output.stdout), lossy(&output.stderr))
}

/// Whether a program is installed; if not, `test` is skipped.
pub fn installed(program: &str, test: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        figures::skip(test, &format!("{program} is not installed"));
    }
    there
}

/// Panics if one of a program's cases did not pass.
fn cases_passed(name: &str, output: &Output) {
    let said = text(output);
    assert!(output.status.success(), "{name}: {}\n{said}", output.status);
    assert!(!said.lines().any(|line| line.starts_with("skip ")), "{name}:\n{said}");
    assert!(said.lines().any(|line| line.starts_with("ok ")), "{name} did nothing:\n{said}");
}

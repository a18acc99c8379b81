//! Programs in C, built with the header of one of our libraries, linked to it, and run.
//!
//! 1. A program's every case passes; none skips itself, since all of them are written for us.
//! 2. Where valgrind is installed, no case of the watched ones reads or frees what it must not, nor
//!    jumps on what was never written, nor loses memory. What lives as long as the process, as the
//!    places of handles, is found at its end, and not lost.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::support::{figures, scale};

/// A library with an interface in C.
pub struct Library {
    /// As the linker knows it.
    pub name: &'static str,
    /// As cargo builds it, between `lib` and the ending.
    pub built: &'static str,
    /// The crate that builds it, with `include` and `tests/c`.
    pub crate_dir: &'static str,
    /// The file in `include`.
    pub header: &'static str,
}

/// What comes before the lines of a page, which are no program.
const BODY_OF_PAGE: &str = "#include <huon.hpp>\n#include <iostream>\n#include <map>\n\
    int main()\n{\n";
/// What comes behind each program of a page.
const END_OF_PAGE: &str =
    "#include <cstdio>\n[[maybe_unused]] static int said = std::puts(\"ok page\");\n";

/// A directory with the library under the names that linkers and programs look for.
pub struct Built<'l> {
    of: &'l Library,
    dir: TempDir,
}

impl Library {
    /// These programs pass.
    pub fn programs_pass(&self, programs: &[&str], test: &str) {
        self.programs_pass_with(programs, &[], test);
    }

    /// The same with these variables of the environment.
    pub fn programs_pass_with(&self, programs: &[&str], with: &[(&str, &str)], test: &str) {
        if !are_installed(&["cc"], test) {
            return;
        }
        let built = self.built();
        let mut failures = Vec::new();
        for name in programs {
            let mut command = built.command(&built.shared(name));
            let output = command.envs(with.iter().copied()).output().expect("a program");
            if std::panic::catch_unwind(|| check(name, &output)).is_err() {
                failures.push(name);
            }
        }
        assert!(failures.is_empty(), "{failures:?}");
    }

    /// These programs, which start processes of another user, pass; only root can run them.
    pub fn programs_of_two_users_pass(&self, programs: &[&str], test: &str) {
        if rustix::process::geteuid().is_root() {
            self.programs_pass(programs, test);
        } else {
            figures::skip(test, "not run by root");
        }
    }

    /// These programs do nothing that valgrind sees.
    pub fn programs_are_clean(&self, programs: &[&str], test: &str) {
        if !are_installed(&["cc", "valgrind"], test) {
            return;
        }
        let built = self.built();
        let run = |name: &str| {
            let mut valgrind = built.command(Path::new("valgrind"));
            valgrind.args(["--quiet", "--error-exitcode=99"]);
            // A look for leaks at each end of a process, forked ones too, takes long.
            let leaks = if scale::is_full() { "full" } else { "no" };
            valgrind.arg(format!("--leak-check={leaks}"));
            valgrind.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
            valgrind.arg(built.shared(name)).env("HUON_C_WATCHED", "1");
            let output = valgrind.output().expect("valgrind");
            check(name, &output);
            // That of a child which did not end as itself: see `leave` in cases.h.
            let said = text(&output);
            assert!(!said.lines().any(|line| line.starts_with("==")), "{name}:\n{said}");
        };
        // One for each processor: a case that shares one with twenty others is not done in time.
        let next = Mutex::new(programs.iter());
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    while let Some(name) = take() {
                        run(name);
                    }
                });
            }
        });
    }

    /// These programs pass under the address sanitizer and that of undefined behaviour, in what is
    /// compiled here: the programs, and what they do with what the library gives them.
    pub fn programs_pass_sanitized(&self, programs: &[&str], test: &str) {
        if !are_installed(&["cc"], test) {
            return;
        }
        let built = self.built();
        let flags = ["-std=gnu99", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
        let source = format!("{}.c", programs[0]);
        if built.compile("cc", &flags, &source, &built.link()).is_err() {
            figures::skip(test, "the compiler has no sanitizers");
            return;
        }
        for name in programs {
            let program = built.program("cc", &flags, &format!("{name}.c"), &built.link());
            let mut command = built.command(&program);
            // The library has handles that live as long as the process.
            let run = command.env("ASAN_OPTIONS", "detect_leaks=0").output();
            check(name, &run.expect("a program"));
        }
    }

    /// A program in C++ passes, plainly and under the sanitizers where the compiler has them.
    /// `include` is where its own header lies; both paths are the crate's.
    pub fn cpp_passes(&self, source: &str, include: &str, test: &str) {
        if are_installed(&["c++"], test) {
            let source = Path::new(self.crate_dir).join(source);
            self.cpp_source_passes(&source, include, &["-std=c++17", "-std=c++20"], test);
        }
    }

    /// A program in C++ passes over an interface of others, which is these files in `dir`, a header
    /// first and then a source: no other header of theirs is there to be found.
    pub fn cpp_over_others_passes(&self, source: &str, dir: &Path, files: &[&str; 2], test: &str) {
        if !are_installed(&["c++"], test) {
            return;
        }
        let built = self.built();
        for file in files {
            std::fs::copy(dir.join(file), built.path().join(file)).expect("a copy");
        }
        let source = Path::new(self.crate_dir).join(source);
        let source = source.to_str().expect("a path of text");
        let include = format!("-I{}", built.path().display());
        // What the compiler would say is about their code.
        let flags = ["-std=c++17", "-w", &include];
        let theirs = built.path().join(files[1]).display().to_string();
        let [at, library] = built.link();
        let program = built.program("c++", &flags, source, &[theirs, at, library]);
        let run = built.command(&program).current_dir(built.path()).output();
        check(source, &run.expect("a program"));
    }

    /// The pieces of C++ that a page shows pass: each program, and all others together as the body
    /// of one.
    pub fn cpp_of_page_passes(&self, page: &str, include: &str, test: &str) {
        if !are_installed(&["c++"], test) {
            return;
        }
        let text = std::fs::read_to_string(Path::new(self.crate_dir).join(page)).expect("a page");
        let pieces = text.split("```cpp\n").skip(1).filter_map(|piece| piece.split("```").next());
        let (programs, pieces): (Vec<_>, Vec<_>) = pieces.partition(|it| it.contains("int main"));
        let is_code = |line: &&str| !line.starts_with("#include");
        let lines: Vec<_> = pieces.iter().flat_map(|it| it.lines()).filter(is_code).collect();
        let body = format!("{BODY_OF_PAGE}{}\n}}\n", lines.join("\n"));
        let dir = tempfile::tempdir().expect("a directory");
        for (number, program) in programs.into_iter().chain([&*body]).enumerate() {
            let source = dir.path().join(format!("page{number}.cc"));
            std::fs::write(&source, format!("{program}{END_OF_PAGE}")).expect("a file");
            self.cpp_source_passes(&source, include, &["-std=c++17"], test);
        }
    }

    fn cpp_source_passes(&self, source: &Path, include: &str, levels: &[&str], test: &str) {
        let built = self.built();
        let include = format!("-I{}", Path::new(self.crate_dir).join(include).display());
        let source = source.to_str().expect("a path of text");
        for level in levels {
            for watch in [&[][..], &["-fsanitize=address,undefined"]] {
                let flags = [&[*level, "-Wpedantic", &include], watch].concat();
                match built.compile("c++", &flags, source, &built.link()) {
                    Ok(program) => {
                        // It makes files anew.
                        let own = tempfile::tempdir_in(built.path()).expect("a directory");
                        let run = built.command(&program).current_dir(own.path()).output();
                        let run = run.expect("a program");
                        check(source, &run);
                        assert!(run.stderr.is_empty(), "{source}:\n{}", text(&run));
                    }
                    Err(said) if watch.is_empty() => panic!("{source}:\n{said}"),
                    Err(_) => figures::skip(test, "the compiler has no sanitizers"),
                }
            }
        }
    }

    /// The header compiles without a word alone, in every way that programs may ask for.
    pub fn header_is_clean(&self, test: &str) {
        let built = self.built();
        let alone = built.path().join("alone.c");
        std::fs::write(
            &alone,
            format!("#include <{}>\nint main(void) {{ return 0; }}\n", self.header),
        )
        .expect("a file");
        let ways = [
            ("gcc", "-std=c99", "-xc"),
            ("gcc", "-std=c17", "-xc"),
            ("clang", "-std=c99", "-xc"),
            ("g++", "-std=c++11", "-xc++"),
            ("g++", "-std=c++20", "-xc++"),
            ("clang++", "-std=c++17", "-xc++"),
        ];
        for (compiler, level, language) in ways.iter().filter(|(c, ..)| are_installed(&[c], test)) {
            let mut command = Command::new(compiler);
            command.args([*level, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]);
            command.arg("-I").arg(Path::new(self.crate_dir).join("include"));
            let output = command.arg(language).arg(&alone).output().expect("the compiler runs");
            assert!(output.status.success(), "{compiler} {level}:\n{}", text(&output));
        }
    }

    /// This program passes with the static library.
    pub fn archive_is_whole(&self, program: &str, test: &str) {
        if !are_installed(&["cc"], test) {
            return;
        }
        let built = self.built();
        let archive = file(&format!("lib{}.a", self.built));
        let archive = archive.to_str().expect("a path of text");
        let source = format!("{program}.c");
        let binary = built.program("cc", &["-std=gnu99"], &source, &[archive, "-ldl", "-lm"]);
        let output = Command::new(binary).env("TMPDIR", built.dir.path()).output();
        check(program, &output.expect("a program"));
    }

    /// `layout.c` passes as C99 and as C++.
    pub fn layout_holds(&self, test: &str) {
        let built = self.built();
        let ways = [
            ("cc", ["-std=c99", "-pedantic", "-xc"]),
            ("c++", ["-std=c++11", "-pedantic", "-xc++"]),
            ("c++", ["-std=c++17", "-pedantic", "-xc++"]),
        ];
        for (compiler, flags) in ways.iter().filter(|(c, _)| are_installed(&[c], test)) {
            let program = built.program(compiler, flags, "layout.c", &built.link());
            check("layout", &built.command(&program).output().expect("a program"));
        }
    }

    /// The shared library has all that its header declares, and shows nothing else.
    pub fn exports_what_is_declared(&self, test: &str) {
        if !are_installed(&["nm", "readelf"], test) {
            return;
        }
        let shared = file(&format!("lib{}.so", self.built));
        let output = Command::new("nm").args(["-D", "--defined-only"]).arg(&shared).output();
        let listed = text(&output.expect("nm"));
        let names = listed.lines().filter_map(|line| line.split(' ').next_back());
        let exported: BTreeSet<String> = names.map(str::to_owned).collect();
        let declared = self.declared();
        let missing: Vec<_> = declared.difference(&exported).collect();
        let strange: Vec<_> = exported.difference(&declared).collect();
        assert!(missing.is_empty() && strange.is_empty(), "without {missing:?}, with {strange:?}");
        let output = Command::new("readelf").arg("-d").arg(&shared).output();
        let dynamic = text(&output.expect("readelf"));
        let soname = format!("soname: [lib{}.so.0]", self.name);
        assert!(dynamic.contains(&soname), "{dynamic}");
    }

    /// The functions and objects of the header, whose comments have their names, too.
    fn declared(&self) -> BTreeSet<String> {
        let header = Path::new(self.crate_dir).join("include").join(self.header);
        let header = std::fs::read_to_string(header).expect("the header");
        let mut code = String::new();
        for (at, part) in header.split("/*").enumerate() {
            code += if at == 0 { part } else { part.split_once("*/").expect("an end").1 };
        }
        let lines = code.lines().filter(|line| !line.starts_with('#'));
        let words = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
        // All names begin with that of the header.
        let prefix = self.header.replace(".h", "_").replace("lmdb_", "mdb_");
        let types = types(&code);
        let is_declared = |word: &&str| {
            word.starts_with(&prefix) && !word.ends_with("_t") && !types.contains(*word)
        };
        let declared: BTreeSet<String> = words.filter(is_declared).map(str::to_owned).collect();
        assert!(declared.len() > 50, "the header was not understood");
        declared
    }

    /// The library that cargo has built beside this test.
    pub fn built(&self) -> Built<'_> {
        let dir = tempfile::tempdir().expect("a directory");
        let shared = format!("lib{}.so", self.name);
        for name in [shared.clone(), format!("{shared}.0")] {
            symlink(file(&format!("lib{}.so", self.built)), dir.path().join(name)).expect("a link");
        }
        Built { of: self, dir }
    }
}

impl Built<'_> {
    /// The directory, in which there may be more.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Builds `source`, of `tests/c` or anywhere, by `compiler` and `flags`, and gives back the
    /// program.
    fn program(
        &self,
        compiler: &str,
        flags: &[&str],
        source: &str,
        link: &[impl AsRef<str>],
    ) -> PathBuf {
        self.compile(compiler, flags, source, link)
            .unwrap_or_else(|said| panic!("{source}:\n{said}"))
    }

    /// The same; what the compiler says if it fails.
    fn compile(
        &self,
        compiler: &str,
        flags: &[&str],
        source: &str,
        link: &[impl AsRef<str>],
    ) -> Result<PathBuf, String> {
        let name = Path::new(source).file_name().expect("a name").to_string_lossy();
        let program = self.dir.path().join(format!("{name}-{compiler}"));
        let root = Path::new(self.of.crate_dir);
        let mut command = Command::new(compiler);
        command.args(["-g", "-O1", "-Wall", "-Wextra", "-Werror"]).args(flags);
        command.arg("-I").arg(root.join("include")).arg("-I").arg(root.join("../huon-c/c"));
        command.arg("-o").arg(&program).arg(root.join("tests/c").join(source));
        command.args(link.iter().map(AsRef::as_ref)).arg("-pthread");
        let output = command.output().expect("the compiler runs");
        if output.status.success() { Ok(program) } else { Err(text(&output)) }
    }

    /// What a linker needs to be told.
    fn link(&self) -> [String; 2] {
        [format!("-L{}", self.dir.path().display()), format!("-l{}", self.of.name)]
    }

    /// One of the programs, linked to the shared library.
    pub fn shared(&self, name: &str) -> PathBuf {
        self.program("cc", &["-std=gnu99"], &format!("{name}.c"), &self.link())
    }

    /// `program`, to be run with the library and a place for its files.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.dir.path()).env("TMPDIR", self.dir.path());
        command
    }
}

/// The names that `typedef` gives.
fn types(code: &str) -> BTreeSet<String> {
    let named = code.lines().filter_map(|line| {
        let named = line.strip_prefix("typedef ").or(line.strip_prefix("} "))?;
        let name = match named.split_once("(*") {
            Some((_, pointer)) => pointer.split_once(')')?.0,
            None => named.trim_end_matches([';', ' ']).rsplit(' ').next()?,
        };
        Some(name.to_owned())
    });
    named.collect()
}

/// What cargo has built beside this test.
fn file(name: &str) -> PathBuf {
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

/// Whether all of these are installed; if not, `test` is skipped.
pub fn are_installed(programs: &[&str], test: &str) -> bool {
    let is_there = |program: &&&str| {
        Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
    };
    let missing = programs.iter().find(|program| !is_there(program));
    if let Some(program) = missing {
        figures::skip(test, &format!("{program} is not installed"));
    }
    missing.is_none()
}

/// Panics if a case did not pass.
fn check(name: &str, output: &Output) {
    let said = text(output);
    assert!(output.status.success(), "{name}: {}\n{said}", output.status);
    assert!(!said.lines().any(|line| line.starts_with("skip ")), "{name}:\n{said}");
    assert!(said.lines().any(|line| line.starts_with("ok ")), "{name} did nothing:\n{said}");
}

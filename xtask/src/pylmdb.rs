//! `cargo xtask pylmdb`: the test suite of py-lmdb, built against our header and library, and tests
//! of our own with it.
//!
//! 1. The only liblmdb in the tests' process is the one that is to be tested; a plugin looks.
//! 2. Every test has a result. A process that dies or hangs is a failure of the test that it was
//!    at, and the others are run without that one.
//! 3. What fails must be listed as expected, and what is listed must fail.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::Shell;

/// What is tested, and how many tests have a result there, skipped ones included. (The 45 tests of
/// `cve_test.py` of 3.0.0, which begin by looking for LMDB's own pages in a file, count as one.)
const VERSIONS: [(&str, usize); 2] = [("2.3.0", 416), ("3.0.0", 502)];
/// Of our own, with each version.
const OWN_TESTS: usize = 10;

/// How often a file's tests are begun again after a process that died.
const DEATHS_MAX: usize = 30;

const EXPECTED: &str = "crates/huon-lmdb/tests/pylmdb/expected.txt";
const PLUGIN_DIR: &str = "crates/huon-lmdb/tests/pylmdb";

/// What to run.
pub(crate) struct Wish {
    /// Versions of py-lmdb; all of `VERSIONS` if none is given.
    pub(crate) versions: Vec<String>,
    /// Another library than ours, to try the harness: directories of `liblmdb.so` and `lmdb.h`.
    pub(crate) other: Option<(PathBuf, PathBuf)>,
    /// Only tests whose name has this in it.
    pub(crate) only: Option<String>,
}

/// One run: a library, and where py-lmdb is built for it.
struct Run<'a> {
    shell: &'a Shell,
    /// The room of all of this in the target directory.
    dir: PathBuf,
    library_dir: PathBuf,
    include_dir: PathBuf,
}

/// A test's result: `passed`, `skipped`, `failed` or `died`.
type Results = BTreeMap<String, String>;

/// Runs the suites; false if something failed that was not expected to, or the other way round.
pub(crate) fn run(shell: &Shell, wish: &Wish) -> Result<bool, String> {
    let dir = shell.target.join("pylmdb");
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let (library_dir, include_dir) = match &wish.other {
        Some(other) => other.clone(),
        None => (ours(shell, &dir)?, shell.root.join("crates/huon-lmdb/include")),
    };
    let run = Run { shell, dir, library_dir, include_dir };
    run.environment()?;
    let mut good = true;
    for (version, tests_count) in VERSIONS {
        if !wish.versions.is_empty() && !wish.versions.iter().any(|wanted| wanted == version) {
            continue;
        }
        let source = run.source(version)?;
        run.build(&source)?;
        let results = run.tests(&source, wish.only.as_deref())?;
        report(version, &results);
        if wish.other.is_none() && wish.only.is_none() {
            let expected = expected(shell, version)?;
            good &= judge(&results, &expected, tests_count + OWN_TESTS);
        }
    }
    Ok(good)
}

/// Builds our library and gives back a directory in which it has its usual names.
fn ours(shell: &Shell, dir: &Path) -> Result<PathBuf, String> {
    if !shell.run(&mut shell.cargo(["build", "--release", "-p", "huon-lmdb"]))? {
        return Err("the library does not build".into());
    }
    let library_dir = dir.join("lib");
    let _ = fs::remove_dir_all(&library_dir);
    fs::create_dir_all(&library_dir).map_err(|e| format!("{}: {e}", library_dir.display()))?;
    for name in ["liblmdb.so", "liblmdb.so.0"] {
        symlink(shell.target.join("release/liblmdb.so"), library_dir.join(name))
            .map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(library_dir)
}

impl Run<'_> {
    /// The Python of an environment of its own.
    fn python(&self) -> PathBuf {
        self.dir.join("venv/bin/python")
    }

    /// Makes that environment, with pytest and what a build of an extension needs.
    fn environment(&self) -> Result<(), String> {
        if self.dir.join("venv/bin/pytest").exists() {
            return Ok(());
        }
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(self.dir.join("venv"));
        let mut fill = Command::new(self.python());
        fill.args(["-m", "pip", "install", "--quiet", "pytest", "setuptools", "wheel"]);
        if self.shell.run(&mut make)? && self.shell.run(&mut fill)? {
            Ok(())
        } else {
            Err("no environment for Python".into())
        }
    }

    /// The unpacked sources of a version, fetched once.
    fn source(&self, version: &str) -> Result<PathBuf, String> {
        let name = format!("lmdb-{version}");
        let source = self.dir.join(&name);
        if source.join("setup.py").exists() {
            return Ok(source);
        }
        let mut fetch = Command::new(self.python());
        fetch.args(["-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps"]);
        fetch.arg("--dest").arg(&self.dir).arg(format!("lmdb=={version}"));
        fetch.env("LMDB_FORCE_SYSTEM", "1");
        let mut unpack = Command::new("tar");
        unpack.arg("-C").arg(&self.dir).arg("-xzf").arg(self.dir.join(format!("{name}.tar.gz")));
        if self.shell.run(&mut fetch)? && self.shell.run(&mut unpack)? {
            Ok(source)
        } else {
            Err(format!("{name} cannot be had"))
        }
    }

    /// Builds the extension against the header and the library.
    fn build(&self, source: &Path) -> Result<(), String> {
        let mut build = Command::new(self.python());
        build.args(["setup.py", "--quiet", "build_ext", "--inplace", "--force"]);
        build.current_dir(source).env("LMDB_FORCE_SYSTEM", "1").env("LMDB_FORCE_CPYTHON", "1");
        build.env("LMDB_INCLUDEDIR", &self.include_dir).env("LMDB_LIBDIR", &self.library_dir);
        build.stdout(std::process::Stdio::null());
        if self.shell.run(&mut build)? { Ok(()) } else { Err("py-lmdb does not build".into()) }
    }

    /// Runs the tests of each file in a process of its own.
    fn tests(&self, source: &Path, only: Option<&str>) -> Result<Results, String> {
        let mut results = Results::new();
        let theirs = test_files(&source.join("tests"))?.into_iter();
        let theirs = theirs.map(|name| (source.to_owned(), format!("tests/{name}")));
        let own_dir = self.shell.root.join(PLUGIN_DIR);
        let own = test_files(&own_dir)?.into_iter().map(|name| (own_dir.clone(), name));
        for (dir, file) in theirs.chain(own) {
            let mut died = Vec::new();
            for _ in 0..=DEATHS_MAX {
                let found = self.file(source, (&dir, &file), only, &died)?;
                let at_death = found.iter().find(|(_, result)| *result == "start");
                let at_death = at_death.map(|(name, _)| name.clone());
                results.extend(found.into_iter().filter(|(_, result)| result != "start"));
                let Some(name) = at_death else { break };
                results.insert(name.clone(), "died".into());
                died.push(name);
            }
        }
        Ok(results)
    }

    /// Runs the tests of one file in a directory; the one at which the process ended has the result
    /// `start`.
    fn file(
        &self,
        source: &Path,
        (dir, file): (&Path, &str),
        only: Option<&str>,
        without: &[String],
    ) -> Result<Results, String> {
        let told = self.dir.join("results.txt");
        let _ = fs::remove_file(&told);
        let mut pytest = Command::new(self.python());
        pytest.args(["-m", "pytest", "-q", "--tb=short", "-p", "huon_plugin", "-m", ""]);
        pytest.args(["-p", "no:cacheprovider", file]).current_dir(dir);
        pytest.args(without.iter().map(|name| format!("--deselect={name}")));
        pytest.args(only.map(|only| format!("-k={only}")));
        let plugin_dir = self.shell.root.join(PLUGIN_DIR);
        let modules = format!("{}:{}", source.display(), plugin_dir.display());
        pytest.env("PYTHONPATH", modules).env("PYTHONDONTWRITEBYTECODE", "1");
        pytest.env("LD_LIBRARY_PATH", &self.library_dir).env("LMDB_FORCE_SYSTEM", "1");
        pytest.env("LMDB_FORCE_CPYTHON", "1").env("HUON_LMDB_RESULTS", &told);
        pytest.env("HUON_LMDB_LIBRARY", self.library_dir.join("liblmdb.so"));
        let success = self.shell.run(&mut pytest)?;
        let text = fs::read_to_string(&told).map_err(|e| format!("{file} told nothing: {e}"))?;
        let mut results = results(&text);
        if !success && results.is_empty() && only.is_none() {
            results.insert(file.to_owned(), "failed".into());
        }
        Ok(results)
    }
}

/// The files of tests in a directory.
fn test_files(dir: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut files: Vec<String> = names.filter(|name| name.ends_with("_test.py")).collect();
    files.sort();
    Ok(files)
}

/// The last that was told of each test, where a failure outweighs what comes after it.
fn results(text: &str) -> Results {
    let mut results = Results::new();
    for line in text.lines() {
        let Some((result, name)) = line.split_once(' ') else { continue };
        let known = results.get(name).is_some_and(|known| known == "failed");
        if matches!(result, "start" | "passed" | "failed" | "skipped") && !known {
            results.insert(name.to_owned(), result.to_owned());
        }
    }
    results
}

fn count(results: &Results, wanted: &str) -> usize {
    results.values().filter(|result| *result == wanted).count()
}

fn has_failed(result: &str) -> bool {
    matches!(result, "failed" | "died")
}

fn report(version: &str, results: &Results) {
    println!("\npy-lmdb {version}:");
    for (name, result) in results.iter().filter(|(_, result)| has_failed(result)) {
        println!("  {result} {name}");
    }
    let [passed, failed, died, skipped] =
        ["passed", "failed", "died", "skipped"].map(|result| count(results, result));
    println!("  {passed} passed, {} failed ({died} died), {skipped} skipped", failed + died);
}

/// The tests of a version that are listed as failing.
fn expected(shell: &Shell, version: &str) -> Result<Vec<String>, String> {
    let text =
        fs::read_to_string(shell.root.join(EXPECTED)).map_err(|e| format!("{EXPECTED}: {e}"))?;
    let compatibility = shell.root.join("docs/COMPATIBILITY.md");
    let reasons = fs::read_to_string(&compatibility).unwrap_or_default();
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.splitn(3, ' ');
        let (Some(of), Some(name), Some(reason)) = (words.next(), words.next(), words.next())
        else {
            return Err(format!("{EXPECTED}: not version, test and section: {line}"));
        };
        if !reasons.lines().any(|heading| heading.trim_start_matches('#').trim() == reason) {
            return Err(format!("{EXPECTED}: docs/COMPATIBILITY.md has no section `{reason}`"));
        }
        if of == version {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Compares what failed with what was expected to.
fn judge(results: &Results, expected: &[String], tests_count: usize) -> bool {
    let mut complaints = Vec::new();
    for (name, result) in results {
        match (has_failed(result), expected.contains(name)) {
            (true, false) => complaints.push(format!("{result}: {name}")),
            (false, true) => complaints.push(format!("{result}, but expected to fail: {name}")),
            _ => {}
        }
    }
    let gone = expected.iter().filter(|name| !results.contains_key(*name));
    complaints.extend(gone.map(|name| format!("there is no {name}")));
    if results.len() != tests_count {
        complaints.push(format!("{} tests, expected {tests_count}", results.len()));
    }
    complaints.iter().for_each(|complaint| println!("  {complaint}"));
    println!("  {} expected failures, {} complaints", expected.len(), complaints.len());
    complaints.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_began_and_did_not_end_is_noticed() {
        let found = results("library x\nstart a\npassed a\nstart b::c d\n");
        assert_eq!(found["a"], "passed");
        assert_eq!(found["b::c d"], "start");
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_failure_outweighs_what_follows() {
        assert_eq!(results("start a\nfailed a\npassed a\n")["a"], "failed");
    }

    #[test]
    fn only_what_is_expected_may_fail() {
        let found = results("failed a\npassed b\nskipped c\n");
        let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        assert!(judge(&found, &names(&["a"]), 3));
        assert!(!judge(&found, &names(&["a"]), 4));
        assert!(!judge(&found, &[], 3));
        assert!(!judge(&found, &names(&["a", "b"]), 3));
        assert!(!judge(&found, &names(&["a", "d"]), 3));
    }
}

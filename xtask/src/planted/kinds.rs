//! The kinds of tests, cheapest first, and the binaries that they are made of.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::shell::Shell;

/// A kind's name, and the package and the targets that belong to it (all if none is named).
struct Class {
    name: &'static str,
    package: &'static str,
    targets: &'static [&'static str],
}

const fn class(
    name: &'static str,
    package: &'static str,
    targets: &'static [&'static str],
) -> Class {
    Class { name, package, targets }
}

/// A binary belongs to the first class that fits.
const CLASSES: [Class; 12] = [
    class("costs", "huon_testkit", &["costs"]),
    class("kills", "huon_testkit", &["kills"]),
    class("hostile", "huon_testkit", &["hostile"]),
    class("flips", "huon_testkit", &["flips"]),
    class("unit", "huon", &["src/lib.rs"]),
    class("interface", "huon", &[]),
    class("model", "huon_testkit", &["histories"]),
    class("catalogue", "huon_testkit", &["catalogue"]),
    class("faults", "huon_testkit", &["faults", "syscalls", "alloc"]),
    class("crash", "huon_testkit", &["crash"]),
    class("shuttle", "shuttle", &[]),
    class("loom", "loom", &[]),
];

/// A kind of tests.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// They run one after another.
    pub(crate) binaries: Vec<PathBuf>,
    /// Only tests with this in their names run.
    pub(crate) filter: Option<&'static str>,
}

/// The names of all kinds, cheapest first.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CLASSES.iter().map(|class| class.name)
}

/// Builds the tests with the bugs in them, of the kinds named in `only`, or all.
pub(crate) fn build(shell: &Shell, only: &[String]) -> Result<Vec<Kind>, String> {
    if let Some(unknown) = only.iter().find(|name| names().all(|known| known != **name)) {
        let known: Vec<&str> = names().collect();
        return Err(format!("no kind is called {unknown}; there are {}", known.join(", ")));
    }
    let is_wanted = |class: &&Class| only.is_empty() || only.iter().any(|name| *name == class.name);
    let classes: Vec<&Class> = CLASSES.iter().filter(is_wanted).collect();
    let mut found = Vec::new();
    for model in ["loom", "shuttle"] {
        if classes.iter().any(|class| class.package == model) {
            found.push((model.to_owned(), String::new(), build_models(shell, model)?));
        }
    }
    if classes.iter().any(|class| class.package.starts_with("huon")) {
        found.extend(build_tests(shell)?);
    }
    let mut kinds: Vec<Kind> = classes.iter().map(|class| kind(class)).collect();
    for (package, target, path) in found {
        let of = CLASSES.iter().find(|class| class.holds(&package, &target));
        let class = of.ok_or(format!("the tests {target} of {package} belong to no kind"))?;
        if let Some(kind) = kinds.iter_mut().find(|kind| kind.name == class.name) {
            kind.binaries.push(path);
        }
    }
    match kinds.iter().find(|kind| kind.binaries.is_empty()) {
        Some(empty) => Err(format!("there are no tests of the kind {}", empty.name)),
        None => Ok(kinds),
    }
}

fn kind(class: &Class) -> Kind {
    let is_model = !class.package.starts_with("huon");
    Kind { name: class.name, binaries: Vec::new(), filter: is_model.then_some(class.package) }
}

impl Class {
    fn holds(&self, package: &str, target: &str) -> bool {
        self.package == package && (self.targets.is_empty() || self.targets.contains(&target))
    }
}

/// The tests as they usually are: package, target and path of each binary.
fn build_tests(shell: &Shell) -> Result<Vec<(String, String, PathBuf)>, String> {
    let target = shell.target.join("planted");
    let mut cargo = shell.cargo(["test", "--no-run", "-p", "huon", "--lib"]);
    cargo.args(["-p", "huon-testkit", "--tests", "--features", "huon/planted,huon/simulation"]);
    let found = said(shell, cargo.env("CARGO_TARGET_DIR", target))?;
    // The test kit's own unit tests test the test kit.
    let of_engine =
        |(package, name, _): &(String, String, PathBuf)| package == "huon" || name != "src/lib.rs";
    Ok(found.into_iter().filter(of_engine).collect())
}

/// The engine's own tests, built for `model`, loom or shuttle.
fn build_models(shell: &Shell, model: &str) -> Result<PathBuf, String> {
    let mut cargo = shell.cargo(["test", "--no-run", "-p", "huon", "--lib", "--features"]);
    match model {
        "loom" => cargo.args(["planted", "--release"]),
        _ => cargo.arg("planted,simulation"),
    };
    cargo.env("CARGO_TARGET_DIR", shell.target.join(format!("planted-{model}")));
    cargo.env("RUSTFLAGS", format!("--cfg {model}"));
    let found = said(shell, &mut cargo)?;
    found.into_iter().next().map(|(_, _, path)| path).ok_or("cargo named no test binary".into())
}

/// Builds, and reads which binaries came out.
fn said(
    shell: &Shell,
    cargo: &mut std::process::Command,
) -> Result<Vec<(String, String, PathBuf)>, String> {
    let output = cargo.stderr(Stdio::piped()).output().map_err(|e| format!("cargo: {e}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("the tests do not build with the bugs:\n{text}"));
    }
    Ok(text.lines().filter_map(|line| binary(&shell.root, line)).collect())
}

/// Reads `  Executable tests/crash/main.rs (/path/to/planted/debug/deps/crash-0123)`; all but the
/// unit tests are named after their file, or its directory. Which package it is of shows where the
/// source lies.
fn binary(root: &Path, line: &str) -> Option<(String, String, PathBuf)> {
    let rest = line.trim().strip_prefix("Executable ")?;
    let (name, path) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let file = Path::new(path).file_name()?.to_str()?.rsplit_once('-')?.0;
    let path = root.join(path);
    if name == "unittests src/lib.rs" {
        return Some((file.to_owned(), "src/lib.rs".to_owned(), path));
    }
    let source = name.strip_prefix("tests/")?;
    let is_engine = root.join("crates/huon/tests").join(source).exists();
    let package = if is_engine { "huon" } else { "huon_testkit" };
    Some((package.to_owned(), file.to_owned(), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_read() {
        let read = |line| {
            let shell = Shell::new().unwrap();
            let (package, target, path) = binary(&shell.root, line)?;
            assert!(path.ends_with("t/x-01"), "{}", path.display());
            Some((package, target))
        };
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        let unit = "  Executable unittests src/lib.rs (t/x-01)";
        assert_eq!(read(unit), pair("x", "src/lib.rs"));
        assert_eq!(read("  Executable tests/crash/main.rs (t/x-01)"), pair("huon_testkit", "x"));
        assert_eq!(read("  Executable tests/api/main.rs (t/x-01)"), pair("huon", "x"));
        assert_eq!(read("   Compiling huon v0.1.0 (t/x-01)"), None);
    }

    #[test]
    fn every_test_of_the_kit_is_of_a_kind() {
        let shell = Shell::new().unwrap();
        for entry in std::fs::read_dir(shell.root.join("crates/huon-testkit/tests")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_held = CLASSES.iter().any(|class| class.holds("huon_testkit", name));
            assert!(is_held, "{name} is of no kind");
        }
    }
}

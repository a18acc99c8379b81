//! The kinds of tests, cheapest first, and the binaries that they are made of.

use std::path::PathBuf;

use crate::built;
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
const CLASSES: [Class; 15] = [
    class("costs", "huon-testkit", &["costs"]),
    class("kills", "huon-testkit", &["kills"]),
    class("hostile", "huon-testkit", &["hostile"]),
    class("flips", "huon-testkit", &["flips"]),
    class("unit", "huon", &["lib"]),
    class("interface", "huon", &[]),
    class("lsm", "huon-lsm", &[]),
    class("lsm-crash", "huon-testkit", &["lsm"]),
    class("model", "huon-testkit", &["features", "histories"]),
    class("follow", "huon-testkit", &["follow"]),
    class("catalogue", "huon-testkit", &["catalogue"]),
    class("faults", "huon-testkit", &["faults", "syscalls", "alloc"]),
    class("crash", "huon-testkit", &["crash"]),
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
    let mut cargo = shell.cargo(["test", "-p", "huon", "--lib", "-p", "huon-lsm"]);
    cargo.args(["-p", "huon-testkit", "--tests", "--features"]);
    cargo.arg("huon/planted,huon/simulation,huon-lsm/planted");
    let found = built::build(cargo.env("CARGO_TARGET_DIR", target))?;
    let named = found.into_iter().map(|it| (it.package().to_owned(), it.target, it.path));
    // The test kit's own unit tests test the test kit.
    Ok(named.filter(|(package, target, _)| package != "huon-testkit" || target != "lib").collect())
}

/// The engine's own tests, built for `model`, loom or shuttle.
fn build_models(shell: &Shell, model: &str) -> Result<PathBuf, String> {
    let mut cargo = shell.cargo(["test", "-p", "huon", "--lib", "--features"]);
    match model {
        "loom" => cargo.args(["planted", "--release"]),
        _ => cargo.arg("planted,simulation"),
    };
    cargo.env("CARGO_TARGET_DIR", shell.target.join(format!("planted-{model}")));
    cargo.env("RUSTFLAGS", format!("--cfg {model}"));
    let found = built::build(&mut cargo)?;
    found.into_iter().next().map(|it| it.path).ok_or("cargo named no test binary".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_of_the_kit_is_of_a_kind() {
        let shell = Shell::new().unwrap();
        for entry in std::fs::read_dir(shell.root.join("crates/huon-testkit/tests")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_held = CLASSES.iter().any(|class| class.holds("huon-testkit", name));
            assert!(is_held, "{name} is of no kind");
        }
    }
}

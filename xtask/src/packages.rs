//! Whether the crates that are published make packages without a word from cargo.

use crate::shell::{Shell, shown};

/// The crates for crates.io; the others, which only test Huon, say `publish = false`.
const PUBLISHED: [&str; 9] = [
    "huon",
    "huon-text",
    "huon-cli",
    "huon-c",
    "huon-capi",
    "huon-lmdb",
    "huon-lsm",
    "huon-mdbx",
    "huon-ship",
];

/// True if cargo packs them and has nothing to say about it. It builds nothing and uses no network.
pub(crate) fn are_clean(shell: &Shell) -> Result<bool, String> {
    let mut package = shell.cargo(["package", "--no-verify", "--allow-dirty", "--offline"]);
    package.args(PUBLISHED.iter().flat_map(|name| ["-p", name]));
    eprintln!("+ {}", shown(&package));
    let output = package.output().map_err(|e| format!("{}: {e}", shown(&package)))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let clean = output.status.success() && is_clean(&said);
    if !clean {
        eprintln!("{said}");
    }
    Ok(clean)
}

fn is_clean(said: &str) -> bool {
    !said.lines().any(|line| line.starts_with("warning") || line.starts_with("error"))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn a_warning_is_not_clean() {
        assert!(is_clean("   Packaging huon v0.1.0\n    Packaged 254 files\n"));
        assert!(!is_clean("   Packaging huon v0.1.0\nwarning: manifest has no documentation\n"));
    }

    fn crates() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
    }

    fn manifest(name: &str) -> String {
        std::fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap()
    }

    /// What a registry shows and searches; cargo asks for a part of it only.
    #[test]
    fn packages_say_what_they_are() {
        let version = "version = \"0.1.0\"";
        for name in PUBLISHED {
            let manifest = manifest(name);
            for field in ["description", "readme", "documentation", "keywords", "categories"] {
                let is_it = |line: &str| line.starts_with(&format!("{field} = "));
                assert!(manifest.lines().any(is_it), "{name} has no {field}");
            }
            assert!(manifest.contains("[package.metadata.docs.rs]\n"), "{name}: docs.rs");
            let (_, needs) = manifest.split_once("\n[dependencies]\n").unwrap();
            let needs = needs.lines().take_while(|line| !line.starts_with('['));
            for line in needs.filter(|line| line.contains("path = ")) {
                assert!(line.contains(version), "{name}: {line}");
            }
        }
    }

    #[test]
    fn all_that_is_published_is_looked_at() {
        let mut published = Vec::new();
        for entry in std::fs::read_dir(crates()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if !manifest(&name).contains("publish = false") {
                published.push(name);
            }
        }
        published.sort();
        let mut expected = PUBLISHED.map(String::from);
        expected.sort();
        assert_eq!(published, expected);
    }
}

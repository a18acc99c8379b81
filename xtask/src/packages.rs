//! Whether the crates that are published make packages without a word from cargo.

use crate::shell::{Shell, shown};

/// The crates for crates.io; the others say `publish = false`.
const PUBLISHED: [&str; 3] = ["huon", "huon-text", "huon-cli"];

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
    use std::path::Path;

    use super::*;

    #[test]
    fn a_warning_is_not_clean() {
        assert!(is_clean("   Packaging huon v0.1.0\n    Packaged 254 files\n"));
        assert!(!is_clean("   Packaging huon v0.1.0\nwarning: manifest has no documentation\n"));
    }

    #[test]
    fn all_that_is_published_is_looked_at() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let mut published = Vec::new();
        for entry in std::fs::read_dir(crates).unwrap() {
            let entry = entry.unwrap();
            let manifest = std::fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
            if !manifest.contains("publish = false") {
                published.push(entry.file_name().into_string().unwrap());
            }
        }
        published.sort();
        let mut expected = PUBLISHED.map(String::from);
        expected.sort();
        assert_eq!(published, expected);
    }
}

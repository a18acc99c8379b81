//! The test binaries that cargo builds, from what it says of them as JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::shell::shown;

/// A test binary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Binary {
    /// The directory of its package, which is called like the package.
    pub(crate) root: PathBuf,
    /// `lib` for the unit tests of a library, else the name of a file, or its directory.
    pub(crate) target: String,
    pub(crate) path: PathBuf,
}

impl Binary {
    pub(crate) fn package(&self) -> &str {
        self.root.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Package and target.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.package(), self.target)
    }

    /// Starts it as cargo does.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.root).env("CARGO_MANIFEST_DIR", &self.root);
        command
    }
}

/// Builds tests by `cargo test` with the arguments that it has, and runs none.
pub(crate) fn build(cargo: &mut Command) -> Result<Vec<Binary>, String> {
    cargo.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let shown = shown(cargo);
    eprintln!("+ {shown}");
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| format!("{shown}: {e}"))?;
    if !output.status.success() {
        return Err("the tests do not build: see above".into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(binary).collect())
}

/// Reads one message: a test binary, or something else.
fn binary(message: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(message).ok()?;
    let (target, path) = (&message["target"], message["executable"].as_str()?);
    if message["profile"]["test"] != Value::Bool(true) {
        return None;
    }
    let root = Path::new(message["manifest_path"].as_str()?).parent()?;
    let is_library = target["kind"].as_array()?.iter().any(|kind| kind == "lib" || kind == "rlib");
    let target = if is_library { "lib" } else { target["name"].as_str()? };
    Some(Binary { root: root.to_owned(), target: target.to_owned(), path: path.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_binaries_are_read_and_nothing_else() {
        let message = |kind: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/huon/Cargo.toml",
                "target":{{"kind":["{kind}"],"name":"api"}},"profile":{{"test":{test}}},
                "executable":{executable}}}"#
            )
        };
        let read = |kind, test, path| {
            let found = binary(&message(kind, test, path))?;
            assert_eq!(found.path, Path::new("/t/x-01"));
            Some(found.name())
        };
        assert_eq!(read("test", true, r#""/t/x-01""#).as_deref(), Some("huon api"));
        assert_eq!(read("rlib", true, r#""/t/x-01""#).as_deref(), Some("huon lib"));
        assert_eq!(read("bin", false, r#""/t/x-01""#), None, "a program");
        assert_eq!(read("lib", true, "null"), None);
        assert_eq!(binary("   Compiling huon v0.1.0"), None);
    }
}

//! What a language needs on this machine, and which version of it is here.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::languages::{JDK, Language};
use crate::shell::Shell;

/// A program that has to be there.
pub(super) struct Tool {
    pub(super) program: &'static str,
    /// What makes it tell its version.
    pub(super) asks: &'static str,
    /// The least version, of two numbers.
    pub(super) least: (u32, u32),
}

/// Where distributions put JDKs, of which the one on the path need not be the newest.
const JDKS: &str = "/usr/lib/jvm";

/// What commands of a language find in their environment; or what this machine lacks.
pub(super) fn environment(
    shell: &Shell,
    language: &Language,
) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let mut found = vec![("CARGO_TARGET_DIR", shell.target.clone())];
    for tool in language.tools {
        if tool.program == JDK.program {
            found.extend(jdk()?.map(|home| ("JAVA_HOME", home)));
        } else {
            check(tool, Path::new(tool.program))?;
        }
    }
    Ok(found)
}

/// Whether a program is there in the least version, or a later one.
fn check(tool: &Tool, program: &Path) -> Result<(), String> {
    let (major, minor) = tool.least;
    let asked = Command::new(program).arg(tool.asks).output();
    let wanted = match tool.least {
        (0, 0) => format!("`{}`", tool.program),
        _ => format!("`{}` {major}.{minor} or later", tool.program),
    };
    let Ok(said) = asked else { return Err(format!("{wanted} is not here")) };
    let text = [said.stdout, said.stderr].concat();
    match version(&String::from_utf8_lossy(&text)) {
        Some(found) if found >= tool.least => Ok(()),
        Some((major, minor)) => Err(format!("{wanted} is needed, and {major}.{minor} is here")),
        None => Err(format!("{wanted} is needed, and the one here does not tell its version")),
    }
}

/// The home of a JDK that will do; `None`: the one on the path does.
fn jdk() -> Result<Option<PathBuf>, String> {
    let is_good = |home: &PathBuf| check(&JDK, &home.join("bin/java")).is_ok();
    let named = std::env::var_os("JAVA_HOME").map(PathBuf::from).filter(is_good);
    if named.is_some() {
        return Ok(named);
    }
    let on_path = check(&JDK, Path::new(JDK.program));
    let Err(why) = on_path else { return Ok(None) };
    let others = std::fs::read_dir(JDKS).into_iter().flatten().flatten();
    let mut homes: Vec<PathBuf> = others.map(|entry| entry.path()).collect();
    homes.sort();
    homes.into_iter().find(is_good).map(Some).ok_or(why)
}

/// The first number in what a program says, and the one behind a point.
fn version(text: &str) -> Option<(u32, u32)> {
    let text = without_colours(text);
    let from = &text[text.find(|c: char| c.is_ascii_digit())?..];
    let end = from.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(from.len());
    let mut numbers = from[..end].split('.').map(str::parse);
    let major = numbers.next()?.ok()?;
    Some((major, numbers.next().and_then(Result::ok).unwrap_or(0)))
}

/// Without the sequences that terminals understand, which have numbers in them.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or("", |(_, rest)| rest));
    std::iter::once(first).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_tell_their_versions_in_many_ways() {
        assert_eq!(version("go version go1.26.8 linux/amd64"), Some((1, 26)));
        assert_eq!(version("Python 3.11.7\n"), Some((3, 11)));
        assert_eq!(version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(version("openjdk version \"25\" 2025-09-16"), Some((25, 0)));
        assert_eq!(version("\u{1b}[1mApache Maven 3.8.7\u{1b}[m\n"), Some((3, 8)));
        assert_eq!(version("no number"), None);
    }

    #[test]
    fn what_is_missing_or_too_old_is_said() {
        let tool = |program, least| Tool { program, asks: "--version", least };
        let why = |tool: Tool| check(&tool, Path::new(tool.program)).unwrap_err();
        assert_eq!(why(tool("no-such-tool", (0, 0))), "`no-such-tool` is not here");
        let why = why(tool("cargo", (999, 1)));
        assert!(why.starts_with("`cargo` 999.1 or later is needed, and 1."), "{why}");
        assert_eq!(check(&tool("cargo", (1, 90)), Path::new("cargo")), Ok(()));
    }
}

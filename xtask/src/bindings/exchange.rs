//! Files of one language, read by all others.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::Present;
use crate::shell::Shell;

/// Has each language make a file, and all read all of them.
pub(super) fn run(shell: &Shell, languages: &[Present]) -> Result<bool, String> {
    let dir = tempfile::tempdir().map_err(|e| format!("a directory: {e}"))?;
    let path = |present: &Present| dir.path().join(format!("{}.huon", present.language.name));
    let mut good = true;
    for present in languages {
        let path = path(present);
        good &= one(shell, present, "HUON_EXCHANGE_WRITE", path.as_ref())?;
        if !path.exists() {
            // Of a runner that does not know the variable.
            println!("exchange: {} made no file", present.language.shown);
            return Ok(false);
        }
    }
    let all: Vec<PathBuf> = languages.iter().map(path).collect();
    let all = std::env::join_paths(all).map_err(|e| format!("paths: {e}"))?;
    for present in languages {
        good &= one(shell, present, "HUON_EXCHANGE_READ", &all)?;
    }
    if good {
        let names: Vec<&str> = languages.iter().map(|present| present.language.shown).collect();
        println!("exchange: each reads the files of all: {}", names.join(", "));
    }
    Ok(good)
}

fn one(shell: &Shell, by: &Present, name: &str, value: &OsStr) -> Result<bool, String> {
    let mut command = by.command(shell, by.language.exchange);
    let good = shell.run(command.env(name, value))?;
    if !good {
        println!("exchange: {} failed: {name}={}", by.language.shown, value.display());
    }
    Ok(good)
}

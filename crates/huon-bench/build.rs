//! Says which engines are built: `cfg(engine_X)` for each, and `ABSENT_X` with the reason for each
//! of the others. An engine needs its feature, and some need a library of the system.

use std::process::{Command, Stdio};

/// Engines and the system's libraries that they need; none for those that bring their sources.
const ENGINES: &[(&str, Option<&str>)] = &[("huon", None), ("lmdb", None), ("mdbx", None)];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for &(engine, library) in ENGINES {
        println!("cargo::rustc-check-cfg=cfg(engine_{engine})");
        match (has_feature(engine), library) {
            (false, _) if engine == "mdbx" => {
                absent(engine, "built without the feature mdbx, which needs libclang");
            }
            (false, _) => absent(engine, &format!("built without the feature {engine}")),
            (true, Some(library)) if !links(library) => {
                absent(engine, &format!("no library {library}; `make bench-deps` installs it"));
            }
            (true, library) => {
                println!("cargo::rustc-cfg=engine_{engine}");
                if let Some(library) = library {
                    println!("cargo::rustc-link-lib={library}");
                }
            }
        }
    }
    println!("cargo::rustc-env=HUON_COMMIT={}", commit());
}

fn absent(engine: &str, reason: &str) {
    println!("cargo::rustc-env=ABSENT_{engine}={reason}");
}

fn has_feature(engine: &str) -> bool {
    std::env::var_os(format!("CARGO_FEATURE_{}", engine.to_uppercase())).is_some()
}

/// Whether a program can be linked with the library.
fn links(library: &str) -> bool {
    let Some(dir) = std::env::var_os("OUT_DIR") else { return false };
    let source = std::path::Path::new(&dir).join("empty.c");
    if std::fs::write(&source, "int main(void) { return 0; }\n").is_err() {
        return false;
    }
    Command::new("cc")
        .arg(&source)
        .args([format!("-l{library}"), "-o".to_owned()])
        .arg(source.with_extension("out"))
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The commit that Huon is built from.
fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    let changed = git(&["status", "--porcelain", "--", "../huon"]).is_some_and(|s| !s.is_empty());
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(commit) if changed => format!("{commit}, changed"),
        Some(commit) => commit,
        None => "unknown".to_owned(),
    }
}

//! Says which engines are built: `cfg(engine_X)` for each, and `ABSENT_X` with the reason for each
//! of the others. An engine needs its feature, and some need a library of the distribution.

use std::process::{Command, Stdio};

/// Engines, by the names of their modules, and the libraries of the distribution that they need;
/// none for those that bring their sources.
const ENGINES: &[(&str, Option<&str>)] = &[
    ("huon", None),
    ("huon_lsm", None),
    ("lmdb", None),
    ("mdbx", None),
    ("redb", None),
    ("canopydb", None),
    ("fjall", None),
    ("rocksdb", Some("rocksdb")),
    ("leveldb", Some("leveldb")),
    ("sqlite", Some("sqlite3")),
    ("bdb", Some("db-5.3")),
    ("bf_tree", None),
];

/// Engines that do not say their version: it is the locked one.
const SILENT: [&str; 4] = ["redb", "canopydb", "fjall", "bf_tree"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for &(engine, library) in ENGINES {
        println!("cargo::rustc-check-cfg=cfg(engine_{engine})");
        match (has_feature(engine), library) {
            (false, _) if engine == "mdbx" => {
                absent(engine, "built without the feature mdbx, which needs libclang");
            }
            (false, _) => {
                let feature = engine.replace('_', "-");
                absent(engine, &format!("built without the feature {feature}"));
            }
            (true, Some(library)) if !links(library) => {
                absent(engine, &format!("no library {library}; `make bench-deps` installs it"));
            }
            (true, _) if engine == "bdb" && !builds_bdb() => {
                absent(engine, "no header db.h; `make bench-deps` installs it");
            }
            (true, library) => {
                println!("cargo::rustc-cfg=engine_{engine}");
                if let Some(library) = library {
                    println!("cargo::rustc-link-lib={library}");
                }
            }
        }
    }
    println!("cargo::rerun-if-changed=Cargo.lock");
    for engine in SILENT {
        println!("cargo::rustc-env=VERSION_{engine}={}", locked(engine));
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

/// Builds the functions that Berkeley DB is called through, if its header is there.
fn builds_bdb() -> bool {
    println!("cargo::rerun-if-changed=c/bdb.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-fsyntax-only", "-include", "db.h", "-x", "c", "/dev/null"]);
    if !compiler.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return false;
    }
    cc::Build::new().file("c/bdb.c").compile("bdb-functions");
    true
}

/// The version of a crate that the lock file has.
fn locked(name: &str) -> String {
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    let name = format!("name = \"{}\"", name.replace('_', "-"));
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = "));
    version.unwrap_or("unknown").trim_matches('"').to_owned()
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
    let sources = ["../huon", "../huon-lsm"];
    let changed = git(&[&["status", "--porcelain", "--"][..], &sources].concat());
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(commit) if changed.is_some_and(|files| !files.is_empty()) => {
            format!("{commit}, changed")
        }
        Some(commit) => commit,
        None => "unknown".to_owned(),
    }
}

//! The C++ interface of libmdbx, `mdbx.h++`, over our header and our library. It is libmdbx's own,
//! as a release has it: its templates and inline functions call what `mdbx.h` declares.
//!
//! It is looked for in the folder that `HUON_MDBX_CPP` names, and in the sources of the crate
//! `mdbx-sys` that cargo has fetched for others.

use std::path::PathBuf;

use huon_testkit::figures;

use crate::c_programs::LIBRARY;

/// The release whose header ours follows.
const VERSION: &str = "mdbx-sys-0.11.8";
const FILES: [&str; 2] = ["mdbx.h++", "mdbx.c++"];

/// A folder that has it.
fn interface() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("HUON_MDBX_CPP") {
        return Some(PathBuf::from(named));
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")))?;
    let registries = std::fs::read_dir(home.join("registry/src")).ok()?;
    let crates = registries.filter_map(|registry| std::fs::read_dir(registry.ok()?.path()).ok());
    crates.flatten().filter_map(Result::ok).find_map(|of| {
        let dir = of.path().join("libmdbx");
        let is_it = of.file_name().to_string_lossy().starts_with(VERSION);
        (is_it && FILES.iter().all(|file| dir.join(file).exists())).then_some(dir)
    })
}

#[test]
fn the_cpp_interface_of_libmdbx_works_unchanged() {
    const NAME: &str = "the_cpp_interface_of_libmdbx_works_unchanged";
    let Some(theirs) = interface() else {
        figures::skip(NAME, "mdbx.h++ of libmdbx 0.11.8 is not here: see CONTRIBUTING.md");
        return;
    };
    LIBRARY.cpp_over_others_passes("tests/cpp/interface.cc", &theirs, &FILES, NAME);
}

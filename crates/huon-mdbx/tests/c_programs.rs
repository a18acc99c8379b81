//! The C programs of `tests/c`, built with our header, linked to our library, and run.

use huon_testkit::c_programs::Library;

const LIBRARY: Library =
    Library { name: "huon_mdbx", crate_dir: env!("CARGO_MANIFEST_DIR"), header: "mdbx.h" };

/// Programs of `tests/c`; `layout.c` has a test of its own.
const PROGRAMS: [&str; 1] = ["library"];

#[test]
fn programs_in_c_pass() {
    LIBRARY.programs_pass(&PROGRAMS, "programs_in_c_pass");
}

#[test]
fn programs_in_c_are_clean_under_valgrind() {
    LIBRARY.programs_are_clean(&PROGRAMS, "programs_in_c_are_clean_under_valgrind");
}

#[test]
fn the_static_library_is_whole() {
    LIBRARY.archive_is_whole("library", "the_static_library_is_whole");
}

#[test]
fn numbers_layouts_and_prototypes_in_c_and_cpp() {
    LIBRARY.layout_holds(false, "numbers_layouts_and_prototypes_in_c_and_cpp");
}

#[test]
fn the_library_exports_what_the_header_declares() {
    let exports = LIBRARY.exports("the_library_exports_what_the_header_declares");
    assert!(exports.is_none_or(|names| names.len() > 2));
}

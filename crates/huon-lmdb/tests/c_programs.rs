//! The C programs of `tests/c`, built with our header, linked to our library, and run.

use huon_testkit::c_programs::Library;

const LIBRARY: Library =
    Library { name: "lmdb", crate_dir: env!("CARGO_MANIFEST_DIR"), header: "lmdb.h" };

/// What is in `tests/c`, without `layout.c`, which has a test of its own.
const PROGRAMS: [&str; 9] = [
    "environment",
    "transactions",
    "tables",
    "data",
    "cursors",
    "duplicates",
    "copies",
    "readers",
    "misuse",
];

/// Those that valgrind watches: not the two that spend their time in filling files.
const WATCHED: [&str; 7] =
    ["transactions", "tables", "data", "cursors", "duplicates", "readers", "misuse"];

#[test]
fn programs_in_c_pass() {
    LIBRARY.programs_pass(&PROGRAMS, "programs_in_c_pass");
}

#[test]
fn programs_in_c_are_clean_under_valgrind() {
    LIBRARY.programs_are_clean(&WATCHED, "programs_in_c_are_clean_under_valgrind");
}

#[test]
fn numbers_and_layouts_in_c_and_cpp() {
    LIBRARY.layout_holds("numbers_and_layouts_in_c_and_cpp");
}

#[test]
fn the_static_library_is_whole() {
    LIBRARY.archive_is_whole("data", "the_static_library_is_whole");
}

#[test]
fn the_library_exports_the_interface_and_nothing_else() {
    LIBRARY.exports_what_is_declared("the_library_exports_the_interface_and_nothing_else");
}

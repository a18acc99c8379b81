//! The C programs of `tests/c`, built with our header, linked to our library, and run.

use huon_testkit::c_library::programs::Library;

pub(crate) const LIBRARY: Library = Library {
    name: "huon_mdbx",
    built: "huon_mdbx",
    crate_dir: env!("CARGO_MANIFEST_DIR"),
    header: "mdbx.h",
};

/// What is in `tests/c`, without `layout.c` and `guests.c`, which have tests of their own.
const PROGRAMS: [&str; 15] = [
    "environment",
    "copies",
    "readers",
    "transactions",
    "tables",
    "data",
    "cursors",
    "duplicates",
    "misses",
    "estimates",
    "library",
    "misuse",
    "limits",
    "processes",
    "random",
];

/// Those that valgrind watches: not those that spend their time in filling files.
const WATCHED: [&str; 8] =
    ["transactions", "tables", "data", "cursors", "duplicates", "estimates", "library", "misuse"];

#[test]
fn programs_in_c_pass() {
    LIBRARY.programs_pass(&PROGRAMS, "programs_in_c_pass");
}

/// A program need not know of it.
#[test]
fn programs_in_c_pass_with_a_journal() {
    let with = [("HUON_JOURNAL", "65536")];
    LIBRARY.programs_pass_with(&["data", "tables"], &with, "programs_in_c_pass_with_a_journal");
}

#[test]
fn readers_without_write_permission_in_c() {
    LIBRARY.programs_of_two_users_pass(&["guests"], "readers_without_write_permission_in_c");
}

#[test]
fn programs_in_c_are_clean_under_valgrind() {
    LIBRARY.programs_are_clean(&WATCHED, "programs_in_c_are_clean_under_valgrind");
}

#[test]
fn the_static_library_is_whole() {
    LIBRARY.archive_is_whole("library", "the_static_library_is_whole");
}

#[test]
fn numbers_layouts_and_prototypes_in_c_and_cpp() {
    LIBRARY.layout_holds("numbers_layouts_and_prototypes_in_c_and_cpp");
}

#[test]
fn the_library_exports_what_the_header_declares() {
    LIBRARY.exports_what_is_declared("the_library_exports_what_the_header_declares");
}

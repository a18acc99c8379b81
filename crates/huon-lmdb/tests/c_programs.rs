//! The C programs of `tests/c`, built with our header, linked to our library, and run.

use huon_testkit::interface::Interface;

const LMDB: Interface = Interface {
    name: "lmdb",
    soname: "liblmdb.so.0",
    prefix: "mdb_",
    package_dir: env!("CARGO_MANIFEST_DIR"),
    header: "lmdb.h",
};

/// Those that spend their time in filling files.
const LONG: [&str; 2] = ["environment", "copies"];
/// The others, without `layout.c`, which has a test of its own.
const SHORT: [&str; 7] =
    ["transactions", "tables", "data", "cursors", "duplicates", "readers", "misuse"];

#[test]
fn programs_in_c_pass() {
    LMDB.programs_pass("programs_in_c_pass", &[&LONG[..], &SHORT[..]].concat());
}

#[test]
fn programs_in_c_are_clean_under_valgrind() {
    LMDB.programs_are_clean_under_valgrind("programs_in_c_are_clean_under_valgrind", &SHORT);
}

#[test]
fn numbers_and_layouts_in_c_and_cpp() {
    let ways: [(&str, &[&str]); 2] =
        [("cc", &["-std=c99", "-pedantic"]), ("c++", &["-std=c++11", "-xc++"])];
    LMDB.program_passes_in("numbers_and_layouts_in_c_and_cpp", "layout", &ways);
}

#[test]
fn the_static_library_is_whole() {
    LMDB.static_library_is_whole("the_static_library_is_whole", "data");
}

#[test]
fn the_library_exports_the_interface_and_nothing_else() {
    LMDB.exports_what_the_header_declares("the_library_exports_the_interface_and_nothing_else");
}

//! The C programs of `tests/c`, built with our header, linked to our library, and run.

use huon_testkit::interface::Interface;

const MDBX: Interface = Interface {
    name: "huon_mdbx",
    soname: "libhuon_mdbx.so.0",
    prefix: "mdbx_",
    package_dir: env!("CARGO_MANIFEST_DIR"),
    header: "mdbx.h",
};

/// Those that spend their time in filling files.
const LONG: [&str; 3] = ["environment", "copies", "readers"];
/// The others, without `layout.c`, which has a test of its own.
const SHORT: [&str; 8] =
    ["transactions", "tables", "data", "cursors", "duplicates", "estimates", "library", "misuse"];

#[test]
fn programs_in_c_pass() {
    MDBX.programs_pass("programs_in_c_pass", &[&LONG[..], &SHORT[..]].concat());
}

#[test]
fn programs_in_c_are_clean_under_valgrind() {
    MDBX.programs_are_clean_under_valgrind("programs_in_c_are_clean_under_valgrind", &SHORT);
}

#[test]
fn numbers_layouts_and_prototypes_in_c_and_cpp() {
    let ways: [(&str, &[&str]); 3] = [
        ("cc", &["-std=c99", "-pedantic", "-xc"]),
        ("c++", &["-std=c++11", "-pedantic", "-xc++"]),
        ("c++", &["-std=c++17", "-pedantic", "-xc++"]),
    ];
    MDBX.program_passes_in("numbers_layouts_and_prototypes_in_c_and_cpp", "layout", &ways);
}

#[test]
fn the_static_library_is_whole() {
    MDBX.static_library_is_whole("the_static_library_is_whole", "data");
}

#[test]
fn the_library_exports_the_interface_and_nothing_else() {
    MDBX.exports_what_the_header_declares("the_library_exports_the_interface_and_nothing_else");
}

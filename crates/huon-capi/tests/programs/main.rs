//! Programs in C and C++, built with the header, linked to the library, and run.

mod install;

use huon_testkit::c_library::programs::Library;

pub(crate) const LIBRARY: Library = Library {
    name: "huon",
    built: "huon_capi",
    crate_dir: env!("CARGO_MANIFEST_DIR"),
    header: "huon.h",
};

/// What is in `tests/c`, without `layout.c`.
const PROGRAMS: [&str; 6] = ["first", "records", "misuse", "lsm", "asking", "snapshots"];

#[test]
fn programs_in_c_pass() {
    LIBRARY.programs_pass(&PROGRAMS, "programs_in_c_pass");
}

#[test]
fn programs_in_c_are_clean_under_valgrind() {
    LIBRARY.programs_are_clean(&PROGRAMS, "programs_in_c_are_clean_under_valgrind");
}

#[test]
fn programs_in_c_are_clean_under_sanitizers() {
    LIBRARY.programs_pass_sanitized(&PROGRAMS, "programs_in_c_are_clean_under_sanitizers");
}

#[test]
fn a_program_in_cpp_passes() {
    let (source, include) = ("../../bindings/cpp/tests/first.cc", "../../bindings/cpp");
    LIBRARY.cpp_passes(source, include, "a_program_in_cpp_passes");
}

#[test]
fn what_else_cpp_has_passes() {
    let (source, include) = ("../../bindings/cpp/tests/more.cc", "../../bindings/cpp");
    LIBRARY.cpp_passes(source, include, "what_else_cpp_has_passes");
}

#[test]
fn what_cpp_may_do_wrong_is_refused() {
    let (source, include) = ("../../bindings/cpp/tests/misuse.cc", "../../bindings/cpp");
    LIBRARY.cpp_passes(source, include, "what_cpp_may_do_wrong_is_refused");
}

#[test]
fn what_cpp_keeps_ends_with_its_thread_and_the_program() {
    let (source, include) = ("../../bindings/cpp/tests/ends.cc", "../../bindings/cpp");
    LIBRARY.cpp_passes(source, include, "what_cpp_keeps_ends_with_its_thread_and_the_program");
}

#[test]
fn the_pages_of_cpp_show_programs_that_pass() {
    for page in ["../../bindings/cpp/README.md", "../../docs/C.md", "../../docs/LANGUAGES.md"] {
        let test = "the_pages_of_cpp_show_programs_that_pass";
        LIBRARY.cpp_of_page_passes(page, "../../bindings/cpp", test);
    }
}

#[test]
fn the_header_is_clean_in_c_and_cpp() {
    LIBRARY.layout_holds("the_header_is_clean_in_c_and_cpp");
    LIBRARY.header_is_clean("the_header_is_clean_in_c_and_cpp");
}

#[test]
fn the_static_library_is_whole() {
    LIBRARY.archive_is_whole("records", "the_static_library_is_whole");
}

#[test]
fn the_library_exports_the_interface_and_nothing_else() {
    LIBRARY.exports_what_is_declared("the_library_exports_the_interface_and_nothing_else");
}

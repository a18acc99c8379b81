//! What `make install-lmdb` installs is found by pkg-config and CMake, and programs built so run.

use huon_testkit::c_library::package::Package;

const PACKAGE: Package = Package {
    name: "lmdb",
    header: "lmdb.h",
    package_dir: env!("CARGO_MANIFEST_DIR"),
    level: "0.9",
    prints: "LMDB 0.9.",
    program: r#"
#include <lmdb.h>
#include <stdio.h>

int main(void)
{
    int patch;
    puts(mdb_version(NULL, NULL, &patch));
    return patch != MDB_VERSION_PATCH;
}
"#,
};

#[test]
fn pkg_config_finds_what_is_installed() {
    PACKAGE.is_found_by_pkg_config("pkg_config_finds_what_is_installed");
}

#[test]
fn a_library_of_others_stays() {
    PACKAGE.leaves_others_alone();
}

#[test]
fn cmake_finds_what_is_installed() {
    PACKAGE.is_found_by_cmake("cmake_finds_what_is_installed");
}

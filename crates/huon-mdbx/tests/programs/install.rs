//! What `make install-mdbx` installs is found by pkg-config and CMake, and programs built so run.

use huon_testkit::c_library::package::Package;

const PACKAGE: Package = Package {
    name: "huon_mdbx",
    header: "mdbx.h",
    package_dir: env!("CARGO_MANIFEST_DIR"),
    level: "0.11",
    prints: "libmdbx 0.11: ",
    program: r#"
#include <mdbx.h>
#include <stdio.h>

int main(void)
{
    printf("libmdbx %u.%u: %s\n", mdbx_version.major, mdbx_version.minor, mdbx_version.sourcery);
    return mdbx_limits_keysize_max(4096, MDBX_DB_DEFAULTS) != 2022;
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

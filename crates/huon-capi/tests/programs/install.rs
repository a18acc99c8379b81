//! What `make install-capi` installs is found by pkg-config and CMake, and programs built so run.

use huon_testkit::c_library::package::Package;

const PACKAGE: Package = Package {
    name: "huon",
    header: "huon.h",
    package_dir: env!("CARGO_MANIFEST_DIR"),
    level: "0.1",
    prints: "Huon 0.1.",
    program: r#"
#include <huon.h>
#include <stdio.h>

int main(void)
{
    unsigned version = huon_version();
    printf("Huon %u.%u.%u\n", version >> 16, version >> 8 & 255, version & 255);
    return version != HUON_VERSION;
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

//! The name that programs look for, and how the library was built, for `mdbx_build`.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libhuon_mdbx.so.0");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let version = Command::new(variable("RUSTC")).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!("cargo:rustc-env=HUON_COMPILER={}", version.unwrap_or_default());
    println!("cargo:rustc-env=HUON_TARGET={}", variable("TARGET"));
    println!("cargo:rustc-env=HUON_FLAGS=opt-level={}", variable("OPT_LEVEL"));
}

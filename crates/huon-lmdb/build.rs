//! Programs that are linked to LMDB look for this name.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liblmdb.so.0");
}

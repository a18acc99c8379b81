//! The library that tests hand to programs.

use huon_testkit::c_library::programs::Library;

pub(crate) const LIBRARY: Library = Library {
    name: "lmdb",
    built: "lmdb",
    crate_dir: env!("CARGO_MANIFEST_DIR"),
    header: "lmdb.h",
};

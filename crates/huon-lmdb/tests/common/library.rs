//! The library that tests hand to programs.

use huon_testkit::interface::Interface;

pub(crate) const LMDB: Interface = Interface {
    name: "lmdb",
    soname: "liblmdb.so.0",
    prefix: "mdb_",
    package_dir: env!("CARGO_MANIFEST_DIR"),
    header: "lmdb.h",
};

//! `include/huon.h` is what cbindgen makes of the sources.

use std::path::Path;

/// The sources, in the order in which the header has what they say.
const SOURCES: [&str; 20] = [
    "bytes",
    "abi/codes",
    "abi/error",
    "callback",
    "abi/options",
    "abi/env",
    "abi/txn",
    "abi/def",
    "abi/table",
    "abi/range",
    "abi/cursor",
    "abi/batch",
    "abi/multi",
    "abi/ask",
    "abi/report",
    "abi/care",
    "abi/snapshot",
    "abi/visit",
    "abi/lsm",
    "abi/compactor",
];

fn header() -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(dir.join("cbindgen.toml")).expect("a configuration");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for name in SOURCES {
        builder = builder.with_src(dir.join(format!("src/{name}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().expect("bindings").write(&mut text);
    String::from_utf8(text).expect("a text")
}

#[test]
fn the_header_is_what_the_sources_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/huon.h");
    if std::env::var_os("HUON_WRITE").is_some() {
        std::fs::write(&path, header()).unwrap();
    }
    let is_same = std::fs::read_to_string(&path).unwrap_or_default() == header();
    assert!(is_same, "include/huon.h is stale: HUON_WRITE=1 cargo test -p huon-capi header");
}

/// Each source with a function is read, else the header would lack it.
#[test]
fn no_source_is_left_out() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/abi");
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        let name = format!("abi/{}", path.file_stem().unwrap().to_str().unwrap());
        let is_read = SOURCES.contains(&&*name) || name == "abi/mod";
        assert!(is_read, "{name} is not read for the header");
    }
}

/// The programs that `docs/C.md` shows are those that are compiled and run.
#[test]
fn the_page_shows_the_programs() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("C.md")).unwrap();
    for name in ["c/first.c", "c/batches.c"] {
        let program = std::fs::read_to_string(docs.join(name)).unwrap();
        let shown = format!("<!-- docs/{name} -->\n```c\n{program}```\n");
        assert!(page.contains(&shown), "docs/C.md does not show docs/{name} as it is");
    }
}

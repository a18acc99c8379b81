//! The C programs of `tests/c`, built with our header.

use std::path::PathBuf;
use std::process::{Command, Output};

use huon_testkit::figures;

/// This package's directory.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(output: &Output) -> String {
    let lossy = String::from_utf8_lossy;
    format!("{}{}", lossy(&output.stdout), lossy(&output.stderr))
}

/// Whether a program is installed; if not, `test` is skipped.
fn installed(program: &str, test: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        figures::skip(test, &format!("{program} is not installed"));
    }
    there
}

#[test]
fn numbers_layouts_and_prototypes_in_c_and_cpp() {
    const NAME: &str = "numbers_layouts_and_prototypes_in_c_and_cpp";
    let dir = tempfile::tempdir().expect("a directory");
    let ways = [
        ("cc", ["-std=c99", "-pedantic", "-xc"]),
        ("c++", ["-std=c++11", "-pedantic", "-xc++"]),
        ("c++", ["-std=c++17", "-pedantic", "-xc++"]),
    ];
    for (compiler, flags) in ways.into_iter().filter(|(compiler, _)| installed(compiler, NAME)) {
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra", "-Werror"]).args(flags).arg("-I");
        command.arg(root().join("include")).arg("-c").arg(root().join("tests/c/layout.c"));
        let output = command.arg("-o").arg(dir.path().join("layout.o")).output();
        let output = output.expect("the compiler runs");
        assert!(output.status.success(), "{compiler} {flags:?}:\n{}", text(&output));
    }
}

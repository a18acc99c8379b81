//! What `make install` installs is found by pkg-config and CMake, and programs built so run.

use std::path::{Path, PathBuf};
use std::process::Command;

use huon_testkit::figures;

const PROGRAM: &str = r#"
#include <lmdb.h>
#include <stdio.h>

int main(void)
{
    int patch;
    puts(mdb_version(NULL, NULL, &patch));
    return patch != MDB_VERSION_PATCH;
}
"#;

const CMAKE: &str = "
cmake_minimum_required(VERSION 3.13)
project(small C)
find_package(lmdb 0.9 REQUIRED CONFIG)
add_executable(shared main.c)
target_link_libraries(shared lmdb::lmdb)
add_executable(static main.c)
target_link_libraries(static lmdb::static)
";

/// Runs `command` and gives back what it printed; panics if it fails.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("a program that starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}\n{errors}", output.status);
    said
}

/// The directory in which cargo has built the libraries for this test.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a path of this test");
    test.parent().expect("a directory of tests").to_owned()
}

/// Installs below `destdir`, for use below `/opt/huon`, and gives back where that is.
fn install(destdir: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut xtask = Command::new(env!("CARGO"));
    xtask.args(["run", "--quiet", "--offline", "-p", "xtask", "--", "install"]);
    xtask.args(["--libraries-only", "--prefix", "/opt/huon", "--destdir"]).arg(destdir);
    run(xtask.arg("--built").arg(built()).current_dir(root));
    destdir.join("opt/huon")
}

/// Whether a program is installed.
fn installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
}

#[test]
fn pkg_config_finds_what_is_installed() {
    const NAME: &str = "pkg_config_finds_what_is_installed";
    if let Some(program) = ["cc", "pkg-config"].iter().find(|program| !installed(program)) {
        return figures::skip(NAME, &format!("{program} is not installed"));
    }
    let dir = tempfile::tempdir().expect("a directory");
    let tree = install(dir.path());
    let source = dir.path().join("main.c");
    std::fs::write(&source, PROGRAM).expect("a file");
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.args(["--cflags", "--libs", "lmdb"]).env_remove("PKG_CONFIG_PATH");
    let flags = run(pkg_config.env("PKG_CONFIG_LIBDIR", tree.join("lib/pkgconfig")));

    let program = dir.path().join("program");
    run(Command::new("cc").arg(source).args(flags.split_whitespace()).arg("-o").arg(&program));
    let said = run(Command::new(program).env("LD_LIBRARY_PATH", tree.join("lib")));
    assert!(said.starts_with("LMDB 0.9.") && said.contains("Huon"), "{said}");
}

#[test]
fn cmake_finds_what_is_installed() {
    const NAME: &str = "cmake_finds_what_is_installed";
    if let Some(program) = ["cc", "cmake"].iter().find(|program| !installed(program)) {
        return figures::skip(NAME, &format!("{program} is not installed"));
    }
    let dir = tempfile::tempdir().expect("a directory");
    let tree = install(dir.path());
    let build = dir.path().join("build");
    std::fs::write(dir.path().join("main.c"), PROGRAM).expect("a file");
    std::fs::write(dir.path().join("CMakeLists.txt"), CMAKE).expect("a file");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(dir.path()).arg("-B").arg(&build);
    run(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", tree.display())));
    run(Command::new("cmake").arg("--build").arg(&build));
    for program in ["shared", "static"] {
        let said = run(&mut Command::new(build.join(program)));
        assert!(said.starts_with("LMDB 0.9.") && said.contains("Huon"), "{said}");
    }
}

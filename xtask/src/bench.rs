//! The benchmark suite, a workspace of its own in `crates/huon-bench`.

use std::path::Path;

use crate::shell::Shell;

pub(crate) const MANIFEST: [&str; 2] = ["--manifest-path", "crates/huon-bench/Cargo.toml"];

/// Debian's packages with the engines that are taken from the distribution, and with what the build
/// of libmdbx needs.
const PACKAGES: [&str; 5] =
    ["librocksdb-dev", "libleveldb-dev", "libsqlite3-dev", "libdb5.3-dev", "libclang-dev"];

/// Runs the benchmark; by default the suite.
pub(crate) fn run(shell: &Shell, args: &[String]) -> Result<bool, String> {
    let mut cargo = shell.cargo(["run", "--release"]);
    cargo.args(MANIFEST);
    if has_libclang() {
        cargo.args(["--features", "mdbx"]);
    }
    cargo.arg("--").args(args);
    if args.is_empty() {
        cargo.arg("suite");
    }
    // It measures the library as programs load it, built from here.
    if args.first().is_some_and(|arg| arg == "calls") && !args.iter().any(|arg| is_library(arg)) {
        if !shell.run(&mut shell.cargo(["build", "--release", "-p", "huon-lmdb"]))? {
            return Ok(false);
        }
        cargo.arg("--library").arg(shell.target.join("release/liblmdb.so"));
    }
    shell.run(&mut cargo)
}

fn is_library(arg: &str) -> bool {
    arg == "--library" || arg.starts_with("--library=")
}

/// Installs what `PACKAGES` names.
pub(crate) fn install(shell: &Shell) -> Result<bool, String> {
    println!("installing Debian's packages for the benchmark; this needs root:");
    let mut apt = shell.command("apt-get", ["install", "--yes", "--no-install-recommends"]);
    shell.run(apt.args(PACKAGES))
}

/// Whether the library is there that turns C headers into Rust.
fn has_libclang() -> bool {
    if std::env::var_os("LIBCLANG_PATH").is_some() {
        return true;
    }
    let names = |dir: &Path| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut dirs = names(Path::new("/usr/lib"));
    dirs.extend(dirs.clone().iter().map(|dir| dir.join("lib")));
    dirs.extend(["/usr/lib".into(), "/usr/lib64".into(), "/usr/local/lib".into()]);
    dirs.iter().flat_map(|dir| names(dir)).any(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let version = name.strip_prefix("libclang").unwrap_or_default();
        version.starts_with(['.', '-']) && version.contains(".so") && !version.starts_with("-cpp")
    })
}

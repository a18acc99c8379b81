//! `make install`: the libraries, what their users' builds look for, and the `huon` command.
//!
//! The tree can be moved after it was installed: nothing in it names its place.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::shell::Shell;

const PACKAGE: &str = "crates/huon-lmdb";

/// What to install, and where.
pub(crate) struct Wish {
    /// Where it is to be used.
    pub(crate) prefix: PathBuf,
    /// What is put before `prefix` when files are written, for who makes packages.
    pub(crate) destdir: Option<PathBuf>,
    /// Where it has been built already, else it is built here.
    pub(crate) built: Option<PathBuf>,
    /// Leave out the command.
    pub(crate) libraries_only: bool,
}

/// Installs; true if everything is there.
pub(crate) fn run(shell: &Shell, wish: &Wish) -> Result<bool, String> {
    let built = match &wish.built {
        Some(dir) => dir.clone(),
        None => {
            let packages = ["build", "--release", "-p", "huon-lmdb", "-p", "huon-cli"];
            if !shell.run(&mut shell.cargo(packages))? {
                return Ok(false);
            }
            shell.target.join("release")
        }
    };
    let tree = Tree { root: root(&wish.prefix, wish.destdir.as_deref())? };
    let package = shell.root.join(PACKAGE);
    let header = text(&package.join("include/lmdb.h"))?;
    let version = version(&header).ok_or("lmdb.h says no version")?;

    let shared = format!("lib/liblmdb.so.{version}");
    tree.copy(&built.join("liblmdb.so"), &shared, 0o755)?;
    tree.link(&format!("liblmdb.so.{version}"), "lib/liblmdb.so.0")?;
    tree.link("liblmdb.so.0", "lib/liblmdb.so")?;
    tree.copy(&built.join("liblmdb.a"), "lib/liblmdb.a", 0o644)?;
    tree.write("include/lmdb.h", &header)?;
    let filled = |name: &str| {
        Ok::<_, String>(text(&package.join("package").join(name))?.replace("@VERSION@", &version))
    };
    tree.write("lib/pkgconfig/lmdb.pc", &filled("lmdb.pc.in")?)?;
    tree.write("lib/cmake/lmdb/lmdb-config.cmake", &filled("lmdb-config.cmake")?)?;
    let config_version = filled("lmdb-config-version.cmake.in")?;
    tree.write("lib/cmake/lmdb/lmdb-config-version.cmake", &config_version)?;
    if !wish.libraries_only {
        tree.copy(&built.join("huon"), "bin/huon", 0o755)?;
    }
    Ok(true)
}

/// Where files are written.
fn root(prefix: &Path, destdir: Option<&Path>) -> Result<PathBuf, String> {
    let prefix = std::path::absolute(prefix).map_err(|e| format!("{}: {e}", prefix.display()))?;
    Ok(match destdir {
        Some(destdir) => destdir.join(prefix.strip_prefix("/").unwrap_or(&prefix)),
        None => prefix,
    })
}

/// The version that the header's macros give, as `0.9.36`.
fn version(header: &str) -> Option<String> {
    let part = |name: &str| {
        let start = format!("#define MDB_VERSION_{name} ");
        header.lines().find_map(|line| line.strip_prefix(&start)).map(str::trim)
    };
    Some(format!("{}.{}.{}", part("MAJOR")?, part("MINOR")?, part("PATCH")?))
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The tree that is installed into.
struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Makes room for `name`: its directory is there, and no file of that name.
    fn place(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.root.join(name);
        println!("{}", path.display());
        let dir = path.parent().ok_or("no directory")?;
        fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("{}: {e}", path.display()))
            }
            _ => Ok(path),
        }
    }

    fn copy(&self, from: &Path, name: &str, mode: u32) -> Result<(), String> {
        let path = self.place(name)?;
        fs::copy(from, &path).map_err(|e| format!("{}: {e}", from.display()))?;
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(&path, mode).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn write(&self, name: &str, content: &str) -> Result<(), String> {
        let path = self.place(name)?;
        fs::write(&path, content).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn link(&self, to: &str, name: &str) -> Result<(), String> {
        let path = self.place(name)?;
        symlink(to, &path).map_err(|e| format!("{}: {e}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destdir_goes_before_the_prefix() {
        let with = |destdir| root(Path::new("/usr/local"), destdir).unwrap();
        assert_eq!(with(None), Path::new("/usr/local"));
        assert_eq!(with(Some(Path::new("/tmp/x"))), Path::new("/tmp/x/usr/local"));
    }

    #[test]
    fn versions_are_in_the_header() {
        let header = "#define MDB_VERSION_MAJOR 0\n#define MDB_VERSION_MINOR 9\n\
                      #define MDB_VERSION_PATCH 36\n";
        assert_eq!(version(header).as_deref(), Some("0.9.36"));
        assert_eq!(version("#define MDB_VERSION_MAJOR 0\n"), None);
    }

    #[test]
    fn what_was_there_is_replaced_and_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree { root: dir.path().join("root") };
        fs::write(dir.path().join("other"), "other").unwrap();
        tree.link("../other", "file").unwrap();
        tree.write("file", "new").unwrap();
        tree.write("file", "newer").unwrap();
        assert_eq!(text(&dir.path().join("other")).unwrap(), "other");
        assert_eq!(text(&tree.root.join("file")).unwrap(), "newer");
    }
}

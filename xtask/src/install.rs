//! `make install`: the libraries, what their users' builds look for, and the `huon` command.
//!
//! The tree can be moved after it was installed: nothing in it names its place.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::shell::Shell;

/// A library with the interface of another one.
struct Interface {
    /// Of the library, and of its packages for builds.
    name: &'static str,
    /// The crate that it is built from.
    package: &'static str,
    header: &'static str,
    /// How the macros begin that tell the version.
    macros: &'static str,
}

const INTERFACES: [Interface; 2] = [
    Interface { name: "lmdb", package: "huon-lmdb", header: "lmdb.h", macros: "MDB_VERSION_" },
    Interface {
        name: "huon_mdbx",
        package: "huon-mdbx",
        header: "mdbx.h",
        macros: "MDBX_VERSION_",
    },
];

/// What the packages for CMake have in common.
const CMAKE_VERSION: &str = "crates/huon-c/package/config-version.cmake.in";

/// What to install, and where.
pub(crate) struct Wish {
    /// Where it is to be used.
    pub(crate) prefix: PathBuf,
    /// What is put before `prefix` when files are written, for who makes packages.
    pub(crate) destdir: Option<PathBuf>,
    /// Where it has been built already, else it is built here.
    pub(crate) built: Option<PathBuf>,
    /// This library alone, without the command.
    pub(crate) only: Option<String>,
}

/// Installs; true if everything is there.
pub(crate) fn run(shell: &Shell, wish: &Wish) -> Result<bool, String> {
    let chosen = |interface: &&Interface| wish.only.as_ref().is_none_or(|n| n == interface.name);
    let interfaces: Vec<&Interface> = INTERFACES.iter().filter(chosen).collect();
    if interfaces.is_empty() {
        let names = INTERFACES.map(|interface| interface.name).join(", ");
        return Err(format!("there is no such library; there are {names}"));
    }
    let built = match &wish.built {
        Some(dir) => dir.clone(),
        None => {
            let mut build = shell.cargo(["build", "--release", "-p", "huon-cli"]);
            build.args(interfaces.iter().flat_map(|interface| ["-p", interface.package]));
            if !shell.run(&mut build)? {
                return Ok(false);
            }
            shell.target.join("release")
        }
    };
    let tree = Tree { root: root(&wish.prefix, wish.destdir.as_deref())? };
    for interface in interfaces {
        install(shell, &tree, &built, interface)?;
    }
    if wish.only.is_none() {
        tree.copy(&built.join("huon"), "bin/huon", 0o755)?;
    }
    Ok(true)
}

/// Installs a library, its header, and what builds look for.
fn install(shell: &Shell, tree: &Tree, built: &Path, of: &Interface) -> Result<(), String> {
    let (name, package) = (of.name, shell.root.join("crates").join(of.package));
    let header = text(&package.join("include").join(of.header))?;
    let version =
        version(&header, of.macros).ok_or_else(|| format!("{} says no version", of.header))?;

    let shared = format!("lib{name}.so");
    let numbered = format!("{shared}.{version}");
    tree.copy(&built.join(&shared), &format!("lib/{numbered}"), 0o755)?;
    tree.link(&numbered, &format!("lib/{shared}.0"))?;
    tree.link(&format!("{shared}.0"), &format!("lib/{shared}"))?;
    tree.copy(&built.join(format!("lib{name}.a")), &format!("lib/lib{name}.a"), 0o644)?;
    tree.write(&format!("include/{}", of.header), &header)?;
    let filled = |path: PathBuf| Ok::<_, String>(text(&path)?.replace("@VERSION@", &version));
    let files = package.join("package");
    let pkg_config = filled(files.join(format!("{name}.pc.in")))?;
    tree.write(&format!("lib/pkgconfig/{name}.pc"), &pkg_config)?;
    let (cmake, config) = (format!("lib/cmake/{name}"), format!("{name}-config"));
    let targets = filled(files.join(format!("{config}.cmake")))?;
    tree.write(&format!("{cmake}/{config}.cmake"), &targets)?;
    tree.write(&format!("{cmake}/{config}-version.cmake"), &filled(shell.root.join(CMAKE_VERSION))?)
}

/// Where files are written.
fn root(prefix: &Path, destdir: Option<&Path>) -> Result<PathBuf, String> {
    let prefix = std::path::absolute(prefix).map_err(|e| format!("{}: {e}", prefix.display()))?;
    Ok(match destdir {
        Some(destdir) => destdir.join(prefix.strip_prefix("/").unwrap_or(&prefix)),
        None => prefix,
    })
}

/// The version that the header's macros give, as `0.9.36`, or `0.11` where there is no patch.
fn version(header: &str, macros: &str) -> Option<String> {
    let part = |name: &str| {
        let start = format!("#define {macros}{name} ");
        header.lines().find_map(|line| line.strip_prefix(&start)).map(str::trim)
    };
    let patch = part("PATCH").map_or(String::new(), |patch| format!(".{patch}"));
    Some(format!("{}.{}{patch}", part("MAJOR")?, part("MINOR")?))
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
        assert_eq!(version(header, "MDB_VERSION_").as_deref(), Some("0.9.36"));
        assert_eq!(version(header, "MDBX_VERSION_"), None);
        assert_eq!(version("#define MDB_VERSION_MAJOR 0\n", "MDB_VERSION_"), None);
        let header = "#define MDBX_VERSION_MAJOR 0\n#define MDBX_VERSION_MINOR 11\n";
        assert_eq!(version(header, "MDBX_VERSION_").as_deref(), Some("0.11"));
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

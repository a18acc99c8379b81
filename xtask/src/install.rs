//! `make install`: the `huon` command with its like, manual pages and completions; `make
//! install-capi`, `make install-lmdb` and `make install-mdbx`: a library, and what its users'
//! builds look for.
//!
//! 1. The tree can be moved after it was installed: nothing in it names its place.
//! 2. Files that bear the name of another library are installed only on request, and replace no
//!    file that is not Huon's, unless that is requested, too.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::Shell;

/// A library with an interface in C: Huon's own, or that of another store.
struct Interface {
    /// Of the library, and of its packages for builds.
    name: &'static str,
    /// The crate that it is built from.
    package: &'static str,
    /// What cargo calls it.
    built: &'static str,
    header: &'static str,
    /// How the macros begin that tell the version.
    macros: &'static str,
    /// Other headers, as they lie in the repository.
    headers: &'static [&'static str],
}

const INTERFACES: [Interface; 3] = [
    Interface {
        name: "lmdb",
        package: "huon-lmdb",
        built: "lmdb",
        header: "lmdb.h",
        macros: "MDB_VERSION_",
        headers: &[],
    },
    Interface {
        name: "huon_mdbx",
        package: "huon-mdbx",
        built: "huon_mdbx",
        header: "mdbx.h",
        macros: "MDBX_VERSION_",
        headers: &[],
    },
    Interface {
        name: "huon",
        package: "huon-capi",
        built: "huon_capi",
        header: "huon.h",
        macros: "HUON_VERSION_",
        headers: &["bindings/cpp/huon.hpp"],
    },
];

/// The command, and those with the flags of libmdbx's tools.
const COMMANDS: [&str; 7] =
    ["huon", "huon_chk", "huon_copy", "huon_drop", "huon_dump", "huon_load", "huon_stat"];

/// Shells, and where each looks for what completes a command: between both lies its name.
const COMPLETIONS: [(&str, &str, &str); 3] = [
    ("bash", "share/bash-completion/completions/", ""),
    ("fish", "share/fish/vendor_completions.d/", ".fish"),
    ("zsh", "share/zsh/site-functions/_", ""),
];

/// Where compilers and the loader look by themselves. Directories of a machine's own lie below
/// those of libraries, as `/usr/lib/x86_64-linux-gnu`.
const HEADER_DIRS: [&str; 2] = ["usr/local/include", "usr/include"];
const LIBRARY_DIRS: [&str; 5] = ["usr/local/lib", "usr/lib", "usr/lib64", "lib", "lib64"];

/// What the packages for CMake have in common.
const CMAKE_VERSION: &str = "crates/huon-c/package/config-version.cmake.in";

/// What to install, and where.
pub(crate) struct Wish {
    /// Where it is to be used.
    pub(crate) prefix: PathBuf,
    /// Put before `prefix` when files are written, for packagers.
    pub(crate) destdir: Option<PathBuf>,
    /// Where it has been built already, else it is built here.
    pub(crate) built: Option<PathBuf>,
    /// This library instead of the command.
    pub(crate) library: Option<String>,
    /// Over files that are not Huon's, too.
    pub(crate) force: bool,
}

/// Installs; true if everything is there.
pub(crate) fn run(shell: &Shell, wish: &Wish) -> Result<bool, String> {
    let library = wish.library.as_deref().map(interface).transpose()?;
    let package = library.map_or("huon-cli", |library| library.package);
    let built = match &wish.built {
        Some(dir) => dir.clone(),
        None => {
            if !shell.run(&mut shell.cargo(["build", "--release", "-p", package]))? {
                return Ok(false);
            }
            shell.target.join("release")
        }
    };
    let tree = Tree { root: root(&wish.prefix, wish.destdir.as_deref())? };
    match library {
        Some(library) => install_library(shell, &tree, &built, library, wish.force)?,
        None => install_commands(&tree, &built)?,
    }
    Ok(true)
}

fn interface(name: &str) -> Result<&'static Interface, String> {
    let found = INTERFACES.iter().find(|interface| interface.name == name);
    found.ok_or_else(|| {
        let names = INTERFACES.map(|interface| interface.name).join(", ");
        format!("there is no library `{name}`; there are {names}")
    })
}

/// Installs the commands, their manual pages, and what completes them in shells.
fn install_commands(tree: &Tree, built: &Path) -> Result<(), String> {
    for command in COMMANDS {
        tree.copy(&built.join(command), &format!("bin/{command}"), 0o755)?;
    }
    let huon = built.join("huon");
    let pages = tree.root.join("share/man/man1");
    fs::create_dir_all(&pages).map_err(|e| format!("{}: {e}", pages.display()))?;
    said(Command::new(&huon).arg("man").arg(&pages))?;
    println!("{}", pages.display());
    for command in COMMANDS {
        for (shell, before, after) in COMPLETIONS {
            let script = said(Command::new(&huon).args(["completions", shell, command]))?;
            tree.write(&format!("{before}{command}{after}"), &script)?;
        }
    }
    Ok(())
}

/// What a command prints that must succeed.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|e| format!("{command:?}: {e}"))
}

/// Installs a library, its header, and what builds look for.
fn install_library(
    shell: &Shell,
    tree: &Tree,
    built: &Path,
    of: &Interface,
    force: bool,
) -> Result<(), String> {
    let (name, package) = (of.name, shell.root.join("crates").join(of.package));
    let header = text(&package.join("include").join(of.header))?;
    let version =
        version(&header, of.macros).ok_or_else(|| format!("{} says no version", of.header))?;

    let (shared, fixed) = (format!("lib{name}.so"), format!("lib/lib{name}.a"));
    let numbered = format!("{shared}.{version}");
    let (cmake, config) = (format!("lib/cmake/{name}"), format!("{name}-config"));
    let places = [
        format!("include/{}", of.header),
        format!("lib/{shared}"),
        format!("lib/{shared}.0"),
        format!("lib/{numbered}"),
        fixed.clone(),
        format!("lib/pkgconfig/{name}.pc"),
        format!("{cmake}/{config}.cmake"),
        format!("{cmake}/{config}-version.cmake"),
    ];
    if !force {
        tree.check_ours(&places)?;
    }
    if let Some(note) = shadow_note(Path::new("/"), &tree.root, of) {
        eprintln!("{note}");
    }
    tree.copy(&built.join(format!("lib{}.so", of.built)), &format!("lib/{numbered}"), 0o755)?;
    tree.link(&numbered, &format!("lib/{shared}.0"))?;
    tree.link(&format!("{shared}.0"), &format!("lib/{shared}"))?;
    tree.copy(&built.join(format!("lib{}.a", of.built)), &fixed, 0o644)?;
    tree.write(&format!("include/{}", of.header), &header)?;
    for header in of.headers {
        let name = Path::new(header).file_name().ok_or("a header without a name")?;
        let text = text(&shell.root.join(header))?;
        tree.write(&format!("include/{}", name.to_string_lossy()), &text)?;
    }
    let filled = |path: PathBuf| Ok::<_, String>(text(&path)?.replace("@VERSION@", &version));
    let files = package.join("package");
    let pkg_config = filled(files.join(format!("{name}.pc.in")))?;
    tree.write(&format!("lib/pkgconfig/{name}.pc"), &pkg_config)?;
    let targets = filled(files.join(format!("{config}.cmake")))?;
    tree.write(&format!("{cmake}/{config}.cmake"), &targets)?;
    tree.write(&format!("{cmake}/{config}-version.cmake"), &filled(shell.root.join(CMAKE_VERSION))?)
}

/// A line about files of another library below `system` that no program finds any more where
/// Huon's are looked for first; `None` if there are none.
fn shadow_note(system: &Path, tree: &Path, of: &Interface) -> Option<String> {
    let shared = format!("lib{}.so", of.name);
    let mut names: Vec<PathBuf> =
        HEADER_DIRS.iter().map(|dir| system.join(dir).join(of.header)).collect();
    for dir in LIBRARY_DIRS.map(|dir| system.join(dir)) {
        let below = fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let machines = below.filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux-"))
        });
        for dir in std::iter::once(dir.clone()).chain(machines) {
            names.extend([dir.join(&shared), dir.join(format!("{shared}.0"))]);
        }
    }
    // One directory may have several names.
    let tree = fs::canonicalize(tree).unwrap_or_else(|_| tree.to_owned());
    names.retain(|path| fs::canonicalize(path).is_ok_and(|it| !it.starts_with(&tree)));
    names.retain(|path| is_foreign(path));
    names.sort_by_key(|path| fs::canonicalize(path).unwrap_or_default());
    names.dedup_by_key(|path| fs::canonicalize(&*path).unwrap_or_default());
    if names.is_empty() {
        return None;
    }
    let names: Vec<String> = names.iter().map(|path| path.display().to_string()).collect();
    Some(format!(
        "note: these of the system are hidden wherever {} is searched before them: {}",
        tree.display(),
        names.join(", ")
    ))
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

/// Whether a file is there (or what a link leads to) that does not have Huon's name in it. One that
/// cannot be read counts, too.
fn is_foreign(path: &Path) -> bool {
    match fs::read(path) {
        Ok(bytes) => !bytes.windows(4).any(|word| word == b"Huon"),
        Err(e) => e.kind() != std::io::ErrorKind::NotFound,
    }
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

    /// Refuses if one of these is there and does not say that it is Huon's.
    fn check_ours(&self, names: &[String]) -> Result<(), String> {
        let paths = names.iter().map(|name| self.root.join(name));
        let foreign: Vec<String> =
            paths.filter(|path| is_foreign(path)).map(|path| path.display().to_string()).collect();
        if foreign.is_empty() {
            return Ok(());
        }
        Err(format!(
            "these are there and are not Huon's, so nothing was installed: {}. FORCE=1 (--force) \
             puts Huon's in their place; another PREFIX leaves them alone",
            foreign.join(", ")
        ))
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
    fn files_of_others_are_named_and_stay() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree { root: dir.path().to_path_buf() };
        let names = ["lib/libx.so".to_string(), "include/x.h".to_string()];
        tree.check_ours(&names).unwrap();
        tree.link("nowhere", "lib/libx.so").unwrap();
        tree.write("include/x.h", "/* x.h: Huon behind the interface of X */").unwrap();
        tree.check_ours(&names).unwrap();
        tree.write("include/x.h", "/* the header of X itself */").unwrap();
        let refused = tree.check_ours(&names).unwrap_err();
        assert!(refused.contains("include/x.h") && refused.contains("FORCE=1"), "{refused}");
        assert!(!refused.contains("libx.so"), "{refused}");
        assert!(text(&tree.root.join("include/x.h")).unwrap().contains("itself"));
    }

    #[test]
    fn what_is_hidden_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let (system, tree) = (dir.path(), dir.path().join("usr/local"));
        let make = |path: &str, text: &str| {
            let path = system.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let note = || shadow_note(system, &tree, &INTERFACES[0]);
        make("usr/local/include/lmdb.h", "in the tree itself");
        make("usr/lib/liblmdb.so", "Huon's own");
        assert_eq!(note(), None);
        make("usr/include/lmdb.h", "of another");
        make("usr/lib/x86_64-linux-gnu/liblmdb.so.0", "of another");
        symlink("usr/lib", system.join("lib")).unwrap();
        let note = note().unwrap();
        let header = system.join("usr/include/lmdb.h").display().to_string();
        assert!(note.contains(&header) && !note.contains('\n'), "{note}");
        assert_eq!(note.matches("liblmdb.so").count(), 1, "{note}");
        assert!(note.contains("x86_64-linux-gnu/liblmdb.so.0"), "{note}");
    }

    #[test]
    fn every_command_is_completed() {
        let dir = tempfile::tempdir().unwrap();
        let built = dir.path().join("built");
        fs::create_dir(&built).unwrap();
        for command in COMMANDS {
            let path = built.join(command);
            fs::write(&path, "#!/bin/sh\necho \"$@\"\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let tree = Tree { root: dir.path().join("tree") };
        install_commands(&tree, &built).unwrap();
        for (path, said) in [
            ("share/bash-completion/completions/huon", "completions bash huon\n"),
            ("share/bash-completion/completions/huon_dump", "completions bash huon_dump\n"),
            ("share/fish/vendor_completions.d/huon_chk.fish", "completions fish huon_chk\n"),
            ("share/zsh/site-functions/_huon_stat", "completions zsh huon_stat\n"),
        ] {
            assert_eq!(text(&tree.root.join(path)).unwrap(), said);
        }
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

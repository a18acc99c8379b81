//! What `make install-lmdb` and `make install-mdbx` install is found by pkg-config and CMake, and
//! programs built so run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::c_library::programs::are_installed;

/// A library, and a program that shows it is the one.
pub struct Package {
    /// The library, and its packages for builds.
    pub name: &'static str,
    /// Its header.
    pub header: &'static str,
    /// The crate that builds it.
    pub package_dir: &'static str,
    /// A level that CMake is to find.
    pub level: &'static str,
    /// A source in C.
    pub program: &'static str,
    /// How what the program prints begins.
    pub prints: &'static str,
}

impl Package {
    /// A program is built with what pkg-config says, and run.
    pub fn is_found_by_pkg_config(&self, test: &str) {
        if !are_installed(&["cc", "pkg-config"], test) {
            return;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let tree = self.install(dir.path());
        let source = dir.path().join("main.c");
        std::fs::write(&source, self.program).expect("a file");
        let mut pkg_config = Command::new("pkg-config");
        pkg_config.args(["--cflags", "--libs", self.name]).env_remove("PKG_CONFIG_PATH");
        let flags = run(pkg_config.env("PKG_CONFIG_LIBDIR", tree.join("lib/pkgconfig")));

        // As the pages say that it is done.
        let program = dir.path().join("program");
        let mut cc = Command::new("cc");
        cc.arg(format!("-Wl,-rpath,{}", tree.join("lib").display()));
        run(cc.arg(source).args(flags.split_whitespace()).arg("-o").arg(&program));
        self.check(&run(&mut Command::new(program)));
    }

    /// Programs are built with the targets of CMake's package, and run.
    pub fn is_found_by_cmake(&self, test: &str) {
        if !are_installed(&["cc", "cmake"], test) {
            return;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let tree = self.install(dir.path());
        let build = dir.path().join("build");
        std::fs::write(dir.path().join("main.c"), self.program).expect("a file");
        std::fs::write(dir.path().join("CMakeLists.txt"), self.lists()).expect("a file");
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(dir.path()).arg("-B").arg(&build);
        run(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", tree.display())));
        run(Command::new("cmake").arg("--build").arg(&build));
        for program in ["shared", "static"] {
            self.check(&run(&mut Command::new(build.join(program))));
        }
    }

    /// A header that is not Huon's stays, and the refusal names it; by force it goes.
    pub fn leaves_others_alone(&self) {
        let dir = tempfile::tempdir().expect("a directory");
        let header = dir.path().join("opt/huon/include").join(self.header);
        std::fs::create_dir_all(header.parent().expect("a parent")).expect("a directory");
        std::fs::write(&header, "/* another library */").expect("a file");
        let refused = self.installation(dir.path()).output().expect("a program that starts");
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && errors.contains(self.header), "{errors}");
        let left = std::fs::read_to_string(&header).expect("the header");
        assert_eq!(left, "/* another library */");
        assert!(!dir.path().join("opt/huon/lib").exists(), "nothing is installed");
        run(self.installation(dir.path()).arg("--force"));
        assert!(std::fs::read_to_string(&header).expect("a header").contains("Huon"));
    }

    fn check(&self, said: &str) {
        assert!(said.starts_with(self.prints) && said.contains("Huon"), "{said}");
    }

    fn lists(&self) -> String {
        let Package { name, level, .. } = self;
        format!(
            "cmake_minimum_required(VERSION 3.13)
             project(small C)
             find_package({name} {level} REQUIRED CONFIG)
             add_executable(shared main.c)
             target_link_libraries(shared {name}::{name})
             add_executable(static main.c)
             target_link_libraries(static {name}::static)
            "
        )
    }

    /// Installs below `destdir`, for use below `/opt/huon`, and gives back where that is.
    fn install(&self, destdir: &Path) -> PathBuf {
        run(&mut self.installation(destdir));
        destdir.join("opt/huon")
    }

    fn installation(&self, destdir: &Path) -> Command {
        let root = Path::new(self.package_dir).join("../..");
        let mut xtask = Command::new(env!("CARGO"));
        xtask.args(["run", "--quiet", "--offline", "-p", "xtask", "--", "install"]);
        xtask.args(["--library", self.name, "--prefix", "/opt/huon", "--destdir"]).arg(destdir);
        xtask.arg("--built").arg(built()).current_dir(root);
        xtask
    }
}

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

//! Running other programs at the root of the workspace.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// Where commands run and where they build.
pub(crate) struct Shell {
    /// The root of the workspace.
    pub(crate) root: PathBuf,
    /// Cargo's target directory.
    pub(crate) target: PathBuf,
}

impl Shell {
    /// Finds the workspace from where cargo says this package is.
    pub(crate) fn new() -> Result<Shell, String> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .ok_or("CARGO_MANIFEST_DIR is not set: start this as `cargo xtask`")?;
        let root = PathBuf::from(package).parent().ok_or("xtask has no parent")?.to_path_buf();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(dir) => std::path::absolute(dir).map_err(|e| format!("CARGO_TARGET_DIR: {e}"))?,
            None => root.join("target"),
        };
        Ok(Shell { root, target })
    }

    /// `program` with `args`, to be run at the root.
    pub(crate) fn command<S: AsRef<OsStr>>(
        &self,
        program: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.root);
        command
    }

    /// The cargo that started us, with `args`.
    pub(crate) fn cargo<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        self.command(&cargo, args)
    }

    /// Runs `command` to its end, its output ours; true if it succeeded.
    pub(crate) fn run(&self, command: &mut Command) -> Result<bool, String> {
        let shown = shown(command);
        eprintln!("+ {shown}");
        let status = command.status().map_err(|e| format!("{shown}: {e}"))?;
        if !status.success() {
            eprintln!("{shown}: {status}");
        }
        Ok(status.success())
    }
}

/// A command as a user would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(name)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

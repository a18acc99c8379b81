//! The nightly toolchain that Miri and the sanitizers come with: one, pinned, so that what they say
//! does not change by itself.

use std::process::{Command, Stdio};

use crate::shell::Shell;

/// What rustup calls it. One that is called `nightly` will do if it is the same.
const NAME: &str = "nightly-2026-05-20";
/// How its compiler names itself: by the day before.
const VERSION: &str = "2026-05-19)";

/// A toolchain.
pub(crate) struct Nightly {
    name: &'static str,
}

impl Nightly {
    /// The pinned toolchain with these components; the error says how to get what is missing.
    pub(crate) fn find(shell: &Shell, components: &[&str]) -> Result<Nightly, String> {
        let says = |name: &str, args: &[&str]| {
            let mut rustup = shell.command("rustup", ["run", name]);
            rustup.args(args).stdin(Stdio::null()).output().ok().filter(|o| o.status.success())
        };
        let is_pinned = |name: &&str| {
            says(name, &["rustc", "--version"])
                .is_some_and(|o| String::from_utf8_lossy(&o.stdout).trim_end().ends_with(VERSION))
        };
        let Some(name) = [NAME, "nightly"].into_iter().find(is_pinned) else {
            return Err(format!("no {NAME}; `rustup toolchain install {NAME}`"));
        };
        let listed = shell
            .command("rustup", ["component", "list", "--installed", "--toolchain", name])
            .stdin(Stdio::null())
            .output();
        let listed = listed.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        let listed = listed.unwrap_or_default();
        let there = |component: &str| listed.lines().any(|line| line.starts_with(component));
        match components.iter().find(|component| !there(component)) {
            None => Ok(Nightly { name }),
            Some(missing) => Err(format!(
                "{name} has no {missing}; `rustup component add {missing} --toolchain {name}`"
            )),
        }
    }

    /// Its cargo, with `args`.
    pub(crate) fn cargo(&self, shell: &Shell, args: &[&str]) -> Command {
        let mut command = shell.command("rustup", ["run", self.name, "cargo"]);
        // What the cargo that started us says of itself is not true of this one.
        command.args(args).env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
        command
    }
}

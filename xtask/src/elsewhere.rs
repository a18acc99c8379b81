//! `make elsewhere`: whether the engine is right on other systems, as far as that shows here.
//!
//! Every target is checked, clippy's lints included. Those whose programs this machine can run are
//! run: 32 bits natively, other processors in qemu-user. What cannot be done here is named, with
//! the reason.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::shell::Shell;

/// What rustup has a standard library for, and the engine is to compile for without a warning.
const CHECKED: [&str; 16] = [
    "aarch64-apple-darwin",
    "aarch64-apple-ios",
    "aarch64-linux-android",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
    "armv7-unknown-linux-gnueabihf",
    "i686-unknown-linux-gnu",
    "powerpc64le-unknown-linux-gnu",
    "riscv64gc-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "x86_64-linux-android",
    "x86_64-unknown-freebsd",
    "x86_64-unknown-illumos",
    "x86_64-unknown-linux-musl",
    "x86_64-unknown-netbsd",
];

/// What it must not compile for, and words of the reason that it gives.
const REFUSED: [(&str, &str); 2] = [
    ("armv7-linux-androideabi", "the C library of 32-bit Android"),
    ("x86_64-pc-windows-gnu", "Huon runs on Unix systems only"),
];

/// A target whose tests run natively.
const NATIVE: &str = "i686-unknown-linux-gnu";

/// A target whose tests run in qemu-user.
struct Emulated {
    target: &'static str,
    /// The compiler that links for it; its libraries lie below `/usr` in a directory of the name
    /// before `-gcc`.
    linker: &'static str,
    qemu: &'static str,
}

const EMULATED: [Emulated; 3] = [
    Emulated {
        target: "s390x-unknown-linux-gnu",
        linker: "s390x-linux-gnu-gcc",
        qemu: "qemu-s390x",
    },
    Emulated {
        target: "armv7-unknown-linux-gnueabihf",
        linker: "arm-linux-gnueabihf-gcc",
        qemu: "qemu-arm",
    },
    Emulated {
        target: "aarch64-unknown-linux-gnu",
        linker: "aarch64-linux-gnu-gcc",
        qemu: "qemu-aarch64",
    },
];

/// Older ones take minutes for a mapping of a tebibyte.
const QEMU_MIN: u32 = 8;

/// Tests that qemu-user cannot pass: it takes `MADV_DONTFORK` and ignores it, and a limit of
/// address space hits the emulator itself.
const NOT_EMULATED: [&str; 2] =
    ["a_forked_child_is_refused_and_harmless", "a_refused_reservation_is_halved"];

/// How it went with all of them.
#[derive(Default)]
struct Tally {
    checked: u32,
    refused: u32,
    run: u32,
    skipped: u32,
    failed: Vec<String>,
}

impl Tally {
    fn skip(&mut self, what: &str, why: &str) {
        println!("skipped: {what}: {why}");
        self.skipped += 1;
    }

    fn note(&mut self, what: String, good: bool, count: fn(&mut Tally) -> &mut u32) {
        if good {
            *count(self) += 1;
        } else {
            self.failed.push(what);
        }
    }

    fn line(&self) -> String {
        let Tally { checked, refused, run, skipped, failed } = self;
        format!(
            "elsewhere: {checked} targets checked, {refused} refused as they should be, {run} run, \
             {skipped} skipped, {} failed",
            failed.len()
        )
    }
}

/// Checks and runs; true if nothing failed. `only`: targets whose names have this in them.
pub(crate) fn run(shell: &Shell, only: &str) -> Result<bool, String> {
    let mut tally = Tally::default();
    for target in CHECKED.iter().filter(|target| target.contains(only)) {
        if has_target(shell, target, &mut tally)? {
            let mut clippy = shell.cargo(["clippy", "-p", "huon", "--target", target]);
            let good = shell.run(clippy.args(["--", "-D", "warnings"]))?;
            tally.note(format!("check of {target}"), good, |tally| &mut tally.checked);
        }
    }
    for (target, reason) in REFUSED.iter().filter(|(target, _)| target.contains(only)) {
        if has_target(shell, target, &mut tally)? {
            let mut check = shell.cargo(["check", "--quiet", "-p", "huon", "--target", target]);
            let output = check.output().map_err(|e| format!("cargo: {e}"))?;
            let said = String::from_utf8_lossy(&output.stderr).contains(reason);
            let good = said && !output.status.success();
            tally.note(format!("refusal of {target}"), good, |tally| &mut tally.refused);
        }
    }
    if NATIVE.contains(only) {
        run_natively(shell, &mut tally)?;
    }
    for emulated in EMULATED.iter().filter(|emulated| emulated.target.contains(only)) {
        run_emulated(shell, emulated, &mut tally)?;
    }
    tally.failed.iter().for_each(|what| println!("failed: {what}"));
    println!("{}", tally.line());
    Ok(tally.failed.is_empty())
}

/// Whether there is a standard library for it; rustup is asked to fetch one that is missing.
fn has_target(shell: &Shell, target: &str, tally: &mut Tally) -> Result<bool, String> {
    let mut list = shell.command("rustup", ["target", "list", "--installed"]);
    let installed = list.output().map(|output| output.stdout).unwrap_or_default();
    if String::from_utf8_lossy(&installed).lines().any(|line| line == target) {
        return Ok(true);
    }
    let added = shell.command("rustup", ["target", "add", target]).output();
    let added = added.is_ok_and(|output| output.status.success());
    if !added {
        tally.skip(target, "rustup has no standard library for it here");
    }
    Ok(added)
}

/// The engine's tests for a target, cheaply built.
fn tests(shell: &Shell, target: &str) -> Command {
    let mut test = shell.cargo(["test", "-p", "huon", "--lib", "--target", target]);
    test.envs([("CARGO_PROFILE_TEST_OPT_LEVEL", "1"), ("CARGO_PROFILE_TEST_DEBUG", "0")]);
    test
}

fn run_natively(shell: &Shell, tally: &mut Tally) -> Result<(), String> {
    let what = format!("tests of {NATIVE}");
    if !cfg!(target_arch = "x86_64") {
        tally.skip(&what, "this processor does not run them");
    } else if !links(shell, "cc", &["-m32"])? {
        tally.skip(&what, "cc -m32 links nothing (Debian: gcc-multilib)");
    } else if has_target(shell, NATIVE, tally)? {
        let good = shell.run(&mut tests(shell, NATIVE))?;
        tally.note(what, good, |tally| &mut tally.run);
    }
    Ok(())
}

fn run_emulated(shell: &Shell, of: &Emulated, tally: &mut Tally) -> Result<(), String> {
    let what = format!("tests of {}", of.target);
    if let Some(why) = cannot_emulate(shell, of)? {
        tally.skip(&what, &why);
        return Ok(());
    }
    if !has_target(shell, of.target, tally)? {
        return Ok(());
    }
    let mut test = tests(shell, of.target);
    let name = of.target.to_uppercase().replace('-', "_");
    test.env(format!("CARGO_TARGET_{name}_LINKER"), of.linker);
    test.env("QEMU_LD_PREFIX", libraries(of.linker));
    test.args(["--", "os::", "lock::"]);
    for left_out in NOT_EMULATED {
        println!("skipped: {what}: {left_out}: qemu-user does not do what it needs");
        test.args(["--skip", left_out]);
    }
    let good = shell.run(&mut test)?;
    tally.note(what, good, |tally| &mut tally.run);
    Ok(())
}

/// Why the tests cannot be run in an emulator here, if they cannot.
fn cannot_emulate(shell: &Shell, of: &Emulated) -> Result<Option<String>, String> {
    let asked = [of.qemu.to_string(), format!("{}-static", of.qemu)].into_iter().find_map(|name| {
        let output = shell.command(&name, ["--version"]).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    });
    Ok(match asked.as_deref().map(major) {
        None => Some(format!("there is no {}", of.qemu)),
        Some(version) if version < QEMU_MIN => {
            Some(format!("{} is of version {version}, and {QEMU_MIN} is needed", of.qemu))
        }
        Some(_) if !links(shell, of.linker, &[])? => Some(format!("{} links nothing", of.linker)),
        Some(_) if !starts_programs(Path::new("/proc/sys/fs/binfmt_misc"), of.qemu) => {
            // Tests start themselves as other processes.
            Some(format!("the system does not start such programs (binfmt_misc, {})", of.qemu))
        }
        Some(_) => None,
    })
}

/// Where the libraries lie that a cross compiler links.
fn libraries(linker: &str) -> String {
    format!("/usr/{}", linker.strip_suffix("-gcc").unwrap_or(linker))
}

/// Whether a C compiler makes programs.
fn links(shell: &Shell, compiler: &str, args: &[&str]) -> Result<bool, String> {
    let dir = shell.target.join("elsewhere");
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let (source, program) = (dir.join("main.c"), dir.join("main"));
    fs::write(&source, "int main(void) { return 0; }\n").map_err(|e| e.to_string())?;
    let mut compile = shell.command(compiler, args);
    compile.arg(&source).arg("-o").arg(&program);
    Ok(compile.output().is_ok_and(|output| output.status.success()))
}

/// The major version in `qemu-s390x version 10.0.2 (..)`; 0 if there is none.
fn major(text: &str) -> u32 {
    let version = text.split_whitespace().skip_while(|word| *word != "version").nth(1);
    version.and_then(|version| version.split('.').next()?.parse().ok()).unwrap_or(0)
}

/// Whether an entry of the kernel's list gives such programs to that emulator.
fn starts_programs(list: &Path, qemu: &str) -> bool {
    let entries = fs::read_dir(list).into_iter().flatten().flatten();
    let mut texts = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    texts.any(|text| text.starts_with("enabled") && text.contains(qemu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_qemu() {
        assert_eq!(major("qemu-s390x version 10.0.2 (Debian 1:10.0.2)\nCopyright"), 10);
        assert_eq!(major("qemu-arm version 7.2.17 (Debian)"), 7);
        assert_eq!(major("something else"), 0);
    }

    #[test]
    fn the_kernel_lists_the_interpreters() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!starts_programs(&dir.path().join("gone"), "qemu-arm"));
        fs::write(dir.path().join("a"), "disabled\ninterpreter /usr/bin/qemu-arm\n").unwrap();
        assert!(!starts_programs(dir.path(), "qemu-arm"));
        fs::write(dir.path().join("b"), "enabled\ninterpreter /usr/bin/qemu-arm\n").unwrap();
        assert!(starts_programs(dir.path(), "qemu-arm"));
        assert!(!starts_programs(dir.path(), "qemu-s390x"));
    }

    #[test]
    fn what_is_run_is_checked_too() {
        let run = EMULATED.iter().map(|emulated| emulated.target).chain([NATIVE]);
        assert!(run.into_iter().all(|target| CHECKED.contains(&target)));
        assert!(REFUSED.iter().all(|(target, _)| !CHECKED.contains(target)));
        assert!(CHECKED.is_sorted());
        assert_eq!(libraries("arm-linux-gnueabihf-gcc"), "/usr/arm-linux-gnueabihf");
    }

    #[test]
    fn the_line_at_the_end() {
        let mut tally = Tally::default();
        tally.note("a".into(), true, |tally| &mut tally.checked);
        tally.note("b".into(), false, |tally| &mut tally.run);
        tally.skip("c", "no reason");
        let line = "elsewhere: 1 targets checked, 0 refused as they should be, 0 run, 1 skipped, \
                    1 failed";
        assert_eq!(tally.line(), line);
    }
}

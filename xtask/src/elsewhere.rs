//! `make elsewhere`: whether the engine is right on other systems, as far as that shows here.
//!
//! Every target that rustup lists and whose standard library is installed is checked, with clippy;
//! `targets` says what is expected of each. Those whose programs this machine can run are run: 32
//! bits natively, other processors in qemu-user. What cannot be done here is named, and why.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::shell::Shell;
use crate::targets::{self, Expected};

/// The packages that are to compile for other systems, the engine first.
const PACKAGES: [&str; 5] = ["huon", "huon-lsm", "huon-text", "huon-cli", "huon-c"];

/// Targets that all packages are checked for, one of each kind of system; for the others the engine
/// is.
const WHOLE: [&str; 7] = [
    "aarch64-apple-darwin",
    "aarch64-linux-android",
    "i686-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
    "x86_64-unknown-freebsd",
    "x86_64-unknown-illumos",
    "x86_64-unknown-netbsd",
];

/// A target whose tests run natively, and which of them: all of the engine's, and random histories
/// beside a model.
const NATIVE: &str = "i686-unknown-linux-gnu";
const NATIVE_TESTS: [&[&str]; 2] =
    [&["-p", "huon", "--tests"], &["-p", "huon-testkit", "--test", "histories"]];

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

    fn skip_all(&mut self, names: &[&str], why: &str) {
        if !names.is_empty() {
            println!("skipped: {}: {why}", names.join(", "));
            self.skipped += names.len() as u32;
        }
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

/// Checks and runs; true if nothing failed. `only`: targets whose names have this in them. `fetch`:
/// rustup is asked for the standard libraries that are missing.
pub(crate) fn run(shell: &Shell, only: &str, fetch: bool) -> Result<bool, String> {
    let mut tally = Tally::default();
    let listed = listed(shell, fetch);
    if listed.is_empty() {
        tally.skip("all checks", "rustup is not here, which lists the targets");
    }
    let wanted: Vec<&Listed> = listed.iter().filter(|target| target.name.contains(only)).collect();
    for target in &wanted {
        check(shell, target, &mut tally)?;
    }
    let bare = wanted.iter().map(|target| target.name.as_str());
    let bare: Vec<&str> = bare.filter(|name| targets::expected(name) == Expected::Bare).collect();
    tally.skip_all(&bare, "there is no standard library for them");
    let gone = targets::all().filter(|name| name.contains(only) && !is_listed(&listed, name));
    tally.skip_all(&gone.collect::<Vec<_>>(), "this rustup does not list them");

    if NATIVE.contains(only) {
        run_natively(shell, &listed, &mut tally)?;
    }
    for emulated in EMULATED.iter().filter(|emulated| emulated.target.contains(only)) {
        run_emulated(shell, emulated, &listed, &mut tally)?;
    }
    tally.failed.iter().for_each(|what| println!("failed: {what}"));
    println!("{}", tally.line());
    Ok(tally.failed.is_empty())
}

/// A target as rustup lists it.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    name: String,
    is_installed: bool,
}

/// The targets that rustup has; none without rustup.
fn listed(shell: &Shell, fetch: bool) -> Vec<Listed> {
    let output = shell.command("rustup", ["target", "list"]).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let mut found = read_list(&String::from_utf8_lossy(&text));
    let is_tried = |name: &str| targets::all().any(|known| known == name);
    for target in found.iter_mut().filter(|target| fetch && !target.is_installed) {
        if is_tried(&target.name) {
            // One that cannot be had is named as skipped.
            println!("+ rustup target add {}", target.name);
            let mut add = shell.command("rustup", ["target", "add", target.name.as_str()]);
            target.is_installed = add.output().is_ok_and(|added| added.status.success());
        }
    }
    found
}

/// Reads lines like `aarch64-apple-ios (installed)`.
fn read_list(text: &str) -> Vec<Listed> {
    let target = |line: &str| {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        Listed { name: name.to_owned(), is_installed: rest == "(installed)" }
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(target).collect()
}

fn is_listed(listed: &[Listed], name: &str) -> bool {
    // Without rustup one line says that nothing is checked.
    listed.is_empty() || listed.iter().any(|target| target.name == name)
}

fn is_installed(listed: &[Listed], name: &str) -> bool {
    listed.iter().any(|target| target.name == name && target.is_installed)
}

/// Builds for one target, and looks whether the outcome is the expected one.
fn check(shell: &Shell, target: &Listed, tally: &mut Tally) -> Result<(), String> {
    let name = target.name.as_str();
    match targets::expected(name) {
        Expected::Bare => {}
        Expected::Unknown => tally.skip(name, "xtask/src/targets.rs does not have it yet"),
        _ if !target.is_installed => tally.skip(name, &missing(name)),
        Expected::Compiles => {
            let packages = if WHOLE.contains(&name) { &PACKAGES[..] } else { &PACKAGES[..1] };
            let mut clippy = shell.cargo(["clippy", "--quiet", "--target", name]);
            clippy.args(packages.iter().flat_map(|&package| ["-p", package]));
            let good = shell.run(clippy.args(["--", "-D", "warnings"]))?;
            tally.note(format!("check of {name}"), good, |tally| &mut tally.checked);
        }
        Expected::Refused(reason) => {
            let mut check = shell.cargo(["check", "--quiet", "-p", "huon", "--target", name]);
            let output = check.output().map_err(|e| format!("cargo: {e}"))?;
            let said = String::from_utf8_lossy(&output.stderr).contains(reason);
            let good = said && !output.status.success();
            tally.note(format!("refusal of {name}"), good, |tally| &mut tally.refused);
        }
    }
    Ok(())
}

fn missing(target: &str) -> String {
    format!("its standard library is not installed: rustup target add {target}")
}

/// Tests for a target, cheaply built.
fn tests(shell: &Shell, target: &str, which: &[&str]) -> Command {
    let mut test = shell.cargo(["test", "--no-fail-fast", "--target", target]);
    test.args(which);
    test.envs([("CARGO_PROFILE_TEST_OPT_LEVEL", "1"), ("CARGO_PROFILE_TEST_DEBUG", "0")]);
    test
}

fn run_natively(shell: &Shell, listed: &[Listed], tally: &mut Tally) -> Result<(), String> {
    let what = format!("tests of {NATIVE}");
    if !cfg!(target_arch = "x86_64") {
        tally.skip(&what, "this processor does not run them");
    } else if !links(shell, "cc", &["-m32"])? {
        tally.skip(&what, "cc -m32 links nothing (Debian: gcc-multilib)");
    } else if !is_installed(listed, NATIVE) {
        tally.skip(&what, &missing(NATIVE));
    } else {
        let mut good = true;
        for which in NATIVE_TESTS {
            let mut test = tests(shell, NATIVE, which);
            // Tests of one process share its few addresses, and some need a large file.
            good &= shell.run(test.args(["--", "--test-threads=1"]))?;
        }
        tally.note(what, good, |tally| &mut tally.run);
    }
    Ok(())
}

fn run_emulated(
    shell: &Shell,
    of: &Emulated,
    listed: &[Listed],
    tally: &mut Tally,
) -> Result<(), String> {
    let what = format!("tests of {}", of.target);
    if let Some(why) = cannot_emulate(shell, of)? {
        tally.skip(&what, &why);
        return Ok(());
    }
    if !is_installed(listed, of.target) {
        tally.skip(&what, &missing(of.target));
        return Ok(());
    }
    let mut test = tests(shell, of.target, &["-p", "huon", "--lib"]);
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
        let run = EMULATED.iter().map(|emulated| emulated.target).chain([NATIVE]).chain(WHOLE);
        run.for_each(|name| assert_eq!(targets::expected(name), Expected::Compiles, "{name}"));
        assert_eq!(libraries("arm-linux-gnueabihf-gcc"), "/usr/arm-linux-gnueabihf");
    }

    #[test]
    fn targets_as_rustup_lists_them() {
        let listed = read_list("a-b-c (installed)\nd-e-f\n\n");
        let target = |name: &str, is_installed| Listed { name: name.to_owned(), is_installed };
        assert_eq!(listed, [target("a-b-c", true), target("d-e-f", false)]);
        assert!(is_installed(&listed, "a-b-c") && !is_installed(&listed, "d-e-f"));
        assert!(is_listed(&listed, "d-e-f") && !is_listed(&listed, "d-e"));
        assert!(is_listed(&[], "without rustup"));
    }

    #[test]
    fn the_line_at_the_end() {
        let mut tally = Tally::default();
        tally.note("a".into(), true, |tally| &mut tally.checked);
        tally.note("b".into(), false, |tally| &mut tally.run);
        tally.skip("c", "no reason");
        tally.skip_all(&[], "no reason");
        tally.skip_all(&["d", "e"], "no reason");
        let line = "elsewhere: 1 targets checked, 0 refused as they should be, 0 run, 3 skipped, \
                    1 failed";
        assert_eq!(tally.line(), line);
    }
}

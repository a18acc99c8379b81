//! `cargo xtask fuzz`: libFuzzer on the targets in `fuzz/`, or the same bodies on bytes from seeds
//! where cargo-fuzz or a nightly compiler is missing.

use std::process::{Command, Stdio};

use crate::shell::Shell;

/// The targets, as `fuzz/Cargo.toml` names them.
const TARGETS: [&str; 8] =
    ["open_bytes", "mutate_valid", "ops", "crash", "journal", "load_text", "lock_file", "lsm"];

/// A case that takes longer, in seconds, or more memory, in MiB, is a find.
const LIMITS: [&str; 3] = ["-timeout=20", "-rss_limit_mb=2048", "-max_len=16384"];

/// Fuzzes one target, or all of them in turn, for `seconds` in all; `args` go to libFuzzer.
pub(crate) fn run(
    shell: &Shell,
    target: Option<&str>,
    seconds: u64,
    args: &[String],
) -> Result<bool, String> {
    let targets: Vec<&str> = match target {
        None => TARGETS.to_vec(),
        Some(name) if TARGETS.contains(&name) => vec![name],
        Some(name) => return Err(format!("no target `{name}`: {}", TARGETS.join(", "))),
    };
    let each = (seconds / targets.len() as u64).max(1);
    if !is_installed(shell) {
        eprintln!("cargo-fuzz is not here (`cargo install cargo-fuzz`, and a nightly compiler):");
        eprintln!("the same targets on bytes from seeds");
        return seeded(shell, &targets, each);
    }
    let mut good = true;
    for target in targets {
        let corpus = shell.target.join("fuzz-corpus").join(target);
        std::fs::create_dir_all(&corpus).map_err(|e| format!("{}: {e}", corpus.display()))?;
        let mut fuzz = nightly(shell, &["cargo", "fuzz", "run", target]);
        // What was found lies beside the corpora, and not among the sources.
        fuzz.arg(&corpus).arg("--").args(LIMITS).arg(format!("-max_total_time={each}"));
        let found = shell.target.join("fuzz-found").join(target);
        std::fs::create_dir_all(&found).map_err(|e| format!("{}: {e}", found.display()))?;
        fuzz.arg(format!("-artifact_prefix={}/", found.display())).args(args);
        good &= shell.run(&mut fuzz)?;
    }
    Ok(good)
}

fn is_installed(shell: &Shell) -> bool {
    let mut asked = nightly(shell, &["cargo", "fuzz", "--version"]);
    let asked = asked.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// A command of the nightly toolchain, whichever one runs us.
fn nightly(shell: &Shell, args: &[&str]) -> Command {
    let mut command = shell.command("rustup", ["run", "nightly"]);
    command.args(args).env("CARGO_TARGET_DIR", shell.target.join("fuzz"));
    for variable in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC"] {
        command.env_remove(variable);
    }
    command
}

/// The tests that run the bodies on bytes from seeds, other ones each time.
fn seeded(shell: &Shell, targets: &[&str], seconds: u64) -> Result<bool, String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let rotate = now.map_or(0, |now| now.as_secs()).to_string();
    let mut good = true;
    for target in targets {
        let test = format!("fuzz::{target}");
        let mut tests = shell.cargo(["test", "-p", "huon-testkit", "--test", "hostile", &test]);
        tests.args(["--", "--exact", "--nocapture"]);
        tests.env("HUON_SECONDS", seconds.to_string()).env("HUON_ROTATE", &rotate);
        good &= shell.run(&mut tests)?;
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_target_has_its_file() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
        let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let named = manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"));
        let named: Vec<&str> = named.filter_map(|line| line.strip_suffix(".rs\"")).collect();
        assert_eq!(named, super::TARGETS);
        for target in super::TARGETS {
            let text = std::fs::read_to_string(root.join(format!("fuzz_targets/{target}.rs")));
            assert!(text.unwrap().contains(&format!("fuzz::{target}(data)")), "{target}");
        }
    }
}

//! `cargo xtask test`: every test, then the summary.
//!
//! Tests append to the file named by `HUON_FIGURES` (see `huon_testkit::figures`); `summary` reads
//! it together with cargo's own output.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use crate::shell::{Shell, shown};
use crate::summary::Summary;

/// What `make test` may take on two cores, the build included.
const SECONDS_MAX: u64 = 600;

/// Runs the tests; `args` go to `cargo test` and make the run a partial one.
pub(crate) fn run(shell: &Shell, args: &[String]) -> Result<bool, String> {
    let started = Instant::now();
    let dir = shell.target.join("huon-figures");
    let figures = dir.join(format!("{}.txt", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    File::create(&figures).map_err(|e| format!("{}: {e}", figures.display()))?;

    let mut summary = Summary::default();
    let mut cargo = shell.cargo(["test", "--workspace", "--no-fail-fast"]);
    cargo.args(args).env("HUON_FIGURES", &figures).stdin(Stdio::null()).stdout(Stdio::piped());
    eprintln!("+ {}", shown(&cargo));
    let mut child = cargo.spawn().map_err(|e| format!("cargo: {e}"))?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|e| format!("output of cargo: {e}"))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            summary.line(line.trim_end());
        }
    }
    let status = child.wait().map_err(|e| format!("cargo: {e}"))?;
    summary.end(status.success());

    let text = std::fs::read_to_string(&figures);
    summary.figures(&text.map_err(|e| format!("{}: {e}", figures.display()))?);
    let _ = std::fs::remove_file(&figures);
    if args.is_empty() {
        minimum_version(shell, &mut summary)?;
        summary.judge_kinds();
    }
    let seconds = started.elapsed().as_secs();
    println!("\n{seconds} s, build included (at most {SECONDS_MAX} s on two cores)");
    print!("{}", summary.report());
    Ok(summary.good())
}

/// Checks what users build with the oldest compiler we promise, if rustup has it.
fn minimum_version(shell: &Shell, summary: &mut Summary) -> Result<(), String> {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let name = "minimum Rust version";
    let listed = shell.command("rustup", ["toolchain", "list"]).stdin(Stdio::null()).output();
    let installed = listed.is_ok_and(|listed| {
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        text.lines().any(|line| line.starts_with(&format!("{version}-")))
    });
    if !installed {
        let how = format!("Rust {version} is not here; `rustup toolchain install {version}`");
        summary.skip(name, &how);
        return Ok(());
    }
    let mut check = shell.command("rustup", ["run", version, "cargo", "check"]);
    check.args(["-p", "huon", "-p", "huon-cli", "--target-dir"]).arg(shell.target.join("oldest"));
    match shell.run(&mut check)? {
        true => summary.pass(),
        false => summary.problem(format!("{name}: does not build with Rust {version}")),
    }
    Ok(())
}

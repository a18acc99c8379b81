//! What stands behind the make targets. `cargo xtask --help` lists the commands.

mod bench;
mod bindings;
mod built;
mod circles;
mod elsewhere;
mod features;
mod fuzz;
mod install;
mod jobs;
mod layers;
mod makefile;
mod miri;
mod named;
mod nightly;
mod outcome;
mod packages;
mod planted;
mod proof;
mod pylmdb;
mod sanitize;
mod shell;
mod source;
mod summary;
mod targets;
mod test;
mod tidy;
mod unique;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use outcome::Outcome;
use shell::Shell;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Build, test and look after Huon")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check formatting, clippy, the layers of the engine and the house rules
    Lint,
    /// Build and run every test and summarise by kind
    Test {
        /// Passed to `cargo test`, after `--`; such a partial run is not judged by kind
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Build a database of a directory tree, kill its writer, finish and report
    Demo {
        /// The tree to read (the demo's own default if absent)
        #[arg(long)]
        dir: Option<String>,
        /// Passed to the demo, after `--`
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Run the loom models of the lock-free parts
    Loom {
        /// Passed to the test binary, after `--`
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Run the shuttle models: the whole engine under many random schedules
    Shuttle {
        /// Passed to the test binary, after `--`
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Run tests under the address sanitizer, with a look for leaks
    Asan,
    /// Run chosen tests under Miri: undefined behaviour, leaks, other machines
    Miri {
        /// Only machines whose target begins so, as in `s390x`
        #[arg(default_value = "")]
        machine: String,
    },
    /// Run everything at full size and write the figures file
    Proof,
    /// Try crash images of new seeds
    Crash {
        /// For how long
        #[arg(default_value_t = 600)]
        seconds: u64,
    },
    /// Kill processes that use one file, with new seeds
    Torture {
        /// For how long
        #[arg(default_value_t = 600)]
        seconds: u64,
    },
    /// Look for inputs that break something: with libFuzzer where cargo-fuzz is installed
    Fuzz {
        /// One of the targets in `fuzz/`; all of them if none is given
        target: Option<String>,
        /// For how long, all targets together
        #[arg(long, default_value_t = 600)]
        seconds: u64,
        /// Passed to libFuzzer, after `--`
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Run the tests against bugs that are planted for them
    Planted {
        /// The numbers of the bugs to try; all of them if none is given
        bugs: Vec<u32>,
        /// A kind of tests to try, which may be given several times; all of them if none is given
        #[arg(long)]
        kind: Vec<String>,
        /// Do not try a bug with other kinds once one has caught it
        #[arg(long)]
        first: bool,
        /// Try also what earlier runs have tried
        #[arg(long)]
        again: bool,
        /// Try nothing; write the page of what all runs so far have found
        #[arg(long)]
        write: bool,
    },
    /// Build the bindings of other languages whose tools are here
    Bindings {
        /// cpp, go, java, node, python; all of them if none is given
        names: Vec<String>,
        /// Test them, too, compare what they have run, and have them read each other's files
        #[arg(long)]
        test: bool,
        /// Do not compare, and exchange nothing
        #[arg(long, requires = "test")]
        alone: bool,
    },
    /// Check the engine for other systems, and run its tests where this machine can
    Elsewhere {
        /// Targets with this in their names; all if nothing is given
        #[arg(default_value = "")]
        only: String,
        /// Fetch, by rustup, the standard libraries that are missing (some gigabytes)
        #[arg(long)]
        fetch: bool,
    },
    /// Run the tests that docs/FEATURES.md names, row by row
    Features,
    /// Install the `huon` command and its like, or a library with its header and package files
    Install {
        /// Where it is to be used
        #[arg(long, default_value = "/usr/local")]
        prefix: PathBuf,
        /// What to put before the prefix when files are written
        #[arg(long)]
        destdir: Option<PathBuf>,
        /// The directory where it has been built already
        #[arg(long)]
        built: Option<PathBuf>,
        /// This library (huon, lmdb or huon_mdbx) instead of the command
        #[arg(long)]
        library: Option<String>,
        /// Put a library in the place of files that are not Huon's, too
        #[arg(long, requires = "library")]
        force: bool,
    },
    /// Run the test suite of py-lmdb against our library; fetches it, so this needs the network
    Pylmdb {
        /// Versions of py-lmdb; all that are known if none is given
        versions: Vec<String>,
        /// Another library than ours: the directory of its liblmdb.so
        #[arg(long, requires = "include")]
        library: Option<PathBuf>,
        /// The directory of that library's lmdb.h
        #[arg(long, requires = "library")]
        include: Option<PathBuf>,
        /// Only tests whose name has this in it
        #[arg(long)]
        only: Option<String>,
    },
    /// Measure Huon beside other engines
    Bench {
        /// Passed to the benchmark, after `--`; nothing stands for `suite`
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Install the system's libraries that the benchmark can use; needs root
    BenchDeps,
    /// Format all sources
    Fmt,
    /// Remove build products
    Clean,
}

const FUZZ_MANIFEST: [&str; 2] = ["--manifest-path", "fuzz/Cargo.toml"];

fn main() -> ExitCode {
    let command = Cli::parse().command;
    match Shell::new().and_then(|shell| run(&shell, command)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one command; `Ok(false)` when it ran and found something wrong.
fn run(shell: &Shell, command: Command) -> Result<bool, String> {
    match command {
        Command::Lint => lint(shell),
        Command::Test { args } => test::run(shell, &args),
        Command::Planted { bugs, kind: kinds, first, again, write } => {
            planted::run(shell, &planted::Wish { bugs, kinds, first, again, write })
        }
        Command::Features => features::run(shell),
        Command::Bindings { names, test, alone } => {
            bindings::run(shell, &bindings::Wish { names, test, alone })
        }
        Command::Elsewhere { only, fetch } => elsewhere::run(shell, &only, fetch),
        Command::Install { prefix, destdir, built, library, force } => {
            install::run(shell, &install::Wish { prefix, destdir, built, library, force })
        }
        Command::Pylmdb { versions, library, include, only } => {
            let other = library.zip(include);
            pylmdb::run(shell, &pylmdb::Wish { versions, other, only })
        }
        Command::Proof => proof::run(shell),
        Command::Fuzz { target, seconds, args } => {
            fuzz::run(shell, target.as_deref(), seconds, &args)
        }
        Command::Crash { seconds } => {
            test::go_on(shell, &["-p", "huon-testkit", "--test", "crash"], seconds)
        }
        Command::Torture { seconds } => {
            test::go_on(shell, &["-p", "huon-testkit", "--test", "kills"], seconds)
        }
        Command::Demo { dir, args } => {
            let mut cargo =
                shell.cargo(["run", "--release", "-p", "huon-cli", "--bin", "huon-demo", "--"]);
            if let Some(dir) = dir {
                cargo.args(["--dir", &dir]);
            }
            shell.run(cargo.args(args))
        }
        Command::Loom { args } => Ok(loom(shell, &args)?.good("loom")),
        Command::Shuttle { args } => Ok(shuttle(shell, &args, 0)?.good("shuttle")),
        Command::Asan => Ok(sanitize::run(shell, 0)?.good("asan")),
        Command::Miri { machine } => Ok(miri::run(shell, &machine)?.good("miri")),
        Command::Bench { args } => bench::run(shell, &args),
        Command::BenchDeps => bench::install(shell),
        Command::Fmt => Ok(shell.run(&mut shell.cargo(["fmt", "--all"]))?
            & shell.run(shell.cargo(["fmt"]).args(bench::MANIFEST))?
            & shell.run(shell.cargo(["fmt"]).args(FUZZ_MANIFEST))?),
        Command::Clean => Ok(shell.run(&mut shell.cargo(["clean"]))?
            & shell.run(shell.cargo(["clean"]).args(bench::MANIFEST))?),
    }
}

/// Runs the engine's loom models.
fn loom(shell: &Shell, args: &[String]) -> Result<Outcome, String> {
    let mut cargo = shell.cargo(["test", "--release", "-p", "huon", "--lib"]);
    // Its own target directory: other flags would rebuild everything, back and forth.
    cargo.arg("--target-dir").arg(shell.target.join("loom"));
    cargo.args(["loom", "--"]).args(args).env("RUSTFLAGS", "--cfg loom");
    test::part(shell, "loom", &mut cargo)
}

/// Runs the engine's shuttle models, with seeds that follow from `rotate`.
fn shuttle(shell: &Shell, args: &[String], rotate: u64) -> Result<Outcome, String> {
    let mut cargo = shell.cargo(["test", "-p", "huon", "--lib", "--features", "simulation"]);
    cargo.arg("--target-dir").arg(shell.target.join("shuttle"));
    cargo.args(["shuttle", "--"]).args(args).env("RUSTFLAGS", "--cfg shuttle");
    test::part(shell, "shuttle", cargo.env("HUON_ROTATE", rotate.to_string()))
}

/// Whether what is only built for models of concurrency compiles. They run for too long to be part
/// of every test.
fn models_compile(shell: &Shell) -> Result<bool, String> {
    let mut good = true;
    for (model, features) in [("loom", ""), ("shuttle", "simulation")] {
        let mut check = shell.cargo(["check", "-p", "huon", "--lib", "--profile", "test"]);
        check.args(["--features", features, "--target-dir"]).arg(shell.target.join(model));
        good &= shell.run(check.env("RUSTFLAGS", format!("--cfg {model}")))?;
    }
    Ok(good)
}

/// Whether rustdoc has nothing to say: about the pages of contributors, where private items can be
/// linked to, and about those of users, where they cannot and the engine has no simulation.
fn docs_are_sound(shell: &Shell) -> Result<bool, String> {
    let mut good = true;
    let pages: [&[&str]; 3] =
        [&["--workspace", "--document-private-items"], &["--workspace"], &["-p", "huon"]];
    for which in pages {
        let mut doc = shell.cargo(["doc", "--no-deps", "--keep-going"]);
        good &= shell.run(doc.args(which).env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(good)
}

/// Runs every check, also after one has failed, so that one run shows everything.
fn lint(shell: &Shell) -> Result<bool, String> {
    let mut good = true;
    good &= shell.run(&mut shell.cargo(["fmt", "--all", "--check"]))?;
    good &= shell.run(shell.cargo(["fmt", "--check"]).args(bench::MANIFEST))?;
    good &= shell.run(shell.cargo(["fmt", "--check"]).args(FUZZ_MANIFEST))?;
    let strict = ["--", "-D", "warnings"];
    let everything = ["clippy", "--workspace", "--all-targets"];
    good &= shell.run(shell.cargo(everything).args(strict))?;
    // The engine as users build it: without the simulation that the test kit turns on.
    good &= shell.run(shell.cargo(["clippy", "-p", "huon"]).args(strict))?;
    good &= models_compile(shell)?;
    good &= docs_are_sound(shell)?;
    good &= packages::are_clean(shell)?;

    let files = source::files(&shell.root)?;
    let mut complaints = layers::check(&files)?;
    complaints.extend(circles::check(&files));
    complaints.extend(tidy::check(&shell.root, &files)?);
    complaints.extend(unique::check(&files));
    complaints.extend(words::check(&files));
    complaints.extend(proof::check(&shell.root)?);
    complaints.extend(named::check(&files));
    complaints.extend(features::check(&files));
    complaints.extend(makefile::check(&files));
    complaints.extend(planted::check(&shell.root, &files));
    for complaint in &complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => println!("layers and house rules: {} files, nothing to say", files.len()),
        n => println!("layers and house rules: {n} complaints"),
    }
    if !good {
        println!("lint: a command above has failed");
    }
    Ok(good & complaints.is_empty())
}

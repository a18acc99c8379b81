//! What stands behind the commands `huon` and `huon-demo`, and behind `huon_chk` and its like.
//!
//! 1. Only the engine's public interface is used.
//! 2. Commands that only look open the file read-only and create nothing but its lock file, if that
//!    is missing.
//! 3. Every command ends with one of the codes in `fail::Code`, and says on standard error, in
//!    one sentence, what went wrong, where, and what to do.
//! 4. A closed pipe is no error: the reader has seen enough.

pub mod alias;
mod args;
mod commands;
pub mod demo;
#[cfg(test)]
mod docs;
mod draft;
mod fail;
mod open;
mod out;
mod progress;
mod stop;
mod table;
mod text;

use std::process::ExitCode;

use clap::Parser;

/// Runs `huon` with the arguments of this process.
pub fn main() -> ExitCode {
    let args = args::Args::parse();
    let path = args.command.path().to_owned();
    match commands::run(args.command) {
        Ok(code) => code.into(),
        Err(failure) => failure.report("huon", &path).into(),
    }
}

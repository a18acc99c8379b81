//! What stands behind the commands `huon` and `huon-demo`, and behind `huon_chk` and its like.
//!
//! 1. Only the engine's public interface is used.
//! 2. Commands that only look open the file read-only and create nothing but its lock file, if that
//!    is missing.
//! 3. Every command ends with one of the codes in `fail::Code`, and says on standard error, in
//!    one sentence, what went wrong, where, and what to do.
//! 4. A closed pipe is no error: the reader has seen enough. Any other output that cannot be
//!    written is, that of `--help` and `--version` among them.
//! 5. A limit of file sizes is an error like a full disk, not the end by a signal.

/// A line on standard error. Where that cannot be written nothing is left to be told, and the exit
/// code stands.
macro_rules! tell {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

pub mod alias;
mod args;
mod columns;
mod commands;
pub mod demo;
#[cfg(test)]
mod docs;
mod draft;
mod fail;
mod guard;
mod number;
mod open;
mod out;
mod paint;
mod parts;
mod progress;
mod stop;
mod table;
mod text;
mod tuple;
mod types;

use std::process::ExitCode;

/// Runs `huon` with the arguments of this process.
pub fn main() -> ExitCode {
    stop::survive_size_limits();
    let args = match fail::parsed::<args::Args>("huon") {
        Ok(args) => args,
        Err(code) => return code.into(),
    };
    let path = args.command.path().to_owned();
    match guard::streams(&path).and_then(|()| commands::run(args.command)) {
        Ok(code) => code.into(),
        Err(failure) => failure.report("huon", &path).into(),
    }
}

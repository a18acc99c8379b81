//! The names and flags of libmdbx's tools, for hands and scripts that know those.
//!
//! 1. Flags are translated to those of `huon`, which does the work.
//! 2. A flag that has no meaning here is noted on standard error if the result is the same without
//!    it. Any other is refused, with a word on what to do instead.
//! 3. Exit codes are those of the tool that is meant.

mod chk;
mod copy;
mod drop;
mod dump;
mod load;
mod stat;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Parser};

use crate::args::Writing;
use crate::fail::{self, Code, Outcome};
use crate::progress;
use crate::text::Form;
use crate::{guard, stop};

/// Runs `huon_chk`.
pub fn chk() -> ExitCode {
    run::<chk::Chk>()
}

/// Runs `huon_stat`.
pub fn stat() -> ExitCode {
    run::<stat::Stat>()
}

/// Runs `huon_copy`.
pub fn copy() -> ExitCode {
    run::<copy::Copy>()
}

/// Runs `huon_dump`.
pub fn dump() -> ExitCode {
    run::<dump::Dump>()
}

/// Runs `huon_load`.
pub fn load() -> ExitCode {
    run::<load::Load>()
}

/// Runs `huon_drop`.
pub fn drop() -> ExitCode {
    run::<drop::Drop>()
}

const AFTER_HELP: &str = "\
Flags in brackets have no meaning here: they are accepted with a note, or
refused. `huon --help` shows what else there is.";

/// A flag of libmdbx's tool that means nothing here.
enum Foreign {
    /// The result is the same without it, since ..
    Note(&'static str),
    /// The result would be another one; what to do instead.
    Refuse(&'static str),
}

/// A tool of libmdbx.
trait Tool: Parser {
    const NAME: &'static str;

    /// What an end of ours is called there.
    fn code(code: Code) -> u8 {
        u8::from(code != Code::Fine)
    }

    fn is_quiet(&self) -> bool;
    fn path(&self) -> &Path;
    /// Whether a flag was given, its name, and why it means nothing.
    fn foreign(&self) -> Vec<(bool, &'static str, Foreign)>;
    fn run(&self) -> Outcome;
}

fn run<T: Tool>() -> ExitCode {
    stop::survive_size_limits();
    let tool = match fail::parsed::<T>(T::NAME) {
        Ok(tool) => tool,
        Err(code) => return T::code(code).into(),
    };
    let mut foreign = tool.foreign();
    foreign.retain(|(is_given, ..)| *is_given);
    for (_, flag, why) in &foreign {
        if let Foreign::Refuse(why) = why {
            tell!("{}: {flag}: {why}.", T::NAME);
            return T::code(Code::Usage).into();
        }
    }
    if tool.is_quiet() {
        progress::be_quiet();
    }
    for (_, flag, why) in &foreign {
        match why {
            Foreign::Note(why) if !tool.is_quiet() => tell!("{}: {flag}: {why}.", T::NAME),
            _ => {}
        }
    }
    let outcome = guard::streams(tool.path()).and_then(|()| tool.run());
    let code = outcome.unwrap_or_else(|failure| failure.report(T::NAME, tool.path()));
    T::code(code).into()
}

/// A table's name as `huon` reads it: these tools take it as it is.
fn table(name: &OsStr) -> OsString {
    Form::Plain.show(name.as_bytes()).into()
}

/// How these tools write: they wait as long as `huon` does unless told otherwise.
fn writing() -> Writing {
    Writing { wait: 10, page_size: None }
}

/// Flags that most of the tools have.
#[derive(Args, Debug)]
struct Common {
    /// Show no progress, and no notes
    #[arg(short)]
    quiet: bool,
    /// [the environment is a file]
    #[arg(short = 'n')]
    no_directory: bool,
}

impl Common {
    fn foreign(&self) -> (bool, &'static str, Foreign) {
        (self.no_directory, "-n", Foreign::Note(ONE_FILE))
    }
}

/// Flags of those that read much.
#[derive(Args, Debug)]
struct Ahead {
    /// [read everything ahead]
    #[arg(short = 'u')]
    warm: bool,
    /// [read everything ahead, and lock it in memory]
    #[arg(short = 'U')]
    lock: bool,
}

impl Ahead {
    fn foreign(&self) -> [(bool, &'static str, Foreign); 2] {
        [(self.warm, "-u", Foreign::Note(WARM)), (self.lock, "-U", Foreign::Note(WARM))]
    }
}

const WARM: &str = "nothing is read ahead; pages come from the page cache as they are needed";
const ONE_FILE: &str = "an environment is always one file, with its lock file beside it";

/// All tools, as clap knows them.
pub(crate) fn commands() -> [clap::Command; 6] {
    use clap::CommandFactory;
    [
        chk::Chk::command(),
        stat::Stat::command(),
        copy::Copy::command(),
        dump::Dump::command(),
        load::Load::command(),
        drop::Drop::command(),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_tool_is_well_formed() {
        super::commands().into_iter().for_each(clap::Command::debug_assert);
    }
}

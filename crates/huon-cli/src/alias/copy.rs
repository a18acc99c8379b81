//! `huon_copy`: `huon copy` with the flags of `mdbx_copy`.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::{AFTER_HELP, Ahead, Common, Foreign, Tool};
use crate::args;
use crate::commands::copy::copy;
use crate::fail::Outcome;

/// Copy an environment while others go on writing.
#[derive(Parser, Debug)]
#[command(name = "huon_copy", version, max_term_width = 80, args_override_self = true)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Copy {
    /// The environment
    source: PathBuf,
    /// The new file
    #[arg(default_value = "-", hide_default_value = true)]
    #[arg(help = "The new file [default: standard output]")]
    target: PathBuf,
    /// Rebuild every table without gaps
    #[arg(short)]
    compact: bool,
    /// Replace the new file if it exists and no process has it open
    #[arg(short)]
    force: bool,
    /// [a copy of dynamic size: every file is]
    #[arg(short)]
    dynamic: bool,
    /// [park the reading transaction: it delays no writer]
    #[arg(short)]
    park: bool,
    #[command(flatten)]
    ahead: Ahead,
    #[command(flatten)]
    common: Common,
}

impl Tool for Copy {
    const NAME: &'static str = "huon_copy";

    fn is_quiet(&self) -> bool {
        self.common.quiet
    }

    fn path(&self) -> &Path {
        &self.source
    }

    fn foreign(&self) -> Vec<(bool, &'static str, Foreign)> {
        use Foreign::Note;
        let park = "a reader costs at most one copy of what it sees, however long it takes";
        let [warm, lock] = self.ahead.foreign();
        vec![
            (self.dynamic, "-d", Note("every file grows and shrinks within its limits")),
            (self.park, "-p", Note(park)),
            warm,
            lock,
            self.common.foreign(),
        ]
    }

    fn run(&self) -> Outcome {
        copy(&args::Copy {
            file: self.source.clone(),
            target: self.target.clone(),
            compact: self.compact,
            force: self.force,
        })
    }
}

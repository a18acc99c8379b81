//! `huon_copy`: `huon copy` with the flags of `mdbx_copy`.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::{AFTER_HELP, Foreign, ONE_FILE, Tool, WARM};
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
    /// Replace the new file if it exists and nobody has it open
    #[arg(short)]
    force: bool,
    /// Show no progress, and no notes
    #[arg(short)]
    quiet: bool,
    /// [a copy of dynamic size: every file is]
    #[arg(short)]
    dynamic: bool,
    /// [park the reading transaction: it holds nobody up]
    #[arg(short)]
    park: bool,
    /// [read everything ahead]
    #[arg(short = 'u')]
    warm: bool,
    /// [read everything ahead, and lock it in memory]
    #[arg(short = 'U')]
    lock: bool,
    /// [the environment is a file]
    #[arg(short = 'n')]
    no_directory: bool,
}

impl Tool for Copy {
    const NAME: &'static str = "huon_copy";

    fn is_quiet(&self) -> bool {
        self.quiet
    }

    fn path(&self) -> &Path {
        &self.source
    }

    fn foreign(&self) -> Vec<(bool, &'static str, Foreign)> {
        use Foreign::Note;
        let park = "a reader costs at most one copy of what it sees, however long it takes";
        vec![
            (self.dynamic, "-d", Note("every file grows and shrinks within its limits")),
            (self.park, "-p", Note(park)),
            (self.warm, "-u", Note(WARM)),
            (self.lock, "-U", Note(WARM)),
            (self.no_directory, "-n", Note(ONE_FILE)),
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

//! `huon_dump`: `huon dump` with the flags of `mdbx_dump`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::{AFTER_HELP, Ahead, Common, Foreign, Tool, table};
use crate::args;
use crate::commands::dump::dump;
use crate::commands::info::print_names;
use crate::fail::Outcome;

/// Write records as text, those of the main table unless others are named.
#[derive(Parser, Debug)]
#[command(name = "huon_dump", version, max_term_width = 80, args_override_self = true)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Dump {
    /// The environment
    file: PathBuf,
    /// All tables
    #[arg(short, conflicts_with = "table")]
    all: bool,
    /// This table
    #[arg(short = 's', value_name = "TABLE")]
    table: Option<OsString>,
    /// Write to this file, and replace it if it exists
    #[arg(short = 'f', value_name = "FILE", default_value = "-", hide_default_value = true)]
    output: PathBuf,
    /// List the names of tables instead, one a line
    #[arg(short)]
    list: bool,
    /// Readable text with \xx for other bytes
    #[arg(short)]
    print: bool,
    /// Save what can be read of a damaged file
    #[arg(short)]
    rescue: bool,
    /// [a key once for all its values: refused]
    #[arg(short)]
    concise: bool,
    #[command(flatten)]
    ahead: Ahead,
    #[command(flatten)]
    common: Common,
}

impl Tool for Dump {
    const NAME: &'static str = "huon_dump";

    fn is_quiet(&self) -> bool {
        self.common.quiet
    }

    fn path(&self) -> &Path {
        &self.file
    }

    fn foreign(&self) -> Vec<(bool, &'static str, Foreign)> {
        use Foreign::Refuse;
        let concise = "no loader reads that form; leave it out, each pair has its key then";
        let [warm, lock] = self.ahead.foreign();
        vec![(self.concise, "-c", Refuse(concise)), warm, lock, self.common.foreign()]
    }

    fn run(&self) -> Outcome {
        if self.list {
            return print_names(&self.file);
        }
        let named = table(self.table.as_deref().unwrap_or_default());
        dump(&args::Dump {
            file: self.file.clone(),
            output: self.output.clone(),
            force: true,
            table: if self.all { None } else { Some(named) },
            all: self.all,
            print: self.print,
            rescue: self.rescue,
            start: args::Start { meta_slot: None },
        })
    }
}

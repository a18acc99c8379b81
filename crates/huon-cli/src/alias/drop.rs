//! `huon_drop`: `huon drop` with the flags of `mdbx_drop`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::{AFTER_HELP, Common, Foreign, Tool, table, writing};
use crate::args::{self, Target};
use crate::commands::tables::drop;
use crate::fail::Outcome;

/// Empty a table, the main one unless another is named, or delete it.
#[derive(Parser, Debug)]
#[command(name = "huon_drop", version, max_term_width = 80, args_override_self = true)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Drop {
    /// The environment
    file: PathBuf,
    /// Delete the table instead of emptying it
    #[arg(short)]
    delete: bool,
    /// The table
    #[arg(short = 's', value_name = "TABLE")]
    table: Option<OsString>,
    #[command(flatten)]
    common: Common,
}

impl Tool for Drop {
    const NAME: &'static str = "huon_drop";

    fn is_quiet(&self) -> bool {
        self.common.quiet
    }

    fn path(&self) -> &Path {
        &self.file
    }

    fn foreign(&self) -> Vec<(bool, &'static str, Foreign)> {
        let main = "the main table can only be emptied; leave it out, or name a table with -s";
        let is_main = self.table.as_ref().is_none_or(|name| name.is_empty());
        vec![(self.delete && is_main, "-d", Foreign::Refuse(main)), self.common.foreign()]
    }

    fn run(&self) -> Outcome {
        drop(&args::Drop {
            target: Target { file: self.file.clone(), table: self.table.as_deref().map(table) },
            empty: !self.delete,
            writing: writing(),
        })
    }
}

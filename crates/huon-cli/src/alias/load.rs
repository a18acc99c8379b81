//! `huon_load`: `huon load` with the flags of `mdbx_load`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::{AFTER_HELP, Common, Foreign, Tool, table, writing};
use crate::args;
use crate::commands::load::load;
use crate::fail::Outcome;

/// Read records as mdbx_dump, mdb_dump and Berkeley DB write them.
#[derive(Parser, Debug)]
#[command(name = "huon_load", version, max_term_width = 80, args_override_self = true)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Load {
    /// The environment; made if it does not exist
    file: PathBuf,
    /// Read this file instead of standard input
    #[arg(short = 'f', value_name = "FILE", default_value = "-", hide_default_value = true)]
    input: PathBuf,
    /// Load everything into this table, whatever the text says
    #[arg(short = 's', value_name = "TABLE")]
    table: Option<OsString>,
    /// Keep the values of keys that are there already
    #[arg(short = 'N')]
    keep: bool,
    /// Empty the table of -s first
    #[arg(short)]
    purge: bool,
    /// Plain lines, a key and its value in turn, without a header
    #[arg(short = 'T')]
    text: bool,
    /// [append in the order of the input: found out by itself]
    #[arg(short)]
    append: bool,
    /// [go on after lines that are wrong: refused]
    #[arg(short)]
    rescue: bool,
    #[command(flatten)]
    common: Common,
}

impl Tool for Load {
    const NAME: &'static str = "huon_load";

    fn is_quiet(&self) -> bool {
        self.common.quiet
    }

    fn path(&self) -> &Path {
        &self.file
    }

    fn foreign(&self) -> Vec<(bool, &'static str, Foreign)> {
        use Foreign::{Note, Refuse};
        let append = "input that is in order is appended without being told, and any other loaded";
        let rescue = "a load ends at the first line that is wrong, names it, and keeps what comes \
                      before it; mend the line, and load again";
        let purge = "name the table to empty with -s, or empty each with huon_drop before";
        vec![
            (self.rescue, "-r", Refuse(rescue)),
            (self.purge && self.table.is_none(), "-p", Refuse(purge)),
            (self.append, "-a", Note(append)),
            self.common.foreign(),
        ]
    }

    fn run(&self) -> Outcome {
        load(&args::Load {
            file: self.file.clone(),
            input: self.input.clone(),
            table: self.table.as_deref().map(table),
            keep: self.keep,
            pairs: self.text,
            empty: self.purge,
            writing: writing(),
        })
    }
}

//! `huon_chk`: `huon check` with the flags and exit codes of `mdbx_chk`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::{AFTER_HELP, Foreign, ONE_FILE, Tool, WARM};
use crate::args::Check;
use crate::commands::check::check;
use crate::fail::{Code, Outcome};

const EXIT_CODES: &str = "\
Exit codes:
  0  fine
  2  problems found
  3  it could not be opened: damaged, busy, or no environment
  4  the system refused something
  5  wrong usage, or interrupted";

/// Verify every page of an environment.
#[derive(Parser, Debug)]
#[command(name = "huon_chk", version, max_term_width = 80, args_override_self = true)]
#[command(after_help = format!("{EXIT_CODES}\n\n{AFTER_HELP}"))]
pub(super) struct Chk {
    /// The environment
    file: PathBuf,
    /// List the tables, too
    #[arg(short, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Print nothing; the exit code says it
    #[arg(short)]
    quiet: bool,
    /// Start from the meta in slot 0
    #[arg(short = '0', conflicts_with_all = ["meta_1", "meta_2"])]
    meta_0: bool,
    /// Start from the meta in slot 1
    #[arg(short = '1', conflicts_with = "meta_2")]
    meta_1: bool,
    /// Start from the meta in slot 2
    #[arg(short = '2')]
    meta_2: bool,
    /// [share the file: it always is, unless a meta is chosen]
    #[arg(short)]
    cooperative: bool,
    /// [write mode: a check never writes]
    #[arg(short)]
    write: bool,
    /// [ignore the order of keys: it is not checked where it is a program's own]
    #[arg(short)]
    ignore_order: bool,
    /// [skip the pages: refused]
    #[arg(short = 'd')]
    skip_pages: bool,
    /// [one table only: refused]
    #[arg(short = 's', value_name = "TABLE")]
    table: Option<OsString>,
    /// [turn to the chosen meta if it is right: refused]
    #[arg(short = 't')]
    turn: bool,
    /// [turn to the chosen meta in any case: refused]
    #[arg(short = 'T')]
    turn_anyway: bool,
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

impl Tool for Chk {
    const NAME: &'static str = "huon_chk";

    fn code(code: Code) -> u8 {
        match code {
            Code::Fine => 0,
            Code::Problems => 2,
            Code::Busy | Code::Corrupt => 3,
            Code::Io => 4,
            Code::Usage | Code::Interrupted => 5,
        }
    }

    fn is_quiet(&self) -> bool {
        self.quiet
    }

    fn path(&self) -> &Path {
        &self.file
    }

    fn foreign(&self) -> Vec<(bool, &'static str, Foreign)> {
        use Foreign::{Note, Refuse};
        let turn = "no meta is changed; `huon dump --meta-slot` into a new file with `huon load`";
        let order = "orders of a program's own are not checked anyway, and all others still are";
        let table = "free and used pages can only be told for all tables at once; leave it out, \
                     and find the table in what is printed";
        let pages = "there is no check without pages; `huon_stat -e` shows what opening verifies";
        let shared = "the file is shared unless a meta is chosen";
        vec![
            (self.turn, "-t", Refuse(turn)),
            (self.turn_anyway, "-T", Refuse(turn)),
            (self.skip_pages, "-d", Refuse(pages)),
            (self.table.is_some(), "-s", Refuse(table)),
            (self.cooperative && self.slot().is_none(), "-c", Note(shared)),
            (
                self.cooperative && self.slot().is_some(),
                "-c",
                Refuse("a chosen meta is only looked at while nobody else has the file open"),
            ),
            (self.write, "-w", Note("a check never writes")),
            (self.ignore_order, "-i", Note(order)),
            (self.warm, "-u", Note(WARM)),
            (self.lock, "-U", Note(WARM)),
            (self.no_directory, "-n", Note(ONE_FILE)),
        ]
    }

    fn run(&self) -> Outcome {
        check(&Check {
            file: self.file.clone(),
            meta_slot: self.slot(),
            json: false,
            quiet: self.quiet,
            verbose: self.verbose > 0 && !self.quiet,
        })
    }
}

impl Chk {
    fn slot(&self) -> Option<u8> {
        let chosen = [self.meta_0, self.meta_1, self.meta_2];
        chosen.iter().position(|&is_chosen| is_chosen).map(|slot| slot as u8)
    }
}

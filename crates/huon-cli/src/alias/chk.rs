//! `huon_chk`: `huon check` with the flags and exit codes of `mdbx_chk`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::{AFTER_HELP, Ahead, Foreign, ONE_FILE, Tool};
use crate::args::{Check, Look, Start};
use crate::commands::check::check;
use crate::commands::metas::switch_confirmed;
use crate::fail::{Code, Outcome};

const EXIT_CODES: &str = "\
Exit codes:
  0  fine
  2  problems found
  3  it could not be opened: damaged, busy, or no environment
  4  the operating system returned an error
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
    /// Allow -t to write; a check alone never does
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
    /// Make the chosen meta the newest if no problem is found; needs -w
    #[arg(short = 't')]
    turn: bool,
    /// [turn to the chosen meta in any case: refused]
    #[arg(short = 'T')]
    turn_anyway: bool,
    #[command(flatten)]
    ahead: Ahead,
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
        let choose = "choose a meta with -0, -1 or -2; `huon metas` lists them";
        let write = "add -w to allow it: what is newer than that meta is lost for good";
        let anyway = "a snapshot that is not whole is never the newest; use -t, or save what can \
                      be read with `huon dump --rescue --meta-slot`";
        let order = "orders of a program's own are not checked anyway, and all others still are";
        let table = "free and used pages can only be told for all tables at once; leave it out, \
                     and find the table in what is printed";
        let pages = "there is no check without pages; `huon_stat -e` shows what opening verifies";
        let shared = "the file is shared unless a meta is chosen";
        let [warm, lock] = self.ahead.foreign();
        vec![
            (self.turn_anyway, "-T", Refuse(anyway)),
            (self.turn && self.slot().is_none(), "-t", Refuse(choose)),
            (self.turn && !self.write, "-t", Refuse(write)),
            (self.skip_pages, "-d", Refuse(pages)),
            (self.table.is_some(), "-s", Refuse(table)),
            (self.cooperative && self.slot().is_none(), "-c", Note(shared)),
            (
                self.cooperative && self.slot().is_some(),
                "-c",
                Refuse("a chosen meta is only read while no other process has the file open"),
            ),
            (self.write && !self.turn, "-w", Note("a check never writes")),
            (self.ignore_order, "-i", Note(order)),
            warm,
            lock,
            (self.no_directory, "-n", Note(ONE_FILE)),
        ]
    }

    fn run(&self) -> Outcome {
        let checked = check(&Check {
            look: Look { file: self.file.clone(), json: false },
            start: Start { meta_slot: self.slot() },
            quiet: self.quiet,
            verbose: self.verbose > 0 && !self.quiet,
        })?;
        match self.slot().filter(|_| self.turn && checked == Code::Fine) {
            Some(slot) => switch_confirmed(&self.file, slot, self.quiet),
            None => Ok(checked),
        }
    }
}

impl Chk {
    fn slot(&self) -> Option<u8> {
        let chosen = [self.meta_0, self.meta_1, self.meta_2];
        chosen.iter().position(|&is_chosen| is_chosen).map(|slot| slot as u8)
    }
}

//! `huon_stat`: numbers of tables as `mdbx_stat` prints them, and parts of `huon stat` and
//! `huon info`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Parser;
use huon::TableStat;

use super::{AFTER_HELP, Common, Foreign, Tool};
use crate::args::Look;
use crate::commands::{info, readers, stat};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::table::missing;
use crate::text::Form;

/// Show the state of an environment, and the size of its main table.
#[derive(Parser, Debug)]
#[command(name = "huon_stat", version, max_term_width = 80, args_override_self = true)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Stat {
    /// The environment
    file: PathBuf,
    /// Every table's size
    #[arg(short, conflicts_with = "table")]
    all: bool,
    /// This table's size
    #[arg(short = 's', value_name = "TABLE")]
    table: Option<OsString>,
    /// The state of the environment
    #[arg(short)]
    environment: bool,
    /// Free space, and the snapshots that retain it; once is enough
    #[arg(short, action = clap::ArgAction::Count)]
    free: u8,
    /// The readers; once is enough
    #[arg(short, action = clap::ArgAction::Count)]
    readers: u8,
    /// [operations on pages: refused]
    #[arg(short)]
    pages: bool,
    #[command(flatten)]
    common: Common,
}

impl Tool for Stat {
    const NAME: &'static str = "huon_stat";

    fn is_quiet(&self) -> bool {
        self.common.quiet
    }

    fn path(&self) -> &Path {
        &self.file
    }

    fn foreign(&self) -> Vec<(bool, &'static str, Foreign)> {
        let pages = "each program counts its own operations, and shows them with `Env::info`; \
                     leave it out";
        vec![(self.pages, "-p", Foreign::Refuse(pages)), self.common.foreign()]
    }

    fn run(&self) -> Outcome {
        let look = Look { file: self.file.clone(), json: false };
        if self.environment {
            info::info(&look)?;
        }
        if self.readers > 0 {
            readers::readers(&look)?;
        }
        if self.free > 0 {
            stat::space(&look)?;
        }
        self.tables()?;
        Ok(Code::Fine)
    }
}

impl Stat {
    fn tables(&self) -> Result<(), Failure> {
        let stat = open::look(&self.file)?.stat()?;
        let name = self.table.as_deref().unwrap_or_default().as_bytes();
        let mut out = Out::new();
        let mut found = false;
        for table in stat.tables.iter().filter(|table| self.all || table.name == name) {
            found = true;
            print(&mut out, table, stat.page_bytes)?;
        }
        out.finish()?;
        if found { Ok(()) } else { Err(missing(&self.file, name)) }
    }
}

fn print(out: &mut Out, table: &TableStat, page_bytes: u32) -> Result<(), Failure> {
    if table.name.is_empty() {
        out.line("Status of Main DB")?;
    } else {
        out.line(format_args!("Status of {}", Form::Plain.show(&table.name)))?;
    }
    out.line(format_args!("  Pagesize: {page_bytes}"))?;
    out.line(format_args!("  Tree depth: {}", table.depth))?;
    out.line(format_args!("  Branch pages: {}", table.branch_pages))?;
    out.line(format_args!("  Leaf pages: {}", table.leaf_pages))?;
    out.line(format_args!("  Overflow pages: {}", table.overflow_pages))?;
    // As in libmdbx and LMDB, named tables count as records of the main one.
    out.line(format_args!("  Entries: {}", table.entries))
}

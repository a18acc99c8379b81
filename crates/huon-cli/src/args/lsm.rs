//! Arguments of the commands for LSM tables.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};

use super::{TypeArgs, Writing};

pub(super) const LSM_HELP: &str = "\
An LSM table is made by a program with the crate huon-lsm, or by `huon lsm load`.
It lies in tables of the same file whose names begin with \\00lsm/: a manifest
and sorted runs, which `huon tables` names as what they are.

Examples:
  huon lsm stat data.huon
  huon lsm compact data.huon --idle
  huon lsm check data.huon
  huon lsm dump data.huon --table events > events.txt
  huon dump data.huon --table log | huon lsm load data.huon --table events";

#[derive(Subcommand, Debug)]
pub(crate) enum Lsm {
    /// Show the runs of LSM tables by size, their filters, and what is to be merged
    #[command(after_help = STAT_HELP)]
    Stat(LsmStat),
    /// Merge runs of LSM tables, while others read and write
    #[command(after_help = COMPACT_HELP)]
    Compact(LsmCompact),
    /// Verify the manifests, runs and filters of LSM tables
    #[command(after_help = CHECK_HELP)]
    Check(LsmCheck),
    /// Write the records of LSM tables, merged, as `huon dump` does, or as JSON
    #[command(after_help = DUMP_HELP)]
    Dump(LsmDump),
    /// Read records into LSM tables, from a dump or from JSON
    #[command(after_help = LOAD_HELP)]
    Load(LsmLoad),
    /// Delete an LSM table with its manifest and runs
    #[command(after_help = "Ends with 1 if there is no such table.\n\n\
                            Examples:\n  huon lsm drop data.huon --table events")]
    Drop(LsmDrop),
}

impl Lsm {
    /// The environment that the command is about.
    pub(super) fn path(&self) -> &Path {
        match self {
            Lsm::Stat(a) => &a.target.file,
            Lsm::Compact(a) => &a.target.file,
            Lsm::Check(a) => &a.target.file,
            Lsm::Dump(a) => &a.file,
            Lsm::Load(a) => &a.file,
            Lsm::Drop(a) => &a.file,
        }
    }
}

/// A file, and an LSM table in it.
#[derive(ClapArgs, Debug)]
pub(crate) struct LsmTarget {
    /// The environment
    pub(crate) file: PathBuf,
    /// Only this LSM table [default: all]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) table: Option<OsString>,
}

const STAT_HELP: &str = "\
Classes are those of the merges: runs of a class are as many times as large as
those of the one below as the fan of the table says. Records count once in each
run that has the key. The debt is what is merged until the policy is content;
`huon lsm compact` does it. What commits and merges have written counts from the
making of the table on, over all processes. How long commits had to wait for
merges, only their own process knows: `huon lsm load` says its own.

Examples:
  huon lsm stat data.huon
  huon lsm stat data.huon --table events
  huon lsm stat data.huon --json | jq '.tables[].debt_bytes'";

#[derive(ClapArgs, Debug)]
pub(crate) struct LsmStat {
    #[command(flatten)]
    pub(crate) target: LsmTarget,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

const COMPACT_HELP: &str = "\
Merges in steps of a few megabytes, each a transaction of its own, until the
policy is content. Others may read, write and merge meanwhile. Ctrl-C ends it
after a step; whatever ends it, what was merged stays, and the next one goes on.
Tables with a merge operator are left to the programs that have it.
The space of merged runs is reused; `--idle` and `huon compact` make the file
shorter.

Examples:
  huon lsm compact data.huon
  huon lsm compact data.huon --table events --idle
  huon lsm compact data.huon --json";

#[derive(ClapArgs, Debug)]
pub(crate) struct LsmCompact {
    #[command(flatten)]
    pub(crate) target: LsmTarget,
    /// Do what is done where nothing is committed for a while: merge each table to one run,
    /// whatever the policy says, and make the file shorter
    #[arg(long)]
    pub(crate) idle: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to wait for another writer
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) wait: u64,
}

const CHECK_HELP: &str = "\
What `huon check` cannot know: that manifests are in order, that runs hold what
these say, that filters deny no key, that no merge was left half done with its
inputs gone, and that no table lies about that no manifest names. Ends with 1 if
anything is wrong.

Examples:
  huon check data.huon && huon lsm check data.huon
  huon lsm check data.huon --table events --verbose
  huon lsm check data.huon --json";

#[derive(ClapArgs, Debug)]
pub(crate) struct LsmCheck {
    #[command(flatten)]
    pub(crate) target: LsmTarget,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing; the exit code says it
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// List the runs
    #[arg(short, long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) verbose: bool,
}

const DUMP_HELP: &str = "\
Each key once, with its newest value: a section for each table, which `huon lsm
load`, `huon load` and other programs read. A table with a merge operator can be
dumped where its program has merged it to one run. With --json, of one table, an object
a line, with `key` and `value`, as `huon ls --json` prints and `huon put` reads.

Examples:
  huon lsm dump data.huon > data.txt
  huon lsm dump data.huon --table events --print events.txt --force
  huon lsm dump data.huon --table events --json | jq .key
  huon lsm dump data.huon --table events | huon load data.huon --table log";

#[derive(ClapArgs, Debug)]
pub(crate) struct LsmDump {
    /// The environment
    pub(crate) file: PathBuf,
    /// Where to write; `-` is standard output
    #[arg(default_value = "-")]
    pub(crate) output: PathBuf,
    /// Replace the output file if it exists, when the dump is whole
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Only this LSM table [default: all]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) table: Option<OsString>,
    /// Readable text with \xx for other bytes, instead of hex digits
    #[arg(short, long)]
    pub(crate) print: bool,
    /// A JSON object a line, with `key` and `value`
    #[arg(long, conflicts_with = "print")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) types: TypeArgs,
}

const LOAD_HELP: &str = "\
Records replace those with the same key. A table that does not exist is made,
and opens with any types. It commits every half second: after Ctrl-C, or
whatever ends it early, what was committed is there. With --json, an object a
line, with `key` and `value`, goes to the table that --table names.

Examples:
  huon lsm load data.huon data.txt
  huon dump old.huon --table log | huon lsm load data.huon --table events
  mdb_dump -s log lmdb-directory | huon lsm load data.huon
  jq -c '{key: .id, value: .name}' a.json | huon lsm load data.huon -t names --json";

#[derive(ClapArgs, Debug)]
pub(crate) struct LsmLoad {
    /// The environment; made if it does not exist
    pub(crate) file: PathBuf,
    /// What to read; `-` is standard input
    #[arg(default_value = "-")]
    pub(crate) input: PathBuf,
    /// Load everything into this LSM table, whatever the text says
    #[arg(short, long, value_name = "NAME")]
    pub(crate) table: Option<OsString>,
    /// Read a JSON object a line instead of a dump
    #[arg(long, requires = "table")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) types: TypeArgs,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct LsmDrop {
    /// The environment
    pub(crate) file: PathBuf,
    /// The LSM table
    #[arg(short, long, value_name = "NAME")]
    pub(crate) table: OsString,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

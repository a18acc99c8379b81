//! Arguments of the commands for tables and files as a whole.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{AtPoint, AtSnapshot, Look, Secret, Start, Target, Writing, slot};

pub(super) const DROP_HELP: &str = "\
Ends with 1 if there is no such table. The main table can only be emptied; the
named tables stay then.

Examples:
  huon drop data.huon --table users
  huon drop data.huon --table users --empty
  huon drop data.huon --empty";

#[derive(ClapArgs, Debug)]
pub(crate) struct Drop {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Delete the records and keep the table
    #[arg(long)]
    pub(crate) empty: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Rename {
    /// The environment
    pub(crate) file: PathBuf,
    /// The table
    pub(crate) table: OsString,
    /// Its new name
    pub(crate) name: OsString,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

pub(super) const CHECK_HELP: &str = "\
Checksums, order, pointers, counts, and that every page is in use exactly once
or free. Ends with 1 if anything is wrong.

Examples:
  huon check data.huon
  huon check data.huon --verbose
  huon check data.huon --json
  huon check data.huon --meta-slot 1";

#[derive(ClapArgs, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) look: Look,
    #[command(flatten)]
    pub(crate) start: Start,
    /// Print nothing; the exit code says it
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// List the tables and what was counted in them
    #[arg(short, long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) verbose: bool,
}

pub(super) const METAS_HELP: &str = "\
Each flush of a commit writes one of three metas, so that up to three snapshots
can be opened. Of each it is shown whether it is whole, which one is the newest
and the durable one, the part of the file that it uses, the page of its main
table's root, and how many flushes its commit took. That a meta is whole does
not say that all its pages are still there: `huon check --meta-slot` does. It
looks at files that do not open, too. Ends with 1 if a meta is damaged.

Examples:
  huon metas data.huon
  huon metas data.huon --json
  huon check data.huon --meta-slot 1
  huon switch-meta data.huon 1";

pub(super) const SWITCH_META_HELP: &str = "\
Shows what would be lost, and does nothing else without --yes. No other process
may have the file open. Everything of the chosen snapshot is checked before
anything is written; where a page of it was used again or is damaged, it is
refused, and `huon dump --rescue --meta-slot` saves what can be read. There is
no way back, except a copy that was made before with `cp`.

Examples:
  huon metas data.huon
  huon switch-meta data.huon 1
  cp data.huon before.huon && huon switch-meta data.huon 1 --yes";

#[derive(ClapArgs, Debug)]
pub(crate) struct SwitchMeta {
    /// The environment
    pub(crate) file: PathBuf,
    /// The slot of the meta, 0 to 2: see `huon metas`
    #[arg(value_parser = slot())]
    pub(crate) slot: u8,
    /// Do it: what is newer than that meta is lost for good
    #[arg(long)]
    pub(crate) yes: bool,
}

pub(super) const DUMP_HELP: &str = "\
Examples:
  huon dump data.huon > data.txt
  huon dump data.huon --print data.txt --force
  huon dump data.huon --table users | mdb_load -s users lmdb-directory
  huon dump --rescue damaged.huon | huon load fresh.huon";

#[derive(ClapArgs, Debug)]
pub(crate) struct Dump {
    /// The environment
    pub(crate) file: PathBuf,
    /// Where to write; `-` is standard output
    #[arg(default_value = "-")]
    pub(crate) output: PathBuf,
    /// Replace the output file if it exists, when the dump is whole
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Only this table; the empty name is the unnamed main table
    #[arg(short, long, value_name = "NAME")]
    pub(crate) table: Option<OsString>,
    /// All tables; this is the default
    #[arg(short, long, conflicts_with = "table")]
    pub(crate) all: bool,
    /// Readable text with \xx for other bytes, instead of hex digits
    #[arg(short, long)]
    pub(crate) print: bool,
    /// Save what can be read of a damaged file; ends with 1 if that is not all
    #[arg(long)]
    pub(crate) rescue: bool,
    #[command(flatten)]
    pub(crate) start: Start,
}

pub(super) const LOAD_HELP: &str = "\
Records of a table that exists are added to it, and replace those with the same
key, so that a load can be repeated. It commits every second: after Ctrl-C, or
whatever ends it early, what was committed is there.

Examples:
  huon load data.huon data.txt
  mdb_dump -a lmdb-directory | huon load data.huon
  mdb_dump lmdb-directory | huon load data.huon --table users
  paste -d '\\n' keys values | huon load data.huon --pairs";

#[derive(ClapArgs, Debug)]
pub(crate) struct Load {
    /// The environment; made if it does not exist
    pub(crate) file: PathBuf,
    /// What to read; `-` is standard input
    #[arg(default_value = "-")]
    pub(crate) input: PathBuf,
    /// Load everything into this table, whatever the text says
    #[arg(short, long, value_name = "NAME")]
    pub(crate) table: Option<OsString>,
    /// Keep the values of keys that are there already
    #[arg(short, long)]
    pub(crate) keep: bool,
    /// Read plain lines, a key and its value in turn, instead of a dump
    #[arg(long)]
    pub(crate) pairs: bool,
    /// Empty the table first, in a commit of its own
    #[arg(long, requires = "table")]
    pub(crate) empty: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

pub(super) const COPY_HELP: &str = "\
The copy appears under its name when it is whole and flushed. An existing file
is never overwritten, and only replaced as a whole with --force.

Examples:
  huon copy data.huon backup.huon
  huon copy data.huon small.huon --compact
  huon copy data.huon - | ssh host 'cat > backup.huon'";

#[derive(ClapArgs, Debug)]
pub(crate) struct Copy {
    /// The environment
    pub(crate) file: PathBuf,
    /// The new file; `-` is standard output
    pub(crate) target: PathBuf,
    /// Rebuild every table without gaps
    #[arg(short, long)]
    pub(crate) compact: bool,
    /// Replace the new file if it exists and no process has it open
    #[arg(short, long)]
    pub(crate) force: bool,
}

pub(super) const BACKUP_HELP: &str = "\
A backup has the pages of a snapshot, or with --after only those that changed
since the snapshot of another backup: it costs what changed. `huon restore`
makes a file of a whole backup and those that follow it. Writers go on meanwhile.

Examples:
  huon backup data.huon monday.backup
  huon backup data.huon tuesday.backup --after monday.backup
  huon backup data.huon - | ssh host 'cat > data.backup'";

#[derive(ClapArgs, Debug)]
pub(crate) struct Backup {
    /// The environment
    pub(crate) file: PathBuf,
    /// The backup to write; `-` is standard output
    pub(crate) target: PathBuf,
    /// Only what changed since this backup
    #[arg(short, long, value_name = "BACKUP")]
    pub(crate) after: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) at: AtSnapshot,
    /// Replace the backup if it exists
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Print what it has as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) const RESTORE_HELP: &str = "\
Every page is verified before the file gets its name. An existing file is never
overwritten.

Examples:
  huon restore data.huon monday.backup
  huon restore data.huon monday.backup tuesday.backup
  ssh host 'cat data.backup' | huon restore data.huon -
  huon restore data.huon /mnt/server/data --at 2026-11-27T18:00:00Z";

#[derive(ClapArgs, Debug)]
pub(crate) struct RestoreArgs {
    /// The environment to make
    pub(crate) file: PathBuf,
    /// A whole backup, and those that follow it, in their order; `-` is standard input
    ///
    /// Or the directory that a file is shipped to.
    #[arg(required = true, value_name = "BACKUP")]
    pub(crate) backups: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) at: AtPoint,
    #[command(flatten)]
    pub(crate) secret: Secret,
    /// Print what it has as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) const COMPACT_HELP: &str = "\
Moves live pages from the end of the file into free places before it, in small
transactions, and cuts the end off. Ends with 1 if the target was not reached,
and says why: time, readers, or no room. Ctrl-C ends it in order; whatever ends
it, the environment is whole.

Examples:
  huon compact data.huon
  huon compact data.huon --target 1.5 --time 60
  huon compact data.huon --json";

#[derive(ClapArgs, Debug)]
pub(crate) struct Compact {
    /// The environment
    pub(crate) file: PathBuf,
    /// How long the file may stay, in times of what lives in it; at least 1
    #[arg(long, value_name = "TIMES", default_value_t = 1.1)]
    pub(crate) target: f64,
    /// End after so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to wait for another writer
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) wait: u64,
}

pub(super) const DELETE_ENV_HELP: &str = "\
Says what would be deleted, and does nothing else without --yes. Refused while
any process has the file open, and if it is no environment; a damaged one may
be deleted. Ends with 1 if there is no such file. Records are deleted with
`huon del`, tables with `huon drop`.

Examples:
  huon delete-env data.huon
  huon delete-env data.huon --yes
  huon delete-env data.huon --yes --wait 60";

pub(super) const SNAPSHOTS_HELP: &str = "\
Examples:
  huon snapshots data.huon
  huon snapshots data.huon --json | jq .name";

pub(super) const NAME_SNAPSHOT_HELP: &str = "\
The snapshot stays, for all processes and over restarts, until drop-snapshot. It
costs at most one more copy of what it sees; `huon stat` says how much. Copies
and backups have no named snapshots. If another snapshot has the name, that one
is dropped.

Examples:
  huon name-snapshot data.huon before-the-import
  huon get data.huon apple --snapshot before-the-import
  huon diff data.huon --since before-the-import";

#[derive(ClapArgs, Debug)]
pub(crate) struct NameSnapshot {
    /// The environment
    pub(crate) file: PathBuf,
    /// The name: 1 to 255 bytes
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct DropSnapshot {
    /// The environment
    pub(crate) file: PathBuf,
    /// The name of the snapshot
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct DeleteEnv {
    /// The environment
    pub(crate) file: PathBuf,
    /// Do it: all tables and records are lost for good
    #[arg(long)]
    pub(crate) yes: bool,
    /// How long to wait for others to close it
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait: u64,
}

pub(super) const COMPLETIONS_HELP: &str = "\
Examples:
  huon completions bash > ~/.local/share/bash-completion/completions/huon
  huon completions zsh > ~/.zfunc/_huon
  huon completions fish > ~/.config/fish/completions/huon.fish
  huon completions bash huon_dump";

#[derive(ClapArgs, Debug)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
    /// The program: huon, or huon_chk and its like
    #[arg(default_value = "huon")]
    pub(crate) program: String,
}

pub(super) const MAN_HELP: &str = "\
Examples:
  huon man | man -l -
  huon man ~/.local/share/man/man1";

#[derive(ClapArgs, Debug)]
pub(crate) struct Man {
    /// A directory that is there, for the pages of all commands and of huon_chk and its like
    pub(crate) directory: Option<PathBuf>,
}

//! The command line of `huon`.

mod files;
mod look;
mod lsm;
mod records;
mod remote;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::RangedI64ValueParser;
use clap::{Args as ClapArgs, Parser, Subcommand};

pub(crate) use files::{
    Backup, Check, Compact, Completions, Copy, DeleteEnv, Drop, DropSnapshot, Dump, Load, Man,
    NameSnapshot, Rename, RestoreArgs, SwitchMeta,
};
pub(crate) use look::{Pages, WatchReaders};
pub(crate) use lsm::{Lsm, LsmCheck, LsmCompact, LsmDrop, LsmDump, LsmLoad, LsmStat};
pub(crate) use records::{Count, Del, Diff, Format, Get, Ls, Make, PartArgs, Put, TypeArgs};
pub(crate) use remote::{
    AtPoint, Bucket, Follow, RemoteCommand, RemoteGc, RemoteHold, RemoteLook, RemoteRelease,
    Secret, Ship,
};

const MAIN_HELP: &str = "\
Keys and values are printed as text: what is printable stands for itself, a
backslash is doubled, any other byte is \\xx in hex. They are read the same way.
--key and --value say that they are something else: u64 (as this and other
integers are in typed tables), native-u64, f64, json, hex and so on. A table
that was made with types, or in the order of native integers, needs no word: it
is shown by them. A key or file \"-\" stands for standard input or output; the
key \"-\" itself is \\2d. Put `--` before a key that begins with a dash.

Exit codes:
  0  fine
  1  problems found, or what was asked for is not there
  2  wrong usage
  3  busy: locked by another process
  4  damaged, or not a file that this version reads
  5  the operating system returned an error
  130  interrupted

Examples:
  huon put fruit.huon apple red
  huon get fruit.huon apple
  huon ls fruit.huon --prefix a
  huon dump fruit.huon | gzip > fruit.gz
  huon check fruit.huon";

/// Look into, change, check, copy, dump and load Huon environments.
#[derive(Parser, Debug)]
#[command(name = "huon", version, after_help = MAIN_HELP, max_term_width = 80)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Show the state of an environment
    #[command(after_help = "Examples:\n  huon info data.huon\n  huon info data.huon --json")]
    Info(Look),
    /// Explain where the space is: live, reusable, retained by which readers
    #[command(after_help = "Examples:\n  huon stat data.huon\n  huon stat data.huon --json")]
    Stat(Names),
    /// Walk over all pages: of each table, which kinds there are, and how full they are
    #[command(after_help = look::PAGES_HELP)]
    Pages(Pages),
    /// List the tables and how many records each has
    #[command(after_help = "Examples:\n  huon tables data.huon\n  huon tables data.huon --json")]
    Tables(Names),
    /// Print the value of a key; in a multimap all its values, a line each
    #[command(after_help = records::GET_HELP)]
    Get(Get),
    /// Store a value under a key; in a multimap add it to those that the key has
    #[command(after_help = records::PUT_HELP)]
    Put(Put),
    /// Delete a key with its value or values, or one value of it
    #[command(after_help = records::DEL_HELP)]
    Del(Del),
    /// List records in key order, as key, tab, value; a multimap's values a line each
    #[command(after_help = records::LS_HELP)]
    Ls(Ls),
    /// Print how many records a table has, or values a key has: the number alone
    #[command(after_help = records::COUNT_HELP)]
    Count(Count),
    /// Show the records in which two files, or two tables, differ
    #[command(after_help = records::DIFF_HELP)]
    Diff(Diff),
    /// List the readers, the oldest snapshot first
    #[command(after_help = look::READERS_HELP)]
    Readers(Look),
    /// Show the readers, again and again until Ctrl-C
    #[command(after_help = look::WATCH_HELP)]
    WatchReaders(WatchReaders),
    /// Delete a table, or empty it
    #[command(after_help = files::DROP_HELP)]
    Drop(Drop),
    /// Give a table another name
    #[command(after_help = "Examples:\n  huon rename data.huon users people")]
    Rename(Rename),
    /// Verify every page of the newest snapshot, and its free space
    #[command(after_help = files::CHECK_HELP)]
    Check(Check),
    /// List the three metas, from which a file is opened, and their snapshots
    #[command(after_help = files::METAS_HELP)]
    Metas(Look),
    /// Make the snapshot of a chosen meta the newest, and give up what came after it
    #[command(after_help = files::SWITCH_META_HELP)]
    SwitchMeta(SwitchMeta),
    /// Write records in the text format of mdb_dump and Berkeley DB
    #[command(after_help = files::DUMP_HELP)]
    Dump(Dump),
    /// Read records in the text format of mdb_dump and Berkeley DB
    #[command(after_help = files::LOAD_HELP)]
    Load(Load),
    /// Copy the newest snapshot to a new file, while others go on writing
    #[command(after_help = files::COPY_HELP)]
    Copy(Copy),
    /// List the named snapshots, which the file retains
    #[command(after_help = files::SNAPSHOTS_HELP)]
    Snapshots(Look),
    /// Give the newest snapshot a name, and so retain it until it is dropped
    #[command(after_help = files::NAME_SNAPSHOT_HELP)]
    NameSnapshot(NameSnapshot),
    /// Take its name away from a snapshot: what only it sees is used again
    #[command(after_help = "Examples:\n  huon drop-snapshot data.huon before-the-import")]
    DropSnapshot(DropSnapshot),
    /// Save a snapshot, or what changed since another backup
    #[command(after_help = files::BACKUP_HELP)]
    Backup(Backup),
    /// Make a file of a backup and those that follow it
    #[command(after_help = files::RESTORE_HELP)]
    Restore(RestoreArgs),
    /// Send what changes to a directory elsewhere, again and again until Ctrl-C
    #[command(after_help = remote::SHIP_HELP)]
    Ship(Ship),
    /// Keep a file at what is shipped, for others to read, until Ctrl-C
    #[command(after_help = remote::FOLLOW_HELP)]
    Follow(Follow),
    /// Look into what was shipped, and say what is kept of it
    #[command(subcommand, after_help = remote::REMOTE_HELP, disable_help_subcommand = true)]
    Remote(RemoteCommand),
    /// Make the file shorter where it is, while others read and write
    #[command(after_help = files::COMPACT_HELP)]
    Compact(Compact),
    /// Look into, merge, check, dump and load LSM tables
    #[command(subcommand, after_help = lsm::LSM_HELP, disable_help_subcommand = true)]
    Lsm(Lsm),
    /// Delete an environment: the file, its lock file and its journal
    #[command(after_help = files::DELETE_ENV_HELP)]
    DeleteEnv(DeleteEnv),
    /// Print what a shell completes command lines with
    #[command(after_help = files::COMPLETIONS_HELP)]
    Completions(Completions),
    /// Print the manual page, or write a page for each command into a directory
    #[command(after_help = files::MAN_HELP)]
    Man(Man),
}

impl Command {
    /// The environment that the command is about.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Command::Info(a) | Command::Readers(a) | Command::Metas(a) | Command::Snapshots(a) => {
                &a.file
            }
            Command::Stat(a) | Command::Tables(a) => &a.look.file,
            Command::Pages(a) => &a.names.look.file,
            Command::WatchReaders(a) => &a.file,
            Command::Drop(a) => &a.target.file,
            Command::Rename(a) => &a.file,
            Command::Get(a) => &a.target.file,
            Command::Put(a) => &a.target.file,
            Command::Del(a) => &a.target.file,
            Command::Ls(a) => &a.target.file,
            Command::Count(a) => &a.target.file,
            Command::Diff(a) => &a.file,
            Command::Check(a) => &a.look.file,
            Command::SwitchMeta(a) => &a.file,
            Command::Dump(a) => &a.file,
            Command::Load(a) => &a.file,
            Command::Copy(a) => &a.file,
            Command::NameSnapshot(a) => &a.file,
            Command::DropSnapshot(a) => &a.file,
            Command::Backup(a) => &a.file,
            Command::Restore(a) => &a.file,
            Command::Ship(a) => &a.file,
            Command::Follow(a) => &a.file,
            Command::Remote(a) => a.path(),
            Command::Compact(a) => &a.file,
            Command::Lsm(a) => a.path(),
            Command::DeleteEnv(a) => &a.file,
            Command::Completions(_) | Command::Man(_) => Path::new(""),
        }
    }
}

/// A file, and whether to print JSON.
#[derive(ClapArgs, Debug)]
pub(crate) struct Look {
    /// The environment
    pub(crate) file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// The same, where names of tables are printed.
#[derive(ClapArgs, Debug)]
pub(crate) struct Names {
    #[command(flatten)]
    pub(crate) look: Look,
    /// Names as hex digits
    #[arg(long)]
    pub(crate) hex: bool,
}

/// A meta that the user chooses.
#[derive(ClapArgs, Debug)]
pub(crate) struct Start {
    /// Start from the meta in this slot, 0 to 2, instead of the newest whole one
    #[arg(long, value_name = "SLOT", value_parser = slot())]
    pub(crate) meta_slot: Option<u8>,
}

/// A number of a meta slot.
fn slot() -> RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(..3)
}

/// A file, and a table in it.
#[derive(ClapArgs, Debug)]
pub(crate) struct Target {
    /// The environment
    pub(crate) file: PathBuf,
    /// The table [default: the unnamed main table]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) table: Option<OsString>,
}

/// What matters when a file is opened to be changed.
/// Which snapshot is read.
#[derive(ClapArgs, Debug)]
pub(crate) struct AtSnapshot {
    /// Read the snapshot of this name [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub(crate) snapshot: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Writing {
    /// How long to wait for another writer
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) wait: u64,
    /// Page size in bytes; an existing file must have it
    #[arg(long, value_name = "BYTES")]
    pub(crate) page_size: Option<usize>,
}

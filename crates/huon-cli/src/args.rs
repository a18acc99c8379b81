//! The command line of `huon`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::RangedI64ValueParser;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use huon::{Bytes, MultiDef, Order, TableDef};

const MAIN_HELP: &str = "\
Keys and values are printed as text: printable ASCII stands for itself, a
backslash is doubled, any other byte is \\xx in hex. They are read the same way.
With --hex they are plain hex digits, both ways. A key or file \"-\" stands for
standard input or output; the key \"-\" itself is \\2d. Put `--` before a key
that begins with a dash.

Exit codes:
  0  fine
  1  problems found, or what was asked for is not there
  2  wrong usage
  3  busy: somebody else has the file
  4  damaged, or not a file that this version reads
  5  the system refused something
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
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Show the state of an environment
    #[command(after_help = "Examples:\n  huon info data.huon\n  huon info data.huon --json")]
    Info(Look),
    /// Explain where the space is: live, reusable, held by whom
    #[command(after_help = "Examples:\n  huon stat data.huon\n  huon stat data.huon --json")]
    Stat(Names),
    /// Walk over all pages: of each table, which kinds there are, and how full they are
    #[command(after_help = PAGES_HELP)]
    Pages(Pages),
    /// List the tables and how many records each has
    #[command(after_help = "Examples:\n  huon tables data.huon\n  huon tables data.huon --json")]
    Tables(Names),
    /// Print the value of a key; in a multimap all its values, a line each
    #[command(after_help = GET_HELP)]
    Get(Get),
    /// Store a value under a key; in a multimap add it to those that the key has
    #[command(after_help = PUT_HELP)]
    Put(Put),
    /// Delete a key with its value or values, or one value of it
    #[command(after_help = DEL_HELP)]
    Del(Del),
    /// List records in key order, as key, tab, value; a multimap's values a line each
    #[command(after_help = LS_HELP)]
    Ls(Ls),
    /// Print how many records a table has, or values a key has: the number alone
    #[command(after_help = COUNT_HELP)]
    Count(Count),
    /// List who is reading, the oldest snapshot first
    #[command(after_help = READERS_HELP)]
    Readers(Look),
    /// Show who is reading, again and again until Ctrl-C
    #[command(after_help = WATCH_HELP)]
    WatchReaders(WatchReaders),
    /// Delete a table, or empty it
    #[command(after_help = DROP_HELP)]
    Drop(Drop),
    /// Give a table another name
    #[command(after_help = "Examples:\n  huon rename data.huon users people")]
    Rename(Rename),
    /// Verify every page of the newest snapshot, and its free space
    #[command(after_help = CHECK_HELP)]
    Check(Check),
    /// List the three metas, from which a file is opened, and their snapshots
    #[command(after_help = METAS_HELP)]
    Metas(Look),
    /// Make the snapshot of a chosen meta the newest, and give up what came after it
    #[command(after_help = SWITCH_META_HELP)]
    SwitchMeta(SwitchMeta),
    /// Write records in the text format of mdb_dump and Berkeley DB
    #[command(after_help = DUMP_HELP)]
    Dump(Dump),
    /// Read records in the text format of mdb_dump and Berkeley DB
    #[command(after_help = LOAD_HELP)]
    Load(Load),
    /// Copy the newest snapshot to a new file, while others go on writing
    #[command(after_help = COPY_HELP)]
    Copy(Copy),
    /// Make the file shorter where it is, while others read and write
    #[command(after_help = COMPACT_HELP)]
    Compact(Compact),
    /// Delete an environment: the file and its lock file
    #[command(after_help = DELETE_ENV_HELP)]
    DeleteEnv(DeleteEnv),
}

impl Command {
    /// The environment that the command is about.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Command::Info(a) | Command::Readers(a) | Command::Metas(a) => &a.file,
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
            Command::Check(a) => &a.look.file,
            Command::SwitchMeta(a) => &a.file,
            Command::Dump(a) => &a.file,
            Command::Load(a) => &a.file,
            Command::Copy(a) => &a.file,
            Command::Compact(a) => &a.file,
            Command::DeleteEnv(a) => &a.file,
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

const PAGES_HELP: &str = "\
The part of a page that is in use is what holds something, headers included. A
key of a multimap that has many values keeps them in a tree of its own, whose
pages count for the table, but not its levels. Large values are not read, only
counted. With --each and --json, a JSON document a page.

Examples:
  huon pages data.huon
  huon pages data.huon --json
  huon pages data.huon --each | sort -n | less
  huon pages data.huon --each --json | jq 'select(.kind == \"leaf\") | .page'";

#[derive(ClapArgs, Debug)]
pub(crate) struct Pages {
    #[command(flatten)]
    pub(crate) names: Names,
    /// One line a page, or pages that belong together, instead of sums
    #[arg(long)]
    pub(crate) each: bool,
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
#[derive(ClapArgs, Debug)]
pub(crate) struct Writing {
    /// How long to wait for another writer
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) wait: u64,
    /// Page size in bytes; an existing file must have it
    #[arg(long, value_name = "BYTES")]
    pub(crate) page_size: Option<usize>,
}

const GET_HELP: &str = "\
Ends with 1 if a key is not there.

Examples:
  huon get data.huon apple
  huon get data.huon picture.png --raw > picture.png
  huon get data.huon --table tags sweet --first
  huon get data.huon --table users --hex 0001ff
  cut -f1 names.txt | huon get data.huon -";

#[derive(ClapArgs, Debug)]
pub(crate) struct Get {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The key; `-` reads keys from standard input, one a line
    pub(crate) key: OsString,
    /// Keys and values as hex digits
    #[arg(long)]
    pub(crate) hex: bool,
    /// Print the value's bytes as they are, and nothing else
    #[arg(long, conflicts_with_all = ["hex", "json"])]
    pub(crate) raw: bool,
    /// Only the first value of the key
    #[arg(long, conflicts_with = "last")]
    pub(crate) first: bool,
    /// Only the last value of the key
    #[arg(long)]
    pub(crate) last: bool,
    /// Print a JSON document a record
    #[arg(long)]
    pub(crate) json: bool,
}

const PUT_HELP: &str = "\
The file and the table are made if they do not exist. All records of one call
are committed together, durably. In a multimap, which --multi makes, a value is
added to those of its key; one that is there already is not added again.
Native orders are those of little-endian integers of 4 or 8 bytes.

Examples:
  huon put data.huon apple red
  huon put data.huon --table pictures picture.png - < picture.png
  huon put data.huon --hex 0001ff 00
  huon put data.huon --table tags --multi sweet cherry
  huon ls old.huon | huon put data.huon -";

#[derive(ClapArgs, Debug)]
pub(crate) struct Put {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The key; `-` reads records from standard input, a line each: key, tab, value
    pub(crate) key: OsString,
    /// The value; `-` takes the bytes of standard input as they are
    pub(crate) value: Option<OsString>,
    /// Keys and values as hex digits
    #[arg(long)]
    pub(crate) hex: bool,
    /// Only if the key is not there yet; ends with 1 if it is
    #[arg(long)]
    pub(crate) new: bool,
    /// In a multimap, the key has this value and no other afterwards
    #[arg(long, conflicts_with = "new")]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) make: Make,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// What a table is to be like if it is made; one that exists must be like that.
#[derive(ClapArgs, Debug)]
pub(crate) struct Make {
    /// Make the table a multimap: a key may have many values
    #[arg(long)]
    pub(crate) multi: bool,
    /// Order of keys of a new table [default: bytes]
    #[arg(long, value_name = "ORDER", value_enum)]
    pub(crate) order: Option<OrderName>,
    /// Order of the values of a key in a new multimap [default: bytes]
    #[arg(long, value_name = "ORDER", value_enum)]
    pub(crate) value_order: Option<OrderName>,
    /// Length of each value of a new multimap; 0 takes that of the first
    #[arg(long, value_name = "BYTES")]
    pub(crate) value_bytes: Option<u32>,
}

/// Orders that need no function of a program: as byte strings, as these from the last byte to the
/// first, as little-endian integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OrderName {
    Bytes,
    Reversed,
    #[value(name = "native-u32")]
    NativeU32,
    #[value(name = "native-u64")]
    NativeU64,
}

impl OrderName {
    fn order(name: Option<OrderName>) -> Order {
        match name {
            None => Order::Stored,
            Some(OrderName::Bytes) => Order::Bytes,
            Some(OrderName::Reversed) => Order::Reversed,
            Some(OrderName::NativeU32) => Order::NativeU32,
            Some(OrderName::NativeU64) => Order::NativeU64,
        }
    }
}

impl Make {
    pub(crate) fn is_multi(&self) -> bool {
        self.multi || self.value_order.is_some() || self.value_bytes.is_some()
    }

    /// How long the values of a new multimap are, if their order says so.
    pub(crate) fn native_bytes(&self) -> Option<u32> {
        match self.value_order? {
            OrderName::NativeU32 => Some(4),
            OrderName::NativeU64 => Some(8),
            OrderName::Bytes | OrderName::Reversed => None,
        }
    }

    pub(crate) fn has_wishes(&self) -> bool {
        self.is_multi() || self.order.is_some()
    }

    pub(crate) fn table(&self, name: &[u8]) -> TableDef<Bytes, Bytes> {
        TableDef::named(name).ordered(OrderName::order(self.order))
    }

    pub(crate) fn multi(&self, name: &[u8]) -> MultiDef<Bytes, Bytes> {
        let def = MultiDef::named(name).ordered(OrderName::order(self.order));
        let def = def.values_ordered(OrderName::order(self.value_order));
        match self.value_bytes {
            None => def,
            Some(bytes) => def.values_of_bytes(bytes),
        }
    }
}

const DEL_HELP: &str = "\
Ends with 1 if a key is not there, or does not have the value.

Examples:
  huon del data.huon apple
  huon del data.huon --table tags sweet cherry
  huon ls data.huon --prefix tmp/ --keys | huon del data.huon -";

#[derive(ClapArgs, Debug)]
pub(crate) struct Del {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The key; `-` reads standard input, a line each: key, or key, tab, value
    pub(crate) key: OsString,
    /// Only this value of the key, and only if it has it
    pub(crate) value: Option<OsString>,
    /// Keys and values as hex digits
    #[arg(long)]
    pub(crate) hex: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

const LS_HELP: &str = "\
Examples:
  huon ls data.huon
  huon ls data.huon --table users --prefix a --limit 10
  huon ls data.huon --from 2024 --to 2025
  huon ls data.huon --reverse --limit 1
  huon ls data.huon --json | jq -r .key";

#[derive(ClapArgs, Debug)]
pub(crate) struct Ls {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Only keys that begin so
    #[arg(long, value_name = "KEY", conflicts_with_all = ["from", "to"])]
    pub(crate) prefix: Option<OsString>,
    /// Only keys from this one on
    #[arg(long, value_name = "KEY")]
    pub(crate) from: Option<OsString>,
    /// Only keys before this one
    #[arg(long, value_name = "KEY")]
    pub(crate) to: Option<OsString>,
    /// From the last key to the first
    #[arg(short, long)]
    pub(crate) reverse: bool,
    /// At most so many records
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Keys only, each once
    #[arg(short, long)]
    pub(crate) keys: bool,
    /// Keys and values as hex digits
    #[arg(long)]
    pub(crate) hex: bool,
    /// Print a JSON document a record
    #[arg(long)]
    pub(crate) json: bool,
}

const COUNT_HELP: &str = "\
Examples:
  huon count data.huon
  huon count data.huon --table tags
  huon count data.huon --table tags sweet";

#[derive(ClapArgs, Debug)]
pub(crate) struct Count {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Count the values of this key
    pub(crate) key: Option<OsString>,
    /// The key as hex digits
    #[arg(long)]
    pub(crate) hex: bool,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

const READERS_HELP: &str = "\
One line a reader: its process, the snapshot it sees, how far that lies behind
the newest (ids are passed over now and then, so it is no count of commits), its
age, how much free space it holds, and how much of that nobody else does: so
much can be used again once it ends. A parked one is marked as such; a writer
that finds no room may break it. All others are waited for.

Examples:
  huon readers data.huon
  huon readers data.huon --json";

const WATCH_HELP: &str = "\
What is shown of each reader is in `huon readers --help`. On a terminal the
screen is drawn anew; elsewhere each line begins with the time.

Examples:
  huon watch-readers data.huon
  huon watch-readers data.huon --interval 10 >> readers.log
  huon watch-readers data.huon --once --json";

#[derive(ClapArgs, Debug)]
pub(crate) struct WatchReaders {
    /// The environment
    pub(crate) file: PathBuf,
    /// Time from one round to the next
    #[arg(short, long, value_name = "SECONDS", default_value_t = 2.0, value_parser = interval)]
    pub(crate) interval: f64,
    /// One round
    #[arg(long)]
    pub(crate) once: bool,
    /// Print a JSON document a round
    #[arg(long)]
    pub(crate) json: bool,
}

/// Seconds between two rounds.
fn interval(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.1 to 86400".into()),
    }
}

const DROP_HELP: &str = "\
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

const CHECK_HELP: &str = "\
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

const METAS_HELP: &str = "\
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

const SWITCH_META_HELP: &str = "\
Shows what would be lost, and does nothing else without --yes. Nobody else may
have the file open. Everything of the chosen snapshot is checked before
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

const DUMP_HELP: &str = "\
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

const LOAD_HELP: &str = "\
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

const COPY_HELP: &str = "\
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
    /// Replace the new file if it exists and nobody has it open
    #[arg(short, long)]
    pub(crate) force: bool,
}

const COMPACT_HELP: &str = "\
Moves what lives at the end of the file into free places before it, in small
transactions, and gives the end back to the system. Ends with 1 if the target
was not reached, and says why: time, readers, or no room. Ctrl-C ends it in
order; whatever ends it, the environment is whole.

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

const DELETE_ENV_HELP: &str = "\
Says what would be deleted, and does nothing else without --yes. Refused while
somebody has the file open, and where it is no environment; a damaged one is
one. Ends with 1 if there is no such file. Records are deleted with `huon del`,
tables with `huon drop`.

Examples:
  huon delete-env data.huon
  huon delete-env data.huon --yes
  huon delete-env data.huon --yes --wait 60";

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

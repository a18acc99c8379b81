//! Arguments of the commands that look on: pages and readers.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Names;

pub(super) const PAGES_HELP: &str = "\
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

pub(super) const READERS_HELP: &str = "\
One line a reader: its process, the snapshot it sees, how far that lies behind
the newest (ids are passed over now and then, so it is no count of commits), its
age, how much free space it retains, and how much of that no other reader
does: that space is reusable once it ends. A parked one is marked as such; a
writer that finds no room may evict it. All others are waited for.

Examples:
  huon readers data.huon
  huon readers data.huon --json";

pub(super) const WATCH_HELP: &str = "\
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

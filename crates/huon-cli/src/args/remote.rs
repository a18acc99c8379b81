//! Arguments of the commands that ship a file to a bucket, and bring it back.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::{Args as ClapArgs, Subcommand};
use huon_ship::Point;

pub(super) const SHIP_HELP: &str = "\
Sends what has changed to a directory, on another disk or a file server, until
Ctrl-C. Programs that use the file need not know of it. The first time the whole
file is sent. A shipper that was started later takes over, and this one ends.

Examples:
  huon ship data.huon /mnt/server/data
  huon ship data.huon /mnt/server/data --every 10s
  huon ship data.huon /mnt/server/data --once
  openssl rand -hex 32 > key && huon ship data.huon /mnt/data --key-file key";

pub(super) const FOLLOW_HELP: &str = "\
The file is made if it is missing, and takes over what is shipped until Ctrl-C.
Other processes read it meanwhile. The first commit in it ends the following:
what is shipped later does not follow any more.

Examples:
  huon follow /mnt/server/data replica.huon
  huon follow /mnt/server/data replica.huon --once";

pub(super) const REMOTE_HELP: &str = "\
Examples:
  huon remote list /mnt/server/data
  huon remote check /mnt/server/data
  huon remote hold /mnt/server/data before-the-sale --at 2026-11-27T18:00:00Z
  huon remote gc /mnt/server/data --keep 30d
  huon restore data.huon /mnt/server/data --at 2026-11-27T18:00:00Z";

/// Where a file is shipped to.
#[derive(ClapArgs, Debug)]
pub(crate) struct Bucket {
    /// The directory that it is shipped to
    pub(crate) bucket: PathBuf,
    #[command(flatten)]
    pub(crate) secret: Secret,
}

/// What it is encrypted with.
#[derive(ClapArgs, Debug)]
pub(crate) struct Secret {
    /// What is shipped is encrypted with the 64 hex digits in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Ship {
    /// The environment
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) to: Bucket,
    /// How often to look for changes, as 500ms, 10s or 5m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time_span)]
    pub(crate) every: Duration,
    /// Ship what has changed by now, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Begin anew with this file, though what was shipped is of another history
    #[arg(long)]
    pub(crate) rebase: bool,
    /// Print a line of JSON for each segment
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Follow {
    #[command(flatten)]
    pub(crate) from: Bucket,
    /// The environment that follows
    pub(crate) file: PathBuf,
    /// How often to look for what was shipped, as 500ms, 10s or 5m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time_span)]
    pub(crate) every: Duration,
    /// Take over what was shipped by now, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Print a line of JSON for each time that something was taken over
    #[arg(long)]
    pub(crate) json: bool,
}

/// Look into what was shipped, and say what is kept of it.
#[derive(Subcommand, Debug)]
pub(crate) enum RemoteCommand {
    /// List the snapshots that can be restored, the oldest first
    List(RemoteLook),
    /// Read everything that was shipped, and verify it
    Check(RemoteLook),
    /// Keep a point, whatever `gc` would delete
    Hold(RemoteHold),
    /// List the holds
    Holds(RemoteLook),
    /// Take a hold away
    Release(RemoteRelease),
    /// Delete what is older than all that is to be kept
    Gc(RemoteGc),
}

impl RemoteCommand {
    pub(crate) fn path(&self) -> &Path {
        match self {
            RemoteCommand::List(a) | RemoteCommand::Check(a) | RemoteCommand::Holds(a) => {
                &a.from.bucket
            }
            RemoteCommand::Hold(a) => &a.from.bucket,
            RemoteCommand::Release(a) => &a.from.bucket,
            RemoteCommand::Gc(a) => &a.from.bucket,
        }
    }
}

#[derive(ClapArgs, Debug)]
pub(crate) struct RemoteLook {
    #[command(flatten)]
    pub(crate) from: Bucket,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct RemoteHold {
    #[command(flatten)]
    pub(crate) from: Bucket,
    /// What the hold is called; one of this name is replaced
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) at: AtPoint,
    /// Until when, as 2026-12-24T18:00:00Z [default: until it is released]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<SystemTime>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct RemoteRelease {
    #[command(flatten)]
    pub(crate) from: Bucket,
    /// The hold
    pub(crate) name: String,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct RemoteGc {
    #[command(flatten)]
    pub(crate) from: Bucket,
    /// How far back every snapshot is kept
    #[arg(long, value_name = "TIME", default_value = "7days", value_parser = time_span)]
    pub(crate) keep: Duration,
    /// How long it stays once it need not be kept, for restores that read it
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = time_span)]
    pub(crate) grace: Duration,
    /// Where a file is made that is as long as the one that is shipped
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) scratch: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which snapshot of what was shipped is meant.
#[derive(ClapArgs, Debug)]
pub(crate) struct AtPoint {
    /// The newest snapshot that was shipped by a time, as 2026-11-27T18:00:00Z, or the id of one
    /// [default: the newest]
    #[arg(long, value_name = "POINT", value_parser = point)]
    pub(crate) at: Option<Point>,
}

fn time_span(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| error.to_string())
}

fn time(text: &str) -> Result<SystemTime, String> {
    humantime::parse_rfc3339_weak(text).map_err(|error| error.to_string())
}

fn point(text: &str) -> Result<Point, String> {
    match text.parse() {
        Ok(id) => Ok(Point::Id(id)),
        Err(_) => time(text).map(Point::Time),
    }
}

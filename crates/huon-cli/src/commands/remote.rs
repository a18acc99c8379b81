//! What is shipped to a bucket: `ship`, `follow`, `remote`, and `restore` from there.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use huon::{Env, RestoreReport};
use huon_ship::{
    CollectOptions, Directory, Error, Follower, Key, Point, Remote, RemoteOptions, ShipOptions,
    ShipProgress, Shipper,
};
use serde_json::json;

use crate::args::{
    Bucket, Follow, RemoteCommand, RemoteGc, RemoteHold, RemoteLook, RemoteRelease, Secret, Ship,
};
use crate::fail::{Code, Failure, Outcome};
use crate::out::Out;
use crate::stop::Stop;
use crate::text::{number, size};

/// How often it is looked whether the user wants to end.
const LOOK: Duration = Duration::from_millis(50);

/// `huon ship`.
pub(crate) fn ship(args: &Ship) -> Outcome {
    let env = Env::options().create(false).open(&args.file)?;
    let stop = Stop::on_signals()?;
    let bucket = Directory::open(&args.to.bucket).map_err(|e| unreadable(&args.to.bucket, &e))?;
    let options = options(&args.to.secret)?;
    let remote = Arc::new(options.open_for(Arc::new(bucket), &env)?);
    let shipping = ShipOptions::new().every(args.every).rebase(args.rebase);
    let shipper = shipping.start(remote, &env)?;
    let mut told = shipper.progress()?;
    if !args.once {
        while !stop.is_asked() {
            thread::sleep(LOOK);
            let now = shipper.progress()?;
            if now.segments != told.segments && args.json {
                tell(&now, true)?;
            }
            told = now;
        }
    }
    let last = end(shipper)?;
    if !args.json || args.once || last.segments != told.segments {
        tell(&last, args.json)?;
    }
    Ok(if stop.is_asked() { Code::Interrupted } else { Code::Fine })
}

fn end(shipper: Shipper) -> Result<ShipProgress, Failure> {
    Ok(shipper.stop()?)
}

fn tell(progress: &ShipProgress, as_json: bool) -> Result<(), Failure> {
    let mut out = Out::new();
    if as_json {
        out.json(&json!({
            "snapshot": progress.snapshot.id,
            "record": progress.n - 1,
            "segments": progress.segments,
            "bytes": progress.bytes,
        }))?;
    } else {
        let (segments, bytes) = (number(progress.segments), size(progress.bytes));
        let snapshot = progress.snapshot;
        out.line(format!("shipped up to snapshot {snapshot}: {segments} segments, {bytes}"))?;
    }
    out.finish()
}

/// `huon follow`.
pub(crate) fn follow(args: &Follow) -> Outcome {
    let remote = Arc::new(open(&args.from)?);
    let stop = Stop::on_signals()?;
    let mut follower = Follower::open(remote, &args.file)?;
    let mut taken = 0;
    loop {
        let count = match follower.advance() {
            // A reader is in the way: it may have ended by the next time.
            Err(Error::Huon(huon::Error::Busy(_))) if !args.once => 0,
            advanced => advanced?,
        };
        taken += count;
        if args.json && (count != 0 || args.once) {
            let mut out = Out::new();
            out.json(&json!({ "snapshot": follower.at()?.id, "segments": count }))?;
            out.finish()?;
        }
        let again = Instant::now() + args.every;
        while !args.once && !stop.is_asked() && Instant::now() < again {
            thread::sleep(LOOK.min(args.every));
        }
        if args.once || stop.is_asked() {
            break;
        }
    }
    if !args.json {
        let mut out = Out::new();
        out.line(format!("at snapshot {}: {} segments", follower.at()?, number(taken)))?;
        out.finish()?;
    }
    Ok(if stop.is_asked() { Code::Interrupted } else { Code::Fine })
}

/// `huon restore` from a directory that a file is shipped to.
pub(crate) fn restore(
    file: &Path,
    from: &Path,
    secret: &Secret,
    at: Option<Point>,
) -> Result<RestoreReport, Failure> {
    let remote = open_at(from, secret)?;
    Ok(remote.restore(file, at.unwrap_or(Point::Latest))?)
}

/// `huon remote`.
pub(crate) fn remote(command: &RemoteCommand) -> Outcome {
    match command {
        RemoteCommand::List(args) => list(args),
        RemoteCommand::Check(args) => check(args),
        RemoteCommand::Hold(args) => hold(args),
        RemoteCommand::Holds(args) => holds(args),
        RemoteCommand::Release(args) => release(args),
        RemoteCommand::Gc(args) => gc(args),
    }
}

fn list(args: &RemoteLook) -> Outcome {
    let moments = open(&args.from)?.history()?;
    let mut out = Out::new();
    for moment in &moments {
        if args.json {
            out.json(&json!({
                "record": moment.n,
                "snapshot": moment.snapshot.id,
                "checksum": format!("{:016x}", moment.snapshot.checksum),
                "time": time_text(moment.millis),
                "takeover": moment.epoch,
            }))?;
        } else {
            let time = time_text(moment.millis);
            out.line(format!("{time}  snapshot {}", moment.snapshot))?;
        }
    }
    out.finish()?;
    Ok(Code::Fine)
}

fn check(args: &RemoteLook) -> Outcome {
    let found = open(&args.from)?.check()?;
    let mut out = Out::new();
    if args.json {
        out.json(&serde_json::to_value(&found).unwrap_or_default())?;
    } else {
        for problem in &found.problems {
            out.line(problem)?;
        }
        let (records, bases) = (number(found.records), number(found.bases));
        let bytes = size(found.bytes);
        out.line(format!("{records} records and {bases} whole snapshots, {bytes}"))?;
    }
    out.finish()?;
    Ok(if found.problems.is_empty() { Code::Fine } else { Code::Problems })
}

fn hold(args: &RemoteHold) -> Outcome {
    let remote = open(&args.from)?;
    let point = args.at.at.unwrap_or(Point::Latest);
    let moment = remote.hold(&args.name, point, args.until)?;
    let mut out = Out::new();
    let time = time_text(moment.millis);
    out.line(format!("snapshot {} of {time} is kept", moment.snapshot))?;
    out.finish()?;
    Ok(Code::Fine)
}

fn holds(args: &RemoteLook) -> Outcome {
    let mut out = Out::new();
    for hold in open(&args.from)?.holds()? {
        let until = hold.until_millis.map(time_text);
        if args.json {
            out.json(&json!({ "name": hold.name, "snapshot": hold.id, "until": until }))?;
        } else {
            let until = until.map_or(String::new(), |until| format!(" until {until}"));
            let name = hold.name.escape_debug();
            out.line(format!("{name}: snapshot {}{until}", hold.id))?;
        }
    }
    out.finish()?;
    Ok(Code::Fine)
}

fn release(args: &RemoteRelease) -> Outcome {
    if open(&args.from)?.release(&args.name)? {
        return Ok(Code::Fine);
    }
    let name = args.name.escape_debug();
    let text = format!("nothing is held as \"{name}\"; `huon remote holds` lists what is.");
    Err(Failure::Told(Code::Problems, text))
}

fn gc(args: &RemoteGc) -> Outcome {
    let remote = open(&args.from)?;
    let scratch = args.scratch.clone().unwrap_or_else(std::env::temp_dir).join("huon-gc");
    let options = CollectOptions::new().keep(args.keep).grace(args.grace);
    let report = remote.collect(&options, &scratch)?;
    let mut out = Out::new();
    if args.json {
        out.json(&serde_json::to_value(report).unwrap_or_default())?;
    } else {
        let (deleted, bases) = (number(report.deleted), number(report.bases));
        let text = format!("{deleted} objects deleted, {bases} whole snapshots made");
        out.line(format!("{text}; records are kept from {} on", report.lowest))?;
    }
    out.finish()?;
    Ok(Code::Fine)
}

fn open(from: &Bucket) -> Result<Remote, Failure> {
    open_at(&from.bucket, &from.secret)
}

fn open_at(path: &Path, secret: &Secret) -> Result<Remote, Failure> {
    if !path.is_dir() {
        let text = format!("{} is no directory that a file is shipped to.", path.display());
        return Err(Failure::Told(Code::Problems, text));
    }
    let bucket = Directory::open(path).map_err(|error| unreadable(path, &error))?;
    Ok(options(secret)?.open(Arc::new(bucket))?)
}

fn options(secret: &Secret) -> Result<RemoteOptions, Failure> {
    let Some(path) = &secret.key_file else { return Ok(RemoteOptions::new()) };
    let digits = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    Ok(RemoteOptions::new().key(Key::from_hex(&digits)?))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::io(&format!("cannot read {}", path.display()), error)
}

fn time_text(millis: u64) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
    humantime::format_rfc3339_millis(time).to_string()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = match &error {
            Error::Fenced { .. } | Error::Timeout => Code::Busy,
            Error::Damaged { .. } | Error::Diverged(_) | Error::Unfit(_) => Code::Corrupt,
            Error::NothingShipped(_) => Code::Problems,
            Error::Key(_) | Error::Invalid(_) => Code::Usage,
            _ => Code::Io,
        };
        match error {
            Error::Huon(error) => error.into(),
            error => Failure::Told(code, format!("{error}.")),
        }
    }
}

//! The readers: `readers` once, `watch-readers` again and again.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use huon::{ReaderInfo, RetainedBy};
use serde_json::{Value, json};

use crate::args::{Look, WatchReaders};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::stop::Stop;
use crate::text::{number, size, span};

/// How often a wait for the next round checks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Cursor home, and everything below it gone.
const CLEAR: &str = "\x1b[H\x1b[J";

/// The readers of an environment at one moment.
struct Round {
    newest: u64,
    readers: Vec<Reader>,
}

struct Reader {
    info: ReaderInfo,
    /// Free space that it sees, and the part of it that no other reader sees.
    retained_bytes: u64,
    alone_bytes: u64,
}

impl Round {
    /// The file is opened for each round, and closed: a watch of hours blocks no other process.
    fn look(path: &Path) -> Result<Round, Failure> {
        let env = open::look(path)?;
        let info = env.info()?;
        let page_bytes = u64::from(info.page_bytes);
        let readers =
            env.retained_snapshots()?.into_iter().filter_map(|snapshot| match snapshot.by {
                RetainedBy::Reader(info) => Some(Reader {
                    info,
                    retained_bytes: snapshot.pages * page_bytes,
                    alone_bytes: snapshot.alone_pages * page_bytes,
                }),
                _ => None,
            });
        Ok(Round { newest: info.newest, readers: readers.collect() })
    }

    fn json(&self) -> Value {
        let readers: Vec<Value> = self.readers.iter().map(Reader::json).collect();
        json!({ "newest": self.newest, "readers": readers })
    }
}

impl Reader {
    fn json(&self) -> Value {
        let mut json = reader_json(&self.info);
        json["retained_bytes"] = self.retained_bytes.into();
        json["alone_bytes"] = self.alone_bytes.into();
        json
    }

    fn row(&self) -> String {
        let info = &self.info;
        let (retained, alone) = (size(self.retained_bytes), size(self.alone_bytes));
        let numbers = [&info.client as &dyn Display, &info.pid, &info.txnid];
        let row = row(numbers, [&number(info.ids_behind), &span(info.age_ms), &retained, &alone]);
        if info.parked { row + "  parked" } else { row }
    }
}

/// What a reader says of itself.
pub(crate) fn reader_json(info: &ReaderInfo) -> Value {
    json!({
        "client": info.client,
        "pid": info.pid,
        "thread": info.thread,
        "snapshot": info.txnid,
        "ids_behind": info.ids_behind,
        "age_ms": info.age_ms,
        "parked": info.parked,
    })
}

fn heading() -> String {
    row([&"client", &"pid", &"snapshot"], ["behind", "age", "retains", "alone"])
}

/// The reader, and how much it retains.
fn row(
    [client, pid, snapshot]: [&dyn Display; 3],
    [behind, age, retains, alone]: [&str; 4],
) -> String {
    format!("{client:>6} {pid:>7} {snapshot:>13} {behind:>9} {age:>7} {retains:>11} {alone:>11}")
}

/// `huon readers`.
pub(crate) fn readers(args: &Look) -> Outcome {
    let round = Round::look(&args.file)?;
    let mut out = Out::new();
    match (args.json, round.readers.is_empty()) {
        (true, _) => out.json(&round.json())?,
        (false, true) => out.line("no readers")?,
        (false, false) => {
            out.line(heading())?;
            round.readers.iter().try_for_each(|reader| out.line(reader.row()))?;
        }
    }
    out.finish()?;
    Ok(Code::Fine)
}

/// `huon watch-readers`.
pub(crate) fn watch(args: &WatchReaders) -> Outcome {
    let stop = Stop::on_signals()?;
    let period = Duration::from_secs_f64(args.interval);
    let on_screen = !args.once && !args.json && io::stdout().is_terminal();
    let mut first = true;
    while !stop.is_asked() {
        let round = Round::look(&args.file)?;
        let mut out = Out::new();
        if args.json {
            out.json(&round.json())?;
        } else if on_screen {
            draw(&mut out, &round, args)?;
        } else {
            log(&mut out, &round, first)?;
        }
        out.finish()?;
        first = false;
        if args.once {
            break;
        }
        wait(period, &stop);
    }
    Ok(Code::Fine)
}

/// A screen that is drawn anew each time.
fn draw(out: &mut Out, round: &Round, args: &WatchReaders) -> Result<(), Failure> {
    let path = args.file.display();
    let (time, newest) = (clock(), round.newest);
    out.line(format_args!("{CLEAR}{path} at {time} UTC, newest snapshot {newest}"))?;
    if round.readers.is_empty() {
        out.line("no readers")?;
    } else {
        out.line(heading())?;
    }
    round.readers.iter().try_for_each(|reader| out.line(reader.row()))?;
    out.line(format_args!("\nEvery {} s; Ctrl-C ends it.", args.interval))
}

/// Lines that follow each other, each with the time.
fn log(out: &mut Out, round: &Round, first: bool) -> Result<(), Failure> {
    let time = clock();
    if first {
        out.line(format_args!("{:>8} {}", "time UTC", heading()))?;
    }
    if round.readers.is_empty() {
        out.line(format_args!("{time} no readers"))?;
    }
    round.readers.iter().try_for_each(|reader| out.line(format_args!("{time} {}", reader.row())))
}

/// The time of day, in UTC.
fn clock() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let day = since.as_secs() % 86_400;
    format!("{:02}:{:02}:{:02}", day / 3600, day / 60 % 60, day % 60)
}

fn wait(period: Duration, stop: &Stop) {
    let start = Instant::now();
    while !stop.is_asked() {
        match period.checked_sub(start.elapsed()) {
            None | Some(Duration::ZERO) => return,
            Some(left) => thread::sleep(left.min(LOOK_EVERY)),
        }
    }
}

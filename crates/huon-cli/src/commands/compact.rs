//! A file made shorter where it is: `compact`.

use std::time::Duration;

use huon::{CompactEnd, CompactOptions, CompactReport, Progress, RetainedBy, RetainedSnapshot};
use serde_json::{Value, json};

use crate::args::{Compact, Writing};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::progress::Bar;
use crate::stop::Stop;
use crate::text::{many, size, span};

/// `huon compact`.
pub(crate) fn compact(args: &Compact) -> Outcome {
    if !args.target.is_finite() || args.target < 1.0 {
        return Err(Failure::usage("a target below 1 would leave out what lives in the file."));
    }
    let writing = Writing { wait: args.wait, page_size: None };
    let env = open::change(&args.file, &writing, false)?;
    let stop = Stop::on_signals()?;
    let bar = Bar::bytes("moving");
    let mut tell = |now: &Progress| {
        bar.at(now.done_bytes, now.total_bytes);
        stop.go_on()
    };
    let mut options = CompactOptions::new().target(args.target).progress(&mut tell);
    if let Some(seconds) = args.time {
        options = options.time_limit(Duration::from_secs(seconds));
    }
    let report = env.compact(options)?;
    drop(bar);
    env.close()?;
    let mut out = Out::new();
    if args.json {
        out.json(&as_json(&report))?;
    } else {
        out.line(format_args!("{}", sentence(&report)))?;
    }
    out.finish()?;
    Ok(match report.end {
        CompactEnd::Target => Code::Fine,
        CompactEnd::Stopped => Code::Interrupted,
        _ => Code::Problems,
    })
}

fn sentence(report: &CompactReport) -> String {
    let CompactReport { before_bytes, after_bytes, moved_bytes, commits, .. } = report;
    let (before, after, moved) = (size(*before_bytes), size(*after_bytes), size(*moved_bytes));
    let done = format!("{before} became {after}; {moved} moved in {}", many(*commits, "commit"));
    let why = match &report.end {
        CompactEnd::Target => return format!("{done}."),
        CompactEnd::TimeLimit => "the time is over".into(),
        CompactEnd::Stopped => "interrupted".into(),
        CompactEnd::Retained(snapshots) => {
            let all: Vec<String> = snapshots.iter().map(retained).collect();
            format!("older snapshots retain the rest: {}", all.join("; "))
        }
        _ => "what is left has nowhere to go: `huon copy --compact` packs it anew".into(),
    };
    format!("{done}; {why}.")
}

fn retained(snapshot: &RetainedSnapshot) -> String {
    let pages = many(snapshot.pages, "page");
    match snapshot.by {
        RetainedBy::Reader(r) => format!(
            "a reader in process {} of snapshot {}, {} old, {pages}",
            r.pid,
            snapshot.txnid,
            span(r.age_ms)
        ),
        RetainedBy::Name => format!("the named snapshot {}, {pages}", snapshot.txnid),
        RetainedBy::Flush => format!("a flush of snapshot {}, {pages}", snapshot.txnid),
        _ => format!("the last flushed snapshot {}, {pages}", snapshot.txnid),
    }
}

fn as_json(report: &CompactReport) -> Value {
    let (end, snapshots) = match &report.end {
        CompactEnd::Target => ("target", &[][..]),
        CompactEnd::TimeLimit => ("time", &[][..]),
        CompactEnd::Stopped => ("interrupted", &[][..]),
        CompactEnd::Retained(snapshots) => ("retained", &snapshots[..]),
        _ => ("no room", &[][..]),
    };
    let retained = |snapshot: &RetainedSnapshot| {
        let reader = match snapshot.by {
            RetainedBy::Reader(reader) => Some(reader),
            _ => None,
        };
        json!({
            "pid": reader.map(|reader| reader.pid),
            "client": reader.map(|reader| reader.client),
            "age_ms": reader.map(|reader| reader.age_ms),
            "snapshot": snapshot.txnid,
            "pages": snapshot.pages,
        })
    };
    json!({
        "end": end,
        "before_bytes": report.before_bytes,
        "after_bytes": report.after_bytes,
        "live_bytes": report.live_bytes,
        "moved_bytes": report.moved_bytes,
        "commits": report.commits,
        "retained_snapshots": snapshots.iter().map(retained).collect::<Vec<Value>>(),
    })
}

//! A file made shorter where it is: `compact`.

use std::ops::ControlFlow;
use std::time::Duration;

use huon::{CompactEnd, CompactOptions, CompactReport, HeldBy, Holder, Progress};
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
        if stop.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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
        CompactEnd::Held(holders) => {
            let all: Vec<String> = holders.iter().map(holder).collect();
            format!("older snapshots keep the rest: {}", all.join("; "))
        }
        _ => "what is left has nowhere to go: `huon copy --compact` packs it anew".into(),
    };
    format!("{done}; {why}.")
}

fn holder(holder: &Holder) -> String {
    let pages = many(holder.pages, "page");
    match holder.by {
        HeldBy::Reader(r) => format!(
            "a reader in process {} of snapshot {}, {} old, {pages}",
            r.pid,
            holder.txnid,
            span(r.age_ms)
        ),
        HeldBy::Flush => format!("a flush of snapshot {}, {pages}", holder.txnid),
        _ => format!("the last flushed snapshot {}, {pages}", holder.txnid),
    }
}

fn as_json(report: &CompactReport) -> Value {
    let (end, holders) = match &report.end {
        CompactEnd::Target => ("target", &[][..]),
        CompactEnd::TimeLimit => ("time", &[][..]),
        CompactEnd::Stopped => ("interrupted", &[][..]),
        CompactEnd::Held(holders) => ("held", &holders[..]),
        _ => ("no room", &[][..]),
    };
    let holder = |holder: &Holder| {
        let reader = match holder.by {
            HeldBy::Reader(reader) => Some(reader),
            _ => None,
        };
        json!({
            "pid": reader.map(|reader| reader.pid),
            "client": reader.map(|reader| reader.client),
            "age_ms": reader.map(|reader| reader.age_ms),
            "snapshot": holder.txnid,
            "pages": holder.pages,
        })
    };
    json!({
        "end": end,
        "before_bytes": report.before_bytes,
        "after_bytes": report.after_bytes,
        "live_bytes": report.live_bytes,
        "moved_bytes": report.moved_bytes,
        "commits": report.commits,
        "holders": holders.iter().map(holder).collect::<Vec<Value>>(),
    })
}

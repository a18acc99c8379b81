//! The three metas of a file: `metas`, `switch-meta`.

use std::io::ErrorKind;
use std::path::Path;

use huon::{
    CheckOptions, Env, EnvInfo, Error, MetaInfo, MetaSnapshot, MetaState, Progress, Recovery, Stat,
    SwitchReport, TableStat,
};
use serde_json::{Value, json};

use crate::args::{Look, SwitchMeta};
use crate::commands::info::{own_records, table_name};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::progress::Bar;
use crate::stop::Stop;
use crate::text::{Form, number, size};

/// `huon metas`.
pub(crate) fn metas(args: &Look) -> Outcome {
    let metas = Env::metas_of(&args.file)?;
    // What does not open still has metas to show.
    let opened = open::quietly(&args.file).and_then(|env| Ok((env.info()?, env.recovery())));
    let mut out = Out::new();
    if args.json {
        out.json(&as_json(&metas, &opened))?;
    } else {
        print(&mut out, &metas, &opened)?;
    }
    out.finish()?;
    let is_damaged =
        |meta: &MetaInfo| matches!(meta.state, MetaState::Damaged(_) | MetaState::Unknown(_));
    Ok(match opened {
        Err(Error::Busy(_)) | Ok(_) if !metas.iter().any(is_damaged) => Code::Fine,
        _ => Code::Problems,
    })
}

/// What the file shows when it is opened as usual, or why it cannot be opened.
type Opened = huon::Result<(EnvInfo, Recovery)>;

fn is_durable(snapshot: &MetaSnapshot, opened: &Opened) -> bool {
    opened.as_ref().is_ok_and(|(info, _)| info.durable == snapshot.txnid)
}

fn as_json(metas: &[MetaInfo], opened: &Opened) -> Value {
    let meta = |meta: &MetaInfo| match &meta.state {
        MetaState::Whole(s) => json!({
            "slot": meta.slot,
            "state": "whole",
            "newest": s.is_newest,
            "durable": is_durable(s, opened),
            "snapshot": s.txnid,
            "before": s.before,
            "ceiling": s.ceiling,
            "page_bytes": s.page_bytes,
            "used_bytes": s.used_bytes,
            "root_page": s.root_page,
            "flushes": s.flushes,
            "journal_block": s.journal_block,
        }),
        MetaState::Damaged(why) => json!({ "slot": meta.slot, "state": "damaged", "why": why }),
        MetaState::Unknown(why) => json!({ "slot": meta.slot, "state": "unknown", "why": why }),
        _ => json!({ "slot": meta.slot, "state": "unused" }),
    };
    let info = opened.as_ref().ok().map(|(info, _)| info);
    json!({
        "metas": metas.iter().map(meta).collect::<Vec<_>>(),
        "newest": info.map(|info| info.newest),
        "durable": info.map(|info| info.durable),
        "refused": opened.as_ref().err().map(ToString::to_string),
    })
}

fn print(out: &mut Out, metas: &[MetaInfo], opened: &Opened) -> Result<(), Failure> {
    out.line(format_args!(
        "{:>4} {:<7} {:>13} {:>11} {:>10} {:>7}",
        "slot", "state", "snapshot", "in use", "root page", "flushes"
    ))?;
    for meta in metas {
        let slot = meta.slot;
        match &meta.state {
            MetaState::Whole(s) => out.line(format_args!(
                "{slot:>4} {:<7} {:>13} {:>11} {:>10} {:>7}{}",
                "whole",
                s.txnid,
                size(s.used_bytes),
                s.root_page.map_or("none".into(), |page| page.to_string()),
                s.flushes,
                marks(s, opened),
            ))?,
            MetaState::Damaged(why) => out.line(format_args!("{slot:>4} damaged: {why}"))?,
            MetaState::Unknown(why) => {
                out.line(format_args!("{slot:>4} of a newer version: {why}"))?;
            }
            _ => out.line(format_args!("{slot:>4} unused"))?,
        }
    }
    let newest = metas.iter().filter_map(MetaInfo::snapshot).find(|s| s.is_newest);
    if let Some(block) = newest.and_then(|s| s.journal_block) {
        out.line(format_args!("\nnewer commits may be in the journal, from its block {block} on"))?;
    }
    match opened {
        Ok((info, recovery)) => print_newest(out, metas, info, *recovery),
        Err(error) => out.line(format_args!("\nit does not open: {error}")),
    }
}

fn marks(snapshot: &MetaSnapshot, opened: &Opened) -> &'static str {
    match (snapshot.is_newest, is_durable(snapshot, opened)) {
        (true, true) => "  newest, durable",
        (true, false) => "  newest",
        (false, true) => "  durable",
        (false, false) => "",
    }
}

/// Where the newest snapshot is not that of the newest meta.
fn print_newest(
    out: &mut Out,
    metas: &[MetaInfo],
    info: &EnvInfo,
    recovery: Recovery,
) -> Result<(), Failure> {
    let in_metas = metas.iter().filter_map(MetaInfo::snapshot).map(|s| s.txnid).max();
    if recovery == Recovery::SteppedBack {
        let newest = info.newest;
        return out.line(format_args!(
            "\nthe newest snapshot is damaged; the file opens with snapshot {newest}"
        ));
    }
    if in_metas.is_some_and(|newest| newest < info.newest) {
        return out.line(format_args!(
            "\nsnapshot {} is newer than all of them: it is in no meta until the next flush",
            info.newest
        ));
    }
    Ok(())
}

/// `huon switch-meta`.
pub(crate) fn switch(args: &SwitchMeta) -> Outcome {
    let choice = Choice::look(&args.file, args.slot)?;
    let mut out = Out::new();
    if choice.is_newest() {
        let chosen = choice.chosen;
        out.line(format_args!("snapshot {chosen} is the newest already; nothing was changed"))?;
        out.finish()?;
        return Ok(Code::Fine);
    }
    choice.print(&mut out, args.slot)?;
    if !args.yes {
        out.finish()?;
        let text = "nothing was changed yet; add --yes to check that snapshot and go back to it.";
        return Err(Failure::usage(text));
    }
    let report = turn(&args.file, args.slot)?;
    out.line(format_args!("\n{}", done(&report)))?;
    out.finish()?;
    Ok(Code::Fine)
}

/// A switch that the user has confirmed: what is lost need not be shown.
pub(crate) fn switch_confirmed(file: &Path, slot: u8, is_quiet: bool) -> Outcome {
    if Choice::look(file, slot)?.is_newest() {
        return Ok(Code::Fine);
    }
    let report = turn(file, slot)?;
    if !is_quiet {
        let mut out = Out::new();
        out.line(done(&report))?;
        out.finish()?;
    }
    Ok(Code::Fine)
}

fn done(report: &SwitchReport) -> String {
    format!("snapshot {} is the newest now, as snapshot {}", report.chosen, report.txnid)
}

fn turn(file: &Path, slot: u8) -> Result<SwitchReport, Failure> {
    let stop = Stop::on_signals()?;
    let bar = Bar::bytes("checking");
    let mut report = |now: &Progress| {
        bar.at(now.done_bytes, now.total_bytes);
        stop.go_on()
    };
    let options = CheckOptions::new().progress(&mut report);
    let switched = Env::switch_to_meta(file, slot, options);
    drop(bar);
    match switched {
        Err(Error::Io(e)) if stop.is_asked() && e.source.kind() == ErrorKind::Interrupted => {
            let text = "interrupted; nothing was changed.";
            Err(Failure::Told(Code::Interrupted, text.into()))
        }
        switched => switched.map_err(|error| not_whole(file, slot, error)),
    }
}

/// Damage, or a page that was used again, means something else for a snapshot that was chosen.
fn not_whole(file: &Path, slot: u8, error: Error) -> Failure {
    let Error::Corrupt(_) = error else { return error.into() };
    let path = file.display();
    let text = format!(
        "the snapshot in slot {slot} of {path} is not whole any more, and nothing was changed: \
         {error}; see `huon check --meta-slot {slot}`, and save what can be read with `huon dump \
         --rescue --meta-slot {slot}`."
    );
    Failure::Told(Code::Corrupt, text)
}

/// A snapshot that the user may want to go back to, beside the newest.
struct Choice {
    chosen: u64,
    then: Stat,
    now: huon::Result<Stat>,
    recovery: Option<Recovery>,
}

impl Choice {
    /// No other process may have the file open.
    fn look(file: &Path, slot: u8) -> Result<Choice, Failure> {
        let metas = Env::metas_of(file)?;
        let path = file.display();
        let chosen = match metas.into_iter().find(|meta| meta.slot == slot).map(|meta| meta.state) {
            Some(MetaState::Whole(snapshot)) => snapshot.txnid,
            Some(MetaState::Damaged(why)) => {
                let text = format!("the meta in slot {slot} of {path} is damaged: {why}.");
                return Err(Failure::Told(Code::Corrupt, text));
            }
            Some(MetaState::Unknown(why)) => {
                let text =
                    format!("the meta in slot {slot} of {path} is of a newer version: {why}.");
                return Err(Failure::Told(Code::Corrupt, text));
            }
            _ => {
                let text = format!(
                    "slot {slot} of {path} has no meta yet; `huon metas {path}` lists what it has."
                );
                return Err(Failure::Told(Code::Problems, text));
            }
        };
        let then = open::look_from(file, Some(slot))?.stat();
        let then = then.map_err(|error| not_whole(file, slot, error))?;
        let newest = open::quietly(file);
        let recovery = newest.as_ref().ok().map(Env::recovery);
        Ok(Choice { chosen, then, now: newest.and_then(|env| env.stat()), recovery })
    }

    fn is_newest(&self) -> bool {
        let is_same = self.now.as_ref().is_ok_and(|now| now.txnid == self.chosen);
        is_same && self.recovery != Some(Recovery::SteppedBack)
    }

    /// What would be lost.
    fn print(&self, out: &mut Out, slot: u8) -> Result<(), Failure> {
        let chosen = self.chosen;
        let now = match &self.now {
            Ok(now) => now,
            Err(error) => {
                out.line(format_args!("slot {slot} has snapshot {chosen}"))?;
                return out.line(format_args!("what would be lost cannot be read: {error}"));
            }
        };
        let newest = now.txnid;
        out.line(format_args!("slot {slot} has snapshot {chosen}; the newest is {newest}"))?;
        out.line(format_args!(
            "what was committed after {chosen} would be lost for good, in these tables:"
        ))?;
        out.line(format_args!("\n{:<30} {:>14} {:>14}", "table", "records now", "then"))?;
        let mut same = 0;
        for table in &now.tables {
            let old = self.then.tables.iter().find(|old| old.name == table.name);
            match old {
                Some(old) if old.changed == table.changed => same += 1,
                // It is changed whenever a named table is; here is nothing of its own.
                Some(old) if own_records(now, table) + own_records(&self.then, old) == 0 => {
                    same += u64::from(!table.name.is_empty());
                }
                _ => row(out, table, Some((now, table)), old.map(|old| (&self.then, old)))?,
            }
        }
        let is_gone = |old: &&TableStat| now.tables.iter().all(|table| table.name != old.name);
        for old in self.then.tables.iter().filter(is_gone) {
            row(out, old, None, Some((&self.then, old)))?;
        }
        match same {
            0 => Ok(()),
            1 => out.line("1 other table is the same"),
            same => out.line(format_args!("{} other tables are the same", number(same))),
        }
    }
}

/// A table's records now and then, where it is there.
fn row(
    out: &mut Out,
    table: &TableStat,
    now: Option<(&Stat, &TableStat)>,
    then: Option<(&Stat, &TableStat)>,
) -> Result<(), Failure> {
    let records = |found: Option<(&Stat, &TableStat)>| match found {
        Some((stat, table)) => number(own_records(stat, table)),
        None => "not there".into(),
    };
    let (name, now, then) = (table_name(table, Form::Plain), records(now), records(then));
    out.line(format_args!("{name:<30} {now:>14} {then:>14}"))
}

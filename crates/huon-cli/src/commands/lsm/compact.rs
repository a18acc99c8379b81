//! Merging runs: `lsm compact`.

use std::ops::ControlFlow;

use huon::Env;
use huon_lsm::{Lsm, LsmStat};
use serde_json::{Value, json};

use super::{Named, close, needs_operator, tables};
use crate::args::{LsmCompact, Writing};
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::progress::Bar;
use crate::stop::Stop;
use crate::text::{Form, json_name, many, size};

/// `huon lsm compact`.
pub(super) fn compact(args: &LsmCompact) -> Outcome {
    let (file, table) = (&args.target.file, args.target.table.as_deref());
    let writing = Writing { wait: args.wait, page_size: None };
    let env = open::change(file, &writing, false)?;
    let stop = Stop::on_signals()?;
    let lsm = Lsm::open(&env)?;
    let found = tables(&lsm, &env.read()?, file, table)?;
    let before = stats(&env, &found)?;
    if let (Some(_), [(name, stat)]) = (table, &before[..])
        && !stat.operator.is_empty()
    {
        return Err(Failure::usage(format!("{} merge its runs.", needs_operator(name, stat))));
    }
    merge(args, &env, &lsm, &found, &stop)?;
    let after = stats(&env, &found)?;
    drop(found);
    close(env, lsm)?;
    let mut out = Out::new();
    let both = before.iter().zip(&after);
    if args.json {
        let tables: Vec<Value> =
            both.map(|((name, before), (_, after))| as_json(name, before, after)).collect();
        out.json(&json!({ "interrupted": stop.is_asked(), "tables": tables }))?;
    } else {
        if before.is_empty() {
            out.line("no LSM tables")?;
        }
        for ((name, before), (_, after)) in both {
            out.line(sentence(name, before, after))?;
        }
    }
    out.finish()?;
    Ok(if stop.is_asked() { Code::Interrupted } else { Code::Fine })
}

/// Merges step by step until nothing is to be merged or the user wants to stop.
fn merge(
    args: &LsmCompact,
    env: &Env,
    lsm: &Lsm,
    found: &[Named],
    stop: &Stop,
) -> Result<(), Failure> {
    let mut compactor = lsm.compactor();
    if let (Some(_), [(name, _)]) = (&args.target.table, found) {
        compactor = compactor.for_table(name);
    }
    let bar = Bar::bytes("merging");
    let mut told: Result<(), Failure> = Ok(());
    let mut report = |_| match stats(env, found) {
        Ok(now) => {
            let sum = |of: fn(&LsmStat) -> u64| now.iter().map(|(_, stat)| of(stat)).sum();
            let (done, debt): (u64, u64) = (sum(|stat| stat.merged_bytes), sum(|s| s.debt_bytes));
            bar.at(done, if args.idle { 0 } else { done + debt });
            stop.go_on()
        }
        Err(failure) => {
            told = Err(failure);
            ControlFlow::Break(())
        }
    };
    if args.idle {
        compactor.merge_all_with(&mut report)?;
        if told.is_ok() && !stop.is_asked() {
            compactor.shorten_with(&mut || stop.go_on())?;
        }
    } else {
        compactor.run_until_idle_with(&mut report)?;
    }
    told
}

fn stats(env: &Env, found: &[Named]) -> Result<Vec<(Vec<u8>, LsmStat)>, Failure> {
    let txn = env.read()?;
    let stat = |(name, table): &Named| Ok((name.clone(), table.stat(&txn)?));
    Ok(found.iter().map(stat).collect::<huon::Result<_>>()?)
}

fn as_json(name: &[u8], before: &LsmStat, after: &LsmStat) -> Value {
    let (field, name) = json_name("name", name, Form::Plain);
    json!({
        (field): name,
        "runs_before": before.runs(),
        "runs": after.runs(),
        "before_bytes": before.bytes,
        "after_bytes": after.bytes,
        "merged_bytes": after.merged_bytes,
        "merges": after.merges,
        "steps": after.steps,
        "lost_steps": after.lost_steps,
        "debt_bytes": after.debt_bytes,
        "left": !after.operator.is_empty(),
    })
}

fn sentence(name: &[u8], before: &LsmStat, after: &LsmStat) -> String {
    if !after.operator.is_empty() {
        return format!("{} merge its runs; left as they are.", needs_operator(name, after));
    }
    let name = Form::Plain.show(name);
    let (runs, left) = (many(before.runs(), "run"), after.runs());
    if after.steps == 0 {
        return format!("{name}: {runs}, nothing to merge.");
    }
    let (merged, merges) = (size(after.merged_bytes), many(after.merges, "merge"));
    let steps = many(after.steps, "step");
    let lost = match after.lost_steps {
        0 => String::new(),
        lost => format!(", {lost} of them in vain, as others merged too"),
    };
    format!("{name}: {runs} became {left}; {merged} written in {merges}, {steps}{lost}.")
}

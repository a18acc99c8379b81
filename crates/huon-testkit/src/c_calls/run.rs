//! Runs a history on a library and on the model.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::generate::Program;
use super::model::{Answer, Model};
use super::names::{code, go, kind, put};
use super::op::{Op, Outcome};
use crate::history::{Failure, panic_text};
use crate::support::random::digest;

/// A library behind the calls.
pub trait Library {
    /// Makes the call.
    fn call(&mut self, op: &Op) -> Outcome;

    /// What is found wrong with what the history left.
    fn end(&mut self) -> Result<(), String>;
}

/// How often each thing happened.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Calls, their flags and answers.
    pub seen: BTreeMap<String, u64>,
    /// Calls that were left out, by rule.
    pub left: BTreeMap<String, u64>,
    /// Calls that were made.
    pub calls: u64,
    /// A digest of all answers.
    pub trace: u64,
}

impl Counts {
    fn add(&mut self, what: String) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Adds those of another history.
    pub fn merge(&mut self, other: &Counts) {
        for (from, to) in [(&other.seen, &mut self.seen), (&other.left, &mut self.left)] {
            from.iter().for_each(|(what, count)| *to.entry(what.clone()).or_default() += count);
        }
        self.calls += other.calls;
        self.trace ^= other.trace;
    }

    /// How often something happened.
    pub fn of(&self, what: &str) -> u64 {
        self.seen.get(what).copied().unwrap_or(0)
    }

    fn take(&mut self, op: &Op, outcome: &Outcome) {
        self.calls += 1;
        let text = format!("{outcome}");
        self.trace = digest(text.as_bytes()) ^ self.trace.rotate_left(7);
        let name = code::EACH.iter().find(|(code, _)| *code == outcome.code);
        let code = name.map_or("another code", |(_, name)| name);
        self.add(format!("code {code}"));
        let words = op.to_string();
        let call = words.split(" = ").last().unwrap_or_default();
        let call = call.split('(').next().unwrap_or_default().to_string();
        let flags = |flags: u32| {
            let of = move |(flag, _): &&(u32, &str)| flags & flag != 0;
            put::EACH.iter().filter(of).map(|(_, name)| *name)
        };
        match op {
            Op::Put { flags: wanted, .. } | Op::CursorPut { flags: wanted, .. } => {
                flags(*wanted).for_each(|name| self.add(format!("{call} {name} {code}")));
            }
            Op::CursorPutMany { flags: wanted, .. } => {
                let several = flags(wanted | put::MULTIPLE);
                several.for_each(|name| self.add(format!("{call} {name} {code}")));
            }
            Op::CursorGet { op, .. } => {
                let name = go::NAMES.get(*op as usize).unwrap_or(&"none");
                self.add(format!("{name} {code}"));
            }
            Op::Open { flags, .. } if outcome.code == 0 => {
                self.add(format!("kind {:#x}", flags & kind::ALL));
            }
            _ => {}
        }
        self.add(format!("{call} {code}"));
    }
}

/// Runs a history; what it counted, or where it failed.
pub fn run(
    program: &Program,
    open: impl FnOnce(&Program) -> Box<dyn Library>,
) -> Result<Counts, Failure> {
    let mut at = 0;
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut library = open(program);
        let ran = run_on(program, &mut *library, &mut at);
        if ran.is_err() {
            // What went wrong may go wrong again while things are put away.
            std::mem::forget(library);
        }
        ran
    }));
    match ran {
        Ok(Ok(counts)) => Ok(counts),
        Ok(Err(what)) => Err(Failure { at, what }),
        Err(panic) => Err(Failure { at, what: panic_text(&*panic) }),
    }
}

fn run_on(program: &Program, library: &mut dyn Library, at: &mut usize) -> Result<Counts, String> {
    let mut model = Model::new(program.rules.clone(), program.flags);
    let mut counts = Counts::default();
    for op in &program.ops {
        one(&mut model, library, op, &mut counts)?;
        *at += 1;
    }
    one(&mut model, library, &Op::Reopen { flags: program.flags }, &mut counts)?;
    for op in model.look_at_all() {
        one(&mut model, library, &op, &mut counts)?;
    }
    library.end()?;
    for what in model.happened() {
        counts.add(what.to_string());
    }
    Ok(counts)
}

fn one(
    model: &mut Model,
    library: &mut dyn Library,
    op: &Op,
    counts: &mut Counts,
) -> Result<(), String> {
    match model.step(op) {
        Answer::Void => {}
        Answer::Left(rule) => *counts.left.entry(rule.to_string()).or_default() += 1,
        Answer::Is(expected) => {
            let got = library.call(op);
            if got != expected && !model.allows(&got, &expected) {
                return Err(format!("{op}\n  answered {got}\n  expected {expected}"));
            }
            counts.take(op, &got);
        }
    }
    Ok(())
}

//! What must be true of an image: it opens; it shows the state of one commit over all tables, one
//! that may show; it checks clean; and it goes on working through more transactions and a reopen.

use std::panic::{AssertUnwindSafe, catch_unwind};

use huon::sim::SimDisk;
use huon::{Durability, Env, Error, Recovery, Verify};

use super::edit::Edit;
use super::record::{State, Trace};
use super::script::STATE;
use crate::history::panic_text;
use crate::model::{Mismatch, TableId};
use crate::support::audit::audit;

/// An image, and under which circumstances it is opened.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) image: &'a [u8],
    /// The journal; empty if there is none.
    pub(super) journal: &'a [u8],
    /// The lock file, if there is one.
    pub(super) lock: Option<&'a [u64]>,
    /// The machine was not started anew.
    pub(super) same_boot: bool,
    /// The states that may show.
    pub(super) oldest: usize,
    pub(super) newest: usize,
    /// The moment that it belongs to.
    pub(super) at: usize,
}

/// What an image turned out to be.
#[derive(Clone, Copy)]
pub(super) struct Verdict {
    pub(super) state: usize,
    pub(super) recovery: Recovery,
}

/// Judges images of one trace on a machine of its own.
pub(super) struct Oracle<'t> {
    pub(super) trace: &'t Trace,
    machine: SimDisk,
}

fn text(error: Error) -> String {
    error.to_string()
}

impl<'t> Oracle<'t> {
    pub(super) fn new(trace: &'t Trace) -> Oracle<'t> {
        let machine = trace.machine.after_crash(&[], true).expect("a machine").quiet();
        Oracle { trace, machine }
    }

    fn open(&self, case: &Case<'_>, verify: Verify) -> huon::Result<Env> {
        let boot = case.same_boot.then(|| self.trace.machine.boot());
        self.machine.restart(case.image, boot, case.lock);
        let machine = self.machine.clone().with_journal_image(case.journal);
        self.trace.setup.options().verify(verify).open_simulated(&machine)
    }

    /// Judges an image; a panic of the engine is an answer, too.
    pub(super) fn judge(&self, case: &Case<'_>) -> Result<Verdict, String> {
        self.guarded(|| self.judge_whole(case))
    }

    fn guarded<R>(&self, judge: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
        catch_unwind(AssertUnwindSafe(judge))
            .unwrap_or_else(|panic| Err(format!("panic: {}", panic_text(&*panic))))
    }

    fn judge_whole(&self, case: &Case<'_>) -> Result<Verdict, String> {
        let env =
            self.open(case, Verify::Pages).map_err(|error| format!("does not open: {error}"))?;
        let recovery = env.recovery();
        let within = |what| format!("opened as {recovery:?}: {what}");
        let state =
            shown(&env, self.trace, case.newest).map_err(|what| within(what.to_string()))?;
        if state < case.oldest || state > case.newest {
            let (oldest, newest) = (case.oldest, case.newest);
            return Err(within(format!("shows state {state}, not one of {oldest} to {newest}")));
        }
        if self.trace.is_gone(state, case.at) {
            return Err(within(format!("shows state {state}, which was given up")));
        }
        let sound = has_limits(&env, self.trace, state).and_then(|()| audit(&env));
        sound.map_err(|what| within(format!("state {state}: {what}")))?;
        self.use_on(env, state).map_err(|what| within(format!("state {state}, then {what}")))?;
        Ok(Verdict { state, recovery })
    }

    /// Three more transactions, and opening again.
    fn use_on(&self, env: Env, state: usize) -> Result<(), String> {
        let State { mut model, mut geometry, .. } = self.trace.states[state].clone();
        let page_bytes = self.trace.setup.page_bytes;
        for round in 0..3 {
            let mut txn = env.write().map_err(|error| format!("begin: {error}"))?;
            let mut edit =
                Edit { txn: &mut txn, model: &mut model, geometry: &mut geometry, page_bytes };
            more_work(&mut edit, round);
            let durability = if round == 1 { Durability::Lazy } else { Durability::Durable };
            txn.commit_with(durability).map_err(|error| format!("commit: {error}"))?;
        }
        audit(&env).map_err(|what| format!("after three transactions: {what}"))?;
        drop(env);
        let env = self.trace.setup.options().open_simulated(&self.machine).map_err(text)?;
        if env.recovery() != Recovery::Clean {
            return Err(format!("closed, and opened as {:?}", env.recovery()));
        }
        audit(&env).map_err(|what| format!("reopened: {what}"))?;
        model.compare(&env.read().map_err(text)?).map_err(|what| format!("reopened: {what}"))
    }

    /// Judges an image with damage on top: an error that says so, or right data. `anything`: the
    /// damage may make an older commit the newest that there is.
    pub(super) fn judge_damaged(&self, case: &Case<'_>, anything: bool) -> Result<bool, String> {
        self.guarded(|| self.damaged(case, anything))
    }

    fn damaged(&self, case: &Case<'_>, anything: bool) -> Result<bool, String> {
        // Reading a large value verifies it only if asked to.
        let env = match self.open(case, Verify::PagesAndValues) {
            Ok(env) => env,
            Err(error) => return precise(error),
        };
        let state = match shown(&env, self.trace, case.newest) {
            Ok(state) => state,
            Err(Mismatch::Error(error)) => return precise(error),
            Err(different) => return Err(format!("opened as {:?}: {different}", env.recovery())),
        };
        // A tail that does not verify may be torn or rotten; going back is said.
        let said = anything || env.recovery() == Recovery::SteppedBack;
        let is_old = state < case.oldest && !said;
        if is_old || state > case.newest {
            let (oldest, newest) = (case.oldest, case.newest);
            return Err(format!("shows state {state}, not one of {oldest} to {newest}"));
        }
        let problems = env.check().map_err(text)?.problem_count > 0;
        let written = (|| {
            let mut txn = env.write()?;
            let main = txn.create_table(&TableId::MAIN.def())?;
            main.put(&mut txn, b"one more", b"")?;
            txn.commit_with(Durability::Durable)
        })();
        match written {
            Ok(_) => Ok(problems),
            Err(error) => precise(error),
        }
    }
}

/// The state that an environment shows, compared whole; see [`Trace::numbered`].
pub(super) fn shown(env: &Env, trace: &Trace, newest: usize) -> Result<usize, Mismatch> {
    let txn = env.read()?;
    let main = txn.open_table(&TableId::MAIN.def())?.expect("the main table");
    let number = match main.get(&txn, STATE)? {
        None => 0,
        Some(bytes) => u32::from_le_bytes(bytes.try_into().map_err(|_| "a long state".to_owned())?),
    };
    let state = trace.numbered(number, newest).ok_or(format!("an unknown state, {number}"))?;
    trace.states[state].model.compare_with(&txn)?;
    Ok(state)
}

/// Whether a file that was opened as showing `state` has its limits.
pub(super) fn has_limits(env: &Env, trace: &Trace, state: usize) -> Result<(), String> {
    let (found, known) = (env.info().map_err(text)?.geometry, trace.states[state].geometry);
    if known.is_none_or(|known| known == found) {
        Ok(())
    } else {
        Err(format!("limits are {found:?}, not {known:?}"))
    }
}

/// Whether an error says that the file is damaged.
fn precise(error: Error) -> Result<bool, String> {
    match error {
        Error::Corrupt(_) | Error::NotADatabase(_) | Error::Version(_) | Error::Journal(_) => {
            Ok(true)
        }
        error => Err(format!("an error that does not fit: {error}")),
    }
}

/// What is done to a database that has come back.
pub(super) fn more_work(edit: &mut Edit<'_>, round: u64) {
    let page_bytes = edit.page_bytes;
    edit.put(2, round * 3, 40);
    edit.put(2, 77 + round, page_bytes * 2);
    edit.put(12, round, 10);
    edit.delete(2, 76 + round);
    // Where there is a multimap, its values go on to be more, and fewer.
    for id in [TableId(14), TableId(26)] {
        if edit.model.exists(id) {
            edit.pour(id.0, 12, [round, 7 + round]);
            edit.take(id.0, 12, [2 * round, 9]);
        }
    }
}

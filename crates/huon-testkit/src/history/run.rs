//! Runs a program on an environment and on its model, and compares them.
//!
//! 1. After every commit the environment is checked as a whole, and every pinned snapshot still
//!    shows what its model says.
//! 2. A killed process loses no commit; a power loss loses no durable one and leaves the state of
//!    one commit, whatever part of the writes reached the disk.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use huon::{Durability, Env, FullMap, WriteTxn};

use crate::history::cursors::Scans;
use crate::history::machine::Machine;
use crate::history::program::{By, Config, Op, Program, Reopening};
use crate::history::readers::Readers;
use crate::history::txn_state::UNSEALED;
use crate::model::handle::Handle;
use crate::model::{Model, TableId};

/// How often each thing happened.
#[derive(Clone, Debug, Default)]
pub struct Counts(pub BTreeMap<&'static str, u64>);

impl Counts {
    /// Counts something.
    pub fn add(&mut self, what: &'static str, count: u64) {
        *self.0.entry(what).or_default() += count;
    }

    /// Adds what another history counted.
    pub fn merge(&mut self, other: &Counts) {
        other.0.iter().for_each(|(what, count)| self.add(what, *count));
    }

    /// How often it happened.
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }
}

/// A difference between environment and model, or a panic.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Number of the operation.
    pub at: usize,
    /// What was wrong.
    pub what: String,
}

/// Why a level of a transaction ends early.
pub(crate) enum Stop {
    Abort,
    Fail(String),
    /// There was no room for a change.
    Full(Box<FullMap>),
}

impl From<huon::Error> for Stop {
    fn from(error: huon::Error) -> Stop {
        match error {
            huon::Error::MapFull(full) => Stop::Full(full),
            error => Stop::Fail(format!("unexpected error: {error}")),
        }
    }
}

impl Stop {
    /// Where nothing is left to go back to.
    fn what(self) -> String {
        match self {
            Stop::Fail(what) => what,
            Stop::Abort => "an abort outside a transaction".to_string(),
            Stop::Full(full) => format!("no room outside a transaction: {full:?}"),
        }
    }
}

impl From<String> for Stop {
    fn from(what: String) -> Stop {
        Stop::Fail(what)
    }
}

pub(crate) type Step = Result<(), Stop>;

/// An error where none may be.
pub(crate) fn fail(error: huon::Error) -> Stop {
    Stop::from(error)
}

/// Environment and model, side by side.
pub(crate) struct History {
    pub(crate) config: Config,
    pub(crate) machine: Machine,
    /// The client whose transaction is open, or was last.
    pub(crate) client: usize,
    pub(crate) readers: Readers,
    pub(crate) scans: Scans,
    pub(crate) handles: HashMap<(usize, TableId, bool), Handle>,
    pub(crate) committed: Model,
    /// What the open write transaction shows.
    pub(crate) work: Model,
    /// What it showed at its savepoints, for each level; no level while there is none.
    pub(crate) savepoints: Vec<Vec<(u8, Model)>>,
    /// The file could not grow as it liked, at some time in the transaction.
    pub(crate) was_limited: bool,
    /// The states since the durable one, by id.
    pub(crate) commits: BTreeMap<u64, Model>,
    pub(crate) counts: Counts,
    /// No transaction has written since an unclean opening.
    pub(crate) unclean: bool,
    /// The id that the running transaction began with.
    begun: u64,
    /// A client has closed, or will, without a flush.
    pub(crate) may_be_unflushed: bool,
    pub(crate) pc: usize,
}

/// Runs a program; what it counted, or where it failed.
pub fn run(program: &Program) -> Result<Counts, Failure> {
    let mut history = match History::new(program.config) {
        Ok(history) => history,
        Err(what) => return Err(Failure { at: 0, what }),
    };
    let ran = catch_unwind(AssertUnwindSafe(|| history.run(&program.ops)));
    let at = history.pc;
    let what = match ran {
        Ok(Ok(())) => match catch_unwind(AssertUnwindSafe(|| history.end())) {
            Ok(Ok(counts)) => return Ok(counts),
            Ok(Err(stop)) => stop.what(),
            Err(panic) => panic_text(&*panic),
        },
        Ok(Err(stop)) => stop.what(),
        Err(panic) => {
            // What a panic left behind may panic again when it is dropped.
            std::mem::forget(history);
            panic_text(&*panic)
        }
    };
    Err(Failure { at, what })
}

/// What a panic said.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_default())
}

impl History {
    fn new(config: Config) -> Result<History, String> {
        let mut history = History {
            config,
            machine: Machine::new(config.real)?,
            client: 0,
            readers: Readers::default(),
            scans: Scans::default(),
            handles: HashMap::new(),
            committed: Model::default(),
            work: Model::default(),
            savepoints: Vec::new(),
            was_limited: false,
            commits: BTreeMap::new(),
            counts: Counts::default(),
            unclean: true,
            begun: 0,
            may_be_unflushed: false,
            pc: 0,
        };
        history.open(0).map_err(|e| e.to_string())?;
        history.committed.geometry = Some(history.first_geometry());
        history.check_limits()?;
        Ok(history)
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.config.page_bytes
    }

    fn run(&mut self, ops: &[Op]) -> Step {
        self.note_state()?;
        while let Some(op) = ops.get(self.pc) {
            self.pc += 1;
            match op {
                Op::Begin { client } => self.transaction(*client, ops)?,
                Op::Sync { client } => {
                    let durable = self.env(*client).sync()?;
                    self.unclean = false;
                    self.note_state()?;
                    self.counts.add("sync", 1);
                    if durable != self.env(*client).info()?.newest {
                        return Err(Stop::Fail("sync left something behind".into()));
                    }
                }
                Op::Reopen { client, how } => self.reopen(usize::from(*client), *how)?,
                Op::Second => self.second()?,
                Op::Kill => self.kill()?,
                Op::PowerLoss { seed } => self.power_loss(*seed)?,
                Op::Limit { limit } => self.limit(*limit)?,
                op if self.reader_op(op)? || self.named_op(op)? => {}
                op if op.only_looks() => {
                    let env = self.env((self.pc % 2) as u8);
                    let txn = env.read()?;
                    let model = self.committed.clone();
                    self.look(op, &txn, &model)?;
                }
                // The rest means something inside a transaction only.
                _ => {}
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<Counts, Stop> {
        self.reopen(0, Reopening::Same)?;
        self.settled(true)?;
        self.close_all()?;
        Ok(std::mem::take(&mut self.counts))
    }

    /// Remembers which id the committed state has now: a repair gives it another one.
    pub(crate) fn note_state(&mut self) -> Step {
        let env = self.env(0);
        let info = env.info()?;
        self.commits.insert(info.newest, self.committed.clone());
        let durable = info.durable;
        self.commits.retain(|&id, _| id >= durable);
        Ok(())
    }

    fn transaction(&mut self, client: u8, ops: &[Op]) -> Step {
        let env = self.env(client);
        let mut txn = env.write_within(Duration::from_secs(10))?;
        self.unclean = false;
        self.begun = txn.id();
        self.note_state()?;
        self.client = self.machine.present(client);
        self.counts.add(if self.client == 1 { "begin second" } else { "begin" }, 1);
        self.work = self.committed.clone();
        self.savepoints = vec![Vec::new()];
        self.was_limited = self.is_limited();
        let ended = self.level(ops, &mut txn, 0);
        self.savepoints.clear();
        match ended {
            Ok(()) => {}
            Err(Stop::Full(full)) => return self.filled(ops, Some(txn), &full),
            Err(stop) => return Err(stop),
        }
        match ops.get(self.pc) {
            Some(Op::Commit { lazy, by }) => {
                self.pc += 1;
                self.commit(ops, &env, txn, (*lazy, *by))
            }
            _ => {
                txn.abort();
                self.counts.add("abort", 1);
                self.note_evictable();
                Ok(())
            }
        }
    }

    fn commit(&mut self, ops: &[Op], env: &Env, txn: WriteTxn, (lazy, by): (bool, By)) -> Step {
        let durability = match (by, lazy) {
            (By::Opening, _) => env.durability(),
            (By::Ticket, _) | (_, true) => Durability::Lazy,
            _ => Durability::Durable,
        };
        let told = txn.id();
        let done = match by {
            By::Name => txn.commit_with(durability),
            By::Opening => txn.commit(),
            By::Ticket => txn.commit_ticket().and_then(|ticket| {
                ticket.wait()?;
                assert!(ticket.is_durable(), "a ticket has waited for nothing");
                Ok(ticket.id())
            }),
        };
        let id = match done {
            Ok(id) => id,
            Err(huon::Error::MapFull(full)) => return self.filled(ops, None, &full),
            Err(error) => return Err(fail(error)),
        };
        let is_durable = by == By::Ticket || durability == Durability::Durable;
        self.counts.add(if is_durable { "commit durable" } else { "commit lazy" }, 1);
        match by {
            By::Name => {}
            By::Opening => self.counts.add("commit as opened", 1),
            By::Ticket => self.counts.add("commit by ticket", 1),
        }
        if self.work.markers.txnid == UNSEALED {
            self.work.markers.txnid = id;
        }
        if id > told {
            return Err(Stop::Fail(format!("a transaction of id {told} was committed as {id}")));
        }
        self.counts.add("several ids", u64::from(id > self.begun));
        self.committed = self.work.clone();
        // A transaction that changed nothing makes no snapshot: its base stands for it.
        let known = self.commits.insert(id, self.committed.clone());
        if known.is_some_and(|known| known != self.committed) {
            return Err(Stop::Fail(format!("a commit left {id} in place of its changes")));
        }
        if is_durable && env.durable_id() < id {
            return Err(Stop::Fail("a durable commit is not durable".into()));
        }
        self.note_evictable();
        self.settled(self.pc.is_multiple_of(16))
    }

    /// Runs the operations of one level up to its end, which is left to the caller at level 0.
    fn level(&mut self, ops: &[Op], txn: &mut WriteTxn, depth: usize) -> Step {
        while let Some(op) = ops.get(self.pc) {
            match op {
                Op::NestBegin if depth < 3 => {
                    self.pc += 1;
                    self.nested(ops, txn, depth)?;
                    continue;
                }
                Op::NestEnd { commit } if depth > 0 => {
                    self.pc += 1;
                    return if *commit { Ok(()) } else { Err(Stop::Abort) };
                }
                Op::Begin { .. } | Op::Commit { .. } | Op::Abort => return Ok(()),
                Op::Reopen { .. } | Op::Second | Op::Kill | Op::PowerLoss { .. } => return Ok(()),
                _ => {}
            }
            self.pc += 1;
            if self.reader_op(op)? || self.savepoint_op(op, txn)? {
                continue;
            }
            if let Err(stop) = self.change(op, txn) {
                self.fall_back(stop, txn)?;
                continue;
            }
            let model = self.work.clone();
            self.look(op, txn, &model)?;
        }
        Ok(())
    }

    fn nested(&mut self, ops: &[Op], txn: &mut WriteTxn, depth: usize) -> Step {
        let before = self.work.clone();
        self.savepoints.push(Vec::new());
        let ended = txn.try_nested(|child| self.level(ops, child, depth + 1));
        self.savepoints.pop();
        match ended {
            Ok(()) => self.counts.add("nested commit", 1),
            Err(Stop::Full(_)) => {
                self.counts.add("full, nested abort", 1);
                self.work = before;
            }
            Err(Stop::Abort) => {
                self.counts.add("nested abort", 1);
                self.work = before;
            }
            Err(stop) => return Err(stop),
        }
        if depth == 2 {
            self.counts.add("depth 3", 1);
        }
        Ok(())
    }

    /// Compares everything after a commit.
    pub(crate) fn settled(&mut self, whole: bool) -> Step {
        let env = self.env(self.client as u8);
        let report = crate::support::audit::audit(&env)?;
        self.counts.add("audit", 1);
        self.counts.add("branch pages", report.branch_pages);
        self.counts.add("leaf pages", report.leaf_pages);
        self.counts.add("run pages", report.overflow_pages);
        self.counts.add("chunk pages", report.free_list_pages);
        self.counts.add("deep", u64::from(report.depth_max >= 4));
        self.counts.add("value trees", report.value_trees);
        self.counts.add("deep value trees", report.deep_value_trees);
        let few = self.committed.count() < 300;
        if whole || few {
            let txn = env.read()?;
            self.committed.compare(&txn).map_err(|what| format!("after a commit: {what}"))?;
            drop(txn);
            self.counts.add("whole comparison", 1);
        }
        History::compare_names(&env, &self.committed, whole)?;
        self.check_limits()?;
        self.readers.check(whole)?;
        self.machine.follow(&mut self.counts);
        Ok(())
    }
}

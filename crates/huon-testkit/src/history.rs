//! Runs a program on an environment and on its model, and compares them.
//!
//! 1. After every commit the environment is checked as a whole, and every pinned snapshot still
//!    shows what its model says.
//! 2. A killed process loses nothing that was committed; a power cut loses nothing that was durable
//!    and leaves the state of one commit, whatever part of the writes reached the disk.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use huon::sim::SimDisk;
use huon::{Durability, Env, Options, ReadTxn, Recovery, WriteTxn};

use crate::handle::Handle;
use crate::looks::ScanState;
use crate::model::{Model, TableId};
use crate::program::{Config, Op, Program, SCANS};
use crate::random::Random;
use crate::trail::Trail;

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
}

impl From<huon::Error> for Stop {
    fn from(error: huon::Error) -> Stop {
        Stop::Fail(format!("unexpected error: {error}"))
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

enum Ground {
    Simulated(SimDisk),
    Real(tempfile::TempDir),
}

struct Reader {
    client: usize,
    txn: ReadTxn,
    model: Model,
}

/// Environment and model, side by side.
pub(crate) struct History {
    config: Config,
    ground: Ground,
    trail: Trail,
    clients: [Option<Env>; 2],
    /// The client whose transaction is open, or was last.
    pub(crate) client: usize,
    readers: Vec<Reader>,
    pub(crate) scans: Vec<Option<ScanState>>,
    pub(crate) handles: HashMap<(usize, TableId, bool), Handle>,
    committed: Model,
    /// What the open write transaction shows.
    pub(crate) work: Model,
    /// The states since the durable one, by id.
    commits: BTreeMap<u64, Model>,
    pub(crate) counts: Counts,
    /// No transaction has written since an unclean opening.
    unclean: bool,
    pc: usize,
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
            Ok(Err(Stop::Fail(what))) => what,
            Ok(Err(Stop::Abort)) => "an abort outside a transaction".to_string(),
            Err(panic) => panic_text(&*panic),
        },
        Ok(Err(Stop::Fail(what))) => what,
        Ok(Err(Stop::Abort)) => "an abort outside a transaction".to_string(),
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
        let ground = match config.real {
            true => Ground::Real(tempfile::tempdir().map_err(|e| e.to_string())?),
            false => Ground::Simulated(SimDisk::new(RESERVE_BYTES).map_err(|e| e.to_string())?),
        };
        let mut history = History {
            config,
            ground,
            trail: Trail::default(),
            clients: [None, None],
            client: 0,
            readers: Vec::new(),
            scans: (0..SCANS).map(|_| None).collect(),
            handles: HashMap::new(),
            committed: Model::default(),
            work: Model::default(),
            commits: BTreeMap::new(),
            counts: Counts::default(),
            unclean: true,
            pc: 0,
        };
        history.open(0).map_err(|e| e.to_string())?;
        Ok(history)
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.config.page_bytes
    }

    fn open(&mut self, client: usize) -> huon::Result<Recovery> {
        let mut options: Options = Env::options();
        options
            .page_bytes(self.config.page_bytes)
            .upper_bytes(RESERVE_BYTES)
            .grow_bytes(16 * self.config.page_bytes as u64)
            .shrink_bytes(self.config.shrink_bytes)
            .spill_bytes(self.config.spill_bytes);
        let env = match &self.ground {
            Ground::Simulated(disk) => options.open_simulated(disk)?,
            Ground::Real(dir) => options.open(path(dir))?,
        };
        let recovery = env.recovery();
        self.clients[client] = Some(env);
        Ok(recovery)
    }

    /// Closes a client with everything that belongs to it; what it counted is kept.
    fn close(&mut self, client: usize) -> huon::Result<()> {
        if let Some(env) = &self.clients[client] {
            let io = env.info()?.io;
            for (what, count) in [
                ("spill", io.spills),
                ("leaf split", io.leaf_splits),
                ("branch split", io.branch_splits),
                ("leaf merge", io.leaf_merges),
                ("branch merge", io.branch_merges),
                ("root raised", io.roots_raised),
                ("root lowered", io.roots_lowered),
                ("chunks written", io.chunks_written),
                ("chunks opened", io.chunks_opened),
            ] {
                self.counts.add(what, count);
            }
        }
        self.readers.retain(|reader| reader.client != client);
        self.handles.retain(|(owner, ..), _| *owner != client);
        for scan in &mut self.scans {
            if scan.as_ref().is_some_and(|scan| scan.client == client) {
                *scan = None;
            }
        }
        self.clients[client] = None;
        Ok(())
    }

    fn env(&mut self, client: u8) -> Env {
        self.client = match &self.clients[usize::from(client)] {
            Some(_) => usize::from(client),
            None => 0,
        };
        self.clients[self.client].clone().expect("client 0 is always open")
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
                Op::Reopen { client } => self.reopen(usize::from(*client))?,
                Op::Second => self.second()?,
                Op::Kill => self.kill()?,
                Op::PowerCut { seed } => self.power_cut(*seed)?,
                op if self.reader_op(op)? => {}
                Op::ScanOpen { .. }
                | Op::ScanMove { .. }
                | Op::ScanStep { .. }
                | Op::GetMany { .. }
                | Op::Leaves { .. } => {
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
        self.reopen(0)?;
        self.settled(true)?;
        self.close_all()?;
        Ok(std::mem::take(&mut self.counts))
    }

    /// Remembers which id the committed state has now: a repair gives it another one.
    fn note_state(&mut self) -> Step {
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
        self.note_state()?;
        self.client = usize::from(client).min(usize::from(self.clients[1].is_some()));
        self.counts.add(if self.client == 1 { "begin second" } else { "begin" }, 1);
        self.work = self.committed.clone();
        self.level(ops, &mut txn, 0)?;
        match ops.get(self.pc) {
            Some(Op::Commit { lazy }) => {
                self.pc += 1;
                let durability = if *lazy { Durability::Lazy } else { Durability::Durable };
                let id = txn.commit_with(durability)?;
                self.counts.add(if *lazy { "commit lazy" } else { "commit durable" }, 1);
                self.committed = self.work.clone();
                // A transaction that changed nothing makes no snapshot: its base stands for it.
                let known = self.commits.insert(id, self.committed.clone());
                if known.is_some_and(|known| known != self.committed) {
                    return Err(Stop::Fail(format!("a commit left {id} in place of its changes")));
                }
                if !*lazy && env.durable_id() < id {
                    return Err(Stop::Fail("a durable commit is not durable".into()));
                }
                self.settled(self.pc.is_multiple_of(16))
            }
            _ => {
                txn.abort();
                self.counts.add("abort", 1);
                Ok(())
            }
        }
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
                Op::Reopen { .. } | Op::Second | Op::Kill | Op::PowerCut { .. } => return Ok(()),
                _ => {}
            }
            self.pc += 1;
            if self.reader_op(op)? {
                continue;
            }
            self.change(op, txn)?;
            let model = self.work.clone();
            self.look(op, txn, &model)?;
        }
        Ok(())
    }

    fn nested(&mut self, ops: &[Op], txn: &mut WriteTxn, depth: usize) -> Step {
        let before = self.work.clone();
        match txn.nested(|child| self.level(ops, child, depth + 1)) {
            Ok(()) => self.counts.add("nested commit", 1),
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

    /// Operations on pinned snapshots; whether it was one.
    fn reader_op(&mut self, op: &Op) -> Result<bool, Stop> {
        match op {
            Op::Pin { client } => {
                let client = usize::from(*client).min(usize::from(self.clients[1].is_some()));
                let env = self.clients[client].as_ref().expect("an open client");
                if self.readers.len() < 4 {
                    let txn = env.read()?;
                    self.readers.push(Reader { client, txn, model: self.committed.clone() });
                    self.counts.add("pin", 1);
                }
            }
            Op::Unpin { reader } => {
                let index = usize::from(*reader);
                if index < self.readers.len() {
                    self.readers.swap_remove(index);
                    self.counts.add("unpin", 1);
                }
            }
            Op::Verify { reader } => {
                if let Some(reader) = self.readers.get(usize::from(*reader)) {
                    reader.model.compare(&reader.txn).map_err(|what| {
                        Stop::Fail(format!("pinned snapshot {}: {what}", reader.txn.id()))
                    })?;
                    self.counts.add("verify", 1);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A pinned snapshot to scan, with its model, of the client at work.
    pub(crate) fn with_reader(
        &mut self,
        scan: usize,
        act: impl FnOnce(&mut History, &ReadTxn, &Model) -> Step,
    ) -> Result<bool, Stop> {
        let Some(client) = self.scans[scan].as_ref().map(|scan| scan.client) else {
            return Ok(false);
        };
        let Some(at) = self.readers.iter().position(|reader| reader.client == client) else {
            return Ok(false);
        };
        let reader = self.readers.swap_remove(at);
        let done = act(self, &reader.txn, &reader.model);
        self.readers.push(reader);
        done.map(|()| true)
    }

    /// Compares everything after a commit.
    fn settled(&mut self, whole: bool) -> Step {
        let env = self.env(self.client as u8);
        let report = crate::audit::audit(&env)?;
        self.counts.add("audit", 1);
        self.counts.add("branch pages", report.branch_pages);
        self.counts.add("leaf pages", report.leaf_pages);
        self.counts.add("run pages", report.run_pages);
        self.counts.add("chunk pages", report.chunk_pages);
        self.counts.add("deep", u64::from(report.depth_max >= 4));
        self.counts.add("value trees", report.value_trees);
        self.counts.add("deep value trees", report.deep_value_trees);
        let few = self.committed.count() < 300;
        if whole || few {
            let txn = env.read()?;
            self.committed.compare(&txn).map_err(|what| format!("after a commit: {what}"))?;
            self.counts.add("whole comparison", 1);
        }
        for reader in self.readers.iter().filter(|reader| whole || reader.model.count() < 300) {
            let what = |what| format!("pinned snapshot {}: {what}", reader.txn.id());
            reader.model.compare(&reader.txn).map_err(what)?;
        }
        self.follow();
        Ok(())
    }

    /// Takes over what happened to the simulated disk.
    fn follow(&mut self) {
        if let Ground::Simulated(disk) = &self.ground {
            self.trail.follow(disk);
            self.counts.add("grow", std::mem::take(&mut self.trail.grown));
            self.counts.add("shrink", std::mem::take(&mut self.trail.shrunk));
        }
    }

    fn reopen(&mut self, client: usize) -> Step {
        if self.clients[client].is_none() {
            return Ok(());
        }
        self.close(client)?;
        let recovery = self.open(client)?;
        if recovery != Recovery::Clean && !self.unclean {
            return Err(Stop::Fail(format!("reopened as {recovery:?}")));
        }
        self.counts.add("reopen", 1);
        self.note_state()?;
        self.settled(true)
    }

    fn second(&mut self) -> Step {
        match self.clients[1].is_some() {
            true => self.close(1)?,
            false => {
                self.open(1)?;
                self.counts.add("second client", 1);
            }
        }
        Ok(())
    }

    /// Every process dies; the machine goes on.
    fn kill(&mut self) -> Step {
        let Ground::Simulated(disk) = &self.ground else { return self.reopen(0) };
        self.trail.follow(disk);
        let next = disk.after_crash(&disk.image(), true)?.with_lock_image(&disk.lock_image());
        self.close_all()?;
        self.ground = Ground::Simulated(next);
        let recovery = self.open(0)?;
        let was_unclean = std::mem::replace(&mut self.unclean, recovery != Recovery::Clean);
        self.counts.add("kill", 1);
        if !was_unclean && !matches!(recovery, Recovery::Newest | Recovery::Clean) {
            return Err(Stop::Fail(format!("opened as {recovery:?} after a kill")));
        }
        let txn = self.env(0).read()?;
        self.committed.compare(&txn).map_err(|what| format!("after a kill: {what}"))?;
        drop(txn);
        self.note_state()
    }

    fn close_all(&mut self) -> huon::Result<()> {
        self.close(1)?;
        self.close(0)
    }

    /// The machine stops; a part of what was not flushed reaches the disk.
    fn power_cut(&mut self, seed: u64) -> Step {
        let Ground::Simulated(disk) = &self.ground else { return self.reopen(0) };
        self.trail.follow(disk);
        let durable = self.clients[0].as_ref().map_or(0, Env::durable_id);
        let mut random = Random::new(seed);
        let image = self.trail.random_image(&mut random);
        let mut next = disk.after_crash(&image, false)?;
        if random.chance(50) {
            next = next.with_lock_image(&disk.lock_image());
        }
        self.close_all()?;
        self.ground = Ground::Simulated(next);
        self.trail = Trail::starting_from(image);
        let recovery = self.open(0)?;
        self.unclean = recovery != Recovery::Clean;
        self.counts.add("power cut", 1);
        let env = self.env(0);
        let txn = env.read()?;
        let Some(model) = self.commits.get(&txn.id()).filter(|_| txn.id() >= durable) else {
            let known: Vec<u64> = self.commits.keys().copied().collect();
            let id = txn.id();
            return Err(Stop::Fail(format!(
                "a power cut led to snapshot {id} ({recovery:?}), durable {durable}, \
                 known {known:?}"
            )));
        };
        model.compare(&txn).map_err(|what| format!("after a power cut, {recovery:?}: {what}"))?;
        self.committed = model.clone();
        self.commits = BTreeMap::from([(txn.id(), model.clone())]);
        drop(txn);
        crate::audit::audit(&env)?;
        Ok(())
    }
}

const RESERVE_BYTES: u64 = 64 << 20;

fn path(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("history.huon")
}

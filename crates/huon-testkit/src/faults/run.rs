//! A workload under way: what was done, what may be there, and the comparison with what is.

mod ending;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use huon::{
    Bytes, CompactOptions, Durability, Env, Error, Options, ReadTxn, Recovery, TableDef, Ticket,
    WriteTxn,
};

use super::edit::Edit;
use super::workloads::Workload;
use super::{Armed, Crash, Ground, Manner};
use crate::model::{Model, TableId};
use crate::support::audit::audit;

const STATE: &[u8] = b"state";
const MAIN: TableDef<Bytes, Bytes> = TableDef::main();

/// How a call of the engine ended that may fail.
pub type Tried<T> = Option<T>;

/// How often each attempt ended with which error number.
pub type SystemErrors = BTreeMap<(&'static str, i32), u64>;

/// A workload while it runs, and what may be there.
pub struct Run<'g> {
    ground: &'g dyn Ground,
    options: Options,
    page_bytes: usize,
    /// The client under test.
    env: Option<Env>,
    /// Another client, to which nothing happens.
    other: Option<Env>,
    /// A reader that may not write, and what it reads. It outlasts the clients.
    guest: Option<Env>,
    guest_readers: Vec<(ReadTxn, usize)>,
    /// The contents after each commit that was tried.
    models: Vec<Model>,
    /// The ids of those commits.
    ids: Vec<u64>,
    /// States that the newest sealed snapshot may have.
    newest: BTreeSet<usize>,
    /// States that new readers may see.
    visible: BTreeSet<usize>,
    /// States that may be there once everything that is not flushed is gone.
    kept: BTreeSet<usize>,
    readers: Vec<(ReadTxn, usize)>,
    more_readers: Vec<ReadTxn>,
    errors: Vec<String>,
    /// How often each system call failed with each error, from beginning to end.
    system_errors: SystemErrors,
    armed: bool,
    /// Closed while poisoned.
    poisoned: bool,
    /// An opening has succeeded.
    made: bool,
    /// Nothing is left to do of what an unclean end makes necessary.
    repaired: bool,
    /// Clients flush when they close.
    flushes: bool,
}

/// How a client is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// What is committed is flushed first.
    Flushed,
    /// It is left to the kernel, in order.
    Unflushed,
    /// It is left to the next client that opens.
    Dirty,
}

impl<'g> Run<'g> {
    /// Nothing has happened yet.
    pub fn new(ground: &'g dyn Ground, page_bytes: usize, options: &Options) -> Run<'g> {
        let mut options = options.clone();
        // No client waits for another here: one that has to was left with a lock that is not free.
        options.lock_timeout(Duration::from_secs(2));
        let first = BTreeSet::from([0]);
        Run {
            ground,
            options,
            page_bytes,
            env: None,
            other: None,
            guest: None,
            guest_readers: Vec::new(),
            models: vec![Model::default()],
            ids: vec![0],
            newest: first.clone(),
            visible: first.clone(),
            kept: first,
            readers: Vec::new(),
            more_readers: Vec::new(),
            errors: Vec::new(),
            system_errors: SystemErrors::new(),
            armed: false,
            poisoned: false,
            made: false,
            repaired: false,
            flushes: true,
        }
    }

    /// Runs a workload from beginning to end; panics with what is wrong.
    pub fn whole(&mut self, workload: &Workload, manner: Manner) {
        (workload.before)(self);
        assert!(self.errors.is_empty(), "errors before anything failed: {:?}", self.errors);
        self.armed = true;
        (workload.during)(self);
        self.look("after the workload");
        if !manner.alone {
            self.go_on();
        }
        if !manner.cut_late {
            self.cut("before closing");
        }
        self.end();
        if manner.cut_late {
            self.cut("after closing");
        }
        self.armed = false;
        if self.ground.fired() == 0 {
            assert!(self.errors.is_empty(), "errors without a fault: {:?}", self.errors);
            assert_eq!(self.newest.len(), 1, "without a fault it is known what is there");
        }
        self.judge();
    }

    /// The errors that came back.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// The system's errors that came back, from beginning to end.
    pub fn system_errors(&self) -> &SystemErrors {
        &self.system_errors
    }

    /// What fails and where.
    pub fn ground(&self) -> &'g dyn Ground {
        self.ground
    }

    /// The options of clients that are opened from now on.
    pub fn options(&mut self) -> &mut Options {
        &mut self.options
    }

    /// Clients that are opened from now on never flush.
    pub fn never_flush(&mut self) {
        self.flushes = false;
        self.options.durability(Durability::Unsynced);
    }

    /// The client under test, if it is open.
    pub fn env(&self) -> Option<Env> {
        self.env.clone()
    }

    /// Calls the engine, with faults from the workload proper on.
    pub fn call<T>(&self, call: impl FnOnce() -> T) -> T {
        let _armed = self.armed.then(|| Armed::new(self.ground));
        call()
    }

    /// Calls the engine, and notes an error, which must be one that a fault explains.
    pub fn tried<T>(&mut self, what: &str, call: impl FnOnce() -> Result<T, Error>) -> Tried<T> {
        let result = self.call(call);
        self.note(what, result)
    }

    /// Notes an error, which must be one that a fault explains.
    pub fn note<T>(&mut self, what: &str, result: Result<T, Error>) -> Tried<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                assert!(is_explained(&error), "{what}: no fault explains this: {error}");
                self.errors.push(format!("{what}: {error}"));
                if let Error::Io(error) = &error {
                    let number = error.source.raw_os_error().unwrap_or(0);
                    *self.system_errors.entry((error.operation, number)).or_default() += 1;
                }
                None
            }
        }
    }

    /// Opens the client under test.
    pub fn open(&mut self) {
        let (ground, options) = (self.ground, self.options.clone());
        let alone = self.other.is_none() && self.guest.is_none();
        if let Some(env) = self.tried("open", || ground.open(&options)) {
            if alone {
                self.begin_anew(&env);
            }
            self.env = Some(env);
        }
    }

    /// Opens the other client, and leaves it open.
    pub fn open_other(&mut self) {
        let env =
            self.ground.open_healthy(&self.options).expect("a client that nothing happens to");
        if self.env.is_none() {
            self.begin_anew(&env);
        }
        self.other = Some(env);
    }

    /// Opens a guest, where there are any.
    pub fn open_guest(&mut self) {
        let (ground, options) = (self.ground, self.options.clone());
        let opened = self.call(|| ground.open_guest(&options));
        self.guest = opened.and_then(|opened| self.note("open a guest", opened));
    }

    /// Begins a reader of the guest that stays.
    pub fn park_guest(&mut self) {
        let Some(guest) = self.guest.clone() else { return };
        if let Some(txn) = self.tried("read as a guest", || guest.read()) {
            let state = self.state_seen(&txn);
            assert!(self.visible.contains(&state), "a guest reads {state}, not {:?}", self.visible);
            self.guest_readers.push((txn, state));
        }
    }

    /// The guest ends.
    pub fn close_guest(&mut self) {
        let readers = std::mem::take(&mut self.guest_readers);
        self.call(|| drop(readers));
        if let Some(guest) = self.guest.take() {
            self.tried("close a guest", || guest.close());
        }
    }

    /// Commits in the other client, to which nothing happens, if it is open.
    pub fn commit_elsewhere(&mut self) {
        let Some(other) = self.other.clone() else { return };
        let armed = std::mem::replace(&mut self.armed, false);
        let txn = other.write().expect("another client writes");
        let done = self.commit_in(txn, Durability::Lazy, |edit| edit.put(4, 77, 20));
        assert!(done, "another client commits: {:?}", self.errors);
        self.armed = armed;
    }

    /// The first client to open chooses the snapshot.
    fn begin_anew(&mut self, env: &Env) {
        self.made = true;
        let state = self.state_seen(&env.read().expect("a reader of a fresh opening"));
        assert!(self.newest.contains(&state), "opened with state {state}, not {:?}", self.newest);
        self.newest = BTreeSet::from([state]);
        self.visible = self.newest.clone();
        self.kept.retain(|&kept| kept <= state);
        self.repaired = env.recovery() == Recovery::Clean;
    }

    /// Commits what `work` does, and returns a ticket to wait for.
    pub fn commit_ticket(
        &mut self,
        work: impl FnOnce(&mut Edit<'_>) -> Result<(), Error>,
    ) -> Option<Ticket> {
        let env = self.env.clone()?;
        let txn = self.tried("begin", || env.write())?;
        let mut ticket = None;
        self.commit_by(txn, Durability::Unsynced, work, |txn| {
            ticket = Some(txn.commit_ticket()?);
            Ok(0)
        });
        ticket
    }

    /// Commits what `work` does.
    pub fn commit(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&mut Edit<'_>) -> Result<(), Error>,
    ) {
        let Some(env) = self.env.clone() else { return };
        let Some(txn) = self.tried("begin", || env.write()) else { return };
        self.commit_in(txn, durability, work);
    }

    fn commit_in(
        &mut self,
        txn: WriteTxn,
        durability: Durability,
        work: impl FnOnce(&mut Edit<'_>) -> Result<(), Error>,
    ) -> bool {
        self.commit_by(txn, durability, work, |txn| txn.commit_with(durability))
    }

    fn commit_by(
        &mut self,
        mut txn: WriteTxn,
        durability: Durability,
        work: impl FnOnce(&mut Edit<'_>) -> Result<(), Error>,
        commit: impl FnOnce(WriteTxn) -> Result<u64, Error>,
    ) -> bool {
        let base = self.state_written(&txn);
        self.settle_on(base);
        let mut model = self.models[base].clone();
        let number = self.models.len();
        let ground = self.armed.then_some(self.ground);
        let page_bytes = self.page_bytes;
        let mut edit = Edit { txn: &mut txn, model: &mut model, page_bytes, ground };
        let done = work(&mut edit).and_then(|()| edit.mark(number));
        if self.note("change", done).is_none() {
            self.call(|| drop(txn));
            return false;
        }
        self.models.push(model);
        self.ids.push(txn.id());
        let committed = self.call(|| commit(txn));
        let committed = self.note("commit", committed).is_some();
        self.ended(number, committed, durability);
        committed
    }

    /// The commit of a state was acknowledged, or was not.
    fn ended(&mut self, number: usize, committed: bool, durability: Durability) {
        if committed {
            self.newest = BTreeSet::from([number]);
            self.visible = self.newest.clone();
        }
        if committed && durability == Durability::Durable {
            self.kept = self.newest.clone();
        } else {
            self.kept.insert(number);
        }
        // An error after the seal leaves it open.
        self.newest.insert(number);
        self.visible.insert(number);
        self.believe();
    }

    /// What the environment calls durable is there after a power loss.
    fn believe(&mut self) {
        let env = self.env.as_ref().or(self.other.as_ref());
        let Some(durable) = env.map(Env::durable_id) else { return };
        // While a commit is in doubt it is not known which state an id stands for.
        if self.newest.len() > 1 {
            return;
        }
        let ids = &self.ids;
        // A repair gives a state another id.
        let at = self.kept.iter().copied().filter(|&state| ids[state] <= durable).max();
        self.kept.retain(|&state| ids[state] > durable || Some(state) == at);
    }

    /// The newest state is known: other commits that were in doubt have not happened.
    fn settle_on(&mut self, base: usize) {
        self.repaired = true;
        assert!(self.newest.contains(&base), "writes on state {base}, not of {:?}", self.newest);
        let refuted: Vec<usize> = self.newest.iter().copied().filter(|&n| n > base).collect();
        self.newest = BTreeSet::from([base]);
        for state in refuted {
            self.visible.remove(&state);
            self.kept.remove(&state);
        }
    }

    /// Begins, changes something, and drops it.
    pub fn abort(&mut self, work: impl FnOnce(&mut Edit<'_>) -> Result<(), Error>) {
        let Some(env) = self.env.clone() else { return };
        let Some(mut txn) = self.tried("begin", || env.write()) else { return };
        let base = self.state_written(&txn);
        self.settle_on(base);
        let mut model = self.models[base].clone();
        let ground = self.armed.then_some(self.ground);
        let page_bytes = self.page_bytes;
        let mut edit = Edit { txn: &mut txn, model: &mut model, page_bytes, ground };
        let done = work(&mut edit);
        self.note("change", done);
        self.call(|| txn.abort());
    }

    /// Makes everything durable.
    pub fn sync(&mut self) {
        let Some(env) = self.env.clone() else { return };
        if self.tried("sync", || env.sync()).is_some() {
            self.visible = self.newest.clone();
            self.kept = self.newest.clone();
        }
    }

    /// Compacts the file, a few pages a transaction, however long one takes: a case is the number
    /// of a call, so the calls must not depend on the clock. No record changes.
    pub fn compact(&mut self) {
        let Some(env) = self.env.clone() else { return };
        let options = || CompactOptions::new().step_bytes(30_000).step_time(Duration::MAX);
        let work = || env.compact(options());
        match self.tried("compact", work) {
            Some(_) => {
                self.visible = self.newest.clone();
                self.kept = self.newest.clone();
            }
            None => self.believe(),
        }
    }

    /// Makes a checkpoint if one is due.
    pub fn flush_if_due(&mut self) {
        let Some(env) = self.env.clone() else { return };
        self.tried("flush", || env.flush_if_due());
        self.believe();
    }

    /// Waits for a ticket.
    pub fn wait(&mut self, ticket: &Ticket) {
        let number = self.ids.iter().rposition(|id| *id == ticket.id()).expect("a ticket of ours");
        if self.tried("wait", || ticket.wait()).is_some() {
            assert!(ticket.is_durable());
            self.kept.retain(|&state| state >= number);
            self.believe();
        }
    }

    /// Begins a reader that stays.
    pub fn park(&mut self) {
        let Some(env) = self.env.clone() else { return };
        if let Some(txn) = self.tried("read", || env.read()) {
            let state = self.state_seen(&txn);
            self.readers.push((txn, state));
        }
    }

    /// Begins so many readers that stay.
    pub fn park_many(&mut self, count: usize) {
        let Some(env) = self.env.clone() else { return };
        self.park_in(&env, count);
    }

    /// The same in the other client.
    pub fn park_elsewhere(&mut self, count: usize) {
        let env = self.other.clone().expect("the other client is open");
        let armed = std::mem::replace(&mut self.armed, false);
        self.park_in(&env, count);
        self.armed = armed;
    }

    fn park_in(&mut self, env: &Env, count: usize) {
        for n in 0..count {
            match self.tried("read", || env.read()) {
                // Comparing takes its time: a few stand for all.
                Some(txn) if n % 100 == 0 => {
                    let state = self.state_seen(&txn);
                    self.readers.push((txn, state));
                }
                Some(txn) => self.more_readers.push(txn),
                None => {}
            }
        }
    }

    /// Ends all readers.
    pub fn unpark(&mut self) {
        let readers = (std::mem::take(&mut self.readers), std::mem::take(&mut self.more_readers));
        self.call(|| drop(readers));
    }

    /// Compares readers that were there before, and a new one.
    pub fn look(&mut self, what: &str) {
        {
            let reads_fail = self.armed && self.ground.reads_fail();
            let _armed = reads_fail.then(|| Armed::new(self.ground));
            for (txn, state) in self.readers.iter().chain(&self.guest_readers) {
                self.models[*state]
                    .compare(txn)
                    .unwrap_or_else(|wrong| panic!("{what}, a reader goes on: {wrong}"));
            }
        }
        let Some(env) = self.env.clone() else { return };
        if let Some(txn) = self.tried("read", || env.read()) {
            let state = self.state_seen(&txn);
            assert!(self.visible.contains(&state), "{what}: state {state}, not {:?}", self.visible);
        }
    }

    /// The state that a snapshot shows, compared with its model.
    fn state_seen(&self, txn: &ReadTxn) -> usize {
        let main = txn.open_table(&MAIN).expect("the main table").expect("there always is one");
        let state = number_of(main.get(txn, STATE).expect("the number of the state"));
        let whole = self.models[state].compare(txn);
        whole.unwrap_or_else(|wrong| panic!("state {state}: {wrong}"));
        state
    }

    fn state_written(&self, txn: &WriteTxn) -> usize {
        let main = txn.open_table(&MAIN).expect("the main table").expect("there always is one");
        number_of(main.get(txn, STATE).expect("the number of the state"))
    }

    fn is_poisoned(env: &Env) -> bool {
        env.info().expect("the state of the environment").poisoned
    }

    /// A state that is about to be made by other means than [`Run::commit`]: its number.
    /// With so many bytes behind it.
    pub fn begin_state(&mut self, bytes: usize) -> Option<usize> {
        let env = self.env.clone()?;
        let txn = self.tried("begin", || env.write())?;
        let base = self.state_written(&txn);
        self.ids.push(txn.id());
        drop(txn);
        self.settle_on(base);
        let mut model = self.models[base].clone();
        put_state(&mut model, &state_value(self.models.len(), bytes));
        self.models.push(model);
        Some(self.models.len() - 1)
    }

    /// How it ended.
    pub fn end_state(&mut self, number: usize, made: Result<(), Error>) {
        let made = self.note("a state by other means", made).is_some();
        self.ended(number, made, Durability::Durable);
    }

    /// Notes the number of a state, with so many bytes behind it.
    pub fn write_state(txn: &mut WriteTxn, number: usize, bytes: usize) -> Result<(), Error> {
        txn.create_table(&MAIN)?.put(txn, STATE, &state_value(number, bytes)).map(drop)
    }

    /// Another environment has the newest state.
    pub fn same_as(&self, env: &Env, what: &str) {
        let state = self.state_seen(&env.read().expect("a reader"));
        assert!(self.visible.contains(&state), "{what} has state {state}");
        audit(env).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
    }
}

pub(super) fn put_state(model: &mut Model, value: &[u8]) {
    let records = model.table_mut(TableId::MAIN).expect("the main table");
    records.put(STATE.to_vec(), STATE, value);
}

/// The number of a state, and so many bytes behind it.
pub(super) fn state_value(number: usize, bytes: usize) -> Vec<u8> {
    [&(number as u32).to_le_bytes()[..], &vec![b'.'; bytes]].concat()
}

fn number_of(value: Option<&[u8]>) -> usize {
    let number = value.map(|bytes| bytes.first_chunk().expect("a number of four bytes"));
    number.map_or(0, |number| u32::from_le_bytes(*number) as usize)
}

/// Whether the error is one that a failing call explains. Damage never is, and neither is a lock
/// that was left held.
pub(super) fn is_explained(error: &Error) -> bool {
    match error {
        Error::Io(_) | Error::Poisoned | Error::TxnBroken => true,
        Error::MapFull(_) | Error::OutOfMemory => true,
        Error::Busy(text) => !text.contains("was not free within"),
        _ => false,
    }
}

//! A script while it runs: a few transactions of a few clients on a simulated machine, beside a
//! model.

mod rivals;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use huon::sim::{Point, SimDisk};
use huon::{
    CheckOptions, CompactOptions, Durability, Env, Error, Geometry, Options, ReadTxn, Ticket,
    WriteTxn,
};

use super::edit::Edit;
use super::oracle::Case;
use super::record::{self, Held, Kill, Moment, Record, State, Trace};
use crate::model::Model;

/// How a script's environment is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setup {
    /// Page size.
    pub page_bytes: usize,
    /// Limit of buffered pages, in pages.
    pub spill_pages: usize,
    /// Growth step in pages.
    pub grow_pages: usize,
    /// Free tails of so many pages are given back; 0: never.
    pub shrink_pages: usize,
    /// How much the file can grow to.
    pub reserve_bytes: u64,
    /// A lazy commit flushes when so much is unflushed.
    pub flush_bytes: Option<u64>,
    /// The environment is never flushed but when asked to.
    pub unsynced: bool,
    /// Bytes of a journal, if there is to be one.
    pub journal_bytes: Option<u64>,
}

impl Setup {
    /// Small steps of everything.
    pub fn small(page_bytes: usize) -> Setup {
        Setup {
            page_bytes,
            spill_pages: 1000,
            grow_pages: 8,
            shrink_pages: 0,
            reserve_bytes: 4 << 20,
            flush_bytes: None,
            unsynced: false,
            journal_bytes: None,
        }
    }

    pub(super) fn options(&self) -> Options {
        let mut options = Env::options();
        options
            .page_bytes(self.page_bytes)
            .max_bytes(self.reserve_bytes)
            .grow_bytes((self.grow_pages * self.page_bytes) as u64)
            .shrink_bytes((self.shrink_pages * self.page_bytes) as u64)
            .write_buffer_bytes(self.spill_pages * self.page_bytes);
        self.flush_bytes.map(|bytes| options.flush_after_bytes(bytes));
        self.journal_bytes.map(|bytes| options.journal(bytes));
        if self.unsynced {
            options.durability(Durability::Unsynced);
        }
        options
    }

    /// An empty environment, the same one each time: images of different runs can be compared.
    fn first(&self) -> Arc<[u8]> {
        static FIRST: Mutex<Option<HashMap<Setup, Arc<[u8]>>>> = Mutex::new(None);
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        let image = first.get_or_insert_default().entry(*self).or_insert_with(|| {
            let disk = SimDisk::new(self.reserve_bytes).expect("a machine");
            drop(self.options().open_simulated(&disk).expect("a new environment"));
            disk.image().into()
        });
        image.clone()
    }
}

/// The state that a commit in this mode promises to keep through a power loss once it has returned,
/// if it made state `state`. What the environment itself calls durable is owed in any mode.
fn promised(durability: Durability, state: usize) -> Option<usize> {
    (durability == Durability::Durable).then_some(state)
}

/// The environment failed, as it was made to: the script ends here.
#[derive(Debug)]
pub struct Halt;

/// A commit that can be waited for.
pub struct Claim {
    ticket: Ticket,
    state: usize,
}

/// What a script and its steps give.
pub type Play = Result<(), Halt>;

/// The key of the main table that says which state a snapshot shows.
pub(super) const STATE: &[u8] = b"state";

/// A script while it runs.
pub struct Stage {
    desk: Desk,
    first: Arc<[u8]>,
    first_journal: Vec<u8>,
    seed: u64,
    /// No images are made of what came before.
    from: usize,
    /// The clients that are open.
    pub envs: Vec<Env>,
}

/// What all clients on the stage share.
#[derive(Clone)]
struct Desk {
    setup: Setup,
    disk: SimDisk,
    record: Rc<RefCell<Record>>,
    /// Flushes are made to fail; otherwise every error ends the test.
    may_fail: bool,
}

impl Desk {
    fn now(&self) -> usize {
        self.record.borrow().before.len() + self.disk.event_count()
    }

    /// What the newest sealed state holds, and its limits.
    fn base(&self) -> (Model, Option<Geometry>) {
        let record = self.record.borrow();
        let state = &record.states[record.sealed];
        (state.model.clone(), state.geometry)
    }

    fn done<T>(&self, result: huon::Result<T>, what: &str) -> Result<T, Halt> {
        match result {
            Err(Error::Io(_) | Error::Poisoned) if self.may_fail => Err(Halt),
            result => Ok(result.unwrap_or_else(|error| panic!("{what}: {error}"))),
        }
    }

    fn commit(&self, env: &Env, durability: Durability, work: impl FnOnce(&mut Edit<'_>)) -> Play {
        self.commit_how(env, work, |txn| txn.commit_with(durability).map(|_| Some(durability)))
    }

    /// Makes a new state; `how` commits, and says what was promised.
    fn commit_how(
        &self,
        env: &Env,
        work: impl FnOnce(&mut Edit<'_>),
        how: impl FnOnce(WriteTxn) -> huon::Result<Option<Durability>>,
    ) -> Play {
        let mut txn = self.done(env.write(), "begin")?;
        let (mut model, mut geometry) = self.base();
        let number = self.record.borrow().next_number();
        let page_bytes = self.setup.page_bytes;
        let mut edit =
            Edit { txn: &mut txn, model: &mut model, geometry: &mut geometry, page_bytes };
        work(&mut edit);
        edit.note_state(number);
        let (begun, txnid) = (Some(self.now()), txn.id());
        {
            let mut record = self.record.borrow_mut();
            record.committing = Some(record.states.len());
            let state = State { number, model, geometry, txnid, begun, durable: None, gone: None };
            record.states.push(state);
        }
        let state = self.record.borrow().states.len() - 1;
        let durability = self.done(how(txn), "commit")?;
        self.settled(env, durability.and_then(|durability| promised(durability, state)));
        Ok(())
    }

    /// A state like that of commit `txnid`, which shows from the moment when the switch has written
    /// its meta.
    fn begin_switch(&self, txnid: u64) -> usize {
        let begun = Some(self.now());
        let mut record = self.record.borrow_mut();
        // A repair is of the commit before it.
        let chosen = record.states.iter().filter(|state| state.txnid <= txnid);
        let chosen = chosen.max_by_key(|state| state.txnid).expect("a commit").clone();
        // Its id is not known before it is there.
        let again = State { txnid: u64::MAX, begun, durable: None, gone: None, ..chosen };
        record.states.push(again);
        let state = record.states.len() - 1;
        record.switching = Some(state);
        state
    }

    /// After something that may have flushed: `promised` and all that the environment calls durable
    /// is owed from now on.
    fn settled(&self, env: &Env, promised: Option<usize>) {
        let (now, durable_id) = (self.now(), env.durable_id());
        let mut record = self.record.borrow_mut();
        let sealed = record.sealed;
        let known = record.states[..=sealed].iter().rposition(|state| state.txnid <= durable_id);
        let owed = promised.max(known).expect("the first state is durable");
        record.acknowledge(owed, now);
    }
}

impl Stage {
    /// A new machine with an empty environment.
    pub fn new(setup: Setup, seed: u64) -> Stage {
        let first = setup.first();
        let disk = SimDisk::from_image(&first, setup.reserve_bytes).expect("a machine");
        let model = Model::default();
        let zero = State {
            number: 0,
            model,
            geometry: None,
            txnid: 0,
            begun: None,
            durable: Some(0),
            gone: None,
        };
        let record = Record { states: vec![zero], ..Record::default() };
        let stage = Stage { seed, ..Stage::on(setup, disk, first, record) };
        let info = stage.envs[0].info().expect("the state of the environment");
        stage.desk.record.borrow_mut().states[0].geometry = Some(info.geometry);
        stage
    }

    /// Images are made of what comes from now on.
    pub fn images_from_here(&mut self) {
        self.from = self.desk.now();
    }

    /// What random choices of a script start from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// On a machine whose flush number `good` (the first is 0) fails, and loses the blocks that
    /// `loses` says yes to.
    pub(super) fn failing(
        setup: Setup,
        seed: u64,
        good: u64,
        loses: impl FnMut(u64) -> bool + Send + 'static,
    ) -> Stage {
        let mut stage = Stage::new(setup, seed);
        // Opening flushes nothing.
        let disk = &stage.desk.disk;
        disk.clone().lossy();
        disk.fail_sync(good, loses);
        stage.desk.may_fail = true;
        stage
    }

    /// On a machine on which flushes have failed, and on which any of these states may show. What
    /// the disk holds is noted at every point.
    pub(super) fn after_failure(trace: &Trace, disk: SimDisk, durable: usize) -> Stage {
        let mut record =
            Record { states: trace.states.clone(), disks: Some(Vec::new()), ..Record::default() };
        record.states.iter_mut().for_each(|state| (state.begun, state.gone) = (None, None));
        record.states[..=durable].iter_mut().for_each(|state| state.durable = Some(0));
        Stage::on(trace.setup, disk, trace.first.clone(), record)
    }

    pub(super) fn disk(&self) -> &SimDisk {
        &self.desk.disk
    }

    /// The newest state acknowledged as durable.
    pub(super) fn owed(&self) -> usize {
        self.desk.record.borrow().moment(0).durable
    }

    /// The lock file at the last point before a flush failed.
    pub(super) fn lock_before_the_failure(&self) -> Vec<u64> {
        let record = self.desk.record.borrow();
        let mut words = Vec::new();
        record.kills.last().expect("opening comes to points").lock.words(&mut words);
        words
    }

    /// Transactions go on from this state.
    pub(super) fn go_on_from(&mut self, state: usize) {
        self.desk.record.borrow_mut().sealed = state;
    }

    /// What the disk held at the points so far.
    pub(super) fn take_disks(&mut self) -> Vec<Held> {
        self.desk.record.borrow_mut().disks.take().unwrap_or_default()
    }

    fn on(setup: Setup, disk: SimDisk, first: Arc<[u8]>, record: Record) -> Stage {
        let desk = Desk { setup, disk, record: Rc::new(RefCell::new(record)), may_fail: false };
        record::start(&desk.disk, &desk.record);
        let first_journal = desk.disk.journal_image();
        let mut stage = Stage { desk, first, first_journal, seed: 0, from: 0, envs: Vec::new() };
        stage.join();
        stage
    }

    /// After a crash as in `case`, which shows `state`. What a power loss alone leaves is on the
    /// disk; what the lock file knows of may not be.
    pub(super) fn after(trace: &Trace, case: &Case<'_>, state: usize) -> Stage {
        let disk = trace.machine.after_crash(case.image, case.same_boot).expect("a machine");
        let disk = disk.with_journal_image(case.journal);
        let disk = match case.lock {
            Some(lock) => disk.with_lock_image(lock),
            None => disk,
        };
        let anew =
            |state: &State| State { begun: None, durable: None, gone: None, ..state.clone() };
        let durable = if case.same_boot { case.oldest.min(state) } else { state };
        let mut states: Vec<State> = trace.states[durable..=case.newest].iter().map(anew).collect();
        states[0].durable = Some(0);
        let record = Record { states, sealed: state - durable, ..Record::default() };
        Stage::on(trace.setup, disk, case.image.into(), record)
    }

    /// After a kill; the image is that of the kill's moment.
    pub(super) fn after_kill(
        trace: &Trace,
        (image, journal): (&[u8], &[u8]),
        kill: &Kill,
    ) -> Stage {
        let disk = trace.machine.after_crash(image, true).expect("a machine");
        let disk = disk.with_journal_image(journal);
        let mut words = Vec::new();
        kill.lock.words(&mut words);
        let disk = disk.with_lock_image(&words);
        let mut record = Record {
            before: trace.events[..kill.at].to_vec(),
            states: trace.states.clone(),
            ..Record::default()
        };
        let (at, sealed, durable) = (kill.at, kill.state, kill.durable);
        record.rewind(Moment { at, kills: 0, sealed, durable });
        let stage = Stage::on(trace.setup, disk, trace.first.clone(), record);
        Stage { first_journal: trace.first_journal.clone(), ..stage }
    }

    /// The environment as it was made.
    pub fn setup(&self) -> Setup {
        self.desk.setup
    }

    /// One more client.
    pub fn join(&mut self) {
        let env = self.desk.setup.options().open_simulated(&self.desk.disk);
        self.envs.push(env.expect("one more client"));
    }

    /// A durable commit by the first client.
    pub fn durable(&mut self, work: impl FnOnce(&mut Edit<'_>)) -> Play {
        self.commit(0, Durability::Durable, work)
    }

    /// A lazy commit by the first client.
    pub fn lazy(&mut self, work: impl FnOnce(&mut Edit<'_>)) -> Play {
        self.commit(0, Durability::Lazy, work)
    }

    /// A commit by client `client`.
    pub fn commit(
        &mut self,
        client: usize,
        durability: Durability,
        work: impl FnOnce(&mut Edit<'_>),
    ) -> Play {
        self.desk.commit(&self.envs[client], durability, work)
    }

    /// A transaction that is given up after its work.
    pub fn aborted(&mut self, work: impl FnOnce(&mut Edit<'_>)) -> Play {
        let desk = &self.desk;
        let mut txn = desk.done(self.envs[0].write(), "begin")?;
        let (mut model, mut geometry) = desk.base();
        let page_bytes = desk.setup.page_bytes;
        work(&mut Edit { txn: &mut txn, model: &mut model, geometry: &mut geometry, page_bytes });
        drop(txn);
        let now = desk.now();
        desk.record.borrow_mut().end_span(now);
        Ok(())
    }

    /// A reader of what is visible now.
    pub fn reader(&self, client: usize) -> ReadTxn {
        self.envs[client].read().expect("a reader")
    }

    /// A commit by the first client that returns at once.
    pub fn ticket(&mut self, work: impl FnOnce(&mut Edit<'_>)) -> Result<Claim, Halt> {
        let mut ticket = None;
        self.desk.commit_how(&self.envs[0], work, |txn| {
            ticket = Some(txn.commit_ticket()?);
            Ok(None)
        })?;
        let state = self.desk.record.borrow().states.len() - 1;
        Ok(Claim { ticket: ticket.expect("the commit gave one"), state })
    }

    /// Waits until a commit is durable.
    pub fn wait(&mut self, claim: &Claim) -> Play {
        self.desk.done(claim.ticket.wait(), "wait")?;
        self.desk.settled(&self.envs[0], Some(claim.state));
        Ok(())
    }

    /// Flushes.
    pub fn sync(&mut self) -> Play {
        self.desk.done(self.envs[0].sync(), "sync")?;
        let newest = self.desk.record.borrow().states.len() - 1;
        self.desk.settled(&self.envs[0], Some(newest));
        Ok(())
    }

    /// The first client compacts the file, a few pages a transaction. No record changes.
    pub fn compact(&mut self) -> Play {
        let options = CompactOptions::new().step_bytes(8 * self.desk.setup.page_bytes as u64);
        self.desk.done(self.envs[0].compact(options), "compact")?;
        let sealed = self.desk.record.borrow().sealed;
        self.desk.settled(&self.envs[0], Some(sealed));
        Ok(())
    }

    /// Closes all clients and opens one again.
    pub fn reopen(&mut self) -> Play {
        self.close()?;
        self.join();
        Ok(())
    }

    /// All clients leave without a flush, and one opens again.
    pub fn reopen_dirty(&mut self) -> Play {
        self.envs.drain(..).for_each(Env::close_without_flush);
        self.join();
        Ok(())
    }

    /// All clients leave, with a flush or without one, and the snapshot of a meta that has so many
    /// newer ones becomes the newest again; what is newer, lazy commits too, is given up.
    pub fn switch(&mut self, flushes: bool, newer: usize) -> Play {
        if flushes {
            self.close()?;
        } else {
            self.envs.drain(..).for_each(Env::close_without_flush);
        }
        let mut metas = Env::metas_simulated(&self.desk.disk).expect("the metas");
        metas.sort_by_key(|meta| std::cmp::Reverse(meta.snapshot().map(|meta| meta.txnid)));
        let (slot, meta) = (metas[newer].slot, metas[newer].snapshot().expect("a whole meta"));
        let state = self.desk.begin_switch(meta.txnid);
        let done = Env::switch_simulated(&self.desk.disk, slot, CheckOptions::new());
        let report = self.desk.done(done, "switch")?;
        assert_eq!(report.chosen, meta.txnid);
        let now = self.desk.now();
        {
            let mut record = self.desk.record.borrow_mut();
            assert_eq!(record.sealed, state, "the switch came to its meta");
            record.states[state].txnid = report.txnid;
            record.acknowledge(state, now);
        }
        self.join();
        Ok(())
    }

    /// Closes all clients, each of which flushes unless it was told never to.
    pub(super) fn close(&mut self) -> Play {
        let flushes = !self.desk.setup.unsynced;
        if self.desk.may_fail && flushes && !self.envs.is_empty() {
            self.sync()?;
        }
        let closed = self.envs.drain(..).map(|env| env.close().map(drop));
        let closed: huon::Result<Vec<()>> = closed.collect();
        self.desk.done(closed, "close")?;
        let now = self.desk.now();
        let mut record = self.desk.record.borrow_mut();
        if flushes {
            let newest = record.states.len() - 1;
            record.acknowledge(newest, now);
        }
        record.note_kill(&self.desk.disk, "closed");
        Ok(())
    }

    /// All clients die; the machine goes on, and one client opens again.
    pub fn kill(&mut self) {
        let now = self.desk.now();
        let moment = self.desk.record.borrow().moment(now);
        let next = self.desk.disk.after_kill(None).expect("a machine");
        self.revive(next, moment);
    }

    /// A commit during which all clients die, when it comes to `point`; one client opens again.
    pub fn killed_at(
        &mut self,
        point: Point,
        durability: Durability,
        work: impl FnOnce(&mut Edit<'_>),
    ) -> Play {
        let taken = Rc::new(RefCell::new(None));
        let (desk, take) = (self.desk.clone(), taken.clone());
        record::lie_in_wait(point, move || {
            let now = desk.now();
            let moment = desk.record.borrow().moment(now);
            *take.borrow_mut() = Some((desk.disk.after_kill(None).expect("a machine"), moment));
        });
        let done = self.desk.commit(&self.envs[0], durability, work);
        record::call_off();
        done?;
        let taken = taken.take();
        let (next, moment) = taken.unwrap_or_else(|| panic!("the commit never came to {point:?}"));
        self.revive(next, moment);
        Ok(())
    }

    /// Goes on from a moment that has passed, on the machine as it was left then.
    fn revive(&mut self, next: SimDisk, moment: Moment) {
        record::stop();
        let desk = &mut self.desk;
        let events = desk.disk.events();
        // What the dead clients still do happens to a machine that is not examined.
        self.envs.clear();
        {
            let mut record = desk.record.borrow_mut();
            record.before.extend(events);
            record.before.truncate(moment.at);
            record.rewind(moment);
        }
        desk.disk = next;
        record::start(&desk.disk, &desk.record);
        self.join();
    }

    /// Closes, and gives what was recorded; images are to be made of moments from `from` on.
    pub(super) fn finish(mut self, from: usize) -> Trace {
        self.close().expect("nothing fails in this run");
        self.trace(from.max(self.from))
    }

    /// What was recorded so far. Nothing more is.
    pub(super) fn trace(&self, from: usize) -> Trace {
        record::stop();
        let record = std::mem::take(&mut *self.desk.record.borrow_mut());
        let mut events = record.before;
        events.extend(self.desk.disk.events());
        Trace {
            setup: self.desk.setup,
            machine: self.desk.disk.after_crash(&[], true).expect("a machine").quiet(),
            first: self.first.clone(),
            first_journal: self.first_journal.clone(),
            events,
            states: record.states,
            kills: record.kills,
            spans: record.spans,
            from,
        }
    }
}

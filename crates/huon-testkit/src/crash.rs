//! Crash images: every file that a kill or a power cut may leave behind a script, and what must be
//! true of it.
//!
//! 1. A power cut keeps what was flushed and any part of what was done since, in pieces of a
//!    sector;
//!    a kill keeps everything, with the lock file as it was.
//! 2. What opens afterwards shows the state of one commit over all tables: not older than the last
//!    one acknowledged as durable (after a kill: as committed), not newer than the last one begun.
//! 3. It checks clean, and goes on working.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use huon::sim::{Event, SimDisk};
use huon::{Durability, Env, Options, WriteTxn};

use crate::audit::audit;
use crate::model::{Model, TableId};
use crate::program::{self, Value};
use crate::random::{Random, digest};
use crate::trail::{SECTOR_BYTES, apply};

/// How a script's environment is made.
#[derive(Clone, Copy, Debug)]
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
        }
    }

    fn options(&self) -> Options {
        let mut options = Env::options();
        options
            .page_bytes(self.page_bytes)
            .upper_bytes(self.reserve_bytes)
            .grow_bytes((self.grow_pages * self.page_bytes) as u64)
            .shrink_bytes((self.shrink_pages * self.page_bytes) as u64)
            .spill_bytes(self.spill_pages * self.page_bytes);
        options
    }
}

/// The state that a commit made, and when, counted in events.
struct State {
    model: Model,
    begun: usize,
    committed: Option<usize>,
    durable: Option<usize>,
}

/// The key of the main table that says which state a snapshot shows.
const STATE: &[u8] = b"state";

/// A script while it runs.
pub struct Stage {
    setup: Setup,
    disk: SimDisk,
    /// The file before the first event.
    first: Vec<u8>,
    /// The clients that are open.
    pub envs: Vec<Env>,
    /// What is committed.
    pub model: Model,
    states: Vec<State>,
    /// The lock file between commits, by the number of events before.
    quiet: Vec<(usize, Arc<[u64]>)>,
    /// The lock file after each event.
    locks: Arc<Mutex<Vec<Arc<[u64]>>>>,
}

/// A write transaction of a script, beside its model.
pub struct Edit<'e> {
    /// The transaction.
    pub txn: &'e mut WriteTxn,
    /// Its model.
    pub model: &'e mut Model,
    page_bytes: usize,
}

impl Edit<'_> {
    /// Puts record `n` with a value of `bytes` bytes; creates the table if need be.
    pub fn put(&mut self, id: u8, n: u64, bytes: usize) {
        let id = TableId(id);
        let table = self.txn.create(&id.def()).expect("create");
        let key = program::key(id.order(), self.page_bytes, n);
        let value = Value { bytes, seed: n ^ self.txn.id() }.make();
        table.put(self.txn, &key, &value).expect("put");
        self.model.create(id);
        let records = self.model.table_mut(id).expect("it was created");
        records.put(id.order().sort_key(&key), &key, &value);
    }

    /// Deletes record `n`.
    pub fn delete(&mut self, id: u8, n: u64) {
        let id = TableId(id);
        let Some(table) = self.txn.open(&id.def()).expect("open") else { return };
        let key = program::key(id.order(), self.page_bytes, n);
        table.delete(self.txn, &key).expect("delete");
        if let Some(records) = self.model.table_mut(id) {
            records.delete(&id.order().sort_key(&key));
        }
    }

    /// Deletes the table.
    pub fn drop_table(&mut self, id: u8) {
        let id = TableId(id);
        let Some(table) = self.txn.open(&id.def()).expect("open") else { return };
        table.drop_table(self.txn).expect("drop");
        self.model.drop_table(id);
    }

    /// Deletes all records of the table.
    pub fn clear(&mut self, id: u8) {
        let id = TableId(id);
        let Some(table) = self.txn.open(&id.def()).expect("open") else { return };
        table.clear(self.txn).expect("clear");
        self.model.table_mut(id).expect("it exists").clear();
    }

    /// A nested level, kept or undone.
    pub fn nested(&mut self, keep: bool, work: impl FnOnce(&mut Edit<'_>)) {
        let before = self.model.clone();
        let (model, page_bytes) = (&mut *self.model, self.page_bytes);
        let done = self.txn.nested(|txn| {
            work(&mut Edit { txn, model, page_bytes });
            if keep { Ok(()) } else { Err(huon::Error::Invalid("undone")) }
        });
        if done.is_err() {
            *self.model = before;
        }
    }
}

impl Stage {
    /// A new machine with an empty environment.
    pub fn new(setup: Setup) -> Stage {
        let disk = SimDisk::new(setup.reserve_bytes).expect("a machine");
        let env = setup.options().open_simulated(&disk).expect("a new environment");
        disk.clear_events();
        let image = disk.image();
        let locks: Arc<Mutex<Vec<Arc<[u64]>>>> = Arc::default();
        let seen = locks.clone();
        disk.watch(move |disk| {
            seen.lock().expect("nobody panics here").push(disk.lock_image().into());
        });
        let first =
            State { model: Model::default(), begun: 0, committed: Some(0), durable: Some(0) };
        Stage {
            setup,
            disk,
            first: image,
            envs: vec![env],
            model: Model::default(),
            states: vec![first],
            quiet: Vec::new(),
            locks,
        }
    }

    /// One more client.
    pub fn join(&mut self) {
        let env = self.setup.options().open_simulated(&self.disk).expect("one more client");
        self.envs.push(env);
    }

    /// One commit by client `client`.
    pub fn commit(&mut self, client: usize, lazy: bool, work: impl FnOnce(&mut Edit<'_>)) {
        let mut txn = self.envs[client].write().expect("begin");
        let mut model = self.model.clone();
        let page_bytes = self.setup.page_bytes;
        work(&mut Edit { txn: &mut txn, model: &mut model, page_bytes });
        let number = self.states.len() as u32;
        let main = txn.create(&TableId::MAIN.def()).expect("the main table");
        main.put(&mut txn, STATE, &number.to_le_bytes()).expect("put");
        let records = model.table_mut(TableId::MAIN).expect("the main table");
        records.put(STATE.to_vec(), STATE, &number.to_le_bytes());
        let begun = self.disk.event_count();
        self.states.push(State { model: model.clone(), begun, committed: None, durable: None });
        let durability = if lazy { Durability::Lazy } else { Durability::Durable };
        txn.commit_with(durability).expect("commit");
        self.model = model;
        let now = self.disk.event_count();
        self.states.last_mut().expect("this state").committed = Some(now);
        self.quiet.push((now, self.disk.lock_image().into()));
        if !lazy {
            self.durable();
        }
    }

    /// Flushes.
    pub fn sync(&mut self) {
        self.envs[0].sync().expect("sync");
        self.durable();
    }

    fn durable(&mut self) {
        let now = self.disk.event_count();
        for state in &mut self.states {
            state.durable.get_or_insert(now);
        }
    }

    /// Closes all clients and opens one again.
    pub fn reopen(&mut self) {
        self.envs.clear();
        self.durable();
        self.join();
    }

    /// Makes the images of the script and judges them.
    pub fn judge(mut self, name: &str, random: &mut Random) -> Verdict {
        self.envs.clear();
        self.durable();
        let events = self.disk.events();
        let locks = std::mem::take(&mut *self.locks.lock().expect("nobody panics here"));
        assert_eq!(events.len(), locks.len(), "a lock image for each event");
        let verdict = Verdict::default();
        let mut judge = Judge {
            stage: &self,
            name,
            seen: HashSet::new(),
            distinct: HashSet::new(),
            verdict,
            depth: 0,
        };
        judge.all(&events, &locks, random);
        judge.verdict
    }
}

/// How many images were judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    /// Distinct images.
    pub images: u64,
    /// Images of crashes during the repair of a crash.
    pub twice: u64,
    /// Images of killed processes, with their lock file.
    pub kills: u64,
    /// Images that went on working through more transactions.
    pub used: u64,
    /// Openings that stepped back from the newest meta.
    pub stepped_back: u64,
}

impl Verdict {
    /// Adds another script's.
    pub fn merge(&mut self, other: &Verdict) {
        self.images += other.images;
        self.twice += other.twice;
        self.kills += other.kills;
        self.used += other.used;
        self.stepped_back += other.stepped_back;
    }
}

struct Judge<'s> {
    stage: &'s Stage,
    name: &'s str,
    /// Images that were judged, with what was asked of them: the same bytes owe more once a commit
    /// was acknowledged.
    seen: HashSet<(u64, u64, Moment)>,
    /// Images alone, data and lock file: the figure counts these.
    distinct: HashSet<(u64, u64)>,
    verdict: Verdict,
    /// 1 while the repair of another image is crashed.
    depth: usize,
}

/// What is known of the moment of a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Moment {
    /// The oldest and the newest state that may show.
    oldest: usize,
    newest: usize,
}

impl Judge<'_> {
    fn all(&mut self, events: &[Event], locks: &[Arc<[u64]>], random: &mut Random) {
        let mut flushed = self.stage.first.clone();
        let mut start = 0;
        for at in 0..=events.len() {
            let ends = at == events.len() || events[at] == Event::Sync;
            let moment = self.moment(at, false);
            let mut image = flushed.clone();
            events[start..at].iter().for_each(|event| apply(&mut image, event));
            let lock = at.checked_sub(1).map(|last| &*locks[last]);
            self.power_cut(&image, moment, lock.filter(|_| at % 3 == 0), random);
            if let Some(lock) = lock {
                // What was committed after this event is not in its lock file.
                let oldest = self.moment(at - 1, true).oldest;
                self.kill(&image, Moment { oldest, ..moment }, lock, random);
            }
            for (_, lock) in self.stage.quiet.iter().filter(|(then, _)| *then == at) {
                self.kill(&image, self.moment(at, true), lock, random);
            }
            if ends {
                self.epoch(&flushed, &events[start..at], moment, random);
                flushed = image;
                start = at;
            }
        }
    }

    /// The states that may show when the crash comes after `at` events.
    fn moment(&self, at: usize, kill: bool) -> Moment {
        let states = &self.stage.states;
        let reached = |when: Option<usize>| when.is_some_and(|when| when <= at);
        let oldest = states.iter().rposition(|state| match kill {
            true => reached(state.committed),
            false => reached(state.durable),
        });
        let newest = states.iter().rposition(|state| state.begun <= at);
        Moment { oldest: oldest.unwrap_or(0), newest: newest.unwrap_or(0) }
    }

    /// Parts of what happened between two flushes.
    fn epoch(&mut self, flushed: &[u8], events: &[Event], moment: Moment, random: &mut Random) {
        let pieces: Vec<Event> = events.iter().flat_map(pieces).collect();
        let count = pieces.len();
        let mut inner = Random::new(random.next());
        let mut subset = |keeps: &mut dyn FnMut(usize) -> bool, garbage: bool| {
            let mut image = flushed.to_vec();
            for (_, piece) in pieces.iter().enumerate().filter(|(i, _)| keeps(*i)) {
                let old = image.len();
                apply(&mut image, piece);
                if garbage && image.len() > old {
                    image[old..].fill(0xA5);
                }
            }
            self.power_cut(&image, moment, None, &mut inner);
        };
        if count <= 7 {
            for bits in 0..1u32 << count {
                subset(&mut |i| bits >> i & 1 == 1, false);
            }
            return;
        }
        let step = count.div_ceil(40);
        for one in (0..count).step_by(step) {
            subset(&mut |i| i != one, false);
            subset(&mut |i| i == one, false);
            subset(&mut |i| i < one, true);
            subset(&mut |i| i >= one, false);
        }
        // The last sectors are the meta's: every way to tear it, with everything else there.
        let meta = count.saturating_sub(8);
        for bits in (0..256u32).step_by(if count > 100 { 7 } else { 1 }) {
            subset(&mut |i| i < meta || bits >> (i - meta) & 1 == 1, bits % 2 == 1);
        }
        for _ in 0..30 {
            let percent = [10, 50, 90, 97][random.index(4)];
            let garbage = random.chance(30);
            subset(&mut |_| random.chance(percent), garbage);
        }
    }

    /// Whether this was not judged before.
    fn is_new(&mut self, image: &[u8], lock: u64, moment: Moment) -> bool {
        let data = digest(image);
        let new = self.seen.insert((data, lock, moment));
        self.verdict.images += u64::from(self.distinct.insert((data, lock)));
        new
    }

    fn power_cut(
        &mut self,
        image: &[u8],
        moment: Moment,
        lock: Option<&[u64]>,
        random: &mut Random,
    ) {
        // After a reboot the lock file decides nothing: that there is one is all that counts.
        if !self.is_new(image, u64::from(lock.is_some()), moment) {
            return;
        }
        let mut disk = self.stage.disk.after_crash(image, false).expect("a machine");
        if let Some(lock) = lock {
            disk = disk.with_lock_image(lock);
        }
        self.opened(&disk, image, moment, random, "power cut");
    }

    fn kill(&mut self, image: &[u8], moment: Moment, lock: &[u64], random: &mut Random) {
        let words: Vec<u8> = lock.iter().flat_map(|word| word.to_le_bytes()).collect();
        if !self.is_new(image, digest(&words), moment) {
            return;
        }
        self.verdict.kills += 1;
        let disk = self.stage.disk.after_crash(image, true).expect("a machine");
        self.opened(&disk.with_lock_image(lock), image, moment, random, "kill");
    }

    /// Opens what a crash left and judges it.
    fn opened(
        &mut self,
        disk: &SimDisk,
        image: &[u8],
        moment: Moment,
        random: &mut Random,
        how: &str,
    ) {
        let place = |what: &str| {
            format!(
                "{}, image {} ({} bytes), {how} (depth {}), {moment:?}: {what}",
                self.name,
                self.verdict.images,
                image.len(),
                self.depth
            )
        };
        let env = match self.stage.setup.options().open_simulated(disk) {
            Ok(env) => env,
            Err(error) => panic!("{}", place(&format!("does not open: {error}"))),
        };
        self.verdict.stepped_back += u64::from(env.recovery() == huon::Recovery::SteppedBack);
        let state = self.shown(&env).unwrap_or_else(|what| panic!("{}", place(&what)));
        if state < moment.oldest || state > moment.newest {
            panic!("{}", place(&format!("shows state {state} ({:?})", env.recovery())));
        }
        if let Err(what) = audit(&env) {
            panic!("{}", place(&format!("state {state} ({:?}): {what}", env.recovery())));
        }
        let goes_on = random.chance(25);
        if !goes_on {
            return;
        }
        disk.clear_events();
        let used = self.use_on(env, disk, state);
        if let Err(what) = used {
            panic!("{}", place(&format!("state {state}, used on: {what}")));
        }
        self.verdict.used += 1;
        if self.depth == 0 && how == "power cut" && random.chance(12) {
            self.depth = 1;
            self.second_crash(image, state, random);
            self.depth = 0;
        }
    }

    /// The state that the environment shows, compared whole.
    fn shown(&self, env: &Env) -> Result<usize, String> {
        let text = |error: huon::Error| error.to_string();
        let txn = env.read().map_err(text)?;
        let main = txn.open(&TableId::MAIN.def()).map_err(text)?.expect("the main table");
        let number = match main.get(&txn, STATE).map_err(text)? {
            None => 0,
            Some(bytes) => u32::from_le_bytes(bytes.try_into().map_err(|_| "a long state")?),
        };
        let state = self.stage.states.get(number as usize).ok_or("an unknown state")?;
        state.model.compare(&txn).map_err(|what| format!("state {number}: {what}"))?;
        Ok(number as usize)
    }

    /// Three more transactions, and opening again.
    fn use_on(&self, env: Env, disk: &SimDisk, state: usize) -> Result<(), String> {
        let text = |error: huon::Error| error.to_string();
        let mut model = self.stage.states[state].model.clone();
        let page_bytes = self.stage.setup.page_bytes;
        for round in 0..3u64 {
            let mut txn = env.write().map_err(text)?;
            let mut edit = Edit { txn: &mut txn, model: &mut model, page_bytes };
            edit.put(2, round * 3, 40);
            edit.put(2, 77 + round, page_bytes * 2);
            edit.put(12, round, 10);
            edit.delete(2, 76 + round);
            let durability = if round == 1 { Durability::Lazy } else { Durability::Durable };
            txn.commit_with(durability).map_err(text)?;
            audit(&env).map_err(|what| format!("round {round}: {what}"))?;
            model.compare(&env.read().map_err(text)?)?;
        }
        drop(env);
        let env = self.stage.setup.options().open_simulated(disk).map_err(text)?;
        if env.recovery() != huon::Recovery::Clean {
            return Err(format!("closed, and opened as {:?}", env.recovery()));
        }
        audit(&env)?;
        model.compare(&env.read().map_err(text)?)
    }

    /// Crashes again while the first transaction repairs what the first crash left.
    fn second_crash(&mut self, image: &[u8], state: usize, random: &mut Random) {
        let disk = self.stage.disk.after_crash(image, false).expect("a machine");
        let env = self.stage.setup.options().open_simulated(&disk).expect("it opened before");
        drop(env.write().expect("a repair"));
        let events = disk.events();
        let moment = Moment { oldest: state, newest: state };
        let pieces: Vec<Event> = events.iter().flat_map(pieces).collect();
        let before = self.verdict.images;
        let mut flushed = 0;
        for at in 0..=pieces.len() {
            let mut whole = image.to_vec();
            pieces[..at].iter().for_each(|piece| apply(&mut whole, piece));
            self.power_cut(&whole, moment, None, random);
            let mut part = image.to_vec();
            for (i, piece) in pieces[..at].iter().enumerate() {
                if i < flushed || random.chance(60) {
                    apply(&mut part, piece);
                }
            }
            self.power_cut(&part, moment, None, random);
            if pieces.get(at) == Some(&Event::Sync) {
                flushed = at;
            }
        }
        self.verdict.twice += self.verdict.images - before;
    }
}

/// An event in parts that reach the disk on their own.
fn pieces(event: &Event) -> Vec<Event> {
    let Event::Write { offset, bytes } = event else { return vec![event.clone()] };
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = *offset as usize + at;
        let room = SECTOR_BYTES - start % SECTOR_BYTES;
        let end = (at + room).min(bytes.len());
        out.push(Event::Write { offset: start as u64, bytes: Arc::from(&bytes[at..end]) });
        at = end;
    }
    out
}

//! Pinned snapshots: live ones and parked ones, and what is said of slow ones.
//!
//! 1. A live reader is never evicted. A parked one is evicted only where room was wanted, and only
//!    by a client that evicts.
//! 2. What comes back from parking is the same snapshot, or the word that it is gone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use huon::{Error, Parked, ReadTxn, SlowReader, SlowReaderAnswer};

use crate::history::machine::{GUEST, Machine};
use crate::history::program::{Answer, Op};
use crate::history::{Counts, History, Step, Stop};
use crate::model::Model;

/// How many there are at most.
const READERS: usize = 6;

/// Ids of snapshots whose parked readers were to be evicted.
type Evicted = Arc<Mutex<BTreeSet<u64>>>;

/// The pinned snapshots of all clients.
#[derive(Default)]
pub(crate) struct Readers {
    all: Vec<Reader>,
    /// Those that a callback had evicted since the last look.
    evicted: Evicted,
}

/// A read transaction, with what it should see.
struct Reader {
    client: usize,
    seat: Seat,
    model: Model,
    /// A writer may have evicted it since it was parked.
    is_evictable: bool,
}

enum Seat {
    Live(ReadTxn),
    Parked(Parked),
}

impl Reader {
    fn live(client: usize, txn: ReadTxn, model: Model) -> Reader {
        Reader { client, seat: Seat::Live(txn), model, is_evictable: false }
    }

    fn id(&self) -> u64 {
        match &self.seat {
            Seat::Live(txn) => txn.id(),
            Seat::Parked(parked) => parked.id(),
        }
    }

    /// Rule 1, and that a live one shows what it should, where that is asked.
    fn check(&self, compares: bool) -> Step {
        let different = |what| Stop::Fail(format!("pinned snapshot {}: {what}", self.id()));
        match &self.seat {
            Seat::Live(txn) if compares => self.model.compare(txn).map_err(different),
            Seat::Parked(parked) if parked.is_evicted() && !self.is_evictable => {
                Err(different("evicted without need".into()))
            }
            _ => Ok(()),
        }
    }
}

impl Readers {
    /// A client's callback, which notes the readers that it evicts.
    pub(crate) fn callback(
        &self,
        answer: Answer,
    ) -> impl Fn(&SlowReader) -> SlowReaderAnswer + Send + Sync + 'static {
        let evicted = self.evicted.clone();
        move |slow| match (answer, slow.retries) {
            (Answer::Evict, _) if slow.reader.parked => {
                evicted.lock().unwrap_or_else(PoisonError::into_inner).insert(slow.reader.txnid);
                SlowReaderAnswer::Evict
            }
            (_, 0) => SlowReaderAnswer::Retry,
            (Answer::Evict, 1) => SlowReaderAnswer::Evict,
            _ => SlowReaderAnswer::GiveUp,
        }
    }

    fn is_full(&self) -> bool {
        self.all.len() >= READERS
    }

    fn unpin(&mut self, at: usize, counts: &mut Counts) {
        if at < self.all.len() {
            self.all.swap_remove(at);
            counts.add("unpin", 1);
        }
    }

    /// A client ends, and its readers with it.
    pub(crate) fn end_of(&mut self, client: usize) {
        self.all.retain(|reader| reader.client != client);
    }

    fn verify(&self, at: usize, counts: &mut Counts) -> Step {
        let Some(reader) = self.all.get(at) else { return Ok(()) };
        reader.check(true)?;
        counts.add("verify", 1);
        Ok(())
    }

    fn renew(&mut self, at: usize, newest: &Model, counts: &mut Counts) -> Step {
        let Some(reader) = self.all.get_mut(at) else { return Ok(()) };
        let Seat::Live(txn) = &mut reader.seat else { return Ok(()) };
        let before = txn.id();
        if txn.renew()? != (txn.id() != before) {
            return Err(Stop::Fail(format!("renewed {before} to {}", txn.id())));
        }
        reader.model = newest.clone();
        reader.check(newest.count() < 300)?;
        counts.add("renew", 1);
        Ok(())
    }

    fn park(&mut self, at: usize, counts: &mut Counts) -> Step {
        if at >= self.all.len() {
            return Ok(());
        }
        let reader = self.all.swap_remove(at);
        let seat = match reader.seat {
            Seat::Parked(parked) => Seat::Parked(parked),
            Seat::Live(txn) => {
                counts.add("park", 1);
                Seat::Parked(txn.park()?)
            }
        };
        self.all.push(Reader { seat, ..reader });
        Ok(())
    }

    /// Brings a reader back; one that was evicted at `newest`, if that is asked for.
    fn unpark(
        &mut self,
        (at, or_newest): (usize, bool),
        (machine, newest): (&Machine, &Model),
        counts: &mut Counts,
    ) -> Step {
        if !matches!(self.all.get(at), Some(Reader { seat: Seat::Parked(_), .. })) {
            return Ok(());
        }
        let Reader { client, seat, model, is_evictable } = self.all.swap_remove(at);
        let Seat::Parked(parked) = seat else { return Ok(()) };
        let (id, is_evicted) = (parked.id(), parked.is_evicted());
        if is_evicted && !is_evictable {
            return Err(Stop::Fail(format!("parked snapshot {id} was evicted without need")));
        }
        let (txn, model) = match (parked.unpark(), is_evicted) {
            (Err(Error::Evicted), true) if or_newest => {
                counts.add("unpark newest", 1);
                (machine.read(client)?, newest.clone())
            }
            (Err(Error::Evicted), true) => {
                counts.add("evicted", 1);
                return Ok(());
            }
            (Err(error), _) => return Err(error.into()),
            (Ok(_), true) => {
                return Err(Stop::Fail(format!("snapshot {id} came back from the dead")));
            }
            (Ok(txn), false) if txn.id() == id => (txn, model),
            (Ok(txn), false) => {
                return Err(Stop::Fail(format!("parked {id}, back as {}", txn.id())));
            }
        };
        let reader = Reader::live(client, txn, model);
        reader.check(true)?;
        self.all.push(reader);
        counts.add("unpark", 1);
        Ok(())
    }

    /// Notes which parked readers may be evicted by now: those that a callback had evicted, and
    /// every one where a writer `evicts_at_need`. How many a callback had evicted.
    fn note_evictable(&mut self, evicts_at_need: bool) -> usize {
        let evicted =
            std::mem::take(&mut *self.evicted.lock().unwrap_or_else(PoisonError::into_inner));
        for reader in &mut self.all {
            reader.is_evictable |= evicts_at_need || evicted.contains(&reader.id());
        }
        evicted.len()
    }

    /// Looks at all of them, after a commit.
    pub(crate) fn check(&self, whole: bool) -> Step {
        let mut readers = self.all.iter();
        readers.try_for_each(|reader| reader.check(whole || reader.model.count() < 300))
    }

    /// A live one of a client, with its model.
    pub(crate) fn live_of(&self, client: usize) -> Option<(&ReadTxn, &Model)> {
        self.all.iter().find_map(|reader| match &reader.seat {
            Seat::Live(txn) if reader.client == client => Some((txn, &reader.model)),
            _ => None,
        })
    }
}

impl History {
    /// Operations on pinned snapshots; whether it was one.
    pub(crate) fn reader_op(&mut self, op: &Op) -> Result<bool, Stop> {
        if !self.savepoints.is_empty() {
            self.note_evictable();
        }
        let (readers, newest, counts) = (&mut self.readers, &self.committed, &mut self.counts);
        match op {
            Op::Pin { client } => self.pin(*client)?,
            Op::Unpin { reader } => readers.unpin(usize::from(*reader), counts),
            Op::Verify { reader } => readers.verify(usize::from(*reader), counts)?,
            Op::Renew { reader } => readers.renew(usize::from(*reader), newest, counts)?,
            Op::Park { reader } => readers.park(usize::from(*reader), counts)?,
            Op::Unpark { reader, or_newest } => {
                let at = usize::from(*reader);
                readers.unpark((at, *or_newest), (&self.machine, newest), counts)?;
            }
            Op::SlowReaders { client, answer, early } => {
                self.answer_for(self.machine.present(*client), *answer, *early);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn pin(&mut self, client: u8) -> Step {
        if self.readers.is_full() {
            return Ok(());
        }
        let is_guest = usize::from(client) == GUEST && self.machine.has_guest(&mut self.counts)?;
        let (client, what) = if is_guest {
            (GUEST, "pin as a guest")
        } else {
            (self.machine.present(client), "pin")
        };
        let txn = self.machine.read(client)?;
        self.readers.all.push(Reader::live(client, txn, self.committed.clone()));
        self.counts.add(what, 1);
        Ok(())
    }

    fn answer_for(&mut self, client: usize, answer: Answer, early: bool) {
        let env = self.machine.clients[client].env.as_ref().expect("an open client");
        match answer {
            Answer::None => env.clear_on_slow_reader(),
            answer => env.set_on_slow_reader(self.readers.callback(answer)),
        }
        let mut settings = env.settings();
        settings.slow_readers_before_growing = early;
        env.set_settings(settings);
        self.machine.clients[client].slow = (answer, early);
        self.counts.add("slow readers", 1);
    }

    /// After a transaction, or in one: which parked readers it may have evicted.
    pub(crate) fn note_evictable(&mut self) {
        let (answer, _) = self.machine.clients[self.client].slow;
        let evicted = self.readers.note_evictable(self.was_limited && answer == Answer::None);
        self.counts.add("evictions asked for", evicted as u64);
    }
}

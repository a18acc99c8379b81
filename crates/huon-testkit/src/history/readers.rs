//! Pinned snapshots: live ones and parked ones, and what is said of slow ones.
//!
//! 1. A live reader is never evicted. A parked one is evicted only where room was wanted, and only
//!    by a client that evicts.
//! 2. What comes back from parking is the same snapshot, or the word that it is gone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use huon::{Error, Parked, ReadTxn, SlowReader, SlowReaderAnswer};

use crate::history::clients::GUEST;
use crate::history::program::{Answer, Op};
use crate::history::{History, Step, Stop};
use crate::model::Model;

/// How many there are at most.
const READERS: usize = 6;

/// Ids of snapshots whose parked readers were to be broken.
pub(crate) type Broken = Arc<Mutex<BTreeSet<u64>>>;

/// A read transaction, with what it should see.
pub(crate) struct Reader {
    pub(crate) client: usize,
    seat: Seat,
    model: Model,
    /// A writer may have evicted it since it was parked.
    is_breakable: bool,
}

enum Seat {
    Live(ReadTxn),
    Parked(Parked),
}

impl Reader {
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
            Seat::Parked(parked) if parked.is_broken() && !self.is_breakable => {
                Err(different("broken without need".into()))
            }
            _ => Ok(()),
        }
    }
}

/// A client's callback, which notes the readers that it evicts.
pub(crate) fn callback(
    answer: Answer,
    broken: &Broken,
) -> impl Fn(&SlowReader) -> SlowReaderAnswer + Send + Sync + 'static {
    let broken = broken.clone();
    move |slow| match (answer, slow.retries) {
        (Answer::Break, _) if slow.reader.parked => {
            broken.lock().unwrap_or_else(PoisonError::into_inner).insert(slow.reader.txnid);
            SlowReaderAnswer::Break
        }
        (_, 0) => SlowReaderAnswer::Retry,
        (Answer::Break, 1) => SlowReaderAnswer::Break,
        _ => SlowReaderAnswer::GiveUp,
    }
}

impl History {
    /// Operations on pinned snapshots; whether it was one.
    pub(crate) fn reader_op(&mut self, op: &Op) -> Result<bool, Stop> {
        if !self.savepoints.is_empty() {
            self.note_breakable();
        }
        match op {
            Op::Pin { client } if usize::from(*client) == GUEST => self.pin_as_guest()?,
            Op::Pin { client } => self.pin(self.present(*client))?,
            Op::Unpin { reader } => {
                if usize::from(*reader) < self.readers.len() {
                    self.readers.swap_remove(usize::from(*reader));
                    self.counts.add("unpin", 1);
                }
            }
            Op::Verify { reader } => {
                if let Some(reader) = self.readers.get(usize::from(*reader)) {
                    reader.check(true)?;
                    self.counts.add("verify", 1);
                }
            }
            Op::Renew { reader } => self.renew(usize::from(*reader))?,
            Op::Park { reader } => self.park(usize::from(*reader))?,
            Op::Unpark { reader, or_newest } => self.unpark(usize::from(*reader), *or_newest)?,
            Op::SlowReaders { client, answer, early } => {
                self.answer_for(self.present(*client), *answer, *early);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn pin(&mut self, client: usize) -> Step {
        if self.readers.len() < READERS {
            let txn = self.clients[client].env.as_ref().expect("an open client").read()?;
            let model = self.committed.clone();
            self.readers.push(Reader { client, seat: Seat::Live(txn), model, is_breakable: false });
            self.counts.add("pin", 1);
        }
        Ok(())
    }

    fn pin_as_guest(&mut self) -> Step {
        if self.readers.len() >= READERS {
            return Ok(());
        }
        let Some(guest) = self.guest()? else { return self.pin(0) };
        let (txn, model) = (guest.read()?, self.committed.clone());
        self.readers.push(Reader {
            client: GUEST,
            seat: Seat::Live(txn),
            model,
            is_breakable: false,
        });
        self.counts.add("pin as a guest", 1);
        Ok(())
    }

    fn renew(&mut self, reader: usize) -> Step {
        let Some(reader) = self.readers.get_mut(reader) else { return Ok(()) };
        let Seat::Live(txn) = &mut reader.seat else { return Ok(()) };
        let before = txn.id();
        if txn.renew()? != (txn.id() != before) {
            return Err(Stop::Fail(format!("renewed {before} to {}", txn.id())));
        }
        reader.model = self.committed.clone();
        reader.check(self.committed.count() < 300)?;
        self.counts.add("renew", 1);
        Ok(())
    }

    fn park(&mut self, at: usize) -> Step {
        if at >= self.readers.len() {
            return Ok(());
        }
        let reader = self.readers.swap_remove(at);
        let seat = match reader.seat {
            Seat::Parked(parked) => Seat::Parked(parked),
            Seat::Live(txn) => {
                self.counts.add("park", 1);
                Seat::Parked(txn.park()?)
            }
        };
        self.readers.push(Reader { seat, ..reader });
        Ok(())
    }

    fn unpark(&mut self, at: usize, or_newest: bool) -> Step {
        if !matches!(self.readers.get(at), Some(Reader { seat: Seat::Parked(_), .. })) {
            return Ok(());
        }
        let Reader { client, seat, model, is_breakable } = self.readers.swap_remove(at);
        let Seat::Parked(parked) = seat else { return Ok(()) };
        let (id, is_broken) = (parked.id(), parked.is_broken());
        if is_broken && !is_breakable {
            return Err(Stop::Fail(format!("parked snapshot {id} was broken without need")));
        }
        let txn = match (parked.unpark(), is_broken) {
            (Err(Error::Evicted), true) if or_newest => {
                self.clients[client].env.as_ref().expect("an open client").read()?
            }
            (Err(Error::Evicted), true) => {
                self.counts.add("evicted", 1);
                return Ok(());
            }
            (txn, _) => txn?,
        };
        let model = if is_broken {
            if !or_newest {
                return Err(Stop::Fail(format!("snapshot {id} came back from the dead")));
            }
            self.counts.add("unpark newest", 1);
            self.committed.clone()
        } else if txn.id() != id {
            return Err(Stop::Fail(format!("parked {id}, back as {}", txn.id())));
        } else {
            model
        };
        let reader = Reader { client, seat: Seat::Live(txn), model, is_breakable: false };
        reader.check(true)?;
        self.readers.push(reader);
        self.counts.add("unpark", 1);
        Ok(())
    }

    fn answer_for(&mut self, client: usize, answer: Answer, early: bool) {
        let env = self.clients[client].env.as_ref().expect("an open client");
        match answer {
            Answer::None => env.clear_on_slow_reader(),
            answer => env.set_on_slow_reader(callback(answer, &self.broken)),
        }
        let mut settings = env.settings();
        settings.slow_readers_before_growing = early;
        env.set_settings(settings);
        self.clients[client].slow = (answer, early);
        self.counts.add("slow readers", 1);
    }

    /// After a transaction, or in one: which parked readers it may have broken.
    pub(crate) fn note_breakable(&mut self) {
        let (answer, _) = self.clients[self.client].slow;
        let broken =
            std::mem::take(&mut *self.broken.lock().unwrap_or_else(PoisonError::into_inner));
        self.counts.add("breaks asked for", broken.len() as u64);
        for reader in &mut self.readers {
            let is_asked_for = broken.contains(&reader.id());
            let is_needed = self.was_limited && answer == Answer::None;
            reader.is_breakable |= is_asked_for || is_needed;
        }
    }

    /// Looks at all readers, after a commit.
    pub(crate) fn check_readers(&mut self, whole: bool) -> Step {
        let mut readers = self.readers.iter();
        readers.try_for_each(|reader| reader.check(whole || reader.model.count() < 300))
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
        let fits = |r: &Reader| r.client == client && matches!(r.seat, Seat::Live(_));
        let Some(at) = self.readers.iter().position(fits) else { return Ok(false) };
        let reader = self.readers.swap_remove(at);
        let done = match &reader.seat {
            Seat::Live(txn) => act(self, txn, &reader.model),
            Seat::Parked(_) => Ok(()),
        };
        self.readers.push(reader);
        done.map(|()| true)
    }
}

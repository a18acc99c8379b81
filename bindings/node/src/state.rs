//! What one JavaScript thread has open.

use std::cell::RefCell;
use std::sync::Arc;

use huon::{
    Definition, Env, MultiDef, Order, RawMulti, RawTable, ReadTxn, Resting, TableDef, Ticket,
    WriteTxn,
};
use huon_lsm::RawLsmTable;

use crate::failure::{Failure, Result};
use crate::jobs::{self, Mailbox, Running, Stop, Worker};
use crate::lsm::{LsmTables, Merging};
use crate::raw::Memory;
use crate::slab::Slab;

/// Everything of a JavaScript thread. It ends with the thread's environment of Node.
pub(crate) struct State {
    pub(crate) memory: Memory,
    pub(crate) envs: Slab<Open>,
    pub(crate) seats: Slab<Seat>,
    /// Threads that merge.
    pub(crate) compactors: Slab<Merging>,
    /// What other threads do that can be stopped.
    pub(crate) running: Running,
    pub(crate) mailbox: Option<Arc<Mailbox>>,
    /// Why the last bare function failed.
    pub(crate) failure: Option<Failure>,
}

thread_local! {
    static STATE: RefCell<State> = const { RefCell::new(State::new()) };
}

/// Does something with this thread's state. Nothing that `work` calls runs JavaScript, so it is
/// never asked for twice at a time.
#[inline]
pub(crate) fn with<R>(work: impl FnOnce(&mut State) -> R) -> R {
    STATE.with_borrow_mut(work)
}

impl State {
    const fn new() -> State {
        State {
            memory: Memory::new(),
            envs: Slab::new("the environment is closed"),
            seats: Slab::new("the transaction has ended, or its environment was closed"),
            compactors: Slab::new("the compactor has ended"),
            running: Running::new(),
            mailbox: None,
            failure: None,
        }
    }

    pub(crate) fn env(&mut self, number: f64) -> Result<&mut Open> {
        self.envs.get(number)
    }

    pub(crate) fn mailbox(&self) -> Result<Arc<Mailbox>> {
        self.mailbox.clone().ok_or_else(|| Failure::misuse("no function listens for answers"))
    }

    /// Everything open: the thread ends.
    pub(crate) fn end(&mut self) {
        for merging in self.compactors.sweep(|_| true) {
            jobs::drop_apart(merging.threads());
        }
        *self = State::new();
    }
}

/// An open environment.
pub(crate) struct Open {
    pub(crate) env: Env,
    pub(crate) tables: Vec<Arc<Slot>>,
    pub(crate) lsm: LsmTables,
    /// Writes, and waits for the writer lock.
    pub(crate) worker: Worker,
    /// Commits what JavaScript has filled.
    pub(crate) committer: Worker,
    /// Tells threads that wait for a commit that it was closed.
    pub(crate) closing: Stop,
}

impl Open {
    #[inline]
    pub(crate) fn slot(&self, table: f64) -> Result<&Arc<Slot>> {
        self.tables
            .get(table as usize)
            .ok_or_else(|| Failure::misuse("the table is of another environment"))
    }
}

/// A table or multimap that the program has named.
#[derive(Clone, PartialEq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) order: u32,
    /// It is made when something is put into it.
    pub(crate) is_made: bool,
}

/// What a table is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Table,
    Multi,
    Lsm,
}

impl Kind {
    /// By the number that JavaScript has for it.
    pub(crate) fn of(number: u32) -> Result<Kind> {
        Ok(match number {
            0 => Kind::Table,
            1 => Kind::Multi,
            2 => Kind::Lsm,
            _ => return Err(Failure::misuse("there is no such kind of tables")),
        })
    }
}

/// The same with its handle.
pub(crate) struct Slot {
    pub(crate) named: Named,
    pub(crate) handle: Handle,
}

/// A table's handle, good in all transactions of its environment.
#[derive(Clone)]
pub(crate) enum Handle {
    Table(RawTable),
    Multi(RawMulti),
    Lsm(RawLsmTable),
}

/// Where a handle comes from.
pub(crate) enum Source<'a> {
    /// Nowhere: the table is looked for when it is used.
    Env(&'a Env),
    /// It must be there.
    Read(&'a ReadTxn),
    /// The same.
    Write(&'a WriteTxn),
}

impl Named {
    /// The handle, `None` if there is no such table.
    pub(crate) fn handle(&self, lsm: &LsmTables, source: Source<'_>) -> Result<Option<Handle>> {
        let order = order(self.order)?;
        Ok(match self.kind {
            Kind::Table => {
                source.handle(&TableDef::named(&self.name).ordered(order))?.map(Handle::Table)
            }
            Kind::Multi => {
                source.handle(&MultiDef::named(&self.name).ordered(order))?.map(Handle::Multi)
            }
            Kind::Lsm => lsm.table(&self.name, &source)?.map(Handle::Lsm),
        })
    }

    /// Makes it, if it is not there. An LSM table is made by its first put.
    fn make(&self, txn: &mut WriteTxn) -> Result<()> {
        let order = order(self.order)?;
        match self.kind {
            Kind::Table => {
                let _: RawTable = txn.create_table(&TableDef::named(&self.name).ordered(order))?;
            }
            Kind::Multi => {
                let _: RawMulti = txn.create_table(&MultiDef::named(&self.name).ordered(order))?;
            }
            Kind::Lsm => (),
        }
        Ok(())
    }
}

impl Source<'_> {
    fn handle<D: Definition>(self, def: &D) -> Result<Option<D::Handle>> {
        Ok(match self {
            Source::Env(env) => Some(env.table(def)?),
            Source::Read(txn) => txn.open_table(def)?,
            Source::Write(txn) => txn.open_table(def)?,
        })
    }
}

/// By the number that JavaScript has for it.
fn order(number: u32) -> Result<Order> {
    Ok(match number {
        0 => Order::Bytes,
        1 => Order::Reversed,
        2 => Order::NativeU32,
        3 => Order::NativeU64,
        4 => Order::Stored,
        _ => return Err(Failure::misuse("there is no such order")),
    })
}

/// From where tables are read, and written.
pub(crate) struct Seat {
    /// The number of its environment.
    pub(crate) env: f64,
    /// Each look is by the newest snapshot.
    pub(crate) is_newest: bool,
    pub(crate) held: Held,
}

/// What is in a seat.
pub(crate) enum Held {
    /// What the next look at the newest snapshot begins with, if there is anything. In another
    /// seat there was a snapshot, which is lost.
    Resting(Option<Resting>),
    Read(Box<ReadTxn>),
    Parked(Box<huon::Parked>),
    Write(Writing),
    /// Of a transaction that was committed.
    Ticket(Ticket),
}

/// A write transaction.
pub(crate) struct Writing {
    pub(crate) txn: Box<WriteTxn>,
    /// The tables that are there for certain, by number.
    pub(crate) made: Vec<bool>,
}

impl Seat {
    /// Makes it show something: takes the newest snapshot, if that is what it shows.
    #[inline]
    pub(crate) fn wake(&mut self, env: &Env) -> Result<()> {
        // After a panic it still shows what it did.
        self.rest();
        if let Held::Resting(resting) = &mut self.held {
            if !self.is_newest {
                return Err(Failure::misuse("the transaction has ended: its snapshot is lost"));
            }
            let txn = match resting.take() {
                Some(resting) => resting.wake()?,
                None => Box::new(env.read()?),
            };
            self.held = Held::Read(txn);
        }
        Ok(())
    }

    /// Lets go of the newest snapshot.
    #[inline]
    pub(crate) fn rest(&mut self) {
        if self.is_newest && matches!(self.held, Held::Read(_)) {
            let held = std::mem::replace(&mut self.held, Held::Resting(None));
            let Held::Read(txn) = held else { return };
            self.held = Held::Resting(Some(txn.rest()));
        }
    }

    /// The same snapshot in a seat of its own.
    pub(crate) fn split(&mut self) -> Seat {
        let held = std::mem::replace(&mut self.held, Held::Resting(None));
        Seat { env: self.env, is_newest: false, held }
    }

    pub(crate) fn writing(&mut self) -> Result<&mut Writing> {
        match &mut self.held {
            Held::Write(writing) => Ok(writing),
            _ => Err(Failure::from(huon::Error::ReadOnly)),
        }
    }
}

impl Writing {
    pub(crate) fn new(txn: Box<WriteTxn>) -> Writing {
        Writing { txn, made: Vec::new() }
    }

    /// Whether what has failed has left it half changed.
    pub(crate) fn is_broken(&mut self) -> bool {
        const PROBE: &str = "probe";
        self.txn.savepoint(PROBE).and_then(|()| self.txn.release(PROBE)).is_err()
    }

    /// The table, made if it was not there and may be.
    #[inline]
    pub(crate) fn table(&mut self, number: usize, slot: &Slot) -> Result<()> {
        if slot.named.is_made && !self.made.get(number).is_some_and(|made| *made) {
            slot.named.make(&mut self.txn)?;
            if self.made.len() <= number {
                self.made.resize(number + 1, false);
            }
            self.made[number] = true;
        }
        Ok(())
    }
}

/// Runs `work`, from which `?` leads out.
#[inline(always)]
pub(crate) fn run<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    work()
}

/// Why nothing is read from a seat that holds no transaction.
#[cold]
pub(crate) fn no_view(held: &Held) -> Failure {
    Failure::misuse(match held {
        Held::Parked(_) => "the transaction is parked: unpark it first",
        _ => "the transaction has ended",
    })
}

/// Does something with the transaction in a seat, of whichever kind; what fails in it is its
/// result.
macro_rules! in_txn {
    ($held:expr, $txn:ident => $work:expr) => {
        match $held {
            $crate::state::Held::Read($txn) => {
                let $txn = &**$txn;
                $crate::state::run(|| $work)
            }
            $crate::state::Held::Write(writing) => {
                let $txn = &*writing.txn;
                $crate::state::run(|| $work)
            }
            held => Err($crate::state::no_view(held)),
        }
    };
}
pub(crate) use in_txn;

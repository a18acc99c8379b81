//! Cursors as C holds them: what they belong to, and looks at where they stand.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use try_lock::{Locked, TryLock};

use crate::data::{self, Shown};
use crate::dbi::{FREE, MAIN};
use crate::fault::{Fault, Res};
use crate::flags::dbi::DUPSORT;
use crate::in_txn;
use crate::inside::{View, Writer};
use crate::place::{Place, Stand};
use crate::steps::{self, Given, Op};
use crate::table::{Dbi, Table};
use crate::threads::{lock, lock_now};
use crate::txn::Txn;

/// A cursor. It is used by one thread at a time, like its transaction.
pub struct Cursor {
    /// Its own handle, once it has one.
    handle: OnceLock<usize>,
    /// A pointer of the program's.
    pub context: AtomicUsize,
    inside: TryLock<Inside>,
    /// The fork generation of the process that made it.
    generation: u32,
}

struct Inside {
    /// `None`: to no transaction yet.
    bound: Option<Bound>,
    /// The values that were given at once last.
    batch: Vec<u8>,
}

/// What a cursor belongs to, and where it stands in it.
#[derive(Clone)]
pub(crate) struct Bound {
    pub(crate) txn: Arc<Txn>,
    dbi: u32,
    /// The name that it was opened by: a handle may be of another opening by now.
    name: Arc<[u8]>,
    pub(crate) place: Place,
}

impl Cursor {
    /// A cursor of no table.
    pub fn new() -> Cursor {
        Cursor::with(None)
    }

    /// A cursor of a table that the transaction may use, nowhere yet.
    pub fn open(txn: &Arc<Txn>, dbi: u32) -> Res<Cursor> {
        Ok(Cursor::with(Some(Bound::new(txn, dbi)?)))
    }

    fn with(bound: Option<Bound>) -> Cursor {
        let inside = TryLock::new(Inside { bound, batch: Vec::new() });
        let generation = huon::fork_generation();
        Cursor { handle: OnceLock::new(), context: AtomicUsize::new(0), inside, generation }
    }

    /// Whether the parent of this process made it, a thread of which may have been at it.
    pub(crate) fn is_inherited(&self) -> bool {
        huon::is_inherited(self.generation)
    }

    /// Its handle, or 0.
    pub fn handle(&self) -> usize {
        self.handle.get().copied().unwrap_or(0)
    }

    /// Tells it its handle, and has the transaction tell the cursor what is deleted.
    pub fn enlist(cursor: &Arc<Cursor>, handle: usize) -> Res<()> {
        let _ = cursor.handle.set(handle);
        match cursor.txn() {
            Some(txn) => Cursor::join(cursor, &txn),
            None => Ok(()),
        }
    }

    fn join(cursor: &Arc<Cursor>, txn: &Txn) -> Res<()> {
        if txn.is_write() {
            txn.writer()?.cursors.add(cursor);
        }
        Ok(())
    }

    /// Goes to a table of a transaction, whatever it belonged to before, and stands nowhere.
    pub fn bind(cursor: &Arc<Cursor>, txn: &Arc<Txn>, dbi: u32) -> Res<()> {
        let fresh = Bound::new(txn, dbi)?;
        Cursor::unbind(cursor)?;
        cursor.inside()?.bound = Some(fresh);
        Cursor::join(cursor, txn)
    }

    /// Belongs to nothing any more.
    pub fn unbind(cursor: &Arc<Cursor>) -> Res<()> {
        let bound = cursor.inside()?.bound.take();
        if let Some(bound) = bound {
            bound.txn.forget(cursor);
        }
        Ok(())
    }

    /// Stands nowhere.
    pub fn reset(&self) -> Res<()> {
        self.with_place(Place::unset)
    }

    /// Goes where another cursor is.
    pub fn copy(from: &Cursor, to: &Arc<Cursor>) -> Res<()> {
        let bound = from.bound_now()?;
        let txn = bound.txn.clone();
        // Refuses what cannot be used now.
        txn.access()?.view()?;
        let inside = to.inside()?;
        if inside.bound.as_ref().is_some_and(|own| own.txn.env_handle != txn.env_handle) {
            return Err(Fault::Invalid);
        }
        drop(inside);
        Cursor::unbind(to)?;
        to.inside()?.bound = Some(bound);
        Cursor::join(to, &txn)
    }

    /// Its transaction and its table.
    pub(crate) fn bound(&self) -> Res<(Arc<Txn>, u32)> {
        let inside = self.inside()?;
        let bound = inside.bound.as_ref().ok_or(Fault::Invalid)?;
        Ok((bound.txn.clone(), bound.dbi))
    }

    /// Its table, for a change.
    pub(crate) fn known(&self, writer: &mut Writer, txn: &Txn, dbi: u32) -> Res<Arc<Dbi>> {
        let known = writer.dbi(txn, dbi)?;
        let inside = self.inside()?;
        check_opening(&inside.bound.as_ref().ok_or(Fault::Invalid)?.name, &known)?;
        Ok(known)
    }

    /// Its transaction.
    pub fn txn(&self) -> Option<Arc<Txn>> {
        Some(lock(&self.inside).ok()?.bound.as_ref()?.txn.clone())
    }

    /// Its table.
    pub fn dbi(&self) -> Option<u32> {
        Some(lock(&self.inside).ok()?.bound.as_ref()?.dbi)
    }

    /// Whether it is one of that opening of a table.
    pub(crate) fn is_of(&self, number: u32, known: &Dbi) -> bool {
        let Ok(inside) = lock(&self.inside) else { return false };
        let is = |own: &Bound| own.dbi == number && Arc::ptr_eq(&own.name, &known.name);
        inside.bound.as_ref().is_some_and(is)
    }

    /// Goes on in another read transaction.
    pub fn renew(&self, txn: &Arc<Txn>) -> Res<()> {
        let (old, dbi) = self.bound()?;
        if txn.is_write() || old.is_write() {
            return Err(Fault::Invalid);
        }
        let fresh = Bound::new(txn, dbi)?;
        let mut inside = self.inside()?;
        if let Some(bound) = &inside.bound
            && !Arc::ptr_eq(&bound.name, &fresh.name)
        {
            return Err(Fault::Closed);
        }
        inside.bound = Some(fresh);
        Ok(())
    }

    fn inside(&self) -> Res<Locked<'_, Inside>> {
        lock_now(&self.inside)
    }

    /// Does something with its place, for a transaction that tells it of a change.
    pub(crate) fn with_place<R>(&self, work: impl FnOnce(&mut Place) -> R) -> Res<R> {
        let mut inside = lock(&self.inside)?;
        Ok(work(&mut inside.bound.as_mut().ok_or(Fault::Invalid)?.place))
    }

    pub(crate) fn place_now(&self) -> Res<Place> {
        self.with_place(|place| place.clone())
    }

    pub(crate) fn put_place(&self, place: Place) -> Res<()> {
        self.with_place(|own| *own = place)
    }

    pub(crate) fn bound_now(&self) -> Res<Bound> {
        lock(&self.inside)?.bound.clone().ok_or(Fault::Invalid)
    }

    pub(crate) fn put_bound(&self, bound: Bound) -> Res<()> {
        lock(&self.inside)?.bound = Some(bound);
        Ok(())
    }

    /// Moves it, and shows the record that it stands on then.
    #[inline]
    pub fn get(&self, op: Op, key: Option<&[u8]>, value: Option<&[u8]>) -> Res<Given> {
        let mut inside = self.inside()?;
        let Bound { txn, dbi, name, place } = inside.bound.as_mut().ok_or(Fault::Invalid)?;
        if let Op::Next | Op::Prev = op
            && *dbi != FREE
        {
            // What programs do most. The rest is for the ends of the table, marks and names.
            let mut access = txn.access()?;
            let (known, view) = access.dbi_in(txn, *dbi)?;
            check_opening(name, known)?;
            let found = in_txn!(view, engine => place.straight_on(engine, op == Op::Next))?;
            if let Some((key, value)) = found {
                let shown = Some(Shown::of(key));
                let value = match value {
                    Some(value) => Some(Shown::of(value)),
                    None => {
                        let name = key.to_vec();
                        data::record(&mut access, &name)?
                    }
                };
                return Ok(Given { key: shown, value, is_other: false });
            }
        }
        inside.get(op, key, value)
    }

    /// How many values the cursor's key has.
    pub fn count(&self) -> Res<u64> {
        self.look(|place, known, view| {
            in_txn!(view, txn => match known.table {
                Table::Multi(table) => Ok(table.count_values(txn, &place.key(txn)?)?),
                // Only looks: a mark stays.
                _ => place.clone().current(txn).map(|_| 1),
            })
        })
    }

    /// Whether it stands on the name of a table, which is a record of the main one.
    pub fn is_on_name(&self) -> Res<bool> {
        // Only looks: a mark stays.
        self.look(
            |place, _, view| in_txn!(view, txn => Ok(place.clone().current(txn)?.1.is_none())),
        )
    }

    /// Whether it stands nowhere.
    pub fn is_unset(&self) -> Res<bool> {
        self.look(|place, _, _| Ok(place.stand == Stand::Unset))
    }

    /// Whether its table may have many values for a key.
    pub fn has_many(&self) -> Res<bool> {
        self.look(|_, known, _| Ok(known.flags & DUPSORT != 0))
    }

    /// Whether there is nothing behind it: it stands nowhere, on the last record after it was asked
    /// for that or for what is behind it, or behind.
    pub fn at_end(&self) -> Res<bool> {
        or_none(self.look(|place, _, view| in_txn!(view, txn => place.is_at_end(txn))))
    }

    /// Whether it stands on the first key, or the last one, or there is none.
    pub fn at_edge(&self, last: bool) -> Res<bool> {
        or_none(self.look(|place, _, view| in_txn!(view, txn => place.at_edge(txn, last))))
    }

    /// Whether it stands on the first value of its key, or the last one.
    pub fn at_edge_value(&self, last: bool) -> Res<bool> {
        self.look(|place, _, view| in_txn!(view, txn => place.at_edge_value(txn, last)))
    }

    /// Does something with its place, its table and its transaction.
    pub(crate) fn look<R>(
        &self,
        work: impl FnOnce(&mut Place, &Dbi, View<'_>) -> Res<R>,
    ) -> Res<R> {
        let mut inside = self.inside()?;
        let Bound { txn, dbi, name, place } = inside.bound.as_mut().ok_or(Fault::Invalid)?;
        let mut access = txn.access()?;
        if *dbi == FREE {
            // There is nothing in it to look at.
            return Err(Fault::NotFound);
        }
        let (known, view) = access.dbi_in(txn, *dbi)?;
        check_opening(name, known)?;
        work(place, known, view)
    }
}

impl Default for Cursor {
    fn default() -> Cursor {
        Cursor::new()
    }
}

impl Inside {
    fn get(&mut self, op: Op, key: Option<&[u8]>, value: Option<&[u8]>) -> Res<Given> {
        let Inside { bound, batch } = self;
        let Bound { txn, dbi, name, place } = bound.as_mut().ok_or(Fault::Invalid)?;
        let mut access = txn.access()?;
        if *dbi == FREE {
            return Err(Fault::NotFound);
        }
        let (known, view) = access.dbi_in(txn, *dbi)?;
        check_opening(name, known)?;
        steps::check(op, known)?;
        if matches!(op, Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple) {
            return in_txn!(view, engine => {
                let given = steps::multiple(place, batch, engine, op);
                if given.is_err() {
                    place.unmark(engine)?;
                }
                given
            });
        }
        let wanted = (key, value);
        let fits = key.map_or(Ok(()), |key| known.check_wanted(key));
        let ((key, value), shows_key) = in_txn!(view, engine => {
            let found = fits.and_then(|()| steps::look(place, engine, known, op, wanted));
            if found.is_err() {
                place.unmark(engine)?;
            }
            let found = found?;
            (found, steps::shows_key(op, known, engine, found.0)?)
        });
        let is_other = steps::is_other(op, known, (key, value), wanted);
        let shown = shows_key.then(|| Shown::of(key));
        let value = match value {
            Some(value) => Some(Shown::of(value)),
            None => {
                let name = key.to_vec();
                data::record(&mut access, &name)?
            }
        };
        Ok(Given { key: shown, value, is_other })
    }
}

impl Bound {
    fn new(txn: &Arc<Txn>, dbi: u32) -> Res<Bound> {
        if txn.is_write() && txn.env.dbis().get(dbi, txn).is_ok_and(|known| known.is_told) {
            // The cursor is of the table that it becomes.
            txn.writer()?.dbi(txn, dbi)?;
        }
        let mut access = txn.access()?;
        // A place in a table without records is none.
        let free = dbi == FREE && txn.env.rules()?.shows_free && !txn.is_write();
        let (known, _) = access.dbi_in(txn, if free { MAIN } else { dbi })?;
        let (place, name) = (Place::new(known.table), known.name.clone());
        drop(access);
        Ok(Bound { txn: txn.clone(), dbi, name, place })
    }
}

/// In a table without records every cursor is at both ends.
fn or_none(answer: Res<bool>) -> Res<bool> {
    if answer == Err(Fault::NotFound) { Ok(true) } else { answer }
}

/// Refuses a handle that is of another opening now.
#[inline]
fn check_opening(name: &Arc<[u8]>, known: &Dbi) -> Res<()> {
    if Arc::ptr_eq(name, &known.name) { Ok(()) } else { Err(Fault::Closed) }
}

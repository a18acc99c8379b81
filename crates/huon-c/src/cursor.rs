//! Cursors as C holds them: what they belong to, and looks at where they stand.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use huon::{BiasedGuard, BiasedLock, ThisThread, fork_generation, is_inherited};

use crate::data::{self, Shown};
use crate::dbi::{FREE, MAIN};
use crate::fault::{Fault, Res};
use crate::flags::dbi::DUPSORT;
use crate::handles::Words;
use crate::in_txn;
use crate::inside::{Access, Stamp, View, Writer};
use crate::place::{Item, Place, Stand};
use crate::row::{Ground, Lead, Row};
use crate::steps::{self, FORWARD, Given, Op, Step, Stride};
use crate::table::{Dbi, Table};
use crate::threads::{lock, lock_now, me};
use crate::txn::Txn;

/// A cursor. It is used by one thread at a time, like its transaction.
pub struct Cursor {
    /// Its own handle, while it has one.
    handle: AtomicUsize,
    /// A pointer of the program's.
    pub context: AtomicUsize,
    inside: BiasedLock<Inside>,
    /// The address of the transaction that it belongs to, or 0, for those that do not use it: its
    /// lock is refused to its own thread while another one has it.
    owner: AtomicUsize,
    /// Those of its [rows](Row), once it has a handle.
    words: OnceLock<&'static Words>,
    /// The fork generation of the process that made it.
    generation: AtomicU32,
}

struct Inside {
    /// `None`: to no transaction yet.
    bound: Option<Bound>,
    seen: Seen,
    lead: Lead,
    /// The values that were given at once last.
    batch: Vec<u8>,
}

impl Inside {
    fn new(bound: Option<Bound>) -> Inside {
        Inside { bound, seen: Seen::NOTHING, lead: Lead::NONE, batch: Vec::new() }
    }
}

/// What a cursor found when it was moved last. While nothing else is done with it, and all of this
/// is as it was, a step that goes on the same way has nothing to look for.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    /// See [`Place::straight`].
    straight: u16,
    /// The fork generation of the process.
    generation: u32,
    thread: usize,
    stamp: Stamp,
}

impl Seen {
    pub(crate) const NOTHING: Seen =
        Seen { straight: 0, generation: 0, thread: 0, stamp: Stamp { txn: 0, dbis: 0 } };

    fn of(txn: &Txn, place: &Place, access: &Access<'_>) -> Seen {
        let (straight, generation) = (place.straight(), fork_generation());
        Seen { straight, generation, thread: me(), stamp: access.stamp(txn) }
    }

    /// Whether a step of this thread may be straight on, if the transaction is as it was.
    #[inline(always)]
    fn allows(&self, op: Op, me: ThisThread, txn: &Txn) -> bool {
        u32::from(self.straight) & op.bit() != 0
            && self.thread == me.number()
            && self.generation == fork_generation()
            && self.stamp.dbis == txn.env.dbis_version.load(Ordering::Acquire)
    }
}

/// What a cursor belongs to, and where it stands in it.
#[derive(Clone)]
pub(crate) struct Bound {
    pub(crate) txn: Arc<Txn>,
    dbi: u32,
    /// Of which opening the handle was: it may be of another one by now.
    opening: u64,
    pub(crate) place: Place,
}

impl Cursor {
    /// A cursor of no table.
    pub fn new() -> Cursor {
        Cursor::with(None)
    }

    pub(crate) fn with(bound: Option<Bound>) -> Cursor {
        let owner = AtomicUsize::new(owner_of(&bound));
        let inside = BiasedLock::new(Inside::new(bound));
        let generation = AtomicU32::new(fork_generation());
        let (handle, context) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Cursor { handle, context, inside, owner, words: OnceLock::new(), generation }
    }

    /// Belongs to nothing, so as to [become](Cursor::becomes) another one; whether it may.
    pub(crate) fn rest(&self) -> bool {
        if self.is_inherited() {
            return false;
        }
        let Ok(mut inside) = self.inside() else { return false };
        self.set_handle(0);
        self.set_bound(&mut inside, None);
        inside.batch = Vec::new();
        true
    }

    /// Is another one under a handle, of what `fresh` has; whether that can be.
    pub(crate) fn becomes(&self, fresh: &mut Option<Option<Bound>>, handle: usize) -> bool {
        // No thread has used it since it rests.
        let Ok(mut inside) = lock_now(&self.inside) else { return false };
        let Some(bound) = fresh.take() else { return false };
        self.set_bound(&mut inside, bound);
        self.context.store(0, Ordering::Release);
        self.generation.store(fork_generation(), Ordering::Relaxed);
        self.set_handle(handle);
        true
    }

    /// Whether the parent of this process made it, a thread of which may have been at it.
    pub(crate) fn is_inherited(&self) -> bool {
        is_inherited(self.generation.load(Ordering::Relaxed))
    }

    /// Its handle, or 0.
    #[inline(always)]
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

    /// Tells it its handle.
    pub(crate) fn set_handle(&self, handle: usize) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    /// Tells it the words of its place, which stays its own.
    pub(crate) fn set_words(&self, words: &'static Words) {
        self.words.get_or_init(|| words);
    }

    /// It was closed, maybe while another thread uses it: no row of it holds good any more.
    pub(crate) fn lose_handle(&self) {
        self.set_handle(0);
        if let Some(words) = self.words.get() {
            words.lose();
        }
    }

    /// Has its transaction tell it what is deleted.
    pub(crate) fn enlist(cursor: &Arc<Cursor>) -> Res<()> {
        match &cursor.inside()?.bound {
            Some(bound) => Cursor::join(cursor, &bound.txn),
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
        cursor.put_bound_now(fresh)?;
        Cursor::join(cursor, txn)
    }

    /// Belongs to nothing any more.
    pub fn unbind(cursor: &Arc<Cursor>) -> Res<()> {
        let bound = cursor.set_bound(&mut *cursor.inside()?, None);
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
        to.put_bound_now(bound)?;
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
        self.check_known(&known)?;
        Ok(known)
    }

    /// Refuses a table that is not the cursor's.
    pub(crate) fn check_known(&self, known: &Dbi) -> Res<()> {
        check_opening(self.inside()?.bound.as_ref().ok_or(Fault::Invalid)?.opening, known)
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
        let is = |own: &Bound| own.dbi == number && own.opening == known.opening;
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
            && bound.opening != fresh.opening
        {
            return Err(Fault::Closed);
        }
        self.set_bound(&mut inside, Some(fresh));
        Ok(())
    }

    fn inside(&self) -> Res<BiasedGuard<'_, Inside>> {
        lock_now(&self.inside).map(|inside| self.used(inside))
    }

    /// Its inside, of which nothing that was seen holds good: the place is where the record that
    /// was shown last has led to.
    #[inline]
    fn used<'i>(&self, mut inside: BiasedGuard<'i, Inside>) -> BiasedGuard<'i, Inside> {
        inside.seen.straight = 0;
        if inside.lead.is_any()
            && let Some(words) = self.words.get()
        {
            words.lose();
            let (stands, bound) = (inside.lead.end(words.progress()), &mut inside.bound);
            if let (Some(stands), Some(bound)) = (stands, bound) {
                bound.place.go_in_leaf(stands);
            }
        }
        inside
    }

    /// Does something with its place, for a transaction that tells it of a change.
    pub(crate) fn with_place<R>(&self, work: impl FnOnce(&mut Place) -> R) -> Res<R> {
        let mut inside = self.used(lock(&self.inside)?);
        Ok(work(&mut inside.bound.as_mut().ok_or(Fault::Invalid)?.place))
    }

    pub(crate) fn place_now(&self) -> Res<Place> {
        self.with_place(|place| place.clone())
    }

    pub(crate) fn put_place(&self, place: Place) -> Res<()> {
        self.with_place(|own| *own = place)
    }

    pub(crate) fn bound_now(&self) -> Res<Bound> {
        self.used(lock(&self.inside)?).bound.clone().ok_or(Fault::Invalid)
    }

    pub(crate) fn put_bound(&self, bound: Bound) -> Res<()> {
        self.set_bound(&mut self.used(lock(&self.inside)?), Some(bound));
        Ok(())
    }

    /// The same for a call of the program's.
    fn put_bound_now(&self, bound: Bound) -> Res<()> {
        self.set_bound(&mut *self.inside()?, Some(bound));
        Ok(())
    }

    /// Belongs to something else; what it belonged to.
    fn set_bound(&self, inside: &mut Inside, bound: Option<Bound>) -> Option<Bound> {
        self.owner.store(owner_of(&bound), Ordering::Release);
        std::mem::replace(&mut inside.bound, bound)
    }

    /// Whether it belongs to a transaction. Takes no lock.
    pub(crate) fn belongs_to(&self, txn: &Txn) -> bool {
        self.owner.load(Ordering::Acquire) == std::ptr::from_ref(txn).addr()
    }

    /// A step that goes on as it came, in a transaction that has not changed since; `None`, and
    /// nothing has moved: it is not as simple. In a read transaction it makes a row.
    pub(crate) fn step(self: &Arc<Cursor>, me: ThisThread, op: Op, row: &Row) -> Option<Res<Step>> {
        let words = *self.words.get()?;
        // Before the look at what may end it.
        let ground = Ground::of(words);
        let mut inside = self.inside.try_lock_as(me)?;
        let Inside { bound, seen, lead, .. } = &mut *inside;
        let Bound { txn, place, .. } =
            bound.as_mut().filter(|bound| seen.allows(op, me, &bound.txn))?;
        if lead.is_beyond(words.progress()) {
            return None;
        }
        let (mut access, goes_forward) =
            (txn.again(me, seen.stamp)?, seen.straight & FORWARD.all != 0);
        let mut pass = |access: &mut Access<'_>, place: &mut Place, leaves| {
            let Access::Read(reader) = access else { return Some(Ok(false)) };
            let engine = reader.txn.as_deref()?;
            let (made, shown) = match op {
                Op::GetCurrent => (Ok(row.begin(place, lead, engine, goes_forward)?), 1),
                _ => (row.fill(place, lead, engine, (goes_forward, leaves))?, 0),
            };
            Some(made.map(|count| {
                words.set_progress(shown);
                reader.make_row(words);
                row.belong(self.handle(), words, ground);
                count > 0
            }))
        };
        // A step to another value stays beside the key, which may have no more.
        let leaves = !matches!(op, Op::NextDup | Op::PrevDup);
        let is_made = match pass(&mut access, place, leaves)? {
            Ok(is_made) => is_made,
            Err(fault) => return Some(Err(fault)),
        };
        if is_made {
            return row.step(self.handle(), op);
        }
        let (forward, stride) = op.direction()?;
        let found = straight_on(&mut access, place, forward, stride).transpose();
        if matches!(found, Some(Ok(_))) {
            // Stays beside the record, which was shown.
            pass(&mut access, place, false);
        }
        found
    }

    /// Moves it, and shows the record that it stands on then.
    #[inline]
    pub fn get(&self, op: Op, key: Option<&[u8]>, value: Option<&[u8]>) -> Res<Given> {
        let mut inside = self.inside()?;
        if let Some((forward, stride)) = op.direction()
            && let Some((key, value)) = inside.straight_on(forward, stride)?
        {
            return Ok(Given { key: Some(key), value, is_other: false });
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
        let Bound { txn, dbi, opening, place, .. } = inside.bound.as_mut().ok_or(Fault::Invalid)?;
        let mut access = txn.access()?;
        if *dbi == FREE {
            // There is nothing in it to look at.
            return Err(Fault::NotFound);
        }
        let (known, view) = access.dbi_in(txn, *dbi)?;
        check_opening(*opening, known)?;
        work(place, known, view)
    }
}

impl Default for Cursor {
    fn default() -> Cursor {
        Cursor::new()
    }
}

impl Inside {
    /// A step that goes on the way that the cursor came, as programs make most. `None`, and nothing
    /// has moved: it leads to an end of the table, or starts at a mark or anywhere else.
    fn straight_on(&mut self, forward: bool, stride: Stride) -> Res<Option<Step>> {
        let Bound { txn, dbi, opening, place } = self.bound.as_mut().ok_or(Fault::Invalid)?;
        if *dbi == FREE {
            return Ok(None);
        }
        let mut access = txn.access()?;
        check_opening(*opening, access.dbi_in(txn, *dbi)?.0)?;
        let step = straight_on(&mut access, place, forward, stride);
        self.seen = Seen::of(txn, place, &access);
        step
    }

    #[inline(never)]
    fn get(&mut self, op: Op, key: Option<&[u8]>, value: Option<&[u8]>) -> Res<Given> {
        let Inside { bound, seen, batch, .. } = self;
        let Bound { txn, dbi, opening, place } = bound.as_mut().ok_or(Fault::Invalid)?;
        let mut access = txn.access()?;
        if *dbi == FREE {
            return Err(Fault::NotFound);
        }
        let (known, view) = access.dbi_in(txn, *dbi)?;
        check_opening(*opening, known)?;
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
        let (found, shows_key) = in_txn!(view, engine => {
            let found = fits.and_then(|()| steps::look(place, engine, known, op, wanted));
            if found.is_err() {
                place.unmark(engine)?;
            }
            let found = found?;
            (found, steps::shows_key(op, known, engine, found.0)?)
        });
        let is_other = steps::is_other(op, known, found, wanted);
        let unshown = Unshown::of(found);
        let (key, value) = unshown.show(&mut access)?;
        *seen = Seen::of(txn, place, &access);
        Ok(Given { key: shows_key.then_some(key), value, is_other })
    }
}

impl Bound {
    /// To a table that the transaction may use, nowhere yet.
    pub(crate) fn new(txn: &Arc<Txn>, dbi: u32) -> Res<Bound> {
        if txn.is_write() && txn.env.dbis().get(dbi, txn).is_ok_and(|known| known.is_told) {
            // The cursor is of the table that it becomes.
            txn.writer()?.dbi(txn, dbi)?;
        }
        let mut access = txn.access()?;
        // A place in a table without records is none.
        let free = dbi == FREE && txn.env.rules()?.shows_free && !txn.is_write();
        let (known, _) = access.dbi_in(txn, if free { MAIN } else { dbi })?;
        let (place, opening) = (Place::new(known.table), known.opening);
        drop(access);
        Ok(Bound { txn: txn.clone(), dbi, opening, place })
    }
}

/// As [`Place::straight_on`], in a transaction and a table that may be used.
fn straight_on(
    access: &mut Access<'_>,
    place: &mut Place,
    forward: bool,
    stride: Stride,
) -> Res<Option<Step>> {
    let found = in_txn!(access.view()?, engine => place.straight_on(engine, forward, stride))?;
    let unshown = found.map(Unshown::of);
    unshown.map(|record| record.show(access)).transpose()
}

/// A record that was found. What a name of the main table stands for is still to be looked up.
enum Unshown {
    Record(Shown, Shown),
    Name(Shown, Vec<u8>),
}

impl Unshown {
    #[inline]
    fn of((key, value): Item<'_>) -> Unshown {
        match value {
            Some(value) => Unshown::Record(Shown::of(key), Shown::of(value)),
            None => Unshown::Name(Shown::of(key), key.to_vec()),
        }
    }

    #[inline]
    fn show(self, access: &mut Access<'_>) -> Res<Step> {
        match self {
            Unshown::Record(key, value) => Ok((key, Some(value))),
            Unshown::Name(key, name) => Ok((key, data::record(access, &name)?)),
        }
    }
}

/// As [`Cursor::belongs_to`] compares it.
fn owner_of(bound: &Option<Bound>) -> usize {
    bound.as_ref().map_or(0, |bound| Arc::as_ptr(&bound.txn).addr())
}

/// In a table without records every cursor is at both ends.
fn or_none(answer: Res<bool>) -> Res<bool> {
    if answer == Err(Fault::NotFound) { Ok(true) } else { answer }
}

/// Refuses a handle that is of another opening now.
#[inline]
fn check_opening(opening: u64, known: &Dbi) -> Res<()> {
    if opening == known.opening { Ok(()) } else { Err(Fault::Closed) }
}

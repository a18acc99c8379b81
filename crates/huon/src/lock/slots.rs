//! Reader slots: which snapshots living readers can see.
//!
//! A slot is a cache line of the lock file: a state with the client that owns it, and the txnid it
//! pins. A client keeps the slots that it ever needed, live but with no pin, in a pool of its own;
//! so taking one costs no system call and no shared write, and where no other thread has come to
//! the same place of the pool no atomic exchange either. A slot that is live with a pin of 0
//! protects nothing.
//!
//! Invariants:
//! 1. A state changes by compare-and-swap only; a client that takes a free slot, or a dead
//!    client's, has it alone.
//! 2. The high-water mark is raised before a new slot is used, and the file grown before that
//!    (P14).
//! 3. Slots of the dead are cleared only under the gate, pin first (P1).
//! 4. A scan sees the pin of every reader whose second look (`Board::read_published`) came before
//!    the scan's fence; a reader that looks later took a snapshot that the writer protects anyway
//!    (P10, P14).
//! 5. A forked child changes nothing here: its slots are the parent's.
//! 6. A reader that rests reads nothing, and its slot is live with no pin. It goes on with a pin
//!    under P14, as one that has just taken the slot.
//! 7. A parked reader reads nothing, and reads on only if it swaps its state from parked to live. A
//!    scan passes over a pin only if a writer swapped the state of its slot from parked to evicted.
//!
//! States: free -> live (owned) -> parked -> evicted; parked -> live; evicted -> live for another
//! reader.
//!
//! Why 7 keeps a reader from pages that are reused: one word decides, so of the two swaps that
//! begin at *parked* one succeeds. If it is the reader's, its slot has been live or parked with the
//! same pin all the time, and every scan saw it. If it is the other one, the reader never reads its
//! snapshot again. Its earlier reads came before its own swap to parked, which released them; the
//! swap to evicted acquired that, so reuse comes later. An evicted slot becomes live again only
//! when its reader is gone, its pin is taken away before that, and the next pin is under P14 as
//! any. (Between a look at the list and the swap a reader may have been unparked, have ended, and
//! another one be parked in its slot: then that one is evicted, which it has to reckon with, too.)
//! A reader that is live cannot be evicted: it holds slices of pages, and no word tells them.

use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use super::board::{Board, Mark};
use super::clients::{ClientId, Clients};
use super::gate::{GATE_TIMEOUT, Gate};
use super::layout::*;
use crate::alloc::{TryGrow, collected};
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::os::word::{Ordering, fence};
use crate::os::{BiasedLock, clock, fork, locked};
use crate::planted::{self, Bug};

const STATE_MASK: u64 = 3;
const FREE: u64 = 0;
const LIVE: u64 = 1;
const PARKED: u64 = 2;
const EVICTED: u64 = 3;

/// Places of the pool; threads are spread over them by their id.
const PLACES: usize = 64;

/// A reader slot that this client owns and one reader uses. To be returned with [`Slots::release`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    index: u32,
}

impl Slot {
    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }
}

impl Board {
    /// Pins the published snapshot in `slot` and copies the first words of its image (P14). No
    /// system call but a coarse clock, no allocation; repeats only if a publish comes in between.
    #[inline]
    pub(crate) fn read_published(&self, slot: &Slot, wanted: &mut [u64]) -> Mark {
        let own = self.row(slot.index());
        own[SLOT_SINCE].store(clock::now_ms(), Ordering::Relaxed);
        own[SLOT_THREAD].store(u64::from(clock::thread_id()), Ordering::Relaxed);
        loop {
            let mark = self.published();
            reach(Point::SnapshotSeen);
            // A writer that sees this pin, not the one before, is past what was read under that.
            let order = if planted::is(Bug::SecondPinUnordered) {
                Ordering::Relaxed
            } else {
                Ordering::Release
            };
            own[SLOT_PIN].store(mark.txnid(), order);
            self.copy_first_words(mark, wanted);
            // Pairs with the fence of `Slots::scan`: either the scan sees the pin, or this load
            // sees a mark that the writer protects anyway. Also keeps the copy above the second
            // look.
            fence(Ordering::SeqCst);
            if self.is_still_published(mark) || planted::is(Bug::PublishedOnce) {
                debug_assert!(
                    own[SLOT_PIN].load(Ordering::Relaxed) == mark.txnid(),
                    "P14: what is read is what is pinned"
                );
                return mark;
            }
        }
    }

    /// Pins a snapshot that the caller knows to be protected, or looks for afterwards.
    pub(crate) fn pin(&self, slot: &Slot, txnid: u64) {
        let own = self.row(slot.index());
        own[SLOT_SINCE].store(clock::now_ms(), Ordering::Relaxed);
        own[SLOT_THREAD].store(u64::from(clock::thread_id()), Ordering::Relaxed);
        own[SLOT_PIN].store(txnid, Ordering::Release);
        // Pairs with the fence of `Slots::scan`, as in `read_published`.
        fence(Ordering::SeqCst);
    }

    /// Only for a planted bug: the reader goes on without its pin.
    pub(crate) fn forget_pin(&self, slot: &Slot) {
        self.row(slot.index())[SLOT_PIN].store(0, Ordering::Relaxed);
    }
}

/// A reader, for people to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReaderEntry {
    /// The number of its slot.
    pub(crate) slot: u32,
    pub(crate) client: ClientId,
    /// 0 if the client table has forgotten it.
    pub(crate) pid: u32,
    pub(crate) thread: u32,
    pub(crate) txnid: u64,
    pub(crate) age_ms: u64,
    pub(crate) parked: bool,
    pub(crate) evicted: bool,
}

impl ReaderEntry {
    /// Readers of a guest: no more is known of them than the snapshot (R8).
    pub(crate) fn of_guest(txnid: u64) -> ReaderEntry {
        ReaderEntry {
            slot: u32::MAX,
            client: ClientId::NONE,
            pid: 0,
            thread: 0,
            txnid,
            age_ms: 0,
            parked: false,
            evicted: false,
        }
    }

    pub(crate) fn is_guest(&self) -> bool {
        self.client == ClientId::NONE
    }
}

/// The reader slots, as one client sees them.
pub(crate) struct Slots {
    clients: Arc<Clients>,
    me: ClientId,
    live: u64,
    places: Box<[PooledSlot]>,
    overflow: Mutex<Vec<u32>>,
    owned: AtomicUsize,
    /// Where the last search for a free slot ended.
    rover: AtomicU32,
    fork_generation: u32,
}

/// The index of a pooled slot, if there is one. The first thread that comes here owns the lock.
///
/// On cache lines of its own (and of the pair that the prefetcher fetches).
#[derive(Default)]
#[repr(align(128))]
struct PooledSlot(OnceLock<BiasedLock<Option<u32>>>);

impl PooledSlot {
    /// Takes the slot, if there is one and no other thread is here.
    #[inline]
    fn take(&self) -> Option<u32> {
        self.0.get()?.try_lock()?.take()
    }

    /// Puts a slot here; whether there was room, and no other thread.
    #[inline]
    fn put(&self, index: u32) -> bool {
        let place = self.0.get_or_init(|| BiasedLock::new(None)).try_lock();
        place.is_some_and(|mut place| place.is_none() && place.replace(index).is_none())
    }
}

impl Slots {
    /// The client must have joined.
    pub(crate) fn new(clients: Arc<Clients>) -> Result<Slots> {
        let me = clients.me();
        let places = collected((0..PLACES).map(|_| PooledSlot::default()))?;
        Ok(Slots {
            clients,
            me,
            live: me.word() | LIVE,
            places: places.into_boxed_slice(),
            overflow: Mutex::default(),
            owned: AtomicUsize::new(0),
            rover: AtomicU32::new(0),
            fork_generation: fork::generation(),
        })
    }

    /// A slot for a reader, without a pin yet. From the pool: no allocation and no system call.
    #[inline]
    pub(crate) fn claim(&self) -> Result<Slot> {
        // No child comes here: it has a client, and slots, of its own.
        match self.place().take() {
            Some(index) if self.is_live(index) => Ok(Slot { index }),
            _ => self.claim_slow(),
        }
    }

    /// Whether this process is a forked child of the client.
    #[inline]
    pub(crate) fn inherited(&self) -> bool {
        fork::is_inherited(self.fork_generation)
    }

    /// Takes the pin away and keeps the slot for the next reader.
    #[inline]
    pub(crate) fn release(&self, slot: Slot) {
        if !self.usable(slot.index) && !self.revive(slot.index) {
            return;
        }
        self.board().row(slot.index)[SLOT_PIN].store(0, Ordering::Release);
        if !self.place().put(slot.index) {
            self.lock_overflow().push(slot.index);
        }
    }

    /// Takes the pin away. The slot stays the reader's, which may pin another snapshot as long as
    /// the slot [is its own](Slots::is_own).
    #[inline]
    pub(crate) fn rest(&self, slot: &Slot) {
        if self.is_own(slot) {
            self.board().row(slot.index)[SLOT_PIN].store(0, Ordering::Release);
        }
    }

    /// Whether the slot is still this client's.
    #[inline]
    pub(crate) fn is_own(&self, slot: &Slot) -> bool {
        self.usable(slot.index)
    }

    /// The reader promises to [`Slots::unpark`] before it reads on; until then it may be evicted.
    /// `false`: it is parked already, or others took this client for dead.
    pub(crate) fn park(&self, slot: &Slot) -> bool {
        self.change(slot.index, self.live, self.me.word() | PARKED)
    }

    /// Whether the reader may read on: it was not evicted.
    pub(crate) fn unpark(&self, slot: &Slot) -> bool {
        self.change(slot.index, self.me.word() | PARKED, self.live)
    }

    /// Whether a reader that [`Slots::list`] showed is of this client.
    pub(crate) fn is_mine(&self, reader: &ReaderEntry) -> bool {
        reader.client == self.me
    }

    /// Whether the reader is parked and was not evicted.
    pub(crate) fn is_parked(&self, slot: &Slot) -> bool {
        let state = self.board().row(slot.index)[SLOT_STATE].load(Ordering::Relaxed);
        state == self.me.word() | PARKED
    }

    /// Evicts a parked reader, of any client, as [`Slots::list`] showed it. From then on scans
    /// ignore it.
    pub(crate) fn evict(&self, reader: &ReaderEntry) -> bool {
        if !reader.parked || reader.slot >= slots_high(self.board()) {
            return false;
        }
        let evicted = reader.client.word() | EVICTED;
        if planted::is(Bug::EvictionWithoutSwap) {
            self.board().row(reader.slot)[SLOT_STATE].store(evicted, Ordering::Release);
            return true;
        }
        self.change(reader.slot, reader.client.word() | PARKED, evicted)
    }

    /// Adds the pins of living readers to `pins`, unordered, some more than once. After
    /// [`Board::protected_marks`]. Clears up after the dead if the gate is free at once.
    pub(crate) fn scan(&self, pins: &mut Vec<u64>) -> Result<()> {
        // Pairs with the fence of `Board::read_published`; also keeps the slots below the marks
        // (P10).
        fence(Ordering::SeqCst);
        let mut judge = Judge { clients: &self.clients, known: Vec::new() };
        let mut any_dead = false;
        for index in 0..self.high()? {
            let words = self.board().row(index);
            let state = words[SLOT_STATE].load(Ordering::Acquire);
            let pin = words[SLOT_PIN].load(Ordering::Acquire);
            if pin == 0 || state & STATE_MASK == EVICTED {
                continue;
            }
            // Free with a pin: just being taken, or cleared. Its state will be seen next time.
            if state & STATE_MASK == FREE || judge.is_alive(state)? {
                pins.try_push(pin)?;
            } else {
                any_dead = true;
            }
        }
        if any_dead
            && self.board().writable()
            && let Some(gate) = Gate::try_lock(self.board().shared(), Duration::ZERO)?
        {
            self.sweep(&gate)?;
        }
        Ok(())
    }

    /// Frees the slots of dead clients; returns how many.
    pub(crate) fn sweep(&self, gate: &Gate) -> Result<u32> {
        gate.assert_of(self.board().shared());
        if !self.board().writable() {
            return Ok(0);
        }
        let mut judge = Judge { clients: &self.clients, known: Vec::new() };
        let mut freed = 0;
        for index in 0..self.high()? {
            let state = self.board().row(index)[SLOT_STATE].load(Ordering::Acquire);
            if state & STATE_MASK != FREE && !judge.is_alive(state)? {
                freed += u32::from(clear(self.board(), index, state));
            }
        }
        Ok(freed)
    }

    /// All readers with a pin, for people to look at.
    pub(crate) fn list(&self) -> Result<Vec<ReaderEntry>> {
        let now = clock::now_ms();
        let reader = |slot| {
            let words = self.board().row(slot);
            let state = words[SLOT_STATE].load(Ordering::Acquire);
            let txnid = words[SLOT_PIN].load(Ordering::Acquire);
            let client = ClientId::of_word(state);
            (state & STATE_MASK != FREE && txnid != 0).then(|| ReaderEntry {
                slot,
                client,
                pid: self.clients.info(client).map_or(0, |info| info.pid),
                thread: words[SLOT_THREAD].load(Ordering::Relaxed) as u32,
                txnid,
                age_ms: now.saturating_sub(words[SLOT_SINCE].load(Ordering::Relaxed)),
                parked: state & STATE_MASK == PARKED,
                evicted: state & STATE_MASK == EVICTED,
            })
        };
        Ok(collected((0..slots_high(self.board())).filter_map(reader))?)
    }

    // ---- the pool

    #[inline]
    fn place(&self) -> &PooledSlot {
        &self.places[clock::thread_id() as usize % PLACES]
    }

    #[cfg(test)]
    pub(super) fn owns_place(&self) -> bool {
        self.place().0.get().is_some_and(BiasedLock::is_owned_here)
    }

    /// Whether the slot is still ours to use: no fork, and no other client took this one for dead
    /// (its descriptors closed behind its back).
    #[inline]
    fn usable(&self, index: u32) -> bool {
        !self.inherited() && self.is_live(index)
    }

    #[inline]
    fn is_live(&self, index: u32) -> bool {
        self.board().row(index)[SLOT_STATE].load(Ordering::Relaxed) == self.live
    }

    /// Makes a slot live again that was parked, maybe evicted. `false`: it is not ours any more.
    #[cold]
    fn revive(&self, index: u32) -> bool {
        if self.inherited() {
            return false;
        }
        // An evicted slot's pin must be gone before its state counts again.
        let state = self.board().row(index)[SLOT_STATE].load(Ordering::Acquire);
        if state & !STATE_MASK != self.me.word() {
            return false;
        }
        self.board().row(index)[SLOT_PIN].store(0, Ordering::Release);
        self.change(index, self.me.word() | PARKED, self.live)
            || self.change(index, self.me.word() | EVICTED, self.live)
    }

    #[cold]
    fn claim_slow(&self) -> Result<Slot> {
        if self.inherited() {
            return Err(Error::Forked);
        }
        loop {
            let pooled = self.lock_overflow().pop();
            // With few slots a thread gets one of its own, rather than its neighbour's each time.
            let found = match pooled {
                Some(index) => Some(index),
                None if self.owned.load(Ordering::Relaxed) < PLACES => None,
                None => self.steal(),
            };
            match found {
                Some(index) if self.usable(index) => return Ok(Slot { index }),
                Some(_) => {}
                None => return self.claim_new(),
            }
        }
    }

    fn steal(&self) -> Option<u32> {
        self.places.iter().find_map(PooledSlot::take)
    }

    fn claim_new(&self) -> Result<Slot> {
        self.clients.check_intact()?;
        let owned = self.owned.fetch_add(1, Ordering::Relaxed) + 1;
        let taken = self.make_room(owned).and_then(|()| self.take_shared());
        match taken {
            Ok(index) => Ok(Slot { index }),
            Err(error) => {
                self.owned.fetch_sub(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Room for all of them, so that giving one back never allocates.
    fn make_room(&self, owned: usize) -> Result<()> {
        let mut overflow = self.lock_overflow();
        let missing = owned.saturating_sub(overflow.len());
        Ok(overflow.try_reserve(missing)?)
    }

    fn lock_overflow(&self) -> MutexGuard<'_, Vec<u32>> {
        locked(&self.overflow)
    }

    // ---- the shared table

    fn take_shared(&self) -> Result<u32> {
        if let Some(index) = self.take_free() {
            return Ok(index);
        }
        let gate = Gate::lock(self.board().shared(), GATE_TIMEOUT)?;
        if self.sweep(&gate)? > 0
            && let Some(index) = self.take_free()
        {
            return Ok(index);
        }
        loop {
            let index = self.high()?;
            if index == self.capacity()? {
                self.grow(&gate)?;
            }
            // Before the slot is used: a scan that misses it must come before its pin (invariant
            // 2).
            self.board().fixed()[SLOT_HIGH].store(u64::from(index) + 1, Ordering::Release);
            // A thread that finds a free slot without the gate may be faster.
            if self.change(index, FREE, self.live) {
                return Ok(index);
            }
        }
    }

    fn take_free(&self) -> Option<u32> {
        let high = slots_high(self.board());
        let start = self.rover.load(Ordering::Relaxed).min(high);
        let found = (start..high).chain(0..start).find(|index| {
            self.board().row(*index)[SLOT_STATE].load(Ordering::Relaxed) == FREE
                && self.change(*index, FREE, self.live)
        });
        self.rover.store(found.map_or(0, |index| index + 1), Ordering::Relaxed);
        found
    }

    fn grow(&self, gate: &Gate) -> Result<()> {
        let capacity = self.capacity()?.max(SLOTS_FIRST / 2) * 2;
        self.board().grow_rows(gate, capacity)?;
        self.board().fixed()[SLOT_CAPACITY].store(u64::from(capacity), Ordering::Release);
        Ok(())
    }

    fn change(&self, index: u32, from: u64, to: u64) -> bool {
        let state = &self.board().row(index)[SLOT_STATE];
        state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Slots below this may be in use.
    fn high(&self) -> Result<u32> {
        self.bounded(SLOT_HIGH)
    }

    /// Slots that may be used before the file must grow.
    fn capacity(&self) -> Result<u32> {
        self.bounded(SLOT_CAPACITY)
    }

    /// A count of slots that the lock file states, if it has so many.
    fn bounded(&self, word: usize) -> Result<u32> {
        let stated = self.board().fixed()[word].load(Ordering::Acquire);
        match self.board().rows_there(stated)? {
            there if stated <= u64::from(there) => Ok(stated as u32),
            _ => Err(Error::corrupt_file("the lock file states more reader slots than it has")),
        }
    }

    fn board(&self) -> &Board {
        self.clients.board()
    }
}

/// Judges each client once per scan: asking the kernel costs.
struct Judge<'a> {
    clients: &'a Clients,
    known: Vec<(ClientId, bool)>,
}

impl Judge<'_> {
    fn is_alive(&mut self, state: u64) -> Result<bool> {
        let id = ClientId::of_word(state);
        if let Some((_, alive)) = self.known.iter().rev().find(|(known, _)| *known == id) {
            return Ok(*alive);
        }
        let alive = self.clients.is_alive(id)?;
        self.known.try_push((id, alive))?;
        Ok(alive)
    }
}

impl Clients {
    /// Stops being a client: its slots are free and its byte is given up. Roles must have been
    /// released.
    pub(crate) fn leave(&self, gate: &Gate) {
        gate.assert_of(self.board().shared());
        let Some(me) = self.joined() else { return };
        clear_all_of(self.board(), me);
        self.give_up(me);
    }
}

/// Frees all slots of a client that is about to leave.
fn clear_all_of(board: &Board, client: ClientId) {
    for index in 0..slots_high(board) {
        let state = board.row(index)[SLOT_STATE].load(Ordering::Acquire);
        if state & STATE_MASK != FREE && state & !STATE_MASK == client.word() {
            clear(board, index, state);
        }
    }
}

/// Frees a slot whose owner is dead or leaving. Under the gate, so that no other client clears it
/// too.
fn clear(board: &Board, index: u32, state: u64) -> bool {
    let words = board.row(index);
    // The pin first: once the slot is free its next owner's pin must not be lost.
    words[SLOT_PIN].store(0, Ordering::Release);
    let freed =
        words[SLOT_STATE].compare_exchange(state, FREE, Ordering::AcqRel, Ordering::Relaxed);
    freed.is_ok()
}

/// Slots that can be looked at: fewer than are stated if the lock file is damaged.
fn slots_high(board: &Board) -> u32 {
    let stated = board.fixed()[SLOT_HIGH].load(Ordering::Acquire);
    let there = board.rows_there(stated).unwrap_or(SLOTS_FIRST);
    stated.min(u64::from(there)) as u32
}

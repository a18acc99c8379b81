//! Records that a reader's cursor has passed before they were asked for.
//!
//! Nothing changes that a read transaction shows. So steps straight on through a leaf are made many
//! at once, and each call shows one record of the row: what a step takes beside the look at its
//! record is paid once a row.
//!
//! R1. A row lies in one leaf. The cursor's place is behind its last record until something else is
//!     done with the cursor, which first goes back to the record that was shown last.
//! R2. A row that is used up makes the next one twice as long, up to [`WIDTH_MAX`]; one that is not
//!     makes it one record long. So a few steps pass few records in vain.
//! R3. A row is its thread's, which finds it without a call ([`ByThread`]), and shows it without a
//!     lock. How much of it was shown stands in the cursor's [`Words`], which all threads find.
//! R4. It holds good while those say that the cursor was used for nothing else: they
//!     [lose](Words::lose) it also if the cursor is closed, and if the transaction changes, which
//!     knows the words of its last row. Beyond that all handles of tables must be as they were, and
//!     the process.

use std::cell::Cell;
use std::ptr::with_exposed_provenance;
use std::sync::atomic::{AtomicU64, Ordering};

use huon::{ByThread, InLeaf, OfThread, ReadTxn, fork_generation, is_generation};

use crate::data::Shown;
use crate::fault::{Fault, Res};
use crate::handles::Words;
use crate::place::Place;
use crate::steps::{Op, Step, Stride, Way};

const WIDTH_MAX: usize = 128;

/// The rows of threads.
static ROWS: ByThread<Row> = ByThread::new([const { OfThread::new(Row::new()) }; 64]);

thread_local! {
    /// That of a thread which has none there.
    static ROW: Row = const { Row::new() };
}

/// Shows the record that the operation of a number leads a cursor to, or the one that it stands on,
/// if that is in the row of the calling thread. `false`, and nothing has happened: it is more than
/// that.
#[inline(always)]
pub(crate) fn show(handle: usize, op: u32, show: impl FnOnce(Shown, Shown)) -> bool {
    ROWS.with(|row| row.show(handle, op, show)) == Some(true)
}

/// Does something with the row of the calling thread.
pub(crate) fn with<R>(work: impl FnOnce(&Row) -> R) -> R {
    ROWS.with_either(&ROW, Row::forget, work)
}

/// How often handles of tables were opened or closed, in whatever environment.
static DBIS: AtomicU64 = AtomicU64::new(0);

/// Handles of tables are about to change: no row that was made so far holds good.
pub(crate) fn dbis_change() {
    DBIS.fetch_add(1, Ordering::AcqRel);
}

/// Addresses of a key and a value, and how many bytes they have.
#[derive(Clone, Copy)]
struct Record {
    key: usize,
    value: usize,
    value_bytes: u32,
    key_bytes: u16,
    /// The steps that lead to it from the one before, each by its [`Op::bit`]. 0: there is none.
    steps: u16,
}

impl Record {
    const NONE: Record = Record { key: 0, value: 0, value_bytes: 0, key_bytes: 0, steps: 0 };

    #[inline(always)]
    fn new(key: &[u8], value: &[u8], steps: u16) -> Record {
        Record {
            key: key.as_ptr().expose_provenance(),
            value: value.as_ptr().expose_provenance(),
            value_bytes: value.len() as u32,
            key_bytes: key.len() as u16,
            steps,
        }
    }

    #[inline(always)]
    fn shown(&self) -> (Shown, Shown) {
        let shown = |first, bytes| Shown { first: with_exposed_provenance(first), bytes };
        let key = shown(self.key, usize::from(self.key_bytes));
        (key, shown(self.value, self.value_bytes as usize))
    }

    /// Whether the operation of a number leads to it.
    #[inline(always)]
    fn is_led_to(&self, op: u32) -> bool {
        op < u32::BITS && u32::from(self.steps) >> op & 1 != 0
    }
}

/// How far a cursor's place is ahead of what was shown.
pub(crate) struct Lead {
    /// How many records the row has, which the place has passed.
    count: usize,
    /// How long that row was to be, if it was used up.
    width: usize,
    /// Where the cursor stood before, and which way it went.
    began: InLeaf,
    forward: bool,
    /// Whether a key may have many values; then where it stands once so many were shown, and one.
    is_multi: bool,
    places: [InLeaf; WIDTH_MAX],
}

impl Lead {
    pub(crate) const NONE: Lead = Lead {
        count: 0,
        width: 0,
        began: InLeaf::START,
        forward: true,
        is_multi: false,
        places: [InLeaf::START; WIDTH_MAX],
    };

    /// Whether there is a row.
    pub(crate) fn is_any(&self) -> bool {
        self.count > 0
    }

    /// Whether more was passed than so many.
    pub(crate) fn is_beyond(&self, shown: usize) -> bool {
        shown < self.count
    }

    /// There is no row any more; where the cursor is to go, so many having been shown, if it is
    /// not there.
    pub(crate) fn end(&mut self, shown: usize) -> Option<InLeaf> {
        let is_used_up = shown >= std::mem::take(&mut self.count);
        if is_used_up {
            return None;
        }
        self.width = 0;
        match shown.checked_sub(1).filter(|_| self.is_multi) {
            Some(last) => self.places.get(last).copied(),
            None => Some(self.began.keys_on(shown, self.forward)),
        }
    }
}

/// What a row rests on beside its cursor, as it was before the cursor was looked at.
#[derive(Clone, Copy)]
pub(crate) struct Ground {
    uses: u64,
    dbis: u64,
}

impl Ground {
    pub(crate) fn of(words: &Words) -> Ground {
        Ground { uses: words.uses(), dbis: DBIS.load(Ordering::Acquire) }
    }
}

/// Those of no cursor.
static NO_WORDS: Words = Words::new();
/// No cursor was used so often.
const NEVER: u64 = u64::MAX;

/// The records that are shown next, of the cursor that a thread steps with.
pub(crate) struct Row {
    /// The cursor's.
    handle: Cell<usize>,
    words: Cell<&'static Words>,
    uses: Cell<u64>,
    dbis: Cell<u64>,
    generation: Cell<u32>,
    /// The steps from its last record that lead nowhere, each by its [`Op::bit`].
    past: Cell<u16>,
    records: [Cell<Record>; WIDTH_MAX],
}

impl Row {
    pub(crate) const fn new() -> Row {
        Row {
            handle: Cell::new(0),
            words: Cell::new(&NO_WORDS),
            uses: Cell::new(NEVER),
            dbis: Cell::new(0),
            generation: Cell::new(0),
            past: Cell::new(0),
            records: [const { Cell::new(Record::NONE) }; WIDTH_MAX],
        }
    }

    /// It is no cursor's.
    fn forget(&self) {
        self.uses.set(NEVER);
    }

    /// The words of the cursor, if the row is one of it and holds good.
    #[inline(always)]
    fn words(&self, handle: usize) -> Option<&'static Words> {
        let words = self.words.get();
        let holds = self.handle.get() == handle
            && words.uses() == self.uses.get()
            && DBIS.load(Ordering::Acquire) == self.dbis.get()
            && is_generation(self.generation.get());
        holds.then_some(words)
    }

    /// As [`show`].
    #[inline(always)]
    fn show(&self, handle: usize, op: u32, show: impl FnOnce(Shown, Shown)) -> bool {
        let Some(words) = self.words(handle) else { return false };
        let record = self.record(words, op);
        if let Some((key, value)) = record.map(|record| record.shown()) {
            show(key, value);
        }
        record.is_some()
    }

    /// The record that a step to the next one leads to, or the one that it stays on.
    #[inline(always)]
    fn record(&self, words: &Words, op: u32) -> Option<Record> {
        let at = words.progress();
        let record = |at: usize| self.records.get(at).map(Cell::get);
        if let Some(next) = record(at).filter(|record| record.is_led_to(op)) {
            words.set_progress(at + 1);
            return Some(next);
        }
        if op == Op::GetCurrent as u32 { record(at.wrapping_sub(1)) } else { None }
    }

    /// What a step in the row comes to, to the next key too, or to a value that is not there;
    /// `None`, and nothing has happened: it is more than that.
    pub(crate) fn step(&self, handle: usize, op: Op) -> Option<Res<Step>> {
        let words = self.words(handle)?;
        let record = match self.record(words, op as u32) {
            Some(record) => record,
            None => match self.leap(words, op)? {
                Ok(record) => record,
                Err(fault) => return Some(Err(fault)),
            },
        };
        let (key, value) = record.shown();
        Some(Ok((key, Some(value))))
    }

    fn leap(&self, words: &Words, op: Op) -> Option<Res<Record>> {
        let ((forward, stride), at) = (op.direction()?, words.progress());
        let next = self.records.get(at)?.get();
        if next.steps == 0 {
            return (u32::from(self.past.get()) & op.bit() != 0).then_some(Err(Fault::NotFound));
        }
        if next.steps & Way::towards(forward).all == 0 {
            return None;
        }
        if stride == Stride::Values {
            return Some(Err(Fault::NotFound));
        }
        let left = self.records.iter().map(Cell::get).enumerate().skip(at);
        let mut left = left.take_while(|(_, record)| record.steps != 0);
        let (to, record) = left.find(|(_, record)| record.is_led_to(op as u32))?;
        words.set_progress(to + 1);
        Some(Ok(record))
    }

    /// Passes the next records; how many there are, none of them shown. There are none if the step
    /// leads to what does not lie in a leaf. Out of line: its loop has the registers.
    #[inline(never)]
    pub(crate) fn fill(
        &self,
        place: &mut Place,
        lead: &mut Lead,
        txn: &ReadTxn,
        way: (bool, bool),
    ) -> Option<Res<usize>> {
        let (steps, is_multi) = (Way::towards(way.0), place.is_multi());
        let (to_value, to_key) =
            if is_multi { (steps.to_value, steps.to_key) } else { (steps.all, steps.all) };
        let width = (2 * lead.width).clamp(1, WIDTH_MAX);
        let (records, places) = (&self.records, &mut lead.places);
        // Moved, so that the loop keeps all of it in registers.
        let passed = place.pass_in_leaf(txn, way, width, move |key, value, passed| {
            let steps = if passed.is_same_key { to_value } else { to_key };
            if let Some(record) = records.get(passed.count) {
                record.set(Record::new(key, value, steps));
            }
            if let Some(stands) = passed.place
                && let Some(place) = places.get_mut(passed.count)
            {
                *place = stands;
            }
        });
        let (began, count) = match passed {
            Ok(passed) => passed?,
            Err(fault) => return Some(Err(fault)),
        };
        (lead.began, lead.forward, lead.is_multi) = (began, way.0, is_multi);
        lead.count = count;
        if count > 0 {
            lead.width = width;
        }
        let ends_key = is_multi && (1..width).contains(&count);
        self.end(count, if ends_key { steps.all & !steps.to_key } else { 0 });
        Some(Ok(count))
    }

    /// The record that was passed last, that way, is its only one.
    pub(crate) fn begin(
        &self,
        place: &mut Place,
        lead: &mut Lead,
        txn: &ReadTxn,
        forward: bool,
    ) -> Option<usize> {
        let mut found = None;
        place.look_back(txn, forward, |key, value, _| found = Some((key, value)))?;
        let ((key, value), [own, ..]) = (found?, &self.records);
        own.set(Record::new(key, value, Way::towards(forward).all));
        self.end(1, 0);
        (lead.count, lead.width) = (1, 1);
        Some(1)
    }

    fn end(&self, count: usize, past: u16) {
        if let Some(end) = self.records.get(count) {
            end.set(Record::NONE);
        }
        self.past.set(past);
    }

    /// It is the row of a cursor from now on.
    pub(crate) fn belong(&self, handle: usize, words: &'static Words, ground: Ground) {
        self.handle.set(handle);
        self.words.set(words);
        self.uses.set(ground.uses);
        self.dbis.set(ground.dbis);
        self.generation.set(fork_generation());
    }
}

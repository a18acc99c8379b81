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
//! R3. A row is its thread's, which shows it without a lock. How much of it was shown stands in the
//!     cursor ([`Progress`]), where every thread finds it.
//! R4. It holds good while its words are as they were: the cursor's handle, and how often it was
//!     used otherwise; in which state the transaction is; the environment's tables; the process.

use std::cell::RefCell;
use std::ptr::with_exposed_provenance;
use std::sync::Arc;

use huon::{InLeaf, ReadTxn};

use crate::cursor::{Cursor, Seen, Step};
use crate::data::Shown;
use crate::fault::{Fault, Res};
use crate::place::Place;
use crate::steps::{Op, Stride, Way};
use crate::txn::Txn;

const WIDTH_MAX: usize = 32;

/// Addresses of a key and a value, and how many bytes they have.
#[derive(Clone, Copy)]
struct Record {
    key: usize,
    value: usize,
    /// What the cursor's is once the record was shown.
    progress: Progress,
    value_bytes: u32,
    key_bytes: u16,
    /// The steps that lead to it from the one before, each by its [`Op::bit`]. 0: there is none.
    steps: u16,
}

impl Record {
    const NONE: Record =
        Record { key: 0, value: 0, progress: Progress(0), value_bytes: 0, key_bytes: 0, steps: 0 };

    #[inline(always)]
    fn new(key: &[u8], value: &[u8], progress: Progress, steps: u16) -> Record {
        Record {
            key: key.as_ptr().expose_provenance(),
            value: value.as_ptr().expose_provenance(),
            progress,
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
        u32::from(self.steps).checked_shr(op).is_some_and(|steps| steps & 1 != 0)
    }
}

/// How many records of a row were shown, and where in its leaf the cursor stands then.
#[derive(Clone, Copy)]
pub(crate) struct Progress(u64);

impl Progress {
    #[inline(always)]
    pub(crate) fn new(count: usize, place: InLeaf) -> Progress {
        Progress(u64::from(place.to_bits()) << 32 | count as u64)
    }

    #[inline(always)]
    pub(crate) fn from_bits(bits: u64) -> Progress {
        Progress(bits)
    }

    #[inline(always)]
    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        self.0 as u32 as usize
    }

    pub(crate) fn place(self) -> InLeaf {
        InLeaf::from_bits((self.0 >> 32) as u32)
    }
}

/// The records that are shown next, of the cursor that a thread steps with.
pub(crate) struct Row {
    whose: Option<(Arc<Cursor>, Arc<Txn>)>,
    /// How often the cursor had been used.
    uses: u64,
    seen: Seen,
    records: [Record; WIDTH_MAX],
}

impl Row {
    pub(crate) const fn new() -> RefCell<Row> {
        RefCell::new(Row {
            whose: None,
            uses: 0,
            seen: Seen::NOTHING,
            records: [Record::NONE; WIDTH_MAX],
        })
    }

    /// The cursor, if the row is one of it and holds good.
    #[inline(always)]
    fn cursor(&self, handle: usize) -> Option<&Cursor> {
        let (cursor, txn) = self.whose.as_ref()?;
        let is_its = cursor.handle() == handle && cursor.uses() == self.uses;
        if is_its && self.seen.holds_in(txn) { Some(cursor) } else { None }
    }

    /// Shows the next record of a cursor's row, if the operation of that number leads to it.
    #[inline(always)]
    pub(crate) fn step(&self, handle: usize, op: u32, show: impl FnOnce(Shown, Shown)) -> bool {
        let Some(cursor) = self.cursor(handle) else { return false };
        let Some(record) = self.records.get(cursor.progress().count()) else { return false };
        if !record.is_led_to(op) {
            return false;
        }
        cursor.set_progress(record.progress);
        let (key, value) = record.shown();
        show(key, value);
        true
    }

    /// The same for other steps in a row: to the next key, to a value that is not there, to none.
    pub(crate) fn leap(&self, handle: usize, op: Op) -> Option<Res<Step>> {
        let cursor = self.cursor(handle)?;
        let (before, left) = self.records.split_at_checked(cursor.progress().count())?;
        let shown = |record: &Record| {
            cursor.set_progress(record.progress);
            let (key, value) = record.shown();
            Some(Ok((key, Some(value))))
        };
        if op == Op::GetCurrent {
            return before.last().and_then(shown);
        }
        let (forward, stride) = op.direction()?;
        let next = left.first().filter(|next| next.steps & Way::towards(forward).all != 0)?;
        match stride {
            Stride::Values if !next.is_led_to(op as u32) => Some(Err(Fault::NotFound)),
            Stride::Keys => {
                let mut rest = left.iter().take_while(|record| record.steps != 0);
                rest.find(|record| record.is_led_to(op as u32)).and_then(shown)
            }
            _ => shown(next),
        }
    }

    /// Passes the next records; how many there are, none of them shown. There are none if the step
    /// is more than a look at a leaf. Out of line: its loop has the registers.
    #[inline(never)]
    pub(crate) fn fill(
        &mut self,
        place: &mut Place,
        txn: &ReadTxn,
        forward: bool,
        width: usize,
    ) -> Option<(usize, Progress)> {
        let way = Way::towards(forward);
        let (to_value, to_key) =
            if place.is_multi() { (way.to_value, way.to_key) } else { (way.all, way.all) };
        let (mut free, mut count) = (self.records.iter_mut(), 0);
        let began = place.pass_in_leaf(txn, forward, width.min(WIDTH_MAX), |key, value, passed| {
            let Some(record) = free.next() else { return };
            count += 1;
            let steps = if passed.is_same_key { to_value } else { to_key };
            *record = Record::new(key, value, Progress::new(count, passed.place), steps);
        });
        if let Some(end) = free.next() {
            end.steps = 0;
        }
        Some((count, Progress::new(0, began?)))
    }

    /// The record that was passed last, that way, is its only one, and was shown.
    pub(crate) fn begin(
        &mut self,
        place: &mut Place,
        txn: &ReadTxn,
        forward: bool,
    ) -> Option<(usize, Progress)> {
        let mut found = None;
        let stands = place.look_back(txn, forward, |key, value, _| found = Some((key, value)))?;
        let ((key, value), [own, end, ..]) = (found?, &mut self.records);
        *own = Record::new(key, value, Progress::new(1, stands), Way::towards(forward).all);
        end.steps = 0;
        Some((1, own.progress))
    }

    /// It is the row of a cursor from now on, as long as that is used for nothing else.
    pub(crate) fn belong(&mut self, cursor: &Arc<Cursor>, txn: &Arc<Txn>, seen: Seen) {
        let is_same = |(own, its): &(Arc<Cursor>, Arc<Txn>)| {
            Arc::ptr_eq(own, cursor) && Arc::ptr_eq(its, txn)
        };
        if !self.whose.as_ref().is_some_and(is_same) {
            self.whose = Some((cursor.clone(), txn.clone()));
        }
        (self.uses, self.seen) = (cursor.uses(), seen);
    }

    /// Lets go of the cursor of a handle.
    pub(crate) fn forget(&mut self, handle: usize) {
        self.whose.take_if(|(cursor, _)| cursor.handle() == handle);
    }
}

/// How long a row is that follows one.
pub(crate) fn width_after(width: usize) -> usize {
    (2 * width).clamp(1, WIDTH_MAX)
}

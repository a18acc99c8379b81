//! Records that a reader's cursor has passed before they were asked for.
//!
//! Nothing changes that a read transaction shows. So steps straight on through a table of one value
//! for each key are made several at once, and each call shows one record of the row: what a step
//! takes beside the look at its record is paid once a row.
//!
//! R1. A row lies in one leaf. The cursor's place is behind its last record until something else is
//!     done with the cursor, which first goes back to the record that was shown last.
//! R2. A row that is used up makes the next one twice as long, up to [`WIDTH_MAX`]; one that is not
//!     makes it one record long. So a few steps pass few records in vain.

use std::ptr::with_exposed_provenance;

use huon::ReadTxn;

use crate::data::Shown;
use crate::place::Place;

const WIDTH_MAX: usize = 16;

/// Addresses of a key and a value, and how many bytes they have.
#[derive(Clone, Copy)]
struct Record {
    key: (usize, usize),
    value: (usize, usize),
}

/// The records that are shown next.
#[derive(Default)]
pub(crate) struct Row {
    records: Vec<Record>,
    /// So many of them were shown.
    at: usize,
    width: usize,
}

impl Row {
    /// The next record, if there is one. It is shown only if it is [passed](Row::pass), too.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<(Shown, Shown)> {
        let record = self.records.get(self.at)?;
        let shown = |(first, bytes)| Shown { first: with_exposed_provenance(first), bytes };
        Some((shown(record.key), shown(record.value)))
    }

    #[inline(always)]
    pub(crate) fn pass(&mut self) {
        self.at += 1;
    }

    /// Passes the next records. There are none if the step is more than a look at a leaf.
    pub(crate) fn fill(&mut self, place: &mut Place, txn: &ReadTxn, forward: bool) {
        self.width = (2 * self.width).clamp(1, WIDTH_MAX);
        self.at = 0;
        self.records.clear();
        let known = |bytes: &[u8]| (bytes.as_ptr().expose_provenance(), bytes.len());
        let Some(scan) = place.plain() else { return };
        scan.glide_in_row(txn, forward, self.width, |key, value| {
            self.records.push(Record { key: known(key), value: known(value) });
        });
    }

    /// Forgets all records, and takes those back that were not shown.
    pub(crate) fn leave(&mut self, place: &mut Place) {
        let left = self.records.len() - self.at;
        if left > 0 {
            self.width = 0;
            place.plain().into_iter().for_each(|scan| scan.glide_back(left));
        }
        self.records.clear();
        self.at = 0;
    }
}

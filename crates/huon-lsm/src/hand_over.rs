//! What a step of a merge changes: the output takes what was merged, and the inputs lose the same
//! keys.
//!
//! So a merge needs the space of a step, and what a compactor that was killed leaves are runs as
//! good as others. A tree gives back leaves that lie in a range without a copy of them, so the
//! inputs cost a look at each leaf.
//!
//! L8. After each step the output of a merge has the keys up to its last one, and its inputs those
//!     above. It lies right above them, and takes no part in another merge before this one is over.

use std::ops::Range;
use std::sync::Arc;

use huon::Result;

use crate::edit::{Edit, RECORD_BYTES};
use crate::filter::Maker;
use crate::format::{Bounds, Claim, RunRecord, State, key, kind};
use crate::manifest::Run;
use crate::merge::Buffer;
use crate::planted::{self, Bug};
use crate::policy::Lane;

/// What a step has merged into memory.
pub(crate) struct Merged {
    pub(crate) buffer: Buffer,
    /// Has the keys of the output.
    pub(crate) filter: Option<Maker>,
    /// Nothing is left of the inputs.
    pub(crate) is_last: bool,
}

impl Edit<'_> {
    /// Makes a step of a merge. `before`: as the step before left it, if there was one; `inputs`:
    /// where they are among the frozen runs. The claim and the filter of the steps to come, if any.
    pub(crate) fn hand_over(
        &mut self,
        lane: Lane,
        (before, mut claim): (Option<&Claim>, Claim),
        inputs: Range<usize>,
        merged: Merged,
    ) -> Result<Option<(Claim, Option<Maker>)>> {
        let Merged { buffer, filter, is_last } = merged;
        let mut first = usize::from(self.view.open_run().is_some()) + inputs.start;
        let output = self.fill_output(&claim, first, before.is_none(), &buffer)?;
        if before.is_some() {
            first -= 1;
            self.view.runs.remove(first);
        }
        claim.output = output.record.id;
        let end = buffer.ends().map(|(_, last)| last).filter(|_| !is_last);
        if end.is_none() || !planted::is(Bug::TrimmedApart) {
            claim.inputs = self.trim(first, claim.inputs.len(), end)?;
        }
        if claim.inputs.is_empty() {
            self.set_claim(lane, None)?;
            self.finish(first, output, filter)?;
            return Ok(None);
        }
        let output = self.store(output.number, output.record, None)?;
        self.view.runs.insert(first, output);
        self.set_claim(lane, Some(claim.clone()))?;
        Ok(Some((claim, filter)))
    }

    /// Adds records behind those of the output, which the first step makes. L1: it is another run
    /// then. `first`: where the newest of the inputs is.
    fn fill_output(
        &mut self,
        claim: &Claim,
        first: usize,
        is_first: bool,
        buffer: &Buffer,
    ) -> Result<Run> {
        let mut output = if is_first {
            let (slot, _) = self.make_table()?;
            let (state, deletes_made) = (State::Frozen, claim.deletes_made);
            let record = RunRecord { state, deletes_made, ..RunRecord::open(0, slot) };
            self.run(self.view.runs[first].number + 1, record)?
        } else {
            let output = &self.view.runs[first - 1];
            output.with(output.record.clone())
        };
        output.table.bulk_append(self.txn, |append| {
            buffer.iter().try_for_each(|(key, tagged)| append(key, tagged))
        })?;
        let record = &mut output.record;
        record.id = self.take_id()?;
        record.records += buffer.records();
        record.tombstones += buffer.tombstones();
        record.bytes += buffer.bytes() as u64 + buffer.records() * RECORD_BYTES;
        if let Some((low, high)) = buffer.ends() {
            let Bounds { low, high } = Bounds::of(low, high);
            record.bounds.high = high;
            if is_first {
                record.bounds.low = low;
            }
        }
        Ok(output)
    }

    /// L1: takes the keys up to `end` out of so many runs from `first` on, or all of them; the ids
    /// of those that have others.
    fn trim(&mut self, first: usize, count: usize, end: Option<&[u8]>) -> Result<Vec<u64>> {
        let mut left = Vec::new();
        for at in (first..first + count).rev() {
            let run = self.view.runs[at].clone();
            let Some(end) = end.filter(|end| !run.record.bounds.is_below(end)) else {
                self.drop_run(at)?;
                continue;
            };
            if at + 1 == first + count && planted::is(Bug::InputKept) {
                left.push(run.record.id);
                continue;
            }
            let mut gone = run.table.remove_range(self.txn, ..=end)?;
            if planted::is(Bug::TrimmedTooFar) {
                gone += u64::from(run.table.pop_first(self.txn)?.is_some());
            }
            let Some((low, _)) = run.table.first(self.txn)? else {
                self.drop_run(at)?;
                continue;
            };
            let record = run.record.without_lowest(gone, low);
            self.manifest_put(&key(kind::RUN, run.number), &record.encode())?;
            left.push(record.id);
            self.view.runs[at] = Arc::new(run.with(record));
        }
        left.reverse();
        Ok(left)
    }

    /// What a step has left out, by [`Bug::TrimmedApart`].
    #[cold]
    pub(crate) fn trim_after(&mut self, lane: Lane) -> Result<()> {
        let Some(mut claim) = self.view.claims[lane as usize].clone() else { return Ok(()) };
        let Some((output, inputs)) = self.view.parts_of(&claim) else { return Ok(()) };
        let end = output.table.last(self.txn)?.map(|(key, _)| key.to_vec());
        let first = usize::from(self.view.open_run().is_some()) + inputs.start;
        claim.inputs = self.trim(first, inputs.len(), end.as_deref())?;
        self.take_id()?;
        self.set_claim(lane, Some(claim))
    }

    /// The output, which is whole, takes the place of the inputs. L2: it has the number of the
    /// newest.
    fn finish(&mut self, at: usize, output: Run, mut filter: Option<Maker>) -> Result<()> {
        let Run { number, mut record, table, .. } = output;
        self.shared.manifest.remove(self.txn, &key(kind::RUN, number))?;
        if filter.is_some() && planted::is(Bug::FilterOfInput) {
            filter = self.filter_maker(1)?;
        }
        if planted::is(Bug::DeletesForgotten) {
            record.deletes_made = self.view.newest_delete();
        }
        if record.records == 0 {
            table.drop_table(self.txn)?;
        } else {
            let run = self.store(number - 1, record, filter.map(Maker::finish))?;
            self.view.runs.insert(at, run);
        }
        self.forget_deletes()
    }
}

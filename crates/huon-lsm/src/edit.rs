//! Changing the runs of an LSM table in a write transaction.
//!
//! A batch that is large enough becomes a run of its own; a smaller one is put into the open run,
//! which is frozen when it is large enough. A batch of keys above all that are there is appended to
//! the oldest run, so that input in order is written once.
//!
//! L4. A tombstone is dropped only into a run below which there is none.
//! L9. Where two records of a key become one, an operand is folded onto the older one.
//! L10. Nothing is put into a run that a delete covers which the run has made.

use std::sync::Arc;

use huon::{RawTable, Result, WriteTxn};

use crate::batch::{Batch, Sorted};
use crate::filter;
use crate::format::{
    Bounds, Claim, DeleteRecord, Header, RunRecord, State, key, kind, manifest_def, run_def,
};
use crate::manifest::{Filter, RangeDelete, Run, Shared, View};
use crate::merge::Merge;
use crate::operator::{Kept, no_operator};
use crate::planted::{self, Bug};
use crate::policy::Lane;
use crate::record::{is_operand, settled, tag};

/// Bytes that a page needs for a record beside its key and its value, about.
pub(crate) const RECORD_BYTES: u64 = 12;

/// A table's versions begin at the transaction's id with so many zero bits behind it, so that a
/// table that is dropped and made again never has a version twice (L6).
const VERSION_SHIFT: u32 = 16;

/// A change of the runs of a table in a write transaction.
pub(crate) struct Edit<'e> {
    pub(crate) shared: &'e Shared,
    pub(crate) txn: &'e mut WriteTxn,
    pub(crate) view: View,
}

/// Bytes of a record, as runs count them.
#[inline]
pub(crate) fn record_bytes(key: &[u8], tagged: &[u8]) -> u64 {
    (key.len() + tagged.len()) as u64 + RECORD_BYTES
}

impl<'e> Edit<'e> {
    /// Makes the manifest if there is none. The view is what the transaction shows.
    pub(crate) fn new(shared: &'e Shared, txn: &'e mut WriteTxn, view: View) -> Result<Edit<'e>> {
        let mut edit = Edit { shared, txn, view };
        if edit.view.header.is_none() {
            edit.txn.create_table(&manifest_def(&shared.name))?;
            let header = shared.new_header();
            edit.manifest_put(&[kind::HEADER], &header.encode())?;
            let first = edit.txn.id() << VERSION_SHIFT;
            shared.manifest.take_sequence(edit.txn, first)?;
            edit.view.version = first;
            edit.view.header = Some(Arc::new(header));
        }
        Ok(edit)
    }

    fn header(&self) -> &Header {
        self.view.header.as_deref().unwrap_or(&self.shared.header)
    }

    pub(crate) fn manifest_put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.shared.manifest.put(self.txn, key, value).map(drop)
    }

    /// L1, L6: a number that nothing of the table has had, and with it another version. L2: the
    /// next one is left to the output of a merge.
    pub(crate) fn take_id(&mut self) -> Result<u64> {
        let id = self.shared.manifest.take_sequence(self.txn, 2)?;
        self.view.version = id + 2;
        Ok(id)
    }

    /// Counts what a commit or a merge has written.
    pub(crate) fn count(&mut self, put: u64, merged: u64) -> Result<()> {
        let written = self.shared.written(self.txn)?.and(put, merged);
        self.manifest_put(&[kind::WRITTEN], &written.encode())
    }

    /// Whether a merge that has begun takes any of the runs.
    pub(crate) fn is_any_merged(&self, ids: &[u64]) -> bool {
        ids.iter().any(|id| self.view.merge_of(*id).is_some())
    }

    /// The lowest slot that no run has.
    fn free_slot(&self) -> u32 {
        let mut taken: Vec<u32> = self.view.runs.iter().map(|run| run.record.slot).collect();
        taken.sort_unstable();
        let free = (0..).zip(&taken).find(|(slot, taken)| slot != *taken);
        free.map_or(taken.len() as u32, |(slot, _)| slot)
    }

    /// A new, empty table for a run.
    pub(crate) fn make_table(&mut self) -> Result<(u32, RawTable)> {
        let slot = self.free_slot();
        Ok((slot, self.txn.create_table(&run_def(&self.shared.name, slot))?))
    }

    /// Stores the record of a run, and its filter.
    pub(crate) fn store(
        &mut self,
        number: u64,
        record: RunRecord,
        filter: Option<Vec<u8>>,
    ) -> Result<Arc<Run>> {
        self.manifest_put(&key(kind::RUN, number), &record.encode())?;
        let filter = match filter {
            None => Filter::None,
            Some(filter) => {
                self.manifest_put(&key(kind::FILTER, number), &filter)?;
                self.shared.place_filter(filter.into(), self.view.filter_bytes_in_memory())
            }
        };
        Ok(Arc::new(Run { filter, ..self.run(number, record)? }))
    }

    /// A run without a filter that is not stored yet.
    pub(crate) fn run(&self, number: u64, record: RunRecord) -> Result<Run> {
        let table = self.shared.slot(record.slot)?;
        Ok(Run { number, record, filter: Filter::None, table })
    }

    /// A filter for so many keys, if the table has filters.
    pub(crate) fn filter_maker(&self, keys: u64) -> Result<Option<filter::Maker>> {
        filter::Maker::of_table(self.header(), keys)
    }

    /// Makes the records of a batch part of the table. There is one at least.
    pub(crate) fn add_batch(&mut self, sorted: Sorted<'_>) -> Result<()> {
        if sorted.len() < self.view.small() {
            if self.view.open_run().is_none() {
                self.open_run()?;
            }
            let has_room = Edit::put_small(self.shared, self.txn, &self.view, sorted)?;
            return if has_room { Ok(()) } else { self.freeze() };
        }
        let written = match self.view.open_run().cloned() {
            // Else runs of a few records would come of batches of mixed sizes.
            Some(open) if open.table.len(self.txn)? < sorted.len() as u64 => {
                let (before, older) = (open.table.sequence(self.txn)?, self.records_of(&open)?);
                self.drop_run(0)?;
                before + self.add_sorted(&[sorted, older.sorted()?])?
            }
            _ => {
                self.freeze()?;
                self.add_sorted(&[sorted])?
            }
        };
        self.count(written, 0)
    }

    /// Puts a small batch into the open run; whether that has room for more. The view stays as it
    /// is, so that nothing has to be copied for a single record.
    pub(crate) fn put_small(
        shared: &Shared,
        txn: &mut WriteTxn,
        view: &View,
        sorted: Sorted<'_>,
    ) -> Result<bool> {
        let Some(run) = view.open_run() else { return Ok(false) };
        let is_oldest = view.runs.len() == 1;
        let mut bytes = 0;
        for (key, tagged) in sorted.iter() {
            let folded;
            let tagged = if is_operand(tagged) {
                let operator = sorted.operator().ok_or_else(no_operator)?;
                let older = run.table.get(txn, key)?;
                // L9.
                folded = older.map_or(Ok(tagged.to_vec()), |it| operator.fold(it, tagged))?;
                &folded
            } else {
                tagged
            };
            match settled(tagged, is_oldest).as_deref() {
                Some(tagged) => drop(run.table.put(txn, key, tagged)?),
                None => drop(run.table.remove(txn, key)?),
            }
            bytes += record_bytes(key, tagged);
        }
        // The sequence of an open run counts the bytes that were put into it.
        let before = run.table.take_sequence(txn, bytes)?;
        let header = view.header.as_deref().unwrap_or(&shared.header);
        Ok(before + bytes < header.open_bytes.into())
    }

    fn open_run(&mut self) -> Result<()> {
        let (slot, _) = self.make_table()?;
        let id = self.take_id()?;
        let run = self.store(id, RunRecord::open(id, slot), None)?;
        self.view.runs.insert(0, run);
        Ok(())
    }

    /// The records of a small run.
    fn records_of(&self, run: &Run) -> Result<Batch> {
        let mut batch = Batch::default();
        for record in run.table.iter(self.txn)? {
            let (key, tagged) = record?;
            batch.add_tagged(key, tagged)?;
        }
        Ok(batch)
    }

    /// Adds batches, the newest first, as a run of their own, or to the oldest run; the bytes that
    /// this has written.
    fn add_sorted(&mut self, batches: &[Sorted<'_>]) -> Result<u64> {
        let records: usize = batches.iter().map(|batch| batch.len()).sum();
        let ends = batches.iter().filter_map(Sorted::ends);
        let Some((low, high)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
            return Ok(0);
        };
        if self.can_append(0, low, high) {
            return self.append(batches);
        }
        let is_oldest = self.view.runs.is_empty();
        self.add_whole(|edit, slot_table| {
            let mut content = Content::new(edit.filter_maker(records as u64)?);
            let kept = Kept::default();
            let mut merge = Merge::of_batches(batches, &kept)?;
            slot_table.bulk_load(edit.txn, |append| {
                while let Some((key, tagged)) = merge.next()? {
                    if let Some(tagged) = settled(tagged, is_oldest).as_deref() {
                        content.note(key, tagged);
                        append(key, tagged)?;
                    }
                }
                Ok(())
            })?;
            Ok(content)
        })
    }

    /// Adds a run that `fill` fills a new table with, if it does; the bytes that it holds.
    pub(crate) fn add_whole(
        &mut self,
        fill: impl FnOnce(&mut Edit<'e>, RawTable) -> Result<Content>,
    ) -> Result<u64> {
        self.freeze()?;
        let (slot, table) = self.make_table()?;
        let content = fill(self, table)?;
        if content.records == 0 {
            table.drop_table(self.txn)?;
            return Ok(0);
        }
        let (id, bytes) = (self.take_id()?, content.bytes);
        let run = self.store_run(id, id, slot, content, 0)?;
        self.view.runs.insert(0, run);
        Ok(bytes)
    }

    /// Stores the record of a run that is whole.
    fn store_run(
        &mut self,
        number: u64,
        id: u64,
        slot: u32,
        content: Content,
        deletes_made: u64,
    ) -> Result<Arc<Run>> {
        let record = RunRecord {
            id,
            state: State::Frozen,
            slot,
            records: content.records,
            tombstones: content.tombstones,
            bytes: content.bytes,
            deletes_made,
            bounds: Bounds::of(&content.low, &content.high),
            filtered_to: Vec::new(),
        };
        self.store(number, record, content.filter.map(filter::Maker::finish))
    }

    /// Whether keys between `low` and `high` all lie above those of the oldest run, and no other
    /// run or delete meets them. The newest `passed_over` runs do not count.
    fn can_append(&self, passed_over: usize, low: &[u8], high: &[u8]) -> bool {
        let runs = &self.view.runs[passed_over..];
        let Some((oldest, others)) = runs.split_last() else { return false };
        let is_apart = |run: &Arc<Run>| {
            let bounds = &run.record.bounds;
            !run.is_open() && (bounds.is_below(low) || bounds.is_above(high))
        };
        // L10: also one that the oldest run has made, as long as it hides another.
        let meets = |delete: &RangeDelete| {
            (delete.hides(oldest) || !planted::is(Bug::AppendIntoDeleted))
                && delete.range.meets(&Bounds::of(low, high))
        };
        // An empty `filtered_to` would say that all keys are in the filter.
        !oldest.is_open()
            && !oldest.record.bounds.high.is_empty()
            && oldest.record.bounds.is_below(low)
            && others.iter().all(is_apart)
            && !self.view.deletes.iter().any(meets)
            && self.view.merge_of(oldest.record.id).is_none()
    }

    /// Appends batches, the newest first, to the oldest run. It is another run then (L1), of the
    /// same number. Nothing lies below, so tombstones go (L4). Returns the bytes that were written.
    fn append(&mut self, batches: &[Sorted<'_>]) -> Result<u64> {
        let Some(oldest) = self.view.runs.last().cloned() else { return Ok(0) };
        let (mut record, kept) = (oldest.record.clone(), Kept::default());
        let mut merge = Merge::of_batches(batches, &kept)?;
        let mut high: Option<&[u8]> = None;
        oldest.table.bulk_append(self.txn, |append| {
            while let Some((key, tagged)) = merge.next()? {
                if let Some(tagged) = settled(tagged, true).as_deref() {
                    append(key, tagged)?;
                    record.records += 1;
                    record.bytes += record_bytes(key, tagged);
                    high = Some(key);
                }
            }
            Ok(())
        })?;
        let Some(high) = high else { return Ok(0) };
        let bytes = record.bytes - oldest.record.bytes;
        record.id = self.take_id()?;
        if record.filtered_to.is_empty() {
            record.filtered_to = record.bounds.high.clone();
        }
        record.bounds.high = Bounds::of(high, high).high;
        self.manifest_put(&key(kind::RUN, oldest.number), &record.encode())?;
        self.view.runs.pop();
        self.view.runs.push(Arc::new(oldest.with(record)));
        Ok(bytes)
    }

    /// Makes the open run, if there is one, a run that never changes again.
    pub(crate) fn freeze(&mut self) -> Result<()> {
        let Some(run) = self.view.open_run().cloned() else { return Ok(()) };
        self.count(run.table.sequence(self.txn)?, 0)?;
        let ends = (run.table.first(self.txn)?, run.table.last(self.txn)?);
        let (Some((low, _)), Some((high, _))) = ends else { return self.drop_run(0) };
        let (low, high) = (low.to_vec(), high.to_vec());
        if self.can_append(1, &low, &high) {
            let records = self.records_of(&run)?;
            self.drop_run(0)?;
            return self.append(&[records.sorted()?]).map(drop);
        }
        let mut content = Content::new(self.filter_maker(run.table.len(self.txn)?)?);
        for record in run.table.iter(self.txn)? {
            let (key, tagged) = record?;
            content.note(key, tagged);
        }
        let kept = planted::is(Bug::FrozenUnnoticed).then_some(run.record.id);
        let (id, made) = (kept.map_or_else(|| self.take_id(), Ok)?, run.record.deletes_made);
        let frozen = self.store_run(run.number, id, run.record.slot, content, made)?;
        self.view.runs[0] = frozen;
        Ok(())
    }

    /// Deletes a range of keys in all runs that are there.
    pub(crate) fn delete_range(&mut self, range: &DeleteRecord) -> Result<()> {
        self.freeze()?;
        let inside = |run: &Arc<Run>| range.holds_all_of(&run.record.bounds);
        for lane in Lane::ALL {
            let Some(claim) = &self.view.claims[lane as usize] else { continue };
            let mut parts = self.view.runs.iter().filter(|run| claim.has(run.record.id));
            if parts.all(inside) {
                self.set_claim(lane, None)?;
            }
        }
        for at in (0..self.view.runs.len()).rev() {
            let run = &self.view.runs[at];
            if inside(run) && self.view.merge_of(run.record.id).is_none() {
                self.drop_run(at)?;
            }
        }
        if self.view.runs.iter().any(|run| range.meets(&run.record.bounds)) {
            let number = self.take_id()?;
            self.manifest_put(&key(kind::DELETE, number), &range.encode())?;
            self.view.deletes.push(RangeDelete { number, range: range.clone() });
        }
        self.forget_deletes()
    }

    /// Drops a run: its table, its filter, and its record.
    pub(crate) fn drop_run(&mut self, at: usize) -> Result<()> {
        let run = self.view.runs.remove(at);
        self.shared.manifest.remove(self.txn, &key(kind::RUN, run.number))?;
        self.shared.manifest.remove(self.txn, &key(kind::FILTER, run.number))?;
        run.table.drop_table(self.txn)?;
        self.take_id().map(drop)
    }

    /// Forgets deletes that hide nothing any more.
    pub(crate) fn forget_deletes(&mut self) -> Result<()> {
        let runs = &self.view.runs;
        let hides = |delete: &RangeDelete, run: &Run| {
            delete.hides(run) && (run.is_open() || delete.range.meets(&run.record.bounds))
        };
        let is_needed = |delete: &RangeDelete| runs.iter().any(|run| hides(delete, run));
        let deletes = std::mem::take(&mut self.view.deletes);
        let (kept, gone): (Vec<_>, Vec<_>) = deletes.into_iter().partition(is_needed);
        self.view.deletes = kept;
        for delete in gone {
            self.shared.manifest.remove(self.txn, &key(kind::DELETE, delete.number))?;
            self.take_id()?;
        }
        Ok(())
    }

    /// Notes how far a merge is; `None`: it is over. L6: its runs change, too.
    pub(crate) fn set_claim(&mut self, lane: Lane, claim: Option<Claim>) -> Result<()> {
        let key = key(kind::CLAIM, lane as u64);
        match &claim {
            Some(claim) => self.manifest_put(&key, &claim.encode())?,
            None => drop(self.shared.manifest.remove(self.txn, &key)?),
        }
        self.view.claims[lane as usize] = claim;
        Ok(())
    }

    /// Drops the table and all that belongs to it; the view after it.
    pub(crate) fn drop_table(shared: &Shared, txn: &mut WriteTxn, view: &View) -> Result<View> {
        if view.header.is_some() {
            for run in &view.runs {
                run.table.drop_table(txn)?;
            }
            shared.manifest.drop_table(txn)?;
        }
        Ok(View::default())
    }
}

/// What a run is found to hold while it is written.
pub(crate) struct Content {
    pub(crate) records: u64,
    pub(crate) tombstones: u64,
    pub(crate) bytes: u64,
    pub(crate) low: Vec<u8>,
    pub(crate) high: Vec<u8>,
    pub(crate) filter: Option<filter::Maker>,
}

impl Content {
    pub(crate) fn new(filter: Option<filter::Maker>) -> Content {
        Content { records: 0, tombstones: 0, bytes: 0, low: Vec::new(), high: Vec::new(), filter }
    }

    #[inline]
    pub(crate) fn note(&mut self, key: &[u8], tagged: &[u8]) {
        if self.records == 0 {
            self.low = key.to_vec();
        }
        self.high.clear();
        self.high.extend_from_slice(key);
        self.records += 1;
        self.tombstones += u64::from(tagged == [tag::DELETE]);
        self.bytes += record_bytes(key, tagged);
        if let Some(filter) = &mut self.filter {
            filter.add(filter::hash(key));
        }
    }
}

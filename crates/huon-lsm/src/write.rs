//! Changing an LSM table: what a transaction collects, and what becomes of it at the commit.
//!
//! A batch that is large enough becomes a run of its own; a smaller one is put into the open run,
//! which is frozen when it is large enough. A batch of keys above all that are there is appended to
//! the oldest run, so that input in order is written once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use huon::{Error, Extension, RawTable, Result, WriteTxn};

use crate::batch::{Batch, Mark, Sorted};
use crate::filter;
use crate::format::{
    Bounds, Claim, DeleteRecord, RunRecord, State, key, kind, manifest_def, run_def, tag,
};
use crate::manifest::{Claims, Filter, RangeDelete, Run, Shared, View};
use crate::policy::Lane;

/// Bytes that a page needs for a record beside its key and its value, about.
const RECORD_BYTES: u64 = 12;

/// What a transaction has collected of each LSM table.
#[derive(Default)]
pub(crate) struct Pending {
    tables: Vec<PendingTable>,
    /// Levels that are open since this was added.
    depth: usize,
}

/// What a transaction has collected of one.
pub(crate) struct PendingTable {
    shared: Arc<Shared>,
    pub(crate) batch: Batch,
    /// The runs as this transaction has them, once it has changed them.
    pub(crate) view: Option<Arc<View>>,
    levels: Vec<(Mark, Option<Arc<View>>)>,
    /// Bytes that became runs.
    put_bytes: u64,
}

impl Pending {
    /// What a transaction has collected of a table, if anything.
    pub(crate) fn of<'t>(txn: &'t WriteTxn, shared: &Shared) -> Option<&'t PendingTable> {
        let tables = &txn.extension::<Pending>()?.tables;
        tables.iter().find(|table| table.is_of(shared))
    }

    /// The same, to collect more. A batch that is too large has become a run before.
    pub(crate) fn of_mut<'t>(
        txn: &'t mut WriteTxn,
        shared: &Arc<Shared>,
    ) -> Result<&'t mut PendingTable> {
        let known = txn.extend(Pending::default).position(shared);
        let at = match known {
            Some(at) => at,
            None => {
                // Whether the table is of this environment is seen before anything is collected.
                shared.manifest.sequence(txn)?;
                txn.extend(Pending::default).add(shared)
            }
        };
        if txn.extend(Pending::default).is_full(at) {
            Pending::spill(txn, at)?;
        }
        Ok(&mut txn.extend(Pending::default).tables[at])
    }

    fn position(&self, shared: &Shared) -> Option<usize> {
        self.tables.iter().position(|table| table.is_of(shared))
    }

    fn add(&mut self, shared: &Arc<Shared>) -> usize {
        let levels = vec![(Mark::default(), None); self.depth];
        let (batch, put_bytes) = (Batch::default(), 0);
        self.tables.push(PendingTable { shared: shared.clone(), batch, view: None, levels, put_bytes });
        self.tables.len() - 1
    }

    /// Whether the batch is to become a run now. In a nested transaction it cannot: what outer ones
    /// have collected would go with it, and come back if it is undone.
    fn is_full(&self, at: usize) -> bool {
        let table = &self.tables[at];
        self.depth == 0 && table.batch.bytes() >= table.shared.options.batch_bytes
    }

    fn spill(txn: &mut WriteTxn, at: usize) -> Result<()> {
        let table = &mut txn.extend(Pending::default).tables[at];
        let (shared, view) = (table.shared.clone(), table.view.clone());
        let batch = std::mem::take(&mut table.batch);
        let bytes = batch.bytes() as u64;
        let view = apply(&shared, txn, view, &batch)?;
        let table = &mut txn.extend(Pending::default).tables[at];
        (table.view, table.put_bytes) = (Some(view), table.put_bytes + bytes);
        Ok(())
    }
}

impl PendingTable {
    #[inline]
    fn is_of(&self, shared: &Shared) -> bool {
        self.shared.unique == shared.unique || self.shared.name == shared.name
    }

    /// The runs as the transaction sees them.
    pub(crate) fn view(&self, txn: &WriteTxn) -> Result<Arc<View>> {
        match &self.view {
            Some(view) => Ok(view.clone()),
            None => self.shared.view(txn),
        }
    }
}

impl Extension for Pending {
    fn begin_level(&mut self) {
        self.depth += 1;
        for table in &mut self.tables {
            table.levels.push((table.batch.mark(), table.view.clone()));
        }
    }

    fn end_level(&mut self, kept: bool) {
        self.depth -= 1;
        for table in &mut self.tables {
            let Some((mark, view)) = table.levels.pop() else { continue };
            if !kept {
                table.batch.cut_back(mark);
                table.view = view;
            }
        }
    }

    fn before_commit(&mut self, txn: &mut WriteTxn) -> Result<()> {
        for table in &mut self.tables {
            if !table.batch.is_empty() {
                let batch = std::mem::take(&mut table.batch);
                table.put_bytes += batch.bytes() as u64;
                table.view = Some(apply(&table.shared, txn, table.view.take(), &batch)?);
            }
        }
        Ok(())
    }

    fn after_commit(&mut self, _id: u64) {
        for table in self.tables.drain(..) {
            let Some(view) = table.view else { continue };
            // L6.
            table.shared.keep(&view);
            table.shared.counts.put_bytes.fetch_add(table.put_bytes, Ordering::Relaxed);
            table.shared.maintain(table.put_bytes);
        }
    }
}

/// Makes what a batch holds part of the table; the runs after it.
fn apply(
    shared: &Arc<Shared>,
    txn: &mut WriteTxn,
    view: Option<Arc<View>>,
    batch: &Batch,
) -> Result<Arc<View>> {
    let view = match view {
        Some(view) => view,
        None => shared.view(txn)?,
    };
    let mut edit = Edit::new(shared, txn, View::clone(&view))?;
    batch.deletes().try_for_each(|range| edit.delete_range(range))?;
    let sorted = batch.sorted();
    if sorted.len() >= edit.small() {
        edit.add_batch(sorted)?;
    } else if !sorted.is_empty() {
        edit.put_small(sorted)?;
    }
    Ok(Arc::new(edit.view))
}

/// A change of the runs of a table in a write transaction.
pub(crate) struct Edit<'e> {
    shared: &'e Shared,
    pub(crate) txn: &'e mut WriteTxn,
    pub(crate) view: View,
    claims: Claims,
}

impl<'e> Edit<'e> {
    /// Makes the manifest if there is none.
    pub(crate) fn new(shared: &'e Shared, txn: &'e mut WriteTxn, view: View) -> Result<Edit<'e>> {
        let mut edit = Edit { shared, claims: shared.claims(txn)?, txn, view };
        if edit.view.header.is_none() {
            edit.txn.create_table(&manifest_def(&shared.name))?;
            edit.manifest_put(&[kind::HEADER], &shared.header.encode())?;
            edit.take_id()?;
            edit.view.header = Some(Arc::new(shared.header.clone()));
        }
        Ok(edit)
    }

    fn header(&self) -> &crate::format::Header {
        self.view.header.as_deref().unwrap_or(&self.shared.header)
    }

    fn small(&self) -> usize {
        self.header().small as usize
    }

    fn manifest_put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.shared.manifest.put(self.txn, key, value).map(drop)
    }

    /// L6: a number that no run has had, and with it another version.
    fn take_id(&mut self) -> Result<u64> {
        let id = self.shared.manifest.take_sequence(self.txn, 1)?;
        self.view.version = id + 1;
        Ok(id)
    }

    /// Whether a merge that has begun takes the run.
    fn is_input(&self, id: u64) -> bool {
        self.claims.iter().flatten().any(|claim| claim.inputs.contains(&id))
    }

    /// The lowest slot that no run and no merge has.
    fn free_slot(&self) -> u32 {
        let runs = self.view.runs.iter().map(|run| run.record.slot);
        let outputs = self.claims.iter().flatten().map(|claim| claim.slot);
        let mut taken: Vec<u32> = runs.chain(outputs).collect();
        taken.sort_unstable();
        taken.dedup();
        (0..).zip(&taken).find(|(slot, taken)| slot != *taken).map_or(taken.len() as u32, |(slot, _)| slot)
    }

    /// A new, empty table for a run.
    pub(crate) fn make_table(&mut self) -> Result<(u32, RawTable)> {
        let slot = self.free_slot();
        Ok((slot, self.txn.create_table(&run_def(&self.shared.name, slot))?))
    }

    /// Stores the record of a run, and its filter.
    fn store(&mut self, number: u64, record: RunRecord, filter: Option<Vec<u8>>) -> Result<Arc<Run>> {
        self.manifest_put(&key(kind::RUN, number), &record.encode())?;
        let others = self.view.runs.iter().map(|run| match &run.filter {
            Filter::Memory(filter) => filter.len(),
            Filter::None | Filter::File => 0,
        });
        let others = others.sum();
        let filter = match filter {
            None => Filter::None,
            Some(filter) => {
                self.manifest_put(&key(kind::FILTER, number), &filter)?;
                self.shared.place_filter(filter.into(), others)
            }
        };
        let table = self.shared.slot(record.slot)?;
        Ok(Arc::new(Run { number, record, filter, table }))
    }

    /// A filter for so many keys, if the table has filters.
    pub(crate) fn filter_maker(&self, keys: u64) -> Option<filter::Maker> {
        let bits = self.header().filter_bits;
        (bits > 0).then(|| filter::Maker::new(keys, bits.into()))
    }

    /// Puts a small batch into the open run.
    fn put_small(&mut self, sorted: Sorted<'_>) -> Result<()> {
        let run = match self.view.open_run() {
            Some(run) => run.clone(),
            None => self.open_run()?,
        };
        for (key, tagged) in sorted.iter() {
            run.table.put(self.txn, key, tagged)?;
        }
        let (key, tagged) = sorted.get(0);
        let about = (key.len() + tagged.len()) as u64 + RECORD_BYTES;
        if run.table.len(self.txn)? * about >= self.header().open_bytes.into() {
            self.freeze()?;
        }
        Ok(())
    }

    fn open_run(&mut self) -> Result<Arc<Run>> {
        let (slot, _) = self.make_table()?;
        let record = RunRecord {
            id: self.take_id()?,
            state: State::Open,
            slot,
            records: 0,
            tombstones: 0,
            bytes: 0,
            deletes_made: 0,
            bounds: Bounds::default(),
            filtered_to: Vec::new(),
        };
        let run = self.store(self.view.next_number(), record, None)?;
        self.view.runs.insert(0, run.clone());
        Ok(run)
    }

    /// Adds a batch as a run of its own.
    fn add_batch(&mut self, sorted: Sorted<'_>) -> Result<()> {
        let Some(open) = self.view.open_run().cloned() else { return self.add_sorted(sorted) };
        if open.table.len(self.txn)? >= sorted.len() as u64 {
            self.freeze()?;
            return self.add_sorted(sorted);
        }
        // Else runs of a few records would come of batches of mixed sizes.
        let mut joined = Batch::default();
        for record in open.table.iter(self.txn)? {
            let (key, tagged) = record?;
            joined.add_tagged(key, tagged)?;
        }
        sorted.iter().try_for_each(|(key, tagged)| joined.add_tagged(key, tagged))?;
        self.drop_run(0)?;
        self.add_sorted(joined.sorted())
    }

    fn add_sorted(&mut self, sorted: Sorted<'_>) -> Result<()> {
        if self.can_append(sorted) {
            return self.append(sorted);
        }
        // L4: below the oldest run there is nothing to hide.
        let keeps_tombstones = !self.view.runs.is_empty();
        let kept = |record: &(&[u8], &[u8])| keeps_tombstones || *record.1 != [tag::DELETE];
        let (slot, table) = self.make_table()?;
        let mut content = Content::new(self.filter_maker(sorted.len() as u64));
        table.bulk_load(self.txn, |append| {
            sorted.iter().filter(kept).try_for_each(|(key, tagged)| {
                content.note(key, tagged);
                append(key, tagged)
            })
        })?;
        if content.records == 0 {
            table.drop_table(self.txn)?;
            return Ok(());
        }
        let number = self.view.next_number();
        let run = self.add_run(number, slot, content, 0)?;
        self.view.runs.insert(0, run);
        Ok(())
    }

    /// Stores the record of a run that is whole.
    pub(crate) fn add_run(
        &mut self,
        number: u64,
        slot: u32,
        content: Content,
        deletes_made: u64,
    ) -> Result<Arc<Run>> {
        let record = RunRecord {
            id: self.take_id()?,
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

    /// Whether all keys lie above those of the oldest run, and no other run or delete meets them.
    fn can_append(&self, sorted: Sorted<'_>) -> bool {
        let Some((oldest, others)) = self.view.runs.split_last() else { return false };
        let (low, high) = (sorted.get(0).0, sorted.get(sorted.len() - 1).0);
        let is_apart = |run: &Arc<Run>| {
            let bounds = &run.record.bounds;
            !run.is_open() && (bounds.is_below(low) || bounds.is_above(high))
        };
        let meets = |delete: &RangeDelete| {
            delete.hides(oldest) && delete.range.meets(&Bounds::of(low, high))
        };
        !oldest.is_open()
            && oldest.record.bounds.is_below(low)
            && others.iter().all(is_apart)
            && !self.view.deletes.iter().any(meets)
            && !self.is_input(oldest.record.id)
    }

    /// Appends a batch to the oldest run. It is another run then (L1), of the same number.
    fn append(&mut self, sorted: Sorted<'_>) -> Result<()> {
        let oldest = self.view.runs.last().expect("there is a run to append to").clone();
        let mut record = oldest.record.clone();
        let mut high: Option<&[u8]> = None;
        for (key, tagged) in sorted.iter().filter(|(_, tagged)| **tagged != [tag::DELETE]) {
            oldest.table.append(self.txn, key, tagged)?;
            record.records += 1;
            record.bytes += (key.len() + tagged.len()) as u64 + RECORD_BYTES;
            high = Some(key);
        }
        let Some(high) = high else { return Ok(()) };
        record.id = self.take_id()?;
        if record.filtered_to.is_empty() {
            record.filtered_to = record.bounds.high.clone();
        }
        record.bounds.high = Bounds::of(high, high).high;
        self.manifest_put(&key(kind::RUN, oldest.number), &record.encode())?;
        let filter = match &oldest.filter {
            Filter::None => Filter::None,
            Filter::File => Filter::File,
            Filter::Memory(filter) => Filter::Memory(filter.clone()),
        };
        let run = Run { number: oldest.number, record, filter, table: oldest.table };
        *self.view.runs.last_mut().expect("it was there") = Arc::new(run);
        Ok(())
    }

    /// Makes the open run, if there is one, a run that never changes again.
    pub(crate) fn freeze(&mut self) -> Result<()> {
        let Some(run) = self.view.open_run().cloned() else { return Ok(()) };
        let records = run.table.len(self.txn)?;
        if records == 0 {
            return self.drop_run(0);
        }
        if self.view.runs.len() > 1 {
            let mut batch = Batch::default();
            for record in run.table.iter(self.txn)? {
                let (key, tagged) = record?;
                batch.add_tagged(key, tagged)?;
            }
            let others = self.view.runs.split_off(1);
            let open = std::mem::replace(&mut self.view.runs, others);
            let appends = self.can_append(batch.sorted());
            if appends {
                self.append(batch.sorted())?;
            }
            let others = std::mem::replace(&mut self.view.runs, open);
            self.view.runs.extend(others);
            if appends {
                return self.drop_run(0);
            }
        }
        let mut content = Content::new(self.filter_maker(records));
        for record in run.table.iter(self.txn)? {
            let (key, tagged) = record?;
            content.note(key, tagged);
        }
        self.view.runs[0] = self.add_run(run.number, run.record.slot, content, run.record.deletes_made)?;
        Ok(())
    }

    /// Deletes a range of keys in all runs that are there.
    fn delete_range(&mut self, range: &DeleteRecord) -> Result<()> {
        self.freeze()?;
        let is_inside = |bounds: &Bounds| {
            range.from <= bounds.low && range.to.as_deref().is_none_or(|to| bounds.is_below(to))
        };
        for at in (0..self.view.runs.len()).rev() {
            let record = &self.view.runs[at].record;
            if is_inside(&record.bounds) && !self.is_input(record.id) {
                self.drop_run(at)?;
            }
        }
        if !self.view.runs.iter().any(|run| range.meets(&run.record.bounds)) {
            return Ok(());
        }
        let number = self.view.next_number();
        self.manifest_put(&key(kind::DELETE, number), &range.encode())?;
        self.take_id()?;
        self.view.deletes.push(RangeDelete { number, range: range.clone() });
        Ok(())
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
        let is_needed = |delete: &RangeDelete| {
            let hides = |run: &Arc<Run>| {
                delete.hides(run) && (run.is_open() || delete.range.meets(&run.record.bounds))
            };
            runs.iter().any(hides)
        };
        let (kept, gone) = std::mem::take(&mut self.view.deletes).into_iter().partition(is_needed);
        self.view.deletes = kept;
        let gone: Vec<RangeDelete> = gone;
        for delete in gone {
            self.shared.manifest.remove(self.txn, &key(kind::DELETE, delete.number))?;
            self.take_id()?;
        }
        Ok(())
    }

    /// Notes how far a merge is; `None`: it is over.
    pub(crate) fn set_claim(&mut self, lane: Lane, claim: Option<Claim>) -> Result<()> {
        let key = key(kind::CLAIM, lane as u64);
        match &claim {
            Some(claim) => self.manifest_put(&key, &claim.encode())?,
            None => drop(self.shared.manifest.remove(self.txn, &key)?),
        }
        self.claims[lane as usize] = claim;
        Ok(())
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
        self.bytes += (key.len() + tagged.len()) as u64 + RECORD_BYTES;
        if let Some(filter) = &mut self.filter {
            filter.add(filter::hash(key));
        }
    }
}

/// The error for a key that no page holds.
pub(crate) fn check_key(shared: &Shared, key: &[u8]) -> Result<()> {
    let max = shared.key_bytes_max;
    if key.len() <= max as usize {
        return Ok(());
    }
    Err(Error::KeyTooLong { bytes: u32::try_from(key.len()).unwrap_or(u32::MAX), max })
}

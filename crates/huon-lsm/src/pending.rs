//! What a write transaction has collected of LSM tables, and what becomes of it at the commit.
//!
//! The transaction carries it as an extension of its own, so that it follows nested transactions
//! and savepoints, and no program can forget it when it commits.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use huon::{Extension, Result, WriteTxn};

use crate::batch::{Batch, Mark};
use crate::edit::Edit;
use crate::lsm::{TableBatch, WriteBatch};
use crate::manifest::{Shared, View};
use crate::planted::{self, Bug};

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
    now: Now,
    /// What there was when each level began.
    levels: Vec<(Mark, Now)>,
}

/// What the transaction has changed in the file already.
#[derive(Clone, Default)]
struct Now {
    /// The runs as this transaction has them, once it has changed them.
    view: Option<Arc<View>>,
    /// Bytes that became runs.
    put_bytes: u64,
}

impl Pending {
    /// What a transaction has collected of a table, if anything.
    #[inline]
    pub(crate) fn of<'t>(txn: &'t WriteTxn, shared: &Shared) -> Option<&'t PendingTable> {
        let tables = &txn.extension::<Pending>()?.tables;
        tables.iter().find(|table| table.is_of(shared))
    }

    /// The same, to collect more. A batch that is too large has become a run before.
    #[inline]
    pub(crate) fn of_mut<'t>(
        txn: &'t mut WriteTxn,
        shared: &Arc<Shared>,
    ) -> Result<&'t mut PendingTable> {
        let tables = &txn.extend(Pending::default).tables;
        let known = tables.iter().position(|table| table.shared.unique == shared.unique);
        let at = match known {
            Some(at) if !tables[at].is_full() => at,
            _ => Pending::with_room(txn, shared)?,
        };
        Ok(&mut txn.extend(Pending::default).tables[at])
    }

    #[cold]
    fn with_room(txn: &mut WriteTxn, shared: &Arc<Shared>) -> Result<usize> {
        let at = Pending::place(txn, shared)?;
        if txn.extend(Pending::default).tables[at].is_full() {
            Pending::spill(txn, at)?;
        }
        Ok(at)
    }

    /// Makes what a batch without a transaction holds a part of its tables, ahead of the commit.
    pub(crate) fn write(txn: &mut WriteTxn, batch: WriteBatch) -> Result<()> {
        for TableBatch { handles, batch } in batch.tables {
            for shared in &handles {
                Pending::place(txn, shared)?;
            }
            Pending::of_mut(txn, &handles[0])?.take(batch)?;
        }
        let mut tables = std::mem::take(&mut txn.extend(Pending::default).tables);
        let settled = tables.iter_mut().try_for_each(|table| table.settle(txn));
        txn.extend(Pending::default).tables = tables;
        settled
    }

    fn place(txn: &mut WriteTxn, shared: &Arc<Shared>) -> Result<usize> {
        let tables = &txn.extend(Pending::default).tables;
        if let Some(at) = tables.iter().position(|table| table.shared.unique == shared.unique) {
            return Ok(at);
        }
        // Whether the table is of this environment is seen before anything is collected.
        shared.manifest.sequence(txn)?;
        let pending = txn.extend(Pending::default);
        match pending.tables.iter().position(|table| table.is_of(shared)) {
            Some(at) => {
                // If the table is made, it is with the operator that a handle has.
                let known = &mut pending.tables[at].shared;
                if known.operator().is_none() && shared.operator().is_some() {
                    *known = shared.clone();
                }
                Ok(at)
            }
            None => {
                let levels = vec![(Mark::default(), Now::default()); pending.depth];
                let (shared, batch, now) = (shared.clone(), Batch::default(), Now::default());
                pending.tables.push(PendingTable { shared, batch, now, levels });
                Ok(pending.tables.len() - 1)
            }
        }
    }

    /// Makes what was collected a part of the table, ahead of the commit.
    fn spill(txn: &mut WriteTxn, at: usize) -> Result<()> {
        let table = &mut txn.extend(Pending::default).tables[at];
        let batch = std::mem::take(&mut table.batch);
        let (shared, now) = (table.shared.clone(), table.now.clone());
        let changed = txn.nested(|txn| now.with(&shared, txn, &batch));
        let table = &mut txn.extend(Pending::default).tables[at];
        match changed {
            Ok(now) => table.now = now,
            Err(error) => {
                table.batch = batch;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Changes the runs of a table at once, behind what was collected; `false`: that cannot be, as
    /// outer levels have collected records. `work` returns the bytes that became runs. An error
    /// undoes all of it.
    pub(crate) fn edit_now(
        txn: &mut WriteTxn,
        shared: &Arc<Shared>,
        work: impl FnOnce(&mut Edit<'_>) -> Result<u64>,
    ) -> Result<bool> {
        let at = Pending::place(txn, shared)?;
        let table = &txn.extend(Pending::default).tables[at];
        if !table.can_spill() {
            return Ok(false);
        }
        if !table.batch.is_empty() {
            Pending::spill(txn, at)?;
        }
        let mut now = txn.extend(Pending::default).tables[at].now.clone();
        let (view, bytes) = txn.nested(|txn| {
            let view = now.view(shared, txn)?;
            view.check_operator(shared.operator())?;
            let mut edit = Edit::new(shared, txn, View::clone(&view))?;
            let bytes = work(&mut edit)?;
            Ok((edit.view, bytes))
        })?;
        now.view = Some(Arc::new(view));
        now.put_bytes += bytes;
        txn.extend(Pending::default).tables[at].now = now;
        Ok(true)
    }
}

impl Now {
    fn view(&self, shared: &Shared, txn: &WriteTxn) -> Result<Arc<View>> {
        match &self.view {
            Some(view) => Ok(view.clone()),
            None => shared.view(txn),
        }
    }

    /// What there is after what a batch holds was made part of the table.
    fn with(mut self, shared: &Shared, txn: &mut WriteTxn, batch: &Batch) -> Result<Now> {
        let view = self.view(shared, txn)?;
        self.view = Some(apply(shared, txn, view, batch)?);
        self.put_bytes += batch.bytes() as u64;
        Ok(self)
    }
}

impl PendingTable {
    /// Another handle of the same table counts as this one.
    #[inline]
    fn is_of(&self, shared: &Shared) -> bool {
        self.shared.unique == shared.unique || self.shared.name == shared.name
    }

    /// Whether what was collected can become a run now. It cannot if outer levels have a part in
    /// it: that would go with it, and come back if the level is undone.
    fn can_spill(&self) -> bool {
        self.levels.iter().all(|(mark, _)| mark.is_empty())
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.batch.bytes() >= self.shared.options.batch_bytes && self.can_spill()
    }

    /// Adds what a batch holds, which costs nothing if there was nothing before.
    pub(crate) fn take(&mut self, batch: Batch) -> Result<()> {
        if self.batch.is_empty() && self.levels.is_empty() {
            self.batch = batch;
            return Ok(());
        }
        self.batch.append(&batch)
    }

    /// Makes what was collected a part of the table.
    fn settle(&mut self, txn: &mut WriteTxn) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let (batch, now) = (std::mem::take(&mut self.batch), self.now.clone());
        self.now = now.with(&self.shared, txn, &batch)?;
        if planted::is(Bug::ViewBeforeCommit) {
            self.now.view.iter().for_each(|view| self.shared.keep(view));
        }
        Ok(())
    }

    /// The runs as the transaction sees them.
    pub(crate) fn view(&self, txn: &WriteTxn) -> Result<Arc<View>> {
        self.now.view(&self.shared, txn)
    }
}

impl Extension for Pending {
    fn begin_level(&mut self) {
        self.depth += 1;
        for table in &mut self.tables {
            table.levels.push((table.batch.mark(), table.now.clone()));
        }
    }

    fn end_level(&mut self, kept: bool) {
        self.depth -= 1;
        for table in &mut self.tables {
            let Some((mark, now)) = table.levels.pop() else { continue };
            if !kept {
                table.batch.cut_back(mark);
                table.now = now;
            }
        }
    }

    fn before_commit(&mut self, txn: &mut WriteTxn) -> Result<()> {
        self.tables.iter_mut().try_for_each(|table| table.settle(txn))
    }

    fn after_commit(&mut self, _id: u64) {
        for PendingTable { shared, now, .. } in self.tables.drain(..) {
            let Some(view) = &now.view else { continue };
            // L6.
            shared.keep(view);
            shared.counts.put_bytes.fetch_add(now.put_bytes, Ordering::Relaxed);
            shared.maintain(now.put_bytes);
        }
    }
}

/// Makes what a batch holds part of the table; the runs after it.
fn apply(shared: &Shared, txn: &mut WriteTxn, view: Arc<View>, batch: &Batch) -> Result<Arc<View>> {
    if batch.drops_table() {
        return Edit::drop_table(shared, txn, &view).map(Arc::new);
    }
    view.check_operator(shared.operator())?;
    let (sorted, has_deletes) = (batch.sorted()?, batch.deletes().len() > 0);
    if view.header.is_none() && sorted.is_empty() {
        return Ok(view);
    }
    let is_small = !has_deletes && view.open_run().is_some();
    if is_small && sorted.len() < view.small() {
        if Edit::put_small(shared, txn, &view, sorted)? {
            return Ok(view);
        }
        let mut edit = Edit::new(shared, txn, View::clone(&view))?;
        edit.freeze()?;
        return Ok(Arc::new(edit.view));
    }
    let mut edit = Edit::new(shared, txn, View::clone(&view))?;
    batch.deletes().try_for_each(|range| edit.delete_range(range))?;
    if !sorted.is_empty() {
        edit.add_batch(sorted)?;
    }
    Ok(Arc::new(edit.view))
}

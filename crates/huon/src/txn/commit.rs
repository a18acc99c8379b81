//! Committing: seal, publish, and wait until it is durable.
//!
//! The steps, and what a crash right after each leaves:
//!
//! 1. the changed tables' records go into the catalog: nothing, it is all in buffers;
//! 2. pages and chunks are written: nothing, no snapshot reaches them, and the id is burnt (P7);
//! 3. the image is stored and named as newest: *sealed*. The commit has happened for every process;
//!    after a power loss it may or may not have;
//! 4. the writer lock is released; this client or another flushes the newest sealed snapshot
//!    (`flush`);
//! 5. durable: no power loss takes it away. New readers see it at the latest now.
//!
//! A transaction that changed nothing takes no step before the fourth: its base stands for it, and
//! is published and flushed as was asked. Its id is left to the next one, unless it wrote.

use std::sync::atomic::Ordering;

use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::lock::Mark;
use crate::page::Meta;
use crate::planted::{self, Bug};
use crate::store::space::Shrink;
use crate::tell;
use crate::txn::Base;
use crate::txn::flush::MetaFlush;
use crate::txn::ticket::Ticket;
use crate::txn::write::{BASE_THERE, WriteTxn};

/// What a commit waits for.
///
/// In every mode a commit happens whole or not at all, in order, and survives the crash of any
/// process. The modes differ in what a power loss or a crash of the operating system may take away;
/// what is left is always the state of one earlier commit, whole.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Durability, Env};
/// let env = Env::options().durability(Durability::Lazy).open(dir.path().join("cache.huon"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// Until no power loss can take it away: one flush if at most 1 MiB was written since the last
    /// flush, two if more. Others that wait at the same time share the flush.
    #[default]
    Durable,
    /// For one flush, however much was written. A small commit is durable then; of a large one the
    /// last step is left to the next flush, and a power loss before that may take it away.
    NoMetaSync,
    /// For nothing: after a power loss the file holds the last checkpoint, which is a flush of all
    /// commits before it. Checkpoints come by
    /// [`Options::flush_after_bytes`](crate::Options::flush_after_bytes) and
    /// [`Options::flush_after`](crate::Options::flush_after), by durable commits,
    /// [`Env::sync`](crate::Env::sync), and closing.
    Lazy,
    /// For nothing, and only [`Env::sync`](crate::Env::sync) and durable commits of others flush:
    /// thresholds do not, and if the environment was opened so, closing does not either. After
    /// closing, all commits are in the file as long as the kernel runs. A power loss before the
    /// kernel has written them out (about half a minute) falls back to the last checkpoint, which
    /// may be the empty file. (The first write transaction after an unclean end flushes in every
    /// mode.)
    Unsynced,
}

impl Durability {
    /// All of them.
    pub(crate) const ALL: [Durability; 4] =
        [Durability::Durable, Durability::NoMetaSync, Durability::Lazy, Durability::Unsynced];

    /// Whether the commit does not wait for the disk: then pages may be edited in place.
    pub(crate) fn is_lazy(self) -> bool {
        matches!(self, Durability::Lazy | Durability::Unsynced)
    }

    /// Whether it may be seen before anything of it has been flushed.
    fn is_published_at_seal(self) -> bool {
        self != Durability::Durable
    }
}

impl WriteTxn {
    /// Makes the changes permanent and visible, and waits as the environment's [`Durability`] says.
    /// Returns the id of the new snapshot: the last that [`WriteTxn::id`] returned.
    ///
    /// A transaction that changed nothing makes no snapshot, and returns the id of the one it began
    /// with; so does one that put only values that were there already. That snapshot is then as
    /// durable as this commit asked for.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let id = txn.id();
    /// txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?;
    /// assert_eq!(txn.commit()?, id);
    /// assert_eq!(env.read()?.id(), id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of its pages (each is written once, whatever was changed in it: the path to a leaf,
    /// and one or more for free space now and then), of an image of 4 KiB in the lock file, and if
    /// it is durable of a flush; two if it wrote more than 1 MiB.
    ///
    /// # Errors
    /// Until the seal an error means that nothing has happened. [`Error::Poisoned`] means that the
    /// flush failed: whether the commit survives a power loss is unknown.
    pub fn commit(self) -> Result<u64> {
        let durability = self.core.durability();
        self.commit_with(durability)
    }

    /// The same, with a durability for this commit.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 1)?;
    /// let id = txn.commit_with(huon::Durability::Lazy)?;
    /// assert_eq!(env.read()?.id(), id, "visible at once");
    /// env.sync()?; // Now no power loss can take it away.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_with(self, durability: Durability) -> Result<u64> {
        // The next commit is expected to be like this one.
        self.core.edits_in_place.store(durability.is_lazy(), Ordering::Relaxed);
        self.commit_by(durability, durability == Durability::Durable)
    }

    /// `recorded`: it is to be durable soon, and leaves a record for the journal (J1.3).
    fn commit_by(mut self, durability: Durability, recorded: bool) -> Result<u64> {
        // A level is only left open by a panic in the work of a nested transaction.
        if self.is_broken() || self.is_nested() {
            return Err(Error::TxnBroken);
        }
        self.commit_levels(0)?;
        let extensions = self.finish_extensions()?;
        // A child would edit what its parent edits.
        self.core.check_forked()?;
        reach(Point::CommitBegun);
        let is_changed = self.is_changed();
        let mark = if is_changed { self.seal(recorded)? } else { self.found()? };
        let core = self.core.clone();
        if durability.is_published_at_seal() {
            core.store.board.publish(mark);
            reach(Point::Published);
        }
        drop(self);
        reach(Point::WriterLeft);
        match durability {
            _ if planted::is(Bug::EmptyCommitFlush) && !is_changed => {}
            Durability::Durable => core.flush_up_to(mark.txnid(), MetaFlush::Now)?,
            Durability::NoMetaSync => core.flush_up_to(mark.txnid(), MetaFlush::Later)?,
            Durability::Lazy => core.flush_if_due().map(drop)?,
            Durability::Unsynced => {}
        }
        reach(Point::CommitDone);
        if is_changed {
            tell::committed(mark.txnid(), &durability);
        }
        extensions.after_commit(mark.txnid());
        Ok(mark.txnid())
    }

    /// Commits, visible at once, and returns a ticket with which any thread can wait for durability
    /// later.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::U64, huon::U64> = huon::TableDef::new("t");
    /// let mut tickets = Vec::new();
    /// for n in 0..10 {
    ///     let mut txn = env.write()?;
    ///     txn.create_table(&T)?.put(&mut txn, n, n)?;
    ///     tickets.push(txn.commit_ticket()?);
    /// }
    /// // One flush for all ten, from another thread if need be.
    /// let last = tickets.pop().expect("ten");
    /// std::thread::spawn(move || last.wait()).join().expect("no panic")?;
    /// assert!(tickets.iter().all(|ticket| ticket.is_durable()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::commit`]; an error means that nothing has happened.
    pub fn commit_ticket(self) -> Result<Ticket> {
        let core = self.core.clone();
        let txnid = self.commit_by(Durability::Unsynced, true)?;
        Ok(Ticket { core, txnid })
    }

    /// The snapshot of a transaction that changed nothing: its base, which is named as newest as
    /// long as the writer lock is held (P3).
    fn found(&self) -> Result<Mark> {
        if self.core.store.writer.still_ours() && self.core.store.board.sealed() == self.base().mark
        {
            Ok(self.base().mark)
        } else {
            Err(taken_over())
        }
    }

    /// Steps 1 to 3.
    fn seal(&mut self, recorded: bool) -> Result<Mark> {
        self.store_tables()?;
        reach(Point::TablesStored);
        let core = &self.core;
        let board = &core.store.board;
        // I1, I12: the id that the transaction has now, and no other, is the snapshot's.
        let txnid = if planted::is(Bug::LastId) { self.pages().first() } else { self.txnid() };
        let markers = self.markers();
        // X1: what follows takes apart what the transaction began with.
        self.broken = true;
        let base = self.base.as_deref_mut().expect(BASE_THERE);
        let Base { mark: base_mark, meta: before, pages, image, .. } = base;
        let in_use = pages.used().max(self.geometry.min_pages);
        let shrink = Shrink {
            pages: self.give_back_to.map_or(core.store.least_cut(in_use), |_| 1),
            all_to: self.give_back_to,
            max_pages: self.geometry.max_pages,
            behind: core.store.file_pages().saturating_sub(in_use),
            sweep: before.sweep,
        };
        let recorded = recorded && core.makes_records();
        let (space, counts) = pages.seal(shrink, recorded)?;
        reach(Point::PagesWritten);
        let meta = Meta {
            txnid,
            used: space.used,
            main: self.main,
            geometry: self.geometry,
            sweep: space.sweep,
            markers: markers.values,
            markers_txnid: markers.txnid,
            app_flags: self.notes.app_flags,
            names: self.notes.names,
            // The rest is the flusher's to say; an image holds what is always valid.
            ..before.clone()
        }
        .as_image();
        let used = meta.encode_listing(pages.recorded(), image)?;
        let record = core.put_record(*base_mark, txnid, image, recorded.then_some(&mut *pages))?;
        core.check_writable()?;
        if !core.store.writer.still_ours() {
            return Err(taken_over());
        }
        // Before the seal: a flusher that takes this snapshot up must count what it wrote.
        board.add_written(counts.written_bytes);
        // P10: the seal's fence lies inside; whatever is protected is read by the next transaction
        // after it.
        let sealed = board.seal_used(*base_mark, txnid.0, (&**image, used), record);
        let overtaken = "another writer sealed a snapshot after the base of this one (P3)";
        let mark = sealed.ok_or_else(|| Error::Busy(overtaken.into()))?;
        // P3: no other client seals while we hold the writer lock.
        if board.sealed() != mark {
            let text = "the lock file has lost the snapshot that was sealed just now (P3)";
            return Err(Error::corrupt_file(text));
        }
        self.sealed = Some(txnid);
        (*base_mark, *before) = (mark, meta);
        if let Some(base) = self.base.take() {
            core.remember(base);
        }
        core.count_shapes(&counts);
        core.count(&core.counts.commits, 1);
        core.count(&core.counts.chunks_opened, counts.space.chunks_opened);
        core.count(&core.counts.chunks_written, counts.space.chunks_written);
        core.count(&core.counts.items_judged, counts.space.items_judged);
        core.count(&core.counts.pages_written, counts.written_bytes / core.store.page_bytes as u64);
        Ok(mark)
    }
}

#[cold]
pub(super) fn taken_over() -> Error {
    Error::Busy("the writer lock was taken over while committing".into())
}

//! The metas of a file: what each shows, and making a chosen one the newest again.
//!
//! M1. Listing reads three blocks and changes nothing.
//! M2. A switch writes nothing before the chosen snapshot has been checked whole: every page of it
//!     is there as it was, and in one place.
//! M3. The writes are those of the repair of P16, so ids start above every ceiling and no page of
//!     the timeline that is given up can pass for a page of the next.

use std::path::Path;

use crate::env::{Env, named};
use crate::error::{Error, Result};
use crate::ops::check::{CheckOptions, is_unused};
use crate::os::Storage;
use crate::page::{CommitKind, Meta, MetaFault};
use crate::planted::{self, Bug};
use crate::txn::recovery::read_metas;

/// One of the three meta slots of a file; see [`Env::metas`].
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetaInfo {
    /// The slot: 0, 1 or 2.
    pub slot: u8,
    /// What lies there.
    pub state: MetaState,
}

/// What a meta slot holds.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetaState {
    /// It was never written.
    Unused,
    /// It cannot be believed; the text says why. One that was being written when it was read looks
    /// so, too.
    Damaged(String),
    /// It is whole, and holds something that this version does not know; the text names it. Such a
    /// file is for a newer version: this one refuses to open it, at any snapshot.
    Unknown(String),
    /// A whole meta. Whether all pages of its snapshot are still there is another question, which
    /// [`CheckOptions::meta_slot`] asks.
    Whole(MetaSnapshot),
}

/// What a whole meta says of its snapshot.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetaSnapshot {
    /// The snapshot's id.
    pub txnid: u64,
    /// The durable snapshot before it.
    pub before: u64,
    /// Flushes that it took: 1 if pages and meta went out together, so that the pages born since
    /// `before` are verified before the meta is trusted; 2 if the pages went first.
    pub flushes: u8,
    /// No id above it was used before this meta was durable.
    pub ceiling: u64,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Part of the file that the snapshot uses, in bytes.
    pub used_bytes: u64,
    /// Number of the page that is the root of the main table, from which all others are found;
    /// `None` if that table is empty.
    pub root_page: Option<u32>,
    /// The block of the journal, counted through all laps, from which a recovery goes on; `None` if
    /// it needs no journal.
    pub journal_block: Option<u64>,
    /// It is the newest of the whole metas.
    pub is_newest: bool,
}

/// The result of [`Env::switch_to_meta`].
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwitchReport {
    /// The snapshot that was chosen.
    pub chosen: u64,
    /// The id under which it is the newest now.
    pub txnid: u64,
}

impl MetaInfo {
    /// The snapshot, if the meta is whole.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.huon");
    /// # huon::Env::open(&path)?.close()?;
    /// let metas = huon::Env::metas_of(&path)?;
    /// let newest = metas.iter().find(|meta| meta.snapshot().is_some_and(|s| s.is_newest));
    /// assert_eq!(newest.map(|meta| meta.slot), Some(0), "nothing was committed yet");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self) -> Option<&MetaSnapshot> {
        match &self.state {
            MetaState::Whole(snapshot) => Some(snapshot),
            _ => None,
        }
    }
}

impl Env {
    /// The three metas, by slot, as the file holds them at this moment. Reads 12 KiB, and waits for
    /// no other client.
    ///
    /// # Errors
    /// [`Error::Forked`]; [`Error::Io`] if the file cannot be read.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::open(dir.path().join("a.huon"))?;
    /// for meta in env.metas()? {
    ///     match meta.snapshot() {
    ///         Some(snapshot) => println!("{}: {}", meta.slot, snapshot.txnid),
    ///         None => println!("{}: {:?}", meta.slot, meta.state),
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metas(&self) -> Result<Vec<MetaInfo>> {
        let core = self.core()?;
        list(&*core.store.storage)
    }

    /// The same of a file that is not open, and may be one that does not open: no lock is taken,
    /// and no lock file made.
    ///
    /// # Errors
    /// [`Error::NotADatabase`] if no slot begins as a meta does; [`Error::Io`] if the file cannot
    /// be read. Damage is in the list.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.huon");
    /// # huon::Env::open(&path)?.close()?;
    /// let metas = huon::Env::metas_of(&path)?;
    /// assert_eq!(metas.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metas_of(path: impl AsRef<Path>) -> Result<Vec<MetaInfo>> {
        let path = &crate::env::resolve(path.as_ref())?;
        let storage = crate::env::look_at(path).map_err(|error| named(path, error))?;
        let metas = list(&*storage)?;
        let not_ours = Error::from(MetaFault::NotADatabase).to_string();
        let is_ours = |meta: &MetaInfo| match &meta.state {
            MetaState::Unused => false,
            MetaState::Damaged(text) => *text != not_ours,
            MetaState::Whole(_) | MetaState::Unknown(_) => true,
        };
        if metas.iter().any(is_ours) {
            Ok(metas)
        } else {
            Err(named(path, MetaFault::NotADatabase.into()))
        }
    }

    /// Makes the snapshot of the meta in slot 0, 1 or 2 the newest, and gives up everything that is
    /// newer: for a file whose newest snapshot is damaged, or a mistake.
    ///
    /// The environment must not be open anywhere. The snapshot is first checked like [`Env::check`]
    /// does, with the progress callback of `options`; only if it has no flaw a meta is written,
    /// under an id above all that were ever used, and flushed. The other metas stay, except one.
    /// [`Env::recovery`] of the next opening is [`Recovery::Flushed`], as the lock file knows
    /// nothing of the switch. To see what an older meta shows before, open it with
    /// [`Options::meta_slot`] and [`Options::read_only`].
    ///
    /// Reads every page in use once to check it. Writes the pages of that meta's commit again, and
    /// the meta, and flushes twice.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the meta, or any page of its snapshot, is not whole; it names a page.
    /// Pages may have been reused since, except those of the newest two flushed snapshots.
    /// [`Error::Busy`] if it is open anywhere, [`Error::ReadOnly`], [`Error::Io`]. After an error
    /// of the check nothing has been written.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("a.huon");
    /// use huon::{CheckOptions, Env, Str, TableDef, U64};
    /// const T: TableDef<Str, U64> = TableDef::new("t");
    /// let env = Env::open(&path)?;
    /// env.update(|txn| txn.create_table(&T)?.put(txn, "right", 1))?;
    /// let right = env.durable_id();
    /// env.update(|txn| txn.open_table(&T)?.expect("there").put(txn, "wrong", 2))?;
    /// let metas = env.metas()?;
    /// env.close()?;
    ///
    /// let is_right = |meta: &&huon::MetaInfo| meta.snapshot().is_some_and(|s| s.txnid == right);
    /// let slot = metas.iter().find(is_right).expect("it is the one before").slot;
    /// Env::switch_to_meta(&path, slot, CheckOptions::new())?;
    /// let env = Env::open(&path)?;
    /// assert_eq!(env.view(|txn| txn.open_table(&T)?.expect("there").get(txn, "wrong"))?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Options::meta_slot`]: crate::Options::meta_slot
    /// [`Options::read_only`]: crate::Options::read_only
    /// [`Recovery::Flushed`]: crate::Recovery::Flushed
    pub fn switch_to_meta(
        path: impl AsRef<Path>,
        slot: u8,
        options: CheckOptions<'_>,
    ) -> Result<SwitchReport> {
        // On its own, without the lock file: a switch that is refused leaves that as it was, with
        // commits that it alone may know of.
        Env::options().switching(slot).open(path)?.switch(options)
    }

    /// [`Env::metas_of`] for the data file of a simulated machine.
    ///
    /// # Errors
    /// As [`Env::metas`].
    #[cfg(any(test, feature = "simulation"))]
    #[doc(hidden)]
    pub fn metas_simulated(disk: &crate::sim::SimDisk) -> Result<Vec<MetaInfo>> {
        list(&*disk.storage())
    }

    /// [`Env::switch_to_meta`] for the data file of a simulated machine.
    ///
    /// # Errors
    /// The same.
    #[cfg(any(test, feature = "simulation"))]
    #[doc(hidden)]
    pub fn switch_simulated(
        disk: &crate::sim::SimDisk,
        slot: u8,
        options: CheckOptions<'_>,
    ) -> Result<SwitchReport> {
        Env::options().switching(slot).open_simulated(disk)?.switch(options)
    }

    /// Checks the snapshot that was chosen by hand, and lets the repair write it down.
    pub(crate) fn switch(self, mut options: CheckOptions<'_>) -> Result<SwitchReport> {
        let core = self.core()?;
        core.check_writable()?;
        let chosen = core.newest_sealed()?.1;
        let report = self.check_visible(&mut options)?;
        if !report.is_clean() && !planted::is(Bug::SnapshotUnchecked) {
            let pgno = report.problems.iter().find_map(|problem| problem.pgno);
            return Err(not_whole(pgno, report.reused_pages > 0));
        }
        let chosen = chosen.txnid.0;
        // The first write transaction repairs, and this one does nothing else.
        drop(self.write()?);
        let txnid = self.durable_id();
        self.close()?;
        Ok(SwitchReport { chosen, txnid })
    }
}

fn not_whole(pgno: Option<u32>, is_reuse: bool) -> Error {
    let reason = if is_reuse {
        "the chosen snapshot is not whole: pages of it have been used again since"
    } else {
        "the chosen snapshot is not whole; a check against its meta says more"
    };
    match pgno {
        Some(pgno) => Error::corrupt(pgno, reason),
        None => Error::corrupt_file(reason),
    }
}

fn list(storage: &dyn Storage) -> Result<Vec<MetaInfo>> {
    let metas = read_metas(storage)?;
    let newest = metas.iter().flatten().map(|meta| meta.txnid).max();
    let state = |(slot, meta)| -> Result<MetaState> {
        Ok(match meta {
            Ok(meta) => MetaState::Whole(MetaSnapshot::of(&meta, newest == Some(meta.txnid))),
            Err(MetaFault::NotADatabase) if is_unused(storage, slot)? => MetaState::Unused,
            Err(fault) if fault.is_unknown() => MetaState::Unknown(fault.to_string()),
            Err(fault) => MetaState::Damaged(Error::from(fault).to_string()),
        })
    };
    let states = (0..).zip(metas).map(state);
    (0..).zip(states).map(|(slot, state)| Ok(MetaInfo { slot, state: state? })).collect()
}

impl MetaSnapshot {
    fn of(meta: &Meta, is_newest: bool) -> MetaSnapshot {
        MetaSnapshot {
            txnid: meta.txnid.0,
            before: meta.before.0,
            flushes: match meta.commit {
                CommitKind::OneFlush => 1,
                CommitKind::TwoFlush => 2,
            },
            ceiling: meta.ceiling,
            page_bytes: meta.page_bytes,
            used_bytes: u64::from(meta.used) * u64::from(meta.page_bytes),
            root_page: (!meta.main.root.is_none()).then_some(meta.main.root.pgno.0),
            journal_block: (!meta.place.is_none()).then_some(meta.place.next),
            is_newest,
        }
    }
}

//! Check: is every page of a snapshot what it should be, and in exactly one place?
//!
//! K1. Every page from the first data page to the high-water mark is reachable from a table, listed
//!     once as free, or part of the free-space list itself (F1 of the free space).
//! K2. A problem never ends the check: what can still be reached is still looked at.
//! K3. Nothing is younger than what points to it, and nothing is younger than the snapshot.
//!
//! The free space is read first. So each page of a tree is held against it when it is entered, and
//! the work that lies ahead is known.

mod journal;
mod named;
mod report;
mod space;
#[cfg(test)]
mod tests;
mod tree;

use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::bitmap::Bitmap;
use crate::ops::pinned;
use crate::ops::progress::{Meter, OnProgress, Progress};
use crate::os::Storage;
use crate::page::{
    META_BYTES, Meta, MetaFault, Ptr, Txnid, first_data_page, header, meta_checksum,
};
use crate::store::verified::Verified;
use crate::txn::{Core, Release};
use std::ops::ControlFlow;

pub use report::{CheckReport, Problem, TableReport};
pub(crate) use tree::order_name;

/// Options of a check; see [`Env::check_with`].
#[must_use = "options do nothing until they are passed to `Env::check_with`"]
#[derive(Default)]
pub struct CheckOptions<'a> {
    progress: OnProgress<'a>,
    meta_slot: Option<u8>,
}

impl<'a> CheckOptions<'a> {
    /// A check of everything, without a progress callback.
    pub fn new() -> CheckOptions<'a> {
        CheckOptions::default()
    }

    /// Checks the snapshot of the meta in slot 0, 1 or 2, rather than the newest one. No pin holds
    /// an older snapshot, so the check holds the writer lock: it waits for a writer, and writers
    /// wait for it, as long as [`Options::lock_timeout`](crate::Options::lock_timeout) says. (A
    /// write transaction of the same thread must have ended.) A page that was reused since is a
    /// problem, and counted in [`CheckReport::reused_pages`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::open(dir.path().join("a.huon"))?;
    /// for meta in env.metas()? {
    ///     let Some(snapshot) = meta.snapshot() else { continue };
    ///     let report = env.check_with(huon::CheckOptions::new().meta_slot(meta.slot))?;
    ///     assert_eq!(report.txnid, snapshot.txnid);
    ///     println!("slot {} can be switched to: {}", meta.slot, report.is_clean());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn meta_slot(mut self, slot: u8) -> CheckOptions<'a> {
        self.meta_slot = Some(slot);
        self
    }

    /// Calls `report` about once a megabyte; the check ends with an error if it breaks.
    pub fn progress(
        mut self,
        report: impl FnMut(&Progress) -> ControlFlow<()> + 'a,
    ) -> CheckOptions<'a> {
        self.progress = OnProgress::call(report);
        self
    }
}

impl std::fmt::Debug for CheckOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckOptions").finish_non_exhaustive()
    }
}

impl Env {
    /// Checks everything in the newest visible snapshot: see [`Env::check_with`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::open(dir.path().join("a.huon"))?;
    /// let report = env.check()?;
    /// assert!(report.is_clean(), "{:?}", report.problems);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<CheckReport> {
        self.check_with(CheckOptions::new())
    }

    /// Checks everything in the newest visible snapshot.
    ///
    /// Every page of every table: checksum, header, cells, order of keys within and across pages,
    /// large values, counts; and that each page of the file is in use once, or free once. Of a
    /// journal that is in use: that all batches since the last checkpoint are there. Of named
    /// snapshots: that all their pages are there, and whole. It reads every page that is in use, as
    /// a reader that blocks no writer, and never stops at a problem. Memory: two bits a page of the
    /// file, and a key for each level of a tree.
    ///
    /// # Errors
    /// Damage is reported, not returned. An error means that the check could not be made: the
    /// snapshot could not be pinned, the chosen meta is not whole ([`Error::Corrupt`]) or was never
    /// written ([`Error::NotADatabase`]), a writer did not end in time ([`Error::Busy`]), a system
    /// call failed, or the caller stopped it.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// # let env = huon::Env::in_memory()?;
    /// let mut show = |progress: &huon::Progress| {
    ///     println!("{} of {} bytes", progress.done_bytes, progress.total_bytes);
    ///     ControlFlow::Continue(())
    /// };
    /// let report = env.check_with(huon::CheckOptions::new().progress(&mut show))?;
    /// report.problems.iter().for_each(|problem| println!("{problem}"));
    /// assert_eq!(report.problem_count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_with(&self, mut options: CheckOptions<'_>) -> Result<CheckReport> {
        match options.meta_slot {
            None => self.check_visible(&mut options),
            Some(slot) => {
                // No page is reused while the check holds the writer lock.
                let core = self.core()?;
                core.take_writer(core.lock_timeout())?;
                let _role = Release(&core.store.writer);
                let [a, b, c] = crate::txn::recovery::known_metas(&*core.store.storage)?;
                let meta = match slot {
                    0 => a?,
                    1 => b?,
                    2 => c?,
                    _ => return Err(Error::Invalid("there are meta slots 0, 1 and 2")),
                };
                self.check_snapshot(&meta, false, &mut options)
            }
        }
    }

    /// Checks the newest visible snapshot, whatever the options choose.
    pub(crate) fn check_visible(&self, options: &mut CheckOptions<'_>) -> Result<CheckReport> {
        let (_pin, meta) = pinned::pin(self)?;
        self.check_snapshot(&meta, true, options)
    }

    /// Checks a snapshot of which nothing is used again meanwhile.
    /// `visible`: it is the newest visible one, whose named snapshots are checked, too.
    fn check_snapshot(
        &self,
        meta: &Meta,
        visible: bool,
        options: &mut CheckOptions<'_>,
    ) -> Result<CheckReport> {
        let mut check = Check::new(self.core()?, meta, options)?;
        check.metas()?;
        check.journal()?;
        check.space(meta)?;
        check.tables(&meta.main)?;
        check.lost();
        if visible {
            check.named(self)?;
        }
        check.meter.tell()?;
        Ok(check.report)
    }
}

/// A check under way.
struct Check<'s, 'a> {
    core: &'s Core,
    source: Verified<'s>,
    snapshot: Txnid,
    /// First data page.
    first: u32,
    /// Pages of trees and of the free-space list.
    used: Bitmap,
    /// Pages listed as free.
    free: Bitmap,
    /// A page could not be read or entered, so that pages below it were not reached.
    incomplete: bool,
    meter: Meter<'a>,
    report: CheckReport,
}

impl<'s, 'a> Check<'s, 'a> {
    fn new(
        core: &'s Core,
        meta: &Meta,
        options: &'a mut CheckOptions<'_>,
    ) -> Result<Check<'s, 'a>> {
        let page_bytes = core.store.page_bytes;
        // Pages past the end of the file can only be free ones: see `Check::space`.
        let limit = meta.used.min(core.store.measure()?);
        let first = first_data_page(page_bytes);
        let report = CheckReport {
            txnid: meta.txnid.0,
            page_bytes: page_bytes as u32,
            pages_total: u64::from(meta.used.saturating_sub(first)),
            ..CheckReport::default()
        };
        Ok(Check {
            core,
            source: Verified { store: &core.store, used: meta.used },
            snapshot: meta.txnid,
            first,
            used: Bitmap::new(limit)?,
            free: Bitmap::new(limit)?,
            incomplete: false,
            meter: options.progress.meter(0),
            report,
        })
    }

    /// The meta that the durable snapshot rests on is whole; others may be torn.
    fn metas(&mut self) -> Result<()> {
        let before = self.core.durable_info()?;
        let metas = crate::txn::recovery::read_metas(&*self.core.store.storage)?;
        if self.core.durable_info()?.mark != before.mark {
            // A flush ended meanwhile, so its meta has just been written: nothing to compare with.
            return Ok(());
        }
        for (slot, meta) in metas.iter().enumerate() {
            let durable = slot == usize::from(before.meta_slot);
            let fault = match meta {
                Ok(meta) if durable && meta_checksum(&meta.encode()) != before.checksum => {
                    Some("it is not the one that was written there".to_string())
                }
                Ok(_) => None,
                Err(MetaFault::NotADatabase)
                    if !durable && is_unused(&*self.core.store.storage, slot)? =>
                {
                    None
                }
                Err(fault) => Some(Error::from(*fault).to_string()),
            };
            match fault {
                Some(text) if durable => {
                    let text = || format!("the durable meta, in slot {slot}: {text}");
                    self.report.add(None, None, text);
                }
                Some(text) if matches!(meta, Err(fault) if fault.is_unknown()) => {
                    self.report.add(None, None, || format!("meta slot {slot}: {text}"));
                }
                Some(text) => self.report.notes.push(format!("meta slot {slot}: {text}")),
                None => {}
            }
        }
        Ok(())
    }

    /// Enters a page of a tree or of the free-space list. `false`: it must not be read.
    fn enter(&mut self, ptr: Ptr, above: Txnid, table: Option<&[u8]>) -> bool {
        let pgno = ptr.pgno.0;
        let mut add = |text: &str| self.report.add(Some(pgno), table, || text.to_string());
        if ptr.birth > above {
            add("it is younger than what points to it");
        }
        if pgno < self.first || pgno >= self.used.limit() {
            add("a pointer leads outside the file");
        } else if self.used.put(pgno) {
            add("it is referenced twice");
        } else {
            if self.free.has(pgno) {
                add("it is in use, and listed as free");
            }
            return true;
        }
        self.incomplete = true;
        false
    }

    /// The transaction that used a page again after the snapshot, if one did.
    fn used_again(&self, pgno: u32) -> Option<Txnid> {
        let store = self.source.store;
        if pgno >= self.used.limit() {
            return None;
        }
        let offset = u64::from(pgno) * self.page_bytes();
        let page = store.storage.map().page(offset, store.page_bytes)?;
        let found = header::ptr(page);
        let is_younger = found.pgno.0 == pgno && found.birth > self.snapshot;
        (is_younger && store.seal.verify(page).is_ok()).then_some(found.birth)
    }

    /// K1: pages that are nowhere.
    fn lost(&mut self) {
        let gaps = self.used.gaps(&self.free, self.first);
        if self.incomplete {
            let pages: u64 = gaps.map(|(_, pages)| u64::from(pages)).sum();
            if pages > 0 {
                self.report.notes.push(format!(
                    "{pages} pages were not reached: they lie below damage, or no page names them"
                ));
            }
            return;
        }
        for (start, pages) in gaps {
            self.report.add(Some(start), None, || match pages {
                1 => "it is neither in use nor listed as free".to_string(),
                _ => format!("{pages} pages from here on are neither in use nor listed as free"),
            });
        }
    }

    fn page_bytes(&self) -> u64 {
        self.core.store.page_bytes as u64
    }
}

/// Whether a meta slot was never written.
pub(crate) fn is_unused(storage: &dyn Storage, slot: usize) -> Result<bool> {
    let mut block = [0; META_BYTES];
    storage.read_at(&mut block, (slot * META_BYTES) as u64)?;
    Ok(block == [0; META_BYTES])
}

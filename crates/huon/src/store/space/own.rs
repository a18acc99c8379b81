//! Pages that the transaction wrote itself and dropped again: numbers that it may reuse.
//!
//! Words: a transaction begins under the id *F*, and goes on under higher ones of its own; its
//! current one is *T*. An *own* page was written by it: it was born in F..=T. An own page that no
//! level of the transaction can reach any more is *dead*. No snapshot lies between F and the seal,
//! so none sees a dead page (P12 without a scan); what tells the contents of its number apart is
//! the birth.
//!
//! I5. A number that was written with birth b serves again only under an id above b. Until then it
//!     waits; the seal's own allocations obey it, too. (This is P8 of each id.)
//! I9. A page that left the base is recorded with its birth, and as freed under an id of the
//!     transaction; a dead one that waits still as born and freed under its birth; any other dead
//!     one as free.
//! I11. A number that was written stays known as written until the transaction ends, so that a
//!     caller with bytes of it can be told that they may change. A page that dies in an operation
//!     is not handed out in that operation.
//!
//! When dead pages serve again: writes of a transaction that outgrows its buffers are long only
//! where free pages lie together. So dead pages are set *aside* until they are more than the living
//! own ones; then the longest runs go first, and as many stay aside. The file takes about twice the
//! pages that the transaction wrote then, and writes keep fifteen pages each and more (measured,
//! see "Large transactions" in `docs/benchmarks`). Where the file cannot grow they serve at once.

use super::page_set::PageSet;
use super::runs::{FreeRun, Pool, Run, merge};
use super::{Backend, Space};
use crate::alloc::{Reserved, TryGrow, collected};
use crate::error::{Error, Result};
use crate::page::{Item, Pgno, Reason, Txnid};
use crate::planted::{self, Bug};

/// Fewer waiting pages than these are not worth an id.
const WAITING_MIN: u64 = 256;
/// One living page in so many may wait, too: to look through all that lies aside takes its time.
const WAITING_PART: u64 = 16;
/// Pages that an operation may want at once, and must find.
const ROOM_MIN: u64 = 32;

/// Lengths of runs that are distinguished; longer ones count as one.
const LENGTHS: usize = 256;

/// The pages that the transaction has written.
#[derive(Default)]
pub(super) struct Own {
    /// Own pages, living or dead, whose numbers may not be taken.
    held: PageSet,
    held_pages: u64,
    /// All numbers that were ever written (I11).
    written: PageSet,
    /// Dead pages: some wait, others may be set aside.
    dead: Vec<Item>,
    dead_pages: u64,
    /// Of these, pages that were born under the current id (I5).
    waiting_pages: u64,
    /// Dead pages of earlier ids, in the order of the file.
    aside: Vec<FreeRun>,
    aside_pages: u64,
    /// What died behind it stays dead: an undone level was allowed to go further.
    max_pages: Option<u32>,
}

impl Own {
    fn living_pages(&self) -> u64 {
        // A damaged tree may have a page die twice, which is found when it is set aside.
        self.held_pages.saturating_sub(self.dead_pages + self.aside_pages)
    }

    fn hold(&mut self, pgno: Pgno, pages: u32) -> Reserved<()> {
        self.held.insert(pgno, pages)?;
        self.held_pages += u64::from(pages);
        Ok(())
    }

    fn note_dead(&mut self, item: Item, waits: bool) -> Reserved<()> {
        self.dead.try_push(item)?;
        self.dead_pages += u64::from(item.page_count());
        self.waiting_pages += if waits { u64::from(item.page_count()) } else { 0 };
        Ok(())
    }
}

impl Space {
    /// A transaction begins, and has written nothing.
    pub(super) fn begin_own(&mut self) {
        self.own = Own::default();
    }

    /// Whether the transaction has written nothing so far.
    pub(super) fn has_no_own(&self) -> bool {
        self.own.held_pages == 0 && self.own.dead.is_empty()
    }

    /// The pages are written before the transaction ends: from now on their numbers are its own.
    pub(crate) fn note_written(&mut self, pgno: Pgno, pages: u32) {
        let noted = self.own.hold(pgno, pages).and_then(|()| self.own.written.insert(pgno, pages));
        self.lost |= noted.is_err();
    }

    /// Whether the transaction has written this page at any time (I11).
    pub(crate) fn was_written(&self, pgno: Pgno) -> bool {
        self.own.written.meets(pgno, 1)
    }

    /// I5: whether any of these numbers may not be taken.
    #[inline]
    pub(super) fn is_own(&self, pgno: Pgno, pages: u32) -> bool {
        self.own.held.meets(pgno, pages)
    }

    /// Own pages that were written with this birth, and that no snapshot will show (`node`: as for
    /// [`Space::retire`]). Their numbers serve again under a later id (I5).
    pub(crate) fn bury(&mut self, pgno: Pgno, pages: u32, birth: Txnid, node: bool) -> Result<()> {
        assert!(birth >= self.first && birth <= self.txnid, "I5: only own pages die");
        // A damaged tree may name as own what another snapshot sees.
        if !self.own.held.holds(pgno, pages) {
            return Err(Error::corrupt(pgno.0, Reason::Header.text()));
        }
        let item = Item::run(pgno, pages, birth, birth, node);
        let noted = self.own.note_dead(item, birth == self.txnid && !planted::is(Bug::NoWait));
        self.lost |= noted.is_err();
        Ok(())
    }

    /// A free run that nothing may take before the transaction ends: an undone level left it
    /// behind the maximum size.
    pub(super) fn shut_away(&mut self, run: FreeRun) {
        let pgno = Pgno(run.pgno);
        let item = Item::run(pgno, run.pages, self.txnid, self.txnid, false);
        let kept = self.own.hold(pgno, run.pages).and_then(|()| self.own.note_dead(item, true));
        self.lost |= kept.is_err();
    }

    /// This transaction never reuses pages behind `max_pages`.
    pub(super) fn close_behind(&mut self, max_pages: u32) {
        self.own.max_pages =
            Some(self.own.max_pages.map_or(max_pages, |before| before.min(max_pages)));
        let behind = self.own.aside.extract_if(.., |run| run.end() > max_pages);
        let behind = collected(behind);
        self.lost |= behind.is_err();
        for run in behind.unwrap_or_default() {
            self.own.aside_pages -= u64::from(run.pages);
            let item = Item::run(Pgno(run.pgno), run.pages, self.txnid, self.txnid, false);
            self.lost |= self.own.note_dead(item, true).is_err();
        }
    }

    /// What of the dead pages lies behind `max_pages` is forgotten with that part of the file.
    pub(super) fn clip_dead(&mut self, max_pages: u32) {
        self.own.dead.retain_mut(|item| {
            if item.pgno + item.page_count() <= max_pages {
                return true;
            }
            let kept = max_pages.saturating_sub(item.pgno);
            item.cut_to(kept);
            kept > 0
        });
    }

    /// Whether there are dead pages.
    pub(crate) fn has_dead(&self) -> bool {
        !self.own.dead.is_empty()
    }

    /// Between operations: whether the transaction should have all its `buffered` pages written, to
    /// go on under another id and reuse its dead pages. Where the file can hardly grow, dead pages
    /// that need not wait are set free first. Of `doubtful` pages it is not known whether the level
    /// may reuse them; of those that it writes under the next id it will be (I6).
    pub(crate) fn wants_rise(
        &mut self,
        backend: &impl Backend,
        buffered: usize,
        doubtful: u64,
    ) -> Result<bool> {
        let own = &self.own;
        let enough = WAITING_MIN.max(2 * buffered as u64).max(own.living_pages() / WAITING_PART);
        let waiting = own.waiting_pages + doubtful;
        if waiting >= enough {
            return Ok(true);
        }
        let wanted = own.dead_pages + ROOM_MIN;
        if !self.is_tight(backend, wanted) {
            return Ok(false);
        }
        if self.own.dead_pages > self.own.waiting_pages {
            self.set_aside()?;
            self.release_all()?;
        }
        Ok(waiting > 0 && self.is_tight(backend, wanted))
    }

    /// Whether so many pages cannot be allocated any more.
    fn is_tight(&self, backend: &impl Backend, wanted: u64) -> bool {
        let room = backend.room(self.used) + self.own.aside_pages;
        room < wanted && room + u64::from(self.pool.pages()) < wanted
    }

    /// Whether a run of so many pages can only be allocated from dead pages.
    pub(crate) fn lacks_run(&self, backend: &impl Backend, pages: u32) -> bool {
        self.own.waiting_pages > 0
            && backend.room(self.used) < u64::from(pages)
            && !self.pool.fits(pages)
    }

    /// The transaction goes on under this id, which is above all that it had: what waited may serve
    /// again, once there is enough of it.
    pub(crate) fn rise(&mut self, txnid: Txnid) -> Result<()> {
        assert!(txnid > self.txnid, "I5: ids only rise");
        self.txnid = txnid;
        self.own.waiting_pages = 0;
        self.set_aside()?;
        let released = self.release_surplus();
        self.lost |= released.is_err();
        released
    }

    /// I5: sets those of the dead pages aside that need not wait.
    fn set_aside(&mut self) -> Result<()> {
        let set = self.set_ripe_aside();
        self.lost |= set.is_err();
        set
    }

    fn set_ripe_aside(&mut self) -> Result<()> {
        let txnid = self.txnid.0;
        let own = &mut self.own;
        let max_pages = own.max_pages.unwrap_or(u32::MAX);
        let ripe = |item: &Item| {
            (item.birth < txnid || planted::is(Bug::NoWait))
                && item.pgno + item.page_count() <= max_pages
        };
        let ripe = collected(own.dead.extract_if(.., |item| ripe(item)))?;
        let pages = ripe.iter().map(|item| u64::from(item.page_count())).sum::<u64>();
        assert!(
            ripe.iter().all(|item| item.birth < txnid),
            "I5, P8: a number serves again under the id that it was written with"
        );
        let runs = collected(ripe.iter().map(FreeRun::of))?;
        own.aside = merge(std::mem::take(&mut own.aside), runs)?;
        own.dead_pages -= pages;
        own.aside_pages += pages;
        Ok(())
    }

    /// Releases the longest runs of the pages that lie aside, until no more lie there than live.
    fn release_surplus(&mut self) -> Result<()> {
        let surplus = self.own.aside_pages.saturating_sub(self.own.living_pages());
        if surplus == 0 {
            return Ok(());
        }
        // Pages by the length of their runs, so that nothing is sorted.
        let mut pages_of = [0u64; LENGTHS];
        let length = |run: &FreeRun| (run.pages as usize).min(LENGTHS) - 1;
        self.own.aside.iter().for_each(|run| pages_of[length(run)] += u64::from(run.pages));
        let (mut left, mut whole) = (surplus, LENGTHS);
        while whole > 0 && pages_of[whole - 1] <= left {
            whole -= 1;
            left -= pages_of[whole];
        }
        let released = collected(self.own.aside.extract_if(.., |run| {
            let in_part = length(run) + 1 == whole && left > 0;
            left = if in_part { left.saturating_sub(run.pages.into()) } else { left };
            length(run) >= whole || in_part
        }))?;
        self.release(released)
    }

    /// All that lies aside may be taken.
    fn release_all(&mut self) -> Result<()> {
        let all = std::mem::take(&mut self.own.aside);
        self.release(all)
    }

    fn release(&mut self, runs: Vec<FreeRun>) -> Result<()> {
        let pages = runs.iter().map(|run| u64::from(run.pages)).sum::<u64>();
        self.own.aside_pages -= pages;
        self.own.held_pages -= pages;
        runs.iter().for_each(|run| self.own.held.remove(Pgno(run.pgno), run.pages));
        let added = self.pool.add(runs);
        self.lost |= added.is_err();
        added
    }

    /// The file cannot grow, or should not: numbers put aside are reused now. Whether that is
    /// enough.
    pub(super) fn use_aside(&mut self, enough: &impl Fn(&Pool) -> bool) -> Result<bool> {
        if self.own.aside.is_empty() {
            return Ok(false);
        }
        self.release_all()?;
        Ok(enough(&self.pool))
    }

    /// The transaction ends: all that is dead is free from now on, or for the next one (I5, I9).
    pub(super) fn end_own(&mut self) -> Result<()> {
        if self.has_no_own() {
            return Ok(());
        }
        self.set_aside()?;
        self.release_all()
    }

    /// Dead pages that must wait for the next transaction.
    pub(super) fn take_waiting(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.own.dead)
    }
}

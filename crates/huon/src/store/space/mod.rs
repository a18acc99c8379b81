//! Free space: which pages may be written over, and when.
//!
//! A page that leaves the tree is *retired*: an [`Item`] (a free-list entry) says which pages,
//! which transaction wrote them (`birth`) and which freed them (`freed`). A retired page may be
//! reused exactly when no protected snapshot `s` has `birth <= s < freed` (P12). The items of a
//! snapshot lie inline in its meta; when they are too many, whole groups of them move to *chunk*
//! pages (free-list pages), grouped by the oldest snapshot that retains them (P15), so that the
//! items that a sleeping reader retains are moved once and not read again until it is gone.
//!
//! A chain of chunks is itself an item: its first page, and the snapshot that owns it. So the
//! inline list is the only root, and chunks may name chains in turn. (The idea of a list per
//! retaining snapshot is that of ZFS deadlists.)
//!
//! F1. Every page from the first data page to the high-water mark is in exactly one place:
//!     reachable, or in one item. A list that says otherwise is damaged, and no commit makes it
//!     worse: pages that would be in it twice are an error.
//! F2. Allocating a chunk page takes from the reusable numbers or from the high-water mark on, and
//!     never adds an item: there is no fixpoint to reach at commit.
//! F3. A number that the transaction has written is handed out again only when what was in it is
//!     dead, and only under a later id (P8, I5: see `own`).
//! F4. A chain is opened only when its owner protects nothing any more.
//! F5. Work is bounded by what the transaction uses: the inline items, plus eight chunks for each
//!     page wanted.
//! F6. The next transaction of a client starts from what its last one knew of the free space. An
//!     item that was found retained stays so while the snapshot that retains it is protected; then
//!     all are judged again. So it mostly judges what the last one has freed, and no more. A client
//!     that starts from the list that a snapshot records (it is the first, or another client has
//!     written) gets the same result.
//! I10. A transaction has several ids. Items that were freed under its first id or later are
//!     younger than the transaction; those that it judged were freed before that.

mod chunks;
mod limit;
mod low;
mod own;
mod page_set;
mod protected;
mod relief;
mod runs;
mod search;
mod sweep;

use crate::alloc::{Reserved, TryGrow, collected};
use crate::error::{Error, Result};
use crate::page::{Chunk, Item, META_ITEMS_MAX, Pgno, Ptr, Reason, Sweep, Txnid};
use crate::planted::{self, Bug};
use own::Own;
pub(crate) use page_set::PageSet;
pub(crate) use protected::Protected;
pub(crate) use relief::{Need, Retained};
use runs::{FreeRun, Pool, Run, bounds, check_apart, insert, joined, merge};
use search::{CHUNKS_IN_VAIN, chunks_for_run};

/// Inline items above which a commit moves groups of them into chunks. With 100 a small commit is
/// some tenth faster, as it judges and encodes fewer, but files grow by a tenth: items in chunks
/// are not found as readily.
pub(crate) const INLINE_ITEMS_MAX: usize = META_ITEMS_MAX;
/// Inline items a commit aims at once it has to move some. With fewer, free tails of the file are
/// moved away too before they are cut off.
const INLINE_ITEMS_LOW: usize = INLINE_ITEMS_MAX / 2;
/// Chunks that a cut of the maximum size opens at most.
const CUT_CHUNKS_MAX: u32 = 512;

/// Pages that a transaction puts into the gaps at most. One that writes more is served best by long
/// runs, whatever becomes of the pages.
const GAPS_MAX: u32 = 16;

/// One page in so many is kept free as slack: a place where pages that are written again and again
/// go round.
const SLACK_PART: u32 = 16;
/// More slack gives nothing.
const SLACK_PAGES_MAX: u32 = 256;

/// The outside that the allocator needs.
pub(crate) trait Backend {
    /// Reads the ids that must keep what they see into the set, instead of what it has: those of
    /// the snapshots that the base names among them (Y2). Asked once in a transaction, and again
    /// after each [`Backend::relieve`].
    fn read_protected(&self, named: &[u64], into: &mut Protected) -> Result<()>;
    /// The same where there is no set yet.
    fn protected(&self, named: &[u64]) -> Result<Protected> {
        let mut protected = Protected::default();
        self.read_protected(named, &mut protected).map(|()| protected)
    }
    /// A chunk page, fully verified, of a snapshot of `used` pages.
    fn chunk(&self, ptr: Ptr, used: u32) -> Result<Chunk<'_>>;
    /// Makes the file hold pages up to `used` (exclusive); an error if it may not or cannot.
    /// `frugal`: the reserve may be used, as deletes and commits must work on a full disk.
    fn extend(&self, used: u64, frugal: bool) -> Result<()>;
    /// Whether readers are to be asked to let go before the file grows to `used` pages.
    fn asks_before(&self, _used: u64) -> bool {
        false
    }
    /// Asks for readers to be ended; whether to look for free space again.
    fn relieve(&self, _need: &Need<'_>) -> Result<bool> {
        Ok(false)
    }
    /// How many pages the file may still grow, when so many are in use, but for the reserve.
    fn room(&self, _used: u32) -> u64 {
        u64::MAX
    }
    /// Adds to an error for want of room which readers retain how much, and how much the named
    /// snapshots do.
    fn name_readers(&self, error: Error, _retained: &[Retained], _named: &[u64]) -> Error {
        error
    }
}

/// Counts of what the allocator did in one transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpaceCounts {
    pub(crate) chunks_opened: u64,
    pub(crate) chunks_written: u64,
    pub(crate) items_judged: u64,
}

/// How long a page is likely to stay where it is put.
///
/// A tree's upper pages are written again and again, its leaves now and then. Mixed, each leaf that
/// stays divides the free pages around it, until all of them are single ones, and a small commit
/// needs a separate write for each page. Kept apart, pages that are freed soon lie together, and
/// are reused in a few long runs. (So do the generations of garbage collectors, and hot and cold
/// segments in log-structured stores: Rosenblum and Ousterhout, 1991.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    /// It comes from the longest run.
    Short,
    /// It fills the first gap of the file.
    Long,
    /// It is moved to the front: to the first gap, if that lies before this page.
    Before(u32),
}

/// How much of a file with so many pages in use is kept free.
fn slack(used: u32) -> u32 {
    (used / SLACK_PART).min(SLACK_PAGES_MAX)
}

/// The free space of one write transaction; when it has been sealed, that of the next one.
pub(crate) struct Space {
    /// The id that the transaction began with, and the one that it has now.
    first: Txnid,
    txnid: Txnid,
    /// The first data page: the metas lie before it.
    first_page: u32,
    /// First page number past the part of the file in use.
    used: u32,
    /// What this transaction has written already: spilled pages, and large values.
    own: Own,
    /// The list that the base records, in any order, until it is first needed; empty if the base
    /// was sealed here.
    recorded: Vec<Item>,
    /// Runs that may be taken now.
    pool: Pool,
    /// F6: items that are retained by one of `retaining`, and chains, in the order of the file.
    items: Vec<Item>,
    /// Ascending.
    retaining: Vec<u64>,
    /// Items that were not judged yet, in the order of the file.
    unjudged: Vec<Item>,
    /// The protected set was read in this transaction, and the items were judged by it.
    judged: bool,
    protected: Protected,
    /// The snapshots that have names (Y2).
    named: Vec<u64>,
    /// Retired by this transaction, oldest first; a level's abort cuts it back.
    retired: Vec<Item>,
    /// Retired too, but no level's abort takes that back: opened chunk pages.
    lasting: Vec<Item>,
    /// Gaps that may still be filled.
    gaps_left: u32,
    /// Deletes and commits may use the last pages of a full file.
    pub(crate) frugal: bool,
    /// It is not known any more where every page is: for want of memory, or since a list could not
    /// be read. The transaction can only be dropped.
    pub(crate) lost: bool,
    pub(crate) counts: SpaceCounts,
}

/// Whether and how a commit looks for a free tail to give back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shrink {
    /// A free tail of at least so many pages is cut off the part in use; 0: never.
    pub(crate) pages: u32,
    /// No page lies behind so many.
    pub(crate) max_pages: u32,
    /// Pages of the file behind the part in use: they end with the same cut.
    pub(crate) behind: u32,
    /// All that is free at the end is given back, but for slack up to so many pages.
    pub(crate) all_to: Option<u32>,
    /// What is known of the free pages that lie in chunks.
    pub(crate) sweep: Sweep,
}

/// What a commit stores of the free space.
pub(crate) struct SealedSpace {
    pub(crate) used: u32,
    pub(crate) sweep: Sweep,
    /// Chunk pages to write: pointer and bytes, checksum not yet stamped.
    pub(crate) chunks: Vec<(Ptr, Vec<u8>)>,
}

impl Space {
    /// That of a snapshot of `used` pages, which records these items.
    pub(crate) fn new(first_page: u32, used: u32, recorded: Vec<Item>) -> Space {
        Space {
            first: Txnid::default(),
            txnid: Txnid::default(),
            first_page,
            used,
            own: Own::default(),
            recorded,
            pool: Pool::default(),
            items: Vec::new(),
            retaining: Vec::new(),
            unjudged: Vec::new(),
            judged: false,
            retired: Vec::new(),
            lasting: Vec::new(),
            protected: Protected::default(),
            named: Vec::new(),
            gaps_left: GAPS_MAX,
            frugal: false,
            lost: false,
            counts: SpaceCounts::default(),
        }
    }

    /// A transaction starts from the snapshot whose free space this is.
    pub(crate) fn begin(&mut self, txnid: Txnid, named: Vec<u64>) {
        self.named = named;
        debug_assert!(self.retired.is_empty() && self.lasting.is_empty() && !self.lost);
        (self.first, self.txnid) = (txnid, txnid);
        self.begin_own();
        self.pool.begin();
        self.judged = false;
        self.gaps_left = GAPS_MAX;
        self.frugal = false;
        self.counts = SpaceCounts::default();
    }

    /// One more snapshot that has a name. It was protected until now, so nothing that it sees has
    /// been taken.
    pub(crate) fn retain(&mut self, named: u64) -> Reserved<()> {
        self.named.try_push(named)
    }

    /// Whether it is what it was when the transaction began.
    pub(crate) fn is_untouched(&self) -> bool {
        let unchanged = self.retired.is_empty() && self.lasting.is_empty() && self.has_no_own();
        unchanged && !self.judged && !self.lost
    }

    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// How many items this transaction has retired: a mark for [`Space::cut_back`].
    pub(crate) fn mark(&self) -> usize {
        self.retired.len()
    }

    /// Pages of the base that this transaction has retired so far, and of its own those of which a
    /// level cannot tell whether an outer one will have them back.
    pub(crate) fn retired_pages(&self) -> u64 {
        self.retired.iter().map(|item| u64::from(item.page_count())).sum()
    }

    /// Forgets everything retired since `mark` (a level aborts).
    pub(crate) fn cut_back(&mut self, mark: usize) {
        self.retired.truncate(mark);
    }

    /// Items retired since `mark` and born under `bound` or later: they are judged anew when a
    /// level commits (I6).
    pub(crate) fn take_retired(&mut self, mark: usize, bound: Txnid) -> Vec<Item> {
        let young = self.retired.extract_if(mark.., |item| item.birth >= bound.0);
        let young = collected(young);
        self.lost |= young.is_err();
        young.unwrap_or_default()
    }

    /// Pages that leave the tree, and that a snapshot may see, or a level have back. `node`: they
    /// carry headers; large values do not.
    pub(crate) fn retire(&mut self, pgno: Pgno, pages: u32, birth: Txnid, node: bool) {
        assert!(birth <= self.txnid, "F1: a page from the future is retired");
        let freed = if planted::is(Bug::EndId) { Txnid(self.first.0 - 1) } else { self.txnid };
        let kept = self.retired.try_push(Item::run(pgno, pages, birth, freed.max(birth), node));
        self.lost |= kept.is_err();
    }

    /// Numbers taken by this transaction and never written: free at once.
    pub(crate) fn give_back(&mut self, pgno: Pgno, pages: u32) {
        debug_assert!(pgno.0 + pages <= self.used, "F1: a number past the mark is given back");
        assert!(
            !self.is_own(pgno, pages),
            "P8, F3: a number that was written is handed out again under the same id"
        );
        let kept = self.pool.add_one(FreeRun { pgno: pgno.0, pages, freed: self.txnid.0 });
        self.lost |= kept.is_err();
    }

    /// One page number.
    pub(crate) fn take(&mut self, backend: &impl Backend, stay: Stay) -> Result<Pgno> {
        self.refill(backend, CHUNKS_IN_VAIN, |pool| !pool.is_empty())?;
        let gap = match stay {
            Stay::Long if self.gaps_left > 0 => self.pool.take_from_gap(),
            Stay::Before(line) if self.pool.has_below(1, line) => self.pool.take_lowest(),
            _ => None,
        };
        self.gaps_left -= u32::from(gap.is_some() && stay == Stay::Long);
        match gap.or_else(|| self.pool.take_from_longest()) {
            Some(pgno) => self.check_unwritten(pgno, 1),
            None => match self.advance_or_wait(backend, 1, |pool| !pool.is_empty())? {
                Some(pgno) => Ok(pgno),
                None => self.take(backend, stay),
            },
        }
    }

    /// Consecutive page numbers for a large value: the shortest run that is long enough, else
    /// growth.
    pub(crate) fn take_run(&mut self, backend: &impl Backend, pages: u32) -> Result<Pgno> {
        self.refill(backend, chunks_for_run(pages), |pool| pool.fits(pages))?;
        match self.pool.take_run(pages) {
            Some(pgno) => self.check_unwritten(pgno, pages),
            None => match self.advance_or_wait(backend, pages, |pool| pool.fits(pages))? {
                Some(pgno) => Ok(pgno),
                None => self.take_run(backend, pages),
            },
        }
    }

    /// P8, F3: nothing written comes to the pool from here, but a damaged list may name a page
    /// once more after it was taken and written.
    fn check_unwritten(&self, pgno: Pgno, pages: u32) -> Result<Pgno> {
        if self.is_own(pgno, pages) {
            Err(Error::corrupt(pgno.0, Reason::Space.text()))
        } else {
            Ok(pgno)
        }
    }

    fn advance(&mut self, backend: &impl Backend, pages: u32) -> Result<Pgno> {
        let used = u64::from(self.used) + u64::from(pages);
        backend.extend(used, self.frugal)?;
        let used = u32::try_from(used).expect("no maximum size lies above all page numbers");
        // A damaged list may have had the mark moved back over written pages.
        let pgno = self.check_unwritten(Pgno(self.used), pages)?;
        self.used = used;
        Ok(pgno)
    }

    fn judge_once(&mut self, backend: &impl Backend) -> Result<()> {
        if !self.judged {
            self.unfold()?;
            // P13: a scan serves the transaction that made it.
            backend.read_protected(&self.named, &mut self.protected)?;
            self.judged = true;
            self.judge_items()?;
            self.slacken(backend)?;
        }
        Ok(())
    }

    /// Sorts the list that the base records into what it says is free, and the rest. An error
    /// leaves it open where they are.
    fn unfold(&mut self) -> Result<()> {
        if self.recorded.is_empty() {
            return Ok(());
        }
        let mut others = std::mem::take(&mut self.recorded);
        let free = collected(others.extract_if(.., |item| item.is_free()).map(|i| FreeRun::of(&i)));
        let unfolded = free.map_err(Error::from).and_then(|free| {
            self.pool.add(free)?;
            self.unjudged = merge(std::mem::take(&mut self.unjudged), others)?;
            Ok(())
        });
        self.lost |= unfolded.is_err();
        unfolded
    }

    /// Makes room for the pages that go round, where little else is free. It is a comfort: if the
    /// file may not grow, what is there has to do.
    fn slacken(&mut self, backend: &impl Backend) -> Result<()> {
        let missing = slack(self.used).saturating_sub(self.pool.pages());
        if missing == 0 || self.frugal || self.items.iter().any(Item::is_chain) {
            return Ok(());
        }
        if backend.asks_before(u64::from(self.used) + u64::from(missing)) {
            return Ok(());
        }
        if let Ok(pgno) = self.advance(backend, missing) {
            let run = FreeRun { pgno: pgno.0, pages: missing, freed: self.txnid.0 };
            let kept = self.pool.add_one(run);
            self.lost |= kept.is_err();
            kept?;
        }
        Ok(())
    }

    /// Moves items that no snapshot retains any more to the pool, as the protected set is now. An
    /// error leaves it open where they are.
    fn judge_items(&mut self) -> Result<()> {
        let judged = self.judge_each();
        self.lost |= judged.is_err();
        judged
    }

    fn judge_each(&mut self) -> Result<()> {
        let protected = self.protected();
        let stay = self.retaining.iter().all(|id| protected.contains(*id));
        if !stay && !planted::is(Bug::RetainedStays) {
            // F6: they are retained by others, or not at all.
            self.retaining.clear();
            let items = std::mem::take(&mut self.items);
            self.unjudged = merge(items, std::mem::take(&mut self.unjudged))?;
        }
        let mut unjudged = std::mem::take(&mut self.unjudged);
        for item in unjudged.drain(..) {
            if self.is_retained(&item)? {
                insert(&mut self.items, item)?;
            } else {
                self.pool.add_one(FreeRun::of(&item))?;
            }
        }
        // For its room.
        self.unjudged = unjudged;
        Ok(())
    }

    /// P12: whether a protected snapshot retains the item, which is noted then; or it is a chain.
    fn is_retained(&mut self, item: &Item) -> Result<bool> {
        self.counts.items_judged += 1;
        // P8, F3, I10: nothing that this transaction freed is judged, let alone taken, by it. Only
        // a damaged list says otherwise.
        if item.freed >= self.first.0 {
            return Err(Error::corrupt(item.pgno, Reason::Space.text()));
        }
        if item.is_chain() {
            return Ok(true);
        }
        let protected = self.protected();
        let Some(oldest) = protected.oldest_of(&protected.all, item.birth, item.freed) else {
            debug_assert!(
                protected.all.iter().all(|&s| s < item.birth || item.freed <= s)
                    || planted::is(Bug::FreedOffByOne),
                "P12: a page is handed out that a protected snapshot sees"
            );
            return Ok(false);
        };
        if let Err(at) = self.retaining.binary_search(&oldest) {
            self.retaining.try_reserve(1)?;
            self.retaining.insert(at, oldest);
        }
        Ok(true)
    }

    /// The protected set, which has been read.
    fn protected(&self) -> &Protected {
        assert!(self.judged, "F4: judged before the protected set was read");
        &self.protected
    }

    /// The free space that the snapshot of this transaction records. After an error it can only be
    /// dropped.
    pub(crate) fn seal(
        &mut self,
        backend: &impl Backend,
        page_bytes: usize,
        shrink: Shrink,
    ) -> Result<SealedSpace> {
        self.frugal = true;
        self.unfold()?;
        self.end_own()?;
        self.clip(shrink.max_pages)?;
        let mut swept = self.sweep(backend, shrink)?;
        self.drop_tail(shrink);
        self.close_retired()?;
        if planted::is(Bug::FreeEntryLost) && self.items.len() + self.unjudged.len() > 20 {
            self.unjudged.pop();
        }
        let mut chunks = Vec::new();
        if self.inline_items() > INLINE_ITEMS_MAX {
            let items = std::mem::take(&mut self.items);
            let items = merge(items, std::mem::take(&mut self.unjudged))?;
            self.unjudged =
                self.move_to_chunks(backend, items, page_bytes, &mut swept, &mut chunks)?;
        }
        assert!(self.inline_items() <= INLINE_ITEMS_MAX, "F2: the inline items fit the meta");
        self.check_bounds()?;
        self.counts.chunks_written += chunks.len() as u64;
        swept.now.earn(chunks.len().saturating_sub(swept.opened));
        Ok(SealedSpace { used: self.used, sweep: swept.now, chunks })
    }

    /// I10: what the transaction has retired is for the next one to judge. F1: it is in no other
    /// item.
    fn close_retired(&mut self) -> Result<()> {
        let mut retired = std::mem::take(&mut self.retired);
        retired.try_extend(self.lasting.drain(..))?;
        retired.try_extend(self.take_waiting().into_iter())?;
        retired.sort_unstable_by_key(Item::first);
        let retired = joined(retired)?;
        for item in &retired {
            check_apart(&self.items, item)?;
        }
        if planted::is(Bug::JudgedId) {
            self.items = merge(std::mem::take(&mut self.items), retired)?;
        } else if self.unjudged.is_empty() {
            self.retired = std::mem::replace(&mut self.unjudged, retired);
        } else {
            self.unjudged = merge(std::mem::take(&mut self.unjudged), retired)?;
        }
        Ok(())
    }

    /// No meta is sealed that would not be believed: its items lie inside the file. All came in
    /// order, so that the ends of the lists tell.
    fn check_bounds(&self) -> Result<()> {
        let lists = [self.pool.bounds(), bounds(&self.items), bounds(&self.unjudged)];
        let outside = |(first, end): &(u32, u32)| *first < self.first_page || *end > self.used;
        match lists.into_iter().flatten().find(outside) {
            Some((first, _)) => Err(Error::corrupt(first, Reason::Space.text())),
            None => Ok(()),
        }
    }

    /// The list that a snapshot records which was sealed just now.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = Item> + Clone + '_ {
        self.pool.items().chain(self.items.iter().chain(&self.unjudged).copied())
    }

    fn inline_items(&self) -> usize {
        self.pool.len() + self.items.len() + self.unjudged.len()
    }

    /// M10: pages at the end of the file that no snapshot can see, beyond the slack, are cut off
    /// after this commit.
    fn drop_tail(&mut self, shrink: Shrink) {
        let Some(tail) = self.pool.tail(self.used) else { return };
        let slack = shrink.all_to.map_or(u32::MAX, |to| to.saturating_sub(tail.pgno));
        let surplus = tail.pages.saturating_sub(slack.min(self::slack(tail.pgno)));
        if shrink.pages > 0 && surplus > 0 && surplus.saturating_add(shrink.behind) >= shrink.pages
        {
            self.pool.cut_tail(surplus);
            self.used -= surplus;
        }
    }
}

#[cfg(test)]
mod tests;

//! Which pages exist: the file as pages, snapshots of it, free space, and the writer's pages.
//!
//! A [`Store`] is what one client shares among its transactions: the data file, the lock file's
//! board, the checksum seal, buffers, and the memory of which pages have been verified.

mod by_pgno;
pub(crate) mod pages;
pub(crate) mod slow;
pub(crate) mod source;
pub(crate) mod space;
pub(crate) mod verified;

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::alloc::{TryGrow, filled};
use crate::error::{Error, Result};
use crate::lock::{Board, Clients, Guest, Mark, Role, RoleKind, Slots, scan_guests};
use crate::os::{Ahead, Disk, MapPages, ReadAhead, Storage, ViewPage, locked};
use crate::page::{Chunk, Kind, PageGeometry, Ptr, Reason, RunRef, Seal, admit};
use crate::planted::{self, Bug};
use crate::store::slow::SlowReaders;
use crate::store::source::{OnPage, damaged};
use crate::store::space::{Backend, Need, Protected, Retained};

/// One page's bytes on their way to the file, or there already.
pub(crate) enum Buffer {
    Own(Box<[u8]>),
    View(ViewPage),
}

impl Buffer {
    /// Whether it is the page of the file itself.
    pub(crate) fn is_view(&self) -> bool {
        matches!(self, Buffer::View(_))
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Buffer::Own(bytes) => bytes,
            Buffer::View(page) => page,
        }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Buffer::Own(bytes) => bytes,
            Buffer::View(page) => page,
        }
    }
}

/// Buffers kept for the next transaction at most.
const SPARE_BUFFERS_MAX: usize = 4096;
/// Pages that only deletes and commits may take when the file cannot grow any more: they need some,
/// and give more back. A small file has fewer: a share of what is in use, and a few.
const RESERVE_PAGES: u32 = 64;
const RESERVE_PAGES_MIN: u64 = 4;
const RESERVE_SHARE: u64 = 4;
/// Pages that a file grows by, however short the tail is that is cut off.
const GROW_PAGES_MIN: u32 = 16;
/// The growth step where the geometry leaves it open: a file doubles until this step is reached,
/// and grows by a share of it from then on.
const GROW_BYTES_MIN: u64 = 1 << 20;
const GROW_SHARE: u64 = 32;
const GROW_BYTES_MAX: u64 = 64 << 20;

/// When checksums of pages are verified in reading.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Env, Verify};
/// let env = Env::options().verify(Verify::PagesAndValues).open(dir.path().join("a.huon"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// When this process first accesses a page. Later accesses cost one load.
    #[default]
    Pages,
    /// The same, and large values each time they are read.
    PagesAndValues,
    /// Never in reading; check, copy and recovery still do.
    Never,
}

/// What one client shares among its transactions.
pub(crate) struct Store {
    pub(crate) storage: Box<dyn Storage>,
    pub(crate) board: Arc<Board>,
    pub(crate) slots: Slots,
    /// This process may not write the lock file, and pins snapshots so.
    pub(crate) guest: Option<Guest>,
    /// Under which pages are written.
    pub(crate) writer: Role,
    /// What is done about readers that keep it from pages.
    pub(crate) slow_readers: SlowReaders,
    pub(crate) seal: Seal,
    pub(crate) uuid: [u8; 16],
    pub(crate) page_bytes: usize,
    /// Buffered pages above which a write transaction spills.
    spill_pages: AtomicUsize,
    /// A [`Verify`].
    verify: AtomicU8,
    /// The tag of a page is that of the birth whose checksum was verified, 0 for none.
    pages: MapPages,
    max_pages: AtomicU32,
    grow_pages: AtomicU32,
    shrink_pages: AtomicU32,
    buffers: Mutex<Vec<Box<[u8]>>>,
    stale_scan: planted::StaleScan,
    /// Only for a planted bug.
    asked_guests: AtomicBool,
    /// Checksums of pages computed for reading (they are counted, so that tests can assert on
    /// them).
    pub(crate) verified_count: AtomicU64,
}

/// The parts of a store.
pub(crate) struct StoreParts {
    pub(crate) storage: Box<dyn Storage>,
    pub(crate) clients: Arc<Clients>,
    pub(crate) guest: Option<Guest>,
    pub(crate) uuid: [u8; 16],
    pub(crate) page_bytes: usize,
    pub(crate) write_buffer_bytes: usize,
    pub(crate) verify: Verify,
    pub(crate) read_ahead: ReadAhead,
    pub(crate) slow_readers: SlowReaders,
}

impl Store {
    pub(crate) fn new(parts: StoreParts) -> Result<Store> {
        let store = Store {
            seal: Seal::new(&parts.uuid),
            pages: MapPages::new(parts.storage.map(), parts.page_bytes)?,
            storage: parts.storage,
            board: parts.clients.board().clone(),
            writer: Role::new(parts.clients.clone(), RoleKind::Writer),
            slots: Slots::new(parts.clients)?,
            guest: parts.guest,
            slow_readers: parts.slow_readers,
            uuid: parts.uuid,
            page_bytes: parts.page_bytes,
            spill_pages: AtomicUsize::new(0),
            verify: AtomicU8::new(0),
            max_pages: AtomicU32::new(0),
            grow_pages: AtomicU32::new(0),
            shrink_pages: AtomicU32::new(0),
            buffers: Mutex::new(Vec::new()),
            stale_scan: planted::StaleScan::default(),
            asked_guests: AtomicBool::new(false),
            verified_count: AtomicU64::new(0),
        };
        store.set_write_buffer_bytes(parts.write_buffer_bytes);
        store.set_verify(parts.verify);
        store.pages.set_read_ahead(parts.read_ahead);
        store.measure()?;
        Ok(store)
    }

    /// Takes over what the parent of this process has verified in the same map (C5).
    pub(crate) fn take_over(&mut self, inherited: &Store) {
        self.pages.take_over(&inherited.pages);
    }

    /// Buffered pages above which a write transaction spills.
    pub(crate) fn spill_pages(&self) -> usize {
        self.spill_pages.load(Ordering::Relaxed)
    }

    /// Bytes that the next write transactions may buffer.
    pub(crate) fn set_write_buffer_bytes(&self, bytes: usize) {
        self.spill_pages.store((bytes / self.page_bytes).max(8), Ordering::Relaxed);
    }

    /// When checksums are verified from now on.
    pub(crate) fn set_verify(&self, verify: Verify) {
        self.verify.store(verify as u8, Ordering::Relaxed);
    }

    fn verifies(&self, what: Verify) -> bool {
        self.verify.load(Ordering::Relaxed) == what as u8
    }

    /// Asks the kernel how long the file is, and that it is the file (P5).
    #[cold]
    #[inline(never)]
    pub(crate) fn measure(&self) -> Result<u32> {
        self.writer.check_descriptor()?;
        self.pages.measure(|| self.storage.file_bytes())
    }

    /// Pages that the reserved address space can hold.
    pub(crate) fn map_pages(&self) -> u32 {
        self.pages.count()
    }

    /// Takes over the limits of the snapshot that a write transaction starts from, or that it sets.
    pub(crate) fn set_geometry(&self, geometry: &PageGeometry) {
        self.max_pages.store(geometry.max_pages, Ordering::Relaxed);
        self.grow_pages.store(geometry.grow, Ordering::Relaxed);
        self.shrink_pages.store(geometry.shrink, Ordering::Relaxed);
    }

    /// The error for a snapshot, or a geometry, of so many pages that the map does not hold.
    #[cold]
    pub(crate) fn map_too_small(&self, pages: impl Into<u64>) -> Error {
        let needed_bytes = pages.into() * self.page_bytes as u64;
        Error::MapTooSmall { needed_bytes, map_bytes: self.offset(self.map_pages()) }
    }

    /// Where a page begins in the file; or how long so many pages are.
    pub(crate) fn offset(&self, pgno: u32) -> u64 {
        u64::from(pgno) * self.page_bytes as u64
    }

    /// S1: the bytes of the page that `ptr` names in a snapshot of `used` pages.
    #[inline(always)]
    pub(crate) fn page(&self, ptr: Ptr, used: u32) -> Result<&[u8]> {
        match self.page_accessed_before(ptr, used) {
            Some(page) => Ok(page),
            None => self.page_on_first_access(ptr, used),
        }
    }

    /// As [`Store::page`], without the reason where there is none to hand out.
    #[inline(always)]
    pub(crate) fn fast_page(&self, ptr: Ptr, used: u32) -> Option<&[u8]> {
        match self.page_accessed_before(ptr, used) {
            Some(page) => Some(page),
            None => self.try_first_access(ptr, used),
        }
    }

    /// A page that was handed out before in a snapshot that is still pinned.
    #[inline(always)]
    pub(crate) fn page_again(&self, ptr: Ptr) -> Option<&[u8]> {
        self.pages.get(ptr.pgno.0).map(|(page, _)| page)
    }

    /// The page, if it was accessed before: compares its number and its tag, no more.
    #[inline(always)]
    fn page_accessed_before(&self, ptr: Ptr, used: u32) -> Option<&[u8]> {
        if ptr.pgno.0 >= used {
            return None;
        }
        let (page, tag) = self.pages.get(ptr.pgno.0)?;
        if tag.load(Ordering::Relaxed) == birth_tag(ptr) { Some(page) } else { None }
    }

    /// The page at its first access; the file may have grown since it was last measured.
    #[cold]
    #[inline(never)]
    fn page_on_first_access(&self, ptr: Ptr, used: u32) -> Result<&[u8]> {
        if ptr.pgno.0 >= self.pages.in_file() {
            self.measure()?;
        }
        let page = self.page_in_file(ptr, used)?;
        if !self.verifies(Verify::Never) {
            self.verify_pair(ptr, page)?;
        }
        self.note_verified(ptr);
        Ok(page)
    }

    #[cold]
    #[inline(never)]
    fn try_first_access(&self, ptr: Ptr, used: u32) -> Option<&[u8]> {
        self.page_on_first_access(ptr, used).ok()
    }

    /// How many pages of a snapshot of `used` pages have been in the file so far. A page that lies
    /// further back makes the file be measured again when it is accessed.
    pub(crate) fn pages_max(&self, used: u32) -> u32 {
        used.min(self.pages.in_file())
    }

    fn page_in_file(&self, ptr: Ptr, used: u32) -> Result<&[u8]> {
        match self.pages.get(ptr.pgno.0) {
            Some((page, _)) if ptr.pgno.0 < used => Ok(page),
            _ => Err(damaged(ptr, Reason::OutOfRange)),
        }
    }

    /// The verification of a page: its pair before its checksum, since a page of another birth has
    /// a right checksum of its own.
    fn verify_pair(&self, ptr: Ptr, page: &[u8]) -> Result<()> {
        self.verified_count.fetch_add(1, Ordering::Relaxed);
        if crate::page::header::ptr(page) != ptr && !planted::is(Bug::BirthUnchecked) {
            return Err(damaged(ptr, Reason::Header));
        }
        self.seal.verify(page).on(ptr)
    }

    /// The page again, checksum verified whatever was verified before: for check, copy and
    /// recovery.
    pub(crate) fn page_verified(&self, ptr: Ptr, used: u32) -> Result<&[u8]> {
        self.measure()?;
        let page = self.page_in_file(ptr, used)?;
        self.verify_pair(ptr, page)?;
        Ok(page)
    }

    /// The bytes of a large value.
    #[inline(always)]
    pub(crate) fn run(&self, run: &RunRef, used: u32) -> Result<&[u8]> {
        if self.verifies(Verify::PagesAndValues) {
            self.run_verified(run, used)
        } else {
            self.run_bytes(run, used)
        }
    }

    #[inline(always)]
    fn run_bytes(&self, run: &RunRef, used: u32) -> Result<&[u8]> {
        let end = u64::from(run.pgno.0) + u64::from(run.pages(self.page_bytes));
        let inside = run.pgno.0 != 0 && end <= u64::from(used);
        if inside
            && (end <= u64::from(self.pages.in_file()) || end <= u64::from(self.measure()?))
            && let Some(bytes) = self.pages.map().page(self.offset(run.pgno.0), run.bytes as usize)
        {
            if let Some(disk) = self.disk() {
                ask_for_run(disk, run);
            }
            return Ok(bytes);
        }
        Err(damaged(Ptr { pgno: run.pgno, birth: run.birth }, Reason::OutOfRange))
    }

    /// The bytes of a large value, checksum verified.
    #[inline(never)]
    pub(crate) fn run_verified(&self, run: &RunRef, used: u32) -> Result<&[u8]> {
        let bytes = self.run_bytes(run, used)?;
        if self.seal.run(bytes) == run.checksum {
            Ok(bytes)
        } else {
            Err(damaged(Ptr { pgno: run.pgno, birth: run.birth }, Reason::Run))
        }
    }

    /// Hints that the page will be read soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, ptr: Ptr) {
        self.pages.prefetch(ptr.pgno.0);
    }

    /// The page, to be asked for little by little.
    #[inline]
    pub(crate) fn ahead(&self, ptr: Ptr) -> Ahead {
        self.pages.ahead(ptr.pgno.0)
    }

    /// The file, if code that knows its next pages should prefetch them.
    #[inline(always)]
    pub(crate) fn disk(&self) -> Option<Disk<'_>> {
        self.pages.disk()
    }

    /// How often was asked for pages before they were needed, and for how many bytes.
    pub(crate) fn requests(&self) -> (u64, u64) {
        self.pages.requests()
    }

    /// A page buffer, with stale contents.
    pub(crate) fn buffer(&self) -> Result<Buffer> {
        let spare = locked(&self.buffers).pop();
        match spare {
            Some(buffer) => Ok(Buffer::Own(buffer)),
            None => Ok(Buffer::Own(filled(0, self.page_bytes)?.into_boxed_slice())),
        }
    }

    /// The page itself as a buffer, if the file has a view and the page was in memory once.
    pub(crate) fn view(&self, pgno: u32) -> Option<Buffer> {
        let accessed = self.was_accessed(pgno);
        let page = accessed.then(|| self.storage.view(self.offset(pgno), self.page_bytes))?;
        page.map(Buffer::View)
    }

    /// Keeps a buffer for later, if there is room.
    pub(crate) fn recycle(&self, buffer: Buffer) {
        let Buffer::Own(buffer) = buffer else { return };
        if buffer.len() != self.page_bytes {
            return;
        }
        let mut buffers = locked(&self.buffers);
        if buffers.len() < SPARE_BUFFERS_MAX && buffers.try_reserve(1).is_ok() {
            buffers.push(buffer);
        }
    }

    /// Notes that the page needs no verification on access: it was just verified, or this client
    /// wrote it.
    pub(crate) fn note_verified(&self, ptr: Ptr) {
        if let Some((_, tag)) = self.pages.get(ptr.pgno.0) {
            tag.store(birth_tag(ptr), Ordering::Relaxed);
        }
    }

    /// Whether this client has read or written a page of this number: it was in memory once.
    fn was_accessed(&self, pgno: u32) -> bool {
        self.pages.get(pgno).is_some_and(|(_, tag)| tag.load(Ordering::Relaxed) != 0)
    }

    /// Makes the file hold all pages of a snapshot again: after a crash it may be shorter than the
    /// snapshot remembers, since its free tail was cut off later.
    pub(crate) fn cover(&self, used: u32) -> Result<()> {
        if self.pages.in_file() < used { self.grow(used, used) } else { Ok(()) }
    }

    fn growth_step(&self, file_pages: u32) -> u32 {
        match self.grow_pages.load(Ordering::Relaxed) {
            0 => self.growth_by_size(file_pages),
            pages => pages,
        }
    }

    /// With the pages kept behind those in use, shorter than a tail that is to be cut off, if that
    /// leaves it some pages.
    fn growth_by_size(&self, file_pages: u32) -> u32 {
        let file_bytes = self.offset(file_pages);
        let step = file_bytes.min(GROW_BYTES_MIN).max(file_bytes / GROW_SHARE);
        let step = (step.min(GROW_BYTES_MAX) / self.page_bytes as u64) as u32;
        match self.shrink_pages.load(Ordering::Relaxed) {
            0 => step,
            shrink => step.min(shrink.saturating_sub(RESERVE_PAGES + 1).max(GROW_PAGES_MIN)),
        }
    }

    /// How many pages the file has, as far as is known.
    pub(crate) fn file_pages(&self) -> u32 {
        self.pages.in_file()
    }

    /// A free tail of so many pages is cut off a file that uses `used` pages; 0: none is. More than
    /// a growth adds, lest pages added for a commit be cut off after it, and added for the next.
    pub(crate) fn least_cut(&self, used: u32) -> u32 {
        let grown = self.growth_step(self.file_pages());
        let kept = reserve_pages(used.into(), u32::MAX) as u32;
        match self.shrink_pages.load(Ordering::Relaxed) {
            0 => 0,
            shrink => shrink.max(grown.saturating_add(kept).saturating_add(1)),
        }
    }

    /// Cuts off the pages past `keep` if they are at least `shrink`, at a boundary of the kernel's
    /// pages.
    pub(crate) fn shrink(&self, keep: u32, shrink: u32) -> Result<()> {
        if self.pages.in_file() < keep.saturating_add(shrink) {
            return Ok(());
        }
        let system_page = crate::os::system_page() as u64;
        let keep = if planted::is(Bug::TailCutShort) { keep - 1 } else { keep };
        let keep_bytes = self.offset(keep).next_multiple_of(system_page);
        let file_bytes = self.offset(self.pages.in_file());
        if file_bytes < keep_bytes + self.offset(shrink) {
            return Ok(());
        }
        self.writer.check_descriptor()?;
        let cut = || {
            self.storage.shrink(keep_bytes)?;
            self.storage.file_bytes()
        };
        self.pages.measure(cut).map(drop)
    }

    /// Grows the file to hold `wanted` pages, by whole steps while the limit allows.
    fn grow(&self, wanted: u32, max_pages: u32) -> Result<()> {
        let file_pages = self.measure()?;
        if wanted <= file_pages {
            return Ok(());
        }
        let step = self.growth_step(file_pages).max(1);
        let target = file_pages.saturating_add(step).max(wanted).min(max_pages);
        if let Err(error) = self.storage.grow(self.offset(target)) {
            // The whole step may not fit the disk where the pages themselves do.
            if target == wanted || self.storage.grow(self.offset(wanted)).is_err() {
                return Err(error);
            }
        }
        self.measure().map(drop)
    }
}

/// Pages to keep behind the `used` ones of a file with that limit.
fn reserve_pages(used: u64, limit: u32) -> u64 {
    let share = (used / RESERVE_SHARE).clamp(RESERVE_PAGES_MIN, RESERVE_PAGES.into());
    share.min(u64::from(limit / 16))
}

/// Prefetches all of a value: a reader of its first page wants the others too.
#[cold]
#[inline(never)]
fn ask_for_run(disk: Disk<'_>, run: &RunRef) {
    if disk.is_slow() {
        disk.ask_for(run.pgno.0, run.bytes.into());
    }
}

/// Fifteen bits of the birth and a mark: they tell an accessed page from one of another birth.
#[inline]
fn birth_tag(ptr: Ptr) -> u16 {
    (ptr.birth.0 as u16) << 1 | 1
}

impl Backend for Store {
    fn read_protected(&self, named: &[u64], into: &mut Protected) -> Result<()> {
        // P10: the marks first, then the reader slots. P13: both anew in each transaction that
        // wants pages, so no scan ever decides for a later one.
        let marks = self.board.protected_marks();
        // P9: the durable snapshot is published, the published one is sealed. P10: the one in
        // flight is read before the sealed one. Words of a lock file that say otherwise protect
        // nothing.
        let rising = marks.durable <= marks.published && marks.published <= marks.sealed;
        if !rising || marks.in_flight > marks.sealed || marks.in_journal_flight > marks.sealed {
            return Err(Error::corrupt_file("the lock file's snapshots are out of order (P9)"));
        }
        let Protected { all, lasting, spans } = into;
        lasting.clear();
        spans.clear();
        lasting.try_extend(named.iter().copied())?;
        self.slots.scan(lasting)?;
        if !planted::is(Bug::GuestAskedOnce) || !self.asked_guests.swap(true, Ordering::Relaxed) {
            scan_guests(&**self.board.shared(), marks.sealed.txnid(), lasting, spans)?;
        }
        if planted::is(Bug::StaleScan) {
            self.stale_scan.swap(lasting);
        }
        if !planted::is(Bug::DurableUnprotected) {
            // J4.3.
            let journaled = planted::is(Bug::JournaledProtected);
            let durable = if journaled { self.board.durable_id() } else { marks.durable.txnid() };
            let flights = [marks.in_flight, marks.in_journal_flight].map(Mark::txnid);
            lasting.try_extend(flights.into_iter().chain([durable]))?;
        }
        all.try_set(lasting)?;
        if !planted::is(Bug::NewestUnprotected) {
            all.try_extend([marks.published.txnid(), marks.sealed.txnid()].into_iter())?;
        }
        for ids in [&mut *lasting, &mut *all] {
            ids.retain(|&id| id != 0);
            ids.sort_unstable();
            ids.dedup();
        }
        debug_assert!(
            lasting.iter().all(|id| all.binary_search(id).is_ok()),
            "P11: the owner of a chain is protected"
        );
        Ok(())
    }

    fn chunk(&self, ptr: Ptr, used: u32) -> Result<Chunk<'_>> {
        let page = self.page_verified(ptr, used)?;
        admit(page, ptr, Kind::Chunk, 0).and_then(|count| Chunk::view(page, count)).on(ptr)
    }

    fn extend(&self, used: u64, frugal: bool) -> Result<()> {
        let max_pages = self.max_pages.load(Ordering::Relaxed);
        let limit = max_pages.min(self.map_pages());
        let reserve = if frugal { 0 } else { reserve_pages(used, limit) };
        let wanted = used + reserve;
        match u32::try_from(wanted) {
            // The file may be longer than its maximum size, until that was lowered for good.
            Ok(wanted) if wanted <= limit && wanted <= self.pages.in_file() => Ok(()),
            Ok(wanted) if wanted <= limit => self.grow(wanted, limit),
            _ if limit < max_pages => Err(self.map_too_small(wanted)),
            _ => Err(Error::map_full(self.offset(max_pages), wanted * self.page_bytes as u64)),
        }
    }

    fn room(&self, used: u32) -> u64 {
        let limit = self.max_pages.load(Ordering::Relaxed).min(self.map_pages());
        u64::from(limit).saturating_sub(u64::from(used) + reserve_pages(used.into(), limit))
    }

    fn asks_before(&self, used: u64) -> bool {
        used + reserve_pages(used, u32::MAX) > u64::from(self.pages.in_file())
            && self.slow_readers.before_growing()
    }

    fn relieve(&self, need: &Need<'_>) -> Result<bool> {
        self.relieve_by_readers(need)
    }

    fn name_readers(&self, error: Error, retained: &[Retained], named: &[u64]) -> Error {
        self.with_readers(error, retained, named)
    }
}

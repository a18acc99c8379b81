//! Copy: a snapshot as a file of its own, page by page or built anew.
//!
//! A plain copy has the pages of the snapshot in their places. Pages that no table reaches are
//! written as zeros, so nothing that was deleted travels along, and are listed as free. It is
//! written from front to back, so it can go down a pipe.
//!
//! C1. Every page of the snapshot is verified before the first byte is written, and each page with
//!     a header once more when it is written.
//! C2. A copy with a name appears whole and flushed, or not at all; it never replaces a file.

mod compact;
pub(super) mod target;

use std::fs::File;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use crate::alloc::{TryGrow, collected, filled};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::bitmap::Bitmap;
use crate::ops::pinned;
use crate::ops::progress::{Meter, OnProgress, Progress};
use crate::os::{self, AsFd, Identity, QuietFile};
use crate::page::{
    CommitKind, Item, META_BYTES, META_SLOTS, Meta, PayloadKind, Pgno, Ptr, Reason, RunRef, Tree,
    Txnid, chunk_capacity, first_data_page, write_chunk,
};
use crate::store::Store;
use crate::store::source::{OnPage, damaged};
use crate::store::verified::Verified;
use crate::tree::read;
use crate::tree::view::TreeView;
use crate::tree::walk::{Spot, Visit, Visitor};
use crate::txn::Core;
use crate::txn::read::ReadTxn;
use target::Draft;

/// Free runs that a copy keeps in its meta; others go to chunk pages.
const INLINE_ITEMS: usize = 80;
/// Bytes written at once.
const PIECE_BYTES: usize = 1 << 20;
/// The longest run of free pages that an item describes.
const ITEM_PAGES_MAX: u32 = (1 << 31) - 1;

/// Options of a copy; see [`Env::copy_to`].
#[must_use = "options do nothing until they are passed to `Env::copy_to`"]
#[derive(Default)]
pub struct CopyOptions<'a> {
    compact: bool,
    mode: Option<u32>,
    progress: OnProgress<'a>,
    snapshot: Option<&'a ReadTxn>,
}

impl<'a> CopyOptions<'a> {
    /// A plain copy, without a progress callback.
    pub fn new() -> CopyOptions<'a> {
        CopyOptions::default()
    }

    /// Builds every table anew, its pages full and without free space, rather than copying pages.
    pub fn compact(mut self, yes: bool) -> CopyOptions<'a> {
        self.compact = yes;
        self
    }

    /// Copies what a read transaction of the environment sees, rather than the newest snapshot.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{CopyOptions, Env, TableDef, U64};
    /// # const T: TableDef<U64, U64> = TableDef::new("t");
    /// let env = Env::open(dir.path().join("a.huon"))?;
    /// let before = env.read()?;
    /// env.update(|txn| txn.create_table(&T)?.put(txn, 1, 1))?;
    /// let backup = dir.path().join("backup.huon");
    /// env.copy_to(&backup, CopyOptions::new().snapshot(&before))?;
    /// assert!(Env::open(&backup)?.view(|txn| txn.open_table(&T))?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(mut self, txn: &'a ReadTxn) -> CopyOptions<'a> {
        self.snapshot = Some(txn);
        self
    }

    /// Permission bits of the copy; default 0600.
    pub fn mode(mut self, mode: u32) -> CopyOptions<'a> {
        self.mode = Some(mode);
        self
    }

    /// Calls `report` about once a megabyte; the copy ends with an error, and leaves nothing
    /// behind, if it breaks.
    pub fn progress(
        mut self,
        report: impl FnMut(&Progress) -> ControlFlow<()> + 'a,
    ) -> CopyOptions<'a> {
        self.progress = OnProgress::call(report);
        self
    }

    fn mode_bits(&self) -> u32 {
        self.mode.unwrap_or(0o600)
    }
}

impl std::fmt::Debug for CopyOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyOptions").field("compact", &self.compact).finish_non_exhaustive()
    }
}

/// The result of a copy.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyReport {
    /// The snapshot that was copied.
    pub txnid: u64,
    /// Length of the copy.
    pub bytes: u64,
}

impl Env {
    /// Copies the newest visible snapshot to a new file, while readers and writers go on.
    ///
    /// The copy has a name of its own only when it is complete and flushed.
    ///
    /// # Errors
    /// [`Error::Io`] if `path` exists, or cannot be written; [`Error::NotADatabase`] if it is the
    /// name of another environment's lock file, or its own lock file is something else;
    /// [`Error::Corrupt`] for a damaged page, which is never copied: [`Env::salvage`] shows the
    /// records that are left.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::open(dir.path().join("a.huon"))?;
    /// let backup = dir.path().join("backup.huon");
    /// env.copy_to(&backup, huon::CopyOptions::new())?;
    /// assert!(huon::Env::open(&backup)?.check()?.is_clean());
    ///
    /// let compact = dir.path().join("compact.huon");
    /// env.copy_to(&compact, huon::CopyOptions::new().compact(true))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_to(
        &self,
        path: impl AsRef<Path>,
        mut options: CopyOptions<'_>,
    ) -> Result<CopyReport> {
        let path = path.as_ref();
        let draft = Draft::beside(path)?;
        let txnid = if options.compact {
            compact::build(self, draft.path(), &mut options, 1)?.0
        } else {
            let file = draft.create(options.mode_bits())?;
            let txnid = plain(self, &mut QuietFile(&file), &mut options)?;
            draft.flush(&file)?;
            txnid
        };
        Ok(CopyReport { txnid, bytes: draft.finish(path)? })
    }

    /// Writes a copy of the newest visible snapshot to `out`, from front to back.
    ///
    /// A compacting copy is first built in the directory for temporary files.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a damaged page, [`Error::Io`] if `out` fails: the part that was
    /// written by then is of no use. A plain copy has verified everything before its first byte.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let mut bytes = Vec::new();
    /// let report = env.copy_to_writer(&mut bytes, huon::CopyOptions::new())?;
    /// assert_eq!(report.bytes, bytes.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_to_writer(
        &self,
        out: &mut dyn Write,
        mut options: CopyOptions<'_>,
    ) -> Result<CopyReport> {
        let mut out = Counted { out, bytes: 0 };
        let txnid = if options.compact {
            let draft = Draft::temporary();
            let (txnid, done_bytes) = compact::build(self, draft.path(), &mut options, 2)?;
            send(&draft, done_bytes, &mut out, &mut options)?;
            txnid
        } else {
            plain(self, &mut out, &mut options)?
        };
        out.flush().map_err(write_error)?;
        Ok(CopyReport { txnid, bytes: out.bytes })
    }

    /// Writes a copy of the newest visible snapshot to a descriptor: a pipe, a socket, or a file
    /// from where it stands on. The descriptor must be a blocking one, and stays open. A regular
    /// file is flushed in the end.
    ///
    /// # Errors
    /// Those of [`Env::copy_to_writer`]. [`Error::Invalid`] if it is a descriptor of the
    /// environment's own files. [`Error::Io`] where the other end of a pipe is gone, or the
    /// limit of file sizes is reached; the process gets neither `SIGPIPE` nor `SIGXFSZ`.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let (mut reader, writer) = std::io::pipe()?;
    /// let receiver = std::thread::spawn(move || {
    ///     let mut bytes = Vec::new();
    ///     std::io::Read::read_to_end(&mut reader, &mut bytes).map(|_| bytes)
    /// });
    /// let report = env.copy_to_fd(&writer, huon::CopyOptions::new())?;
    /// drop(writer);
    /// assert_eq!(receiver.join().expect("it reads")?.len() as u64, report.bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_to_fd(
        &self,
        descriptor: impl AsFd,
        options: CopyOptions<'_>,
    ) -> Result<CopyReport> {
        let file = os::same_under_another(descriptor).map_err(write_error)?;
        self.refuse_own(&file)?;
        let report = self.copy_to_writer(&mut QuietFile(&file), options)?;
        if file.metadata().map_err(write_error)?.is_file() {
            file.sync_all().map_err(|error| Error::io("flush the copy", "", error))?;
        }
        Ok(report)
    }
}

impl Env {
    /// A copy into a file of the environment itself would write over what it reads.
    fn refuse_own(&self, file: &File) -> Result<()> {
        let found = Identity::of(&file.metadata().map_err(write_error)?);
        let own = self.core()?.store.storage.identity()?;
        // One in memory has no path, and no lock file.
        let lock = Some(self.path()).filter(|path| !path.as_os_str().is_empty());
        let lock = lock.and_then(|path| std::fs::metadata(Env::lock_path(path)).ok());
        if found == own || lock.is_some_and(|lock| Identity::of(&lock) == found) {
            Err(Error::Invalid("a copy cannot go into a file of the environment itself"))
        } else {
            Ok(())
        }
    }
}

/// Sends a copy that was built elsewhere on its way; `done_bytes` are those of the building.
fn send(
    draft: &Draft,
    done_bytes: u64,
    out: &mut dyn Write,
    options: &mut CopyOptions<'_>,
) -> Result<()> {
    let mut built = draft.reopen()?;
    let length = built.metadata().map_err(write_error)?.len();
    let mut meter = options.progress.meter(done_bytes + length);
    meter.now.done_bytes = done_bytes;
    let mut piece = filled(0, PIECE_BYTES)?;
    loop {
        let bytes = built.read(&mut piece).map_err(write_error)?;
        if bytes == 0 {
            return meter.tell();
        }
        out.write_all(&piece[..bytes]).map_err(write_error)?;
        meter.advance(bytes as u64)?;
    }
}

fn write_error(error: std::io::Error) -> Error {
    Error::io("write the copy", "", error)
}

/// Counts what goes through.
struct Counted<'o> {
    out: &'o mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// Writes a plain copy; returns the snapshot's id.
fn plain(env: &Env, out: &mut dyn Write, options: &mut CopyOptions<'_>) -> Result<u64> {
    let (_pin, meta) = pinned::pin_of(env, options.snapshot)?;
    let store = &env.core()?.store;
    // Everything is read twice: to verify it, and to write it.
    let mut meter = options.progress.meter(0);
    meter.now.total_bytes = live_bytes(env, &meta)? * 2;
    let reach = Reach::of(store, &meta, meter)?;
    let plan = CopyPlan::new(store, &meta, &reach.used)?;
    if let Some(flaw) = plan.meta.flaw() {
        return Err(Error::corrupt_file(flaw));
    }
    let mut copy = Copy { store, reach, out };
    copy.metas(&plan.meta)?;
    copy.pages(plan.end)?;
    for chunk in &plan.chunks {
        copy.write(chunk)?;
    }
    copy.out.flush().map_err(write_error)?;
    copy.reach.meter.now.done_bytes = copy.reach.meter.now.total_bytes;
    copy.reach.meter.tell()?;
    Ok(meta.txnid.0)
}

/// Bytes of all pages of all tables, as their records have it.
fn live_bytes(env: &Env, meta: &Meta) -> Result<u64> {
    let store = &env.core()?.store;
    let source = Verified { store, used: meta.used };
    let named = crate::ops::tables::named(&source, &meta.main)?;
    let trees = named.iter().map(|(_, tree)| tree).chain([&meta.main]);
    let pages = |tree: &Tree| {
        [tree.branch_pages, tree.leaf_pages, tree.overflow_pages].map(u64::from).iter().sum::<u64>()
    };
    // No sum of what records claim is more than the pages there are.
    let pages = trees.map(pages).fold(0, u64::saturating_add).min(meta.used.into());
    Ok(pages * store.page_bytes as u64)
}

/// Which pages the tables of a snapshot reach, each one verified.
struct Reach<'a> {
    store: &'a Store,
    source_used: u32,
    used: Bitmap,
    /// Pages of large values: they carry no header.
    headerless: Bitmap,
    meter: Meter<'a>,
    /// Trees to be walked next: named tables from the main one, trees of values from those.
    below: Vec<(Tree, Txnid)>,
    tree: Tree,
    in_main: bool,
}

impl<'a> Reach<'a> {
    fn of(store: &'a Store, meta: &Meta, meter: Meter<'a>) -> Result<Reach<'a>> {
        let limit = meta.used.min(store.measure()?);
        let mut reach = Reach {
            store,
            source_used: meta.used,
            used: Bitmap::new(limit)?,
            headerless: Bitmap::new(limit)?,
            meter,
            below: Vec::new(),
            tree: meta.main,
            in_main: true,
        };
        let source = Verified { store, used: meta.used };
        TreeView::unordered(&source, &meta.main).walk(meta.txnid, &mut reach)?;
        reach.in_main = false;
        while let Some((tree, above)) = reach.below.pop() {
            reach.tree = tree;
            TreeView::unordered(&source, &tree).walk(above, &mut reach)?;
        }
        Ok(reach)
    }

    fn enter_once(&mut self, ptr: Ptr, above: Txnid) -> Result<()> {
        let first = first_data_page(self.store.page_bytes);
        if ptr.pgno.0 < first || ptr.pgno.0 >= self.used.limit() {
            return Err(damaged(ptr, Reason::OutOfRange));
        }
        if ptr.birth > above {
            return Err(damaged(ptr, Reason::Header));
        }
        if self.used.put(ptr.pgno.0) { Err(damaged(ptr, Reason::Cycle)) } else { Ok(()) }
    }

    fn run(&mut self, run: &RunRef, above: Txnid) -> Result<()> {
        for step in 0..run.pages(self.store.page_bytes) {
            let pgno = Pgno(run.pgno.0.saturating_add(step));
            self.enter_once(Ptr { pgno, birth: run.birth }, above)?;
            self.headerless.put(pgno.0);
        }
        self.store.run_verified(run, self.source_used)?;
        self.meter.advance(u64::from(run.bytes))
    }
}

impl<'p> Visitor<'p> for Reach<'_> {
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool> {
        self.enter_once(spot.ptr, spot.above).map(|()| true)
    }

    fn visit(&mut self, spot: &Spot<'_>, bytes: &'p [u8], page: Visit<'p>) -> Result<()> {
        self.meter.advance(bytes.len() as u64)?;
        let Visit::Leaf(leaf) = page else { return Ok(()) };
        for cell in leaf.cells() {
            let cell = cell.on(spot.ptr)?;
            match cell.kind {
                PayloadKind::Run => self.run(&read::run_ref(&cell)?, spot.ptr.birth)?,
                PayloadKind::Table if self.in_main => {
                    let tree = Tree::decode(cell.payload);
                    let tree = tree.on(spot.ptr)?;
                    self.below.try_push((tree, spot.ptr.birth))?;
                }
                PayloadKind::DuplicateTree => {
                    let values = self.tree.decode_values(cell.payload);
                    let values = values.on(spot.ptr)?;
                    self.below.try_push((values, spot.ptr.birth))?;
                }
                PayloadKind::DuplicateSet if self.tree.many.is_some() => {}
                PayloadKind::Inline => {}
                _ => return Err(damaged(spot.ptr, Reason::CellKind)),
            }
        }
        Ok(())
    }

    fn trouble(&mut self, _: &Spot<'_>, error: Error) -> Result<()> {
        Err(error)
    }
}

/// What the copy will be.
struct CopyPlan {
    meta: Meta,
    /// One past the last page that a table reaches.
    end: u32,
    /// Pages of the free-space list, which follow.
    chunks: Vec<Vec<u8>>,
}

impl CopyPlan {
    fn new(store: &Store, meta: &Meta, reached: &Bitmap) -> Result<CopyPlan> {
        let page_bytes = store.page_bytes;
        let first = first_data_page(page_bytes);
        let nothing = Bitmap::new(reached.limit())?;
        let mut gaps = collected(reached.gaps(&nothing, first))?;
        // Free pages at the end are left out.
        let tail = gaps.pop_if(|(start, pages)| *start + *pages == reached.limit());
        let end = tail.map_or(reached.limit(), |(start, _)| start);
        let mut items = collected(gaps.into_iter().flat_map(split))?;
        // The longest runs stay at hand.
        items.sort_unstable_by_key(|item| (std::cmp::Reverse(item.page_count()), item.pgno));
        let inline = if items.len() > INLINE_ITEMS { INLINE_ITEMS - 1 } else { items.len() };
        let listed = &items[inline..];
        let mut chunks = Vec::new();
        let mut next = Ptr::NONE;
        for part in listed.chunks(chunk_capacity(page_bytes)) {
            let ptr = Ptr { pgno: Pgno(end + chunks.len() as u32), birth: meta.txnid };
            let mut page = filled(0, page_bytes)?;
            write_chunk(&mut page, ptr, next, part);
            store.seal.stamp(&mut page);
            chunks.try_push(page)?;
            next = ptr;
        }
        items.truncate(inline);
        if !next.is_none() {
            items.push(Item::chain(next, Txnid(0)));
        }
        let used = end + chunks.len() as u32;
        let meta = Meta {
            commit: CommitKind::TwoFlush,
            before: meta.txnid,
            ceiling: meta.ceiling.max(Core::ceiling_after(meta.txnid.0)),
            used,
            names: false,
            items,
            ..meta.clone()
        };
        Ok(CopyPlan { meta, end, chunks })
    }
}

/// A run of free pages as items.
fn split((start, pages): (u32, u32)) -> impl Iterator<Item = Item> {
    let starts = (0..pages).step_by(ITEM_PAGES_MAX as usize);
    starts.map(move |at| Item::free(Pgno(start + at), (pages - at).min(ITEM_PAGES_MAX)))
}

/// A plain copy on its way out.
struct Copy<'a, 'o> {
    store: &'a Store,
    reach: Reach<'a>,
    out: &'o mut dyn Write,
}

impl Copy<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(write_error)
    }

    fn zeros(&mut self, mut bytes: u64) -> Result<()> {
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        while bytes > 0 {
            let now = bytes.min(ZEROS.len() as u64);
            self.write(&ZEROS[..now as usize])?;
            bytes -= now;
        }
        Ok(())
    }

    /// The meta, two empty slots, and what lies between them and the first page.
    fn metas(&mut self, meta: &Meta) -> Result<()> {
        self.write(&meta.encode())?;
        let page_bytes = self.store.page_bytes;
        let start = u64::from(first_data_page(page_bytes)) * page_bytes as u64;
        debug_assert!(start >= (META_SLOTS * META_BYTES) as u64);
        self.zeros(start - META_BYTES as u64)
    }

    /// The pages up to `end`.
    fn pages(&mut self, end: u32) -> Result<()> {
        let page_bytes = self.store.page_bytes;
        let pages_max = (PIECE_BYTES / page_bytes).max(1) as u32;
        let mut at = first_data_page(page_bytes);
        while at < end {
            let reached = self.reach.used.has(at);
            let limit = end.min(at.saturating_add(pages_max));
            let same = (at..limit).take_while(|&pgno| self.reach.used.has(pgno) == reached);
            let pages = same.count() as u32;
            if reached {
                self.piece(at, pages)?;
            } else {
                self.zeros(u64::from(pages) * page_bytes as u64)?;
            }
            at += pages;
        }
        Ok(())
    }

    /// Consecutive pages that are in use (C1).
    fn piece(&mut self, first: u32, pages: u32) -> Result<()> {
        let page_bytes = self.store.page_bytes;
        let offset = u64::from(first) * page_bytes as u64;
        let bytes = self.store.storage.map().page(offset, pages as usize * page_bytes);
        let bytes = bytes.ok_or_else(|| Error::corrupt(first, Reason::OutOfRange.text()))?;
        for (pgno, page) in (first..).zip(bytes.chunks(page_bytes)) {
            if !self.reach.headerless.has(pgno) {
                let verified = self.store.seal.verify(page);
                verified.map_err(|reason| Error::corrupt(pgno, reason.text()))?;
            }
        }
        self.out.write_all(bytes).map_err(write_error)?;
        self.reach.meter.advance(bytes.len() as u64)
    }
}

//! What changed since an earlier snapshot, as pages, and the image of the snapshot that they make.
//!
//! H1. A pair of page number and birth names one content for ever. So a file that holds snapshot
//!     `since` whole, with the pages that were born after it written to their places, holds the
//!     later snapshot whole.
//! H2. A capture pins its snapshot. While it lives, no page that is born later lies where its
//!     snapshot has one: changes that begin at its snapshot can be written into a file that is
//!     read meanwhile (`txn/adopt`).
//! H3. Nothing that was deleted travels along: what lies behind a large value on its last page is
//!     handed out as zeros, and free pages are not handed out.

use std::ops::ControlFlow;

use crate::alloc::filled;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::pinned;
use crate::page::Txnid;
use crate::planted::{self, Bug};
use crate::txn::image::Image;
use crate::txn::read::ReadTxn;
use crate::txn::recovery::tail::{self, Piece};

/// A page that changed, or consecutive pages that did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed<'t> {
    /// Number of the first page: it lies at this number times the page size.
    pub pgno: u32,
    /// The transaction that wrote it, or them.
    pub birth: u64,
    /// Whole pages: several where they hold a large value.
    pub bytes: &'t [u8],
}

/// A snapshot that is pinned together with its image.
///
/// What backups and followers are made of: [`Capture::changes`] shows the pages that a copy of an
/// earlier snapshot lacks.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # const T: huon::TableDef<huon::U64, huon::U64> = huon::TableDef::new("t");
/// # let t = env.update(|txn| txn.create_table(&T))?;
/// env.update(|txn| (0..10_000).try_for_each(|n| t.put(txn, n, n).map(drop)))?;
/// let before = env.capture()?;
/// env.update(|txn| t.put(txn, 5000, 1))?;
/// let after = env.capture()?;
///
/// let count_since = |since| {
///     let mut pages = 0;
///     let all = after.changes(since, &mut |changed| {
///         pages += changed.bytes.len() / after.image().page_bytes() as usize;
///         std::ops::ControlFlow::Continue(())
///     })?;
///     assert!(all);
///     huon::Result::Ok(pages)
/// };
/// let (changed, all) = (count_since(before.id())?, count_since(0)?);
/// assert!(changed < 8 && all > 40, "{changed} of {all} pages");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Capture {
    txn: ReadTxn,
    image: Image,
}

impl Env {
    /// Pins the newest visible snapshot together with its image.
    ///
    /// Costs as much as a read transaction and a copy of 4096 bytes. While the capture lives, it
    /// keeps what it sees in the file, as a read transaction does.
    ///
    /// # Errors
    /// Those of [`Env::read`]; [`Error::Busy`] if commits follow each other so fast that no image
    /// could be read in ten thousand attempts.
    pub fn capture(&self) -> Result<Capture> {
        let (txn, meta) = pinned::pin(self)?;
        if planted::is(Bug::CapturePinDropped) {
            txn.forget_pin();
        }
        Ok(Capture { txn, image: Image::of(&meta)? })
    }
}

impl Capture {
    pub(crate) fn of(txn: ReadTxn, image: Image) -> Capture {
        Capture { txn, image }
    }

    /// The id of the snapshot.
    pub fn id(&self) -> u64 {
        self.image.id()
    }

    /// The image of the snapshot.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The read transaction alone.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let capture = env.capture()?;
    /// let id = capture.id();
    /// assert_eq!(capture.into_txn().id(), id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_txn(self) -> ReadTxn {
        self.txn
    }

    /// The read transaction that pins the snapshot.
    pub fn txn(&self) -> &ReadTxn {
        &self.txn
    }

    /// Whether no power loss can take the snapshot away: [`Env::sync`] makes it so. What a copy on
    /// another disk must never be ahead of.
    pub fn is_durable(&self) -> bool {
        self.txn.core().store.board.durable_id() >= self.id()
    }

    /// Shows all pages of the snapshot that were born after the snapshot `since`, each once and
    /// verified, in no special order. With 0 that is every page in use. `false`: `each` broke.
    ///
    /// Costs what changed: pages that were born earlier are not read. Memory: some bytes for each
    /// page that is shown.
    ///
    /// # Errors
    /// [`Error::Corrupt`] names a page that is damaged; what was shown before it is whole.
    pub fn changes(
        &self,
        since: u64,
        each: &mut dyn FnMut(Changed<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.txn.core().check_forked()?;
        let store = &self.txn.core().store;
        let mut end = filled(0, store.page_bytes)?;
        let mut stopped = false;
        let mut show = |piece: Piece<'_>| {
            if !stopped {
                stopped = whole_pages(&piece, &mut end, each).is_break();
            }
            if stopped { Err(Error::Invalid(STOPPED)) } else { Ok(()) }
        };
        match tail::visit(store, &self.image.meta, Txnid(since), &mut show) {
            Err(Error::Invalid(STOPPED)) => Ok(false),
            visited => visited.map(|()| true),
        }
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").field("image", &self.image).finish_non_exhaustive()
    }
}

/// What ends a walk that its caller has stopped.
const STOPPED: &str = "the walk was stopped";

/// H3: shows a piece as whole pages, the last one filled up with zeros in `end`, a page.
fn whole_pages(
    piece: &Piece<'_>,
    end: &mut [u8],
    each: &mut dyn FnMut(Changed<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let page_bytes = end.len();
    let birth = piece.ptr.birth.0;
    let (whole, rest) = piece.bytes.split_at(piece.bytes.len() / page_bytes * page_bytes);
    if !whole.is_empty() {
        each(Changed { pgno: piece.ptr.pgno.0, birth, bytes: whole })?;
    }
    if rest.is_empty() || planted::is(Bug::LastPageUnshown) {
        return ControlFlow::Continue(());
    }
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()..].fill(0);
    let pgno = piece.ptr.pgno.0 + (whole.len() / page_bytes) as u32;
    each(Changed { pgno, birth, bytes: end })
}

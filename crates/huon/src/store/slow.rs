//! Slow readers: readers that keep the writer from pages that it needs, and what is done about
//! them.
//!
//! A live reader can only be waited for: it may hold slices of the pages that it sees, and no other
//! process can tell. A parked one holds none, and can be evicted (`lock/slots.rs`, 6).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::alloc::{Reserved, TryGrow, collected};
use crate::error::{Error, Result, RetainingReader};
use crate::lock::{Guest, ReaderEntry, scan_guests};
use crate::os::{self, ForkLock};
use crate::planted::{self, Bug};
use crate::store::Store;
use crate::store::space::{Need, Retained};
use crate::tell;

/// How long to wait for a live reader that the callback wants evicted, before asking again.
const PAUSE: Duration = Duration::from_millis(1);

/// A reader that keeps a writer from pages that it needs: see
/// [`Options::on_slow_reader`](crate::Options::on_slow_reader).
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlowReader {
    /// The reader, its snapshot, and how much space that retains. Of all readers it is the one
    /// whose end would free the most.
    pub reader: RetainingReader,
    /// It is of this very environment: of this process, then, and waiting for it may be in vain.
    pub own: bool,
    /// How often the callback was asked before, for the same want of pages.
    pub retries: u32,
    /// The file cannot grow any more; `false` where it could, see
    /// [`Settings::slow_readers_before_growing`](crate::Settings::slow_readers_before_growing).
    pub full: bool,
}

/// What to do about a [`SlowReader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlowReaderAnswer {
    /// Scans readers and free space again at once. The callback has waited as long as it thinks
    /// fit, or has ended the reader itself, or its process.
    Retry,
    /// Evicts the reader if it is parked; it gets [`Error::Evicted`] when it comes back. A live one
    /// cannot be evicted, since it may hold slices of the pages: it is waited for, a millisecond
    /// each time.
    Evict,
    /// Waits no more: the file grows, or the transaction fails with [`Error::MapFull`].
    GiveUp,
}

/// Is asked about slow readers.
pub(crate) type Callback = Arc<dyn Fn(&SlowReader) -> SlowReaderAnswer + Send + Sync>;

/// The callback, and when it is asked.
#[derive(Default)]
pub(crate) struct SlowReaders {
    callback: ForkLock<Option<Callback>>,
    before_growing: AtomicBool,
}

impl SlowReaders {
    pub(crate) fn new(callback: Option<Callback>, before_growing: bool) -> SlowReaders {
        SlowReaders { callback: ForkLock::new(callback), before_growing: before_growing.into() }
    }

    /// The callback; not locked while it runs.
    pub(crate) fn callback(&self) -> Option<Callback> {
        self.callback.copied()
    }

    /// Sets the callback from now on.
    pub(crate) fn set_callback(&self, callback: Option<Callback>) {
        // Dropping the one before may call back.
        drop(self.callback.replace(callback));
    }

    /// Whether it is called before the file grows.
    pub(crate) fn set_before_growing(&self, yes: bool) {
        self.before_growing.store(yes, Ordering::Relaxed);
    }

    /// Whether the callback is asked while the file can still grow.
    pub(crate) fn before_growing(&self) -> bool {
        self.before_growing.load(Ordering::Relaxed) && self.callback().is_some()
    }
}

impl Store {
    /// All readers that pin a snapshot, guests last: of these only the snapshot is known (R8).
    pub(crate) fn readers(&self) -> Result<Vec<ReaderEntry>> {
        let mut readers = self.slots.list()?;
        let (mut pins, mut spans) = (Vec::new(), Vec::new());
        let newest = self.board.sealed().txnid();
        scan_guests(&**self.board.shared(), newest, &mut pins, &mut spans)?;
        pins.try_extend(self.guest.iter().flat_map(Guest::pinned))?;
        pins.try_extend(spans.iter().map(|span| *span.start()))?;
        if !planted::is(Bug::GuestsUnnamed) {
            readers.try_extend(pins.into_iter().map(ReaderEntry::of_guest))?;
        }
        Ok(readers)
    }

    /// Asks the callback about the reader that retains most, or evicts a parked one if there is no
    /// callback. Whether to look for free space again.
    pub(super) fn relieve_by_readers(&self, need: &Need<'_>) -> Result<bool> {
        let readers = self.slow(need.retained)?;
        let _bound = self.writer.bind();
        if let Some((_, reader)) = readers.first().filter(|_| need.retries == 0) {
            tell::slow_reader(reader.pid, reader.txnid, reader.retained_bytes);
        }
        let Some(callback) = self.slow_readers.callback() else {
            let mut parked = readers.iter().filter(|(_, reader)| reader.parked);
            return Ok(need.full && parked.next().is_some_and(|(info, _)| self.evict_reader(info)));
        };
        let Some((info, reader)) = readers.first() else { return Ok(false) };
        let own = self.slots.is_mine(info);
        let Need { retries, full, .. } = *need;
        match callback(&SlowReader { reader: *reader, own, retries, full }) {
            SlowReaderAnswer::Retry => Ok(true),
            SlowReaderAnswer::Evict => Ok(self.evict_reader(info)),
            SlowReaderAnswer::GiveUp => Ok(false),
        }
    }

    /// Always `true`: the reader is gone, or its state has changed, or it was waited for.
    fn evict_reader(&self, info: &ReaderEntry) -> bool {
        if !self.slots.evict(info) && !info.parked {
            os::pause(PAUSE);
        }
        true
    }

    /// Readers that retain freed pages: first those whose end would free the most, and of these the
    /// oldest.
    fn slow(&self, retained: &[Retained]) -> Result<Vec<(ReaderEntry, RetainingReader)>> {
        let marks = self.board.protected_marks();
        let marks = marks.all();
        let page_bytes = self.page_bytes as u64;
        let retaining = |info: &ReaderEntry| {
            let at = retained.binary_search_by_key(&info.txnid, |retained| retained.txnid).ok()?;
            let needless = marks.iter().all(|mark| mark.txnid() != info.txnid);
            (needless && retained[at].pages > 0).then(|| RetainingReader {
                client: info.client.number,
                pid: info.pid,
                thread: info.thread,
                txnid: info.txnid,
                ids_behind: self.board.sealed().txnid().saturating_sub(info.txnid),
                retained_bytes: retained[at].pages * page_bytes,
                freed_bytes: retained[at].alone_pages * page_bytes,
                parked: info.parked,
                guest: info.is_guest(),
            })
        };
        let readers = self.readers()?.into_iter().filter(|info| !info.evicted);
        let mut readers: Vec<_> =
            collected(readers.filter_map(|info| retaining(&info).map(|reader| (info, reader))))?;
        readers.sort_by_key(|(_, reader)| (u64::MAX - reader.freed_bytes, reader.txnid));
        Ok(readers)
    }

    /// The error, with what retains pages: named snapshots, and readers, as far as they are known.
    pub(super) fn with_readers(
        &self,
        mut error: Error,
        retained: &[Retained],
        named: &[u64],
    ) -> Error {
        let Error::MapFull(full) = &mut error else { return error };
        let durable = self.board.durable();
        let only_durable = durable != self.board.published() && durable != self.board.sealed();
        if let Ok(at) = retained.binary_search_by_key(&durable.txnid(), |retained| retained.txnid)
            && only_durable
        {
            full.unflushed_bytes = retained[at].alone_pages * self.page_bytes as u64;
        }
        let by_name = retained.iter().filter(|retained| named.contains(&retained.txnid));
        full.named_bytes = by_name.map(|r| r.alone_pages * self.page_bytes as u64).sum();
        let all = |readers: Vec<(_, RetainingReader)>| -> Reserved<Vec<RetainingReader>> {
            collected(readers.into_iter().map(|(_, reader)| reader))
        };
        // The error itself matters more than what it could not find out.
        full.readers = self.slow(retained).ok().and_then(|r| all(r).ok()).unwrap_or_default();
        error
    }
}

//! Reports about an environment: its sizes, settings, counts and readers.

use crate::alloc::collected;
use crate::env::Env;
use crate::error::Result;
use crate::journal::BLOCK_BYTES;
use crate::lock::{GATE_TIMEOUT, Gate, JournalFlag};
use crate::txn::Core;
use crate::txn::geometry::Geometry;

/// A live read transaction, of any process.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderInfo {
    /// Number of the client in the lock file.
    pub client: u32,
    /// Process id as the client saw it; for people only, since containers count on their own.
    pub pid: u32,
    /// The snapshot it keeps.
    pub txnid: u64,
    /// Thread id as the client saw it when the transaction began; for people only.
    pub thread: u32,
    /// How far ahead the id of the newest snapshot is: by the commits since, and by the ids that
    /// aborts, and the first write after an unclean end, passed over.
    pub ids_behind: u64,
    /// For how long it has been there, in milliseconds.
    pub age_ms: u64,
    /// It is parked: see [`ReadTxn::park`](crate::ReadTxn::park).
    pub parked: bool,
    /// It may not write the lock file. The kernel's locks say which snapshot it pins and no more,
    /// not even how many readers pin it: client, process, thread and age mean nothing then.
    pub guest: bool,
}

/// What one client did since it opened the environment.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct IoInfo {
    /// Flushes of the data file.
    pub flushes: u64,
    /// Flushes of the journal, one for each of its batches: see
    /// [`Options::journal`](crate::Options::journal).
    pub journal_flushes: u64,
    /// Bytes written to the journal, in whole blocks.
    pub journal_written_bytes: u64,
    /// Write calls.
    pub writes: u64,
    /// Pages that were edited in the data file through a mapping, without a system call: those of
    /// lazy commits, where the file system allows it.
    pub stores: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests for pages of the disk that would be needed soon, of one or more pages each: made
    /// while [`EnvInfo::reads_ahead`] is `false`.
    pub requests: u64,
    /// Bytes of them; some may have been in memory.
    pub requested_bytes: u64,
    /// Commits that changed something.
    pub commits: u64,
    /// Pages written by commits, large values and the free list included; metas are not pages.
    pub pages_written: u64,
    /// Pages of the free list that were read.
    pub free_list_pages_read: u64,
    /// Pages of the free list that were written.
    pub free_list_pages_written: u64,
    /// Entries of the free list that were looked at.
    pub free_list_entries_checked: u64,
    /// Times that a transaction had too many pages buffered and wrote them before its end. This
    /// and all that follows is added when a transaction ends, aborted ones included.
    pub spills: u64,
    /// Leaf pages that were divided.
    pub leaf_splits: u64,
    /// Branch pages that were divided.
    pub branch_splits: u64,
    /// Leaf pages that went into a neighbour.
    pub leaf_merges: u64,
    /// Branch pages that went into a neighbour.
    pub branch_merges: u64,
    /// Times that a tree became a level deeper.
    pub roots_raised: u64,
    /// Times that a tree became a level less deep.
    pub roots_lowered: u64,
}

/// Whether durable commits go by the journal; see [`JournalInfo`].
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalState {
    /// Not yet: the next durable commit is a checkpoint, which begins the journal.
    Waiting,
    /// They do.
    Running,
    /// A write or flush of it failed, and they go without it until the environment has been closed
    /// everywhere. What was durable still is.
    Failed,
}

/// How the journal of an environment fares; see [`Options::journal`](crate::Options::journal).
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalInfo {
    /// Length of the journal.
    pub bytes: u64,
    /// Whether it is in use.
    pub state: JournalState,
    /// Where the next batch goes, in bytes from the start of the file.
    pub next_at: u64,
    /// Bytes in use since the last checkpoint: about what a recovery would read.
    pub used_bytes: u64,
    /// Batches since the last checkpoint, each of one or more commits. About, if a process died.
    pub batches: u64,
    /// The snapshot of the last checkpoint, from which a recovery would go on.
    pub checkpoint: u64,
}

/// The state of an environment.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvInfo {
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Identity of the file, drawn when it was created.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serial::uuid"))]
    pub uuid: [u8; 16],
    /// Length of the file.
    pub file_bytes: u64,
    /// Part of the file in use by the newest snapshot.
    pub used_bytes: u64,
    /// Upper limit of the file's length.
    pub max_bytes: u64,
    /// All limits of the file's length, and the steps in which it changes.
    pub geometry: Geometry,
    /// Address space reserved for it by this process.
    pub map_bytes: u64,
    /// Whether the kernel reads the neighbours of a page that it reads from the disk: see
    /// [`ReadAhead`](crate::ReadAhead).
    pub reads_ahead: bool,
    /// The newest committed snapshot.
    pub newest: u64,
    /// The snapshot that new readers get.
    pub visible: u64,
    /// The newest snapshot that survives a power loss.
    pub durable: u64,
    /// Bytes written since the last checkpoint.
    pub unflushed_bytes: u64,
    /// The journal, if there is one.
    pub journal: Option<JournalInfo>,
    /// A flush has failed: see [`Error::Poisoned`](crate::Error::Poisoned).
    pub poisoned: bool,
    /// It was not closed in order, and the next write transaction repairs it before it begins. Ids
    /// then jump past all that may have been used before: by some 2^32.
    pub repair_due: bool,
    /// Longest key in bytes.
    pub key_bytes_max: u32,
    /// Processes (or opens) that have the environment open.
    pub clients: u32,
    /// Live readers of all processes, oldest snapshot first.
    pub readers: Vec<ReaderInfo>,
    /// What this client did.
    pub io: IoInfo,
}

impl EnvInfo {
    /// The reader that is furthest behind, if there is any.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// assert_eq!(env.info()?.oldest_reader(), None);
    /// let reader = env.read()?;
    /// assert_eq!(env.info()?.oldest_reader().unwrap().txnid, reader.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn oldest_reader(&self) -> Option<&ReaderInfo> {
        self.readers.first()
    }
}

impl Env {
    /// Gives up the snapshots of read transactions whose process has died without ending them, and
    /// returns how many there were. Writers do the same when they look for free pages.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let reader = env.read()?;
    /// assert_eq!(env.clear_dead_readers()?, 0, "its process lives");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy) if others open and close the file all the time.
    #[doc(hidden)]
    pub fn clear_dead_readers(&self) -> Result<u32> {
        let core = self.core()?;
        let gate = Gate::lock(core.store.board.shared(), GATE_TIMEOUT)?;
        core.store.slots.sweep(&gate)
    }

    /// The state of the environment at this moment.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let reader = env.read()?;
    /// let info = env.info()?;
    /// assert_eq!(info.page_bytes, 4096);
    /// assert_eq!(info.readers[0].txnid, reader.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn info(&self) -> Result<EnvInfo> {
        use std::sync::atomic::Ordering::Relaxed;
        let core = self.core()?;
        let store = &core.store;
        let board = &store.board;
        let (mark, meta) = core.newest_sealed()?;
        let readers = store.readers()?.into_iter().filter(|reader| !reader.evicted);
        let mut readers = collected(readers.map(|reader| ReaderInfo {
            client: reader.client.number,
            pid: reader.pid,
            thread: reader.thread,
            txnid: reader.txnid,
            ids_behind: mark.txnid().saturating_sub(reader.txnid),
            age_ms: reader.age_ms,
            parked: reader.parked,
            guest: reader.is_guest(),
        }))?;
        readers.sort_unstable_by_key(|reader| (reader.txnid, reader.client));
        let (requests, requested_bytes) = store.requests();
        let (io, counts) = (store.storage.counts(), &core.counts);
        let journal_io = core.journal.as_ref().map(|journal| journal.counts()).unwrap_or_default();
        let bytes = |pages: u32| u64::from(pages) * store.page_bytes as u64;
        Ok(EnvInfo {
            page_bytes: store.page_bytes as u32,
            uuid: store.uuid,
            file_bytes: store.storage.file_bytes()?,
            used_bytes: bytes(meta.used),
            max_bytes: bytes(meta.geometry.max_pages),
            geometry: Geometry::of_pages(&meta.geometry, store.page_bytes),
            map_bytes: store.storage.map().bytes(),
            reads_ahead: store.disk().is_none(),
            newest: mark.txnid(),
            visible: board.published().txnid(),
            durable: board.durable_id(),
            unflushed_bytes: if board.sealed() == board.durable() {
                0
            } else {
                board.written_since_durable()
            },
            journal: core.journal_info()?,
            poisoned: board.is_poisoned(),
            repair_due: core.is_repair_due(),
            key_bytes_max: crate::page::key_bytes_max(store.page_bytes) as u32,
            clients: core.clients.list()?.len() as u32,
            readers,
            io: IoInfo {
                flushes: io.syncs,
                journal_flushes: journal_io.syncs,
                journal_written_bytes: journal_io.written_bytes,
                writes: io.writes,
                stores: io.stores,
                written_bytes: io.written_bytes,
                requests,
                requested_bytes,
                commits: counts.commits.load(Relaxed),
                pages_written: counts.pages_written.load(Relaxed),
                free_list_pages_read: counts.chunks_opened.load(Relaxed),
                free_list_pages_written: counts.chunks_written.load(Relaxed),
                free_list_entries_checked: counts.items_judged.load(Relaxed),
                spills: counts.spills.load(Relaxed),
                leaf_splits: counts.leaf_splits.load(Relaxed),
                branch_splits: counts.branch_splits.load(Relaxed),
                leaf_merges: counts.leaf_merges.load(Relaxed),
                branch_merges: counts.branch_merges.load(Relaxed),
                roots_raised: counts.roots_raised.load(Relaxed),
                roots_lowered: counts.roots_lowered.load(Relaxed),
            },
        })
    }
}

impl Core {
    fn journal_info(&self) -> Result<Option<JournalInfo>> {
        let board = &self.store.board;
        let blocks = board.journal_blocks();
        if blocks == 0 {
            return Ok(None);
        }
        let durable = self.durable_info()?;
        let journaled = board.journaled().filter(|_| !durable.place.is_none());
        let state = match journaled {
            _ if board.journal_flag(JournalFlag::Off) => JournalState::Failed,
            Some(_) => JournalState::Running,
            None => JournalState::Waiting,
        };
        let block_bytes = BLOCK_BYTES as u64;
        let (next, used, batches) = journaled.map_or((0, 0, 0), |journaled| {
            let next = journaled.place.next;
            (next, next.saturating_sub(durable.place.next), board.batches_since_checkpoint())
        });
        Ok(Some(JournalInfo {
            bytes: blocks * block_bytes,
            state,
            next_at: next % blocks * block_bytes,
            used_bytes: used.min(blocks) * block_bytes,
            batches,
            checkpoint: durable.mark.txnid(),
        }))
    }
}

//! What there is to tell about an environment, its tables, transactions and readers.
//!
//! Each structure is given with its length: a program that was built when it had fewer fields gets
//! those. New fields come at the end.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use huon::{JournalState, TableStat};
use huon_c::View;

use super::env::{answer, env_of, huon_env};
use super::txn::{huon_txn, in_view, look};
use crate::border::{Fault, border, found};
use crate::bytes::{huon_bytes, report, room};

/// The state of an environment at a moment.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_info {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// The longest key, in bytes.
    pub key_bytes_max: u32,
    /// Openings of the file, of all processes.
    pub clients: u32,
    /// Read transactions, of all processes.
    pub readers: u32,
    /// Length of the file.
    pub file_bytes: u64,
    /// Part of it that the newest snapshot uses.
    pub used_bytes: u64,
    /// The most that it may become.
    pub max_bytes: u64,
    /// Address space that is reserved for it here.
    pub map_bytes: u64,
    /// The newest commit.
    pub newest: u64,
    /// The snapshot that new readers get.
    pub visible: u64,
    /// The newest commit that survives a power loss.
    pub durable: u64,
    /// Bytes written since the last checkpoint.
    pub unflushed_bytes: u64,
    /// Commits of this opening that changed something.
    pub commits: u64,
    /// Its flushes.
    pub flushes: u64,
    /// Its calls that write.
    pub writes: u64,
    /// Bytes that it wrote.
    pub written_bytes: u64,
    /// Pages that it wrote.
    pub pages_written: u64,
    /// The identity of the file.
    pub uuid: [u8; 16],
    /// A flush has failed: HUON_POISONED.
    pub is_poisoned: bool,
    /// The next write transaction repairs what an unclean end has left.
    pub is_repair_due: bool,
    /// Whether durable commits go by a journal: one of HUON_JOURNAL_NONE to HUON_JOURNAL_FAILED.
    pub journal: c_int,
    /// Length of the journal.
    pub journal_bytes: u64,
    /// Bytes of it in use since the last checkpoint: about what a recovery would read.
    pub journal_used_bytes: u64,
    /// Batches in it since the last checkpoint, each of one or more commits.
    pub journal_batches: u64,
    /// The snapshot of the last checkpoint, from which a recovery would go on.
    pub journal_checkpoint: u64,
}

/// There is no journal.
pub const HUON_JOURNAL_NONE: c_int = 0;
/// Not yet: the next durable commit is a checkpoint, which begins it.
pub const HUON_JOURNAL_WAITING: c_int = 1;
/// They do.
pub const HUON_JOURNAL_RUNNING: c_int = 2;
/// A write or flush of it failed, and they go without it until the environment has been closed
/// everywhere. What was durable still is.
pub const HUON_JOURNAL_FAILED: c_int = 3;

/// Tells the state of an environment; `bytes` is sizeof(huon_info).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_get_info(
    env: *mut huon_env,
    info: *mut huon_info,
    bytes: usize,
) -> c_int {
    border("huon_get_info", || {
        let found = env_of(env)?.info()?;
        let journal = found.journal;
        let told = huon_info {
            page_bytes: found.page_bytes,
            key_bytes_max: found.key_bytes_max,
            clients: found.clients,
            readers: u32::try_from(found.readers.len()).unwrap_or(u32::MAX),
            file_bytes: found.file_bytes,
            used_bytes: found.used_bytes,
            max_bytes: found.max_bytes,
            map_bytes: found.map_bytes,
            newest: found.newest,
            visible: found.visible,
            durable: found.durable,
            unflushed_bytes: found.unflushed_bytes,
            commits: found.io.commits,
            flushes: found.io.flushes,
            writes: found.io.writes,
            written_bytes: found.io.written_bytes,
            pages_written: found.io.pages_written,
            uuid: found.uuid,
            is_poisoned: found.poisoned,
            is_repair_due: found.repair_due,
            journal: match journal.map(|journal| journal.state) {
                None => HUON_JOURNAL_NONE,
                Some(JournalState::Waiting) => HUON_JOURNAL_WAITING,
                Some(JournalState::Running) => HUON_JOURNAL_RUNNING,
                Some(_) => HUON_JOURNAL_FAILED,
            },
            journal_bytes: journal.map_or(0, |journal| journal.bytes),
            journal_used_bytes: journal.map_or(0, |journal| journal.used_bytes),
            journal_batches: journal.map_or(0, |journal| journal.batches),
            journal_checkpoint: journal.map_or(0, |journal| journal.checkpoint),
        };
        // SAFETY: A2.
        unsafe { report(info, bytes, told) }
    })
}

/// A read transaction of any process.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_reader {
    /// Its process, for people only: containers count on their own.
    pub pid: u32,
    /// Its thread, for people only.
    pub thread: u32,
    /// The snapshot that it keeps.
    pub txnid: u64,
    /// How far ahead the newest id is.
    pub ids_behind: u64,
    /// For how many milliseconds it has been there.
    pub age_ms: u64,
    /// It is parked.
    pub is_parked: bool,
    /// It may not write the lock file: only its snapshot is known.
    pub is_guest: bool,
}

/// The read transactions of all processes, the oldest snapshot first: as many as there is room for;
/// `count` tells how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_readers(
    env: *mut huon_env,
    readers: *mut huon_reader,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_readers", || {
        // SAFETY: A2.
        let room = unsafe { room(readers, capacity) }?;
        let found = env_of(env)?.info()?.readers;
        for (to, reader) in room.iter_mut().zip(&found) {
            to.write(huon_reader {
                pid: reader.pid,
                thread: reader.thread,
                txnid: reader.txnid,
                ids_behind: reader.ids_behind,
                age_ms: reader.age_ms,
                is_parked: reader.parked,
                is_guest: reader.guest,
            });
        }
        answer(count, found.len())
    })
}

/// Where the space of a file is, in pages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_stat {
    /// The snapshot that was looked at.
    pub txnid: u64,
    /// Length of the file: the pages below and the tail, in bytes.
    pub file_bytes: u64,
    /// Bytes behind the last page in use.
    pub tail_bytes: u64,
    /// Pages of metas.
    pub meta_pages: u64,
    /// Pages of all tables.
    pub live_pages: u64,
    /// Pages of the free list.
    pub free_list_pages: u64,
    /// Free pages that the next write transaction may use.
    pub reusable_pages: u64,
    /// Free pages that some older snapshot still sees.
    pub retained_pages: u64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Snapshots that retain pages: readers, the durable one.
    pub retained_snapshots: u32,
    /// Tables, the main one among them.
    pub tables: u32,
}

/// Tells where the space is; `bytes` is sizeof(huon_stat). Reads the free list, and the list of
/// tables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_get_stat(
    env: *mut huon_env,
    stat: *mut huon_stat,
    bytes: usize,
) -> c_int {
    border("huon_get_stat", || {
        let found = env_of(env)?.stat()?;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let told = huon_stat {
            txnid: found.txnid,
            file_bytes: found.file_bytes,
            tail_bytes: found.tail_bytes,
            meta_pages: found.meta_pages,
            live_pages: found.live_pages,
            free_list_pages: found.free_list_pages,
            reusable_pages: found.reusable_pages,
            retained_pages: found.retained_pages,
            page_bytes: found.page_bytes,
            retained_snapshots: count(found.retained_snapshots.len()),
            tables: count(found.tables.len()),
        };
        // SAFETY: A2.
        unsafe { report(stat, bytes, told) }
    })
}

/// The size of a table or multimap.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_table_stat {
    /// Records, or pairs.
    pub entries: u64,
    /// Its sequence.
    pub sequence: u64,
    /// The transaction that changed it last.
    pub changed: u64,
    /// Pages of branches.
    pub branch_pages: u32,
    /// Pages of leaves.
    pub leaf_pages: u32,
    /// Pages of large values.
    pub overflow_pages: u32,
    /// Levels of pages; 0 if it is empty.
    pub depth: u32,
    /// Bytes that each value of a multimap has; 0 where they may differ.
    pub value_bytes: u32,
    /// It is a multimap.
    pub is_multi: bool,
}

/// Tells the size of the table of a name, of either kind; `bytes` is sizeof(huon_table_stat).
/// HUON_NOT_FOUND if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_get_table_stat(
    txn: *mut huon_txn,
    name: huon_bytes<'_>,
    stat: *mut huon_table_stat,
    bytes: usize,
) -> c_int {
    border("huon_get_table_stat", || {
        let name = name.get()?;
        let stat_of = in_view!(txn, txn => Ok(txn.table_stat(name)?))?;
        let told = table_stat(&found(stat_of)?);
        // SAFETY: A2.
        unsafe { report(stat, bytes, told) }
    })
}

/// The size of a table, for C.
pub(super) fn table_stat(table: &TableStat) -> huon_table_stat {
    huon_table_stat {
        entries: table.entries,
        sequence: table.sequence,
        changed: table.changed,
        branch_pages: table.branch_pages,
        leaf_pages: table.leaf_pages,
        overflow_pages: table.overflow_pages,
        depth: table.depth.into(),
        value_bytes: table.value_bytes.unwrap_or(0),
        is_multi: table.values.is_some(),
    }
}

/// What a transaction has cost so far, in bytes. Of one that reads, only the first three are told.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_txn_info {
    /// Its id.
    pub id: u64,
    /// How far ahead the newest id is; 0 for one that writes.
    pub ids_behind: u64,
    /// Part of the file in use at its snapshot, with the pages that it took.
    pub used_bytes: u64,
    /// Changed pages that are in memory.
    pub dirty_bytes: u64,
    /// Pages that were written already.
    pub written_bytes: u64,
    /// Pages of the snapshot before that it has replaced or deleted.
    pub retired_bytes: u64,
}

/// Tells what a transaction has cost; `bytes` is sizeof(huon_txn_info).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_get_txn_info(
    txn: *mut huon_txn,
    info: *mut huon_txn_info,
    bytes: usize,
) -> c_int {
    border("huon_get_txn_info", || {
        let told = look(txn, |view| {
            Ok::<_, Fault>(match view {
                View::Read(txn) => huon_txn_info {
                    id: txn.id(),
                    ids_behind: txn.ids_behind(),
                    used_bytes: txn.used_bytes(),
                    dirty_bytes: 0,
                    written_bytes: 0,
                    retired_bytes: 0,
                },
                View::Write(txn) => {
                    let costs = txn.costs();
                    huon_txn_info {
                        id: costs.id,
                        ids_behind: 0,
                        used_bytes: costs.used_bytes,
                        dirty_bytes: costs.dirty_bytes,
                        written_bytes: costs.written_bytes,
                        retired_bytes: costs.retired_bytes,
                    }
                }
            })
        })?;
        // SAFETY: A2.
        unsafe { report(info, bytes, told) }
    })
}

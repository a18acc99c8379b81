//! The operating system: the only home of `unsafe`.
//!
//! A data file is a [`Storage`]: bytes that survive, read through a [`Map`]. A lock file is a
//! [`Shared`]: words that processes share while they have the environment open. The real ones are
//! here, those in memory and those that fail on demand in `lock` and `sim`. Above this module
//! nothing names a file descriptor, a pointer or a system call.

use std::fs::Metadata;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};

mod addresses;
mod anon;
mod biased_lock;
mod by_thread;
#[cfg(not(any(loom, shuttle)))]
mod client_files;
mod counts;
mod disk;
mod file;
mod first_words;
mod fork_lock;
mod handover;
mod journal_file;
mod lock_file;
mod map;
mod map_pages;
mod mutex;
mod prefetch;
mod reading;
#[cfg(not(any(loom, shuttle)))]
pub(crate) mod shm;
mod sys;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod word;
mod write_map;
mod zeroed_words;

pub(crate) use addresses::has_plenty;
pub use biased_lock::{BiasedGuard, BiasedLock, ThisThread};
pub use by_thread::{ByThread, OfThread};
#[cfg(any(test, feature = "simulation"))]
pub(crate) use counts::Counters;
pub(crate) use counts::IoCounts;
pub(crate) use disk::Disk;
pub(crate) use file::{Create, FileOptions, RealFile, sync_directory};
pub(crate) use first_words::FirstWords;
pub use fork_lock::{ForkGuard, ForkLock};
pub(crate) use handover::Handover;
pub(crate) use journal_file::{RealJournal, may_be_journal};
pub(crate) use lock_file::LOCK_MAGIC;
pub(crate) use map::Map;
pub(crate) use map_pages::MapPages;
pub(crate) use mutex::{even_if_poisoned, locked};
pub(crate) use prefetch::{Ahead, prefetch_page, prefetch_start};
pub use reading::ReadAhead;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use shm::RealShared;
#[cfg(any(loom, shuttle))]
pub(crate) use sys::beside::Beside;
pub(crate) use sys::beside::is_unavailable;
pub use sys::descriptor::open_kept;
pub(crate) use sys::descriptor::{AsFd, same_under_another};
#[cfg(any(test, feature = "simulation"))]
pub(crate) use sys::errors::device_failed;
pub(crate) use sys::errors::{closed, no_room_for_locks, too_many_links};
pub(crate) use sys::files::create_kept;
pub use sys::fork::generation as fork_generation;
pub use sys::fork::{HeldOff, hold_off, is_generation, is_inherited};
pub(crate) use sys::locks::Way;
pub(crate) use sys::memory::page_bytes as system_page;
pub(crate) use sys::quiet::QuietFile;
pub(crate) use sys::size_limit::check as check_size;
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) use sys::{beside, locks};
pub(crate) use sys::{clock, fork, process};
pub(crate) use word::{Word, pause, spin};
#[cfg(any(test, feature = "simulation"))]
pub(crate) use write_map::SimulatedPage;
pub(crate) use write_map::ViewPage;
pub(crate) use zeroed_words::ZeroedWords;

/// Names a file whatever its path: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Identity {
    /// That of the file that the kernel says this of.
    pub(crate) fn of(stat: &Metadata) -> Identity {
        let (device, inode) = sys::files::names_of(stat);
        Identity { device, inode }
    }
}

/// A data file.
pub(crate) trait Storage: Send + Sync {
    /// Length in bytes, asked of the kernel. Call it once the writer lock is taken: another process
    /// may have changed the length, and the bound that `write_at` checks is remembered from here.
    fn file_bytes(&self) -> Result<u64>;
    /// Reads at `offset`, past the map; returns how many bytes there were before the end of the
    /// file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;
    /// Writes all parts, one after another, from `offset`. Never extends the file: that is an
    /// error, and nothing is written. After another error any of the parts may have been written.
    fn write_at(&self, parts: &[&[u8]], offset: u64) -> Result<()>;
    /// The `bytes` at `offset` as a view of the file, where that is possible: a store to it writes
    /// the file without a call. Cheaper than [`Storage::write_at`] for pages that were in memory
    /// not long ago and will not be flushed soon, dearer for others. Only for the writer, which
    /// ensures that no client makes the file shorter, and that none reads these bytes or writes
    /// them.
    fn view(&self, _offset: u64, _bytes: usize) -> Option<ViewPage> {
        None
    }
    /// Whether a flush of a page that was stored into through a view writes more than that page:
    /// kernels keep files in folios of many pages, and write them whole.
    fn flushes_folios(&self) -> bool {
        false
    }
    /// Flushes contents and length (`fdatasync`). A failure is final: see `Error::Poisoned`.
    fn sync(&self) -> Result<()>;
    /// Whether a flush takes no time, so that none is worth waiting for to share it.
    fn flushes_at_once(&self) -> bool {
        false
    }
    /// Starts the write-out of dirty pages, and does not wait. A hint: it promises nothing, and
    /// [`Storage::sync`] reports its failures.
    fn start_writing(&self) {}
    /// Makes the file at least `bytes` long, with real blocks under every new byte: a full disk is
    /// an error here, and leaves the length as it was. New bytes are zero.
    fn grow(&self, bytes: u64) -> Result<()>;
    /// Cuts the file to `bytes`, if it is longer.
    fn shrink(&self, bytes: u64) -> Result<()>;
    /// The read-only view of the file: the same one each time. Its owners keep it mapped.
    fn map(&self) -> &Arc<Map>;
    /// Whether the file was opened for writing.
    fn writable(&self) -> bool;
    /// Device and inode.
    fn identity(&self) -> Result<Identity>;
    /// Tries to be the only client of the file. `false`: another client has it open, or this handle
    /// cannot write; it still holds what it held before. Never waits.
    fn try_alone(&self) -> Result<bool>;
    /// Becomes one client among others (also steps down from `try_alone`). `false`: another client
    /// is alone with it.
    fn try_join(&self) -> Result<bool>;
    /// Becomes a client that uses no lock file, beside others of that kind only: none of them can
    /// write. `false`: another client is alone with it, or has it open through a lock file.
    fn try_private(&self) -> Result<bool> {
        self.try_join()
    }
    /// Gives up what `try_alone` or `try_join` took.
    fn leave(&self) -> Result<()>;
    /// Whether another client has the file open; also for handles that cannot write. Takes no lock.
    fn has_others(&self) -> Result<bool>;
    /// When the file was written last, as the kernel notes it: another number after each write,
    /// except within one tick of its clock. Not 0.
    fn modified(&self) -> Result<u64>;
    /// Drops clean cached pages, so that reads see what the disk holds. Best effort.
    fn forget_cache(&self);
    /// What was written and flushed through this handle.
    fn counts(&self) -> IoCounts;
}

/// The first bytes of each batch of a journal, so of a journal that is in use. No meta begins so,
/// at whatever block a batch lies.
pub(crate) const JOURNAL_MAGIC: [u8; 8] = *b"JRNLHUON";

/// Bytes of a block of a journal: writes to it begin and end with one.
pub(crate) const JOURNAL_BLOCK_BYTES: usize = 4096;

/// Bytes of the longest batch of a journal.
pub(crate) const JOURNAL_BATCH_BYTES_MAX: usize = 64 << 20;

/// A journal beside a data file: blocks that are there from the beginning, written over in turns.
pub(crate) trait JournalFile: Send + Sync {
    /// Its length; 0 if there is none.
    fn bytes(&self) -> Result<u64>;
    /// Makes one of so many bytes, all zero and flushed, in place of what is there.
    fn make(&self, bytes: u64) -> Result<()>;
    /// Fills the buffer from `offset` on.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()>;
    /// Writes whole blocks. Never extends the file.
    fn write_at(&self, blocks: &[u8], offset: u64) -> Result<()>;
    /// Flushes what was written. After a failure it is not known what of it is on the disk.
    fn sync(&self) -> Result<()>;
    /// Deletes it, if it is there.
    fn delete(&self) -> Result<()>;
    /// What was written and flushed through this handle.
    fn counts(&self) -> IoCounts;
}

/// How many bytes all parts have.
pub(crate) fn parts_bytes(parts: &[&[u8]]) -> u64 {
    parts.iter().map(|part| part.len() as u64).sum()
}

/// The error of a write that would extend the file.
#[cold]
pub(crate) fn past_end(offset: u64, bytes: u64, file_bytes: u64) -> Error {
    let text = format!("{bytes} bytes would reach past the end of the file at {file_bytes}");
    let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, text);
    Error::io("write", format!("offset {offset}"), source)
}

/// Sixteen random bytes from the kernel.
pub(crate) fn random_bytes() -> Result<[u8; 16]> {
    let mut bytes = [0u8; 16];
    sys::machine::random(&mut bytes).map_err(|e| Error::io("read random bytes", "", e))?;
    Ok(bytes)
}

/// A number that no other call in this process returned.
pub(crate) fn unique_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Which sleepers a wake means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    All,
    /// All that have one of these marks.
    Marked(u32),
    /// Of those the one that has slept longest.
    First(u32),
}

/// The marks of a sleeper that waits for no snapshot in particular: every wake may mean it.
pub(crate) const ANY_MARK: u32 = u32::MAX;

impl Wake {
    pub(crate) fn is_for_one(self) -> bool {
        matches!(self, Wake::First(_))
    }

    pub(crate) fn marks(self) -> u32 {
        match self {
            Wake::All => ANY_MARK,
            Wake::Marked(marks) | Wake::First(marks) => marks,
        }
    }
}

/// A lock file: words shared between processes, a byte for each client, and one gate.
///
/// Byte `n` is held by the client numbered `n` for as long as it lives; the kernel drops it however
/// it dies.
pub(crate) trait Shared: Send + Sync {
    /// All words of the file as far as it is allocated. The address never changes.
    fn words(&self) -> &[Word];
    /// The first word as the file has it, also where nothing is allocated; 0 if it has none.
    fn first_word(&self) -> Result<u64>;
    /// Makes the file at least `words` long, allocated and zeroed. Call it under the gate.
    fn grow(&self, words: usize) -> Result<()>;
    /// Notices growth by other clients: afterwards `words` shows all that the file holds.
    fn refresh(&self) -> Result<()>;
    /// Takes the gate, which serialises joining, leaving and growing. Waits at most `timeout`.
    fn lock_gate(&self, timeout: Duration) -> Result<bool>;
    /// Leaves the gate.
    fn unlock_gate(&self);
    /// Tries to take the byte of client `number` for this descriptor.
    fn claim(&self, number: u32) -> Result<bool>;
    /// Gives up a byte taken by [`Shared::claim`].
    fn release(&self, number: u32);
    /// Whether another client holds the byte of client `number`. A descriptor never sees its own.
    fn held(&self, number: u32) -> Result<bool>;
    /// How clients of this lock file hold their bytes.
    fn way(&self) -> Way;
    /// Whether this process may store to the words; a guest may not (R2).
    fn writable(&self) -> bool {
        true
    }
    /// Shows, from now on, that a guest is there (R2).
    fn attend(&self) -> Result<()>;
    /// Whether another guest is there.
    fn attended(&self) -> Result<bool>;
    /// Takes the lock that pins a snapshot (R1); once only, until [`Shared::unpin`].
    fn pin(&self, txnid: u64) -> Result<()>;
    /// Gives up what [`Shared::pin`] took.
    fn unpin(&self, txnid: u64);
    /// The snapshots, within the range, that a lock of another guest pins. Of several locks any
    /// (R4).
    fn pinned(&self, range: &RangeInclusive<u64>) -> Result<Option<RangeInclusive<u64>>>;
    /// Sleeps while the word's low half stays as it is in `expected`, at most `timeout`. May wake
    /// early. `marks`, not 0, say which wakes mean this sleeper.
    fn wait(&self, word: usize, expected: u64, timeout: Duration, marks: u32);
    /// Wakes the sleepers on the word that are meant; whether there were any, as far as the kernel
    /// tells.
    fn wake(&self, word: usize, which: Wake) -> bool;
    /// Whether the lock descriptor is still this client's own: not after a fork, not after someone
    /// closed it (P5).
    fn intact(&self) -> bool;
    /// Whether the byte is held as long as the client lives, even if its descriptor is closed.
    fn lasts(&self) -> bool {
        true
    }
    /// A number that changes with each boot of the system.
    fn boot(&self) -> [u8; 16];
    /// Flushes what the words hold now. Words that share a sector reach the disk together.
    fn sync(&self) -> Result<()>;
    /// The lock file, if it is one that other processes see.
    fn identity(&self) -> Option<Identity> {
        None
    }
}

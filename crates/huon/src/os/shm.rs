//! The real lock file: words shared between processes through a mapping, locks held by descriptors.
//!
//! Invariants:
//! 1. The words never move: the mapping covers a reservation that growth fills in.
//! 2. Every word that `words` shows has a real block under it (P14): a full disk is an error of
//!    `grow`.
//! 3. The kernel drops locks with the last copy of the descriptor (`locks`), and a descriptor never
//!    conflicts with itself, so the gate has a flag in front of it for the threads of one client.
//! 4. The mapping belongs to another open file description than the locks: a mapping keeps its
//!    description, and the locks with it, alive in a forked child that has closed the descriptor.
//!    (The `keeper` maps the locked one, where children do not see it.)
//! 5. The descriptor is closed only while it still names the lock file (a daemon may have closed
//!    it, and its number may be another file's).
//!
//! 6. A guest's descriptors and mapping are for reading: its atomics are only loaded. (A guest that
//!    stored would end by SIGSEGV; the board refuses it before.)
//!
//! The layer `lock` defines what the words mean, FORMAT.md which bytes are locked.

use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use super::addresses::fair_bytes;
use super::client_files::ClientFiles;
use super::lock_file::{open_again, open_file};
use super::sys::beside::Beside;
use super::sys::fork::OwnFile;
use super::sys::keeper::LockKeeper;
use super::sys::locks::{self, Hold, Way};
use super::sys::machine::boot_id;
use super::sys::memory::{Access, map_file, unmap};
use super::sys::{files, fork, wait};
use super::word::{Ordering, Word};
use super::{Identity, Shared, Wake, closed};
use crate::error::{Error, Result};
use crate::planted::{self, Bug};

/// Address space kept for the lock file: some two million reader slots, or 130,000 where addresses
/// are scarce.
const RESERVED_BYTES: usize = if usize::BITS < 64 { 16 << 20 } else { 256 << 20 };
const RESERVED_BYTES_MIN: usize = if usize::BITS < 64 { 1 << 20 } else { 4 << 20 };
/// Locks lie far beyond the contents. This byte is the gate, the next ones belong to the clients.
const GATE_BYTE: i64 = 1 << 62;
/// For the holder of the gate, to try how locks behave.
const TRIAL_BYTE: i64 = GATE_BYTE - 1;
/// Locked to read by each guest, as long as it lives (R2).
const PRESENCE_BYTE: i64 = GATE_BYTE - 2;
/// Guests try locks on one of so many bytes below that: several may have the gate to read.
const GUEST_TRIALS: i64 = 1 << 20;
const CLIENT_BYTES: i64 = GATE_BYTE + 1;
/// R1: the bytes of snapshots, every other one. Ids lie below 2^60.
const SNAPSHOT_BYTES: i64 = GATE_BYTE + (1 << 20);
const SNAPSHOTS_MAX: u64 = 1 << 60;

/// A lock file of the file system.
pub(crate) struct RealShared {
    path: PathBuf,
    file: OwnFile,
    /// Another description for the gate: its lock must end when its descriptor is closed, or no
    /// other client would get in.
    gate: OwnFile,
    way: Way,
    /// Not for a guest: its descriptors and its mapping are for reading only.
    writable: bool,
    keeper: OnceLock<LockKeeper>,
    /// Only used where locks are on whole files.
    client_files: ClientFiles,
    base: NonNull<Word>,
    reserved_bytes: usize,
    allocated_words: AtomicUsize,
    gate_taken: AtomicBool,
}

// SAFETY: `base` points to a mapping that lives as long as the value and is only seen as atomics;
// the rest is plain data, atomics and a descriptor, which threads may share.
unsafe impl Send for RealShared {}
// SAFETY: as above.
unsafe impl Sync for RealShared {}

impl RealShared {
    /// Opens the lock file at `path`. With `create` a missing one is made.
    /// `Ok(None)`: it is missing and was not to be made.
    pub(crate) fn open(path: &Path, create: Option<&Beside>) -> Result<Option<RealShared>> {
        RealShared::open_by(path, create, locks::way_of)
    }

    /// The same, with the choice of the way to lock as a parameter.
    pub(crate) fn open_by(
        path: &Path,
        create: Option<&Beside>,
        way_of: impl Fn(&File) -> io::Result<Way>,
    ) -> Result<Option<RealShared>> {
        RealShared::open_as(path, true, create, way_of)
    }

    /// Opens the lock file at `path` for a guest, which may only read it. `Ok(None)`: there is
    /// none, or clients would not see the guest's locks (R11).
    pub(crate) fn visit(path: &Path) -> Result<Option<RealShared>> {
        RealShared::visit_by(path, locks::way_of)
    }

    /// The same, with the choice of the way to lock as a parameter.
    pub(crate) fn visit_by(
        path: &Path,
        way_of: impl Fn(&File) -> io::Result<Way>,
    ) -> Result<Option<RealShared>> {
        let Some(shared) = RealShared::open_as(path, false, None, way_of)? else {
            return Ok(None);
        };
        let seen = planted::is(Bug::GuestsOnWholeLocks)
            || shared.way == Way::Bytes && shared.locks_are_seen()?;
        Ok(seen.then_some(shared))
    }

    fn open_as(
        path: &Path,
        writable: bool,
        create: Option<&Beside>,
        way_of: impl Fn(&File) -> io::Result<Way>,
    ) -> Result<Option<RealShared>> {
        let _held_off = fork::hold_off();
        let file = OwnFile::open_if(|| open_file(path, writable, create))?;
        let Some(file) = file else { return Ok(None) };
        let failed = |what, e| Error::io(what, path.display().to_string(), e);
        let way = way_of(&file).map_err(|e| failed("lock", e))?;
        let stat = file.metadata().map_err(|e| failed("stat", e))?;
        let bytes = stat.len() as usize;
        // Invariant 2: a copy may have been made without its blocks.
        let bytes_there = if files::bytes_in_blocks(&stat) >= stat.len() { bytes } else { 0 };
        // Invariant 4.
        let apart = open_again(path, file.inode(), writable)?;
        let (base, reserved_bytes) = map(path, &apart, bytes, writable)?;
        let gate = OwnFile::open(|| open_again(path, file.inode(), writable))?;
        let client_files =
            ClientFiles::new(path, Beside::empty(&file).map_err(|e| failed("stat", e))?);
        Ok(Some(RealShared {
            path: path.to_path_buf(),
            file,
            gate,
            way,
            writable,
            keeper: OnceLock::new(),
            client_files,
            base,
            reserved_bytes,
            allocated_words: AtomicUsize::new(bytes_there.min(reserved_bytes) / 8),
            gate_taken: AtomicBool::new(false),
        }))
    }

    fn failed(&self, what: &'static str, source: io::Error) -> Error {
        Error::io(what, self.path.display().to_string(), source)
    }

    /// Refuses a handle that was inherited through a fork, or whose descriptor was closed: its
    /// number may be another file's by now (P5).
    fn check(&self) -> Result<()> {
        self.check_file(&self.file)
    }

    fn check_file(&self, file: &OwnFile) -> Result<()> {
        if file.inherited() {
            return Err(Error::Forked);
        }
        if !file.intact() {
            return Err(self.failed("use", closed()));
        }
        Ok(())
    }

    /// Changes the lock on one byte. `false`: another client's lock is in the way.
    fn lock_byte(&self, file: &OwnFile, byte: i64, hold: Hold) -> Result<bool> {
        self.check_file(file)?;
        locks::change(file, self.way, byte, hold).map_err(|e| self.failed("lock", e))
    }

    /// Gives up what is held of one byte; in a forked child it is the parent's.
    fn unlock_byte(&self, file: &OwnFile, byte: i64) {
        if file.may_give_up() {
            let _ = locks::change(file, self.way, byte, Hold::Nothing);
        }
    }

    /// Makes the locks outlast a close of the descriptor, where that is possible. Under the gate.
    fn keep(&self) -> Result<()> {
        // A child would keep the lock of the trial.
        let _held_off = fork::hold_off();
        let another = open_again(&self.path, self.file.inode(), self.writable)?;
        let (byte, hold) = if self.writable {
            (TRIAL_BYTE, Hold::Alone)
        } else {
            (guest_trial_byte(), Hold::Shared)
        };
        let keeper = LockKeeper::new(&self.file, another, byte, hold);
        if let Some(keeper) = keeper.map_err(|e| self.failed("keep the lock of", e))? {
            let _ = self.keeper.set(keeper);
        }
        Ok(())
    }

    /// R11: whether a lock to read, by a descriptor that may only read, is seen by another one.
    fn locks_are_seen(&self) -> Result<bool> {
        // A child would keep the lock of the trial.
        let _held_off = fork::hold_off();
        let another = open_again(&self.path, self.file.inode(), false)?;
        let byte = guest_trial_byte();
        let failed = |e| self.failed("lock", e);
        let locked = locks::change(&another, Way::Bytes, byte, Hold::Shared).map_err(failed)?;
        Ok(locked && !locks::is_free(&self.file, byte).map_err(failed)?)
    }

    /// The lock on the gate that this process can take.
    fn gate_hold(&self) -> Hold {
        if self.writable { Hold::Alone } else { Hold::Shared }
    }

    /// Puts real blocks under the first `bytes`, which may lie past the end of the file.
    fn allocate(&self, bytes: usize) -> io::Result<()> {
        let old = file_bytes(&self.file)?;
        let done = files::fill(&self.file, old, bytes as u64);
        if done.is_err() && file_bytes(&self.file)? > old {
            // No client reads past `old` before the gate is left.
            self.file.set_len(old)?;
        }
        done
    }
}

impl Shared for RealShared {
    #[inline]
    fn words(&self) -> &[Word] {
        let count = self.allocated_words.load(Ordering::Acquire);
        // SAFETY: the mapping starts on a page boundary, lives as long as `self`, has blocks under
        // its first `count` words (invariant 2), and is only ever seen as atomics.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), count) }
    }

    fn first_word(&self) -> Result<u64> {
        let mut word = [0; 8];
        match files::read_exact_at(&self.file, &mut word, 0) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read.map(|()| u64::from_ne_bytes(word)).map_err(|e| self.failed("read", e)),
        }
    }

    fn grow(&self, words: usize) -> Result<()> {
        self.check()?;
        assert!(self.writable, "R2: a guest changes nothing");
        if words * 8 > self.reserved_bytes {
            let source = io::Error::from(io::ErrorKind::OutOfMemory);
            return Err(self.failed("grow the lock file past its reservation", source));
        }
        // Also below the present length: the client that made the file may have died half-way.
        self.allocate(words * 8).map_err(|e| self.failed("grow the lock file", e))?;
        self.allocated_words.fetch_max(words, Ordering::Release);
        Ok(())
    }

    fn refresh(&self) -> Result<()> {
        self.check()?;
        let bytes = file_bytes(&self.file).map_err(|e| self.failed("stat", e))?;
        let words = (bytes as usize).min(self.reserved_bytes) / 8;
        self.allocated_words.fetch_max(words, Ordering::Release);
        Ok(())
    }

    fn lock_gate(&self, timeout: Duration) -> Result<bool> {
        self.check()?;
        let start = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            // Other threads of this client first: the descriptor would not stop them (invariant 3).
            if !self.gate_taken.swap(true, Ordering::Acquire) {
                match self.lock_byte(&self.gate, GATE_BYTE, self.gate_hold()) {
                    Ok(true) => return Ok(true),
                    Ok(false) => self.gate_taken.store(false, Ordering::Release),
                    Err(e) => {
                        self.gate_taken.store(false, Ordering::Release);
                        return Err(e);
                    }
                }
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    fn unlock_gate(&self) {
        self.unlock_byte(&self.gate, GATE_BYTE);
        self.gate_taken.store(false, Ordering::Release);
    }

    fn claim(&self, number: u32) -> Result<bool> {
        self.check()?;
        match self.way {
            Way::Bytes => {
                let ours = self.lock_byte(&self.file, client_byte(number), Hold::Alone)?;
                if ours {
                    self.keep()?;
                }
                Ok(ours)
            }
            Way::Files => self.client_files.claim(number),
        }
    }

    fn release(&self, number: u32) {
        match self.way {
            Way::Bytes => self.unlock_byte(&self.file, client_byte(number)),
            // In a forked child it is the parent's.
            Way::Files if self.check().is_ok() => self.client_files.release(number),
            Way::Files => {}
        }
    }

    fn held(&self, number: u32) -> Result<bool> {
        let held = match self.way {
            Way::Bytes => locks::is_held_alone(&self.file, client_byte(number))
                .map_err(|e| self.failed("lock", e))?,
            Way::Files => self.client_files.held(number)?,
        };
        if !held {
            // Only this answer does harm if it was about another file.
            self.check()?;
        }
        Ok(held)
    }

    fn way(&self) -> Way {
        self.way
    }

    fn writable(&self) -> bool {
        self.writable
    }

    fn attend(&self) -> Result<()> {
        if self.lock_byte(&self.file, PRESENCE_BYTE, Hold::Shared)? {
            return self.keep();
        }
        Err(Error::Busy("another process holds the byte of guests in the lock file (R2)".into()))
    }

    fn attended(&self) -> Result<bool> {
        self.check()?;
        match self.way {
            Way::Bytes => locks::is_free(&self.file, PRESENCE_BYTE)
                .map(|free| !free)
                .map_err(|e| self.failed("lock", e)),
            Way::Files => Ok(false),
        }
    }

    fn pin(&self, txnid: u64) -> Result<()> {
        if self.lock_byte(&self.file, snapshot_byte(txnid), Hold::Shared)? {
            Ok(())
        } else {
            Err(Error::Busy("another process holds the byte of a snapshot (R1)".into()))
        }
    }

    fn unpin(&self, txnid: u64) {
        self.unlock_byte(&self.file, snapshot_byte(txnid));
    }

    fn pinned(&self, range: &RangeInclusive<u64>) -> Result<Option<RangeInclusive<u64>>> {
        if self.way == Way::Files {
            return Ok(None);
        }
        let bytes = snapshot_byte(*range.start())..=snapshot_byte(*range.end());
        let found = locks::first_of(&self.file, bytes).map_err(|e| self.failed("lock", e))?;
        if found.is_none() {
            // Only this answer does harm if it was about another file.
            self.check()?;
        }
        Ok(found.map(|bytes| {
            // A stranger may have locked odd bytes alone: then it is the snapshot below.
            let first = snapshot_of(*bytes.start());
            first..=snapshot_of(*bytes.end()).max(first)
        }))
    }

    fn wait(&self, word: usize, expected: u64, timeout: Duration, marks: u32) {
        wait::wait(&self.words()[word], expected, timeout, marks);
    }

    fn wake(&self, word: usize, which: Wake) -> bool {
        wait::wake(&self.words()[word], which)
    }

    fn intact(&self) -> bool {
        self.file.intact() && self.client_files.intact()
    }

    fn lasts(&self) -> bool {
        self.keeper.get().is_some()
    }

    fn boot(&self) -> [u8; 16] {
        boot_id()
    }

    fn sync(&self) -> Result<()> {
        self.check()?;
        // Stores through the mapping belong to it.
        files::flush(&self.file).map_err(|e| self.failed("flush", e))
    }

    fn identity(&self) -> Option<Identity> {
        let (device, inode) = self.file.inode();
        Some(Identity { device, inode })
    }
}

impl Drop for RealShared {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open` with this length, and nothing borrows the words
        // any more.
        unsafe { unmap(self.base.cast(), self.reserved_bytes) };
    }
}

fn client_byte(number: u32) -> i64 {
    CLIENT_BYTES + i64::from(number)
}

/// A damaged lock file may name any snapshot.
fn snapshot_byte(txnid: u64) -> i64 {
    SNAPSHOT_BYTES + 2 * txnid.min(SNAPSHOTS_MAX) as i64
}

fn snapshot_of(byte: i64) -> u64 {
    ((byte - SNAPSHOT_BYTES) / 2) as u64
}

fn guest_trial_byte() -> i64 {
    PRESENCE_BYTE
        - 1
        - (super::unique_number() as i64 ^ i64::from(std::process::id())) % GUEST_TRIALS
}

/// Reserves address space and maps the file to its beginning; returns where, and how many bytes.
fn map(path: &Path, file: &File, bytes: usize, write: bool) -> Result<(NonNull<Word>, usize)> {
    let access = if write { Access::Write } else { Access::Read };
    let fair = usize::try_from(fair_bytes()).unwrap_or(usize::MAX);
    let needed = bytes.clamp(RESERVED_BYTES_MIN, RESERVED_BYTES);
    let mut reserved_bytes = RESERVED_BYTES.min(fair).max(needed);
    loop {
        // It may reach past the end of the file, where nothing touches it before the file has grown
        // (invariant 2).
        let source = match map_file(file, reserved_bytes, access) {
            Ok(base) => return Ok((base.cast(), reserved_bytes)),
            Err(source) => source,
        };
        if reserved_bytes / 2 < RESERVED_BYTES_MIN.max(bytes) {
            return Err(Error::io("map", path.display().to_string(), source));
        }
        reserved_bytes /= 2;
    }
}

fn file_bytes(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.len())
}

/// For tests that lock as a stranger does.
#[cfg(test)]
pub(crate) mod tests {
    pub(crate) fn snapshot_bytes(first: u64, last: u64) -> std::ops::RangeInclusive<i64> {
        super::snapshot_byte(first)..=super::snapshot_byte(last)
    }

    pub(crate) fn client_byte_of(number: u32) -> i64 {
        super::client_byte(number)
    }
}

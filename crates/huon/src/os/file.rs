//! The real data file.
//!
//! 1. The descriptor is close-on-exec, and names a regular file that was not reached through a
//!    symbolic link in its last component. (Where a link leads is looked up before.) A file
//!    of another kind is not opened at all: opening a device may do something.
//! 2. Nothing here extends the file but `grow`, which puts blocks under every new byte: the map
//!    never has a hole that a full disk cannot fill.
//! 3. A failed `grow` leaves the file as long as it was.
//! 4. A failed flush is returned, never tried again: the kernel may have dropped what it could not
//!    write.
//! 5. A lock on one byte far past any data, or on the whole file (`locks`), shows that a client has
//!    the file open. It belongs to the open file description, not to the process, and ends with it
//!    however it ends.
//! 6. A write past the process's limit of file sizes is refused before the kernel sends a signal
//!    (`size_limit`).
//! 7. A file in memory is one like others, but that no path leads to it. It is gone with its
//!    process, so there is nothing to flush.
//!
//! The contents of the file are left to others.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::counts::{Counters, IoCounts};
use super::map::Map;
use super::mutex::locked;
use super::sys::beside::Beside;
use super::sys::descriptor::open_kept;
use super::sys::files;
use super::sys::fork::{self, OwnFile};
use super::sys::keeper::LockKeeper;
use super::sys::locks::{self, Hold, Way};
use super::sys::size_limit::{self, SizeLimit};
use super::write_map::{ViewPage, WriteMap};
use super::{Identity, Storage, parts_bytes, past_end};
use crate::error::{Error, Result};
use crate::planted::{self, Bug};

/// The byte whose locks show that the file is open.
const LOCK_BYTE: i64 = 1 << 62;
/// The byte whose lock says that its holder uses no lock file, as all other clients do: so the two
/// kinds can be told apart where the lock file cannot be opened.
const PRIVATE_BYTE: i64 = LOCK_BYTE + 1;
/// The most that one system call is asked to write, so that a signal or a kill is not kept waiting.
const WRITE_BYTES_MAX: usize = 16 << 20;
/// The most parts that one system call is given: their list is made anew for each call.
const WRITE_PARTS_MAX: usize = 32;
/// Whether opening may create the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Create {
    /// It must exist.
    Never,
    /// It must not exist, and is created.
    Fresh,
}

/// How to open a data file.
#[derive(Clone)]
pub(crate) struct FileOptions {
    /// Open without the right to write.
    pub(crate) read_only: bool,
    /// Whether to create it.
    pub(crate) create: Create,
    /// Permissions of a file that is created; the process's umask is taken off.
    pub(crate) mode: u32,
    /// Address space to reserve; less is taken where the kernel refuses, see [`Map::reserve`].
    pub(crate) reserve_bytes: u64,
    /// The map that a forked child has from its parent (C5); the file must be the one it shows.
    pub(crate) inherited: Option<(Identity, Arc<Map>)>,
}

/// An open data file.
pub(crate) struct RealFile {
    file: OwnFile,
    /// The lock lasts as the client's byte in the lock file does.
    _keeper: Option<LockKeeper>,
    /// `None`: it is in memory (7).
    path: Option<PathBuf>,
    writable: bool,
    map: Arc<Map>,
    write_map: WriteMap,
    /// The length when it was last asked for or changed here; a hint that saves a system call a
    /// write.
    known_bytes: AtomicU64,
    /// One thread at a time notes a length that was asked for, or cuts the file.
    measuring: Mutex<()>,
    counters: Counters,
    size_limit: SizeLimit,
    way: Way,
    /// What this handle has of the lock.
    held: Mutex<Hold>,
}

impl Drop for RealFile {
    fn drop(&mut self) {
        if self.file.may_give_up() {
            self.unlock();
        }
    }
}

impl RealFile {
    /// Opens `path`, and maps it.
    ///
    /// Anything but a regular file is [`Error::NotADatabase`] with a text that says what it is.
    pub(crate) fn open(path: &Path, options: &FileOptions) -> Result<RealFile> {
        if options.read_only && options.create != Create::Never {
            return Err(Error::Invalid("a file that is opened read-only cannot be created"));
        }
        let _held_off = fork::hold_off();
        let stat_of = |file: &File| file.metadata().map_err(|e| Error::io("stat", place(path), e));
        let file = OwnFile::open(|| {
            let file = open_file(path, options)?;
            match files::not_regular(stat_of(&file)?.file_type()) {
                Some(what) => Err(refused(path, what)),
                None => Ok(file),
            }
        })?;
        let stat = stat_of(&file)?;
        let map = match &options.inherited {
            None => {
                let view = open_again(path, file.inode(), false)?;
                Map::reserve(&view, options.reserve_bytes, stat.len())?.into()
            }
            Some((identity, map)) => {
                if Identity::of(&stat) != *identity && !planted::is(Bug::ParentFiles) {
                    return Err(Error::Forked);
                }
                map.clone()
            }
        };
        RealFile::of(file, Some(path.to_owned()), !options.read_only, map, stat.len())
    }

    /// Makes an empty file that is gone with this process (7), and maps it.
    pub(crate) fn in_memory(reserve_bytes: u64) -> Result<RealFile> {
        let _held_off = fork::hold_off();
        let made = || files::memory_file().map_err(|e| Error::io("make a file in", MEMORY, e));
        let file = OwnFile::open(made)?;
        // A forked child that keeps the map keeps the locks, too, and no process misses them.
        let map = Map::reserve(&file, reserve_bytes, 0)?.into();
        RealFile::of(file, None, true, map, 0)
    }

    fn of(
        file: OwnFile,
        path: Option<PathBuf>,
        writable: bool,
        map: Arc<Map>,
        file_bytes: u64,
    ) -> Result<RealFile> {
        let named = || path.as_deref().map_or(MEMORY.into(), place);
        let way = locks::way_of(&file).map_err(|e| Error::io("lock", named(), e))?;
        let keeper = match way {
            Way::Bytes => {
                LockKeeper::map(&file).map_err(|e| Error::io("keep the lock of", named(), e))?
            }
            Way::Files => None,
        };
        Ok(RealFile {
            file,
            _keeper: keeper,
            path,
            writable,
            map,
            write_map: WriteMap::default(),
            known_bytes: AtomicU64::new(file_bytes),
            measuring: Mutex::default(),
            counters: Counters::default(),
            size_limit: SizeLimit::new(),
            way,
            held: Mutex::new(Hold::Nothing),
        })
    }

    /// The attributes of a new lock file of so many `bytes` beside it. `looks`: for a process that
    /// only reads.
    pub(crate) fn lock_file(&self, bytes: u64, looks: bool) -> Result<Beside> {
        Beside::lock_file(&self.file, bytes, looks).map_err(|e| self.error("stat", e))
    }

    /// What a file beside it takes from it.
    pub(crate) fn beside(&self) -> Result<Beside> {
        Beside::empty(&self.file).map_err(|e| self.error("stat", e))
    }

    fn error(&self, operation: &'static str, source: io::Error) -> Error {
        Error::io(operation, self.place(), source)
    }

    fn error_at(&self, operation: &'static str, offset: u64, source: io::Error) -> Error {
        Error::io(operation, format!("offset {offset} of {}", self.place()), source)
    }

    fn place(&self) -> String {
        self.path.as_deref().map_or(MEMORY.into(), place)
    }

    /// Another description of the file, without locks where that matters.
    fn open_to_write(&self) -> Option<File> {
        match &self.path {
            Some(path) => open_again(path, self.file.inode(), true).ok(),
            None => self.file.try_clone().ok(),
        }
    }

    fn must_write(&self) -> Result<()> {
        if self.writable { Ok(()) } else { Err(Error::ReadOnly) }
    }

    /// Refuses a write that would extend the file.
    fn check_end(&self, offset: u64, bytes: u64) -> Result<()> {
        let inside = |file_bytes| offset.checked_add(bytes).is_some_and(|end| end <= file_bytes);
        if inside(self.known_bytes.load(Ordering::Relaxed)) {
            return Ok(());
        }
        let file_bytes = self.file_bytes()?;
        if inside(file_bytes) { Ok(()) } else { Err(past_end(offset, bytes, file_bytes)) }
    }

    /// [`Storage::grow`], with the system call that allocates as a parameter.
    fn grow_by(
        &self,
        bytes: u64,
        allocate: impl Fn(&File, u64, u64) -> io::Result<()>,
    ) -> Result<()> {
        self.must_write()?;
        let from = self.file_bytes()?;
        if bytes <= from {
            return Ok(());
        }
        let allocate =
            || size_limit::check(bytes).and_then(|()| allocate(&self.file, from, bytes - from));
        let grown = match allocate() {
            Err(e) if files::cannot_allocate(&e) => files::write_zeros(&self.file, from, bytes),
            other => other,
        };
        if let Err(e) = grown {
            // Should this fail too, a longer file than needed does no harm: nothing refers to its
            // end.
            let _ = self.file.set_len(from);
            return Err(self.error("grow", e));
        }
        self.known_bytes.store(bytes, Ordering::Relaxed);
        self.counters.grew();
        Ok(())
    }

    /// Changes the lock that is held. `false`: another client's lock is in the way, ours is as
    /// before.
    fn hold(&self, held: &mut Hold, hold: Hold) -> Result<bool> {
        let change = |hold| {
            let changed = locks::change(&self.file, self.way, LOCK_BYTE, hold);
            changed.map_err(|e| self.error("lock", e))
        };
        if change(hold)? {
            *held = hold;
            return Ok(true);
        }
        if self.way == Way::Files && !change(*held)? {
            *held = Hold::Nothing;
            return Err(Error::Busy("the lock on the data file was lost to another client".into()));
        }
        Ok(false)
    }

    /// Gives up all that is held of locks, whatever copies of the descriptor there are.
    ///
    /// A process that another thread is starting has such a copy until it runs its program, and a
    /// child of a raw `clone` for as long as it lives. Closing ours would leave them the locks.
    fn unlock(&self) {
        let bytes: &[i64] = match self.way {
            Way::Bytes => &[LOCK_BYTE, PRIVATE_BYTE],
            Way::Files => &[LOCK_BYTE],
        };
        for byte in bytes {
            // Where it fails, closing the descriptor gives them up.
            let _ = locks::change(&self.file, self.way, *byte, Hold::Nothing);
        }
    }

    fn measuring(&self) -> MutexGuard<'_, ()> {
        locked(&self.measuring)
    }

    fn held(&self) -> MutexGuard<'_, Hold> {
        locked(&self.held)
    }

    /// Whether another client holds the lock, alone or shared.
    fn is_locked_elsewhere(&self) -> Result<bool> {
        if self.way == Way::Bytes {
            let free = locks::is_free(&self.file, LOCK_BYTE).map_err(|e| self.error("lock", e))?;
            return Ok(!free);
        }
        // `flock` cannot ask: it is taken for a moment.
        let mut held = self.held();
        let before = *held;
        let alone = self.hold(&mut held, Hold::Alone)?;
        if alone {
            self.hold(&mut held, before)?;
        }
        Ok(!alone)
    }
}

impl Storage for RealFile {
    fn file_bytes(&self) -> Result<u64> {
        let _one = self.measuring();
        let bytes = self.file.metadata().map_err(|e| self.error("stat", e))?.len();
        self.known_bytes.store(bytes, Ordering::Relaxed);
        Ok(bytes)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let at = offset.saturating_add(done as u64);
            match files::read_at(&self.file, &mut buffer[done..], at) {
                Ok(0) => break,
                Ok(bytes) => done += bytes,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.error_at("read", offset, e)),
            }
        }
        Ok(done)
    }

    fn write_at(&self, parts: &[&[u8]], offset: u64) -> Result<()> {
        self.must_write()?;
        let bytes = parts_bytes(parts);
        self.check_end(offset, bytes)?;
        let allowed = self.size_limit.check(offset + bytes);
        allowed.map_err(|e| self.error_at("write", offset, e))?;
        write_parts(parts, offset, |slices, at| files::write_at(&self.file, slices, at))
            .map_err(|e| self.error_at("write", offset, e))?;
        self.counters.wrote(bytes);
        Ok(())
    }

    fn view(&self, offset: u64, bytes: usize) -> Option<ViewPage> {
        let file_bytes = self.known_bytes.load(Ordering::Relaxed);
        if !self.writable || offset.checked_add(bytes as u64)? > file_bytes {
            return None;
        }
        // SAFETY: the range ends inside the file; the writer alone makes it shorter, and pages that
        // a snapshot sees are not written (the argument of `map.rs`).
        let page =
            unsafe { self.write_map.page(|| self.open_to_write(), file_bytes, offset, bytes) };
        if page.is_some() {
            self.counters.stored(bytes as u64);
        }
        page
    }

    fn flushes_folios(&self) -> bool {
        true
    }

    fn sync(&self) -> Result<()> {
        if self.path.is_none() {
            return Ok(());
        }
        files::flush(&self.file).map_err(|e| self.error("flush", e))?;
        self.counters.synced();
        Ok(())
    }

    fn flushes_at_once(&self) -> bool {
        self.path.is_none()
    }

    fn start_writing(&self) {
        if self.path.is_some() {
            files::start_writing(&self.file);
        }
    }

    fn grow(&self, bytes: u64) -> Result<()> {
        self.grow_by(bytes, files::allocate)
    }

    fn shrink(&self, bytes: u64) -> Result<()> {
        self.must_write()?;
        if bytes < self.file_bytes()? {
            let _one = self.measuring();
            self.file.set_len(bytes).map_err(|e| self.error("shrink", e))?;
            self.known_bytes.store(bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    fn map(&self) -> &Arc<Map> {
        &self.map
    }

    fn writable(&self) -> bool {
        self.writable
    }

    fn identity(&self) -> Result<Identity> {
        let stat = self.file.metadata().map_err(|e| self.error("stat", e))?;
        Ok(Identity::of(&stat))
    }

    fn modified(&self) -> Result<u64> {
        let stat = self.file.metadata().map_err(|e| self.error("stat", e))?;
        Ok(files::modified(&stat).max(1))
    }

    fn try_alone(&self) -> Result<bool> {
        // The kernel gives an exclusive lock only to descriptors that may write.
        if self.writable { self.hold(&mut self.held(), Hold::Alone) } else { Ok(false) }
    }

    fn try_join(&self) -> Result<bool> {
        self.hold(&mut self.held(), Hold::Shared)
    }

    fn try_private(&self) -> Result<bool> {
        if !self.try_join()? {
            return Ok(false);
        }
        let failed = |e| self.error("lock", e);
        // Checked before this client's own mark is set: two clients that come at once must not take
        // each other's mark for that of a third, and try again.
        let among_private = match self.way {
            Way::Bytes => !locks::is_free(&self.file, PRIVATE_BYTE).map_err(failed)?,
            // `flock` has no second byte: no client can be told from a writer.
            Way::Files => false,
        };
        if !among_private && self.is_locked_elsewhere()? {
            self.leave()?;
            return Ok(false);
        }
        match self.way {
            Way::Bytes => {
                locks::change(&self.file, self.way, PRIVATE_BYTE, Hold::Shared).map_err(failed)
            }
            Way::Files => Ok(true),
        }
    }

    fn leave(&self) -> Result<()> {
        self.hold(&mut self.held(), Hold::Nothing).map(drop)
    }

    fn has_others(&self) -> Result<bool> {
        self.is_locked_elsewhere()
    }

    fn forget_cache(&self) {
        self.map.unhold(self.known_bytes.load(Ordering::Relaxed));
        files::forget_cache(&self.file);
    }

    fn counts(&self) -> IoCounts {
        self.counters.get()
    }
}

/// Flushes the directory that `file` is in, so that a file just created keeps its name after a
/// power loss.
pub(crate) fn sync_directory(file: &Path) -> Result<()> {
    let parent = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let opened = open_kept(OpenOptions::new().read(true), parent);
    let directory = opened.map_err(|e| Error::io("open", place(parent), e))?;
    files::flush_directory(&directory).map_err(|e| Error::io("flush", place(parent), e))
}

/// Where a file is that no path leads to, for errors.
const MEMORY: &str = "memory";

fn place(path: &Path) -> String {
    path.display().to_string()
}

fn refused(path: &Path, what: &str) -> Error {
    Error::NotADatabase(format!("{} is {what}, not a regular file", path.display()).into())
}

/// The kind of file that the path names, if it is no regular file.
fn kind_of(path: &Path) -> Option<&'static str> {
    std::fs::symlink_metadata(path).ok().and_then(|stat| files::not_regular(stat.file_type()))
}

/// Opens or creates; `true` where it was created.
///
/// Creating is always exclusive: two processes that find no file agree on which of them made it,
/// and a dangling symbolic link is not followed.
fn open_file(path: &Path, options: &FileOptions) -> Result<File> {
    let mut open = OpenOptions::new();
    files::open_plainly(open.read(true).write(!options.read_only));
    files::set_mode(&mut open, options.mode);
    let fresh = options.create == Create::Fresh;
    if !fresh && let Some(what) = kind_of(path) {
        return Err(refused(path, what));
    }
    let operation = if fresh { "create" } else { "open" };
    open_kept(open.create_new(fresh), path).map_err(|e| open_error(operation, path, e))
}

/// Opens the file once more, for the map. A map keeps its open file description alive in forked
/// children, which close the other one: if they were the same, the children would keep the lock.
fn open_again(path: &Path, inode: (u64, u64), write: bool) -> Result<File> {
    let mut open = OpenOptions::new();
    let open = files::open_plainly(open.read(true).write(write));
    let view = open_kept(open, path).map_err(|e| open_error("open", path, e))?;
    if files::names(&view) != Some(inode) {
        return Err(Error::Busy("the file was replaced while it was opened".into()));
    }
    Ok(view)
}

/// The error of a failed open: what the path names, where that explains it.
fn open_error(operation: &'static str, path: &Path, source: io::Error) -> Error {
    match kind_of(path) {
        Some(what) => refused(path, what),
        None => Error::io(operation, place(path), source),
    }
}

/// Writes all `parts` from `offset` through `write`, which may write less than it is given.
fn write_parts(
    parts: &[&[u8]],
    mut offset: u64,
    mut write: impl FnMut(&[IoSlice<'_>], u64) -> io::Result<usize>,
) -> io::Result<()> {
    // The next byte to write is byte `skip` of part `first`.
    let (mut first, mut skip) = (0, 0);
    let mut left = parts_bytes(parts);
    while left > 0 {
        let mut slices = [IoSlice::new(&[]); WRITE_PARTS_MAX];
        let count = batch(parts, first, skip, &mut slices);
        let written = match write(&slices[..count], offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => bytes,
            Err(e)
                if e.kind() == io::ErrorKind::Interrupted
                    && !planted::is(Bug::InterruptedWrite) =>
            {
                continue;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => left as usize,
            Err(e) => return Err(e),
        };
        let written = if planted::is(Bug::ShortWrite) { left as usize } else { written };
        offset += written as u64;
        left -= written as u64;
        skip += written;
        while first < parts.len() && skip >= parts[first].len() {
            skip -= parts[first].len();
            first += 1;
        }
    }
    Ok(())
}

/// Fills `slices` from byte `skip` of part `first` on, within the limits of one call; returns their
/// count.
fn batch<'a>(
    parts: &[&'a [u8]],
    first: usize,
    skip: usize,
    slices: &mut [IoSlice<'a>; WRITE_PARTS_MAX],
) -> usize {
    let (mut count, mut room) = (0, WRITE_BYTES_MAX);
    for (index, part) in parts.iter().enumerate().skip(first) {
        let part = if index == first { &part[skip..] } else { part };
        if part.is_empty() {
            continue;
        }
        if count == WRITE_PARTS_MAX || room == 0 {
            break;
        }
        let part = &part[..part.len().min(room)];
        slices[count] = IoSlice::new(part);
        count += 1;
        room -= part.len();
    }
    count
}

#[cfg(test)]
mod tests;

//! The part of an environment that a process has of its own: it lives as long as the process, and a
//! forked child makes another one (C1 to C5 and C8 of docs/INVARIANTS.md).
//!
//! An environment's handle leads to what never changes (path, options, which files these are) and
//! to a list of living parts, one for each generation of processes that used the environment, the
//! oldest first. Only that of the own generation is used; the others belong to the parent and its
//! parents, and are forgotten, never dropped.
//!
//! 1. A thread that finds the last living part of the list of another generation attaches: it opens
//!    the same files again, as any client does, and appends the result.
//! 2. One thread at a time attaches. The word that says so holds the generation: an attach that a
//!    thread of the parent had begun does not count in the child.
//! 3. The files are those of the parent (C4): by device and inode, the data file by what it says of
//!    itself, too. If they are not, or their names lead elsewhere, the child is refused, and
//!    nothing has happened.
//! 4. The map of the data file is the parent's, with what was verified in it (C5).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::env::open::{self, Inherited, Opened};
use crate::env::options::SlowReaderCallback;
use crate::env::{Env, Options, Settings};
use crate::error::{Error, Result};
use crate::os::{self, ForkLock, Identity};
use crate::planted::{self, Bug};
use crate::txn::Core;

/// No thread attaches.
const NONE: u32 = 0;
/// How long a thread that waits for another one to attach sleeps before it looks again.
const PAUSE: Duration = Duration::from_micros(200);

/// A living part, and the one that a child made after it.
struct Living {
    core: Arc<Core>,
    next: OnceLock<Box<Living>>,
}

impl Drop for Living {
    /// Inherited parts are never dropped: threads of the parent may have been in the middle of
    /// changing it, and slices of its map may live on (C2, C5).
    fn drop(&mut self) {
        if self.core.check_forked().is_err() && !planted::is(Bug::InheritedDropped) {
            std::mem::forget(self.core.clone());
        }
    }
}

/// The living parts of an environment.
pub(super) struct Lives {
    first: Living,
    /// The generation in which a thread attaches at this moment, or [`NONE`].
    attaching: AtomicU32,
    files: Files,
    options: Options,
    pub(super) settings: ForkLock<Settings>,
}

/// Which files these are.
struct Files {
    path: PathBuf,
    data: Identity,
    /// `None`: the lock file is memory of this process.
    lock: Option<Identity>,
}

impl Lives {
    pub(super) fn new(opened: Core, path: &Path, options: &Options) -> Result<Lives> {
        let data = opened.store.storage.identity()?;
        let lock = opened.store.board.shared().identity();
        // The program may go to another directory before it forks.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Lives {
            attaching: AtomicU32::new(NONE),
            files: Files { path, data, lock },
            settings: ForkLock::new(options.settings(&opened)),
            options: options.clone(),
            first: Living { core: Arc::new(opened), next: OnceLock::new() },
        })
    }

    /// The part of this process. Costs a comparison, and in a forked child at its first use an
    /// opening.
    #[inline]
    pub(super) fn core(&self) -> Result<&Arc<Core>> {
        match self.first.core.check_forked() {
            Ok(()) => Ok(&self.first.core),
            Err(_) => self.of_a_child(),
        }
    }

    /// The newest part, of any generation: for reads that need no file.
    pub(super) fn last(&self) -> &Arc<Core> {
        let mut last = &self.first;
        while let Some(next) = last.next.get() {
            last = next;
        }
        &last.core
    }

    /// The newest part, unless it is of another generation.
    pub(super) fn own(&self) -> Option<&Arc<Core>> {
        Some(self.last()).filter(|core| core.check_forked().is_ok())
    }

    #[cold]
    fn of_a_child(&self) -> Result<&Arc<Core>> {
        loop {
            if let Some(core) = self.own() {
                return Ok(core);
            }
            let generation = os::fork_generation();
            let now = self.attaching.load(Ordering::Acquire);
            let free = now == NONE || now != generation && !planted::is(Bug::Grandchild);
            let (set, read) = (Ordering::Acquire, Ordering::Relaxed);
            if free && self.attaching.compare_exchange(now, generation, set, read).is_ok() {
                break;
            }
            os::pause(PAUSE);
        }
        let _done = Done(&self.attaching);
        // Another thread may have been faster.
        if let Some(core) = self.own() {
            return Ok(core);
        }
        let core = Arc::new(self.attach()?);
        let last = self.end();
        let _held_off = os::hold_off();
        Ok(&last.get_or_init(|| Box::new(Living { core, next: OnceLock::new() })).core)
    }

    /// Where the next part is appended.
    fn end(&self) -> &OnceLock<Box<Living>> {
        let mut end = &self.first.next;
        while let Some(next) = end.get() {
            end = &next.next;
        }
        end
    }

    /// Opens the files of the parent as a client of its own.
    fn attach(&self) -> Result<Core> {
        let parent = self.last();
        let Files { path, data, lock } = &self.files;
        if path.as_os_str().is_empty() {
            // An environment in memory belongs to its process alone; a simulated machine has no
            // forks.
            return Err(Error::Forked);
        }
        let options = self.options_now(parent);
        let inherited =
            Inherited { data: *data, lock: *lock, map: parent.store.storage.map().clone() };
        let files = open::inherited_files(path, &options, inherited)?;
        let Opened { mut core, .. } = open::open(files, &options)?;
        let same =
            core.store.uuid == parent.store.uuid && open::is_named(path, &*core.store.storage)?;
        if !same && !planted::is(Bug::ParentFiles) {
            return Err(Error::Forked);
        }
        core.inherit(parent)?;
        Ok(core)
    }

    /// The options of the parent, with what was changed since it opened the environment.
    fn options_now(&self, parent: &Core) -> Options {
        let settings = self.settings.copied();
        let mut options = Options {
            // The file is there, or it is not the parent's.
            create: false,
            inherit_durability: false,
            durability: settings.durability,
            flush_bytes: settings.flush_after_bytes,
            flush_ms: u64::try_from(settings.flush_after.as_millis()).unwrap_or(u64::MAX),
            write_buffer_bytes: settings.write_buffer_bytes,
            verify: settings.verify,
            lock_timeout: settings.lock_timeout,
            slow_before_growing: settings.slow_readers_before_growing,
            slow_reader: parent.store.slow_readers.callback().map(SlowReaderCallback),
            ..self.options.clone()
        };
        if !options.stays_apart() {
            // The parent chose once; commits since then count.
            options.meta_slot = None;
        }
        options
    }

    /// The part of this process, once the last handle of the environment is gone. Inherited parts
    /// are forgotten.
    pub(super) fn into_own(self) -> Option<Arc<Core>> {
        self.own().cloned()
    }
}

/// Tells other threads that the one that attached is done.
struct Done<'l>(&'l AtomicU32);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(NONE, Ordering::Release);
    }
}

impl Env {
    /// Makes a forked child a client of its own now, as its first use of the environment does;
    /// elsewhere it does nothing. For a program that forks itself into the background: the child
    /// attaches, and the parent ends after that, so that the environment is open all the time and
    /// no unflushed commit is left to the next opening.
    ///
    /// Costs an opening beside others: some system calls, and no access to the data.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// // In the child, after a fork:
    /// env.attach()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Forked`] if the path does not lead to the files of the parent any more: they were
    /// renamed, deleted or replaced. Otherwise those of [`Options::open`]: so
    /// [`Error::Busy`] as long as the parent has it open alone.
    pub fn attach(&self) -> Result<()> {
        if planted::is(Bug::AttachIgnored) {
            return Ok(());
        }
        self.core().map(drop)
    }
}

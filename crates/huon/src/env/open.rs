//! Opening: which client is first, and how the others join.
//!
//! Everything here happens under the gate of the lock file. A lock on the data file itself decides
//! which client is first, so that a lock file that was deleted or replaced while in use is noticed.
//!
//! `files` finds the files and `create` makes them. `first` is what the first client does,
//! `company` what later ones do, and how they notice the others.

mod company;
mod create;
mod files;
mod first;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::time::{Duration, Instant};

use crate::env::modes;
use crate::env::options::Options;
use crate::error::{Error, Result};
use crate::lock::{Board, Clients, GATE_TIMEOUT, Gate, Guest, Role, RoleKind};
use crate::os::{self, Handover, JournalFile, Storage};
use crate::page::Meta;
use crate::planted::{self, Bug};
use crate::store::slow::SlowReaders;
use crate::store::{Store, StoreParts};
use crate::txn::named::NamedIds;
use crate::txn::names::Names;
use crate::txn::recovery::Recovery;
use crate::txn::{Core, CoreCounts};

pub(crate) use company::{is_named, serves_another};
pub(crate) use files::{Inherited, OpenFiles, inherited_files, private_lock_file, real_files};

use company::{Deserted, has_company, is_of, join, open_deserted};
use files::refuse_foreign_alone;
use first::{open_first, open_private};

/// How long an open that is not first waits for live clients to show in the lock file.
const JOIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it sleeps before it looks again.
const JOIN_PAUSE: Duration = Duration::from_millis(2);

/// An open environment's inside.
pub(crate) struct Opened {
    pub(crate) core: Core,
    pub(crate) recovery: Recovery,
}

impl Opened {
    /// The same after the last steps of an opening, which holds the gate. If one fails, the client
    /// leaves as after a kill: a close would wait for that gate.
    fn after(self, gate: &Gate, steps: impl FnOnce(&Core) -> Result<()>) -> Result<Opened> {
        match steps(&self.core) {
            Ok(()) => Ok(self),
            Err(error) => {
                self.core.leave(gate);
                Err(error)
            }
        }
    }
}

const REPLACED: &str = "the lock file is in use for another data file, which had this name and was \
                        replaced while open";
const UNSEEN: &str = "the file is in use, but not through this lock file: it was replaced while \
                      open, or a process reads the file without it, or one that may not write \
                      reads on after a failed flush";

/// Refuses to share the file where that was not wanted.
fn check_shared(files: &OpenFiles, options: &Options) -> Result<()> {
    if options.stays_apart() && files.storage.has_others()? {
        return Err(Error::Busy(
            "the file is open elsewhere; to choose a meta by hand, close it everywhere else".into(),
        ));
    }
    if options.exclusive && !files.private {
        return Err(Error::Busy("the file is open elsewhere and cannot be had alone".into()));
    }
    Ok(())
}

/// Opens what `files` gives.
pub(crate) fn open(mut files: OpenFiles, options: &Options) -> Result<Opened> {
    let start = Instant::now();
    loop {
        let gate = Gate::lock(&files.shared, GATE_TIMEOUT)?;
        refuse_foreign_alone(&*files.storage, options)?;
        let Some(board) = attach(&files, &gate, options)? else {
            drop(gate);
            files.make_private()?;
            continue;
        };
        let may_be_first = files.storage.writable() && !files.is_guest();
        if may_be_first && files.storage.try_alone()? {
            if !serves_another(&board, &*files.storage, &gate)? {
                return open_first(files, board, &gate, options);
            }
            files.storage.leave()?;
            drop(gate);
            if start.elapsed() > JOIN_TIMEOUT {
                return Err(Error::Busy(REPLACED.into()));
            }
            os::pause(JOIN_PAUSE);
            continue;
        }
        check_shared(&files, options)?;
        if files.private || has_company(&board, &*files.storage, &gate)? {
            if become_one_of(&*files.storage, files.private)? {
                return if files.private {
                    open_private(files, board, &gate, options)
                } else {
                    join(files, board, &gate, options)
                };
            }
            drop(gate);
            if start.elapsed() > JOIN_TIMEOUT {
                return Err(refused(files.private));
            }
        } else {
            // A client that cannot write need not wait if the data file's lock shows that no other
            // is there.
            let deserted = !may_be_first && !files.storage.has_others()?;
            if deserted && files.is_guest() {
                match open_deserted(files, board, options)? {
                    Deserted::Opened(opened) => return Ok(*opened),
                    Deserted::Unreliable(storage) => {
                        drop(gate);
                        files = OpenFiles::of_data(storage)?;
                        continue;
                    }
                }
            }
            // Several that wait must not keep each other from being first.
            files.storage.leave()?;
            drop(gate);
            if deserted || start.elapsed() > JOIN_TIMEOUT {
                if !may_be_first {
                    // No client uses the lock file: a private image, with the data file locked
                    // shared.
                    files.make_private()?;
                    continue;
                }
                return Err(Error::Busy(UNSEEN.into()));
            }
        }
        // The data file's lock is not held here: two waiting clients would keep each other from
        // being first.
        os::pause(JOIN_PAUSE);
    }
}

/// Locks the data file beside other clients of this kind; `false`: one of another kind has it.
fn become_one_of(storage: &dyn Storage, private: bool) -> Result<bool> {
    if private && planted::is(Bug::PrivateReaderLock) {
        // Locked against no other client.
        return storage.try_private().and_then(|held| storage.leave().map(|()| held));
    }
    if private { storage.try_private() } else { storage.try_join() }
}

/// A client of another kind had the file for too long.
fn refused(private: bool) -> Error {
    let reason = if private {
        "the file is open elsewhere, and its lock file cannot be used here"
    } else {
        "another client has the file open for itself"
    };
    Error::Busy(reason.into())
}

/// The board of the lock file, which has room for one. `None`: there is none, and this process only
/// reads.
fn attach(files: &OpenFiles, gate: &Gate, options: &Options) -> Result<Option<Arc<Board>>> {
    if files.is_guest() {
        // R2: of this boot and this data file, or it is of no use.
        let board = Board::visit(files.shared.clone(), gate)?;
        let board = board.filter(|_| !options.exclusive).map(Arc::new);
        return match board {
            Some(board) if is_of(&board, &*files.storage)? => Ok(Some(board)),
            _ => Ok(None),
        };
    }
    match Board::attach(files.shared.clone(), gate) {
        Ok(board) => Ok(Some(Arc::new(board))),
        Err(Error::Io(e)) if os::is_unavailable(&e.source) && files.may_be_private(options) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn make_store(
    storage: Box<dyn Storage>,
    clients: Arc<Clients>,
    guest: Option<Guest>,
    meta: &Meta,
    options: &Options,
) -> Result<Store> {
    let page_bytes = meta.page_bytes as usize;
    if let Some(wanted) = options.page_bytes.filter(|&wanted| wanted != page_bytes) {
        return Err(Error::PageSize { found: meta.page_bytes, wanted: wanted as u32 });
    }
    Store::new(StoreParts {
        storage,
        clients,
        guest,
        uuid: meta.uuid,
        page_bytes,
        write_buffer_bytes: options.write_buffer_bytes,
        verify: options.verify,
        read_ahead: options.read_ahead,
        slow_readers: SlowReaders::new(
            options.slow_reader.as_ref().map(|asked| asked.0.clone()),
            options.slow_before_growing,
        ),
    })
}

fn finish(
    store: Store,
    clients: Arc<Clients>,
    recovery: Recovery,
    journal: Option<Box<dyn JournalFile>>,
    options: &Options,
) -> Result<Opened> {
    clients.register()?;
    let read_only = options.read_only || !store.storage.writable() || !clients.board().writable();
    let modes = modes::agreed(clients.board(), options, read_only);
    let core = Core {
        store: Arc::new(store),
        flusher: Role::new(clients.clone(), RoleKind::Flusher),
        journaller: Role::new(clients.clone(), RoleKind::Journaller),
        journal,
        names: Arc::new(Names::new()),
        clients,
        fork_generation: os::fork_generation(),
        durability: AtomicU8::new(modes.durability as u8),
        edits_in_place: AtomicBool::new(modes.durability.is_lazy()),
        flush_bytes: AtomicU64::new(modes.flush_bytes),
        flush_ms: AtomicU64::new(modes.flush_ms),
        lock_timeout_ns: AtomicU64::new(0),
        close_without_flush: AtomicBool::new(false),
        closed: false,
        read_only,
        counts: CoreCounts::default(),
        last_sealed: Handover::default(),
        named: NamedIds::default(),
    };
    core.set_lock_timeout(options.lock_timeout);
    Ok(Opened { core, recovery })
}

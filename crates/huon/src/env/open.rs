//! Opening: which client is first, and how the others join.
//!
//! Everything here happens under the gate of the lock file. A lock on the data file itself decides
//! which client is first, so that a lock file that was deleted or replaced while in use is noticed.
//!
//! `ground` finds the files and `create` makes them. `first` is what the first client does,
//! `company` what later ones do, and how they notice the others.

mod company;
mod create;
mod first;
mod ground;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::env::modes;
use crate::env::options::Options;
use crate::error::{Error, Result};
use crate::lock::{Board, Clients, GATE_TIMEOUT, Gate, Guest, Role, RoleKind};
use crate::os::{self, Storage};
use crate::page::Meta;
use crate::planted::{self, Bug};
use crate::store::slow::SlowReaders;
use crate::store::{Store, StoreParts};
use crate::txn::names::Names;
use crate::txn::recovery::Recovery;
use crate::txn::{Core, CoreCounts};

pub(crate) use company::{is_named, serves_another};
pub(crate) use ground::{Ground, Inherited, inherited_ground, private_lock_file, real_ground};

use company::{Deserted, has_company, is_of, join, open_deserted};
use first::{open_first, open_private};
use ground::refuse_foreign_alone;

/// How long an open that is not first waits for live clients to show in the lock file.
const JOIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it sleeps before it looks again.
const JOIN_PAUSE: Duration = Duration::from_millis(2);

/// An open environment's inside.
pub(crate) struct Opened {
    pub(crate) core: Core,
    pub(crate) recovery: Recovery,
}

const REPLACED: &str = "the lock file is in use for another data file, which had this name and was \
                        replaced while open";
const UNSEEN: &str = "the file is in use, but not through this lock file: it was replaced while \
                      open, or a process reads the file without it, or one that may not write \
                      reads on after a failed flush";

/// Refuses to share the file where that was not wanted.
fn check_shared(ground: &Ground, options: &Options) -> Result<()> {
    if options.stays_apart() && ground.storage.has_others()? {
        return Err(Error::Busy(
            "the file is open elsewhere; to choose a meta by hand, close it everywhere else".into(),
        ));
    }
    if options.exclusive && !ground.private {
        return Err(Error::Busy("the file is open elsewhere and cannot be had alone".into()));
    }
    Ok(())
}

/// Opens what `ground` gives.
pub(crate) fn open(mut ground: Ground, options: &Options) -> Result<Opened> {
    let start = Instant::now();
    loop {
        let gate = Gate::lock(&ground.shared, GATE_TIMEOUT)?;
        refuse_foreign_alone(&*ground.storage, options)?;
        let Some(board) = attach(&ground, &gate, options)? else {
            drop(gate);
            ground.make_private()?;
            continue;
        };
        let may_be_first = ground.storage.writable() && !ground.is_guest();
        if may_be_first && ground.storage.try_alone()? {
            if !serves_another(&board, &*ground.storage, &gate)? {
                return open_first(ground, board, &gate, options);
            }
            ground.storage.leave()?;
            drop(gate);
            if start.elapsed() > JOIN_TIMEOUT {
                return Err(Error::Busy(REPLACED.into()));
            }
            os::pause(JOIN_PAUSE);
            continue;
        }
        check_shared(&ground, options)?;
        if ground.private || has_company(&board, &*ground.storage, &gate)? {
            if become_one_of(&*ground.storage, ground.private)? {
                return if ground.private {
                    open_private(ground, board, &gate, options)
                } else {
                    join(ground, board, &gate, options)
                };
            }
            drop(gate);
            if start.elapsed() > JOIN_TIMEOUT {
                return Err(refused(ground.private));
            }
        } else {
            // A client that cannot write need not wait if the data file's lock shows that no other
            // is there.
            let deserted = !may_be_first && !ground.storage.has_others()?;
            if deserted && ground.is_guest() {
                match open_deserted(ground, board, options)? {
                    Deserted::Opened(opened) => return Ok(*opened),
                    Deserted::Unreliable(storage) => {
                        drop(gate);
                        ground = Ground { storage, shared: private_lock_file()?, private: true };
                        continue;
                    }
                }
            }
            // Several that wait must not keep each other from being first.
            ground.storage.leave()?;
            drop(gate);
            if deserted || start.elapsed() > JOIN_TIMEOUT {
                if !may_be_first {
                    // No client uses the lock file: a private image, with the data file locked
                    // shared.
                    ground.make_private()?;
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
fn attach(ground: &Ground, gate: &Gate, options: &Options) -> Result<Option<Arc<Board>>> {
    if ground.is_guest() {
        // R2: of this boot and this data file, or it is of no use.
        let board = Board::visit(ground.shared.clone(), gate)?;
        let board = board.filter(|_| !options.exclusive).map(Arc::new);
        return match board {
            Some(board) if is_of(&board, &*ground.storage)? => Ok(Some(board)),
            _ => Ok(None),
        };
    }
    match Board::attach(ground.shared.clone(), gate) {
        Ok(board) => Ok(Some(Arc::new(board))),
        Err(Error::Io(e)) if os::is_unavailable(&e.source) && ground.may_be_private(options) => {
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
    options: &Options,
) -> Result<Opened> {
    clients.register()?;
    let read_only = options.read_only || !store.storage.writable() || !clients.board().writable();
    let modes = modes::agreed(clients.board(), options, read_only);
    let core = Core {
        store: Arc::new(store),
        flusher: Role::new(clients.clone(), RoleKind::Flusher),
        names: Arc::new(Names::new()),
        clients,
        fork_generation: os::fork_generation(),
        durability: AtomicU8::new(modes.durability as u8),
        edits_in_place: AtomicBool::new(modes.durability.is_lazy()),
        flush_bytes: AtomicU64::new(modes.flush_bytes),
        flush_ms: AtomicU64::new(modes.flush_ms),
        close_without_flush: AtomicBool::new(false),
        closed: false,
        read_only,
        counts: CoreCounts::default(),
        last_sealed: Mutex::default(),
    };
    Ok(Opened { core, recovery })
}

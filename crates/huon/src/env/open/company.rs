//! Later clients: whether another one has the file open, and how it is joined.

use std::path::Path;
use std::sync::Arc;

use super::{OpenFiles, Opened, become_one_of, finish, make_store};
use crate::env::options::Options;
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::lock::{Board, Clients, Gate, Guest};
use crate::os::{Identity, Storage};
use crate::page::{META_BYTES, Meta};
use crate::planted::{self, Bug};
use crate::store::Store;
use crate::txn::Core;
use crate::txn::recovery::{self, Recovery};

/// Whether another client has this very file open through the lock file, and can be joined.
pub(super) fn has_company(board: &Arc<Board>, storage: &dyn Storage, gate: &Gate) -> Result<bool> {
    if !is_current(board, storage)? {
        return Ok(false);
    }
    if Clients::new(board.clone()).others_alive(gate)? {
        return Ok(true);
    }
    // R6: every client that could write is gone, and guests read on.
    let goes_on = board.same_boot() && !board.is_poisoned() && !planted::is(Bug::GuestsAlone);
    Ok(goes_on && board.shared().attended()?)
}

/// Whether what the lock file says is of this data file, identity and contents.
pub(super) fn is_of(board: &Board, storage: &dyn Storage) -> Result<bool> {
    let uuid = recovery::newest(&recovery::known_metas(storage)?)?.uuid;
    let same =
        board.identity().is_some_and(|its| its.uuid == uuid) || planted::is(Bug::GuestDataFile);
    Ok(same && is_current(board, storage)?)
}

/// Whether the lock file belongs to this data file and this boot.
fn is_current(board: &Board, storage: &dyn Storage) -> Result<bool> {
    if planted::is(Bug::GuestDataFile) && !board.writable() {
        return Ok(true);
    }
    let data = storage.identity()?;
    Ok(board.identity().is_some_and(|identity| identity.data == data))
}

/// Whether a client has another data file open through this lock file: the one that had the name
/// before. A process that is dying may have let go of the data file first, so this may pass.
pub(crate) fn serves_another(
    board: &Arc<Board>,
    storage: &dyn Storage,
    gate: &Gate,
) -> Result<bool> {
    let data = storage.identity()?;
    let is_other = board.identity().is_some_and(|identity| identity.data != data);
    let others = || Clients::new(board.clone()).others_alive(gate);
    Ok(is_other && (others()? || board.shared().attended()?))
}

/// Whether `path` still leads to the file that was opened. If it does, no process deletes the file
/// through this library while it is open here.
pub(crate) fn is_named(path: &Path, storage: &dyn Storage) -> Result<bool> {
    let opened = storage.identity()?;
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok(Identity::of(&found) == opened),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io("stat", path.display().to_string(), e)),
    }
}

/// What a guest that finds no other client ends with.
pub(super) enum Deserted {
    Opened(Box<Opened>),
    /// The lock file's contents cannot be relied on.
    Unreliable(Box<dyn Storage>),
}

/// Opens for a guest where no client has the file open. The guest goes by the lock file if a first
/// client would start from what it says: then clients can join the guest (R6). Otherwise it needs
/// an image of its own (R7).
pub(super) fn open_deserted(
    files: OpenFiles,
    board: Arc<Board>,
    options: &Options,
) -> Result<Deserted> {
    let storage = &*files.storage;
    if !become_one_of(storage, false)? {
        return Ok(Deserted::Unreliable(files.storage));
    }
    let metas = recovery::known_metas(storage)?;
    let newest = recovery::newest(&metas)?.clone();
    let clean = board.closed_cleanly(storage.modified()?).is_some();
    let left = recovery::left_by_others(&board, storage, &newest.uuid, clean)?;
    let guest = Guest::enter(board.clone())?;
    let clients = Arc::new(Clients::of_guest(board.clone()));
    let store = make_store(files.storage, clients.clone(), Some(guest), &newest, options)?;
    let chosen = recovery::choose(&store, None, &metas, left.as_ref(), clean, options.meta_slot)?;
    // A sealed snapshot that is not published yet is whole, so published ones below are, too.
    if chosen.sealed || chosen.recovery == Recovery::Clean {
        return Ok(Deserted::Opened(Box::new(finish(
            store,
            clients,
            chosen.recovery,
            None,
            options,
        )?)));
    }
    let Store { storage, .. } = store;
    storage.leave()?;
    Ok(Deserted::Unreliable(storage))
}

/// A client, or a guest, that finds others.
pub(super) fn join(
    files: OpenFiles,
    board: Arc<Board>,
    gate: &Gate,
    options: &Options,
) -> Result<Opened> {
    let (clients, guest) = if files.is_guest() {
        (Clients::of_guest(board.clone()), Some(Guest::enter(board.clone())?))
    } else {
        (Clients::new(board.clone()), None)
    };
    let clients = Arc::new(clients);
    if guest.is_none() {
        clients.join(gate)?;
        // Noted by a client that left guests behind (R6).
        board.go_on_from_close();
    }
    reach(Point::OpenJoined);
    let joined = (|| {
        let mut block = [0; META_BYTES];
        if board.copy_named(|| board.published(), &mut block).is_none() {
            let text = "the lock file does not hold the published snapshot";
            return Err(Error::corrupt_file(text));
        }
        let meta = Meta::decode(&block).map_err(|fault| {
            if fault.is_unknown() {
                fault.refuse(format_args!("the snapshot in the lock file"))
            } else {
                Error::corrupt_file("the lock file's image of the published snapshot is damaged")
            }
        })?;
        make_store(files.storage, clients.clone(), guest, &meta, options)
    })();
    let finish = |store| finish(store, clients.clone(), Recovery::Clean, files.journal, options);
    let use_journal = |core: &Core| core.use_journal(gate, options.journal_bytes);
    let opened = joined.and_then(finish).and_then(|opened| opened.after(gate, use_journal));
    opened.inspect_err(|_| clients.leave(gate))
}

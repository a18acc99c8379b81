//! The first client: it chooses the snapshot that all later ones start from.

use std::sync::Arc;

use twox_hash::XxHash3_64;

use super::create::format_file;
use super::{OpenFiles, Opened, become_one_of, finish, make_store};
use crate::env::options::Options;
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::lock::{Board, BoardIdentity, Clients, Gate, Sound, Start, WrittenAfterClose};
use crate::page::META_BYTES;
use crate::store::Store;
use crate::txn::Core;
use crate::txn::recovery::{self, Chosen, Left, Recovery};

/// Ids that an opening leaves out at most if the file was written after a clean close: so many that
/// two openings hardly ever leave out the same number, and so few that a meta's ceiling allows some
/// hundred of them.
const JUMP_MAX: u64 = 1 << 24;

/// The first client chooses the snapshot that all start from.
pub(super) fn open_first(
    files: OpenFiles,
    board: Arc<Board>,
    gate: &Gate,
    options: &Options,
) -> Result<Opened> {
    let (storage, private) = (&*files.storage, files.private);
    if board.is_poisoned() || !board.same_boot() {
        storage.forget_cache();
    }
    if storage.file_bytes()? == 0 && options.create && !options.read_only {
        // Half made, the file would be taken for something else by the next opening.
        format_file(storage, options).inspect_err(|_| drop(storage.shrink(0)))?;
    }
    let metas = recovery::known_metas(storage)?;
    let newest = recovery::newest(&metas)?.clone();
    let modified = storage.modified()?;
    let closed = board.closed_cleanly(modified);
    let left = recovery::left_by_others(&board, storage, &newest.uuid, closed.is_some())?;
    let issued = match closed {
        Some(WrittenAfterClose(false)) => board.issued(),
        // P7: the lock file may have been put back, and not know of ids under which pages were
        // written since. A jump leaves them alone.
        Some(WrittenAfterClose(true)) => board.issued().saturating_add(jump(modified)),
        None if board.same_boot() => board.issued(),
        None => 0,
    };
    // An id that no ceiling allows is damage; the repair leaves every believable one behind.
    let clean = closed.is_some() && issued < newest.ceiling;
    let issued = Core::usable_id(issued).unwrap_or(0);
    let clients = Arc::new(Clients::new(board.clone()));
    clients.join(gate)?;
    reach(Point::OpenAlone);
    let store = make_store(files.storage, clients.clone(), None, &newest, options)?;
    let (journal, by_hand) = (files.journal.as_deref(), options.meta_slot);
    let chosen = recovery::choose(&store, journal, &metas, left.as_ref(), clean, by_hand)?;
    let chosen = recovery::go_on_by_journal(&store, journal, chosen, options.journal_missing())?;
    reach(Point::OpenChosen);
    // Where no id was ever given out, no page bears one.
    let nothing_written =
        || Ok::<_, Error>(issued <= recovery::FIRST_ID.0 && recovery::is_blank(&*store.storage)?);
    let sound = match chosen.recovery {
        Recovery::Clean => Sound::Closed,
        Recovery::New if nothing_written()? => Sound::New,
        _ => Sound::Not,
    };
    initialise(&store, gate, &chosen, issued, sound)?;
    if chosen.sealed && !recovery::has_journal(&store, journal)? {
        store.board.forget_journal(gate);
    }
    if chosen.sealed && chosen.recovery == Recovery::Clean {
        // How much was left unflushed is not known any more; so much that one flush does not do.
        store.board.add_written(store.page_bytes as u64 * u64::from(chosen.meta.used));
    }
    reach(Point::OpenReady);
    if !options.exclusive && !become_one_of(&*store.storage, private)? {
        return Err(Error::Busy("the lock on the data file was lost while opening".into()));
    }
    let opened = finish(store, clients, chosen.recovery, files.journal, options)?;
    opened.after(gate, |core| {
        if chosen.by_journal && !options.stays_apart() {
            // J5.3.
            core.repair_now()?;
        }
        core.use_journal(gate, options.journal_bytes)
    })
}

/// How many ids to leave out of a file that was `modified` last at that time: another number for
/// each time.
fn jump(modified: u64) -> u64 {
    1 + XxHash3_64::oneshot(&modified.to_le_bytes()) % JUMP_MAX
}

/// Fills the board around the chosen snapshot.
fn initialise(
    store: &Store,
    gate: &Gate,
    chosen: &Chosen,
    issued: u64,
    sound: Sound,
) -> Result<()> {
    let identity = BoardIdentity {
        data: store.storage.identity()?,
        uuid: store.uuid,
        boot: store.board.shared().boot(),
        page_bytes: store.page_bytes as u32,
    };
    let block: [u8; META_BYTES] = chosen.meta.as_image().encode();
    store.board.initialise(
        gate,
        &identity,
        &Start {
            txnid: chosen.meta.txnid.0,
            image: &block,
            keep: chosen.sealed,
            issued: issued.max(chosen.meta.txnid.0),
            meta_slot: chosen.meta_slot,
            checksum: chosen.checksum,
            ceiling: chosen.meta.ceiling,
            place: chosen.place,
            sound,
        },
    );
    Ok(())
}

/// A client that cannot write, of a file that no client writes: the lock file is its own memory.
pub(super) fn open_private(
    files: OpenFiles,
    board: Arc<Board>,
    gate: &Gate,
    options: &Options,
) -> Result<Opened> {
    let metas = recovery::known_metas(&*files.storage)?;
    let newest = recovery::newest(&metas)?.clone();
    let clients = Arc::new(Clients::new(board));
    clients.join(gate)?;
    let store = make_store(files.storage, clients.clone(), None, &newest, options)?;
    let none: Option<&Left> = None;
    let chosen = recovery::choose(&store, None, &metas, none, false, options.meta_slot)?;
    let chosen = recovery::go_on_by_journal(&store, None, chosen, options.journal_missing())?;
    initialise(&store, gate, &chosen, 0, Sound::Not)?;
    finish(store, clients, chosen.recovery, None, options)
}

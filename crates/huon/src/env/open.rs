//! Opening: which client is first, what it starts from, and how a new file is made.
//!
//! Everything here happens under the gate of the lock file. A lock on the data file itself decides
//! which client is first, so that a lock file that was deleted or replaced while in use is noticed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use twox_hash::XxHash3_64;

use crate::env::modes;
use crate::env::options::{Options, PAGE_BYTES_DEFAULT};
use crate::env::place::{self, lock_path};
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::lock::RealShared;
use crate::lock::{
    Board, BoardIdentity, Clients, GATE_TIMEOUT, Gate, Guest, LOCK_BYTES, MemoryFile, Role,
    RoleKind, Sound, Start, Written,
};
use crate::os::{self, Create, FileOptions, Identity, Map, RealFile, Shared, Storage};
use crate::page::{CommitKind, META_BYTES, Meta, OrderKind, Sweep, Tree, Txnid, first_data_page};
use crate::planted;
use crate::store::slow::SlowReaders;
use crate::store::{Store, StoreParts};
use crate::txn::names::Names;
use crate::txn::recovery::{self, Chosen, Left, Recovery};
use crate::txn::{Core, CoreCounts};

/// Ids that an opening leaves out at most if the file was written after a clean close: so many that
/// two openings hardly ever leave out the same number, and so few that a meta's ceiling allows some
/// hundred of them.
const JUMP_MAX: u64 = 1 << 24;
/// How long an open that is not first waits for live clients to show in the lock file.
const JOIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it sleeps before it looks again.
const JOIN_PAUSE: Duration = Duration::from_millis(2);

/// The files that an opening works on.
pub(crate) struct Ground {
    pub(crate) storage: Box<dyn Storage>,
    pub(crate) shared: Arc<dyn Shared>,
    /// The lock file is this client's own memory: no other client can see it, so no other may
    /// write.
    pub(crate) private: bool,
}

impl Ground {
    /// Whether this process may only read the lock file.
    fn is_guest(&self) -> bool {
        !self.shared.writable()
    }

    /// Whether this process can do without a lock file that others see.
    fn may_be_private(&self, options: &Options) -> bool {
        !self.private && (options.read_only || !self.storage.writable())
    }

    /// The lock file cannot be used, or no client uses it: a private image, with the data file
    /// locked against writers.
    fn make_private(&mut self) -> Result<()> {
        self.shared = private_lock_file()?;
        self.private = true;
        Ok(())
    }
}

/// An open environment's inside.
pub(crate) struct Opened {
    pub(crate) core: Core,
    pub(crate) recovery: Recovery,
}

/// What a forked child has of its parent's files (C4, C5).
pub(crate) struct Inherited {
    pub(crate) data: Identity,
    /// `None`: the parent's lock file is its own memory.
    pub(crate) lock: Option<Identity>,
    pub(crate) map: Arc<Map>,
}

/// The real files behind `path`, created if need be.
pub(crate) fn real_ground(path: &Path, options: &Options) -> Result<Ground> {
    ground_of(path, options, None)
}

/// The same in a forked child, which wants the very files of its parent.
pub(crate) fn inherited_ground(path: &Path, options: &Options, of: Inherited) -> Result<Ground> {
    match ground_of(path, options, Some(of)) {
        Err(Error::Io(e)) if e.source.kind() == std::io::ErrorKind::NotFound => Err(Error::Forked),
        found => found,
    }
}

fn ground_of(path: &Path, options: &Options, inherited: Option<Inherited>) -> Result<Ground> {
    let mut file = FileOptions {
        // A reader opens for writing too where it may: then it can be first, and writers can join
        // it.
        read_only: false,
        create: Create::Never,
        mode: options.mode,
        reserve_bytes: options.reservation(),
        inherited: inherited.as_ref().map(|of| (of.data, of.map.clone())),
    };
    if options.create && !options.read_only {
        match std::fs::symlink_metadata(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                place::check_new(path)?;
                create_file(path, options)?;
            }
            Ok(found) if found.is_file() && found.len() == 0 => place::check_new(path)?,
            _ => {}
        }
    }
    let opened = match RealFile::open(path, &file) {
        Err(Error::Io(e)) if may_be_read(&e.source) => {
            file.read_only = true;
            RealFile::open(path, &file)?
        }
        opened => opened?,
    };
    let lock = lock_path(path);
    refuse_foreign(&opened, &lock, options)?;
    // A child makes none: it would be another one than its parent's.
    let makes = opened.writable() && inherited.is_none();
    let create = makes.then(|| opened.lock_file(LOCK_BYTES, options.read_only)).transpose()?;
    let found =
        if options.stays_apart() { Ok(None) } else { RealShared::open(&lock, create.as_ref()) };
    let found = match found {
        Err(Error::Io(e))
            if os::is_unavailable(&e.source) && (options.read_only || !opened.writable()) =>
        {
            visit(&lock)?
        }
        found => found?,
    };
    let shared = found.map(|shared| Arc::new(shared) as Arc<dyn Shared>);
    if let Some(Inherited { lock: Some(lock), .. }) = inherited
        && shared.as_ref().and_then(|shared| shared.identity()) != Some(lock)
        && !planted::is(244)
    {
        return Err(Error::Forked);
    }
    let private = shared.is_none();
    let shared = match shared {
        Some(shared) => shared,
        None => private_lock_file()?,
    };
    Ok(Ground { storage: Box::new(opened), shared, private })
}

/// The lock file for a guest. `None`: it cannot be had, or not be used so.
fn visit(lock: &Path) -> Result<Option<RealShared>> {
    match RealShared::visit(lock) {
        Err(Error::Io(e)) if os::is_unavailable(&e.source) => Ok(None),
        found => found,
    }
}

/// No lock file is made or opened beside what is no environment. What is not one yet, and shows
/// nothing of anything else, has a lock file while it becomes one: see [`refuse_foreign_alone`].
fn refuse_foreign(storage: &dyn Storage, lock: &Path, options: &Options) -> Result<()> {
    match refuse_foreign_alone(storage, options) {
        Err(Error::NotADatabase(_)) if lock.symlink_metadata().is_ok() => {
            // It may have become one since it was looked at.
            if recovery::is_unwritten(storage)? {
                Ok(())
            } else {
                refuse_foreign_alone(storage, options)
            }
        }
        checked => checked,
    }
}

/// Nothing is written to what is no environment, or to its lock file. An empty file becomes one.
/// Under the gate, where nothing is half made.
fn refuse_foreign_alone(storage: &dyn Storage, options: &Options) -> Result<()> {
    if options.create && !options.read_only && storage.file_bytes()? == 0 {
        Ok(())
    } else {
        recovery::check_ours(storage)
    }
}

/// A lock file that no other client sees.
pub(crate) fn private_lock_file() -> Result<Arc<dyn Shared>> {
    Ok(Arc::new(MemoryFile::try_new([0; 16])?.open()))
}

/// Errors that leave the hope that a file can at least be read.
fn may_be_read(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// Makes a new file beside its final name, flushes it, and gives it the name: it exists whole or
/// not at all.
fn create_file(path: &Path, options: &Options) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("-new-{}-{}", std::process::id(), os::unique_number()));
    let draft = PathBuf::from(name);
    let made = make_draft(&draft, options).and_then(|()| {
        match std::fs::hard_link(&draft, path) {
            // Another process was faster: its file is used.
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked.map_err(|e| Error::io("create", path.display().to_string(), e)),
        }
    });
    // The draft's own name is needed no more, whatever became of it.
    let _ = std::fs::remove_file(&draft);
    made?;
    os::sync_directory(path)
}

fn make_draft(draft: &Path, options: &Options) -> Result<()> {
    let file = FileOptions {
        read_only: false,
        create: Create::Fresh,
        mode: options.mode,
        reserve_bytes: 1 << 20,
        inherited: None,
    };
    format_file(&RealFile::open(draft, &file)?, options)
}

/// Writes the first meta of an empty environment.
pub(crate) fn format_file(storage: &dyn Storage, options: &Options) -> Result<()> {
    let page_bytes = options.page_bytes.unwrap_or(PAGE_BYTES_DEFAULT);
    let geometry = options.geometry(page_bytes);
    let meta = Meta {
        uuid: os::random_bytes()?,
        page_bytes: page_bytes as u32,
        commit: CommitKind::TwoFlush,
        txnid: recovery::FIRST_ID,
        before: Txnid(0),
        ceiling: Core::ceiling_after(1),
        geometry,
        used: first_data_page(page_bytes),
        main: Tree::new(OrderKind::Bytes),
        markers: [0; 3],
        markers_txnid: 0,
        app_flags: 0,
        sweep: Sweep::default(),
        items: Vec::new(),
    };
    storage.grow(u64::from(geometry.lower) * page_bytes as u64)?;
    storage.write_at(&[&meta.encode()], 0)?;
    storage.sync()
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
    if private && planted::is(227) {
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

/// The board of the lock file, which has room for one. `None`: there is none to be had, and this
/// process only looks.
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

/// Whether another client has this very file open through the lock file, and can be joined.
fn has_company(board: &Arc<Board>, storage: &dyn Storage, gate: &Gate) -> Result<bool> {
    if !is_current(board, storage)? {
        return Ok(false);
    }
    if Clients::new(board.clone()).others_alive(gate)? {
        return Ok(true);
    }
    // R6: every client that could write is gone, and guests read on.
    let goes_on = board.same_boot() && !board.is_poisoned() && !planted::is(226);
    Ok(goes_on && board.shared().attended()?)
}

/// Whether what the lock file says is of this data file, identity and contents.
fn is_of(board: &Board, storage: &dyn Storage) -> Result<bool> {
    let uuid = recovery::newest(&recovery::known_metas(storage)?)?.uuid;
    let same = board.identity().is_some_and(|its| its.uuid == uuid) || planted::is(222);
    Ok(same && is_current(board, storage)?)
}

/// What a guest that finds no other client ends with.
enum Deserted {
    Opened(Box<Opened>),
    /// The lock file's contents cannot be relied on.
    Unreliable(Box<dyn Storage>),
}

/// Opens for a guest where no client has the file open. The guest goes by the lock file if a first
/// client would start from what it says: then clients can join the guest (R6). Otherwise it needs
/// an image of its own (R7).
fn open_deserted(ground: Ground, board: Arc<Board>, options: &Options) -> Result<Deserted> {
    let storage = &*ground.storage;
    if !become_one_of(storage, false)? {
        return Ok(Deserted::Unreliable(ground.storage));
    }
    let metas = recovery::known_metas(storage)?;
    let newest = recovery::newest(&metas)?.clone();
    let clean = board.closed_cleanly(storage.modified()?).is_some();
    let left = recovery::left_by_others(&board, storage, &newest.uuid, clean)?;
    let guest = Guest::enter(board.clone())?;
    let clients = Arc::new(Clients::of_guest(board.clone()));
    let store = make_store(ground.storage, clients.clone(), Some(guest), &newest, options)?;
    let chosen = recovery::choose(&store, &metas, left.as_ref(), clean, options.meta_slot)?;
    // What is sealed and not published yet is whole, so what is published below it is, too.
    if chosen.sealed || chosen.recovery == Recovery::Clean {
        return Ok(Deserted::Opened(Box::new(finish(store, clients, chosen.recovery, options)?)));
    }
    let Store { storage, .. } = store;
    storage.leave()?;
    Ok(Deserted::Unreliable(storage))
}

/// Whether `path` still leads to the file that was opened. If it does, no process deletes the file
/// through this library while it is open here.
pub(crate) fn is_named(path: &Path, storage: &dyn Storage) -> Result<bool> {
    let opened = storage.identity()?;
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (opened.device, opened.inode)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io("stat", path.display().to_string(), e)),
    }
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

/// Whether the lock file belongs to this data file and this boot.
fn is_current(board: &Board, storage: &dyn Storage) -> Result<bool> {
    if planted::is(222) && !board.writable() {
        return Ok(true);
    }
    let data = storage.identity()?;
    Ok(board.identity().is_some_and(|identity| identity.data == data))
}

/// The first client chooses what everybody starts from.
fn open_first(ground: Ground, board: Arc<Board>, gate: &Gate, options: &Options) -> Result<Opened> {
    let (storage, private) = (&*ground.storage, ground.private);
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
        Some(Written(false)) => board.issued(),
        // P7: the lock file may have been put back, and not know of ids under which pages were
        // written since. A jump leaves them alone.
        Some(Written(true)) => board.issued().saturating_add(jump(modified)),
        None if board.same_boot() => board.issued(),
        None => 0,
    };
    // An id that no ceiling allows is damage; the repair leaves every believable one behind.
    let clean = closed.is_some() && issued < newest.ceiling;
    let issued = Core::usable_id(issued).unwrap_or(0);
    let clients = Arc::new(Clients::new(board.clone()));
    clients.join(gate)?;
    reach(Point::OpenAlone);
    let store = make_store(ground.storage, clients.clone(), None, &newest, options)?;
    let chosen = recovery::choose(&store, &metas, left.as_ref(), clean, options.meta_slot)?;
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
    if chosen.sealed && chosen.recovery == Recovery::Clean {
        // How much was left unflushed is not known any more; so much that one flush does not do.
        store.board.add_written(store.page_bytes as u64 * u64::from(chosen.meta.used));
    }
    reach(Point::OpenReady);
    if !options.exclusive && !become_one_of(&*store.storage, private)? {
        return Err(Error::Busy("the lock on the data file was lost while opening".into()));
    }
    finish(store, clients, chosen.recovery, options)
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
    let block: [u8; META_BYTES] = chosen.meta.encode();
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
            sound,
        },
    );
    Ok(())
}

/// A client, or a guest, that finds others.
fn join(ground: Ground, board: Arc<Board>, gate: &Gate, options: &Options) -> Result<Opened> {
    let (clients, guest) = if ground.is_guest() {
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
        make_store(ground.storage, clients.clone(), guest, &meta, options)
    })();
    let opened = joined.and_then(|store| finish(store, clients.clone(), Recovery::Clean, options));
    opened.inspect_err(|_| clients.leave(gate))
}

/// A client that cannot write, of a file that no client writes: the lock file is its own memory.
fn open_private(
    ground: Ground,
    board: Arc<Board>,
    gate: &Gate,
    options: &Options,
) -> Result<Opened> {
    let metas = recovery::known_metas(&*ground.storage)?;
    let newest = recovery::newest(&metas)?.clone();
    let clients = Arc::new(Clients::new(board));
    clients.join(gate)?;
    let store = make_store(ground.storage, clients.clone(), None, &newest, options)?;
    let none: Option<&Left> = None;
    let chosen = recovery::choose(&store, &metas, none, false, options.meta_slot)?;
    initialise(&store, gate, &chosen, 0, Sound::Not)?;
    finish(store, clients, chosen.recovery, options)
}

fn make_store(
    storage: Box<dyn Storage>,
    clients: Arc<Clients>,
    guest: Option<Guest>,
    meta: &Meta,
    options: &Options,
) -> Result<Store> {
    let page_bytes = meta.page_bytes as usize;
    if options.page_bytes.is_some_and(|wanted| wanted != page_bytes) {
        return Err(Error::PageSize { found: meta.page_bytes });
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

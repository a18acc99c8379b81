//! An environment as C holds it: what is set before it is opened, and the open one.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use huon::{CopyOptions, Durability, ForkGuard, ForkLock, hold_off};
use huon_c::flags::put::PLAIN;
use huon_c::{Fault, Res, Rules, read_ahead, reserve_bytes};
use libc::c_void;

use crate::flags::{self, env::*};

/// The map size of a new environment, where none is set.
const MAP_BYTES_DEFAULT: u64 = 1 << 20;
/// The file may have so much more than the map size that was set, or twice as much if that is less:
/// what fits into LMDB's map must fit, although Huon keeps more pages free than LMDB does.
const MARGIN_BYTES: u64 = 256 << 10;
/// A program that sets less than this wants to see the map full.
const MARGIN_FROM_BYTES: u64 = 64 << 10;
/// More than any process has addresses for.
const MAP_BYTES_MAX: u64 = 1 << 48;
const READERS_MAX_DEFAULT: u32 = 126;
/// The longest key, and the longest value among many.
pub(crate) const KEY_BYTES_MAX: usize = 511;
/// Writers wait as long as it takes.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86400);
/// The id of the snapshot that a new file begins with; LMDB counts from 0.
const FIRST_ID: u64 = 1;

/// LMDB's number for a snapshot of Huon's.
pub(crate) fn id_of(id: u64) -> u64 {
    id.saturating_sub(FIRST_ID)
}

pub(crate) struct Env {
    pub(crate) shared: Arc<huon_c::Env>,
    setup: ForkLock<Setup>,
    /// Changes with the map size; the next write transaction that writes takes it over.
    map_bytes: AtomicU64,
    pub(crate) context: AtomicPtr<c_void>,
}

struct Setup {
    flags: u32,
    map_is_set: bool,
    opened: Option<Opened>,
}

/// What a program may ask for of an open environment.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) path: Arc<CString>,
    /// What the program sees as the descriptor of the data file.
    pub(crate) data: Arc<File>,
}

/// What LMDB's programs know of an environment.
pub(crate) struct Info {
    pub(crate) map_bytes: u64,
    pub(crate) last_page: u64,
    pub(crate) last_txn: u64,
    pub(crate) readers_max: u32,
    pub(crate) readers: u32,
}

impl Env {
    pub(crate) fn new() -> Env {
        Env {
            shared: Arc::new(huon_c::Env::new(READERS_MAX_DEFAULT)),
            setup: ForkLock::new(Setup { flags: 0, map_is_set: false, opened: None }),
            map_bytes: AtomicU64::new(MAP_BYTES_DEFAULT),
            context: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    fn setup(&self) -> ForkGuard<'_, Setup> {
        self.setup.lock()
    }

    pub(crate) fn opened(&self) -> Res<Opened> {
        let open = self.setup().opened.clone();
        open.filter(|_| !self.shared.is_closed()).ok_or(Fault::Invalid)
    }

    pub(crate) fn huon(&self) -> Res<huon::Env> {
        self.shared.huon()
    }

    pub(crate) fn flags(&self) -> u32 {
        self.setup().flags
    }

    pub(crate) fn open(&self, path: &CStr, wanted: u32, mode: u32) -> Res<()> {
        let mut setup = self.setup();
        if wanted & !flags::env::ALL != 0 || setup.opened.is_some() {
            return Err(Fault::Invalid);
        }
        let mut all = setup.flags | wanted;
        if all & RDONLY != 0 {
            all &= !WRITEMAP;
        }
        let file = data_file(path, all);
        let opened = self.open_file(&file, all, mode)?;
        let info = opened.info()?;
        let bytes = if setup.map_is_set {
            self.map_bytes.load(Ordering::Acquire).max(info.used_bytes)
        } else {
            map_of(info.max_bytes)
        };
        let data = descriptor(&file, all)?;
        let _held_off = hold_off();
        self.shared.set_opened(opened, rules_of(all))?;
        self.store_map_bytes(bytes);
        setup.flags = all;
        setup.opened = Some(Opened { path: Arc::new(path.to_owned()), data: Arc::new(data) });
        Ok(())
    }

    fn store_map_bytes(&self, bytes: u64) {
        self.map_bytes.store(bytes, Ordering::Release);
        self.shared.set_max_bytes(Some(max_bytes_of(bytes)));
    }

    fn open_file(&self, file: &Path, flags: u32, mode: u32) -> Res<huon::Env> {
        let map_bytes = self.map_bytes.load(Ordering::Acquire);
        let mut options = huon::Env::options();
        options
            .max_bytes(max_bytes_of(map_bytes))
            .map_bytes(reserve_bytes(max_bytes_of(map_bytes)))
            .mode(mode & 0o777)
            .read_only(flags & RDONLY != 0)
            .durability(durability_of(flags))
            .read_ahead(read_ahead(flags & NORDAHEAD != 0))
            .journal(huon_c::journal_bytes()?)
            .lock_timeout(FOR_EVER);
        if flags & PREVSNAPSHOT == 0 {
            return Ok(options.open(file)?);
        }
        let Some(slot) = previous(file)? else { return Ok(options.open(file)?) };
        // Not while others go on from what was committed last, in this process or another one.
        let opened = options.meta_slot(slot).open(file).map_err(|error| match error {
            huon::Error::Busy(_) => Fault::System(libc::EAGAIN),
            error => error.into(),
        })?;
        if opened.recovery() != huon::Recovery::ByHand {
            return Err(Fault::System(libc::EAGAIN));
        }
        // Its pages may have been used again.
        opened.read()?.table_names()?;
        Ok(opened)
    }

    pub(crate) fn set_flags(&self, changed: u32, on: bool) -> Res<()> {
        if changed & !CHANGEABLE != 0 {
            return Err(Fault::Invalid);
        }
        let mut setup = self.setup();
        setup.flags = if on { setup.flags | changed } else { setup.flags & !changed };
        if setup.opened.is_some() {
            let huon = self.huon()?;
            let mut settings = huon.settings();
            settings.durability = durability_of(setup.flags);
            huon.set_settings(settings);
        }
        Ok(())
    }

    pub(crate) fn set_map_bytes(&self, bytes: u64) -> Res<()> {
        let mut setup = self.setup();
        if setup.opened.is_none() {
            let wanted = if bytes == 0 { MAP_BYTES_DEFAULT } else { bytes };
            self.map_bytes.store(wanted, Ordering::Release);
            setup.map_is_set = bytes != 0;
            return Ok(());
        }
        if self.shared.writer() != 0 {
            return Err(Fault::Invalid);
        }
        let info = self.huon()?.info()?;
        let bytes = match bytes {
            0 => map_of(info.max_bytes),
            _ => bytes.max(info.used_bytes),
        };
        if max_bytes_of(bytes) > info.map_bytes {
            return Err(Fault::NoMemory);
        }
        self.store_map_bytes(bytes);
        setup.map_is_set = true;
        Ok(())
    }

    pub(crate) fn info(&self) -> Res<Info> {
        let info = self.huon()?.info()?;
        Ok(Info {
            map_bytes: self.map_bytes.load(Ordering::Acquire),
            last_page: (info.used_bytes / u64::from(info.page_bytes)).saturating_sub(1),
            last_txn: id_of(info.visible),
            readers_max: self.shared.readers_max(),
            readers: self.shared.readers_high(info.readers.len() as u32),
        })
    }

    pub(crate) fn sync(&self, force: bool) -> Res<()> {
        let flags = self.flags();
        if flags & RDONLY != 0 {
            return Err(Fault::ReadOnly);
        }
        let huon = self.huon()?;
        if force || flags & NOSYNC == 0 {
            huon.sync()?;
        }
        Ok(())
    }

    pub(crate) fn copy(&self, path: &CStr, flags: u32) -> Res<()> {
        let target = data_file(path, self.flags());
        let options = CopyOptions::new().compact(flags & flags::COPY_COMPACT != 0).mode(0o666);
        self.huon()?.copy_to(target, options)?;
        Ok(())
    }

    pub(crate) fn copy_to(&self, out: impl std::os::fd::AsFd, flags: u32) -> Res<()> {
        let options = CopyOptions::new().compact(flags & flags::COPY_COMPACT != 0);
        self.huon()?.copy_to_fd(out, options)?;
        Ok(())
    }

    /// A line for each reader of all processes, below a line that names the columns.
    pub(crate) fn reader_lines(&self) -> Res<Vec<CString>> {
        if self.flags() & NOLOCK != 0 || !self.shared.is_open() {
            return Ok(vec![c"(no reader locks)\n".into()]);
        }
        let readers = self.huon()?.info()?.readers;
        let resting = self.shared.resting_count() as usize;
        if readers.is_empty() && resting == 0 {
            return Ok(vec![c"(no active readers)\n".into()]);
        }
        let line = |text: String| CString::new(text).unwrap_or_default();
        let mut lines = vec![line("    pid     thread     txnid\n".into())];
        lines.extend(readers.iter().map(|reader| {
            line(format!("{:10} {:x} {}\n", reader.pid, reader.thread, id_of(reader.txnid)))
        }));
        let own = format!("{:10} {:x} -\n", std::process::id(), 0);
        lines.extend(std::iter::repeat_n(line(own), resting));
        Ok(lines)
    }

    pub(crate) fn check_readers(&self) -> Res<u32> {
        Ok(self.huon()?.clear_dead_readers()?)
    }
}

/// What LMDB allows.
fn rules_of(flags: u32) -> Rules {
    Rules {
        read_only: flags & RDONLY != 0,
        one_reader: flags & NOTLS == 0,
        binds_readers: false,
        binds_writers: false,
        nests: flags & WRITEMAP == 0,
        keeps_cursors: false,
        keys: 1..=KEY_BYTES_MAX,
        values: 0..=u32::MAX as usize,
        set_values: 1..=KEY_BYTES_MAX,
        checks_wanted: false,
        puts: PLAIN,
        appends_to_last: false,
        compares_only: false,
        names_current: false,
        shows_free: false,
        strict_tables: false,
    }
}

/// Where the data lies.
fn data_file(path: &CStr, flags: u32) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
    if flags & NOSUBDIR != 0 { path.to_owned() } else { path.join("data.mdb") }
}

/// The slot of the snapshot before the newest, if a file has one.
fn previous(data: &Path) -> Res<Option<u8>> {
    if !data.exists() {
        return Ok(None);
    }
    let metas = huon::Env::metas_of(data)?;
    let mut known: Vec<(u64, u8)> =
        metas.iter().filter_map(|meta| Some((meta.snapshot()?.txnid, meta.slot))).collect();
    known.sort_unstable();
    Ok(known.iter().rev().nth(1).map(|(_, slot)| *slot))
}

/// Opens the descriptor of the data file that the program gets, writable unless the program only
/// reads: some programs allocate blocks for the whole map with it.
///
/// A program with `MDB_NOLOCK` may lock the whole file before it writes, as Postfix does, and would
/// wait for Huon's own lock on the data file for ever. It gets a file of its own, which has no name
/// any more. A program that only reads takes a shared lock, which blocks no other.
fn descriptor(data: &Path, flags: u32) -> std::io::Result<File> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut options = File::options();
    options.read(true).write(flags & RDONLY == 0);
    if flags & (NOLOCK | RDONLY) == NOLOCK {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut name = data.as_os_str().to_owned();
        name.push(format!("-{}-{count}", std::process::id()));
        if let Ok(own) = huon::open_kept(options.clone().create_new(true), Path::new(&name)) {
            std::fs::remove_file(&name)?;
            return Ok(own);
        }
    }
    huon::open_kept(&options, data)
}

fn durability_of(flags: u32) -> Durability {
    let lazy = flags & NOSYNC != 0 || flags & WRITEMAP != 0 && flags & MAPASYNC != 0;
    match (lazy, flags & NOMETASYNC != 0) {
        (true, _) => Durability::Lazy,
        (false, true) => Durability::NoMetaSync,
        (false, false) => Durability::Durable,
    }
}

/// How long the file may become with a map size.
fn max_bytes_of(map_bytes: u64) -> u64 {
    let bytes = map_bytes.min(MAP_BYTES_MAX).next_multiple_of(4096);
    if bytes < MARGIN_FROM_BYTES { bytes } else { bytes + bytes.min(MARGIN_BYTES) }
}

/// The map size of a file that may become so long.
fn map_of(max_bytes: u64) -> u64 {
    if max_bytes < MARGIN_FROM_BYTES {
        return max_bytes;
    }
    max_bytes - (max_bytes / 2).min(MARGIN_BYTES)
}

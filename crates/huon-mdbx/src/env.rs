//! An environment as C holds it: what is set before it is opened, and the open one.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;
use std::time::Duration;

use huon::{Durability, Error, ForkGuard, ForkLock, hold_off};
use huon_c::flags::put::{ALLDUPS, CURRENT, PLAIN};
use huon_c::{Fault, Res, Rules, me, read_ahead, reserve_bytes};
use libc::c_void;

use crate::abi::MDBX_assert_func;
use crate::files::Place;
use crate::flags::env::*;
use crate::geometry::{self, Wanted};
use crate::options::Options;
use crate::slow::{self, Asked};

/// Writers wait as long as it takes.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86400);

/// The flags that say how commits wait.
const SYNC: u32 = UTTERLY_NOSYNC | NOMETASYNC;
/// Those that can be changed while the environment is open.
const CHANGEABLE: u32 = SYNC | NOMEMINIT | COALESCE | PAGEPERTURB | ACCEDE;
const ALL: u32 =
    CHANGEABLE | NOSUBDIR | RDONLY | EXCLUSIVE | WRITEMAP | NOTLS | NORDAHEAD | LIFORECLAIM;

/// The call comes too early, or too late.
pub(crate) const NOT_NOW: Fault = Fault::System(libc::EPERM);

pub(crate) struct Env {
    pub(crate) shared: Arc<huon_c::Env>,
    setup: ForkLock<Setup>,
    pub(crate) context: AtomicPtr<c_void>,
    /// Called for a failed assertion.
    pub(crate) assert: ForkLock<MDBX_assert_func>,
}

/// What was set, and what is open.
pub(crate) struct Setup {
    pub(crate) flags: u32,
    pub(crate) options: Options,
    pub(crate) geometry: Option<Wanted>,
    pub(crate) asked: Option<Arc<Asked>>,
    opened: Option<Opened>,
}

/// What a program may ask for of an open environment.
#[derive(Clone)]
pub(crate) struct Opened {
    /// As it was given.
    pub(crate) path: Arc<CString>,
    pub(crate) data: Arc<File>,
    /// Where the data lies.
    pub(crate) file: Arc<PathBuf>,
    pub(crate) page_bytes: u32,
}

impl Env {
    pub(crate) fn new() -> Env {
        let options = Options::default();
        let shared = huon_c::Env::new(options.readers_max());
        let setup = Setup { flags: 0, options, geometry: None, asked: None, opened: None };
        Env {
            shared: Arc::new(shared),
            setup: ForkLock::new(setup),
            context: AtomicPtr::new(std::ptr::null_mut()),
            assert: ForkLock::default(),
        }
    }

    pub(crate) fn setup(&self) -> ForkGuard<'_, Setup> {
        self.setup.lock()
    }

    pub(crate) fn opened(&self) -> Res<Opened> {
        self.setup().opened()
    }

    /// Refuses what is for an open environment.
    pub(crate) fn check_opened(&self) -> Res<()> {
        if self.shared.is_open() { Ok(()) } else { Err(NOT_NOW) }
    }

    /// The engine's environment.
    pub(crate) fn huon(&self) -> Res<huon::Env> {
        self.check_opened()?;
        self.shared.huon()
    }

    pub(crate) fn flags(&self) -> u32 {
        self.setup().flags
    }

    pub(crate) fn open(&self, path: &CStr, wanted: u32, mode: u32) -> Res<()> {
        self.open_as(path, wanted, mode, None)
    }

    /// Opens it, from one of the metas if that is said.
    pub(crate) fn open_as(&self, path: &CStr, wanted: u32, mode: u32, meta: Option<u8>) -> Res<()> {
        let mut setup = self.setup();
        if wanted & !ALL != 0 {
            return Err(Fault::Invalid);
        }
        if setup.opened.is_some() {
            return Err(NOT_NOW);
        }
        let mut flags = merged(setup.flags, wanted);
        if flags & RDONLY != 0 {
            flags &= !WRITEMAP;
        }
        let creates = mode != 0 && flags & RDONLY == 0 && meta.is_none();
        let place = Place::find(path, flags & NOSUBDIR != 0);
        if creates {
            place.make_directory(mode)?;
        }
        if place.is_file {
            flags |= NOSUBDIR;
        }
        let is_new = !place.file.exists();
        let create = creates.then_some(mode & 0o777);
        let huon = open_engine(&place.file, flags, setup.geometry.as_ref(), create, meta)?;
        let info = huon.info()?;
        if meta.is_some() {
            // Pages of an old snapshot may have been used again.
            huon.read()?.table_names()?;
        }
        if let Some(wanted) = setup.geometry.filter(|_| flags & RDONLY == 0 && meta.is_none()) {
            geometry::apply_at_open(&huon, &info, &wanted, is_new)?;
        }
        // Opened for writing unless `MDBX_RDONLY` is set: a program without write permission gets
        // the error.
        let mut access = File::options();
        access.read(true).write(flags & RDONLY == 0);
        let data = huon::open_kept(&access, &place.file)?;
        let agreed = agreed(flags, huon.durability())?;
        let held_off = hold_off();
        setup.flags = agreed;
        setup.options.take_over(&huon.settings());
        self.shared.set_opened(huon, rules_of(flags, info.page_bytes)?)?;
        setup.opened = Some(Opened {
            path: Arc::new(path.to_owned()),
            data: Arc::new(data),
            file: Arc::new(place.file),
            page_bytes: info.page_bytes,
        });
        drop((setup, held_off));
        self.settings_changed()
    }

    /// Refuses to close what another thread writes to.
    pub(crate) fn check_closable(&self) -> Res<()> {
        match self.shared.writer() {
            0 => Ok(()),
            writer if writer == me() => Ok(()),
            _ => Err(Fault::Busy),
        }
    }

    pub(crate) fn close(&self, dont_sync: bool) -> Res<()> {
        let huon = self.shared.close();
        let Some(huon) = huon else { return Ok(()) };
        if dont_sync {
            huon.close_without_flush();
            return Ok(());
        }
        if huon.durability() == Durability::Unsynced && self.flags() & RDONLY == 0 {
            // The engine flushes an unsynced environment only on request.
            huon.sync()?;
        }
        huon.close()?;
        Ok(())
    }

    pub(crate) fn set_flags(&self, changed: u32, on: bool) -> Res<()> {
        let mut setup = self.setup();
        if changed & !ALL != 0 {
            return Err(NOT_NOW);
        }
        if setup.opened.is_some() {
            if setup.flags & RDONLY != 0 {
                return Err(Fault::ReadOnly);
            }
            if changed & !CHANGEABLE != 0 {
                return Err(NOT_NOW);
            }
        }
        setup.flags = if on { merged(setup.flags, changed) } else { setup.flags & !changed };
        drop(setup);
        self.settings_changed()
    }

    /// Passes the settings to the engine, if the environment is open.
    pub(crate) fn settings_changed(&self) -> Res<()> {
        let setup = self.setup();
        let Some(opened) = &setup.opened else { return Ok(()) };
        let huon = self.huon()?;
        let mut settings = huon.settings();
        settings.durability = durability_of(setup.flags);
        settings.slow_readers_before_growing = setup.asked.is_some();
        setup.options.carry_out(&mut settings, opened.page_bytes);
        huon.set_settings(settings);
        slow::install(&huon, setup.asked.as_ref());
        Ok(())
    }
}

impl Setup {
    pub(crate) fn opened(&self) -> Res<Opened> {
        self.opened.clone().ok_or(NOT_NOW)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// The page size of the open environment.
    pub(crate) fn page_bytes(&self) -> Option<u32> {
        self.opened.as_ref().map(|opened| opened.page_bytes)
    }
}

/// Opens a file with the engine, or makes it with this mode, or opens the snapshot of one of its
/// metas.
pub(crate) fn open_engine(
    file: &Path,
    flags: u32,
    geometry: Option<&Wanted>,
    mode: Option<u32>,
    meta: Option<u8>,
) -> Res<huon::Env> {
    let mut engine = huon::Env::options();
    engine
        .map_bytes(reserve_bytes(0))
        .read_only(flags & RDONLY != 0)
        .exclusive(flags & EXCLUSIVE != 0)
        // To see what others use.
        .inherit_durability(true)
        .durability(durability_of(flags))
        .read_ahead(read_ahead(flags & NORDAHEAD != 0))
        .lock_timeout(FOR_EVER)
        .journal(huon_c::journal_bytes()?)
        .create(mode.is_some());
    mode.map(|mode| engine.mode(mode));
    meta.map(|slot| engine.meta_slot(slot));
    if let Some(geometry) = geometry.filter(|_| flags & RDONLY == 0) {
        geometry.of_a_new_file(&mut engine)?;
    }
    match engine.open(file) {
        // A file that is there keeps its pages.
        Err(Error::PageSize { .. }) => open_engine(file, flags, None, mode, meta),
        opened => Ok(opened?),
    }
}

/// Flags with others. Half of `UTTERLY_NOSYNC` is `SAFE_NOSYNC`, and never the whole.
fn merged(flags: u32, more: u32) -> u32 {
    let all = flags | more;
    let utterly = |flags: u32| flags & UTTERLY_NOSYNC == UTTERLY_NOSYNC;
    if utterly(flags) || utterly(more) { all } else { all & !(UTTERLY_NOSYNC & !SAFE_NOSYNC) }
}

/// The flags beside others, whose commits wait as that says.
fn agreed(flags: u32, found: Durability) -> Res<u32> {
    let others = flags_of(found);
    match flags & (ACCEDE | RDONLY) {
        ACCEDE => Ok(flags & !SYNC | others),
        0 if (flags ^ others) & UTTERLY_NOSYNC != 0 => Err(Fault::Incompatible),
        _ => Ok(flags),
    }
}

/// What commits wait for.
pub(crate) fn durability_of(flags: u32) -> Durability {
    match (flags & UTTERLY_NOSYNC, flags & NOMETASYNC) {
        (UTTERLY_NOSYNC, _) => Durability::Unsynced,
        (SAFE_NOSYNC, _) => Durability::Lazy,
        (_, NOMETASYNC) => Durability::NoMetaSync,
        _ => Durability::Durable,
    }
}

/// The flags for it.
fn flags_of(durability: Durability) -> u32 {
    match durability {
        Durability::Unsynced => UTTERLY_NOSYNC,
        Durability::Lazy => SAFE_NOSYNC,
        Durability::NoMetaSync => NOMETASYNC,
        _ => 0,
    }
}

/// What libmdbx allows.
fn rules_of(flags: u32, page_bytes: u32) -> Res<Rules> {
    let key_bytes_max = huon::limits::key_bytes_max(page_bytes as usize)?;
    Ok(Rules {
        read_only: flags & RDONLY != 0,
        one_reader: flags & NOTLS == 0,
        binds_readers: flags & NOTLS == 0,
        binds_writers: flags & NOTLS == 0,
        nests: flags & WRITEMAP == 0,
        keeps_cursors: true,
        keys: 0..=key_bytes_max,
        values: 0..=huon::limits::VALUE_BYTES_MAX,
        set_values: 0..=key_bytes_max,
        checks_wanted: true,
        puts: PLAIN | CURRENT | ALLDUPS,
        appends_to_last: true,
        compares_only: true,
        names_current: true,
        shows_free: true,
        strict_tables: true,
    })
}

//! Options of an environment.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::time::Duration;

use huon::{Durability, Options, ReadAhead, Settings, Verify};
use huon_c::Handles;

use super::codes::*;
use crate::border::{Fault, Own, Res, border, close, enter, object};
use crate::callback::{Context, huon_slow_reader_fn, slow_reader};

/// Options to open an environment with. One thread at a time uses them.
pub struct huon_options(());

/// Page size of a new file, in bytes: 256 to 65536, a power of two. 4096 unless said otherwise.
pub const HUON_PAGE_BYTES: c_int = 1;
/// The most bytes that a new file may have; 1 TiB unless said otherwise.
pub const HUON_MAX_BYTES: c_int = 2;
/// Address space to reserve, in bytes, if that is more than HUON_MAX_BYTES.
pub const HUON_MAP_BYTES: c_int = 3;
/// Bytes below which a new file never shrinks.
pub const HUON_MIN_BYTES: c_int = 4;
/// Bytes that a new file grows by; 0, the default, lets that follow its size.
pub const HUON_GROW_BYTES: c_int = 5;
/// A free end of so many bytes is cut off a new file; 8 MiB unless said otherwise, 0: never.
pub const HUON_SHRINK_BYTES: c_int = 6;
/// Bytes of changed pages that a write transaction keeps in memory; 256 MiB unless said otherwise.
/// Also while it is open.
pub const HUON_WRITE_BUFFER_BYTES: c_int = 7;
/// Permission bits of files that are created; 0600 unless said otherwise.
pub const HUON_FILE_MODE: c_int = 8;
/// 1, the default: a missing file is created; 0: that is an error.
pub const HUON_CREATE: c_int = 9;
/// 1: only reads.
pub const HUON_OPEN_READ_ONLY: c_int = 10;
/// 1: shares the file with no other opening.
pub const HUON_EXCLUSIVE: c_int = 11;
/// What commits wait for: HUON_DURABLE (the default), HUON_NO_META_SYNC, HUON_LAZY or
/// HUON_UNSYNCED. Also while it is open.
pub const HUON_DURABILITY: c_int = 12;
/// A lazy commit makes a checkpoint once so many bytes were written. Also while it is open.
pub const HUON_FLUSH_AFTER_BYTES: c_int = 13;
/// A lazy commit makes a checkpoint once something was unflushed for so many milliseconds. Also
/// while it is open.
pub const HUON_FLUSH_AFTER_MS: c_int = 14;
/// Checksums are verified: 0, the default, when a page is read first; 1: and large values each
/// time; 2: never in reading. Also while it is open.
pub const HUON_VERIFY: c_int = 15;
/// The kernel reads ahead: 0, the default, while the file fits in memory; 1: always; 2: never.
pub const HUON_READ_AHEAD: c_int = 16;
/// Milliseconds that huon_begin_write waits; 30000 unless said otherwise. Also while it is open.
pub const HUON_LOCK_TIMEOUT_MS: c_int = 17;
/// Opens from the meta in slot 0, 1 or 2, whatever the others say: the last resort.
pub const HUON_META_SLOT: c_int = 18;
/// 1: takes durability and flushes over from the processes that have the file open.
pub const HUON_INHERIT_DURABILITY: c_int = 19;
/// 1: slow readers are asked about before the file grows. While it is open only.
pub const HUON_SLOW_READERS_BEFORE_GROWING: c_int = 20;
/// Bytes of a journal, 65536 to 64 GiB (16 MiB is usual), by which durable commits wait for one
/// flush; 0, the default: none. The file is not whole without it until it is closed.
pub const HUON_JOURNAL_BYTES: c_int = 32;
/// 1: opens a file whose journal is lost, and gives up the commits that were in it alone.
pub const HUON_GIVE_UP_JOURNAL: c_int = 33;

static OPTIONS: Handles<Own<Options>> = Handles::new(1);

/// Options, as they are by default. Give them back by huon_options_free; an environment that was
/// opened with them does not need them any more.
#[unsafe(no_mangle)]
pub extern "C" fn huon_options_new(options: Option<&mut MaybeUninit<*mut huon_options>>) -> c_int {
    border("huon_options_new", || enter(&OPTIONS, options, || Ok(Own::new(huon::Env::options()))))
}

/// Sets an option, by its number. HUON_BAD_ARGUMENT for one that is only for huon_set, or for a
/// value that it cannot have.
#[unsafe(no_mangle)]
pub extern "C" fn huon_options_set(options: *mut huon_options, option: c_int, value: u64) -> c_int {
    border("huon_options_set", || {
        let own = object(&OPTIONS, options)?;
        let mut options = own.get()?;
        set(&mut options, option, value)
    })
}

/// Has `call` asked about slow readers; NULL: it is not asked. `context` is handed to it, and must
/// be good in every thread that writes, for as long as the environment is open.
#[unsafe(no_mangle)]
pub extern "C" fn huon_options_on_slow_reader(
    options: *mut huon_options,
    call: huon_slow_reader_fn,
    context: *mut c_void,
) -> c_int {
    border("huon_options_on_slow_reader", || {
        let own = object(&OPTIONS, options)?;
        if let Some(call) = call {
            own.get()?.on_slow_reader(slow_reader(call, Context::of(context)));
        }
        Ok(())
    })
}

/// Gives options back; NULL is none, and fine.
#[unsafe(no_mangle)]
pub extern "C" fn huon_options_free(options: *mut huon_options) -> c_int {
    border("huon_options_free", || {
        Own::end(close(&OPTIONS, options)?);
        Ok(())
    })
}

/// The options of a handle; those by default for a null one.
pub(super) fn options_of<R>(
    options: *mut huon_options,
    work: impl FnOnce(&Options) -> Res<R>,
) -> Res<R> {
    if options.is_null() {
        return work(&huon::Env::options());
    }
    work(&*object(&OPTIONS, options)?.get()?)
}

const NO_OPTION: Fault = Fault::argument("there is no such option, or not at this point");
const NO_VALUE: Fault = Fault::argument("the option cannot have that value");

fn set(options: &mut Options, option: c_int, value: u64) -> Res<()> {
    let size = usize::try_from(value).map_err(|_| NO_VALUE);
    let millis = Duration::from_millis(value);
    match option {
        HUON_PAGE_BYTES => options.page_bytes(size?),
        HUON_MAX_BYTES => options.max_bytes(value),
        HUON_MAP_BYTES => options.map_bytes(value),
        HUON_MIN_BYTES => options.min_bytes(value),
        HUON_GROW_BYTES => options.grow_bytes(value),
        HUON_SHRINK_BYTES => options.shrink_bytes(value),
        HUON_WRITE_BUFFER_BYTES => options.write_buffer_bytes(size?),
        HUON_FILE_MODE => options.mode(u32::try_from(value).map_err(|_| NO_VALUE)?),
        HUON_CREATE => options.create(flag(value)?),
        HUON_OPEN_READ_ONLY => options.read_only(flag(value)?),
        HUON_EXCLUSIVE => options.exclusive(flag(value)?),
        HUON_DURABILITY => options.durability(durability(value)?),
        HUON_FLUSH_AFTER_BYTES => options.flush_after_bytes(value),
        HUON_FLUSH_AFTER_MS => options.flush_after(millis),
        HUON_VERIFY => options.verify(verify(value)?),
        HUON_READ_AHEAD => options.read_ahead(read_ahead(value)?),
        HUON_LOCK_TIMEOUT_MS => options.lock_timeout(millis),
        HUON_META_SLOT => options.meta_slot(u8::try_from(value).map_err(|_| NO_VALUE)?),
        HUON_INHERIT_DURABILITY => options.inherit_durability(flag(value)?),
        HUON_JOURNAL_BYTES => options.journal(value),
        HUON_GIVE_UP_JOURNAL => options.give_up_journal(flag(value)?),
        _ => return Err(NO_OPTION),
    };
    Ok(())
}

/// Sets an option of an environment that is open.
pub(super) fn change(settings: &mut Settings, option: c_int, value: u64) -> Res<()> {
    match option {
        HUON_WRITE_BUFFER_BYTES => {
            settings.write_buffer_bytes = usize::try_from(value).map_err(|_| NO_VALUE)?;
        }
        HUON_DURABILITY => settings.durability = durability(value)?,
        HUON_FLUSH_AFTER_BYTES => settings.flush_after_bytes = value,
        HUON_FLUSH_AFTER_MS => settings.flush_after = Duration::from_millis(value),
        HUON_VERIFY => settings.verify = verify(value)?,
        HUON_LOCK_TIMEOUT_MS => settings.lock_timeout = Duration::from_millis(value),
        HUON_SLOW_READERS_BEFORE_GROWING => settings.slow_readers_before_growing = flag(value)?,
        _ => return Err(NO_OPTION),
    }
    Ok(())
}

/// An option of an environment that is open.
pub(super) fn setting(settings: &Settings, option: c_int) -> Res<u64> {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Ok(match option {
        HUON_WRITE_BUFFER_BYTES => settings.write_buffer_bytes as u64,
        HUON_DURABILITY => durability_number(settings.durability)?,
        HUON_FLUSH_AFTER_BYTES => settings.flush_after_bytes,
        HUON_FLUSH_AFTER_MS => millis(settings.flush_after),
        HUON_VERIFY => match settings.verify {
            Verify::Pages => 0,
            Verify::PagesAndValues => 1,
            Verify::Never => 2,
        },
        HUON_LOCK_TIMEOUT_MS => millis(settings.lock_timeout),
        HUON_SLOW_READERS_BEFORE_GROWING => u64::from(settings.slow_readers_before_growing),
        _ => return Err(NO_OPTION),
    })
}

fn flag(value: u64) -> Res<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(NO_VALUE),
    }
}

/// The durability of a number.
pub(super) fn durability(value: u64) -> Res<Durability> {
    Ok(match c_int::try_from(value).map_err(|_| NO_VALUE)? {
        HUON_DURABLE => Durability::Durable,
        HUON_NO_META_SYNC => Durability::NoMetaSync,
        HUON_LAZY => Durability::Lazy,
        HUON_UNSYNCED => Durability::Unsynced,
        _ => return Err(NO_VALUE),
    })
}

fn durability_number(durability: Durability) -> Res<u64> {
    (0..4).find(|&value| self::durability(value).is_ok_and(|it| it == durability)).ok_or(NO_VALUE)
}

fn verify(value: u64) -> Res<Verify> {
    Ok(match value {
        0 => Verify::Pages,
        1 => Verify::PagesAndValues,
        2 => Verify::Never,
        _ => return Err(NO_VALUE),
    })
}

fn read_ahead(value: u64) -> Res<ReadAhead> {
    Ok(match value {
        0 => ReadAhead::IfItFits,
        1 => ReadAhead::Always,
        2 => ReadAhead::Never,
        _ => return Err(NO_VALUE),
    })
}

//! Environments.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use huon::{Closed, Env, FileKind, Geometry, Recovery};
use huon_c::Handles;

use super::options::{self, huon_options, options_of};
use crate::border::{Fault, Res, border, close, done, enter, give, object, wanted};
use crate::bytes::{Out, path};
use crate::callback::{Context, huon_slow_reader_fn, slow_reader};

/// An open environment: a file with tables. All threads may use it at the same time. In a
/// forked child it goes on.
pub struct huon_env(());

/// Nothing was ever committed to the file.
pub const HUON_RECOVERY_NEW: c_int = 0;
/// It was closed cleanly, or others have it open.
pub const HUON_RECOVERY_CLEAN: c_int = 1;
/// It was not, and the newest commit is there.
pub const HUON_RECOVERY_NEWEST: c_int = 2;
/// It was not; the newest flushed commit is there, and later ones may be missing.
pub const HUON_RECOVERY_FLUSHED: c_int = 3;
/// The newest flushed commit is damaged, and the one before it is there.
pub const HUON_RECOVERY_STEPPED_BACK: c_int = 4;
/// HUON_META_SLOT named what to start from.
pub const HUON_RECOVERY_BY_HAND: c_int = 5;
/// It was not, and commits that were durable in the journal were replayed: all of them.
pub const HUON_RECOVERY_REPLAYED: c_int = 6;
/// It was not, and its journal is lost: the last checkpoint is there, as HUON_GIVE_UP_JOURNAL
/// allows. Commits that were durable are missing.
pub const HUON_RECOVERY_JOURNAL_GIVEN_UP: c_int = 7;

/// The file is an environment, be it a damaged one.
pub const HUON_KIND_ENVIRONMENT: c_int = 1;
/// It is the lock file of one.
pub const HUON_KIND_LOCK_FILE: c_int = 2;
/// It is a file of another store that is known.
pub const HUON_KIND_KNOWN: c_int = 3;
/// It is the journal of one.
pub const HUON_KIND_JOURNAL: c_int = 4;
/// It is something else, or nothing.
pub const HUON_KIND_OTHER: c_int = 0;

/// The version of this header.
pub const HUON_VERSION_MAJOR: u32 = 0;
/// The version of this header.
pub const HUON_VERSION_MINOR: u32 = 1;
/// The version of this header.
pub const HUON_VERSION_PATCH: u32 = 0;
/// The version of this header, as huon_version tells that of the library.
pub const HUON_VERSION: u32 =
    (HUON_VERSION_MAJOR << 16) | (HUON_VERSION_MINOR << 8) | HUON_VERSION_PATCH;

/// The version of the library: major times 65536, minor times 256, and patch.
#[unsafe(no_mangle)]
pub extern "C" fn huon_version() -> u32 {
    HUON_VERSION
}

static ENVS: Handles<Env> = Handles::new(2);

pub(super) fn env_of(env: *mut huon_env) -> Res<Arc<Env>> {
    object(&ENVS, env)
}

/// So many milliseconds; without end below 0.
pub(super) fn duration(ms: i64) -> Duration {
    u64::try_from(ms).map_or(Duration::MAX, Duration::from_millis)
}

/// Opens the environment at `path`, and creates it if it is missing; its lock file lies beside it,
/// with `-lock` appended, and its journal, if it has one, with `-journal`. NULL for `path`: one in
/// memory, of this process. NULL for `options`: those by default. Close it by huon_close. Errors:
/// HUON_NOT_A_DATABASE, HUON_VERSION_UNKNOWN, HUON_CORRUPT, HUON_JOURNAL, HUON_BUSY if it cannot be
/// shared, HUON_IO. No process may change or shorten the file except through Huon: what follows
/// then is undefined, or SIGBUS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_open(
    path: *const c_char,
    options: *mut huon_options,
    env: Option<&mut MaybeUninit<*mut huon_env>>,
) -> c_int {
    border("huon_open", || {
        enter(&ENVS, env, || {
            options_of(options, |options| {
                if path.is_null() {
                    return Ok(options.open_in_memory()?);
                }
                // SAFETY: A2.
                Ok(options.open(unsafe { self::path(path) }?)?)
            })
        })
    })
}

/// Flushes all commits, and closes the environment; NULL is none, and fine. Transactions that are
/// open stay good, with the bytes that they have shown, and are ended as ever: with the last of
/// them the file is closed, and the answer is HUON_STILL_SHARED. The handle is none any more,
/// whatever the answer. Errors: those of the flush.
#[unsafe(no_mangle)]
pub extern "C" fn huon_close(env: *mut huon_env) -> c_int {
    border("huon_close", || {
        let Some(closing) = close(&ENVS, env)? else { return Ok(()) };
        let closed = match Arc::try_unwrap(closing) {
            Ok(env) => env.close()?,
            Err(shared) => Env::clone(&shared).close()?,
        };
        done(closed == Closed::Fully, Fault::Answer(super::codes::HUON_STILL_SHARED))
    })
}

/// The same without a flush, as if the process were killed: for one that must end at once. The next
/// opening finds the newest commits as long as the kernel runs.
#[unsafe(no_mangle)]
pub extern "C" fn huon_close_without_flush(env: *mut huon_env) -> c_int {
    border("huon_close_without_flush", || {
        if let Some(closing) = close(&ENVS, env)? {
            Env::clone(&closing).close_without_flush();
        }
        Ok(())
    })
}

/// Deletes the files of the environment at `path`, which must be open nowhere: HUON_BUSY if it is.
/// HUON_NOT_FOUND if there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_delete(path: *const c_char) -> c_int {
    // SAFETY: A2.
    border("huon_delete", || done(Env::delete(unsafe { self::path(path) }?)?, Fault::NOT_FOUND))
}

/// What `path` is: one of HUON_KIND_*. Reads its first bytes, and changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_kind_of(
    path: *const c_char,
    kind: Option<&mut MaybeUninit<c_int>>,
) -> c_int {
    border("huon_kind_of", || {
        let kind = wanted(kind)?;
        // SAFETY: A2.
        kind.write(match Env::kind_of(unsafe { self::path(path) }?)? {
            FileKind::Environment => HUON_KIND_ENVIRONMENT,
            FileKind::LockFile => HUON_KIND_LOCK_FILE,
            FileKind::Known(_) => HUON_KIND_KNOWN,
            FileKind::Journal => HUON_KIND_JOURNAL,
            _ => HUON_KIND_OTHER,
        });
        Ok(())
    })
}

/// How the snapshot that this opening started from was found: one of HUON_RECOVERY_*.
#[unsafe(no_mangle)]
pub extern "C" fn huon_recovery(
    env: *mut huon_env,
    recovery: Option<&mut MaybeUninit<c_int>>,
) -> c_int {
    border("huon_recovery", || {
        wanted(recovery)?.write(match env_of(env)?.recovery() {
            Recovery::New => HUON_RECOVERY_NEW,
            Recovery::Clean => HUON_RECOVERY_CLEAN,
            Recovery::Newest => HUON_RECOVERY_NEWEST,
            Recovery::Flushed => HUON_RECOVERY_FLUSHED,
            Recovery::SteppedBack => HUON_RECOVERY_STEPPED_BACK,
            Recovery::Replayed => HUON_RECOVERY_REPLAYED,
            Recovery::JournalGivenUp => HUON_RECOVERY_JOURNAL_GIVEN_UP,
            _ => HUON_RECOVERY_BY_HAND,
        });
        Ok(())
    })
}

/// Changes one of the options that can be changed while an environment is open. It holds at once,
/// for this handle alone; a transaction that runs keeps its limit of memory.
#[unsafe(no_mangle)]
pub extern "C" fn huon_set(env: *mut huon_env, option: c_int, value: u64) -> c_int {
    border("huon_set", || {
        let env = env_of(env)?;
        let mut settings = env.settings();
        options::change(&mut settings, option, value)?;
        env.set_settings(settings);
        Ok(())
    })
}

/// An option in force, of those that huon_set can change.
#[unsafe(no_mangle)]
pub extern "C" fn huon_setting(
    env: *mut huon_env,
    option: c_int,
    value: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_setting", || {
        wanted(value)?.write(options::setting(&env_of(env)?.settings(), option)?);
        Ok(())
    })
}

/// As huon_options_on_slow_reader, while the environment is open; NULL removes the callback.
#[unsafe(no_mangle)]
pub extern "C" fn huon_on_slow_reader(
    env: *mut huon_env,
    call: huon_slow_reader_fn,
    context: *mut c_void,
) -> c_int {
    border("huon_on_slow_reader", || {
        let env = env_of(env)?;
        match call {
            Some(call) => env.set_on_slow_reader(slow_reader(call, Context::of(context))),
            None => env.clear_on_slow_reader(),
        }
        Ok(())
    })
}

/// Waits until there is a commit after the snapshot `after`, of any thread or process, and tells
/// the id of the newest one. HUON_TIMED_OUT if there was none within so many milliseconds; below 0:
/// without end. Hold no read transaction meanwhile: it would keep its snapshot.
#[unsafe(no_mangle)]
pub extern "C" fn huon_wait_for_commit(
    env: *mut huon_env,
    after: u64,
    timeout_ms: i64,
    newest: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_wait_for_commit", || {
        let found = env_of(env)?.wait_for_commit(after, duration(timeout_ms))?;
        give(newest, found.ok_or(Fault::Answer(super::codes::HUON_TIMED_OUT))?);
        Ok(())
    })
}

/// Makes everything that was committed durable, and tells the id of the newest durable snapshot.
/// Costs a flush or two, which all that wait at the same time share.
#[unsafe(no_mangle)]
pub extern "C" fn huon_sync(env: *mut huon_env, id: Option<&mut MaybeUninit<u64>>) -> c_int {
    border("huon_sync", || {
        give(id, env_of(env)?.sync()?);
        Ok(())
    })
}

/// Makes a checkpoint if HUON_FLUSH_AFTER_BYTES or HUON_FLUSH_AFTER_MS ask for one; `flushed` tells
/// whether it did. Costs some loads if not, so it can be called from any loop or timer.
#[unsafe(no_mangle)]
pub extern "C" fn huon_flush_if_due(
    env: *mut huon_env,
    flushed: Option<&mut MaybeUninit<bool>>,
) -> c_int {
    border("huon_flush_if_due", || {
        give(flushed, env_of(env)?.flush_if_due()?);
        Ok(())
    })
}

/// The limits of a file's length, and the steps in which it changes, in bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_geometry {
    /// Below this it never shrinks.
    pub min_bytes: u64,
    /// Above this it never grows.
    pub max_bytes: u64,
    /// It grows by so much; 0: that follows its size.
    pub grow_bytes: u64,
    /// A free end of so many is cut off; 0: never.
    pub shrink_bytes: u64,
}

/// The limits of the file's length.
#[unsafe(no_mangle)]
pub extern "C" fn huon_get_geometry(
    env: *mut huon_env,
    geometry: Option<&mut MaybeUninit<huon_geometry>>,
) -> c_int {
    border("huon_get_geometry", || {
        let Geometry { min_bytes, max_bytes, grow_bytes, shrink_bytes, .. } =
            env_of(env)?.info()?.geometry;
        wanted(geometry)?.write(huon_geometry { min_bytes, max_bytes, grow_bytes, shrink_bytes });
        Ok(())
    })
}

/// Changes them, in a write transaction of its own.
#[unsafe(no_mangle)]
pub extern "C" fn huon_set_geometry(env: *mut huon_env, geometry: Option<&huon_geometry>) -> c_int {
    border("huon_set_geometry", || {
        let (env, wanted) = (env_of(env)?, wanted(geometry)?);
        let mut geometry = env.info()?.geometry;
        geometry.min_bytes = wanted.min_bytes;
        geometry.max_bytes = wanted.max_bytes;
        geometry.grow_bytes = wanted.grow_bytes;
        geometry.shrink_bytes = wanted.shrink_bytes;
        Ok(env.set_geometry(geometry)?)
    })
}

/// Gives an answer through a pointer that must be one.
pub(super) fn answer<T>(to: Out<'_, T>, value: T) -> Res<()> {
    wanted(to)?.write(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_version_of_the_crate() {
        let version = format!("{HUON_VERSION_MAJOR}.{HUON_VERSION_MINOR}.{HUON_VERSION_PATCH}");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
        assert_eq!(huon_version(), 256);
    }
}

//! Looking after a file: copies, checks, compaction, metas.

use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use huon::{CheckOptions, CompactEnd, CompactOptions, CopyOptions, CopyReport, Env, MetaState};

use super::env::{env_of, huon_env};
use super::txn::{huon_txn, shared_reader};
use crate::border::{Fault, Res, border, give, wanted};
use crate::bytes::{Out, options, path, room};
use crate::callback::{
    Context, Writer, huon_problem_fn, huon_progress_fn, huon_write_fn, progress,
};

/// Builds every table of the copy anew, its pages full, without free space.
pub const HUON_COPY_COMPACT: u32 = 1;

/// How a copy is made; NULL: all zero. Set `bytes` to sizeof(huon_copy_options) and the rest to
/// zero first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_copy_options {
    /// sizeof(huon_copy_options).
    pub bytes: usize,
    /// HUON_COPY_COMPACT, or 0.
    pub flags: u32,
    /// Permission bits of the copy; 0: 0600.
    pub mode: u32,
    /// Copies what this read transaction sees; NULL: the newest commit. The transaction can be used
    /// meanwhile, and ended: the snapshot stays until the copy is done. To reset, renew or park it
    /// is HUON_IN_USE until then.
    pub snapshot: *mut huon_txn,
    /// Is told how far it is; or NULL.
    pub progress: huon_progress_fn,
    /// What that is handed.
    pub context: *mut c_void,
}

/// What was copied.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_copy_report {
    /// The snapshot.
    pub txnid: u64,
    /// Bytes of the copy.
    pub bytes: u64,
}

/// Does a copy as its options say.
unsafe fn copy(
    with: *const huon_copy_options,
    told: Out<'_, huon_copy_report>,
    work: impl FnOnce(CopyOptions<'_>) -> huon::Result<CopyReport>,
) -> Res<()> {
    // SAFETY: A2, and all zero are options.
    let Some(with) = unsafe { options(with) }? else {
        tell_copy(told, work(CopyOptions::new())?);
        return Ok(());
    };
    let mut how = CopyOptions::new().compact(with.flags & HUON_COPY_COMPACT != 0);
    if with.mode != 0 {
        how = how.mode(with.mode);
    }
    how = how.progress(progress(with.progress, Context::of(with.context)));
    let copied = if with.snapshot.is_null() {
        work(how)?
    } else {
        let txn = shared_reader(with.snapshot)?;
        work(how.snapshot(&txn))?
    };
    tell_copy(told, copied);
    Ok(())
}

fn tell_copy(told: Out<'_, huon_copy_report>, copied: CopyReport) {
    give(told, huon_copy_report { txnid: copied.txnid, bytes: copied.bytes });
}

/// Copies an environment to a new file, while readers and writers go on. The copy has its name only
/// when it is complete and flushed. `told` may be NULL. HUON_IO if the file exists (EEXIST) or
/// cannot be written; HUON_CORRUPT for a damaged page, which is never copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_copy(
    env: *mut huon_env,
    path: *const c_char,
    with: *const huon_copy_options,
    told: Option<&mut MaybeUninit<huon_copy_report>>,
) -> c_int {
    border("huon_copy", || {
        let env = env_of(env)?;
        // SAFETY: A2.
        unsafe {
            let path = self::path(path)?;
            copy(with, told, |options| env.copy_to(path, options))
        }
    })
}

/// Copies an environment to an open descriptor, as of a pipe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_copy_to_fd(
    env: *mut huon_env,
    fd: c_int,
    with: *const huon_copy_options,
    told: Option<&mut MaybeUninit<huon_copy_report>>,
) -> c_int {
    border("huon_copy_to_fd", || {
        let env = env_of(env)?;
        // SAFETY: any number may be asked about.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            return Err(Fault::argument("the descriptor is not open"));
        }
        // SAFETY: it is open, and the caller keeps it so; A2.
        unsafe {
            let fd = BorrowedFd::borrow_raw(fd);
            copy(with, told, |options| env.copy_to_fd(fd, options))
        }
    })
}

/// Copies an environment to `write`, a piece at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_copy_to_writer(
    env: *mut huon_env,
    write: huon_write_fn,
    context: *mut c_void,
    with: *const huon_copy_options,
    told: Option<&mut MaybeUninit<huon_copy_report>>,
) -> c_int {
    border("huon_copy_to_writer", || {
        let (env, call) = (env_of(env)?, wanted(write)?);
        let mut out = Writer { call, context: Context::of(context) };
        // SAFETY: A2.
        unsafe { copy(with, told, |options| env.copy_to_writer(&mut out, options)) }
    })
}

/// How a check is made; NULL: all zero. Set `bytes` to sizeof(huon_check_options) and the rest to
/// zero first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_check_options {
    /// sizeof(huon_check_options).
    pub bytes: usize,
    /// 1 to 3: the snapshot of the meta in slot 0 to 2; 0: the newest commit.
    pub meta: u32,
    /// Hears each problem; or NULL.
    pub problem: huon_problem_fn,
    /// Is told how far it is; or NULL.
    pub progress: huon_progress_fn,
    /// What both are handed.
    pub context: *mut c_void,
}

/// What a check found.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_check_report {
    /// The snapshot that was checked.
    pub txnid: u64,
    /// Problems; 0: everything is as it must be.
    pub problems: u64,
}

/// Checks every page of every table, and that each page of the file is in use once or free once.
/// Reads every page in use; blocks no writer. Damage is reported, and not an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_check(
    env: *mut huon_env,
    with: *const huon_check_options,
    told: Option<&mut MaybeUninit<huon_check_report>>,
) -> c_int {
    border("huon_check", || {
        let (env, told) = (env_of(env)?, wanted(told)?);
        // SAFETY: A2, and all zero are options.
        let with = unsafe { options(with) }?;
        let mut how = CheckOptions::new();
        if let Some(with) = with {
            how = how.progress(progress(with.progress, Context::of(with.context)));
            if let Some(slot) = with.meta.checked_sub(1) {
                how = how.meta_slot(u8::try_from(slot).unwrap_or(u8::MAX));
            }
        }
        let found = env.check_with(how)?;
        if let Some((Some(call), context)) = with.map(|with| (with.problem, with.context)) {
            found.problems.iter().for_each(|problem| hear(call, context, problem));
        }
        told.write(huon_check_report { txnid: found.txnid, problems: found.problem_count });
        Ok(())
    })
}

/// Tells a problem to a function of the caller's.
pub(super) fn hear(
    call: extern "C" fn(*mut c_void, *const c_char),
    context: *mut c_void,
    problem: &impl ToString,
) {
    let text = problem.to_string().replace('\0', "\\0");
    if let Ok(text) = CString::new(text) {
        call(context, text.as_ptr());
    }
}

/// How a compaction is made; NULL: all zero. Set `bytes` to sizeof(huon_compact_options) and the
/// rest to zero first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_compact_options {
    /// sizeof(huon_compact_options).
    pub bytes: usize,
    /// It ends when the file is at most so many times as long as its live pages; 0: 1.1.
    pub target: f64,
    /// It ends after so many milliseconds; 0: without end.
    pub time_limit_ms: u64,
    /// About how many bytes one of its transactions moves; 0: 768 KiB.
    pub step_bytes: u64,
    /// Is told how far it is; or NULL. Ends it in order, without an error.
    pub progress: huon_progress_fn,
    /// What that is handed.
    pub context: *mut c_void,
}

/// The file is as short as was asked for.
pub const HUON_COMPACTED: c_int = 0;
/// The time is over.
pub const HUON_COMPACT_TIME_OVER: c_int = 1;
/// The callback asked to stop.
pub const HUON_COMPACT_STOPPED: c_int = 2;
/// Older snapshots still see pages at the end.
pub const HUON_COMPACT_RETAINED: c_int = 3;
/// No free place fits the pages that are left.
pub const HUON_COMPACT_NO_ROOM: c_int = 4;

/// What a compaction did.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_compact_report {
    /// Why it ended: one of HUON_COMPACT*.
    pub end: c_int,
    /// Bytes of the file before.
    pub before_bytes: u64,
    /// Bytes of the file after it.
    pub after_bytes: u64,
    /// Bytes that were moved.
    pub moved_bytes: u64,
    /// Transactions that it took.
    pub commits: u64,
}

/// Makes the file shorter where it is, in many small transactions, while others read and write.
/// Whatever ends it leaves an environment that is whole.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_compact(
    env: *mut huon_env,
    with: *const huon_compact_options,
    told: Option<&mut MaybeUninit<huon_compact_report>>,
) -> c_int {
    border("huon_compact", || {
        let env = env_of(env)?;
        let mut how = CompactOptions::new();
        // SAFETY: A2, and all zero are options.
        if let Some(with) = unsafe { options(with) }? {
            how = how.progress(progress(with.progress, Context::of(with.context)));
            if with.target != 0.0 {
                how = how.target(with.target);
            }
            if with.time_limit_ms != 0 {
                how = how.time_limit(Duration::from_millis(with.time_limit_ms));
            }
            if with.step_bytes != 0 {
                how = how.step_bytes(with.step_bytes);
            }
        }
        let done = env.compact(how)?;
        give(
            told,
            huon_compact_report {
                end: match done.end {
                    CompactEnd::Target => HUON_COMPACTED,
                    CompactEnd::TimeLimit => HUON_COMPACT_TIME_OVER,
                    CompactEnd::Stopped => HUON_COMPACT_STOPPED,
                    CompactEnd::Retained(_) => HUON_COMPACT_RETAINED,
                    _ => HUON_COMPACT_NO_ROOM,
                },
                before_bytes: done.before_bytes,
                after_bytes: done.after_bytes,
                moved_bytes: done.moved_bytes,
                commits: done.commits,
            },
        );
        Ok(())
    })
}

/// A meta slot that was never written.
pub const HUON_META_UNUSED: c_int = 0;
/// One that cannot be believed.
pub const HUON_META_DAMAGED: c_int = 1;
/// One of a newer version.
pub const HUON_META_UNKNOWN: c_int = 2;
/// A whole one.
pub const HUON_META_WHOLE: c_int = 3;

/// One of the three metas that a file begins with. What follows `state` is told of a whole one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_meta {
    /// Its slot: 0, 1 or 2.
    pub slot: u32,
    /// One of HUON_META_*.
    pub state: c_int,
    /// Its snapshot.
    pub txnid: u64,
    /// Bytes of the file that the snapshot uses.
    pub used_bytes: u64,
    /// It is the newest of the whole ones.
    pub is_newest: bool,
}

/// The metas of a file that need not be open, into room for three.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_metas_of(path: *const c_char, metas: *mut huon_meta) -> c_int {
    border("huon_metas_of", || {
        // SAFETY: A2.
        let (room, path) = unsafe { (room(metas, 3)?, self::path(path)?) };
        for (to, meta) in room.iter_mut().zip(Env::metas_of(path)?) {
            let whole = meta.snapshot();
            to.write(huon_meta {
                slot: meta.slot.into(),
                state: match meta.state {
                    MetaState::Unused => HUON_META_UNUSED,
                    MetaState::Whole(_) => HUON_META_WHOLE,
                    MetaState::Unknown(_) => HUON_META_UNKNOWN,
                    _ => HUON_META_DAMAGED,
                },
                txnid: whole.map_or(0, |whole| whole.txnid),
                used_bytes: whole.map_or(0, |whole| whole.used_bytes),
                is_newest: whole.is_some_and(|whole| whole.is_newest),
            });
        }
        Ok(())
    })
}

/// Makes the snapshot of a meta the newest one, after a check of it, and gives up all that is
/// newer. The file must be open nowhere: HUON_BUSY if it is. `id`, which may be NULL, tells the id
/// that the snapshot has then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_switch_to_meta(
    path: *const c_char,
    slot: u32,
    id: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_switch_to_meta", || {
        let slot = u8::try_from(slot).unwrap_or(u8::MAX);
        // SAFETY: A2.
        let path = unsafe { self::path(path) }?;
        give(id, Env::switch_to_meta(path, slot, CheckOptions::new())?.txnid);
        Ok(())
    })
}

/// Gives up the snapshots of read transactions whose processes have died; writers do so themselves.
/// `count`, which may be NULL, tells how many there were.
#[unsafe(no_mangle)]
pub extern "C" fn huon_clear_dead_readers(
    env: *mut huon_env,
    count: Option<&mut MaybeUninit<u32>>,
) -> c_int {
    border("huon_clear_dead_readers", || {
        give(count, env_of(env)?.clear_dead_readers()?);
        Ok(())
    })
}

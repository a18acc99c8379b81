//! Snapshots beyond a transaction: those with names, backups, and files that are made of them.

use std::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::io::BufReader;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use huon::{BackupOptions, BackupReport, Capture, Env, Error, Restore, SnapshotName};

use super::env::{env_of, huon_env};
use super::txn::{begun, huon_txn};
use crate::border::{Fault, Res, border, done, fill, found, give, wanted};
use crate::bytes::{Out, huon_bytes, items, options, path};
use crate::callback::{Context, STOPPED, Writer, huon_progress_fn, huon_write_fn, progress};

/// Which snapshot of a file: two processes that write copies of one file give the same id to
/// different snapshots, whose checksums differ.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_snapshot {
    /// The id of the transaction that made it; 0: none.
    pub id: u64,
    /// The checksum of its image.
    pub checksum: u64,
}

const NONE: huon_snapshot = huon_snapshot { id: 0, checksum: 0 };

fn told(name: SnapshotName) -> huon_snapshot {
    huon_snapshot { id: name.id, checksum: name.checksum }
}

fn text(name: huon_bytes<'_>) -> Res<&str> {
    std::str::from_utf8(name.get()?)
        .map_err(|_| Fault::argument("the name of a snapshot is text in UTF-8"))
}

/// The snapshot of a name, or the newest where the name is empty.
fn capture(env: &Env, name: huon_bytes<'_>) -> Res<Capture> {
    match text(name)? {
        "" => Ok(env.capture()?),
        name => found(env.named_snapshot(name)?),
    }
}

/// Gives the newest snapshot a name of 1 to 255 bytes of UTF-8, and so keeps it in the file: for
/// all processes and over restarts, until huon_drop_snapshot. It costs at most one more copy of
/// what it sees. One that has the name so far is dropped. `named`, which may be NULL, tells which
/// it is. Copies and backups have no named snapshots. A transaction of its own, which waits for
/// another one's end as huon_begin_write does. HUON_INVALID if 1000 snapshots have names.
#[unsafe(no_mangle)]
pub extern "C" fn huon_name_snapshot(
    env: *mut huon_env,
    name: huon_bytes<'_>,
    named: Option<&mut MaybeUninit<huon_snapshot>>,
) -> c_int {
    border("huon_name_snapshot", || {
        let (env, name) = (env_of(env)?, text(name)?);
        let capture = env.capture()?;
        env.update(|txn| txn.name_snapshot(name, &capture))?;
        give(named, told(capture.image().name()));
        Ok(())
    })
}

/// Takes its name away from a snapshot; HUON_NOT_FOUND if none has it. What only it saw is used
/// again once that is durable and no transaction reads it.
#[unsafe(no_mangle)]
pub extern "C" fn huon_drop_snapshot(env: *mut huon_env, name: huon_bytes<'_>) -> c_int {
    border("huon_drop_snapshot", || {
        let (env, name) = (env_of(env)?, text(name)?);
        done(env.update(|txn| txn.drop_snapshot(name))?, Fault::NOT_FOUND)
    })
}

/// Begins a transaction that reads the snapshot of a name, as huon_begin_read one of the newest.
/// HUON_NOT_FOUND if there is none. To renew it leads to the newest snapshot.
#[unsafe(no_mangle)]
pub extern "C" fn huon_begin_read_named(
    env: *mut huon_env,
    name: huon_bytes<'_>,
    txn: Option<&mut MaybeUninit<*mut huon_txn>>,
) -> c_int {
    border("huon_begin_read_named", || {
        fill(txn, std::ptr::null_mut(), || {
            let (env, name) = (env_of(env)?, text(name)?);
            begun(found(env.named_snapshot(name)?)?.into_txn())
        })
    })
}

/// Sees a named snapshot; the name stays until it returns. Returns 0, or anything else to end the
/// call with HUON_STOPPED.
pub type huon_named_fn = Option<
    extern "C" fn(
        context: *mut c_void,
        name: huon_bytes<'_>,
        snapshot: *const huon_snapshot,
    ) -> c_int,
>;

/// Shows the named snapshots, the oldest first.
#[unsafe(no_mangle)]
pub extern "C" fn huon_named_snapshots(
    env: *mut huon_env,
    each: huon_named_fn,
    context: *mut c_void,
) -> c_int {
    border("huon_named_snapshots", || {
        let (env, each) = (env_of(env)?, wanted(each)?);
        for named in env.named_snapshots()? {
            let name = huon_bytes::of(named.name.as_bytes());
            if each(context, name, &told(named.snapshot)) != 0 {
                return Err(STOPPED);
            }
        }
        Ok(())
    })
}

/// How a backup is made; NULL: all zero. Set `bytes` to sizeof(huon_backup_options) and the rest to
/// zero first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_backup_options {
    /// sizeof(huon_backup_options).
    pub bytes: usize,
    /// The named snapshot to save; no bytes: the newest.
    pub snapshot: huon_bytes<'static>,
    /// Only what changed since this snapshot, as the report of another backup tells it; an id of 0:
    /// everything.
    pub since: huon_snapshot,
    /// Is told how far it is; or NULL.
    pub progress: huon_progress_fn,
    /// What that is handed.
    pub context: *mut c_void,
}

/// What was saved.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_backup_report {
    /// The snapshot.
    pub snapshot: huon_snapshot,
    /// The one that it follows; an id of 0: it has everything.
    pub since: huon_snapshot,
    /// Pages in it.
    pub pages: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Does a backup as its options say.
unsafe fn back_up(
    env: *mut huon_env,
    with: *const huon_backup_options,
    report: Out<'_, huon_backup_report>,
    out: &mut dyn std::io::Write,
) -> Res<()> {
    let env = env_of(env)?;
    // SAFETY: A2, and all zero are options.
    let with = unsafe { options(with) }?;
    let capture = match &with {
        Some(with) => capture(&env, with.snapshot)?,
        None => env.capture()?,
    };
    let mut how = BackupOptions::new();
    if let Some(with) = with {
        if with.since.id != 0 {
            let huon_snapshot { id, checksum } = with.since;
            how = how.since(SnapshotName { id, checksum });
        }
        how = how.progress(progress(with.progress, Context::of(with.context)));
    }
    let BackupReport { snapshot, since, pages, bytes, .. } = capture.backup_to(out, how)?;
    let since = since.map_or(NONE, told);
    give(report, huon_backup_report { snapshot: told(snapshot), since, pages, bytes });
    Ok(())
}

/// Saves the pages of a snapshot, or those that changed since an earlier one, to an open
/// descriptor, as of a file or a pipe: it costs what it writes. huon_restore makes a file of a
/// backup and those that follow it. `report` may be NULL. What was written is of no use if it
/// fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_backup_to_fd(
    env: *mut huon_env,
    fd: c_int,
    with: *const huon_backup_options,
    report: Option<&mut MaybeUninit<huon_backup_report>>,
) -> c_int {
    border("huon_backup_to_fd", || {
        // SAFETY: any number may be asked about.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            return Err(Fault::argument("the descriptor is not open"));
        }
        // SAFETY: it is open, and the caller keeps it so.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned();
        let mut out = File::from(fd.map_err(|e| io_error("duplicate", "a descriptor", e))?);
        // SAFETY: A2.
        unsafe { back_up(env, with, report, &mut out) }
    })
}

/// The same to `write`, a piece at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_backup_to_writer(
    env: *mut huon_env,
    write: huon_write_fn,
    context: *mut c_void,
    with: *const huon_backup_options,
    report: Option<&mut MaybeUninit<huon_backup_report>>,
) -> c_int {
    border("huon_backup_to_writer", || {
        let mut out = Writer { call: wanted(write)?, context: Context::of(context) };
        // SAFETY: A2.
        unsafe { back_up(env, with, report, &mut out) }
    })
}

/// Makes an environment of a whole backup and those that follow it, in their order: files at
/// `backups`, `count` of them. It has its name once every page was verified and flushed.
/// `restored`, which may be NULL, tells the snapshot. HUON_IO if the environment exists (EEXIST),
/// or a backup cannot be read, is damaged or was cut; HUON_DIVERGED if one does not follow the one
/// before; HUON_CORRUPT if a page is missing; nothing is left behind then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_restore(
    path: *const c_char,
    backups: *const *const c_char,
    count: usize,
    restored: Option<&mut MaybeUninit<huon_snapshot>>,
) -> c_int {
    border("huon_restore", || {
        // SAFETY: A2.
        let (to, backups) = unsafe { (self::path(path)?, items(backups, count)?) };
        let mut restore = Restore::begin(to)?;
        for backup in backups {
            // SAFETY: A2.
            let backup = unsafe { self::path(*backup) }?;
            let failed = |e| io_error("open", &backup.display().to_string(), e);
            let backup = File::open(backup).map_err(failed)?;
            restore.add(&mut BufReader::with_capacity(1 << 20, backup))?;
        }
        give(restored, told(restore.finish()?.snapshot));
        Ok(())
    })
}

fn io_error(operation: &'static str, place: &str, source: std::io::Error) -> Error {
    Error::Io(Box::new(huon::IoError { operation, place: place.to_owned(), source }))
}

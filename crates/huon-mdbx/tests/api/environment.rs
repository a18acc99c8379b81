//! Environments: files, flags, options, geometry, what they say of themselves.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::records::{get, put, table};
use crate::common::*;

#[test]
fn files_have_the_names_that_are_known() {
    let env = Env::new();
    let mut names: Vec<_> =
        fs::read_dir(env.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["mdbx.dat", "mdbx.lck"]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("single");
    let single = Env::at(&path, NOSUBDIR);
    assert!(path.is_file() && dir.path().join("single-lock").is_file());
    let mut shown = ptr::null();
    // SAFETY: the pointer is good for writing; the text lives as long as the environment.
    let shown = unsafe {
        assert_eq!(mdbx_env_get_path(single.env, &mut shown), 0);
        std::ffi::CStr::from_ptr(shown)
    };
    assert_eq!(shown, text(&path).as_c_str());
    drop(single);
    let again = Env::at(&path, 0);
    assert_eq!(again.flags() & NOSUBDIR, NOSUBDIR, "a file is a file, whatever the flags say");
}

#[test]
fn directories_are_made_if_a_mode_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let env = create();
    assert_eq!(open_at(env, &path, 0, 0), libc::ENOENT, "nothing is to be made");
    assert_eq!(open_at(env, &path, RDONLY, 0o640), libc::ENOENT, "nor read");
    assert_eq!(open_at(env, &path.join("deeper"), 0, 0o640), libc::ENOENT);
    assert!(!path.exists());
    assert_eq!(open_at(env, &path, 0, 0o640), 0);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o750);
    assert_eq!(mode(&path.join("mdbx.dat")), 0o640);
    assert_eq!(open_at(env, &path, 0, 0o640), libc::EPERM, "it is open");
    assert_eq!(mdbx_env_close(env), 0);
    let env = create();
    assert_eq!(open_at(env, &path, 0, 0), 0, "it is there");
    assert_eq!(mdbx_env_close(env), 0);
}

#[test]
fn what_is_no_environment_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("mdbx.dat");
    for content in [b"some text, and not much of it".to_vec(), vec![b'x'; 100_000]] {
        fs::write(&data, &content).unwrap();
        for flags in [0, RDONLY] {
            let env = create();
            let code = open_at(env, dir.path(), flags, 0o644);
            assert!([INVALID, VERSION_MISMATCH].contains(&code), "{code}");
            assert_eq!(mdbx_env_close(env), 0);
        }
        assert_eq!(fs::read(&data).unwrap(), content);
    }
}

#[test]
fn environments_are_deleted_as_they_are_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let delete = |mode| {
        // SAFETY: a text that ends with a zero byte.
        unsafe { mdbx_env_delete(text(&path).as_ptr(), mode) }
    };
    assert_eq!(delete(0), RESULT_TRUE, "there is none");
    assert_eq!(delete(1), RESULT_TRUE);
    assert_eq!(delete(3), libc::EINVAL);
    let env = Env::at(&path, 0);
    assert_eq!(delete(1), BUSY);
    assert!(path.join("mdbx.dat").exists());
    drop(env);
    assert_eq!(delete(1), 0);
    assert!(!path.exists());
    drop(Env::at(&path, 0));
    fs::write(path.join("note"), "").unwrap();
    assert_eq!(delete(2), 0);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "what is not its own stays");
    drop(Env::at(&path, 0));
    let env = Env::at(&path, 0);
    assert_eq!(delete(0), 0, "even if it is open");
    assert!(!path.join("mdbx.dat").exists());
    drop(env);
}

#[test]
fn flags_are_kept_and_few_can_be_changed() {
    let env = create();
    assert_eq!(mdbx_env_set_flags(env, RDONLY, true), 0);
    assert_eq!(mdbx_env_set_flags(env, RDONLY, false), 0);
    assert_eq!(mdbx_env_set_flags(env, SAFE_NOSYNC, true), 0);
    assert_eq!(mdbx_env_close(env), 0);
    let env = Env::with(NOTLS | SAFE_NOSYNC);
    assert_eq!(env.flags(), NOTLS | SAFE_NOSYNC);
    assert_eq!(mdbx_env_set_flags(env.env, NOTLS, false), libc::EPERM);
    assert_eq!(mdbx_env_set_flags(env.env, SAFE_NOSYNC, false), 0);
    assert_eq!(env.flags(), NOTLS);
    // The other half of UTTERLY_NOSYNC does not make it whole.
    assert_eq!(mdbx_env_set_flags(env.env, UTTERLY_NOSYNC & !SAFE_NOSYNC, true), 0);
    assert_eq!(mdbx_env_set_flags(env.env, SAFE_NOSYNC, true), 0);
    assert_eq!(env.flags(), NOTLS | SAFE_NOSYNC);
    assert_eq!(mdbx_env_set_flags(env.env, UTTERLY_NOSYNC, true), 0);
    assert_eq!(env.flags(), NOTLS | UTTERLY_NOSYNC);
    assert_eq!(mdbx_env_set_flags(env.env, NOMETASYNC, true), 0);
    assert_eq!(env.flags(), NOTLS | UTTERLY_NOSYNC | NOMETASYNC);
    let path = env.path().to_owned();
    let reader = Env::at(&path, RDONLY);
    assert_eq!(mdbx_env_set_flags(reader.env, SAFE_NOSYNC, true), libc::EACCES);
}

#[test]
fn durability_is_agreed_upon() {
    let env = Env::with(SAFE_NOSYNC);
    assert_eq!(mdbx_env_set_syncbytes(env.env, 5000), 0);
    let other = create();
    for flags in [0, UTTERLY_NOSYNC] {
        assert_eq!(open_at(other, env.path(), flags, 0), INCOMPATIBLE);
    }
    assert_eq!(open_at(other, env.path(), ACCEDE, 0), 0);
    let other = Env { env: other, dir: None };
    assert_eq!(other.flags(), ACCEDE | SAFE_NOSYNC);
    assert_eq!(Env::at(env.path(), RDONLY).flags(), RDONLY, "a reader need not agree");
    let path = env.path().to_owned();
    assert_eq!([mdbx_env_close(env.env), mdbx_env_close(other.env)], [0, 0]);
    assert_eq!(Env::at(&path, 0).flags(), 0, "it is open nowhere");
}

#[test]
fn options_are_kept_and_checked() {
    const MAX_DB: u32 = 0;
    const MAX_READERS: u32 = 1;
    const SYNC_BYTES: u32 = 2;
    const SYNC_PERIOD: u32 = 3;
    const LOOSE_LIMIT: u32 = 5;
    const DP_LIMIT: u32 = 7;
    let env = create();
    assert_eq!(option(env, MAX_DB), Ok(0), "by default there is none");
    assert_eq!(mdbx_env_set_option(env, MAX_DB, 7), 0);
    assert_eq!(option(env, MAX_DB), Ok(7));
    for (number, wrong) in [(MAX_READERS, 0), (MAX_READERS, 32768), (LOOSE_LIMIT, 256), (13, 1)] {
        assert_eq!(mdbx_env_set_option(env, number, wrong), libc::EINVAL, "{number}: {wrong}");
    }
    assert_eq!(mdbx_env_set_option(env, SYNC_BYTES, 1), libc::EPERM, "it is not open");
    assert_eq!(option(env, SYNC_PERIOD), Err(libc::EPERM));
    assert_eq!(option(env, 13), Err(libc::EINVAL));
    assert_eq!(mdbx_env_close(env), 0);

    let env = Env::with(SAFE_NOSYNC);
    for number in [MAX_DB, MAX_READERS] {
        assert_eq!(mdbx_env_set_option(env.env, number, 9), libc::EPERM, "it is open");
    }
    assert_eq!(mdbx_env_set_option(env.env, DP_LIMIT, 100), 0);
    assert_eq!(mdbx_env_set_syncbytes(env.env, 5000), 0);
    assert_eq!(mdbx_env_set_syncperiod(env.env, 3 << 16), 0);
    let info = env.info();
    assert_eq!(info.mi_autosync_threshold, 5000);
    assert_eq!(info.mi_autosync_period_seconds16dot16, 3 << 16);
    let reader = Env::at(env.path(), RDONLY);
    assert_eq!(mdbx_env_set_syncbytes(reader.env, 5000), libc::EACCES);
}

#[test]
fn what_is_unflushed_is_flushed_when_it_is_due() {
    let env = Env::with(SAFE_NOSYNC);
    env.commit(1);
    assert_eq!(mdbx_env_sync_poll(env.env), 0, "nothing asks for it");
    assert_eq!(mdbx_env_sync(env.env), 0, "it was not flushed");
    assert_eq!(mdbx_env_sync(env.env), RESULT_TRUE, "there is nothing");
    assert_eq!(mdbx_env_set_syncperiod(env.env, 1 << 16), 0);
    env.commit(2);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(mdbx_env_sync_poll(env.env), 0, "the time is over");
    assert_eq!(mdbx_env_sync_poll(env.env), RESULT_TRUE, "it has flushed");
    let reader = Env::at(env.path(), RDONLY);
    assert_eq!(mdbx_env_sync(reader.env), libc::EACCES);
}

#[test]
fn readers_are_counted() {
    let env = create();
    assert_eq!(mdbx_env_set_maxreaders(env, 2), 0);
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(open_at(env, dir.path(), NOTLS, 0o644), 0);
    let env = Env { env, dir: Some(dir) };
    let readers = [env.read(), env.read()];
    assert_eq!(env.begin(ptr::null_mut(), RDONLY), Err(READERS_FULL));
    readers.into_iter().for_each(|txn| assert_eq!(mdbx_txn_abort(txn), 0));
    assert_eq!((env.info().mi_maxreaders, env.info().mi_numreaders), (2, 2));
}

#[test]
fn geometry_is_set_before_within_and_beside_transactions() {
    let dir = tempfile::tempdir().unwrap();
    let env = create();
    let set = |env, lower, upper, page| mdbx_env_set_geometry(env, lower, -1, upper, -1, -1, page);
    assert_eq!(set(env, -1, -1, 1000), libc::EINVAL, "no page has 1000 bytes");
    assert_eq!(set(env, 2 << 20, 1 << 20, -1), libc::EINVAL);
    assert_eq!(set(env, -1, isize::MAX - 1, 256), TOO_LARGE);
    assert_eq!(set(env, 1 << 20, 8 << 20, 8192), 0);
    let told = info(env);
    assert_eq!((told.mi_geo.lower, told.mi_geo.upper), (1 << 20, 8 << 20));
    assert_eq!(told.mi_dxb_pagesize, 8192);
    assert_eq!(open_at(env, dir.path(), 0, 0o644), 0);
    let env = Env { env, dir: Some(dir) };
    let geo = || {
        let geo = env.info().mi_geo;
        (geo.lower, geo.upper)
    };
    assert_eq!(geo(), (1 << 20, 8 << 20));
    assert!(env.info().mi_geo.current >= 1 << 20);
    assert_eq!(set(env.env, -1, -1, 4096), libc::EINVAL, "pages stay as they are");
    assert_eq!(set(env.env, -1, 16 << 20, 8192), 0);
    assert_eq!(geo(), (1 << 20, 16 << 20));
    let txn = env.write();
    assert_eq!(set(env.env, -1, 32 << 20, -1), 0);
    assert_eq!(mdbx_txn_abort(txn), 0);
    assert_eq!(geo(), (1 << 20, 16 << 20), "it was a part of the transaction");
    let txn = env.write();
    let child = env.begin(txn, 0).unwrap();
    assert_eq!(set(env.env, -1, 32 << 20, -1), 0);
    assert_eq!(mdbx_txn_commit(child), 0);
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(geo(), (1 << 20, 32 << 20));
    let reader = Env::at(env.path(), RDONLY);
    assert_eq!(set(reader.env, -1, 64 << 20, -1), libc::EACCES);
    let other = create();
    assert_eq!(set(other, -1, -1, 4096), 0);
    assert_eq!(open_at(other, env.path(), 0, 0), 0);
    assert_eq!(info(other).mi_dxb_pagesize, 8192, "its pages stay as they are");
    assert_eq!(mdbx_env_close(other), 0);
}

#[test]
fn the_first_process_brings_the_geometry_along() {
    let env = Env::new();
    let path = env.path().to_owned();
    assert_eq!(env.info().mi_geo.upper, 16 << 20);
    let open = || {
        let second = create();
        assert_eq!(mdbx_env_set_geometry(second, -1, -1, 24 << 20, -1, -1, -1), 0);
        assert_eq!(open_at(second, &path, 0, 0), 0);
        Env { env: second, dir: None }
    };
    assert_eq!(open().info().mi_geo.upper, 16 << 20, "it is open already");
    assert_eq!(mdbx_env_close(env.env), 0);
    assert_eq!(open().info().mi_geo.upper, 24 << 20);
}

#[test]
fn numbers_are_told_in_the_sizes_of_old() {
    let env = Env::new();
    let id = env.commit(5);
    let mut whole = [0xa5_u8; size_of::<MDBX_envinfo>() + 1];
    let info = env.info();
    assert_eq!((info.mi_recent_txnid, info.mi_latter_reader_txnid), (id, id));
    assert!(info.mi_meta_txnid_sign.iter().any(|[txnid, sign]| *txnid == id && *sign > 1));
    assert_eq!(info.mi_maxreaders as u64, option(env.env, 1).unwrap());
    for bytes in [304, 240, 144] {
        whole.fill(0xa5);
        // SAFETY: there is room for so many bytes.
        assert_eq!(unsafe { mdbx_env_info(env.env, whole.as_mut_ptr().cast(), bytes) }, 0);
        assert!(whole[bytes..].iter().all(|byte| *byte == 0xa5), "{bytes}");
        assert_eq!(whole[56..64], id.to_ne_bytes());
    }
    for bytes in [0, 40, 143, 303, 305, 335, 353, 377] {
        // SAFETY: it is refused.
        let refused = unsafe { mdbx_env_info(env.env, whole.as_mut_ptr().cast(), bytes) };
        assert_eq!(refused, libc::EINVAL, "{bytes}");
    }
    let mut stat = MDBX_stat::default();
    for (bytes, code) in [(48, 0), (40, 0), (44, libc::EINVAL)] {
        // SAFETY: the pointer is good for writing.
        assert_eq!(unsafe { mdbx_env_stat(env.env, &mut stat, bytes) }, code);
    }
    assert_eq!((stat.ms_psize, stat.ms_entries), (4096, 0));
}

#[test]
fn copies_are_environments_of_their_own() {
    let env = Env::new();
    env.commit(7);
    let dir = tempfile::tempdir().unwrap();
    for flags in [0, 1, 2, 3] {
        let path = dir.path().join(format!("copy{flags}"));
        let path_text = text(&path);
        // SAFETY: a text that ends with a zero byte.
        unsafe {
            assert_eq!(mdbx_env_copy(env.env, path_text.as_ptr(), flags), 0);
            assert_eq!(mdbx_env_copy(env.env, path_text.as_ptr(), flags), libc::EEXIST);
        }
        let copy = Env::at(&path, NOSUBDIR);
        let txn = copy.read();
        assert_eq!(noted(txn).unwrap().x, 7);
        assert_eq!(mdbx_txn_abort(txn), 0);
    }
    let path = dir.path().join("by descriptor");
    let file = fs::File::create(&path).unwrap();
    assert_eq!(mdbx_env_copy2fd(env.env, file.as_raw_fd(), 0), 0);
    assert_eq!(mdbx_env_copy2fd(env.env, file.as_raw_fd(), 64), libc::EINVAL);
    assert_eq!(mdbx_env_copy2fd(env.env, -5, 0), libc::EBADF);
    let copy = Env::at(&path, NOSUBDIR);
    let txn = copy.read();
    assert_eq!(noted(txn).unwrap().x, 7);
    assert_eq!(mdbx_txn_abort(txn), 0);
}

#[test]
fn a_meta_can_be_looked_at_and_made_the_newest() {
    let env = Env::new();
    let path = env.path().to_owned();
    let path_text = text(&path);
    let right = env.commit(1);
    env.commit(2);
    let metas = env.info().mi_meta_txnid_sign;
    let slot = metas.iter().position(|[txnid, _]| *txnid == right).unwrap() as u32;
    assert_eq!(mdbx_env_turn_for_recovery(env.env, slot), libc::EPERM, "others may use it");
    let Env { env: handle, dir: _dir } = &env;
    assert_eq!(mdbx_env_close(*handle), 0);

    let recover = |slot, writable| {
        let env = create();
        // SAFETY: a text that ends with a zero byte.
        let code = unsafe { mdbx_env_open_for_recovery(env, path_text.as_ptr(), slot, writable) };
        (Env { env, dir: None }, code)
    };
    let seen = |env: &Env| {
        let txn = env.read();
        let seen = noted(txn).unwrap().x;
        assert_eq!(mdbx_txn_abort(txn), 0);
        seen
    };
    assert_eq!(recover(3, false).1, libc::EINVAL, "there are three");
    let (look, code) = recover(slot, false);
    assert_eq!((code, seen(&look)), (0, 1));
    assert_eq!(mdbx_env_turn_for_recovery(look.env, slot), libc::EPERM);
    drop(look);
    let after = Env::at(&path, 0);
    assert_eq!(seen(&after), 2, "a look changes nothing");
    drop(after);
    let (turning, code) = recover(slot, true);
    assert_eq!(code, 0);
    assert_eq!(mdbx_env_turn_for_recovery(turning.env, 3), libc::EINVAL);
    assert_eq!(seen(&turning), 1);
    assert_eq!(mdbx_env_turn_for_recovery(turning.env, slot), 0);
    assert_eq!(seen(&turning), 1);
    let txn = turning.read();
    assert_eq!(get(txn, 1, b"k"), Err(NOTFOUND), "the main table of what is open now");
    assert_eq!(mdbx_txn_abort(txn), 0);
    drop(turning);
    assert_eq!(seen(&Env::at(&path, 0)), 1);
}

#[test]
fn many_environments_leave_addresses_for_more() {
    const COUNT: usize = 130;
    let envs: Vec<Env> = (0..COUNT).map(|_| Env::new()).collect();
    let reserved = |env: &Env| env.info().mi_mapsize;
    let (first, last) = (reserved(&envs[0]), reserved(&envs[COUNT - 1]));
    assert!(last <= 64 << 30, "{last} bytes");
    assert!(last < first || first < 256 << 30, "{first} bytes");
}

/// Says of every reader that it was ended.
unsafe extern "C" fn says_it_is_gone(
    _: *const MDBX_env,
    _: *const MDBX_txn,
    _: libc::pid_t,
    _: libc::pthread_t,
    _: u64,
    _: u32,
    _: usize,
    _: i32,
) -> i32 {
    ASKED_COUNT.fetch_add(1, Ordering::Relaxed);
    1
}

static ASKED_COUNT: AtomicU32 = AtomicU32::new(0);

#[test]
fn a_reader_of_ones_own_that_is_said_to_be_gone_is_not_waited_for() {
    let env = Env::new();
    let dbi = table(&env, "t", 0);
    let fill = |round| {
        let txn = env.write();
        for key in 0..200u8 {
            assert_eq!(put(txn, dbi, &[key], &[round; 3000], 0), 0);
        }
        assert_eq!(mdbx_txn_commit(txn), 0);
    };
    fill(0);
    let reader = env.read();
    // SAFETY: the function does nothing but count.
    let hsr = unsafe { mdbx_env_set_hsr(env.env, Some(says_it_is_gone)) };
    assert_eq!(hsr, 0);
    (1..5).for_each(fill);
    assert!(ASKED_COUNT.load(Ordering::Relaxed) > 0, "the callback was not called");
    assert_eq!(mdbx_txn_abort(reader), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn the_system_reads_ahead_unless_it_is_told_not_to() {
    let is_read_alone = |env: &Env| huon_testkit::maps::is_read_alone(&env.path().join("mdbx.dat"));
    assert!(!is_read_alone(&Env::new()));
    assert!(is_read_alone(&Env::with(NORDAHEAD)));
}

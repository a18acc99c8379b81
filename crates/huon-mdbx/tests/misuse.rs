//! What libmdbx would crash on, or worse, is an error code.

#[path = "api/common/mod.rs"]
mod common;
#[path = "../../huon-c/tests/common/forked.rs"]
mod forked;

use std::ptr;

use common::records::*;
use common::*;
use forked::in_child;

#[test]
fn closed_handles_are_refused() {
    let env = Env::new();
    let txn = env.read();
    assert_eq!(mdbx_txn_abort(txn), 0);
    assert_eq!(mdbx_txn_abort(txn), EBADSIGN);
    assert_eq!(mdbx_txn_commit(txn), EBADSIGN);
    assert_eq!(mdbx_txn_reset(txn), EBADSIGN);
    assert_eq!(mdbx_txn_renew(txn), EBADSIGN);
    assert_eq!(mdbx_txn_break(txn), EBADSIGN);
    assert_eq!(noted(txn), Err(EBADSIGN));
    assert_eq!(mdbx_txn_id(txn), 0);
    assert_eq!(mdbx_txn_flags(txn), i32::MIN);
    assert!(mdbx_txn_env(txn).is_null());
    assert_eq!(mdbx_env_close(env.env), 0);
    assert_eq!(mdbx_env_close(env.env), EBADSIGN);
    assert_eq!(env.begin(ptr::null_mut(), 0), Err(EBADSIGN));
    assert_eq!(mdbx_env_sync(env.env), EBADSIGN);
    assert!(mdbx_env_get_userctx(env.env).is_null());
}

#[test]
fn null_and_strange_pointers_are_refused() {
    assert_eq!(mdbx_txn_commit(ptr::null_mut()), libc::EINVAL);
    assert_eq!(mdbx_txn_abort(ptr::null_mut()), libc::EINVAL);
    assert_eq!(mdbx_env_close(ptr::null_mut()), libc::EINVAL);
    assert_eq!(mdbx_txn_flags(ptr::null()), i32::MIN);
    let env = Env::new();
    let txn = env.write();
    assert_eq!(mdbx_txn_commit(env.env.cast()), EBADSIGN, "another kind of handle");
    assert_eq!(noted(txn.cast::<u8>().wrapping_add(1).cast()), Err(EBADSIGN));
    // SAFETY: null pointers are what is tried here.
    unsafe {
        assert_eq!(mdbx_env_create(ptr::null_mut()), libc::EINVAL);
        assert_eq!(mdbx_env_open(env.env, ptr::null(), 0, 0), libc::EINVAL);
        assert_eq!(mdbx_env_delete(ptr::null(), 0), libc::EINVAL);
        assert_eq!(mdbx_env_get_flags(env.env, ptr::null_mut()), libc::EINVAL);
        assert_eq!(mdbx_env_info(env.env, ptr::null_mut(), 304), libc::EINVAL);
        assert_eq!(mdbx_env_stat_ex(ptr::null(), ptr::null(), &mut MDBX_stat::default(), 48), 22);
        assert_eq!(mdbx_canary_get(txn, ptr::null_mut()), libc::EINVAL);
        assert_eq!(mdbx_reader_list(env.env, None, ptr::null_mut()), libc::EINVAL);
        let none = ptr::null_mut();
        assert_eq!(mdbx_txn_begin(env.env, none, 0, ptr::null_mut()), libc::EINVAL);
        assert_eq!(mdbx_txn_commit_ex(ptr::null_mut(), ptr::null_mut()), libc::EINVAL);
    }
    assert_eq!(mdbx_txn_abort(txn), 0);
}

#[test]
fn an_environment_that_is_not_open_does_nothing() {
    let env = create();
    let mut txn = ptr::null_mut();
    let mut number = 0;
    let mut path = ptr::null();
    // SAFETY: the pointers are good for writing, or not wanted.
    unsafe {
        assert_eq!(mdbx_txn_begin(env, txn, 0, &mut txn), libc::EPERM);
        assert_eq!(mdbx_env_get_path(env, &mut path), libc::EPERM);
        assert_eq!(mdbx_env_get_fd(env, &mut number), libc::EPERM);
        assert_eq!(mdbx_reader_check(env, ptr::null_mut()), libc::EPERM);
        assert_eq!(mdbx_env_copy(env, c"copy".as_ptr(), 0), libc::EPERM);
        assert_eq!(mdbx_env_stat(env, &mut MDBX_stat::default(), 48), libc::EPERM);
    }
    assert_eq!(mdbx_env_sync(env), libc::EPERM);
    assert_eq!(mdbx_thread_register(env), libc::EPERM);
    assert_eq!(mdbx_env_turn_for_recovery(env, 0), libc::EPERM);
    assert_eq!(mdbx_env_close(env), 0);
}

#[test]
fn a_transaction_of_another_environment_is_no_parent() {
    let (one, other) = (Env::new(), Env::new());
    let txn = one.write();
    assert_eq!(other.begin(txn, 0), Err(libc::EINVAL));
    let mut info = MDBX_envinfo::default();
    // SAFETY: the pointer is good for writing.
    let asked = unsafe { mdbx_env_info_ex(other.env, txn, &mut info, size_of::<MDBX_envinfo>()) };
    assert_eq!(asked, libc::EINVAL);
    assert_eq!(mdbx_txn_abort(txn), 0);
}

#[test]
fn transactions_left_open_are_of_no_use_when_the_environment_is_closed() {
    let env = Env::new();
    let (reader, txn) = (env.read(), env.write());
    assert_eq!(note(txn, 1), 0);
    assert_eq!(mdbx_env_close(env.env), 0, "this thread writes itself");
    assert_eq!(noted(reader), Err(BAD_TXN));
    assert_eq!(note(txn, 2), BAD_TXN);
    assert_eq!(mdbx_txn_renew(reader), BAD_TXN);
    assert_eq!(mdbx_txn_abort(reader), 0);
    assert_eq!(mdbx_txn_abort(txn), 0);
}

#[test]
fn what_was_left_open_holds_nothing_when_the_environment_is_closed() {
    let env = Env::new();
    let path = env.path().to_owned();
    let (reader, txn) = (env.read(), env.write());
    assert_eq!(note(txn, 1), 0);
    assert_eq!(mdbx_env_close(env.env), 0);
    let again = Env::at(&path, NOTLS);
    // The writer lock is free again.
    assert_ne!(again.commit(2), 0);
    assert_eq!(mdbx_txn_commit(txn), BAD_TXN);
    assert_eq!(mdbx_txn_abort(reader), 0);
}

#[test]
fn what_a_thread_leaves_open_ends_with_it() {
    let env = Env::with(0);
    let handle = Sent(env.env as usize);
    let left: Vec<Sent> = (0..200)
        .map(|_| {
            in_thread(|| {
                let env = Env { env: handle.0 as *mut MDBX_env, dir: None };
                Sent(std::mem::ManuallyDrop::new(env).read() as usize)
            })
        })
        .collect();
    // There are places for 126 readers.
    assert_eq!(left.len(), 200);
    assert_eq!(mdbx_txn_abort(left[0].txn()), THREAD_MISMATCH);
}

#[test]
fn lengths_that_nothing_has_are_refused_before_they_are_read() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("a", "1")]);
    let (c, plain) = (cursor(txn, dbi), open(txn, Some("plain"), CREATE).unwrap());
    assert_eq!(put(txn, plain, b"a", b"1", 0), 0);
    let (good, one) = (val(b"a"), [0u8; 1]);
    for bytes in [1 << 30, isize::MAX as usize, usize::MAX] {
        let long = MDBX_val { iov_base: one.as_ptr().cast_mut().cast(), iov_len: bytes };
        let mut data = long;
        // SAFETY: of what is too long nothing is read.
        unsafe {
            assert_eq!(mdbx_cursor_put(c, &long, &mut val(b"v"), 0), BAD_VALSIZE);
            assert_eq!(mdbx_cursor_put(c, &good, &mut data, 0), BAD_VALSIZE);
            assert!(go(c, FIRST).is_ok());
            assert_eq!(mdbx_cursor_put(c, &good, &mut data, CURRENT), BAD_VALSIZE);
            assert_eq!(mdbx_put(txn, dbi, &good, &mut data, 0), BAD_VALSIZE);
            assert_eq!(mdbx_del(txn, dbi, &long, ptr::null()), BAD_VALSIZE);
            let gone = mdbx_del(txn, dbi, &good, &long);
            assert!([NOTFOUND, BAD_VALSIZE].contains(&gone), "{gone}");
            let gone = mdbx_del(txn, plain, &good, &long);
            assert!([NOTFOUND, BAD_VALSIZE].contains(&gone), "{gone}");
            let mut found = 0;
            let none = ptr::null();
            let range = mdbx_estimate_range(txn, dbi, &good, &long, none, none, &mut found);
            assert_eq!(range, BAD_VALSIZE);
        }
    }
}

#[test]
fn a_replacement_needs_room_of_its_own() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("a", "1")]);
    let replace = |new: Option<&[u8]>, mut old: MDBX_val, flags| {
        let mut new = new.map(val);
        let new = new.as_mut().map_or(ptr::null_mut(), |new| new as *mut MDBX_val);
        // SAFETY: what is wrong with the values is refused.
        unsafe { mdbx_replace(txn, dbi, &val(b"a"), new, &mut old, flags) }
    };
    let nowhere = MDBX_val { iov_base: ptr::null_mut(), iov_len: 100 };
    assert_eq!(replace(Some(b"2"), nowhere, 0), libc::EINVAL);
    let new = *b"2";
    assert_eq!(replace(Some(&new), val(&new), 0), libc::EINVAL, "it would be both");
    let none = MDBX_val { iov_base: ptr::null_mut(), iov_len: 0 };
    assert_eq!(replace(None, none, CURRENT | RESERVE), libc::EINVAL);
    assert_eq!(get(txn, dbi, b"a"), Ok(b"1".to_vec()));
    let (mut new, mut old) = (val(b"2"), none);
    // SAFETY: the values live; a null pointer asks for no old value.
    let code = unsafe {
        mdbx_replace_ex(txn, dbi, &val(b"a"), &mut new, &mut old, 0, None, ptr::null_mut())
    };
    assert_eq!((code, get(txn, dbi, b"a")), (0, Ok(b"2".to_vec())));
}

#[test]
fn whether_a_place_is_dirty_is_told_without_a_look_at_it() {
    let env = Env::new();
    let own = 7u8;
    let reader = env.read();
    assert_eq!(mdbx_is_dirty(reader, ptr::null()), libc::EINVAL);
    assert_eq!(mdbx_is_dirty(reader, (&raw const own).cast()), libc::EINVAL);
    assert_eq!(mdbx_is_dirty(reader, ptr::without_provenance(8)), libc::EINVAL);
    assert_eq!(mdbx_txn_abort(reader), 0);
    let txn = env.write();
    assert_eq!(mdbx_is_dirty(txn, (&raw const own).cast()), RESULT_TRUE);
    assert_eq!(mdbx_txn_abort(txn), 0);
    assert_eq!(mdbx_is_dirty(txn, (&raw const own).cast()), EBADSIGN);
}

#[test]
fn a_child_process_has_no_transaction_of_its_parents() {
    let env = Env::new();
    let (reader, txn) = (env.read(), env.write());
    in_child(|| {
        let begun = env.begin(ptr::null_mut(), RDONLY).is_ok_and(|own| {
            noted(own).is_ok_and(|canary| canary.x == 0) && mdbx_txn_abort(own) == 0
        });
        vec![
            begun,
            noted(reader) == Err(PANIC),
            note(txn, 5) == PANIC,
            mdbx_txn_commit(txn) == PANIC,
            mdbx_txn_abort(reader) == 0,
            mdbx_env_close(env.env) == 0,
        ]
    });
    assert_eq!(note(txn, 6), 0);
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(mdbx_txn_commit(reader), 0);
    let reader = env.read();
    assert_eq!(noted(reader).unwrap().x, 6);
    assert_eq!(mdbx_txn_abort(reader), 0);
}

/// As servers do that open all, and then fork their workers.
#[test]
fn a_child_process_goes_on_with_the_environment() {
    for flags in [NOTLS, 0] {
        let env = Env::with(flags);
        env.commit(5);
        let reader = env.read();
        for worker in 0..3 {
            in_child(|| {
                let own = env.begin(ptr::null_mut(), RDONLY);
                let read = own.is_ok_and(|own| noted(own).is_ok_and(|c| c.x == 5 + worker));
                own.into_iter().for_each(|own| _ = mdbx_txn_abort(own));
                let own = env.begin(ptr::null_mut(), 0);
                let written =
                    own.is_ok_and(|own| note(own, 6 + worker) == 0 && mdbx_txn_commit(own) == 0);
                vec![read, written, mdbx_env_close(env.env) == 0]
            });
        }
        assert_eq!(noted(reader).unwrap().x, 5);
        assert_eq!(mdbx_txn_abort(reader), 0);
        let reader = env.read();
        assert_eq!(noted(reader).unwrap().x, 8);
        assert_eq!(mdbx_txn_abort(reader), 0);
    }
}

/// A program without standard streams prints, and later puts other files in their places.
#[test]
fn no_descriptor_takes_the_place_of_a_standard_stream() {
    let dir = tempfile::tempdir().unwrap();
    in_child(|| {
        // SAFETY: nothing of the child uses its standard streams.
        unsafe { (0..3).for_each(|stream| _ = libc::close(stream)) };
        let mut good = Vec::with_capacity(16);
        for flags in [NOTLS, NOTLS | RDONLY] {
            let env = Env::at(dir.path(), flags);
            let mut fd = -1;
            // SAFETY: the pointer is good for writing; the other calls only ask.
            unsafe {
                good.push(mdbx_env_get_fd(env.env, &mut fd) == 0 && fd >= 3);
                good.push((0..3).all(|n| libc::fcntl(n, libc::F_GETFD) == -1));
            }
            mdbx_env_close(env.env);
        }
        good
    });
}

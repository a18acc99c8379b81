//! What libmdbx would crash on, or worse, is an error code.

mod common;

use std::ptr;

use common::*;

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
fn a_child_process_has_nothing_of_its_parents() {
    let env = Env::new();
    let (reader, txn) = (env.read(), env.write());
    // SAFETY: the child only calls the library and ends.
    match unsafe { libc::fork() } {
        0 => {
            let begun = env.begin(ptr::null_mut(), RDONLY) == Err(PANIC);
            let written = note(txn, 5) == PANIC;
            let committed = mdbx_txn_commit(txn) != 0;
            mdbx_txn_abort(reader);
            let closed = mdbx_env_close(env.env) == PANIC;
            let wrong = [!begun, !written, !committed, !closed];
            let failed = (0..).zip(wrong).map(|(bit, wrong)| i32::from(wrong) << bit).sum();
            // SAFETY: ends the child without what the parent has to clear away.
            unsafe { libc::_exit(failed) };
        }
        child => {
            let mut status = 0;
            // SAFETY: the pointer is good for writing.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "the child says {}", libc::WEXITSTATUS(status));
        }
    }
    assert_eq!(note(txn, 6), 0);
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(mdbx_txn_commit(reader), 0);
    let reader = env.read();
    assert_eq!(noted(reader).unwrap().x, 6);
    assert_eq!(mdbx_txn_abort(reader), 0);
}

//! Transactions: what they begin with, what becomes of them, and what they tell.

use std::ptr;

use crate::common::records::*;
use crate::common::*;

const FINISHED: i32 = 1;
const ERROR: i32 = 2;
const DIRTY: i32 = 4;
const HAS_CHILD: i32 = 16;

#[test]
fn ids_are_used_up_by_commits_alone() {
    let env = Env::new();
    let first = env.info().mi_recent_txnid;
    for id in first + 1..first + 4 {
        let empty = env.write();
        assert_eq!(mdbx_txn_id(empty), id);
        assert_eq!(mdbx_txn_commit(empty), 0);
        let aborted = env.write();
        assert_eq!(mdbx_txn_id(aborted), id, "an empty commit has used up no id");
        assert_eq!(note(aborted, 99), 0);
        assert_eq!(mdbx_txn_abort(aborted), 0);
        assert_eq!(env.commit(id), id, "an aborted transaction has used up no id");
        assert_eq!(env.info().mi_recent_txnid, id);
        let reader = env.read();
        assert_eq!(mdbx_txn_id(reader), id);
        assert_eq!(mdbx_txn_abort(reader), 0);
    }
}

#[test]
fn the_three_numbers_are_those_of_a_snapshot() {
    let env = Env::new();
    let before = env.read();
    let id = env.commit(7);
    assert_eq!(noted(before), Ok(MDBX_canary::default()));
    let after = env.read();
    assert_eq!(noted(after), Ok(MDBX_canary { x: 7, y: 2, z: 3, v: id }));
    assert_eq!(note(after, 8), libc::EACCES);
    assert_eq!([before, after].map(|txn| mdbx_txn_abort(txn)), [0, 0]);
    let txn = env.write();
    assert_eq!(note(txn, 7), 0);
    assert_eq!(noted(txn).unwrap().v, id, "they are the same");
    // SAFETY: there are no numbers.
    assert_eq!(unsafe { mdbx_canary_put(txn, ptr::null()) }, 0);
    assert_eq!(noted(txn), Ok(MDBX_canary { x: 7, y: 2, z: 3, v: id + 1 }));
    assert_eq!(mdbx_txn_commit(txn), 0);
    let txn = env.read();
    assert_eq!(noted(txn).unwrap().v, id + 1);
    assert_eq!(mdbx_txn_abort(txn), 0);
}

#[test]
fn a_thread_has_one_transaction_unless_told_otherwise() {
    let env = Env::with(0);
    let reader = env.read();
    assert_eq!(env.begin(ptr::null_mut(), RDONLY), Err(BAD_RSLOT));
    assert_eq!(env.begin(ptr::null_mut(), 0), Err(TXN_OVERLAPPING));
    assert_eq!(mdbx_txn_reset(reader), 0);
    let writer = env.write();
    assert_eq!(env.begin(ptr::null_mut(), 0), Err(BUSY));
    assert_eq!(env.begin(ptr::null_mut(), RDONLY), Err(TXN_OVERLAPPING));
    assert_eq!(mdbx_txn_renew(reader), TXN_OVERLAPPING);
    assert_eq!(mdbx_txn_abort(writer), 0);
    assert_eq!(mdbx_txn_renew(reader), 0);
    assert_eq!(mdbx_txn_abort(reader), 0);
    let env = Env::with(NOTLS);
    let readers = [env.read(), env.read()];
    let writer = env.write();
    assert_eq!(env.begin(ptr::null_mut(), RDONLY), Err(TXN_OVERLAPPING));
    assert_eq!(mdbx_txn_abort(writer), 0);
    assert_eq!(readers.map(|txn| mdbx_txn_abort(txn)), [0, 0]);
}

#[test]
fn a_transaction_is_its_threads() {
    let env = Env::with(0);
    for flags in [0, RDONLY] {
        let txn = env.begin(ptr::null_mut(), flags).unwrap();
        let sent = Sent(txn as usize);
        in_thread(|| {
            assert_eq!(mdbx_txn_commit(sent.txn()), THREAD_MISMATCH);
            assert_eq!(mdbx_txn_abort(sent.txn()), THREAD_MISMATCH);
            assert_eq!(mdbx_txn_break(sent.txn()), THREAD_MISMATCH);
            assert_eq!(noted(sent.txn()), Err(THREAD_MISMATCH));
            assert_ne!(mdbx_txn_id(sent.txn()), 0);
        });
        assert!(noted(txn).is_ok());
        assert_eq!(mdbx_txn_commit(txn), 0, "it is as it was");
    }
    let env = Env::with(NOTLS);
    let sent = Sent(env.read() as usize);
    in_thread(|| assert!(noted(sent.txn()).is_ok()));
    assert_eq!(in_thread(|| mdbx_txn_abort(sent.txn())), 0);
}

#[test]
fn a_thread_that_does_not_wait_is_told_of_the_writer() {
    let env = Env::new();
    let writer = env.write();
    assert_eq!(env.begin(ptr::null_mut(), TRY), Err(BUSY));
    let handle = env.env as usize;
    let code = in_thread(|| {
        let mut txn = ptr::null_mut();
        // SAFETY: the pointer is good for writing.
        unsafe { mdbx_txn_begin(handle as *mut MDBX_env, ptr::null_mut(), TRY, &mut txn) }
    });
    assert_eq!(code, BUSY);
    assert_eq!(in_thread(|| mdbx_env_close(handle as *mut MDBX_env)), BUSY);
    assert_eq!(mdbx_txn_abort(writer), 0);
    let writer = env.begin(ptr::null_mut(), TRY).unwrap();
    assert_eq!(mdbx_txn_abort(writer), 0);
}

#[test]
fn what_began_with_strange_flags_has_not_begun() {
    let env = Env::new();
    for flags in [0x1, 0x10_0000, RDONLY | TRY, RDONLY | SAFE_NOSYNC, 0x8000_0000] {
        assert_eq!(env.begin(ptr::null_mut(), flags), Err(libc::EINVAL), "{flags:x}");
    }
    let reader = Env::at(env.path(), RDONLY);
    assert_eq!(reader.begin(ptr::null_mut(), 0), Err(libc::EACCES));
}

#[test]
fn a_commit_may_wait_for_less_than_others() {
    let env = Env::new();
    let commit = |flags| {
        let txn = env.begin(ptr::null_mut(), flags).unwrap();
        assert_eq!(mdbx_txn_flags(txn), flags as i32);
        assert_eq!(note(txn, u64::from(flags) + mdbx_txn_id(txn)), 0);
        assert_eq!(mdbx_txn_commit(txn), 0);
    };
    commit(0);
    assert_eq!(mdbx_env_sync(env.env), RESULT_TRUE, "it was flushed");
    commit(SAFE_NOSYNC);
    assert_eq!(mdbx_env_sync(env.env), 0, "it was not");
    commit(SAFE_NOSYNC | NOMETASYNC);
    commit(NOMETASYNC);
}

#[test]
fn reset_and_prepared_readers_rest() {
    let env = Env::with(0);
    let id = env.commit(1);
    let reader = env.begin(ptr::null_mut(), PREPARE).unwrap();
    assert_eq!(mdbx_txn_flags(reader), RDONLY as i32 | FINISHED);
    assert_eq!(noted(reader), Err(BAD_TXN));
    assert_eq!(mdbx_txn_renew(reader), 0);
    assert_eq!(mdbx_txn_id(reader), id);
    env.in_other_thread(2);
    assert_eq!(noted(reader).unwrap().x, 1);
    assert_eq!(mdbx_txn_renew(reader), 0, "it need not rest before");
    assert_eq!(noted(reader).unwrap().x, 2);
    assert_eq!(mdbx_txn_reset(reader), 0);
    assert_eq!(mdbx_txn_reset(reader), 0, "twice is fine");
    assert_eq!(noted(reader), Err(BAD_TXN));
    assert_eq!(mdbx_txn_abort(reader), 0);
    let writer = env.write();
    assert_eq!(mdbx_txn_reset(writer), libc::EINVAL);
    assert_eq!(mdbx_txn_renew(writer), libc::EINVAL);
    assert_eq!(mdbx_txn_abort(writer), 0);
}

#[test]
fn nested_transactions_are_undone_alone() {
    let env = Env::new();
    let txn = env.write();
    assert_eq!(note(txn, 1), 0);
    let child = env.begin(txn, 0).unwrap();
    assert_eq!(mdbx_txn_flags(txn), DIRTY | HAS_CHILD);
    assert_eq!(mdbx_txn_id(child), mdbx_txn_id(txn));
    assert_eq!(note(txn, 2), BAD_TXN, "its child lives");
    assert_eq!(env.begin(txn, 0), Err(BAD_TXN));
    assert_eq!(env.begin(child, RDONLY), Err(libc::EINVAL));
    assert_eq!(note(child, 3), 0);
    assert_eq!(mdbx_txn_abort(child), 0);
    assert_eq!(noted(txn).unwrap().x, 1);
    let child = env.begin(txn, 0).unwrap();
    let grandchild = env.begin(child, 0).unwrap();
    assert_eq!(note(grandchild, 4), 0);
    assert_eq!(mdbx_txn_commit(txn), 0, "with all that live in it");
    assert_eq!(mdbx_txn_commit(grandchild), EBADSIGN);
    assert_eq!(mdbx_txn_abort(child), EBADSIGN);
    let reader = env.read();
    assert_eq!(noted(reader).unwrap().x, 4);
    assert_eq!(env.begin(reader, 0), Err(BAD_TXN), "it reads");
    assert_eq!(mdbx_txn_abort(reader), 0);
    let env = Env::with(WRITEMAP);
    let txn = env.write();
    assert_eq!(env.begin(txn, 0), Err(BAD_TXN));
    assert_eq!(mdbx_txn_abort(txn), 0);
}

#[test]
fn what_has_failed_is_aborted_by_its_commit() {
    let env = Env::new();
    let txn = env.write();
    assert_eq!(note(txn, 1), 0);
    assert_eq!(mdbx_txn_break(txn), 0);
    assert_eq!(mdbx_txn_flags(txn), DIRTY | ERROR);
    assert_eq!(note(txn, 2), BAD_TXN);
    assert_eq!(mdbx_txn_commit(txn), RESULT_TRUE);
    assert_eq!(mdbx_txn_commit(txn), EBADSIGN);

    let txn = env.write();
    let child = env.begin(txn, 0).unwrap();
    assert_eq!(mdbx_txn_break(child), 0);
    assert_eq!(mdbx_txn_commit(child), RESULT_TRUE);
    assert_eq!(note(txn, 3), 0, "its parent has not failed");
    let child = env.begin(txn, 0).unwrap();
    assert_eq!(mdbx_txn_break(txn), 0);
    assert_eq!(note(child, 4), BAD_TXN, "it has failed with its parent");
    assert_eq!(mdbx_txn_abort(child), 0);
    assert_eq!(note(txn, 4), BAD_TXN);
    assert_eq!(mdbx_txn_commit(txn), RESULT_TRUE);

    let reader = env.read();
    assert_eq!(noted(reader).unwrap().x, 0);
    assert_eq!(mdbx_txn_break(reader), 0);
    assert_eq!(noted(reader), Err(BAD_TXN));
    assert_eq!(mdbx_txn_abort(reader), 0);
}

#[test]
fn transactions_tell_of_themselves() {
    let env = Env::new();
    env.commit(1);
    let reader = env.read();
    env.commit(2);
    env.commit(3);
    let told = |txn: Txn| {
        let mut info = MDBX_txn_info::default();
        // SAFETY: the pointer is good for writing.
        assert_eq!(unsafe { mdbx_txn_info(txn, &mut info, true) }, 0);
        info
    };
    let info = told(reader);
    assert_eq!((info.txn_id, info.txn_reader_lag), (mdbx_txn_id(reader), 2));
    assert_eq!(info.txn_space_limit_hard, 16 << 20);
    assert!(info.txn_space_used <= info.txn_space_limit_soft);
    let mut percent = -1;
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdbx_txn_straggler(reader, &mut percent) }, 2);
    assert!((0..100).contains(&percent));
    let txn = env.write();
    let info = told(txn);
    assert_eq!((info.txn_id, info.txn_reader_lag), (mdbx_txn_id(txn), 2));
    assert!(info.txn_space_leftover <= 16 << 20 && info.txn_space_dirty == 0);
    // SAFETY: an answer is not wanted.
    assert_eq!(unsafe { mdbx_txn_straggler(txn, ptr::null_mut()) }, 0);
    assert_eq!(mdbx_txn_abort(txn), 0);
    assert_eq!(mdbx_txn_abort(reader), 0);
    // SAFETY: the same.
    assert!(unsafe { mdbx_txn_straggler(reader, ptr::null_mut()) } < 0);
}

#[test]
fn the_time_of_a_commit_is_told() {
    let env = Env::new();
    let txn = env.write();
    assert_eq!(note(txn, 1), 0);
    let mut latency = MDBX_commit_latency { whole: u32::MAX, ..Default::default() };
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdbx_txn_commit_ex(txn, &mut latency) }, 0);
    assert!(latency.whole < 60 << 16, "{latency:?}");
}

#[test]
fn pointers_of_the_programs_are_kept() {
    let env = Env::new();
    let context = |n: usize| ptr::without_provenance_mut(n);
    assert!(mdbx_env_get_userctx(env.env).is_null());
    assert_eq!(mdbx_env_set_userctx(env.env, context(5)), 0);
    assert_eq!(mdbx_env_get_userctx(env.env), context(5));
    let mut txn = ptr::null_mut();
    // SAFETY: the pointer is good for writing.
    let code = unsafe { mdbx_txn_begin_ex(env.env, txn, RDONLY, &mut txn, context(6)) };
    assert_eq!((code, mdbx_txn_get_userctx(txn)), (0, context(6)));
    assert_eq!(mdbx_txn_set_userctx(txn, context(7)), 0);
    assert_eq!(mdbx_txn_get_userctx(txn), context(7));
    assert_eq!(mdbx_txn_env(txn), env.env);
    assert_eq!(mdbx_txn_abort(txn), 0);
    assert!(mdbx_txn_get_userctx(txn).is_null() && mdbx_txn_env(txn).is_null());
}

#[test]
fn threads_take_and_give_back_their_place() {
    let env = Env::with(0);
    assert_eq!(mdbx_thread_unregister(env.env), RESULT_TRUE, "it has none");
    assert_eq!(mdbx_thread_register(env.env), 0);
    assert_eq!(mdbx_thread_register(env.env), RESULT_TRUE, "it has one");
    let reader = env.read();
    assert_eq!(mdbx_thread_unregister(env.env), BUSY);
    assert_eq!(mdbx_txn_abort(reader), 0);
    assert_eq!(mdbx_thread_unregister(env.env), 0);
    assert_eq!(mdbx_thread_unregister(env.env), RESULT_TRUE);
    let writer = env.write();
    assert_eq!(mdbx_thread_register(env.env), TXN_OVERLAPPING);
    assert_eq!(mdbx_txn_abort(writer), 0);
    let env = Env::with(NOTLS);
    assert_eq!(mdbx_thread_register(env.env), libc::EINVAL);
}

#[test]
fn readers_are_listed() {
    extern "C" fn each(
        ctx: *mut std::ffi::c_void,
        num: i32,
        _slot: i32,
        pid: libc::pid_t,
        _thread: libc::pthread_t,
        txnid: u64,
        lag: u64,
        used: usize,
        _kept: usize,
    ) -> i32 {
        // SAFETY: the list that is given below.
        let list = unsafe { &mut *ctx.cast::<Vec<(i32, u64, u64)>>() };
        assert_eq!(pid as u32, std::process::id());
        assert!(used > 0);
        list.push((num, txnid, lag));
        if list.len() == 3 { 77 } else { 0 }
    }
    let env = Env::new();
    let list = || {
        let mut list: Vec<(i32, u64, u64)> = Vec::new();
        // SAFETY: the function takes the list.
        let code = unsafe { mdbx_reader_list(env.env, Some(each), (&raw mut list).cast()) };
        (code, list)
    };
    assert_eq!(list(), (RESULT_TRUE, vec![]), "there is none");
    let old = env.read();
    let id = env.commit(1);
    let new = env.read();
    assert_eq!(list(), (0, vec![(1, id - 1, 1), (2, id, 0)]));
    let third = env.read();
    assert_eq!(list().0, 77, "what the program says ends the list");
    assert_eq!([old, new, third].map(|txn| mdbx_txn_abort(txn)), [0; 3]);
    // SAFETY: an answer is not wanted.
    assert_eq!(unsafe { mdbx_reader_check(env.env, ptr::null_mut()) }, 0);
}

/// The main table.
const MAIN: u32 = 1;

fn put(txn: Txn, key: &[u8], value: &[u8]) -> i32 {
    let val = |bytes: &[u8]| MDBX_val {
        iov_base: bytes.as_ptr() as *mut std::ffi::c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: the values live.
    unsafe { mdbx_put(txn, MAIN, &val(key), &mut val(value), 0) }
}

/// Fills more than a third of the file, in place of what was there: there is room for two of them,
/// and not for what a reader sees besides.
fn change_much(env: &Env) -> i32 {
    let txn = env.write();
    let put = put(txn, b"k", &vec![mdbx_txn_id(txn) as u8; 6 << 20]);
    match put {
        0 => mdbx_txn_commit(txn),
        _ => {
            assert_eq!(mdbx_txn_abort(txn), 0);
            put
        }
    }
}

#[test]
fn a_parked_reader_makes_way_and_a_live_one_does_not() {
    let env = Env::with(NOTLS);
    assert_eq!(change_much(&env), 0);
    let reader = env.read();
    let id = mdbx_txn_id(reader);
    assert_eq!(mdbx_txn_unpark(reader, false), 0, "it was not parked");
    assert_eq!(mdbx_txn_park(reader, false), 0);
    assert_eq!(mdbx_txn_park(reader, false), 0, "twice is fine");
    assert_eq!((noted(reader), mdbx_txn_id(reader)), (Err(BAD_TXN), id));
    assert_eq!(mdbx_txn_unpark(reader, true), 0, "it was not evicted");
    assert!(noted(reader).is_ok());
    assert_eq!(change_much(&env), 0);
    assert_eq!(change_much(&env), MAP_FULL, "it reads");
    assert_eq!(mdbx_txn_park(reader, true), 0);
    assert_eq!(change_much(&env), 0);
    assert_eq!(noted(reader), Err(BAD_TXN), "its snapshot is gone");
    assert_eq!(mdbx_txn_unpark(reader, true), BAD_TXN, "and was said to be");
    assert_eq!(mdbx_txn_renew(reader), 0);
    assert_eq!(mdbx_txn_park(reader, false), 0);
    assert_eq!([change_much(&env), change_much(&env)], [0, 0]);
    assert_eq!(mdbx_txn_unpark(reader, true), RESULT_TRUE, "it sees the newest");
    assert!(mdbx_txn_id(reader) > id);
    assert_eq!(mdbx_txn_abort(reader), 0);
}

#[test]
fn cursors_of_a_transaction_are_released_at_once() {
    let env = Env::new();
    let (reader, other) = (env.read(), env.read());
    let open = |txn| {
        let mut cursor = ptr::null_mut();
        // SAFETY: the pointer is good for writing.
        assert_eq!(unsafe { mdbx_cursor_open(txn, MAIN, &mut cursor) }, 0);
        cursor
    };
    let (kept, own) = (open(other), [open(reader), open(reader)]);
    let mut count = 0;
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdbx_txn_release_all_cursors_ex(reader, true, &mut count) }, 0);
    assert_eq!(count, 2);
    assert!(mdbx_cursor_txn(own[0]).is_null(), "it is of nothing");
    assert_eq!(mdbx_cursor_bind(reader, own[0], MAIN), 0);
    assert_eq!(mdbx_txn_release_all_cursors(reader, false), 0);
    assert_eq!(mdbx_cursor_bind(reader, own[0], MAIN), EBADSIGN, "it was closed");
    assert_eq!(mdbx_cursor_bind(reader, own[1], MAIN), 0, "it was not bound");
    assert_eq!(mdbx_cursor_txn(kept), other);
    [own[1], kept].into_iter().for_each(|cursor| mdbx_cursor_close(cursor));
    assert_eq!([reader, other].map(|txn| mdbx_txn_abort(txn)), [0, 0]);
}

#[test]
fn cursors_are_released_beside_threads_that_use_others() {
    let env = Env::new();
    let (reader, other) = (env.read(), env.read());
    let (handle, mut cursor) = (reader as usize, ptr::null_mut());
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdbx_cursor_open(other, MAIN, &mut cursor) }, 0);
    let first = || {
        // SAFETY: nothing is wanted of the record.
        unsafe { mdbx_cursor_get(cursor, ptr::null_mut(), ptr::null_mut(), FIRST) }
    };
    let release = || mdbx_txn_release_all_cursors(handle as *mut MDBX_txn, true);
    let refused = std::thread::scope(|threads| {
        let releasing = threads.spawn(|| assert!((0..20_000).all(|_| release() == 0)));
        let mut refused = None;
        while !releasing.is_finished() {
            refused = refused.or(Some(first()).filter(|&code| code != NOTFOUND));
        }
        refused
    });
    assert_eq!(refused, None, "the table is empty");
    mdbx_cursor_close(cursor);
    assert_eq!([reader, other].map(|txn| mdbx_txn_abort(txn)), [0, 0]);
}

#[test]
fn the_callback_is_told_when_the_writer_goes_on() {
    use std::sync::Mutex;
    static READER: Mutex<usize> = Mutex::new(0);
    static CALLS: Mutex<Vec<(i32, i32, u64)>> = Mutex::new(Vec::new());
    extern "C" fn ask(
        env: *const MDBX_env,
        txn: *const MDBX_txn,
        pid: libc::pid_t,
        _thread: libc::pthread_t,
        laggard: u64,
        _gap: u32,
        _space: usize,
        retry: i32,
    ) -> i32 {
        assert_eq!(mdbx_txn_env(txn), env.cast_mut());
        CALLS.lock().unwrap().push((pid, retry, laggard));
        if retry == 1 {
            assert_eq!(mdbx_txn_reset(*READER.lock().unwrap() as Txn), 0);
        }
        0
    }
    let env = Env::with(NOTLS);
    // SAFETY: the function may be called by any thread.
    assert_eq!(unsafe { mdbx_env_set_hsr(env.env, Some(ask)) }, 0);
    assert!(mdbx_env_get_hsr(env.env).is_some());
    assert_eq!(change_much(&env), 0);
    let reader = env.read();
    let id = mdbx_txn_id(reader);
    *READER.lock().unwrap() = reader as usize;
    assert_eq!(change_much(&env), 0);
    assert_eq!(change_much(&env), 0, "the reader was ended");
    let pid = std::process::id() as i32;
    let first = [(pid, 0, id), (pid, 1, id)];
    let calls = CALLS.lock().unwrap();
    assert_eq!(calls[..2], first, "{calls:?}");
    assert!(calls.iter().filter(|(pid, retry, _)| (*pid, *retry) == (0, -1)).count() > 0);
    drop(calls);
    // SAFETY: there is none.
    assert_eq!(unsafe { mdbx_env_set_hsr(env.env, None) }, 0);
    assert!(mdbx_env_get_hsr(env.env).is_none());
    assert_eq!(mdbx_txn_abort(reader), 0);
}

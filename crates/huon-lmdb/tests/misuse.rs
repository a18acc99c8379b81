//! What LMDB would crash on, or worse, is an error code.

#[path = "api/common/mod.rs"]
mod common;
#[path = "../../huon-c/tests/common/forked.rs"]
mod forked;

use std::ptr;

use common::*;
use forked::in_child;

#[test]
fn closed_handles_are_refused() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.read();
    let c = cursor(txn, dbi);
    mdb_cursor_close(c);
    mdb_cursor_close(c);
    assert_eq!(go(c, FIRST), Err(libc::EINVAL));
    assert!(mdb_cursor_txn(c).is_null());
    mdb_txn_abort(txn);
    mdb_txn_abort(txn);
    assert_eq!(mdb_txn_commit(txn), libc::EINVAL);
    assert_eq!(get(txn, dbi, b"k"), Err(libc::EINVAL));
    assert_eq!(mdb_txn_id(txn), 0);
    assert!(mdb_txn_env(txn).is_null());
    mdb_env_close(env.env);
    mdb_env_close(env.env);
    assert_eq!(env.begin_as(ptr::null_mut(), 0), Err(libc::EINVAL));
    assert_eq!(mdb_env_sync(env.env, 1), libc::EINVAL);
}

#[test]
fn null_and_strange_pointers_are_refused() {
    assert_eq!(mdb_txn_commit(ptr::null_mut()), libc::EINVAL);
    mdb_txn_abort(ptr::null_mut());
    mdb_env_close(ptr::null_mut());
    mdb_cursor_close(ptr::null_mut());
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    assert_eq!(mdb_txn_commit(env.env.cast()), libc::EINVAL, "another kind of handle");
    assert_eq!(get(txn.cast::<u8>().wrapping_add(1).cast(), dbi, b"k"), Err(libc::EINVAL));
    // SAFETY: null pointers are what is tried here.
    unsafe {
        assert_eq!(mdb_put(txn, dbi, ptr::null_mut(), ptr::null_mut(), 0), libc::EINVAL);
        assert_eq!(mdb_get(txn, dbi, &mut val(b"k"), ptr::null_mut()), libc::EINVAL);
        let mut nowhere = MDB_val { mv_size: 5, mv_data: ptr::null_mut() };
        assert_eq!(mdb_put(txn, dbi, &mut val(b"k"), &mut nowhere, 0), libc::EINVAL);
        assert_eq!(mdb_env_create(ptr::null_mut()), libc::EINVAL);
        assert_eq!(mdb_env_info(env.env, ptr::null_mut()), libc::EINVAL);
        assert_eq!(mdb_env_open(env.env, ptr::null(), 0, 0), libc::EINVAL);
    }
    for dbi in [0, 99, u32::MAX] {
        assert_eq!(get(txn, dbi, b"k"), Err(libc::EINVAL), "{dbi} is not open");
    }
    mdb_txn_abort(txn);
}

#[test]
fn an_environment_that_is_not_open_does_nothing() {
    let env = create();
    let mut txn = ptr::null_mut();
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdb_txn_begin(env, ptr::null_mut(), 0, &mut txn) }, libc::EINVAL);
    assert_eq!(mdb_env_sync(env, 1), libc::EINVAL);
    mdb_env_close(env);
}

#[test]
fn transactions_left_open_are_of_no_use_when_the_environment_is_closed() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let (txn, reader) = (env.begin(), env.read());
    let c = cursor(reader, dbi);
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    mdb_env_close(env.env);
    assert_eq!(get(reader, dbi, b"k"), Err(BAD_TXN));
    assert_eq!(go(c, FIRST), Err(BAD_TXN));
    assert_eq!(put(txn, dbi, b"k", b"v", 0), BAD_TXN);
    mdb_cursor_close(c);
    mdb_txn_abort(reader);
    mdb_txn_abort(txn);
}

#[test]
fn a_transaction_may_end_on_another_thread() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    let address = txn as usize;
    let ended = std::thread::spawn(move || mdb_txn_commit(address as Txn)).join().unwrap();
    assert_eq!(ended, 0);
    let txn = env.begin();
    assert_eq!(get(txn, dbi, b"k"), Ok(b"v".to_vec()));
    mdb_txn_abort(txn);
}

#[test]
fn what_a_thread_leaves_open_ends_with_it() {
    let env = Env::with(0);
    let handle = env.env as usize;
    // There are places for 126.
    let left: Vec<usize> = (0..200)
        .map(|_| {
            let begin = move || {
                let env = Env { env: handle as *mut MDB_env, dir: None };
                std::mem::ManuallyDrop::new(env).read() as usize
            };
            std::thread::spawn(begin).join().unwrap()
        })
        .collect();
    for txn in left {
        assert_eq!(stat(txn as Txn, 1).map(drop), Err(BAD_TXN));
        mdb_txn_abort(txn as Txn);
    }
    mdb_txn_abort(env.read());
}

#[test]
fn a_comparator_that_uses_its_own_transaction_is_refused() {
    static TXN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    static SAID: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);
    use std::sync::atomic::Ordering::Relaxed;
    extern "C" fn compare(a: *const MDB_val, b: *const MDB_val) -> i32 {
        let said = put(TXN.load(Relaxed) as Txn, 2, b"x", b"y", 0);
        SAID.store(said, Relaxed);
        // SAFETY: it is called with two values.
        unsafe { (*a).mv_size.cmp(&(*b).mv_size) as i32 }
    }
    let env = Env::new();
    let txn = env.begin();
    let dbi = dbi_open(txn, Some("t"), CREATE).unwrap();
    // SAFETY: the function takes any two values.
    assert_eq!(unsafe { mdb_set_compare(txn, dbi, Some(compare)) }, 0);
    TXN.store(txn as usize, Relaxed);
    assert_eq!(put(txn, dbi, b"a", b"", 0), 0);
    assert_eq!(put(txn, dbi, b"bb", b"", 0), 0);
    assert_eq!(SAID.load(Relaxed), BAD_TXN);
    mdb_txn_abort(txn);
}

#[test]
fn a_child_process_goes_no_further_with_a_cursor_of_its_parents() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    (0..100_u8).for_each(|n| assert_eq!(put(txn, dbi, &[n], b"v", 0), 0));
    assert_eq!(mdb_txn_commit(txn), 0);
    let c = cursor(env.read(), dbi);
    let next = || go(c, NEXT).map(|(key, _)| key[0]);
    (0..50).for_each(|n| assert_eq!(next(), Ok(n)));
    in_child(|| [NEXT, PREV, GET_CURRENT].map(|op| go(c, op) == Err(PANIC)).to_vec());
    assert_eq!(next(), Ok(50));
}

#[test]
fn a_child_process_has_no_transaction_of_its_parents() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let (reader, txn) = (env.read(), env.begin());
    let of_reader = cursor(reader, dbi);
    in_child(|| {
        let reads = env.begin_as(ptr::null_mut(), RDONLY).is_ok_and(|own| {
            let read = get(own, dbi, b"k") == Err(NOTFOUND);
            mdb_txn_abort(own);
            read
        });
        let refused = [
            reads,
            get(reader, dbi, b"k") == Err(PANIC),
            go(of_reader, FIRST) == Err(PANIC),
            put(txn, dbi, b"k", b"child", 0) == PANIC,
            get(txn, dbi, b"k") == Err(PANIC),
            mdb_txn_commit(txn) == PANIC,
            mdb_txn_renew(reader) == PANIC,
        ];
        mdb_cursor_close(of_reader);
        mdb_txn_abort(reader);
        mdb_env_close(env.env);
        refused.to_vec()
    });
    assert_eq!(put(txn, dbi, b"k", b"parent", 0), 0);
    assert_eq!(mdb_txn_commit(txn), 0);
    mdb_cursor_close(of_reader);
    assert_eq!(mdb_txn_commit(reader), 0);
    let reader = env.read();
    assert_eq!(get(reader, dbi, b"k"), Ok(b"parent".to_vec()));
    mdb_txn_abort(reader);
}

/// As servers do that open all, and then fork their workers.
#[test]
fn a_child_process_goes_on_with_the_environment() {
    for flags in [NOTLS, 0] {
        let env = Env::with(flags);
        let dbi = env.dbi("t", 0);
        let txn = env.begin();
        assert_eq!(put(txn, dbi, b"k", b"parent", 0), 0);
        assert_eq!(mdb_txn_commit(txn), 0);
        // One that rests: programs keep those.
        let rested = env.read();
        mdb_txn_reset(rested);
        let reader = env.read();
        for worker in 0..3_u8 {
            in_child(|| {
                let mut good = vec![];
                if flags & NOTLS != 0 {
                    good.push(mdb_txn_renew(rested) == 0);
                    good.push(get(rested, dbi, b"k") == Ok(b"parent".to_vec()));
                    mdb_txn_abort(rested);
                }
                let own = env.begin_as(ptr::null_mut(), RDONLY);
                good.push(own.is_ok_and(|own| get(own, dbi, b"k") == Ok(b"parent".to_vec())));
                own.into_iter().for_each(|own| mdb_txn_abort(own));
                let own = env.begin();
                good.push(put(own, dbi, &[worker], b"child", 0) == 0);
                good.push(mdb_txn_commit(own) == 0);
                // What the parent opened later under that handle is nothing of the child's.
                good.push(env.dbi("another", 0) > dbi);
                mdb_env_close(env.env);
                good
            });
        }
        assert_eq!(get(reader, dbi, b"k"), Ok(b"parent".to_vec()));
        assert_eq!(get(reader, dbi, &[0]), Err(NOTFOUND), "it is older");
        mdb_txn_abort(reader);
        let reader = env.read();
        for worker in 0..3 {
            assert_eq!(get(reader, dbi, &[worker]), Ok(b"child".to_vec()));
        }
        mdb_txn_abort(reader);
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
        for flags in [NOTLS, NOTLS | RDONLY, NOTLS | 0x40_0000] {
            let env = Env::at(dir.path(), flags);
            let mut fd = -1;
            // SAFETY: the pointer is good for writing; the other calls only ask.
            unsafe {
                good.push(mdb_env_get_fd(env.env, &mut fd) == 0 && fd >= 3);
                good.push((0..3).all(|n| libc::fcntl(n, libc::F_GETFD) == -1));
            }
            mdb_env_close(env.env);
        }
        good
    });
}

//! Copies of a snapshot that others use meanwhile, and copies that are refused.

use std::ffi::{CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::common::*;

/// What another thread does with the snapshot that is being copied, each time that the copy tells
/// how far it is, and what came of it.
struct Beside {
    txn: usize,
    table: huon_table,
    work: fn(Txn, huon_table) -> c_int,
    codes: Vec<c_int>,
}

extern "C" fn beside(context: *mut c_void, _: *const huon_progress) -> c_int {
    // SAFETY: it is what the test has handed in, which does nothing with it meanwhile.
    let beside = unsafe { &mut *context.cast::<Beside>() };
    let (txn, table, work) = (beside.txn, beside.table, beside.work);
    let code = std::thread::spawn(move || work(txn as Txn, table)).join().unwrap();
    beside.codes.push(code);
    0
}

fn file(env: &Env, name: &str) -> CString {
    CString::new(env.dir.path().join(name).to_str().unwrap()).unwrap()
}

/// Copies a snapshot of one record while another thread works with it; what came of that, each
/// time. There is a newer commit.
fn copied_beside(work: fn(Txn, huon_table) -> c_int, flags: u32) -> (Env, Txn, Vec<c_int>) {
    let env = Env::new();
    let table = env.table(&[("a", "1")]);
    let txn = env.read();
    let newer = env.write();
    ok(put(newer, table, "b", "2"));
    ok(huon_commit(newer));
    let mut beside_it = Beside { txn: txn as usize, table, work, codes: Vec::new() };
    let with = huon_copy_options {
        bytes: size_of::<huon_copy_options>(),
        flags,
        mode: 0,
        snapshot: txn,
        progress: Some(beside),
        context: (&raw mut beside_it).cast(),
    };
    let to = file(&env, "copy");
    // SAFETY: the path ends with a zero byte, the options say how long they are.
    ok(unsafe { huon_copy(env.env, to.as_ptr(), &with, None) });
    // SAFETY: the same.
    let copy = get(|env| unsafe { huon_open(to.as_ptr(), ptr::null_mut(), env) }).unwrap();
    let reader = get(|txn| huon_begin_read(copy, txn)).unwrap();
    // SAFETY: there are no options.
    let t = get(|t| unsafe { huon_table_open(reader, of("t"), ptr::null(), t) }).unwrap();
    assert_eq!(get(|n| huon_count(reader, t, None, n)), Ok(1), "the snapshot");
    ok(huon_abort(reader));
    ok(huon_close(copy));
    (env, txn, beside_it.codes)
}

fn readers(env: &Env) -> usize {
    // SAFETY: there is no room.
    get(|count| unsafe { huon_readers(env.env, ptr::null_mut(), 0, count) }).unwrap()
}

#[test]
fn a_snapshot_is_read_while_it_is_copied() {
    for flags in [0, HUON_COPY_COMPACT] {
        let (env, txn, codes) = copied_beside(|txn, t| huon_get(txn, t, of("a"), None), flags);
        assert!(!codes.is_empty() && codes.iter().all(|code| *code == HUON_OK), "{codes:?}");
        assert_eq!(get(|state| huon_txn_state(txn, state)), Ok(HUON_TXN_READS));
        // It can be moved again once the copy is done.
        ok(huon_reset(txn));
        ok(huon_renew(txn));
        ok(huon_park(txn));
        ok(huon_unpark(txn));
        ok(huon_abort(txn));
        assert_eq!(readers(&env), 0);
        ok(huon_close(env.env));
    }
}

#[test]
fn a_snapshot_is_not_moved_while_it_is_copied() {
    let moves: [fn(Txn, huon_table) -> c_int; 3] =
        [|txn, _| huon_reset(txn), |txn, _| huon_renew(txn), |txn, _| huon_park(txn)];
    for work in moves {
        let (env, txn, codes) = copied_beside(work, 0);
        let is_refused = codes.iter().all(|code| *code == HUON_IN_USE);
        assert!(!codes.is_empty() && is_refused, "{codes:?}");
        ok(huon_abort(txn));
        ok(huon_close(env.env));
    }
}

#[test]
fn a_snapshot_whose_transaction_ends_meanwhile_is_copied_whole() {
    let (env, txn, codes) = copied_beside(|txn, _| huon_abort(txn), 0);
    assert_eq!(codes[0], HUON_OK, "{codes:?}");
    assert!(codes[1..].iter().all(|code| *code == HUON_BAD_HANDLE), "{codes:?}");
    assert_eq!(huon_abort(txn), HUON_BAD_HANDLE);
    assert_eq!(readers(&env), 0, "the copy has let go of it");
    ok(huon_close(env.env));
}

#[test]
fn a_copy_is_of_a_transaction_that_reads() {
    let env = Env::new();
    env.table(&[("a", "1")]);
    let (rests, writes) = (env.read(), env.write());
    ok(huon_reset(rests));
    let to = file(&env, "copy");
    let mut with = huon_copy_options {
        bytes: size_of::<huon_copy_options>(),
        flags: 0,
        mode: 0,
        snapshot: rests,
        progress: None,
        context: ptr::null_mut(),
    };
    for (snapshot, refused) in
        [(rests, HUON_BAD_TXN), (writes, HUON_BAD_TXN), (ptr::dangling_mut(), HUON_BAD_HANDLE)]
    {
        with.snapshot = snapshot;
        // SAFETY: the path ends with a zero byte, the options say how long they are.
        assert_eq!(unsafe { huon_copy(env.env, to.as_ptr(), &with, None) }, refused);
    }
    // Both are as they were.
    ok(huon_renew(rests));
    ok(huon_abort(rests));
    ok(huon_commit(writes));
    ok(huon_close(env.env));
}

/// The number of the system, and the message of the last error.
fn last_error() -> (c_int, String) {
    let mut error = MaybeUninit::uninit();
    huon_last_error(Some(&mut error));
    // SAFETY: it was written.
    (unsafe { error.assume_init() }.system, message())
}

#[test]
fn a_copy_onto_a_file_says_so() {
    let env = Env::new();
    env.table(&[("a", "1")]);
    let to = file(&env, "copy");
    std::fs::write(to.to_str().unwrap(), "of another").unwrap();
    // SAFETY: the path ends with a zero byte, and there are no options.
    assert_eq!(unsafe { huon_copy(env.env, to.as_ptr(), ptr::null(), None) }, HUON_IO);
    let (system, said) = last_error();
    assert_eq!(system, libc::EEXIST, "{said}");
    assert!(said.contains("there is a file of that name"), "{said}");
    assert_eq!(std::fs::read(to.to_str().unwrap()).unwrap(), b"of another");
    // A number that the system has given stays as it is.
    let nowhere = file(&env, "none/copy");
    // SAFETY: the same.
    assert_eq!(unsafe { huon_copy(env.env, nowhere.as_ptr(), ptr::null(), None) }, HUON_IO);
    assert_eq!(last_error().0, libc::ENOENT);
    ok(huon_close(env.env));
}

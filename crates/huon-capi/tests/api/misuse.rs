//! What C may do wrong is answered with a code.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::common::*;

#[test]
fn closed_handles_are_refused() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    let reader = env.read();
    let cursor = get(|cursor| huon_cursor_open(reader, t, None, cursor)).unwrap();
    ok(huon_cursor_close(cursor));
    assert_eq!(huon_cursor_close(cursor), HUON_BAD_HANDLE);
    assert_eq!(get(|pair| huon_cursor_next(cursor, reader, pair)).err(), Some(HUON_BAD_HANDLE));
    ok(huon_abort(reader));
    assert_eq!(huon_abort(reader), HUON_BAD_HANDLE);
    assert_eq!(huon_commit(reader), HUON_BAD_HANDLE);
    assert_eq!(value(reader, t, "a"), Err(HUON_BAD_HANDLE));
    assert!(message().starts_with("huon_get: the handle was closed"), "{}", message());
    let txn = env.write();
    ok(huon_commit(txn));
    assert_eq!(put(txn, t, "a", "2"), HUON_BAD_HANDLE);
    ok(huon_close(env.env));
    assert_eq!(huon_close(env.env), HUON_BAD_HANDLE);
    assert_eq!(get(|txn| huon_begin_read(env.env, txn)).err(), Some(HUON_BAD_HANDLE));
}

#[test]
fn null_and_strange_handles_are_refused() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    for code in [
        huon_close(ptr::null_mut()),
        huon_abort(ptr::null_mut()),
        huon_cursor_close(ptr::null_mut()),
        huon_options_free(ptr::null_mut()),
        huon_ticket_free(ptr::null_mut()),
        huon_batch_free(ptr::null_mut()),
        huon_compactor_stop(ptr::null_mut()),
        huon_lsm_close(ptr::null_mut()),
        huon_lsm_table_close(ptr::null_mut()),
    ] {
        ok(code);
    }
    // SAFETY: there are no options.
    let lsm = get(|lsm| unsafe { huon_lsm_open(env.env, ptr::null(), lsm) }).unwrap();
    let batch = get(|batch| huon_batch_new(lsm, batch)).unwrap();
    ok(huon_lsm_close(lsm));
    assert_eq!(huon_lsm_write(lsm, batch, None), HUON_BAD_HANDLE);
    assert_eq!(huon_batch_free(batch), HUON_BAD_HANDLE, "it is none any more");
    let txn = env.write();
    assert_eq!(huon_commit(ptr::null_mut()), HUON_BAD_HANDLE);
    assert_eq!(huon_commit(env.env.cast()), HUON_BAD_HANDLE, "another kind");
    assert_eq!(huon_sync(txn.cast(), None), HUON_BAD_HANDLE);
    assert_eq!(value(txn.wrapping_byte_add(1), t, "a"), Err(HUON_BAD_HANDLE));
    assert_eq!(huon_begin_read(env.env, None), HUON_BAD_ARGUMENT);
    assert_eq!(huon_first(txn, t, None), HUON_BAD_ARGUMENT);
    // SAFETY: null pointers are what is tried here.
    unsafe {
        assert_eq!(huon_delete(ptr::null()), HUON_BAD_ARGUMENT);
        let many = huon_get_many(txn, t, ptr::null(), 3, ptr::null_mut(), None);
        assert_eq!(many, HUON_BAD_ARGUMENT);
        ok(huon_get_many(txn, t, ptr::null(), 0, ptr::null_mut(), None));
        let all = huon_put_many(txn, t, (&raw const t).cast(), usize::MAX, None);
        assert_eq!(all, HUON_BAD_ARGUMENT);
        assert_eq!(huon_set_markers(txn, ptr::null()), HUON_BAD_ARGUMENT);
        #[repr(C)]
        struct Raw(*const u8, usize);
        let nowhere = std::mem::transmute::<Raw, huon_bytes<'_>>(Raw(ptr::null(), 5));
        assert_eq!(huon_get(txn, t, nowhere, None), HUON_BAD_ARGUMENT);
        let empty = std::mem::transmute::<Raw, huon_bytes<'_>>(Raw(ptr::null(), 0));
        ok(huon_put(txn, t, empty, empty, None));
        assert_eq!(seen(huon_str(ptr::null())), Some(Vec::new()));
    }
    ok(huon_abort(txn));
}

#[test]
fn tables_of_others_are_refused() {
    let (env, other) = (Env::new(), Env::new());
    let t = env.table(&[("a", "1")]);
    let txn = other.write();
    assert_eq!(value(txn, t, "a"), Err(HUON_INVALID));
    assert!(message().contains("another environment"), "{}", message());
    let m = multi(txn, "m").unwrap();
    // SAFETY: the layouts are the same; it is what a cast in C does.
    let (as_table, stray, zero) = unsafe {
        (
            std::mem::transmute::<huon_multi, huon_table>(m),
            std::mem::transmute::<[u64; 2], huon_table>([0xdead_beef; 2]),
            std::mem::zeroed::<huon_table>(),
        )
    };
    for table in [as_table, stray, zero] {
        assert_eq!(value(txn, table, "a"), Err(HUON_BAD_HANDLE));
    }
    let u = create(txn, "u").unwrap();
    ok(huon_table_drop(txn, u));
    assert_eq!(value(txn, u, "a"), Err(HUON_TABLE_NOT_FOUND));
    ok(huon_abort(txn));
}

#[test]
fn a_transaction_is_used_by_one_call_at_a_time() {
    let env = Env::new();
    let t = env.table(&[]);
    let txn = env.write();
    let mut within = Within { txn, table: t, codes: Vec::new() };
    let fed = huon_bulk_append(txn, t, Some(next), (&raw mut within).cast());
    assert_eq!(fed, HUON_OK);
    assert_eq!(within.codes, [HUON_IN_USE; 3], "around a callback");
    ok(huon_commit(txn));
    // Threads that read by one transaction wait for each other.
    let reader = env.read() as usize;
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(move || {
                for _ in 0..1000 {
                    assert_eq!(value(reader as Txn, t, "a").as_deref(), Err(&HUON_NOT_FOUND));
                }
            });
        }
    });
    ok(huon_abort(reader as Txn));
}

struct Within {
    txn: Txn,
    table: huon_table,
    codes: Vec<c_int>,
}

extern "C" fn next(context: *mut c_void, _: *mut huon_pair<'static>) -> c_int {
    // SAFETY: the context is that of the test above.
    let Within { txn, table, codes } = unsafe { &mut *context.cast() };
    codes.push(put(*txn, *table, "x", "y"));
    codes.push(huon_commit(*txn));
    codes.push(huon_abort(*txn));
    HUON_NOT_FOUND
}

#[test]
fn a_transaction_moves_between_threads() {
    let env = Env::new();
    let t = env.table(&[]);
    let txn = env.write() as usize;
    let ended = std::thread::spawn(move || {
        ok(put(txn as Txn, t, "a", "1"));
        huon_commit(txn as Txn)
    });
    ok(ended.join().unwrap());
    let reader = env.read();
    assert_eq!(value(reader, t, "a").as_deref(), Ok("1"));
    ok(huon_abort(reader));
}

#[test]
fn a_second_writer_in_one_thread_is_refused() {
    let env = Env::new();
    let txn = env.write();
    assert_eq!(get(|txn| huon_begin_write(env.env, -1, txn)).err(), Some(HUON_THREAD_WRITES));
    ok(huon_abort(txn));
}

#[test]
fn what_a_closed_environment_has_shown_stays_until_the_transaction_ends() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    let reader = env.read();
    let shown = get(|value| huon_get(reader, t, of("a"), value)).unwrap();
    assert_eq!(huon_close(env.env), HUON_STILL_SHARED);
    assert_eq!(seen(shown).as_deref(), Some(&b"1"[..]));
    assert_eq!(value(reader, t, "a").as_deref(), Ok("1"));
    ok(huon_abort(reader));
}

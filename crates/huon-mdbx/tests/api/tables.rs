//! Tables: kinds, handles, names.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use crate::common::records::*;
use crate::common::*;

/// What a table is to a transaction.
const DIRTY: u32 = 1;
const NEW: u32 = 4 | 8;

#[test]
fn a_table_is_opened_as_what_it_is() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("k", "v")]);
    for flags in [0, DUPSORT, CREATE | DUPSORT, DB_ACCEDE] {
        assert_eq!(open(txn, Some("t"), flags), Ok(dbi), "{flags:x}");
    }
    for flags in [CREATE, REVERSEKEY, CREATE | DUPSORT | DUPFIXED] {
        assert_eq!(open(txn, Some("t"), flags), Err(INCOMPATIBLE), "{flags:x}");
    }
    let senseless = [1, 0x8_0000, DUPFIXED, INTEGERDUP, DUPSORT | INTEGERDUP, DB_ACCEDE | DUPSORT];
    for flags in senseless {
        assert_eq!(open(txn, Some("t"), CREATE | flags), Err(libc::EINVAL), "{flags:x}");
    }
    assert_eq!(open(txn, Some("none"), 0), Err(NOTFOUND));
    assert_eq!(open(txn, Some(""), CREATE), Err(libc::EINVAL));
    assert_eq!(mdbx_txn_commit(txn), 0);
    // A client that has not opened it yet gets the same error.
    let path = env.path().to_owned();
    let dir = {
        let mut env = env;
        env.dir.take()
    };
    let env = Env::at(&path, NOTLS);
    let txn = env.read();
    assert_eq!(open(txn, Some("t"), CREATE), Err(INCOMPATIBLE));
    assert_eq!(open(txn, Some("none"), CREATE), Err(libc::EACCES));
    let dbi = open(txn, Some("t"), DB_ACCEDE).unwrap();
    assert_eq!(flags(txn, dbi), Ok((DUPSORT, 0)));
    drop((env, dir));
}

#[test]
fn an_empty_table_becomes_what_is_asked_for() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[]);
    assert_eq!(open(txn, Some("t"), DUPSORT), Err(INCOMPATIBLE), "that makes nothing");
    assert_eq!(open(txn, Some("t"), CREATE | DUPSORT), Ok(dbi));
    assert_eq!(put(txn, dbi, b"k", b"2", 0), 0);
    assert_eq!(put(txn, dbi, b"k", b"1", 0), 0);
    assert_eq!(values(txn, dbi, b"k"), [b"1", b"2"]);
    assert_eq!(mdbx_txn_commit(txn), 0);
    let txn = env.read();
    assert_eq!(flags(txn, dbi), Ok((DUPSORT, 0)));
    let empty = table(&env_of(&env), "u", 0);
    assert_eq!(mdbx_txn_renew(txn), 0);
    assert_eq!(open(txn, Some("u"), CREATE | DUPSORT), Err(libc::EACCES));
    assert_eq!(open(txn, Some("u"), 0), Ok(empty));
}

/// The same environment in the hands of another thread, which may write while this one reads.
fn env_of(env: &Env) -> std::mem::ManuallyDrop<Env> {
    std::mem::ManuallyDrop::new(Env { env: env.env, dir: None })
}

#[test]
fn an_existing_table_is_shared_at_once_and_a_new_one_after_its_commit() {
    let env = Env::new();
    let (txn, old) = filled(&env, 0, &[("k", "v")]);
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(mdbx_dbi_close(env.env, old), 0);
    assert_eq!(mdbx_dbi_close(env.env, old), BAD_DBI);
    let txn = env.write();
    let old = open(txn, Some("t"), 0).unwrap();
    let new = open(txn, Some("new"), CREATE).unwrap();
    assert_eq!((flags(txn, old), flags(txn, new)), (Ok((0, 0)), Ok((0, NEW | DIRTY))));
    assert_eq!(mdbx_dbi_close(env.env, new), BAD_DBI, "it is this transaction's alone");
    assert_eq!(put(txn, old, b"l", b"", 0), 0);
    assert_eq!(flags(txn, old), Ok((0, DIRTY)));
    // Also when the transaction has gone on under other ids.
    let value = vec![1; 100_000];
    (0..30).for_each(|_| assert_eq!(put(txn, new, b"large", &value, 0), 0));
    assert_eq!(flags(txn, old), Ok((0, DIRTY)));
    assert_eq!(mdbx_txn_abort(txn), 0);
    let txn = env.read();
    assert_eq!(get(txn, old, b"k"), Ok(b"v".to_vec()));
    assert_eq!(get(txn, new, b"k"), Err(BAD_DBI));
    for never in [1, 77] {
        assert_eq!(mdbx_dbi_close(env.env, never), BAD_DBI);
    }
}

#[test]
fn the_main_table_can_be_of_any_kind_while_it_is_empty() {
    let env = Env::new();
    let txn = env.write();
    assert_eq!(open(txn, None, DUPSORT), Err(INCOMPATIBLE), "that makes nothing");
    let main = open(txn, None, CREATE | DUPSORT).unwrap();
    assert_eq!((put(txn, main, b"k", b"1", 0), put(txn, main, b"k", b"2", 0)), (0, 0));
    assert_eq!(values(txn, main, b"k").len(), 2);
    assert_eq!(open(txn, Some("t"), CREATE), Err(INCOMPATIBLE));
    assert_eq!(mdbx_txn_commit(txn), 0);
    let txn = env.read();
    assert_eq!(open(txn, None, 0), Ok(main));
    assert_eq!(flags(txn, main), Ok((DUPSORT, 0)));
    assert_eq!(names(txn), [] as [(String, u64); 0]);
}

#[test]
fn names_of_tables_are_not_overwritten() {
    let env = Env::new();
    let (txn, _) = filled(&env, 0, &[("k", "v")]);
    let main = open(txn, None, 0).unwrap();
    assert_eq!(put(txn, main, b"plain", b"x", 0), 0);
    assert_eq!(put(txn, main, b"t", b"x", 0), INCOMPATIBLE);
    assert_eq!(del(txn, main, b"t", None), INCOMPATIBLE);
    assert_eq!(mdbx_drop(txn, main, false), INCOMPATIBLE);
    assert_eq!(get(txn, main, b"t").map(|record| record.len()), Ok(48));
    assert_eq!(mdbx_txn_commit(txn), 0, "and nothing else went wrong");
}

unsafe extern "C" fn note(
    notes: *mut c_void,
    _: *const MDBX_txn,
    name: *const MDBX_val,
    _: c_uint,
    stat: *const MDBX_stat,
    _: MDBX_dbi,
) -> c_int {
    // SAFETY: they are what `names` and the library have passed.
    let (notes, name, stat) = unsafe { (&mut *notes.cast::<Vec<_>>(), *name, &*stat) };
    notes.push((String::from_utf8(bytes(name)).unwrap(), stat.ms_entries));
    if notes.len() == 3 { 7 } else { 0 }
}

/// The first three tables, with how many records they have.
fn names(txn: Txn) -> Vec<(String, u64)> {
    let mut notes: Vec<(String, u64)> = Vec::new();
    // SAFETY: the function takes the list.
    let code = unsafe { mdbx_enumerate_tables(txn, Some(note), (&raw mut notes).cast()) };
    assert_eq!(code, if notes.len() == 3 { 7 } else { 0 });
    notes
}

#[test]
fn tables_are_renamed_and_listed() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("k", "v")]);
    let rename = |dbi, name: &[u8]| {
        // SAFETY: the value lives.
        unsafe { mdbx_dbi_rename2(txn, dbi, &val(name)) }
    };
    assert!(open(txn, Some("taken"), CREATE).is_ok());
    assert_eq!(rename(dbi, b"taken"), KEYEXIST);
    assert_eq!(rename(1, b"x"), libc::EINVAL);
    assert_eq!(rename(77, b"x"), BAD_DBI);
    assert_eq!(rename(dbi, b"other"), 0);
    assert_eq!(get(txn, dbi, b"k"), Ok(b"v".to_vec()));
    assert_eq!(open(txn, Some("t"), 0), Err(NOTFOUND));
    assert_eq!(open(txn, Some("other"), 0), Ok(dbi));
    assert_eq!(names(txn), [("other".into(), 1), ("taken".into(), 0)]);
    assert!(open(txn, Some("a"), CREATE).is_ok() && open(txn, Some("b"), CREATE).is_ok());
    assert_eq!(names(txn).len(), 3, "the function has it ended");
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(get(env.read(), dbi, b"k"), Ok(b"v".to_vec()));
}

#[test]
fn a_sequence_gives_numbers_until_there_are_no_more() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[]);
    let next = |txn, add| {
        let mut number = 99;
        // SAFETY: the pointer is good for writing.
        let code = unsafe { mdbx_dbi_sequence(txn, dbi, &mut number, add) };
        (code, number)
    };
    assert_eq!([next(txn, 0), next(txn, 5), next(txn, 1)], [(0, 0), (0, 0), (0, 5)]);
    assert_eq!(next(txn, u64::MAX), (RESULT_TRUE, 6));
    assert_eq!(next(txn, u64::MAX - 6), (0, 6));
    assert_eq!(mdbx_txn_commit(txn), 0);
    let txn = env.read();
    assert_eq!([next(txn, 0), next(txn, 1)], [(0, u64::MAX), (libc::EACCES, u64::MAX)]);
}

#[test]
fn a_table_is_emptied_or_deleted() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("k", "1"), ("k", "2")]);
    let c = cursor(txn, dbi);
    assert!(go(c, FIRST).is_ok());
    assert_eq!(stat(txn, dbi).map(|stat| stat.ms_entries), Ok(2));
    assert_eq!(mdbx_drop(txn, dbi, false), 0);
    assert_eq!((go(c, NEXT), stat(txn, dbi).unwrap().ms_entries), (Err(NOTFOUND), 0));
    assert_eq!(mdbx_drop(txn, dbi, true), 0);
    assert_eq!(stat(txn, dbi).map(|_| ()), Err(BAD_DBI));
    assert_eq!(open(txn, Some("t"), 0), Err(NOTFOUND));
    assert_eq!(mdbx_drop(txn, 0, false), libc::EACCES);
    let mut short = MDBX_stat::default();
    // SAFETY: the pointer is good for writing so much.
    assert_eq!(unsafe { mdbx_dbi_stat(txn, 1, &mut short, 47) }, libc::EINVAL);
    // SAFETY: as before.
    assert_eq!(unsafe { mdbx_dbi_stat(txn, 1, &mut short, 40) }, 0);
}

#[test]
fn how_the_values_of_keys_lie_is_told_by_bits() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("one", "1")]);
    let mask = |dbi| {
        let mut mask = 99;
        // SAFETY: the pointer is good for writing.
        (unsafe { mdbx_dbi_dupsort_depthmask(txn, dbi, &mut mask) }, mask)
    };
    assert_eq!(mask(dbi), (0, 1));
    assert_eq!((put(txn, dbi, b"few", b"1", 0), put(txn, dbi, b"few", b"2", 0)), (0, 0));
    assert_eq!(mask(dbi), (0, 3));
    for n in 0..2000_u32 {
        assert_eq!(put(txn, dbi, b"many", &n.to_be_bytes(), 0), 0);
    }
    assert_eq!(mask(dbi), (0, 7));
    assert_eq!(mask(1), (RESULT_TRUE, 0));
}

unsafe extern "C" fn backwards(a: *const MDBX_val, b: *const MDBX_val) -> c_int {
    // SAFETY: the library passes two values.
    unsafe { bytes(*b).cmp(&bytes(*a)) as c_int }
}

unsafe extern "C" fn forwards(a: *const MDBX_val, b: *const MDBX_val) -> c_int {
    // SAFETY: the library passes two values.
    unsafe { bytes(*a).cmp(&bytes(*b)) as c_int }
}

#[test]
fn a_program_orders_by_one_function() {
    let env = Env::new();
    let txn = env.write();
    let open_ex = |keys, values| {
        let (name, mut dbi) = (c"t".as_ptr(), 99);
        // SAFETY: a text; the functions take any values.
        let code = unsafe { mdbx_dbi_open_ex(txn, name, CREATE | DUPSORT, &mut dbi, keys, values) };
        (code, dbi)
    };
    let (code, dbi) = open_ex(Some(backwards), None);
    assert_eq!(code, 0);
    let of_values = mdbx_get_datacmp(DUPSORT);
    assert_eq!(open_ex(Some(backwards), of_values), (0, dbi), "that is its own order");
    assert_eq!(open_ex(Some(forwards), None), (libc::EINVAL, 0));
    assert_eq!(open_ex(mdbx_get_keycmp(0), None), (libc::EINVAL, 0));
    for (key, value) in [("a", "1"), ("b", "2"), ("b", "1")] {
        assert_eq!(put(txn, dbi, key.as_bytes(), value.as_bytes(), 0), 0);
    }
    let c = cursor(txn, dbi);
    assert_eq!([go(c, NEXT), go(c, NEXT)], [pair("b", "1"), pair("b", "2")]);
    // SAFETY: the values live.
    assert!(unsafe { mdbx_cmp(txn, dbi, &val(b"a"), &val(b"b")) } > 0);
    let last = ptr::null_mut();
    // SAFETY: null is not compared.
    assert_eq!(unsafe { mdbx_cmp(txn, dbi, last, &val(b"b")) }, 0);
}

#[test]
fn free_pages_are_a_table_without_records_for_readers() {
    let env = Env::new();
    let txn = env.read();
    assert_eq!(stat(txn, 0), Ok(MDBX_stat { ms_psize: 4096, ..MDBX_stat::default() }));
    assert_eq!(flags(txn, 0), Ok((INTEGERKEY, 0)));
    let c = cursor(txn, 0);
    for op in [FIRST, NEXT, LAST, PREV, SET_RANGE] {
        assert_eq!(go(c, op), Err(NOTFOUND));
    }
    assert_eq!(go(c, GET_CURRENT), Err(libc::ENODATA));
    for is in [mdbx_cursor_eof, mdbx_cursor_on_first, mdbx_cursor_on_last] {
        assert_eq!(is(c), RESULT_TRUE);
    }
    assert_eq!(go(c, PREV_DUP), Err(NOTFOUND));
    assert_eq!(get(txn, 0, b""), Err(BAD_DBI));
    assert_eq!(mdbx_txn_abort(txn), 0);
    let txn = env.write();
    assert_eq!(mdbx_cursor_bind(txn, c, 0), libc::EACCES);
    assert_eq!((put(txn, 0, b"", b"", 0), mdbx_drop(txn, 0, false)), (BAD_DBI, libc::EACCES));
}

#[test]
fn there_is_room_for_as_many_tables_as_were_asked_for() {
    let env = Env::new();
    let txn = env.write();
    for n in 0..8 {
        assert!(open(txn, Some(&format!("t{n}")), CREATE).is_ok());
    }
    assert_eq!(open(txn, Some("t8"), CREATE), Err(DBS_FULL));
    assert!(open(txn, Some("t7"), 0).is_ok());
}

#[test]
fn threads_that_open_tables_at_once_get_handles_of_their_own() {
    let env = Env::new();
    let names: Vec<String> = (0..8).map(|n| format!("t{n}")).collect();
    let txn = env.write();
    for name in &names {
        let dbi = open(txn, Some(name), CREATE).unwrap();
        assert_eq!(put(txn, dbi, b"name", name.as_bytes(), 0), 0);
    }
    assert_eq!(mdbx_txn_commit(txn), 0);
    let path = env.path().to_owned();
    for _ in 0..50 {
        let again = Env::at(&path, NOTLS);
        let handle = Sent(again.env as usize);
        let found: Vec<(u32, Vec<u8>)> = std::thread::scope(|threads| {
            let look = |name: &String| {
                let (handle, name) = (handle, name.clone());
                threads.spawn(move || {
                    let env = env_of_handle(handle);
                    let txn = env.read();
                    let dbi = open(txn, Some(&name), 0).unwrap();
                    let value = get(txn, dbi, b"name").unwrap();
                    assert_eq!(value, name.as_bytes());
                    assert_eq!(mdbx_txn_abort(txn), 0);
                    (dbi, value)
                })
            };
            let threads: Vec<_> = names.iter().map(look).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let txn = again.read();
        for (dbi, value) in found {
            assert_eq!(get(txn, dbi, b"name"), Ok(value), "the handle is still that of the table");
        }
        assert_eq!(mdbx_txn_abort(txn), 0);
    }
}

fn env_of_handle(env: Sent) -> std::mem::ManuallyDrop<Env> {
    std::mem::ManuallyDrop::new(Env { env: env.0 as *mut MDBX_env, dir: None })
}

#[test]
fn tables_are_made_and_dropped_without_end() {
    let env = Env::with(NOTLS | UTTERLY_NOSYNC);
    for n in 0..100_000 {
        let txn = env.write();
        let dbi = open(txn, Some(&format!("table-{n}")), CREATE).unwrap();
        assert!(dbi < 8, "the lowest free handle");
        assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
        assert_eq!(open(txn, Some(&format!("missing-{n}")), 0), Err(NOTFOUND));
        match n % 3 {
            0 => assert_eq!(mdbx_txn_abort(txn), 0),
            1 => {
                assert_eq!(mdbx_drop(txn, dbi, true), 0);
                assert_eq!(mdbx_txn_commit(txn), 0);
            }
            _ => {
                assert_eq!(mdbx_txn_commit(txn), 0);
                let txn = env.write();
                assert_eq!(mdbx_drop(txn, dbi, true), 0);
                assert_eq!(mdbx_txn_commit(txn), 0);
            }
        }
    }
    let txn = env.write();
    let dbi = open(txn, Some("one more"), CREATE).unwrap();
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    assert_eq!(mdbx_txn_commit(txn), 0);
}

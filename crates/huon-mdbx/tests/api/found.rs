//! What random histories of calls have found, each as small as it can be.

use std::ffi::{CString, c_int};

use crate::common::records::*;
use crate::common::*;

fn sequence(txn: Txn, dbi: u32, add: u64) -> Result<u64, i32> {
    let mut now = 0;
    // SAFETY: the pointer is good for writing.
    match unsafe { mdbx_dbi_sequence(txn, dbi, &mut now, add) } {
        0 => Ok(now),
        code => Err(code),
    }
}

fn rename(txn: Txn, dbi: u32, name: &str) -> i32 {
    let name = CString::new(name).unwrap();
    // SAFETY: a text that ends with a zero byte.
    unsafe { mdbx_dbi_rename(txn, dbi, name.as_ptr()) }
}

#[test]
fn the_name_of_a_table_is_not_put_over_even_where_a_record_is_wanted() {
    let env = Env::new();
    table(&env, "t", 0);
    let txn = env.write();
    assert_eq!(put(txn, 1, b"t", b"v", CURRENT), INCOMPATIBLE);
    assert_eq!(put(txn, 1, b"other", b"v", CURRENT), NOTFOUND);
    assert_eq!(put(txn, 1, b"", b"v", CURRENT), NOTFOUND, "a key of no bytes is no name");
}

#[test]
fn a_key_of_no_bytes_is_not_the_main_table() {
    let env = Env::new();
    table(&env, "t", 0);
    let txn = env.write();
    assert_eq!(get(txn, 1, b""), Err(NOTFOUND));
    assert_eq!(put(txn, 1, b"", b"v", 0), 0);
    assert_eq!(get(txn, 1, b""), Ok(b"v".to_vec()));
}

#[test]
fn the_number_of_a_table_outlives_its_first_record() {
    let env = Env::new();
    for (name, kind) in [("a", INTEGERKEY), ("b", DUPSORT | DUPFIXED | INTEGERDUP)] {
        let dbi = table(&env, name, kind);
        let txn = env.write();
        assert_eq!(sequence(txn, dbi, 7), Ok(0));
        assert_eq!(put(txn, dbi, &[1; 4], &[2; 4], 0), 0);
        assert_eq!(sequence(txn, dbi, 1), Ok(7), "{name}");
        assert_eq!(mdbx_txn_commit(txn), 0);
    }
}

#[test]
fn the_number_of_a_table_outlives_a_change_of_its_kind() {
    let env = Env::new();
    let dbi = table(&env, "t", 0);
    let txn = env.write();
    assert_eq!(sequence(txn, dbi, 7), Ok(0));
    assert_eq!(sequence(txn, 1, 5), Ok(0));
    assert_eq!(open(txn, Some("t"), CREATE | DUPSORT), Ok(dbi));
    assert_eq!(sequence(txn, dbi, 0), Ok(7));
    assert_eq!(mdbx_txn_commit(txn), 0);
    let env = Env::new();
    let txn = env.write();
    assert_eq!(sequence(txn, 1, 5), Ok(0));
    assert_eq!(open(txn, None, CREATE | DUPSORT), Ok(1));
    assert_eq!(sequence(txn, 1, 0), Ok(5), "the main table, too");
}

#[test]
fn integers_of_other_lengths_are_that_before_all_else() {
    let env = Env::new();
    let dbi = table(&env, "t", INTEGERKEY);
    let txn = env.write();
    assert_eq!(put(txn, dbi, &[1; 5], b"v", CURRENT), BAD_VALSIZE);
    assert_eq!(put(txn, dbi, &[9; 8], b"v", 0), 0);
    assert_eq!(put(txn, dbi, &[1; 8], b"v", CURRENT), NOTFOUND);
    for flags in [CURRENT, APPEND, 0] {
        assert_eq!(put(txn, dbi, &[1; 4], b"v", flags), BAD_VALSIZE, "{flags:#x}");
        assert_eq!(put(txn, dbi, b"", b"v", flags), BAD_VALSIZE, "{flags:#x}");
    }
}

#[test]
fn a_cursor_that_went_to_a_reader_does_not_hear_of_the_writer() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("a", "1"), ("b", "2")]);
    assert_eq!(mdbx_txn_commit(txn), 0);
    let reader = env.read();
    for leaves in [mdbx_cursor_renew as extern "C" fn(Txn, Cur) -> i32, copied] {
        let txn = env.write();
        let cur = cursor(txn, dbi);
        assert_eq!(leaves(reader, cur), 0);
        assert_eq!(go(cur, FIRST), pair("a", "1"));
        assert_eq!(mdbx_drop(txn, dbi, false), 0);
        assert_eq!(go(cur, NEXT), pair("b", "2"));
        assert_eq!(mdbx_txn_abort(txn), 0);
        mdbx_cursor_close(cur);
    }
}

/// Makes a cursor a copy of one of the transaction's.
extern "C" fn copied(txn: Txn, cur: Cur) -> i32 {
    let from = cursor(txn, mdbx_cursor_dbi(cur));
    let code = mdbx_cursor_copy(from, cur);
    mdbx_cursor_close(from);
    code
}

#[test]
fn a_cursor_of_a_table_that_was_renamed_does_not_stop_others() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("a", "1"), ("b", "2")]);
    let (main, old) = (cursor(txn, 1), cursor(txn, dbi));
    assert_eq!(go(old, FIRST), pair("a", "1"));
    assert!(go(main, FIRST).is_ok());
    assert_eq!(rename(txn, dbi, "z"), 0);
    assert_eq!(del(txn, dbi, b"a", None), 0);
    assert_eq!(go(old, NEXT), Err(BAD_DBI), "it is one of the table's old name");
    assert_eq!(go(main, NEXT).map(|(key, _)| key), Ok(b"z".to_vec()));
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(get(env.read(), dbi, b"b"), Ok(b"2".to_vec()));
}

#[test]
fn an_abort_gives_a_handle_its_table_back() {
    let env = Env::new();
    let dbi = table(&env, "t", DUPSORT);
    let (reader, txn) = (env.read(), env.write());
    let cur = cursor(reader, dbi);
    assert_eq!(rename(txn, dbi, "other"), 0);
    assert_eq!(stat(reader, dbi).map(|stat| stat.ms_entries), Ok(0), "others see the old one");
    assert_eq!(go(cur, FIRST), Err(NOTFOUND));
    let inner = env.begin(txn, 0).unwrap();
    assert_eq!(open(inner, Some("other"), CREATE | INTEGERKEY), Ok(dbi));
    assert_eq!(flags(inner, dbi).map(|found| found.0), Ok(INTEGERKEY));
    assert_eq!(flags(reader, dbi).map(|found| found.0), Ok(DUPSORT));
    assert_eq!(mdbx_txn_abort(inner), 0);
    assert_eq!(flags(txn, dbi).map(|found| found.0), Ok(DUPSORT));
    assert_eq!(mdbx_txn_abort(txn), 0);
    let txn = env.write();
    assert_eq!(open(txn, Some("other"), 0), Err(NOTFOUND));
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    assert_eq!(open(txn, Some("t"), 0), Ok(dbi));
}

#[test]
fn what_a_nested_transaction_has_changed_is_undone_with_the_outer_one() {
    let env = Env::new();
    let dbi = table(&env, "t", 0);
    let txn = env.write();
    assert_eq!(rename(txn, dbi, "a"), 0);
    let inner = env.begin(txn, 0).unwrap();
    assert_eq!(rename(inner, dbi, "b"), 0);
    assert_eq!(mdbx_txn_commit(inner), 0);
    assert_eq!(open(txn, Some("b"), 0), Ok(dbi));
    assert_eq!(mdbx_txn_abort(txn), 0);
    let txn = env.write();
    assert_eq!(open(txn, Some("t"), 0), Ok(dbi));
    assert_eq!(open(txn, Some("a"), 0), Err(NOTFOUND));
}

#[test]
fn an_abort_fetches_no_cursor_that_was_taken_elsewhere() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("a", "1"), ("b", "2")]);
    assert_eq!(mdbx_txn_commit(txn), 0);
    let (reader, txn) = (env.read(), env.write());
    let (taken, left) = (cursor(txn, dbi), cursor(txn, dbi));
    let inner = env.begin(txn, 0).unwrap();
    assert_eq!(mdbx_cursor_bind(reader, taken, dbi), 0);
    assert_eq!(mdbx_cursor_unbind(left), 0);
    assert_eq!(mdbx_txn_abort(inner), 0);
    assert_eq!(mdbx_cursor_txn(taken), reader);
    assert!(mdbx_cursor_txn(left).is_null());
}

#[test]
fn a_cursor_that_comes_back_from_a_nested_transaction_hears_of_deletes() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("a", "1"), ("b", "2")]);
    let cur = cursor(txn, dbi);
    let inner = env.begin(txn, 0).unwrap();
    let innermost = env.begin(inner, 0).unwrap();
    assert_eq!(mdbx_cursor_renew(innermost, cur), 0);
    assert_eq!(mdbx_txn_commit(innermost), 0);
    assert_eq!(mdbx_txn_abort(inner), 0);
    assert_eq!(mdbx_cursor_txn(cur), txn);
    assert_eq!(go(cur, FIRST), pair("a", "1"));
    assert_eq!(del(txn, dbi, b"a", None), 0);
    assert_eq!(go(cur, GET_CURRENT), pair("b", "2"));
}

#[test]
fn a_look_for_a_key_that_is_too_long_takes_the_mark_of_a_delete_away() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("a", "1"), ("b", "2"), ("c", "3")]);
    let cur = cursor(txn, dbi);
    assert_eq!(go(cur, FIRST), pair("a", "1"));
    assert_eq!(mdbx_cursor_del(cur, 0), 0);
    assert_eq!(seek(cur, SET_KEY, &[b'l'; 3000], b""), Err(BAD_VALSIZE));
    assert_eq!(go(cur, NEXT), pair("c", "3"), "the cursor stood on the second");
}

#[test]
fn names_of_tables_are_keys_to_append_behind() {
    let env = Env::new();
    table(&env, "t", 0);
    let txn = env.write();
    assert_eq!(put(txn, 1, b"a", b"1", 0), 0);
    assert_eq!(put(txn, 1, b"a", b"2", APPEND | APPENDDUP), EKEYMISMATCH);
    assert_eq!(put(txn, 1, b"t", b"2", APPEND | APPENDDUP), INCOMPATIBLE);
    assert_eq!(put(txn, 1, b"z", b"2", APPEND | APPENDDUP), 0);
}

#[test]
fn an_older_reader_that_opens_a_table_changes_no_handle() {
    let env = Env::new();
    let dbi = table(&env, "t", DUPSORT | DUPFIXED);
    let reader = env.read();
    let txn = env.write();
    // It is empty, so it becomes a table of one value a key.
    assert_eq!(open(txn, Some("t"), CREATE), Ok(dbi));
    assert_eq!(mdbx_txn_commit(txn), 0);
    let txn = env.write();
    assert_eq!(open(reader, Some("t"), DUPSORT | DUPFIXED), Ok(dbi));
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    assert_eq!(put(txn, dbi, b"k", b"w", 0), 0);
    assert_eq!(get(txn, dbi, b"k"), Ok(b"w".to_vec()));
}

#[test]
fn an_ended_transaction_is_that_before_flags_that_do_not_go_together() {
    let env = Env::new();
    let dbi = table(&env, "t", DUPSORT | DUPFIXED);
    let txn = env.write();
    for flags in [CURRENT | APPEND, CURRENT | NOOVERWRITE, MULTIPLE | CURRENT | APPEND, 0x8000_0000]
    {
        assert_eq!(put_flags(txn, dbi, flags), libc::EINVAL, "{flags:x}");
    }
    assert_eq!(mdbx_txn_commit(txn), 0);
    for flags in [0, CURRENT | APPEND, CURRENT | NOOVERWRITE, MULTIPLE | CURRENT | APPEND] {
        assert_eq!(put_flags(txn, dbi, flags), EBADSIGN, "{flags:x}");
    }
}

/// A put of one value, or of several of which there is one.
fn put_flags(txn: Txn, dbi: u32, flags: u32) -> i32 {
    let mut values = [val(b"vv"), val(b"")];
    values[1].iov_len = 1;
    // SAFETY: two values are enough for a put of several; the bytes are static.
    unsafe { mdbx_put(txn, dbi, &val(b"k"), values.as_mut_ptr(), flags) }
}

/// A cursor that an outer level opened and the innermost one took to another table comes back to
/// its table when they all end at once, though it was not there when the outermost began.
#[test]
fn a_cursor_comes_back_from_levels_that_end_together() {
    for root in [true, false] {
        let env = Env::new();
        let dbi = table(&env, "t", 0);
        let outermost = env.write();
        let top = if root { outermost } else { env.begin(outermost, 0).unwrap() };
        let middle = env.begin(top, 0).unwrap();
        let c = cursor(middle, dbi);
        let inner = env.begin(middle, 0).unwrap();
        let innermost = env.begin(inner, 0).unwrap();
        assert_eq!(mdbx_cursor_bind(innermost, c, 1), 0);
        assert_eq!(mdbx_txn_abort(top), 0);
        if !root {
            assert_eq!(mdbx_txn_abort(outermost), 0);
        }
        let txn = env.write();
        assert_eq!(mdbx_cursor_renew(txn, c), 0);
        assert_eq!(mdbx_cursor_dbi(c), dbi, "the root ends: {root}");
        mdbx_cursor_close(c);
    }
}

unsafe extern "C" fn backwards(a: *const MDBX_val, b: *const MDBX_val) -> c_int {
    // SAFETY: the library passes two values.
    unsafe { bytes(*b).cmp(&bytes(*a)) as c_int }
}

fn open_backwards(txn: Txn, flags: u32) -> Result<u32, i32> {
    let mut dbi = 0;
    // SAFETY: a text; the function takes any values.
    match unsafe { mdbx_dbi_open_ex(txn, c"t".as_ptr(), flags, &mut dbi, Some(backwards), None) } {
        0 => Ok(dbi),
        code => Err(code),
    }
}

/// A reader that opens a table with its order, while a writer has made it anew and may still undo
/// that, is told its handle.
#[test]
fn a_reader_opens_a_table_of_its_own_order_beside_its_writer() {
    let env = Env::new();
    let txn = env.write();
    let dbi = open_backwards(txn, CREATE).unwrap();
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    assert_eq!(mdbx_txn_commit(txn), 0);
    let (reader, txn) = (env.read(), env.write());
    assert_eq!(mdbx_drop(txn, dbi, true), 0);
    let inner = env.begin(txn, 0).unwrap();
    assert_eq!(open_backwards(inner, CREATE), Ok(dbi));
    assert_eq!(open_backwards(reader, 0), Ok(dbi));
    assert_eq!(mdbx_txn_abort(txn), 0);
    assert_eq!(mdbx_txn_abort(reader), 0);
}

/// The order that a reader of an older snapshot names is not that of the table which the handle
/// means by now.
#[test]
fn the_order_of_an_older_table_stays_its_own() {
    let env = Env::new();
    let txn = env.write();
    let dbi = open_backwards(txn, CREATE | DUPSORT | DUPFIXED).unwrap();
    assert_eq!(mdbx_txn_commit(txn), 0);
    let (reader, txn) = (env.read(), env.write());
    let mut same = 0;
    // SAFETY: a text, and a place for the handle.
    assert_eq!(unsafe { mdbx_dbi_open(txn, c"t".as_ptr(), CREATE | REVERSEKEY, &mut same) }, 0);
    assert_eq!((same, mdbx_txn_commit(txn)), (dbi, 0));
    let txn = env.write();
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    let c = cursor(txn, dbi);
    assert_eq!(open_backwards(reader, DUPSORT | DUPFIXED), Ok(dbi));
    assert_eq!(go(c, NEXT), pair("k", "v"));
    assert_eq!(mdbx_txn_abort(txn), 0);
    assert_eq!(mdbx_txn_abort(reader), 0);
}

/// A step that finds nothing leaves the cursor as it is: what was given with others is not given
/// again, on whichever side of its record the cursor stands.
#[test]
fn a_step_to_nowhere_does_not_give_a_value_again() {
    let env = Env::new();
    let dbi = table(&env, "t", DUPSORT | DUPFIXED);
    let txn = env.write();
    assert_eq!(put(txn, dbi, b"k", b"1", 0), 0);
    let c = cursor(txn, dbi);
    assert_eq!(go(c, FIRST), pair("k", "1"));
    assert_eq!(go(c, GET_MULTIPLE).map(|(_, values)| values), Ok(b"1".to_vec()));
    assert_eq!(go(c, PREV_MULTIPLE), Err(NOTFOUND));
    assert_eq!(go(c, NEXT), Err(NOTFOUND));
    assert_eq!(put(txn, dbi, b"k", b"2", 0), 0);
    assert_eq!(go(c, NEXT_MULTIPLE).map(|(_, values)| values), Ok(b"2".to_vec()));
}

/// A record whose name a table had, however long it is, is no table.
#[test]
fn a_long_record_is_no_table() {
    for bytes in [10, 20_000] {
        let env = Env::new();
        let dbi = table(&env, "k1", DUPSORT | DUPFIXED);
        let txn = env.write();
        let inner = env.begin(txn, 0).unwrap();
        let c = cursor(inner, 1);
        assert_eq!(mdbx_drop(inner, dbi, true), 0);
        assert_eq!(cursor_put(c, b"k1", &vec![b'b'; bytes], 0), 0);
        assert_eq!(open(inner, Some("k1"), 0), Err(INCOMPATIBLE), "{bytes}");
        assert_eq!(open(inner, Some("k1"), CREATE), Err(INCOMPATIBLE), "{bytes}");
    }
}

#[test]
fn a_cursor_that_is_none_is_told_before_wrong_flags() {
    let env = Env::new();
    let dbi = table(&env, "t", DUPSORT);
    let txn = env.write();
    let c = cursor(txn, dbi);
    mdbx_cursor_close(c);
    assert_eq!(cursor_put(c, b"k", b"v", CURRENT | NOOVERWRITE), EBADSIGN);
    assert_eq!(mdbx_cursor_del(c, 0x100), EBADSIGN);
    let c = cursor(txn, dbi);
    assert_eq!(cursor_put(c, b"k", b"v", CURRENT | NOOVERWRITE), libc::EINVAL);
    assert_eq!(mdbx_cursor_del(c, 0x100), libc::EINVAL);
    mdbx_cursor_close(c);
}

#[test]
fn a_transaction_that_has_failed_shows_nothing_of_the_free_pages() {
    let env = Env::new();
    let txn = env.write();
    assert_eq!(flags(txn, 0), Ok((INTEGERKEY, 0)));
    assert!(stat(txn, 0).is_ok());
    assert_eq!(mdbx_txn_break(txn), 0);
    assert_eq!(flags(txn, 0), Err(BAD_TXN));
    assert_eq!(stat(txn, 0).map(|stat| stat.ms_entries), Err(BAD_TXN));
    assert_eq!(mdbx_txn_abort(txn), 0);
}

#[test]
fn a_table_that_is_gone_is_not_renamed_to_its_own_name() {
    let env = Env::new();
    let dbi = table(&env, "t", 0);
    let (reader, txn) = (env.read(), env.write());
    assert_eq!(mdbx_drop(txn, dbi, true), 0);
    assert_eq!(open(reader, Some("t"), CREATE), Ok(dbi), "it is there for the reader");
    assert_eq!(rename(txn, dbi, "t"), BAD_DBI);
    assert_eq!(mdbx_txn_abort(txn), 0);
    assert_eq!(mdbx_txn_abort(reader), 0);
}

/// Levels that end together undo all that each of them did to a handle.
#[test]
fn a_handle_is_free_after_all_levels_that_changed_it() {
    for commit in [false, true] {
        let env = Env::new();
        let txn = env.write();
        let outer = env.begin(txn, 0).unwrap();
        let dbi = open(outer, Some("a"), CREATE).unwrap();
        let middle = env.begin(outer, 0).unwrap();
        let inner = env.begin(middle, 0).unwrap();
        assert_eq!(rename(inner, dbi, "b"), 0);
        if commit {
            assert_eq!(mdbx_txn_commit(outer), 0);
            assert_eq!(flags(txn, dbi).map(|found| found.0), Ok(0));
        }
        assert_eq!(mdbx_txn_abort(txn), 0);
        let txn = env.write();
        assert_eq!(flags(txn, dbi).map(|found| found.0), Err(BAD_DBI), "commit: {commit}");
        assert_eq!(open(txn, Some("b"), CREATE), Ok(dbi), "commit: {commit}");
        assert_eq!(mdbx_txn_abort(txn), 0);
    }
}

#[test]
fn what_stands_for_the_main_table_is_no_record() {
    let env = Env::new();
    let txn = env.write();
    assert_eq!(open(txn, None, CREATE | DUPSORT), Ok(1));
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(entries_of(&env), 0);
    let txn = env.write();
    assert_eq!(put(txn, 1, b"k", b"v", 0), 0);
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(entries_of(&env), 1);
}

fn entries_of(env: &Env) -> u64 {
    let mut stat = MDBX_stat::default();
    // SAFETY: a place for the answer, as long as is said.
    assert_eq!(unsafe { mdbx_env_stat(env.env, &mut stat, size_of::<MDBX_stat>()) }, 0);
    stat.ms_entries
}

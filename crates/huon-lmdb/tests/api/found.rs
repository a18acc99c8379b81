//! What random histories of calls have found, each as small as it can be.

use crate::common::*;

/// A table in an environment of its own, and a write transaction.
fn table(flags: u32) -> (Env, Txn, u32) {
    let env = Env::new();
    let dbi = env.dbi("t", flags);
    let txn = env.begin();
    (env, txn, dbi)
}

fn put_several(cursor: Cur, key: &[u8], values: &[u8], flags: u32) -> (i32, usize) {
    let mut data = [MDB_val { mv_size: 1, ..val(values) }, val(b"")];
    data[1].mv_size = values.len();
    // SAFETY: two values, as this flag needs them.
    let code =
        unsafe { mdb_cursor_put(cursor, &mut val(key), data.as_mut_ptr(), flags | MULTIPLE) };
    (code, data[1].mv_size)
}

#[test]
fn a_cursor_is_not_of_the_table_that_has_its_tables_number_now() {
    let (env, txn, dbi) = table(DUPSORT);
    let c = cursor(txn, dbi);
    mdb_dbi_close(env.env, dbi);
    assert_eq!(dbi_open(txn, Some("other"), CREATE), Ok(dbi));
    assert_eq!(cursor_put(c, b"k", b"v", 0), libc::EINVAL);
    assert_eq!(go(c, FIRST), Err(libc::EINVAL));
    assert_eq!(get(txn, dbi, b"k"), Err(NOTFOUND));
    assert_eq!(mdb_txn_commit(txn), 0);
    let reader = env.read();
    let c = cursor(reader, dbi);
    mdb_dbi_close(env.env, dbi);
    assert_eq!(mdb_cursor_renew(reader, c), libc::EINVAL);
    mdb_txn_abort(reader);
    mdb_cursor_close(c);
}

#[test]
fn a_cursor_of_a_reset_transaction_is_of_none() {
    let (env, txn, dbi) = table(DUPSORT);
    assert_eq!(mdb_txn_commit(txn), 0);
    let reader = env.read();
    let c = cursor(reader, dbi);
    mdb_txn_reset(reader);
    assert_eq!(go(c, FIRST), Err(BAD_TXN));
    let mut count = 0;
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdb_cursor_count(c, &mut count) }, BAD_TXN);
    mdb_txn_abort(reader);
    mdb_cursor_close(c);
}

#[test]
fn a_cursor_may_delete_all_of_a_key_that_can_have_one_value_only() {
    let (_env, txn, dbi) = table(0);
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    let c = cursor(txn, dbi);
    assert_eq!(go(c, FIRST), pair("k", "v"));
    assert_eq!(mdb_cursor_del(c, NODUPDATA), 0);
}

#[test]
fn a_refused_append_leaves_the_cursor_at_the_last() {
    let (_env, txn, dbi) = table(DUPSORT);
    for (key, value) in [(b"a", b"1"), (b"b", b"1"), (b"b", b"2"), (b"c", b"1")] {
        assert_eq!(put(txn, dbi, key, value, 0), 0);
    }
    let c = cursor(txn, dbi);
    assert_eq!(cursor_put(c, b"b", b"3", APPEND), KEYEXIST);
    assert_eq!(go(c, GET_CURRENT), pair("c", "1"));
    assert_eq!(cursor_put(c, b"b", b"1", APPENDDUP), KEYEXIST);
    assert_eq!(go(c, GET_CURRENT), pair("b", "2"));
    assert_eq!(cursor_put(c, b"a", b"0", APPEND | NODUPDATA), KEYEXIST);
    assert_eq!(go(c, GET_CURRENT), pair("c", "1"), "nowhere that is no record");
}

#[test]
fn several_values_are_asked_once_whether_their_key_may_be_there() {
    let (_env, txn, dbi) = table(DUPSORT | DUPFIXED);
    let c = cursor(txn, dbi);
    assert_eq!(put_several(c, b"k", b"12", NOOVERWRITE), (0, 2));
    assert_eq!(put_several(c, b"k", b"34", NOOVERWRITE), (KEYEXIST, 0));
    assert_eq!(put_several(c, b"l", b"123", APPEND), (0, 3));
    assert_eq!(put_several(c, b"l", b"4", APPEND), (KEYEXIST, 0));
}

#[test]
fn several_values_that_are_not_there_take_the_mark_away_too() {
    let (_env, txn, dbi) = table(DUPSORT | DUPFIXED);
    for key in [b"a", b"b"] {
        assert_eq!(put(txn, dbi, key, b"1", 0), 0);
    }
    let c = cursor(txn, dbi);
    assert_eq!(go(c, FIRST), pair("a", "1"));
    assert_eq!(del(txn, dbi, b"a", None), 0);
    assert_eq!(go(c, NEXT_MULTIPLE), Err(NOTFOUND));
    assert_eq!(go(c, NEXT), Err(NOTFOUND));
}

#[test]
fn other_cursors_stand_on_the_value_that_was_put_in_place_of_theirs() {
    let (_env, txn, dbi) = table(DUPSORT);
    for value in [b"b", b"d", b"f"] {
        assert_eq!(put(txn, dbi, b"k", value, 0), 0);
    }
    let (a, b) = (cursor(txn, dbi), cursor(txn, dbi));
    for (old, new, next) in [("d", "e", "f"), ("f", "g", ""), ("b", "a", "e")] {
        for c in [a, b] {
            assert!(seek(c, GET_BOTH, b"k", old.as_bytes()).is_ok());
        }
        assert_eq!(cursor_put(a, b"k", new.as_bytes(), CURRENT), 0);
        for c in [a, b] {
            assert_eq!(go(c, GET_CURRENT), pair("k", new));
            let found = if next.is_empty() { Err(NOTFOUND) } else { pair("k", next) };
            assert_eq!(go(c, NEXT), found);
        }
    }
}

#[test]
fn a_cursor_that_is_to_delete_a_name_spoils_the_transaction() {
    let (env, txn, _dbi) = table(0);
    let c = cursor(txn, 1);
    assert!(go(c, FIRST).is_ok());
    assert_eq!(mdb_cursor_del(c, 0), INCOMPATIBLE);
    assert_eq!(go(c, FIRST), Err(BAD_TXN));
    assert_eq!(mdb_txn_commit(txn), BAD_TXN);
    drop(env);
}

#[test]
fn what_has_another_length_than_the_tables_integers_is_not_there() {
    let (_env, txn, dbi) = table(DUPSORT | INTEGERKEY);
    assert_eq!(del(txn, dbi, &[0; 4], Some(b"v")), NOTFOUND, "the table has no length yet");
    assert_eq!(put(txn, dbi, &[0; 8], b"v", 0), 0);
    assert_eq!(del(txn, dbi, &[0; 4], Some(b"v")), NOTFOUND);
    assert_eq!(get(txn, dbi, &[0; 4]), Err(NOTFOUND));
}

#[test]
fn values_of_one_length_may_have_another_when_all_are_gone() {
    let (_env, txn, dbi) = table(DUPSORT | DUPFIXED);
    assert_eq!(put(txn, dbi, b"k", b"four", 0), 0);
    assert_eq!(put(txn, dbi, b"k", b"three", 0), BAD_VALSIZE);
    let c = cursor(txn, dbi);
    assert_eq!(del(txn, dbi, b"k", None), 0);
    assert_eq!(put(txn, dbi, b"k", b"three", 0), 0);
    assert_eq!(go(c, FIRST), pair("k", "three"));
}
#[test]
fn an_order_that_is_told_again_changes_nothing() {
    unsafe extern "C" fn by_size(a: *const MDB_val, b: *const MDB_val) -> i32 {
        // SAFETY: the library gives two values.
        unsafe { (*a).mv_size as i32 - (*b).mv_size as i32 }
    }
    let (env, txn, dbi) = table(0);
    // SAFETY: the function may be called with any two values.
    assert_eq!(unsafe { mdb_set_compare(txn, dbi, Some(by_size)) }, 0);
    assert_eq!(mdb_txn_commit(txn), 0);
    let before = env.info().me_last_txnid;
    let txn = env.begin();
    // SAFETY: as above.
    assert_eq!(unsafe { mdb_set_compare(txn, dbi, Some(by_size)) }, 0);
    assert_eq!(mdb_txn_commit(txn), 0);
    assert_eq!(env.info().me_last_txnid, before);
}

#[test]
fn main_cursors_leave_the_name_of_a_table_that_is_deleted() {
    let (_env, txn, dbi) = table(0);
    assert_eq!(put(txn, 1, b"z", b"v", 0), 0);
    let c = cursor(txn, 1);
    assert_eq!(go(c, FIRST).map(|(name, _)| name), Ok(b"t".to_vec()));
    assert_eq!(mdb_drop(txn, dbi, 1), 0);
    assert_eq!(go(c, GET_CURRENT), pair("z", "v"));
}

#[test]
fn a_table_that_went_with_the_main_one_cannot_be_dropped_or_ordered() {
    unsafe extern "C" fn same(_: *const MDB_val, _: *const MDB_val) -> i32 {
        0
    }
    let (_env, txn, dbi) = table(0);
    assert_eq!(mdb_drop(txn, 1, 0), 0);
    assert_eq!(mdb_drop(txn, dbi, 1), BAD_DBI);
    // SAFETY: the function may be called with anything.
    assert_eq!(unsafe { mdb_set_compare(txn, dbi, Some(same)) }, BAD_DBI);
    assert_eq!(get(txn, dbi, b"k"), Err(BAD_DBI));
    // Longer than any key may be.
    assert_eq!(del(txn, dbi, &[b'k'; 600], None), BAD_DBI);
}

#[test]
fn a_table_that_is_gone_and_whose_name_is_a_record_does_not_spoil_the_transaction() {
    let (_env, txn, dbi) = table(0);
    assert_eq!(mdb_drop(txn, 1, 0), 0);
    assert_eq!(put(txn, 1, b"t", b"a record", 0), 0);
    assert_ne!(del(txn, dbi, b"k", None), 0);
    assert_eq!(put(txn, 1, b"z", b"", 0), 0);
}

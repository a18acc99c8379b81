//! Where cursors stand, and go, beyond what LMDB's do.

use crate::common::records::*;
use crate::common::*;

const MANY: [(&str, &str); 6] =
    [("a", "1"), ("b", "1"), ("b", "2"), ("b", "3"), ("c", "1"), ("c", "2")];

fn is(code: i32) -> bool {
    assert!(code == 0 || code == RESULT_TRUE, "{code}");
    code == RESULT_TRUE
}

#[test]
fn bounds_in_a_table_of_one_value_a_key() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("k1", "1"), ("k3", "3")]);
    let c = cursor(txn, dbi);
    let found = |key: &str, value: &str| (key.into(), value.into());
    assert_eq!(look(c, SET_LOWERBOUND, b"k1", b"9"), (0, found("k1", "1")));
    assert_eq!(look(c, SET_LOWERBOUND, b"k2", b""), (RESULT_TRUE, found("k3", "3")));
    assert_eq!(look(c, SET_UPPERBOUND, b"k1", b""), (0, found("k3", "3")));
    assert_eq!(look(c, SET_LOWERBOUND, b"k4", b"").0, NOTFOUND);
    assert_eq!(go(c, PREV), pair("k3", "3"));
    // Behind the record itself the cursor stays on it, behind nothing it stands behind all.
    assert_eq!(look(c, SET_UPPERBOUND, b"k3", b"").0, NOTFOUND);
    assert_eq!(go(c, GET_CURRENT), pair("k3", "3"));
    assert_eq!(look(c, SET_UPPERBOUND, b"k4", b"").0, NOTFOUND);
    assert_eq!(go(c, GET_CURRENT), Err(libc::ENODATA));
    assert_eq!(go(c, PREV), pair("k3", "3"));
}

#[test]
fn bounds_among_the_values_of_keys() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &MANY);
    let c = cursor(txn, dbi);
    let found = |key: &str, value: &str| (key.into(), value.into());
    assert_eq!(look(c, SET_LOWERBOUND, b"b", b"2"), (0, found("b", "2")));
    assert_eq!(look(c, SET_LOWERBOUND, b"b", b"22"), (RESULT_TRUE, found("b", "3")));
    assert_eq!(look(c, SET_LOWERBOUND, b"b", b"9"), (RESULT_TRUE, found("c", "1")));
    assert_eq!(look(c, SET_LOWERBOUND, b"b", b""), (RESULT_TRUE, found("b", "1")));
    assert_eq!(look(c, SET_UPPERBOUND, b"b", b"2"), (0, found("b", "3")));
    assert_eq!(look(c, SET_UPPERBOUND, b"b", b"3"), (0, found("c", "1")));
    assert_eq!(look(c, SET_UPPERBOUND, b"c", b"2").0, NOTFOUND);
    assert_eq!(go(c, PREV), pair("c", "1"));
}

#[test]
fn above_all_values_of_a_key_there_is_the_next_key() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &MANY);
    let c = cursor(txn, dbi);
    for op in [GET_BOTH, GET_BOTH_RANGE] {
        assert_eq!(seek(c, op, b"b", b"9"), Err(NOTFOUND));
        assert_eq!(go(c, GET_CURRENT), Err(libc::ENODATA));
        assert_eq!(go(c, NEXT), pair("c", "1"));
        assert_eq!(seek(c, op, b"b", b"9"), Err(NOTFOUND));
        assert_eq!(go(c, PREV), pair("b", "3"));
        // A single value is not left.
        assert_eq!(seek(c, op, b"a", b"9"), Err(NOTFOUND));
        assert_eq!(go(c, GET_CURRENT), pair("a", "1"));
        // Before a key with several values it is on none of them.
        assert_eq!(seek(c, op, b"bb", b"1"), Err(NOTFOUND));
        assert_eq!(go(c, GET_CURRENT), Err(libc::ENODATA));
        assert_eq!(go(c, NEXT), pair("c", "1"));
    }
}

#[test]
fn the_end_is_where_it_was_asked_for() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &MANY);
    let c = cursor(txn, dbi);
    assert!(is(mdbx_cursor_eof(c)) && !is(mdbx_cursor_on_last(c)), "it stands nowhere");
    assert_eq!(go(c, LAST), pair("c", "2"));
    assert!(is(mdbx_cursor_eof(c)) && is(mdbx_cursor_on_last(c)));
    assert_eq!(go(c, PREV), pair("c", "1"));
    assert!(!is(mdbx_cursor_eof(c)) && is(mdbx_cursor_on_last(c)));
    assert!(is(mdbx_cursor_on_first_dup(c)) && !is(mdbx_cursor_on_last_dup(c)));
    assert_eq!(go(c, NEXT), pair("c", "2"));
    assert_eq!(go(c, NEXT_DUP), Err(NOTFOUND));
    assert!(!is(mdbx_cursor_eof(c)) && is(mdbx_cursor_on_last_dup(c)));
    assert_eq!(go(c, NEXT), Err(NOTFOUND));
    assert!(is(mdbx_cursor_eof(c)));
    assert_eq!(go(c, GET_CURRENT), pair("c", "2"));
    assert!(is(mdbx_cursor_eof(c)), "a look does not change that");
    assert_eq!(go(c, FIRST), pair("a", "1"));
    assert_eq!(go(c, PREV), Err(NOTFOUND));
    assert!(!is(mdbx_cursor_eof(c)) && is(mdbx_cursor_on_first(c)));
    assert_eq!(seek(c, SET_RANGE, b"z", b""), Err(NOTFOUND));
    assert!(is(mdbx_cursor_eof(c)));
    assert_eq!(seek(c, GET_BOTH, b"c", b"9"), Err(NOTFOUND));
    assert!(!is(mdbx_cursor_eof(c)));
}

#[test]
fn counting_does_not_move_a_cursor_whose_record_was_deleted() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("k1", "1"), ("k2", "2"), ("k3", "3")]);
    let c = cursor(txn, dbi);
    assert!(seek(c, SET, b"k1", b"").is_ok());
    assert_eq!(mdbx_cursor_del(c, 0), 0);
    let mut count = 0;
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdbx_cursor_count(c, &mut count) }, 0);
    assert!(is(mdbx_cursor_on_first(c)));
    assert_eq!((count, go(c, NEXT)), (1, pair("k2", "2")));
}

#[test]
fn a_record_is_overwritten_by_its_own_key_only() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &MANY);
    let c = cursor(txn, dbi);
    assert_eq!(cursor_put(c, b"a", b"1", CURRENT), libc::ENODATA);
    assert!(seek(c, GET_BOTH, b"b", b"2").is_ok());
    assert_eq!(cursor_put(c, b"c", b"9", CURRENT), EKEYMISMATCH);
    for flags in [NOOVERWRITE, APPEND] {
        assert_eq!(cursor_put(c, b"b", b"9", CURRENT | flags), libc::EINVAL);
    }
    assert_eq!(cursor_put(c, b"b", b"9", CURRENT), 0);
    assert_eq!(go(c, GET_CURRENT), pair("b", "9"));
    assert_eq!(values(txn, dbi, b"b"), [b"1", b"3", b"9"]);
    assert_eq!(cursor_put(c, b"b", b"5", CURRENT | ALLDUPS), 0);
    assert_eq!(values(txn, dbi, b"b"), [b"5"]);
    assert_eq!(go(c, NEXT), pair("c", "1"));
}

#[test]
fn other_cursors_leave_values_that_are_replaced_all_at_once() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &MANY);
    let (c, other) = (cursor(txn, dbi), cursor(txn, dbi));
    assert!(seek(c, GET_BOTH, b"b", b"2").is_ok() && seek(other, SET, b"a", b"").is_ok());
    assert_eq!(put(txn, dbi, b"b", b"7", ALLDUPS), 0);
    assert_eq!(go(c, GET_CURRENT), pair("b", "7"));
    assert_eq!(go(other, NEXT), pair("b", "7"));
    assert_eq!(go(c, NEXT), pair("c", "1"));
}

#[test]
fn a_cursor_of_nothing_is_bound_unbound_and_copied() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("k1", "1"), ("k2", "2")]);
    let (c, copy) = (mdbx_cursor_create(std::ptr::null_mut()), cursor(txn, dbi));
    assert_eq!(go(c, FIRST), Err(libc::EINVAL));
    assert_eq!(mdbx_cursor_copy(c, copy), libc::EINVAL);
    assert_eq!(mdbx_cursor_bind(txn, c, dbi), 0);
    assert_eq!(go(c, LAST), pair("k2", "2"));
    assert_eq!(mdbx_cursor_copy(c, copy), 0);
    assert_eq!(mdbx_cursor_reset(c), 0);
    assert_eq!(go(c, GET_CURRENT), Err(libc::ENODATA));
    assert_eq!(mdbx_cursor_unbind(c), 0);
    assert_eq!(go(c, NEXT), Err(libc::EINVAL));
    assert_eq!(go(copy, GET_CURRENT), pair("k2", "2"));
    // It follows a change of its record, as any other.
    assert_eq!(del(txn, dbi, b"k2", None), 0);
    assert_eq!(go(copy, PREV), pair("k1", "1"));
    let other = Env::new();
    let (their_txn, their_dbi) = filled(&other, 0, &[]);
    assert_eq!(mdbx_cursor_copy(copy, cursor(their_txn, their_dbi)), libc::EINVAL);
}

#[test]
fn a_cursor_outlives_its_transactions() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("k1", "1"), ("k2", "2")]);
    let c = cursor(txn, dbi);
    assert_eq!(go(c, LAST), pair("k2", "2"));
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(go(c, PREV), Err(libc::EINVAL));
    assert!(mdbx_cursor_txn(c).is_null() && mdbx_cursor_dbi(c) == u32::MAX);
    let txn = env.read();
    assert_eq!(mdbx_cursor_renew(txn, c), 0);
    assert_eq!(go(c, NEXT), pair("k1", "1"));
    assert_eq!(cursor_put(c, b"k", b"", 0), libc::EACCES);
    assert_eq!(mdbx_cursor_del(c, 0), libc::EACCES);
    assert_eq!(mdbx_txn_abort(txn), 0);
    assert_eq!(go(c, NEXT), Err(libc::EINVAL));
    mdbx_cursor_close(c);
}

#[test]
fn the_end_of_a_nested_transaction_puts_back_what_it_has_bound() {
    let env = Env::new();
    let many = table(&env, "many", DUPSORT);
    let (txn, dbi) = filled(&env, 0, &[("k1", "1"), ("k2", "2")]);
    let c = cursor(txn, dbi);
    assert_eq!(go(c, LAST), pair("k2", "2"));
    let child = env.begin(txn, 0).unwrap();
    assert_eq!(put(child, many, b"x", b"1", 0), 0);
    assert_eq!(mdbx_cursor_bind(child, c, many), 0);
    assert_eq!(go(c, FIRST), pair("x", "1"));
    assert_eq!(mdbx_txn_abort(child), 0);
    assert_eq!(mdbx_cursor_dbi(c), dbi);
    assert_eq!(go(c, GET_CURRENT), pair("k2", "2"));
    assert_eq!(go(c, PREV), pair("k1", "1"));
}

#[test]
fn batches_of_records_go_on_where_the_last_one_ended() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[]);
    for n in 0..1000_u32 {
        assert_eq!(put(txn, dbi, format!("k{n:04}").as_bytes(), b"v", 0), 0);
    }
    let c = cursor(txn, dbi);
    let mut room = vec![val(b""); 2048];
    for limit in [4, 5, 64, 2048] {
        let (mut met, mut op) = (Vec::new(), FIRST);
        loop {
            let mut count = 0;
            // SAFETY: the pointers are good for writing so much.
            let code =
                unsafe { mdbx_cursor_get_batch(c, &mut count, room.as_mut_ptr(), limit, op) };
            assert!(count <= limit && count % 2 == 0);
            met.extend(room[..count].iter().step_by(2).map(|key| bytes(*key)));
            op = match code {
                0 => NEXT,
                // There is more of it.
                RESULT_TRUE => GET_CURRENT,
                code => break assert_eq!((code, count), (NOTFOUND, 0)),
            };
            assert!(count > 0);
        }
        let all: Vec<_> = (0..1000).map(|n| format!("k{n:04}").into_bytes()).collect();
        assert_eq!(met, all, "{limit}");
    }
}

#[test]
fn a_step_back_from_nowhere_leads_to_the_last_record() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &MANY);
    for op in [PREV, PREV_DUP, LAST] {
        assert_eq!(go(cursor(txn, dbi), op), pair("c", "2"));
    }
    assert_eq!(go(cursor(txn, dbi), NEXT_DUP), pair("a", "1"));
    assert_eq!(go(cursor(txn, dbi), LAST_DUP), Err(libc::EINVAL));
}

#[test]
fn a_cursor_of_a_table_that_became_another_or_nothing_is_refused() {
    let env = Env::new();
    for (from, to) in [(0, DUPSORT), (DUPSORT, 0)] {
        let (txn, dbi) = filled(&env, from, &[]);
        let c = cursor(txn, dbi);
        assert_eq!(open(txn, Some("t"), CREATE | to), Ok(dbi));
        assert_eq!((put(txn, dbi, b"k", b"v", 0), put(txn, dbi, b"l", b"v", 0)), (0, 0));
        for op in 0..=SET_UPPERBOUND {
            assert!(seek(c, op, b"k", b"v").is_err(), "{op}");
        }
        assert_ne!(mdbx_cursor_del(c, 0), 0);
        assert_eq!(mdbx_cursor_bind(txn, c, dbi), 0);
        assert_eq!(go(c, NEXT), pair("k", "v"));
        assert_eq!(mdbx_drop(txn, dbi, true), 0);
        assert_eq!((go(c, NEXT), cursor_put(c, b"k", b"v", 0)), (Err(BAD_DBI), BAD_DBI));
        assert_eq!(mdbx_txn_commit(txn), 0);
    }
}

#[test]
fn estimates_are_exact_for_what_is_near() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &MANY);
    let (a, b) = (cursor(txn, dbi), cursor(txn, dbi));
    let distance = |from, to| {
        let mut items = 99;
        // SAFETY: the pointer is good for writing.
        match unsafe { mdbx_estimate_distance(from, to, &mut items) } {
            0 => Ok(items),
            code => Err(code),
        }
    };
    assert_eq!(distance(a, b), Err(libc::ENODATA));
    assert!(seek(a, GET_BOTH, b"b", b"2").is_ok() && seek(b, SET_KEY, b"c", b"").is_ok());
    assert_eq!((distance(a, b), distance(b, a)), (Ok(2), Ok(-2)));
    assert!(seek(b, GET_BOTH, b"b", b"3").is_ok());
    assert_eq!(distance(a, b), Ok(1));
    assert_eq!(seek(b, SET_RANGE, b"z", b""), Err(NOTFOUND));
    assert_eq!(distance(a, b), Ok(4));
}

#[test]
fn where_a_key_has_one_value_what_is_looked_for_is_only_written() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("a", "1"), ("c", "3")]);
    let c = cursor(txn, dbi);
    for garbage in [usize::MAX, 7] {
        for op in [SET_LOWERBOUND, SET_UPPERBOUND] {
            let (mut key, mut data) = (val(b"b"), MDBX_val { iov_base: NOWHERE, iov_len: garbage });
            // SAFETY: it is not read.
            let code = unsafe { mdbx_cursor_get(c, &mut key, &mut data, op) };
            assert!([0, RESULT_TRUE].contains(&code), "{code}");
            assert_eq!(bytes(data), b"3");
        }
        let (mut key, mut data) = (val(b"b"), MDBX_val { iov_base: NOWHERE, iov_len: garbage });
        // SAFETY: as above.
        let code = unsafe { mdbx_get_equal_or_great(txn, dbi, &mut key, &mut data) };
        assert_eq!((code, bytes(data)), (RESULT_TRUE, b"3".to_vec()));
    }
}

/// Nothing can be read there.
const NOWHERE: *mut libc::c_void = std::ptr::without_provenance_mut(8);

#[test]
fn what_an_estimate_shows_lies_in_the_file() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT | DUPFIXED, &[("a", "1"), ("a", "2"), ("a", "3")]);
    let c = cursor(txn, dbi);
    assert!(go(c, FIRST).is_ok());
    let (mut key, mut data, mut distance) = (val(b""), val(b""), 0);
    // SAFETY: the values live.
    let code = unsafe { mdbx_estimate_move(c, &mut key, &mut data, 10, &mut distance) };
    assert_eq!((code, bytes(data), distance), (0, b"2".to_vec(), 1));
    assert_eq!(mdbx_is_dirty(txn, data.iov_base), RESULT_TRUE, "a page of the transaction's");
    for kind in [0, DUPSORT] {
        let other = open(txn, Some(&format!("kind {kind}")), CREATE | kind).unwrap();
        assert_eq!(put(txn, other, b"a", b"1", 0), 0);
        let c = cursor(txn, other);
        assert!(go(c, FIRST).is_ok());
        // SAFETY: the values live.
        let code = unsafe { mdbx_estimate_move(c, &mut key, &mut data, 10, &mut distance) };
        assert_eq!(code, INCOMPATIBLE, "values of one length are meant");
    }
}

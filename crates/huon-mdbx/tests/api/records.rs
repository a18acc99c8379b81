//! Records by key, beyond what LMDB has.

use std::ptr;

use crate::common::records::*;
use crate::common::*;

/// What a replacement answers, and what `old` says then: its bytes, or what room it takes.
#[derive(Debug, PartialEq)]
enum Old {
    Bytes(Vec<u8>),
    Needs(usize),
    None,
}

fn replace(
    txn: Txn,
    dbi: u32,
    key: &[u8],
    new: Option<&[u8]>,
    room: &mut [u8],
    flags: u32,
) -> (i32, Old) {
    let mut new = new.map(val);
    let new = new.as_mut().map_or(ptr::null_mut(), |new| new as *mut MDBX_val);
    let mut old = MDBX_val { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: the values live, and there is so much room.
    let code = unsafe { mdbx_replace(txn, dbi, &val(key), new, &mut old, flags) };
    let told = match (code, old.iov_base.is_null()) {
        (RESULT_TRUE, _) => Old::Needs(old.iov_len),
        (_, true) => Old::None,
        _ => Old::Bytes(bytes(old)),
    };
    (code, told)
}

fn old(text: &str) -> Old {
    Old::Bytes(text.into())
}

#[test]
fn a_replaced_value_is_given_back() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("k", "one")]);
    let mut room = [0; 8];
    assert_eq!(replace(txn, dbi, b"k", Some(b"two"), &mut room, 0), (0, old("one")));
    assert_eq!(
        replace(txn, dbi, b"k", Some(b"x"), &mut room[..2], 0),
        (RESULT_TRUE, Old::Needs(3))
    );
    assert_eq!(get(txn, dbi, b"k"), Ok(b"two".to_vec()), "nothing was changed");
    assert_eq!(replace(txn, dbi, b"new", Some(b"x"), &mut room, 0), (0, Old::None));
    assert_eq!(replace(txn, dbi, b"none", Some(b"x"), &mut room, CURRENT).0, NOTFOUND);
    assert_eq!(replace(txn, dbi, b"k", Some(b"x"), &mut room, NOOVERWRITE), (KEYEXIST, old("two")));
    assert_eq!(replace(txn, dbi, b"k", None, &mut room, 0).0, libc::EINVAL);
    assert_eq!(replace(txn, dbi, b"k", None, &mut room, CURRENT), (0, old("two")));
    assert_eq!(get(txn, dbi, b"k"), Err(NOTFOUND));
    assert_eq!(replace(txn, dbi, b"k", Some(b"x"), &mut room, MULTIPLE).0, libc::EINVAL);
}

#[test]
fn a_replaced_value_of_many_is_the_one_that_is_named() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("k", "1"), ("k", "2"), ("k", "3"), ("l", "1")]);
    let mut room = *b"2";
    let by_value = CURRENT | NOOVERWRITE;
    assert_eq!(replace(txn, dbi, b"k", Some(b"9"), &mut room, CURRENT).0, EMULTIVAL);
    assert_eq!(replace(txn, dbi, b"k", Some(b"9"), &mut room, by_value), (0, old("2")));
    assert_eq!(replace(txn, dbi, b"k", Some(b"9"), &mut room, by_value).0, NOTFOUND);
    assert_eq!(values(txn, dbi, b"k"), [b"1", b"3", b"9"]);
    room = *b"3";
    assert_eq!(replace(txn, dbi, b"k", None, &mut room, by_value), (0, old("3")));
    assert_eq!(values(txn, dbi, b"k"), [b"1", b"9"]);
    assert_eq!(replace(txn, dbi, b"l", Some(b"5"), &mut room, CURRENT), (0, old("1")));
}

#[test]
fn what_a_replacement_points_to_stays_while_the_transaction_lives() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("k", "of old")]);
    assert_eq!(mdbx_txn_commit(txn), 0);
    let txn = env.write();
    let mut old = val(b"");
    // SAFETY: the values live; the page with the old value is not this transaction's.
    assert_eq!(unsafe { mdbx_replace(txn, dbi, &val(b"k"), &mut val(b"new"), &mut old, 0) }, 0);
    for n in 0..2000_u32 {
        assert_eq!(put(txn, dbi, &n.to_be_bytes(), &[7; 500], 0), 0);
    }
    assert_eq!((bytes(old), get(txn, dbi, b"k")), (b"of old".to_vec(), Ok(b"new".to_vec())));
}

#[test]
fn only_one_value_is_overwritten_unless_all_are_meant() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("k", "1"), ("k", "2"), ("l", "1")]);
    assert_eq!(put(txn, dbi, b"none", b"x", CURRENT), NOTFOUND);
    assert_eq!(put(txn, dbi, b"k", b"x", CURRENT), EMULTIVAL);
    assert_eq!(put(txn, dbi, b"l", b"x", CURRENT), 0);
    assert_eq!(values(txn, dbi, b"l"), [b"x"]);
    assert_eq!(put(txn, dbi, b"k", b"x", CURRENT | ALLDUPS), 0);
    assert_eq!(values(txn, dbi, b"k"), [b"x"]);
    assert_eq!(put(txn, dbi, b"k", b"y", ALLDUPS | NOOVERWRITE), KEYEXIST);
    assert_eq!(put(txn, dbi, b"only", b"y", ALLDUPS), 0);
    assert_eq!(put(txn, dbi, b"k", b"y", CURRENT | APPEND), libc::EINVAL);
    assert_eq!(put(txn, dbi, b"k", b"y", RESERVE), INCOMPATIBLE);
    assert_eq!(put(txn, dbi, b"k", b"y", 0x100), libc::EINVAL);
}

#[test]
fn what_is_appended_comes_last() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("k", "5")]);
    assert_eq!(put(txn, dbi, b"k", b"6", APPEND), EKEYMISMATCH);
    assert_eq!(put(txn, dbi, b"j", b"6", APPEND), EKEYMISMATCH);
    assert_eq!(put(txn, dbi, b"k", b"6", APPEND | APPENDDUP), 0);
    assert_eq!(put(txn, dbi, b"k", b"6", APPEND | APPENDDUP), EKEYMISMATCH);
    assert_eq!(put(txn, dbi, b"j", b"7", APPEND | APPENDDUP), EKEYMISMATCH);
    assert_eq!(put(txn, dbi, b"a", b"1", APPENDDUP), 0);
    assert_eq!(put(txn, dbi, b"a", b"0", APPENDDUP), EKEYMISMATCH);
    assert_eq!(put(txn, dbi, b"l", b"1", APPEND), 0);
    let plain = open(txn, Some("plain"), CREATE).unwrap();
    assert_eq!(put(txn, plain, b"k", b"1", APPEND), 0);
    assert_eq!(put(txn, plain, b"k", b"2", APPEND), EKEYMISMATCH);
    assert_eq!(put(txn, plain, b"k", b"2", APPEND | APPENDDUP), 0);
    assert_eq!(get(txn, plain, b"k"), Ok(b"2".to_vec()));
}

fn put_many(txn: Txn, dbi: u32, key: &[u8], all: &[u8], bytes: usize, flags: u32) -> (i32, usize) {
    let mut data = [val(all), val(b"")];
    data[0].iov_len = bytes;
    data[1].iov_len = all.len().checked_div(bytes).unwrap_or(2);
    // SAFETY: the values live, and there are two.
    let code = unsafe { mdbx_put(txn, dbi, &val(key), data.as_mut_ptr(), MULTIPLE | flags) };
    (code, data[1].iov_len)
}

#[test]
fn many_values_at_once() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT | DUPFIXED, &[]);
    assert_eq!(put_many(txn, dbi, b"k", b"ccaabb", 2, 0), (0, 3));
    assert_eq!(put_many(txn, dbi, b"k", b"ddaaee", 2, NODUPDATA), (KEYEXIST, 1));
    assert_eq!(put_many(txn, dbi, b"k", b"ffaagg", 2, 0), (0, 3));
    assert_eq!(values(txn, dbi, b"k").concat(), b"aabbccddffgg");
    assert_eq!(put_many(txn, dbi, b"k", b"xxyy", 2, CURRENT), (EMULTIVAL, 0));
    assert_eq!(put_many(txn, dbi, b"k", b"xxyy", 2, CURRENT | ALLDUPS), (0, 2));
    assert_eq!(values(txn, dbi, b"k"), [b"xx", b"yy"]);
    assert_eq!(put_many(txn, dbi, b"k", b"zz", 2, NOOVERWRITE), (KEYEXIST, 0));
    assert_eq!(put_many(txn, dbi, b"l", b"1122", 2, NOOVERWRITE), (0, 2));
    assert_eq!(put_many(txn, dbi, b"m", b"1122", 2, APPEND), (0, 2));
    assert_eq!(put_many(txn, dbi, b"m", b"3311", 2, APPENDDUP), (EKEYMISMATCH, 1));
    assert_eq!(put_many(txn, dbi, b"k", b"", 2, 0), (0, 0));
    assert_eq!(put_many(txn, dbi, b"k", b"aaabbb", 3, 0).0, BAD_VALSIZE);
    assert_eq!(put_many(txn, dbi, b"k", b"aabb", 0, 0).0, BAD_VALSIZE);
    assert_eq!(put_many(txn, dbi, b"k", b"aabb", 2, RESERVE).0, libc::EINVAL);
    let mut data = [val(b"aa"), val(b"")];
    data[1].iov_len = usize::MAX / 2 + 1;
    // SAFETY: the values live; so many would not fit into memory, and are not looked at.
    let code = unsafe { mdbx_put(txn, dbi, &val(b"k"), data.as_mut_ptr(), MULTIPLE) };
    assert_eq!(code, TOO_LARGE);
    let plain = open(txn, Some("plain"), CREATE).unwrap();
    assert_eq!(put_many(txn, plain, b"k", b"aabb", 2, 0).0, INCOMPATIBLE);
}

#[test]
fn nothing_is_a_key_and_a_value() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("", ""), ("", "x"), ("k", "")]);
    assert_eq!(values(txn, dbi, b""), [&b""[..], b"x"]);
    assert_eq!(values(txn, dbi, b"k"), [b""]);
    assert_eq!(del(txn, dbi, b"", Some(b"")), 0);
    assert_eq!(values(txn, dbi, b""), [b"x"]);
    let plain = open(txn, Some("plain"), CREATE).unwrap();
    assert_eq!(put(txn, plain, b"", b"", 0), 0);
    assert_eq!(get(txn, plain, b""), Ok(Vec::new()));
    let fixed = open(txn, Some("fixed"), CREATE | DUPSORT | DUPFIXED).unwrap();
    assert_eq!(put(txn, fixed, b"k", b"", 0), BAD_VALSIZE);
}

#[test]
fn lengths_that_are_not_allowed_are_not_looked_for() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("k", "v")]);
    let long = vec![7; huon::limits::key_bytes_max(4096).unwrap() + 1];
    assert_eq!(put(txn, dbi, &long[1..], b"", 0), 0);
    assert_eq!(get(txn, dbi, &long[1..]), Ok(Vec::new()));
    assert_eq!(put(txn, dbi, &long, b"", 0), BAD_VALSIZE);
    assert_eq!((get(txn, dbi, &long), del(txn, dbi, &long, None)), (Err(BAD_VALSIZE), BAD_VALSIZE));
    assert_eq!(seek(cursor(txn, dbi), SET_RANGE, &long, b""), Err(BAD_VALSIZE));
    let integers = open(txn, Some("i"), CREATE | INTEGERKEY).unwrap();
    assert_eq!(put(txn, integers, &5_u32.to_ne_bytes(), b"", 0), 0);
    assert_eq!(put(txn, integers, &5_u64.to_ne_bytes(), b"", 0), BAD_VALSIZE);
    assert_eq!(get(txn, integers, b"abc"), Err(BAD_VALSIZE));
    assert_eq!(get(txn, integers, &5_u32.to_ne_bytes()), Ok(Vec::new()));
    let numbers = open(txn, Some("d"), CREATE | DUPSORT | DUPFIXED | INTEGERDUP).unwrap();
    assert_eq!(put(txn, numbers, b"k", &9_u64.to_ne_bytes(), 0), 0);
    assert_eq!(put(txn, numbers, b"k", &9_u32.to_ne_bytes(), 0), BAD_VALSIZE);
}

#[test]
fn a_value_that_is_to_go_is_the_one_that_is_there() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("k", "v")]);
    assert_eq!(del(txn, dbi, b"k", Some(b"other")), NOTFOUND);
    assert_eq!(get(txn, dbi, b"k"), Ok(b"v".to_vec()));
    assert_eq!(del(txn, dbi, b"k", Some(b"v")), 0);
    assert_eq!(del(txn, dbi, b"k", None), NOTFOUND);
}

#[test]
fn a_record_with_how_many_there_are_and_the_one_above() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, DUPSORT, &[("k", "1"), ("k", "3"), ("m", "1")]);
    let get_ex = |key: &[u8]| {
        let (mut key, mut data, mut count) = (val(key), val(b""), 9);
        // SAFETY: the values live.
        match unsafe { mdbx_get_ex(txn, dbi, &mut key, &mut data, &mut count) } {
            0 => Ok((bytes(data), count)),
            code => Err((code, count)),
        }
    };
    assert_eq!(get_ex(b"k"), Ok((b"1".to_vec(), 2)));
    assert_eq!(get_ex(b"l"), Err((NOTFOUND, 0)));
    let above = |key: &[u8], value: &[u8]| {
        let (mut key, mut data) = (val(key), val(value));
        // SAFETY: the values live.
        let code = unsafe { mdbx_get_equal_or_great(txn, dbi, &mut key, &mut data) };
        (code, bytes(key), bytes(data))
    };
    let found = |code, key: &str, value: &str| (code, key.into(), value.into());
    assert_eq!(above(b"k", b"3"), found(0, "k", "3"));
    assert_eq!(above(b"k", b"2"), found(RESULT_TRUE, "k", "3"));
    assert_eq!(above(b"k", b"4"), found(RESULT_TRUE, "m", "1"));
    assert_eq!(above(b"m", b"2").0, NOTFOUND);
}

#[test]
fn a_reserved_place_is_the_callers_until_the_next_change() {
    let env = Env::new();
    let (txn, dbi) = filled(&env, 0, &[("a", "1")]);
    let reserve = |key: &[u8], bytes| {
        let mut room = MDBX_val { iov_base: ptr::null_mut(), iov_len: bytes };
        // SAFETY: the values live.
        assert_eq!(unsafe { mdbx_put(txn, dbi, &val(key), &mut room, RESERVE) }, 0);
        room
    };
    let fill = |room: &MDBX_val, byte| {
        // SAFETY: it is a place of so many bytes.
        unsafe { room.iov_base.cast::<u8>().write_bytes(byte, room.iov_len) }
    };
    let room = reserve(b"r", 5000);
    assert_eq!(get(txn, dbi, b"a"), Ok(b"1".to_vec()));
    assert_eq!(mdbx_is_dirty(txn, room.iov_base), RESULT_TRUE);
    fill(&room, 7);
    assert_eq!(get(txn, dbi, b"r"), Ok(vec![7; 5000]), "as far as it is written");
    fill(&room, 8);
    assert_eq!(put(txn, dbi, b"copy", &bytes(room), 0), 0);
    let mut same = reserve(b"s", 100);
    fill(&same, 9);
    // SAFETY: the value is the place.
    assert_eq!(unsafe { mdbx_put(txn, dbi, &val(b"t"), &mut same, 0) }, 0);
    let inner = {
        reserve(b"u", 10);
        let room = reserve(b"v", 10);
        fill(&room, 10);
        env.begin(txn, 0).unwrap()
    };
    assert_eq!(mdbx_txn_abort(inner), 0);
    for (key, byte, count) in [("r", 8, 5000), ("copy", 8, 5000), ("s", 9, 100), ("t", 9, 100)] {
        assert_eq!(get(txn, dbi, key.as_bytes()), Ok(vec![byte; count]), "{key}");
    }
    assert_eq!(get(txn, dbi, b"v"), Ok(vec![10; 10]), "not of the transaction that was aborted");
    fill(&reserve(b"w", 30), 11);
    assert_eq!(mdbx_txn_commit(txn), 0);
    assert_eq!(get(env.read(), dbi, b"w"), Ok(vec![11; 30]));
}

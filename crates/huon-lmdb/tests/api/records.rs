//! Records by key: what each flag says, and kinds of databases.

use std::cmp::Ordering;

use crate::common::*;

fn fresh(flags: u32) -> (Env, Txn, u32) {
    let env = Env::new();
    let dbi = env.dbi("t", flags);
    let txn = env.begin();
    (env, txn, dbi)
}

fn keys(txn: Txn, dbi: u32) -> Vec<Vec<u8>> {
    let c = cursor(txn, dbi);
    std::iter::from_fn(|| go(c, NEXT).ok().map(|(key, _)| key)).collect()
}

#[test]
fn lengths_are_limited() {
    let (env, txn, dbi) = fresh(0);
    assert_eq!(mdb_env_get_maxkeysize(env.env), 511);
    assert_eq!(put(txn, dbi, b"", b"v", 0), BAD_VALSIZE);
    assert_eq!(get(txn, dbi, b""), Err(BAD_VALSIZE));
    assert_eq!(del(txn, dbi, b"", None), BAD_VALSIZE);
    assert_eq!(put(txn, dbi, &[1; 512], b"v", 0), BAD_VALSIZE);
    assert_eq!(put(txn, dbi, &[1; 511], &[2; 100_000], 0), 0);
    assert_eq!(get(txn, dbi, &[1; 511]).map(|value| value.len()), Ok(100_000));
    assert_eq!(put(txn, dbi, b"empty", b"", 0), 0);
    assert_eq!(get(txn, dbi, b"empty"), Ok(Vec::new()));
    let dup = dbi_open(txn, Some("dup"), CREATE | DUPSORT).unwrap();
    assert_eq!(put(txn, dup, b"k", b"", 0), BAD_VALSIZE);
    assert_eq!(put(txn, dup, b"k", &[1; 512], 0), BAD_VALSIZE);
    assert_eq!(put(txn, dup, b"k", &[1; 511], 0), 0);
    mdb_txn_abort(txn);
}

#[test]
fn nooverwrite_shows_what_is_there() {
    let (_env, txn, dbi) = fresh(0);
    assert_eq!(put(txn, dbi, b"k", b"old", NOOVERWRITE), 0);
    let mut value = val(b"new one");
    // SAFETY: the values live.
    let code = unsafe { mdb_put(txn, dbi, &mut val(b"k"), &mut value, NOOVERWRITE) };
    assert_eq!((code, bytes(value)), (KEYEXIST, b"old".to_vec()));
    assert_eq!(get(txn, dbi, b"k"), Ok(b"old".to_vec()));
    let c = cursor(txn, dbi);
    assert_eq!(cursor_put(c, b"k", b"new", NOOVERWRITE), KEYEXIST);
    assert_eq!(go(c, GET_CURRENT), pair("k", "old"));
    assert_eq!(put(txn, dbi, b"k", b"new", NODUPDATA), 0, "nothing to a key with one value");
    for flag in [CURRENT, MULTIPLE] {
        assert_eq!(put(txn, dbi, b"k", b"new", flag), libc::EINVAL, "these are for cursors");
    }
}

#[test]
fn append_takes_what_comes_behind() {
    let (_env, txn, dbi) = fresh(0);
    assert_eq!(put(txn, dbi, b"b", b"", APPEND), 0);
    assert_eq!(put(txn, dbi, b"c", b"", APPEND), 0);
    assert_eq!(put(txn, dbi, b"a", b"", APPEND), KEYEXIST);
    assert_eq!(put(txn, dbi, b"c", b"", APPEND), KEYEXIST);
    assert_eq!(put(txn, dbi, b"d", b"", APPEND), 0, "a refusal breaks nothing");
    let dup = dbi_open(txn, Some("dup"), CREATE | DUPSORT).unwrap();
    assert_eq!(put(txn, dup, b"k", b"2", APPENDDUP), 0);
    assert_eq!(put(txn, dup, b"k", b"1", APPENDDUP), KEYEXIST);
    assert_eq!(put(txn, dup, b"k", b"3", APPENDDUP), 0);
    assert_eq!(put(txn, dup, b"j", b"1", APPEND), KEYEXIST);
    mdb_txn_abort(txn);
}

#[test]
fn a_reserved_value_is_what_was_written_into_its_place() {
    let (env, txn, dbi) = fresh(0);
    let reserve = |key: &[u8], bytes: usize| {
        let mut value = MDB_val { mv_size: bytes, ..val(b"") };
        // SAFETY: the values live.
        assert_eq!(unsafe { mdb_put(txn, dbi, &mut val(key), &mut value, RESERVE) }, 0);
        // SAFETY: the place is the caller's until the next call.
        unsafe { std::slice::from_raw_parts_mut(value.mv_data.cast::<u8>(), bytes) }
    };
    reserve(b"small", 5).copy_from_slice(b"hello");
    assert_eq!(get(txn, dbi, b"small"), Ok(b"hello".to_vec()));
    reserve(b"large", 50_000).fill(7);
    reserve(b"last", 3).copy_from_slice(b"end");
    assert_eq!(mdb_txn_commit(txn), 0);
    let reader = env.read();
    assert_eq!(get(reader, dbi, b"large"), Ok(vec![7; 50_000]));
    assert_eq!(get(reader, dbi, b"last"), Ok(b"end".to_vec()));
    mdb_txn_abort(reader);
}

#[test]
fn equal_values_are_one() {
    let (_env, txn, dbi) = fresh(DUPSORT);
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
    assert_eq!(put(txn, dbi, b"k", b"v", 0), 0, "nothing changes");
    assert_eq!(put(txn, dbi, b"k", b"v", NODUPDATA), KEYEXIST);
    assert_eq!(put(txn, dbi, b"k", b"w", NODUPDATA), 0);
    assert_eq!(stat(txn, dbi).unwrap().ms_entries, 2);
    assert_eq!(del(txn, dbi, b"k", Some(b"x")), NOTFOUND);
    assert_eq!(del(txn, dbi, b"k", Some(b"v")), 0);
    assert_eq!(get(txn, dbi, b"k"), Ok(b"w".to_vec()));
    assert_eq!(del(txn, dbi, b"k", None), 0);
    assert_eq!(del(txn, dbi, b"k", None), NOTFOUND);
    let plain = dbi_open(txn, Some("plain"), CREATE).unwrap();
    assert_eq!(put(txn, plain, b"k", b"v", 0), 0);
    assert_eq!(del(txn, plain, b"k", Some(b"other")), 0, "a plain one does not look at it");
}

#[test]
fn integers_of_either_length_are_in_their_order() {
    let (_env, txn, dbi) = fresh(INTEGERKEY);
    let numbers: [u64; 4] = [1 << 40, 256, 3, 65_535];
    for number in numbers {
        assert_eq!(put(txn, dbi, &number.to_ne_bytes(), b"", 0), 0);
    }
    let order = [3, 256, 65_535, 1 << 40].map(|number: u64| number.to_ne_bytes().to_vec());
    assert_eq!(keys(txn, dbi), order);
    assert_eq!(put(txn, dbi, &3u32.to_ne_bytes(), b"", 0), BAD_VALSIZE, "all of one length");
    let short = dbi_open(txn, Some("short"), CREATE | INTEGERKEY).unwrap();
    for number in [70_000u32, 256, 3] {
        assert_eq!(put(txn, short, &number.to_ne_bytes(), b"", 0), 0);
    }
    assert_eq!(keys(txn, short), [3u32, 256, 70_000].map(|number| number.to_ne_bytes().to_vec()));
    let dups = DUPSORT | DUPFIXED | INTEGERDUP;
    let dups = dbi_open(txn, Some("dups"), CREATE | dups).unwrap();
    for number in [70_000u32, 256, 3] {
        assert_eq!(put(txn, dups, b"k", &number.to_ne_bytes(), 0), 0);
    }
    assert_eq!(get(txn, dups, b"k"), Ok(3u32.to_ne_bytes().to_vec()));
}

#[test]
fn keys_can_be_compared_from_their_end() {
    let (_env, txn, dbi) = fresh(REVERSEKEY);
    for key in ["ac", "ba", "cb"] {
        assert_eq!(put(txn, dbi, key.as_bytes(), b"", 0), 0);
    }
    assert_eq!(keys(txn, dbi), [b"ba", b"cb", b"ac"]);
}

/// By length, longest first.
extern "C" fn longest_first(a: *const MDB_val, b: *const MDB_val) -> i32 {
    // SAFETY: it is called with two values.
    let (a, b) = unsafe { (*a, *b) };
    b.mv_size.cmp(&a.mv_size) as i32
}

#[test]
fn a_program_may_compare_keys_and_values_itself() {
    let env = Env::new();
    let txn = env.begin();
    let dbi = dbi_open(txn, Some("t"), CREATE | DUPSORT).unwrap();
    // SAFETY: the function takes any two values.
    unsafe {
        assert_eq!(mdb_set_compare(txn, dbi, Some(longest_first)), 0);
        assert_eq!(mdb_set_dupsort(txn, dbi, Some(longest_first)), 0);
    }
    for (key, value) in [("a", "x"), ("bbb", "yy"), ("bbb", "yyyy"), ("cc", "z")] {
        assert_eq!(put(txn, dbi, key.as_bytes(), value.as_bytes(), 0), 0);
    }
    assert_eq!(keys(txn, dbi), [&b"bbb"[..], b"bbb", b"cc", b"a"]);
    assert_eq!(get(txn, dbi, b"abc"), Ok(b"yyyy".to_vec()), "as long, so the same");
    // SAFETY: the values live.
    let compare = |a: &[u8], b: &[u8]| unsafe { mdb_cmp(txn, dbi, &val(a), &val(b)) }.cmp(&0);
    assert_eq!(compare(b"aaa", b"b"), Ordering::Less);
    assert_eq!(mdb_txn_commit(txn), 0);
    let path = env.path().to_owned();
    mdb_env_close(env.env);
    let again = Env::at(&path, 0);
    let txn = again.begin();
    let dbi = dbi_open(txn, Some("t"), 0).unwrap();
    assert_eq!(get(txn, dbi, b"abc"), Err(INCOMPATIBLE), "it has to be told again");
    // SAFETY: the function takes any two values.
    unsafe {
        assert_eq!(mdb_set_compare(txn, dbi, Some(longest_first)), 0);
        assert_eq!(mdb_set_dupsort(txn, dbi, Some(longest_first)), 0);
    }
    assert_eq!(get(txn, dbi, b"abc"), Ok(b"yyyy".to_vec()));
    mdb_txn_abort(txn);
}

#[test]
fn the_main_database_may_have_many_values_while_it_has_no_records() {
    let env = Env::new();
    let txn = env.begin();
    let main = dbi_open(txn, None, DUPSORT).unwrap();
    assert_eq!(main, 1);
    for value in [b"b", b"a"] {
        assert_eq!(put(txn, main, b"k", value, 0), 0);
    }
    assert_eq!(dbi_open(txn, Some("named"), CREATE), Err(INCOMPATIBLE));
    assert_eq!(mdb_txn_commit(txn), 0);
    let path = env.path().to_owned();
    mdb_env_close(env.env);
    let again = Env::at(&path, 0);
    let reader = again.read();
    let main = dbi_open(reader, None, 0).unwrap();
    assert_eq!(stat(reader, main).unwrap().ms_entries, 2);
    assert_eq!(get(reader, main, b"k"), Ok(b"a".to_vec()));
    mdb_txn_abort(reader);
    let other = Env::new();
    let txn = other.begin();
    let plain = dbi_open(txn, None, 0).unwrap();
    assert_eq!(put(txn, plain, b"k", b"v", 0), 0);
    assert_eq!(dbi_open(txn, None, DUPSORT), Err(INCOMPATIBLE), "it has a record");
    mdb_txn_abort(txn);
}

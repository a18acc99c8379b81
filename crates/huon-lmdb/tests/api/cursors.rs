//! Where cursors stand, and go.

use crate::common::*;

/// k1 to k5, each with its own name as value.
fn five(flags: u32) -> (Env, Txn, u32) {
    let env = Env::new();
    let dbi = env.dbi("t", flags);
    let txn = env.begin();
    for key in ["k1", "k2", "k3", "k4", "k5"] {
        assert_eq!(put(txn, dbi, key.as_bytes(), key.as_bytes(), 0), 0);
    }
    (env, txn, dbi)
}

#[test]
fn an_unset_cursor_has_no_current_record_and_begins_at_the_edge() {
    let (_env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    assert_eq!(go(c, GET_CURRENT), Err(libc::EINVAL));
    assert_eq!(mdb_cursor_del(c, 0), libc::EINVAL);
    assert_eq!(go(c, NEXT), pair("k1", "k1"));
    let c = cursor(txn, dbi);
    assert_eq!(go(c, PREV), pair("k5", "k5"));
}

#[test]
fn at_the_end_next_finds_nothing_again_and_again_and_the_cursor_stays() {
    let (_env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    assert_eq!(go(c, LAST), pair("k5", "k5"));
    for _ in 0..3 {
        assert_eq!(go(c, NEXT), Err(NOTFOUND));
    }
    assert_eq!(go(c, GET_CURRENT), pair("k5", "k5"));
    assert_eq!(go(c, PREV), pair("k4", "k4"));
    assert_eq!(go(c, FIRST), pair("k1", "k1"));
    assert_eq!(go(c, PREV), Err(NOTFOUND));
    assert_eq!(go(c, NEXT), pair("k2", "k2"));
}

#[test]
fn after_a_delete_next_is_the_successor_once() {
    let (_env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    assert!(seek(c, SET, b"k2", b"").is_ok());
    assert_eq!(mdb_cursor_del(c, 0), 0);
    assert_eq!(go(c, NEXT), pair("k3", "k3"));
    assert_eq!(mdb_cursor_del(c, 0), 0);
    assert_eq!(go(c, GET_CURRENT), pair("k4", "k4"), "this takes the mark away");
    assert_eq!(go(c, NEXT), pair("k5", "k5"));
}

#[test]
fn deletes_without_a_step_take_one_record_after_the_other() {
    let (_env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    assert_eq!(go(c, FIRST), pair("k1", "k1"));
    for _ in 0..5 {
        assert_eq!(mdb_cursor_del(c, 0), 0);
    }
    assert_eq!(mdb_cursor_del(c, 0), libc::EINVAL);
    assert_eq!(go(c, NEXT), Err(NOTFOUND));
    assert_eq!(stat(txn, dbi).unwrap().ms_entries, 0);
}

#[test]
fn other_cursors_on_a_deleted_record_get_the_mark_too() {
    let (_env, txn, dbi) = five(0);
    let (a, b, c) = (cursor(txn, dbi), cursor(txn, dbi), cursor(txn, dbi));
    for cursor in [a, b, c] {
        assert!(seek(cursor, SET, b"k2", b"").is_ok());
    }
    assert_eq!(mdb_cursor_del(a, 0), 0);
    assert_eq!(go(b, NEXT), pair("k3", "k3"));
    assert_eq!(put(txn, dbi, b"k2x", b"", 0), 0);
    assert_eq!(go(c, NEXT), pair("k3", "k3"), "what came later lies before its next record");
    assert_eq!(del(txn, dbi, b"k3", None), 0);
    assert_eq!(go(b, PREV), pair("k2x", ""));
}

#[test]
fn a_record_that_is_put_again_where_a_cursor_stood_is_not_met_twice() {
    let (_env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    let mut met = Vec::new();
    while let Ok((key, value)) = go(c, NEXT) {
        assert_eq!(mdb_cursor_del(c, 0), 0);
        assert_eq!(put(txn, dbi, &key, &value, 0), 0);
        met.push(key);
    }
    assert_eq!(met.len(), 5);
}

#[test]
fn behind_the_last_record_prev_is_the_last_record() {
    let (_env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    assert_eq!(seek(c, SET_RANGE, b"z", b""), Err(NOTFOUND));
    assert_eq!(go(c, PREV), pair("k5", "k5"));
    assert_eq!(seek(c, SET, b"z", b""), Err(NOTFOUND));
    assert_eq!(go(c, PREV), pair("k5", "k5"));
    assert_eq!(seek(c, SET_RANGE, b"k22", b""), pair("k3", "k3"));
}

#[test]
fn set_leaves_the_callers_key_and_set_key_shows_the_stored_one() {
    let (_env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    let own = b"k3".to_vec();
    for (op, same) in [(SET, true), (SET_KEY, false)] {
        let (mut key, mut value) = (val(&own), val(b""));
        // SAFETY: the values live.
        assert_eq!(unsafe { mdb_cursor_get(c, &mut key, &mut value, op) }, 0);
        assert_eq!(key.mv_data as *const u8 == own.as_ptr(), same);
        assert_eq!(bytes(key), own);
    }
}

#[test]
fn put_current_does_not_look_at_the_key() {
    let (_env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    assert!(seek(c, SET, b"k3", b"").is_ok());
    assert_eq!(cursor_put(c, b"other", b"new", CURRENT), 0);
    assert_eq!(get(txn, dbi, b"k3"), Ok(b"new".to_vec()));
    assert_eq!(get(txn, dbi, b"other"), Err(NOTFOUND));
    assert_eq!(go(c, NEXT), pair("k4", "k4"));
}

#[test]
fn operations_on_values_need_a_database_with_many() {
    let (_env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    assert!(go(c, FIRST).is_ok());
    for op in [FIRST_DUP, LAST_DUP, GET_BOTH, GET_BOTH_RANGE, GET_MULTIPLE, NEXT_MULTIPLE] {
        assert_eq!(seek(c, op, b"k1", b"k1"), Err(INCOMPATIBLE), "{op}");
    }
    let mut count = 0;
    // SAFETY: the pointer is good for writing.
    assert_eq!(unsafe { mdb_cursor_count(c, &mut count) }, INCOMPATIBLE);
    assert_eq!(go(c, 19), Err(libc::EINVAL), "there is no such operation");
    assert_eq!(seek(c, SET, b"", b""), Err(BAD_VALSIZE));
    assert_eq!(seek(c, SET_RANGE, b"", b""), Err(BAD_VALSIZE));
}

/// k1: a b c, k2: d, k3: e f.
fn many(flags: u32) -> (Env, Txn, u32) {
    let env = Env::new();
    let dbi = env.dbi("t", DUPSORT | flags);
    let txn = env.begin();
    for (key, value) in
        [("k1", "b"), ("k1", "c"), ("k1", "a"), ("k2", "d"), ("k3", "f"), ("k3", "e")]
    {
        assert_eq!(put(txn, dbi, key.as_bytes(), value.as_bytes(), 0), 0);
    }
    (env, txn, dbi)
}

#[test]
fn values_of_a_key_are_in_order_and_stepped_over() {
    let (_env, txn, dbi) = many(0);
    let c = cursor(txn, dbi);
    assert_eq!(seek(c, SET_KEY, b"k1", b""), pair("k1", "a"));
    assert_eq!(go(c, NEXT_DUP), pair("k1", "b"));
    let mut count = 0;
    // SAFETY: the pointer is good for writing.
    assert_eq!((unsafe { mdb_cursor_count(c, &mut count) }, count), (0, 3));
    assert_eq!(go(c, LAST_DUP).unwrap().1, b"c");
    assert_eq!(go(c, NEXT_DUP), Err(NOTFOUND));
    assert_eq!(go(c, GET_CURRENT), pair("k1", "c"));
    assert_eq!(go(c, NEXT), pair("k2", "d"));
    assert_eq!(go(c, PREV_DUP), Err(NOTFOUND));
    assert_eq!(go(c, NEXT_NODUP), pair("k3", "e"));
    assert_eq!(go(c, NEXT_NODUP), Err(NOTFOUND));
    assert_eq!(go(c, PREV_NODUP), pair("k2", "d"));
    assert_eq!(go(c, PREV_NODUP), pair("k1", "c"));
    assert_eq!(go(c, FIRST_DUP).unwrap().1, b"a");
    assert_eq!(go(c, PREV), Err(NOTFOUND));
}

#[test]
fn pairs_are_found() {
    let (_env, txn, dbi) = many(0);
    let c = cursor(txn, dbi);
    assert!(seek(c, GET_BOTH, b"k1", b"b").is_ok());
    assert_eq!(go(c, NEXT), pair("k1", "c"));
    assert_eq!(seek(c, GET_BOTH, b"k1", b"bb"), Err(NOTFOUND));
    assert_eq!(seek(c, GET_BOTH_RANGE, b"k1", b"bb").unwrap().1, b"c");
    assert_eq!(seek(c, GET_BOTH_RANGE, b"k1", b"d"), Err(NOTFOUND));
    assert_eq!(seek(c, GET_BOTH_RANGE, b"k0", b"a"), Err(NOTFOUND));
}

#[test]
fn above_all_values_of_a_key_the_next_key_is_next() {
    let (_env, txn, dbi) = many(0);
    let c = cursor(txn, dbi);
    for op in [GET_BOTH, GET_BOTH_RANGE] {
        for (step, found) in [
            (GET_CURRENT, Err(NOTFOUND)),
            (NEXT, pair("k2", "d")),
            (NEXT_DUP, Err(NOTFOUND)),
            (PREV, pair("k1", "c")),
        ] {
            assert_eq!(seek(c, op, b"k1", b"z"), Err(NOTFOUND));
            assert_eq!(go(c, step), found, "{op} {step}");
        }
        // A single value is not left.
        assert_eq!(seek(c, op, b"k2", b"z"), Err(NOTFOUND));
        assert_eq!(go(c, GET_CURRENT), pair("k2", "d"));
    }
}

#[test]
fn what_only_libmdbx_has_is_refused() {
    let (_env, txn, dbi) = many(0);
    let c = cursor(txn, dbi);
    for op in [19, 20, 21] {
        assert_eq!(seek(c, op, b"k1", b"a"), Err(libc::EINVAL));
    }
    for flags in [CURRENT, 0x80] {
        assert_eq!(put(txn, dbi, b"k1", b"x", flags), libc::EINVAL);
    }
    assert!(go(c, FIRST).is_ok());
    assert_eq!(cursor_put(c, b"k1", b"x", 0x80), libc::EINVAL);
    assert_eq!(mdb_cursor_del(c, CURRENT), libc::EINVAL);
}

#[test]
fn a_cursor_goes_on_after_a_value_it_deleted() {
    let (_env, txn, dbi) = many(0);
    let c = cursor(txn, dbi);
    assert!(seek(c, GET_BOTH, b"k1", b"b").is_ok());
    assert_eq!(mdb_cursor_del(c, 0), 0);
    assert_eq!(go(c, NEXT_DUP), pair("k1", "c"));
    assert_eq!(mdb_cursor_del(c, 0), 0);
    assert_eq!(go(c, GET_CURRENT), Err(NOTFOUND), "no value of the key comes behind");
    assert_eq!(go(c, NEXT), pair("k2", "d"));
    assert_eq!(go(c, PREV), pair("k1", "a"));
    assert_eq!(mdb_cursor_del(c, NODUPDATA), 0);
    assert_eq!(go(c, NEXT), pair("k2", "d"));
    assert_eq!(stat(txn, dbi).unwrap().ms_entries, 3);
}

#[test]
fn put_current_replaces_a_value() {
    let (_env, txn, dbi) = many(0);
    let c = cursor(txn, dbi);
    assert!(seek(c, GET_BOTH, b"k1", b"b").is_ok());
    assert_eq!(cursor_put(c, b"k1", b"bz", CURRENT), 0);
    assert_eq!(go(c, GET_CURRENT), pair("k1", "bz"));
    assert_eq!(go(c, NEXT), pair("k1", "c"));
}

#[test]
fn values_of_one_length_come_and_go_in_bulk() {
    let env = Env::new();
    let dbi = env.dbi("t", DUPSORT | DUPFIXED);
    let txn = env.begin();
    let c = cursor(txn, dbi);
    let all: Vec<u8> = (0..2000u32).flat_map(u32::to_be_bytes).collect();
    let mut data = [MDB_val { mv_size: 4, ..val(&all) }, MDB_val { mv_size: 2000, ..val(b"") }];
    // SAFETY: two values, as this flag needs them.
    let code = unsafe { mdb_cursor_put(c, &mut val(b"k"), data.as_mut_ptr(), MULTIPLE) };
    assert_eq!((code, data[1].mv_size), (0, 2000));
    assert_eq!(put(txn, dbi, b"k", b"three", 0), BAD_VALSIZE, "another length");
    assert!(seek(c, SET, b"k", b"").is_ok());
    let mut got = go(c, GET_MULTIPLE).unwrap().1;
    while let Ok((_, more)) = go(c, NEXT_MULTIPLE) {
        got.extend(more);
    }
    assert_eq!(got, all);
    let plain = env.begin_as(txn, 0).unwrap();
    let dbi = dbi_open(plain, Some("u"), CREATE | DUPSORT).unwrap();
    let c = cursor(plain, dbi);
    // SAFETY: as above.
    let code = unsafe { mdb_cursor_put(c, &mut val(b"k"), data.as_mut_ptr(), MULTIPLE) };
    assert_eq!(code, INCOMPATIBLE);
}

#[test]
fn cursors_of_a_parent_stand_where_they_stood_when_a_child_is_aborted() {
    let (env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    assert!(seek(c, SET, b"k3", b"").is_ok());
    let child = env.begin_as(txn, 0).unwrap();
    assert_eq!(go(c, NEXT), Err(BAD_TXN), "the parent rests");
    assert_eq!(del(child, dbi, b"k3", None), 0);
    mdb_txn_abort(child);
    assert_eq!(go(c, GET_CURRENT), pair("k3", "k3"));
    let child = env.begin_as(txn, 0).unwrap();
    assert_eq!(del(child, dbi, b"k3", None), 0);
    assert_eq!(mdb_txn_commit(child), 0);
    assert_eq!(go(c, NEXT), pair("k4", "k4"));
}

#[test]
fn commit_frees_the_cursors_of_writers_and_those_of_readers_are_renewed() {
    let (env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    assert_eq!(mdb_txn_commit(txn), 0);
    assert_eq!(go(c, FIRST), Err(libc::EINVAL));
    mdb_cursor_close(c);
    let reader = env.read();
    let c = cursor(reader, dbi);
    assert_eq!(go(c, LAST), pair("k5", "k5"));
    mdb_txn_abort(reader);
    assert_eq!(go(c, PREV), Err(BAD_TXN));
    let reader = env.read();
    assert_eq!(mdb_cursor_renew(reader, c), 0);
    assert_eq!(mdb_cursor_txn(c), reader);
    assert_eq!(go(c, NEXT), pair("k1", "k1"));
    mdb_cursor_close(c);
    mdb_txn_abort(reader);
}

/// A small generator (splitmix64, Steele et al. 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Cursors of a reader stand on pages, and those of a writer remember keys: both go the same way.
fn both_go_the_same_way(flags: u32, values_of: impl Fn(u64) -> u64) {
    let env = Env::new();
    let dbi = env.dbi("t", flags);
    let txn = env.begin();
    let key = |n: u64| format!("key{n:04}").into_bytes();
    let value = |n: u64| n.to_be_bytes();
    for n in 0..300 {
        for v in 0..values_of(n) {
            assert_eq!(put(txn, dbi, &key(2 * n), &value(2 * v), 0), 0);
        }
    }
    assert_eq!(mdb_txn_commit(txn), 0);
    let cursors = [cursor(env.read(), dbi), cursor(env.begin(), dbi)];
    let steps = [
        NEXT,
        NEXT,
        NEXT,
        PREV,
        PREV,
        NEXT_DUP,
        NEXT_DUP,
        PREV_DUP,
        PREV_DUP,
        NEXT_NODUP,
        PREV_NODUP,
        GET_CURRENT,
        FIRST,
        LAST,
        FIRST_DUP,
        LAST_DUP,
        SET,
        SET_RANGE,
        GET_BOTH,
        GET_BOTH_RANGE,
    ];
    let mut state = u64::from(flags) + 1;
    let mut found = 0;
    for walk in 0..8_000 {
        // The same one again mostly, as programs do; a walk with one cursor, then with the other.
        let mut op = NEXT;
        let calls: Vec<_> = (0..1 + random(&mut state) % 40)
            .map(|_| {
                if random(&mut state).is_multiple_of(4) {
                    op = steps[random(&mut state) as usize % steps.len()];
                }
                (op, key(random(&mut state) % 610), value(random(&mut state) % 12))
            })
            .collect();
        let [read, written] = cursors.map(|cursor| {
            let go = |(op, key, value): &(_, Vec<u8>, [u8; 8])| seek(cursor, *op, key, value);
            calls.iter().map(go).collect::<Vec<_>>()
        });
        let differs = read.iter().zip(&written).position(|(read, written)| read != written);
        assert_eq!(
            differs,
            None,
            "walk {walk}: {:?}",
            calls.iter().map(|c| c.0).collect::<Vec<_>>()
        );
        found += read.iter().filter(|found| found.is_ok()).count();
    }
    assert!(found > 40_000, "{found}");
}

#[test]
fn a_reader_and_a_writer_go_the_same_way() {
    both_go_the_same_way(0, |_| 1);
    // One value for most keys, a few for some, a tree of them for others.
    let values = |n: u64| match n % 10 {
        0 => 5,
        1 => 800,
        _ => 1,
    };
    both_go_the_same_way(DUPSORT, values);
    both_go_the_same_way(DUPSORT | DUPFIXED, values);
}

#[test]
fn after_a_renewal_a_cursor_begins_anew_or_goes_on() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let fill = |keys: std::ops::Range<u32>| {
        let txn = env.begin();
        keys.for_each(|n| assert_eq!(put(txn, dbi, &n.to_be_bytes(), b"v", 0), 0));
        assert_eq!(mdb_txn_commit(txn), 0);
    };
    fill(0..1000);
    let txn = env.read();
    let c = cursor(txn, dbi);
    let key = |found: Result<Pair, i32>| found.map(|(key, _)| key);
    (0..100_u32).for_each(|n| assert_eq!(key(go(c, NEXT)), Ok(n.to_be_bytes().to_vec())));
    // Nothing was written: it stands where it stood.
    mdb_txn_reset(txn);
    assert_eq!(go(c, NEXT), Err(BAD_TXN));
    assert_eq!(mdb_txn_renew(txn), 0);
    assert_eq!(key(go(c, NEXT)), Ok(100_u32.to_be_bytes().to_vec()));
    // Its page is another one: it stands before the first record, which is somewhere.
    mdb_txn_reset(txn);
    fill(1000..1010);
    assert_eq!(mdb_txn_renew(txn), 0);
    assert_eq!(key(go(c, NEXT)), Ok(0_u32.to_be_bytes().to_vec()));
    assert_eq!(mdb_cursor_renew(txn, c), 0);
    assert_eq!(key(go(c, LAST)), Ok(1009_u32.to_be_bytes().to_vec()));
}

/// Steps that go on as they came look up less than others.
#[test]
fn steps_of_a_writer_find_what_was_done_between_them() {
    let (env, txn, dbi) = five(0);
    let c = cursor(txn, dbi);
    let stepped = || {
        assert_eq!(go(c, FIRST), pair("k1", "k1"));
        assert_eq!([go(c, NEXT), go(c, NEXT)], [pair("k2", "k2"), pair("k3", "k3")]);
    };
    stepped();
    assert_eq!(put(txn, dbi, b"k3x", b"new", 0), 0);
    assert_eq!(go(c, NEXT), pair("k3x", "new"));
    stepped();
    assert_eq!(del(txn, dbi, b"k3x", None), 0);
    assert_eq!(put(txn, dbi, b"k4", b"other", 0), 0);
    assert_eq!([go(c, NEXT), go(c, NEXT)], [pair("k4", "other"), pair("k5", "k5")]);
    assert_eq!([go(c, NEXT), go(c, PREV)], [Err(NOTFOUND), pair("k4", "other")]);
    // What is written into a reserved place after the call.
    let mut value = MDB_val { mv_size: 4, ..val(b"") };
    // SAFETY: the values live.
    assert_eq!(unsafe { mdb_put(txn, dbi, &mut val(b"k4"), &mut value, RESERVE) }, 0);
    stepped();
    // SAFETY: the place is the caller's until the next change.
    unsafe { std::slice::from_raw_parts_mut(value.mv_data.cast::<u8>(), 4) }
        .copy_from_slice(b"late");
    assert_eq!(go(c, NEXT), pair("k4", "late"));
    stepped();
    let child = env.begin_as(txn, 0).unwrap();
    assert_eq!(go(c, NEXT), Err(BAD_TXN), "the parent rests");
    mdb_txn_abort(child);
    assert_eq!(go(c, NEXT), pair("k4", "late"));
    mdb_txn_abort(txn);
}

#[test]
fn steps_of_a_reader_end_with_its_snapshot() {
    let (env, txn, dbi) = five(0);
    assert_eq!(mdb_txn_commit(txn), 0);
    let reader = env.read();
    let c = cursor(reader, dbi);
    assert_eq!([go(c, NEXT), go(c, NEXT), go(c, NEXT)], ["k1", "k2", "k3"].map(|k| pair(k, k)));
    mdb_txn_reset(reader);
    assert_eq!(go(c, NEXT), Err(BAD_TXN));
    assert_eq!(mdb_txn_renew(reader), 0);
    assert_eq!(mdb_cursor_renew(reader, c), 0);
    assert_eq!([go(c, NEXT), go(c, NEXT)], [pair("k1", "k1"), pair("k2", "k2")]);
    assert_eq!([go(c, PREV), go(c, NEXT), go(c, NEXT)], ["k1", "k2", "k3"].map(|k| pair(k, k)));
    mdb_txn_abort(reader);
}

/// The names of tables are records of the main one, whose values are looked up.
#[test]
fn steps_of_a_writer_show_the_names_of_tables() {
    let env = Env::new();
    let (_, _) = (env.dbi("b", 0), env.dbi("d", 0));
    let txn = env.begin();
    let main = dbi_open(txn, None, 0).unwrap();
    for key in ["a", "c", "e"] {
        assert_eq!(put(txn, main, key.as_bytes(), key.as_bytes(), 0), 0);
    }
    let c = cursor(txn, main);
    for _ in 0..2 {
        assert_eq!(go(c, FIRST), pair("a", "a"));
        let bytes: Vec<_> =
            (0..4).map(|_| go(c, NEXT).unwrap()).map(|(k, v)| (k[0], v.len())).collect();
        assert_eq!(bytes, [(b'b', 48), (b'c', 1), (b'd', 48), (b'e', 1)]);
        assert_eq!(go(c, NEXT), Err(NOTFOUND));
    }
    mdb_txn_abort(txn);
}

//! Records of all kinds of tables.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::common::*;

#[test]
fn records_come_and_go() {
    let env = Env::new();
    let txn = env.write();
    let t = create(txn, "t").unwrap();
    assert!(get(|new| huon_put(txn, t, of("a"), of("1"), new)).unwrap());
    assert!(!get(|new| huon_put(txn, t, of("a"), of("2"), new)).unwrap());
    assert_eq!(value(txn, t, "a").as_deref(), Ok("2"));
    assert_eq!(huon_get(txn, t, of("a"), None), HUON_OK);
    assert_eq!(huon_get(txn, t, of("b"), None), HUON_NOT_FOUND);
    assert_eq!(huon_put_if_absent(txn, t, of("a"), of("3")), HUON_EXISTS);
    assert_eq!(huon_update(txn, t, of("b"), of("3")), HUON_NOT_FOUND);
    ok(huon_put_if_absent(txn, t, of("b"), of("3")));
    ok(huon_update(txn, t, of("b"), of("4")));
    let old = get(|old| huon_replace(txn, t, of("b"), of("5"), old)).unwrap();
    assert_eq!(seen(old).as_deref(), Some(&b"4"[..]));
    let old = get(|old| huon_replace(txn, t, of("c"), of("6"), old)).unwrap();
    assert_eq!(seen(old), None);
    let old = get(|old| huon_take(txn, t, of("b"), old)).unwrap();
    assert_eq!(seen(old).as_deref(), Some(&b"5"[..]));
    assert_eq!(huon_take(txn, t, of("b"), None), HUON_NOT_FOUND);
    ok(huon_remove(txn, t, of("c")));
    assert_eq!(huon_remove(txn, t, of("c")), HUON_NOT_FOUND);
    ok(huon_append(txn, t, of("x"), of("9")));
    assert_eq!(huon_append(txn, t, of("w"), of("9")), HUON_KEY_OUT_OF_ORDER);
    assert!(message().starts_with("huon_append: key is not above"), "{}", message());
    assert_eq!(seen_pair(get(|pair| huon_pop_last(txn, t, pair)).unwrap()).0, "x");
    assert_eq!(seen_pair(get(|pair| huon_pop_first(txn, t, pair)).unwrap()).1, "2");
    assert_eq!(get(|pair| huon_pop_first(txn, t, pair)).err(), Some(HUON_NOT_FOUND));
    assert_eq!(get(|first| huon_sequence(txn, t, 5, first)), Ok(0));
    assert_eq!(get(|first| huon_sequence(txn, t, 0, first)), Ok(5));
    ok(huon_commit(txn));
    ok(huon_close(env.env));
}

#[test]
fn a_value_is_set_where_it_is_what_was_expected() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    let txn = env.write();
    let [one, two] = [of("1"), of("2")];
    let set = |expected, value| huon_compare_and_set(txn, t, of("a"), expected, value);
    assert_eq!(set(None, Some(&two)), HUON_CONFLICT);
    assert_eq!(set(Some(&two), None), HUON_CONFLICT);
    assert_eq!(value(txn, t, "a").as_deref(), Ok("1"));
    ok(set(Some(&one), Some(&two)));
    assert_eq!(value(txn, t, "a").as_deref(), Ok("2"));
    ok(set(Some(&two), None));
    assert_eq!(value(txn, t, "a"), Err(HUON_NOT_FOUND));
    ok(set(None, Some(&one)));
    ok(set(Some(&one), Some(&one)));
    ok(huon_abort(txn));
}

#[test]
fn what_is_given_may_be_what_was_shown() {
    let env = Env::new();
    let long = "x".repeat(100_000);
    let records: Vec<(String, String)> =
        (0..500).map(|n| (format!("{n:04}"), format!("value {n}"))).collect();
    let txn = env.write();
    let t = create(txn, "t").unwrap();
    records.iter().for_each(|(key, value)| ok(put(txn, t, key, value)));
    ok(put(txn, t, "long", &long));
    for n in 0..500 {
        let key = format!("{n:04}");
        let pair = get(|pair| huon_at_or_above(txn, t, of(&key), pair)).unwrap();
        // The key's own bytes, in a page that this removes it from.
        ok(huon_remove(txn, t, pair.key));
        let pair = get(|pair| huon_last(txn, t, pair)).unwrap();
        let name = format!("copy {n:04}");
        ok(huon_put(txn, t, of(&name), pair.value, None));
    }
    assert_eq!(value(txn, t, "copy 0499"), Ok(long));
    assert_eq!(get(|count| huon_count(txn, t, None, count)), Ok(501));
    ok(huon_commit(txn));
}

#[test]
fn neighbours_and_ranges() {
    let env = Env::new();
    let t = env.table(&[("ab", "1"), ("ac", "2"), ("b", "3"), ("ba", "4"), ("c", "5")]);
    let txn = env.read();
    let pair = |code: Result<huon_pair<'_>, c_int>| code.map(seen_pair).map(|pair| pair.0);
    assert_eq!(pair(get(|pair| huon_first(txn, t, pair))).as_deref(), Ok("ab"));
    assert_eq!(pair(get(|pair| huon_last(txn, t, pair))).as_deref(), Ok("c"));
    assert_eq!(pair(get(|to| huon_at_or_above(txn, t, of("ad"), to))).as_deref(), Ok("b"));
    assert_eq!(pair(get(|to| huon_at_or_below(txn, t, of("ad"), to))).as_deref(), Ok("ac"));
    assert_eq!(pair(get(|to| huon_at_or_below(txn, t, of("a"), to))), Err(HUON_NOT_FOUND));
    for (range, keys) in [
        (range(HUON_PREFIX, "a", ""), &["ab", "ac"][..]),
        (range(HUON_PREFIX | HUON_AFTER, "a", "ab"), &["ac"]),
        (range(HUON_PREFIX | HUON_BEFORE, "a", "ac"), &["ab"]),
        (range(HUON_PREFIX | HUON_FROM, "a", "ac"), &["ac"]),
        (range(HUON_PREFIX | HUON_TO, "a", "ab"), &["ab"]),
        (range(HUON_PREFIX | HUON_AFTER, "b", "ac"), &["b", "ba"]),
        (range(HUON_PREFIX | HUON_TO, "b", "c"), &["b", "ba"]),
        (range(HUON_PREFIX | HUON_AFTER, "b", "c"), &[]),
        (range(HUON_FROM | HUON_TO, "ac", "ba"), &["ac", "b", "ba"]),
        (range(HUON_AFTER | HUON_BEFORE, "ac", "ba"), &["b"]),
        (range(HUON_FROM, "b", ""), &["b", "ba", "c"]),
        (range(HUON_BEFORE, "", "b"), &["ab", "ac"]),
        (range(HUON_FROM | HUON_TO, "x", "y"), &[]),
        (range(0, "", ""), &["ab", "ac", "b", "ba", "c"]),
    ] {
        assert_eq!(get(|n| huon_count(txn, t, Some(&range), n)), Ok(keys.len() as u64));
        let cursor = get(|cursor| huon_cursor_open(txn, t, Some(&range), cursor)).unwrap();
        let names = |found: Vec<(String, String)>| -> Vec<String> {
            found.into_iter().map(|record| record.0).collect()
        };
        assert_eq!(names(rest(cursor, txn, false)), keys);
        assert_eq!(names(rest(cursor, txn, true)), keys.iter().rev().copied().collect::<Vec<_>>());
        ok(huon_cursor_to_end(cursor));
        assert_eq!(names(rest(cursor, txn, false)), Vec::<String>::new());
        assert_eq!(huon_cursor_seek(cursor, of("b")) == HUON_OK, keys.len() == 5);
        ok(huon_cursor_close(cursor));
    }
    for wrong in [HUON_FROM | HUON_AFTER, HUON_PREFIX | HUON_FROM | HUON_TO, 32] {
        let wrong = range(wrong, "a", "b");
        assert_eq!(get(|n| huon_count(txn, t, Some(&wrong), n)), Err(HUON_BAD_ARGUMENT));
    }
    ok(huon_abort(txn));
    let txn = env.write();
    let range = range(HUON_FROM | HUON_BEFORE, "ac", "ba");
    assert_eq!(get(|n| huon_remove_range(txn, t, Some(&range), n)), Ok(2));
    ok(huon_table_clear(txn, t));
    assert_eq!(get(|n| huon_estimate(txn, t, None, n)), Ok(0));
    ok(huon_abort(txn));
}

/// Goes through a range, so many records a call and without a cursor.
fn all_of(
    txn: Txn,
    table: huon_table,
    mut at: huon_range<'_>,
    back: bool,
    n: usize,
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    loop {
        let mut pairs = vec![huon_pair::of(b"", b""); n];
        // SAFETY: there is room for so many.
        let told = get(|count| unsafe {
            huon_range_many(txn, table, Some(&at), back, pairs.as_mut_ptr(), n, count)
        });
        match told {
            Ok(count) => found.extend(pairs[..count].iter().map(|pair| seen_pair(*pair).0)),
            Err(code) => {
                assert_eq!(code, HUON_NOT_FOUND, "{}", message());
                return found;
            }
        }
        let last = of(Vec::leak(found[found.len() - 1].clone().into_bytes()));
        if back {
            at = huon_range { flags: at.flags & HUON_FROM | HUON_BEFORE, to: last, ..at };
        } else {
            at = huon_range { flags: at.flags & HUON_BEFORE | HUON_AFTER, from: last, ..at };
        }
    }
}

#[test]
fn a_range_is_shown_without_a_cursor() {
    let env = Env::new();
    let keys: Vec<String> = (0..500).map(|n| format!("{n:03}")).collect();
    let txn = env.write();
    let t = create(txn, "t").unwrap();
    keys.iter().for_each(|key| ok(put(txn, t, key, "x")));
    for n in [1, 7, 500, 1000] {
        let within = range(HUON_FROM | HUON_BEFORE, "100", "400");
        assert_eq!(all_of(txn, t, within, false, n), keys[100..400], "{n}");
        let mut back = all_of(txn, t, within, true, n);
        back.reverse();
        assert_eq!(back, keys[100..400], "{n}");
    }
    let mut pairs = [huon_pair::of(b"", b""); 3];
    let pairs = pairs.as_mut_ptr();
    let some = |range: Option<&huon_range<'_>>, back, n| {
        // SAFETY: there is room for so many.
        get(|count| unsafe { huon_range_many(txn, t, range, back, pairs, n, count) })
    };
    assert_eq!(some(None, true, 3), Ok(3));
    // SAFETY: it was written.
    assert_eq!(seen_pair(unsafe { *pairs }).0, "499");
    assert_eq!(some(Some(&range(HUON_PREFIX, "49", "")), false, 3), Ok(3));
    assert_eq!(some(Some(&range(HUON_FROM | HUON_TO, "400", "401")), false, 3), Ok(2));
    assert_eq!(
        some(Some(&range(HUON_FROM | HUON_TO, "401", "400")), false, 3),
        Err(HUON_NOT_FOUND)
    );
    assert_eq!(some(None, false, 0), Ok(0));
    // The main table's records are shown, and not the names of tables.
    // SAFETY: no options are given.
    let main = get(|table| unsafe { huon_table_open(txn, of(""), ptr::null(), table) }).unwrap();
    ok(put(txn, main, "a", "1"));
    ok(put(txn, main, "z", "2"));
    assert_eq!(all_of(txn, main, range(0, "", ""), false, 1), ["a", "z"]);
    ok(huon_abort(txn));
}

#[test]
fn a_cursor_lives_beside_changes_and_over_transactions() {
    let env = Env::new();
    let t = env.table(&[("a", "1"), ("b", "2"), ("c", "3")]);
    let txn = env.write();
    let cursor = get(|cursor| huon_cursor_open(txn, t, None, cursor)).unwrap();
    let next = |txn| get(|pair| huon_cursor_next(cursor, txn, pair)).map(seen_pair);
    assert_eq!(next(txn).unwrap().0, "a");
    ok(huon_remove(txn, t, of("a")));
    ok(put(txn, t, "aa", "9"));
    assert_eq!(next(txn).unwrap().0, "aa");
    ok(huon_commit(txn));
    let reader = env.read();
    assert_eq!(next(reader).unwrap().0, "b");
    let copy = get(|copy| huon_cursor_copy(cursor, copy)).unwrap();
    assert_eq!(rest(copy, reader, false).len(), 1);
    let position = get(|key| huon_cursor_position(cursor, key)).unwrap();
    assert_eq!(seen(position).as_deref(), Some(&b"b"[..]));
    assert_eq!(get(|pair| huon_cursor_prev(cursor, reader, pair)).map(seen_pair).unwrap().0, "b");
    ok(huon_cursor_seek_after(cursor, of("b")));
    assert_eq!(next(reader).unwrap().0, "c");
    assert_eq!(next(reader).err(), Some(HUON_NOT_FOUND));
    for cursor in [cursor, copy] {
        ok(huon_cursor_close(cursor));
    }
    ok(huon_abort(reader));
}

#[test]
fn many_at_once() {
    let env = Env::new();
    let txn = env.write();
    let t = create(txn, "t").unwrap();
    let keys: Vec<String> = (0..200).map(|n| format!("key {n:03}")).collect();
    let pairs: Vec<huon_pair<'_>> =
        keys.iter().map(|key| huon_pair::of(key.as_bytes(), key.as_bytes())).collect();
    // SAFETY: arrays are as long as is said.
    unsafe {
        let done = get(|done| huon_put_many(txn, t, pairs.as_ptr(), pairs.len(), done));
        assert_eq!(done, Ok(200));
        let wanted = [of("key 003"), of("none"), of("key 199")];
        let mut values = [of(""); 3];
        let found = get(|n| huon_get_many(txn, t, wanted.as_ptr(), 3, values.as_mut_ptr(), n));
        assert_eq!(found, Ok(2));
        assert_eq!(values.map(seen).map(|value| value.is_some()), [true, false, true]);
        let (text, ends) = (b"key 007nonekey 008", [7_u32, 11, 18]);
        let packed = get(|n| {
            huon_get_many_packed(txn, t, text.as_ptr(), ends.as_ptr(), 3, values.as_mut_ptr(), n)
        });
        assert_eq!(packed, Ok(2));
        assert_eq!(seen(values[2]).as_deref(), Some(&b"key 008"[..]));

        // What is packed goes into another table.
        let other = create(txn, "other").unwrap();
        let cursor = get(|cursor| huon_cursor_open(txn, t, None, cursor)).unwrap();
        let mut room = [0_u8; 100];
        let mut calls = 0;
        loop {
            let mut used = std::mem::MaybeUninit::uninit();
            let count = get(|count| {
                let (first, all) = (room.as_mut_ptr(), room.len());
                huon_cursor_next_packed(cursor, txn, false, 4, first, all, count, Some(&mut used))
            });
            let Ok(count) = count else { break };
            assert!(count > 0 && count <= 4, "{count}");
            let used = used.assume_init();
            ok(huon_put_packed(txn, other, room.as_ptr(), used, None));
            calls += 1;
        }
        assert_eq!(calls, 200 / 4);
        assert_eq!(get(|n| huon_count(txn, other, None, n)), Ok(200));
        ok(huon_cursor_to_start(cursor));
        let mut used = std::mem::MaybeUninit::uninit();
        let none = get(|count| {
            let (first, used) = (room.as_mut_ptr(), Some(&mut used));
            huon_cursor_next_packed(cursor, txn, false, 4, first, 10, count, used)
        });
        assert_eq!((none, used.assume_init()), (Ok(0), 22), "it says how much it needs");
        assert_eq!(rest(cursor, txn, false).len(), 200, "nothing was passed over");
        assert_eq!(huon_put_packed(txn, other, room.as_ptr(), 9, None), HUON_BAD_ARGUMENT);
        ok(huon_cursor_close(cursor));
        let mut copied = [0_u8; 4];
        let len = get(|len| huon_get_copy(txn, t, of("key 003"), copied.as_mut_ptr(), 4, len));
        assert_eq!((len, &copied), (Ok(7), b"key "));
    }
    ok(huon_commit(txn));
}

#[test]
fn multimaps_hold_many_values() {
    let env = Env::new();
    let txn = env.write();
    let m = multi(txn, "m").unwrap();
    for (key, value) in [("a", "2"), ("a", "1"), ("b", "9"), ("a", "3")] {
        assert!(get(|new| huon_multi_put(txn, m, of(key), of(value), new)).unwrap());
    }
    assert!(!get(|new| huon_multi_put(txn, m, of("a"), of("1"), new)).unwrap());
    let values = [of("4"), of("1"), of("5")];
    // SAFETY: there are so many.
    let added = get(|n| unsafe { huon_multi_put_many(txn, m, of("a"), values.as_ptr(), 3, n) });
    assert_eq!(added, Ok(2));
    assert_eq!(get(|n| huon_multi_count_values(txn, m, of("a"), n)), Ok(5));
    assert_eq!(get(|n| huon_multi_count(txn, m, None, n)), Ok(6));
    let cursor = get(|c| huon_multi_values_open(txn, m, of("a"), c)).unwrap();
    let values = |found: Vec<(String, String)>| found.into_iter().map(|r| r.1).collect::<String>();
    assert_eq!(values(rest(cursor, txn, false)), "12345");
    assert_eq!(values(rest(cursor, txn, true)), "54321");
    ok(huon_cursor_close(cursor));
    let cursor = get(|c| huon_multi_cursor_open(txn, m, None, c)).unwrap();
    ok(huon_cursor_seek_pair(cursor, of("a"), of("3")));
    assert_eq!(get(|pair| huon_cursor_next(cursor, txn, pair)).map(seen_pair).unwrap().1, "3");
    ok(huon_cursor_skip_key(cursor));
    assert_eq!(values(rest(cursor, txn, false)), "9");
    ok(huon_cursor_close(cursor));
    ok(huon_multi_remove(txn, m, of("a"), of("3")));
    assert_eq!(huon_multi_remove(txn, m, of("a"), of("3")), HUON_NOT_FOUND);
    assert_eq!(huon_multi_contains(txn, m, of("a"), of("3")), HUON_NOT_FOUND);
    ok(huon_multi_update(txn, m, of("a"), of("4"), of("7")));
    ok(huon_multi_contains(txn, m, of("a"), of("7")));
    assert_eq!(huon_multi_put_if_absent(txn, m, of("a"), of("8")), HUON_EXISTS);
    assert_eq!(get(|n| huon_multi_set(txn, m, of("a"), of("0"), n)), Ok(4));
    assert_eq!(get(|n| huon_multi_remove_key(txn, m, of("a"), n)), Ok(1));
    assert_eq!(huon_multi_remove_key(txn, m, of("a"), None), HUON_NOT_FOUND);
    assert_eq!(seen_pair(get(|pair| huon_multi_first(txn, m, pair)).unwrap()).0, "b");
    ok(huon_multi_append(txn, m, of("b"), of("99")));
    assert_eq!(seen_pair(get(|pair| huon_multi_last(txn, m, pair)).unwrap()).1, "99");
    ok(huon_multi_rename(txn, m, of("n")));
    assert_eq!(huon_multi_drop(txn, m), HUON_NOT_FOUND);
    ok(huon_multi_drop(txn, multi(txn, "n").unwrap()));
    ok(huon_commit(txn));
}

extern "C" fn by_length(_: *mut c_void, a: huon_bytes<'_>, b: huon_bytes<'_>) -> c_int {
    let len = |bytes| seen(bytes).map_or(0, |bytes| bytes.len()) as c_int;
    len(a) - len(b)
}

#[test]
fn tables_have_orders_and_types() {
    let env = Env::new();
    let txn = env.write();
    let order = |kind| huon_order {
        kind,
        name: of("by-length"),
        compare: Some(by_length),
        context: ptr::null_mut(),
    };
    let with = |kind, types| huon_table_options {
        bytes: size_of::<huon_table_options<'_>>(),
        keys: order(kind),
        values: order(HUON_ORDER_BYTES),
        value_bytes: 0,
        key_type: of(types),
        value_type: of(types),
    };
    let open = |name: &str, with: &huon_table_options<'_>| {
        // SAFETY: the options say how long they are.
        get(|table| unsafe { huon_table_create(txn, of(name), with, table) })
    };
    let t = open("custom", &with(HUON_ORDER_CUSTOM, "")).unwrap();
    for key in ["ccc", "a", "bb"] {
        ok(put(txn, t, key, ""));
    }
    assert_eq!(value(txn, t, "xx").as_deref(), Ok(""), "of one length: the same");
    let range = range(HUON_FROM | HUON_BEFORE, "--", "----");
    let cursor = get(|cursor| huon_cursor_open(txn, t, Some(&range), cursor)).unwrap();
    assert_eq!(
        rest(cursor, txn, false).iter().map(|r| r.0.as_str()).collect::<Vec<_>>(),
        ["bb", "ccc"]
    );
    ok(huon_cursor_close(cursor));
    let prefix = crate::common::range(HUON_PREFIX, "b", "");
    let refused = get(|cursor| huon_cursor_open(txn, t, Some(&prefix), cursor));
    assert_eq!(refused.err(), Some(HUON_PREFIX_ORDER));
    open("typed", &with(HUON_ORDER_BYTES, "str")).unwrap();
    assert_eq!(open("typed", &with(HUON_ORDER_BYTES, "u64")).err(), Some(HUON_TABLE_TYPE));
    assert_eq!(open("typed", &with(HUON_ORDER_REVERSED, "str")).err(), Some(HUON_TABLE_KIND));
    assert_eq!(open("odd", &with(99, "")).err(), Some(HUON_BAD_ARGUMENT));
    assert_eq!(multi(txn, "typed").err(), Some(HUON_TABLE_KIND));
    let mut names = [of(""); 2];
    // SAFETY: there is room for two.
    let count = get(|n| unsafe { huon_table_names(txn, names.as_mut_ptr(), 2, n) });
    assert_eq!(count, Ok(2));
    assert_eq!(seen(names[0]).as_deref(), Some(&b"custom"[..]));
    ok(huon_abort(txn));
}

struct Feed {
    left: u32,
    key: String,
}

extern "C" fn next(context: *mut c_void, pair: *mut huon_pair<'static>) -> c_int {
    // SAFETY: the context is that of the test below, and the pair is to be set.
    let (feed, pair) = unsafe { (&mut *context.cast::<Feed>(), &mut *pair) };
    match feed.left {
        0 => return HUON_NOT_FOUND,
        1_000_000 => return -99,
        left => feed.left = left - 1,
    }
    feed.key = format!("{:08}", 1_000_000 - feed.left);
    // SAFETY: the key stays until the next call.
    let key: &'static [u8] = unsafe { std::slice::from_raw_parts(feed.key.as_ptr(), 8) };
    *pair = huon_pair::of(key, b"v");
    HUON_OK
}

#[test]
fn a_table_is_filled_by_a_callback() {
    let env = Env::new();
    let txn = env.write();
    let t = create(txn, "t").unwrap();
    let mut feed = Feed { left: 5000, key: String::new() };
    ok(huon_bulk_append(txn, t, Some(next), (&raw mut feed).cast()));
    assert_eq!(get(|n| huon_count(txn, t, None, n)), Ok(5000));
    assert_eq!(huon_bulk_append(txn, t, None, ptr::null_mut()), HUON_BAD_ARGUMENT);
    feed.left = 1_000_000;
    let stopped = huon_bulk_append(txn, t, Some(next), (&raw mut feed).cast());
    assert_eq!(stopped, HUON_STOPPED);
    ok(huon_abort(txn));
}

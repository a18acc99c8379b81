//! Calls that call back: what stays, what is stored, what a walk sees; and the journal.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::common::*;

/// What a callback is handed.
fn context<T>(of: &mut T) -> *mut c_void {
    ptr::from_mut(of).cast()
}

/// The same, in the callback.
fn within<'c, T>(context: *mut c_void) -> &'c mut T {
    // SAFETY: each test hands a callback what it expects.
    unsafe { &mut *context.cast() }
}

fn text(bytes: huon_bytes<'_>) -> String {
    String::from_utf8(seen(bytes).unwrap()).unwrap()
}

extern "C" fn count_up(_: *mut c_void, place: *mut c_void, len: usize) {
    // SAFETY: the place has so many bytes.
    let place = unsafe { std::slice::from_raw_parts_mut(place.cast::<u8>(), len) };
    place.iter_mut().zip(b'0'..).for_each(|(byte, digit)| *byte = digit);
}

#[test]
fn a_value_is_written_where_it_lies() {
    let env = Env::new();
    let txn = env.write();
    let t = create(txn, "t").unwrap();
    ok(huon_reserve(txn, t, of("a"), 5, Some(count_up), ptr::null_mut()));
    ok(huon_reserve(txn, t, of("large"), 20_000, Some(fill_none), ptr::null_mut()));
    ok(huon_reserve(txn, t, of("none"), 0, Some(count_up), ptr::null_mut()));
    assert_eq!(value(txn, t, "a").as_deref(), Ok("01234"));
    assert_eq!(value(txn, t, "large").map(|value| value.len()), Ok(20_000));
    assert_eq!(value(txn, t, "none").as_deref(), Ok(""));
    let null = ptr::null_mut();
    assert_eq!(huon_reserve(txn, t, of("b"), 5, None, null), HUON_BAD_ARGUMENT);
    let long = "x".repeat(5000);
    assert_eq!(huon_reserve(txn, t, of(&long), 5, Some(count_up), null), HUON_KEY_TOO_LONG);
    ok(huon_commit(txn));
    let reader = env.read();
    assert_eq!(huon_reserve(reader, t, of("b"), 5, Some(count_up), null), HUON_BAD_TXN);
    ok(huon_abort(reader));
}

extern "C" fn fill_none(_: *mut c_void, _: *mut c_void, _: usize) {}

/// Keeps keys that end so; stops at `9`.
extern "C" fn keeps(context: *mut c_void, key: huon_bytes<'_>, _: huon_bytes<'_>) -> c_int {
    let end: &mut char = within(context);
    match text(key) {
        key if key.ends_with('9') => 7,
        key => c_int::from(key.ends_with(*end)),
    }
}

#[test]
fn a_function_says_which_records_stay() {
    let env = Env::new();
    let records: Vec<(String, &str)> = (10..40).map(|n| (n.to_string(), "v")).collect();
    let records: Vec<(&str, &str)> = records.iter().map(|(key, v)| (&**key, *v)).collect();
    let t = env.table(&records);
    let txn = env.write();
    let mut end = '4';
    let range = range(HUON_FROM | HUON_TO, "12", "17");
    let retain = |range, end: &mut char, count: Option<&mut MaybeUninit<u64>>| {
        huon_retain(txn, t, range, Some(keeps), context(end), count)
    };
    assert_eq!(get(|n| retain(Some(&range), &mut end, n)), Ok(5));
    assert_eq!(retain(None, &mut end, None), HUON_STOPPED);
    let cursor = get(|cursor| huon_cursor_open(txn, t, None, cursor)).unwrap();
    let left = rest(cursor, txn, false);
    assert_eq!(left[..3].iter().map(|record| &*record.0).collect::<Vec<_>>(), ["14", "19", "20"]);
    assert_eq!(left.len(), 22, "all behind the stop");
    assert_eq!(huon_retain(txn, t, None, None, ptr::null_mut(), None), HUON_BAD_ARGUMENT);
    let m = multi(txn, "m").unwrap();
    for (key, value) in [("a4", "1"), ("a4", "2"), ("b", "1"), ("b", "2"), ("c4", "1")] {
        ok(huon_multi_put(txn, m, of(key), of(value), None));
    }
    let end = context(&mut end);
    assert_eq!(get(|n| huon_multi_retain(txn, m, None, Some(keeps), end, n)), Ok(2));
    assert_eq!(get(|n| huon_multi_count(txn, m, None, n)), Ok(3));
    ok(huon_abort(txn));
}

extern "C" fn sees(context: *mut c_void, index: usize, value: huon_bytes<'_>) -> c_int {
    let all: &mut Vec<(usize, String)> = within(context);
    all.push((index, text(value)));
    c_int::from(all.len() == 6)
}

#[test]
fn values_of_many_keys_and_those_that_were() {
    let env = Env::new();
    let txn = env.write();
    let m = multi(txn, "m").unwrap();
    for (key, value) in [("a", "2"), ("a", "1"), ("b", "3"), ("c", "4"), ("c", "5"), ("d", "6")] {
        ok(huon_multi_put(txn, m, of(key), of(value), None));
    }
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut many = |keys: &[&str]| {
        let keys: Vec<huon_bytes<'_>> = keys.iter().map(|key| of(*key)).collect();
        let all = context(&mut all);
        // SAFETY: there are so many keys.
        unsafe { huon_multi_get_many(txn, m, keys.as_ptr(), keys.len(), Some(sees), all) }
    };
    ok(many(&["c", "x", "a"]));
    assert_eq!(many(&["b", "d", "a"]), HUON_STOPPED);
    let all: Vec<(usize, &str)> = all.iter().map(|(index, value)| (*index, &**value)).collect();
    assert_eq!(all, [(0, "4"), (0, "5"), (2, "1"), (2, "2"), (0, "3"), (1, "6")]);

    let mut before = [huon_bytes::of(b""); 2];
    let (room, len) = (before.as_mut_ptr(), before.len());
    // SAFETY: there is room for so many.
    let old = get(|n| unsafe { huon_multi_replace(txn, m, of("a"), of("9"), room, len, n) });
    assert_eq!((old, before.map(text)), (Ok(2), ["1".into(), "2".into()]));
    // SAFETY: the same.
    let old = get(|n| unsafe { huon_multi_take(txn, m, of("c"), room, 1, n) });
    assert_eq!((old, text(before[0])), (Ok(2), "4".into()), "more than there is room for");
    // SAFETY: there is none.
    let old = get(|n| unsafe { huon_multi_take(txn, m, of("c"), ptr::null_mut(), 0, n) });
    assert_eq!(old, Err(HUON_NOT_FOUND));
    let popped = get(|pair| huon_multi_pop_first(txn, m, pair)).map(seen_pair).unwrap();
    assert_eq!(popped, ("a".into(), "9".into()));
    let popped = get(|pair| huon_multi_pop_last(txn, m, pair)).map(seen_pair).unwrap();
    assert_eq!(popped, ("d".into(), "6".into()));
    ok(huon_multi_pop_last(txn, m, None));
    assert_eq!(huon_multi_pop_last(txn, m, None), HUON_NOT_FOUND);
    ok(huon_abort(txn));
}

/// What a change is to answer, and what it has seen.
struct Changing {
    answer: c_int,
    seen: Vec<Option<String>>,
    value: String,
}

extern "C" fn changes(
    context: *mut c_void,
    old: *const huon_bytes<'_>,
    value: *mut huon_bytes<'static>,
) -> c_int {
    let own: &mut Changing = within(context);
    // SAFETY: they are what the header says, and the value stays as long as the test.
    unsafe {
        own.seen.push(old.as_ref().map(|old| text(*old)));
        *value = std::mem::transmute::<huon_bytes<'_>, huon_bytes<'static>>(of(&own.value));
    }
    own.answer
}

#[test]
fn a_function_says_what_becomes_of_a_value() {
    let env = Env::new();
    let t = env.table(&[]);
    let txn = env.write();
    let m = multi(txn, "m").unwrap();
    let mut own = Changing { answer: HUON_CHANGE_NONE, seen: Vec::new(), value: String::new() };
    type Call<'c> = &'c dyn Fn(huon_change_fn, *mut c_void) -> Result<bool, c_int>;
    let of_table: Call<'_> =
        &|call, to| get(|was| huon_update_with(txn, t, of("k"), call, to, was));
    let of_multi: Call<'_> =
        &|call, to| get(|was| huon_multi_update_with(txn, m, of("k"), call, to, was));
    for call in [of_table, of_multi] {
        own.seen.clear();
        for (answer, value, expected) in [
            (HUON_CHANGE_NONE, "0", Ok(false)),
            (HUON_CHANGE_SET, "1", Ok(false)),
            (HUON_CHANGE_NONE, "2", Ok(true)),
            (HUON_CHANGE_SET, "3", Ok(true)),
            (9, "4", Err(HUON_STOPPED)),
            (HUON_CHANGE_REMOVE, "5", Ok(true)),
            (HUON_CHANGE_REMOVE, "6", Ok(false)),
            (HUON_CHANGE_SET, "7", Ok(false)),
        ] {
            (own.answer, own.value) = (answer, value.to_owned());
            assert_eq!(call(Some(changes), context(&mut own)), expected, "{value}");
        }
        let seen: Vec<_> = own.seen.iter().map(Option::as_deref).collect();
        let (one, three) = (Some("1"), Some("3"));
        assert_eq!(seen, [None, None, one, one, three, three, None, None]);
        assert_eq!(call(None, ptr::null_mut()), Err(HUON_BAD_ARGUMENT));
    }
    assert_eq!(value(txn, t, "k").as_deref(), Ok("7"));
    ok(huon_multi_put(txn, m, of("k"), of("8"), None));
    own.seen.clear();
    assert_eq!(of_multi(Some(changes), context(&mut own)), Err(HUON_MANY_VALUES));
    assert!(own.seen.is_empty(), "it is not asked");
    ok(huon_commit(txn));
    let reader = env.read();
    let refused = huon_update_with(reader, t, of("k"), Some(changes), context(&mut own), None);
    assert_eq!(refused, HUON_BAD_TXN);
    ok(huon_abort(reader));
}

extern "C" fn asks_again(
    context: *mut c_void,
    _: *const huon_bytes<'_>,
    _: *mut huon_bytes<'static>,
) -> c_int {
    let (txn, table, codes): &mut (Txn, huon_table, Vec<c_int>) = within(context);
    codes.push(huon_get(*txn, *table, of("k"), None));
    codes.push(huon_commit(*txn));
    HUON_CHANGE_NONE
}

#[test]
fn a_function_that_changes_cannot_use_the_transaction() {
    let env = Env::new();
    let t = env.table(&[("k", "1")]);
    let txn = env.write();
    let mut own = (txn, t, Vec::<c_int>::new());
    ok(huon_update_with(txn, t, of("k"), Some(asks_again), context(&mut own), None));
    assert_eq!(own.2, [HUON_IN_USE, HUON_IN_USE]);
    ok(huon_commit(txn));
}

#[test]
fn values_of_a_key_are_removed_by_range() {
    let env = Env::new();
    let txn = env.write();
    let m = multi(txn, "m").unwrap();
    for n in 0..1000 {
        ok(huon_multi_put(txn, m, of("a"), of(&format!("{n:03}")), None));
    }
    ok(huon_multi_put(txn, m, of("b"), of("500"), None));
    let remove = |key: &str, flags, from, to| {
        let values = range(flags, from, to);
        get(|n| huon_multi_remove_values(txn, m, of(key), Some(&values), n))
    };
    assert_eq!(remove("a", HUON_FROM | HUON_BEFORE, "100", "900"), Ok(800));
    assert_eq!(remove("a", HUON_FROM | HUON_BEFORE, "100", "900"), Ok(0));
    assert_eq!(remove("a", HUON_AFTER, "990", ""), Ok(9));
    assert_eq!(remove("a", HUON_TO, "", "049"), Ok(50));
    assert_eq!(remove("none", HUON_TO, "", "9"), Ok(0));
    assert_eq!(remove("a", HUON_FROM | HUON_TO, "9", "1"), Ok(0), "an end before its start");
    assert_eq!(remove("a", HUON_PREFIX, "9", ""), Err(HUON_INVALID));
    assert_eq!(remove("a", HUON_FROM | HUON_AFTER, "9", ""), Err(HUON_BAD_ARGUMENT));
    assert_eq!(get(|n| huon_multi_count_values(txn, m, of("a"), n)), Ok(141));
    assert_eq!(get(|n| huon_multi_remove_values(txn, m, of("a"), None, n)), Ok(141));
    ok(huon_multi_remove_values(txn, m, of("a"), None, None));
    assert_eq!(get(|n| huon_multi_count(txn, m, None, n)), Ok(1), "that of the other key");
    ok(huon_abort(txn));
}

/// Pairs that are fed: so many values to a key.
struct Pairs {
    next: u32,
    count: u32,
    room: String,
    end: c_int,
}

extern "C" fn next_pair(context: *mut c_void, pair: *mut huon_pair<'static>) -> c_int {
    let own: &mut Pairs = within(context);
    if own.next == own.count {
        return own.end;
    }
    own.room = format!("{:04}{:02}", own.next / 50, own.next % 50);
    own.next += 1;
    // SAFETY: the text stays until the next call.
    let text: &'static str = unsafe { std::mem::transmute::<&str, &'static str>(&own.room) };
    // SAFETY: the pair is to be set.
    unsafe { *pair = huon_pair::of(&text.as_bytes()[..4], &text.as_bytes()[4..]) };
    HUON_OK
}

#[test]
fn a_multimap_is_filled_by_a_callback() {
    let env = Env::new();
    let feed =
        |txn, m, own: &mut Pairs| huon_multi_bulk_load(txn, m, Some(next_pair), context(own));
    let pairs = |next, end| Pairs { next, count: 5000, room: String::new(), end };
    let txn = env.write();
    let m = multi(txn, "m").unwrap();
    ok(feed(txn, m, &mut pairs(0, HUON_NOT_FOUND)));
    assert_eq!(get(|n| huon_multi_count(txn, m, None, n)), Ok(5000));
    assert_eq!(get(|n| huon_multi_count_values(txn, m, of("0042"), n)), Ok(50));
    ok(huon_multi_contains(txn, m, of("0042"), of("07")));
    let again = feed(txn, m, &mut pairs(0, HUON_NOT_FOUND));
    assert_eq!(again, HUON_INVALID, "it is not empty: {}", message());
    assert_eq!(huon_multi_bulk_load(txn, m, None, ptr::null_mut()), HUON_BAD_ARGUMENT);
    ok(huon_commit(txn));
    let txn = env.write();
    let stopped = multi(txn, "stopped").unwrap();
    assert_eq!(feed(txn, stopped, &mut pairs(4000, -99)), HUON_STOPPED);
    assert_eq!(huon_multi_put(txn, stopped, of("a"), of("b"), None), HUON_TXN_BROKEN);
    ok(huon_abort(txn));
}

#[derive(Default)]
struct Seen {
    pages: u64,
    leaves_of: Vec<String>,
    stop_at: u64,
}

extern "C" fn page(context: *mut c_void, page: *const huon_page) -> c_int {
    // SAFETY: it is shown until this returns.
    let (seen_so_far, page) = (within::<Seen>(context), unsafe { &*page });
    seen_so_far.pages += u64::from(page.page_count);
    if page.kind == HUON_PAGE_LEAF {
        seen_so_far.leaves_of.push(text(page.table));
    }
    c_int::from(seen_so_far.pages == seen_so_far.stop_at)
}

#[test]
fn a_walk_sees_all_pages() {
    let env = Env::new();
    env.table(&[("a", "1")]);
    let mut found = Seen::default();
    let id = get(|id| huon_visit_pages(env.env, Some(page), context(&mut found), id)).unwrap();
    let info = info(env.env);
    assert_eq!(id, info.newest);
    assert_eq!(found.pages * u64::from(info.page_bytes), info.used_bytes);
    assert_eq!(found.leaves_of, ["", "t"]);
    found = Seen { stop_at: 3, ..Seen::default() };
    assert_eq!(huon_visit_pages(env.env, Some(page), context(&mut found), None), HUON_STOPPED);
    assert_eq!(found.pages, 3);
}

fn info(env: *mut huon_env) -> huon_info {
    let mut info = MaybeUninit::uninit();
    // SAFETY: it is written to its end.
    unsafe {
        ok(huon_get_info(env, info.as_mut_ptr(), size_of::<huon_info>()));
        info.assume_init()
    }
}

type Shown = Vec<String>;

extern "C" fn table_begins(
    context: *mut c_void,
    name: huon_bytes<'_>,
    stat: *const huon_table_stat,
) -> c_int {
    // SAFETY: it is shown until this returns.
    let entries = unsafe { (*stat).entries };
    within::<Shown>(context).push(format!("{}: {entries}", text(name)));
    if text(name) == "skipped" { HUON_VISIT_SKIP } else { HUON_VISIT }
}

extern "C" fn record(context: *mut c_void, key: huon_bytes<'_>, value: huon_bytes<'_>) -> c_int {
    within::<Shown>(context).push(format!("{}={}", text(key), text(value)));
    if text(key) == "stop" { HUON_VISIT_STOP } else { HUON_VISIT }
}

#[test]
fn a_walk_sees_all_records() {
    let env = Env::new();
    env.table(&[("a", "1"), ("b", "2")]);
    let txn = env.write();
    let (skipped, last) = (create(txn, "skipped").unwrap(), create(txn, "u").unwrap());
    ok(put(txn, skipped, "x", "y"));
    ok(put(txn, last, "stop", "here"));
    ok(put(txn, last, "unseen", "3"));
    ok(huon_commit(txn));
    let mut shown = Shown::new();
    let mut visitor = huon_visitor {
        bytes: size_of::<huon_visitor>(),
        table: Some(table_begins),
        record: Some(record),
        lost: None,
        context: context(&mut shown),
    };
    // SAFETY: it is a visitor.
    assert_eq!(unsafe { huon_visit_records(env.env, &visitor, None) }, HUON_STOPPED);
    let expected = [": 3", "skipped: 1", "t: 2", "a=1", "b=2", "u: 2", "stop=here"];
    assert_eq!(shown, expected);
    shown.clear();
    // SAFETY: the same.
    let salvage = |visitor: *const huon_visitor, id: Option<&mut MaybeUninit<u64>>| unsafe {
        huon_salvage(env.env, visitor, id)
    };
    assert_eq!(salvage(&visitor, None), HUON_STOPPED);
    assert_eq!(shown, expected, "nothing is lost");
    visitor.record = None;
    assert!(get(|id| salvage(&visitor, id)).unwrap() > 0);
    assert_eq!(salvage(ptr::null(), None), HUON_BAD_ARGUMENT);
}

extern "C" fn step(context: *mut c_void, steps: u64) -> c_int {
    let (last, stop_at): &mut (u64, u64) = within(context);
    *last = steps;
    c_int::from(steps == *stop_at)
}

#[test]
fn merges_tell_how_far_they_are() {
    let env = Env::new();
    // SAFETY: there are no options.
    let lsm = get(|lsm| unsafe { huon_lsm_open(env.env, ptr::null(), lsm) }).unwrap();
    let t = get(|t| huon_lsm_table_open(lsm, of("t"), None, t)).unwrap();
    let fill = |head: &str| {
        for round in 0..3 {
            let txn = env.write();
            for n in 0..500 {
                let key = format!("{head}{:05}", n * 7919 % 10_007 + round);
                ok(huon_lsm_put(txn, t, of(&key), of("value")));
            }
            ok(huon_commit(txn));
        }
    };
    fill("a");
    let compact = |told: &mut (u64, u64), count: Option<&mut MaybeUninit<u64>>| {
        huon_lsm_compact_with(lsm, of(""), HUON_LSM_ALL, Some(step), context(told), count)
    };
    let mut told = (0, 0);
    let steps = get(|count| compact(&mut told, count)).unwrap();
    assert!(steps > 0);
    assert_eq!(told.0, steps);
    fill("b");
    assert_eq!(compact(&mut (0, 1), None), HUON_STOPPED);
    ok(compact(&mut (0, 0), None));
    ok(huon_lsm_compact_with(lsm, of("t"), HUON_LSM_SHORTEN, None, ptr::null_mut(), None));
    ok(huon_lsm_table_close(t));
    ok(huon_lsm_close(lsm));
}

#[test]
fn durable_commits_go_by_a_journal() {
    let dir = tempfile::tempdir().unwrap();
    let options = get(|options| huon_options_new(options)).unwrap();
    ok(huon_options_set(options, HUON_JOURNAL_BYTES, 1 << 20));
    let env = open(&dir, options).unwrap();
    assert_eq!(info(env).journal, HUON_JOURNAL_WAITING);
    for n in 0..5 {
        let txn = get(|txn| huon_begin_write(env, 1000, txn)).unwrap();
        let t = create(txn, "t").unwrap();
        ok(put(txn, t, &n.to_string(), "v"));
        ok(huon_commit(txn));
    }
    let found = info(env);
    assert_eq!((found.journal, found.journal_bytes), (HUON_JOURNAL_RUNNING, 1 << 20));
    assert_eq!(found.journal_batches, 4, "the first begins it");
    assert!(found.journal_used_bytes > 0 && found.journal_checkpoint > 0);
    let kind = |name: &str| {
        let path = std::ffi::CString::new(dir.path().join(name).to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero byte.
        get(|kind| unsafe { huon_kind_of(path.as_ptr(), kind) })
    };
    assert_eq!(kind("a.huon-journal"), Ok(HUON_KIND_JOURNAL));
    ok(huon_close_without_flush(env));
    std::fs::remove_file(dir.path().join("a.huon-lock")).unwrap();
    std::fs::rename(dir.path().join("a.huon-journal"), dir.path().join("kept")).unwrap();
    assert_eq!(open(&dir, ptr::null_mut()).err(), Some(HUON_JOURNAL));
    std::fs::rename(dir.path().join("kept"), dir.path().join("a.huon-journal")).unwrap();
    let env = open(&dir, ptr::null_mut()).unwrap();
    assert_eq!(get(|recovery| huon_recovery(env, recovery)), Ok(HUON_RECOVERY_REPLAYED));
    ok(huon_close(env));
    ok(huon_options_set(options, HUON_GIVE_UP_JOURNAL, 1));
    ok(huon_options_free(options));
}

//! Transactions, durability, copies, and the other kinds of tables.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use crate::common::*;

#[test]
fn readers_rest_go_on_and_park() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    let reader = env.read();
    let change = |value: &str| {
        let txn = env.write();
        ok(put(txn, t, "a", value));
        ok(huon_commit(txn));
    };
    change("2");
    assert_eq!(value(reader, t, "a").as_deref(), Ok("1"));
    ok(huon_renew(reader));
    assert_eq!(value(reader, t, "a").as_deref(), Ok("2"));
    ok(huon_reset(reader));
    assert_eq!(value(reader, t, "a"), Err(HUON_BAD_TXN));
    assert_eq!(get(|state| huon_txn_state(reader, state)), Ok(HUON_TXN_RESET));
    change("3");
    ok(huon_renew(reader));
    assert_eq!(value(reader, t, "a").as_deref(), Ok("3"));
    ok(huon_park(reader));
    assert_eq!(get(|state| huon_txn_state(reader, state)), Ok(HUON_TXN_PARKED));
    assert_eq!(value(reader, t, "a"), Err(HUON_BAD_TXN));
    change("4");
    ok(huon_unpark(reader));
    assert_eq!(value(reader, t, "a").as_deref(), Ok("3"), "the same snapshot");
    assert_eq!(put(reader, t, "a", "5"), HUON_BAD_TXN);
    ok(huon_commit(reader));
    let txn = env.write();
    assert_eq!(huon_reset(txn), HUON_BAD_TXN);
    assert_eq!(get(|state| huon_txn_state(txn, state)), Ok(HUON_TXN_WRITES));
    ok(huon_abort(txn));
}

#[test]
fn parts_of_a_transaction_are_undone() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    let txn = env.write();
    ok(huon_savepoint(txn, of("one")));
    ok(put(txn, t, "a", "2"));
    ok(huon_savepoint(txn, of("two")));
    ok(put(txn, t, "a", "3"));
    ok(huon_roll_back_to(txn, of("two")));
    assert_eq!(value(txn, t, "a").as_deref(), Ok("2"));
    ok(huon_release(txn, of("two")));
    ok(huon_roll_back_to(txn, of("one")));
    assert_eq!(value(txn, t, "a").as_deref(), Ok("1"));
    assert_eq!(huon_release(txn, of("two")), HUON_INVALID);
    let markers = [1, 2, 3];
    // SAFETY: there are three.
    unsafe {
        ok(huon_set_markers(txn, markers.as_ptr()));
        let mut seen = [0; 3];
        ok(huon_markers(txn, seen.as_mut_ptr()));
        assert_eq!(seen, markers);
    }
    ok(huon_commit(txn));
}

#[test]
fn commits_are_waited_for() {
    let env = Env::new();
    let t = env.table(&[]);
    let txn = env.write();
    ok(put(txn, t, "a", "1"));
    let id = get(|id| huon_txn_id(txn, id)).unwrap();
    let ticket = get(|ticket| huon_commit_ticket(txn, ticket)).unwrap();
    assert_eq!(get(|own| huon_ticket_id(ticket, own)), Ok(id));
    assert_eq!(huon_ticket_wait(ticket, 0), HUON_TIMED_OUT);
    ok(huon_ticket_wait(ticket, -1));
    ok(huon_ticket_wait(ticket, 0));
    ok(huon_ticket_free(ticket));
    assert_eq!(get(|newest| huon_wait_for_commit(env.env, id - 1, 0, newest)), Ok(id));
    let none = get(|newest| huon_wait_for_commit(env.env, id, 5, newest));
    assert_eq!(none, Err(HUON_TIMED_OUT));
    let txn = env.write();
    ok(put(txn, t, "a", "2"));
    let id = get(|id| huon_commit_with(txn, HUON_UNSYNCED, id)).unwrap();
    assert_eq!(get(|id| huon_sync(env.env, id)), Ok(id));
    assert_eq!(get(|flushed| huon_flush_if_due(env.env, flushed)), Ok(false));
}

#[test]
fn a_commit_that_is_asked_wrongly_ends_its_transaction() {
    let env = Env::new();
    let t = env.table(&[]);
    let wrongs: [fn(Txn) -> c_int; 4] = [
        |txn| huon_commit_with(txn, 9, None),
        |txn| huon_commit_with(txn, -1, None),
        |txn| huon_commit_with(txn, HUON_DURABILITY, None),
        |txn| huon_commit_ticket(txn, None),
    ];
    for wrong in wrongs {
        let txn = env.write();
        ok(put(txn, t, "a", "1"));
        assert_eq!(wrong(txn), HUON_BAD_ARGUMENT);
        assert_eq!(huon_abort(txn), HUON_BAD_HANDLE);
        let reader = env.read();
        assert_eq!(value(reader, t, "a"), Err(HUON_NOT_FOUND), "nothing is committed");
        ok(huon_abort(reader));
    }
}

#[test]
fn options_say_how_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let options = get(|options| huon_options_new(options)).unwrap();
    ok(huon_options_set(options, HUON_CREATE, 0));
    assert_eq!(open(&dir, options).err(), Some(HUON_IO));
    let mut error = MaybeUninit::uninit();
    huon_last_error(Some(&mut error));
    // SAFETY: it was written.
    assert_eq!(unsafe { error.assume_init() }.system, libc::ENOENT);
    for (option, value) in [
        (HUON_CREATE, 1),
        (HUON_PAGE_BYTES, 1024),
        (HUON_MAX_BYTES, 1 << 20),
        (HUON_MAP_BYTES, 1 << 22),
        (HUON_MIN_BYTES, 1 << 16),
        (HUON_GROW_BYTES, 1 << 16),
        (HUON_SHRINK_BYTES, 1 << 16),
        (HUON_WRITE_BUFFER_BYTES, 1 << 16),
        (HUON_FILE_MODE, 0o640),
        (HUON_OPEN_READ_ONLY, 0),
        (HUON_EXCLUSIVE, 1),
        (HUON_DURABILITY, HUON_LAZY as u64),
        (HUON_FLUSH_AFTER_BYTES, 1 << 20),
        (HUON_FLUSH_AFTER_MS, 50),
        (HUON_VERIFY, 1),
        (HUON_READ_AHEAD, 2),
        (HUON_LOCK_TIMEOUT_MS, 20),
        (HUON_INHERIT_DURABILITY, 0),
    ] {
        ok(huon_options_set(options, option, value));
    }
    for (option, value) in [(0, 0), (99, 1), (HUON_DURABILITY, 4), (HUON_VERIFY, 3), (9, 2)] {
        assert_eq!(huon_options_set(options, option, value), HUON_BAD_ARGUMENT, "{option}");
    }
    let env = open(&dir, options).unwrap();
    assert_eq!(open(&dir, ptr::null_mut()).err(), Some(HUON_BUSY));
    ok(huon_options_free(options));
    let mut info = MaybeUninit::<huon_info>::zeroed();
    // SAFETY: there is room for the report; all of it was zero, and is written.
    let info = unsafe {
        ok(huon_get_info(env, info.as_mut_ptr(), size_of::<huon_info>()));
        info.assume_init()
    };
    assert_eq!((info.page_bytes, info.max_bytes, info.clients), (1024, 1 << 20, 1));
    assert_eq!(get(|value| huon_setting(env, HUON_VERIFY, value)), Ok(1));
    ok(huon_set(env, HUON_VERIFY, 2));
    assert_eq!(get(|value| huon_setting(env, HUON_VERIFY, value)), Ok(2));
    assert_eq!(huon_set(env, HUON_PAGE_BYTES, 4096), HUON_BAD_ARGUMENT);
    assert_eq!(get(|value| huon_setting(env, HUON_LOCK_TIMEOUT_MS, value)), Ok(20));
    assert_eq!(get(|kind| huon_recovery(env, kind)), Ok(HUON_RECOVERY_NEW));
    let mut limits = get(|to| huon_get_geometry(env, to)).unwrap();
    limits.max_bytes = 1 << 21;
    ok(huon_set_geometry(env, Some(&limits)));
    assert_eq!(get(|to| huon_get_geometry(env, to)).unwrap().max_bytes, 1 << 21);
    ok(huon_close(env));
    // SAFETY: the path ends with a zero byte.
    unsafe {
        assert_eq!(get(|kind| huon_kind_of(path(&dir).as_ptr(), kind)), Ok(HUON_KIND_ENVIRONMENT));
        ok(huon_delete(path(&dir).as_ptr()));
        assert_eq!(huon_delete(path(&dir).as_ptr()), HUON_NOT_FOUND);
    }
}

extern "C" fn give_up(context: *mut c_void, reader: *const huon_slow_reader) -> c_int {
    // SAFETY: the context is the counter of the test below, and the reader is told.
    let (count, reader) = unsafe { (&mut *context.cast::<u32>(), &*reader) };
    *count += 1;
    if reader.is_parked { HUON_SLOW_EVICT } else { HUON_SLOW_GIVE_UP }
}

#[test]
fn slow_readers_are_asked_about_and_evicted() {
    let dir = tempfile::tempdir().unwrap();
    let options = get(|options| huon_options_new(options)).unwrap();
    ok(huon_options_set(options, HUON_MAX_BYTES, 1 << 20));
    let mut asked = 0_u32;
    ok(huon_options_on_slow_reader(options, Some(give_up), (&raw mut asked).cast()));
    let env = Env { env: open(&dir, options).unwrap(), dir };
    let t = env.table(&[]);
    let fill = |byte: &str| {
        let txn = env.write();
        let filled = (0..200).try_for_each(|n| {
            let code = put(txn, t, &format!("{n:03}"), &byte.repeat(2000));
            if code == HUON_OK { Ok(()) } else { Err(code) }
        });
        match filled {
            Ok(()) => huon_commit(txn),
            Err(code) => {
                ok(huon_abort(txn));
                code
            }
        }
    };
    ok(fill("1"));
    let reader = env.read();
    ok(fill("2"));
    assert_eq!(fill("3"), HUON_MAP_FULL);
    assert!(asked > 0);
    ok(huon_park(reader));
    ok(fill("3"));
    assert_eq!(huon_unpark(reader), HUON_EVICTED);
    assert_eq!(huon_unpark(reader), HUON_BAD_HANDLE, "it has ended");
    ok(huon_abort(reader));
    ok(huon_on_slow_reader(env.env, None, ptr::null_mut()));
    ok(huon_options_free(options));
}

extern "C" fn take(context: *mut c_void, data: *const c_void, len: usize) -> c_int {
    // SAFETY: the context is the vector of the test below, and so many bytes are there.
    unsafe {
        let bytes = std::slice::from_raw_parts(data.cast::<u8>(), len);
        (*context.cast::<Vec<u8>>()).extend_from_slice(bytes);
    }
    0
}

extern "C" fn refuse(_: *mut c_void, _: *const c_void, _: usize) -> c_int {
    libc::ENOSPC
}

extern "C" fn stop(_: *mut c_void, _: *const huon_progress) -> c_int {
    1
}

#[test]
fn copies_checks_and_compactions() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    let before = env.read();
    let txn = env.write();
    for n in 0..2000 {
        ok(put(txn, t, &format!("{n:05}"), &"x".repeat(500)));
    }
    ok(huon_commit(txn));
    let path = |name: &str| CString::new(env.dir.path().join(name).to_str().unwrap()).unwrap();
    let mut with = huon_copy_options {
        bytes: size_of::<huon_copy_options>(),
        flags: HUON_COPY_COMPACT,
        mode: 0o600,
        snapshot: before,
        progress: None,
        context: ptr::null_mut(),
    };
    // SAFETY: texts end with a zero byte, options say how long they are, contexts are what the
    // callbacks want.
    unsafe {
        let to = path("copy");
        let told = get(|told| huon_copy(env.env, to.as_ptr(), &with, told)).unwrap();
        assert_eq!(told.txnid, get(|id| huon_txn_id(before, id)).unwrap());
        let copy = get(|env| huon_open(to.as_ptr(), ptr::null_mut(), env)).unwrap();
        let txn = get(|txn| huon_begin_read(copy, txn)).unwrap();
        let t = get(|t| huon_table_open(txn, of("t"), ptr::null(), t)).unwrap();
        assert_eq!(get(|n| huon_count(txn, t, None, n)), Ok(1));
        assert_eq!(huon_close(copy), HUON_STILL_SHARED);
        assert_eq!(value(txn, t, "a").as_deref(), Ok("1"), "it goes on");
        ok(huon_abort(txn));

        assert_eq!(huon_copy(env.env, to.as_ptr(), ptr::null(), None), HUON_IO);
        let mut bytes = Vec::<u8>::new();
        let context = (&raw mut bytes).cast();
        let told = get(|told| huon_copy_to_writer(env.env, Some(take), context, ptr::null(), told));
        assert_eq!(told.unwrap().bytes, bytes.len() as u64);
        let full = huon_copy_to_writer(env.env, Some(refuse), context, ptr::null(), None);
        assert_eq!(full, HUON_IO);
        with.snapshot = ptr::null_mut();
        with.progress = Some(stop);
        let stopped = huon_copy_to_writer(env.env, Some(take), context, &with, None);
        assert_eq!(stopped, HUON_STOPPED, "{}", message());
        assert_eq!(huon_copy_to_fd(env.env, -1, ptr::null(), None), HUON_BAD_ARGUMENT);
        with.bytes = 0;
        assert_eq!(huon_copy(env.env, to.as_ptr(), &with, None), HUON_BAD_ARGUMENT);

        let report = get(|told| huon_check(env.env, ptr::null(), told)).unwrap();
        assert_eq!(report.problems, 0);
        ok(huon_abort(before));
        let told = get(|told| huon_compact(env.env, ptr::null(), told)).unwrap();
        assert!(told.after_bytes <= told.before_bytes && told.end == HUON_COMPACTED);
        let mut metas = [const { MaybeUninit::<huon_meta>::uninit() }; 3];
        ok(huon_metas_of(path("a.huon").as_ptr(), metas.as_mut_ptr().cast()));
        assert!(metas.iter().any(|meta| meta.assume_init_ref().state == HUON_META_WHOLE));
        let slot = metas[0].assume_init_ref().slot;
        let busy = get(|id| huon_switch_to_meta(path("a.huon").as_ptr(), slot, id));
        assert_eq!(busy, Err(HUON_BUSY), "it is open");
    }
    assert_eq!(get(|n| huon_clear_dead_readers(env.env, n)), Ok(0));
    ok(huon_close(env.env));
}

extern "C" fn hear(context: *mut c_void, text: *const c_char) {
    // SAFETY: the context is the vector of the test below, and the text ends with a zero byte.
    unsafe {
        let text = CStr::from_ptr(text).to_str().unwrap().to_owned();
        (*context.cast::<Vec<String>>()).push(text);
    }
}

#[test]
fn damage_is_told_page_by_page() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    let txn = env.write();
    for n in 0..1000 {
        ok(put(txn, t, &format!("{n:05}"), &"x".repeat(100)));
    }
    ok(huon_commit(txn));
    ok(huon_close(env.env));
    let file = env.dir.path().join("a.huon");
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(9).rposition(|part| part == b"xxxxxxxxx").unwrap();
    bytes[at] = b'y';
    std::fs::write(&file, bytes).unwrap();
    let damaged = open(&env.dir, ptr::null_mut()).unwrap();
    let mut heard = Vec::<String>::new();
    let with = huon_check_options {
        bytes: size_of::<huon_check_options>(),
        meta: 0,
        problem: Some(hear),
        progress: None,
        context: (&raw mut heard).cast(),
    };
    // SAFETY: the options say how long they are.
    let report = get(|told| unsafe { huon_check(damaged, &with, told) }).unwrap();
    assert!(report.problems > 0 && heard[0].contains("page"), "{heard:?}");
    let txn = get(|txn| huon_begin_read(damaged, txn)).unwrap();
    assert_eq!(get(|n| huon_count(txn, t, Some(&range(HUON_FROM, "", "")), n)), Err(HUON_INVALID));
    // SAFETY: there are no options.
    let t = get(|t| unsafe { huon_table_open(txn, of("t"), ptr::null(), t) }).unwrap();
    let cursor = get(|cursor| huon_cursor_open(txn, t, None, cursor)).unwrap();
    let code = loop {
        match get(|pair| huon_cursor_next(cursor, txn, pair)) {
            Ok(_) => {}
            Err(code) => break code,
        }
    };
    assert_eq!(code, HUON_CORRUPT);
    let mut error = MaybeUninit::uninit();
    huon_last_error(Some(&mut error));
    // SAFETY: it was written.
    assert_ne!(unsafe { error.assume_init() }.page, u32::MAX);
    ok(huon_cursor_close(cursor));
    ok(huon_abort(txn));
    ok(huon_close_without_flush(damaged));
}

#[test]
fn reports_fit_programs_of_other_ages() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    let txn = env.read();
    let mut stat = MaybeUninit::<[huon_table_stat; 2]>::zeroed();
    // SAFETY: there is room for two of them, and zero is one.
    let (stat, short) = unsafe {
        let first = stat.as_mut_ptr().cast::<huon_table_stat>();
        first.add(1).write_bytes(0xff, 1);
        ok(huon_get_table_stat(txn, of("t"), first, 2 * size_of::<huon_table_stat>()));
        assert_eq!((*first.add(1)).entries, 0, "of fields that are not known yet");
        ok(huon_get_table_stat(txn, of("t"), first.add(1), 8));
        let [stat, short] = stat.assume_init();
        let none = huon_get_table_stat(txn, of("none"), ptr::null_mut(), 0);
        assert_eq!(none, HUON_NOT_FOUND);
        assert_eq!(huon_get_table_stat(txn, of("t"), ptr::null_mut(), 0), HUON_BAD_ARGUMENT);
        (stat, short)
    };
    assert_eq!((stat.entries, stat.depth, stat.is_multi), (1, 1, false));
    assert_eq!((short.entries, short.depth), (1, 0), "what lies behind is left alone");
    let mut readers = [const { MaybeUninit::<huon_reader>::uninit() }; 1];
    // SAFETY: there is room for one, and it is written.
    unsafe {
        let count = get(|n| huon_readers(env.env, readers.as_mut_ptr().cast(), 1, n));
        assert_eq!(count, Ok(1));
        assert_eq!(readers[0].assume_init_ref().pid, std::process::id());
        let mut info = MaybeUninit::<huon_txn_info>::uninit();
        ok(huon_get_txn_info(txn, info.as_mut_ptr(), size_of::<huon_txn_info>()));
        assert_eq!(info.assume_init().ids_behind, 0);
        let mut stat = MaybeUninit::<huon_stat>::uninit();
        ok(huon_get_stat(env.env, stat.as_mut_ptr(), size_of::<huon_stat>()));
        assert_eq!(stat.assume_init().tables, 2);
    }
    let _ = t;
    ok(huon_abort(txn));
}

extern "C" fn sum(
    context: *mut c_void,
    older: huon_bytes<'_>,
    newer: huon_bytes<'_>,
    to: *mut huon_bytes<'static>,
) -> c_int {
    thread_local! { static SUM: std::cell::Cell<[u8; 8]> = const { std::cell::Cell::new([0; 8]) }; }
    let number = |bytes| u64::from_be_bytes(seen(bytes).unwrap().try_into().unwrap());
    SUM.set((number(older) + number(newer)).to_be_bytes());
    // SAFETY: it is to be set; the bytes of this thread stay until the next call.
    SUM.with(|sum| unsafe {
        *to = huon_bytes::of(std::slice::from_raw_parts(sum.as_ptr().cast(), 8));
    });
    c_int::from(!context.is_null())
}

#[test]
fn write_optimised_tables() {
    let env = Env::new();
    // SAFETY: there are no options.
    let lsm = get(|lsm| unsafe { huon_lsm_open(env.env, ptr::null(), lsm) }).unwrap();
    let events = get(|t| huon_lsm_table_open(lsm, of("events"), None, t)).unwrap();
    let txn = env.write();
    for key in ["c", "a", "b", "d"] {
        ok(huon_lsm_put(txn, events, of(key), of(key)));
    }
    ok(huon_lsm_delete(txn, events, of("d")));
    assert_eq!(huon_lsm_put_if_absent(txn, events, of("a"), of("x")), HUON_EXISTS);
    assert_eq!(huon_lsm_update(txn, events, of("x"), of("x")), HUON_NOT_FOUND);
    ok(huon_lsm_put_until(txn, events, of("gone"), of("x"), 1));
    ok(huon_commit(txn));
    let batch = get(|batch| huon_batch_new(lsm, batch)).unwrap();
    ok(huon_batch_put(batch, events, of("e"), of("5")));
    ok(huon_batch_delete(batch, events, of("b")));
    assert!(get(|id| huon_lsm_write(lsm, batch, id)).unwrap() > 0);
    assert_eq!(huon_batch_put(batch, events, of("e"), of("5")), HUON_BAD_HANDLE);
    let txn = env.read();
    let found = |key: &str| get(|value| huon_lsm_get(txn, events, of(key), value)).map(seen);
    assert_eq!(found("a"), Ok(Some(b"a".to_vec())));
    assert_eq!((found("b"), found("gone")), (Err(HUON_NOT_FOUND), Err(HUON_NOT_FOUND)));
    let keys = [of("a"), of("d"), of("e")];
    let mut values = [of(""); 3];
    // SAFETY: there are three.
    let many = get(|n| unsafe {
        huon_lsm_get_many(txn, events, keys.as_ptr(), 3, values.as_mut_ptr(), n)
    });
    assert_eq!(many, Ok(2));
    let range = range(HUON_AFTER | HUON_BEFORE, "a", "e");
    for (range, keys) in [(None, &["a", "c", "e"][..]), (Some(&range), &["c"])] {
        let cursor = get(|to| huon_lsm_cursor_open(txn, events, range, to)).unwrap();
        let names = |back| -> Vec<String> {
            rest(cursor, txn, back).into_iter().map(|record| record.0).collect()
        };
        assert_eq!(names(false), keys);
        assert_eq!(names(true), keys.iter().rev().copied().collect::<Vec<_>>());
        ok(huon_cursor_close(cursor));
    }
    let problems = get(|n| huon_lsm_check(txn, events, None, ptr::null_mut(), n));
    assert_eq!(problems, Ok(0));
    let mut stat = MaybeUninit::<huon_lsm_stat>::uninit();
    // SAFETY: there is room for it.
    unsafe {
        ok(huon_get_lsm_stat(txn, events, stat.as_mut_ptr(), size_of::<huon_lsm_stat>()));
        assert!(stat.assume_init().records >= 3);
    }
    ok(huon_abort(txn));
    let threads = get(|to| huon_compactor_start(lsm, to)).unwrap();
    ok(huon_compactor_stop(threads));
    assert_eq!(huon_compactor_stop(threads), HUON_BAD_HANDLE);
    for how in [HUON_LSM_DUE, HUON_LSM_ALL, HUON_LSM_SHORTEN] {
        ok(huon_lsm_compact(lsm, of(""), how));
    }
    assert_eq!(huon_lsm_compact(lsm, of("events"), 7), HUON_BAD_ARGUMENT);
    let txn = env.write();
    ok(huon_lsm_delete_range(txn, events, Some(&range)));
    assert_eq!(huon_lsm_get(txn, events, of("c"), None), HUON_NOT_FOUND);
    ok(huon_lsm_clear(txn, events));
    ok(huon_lsm_drop(txn, events));
    ok(huon_commit(txn));
    ok(huon_lsm_table_close(events));
    ok(huon_lsm_close(lsm));
}

#[test]
fn operands_are_merged_by_a_callback() {
    let env = Env::new();
    let with = huon_lsm_options {
        bytes: size_of::<huon_lsm_options>(),
        fan: 4,
        filter_bits: HUON_LSM_NO_FILTERS,
        small: 0,
        open_bytes: 0,
        base_bytes: 0,
        step_bytes: 0,
        batch_bytes: 0,
        filter_memory: 0,
        runs_max: 0,
        lease_ms: 100,
    };
    // SAFETY: the options say how long they are.
    let lsm = get(|lsm| unsafe { huon_lsm_open(env.env, &with, lsm) }).unwrap();
    let merger = huon_lsm_merger { name: of("sum"), merge: Some(sum), context: ptr::null_mut() };
    let counts = get(|t| huon_lsm_table_open(lsm, of("counts"), Some(&merger), t)).unwrap();
    for n in [5_u64, 7, 30] {
        let txn = env.write();
        ok(huon_lsm_merge(txn, counts, of("k"), of(&n.to_be_bytes())));
        ok(huon_commit(txn));
    }
    let batch = get(|batch| huon_batch_new(lsm, batch)).unwrap();
    ok(huon_batch_merge(batch, counts, of("k"), of(&8_u64.to_be_bytes())));
    ok(huon_lsm_write(lsm, batch, None));
    let txn = env.read();
    let found = get(|value| huon_lsm_get(txn, counts, of("k"), value)).map(seen).unwrap().unwrap();
    assert_eq!(found, 50_u64.to_be_bytes());
    ok(huon_abort(txn));
    ok(huon_lsm_table_close(counts));
    ok(huon_lsm_close(lsm));
}

#[test]
fn an_environment_in_memory_and_a_writer_that_is_waited_for() {
    // SAFETY: there is no path.
    let env = get(|env| unsafe { huon_open(ptr::null(), ptr::null_mut(), env) }).unwrap();
    let first = get(|txn| huon_begin_write(env, -1, txn)).unwrap();
    let address = env as usize;
    let other = std::thread::spawn(move || {
        let env = address as *mut huon_env;
        let busy = get(|txn| huon_begin_write(env, 10, txn)).err();
        assert!(message().contains("has held it"), "{}", message());
        let txn = get(|txn| huon_begin_write(env, 60_000, txn)).unwrap();
        ok(huon_abort(txn));
        busy
    });
    std::thread::sleep(Duration::from_millis(50));
    ok(huon_abort(first));
    assert_eq!(other.join().unwrap(), Some(HUON_BUSY));
    ok(huon_close(env));
}

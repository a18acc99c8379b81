//! What calls cost: no allocation where bytes are only looked at, and few instructions beside what
//! the engine does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::process::Command;

use huon_testkit::c_library::programs::{are_installed, text};

use crate::common::*;

/// The system's allocator, which counts a thread's allocations.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) };
    }
}

/// How many allocations this thread makes in some work.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

const RECORDS: u32 = 30_000;

fn key(n: u32) -> [u8; 16] {
    let mut key = [b'k'; 16];
    key[..4].copy_from_slice(&n.wrapping_mul(2_654_435_761).to_be_bytes());
    key
}

/// A table with records whose keys come in no order.
fn filled(env: &Env) -> huon_table {
    let txn = env.write();
    let table = create(txn, "t").unwrap();
    (0..RECORDS).for_each(|n| ok(huon_put(txn, table, of(&key(n)), of(&[7; 100]), None)));
    ok(huon_commit(txn));
    table
}

#[test]
fn gets_and_steps_allocate_nothing() {
    let env = Env::new();
    let table = filled(&env);
    for txn in [env.read(), env.write()] {
        let mut first = huon_pair::of(b"", b"");
        let cursor = get(|cursor| huon_cursor_open(txn, table, None, cursor)).unwrap();
        // What a thread keeps of the handles that it uses is made by the first call.
        ok(huon_get(txn, table, of(&key(0)), None));
        first = get(|pair| huon_cursor_next(cursor, txn, pair)).unwrap_or(first);
        let made = allocations(|| {
            for n in 0..1000 {
                get(|value| huon_get(txn, table, of(&key(n)), value)).unwrap();
                let none = get(|value| huon_get(txn, table, of("none"), value)).err();
                assert_eq!(none, Some(HUON_NOT_FOUND));
                get(|pair| huon_at_or_above(txn, table, of(&key(n)), pair)).unwrap();
            }
        });
        assert_eq!(made, 0, "gets");
        let keys: Vec<_> = (0..200).map(key).collect();
        let mut keys: Vec<_> = keys.iter().map(|key| of(key)).collect();
        keys.push(of("none"));
        let mut values = vec![of(""); keys.len()];
        let (from, to, len) = (keys.as_ptr(), values.as_mut_ptr(), keys.len());
        let mut count = Ok(0);
        let made = allocations(|| {
            // SAFETY: there are so many, and room for so many.
            count = get(|n| unsafe { huon_get_many(txn, table, from, len, to, n) });
        });
        assert_eq!((made, count), (0, Ok(200)), "many gets");
        assert_eq!(seen(values[199]).unwrap(), [7; 100]);
        assert_eq!(seen(values[200]), None);
        let made = allocations(|| {
            let mut pairs = [first; 64];
            for _ in 0..1000 {
                get(|pair| huon_cursor_next(cursor, txn, pair)).unwrap();
                get(|pair| huon_cursor_prev(cursor, txn, pair)).unwrap();
            }
            for _ in 0..100 {
                // SAFETY: there is room for so many.
                get(|n| unsafe { huon_cursor_next_many(cursor, txn, pairs.as_mut_ptr(), 64, n) })
                    .unwrap();
            }
        });
        assert_eq!(made, 0, "steps");
        ok(huon_cursor_close(cursor));
        ok(huon_abort(txn));
    }
}

#[test]
fn a_reader_begins_and_ends_with_one_allocation() {
    let env = Env::new();
    env.table(&[]);
    let mut handles = Vec::with_capacity(200);
    // The first one makes what the thread keeps for the others.
    ok(huon_abort(env.read()));
    let made = allocations(|| {
        for _ in 0..100 {
            let txn = env.read();
            ok(huon_abort(txn));
            handles.push(txn);
        }
    });
    assert_eq!(made, 100, "the engine's own transaction");
    handles.sort();
    handles.dedup();
    assert_eq!(handles.len(), 100, "an old handle is none");
    let txn = env.read();
    let made = allocations(|| {
        for _ in 0..100 {
            ok(huon_reset(txn));
            ok(huon_renew(txn));
        }
    });
    assert_eq!(made, 0, "one that comes back");
    ok(huon_abort(txn));
}

/// Gets in a process of its own, which the test below watches.
#[test]
fn gets_of_another_process() {
    let Some(wanted) = std::env::var_os("HUON_GETS") else { return };
    let wanted = wanted.to_str().unwrap();
    let (kind, count) = wanted.split_once(' ').unwrap();
    let count: u32 = count.parse().unwrap();
    let env = Env::new();
    let table = filled(&env);
    ok(huon_close(env.env));
    match kind {
        "c" => {
            let env = Env { env: open(&env.dir, std::ptr::null_mut()).unwrap(), dir: env.dir };
            let txn = env.read();
            // SAFETY: there are no options.
            let opened =
                get(|t| unsafe { huon_table_open(txn, of("t"), std::ptr::null(), t) }).unwrap();
            for n in 0..count {
                let key = key(n % RECORDS);
                assert!(get(|value| huon_get(txn, opened, of(&key), value)).is_ok());
            }
            ok(huon_abort(txn));
        }
        _ => {
            let def = huon::TableDef::<huon::Bytes, huon::Bytes>::new("t");
            let env = huon::Env::open(env.dir.path().join("a.huon")).unwrap();
            let txn = env.read().unwrap();
            let table = txn.open_table(&def).unwrap().unwrap();
            for n in 0..count {
                let key = key(n % RECORDS);
                assert!(black_box(table.get(&txn, black_box(&key))).unwrap().is_some());
            }
        }
    }
    let _ = table;
}

/// How many instructions so many gets take, and all that comes before them.
fn instructions(kind: &str, count: u32) -> u64 {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(std::env::current_exe().unwrap());
    valgrind.args(["--exact", "costs::gets_of_another_process", "--test-threads=1"]);
    let output = valgrind.env("HUON_GETS", format!("{kind} {count}")).output().expect("valgrind");
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    collected.and_then(|(_, n)| n.trim().parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

#[test]
fn a_get_costs_little_more_than_in_rust() {
    if !are_installed(&["valgrind"], "a_get_costs_little_more_than_in_rust") {
        return;
    }
    const GETS: u32 = 20_000;
    // The first gets of a page verify it.
    let each = ["c", "rust"].map(|kind| {
        (instructions(kind, RECORDS + GETS) - instructions(kind, RECORDS)) as f64 / f64::from(GETS)
    });
    println!("instructions of a get: {:.0} in C, {:.0} in Rust", each[0], each[1]);
    // Debug assertions and calls between crates count here; a release build has about half of it.
    assert!(each[0] - each[1] < 300.0, "{each:?} instructions in C and in Rust");
}

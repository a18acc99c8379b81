//! Handles of databases and comparators that come and go, by the hundred thousand.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::*;

/// The system's allocator, which counts the bytes that a thread holds, and its allocations.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static HELD_BYTES: Cell<isize> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD_BYTES.set(HELD_BYTES.get() + layout.size() as isize);
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD_BYTES.set(HELD_BYTES.get() - layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) };
    }
}

const CYCLES: usize = 100_000;

#[test]
fn databases_are_made_and_dropped_without_end() {
    let env = Env::with(NOTLS | NOSYNC);
    let kept = env.dbi("kept", 0);
    let reader = env.read();
    for n in 0..CYCLES {
        let txn = env.begin();
        let dbi = dbi_open(txn, Some(&format!("database-{n}")), CREATE).unwrap();
        assert!(dbi < 8, "the lowest free handle");
        assert_eq!(put(txn, dbi, b"k", b"v", 0), 0);
        assert_eq!(dbi_open(txn, Some(&format!("missing-{n}")), 0), Err(NOTFOUND));
        match n % 4 {
            // Made in vain, dropped by its own transaction, and dropped by the next one.
            0 => mdb_txn_abort(txn),
            1 => {
                assert_eq!(mdb_drop(txn, dbi, 1), 0);
                assert_eq!(mdb_txn_commit(txn), 0);
            }
            _ => {
                assert_eq!(mdb_txn_commit(txn), 0);
                let txn = env.begin();
                assert_eq!(mdb_drop(txn, dbi, 1), 0);
                assert_eq!(mdb_txn_commit(txn), 0);
            }
        }
        assert_eq!(dbi_open(reader, Some(&format!("missing-{n}")), 0), Err(NOTFOUND));
    }
    mdb_txn_abort(reader);
    let txn = env.begin();
    assert_eq!(put(txn, kept, b"k", b"still", 0), 0);
    let dbi = dbi_open(txn, Some("one more"), CREATE).unwrap();
    assert_eq!(get(txn, dbi, b"k"), Err(NOTFOUND));
    assert_eq!(get(txn, kept, b"k"), Ok(b"still".to_vec()));
    assert_eq!(mdb_txn_commit(txn), 0);
}

static CALLS: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

/// Byte strings by length; sixteen functions that do the same.
extern "C" fn by_length<const N: usize>(a: *const MDB_val, b: *const MDB_val) -> i32 {
    CALLS[N].fetch_add(1, Ordering::Relaxed);
    // SAFETY: it is called with two values.
    let (a, b) = unsafe { (bytes(*a), bytes(*b)) };
    a.len().cmp(&b.len()).then(a.cmp(&b)) as i32
}

/// Bindings make a function for each database that they open.
#[test]
fn comparators_are_set_without_end() {
    let env = Env::with(NOTLS | NOSYNC);
    let functions: [MDB_cmp_func; 16] = [
        by_length::<0>,
        by_length::<1>,
        by_length::<2>,
        by_length::<3>,
        by_length::<4>,
        by_length::<5>,
        by_length::<6>,
        by_length::<7>,
        by_length::<8>,
        by_length::<9>,
        by_length::<10>,
        by_length::<11>,
        by_length::<12>,
        by_length::<13>,
        by_length::<14>,
        by_length::<15>,
    ];
    let txn = env.begin();
    let dbi = dbi_open(txn, Some("t"), CREATE).unwrap();
    // SAFETY: the function takes any two values.
    assert_eq!(unsafe { mdb_set_compare(txn, dbi, Some(functions[0])) }, 0);
    for key in [&b"ccc"[..], b"a", b"bb"] {
        assert_eq!(put(txn, dbi, key, b"v", 0), 0);
    }
    assert_eq!(mdb_txn_commit(txn), 0);
    mdb_dbi_close(env.env, dbi);
    for n in 0..CYCLES / 10 {
        let txn = env.begin();
        let dbi = dbi_open(txn, Some("t"), 0).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { mdb_set_compare(txn, dbi, Some(functions[n % 16])) }, 0);
        let before = CALLS[n % 16].load(Ordering::Relaxed);
        assert_eq!(get(txn, dbi, b"bb"), Ok(b"v".to_vec()));
        assert_eq!(get(txn, dbi, b"zz"), Err(NOTFOUND));
        assert!(CALLS[n % 16].load(Ordering::Relaxed) > before, "{n}: the one that was set last");
        assert_eq!(mdb_txn_commit(txn), 0);
        mdb_dbi_close(env.env, dbi);
    }
}

/// Opens and closes handles: of a database that stays, of a new one, and of one that is missing.
fn cycle(env: &Env, n: usize) {
    let txn = env.begin();
    let kept = dbi_open(txn, Some("kept"), 0).unwrap();
    let new = dbi_open(txn, Some(&format!("database-{n}")), CREATE).unwrap();
    let missing = format!("missing-{n}-{}", "x".repeat(100));
    assert_eq!(dbi_open(txn, Some(&missing), 0), Err(NOTFOUND));
    assert_eq!(mdb_drop(txn, new, 1), 0);
    assert_eq!(mdb_txn_commit(txn), 0);
    mdb_dbi_close(env.env, kept);
}

#[test]
fn handles_give_their_memory_back() {
    let env = Env::with(NOTLS | NOSYNC);
    env.dbi("kept", 0);
    (0..CYCLES / 10).for_each(|n| cycle(&env, n));
    let before = HELD_BYTES.get();
    (0..CYCLES).for_each(|n| cycle(&env, CYCLES + n));
    let more = HELD_BYTES.get() - before;
    assert!(more < CYCLES as isize, "a byte a cycle: {more}");
}

fn allocations_of(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn steps_and_resets_allocate_nothing() {
    let env = Env::new();
    for flags in [0, DUPSORT] {
        let dbi = env.dbi(&format!("{flags}"), flags);
        let txn = env.begin();
        for n in 0..1000_u32 {
            assert_eq!(put(txn, dbi, &(n / 4).to_be_bytes(), &n.to_be_bytes(), 0), 0);
        }
        assert_eq!(mdb_txn_commit(txn), 0);
        let txn = env.read();
        let c = cursor(txn, dbi);
        let step = |op: u32| {
            let (mut key, mut value) = (val(b""), val(b""));
            // SAFETY: the values live.
            unsafe { mdb_cursor_get(c, &mut key, &mut value, op) }
        };
        // A handle of a table that another test opens or closes meanwhile costs what a cursor has
        // at hand; so the least of some rounds counts.
        let allocates = |what: &dyn Fn()| {
            let rounds = (0..20).map(|_| {
                assert_eq!(step(FIRST), 0);
                allocations_of(what)
            });
            rounds.min() != Some(0)
        };
        assert!(!allocates(&|| {
            (0..200).for_each(|_| assert_eq!([step(NEXT), step(PREV), step(NEXT)], [0; 3]));
        }));
        let values = || {
            assert_eq!([step(NEXT_DUP), step(NEXT_DUP), step(NEXT_DUP)], [0; 3]);
            if flags == DUPSORT {
                assert_eq!([step(PREV), step(PREV_DUP), step(NEXT)], [0; 3]);
            }
        };
        assert!(!allocates(&values));
        let keys = || {
            for _ in 1..250 {
                let to_last = [step(NEXT_DUP), step(NEXT_DUP), step(NEXT_DUP), step(NEXT_DUP)];
                assert_eq!((to_last, step(NEXT_NODUP)), ([0, 0, 0, NOTFOUND], 0));
            }
        };
        if flags == DUPSORT {
            assert!(!allocates(&keys));
        }
        let opening = || mdb_cursor_close(cursor(txn, dbi));
        // A closed cursor serves again.
        assert_eq!((0..20).map(|_| allocations_of(opening)).min(), Some(0));
        let reset = || {
            mdb_txn_reset(txn);
            assert_eq!(mdb_txn_renew(txn), 0);
        };
        assert_eq!(allocations_of(reset), 0);
        mdb_txn_abort(txn);
    }
}

#[test]
fn puts_by_a_cursor_allocate_nothing() {
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    let c = cursor(txn, dbi);
    for (flags, from) in [(0, 0_u32), (APPEND, 10_000)] {
        let puts = |run: u32| {
            let keys = (run..run + 10).map(|n| (from + n).to_be_bytes());
            allocations_of(|| {
                keys.for_each(|key| assert_eq!(cursor_put(c, &key, b"8 bytes.", flags), 0))
            })
        };
        // Some of them begin a page.
        assert_eq!((0..100).map(|run| puts(10 * run)).min(), Some(0));
    }
    mdb_txn_abort(txn);
}

#[test]
fn many_values_at_once_are_one_put() {
    const COUNT: usize = 4000;
    let env = Env::new();
    let dbi = env.dbi("t", DUPSORT | DUPFIXED);
    let txn = env.begin();
    let c = cursor(txn, dbi);
    let all: Vec<u8> = (0..COUNT as u32).flat_map(u32::to_be_bytes).collect();
    let mut data = [MDB_val { mv_size: 4, ..val(&all) }, MDB_val { mv_size: COUNT, ..val(b"") }];
    let put = || {
        // SAFETY: two values, as this flag needs them.
        let code = unsafe { mdb_cursor_put(c, &mut val(b"k"), data.as_mut_ptr(), MULTIPLE) };
        assert_eq!((code, data[1].mv_size), (0, COUNT));
    };
    let allocations = allocations_of(put);
    assert!(allocations < COUNT / 4, "{allocations}");
    assert_eq!(go(c, GET_CURRENT), Ok((b"k".to_vec(), (COUNT as u32 - 1).to_be_bytes().to_vec())));
    assert_eq!(stat(txn, dbi).unwrap().ms_entries, COUNT);
    mdb_txn_abort(txn);
}

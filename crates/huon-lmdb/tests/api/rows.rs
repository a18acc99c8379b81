//! Records that a reader's cursor has passed before they were asked for: to which threads they are
//! shown, and until when.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Barrier, Mutex, PoisonError};

use huon_c::data::Shown;
use huon_c::objects::step_in_row;

use crate::common::*;

/// One test at a time counts what rows in their places show, or has more threads than places.
static PLACES: Mutex<()> = Mutex::new(());

/// The most that one of a few threads counts, in some rounds if it is not more than `wanted`: some
/// threads may have no place for their rows, and a test beside this one that opens a table ends all
/// rows.
fn most(wanted: u32, count: impl Fn() -> u32 + Sync) -> u32 {
    const THREADS: usize = 8;
    const ROUNDS: usize = 50;
    let _alone = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let together = Barrier::new(THREADS);
    let count = || {
        let counted = catch_unwind(AssertUnwindSafe(&count));
        together.wait();
        counted.unwrap()
    };
    let round = || {
        std::thread::scope(|threads| {
            let all = [(); THREADS].map(|()| threads.spawn(count));
            all.map(|one| one.join().unwrap()).into_iter().max().unwrap()
        })
    };
    let mut most = 0;
    for _ in 0..ROUNDS {
        most = most.max(round());
        if most > wanted {
            break;
        }
    }
    most
}

/// A cursor that is in the middle of what a thread looks up at once.
fn in_a_row(env: &Env) -> (Txn, Cur) {
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    (0..1000_u32).for_each(|n| assert_eq!(put(txn, dbi, &n.to_be_bytes(), b"v", 0), 0));
    assert_eq!(mdb_txn_commit(txn), 0);
    let reader = env.read();
    let c = cursor(reader, dbi);
    (0..50).for_each(|n| assert_eq!(next_number(c), Ok(n)));
    (reader, c)
}

fn next_number(c: Cur) -> Result<u32, i32> {
    go(c, NEXT).map(|(key, _)| u32::from_be_bytes(key.try_into().unwrap()))
}

#[test]
fn a_cursor_goes_on_in_the_hands_of_other_threads() {
    let env = Env::new();
    let (_, c) = in_a_row(&env);
    let (handle, mut next) = (c as usize, 50);
    let mut step = |count: u32| {
        let is_next = (next..next + count).all(|n| next_number(handle as Cur) == Ok(n));
        next += count;
        is_next
    };
    for count in [1, 7, 2, 30, 9, 70, 1] {
        assert!(step(count));
        assert!(std::thread::scope(|threads| threads.spawn(|| step(count)).join().unwrap()));
    }
    assert_eq!(go(c, GET_CURRENT).map(|(key, _)| key), Ok(289_u32.to_be_bytes().to_vec()));
}

#[test]
fn a_closed_cursor_goes_no_further() {
    let env = Env::new();
    let (reader, c) = in_a_row(&env);
    let handle = c as usize;
    std::thread::scope(|threads| threads.spawn(|| mdb_cursor_close(handle as Cur)).join().unwrap());
    assert_eq!(go(c, NEXT), Err(libc::EINVAL));
    assert_eq!(go(std::ptr::null_mut(), NEXT), Err(libc::EINVAL));
    let other = cursor(reader, 2);
    mdb_cursor_close(other);
    assert_eq!(go(c, NEXT), Err(libc::EINVAL));
}

/// A count of looks that cost no lock and no search.
#[test]
fn where_a_cursor_stands_is_shown_from_its_row() {
    let shown_count = most(900, || {
        let env = Env::new();
        let (_, c) = in_a_row(&env);
        let is_shown = |n: u32| {
            assert_eq!(next_number(c), Ok(n));
            let is_own = |key: Shown, value: Shown| assert_eq!((key.bytes, value.bytes), (4, 1));
            let is_shown = step_in_row(c as usize, GET_CURRENT, is_own);
            assert_eq!(go(c, GET_CURRENT).unwrap().0, n.to_be_bytes());
            is_shown
        };
        (50..1000).map(|n| u32::from(is_shown(n))).sum()
    });
    assert!(shown_count > 900, "{shown_count} of 950");
}

/// A count of keys whose last value is known to be that without a search: then the row stays.
#[test]
fn a_row_knows_that_a_key_has_no_more_values() {
    for way in [(NEXT_DUP, NEXT_NODUP, FIRST), (PREV_DUP, PREV_NODUP, LAST)] {
        let kept_count = most(90, || keys_whose_row_stays(way));
        assert!(kept_count > 90, "{kept_count} of 100");
    }
}

/// Walks along 1000 values of 100 keys, by steps to the next value, to the next key and to an end.
fn keys_whose_row_stays((next, next_key, edge): (u32, u32, u32)) -> u32 {
    let env = Env::new();
    let dbi = env.dbi("t", DUPSORT);
    let txn = env.begin();
    for n in 0..1000_u32 {
        let value = [&n.to_be_bytes()[..], &[0; 96]].concat();
        assert_eq!(put(txn, dbi, &(n / 10).to_be_bytes(), &value, 0), 0);
    }
    assert_eq!(mdb_txn_commit(txn), 0);
    let c = cursor(env.read(), dbi);
    let (mut kept_count, mut value_count) = (0, 1);
    assert!(go(c, edge).is_ok());
    loop {
        while go(c, next).is_ok() {
            value_count += 1;
        }
        let own = go(c, GET_CURRENT).unwrap();
        let is_own = |_, value: Shown| assert_eq!(value.bytes, own.1.len());
        kept_count += u32::from(step_in_row(c as usize, GET_CURRENT, is_own));
        assert_eq!(go(c, next), Err(NOTFOUND), "it stays");
        if go(c, next_key).is_err() {
            break;
        }
        value_count += 1;
    }
    assert_eq!(value_count, 1000);
    kept_count
}

/// More threads than have a place for their rows.
#[test]
fn threads_step_along_rows_of_their_own() {
    const THREADS: usize = 100;
    let _alone = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let env = Env::new();
    let dbi = env.dbi("t", 0);
    let txn = env.begin();
    (0..200_u32).for_each(|n| assert_eq!(put(txn, dbi, &n.to_be_bytes(), b"v", 0), 0));
    assert_eq!(mdb_txn_commit(txn), 0);
    let handles: Vec<_> = (0..THREADS).map(|_| cursor(env.read(), dbi) as usize).collect();
    let together = Barrier::new(THREADS);
    let walk = |handle: usize| {
        for n in 0..200 {
            assert_eq!(next_number(handle as Cur), Ok(n));
            if n % 20 == 0 {
                together.wait();
            }
        }
    };
    std::thread::scope(|threads| {
        handles.into_iter().for_each(|handle| drop(threads.spawn(move || walk(handle))));
    });
}

/// A new thread has the control block of one that has ended, mostly.
#[test]
fn no_row_outlives_its_thread() {
    let env = Env::with(0);
    let shared = &env as *const Env as usize;
    // SAFETY: it lives, and one thread at a time uses it.
    let begin = move || in_a_row(unsafe { &*(shared as *const Env) }).1 as usize;
    let c = std::thread::spawn(begin).join().unwrap();
    for op in [NEXT, GET_CURRENT, NEXT, GET_CURRENT] {
        let step = move || go(c as Cur, op);
        assert_eq!(std::thread::spawn(step).join().unwrap(), Err(BAD_TXN));
    }
    assert_eq!(go(c as Cur, NEXT), Err(BAD_TXN));
}

#[test]
fn rows_of_all_threads_end_with_the_snapshot() {
    let env = Env::new();
    let (reader, own) = in_a_row(&env);
    let (other, ended) = (cursor(reader, 2) as usize, Barrier::new(2));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            (0..50).for_each(|n| assert_eq!(next_number(other as Cur), Ok(n)));
            ended.wait();
            ended.wait();
            assert_eq!(go(other as Cur, NEXT), Err(BAD_TXN));
            assert_eq!(go(other as Cur, GET_CURRENT), Err(BAD_TXN));
        });
        ended.wait();
        mdb_txn_reset(reader);
        assert_eq!(go(own, NEXT), Err(BAD_TXN));
        ended.wait();
    });
}

#[test]
fn no_row_outlives_the_handle_of_its_table() {
    let env = Env::new();
    let (_, c) = in_a_row(&env);
    mdb_dbi_close(env.env, 2);
    assert!(go(c, NEXT).is_err());
    assert!(go(c, GET_CURRENT).is_err());
}

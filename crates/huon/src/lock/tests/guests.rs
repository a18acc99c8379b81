//! Guests and the locks of the kernel.

use std::sync::atomic::{AtomicPtr, Ordering};

use super::*;
use crate::os::locks::{self, Hold};
use crate::os::testing::{ScratchDir, in_child};

fn visit(path: &Path) -> Arc<dyn Shared> {
    Arc::new(RealShared::visit(path).unwrap().expect("a lock file that can be visited"))
}

fn pins(seat: &Seat, newest: u64) -> (Vec<u64>, Vec<std::ops::RangeInclusive<u64>>) {
    let (mut pins, mut spans) = (Vec::new(), Vec::new());
    scan_guests(&*seat.shared, newest, &mut pins, &mut spans).unwrap();
    pins.sort_unstable();
    (pins, spans)
}

fn skips() -> bool {
    let scratch = ScratchDir::new();
    let seat = Seat::real(&scratch.join("lock"));
    let skips = seat.shared.way() != Way::Bytes;
    if skips {
        crate::os::testing::skip("lock::tests::guests", "no OFD locks on this system");
    }
    skips
}

/// R1, R4: each of the snapshots is found, whichever guest pins it, and nothing else. (Alone: a
/// process that another test forks keeps for a moment what a guest has closed.)
#[test]
fn pins_of_several_guests_are_found() {
    in_child(concat!(module_path!(), "::pins_of_several_guests_are_found"), || {
        if !skips() {
            find_pins_of_several_guests();
        }
    });
}

fn find_pins_of_several_guests() {
    let scratch = ScratchDir::new();
    let seat = Seat::real(&scratch.join("lock"));
    let (a, b, c) =
        (visit(&scratch.join("lock")), visit(&scratch.join("lock")), visit(&scratch.join("lock")));
    assert_eq!(pins(&seat, 1000), (vec![], vec![]));
    // The first descriptor has neither the lowest nor neighbours only.
    for (guest, txnid) in [(&a, 500), (&a, 501), (&b, 3), (&c, 999), (&a, 7), (&b, 502), (&c, 1000)]
    {
        guest.pin(txnid).unwrap();
    }
    assert_eq!(pins(&seat, 1000), (vec![3, 7, 500, 501, 502, 999, 1000], vec![]));
    assert_eq!(pins(&seat, 998).0, [3, 7, 500, 501, 502], "up to the newest");
    a.unpin(500);
    a.unpin(7);
    drop(b);
    assert_eq!(pins(&seat, 1000).0, [501, 999, 1000]);
    assert!(!a.writable() && a.attended().is_ok_and(|there| !there));
    a.attend().unwrap();
    assert!(c.attended().unwrap() && seat.shared.attended().unwrap() && a.lasts());
}

/// R4: a range that a stranger has locked in one piece is pinned in one piece.
#[test]
fn long_locks_pin_all_that_they_cover() {
    if skips() {
        return;
    }
    let scratch = ScratchDir::new();
    let path = scratch.join("lock");
    let seat = Seat::real(&path);
    let a = visit(&path);
    let file = std::fs::File::open(&path).unwrap();
    for byte in crate::os::shm::tests::snapshot_bytes(10, 20) {
        assert!(locks::change(&file, Way::Bytes, byte, Hold::Shared).unwrap());
    }
    a.pin(5).unwrap();
    a.pin(15).unwrap();
    a.pin(25).unwrap();
    let (found, spans) = pins(&seat, 100);
    let covers =
        |txnid: u64| found.contains(&txnid) || spans.iter().any(|span| span.contains(&txnid));
    assert!((10..=20).all(covers) && covers(5) && covers(25));
    assert!(![4, 6, 9, 21, 24, 26].into_iter().any(covers), "{found:?} {spans:?}");
}

/// R4: a scan ends, and takes what it has not asked for as pinned.
#[test]
fn a_scan_of_very_many_ends() {
    if skips() {
        return;
    }
    let scratch = ScratchDir::new();
    let seat = Seat::real(&scratch.join("lock"));
    let a = visit(&scratch.join("lock"));
    (1..=200).for_each(|n| a.pin(n * 10).unwrap());
    let (found, spans) = pins(&seat, 5000);
    assert_eq!(found.len(), 64);
    let covers =
        |txnid: u64| found.contains(&txnid) || spans.iter().any(|span| span.contains(&txnid));
    assert!((1..=200).all(|n| covers(n * 10)));
    assert!(spans.is_sorted_by(|a, b| a.end() < b.start()));
}

/// R9: a process that may only read keeps no dead client alive.
#[test]
fn a_lock_to_read_keeps_no_client_alive() {
    if skips() {
        return;
    }
    let scratch = ScratchDir::new();
    let path = scratch.join("lock");
    let (dead, heir) = (Seat::real(&path), Seat::real(&path));
    dead.writer.acquire(NOW).unwrap();
    let me = dead.clients.me();
    let file = std::fs::File::open(&path).unwrap();
    let byte = crate::os::shm::tests::client_byte_of(me.number);
    // As where a process dies: nothing is given back, though a check for leaks finds it.
    static DEAD: AtomicPtr<Seat> = AtomicPtr::new(std::ptr::null_mut());
    let shared = dead.shared.clone();
    DEAD.store(Box::into_raw(Box::new(dead)), Ordering::Relaxed);
    // A static that nothing reads would be optimised away, and its store with it.
    std::hint::black_box(&DEAD);
    shared.release(me.number);
    assert!(locks::change(&file, Way::Bytes, byte, Hold::Shared).unwrap());
    assert!(!heir.clients.is_alive(me).unwrap());
    assert!(heir.writer.acquire(NOW).unwrap().took_over_from_dead);
    // Its number is stepped over.
    let next = Seat::real(&path);
    assert_ne!(next.clients.me().number, me.number);
}

/// R11: where no lock on a byte is seen there are no guests.
#[test]
fn there_are_no_guests_where_files_are_locked() {
    let scratch = ScratchDir::new();
    let path = scratch.join("lock");
    let _seat = Seat::real(&path);
    assert!(RealShared::visit_by(&path, |_| Ok(Way::Files)).unwrap().is_none());
    assert!(RealShared::visit(&scratch.join("none")).unwrap().is_none());
}

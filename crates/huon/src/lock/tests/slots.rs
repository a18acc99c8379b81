use super::*;
use crate::error::Error;
use crate::os::BiasedLock;

#[test]
fn a_reader_protects_what_it_sees() {
    let file = MemoryFile::new(BOOT);
    let (a, _) = Seat::memory(&file);
    let (b, _) = Seat::memory(&file);
    a.board.publish(a.seal(2));
    let (slot, txnid) = b.read();
    assert_eq!(txnid, 2);
    for txnid in 3..6 {
        a.board.publish(a.seal(txnid));
    }
    assert_eq!(a.protected(), [1, 2, 5]);
    let idle = a.slots.claim().unwrap();
    assert_eq!(a.protected(), [1, 2, 5], "no pin, no protection");
    b.slots.release(slot);
    assert_eq!(a.protected(), [1, 5]);
    a.slots.release(idle);
}

#[test]
fn slots_are_used_again() {
    let (a, _) = Seat::memory(&MemoryFile::new(BOOT));
    let (slot, _) = a.read();
    let first = slot.index();
    a.slots.release(slot);
    for _ in 0..1000 {
        let (slot, _) = a.read();
        assert_eq!(slot.index(), first);
        a.slots.release(slot);
    }
    // Many at once, again and again: the table holds no more than were needed at once.
    for _ in 0..3 {
        let held: Vec<Slot> = (0..200).map(|_| a.read().0).collect();
        held.into_iter().for_each(|slot| a.slots.release(slot));
    }
    assert_eq!(a.board.fixed()[layout::SLOT_HIGH].load(word::Ordering::Relaxed), 200);
}

#[test]
fn the_table_grows_and_others_see_it() {
    let scratch = crate::os::testing::ScratchDir::new();
    let file = MemoryFile::new(BOOT);
    let pairs = [
        (Seat::memory(&file).0, Seat::memory(&file).0),
        (Seat::real(&scratch.join("lock")), Seat::real(&scratch.join("lock"))),
    ];
    for (a, b) in pairs {
        let base = a.shared.words().as_ptr();
        let held: Vec<Slot> = (0..1500).map(|_| a.read().0).collect();
        b.board.publish(b.seal(2));
        b.board.publish(b.seal(3));
        assert_eq!(b.slots.list().unwrap().len(), 1500);
        assert_eq!(b.protected(), [1, 3]);
        assert_eq!(base, a.shared.words().as_ptr(), "growing moves nothing");
        held.into_iter().for_each(|slot| a.slots.release(slot));
        assert_eq!(b.slots.list().unwrap().len(), 0);
        a.leave();
        let held: Vec<Slot> = (0..1500).map(|_| b.read().0).collect();
        assert_eq!(b.board.fixed()[layout::SLOT_HIGH].load(word::Ordering::Relaxed), 1500);
        held.into_iter().for_each(|slot| b.slots.release(slot));
    }
}

#[test]
fn a_full_disk_is_an_error_of_claim() {
    let file = MemoryFile::with_capacity(&[], BOOT, layout::WORDS_FIRST);
    let (a, _) = Seat::memory(&file);
    let held: Vec<Slot> = (0..layout::SLOTS_FIRST).map(|_| a.read().0).collect();
    assert!(matches!(a.slots.claim(), Err(Error::Io(_))));
    held.into_iter().for_each(|slot| a.slots.release(slot));
    assert!(a.slots.claim().is_ok());
}

#[test]
fn the_dead_leave_no_slots() {
    let file = MemoryFile::new(BOOT);
    let (watcher, _) = Seat::memory(&file);
    watcher.board.publish(watcher.seal(2));
    for _ in 0..10_000 {
        let (reader, memory) = Seat::memory(&file);
        reader.read();
        memory.kill();
    }
    watcher.board.publish(watcher.seal(3));
    assert_eq!(watcher.protected(), [1, 3]);
    assert_eq!(watcher.slots.list().unwrap(), []);
    let high = watcher.board.fixed()[layout::SLOT_HIGH].load(word::Ordering::Relaxed);
    assert!(high <= 2, "{high} slots for one reader at a time");
}

#[test]
fn the_dead_are_cleared_only_under_the_gate() {
    let file = MemoryFile::new(BOOT);
    let (watcher, _) = Seat::memory(&file);
    let (opener, _) = Seat::memory(&file);
    let (reader, memory) = Seat::memory(&file);
    watcher.board.publish(watcher.seal(2));
    reader.read();
    watcher.board.publish(watcher.seal(3));
    memory.kill();
    let gate = opener.gate();
    assert_eq!(watcher.protected(), [1, 3], "they protect nothing any more");
    assert_eq!(watcher.slots.list().unwrap().len(), 1, "P1");
    drop(gate);
    watcher.protected();
    assert_eq!(watcher.slots.list().unwrap(), []);
}

#[test]
fn a_client_that_leaves_takes_its_slots_along() {
    let file = MemoryFile::new(BOOT);
    let (a, _) = Seat::memory(&file);
    let (b, _) = Seat::memory(&file);
    b.read();
    b.read();
    let seen = a.slots.list().unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[0].client, seen[0].pid), (b.clients.me(), std::process::id()));
    assert_eq!((seen[0].txnid, seen[0].thread), (1, clock::thread_id()));
    assert!(a.clients.others_alive(&a.gate()).unwrap());
    assert_eq!(a.clients.list().unwrap().len(), 2);
    b.leave();
    assert_eq!(a.slots.list().unwrap(), []);
    assert!(!a.clients.others_alive(&a.gate()).unwrap());
    assert_eq!(a.clients.list().unwrap().len(), 1);
}

#[test]
fn a_parked_reader_can_be_evicted() {
    let file = MemoryFile::new(BOOT);
    let (a, _) = Seat::memory(&file);
    let (b, _) = Seat::memory(&file);
    a.board.publish(a.seal(2));
    let (slot, _) = b.read();
    a.board.publish(a.seal(3));
    let running = a.slots.list().unwrap()[0];
    assert!(!a.slots.evict(&running), "it has promised nothing");
    assert!(b.slots.park(&slot) && b.slots.is_parked(&slot));
    assert!(!b.slots.park(&slot), "once is enough");
    assert_eq!(a.protected(), [1, 2, 3], "a parked reader protects as any other");
    assert!(b.slots.unpark(&slot));
    assert!(b.slots.park(&slot));
    let parked = a.slots.list().unwrap()[0];
    assert!(parked.parked && a.slots.evict(&parked) && !a.slots.evict(&parked));
    assert_eq!(a.protected(), [1, 3]);
    assert!(a.slots.list().unwrap()[0].evicted);
    assert!(!b.slots.is_parked(&slot) && !b.slots.unpark(&slot), "it was evicted");
    let index = slot.index();
    b.slots.release(slot);
    let (slot, txnid) = b.read();
    assert_eq!((slot.index(), txnid), (index, 3), "the slot is good again");
    a.board.publish(a.seal(4));
    assert_eq!(a.protected(), [1, 3, 4]);
}

/// A client that others took for dead keeps its hands off what is theirs now.
#[test]
fn lost_slots_are_not_touched() {
    let file = MemoryFile::new(BOOT);
    let (lost, memory) = Seat::memory(&file);
    let (slot, _) = lost.read();
    let pooled = lost.read().0;
    lost.slots.release(pooled);
    memory.kill();
    let (other, _) = Seat::memory(&file);
    assert_eq!(other.slots.sweep(&other.gate()).unwrap(), 2);
    let held = [other.read().0, other.read().0];
    assert!(lost.slots.claim().is_err());
    lost.slots.release(slot);
    assert_eq!(other.slots.list().unwrap().len(), 2);
    held.into_iter().for_each(|slot| other.slots.release(slot));
}

/// A thread that is alone at its place of the pool needs no exchange to take a slot there.
#[test]
fn a_place_of_the_pool_has_an_owner() {
    let (a, _) = Seat::memory(&MemoryFile::new(BOOT));
    for _ in 0..3 {
        let slot = a.slots.claim().unwrap();
        assert_eq!(slot.index(), 0);
        a.slots.release(slot);
        // Where the system has no barrier for all threads, no lock has an owner.
        assert_eq!(a.slots.owns_place(), BiasedLock::new(()).is_owned_here());
    }
}

/// Claim and release from many threads: every slot has one user.
#[test]
fn threads_share_the_pool() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let (a, _) = Seat::memory(&MemoryFile::new(BOOT));
    let users: Arc<Vec<AtomicU32>> = Arc::new((0..512).map(|_| AtomicU32::new(0)).collect());
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let (slots, users) = (a.slots.clone(), users.clone());
            std::thread::spawn(move || {
                for round in 0..2000 {
                    let held: Vec<Slot> =
                        (0..1 + (round + thread) % 4).map(|_| slots.claim().unwrap()).collect();
                    for slot in held {
                        let user = &users[slot.index() as usize];
                        assert_eq!(user.swap(1, Ordering::Relaxed), 0, "two users of a slot");
                        user.store(0, Ordering::Relaxed);
                        slots.release(slot);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let high = a.board.fixed()[layout::SLOT_HIGH].load(word::Ordering::Relaxed);
    assert!(high <= 64 + 32, "{high} slots for at most 32 at once");
}

/// Counts of slots are not believed beyond what the file has.
#[test]
fn false_counts_of_slots_are_errors() {
    use word::Ordering::Relaxed;
    let scratch = crate::os::testing::ScratchDir::new();
    for false_count in [u64::from(layout::SLOTS_FIRST) + 1, 1 << 32, u64::MAX] {
        let seats = [Seat::memory(&MemoryFile::new(BOOT)).0, Seat::real(&scratch.join("lock"))];
        for a in seats {
            let (slot, _) = a.read();
            let poke = |word: usize| a.board.fixed()[word].store(false_count, Relaxed);
            poke(layout::SLOT_HIGH);
            assert!(matches!(a.slots.scan(&mut Vec::new()), Err(Error::Corrupt(_))));
            assert!(matches!(a.slots.sweep(&a.gate()), Err(Error::Corrupt(_))));
            poke(layout::SLOT_CAPACITY);
            let held: Vec<_> = (0..600).map_while(|_| a.slots.claim().ok()).collect();
            assert!(held.len() < layout::SLOTS_FIRST as usize, "there is no room for more");
            assert_eq!(a.slots.list().unwrap().len(), 1);
            held.into_iter().for_each(|slot| a.slots.release(slot));
            a.slots.release(slot);
            a.leave();
        }
    }
}

/// The lock file has room for some clients, and grows for more; the clients that came before see
/// them.
#[test]
fn the_file_grows_with_its_clients() {
    let scratch = crate::os::testing::ScratchDir::new();
    let memory = MemoryFile::new(BOOT);
    for real in [false, true] {
        let path = scratch.join("lock");
        let seat = || if real { Seat::real(&path) } else { Seat::memory(&memory).0 };
        let first = seat();
        let words = first.shared.words().len();
        assert_eq!(words, layout::WORDS_FIRST);
        let others: Vec<Seat> = (0..40).map(|_| seat()).collect();
        let last = others[39].clients.me();
        assert_eq!(last.number, 40);
        assert!(first.clients.is_alive(last).unwrap());
        assert_eq!(first.clients.list().unwrap().len(), 41);
        assert_eq!(first.clients.info(last).unwrap().pid, std::process::id());
        assert!(others[39].writer.acquire(NOW).is_ok());
        assert!(first.writer.try_acquire().unwrap().is_none(), "its holder lives");
        others[39].writer.release();
        // Room that was made for clients has room for slots, and none is taken for one.
        let held: Vec<Slot> = (0..100).map(|_| first.read().0).collect();
        assert_eq!(others[0].slots.list().unwrap().len(), 100);
        held.into_iter().for_each(|slot| first.slots.release(slot));
        others.into_iter().for_each(Seat::leave);
        assert!(!first.clients.is_alive(last).unwrap());
        first.leave();
        assert_eq!(seat().clients.me().generation, 2, "the table stays");
    }
}

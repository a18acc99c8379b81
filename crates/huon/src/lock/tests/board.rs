use super::*;
use crate::lock::board::marks_of;

fn seat() -> (Seat, Arc<MemoryShared>) {
    Seat::memory(&MemoryFile::new(BOOT))
}

#[test]
fn a_new_board_has_one_snapshot() {
    let (a, _) = seat();
    let marks = [a.board.sealed(), a.board.published(), a.board.durable()];
    assert_eq!(marks.map(Mark::txnid), [1, 1, 1]);
    assert!(a.board.in_flight().is_none());
    assert_eq!(a.board.identity(), Some(identity()));
    assert!(a.board.same_boot());
    assert!(a.board.flag(Flag::RepairDue) && !a.board.is_poisoned());
    let info = a.board.durable_info().unwrap();
    assert_eq!(
        (info.mark.txnid(), info.meta_slot, info.checksum, info.ceiling),
        (1, 0, 9, 1 << 32)
    );
    a.board.set_flag(Flag::RepairDue, false);
    a.board.set_flag(Flag::CleanClose, true);
    assert!(!a.board.flag(Flag::RepairDue) && a.board.flag(Flag::CleanClose));
}

/// A first client that takes over what another left may die at any moment: what the board named, it
/// names throughout.
#[test]
fn what_is_kept_is_named_throughout() {
    let (a, _) = seat();
    let sealed = a.board.seal(a.board.sealed(), 2, &image(2)).unwrap();
    let durable = a.board.durable_info().unwrap();
    use std::sync::atomic::{AtomicBool, Ordering};
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let (mut looks, mut bytes) = (0u64, [0; IMAGE_BYTES]);
            while !done.load(Ordering::Relaxed) || looks == 0 {
                assert_eq!(a.board.identity(), Some(identity()));
                assert_eq!((a.board.sealed(), a.board.durable_info()), (sealed, Some(durable)));
                assert!(a.board.copy_image(sealed, &mut bytes) && bytes == image(2));
                looks += 1;
            }
            looks
        });
        let gate = Gate::lock(a.board.shared(), LONG).unwrap();
        let block = image(2);
        for _ in 0..200 {
            let start = Start { txnid: 2, keep: true, issued: 2, ..start(&block) };
            a.board.initialise(&gate, &identity(), &start);
        }
        done.store(true, Ordering::Relaxed);
        assert!(watch.join().unwrap() > 0);
    });
    assert_eq!(a.board.published(), sealed);
}

#[test]
fn a_file_without_a_board_has_no_identity() {
    let shared: Arc<dyn Shared> = Arc::new(MemoryFile::new(BOOT).open());
    let gate = Gate::lock(&shared, NOW).unwrap();
    let board = Board::attach(shared.clone(), &gate).unwrap();
    assert_eq!(board.identity(), None);
    assert!(!board.same_boot());
    assert_eq!(board.durable_info(), None);
}

#[test]
fn a_foreign_file_is_refused() {
    let shared: Arc<dyn Shared> = Arc::new(MemoryFile::from_image(&[42; 100], BOOT).open());
    let gate = Gate::lock(&shared, NOW).unwrap();
    let refused = Board::attach(shared.clone(), &gate);
    assert!(matches!(refused.err(), Some(crate::error::Error::NotADatabase(_))));
    assert_eq!(shared.words().len(), 100);
}

#[test]
fn another_boot_is_noticed() {
    let file = MemoryFile::new(BOOT);
    drop(Seat::memory(&file));
    let image = file.words_image();
    let (same, _) = Seat::memory(&MemoryFile::from_image(&image, BOOT));
    assert!(same.board.same_boot());
    let (other, _) = Seat::memory(&MemoryFile::from_image(&image, [8; 16]));
    assert!(!other.board.same_boot() && other.board.identity().is_some());
    let (unknown, _) = Seat::memory(&MemoryFile::from_image(&image, [0; 16]));
    assert!(!unknown.board.same_boot());
}

#[test]
fn ids_only_rise() {
    let (a, _) = seat();
    let ids = || (a.board.issued(), a.board.next_id(a.board.issued()));
    assert_eq!(ids(), (1, 2));
    assert!(a.board.raise_issued(1, 5));
    assert!(!a.board.raise_issued(1, 3) && !a.board.raise_issued(4, 6), "I2");
    assert_eq!(ids(), (5, 6));
    a.seal(9);
    assert_eq!(ids(), (5, 10));
}

/// Images are written as far as they are used: nothing is left of those that were there before,
/// whichever client wrote them.
#[test]
fn short_images_end_with_zeros() {
    let file = MemoryFile::new(BOOT);
    let ((a, _), (b, _)) = (Seat::memory(&file), Seat::memory(&file));
    for txnid in 2..300 {
        let seat = if txnid % 17 < 12 { &a } else { &b };
        seat.writer.acquire(NOW).unwrap();
        let used = txnid as usize * 1009 % (IMAGE_BYTES + 1);
        let mut written = image(u64::MAX - txnid);
        written[used..].fill(0);
        let board = &seat.board;
        let mark = board
            .seal_used(board.sealed(), txnid, (&written, used), RecordMark::default())
            .unwrap();
        board.publish(mark);
        seat.writer.release();
        let mut read = [0xFF; IMAGE_BYTES];
        assert!(board.copy_image(mark, &mut read) && read == written, "{used} bytes of {txnid}");
    }
}

#[test]
fn a_seal_needs_its_base() {
    let (a, _) = seat();
    let base = a.board.sealed();
    let second = a.seal(2);
    assert_eq!(a.board.seal(base, 3, &image(3)), None, "P3");
    assert_eq!(a.board.sealed(), second);
    assert_eq!(a.board.published().txnid(), 1);
    a.board.publish(second);
    a.board.publish(base);
    assert_eq!(a.board.published(), second, "P9: published only moves forward");
}

#[test]
fn images_that_are_named_stay_whole() {
    let (a, _) = seat();
    let read = |mark| {
        let mut bytes = [0; IMAGE_BYTES];
        a.board.copy_image(mark, &mut bytes).then_some(bytes)
    };
    let first = a.board.sealed();
    let second = a.seal(2);
    a.board.publish(second);
    let candidate = a.seal(3);
    assert_eq!(a.board.nominate().unwrap(), Some(candidate));
    let mut last = candidate;
    for txnid in 4..40 {
        let before = last;
        last = a.seal(txnid);
        // Durable, published, in flight, newest sealed; and the one before, for late copiers.
        for mark in [first, second, candidate, before, last] {
            assert_eq!(read(mark), Some(image(mark.txnid())), "{mark:?} at {txnid}");
        }
    }
    a.board.publish(last);
    for txnid in 40..50 {
        a.seal(txnid);
    }
    assert_eq!(read(second), None, "given away");
    assert_eq!(read(Mark::NONE), None);
}

/// A client without a role gets an image that is named, also if the one it looked for is given away
/// in between; and an error if the named image is not there.
#[test]
fn an_image_that_is_given_away_is_no_damage() {
    let (a, _) = seat();
    let mut bytes = [0; IMAGE_BYTES];
    // Two of the eight images stay named throughout, so any six seals in between may take a third.
    for (seals, expected_looks) in [(0, 1), (1, 1), (5, 1), (8, 3), (20, 3)] {
        let looks = std::cell::Cell::new(0);
        let sealed_late = || {
            let mark = a.board.sealed();
            looks.set(looks.get() + 1);
            if looks.get() == 1 {
                for _ in 0..seals {
                    a.seal(a.board.sealed().txnid() + 1);
                }
            }
            mark
        };
        let mark = a.board.copy_named(sealed_late, &mut bytes).expect("something is sealed");
        assert_eq!(bytes, image(mark.txnid()), "{seals} seals");
        assert_eq!(looks.get(), expected_looks, "{seals} seals");
    }
    assert_eq!(a.board.copy_named(|| Mark::NONE, &mut bytes), None);
}

#[test]
fn a_flush_hands_over() {
    let (a, _) = seat();
    assert_eq!(a.board.nominate().unwrap(), None, "nothing to flush");
    a.board.add_written(100);
    let second = a.seal(2);
    let before = a.board.events();
    assert_eq!(a.board.nominate().unwrap(), Some(second));
    a.board.add_written(30);
    assert_eq!((a.board.in_flight(), a.board.candidate_plan()), (second, None));
    let plan = a.plan(second, 1);
    a.board.set_candidate_plan(&plan).unwrap();
    assert_eq!(a.board.candidate_plan(), Some(plan));
    assert_eq!(a.board.written_since_durable(), 130);
    a.board.finish_flush(&done(&plan)).unwrap();
    assert_eq!(a.board.durable_info(), Some(done(&plan)));
    assert_eq!((a.board.published(), a.board.durable()), (second, second));
    assert!(a.board.in_flight().is_none() && a.board.candidate_plan().is_none());
    assert_eq!(a.board.written_since_durable(), 30);
    assert_ne!(a.board.events(), before);
    assert_eq!(a.board.unfinished_flush().unwrap(), None);
    a.seal(3);
    a.flush(2);
    a.seal(4);
    a.flush(0);
    assert_eq!(a.board.durable_info().unwrap().meta_slot, 0);
}

#[test]
fn the_durable_meta_is_not_overwritten() {
    let (a, _) = seat();
    a.seal(2);
    let mark = a.board.nominate().unwrap().unwrap();
    let refused = a.board.set_candidate_plan(&a.plan(mark, 0)).unwrap_err();
    assert!(refused.to_string().contains("over the durable meta"), "{refused}");
}

/// The next flusher waits for those that the last one released and for those that came meanwhile:
/// else two committers of which each came during the other's flush would share none, ever.
#[test]
fn the_committers_that_came_during_a_flush_count_as_well() {
    let (a, _) = seat();
    let flush = |until: u64| {
        let mark = a.board.nominate().unwrap().unwrap();
        let plan = a.plan(mark, (until % 3) as u8);
        a.board.set_candidate_plan(&plan).unwrap();
        (mark.txnid() + 1..=until).for_each(|txnid| _ = a.seal(txnid));
        a.board.finish_flush(&done(&plan)).unwrap();
        a.board.committed_together()
    };
    a.seal(2);
    assert_eq!(flush(2), 1);
    a.seal(3);
    assert_eq!(flush(4), 2, "one was served, one came");
    assert_eq!(flush(6), 3, "the one that had come, and two more");

    let gate = Gate::lock(a.board.shared(), LONG).unwrap();
    a.board.use_journal(&gate, 4).unwrap();
    let mark = a.board.nominate_for_journal();
    a.seal(7);
    a.seal(8);
    let journaled = Journaled { txnid: mark.txnid(), tail: 0, place: Place::default() };
    a.board.finish_journal_flush(mark, &journaled);
    assert_eq!(a.board.committed_together(), 4, "of 5 to 8");
}

/// The lock file's words are checked against the rules before any client acts on them.
#[test]
fn words_that_break_a_rule_are_errors() {
    use word::Ordering::Relaxed;
    let poked = |poke: &dyn Fn(&Seat)| {
        let (a, _) = seat();
        a.seal(2);
        let mark = a.board.nominate().unwrap().unwrap();
        let plan = a.plan(mark, 1);
        a.board.set_candidate_plan(&plan).unwrap();
        poke(&a);
        (a, plan)
    };
    let set = |word: usize, value: u64| move |a: &Seat| a.board.fixed()[word].store(value, Relaxed);
    // The plan of a dead flusher leads to the durable meta, or nowhere.
    for how in [0, 3 << 2, u64::MAX] {
        let (a, _) = poked(&set(layout::PLAN_HOW, how));
        assert!(a.board.unfinished_flush().is_err());
    }
    // The flushed snapshot is not in flight any more, or older than the durable one.
    let (a, plan) = poked(&set(layout::IN_FLIGHT, 0));
    assert!(a.board.finish_flush(&done(&plan)).is_err());
    assert!(a.board.postpone_meta_flush(&plan).is_err());
    let (a, plan) = poked(&set(layout::DURABLE, u64::MAX));
    assert!(a.board.finish_flush(&done(&plan)).is_err());
    let (a, _) = poked(&|_| {});
    assert!(a.board.nominate().is_err(), "a flush was left");
    assert_eq!(a.board.durable().txnid(), 1);
}

/// P4: whatever store was the last of a dead flusher, its successor goes on rightly.
#[test]
fn a_dead_flush_is_finished() {
    let file = MemoryFile::new(BOOT);
    let (dead, memory) = Seat::memory(&file);
    let second = dead.seal(2);
    dead.flusher.try_acquire().unwrap().unwrap();
    dead.board.nominate().unwrap().unwrap();
    let nominated = file.words_image();
    let plan = dead.plan(second, 1);
    dead.board.set_candidate_plan(&plan).unwrap();
    let planned = file.words_image();
    dead.board.finish_flush(&done(&plan)).unwrap();
    let mut finished = file.words_image();
    memory.kill();
    let revive = |image: &[u64]| {
        let (heir, _) = Seat::memory(&MemoryFile::from_image(image, BOOT));
        assert!(heir.flusher.acquire(NOW).unwrap().took_over_from_dead);
        heir
    };

    let heir = revive(&nominated);
    assert!(heir.protected().contains(&2));
    assert_eq!(heir.board.unfinished_flush().unwrap(), None, "no meta was written");
    assert!(heir.board.in_flight().is_none());
    assert_eq!(heir.board.nominate().unwrap(), Some(second));

    let heir = revive(&planned);
    heir.seal(3);
    assert!(heir.protected().contains(&2), "its meta may lie in the slot");
    assert_eq!(heir.board.unfinished_flush().unwrap(), Some(plan));
    heir.board.finish_flush(&done(&plan)).unwrap();
    assert_eq!(heir.board.durable(), second);

    // Durable, but still in flight.
    finished[layout::IN_FLIGHT] = planned[layout::IN_FLIGHT];
    let heir = revive(&finished);
    assert_eq!(heir.board.unfinished_flush().unwrap(), None);
    assert!(heir.board.in_flight().is_none());
    assert_eq!(heir.board.durable_info(), Some(done(&plan)));
}

/// Waits as a holder of a ticket does; whether `txnid` became durable.
pub(super) fn wait_durable(board: &Board, txnid: u64, timeout: Duration) -> bool {
    let start = std::time::Instant::now();
    loop {
        let seen = board.events();
        let durable = board.durable().txnid() >= txnid;
        if durable || board.is_poisoned() || start.elapsed() >= timeout {
            return durable;
        }
        board.wait_events(seen, timeout - start.elapsed().min(timeout), Some(txnid));
    }
}

#[test]
fn waiting_for_durability() {
    let file = MemoryFile::new(BOOT);
    let (flusher, _) = Seat::memory(&file);
    let (waiter, _) = Seat::memory(&file);
    assert!(wait_durable(&waiter.board, 1, NOW));
    flusher.seal(2);
    assert!(!wait_durable(&waiter.board, 2, SOON));
    let waiting = std::thread::spawn(move || (wait_durable(&waiter.board, 2, LONG), waiter));
    std::thread::sleep(SOON);
    flusher.flush(1);
    let (durable, waiter) = waiting.join().unwrap();
    assert!(durable);
    let waiting = std::thread::spawn(move || wait_durable(&waiter.board, 3, LONG));
    std::thread::sleep(SOON);
    flusher.board.poison();
    assert!(!waiting.join().unwrap(), "poison ends the wait");
    assert!(flusher.board.is_poisoned());
}

/// Readers and a writer that reuses pages exactly as P12 lets it; every page is checked while it is
/// pinned.
fn reuse_under_readers(seats: Vec<Seat>) {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    const PAGES: usize = 24;
    let pages: Arc<Vec<AtomicU64>> = Arc::new((0..PAGES).map(|_| AtomicU64::new(0)).collect());
    pages[0].store(1, Ordering::Relaxed);
    let end = Arc::new(AtomicBool::new(false));
    let mut seats = seats.into_iter();
    let writer = seats.next().unwrap();
    let readers: Vec<_> = seats
        .map(|seat| {
            let (pages, end) = (pages.clone(), end.clone());
            std::thread::spawn(move || {
                let mut reads = 0;
                while !end.load(Ordering::Relaxed) {
                    let slot = seat.slots.claim().unwrap();
                    let mut words = [0; 2];
                    let mark = seat.board.read_published(&slot, &mut words);
                    let page = if mark.txnid() == 1 { 0 } else { words[1] as usize };
                    for _ in 0..40 {
                        assert_eq!(pages[page].load(Ordering::Relaxed), mark.txnid(), "reused");
                    }
                    seat.slots.release(slot);
                    reads += 1;
                }
                reads
            })
        })
        .collect();
    let started = std::time::Instant::now();
    // (page, birth, freed)
    let mut retired: Vec<(usize, u64, u64)> = Vec::new();
    let mut unused: Vec<usize> = (1..PAGES).collect();
    let (mut page, mut birth, mut commits) = (0, 1, 0u64);
    while started.elapsed() < Duration::from_millis(400) {
        let txnid = writer.board.next_id(writer.board.issued());
        let protected = writer.protected();
        retired.retain(|(page, birth, freed)| {
            let held = protected.iter().any(|s| birth <= s && s < freed);
            if !held {
                unused.push(*page);
            }
            held
        });
        let next = unused.pop().unwrap();
        pages[next].store(txnid, Ordering::Relaxed);
        retired.push((page, birth, txnid));
        (page, birth) = (next, txnid);
        let mut bytes = [0; IMAGE_BYTES];
        bytes[..8].copy_from_slice(&txnid.to_le_bytes());
        bytes[8..16].copy_from_slice(&(next as u64).to_le_bytes());
        let mark = writer.board.seal(writer.board.sealed(), txnid, &bytes).unwrap();
        if commits % 3 == 0 {
            writer.board.publish(mark);
        } else if commits % 16 == 1 {
            let slot = (writer.board.durable_info().unwrap().meta_slot + 1) % 3;
            writer.flush(slot);
        }
        commits += 1;
    }
    end.store(true, Ordering::Relaxed);
    let reads: u64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
    assert!(commits > 100 && reads > 100, "{commits} commits, {reads} reads");
}

#[test]
fn pages_are_not_reused_under_readers() {
    let file = MemoryFile::new(BOOT);
    reuse_under_readers((0..4).map(|_| Seat::memory(&file).0).collect());
    let scratch = crate::os::testing::ScratchDir::new();
    reuse_under_readers((0..3).map(|_| Seat::real(&scratch.join("lock"))).collect());
}

#[test]
fn marks_of_snapshots() {
    assert_eq!(marks_of(5, 5), 1 << 5);
    assert_eq!(marks_of(31, 33), 1 << 31 | 0b11);
    assert_eq!((marks_of(0, 31), marks_of(7, 900)), (ANY_MARK, ANY_MARK));
    assert_eq!(marks_of(6, 5), ANY_MARK);
}

//! Loom models of what clients do to the lock file at the same time. They run the engine's own
//! source.
//!
//! Loom follows every interleaving and every value that C11 lets a load return, up to the stated
//! number of preemptions. Its limits, and what they mean here: `fence(SeqCst)` is modelled,
//! accesses with `SeqCst` are not (the engine has none); loads are never reordered before earlier
//! ones of other words than C11's happens-before allows, so "load buffering" is not explored (all
//! our loads that matter acquire); the kernel's part (lock bytes, the gate, sleeping) is a plain
//! value that changes atomically. Mutual exclusion of threads of one client is std's business and
//! not modelled.

use std::sync::Arc;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::thread;

use super::layout::*;
use super::memory::MemoryShared;
use super::*;
use crate::os::word::Ordering;
use crate::os::*;

mod journal;

const BOOT: [u8; 16] = [7; 16];

/// Runs `body` under all interleavings with at most `preemptions` preemptions.
fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 50_000;
    builder.check(body);
}

fn image(txnid: u64) -> [u8; IMAGE_BYTES] {
    let mut image = [0; IMAGE_BYTES];
    image.chunks_mut(8).for_each(|word| word.copy_from_slice(&txnid.to_le_bytes()));
    image
}

/// A client of its own, as in a process of its own. Threads return theirs: it must outlive the
/// model, since loom does not know that the kernel frees a byte after all that the process did.
struct Client {
    shared: Arc<MemoryShared>,
    board: Arc<Board>,
    clients: Arc<Clients>,
}

fn client(file: &Arc<MemoryFile>, first: bool) -> Client {
    let memory = Arc::new(file.open());
    let shared: Arc<dyn Shared> = memory.clone();
    let gate = Gate::lock(&shared, Duration::ZERO).expect("the gate is free");
    let board = Arc::new(Board::attach(shared.clone(), &gate).expect("room for a board"));
    if first {
        let data = Identity { device: 1, inode: 2 };
        let identity = BoardIdentity { data, uuid: [3; 16], boot: BOOT, page_bytes: 4096 };
        let start = Start {
            txnid: 1,
            image: &image(1),
            keep: false,
            issued: 1,
            meta_slot: 0,
            checksum: 9,
            ceiling: 1 << 32,
            place: Place::default(),
            sound: Sound::New,
        };
        board.initialise(&gate, &identity, &start);
    }
    let clients = Arc::new(Clients::new(board.clone()));
    clients.join(&gate).expect("a client number");
    Client { shared: memory, board, clients }
}

impl Client {
    fn seal(&self, txnid: u64) -> Mark {
        self.board.seal(self.board.sealed(), txnid, &image(txnid)).expect("no other client seals")
    }

    fn flush(&self, meta_slot: u8) -> Option<Mark> {
        let plan = self.begin_flush(meta_slot, false)?;
        self.finish_flush(&plan);
        Some(plan.mark)
    }

    fn begin_flush(&self, meta_slot: u8, two_flush: bool) -> Option<FlushPlan> {
        assert_eq!(self.board.unfinished_flush().unwrap(), None);
        let mark = self.board.nominate().unwrap()?;
        let predecessor = self.board.durable().txnid();
        let ceiling = mark.txnid() + 9;
        let plan = FlushPlan {
            mark,
            meta_slot,
            two_flush,
            meta_written: false,
            predecessor,
            ceiling,
            place: Place::default(),
        };
        self.board.set_candidate_plan(&plan).unwrap();
        Some(plan)
    }

    fn finish_flush(&self, plan: &FlushPlan) {
        let FlushPlan { mark, meta_slot, ceiling, .. } = *plan;
        self.board
            .finish_flush(&Durable {
                mark,
                meta_slot,
                checksum: 5,
                ceiling,
                place: Place::default(),
            })
            .unwrap();
    }

    /// Does `work` as the flusher if no other client is; whether it did.
    fn as_flusher(&self, work: impl FnOnce()) -> bool {
        let role = Role::new(self.clients.clone(), RoleKind::Flusher);
        let got = role.try_acquire().expect("no error").is_some();
        if got {
            work();
            role.release();
        }
        got
    }
}

/// What the pages of each snapshot hold; loom sees any use that is not ordered after another's end.
#[derive(Clone)]
struct Pages(Arc<[UnsafeCell<u64>; 5]>);

impl Pages {
    fn new() -> Pages {
        Pages(Arc::new(std::array::from_fn(|txnid| UnsafeCell::new(txnid as u64))))
    }

    fn read(&self, txnid: u64) {
        // SAFETY: loom checks that no thread writes meanwhile.
        self.0[txnid as usize]
            .with(|page| assert_eq!(unsafe { *page }, txnid, "a page was reused"));
    }

    fn reuse(&self, txnid: u64) {
        // SAFETY: loom checks that no thread reads meanwhile.
        self.0[txnid as usize].with_mut(|page| unsafe { *page = 0 });
    }
}

fn read_once(reader: &Client, slots: &Slots, pages: &Pages) {
    let slot = slots.claim().expect("a slot");
    let mut words = [0; IMAGE_WORDS];
    let mark = reader.board.read_published(&slot, &mut words);
    assert_eq!(words, [mark.txnid(); IMAGE_WORDS], "P14: a torn image");
    pages.read(mark.txnid());
    slots.release(slot);
}

/// The snapshots that page reuse must respect, read as the store reads them: the marks first (P10).
/// Ascending, each once.
fn protected(board: &Board, slots: &Slots) -> Vec<u64> {
    let marks = board.protected_marks().all();
    let mut all = Vec::new();
    slots.scan(&mut all).expect("a scan");
    all.extend(marks.map(Mark::txnid));
    all.retain(|txnid| *txnid != 0);
    all.sort_unstable();
    all.dedup();
    all
}

/// The snapshots that page reuse must respect where only guests read (R4).
fn protected_of_guests(writer: &Client) -> Vec<u64> {
    let marks = writer.board.protected_marks();
    let marks = [marks.in_flight, marks.durable, marks.published, marks.sealed];
    let (mut all, mut spans) = (Vec::new(), Vec::new());
    scan_guests(&*writer.shared, marks[3].txnid(), &mut all, &mut spans).expect("an answer");
    assert!(spans.is_empty());
    all.extend(marks.map(Mark::txnid));
    all
}

/// R10: a guest and the writer that publishes and then wants pages. The kernel's list of locks is a
/// third party, which orders nothing.
#[test]
fn a_guest_is_found_or_not_needed() {
    model(4, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let pages = Pages::new();
        writer.board.publish(writer.seal(2));
        let sealed = writer.seal(3);
        let shared: Arc<dyn Shared> = Arc::new(file.visit());
        let gate = Gate::lock(&shared, Duration::ZERO).expect("the gate is free");
        let board = Board::visit(shared, &gate).expect("no error").expect("a board");
        let guest = Guest::enter(Arc::new(board)).expect("a guest");
        drop(gate);
        let reading = {
            let pages = pages.clone();
            thread::spawn(move || {
                let mut words = [0; IMAGE_WORDS];
                let mark = guest.pin_published(&mut words).expect("a pin");
                assert_eq!(words, [mark.txnid(); IMAGE_WORDS], "R3: a torn image");
                pages.read(mark.txnid());
                guest.unpin(mark.txnid());
                guest
            })
        };
        writer.board.publish(sealed);
        let protected = protected_of_guests(&writer);
        for txnid in 1..3 {
            if !protected.contains(&txnid) {
                pages.reuse(txnid);
            }
        }
        reading.join().expect("the guest ends");
    });
}

/// Reuses the pages of the snapshots below `base` that nothing protects.
fn reclaim(writer: &Client, slots: &Slots, base: u64, pages: &Pages) {
    let protected = protected(&writer.board, slots);
    for txnid in 1..base {
        if !protected.contains(&txnid) {
            pages.reuse(txnid);
        }
    }
}

/// P10, P14: a reader and the writer that publishes and then wants pages.
#[test]
fn a_pin_is_seen_or_not_needed() {
    model(4, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let reader = client(&file, false);
        let pages = Pages::new();
        writer.board.publish(writer.seal(2));
        let reading = {
            let pages = pages.clone();
            thread::spawn(move || {
                let slots = Slots::new(reader.clients.clone()).unwrap();
                read_once(&reader, &slots, &pages);
                reader
            })
        };
        let slots = Slots::new(writer.clients.clone()).unwrap();
        writer.board.publish(writer.seal(3));
        reclaim(&writer, &slots, 3, &pages);
        reading.join().expect("the reader ends");
    });
}

/// P10, P14: as before, with the publishing done by a flusher, so that three parties are involved.
#[test]
fn a_pin_is_seen_or_not_needed_when_a_flusher_publishes() {
    model(2, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let reader = client(&file, false);
        let flusher = client(&file, false);
        let pages = Pages::new();
        writer.board.publish(writer.seal(2));
        writer.seal(3);
        let reading = {
            let pages = pages.clone();
            thread::spawn(move || {
                let slots = Slots::new(reader.clients.clone()).unwrap();
                read_once(&reader, &slots, &pages);
                reader
            })
        };
        let flushing = thread::spawn(move || (flusher.flush(1), flusher));
        let slots = Slots::new(writer.clients.clone()).unwrap();
        reclaim(&writer, &slots, 3, &pages);
        reading.join().expect("the reader ends");
        flushing.join().expect("the flusher ends");
    });
}

/// P14: a thread that sees the second pin of a slot is past the reads under the first.
#[test]
fn a_second_pin_comes_after_the_first_one_ended() {
    model(3, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let reader = client(&file, false);
        let pages = Pages::new();
        writer.board.publish(writer.seal(2));
        let reading = {
            let pages = pages.clone();
            thread::spawn(move || {
                let slots = Slots::new(reader.clients.clone()).unwrap();
                read_once(&reader, &slots, &pages);
                read_once(&reader, &slots, &pages);
                reader
            })
        };
        let slots = Slots::new(writer.clients.clone()).unwrap();
        writer.board.publish(writer.seal(3));
        reclaim(&writer, &slots, 3, &pages);
        reading.join().expect("the reader ends");
    });
}

/// A parked reader comes back, or the writer that needs its pages has them: one of the two. A
/// reader that takes the slot after it is seen as any.
#[test]
fn a_parked_reader_comes_back_or_is_evicted() {
    model(3, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let reader = client(&file, false);
        let pages = Pages::new();
        writer.board.publish(writer.seal(2));
        let reading = {
            let pages = pages.clone();
            thread::spawn(move || {
                let slots = Slots::new(reader.clients.clone()).unwrap();
                let slot = slots.claim().expect("a slot");
                let mark = reader.board.read_published(&slot, &mut []);
                pages.read(mark.txnid());
                assert!(slots.park(&slot));
                if slots.unpark(&slot) {
                    pages.read(mark.txnid());
                }
                slots.release(slot);
                read_once(&reader, &slots, &pages);
                reader
            })
        };
        let slots = Slots::new(writer.clients.clone()).unwrap();
        writer.board.publish(writer.seal(3));
        for parked in slots.list().expect("a list") {
            slots.evict(&parked);
        }
        reclaim(&writer, &slots, 3, &pages);
        reading.join().expect("the reader ends");
    });
}

/// Flush, P9, P10: the candidate is the newest sealed one, or the writer protects it.
#[test]
fn a_candidate_is_the_newest_or_protected() {
    model(3, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let flusher = client(&file, false);
        writer.seal(2);
        let flushing = thread::spawn(move || (flusher.flush(1), flusher));
        let slots = Slots::new(writer.clients.clone()).unwrap();
        // Published too, as a lazy commit is: so the older candidate is not protected as published.
        writer.board.publish(writer.seal(3));
        let protected = protected(&writer.board, &slots);
        let (candidate, _) = flushing.join().expect("the flusher ends");
        assert!(protected.contains(&3), "P11: the newest sealed");
        if candidate.is_some_and(|mark| mark.txnid() == 2) {
            assert!(protected.contains(&2), "P10: a candidate without protection");
        }
    });
}

/// P4: a client that learns that only a meta is owed sees all that was on the disk by then; the
/// next flusher finishes the very same flush, and until then its snapshot is protected.
#[test]
fn a_postponed_flush_is_told_and_finished() {
    model(4, || {
        let file = MemoryFile::new(BOOT);
        let first = client(&file, true);
        let second = client(&file, false);
        let sealed = first.seal(2);
        // The newest snapshot whose pages are on the disk.
        let disk = Arc::new(UnsafeCell::new(1));
        let postponing = {
            let disk = disk.clone();
            thread::spawn(move || {
                let postponed = first.as_flusher(|| {
                    let Some(plan) = first.begin_flush(1, true) else { return };
                    // SAFETY: loom checks that no thread reads meanwhile.
                    disk.with_mut(|disk| unsafe { *disk = 2 });
                    first.board.postpone_meta_flush(&plan).expect("a sound board");
                });
                (postponed, first)
            })
        };
        // SAFETY: loom checks that no thread writes meanwhile.
        let seen = || disk.with(|disk| unsafe { *disk });
        if let Some(mark) = second.board.postponed() {
            assert_eq!((mark, seen()), (sealed, 2), "P4: told too early");
            let marks = second.board.protected_marks();
            assert!(marks.in_flight == mark, "P4: postponed and not protected");
        }
        second.as_flusher(|| {
            if let Some(plan) = second.board.unfinished_flush().expect("a sound board") {
                assert!(plan.meta_written && seen() == 2, "P4: a plan that is half done");
                second.finish_flush(&plan);
                assert_eq!(second.board.postponed(), None);
            }
        });
        let (postponed, first) = postponing.join().expect("the flusher ends");
        let owed = first.board.postponed();
        let reached = owed.unwrap_or(first.board.durable());
        assert!(!postponed || reached == sealed, "P4: a postponed flush was lost");
    });
}

/// P9: a client that sees a snapshot durable sees it published.
#[test]
fn durable_is_published_and_described() {
    model(5, || {
        let file = MemoryFile::new(BOOT);
        let flusher = client(&file, true);
        let waiter = client(&file, false);
        flusher.seal(2);
        let flushing = thread::spawn(move || (flusher.flush(1), flusher));
        let seen = waiter.board.durable_info().expect("the durable meta");
        assert!(waiter.board.published().txnid() >= seen.mark.txnid(), "P9");
        let expected = if seen.mark.txnid() == 1 { (0, 9) } else { (1, 5) };
        assert_eq!((seen.meta_slot, seen.checksum), expected);
        flushing.join().expect("the flusher ends");
    });
}

/// Names image `index` for snapshot `txnid` by hand.
fn place(board: &Board, word: usize, txnid: u64, index: u64) {
    let mark = txnid << 3 | index;
    board.fixed()[word].store(mark, Ordering::Relaxed);
    board.fixed()[IMAGE_MARKS + index as usize].store(mark, Ordering::Relaxed);
    for at in 0..IMAGE_WORDS {
        let word = IMAGES + index as usize * IMAGE_WORDS + at;
        board.fixed()[word].store(txnid, Ordering::Relaxed);
    }
}

/// A board where the next seal after a publish takes the image that readers were reading.
fn tight_ring(board: &Board) {
    place(board, DURABLE, 1, 4);
    place(board, PUBLISHED, 2, 1);
    place(board, SEALED, 3, 0);
}

/// P14: no client takes an image for whole that was given away while it was copied.
#[test]
fn a_reused_image_is_noticed_by_readers() {
    model(5, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let reader = client(&file, false);
        tight_ring(&writer.board);
        let reading = thread::spawn(move || {
            let slots = Slots::new(reader.clients.clone()).unwrap();
            read_once(&reader, &slots, &Pages::new());
            reader
        });
        writer.board.publish(writer.board.sealed());
        writer.board.publish(writer.seal(4));
        reading.join().expect("the reader ends");
    });
}

#[test]
fn a_reused_image_is_noticed_by_copiers() {
    model(5, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let reader = client(&file, false);
        tight_ring(&writer.board);
        let copying = thread::spawn(move || {
            let mark = reader.board.published();
            let mut bytes = [0; IMAGE_BYTES];
            if reader.board.copy_image(mark, &mut bytes) {
                let kept = IMAGE_WORDS * 8;
                assert_eq!(
                    bytes[..kept],
                    image(mark.txnid())[..kept],
                    "a torn image was taken for whole"
                );
            }
        });
        writer.board.publish(writer.board.sealed());
        writer.seal(4);
        copying.join().expect("the copier ends");
    });
}

/// A client that sees that a snapshot is sealed finds its image, though it holds no lock: a commit
/// that is on its way is no damage.
#[test]
fn what_is_sealed_has_its_image() {
    model(3, || {
        let file = MemoryFile::new(BOOT);
        let writer = client(&file, true);
        let other = client(&file, false);
        let looking = thread::spawn(move || {
            let mut bytes = [0; IMAGE_BYTES];
            let mark = other.board.copy_named(|| other.board.sealed(), &mut bytes);
            let mark = mark.expect("the image of what is sealed");
            let kept = IMAGE_WORDS * 8;
            assert_eq!(bytes[..kept], image(mark.txnid())[..kept], "a torn image");
            other
        });
        writer.seal(2);
        looking.join().expect("the other ends");
    });
}

/// P1: one of two clients gets the role of a dead one, and both never have it together; a new
/// client with the dead one's number neither keeps its lock alive nor lets a late takeover through.
#[test]
fn a_role_has_one_holder() {
    model(3, || {
        let file = MemoryFile::new(BOOT);
        let dead = client(&file, true);
        let others = [client(&file, false), client(&file, false)];
        let role = Role::new(dead.clients.clone(), RoleKind::Writer);
        role.try_acquire().expect("no error").expect("the lock is free");
        dead.shared.kill();
        let work = Arc::new(UnsafeCell::new(0));
        let threads = others.map(|client| {
            let work = work.clone();
            thread::spawn(move || take_turn(&client, &work))
        });
        let heir = client(&file, false);
        assert_eq!(heir.clients.me().number, dead.clients.me().number);
        let mut got = take_turn(&heir, &work);
        for thread in threads {
            got += thread.join().expect("a client ends");
        }
        assert!(got > 0, "P1: a dead client's lock looks held");
    });
}

/// Takes the role if it is free or its holder dead, does some work and releases it. Whether it did.
fn take_turn(client: &Client, work: &UnsafeCell<u32>) -> u32 {
    let role = Role::new(client.clients.clone(), RoleKind::Writer);
    if role.try_acquire().expect("no error").is_none() {
        return 0;
    }
    // SAFETY: loom checks that the other holders' work happens before or after.
    work.with_mut(|work| unsafe { *work += 1 });
    assert!(role.still_ours(), "P3");
    role.release();
    1
}

/// P14: a slot that was never used before is below the high-water mark when its pin counts.
#[test]
fn a_free_slot_has_one_owner() {
    model(4, || {
        let file = MemoryFile::new(BOOT);
        let clients = [client(&file, true), client(&file, false)];
        let threads = clients.map(|client| {
            thread::spawn(move || {
                let slots = Slots::new(client.clients.clone()).unwrap();
                let slot = slots.claim().expect("a slot");
                let index = slot.index();
                slots.release(slot);
                (index, client)
            })
        });
        let taken = threads.map(|thread| thread.join().expect("a client ends"));
        assert_ne!(taken[0].0, taken[1].0, "a slot with two owners");
    });
}

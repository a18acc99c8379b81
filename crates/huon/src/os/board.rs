//! The board: what all clients of an environment know at this moment, written into the lock file.
//!
//! It names the snapshots that matter by *marks*, keeps the last eight snapshot images, the plan of
//! the flush under way and the ids that were issued. `layout` has the picture.
//!
//! Invariants:
//! 1. `sealed`, `published` and `durable` only move forward, and the issued id is never lowered
//!    (P7, P9).
//! 2. An image is written only while no mark names it; naming it as newest is the seal.
//! 3. A candidate is in flight before its flush begins and until `durable` names it (P4, P9).
//! 4. A single store moves `durable`: where its meta lies is written beforehand, for another meta
//!    slot.
//! 5. The board is ready only when everything in it is; the ready word is stored last.
//! 6. Anybody can write to the lock file. Words that break a rule are an error of whoever reads
//!    them, as damage in the data file is; an assertion is about this client's own doing.
//!
//! Orders of memory: each mark is stored with release and loaded with acquire, which carries the
//! image and the pages below it. Three pairs need a full fence on both sides, since each party
//! stores one word and then loads the other's: pin and published (P14), candidate and sealed
//! (Flush), seal and everything the writer protects (P10).
//!
//! Who may call what: `seal` and `publish` the holder of the writer's role, everything about the
//! flush the holder of the flusher's (`role`). The rows, which grow, hold reader slots (`slots`)
//! and clients (`clients`).

use std::ptr::NonNull;
use std::sync::Arc;

use super::clock;
use super::gate::Gate;
use super::layout::*;
use super::locks::Way;
use super::slots::Slot;
use super::word::{Ordering, Word, fence};
use super::{Identity, Shared, Wake};
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::planted;

mod flush;

/// Names a sealed snapshot and the image that holds it, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Mark(u64);

impl Mark {
    #[cfg(test)]
    pub(crate) const NONE: Mark = Mark(0);

    fn new(txnid: u64, index: usize) -> Mark {
        assert!(txnid > 0 && txnid < 1 << 61 && index < IMAGES_COUNT);
        Mark(txnid << 3 | index as u64)
    }

    /// The snapshot's id; 0 for none.
    #[inline]
    pub(crate) fn txnid(self) -> u64 {
        self.0 >> 3
    }

    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize % IMAGES_COUNT
    }
}

/// What a lock file says it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoardIdentity {
    /// The data file.
    pub(crate) data: Identity,
    pub(crate) uuid: [u8; 16],
    /// Zeros where the system cannot tell one boot from another.
    pub(crate) boot: [u8; 16],
    pub(crate) page_bytes: u32,
}

/// The snapshot that a first client chose; it is sealed, published and durable from then on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) txnid: u64,
    pub(crate) image: &'a [u8; IMAGE_BYTES],
    /// The board names this very snapshot as newest sealed already, and the durable one below it.
    /// Both stay named throughout: who dies on the way loses neither.
    pub(crate) keep: bool,
    /// The last id that may have been used; at least `txnid`.
    pub(crate) issued: u64,
    /// Where the durable meta lies (0, 1, 2), its checksum and its ceiling.
    pub(crate) meta_slot: u8,
    pub(crate) checksum: u64,
    pub(crate) ceiling: u64,
    /// Whether the environment was closed in order; else the repair of P16 is due.
    pub(crate) sound: Sound,
}

/// Whether ids and pages of the time before an opening can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sound {
    /// Nobody ever had an id.
    New,
    /// The lock file notes a clean close.
    Closed,
    /// The end was unclean: the repair of P16 is due.
    Not,
}

/// Whether the data file was written after the clean close that the lock file notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written(pub(crate) bool);

/// The durable snapshot and the meta that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Durable {
    pub(crate) mark: Mark,
    pub(crate) meta_slot: u8,
    pub(crate) checksum: u64,
    /// Ids up to here may be used before the next checkpoint (P16).
    pub(crate) ceiling: u64,
}

/// How the candidate in flight is being flushed (P4): enough to write the same meta again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) mark: Mark,
    pub(crate) meta_slot: u8,
    pub(crate) two_flush: bool,
    /// A two-flush meta is in its slot, and only the flush after it is missing.
    pub(crate) meta_written: bool,
    /// Txnid of the durable snapshot before it.
    pub(crate) predecessor: u64,
    pub(crate) ceiling: u64,
}

impl Plan {
    /// Slot, kind and stage in one word, so that they change together.
    fn how(&self) -> u64 {
        u64::from(self.meta_slot) << 2
            | u64::from(self.meta_written) << 1
            | u64::from(self.two_flush)
    }
}

/// The snapshots that the writer must not harm, apart from those that readers pin (P11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProtectedMarks {
    pub(crate) in_flight: Mark,
    pub(crate) durable: Mark,
    pub(crate) published: Mark,
    pub(crate) sealed: Mark,
}

/// What the board notes besides marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Flag {
    /// The first write transaction has to repair (P16).
    RepairDue = 1,
    /// A flush failed: no commits until a client is alone and opens anew.
    Poisoned = 2,
    /// The last client left in order, and what was sealed then is there as long as the system runs.
    CleanClose = 4,
    /// It is on the disk, too: the close counts after the next boot as well.
    FlushedClose = 8,
    /// The opening found a clean close, which the lock file may still note on the disk.
    NotedOnDisk = 16,
}

/// The typed face of a lock file.
pub(crate) struct Board {
    shared: Arc<dyn Shared>,
    /// The first [`WORDS_FIRST`] words of `shared`.
    fixed: NonNull<[Word; WORDS_FIRST]>,
    /// A guest's is not.
    writable: bool,
}

// SAFETY: `fixed` points into the words of `shared`, which is kept alive beside it; words are
// atomics.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl Board {
    /// The board on `shared`, which grows to hold one. What it says is not looked at, but a file
    /// that was never a lock file of ours is refused rather than overwritten.
    pub(crate) fn attach(shared: Arc<dyn Shared>, gate: &Gate) -> Result<Board> {
        gate.assert_of(&shared);
        if !matches!(shared.first_word()?, 0 | MAGIC_VALUE) {
            return Err(Error::NotADatabase(
                "the file with -lock appended to the name is no lock file; move it away".into(),
            ));
        }
        shared.grow(WORDS_FIRST)?;
        let fixed = shared.words().first_chunk::<WORDS_FIRST>();
        let fixed = NonNull::from(fixed.ok_or(Error::Invalid("the lock file did not grow"))?);
        let board = Board { writable: shared.writable(), shared, fixed };
        board.check_way()?;
        Ok(board)
    }

    /// The board on `shared` for a guest, which changes nothing. `None`: it is not ready, or not of
    /// this boot, or clients lock in another way (R2, R11).
    pub(crate) fn visit(shared: Arc<dyn Shared>, gate: &Gate) -> Result<Option<Board>> {
        gate.assert_of(&shared);
        let Some(fixed) = shared.words().first_chunk::<WORDS_FIRST>() else { return Ok(None) };
        let fixed = NonNull::from(fixed);
        let board = Board { writable: shared.writable(), shared, fixed };
        Ok(board.same_boot().then_some(board))
    }

    /// Whether this process may change what the board says (R2).
    pub(crate) fn writable(&self) -> bool {
        self.writable
    }

    /// P6: who locks in another way than those who use the lock file would see none of them.
    fn check_way(&self) -> Result<()> {
        let other = match self.shared.way() {
            Way::Bytes => Way::Files,
            Way::Files => Way::Bytes,
        };
        let boot = self.shared.boot();
        let in_use = |found: BoardIdentity| boot == [0; 16] || found.boot == boot;
        let theirs = self.identity_in(other).is_some_and(in_use) && !self.flag(Flag::CleanClose);
        if theirs && !planted::is(106) {
            Err(Error::NotADatabase(
                "the lock file is of clients that lock in another way (P6); move it away when \
             nobody has the environment open"
                    .into(),
            ))
        } else {
            Ok(())
        }
    }

    pub(crate) fn shared(&self) -> &Arc<dyn Shared> {
        &self.shared
    }

    /// The words that every lock file has.
    #[inline]
    pub(super) fn fixed(&self) -> &[Word; WORDS_FIRST] {
        // SAFETY: the words never move and live as long as `shared`, which `self` keeps.
        unsafe { self.fixed.as_ref() }
    }

    fn load(&self, word: usize) -> u64 {
        self.fixed()[word].load(Ordering::Acquire)
    }

    fn store(&self, word: usize, value: u64) {
        assert!(self.writable, "R2: a guest stores no word");
        self.fixed()[word].store(value, Ordering::Release);
    }

    // ---- opening

    /// Makes the board anew around the snapshot that the first client chose. Client table and
    /// generations stay: names of dead clients must not come back (P1).
    pub(crate) fn initialise(&self, gate: &Gate, identity: &BoardIdentity, start: &Start<'_>) {
        gate.assert_of(&self.shared);
        assert!(start.issued >= start.txnid && start.ceiling >= start.txnid);
        let client_high = self.load(CLIENT_HIGH);
        // First of all, so that whoever is killed in here leaves what is known as a lock file.
        self.store(MAGIC, MAGIC_VALUE);
        let (mark, durable) = if start.keep {
            (self.sealed(), self.durable())
        } else {
            self.store(READY, 0);
            fence(Ordering::SeqCst);
            (Mark::new(start.txnid, 0), Mark::new(start.txnid, 0))
        };
        assert!(mark.txnid() == start.txnid, "what is kept is what was chosen");
        self.clear(start.keep);
        if !start.keep {
            self.fill_image(mark, start.image);
        }
        let flags = match start.sound {
            Sound::New => 0,
            Sound::Closed => Flag::NotedOnDisk as u64,
            Sound::Not if planted::is(116) => 0,
            Sound::Not => Flag::RepairDue as u64,
        };
        let meta = METAS + usize::from(start.meta_slot) * META_WORDS;
        let [uuid0, uuid1] = words_of(&identity.uuid);
        let [boot0, boot1] = words_of(&identity.boot);
        for (word, value) in [
            (LAYOUT, layout_of(self.shared.way())),
            (DEVICE, identity.data.device),
            (INODE, identity.data.inode),
            (UUID, uuid0),
            (UUID + 1, uuid1),
            (PAGE_BYTES, u64::from(identity.page_bytes)),
            (BOOT, boot0),
            (BOOT + 1, boot1),
            (FLAGS, flags),
            (SLOT_CAPACITY, u64::from(SLOTS_FIRST)),
            (SLOT_HIGH, 0),
            (CLIENT_HIGH, client_high.min(u64::from(CLIENTS_MAX))),
            (ISSUED, start.issued),
            (meta + META_MARK, durable.0),
            (meta + META_CHECKSUM, start.checksum),
            (meta + META_CEILING, start.ceiling),
            (DURABLE, durable.0),
            (PUBLISHED, mark.0),
            (SEALED, mark.0),
        ] {
            self.store(word, value);
        }
        self.store(READY, READY_VALUE);
    }

    /// Zeroes everything but the magic, the clients of the rows, and what names the snapshots that
    /// are kept.
    fn clear(&self, keep: bool) {
        let all = self.shared.words();
        let kept = |at: usize| {
            at == MAGIC
                || keep
                    && (at < WRITER
                        || at == SEALED
                        || at == DURABLE
                        || (METAS..IMAGES).contains(&at))
        };
        let head = all[..IMAGES].iter().enumerate().filter(|(at, _)| !kept(*at));
        let slots = all[ROWS..].chunks(ROW_WORDS).flat_map(|row| row.iter().take(LINE));
        let words = head.map(|(_, word)| word).chain(slots);
        words.for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// What the lock file belongs to; `None` if nobody ever finished initialising it.
    pub(crate) fn identity(&self) -> Option<BoardIdentity> {
        self.identity_in(self.shared.way())
    }

    /// The same for a lock file whose clients lock in that way.
    fn identity_in(&self, way: Way) -> Option<BoardIdentity> {
        let expected = [(READY, READY_VALUE), (MAGIC, MAGIC_VALUE), (LAYOUT, layout_of(way))];
        if expected.iter().any(|(word, value)| self.load(*word) != *value) {
            return None;
        }
        let two = |word| bytes_of([self.load(word), self.load(word + 1)]);
        Some(BoardIdentity {
            data: Identity { device: self.load(DEVICE), inode: self.load(INODE) },
            uuid: two(UUID),
            boot: two(BOOT),
            page_bytes: self.load(PAGE_BYTES) as u32,
        })
    }

    /// Whether the board was made since the system's last boot; not if the system cannot tell.
    pub(crate) fn same_boot(&self) -> bool {
        let now = self.shared.boot();
        now != [0; 16] && self.identity().is_some_and(|identity| identity.boot == now)
    }

    pub(crate) fn flag(&self, flag: Flag) -> bool {
        self.load(FLAGS) & flag as u64 != 0
    }

    pub(crate) fn set_flag(&self, flag: Flag, on: bool) {
        assert!(self.writable, "R2: a guest stores no word");
        let flags = &self.fixed()[FLAGS];
        if on {
            flags.fetch_or(flag as u64, Ordering::AcqRel);
        } else {
            flags.fetch_and(!(flag as u64), Ordering::AcqRel);
        }
    }

    /// Notes a clean close, with the time of the data file's last write; `flushed`: all is durable.
    pub(crate) fn note_close(&self, modified: u64, flushed: bool) {
        self.store(CLOSED_AT, modified);
        self.set_flag(Flag::FlushedClose, flushed);
        self.set_flag(Flag::CleanClose, true);
    }

    /// Clients go on where others closed in order, since guests are left that read (R6).
    pub(crate) fn go_on_from_close(&self) {
        if self.flag(Flag::CleanClose) {
            self.set_flag(Flag::NotedOnDisk, true);
        }
        self.set_flag(Flag::CleanClose, false);
    }

    /// Whether a clean close is noted, and whether the data file, which was `modified` last, was
    /// written since. The note is not believed then after another boot; in this one it may be of a
    /// lock file that was put back, which does not know all ids that were given out.
    pub(crate) fn closed_cleanly(&self, modified: u64) -> Option<Written> {
        let unwritten = self.load(CLOSED_AT) == modified || planted::is(43);
        let counts = self.same_boot() || self.flag(Flag::FlushedClose) && unwritten;
        let closed = self.flag(Flag::CleanClose) && counts && !self.is_poisoned();
        closed.then_some(Written(!unwritten))
    }

    /// P7: before an id is given out, what the lock file notes on the disk of the last close is
    /// gone: no boot and no disk that is mounted anew brings it back. Costs a flush of the lock
    /// file, once after a clean close.
    pub(crate) fn forget_close(&self) -> Result<()> {
        if self.flag(Flag::NotedOnDisk) && !planted::is(42) {
            self.shared.sync()?;
        }
        self.set_flag(Flag::NotedOnDisk, false);
        Ok(())
    }

    /// Notes that a flush failed, and wakes everybody who waits for one.
    pub(crate) fn poison(&self) {
        self.set_flag(Flag::Poisoned, true);
        self.ring(Wake::All);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.flag(Flag::Poisoned)
    }

    // ---- ids

    /// The last id that may have been written anywhere.
    pub(crate) fn issued(&self) -> u64 {
        self.load(ISSUED)
    }

    /// The id of the next write transaction: above all that were `issued` or sealed (P7).
    pub(crate) fn next_id(&self, issued: u64) -> u64 {
        let issued = if planted::is(107) { 0 } else { issued };
        issued.max(self.sealed().txnid()).saturating_add(1)
    }

    /// Burns all ids up to `id`: before the first page is written under it (P7, I2). `before`: the
    /// last id that was raised, as the holder of the writer's role knows it. `false`: it is not,
    /// since the role has gone to another client.
    pub(crate) fn raise_issued(&self, before: u64, id: u64) -> bool {
        if before >= id && planted::is(107) {
            return true;
        }
        assert!(before < id, "I2: ids only rise");
        let issued = &self.fixed()[ISSUED];
        issued.compare_exchange(before, id, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    // ---- seal and publish

    /// Makes `image` the newest sealed snapshot: after this the commit has happened. `None`:
    /// somebody else sealed after `base`, and nothing has happened (P3). Ask `Role::still_ours`
    /// right before.
    pub(crate) fn seal(&self, base: Mark, txnid: u64, image: &[u8; IMAGE_BYTES]) -> Option<Mark> {
        assert!(txnid > base.txnid(), "P7: ids only rise");
        let mark = Mark::new(txnid, self.free_image());
        self.fill_image(mark, image);
        reach(Point::ImageFilled);
        let sealed = &self.fixed()[SEALED];
        let order = if planted::is(15) { Ordering::Relaxed } else { Ordering::AcqRel };
        let base = if planted::is(103) { self.sealed() } else { base };
        sealed.compare_exchange(base.0, mark.0, order, Ordering::Relaxed).ok()?;
        reach(Point::Sealed);
        let since = &self.fixed()[UNFLUSHED_SINCE];
        let now = clock::now_ms().max(1);
        let _ = since.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        Some(mark)
    }

    /// An image that no mark names, the longest unused first.
    fn free_image(&self) -> usize {
        let sealed = self.sealed();
        let named = [sealed, self.in_flight(), self.published(), self.durable()];
        (1..=IMAGES_COUNT)
            .map(|step| (sealed.index() + step) % IMAGES_COUNT)
            .find(|index| named.iter().all(|mark| mark.is_none() || mark.index() != *index))
            .expect("four marks cannot name eight images")
    }

    fn fill_image(&self, mark: Mark, image: &[u8; IMAGE_BYTES]) {
        let fixed = self.fixed();
        let name = &fixed[IMAGE_MARKS + mark.index()];
        name.store(0, Ordering::Relaxed);
        // A reader that copies any word stored below must then see that no mark names this image.
        fence(Ordering::Release);
        let at = IMAGES + mark.index() * IMAGE_WORDS;
        let (words, _) = image.as_chunks::<8>();
        for (word, bytes) in fixed[at..at + IMAGE_WORDS].iter().zip(words) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        name.store(mark.0, Ordering::Release);
    }

    /// The newest sealed snapshot: the base of the next write transaction.
    pub(crate) fn sealed(&self) -> Mark {
        Mark(self.load(SEALED))
    }

    /// The snapshot that new readers take.
    #[inline]
    pub(crate) fn published(&self) -> Mark {
        Mark(self.fixed()[PUBLISHED].load(Ordering::Acquire))
    }

    /// The candidate of the running flush, or of one that a dead flusher left.
    pub(crate) fn in_flight(&self) -> Mark {
        Mark(self.load(IN_FLIGHT))
    }

    /// The newest snapshot whose flush has ended.
    pub(crate) fn durable(&self) -> Mark {
        Mark(self.load(DURABLE))
    }

    /// Lets new readers see `mark`; never moves back. `mark` must still be named: call it before
    /// the role under which it was sealed is released.
    pub(crate) fn publish(&self, mark: Mark) {
        self.fixed()[PUBLISHED].fetch_max(mark.0, Ordering::AcqRel);
    }

    /// Copies the image of `mark`. `false`: it was given away meanwhile, and `into` holds rubbish.
    pub(crate) fn copy_image(&self, mark: Mark, into: &mut [u8; IMAGE_BYTES]) -> bool {
        if mark.is_none() {
            return false;
        }
        let fixed = self.fixed();
        let name = &fixed[IMAGE_MARKS + mark.index()];
        if name.load(Ordering::Acquire) != mark.0 {
            return false;
        }
        let at = IMAGES + mark.index() * IMAGE_WORDS;
        let (chunks, _) = into.as_chunks_mut::<8>();
        for (bytes, word) in chunks.iter_mut().zip(&fixed[at..at + IMAGE_WORDS]) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        fence(Ordering::Acquire);
        name.load(Ordering::Relaxed) == mark.0
    }

    /// Copies the image of what `named` names, and says what that was. Who holds no role may look
    /// just while the image is given away, since something newer is named: then once more. `None`:
    /// what is named is not there, in a damaged lock file only.
    pub(crate) fn copy_named(
        &self,
        named: impl Fn() -> Mark,
        into: &mut [u8; IMAGE_BYTES],
    ) -> Option<Mark> {
        loop {
            let mark = named();
            if self.copy_image(mark, into) {
                return Some(mark);
            }
            if named() == mark {
                return None;
            }
        }
    }

    // ---- reading

    /// Pins the published snapshot in `slot` and copies the first words of its image (P14). No
    /// system call but a coarse clock, no allocation; repeats only if a publish comes in between.
    #[inline]
    pub(crate) fn read_published(&self, slot: &Slot, wanted: &mut [u64]) -> Mark {
        let own = self.row(slot.index());
        own[SLOT_SINCE].store(clock::now_ms(), Ordering::Relaxed);
        own[SLOT_THREAD].store(u64::from(clock::thread_id()), Ordering::Relaxed);
        loop {
            let mark = self.published();
            reach(Point::SnapshotSeen);
            // Who sees this pin and not the one before is past what was read under that one.
            let order = if planted::is(27) { Ordering::Relaxed } else { Ordering::Release };
            own[SLOT_PIN].store(mark.txnid(), order);
            self.copy_first_words(mark, wanted);
            // Pairs with the fence of `Slots::scan`: either the scan sees the pin, or this load
            // sees a mark that the writer protects anyway. Also keeps the copy above the second
            // look.
            fence(Ordering::SeqCst);
            if self.is_still_published(mark) || planted::is(114) {
                debug_assert!(
                    own[SLOT_PIN].load(Ordering::Relaxed) == mark.txnid(),
                    "P14: what is read is what is pinned"
                );
                return mark;
            }
        }
    }

    /// Copies the first words of the image of `mark`, which may be given away meanwhile.
    #[inline]
    pub(super) fn copy_first_words(&self, mark: Mark, wanted: &mut [u64]) {
        let image = &self.fixed()[IMAGES + mark.index() * IMAGE_WORDS..][..IMAGE_WORDS];
        for (value, word) in wanted.iter_mut().zip(image) {
            *value = word.load(Ordering::Relaxed);
        }
    }

    /// The second look of P14, after a fence.
    #[inline]
    pub(super) fn is_still_published(&self, mark: Mark) -> bool {
        self.fixed()[PUBLISHED].load(Ordering::Relaxed) == mark.0
    }

    /// A row that is known to be there.
    #[inline]
    pub(super) fn row(&self, index: u32) -> &[Word] {
        let at = words_of_rows(index);
        if index < ROWS_FIRST {
            &self.fixed()[at..at + ROW_WORDS]
        } else {
            // Its caller has seen through `rows_there` that the file reaches so far.
            &self.shared.words()[at..at + ROW_WORDS]
        }
    }

    /// The row, if the file reaches so far.
    pub(super) fn row_if_there(&self, index: u32) -> Result<Option<&[Word]>> {
        let is_there = index < ROWS_FIRST || self.rows_there(u64::from(index) + 1)? > index;
        Ok(is_there.then(|| self.row(index)))
    }

    /// How many rows the file has room for. Looks again, since other clients grow it, if these are
    /// fewer than `wanted`: what the file says of itself is not believed.
    pub(super) fn rows_there(&self, wanted: u64) -> Result<u32> {
        let count = || ((self.shared.words().len() - ROWS) / ROW_WORDS) as u32;
        if u64::from(count()) < wanted && !planted::is(45) {
            self.shared.refresh()?;
        }
        Ok(count())
    }

    /// Makes room for so many rows. Under the gate.
    pub(super) fn grow_rows(&self, gate: &Gate, rows: u32) -> Result<()> {
        gate.assert_of(&self.shared);
        self.shared.grow(words_of_rows(rows))
    }

    /// Only for a planted bug: the reader goes on without its pin.
    pub(crate) fn forget_pin(&self, slot: &Slot) {
        self.row(slot.index())[SLOT_PIN].store(0, Ordering::Relaxed);
    }

    /// What the writer must not harm besides readers' snapshots, in the order of P10.
    pub(crate) fn protected_marks(&self) -> ProtectedMarks {
        // Pairs with the fence of `nominate`: a flusher that took an older candidate is seen here.
        fence(Ordering::SeqCst);
        let early = if planted::is(110) { self.durable() } else { Mark::default() };
        let in_flight = self.in_flight();
        let durable = if planted::is(110) { early } else { self.durable() };
        let published = self.published();
        ProtectedMarks { in_flight, durable, published, sealed: self.sealed() }
    }
}

/// The error for words that break a rule.
#[cold]
fn damaged(what: &'static str) -> Error {
    Error::corrupt_file(what)
}

fn layout_of(way: Way) -> u64 {
    match way {
        Way::Bytes => LAYOUT_VALUE,
        Way::Files => LAYOUT_FILES,
    }
}

fn words_of(bytes: &[u8; 16]) -> [u64; 2] {
    let (halves, _) = bytes.as_chunks::<8>();
    [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])]
}

fn bytes_of(words: [u64; 2]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&words[0].to_le_bytes());
    bytes[8..].copy_from_slice(&words[1].to_le_bytes());
    bytes
}

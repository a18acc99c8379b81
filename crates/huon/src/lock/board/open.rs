//! How the first client initialises the board, how others recognise it, and how a clean close is
//! noted.

use super::{Board, BoardIdentity, Flag, Mark, RecordMark, Sound, Start, WrittenAfterClose};
use crate::error::Result;
use crate::lock::gate::Gate;
use crate::lock::layout::*;
use crate::os::word::{Ordering, fence};
use crate::os::{Identity, Wake, Way};
use crate::planted::{self, Bug};

impl Board {
    /// Makes the board anew around the snapshot that the first client chose. Client table and
    /// generations stay: names of dead clients must not come back (P1).
    pub(crate) fn initialise(&self, gate: &Gate, identity: &BoardIdentity, start: &Start<'_>) {
        gate.assert_of(self.shared());
        assert!(start.issued >= start.txnid && start.ceiling >= start.txnid);
        let client_high = self.load(CLIENT_HIGH);
        // First of all, so that a client killed in here leaves a file that is known as a lock file.
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
            let record = RecordMark { end: 0, floor: start.txnid };
            self.fill_image(mark, (start.image, IMAGE_BYTES), record);
        }
        let flags = match start.sound {
            Sound::New => 0,
            Sound::Closed => Flag::NotedOnDisk as u64,
            Sound::Not if planted::is(Bug::NoRepair) => 0,
            Sound::Not => Flag::RepairDue as u64,
        };
        let meta = METAS + usize::from(start.meta_slot) * META_WORDS;
        let [uuid0, uuid1] = words_of(&identity.uuid);
        let [boot0, boot1] = words_of(&identity.boot);
        for (word, value) in [
            (LAYOUT, layout_of(self.shared().way())),
            (DEVICE, identity.data.device),
            (INODE, identity.data.inode),
            (UUID, uuid0),
            (UUID + 1, uuid1),
            (PAGE_BYTES, u64::from(identity.page_bytes)),
            (BOOT, boot0),
            (BOOT + 1, boot1),
            (FLAGS, flags),
            (JOURNAL_FLAGS, 0),
            (JOURNAL_FLIGHT, 0),
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
        self.set_place_at(META_PLACES + usize::from(start.meta_slot) * LINE, start.place);
        self.store(READY, READY_VALUE);
    }

    /// Zeroes everything but the magic, the clients of the rows, and what names the snapshots that
    /// are kept.
    fn clear(&self, keep: bool) {
        let all = self.shared().words();
        let kept = |at: usize| {
            at == MAGIC
                || keep
                    && (at < WRITER
                        || at == SEALED
                        || at == DURABLE
                        || (METAS..IMAGES).contains(&at))
        };
        let head = all[..IMAGES].iter().enumerate().filter(|(at, _)| !kept(*at));
        let rows = &all[ROWS..all.len().min(RING)];
        let slots = rows.chunks(ROW_WORDS).flat_map(|row| row.iter().take(LINE));
        let words = head.map(|(_, word)| word).chain(slots);
        words.for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// The data file that the lock file belongs to; `None` if no client ever finished initialising
    /// it.
    pub(crate) fn identity(&self) -> Option<BoardIdentity> {
        self.identity_in(self.shared().way())
    }

    /// The same for a lock file whose clients lock in that way.
    pub(super) fn identity_in(&self, way: Way) -> Option<BoardIdentity> {
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

    /// Whether the board was made since the last boot; not if the kernel cannot tell.
    pub(crate) fn same_boot(&self) -> bool {
        let now = self.shared().boot();
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
    pub(crate) fn closed_cleanly(&self, modified: u64) -> Option<WrittenAfterClose> {
        let unwritten = self.load(CLOSED_AT) == modified || planted::is(Bug::CleanTimeUnchecked);
        let counts = self.same_boot() || self.flag(Flag::FlushedClose) && unwritten;
        let closed = self.flag(Flag::CleanClose) && counts && !self.is_poisoned();
        closed.then_some(WrittenAfterClose(!unwritten))
    }

    /// P7: before an id is given out, what the lock file notes on the disk of the last close is
    /// gone: no boot and no disk that is mounted anew brings it back. Costs a flush of the lock
    /// file, once after a clean close.
    pub(crate) fn forget_close(&self) -> Result<()> {
        if !self.flag(Flag::NotedOnDisk) {
            return Ok(());
        }
        if !planted::is(Bug::CleanNoteUnflushed) {
            self.shared().sync()?;
        }
        self.set_flag(Flag::NotedOnDisk, false);
        Ok(())
    }

    /// Notes that a flush failed, and wakes all clients that wait for one.
    pub(crate) fn poison(&self) {
        self.set_flag(Flag::Poisoned, true);
        self.notify(Wake::All);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.flag(Flag::Poisoned)
    }
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

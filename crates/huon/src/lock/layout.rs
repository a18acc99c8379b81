//! The lock file as a picture. All positions are in words of eight bytes, in the machine's own
//! order.
//!
//! ```text
//!     0  magic | layout | ready | device | inode | uuid (2) | page bytes
//!     8  boot (2) | flags | slot capacity | slot high-water | client high-water | closed at | -
//!    16  writer's role:  holder | since (ms) | waiters | thread | last holder | - - -
//!    24  flusher's role: the same
//!    32  published                                (a line of its own: every reader loads it)
//!    40  sealed | in flight | issued id | bytes written | bytes written when durable began
//!        | since when something is unflushed (ms) | news | watchers
//!    48  durable | events | modes: durability | flush after bytes | flush after ms | - - -
//!    56  plan of the flush: mark | slot and kind | predecessor | ceiling | bytes written
//!        | place in the journal (3)
//!    64  what each of three meta slots holds: mark | checksum | ceiling | -
//!    80  mark of each of eight images
//!    88  journaller's role: as the writer's
//!    96  where the record of each of eight images ends in the ring
//!   104  floor of each of eight images
//!   112  journal: blocks | flags | version of journaled | in flight for it
//!        | committed together | batches: all | before the plan's place | before the durable
//!   120  journaled (twice): txnid | end in the ring | place (3) | - - -
//!   136  place in the journal that each of three meta slots names (3), each a line
//!   520  eight images of 512 words
//!  4624  rows of 16 words, 16 of them at first, then more, each one
//!        reader slot: state | pin | since (ms) | thread | - - - -
//!        and client:  generation | pid | since (ms) | space of the pid | - - - -
//! ```
//!
//! Nothing here can be taken for a data file: the first word is another magic, and no image lies
//! where a data file has a meta slot (at a multiple of 512 words).
//!
//! With a journal the file goes on, far behind the rows: see [`RING`].
//!
//! A mark is `txnid << 3 | image index`, 0 for none. A place is the next block, the block at which
//! the batch before it begins, and the checksum of that batch; all 0 for none. Words that different
//! parties write often lie on different cache lines. Models use the same layout with smaller
//! tables.

use crate::os::LOCK_MAGIC;

/// Whether this is built for loom, to which every step is dear.
pub(super) const MODEL: bool = cfg!(loom);
/// Whether tables are small: also where the whole engine runs slowly, which needs images whole.
pub(super) const FEW: bool = MODEL || cfg!(any(shuttle, miri));

/// Words in a cache line.
pub(super) const LINE: usize = 8;

/// The first word, which is looked at before anything is mapped.
pub(super) const MAGIC: usize = 0;
pub(super) const LAYOUT: usize = 1;
/// [`READY_VALUE`] once everything else is in place; stored last, cleared first.
pub(super) const READY: usize = 2;
pub(super) const DEVICE: usize = 3;
pub(super) const INODE: usize = 4;
pub(super) const UUID: usize = 5;
pub(super) const PAGE_BYTES: usize = 7;
pub(super) const BOOT: usize = 8;
pub(super) const FLAGS: usize = 10;
/// How many reader slots are allocated; raised after the file grew.
pub(super) const SLOT_CAPACITY: usize = 11;
/// Reader slots from here on were never used; raised before a new one is (P14).
pub(super) const SLOT_HIGH: usize = 12;
/// Client numbers from here on were never given out.
pub(super) const CLIENT_HIGH: usize = 13;
/// When the data file was written last, as the clean close saw it. In one sector of the disk with
/// the flags and the issued id, which count together.
pub(super) const CLOSED_AT: usize = 14;

pub(super) const WRITER: usize = 2 * LINE;
pub(super) const FLUSHER: usize = 3 * LINE;
/// The client that holds the lock (`ClientId::word`); 0 for none.
pub(super) const ROLE_HOLDER: usize = 0;
pub(super) const ROLE_SINCE: usize = 1;
/// Not 0 while some client sleeps until it is woken.
pub(super) const ROLE_WAITERS: usize = 2;
pub(super) const ROLE_THREAD: usize = 3;
/// The client that held the lock last, or holds it.
pub(super) const ROLE_LAST: usize = 4;
/// Raised with each wake of the waiting clients: the word that they sleep on.
pub(super) const ROLE_EVENTS: usize = 5;

pub(super) const PUBLISHED: usize = 4 * LINE;
pub(crate) const SEALED: usize = 5 * LINE;
pub(super) const IN_FLIGHT: usize = SEALED + 1;
/// The last id that may have been written anywhere (P7).
pub(super) const ISSUED: usize = SEALED + 2;
pub(super) const WRITTEN: usize = SEALED + 3;
pub(super) const WRITTEN_DURABLE: usize = SEALED + 4;
/// When the oldest unflushed snapshot was sealed, or a little earlier; 0 for none.
pub(super) const UNFLUSHED_SINCE: usize = SEALED + 5;
/// Raised when something is published while clients wait for that: what they sleep on.
pub(super) const NEWS: usize = SEALED + 6;
/// Not 0 while some client may sleep until something is published.
pub(super) const WATCHERS: usize = SEALED + 7;
pub(super) const DURABLE: usize = 6 * LINE;
/// Counts the events that a client waiting for durability has to see.
pub(super) const EVENTS: usize = DURABLE + 1;
/// Durability (0: not set); bytes and milliseconds after which a lazy commit flushes, each and one
/// more (0: never).
pub(super) const MODES: usize = DURABLE + 2;

pub(super) const PLAN_MARK: usize = 7 * LINE;
/// `meta slot << 2 | its meta is written << 1 | two-flush`.
pub(super) const PLAN_HOW: usize = PLAN_MARK + 1;
pub(super) const PLAN_PREDECESSOR: usize = PLAN_MARK + 2;
pub(super) const PLAN_CEILING: usize = PLAN_MARK + 3;
/// [`WRITTEN`] when the candidate was nominated.
pub(super) const PLAN_WRITTEN: usize = PLAN_MARK + 4;
/// The place that the meta will name (J4.1).
pub(super) const PLAN_PLACE: usize = PLAN_MARK + 5;

pub(super) const META_SLOTS: usize = 3;
pub(super) const METAS: usize = 8 * LINE;
pub(super) const META_WORDS: usize = 4;
pub(super) const META_MARK: usize = 0;
pub(super) const META_CHECKSUM: usize = 1;
pub(super) const META_CEILING: usize = 2;

pub(crate) const IMAGES_COUNT: usize = 8;
pub(super) const IMAGE_MARKS: usize = 10 * LINE;
/// The journaller's role.
pub(super) const JOURNALLER: usize = 11 * LINE;
/// J1.3: where the record of each image ends, in bytes counted through all laps of the ring.
pub(super) const RECORD_ENDS: usize = 12 * LINE;
/// J1.3: of each image, the snapshot above which all up to it have records.
pub(super) const FLOORS: usize = 13 * LINE;
/// Blocks of the journal; 0: there is none.
pub(super) const JOURNAL_BLOCKS: usize = 14 * LINE;
pub(super) const JOURNAL_FLAGS: usize = JOURNAL_BLOCKS + 1;
/// Raised with each change of what is journaled; its bits say where that lies (J2.3).
pub(super) const JOURNALED_AT: usize = JOURNAL_BLOCKS + 2;
/// The mark of the snapshot that a flush of the journal will make durable (J2.4).
pub(super) const JOURNAL_FLIGHT: usize = JOURNAL_BLOCKS + 3;
/// How many ids the last flush of either file made durable, or let come meanwhile: a hint.
pub(super) const TOGETHER: usize = JOURNAL_BLOCKS + 4;
/// Batches so far: for people, as the two that follow.
pub(super) const BATCHES: usize = JOURNAL_BLOCKS + 5;
pub(super) const PLAN_BATCHES: usize = JOURNAL_BLOCKS + 6;
pub(super) const DURABLE_BATCHES: usize = JOURNAL_BLOCKS + 7;
pub(super) const JOURNALED: usize = 15 * LINE;
pub(super) const JOURNALED_TXNID: usize = 0;
/// Up to here the ring is in the journal, or covered by a meta.
pub(super) const JOURNALED_END: usize = 1;
pub(super) const JOURNALED_PLACE: usize = 2;
pub(super) const META_PLACES: usize = 17 * LINE;
/// Words of a place.
pub(super) const PLACE_WORDS: usize = 3;

pub(crate) const IMAGES: usize = if MODEL { 20 * LINE } else { 512 + LINE };
/// Words kept of one image; a model keeps the first ones only.
pub(crate) const IMAGE_WORDS: usize = if MODEL { 2 } else { 512 };
/// Bytes of one image: a meta without its trimmings.
pub(crate) const IMAGE_BYTES: usize = 4096;

/// How many clients can have the environment open at once.
pub(crate) const CLIENTS_MAX: u32 = match (MODEL, FEW) {
    (true, _) => 3,
    (_, true) => 8,
    _ => 4096,
};
/// Reader slots that every lock file has.
pub(super) const SLOTS_FIRST: u32 = if FEW { 2 } else { 16 };
/// Rows that every lock file has.
pub(super) const ROWS_FIRST: u32 = if FEW { CLIENTS_MAX } else { SLOTS_FIRST };
pub(super) const ROWS: usize = (IMAGES + IMAGES_COUNT * IMAGE_WORDS).next_multiple_of(ROW_WORDS);
/// Slot and client have a cache line each, and a row is the pair that the prefetcher fetches.
pub(super) const ROW_WORDS: usize = 2 * LINE;

/// The slot is the first line of its row.
pub(super) const SLOT_STATE: usize = 0;
/// The txnid that the slot protects; 0 for none.
pub(super) const SLOT_PIN: usize = 1;
pub(super) const SLOT_SINCE: usize = 2;
pub(super) const SLOT_THREAD: usize = 3;

/// The client is the second line.
pub(super) const CLIENT_GENERATION: usize = LINE;
pub(super) const CLIENT_PID: usize = LINE + 1;
pub(super) const CLIENT_SINCE: usize = LINE + 2;
/// Which PID namespace the pid is of; 0: not known.
pub(super) const CLIENT_SPACE: usize = LINE + 3;

/// Words of a lock file that has not grown.
pub(super) const WORDS_FIRST: usize = words_of_rows(ROWS_FIRST);
/// The same in bytes.
pub(crate) const LOCK_BYTES: u64 = WORDS_FIRST as u64 * 8;

/// Where the ring of a journal begins, if there is one: behind this many rows, so many readers at
/// once can be there beside it. (Little where the simulator copies lock files.)
pub(super) const RING: usize = match (MODEL, FEW || SIMULATED) {
    (true, _) => ROWS + 16 * ROW_WORDS,
    (_, true) => ROWS + 64 * ROW_WORDS,
    _ => 1 << 19,
};
/// Words of the ring: in its bytes lie records that are not in the journal yet.
pub(super) const RING_WORDS: usize = match (MODEL, FEW || SIMULATED) {
    (true, _) => 8,
    (_, true) => 1 << 11,
    _ => 1 << 19,
};
const SIMULATED: bool = cfg!(any(test, feature = "simulation"));

/// Words of a lock file with so many rows.
pub(super) const fn words_of_rows(rows: u32) -> usize {
    ROWS + rows as usize * ROW_WORDS
}

pub(super) const MAGIC_VALUE: u64 = u64::from_le_bytes(LOCK_MAGIC);
pub(super) const READY_VALUE: u64 = u64::from_le_bytes(*b"READY!\r\n");
/// Version of this picture, and the sizes that it depends on.
pub(super) const LAYOUT_VALUE: u64 = (7 << 48) | ((ROWS as u64) << 24) | ROW_WORDS as u64;
/// The same where clients lock whole files (P6).
pub(super) const LAYOUT_FILES: u64 = LAYOUT_VALUE | 1 << 63;

const _: () = assert!(ISSUED * 8 < 512 && CLOSED_AT * 8 < 512 && FLAGS * 8 < 512);
const _: () = assert!(METAS + META_SLOTS * META_WORDS <= IMAGE_MARKS);
const _: () = assert!(IMAGE_MARKS + IMAGES_COUNT <= JOURNALLER);
const _: () = assert!(META_PLACES + META_SLOTS * LINE <= IMAGES);
const _: () = assert!(RING >= words_of_rows(ROWS_FIRST));
const _: () = assert!(MODEL || IMAGE_WORDS * 8 == IMAGE_BYTES);
const _: () = assert!(MODEL || !IMAGES.is_multiple_of(IMAGE_BYTES / 8));
const _: () = assert!(MODEL || (ROWS == 4624 && ROWS.is_multiple_of(ROW_WORDS)));

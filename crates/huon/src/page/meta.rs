//! The meta block: everything a snapshot is, in 4096 bytes. The same bytes are an image in the lock
//! file.
//!
//! ```text
//!   0  4 bytes  "HUON"               72  4 x u32  geometry: min, max, grow, shrink (pages)
//!   4  u32  format version           88  u32  used (pages)
//!   8  u64  incompatible features    92  u32  app_flags
//!  16  u64  checksum of what follows 96  64 bytes  main tree
//!  24  16 bytes  uuid               160  3 x u64  markers
//!  40  u32  page_bytes              184  u64  markers_txnid
//!  44  u32  commit kind             192  u32  items
//!  48  u64  txnid                   196  u32, u64, 2 x u32  sweep, then zero
//!  56  u64  before                  256  160 x 24 bytes  free-space items
//!  64  u64  ceiling                4096
//! ```
//!
//! At 216 lies the place in a journal (three u64) that a recovery goes on from, and bit 0 of the
//! features says that there is one (J4.1). Bit 1 says that the snapshots which the catalog names
//! are there, and stay (Y2); so does a u32 at 240, which is under the checksum.
//!
//! 1. All that a reader needs lies in the first 512 bytes.
//! 2. What [`Meta::encode`] writes, [`Meta::decode`] believes: both hold it against `Meta::flaw`. A
//!    commit does so with all but the list of free space, which lies inside the file already
//!    (`store/space`).
//! 3. Magic, version, features, checksum and uuid keep their places and the checksum its meaning in
//!    every version: so each version tells a whole block of a newer one from a torn block.
//! 4. A block that is whole and says what this version does not know is never taken for a damaged
//!    one: the file is refused ([`MetaFault::is_unknown`]), not opened at an older snapshot.
//!
//! Which of several metas counts is decided at opening.

use super::checksum::Seal;
use super::chunk::{ITEM_BYTES, Item};
use super::header::{PAGE_BYTES_MAX, PAGE_BYTES_MIN};
use super::tree_record::{TREE_BYTES, Tree};
use super::types::{Reason, Txnid};
use crate::error::Error;
use crate::lock::Place;
use crate::planted::{self, Bug};

/// Bytes of a meta block, whatever the page size.
pub(crate) const META_BYTES: usize = 4096;
/// Free-space items that a meta holds at most.
pub(crate) const META_ITEMS_MAX: usize = 160;
/// Meta slots at the start of a file.
pub(crate) const META_SLOTS: usize = 3;
/// A ceiling lies this far ahead of the snapshot whose meta sets it.
pub(crate) const CEILING_AHEAD: u64 = 1 << 32;
/// Ids stay below: one is stored together with a few bits elsewhere.
pub(crate) const ID_MAX: u64 = 1 << 60;
/// Words of eight bytes at the start of an image that hold all a reader needs.
pub(crate) const META_HEAD_WORDS: usize = 24;
/// The version of the format that this code writes.
pub(crate) const FORMAT_VERSION: u32 = 1;

const MAGIC: &[u8; 4] = b"HUON";
const VERSION: usize = 4;
const FEATURES: usize = 8;
const CHECKSUM: usize = 16;
const UUID: usize = 24;
const PAGE_BYTES: usize = 40;
const COMMIT: usize = 44;
const TXNID: usize = 48;
const BEFORE: usize = 56;
const CEILING: usize = 64;
const GEOMETRY: usize = 72;
const USED: usize = 88;
const APP_FLAGS: usize = 92;
const MAIN: usize = 96;
const MARKERS: usize = 160;
const MARKERS_TXNID: usize = 184;
const ITEM_COUNT: usize = 192;
const SWEEP: usize = 196;
const PLACE: usize = 216;
const NAMES: usize = 240;
const ZERO: usize = 244;
const ITEMS: usize = 256;

/// Bytes before the items.
pub(super) const FRAME_BYTES: usize = ITEMS;

const _: () = {
    assert!(MAIN + TREE_BYTES == MARKERS);
    assert!(ITEMS + META_ITEMS_MAX * ITEM_BYTES == META_BYTES);
    assert!(MARKERS_TXNID + 8 == META_HEAD_WORDS * 8);
    assert!(USED.is_multiple_of(4) && TXNID.is_multiple_of(8));
    assert!(MAIN.is_multiple_of(8) && ITEMS.is_multiple_of(8));
};

/// The feature of a meta that names a place in a journal.
const FEATURE_JOURNAL: u64 = 1;
/// The feature of a meta whose catalog names snapshots that this file has.
const FEATURE_NAMES: u64 = 2;
/// All that this version knows.
const FEATURES_KNOWN: u64 = FEATURE_JOURNAL | FEATURE_NAMES;

/// How the meta reached the disk, which says what must be verified before it is believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum CommitKind {
    /// Together with its pages: they are verified after an unclean end.
    OneFlush = 1,
    /// After its pages were durable.
    TwoFlush = 2,
}

/// Sizes of the file, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageGeometry {
    pub(crate) min_pages: u32,
    pub(crate) max_pages: u32,
    pub(crate) grow: u32,
    pub(crate) shrink: u32,
}

/// How far the free pages that lie in chunks have been looked through for a free tail of the file.
/// Hints: whatever they say, nothing is taken that is in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sweep {
    /// Chunks that commits may open for it still.
    pub(crate) owed: u32,
    /// Chunks born earlier have not been looked through; 0: no sweep is running.
    pub(crate) since: Txnid,
    /// Free pages from here on are kept apart while a sweep is running.
    pub(crate) line: u32,
    /// No chunk that waits for no snapshot, but for those not looked through, lies or lists a page
    /// here or further back.
    pub(crate) roof: u32,
}

/// A snapshot, and the state of the file with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Meta {
    pub(crate) uuid: [u8; 16],
    pub(crate) page_bytes: u32,
    pub(crate) commit: CommitKind,
    pub(crate) txnid: Txnid,
    /// The durable snapshot before this one.
    pub(crate) before: Txnid,
    /// No id above it was given out before this meta was durable.
    pub(crate) ceiling: u64,
    pub(crate) geometry: PageGeometry,
    /// Pages that are or were in use; all others lie behind them.
    pub(crate) used: u32,
    pub(crate) main: Tree,
    pub(crate) markers: [u64; 3],
    pub(crate) markers_txnid: u64,
    pub(crate) app_flags: u32,
    pub(crate) sweep: Sweep,
    /// From where in the journal a recovery goes on, or nowhere. An image names no place: that is
    /// the flusher's to say.
    pub(crate) place: Place,
    /// The snapshots that the catalog names are in this file, and are retained (Y2). A copy has no
    /// snapshot but its own.
    pub(crate) names: bool,
    /// The youngest end of the free space; at most [`META_ITEMS_MAX`].
    pub(crate) items: Vec<Item>,
}

/// Why a block is no meta.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetaFault {
    /// It does not begin as a meta does.
    NotADatabase,
    /// It is whole, and has another format version.
    Version(u32),
    /// It is whole, and needs features that this version lacks.
    Features(u64),
    /// It is whole, and has a page size that this version does not know.
    PageSize(u32),
    /// It is whole, and says something else that this version does not know.
    Unknown(&'static str),
    /// It has another format version, and no checksum that this version knows.
    Stray(u32),
    /// It is damaged; the text says how it shows.
    Corrupt(&'static str),
}

impl MetaFault {
    /// Whether the block is whole, and of a version that knows more than this one.
    pub(crate) fn is_unknown(self) -> bool {
        use MetaFault::{Features, PageSize, Unknown, Version};
        matches!(self, Version(_) | Features(_) | PageSize(_) | Unknown(_))
    }

    /// The error of a file, or a lock file, with such a block at `place`.
    pub(crate) fn refuse(self, place: std::fmt::Arguments<'_>) -> Error {
        let text = format!(
            "{place}: {self}; open the file with the version of Huon that wrote it, or a newer one"
        );
        Error::Version(text.into())
    }
}

impl std::fmt::Display for MetaFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            MetaFault::NotADatabase => write!(f, "it does not begin with HUON"),
            MetaFault::Version(found) | MetaFault::Stray(found) => {
                write!(f, "it has format version {found}, and this is version {FORMAT_VERSION}")
            }
            MetaFault::Features(bits) => {
                write!(f, "it needs features that this version does not know: bits {bits:#x}")
            }
            MetaFault::PageSize(found) => write!(f, "it has an unknown page size, {found} bytes"),
            MetaFault::Unknown(what) | MetaFault::Corrupt(what) => write!(f, "{what}"),
        }
    }
}

impl From<MetaFault> for Error {
    fn from(fault: MetaFault) -> Error {
        match fault {
            MetaFault::NotADatabase => Error::NotADatabase(fault.to_string().into()),
            MetaFault::Version(_)
            | MetaFault::PageSize(_)
            | MetaFault::Features(_)
            | MetaFault::Unknown(_)
            | MetaFault::Stray(_) => fault.refuse(format_args!("a meta of the file")),
            MetaFault::Corrupt(what) => Error::corrupt_file(what),
        }
    }
}

/// The first page that the three meta blocks do not cover.
pub(crate) const fn first_data_page(page_bytes: usize) -> u32 {
    (3 * META_BYTES).div_ceil(page_bytes) as u32
}

impl Meta {
    /// A meta that was decoded, or is otherwise known to be without a flaw.
    pub(crate) fn encode(&self) -> [u8; META_BYTES] {
        self.try_encode()
            .unwrap_or_else(|flaw| panic!("a meta that would not be believed: {flaw:?}"))
    }

    /// Refuses a meta that would not be believed.
    pub(crate) fn try_encode(&self) -> Result<[u8; META_BYTES], MetaFault> {
        let mut out = [0; META_BYTES];
        self.encode_into(&mut out).map(|()| out)
    }

    /// The same, into a block that is zero or holds another meta: it is long to be copied once
    /// more.
    fn encode_into(&self, out: &mut [u8; META_BYTES]) -> Result<(), MetaFault> {
        match self.flaw() {
            Some(flaw) => Err(MetaFault::Corrupt(flaw)),
            None => {
                self.write(self.items.iter().copied(), out);
                Ok(())
            }
        }
    }

    /// The same with these items instead of its own, which lie inside the file, and fit. Returns
    /// behind how many bytes there are zeros only.
    pub(crate) fn encode_listing(
        &self,
        items: impl Iterator<Item = Item> + Clone,
        out: &mut [u8; META_BYTES],
    ) -> Result<usize, MetaFault> {
        if let Some(flaw) = self.head_flaw() {
            return Err(MetaFault::Corrupt(flaw));
        }
        debug_assert!(
            Meta { items: items.clone().collect(), ..self.clone() }.flaw().is_none(),
            "a list of free space that would not be believed"
        );
        Ok(self.write(items, out))
    }

    fn write(&self, items: impl Iterator<Item = Item>, out: &mut [u8; META_BYTES]) -> usize {
        let end = |count: usize| ITEMS + count * ITEM_BYTES;
        let (before, mut count) = (end(half(out, ITEM_COUNT) as usize), 0);
        // By `for_each`: items come from several lists, each of which is a loop of its own then.
        let places = &mut out[ITEMS..].as_chunks_mut().0;
        items.for_each(|item| {
            places[count] = item.encode();
            count += 1;
        });
        let used = end(count);
        out[used..before.max(used)].fill(0);
        out[..VERSION].copy_from_slice(MAGIC);
        out[UUID..PAGE_BYTES].copy_from_slice(&self.uuid);
        let g = &self.geometry;
        let halves = [
            (VERSION, FORMAT_VERSION),
            (PAGE_BYTES, self.page_bytes),
            (COMMIT, self.commit as u32),
            (GEOMETRY, g.min_pages),
            (GEOMETRY + 4, g.max_pages),
            (GEOMETRY + 8, g.grow),
            (GEOMETRY + 12, g.shrink),
            (USED, self.used),
            (APP_FLAGS, self.app_flags),
            (ITEM_COUNT, count as u32),
            (SWEEP, self.sweep.owed),
            (SWEEP + 12, self.sweep.line),
            (SWEEP + 16, self.sweep.roof),
            (NAMES, u32::from(self.names)),
        ];
        for (at, value) in halves {
            out[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let words = [
            (TXNID, self.txnid.0),
            (BEFORE, self.before.0),
            (CEILING, self.ceiling),
            (MARKERS, self.markers[0]),
            (MARKERS + 8, self.markers[1]),
            (MARKERS + 16, self.markers[2]),
            (MARKERS_TXNID, self.markers_txnid),
            (SWEEP + 4, self.sweep.since.0),
            (FEATURES, self.features()),
            (PLACE, self.place.next),
            (PLACE + 8, self.place.anchor),
            (PLACE + 16, self.place.chain),
        ];
        for (at, value) in words {
            out[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        out[MAIN..MARKERS].copy_from_slice(&self.main.encode());
        stamp(out);
        used
    }

    fn features(&self) -> u64 {
        let journal = if self.place.is_none() { 0 } else { FEATURE_JOURNAL };
        let names = if self.names { FEATURE_NAMES } else { 0 };
        journal | names
    }

    /// The same as the lock file has it: what the flusher says is what is always valid. So the
    /// image of a snapshot follows from any meta of it.
    pub(crate) fn as_image(&self) -> Meta {
        Meta {
            commit: CommitKind::TwoFlush,
            before: Txnid(0),
            ceiling: ceiling_after(self.txnid.0).min(ID_MAX - 1),
            place: Place::default(),
            ..self.clone()
        }
    }

    pub(crate) fn decode(block: &[u8; META_BYTES]) -> Result<Meta, MetaFault> {
        let uuid = admit(block)?;
        let page_bytes = half(block, PAGE_BYTES);
        let size = page_bytes as usize;
        if !size.is_power_of_two() || !(PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&size) {
            return Err(MetaFault::PageSize(page_bytes));
        }
        let count = half(block, ITEM_COUNT) as usize;
        let places = block[ITEMS..].as_chunks().0.get(..count);
        let Some(places) = places else {
            return Err(MetaFault::Corrupt("too many free-list entries"));
        };
        // Of the exact size: a vector that grows would ask for more than a block holds.
        let mut items = Vec::with_capacity(count);
        for place in places {
            items.push(Item::decode(place).map_err(|e| MetaFault::Corrupt(e.text()))?);
        }
        let meta = Meta {
            uuid,
            page_bytes,
            commit: match half(block, COMMIT) {
                1 => CommitKind::OneFlush,
                2 => CommitKind::TwoFlush,
                _ => return Err(MetaFault::Unknown("it has an unknown commit kind")),
            },
            txnid: Txnid(word(block, TXNID)),
            before: Txnid(word(block, BEFORE)),
            ceiling: word(block, CEILING),
            geometry: PageGeometry {
                min_pages: half(block, GEOMETRY),
                max_pages: half(block, GEOMETRY + 4),
                grow: half(block, GEOMETRY + 8),
                shrink: half(block, GEOMETRY + 12),
            },
            used: half(block, USED),
            main: Tree::decode(&block[MAIN..MARKERS]).map_err(|e| MetaFault::Unknown(e.text()))?,
            markers: [0, 8, 16].map(|at| word(block, MARKERS + at)),
            markers_txnid: word(block, MARKERS_TXNID),
            app_flags: half(block, APP_FLAGS),
            sweep: Sweep {
                owed: half(block, SWEEP),
                since: Txnid(word(block, SWEEP + 4)),
                line: half(block, SWEEP + 12),
                roof: half(block, SWEEP + 16),
            },
            place: Place {
                next: word(block, PLACE),
                anchor: word(block, PLACE + 8),
                chain: word(block, PLACE + 16),
            },
            names: half(block, NAMES) == 1,
            items,
        };
        meta.check_features(block)?;
        let unused = &block[ITEMS + count * ITEM_BYTES..];
        if !is_zero(&block[ZERO..ITEMS]) || !is_zero(unused) {
            return Err(MetaFault::Unknown("bytes that are reserved in this version are in use"));
        }
        match meta.flaw() {
            None => Ok(meta),
            Some(flaw) => Err(MetaFault::Corrupt(flaw)),
        }
    }

    /// The features lie outside the checksum: each is held against what goes with it.
    fn check_features(&self, block: &[u8; META_BYTES]) -> Result<(), MetaFault> {
        let features = word(block, FEATURES);
        let has_place = features & FEATURE_JOURNAL != 0;
        if has_place == self.place.is_none() || !has_place && self.place != Place::default() {
            let text = "it has the feature of a journal without a place in one, or the place alone";
            return Err(MetaFault::Unknown(text));
        }
        if half(block, NAMES) != u32::from(features & FEATURE_NAMES != 0) {
            let text =
                "it has the feature of named snapshots alone, or says alone that it has some";
            return Err(MetaFault::Unknown(text));
        }
        if has_place && self.place.anchor >= self.place.next {
            return Err(MetaFault::Corrupt("the place in a journal of a meta makes no sense"));
        }
        Ok(())
    }

    /// What contradicts itself in this meta, if anything does.
    pub(crate) fn flaw(&self) -> Option<&'static str> {
        self.head_flaw().or_else(|| self.list_flaw())
    }

    /// The same of the list of free space.
    fn list_flaw(&self) -> Option<&'static str> {
        let first = first_data_page(self.page_bytes as usize);
        let outside = |item: &Item| {
            let end = u64::from(item.pgno) + u64::from(item.page_count());
            !item.is_sound() | (item.pgno < first) | (end > u64::from(self.used))
        };
        // All of them, without a branch for each: a whole meta has none.
        let any_outside = || self.items.iter().fold(false, |any, item| any | outside(item));
        let is_flawed = self.items.len() > META_ITEMS_MAX || any_outside();
        is_flawed.then_some("a free-list entry of a meta lies outside the file")
    }

    /// The same of all else.
    fn head_flaw(&self) -> Option<&'static str> {
        let root = self.main.root;
        let first = first_data_page(self.page_bytes as usize);
        if self.txnid.0 == 0
            || self.before > self.txnid
            || self.txnid.0 > self.ceiling
            || self.ceiling >= ID_MAX
        {
            Some("the ids of a meta are out of order")
        } else if self.geometry.min_pages > self.geometry.max_pages
            || self.used > self.geometry.max_pages
        {
            Some("the geometry of a meta makes no sense")
        } else if self.main.many.is_some() {
            Some("the main table of a meta cannot have many values a key")
        } else if self.used < first {
            Some("a meta says that less than the metas is in use")
        } else if !root.is_none()
            && (root.pgno.0 < first || root.pgno.0 >= self.used || root.birth > self.txnid)
        {
            Some("the root of a meta lies outside the file")
        } else {
            None
        }
    }
}

/// What a reader needs of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MetaHead {
    pub(crate) txnid: Txnid,
    pub(crate) used: u32,
    pub(crate) main: Tree,
    pub(crate) markers: [u64; 3],
    pub(crate) markers_txnid: u64,
}

impl MetaHead {
    /// The head of an image, from its first words as the lock file holds them.
    pub(crate) fn decode(words: &[u64; META_HEAD_WORDS]) -> Result<MetaHead, Reason> {
        Ok(MetaHead {
            txnid: Txnid(words[TXNID / 8]),
            used: words[USED / 8] as u32,
            main: Tree::of_words(&std::array::from_fn(|i| words[MAIN / 8 + i]))?,
            markers: std::array::from_fn(|i| words[MARKERS / 8 + i]),
            markers_txnid: words[MARKERS_TXNID / 8],
        })
    }
}

/// The ceiling that the meta of this snapshot sets.
pub(crate) fn ceiling_after(txnid: u64) -> u64 {
    txnid.saturating_add(CEILING_AHEAD)
}

/// Writes the checksum into a meta block.
fn stamp(block: &mut [u8; META_BYTES]) {
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&block[UUID..PAGE_BYTES]);
    let sum = Seal::new(&uuid).run(&block[UUID..]);
    block[CHECKSUM..UUID].copy_from_slice(&sum.to_le_bytes());
}

#[cfg(any(test, feature = "simulation"))]
impl super::checksum::Sealer {
    /// Sets the checksum of a meta block, by the uuid that it holds.
    pub fn meta(block: &mut [u8; META_BYTES]) {
        stamp(block);
    }
}

/// Whether a block begins as a meta does.
pub(super) fn is_meta(block: &[u8]) -> bool {
    block.starts_with(MAGIC) && block.len() == META_BYTES
}

/// Free-space items of a block that begins with this frame.
pub(super) fn item_count(frame: &[u8]) -> usize {
    frame
        .get(ITEM_COUNT..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |count| u32::from_le_bytes(*count) as usize)
}

/// The checksum that a meta block carries.
pub(crate) fn meta_checksum(block: &[u8; META_BYTES]) -> u64 {
    word(block, CHECKSUM)
}

/// The uuid of a whole meta of this format.
fn admit(block: &[u8; META_BYTES]) -> Result<[u8; 16], MetaFault> {
    if !block.starts_with(MAGIC) {
        return Err(MetaFault::NotADatabase);
    }
    let version = half(block, VERSION);
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&block[UUID..PAGE_BYTES]);
    let is_whole = Seal::new(&uuid).run(&block[UUID..]) == word(block, CHECKSUM)
        || planted::is(Bug::MetaChecksum);
    match (is_whole, version == FORMAT_VERSION) {
        (true, true) if word(block, FEATURES) & !FEATURES_KNOWN != 0 => {
            Err(MetaFault::Features(word(block, FEATURES) & !FEATURES_KNOWN))
        }
        (true, true) => Ok(uuid),
        (true, false) => Err(MetaFault::Version(version)),
        (false, true) => {
            Err(MetaFault::Corrupt("the checksum of a meta does not match its contents"))
        }
        (false, false) => Err(MetaFault::Stray(version)),
    }
}

/// Whether all bytes of a part of a meta are zero.
fn is_zero(part: &[u8]) -> bool {
    *part == [0; META_BYTES][..part.len()]
}

fn half(block: &[u8; META_BYTES], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&block[at..at + 4]);
    u32::from_le_bytes(bytes)
}

fn word(block: &[u8; META_BYTES], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at..at + 8]);
    u64::from_le_bytes(bytes)
}

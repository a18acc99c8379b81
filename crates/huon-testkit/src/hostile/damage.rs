//! Structural damage: each way in which a file can mislead, one after another.
//!
//! Checksums are right unless the damage is about them. Its place is chosen in the newest meta and
//! the pages that it reaches, so that the engine comes to it.

mod metas;

use super::file::{
    CHUNK_ITEMS, File, HEADER_BYTES, ITEM_BYTES, Kind, META_BYTES, Page, cell, header, meta, tree,
};

/// Bytes of a sector: files are cut at their ends.
const SECTOR_BYTES: usize = 512;

/// What a check must say of a damage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// That something is wrong, if the file opens at all.
    Found,
    /// Anything: it may be no damage.
    Anything,
}

use Verdict::{Anything, Found};

/// A place to put damaged files, with what was done to them.
pub struct Damages<'f> {
    sound: &'f File,
    each: &'f mut dyn FnMut(&str, &File, Verdict),
}

/// Every damage to `sound`, a file with a single meta. `older`: the file some commits earlier.
pub fn each(sound: &File, older: &File, mut tell: impl FnMut(&str, &File, Verdict)) {
    let mut damages = Damages { sound, each: &mut tell };
    damages.metas();
    damages.several_metas();
    for record in sound.trees() {
        damages.tree(record);
    }
    let pages = sound.pages();
    for record in sound.trees() {
        damages.multimap(record);
    }
    for page in &pages {
        damages.pointer(page, &pages);
        damages.whole(page, &pages, older);
        match page.kind {
            Kind::Branch => damages.branch(page),
            Kind::Leaf => damages.leaf(page),
            Kind::Fixed => damages.fixed(page),
            Kind::Run => damages.run(page),
            Kind::Chunk => damages.chunk(page, &pages),
        }
    }
    damages.items(&pages);
    damages.length(&pages);
}

/// Trees whose branches name one page again and again: a walk of all ways in them would not end.
pub fn pyramids(sound: &File) -> Vec<File> {
    let shapes = [(40, 10, true), (40, 2, false), (12, 10, true), (3, 20, true)];
    shapes.map(|(depth, width, with_leaf)| pyramid(sound, depth, width, with_leaf)).into()
}

const U16S: [u16; 9] = [0, 1, 2, 31, 32, 255, 0x7FFF, 0x8000, 0xFFFF];
const U32S: [u32; 7] = [0, 1, 3, 1 << 16, 0x7FFF_FFFF, 1 << 31, u32::MAX];
const U64S: [u64; 8] = [0, 1, u32::MAX as u64, 1 << 32, (1 << 60) - 1, 1 << 60, 1 << 63, u64::MAX];

impl Damages<'_> {
    /// A file with some bytes changed.
    fn set(&mut self, name: &str, at: usize, bytes: &[u8], verdict: Verdict) {
        if self.sound.bytes[at..at + bytes.len()] != *bytes {
            self.edit(name, verdict, |file| file.set(at, bytes));
        }
    }

    fn edit(&mut self, name: &str, verdict: Verdict, edit: impl FnOnce(&mut File)) {
        let mut file = self.sound.clone();
        edit(&mut file);
        (self.each)(name, &file, verdict);
    }

    fn tree(&mut self, record: usize) {
        let in_meta = record < META_BYTES;
        for depth in [0, 1, 2, 3, 4, 5, 39, 40, 41, 127, 255] {
            self.set("depth of a tree", record + tree::DEPTH, &[depth], Found);
        }
        for order in [0, 1, 2, 3, 4, 5, 255] {
            self.set("order of a tree", record + tree::ORDER, &[order], Anything);
        }
        self.set("flags of a tree", record + tree::FLAGS, &[2], Found);
        self.set("reserved bytes of a tree", record + tree::ZERO, &[1], Found);
        for count in U64S {
            self.set("entries of a tree", record + tree::ENTRIES, &count.to_le_bytes(), Found);
            let future = !in_meta && count > self.sound.txnid();
            let verdict = if future { Found } else { Anything };
            self.set("change of a tree", record + tree::CHANGED, &count.to_le_bytes(), verdict);
        }
        for field in [tree::BRANCHES, tree::LEAVES, tree::RUNS] {
            for count in U32S {
                self.set("page counts of a tree", record + field, &count.to_le_bytes(), Found);
            }
        }
        self.edit("a tree without a root", Found, |file| {
            file.put(record + tree::DEPTH, &[0]);
            file.put(record + tree::ROOT, &[0; 4]);
            file.put(record + tree::ENTRIES, &[0; 8]);
            file.set(record + tree::BIRTH, &[0; 8]);
        });
    }

    /// The pointer to a page leads elsewhere.
    fn pointer(&mut self, page: &Page, pages: &[Page]) {
        let file = self.sound;
        let (used, first) = (file.used(), file.first_page());
        let file_pages = (file.bytes.len() / file.page_bytes) as u32;
        let own = file.u32(page.pointer);
        let numbers = [
            0,
            1,
            first - 1,
            used - 1,
            used,
            used + 1,
            file_pages - 1,
            file_pages,
            1 << 31,
            u32::MAX,
        ];
        for pgno in numbers.into_iter().filter(|&pgno| pgno != own) {
            let root = pgno == 0 && page.kind == Kind::Chunk;
            let verdict = if root { Anything } else { Found };
            self.set("a pointer out of range", page.pointer, &pgno.to_le_bytes(), verdict);
        }
        let parent = page.parent.and_then(|pgno| pages.iter().find(|page| page.pgno == pgno));
        let others = [Kind::Branch, Kind::Leaf, Kind::Fixed, Kind::Run, Kind::Chunk];
        let others = others.map(|kind| pages.iter().find(|p| p.kind == kind && p.pgno != own));
        let beside = pages.iter().rfind(|p| p.level == page.level && p.pgno != own);
        let root = pages.iter().find(|p| p.parent.is_none() && p.pgno != own);
        for target in others.into_iter().chain([parent, beside, root]).flatten() {
            let pointer = self.pair(target);
            let birth = self.birth_at(page);
            self.edit("a pointer to another page", Found, |file| {
                file.set(page.pointer, &target.pgno.to_le_bytes());
            });
            self.edit("a pointer to another page, birth and all", Found, |file| {
                file.put(page.pointer, &pointer[..4]);
                file.set(birth, &pointer[4..]);
            });
        }
        let birth = self.birth_at(page);
        let now = file.u64(birth);
        for other in U64S.into_iter().chain([now + 1, now.saturating_sub(1), file.txnid() + 1]) {
            // The birth of a large value is written nowhere else.
            let run = page.kind == Kind::Run && other <= file.txnid();
            let verdict = if run { Anything } else { Found };
            self.set("birth in a pointer", birth, &other.to_le_bytes(), verdict);
        }
    }

    /// Where the birth of a pointer lies: right behind the number, but for records and references.
    fn birth_at(&self, page: &Page) -> usize {
        let in_branch = page.parent.is_some_and(|parent| {
            let header = self.sound.at(parent) + header::KIND;
            self.sound.bytes[header] == 1
        });
        let next_chunk = page.kind == Kind::Chunk
            && page
                .parent
                .is_some_and(|parent| page.pointer == self.sound.at(parent) + HEADER_BYTES);
        page.pointer + if in_branch || next_chunk { 4 } else { 8 }
    }

    /// Number and birth of a page.
    fn pair(&self, page: &Page) -> [u8; 12] {
        let mut pair = [0; 12];
        pair[..4].copy_from_slice(&page.pgno.to_le_bytes());
        let birth = match page.kind {
            Kind::Run => self.sound.u64(page.pointer + 8),
            _ => self.sound.u64(self.sound.at(page.pgno) + header::BIRTH),
        };
        pair[4..].copy_from_slice(&birth.to_le_bytes());
        pair
    }

    /// All of a page is something else.
    fn whole(&mut self, page: &Page, pages: &[Page], older: &File) {
        let (at, size) = (self.sound.at(page.pgno), self.sound.page_bytes);
        self.edit("a page of zeros", Found, |file| file.bytes[at..at + size].fill(0));
        if older.bytes.len() >= at + size && page.kind != Kind::Run {
            let old = older.bytes[at..at + size].to_vec();
            if old != self.sound.bytes[at..at + size] {
                self.edit("an older page", Found, |file| file.put(at, &old));
            }
        }
        let alike = pages.iter().find(|other| other.kind == page.kind && other.pgno > page.pgno);
        if let (Some(other), true) = (alike, page.kind != Kind::Run) {
            let there = self.sound.at(other.pgno);
            self.edit("a page twice", Found, |file| file.bytes.copy_within(at..at + size, there));
            self.edit("swapped pages", Found, |file| {
                let kept = file.bytes[there..there + size].to_vec();
                file.bytes.copy_within(at..at + size, there);
                file.put(at, &kept);
            });
        }
        if page.kind == Kind::Run {
            return;
        }
        self.edit("a checksum of zero", Found, |file| file.put(at, &[0; 8]));
        for kind in [0, 1, 2, 3, 4, 5, 255] {
            self.set("kind of a page", at + header::KIND, &[kind], Found);
        }
        let level = self.sound.bytes[at + header::LEVEL];
        for other in [0, 1, level.wrapping_sub(1), level + 1, 39, 40, 255] {
            self.set("level of a page", at + header::LEVEL, &[other], Found);
        }
        for other in U64S {
            self.set("birth of a page", at + header::BIRTH, &other.to_le_bytes(), Found);
        }
        self.set("number of a page", at + header::PGNO, &(page.pgno + 1).to_le_bytes(), Found);
        let count = self.sound.u16(at + header::COUNT);
        for other in U16S.into_iter().chain([count - 1, count + 1, count * 2]) {
            self.set("count of a page", at + header::COUNT, &other.to_le_bytes(), Found);
        }
        if page.kind == Kind::Chunk {
            return;
        }
        let sizes = U16S.into_iter().chain([size as u16 - 32, size as u16 - 31, size as u16]);
        for other in sizes {
            self.set("heap of a page", at + header::HEAP, &other.to_le_bytes(), Found);
            self.set("dead bytes of a page", at + header::DEAD, &other.to_le_bytes(), Found);
            self.set("prefix of a page", at + header::PREFIX, &other.to_le_bytes(), Anything);
            // All but the first are hints, where a leaf has any.
            let is_hint = page.kind != Kind::Branch && other & 1 == 0;
            let verdict = if is_hint { Anything } else { Found };
            self.set("flags of a page", at + header::FLAGS, &other.to_le_bytes(), verdict);
        }
    }

    /// What a slot says: head, offset and length.
    fn slot(&mut self, slot: usize, bytes_matter: bool) {
        let verdict = if bytes_matter { Found } else { Anything };
        let size = self.sound.page_bytes as u16;
        let (offset, length) = (self.sound.u16(slot + 4), self.sound.u16(slot + 6));
        for other in U16S.into_iter().chain([offset + 1, offset - 1, size - 1, size - 4, size]) {
            self.set("offset of a cell", slot + 4, &other.to_le_bytes(), verdict);
        }
        for other in U16S.into_iter().chain([length + 1, length.wrapping_sub(1), size]) {
            self.set("length of a key", slot + 6, &other.to_le_bytes(), verdict);
        }
        for other in U32S {
            self.set("head of a slot", slot, &other.to_le_bytes(), Anything);
        }
    }

    fn branch(&mut self, page: &Page) {
        let at = self.sound.at(page.pgno);
        let count = usize::from(self.sound.u16(at + header::COUNT));
        let slots = at + HEADER_BYTES;
        for i in [0, 1, count - 1].into_iter().filter(|&i| i < count) {
            let empty = self.sound.u16(slots + 8 * i + 6) == 0;
            self.slot_of_branch(slots + 8 * i, i > 0 && !empty);
        }
        if count > 2 {
            self.swap("separators out of order", slots + 8, slots + 16, 8, Found);
            self.edit("two equal separators", Found, |file| {
                file.bytes.copy_within(slots + 8..slots + 16, slots + 16);
                file.seal(at);
            });
        }
        let children = self.sound.children(page.pgno);
        if let [first, .., last] = children[..] {
            self.swap("swapped children", first, last, 12, Found);
            self.edit("one child for all", Found, |file| {
                for &child in &children[1..] {
                    file.bytes.copy_within(first..first + 12, child);
                }
                file.seal(at);
            });
        }
    }

    fn slot_of_branch(&mut self, slot: usize, bytes_matter: bool) {
        if self.sound.u16(slot + 4) == 0 {
            // An empty separator's offset means nothing.
            return self.set("a slot of nothing", slot + 6, &[1, 0], Anything);
        }
        self.slot(slot, bytes_matter);
    }

    fn leaf(&mut self, page: &Page) {
        let at = self.sound.at(page.pgno);
        let cells = self.sound.cells(page.pgno);
        for cell in [cells.first(), cells.get(cells.len() / 2), cells.last()].into_iter().flatten()
        {
            self.slot(cell.slot, true);
            for kind in 0..16u32 {
                let tag = kind << 28 | cell.tag & 0xFFF_FFFF;
                self.set("kind of a cell", cell.at, &tag.to_le_bytes(), Anything);
            }
            for bytes in U32S.into_iter().chain([cell.tag + 1, cell.tag.wrapping_sub(1)]) {
                let tag = cell.tag & 0xF000_0000 | bytes & 0xFFF_FFFF;
                self.set("length of a payload", cell.at, &tag.to_le_bytes(), Found);
            }
        }
        let record = self.sound.record_of(page);
        let value_bytes = self.sound.u32(record + tree::FIXED) as usize;
        for cell in cells.iter().filter(|found| found.tag >> 28 == cell::SET) {
            self.value_set(cell.payload, value_bytes);
        }
        let slots = at + HEADER_BYTES;
        if cells.len() > 1 {
            // Only the table's owner knows a custom order.
            let verdict = if self.sound.has_custom_order(page) { Anything } else { Found };
            self.swap("keys out of order", slots, slots + 8, 8, verdict);
            self.edit("two equal keys", Found, |file| {
                file.bytes.copy_within(slots..slots + 8, slots + 8);
                file.seal(at);
            });
            self.edit("all cells in one place", Found, |file| {
                for cell in &cells[1..] {
                    file.bytes.copy_within(slots + 4..slots + 6, cell.slot + 4);
                }
                file.seal(at);
            });
        }
        self.edit("an empty leaf", Found, |file| {
            file.put(at + header::COUNT, &[0; 2]);
            file.set(at + header::HEAP, &[0; 6]);
        });
    }

    /// What a record says of values. A table of values in cells may be a multimap by mere chance.
    fn multimap(&mut self, record: usize) {
        let file = self.sound;
        let many = file.u16(record + tree::FLAGS) != 0;
        let fixed = file.u32(record + tree::FIXED);
        for flags in U16S.into_iter().chain([3, 0x101, 0x203, 0x303, 0x403, 0x503]) {
            let flags = flags.to_le_bytes();
            self.set("flags of a tree", record + tree::FLAGS, &flags, Anything);
            self.edit("flags and length of values", Anything, |file| {
                file.put(record + tree::FLAGS, &flags);
                file.set(record + tree::FIXED, &(4 - fixed.min(4)).to_le_bytes());
            });
        }
        let lengths = [fixed + 1, fixed.wrapping_sub(1), fixed * 2, fixed + 0x1_0000];
        for bytes in U32S.into_iter().chain(lengths).filter(|_| many || fixed != 0) {
            self.set("length of values", record + tree::FIXED, &bytes.to_le_bytes(), Found);
        }
    }

    /// Keys of one length, and zeros behind them.
    fn fixed(&mut self, page: &Page) {
        let (at, size) = (self.sound.at(page.pgno), self.sound.page_bytes);
        let key_bytes = self.sound.u16(at + header::PREFIX);
        let count = usize::from(self.sound.u16(at + header::COUNT));
        for other in [key_bytes + 1, key_bytes - 1, key_bytes * 2, key_bytes / 2] {
            self.set("length of keys", at + header::PREFIX, &other.to_le_bytes(), Found);
        }
        let (first, bytes) = (at + HEADER_BYTES, usize::from(key_bytes));
        self.swap("keys out of order", first, first + bytes, bytes, Found);
        self.edit("two equal keys", Found, |file| {
            file.bytes.copy_within(first..first + bytes, first + bytes);
            file.seal(at);
        });
        if HEADER_BYTES + count * bytes < size {
            self.set("bytes behind the keys", at + size - 1, &[1], Found);
        }
        self.edit("an empty leaf", Found, |file| {
            file.bytes[first..at + size].fill(0);
            file.set(at + header::COUNT, &[0; 2]);
        });
    }

    /// A set of values, by what the record of its multimap says of lengths.
    fn value_set(&mut self, payload: usize, value_bytes: usize) {
        if value_bytes != 0 {
            let next = payload + value_bytes;
            self.swap("values out of order", payload, next, value_bytes, Found);
            return self.edit("two equal values", Found, |file| {
                file.bytes.copy_within(payload..next, next);
                file.seal(payload);
            });
        }
        let count = self.sound.u16(payload);
        for other in U16S.into_iter().chain([count - 1, count + 1, 0x4000]) {
            self.set("count of a set", payload, &other.to_le_bytes(), Found);
        }
        for i in 0..usize::from(count) {
            let at = payload + 2 + 2 * i;
            let end = self.sound.u16(at);
            for other in U16S.into_iter().chain([end + 1, end.wrapping_sub(1)]) {
                let last = i + 1 == usize::from(count) || other > 0xFF;
                let verdict = if last { Found } else { Anything };
                self.set("end of a value", at, &other.to_le_bytes(), verdict);
            }
        }
    }

    fn swap(&mut self, name: &str, a: usize, b: usize, bytes: usize, verdict: Verdict) {
        self.edit(name, verdict, |file| {
            let kept = file.bytes[a..a + bytes].to_vec();
            file.bytes.copy_within(b..b + bytes, a);
            file.set(b, &kept);
        });
    }

    /// The reference to a large value; its pointer is dealt with as others are.
    fn run(&mut self, page: &Page) {
        let at = page.pointer;
        let now = self.sound.u32(at + 4);
        let size = self.sound.page_bytes as u32;
        for bytes in
            U32S.into_iter().chain([now - 1, now + 1, now + size, 0x7FF0_0000, 0x7FF0_0001])
        {
            self.set("length of a large value", at + 4, &bytes.to_le_bytes(), Found);
        }
        self.set("checksum of a large value", at + 16, &[7; 8], Found);
        self.set("reserved bytes of a reference", at + 24, &[1], Found);
        let start = self.sound.at(page.pgno);
        self.edit("a byte of a large value", Found, |file| file.bytes[start] ^= 1);
    }

    fn chunk(&mut self, page: &Page, pages: &[Page]) {
        let at = self.sound.at(page.pgno);
        let count = usize::from(self.sound.u16(at + header::COUNT));
        let capacity = (self.sound.page_bytes - CHUNK_ITEMS) / ITEM_BYTES;
        for other in [count + 1, capacity, capacity + 1, 78, 79, 0x1000] {
            self.set("count of a chunk", at + header::COUNT, &(other as u16).to_le_bytes(), Found);
        }
        for i in [0, count / 2, count - 1] {
            self.item(at + CHUNK_ITEMS + i * ITEM_BYTES, pages);
        }
        let chunks = pages.iter().filter(|page| page.kind == Kind::Chunk);
        for target in chunks {
            let pair = self.pair(target);
            self.set("a chain with a cycle", at + HEADER_BYTES, &pair, Found);
        }
    }

    /// The items of the meta.
    fn items(&mut self, pages: &[Page]) {
        let file = self.sound;
        let count = file.u32(meta::ITEM_COUNT);
        for i in 0..count as usize {
            self.item(meta::ITEMS + i * ITEM_BYTES, pages);
        }
        for other in [0, 2, 159, 160, 161, 1 << 16, u32::MAX] {
            self.set("count of items", meta::ITEM_COUNT, &u32::to_le_bytes(other), Found);
        }
        let last = meta::ITEMS + count as usize * ITEM_BYTES;
        for page in pages {
            for (birth, freed) in [(0, 0), (0, file.txnid()), (1, file.txnid() + 9)] {
                self.edit("a page in use listed as free", Found, |file| {
                    let at = last;
                    file.put(at, &page.pgno.to_le_bytes());
                    file.put(at + 4, &1u32.to_le_bytes());
                    file.put(at + 8, &u64::to_le_bytes(birth));
                    file.put(at + 16, &freed.to_le_bytes());
                    file.set(meta::ITEM_COUNT, &(count + 1).to_le_bytes());
                });
            }
        }
        self.edit("all pages free", Found, |file| {
            let pages = file.used() - file.first_page();
            file.put(last, &file.first_page().to_le_bytes());
            file.put(last + 4, &pages.to_le_bytes());
            file.set(meta::ITEM_COUNT, &(count + 1).to_le_bytes());
        });
        self.edit("many chains to one chunk", Found, |file| {
            for i in 1..160 {
                let (from, to) = (meta::ITEMS, meta::ITEMS + i * ITEM_BYTES);
                file.bytes.copy_within(from..from + ITEM_BYTES, to);
            }
            file.set(meta::ITEM_COUNT, &160u32.to_le_bytes());
        });
    }

    fn item(&mut self, at: usize, pages: &[Page]) {
        let file = self.sound;
        let (used, first) = (file.used(), file.first_page());
        let chain = file.u32(at + 4) == 0;
        let in_use = pages.iter().map(|page| page.pgno).take(3);
        for pgno in [0, 1, first - 1, used - 1, used, u32::MAX].into_iter().chain(in_use) {
            self.set("page of an item", at, &pgno.to_le_bytes(), Found);
        }
        for count in [0, 1, 2, used, 0x7FFF_FFFF, 1 << 31, 1 << 31 | 1, u32::MAX] {
            // With another mark they are the same pages.
            let same = !chain && count & 0x7FFF_FFFF == file.u32(at + 4) & 0x7FFF_FFFF;
            let verdict = if same { Anything } else { Found };
            self.set("pages of an item", at + 4, &u32::to_le_bytes(count), verdict);
        }
        for id in U64S.into_iter().chain([file.txnid(), file.txnid() + 1]) {
            self.set("birth of an item", at + 8, &id.to_le_bytes(), Anything);
            self.set("end of an item", at + 16, &id.to_le_bytes(), Anything);
        }
    }

    /// The file is cut, or longer, or has holes.
    fn length(&mut self, pages: &[Page]) {
        let file = self.sound;
        let end = file.bytes.len();
        let last_used = pages.iter().map(|page| file.at(page.pgno) + file.page_bytes).max();
        for cut in (0..end).step_by(SECTOR_BYTES).chain([1, 4095, end - 1]) {
            let reaches = last_used.is_some_and(|last| cut < last);
            let verdict = if reaches && cut > 0 { Found } else { Anything };
            self.edit("cut at a sector", verdict, |file| file.bytes.truncate(cut));
        }
        for more in [1, SECTOR_BYTES, 4096, 1 << 18] {
            self.edit("longer than it says", Anything, |file| file.bytes.resize(end + more, 0xEE));
        }
        for hole in (0..end).step_by(SECTOR_BYTES) {
            let until = (hole + SECTOR_BYTES).min(end);
            self.edit("a hole", Anything, |file| file.bytes[hole..until].fill(0));
        }
    }
}

/// A main table of `depth` levels, each a single page whose children are all the one below it.
fn pyramid(sound: &File, depth: u8, width: u16, with_leaf: bool) -> File {
    let mut file = sound.clone();
    let (first, birth, size) = (file.first_page(), file.txnid(), file.page_bytes);
    let used = file.used().max(first + u32::from(depth));
    file.bytes.resize(file.bytes.len().max(used as usize * size), 0);
    for level in 0..depth {
        let pgno = first + u32::from(level);
        let at = file.at(pgno);
        file.bytes[at..at + size].fill(0);
        file.put(at + header::PGNO, &pgno.to_le_bytes());
        file.put(at + header::KIND, &[if level == 0 { 2 } else { 1 }, level]);
        file.put(at + header::BIRTH, &birth.to_le_bytes());
        match level {
            0 if with_leaf => small_leaf(&mut file, at),
            0 => {}
            _ => small_branch(&mut file, at, width, pgno - 1, birth),
        }
        file.seal(at);
    }
    let main = meta::MAIN;
    file.put(main + tree::ROOT, &(first + u32::from(depth) - 1).to_le_bytes());
    file.put(main + tree::DEPTH, &[depth, 0, 0, 0]);
    file.put(main + tree::BIRTH, &birth.to_le_bytes());
    file.put(main + tree::ENTRIES, &u64::MAX.to_le_bytes());
    file.put(meta::USED, &used.to_le_bytes());
    file.bytes[meta::ITEMS..META_BYTES].fill(0);
    file.set(meta::ITEM_COUNT, &0u32.to_le_bytes());
    file
}

/// One record: a key of one byte, and a value of one.
fn small_leaf(file: &mut File, at: usize) {
    let cell = file.page_bytes as u16 - 6;
    file.put(at + header::COUNT, &1u16.to_le_bytes());
    file.put(at + header::HEAP, &6u16.to_le_bytes());
    file.put(at + HEADER_BYTES, &(u32::from(b'k') << 24).to_le_bytes());
    file.put(at + HEADER_BYTES + 4, &cell.to_le_bytes());
    file.put(at + HEADER_BYTES + 6, &1u16.to_le_bytes());
    file.put(at + usize::from(cell), &[1, 0, 0, 0, b'k', b'v']);
}

/// Children that are all one, with separators of one byte.
fn small_branch(file: &mut File, at: usize, width: u16, child: u32, birth: u64) {
    let heap = file.page_bytes - usize::from(width) + 1;
    file.put(at + header::COUNT, &width.to_le_bytes());
    file.put(at + header::HEAP, &(width - 1).to_le_bytes());
    let pointers = at + HEADER_BYTES + 8 * usize::from(width);
    for i in 0..usize::from(width) {
        if i > 0 {
            let slot = at + HEADER_BYTES + 8 * i;
            file.put(slot, &((i as u32) << 24).to_le_bytes());
            file.put(slot + 4, &((heap + i - 1) as u16).to_le_bytes());
            file.put(slot + 6, &1u16.to_le_bytes());
            file.put(at + heap + i - 1, &[i as u8]);
        }
        file.put(pointers + 12 * i, &child.to_le_bytes());
        file.put(pointers + 12 * i + 4, &birth.to_le_bytes());
    }
}

//! A file as bytes, and where everything lies in it; see FORMAT.md.

use huon::sim::Sealer;

/// Bytes of a meta slot.
pub const META_BYTES: usize = 4096;
/// Bytes of a page header.
pub const HEADER_BYTES: usize = 32;

/// Where fields lie in a meta block.
#[allow(missing_docs)]
pub mod meta {
    pub const UUID: usize = 24;
    pub const PAGE_BYTES: usize = 40;
    pub const COMMIT: usize = 44;
    pub const TXNID: usize = 48;
    pub const BEFORE: usize = 56;
    pub const CEILING: usize = 64;
    pub const LOWER: usize = 72;
    pub const UPPER: usize = 76;
    pub const GROW: usize = 80;
    pub const SHRINK: usize = 84;
    pub const USED: usize = 88;
    pub const MAIN: usize = 96;
    pub const ITEM_COUNT: usize = 192;
    pub const SWEEP_OWED: usize = 196;
    pub const SWEEP_SINCE: usize = 200;
    pub const SWEEP_LINE: usize = 208;
    pub const SWEEP_ROOF: usize = 212;
    pub const ZERO: usize = 216;
    pub const ITEMS: usize = 256;
}

/// Where fields lie in a page header.
#[allow(missing_docs)]
pub mod header {
    pub const PGNO: usize = 8;
    pub const KIND: usize = 12;
    pub const LEVEL: usize = 13;
    pub const COUNT: usize = 14;
    pub const BIRTH: usize = 16;
    pub const HEAP: usize = 24;
    pub const DEAD: usize = 26;
    pub const PREFIX: usize = 28;
    pub const FLAGS: usize = 30;
}

/// Where fields lie in a tree record.
#[allow(missing_docs)]
pub mod tree {
    pub const ROOT: usize = 0;
    pub const DEPTH: usize = 4;
    pub const ORDER: usize = 5;
    pub const FLAGS: usize = 6;
    pub const BIRTH: usize = 8;
    pub const ENTRIES: usize = 16;
    pub const CHANGED: usize = 32;
    pub const BRANCHES: usize = 40;
    pub const LEAVES: usize = 44;
    pub const RUNS: usize = 48;
    pub const FIXED: usize = 52;
    pub const ZERO: usize = 56;
}

/// Numbers of the kinds of cells that lead to other pages, or hold sets.
#[allow(missing_docs)]
pub mod cell {
    pub const TABLE: u32 = 1;
    pub const RUN: u32 = 2;
    pub const SET: u32 = 3;
    pub const VALUES: u32 = 4;
}

/// The kind of a fixed leaf in its header.
const FIXED_LEAF: u8 = 3;
/// What a tree's record says of an order that only its owner knows.
const CUSTOM_ORDER: u8 = 4;
/// Bytes of a free-list entry.
pub const ITEM_BYTES: usize = 24;
/// Where a chunk's items begin.
pub const CHUNK_ITEMS: usize = 48;

/// What a page in use is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Branch,
    Leaf,
    Fixed,
    Run,
    Chunk,
}

/// A page in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// Its number.
    pub pgno: u32,
    /// What it is.
    pub kind: Kind,
    /// Its level; 0 for leaves, runs and chunks.
    pub level: u8,
    /// Bytes of it that mean something: all, but for the last page of a run.
    pub used_bytes: usize,
    /// Where in the file the pointer (pgno, and the birth behind it) to it lies; for a page of a
    /// run behind its first, where that of the first lies.
    pub pointer: usize,
    /// The page that the pointer lies on; `None` for a meta.
    pub parent: Option<u32>,
}

/// A file that is edited.
#[derive(Clone)]
pub struct File {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Page size.
    pub page_bytes: usize,
    sealer: Sealer,
}

impl File {
    /// A sound file.
    ///
    /// # Panics
    /// If it holds no meta.
    pub fn new(bytes: Vec<u8>) -> File {
        let mut file = File { page_bytes: 0, sealer: Sealer::new(&[0; 16]), bytes };
        let at = file.newest_meta() * META_BYTES;
        let uuid = file.bytes[at + meta::UUID..][..16].try_into().expect("sixteen bytes");
        file.sealer = Sealer::new(&uuid);
        file.page_bytes = file.u32(at + meta::PAGE_BYTES) as usize;
        file
    }

    /// The slot of the newest meta.
    pub fn newest_meta(&self) -> usize {
        let slots = (0..3).filter(|slot| self.bytes[slot * META_BYTES..].starts_with(b"HUON"));
        slots.max_by_key(|slot| self.u64(slot * META_BYTES + meta::TXNID)).expect("a meta")
    }

    /// Where a field of the newest meta lies.
    pub fn meta(&self, field: usize) -> usize {
        self.newest_meta() * META_BYTES + field
    }

    /// Where a page begins.
    pub fn at(&self, pgno: u32) -> usize {
        pgno as usize * self.page_bytes
    }

    /// The number of the first data page.
    pub fn first_page(&self) -> u32 {
        (3 * META_BYTES).div_ceil(self.page_bytes) as u32
    }

    /// The high-water mark of the newest meta.
    pub fn used(&self) -> u32 {
        self.u32(self.meta(meta::USED))
    }

    /// The id of the newest meta.
    pub fn txnid(&self) -> u64 {
        self.u64(self.meta(meta::TXNID))
    }

    /// A number in the file.
    pub fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes[at..at + 2].try_into().expect("two bytes"))
    }

    /// A number in the file.
    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// A number in the file.
    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    /// Overwrites bytes; [`File::seal`] makes them pass.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Recomputes the checksum of the meta or page at that place.
    pub fn seal(&mut self, at: usize) {
        if at < 3 * META_BYTES {
            let block = &mut self.bytes[at / META_BYTES * META_BYTES..];
            return Sealer::meta(block.first_chunk_mut().expect("a whole block"));
        }
        let start = at / self.page_bytes * self.page_bytes;
        self.sealer.page(&mut self.bytes[start..start + self.page_bytes]);
    }

    /// Overwrites bytes of a meta or page, and sets its checksum right.
    pub fn set(&mut self, at: usize, bytes: &[u8]) {
        self.put(at, bytes);
        self.seal(at);
    }

    /// The checksum of a large value.
    pub fn value_sum(&self, bytes: &[u8]) -> u64 {
        self.sealer.value(bytes)
    }

    /// Sets a field of every meta, and their checksums right.
    pub fn set_metas(&mut self, field: usize, bytes: &[u8]) {
        for slot in 0..3 {
            if self.bytes[slot * META_BYTES..].starts_with(b"HUON") {
                self.set(slot * META_BYTES + field, bytes);
            }
        }
    }

    /// Leaves the newest meta alone, in slot 0, and has it stand without a look at its tail.
    pub fn single_meta(&mut self) {
        let newest = self.newest_meta() * META_BYTES;
        self.bytes.copy_within(newest..newest + META_BYTES, 0);
        self.bytes[META_BYTES..3 * META_BYTES].fill(0);
        self.set(meta::COMMIT, &2u32.to_le_bytes());
    }

    /// Every page that the newest meta reaches. Only for a sound file.
    pub fn pages(&self) -> Vec<Page> {
        let mut pages = Vec::new();
        self.tree_pages(self.meta(meta::MAIN), None, &mut pages);
        let items = self.meta(meta::ITEMS);
        self.items(items, self.u32(self.meta(meta::ITEM_COUNT)), None, &mut pages);
        pages
    }

    /// Where the tree records lie: the main table's first, those of trees of values too.
    pub fn trees(&self) -> Vec<usize> {
        let mut trees = vec![self.meta(meta::MAIN)];
        for page in self.pages() {
            if page.kind == Kind::Leaf {
                trees.extend(
                    self.cells(page.pgno)
                        .into_iter()
                        .filter(|cell| matches!(cell.tag >> 28, cell::TABLE | cell::VALUES))
                        .map(|cell| cell.payload),
                );
            }
        }
        trees
    }

    /// Whether the page belongs to a table whose order is its owner's own.
    pub fn has_custom_order(&self, page: &Page) -> bool {
        self.bytes[self.record_of(page) + tree::ORDER] == CUSTOM_ORDER
    }

    /// Where the record of the tree lies that the page belongs to.
    pub fn record_of(&self, page: &Page) -> usize {
        let (trees, pages) = (self.trees(), self.pages());
        let mut pointer = page.pointer;
        let mut parent = page.parent;
        while !trees.contains(&pointer) {
            let above = pages.iter().find(|page| Some(page.pgno) == parent);
            let above = above.expect("every page hangs below a tree's record");
            (pointer, parent) = (above.pointer, above.parent);
        }
        pointer
    }

    fn tree_pages(&self, record: usize, parent: Option<u32>, pages: &mut Vec<Page>) {
        if let Some(level) = self.bytes[record + tree::DEPTH].checked_sub(1) {
            self.node(record, level, parent, pages);
        }
    }

    /// A branch or leaf, and what is below it. `pointer`: where its number lies.
    fn node(&self, pointer: usize, level: u8, parent: Option<u32>, pages: &mut Vec<Page>) {
        let pgno = self.u32(pointer);
        let kind = match level {
            0 if self.bytes[self.at(pgno) + header::KIND] == FIXED_LEAF => Kind::Fixed,
            0 => Kind::Leaf,
            _ => Kind::Branch,
        };
        pages.push(Page { pgno, kind, level, used_bytes: self.page_bytes, pointer, parent });
        if level > 0 {
            for child in self.children(pgno) {
                self.node(child, level - 1, Some(pgno), pages);
            }
        }
        if kind != Kind::Leaf {
            return;
        }
        for cell in self.cells(pgno) {
            match cell.tag >> 28 {
                cell::TABLE | cell::VALUES => self.tree_pages(cell.payload, Some(pgno), pages),
                cell::RUN => self.run(cell.payload, pgno, pages),
                _ => {}
            }
        }
    }

    fn run(&self, pointer: usize, leaf: u32, pages: &mut Vec<Page>) {
        let (first, bytes) = (self.u32(pointer), self.u32(pointer + 4) as usize);
        for (pgno, start) in (first..).zip((0..bytes).step_by(self.page_bytes)) {
            let used_bytes = self.page_bytes.min(bytes - start);
            let parent = Some(leaf);
            pages.push(Page { pgno, kind: Kind::Run, level: 0, used_bytes, pointer, parent });
        }
    }

    fn items(&self, at: usize, count: u32, parent: Option<u32>, pages: &mut Vec<Page>) {
        for item in (0..count as usize).map(|i| at + i * ITEM_BYTES) {
            if self.u32(item + 4) == 0 {
                self.chunk(item, parent, pages);
            }
        }
    }

    fn chunk(&self, pointer: usize, parent: Option<u32>, pages: &mut Vec<Page>) {
        let pgno = self.u32(pointer);
        let used_bytes = self.page_bytes;
        pages.push(Page { pgno, kind: Kind::Chunk, level: 0, used_bytes, pointer, parent });
        let at = self.at(pgno);
        if self.u32(at + HEADER_BYTES) != 0 {
            self.chunk(at + HEADER_BYTES, Some(pgno), pages);
        }
        self.items(at + CHUNK_ITEMS, self.u16(at + header::COUNT).into(), Some(pgno), pages);
    }

    /// Where the pointers of a branch lie.
    pub fn children(&self, pgno: u32) -> Vec<usize> {
        let at = self.at(pgno);
        let count = usize::from(self.u16(at + header::COUNT));
        (0..count).map(|i| at + HEADER_BYTES + 8 * count + 12 * i).collect()
    }

    /// The cells of a leaf.
    pub fn cells(&self, pgno: u32) -> Vec<Cell> {
        let at = self.at(pgno);
        let count = usize::from(self.u16(at + header::COUNT));
        let cell = |slot: usize| {
            let cell = at + usize::from(self.u16(slot + 4));
            let key_bytes = usize::from(self.u16(slot + 6));
            Cell { slot, at: cell, tag: self.u32(cell), payload: cell + 4 + key_bytes }
        };
        (0..count).map(|i| cell(at + HEADER_BYTES + 8 * i)).collect()
    }
}

/// A record of a leaf: where its parts lie.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Its slot.
    pub slot: usize,
    /// Its tag; the key follows.
    pub at: usize,
    /// The tag.
    pub tag: u32,
    /// Its payload.
    pub payload: usize,
}

//! A reader of data files that knows nothing but FORMAT.md, and shares no code with the engine.
//!
//! It is simple and slow, and panics at whatever is not as the document says.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::format::Format;

/// Records in the order in which they lie in the tree: key and value.
pub(crate) type Records = Vec<(Vec<u8>, Vec<u8>)>;

/// What a file holds.
#[derive(Default)]
pub(crate) struct Found {
    /// By name; the main table's is empty. Its own records only.
    pub(crate) tables: BTreeMap<Vec<u8>, Records>,
    pub(crate) orders: BTreeMap<Vec<u8>, String>,
    /// How often each kind of page, cell, item and meta occurs.
    pub(crate) kinds: BTreeMap<String, usize>,
    pub(crate) depth_max: u64,
    pub(crate) txnid: u64,
}

/// Reads the newest snapshot of the file in `bytes`.
pub(crate) fn read(format: &Format, bytes: &[u8]) -> Found {
    let meta_bytes = format.block_bytes("meta block");
    let metas = bytes.chunks(meta_bytes).take(3).filter(|meta| is_whole(format, meta));
    let metas: Vec<&[u8]> = metas.collect();
    let meta = metas.iter().max_by_key(|meta| format.get(meta, "meta block", "txnid"));
    let meta = *meta.expect("a whole meta");
    let mut reader = Reader {
        format,
        bytes,
        page_bytes: format.get(meta, "meta block", "page_bytes") as usize,
        used: format.get(meta, "meta block", "used"),
        seed: seed(format, meta),
        pages: BTreeSet::new(),
        found: Found::default(),
    };
    for meta in &metas {
        let kind = format.name("commit kinds", format.get(meta, "meta block", "commit"));
        reader.count(kind, 1);
    }
    reader.found.txnid = format.get(meta, "meta block", "txnid");
    reader.tree(b"", format.bytes(meta, "meta block", "main"), reader.found.txnid);
    let item_count = format.get(meta, "meta block", "item_count") as usize;
    reader.items(format.bytes(meta, "meta block", "items"), item_count);
    // Every page is in one place.
    let first = (3 * meta_bytes).div_ceil(reader.page_bytes) as u64;
    assert!(reader.pages.iter().copied().eq(first..reader.used), "a page is in no place");
    reader.found
}

fn seed(format: &Format, meta: &[u8]) -> u64 {
    xxh3_64_with_seed(format.bytes(meta, "meta block", "uuid"), 0)
}

fn is_whole(format: &Format, meta: &[u8]) -> bool {
    let get = |name| format.get(meta, "meta block", name);
    let covered = &meta[format.field("meta block", "uuid").at..];
    format.bytes(meta, "meta block", "magic") == b"HUON"
        && get("version") == 1
        && get("features") == 0
        && get("checksum") == xxh3_64_with_seed(covered, seed(format, meta))
}

struct Reader<'f> {
    format: &'f Format,
    bytes: &'f [u8],
    page_bytes: usize,
    used: u64,
    seed: u64,
    pages: BTreeSet<u64>,
    found: Found,
}

impl<'f> Reader<'f> {
    fn count(&mut self, kind: &str, more: usize) {
        *self.found.kinds.entry(kind.to_string()).or_default() += more;
    }

    fn enter(&mut self, pgno: u64, pages: u64) {
        assert!(pgno != 0 && pgno + pages <= self.used, "page {pgno} is past the frontier");
        (pgno..pgno + pages).for_each(|n| assert!(self.pages.insert(n), "page {n} twice"));
    }

    /// The page that `(pgno, birth)` names.
    fn page(&mut self, pgno: u64, birth: u64, kind: &str, level: u64) -> &'f [u8] {
        self.enter(pgno, 1);
        self.count(kind, 1);
        let page = &self.bytes[pgno as usize * self.page_bytes..][..self.page_bytes];
        let get = |name| self.format.get(page, "page header", name);
        assert_eq!((get("pgno"), get("birth"), get("level")), (pgno, birth, level), "page {pgno}");
        assert_eq!(self.format.name("page kinds", get("kind")), kind, "page {pgno}");
        let covered = &page[self.format.field("page header", "checksum").bytes..];
        assert_eq!(get("checksum"), xxh3_64_with_seed(covered, self.seed), "page {pgno}");
        assert_eq!((get("dead_bytes"), get("flags")), (0, 0), "page {pgno}");
        page
    }

    fn tree(&mut self, name: &[u8], record: &[u8], above: u64) {
        let get = |field| self.format.get(record, "tree record", field);
        let order = self.format.name("orders", get("order")).to_string();
        let before = self.found.kinds.clone();
        self.found.tables.insert(name.to_vec(), Vec::new());
        self.found.orders.insert(name.to_vec(), order);
        self.found.depth_max = self.found.depth_max.max(get("depth"));
        assert!(get("changed") <= above, "a tree from the future");
        let mut tables = Vec::new();
        if get("depth") > 0 {
            let root = (get("root_pgno"), get("root_birth"));
            self.node(name, root, get("depth") - 1, above, &mut tables);
        }
        let grown = |kind: &str| {
            let count = |kinds: &BTreeMap<String, usize>| kinds.get(kind).copied().unwrap_or(0);
            (count(&self.found.kinds) - count(&before)) as u64
        };
        let counted = [grown("branch"), grown("leaf"), grown("run pages")];
        assert_eq!(counted, ["branch_pages", "leaf_pages", "run_pages"].map(get));
        let records = (self.found.tables[name].len() + tables.len()) as u64;
        assert_eq!(get("entries"), records);
        for (name, record, birth) in tables {
            self.tree(&name, &record, birth);
        }
    }

    fn node(
        &mut self,
        table: &[u8],
        (pgno, birth): (u64, u64),
        level: u64,
        above: u64,
        tables: &mut Vec<(Vec<u8>, Vec<u8>, u64)>,
    ) {
        assert!(birth <= above, "page {pgno} is younger than what points to it");
        let kind = if level == 0 { "leaf" } else { "branch" };
        let page = self.page(pgno, birth, kind, level);
        let count = self.format.get(page, "page header", "count") as usize;
        let header = self.format.block_bytes("page header");
        if level > 0 {
            let pointers = header + self.format.block_bytes("branch slot") * count;
            let pointer_bytes = self.format.block_bytes("pointer");
            self.separators(page, count);
            for pointer in page[pointers..].chunks(pointer_bytes).take(count) {
                let get = |name| self.format.get(pointer, "pointer", name);
                self.node(table, (get("pgno"), get("birth")), level - 1, birth, tables);
            }
            return;
        }
        let slots = page[header..].chunks(self.format.block_bytes("leaf slot"));
        for slot in slots.take(count) {
            let (key, kind, payload) = self.cell(page, slot);
            self.head(table, page, slot, key);
            self.count(&kind, 1);
            let value = match kind.as_str() {
                "inline" => payload.to_vec(),
                "run" => self.run(payload),
                "table" => {
                    assert!(table.is_empty(), "a table in a named table");
                    tables.push((key.to_vec(), payload.to_vec(), birth));
                    continue;
                }
                kind => panic!("a cell of kind {kind}"),
            };
            let records = self.found.tables.get_mut(table).unwrap();
            records.push((key.to_vec(), value));
        }
    }

    fn cell(&self, page: &'f [u8], slot: &[u8]) -> (&'f [u8], String, &'f [u8]) {
        let get = |name| self.format.get(slot, "leaf slot", name) as usize;
        let cell = &page[get("offset")..];
        let tag = self.format.get(cell, "leaf cell", "tag");
        let (key, rest) = cell[self.format.block_bytes("leaf cell")..].split_at(get("key_bytes"));
        let payload = &rest[..(tag & 0x0FFF_FFFF) as usize];
        (key, self.format.name("cell kinds", tag >> 28).to_string(), payload)
    }

    /// The head of a slot holds the four bytes behind the prefix, in key order.
    fn head(&self, table: &[u8], page: &[u8], slot: &[u8], key: &[u8]) {
        let skip = self.format.get(page, "page header", "prefix_bytes") as usize;
        let mut in_order = key.to_vec();
        match self.found.orders[table].as_str() {
            "bytes" => {}
            "reversed" | "native4" | "native8" => in_order.reverse(),
            _ => in_order.clear(),
        }
        let mut four = [0; 4];
        four.iter_mut().zip(in_order.iter().skip(skip)).for_each(|(to, from)| *to = *from);
        let head = self.format.get(slot, "leaf slot", "head");
        assert_eq!(head, u64::from(u32::from_be_bytes(four)), "a false head");
    }

    /// Separators lie in the heap, and slot 0 is empty.
    fn separators(&mut self, page: &[u8], count: usize) {
        let header = self.format.block_bytes("page header");
        let slot_bytes = self.format.block_bytes("branch slot");
        let heap = self.format.get(page, "page header", "heap_bytes") as usize;
        let prefix = self.format.get(page, "page header", "prefix_bytes") as usize;
        let mut bytes = prefix;
        for (i, slot) in page[header..].chunks(slot_bytes).take(count).enumerate() {
            let get = |name| self.format.get(slot, "branch slot", name) as usize;
            bytes += get("rest_bytes");
            match i {
                0 => assert_eq!(slot, vec![0; slot_bytes], "slot 0 of a branch"),
                _ if get("rest_bytes") == 0 => {}
                _ => assert!(get("offset") >= page.len() - heap),
            }
        }
        assert_eq!(bytes, heap, "the heap of a branch is its separators");
        self.count("separators with a prefix", if prefix > 0 { count - 1 } else { 0 });
    }

    fn run(&mut self, reference: &[u8]) -> Vec<u8> {
        assert_eq!(reference.len(), self.format.block_bytes("run reference"));
        let get = |name| self.format.get(reference, "run reference", name);
        let (start, len) = (get("pgno") as usize * self.page_bytes, get("bytes") as usize);
        let pages = len.div_ceil(self.page_bytes);
        self.enter(get("pgno"), pages as u64);
        self.count("run pages", pages);
        let value = &self.bytes[start..start + len];
        assert_eq!(get("checksum"), xxh3_64_with_seed(value, self.seed), "a run");
        let padding = &self.bytes[start + len..start + pages * self.page_bytes];
        assert!(padding.iter().all(|byte| *byte == 0), "the padding of a run");
        value.to_vec()
    }

    fn items(&mut self, places: &[u8], count: usize) {
        let item_bytes = self.format.block_bytes("free-space item");
        for item in places.chunks_exact(item_bytes).take(count) {
            let get = |name| self.format.get(item, "free-space item", name);
            let (pages, headerless) = (get("pages") & 0x7FFF_FFFF, get("pages") >> 31 == 1);
            if pages > 0 {
                self.enter(get("pgno"), pages);
                let kind = match (get("birth"), headerless) {
                    (0, _) => "free items",
                    (_, true) => "items of runs",
                    (_, false) => "items of pages",
                };
                self.count(kind, 1);
                continue;
            }
            self.count("chains", 1);
            let mut next = (get("pgno"), get("birth"));
            while next.0 != 0 {
                let chunk = self.page(next.0, next.1, "chunk", 0);
                let count = self.format.get(chunk, "page header", "count") as usize;
                self.items(&chunk[self.format.field("chunk", "items").at..], count);
                let pointer = self.format.bytes(chunk, "chunk", "next");
                let get = |name| self.format.get(pointer, "pointer", name);
                next = (get("pgno"), get("birth"));
            }
        }
    }
}

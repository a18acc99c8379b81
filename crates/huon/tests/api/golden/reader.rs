//! A reader of data files that knows nothing but FORMAT.md, and shares no code with the engine.
//!
//! It is simple and slow, and panics at whatever is not as the document says.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::format::Format;

/// Records in the order in which they lie in the tree: key and value. Of a multimap: the pairs.
pub(crate) type Records = Vec<(Vec<u8>, Vec<u8>)>;

/// What a file holds.
#[derive(Default)]
pub(crate) struct Found {
    /// By name; the main table's is empty. Its own records only.
    pub(crate) tables: BTreeMap<Vec<u8>, Records>,
    pub(crate) orders: BTreeMap<Vec<u8>, String>,
    /// Of multimaps: the order of values, and the length of each or 0.
    pub(crate) values: BTreeMap<Vec<u8>, (String, u64)>,
    /// The names behind the record of each table, with their roles.
    pub(crate) names: BTreeMap<Vec<u8>, Vec<(u64, String)>>,
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
    let item_count = format.get(meta, "meta block", "free_count") as usize;
    reader.items(format.bytes(meta, "meta block", "free_entries"), item_count);
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

/// What pages of a tree are read with.
struct TreeOf<'n> {
    table: &'n [u8],
    /// The order of its keys.
    order: String,
    /// Length of each key of a tree of values, or each value of a multimap; 0: any.
    fixed_bytes: u64,
    /// Of a multimap: the order of its values.
    values: Option<String>,
    /// Of a tree of values: the key that they belong to.
    key: Option<Vec<u8>>,
}

/// The record of a named table, its name, and the birth of the page that it lies on.
type Table = (Vec<u8>, Vec<u8>, u64);

impl<'f> Reader<'f> {
    fn count(&mut self, kind: &str, more: usize) {
        *self.found.kinds.entry(kind.to_string()).or_default() += more;
    }

    fn enter(&mut self, pgno: u64, pages: u64) {
        assert!(pgno != 0 && pgno + pages <= self.used, "page {pgno} is past the mark");
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
        // Only leaves have hints, and no page in a file has the first flag.
        let hints = if kind == "branch" || kind == "free-list" { 0 } else { get("flags") & !1 };
        assert_eq!((get("dead_bytes"), get("flags")), (0, hints), "page {pgno}");
        page
    }

    fn tree(&mut self, name: &[u8], record: &[u8], above: u64) {
        let get = |field| self.format.get(record, "tree record", field);
        let order = self.format.name("orders", get("order")).to_string();
        self.found.tables.insert(name.to_vec(), Vec::new());
        self.found.orders.insert(name.to_vec(), order.clone());
        let fixed_bytes = get("fixed_bytes");
        let values = self.order_of_values(get("flags"), fixed_bytes);
        if let Some(values) = &values {
            assert!(!name.is_empty(), "the main table is no multimap");
            self.found.values.insert(name.to_vec(), (values.clone(), fixed_bytes));
        }
        let names = self.names_behind(record);
        assert!(names.is_empty() || !name.is_empty(), "the main table has names behind its record");
        self.found.names.insert(name.to_vec(), names);
        let of = TreeOf { table: name, order, fixed_bytes, values, key: None };
        let mut tables = Vec::new();
        self.pages_of(&of, record, above, &mut tables);
        let records = (self.found.tables[name].len() + tables.len()) as u64;
        assert_eq!(get("entries"), records);
        for (name, record, birth) in tables {
            self.tree(&name, &record, birth);
        }
    }

    /// The names behind a record, each with its role.
    fn names_behind(&self, record: &[u8]) -> Vec<(u64, String)> {
        const BLOCK: &str = "name behind a record";
        let mut rest = &record[self.format.block_bytes("tree record")..];
        let fingerprint = if rest.is_empty() { 0 } else { xxh3_64_with_seed(rest, 0).max(1) };
        assert_eq!(self.format.get(record, "tree record", "labels"), fingerprint);
        let mut names = Vec::new();
        while !rest.is_empty() {
            let get = |field| self.format.get(rest, BLOCK, field);
            let (role, end) =
                (get("role"), self.format.block_bytes(BLOCK) + get("name_bytes") as usize);
            let name = rest[self.format.block_bytes(BLOCK)..end].to_vec();
            assert!(names.last().is_none_or(|(before, _)| *before < role), "roles rise");
            names.push((role, String::from_utf8(name).expect("a name is text")));
            rest = &rest[end..];
        }
        names
    }

    /// How the values of a multimap compare, by the flags of its record.
    fn order_of_values(&self, flags: u64, fixed_bytes: u64) -> Option<String> {
        let flag = |name| self.format.number("multimaps", name);
        if flags == 0 {
            assert_eq!(fixed_bytes, 0, "one length of values in a table that is no multimap");
            return None;
        }
        let order = flags / flag("values");
        let equal = flags & flag("equal");
        assert_eq!(flags, flag("many") + equal + order * flag("values"), "flags of a multimap");
        assert!(equal != 0 || fixed_bytes == 0, "one length, and values of any");
        Some(self.format.name("orders", order).to_string())
    }

    /// The pages of a tree, which its record counts.
    fn pages_of(&mut self, of: &TreeOf<'_>, record: &[u8], above: u64, tables: &mut Vec<Table>) {
        let get = |field| self.format.get(record, "tree record", field);
        let before = self.found.kinds.clone();
        self.found.depth_max = self.found.depth_max.max(get("depth"));
        assert!(get("changed") <= above, "a tree from the future");
        if get("depth") > 0 {
            let root = (get("root_pgno"), get("root_birth"));
            self.node(of, root, get("depth") - 1, above, tables);
        }
        let grown = |kind: &str| {
            let count = |kinds: &BTreeMap<String, usize>| kinds.get(kind).copied().unwrap_or(0);
            (count(&self.found.kinds) - count(&before)) as u64
        };
        let counted = [grown("branch"), grown("leaf") + grown("fixed"), grown("overflow pages")];
        assert_eq!(counted, ["branch_pages", "leaf_pages", "overflow_pages"].map(get));
    }

    fn node(
        &mut self,
        of: &TreeOf<'_>,
        (pgno, birth): (u64, u64),
        level: u64,
        above: u64,
        tables: &mut Vec<Table>,
    ) {
        assert!(birth <= above, "page {pgno} is younger than what points to it");
        let kind = match (level, &of.key) {
            (0, Some(_)) if of.fixed_bytes != 0 => "fixed",
            (0, _) => "leaf",
            _ => "branch",
        };
        let page = self.page(pgno, birth, kind, level);
        let count = self.format.get(page, "page header", "count") as usize;
        let header = self.format.block_bytes("page header");
        match kind {
            "fixed" => self.fixed_leaf(of, page, count),
            "leaf" => {
                let slots = page[header..].chunks(self.format.block_bytes("leaf slot"));
                slots.take(count).for_each(|slot| self.slot(of, page, slot, birth, tables));
            }
            _ => {
                let pointers = header + self.format.block_bytes("branch slot") * count;
                let pointer_bytes = self.format.block_bytes("pointer");
                self.separators(page, count);
                for pointer in page[pointers..].chunks(pointer_bytes).take(count) {
                    let get = |name| self.format.get(pointer, "pointer", name);
                    self.node(of, (get("pgno"), get("birth")), level - 1, birth, tables);
                }
            }
        }
    }

    /// A record of a leaf born with `birth`.
    fn slot(
        &mut self,
        of: &TreeOf<'_>,
        page: &'f [u8],
        slot: &[u8],
        birth: u64,
        tables: &mut Vec<Table>,
    ) {
        let (key, kind, payload) = self.cell(page, slot);
        self.head(&of.order, page, slot, key);
        self.count(&kind, 1);
        if let Some(owner) = &of.key {
            assert!(kind == "inline" && payload.is_empty(), "a value of a value");
            self.count("values in slotted leaves", 1);
            return self.record(of, owner, key.to_vec());
        }
        if of.values.is_some() {
            return self.values(of, key, &kind, payload, birth);
        }
        match kind.as_str() {
            "inline" => self.record(of, key, payload.to_vec()),
            "overflow" => {
                let value = self.run(payload);
                self.record(of, key, value);
            }
            "table" => {
                assert!(of.table.is_empty(), "a table in a named table");
                tables.push((key.to_vec(), payload.to_vec(), birth));
            }
            kind => panic!("a cell of kind {kind}"),
        }
    }

    fn record(&mut self, of: &TreeOf<'_>, key: &[u8], value: Vec<u8>) {
        let fixed = of.fixed_bytes == 0 || of.fixed_bytes == value.len() as u64;
        assert!(fixed, "a value of another length");
        self.found.tables.get_mut(of.table).unwrap().push((key.to_vec(), value));
    }

    /// What the cell of a multimap's key holds.
    fn values(&mut self, of: &TreeOf<'_>, key: &[u8], kind: &str, payload: &'f [u8], birth: u64) {
        let tree_bytes = self.format.block_bytes("tree record");
        if kind == "duplicate-tree" {
            return self.tree_of_values(of, key, payload, birth);
        }
        let beside = self.format.block_bytes("leaf slot") + self.format.block_bytes("leaf cell");
        let cell_bytes = beside + key.len() + payload.len();
        let half = (self.page_bytes - self.format.block_bytes("page header")) / 2;
        assert!(cell_bytes <= half || payload.len() <= tree_bytes, "a cell that is too large");
        match kind {
            "inline" => self.record(of, key, payload.to_vec()),
            "duplicate-set" => {
                let values = self.set(payload, of.fixed_bytes as usize);
                assert!(values.len() >= 2, "a set of less than two values");
                values.into_iter().for_each(|value| self.record(of, key, value));
            }
            kind => panic!("a cell of kind {kind} in a multimap"),
        }
    }

    fn set(&mut self, payload: &[u8], fixed_bytes: usize) -> Vec<Vec<u8>> {
        if fixed_bytes != 0 {
            assert_eq!(payload.len() % fixed_bytes, 0, "a set of values");
            self.count("sets of one length", 1);
            return payload.chunks(fixed_bytes).map(<[u8]>::to_vec).collect();
        }
        self.count("sets of any length", 1);
        let count = self.format.get(payload, "set of values", "count") as usize;
        let (ends, values) =
            payload[self.format.block_bytes("set of values")..].split_at(2 * count);
        let mut start = 0;
        let all = ends.as_chunks().0.iter().map(|&end| {
            let from = std::mem::replace(&mut start, usize::from(u16::from_le_bytes(end)));
            values[from..start].to_vec()
        });
        let all = all.collect();
        assert_eq!(start, values.len(), "the last end of a set");
        all
    }

    fn tree_of_values(&mut self, of: &TreeOf<'_>, key: &[u8], record: &[u8], above: u64) {
        assert_eq!(record.len(), self.format.block_bytes("tree record"));
        let get = |field| self.format.get(record, "tree record", field);
        let values = of.values.clone().expect("it is of a multimap");
        assert_eq!(self.format.name("orders", get("order")), values);
        assert_eq!([get("flags"), get("sequence"), get("overflow_pages")], [0; 3]);
        assert_eq!(get("fixed_bytes"), of.fixed_bytes);
        self.count("trees of values with branches", usize::from(get("depth") > 1));
        let count = |reader: &Reader<'_>| reader.found.tables[of.table].len() as u64;
        let before = count(self);
        let inner = TreeOf { order: values, values: None, key: Some(key.to_vec()), ..*of };
        self.pages_of(&inner, record, above, &mut Vec::new());
        assert_eq!(get("entries"), count(self) - before);
        assert_ne!(get("entries"), 0, "a tree of values is never empty");
    }

    fn fixed_leaf(&mut self, of: &TreeOf<'_>, page: &[u8], count: usize) {
        let get = |name| self.format.get(page, "page header", name);
        assert_eq!((get("heap_bytes"), get("prefix_bytes")), (0, of.fixed_bytes));
        let (values, rest) = page[self.format.block_bytes("page header")..]
            .split_at(count * of.fixed_bytes as usize);
        assert!(rest.iter().all(|byte| *byte == 0), "more than keys in a fixed leaf");
        let key = of.key.as_ref().expect("a fixed leaf holds values");
        for value in values.chunks(of.fixed_bytes as usize) {
            self.record(of, key, value.to_vec());
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
    fn head(&self, order: &str, page: &[u8], slot: &[u8], key: &[u8]) {
        let skip = self.format.get(page, "page header", "prefix_bytes") as usize;
        let mut in_order = key.to_vec();
        match order {
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
        assert_eq!(reference.len(), self.format.block_bytes("overflow reference"));
        let get = |name| self.format.get(reference, "overflow reference", name);
        let (start, len) = (get("pgno") as usize * self.page_bytes, get("bytes") as usize);
        let pages = len.div_ceil(self.page_bytes);
        self.enter(get("pgno"), pages as u64);
        self.count("overflow pages", pages);
        let value = &self.bytes[start..start + len];
        assert_eq!(get("checksum"), xxh3_64_with_seed(value, self.seed), "a large value");
        let padding = &self.bytes[start + len..start + pages * self.page_bytes];
        assert!(padding.iter().all(|byte| *byte == 0), "the padding of a large value");
        value.to_vec()
    }

    fn items(&mut self, places: &[u8], count: usize) {
        let item_bytes = self.format.block_bytes("free-list entry");
        for item in places.chunks_exact(item_bytes).take(count) {
            let get = |name| self.format.get(item, "free-list entry", name);
            let (pages, headerless) = (get("pages") & 0x7FFF_FFFF, get("pages") >> 31 == 1);
            if pages > 0 {
                self.enter(get("pgno"), pages);
                let kind = match (get("birth"), headerless) {
                    (0, _) => "free entries",
                    (_, true) => "entries of overflow pages",
                    (_, false) => "entries of pages",
                };
                self.count(kind, 1);
                continue;
            }
            self.count("chains", 1);
            let mut next = (get("pgno"), get("birth"));
            while next.0 != 0 {
                let chunk = self.page(next.0, next.1, "free-list", 0);
                let count = self.format.get(chunk, "page header", "count") as usize;
                self.items(&chunk[self.format.field("free-list page", "free_entries").at..], count);
                let pointer = self.format.bytes(chunk, "free-list page", "next");
                let get = |name| self.format.get(pointer, "pointer", name);
                next = (get("pgno"), get("birth"));
            }
        }
    }
}

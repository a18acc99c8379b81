//! Files whose pages claim more than they hold: cells upon cells, values upon values, chains upon
//! chains. A program that takes each for itself takes many times the file.

use huon::sim::Sealer;

use super::file::{CHUNK_ITEMS, HEADER_BYTES, ITEM_BYTES, META_BYTES, cell, header, meta, tree};
use super::pairs::MULTIS;

const UUID: [u8; 16] = [3; 16];
const TXNID: u64 = 9;

/// A file made from nothing.
struct Made {
    bytes: Vec<u8>,
    page_bytes: usize,
    used: u32,
}

impl Made {
    fn new(page_bytes: usize) -> Made {
        let first = (3 * META_BYTES).div_ceil(page_bytes);
        Made { bytes: vec![0; first * page_bytes], page_bytes, used: first as u32 }
    }

    /// Adds a page of a kind and level; `fill` gets it with its header, but for the count.
    fn page(&mut self, kind: u8, level: u8, fill: impl FnOnce(&mut [u8]) -> u16) -> u32 {
        let pgno = self.used;
        let mut page = vec![0; self.page_bytes];
        page[header::PGNO..][..4].copy_from_slice(&pgno.to_le_bytes());
        page[header::KIND] = kind;
        page[header::LEVEL] = level;
        page[header::BIRTH..][..8].copy_from_slice(&TXNID.to_le_bytes());
        let count = fill(&mut page);
        page[header::COUNT..][..2].copy_from_slice(&count.to_le_bytes());
        Sealer::new(&UUID).page(&mut page);
        self.bytes.extend(page);
        self.used += 1;
        pgno
    }

    /// A leaf whose cells all lie at one place, with keys of more and more zeros.
    fn crowded_leaf(&mut self, tag: u32) -> u32 {
        self.page(2, 0, |page| {
            let count = (page.len() / 2 - HEADER_BYTES) / 8;
            let cell = HEADER_BYTES + 8 * count;
            let step = (page.len() - cell - 4 - 64) / count;
            page[cell..cell + 4].copy_from_slice(&tag.to_le_bytes());
            for i in 0..count {
                let slot = &mut page[HEADER_BYTES + 8 * i..][..8];
                slot[4..6].copy_from_slice(&(cell as u16).to_le_bytes());
                slot[6..8].copy_from_slice(&((step * i) as u16).to_le_bytes());
            }
            let heap = (page.len() - cell) as u16;
            page[header::HEAP..][..2].copy_from_slice(&heap.to_le_bytes());
            count as u16
        })
    }

    /// A leaf of values that all lie in the same pages.
    fn leaf_of_one_value(&mut self, reference: [u8; 28], from: u32) -> u32 {
        self.leaf_of(cell::RUN, &reference, from)
    }

    /// A leaf of cells of a kind with one payload, and with rising keys.
    fn leaf_of(&mut self, kind: u32, payload: &[u8], from: u32) -> u32 {
        let cell_bytes = 8 + payload.len();
        self.page(2, 0, |page| {
            let count = (page.len() - HEADER_BYTES) / (8 + cell_bytes);
            let mut end = page.len();
            for i in 0..count {
                end -= cell_bytes;
                let key = (from + i as u32).to_be_bytes();
                let tag = kind << 28 | payload.len() as u32;
                page[end..end + 4].copy_from_slice(&tag.to_le_bytes());
                page[end + 4..end + 8].copy_from_slice(&key);
                page[end + 8..end + cell_bytes].copy_from_slice(payload);
                let slot = &mut page[HEADER_BYTES + 8 * i..][..8];
                slot[..4].copy_from_slice(&u32::from_be_bytes(key).to_le_bytes());
                slot[4..6].copy_from_slice(&(end as u16).to_le_bytes());
                slot[6] = 4;
            }
            let heap = (page.len() - end) as u16;
            page[header::HEAP..][..2].copy_from_slice(&heap.to_le_bytes());
            count as u16
        })
    }

    /// A branch over these pages, all with a separator of nothing.
    fn branch(&mut self, children: &[u32]) -> u32 {
        self.page(1, 1, |page| {
            let pointers = HEADER_BYTES + 8 * children.len();
            for (i, child) in children.iter().enumerate() {
                let at = pointers + 12 * i;
                page[at..at + 4].copy_from_slice(&child.to_le_bytes());
                page[at + 4..at + 12].copy_from_slice(&TXNID.to_le_bytes());
            }
            children.len() as u16
        })
    }

    /// The file, with this main table and this free-space item.
    fn finish(mut self, root: u32, depth: u8, chain: Option<u32>) -> Vec<u8> {
        let used = self.used;
        let page_bytes = self.page_bytes as u32;
        let mut put = |at: usize, bytes: &[u8]| {
            self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put(0, b"HUON\x01");
        put(meta::UUID, &UUID);
        put(meta::PAGE_BYTES, &page_bytes.to_le_bytes());
        put(meta::COMMIT, &2u32.to_le_bytes());
        put(meta::TXNID, &TXNID.to_le_bytes());
        put(meta::CEILING, &100u64.to_le_bytes());
        put(meta::UPPER, &(used + 1000).to_le_bytes());
        put(meta::USED, &used.to_le_bytes());
        if depth > 0 {
            put(meta::MAIN + tree::ROOT, &root.to_le_bytes());
            put(meta::MAIN + tree::DEPTH, &[depth]);
            put(meta::MAIN + tree::BIRTH, &TXNID.to_le_bytes());
            put(meta::MAIN + tree::ENTRIES, &u64::MAX.to_le_bytes());
            put(meta::MAIN + tree::RUNS, &1u32.to_le_bytes());
        }
        if let Some(chunk) = chain {
            put(meta::ITEMS, &chunk.to_le_bytes());
            put(meta::ITEMS + 8, &TXNID.to_le_bytes());
            put(meta::ITEM_COUNT, &1u32.to_le_bytes());
        }
        Sealer::meta(self.bytes.first_chunk_mut().expect("a block"));
        self.bytes
    }
}

/// Every crowd, with its name.
pub fn each() -> Vec<(&'static str, Vec<u8>)> {
    let crowd = |page_bytes: usize, leaves: usize, tag: u32| {
        let mut file = Made::new(page_bytes);
        let leaves: Vec<u32> = (0..leaves).map(|_| file.crowded_leaf(tag)).collect();
        let root = file.branch(&leaves);
        file.finish(root, 2, None)
    };
    vec![
        ("tables of overlapping names", crowd(65_536, 12, 1 << 28 | 64)),
        ("tables of overlapping names, small pages", crowd(4096, 180, 1 << 28 | 64)),
        ("overlapping records", crowd(65_536, 12, 0)),
        ("values in the same pages", one_value(20, 60)),
        ("a leaf that is named often", often_named(150)),
        ("chains upon chains", chains(200)),
        ("one tree of values for all keys", one_tree_of_values(100)),
        ("values in the leaf of their keys", values_in_their_own_leaf()),
    ]
}

/// Leaves whose values are all one large value.
fn one_value(leaves: u32, value_pages: usize) -> Vec<u8> {
    let mut file = Made::new(4096);
    let first = file.used;
    let value = vec![5; value_pages * 4096];
    file.bytes.extend(&value);
    file.used += value_pages as u32;
    let mut reference = [0; 28];
    reference[..4].copy_from_slice(&first.to_le_bytes());
    reference[4..8].copy_from_slice(&(value.len() as u32).to_le_bytes());
    reference[8..16].copy_from_slice(&TXNID.to_le_bytes());
    reference[16..24].copy_from_slice(&Sealer::new(&UUID).value(&value).to_le_bytes());
    let leaf = |file: &mut Made, n: u32| file.leaf_of_one_value(reference, n * 200);
    let leaves: Vec<u32> = (0..leaves).map(|n| leaf(&mut file, n)).collect();
    let root = file.branch(&leaves);
    file.finish(root, 2, None)
}

/// One leaf of large values, named by all slots of all branches: depth 3.
fn often_named(branches: u32) -> Vec<u8> {
    let mut file = Made::new(4096);
    let leaf = file.leaf_of_one_value([1; 28], 0);
    let branches: Vec<u32> = (0..branches).map(|_| file.branch(&[leaf; 200])).collect();
    let root = file.page(1, 2, |page| {
        let pointers = HEADER_BYTES + 8 * branches.len();
        for (i, child) in branches.iter().enumerate() {
            let at = pointers + 12 * i;
            page[at..at + 4].copy_from_slice(&child.to_le_bytes());
            page[at + 4..at + 12].copy_from_slice(&TXNID.to_le_bytes());
        }
        branches.len() as u16
    });
    file.finish(root, 3, None)
}

/// The record of a tree.
fn record(root: u32, depth: u8, flags: u16, entries: u64) -> [u8; 64] {
    let mut record = [0; 64];
    record[tree::ROOT..][..4].copy_from_slice(&root.to_le_bytes());
    record[tree::DEPTH] = depth;
    record[tree::FLAGS..][..2].copy_from_slice(&flags.to_le_bytes());
    record[tree::BIRTH..][..8].copy_from_slice(&TXNID.to_le_bytes());
    record[tree::ENTRIES..][..8].copy_from_slice(&entries.to_le_bytes());
    record
}

/// A main table that holds a multimap and nothing else.
fn multimap(mut file: Made, root: u32, depth: u8) -> Vec<u8> {
    let (name, record) = (MULTIS[0].as_bytes(), record(root, depth, 1, 1 << 40));
    let main = file.page(2, 0, |page| {
        let end = page.len() - 4 - name.len() - record.len();
        let tag = cell::TABLE << 28 | record.len() as u32;
        page[end..end + 4].copy_from_slice(&tag.to_le_bytes());
        page[end + 4..][..name.len()].copy_from_slice(name);
        page[end + 4 + name.len()..].copy_from_slice(&record);
        let mut head = [0; 4];
        head.copy_from_slice(&name[..4]);
        page[HEADER_BYTES..][..4].copy_from_slice(&u32::from_be_bytes(head).to_le_bytes());
        page[HEADER_BYTES + 4..][..2].copy_from_slice(&(end as u16).to_le_bytes());
        page[HEADER_BYTES + 6..][..2].copy_from_slice(&(name.len() as u16).to_le_bytes());
        let heap = (page.len() - end) as u16;
        page[header::HEAP..][..2].copy_from_slice(&heap.to_le_bytes());
        1
    });
    file.finish(main, 1, None)
}

/// Leaves of a multimap whose keys all have the same tree of values, which names one leaf often.
fn one_tree_of_values(leaves: u32) -> Vec<u8> {
    let mut file = Made::new(4096);
    let leaf = file.leaf_of(0, &[], 0);
    let root = file.branch(&[leaf; 200]);
    // Of so many each that their sum is more than a number holds.
    let values = record(root, 2, 0, u64::MAX - 3);
    let mut leaf_of_keys = |n: u32| file.leaf_of(cell::VALUES, &values, n * 200);
    let leaves: Vec<u32> = (0..leaves).map(&mut leaf_of_keys).collect();
    let root = file.branch(&leaves);
    multimap(file, root, 2)
}

/// A leaf of keys whose trees of values are this very leaf.
fn values_in_their_own_leaf() -> Vec<u8> {
    let mut file = Made::new(4096);
    let own = record(file.used, 1, 0, 50);
    let leaf = file.leaf_of(cell::VALUES, &own, 0);
    multimap(file, leaf, 1)
}

/// Chunks whose items are all chains to the next chunk.
fn chains(chunks: u32) -> Vec<u8> {
    let mut file = Made::new(4096);
    let first = file.used;
    for n in 0..chunks {
        let next = first + (n + 1) % chunks;
        file.page(4, 0, |page| {
            for item in page[CHUNK_ITEMS..].chunks_exact_mut(ITEM_BYTES).take(78) {
                item[..4].copy_from_slice(&next.to_le_bytes());
                item[8..16].copy_from_slice(&TXNID.to_le_bytes());
            }
            78
        });
    }
    file.finish(0, 0, Some(first))
}

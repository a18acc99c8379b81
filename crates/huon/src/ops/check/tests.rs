//! Images that were edited, their checksums set right again: what only a check can notice.

use super::*;
use crate::ops::copy::CopyOptions;
use crate::ops::records::RecordVisitor;
use crate::ops::stat::TableStat;
use crate::page::{BranchMut, BytesOrder, CommitKind, Item, Kind, META_BYTES, Pgno, Seal, Tree};
use crate::page::{HEADER_BYTES, PayloadKind, RunRef, SlottedLeaf, header};
use crate::sim::SimDisk;
use crate::testing::Random;
use crate::txn::commit::Durability;
use crate::{Bytes, TableDef};

const PAGE: usize = 512;
const RESERVE: u64 = 8 << 20;

/// Wants to see all records.
struct Everything;

impl RecordVisitor for Everything {
    fn table(&mut self, _: &TableStat) -> ControlFlow<(), bool> {
        ControlFlow::Continue(true)
    }

    fn record(&mut self, _: &[u8], _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A file as bytes, with one meta that needs no verified tail.
#[derive(Clone)]
struct Image {
    bytes: Vec<u8>,
    meta: Meta,
    seal: Seal,
}

impl Image {
    /// A file that holds every kind of page.
    fn sample() -> Image {
        let disk = SimDisk::new(RESERVE).unwrap().quiet();
        let env = Env::options().page_bytes(PAGE).open_simulated(&disk).unwrap();
        let mut pins = Vec::new();
        for round in 0..40u64 {
            let mut txn = env.write().unwrap();
            for name in ["one", "two"] {
                let table = txn.create_table(&TableDef::<Bytes, Bytes>::new(name)).unwrap();
                for n in 0..120u64 {
                    let key = (n * 7919 + round * 13).wrapping_mul(0x9E37_79B9) % 10_007;
                    let bytes = if n % 40 == 0 { 1500 } else { 30 };
                    let value = vec![round as u8; bytes];
                    table.put(&mut txn, &key.to_be_bytes(), &value).unwrap();
                    if n % 3 == 0 {
                        table.remove(&mut txn, &(key ^ 1).to_be_bytes()).unwrap();
                    }
                }
            }
            txn.commit_with(Durability::Durable).unwrap();
            if round % 4 == 0 {
                pins.push(env.read().unwrap());
            }
        }
        let image = Image::of(disk.image());
        let report = image.check();
        assert!(report.is_clean(), "{:#?}", report.problems);
        assert!(report.free_list_pages > 1 && report.tables.iter().all(|t| t.leaf_pages > 0));
        assert!(report.tables[1].branch_pages > 3 && report.tables[1].overflow_pages > 3);
        image
    }

    /// Of the bytes of a file, with its newest meta.
    fn of(bytes: Vec<u8>) -> Image {
        let blocks = bytes.as_chunks::<META_BYTES>().0.iter().take(3);
        let metas = blocks.filter_map(|block| Meta::decode(block).ok());
        let meta = metas.max_by_key(|meta| meta.txnid).unwrap();
        let seal = Seal::new(&meta.uuid);
        let mut bytes = bytes;
        bytes.truncate(meta.used as usize * PAGE);
        Image { bytes, meta, seal }
    }

    fn page(&mut self, pgno: u32) -> &mut [u8] {
        &mut self.bytes[pgno as usize * PAGE..][..PAGE]
    }

    /// Edits a page and sets its checksum right.
    fn edit(&mut self, pgno: u32, edit: impl FnOnce(&mut [u8])) {
        let seal = self.seal;
        let page = self.page(pgno);
        edit(page);
        seal.stamp(page);
    }

    fn open(&self) -> Env {
        let mut bytes = self.bytes.clone();
        let meta = Meta { commit: CommitKind::TwoFlush, ..self.meta.clone() };
        bytes[..3 * META_BYTES].fill(0);
        bytes[..META_BYTES].copy_from_slice(&meta.encode());
        let disk = SimDisk::from_image(&bytes, 0).unwrap().quiet();
        Env::options().read_only(true).open_simulated(&disk).unwrap()
    }

    fn check(&self) -> CheckReport {
        self.open().check().unwrap()
    }

    /// The check finds a problem on that page with these words in it.
    fn assert_finds(&self, pgno: Option<u32>, words: &str) {
        let report = self.check();
        let found = report.problems.iter().any(|p| p.pgno == pgno && p.text.contains(words));
        assert!(found, "no {words:?} on {pgno:?}: {:#?}", report.problems);
    }

    /// Pages of a kind that are in use.
    fn pages_of(&self, kind: Kind, level: u8) -> Vec<u32> {
        let env = self.open();
        let mut options = CheckOptions::new();
        let (_pin, meta) = pinned::pin(&env).unwrap();
        let mut check = Check::new(env.core().unwrap(), &meta, &mut options).unwrap();
        check.space(&meta).unwrap();
        check.tables(&meta.main).unwrap();
        let mut runs = Bitmap::new(meta.used).unwrap();
        for (_, run) in self.runs(&check.used) {
            for step in 0..run.pages(PAGE) {
                runs.put(run.pgno.0 + step);
            }
        }
        let is = |pgno: &u32| {
            let page = &self.bytes[*pgno as usize * PAGE..][..PAGE];
            check.used.has(*pgno)
                && !runs.has(*pgno)
                && header::kind(page) == Some(kind)
                && header::level(page) == level
        };
        (0..meta.used).filter(is).collect()
    }

    /// Large values, with the leaves that refer to them, among the pages in use.
    fn runs(&self, used: &Bitmap) -> Vec<(u32, RunRef)> {
        let mut runs = Vec::new();
        for pgno in (0..used.limit()).filter(|&pgno| used.has(pgno)) {
            let page = &self.bytes[pgno as usize * PAGE..][..PAGE];
            let whole = self.seal.verify(page).is_ok();
            if !whole || header::kind(page) != Some(Kind::Leaf) {
                continue;
            }
            let leaf = SlottedLeaf::view(page, header::count(page)).unwrap();
            let cells = (0..leaf.count()).map(|i| leaf.cell(i).unwrap());
            let refs = cells.filter(|cell| cell.kind == PayloadKind::Run);
            runs.extend(refs.map(|cell| (pgno, RunRef::decode(cell.payload).unwrap())));
        }
        runs
    }

    fn some_runs(&self) -> Vec<(u32, RunRef)> {
        let mut all = Bitmap::new(self.meta.used).unwrap();
        for pgno in self.pages_of(Kind::Leaf, 0) {
            all.put(pgno);
        }
        self.runs(&all)
    }
}

#[test]
fn every_flip_is_found_on_its_page() {
    let image = Image::sample();
    let mut random = Random::new(1);
    let mut flips = 0;
    let mut flip = |pgno: u32, byte: usize, bit: u32| {
        let mut damaged = image.clone();
        damaged.page(pgno)[byte] ^= 1 << bit;
        let report = damaged.check();
        let named = report.problems.iter().any(|problem| problem.pgno == Some(pgno));
        assert!(named, "page {pgno} byte {byte} bit {bit}: {:#?}", report.problems);
        flips += 1;
    };
    for (kind, level) in [(Kind::Leaf, 0), (Kind::Branch, 1), (Kind::Chunk, 0)] {
        let pages = image.pages_of(kind, level);
        assert!(!pages.is_empty());
        for byte in (0..PAGE).step_by(7) {
            flip(pages[byte % pages.len()], byte, random.below(8) as u32);
        }
    }
    for (_, run) in image.some_runs() {
        for byte in [0, run.bytes as usize - 1, random.below(u64::from(run.bytes)) as usize] {
            let mut damaged = image.clone();
            damaged.bytes[run.pgno.0 as usize * PAGE + byte] ^= 1 << random.below(8);
            damaged.assert_finds(Some(run.pgno.0), "large value");
            flips += 1;
        }
    }
    crate::figure("flip", flips);
}

#[test]
fn stale_and_swapped_pages_are_found() {
    let image = Image::sample();
    let leaves = image.pages_of(Kind::Leaf, 0);
    let mut swapped = image.clone();
    let (a, b) = (leaves[0], leaves[1]);
    let bytes = image.clone().page(a).to_vec();
    swapped.bytes.copy_within(b as usize * PAGE..(b as usize + 1) * PAGE, a as usize * PAGE);
    swapped.page(b).copy_from_slice(&bytes);
    swapped.assert_finds(Some(a), "header");
    swapped.assert_finds(Some(b), "header");
    // The page's contents before it was written last: another birth, all else in order.
    let mut stale = image.clone();
    stale.edit(a, |page| {
        let mut ptr = header::ptr(page);
        ptr.birth.0 -= 1;
        header::set_ptr(page, ptr);
    });
    stale.assert_finds(Some(a), "header");
    let mut lost = image.clone();
    lost.page(a).fill(0);
    lost.assert_finds(Some(a), "header");
}

#[test]
fn leaks_and_double_use_are_found() {
    let image = Image::sample();
    let at = image.meta.items.iter().position(|item| !item.is_chain()).unwrap();
    let item = image.meta.items[at];

    let mut leak = image.clone();
    leak.meta.items.remove(at);
    leak.assert_finds(Some(item.pgno), "neither in use nor listed");

    let mut twice = image.clone();
    twice.meta.items.push(item);
    twice.assert_finds(Some(item.pgno), "free twice");

    let leaf = image.pages_of(Kind::Leaf, 0)[3];
    let mut used = image.clone();
    used.meta.items.push(Item::free(Pgno(leaf), 1));
    used.assert_finds(Some(leaf), "listed as free");

    let chunk = image.pages_of(Kind::Chunk, 0)[0];
    let mut used = image.clone();
    used.meta.items.push(Item::free(Pgno(chunk), 1));
    assert!(!used.check().is_clean());

    let run = image.some_runs()[0].1;
    let mut used = image.clone();
    used.meta.items.push(Item::free(Pgno(run.pgno.0 + 1), 1));
    used.assert_finds(Some(run.pgno.0 + 1), "listed as free");

    let mut life = image.clone();
    life.meta.items[at].freed = life.meta.txnid.0 + 1;
    life.assert_finds(Some(item.pgno), "makes no sense");

    let mut chain = image.clone();
    let first = *image.meta.items.iter().find(|item| item.is_chain()).unwrap();
    chain.meta.items.push(first);
    chain.assert_finds(Some(first.pgno), "referenced twice");
}

#[test]
fn wrong_trees_are_found() {
    let image = Image::sample();
    let branch = image.pages_of(Kind::Branch, 1)[0];
    let children = |image: &mut Image| {
        let page = image.page(branch);
        let view = crate::page::Branch::view(page, header::count(page)).unwrap();
        (view.child(0), view.child(1))
    };
    let (first, second) = children(&mut image.clone());

    let mut swapped = image.clone();
    swapped.edit(branch, |page| {
        let mut view = BranchMut::view(page).unwrap();
        view.set_child(0, second);
        view.set_child(1, first);
    });
    swapped.assert_finds(Some(second.pgno.0), "between the separators");

    let mut shared = image.clone();
    shared.edit(branch, |page| BranchMut::view(page).unwrap().set_child(1, first));
    shared.assert_finds(Some(first.pgno.0), "referenced twice");

    let mut outside = image.clone();
    let far = Ptr { pgno: Pgno(u32::MAX), birth: first.birth };
    outside.edit(branch, |page| BranchMut::view(page).unwrap().set_child(0, far));
    outside.assert_finds(Some(u32::MAX), "outside the file");

    let mut young = image.clone();
    young.meta.txnid.0 -= 1;
    young.meta.before = young.meta.before.min(young.meta.txnid);
    assert!(young.meta.main.root.birth > young.meta.txnid);

    let mut count = image.clone();
    count.meta.main.entries += 1;
    count.assert_finds(None, "entries");
    let mut pages = image.clone();
    pages.meta.main.leaf_pages += 1;
    pages.assert_finds(None, "leaf pages");

    let mut order = image.clone();
    let leaf = first.pgno.0;
    order.edit(leaf, |page| {
        let (a, b) = (HEADER_BYTES, HEADER_BYTES + 8);
        let slot: [u8; 8] = page[a..a + 8].try_into().unwrap();
        page.copy_within(b..b + 8, a);
        page[b..b + 8].copy_from_slice(&slot);
    });
    order.assert_finds(Some(leaf), "out of order");
}

#[test]
fn a_pyramid_of_shared_pages_does_not_run_long() {
    let mut image = Image::sample();
    let (first, used, birth) = (first_data_page(PAGE), image.meta.used, image.meta.txnid);
    assert!(used > first + 40);
    let ptr = |level: u32| Ptr { pgno: Pgno(first + level), birth };
    for level in 0..40u32 {
        image.edit(first + level, |page| {
            if level == 0 {
                crate::page::LeafMut::init(page, ptr(0));
                return;
            }
            let below = ptr(level - 1);
            BranchMut::init(page, ptr(level), level as u8, below);
            for n in 0..10u8 {
                BranchMut::view(page)
                    .unwrap()
                    .insert(BytesOrder, usize::from(n) + 1, &[n], below)
                    .unwrap();
            }
        });
    }
    let main = Tree { root: ptr(39), depth: 40, entries: u64::MAX, ..Tree::default() };
    image.meta = Meta { main, items: Vec::new(), ..image.meta };
    let report = image.check();
    assert!(!report.is_clean());
    let env = image.open();
    assert!(env.visit_records(&mut Everything).is_err());
    env.salvage(&mut Everything).unwrap();
    assert!(env.copy_to_writer(&mut Vec::new(), CopyOptions::new()).is_err());
    // Iterating does not step over empty leaves for ever, in either direction.
    let txn = env.read().unwrap();
    let main =
        txn.open_table(&crate::TableDef::<crate::Bytes, crate::Bytes>::main()).unwrap().unwrap();
    assert!(main.iter(&txn).and_then(|mut all| all.next().transpose()).is_err());
    assert!(main.iter(&txn).and_then(|mut all| all.next_back().transpose()).is_err());
    assert!(main.cursor().next(&txn).is_err());
}

#[test]
fn hostile_pages_end_in_a_report() {
    let image = Image::sample();
    let mut pages = image.pages_of(Kind::Leaf, 0);
    pages.extend(image.pages_of(Kind::Branch, 1));
    pages.extend(image.pages_of(Kind::Branch, 2));
    pages.extend(image.pages_of(Kind::Chunk, 0));
    let mut random = Random::new(3);
    for round in 0..200 {
        let mut hostile = image.clone();
        for _ in 0..=random.below(4) {
            let pgno = pages[random.below(pages.len() as u64) as usize];
            let (at, byte) = match random.below(2) {
                0 => (8 + random.below(56) as usize, random.next() as u8),
                _ => (8 + random.below(PAGE as u64 - 8) as usize, random.next() as u8),
            };
            hostile.edit(pgno, |page| page[at] = byte);
        }
        let env = hostile.open();
        let report = env.check().unwrap();
        env.salvage(&mut Everything).unwrap();
        let plain = env.visit_records(&mut Everything);
        let copied = env.copy_to_writer(&mut Vec::new(), CopyOptions::new());
        let stat = env.stat();
        if report.is_clean() {
            assert!(plain.is_ok() && copied.is_ok() && stat.is_ok(), "round {round}");
        }
    }
}

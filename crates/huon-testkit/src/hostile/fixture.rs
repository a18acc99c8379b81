//! A small file that holds every kind of page, and the states that it may show.

use huon::sim::SimDisk;
use huon::{Durability, Env, Options, ReadTxn, Verify, WriteTxn};

use super::file::{CHUNK_ITEMS, File, HEADER_BYTES, ITEM_BYTES, Kind, header, meta};
use super::pairs::Pairs;
use crate::history::program::{self, Value};
use crate::model::{Model, TableId};
use crate::support::audit::audit;

/// How far the files of these tests may grow.
pub const RESERVE_BYTES: u64 = 1 << 20;

/// What a file shows: tables, and multimaps.
#[derive(Clone, Default)]
pub struct State {
    /// The tables.
    pub model: Model,
    /// The multimaps.
    pub pairs: Pairs,
}

impl State {
    fn is_shown(&self, txn: &ReadTxn) -> bool {
        let others: Vec<Vec<u8>> = self.pairs.names().collect();
        let mut sound = true;
        let pairs = self.pairs.compare(txn, &mut |_| sound = false);
        self.model.compare_beside(txn, &others).is_ok() && pairs.is_ok() && sound
    }
}

/// A file and what it shows.
#[derive(Clone)]
pub struct Fixture {
    /// The file; its newest meta stands on its own.
    pub file: File,
    /// What it shows.
    pub now: State,
    /// What it shows if the newest meta is damaged.
    pub before: State,
    /// The same file some commits earlier.
    pub older: Vec<u8>,
}

/// Options for files of this page size that verify everything they read.
pub fn options(page_bytes: usize) -> Options {
    let mut options = Env::options();
    options
        .page_bytes(page_bytes)
        .max_bytes(RESERVE_BYTES)
        .grow_bytes(4096)
        .verify(Verify::PagesAndValues);
    options
}

/// Stores record `n`, in both.
pub fn put(txn: &mut WriteTxn, model: &mut Model, id: u8, n: u64, bytes: usize, page_bytes: usize) {
    let id = TableId(id);
    let table = txn.create_table(&id.def()).expect("a table");
    let key = program::key(id.order(), page_bytes, n);
    let value = Value { bytes, seed: n + bytes as u64 }.make();
    table.put(txn, &key, &value).expect("a record");
    model.create(id);
    let records = model.table_mut(id).expect("it was created");
    records.put(id.order().sort_key(&key), &key, &value);
}

impl Fixture {
    /// A file of `keys` records in its largest table, and some in others of every order.
    ///
    /// With `tail`, the newest meta was written together with its pages, which are verified before
    /// it is believed.
    pub fn new(page_bytes: usize, keys: u64, tail: bool) -> Fixture {
        let disk = SimDisk::new(RESERVE_BYTES).expect("a machine").quiet();
        let env = options(page_bytes).open_simulated(&disk).expect("an environment");
        let mut states = vec![State::default()];
        let mut commit = |work: &mut dyn FnMut(&mut WriteTxn, &mut State)| {
            let mut state = states.last().expect("there is one").clone();
            let mut txn = env.write().expect("begin");
            work(&mut txn, &mut state);
            txn.commit_with(Durability::Durable).expect("commit");
            states.push(state);
        };
        commit(&mut |txn, State { model, pairs }| {
            pairs.fill(txn, page_bytes).expect("pairs");
            (0..keys).for_each(|n| put(txn, model, 2, n, 20, page_bytes));
            (0..12).for_each(|n| put(txn, model, 6, n, 9, page_bytes));
            (0..12).for_each(|n| put(txn, model, 8, n, 30, page_bytes));
            (0..6).for_each(|n| put(txn, model, 10, n, 5, page_bytes));
        });
        commit(&mut |txn, State { model, .. }| {
            put(txn, model, 4, 1, page_bytes * 3 / 2, page_bytes);
            put(txn, model, 4, 2, page_bytes, page_bytes);
            put(txn, model, 0, 14, 3, page_bytes);
        });
        let mut older = Vec::new();
        for round in 0..4 {
            if round == 2 {
                older = disk.image();
            }
            commit(&mut |txn, State { model, pairs }| {
                put(txn, model, 2, round * keys / 4, 21, page_bytes);
                pairs.change(txn, round, page_bytes).expect("pairs");
            });
        }
        drop(env);
        let image = if tail {
            disk.image()
        } else {
            // On another machine the tail is verified once, and its repair stands on its own.
            let disk = SimDisk::from_image(&disk.image(), RESERVE_BYTES).expect("a machine");
            let env = options(page_bytes).open_simulated(&disk).expect("an environment");
            drop(env.write().expect("a repair"));
            drop(env);
            disk.image()
        };
        let mut file = File::new(image);
        move_items_to_chunks(&mut file);
        Fixture::judged(file, &states, older)
    }

    /// Finds out which states the file shows with and without its newest meta.
    fn judged(file: File, states: &[State], older: Vec<u8>) -> Fixture {
        let shown = |image: &[u8]| {
            let disk = SimDisk::from_image(image, RESERVE_BYTES).expect("a machine").quiet();
            let env = options(file.page_bytes).open_simulated(&disk).expect("it opens");
            audit(&env).expect("it is sound");
            let txn = env.read().expect("a reader");
            let shown = states.iter().rev().find(|state| state.is_shown(&txn));
            shown.expect("one of the states").clone()
        };
        let mut damaged = file.bytes.clone();
        damaged[file.meta(meta::TXNID)] ^= 1;
        let (now, before) = (shown(&file.bytes), shown(&damaged));
        assert_ne!(now.model.count(), 0);
        let pages = file.pages();
        for kind in [Kind::Branch, Kind::Leaf, Kind::Run, Kind::Chunk, Kind::Fixed] {
            let count = pages.iter().filter(|page| page.kind == kind).count();
            let enough = count >= 2 || (kind == Kind::Fixed && count == 1);
            assert!(enough, "{count} pages of kind {kind:?}");
        }
        Fixture { file, now, before, older }
    }
}

/// Moves the free-list entries of the newest meta to two chunks at the high-water mark.
fn move_items_to_chunks(file: &mut File) {
    let (page_bytes, txnid, used) = (file.page_bytes, file.txnid(), file.used());
    let (count_at, items) = (file.meta(meta::ITEM_COUNT), file.meta(meta::ITEMS));
    let count = file.u32(count_at) as usize;
    let capacity = (page_bytes - CHUNK_ITEMS) / ITEM_BYTES;
    assert!(count >= 2 && count < 2 * capacity, "{count} items for two chunks");
    let all = file.bytes[items..items + count * ITEM_BYTES].to_vec();
    let half = (count / 2).max(count.saturating_sub(capacity)) * ITEM_BYTES;
    let end = (used as usize + 2) * page_bytes;
    if file.bytes.len() < end {
        file.bytes.resize(end.next_multiple_of(4096), 0);
    }
    for (pgno, part) in [(used, &all[..half]), (used + 1, &all[half..])] {
        let at = file.at(pgno);
        file.bytes[at..at + page_bytes].fill(0);
        file.put(at + header::PGNO, &pgno.to_le_bytes());
        file.put(at + header::KIND, &[4]);
        file.put(at + header::COUNT, &((part.len() / ITEM_BYTES) as u16).to_le_bytes());
        file.put(at + header::BIRTH, &txnid.to_le_bytes());
        file.put(at + CHUNK_ITEMS, part);
        if pgno > used {
            file.put(at + HEADER_BYTES, &used.to_le_bytes());
            file.put(at + HEADER_BYTES + 4, &txnid.to_le_bytes());
        }
        file.seal(at);
    }
    file.bytes[items..items + all.len()].fill(0);
    file.put(items, &(used + 1).to_le_bytes());
    file.put(items + 8, &txnid.to_le_bytes());
    file.put(count_at, &1u32.to_le_bytes());
    let used_at = file.meta(meta::USED);
    file.set(used_at, &(used + 2).to_le_bytes());
}

//! Everything that can be done with a file, whatever is in it.
//!
//! Nothing may panic, and every way through a table ends. What comes back is right or an error, but
//! of a hostile file only a check can tell which.

use huon::sim::SimDisk;
use huon::{
    Bytes, CopyOptions, Env, Error, Options, Order, RawTable, ReadTxn, TableDef, Txn, Verify,
    WriteTxn,
};

use huon_text::DumpOptions;

use super::fixture::RESERVE_BYTES;
use super::multi;
use super::pairs::MULTIS;
use crate::history::program;
use crate::model::TableId;
use crate::of_the_store;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// It opened.
    pub opened: bool,
    /// It opened, and a check found nothing.
    pub clean: bool,
    /// Calls that gave errors.
    pub errors: u64,
    /// Records read.
    pub records: u64,
}

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Reading, and one write transaction of all operations.
    Quick,
    /// Each operation on a file of its own.
    Each,
    /// The same, and a compacting copy, which needs real files.
    All,
}

/// A file under attempt.
struct Attempt<'i> {
    image: &'i [u8],
    options: Options,
    disk: SimDisk,
    outcome: Outcome,
}

/// Tries everything on `image`, whose pages have `page_bytes` unless it says otherwise.
pub fn attempt(image: &[u8], depth: Depth) -> Outcome {
    let mut options = Env::options();
    options.max_bytes(RESERVE_BYTES).verify(Verify::PagesAndValues);
    let disk = SimDisk::new(RESERVE_BYTES.max(image.len() as u64)).expect("a machine").quiet();
    let mut attempt = Attempt { image, options, disk, outcome: Outcome::default() };
    if attempt.look(depth) {
        attempt.write(depth);
    }
    attempt.outcome
}

impl Attempt<'_> {
    fn open(&mut self) -> Option<Env> {
        self.disk.rewind(self.image);
        self.options.open_simulated(&self.disk).map_err(|error| self.outcome.note(&error)).ok()
    }

    /// Whether there is anything to look at.
    fn look(&mut self, depth: Depth) -> bool {
        let Some(env) = self.open() else { return false };
        self.outcome.opened = true;
        let (image, outcome) = (self.image, &mut self.outcome);
        if let Some(report) = outcome.of(env.check()) {
            outcome.clean = report.is_clean();
            assert!(report.problem_count >= report.problems.len() as u64);
        }
        outcome.of(env.info());
        outcome.of(env.stat());
        outcome.of(env.retained_snapshots());
        // Text of what is there has at most three bytes for each, and its headers.
        let most = 64 * image.len() + 65_536;
        for (rescue, print) in [(false, depth == Depth::Quick), (true, false)] {
            let mut text = Limited { bytes: 0, most };
            let options = DumpOptions::new().rescue(rescue).print(print);
            outcome.of(huon_text::dump(&env, &mut text, options).map_err(of_the_store));
        }
        let mut copy = Vec::new();
        if outcome.of(env.copy_to_writer(&mut copy, CopyOptions::new())).is_some() {
            assert!(copy.len() <= image.len() + 8 * 65_536, "{} bytes copied", copy.len());
            if outcome.clean {
                let disk = SimDisk::from_image(&copy, 0).expect("a machine").quiet();
                let copy = self.options.open_simulated(&disk).expect("a copy opens");
                let report = copy.check().expect("a check");
                assert!(report.is_clean(), "the copy: {:?}", report.problems);
            }
        }
        if depth == Depth::All {
            let mut bytes = Vec::new();
            let options = CopyOptions::new().compact(true);
            outcome.of(env.copy_to_writer(&mut bytes, options));
        }
        if let Some(txn) = outcome.of(env.read()) {
            outcome.read(&txn, image.len());
        }
        true
    }

    fn write(&mut self, depth: Depth) {
        let acts: &[&[Act]] = match depth {
            Depth::Quick => &[&ACTS],
            Depth::Each | Depth::All => &[
                &[put],
                &[delete],
                &[delete_range],
                &[clear],
                &[drop_table],
                &[rename],
                &[append],
                &[reserve],
                &[nested],
                &[put_large, put_large],
                &[put, look],
                &ACTS,
            ],
        };
        let on_multis: &[&[multi::Act]] = match depth {
            Depth::Quick => &[&multi::ACTS],
            Depth::Each | Depth::All => &[
                &[multi::insert, multi::remove],
                &[multi::clear],
                &[multi::remove_all, multi::insert],
                &[multi::remove_range],
                &[multi::drop_table],
            ],
        };
        // Tables and multimaps in one transaction, as long as there are both.
        for i in 0..acts.len().max(on_multis.len()) {
            let multis = on_multis.get(i).copied().unwrap_or_default();
            self.write_with(acts.get(i).copied().unwrap_or_default(), multis);
        }
    }

    /// One transaction, then another, and the file opened again.
    fn write_with(&mut self, acts: &[Act], on_multis: &[multi::Act]) {
        let Some(env) = self.open() else { return };
        for _ in 0..2 {
            let Some(mut txn) = self.outcome.of(env.write()) else { return };
            for number in 0..MULTIS.len() {
                for act in on_multis {
                    if let Some(Some(table)) = self.outcome.of(multi::open(&txn, number)) {
                        self.outcome.of(act(table, &mut txn, number));
                    }
                }
            }
            for id in tables() {
                for act in acts {
                    let table = if id.is_main() {
                        Ok(txn.open_table(&id.def()).ok().flatten())
                    } else {
                        txn.open_table(&id.def())
                    };
                    if let Some(Some(table)) = self.outcome.of(table) {
                        self.outcome.of(act(table, &mut txn, id));
                    }
                }
            }
            self.outcome.of(txn.commit());
        }
        self.outcome.of(env.check());
        drop(env);
        if let Some(env) = self.outcome.of(self.options.open_simulated(&self.disk)) {
            self.outcome.of(env.check());
            if let Some(txn) = self.outcome.of(env.read()) {
                self.outcome.read(&txn, self.image.len() + (1 << 19));
            }
        }
    }
}

fn tables() -> impl Iterator<Item = TableId> {
    [2, 4, 6, 8, 10, 0].into_iter().map(TableId)
}

impl Outcome {
    pub(super) fn note(&mut self, error: &Error) {
        assert!(!error.to_string().is_empty());
        self.errors += 1;
    }

    pub(super) fn of<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.note(&error)).ok()
    }

    fn read(&mut self, txn: &ReadTxn, file_bytes: usize) {
        let names = self.of(txn.table_names()).unwrap_or_default();
        for name in names.iter().take(16) {
            let stored = TableDef::<Bytes, Bytes>::named(&**name).ordered(Order::Stored);
            match txn.open_table(&stored) {
                Ok(Some(table)) => self.table(txn, table, file_bytes),
                Err(Error::TableKind) => self.multi(txn, name),
                table => drop(self.of(table)),
            }
        }
        for id in tables() {
            if let Some(Some(table)) = self.of(txn.open_table(&id.def())) {
                self.table(txn, table, file_bytes);
            }
        }
    }

    /// Every way through a table.
    fn table(&mut self, txn: &ReadTxn, table: RawTable, file_bytes: usize) {
        // A record takes eight bytes at least, and no page is gone through twice.
        let most = file_bytes / 8 + 1;
        let keys = self.both_ways(txn, table, most);
        for key in keys.iter().map(|key| &key[..]).chain([&b"user/"[..], &[0xFF; 7], &[]]) {
            self.of(table.get(txn, key));
            self.of(table.contains(txn, key));
            self.of(table.at_or_above(txn, key));
            self.of(table.at_or_below(txn, key));
        }
        self.many(txn, table, &keys);
        self.leaves(txn, table, most);
        self.of(table.len(txn));
        self.of(table.first(txn));
        self.of(table.last(txn));
        if let Some(middle) = keys.get(keys.len() / 2) {
            let half = self.of(table.range(txn, &middle[..]..));
            half.into_iter().for_each(|range| self.drain(range, most));
            let half = self.of(table.range(txn, ..=&middle[..]));
            half.into_iter().for_each(|range| self.drain(range.rev(), most));
            let some = self.of(table.prefix(txn, &middle[..middle.len() / 2]));
            some.into_iter().for_each(|range| self.drain(range, most));
        }
        for forward in [true, false] {
            let mut scan = table.cursor();
            if !forward {
                scan.to_end();
            }
            for step in 0.. {
                assert!(step <= most, "a scan without an end");
                let next = if forward { scan.next(txn) } else { scan.prev(txn) };
                if self.of(next).flatten().is_none() {
                    break;
                }
            }
        }
    }

    /// Many keys at once. Where a search in a damaged page ends depends on its way, so only a clean
    /// file answers as it does to one key.
    fn many(&mut self, txn: &impl Txn, table: RawTable, keys: &[Vec<u8>]) {
        let (mut found, mut zeros) = (Vec::new(), 0);
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let done = self.of(table.get_many(txn, &slices, |i, value| {
            assert_eq!(i, found.len());
            let ends = value.map(|value| [value.first(), value.last()]);
            zeros += u64::from(ends == Some([Some(&0); 2]));
            found.push(value);
        }));
        self.records += zeros;
        assert!(found.len() == keys.len() || done.is_none());
        if self.clean {
            for (key, value) in keys.iter().zip(found) {
                assert_eq!(table.get(txn, key).ok().flatten(), value, "one by one");
            }
        }
    }

    /// A leaf at a time, both ways.
    fn leaves(&mut self, txn: &impl Txn, table: RawTable, most: usize) {
        for forward in [true, false] {
            let Some(range) = self.of(table.iter(txn)) else { continue };
            let (mut leaves, mut count) = (range.leaves(), 0);
            while let Some(leaf) = if forward { leaves.next() } else { leaves.next_back() } {
                let Some(leaf) = self.of(leaf) else { break };
                assert!(!leaf.is_empty());
                self.of(leaf.get(leaf.len() / 2));
                count += leaf.len();
                assert!(count <= most, "leaves without an end");
                if forward {
                    self.drain(leaf.iter(), most);
                } else {
                    self.drain(leaf.iter().rev(), most);
                }
            }
        }
    }

    /// Some of the keys that were met.
    fn both_ways(&mut self, txn: &impl Txn, table: RawTable, most: usize) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        if let Some(range) = self.of(table.iter(txn)) {
            let noted = range.inspect(|record| {
                if let (Ok((key, _)), true) = (record, keys.len() < 40) {
                    keys.push(key.to_vec());
                }
            });
            self.drain(noted, most);
        }
        if let Some(range) = self.of(table.iter(txn)) {
            self.drain(range.rev(), most);
        }
        keys
    }

    pub(super) fn drain<'t>(
        &mut self,
        records: impl Iterator<Item = Result<(&'t [u8], &'t [u8]), Error>>,
        most: usize,
    ) {
        for (count, record) in records.enumerate() {
            assert!(count <= most, "an iterator without an end");
            match record {
                Ok((key, value)) => {
                    // The ends of both are there to be read.
                    let ends = [key.first(), key.last(), value.first(), value.last()];
                    self.records += 1 + u64::from(ends == [Some(&0); 4]);
                }
                Err(error) => return self.note(&error),
            }
        }
    }
}

/// Takes text and forgets it; more than there may be is a failure.
struct Limited {
    bytes: usize,
    most: usize,
}

impl std::io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len();
        assert!(self.bytes <= self.most, "text of more than {} bytes", self.most);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

type Act = fn(RawTable, &mut WriteTxn, TableId) -> Result<(), Error>;

const ACTS: [Act; 10] =
    [put, put_large, delete, look, nested, delete_range, reserve, append, rename, drop_table];

fn key(id: TableId, n: u64) -> Vec<u8> {
    program::key(id.order(), 512, n)
}

fn put(table: RawTable, txn: &mut WriteTxn, id: TableId) -> Result<(), Error> {
    (0..40).try_for_each(|n| table.put(txn, &key(id, n), &[n as u8; 23]).map(drop))
}

fn put_large(table: RawTable, txn: &mut WriteTxn, id: TableId) -> Result<(), Error> {
    (0..3).try_for_each(|n| table.put(txn, &key(id, n), &[n as u8; 5000]).map(drop))
}

/// Many keys and all leaves, among pages that the transaction has written.
fn look(table: RawTable, txn: &mut WriteTxn, id: TableId) -> Result<(), Error> {
    let keys: Vec<Vec<u8>> = (0..40).map(|n| key(id, n)).collect();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut found = 0;
    let many = table.get_many(txn, &slices, |_, value| found += value.map_or(0, <[u8]>::len));
    // What can be got is as long as memory: the sum is there to have each looked at.
    assert!(found < usize::MAX);
    for leaf in table.iter(txn)?.leaves() {
        leaf?.iter().try_for_each(|record| record.map(drop))?;
    }
    for leaf in table.iter(txn)?.leaves().rev() {
        leaf?.iter().rev().try_for_each(|record| record.map(drop))?;
    }
    many
}

fn delete(table: RawTable, txn: &mut WriteTxn, id: TableId) -> Result<(), Error> {
    (0..60).step_by(2).try_for_each(|n| table.remove(txn, &key(id, n)).map(drop))
}

fn delete_range(table: RawTable, txn: &mut WriteTxn, id: TableId) -> Result<(), Error> {
    let (a, b) = (key(id, 3), key(id, 10));
    let (from, to) =
        if id.order().sort_key(&a) < id.order().sort_key(&b) { (a, b) } else { (b, a) };
    table.remove_range(txn, &from[..]..&to[..])?;
    table.remove_range(txn, ..).map(drop)
}

fn clear(table: RawTable, txn: &mut WriteTxn, _: TableId) -> Result<(), Error> {
    table.clear(txn)
}

fn drop_table(table: RawTable, txn: &mut WriteTxn, _: TableId) -> Result<(), Error> {
    table.drop_table(txn).map(drop)
}

fn rename(table: RawTable, txn: &mut WriteTxn, id: TableId) -> Result<(), Error> {
    table.rename(txn, id.renamed().name())
}

fn append(table: RawTable, txn: &mut WriteTxn, id: TableId) -> Result<(), Error> {
    let last = match id.order().key_bytes() {
        Some(bytes) => vec![0xFF; bytes],
        None => vec![0xFF; 100],
    };
    table.append(txn, &last, &[1; 40])
}

fn reserve(table: RawTable, txn: &mut WriteTxn, id: TableId) -> Result<(), Error> {
    table.reserve(txn, &key(id, 5), 200, |place| place.fill(5))
}

fn nested(table: RawTable, txn: &mut WriteTxn, id: TableId) -> Result<(), Error> {
    kept_and_undone(txn, |txn| put(table, txn, id), |txn| table.remove_range(txn, ..).map(drop))
}

/// A nested level that is kept, and one that is undone.
pub(super) fn kept_and_undone(
    txn: &mut WriteTxn,
    kept: impl FnOnce(&mut WriteTxn) -> Result<(), Error>,
    undone: impl FnOnce(&mut WriteTxn) -> Result<(), Error>,
) -> Result<(), Error> {
    let kept = txn.nested(kept);
    let undone = txn.nested(|txn| undone(txn).and(Err::<(), _>(Error::Invalid("undone"))));
    kept.and(undone.or_else(|error| match error {
        Error::Invalid(_) => Ok(()),
        error => Err(error),
    }))
}

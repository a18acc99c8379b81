//! What the file holds, and how a reader can tell that a snapshot is one that was committed.
//!
//! Records lie in five tables of different kinds, and pairs in two multimaps, whose keys have from
//! none to so many values that they need trees. Every transaction that changes them writes a
//! *canary* too: its own id, the sum of the digests of all of them, and a digest of that and of the
//! canary before. The sum does not depend on the order, so a writer keeps it up to date by what it
//! changes; a reader computes it from all that it sees. The last few canaries are kept.

use huon::{
    Bytes, Env, Error, MultiDef, NativeU64, RawMulti, RawTable, ReadTxn, Str, TableDef, U64,
    WriteTxn,
};

use super::crew::HANG;
use super::ledger::Ledger;
use crate::support::random::{Random, digest};

const WORDS: TableDef<Str, Bytes> = TableDef::new("words");
const NUMBERS: TableDef<U64, Bytes> = TableDef::new("numbers");
const NATIVE: TableDef<NativeU64, U64> = TableDef::new("native");
const LARGE: TableDef<U64, Bytes> = TableDef::new("large");
/// Comes and goes.
const GUEST: TableDef<U64, Bytes> = TableDef::new("guest");
/// With values of one length, and of any.
const GROUPS: MultiDef<U64, U64> = MultiDef::new("groups");
const LABELS: MultiDef<U64, Bytes> = MultiDef::new("labels");
const CANARIES: TableDef<U64, Bytes> = TableDef::new("canaries");

/// Tables of records, but for the one that comes and goes.
const STEADY: usize = 4;
const GUEST_AT: usize = 4;
const TABLES: usize = 5;
/// How many keys there may be in each.
const KEYS: [u64; TABLES] = [250, 300, 400, 4, 40];
/// Multimaps count as tables that come after the others.
const MULTIS: std::ops::Range<usize> = TABLES..TABLES + 2;
/// How many keys there may be in each, and values of a key.
const GROUP_KEYS: u64 = 5;
const VALUES: u64 = 300;
/// Canaries that are kept.
const KEPT: u64 = 24;
/// Repairs take ids so far above all that were used.
const REPAIR_AHEAD: u64 = 1 << 32;

/// A value of this size makes a commit so large that it is flushed twice.
const HUGE_BYTES: usize = (1 << 20) + 4000;

pub(crate) type Outcome<T> = Result<T, String>;

/// The words of an error.
pub(crate) fn told(error: Error) -> String {
    format!("{error} ({error:?})")
}

/// What a commit says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Canary {
    /// Its number; 0 if there is none yet.
    pub(crate) seq: u64,
    pub(crate) txnid: u64,
    /// Of the digests of all records.
    sum: u64,
    /// Of this and of all before.
    pub(crate) chain: u64,
}

impl Canary {
    fn next(&self, txnid: u64, sum: u64) -> Canary {
        let seq = self.seq + 1;
        let words = [seq, txnid, sum, self.chain].map(u64::to_le_bytes);
        Canary { seq, txnid, sum, chain: digest(words.as_flattened()) }
    }

    fn encode(&self) -> Vec<u8> {
        [self.txnid, self.sum, self.chain].map(u64::to_le_bytes).as_flattened().to_vec()
    }

    fn decode(seq: u64, bytes: &[u8]) -> Outcome<Canary> {
        let (words, rest) = bytes.as_chunks::<8>();
        let [txnid, sum, chain] = *words else {
            return Err(format!("canary {seq} has {} bytes", bytes.len()));
        };
        if !rest.is_empty() {
            return Err(format!("canary {seq} has {} bytes", bytes.len()));
        }
        let [txnid, sum, chain] = [txnid, sum, chain].map(u64::from_le_bytes);
        Ok(Canary { seq, txnid, sum, chain })
    }
}

fn record_digest(table: usize, key: &[u8], value: &[u8]) -> u64 {
    let words = [digest(key) ^ table as u64, digest(value)].map(u64::to_le_bytes);
    digest(words.as_flattened())
}

fn opened(txn: &ReadTxn, table: usize) -> Result<Option<RawTable>, Error> {
    Ok(match table {
        0 => txn.open_table(&WORDS)?.map(|table| table.raw()),
        1 => txn.open_table(&NUMBERS)?.map(|table| table.raw()),
        2 => txn.open_table(&NATIVE)?.map(|table| table.raw()),
        3 => txn.open_table(&LARGE)?.map(|table| table.raw()),
        _ => txn.open_table(&GUEST)?.map(|table| table.raw()),
    })
}

fn created(txn: &mut WriteTxn, table: usize) -> Result<RawTable, Error> {
    Ok(match table {
        0 => txn.create_table(&WORDS)?.raw(),
        1 => txn.create_table(&NUMBERS)?.raw(),
        2 => txn.create_table(&NATIVE)?.raw(),
        3 => txn.create_table(&LARGE)?.raw(),
        _ => txn.create_table(&GUEST)?.raw(),
    })
}

fn opened_multi(txn: &ReadTxn, table: usize) -> Result<Option<RawMulti>, Error> {
    Ok(if table == MULTIS.start {
        txn.open_table(&GROUPS)?.map(|multi| multi.raw())
    } else {
        txn.open_table(&LABELS)?.map(|multi| multi.raw())
    })
}

fn created_multi(txn: &mut WriteTxn, table: usize) -> Result<RawMulti, Error> {
    Ok(if table == MULTIS.start {
        txn.create_table(&GROUPS)?.raw()
    } else {
        txn.create_table(&LABELS)?.raw()
    })
}

/// Reads all of a snapshot, some tables backwards; its canary, if all of it is what that says.
pub(crate) fn verify(txn: &ReadTxn, backwards: bool) -> Outcome<Canary> {
    let Some(last) = last_canary(txn)? else { return Err("no canary at all".into()) };
    let mut sum = 0u64;
    for table in 0..TABLES {
        let Some(raw) = opened(txn, table).map_err(told)? else { continue };
        let records = raw.iter(txn).map_err(told)?;
        let counted = raw.len(txn).map_err(told)?;
        sum = sum.wrapping_add(sum_of(table, records, counted, backwards)?);
    }
    for table in MULTIS {
        let Some(raw) = opened_multi(txn, table).map_err(told)? else { continue };
        let pairs = raw.iter(txn).map_err(told)?;
        let counted = raw.len(txn).map_err(told)?;
        sum = sum.wrapping_add(sum_of(table, pairs, counted, backwards)?);
    }
    if last.sum == sum {
        Ok(last)
    } else {
        Err(format!("snapshot {}: digest {sum:x} is not that of {last:x?}", txn.id()))
    }
}

/// The digests of all records of a table, which are `counted`.
fn sum_of<'t>(
    table: usize,
    mut records: impl DoubleEndedIterator<Item = Result<(&'t [u8], &'t [u8]), Error>>,
    counted: u64,
    backwards: bool,
) -> Outcome<u64> {
    let (mut sum, mut count) = (0u64, 0);
    let mut add = |record: Result<(&[u8], &[u8]), Error>| {
        let (key, value) = record.map_err(|e| format!("table {table}: {}", told(e)))?;
        sum = sum.wrapping_add(record_digest(table, key, value));
        count += 1;
        Ok::<(), String>(())
    };
    if backwards {
        records.rev().try_for_each(&mut add)?;
    } else {
        records.try_for_each(&mut add)?;
    }
    if counted == count {
        Ok(sum)
    } else {
        Err(format!("table {table} has {count} records and counts {counted}"))
    }
}

/// The newest canary, if those that are kept make a chain.
fn last_canary(txn: &ReadTxn) -> Outcome<Option<Canary>> {
    let Some(table) = txn.open_table(&CANARIES).map_err(told)? else { return Ok(None) };
    let mut before: Option<Canary> = None;
    for record in table.iter(txn).map_err(told)? {
        let (seq, bytes) = record.map_err(told)?;
        let canary = Canary::decode(seq, bytes)?;
        if let Some(before) = before
            && before.next(canary.txnid, canary.sum) != canary
        {
            return Err(format!("{canary:x?} does not follow {before:x?}"));
        }
        before = Some(canary);
    }
    Ok(before)
}

/// Value number `number` of any key of a multimap.
fn pair_value(table: usize, number: u64) -> Vec<u8> {
    let mut value = number.to_be_bytes().to_vec();
    if table > MULTIS.start {
        value.resize(8 + number as usize % 23, b'x');
    }
    value
}

/// Whether a snapshot with the id `txnid` may hold that canary: it is the commit's own, or the
/// repair of one.
pub(crate) fn is_of(canary: &Canary, txnid: u64, has_repairs: bool) -> bool {
    txnid == canary.txnid || has_repairs && txnid > canary.txnid + REPAIR_AHEAD
}

/// How much a transaction changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Little,
    /// More than is buffered, so that pages are written before the commit.
    Much,
    /// With a value that makes it more than one flush takes.
    Huge,
}

/// A write transaction and the sum of the records in it.
pub(crate) struct Work<'w> {
    pub(crate) txn: &'w mut WriteTxn,
    pub(crate) random: &'w mut Random,
    /// What the transaction began with.
    pub(crate) base: Canary,
    sum: u64,
}

impl<'w> Work<'w> {
    pub(crate) fn begin(txn: &'w mut WriteTxn, random: &'w mut Random) -> Outcome<Work<'w>> {
        let table = txn.create_table(&CANARIES).map_err(told)?;
        let last = table.last(txn).map_err(told)?;
        let base = last.map(|(seq, bytes)| Canary::decode(seq, bytes)).transpose()?;
        let base = base.unwrap_or_default();
        Ok(Work { txn, random, base, sum: base.sum })
    }

    /// Changes random records.
    pub(crate) fn change(&mut self, amount: Amount) -> Result<(), Error> {
        let changes = match amount {
            Amount::Much => 200,
            _ => 1 + self.random.below(10),
        };
        if self.random.chance(10) {
            self.undo_some(changes)?;
        }
        (0..changes).try_for_each(|_| self.change_one())?;
        // Of the multimaps always something, and now and then all values of a key.
        (0..=changes / 8).try_for_each(|_| self.change_pairs())?;
        if amount == Amount::Huge {
            let value = vec![self.random.next() as u8; HUGE_BYTES];
            let key = self.random.below(KEYS[3]).to_be_bytes();
            self.put(3, &key, &value)?;
        }
        if self.random.chance(4) { self.guest() } else { Ok(()) }
    }

    fn change_one(&mut self) -> Result<(), Error> {
        let table = self.random.index(STEADY);
        let key = self.key(table);
        if self.random.chance(25) {
            return self.take(table, &key);
        }
        let value = self.value(table);
        if self.random.chance(50) {
            self.take(table, &key)?;
        }
        self.put(table, &key, &value)
    }

    /// A run of values of one key comes or goes; or all of them go.
    fn change_pairs(&mut self) -> Result<(), Error> {
        let table = MULTIS.start + self.random.index(MULTIS.len());
        let key = self.random.below(GROUP_KEYS).to_be_bytes();
        let (first, count) = (self.random.below(VALUES), 1 + self.random.below(40));
        let raw = created_multi(self.txn, table)?;
        if self.random.chance(6) {
            let mut gone = 0u64;
            for value in raw.values(&*self.txn, &key)? {
                gone = gone.wrapping_add(record_digest(table, &key, value?));
            }
            raw.remove_key(self.txn, &key)?;
            self.sum = self.sum.wrapping_sub(gone);
            return Ok(());
        }
        let comes = self.random.chance(55);
        for number in first..VALUES.min(first + count) {
            let value = pair_value(table, number);
            let sum = record_digest(table, &key, &value);
            if comes && raw.put(self.txn, &key, &value)? {
                self.sum = self.sum.wrapping_add(sum);
            } else if !comes && raw.remove(self.txn, &key, &value)? {
                self.sum = self.sum.wrapping_sub(sum);
            }
        }
        Ok(())
    }

    /// Changes in a nested transaction that is given up.
    fn undo_some(&mut self, changes: u64) -> Result<(), Error> {
        let (random, base, sum) = (&mut *self.random, self.base, self.sum);
        let undone = self.txn.nested(|txn| {
            let mut inner = Work { txn, random, base, sum };
            (0..changes).try_for_each(|_| inner.change_one())?;
            inner.change_pairs()?;
            Err::<(), Error>(Error::Invalid("undone"))
        });
        match undone {
            Err(Error::Invalid("undone")) => Ok(()),
            other => other,
        }
    }

    /// The table that comes and goes.
    fn guest(&mut self) -> Result<(), Error> {
        let raw = created(self.txn, GUEST_AT)?;
        let mut sum = 0u64;
        for record in raw.iter(&*self.txn)? {
            let (key, value) = record?;
            sum = sum.wrapping_add(record_digest(GUEST_AT, key, value));
        }
        self.sum = self.sum.wrapping_sub(sum);
        raw.drop_table(self.txn)?;
        if self.random.chance(50) {
            for key in 0..KEYS[GUEST_AT] {
                let value = self.value(GUEST_AT);
                self.put(GUEST_AT, &key.to_be_bytes(), &value)?;
            }
        }
        Ok(())
    }

    fn put(&mut self, table: usize, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let raw = created(self.txn, table)?;
        let old = raw.get(&*self.txn, key)?.map_or(0, |old| record_digest(table, key, old));
        raw.put(self.txn, key, value)?;
        self.sum = self.sum.wrapping_sub(old).wrapping_add(record_digest(table, key, value));
        Ok(())
    }

    fn take(&mut self, table: usize, key: &[u8]) -> Result<(), Error> {
        let old = created(self.txn, table)?.take(self.txn, key)?;
        let old = old.map_or(0, |old| record_digest(table, key, old.bytes()));
        self.sum = self.sum.wrapping_sub(old);
        Ok(())
    }

    fn key(&mut self, table: usize) -> Vec<u8> {
        let number = self.random.below(KEYS[table]);
        match table {
            0 => {
                let tail = "ly".repeat(number as usize % 17);
                format!("word {} {tail}{number}", number % 7).into_bytes()
            }
            2 => number.to_ne_bytes().to_vec(),
            _ => number.to_be_bytes().to_vec(),
        }
    }

    fn value(&mut self, table: usize) -> Vec<u8> {
        let bytes = match table {
            0 => self.random.index(60),
            1 if self.random.chance(5) => 1500,
            2 => return self.random.next().to_be_bytes().to_vec(),
            3 => 200 + self.random.index(5000),
            _ => self.random.index(90),
        };
        vec![self.random.next() as u8; bytes]
    }

    /// Writes the canary; what is to be committed.
    pub(crate) fn end(self) -> Result<Canary, Error> {
        // The snapshot's, whatever is written from here on.
        let canary = self.base.next(self.txn.fix_id(), self.sum);
        let table = self.txn.create_table(&CANARIES)?;
        table.put(self.txn, canary.seq, &canary.encode())?;
        if let Some(old) = canary.seq.checked_sub(KEPT) {
            table.remove(self.txn, old)?;
        }
        Ok(canary)
    }
}

/// How the supervisor's own process commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    ForNothing,
    /// Until it is durable, but not for ever: a process that hangs here could not say so.
    ForDisk,
}

/// One commit from the supervisor's own process, noted in the ledger as any other.
pub(crate) fn commit(
    env: &Env,
    ledger: &Ledger,
    random: &mut Random,
    amount: Amount,
    waits: Waits,
) -> Outcome<Canary> {
    let mut txn = env.write().map_err(told)?;
    let mut work = Work::begin(&mut txn, random)?;
    if work.base.seq < ledger.acked().any {
        return Err(format!(
            "{:?} is the newest, and {:?} was acknowledged",
            work.base,
            ledger.acked()
        ));
    }
    work.change(amount).map_err(told)?;
    let canary = work.end().map_err(told)?;
    ledger.begin(canary.seq, canary.txnid, canary.chain)?;
    let ticket = txn.commit_ticket().map_err(told)?;
    if waits == Waits::ForNothing || ticket.wait_within(HANG).map_err(told)? {
        Ok(canary)
    } else {
        Err(format!("{canary:?} is not durable after {HANG:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_commit_is_told_from_its_neighbours() {
        let dir = tempfile::tempdir().unwrap();
        let env = huon::Env::options().page_bytes(512).open(dir.path().join("c.huon")).unwrap();
        let mut random = Random::new(1);
        let mut last = Canary::default();
        for round in 0..200 {
            let mut txn = env.write().unwrap();
            let mut work = Work::begin(&mut txn, &mut random).unwrap();
            assert_eq!(work.base, last);
            work.change(if round % 20 == 0 { Amount::Much } else { Amount::Little }).unwrap();
            last = work.end().unwrap();
            txn.commit().unwrap();
            let read = env.read().unwrap();
            assert_eq!(verify(&read, round % 2 == 0), Ok(last));
            assert!(is_of(&last, read.id(), false));
        }
        let mut txn = env.write().unwrap();
        let words = txn.create_table(&WORDS).unwrap();
        assert!(words.put(&mut txn, "word that no canary knows", b"").unwrap());
        txn.commit().unwrap();
        assert!(verify(&env.read().unwrap(), false).unwrap_err().contains("digest"));
        let mut txn = env.write().unwrap();
        assert!(words.remove(&mut txn, "word that no canary knows").unwrap());
        txn.create_table(&GROUPS).unwrap().put(&mut txn, 7, 1).unwrap();
        txn.commit().unwrap();
        assert!(verify(&env.read().unwrap(), true).unwrap_err().contains("digest"));
        let tables = env.check().unwrap().tables;
        for multi in tables.iter().filter(|table| table.values.is_some()) {
            assert!(multi.leaf_pages > 8, "trees of values, not {} leaves", multi.leaf_pages);
        }
    }
}

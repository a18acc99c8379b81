//! Huon through its public interface, as a user gets it.

use std::ops::Bound;
use std::path::Path;

use ::huon::{
    Bytes, Durability, Env, Multi, MultiDef, RawTable, ReadTxn, TableDef, WriteTxn, limits,
};

use super::{Engine, Mode, Pair, Pairs, Read, Result, Setup, Way, Write};

/// The main table: one tree, as the unnamed database of LMDB is.
const TABLE: TableDef<Bytes, Bytes> = TableDef::main();

const PAIRS: MultiDef<[u8; 8], [u8; 8]> = MultiDef::new("pairs");

/// With a journal or without, as `JOURNAL` says.
pub(crate) struct Huon<const JOURNAL: bool> {
    env: Env,
    table: RawTable,
}

impl<const JOURNAL: bool> Engine for Huon<JOURNAL> {
    const NAME: &'static str = if JOURNAL { "huon-journal" } else { "huon" };
    const SHARED: bool = true;

    type Read<'e> = HuonRead;
    type Write<'e> = HuonWrite;

    fn version() -> String {
        env!("HUON_COMMIT").to_owned()
    }

    fn options(setup: &Setup) -> String {
        let durability = durability(setup.mode);
        let journal = if JOURNAL { ", a journal of 16 MiB" } else { "" };
        match setup.page_bytes {
            Some(bytes) => format!("{durability:?}{journal}, {bytes}-byte pages"),
            None => format!("{durability:?}{journal}, else defaults"),
        }
    }

    /// A journal is for durable commits.
    fn offers(mode: Mode) -> bool {
        !JOURNAL || mode == Mode::Durable
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Huon<JOURNAL>> {
        let env = open_env(dir, setup, if JOURNAL { limits::JOURNAL_BYTES_USUAL } else { 0 })?;
        let table = env.read()?.open_table(&TABLE)?.ok_or("no main table")?;
        Ok(Huon { env, table })
    }

    #[inline]
    fn read(&self) -> Result<HuonRead> {
        Ok(HuonRead { txn: self.env.read()?, table: self.table })
    }

    #[inline]
    fn write(&self) -> Result<HuonWrite> {
        Ok(HuonWrite { txn: self.env.write()?, table: self.table })
    }

    fn pairs(&self) -> Result<Option<impl Pairs>> {
        let table = self.env.update(|txn| txn.create_table(&PAIRS))?;
        Ok(Some(HuonPairs { env: &self.env, table }))
    }

    fn sync(&self) -> Result<()> {
        self.env.sync()?;
        Ok(())
    }

    fn close(self) -> Result<()> {
        assert_eq!(self.env.close()?, ::huon::Closed::Fully, "a clone is still open");
        Ok(())
    }
}

struct HuonPairs<'e> {
    env: &'e Env,
    table: Multi<[u8; 8], [u8; 8]>,
}

impl Pairs for HuonPairs<'_> {
    fn put(&self, pairs: &[Pair]) -> Result<()> {
        let mut txn = self.env.write()?;
        for (key, value) in pairs {
            self.table.put(&mut txn, key, value)?;
        }
        txn.commit()?;
        Ok(())
    }

    fn put_rows(&self, pairs: &[Pair], row: usize) -> Result<()> {
        let mut txn = self.env.write()?;
        for row in pairs.chunks(row) {
            self.table.put_many(&mut txn, &row[0].0, row.iter().map(|(_, value)| value))?;
        }
        txn.commit()?;
        Ok(())
    }

    fn count(&self) -> Result<u64> {
        Ok(self.table.len(&self.env.read()?)?)
    }
}

/// The environment in a directory, with a journal of so many bytes.
pub(super) fn open_env(dir: &Path, setup: &Setup, journal_bytes: u64) -> Result<Env> {
    let mut options = Env::options();
    options.journal(journal_bytes);
    if let Some(bytes) = setup.page_bytes {
        options.page_bytes(bytes);
    }
    Ok(options.durability(durability(setup.mode)).open(dir.join("data.huon"))?)
}

pub(super) fn durability(mode: Mode) -> Durability {
    match mode {
        Mode::Durable => Durability::Durable,
        Mode::Lazy => Durability::Lazy,
        Mode::Unsynced => Durability::Unsynced,
    }
}

pub(crate) struct HuonRead {
    txn: ReadTxn,
    table: RawTable,
}

impl Read for HuonRead {
    #[inline]
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(self.table.get(&self.txn, key)?.map(look))
    }

    const GETS_MANY: bool = true;

    #[inline]
    fn get_many(&mut self, keys: &[&[u8]], look: impl FnMut(usize, Option<&[u8]>)) -> Result<()> {
        Ok(self.table.get_many(&self.txn, keys, look)?)
    }

    fn scan(
        &mut self,
        from: Option<&[u8]>,
        way: Way,
        limit: u64,
        look: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        let bound = from.map_or(Bound::Unbounded, Bound::Included);
        match way {
            Way::Up => feed(self.table.range(&self.txn, (bound, Bound::Unbounded))?, limit, look),
            Way::Down => {
                let range = self.table.range(&self.txn, (Bound::Unbounded, bound))?;
                feed(range.rev(), limit, look)
            }
        }
    }

    #[inline]
    fn end<T>(&mut self, way: Way, mut look: impl FnMut(&[u8], &[u8]) -> T) -> Result<Option<T>> {
        let found = match way {
            Way::Up => self.table.first(&self.txn)?,
            Way::Down => self.table.last(&self.txn)?,
        };
        Ok(found.map(|(key, value)| look(key, value)))
    }

    #[inline]
    fn near<T>(
        &mut self,
        key: &[u8],
        way: Way,
        mut look: impl FnMut(&[u8], &[u8]) -> T,
    ) -> Result<Option<T>> {
        let found = match way {
            Way::Up => self.table.at_or_above(&self.txn, key)?,
            Way::Down => self.table.at_or_below(&self.txn, key)?,
        };
        Ok(found.map(|(key, value)| look(key, value)))
    }

    const STEPS: bool = true;

    fn steps(&mut self, mut look: impl FnMut(&[u8], &[u8])) -> Result<u64> {
        let (mut cursor, mut count) = (self.table.cursor(), 0);
        while let Some((key, value)) = cursor.next(&self.txn)? {
            look(key, value);
            count += 1;
        }
        Ok(count)
    }

    const RENEWS: bool = true;

    fn renew(&mut self) -> Result<()> {
        self.txn.renew()?;
        Ok(())
    }

    const SCANS_PAGES: bool = true;

    fn scan_pages(&mut self, mut look: impl FnMut(&[u8], &[u8])) -> Result<u64> {
        let mut count = 0;
        for leaf in self.table.iter(&self.txn)?.leaves() {
            for record in leaf? {
                let (key, value) = record?;
                look(key, value);
                count += 1;
            }
        }
        Ok(count)
    }

    fn number_pages(&mut self, mut look: impl FnMut(&[u8], &[u8])) -> Result<u64> {
        let mut count = 0;
        for leaf in self.table.iter(&self.txn)?.leaves() {
            let leaf = leaf?;
            for number in 0..leaf.len() {
                let (key, value) = leaf.get(number)?.ok_or("a page is shorter than it says")?;
                look(key, value);
                count += 1;
            }
        }
        Ok(count)
    }
}

/// Gives at most `limit` records to `look`; how many there were.
#[inline]
pub(super) fn feed<'t>(
    records: impl Iterator<Item = ::huon::Result<(&'t [u8], &'t [u8])>>,
    limit: u64,
    mut look: impl FnMut(&[u8], &[u8]),
) -> Result<u64> {
    let mut count = 0;
    for record in records.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        let (key, value) = record?;
        look(key, value);
        count += 1;
    }
    Ok(count)
}

pub(crate) struct HuonWrite {
    txn: WriteTxn,
    table: RawTable,
}

impl Write for HuonWrite {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.table.put(&mut self.txn, key, value)?;
        Ok(())
    }

    #[inline]
    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.table.append(&mut self.txn, key, value)?)
    }

    const BUILDS: bool = true;

    fn build<'d>(&mut self, records: impl Iterator<Item = (&'d [u8], &'d [u8])>) -> Result<()> {
        self.table.bulk_load(&mut self.txn, |append| {
            for (key, value) in records {
                append(key, value)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        Ok(self.table.remove(&mut self.txn, key)?)
    }

    #[inline]
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(self.table.get(&self.txn, key)?.map(look))
    }

    #[inline]
    fn commit(self) -> Result<()> {
        self.txn.commit()?;
        Ok(())
    }

    #[inline]
    fn abort(self) -> Result<()> {
        self.txn.abort();
        Ok(())
    }
}

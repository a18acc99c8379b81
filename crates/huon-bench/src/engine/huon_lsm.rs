//! Tables of `huon-lsm` through its public interface, as a user gets them: an LSM tree inside of
//! Huon's file.
//!
//! There are two engines. In one, threads merge runs beside the program, from its first write on;
//! in the other each commit merges a little, as it does where no compactor runs.
//!
//! A database that is only read has no such threads: after a second without commits they would
//! merge everything to one run, and what lies there as it was loaded is to be measured, too.

use std::ops::Bound;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use ::huon::{Bytes, Durability, Env, NativeU64, ReadTxn, WriteTxn};
use huon_lsm::{CompactorThread, Lsm, LsmDef, LsmOptions, LsmTable, RawLsmTable};

use super::huon::{durability, feed, open_env};
use super::{Debt, Engine, Mode, Read, Result, Setup, Way, Write};

const TABLE: LsmDef<Bytes, Bytes> = LsmDef::new("bench");
/// Of numbers: see [`Write::add`].
const SUMS: LsmDef<Bytes, NativeU64> = LsmDef::new("sums");

/// An LSM table with a merge operator, once it is asked for.
struct Sums {
    lsm: Lsm,
    table: OnceLock<LsmTable<Bytes, NativeU64>>,
}

impl Sums {
    #[inline]
    fn table(&self) -> Result<&LsmTable<Bytes, NativeU64>> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let def = SUMS.merged_by("sum", |a, b, sum| sum.set(a + b));
        let table = self.lsm.table(&def)?;
        Ok(self.table.get_or_init(|| table))
    }
}

/// One LSM table; with threads that merge, or without.
pub(crate) struct HuonLsm<const THREADS: bool> {
    table: RawLsmTable,
    sums: Sums,
    lsm: Lsm,
    env: Env,
    background: bool,
    /// Set once the threads have been started.
    is_tended: OnceLock<()>,
    compactor: Mutex<Option<CompactorThread>>,
}

impl<const THREADS: bool> HuonLsm<THREADS> {
    /// Starts the threads before the first write.
    #[inline]
    fn before_a_write(&self) -> Result<()> {
        if THREADS && self.background && self.is_tended.get().is_none() {
            self.tend()?;
        }
        Ok(())
    }
}

impl<const THREADS: bool> Engine for HuonLsm<THREADS> {
    const NAME: &'static str = if THREADS { "huon-lsm" } else { "huon-lsm-inline" };
    const SHARED: bool = true;
    const DEBT: Debt = Debt::Known;

    type Read<'e> = LsmRead<'e>;
    type Write<'e> = LsmWrite<'e>;

    fn version() -> String {
        env!("HUON_COMMIT").to_owned()
    }

    fn options(setup: &Setup) -> String {
        let durability: Durability = durability(setup.mode);
        let LsmOptions { fan, filter_bits, small, .. } = LsmOptions::default();
        let merges = match (THREADS, setup.background) {
            (true, true) => "two threads merge",
            (true, false) => "another process merges",
            (false, _) => "commits merge",
        };
        let pages = setup.page_bytes.map(|bytes| format!(", {bytes}-byte pages"));
        format!(
            "{durability:?}, an LSM table: fan {fan}, filters of {filter_bits} bits, runs of \
             {small} records or more; {merges}{}, else defaults",
            pages.unwrap_or_default()
        )
    }

    fn offers(_mode: Mode) -> bool {
        true
    }

    fn open(dir: &Path, setup: &Setup) -> Result<Self> {
        let env = open_env(dir, setup, 0)?;
        let lsm = Lsm::open(&env)?;
        let table = lsm.table(&TABLE)?;
        let (is_tended, compactor) = (OnceLock::new(), Mutex::new(None));
        let sums = Sums { lsm: lsm.clone(), table: OnceLock::new() };
        let background = setup.background;
        Ok(HuonLsm { table, sums, lsm, env, background, is_tended, compactor })
    }

    #[inline]
    fn read(&self) -> Result<LsmRead<'_>> {
        Ok(LsmRead { txn: self.env.read()?, table: &self.table, sums: &self.sums })
    }

    #[inline]
    fn write(&self) -> Result<LsmWrite<'_>> {
        self.before_a_write()?;
        Ok(LsmWrite { txn: self.env.write()?, table: &self.table, sums: &self.sums })
    }

    /// Threads that put at a time share a commit.
    #[inline]
    fn put_alone(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.before_a_write()?;
        let mut batch = self.lsm.batch();
        batch.put(&self.table, key, value)?;
        self.lsm.write(batch)?;
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.env.sync()?;
        Ok(())
    }

    fn tend(&self) -> Result<()> {
        let mut compactor = self.compactor.lock().unwrap_or_else(PoisonError::into_inner);
        if THREADS && compactor.is_none() {
            *compactor = Some(self.lsm.compactor().spawn()?);
        }
        // Threads that come meanwhile have waited for the lock, and find it set.
        let _ = self.is_tended.set(());
        Ok(())
    }

    fn work_off(&self) -> Result<()> {
        self.lsm.compactor().run_until_idle()?;
        Ok(())
    }

    const SHORTENS: bool = true;

    fn shorten(&self) -> Result<()> {
        self.lsm.compactor().shorten()?;
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        self.lsm.compactor().merge_all()?;
        Ok(())
    }

    fn remarks(&self) -> Result<String> {
        let stat = self.table.stat(&self.env.read()?)?;
        let written = stat.write_amplification();
        let written = written.map_or(String::new(), |times| format!(", written {times:.1} times"));
        Ok(format!(
            "{} runs of {} records and {:.1} MB, {:.1} MB owed{written}, {} stalls of {:.0} ms",
            stat.runs(),
            stat.records,
            stat.bytes as f64 / 1e6,
            stat.debt_bytes as f64 / 1e6,
            stat.stalls,
            stat.stall_time.as_secs_f64() * 1e3,
        ))
    }

    fn close(self) -> Result<()> {
        let HuonLsm { table, sums, lsm, env, compactor, .. } = self;
        if let Some(threads) = compactor.into_inner().unwrap_or_else(PoisonError::into_inner) {
            threads.stop()?;
        }
        drop((table, sums, lsm));
        assert_eq!(env.close()?, ::huon::Closed::Fully, "a clone is still open");
        Ok(())
    }
}

pub(crate) struct LsmRead<'e> {
    txn: ReadTxn,
    table: &'e RawLsmTable,
    sums: &'e Sums,
}

impl Read for LsmRead<'_> {
    #[inline]
    fn get<T>(&mut self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        Ok(self.table.get(&self.txn, key)?.map(look))
    }

    #[inline]
    fn sum(&mut self, key: &[u8]) -> Result<u64> {
        Ok(self.sums.table()?.get(&self.txn, key)?.unwrap_or(0))
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

    const RENEWS: bool = true;

    fn renew(&mut self) -> Result<()> {
        self.txn.renew()?;
        Ok(())
    }
}

pub(crate) struct LsmWrite<'e> {
    txn: WriteTxn,
    table: &'e RawLsmTable,
    sums: &'e Sums,
}

impl Write for LsmWrite<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.table.put(&mut self.txn, key, value)?)
    }

    #[inline]
    fn add(&mut self, key: &[u8], more: u64) -> Result<()> {
        Ok(self.sums.table()?.merge(&mut self.txn, key, more)?)
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

    /// Blind, so whether the key was there is not said.
    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.table.delete(&mut self.txn, key)?;
        Ok(true)
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

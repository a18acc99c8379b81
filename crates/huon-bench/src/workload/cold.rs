//! A data set four times as large as the memory that the process may use.

use std::fs::{self, File};
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::reads::{gets_in_threads, gets_many, ranges};
use super::{BATCH, Form, NO_READS, check, get_all, load_all, put_all};
use crate::cage::Cage;
use crate::data::{Data, Keys, touched};
use crate::engine::{Engine, Read, Result, Way};
use crate::measure::Session;

const RECORDS: u32 = 4_700_000;
const VALUE_BYTES: usize = 900;
const MEMORY_BYTES: u64 = 1 << 30;
/// No less, however small the scale: the process itself needs some.
const MEMORY_BYTES_MIN: u64 = 64 << 20;
const LOOKUPS: u32 = 50_000;
const THREADS: u32 = 8;
const RANGES: u32 = 2000;
/// Records of a scan, from the first one on.
const SCANNED: u32 = 500_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let data = Data::new(Keys::Random16, session.scaled(RECORDS), VALUE_BYTES);
    session.describe(&data);
    let memory = ((MEMORY_BYTES as f64 * session.order.scale) as u64).max(MEMORY_BYTES_MIN);
    // An engine with a cache of its own is filled in memory, as are those that use the page cache.
    let ample = 2 * data.count as usize * VALUE_BYTES;
    // What is measured is limited, not the load: with so little memory that takes hours. Some
    // engines have a cache for each thread.
    let limited = memory as usize / 16;
    let filling = if E::SHRINKS { ample } else { limited };
    let db = session.open_to_fill::<E>("cold", filling)?;
    load_all(&db, &data, Form::Settled)?;
    db.close()?;
    session.limit_cache::<E>(limited);
    let _cage = match Cage::enter(memory) {
        Ok(cage) => cage,
        Err(reason) => return session.left_out("", &reason),
    };
    for cell in [gets, gets_beside, gets_at_once, short_ranges, scan, overwrite] {
        // What the cell before has read must not help it.
        forget(&session.order.dir)?;
        let db = session.open::<E>("cold")?;
        cell(session, &db, &data)?;
        db.close()?;
    }
    Ok(())
}

fn gets<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let order = data.picks(2, session.scaled(LOOKUPS));
    let expected = data.sum(order.numbers.iter().copied(), 0);
    session.measure("get, cold", "get", |_| {
        check::<E>(get_all(&mut db.read()?, &order)?, expected)?;
        Ok(order.len() as u64)
    })
}

fn gets_beside<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    gets_in_threads(session, db, data, THREADS as usize, LOOKUPS / THREADS, ", cold")
}

fn gets_at_once<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let order = data.picks(3, session.scaled(LOOKUPS));
    gets_many(session, db, data, &order, ", cold")
}

fn short_ranges<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    ranges(session, db, data, RANGES, ", cold")
}

fn scan<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let first = &data.sorted().numbers[..session.scaled(SCANNED) as usize];
    let expected = data.sum(first.iter().copied(), 0);
    session.measure("scan, cold", "record", |_| {
        let mut sum = 0;
        let look = |_: &[u8], value: &[u8]| sum += touched(value);
        let count = db.read()?.scan(None, Way::Up, first.len() as u64, look)?;
        check::<E>(sum, expected)?;
        Ok(count)
    })
}

fn overwrite<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let order = data.picks(4, session.scaled(LOOKUPS));
    session.measure("overwrite, cold", "put", |_| put_all(db, data, &order, 1, BATCH))
}

/// Drops the files under `dir`, which must not be mapped, from the page cache. Pages that are not
/// on the disk yet would stay.
fn forget(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            forget(&path)?;
            continue;
        }
        let file = File::open(&path)?;
        file.sync_all()?;
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    }
    Ok(())
}

//! Lookups, scans and ranges in one loaded database.

use super::{Form, NO_READS, RECORDS, VALUE_BYTES, check, get_all, load_all};
use crate::data::{Data, Keys, Order, touched};
use crate::engine::{Engine, Read, Result, Way};
use crate::measure::{CACHE_BYTES, Session, Timed};

/// Lookups of a cell.
const LOOKUPS: u32 = 1_000_000;
/// Keys that `get_many` is given at once.
const MANY: usize = 64;
/// Records of a range, and ranges of a cell.
const RANGE: u64 = 100;
const RANGES: u32 = 100_000;

/// All cells, with random keys.
pub(super) fn run<E: Engine>(session: &mut Session, records: u32, form: Form) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let data = Data::new(Keys::Random16, session.scaled(records), VALUE_BYTES);
    let db = filled::<E>(session, &data, form)?;
    gets(session, &db, &data)?;
    for threads in [2, 4, 8] {
        gets_in_threads(session, &db, &data, threads, LOOKUPS, "")?;
    }
    gets_apart(session, &db, &data)?;
    gets_differently(session, &db, &data)?;
    scans(session, &db, &data, "")?;
    ranges(session, &db, &data, RANGES, "")?;
    db.close()
}

/// Keys of text, which begin alike.
pub(super) fn text<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let data = Data::new(Keys::Text40, session.scaled(RECORDS), VALUE_BYTES);
    let db = filled::<E>(session, &data, Form::Settled)?;
    gets(session, &db, &data)?;
    absent(session, &db, &data)?;
    scans(session, &db, &data, "")?;
    ranges(session, &db, &data, RANGES, "")?;
    db.close()
}

/// A database that holds all records, loaded at random, and has just been opened. It is loaded
/// without flushes where that can be, since some engines take minutes for them.
fn filled<E: Engine>(session: &mut Session, data: &Data, form: Form) -> Result<E> {
    session.describe(data);
    let db = session.open_to_fill::<E>("loaded", CACHE_BYTES)?;
    load_all(&db, data, form)?;
    db.close()?;
    session.open::<E>("loaded")
}

/// Lookups in one transaction.
fn gets<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let order = data.picks(2, session.scaled(LOOKUPS));
    let expected = data.sum(order.numbers.iter().copied(), 0);
    for cell in ["get, first pass", "get, 1 thread"] {
        session.measure(cell, "get", |probe| {
            check::<E>(get_all(&mut db.read()?, &order)?, expected)?;
            probe.remarks = db.remarks()?;
            Ok(order.len() as u64)
        })?;
    }
    session.measure("get, each timed", "get", |probe| {
        let (mut read, mut timed, mut sum) = (db.read()?, Timed::new()?, 0);
        for (_, key) in order.iter() {
            sum += timed.time(|| read.get(key, touched))?.ok_or("a key is missing")?;
        }
        check::<E>(sum, expected)?;
        probe.add(&timed)?;
        Ok(order.len() as u64)
    })
}

/// So many lookups in each of the threads; `what` is added to the name of the cell.
pub(super) fn gets_in_threads<E: Engine>(
    session: &mut Session,
    db: &E,
    data: &Data,
    threads: usize,
    lookups: u32,
    what: &str,
) -> Result<()> {
    let count = session.scaled(lookups);
    let orders: Vec<Order> = (0..threads).map(|at| data.picks(10 + at as u64, count)).collect();
    session.measure(&format!("get, {threads} threads{what}"), "get", |probe| {
        let sums = probe.in_threads(threads, |at| get_all(&mut db.read()?, &orders[at]))?;
        for (sum, order) in sums.into_iter().zip(&orders) {
            check::<E>(sum, data.sum(order.numbers.iter().copied(), 0))?;
        }
        Ok(u64::from(count) * threads as u64)
    })
}

/// Lookups with a transaction each.
fn gets_apart<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let order = data.picks(3, session.scaled(LOOKUPS));
    let expected = data.sum(order.numbers.iter().copied(), 0);
    session.measure("get, a transaction each", "get", |_| {
        let mut sum = 0;
        for (_, key) in order.iter() {
            sum += db.read()?.get(key, touched)?.ok_or("a key is missing")?;
        }
        check::<E>(sum, expected)?;
        Ok(order.len() as u64)
    })?;
    let cell = "get, renewed each";
    if !<E::Read<'_> as Read>::RENEWS {
        return session.left_out(cell, "a read transaction cannot be renewed");
    }
    session.measure(cell, "get", |_| {
        let (mut read, mut sum) = (db.read()?, 0);
        for (_, key) in order.iter() {
            read.renew()?;
            sum += read.get(key, touched)?.ok_or("a key is missing")?;
        }
        check::<E>(sum, expected)?;
        Ok(order.len() as u64)
    })
}

/// Lookups of what is not there, of many keys at once, and each after the answer of the last.
fn gets_differently<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    absent(session, db, data)?;
    let order = data.picks(5, session.scaled(LOOKUPS));
    dependent(session, db, data, &order)?;
    gets_many(session, db, data, &order, "")
}

/// Lookups of 64 keys at once; `what` is added to the name of the cell.
pub(super) fn gets_many<E: Engine>(
    session: &mut Session,
    db: &E,
    data: &Data,
    order: &Order,
    what: &str,
) -> Result<()> {
    let cell = &format!("get_many, {MANY} keys{what}");
    if !<E::Read<'_> as Read>::GETS_MANY {
        return session.left_out(cell, "there is no lookup of many keys at once");
    }
    let keys: Vec<&[u8]> = order.iter().map(|(_, key)| key).collect();
    let expected = data.sum(order.numbers.iter().copied(), 0);
    session.measure(cell, "get", |_| {
        let (mut read, mut sum, mut missing) = (db.read()?, 0, 0_u64);
        for keys in keys.chunks(MANY) {
            read.get_many(keys, |_, value| match value {
                Some(value) => sum += touched(value),
                None => missing += 1,
            })?;
        }
        check::<E>(missing, 0)?;
        check::<E>(sum, expected)?;
        Ok(keys.len() as u64)
    })
}

/// Lookups of which each says by its value which is the next.
fn dependent<E: Engine>(session: &mut Session, db: &E, data: &Data, order: &Order) -> Result<()> {
    let next = |at: usize, seen: u64| (at + 1 + (seen & 1) as usize) % order.len();
    let expected =
        (0..order.len()).fold(0, |at, _| next(at, touched(data.value(order.numbers[at], 0))));
    session.measure("get dependent", "get", |_| {
        let (mut read, mut at) = (db.read()?, 0);
        for _ in 0..order.len() {
            at = next(at, read.get(order.key(at), touched)?.ok_or("a key is missing")?);
        }
        check::<E>(at as u64, expected as u64)?;
        Ok(order.len() as u64)
    })
}

fn absent<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let order = data.absent(4, session.scaled(LOOKUPS));
    session.measure("get absent", "get", |_| {
        let (mut read, mut found) = (db.read()?, 0);
        for (_, key) in order.iter() {
            found += u64::from(read.get(key, touched)?.is_some());
        }
        check::<E>(found, 0)?;
        Ok(order.len() as u64)
    })
}

/// Everything, upwards, downwards, and by pages; `what` is added to the names of the cells.
pub(super) fn scans<E: Engine>(
    session: &mut Session,
    db: &E,
    data: &Data,
    what: &str,
) -> Result<()> {
    let expected = data.sum(0..data.count, 0);
    let checked = |count: u64, sum: u64| -> Result<u64> {
        check::<E>(count, data.count.into())?;
        check::<E>(sum, expected)?;
        Ok(count)
    };
    for (cell, way) in [("scan", Way::Up), ("scan reverse", Way::Down)] {
        if way == Way::Down && !<E::Read<'_> as Read>::SCANS_DOWN {
            session.left_out(&format!("{cell}{what}"), "there is no scan downwards")?;
            continue;
        }
        session.measure(&format!("{cell}{what}"), "record", |_| {
            let mut sum = 0;
            let look = |_: &[u8], value: &[u8]| sum += touched(value);
            let count = db.read()?.scan(None, way, u64::MAX, look)?;
            checked(count, sum)
        })?;
    }
    let cell = format!("scan by pages{what}");
    if !<E::Read<'_> as Read>::SCANS_PAGES {
        return session.left_out(&cell, "there is no scan by pages");
    }
    session.measure(&cell, "record", |_| {
        let mut sum = 0;
        let count = db.read()?.scan_pages(|_, value| sum += touched(value))?;
        checked(count, sum)
    })
}

/// Ranges of 100 records that begin anywhere; `what` is added to the name of the cell.
pub(super) fn ranges<E: Engine>(
    session: &mut Session,
    db: &E,
    data: &Data,
    ranges: u32,
    what: &str,
) -> Result<()> {
    let sorted = data.sorted();
    let last = sorted.len().saturating_sub(RANGE as usize);
    let mut rng = fastrand::Rng::with_seed(6);
    let starts: Vec<usize> = (0..session.scaled(ranges)).map(|_| rng.usize(..=last)).collect();
    let order = data.order(starts.iter().map(|&start| sorted.numbers[start]).collect());
    let expected: u64 = starts
        .iter()
        .map(|&start| data.sum(sorted.numbers[start..].iter().copied().take(RANGE as usize), 0))
        .sum();
    session.measure(&format!("ranges of {RANGE}{what}"), "range", |_| {
        let (mut read, mut sum) = (db.read()?, 0);
        for (_, key) in order.iter() {
            read.scan(Some(key), Way::Up, RANGE, |_, value| sum += touched(value))?;
        }
        check::<E>(sum, expected)?;
        Ok(order.len() as u64)
    })
}

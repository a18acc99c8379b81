//! Reads from a data set four times as large as the memory that the process may use.

use super::{BATCH, NO_READS, check, get_all, put_all};
use crate::cage::Cage;
use crate::data::{Data, Keys, touched};
use crate::engine::{Engine, Read, Result, Way};
use crate::measure::Session;

const RECORDS: u32 = 4_000_000;
const VALUE_BYTES: usize = 1000;
const MEMORY_BYTES: u64 = 1 << 30;
/// No less, however small the scale: the process itself needs some.
const MEMORY_BYTES_MIN: u64 = 64 << 20;
const LOOKUPS: u32 = 50_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let data = Data::new(Keys::Random16, session.scaled(RECORDS), VALUE_BYTES);
    session.describe(&data);
    let order = data.shuffled(1);
    let memory = ((MEMORY_BYTES as f64 * session.order.scale) as u64).max(MEMORY_BYTES_MIN);
    let _cage = match Cage::enter(memory) {
        Ok(cage) => cage,
        Err(reason) => return session.left_out("", &reason),
    };
    session.limit_cache::<E>(memory as usize / 4);
    let db = session.open::<E>("cold")?;
    put_all(&db, &data, &order, 0, BATCH)?;
    db.sync()?;
    db.settle()?;
    let wanted = data.picks(2, session.scaled(LOOKUPS));
    let expected = data.sum(wanted.numbers.iter().copied(), 0);
    session.measure("get, cold", "get", |_| {
        check::<E>(get_all(&mut db.read()?, &wanted)?, expected)?;
        Ok(wanted.len() as u64)
    })?;
    session.measure("scan, cold", "record", |_| {
        let mut sum = 0;
        let look = |_: &[u8], value: &[u8]| sum += touched(value);
        let count = db.read()?.scan(None, Way::Up, u64::MAX, look)?;
        check::<E>(sum, data.sum(0..data.count, 0))?;
        Ok(count)
    })?;
    db.close()
}

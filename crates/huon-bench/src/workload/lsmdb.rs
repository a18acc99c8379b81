//! LSMDB's test: small records under the numbers of a counter whose lowest byte comes first, so
//! that each durable transaction of 1000 meets pages everywhere.

use super::{BATCH, check, put_all};
use crate::data::{Data, Keys, touched};
use crate::engine::{Engine, Read, Result, Way};
use crate::measure::Session;

const RECORDS: u32 = 2_000_000;
const VALUE_BYTES: usize = 16;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    let data = Data::new(Keys::Counter8, session.scaled(RECORDS), VALUE_BYTES);
    session.describe(&data);
    let order = data.all();
    let db = session.open::<E>("lsmdb")?;
    session.measure("insert", "put", |_| put_all(&db, &data, &order, 0, BATCH))?;
    if !E::READS {
        return db.close();
    }
    session.measure("scan", "record", |_| {
        let (mut sum, mut count_seen) = (0, 0_u64);
        db.read()?.scan(None, Way::Up, u64::MAX, |_, value| {
            sum += touched(value);
            count_seen += 1;
        })?;
        check::<E>(count_seen, data.count.into())?;
        check::<E>(sum, data.sum(0..data.count, 0))?;
        Ok(count_seen)
    })?;
    db.close()
}

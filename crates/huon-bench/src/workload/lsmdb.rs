//! LSMDB's test: small records under the numbers of a counter whose lowest byte comes first, so
//! that each durable transaction of 1000 meets pages everywhere.

use super::debt::pay;
use super::{BATCH, check, put_all_timed};
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
    let stretch = session.begin()?;
    session.measure("insert", "put", |probe| {
        let puts = put_all_timed(&db, &data, &order, 0, BATCH, probe)?;
        probe.remarks = db.remarks()?;
        Ok(puts)
    })?;
    pay(session, &stretch, &db, "insert, with all debt", data.count.into())?;
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

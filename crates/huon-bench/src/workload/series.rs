//! Points of many time series: each of them only rises, and all grow side by side.

use super::{check_all, put_all_timed};
use crate::data::{Data, Keys};
use crate::engine::{Engine, Result};
use crate::measure::Session;

const RECORDS: u32 = 5_000_000;
const VALUE_BYTES: usize = 8;
/// Points in a transaction: a hundred of each series.
const BATCH: usize = 20_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    let data = Data::new(Keys::Series16, session.scaled(RECORDS), VALUE_BYTES);
    session.describe(&data);
    let order = data.all();
    let db = session.open::<E>("series")?;
    session.measure("put side by side", "put", |probe| {
        put_all_timed(&db, &data, &order, 0, BATCH, probe)
    })?;
    if E::READS {
        check_all(&db, data.count.into(), data.sum(0..data.count, 0))?;
    }
    db.close()
}

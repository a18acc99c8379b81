//! Single records for their place, at the ends of a database and next to a key, and walks that
//! remember their place by themselves.

use super::{NO_READS, RECORDS, VALUE_BYTES, check, loaded};
use crate::data::{Data, Keys, touched};
use crate::engine::{Engine, Read, Result, Way};
use crate::measure::Session;

/// Records that a cell asks for.
const PLACES: u32 = 1_000_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if !E::READS {
        return session.left_out("", NO_READS);
    }
    let data = Data::new(Keys::Random16, session.scaled(RECORDS), VALUE_BYTES);
    let db = loaded::<E>(session, &data)?;
    ends(session, &db, &data)?;
    neighbours(session, &db, &data)?;
    walks(session, &db, &data)?;
    db.close()
}

/// Cells of that way; `false`: the engine goes upwards alone, and they are left out.
fn goes<E: Engine>(session: &mut Session, way: Way, cells: &[&str]) -> Result<bool> {
    let goes = way == Way::Up || <E::Read<'_> as Read>::SCANS_DOWN;
    for cell in cells.iter().filter(|_| !goes) {
        session.left_out(cell, "there is no scan downwards")?;
    }
    Ok(goes)
}

/// The first record and the last, again and again.
fn ends<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let (sorted, count) = (data.sorted().numbers, session.scaled(PLACES));
    let ends = [("first", Way::Up, sorted.first()), ("last", Way::Down, sorted.last())];
    for (cell, way, number) in ends {
        if !goes::<E>(session, way, &[cell])? {
            continue;
        }
        let number = *number.ok_or("there are no records")?;
        session.measure(cell, "record", |_| {
            let (mut read, mut sum) = (db.read()?, 0);
            for _ in 0..count {
                sum += read.end(way, |_, value| touched(value))?.ok_or("there is no record")?;
            }
            check::<E>(sum, touched(data.value(number, 0)) * u64::from(count))?;
            Ok(count.into())
        })?;
    }
    Ok(())
}

/// The records above and below keys that are not there: all over the database, and at one place.
fn neighbours<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let (sorted, absent) = (data.sorted(), data.absent(7, session.scaled(PLACES)));
    let one = data.order(vec![absent.numbers[0]; absent.len()]);
    let ways = [
        (Way::Up, ["at or above", "at or above, one key"]),
        (Way::Down, ["at or below", "at or below, one key"]),
    ];
    for (way, cells) in ways {
        if !goes::<E>(session, way, &cells)? {
            continue;
        }
        let beside = |key: &[u8]| {
            let above = partition(sorted.len(), |at| sorted.key(at) < key);
            let at = if way == Way::Up { above } else { above.wrapping_sub(1) };
            sorted.numbers.get(at).map_or(0, |number| touched(data.value(*number, 0)))
        };
        for (cell, order) in cells.into_iter().zip([&absent, &one]) {
            let expected = order.iter().map(|(_, key)| beside(key)).sum();
            session.measure(cell, "record", |_| {
                let (mut read, mut sum) = (db.read()?, 0);
                for (_, key) in order.iter() {
                    sum += read.near(key, way, |_, value| touched(value))?.unwrap_or(0);
                }
                check::<E>(sum, expected)?;
                Ok(order.len() as u64)
            })?;
        }
    }
    Ok(())
}

/// How many of so many, from the first on, are below.
fn partition(count: usize, is_below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        if is_below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Everything, by a cursor that outlives changes, and by the number that a record has in its page.
fn walks<E: Engine>(session: &mut Session, db: &E, data: &Data) -> Result<()> {
    let expected = data.sum(0..data.count, 0);
    let checked = |count: u64, sum: u64| -> Result<u64> {
        check::<E>(count, data.count.into())?;
        check::<E>(sum, expected)?;
        Ok(count)
    };
    let cell = "scan by cursor";
    if <E::Read<'_> as Read>::STEPS {
        session.measure(cell, "record", |_| {
            let mut sum = 0;
            checked(db.read()?.steps(|_, value| sum += touched(value))?, sum)
        })?;
    } else {
        session.left_out(cell, "there is no cursor that outlives changes")?;
    }
    let cell = "scan by pages, by number";
    if !<E::Read<'_> as Read>::SCANS_PAGES {
        return session.left_out(cell, "there is no scan by pages");
    }
    session.measure(cell, "record", |_| {
        let mut sum = 0;
        checked(db.read()?.number_pages(|_, value| sum += touched(value))?, sum)
    })
}

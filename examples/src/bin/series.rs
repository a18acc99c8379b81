//! A time series with retention: points of many metrics, the newest of each, means, and a limit to
//! how old points become.
//!
//! ```text
//! cargo run -p huon-examples --bin series -- points.huon put cpu 1700000000 0.7
//! cargo run -p huon-examples --bin series -- points.huon last
//! cargo run -p huon-examples --bin series -- points.huon mean cpu 1700000000 1700003600 60
//! cargo run -p huon-examples --bin series -- points.huon forget 1700000000
//! ```
//!
//! Times are seconds; `mean` has one line for each 60 of them here, `forget` deletes what is older.
//! A key is a tuple of metric and time: the points of a metric lie together, in order of time, and
//! a range of times is a range of keys.

use std::error::Error;
use std::ops::{Bound, Range};

use huon::{Env, F64, ReadTxn, Str, Table, TableDef, U64};

const POINTS: TableDef<(Str, U64), F64> = TableDef::new("points");

#[derive(Clone, Copy)]
struct Series {
    points: Table<(Str, U64), F64>,
}

impl Series {
    /// All metrics: one descent for each, however many points it has.
    fn metrics(self, txn: &ReadTxn) -> huon::Result<Vec<String>> {
        let mut metrics: Vec<String> = Vec::new();
        loop {
            let behind = match metrics.last() {
                Some(metric) => Bound::Excluded((metric.as_str(), u64::MAX)),
                None => Bound::Unbounded,
            };
            match self.points.range(txn, (behind, Bound::Unbounded))?.next().transpose()? {
                Some(((metric, _), _)) => metrics.push(metric.into_owned()),
                None => return Ok(metrics),
            }
        }
    }

    /// The newest point of a metric.
    fn last(self, txn: &ReadTxn, metric: &str) -> huon::Result<Option<(u64, f64)>> {
        let newest = self.points.prefix(txn, (metric,))?.next_back().transpose()?;
        Ok(newest.map(|((_, time), value)| (time, value)))
    }

    /// The mean of each `step` of a time, where there are points.
    fn means(
        self,
        txn: &ReadTxn,
        metric: &str,
        time: Range<u64>,
        step: u64,
    ) -> huon::Result<Vec<(u64, f64)>> {
        let mut means: Vec<(u64, f64)> = Vec::new();
        let mut count = 0.0;
        for point in self.points.range(txn, (metric, time.start)..(metric, time.end))? {
            let ((_, at), value) = point?;
            let start = at - (at - time.start) % step;
            match means.last_mut() {
                Some((last, mean)) if *last == start => {
                    count += 1.0;
                    *mean += (value - *mean) / count;
                }
                _ => {
                    count = 1.0;
                    means.push((start, value));
                }
            }
        }
        Ok(means)
    }

    /// Deletes the points of a time before `end`, in a transaction for each metric, so that other
    /// writers get in between; how many there were. The file gives the room back by itself.
    fn forget(self, env: &Env, end: u64) -> huon::Result<u64> {
        let mut forgotten = 0;
        for metric in env.view(|txn| self.metrics(txn))? {
            let old = (&*metric, 0)..(&*metric, end);
            forgotten += env.update(|txn| self.points.remove_range(txn, old))?;
        }
        Ok(forgotten)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [path, command @ ..] = &args[..] else { return Err("series FILE COMMAND ..".into()) };
    let env = Env::open(path)?;
    let series = Series { points: env.update(|txn| txn.create_table(&POINTS))? };
    match command {
        ["put", metric, time, value] => {
            let (time, value) = (time.parse()?, value.parse()?);
            env.update(|txn| series.points.put(txn, (metric, time), value))?;
        }
        ["last"] => {
            let txn = env.read()?;
            for metric in series.metrics(&txn)? {
                if let Some((time, value)) = series.last(&txn, &metric)? {
                    println!("{metric} {time} {value}");
                }
            }
        }
        ["mean", metric, from, to, step] => {
            let (time, step) = (from.parse()?..to.parse()?, step.parse()?);
            for (start, mean) in env.view(|txn| series.means(txn, metric, time, step))? {
                println!("{start} {mean}");
            }
        }
        ["forget", time] => println!("{}", series.forget(&env, time.parse()?)?),
        _ => {
            let usage =
                "series FILE put METRIC TIME VALUE | last | mean METRIC FROM TO STEP | forget TIME";
            return Err(usage.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_has_points_of_its_own() -> huon::Result<()> {
        let env = Env::in_memory()?;
        let series = Series { points: env.update(|txn| txn.create_table(&POINTS))? };
        env.update(|txn| {
            for time in 0..20 {
                series.points.put(txn, ("cpu", time), time as f64)?;
            }
            series.points.put(txn, ("cpu0", 3), -1.0)?;
            series.points.put(txn, ("disk", u64::MAX), 0.5)
        })?;
        let txn = env.read()?;
        assert_eq!(series.metrics(&txn)?, ["cpu", "cpu0", "disk"]);
        assert_eq!(series.last(&txn, "cpu")?, Some((19, 19.0)));
        assert_eq!(series.last(&txn, "cp")?, None);
        assert_eq!(series.means(&txn, "cpu", 5..20, 10)?, [(5, 9.5), (15, 17.0)]);
        assert_eq!(series.forget(&env, 15)?, 16);
        let txn = env.read()?;
        assert_eq!(series.metrics(&txn)?, ["cpu", "disk"]);
        assert_eq!(series.points.len(&txn)?, 6);
        Ok(())
    }
}

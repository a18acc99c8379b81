//! A time series with retention: points of many metrics, the last of each, averages, and a limit to
//! how old they become.
//!
//! ```text
//! series points.huon put cpu 1700000000 0.7
//! series points.huon last cpu
//! series points.huon mean cpu 1700000000 1700003600 60    # for each 60 seconds
//! series points.huon forget 1700000000                    # older than that
//! ```
//!
//! The key is a tuple, metric and time: all points of a metric lie together, in order of time, and
//! a range of times is a range of keys. Old points are deleted a bounded number at a time, so that
//! no writer waits long; the file gives the room back by itself.

use huon::{Env, F64, ReadTxn, Result, Str, Table, TableDef, U64, WriteTxn};

const POINTS: TableDef<(Str, U64), F64> = TableDef::new("points");
/// Points that one transaction deletes.
const STEP: usize = 10_000;

type Points = Table<(Str, U64), F64>;

/// The newest point of a metric.
fn last(points: Points, txn: &ReadTxn, metric: &str) -> Result<Option<(u64, f64)>> {
    let newest = points.range(txn, (metric, 0)..=(metric, u64::MAX))?.next_back();
    newest.transpose().map(|point| point.map(|((_, time), value)| (time, value)))
}

/// The mean of each `step` seconds of a time, where there are points.
fn means(
    points: Points,
    txn: &ReadTxn,
    metric: &str,
    (from, to): (u64, u64),
    step: u64,
) -> Result<Vec<(u64, f64)>> {
    let mut means: Vec<(u64, f64)> = Vec::new();
    let mut count = 0.0;
    for point in points.range(txn, (metric, from)..(metric, to))? {
        let ((_, time), value) = point?;
        let start = time - (time - from) % step;
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

/// All metrics: one seek for each, whatever it has of points.
fn metrics(points: Points, txn: &ReadTxn) -> Result<Vec<String>> {
    let mut metrics = Vec::new();
    let mut next = points.first(txn)?;
    while let Some(((metric, _), _)) = next {
        metrics.push(metric.to_owned());
        next = points.range(txn, (metric, u64::MAX)..)?.find(|point| {
            point.as_ref().map_or(true, |((other, _), _)| *other != metric)
        }).transpose()?;
    }
    Ok(metrics)
}

/// Deletes at most [`STEP`] points of a metric that are older than `time`; how many there were.
fn forget(points: Points, txn: &mut WriteTxn, metric: &str, time: u64) -> Result<u64> {
    let behind = points.range(txn, (metric, 0)..(metric, time))?.nth(STEP).transpose()?;
    let end = behind.map_or(time, |((_, time), _)| time);
    points.remove_range(txn, (metric, 0)..(metric, end))
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    const USAGE: &str = "usage: series FILE put METRIC TIME VALUE | last METRIC | \
                         mean METRIC FROM TO STEP | metrics | forget TIME";
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (path, order) = words.split_first().ok_or(USAGE)?;
    let env = Env::open(path)?;
    let points = env.update(|txn| txn.create_table(&POINTS))?;
    match order {
        ["put", metric, time, value] => {
            let (time, value) = (time.parse()?, value.parse()?);
            env.update(|txn| points.put(txn, (metric, time), value))?;
        }
        ["last", metric] => match env.view(|txn| last(points, txn, metric))? {
            Some((time, value)) => println!("{time} {value}"),
            None => return Err(format!("there are no points of {metric}").into()),
        },
        ["mean", metric, from, to, step] => {
            let (time, step) = ((from.parse()?, to.parse()?), step.parse()?);
            for (time, mean) in env.view(|txn| means(points, txn, metric, time, step))? {
                println!("{time} {mean:.3}");
            }
        }
        ["metrics"] => {
            env.view(|txn| metrics(points, txn))?.iter().for_each(|metric| println!("{metric}"));
        }
        ["forget", time] => {
            let time = time.parse()?;
            let mut forgotten = 0;
            for metric in env.view(|txn| metrics(points, txn))? {
                loop {
                    let step = env.update(|txn| forget(points, txn, &metric, time))?;
                    forgotten += step;
                    if step == 0 {
                        break;
                    }
                }
            }
            println!("{forgotten} points forgotten");
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

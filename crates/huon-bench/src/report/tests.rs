//! The page of a small run that never was.

use super::charts;
use super::markdown::page;
use super::run::Run;
use super::targets::{Verdict, judge};
use crate::engine::Result;

const MACHINE: &str = r#"{"cores":2,"cpu_model":"Test processor","memory_bytes":25769803776,
    "kernel":"6.1","file_system":"ext4","date":"2026-01-02","commit":"abc","scale":1.0,
    "repeats":3}"#;

/// A measurement of so many operations in a second.
fn line(engine: &str, workload: &str, cell: &str, mode: &str, rate: f64, more: &str) -> String {
    format!(
        r#"{{"engine":"{engine}","version":"1.0","options":"as usual","workload":"{workload}",
        "cell":"{cell}","mode":"{mode}","records":1000,"key_bytes":16,"value_bytes":100,
        "threads":1,"repeat":0,"operations":1000,"unit":"get","seconds":{},"user_seconds":0.5,
        "system_seconds":0.25,"written_bytes":2000,"dirtied_bytes":4096,"file_bytes":1000000,
        "peak_rss_bytes":2000000{more}}}"#,
        1000.0 / rate
    )
    .replace('\n', "")
}

/// Three repeats around `rate`, one tenth apart.
fn repeats(engine: &str, cell: &str, rate: f64) -> Vec<String> {
    [0.95, 1.0, 1.05].map(|share| line(engine, "reads", cell, "lazy", rate * share, "")).to_vec()
}

fn run_of(lines: &[String]) -> Result<Run> {
    let text = format!("{}\n{}\n", MACHINE.replace('\n', ""), lines.join("\n"));
    Run::read(text.as_bytes())
}

fn example() -> Vec<String> {
    let mut lines = repeats("lmdb", "get, 1 thread", 1_000_000.0);
    lines.extend(repeats("huon", "get, 1 thread", 2_000_000.0));
    lines.extend(repeats("redb", "get, 1 thread", 300_000.0));
    lines.extend(repeats("null", "get, 1 thread", 90_000_000.0));
    // Too near to each other to say which is faster.
    lines.extend(repeats("lmdb", "scan", 20_000_000.0));
    lines.extend(repeats("huon", "scan", 20_500_000.0));
    lines.extend(repeats("huon", "get, 2 threads", 3_900_000.0));
    let latency = r#","latency_ns":{"p50":500,"p99":900,"p999":1500,"max":70000}"#;
    lines.push(line("huon", "reads", "get, each timed", "lazy", 1e6, latency));
    let series = r#","series":[[0.0,1000000.0],[1.0,1500000.0],[2.0,1600000.0]]"#;
    lines.push(line("huon", "parked", "beside a parked reader", "lazy", 1e6, series));
    lines.push(r#"{"engine":"bdb","left_out":"no library db-5.3"}"#.to_string());
    lines
}

/// The line of a table that begins with a cell of this name.
fn row<'p>(page: &'p str, section: &str, first: &str) -> &'p str {
    let (_, rest) = page.split_once(section).expect("the section is there");
    let line = rest.lines().find(|line| line.starts_with(&format!("| {first}")));
    line.unwrap_or_else(|| panic!("no row {first} after {section}"))
}

#[test]
fn cells_hold_medians_spreads_and_ratios() -> Result<()> {
    let page = page(&run_of(&example())?, &[]);
    let row = row(&page, "## Reads", "get, 1 thread, lazy");
    let cells: Vec<&str> = row.split(" | ").collect();
    // Huon, LMDB, redb and the floor, in this order; the floor is never the best.
    assert_eq!(cells[1], "**2.00 M**<br>1.90-2.10 M<br>2.00 x");
    assert_eq!(cells[2], "1.00 M<br>950 k-1.05 M<br>1.00 x");
    assert_eq!(cells[3], "300 k<br>285-315 k<br>0.30 x");
    assert!(cells[4].starts_with("90.0 M<br>"), "{row}");
    Ok(())
}

#[test]
fn the_engine_ahead_is_named_only_beyond_the_spread() -> Result<()> {
    let page = page(&run_of(&example())?, &[]);
    let ahead = row(&page, "## Huon and the best", "reads: get, 1 thread, lazy");
    assert!(ahead.ends_with("| 2.00 x | ahead |"), "{ahead}");
    let even = row(&page, "## Huon and the best", "reads: scan, lazy");
    assert!(even.ends_with("| 1.02 x | even |"), "{even}");
    // Both are bold: neither is known to be better.
    let scan = row(&page, "## Reads", "scan, lazy");
    assert_eq!(scan.matches("**").count(), 4, "{scan}");
    assert!(page.contains("Ahead in 1 cells, even in 1, behind in 0."));
    Ok(())
}

#[test]
fn targets_are_met_missed_or_not_measured() -> Result<()> {
    let judged = judge(&run_of(&example())?);
    let verdict = |what: &str| {
        let found = judged.iter().find(|j| j.what == what && !j.stretch);
        found.map(|j| (j.verdict, j.ratio.clone()))
    };
    let wanted = [
        ("reads: get, 1 thread", Verdict::Met, "2.00 x"),
        ("reads: scan", Verdict::Missed, "1.02 x"),
        // LMDB was not measured there, so Huon's own figure is worth nothing.
        ("reads: get, 2 threads", Verdict::NotMeasured, "-"),
        ("crud: crud, durable", Verdict::NotMeasured, "-"),
    ];
    for (what, right, ratio) in wanted {
        assert_eq!(verdict(what), Some((right, ratio.to_string())), "{what}");
    }
    let page = page(&run_of(&example())?, &[]);
    assert!(row(&page, "## Targets", "reads: scan |").ends_with("| >= 1.30 x | **missed** |"));
    Ok(())
}

#[test]
fn targets_of_lsm_tables_are_judged_by_rate_time_and_space() -> Result<()> {
    // 1000 records of 116 bytes; 0.75 seconds of the processor.
    let remarks = r#","remarks":"12 runs""#;
    let put = |engine: &str, cell: &str, rate: f64| {
        line(engine, "load-10m", cell, "lazy", rate, remarks).replace("\"get\"", "\"put\"")
    };
    let insert = |engine: &str, rate: f64| line(engine, "lsmdb", "insert", "durable", rate, "");
    let lines = [
        put("huon-lsm", "load, with all debt", 900.0),
        put("fjall", "load, synced", 300.0),
        put("lmdb-wm", "load, synced", 500.0),
        insert("huon-lsm", 900.0),
        insert("leveldb", 300.0),
    ];
    let run = run_of(&lines)?;
    let judged = judge(&run);
    let verdict = |what: &str| {
        let found = judged.iter().find(|j| j.what == what);
        let judged = found.unwrap_or_else(|| panic!("no target {what}"));
        (judged.verdict, judged.ratio.as_str())
    };
    let load = "huon-lsm, load-10m: load, with all debt, lazy";
    assert_eq!(verdict(load), (Verdict::Missed, "1.80 x"));
    let space = format!("{load}, size of the file by that of the records");
    assert_eq!(verdict(&space), (Verdict::Missed, "8.62 x"));
    let insert = "huon-lsm, lsmdb: insert, durable";
    assert_eq!(verdict(insert), (Verdict::Met, "3.00 x"));
    assert_eq!(verdict(&format!("{insert}, processor time")), (Verdict::Missed, "1.00 x"));
    let page = page(&run, &[]);
    // 2000 bytes written, 4096 dirtied and a file of a million bytes, for 116,000 bytes.
    let costs = row(&page, "## Load-10m", "load, with all debt, lazy<br>written and dirtied");
    assert!(costs.contains("| 0.0172 x<br>0.0353 x<br>8.62 x |"), "{costs}");
    assert!(page.contains("| load, synced, lazy | fjall | 12 runs |"), "{page}");
    Ok(())
}

#[test]
fn slow_peers_are_flagged_and_others_not() -> Result<()> {
    let text = page(&run_of(&example())?, &[]);
    // redb is known to reach 0.85 of LMDB.
    let flag = row(&text, "## Peers slower", "redb");
    assert_eq!(flag, "| redb | reads: get, 1 thread, lazy | 0.30 x | 0.85 x |");
    let mut lines = repeats("lmdb", "get, 1 thread", 1_000_000.0);
    lines.extend(repeats("redb", "get, 1 thread", 700_000.0));
    assert!(!page(&run_of(&lines)?, &[]).contains("## Peers slower"));
    Ok(())
}

#[test]
fn what_is_left_out_is_named() -> Result<()> {
    let page = page(&run_of(&example())?, &[]);
    let left = row(&page, "## Left out", "bdb");
    assert_eq!(left, "| bdb | all | all | all | no library db-5.3 |");
    assert!(row(&page, "## Versions and options", "huon").contains("| 1.0 | lazy | as usual |"));
    Ok(())
}

#[test]
fn a_workload_that_was_measured_later_is_not_left_out() -> Result<()> {
    let left =
        |workload| format!(r#"{{"engine":"","workload":"{workload}","left_out":"not asked for"}}"#);
    let mut lines = vec![left("reads"), left("load")];
    lines.extend(example());
    let run = run_of(&lines)?;
    let workloads: Vec<&str> = run.left_out.iter().map(|left| left.workload.as_str()).collect();
    assert_eq!(workloads, ["load", ""], "Berkeley DB is left out of all");
    Ok(())
}

#[test]
fn a_lazy_row_takes_lmdb_in_the_mode_it_has() -> Result<()> {
    let lines = [("lmdb", "unsynced", 1e6), ("huon", "lazy", 2e6), ("huon", "durable", 1e3)]
        .map(|(engine, mode, rate)| line(engine, "reads", "scan", mode, rate, ""));
    let page = page(&run_of(&lines)?, &[]);
    assert!(row(&page, "## Reads", "scan, lazy").contains("2.00 x*"));
    assert!(!row(&page, "## Reads", "scan, durable").contains(" x"));
    Ok(())
}

#[test]
fn parts_of_a_run_stand_side_by_side() -> Result<()> {
    let other = MACHINE.replace('\n', "").replace("Test", "Another");
    let cold = line("huon", "cold", "get, cold", "lazy", 1e4, "");
    let mut lines = example();
    lines.extend([other, cold]);
    let text = page(&run_of(&lines)?, &[]);
    let (head, _) = text.split_once("## Targets").expect("the section is there");
    assert!(head.contains("| Workloads | reads, parked | cold |"), "{head}");
    assert!(head.contains("| Processor | Test processor, 2 cores | Another processor, 2 cores |"));
    // A page of one part does not speak of parts.
    assert!(!page(&run_of(&example())?, &[]).contains("Workloads"));
    // Figures of two machines are not compared.
    lines.push(line("lmdb", "reads", "scan", "lazy", 1e6, ""));
    let error = run_of(&lines).map(drop).expect_err("refused").to_string();
    assert!(error.contains("reads was measured in an earlier part too"), "{error}");
    Ok(())
}

#[test]
fn lines_that_are_not_understood_are_refused() {
    let error = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
        run_of(&lines).map(drop).expect_err("refused").to_string()
    };
    assert!(error(&[r#"{"engine":"huon"}"#]).starts_with("line 2: "));
    assert!(error(&["not JSON"]).starts_with("line 2: "));
    assert!(Run::read("".as_bytes()).is_err());
    let unplaced = Run::read(line("huon", "reads", "scan", "lazy", 1e6, "").as_bytes());
    assert!(unplaced.map(drop).expect_err("refused").to_string().contains("which machine"));
}

#[test]
fn charts_are_drawn_of_what_there_is() -> Result<()> {
    let charts = charts::of(&run_of(&example())?)?;
    let files: Vec<&str> = charts.iter().map(|chart| chart.file.as_str()).collect();
    let right = [
        "reads-rates.svg",
        "reads-get-by-threads-lazy.svg",
        "reads-latencies.svg",
        "parked-rates.svg",
        "parked-beside-a-parked-reader-over-time-lazy.svg",
    ];
    assert_eq!(files, right);
    for chart in &charts {
        assert!(chart.svg.contains("huon"), "{}", chart.file);
    }
    let page = page(&run_of(&example())?, &charts);
    assert!(page.contains("![reads: rates](reads-rates.svg)"));
    Ok(())
}

#[test]
fn the_page_can_stand_in_the_repository() -> Result<()> {
    let page = page(&run_of(&example())?, &[]);
    assert!(page.is_ascii());
    let long = |line: &&str| line.len() > 100 && !line.contains('|');
    assert_eq!(page.lines().find(long), None);
    Ok(())
}

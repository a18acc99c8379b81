//! The page: tables of everything, with links to the charts.

use std::fmt::Write;

use super::baseline;
use super::charts::Chart;
use super::figures::{Spread, bytes, digits, middle_p9999, nanoseconds, quantity, ratio};
use super::run::{Entry, Part, Row, Run, is_floor, is_ours};
use super::targets::{self, Verdict};
use crate::record::Measurement;

/// Columns that text is wrapped at.
const COLUMNS: usize = 100;
const GIBIBYTE: f64 = (1_u64 << 30) as f64;

/// The whole page.
pub(crate) fn page(run: &Run, charts: &[Chart]) -> String {
    let mut page = String::from("# Results\n\n");
    head(&mut page, run);
    targets_table(&mut page, run);
    beside_the_best(&mut page, run);
    flags(&mut page, run);
    for workload in run.workloads() {
        let _ = writeln!(page, "## {}\n", capital(workload));
        for chart in charts.iter().filter(|chart| chart.workload == workload) {
            let _ = writeln!(page, "![{}]({})\n", chart.title, chart.file);
        }
        throughput(&mut page, run, workload);
        details(&mut page, "Latency, processor time, bytes, flushes, sizes", |page| {
            latency(page, run, workload);
            costs(page, run, workload);
            sizes(page, run, workload);
            amplification(page, run, workload);
            remarks(page, run, workload);
        });
    }
    options(&mut page, run);
    left_out(&mut page, run);
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn head(page: &mut String, run: &Run) {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, of: &dyn Fn(&Part) -> String| {
        rows.push([name.to_string()].into_iter().chain(run.parts.iter().map(of)).collect());
    };
    if run.parts.len() > 1 {
        row("Workloads", &|part| part.workloads.join(", "));
    }
    row("Date", &|part| part.machine.date.clone());
    row("Huon", &|part| part.machine.commit.clone());
    row("Processor", &|part| format!("{}, {} cores", part.machine.cpu_model, part.machine.cores));
    row("Memory", &|part| format!("{:.1} GiB", part.machine.memory_bytes as f64 / GIBIBYTE));
    row("System", &|part| part.machine.kernel.clone());
    row("File system", &|part| part.machine.file_system.clone());
    row("Size of the run", &|part| format!("{} of the full numbers", part.machine.scale));
    row("Repeats", &|part| part.machine.repeats.to_string());
    table(page, &vec![""; 1 + run.parts.len()], rows);
    if run.parts.len() > 1 {
        paragraph(
            page,
            "The run was made in parts, one for each column above. What is compared is of one \
             part.",
        );
    }
    paragraph(
        page,
        "Figures are medians of the repeats, with the least and the greatest below them, and the \
         ratio to LMDB in the same run. Bold is the best of a row, and whatever differs from it by \
         no more than the repeats do. A star at a ratio: LMDB has no such mode, and is taken in \
         one that promises less. `raw` and `null` are no engines: bare writes and flushes of the \
         same bytes, and the harness alone. [How to read this page](NOTES.md) says what the \
         modes promise.",
    );
}

fn targets_table(page: &mut String, run: &Run) {
    page.push_str("## Targets\n\n");
    let judged = targets::judge(run);
    let count = |verdict: Verdict| judged.iter().filter(|j| j.verdict == verdict).count();
    paragraph(
        page,
        &format!(
            "{} met, {} missed, {} not measured.",
            count(Verdict::Met),
            count(Verdict::Missed),
            count(Verdict::NotMeasured)
        ),
    );
    let rows = judged.iter().map(|j| {
        let verdict = match j.verdict {
            Verdict::Met => "met",
            Verdict::Missed => "**missed**",
            Verdict::NotMeasured => "not measured",
        };
        let wanted = if j.stretch { format!("{} (stretch)", j.wanted) } else { j.wanted.clone() };
        vec![
            j.what.clone(),
            j.huon.clone(),
            j.reference.clone(),
            j.ratio.clone(),
            wanted,
            verdict.into(),
        ]
    });
    let rows: Vec<_> = rows.collect();
    table(page, &["", "Huon", "reference", "ratio", "target", ""], rows);
}

/// Every row that Huon is in, with the best of the others.
fn beside_the_best(page: &mut String, run: &Run) {
    let rows: Vec<Vec<String>> = run.rows.iter().filter_map(standing).collect();
    if rows.is_empty() {
        return;
    }
    page.push_str("## Huon and the best of the others\n\n");
    let count = |word: &str| rows.iter().filter(|row| row[5].trim_matches('*') == word).count();
    paragraph(
        page,
        &format!(
            "Ahead in {} cells, even in {}, behind in {}. Even: the medians differ by no more than \
             the repeats, or there was only one repeat.",
            count("ahead"),
            count("even"),
            count("behind")
        ),
    );
    table(page, &["", "Huon", "best other", "", "ratio", ""], rows);
}

fn standing(row: &Row) -> Option<Vec<String>> {
    let huon = row.entry("huon")?.rate()?;
    let others = row.entries.iter().filter(|e| !is_ours(&e.engine) && !is_floor(&e.engine));
    let rates = others.filter_map(|entry| Some((entry, entry.rate()?)));
    let (entry, best) = rates.max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let word = if !huon.differs(&best) {
        "even"
    } else if huon.median > best.median {
        "ahead"
    } else {
        "**behind**"
    };
    Some(vec![
        format!("{}: {}", row.workload, name(row)),
        quantity(huon.median),
        quantity(best.median),
        entry.engine.clone(),
        ratio(huon.median / best.median),
        word.to_string(),
    ])
}

fn flags(page: &mut String, run: &Run) {
    let rows: Vec<_> = baseline::slow(run)
        .into_iter()
        .map(|flag| vec![flag.engine, flag.cell, ratio(flag.now), ratio(flag.known)])
        .collect();
    if rows.is_empty() {
        return;
    }
    page.push_str("## Peers slower than they are known to be\n\n");
    paragraph(
        page,
        "These are below 0.8 of the ratio to LMDB that was measured for them with the same options \
         before, on a machine of 2 cores. Do not take them for the best that engine can do.",
    );
    table(page, &["engine", "cell", "ratio to LMDB", "known ratio"], rows);
}

fn throughput(page: &mut String, run: &Run, workload: &str) {
    let cell = |row: &Row, entry: &Entry| {
        let rate = entry.rate()?;
        let mut text = quantity(rate.median);
        let best = row.best().is_some_and(|b| rate.median == b.median || even(&rate, &b));
        if best && !is_floor(&entry.engine) {
            text = format!("**{text}**");
        }
        if rate.repeats_count > 1 {
            let _ = write!(text, "<br>{}", range(&rate));
        }
        if let Some((lmdb, mode)) = run.lmdb(row) {
            let star = if mode == row.mode { "" } else { "*" };
            let _ = write!(text, "<br>{}{star}", ratio(rate.median / lmdb.median));
        }
        Some(text)
    };
    let label = |row: &Row| format!("{}<br>{}/s", name(row), unit(row));
    grid(page, run, workload, label, cell);
}

/// Whether two rates cannot be told apart.
fn even(rate: &Spread, best: &Spread) -> bool {
    rate.repeats_count > 1 && best.repeats_count > 1 && !rate.differs(best)
}

fn latency(page: &mut String, run: &Run, workload: &str) {
    let cell = |_: &Row, entry: &Entry| {
        let taken: Vec<_> = entry.repeats.iter().filter_map(|m| m.latency_ns).collect();
        let middle = |of: fn(&crate::record::Latency) -> u64| {
            Spread::of(taken.iter().map(|l| of(l) as f64)).map(|s| nanoseconds(s.median))
        };
        let most = taken.iter().map(|l| l.max).max()?;
        let rarest = middle_p9999(&taken).map_or("?".to_string(), nanoseconds);
        let quantiles = [middle(|l| l.p50)?, middle(|l| l.p99)?, middle(|l| l.p999)?, rarest];
        Some(format!("{}<br>{}", quantiles.join("<br>"), nanoseconds(most as f64)))
    };
    let label = |row: &Row| format!("{}<br>p50, p99, p99.9, p99.99, max", name(row));
    grid(page, run, workload, label, cell);
}

fn costs(page: &mut String, run: &Run, workload: &str) {
    let cell = |_: &Row, entry: &Entry| {
        let cpu = entry.each(|m| m.user_seconds + m.system_seconds)?;
        let written = entry.each(|m| m.written_bytes as f64)?;
        let dirtied = entry.each(|m| m.dirtied_bytes as f64)?;
        let flushes =
            Spread::of(entry.repeats.iter().filter_map(|m| {
                m.disk_flushes.map(|flushes| flushes as f64 / m.operations as f64)
            }));
        let flushes = flushes.map_or("?".to_string(), |flushes| digits(flushes.median));
        let time = nanoseconds(cpu.median * 1e9);
        let (written, dirtied) = (bytes(written.median), bytes(dirtied.median));
        Some(format!("{time}<br>{written}<br>{dirtied}<br>{flushes}"))
    };
    let label = |row: &Row| {
        format!("{}<br>per {}: processor, written, dirtied, flushes", name(row), unit(row))
    };
    grid(page, run, workload, label, cell);
}

fn sizes(page: &mut String, run: &Run, workload: &str) {
    let cell = |_: &Row, entry: &Entry| {
        let file = entry.figure(|m| m.file_bytes as f64)?;
        let memory = entry.figure(|m| m.peak_rss_bytes as f64)?;
        Some(format!("{}<br>{}", bytes(file.median), bytes(memory.median)))
    };
    grid(page, run, workload, |row| format!("{}<br>file, memory", name(row)), cell);
}

/// What puts cost as a multiple of what they put, and the database of what it holds.
fn amplification(page: &mut String, run: &Run, workload: &str) {
    let cell = |row: &Row, entry: &Entry| {
        let is_known = |m: &Measurement| m.operations > 0 && m.records > 0 && each(m) > 0.0;
        if unit(row) != "put" || !entry.repeats.iter().all(is_known) {
            return None;
        }
        let put = |m: &Measurement| m.operations as f64 * each(m);
        let written = entry.figure(|m| m.written_bytes as f64 / put(m))?;
        let dirtied = entry.figure(|m| m.dirtied_bytes as f64 / put(m))?;
        let file = entry.figure(|m| m.file_bytes as f64 / (m.records as f64 * each(m)))?;
        let [written, dirtied, file] = [written, dirtied, file].map(|of| ratio(of.median));
        Some(format!("{written}<br>{dirtied}<br>{file}"))
    };
    let label = |row: &Row| {
        format!("{}<br>written and dirtied of what was put, file of all records", name(row))
    };
    grid(page, run, workload, label, cell);
}

/// Bytes of a record.
fn each(m: &Measurement) -> f64 {
    (m.key_bytes + m.value_bytes) as f64
}

/// What engines tell about themselves, each in its repeat in the middle.
fn remarks(page: &mut String, run: &Run, workload: &str) {
    let mut rows = Vec::new();
    for row in run.rows_of(workload) {
        let told = row.entries.iter().map(|entry| (&entry.engine, &entry.middle().remarks));
        let told = told.filter(|(_, remarks)| !remarks.is_empty());
        rows.extend(told.map(|(engine, text)| vec![name(row), engine.clone(), text.clone()]));
    }
    if !rows.is_empty() {
        table(page, &["", "engine", "what it tells"], rows);
    }
}

/// A table of a workload: a line for each row, a column for each engine that is in any of them.
/// Rows in which `cell` finds nothing are left out.
fn grid(
    page: &mut String,
    run: &Run,
    workload: &str,
    label: impl Fn(&Row) -> String,
    cell: impl Fn(&Row, &Entry) -> Option<String>,
) {
    let rows: Vec<&Row> = run.rows_of(workload).collect();
    let in_any = |engine: &&String| rows.iter().any(|row| row.entry(engine).is_some());
    let engines: Vec<&String> = run.engines.iter().filter(in_any).collect();
    let mut lines = Vec::new();
    for row in rows {
        let texts: Vec<Option<String>> = engines
            .iter()
            .map(|engine| row.entry(engine).and_then(|entry| cell(row, entry)))
            .collect();
        if texts.iter().any(Option::is_some) {
            let mut line = vec![label(row)];
            line.extend(texts.into_iter().map(|text| text.unwrap_or_else(|| "-".to_string())));
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return;
    }
    let mut head = vec![""];
    head.extend(engines.iter().map(|engine| engine.as_str()));
    table(page, &head, lines);
}

fn options(page: &mut String, run: &Run) {
    page.push_str("## Versions and options\n\n");
    let mut rows: Vec<Vec<String>> = Vec::new();
    for engine in &run.engines {
        for row in &run.rows {
            let Some(entry) = row.entry(engine) else { continue };
            for m in &entry.repeats {
                let line =
                    vec![engine.clone(), m.version.clone(), m.mode.clone(), m.options.clone()];
                if !rows.contains(&line) {
                    rows.push(line);
                }
            }
        }
    }
    table(page, &["engine", "version", "mode", "options"], rows);
}

fn left_out(page: &mut String, run: &Run) {
    if run.left_out.is_empty() {
        return;
    }
    page.push_str("## Left out\n\n");
    let or_all = |text: &str| if text.is_empty() { "all".to_string() } else { text.to_string() };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for left in &run.left_out {
        let row = vec![
            or_all(&left.engine),
            or_all(&left.workload),
            or_all(&left.cell),
            or_all(&left.mode),
            left.left_out.clone(),
        ];
        // Each repeat may say it again.
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    table(page, &["engine", "workload", "cell", "mode", "why"], rows);
}

fn table(page: &mut String, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let _ = writeln!(page, "| {} |", head.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(head.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|text| plain(text)).collect();
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    page.push('\n');
}

/// Text that a cell of a table can hold: no bars, no line ends, ASCII.
fn plain(text: &str) -> String {
    let escaped = text.replace('|', "\\|").replace(['\n', '\r'], " ");
    escaped.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

fn paragraph(page: &mut String, text: &str) {
    let mut columns = 0;
    for word in text.split_whitespace() {
        if columns > 0 && columns + 1 + word.len() > COLUMNS {
            page.push('\n');
            columns = 0;
        } else if columns > 0 {
            page.push(' ');
            columns += 1;
        }
        page.push_str(word);
        columns += word.len();
    }
    page.push_str("\n\n");
}

fn details(page: &mut String, title: &str, fill: impl FnOnce(&mut String)) {
    let mut inside = String::new();
    fill(&mut inside);
    if !inside.is_empty() {
        let _ = write!(page, "<details><summary>{title}</summary>\n\n{inside}</details>\n\n");
    }
}

/// A row as a reader knows it: its cell and its mode.
fn name(row: &Row) -> String {
    format!("{}, {}", row.cell, row.mode)
}

fn unit(row: &Row) -> &str {
    row.entries.first().map_or("operation", |entry| entry.middle().unit.as_str())
}

/// Least and greatest, with the unit of both once where it is the same.
fn range(rate: &Spread) -> String {
    let (least, greatest) = (quantity(rate.least), quantity(rate.greatest));
    let same = least.split_once(' ').zip(greatest.split_once(' '));
    match same {
        Some(((number, a), (_, b))) if a == b => format!("{number}-{greatest}"),
        _ => format!("{least}-{greatest}"),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

//! Charts of a run, as SVG. Names and figures stand beside what they belong to, so that nothing
//! rests on telling colours apart; Huon is the one that stands out.

mod bars;
mod canvas;
mod latency;
mod lines;

use super::run::{Entry, Row, Run, is_floor};
use crate::engine::Result;

/// A chart in a file of its own.
pub(crate) struct Chart {
    pub(crate) workload: String,
    pub(crate) title: String,
    pub(crate) file: String,
    pub(crate) svg: String,
}

/// All charts of a run, workload by workload.
pub(crate) fn of(run: &Run) -> Result<Vec<Chart>> {
    let mut charts = Vec::new();
    for workload in run.workloads() {
        let rows: Vec<&Row> = run.rows_of(workload).collect();
        let mut add = |what: &str, svg: Option<String>| {
            if let Some(svg) = svg {
                let file = format!("{}.svg", slug(&format!("{workload} {what}")));
                let title = format!("{workload}: {what}");
                charts.push(Chart { workload: workload.to_string(), title, file, svg });
            }
        };
        add("rates", bars::draw(run, &rows)?);
        for scaling in lines::scalings(&rows) {
            let what = format!("{} by threads, {}", scaling.cell, scaling.mode);
            add(&what, Some(scaling.draw()?));
        }
        for row in &rows {
            let what = format!("{} over time, {}", row.cell, row.mode);
            add(&what, lines::growth(row)?);
        }
        add("latencies", latency::draw(&rows)?);
    }
    Ok(charts)
}

/// A name for a file: small letters, digits and single dashes.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9') => slug.push(c),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    slug.trim_end_matches('-').to_string()
}

fn title_of(row: &Row) -> String {
    format!("{}, {}", row.cell, row.mode)
}

fn is_huon(entry: &Entry) -> bool {
    entry.engine == "huon"
}

/// Panels side by side in columns, each below the one that ends highest.
struct Columns {
    width: i32,
    tops: Vec<i32>,
}

impl Columns {
    fn new(count: usize, width: i32, top: i32) -> Columns {
        Columns { width, tops: vec![top; count.max(1)] }
    }

    /// Where a panel of this height goes: left and top.
    fn place(&mut self, height: i32) -> (i32, i32) {
        let highest = (0..self.tops.len()).min_by_key(|&i| self.tops[i]).unwrap_or(0);
        let top = self.tops[highest];
        self.tops[highest] += height;
        (highest as i32 * self.width, top)
    }

    fn bottom(&self) -> i32 {
        self.tops.iter().copied().max().unwrap_or(0)
    }
}

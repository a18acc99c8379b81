//! Latencies: a panel for each cell, a line for each engine from the median to the longest, on a
//! logarithmic scale within the panel.

use super::canvas::{Canvas, FAINT, FONT_PIXELS, GRID, HUON, LMDB, Lies, OTHERS, TEXT};
use super::{Columns, Entry, Row, is_huon, title_of};
use crate::engine::Result;
use crate::record::Latency;
use crate::report::figures::{Spread, middle_p9999, nanoseconds};

const PANEL_PIXELS: i32 = 500;
const NAMES_PIXELS: i32 = 90;
const LABELS_PIXELS: i32 = 140;
const STEP_PIXELS: i32 = 18;
const TITLE_PIXELS: i32 = 26;
const AXIS_PIXELS: i32 = 38;
const LEGEND_PIXELS: i32 = 30;

/// Medians of the quantiles, and the longest of all repeats.
struct Quantiles {
    p50: f64,
    p99: f64,
    p999: f64,
    p9999: Option<f64>,
    max: f64,
}

/// A sheet of panels; `None` without latencies.
pub(super) fn draw(rows: &[&Row]) -> Result<Option<String>> {
    let panels: Vec<_> = rows.iter().map(|row| (*row, taken(row))).collect();
    let panels: Vec<_> = panels.into_iter().filter(|(_, taken)| !taken.is_empty()).collect();
    if panels.is_empty() {
        return Ok(None);
    }
    let mut columns = Columns::new(panels.len().min(2), PANEL_PIXELS, LEGEND_PIXELS);
    let height = |count: usize| TITLE_PIXELS + count as i32 * STEP_PIXELS + AXIS_PIXELS;
    let places: Vec<_> = panels.iter().map(|(_, t)| columns.place(height(t.len()))).collect();
    let size = (PANEL_PIXELS * columns.tops.len() as i32, columns.bottom());
    let sheet = Canvas::sheet(size, |canvas| {
        legend(canvas)?;
        let mut panels = panels.iter().zip(places);
        panels.try_for_each(|((row, taken), place)| panel(canvas, row, taken, place))
    });
    sheet.map(Some)
}

fn taken(row: &Row) -> Vec<(&Entry, Quantiles)> {
    let entries = row.entries.iter().filter(|entry| entry.engine != "null");
    entries.filter_map(|entry| Some((entry, quantiles(entry)?))).collect()
}

fn quantiles(entry: &Entry) -> Option<Quantiles> {
    let all: Vec<Latency> = entry.repeats.iter().filter_map(|m| m.latency_ns).collect();
    // A logarithm wants something above 0.
    let middle = |of: fn(&Latency) -> u64| {
        Spread::of(all.iter().map(|latency| of(latency).max(1) as f64)).map(|s| s.median)
    };
    let max = all.iter().map(|latency| latency.max.max(1)).max()? as f64;
    Some(Quantiles {
        p50: middle(|l| l.p50)?,
        p99: middle(|l| l.p99)?,
        p999: middle(|l| l.p999)?,
        p9999: middle_p9999(&all).map(|ns| ns.max(1.0)),
        max,
    })
}

fn legend(canvas: &Canvas) -> Result<()> {
    let middle = LEGEND_PIXELS / 2;
    let ink = (FAINT, false);
    canvas.dot((20, middle), 5, FAINT)?;
    canvas.text("p50", (30, middle), Lies::Right, ink)?;
    canvas.ring((80, middle), 4, FAINT)?;
    canvas.text("p99", (90, middle), Lies::Right, ink)?;
    canvas.line(vec![(140, middle - 5), (140, middle + 5)], FAINT, 2)?;
    canvas.text("p99.9", (148, middle), Lies::Right, ink)?;
    canvas.line(vec![(195, middle - 3), (195, middle + 3)], FAINT, 1)?;
    canvas.text("p99.99", (203, middle), Lies::Right, ink)?;
    canvas.line(vec![(265, middle), (285, middle)], FAINT, 1)?;
    canvas.text("ends at the longest;", (291, middle), Lies::Right, ink)?;
    canvas.text("figures: p50, p99", (412, middle), Lies::Right, ink)
}

fn panel(
    canvas: &Canvas,
    row: &Row,
    taken: &[(&Entry, Quantiles)],
    (left, top): (i32, i32),
) -> Result<()> {
    canvas.text(&title_of(row), (left + 10, top + 12), Lies::Right, (TEXT, true))?;
    let (from, to) = (left + NAMES_PIXELS, left + PANEL_PIXELS - LABELS_PIXELS);
    let least = taken.iter().map(|(_, q)| q.p50).fold(f64::MAX, f64::min);
    let most = taken.iter().map(|(_, q)| q.max).fold(0.0, f64::max);
    let (low, high) = (least.log10().floor(), most.log10().ceil().max(least.log10().floor() + 1.0));
    let place =
        |ns: f64| from + (f64::from(to - from) * (ns.log10() - low) / (high - low)).round() as i32;
    let first = top + TITLE_PIXELS;
    let bottom = first + taken.len() as i32 * STEP_PIXELS;
    let decades = (high - low) as i32;
    // So that the names of decades do not run into each other.
    let every = (decades * 52 / (to - from) + 1).max(1);
    for decade in 0..=decades {
        let ns = 10f64.powf(low + f64::from(decade));
        let at = place(ns);
        canvas.line(vec![(at, first - 2), (at, bottom)], GRID, 1)?;
        if decade % every == 0 {
            let name = power(low as i32 + decade);
            canvas.text(&name, (at, bottom + FONT_PIXELS), Lies::Centred, (FAINT, false))?;
        }
    }
    for (i, (entry, quantiles)) in taken.iter().enumerate() {
        let middle = first + i as i32 * STEP_PIXELS + STEP_PIXELS / 2;
        let (ink, text) = match entry.engine.as_str() {
            "huon" => (HUON, (HUON, true)),
            "lmdb" => (LMDB, (TEXT, false)),
            _ => (OTHERS, (TEXT, false)),
        };
        canvas.text(&entry.engine, (from - 8, middle), Lies::Left, text)?;
        let q = quantiles;
        let width = if is_huon(entry) { 2 } else { 1 };
        canvas.line(vec![(place(q.p50), middle), (place(q.max), middle)], ink, width)?;
        canvas.line(vec![(place(q.p999), middle - 5), (place(q.p999), middle + 5)], ink, 2)?;
        if let Some(rarest) = q.p9999 {
            canvas.line(vec![(place(rarest), middle - 3), (place(rarest), middle + 3)], ink, 1)?;
        }
        canvas.ring((place(q.p99), middle), 4, ink)?;
        canvas.dot((place(q.p50), middle), 5, ink)?;
        let label = format!("{}, {}", nanoseconds(q.p50), nanoseconds(q.p99));
        canvas.text(&label, (to + 12, middle), Lies::Right, text)?;
    }
    Ok(())
}

/// A power of ten of nanoseconds: `100 ns`, `1 us`.
fn power(exponent: i32) -> String {
    let unit = ["ns", "us", "ms", "s"][(exponent / 3).clamp(0, 3) as usize];
    format!("{} {unit}", 10i64.pow((exponent - (exponent / 3).clamp(0, 3) * 3).max(0) as u32))
}

#[cfg(test)]
mod tests {
    use super::power;

    #[test]
    fn powers_of_ten_have_names() {
        assert_eq!(
            [0, 2, 3, 7, 9, 10].map(power),
            ["1 ns", "100 ns", "1 us", "10 ms", "1 s", "10 s"]
        );
    }
}

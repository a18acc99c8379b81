//! Rates: a panel for each cell, a bar for each engine, on one scale within the panel.

use super::canvas::{Canvas, FAINT, GRID, HUON, LMDB, Lies, MARK, OTHERS, TEXT};
use super::{Columns, Entry, Row, Run, is_floor, is_huon, title_of};
use crate::engine::Result;
use crate::report::figures::{Spread, quantity, ratio};

const PANEL_PIXELS: i32 = 500;
const NAMES_PIXELS: i32 = 90;
const LABELS_PIXELS: i32 = 130;
const BAR_PIXELS: i32 = 13;
const STEP_PIXELS: i32 = 18;
const TITLE_PIXELS: i32 = 26;
const GAP_PIXELS: i32 = 18;

/// A sheet of panels; `None` without rates.
pub(super) fn draw(run: &Run, rows: &[&Row]) -> Result<Option<String>> {
    let rows: Vec<&&Row> = rows.iter().filter(|row| greatest(row) > 0.0).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let mut columns = Columns::new(rows.len().min(2), PANEL_PIXELS, 10);
    let places: Vec<_> = rows.iter().map(|row| columns.place(height(row))).collect();
    let size = (PANEL_PIXELS * columns.tops.len() as i32, columns.bottom());
    let sheet = Canvas::sheet(size, |canvas| {
        rows.iter().zip(places).try_for_each(|(row, place)| panel(canvas, run, row, place))
    });
    sheet.map(Some)
}

/// All but the harness alone, beside which nothing else would be seen.
fn shown(row: &Row) -> impl Iterator<Item = &Entry> {
    row.entries.iter().filter(|entry| entry.engine != "null")
}

fn height(row: &Row) -> i32 {
    TITLE_PIXELS + shown(row).count() as i32 * STEP_PIXELS + GAP_PIXELS
}

fn greatest(row: &Row) -> f64 {
    shown(row).filter_map(Entry::rate).map(|rate| rate.greatest).fold(0.0, f64::max)
}

fn panel(canvas: &Canvas, run: &Run, row: &Row, (left, top): (i32, i32)) -> Result<()> {
    let unit = row.entries.first().map_or("", |entry| entry.middle().unit.as_str());
    let title = format!("{} ({unit}/s)", title_of(row));
    canvas.text(&title, (left + 10, top + 12), Lies::Right, (TEXT, true))?;
    let (from, to) = (left + NAMES_PIXELS, left + PANEL_PIXELS - LABELS_PIXELS);
    let most = greatest(row);
    let place = |value: f64| from + (f64::from(to - from) * value / most).round() as i32;
    let first = top + TITLE_PIXELS;
    let bottom = first + shown(row).count() as i32 * STEP_PIXELS;
    let lmdb = run.lmdb(row).map(|(rate, _)| rate.median);
    canvas.line(vec![(from, first - 2), (from, bottom)], GRID, 1)?;
    // The mark of LMDB's rate, so that every bar is seen beside it.
    if let Some(lmdb) = lmdb.filter(|lmdb| *lmdb <= most) {
        let at = place(lmdb);
        canvas.line(vec![(at, first - 4), (at, bottom)], MARK, 1)?;
    }
    for (i, entry) in shown(row).enumerate() {
        let middle = first + i as i32 * STEP_PIXELS + STEP_PIXELS / 2;
        let name_ink = if is_huon(entry) { (HUON, true) } else { (TEXT, false) };
        canvas.text(&entry.engine, (from - 6, middle), Lies::Left, name_ink)?;
        if let Some(rate) = entry.rate() {
            bar(canvas, entry, &rate, (from, middle), &place)?;
            let mut label = quantity(rate.median);
            if let Some(lmdb) = lmdb {
                label = format!("{label} ({})", ratio(rate.median / lmdb));
            }
            let at = (place(rate.greatest) + 6, middle);
            canvas.text(&label, at, Lies::Right, name_ink)?;
        }
    }
    Ok(())
}

fn bar(
    canvas: &Canvas,
    entry: &Entry,
    rate: &Spread,
    (from, middle): (i32, i32),
    place: &impl Fn(f64) -> i32,
) -> Result<()> {
    let (upper, lower) = (middle - BAR_PIXELS / 2, middle + BAR_PIXELS / 2);
    let corner = (place(rate.median).max(from + 1), lower);
    match entry.engine.as_str() {
        name if is_floor(name) => canvas.frame((from, upper), corner, FAINT)?,
        "huon" => canvas.rectangle((from, upper), corner, HUON)?,
        "lmdb" => canvas.rectangle((from, upper), corner, LMDB)?,
        _ => canvas.rectangle((from, upper), corner, OTHERS)?,
    }
    let (least, most) = (place(rate.least), place(rate.greatest));
    if most > least + 2 {
        canvas.line(vec![(least, middle), (most, middle)], TEXT, 1)?;
        for end in [least, most] {
            canvas.line(vec![(end, middle - 3), (end, middle + 3)], TEXT, 1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::canvas;
    use super::*;

    #[test]
    fn labels_have_room() {
        let longest = format!("{} ({})", quantity(999e6), ratio(0.0123));
        assert!(canvas::width(&longest) + 6 <= LABELS_PIXELS, "{longest}");
        assert!(canvas::width("mdbx-wmun") + 6 <= NAMES_PIXELS);
    }
}

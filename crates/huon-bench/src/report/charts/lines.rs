//! Curves: rates by the number of threads, and the size of the file as it is written over. Each
//! line has its name at its end.

use super::canvas::{Canvas, FAINT, FONT_PIXELS, GRID, HUON, Lies, TEXT, ticks, width};
use super::{Row, is_floor, title_of};
use crate::engine::Result;
use crate::report::figures::{bytes, quantity};
use plotters::style::RGBColor;

const WIDTH: i32 = 800;
const HEIGHT: i32 = 420;
const TOP: i32 = 44;
const BOTTOM: i32 = 380;
const LEFT: i32 = 80;
const NAMES_PIXELS: i32 = 170;

/// A line with its name.
struct Curve<'r> {
    name: &'r str,
    points: Vec<(f64, f64)>,
}

/// What stands at the axes.
struct Axes {
    title: String,
    across: &'static str,
    /// Places and names of the marks of the axis across.
    marks: Vec<(f64, String)>,
    up: fn(f64) -> String,
    /// Whether each point is measured, and so gets a dot.
    dots: bool,
}

/// A cell that was measured with several numbers of threads.
pub(super) struct Scaling<'r> {
    pub(super) cell: String,
    pub(super) mode: String,
    unit: String,
    threads: Vec<u64>,
    curves: Vec<Curve<'r>>,
}

/// The cells whose names differ in the number of threads only.
pub(super) fn scalings<'r>(rows: &[&'r Row]) -> Vec<Scaling<'r>> {
    let mut scalings: Vec<Scaling> = Vec::new();
    for row in rows {
        let Some((cell, threads)) = threads_of(row) else { continue };
        let known = scalings.iter().position(|s| s.cell == cell && s.mode == row.mode);
        let at = known.unwrap_or_else(|| {
            let unit = row.entries.first().map_or("", |entry| entry.middle().unit.as_str());
            let (mode, unit) = (row.mode.clone(), unit.to_string());
            let cell = cell.to_string();
            scalings.push(Scaling { cell, mode, unit, threads: Vec::new(), curves: Vec::new() });
            scalings.len() - 1
        });
        let scaling = &mut scalings[at];
        if !scaling.threads.contains(&threads) {
            scaling.threads.push(threads);
        }
        for entry in row.entries.iter().filter(|entry| entry.engine != "null") {
            let Some(rate) = entry.rate() else { continue };
            let point = ((threads as f64).log2(), rate.median);
            match scaling.curves.iter_mut().find(|curve| curve.name == entry.engine) {
                Some(curve) => curve.points.push(point),
                None => scaling.curves.push(Curve { name: &entry.engine, points: vec![point] }),
            }
        }
    }
    scalings.retain(|scaling| scaling.threads.len() > 1);
    for curve in scalings.iter_mut().flat_map(|scaling| &mut scaling.curves) {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    scalings
}

/// The name of the cell without its threads, and their number: `get, 2 threads`.
fn threads_of(row: &Row) -> Option<(&str, u64)> {
    let (cell, threads) = row.cell.rsplit_once(", ")?;
    let number = threads.strip_suffix(" threads").or_else(|| threads.strip_suffix(" thread"))?;
    Some((cell, number.parse().ok().filter(|n| *n > 0)?))
}

impl Scaling<'_> {
    pub(super) fn draw(&self) -> Result<String> {
        let mut threads = self.threads.clone();
        threads.sort_unstable();
        let marks = threads.iter().map(|n| ((*n as f64).log2(), n.to_string())).collect();
        let axes = Axes {
            title: format!("{}, {} ({}/s)", self.cell, self.mode, self.unit),
            across: "threads",
            marks,
            up: quantity,
            dots: true,
        };
        draw(&self.curves, &axes)
    }
}

/// The size of the file look by look, since the engines take different times from one to the next;
/// `None` if the row has no such figures.
pub(super) fn growth(row: &Row) -> Result<Option<String>> {
    let curves = row.entries.iter().filter(|entry| !is_floor(&entry.engine)).filter_map(|entry| {
        let sizes = entry.middle().series.iter().map(|(_, size)| *size);
        let points: Vec<_> = sizes.enumerate().map(|(i, size)| ((i + 1) as f64, size)).collect();
        (points.len() > 1).then_some(Curve { name: &entry.engine, points })
    });
    let curves: Vec<Curve> = curves.collect();
    let Some(last) = curves.iter().map(|curve| curve.points.len()).max() else { return Ok(None) };
    let axes = Axes {
        title: format!("{}: size of the file", title_of(row)),
        across: "times that everything was written over",
        marks: (1..=last).map(|look| (look as f64, look.to_string())).collect(),
        up: bytes,
        dots: true,
    };
    draw(&curves, &axes).map(Some)
}

fn draw(curves: &[Curve], axes: &Axes) -> Result<String> {
    let points = || curves.iter().flat_map(|curve| curve.points.iter().copied());
    let first = points().map(|p| p.0).fold(f64::MAX, f64::min);
    let last = points().map(|p| p.0).fold(f64::MIN, f64::max).max(first + 1e-9);
    let most = points().map(|p| p.1).fold(0.0, f64::max).max(1e-9);
    let right = WIDTH - NAMES_PIXELS;
    let place = |(x, y): (f64, f64)| {
        let across = LEFT + (f64::from(right - LEFT) * (x - first) / (last - first)).round() as i32;
        (across, BOTTOM - (f64::from(BOTTOM - TOP) * y / most).round() as i32)
    };
    Canvas::sheet((WIDTH, HEIGHT), |canvas| {
        canvas.text(&axes.title, (LEFT, 18), Lies::Right, (TEXT, true))?;
        for value in ticks(most, 5) {
            let (_, y) = place((first, value));
            canvas.line(vec![(LEFT, y), (right, y)], GRID, 1)?;
            canvas.text(&(axes.up)(value), (LEFT - 8, y), Lies::Left, (FAINT, false))?;
        }
        for (value, name) in &axes.marks {
            let (x, _) = place((*value, 0.0));
            canvas.line(vec![(x, BOTTOM), (x, BOTTOM + 4)], FAINT, 1)?;
            canvas.text(name, (x, BOTTOM + 14), Lies::Centred, (FAINT, false))?;
        }
        let below = ((LEFT + right) / 2, BOTTOM + 31);
        canvas.text(axes.across, below, Lies::Centred, (FAINT, false))?;
        // Huon last, above the others.
        let (huon, others): (Vec<_>, Vec<_>) = curves.iter().partition(|c| c.name == "huon");
        for curve in others.into_iter().chain(huon) {
            let (ink, stroke) = ink(curve.name);
            let path: Vec<_> = curve.points.iter().copied().map(&place).collect();
            for point in path.iter().filter(|_| axes.dots) {
                canvas.dot(*point, stroke as i32 + 1, ink)?;
            }
            canvas.line(path, ink, stroke)?;
        }
        let ends = curves.iter().filter_map(|curve| Some((curve, *curve.points.last()?)));
        names(canvas, ends.map(|(c, end)| (c.name, end.1, place(end))).collect(), axes, right)
    })
}

/// Writes names and last values at the ends of lines, moved apart where they would overlap.
fn names(
    canvas: &Canvas,
    mut ends: Vec<(&str, f64, (i32, i32))>,
    axes: &Axes,
    right: i32,
) -> Result<()> {
    ends.sort_by_key(|(_, _, (_, y))| *y);
    let heights: Vec<i32> = ends.iter().map(|(_, _, (_, y))| *y).collect();
    for ((name, value, end), height) in ends.into_iter().zip(apart(&heights)) {
        let (colour, _) = ink(name);
        canvas.line(vec![end, (right + 16, height)], colour, 1)?;
        let text = format!("{name}  {}", (axes.up)(value));
        debug_assert!(width(&text) < NAMES_PIXELS - 20, "{text}");
        canvas.text(&text, (right + 20, height), Lies::Right, (colour, name == "huon"))?;
    }
    Ok(())
}

/// Heights in the order given, each a line of text below the one before, and as near to what was
/// asked for as one pass down and one up allow.
fn apart(heights: &[i32]) -> Vec<i32> {
    let step = FONT_PIXELS + 3;
    let mut placed: Vec<i32> = heights.to_vec();
    for i in 1..placed.len() {
        placed[i] = placed[i].max(placed[i - 1] + step);
    }
    let mut limit = BOTTOM;
    for height in placed.iter_mut().rev() {
        *height = (*height).min(limit);
        limit = *height - step;
    }
    placed
}

/// Colours that most people can tell apart, and how wide the line is.
fn ink(name: &str) -> (RGBColor, u32) {
    match name {
        "huon" => (HUON, 4),
        "lmdb" => (RGBColor(0, 0, 0), 2),
        "lmdb-wm" => (RGBColor(120, 120, 120), 2),
        "mdbx" => (RGBColor(0, 114, 178), 2),
        "mdbx-wm" => (RGBColor(70, 150, 210), 2),
        "redb" => (RGBColor(0, 158, 115), 2),
        "canopydb" => (RGBColor(190, 90, 150), 2),
        "fjall" => (RGBColor(180, 125, 0), 2),
        "rocksdb" => (RGBColor(136, 34, 85), 2),
        "leveldb" => (RGBColor(51, 120, 110), 2),
        "sqlite" => (RGBColor(120, 70, 160), 2),
        "bdb" => (RGBColor(120, 120, 40), 2),
        "bbolt" => (RGBColor(17, 119, 51), 2),
        _ => (FAINT, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_at_the_ends_do_not_overlap() {
        let placed = apart(&[100, 101, 102, 300, 379, 380]);
        assert!(placed.windows(2).all(|pair| pair[1] - pair[0] > FONT_PIXELS), "{placed:?}");
        assert!(placed.iter().all(|y| (TOP..=BOTTOM).contains(y)), "{placed:?}");
        assert_eq!((placed[0], placed[3]), (100, 300));
    }
}

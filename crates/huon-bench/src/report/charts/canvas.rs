//! What all charts draw with: a white sheet, few inks, and text whose width is known well enough.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::engine::Result;

pub(super) const TEXT: RGBColor = RGBColor(34, 34, 34);
pub(super) const FAINT: RGBColor = RGBColor(110, 110, 110);
pub(super) const GRID: RGBColor = RGBColor(222, 222, 222);
/// Of lines that text may stand on.
pub(super) const MARK: RGBColor = RGBColor(190, 190, 190);
/// Of the two colours that stand out, one is Huon's and one LMDB's; colour-blind readers can tell
/// both apart, and from grey.
pub(super) const HUON: RGBColor = RGBColor(213, 94, 0);
pub(super) const LMDB: RGBColor = RGBColor(60, 60, 60);
pub(super) const OTHERS: RGBColor = RGBColor(150, 185, 215);

pub(super) const FONT_PIXELS: i32 = 12;

/// A sheet that is drawn on.
pub(super) struct Canvas<'s> {
    area: DrawingArea<SVGBackend<'s>, Shift>,
}

/// How a text lies to its point.
#[derive(Clone, Copy)]
pub(super) enum Lies {
    Right,
    Left,
    Centred,
}

impl Canvas<'_> {
    /// Draws a sheet of this size.
    pub(super) fn sheet(
        (width, height): (i32, i32),
        draw: impl FnOnce(&Canvas) -> Result<()>,
    ) -> Result<String> {
        let mut svg = String::new();
        {
            let size = (width as u32, height as u32);
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            area.fill(&WHITE)?;
            let canvas = Canvas { area };
            draw(&canvas)?;
            canvas.area.present()?;
        }
        Ok(svg)
    }

    pub(super) fn rectangle(&self, from: (i32, i32), to: (i32, i32), ink: RGBColor) -> Result<()> {
        self.area.draw(&Rectangle::new([from, to], ink.filled()))?;
        Ok(())
    }

    pub(super) fn frame(&self, from: (i32, i32), to: (i32, i32), ink: RGBColor) -> Result<()> {
        self.area.draw(&Rectangle::new([from, to], ink.stroke_width(1)))?;
        Ok(())
    }

    pub(super) fn line(&self, points: Vec<(i32, i32)>, ink: RGBColor, width: u32) -> Result<()> {
        self.area.draw(&PathElement::new(points, ink.stroke_width(width)))?;
        Ok(())
    }

    pub(super) fn dot(&self, at: (i32, i32), radius: i32, ink: RGBColor) -> Result<()> {
        self.area.draw(&Circle::new(at, radius, ink.filled()))?;
        Ok(())
    }

    pub(super) fn ring(&self, at: (i32, i32), radius: i32, ink: RGBColor) -> Result<()> {
        self.area.draw(&Circle::new(at, radius, WHITE.filled()))?;
        self.area.draw(&Circle::new(at, radius, ink.stroke_width(2)))?;
        Ok(())
    }

    /// A line of text whose middle is at the height of the point.
    pub(super) fn text(
        &self,
        text: &str,
        at: (i32, i32),
        lies: Lies,
        (ink, bold): (RGBColor, bool),
    ) -> Result<()> {
        let weight = if bold { FontStyle::Bold } else { FontStyle::Normal };
        let horizontal = match lies {
            Lies::Right => HPos::Left,
            Lies::Left => HPos::Right,
            Lies::Centred => HPos::Center,
        };
        let font = FontDesc::new(FontFamily::SansSerif, f64::from(FONT_PIXELS), weight);
        let style = TextStyle::from(font).color(&ink).pos(Pos::new(horizontal, VPos::Center));
        self.area.draw(&Text::new(text.to_string(), at, style))?;
        Ok(())
    }
}

/// Pixels that a text takes at most in any usual font.
pub(super) fn width(text: &str) -> i32 {
    text.chars().count() as i32 * FONT_PIXELS * 62 / 100
}

/// Steps of 1, 2 or 5 from 0 up to `most`, about `count` of them.
pub(super) fn ticks(most: f64, count: u32) -> Vec<f64> {
    if most.is_nan() || most <= 0.0 {
        return vec![0.0];
    }
    let rough = most / f64::from(count);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(10.0 * power);
    (0..=(most / step).floor() as u32).map(|i| f64::from(i) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!(ticks(10.0, 4), [0.0, 5.0, 10.0]);
        assert_eq!(ticks(0.7, 4), [0.0, 0.2, 0.4, 0.6000000000000001]);
        assert_eq!(ticks(0.0, 4), [0.0]);
    }

    #[test]
    fn a_sheet_holds_what_was_drawn() -> Result<()> {
        let svg = Canvas::sheet((100, 50), |canvas| {
            canvas.rectangle((1, 2), (30, 10), HUON)?;
            canvas.text("a < b", (5, 5), Lies::Right, (TEXT, false))
        })?;
        assert!(svg.contains("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("a &lt; b") && svg.to_lowercase().contains("#d55e00"));
        Ok(())
    }
}

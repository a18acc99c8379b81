//! Numbers of several repeats, and how they are written.

use crate::record::Latency;

/// Median, least and greatest of the repeats of one figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) greatest: f64,
    pub(crate) repeats_count: usize,
}

impl Spread {
    /// `None` of no values, or if one is no number.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let (middle, last) = (values.len() / 2, values.len() - 1);
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        let (least, greatest) = (values[0], values[last]);
        Some(Spread { median, least, greatest, repeats_count: values.len() })
    }

    /// Whether the medians differ by more than the repeats of either. A single repeat has no known
    /// spread, so it differs from nothing.
    pub(crate) fn differs(&self, other: &Spread) -> bool {
        let known = self.repeats_count > 1 && other.repeats_count > 1;
        let width = (self.greatest - self.least).max(other.greatest - other.least);
        known && (self.median - other.median).abs() > width
    }
}

/// Three digits and a unit of thousands, as `1.07 M`.
pub(crate) fn quantity(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 999.5e6 => (value / 1e9, " G"),
        v if v >= 999.5e3 => (value / 1e6, " M"),
        v if v >= 999.5 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    format!("{}{unit}", digits(scaled))
}

/// Three digits of a number below 1000.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.0995 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Bytes in units of a thousand, as `1.27 GB`.
pub(crate) fn bytes(value: f64) -> String {
    let text = quantity(value);
    match text.split_once(' ') {
        Some((number, unit)) => format!("{number} {}B", unit.replace('k', "K")),
        None => format!("{text} B"),
    }
}

/// A time, as `866 ns` or `1.24 ms`.
pub(crate) fn nanoseconds(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 999.5e6 => (value / 1e9, "s"),
        v if v >= 999.5e3 => (value / 1e6, "ms"),
        v if v >= 999.5 => (value / 1e3, "us"),
        _ => (value, "ns"),
    };
    format!("{} {unit}", digits(scaled))
}

/// A ratio, as `1.93 x`.
pub(crate) fn ratio(value: f64) -> String {
    format!("{} x", digits(value))
}

/// The median of the quantiles 0.9999; `None` where a repeat did not record it.
pub(super) fn middle_p9999(all: &[Latency]) -> Option<f64> {
    let all: Option<Vec<f64>> = all.iter().map(|l| l.p9999.map(|ns| ns as f64)).collect();
    Some(Spread::of(all?)?.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_repeats() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([1.0, f64::NAN]), None);
        let odd = Spread::of([3.0, 1.0, 2.0]);
        assert_eq!(odd, Some(Spread { median: 2.0, least: 1.0, greatest: 3.0, repeats_count: 3 }));
        let even = Spread::of([4.0, 1.0]);
        assert_eq!(even, Some(Spread { median: 2.5, least: 1.0, greatest: 4.0, repeats_count: 2 }));
    }

    #[test]
    fn a_difference_is_more_than_the_spread() {
        let of = |values: &[f64]| Spread::of(values.iter().copied()).expect("values");
        let (a, near, far) = (of(&[100.0, 110.0]), of(&[112.0, 112.0]), of(&[116.0, 116.0]));
        assert!(!a.differs(&near));
        assert!(a.differs(&far) && far.differs(&a));
        // One repeat has no known spread.
        assert!(!of(&[1.0]).differs(&far));
    }

    #[test]
    fn three_digits() {
        let written =
            [0.0, 0.0123, 0.5, 94.04, 999.4, 999.6, 1_070_000.0, 26.04e6, 3e9].map(quantity);
        let right =
            ["0.00", "0.0123", "0.50", "94.0", "999", "1.00 k", "1.07 M", "26.0 M", "3.00 G"];
        assert_eq!(written, right);
        assert_eq!([bytes(17_000.0), bytes(12.0), bytes(1.27e9)], ["17.0 KB", "12.0 B", "1.27 GB"]);
        assert_eq!([nanoseconds(866.0), nanoseconds(121_400.0)], ["866 ns", "121 us"]);
    }
}

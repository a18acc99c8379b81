//! Progress on a terminal: bytes or things, rate, time left. Elsewhere nothing is shown.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const KNOWN: &str = "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} \
                     {binary_bytes_per_sec} {eta} left";
const UNKNOWN: &str = "{msg} {spinner} {binary_bytes} {binary_bytes_per_sec} {elapsed}";
const FOUND: &str = "{msg} {spinner} {human_pos} {per_sec} {elapsed}";
const COUNTED: &str = "{msg} {wide_bar} {human_pos}/{human_len} {per_sec} {eta} left";

/// Whether this process shows no progress.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on no progress is shown, on a terminal neither.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// A line on standard error that follows some work, if that is a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// For work on bytes.
    pub(crate) fn bytes(what: &'static str) -> Bar {
        Bar::new(what, 0, UNKNOWN)
    }

    /// For work on things whose number is not known.
    pub(crate) fn found(what: &'static str) -> Bar {
        Bar::new(what, 0, FOUND)
    }

    /// For work on so many things.
    pub(crate) fn count(what: &'static str, total: u64) -> Bar {
        Bar::new(what, total, COUNTED)
    }

    fn new(what: &'static str, total: u64, template: &str) -> Bar {
        if QUIET.load(Ordering::Relaxed) || !std::io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let bar = if total == 0 { ProgressBar::no_length() } else { ProgressBar::new(total) };
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        bar.set_style(style(template));
        bar.set_message(what);
        Bar(bar)
    }

    /// So much is done of `total`, which is 0 as long as it is not known.
    pub(crate) fn at(&self, done: u64, total: u64) {
        if total != 0 && self.0.length() != Some(total) {
            if self.0.length().is_none() {
                self.0.set_style(style(KNOWN));
            }
            self.0.set_length(total);
        }
        self.0.set_position(done);
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_one_that_can_be_drawn() {
        for template in [KNOWN, UNKNOWN, FOUND, COUNTED] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}

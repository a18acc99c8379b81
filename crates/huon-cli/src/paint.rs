//! Colours, where standard output or standard error takes them: on a terminal, unless `NO_COLOR` or
//! `TERM=dumb` say otherwise; elsewhere only where `CLICOLOR_FORCE` asks for it.

use std::fmt::{self, Display};
use std::io;
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const HEAD: Style = Style::new().bold();
pub(crate) const KEY: Style = AnsiColor::Cyan.on_default();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

struct Painted<T>(Style, T);

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Painted(style, text) = self;
        write!(f, "{style}{text}{style:#}")
    }
}

/// Text for standard output.
pub(crate) fn painted(style: Style, text: impl Display) -> impl Display {
    static TAKES: OnceLock<bool> = OnceLock::new();
    let takes = *TAKES.get_or_init(|| AutoStream::choice(&io::stdout()) != ColorChoice::Never);
    Painted(if takes { style } else { Style::new() }, text)
}

/// Text for standard error.
pub(crate) fn painted_error(style: Style, text: impl Display) -> impl Display {
    let takes = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    Painted(if takes { style } else { Style::new() }, text)
}

//! Crash images: every file that a kill or a power loss may leave behind a script, and what must be
//! true of it.
//!
//! A [`Script`] is a few transactions on a simulated machine. While it runs, every change of its
//! file is recorded, and the lock file at every point between the steps of the engine. Then the
//! files are made that a crash at any moment might have left, [`Level`] by level, and each is
//! opened.
//!
//! 1. A power loss keeps what was flushed and any part of what was done since, in pieces of a
//!    sector. A kill keeps everything, with the lock file as it was.
//! 2. What opens afterwards shows the state of one commit over all tables: not older than the last
//!    one acknowledged as durable (after a kill: as committed), not newer than the last one begun.
//! 3. It checks clean, and goes on working.
//!
//! `script` plays, `record` remembers, `images` makes the images on a `canvas`, `reach` tells them
//! apart, `oracle` opens one, and `judge` does all of it and counts; `failed` makes flushes fail.
//! `losses` gives the images to tests that know other things than a script what they must show.

mod canvas;
mod edit;
mod failed;
mod images;
mod judge;
mod losses;
mod oracle;
mod random;
mod reach;
mod record;
mod script;
mod table;

pub use edit::Edit;
pub use images::Caps;
pub use judge::{Scope, Script, Tally, Target, judge};
pub use losses::{Loss, Losses};
pub use random::random;
pub use script::{Claim, Halt, Play, Setup, Stage};
pub use table::{Level, Table};

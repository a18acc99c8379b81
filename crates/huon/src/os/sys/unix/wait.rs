//! Sleeping on a shared word until it changes, across processes.
//!
//! A wait is a hint: it may end early, and callers look again. Only the low half of the word is
//! watched. A waiter may carry marks, and a wake may mean only some of them; where the kernel
//! knows no marks, every wake is one for all: a wake that reaches a sleeper which is not meant
//! would be lost.

use std::time::Duration;

use super::system;
use crate::os::Wake;
use crate::os::word::Word;

/// Sleeps while the low half of `word` is that of `expected`, at most `timeout`. `marks` is not 0.
pub(crate) fn wait(word: &Word, expected: u64, timeout: Duration, marks: u32) {
    #[cfg(any(test, feature = "simulation"))]
    match forced().as_deref() {
        Some("poll") => return super::plain::wait(word, expected, timeout, marks),
        Some("all") => return system::wait(word, expected, timeout, crate::os::ANY_MARK),
        _ => {}
    }
    system::wait(word, expected, timeout, marks);
}

/// Wakes the sleepers on the word that are meant; whether there were any, as far as the kernel
/// tells.
pub(crate) fn wake(word: &Word, which: Wake) -> bool {
    #[cfg(any(test, feature = "simulation"))]
    match forced().as_deref() {
        Some("poll") => return super::plain::wake(word, which),
        Some("all") => return system::wake(word, Wake::All),
        _ => {}
    }
    system::wake(word, which)
}

/// `HUON_WAIT`: tests go the ways of systems that have no marks (`all`), or no sleeping on a word
/// (`poll`).
#[cfg(any(test, feature = "simulation"))]
fn forced() -> Option<String> {
    static FORCED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    FORCED.get_or_init(|| std::env::var("HUON_WAIT").ok()).clone()
}

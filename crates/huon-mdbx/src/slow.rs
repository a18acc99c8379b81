//! Slow readers: libmdbx's callback, called by the engine's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use huon::{SlowReader, SlowReaderAnswer};
use huon_c::Res;

use crate::env::Env;

/// Calls the program's callback with a reader; `None`: the writer goes on.
pub(crate) type Ask = dyn Fn(Option<&SlowReader>) -> i32 + Send + Sync;

/// So many looks, a millisecond apart, a reader of another process may take to go.
const RETRIES_MAX: u32 = 1000;

/// A callback of the program's.
pub(crate) struct Asked {
    /// Its address.
    pub(crate) address: usize,
    ask: Box<Ask>,
    /// It was told to look again, and not yet that this is over.
    waits: AtomicBool,
}

impl Asked {
    pub(crate) fn new(address: usize, ask: Box<Ask>) -> Asked {
        Asked { address, ask, waits: AtomicBool::new(false) }
    }

    fn answer(&self, slow: &SlowReader) -> SlowReaderAnswer {
        if slow.retries == 0 {
            self.end();
        }
        match (self.ask)(Some(slow)) {
            0 => {
                self.waits.store(true, Ordering::Relaxed);
                SlowReaderAnswer::Retry
            }
            // The callback has ended the transaction, or the process: the engine frees its slot.
            // One that will only be ended later, perhaps by a thread that waits for this writer, is
            // not waited for.
            1.. if slow.reader.parked || !slow.own && slow.retries < RETRIES_MAX => {
                SlowReaderAnswer::Evict
            }
            _ => {
                self.end();
                SlowReaderAnswer::GiveUp
            }
        }
    }

    /// The writer goes on.
    pub(crate) fn end(&self) {
        if self.waits.swap(false, Ordering::Relaxed) {
            (self.ask)(None);
        }
    }
}

impl Env {
    /// Calls `asked` from now on, or no callback.
    pub(crate) fn set_slow_reader(&self, asked: Option<Arc<Asked>>) -> Res<()> {
        self.setup().asked = asked;
        self.settings_changed()
    }

    pub(crate) fn slow_reader(&self) -> Option<Arc<Asked>> {
        self.setup().asked.clone()
    }
}

/// Sets the engine's callback.
pub(crate) fn install(huon: &huon::Env, asked: Option<&Arc<Asked>>) {
    match asked.cloned() {
        Some(asked) => huon.set_on_slow_reader(move |slow| asked.answer(slow)),
        None => huon.clear_on_slow_reader(),
    }
}

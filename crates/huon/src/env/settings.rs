//! Settings that can be changed while an environment is open.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::env::Env;
use crate::os;
use crate::store::Verify;
use crate::store::slow::{SlowReader, SlowReaderAnswer};
use crate::txn::commit::Durability;

/// The options that can be changed while the environment is open: each is described at the function
/// of [`Options`](crate::Options) of its name. They are this opening's alone, shared with its
/// clones, and not kept in the file.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Durability, Env};
/// let env = Env::options().write_buffer_bytes(64 << 20).open(dir.path().join("a.huon"))?;
/// let mut settings = env.settings();
/// assert_eq!(settings.write_buffer_bytes, 64 << 20);
/// settings.durability = Durability::Lazy;
/// settings.flush_after_bytes = 16 << 20;
/// env.set_settings(settings);
/// assert_eq!(env.settings().durability, Durability::Lazy);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// What commits wait for; see [`Options::durability`](crate::Options::durability).
    pub durability: Durability,
    /// Bytes written after which a lazy commit makes a checkpoint; see
    /// [`Options::flush_after_bytes`](crate::Options::flush_after_bytes).
    pub flush_after_bytes: u64,
    /// How long something may be unflushed when a lazy commit comes, in whole milliseconds; see
    /// [`Options::flush_after`](crate::Options::flush_after).
    pub flush_after: Duration,
    /// Bytes that a write transaction keeps in memory, from the next one on; see
    /// [`Options::write_buffer_bytes`](crate::Options::write_buffer_bytes).
    pub write_buffer_bytes: usize,
    /// When checksums are verified; see [`Options::verify`](crate::Options::verify).
    pub verify: Verify,
    /// How long [`Env::write`] waits; see [`Options::lock_timeout`](crate::Options::lock_timeout).
    pub lock_timeout: Duration,
    /// Whether the callback of [`Options::on_slow_reader`](crate::Options::on_slow_reader) is asked
    /// already before the file grows; if it gives up, the file grows. Not so unless set.
    pub slow_readers_before_growing: bool,
}

impl Env {
    /// The options in force that can be changed.
    pub fn settings(&self) -> Settings {
        self.inner.lives.settings.copied()
    }

    /// Changes options while the environment is open, for all its clones. A transaction that runs
    /// keeps its limit of memory; everything else holds at once.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let mut settings = env.settings();
    /// settings.lock_timeout = std::time::Duration::ZERO;
    /// env.set_settings(settings);
    /// let _first = env.write()?;
    /// assert!(matches!(env.write(), Err(huon::Error::Busy(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_settings(&self, settings: Settings) {
        let core = self.core_or_last();
        // One at a time, and whole for a child that is forked meanwhile.
        let mut kept = self.inner.lives.settings.lock();
        let _held_off = os::hold_off();
        let millis = u64::try_from(settings.flush_after.as_millis()).unwrap_or(u64::MAX);
        core.set_durability(settings.durability);
        core.flush_bytes.store(settings.flush_after_bytes, Ordering::Relaxed);
        core.flush_ms.store(millis, Ordering::Relaxed);
        core.set_lock_timeout(settings.lock_timeout);
        core.store.set_write_buffer_bytes(settings.write_buffer_bytes);
        core.store.set_verify(settings.verify);
        core.store.slow_readers.set_before_growing(settings.slow_readers_before_growing);
        *kept = Settings { flush_after: Duration::from_millis(millis), ..settings };
    }

    /// Calls `callback` for slow readers from now on: see
    /// [`Options::on_slow_reader`](crate::Options::on_slow_reader).
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// env.set_on_slow_reader(|slow| {
    ///     eprintln!("process {} retains {} bytes", slow.reader.pid, slow.reader.freed_bytes);
    ///     huon::SlowReaderAnswer::GiveUp
    /// });
    /// env.clear_on_slow_reader();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_on_slow_reader(
        &self,
        callback: impl Fn(&SlowReader) -> SlowReaderAnswer + Send + Sync + 'static,
    ) {
        self.core_or_last().store.slow_readers.set_callback(Some(std::sync::Arc::new(callback)));
    }

    /// Removes the callback.
    pub fn clear_on_slow_reader(&self) {
        self.core_or_last().store.slow_readers.set_callback(None);
    }
}

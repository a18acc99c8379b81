//! Closing an environment, with or without a flush.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::env::Env;
use crate::error::Result;

/// The result of [`Env::close`].
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The files are closed: nothing in this process keeps the environment open any more.
    Fully,
    /// Clones of the handle or transactions live. Everything is flushed; the files are closed when
    /// the last of them is gone.
    StillShared,
}

impl Env {
    /// Flushes all commits, of this process or of one that has died, and closes the environment.
    /// Dropping it does the same and cannot return an error. The file stays open while other clones
    /// and transactions live: then only the flush is made now, and the result is
    /// [`Closed::StillShared`].
    ///
    /// An environment that was opened [`Durability::Unsynced`](crate::Durability::Unsynced) is not
    /// flushed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Closed, Env};
    /// let env = Env::open(dir.path().join("a.huon"))?;
    /// let txn = env.read()?;
    /// assert_eq!(env.clone().close()?, Closed::StillShared);
    /// drop(txn);
    /// assert_eq!(env.close()?, Closed::Fully);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of the flush: [`Error::Poisoned`](crate::Error::Poisoned),
    /// [`Error::Io`](crate::Error::Io). It is closed all the same, and the next opening finds
    /// unflushed commits as after a crash of this process.
    pub fn close(self) -> Result<Closed> {
        // A forked child that never used it has nothing to close.
        if self.inner.lives.own().is_some_and(|core| core.owes_flush_at_close()) {
            self.sync()?;
        }
        let Some(inner) = Arc::into_inner(self.inner) else { return Ok(Closed::StillShared) };
        let Some(core) = inner.lives.into_own() else { return Ok(Closed::Fully) };
        match Arc::into_inner(core) {
            Some(core) => core.close_and_tell().map(|()| Closed::Fully),
            None => Ok(Closed::StillShared),
        }
    }

    /// Closes the environment without a flush, as if the process were killed: unflushed commits
    /// stay in the file as long as the kernel runs, and the next opening verifies them. For
    /// programs that must end at once.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Durability, Env, Recovery};
    /// let path = dir.path().join("a.huon");
    /// let env = Env::options().durability(Durability::Lazy).open(&path)?;
    /// let def = huon::TableDef::<huon::Str, huon::U64>::new("t");
    /// env.update(|txn| txn.create_table(&def).map(drop))?;
    /// env.close_without_flush();
    /// let env = Env::options().open(&path)?;
    /// assert_eq!(env.recovery(), Recovery::Newest);
    /// assert_eq!(env.view(|txn| txn.table_names())?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close_without_flush(self) {
        if let Some(core) = self.inner.lives.own() {
            core.close_without_flush.store(true, Ordering::Relaxed);
        }
    }
}

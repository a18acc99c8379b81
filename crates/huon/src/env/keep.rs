//! Questions to an open environment: where it lies, and how it commits.

use std::path::Path;

use crate::env::Env;
use crate::txn::commit::Durability;

impl Env {
    /// The path that the environment was opened with, as it was given: a symbolic link as such.
    /// [`Env::lock_path`] says where its lock file lies. Empty for one in memory, which has no
    /// files.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("a.huon");
    /// assert_eq!(huon::Env::open(&path)?.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What commits of this environment wait for, unless they say otherwise: as the options said,
    /// or [`Env::set_settings`] since.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::open(dir.path().join("a.huon"))?;
    /// assert_eq!(env.durability(), huon::Durability::Durable);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn durability(&self) -> Durability {
        self.last_core().durability()
    }
}

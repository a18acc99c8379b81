//! What an open environment keeps for its user: where it lies, and a value of the user's own.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use crate::env::Env;
use crate::os::ForkLock;
use crate::txn::commit::Durability;

/// A value of the user's own.
pub(super) type Context = ForkLock<Option<Arc<dyn Any + Send + Sync>>>;

impl Env {
    /// The path that the environment was opened with, as it was given: a symbolic link as such.
    /// [`Env::lock_path`] says where its lock file lies. Empty for one in memory, which has no
    /// files.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("a.huon");
    /// assert_eq!(huon::Env::options().open(&path)?.path(), path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What commits of this environment wait for, unless they say otherwise: as the options said,
    /// or as taken over by [`Options::inherit_durability`](crate::Options::inherit_durability).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// assert_eq!(env.durability(), huon::Durability::Durable);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn durability(&self) -> Durability {
        self.last_core().durability()
    }

    /// Keeps a value of any type with the environment, in place of the one before: for code that is
    /// handed the environment and nothing else. All clones share it, other openings of the file do
    /// not. It is dropped with the last clone.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// use std::sync::Arc;
    /// assert!(env.context::<String>().is_none());
    /// env.set_context(Arc::new(String::from("the shop")));
    /// assert_eq!(*env.clone().context::<String>().expect("it was set"), "the shop");
    /// assert!(env.context::<u64>().is_none(), "it is of another type");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_context<T: Any + Send + Sync>(&self, context: Arc<T>) {
        // Dropping the one before may call back.
        drop(self.inner.context.replace(Some(context)));
    }

    /// The value that [`Env::set_context`] keeps; `None` if there is none, or it has another type.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// env.set_context(std::sync::Arc::new(7u64));
    /// assert_eq!(env.context::<u64>().as_deref(), Some(&7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn context<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.inner.context.copied().and_then(|context| context.downcast().ok())
    }
}

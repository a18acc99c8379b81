//! An environment in memory, for tests and caches: the same engine over a file that no path leads
//! to, with a lock file that is memory of this process.

use std::path::Path;

use crate::env::open::{self, OpenFiles};
use crate::env::{Env, Options};
use crate::error::{Error, Result};
use crate::os::RealFile;

impl Env {
    /// Opens a new, empty environment in memory, for tests and caches: at most 1 TiB, as
    /// [`Env::open`] has it. [`Options::open_in_memory`] has other limits.
    ///
    /// It is like any other, except that nothing of it outlasts the process: see there.
    ///
    /// ```
    /// use huon::{Env, Str, TableDef, U64};
    /// const STOCK: TableDef<Str, U64> = TableDef::new("stock");
    ///
    /// let env = Env::in_memory()?;
    /// env.update(|txn| txn.create_table(&STOCK)?.put(txn, "apple", 3))?;
    /// let apples = env.view(|txn| match txn.open_table(&STOCK)? {
    ///     Some(stock) => stock.get(txn, "apple"),
    ///     None => Ok(None),
    /// })?;
    /// assert_eq!(apples, Some(3));
    /// # Ok::<(), huon::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Options::open_in_memory`].
    pub fn in_memory() -> Result<Env> {
        Env::options().open_in_memory()
    }
}

impl Options {
    /// Opens a new, empty environment that lies in memory, and leaves no file behind.
    ///
    /// Clones share it, over any number of threads; it is gone with the last clone and transaction,
    /// and with the process however that ends. [`Env::copy_to`] keeps what it holds. Its path is
    /// empty, so nothing else can open it: two calls make two environments.
    ///
    /// The engine under it is that of files. So what a test sees here holds there, and each page
    /// that is in use takes up its bytes of memory, which [`Options::max_bytes`] limits. A commit
    /// of any [`Durability`](crate::Durability) means to other transactions what it always means; a
    /// durable one waits for no disk, and nothing outlives the machine.
    ///
    /// A forked child cannot attach to it: every use there is [`Error::Forked`]. The child's memory
    /// map keeps the pages until the child ends or runs another program.
    ///
    /// On Linux and Android the memory is that of `memfd_create`, which may be swapped out and
    /// counts for the control group. Other systems have a file in the directory for temporary files
    /// whose name is removed before anything is written to it.
    ///
    /// ```
    /// use huon::{CopyOptions, Env, Error, Str, TableDef};
    /// const T: TableDef<Str, Str> = TableDef::new("t");
    ///
    /// let env = Env::options().max_bytes(1 << 20).open_in_memory()?;
    /// env.update(|txn| txn.create_table(&T)?.put(txn, "key", "value"))?;
    /// let full = env.update(|txn| txn.create_table(&T)?.put(txn, "long", &"x".repeat(2 << 20)));
    /// assert!(matches!(full, Err(Error::MapFull(_))));
    ///
    /// let dir = tempfile::tempdir()?;
    /// let copy = dir.path().join("copy.huon");
    /// env.copy_to(&copy, CopyOptions::new())?;
    /// assert_eq!(Env::open(&copy)?.view(|txn| txn.table_names())?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Options about files and other processes have no meaning here: [`Options::mode`],
    /// [`Options::exclusive`].
    ///
    /// # Errors
    /// [`Error::Invalid`] with [`Options::read_only`], [`Options::meta_slot`] or a
    /// [`Options::create`] of `false`: there is nothing yet to be opened so. [`Error::Io`] for
    /// errors of the kernel: too many descriptors, no addresses or no memory.
    pub fn open_in_memory(&self) -> Result<Env> {
        self.check()?;
        if self.read_only || !self.create || self.meta_slot.is_some() {
            return Err(Error::Invalid("an environment in memory is a new one: there is no other"));
        }
        // No other client can open it, so the lock file need not be searched.
        let options = Options { exclusive: true, ..self.clone() };
        let files = OpenFiles {
            storage: Box::new(RealFile::in_memory(options.reservation())?),
            shared: open::private_lock_file()?,
            private: true,
            journal: None,
        };
        let nowhere = Path::new("");
        Env::from_opened(open::open(files, &options)?, nowhere, nowhere, &options)
    }
}

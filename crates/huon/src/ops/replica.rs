//! A file that follows another: the snapshots of one are taken over, page by page, in another one.
//!
//! How pages and images come from there is the caller's: as segments in a bucket, over a socket, in
//! files. What keeps readers and crashes from harm is in `txn/adopt`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::env::{Env, Options};
use crate::error::{Error, Result};
use crate::lock::ReaderEntry;
use crate::os;
use crate::page::Txnid;
use crate::planted::{self, Bug};
use crate::txn::Core;
use crate::txn::adopt::Adoption;
use crate::txn::image::{Image, SnapshotName};
use crate::txn::recovery::FIRST_ID;

/// How long to wait before the readers are asked for again.
const PAUSE: Duration = Duration::from_millis(1);

/// A file that follows another one: it takes over snapshots that were made there.
///
/// Any number of processes open it by [`Env::open`] and read, meanwhile too: each snapshot appears
/// to them as a commit does, whole and durable, and a crash leaves the file at the snapshot before.
/// As long as the replica lives it has the writer lock.
///
/// A write transaction in such a file ends its following: the ids that it uses are above all that
/// the other file may have used, and nothing more can be taken over. [`Replica::promote`] says the
/// same on purpose.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Env, Replica, Str, TableDef, U64};
/// use std::ops::ControlFlow;
/// const STOCK: TableDef<Str, U64> = TableDef::new("stock");
/// let source = Env::open(dir.path().join("shop.huon"))?;
/// let before = source.capture()?;
/// let mut replica = Replica::open(dir.path().join("replica.huon"), before.image())?;
///
/// source.update(|txn| txn.create_table(&STOCK)?.put(txn, "apple", 12))?;
/// let after = source.capture()?;
/// // All that is given to a new replica are pages of the whole snapshot.
/// let mut applying = replica.begin(None, after.image())?;
/// let mut failed = Ok(());
/// after.changes(0, &mut |changed| match applying.write(changed.pgno, changed.bytes) {
///     Ok(()) => ControlFlow::Continue(()),
///     Err(error) => {
///         failed = Err(error);
///         ControlFlow::Break(())
///     }
/// })?;
/// failed?;
/// applying.publish()?;
///
/// assert_eq!(replica.at()?, after.image().name());
/// let txn = replica.env().read()?;
/// assert_eq!(txn.open_table(&STOCK)?.expect("it came along").get(&txn, "apple")?, Some(12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Replica {
    env: Env,
    /// The client that has the writer lock: a forked child is another one.
    core: Arc<Core>,
}

impl Options {
    /// A new file becomes the beginning of a [`Replica`] of this image's file: it has the same id,
    /// page size and limits, and no records. An existing file stays what it is.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Env, Replica};
    /// let source = Env::in_memory()?;
    /// let image = source.capture()?.image().clone();
    /// let env = Env::options().mode(0o644).replica_of(&image).open(dir.path().join("r.huon"))?;
    /// let replica = Replica::of(env, &image)?;
    /// assert_eq!(replica.at()?.id, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replica_of(&mut self, image: &Image) -> &mut Self {
        self.page_bytes = Some(image.page_bytes() as usize);
        self.twin_of = Some(image.clone());
        self
    }
}

impl Replica {
    /// Opens the replica at `path`, and makes it if it is missing. Any image of the file that it
    /// follows will do.
    ///
    /// # Errors
    /// Those of [`Options::open`], and of [`Replica::of`].
    pub fn open(path: impl AsRef<Path>, image: &Image) -> Result<Replica> {
        Replica::of(Env::options().replica_of(image).open(path)?, image)
    }

    /// Makes an open environment follow the file of an image, and takes its writer lock for as long
    /// as the replica lives. For other options than those of [`Replica::open`]: see
    /// [`Options::replica_of`].
    ///
    /// # Errors
    /// [`Error::Diverged`] if it is another file than a replica, or a copy, of that one;
    /// [`Error::Busy`] if another client writes or follows; [`Error::Invalid`] if it has a journal
    /// or named snapshots, as a file that was copied byte by byte may.
    pub fn of(env: Env, image: &Image) -> Result<Replica> {
        let core = env.core()?.clone();
        let store = &core.store;
        if store.uuid != image.uuid() || store.page_bytes != image.page_bytes() as usize {
            let text = "the file is no copy of the one that it was to follow";
            return Err(Error::Diverged(text.into()));
        }
        core.check_writable()?;
        core.take_writer(core.lock_timeout())?;
        let replica = Replica { env, core };
        // If it fails, the drop releases the lock.
        replica.core.begin_following()?;
        Ok(replica)
    }

    /// The environment, to read from.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The snapshot that the file is at: changes that follow it can be written next.
    ///
    /// # Errors
    /// [`Error::Forked`], or [`Error::Corrupt`] from a damaged lock file.
    pub fn at(&self) -> Result<SnapshotName> {
        self.core.check_forked()?;
        let (_, meta) = self.core.newest_sealed()?;
        Ok(Image::of(&meta)?.name())
    }

    /// Begins to take over the snapshot of `image`. All its pages will be given that were born
    /// after snapshot `from`, where the file has to be; `None`: all its pages will be, and the file
    /// is new.
    ///
    /// Waits for readers of this file that see an older snapshot than its newest, as long as
    /// [`Options::lock_timeout`] says, and evicts those that are parked.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the file is at another snapshot, and names both; [`Error::Busy`]
    /// names the reader that was waited for; [`Error::Io`] if the file could not grow.
    pub fn begin(&mut self, from: Option<SnapshotName>, image: &Image) -> Result<Applying<'_>> {
        let at = self.at()?;
        let is_next = match from {
            Some(from) => from == at || planted::is(Bug::BaseUnnamed),
            None => at.id == FIRST_ID.0,
        };
        if !is_next || image.id() <= at.id || image.uuid() != self.core.store.uuid {
            return Err(diverged(at, from, image));
        }
        self.wait_for_readers()?;
        let since = from.map_or(Txnid(0), |from| Txnid(from.id));
        let adoption = self.core.adopt(since, &image.meta)?;
        Ok(Applying { replica: self, adoption })
    }

    /// A1: no reader sees an older snapshot than the newest any more.
    fn wait_for_readers(&self) -> Result<()> {
        let core = &self.core;
        let end = Instant::now().checked_add(core.lock_timeout());
        while let Some(reader) = core.older_reader()? {
            if core.store.slots.evict(&reader) {
                continue;
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return Err(Error::Busy(waited_for(&reader).into()));
            }
            os::pause(PAUSE);
        }
        Ok(())
    }

    /// Ends the following: the file becomes one of its own, and the next transaction can write.
    /// Its ids begin above all that the other file can have used until now.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{Env, Replica, Str, TableDef};
    /// let source = Env::in_memory()?;
    /// let image = source.capture()?.image().clone();
    /// let replica = Replica::open(dir.path().join("r.huon"), &image)?;
    /// let env = replica.promote()?;
    /// let id = env.update(|txn| {
    ///     txn.create_table(&TableDef::<Str, Str>::new("t"))?;
    ///     Ok(txn.id())
    /// })?;
    /// assert!(id > 1 << 32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Env::write`].
    pub fn promote(self) -> Result<Env> {
        let env = self.env.clone();
        drop(self);
        // A4: the repair, which was due all along.
        drop(env.write()?);
        Ok(env)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.core.end_writing();
    }
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replica").field("env", &self.env).finish_non_exhaustive()
    }
}

/// A snapshot that is being taken over; dropped, it changes nothing.
#[must_use = "nothing is taken over until it is published"]
pub struct Applying<'r> {
    replica: &'r mut Replica,
    adoption: Adoption,
}

impl Applying<'_> {
    /// Writes whole pages to their places: those of a [`Changed`](crate::Changed), or a part of
    /// them. In any order, and again if need be.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the snapshot that the file is at has a page there;
    /// [`Error::Invalid`] if they are no whole pages of the snapshot; [`Error::Io`].
    pub fn write(&mut self, pgno: u32, bytes: &[u8]) -> Result<()> {
        self.replica.core.adopt_pages(&self.adoption, pgno, bytes)
    }

    /// Verifies what was written, makes it durable, and shows it to readers. Returns the id of the
    /// snapshot.
    ///
    /// Costs a read of what was written, from memory, and two flushes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a page is missing, damaged, or of another snapshot: the file is where
    /// it was. [`Error::Poisoned`] if a flush failed.
    pub fn publish(self) -> Result<u64> {
        let core = &self.replica.core;
        core.publish_adopted(&self.adoption)?;
        Ok(core.store.board.published().txnid())
    }
}

impl std::fmt::Debug for Applying<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Applying").finish_non_exhaustive()
    }
}

#[cold]
fn diverged(at: SnapshotName, from: Option<SnapshotName>, image: &Image) -> Error {
    let to = image.name();
    let text = match from {
        Some(from) => format!("changes from snapshot {from} to {to} do not follow {at}"),
        None => format!("snapshot {to} was to fill a new file, and this one is at {at}"),
    };
    Error::Diverged(text.into())
}

fn waited_for(reader: &ReaderEntry) -> String {
    let ReaderEntry { pid, txnid, .. } = reader;
    if reader.is_guest() {
        format!("a reader that cannot write the lock file sees the older snapshot {txnid}")
    } else {
        format!("a reader of process {pid} sees the older snapshot {txnid}")
    }
}

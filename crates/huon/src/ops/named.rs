//! Snapshots with names, for programs: see `txn/named`.

use std::sync::Arc;

use crate::alloc::TryGrow;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::changes::Capture;
use crate::ops::pinned;
use crate::planted::{self, Bug};
use crate::store::verified::Verified;
use crate::txn::image::{Image, SnapshotName};
use crate::txn::named;
use crate::txn::read::ReadTxn;
use crate::txn::write::WriteTxn;

/// A snapshot that the file retains under a name.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedSnapshot {
    /// The name that it was given.
    pub name: String,
    /// Which snapshot it is.
    pub snapshot: SnapshotName,
}

impl WriteTxn {
    /// Gives a captured snapshot a name, and so keeps it in the file: for all processes, over
    /// restarts and power losses, until [`WriteTxn::drop_snapshot`]. A snapshot that has the name
    /// so far is dropped.
    ///
    /// It costs at most one copy of what it sees, as a reader that sleeps does; a flush, unless it
    /// is in the durable one; and a row of up to 4 KiB in the table `huon.snapshots`, which readers
    /// may open as any other. Copies, backups and followers of a file have none of its named
    /// snapshots. A transaction that is aborted has named nothing.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::Str, huon::U64> = huon::TableDef::new("t");
    /// # let t = env.update(|txn| txn.create_table(&T))?;
    /// env.update(|txn| t.put(txn, "n", 1))?;
    /// let capture = env.capture()?;
    /// env.update(|txn| txn.name_snapshot("before the change", &capture))?;
    /// drop(capture);
    /// env.update(|txn| t.put(txn, "n", 2))?;
    ///
    /// let before = env.named_snapshot("before the change")?.expect("it was named");
    /// assert_eq!(t.get(before.txn(), "n")?, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the name has not 1 to 255 bytes, if the capture is one of another
    /// environment, or if 1000 snapshots have names; [`Error::TableExists`] or
    /// [`Error::NameTaken`] if the program has a table or a record `huon.snapshots` of its own.
    pub fn name_snapshot(&mut self, name: &str, capture: &Capture) -> Result<()> {
        if !Arc::ptr_eq(capture.txn().core(), &self.core) {
            return Err(Error::Invalid("the capture is one of another environment"));
        }
        self.name_image(name, capture.image())
    }

    /// Takes its name away from a snapshot; whether there was one. What only it saw can be used
    /// again once the drop is durable, and no reader sees it.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let capture = env.capture()?;
    /// env.update(|txn| txn.name_snapshot("first", &capture))?;
    /// assert!(env.update(|txn| txn.drop_snapshot("first"))?);
    /// assert!(!env.update(|txn| txn.drop_snapshot("first"))?, "it is gone");
    /// assert!(env.named_snapshot("first")?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::name_snapshot`].
    pub fn drop_snapshot(&mut self, name: &str) -> Result<bool> {
        self.drop_name(name)
    }
}

impl Env {
    /// The named snapshots, the oldest first.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let capture = env.capture()?;
    /// env.update(|txn| txn.name_snapshot("first", &capture))?;
    /// let named = env.named_snapshots()?;
    /// assert_eq!(named.len(), 1);
    /// assert_eq!((named[0].name.as_str(), named[0].snapshot), ("first", capture.image().name()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Env::capture`]; [`Error::Corrupt`] names a page that is damaged.
    pub fn named_snapshots(&self) -> Result<Vec<NamedSnapshot>> {
        let mut all = Vec::new();
        self.each_named(&mut |name, image| {
            let snapshot = image.name();
            Ok(all.try_push(NamedSnapshot { name: name.to_owned(), snapshot })?)
        })?;
        Ok(all)
    }

    /// Pins a named snapshot, with its image; `None` if there is none of the name. The
    /// [transaction](Capture::txn) of the capture reads it.
    ///
    /// Costs as much as [`Env::capture`], and a look at each named snapshot, twice.
    ///
    /// # Errors
    /// As [`Env::named_snapshots`].
    pub fn named_snapshot(&self, name: &str) -> Result<Option<Capture>> {
        while let Some(image) = self.image_named(name)? {
            if let Some(capture) = self.pin_if_named(name, image)? {
                return Ok(Some(capture));
            }
        }
        Ok(None)
    }

    /// Y4: pins the snapshot first, and then looks whether it still has the name.
    pub(crate) fn pin_if_named(&self, name: &str, image: Image) -> Result<Option<Capture>> {
        let core = self.core()?;
        let pin = core.pin_named(image.id())?;
        let txn = ReadTxn::of(core, pin, &image.meta)?;
        let is_named = planted::is(Bug::NameUnasked)
            || self.image_named(name)?.is_some_and(|now| now == image);
        Ok(is_named.then(|| Capture::of(txn, image)))
    }

    pub(crate) fn image_named(&self, wanted: &str) -> Result<Option<Image>> {
        let mut found = None;
        self.each_named(&mut |name, image| {
            if name == wanted {
                found = Some(image);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Shows the named snapshots of the newest visible one.
    fn each_named(&self, each: &mut dyn FnMut(&str, Image) -> Result<()>) -> Result<()> {
        let (_pin, meta) = pinned::pin(self)?;
        let source = Verified { store: &self.core()?.store, used: meta.used };
        let rows = named::rows(&source, &meta)?;
        rows.iter().filter(|row| row.is_there()).try_for_each(|row| each(row.name, row.image()?))
    }
}

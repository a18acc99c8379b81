//! A file that follows a log.

use std::path::Path;
use std::sync::Arc;

use huon::{Env, Replica, SnapshotName};

use crate::error::{Error, Result};
use crate::object::{Head, Kind};
use crate::point::{Point, Run};
use crate::pump::name_of_promoted;
use crate::remote::Remote;

/// A file that follows what is shipped: any number of processes open it and read.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Env, Str, TableDef, U64};
/// use huon_ship::{Follower, Memory, RemoteOptions, ShipOptions};
/// use std::sync::Arc;
/// use std::time::Duration;
/// const STOCK: TableDef<Str, U64> = TableDef::new("stock");
///
/// let env = Env::open(dir.path().join("shop.huon"))?;
/// let remote = Arc::new(RemoteOptions::new().open_for(Arc::new(Memory::default()), &env)?);
/// let shipper = ShipOptions::new().start(remote.clone(), &env)?;
/// let mut follower = Follower::open(remote, dir.path().join("replica.huon"))?;
///
/// env.update(|txn| txn.create_table(&STOCK)?.put(txn, "apple", 12))?;
/// shipper.stop()?;
/// assert_eq!(follower.advance()?, 1);
/// let txn = follower.env().read()?;
/// assert_eq!(txn.open_table(&STOCK)?.expect("it came").get(&txn, "apple")?, Some(12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Follower {
    remote: Arc<Remote>,
    replica: Replica,
    /// The record of the log that comes next.
    next: u64,
}

impl Follower {
    /// Opens the file at `path`, which was restored from this log or has followed it; a missing one
    /// is restored from its newest snapshot.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the log does not lead on from where the file is; those of
    /// [`Remote::restore`], and of [`Replica::of`].
    pub fn open(remote: Arc<Remote>, path: impl AsRef<Path>) -> Result<Follower> {
        let path = path.as_ref();
        if !path.try_exists().unwrap_or(true) {
            remote.restore(path, Point::Latest)?;
        }
        let env = Env::open(path)?;
        let image = env.capture()?.image().clone();
        if image.uuid() != remote.uuid {
            return Err(Error::Diverged("the file is no copy of the one that was shipped".into()));
        }
        let replica = Replica::of(env, &image)?;
        let next = remote.after(replica.at()?)?;
        Ok(Follower { remote, replica, next })
    }

    /// The environment, to read from.
    pub fn env(&self) -> &Env {
        self.replica.env()
    }

    /// The snapshot that the file is at.
    ///
    /// # Errors
    /// As [`Replica::at`].
    pub fn at(&self) -> Result<SnapshotName> {
        Ok(self.replica.at()?)
    }

    /// Takes over all snapshots that were shipped by now. How many there were.
    ///
    /// # Errors
    /// [`huon::Error::Busy`] in [`Error::Huon`] if a reader of an older snapshot is in the way:
    /// call it again; [`Error::Diverged`] if the log does not lead on; [`Error::Damaged`] names an
    /// object. The file shows the newest snapshot that it has taken over.
    pub fn advance(&mut self) -> Result<u64> {
        let mut count = 0;
        while let Some(head) = self.remote.head(self.next)? {
            match head.kind {
                Kind::Segment => match self.remote.run(&head)? {
                    Run::Unfinished => return Ok(count),
                    Run::Abandoned { at } => self.next = at,
                    Run::Whole { last, to } => {
                        let (remote, replica) = (&self.remote, &mut self.replica);
                        remote.with_segment(self.next, last, to, &mut |s| replica.add(s))?;
                        self.next = last + 1;
                        count += 1;
                    }
                },
                Kind::Start if head.to != Some(self.at()?) => {
                    return Err(self.must_be_made_anew("the log was begun anew"));
                }
                _ => self.next += 1,
            }
        }
        if self.remote.floor()?.lowest > self.next {
            return Err(self.must_be_made_anew("what follows has been deleted"));
        }
        Ok(count)
    }

    fn must_be_made_anew(&self, why: &str) -> Error {
        Error::Diverged(format!(
            "{why}: the file stays at record {}; delete it, and follow from the start",
            self.next
        ))
    }

    /// Ends the following: the file becomes one of its own, which can be written and shipped. The
    /// shipper of the other one is fenced off when this one's begins.
    ///
    /// # Errors
    /// As [`Replica::promote`].
    pub fn promote(self) -> Result<Env> {
        // Pinned, since a transaction may write over it before it has its name.
        let last = self.env().capture()?;
        let env = self.replica.promote()?;
        name_of_promoted(&self.remote, &env, &last)?;
        Ok(env)
    }
}

impl Remote {
    /// The record after the one that leads to a snapshot.
    fn after(&self, at: SnapshotName) -> Result<u64> {
        let lowest = self.floor()?.lowest;
        let mut n = self.end(lowest)?;
        while n > lowest {
            n -= 1;
            let leads_to = |head: &Head| head.is_end() && head.state_after() == Some(at);
            if self.head(n)?.as_ref().is_some_and(leads_to) {
                return Ok(n + 1);
            }
        }
        let text = format!("the log does not lead on from snapshot {at}, where the file is");
        Err(Error::Diverged(text))
    }
}

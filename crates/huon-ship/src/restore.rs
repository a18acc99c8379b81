//! A file made of what was shipped.

use std::path::Path;

use huon::{Restore, RestoreReport, SnapshotName};

use crate::error::{Error, Result};
use crate::object::Kind;
use crate::point::{Plan, Point, Run, damaged};
use crate::remote::{BaseEntry, Remote};
use crate::stream::Joined;

impl Remote {
    /// Makes a new file at `path` with the snapshot of a point, which is flushed and verified when
    /// it has its name.
    ///
    /// Costs a read of the base before the point and of all segments from there on; about 16 MiB of
    /// memory, whatever the length of the file.
    ///
    /// # Errors
    /// [`Error::NothingShipped`] if there is nothing by that point; [`Error::Damaged`] names the
    /// object that cannot be used; [`Error::Huon`] if the file exists or cannot be written.
    pub fn restore(&self, path: impl AsRef<Path>, point: Point) -> Result<RestoreReport> {
        let plan = self.plan(point)?;
        let mut restore = Restore::begin(path)?;
        self.add_planned(&mut restore, &plan)?;
        Ok(restore.finish()?)
    }

    pub(crate) fn add_planned(&self, restore: &mut Restore, plan: &Plan) -> Result<()> {
        let added = self.with_base(&plan.base, &mut |joined| restore.add(joined))?;
        if added != plan.base.name() {
            let name = plan.base.part(0);
            return Err(Error::Damaged { name, reason: "it has another snapshot" });
        }
        let mut n = plan.base.n + 1;
        while n <= plan.target {
            let Some(head) = self.head(n)? else { return Err(damaged(n, "it is missing")) };
            if head.kind != Kind::Segment {
                n += 1;
                continue;
            }
            match self.run(&head)? {
                Run::Whole { last, to } if last <= plan.target => {
                    self.with_segment(n, last, to, &mut |joined| restore.add(joined))?;
                    n = last + 1;
                }
                Run::Abandoned { at } => n = at,
                Run::Whole { .. } | Run::Unfinished => break,
            }
        }
        Ok(())
    }

    /// Shows the stream of a base.
    pub(crate) fn with_base(
        &self,
        base: &BaseEntry,
        read: &mut dyn FnMut(&mut Joined<'_>) -> huon::Result<SnapshotName>,
    ) -> Result<SnapshotName> {
        let (mut part, mut before) = (0, None);
        let mut next = || {
            if part == base.parts {
                return Ok(None);
            }
            let piece = self.piece_of_base(base, part, &mut before)?;
            part += 1;
            Ok(Some(piece))
        };
        let mut joined = Joined::of(&mut next);
        let added = read(&mut joined);
        joined.outcome(added)
    }

    /// Shows the stream of a segment, and makes sure that it leads where its head says.
    pub(crate) fn with_segment(
        &self,
        first: u64,
        last: u64,
        to: SnapshotName,
        read: &mut dyn FnMut(&mut Joined<'_>) -> huon::Result<SnapshotName>,
    ) -> Result<()> {
        let (mut n, mut before) = (first, None);
        let mut next = || {
            if n > last {
                return Ok(None);
            }
            let piece = self.piece_of_log(n, &mut before)?;
            n += 1;
            Ok(Some(piece))
        };
        let mut joined = Joined::of(&mut next);
        let added = read(&mut joined);
        if joined.outcome(added)? == to {
            Ok(())
        } else {
            Err(damaged(last, "it has another snapshot"))
        }
    }
}

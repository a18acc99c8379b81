//! What is kept: holds, the collector, and the check of everything that is there.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use huon::{Env, Restore};

use crate::error::{Error, Result};
use crate::log::{millis_of, now_millis};
use crate::object::{Head, Kind};
use crate::point::{Moment, Point};
use crate::remote::{BaseEntry, Floor, Hold, Remote, log_name, lost};

/// What a collection keeps; see [`Remote::collect`].
#[derive(Debug, Clone)]
#[must_use = "options do nothing until they are passed to `Remote::collect`"]
pub struct CollectOptions {
    keep: Duration,
    grace: Duration,
}

impl Default for CollectOptions {
    fn default() -> CollectOptions {
        let day = Duration::from_secs(24 * 3600);
        CollectOptions { keep: day * 7, grace: Duration::from_secs(3600) }
    }
}

impl CollectOptions {
    /// Every snapshot of the last seven days, and an hour of grace.
    pub fn new() -> CollectOptions {
        CollectOptions::default()
    }

    /// How far back every snapshot is kept. Default: 7 days.
    pub fn keep(mut self, keep: Duration) -> CollectOptions {
        self.keep = keep;
        self
    }

    /// For how long what is not kept any more stays, for restores that are at it. Default: 1 hour.
    pub fn grace(mut self, grace: Duration) -> CollectOptions {
        self.grace = grace;
        self
    }
}

/// What a collection has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct CollectReport {
    /// Objects that it deleted.
    pub deleted: u64,
    /// Whole snapshots that it has put there, for what follows them.
    pub bases: u64,
    /// The lowest record of the log that is kept.
    pub lowest: u64,
}

/// What a check has found.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct RemoteCheck {
    /// Records of the log.
    pub records: u64,
    /// Whole segments among them.
    pub segments: u64,
    /// Whole snapshots.
    pub bases: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// What is wrong, by the name of the object.
    pub problems: Vec<String>,
}

impl Remote {
    /// Keeps the snapshot of a point, whatever collections say, until a time or until it is
    /// [released](Remote::release). A hold of the same name is replaced.
    ///
    /// # Errors
    /// [`Error::NothingShipped`] if there is nothing by that point.
    pub fn hold(&self, name: &str, point: Point, until: Option<SystemTime>) -> Result<Moment> {
        if name.is_empty() || name.len() > 255 {
            return Err(Error::Invalid("the name of a hold has 1 to 255 bytes"));
        }
        let plan = self.plan(point)?;
        let head = self.end_of(&plan)?;
        let snapshot = head.state_after().ok_or_else(|| lost(&log_name(head.n)))?;
        let hold = Hold {
            name: name.into(),
            n: head.n,
            id: snapshot.id,
            checksum: snapshot.checksum,
            until_millis: until.map(millis_of),
        };
        self.edit_floor(&mut |floor| {
            let has_base = floor.bases.iter().any(|base| base.is(head.n, snapshot));
            let is_there = head.n >= floor.lowest || has_base;
            if !is_there {
                let text = "it was deleted at this moment";
                return Err(Error::NothingShipped(text.into()));
            }
            floor.holds.retain(|other| other.name != name);
            floor.holds.push(hold.clone());
            Ok(())
        })?;
        Ok(Moment { n: head.n, snapshot, millis: head.millis, epoch: head.epoch })
    }

    /// Takes a hold away; whether there was one of the name.
    ///
    /// # Errors
    /// [`Error::Bucket`].
    pub fn release(&self, name: &str) -> Result<bool> {
        let mut there = false;
        self.edit_floor(&mut |floor| {
            // An attempt before may have taken it away, and not have heard of it.
            there |= floor.holds.iter().any(|hold| hold.name == name);
            floor.holds.retain(|hold| hold.name != name);
            Ok(())
        })?;
        Ok(there)
    }

    /// The holds.
    ///
    /// # Errors
    /// [`Error::Bucket`].
    pub fn holds(&self) -> Result<Vec<Hold>> {
        Ok(self.floor()?.holds)
    }

    /// Deletes what need not be kept.
    ///
    /// In two goes: one puts a whole snapshot to the oldest point that is to be kept, and raises
    /// the floor of the log to it; a later one, after the grace, deletes what lies below the floor.
    /// Makes a temporary file beside `scratch` that is as long as the file that is shipped.
    ///
    /// # Errors
    /// [`Error::Bucket`]: call it again; those of [`Remote::restore`].
    pub fn collect(&self, options: &CollectOptions, scratch: &Path) -> Result<CollectReport> {
        let mut report = CollectReport::default();
        let floor = self.floor()?;
        let now = now_millis();
        let grace = u64::try_from(options.grace.as_millis()).unwrap_or(u64::MAX);
        if floor.raised_millis.saturating_add(grace) <= now {
            report.deleted = self.delete_below(&floor)?;
            self.raise_floor(options, scratch, now, &mut report)?;
        }
        report.lowest = self.floor()?.lowest;
        Ok(report)
    }

    /// Deletes what lies below the floor: all records but takeovers, and the bases that it does not
    /// list.
    fn delete_below(&self, floor: &Floor) -> Result<u64> {
        let mut deleted = 0;
        let listed = self.raw.ask("list", "log/", || self.raw.bucket.list("log/"))?;
        let end = log_name(floor.lowest);
        for object in listed.iter().filter(|object| object.name < end) {
            let n = number_of(&object.name, "log/").unwrap_or(u64::MAX);
            let head = if n < floor.lowest { self.head(n)? } else { None };
            if head.is_some_and(|head| head.kind != Kind::Takeover) {
                self.raw.delete(&object.name)?;
                deleted += 1;
            }
        }
        let listed = self.raw.ask("list", "base/", || self.raw.bucket.list("base/"))?;
        for object in &listed {
            let n = number_of(&object.name, "base/").unwrap_or(u64::MAX);
            let is_kept = floor.bases.iter().any(|base| object.name.starts_with(&base.folder));
            if n < floor.lowest && !is_kept {
                self.raw.delete(&object.name)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    fn raise_floor(
        &self,
        options: &CollectOptions,
        scratch: &Path,
        now: u64,
        report: &mut CollectReport,
    ) -> Result<()> {
        let oldest = SystemTime::now().checked_sub(options.keep).unwrap_or(SystemTime::UNIX_EPOCH);
        let plan = match self.plan(Point::Time(oldest)) {
            Ok(plan) => plan,
            Err(Error::NothingShipped(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let floor = self.floor()?;
        let end = self.end_of(&plan)?;
        let Some(state) = end.state_after().filter(|_| end.n > floor.lowest) else {
            return Ok(());
        };
        let lowest = end.n;
        let is_over = |hold: &Hold| hold.until_millis.is_some_and(|until| until <= now);
        let held = |floor: &Floor| {
            let held = floor.holds.iter().filter(|hold| hold.n < lowest && !is_over(hold));
            held.map(|hold| (hold.n, hold.snapshot())).collect::<Vec<_>>()
        };
        for (n, snapshot) in held(&floor).into_iter().chain([(lowest, state)]) {
            if !self.floor()?.bases.iter().any(|base| base.is(n, snapshot)) {
                self.put_base_at(n, scratch)?;
                report.bases += 1;
            }
        }
        self.edit_floor(&mut |floor| {
            floor.holds.retain(|hold| !is_over(hold));
            let held = held(floor);
            let has_base = |&(n, snapshot)| floor.bases.iter().any(|base| base.is(n, snapshot));
            if lowest <= floor.lowest || !held.iter().all(has_base) {
                // Another collection was faster, or a hold has come meanwhile: the next one makes
                // its base.
                return Ok(());
            }
            (floor.lowest, floor.raised_millis) = (lowest, now);
            let is_held = |base: &BaseEntry| held.iter().any(|(n, name)| base.is(*n, *name));
            floor.bases.retain(|base| base.n >= lowest || is_held(base));
            Ok(())
        })
    }

    /// Puts the whole snapshot to a record that leads to it.
    fn put_base_at(&self, n: u64, scratch: &Path) -> Result<()> {
        let head = self.head(n)?.ok_or_else(|| lost(&log_name(n)))?;
        let gone = || Error::NothingShipped("nothing that was shipped by then is left".into());
        let plan = self.plan_of(&self.floor()?, n)?.ok_or_else(gone)?;
        let file = Scratch::beside(scratch);
        let mut restore = Restore::begin(&file.0)?;
        self.add_planned(&mut restore, &plan)?;
        restore.finish()?;
        let env = Env::options().read_only(true).open(&file.0)?;
        let capture = env.capture()?;
        if Some(capture.image().name()) != head.state_after() {
            let reason = "what leads to it makes another snapshot";
            return Err(Error::Damaged { name: log_name(n), reason });
        }
        self.add_base(&capture, &head, &AtomicBool::new(false))
    }

    /// Reads everything that is kept, and verifies it: digests, keys, that records follow each
    /// other and lead where they say.
    ///
    /// # Errors
    /// [`Error::Bucket`]. What is wrong with objects is in the report.
    pub fn check(&self) -> Result<RemoteCheck> {
        let mut found = RemoteCheck::default();
        let floor = self.floor()?;
        self.check_log(&floor, &mut found)?;
        for base in &floor.bases {
            let mut before = None;
            found.bases += 1;
            found.bytes += base.bytes;
            for part in 0..base.parts {
                match self.piece_of_base(base, part, &mut before) {
                    Err(error @ Error::Bucket { .. }) => return Err(error),
                    Err(error) => {
                        found.problems.push(error.to_string());
                        break;
                    }
                    Ok(_) => {}
                }
            }
        }
        Ok(found)
    }

    fn check_log(&self, floor: &Floor, found: &mut RemoteCheck) -> Result<()> {
        let end = self.end_by_list(floor.lowest)?;
        let (mut before, mut state, mut part) = (None, None, 0);
        for n in floor.lowest..end {
            let name = log_name(n);
            let record = match self.record(n) {
                Ok(Some(record)) => record,
                Err(error @ Error::Bucket { .. }) => return Err(error),
                wrong => {
                    let error = wrong.err().unwrap_or_else(|| lost(&name));
                    found.problems.push(error.to_string());
                    (before, state) = (None, None);
                    continue;
                }
            };
            found.records += 1;
            found.bytes += record.body().len() as u64;
            let head = record.head;
            found.segments += u64::from(head.kind == Kind::Segment && head.is_last);
            let checked = self.check_follows(n, &record, &mut before).and_then(|()| {
                check_state(&head, state, part)?;
                match head.kind {
                    Kind::Segment => record.piece(&name, &self.cipher).map(drop),
                    _ => Ok(()),
                }
            });
            found.problems.extend(checked.err().map(|error| error.to_string()));
            state = head.state_after();
            part = if head.is_end() { 0 } else { head.part + 1 };
        }
        Ok(())
    }

    /// The number after the last record, by the names that are there: that of a log with holes.
    pub(crate) fn end_by_list(&self, lowest: u64) -> Result<u64> {
        let listed = self.raw.ask("list", "log/", || self.raw.bucket.list("log/"))?;
        let numbers = listed.iter().filter_map(|object| number_of(&object.name, "log/"));
        Ok(numbers.max().map_or(lowest, |last| last + 1).max(lowest))
    }
}

/// Whether a record leads on from where the log is, if that is known.
fn check_state(head: &Head, state: Option<huon::SnapshotName>, part: u64) -> Result<()> {
    let wrong = |reason| Err(Error::Damaged { name: log_name(head.n), reason });
    match head.kind {
        Kind::Base => wrong("it is no record of a log"),
        Kind::Takeover if head.epoch != head.n => wrong("it is the takeover of another number"),
        Kind::Takeover if state.is_some() && head.to != state => {
            wrong("it has another snapshot than the log")
        }
        Kind::Segment if state.is_some() && head.from != state => {
            wrong("it does not lead on from where the log is")
        }
        Kind::Segment if head.part != part => wrong("it is another part than the next one"),
        _ => Ok(()),
    }
}

/// The number that a name begins with, after its folder.
fn number_of(name: &str, folder: &str) -> Option<u64> {
    let digits = name.strip_prefix(folder)?.get(..16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// A file that is deleted with its lock file.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn beside(path: &Path) -> Scratch {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{}", crate::cipher::hex(&crate::cipher::random::<6>())));
        Scratch(name.into())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut lock = self.0.as_os_str().to_owned();
        lock.push("-lock");
        // What is left behind is found by its name.
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_file(lock);
    }
}

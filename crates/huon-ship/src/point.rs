//! Which snapshot of a log is meant, and what has to be read for it.

use std::time::SystemTime;

use huon::SnapshotName;

use crate::error::{Error, Result};
use crate::log::millis_of;
use crate::object::{Head, Kind, Sound};
use crate::remote::{BaseEntry, Floor, Remote, digest_text, log_name, lost};

/// A point of the log.
///
/// ```
/// use huon_ship::Point;
/// use std::time::{Duration, SystemTime};
/// let an_hour_ago = Point::Time(SystemTime::now() - Duration::from_secs(3600));
/// # let _ = (an_hour_ago, Point::Latest, Point::Id(17));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Point {
    /// The newest snapshot.
    Latest,
    /// The newest snapshot whose id is not greater.
    Id(u64),
    /// The newest snapshot that was shipped by then.
    Time(SystemTime),
}

impl Point {
    /// Whether a snapshot, or a record that leads to one, is later than the point.
    fn is_before(&self, id: u64, millis: u64) -> bool {
        match *self {
            Point::Latest => false,
            Point::Id(last) => id > last,
            Point::Time(time) => millis > millis_of(time),
        }
    }
}

/// A snapshot that can be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Moment {
    /// The record of the log that leads to it.
    pub n: u64,
    /// Which snapshot it is.
    #[serde(serialize_with = "as_text")]
    pub snapshot: SnapshotName,
    /// When it was shipped, in milliseconds since 1970.
    pub millis: u64,
    /// The takeover under which it was shipped.
    pub epoch: u64,
}

fn as_text<S: serde::Serializer>(
    name: &SnapshotName,
    out: S,
) -> std::result::Result<S::Ok, S::Error> {
    out.collect_str(name)
}

/// What a restore reads: a base, and then segments up to a record.
pub(crate) struct Plan {
    pub(crate) base: BaseEntry,
    pub(crate) target: u64,
}

/// A run of records that are one segment: from its first one to its last.
pub(crate) enum Run {
    /// The records of a whole segment, the last among them.
    Whole { last: u64, to: SnapshotName },
    /// Its shipper has not made the last one, and another one has taken over at this number.
    Abandoned { at: u64 },
    /// The last one is not made yet.
    Unfinished,
}

impl Remote {
    /// Of a record that a segment begins with, the rest.
    pub(crate) fn run(&self, first: &Head) -> Result<Run> {
        let mut head = *first;
        while !head.is_last {
            let Some(next) = self.head(head.n + 1)? else { return Ok(Run::Unfinished) };
            if next.kind != Kind::Segment || next.part != head.part + 1 {
                return Ok(Run::Abandoned { at: next.n });
            }
            head = next;
        }
        let nameless = || damaged(head.n, "it leads to no snapshot");
        Ok(Run::Whole { last: head.n, to: head.to.ok_or_else(nameless)? })
    }

    /// What to read for a point.
    pub(crate) fn plan(&self, point: Point) -> Result<Plan> {
        let floor = self.floor()?;
        // The first record that is later: ids and times only rise.
        let (mut low, mut high) = (floor.lowest, self.end(floor.lowest)?);
        while low < high {
            let middle = low + (high - low) / 2;
            let head = self.head(middle)?.ok_or_else(|| lost(&log_name(middle)))?;
            let id = head.state_after().map_or(0, |state| state.id);
            if point.is_before(id, head.millis) { high = middle } else { low = middle + 1 }
        }
        if low > floor.lowest
            && let Some(plan) = self.plan_of(&floor, low - 1)?
        {
            return Ok(plan);
        }
        // What follows a base below the floor may have been deleted: it stands for itself.
        let held = floor
            .bases
            .iter()
            .filter(|base| base.n < floor.lowest && !point.is_before(base.id, base.millis));
        match held.max_by_key(|base| base.n) {
            Some(base) => Ok(Plan { base: base.clone(), target: base.n }),
            None => Err(Error::NothingShipped("nothing that was shipped by then is left".into())),
        }
    }

    /// What to read for the state of a record above the floor.
    pub(crate) fn plan_of(&self, floor: &Floor, target: u64) -> Result<Option<Plan>> {
        let bases = self.bases_of_log(floor)?;
        let base = bases.into_iter().filter(|base| base.n <= target).max_by_key(|base| base.n);
        Ok(base.map(|base| Plan { base, target }))
    }

    /// The bases above the floor, whose records have their states. A shipper that was overtaken
    /// before it could make the record has left a base without one.
    fn bases_of_log(&self, floor: &Floor) -> Result<Vec<BaseEntry>> {
        let mut bases = Vec::new();
        for base in floor.bases.iter().filter(|base| base.n >= floor.lowest) {
            let head = self.head(base.n)?;
            if head.is_some_and(|head| head.state_after() == Some(base.name())) {
                bases.push(base.clone());
            }
        }
        Ok(bases)
    }

    /// The end of a plan: the last record, up to its target, that leads to a snapshot.
    pub(crate) fn end_of(&self, plan: &Plan) -> Result<Head> {
        let mut n = plan.target;
        loop {
            let head = self.head(n)?.ok_or_else(|| lost(&log_name(n)))?;
            if head.is_end() || n == plan.base.n {
                return Ok(head);
            }
            n -= 1;
        }
    }

    /// The snapshots that can be restored, the oldest first: those that the log leads to.
    ///
    /// Costs a request for each record of the log.
    ///
    /// # Errors
    /// [`Error::Bucket`], [`Error::Damaged`].
    pub fn history(&self) -> Result<Vec<Moment>> {
        let floor = self.floor()?;
        let oldest = self.bases_of_log(&floor)?.iter().map(|base| base.n).min();
        let mut moments = Vec::new();
        let Some(mut n) = oldest else { return Ok(moments) };
        while let Some(head) = self.head(n)? {
            let is_point = head.kind == Kind::Start || head.kind == Kind::Segment && head.is_last;
            let is_base = moments.is_empty();
            if let Some(snapshot) = head.state_after().filter(|_| is_point || is_base) {
                let Head { millis, epoch, .. } = head;
                moments.push(Moment { n, snapshot, millis, epoch });
            }
            n += 1;
        }
        Ok(moments)
    }

    /// The pieces of a segment's records, from the first one on, each verified; `before` is the
    /// digest of the record before, and then of the last one that was read.
    pub(crate) fn piece_of_log(&self, n: u64, before: &mut Option<[u8; 32]>) -> Result<Vec<u8>> {
        let sound = self.record(n)?.ok_or_else(|| lost(&log_name(n)))?;
        self.check_follows(n, &sound, before)?;
        sound.piece(&log_name(n), &self.cipher)
    }

    /// Whether a record follows the one that was read before it.
    pub(crate) fn check_follows(
        &self,
        n: u64,
        sound: &Sound,
        before: &mut Option<[u8; 32]>,
    ) -> Result<()> {
        if before.is_some_and(|digest| digest != sound.head.before) {
            return Err(damaged(n, "it does not follow the record before it"));
        }
        *before = Some(sound.digest);
        Ok(())
    }

    /// A part of a base, verified.
    pub(crate) fn piece_of_base(
        &self,
        base: &BaseEntry,
        part: u64,
        before: &mut Option<[u8; 32]>,
    ) -> Result<Vec<u8>> {
        let name = base.part(part);
        let object = self.raw.get(&name)?.ok_or_else(|| lost(&name))?;
        let sound = Sound::of(&name, object.bytes)?;
        let head = &sound.head;
        let wrong = |reason| Err(Error::Damaged { name: name.clone(), reason });
        let is_last = part + 1 == base.parts;
        if head.kind != Kind::Base
            || head.n != base.n
            || head.part != part
            || head.uuid != self.uuid
        {
            return wrong("it belongs elsewhere");
        }
        let follows = head.before == before.unwrap_or_default();
        if !follows || is_last && digest_text(&sound.digest) != base.digest {
            return wrong("it is a part of another base");
        }
        *before = Some(sound.digest);
        sound.piece(&name, &self.cipher)
    }
}

pub(crate) fn damaged(n: u64, reason: &'static str) -> Error {
    Error::Damaged { name: log_name(n), reason }
}

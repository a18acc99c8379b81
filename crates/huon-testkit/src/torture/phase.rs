//! How far a process had got when it died: what it was about, and the last point of the engine
//! that it passed meanwhile.

use huon::sim::Point;

use super::orders::Place;

/// What a thread of a child is about, as its own code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Context {
    /// It has not come to its work yet.
    Starting,
    Opening,
    /// The environment is open, and no transaction under way.
    Outside,
    /// In the call that begins a write transaction.
    Beginning,
    /// In a write transaction, before its commit.
    Changing,
    /// In the call that commits.
    Committing,
    /// In the call that makes everything durable.
    Syncing,
    Closing,
    /// In the call that begins a read transaction.
    Pinning,
    /// In a read transaction.
    Reading,
}

const CONTEXTS: [Context; 10] = [
    Context::Starting,
    Context::Opening,
    Context::Outside,
    Context::Beginning,
    Context::Changing,
    Context::Committing,
    Context::Syncing,
    Context::Closing,
    Context::Pinning,
    Context::Reading,
];

/// A word of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    pub(crate) context: Context,
    /// The last point passed since the context began.
    pub(crate) point: Option<Point>,
}

impl Phase {
    pub(crate) fn word(self) -> u64 {
        (self.context as u64) << 8 | self.point.map_or(0, |point| point as u64 + 1)
    }

    pub(crate) fn of_word(word: u64) -> Phase {
        let context = CONTEXTS[(word >> 8) as usize % CONTEXTS.len()];
        let point = (word & 0xFF).checked_sub(1).map(|number| Point::ALL[number as usize]);
        Phase { context, point }
    }

    /// Between the begin of a write transaction, its role had, and the return of its commit.
    pub(crate) fn is_within_transaction(self) -> bool {
        let waits = self.point.is_none_or(|point| point == Point::WriterWanted);
        match self.context {
            Context::Beginning => !waits,
            Context::Changing | Context::Committing => true,
            _ => false,
        }
    }

    /// Where that place is.
    pub(crate) fn is_at(self, place: Place) -> bool {
        match place {
            Place::Point(point) => self.point == Some(point),
            Place::InTransaction => {
                matches!(self.context, Context::Changing | Context::Reading)
            }
            Place::Outside => self.context == Context::Outside,
        }
    }

    /// With the flusher's or the journaller's role.
    pub(crate) fn is_flushing(self) -> bool {
        let flush = Point::FlusherTaken..=Point::FlightEnded;
        let journal = Point::JournallerTaken..=Point::JournalFlightEnded;
        self.point.is_some_and(|point| flush.contains(&point) || journal.contains(&point))
    }

    pub(crate) fn waits_for_flush(self) -> bool {
        self.point == Some(Point::FlushAwaited)
    }

    pub(crate) fn waits_for_role(self) -> bool {
        self.point == Some(Point::WriterWanted)
    }

    /// The row of the table that it counts in.
    pub(crate) fn row(self) -> &'static str {
        match (self.point, self.context) {
            (Some(Point::Begun), Context::Changing) | (None, Context::Changing) => CHANGING,
            (_, Context::Reading) => READING,
            (Some(point), _) => point.name(),
            (None, Context::Starting | Context::Opening) => STARTING,
            (None, _) => OUTSIDE,
        }
    }
}

const STARTING: &str = "starting";
const OUTSIDE: &str = "outside";
const CHANGING: &str = "changing records";
const READING: &str = "reading";

/// The rows for writers: every point of the engine that a writer passes, in order, and what lies
/// between.
pub(crate) fn writer_rows() -> Vec<&'static str> {
    let mut rows = vec![STARTING];
    let points = Point::ALL.iter().copied();
    for point in points.filter(|point| is_for_writers(*point)) {
        rows.push(point.name());
        if point == Point::Begun {
            rows.push(CHANGING);
        }
    }
    rows.push(OUTSIDE);
    rows
}

/// The rows for readers.
pub(crate) fn reader_rows() -> Vec<&'static str> {
    let opening = [Point::OpenAlone, Point::OpenChosen, Point::OpenReady, Point::OpenJoined];
    let reading = READING_POINTS;
    let names = |points: &[Point]| points.iter().map(|point| point.name()).collect::<Vec<_>>();
    [vec![STARTING], names(&opening), names(&reading), vec![READING, OUTSIDE]].concat()
}

/// The points of beginning to read.
pub(crate) const READING_POINTS: [Point; 3] =
    [Point::SlotClaimed, Point::SnapshotSeen, Point::Pinned];

/// The points of beginning to read for those that may not write.
pub(crate) const GUESTS_POINTS: [Point; 2] = [Point::SnapshotSeen, Point::Pinned];

/// Points at which writers are stopped and killed.
pub(crate) fn is_for_writers(point: Point) -> bool {
    // Forks are held off: no process forks there, nor waits.
    let is_held_off = point == Point::FileOpened;
    // Once the lock file is lost, and then it is the supervisor that opens first.
    let is_of_replays = point == Point::PageReplayed;
    // The test of followers kills at each of them.
    let is_of_followers = Point::AdoptedWritten <= point && point <= Point::AdoptedFlushed;
    let is_rare = is_held_off || is_of_replays || is_of_followers;
    !is_rare && !READING_POINTS.contains(&point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_phases() {
        for context in CONTEXTS {
            let points = Point::ALL.iter().copied().map(Some).chain([None]);
            for phase in points.map(|point| Phase { context, point }) {
                assert_eq!(Phase::of_word(phase.word()), phase);
            }
        }
    }
}

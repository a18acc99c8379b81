//! Points: named places between the steps of the protocol, where a test may stop a process or
//! learn how far it got.
//!
//! A test installs one hook for its process, and each thread that comes to a point calls it there.
//! The hook may note the point, wait, or never return; it may not use the environment.
//! Without the feature `simulation` a point is nothing at all.

#[cfg(feature = "simulation")]
use std::sync::OnceLock;

/// Lists the points once, for the type and for [`Point::ALL`].
macro_rules! points {
    ($($(#[$about:meta])* $name:ident = $text:literal,)*) => {
        /// A place between two steps of the protocol, right after what its text says was done.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(not(feature = "simulation"), allow(dead_code, unreachable_pub))]
        #[repr(u8)]
        pub enum Point {
            $($(#[$about])* $name,)*
        }

        #[cfg(feature = "simulation")]
        impl Point {
            /// All of them, each at the place of its number.
            pub const ALL: &[Point] = &[$(Point::$name),*];

            /// A few words for tables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Point::$name => $text,)*
                }
            }
        }
    };
}

points! {
    // Opening, in `os`: forks are held off.
    /// A file is open, and not yet one that forked children close.
    FileOpened = "open: a file",
    // Opening, in `env`; the gate is held.
    /// Opening, as the first client: alone with the data file, and known as a client.
    OpenAlone = "open: alone",
    /// The snapshot to start from is chosen; the board still says what it said before.
    OpenChosen = "open: chosen",
    /// The board is filled anew.
    OpenReady = "open: board ready",
    /// Opening as one client among others: known as a client.
    OpenJoined = "open: joined",
    // Reading.
    /// A reader has a slot, without a pin yet.
    SlotClaimed = "read: slot claimed",
    /// A reader knows which snapshot is published, and has not pinned it.
    SnapshotSeen = "read: snapshot seen",
    /// A reader has pinned a snapshot.
    Pinned = "read: pinned",
    // Beginning a write transaction.
    /// Before asking for the writer lock.
    WriterWanted = "begin: role wanted",
    /// The writer lock is taken.
    WriterTaken = "begin: role taken",
    /// The repair has written the verified tail again.
    TailRewritten = "repair: tail written again",
    /// The repair's snapshot is sealed.
    RepairSealed = "repair: sealed",
    /// The repair's meta is durable, the flag still says that it is due.
    RepairFlushed = "repair: flushed",
    // Following another file.
    /// All pages of a snapshot of another file are written, and nothing is verified.
    AdoptedWritten = "follow: pages written",
    /// It is sealed.
    AdoptedSealed = "follow: sealed",
    /// It is durable and published.
    AdoptedFlushed = "follow: flushed",
    /// The transaction has begun.
    Begun = "begin: done",
    /// Pages of an unfinished transaction are written.
    Spilled = "spilled",
    // Committing.
    /// The commit begins.
    CommitBegun = "commit: begun",
    /// Changed tables have their records in the catalog.
    TablesStored = "commit: catalog done",
    /// All pages are written.
    PagesWritten = "commit: pages written",
    /// The image is in the lock file, and nothing names it.
    ImageFilled = "commit: image filled",
    /// The image is named as newest.
    Sealed = "commit: sealed",
    /// New readers see the snapshot before it is durable.
    Published = "commit: published",
    /// The writer lock is released.
    WriterLeft = "commit: role released",
    /// Before waiting for another client's flush.
    FlushAwaited = "flush: waiting for another's",
    /// The record of a transaction is in the ring; nothing is sealed.
    RecordPut = "commit: record put",
    /// The journaller's lock is taken.
    JournallerTaken = "journal: role taken",
    /// The candidate of a flush of the journal is read, and not stored.
    JournalCandidateRead = "journal: candidate read",
    /// The candidate of a flush of the journal is stored.
    JournalCandidateStored = "journal: candidate stored",
    /// A batch is written, and not flushed.
    JournalWritten = "journal: batch written",
    /// It is flushed.
    JournalFlushed = "journal: batch flushed",
    /// The place has moved behind it.
    JournalPlaceMoved = "journal: place moved",
    /// What it makes durable is published.
    JournalPublished = "journal: published",
    /// Nothing is in flight for the journal any more, and no client was notified.
    JournalFlightEnded = "journal: flight ended",
    /// A page of the journal is in the file again.
    PageReplayed = "open: page replayed",
    /// The flusher lock is taken.
    FlusherTaken = "flush: role taken",
    /// A candidate is in flight.
    CandidateStored = "flush: candidate stored",
    /// The plan of its flush is stored.
    PlanStored = "flush: plan stored",
    /// The first of two flushes has ended.
    FirstFlushed = "flush: pages flushed",
    /// The meta is written.
    MetaWritten = "flush: meta written",
    /// The meta's flush is left to the next flusher.
    FlushPostponed = "flush: postponed",
    /// The meta is flushed.
    Flushed = "flush: meta flushed",
    /// The flushed snapshot is published, and not yet named as durable.
    FlushPublished = "flush: published",
    /// It is named as durable, and still in flight.
    DurableMoved = "flush: durable moved",
    /// Nothing is in flight any more, and no client was notified.
    FlightEnded = "flush: flight ended",
    /// All is done but returning from the commit.
    CommitDone = "commit: done",
    // Closing.
    /// The commits that the close owed are flushed.
    CloseFlushed = "close: flushed",
    /// The client has left; nothing notes a clean end yet.
    CloseLeft = "close: left",
}

#[cfg(feature = "simulation")]
static HOOK: OnceLock<fn(Point)> = OnceLock::new();

/// Calls `hook` at every point that any thread of this process comes to; forked children keep it.
/// Only the first hook of a process counts.
#[cfg(feature = "simulation")]
pub fn on_points(hook: fn(Point)) {
    let _ = HOOK.set(hook);
}

/// This thread has come to `point`.
#[cfg(feature = "simulation")]
#[inline]
pub(crate) fn reach(point: Point) {
    if let Some(hook) = HOOK.get() {
        hook(point);
    }
}

/// This thread has come to `point`.
#[cfg(not(feature = "simulation"))]
#[inline(always)]
pub(crate) const fn reach(_: Point) {}

//! Planted bugs: rules of the protocol that can be left out, to show that the tests notice.
//!
//! Only with the feature `planted`, and then only the bug that the environment variable
//! `HUON_PLANTED` numbers; without it every question is answered `false` at compile time. `cargo
//! xtask planted` runs the tests, which know nothing of this, against each.
//!
//! (I8, editing a written page under its own number, is not done: there is nothing to leave out.)

use std::sync::Mutex;

/// For [`Bug::StaleScan`]: remembers a scan of the reader slots and answers with the one before.
#[derive(Default)]
pub(crate) struct StaleScan(Mutex<Vec<u64>>);

impl StaleScan {
    pub(crate) fn swap(&self, pins: &mut Vec<u64>) {
        std::mem::swap(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()), pins);
    }
}

/// What is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "planted"), allow(dead_code))]
#[repr(u32)]
pub(crate) enum Bug {
    /// The first flush of a two-flush commit.
    FirstFlush = 1,
    /// The flush of the meta.
    MetaFlush = 2,
    /// The order of the two: the meta is written before the pages are flushed.
    FlushOrder = 3,
    /// The durable snapshot among the retained ones.
    DurableUnprotected = 4,
    /// The last snapshot before a page was freed, in judging its reuse (off by one).
    FreedOffByOne = 5,
    /// The last eight bytes of a page in its checksum.
    ChecksumTail = 6,
    /// The birth in comparing a page with its pointer.
    BirthUnchecked = 7,
    /// The checksum in the check of a meta.
    MetaChecksum = 8,
    /// The poisoning after a failed flush: it is tried again.
    PoisonLifted = 9,
    /// One free-list entry, in each commit that has many.
    FreeEntryLost = 10,
    /// Taking back the pages that an aborted level retired: they are free and in use.
    RetiredAfterAbort = 11,
    /// The change of version by which a scan notices an edit.
    EditUnnoticed = 12,
    /// The last byte of a separator.
    SeparatorCut = 13,
    /// The pin of a reader, once it has read what it pins.
    PinDropped = 14,
    /// The release order of the store that seals.
    SealUnordered = 15,
    /// The takeover of the writer or flusher lock from a dead client.
    DeadHolder = 16,
    /// The last page in use, in cutting off the free tail of the file.
    TailCutShort = 17,
    /// The check of a value's length against its page.
    ValueLength = 18,
    /// The writing again after an interrupted write.
    InterruptedWrite = 19,
    /// The rest of a write that was cut short.
    ShortWrite = 20,
    /// The handler that makes handles dead in a forked child.
    ForkHandler = 21,
    /// The verification of pages that were never flushed.
    UnflushedUnverified = 22,
    /// The burning of an id under which pages were written.
    IdReused = 23,
    /// The fresh number for a page that was spilled and is edited again.
    SpilledInPlace = 24,
    /// The swap that evicts a parked reader: its slot is written over.
    EvictionWithoutSwap = 25,
    /// The second scan of the readers, once one was asked to go.
    SecondReaderScan = 26,
    /// P14: the release order of a slot's second pin.
    SecondPinUnordered = 27,
    /// The flush that a commit without changes owes for the commits that it found.
    EmptyCommitFlush = 28,
    /// The retirement of the values' tree of a key that is deleted.
    ValuesTreeLeaked = 29,
    /// The end of that retirement: the pages are retired again.
    ValuesTreeRetiredTwice = 30,
    /// The trial that a lock outlives its descriptor.
    LockOutlivesDescriptor = 31,
    /// The check that a page flagged as packed is packed.
    PackedUnchecked = 32,
    /// The last of the values that get a tree of their own.
    LastValueLost = 33,
    /// Giving back the pages that an undone level took: they are neither free nor in use.
    UndoneTakeLost = 34,
    /// The ceilings of all metas in choosing the id of a repair: it is that of the chosen one.
    RepairId = 35,
    /// The check of a snapshot before its meta is made the newest.
    SnapshotUnchecked = 36,
    /// The check that the snapshot which retained entries is still needed: they stay retained.
    RetainedStays = 37,
    /// Opening the free-list pages that may list a part of the free tail of the file.
    TailListPages = 38,
    /// The pointer to a page that a compaction has moved: it still leads to the old one.
    MovedPointer = 39,
    /// The retirement of the pages of a large value that a compaction has moved.
    MovedValueLeaked = 40,
    /// P7: the flush of the lock file that takes the note of a clean close from the disk.
    CleanNoteUnflushed = 42,
    /// P7: the time of the data file's last write in believing a clean close.
    CleanTimeUnchecked = 43,
    /// The note that a write transaction was moved to another thread, which uses it.
    MoveUnnoted = 44,
    /// The second check of the lock file's length for a client or slot that others added.
    LockFileLength = 45,
    /// The refusal of a file with a whole meta of a newer version: an older snapshot is opened.
    NewerVersion = 46,
    /// N1: the new version of a place that is given out again: an old handle finds a new table.
    PlaceVersion = 50,
    /// The comparison of a comparator's name with the one in the file.
    ComparatorName = 51,
    /// P1: the new generation of a client number that is given out again.
    ClientGeneration = 101,
    /// P2: the second check of a lock's holder that does not wake its waiters.
    SilentHolder = 102,
    /// P3: the comparison of the newest sealed snapshot with the base.
    BaseUnchecked = 103,
    /// P4: the finishing of a dead flusher's candidate.
    CandidateUnfinished = 104,
    /// P5: the check that the lock descriptor is still this client's.
    LockDescriptor = 105,
    /// P6: the check whether other clients lock in another way.
    LockKind = 106,
    /// P7: the issued ids in choosing the next one.
    IssuedIds = 107,
    /// P8: the retirement of pages that an aborted level wrote: they are free at once.
    UndoneWriteFree = 108,
    /// P9: publishing before the durable mark moves.
    PublishedFirst = 109,
    /// P10: the order of the marks that the writer reads, in flight before durable.
    MarksUnordered = 110,
    /// P11: the published and the sealed snapshot among the retained ones.
    NewestUnprotected = 111,
    /// P12: the snapshot of a page's birth, in judging its reuse.
    BirthSnapshot = 112,
    /// P13: a transaction's own scan of the reader slots: it uses that of the one before.
    StaleScan = 113,
    /// P14: the second load of the published mark after the pin.
    PublishedOnce = 114,
    /// P15: the oldest snapshot that retains a page as its owner: it is the newest.
    NewestOwner = 115,
    /// P16: the repair after an unclean end.
    NoRepair = 116,
    /// I1: the last id of a transaction in its snapshot, which bears the first.
    LastId = 201,
    /// I2: the raise in the lock file of all ids of a transaction but the first.
    IdsUnraised = 202,
    /// I3: the check of the ceiling before another id is taken.
    CeilingUnread = 203,
    /// I4: half of the pages that are written before the id rises.
    HalfWritten = 204,
    /// I5: the wait for a later id of pages that were written and dropped.
    NoWait = 205,
    /// I6: the bound of a level: pages of outer ones are its own.
    LevelBound = 206,
    /// I7: the striking out of pages that a level has written and dropped.
    LevelKept = 207,
    /// I9: the transaction's id as the end of the pages that left the base: it is the base's.
    EndId = 209,
    /// I10: the first id as the one up to which entries were judged: it is the last.
    JudgedId = 210,
    /// I11: written pages among those that may change.
    WrittenForgotten = 211,
    /// I12: the snapshot's id in the markers: it is the one of the moment.
    MarkerId = 212,
    /// R1: the count of a guest's readers of one snapshot: the first to end gives its byte up.
    GuestCount = 221,
    /// R2: the check that the lock file is of the data file that a guest has opened.
    GuestDataFile = 222,
    /// R3: a guest's second load of the published mark.
    GuestPublishedOnce = 223,
    /// R4: asking below an answer: only what lies above is asked for again.
    GuestAskedAbove = 224,
    /// R5: asking at each scan: a client asks once.
    GuestAskedOnce = 225,
    /// R6: joining where guests are left alone with the lock file.
    GuestsAlone = 226,
    /// R7: a private reader's lock on the data file.
    PrivateReaderLock = 227,
    /// R8: guests among the readers that are named.
    GuestsUnnamed = 228,
    /// R9: asking for a client's byte to read: a lock to read counts as a life.
    ReadLockIsLife = 229,
    /// R10: the fence between a guest's lock and its second load of the mark.
    GuestFence = 230,
    /// R11: no guests where locks are on whole files.
    GuestsOnWholeLocks = 231,
    /// C1: the check whether a read transaction was inherited, where its tables are at hand.
    InheritedAtHand = 241,
    /// C2: the release of locks that another generation held.
    OtherGeneration = 242,
    /// C3: the registration of what a forked child opens.
    ForkUnregistered = 243,
    /// C4: the comparison of the files with those of the parent.
    ParentFiles = 244,
    /// C5: the forgetting of an inherited environment: it is dropped, its map with it.
    InheritedDropped = 245,
    /// C6: the wait of a fork for what is opened and not registered.
    ForkUnwaited = 246,
    /// C7: the page that children find zeroed.
    ZeroedPage = 247,
    /// C8: that a child's child need not wait for a thread that was attaching.
    Grandchild = 248,
    /// C9: the attaching that is asked for.
    AttachIgnored = 249,
    /// V2: the raise of the number on which clients sleep that wait for a commit.
    CommitNumber = 250,
    /// V1: the load of the published mark after the note that a client waits.
    WaitNoted = 251,
    /// That a record which does not hold all pages is none (J1.1).
    RecordPartly = 400,
    /// The bound of the ring (J2.2).
    RingRoom = 401,
    /// The second look after the journal's candidate is stored (J2.4).
    JournalCandidate = 402,
    /// The question whether all since the durable snapshot has records (J3.1).
    FloorUnchecked = 403,
    /// The flush of the journal (J3.2).
    JournalUnflushed = 404,
    /// The move of the ring's tail by a flusher: a full ring stays full (J2.2).
    RingTail = 405,
    /// The second place of what is journaled: its words change where others read them (J2.3).
    JournaledOnce = 406,
    /// The check that a batch is bound to the one before (J2.5).
    ChainUnchecked = 407,
    /// The block of its own that a batch begins with (J2.7).
    BlockReused = 408,
    /// The place before the published mark: that moves first (J3.2).
    JournalPublishedFirst = 409,
    /// The reading of the place before the last look at the newest sealed snapshot (J4.1).
    PlaceReadLate = 410,
    /// The blocks from the durable meta's anchor on, in looking for room (J4.2).
    AnchorOverwritten = 411,
    /// The durable snapshot among the protected ones, where the journaled one is newer (J4.3).
    JournaledProtected = 412,
    /// That no place is named when the journal is ended (J4.5).
    JournalNotEnded = 413,
    /// The end of all journaling after a failed flush of the journal, which is tried again (J4.7).
    JournalNotGivenUp = 414,
    /// The check that the batch before the place is there (J5.1).
    AnchorUnchecked = 415,
    /// The growth of the file before pages are replayed (J5.2).
    UngrownReplay = 416,
    /// That the meta of a repair names no journal (J5.3).
    RepairNamesJournal = 417,
    /// The question whether the journal leads further than the lock file.
    JournalNewer = 418,
    /// The search for batches behind one that is damaged.
    DamagedBatch = 419,
    /// What waits in the ring: a record is put over it, at the tail (J2.1).
    RecordAtTail = 420,
    /// The part of a batch that goes around the end of the file (J2.6).
    BatchCut = 421,
    /// The flush of the batch that begins a journal, before a meta names it (J4.4).
    BeginUnflushed = 422,
    /// The error of a process that would have to replay, and may not write (J5.4).
    ReplayLeftOut = 423,
    /// What changed in a page, in its record: that leads to the page it was copied from (J1.2).
    RecordOfBefore = 424,
    /// The move of a record's end beside its snapshot's image (J1.3).
    RecordEndKept = 425,
    /// What the journal holds, in asking what is durable (J3.3).
    JournaledUncounted = 426,
    /// The checkpoint from half of the journal on (J4.6).
    CheckpointNotDue = 427,
    /// The version of a batch that is meant (J5.5).
    BatchVersionUnread = 428,
    /// The journal, where its environment is deleted (J5.6).
    JournalKept = 429,
    /// The floor that a commit without a record raises (J5.8).
    FloorKept = 430,
    /// The look for the batch that the lock file's durable meta names, where a newer meta is there
    /// (J4.2).
    AnchorForgotten = 431,
    /// The look for the batch before the place that the lock file has, in going on from it (J2.3).
    JournalPutBack = 432,
    /// The end of metas that are not whole, before a replay writes its first page (J5.9).
    TornMetaKept = 433,
    /// The last page of a large value, in showing what changed (H1).
    LastPageUnshown = 501,
    /// The pin of a capture (H2).
    CapturePinDropped = 502,
    /// The look whether the snapshot before has the page that is written (A1).
    AdoptedOverBase = 503,
    /// The wait for readers of older snapshots (A1).
    OlderReaderUnawaited = 504,
    /// The verification of what was written (A2).
    AdoptedUnverified = 505,
    /// The repair that stays due (A4).
    RepairForgotten = 506,
    /// The comparison of the snapshot before with the one that the changes follow.
    BaseUnnamed = 507,
    /// The records that a table has gained, in the difference of two snapshots (D2).
    AddedUnshown = 508,
    /// The pages that two trees share, in looking for those that they have apart (D1).
    SharedApart = 509,
    /// The named snapshots among the protected ones (Y2).
    NamesUnprotected = 601,
    /// The dropped ones among them until the drop is durable (Y3).
    DroppedNameUnprotected = 602,
    /// The checkpoint before a snapshot gets a name (Y1).
    NamedBeforeDurable = 603,
    /// The second look whether a snapshot still has its name (Y4).
    NameUnasked = 604,
    /// The bit that is cleared where the image of a snapshot leaves its file (Y2).
    NamesTravel = 605,
    /// The protection of a snapshot by the transaction that names it (Y5).
    NameUnretained = 606,
    /// The refusal of a file with named snapshots that was to follow another (A5).
    NamesFollow = 607,
}

/// Whether a bug is planted.
#[cfg(feature = "planted")]
pub(crate) fn is(bug: Bug) -> bool {
    use std::sync::OnceLock;
    static PLANTED: OnceLock<u32> = OnceLock::new();
    let planted = PLANTED.get_or_init(|| {
        let named = std::env::var("HUON_PLANTED").ok();
        named.and_then(|number| number.parse().ok()).unwrap_or(0)
    });
    *planted == bug as u32
}

/// Whether a bug is planted.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn is(_: Bug) -> bool {
    false
}

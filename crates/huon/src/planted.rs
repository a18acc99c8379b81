//! Planted bugs: rules of the protocol that can be left out, to show that the tests notice.
//!
//! Only with the feature `planted`, and then only the bug that the environment variable
//! `HUON_PLANTED` numbers; without it every question is answered `false` at compile time. `cargo
//! xtask planted` runs the tests, which know nothing of this, against each:
//!
//! | no. | what is left out |
//! |---|---|
//! | 1 | the first flush of a two-flush commit |
//! | 2 | the flush of the meta |
//! | 3 | the order of the two: the meta is written before the pages are flushed |
//! | 4 | the durable snapshot among the protected ones |
//! | 5 | the last snapshot before a page was freed, in judging the page (off by one) |
//! | 6 | the last eight bytes of a page in its checksum |
//! | 7 | the birth in comparing a page with its pointer |
//! | 8 | the checksum in judging a meta |
//! | 9 | the poisoning after a failed flush: it is tried again |
//! | 10 | one item of the free space, in each commit that has many |
//! | 11 | taking back what an aborted level retired: its pages are free and in use |
//! | 12 | the change of version by which a scan notices an edit |
//! | 13 | the last byte of a separator |
//! | 14 | the pin of a reader, once it has read what it pins |
//! | 15 | the release order of the store that seals |
//! | 16 | the takeover of a role from a dead holder |
//! | 17 | the last page in use, in cutting off the free tail of the file |
//! | 18 | the check of a value's length against its page |
//! | 19 | the writing again after an interrupted write |
//! | 20 | the rest of a write that was cut short |
//! | 21 | the handler that makes handles dead in a forked child |
//! | 22 | the verification of what was never flushed |
//! | 23 | the burning of an id under which pages were written |
//! | 24 | the fresh number for a page that was spilled and is edited again |
//! | 25 | the swap that evicts a parked reader: its slot is written over |
//! | 26 | the second scan of the readers, once one was asked to go |
//! | 27 | P14: the release order of a slot's second pin |
//! | 28 | the flush that a commit without changes owes for what it found |
//! | 29 | the retirement of the values' tree of a key that is deleted |
//! | 30 | the end of that retirement: the pages are retired again |
//! | 31 | the trial whether a lock outlives its descriptor |
//! | 32 | the look whether a page that is marked as packed is packed |
//! | 33 | the last of the values that get a tree of their own |
//! | 34 | giving back what an undone level took: its pages are neither free nor in use |
//! | 35 | the ceilings of all metas in choosing the id of a repair: it is that of the chosen one |
//! | 36 | the check of a snapshot before its meta is made the newest |
//! | 37 | the look whether who held items is protected still: they stay held |
//! | 38 | opening the chunks that may list a part of the free tail of the file |
//! | 39 | the pointer to a page that a compaction has moved: it still leads to the old one |
//! | 40 | the retirement of the pages of a large value that a compaction has moved |
//! | 42 | P7: the flush of the lock file that takes the note of a clean close from the disk |
//! | 43 | P7: the time of the data file's last write in believing a clean close |
//! | 44 | the note that a write transaction was moved to another thread, which uses it |
//! | 45 | the second look at the length of the lock file for a client or slot that others added |
//! | 46 | the refusal of a file with a whole meta of a newer version: an older snapshot is opened |
//! | 50 | N1: the new version of a place that is given out again: an old handle finds a new table |
//! | 51 | the comparison of a comparator's name with the one in the file |
//! | 101 | P1: the new generation of a client number that is given out again |
//! | 102 | P2: the second look at a holder that does not wake its waiters |
//! | 103 | P3: the comparison of the newest sealed snapshot with the base |
//! | 104 | P4: the finishing of a dead flusher's candidate |
//! | 105 | P5: the look whether the lock descriptor is still our own |
//! | 106 | P6: the look whether others lock in another way |
//! | 107 | P7: the issued ids in choosing the next one |
//! | 108 | P8: the retirement of pages that an aborted level wrote: they are free at once |
//! | 109 | P9: publishing before the durable mark moves |
//! | 110 | P10: the order of the marks that the writer reads, in flight before durable |
//! | 111 | P11: the published and the sealed snapshot among the protected ones |
//! | 112 | P12: the snapshot of a page's birth, in judging the page |
//! | 113 | P13: a scan of the reader slots of one's own: that of the transaction before is used |
//! | 114 | P14: the second look at the published mark after the pin |
//! | 115 | P15: the oldest holder as the owner of a held page: it is the newest |
//! | 116 | P16: the repair after an unclean end |
//! | 201 | I1: the last id of a transaction in its snapshot, which bears the first |
//! | 202 | I2: the raise in the lock file of all ids of a transaction but the first |
//! | 203 | I3: the look at the ceiling before another id is taken |
//! | 204 | I4: half of the pages that are written before the id rises |
//! | 205 | I5: the wait for a later id of what was written and dropped |
//! | 206 | I6: the bound of a level: pages of outer ones are its own |
//! | 207 | I7: the striking out of what a level has written and dropped |
//! | 209 | I9: the transaction's id as that of the end of what left the base: it is the base's |
//! | 210 | I10: the first id as the one up to which was judged: it is the last |
//! | 211 | I11: what was written among what may change |
//! | 212 | I12: the snapshot's id in the markers: it is the one of the moment |
//! | 221 | R1: the count of a guest's readers of one snapshot: the first to end gives its byte up |
//! | 222 | R2: the look whether the lock file is of the data file that a guest has opened |
//! | 223 | R3: a guest's second look at the published mark |
//! | 224 | R4: asking below an answer: only what lies above is asked for again |
//! | 225 | R5: asking at each scan: a client asks once |
//! | 226 | R6: joining where guests are left alone with the lock file |
//! | 227 | R7: a private reader's lock on the data file |
//! | 228 | R8: guests among the readers that are named |
//! | 229 | R9: asking for a client's byte to read: a lock to read counts as a life |
//! | 230 | R10: the fence between a guest's lock and its second look |
//! | 231 | R11: no guests where locks are on whole files |
//! | 241 | C1: the look whether a read transaction was inherited, where its tables are at hand |
//! | 242 | C2: that what was locked in another generation is free |
//! | 243 | C3: the registration of what a forked child opens |
//! | 244 | C4: the comparison of the files with those of the parent |
//! | 245 | C5: the forgetting of an inherited environment: it is dropped, its map with it |
//! | 246 | C6: the wait of a fork for what is opened and not registered |
//! | 247 | C7: the page that children find zeroed |
//! | 248 | C8: that a child's child need not wait for a thread that was attaching |
//! | 249 | C9: the attaching that is asked for |
//! | 250 | V2: the raise of the number on which clients sleep that wait for a commit |
//! | 251 | V1: the look at what is published after the note that a client waits |
//!
//! (I8, editing a written page under its own number, is not done: there is nothing to leave out.)

use std::sync::Mutex;

/// For number 113: remembers a scan of the reader slots and answers with the one before.
#[derive(Default)]
pub(crate) struct StaleScan(Mutex<Vec<u64>>);

impl StaleScan {
    pub(crate) fn swap(&self, pins: &mut Vec<u64>) {
        std::mem::swap(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()), pins);
    }
}

/// Whether bug `number` is planted.
#[cfg(feature = "planted")]
pub(crate) fn is(number: u32) -> bool {
    use std::sync::OnceLock;
    static PLANTED: OnceLock<u32> = OnceLock::new();
    let planted = PLANTED.get_or_init(|| {
        let named = std::env::var("HUON_PLANTED").ok();
        named.and_then(|number| number.parse().ok()).unwrap_or(0)
    });
    *planted == number
}

/// Whether bug `number` is planted.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn is(_: u32) -> bool {
    false
}

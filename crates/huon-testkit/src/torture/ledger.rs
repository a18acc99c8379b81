//! What is known outside of the processes that are killed: a file of words.
//!
//! A process notes in it what it is about to do and which commits were acknowledged. The others see
//! the notes however their writer dies, as the file's pages belong to the kernel. No word has two
//! writers at a time, so nothing needs more than single reads and writes.
//!
//! The parts: for each seat (a process that is started anew whenever it was killed) the highest
//! acknowledged commits; then what each seat is about; then one entry for each commit, by its
//! sequence number.
//!
//! 1. Only the holder of the writer lock begins an entry, and a later one with the same number
//!    shows that the commit before never happened.
//! 2. The highest acknowledged number of a seat outlives its processes.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tempfile::TempPath;

use super::phase::Phase;

/// Processes at a time.
pub(crate) const SEATS: usize = 16;
/// Threads of a process whose phase is noted.
pub(crate) const THREADS: usize = 2;
/// Commits that are remembered.
const ENTRIES: u64 = 1 << 16;

const REPAIRS: u64 = 0;
const HIGHEST: u64 = 8;
const SEAT_AT: u64 = 1024;
const SEAT_WORDS: u64 = 128;
const ENTRIES_AT: u64 = SEAT_AT + SEATS as u64 * SEAT_WORDS * 8;
const ENTRY_WORDS: u64 = 8;
/// Words of the text by which a process says what went wrong; the first is its length.
const TROUBLE_WORDS: u64 = 100;

/// A word of a seat, after the phases of its threads.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum SeatWord {
    /// When its process took the writer lock last, on the kernel's clock.
    TakenAt = 4,
    /// 1 + the thread that came to where the process was told to.
    Arrived,
    /// The supervisor lets it go on from there.
    GoOn,
    Commits,
    Snapshots,
    Audits,
    /// The process id of a child that its process forked.
    Fork,
    /// What that child is to do; see `orphan`.
    ForkOrder,
    Trouble = 20,
}

/// What was begun as commit number `seq`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    pub(crate) txnid: u64,
    pub(crate) chain: u64,
    /// Its commit returned.
    pub(crate) acked: bool,
    /// A process has read it.
    pub(crate) seen: bool,
}

/// The highest numbers that were acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acked {
    pub(crate) any: u64,
    pub(crate) durable: u64,
}

pub(crate) struct Ledger(File);

impl Ledger {
    /// A new ledger, all zeros, and its path, which goes when that is dropped. It lies in memory if
    /// there is such a place, as it is written at every step.
    pub(crate) fn create(otherwise: &Path) -> (Ledger, TempPath) {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { memory } else { otherwise };
        let file = tempfile::Builder::new().prefix("huon-ledger-").tempfile_in(dir);
        let (file, path) = file.expect("a file for the ledger").into_parts();
        file.set_len(ENTRIES_AT + ENTRIES * ENTRY_WORDS * 8).expect("room for the ledger");
        (Ledger(file), path)
    }

    pub(crate) fn open(path: &Path) -> Ledger {
        let file = OpenOptions::new().read(true).write(true).open(path);
        Ledger(file.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    fn load<const N: usize>(&self, at: u64) -> [u64; N] {
        let mut bytes = vec![0; N * 8];
        self.0.read_exact_at(&mut bytes, at).expect("the ledger can be read");
        let (words, _) = bytes.as_chunks::<8>();
        std::array::from_fn(|n| u64::from_le_bytes(words[n]))
    }

    fn store(&self, at: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.0.write_all_at(&bytes, at).expect("the ledger can be written");
    }

    // ---- seats

    pub(crate) fn get(&self, seat: usize, word: SeatWord) -> u64 {
        self.load::<1>(seat_at(seat) + word as u64 * 8)[0]
    }

    pub(crate) fn set(&self, seat: usize, word: SeatWord, value: u64) {
        self.store(seat_at(seat) + word as u64 * 8, &[value]);
    }

    /// For the next process of that seat.
    pub(crate) fn clear_seat(&self, seat: usize) {
        self.store(seat_at(seat), &[0; SEAT_WORDS as usize]);
    }

    pub(crate) fn phases(&self, seat: usize) -> [Phase; THREADS] {
        self.load::<THREADS>(seat_at(seat)).map(Phase::of_word)
    }

    pub(crate) fn set_phase(&self, seat: usize, thread: usize, phase: Phase) {
        self.store(seat_at(seat) + thread as u64 * 8, &[phase.word()]);
    }

    /// Says what went wrong.
    pub(crate) fn set_trouble(&self, seat: usize, text: &str) {
        let at = seat_at(seat) + SeatWord::Trouble as u64 * 8;
        let bytes = &text.as_bytes()[..text.len().min(TROUBLE_WORDS as usize * 8)];
        self.0.write_all_at(bytes, at + 8).expect("the ledger can be written");
        self.store(at, &[bytes.len() as u64]);
    }

    pub(crate) fn trouble(&self, seat: usize) -> Option<String> {
        let at = seat_at(seat) + SeatWord::Trouble as u64 * 8;
        let [bytes_count] = self.load::<1>(at);
        let mut bytes = vec![0; bytes_count as usize];
        self.0.read_exact_at(&mut bytes, at + 8).expect("the ledger can be read");
        (bytes_count > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    // ---- commits

    /// Notes what is about to be committed as number `seq`. The error: this number was committed
    /// already, and what it held is lost.
    pub(crate) fn begin(&self, seq: u64, txnid: u64, chain: u64) -> Result<(), String> {
        let before = self.entry(seq);
        if before.seq == seq && (before.acked || before.seen) {
            return Err(format!("commit {seq} is begun by {txnid}, and there was one: {before:?}"));
        }
        self.store(entry_at(seq), &[seq, txnid, chain, 0, 0]);
        Ok(())
    }

    pub(crate) fn entry(&self, seq: u64) -> Entry {
        let [seq, txnid, chain, acked, seen] = self.load(entry_at(seq));
        Entry { seq, txnid, chain, acked: acked != 0, seen: seen != 0 }
    }

    /// Notes that commit `seq` was acknowledged, and which are the seat's highest now.
    pub(crate) fn ack(&self, seat: usize, seq: u64, highest: Acked) {
        self.store(entry_at(seq) + 24, &[1]);
        self.store(HIGHEST + seat as u64 * 16, &[highest.any, highest.durable]);
    }

    pub(crate) fn see(&self, seq: u64) {
        self.store(entry_at(seq) + 32, &[1]);
    }

    /// The highest of one seat.
    pub(crate) fn acked_by(&self, seat: usize) -> Acked {
        let [any, durable] = self.load(HIGHEST + seat as u64 * 16);
        Acked { any, durable }
    }

    /// The highest of all.
    pub(crate) fn acked(&self) -> Acked {
        let words = self.load::<{ SEATS * 2 }>(HIGHEST);
        let highest = |which| words.iter().skip(which).step_by(2).copied().max().unwrap_or(0);
        Acked { any: highest(0), durable: highest(1) }
    }

    /// Forgets what came after commit `seq`, with the lock file that alone knew of it. No other
    /// process may run.
    pub(crate) fn rewind(&self, seq: u64) {
        for seat in 0..SEATS {
            let Acked { any, durable } = self.acked_by(seat);
            self.store(HIGHEST + seat as u64 * 16, &[any.min(seq), durable.min(seq)]);
        }
        let later = (seq + 1..).take_while(|later| self.entry(*later).seq == *later);
        for later in later.collect::<Vec<_>>() {
            self.store(entry_at(later), &[0; 5]);
        }
    }

    // ---- repairs

    /// A repair was sealed: a snapshot with an id of its own and the content of the one before.
    pub(crate) fn note_repair(&self) {
        self.store(REPAIRS, &[1]);
    }

    pub(crate) fn has_repairs(&self) -> bool {
        self.load::<1>(REPAIRS)[0] != 0
    }
}

fn seat_at(seat: usize) -> u64 {
    SEAT_AT + seat as u64 * SEAT_WORDS * 8
}

fn entry_at(seq: u64) -> u64 {
    ENTRIES_AT + seq % ENTRIES * ENTRY_WORDS * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_is_not_begun_again() {
        let dir = tempfile::tempdir().unwrap();
        let (ledger, _path) = Ledger::create(dir.path());
        ledger.begin(7, 70, 1).unwrap();
        ledger.begin(7, 71, 2).unwrap();
        ledger.ack(3, 7, Acked { any: 7, durable: 0 });
        assert_eq!(ledger.acked(), Acked { any: 7, durable: 0 });
        assert!(ledger.begin(7, 72, 3).unwrap_err().contains("71"));
        ledger.begin(8, 72, 3).unwrap();
        ledger.see(8);
        ledger.begin(8, 73, 3).unwrap_err();
        ledger.rewind(6);
        assert_eq!(ledger.acked(), Acked { any: 6, durable: 0 });
        ledger.begin(7, 74, 4).unwrap();
        ledger.begin(8, 75, 5).unwrap();
    }

    #[test]
    fn trouble_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (ledger, _path) = Ledger::create(dir.path());
        assert_eq!(ledger.trouble(2), None);
        ledger.set_trouble(2, "lost");
        assert_eq!(ledger.trouble(2).as_deref(), Some("lost"));
        ledger.set_trouble(2, &"x".repeat(10_000));
        assert_eq!(ledger.trouble(2).map(|text| text.len()), Some(800));
    }
}

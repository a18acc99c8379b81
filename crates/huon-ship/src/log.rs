//! The log: records with dense numbers, each made once.
//!
//! S1. A record is made with the condition that there is none of its number. The shipper that has
//!     made the takeover at `n` is the only one that makes records from `n` on, until the next
//!     takeover.
//! S2. A record that others acknowledge is never deleted above the floor; below it takeovers are
//!     never deleted. So the number that a shipper writes next is never free again once another has
//!     taken over, however long the shipper slept.
//! S3. A takeover counts only if the floor, read after it was made, is not above it: else the
//!     number was free because what was there has been deleted.
//! S4. An answer that was lost is found out by reading: the same bytes are the shipper's own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use huon::SnapshotName;

use crate::error::{Error, Result};
use crate::object::{self, Digest, HEAD_BYTES, Head, Kind, Sound, digest_of};
use crate::remote::{Pauses, Remote, log_name, lost};

impl Remote {
    /// The head of a record, as it says itself; `None`: there is none of the number.
    pub(crate) fn head(&self, n: u64) -> Result<Option<Head>> {
        let name = log_name(n);
        let range = 0..HEAD_BYTES as u64;
        let ask = || self.raw.bucket.get_range(&name, range.clone());
        let Some(bytes) = self.raw.ask("get", &name, ask)? else { return Ok(None) };
        let head = Head::decode(&bytes);
        let head = head.map_err(|reason| Error::Damaged { name: name.clone(), reason })?;
        self.check_place(&name, &head, n)?;
        Ok(Some(head))
    }

    /// A record, verified.
    pub(crate) fn record(&self, n: u64) -> Result<Option<Sound>> {
        let name = log_name(n);
        let Some(object) = self.raw.get(&name)? else { return Ok(None) };
        let sound = Sound::of(&name, object.bytes)?;
        self.check_place(&name, &sound.head, n)?;
        Ok(Some(sound))
    }

    pub(crate) fn check_place(&self, name: &str, head: &Head, n: u64) -> Result<()> {
        if head.n == n && head.uuid == self.uuid {
            return Ok(());
        }
        Err(Error::Damaged { name: name.into(), reason: "it belongs elsewhere" })
    }

    /// The first number from `lowest` on of which there is no record.
    pub(crate) fn end(&self, lowest: u64) -> Result<u64> {
        // All below `there` exist; `step` doubles until one is absent.
        let (mut there, mut step) = (lowest, 1);
        while self.head(there + step - 1)?.is_some() {
            there += step;
            step *= 2;
        }
        let (mut low, mut high) = (there, there + step - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.head(middle)?.is_some() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The number after the last record. A record that is missing before later ones is an error:
    /// what is made in its place would lie in the middle of the log.
    pub(crate) fn end_of_log(&self) -> Result<u64> {
        let mut n = self.end(self.floor()?.lowest)?;
        while self.end_by_list(n)? > n {
            // It has come meanwhile, or is missing.
            self.head(n)?.ok_or_else(|| lost(&log_name(n)))?;
            n = self.end(n)?;
        }
        Ok(n)
    }

    /// Where the log is before record `n`, and the digest of the record before it.
    pub(crate) fn before(&self, n: u64) -> Result<(Option<SnapshotName>, Digest)> {
        if n <= 1 {
            return Ok((None, [0; 32]));
        }
        let last = self.record(n - 1)?.ok_or_else(|| lost(&log_name(n - 1)))?;
        Ok((last.head.state_after(), last.digest))
    }
}

/// The right to make the next records.
pub(crate) struct Lane {
    /// Number of the next record.
    pub(crate) n: u64,
    pub(crate) epoch: u64,
    pub(crate) shipper: [u8; 16],
    /// Where the log is.
    pub(crate) state: Option<SnapshotName>,
    digest: Digest,
}

/// What became of a record.
enum Made {
    Ours,
    Other(Box<Sound>),
}

impl Lane {
    /// Takes the log over; `text` says where the shipper runs.
    pub(crate) fn take(remote: &Remote, shipper: [u8; 16], text: &str) -> Result<Lane> {
        let stop = AtomicBool::new(false);
        let mut n = remote.end_of_log()?;
        loop {
            let (state, before) = remote.before(n)?;
            let mut lane = Lane { n, epoch: n, shipper, state, digest: before };
            let head = Head { to: state, ..lane.head_of(remote, Kind::Takeover) };
            let record = object::plain(head, text.as_bytes());
            if let Made::Other(_) = make(remote, n, &record, Some(remote.raw.patience), &stop)? {
                n += 1;
                continue;
            }
            let lowest = remote.floor()?.lowest;
            if lowest > n {
                // S3.
                n = remote.end_of_log()?;
                continue;
            }
            lane.went_on(&record, state);
            return Ok(lane);
        }
    }

    /// The head of the next record, to which no state belongs yet.
    pub(crate) fn head_of(&self, remote: &Remote, kind: Kind) -> Head {
        Head {
            kind,
            n: self.n,
            uuid: remote.uuid,
            epoch: self.epoch,
            shipper: self.shipper,
            part: 0,
            is_last: true,
            from: None,
            to: None,
            millis: now_millis(),
            body_bytes: 0,
            before: self.digest,
        }
    }

    /// Makes the next record, and tries until it is known whether it is made, or `stop` is set.
    pub(crate) fn append(
        &mut self,
        remote: &Remote,
        record: &[u8],
        state: Option<SnapshotName>,
        stop: &AtomicBool,
    ) -> Result<()> {
        match make(remote, self.n, record, None, stop)? {
            Made::Ours => {
                self.went_on(record, state);
                Ok(())
            }
            Made::Other(other) if other.head.kind == Kind::Takeover => {
                let by = String::from_utf8_lossy(other.body()).into_owned();
                Err(Error::Fenced { at: self.n, by })
            }
            Made::Other(_) => {
                let reason = "it is there, and no other shipper has taken over";
                Err(Error::Damaged { name: log_name(self.n), reason })
            }
        }
    }

    fn went_on(&mut self, record: &[u8], state: Option<SnapshotName>) {
        self.n += 1;
        self.state = state;
        self.digest = digest_of(record);
    }
}

/// S1, S4: makes a record. Without `patience` it asks until there is an answer.
fn make(
    remote: &Remote,
    n: u64,
    record: &[u8],
    patience: Option<Duration>,
    stop: &AtomicBool,
) -> Result<Made> {
    let name = log_name(n);
    let bucket = &remote.raw.bucket;
    let mut pauses = Pauses::new();
    let began = Instant::now();
    loop {
        let said = bucket.create(&name, record);
        if matches!(said, Ok(true)) {
            return Ok(Made::Ours);
        }
        let failed = match bucket.get(&name) {
            Ok(Some(object)) if object.bytes == record => return Ok(Made::Ours),
            Ok(Some(object)) => {
                let sound = Sound::of(&name, object.bytes)?;
                return Ok(Made::Other(Box::new(sound)));
            }
            // It says that there is one, and has none: it was asked at a bad moment.
            Ok(None) => said.err(),
            Err(error) => Some(error),
        };
        let pause = pauses.next();
        let is_over = patience.is_some_and(|patience| began.elapsed() + pause > patience);
        if is_over || stop.load(Ordering::Relaxed) {
            let source = failed.unwrap_or_else(|| std::io::Error::other("it is there, and not"));
            return Err(Error::Bucket { request: "create", name, source });
        }
        sleep_until(stop, pause);
    }
}

/// Sleeps, and ends early once `stop` is set.
fn sleep_until(stop: &AtomicBool, pause: Duration) {
    const SLICE: Duration = Duration::from_millis(20);
    let mut left = pause;
    while !left.is_zero() && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(left.min(SLICE));
        left = left.saturating_sub(SLICE);
    }
}

/// Now, in milliseconds since 1970.
pub(crate) fn now_millis() -> u64 {
    millis_of(SystemTime::now())
}

/// A time as milliseconds since 1970.
pub(crate) fn millis_of(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

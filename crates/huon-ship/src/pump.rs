//! One shipper's way from a file to the log.
//!
//! T1. Before a snapshot is shipped, it is durable, and has a name in its file, durably. The name
//!     of the one shipped before is kept until then. So whenever a shipper ends, or the power
//!     fails, the file names the snapshot that the log is at: a shipper that begins later goes on
//!     from there, and a file that does not name it, as an older copy does not, is refused.
//! T2. What is shipped is what changed since the snapshot that the log is at, and that one was
//!     pinned, by its name, from then on. So a follower finds room for it beside what its readers
//!     see (H2 of `changes` in the engine).
//! T3. Nothing is shipped where only the names of snapshots have changed.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use huon::{Capture, Durability, Env, SnapshotName};

use crate::cipher::{hex, random};
use crate::error::{Error, Result};
use crate::log::Lane;
use crate::object::{self, Head, Kind, digest_of};
use crate::remote::{BaseEntry, Remote, base_part, digest_text, new_folder};
use crate::stream;

/// For how long the writer lock is waited for, before the shipper looks again.
const WRITER_PATIENCE: Duration = Duration::from_secs(1);

/// What was shipped by one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shipped {
    /// All commits up to this one are in the log.
    pub(crate) id: u64,
    /// Bytes that were sent.
    pub(crate) bytes: u64,
    /// Whether there was a segment to make.
    pub(crate) is_new: bool,
}

/// A shipper at its place in the log.
pub(crate) struct Pump {
    remote: Arc<Remote>,
    env: Env,
    lane: Lane,
    /// The snapshot that the log is at.
    last: Capture,
    /// Which of its two names has the snapshot that the log is at.
    slot: usize,
    stop: Arc<AtomicBool>,
}

impl Pump {
    /// Takes the log over and finds the place where it is in the file, or begins a new log.
    pub(crate) fn start(
        remote: Arc<Remote>,
        env: &Env,
        rebase: bool,
        stop: Arc<AtomicBool>,
    ) -> Result<Pump> {
        let shipper = random();
        let state = remote.before(remote.end_of_log()?)?.0;
        // Refused before another shipper is fenced off for nothing.
        let mut found = place_of(&remote, env, state, rebase)?;
        let lane = Lane::take(&remote, shipper, &whereabouts())?;
        if lane.state != state {
            found = place_of(&remote, env, lane.state, rebase)?;
        }
        let is_new = found.is_none();
        let last = match found {
            Some(capture) => capture,
            None => durable_capture(env)?,
        };
        let mut pump = Pump { remote, env: env.clone(), lane, last, slot: 0, stop };
        pump.name(0, &pump.last)?;
        pump.forget_names(&|name| name != pump.slot_name(0))?;
        if is_new {
            pump.begin_log()?;
        }
        Ok(pump)
    }

    /// T1, T2: the next segment, of all that is committed by now.
    pub(crate) fn step(&mut self) -> Result<Shipped> {
        let capture = durable_capture(&self.env)?;
        let id = capture.id();
        if id == self.last.id() || !self.has_changed(&capture)? {
            return Ok(Shipped { id, bytes: 0, is_new: false });
        }
        let slot = 1 - self.slot;
        self.name(slot, &capture)?;
        let bytes = self.append_segment(&capture)?;
        (self.last, self.slot) = (capture, slot);
        Ok(Shipped { id, bytes, is_new: true })
    }

    /// Where the log is.
    pub(crate) fn at(&self) -> (u64, SnapshotName) {
        (self.lane.n, self.last.image().name())
    }

    /// T3.
    fn has_changed(&self, capture: &Capture) -> Result<bool> {
        let mut seen = |_: &huon::Difference<'_>| ControlFlow::Break(());
        Ok(!capture.txn().difference(self.last.txn(), &mut seen)?)
    }

    fn append_segment(&mut self, capture: &Capture) -> Result<u64> {
        let (from, to) = (self.last.image().name(), capture.image().name());
        let Pump { remote, lane, stop, .. } = self;
        let (mut part, mut sent) = (0, 0);
        stream::cut(capture, Some(from), &mut |piece, is_last| {
            let head = Head {
                part,
                is_last,
                from: Some(from),
                to: Some(to),
                ..lane.head_of(remote, Kind::Segment)
            };
            let record = object::of_piece(head, piece, remote.level, &remote.cipher)?;
            lane.append(remote, &record, Some(if is_last { to } else { from }), stop)?;
            part += 1;
            sent += record.len() as u64;
            Ok(())
        })?;
        Ok(sent)
    }

    /// A base of the snapshot, and the record that says that the log is at it.
    fn begin_log(&mut self) -> Result<()> {
        let to = self.last.image().name();
        let head = self.lane.head_of(&self.remote, Kind::Start);
        self.remote.add_base(&self.last, &head, &self.stop)?;
        let record = object::plain(Head { to: Some(to), ..head }, b"");
        self.lane.append(&self.remote, &record, Some(to), &self.stop)
    }

    /// T1: names a snapshot in the file.
    fn name(&self, slot: usize, capture: &Capture) -> Result<()> {
        let mut txn = self.env.write_within(WRITER_PATIENCE)?;
        txn.name_snapshot(&self.slot_name(slot), capture)?;
        txn.commit_with(Durability::Durable)?;
        Ok(())
    }

    /// Takes the names away that this shipper keeps in the file: another one goes on.
    pub(crate) fn leave(&self) -> Result<()> {
        self.forget_names(&|name| name == self.slot_name(0) || name == self.slot_name(1))
    }

    /// Takes away names that shippers have given for this prefix.
    fn forget_names(&self, which: &dyn Fn(&str) -> bool) -> Result<()> {
        let all = prefix_of_names(&self.remote);
        let named = self.env.named_snapshots()?;
        let names = named.iter().map(|named| &named.name);
        let gone: Vec<_> = names.filter(|name| name.starts_with(&all) && which(name)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let mut txn = self.env.write_within(WRITER_PATIENCE)?;
        for name in gone {
            txn.drop_snapshot(name)?;
        }
        txn.commit_with(Durability::Lazy)?;
        Ok(())
    }

    /// One of the names that this shipper gives in turns.
    fn slot_name(&self, slot: usize) -> String {
        let shipper = hex(&self.lane.shipper[..4]);
        format!("{}{shipper} {slot}", prefix_of_names(&self.remote))
    }
}

/// Where a shipper runs, for those that find its takeover.
fn whereabouts() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("process {} on {}", std::process::id(), host.trim())
}

/// T1: gives the snapshot that the log is at a name in a file that has followed it, so that a
/// shipper of this file finds its place.
pub(crate) fn name_of_promoted(remote: &Remote, env: &Env, capture: &Capture) -> Result<()> {
    let mut txn = env.write()?;
    txn.name_snapshot(&format!("{}promoted", prefix_of_names(remote)), capture)?;
    txn.commit_with(Durability::Durable)?;
    Ok(())
}

fn prefix_of_names(remote: &Remote) -> String {
    format!("huon-ship {} ", remote.id)
}

/// The newest snapshot, once it is durable.
fn durable_capture(env: &Env) -> Result<Capture> {
    loop {
        let capture = env.capture()?;
        if capture.is_durable() {
            return Ok(capture);
        }
        env.sync()?;
    }
}

/// The snapshot that the log is at, in this file. `None`: a new log is to begin.
fn place_of(
    remote: &Remote,
    env: &Env,
    state: Option<SnapshotName>,
    rebase: bool,
) -> Result<Option<Capture>> {
    let Some(state) = state else { return Ok(None) };
    for named in env.named_snapshots()? {
        let is_ours = named.name.starts_with(&prefix_of_names(remote));
        if is_ours && named.snapshot == state {
            let capture = env.named_snapshot(&named.name)?;
            if capture.as_ref().is_some_and(|capture| capture.image().name() == state) {
                return Ok(capture);
            }
        }
    }
    let newest = durable_capture(env)?;
    if newest.image().name() == state {
        return Ok(Some(newest));
    }
    if rebase {
        return Ok(None);
    }
    let text = format!(
        "the log is at snapshot {state}, which this file does not know: it is at {}. Restore or \
         follow the log to go on from there, or begin the log anew from this file",
        newest.image().name()
    );
    Err(Error::Diverged(text))
}

impl Remote {
    /// Puts a whole snapshot into the bucket, as the state of a record, and lists it, unless one of
    /// this snapshot is listed by now.
    pub(crate) fn add_base(
        &self,
        capture: &Capture,
        record: &Head,
        stop: &AtomicBool,
    ) -> Result<()> {
        let to = capture.image().name();
        let folder = new_folder(record.n, to.id);
        let (mut part, mut bytes, mut before) = (0, 0, [0; 32]);
        stream::cut(capture, None, &mut |piece, is_last| {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Ended("it was stopped".into()));
            }
            let head = Head {
                kind: Kind::Base,
                part,
                is_last,
                from: None,
                to: Some(to),
                before,
                ..*record
            };
            let object = object::of_piece(head, piece, self.level, &self.cipher)?;
            // That it is there is the answer to a request whose first answer was lost.
            self.raw.make(&base_part(&folder, part), &object)?;
            before = digest_of(&object);
            part += 1;
            bytes += object.len() as u64;
            Ok(())
        })?;
        let entry = BaseEntry {
            n: record.n,
            id: to.id,
            checksum: to.checksum,
            millis: record.millis,
            parts: part,
            bytes,
            digest: digest_text(&before),
            folder,
        };
        self.edit_floor(&mut |floor| {
            // Another collection may have been faster, and may have deleted the parts, too.
            let is_listed = floor.bases.iter().any(|base| base.is(entry.n, to));
            if !is_listed && entry.n >= floor.lowest {
                floor.bases.push(entry.clone());
            }
            Ok(())
        })
    }
}

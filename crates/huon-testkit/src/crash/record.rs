//! What a script leaves behind: every change of the file, every state it committed, and the lock
//! file at every point between the steps of the engine.
//!
//! 1. A moment is a number of events: at moment `n` the first `n` events have happened.
//! 2. A state may show from the first event after its commit began. It must show after a kill once
//!    it is sealed, and after a power loss once it was acknowledged as durable.
//! 3. All of a record is made by one thread.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use huon::Geometry;
use huon::sim::{Event, Point, SimDisk, on_points};

use super::canvas::{File, Piece};
use super::script::Setup;
use crate::model::Model;
use crate::support::random::digest_words;

/// What a commit made.
#[derive(Clone)]
pub(super) struct State {
    /// What the snapshot itself says which state it is.
    pub(super) number: u32,
    pub(super) model: Model,
    /// The limits of the file's length.
    pub(super) geometry: Option<Geometry>,
    pub(super) txnid: u64,
    /// The moment when its commit began; `None`: before everything that was recorded.
    pub(super) begun: Option<usize>,
    /// The moment from which no power loss may take it away.
    pub(super) durable: Option<usize>,
    /// The moment from which it must not show any more: another time has begun without it.
    pub(super) gone: Option<usize>,
}

/// The end of all processes at some point.
#[derive(Clone)]
pub(super) struct Kill {
    pub(super) at: usize,
    pub(super) point: &'static str,
    pub(super) lock: LockImage,
    /// The newest sealed state, and the newest one acknowledged as durable.
    pub(super) state: usize,
    /// The newest that may show in its stead.
    pub(super) newest: usize,
    pub(super) durable: usize,
}

/// A moment, and how much of a record was made by then.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: usize,
    pub(super) kills: usize,
    pub(super) sealed: usize,
    pub(super) durable: usize,
}

/// The words of a lock file, in chunks shared with the images before it.
#[derive(Clone)]
pub(super) struct LockImage {
    chunks: Vec<Chunk>,
    pub(super) digest: u64,
}

#[derive(Clone)]
struct Chunk {
    words: Arc<[u64]>,
    digest: u64,
}

const CHUNK_WORDS: usize = 512;

impl LockImage {
    fn of(words: &[u64], before: Option<&LockImage>) -> LockImage {
        let old = before.map(|image| &image.chunks[..]).unwrap_or_default();
        let chunk = |(i, chunk): (usize, &[u64])| match old.get(i) {
            Some(old) if *old.words == *chunk => old.clone(),
            _ => Chunk { words: chunk.into(), digest: digest_words(chunk) },
        };
        let chunks: Vec<Chunk> = words.chunks(CHUNK_WORDS).enumerate().map(chunk).collect();
        let digests: Vec<u64> = chunks.iter().map(|chunk| chunk.digest).collect();
        LockImage { chunks, digest: digest_words(&digests) }
    }

    /// All words, into `out`.
    pub(super) fn words(&self, out: &mut Vec<u64>) {
        out.clear();
        self.chunks.iter().for_each(|chunk| out.extend_from_slice(&chunk.words));
    }
}

/// A script's record while it is being made.
#[derive(Default)]
pub(super) struct Record {
    /// Events of machines that came to their end.
    pub(super) before: Vec<Event>,
    pub(super) states: Vec<State>,
    pub(super) kills: Vec<Kill>,
    /// When each transaction wrote: from its beginning until it was sealed or given up.
    pub(super) spans: Vec<Range<usize>>,
    /// The newest sealed state.
    pub(super) sealed: usize,
    /// The state that is being committed, until it is sealed.
    pub(super) committing: Option<usize>,
    /// The state that a switch makes the newest, until its meta is written.
    pub(super) switching: Option<usize>,
    /// When the running transaction began.
    pub(super) running: Option<usize>,
    /// What a lossy machine's disk held at each point, if wanted.
    pub(super) disks: Option<Vec<Held>>,
}

/// What a power loss leaves of a lossy machine.
pub(super) struct Held {
    at: usize,
    pub(super) point: &'static str,
    pub(super) image: Vec<u8>,
    pub(super) journal: Vec<u8>,
    /// The newest state acknowledged as durable.
    pub(super) durable: usize,
}

impl Record {
    /// States up to `state` must survive a power loss from moment `now` on.
    pub(super) fn acknowledge(&mut self, state: usize, now: usize) {
        for state in &mut self.states[..=state] {
            state.durable.get_or_insert(now);
        }
    }

    /// The running transaction, if there is one, has ended.
    pub(super) fn end_span(&mut self, now: usize) {
        if let Some(begin) = self.running.take().filter(|begin| *begin < now) {
            self.spans.push(begin..now);
        }
    }

    /// What the next state says of itself: a number that none has had.
    pub(super) fn next_number(&self) -> u32 {
        self.states.iter().map(|state| state.number + 1).max().unwrap_or(0)
    }

    /// The newest state acknowledged as durable.
    fn durable(&self) -> usize {
        self.states.iter().rposition(|state| state.durable.is_some()).unwrap_or(0)
    }

    /// What is true now, when `at` events have happened.
    pub(super) fn moment(&self, at: usize) -> Moment {
        Moment { at, kills: self.kills.len(), sealed: self.sealed, durable: self.durable() }
    }

    /// Forgets all that happened after a moment.
    pub(super) fn rewind(&mut self, to: Moment) {
        self.states.truncate(to.sealed + 1);
        self.states[to.durable + 1..].iter_mut().for_each(|state| state.durable = None);
        self.kills.truncate(to.kills);
        self.spans.retain(|span| span.end <= to.at);
        self.end_span(to.at);
        self.sealed = to.sealed;
        (self.committing, self.switching) = (None, None);
    }

    fn note(&mut self, disk: &SimDisk, point: Point) {
        let now = self.before.len() + disk.event_count();
        match point {
            // Readers only touch their slots.
            Point::SlotClaimed | Point::Pinned => return,
            Point::Begun => self.running = Some(now),
            Point::Sealed => {
                // A repair seals, too, and makes no new state.
                if let Some(state) = self.committing.take() {
                    self.sealed = state;
                    self.end_span(now);
                }
            }
            // A switch leaves the lock file alone, which names what came before; so the meta
            // counts as soon as it is there.
            Point::MetaWritten => {
                if let Some(state) = self.switching.take() {
                    self.sealed = state;
                }
            }
            // What the opening did not choose can come back until the repair is on the disk.
            Point::RepairFlushed => {
                for state in &mut self.states[self.sealed + 1..] {
                    state.gone.get_or_insert(now);
                }
            }
            _ => {}
        }
        self.note_kill(disk, point.name());
        self.note_disk(disk, point.name());
    }

    /// Notes what a power loss would leave of the disk now, unless nothing has happened since it
    /// was noted last.
    fn note_disk(&mut self, disk: &SimDisk, point: &'static str) {
        let (at, durable) = (self.before.len() + disk.event_count(), self.durable());
        let Some(disks) = &mut self.disks else { return };
        if disks.last().is_some_and(|last| (last.at, last.durable) == (at, durable)) {
            return;
        }
        let random = &mut crate::support::random::Random::new(disks.len() as u64);
        for keeps in [0, 100, 50] {
            let image = disk.disk_image(|_| random.chance(keeps));
            disks.push(Held { at, point, image, journal: disk.journal_image(), durable });
        }
    }

    /// Notes what a kill would leave now.
    pub(super) fn note_kill(&mut self, disk: &SimDisk, point: &'static str) {
        let at = self.before.len() + disk.event_count();
        let lock = LockImage::of(&disk.lock_image(), self.kills.last().map(|kill| &kill.lock));
        let (state, newest, durable) = (self.sealed, self.undecided(), self.durable());
        self.kills.push(Kill { at, point, lock, state, newest, durable });
    }

    /// The newest state that the next opening may choose. The pages that a replay writes may make a
    /// newer meta whole, which was rejected before it: until the repair, which the same opening
    /// makes, nothing is decided, and no client sees anything.
    fn undecided(&self) -> usize {
        let newer = &self.states[self.sealed + 1..];
        let may_come_back = |state: &State| state.begun.is_none() && state.gone.is_none();
        self.sealed + newer.iter().take_while(|state| may_come_back(state)).count()
    }
}

/// What is to happen at a point, once.
type Ambush = (Point, Box<dyn FnOnce()>);

struct Recorder {
    disk: SimDisk,
    record: Rc<RefCell<Record>>,
    ambush: Option<Ambush>,
}

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

/// Records what this thread does to `disk` from now on, in place of what it recorded before.
pub(super) fn start(disk: &SimDisk, record: &Rc<RefCell<Record>>) {
    on_points(came_to);
    let recorder = Recorder { disk: disk.clone(), record: record.clone(), ambush: None };
    RECORDER.set(Some(recorder));
}

/// Records nothing any more.
pub(super) fn stop() {
    RECORDER.set(None);
}

/// Calls `act` when this thread comes to `point` next.
pub(super) fn lie_in_wait(point: Point, act: impl FnOnce() + 'static) {
    RECORDER.with_borrow_mut(|recorder| {
        let recorder = recorder.as_mut().expect("a script is being recorded");
        recorder.ambush = Some((point, Box::new(act)));
    });
}

/// Whether the last ambush is still waiting; it is called off.
pub(super) fn call_off() -> bool {
    RECORDER.with_borrow_mut(|recorder| {
        recorder.as_mut().is_some_and(|recorder| recorder.ambush.take().is_some())
    })
}

/// Whether the last ambush is still waiting.
pub(super) fn is_waiting() -> bool {
    RECORDER.with_borrow(|recorder| recorder.as_ref().is_some_and(|it| it.ambush.is_some()))
}

fn came_to(point: Point) {
    let ambush = RECORDER.with_borrow_mut(|recorder| {
        let recorder = recorder.as_mut()?;
        recorder.record.borrow_mut().note(&recorder.disk, point);
        recorder.ambush.take_if(|(place, _)| *place == point)
    });
    if let Some((_, act)) = ambush {
        act();
    }
}

/// A finished record.
pub(super) struct Trace {
    pub(super) setup: Setup,
    /// The machine that it happened on, for others like it; its boot is that of the script.
    pub(super) machine: SimDisk,
    /// The file before the first event, all of it on the disk.
    pub(super) first: Arc<[u8]>,
    /// The same of the journal; empty if there was none.
    pub(super) first_journal: Vec<u8>,
    pub(super) events: Vec<Event>,
    pub(super) states: Vec<State>,
    pub(super) kills: Vec<Kill>,
    pub(super) spans: Vec<Range<usize>>,
    /// Images are made of moments from here on only.
    pub(super) from: usize,
}

/// What happened between two flushes that ended, of either file, without the flush.
pub(super) struct Epoch {
    pub(super) events: Range<usize>,
    /// From which event on the disk may lack what was done to the data file, and to the journal.
    data: usize,
    journal: usize,
}

impl Epoch {
    /// The first event that the disk may lack anything of.
    pub(super) fn first(&self) -> usize {
        self.data.min(self.journal)
    }

    /// Whether the disk may lack what an event did to a file.
    pub(super) fn may_lack(&self, event: usize, file: File) -> bool {
        event >= if file == File::Data { self.data } else { self.journal }
    }
}

impl Trace {
    /// The oldest state that a power loss at this moment may leave.
    pub(super) fn oldest(&self, at: usize) -> usize {
        let durable = |state: &State| state.durable.is_some_and(|durable| durable <= at);
        self.states.iter().rposition(durable).unwrap_or(0)
    }

    /// The newest state that can show in an image of events before this moment.
    pub(super) fn newest(&self, upto: usize) -> usize {
        let began = |state: &State| state.begun.is_none_or(|begun| begun < upto);
        self.states.iter().rposition(began).unwrap_or(0)
    }

    /// All epochs, in order.
    pub(super) fn epochs(&self) -> impl Iterator<Item = Epoch> + '_ {
        let (mut start, mut data, mut journal) = (0, 0, 0);
        let ends =
            |e: &Event| matches!(e, Event::Sync | Event::JournalSync | Event::JournalMade { .. });
        std::iter::from_fn(move || {
            let begin = (start <= self.events.len()).then_some(start)?;
            let rest = &self.events[begin..];
            let length = rest.iter().position(ends).unwrap_or(rest.len());
            start = begin + length + 1;
            let epoch = Epoch { events: begin..begin + length, data, journal };
            match rest.get(length) {
                Some(Event::Sync) => data = start,
                _ => journal = start,
            }
            Some(epoch)
        })
    }

    /// All that the disk may lack at moment `at` of an epoch, by event.
    pub(super) fn pending(
        &self,
        epoch: &Epoch,
        at: usize,
    ) -> impl Iterator<Item = (usize, Piece<'_>)> {
        let first = epoch.first();
        let numbered = (first..).zip(&self.events[first..at]);
        let pieces = numbered.filter_map(|(number, event)| Some((number, Piece::whole(event)?)));
        pieces.filter(|(number, piece)| epoch.may_lack(*number, piece.file()))
    }

    /// Whether a state, though old enough, belongs to a time that had been given up by then.
    pub(super) fn is_gone(&self, state: usize, at: usize) -> bool {
        self.states[state].gone.is_some_and(|gone| gone <= at)
    }

    /// The state that a snapshot calls itself, none newer than `newest`: after a switch there is
    /// one more that calls itself so.
    pub(super) fn numbered(&self, number: u32, newest: usize) -> Option<usize> {
        let may_show = &self.states[..=newest.min(self.states.len() - 1)];
        let among = |states: &[State]| states.iter().rposition(|state| state.number == number);
        among(may_show).or_else(|| among(&self.states))
    }
}

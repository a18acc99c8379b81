//! Detached scans: several at once, of tables and of multimaps, beside changes and across
//! transactions.

use std::ops::Bound;

use huon::{Bytes, Cursor, Error, MultiCursor, Txn};

use crate::history::multimap;
use crate::history::program::{Goal, Op, SCANS};
use crate::history::reads;
use crate::history::{Counts, History, Step, Stop, fail};
use crate::model::pairs::{Among, Pairs};
use crate::model::{self, Model, Record, Records, TableId};

/// Where a scan of a table stands, in sort keys: always between two records.
#[derive(Clone, Debug)]
enum Gap {
    Start,
    End,
    Before(Vec<u8>),
    After(Vec<u8>),
}

/// Where a scan of a multimap stands: always between two pairs.
#[derive(Clone, Debug)]
enum PairGap {
    Start,
    End,
    At(Vec<u8>, Among),
}

enum Walker {
    Plain(Cursor<Bytes, Bytes>, Gap),
    Multi(MultiCursor<Bytes, Bytes>, PairGap),
}

/// The detached scans of all clients, each at its place.
#[derive(Default)]
pub(crate) struct Scans([Option<ScanState>; SCANS as usize]);

/// A detached scan and where it should stand.
struct ScanState {
    client: usize,
    id: TableId,
    walker: Walker,
}

impl Gap {
    /// The next record in a direction, and the gap beyond it.
    fn step<'r>(&self, records: &'r Records, back: bool) -> (Option<&'r Record>, Gap) {
        use Bound::{Excluded, Included, Unbounded};
        let mut range = match (self, back) {
            (Gap::Start, false) | (Gap::End, true) => records.between(Unbounded, Unbounded),
            (Gap::Start, true) => return (None, Gap::Start),
            (Gap::End, false) => return (None, Gap::End),
            (Gap::Before(key), false) => records.between(Included(key.clone()), Unbounded),
            (Gap::Before(key), true) => records.between(Unbounded, Excluded(key.clone())),
            (Gap::After(key), false) => records.between(Excluded(key.clone()), Unbounded),
            (Gap::After(key), true) => records.between(Unbounded, Included(key.clone())),
        };
        match if back { range.next_back() } else { range.next() } {
            Some((key, record)) if back => (Some(record), Gap::Before(key.clone())),
            Some((key, record)) => (Some(record), Gap::After(key.clone())),
            None => (None, self.clone()),
        }
    }
}

impl PairGap {
    /// The next pair in a direction, and the gap beyond it.
    fn step<'p>(&self, pairs: &'p Pairs, back: bool) -> (Option<&'p Record>, PairGap) {
        let next = match self {
            PairGap::Start => (!back).then(|| pairs.extreme(false)).flatten(),
            PairGap::End => back.then(|| pairs.extreme(true)).flatten(),
            PairGap::At(key, among) => pairs.beside(key, among, back),
        };
        match next {
            Some((key, value, pair)) => {
                let among = if back { Among::Before } else { Among::After };
                (Some(pair), PairGap::At(key.clone(), among(value.clone())))
            }
            None => (None, self.clone()),
        }
    }
}

impl Walker {
    fn open<T: Txn>(txn: &T, id: TableId, model: &Model) -> Result<Option<Walker>, Stop> {
        Ok(match id.values() {
            None => reads::open(txn, id, model)?
                .map(|(table, _)| Walker::Plain(table.cursor(), Gap::Start)),
            Some(_) => multimap::open(txn, id, model)?
                .map(|(multi, _)| Walker::Multi(multi.cursor(), PairGap::Start)),
        })
    }
}

impl ScanState {
    fn aim(&mut self, goal: &Goal) -> huon::Result<()> {
        let keys = self.id.order();
        match &mut self.walker {
            Walker::Plain(scan, gap) => match goal {
                Goal::Start => (*gap, ()) = (Gap::Start, scan.to_start()),
                Goal::End => (*gap, ()) = (Gap::End, scan.to_end()),
                Goal::Before(key) | Goal::BeforePair(key, _) => {
                    (*gap, ()) = (Gap::Before(keys.sort_key(key)), scan.seek(key)?);
                }
                Goal::After(key) | Goal::AfterPair(key, _) => {
                    (*gap, ()) = (Gap::After(keys.sort_key(key)), scan.seek_after(key)?);
                }
                Goal::SkipKey | Goal::SkipKeyBack => {}
            },
            Walker::Multi(scan, gap) => {
                let values = self.id.values().expect("a multimap").order;
                let at = |key: &Vec<u8>, among| PairGap::At(keys.sort_key(key), among);
                match goal {
                    Goal::Start => (*gap, ()) = (PairGap::Start, scan.to_start()),
                    Goal::End => (*gap, ()) = (PairGap::End, scan.to_end()),
                    Goal::Before(key) => (*gap, ()) = (at(key, Among::Start), scan.seek(key)?),
                    Goal::After(key) => (*gap, ()) = (at(key, Among::End), scan.seek_after(key)?),
                    Goal::BeforePair(key, value) => {
                        scan.seek_pair(key, value)?;
                        *gap = at(key, Among::Before(values.sort_key(value)));
                    }
                    Goal::AfterPair(key, value) => {
                        scan.seek_after_pair(key, value)?;
                        *gap = at(key, Among::After(values.sort_key(value)));
                    }
                    Goal::SkipKey => skip(gap, Among::End, || scan.skip_key()),
                    Goal::SkipKeyBack => skip(gap, Among::Start, || scan.skip_key_back()),
                }
            }
        }
        Ok(())
    }

    /// One step on both sides; `None`: the table is not there.
    fn step<T: Txn>(&mut self, txn: &T, model: &Model, back: bool) -> Result<Option<()>, Stop> {
        let what = self.to_string();
        match (&mut self.walker, model.table(self.id), model.multi(self.id)) {
            (Walker::Plain(scan, gap), Some(records), _) => {
                let found = if back { scan.prev(txn) } else { scan.next(txn) };
                let (expected, next) = gap.step(records, back);
                model::same(found?, expected, &what)?;
                *gap = next;
            }
            (Walker::Multi(scan, gap), _, Some(pairs)) => {
                let found = if back { scan.prev(txn) } else { scan.next(txn) };
                let (expected, next) = gap.step(pairs, back);
                model::same(found?, expected, &what)?;
                *gap = next;
            }
            (walker, ..) => {
                let found = match walker {
                    Walker::Plain(scan, _) => scan.next(txn).map(|found| found.is_some()),
                    Walker::Multi(scan, _) => scan.next(txn).map(|found| found.is_some()),
                };
                return match found {
                    Err(Error::TableNotFound) => Ok(None),
                    Err(Error::NameTaken) if model.hides(self.id) => Ok(None),
                    Err(error) => Err(fail(error)),
                    Ok(_) => Err(Stop::Fail(format!("{what} found something in no table"))),
                };
            }
        }
        Ok(Some(()))
    }

    /// Asks whether the scan stands at an end, which moves nothing.
    fn ask_ends<T: Txn>(&self, txn: &T, model: &Model) -> Step {
        let (found, expected) = match (&self.walker, model.table(self.id), model.multi(self.id)) {
            (Walker::Plain(scan, gap), Some(records), _) => (
                (scan.clone().prev(txn)?.is_none(), scan.clone().next(txn)?.is_none()),
                [true, false].map(|back| gap.step(records, back).0.is_none()),
            ),
            (Walker::Multi(scan, gap), _, Some(pairs)) => (
                (scan.clone().prev(txn)?.is_none(), scan.clone().next(txn)?.is_none()),
                [true, false].map(|back| gap.step(pairs, back).0.is_none()),
            ),
            _ => return Ok(()),
        };
        if found == expected.into() {
            Ok(())
        } else {
            Err(Stop::Fail(format!("{self} is at the ends: {found:?}, not {expected:?}")))
        }
    }
}

impl std::fmt::Display for ScanState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.walker {
            Walker::Plain(_, gap) => write!(f, "a scan of {:?} at {gap:?}", self.id),
            Walker::Multi(_, gap) => write!(f, "a scan of {:?} at {gap:?}", self.id),
        }
    }
}

/// Skips the rest of a key, which only means something at a pair.
fn skip(gap: &mut PairGap, among: Among, act: impl FnOnce()) {
    act();
    if let PairGap::At(key, Among::Before(_) | Among::After(_)) = gap {
        *gap = PairGap::At(std::mem::take(key), among);
    }
}

impl Scans {
    /// A client ends, and its scans with it.
    pub(crate) fn end_of(&mut self, client: usize) {
        for scan in &mut self.0 {
            scan.take_if(|scan| scan.client == client);
        }
    }

    fn client_of(&self, at: usize) -> Option<usize> {
        self.0[at].as_ref().map(|scan| scan.client)
    }

    fn aim(&mut self, at: usize, goal: &Goal, counts: &mut Counts) -> Step {
        if let Some(scan) = &mut self.0[at] {
            scan.aim(goal)?;
            counts.add("scan move", 1);
        }
        Ok(())
    }

    fn step<T: Txn>(
        &mut self,
        at: usize,
        (txn, model): (&T, &Model),
        (back, steps): (bool, u8),
        counts: &mut Counts,
    ) -> Step {
        let Some(scan) = &mut self.0[at] else { return Ok(()) };
        for _ in 0..steps {
            if scan.step(txn, model, back)?.is_none() {
                return Ok(());
            }
        }
        scan.ask_ends(txn, model)?;
        let what = match (&scan.walker, back) {
            (Walker::Plain(..), false) => "scan forward",
            (Walker::Plain(..), true) => "scan back",
            (Walker::Multi(..), false) => "pair scan forward",
            (Walker::Multi(..), true) => "pair scan back",
        };
        let id = scan.id;
        let beside = self.0.iter().flatten().filter(|other| other.id == id).count();
        counts.add(what, u64::from(steps));
        counts.add("three scans of a table", u64::from(beside >= 3));
        Ok(())
    }
}

impl History {
    /// Performs an operation of a scan; others are passed over.
    pub(crate) fn scan<T: Txn>(&mut self, op: &Op, txn: &T, model: &Model) -> Step {
        match op {
            Op::ScanOpen { scan, table: id } => {
                if let Some(walker) = Walker::open(txn, *id, model)? {
                    let state = ScanState { client: self.client, id: *id, walker };
                    self.scans.0[usize::from(*scan)] = Some(state);
                    self.counts.add("scan open", 1);
                }
            }
            Op::ScanMove { scan, goal } => {
                self.scans.aim(usize::from(*scan), goal, &mut self.counts)?;
            }
            Op::ScanStep { scan, back, steps, reader } => {
                let (at, way) = (usize::from(*scan), (*back, *steps));
                let client = self.scans.client_of(at);
                if *reader {
                    if let Some(live) = client.and_then(|client| self.readers.live_of(client)) {
                        self.scans.step(at, live, way, &mut self.counts)?;
                        self.counts.add("scan by reader", 1);
                    }
                } else if client == Some(self.client) {
                    self.scans.step(at, (txn, model), way, &mut self.counts)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

//! A file with random transactions, and what a file that follows it is given: segments, each of
//! what changed from one snapshot to a later one.

use std::ops::ControlFlow;

use huon::sim::SimDisk;
use huon::{Capture, CompactOptions, Durability, Env, Image, ReadTxn, Replica, SnapshotName};

use crate::crash::Edit;
use crate::history::program::{self, Config, Op};
use crate::model::Model;
use crate::support::random::Random;

/// What changed from one snapshot to a later one.
pub struct Segment {
    /// The earlier one; `None`: all pages of the later one are here.
    pub from: Option<SnapshotName>,
    /// The image of the later one.
    pub image: Image,
    /// Number of the first page, and whole pages.
    pub pages: Vec<(u32, Vec<u8>)>,
}

impl Segment {
    /// What a capture has more than an earlier snapshot.
    ///
    /// # Panics
    /// If a page cannot be read.
    pub fn take(capture: &Capture, from: Option<SnapshotName>) -> Segment {
        let mut pages = Vec::new();
        let since = from.map_or(0, |from| from.id);
        let all = capture.changes(since, &mut |changed| {
            assert!(changed.birth > since && changed.birth <= capture.id(), "born between the two");
            pages.push((changed.pgno, changed.bytes.to_vec()));
            ControlFlow::Continue(())
        });
        assert!(all.expect("the source is whole"), "nothing stopped it");
        Segment { from, image: capture.image().clone(), pages }
    }

    /// How many pages it has.
    pub fn page_count(&self) -> usize {
        let page_bytes = self.image.page_bytes() as usize;
        self.pages.iter().map(|(_, bytes)| bytes.len() / page_bytes).sum()
    }

    /// Writes it into a replica.
    ///
    /// # Errors
    /// Those of the replica.
    pub fn apply(&self, replica: &mut Replica) -> huon::Result<u64> {
        let mut applying = replica.begin(self.from, &self.image)?;
        for (pgno, bytes) in &self.pages {
            applying.write(*pgno, bytes)?;
        }
        applying.publish()
    }
}

/// A snapshot of the source, and how to come to it from the one before.
pub struct Step {
    /// What changed.
    pub segment: Segment,
    /// What it shows.
    pub model: Model,
}

/// A file with random transactions, which is captured now and then.
pub struct Source {
    /// Its environment.
    pub env: Env,
    model: Model,
    page_bytes: usize,
    random: Random,
    ops: Vec<Op>,
    readers: Vec<ReadTxn>,
    last: Option<SnapshotName>,
    pin: Option<Capture>,
    /// Whether the capture before is kept until the next one is there.
    pub pins: bool,
}

impl Source {
    /// A new, empty one.
    ///
    /// # Panics
    /// If there is no memory for it.
    pub fn new(page_bytes: usize, seed: u64) -> Source {
        let disk = SimDisk::new(8 << 20).expect("a machine").quiet();
        let env = options(page_bytes).open_simulated(&disk).expect("a new environment");
        let random = Random::new(seed);
        Source {
            env,
            model: Model::default(),
            page_bytes,
            random,
            ops: Vec::new(),
            readers: Vec::new(),
            last: None,
            pin: None,
            pins: true,
        }
    }

    /// Some transactions, and then the next step.
    ///
    /// # Panics
    /// If the source fails.
    pub fn step(&mut self) -> Step {
        let before = self.env.read().expect("read").id();
        // Without pins much is to be written over.
        let mut wanted = if self.pins { 1 + self.random.below(4) } else { 12 };
        while wanted > 0 || self.env.read().expect("read").id() == before {
            self.transaction();
            wanted = wanted.saturating_sub(1);
        }
        if self.random.chance(10) {
            let options = CompactOptions::new().step_bytes(8 * self.page_bytes as u64);
            self.env.compact(options).expect("compact");
        }
        // Only what is durable at the source is given away.
        self.env.sync().expect("flush");
        let capture = self.env.capture().expect("a capture");
        assert!(capture.is_durable(), "it was flushed");
        let segment = Segment::take(&capture, self.last);
        self.last = Some(capture.image().name());
        // Not before the next one is there: see H2 of `ops/changes`.
        self.pin = Some(capture).filter(|_| self.pins);
        Step { segment, model: self.model.clone() }
    }

    fn transaction(&mut self) {
        let work = self.work();
        let mut txn = self.env.write().expect("begin");
        let (mut model, mut geometry) = (self.model.clone(), None);
        Edit::of(&mut txn, &mut model, &mut geometry, self.page_bytes).play(&work);
        let durability = self.random.pick(&[Durability::Lazy, Durability::Durable]);
        if self.random.chance(90) {
            txn.commit_with(durability).expect("commit");
            self.model = model;
        }
    }

    /// The operations of the next transaction. What stands between transactions is done at once.
    fn work(&mut self) -> Vec<Op> {
        loop {
            let Some(begin) = self.ops.iter().position(|op| matches!(op, Op::Begin { .. })) else {
                self.ops = self.more_ops();
                continue;
            };
            let between: Vec<Op> = self.ops.drain(..=begin).collect();
            between.iter().for_each(|op| self.between(op));
            let end = |op: &Op| matches!(op, Op::Commit { .. } | Op::Abort);
            let length = self.ops.iter().position(end).unwrap_or(self.ops.len());
            return self.ops.drain(..length).collect();
        }
    }

    fn more_ops(&mut self) -> Vec<Op> {
        let config = Config {
            page_bytes: self.page_bytes,
            write_buffer_bytes: 0,
            real: false,
            keys: self.random.pick(&[12, 40, 90]),
            shrink_bytes: 0,
            journal: false,
            ops_count: 150,
        };
        program::make(self.random.next(), config).ops
    }

    /// Readers of the source come and go.
    fn between(&mut self, op: &Op) {
        match op {
            Op::Pin { .. } if self.pins => self.readers.push(self.env.read().expect("a reader")),
            Op::Unpin { .. } => drop(self.readers.pop()),
            _ => {}
        }
    }
}

/// How the files of these tests are made: small steps of everything, and transactions that spill.
pub fn options(page_bytes: usize) -> huon::Options {
    let mut options = Env::options();
    options
        .page_bytes(page_bytes)
        .max_bytes(8 << 20)
        .grow_bytes(8 * page_bytes as u64)
        .shrink_bytes(16 * page_bytes as u64)
        .write_buffer_bytes(30 * page_bytes);
    options
}

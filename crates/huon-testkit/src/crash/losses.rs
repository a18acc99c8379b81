//! The images of a power loss, for tests that record and judge in a way of their own.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use huon::sim::{Event, SimDisk};

use super::images::{Caps, Images};
use super::reach::Reach;
use super::record::Trace;
use super::script::Setup;
use super::table::Level;
use crate::support::random::Random;

/// What happened to a file.
pub struct Losses {
    trace: Trace,
}

/// An image that a power loss may leave.
#[derive(Clone, Copy)]
pub struct Loss<'a> {
    /// How it was made.
    pub level: Level,
    /// The file.
    pub image: &'a [u8],
    /// The power was lost when so many events had happened.
    pub at: usize,
    /// Of events from this one on, the image holds nothing.
    pub upto: usize,
}

impl Losses {
    /// `first` was on the disk of `machine`, and then came the events. `spans`: those of each
    /// transaction, from its beginning until it was sealed.
    pub fn new(
        page_bytes: usize,
        machine: &SimDisk,
        first: Vec<u8>,
        events: Vec<Event>,
        spans: Vec<Range<usize>>,
    ) -> Losses {
        let trace = Trace {
            setup: Setup::small(page_bytes),
            machine: machine.clone(),
            first: Arc::from(first),
            first_journal: Vec::new(),
            events,
            states: Vec::new(),
            kills: Vec::new(),
            spans,
            from: 0,
        };
        Losses { trace }
    }

    /// Makes the images, and gives those to `take` that differ from the ones before in what a
    /// reader of the file can see, or in what they must show: `key` says that.
    pub fn each(
        &self,
        caps: Caps,
        seed: u64,
        key: impl Fn(&Loss<'_>) -> u64,
        take: &mut dyn FnMut(Loss<'_>),
    ) {
        let (mut reach, mut seen) = (Reach::default(), HashSet::new());
        Images::new(&self.trace, caps, Random::new(seed), &mut |shot| {
            let loss = Loss { level: shot.level, image: shot.image, at: shot.at, upto: shot.upto };
            if seen.insert((reach.digest(shot.image, None), shot.image.len(), key(&loss))) {
                take(loss);
            }
        })
        .make();
    }
}

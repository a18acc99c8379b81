//! The images that a power loss may leave, level by level.
//!
//! An *epoch* is what happened between two flushes. A power loss in it leaves all that was flushed
//! before, and any part of the epoch: of each write, any sectors; of each change of length, all or
//! nothing, or something between.

use std::ops::Range;

use huon::sim::Event;

use super::canvas::{Canvas, METAS_END, Piece, Unit, cut, units};
use super::record::Trace;
use super::table::Level;
use crate::support::random::Random;
use crate::support::trail::SECTOR_BYTES;

/// How many of what there is are made.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Epochs of so many units are made in all subsets.
    pub whole_units: usize,
    /// Subsets of each kind of a larger epoch: one left out, one alone, leads, rests.
    pub singles: usize,
    /// Pairs that are left out.
    pub pairs: usize,
    /// Random subsets.
    pub randoms: usize,
    /// Of the 256 ways to tear a meta, one in so many.
    pub tear_step: usize,
    /// Data pages that are torn, each in six ways, and borders of large writes.
    pub torn: usize,
    /// Moments of a running transaction, and subsets of its writes at each.
    pub moments: usize,
    /// See `moments`.
    pub late: usize,
}

impl Caps {
    /// All that a proof promises.
    pub const FULL: Caps = Caps {
        whole_units: 10,
        singles: 48,
        pairs: 200,
        randoms: 100,
        tear_step: 1,
        torn: 48,
        moments: 5,
        late: 50,
    };
    /// About a tenth of it.
    pub const TENTH: Caps = Caps {
        whole_units: 6,
        singles: 8,
        pairs: 12,
        randoms: 16,
        tear_step: 7,
        torn: 6,
        moments: 2,
        late: 10,
    };
    /// A few of each kind: for a crash during the recovery of another, and for a quick look.
    pub const FEW: Caps = Caps {
        whole_units: 4,
        singles: 6,
        pairs: 4,
        randoms: 12,
        tear_step: 19,
        torn: 3,
        moments: 1,
        late: 4,
    };
}

/// An image, and the moment that it belongs to.
pub(super) struct Shot<'a> {
    pub(super) level: Level,
    pub(super) image: &'a [u8],
    /// Moment of the power loss.
    pub(super) at: usize,
    /// Of what happened from here on, the image holds nothing.
    pub(super) upto: usize,
    /// It holds everything that happened before.
    pub(super) whole: bool,
}

/// What is in the new part of a file before anything was written there.
#[derive(Clone, Copy)]
enum Fresh {
    Zeros,
    Noise,
    /// What the disk once held there.
    Stale,
}

/// Makes the images of a trace, in an order that depends on the random numbers only.
pub(super) struct Images<'t, 's> {
    trace: &'t Trace,
    caps: Caps,
    canvas: Canvas,
    /// All that was ever written, at its place, and never cut off.
    ghost: Vec<u8>,
    random: Random,
    take: &'s mut dyn FnMut(Shot<'_>),
}

impl<'t, 's> Images<'t, 's> {
    pub(super) fn new(
        trace: &'t Trace,
        caps: Caps,
        random: Random,
        take: &'s mut dyn FnMut(Shot<'_>),
    ) -> Images<'t, 's> {
        let canvas = Canvas::new(&trace.first);
        Images { trace, caps, canvas, ghost: trace.first.to_vec(), random, take }
    }

    /// All images of all levels that a trace alone can give.
    pub(super) fn make(&mut self) {
        let trace = self.trace;
        for epoch in trace.epochs() {
            if epoch.end >= trace.from {
                self.prefixes(&epoch);
                self.subsets(&epoch);
                self.torn(&epoch);
                self.lengths(&epoch);
                self.late(&epoch);
            }
            for event in &trace.events[epoch] {
                self.remember(event);
                whole_pieces(event).into_iter().for_each(|piece| self.canvas.apply(piece));
            }
            self.canvas.settle();
        }
    }

    fn remember(&mut self, event: &Event) {
        if let Event::Write { offset, bytes } = event {
            let (start, end) = (*offset as usize, *offset as usize + bytes.len());
            if self.ghost.len() < end {
                self.ghost.resize(end, 0);
            }
            self.ghost[start..end].copy_from_slice(bytes);
        }
    }

    fn units(&self, range: &Range<usize>) -> Vec<Unit<'t>> {
        units(&self.trace.events[range.clone()], range.start, self.trace.setup.page_bytes)
    }

    /// Gives the canvas as it is, and clears it.
    fn shoot(&mut self, level: Level, at: usize, upto: usize) {
        let shot = Shot { level, image: self.canvas.image(), at, upto, whole: false };
        (self.take)(shot);
        self.canvas.undo();
    }

    /// The units that `keeps` says yes to, by their index.
    fn subset(
        &mut self,
        level: Level,
        epoch: &Range<usize>,
        units: &[Unit<'_>],
        mut keeps: impl FnMut(&mut Random, usize) -> bool,
    ) {
        let mut upto = epoch.start;
        for (i, unit) in units.iter().enumerate() {
            if keeps(&mut self.random, i) {
                self.canvas.apply(unit.piece);
                upto = unit.event + 1;
            }
        }
        self.shoot(level, epoch.end, upto);
    }

    // ---- L0

    fn prefixes(&mut self, epoch: &Range<usize>) {
        let events = &self.trace.events;
        for at in epoch.start.max(self.trace.from)..=epoch.end {
            let before = &events[epoch.start..at];
            for piece in before.iter().flat_map(whole_pieces) {
                self.canvas.apply(piece);
            }
            let image = self.canvas.image();
            (self.take)(Shot { level: Level::Prefix, image, at, upto: at, whole: true });
            self.canvas.undo();
        }
    }

    // ---- L1

    fn subsets(&mut self, epoch: &Range<usize>) {
        let level = Level::Subset;
        let units = &self.units(epoch)[..];
        let count = units.len();
        if count <= self.caps.whole_units {
            for bits in 0..1u32 << count {
                self.subset(level, epoch, units, |_, i| bits >> i & 1 == 1);
            }
            return;
        }
        for one in (0..count).step_by(count.div_ceil(self.caps.singles)) {
            self.subset(level, epoch, units, |_, i| i != one);
            self.subset(level, epoch, units, |_, i| i == one);
            self.subset(level, epoch, units, |_, i| i < one);
            self.subset(level, epoch, units, |_, i| i >= one);
        }
        self.subset(level, epoch, units, |_, i| units[i].is_meta());
        self.subset(level, epoch, units, |_, i| !units[i].is_meta());
        for _ in 0..self.caps.pairs {
            let pair = [self.random.index(count), self.random.index(count)];
            self.subset(level, epoch, units, |_, i| !pair.contains(&i));
        }
        for _ in 0..self.caps.randoms {
            let percent = self.random.pick(&[10, 50, 90, 97]);
            let meta = self.random.chance(70);
            self.subset(level, epoch, units, |random, i| {
                units[i].is_meta() && meta || random.chance(percent)
            });
        }
    }

    // ---- L2

    fn torn(&mut self, epoch: &Range<usize>) {
        let units = &self.units(epoch)[..];
        for (torn, unit) in units.iter().enumerate() {
            if unit.is_meta() {
                self.torn_meta(epoch.end, units, torn);
            }
        }
        let pages: Vec<usize> = (0..units.len()).filter(|&i| is_page(&units[i])).collect();
        for &torn in pages.iter().step_by(pages.len().div_ceil(self.caps.torn).max(1)) {
            for pattern in 0..6 {
                self.tear(epoch.end, units, &[(torn, pattern)], |_, _| true);
            }
        }
        for _ in 0..self.caps.torn.min(pages.len() * 4) {
            let two = [(); 2].map(|()| (self.random.pick(&pages), self.random.index(6)));
            let percent = self.random.pick(&[60, 100]);
            self.tear(epoch.end, units, &two, |random, _| random.chance(percent));
        }
        self.borders(epoch);
    }

    /// Every way to tear a meta into sectors, over what was there, over zeros and over ones.
    fn torn_meta(&mut self, at: usize, units: &[Unit<'_>], torn: usize) {
        let Piece::Write { at: start, bytes } = units[torn].piece else { return };
        let first = self.random.index(self.caps.tear_step);
        for bits in (first..256).step_by(self.caps.tear_step) {
            for (fill, others) in [(None, 100), (Some(0), 100), (Some(0xFF), 100), (None, 70)] {
                if others < 100 && bits % 16 != first % 16 {
                    continue;
                }
                for (i, unit) in units.iter().enumerate() {
                    if i != torn && self.random.chance(others) {
                        self.canvas.apply(unit.piece);
                    }
                }
                for (sector, part) in bytes.chunks(SECTOR_BYTES).enumerate() {
                    let place = start + sector * SECTOR_BYTES;
                    match fill {
                        _ if bits >> sector & 1 == 1 => self.canvas.write(place, part),
                        Some(byte) => self.canvas.fill(place..place + part.len(), byte),
                        None => {}
                    }
                }
                self.shoot(Level::Torn, at, at);
            }
        }
    }

    /// Some pages torn, each by a pattern of sectors, beside others.
    fn tear(
        &mut self,
        at: usize,
        units: &[Unit<'_>],
        torn: &[(usize, usize)],
        mut keeps: impl FnMut(&mut Random, usize) -> bool,
    ) {
        for (i, unit) in units.iter().enumerate() {
            let Some((_, pattern)) = torn.iter().find(|(page, _)| *page == i) else {
                if keeps(&mut self.random, i) {
                    self.canvas.apply(unit.piece);
                }
                continue;
            };
            let Piece::Write { at: start, bytes } = unit.piece else { continue };
            let count = bytes.len().div_ceil(SECTOR_BYTES);
            for (sector, piece) in cut(start, bytes, SECTOR_BYTES).enumerate() {
                let kept = match pattern {
                    0 => sector < count / 2,
                    1 => sector >= count / 2,
                    2 => sector % 2 == 0,
                    3 => sector % 2 == 1,
                    4 => sector == 0,
                    _ => sector + 1 < count,
                };
                if kept {
                    self.canvas.apply(piece);
                }
            }
        }
        self.shoot(Level::Torn, at, at);
    }

    /// Large writes broken off at each border of a page.
    fn borders(&mut self, epoch: &Range<usize>) {
        let page_bytes = self.trace.setup.page_bytes;
        let events = &self.trace.events;
        let all = self.units(epoch);
        for number in epoch.clone() {
            let Event::Write { offset, bytes } = &events[number] else { continue };
            let borders = bytes.len().saturating_sub(1) / page_bytes;
            if borders == 0 || (*offset as usize) < METAS_END {
                continue;
            }
            let stride = borders.div_ceil(self.caps.torn).max(1);
            for border in (1..=borders).step_by(stride) {
                let (lead, rest) = bytes.split_at(border * page_bytes);
                let at = *offset as usize;
                for (at, part) in [(at, lead), (at + lead.len(), rest)] {
                    for unit in all.iter().filter(|unit| unit.event != number) {
                        self.canvas.apply(unit.piece);
                    }
                    self.canvas.write(at, part);
                    self.shoot(Level::Torn, epoch.end, epoch.end);
                }
            }
        }
    }

    // ---- L3

    fn lengths(&mut self, epoch: &Range<usize>) {
        let units = &self.units(epoch)[..];
        let mut last = self.canvas.base().len();
        let mut lengths = vec![last];
        for unit in units {
            let (Piece::Grow { to } | Piece::Shrink { to }) = unit.piece else { continue };
            let from = last;
            last = to;
            let (low, high) = (from.min(to), from.max(to));
            let page_bytes = self.trace.setup.page_bytes;
            // Whole pages, and in the middle of one.
            let between = [low.midpoint(high), low + page_bytes, high - page_bytes, high - 100];
            lengths.extend(between.iter().filter(|length| (low..high).contains(length)));
            lengths.push(to);
        }
        if lengths.len() == 1 {
            return;
        }
        lengths.sort_unstable();
        lengths.dedup();
        for length in lengths {
            for fresh in [Fresh::Zeros, Fresh::Noise, Fresh::Stale] {
                for kept in 0..4 {
                    self.length(epoch.end, units, length, fresh, kept);
                }
            }
        }
    }

    fn length(&mut self, at: usize, units: &[Unit<'_>], length: usize, fresh: Fresh, kept: usize) {
        let old = self.canvas.base().len();
        self.canvas.apply(Piece::Shrink { to: length });
        self.canvas.grow(length);
        if length > old {
            match fresh {
                Fresh::Zeros => {}
                Fresh::Noise => self.canvas.fill(old..length, 0xA5),
                Fresh::Stale => {
                    let stale = self.ghost.get(old..length.min(self.ghost.len()));
                    let stale = stale.unwrap_or_default().to_vec();
                    self.canvas.write(old, &stale);
                }
            }
        }
        for unit in units {
            let keeps = match kept {
                0 => true,
                1 => unit.is_meta(),
                2 => !unit.is_meta(),
                _ => unit.is_meta() || self.random.chance(70),
            };
            if keeps && matches!(unit.piece, Piece::Write { .. }) {
                self.canvas.apply(unit.piece);
            }
        }
        self.shoot(Level::Length, at, at);
    }

    // ---- L4

    /// What a running transaction has written reached the disk before everything else.
    fn late(&mut self, epoch: &Range<usize>) {
        let trace = self.trace;
        for span in &trace.spans {
            let (start, end) = (span.start.max(epoch.start), span.end.min(epoch.end));
            if start >= end {
                continue;
            }
            let before = self.units(&(epoch.start..start));
            for moment in 0..self.caps.moments.min(end - start) {
                // The last moment is right before the seal.
                let at = end - (end - start) * moment / self.caps.moments.min(end - start);
                let own = self.units(&(start..at));
                for round in 0..self.caps.late {
                    let percent = [0, 100, 50][round % 3];
                    let own_percent = self.random.pick(&[100, 80, 50, 20]);
                    for (units, percent) in [(&before, percent), (&own, own_percent)] {
                        for unit in units {
                            let is_length = !matches!(unit.piece, Piece::Write { .. });
                            if is_length || self.random.chance(percent) {
                                self.canvas.apply(unit.piece);
                            }
                        }
                    }
                    // Its own state has not begun to be committed.
                    self.shoot(Level::Late, at, span.start);
                }
            }
        }
    }
}

/// Whether a write can be torn between sectors.
fn is_page(unit: &Unit<'_>) -> bool {
    matches!(unit.piece, Piece::Write { bytes, .. } if bytes.len() > SECTOR_BYTES)
        && !unit.is_meta()
}

fn whole_pieces(event: &Event) -> Option<Piece<'_>> {
    match event {
        Event::Write { offset, bytes } => Some(Piece::Write { at: *offset as usize, bytes }),
        Event::Grow { to, .. } => Some(Piece::Grow { to: *to as usize }),
        Event::Shrink { to, .. } => Some(Piece::Shrink { to: *to as usize }),
        Event::Sync | Event::SyncLost => None,
    }
}

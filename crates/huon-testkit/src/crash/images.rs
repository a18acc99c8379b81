//! The images that a power loss may leave, level by level.
//!
//! An *epoch* is what happened between two flushes. A power loss in it leaves all that was flushed
//! before, and any part of what was done since: of each write, any sectors; of each change of
//! length, all or nothing, or something between. With a journal there are two files, flushed each
//! on its own: what a file may lack then began before the epoch.

use std::ops::Range;

use huon::sim::Event;

use super::canvas::{Canvas, File, METAS_END, Piece, Unit, cut, units};
use super::record::{Epoch, Trace};
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
    /// The journal; empty if there is none.
    pub(super) journal: &'a [u8],
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
    journal: Canvas,
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
        let (canvas, journal) = (Canvas::new(&trace.first), Canvas::new(&trace.first_journal));
        Images { trace, caps, canvas, journal, ghost: trace.first.to_vec(), random, take }
    }

    /// All images of all levels that a trace alone can give.
    pub(super) fn make(&mut self) {
        let trace = self.trace;
        for epoch in trace.epochs() {
            if epoch.events.end >= trace.from {
                self.prefixes(&epoch);
                self.subsets(&epoch);
                self.torn(&epoch);
                self.lengths(&epoch);
                self.late(&epoch);
            }
            trace.events[epoch.events.clone()].iter().for_each(|event| self.remember(event));
            self.flush(&epoch);
        }
    }

    /// What the flush at the end of an epoch puts on the disk.
    fn flush(&mut self, epoch: &Epoch) {
        let trace = self.trace;
        let (file, canvas) = match trace.events.get(epoch.events.end) {
            Some(Event::Sync) => (File::Data, &mut self.canvas),
            Some(Event::JournalSync) => (File::Journal, &mut self.journal),
            Some(Event::JournalMade { bytes }) => {
                self.journal = Canvas::new(&vec![0; *bytes as usize]);
                return;
            }
            _ => return,
        };
        for (_, piece) in trace.pending(epoch, epoch.events.end) {
            if piece.file() == file {
                canvas.apply(piece);
            }
        }
        canvas.settle();
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

    /// The units of all that the disk may lack by the end of an epoch.
    fn all_units(&self, epoch: &Epoch) -> Vec<Unit<'t>> {
        self.units(epoch, 0..epoch.events.end)
    }

    /// The same of the events in `range`.
    fn units(&self, epoch: &Epoch, range: Range<usize>) -> Vec<Unit<'t>> {
        let start = range.start.max(epoch.first()).min(range.end);
        let events = &self.trace.events[start..range.end];
        let mut units = units(events, start, self.trace.setup.page_bytes);
        units.retain(|unit| epoch.may_lack(unit.event, unit.piece.file()));
        units
    }

    fn apply(&mut self, piece: Piece<'_>) {
        match piece.file() {
            File::Data => self.canvas.apply(piece),
            File::Journal => self.journal.apply(piece),
        }
    }

    /// Gives both files as they are, and clears them.
    fn give(&mut self, level: Level, at: usize, upto: usize, whole: bool) {
        let (image, journal) = (self.canvas.image(), self.journal.image());
        (self.take)(Shot { level, image, journal, at, upto, whole });
        self.canvas.undo();
        self.journal.undo();
    }

    fn shoot(&mut self, level: Level, at: usize, upto: usize) {
        self.give(level, at, upto, false);
    }

    /// The units that `keeps` says yes to, by their index.
    fn subset(
        &mut self,
        level: Level,
        epoch: &Epoch,
        units: &[Unit<'_>],
        mut keeps: impl FnMut(&mut Random, usize) -> bool,
    ) {
        let mut upto = epoch.events.start;
        for (i, unit) in units.iter().enumerate() {
            if keeps(&mut self.random, i) {
                self.apply(unit.piece);
                upto = upto.max(unit.event + 1);
            }
        }
        self.shoot(level, epoch.events.end, upto);
    }

    // ---- L0

    fn prefixes(&mut self, epoch: &Epoch) {
        let trace = self.trace;
        for at in epoch.events.start.max(trace.from)..=epoch.events.end {
            trace.pending(epoch, at).for_each(|(_, piece)| self.apply(piece));
            self.give(Level::Prefix, at, at, true);
        }
    }

    // ---- L1

    fn subsets(&mut self, epoch: &Epoch) {
        let level = Level::Subset;
        let units = &self.all_units(epoch)[..];
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
        if units.iter().any(Unit::is_of_journal) {
            self.subset(level, epoch, units, |_, i| units[i].is_of_journal());
            self.subset(level, epoch, units, |_, i| !units[i].is_of_journal());
        }
        for _ in 0..self.caps.pairs {
            let pair = [self.random.index(count), self.random.index(count)];
            self.subset(level, epoch, units, |_, i| !pair.contains(&i));
        }
        for _ in 0..self.caps.randoms {
            let percent = self.random.pick(&[10, 50, 90, 97]);
            let (meta, journal) = (self.random.chance(70), self.random.chance(60));
            self.subset(level, epoch, units, |random, i| {
                let is_kept = units[i].is_meta() && meta || units[i].is_of_journal() && journal;
                is_kept || random.chance(percent)
            });
        }
    }

    // ---- L2

    fn torn(&mut self, epoch: &Epoch) {
        let (end, units) = (epoch.events.end, &self.all_units(epoch)[..]);
        for (torn, unit) in units.iter().enumerate() {
            if unit.is_meta() && unit.event >= epoch.events.start {
                self.torn_meta(end, units, torn);
            }
        }
        let pages: Vec<usize> = (0..units.len()).filter(|&i| is_page(&units[i])).collect();
        let blocks = (0..units.len()).filter(|&i| units[i].is_of_journal());
        let some = pages.iter().copied().step_by(pages.len().div_ceil(self.caps.torn).max(1));
        for torn in some.chain(blocks) {
            for pattern in 0..6 {
                // The pages of what a torn batch is about are there, or are not.
                let percent = if units[torn].is_of_journal() { 50 } else { 100 };
                self.tear(end, units, &[(torn, pattern)], |random, _| random.chance(percent));
            }
        }
        for _ in 0..self.caps.torn.min(pages.len() * 4) {
            let two = [(); 2].map(|()| (self.random.pick(&pages), self.random.index(6)));
            let percent = self.random.pick(&[60, 100]);
            self.tear(end, units, &two, |random, _| random.chance(percent));
        }
        self.borders(epoch);
    }

    /// Every way to tear a meta into sectors, over what was there, over zeros and over ones.
    fn torn_meta(&mut self, at: usize, units: &[Unit<'_>], torn: usize) {
        let Piece::Write { at: start, bytes, .. } = units[torn].piece else { return };
        let first = self.random.index(self.caps.tear_step);
        for bits in (first..256).step_by(self.caps.tear_step) {
            for (fill, others) in [(None, 100), (Some(0), 100), (Some(0xFF), 100), (None, 70)] {
                if others < 100 && bits % 16 != first % 16 {
                    continue;
                }
                for (i, unit) in units.iter().enumerate() {
                    if i != torn && self.random.chance(others) {
                        self.apply(unit.piece);
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
                    self.apply(unit.piece);
                }
                continue;
            };
            let Piece::Write { file, at: start, bytes } = unit.piece else { continue };
            let count = bytes.len().div_ceil(SECTOR_BYTES);
            for (sector, piece) in cut(file, start, bytes, SECTOR_BYTES).enumerate() {
                let kept = match pattern {
                    0 => sector < count / 2,
                    1 => sector >= count / 2,
                    2 => sector % 2 == 0,
                    3 => sector % 2 == 1,
                    4 => sector == 0,
                    _ => sector + 1 < count,
                };
                if kept {
                    self.apply(piece);
                }
            }
        }
        self.shoot(Level::Torn, at, at);
    }

    /// Large writes broken off at each border of a page.
    fn borders(&mut self, epoch: &Epoch) {
        let page_bytes = self.trace.setup.page_bytes;
        let events = &self.trace.events;
        let (end, all) = (epoch.events.end, self.all_units(epoch));
        for number in epoch.events.clone() {
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
                        self.apply(unit.piece);
                    }
                    self.canvas.write(at, part);
                    self.shoot(Level::Torn, end, end);
                }
            }
        }
    }

    // ---- L3

    fn lengths(&mut self, epoch: &Epoch) {
        let units = &self.all_units(epoch)[..];
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
                    self.length(epoch.events.end, units, length, fresh, kept);
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
                self.apply(unit.piece);
            }
        }
        self.shoot(Level::Length, at, at);
    }

    // ---- L4

    /// What a running transaction has written reached the disk before everything else.
    fn late(&mut self, epoch: &Epoch) {
        let trace = self.trace;
        let Range { start: first, end: last } = epoch.events;
        for span in &trace.spans {
            let (start, end) = (span.start.max(first), span.end.min(last));
            if start >= end {
                continue;
            }
            let before = self.units(epoch, 0..start);
            for moment in 0..self.caps.moments.min(end - start) {
                // The last moment is right before the seal.
                let at = end - (end - start) * moment / self.caps.moments.min(end - start);
                let own = self.units(epoch, start..at);
                for round in 0..self.caps.late {
                    let percent = [0, 100, 50][round % 3];
                    let own_percent = self.random.pick(&[100, 80, 50, 20]);
                    for (units, percent) in [(&before, percent), (&own, own_percent)] {
                        for unit in units {
                            let is_length = !matches!(unit.piece, Piece::Write { .. });
                            if is_length || self.random.chance(percent) {
                                self.apply(unit.piece);
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

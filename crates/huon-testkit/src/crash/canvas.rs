//! One image under construction: a base, and pieces of writes put on it and taken off again.
//!
//! Each file has a canvas of its own.
//!
//! 1. `image` is `base` but for the ranges in `touched` and what lies past the shorter of the two.
//! 2. A piece that lies past the end of the file does not happen: the length of a file and its
//!    contents reach the disk on their own.

use std::ops::Range;

use huon::sim::Event;

use crate::support::trail::SECTOR_BYTES;

/// Where the meta slots end.
pub(super) const METAS_END: usize = 3 * 4096;

/// Bytes of the blocks that a journal is written in.
const BLOCK_BYTES: usize = 4096;

/// The data file, or the journal beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum File {
    Data,
    Journal,
}

/// Something that reaches the disk on its own, or does not. A journal keeps its length.
#[derive(Clone, Copy)]
pub(super) enum Piece<'t> {
    Write { file: File, at: usize, bytes: &'t [u8] },
    Grow { to: usize },
    Shrink { to: usize },
}

impl<'t> Piece<'t> {
    /// All that an event did, if it did anything.
    pub(super) fn whole(event: &'t Event) -> Option<Piece<'t>> {
        let write = |file, at: &u64, bytes| Piece::Write { file, at: *at as usize, bytes };
        match event {
            Event::Write { offset, bytes } => Some(write(File::Data, offset, bytes)),
            Event::JournalWrite { offset, bytes } => Some(write(File::Journal, offset, bytes)),
            Event::Grow { to, .. } => Some(Piece::Grow { to: *to as usize }),
            Event::Shrink { to, .. } => Some(Piece::Shrink { to: *to as usize }),
            Event::Sync | Event::SyncLost | Event::JournalMade { .. } | Event::JournalSync => None,
        }
    }

    pub(super) fn file(&self) -> File {
        match self {
            Piece::Write { file, .. } => *file,
            Piece::Grow { .. } | Piece::Shrink { .. } => File::Data,
        }
    }
}

/// A piece of an epoch, and the number of the event that it is a part of.
#[derive(Clone, Copy)]
pub(super) struct Unit<'t> {
    pub(super) event: usize,
    pub(super) piece: Piece<'t>,
}

impl Unit<'_> {
    /// Whether it is the write of a meta.
    pub(super) fn is_meta(&self) -> bool {
        matches!(self.piece, Piece::Write { file: File::Data, at, .. } if at < METAS_END)
    }

    /// Whether it is a block of the journal.
    pub(super) fn is_of_journal(&self) -> bool {
        matches!(self.piece, Piece::Write { file: File::Journal, .. })
    }
}

/// The units of some events: metas whole, the journal in blocks, everything else in pages, or in
/// sectors where pages are smaller.
pub(super) fn units(events: &[Event], first: usize, page_bytes: usize) -> Vec<Unit<'_>> {
    let step = page_bytes.max(SECTOR_BYTES);
    let mut units = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let event_number = first + i;
        let mut add = |piece| units.push(Unit { event: event_number, piece });
        match event {
            Event::Write { offset, bytes } if (*offset as usize) < METAS_END => {
                add(Piece::Write { file: File::Data, at: *offset as usize, bytes });
            }
            Event::Write { offset, bytes } => {
                cut(File::Data, *offset as usize, bytes, step).for_each(add);
            }
            Event::JournalWrite { offset, bytes } => {
                cut(File::Journal, *offset as usize, bytes, BLOCK_BYTES).for_each(add);
            }
            Event::Grow { to, .. } => add(Piece::Grow { to: *to as usize }),
            Event::Shrink { to, .. } => add(Piece::Shrink { to: *to as usize }),
            Event::Sync | Event::SyncLost | Event::JournalMade { .. } | Event::JournalSync => {}
        }
    }
    units
}

/// A write in pieces that end at multiples of `step` in the file.
pub(super) fn cut(
    file: File,
    at: usize,
    bytes: &[u8],
    step: usize,
) -> impl Iterator<Item = Piece<'_>> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let start = at + done;
        let end = bytes.len().min(done + step - start % step);
        let bytes = bytes.get(done..end).filter(|bytes| !bytes.is_empty())?;
        done = end;
        Some(Piece::Write { file, at: start, bytes })
    })
}

/// See the module.
#[derive(Default)]
pub(super) struct Canvas {
    base: Vec<u8>,
    image: Vec<u8>,
    touched: Vec<Range<usize>>,
}

impl Canvas {
    pub(super) fn new(base: &[u8]) -> Canvas {
        Canvas { base: base.to_vec(), image: base.to_vec(), touched: Vec::new() }
    }

    pub(super) fn image(&self) -> &[u8] {
        &self.image
    }

    pub(super) fn base(&self) -> &[u8] {
        &self.base
    }

    pub(super) fn apply(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Write { at, bytes, .. } => self.write(at, bytes),
            Piece::Grow { to } => self.grow(to),
            Piece::Shrink { to } => self.shrink(to),
        }
    }

    /// Cuts the file.
    fn shrink(&mut self, to: usize) {
        if to < self.image.len() {
            // It may grow again, and is zero there then.
            self.touched.push(to..self.image.len());
            self.image.truncate(to);
        }
    }

    /// Writes what of `bytes` lies inside the file.
    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = (at + bytes.len()).min(self.image.len());
        if at < end {
            self.image[at..end].copy_from_slice(&bytes[..end - at]);
            self.touched.push(at..end);
        }
    }

    /// Fills what of a range lies inside the file.
    pub(super) fn fill(&mut self, range: Range<usize>, byte: u8) {
        let end = range.end.min(self.image.len());
        if range.start < end {
            self.image[range.start..end].fill(byte);
            self.touched.push(range.start..end);
        }
    }

    /// Makes the file at least `to` bytes long, with zeros.
    pub(super) fn grow(&mut self, to: usize) {
        if to > self.image.len() {
            self.image.resize(to, 0);
        }
    }

    /// Back to the base.
    pub(super) fn undo(&mut self) {
        self.image.truncate(self.base.len());
        let kept = self.image.len();
        self.image.extend_from_slice(&self.base[kept..]);
        for range in self.touched.drain(..) {
            let end = range.end.min(self.base.len());
            if range.start < end {
                self.image[range.start..end].copy_from_slice(&self.base[range.start..end]);
            }
        }
    }

    /// Makes the image the base.
    pub(super) fn settle(&mut self) {
        self.base.clone_from(&self.image);
        self.touched.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_cut_at_multiples_in_the_file() {
        let bytes: Vec<u8> = (0..100).collect();
        let pieces: Vec<(usize, usize)> = cut(File::Data, 30, &bytes, 32)
            .map(|piece| match piece {
                Piece::Write { at, bytes, .. } => (at, bytes.len()),
                _ => unreachable!("only writes"),
            })
            .collect();
        assert_eq!(pieces, [(30, 2), (32, 32), (64, 32), (96, 32), (128, 2)]);
    }

    #[test]
    fn what_was_put_on_comes_off_again() {
        let mut canvas = Canvas::new(&[1; 100]);
        let pieces = [
            Piece::Write { file: File::Data, at: 90, bytes: &[2; 20] },
            Piece::Shrink { to: 50 },
            Piece::Grow { to: 120 },
            Piece::Write { file: File::Data, at: 110, bytes: &[3; 5] },
            Piece::Shrink { to: 115 },
        ];
        pieces.into_iter().for_each(|piece| canvas.apply(piece));
        canvas.fill(0..1, 9);
        assert_eq!(canvas.image()[..2], [9, 1]);
        assert_eq!(canvas.image()[48..52], [1, 1, 0, 0]);
        assert_eq!((canvas.image()[112], canvas.image().len()), (3, 115));
        canvas.undo();
        assert_eq!(canvas.image(), [1; 100]);
        canvas.fill(99..200, 7);
        canvas.settle();
        canvas.undo();
        assert_eq!((canvas.base()[98], canvas.image()[99]), (1, 7));
    }
}

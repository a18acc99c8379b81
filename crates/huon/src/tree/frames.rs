//! The pages of a path, from the root down.

use crate::page::Ptr;

/// Frames that lie in the path itself: those of all trees whose branches have 85 children or more,
/// which reach all pages that a file can have.
const NEAR: usize = 6;

/// One page of a path and the place in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) ptr: Ptr,
    pub(crate) index: usize,
    pub(crate) count: usize,
}

impl Frame {
    const NONE: Frame = Frame::new(Ptr::NONE);

    pub(super) const fn new(ptr: Ptr) -> Frame {
        Frame { ptr, index: 0, count: 0 }
    }
}

/// A stack of frames. A path is made for each range and moved with it, so it has no more room than
/// most trees need; the frames of a deeper one lie in memory of their own.
///
/// The frames are `near[..near_count]` where `far` is empty, else all of `far`.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    near: [Frame; NEAR],
    near_count: usize,
    far: Vec<Frame>,
}

impl Frames {
    /// A constant, since that is copied into its place and not made there field by field.
    pub(super) const NONE: Frames =
        Frames { near: [Frame::NONE; NEAR], near_count: 0, far: Vec::new() };

    #[inline(always)]
    pub(super) fn all(&self) -> &[Frame] {
        if self.far.is_empty() { &self.near[..self.near_count] } else { &self.far }
    }

    #[inline(always)]
    pub(super) fn all_mut(&mut self) -> &mut [Frame] {
        if self.far.is_empty() { &mut self.near[..self.near_count] } else { &mut self.far }
    }

    #[inline]
    pub(super) fn push(&mut self, frame: Frame) {
        match self.near.get_mut(self.near_count) {
            Some(place) if self.far.is_empty() => {
                *place = frame;
                self.near_count += 1;
            }
            _ => self.push_far(frame),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_far(&mut self, frame: Frame) {
        if self.far.is_empty() {
            self.far.extend(self.near);
        }
        self.far.push(frame);
    }

    /// Keeps the first `count` frames.
    #[inline]
    pub(super) fn truncate(&mut self, count: usize) {
        self.near_count = self.near_count.min(count);
        self.far.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_depth_is_kept() {
        let frame = |index| Frame { index, ..Frame::NONE };
        for most in 0..=2 * NEAR {
            let mut frames = Frames::NONE;
            for keep in (0..=most).rev() {
                (frames.all().len()..most).for_each(|at| frames.push(frame(at)));
                frames.all_mut().iter_mut().for_each(|frame| frame.count = frame.index);
                assert_eq!(frames.far.is_empty(), most <= NEAR);
                frames.truncate(keep);
                let copy = frames.clone();
                let kept = copy.all().iter().map(|frame| (frame.index, frame.count));
                assert!(kept.eq((0..keep).map(|at| (at, at))), "{keep} of {most}");
            }
        }
    }
}

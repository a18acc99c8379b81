//! Snapshot images and the marks that name them: how a snapshot is sealed and published, and how
//! its image is copied out.

use std::sync::atomic::Ordering::Relaxed;

use super::{Board, Mark, RecordMark};
use crate::failpoint::{Point, reach};
use crate::lock::layout::*;
use crate::os::clock;
use crate::os::word::{Ordering, fence};
use crate::planted::{self, Bug};

impl Board {
    /// Makes `image` the newest sealed snapshot: after this the commit has happened. `None`:
    /// another client sealed after `base`, and nothing has happened (P3). Ask `Role::still_ours`
    /// right before.
    pub(crate) fn seal(&self, base: Mark, txnid: u64, image: &[u8; IMAGE_BYTES]) -> Option<Mark> {
        // J1.3: it has no record, and those of its base are still to be flushed.
        let end = self.record_of(base).map_or(0, |record| record.end);
        self.seal_used(base, txnid, (image, IMAGE_BYTES), RecordMark { end, floor: txnid })
    }

    /// The same of an image behind whose first bytes, so many, there are zeros.
    pub(crate) fn seal_used(
        &self,
        base: Mark,
        txnid: u64,
        (image, used): (&[u8; IMAGE_BYTES], usize),
        record: RecordMark,
    ) -> Option<Mark> {
        assert!(txnid > base.txnid(), "P7: ids only rise");
        let mark = Mark::new(txnid, self.free_image());
        self.fill_image(mark, (image, used), record);
        reach(Point::ImageFilled);
        let sealed = &self.fixed()[SEALED];
        let order =
            if planted::is(Bug::SealUnordered) { Ordering::Relaxed } else { Ordering::AcqRel };
        let base = if planted::is(Bug::BaseUnchecked) { self.sealed() } else { base };
        sealed.compare_exchange(base.0, mark.0, order, Ordering::Relaxed).ok()?;
        reach(Point::Sealed);
        let since = &self.fixed()[UNFLUSHED_SINCE];
        let now = clock::now_ms().max(1);
        let _ = since.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        Some(mark)
    }

    /// An image that no mark names, the longest unused first.
    fn free_image(&self) -> usize {
        let sealed = self.sealed();
        let others = [self.in_flight(), self.published(), self.durable(), self.in_journal_flight()];
        (1..=IMAGES_COUNT)
            .map(|step| (sealed.index() + step) % IMAGES_COUNT)
            .filter(|index| *index != sealed.index())
            .find(|index| others.iter().all(|mark| mark.is_none() || mark.index() != *index))
            .expect("five marks cannot name eight images")
    }

    pub(super) fn fill_image(
        &self,
        mark: Mark,
        (image, used): (&[u8; IMAGE_BYTES], usize),
        record: RecordMark,
    ) {
        let fixed = self.fixed();
        // A model's images are short.
        let used = used.div_ceil(8).min(IMAGE_WORDS);
        let before = &self.used_words[mark.index()];
        let end = used.max(before.load(Relaxed));
        before.store(used, Relaxed);
        let name = &fixed[IMAGE_MARKS + mark.index()];
        name.store(0, Ordering::Relaxed);
        // A reader that copies any word stored below must then see that no mark names this image.
        fence(Ordering::Release);
        self.set_record_of(mark, record);
        let at = IMAGES + mark.index() * IMAGE_WORDS;
        let (words, _) = image.as_chunks::<8>();
        for (word, bytes) in fixed[at..at + end].iter().zip(words) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        name.store(mark.0, Ordering::Release);
    }

    /// Another client has had the writer lock: what it put into the images is not known.
    pub(in crate::lock) fn forget_used(&self) {
        self.used_words.iter().for_each(|used| used.store(IMAGE_WORDS, Relaxed));
    }

    /// The newest sealed snapshot: the base of the next write transaction.
    pub(crate) fn sealed(&self) -> Mark {
        Mark(self.load(SEALED))
    }

    /// The snapshot that new readers take.
    #[inline]
    pub(crate) fn published(&self) -> Mark {
        Mark(self.fixed()[PUBLISHED].load(Ordering::Acquire))
    }

    /// The candidate of the running flush, or of one that a dead flusher left.
    pub(crate) fn in_flight(&self) -> Mark {
        Mark(self.load(IN_FLIGHT))
    }

    /// The newest snapshot whose flush has ended, of the data file.
    pub(crate) fn durable(&self) -> Mark {
        Mark(self.load(DURABLE))
    }

    /// Lets new readers see `mark`; never moves back. `mark` must still be named: call it before
    /// the writer lock is released.
    pub(crate) fn publish(&self, mark: Mark) {
        if self.fixed()[PUBLISHED].fetch_max(mark.0, Ordering::AcqRel) < mark.0 {
            self.tell_news();
        }
    }

    /// Copies the image of `mark`. `false`: it was given away meanwhile, and `into` holds rubbish.
    pub(crate) fn copy_image(&self, mark: Mark, into: &mut [u8; IMAGE_BYTES]) -> bool {
        if mark.is_none() {
            return false;
        }
        let fixed = self.fixed();
        let name = &fixed[IMAGE_MARKS + mark.index()];
        if name.load(Ordering::Acquire) != mark.0 {
            return false;
        }
        let at = IMAGES + mark.index() * IMAGE_WORDS;
        let (chunks, _) = into.as_chunks_mut::<8>();
        for (bytes, word) in chunks.iter_mut().zip(&fixed[at..at + IMAGE_WORDS]) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        fence(Ordering::Acquire);
        name.load(Ordering::Relaxed) == mark.0
    }

    /// Copies the image of the snapshot that `named` returns, and says which that was. A client
    /// without a lock may look just while the image is given away, since a newer one is named: then
    /// it looks once more. `None`: the image is missing, in a damaged lock file only.
    pub(crate) fn copy_named(
        &self,
        named: impl Fn() -> Mark,
        into: &mut [u8; IMAGE_BYTES],
    ) -> Option<Mark> {
        loop {
            let mark = named();
            if self.copy_image(mark, into) {
                return Some(mark);
            }
            if named() == mark {
                return None;
            }
        }
    }

    /// Copies the first words of the image of `mark`, which may be given away meanwhile.
    #[inline]
    pub(in crate::lock) fn copy_first_words(&self, mark: Mark, wanted: &mut [u64]) {
        let image = &self.fixed()[IMAGES + mark.index() * IMAGE_WORDS..][..IMAGE_WORDS];
        for (value, word) in wanted.iter_mut().zip(image) {
            *value = word.load(Ordering::Relaxed);
        }
    }

    /// The second look of P14, after a fence.
    #[inline]
    pub(in crate::lock) fn is_still_published(&self, mark: Mark) -> bool {
        self.fixed()[PUBLISHED].load(Ordering::Relaxed) == mark.0
    }
}

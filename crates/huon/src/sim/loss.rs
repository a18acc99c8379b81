//! Blocks that a machine's cache shows and its disk lacks: those that wait for a flush, and those
//! that a failed flush has lost.
//!
//! The caller holds the state's lock of the machine throughout.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::os::Map;

/// What a failed flush loses or keeps as a whole: the page of a page cache.
pub(super) const BLOCK_BYTES: u64 = 4096;

/// See the module. Blocks by number, each with what the disk has in its place.
#[derive(Default)]
pub(super) struct Loss {
    /// The next flush writes them.
    dirty: BTreeMap<u64, Vec<u8>>,
    /// No flush writes them any more, unless they are written to again.
    lost: BTreeMap<u64, Vec<u8>>,
    /// Flushes that succeed before some fail, and how many do.
    good: u64,
    failing: u64,
    /// Which blocks a failing flush loses.
    loses: Option<Box<dyn FnMut(u64) -> bool + Send>>,
}

impl Loss {
    /// `count` flushes fail after `good` ones, and lose the blocks that `loses` says yes to.
    pub(super) fn fail(
        &mut self,
        good: u64,
        count: u64,
        loses: impl FnMut(u64) -> bool + Send + 'static,
    ) {
        (self.good, self.failing) = (good, count);
        self.loses = Some(Box::new(loses));
    }

    pub(super) fn failing(&self) -> u64 {
        self.failing
    }

    /// The same when all processes have died. The flushes that are to fail are those of the next
    /// clients.
    pub(super) fn after_kill(&mut self) -> Loss {
        Loss {
            dirty: self.dirty.clone(),
            lost: self.lost.clone(),
            good: std::mem::take(&mut self.good),
            failing: std::mem::take(&mut self.failing),
            loses: self.loses.take(),
        }
    }

    /// Notes what the disk holds of the blocks in a range that is about to change.
    pub(super) fn note_dirty(&mut self, map: &Map, range: Range<u64>) {
        for block in range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES) {
            if self.dirty.contains_key(&block) {
                continue;
            }
            // A lost block that is written to again is due again, and all of it.
            let disk = self.lost.remove(&block).unwrap_or_else(|| {
                let start = block * BLOCK_BYTES;
                let mut bytes = vec![0; BLOCK_BYTES.min(map.bytes() - start) as usize];
                map.copy_out(start, &mut bytes);
                bytes
            });
            self.dirty.insert(block, disk);
        }
    }

    /// Flushes; `false`: it failed, and what it lost is lost.
    pub(super) fn sync(&mut self) -> bool {
        let dirty = std::mem::take(&mut self.dirty);
        if self.failing == 0 || self.good > 0 {
            self.good = self.good.saturating_sub(1);
            return true;
        }
        self.failing -= 1;
        let loses = self.loses.as_mut().expect("a flush that fails was told what to lose");
        self.lost.extend(dirty.into_iter().filter(|(block, _)| loses(*block)));
        false
    }

    /// A flush failed and wrote nothing.
    pub(super) fn lose_all(&mut self) {
        self.lost.append(&mut self.dirty);
    }

    /// Makes an image of the cache one of the disk, but for dirty blocks that `keeps` says yes to.
    pub(super) fn uncache(&self, image: &mut [u8], mut keeps: impl FnMut(u64) -> bool) {
        let dirty = self.dirty.iter().filter(|(block, _)| !keeps(**block));
        for (block, disk) in self.lost.iter().chain(dirty) {
            let start = (*block * BLOCK_BYTES) as usize;
            let end = (start + disk.len()).min(image.len());
            if start < end {
                image[start..end].copy_from_slice(&disk[..end - start]);
            }
        }
    }

    /// The bytes that the cache is to show in place of the lost ones, by offset in the file.
    pub(super) fn forget_cache(&mut self) -> impl Iterator<Item = (u64, Vec<u8>)> + use<> {
        let lost = std::mem::take(&mut self.lost);
        lost.into_iter().map(|(block, disk)| (block * BLOCK_BYTES, disk))
    }

    /// Forgets what lies past `file_bytes`: cutting a file is never undone.
    pub(super) fn cut(&mut self, file_bytes: u64) {
        for blocks in [&mut self.dirty, &mut self.lost] {
            blocks.split_off(&file_bytes.div_ceil(BLOCK_BYTES));
            if let Some(bytes) = blocks.get_mut(&(file_bytes / BLOCK_BYTES)) {
                let kept = (file_bytes % BLOCK_BYTES) as usize;
                bytes[kept..].fill(0);
            }
        }
    }
}

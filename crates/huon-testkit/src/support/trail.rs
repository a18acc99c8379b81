//! What a power loss may leave: the disk as last flushed, and any part of what was written since.

use std::sync::Arc;

use huon::sim::{Event, SimDisk};

use crate::support::random::Random;

/// Bytes that a disk writes as a whole.
pub const SECTOR_BYTES: usize = 512;

/// The flushed contents of a disk, and what happened since.
#[derive(Clone, Default)]
pub struct Trail {
    flushed: Vec<u8>,
    since: Vec<Event>,
    /// Times the file grew since the number was last taken.
    pub grown: u64,
    /// Times the file shrank, likewise.
    pub shrunk: u64,
}

impl Trail {
    /// The trail of a disk that holds `image`.
    pub fn starting_from(image: Vec<u8>) -> Trail {
        Trail { flushed: image, ..Trail::default() }
    }

    /// Takes over the events of a disk.
    pub fn follow(&mut self, disk: &SimDisk) {
        let events = disk.events();
        disk.clear_events();
        for event in events {
            match event {
                Event::Sync => {
                    for event in std::mem::take(&mut self.since) {
                        apply(&mut self.flushed, &event);
                    }
                    continue;
                }
                Event::Grow { .. } => self.grown += 1,
                Event::Shrink { .. } => self.shrunk += 1,
                _ => {}
            }
            self.since.push(event);
        }
    }

    /// One image that a power loss could leave now.
    pub fn random_image(&self, random: &mut Random) -> Vec<u8> {
        let mut image = self.flushed.clone();
        let style = random.below(4);
        let count = random.index(self.since.len() + 1);
        for (i, event) in self.since.iter().enumerate() {
            let persists = match style {
                0 => true,
                1 => i < count,
                _ => random.chance(70),
            };
            if persists {
                apply(&mut image, event);
            } else if style == 3 && random.chance(50) {
                apply(&mut image, &torn(event, |_| random.chance(50)));
            }
        }
        image
    }
}

/// Applies an event to a file; what lies past its end does not happen.
pub fn apply(image: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Write { offset, bytes } => {
            let start = (*offset as usize).min(image.len());
            let end = (start + bytes.len()).min(image.len());
            image[start..end].copy_from_slice(&bytes[..end - start]);
        }
        Event::Grow { to, .. } if (*to as usize) > image.len() => image.resize(*to as usize, 0),
        Event::Shrink { to, .. } => image.truncate(*to as usize),
        _ => {}
    }
}

/// The part of a write whose sectors `keeps` says yes to, as the first contiguous stretch of them.
fn torn(event: &Event, mut keeps: impl FnMut(usize) -> bool) -> Event {
    let Event::Write { offset, bytes } = event else { return event.clone() };
    let sectors = bytes.len().div_ceil(SECTOR_BYTES);
    let first = (0..sectors).find(|&i| keeps(i)).unwrap_or(0);
    let last = (first..sectors).find(|&i| !keeps(i)).unwrap_or(sectors);
    let range = first * SECTOR_BYTES..(last * SECTOR_BYTES).min(bytes.len());
    let offset = offset + range.start as u64;
    Event::Write { offset, bytes: Arc::from(&bytes[range]) }
}

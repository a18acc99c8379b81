//! What a power loss may leave: the disk as last flushed, and any part of what was written since.

use std::sync::Arc;

use huon::sim::{Event, SimDisk};

use crate::support::random::Random;

/// Bytes that a disk writes as a whole.
pub const SECTOR_BYTES: usize = 512;

/// A data file, and the journal beside it if there is one.
#[derive(Clone, Default)]
pub struct Files {
    /// The data file.
    pub data: Vec<u8>,
    /// The journal.
    pub journal: Vec<u8>,
}

/// The flushed contents of a disk, and what happened since.
#[derive(Clone, Default)]
pub struct Trail {
    flushed: Files,
    since: Vec<Event>,
    /// Times the file grew since the number was last taken.
    pub grown: u64,
    /// Times the file shrank, likewise.
    pub shrunk: u64,
}

impl Trail {
    /// The trail of a disk that holds these files.
    pub fn starting_from(files: Files) -> Trail {
        Trail { flushed: files, ..Trail::default() }
    }

    /// Takes over the events of a disk.
    pub fn follow(&mut self, disk: &SimDisk) {
        let events = disk.events();
        disk.clear_events();
        for event in events {
            match event {
                Event::Sync => {
                    self.flush(|event| !is_of_journal(event));
                    continue;
                }
                Event::JournalSync => {
                    self.flush(is_of_journal);
                    continue;
                }
                Event::JournalMade { bytes } => {
                    self.since.retain(|event| !is_of_journal(event));
                    self.flushed.journal = vec![0; bytes as usize];
                    continue;
                }
                Event::Grow { .. } => self.grown += 1,
                Event::Shrink { .. } => self.shrunk += 1,
                _ => {}
            }
            self.since.push(event);
        }
    }

    fn flush(&mut self, takes: impl Fn(&Event) -> bool) {
        let (flushed, since): (Vec<_>, Vec<_>) = self.since.drain(..).partition(takes);
        self.since = since;
        flushed.iter().for_each(|event| self.flushed.apply(event));
    }

    /// The files that a power loss could leave now.
    pub fn random_image(&self, random: &mut Random) -> Files {
        let mut files = self.flushed.clone();
        let style = random.below(4);
        let count = random.index(self.since.len() + 1);
        for (i, event) in self.since.iter().enumerate() {
            let persists = match style {
                0 => true,
                1 => i < count,
                _ => random.chance(70),
            };
            if persists {
                files.apply(event);
            } else if style == 3 && random.chance(50) {
                files.apply(&torn(event, |_| random.chance(50)));
            }
        }
        files
    }
}

impl Files {
    /// Applies an event to the file that it is about.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::JournalMade { bytes } => self.journal = vec![0; *bytes as usize],
            Event::JournalWrite { offset, bytes } => write(&mut self.journal, *offset, bytes),
            event => apply(&mut self.data, event),
        }
    }
}

/// Whether an event is a write to the journal.
fn is_of_journal(event: &Event) -> bool {
    matches!(event, Event::JournalWrite { .. })
}

/// Writes what of `bytes` lies inside the file.
fn write(image: &mut [u8], offset: u64, bytes: &[u8]) {
    let start = (offset as usize).min(image.len());
    let end = (start + bytes.len()).min(image.len());
    image[start..end].copy_from_slice(&bytes[..end - start]);
}

/// Applies an event to a data file; what lies past its end does not happen.
pub fn apply(image: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Write { offset, bytes } => write(image, *offset, bytes),
        Event::Grow { to, .. } if (*to as usize) > image.len() => image.resize(*to as usize, 0),
        Event::Shrink { to, .. } => image.truncate(*to as usize),
        _ => {}
    }
}

/// The part of a write whose sectors `keeps` says yes to, as the first contiguous stretch of them.
fn torn(event: &Event, mut keeps: impl FnMut(usize) -> bool) -> Event {
    let (Event::Write { offset, bytes } | Event::JournalWrite { offset, bytes }) = event else {
        return event.clone();
    };
    let sectors = bytes.len().div_ceil(SECTOR_BYTES);
    let first = (0..sectors).find(|&i| keeps(i)).unwrap_or(0);
    let last = (first..sectors).find(|&i| !keeps(i)).unwrap_or(sectors);
    let range = first * SECTOR_BYTES..(last * SECTOR_BYTES).min(bytes.len());
    let (offset, bytes) = (offset + range.start as u64, Arc::from(&bytes[range]));
    match event {
        Event::JournalWrite { .. } => Event::JournalWrite { offset, bytes },
        _ => Event::Write { offset, bytes },
    }
}

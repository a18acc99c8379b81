//! Bodies of the fuzz targets: each takes any bytes, and panics if something is wrong.
//!
//! `fuzz/` hands them to libFuzzer, which looks for bytes that reach new code.
//! `tests/hostile/fuzz.rs` runs the same bodies on bytes from seeds, so that they cannot rot, and
//! so that what libFuzzer once found stays found.
//!
//! 1. A body depends on its bytes only: no clock, no thread, no other randomness.
//! 2. Bytes that run out are zeros. So shorter bytes are simpler cases, and any bytes are a case.

mod files;
mod journal;
mod load_text;
mod lock_file;
mod lsm;
mod ops;

pub use files::{mutate_valid, open_bytes};
pub use journal::journal;
pub use load_text::load_text;
pub use lock_file::lock_file;
pub use lsm::lsm;
pub use ops::{crash, ops};

/// A body of a fuzz target.
pub type Body = fn(&[u8]);

/// All of them, by the names of their targets.
pub const TARGETS: [(&str, Body); 8] = [
    ("open_bytes", open_bytes),
    ("mutate_valid", mutate_valid),
    ("ops", ops),
    ("crash", crash),
    ("journal", journal),
    ("load_text", load_text),
    ("lock_file", lock_file),
    ("lsm", lsm),
];

/// Bytes as a row of choices.
#[derive(Clone, Debug)]
pub struct Choices<'d> {
    rest: &'d [u8],
}

impl<'d> Choices<'d> {
    /// The choices that `data` makes.
    pub fn new(data: &'d [u8]) -> Choices<'d> {
        Choices { rest: data }
    }

    /// Whether all were made.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        byte
    }

    /// A number of so many bytes, at most 8.
    fn number(&mut self, bytes: u32) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let bytes = match end {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        (self.number(bytes) as usize).checked_rem(end).unwrap_or(0)
    }

    /// True once in `times` cases, and not for bytes that ran out.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// One of the items.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// A number that is likely to be trouble: at the limits of a type, near another one, or any.
    pub fn trouble(&mut self, near: u64) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX >> self.below(64),
            2 => 1 << self.below(64),
            3 => near.wrapping_add(1),
            4 => near.wrapping_sub(1),
            5 => near ^ 1 << self.below(64),
            6 => near.wrapping_add(self.number(1)).wrapping_sub(128),
            _ => self.number(8),
        }
    }

    /// The next bytes, fewer where they run out.
    pub fn take(&mut self, count: usize) -> &'d [u8] {
        let (bytes, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        bytes
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> &'d [u8] {
        std::mem::take(&mut self.rest)
    }
}

//! Maps and sets of page numbers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Page numbers are their own hash, spread by one multiplication (Knuth, TAOCP 3, 6.4).
#[derive(Default)]
pub(crate) struct PgnoHasher(u64);

impl Hasher for PgnoHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("only page numbers are hashed");
    }
    fn write_u32(&mut self, n: u32) {
        self.0 = u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// Something by page number.
pub(crate) type ByPgno<T> = HashMap<u32, T, BuildHasherDefault<PgnoHasher>>;

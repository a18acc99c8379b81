//! LSM tables as programs use them.

mod compaction;
mod format;
mod histories;
mod merges;
mod space;
mod tables;
mod writes;

use std::time::Duration;

use huon_lsm::LsmOptions;

/// So small that all levels, steps and lanes occur with a few hundred records.
fn small_options() -> LsmOptions {
    LsmOptions {
        fan: 3,
        filter_bits: 10,
        small: 8,
        open_bytes: 1200,
        base_bytes: 1024,
        step_bytes: 1500,
        batch_bytes: 6000,
        filter_memory: 800,
        slack: 2,
        runs_max: 12,
        lease: Duration::from_secs(10),
    }
}

/// Numbers that look random and come again with the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % n
    }
}

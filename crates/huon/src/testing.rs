//! Helpers of unit tests: how much to do, numbers for the test summary, and seeded random numbers.

/// How much a test does: `full`, or `few` under Miri, which takes a thousand times as long.
pub(crate) fn sized(full: usize, few: usize) -> usize {
    if cfg!(miri) { few } else { full }
}

/// Leaves an environment as the death of its process would: it does nothing more. It is kept to the
/// end, so that nothing counts as leaked.
pub(crate) fn kill(env: crate::Env) {
    static DEAD: std::sync::Mutex<Vec<crate::Env>> = std::sync::Mutex::new(Vec::new());
    DEAD.lock().unwrap().push(env);
}

/// Adds to a figure of the test run's summary.
pub(crate) fn figure(kind: &str, count: u64) {
    use std::io::Write;
    let Some(path) = std::env::var_os("HUON_FIGURES") else { return };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(format!("{kind} {count}\n").as_bytes()).unwrap();
}

/// A small generator (splitmix64, Steele et al. 2014): the same numbers for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }
}

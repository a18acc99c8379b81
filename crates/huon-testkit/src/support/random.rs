//! Seeded random numbers: the same ones for the same seed, on every machine.

/// A small generator (splitmix64, Steele et al. 2014), or a row of choices made elsewhere.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    /// What a fuzzer chose; where there is something, nothing is random.
    choices: Vec<u8>,
    at: usize,
}

impl Random {
    /// The generator of `seed`.
    pub fn new(seed: u64) -> Random {
        Random { state: seed, choices: Vec::new(), at: 0 }
    }

    /// Gives out these bytes, two for a number, and zeros after them.
    pub fn of_choices(choices: &[u8]) -> Random {
        let mut choices = choices.to_vec();
        choices.push(0);
        Random { state: 0, choices, at: 0 }
    }

    /// The next number.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        if !self.choices.is_empty() {
            let choice = |at: usize| self.choices.get(at).map_or(0, |&byte| u64::from(byte));
            let number = choice(self.at) | choice(self.at + 1) << 8;
            self.at = (self.at + 2).min(self.choices.len());
            return number;
        }
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// An index below `end`.
    pub fn index(&mut self, end: usize) -> usize {
        self.below(end as u64) as usize
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the items.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }
}

/// A digest of bytes (FNV-1a, 64 bits), for telling images and contents apart.
pub fn digest(bytes: &[u8]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x0100_0000_01B3);
        hash ^= hash >> 29;
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    }
    hash ^ bytes.len() as u64
}

/// The same of words.
pub fn digest_words(words: &[u64]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    for word in words {
        hash = (hash ^ word).wrapping_mul(0x0100_0000_01B3);
        hash ^= hash >> 29;
    }
    hash ^ words.len() as u64
}

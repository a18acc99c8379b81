//! The records that are measured with, and the orders they are used in. All of it follows from
//! numbers: record `i` has one key and, in each round, another value.
//!
//! 1. Different numbers have different keys.
//! 2. The value of a record in one round differs from that in the next, so that no engine can find
//!    that there is nothing to do; and it cannot be compressed.

/// What the keys look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keys {
    /// 16 random bytes.
    Random16,
    /// 16 digits, counted up: `db_bench`.
    Decimal16,
    /// Text of 40 bytes with long common prefixes.
    Text40,
    /// 8 bytes of a counter, lowest first: LSMDB.
    Counter8,
    /// 8 bytes of a series, one after another in turns, and 8 of a time.
    Series16,
    /// 511 random bytes: voidDB.
    Random511,
}

impl Keys {
    fn bytes(self) -> usize {
        match self {
            Keys::Random16 | Keys::Decimal16 | Keys::Series16 => 16,
            Keys::Text40 => 40,
            Keys::Counter8 => 8,
            Keys::Random511 => 511,
        }
    }

    /// Appends the key of record `number` to `to`.
    fn append(self, number: u32, to: &mut Vec<u8>) {
        let mut state = u64::from(number);
        let end = to.len() + self.bytes();
        match self {
            Keys::Random16 | Keys::Random511 => {
                while to.len() < end {
                    state = mix(state);
                    to.extend(state.to_be_bytes());
                }
                to.truncate(end);
            }
            Keys::Decimal16 => to.extend(format!("{number:016}").bytes()),
            Keys::Text40 => {
                // Bijective: an odd factor, modulo a power of two that has 15 digits.
                let invoice = state.wrapping_mul(0x9E37_79B9_7F4B) & ((1 << 48) - 1);
                let account = mix(state) % 1000;
                to.extend(format!("account/{account:08}/invoice/{invoice:015}").bytes());
            }
            Keys::Counter8 => to.extend((state + 1).to_le_bytes()),
            Keys::Series16 => {
                to.extend((state % SERIES).to_be_bytes());
                to.extend((state / SERIES).to_be_bytes());
            }
        }
    }
}

/// Series that points are of.
const SERIES: u64 = 200;

/// The last step of SplitMix64: a bijection of 64-bit numbers that looks random.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// Values are pieces of a pool of random bytes; so many of them are places where one may begin.
const POOL_PLACES: u64 = 1 << 20;
/// What a place moves by from one round to the next: odd, so that it never stays (2).
const ROUND_STEP: u64 = 0x9E3B1;

/// So many records of one shape.
pub(crate) struct Data {
    keys: Keys,
    pub(crate) count: u32,
    pub(crate) value_bytes: usize,
    pool: Vec<u8>,
}

impl Data {
    pub(crate) fn new(keys: Keys, count: u32, value_bytes: usize) -> Data {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut pool = vec![0; POOL_PLACES as usize + value_bytes];
        rng.fill(&mut pool);
        Data { keys, count, value_bytes, pool }
    }

    pub(crate) fn key_bytes(&self) -> usize {
        self.keys.bytes()
    }

    /// The value of record `number` in `round`.
    #[inline]
    pub(crate) fn value(&self, number: u32, round: u32) -> &[u8] {
        let place = (mix(u64::from(number)) + u64::from(round) * ROUND_STEP) % POOL_PLACES;
        &self.pool[place as usize..][..self.value_bytes]
    }

    /// All records, by number.
    pub(crate) fn all(&self) -> Order {
        self.order((0..self.count).collect())
    }

    /// All records, in random order.
    pub(crate) fn shuffled(&self, seed: u64) -> Order {
        let mut numbers: Vec<u32> = (0..self.count).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut numbers);
        self.order(numbers)
    }

    /// All records, in the order of their keys.
    pub(crate) fn sorted(&self) -> Order {
        let all = self.all();
        let mut records: Vec<(&[u8], u32)> =
            all.iter().map(|(number, key)| (key, number)).collect();
        records.sort_unstable();
        let numbers = records.into_iter().map(|(_, number)| number).collect();
        self.order(numbers)
    }

    /// `count` of the records, at random; some of them several times.
    pub(crate) fn picks(&self, seed: u64, count: u32) -> Order {
        let mut rng = fastrand::Rng::with_seed(seed);
        self.order((0..count).map(|_| rng.u32(..self.count)).collect())
    }

    /// `count` records that are not among them.
    pub(crate) fn absent(&self, seed: u64, count: u32) -> Order {
        let mut rng = fastrand::Rng::with_seed(seed);
        let beyond = self.count..self.count.saturating_mul(2);
        self.order((0..count).map(|_| rng.u32(beyond.clone())).collect())
    }

    /// The records with these numbers.
    pub(crate) fn order(&self, numbers: Vec<u32>) -> Order {
        let mut keys = Vec::with_capacity(numbers.len() * self.key_bytes());
        for &number in &numbers {
            self.keys.append(number, &mut keys);
        }
        Order { numbers, keys, key_bytes: self.key_bytes() }
    }

    /// What [`touched`] adds up to over the values that these records have in `round`.
    pub(crate) fn sum(&self, numbers: impl IntoIterator<Item = u32>, round: u32) -> u64 {
        numbers.into_iter().map(|number| touched(self.value(number, round))).sum()
    }
}

/// Records in the order in which they are used, with their keys made beforehand.
pub(crate) struct Order {
    pub(crate) numbers: Vec<u32>,
    keys: Vec<u8>,
    key_bytes: usize,
}

impl Order {
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    #[inline]
    pub(crate) fn key(&self, at: usize) -> &[u8] {
        &self.keys[at * self.key_bytes..][..self.key_bytes]
    }

    /// Numbers and keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.numbers.iter().copied().zip(self.keys.chunks_exact(self.key_bytes))
    }

    /// The same, so many at a time.
    pub(crate) fn batches(
        &self,
        size: usize,
    ) -> impl Iterator<Item = impl Iterator<Item = (u32, &[u8])>> {
        let key_bytes = self.key_bytes;
        let keys = self.keys.chunks(size * key_bytes);
        self.numbers
            .chunks(size)
            .zip(keys)
            .map(move |(numbers, keys)| numbers.iter().copied().zip(keys.chunks_exact(key_bytes)))
    }
}

/// What every reader takes from a value: its first and its last byte, so that both ends are
/// fetched.
#[inline]
pub(crate) fn touched(value: &[u8]) -> u64 {
    match value {
        [first, .., last] => u64::from(*first) + u64::from(*last),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const ALL: [Keys; 6] = [
        Keys::Random16,
        Keys::Decimal16,
        Keys::Text40,
        Keys::Counter8,
        Keys::Series16,
        Keys::Random511,
    ];

    #[test]
    fn keys_differ_and_have_their_length() {
        for keys in ALL {
            let data = Data::new(keys, 20_000, 1);
            let (all, absent) = (data.all(), data.absent(1, 100));
            let known: HashSet<&[u8]> = all.iter().map(|(_, key)| key).collect();
            assert_eq!(known.len(), 20_000, "{keys:?}");
            assert!(known.iter().all(|key| key.len() == data.key_bytes()), "{keys:?}");
            assert!(absent.iter().all(|(_, key)| !known.contains(key)), "{keys:?}");
        }
    }

    #[test]
    fn values_change_each_round() {
        let data = Data::new(Keys::Random16, 1000, 100);
        for number in 0..1000 {
            let rounds: HashSet<&[u8]> = (0..20).map(|round| data.value(number, round)).collect();
            assert_eq!(rounds.len(), 20);
        }
    }

    #[test]
    fn orders_hold_every_record_once() {
        let data = Data::new(Keys::Text40, 1000, 100);
        let mut shuffled = data.shuffled(3).numbers;
        assert_ne!(shuffled, data.all().numbers);
        shuffled.sort_unstable();
        assert_eq!(shuffled, data.all().numbers);
        let sorted = data.sorted();
        assert!((1..1000).all(|at| sorted.key(at - 1) < sorted.key(at)));
        let batches: Vec<u32> =
            data.all().batches(300).flat_map(|batch| batch.map(|(number, _)| number)).collect();
        assert_eq!(batches, data.all().numbers);
    }
}

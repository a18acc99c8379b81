//! What an engine must do to be measured, and the records it is measured with.

/// A key; all keys of a run are random and different.
pub(crate) type Key = [u8; KEY_BYTES];

/// Length of a key.
pub(crate) const KEY_BYTES: usize = 16;
/// Length of a value.
pub(crate) const VALUE_BYTES: usize = 100;

/// Whatever went wrong in an engine.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// One engine with one open file.
pub(crate) trait Store {
    /// What the tables call it.
    fn name(&self) -> &'static str;

    /// Puts a record for each key in one transaction; it need not be durable.
    fn put_all(&mut self, keys: &[Key]) -> Result<()>;

    /// Gets each key in one read transaction and adds up [`touched`] of the values.
    ///
    /// # Errors
    /// If a key is missing or the engine fails.
    fn get_all(&self, keys: &[Key]) -> Result<u64>;
}

/// `count` different keys in random order, the same for the same seed.
pub(crate) fn keys(count: usize, seed: u64) -> Vec<Key> {
    let mut rng = fastrand::Rng::with_seed(seed);
    // 128 random bits: that two are equal is less likely than a broken machine.
    (0..count).map(|_| rng.u128(..).to_be_bytes()).collect()
}

/// The value of a key: its first and last byte are the key's, the rest is filler.
pub(crate) fn value(key: &Key) -> [u8; VALUE_BYTES] {
    let mut value = [key[7]; VALUE_BYTES];
    value[0] = key[0];
    value[VALUE_BYTES - 1] = key[KEY_BYTES - 1];
    value
}

/// What a reader takes from a value: its first and its last byte, so that both ends are fetched.
#[inline]
pub(crate) fn touched(value: &[u8]) -> u64 {
    match value {
        [first, .., last] => u64::from(*first) + u64::from(*last),
        _ => 0,
    }
}

/// What [`Store::get_all`] must answer.
pub(crate) fn expected(keys: &[Key]) -> u64 {
    keys.iter().map(|key| touched(&value(key))).sum()
}

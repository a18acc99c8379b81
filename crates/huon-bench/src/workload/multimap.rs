//! Puts into a multimap: keys with one value, with twenty and with a thousand, one by one and all
//! values of a key at once; and an index of documents by their words. Keys and values have eight
//! bytes.

use super::check;
use crate::engine::{Engine, Pair, Pairs, Result};
use crate::measure::Session;

const PAIRS: u32 = 1_000_000;
const DOCUMENTS: u32 = 18_000;
/// Documents of a transaction.
const BATCH: usize = 1500;
/// Different words of a document, and of all documents: the n-th is 1/n as frequent as the first.
const WORDS: usize = 228;
const VOCABULARY: usize = 60_000;

pub(super) fn run<E: Engine>(session: &mut Session) -> Result<()> {
    if session.open::<E>("asked")?.pairs()?.is_none() {
        return session.left_out("", "it has no keys with many values");
    }
    let count: u64 = session.scaled(PAIRS).into();
    for values in [1, 20, 1000] {
        let pairs: Vec<Pair> = (0..count).map(|n| (word(n / values), word(n))).collect();
        measure::<E>(
            session,
            &format!("put, {values} a key"),
            &pairs,
            pairs.len(),
            |db, pairs| db.put(pairs),
        )?;
        if values > 1 {
            let cell = format!("put {values} at once");
            let put = |db: &dyn Pairs, pairs: &[Pair]| db.put_rows(pairs, values as usize);
            measure::<E>(session, &cell, &pairs, pairs.len(), put)?;
        }
    }
    let documents = session.scaled(DOCUMENTS);
    measure::<E>(session, "index documents", &postings(documents), BATCH * WORDS, |db, pairs| {
        db.put(pairs)
    })
}

/// Puts pairs that differ into an empty database, so many a transaction.
fn measure<E: Engine>(
    session: &mut Session,
    cell: &str,
    pairs: &[Pair],
    batch: usize,
    put: impl Fn(&dyn Pairs, &[Pair]) -> Result<()>,
) -> Result<()> {
    let db = session.open::<E>(cell)?;
    let multimap = db.pairs()?.ok_or("it had keys with many values")?;
    session.measure(cell, "pair", |_| {
        pairs.chunks(batch).try_for_each(|batch| put(&multimap, batch))?;
        Ok(pairs.len() as u64)
    })?;
    check::<E>(multimap.count()?, pairs.len() as u64)?;
    drop(multimap);
    db.close()
}

/// The words of each document, in their order, each with the document.
fn postings(documents: u32) -> Vec<Pair> {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut sums = vec![0.0];
    (1..=VOCABULARY).for_each(|n| sums.push(sums[n - 1] + 1.0 / n as f64));
    let mut pairs = Vec::with_capacity(documents as usize * WORDS);
    for document in 0..u64::from(documents) {
        let mut words = std::collections::BTreeSet::new();
        while words.len() < WORDS {
            let at = rng.f64() * sums[VOCABULARY];
            words.insert(word(sums.partition_point(|sum| *sum <= at) as u64));
        }
        pairs.extend(words.into_iter().map(|word| (word, document.to_be_bytes())));
    }
    pairs
}

/// A number that looks random, another one for each `n`, as bytes.
fn word(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

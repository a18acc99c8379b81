//! A journal with anything in it, behind a data file whose newest commits are there: batches and
//! records of which some words are others, with checksums that are right.

use std::sync::OnceLock;

use huon::sim::SimDisk;
use huon::{Durability, Env, Error, Options};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Choices;
use crate::model::TableId;

const PAGE_BYTES: usize = 512;
const RESERVE_BYTES: u64 = 1 << 20;
const BLOCK_BYTES: usize = 4096;
/// What comes before the records of a batch.
const HEADER_BYTES: usize = 80;
const COMMITS: u8 = 6;

/// What a power loss has left.
struct Past {
    disk: SimDisk,
    data: Vec<u8>,
    journal: Vec<u8>,
}

fn options() -> Options {
    let mut options = Env::options();
    options.page_bytes(PAGE_BYTES).max_bytes(RESERVE_BYTES).journal(16 * BLOCK_BYTES as u64);
    options
}

fn put(env: &Env, n: u8, bytes: usize) -> Result<(), Error> {
    let mut txn = env.write()?;
    txn.create_table(&TableId::MAIN.def())?.put(&mut txn, &[n], &vec![n; bytes])?;
    txn.commit_with(Durability::Durable).map(drop)
}

fn past() -> &'static Past {
    static PAST: OnceLock<Past> = OnceLock::new();
    PAST.get_or_init(|| {
        let disk = SimDisk::new(RESERVE_BYTES).expect("a machine").lossy();
        let env = options().open_simulated(&disk).expect("a new environment");
        (0..COMMITS).for_each(|n| put(&env, n, 40 * usize::from(n + 1)).expect("a commit"));
        let (data, journal) = (disk.flushed_image(), disk.flushed_journal_image());
        Past { disk: disk.after_crash(&[], false).expect("a machine").quiet(), data, journal }
    })
}

/// Opens with the journal that these bytes make of a good one: what opens is whole and goes on, and
/// an error says what is wrong.
pub fn journal(data: &[u8]) {
    let past = past();
    let mut choices = Choices::new(data);
    let mut journal = past.journal.clone();
    for _ in 0..=choices.below(4) {
        edit(&mut choices, &mut journal);
    }
    let disk = past.disk.after_crash(&past.data, false).expect("a machine").quiet();
    let disk = disk.with_journal_image(&journal);
    match options().open_simulated(&disk) {
        Ok(env) => {
            crate::support::audit::audit(&env).expect("what opens is whole");
            put(&env, 99, 10).expect("it goes on");
            put(&env, 99, 20).expect("it goes on");
        }
        Err(Error::Corrupt(_) | Error::Journal(_) | Error::Version(_) | Error::MapFull(_)) => {}
        Err(error) => panic!("an error that does not fit: {error}"),
    }
}

/// Changes something in a batch, which stays bound to the one before, and the one behind to it.
fn edit(choices: &mut Choices<'_>, journal: &mut [u8]) {
    let block = 1 + choices.below(usize::from(COMMITS) - 1);
    let at = block * BLOCK_BYTES;
    let bytes = HEADER_BYTES + half(journal, at + 64) as usize;
    if choices.once_in(8) {
        journal[at + choices.below(BLOCK_BYTES)] ^= 1 << choices.below(8);
        return;
    }
    for _ in 0..=choices.below(3) {
        let place = at + 16 + choices.below(bytes.clamp(HEADER_BYTES, BLOCK_BYTES) - 20) / 4 * 4;
        let value = choices.trouble(u64::from(half(journal, place))) as u32;
        journal[place..place + 4].copy_from_slice(&value.to_le_bytes());
    }
    for block in block..usize::from(COMMITS) {
        seal(journal, block * BLOCK_BYTES);
    }
}

/// Gives a batch its checksum, and binds the next one to it.
fn seal(journal: &mut [u8], at: usize) {
    let end = at + HEADER_BYTES + half(journal, at + 64) as usize;
    let Some(summed) = journal.get(at + 16..end) else { return };
    let seed = xxh3_64_with_seed(&journal[at + 24..at + 40], 0);
    let checksum = xxh3_64_with_seed(summed, seed).to_le_bytes();
    journal[at + 8..at + 16].copy_from_slice(&checksum);
    journal[at + BLOCK_BYTES + 48..at + BLOCK_BYTES + 56].copy_from_slice(&checksum);
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

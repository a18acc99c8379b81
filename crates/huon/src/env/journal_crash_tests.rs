//! Environments with a journal after power losses: at any moment, and one while the other is
//! recovered from.

use super::journal_tests::{options, with_commits};
use super::tests::{T, has, put};
use crate::page::{META_BYTES, META_SLOTS, Meta};
use crate::sim::{Event, SimDisk};
use crate::{Durability, Env, Recovery};

/// A file as a power loss may leave it: what was flushed, and any part of what was written since.
#[derive(Clone, Default)]
struct Crashable {
    flushed: Vec<u8>,
    pending: Vec<(usize, Vec<u8>)>,
}

impl Crashable {
    fn see(&mut self, event: &Event) {
        match event {
            Event::Write { offset, bytes } => self.write(*offset, bytes, 256),
            Event::Grow { to, .. } => self.flushed.resize(*to as usize, 0),
            Event::Shrink { to, .. } => self.flushed.truncate(*to as usize),
            Event::Sync => self.flush(),
            Event::SyncLost => unreachable!("no flush fails"),
            _ => {}
        }
    }

    fn see_as_journal(&mut self, event: &Event) {
        match event {
            Event::JournalMade { bytes } => self.flushed = vec![0; *bytes as usize],
            Event::JournalWrite { offset, bytes } => self.write(*offset, bytes, 1024),
            Event::JournalSync => self.flush(),
            _ => {}
        }
    }

    fn write(&mut self, at: u64, bytes: &[u8], step: usize) {
        let mut at = at as usize;
        for piece in bytes.chunks(step) {
            self.pending.push((at, piece.to_vec()));
            at += piece.len();
        }
    }

    fn flush(&mut self) {
        self.flushed = self.with(|_| true);
        self.pending.clear();
    }

    fn with(&self, mut keeps: impl FnMut(usize) -> bool) -> Vec<u8> {
        let mut image = self.flushed.clone();
        for (number, (at, bytes)) in self.pending.iter().enumerate() {
            if keeps(number) {
                image[*at..*at + bytes.len()].copy_from_slice(bytes);
            }
        }
        image
    }
}

/// Commits of every kind, each of which adds the next key; when each was acknowledged as durable.
fn mixed_commits(env: &Env, disk: &SimDisk, random: &mut impl FnMut(u64) -> u64) -> Vec<usize> {
    let mut acknowledged = Vec::new();
    for key in 0..60 {
        let durability = match random(10) {
            0 => Durability::Lazy,
            1 => Durability::NoMetaSync,
            _ => Durability::Durable,
        };
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&T).unwrap();
        // Some are large, and have no record, or not one that fits the ring.
        let bytes = [20, 20, 20, 100, 3000, 30_000][random(6) as usize];
        t.put(&mut txn, key, &vec![key as u8; bytes]).unwrap();
        if random(5) == 0 {
            let ticket = txn.commit_ticket().unwrap();
            if random(2) == 0 {
                continue;
            }
            ticket.wait().unwrap();
        } else {
            txn.commit_with(durability).unwrap();
            if durability != Durability::Durable {
                continue;
            }
        }
        acknowledged.resize(key as usize + 1, disk.event_count());
    }
    acknowledged
}

/// How many keys there are; all below the first that is missing.
fn keys_there(env: &Env) -> usize {
    let there = (0..64).take_while(|key| has(env, *key)).count();
    (there as u64..64).for_each(|key| assert!(!has(env, key), "key {key} without {there}"));
    there
}

#[test]
fn no_power_loss_takes_what_was_acknowledged() {
    let mut cases = 0;
    for seed in 1..crate::testing::sized(20, 4) as u64 {
        let mut state = seed;
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let disk = SimDisk::new(8 << 20).unwrap();
        let env = options().open_simulated(&disk).unwrap();
        let opened_at = disk.event_count();
        let acknowledged = mixed_commits(&env, &disk, &mut random);
        crate::testing::kill(env);
        let (mut data, mut journal) = (Crashable::default(), Crashable::default());
        for (at, event) in disk.events().iter().enumerate() {
            data.see(event);
            journal.see_as_journal(event);
            let owed = acknowledged.iter().filter(|when| **when <= at + 1).count();
            let is_flush = matches!(event, Event::Sync | Event::JournalSync);
            let is_chosen = at >= opened_at && (is_flush || random(6) == 0);
            for round in 0..if is_chosen { 3 } else { 0 } {
                let percent = [0, 100, 50][round];
                let image = data.with(|_| random(100) < percent);
                let image_of_journal = journal.with(|_| random(100) < [50, 0, 80][round]);
                let crashed = SimDisk::from_image(&image, 8 << 20).unwrap();
                let crashed = crashed.with_journal_image(&image_of_journal);
                let opened = options().open_simulated(&crashed);
                let env = opened.unwrap_or_else(|error| panic!("{seed}, event {at}: {error}"));
                let there = keys_there(&env);
                assert!(there >= owed, "{seed}, event {at}: {there} of {owed} keys");
                assert!(env.check().unwrap().is_clean(), "{seed}, event {at}");
                put(&env, there as u64, Durability::Durable);
                assert_eq!(keys_there(&env), there + 1);
                cases += 1;
            }
        }
    }
    crate::figure("crash", cases);
}

fn put_lazily(env: &Env, key: u64, value: &[u8]) {
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    t.put(&mut txn, key, value).unwrap();
    txn.commit_with(Durability::Lazy).unwrap();
}

/// The slot of the newest meta in an image.
fn newest_slot(image: &[u8]) -> usize {
    let meta = |slot: &usize| {
        let block = &image[slot * META_BYTES..][..META_BYTES];
        Meta::decode(block.try_into().expect("a block")).ok().map(|meta| meta.txnid)
    };
    (0..META_SLOTS).max_by_key(meta).expect("a slot")
}

/// J5.9: of a checkpoint's meta a power loss takes the last sector. While that is recovered from,
/// another one leaves the pages that were replayed, and of the repair's meta just that sector.
#[test]
fn a_torn_meta_is_not_completed_by_the_one_that_repairs() {
    const SECTOR: usize = 512;
    let (disk, env) = with_commits(10);
    // Snapshots that the journal does not lead to, in pages that it writes, and so much that their
    // meta is flushed after them, and stands by its checksum alone.
    (10..20).for_each(|key| put_lazily(&env, key, &[7; 200_000]));
    env.sync().unwrap();
    crate::testing::kill(env);
    let mut image = disk.flushed_image();
    let torn = newest_slot(&image) * META_BYTES;
    let last = torn + META_BYTES - SECTOR..torn + META_BYTES;
    image[last.clone()].fill(0xEE);
    let machine = disk.after_crash(&image, false).unwrap();
    let machine = machine.with_journal_image(&disk.flushed_journal_image());
    let env = options().open_simulated(&machine).unwrap();
    assert_eq!(env.recovery(), Recovery::Replayed);
    assert_eq!(keys_there(&env), 10);
    crate::testing::kill(env);

    let mut data = Crashable { flushed: image, ..Crashable::default() };
    let repairs = |event: &Event| match event {
        Event::Write { offset, bytes } => *offset == torn as u64 && bytes.len() == META_BYTES,
        _ => false,
    };
    let events = machine.events();
    let repair = events.iter().position(repairs).expect("the repair took the slot");
    events[..repair].iter().for_each(|event| data.see(event));
    data.flush();
    let Event::Write { bytes, .. } = &events[repair] else { unreachable!() };
    data.flushed[last].copy_from_slice(&bytes[META_BYTES - SECTOR..]);
    let again = machine.after_crash(&data.flushed, false).unwrap();
    let again = again.with_journal_image(&machine.flushed_journal_image());
    let env = options().open_simulated(&again).unwrap();
    assert_eq!((keys_there(&env), env.recovery()), (10, Recovery::Replayed));
    assert!(env.check().unwrap().is_clean());
}

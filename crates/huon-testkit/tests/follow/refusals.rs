//! What a follower refuses, and that nothing is lost by it.

use std::time::Duration;

use huon::sim::SimDisk;
use huon::{Env, Error, Replica, Str, TableDef, U64};
use huon_testkit::follow::{Source, Step};
use huon_testkit::random::Random;
use huon_testkit::{figures, scale};

use super::{PAGE_BYTES, audited, replica_on};

/// A replica that is at the first of two steps.
fn behind(page_bytes: usize, seed: u64, pins: bool) -> (SimDisk, Replica, Step, Step) {
    let mut source = Source::new(page_bytes, seed);
    source.pins = pins;
    let first = source.step();
    let second = source.step();
    let disk = SimDisk::new(8 << 20).expect("a machine").quiet();
    let mut replica = replica_on(&disk, &first.segment.image);
    first.segment.apply(&mut replica).expect("the first one");
    (disk, replica, first, second)
}

/// Nothing has happened to it.
fn is_at(replica: &Replica, step: &Step) {
    assert_eq!(replica.at().expect("a name"), step.segment.image.name());
    step.model.compare(&replica.env().read().expect("read")).expect("it shows what it showed");
    audited(replica.env());
}

#[test]
fn a_page_that_is_missing_damaged_or_of_another_snapshot_changes_nothing() {
    let mut refused = 0;
    for round in 0..scale::share(600) {
        let seed = scale::seed("follow: wrong pages", round);
        let (_disk, mut replica, first, mut second) =
            behind(PAGE_BYTES[round as usize % 3], seed, true);
        let mut random = Random::new(seed);
        let pages = &mut second.segment.pages;
        if pages.is_empty() {
            continue;
        }
        let one = random.index(pages.len());
        let kept = pages.clone();
        match random.below(4) {
            0 => drop(pages.remove(one)),
            1 => {
                let at = random.index(pages[one].1.len());
                pages[one].1[at] ^= 1 << random.below(8);
            }
            2 => pages[one].1.fill(0),
            _ => {
                let other = random.index(pages.len());
                let page_bytes = second.segment.image.page_bytes() as usize;
                let bytes = pages[other].1[..page_bytes].to_vec();
                pages[one].1[..bytes.len()].copy_from_slice(&bytes);
            }
        }
        if *pages == kept {
            continue;
        }
        match second.segment.apply(&mut replica) {
            Err(Error::Corrupt(_)) => refused += 1,
            // A bit behind the end of a large value is no part of it.
            Ok(_) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        }
        is_at(&replica, &first);
        second.segment.pages = kept;
        second.segment.apply(&mut replica).expect("the right pages");
        is_at(&replica, &second);
    }
    println!("{refused} wrong segments refused");
    assert!(refused as u64 > scale::share(600) / 2);
    figures::named("follow.refused", refused as u64);
}

#[test]
fn pages_over_those_of_the_snapshot_before_are_refused() {
    let mut refused = 0;
    for round in 0..scale::share(300) {
        let seed = scale::seed("follow: no pin", round);
        let (_disk, mut replica, first, second) =
            behind(PAGE_BYTES[round as usize % 3], seed, false);
        let reader = replica.env().read().expect("a reader of the snapshot before");
        match second.segment.apply(&mut replica) {
            Ok(_) => is_at(&replica, &second),
            Err(Error::Diverged(text)) => {
                assert!(text.contains("would be written over"), "{text}");
                is_at(&replica, &first);
                refused += 1;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
        first.model.compare(&reader).expect("the reader is not disturbed");
    }
    println!("{refused} segments of a source without a pin refused");
    assert!(refused as u64 > scale::share(300) / 4, "{refused}");
}

#[test]
fn changes_that_do_not_follow_are_refused() {
    let (_disk, mut replica, first, second) = behind(512, 1, true);
    let again = first.segment.apply(&mut replica);
    assert!(matches!(again, Err(Error::Diverged(_))), "{again:?}");
    let mut other = second.segment.from.expect("it follows one");
    other.checksum ^= 1;
    let begun = replica.begin(Some(other), &second.segment.image).map(drop);
    let Err(Error::Diverged(text)) = begun else { panic!("{begun:?}") };
    assert!(text.contains(&other.to_string()), "{text}");
    is_at(&replica, &first);
    let stranger = Source::new(512, 2).step();
    let begun = replica.begin(second.segment.from, &stranger.segment.image).map(drop);
    assert!(matches!(begun, Err(Error::Diverged(_))), "{begun:?}");
    second.segment.apply(&mut replica).expect("the next one");
    is_at(&replica, &second);
}

#[test]
fn a_transaction_in_a_replica_ends_its_following() {
    const T: TableDef<Str, U64> = TableDef::new("one's own");
    let (_disk, replica, first, second) = behind(512, 3, true);
    let env = replica.env().clone();
    assert!(matches!(env.write_within(Duration::ZERO), Err(Error::Busy(_) | Error::ThreadWrites)));
    drop(replica);
    let write = |txn: &mut huon::WriteTxn| {
        txn.create_table(&T)?.put(txn, "n", 1)?;
        Ok(txn.id())
    };
    let id = env.update(write).expect("it can be written");
    assert!(id > first.segment.image.id() + (1 << 32), "{id} is above all ids of the source");
    let mut replica = Replica::of(env, &second.segment.image).expect("it has the same id");
    let begun = second.segment.apply(&mut replica);
    assert!(matches!(begun, Err(Error::Diverged(_))), "{begun:?}");
    audited(replica.env());
}

#[test]
fn readers_of_older_snapshots_are_waited_for_and_parked_ones_evicted() {
    let mut source = Source::new(512, 4);
    let steps: Vec<Step> = (0..3).map(|_| source.step()).collect();
    let disk = SimDisk::new(8 << 20).expect("a machine").quiet();
    let mut replica = replica_on(&disk, &steps[0].segment.image);
    steps[0].segment.apply(&mut replica).expect("the first one");
    let other = huon_testkit::follow::options(512).open_simulated(&disk).expect("another client");
    let reader = other.read().expect("a reader");
    steps[1].segment.apply(&mut replica).expect("the reader sees the snapshot before");
    steps[0].model.compare(&reader).expect("the reader is not disturbed");
    let refused = steps[2].segment.apply(&mut replica);
    let Err(Error::Busy(text)) = refused else { panic!("{refused:?}") };
    assert!(text.contains(&format!("the older snapshot {}", reader.id())), "{text}");
    steps[0].model.compare(&reader).expect("the reader is not disturbed");
    let parked = reader.park().expect("it is parked");
    steps[2].segment.apply(&mut replica).expect("a parked one is evicted");
    assert!(matches!(parked.unpark(), Err(Error::Evicted)));
    is_at(&replica, &steps[2]);
}

#[test]
fn a_byte_copy_with_named_snapshots_follows_nothing() {
    const T: TableDef<Str, U64> = TableDef::new("stock");
    let dir = tempfile::tempdir().expect("a directory");
    let [path, copied] = ["source.huon", "copied.huon"].map(|name| dir.path().join(name));
    let source = Env::open(&path).expect("a file");
    let put = |value| {
        source.update(|txn| {
            let table = txn.create_table(&T)?;
            (0..2000).try_for_each(|n| table.put(txn, &format!("{n:05}"), value).map(drop))
        })?;
        source.sync()
    };
    put(1).expect("commit");
    let first = source.capture().expect("a capture");
    source.update(|txn| txn.name_snapshot("n", &first)).expect("a name");
    drop(first);
    put(2).expect("commit");
    std::fs::copy(&path, &copied).expect("a byte copy");
    put(3).expect("commit");
    let image = source.capture().expect("a capture").image().clone();
    let replica = Replica::open(&copied, &image).map(drop);
    let Err(Error::Invalid(text)) = replica else { panic!("{replica:?}") };
    assert!(text.contains("named snapshots"), "{text}");
    let env = Env::open(&copied).expect("the copy is as it was");
    audited(&env);
    let named = env.named_snapshot("n").expect("its snapshot").expect("it has the name");
    let txn = named.txn();
    let table = txn.open_table(&T).expect("open").expect("a table");
    assert_eq!(table.get(txn, "00000").expect("get"), Some(1));
}

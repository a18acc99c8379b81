//! The simulated machine keeps its own rules.

use super::disk::*;
use super::loss::BLOCK_BYTES;
use crate::error::Error;
use crate::os::{IoCounts, Storage};

const RESERVE: u64 = 1 << 20;

fn disk(bytes: u64) -> (SimDisk, Box<dyn Storage>) {
    let disk = SimDisk::new(RESERVE).unwrap();
    let file = disk.storage();
    file.grow(bytes).unwrap();
    (disk, file)
}

/// What the events make of `base`: the rule that crash images rest on.
fn replay(base: &[u8], events: &[Event]) -> Vec<u8> {
    let mut image = base.to_vec();
    for event in events {
        match event {
            Event::Write { offset, bytes } => {
                image[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
            }
            Event::Grow { from, to } | Event::Shrink { from, to } => {
                assert_eq!(image.len() as u64, *from);
                image.resize(*to as usize, 0);
            }
            Event::Sync | Event::SyncLost => {}
            Event::JournalMade { .. } | Event::JournalWrite { .. } | Event::JournalSync => {}
        }
    }
    image
}

#[test]
fn every_change_is_an_event_with_all_its_bytes() {
    let (disk, file) = disk(8192);
    file.write_at(&[b"ab", b"", b"cd"], 4094).unwrap();
    file.sync().unwrap();
    file.shrink(4096).unwrap();
    let written = Event::Write { offset: 4094, bytes: (*b"abcd").into() };
    let grown = Event::Grow { from: 0, to: 8192 };
    let cut = Event::Shrink { from: 8192, to: 4096 };
    assert_eq!(disk.events(), [grown, written, Event::Sync, cut]);
    assert_eq!(file.map().page(4094, 2), Some(&b"ab"[..]));
    let counts = IoCounts { syncs: 1, writes: 1, stores: 0, written_bytes: 4, grows: 1 };
    assert_eq!(file.counts(), counts);
    disk.clear_events();
    let disk = disk.quiet();
    file.grow(8192).unwrap();
    assert_eq!(file.map().page(4094, 4), Some(&b"ab\0\0"[..]));
    assert_eq!(disk.event_count(), 0);
}

#[test]
fn random_histories_replay_to_the_image() {
    let (disk, file) = disk(4096);
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for _ in 0..2000 {
        let length = file.file_bytes().unwrap();
        match random(10) {
            0 => file.grow(length.max(random(200_000))).unwrap(),
            1 => file.shrink(random(200_000)).unwrap(),
            2 => file.sync().unwrap(),
            _ => {
                let offset = random(length + 1);
                let bytes = vec![random(256) as u8; random(length - offset + 1) as usize];
                let (one, two) = bytes.split_at(bytes.len() / 3);
                file.write_at(&[one, two], offset).unwrap();
            }
        }
    }
    let image = disk.image();
    assert!(replay(&[], &disk.events()) == image);
    assert_eq!(image.len() as u64, file.file_bytes().unwrap());
    assert!(file.map().page(0, image.len()) == Some(&image[..]));
    let mut read = vec![0; image.len() + 10];
    assert_eq!(file.read_at(&mut read, 0).unwrap(), image.len());
    assert!(read[..image.len()] == image[..]);
}

#[test]
fn it_refuses_what_a_real_file_refuses() {
    let (disk, file) = disk(8192);
    for offset in [8190, 8192, u64::MAX - 1] {
        assert!(matches!(file.write_at(&[b"a", b"bc"], offset), Err(Error::Io(_))));
    }
    assert!(matches!(file.grow(RESERVE + 4096), Err(Error::MapFull(_))));
    assert_eq!(file.read_at(&mut [0; 4], 8192).unwrap(), 0);
    file.grow(100).unwrap();
    file.shrink(10_000).unwrap();
    assert_eq!(disk.image(), vec![0; 8192]);
    assert_eq!(disk.event_count(), 1);
    let reader = disk.storage_read_only();
    assert!(matches!(reader.write_at(&[b"x"], 0), Err(Error::ReadOnly)));
    assert!(matches!(reader.grow(9000), Err(Error::ReadOnly)));
    assert!(matches!(reader.shrink(0), Err(Error::ReadOnly)));
    assert!(!reader.try_alone().unwrap() && reader.try_join().unwrap());
}

#[test]
fn one_alone_or_many_joined() {
    let (disk, a) = disk(0);
    let b = disk.storage();
    assert!(a.try_alone().unwrap() && a.try_alone().unwrap());
    assert!(!b.try_alone().unwrap() && !b.try_join().unwrap());
    assert!(a.try_join().unwrap() && b.try_join().unwrap());
    assert!(!a.try_alone().unwrap() && !b.try_alone().unwrap());
    let c = disk.storage();
    assert!(!c.try_alone().unwrap());
    assert!(a.has_others().unwrap() && c.has_others().unwrap());
    drop(a);
    assert!(!b.has_others().unwrap() && c.has_others().unwrap());
    assert!(b.try_alone().unwrap());
    drop(b);
    assert!(c.try_alone().unwrap());
}

#[test]
fn machines_share_only_what_is_carried_over() {
    let (disk, file) = disk(4096);
    file.write_at(&[b"x"], 0).unwrap();
    assert!(file.try_alone().unwrap());
    disk.clone().with_lock_image(&[5]);
    let killed = disk.after_crash(&disk.image(), true).unwrap();
    let rebooted = disk.after_crash(&disk.image(), false).unwrap();
    let other = SimDisk::from_image(&disk.image(), RESERVE).unwrap();
    assert_eq!((killed.boot(), killed.identity()), (disk.boot(), disk.identity()));
    assert_ne!(rebooted.boot(), disk.boot());
    assert_eq!(rebooted.identity(), disk.identity());
    assert_ne!(other.boot(), disk.boot());
    assert_ne!(other.identity(), disk.identity());
    other.set_boot(disk.boot());
    assert_eq!(other.boot(), disk.boot());
    file.write_at(&[b"y"], 0).unwrap();
    for later in [killed, rebooted, other] {
        assert_eq!(later.image()[0], b'x');
        assert!(later.lock_image().is_empty() && later.event_count() == 0);
        assert!(later.storage().try_alone().unwrap());
    }
    assert_eq!(disk.clone().lock_image(), [5]);
}

#[test]
fn a_machine_that_starts_again_has_forgotten_everything() {
    let (disk, file) = disk(3 * BLOCK_BYTES);
    file.write_at(&[&[7; 3 * BLOCK_BYTES as usize]], 0).unwrap();
    drop(file);
    let (boot, identity) = (disk.boot(), disk.identity());
    disk.restart(b"abc", Some(boot), Some(&[1, 2, 3]));
    assert_eq!((disk.image(), disk.lock_image()), (b"abc".to_vec(), vec![1, 2, 3]));
    assert_eq!((disk.boot(), disk.identity(), disk.event_count()), (boot, identity, 0));
    disk.restart(b"longer", None, Some(&[4]));
    assert_eq!((disk.image(), disk.lock_image()), (b"longer".to_vec(), vec![4]));
    assert_ne!(disk.boot(), boot);
    disk.restart(b"", None, None);
    assert!(disk.lock_image().is_empty());
    let file = disk.storage();
    file.grow(2 * BLOCK_BYTES).unwrap();
    assert!(disk.image().iter().all(|byte| *byte == 0), "what was there before is gone");
}

#[test]
#[should_panic(expected = "no client has a machine's file open")]
fn a_machine_in_use_does_not_start_again() {
    let (disk, file) = disk(4096);
    file.try_join().unwrap();
    disk.restart(b"", None, None);
}

#[test]
fn a_failed_flush_loses_what_it_should_have_written() {
    let disk = SimDisk::new(RESERVE).unwrap().lossy();
    let file = disk.storage();
    file.grow(5 * BLOCK_BYTES).unwrap();
    for block in 0..5 {
        file.write_at(&[b"old"], block * BLOCK_BYTES).unwrap();
    }
    file.sync().unwrap();
    for block in 0..4 {
        file.write_at(&[b"new"], block * BLOCK_BYTES).unwrap();
    }
    disk.fail_syncs(1);
    assert!(matches!(file.sync(), Err(Error::Io(_))));
    // Block 1 is written to again, elsewhere: all of it is due again. Block 4 is new.
    file.write_at(&[b"more"], BLOCK_BYTES + 100).unwrap();
    file.write_at(&[b"new"], 4 * BLOCK_BYTES).unwrap();
    file.sync().unwrap();
    let first = |block: u64| {
        let image = disk.image();
        image[(block * BLOCK_BYTES) as usize..][..3].to_vec()
    };
    assert!((0..5).all(|block| first(block) == b"new"));
    // Blocks that are cut off come back as zeros, lost or not; half of block 2 stays as it was.
    file.shrink(2 * BLOCK_BYTES + 2).unwrap();
    file.grow(5 * BLOCK_BYTES).unwrap();
    file.forget_cache();
    assert_eq!([first(0), first(1), first(2)], [*b"old", *b"new", *b"ol\0"]);
    assert_eq!([first(3), first(4)], [[0; 3]; 2]);
    assert_eq!(disk.events().iter().filter(|e| **e == Event::SyncLost).count(), 1);
    assert_eq!(file.counts().syncs, 2);
}

#[test]
fn a_failed_flush_may_lose_some_blocks_and_a_kill_loses_none() {
    let disk = SimDisk::new(RESERVE).unwrap().lossy();
    let file = disk.storage();
    file.grow(4 * BLOCK_BYTES).unwrap();
    disk.fail_sync(1, |block| block == 1);
    let write_all = |text: &[u8]| {
        (0..4).for_each(|block| file.write_at(&[text], block * BLOCK_BYTES).unwrap());
    };
    write_all(b"old");
    file.sync().unwrap();
    write_all(b"new");
    assert_eq!(disk.failing_syncs(), 1);
    assert!(file.sync().is_err());
    assert_eq!(disk.failing_syncs(), 0);
    file.write_at(&[b"not"], 2 * BLOCK_BYTES).unwrap();
    file.write_at(&[b"not"], 3 * BLOCK_BYTES).unwrap();
    let firsts = |image: Vec<u8>| {
        let chunks = image.chunks(BLOCK_BYTES as usize);
        chunks.map(|block| String::from_utf8_lossy(&block[..3]).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(firsts(disk.image()), ["new", "new", "not", "not"]);
    assert_eq!(firsts(disk.disk_image(|block| block == 3)), ["new", "old", "new", "not"]);
    let later = disk.clone().with_lock_image(&[8]).after_kill(None).unwrap();
    assert_eq!(later.lock_image(), [8]);
    assert_eq!(firsts(later.image()), ["new", "new", "not", "not"]);
    assert_eq!(firsts(later.disk_image(|_| false)), ["new", "old", "new", "new"]);
    later.storage().forget_cache();
    assert_eq!(firsts(later.image()), ["new", "old", "not", "not"]);
    later.storage().sync().unwrap();
    assert_eq!(firsts(later.disk_image(|_| false)), ["new", "old", "not", "not"]);
    assert_eq!(disk.after_kill(Some(&[9])).unwrap().lock_image(), [9]);
}

#[test]
#[should_panic(expected = "lossy")]
fn only_a_lossy_machine_can_fail_its_flushes() {
    SimDisk::new(RESERVE).unwrap().fail_syncs(1);
}

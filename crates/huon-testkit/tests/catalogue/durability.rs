//! Which snapshot counts, ways to end and to open again, and files that lie about.

use std::fs;
use std::path::Path;

use huon::sim::{Sealer, SimDisk};
use huon::{CopyOptions, Durability, Env, Error, Options, Recovery};
use huon_testkit::figures;

use super::child::{self, Child};
use super::{Model, Place, assert_clean, assert_holds, assert_same, def, small};

const META: usize = 4096;
const COMMIT: usize = 44;
const TXNID: usize = 48;
const BEFORE: usize = 56;
/// Small, as there are thousands of machines.
const MACHINE_BYTES: u64 = 1 << 20;

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn on_disk() -> Options {
    let mut options = small();
    options.durability(Durability::Durable).max_bytes(MACHINE_BYTES).shrink_bytes(0);
    options
}

/// What became of a meta and of the pages that were written with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// Flushed after its pages.
    TwoFlush,
    /// Flushed together with them, and all of it arrived.
    OneFlush,
    /// The same, but a page is missing.
    Torn,
    /// The meta itself is not there.
    Zero,
    /// It is there with a wrong checksum.
    Garbage,
    /// It names a version of the format that is not known.
    Newer,
}

const FATES: [Fate; 6] =
    [Fate::TwoFlush, Fate::OneFlush, Fate::Torn, Fate::Zero, Fate::Garbage, Fate::Newer];

impl Fate {
    fn is_whole(self) -> bool {
        matches!(self, Fate::TwoFlush | Fate::OneFlush | Fate::Torn)
    }
}

/// A file with three commits, the metas in their order, the page that only the root of each commit
/// lies on, and what each commit holds. No commit has written over what an older one sees.
struct Three {
    image: Vec<u8>,
    roots: [usize; 3],
    models: [Model; 3],
    disk: SimDisk,
}

fn three_commits() -> Three {
    let disk = SimDisk::new(MACHINE_BYTES).unwrap();
    let env = on_disk().open_simulated(&disk).unwrap();
    // The first write transaction of a new file writes a meta of its own.
    drop(env.write().unwrap());
    let (mut models, mut readers) = ([const { Model::new() }; 3], Vec::new());
    for commit in 0..3u8 {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&def()).unwrap();
        let mut model = models[usize::from(commit.saturating_sub(1))].clone();
        for n in 0..20u8 {
            super::put(&mut txn, t, &mut model, &[commit, n], &[commit * 20 + n; 60]);
        }
        txn.commit().unwrap();
        models[usize::from(commit)] = model;
        // It keeps what the commit sees from being written over.
        readers.push(env.read().unwrap());
    }
    let image = disk.image();
    drop(readers);
    std::mem::forget(env);
    let mut metas: Vec<usize> = (0..3).collect();
    metas.sort_by_key(|slot| word(&image, slot * META + TXNID));
    // In their order from here on: the slot of a meta is not written in it.
    let blocks: Vec<u8> =
        metas.iter().flat_map(|slot| image[slot * META..(slot + 1) * META].to_vec()).collect();
    let image = [&blocks[..], &image[3 * META..]].concat();
    let roots = [0, 1, 2].map(|n| {
        let root = n * META + 96;
        u32::from_le_bytes(image[root..root + 4].try_into().unwrap()) as usize
    });
    for n in 1..3 {
        let before = word(&image, n * META + BEFORE);
        assert_eq!(before, word(&image, (n - 1) * META + TXNID), "each builds on the one before");
    }
    assert!(roots.iter().all(|&root| root >= 48), "{roots:?}");
    Three { image, roots, models, disk }
}

/// The file with the metas in these slots and of these fates, oldest first.
fn combined(three: &Three, slots: [usize; 3], fates: [Fate; 3]) -> Vec<u8> {
    let mut image = three.image.clone();
    for (n, fate) in fates.into_iter().enumerate() {
        let mut block: [u8; META] = three.image[n * META..][..META].try_into().unwrap();
        block[COMMIT] = if fate == Fate::TwoFlush { 2 } else { 1 };
        Sealer::meta(&mut block);
        match fate {
            Fate::Torn => image[three.roots[n] * 256..][..256].fill(0),
            Fate::Zero => block.fill(0),
            Fate::Garbage => block[TXNID + 1] = 0x7F,
            Fate::Newer => block[4] = 9,
            Fate::TwoFlush | Fate::OneFlush => {}
        }
        image[slots[n] * META..][..META].copy_from_slice(&block);
    }
    image
}

/// What should be found: which commit, and how.
fn expected(fates: [Fate; 3]) -> Option<(usize, Recovery)> {
    if fates.contains(&Fate::Newer) {
        // It may be the newest one: the file is for a newer version.
        return None;
    }
    let newest = (0..3).rev().find(|&n| fates[n].is_whole())?;
    if fates[newest] != Fate::Torn {
        return Some((newest, Recovery::Flushed));
    }
    // One step back, to the one it was built on, and only to a whole one.
    let before = newest.checked_sub(1)?;
    let there = fates[before].is_whole() && fates[before] != Fate::Torn;
    there.then_some((before, Recovery::SteppedBack))
}

/// bolt (2016) read the page size from its first meta only, and libmdbx (2021 to 2023) chose a meta
/// that was not valid because its number was higher, or had none left after a crash. Here all
/// combinations: three metas in any order, each flushed alone, flushed with its pages, with a page
/// missing, zeroed, damaged, or of another version.
#[test]
fn which_meta_counts_in_every_combination() {
    const ORDERS: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let three = three_commits();
    let mut count = 0;
    for number in 0..6usize.pow(3) {
        let fates = [number % 6, number / 6 % 6, number / 36].map(|n| FATES[n]);
        for slots in ORDERS {
            let what = format!("{fates:?} in {slots:?}");
            let image = combined(&three, slots, fates);
            let disk = three.disk.after_crash(&image, false).unwrap().quiet();
            let opened = on_disk().open_simulated(&disk);
            count += 1;
            match (opened, expected(fates)) {
                (Ok(env), Some((commit, how))) => {
                    assert_eq!(env.recovery(), how, "{what}");
                    assert_holds(&env, &three.models[commit], &what);
                    goes_on(&env, &three.models[commit], &what);
                    drop(env);
                    let env = on_disk().open_simulated(&disk).unwrap();
                    assert_eq!(env.recovery(), Recovery::Clean, "{what}");
                    goes_on(&env, &three.models[commit], &what);
                }
                (Err(error), None) => {
                    let telling = if fates.contains(&Fate::Newer) {
                        matches!(error, Error::Version(_))
                    } else {
                        matches!(error, Error::Corrupt(_) | Error::NotADatabase(_))
                    };
                    assert!(telling, "{what}: {error}");
                    assert_eq!(disk.image(), image, "{what}: an error changes nothing");
                }
                (opened, expected) => panic!("{what}: {opened:?} instead of {expected:?}"),
            }
        }
    }
    figures::add("exhaustive", count);
}

/// Three more commits work, and what they do not touch stays.
fn goes_on(env: &Env, model: &Model, what: &str) {
    let mut model = model.clone();
    for n in 0..3 {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&def()).unwrap();
        super::put(&mut txn, t, &mut model, &[9, n], &[n; 200]);
        txn.commit().unwrap();
    }
    assert_clean(env, what);
    assert_holds(env, &model, what);
    let t = env.update(|txn| txn.create_table(&def())).unwrap();
    env.update(|txn| (0..3).try_for_each(|n| t.remove(txn, &[9, n]).map(drop))).unwrap();
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Commit(Durability),
    Sync,
    Abort,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Close,
    Drop,
    Dirty,
    /// As a killed process leaves it.
    Killed,
    /// As a killed process leaves it, with a transaction under way that has written.
    KilledWriting,
}

const DEEDS: [Deed; 7] = [
    Deed::Commit(Durability::Durable),
    Deed::Commit(Durability::NoMetaSync),
    Deed::Commit(Durability::Lazy),
    Deed::Commit(Durability::Unsynced),
    Deed::Sync,
    Deed::Abort,
    Deed::Nothing,
];
const ENDINGS: [Ending; 5] =
    [Ending::Close, Ending::Drop, Ending::Dirty, Ending::Killed, Ending::KilledWriting];

/// libmdbx (2022) stopped at an assertion when a file was opened that had last been written without
/// flushes. Here every sequence of two deeds, in environments of each mode, ended in every way:
/// on a machine that goes on, all of it is there.
#[test]
fn every_sequence_of_modes_opens_again() {
    let modes = [Durability::Durable, Durability::Lazy, Durability::Unsynced];
    let mut count = 0;
    for number in 0..3 * DEEDS.len().pow(2) {
        let deeds = [number / 3 % 7, number / 21].map(|n| DEEDS[n]);
        let mode = modes[number % 3];
        for ending in ENDINGS {
            let what = format!("{deeds:?} in {mode:?}, {ending:?}");
            let disk = SimDisk::new(MACHINE_BYTES).unwrap().quiet();
            let mut options = on_disk();
            options.durability(mode).write_buffer_bytes(8 * 256);
            let env = options.open_simulated(&disk).unwrap();
            let mut model = Model::new();
            for deed in deeds.into_iter().chain([Deed::Commit(mode)]) {
                perform(&env, deed, &mut model);
            }
            let disk = end(disk, env, ending);
            for round in 0..2 {
                let env = options.open_simulated(&disk).unwrap();
                let recovery = env.recovery();
                let expected: &[Recovery] = match (ending, round) {
                    (Ending::Close | Ending::Drop, _) | (_, 1) => &[Recovery::Clean],
                    _ => &[Recovery::Clean, Recovery::Newest],
                };
                assert!(expected.contains(&recovery), "{what}: {recovery:?} in round {round}");
                assert_holds(&env, &model, &what);
                goes_on(&env, &model, &what);
                env.close().unwrap();
            }
            count += 1;
        }
    }
    figures::add("exhaustive", count);
}

fn perform(env: &Env, deed: Deed, model: &mut Model) {
    match deed {
        Deed::Commit(durability) => {
            let mut txn = env.write().unwrap();
            let t = txn.create_table(&def()).unwrap();
            let n = model.len() as u8;
            (0..5).for_each(|k| super::put(&mut txn, t, model, &[n, k], &[n ^ k; 90]));
            txn.commit_with(durability).unwrap();
        }
        Deed::Sync => drop(env.sync().unwrap()),
        Deed::Abort => {
            let mut txn = env.write().unwrap();
            let t = txn.create_table(&def()).unwrap();
            (0..40).for_each(|k| t.put(&mut txn, &[k], &[k; 95]).map(drop).unwrap());
            txn.abort();
        }
        Deed::Nothing => {
            drop(env.read().unwrap());
            env.write().unwrap().commit().map(drop).unwrap();
        }
    }
}

fn end(disk: SimDisk, env: Env, ending: Ending) -> SimDisk {
    match ending {
        Ending::Close => drop(env.close().unwrap()),
        Ending::Drop => drop(env),
        Ending::Dirty => env.close_without_flush(),
        Ending::Killed | Ending::KilledWriting => {
            let mut txn = env.write().unwrap();
            if ending == Ending::KilledWriting {
                let t = txn.create_table(&def()).unwrap();
                (0..60).for_each(|k| t.put(&mut txn, &[k], &[k; 95]).map(drop).unwrap());
            }
            let after = disk.after_crash(&disk.image(), true).unwrap().quiet();
            let after = after.with_lock_image(&disk.lock_image());
            // The dead close nothing.
            std::mem::forget((txn, env));
            return after;
        }
    }
    disk
}

/// sled (2022) did not open when a file was left over from a compaction that had been killed.
#[test]
fn leftovers_of_the_killed_are_passed_over() {
    let name = "durability::leftovers_of_the_killed_are_passed_over";
    if child::part().is_some() {
        return create_and_copy_for_ever(&child::path());
    }
    let place = Place::new();
    let source = place.dir().join("source.huon");
    let env = small().open(&source).unwrap();
    let mut txn = env.write().unwrap();
    let (t, mut model) = (txn.create_table(&def()).unwrap(), Model::new());
    (0..200u8).for_each(|n| super::put(&mut txn, t, &mut model, &[n], &[n; 200]));
    txn.commit().unwrap();
    env.close().unwrap();
    let mut drafts = 0;
    for round in 0..12u64 {
        let mut child = Child::start(name, "create", place.dir());
        assert_eq!(child.hear(), "ready");
        std::thread::sleep(std::time::Duration::from_micros(700 * (round + 1)));
        child.kill();
        for entry in fs::read_dir(place.dir()).unwrap().map(Result::unwrap) {
            let file = entry.file_name().into_string().unwrap();
            // Data files, copies, and lock files (`.huon-`).
            let is_draft = ["-new-", "-copy-", ".huon-"].iter().any(|part| file.contains(part));
            if is_draft {
                drafts += 1;
            } else if !file.ends_with("-lock") {
                // What has its name is whole.
                let env = small().open(entry.path()).unwrap();
                assert_clean(&env, &file);
                if file.starts_with("copy") {
                    assert_holds(&env, &model, &file);
                }
            }
        }
    }
    // And leftovers that are garbage, in the very places.
    for suffix in ["-new-1-0", "-new-1-1", "-copy-1-0", "-copy-1-0-lock", "-lock-old"] {
        let path = format!("{}{suffix}", source.display());
        fs::write(path, "what a killed process was about to write").unwrap();
    }
    let env = small().open(&source).unwrap();
    assert_holds(&env, &model, "beside leftovers");
    env.copy_to(place.dir().join("last.huon"), CopyOptions::new()).unwrap();
    println!("{drafts} drafts were met");
}

fn create_and_copy_for_ever(dir: &Path) {
    let env = small().open(dir.join("source.huon")).unwrap();
    child::say("ready");
    for n in 0.. {
        let copy = dir.join(format!("copy {} {n}", std::process::id()));
        env.copy_to(&copy, CopyOptions::new().compact(n % 2 == 0)).unwrap();
        let new = dir.join(format!("new {} {n}", std::process::id()));
        drop(small().open(&new).unwrap());
        for path in [copy, new] {
            let _ = fs::remove_file(super::lock_of(&path));
            fs::remove_file(path).unwrap();
        }
    }
}

fn filled(path: &Path, byte: u8) -> (Env, Model) {
    let env = small().open(path).unwrap();
    let (mut txn, mut model) = (env.write().unwrap(), Model::new());
    let t = txn.create_table(&def()).unwrap();
    (0..100).for_each(|n| super::put(&mut txn, t, &mut model, &[n], &[byte; 90]));
    txn.commit().unwrap();
    (env, model)
}

/// bbolt (2021) could copy another file when the path had been given to it meanwhile. Here the
/// other file is any one, or a copy of this one: what a restored backup is.
#[test]
fn a_file_that_is_replaced_while_open() {
    std::thread::scope(|scope| {
        scope.spawn(|| replace_while_open(false));
        scope.spawn(|| replace_while_open(true));
    });
}

fn replace_while_open(by_backup: bool) {
    let place = Place::new();
    let (env, mut model) = filled(&place.path, 1);
    let new = place.dir().join("new");
    let new_model = if by_backup {
        env.copy_to(&new, CopyOptions::new()).unwrap();
        model.clone()
    } else {
        filled(&new, 2).1
    };
    let reader = env.read().unwrap();
    fs::rename(&new, &place.path).unwrap();
    // A client that has the old file open goes on with it, and copies that.
    let copy = place.dir().join("copy");
    env.copy_to(&copy, CopyOptions::new()).unwrap();
    assert_holds(&small().open(&copy).unwrap(), &model, "the copy");
    // The lock file is still in use for the old one: a newcomer gets an error that says so.
    let error = small().open(&place.path).unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "{error}");
    assert!(error.to_string().contains("replaced"), "{error}");
    assert_same(&reader, reader.open_table(&def()).unwrap().unwrap(), &model, "the old file");
    let mut txn = env.write().unwrap();
    let t = txn.open_table(&def()).unwrap().unwrap();
    super::put(&mut txn, t, &mut model, &[200], &[3; 50]);
    txn.commit().unwrap();
    assert_clean(&env, "the old file");
    assert_holds(&env, &model, "the old file");
    drop((reader, env));
    // Once it is closed the new one opens.
    let env = small().open(&place.path).unwrap();
    assert_holds(&env, &new_model, "the new file");
    goes_on(&env, &new_model, "the new file");
}

/// redb (2023) wrote that it had been closed in order after a commit had failed.
#[test]
fn closing_after_an_error_claims_nothing() {
    for after in 0..8 {
        let disk = SimDisk::new(MACHINE_BYTES).unwrap().lossy();
        let env = on_disk().open_simulated(&disk).unwrap();
        let mut model = Model::new();
        perform(&env, Deed::Commit(Durability::Durable), &mut model);
        let kept = model.clone();
        for _ in 0..after % 4 {
            perform(&env, Deed::Commit(Durability::Lazy), &mut model);
        }
        disk.fail_syncs(1);
        let failed = match after / 4 {
            0 => env.sync().map(drop),
            _ => env.update(|txn| txn.create_table(&def())?.put(txn, b"k", b"v").map(drop)),
        };
        assert!(after == 0 || failed.is_err(), "{after}");
        let poisoned = env.info().unwrap().poisoned;
        let closed = env.close();
        assert_eq!(closed.is_err(), poisoned, "{after}: closing says so again: {closed:?}");
        let env = on_disk().open_simulated(&disk).unwrap();
        let what = format!("{after}: {:?}", env.recovery());
        assert_eq!(env.recovery() == Recovery::Clean, !poisoned, "{what}");
        let txn = env.read().unwrap();
        let t = txn.open_table(&def()).unwrap().unwrap();
        for (key, value) in &kept {
            assert_eq!(t.get(&txn, key).unwrap(), Some(&value[..]), "{what}");
        }
        assert_clean(&env, &what);
    }
}

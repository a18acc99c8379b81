//! Files of a newer version: a whole meta that says what this version does not know makes the file
//! unreadable, and never another snapshot the newest.

use std::path::{Path, PathBuf};

use huon::{CheckOptions, Durability, Env, Error, MetaState, Options, Str, TableDef, U64};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const T: TableDef<Str, U64> = TableDef::new("t");
const META_BYTES: usize = 4096;
const SLOTS: usize = 3;

/// Fields by FORMAT.md with values that no version has used yet.
const UNKNOWN: [(&str, usize, &[u8]); 9] = [
    ("version", 4, &[2]),
    ("a low feature bit", 8, &[1]),
    ("a high feature bit", 15, &[0x80]),
    ("page size", 40, &[0, 0, 2]),
    ("commit kind", 44, &[3]),
    ("order of the main table", 101, &[9]),
    ("flags of the main table", 102, &[4]),
    ("reserved bytes of the main table", 159, &[1]),
    ("reserved bytes", 255, &[1]),
];

/// An environment whose slots all hold whole metas.
fn made(dir: &Path) -> PathBuf {
    let path = dir.join("a.huon");
    let env = Env::options().open(&path).unwrap();
    for n in 0..6 {
        env.update(|txn| txn.create_table(&T)?.put(txn, "n", n)).unwrap();
    }
    env.close().unwrap();
    let whole = |meta: &huon::MetaInfo| meta.snapshot().is_some();
    assert!(Env::metas_of(&path).unwrap().iter().all(whole));
    path
}

/// Changes a block, and makes its checksum right again.
fn change(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
    let sum = xxh3_64_with_seed(&block[24..META_BYTES], xxh3_64(&block[24..40]));
    block[16..24].copy_from_slice(&sum.to_le_bytes());
}

fn refused<T>(what: &str, place: &str, result: Result<T, Error>) {
    match result {
        Err(Error::Version(text)) => assert!(text.contains(place), "{what}: {text}"),
        Err(other) => panic!("{what}: {other:?}"),
        Ok(_) => panic!("{what}: it was not refused"),
    }
}

fn set(change: impl FnOnce(&mut Options) -> &mut Options) -> Options {
    let mut options = Env::options();
    change(&mut options);
    options
}

/// Every way to open an environment, by name.
fn ways() -> Vec<(&'static str, Options)> {
    let mut ways = vec![
        ("to write", Env::options()),
        ("to read", set(|options| options.read_only(true))),
        ("alone", set(|options| options.exclusive(true))),
        ("without making it", set(|options| options.create(false))),
    ];
    for slot in 0..SLOTS as u8 {
        ways.push(("at a slot", set(|o| o.read_only(true).exclusive(true).meta_slot(slot))));
    }
    ways
}

#[test]
fn a_whole_meta_of_a_newer_version_in_any_slot_makes_the_file_unreadable() {
    let dir = tempfile::tempdir().unwrap();
    let path = made(dir.path());
    let sound = std::fs::read(&path).unwrap();
    for slot in 0..SLOTS {
        let place = &format!("meta slot {slot}");
        for (field, at, bytes) in UNKNOWN {
            let mut file = sound.clone();
            change(&mut file[slot * META_BYTES..], at, bytes);
            std::fs::write(&path, &file).unwrap();
            for (way, options) in ways() {
                refused(&format!("{field}, {way}"), place, options.open(&path));
            }
            for chosen in 0..SLOTS as u8 {
                let switched = Env::switch_to_meta(&path, chosen, CheckOptions::new());
                refused(&format!("{field}, switch"), place, switched);
            }
            refused(&format!("{field}, delete"), place, Env::delete(&path));
            let metas = Env::metas_of(&path).unwrap();
            for (n, meta) in metas.iter().enumerate() {
                let is_unknown = matches!(meta.state, MetaState::Unknown(_));
                assert_eq!(is_unknown, n == slot, "{field}: {meta:?}");
            }
            assert!(std::fs::read(&path).unwrap() == file, "{field}: nothing was written");
        }
    }
    std::fs::write(&path, &sound).unwrap();
    let env = Env::options().open(&path).unwrap();
    assert_eq!(env.view(|txn| txn.open_table(&T)?.expect("there").get(txn, "n")).unwrap(), Some(5));
}

/// An open environment finds it, too: a check says so, and none is made against another meta.
#[test]
fn a_meta_of_a_newer_version_that_appears_is_found_by_a_check() {
    let dir = tempfile::tempdir().unwrap();
    let path = made(dir.path());
    let env = Env::options().open(&path).unwrap();
    let mut file = std::fs::read(&path).unwrap();
    let oldest = (0..SLOTS).min_by_key(|slot| {
        let at = slot * META_BYTES + 48;
        u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
    });
    let slot = oldest.unwrap();
    change(&mut file[slot * META_BYTES..], 8, &[4]);
    let block = &file[slot * META_BYTES..][..META_BYTES];
    use std::os::unix::fs::FileExt;
    let data = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    data.write_all_at(block, (slot * META_BYTES) as u64).unwrap();
    let report = env.check().unwrap();
    let text = format!("meta slot {slot}");
    assert!(report.problems.iter().any(|p| p.to_string().contains(&text)), "{report:?}");
    for chosen in 0..SLOTS as u8 {
        let checked = env.check_with(CheckOptions::new().meta_slot(chosen));
        refused("a check against a slot", &text, checked);
    }
}

/// The lock file may know the newest snapshot alone: one of a newer version counts, too.
#[test]
fn a_snapshot_of_a_newer_version_in_the_lock_file_counts() {
    let dir = tempfile::tempdir().unwrap();
    let path = made(dir.path());
    let mut options = Env::options();
    options.durability(Durability::Unsynced);
    let env = options.open(&path).unwrap();
    env.update(|txn| txn.create_table(&T)?.put(txn, "n", 9)).unwrap();
    env.close().unwrap();
    let lock = Env::lock_path(&path);
    let mut file = std::fs::read(&lock).unwrap();
    let mut changed = 0;
    for at in (0..file.len().saturating_sub(META_BYTES)).step_by(8) {
        if file[at..].starts_with(b"HUON\x01\0\0\0") {
            change(&mut file[at..at + META_BYTES], 8, &[1]);
            changed += 1;
        }
    }
    assert!(changed > 0, "the lock file holds the images of snapshots");
    std::fs::write(&lock, &file).unwrap();
    refused("an image", "lock file", Env::options().open(&path));
}

/// A torn block of a newer version is a torn block, as one of this version is: the durable snapshot
/// before it is there.
#[test]
fn a_torn_meta_of_a_newer_version_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = made(dir.path());
    let sound = std::fs::read(&path).unwrap();
    for slot in 0..SLOTS {
        let mut file = sound.clone();
        let block = &mut file[slot * META_BYTES..][..META_BYTES];
        change(block, 4, &[2]);
        block[2000..].fill(0xA5);
        std::fs::write(&path, &file).unwrap();
        let opened = Env::options().read_only(true).open(&path);
        assert!(opened.is_ok(), "slot {slot}: {:?}", opened.err());
    }
    // Where nothing else is left, it says what the file is.
    let mut file = sound;
    for slot in 0..SLOTS {
        let block = &mut file[slot * META_BYTES..][..META_BYTES];
        block[4] = 2;
        block[2000..].fill(0xA5);
    }
    std::fs::write(&path, &file).unwrap();
    refused("all of them", "version 2", Env::options().open(&path));
}

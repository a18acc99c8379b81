//! What opening leaves beside the data file: nothing that locks its owner out, nothing half made.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::actors::{Actor, OTHER, OWNER, Place, access, act, get, give, names, put, skip};
use huon::{Env, Error};

#[test]
fn root_as_a_reader_leaves_the_owner_in() {
    const TEST: &str = "lock_file::root_as_a_reader_leaves_the_owner_in";
    if act() || !crate::actors::users_can_be_changed(TEST) {
        return;
    }
    for mode in [0o600, 0o640, 0o666] {
        for how in ["look", "open"] {
            let place = Place::made(OWNER, mode);
            std::fs::remove_file(&place.lock).unwrap();
            let (mut root, said) = Actor::opens(TEST, 0, &place.path, how);
            assert_eq!(said, "opened");
            assert_eq!(access(&place.lock), (OWNER, OWNER, mode), "while root has it open");
            let (mut owner, said) = Actor::opens(TEST, OWNER, &place.path, "open");
            assert_eq!((&*said, &*owner.ask("put a 2")), ("opened", "put"), "{how}, {mode:o}");
            assert_eq!(root.ask("get a"), "Some(2)");
            root.end();
            owner.end();
            let (owner, said) = Actor::opens(TEST, OWNER, &place.path, "open");
            assert_eq!(said, "opened", "after root has closed it: {how}, {mode:o}");
            owner.end();
            assert_eq!(place.names(), ["a.huon", "a.huon-lock"]);
        }
    }
}

/// A lock file of another user's, with the data file's mode, may be none of the owner's.
#[test]
fn a_reader_that_owns_nothing_makes_no_file() {
    const TEST: &str = "lock_file::a_reader_that_owns_nothing_makes_no_file";
    if act() || !crate::actors::users_can_be_changed(TEST) {
        return;
    }
    let place = Place::made(OWNER, 0o666);
    give(place.dir.path(), OWNER, 0o777);
    std::fs::remove_file(&place.lock).unwrap();
    let (mut other, said) = Actor::opens(TEST, OTHER, &place.path, "look");
    assert_eq!((&*said, &*other.ask("get a")), ("opened", "Some(1)"));
    assert_eq!(place.names(), ["a.huon"]);
    other.end();
    let (owner, said) = Actor::opens(TEST, OWNER, &place.path, "open");
    assert_eq!(said, "opened");
    owner.end();

    // To write it must make one: every user with access to the data file has access to that.
    std::fs::remove_file(&place.lock).unwrap();
    let (mut other, said) = Actor::opens(TEST, OTHER, &place.path, "open");
    assert_eq!((&*said, &*other.ask("put a 3")), ("opened", "put"));
    assert_eq!(access(&place.lock), (OTHER, OTHER, 0o666));
    let (mut owner, said) = Actor::opens(TEST, OWNER, &place.path, "open");
    assert_eq!((&*said, &*owner.ask("get a")), ("opened", "Some(3)"));
}

#[test]
fn a_link_in_the_place_of_the_lock_file_is_not_followed() {
    let place = Place::new();
    let target = place.dir.path().join("target");
    std::os::unix::fs::symlink(&target, &place.lock).unwrap();
    for read_only in [false, true] {
        let refused = Env::options().read_only(read_only).open(&place.path);
        assert!(refused.is_err(), "{refused:?}");
        assert!(!target.exists());
    }
}

/// A file system of its own, of so many bytes.
struct Disk {
    place: PathBuf,
    _parent: tempfile::TempDir,
}

impl Disk {
    fn new(test: &str, options: &str) -> Option<Disk> {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("disk");
        std::fs::create_dir(&place).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&place);
        let done = mount.output().is_ok_and(|output| output.status.success());
        if !done {
            skip(test, "no file system can be mounted");
        }
        done.then(|| Disk { place, _parent: parent })
    }

    fn join(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    fn names(&self) -> Vec<String> {
        names(&self.place)
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.join("filler")).unwrap();
        for bytes in [1 << 16, 1 << 12, 1] {
            while file.write_all(&vec![0; bytes]).is_ok() {}
        }
    }

    /// Takes all the names that are left.
    fn fill_names(&self) {
        while std::fs::File::create(self.join(&format!("n{}", self.names().len()))).is_ok() {}
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
    }
}

fn made_on(disk: &Disk) -> (PathBuf, PathBuf) {
    let path = disk.join("a.huon");
    let env = Env::options().open(&path).unwrap();
    put(&env, "a", 1);
    env.close().unwrap();
    (path, disk.join("a.huon-lock"))
}

/// Looking works, opening to write is refused for want of room, and neither changes a name or a
/// length.
fn only_looking_works(disk: &Disk, path: &Path) {
    let state = || {
        let names = disk.names().into_iter();
        let lengths = names.map(|name| (disk.join(&name).metadata().unwrap().len(), name));
        lengths.collect::<Vec<_>>()
    };
    let before = state();
    for _ in 0..2 {
        let looks = Env::options().read_only(true).open(path).unwrap();
        let another = Env::options().read_only(true).open(path).unwrap();
        assert_eq!((get(&looks, "a"), get(&another, "a")), (Some(1), Some(1)));
        assert!(looks.check().unwrap().is_clean());
        assert_eq!(state(), before);
        drop((looks, another));
        let refused = Env::options().open(path);
        let full = |e: &huon::IoError| e.source.kind() == std::io::ErrorKind::StorageFull;
        assert!(matches!(&refused, Err(Error::Io(e)) if full(e)), "{refused:?}");
        assert_eq!(state(), before);
    }
}

#[test]
fn a_full_disk_without_a_lock_file_is_readable() {
    const TEST: &str = "lock_file::a_full_disk_without_a_lock_file_is_readable";
    let Some(disk) = Disk::new(TEST, "size=4m") else { return };
    let (path, lock) = made_on(&disk);
    disk.fill();
    std::fs::remove_file(&lock).unwrap();
    disk.fill();
    only_looking_works(&disk, &path);

    // Left by a process that died, or copied without its blocks.
    let whole = 200 << 10;
    for bytes in [0, 8, 4096, whole] {
        std::fs::File::create(&lock).unwrap().set_len(bytes).unwrap();
        only_looking_works(&disk, &path);
    }
    std::fs::remove_file(disk.join("filler")).unwrap();
    let env = Env::options().open(&path).unwrap();
    put(&env, "a", 2);
    assert_eq!(get(&env, "a"), Some(2));
}

#[test]
fn a_disk_without_room_for_names_is_readable() {
    const TEST: &str = "lock_file::a_disk_without_room_for_names_is_readable";
    let Some(disk) = Disk::new(TEST, "size=4m,nr_inodes=32") else { return };
    let (path, lock) = made_on(&disk);
    std::fs::remove_file(&lock).unwrap();
    disk.fill_names();
    only_looking_works(&disk, &path);
}

#[test]
fn a_full_disk_with_a_lock_file_is_used_by_all() {
    const TEST: &str = "lock_file::a_full_disk_with_a_lock_file_is_used_by_all";
    let Some(disk) = Disk::new(TEST, "size=4m") else { return };
    let (path, _) = made_on(&disk);
    disk.fill();
    let writer = Env::options().open(&path).unwrap();
    let looks = Env::options().read_only(true).open(&path).unwrap();
    put(&writer, "a", 2);
    assert_eq!(get(&looks, "a"), Some(2), "they share the lock file");
}

#[test]
fn a_medium_that_is_not_written_is_readable_and_left_alone() {
    const TEST: &str = "lock_file::a_medium_that_is_not_written_is_readable_and_left_alone";
    let Some(disk) = Disk::new(TEST, "size=4m") else { return };
    let (path, lock) = made_on(&disk);
    for with_lock in [true, false] {
        if !with_lock {
            std::fs::remove_file(&lock).unwrap();
        }
        let remount = |how: &str| {
            let mut mount = Command::new("mount");
            assert!(mount.args(["-o", how]).arg(&disk.place).status().unwrap().success());
        };
        remount("remount,ro");
        let before = disk.names();
        for read_only in [true, false] {
            let env = Env::options().read_only(read_only).open(&path).unwrap();
            assert_eq!(get(&env, "a"), Some(1));
            assert!(matches!(env.write(), Err(Error::ReadOnly)));
        }
        assert_eq!(disk.names(), before);
        remount("remount,rw");
    }
}

//! Readers that may not write, beside writers: processes of another user, and read-only mounts.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::actors::{
    Actor, OTHER, OWNER, Place, act, get, put, set_mode, skip, users_can_be_changed,
};
use huon::{Env, Error};

/// Whether there are guests on this system: not where whole files are locked.
fn guests_are_there(test: &str) -> bool {
    cfg!(any(target_os = "linux", target_os = "android")) || skip(test, "no OFD locks here")
}

#[test]
fn a_process_that_may_not_write_reads_beside_the_owner() {
    const TEST: &str = "guests::a_process_that_may_not_write_reads_beside_the_owner";
    if act() || !users_can_be_changed(TEST) || !guests_are_there(TEST) {
        return;
    }
    // Neither file, the data file alone, the lock file alone may be written.
    for (data, lock) in [(0o644, 0o644), (0o666, 0o644), (0o644, 0o666)] {
        for how in ["look", "open"] {
            let place = Place::made(OWNER, 0o644);
            set_mode(&place.path, data);
            set_mode(&place.lock, lock);
            if (data, how) == (0o666, "open") {
                continue;
            }
            let (mut owner, said) = Actor::opens(TEST, OWNER, &place.path, "open");
            assert_eq!(said, "opened");
            let (mut guest, said) = Actor::opens(TEST, OTHER, &place.path, how);
            assert_eq!(said, "opened", "{how}, {data:o}, {lock:o}");
            assert_eq!(guest.ask("get a"), "Some(1)");
            let id = guest.ask("begin");
            for n in 0..300 {
                owner.ask(&format!("lazily a {n}"));
                owner.ask(&format!("put b {n}"));
            }
            assert_eq!(guest.ask("see a"), "Some(1)", "its snapshot stays");
            assert_eq!(guest.ask("get b"), "Some(299)", "and it sees what is new");
            if lock == 0o644 {
                assert_eq!(owner.ask("readers"), format!("[({id}, 0)]"));
            }
            assert_eq!(owner.ask("check"), "clean: true");
            // The owner comes and goes.
            assert_eq!((&*owner.ask("close"), &*owner.ask("open")), ("closed", "opened"));
            assert_eq!(owner.ask("put c 5"), "put");
            assert_eq!((&*guest.ask("get c"), &*guest.ask("see a")), ("Some(5)", "Some(1)"));
            guest.ask("finish");
            assert_eq!(owner.ask("readers"), "[]");
            guest.end();
            owner.end();
        }
    }
}

#[test]
fn a_first_process_that_may_not_write_keeps_no_other_out() {
    const TEST: &str = "guests::a_first_process_that_may_not_write_keeps_no_other_out";
    if act() || !users_can_be_changed(TEST) || !guests_are_there(TEST) {
        return;
    }
    let place = Place::made(OWNER, 0o644);
    let (mut guest, said) = Actor::opens(TEST, OTHER, &place.path, "look");
    assert_eq!(said, "opened");
    guest.ask("begin");
    for round in 2..5 {
        let (mut owner, said) = Actor::opens(TEST, OWNER, &place.path, "open");
        assert_eq!((&*said, &*owner.ask(&format!("put a {round}"))), ("opened", "put"));
        assert_eq!(guest.ask("get a"), format!("Some({round})"));
        assert_eq!(guest.ask("see a"), "Some(1)");
        // In order, and not.
        if round % 2 == 0 { owner.kill() } else { owner.end() }
    }
    assert!(matches!(Env::delete(&place.path), Err(Error::Busy(_))));
    guest.end();
    let env = Env::options().open(&place.path).unwrap();
    assert_eq!(get(&env, "a"), Some(4));
    assert!(env.check().unwrap().is_clean());
}

#[test]
fn killed_owners_and_guests_leave_nothing_in_the_way() {
    const TEST: &str = "guests::killed_owners_and_guests_leave_nothing_in_the_way";
    if act() || !users_can_be_changed(TEST) || !guests_are_there(TEST) {
        return;
    }
    let place = Place::made(OWNER, 0o644);
    let (mut owner, said) = Actor::opens(TEST, OWNER, &place.path, "open");
    assert_eq!(said, "opened");
    let (mut last, _) = Actor::opens(TEST, OTHER, &place.path, "look");
    for round in 0..20 {
        owner.ask(&format!("lazily a {}", 10 * round));
        let (mut guest, said) = Actor::opens(TEST, OTHER, &place.path, "look");
        assert_eq!(said, "opened");
        guest.ask("begin");
        last.ask("begin");
        for n in 1..10 {
            owner.ask(&format!("lazily a {}", 10 * round + n));
        }
        let expected = format!("Some({})", 10 * round);
        assert_eq!((guest.ask("see a"), last.ask("see a")), (expected.clone(), expected.clone()));
        if round % 3 == 0 {
            // Nothing of what it had committed is lost, as the machine goes on.
            owner.kill();
            let (again, said) = Actor::opens(TEST, OWNER, &place.path, "open");
            assert_eq!(said, "opened");
            owner = again;
            assert_eq!(owner.ask("get a"), format!("Some({})", 10 * round + 9));
            owner.ask("put b 1");
            assert_eq!(guest.ask("see a"), expected);
        }
        guest.kill();
        last.ask("finish");
        assert_eq!(owner.ask("readers"), "[]", "round {round}");
        assert_eq!(owner.ask("check"), "clean: true");
    }
}

/// A child of a guest is a guest of its own: its pins are found, and it keeps none of its parent's.
#[test]
fn a_forked_child_of_a_guest_is_another_guest() {
    const TEST: &str = "guests::a_forked_child_of_a_guest_is_another_guest";
    if act() || !users_can_be_changed(TEST) || !guests_are_there(TEST) {
        return;
    }
    let place = Place::made(OWNER, 0o644);
    let (mut owner, said) = Actor::opens(TEST, OWNER, &place.path, "open");
    assert_eq!(said, "opened");
    let (mut guest, said) = Actor::opens(TEST, OTHER, &place.path, "look");
    assert_eq!(said, "opened");
    let old = guest.ask("begin");
    owner.ask("lazily a 2");
    assert_eq!(guest.ask("child get a"), "Some(2)");
    assert!(guest.ask("child see a").starts_with(&Error::Forked.code().to_string()));
    assert_eq!(guest.ask("see a"), "Some(1)", "the snapshot of the parent stays");
    assert_eq!(owner.ask("readers"), format!("[({old}, 0)]"));
    let stays = guest.ask("stay begin");
    let (child, new) = stays.split_once(' ').unwrap();
    owner.ask("lazily a 3");
    assert_eq!(owner.ask("readers"), format!("[({old}, 0), ({new}, 0)]"));
    guest.ask("finish");
    assert_eq!(owner.ask("readers"), format!("[({new}, 0)]"), "the child keeps its own alone");
    guest.ask("begin");
    guest.kill();
    assert_eq!(owner.ask("readers"), format!("[({new}, 0)]"), "also when its parent is gone");
    // SAFETY: ends a process that this test has made.
    unsafe { libc::kill(child.parse().unwrap(), libc::SIGKILL) };
    // Its parent is gone: its locks go some time after the signal.
    assert!((0..100_000).any(|_| owner.ask("readers") == "[]"), "its locks stay");
    assert_eq!(owner.ask("check"), "clean: true");
}

/// Privileges that a child gives up after the fork: it may read then, and no more.
#[test]
fn a_forked_child_that_may_write_no_more_reads() {
    const TEST: &str = "guests::a_forked_child_that_may_write_no_more_reads";
    if act() || !users_can_be_changed(TEST) || !guests_are_there(TEST) {
        return;
    }
    let place = Place::made(OWNER, 0o644);
    let (mut owner, said) = Actor::opens(TEST, OWNER, &place.path, "open");
    assert_eq!(said, "opened");
    let (mut server, said) = Actor::opens(TEST, 0, &place.path, "open");
    assert_eq!(said, "opened");
    owner.ask("lazily a 2");
    assert_eq!(server.ask(&format!("child become {OTHER} get a")), "Some(2)");
    let refused = Error::ReadOnly.code().to_string();
    assert!(server.ask(&format!("child become {OTHER} lazily a 3")).starts_with(&refused));
    assert_eq!((&*server.ask("get a"), &*owner.ask("check")), ("Some(2)", "clean: true"));
}

/// A data file that another one has replaced while it was open: the lock file is the old one's.
#[test]
fn a_lock_file_in_use_for_another_file_is_not_believed() {
    const TEST: &str = "guests::a_lock_file_in_use_for_another_file_is_not_believed";
    if act() || !users_can_be_changed(TEST) || !guests_are_there(TEST) {
        return;
    }
    let (place, other) = (Place::made(OWNER, 0o644), Place::new());
    let (mut owner, _) = Actor::opens(TEST, OWNER, &place.path, "open");
    owner.ask("put a 7");
    put(&Env::options().open(&other.path).unwrap(), "a", 8);
    std::fs::copy(&other.path, place.dir.path().join("new")).unwrap();
    std::fs::rename(place.dir.path().join("new"), &place.path).unwrap();
    set_mode(&place.path, 0o644);
    let (mut guest, said) = Actor::opens(TEST, OTHER, &place.path, "look");
    assert!(said != "opened" || guest.ask("get a") == "Some(8)", "{said}");
    owner.ask("put a 9");
    assert!(said != "opened" || guest.ask("get a") == "Some(8)");
}

/// A guest of the file that had the name before: its lock file is not made anew under it.
#[test]
fn a_lock_file_that_guests_use_is_kept() {
    const TEST: &str = "guests::a_lock_file_that_guests_use_is_kept";
    if act() || !users_can_be_changed(TEST) || !guests_are_there(TEST) {
        return;
    }
    let (place, other) = (Place::made(OWNER, 0o644), Place::new());
    put(&Env::options().open(&other.path).unwrap(), "a", 8);
    let (mut guest, said) = Actor::opens(TEST, OTHER, &place.path, "look");
    assert_eq!((&*said, &*guest.ask("begin")), ("opened", &*guest.ask("begin")));
    std::fs::copy(&other.path, place.dir.path().join("new")).unwrap();
    std::fs::rename(place.dir.path().join("new"), &place.path).unwrap();
    assert!(matches!(Env::options().open(&place.path), Err(Error::Busy(_))));
    assert_eq!((guest.ask("see a"), guest.ask("get a")), ("Some(1)".into(), "Some(1)".into()));
    guest.end();
    assert_eq!(get(&Env::options().open(&place.path).unwrap(), "a"), Some(8));
}

/// A directory seen a second time, to read only: as a container has it.
struct View {
    place: PathBuf,
    _parent: tempfile::TempDir,
}

impl View {
    fn of(test: &str, directory: &Path) -> Option<View> {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("view");
        std::fs::create_dir(&place).unwrap();
        let mounts = |command: &mut Command| {
            command.arg(&place).output().is_ok_and(|output| output.status.success())
        };
        let bound = mounts(Command::new("mount").arg("--bind").arg(directory));
        if !bound {
            skip(test, "no directory can be mounted a second time");
            return None;
        }
        let view = View { place: place.clone(), _parent: parent };
        if !mounts(Command::new("mount").args(["-o", "remount,ro,bind"])) {
            skip(test, "no directory can be mounted to be read only");
            return None;
        }
        Some(view)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
    }
}

#[test]
fn a_mount_that_is_not_written_is_read_beside_a_writer() {
    const TEST: &str = "guests::a_mount_that_is_not_written_is_read_beside_a_writer";
    if !guests_are_there(TEST) {
        return;
    }
    let place = Place::new();
    let writer = Env::options().open(&place.path).unwrap();
    put(&writer, "a", 1);
    let Some(view) = View::of(TEST, place.dir.path()) else { return };
    let path = view.place.join("a.huon");
    for read_only in [true, false] {
        let guest = Env::options().read_only(read_only).open(&path).unwrap();
        let before = guest.read().unwrap();
        for n in 2..200 {
            put(&writer, "a", n);
        }
        let t = before.open_table(&crate::actors::T).unwrap().unwrap();
        assert_eq!((t.get(&before, "a").unwrap(), get(&guest, "a")), (Some(1), Some(199)));
        assert!(matches!(guest.write(), Err(Error::ReadOnly)));
        assert!(guest.info().unwrap().readers.iter().any(|reader| reader.guest));
        put(&writer, "a", 1);
    }
    // And the other way round.
    drop(writer);
    let guest = Env::options().open(&path).unwrap();
    let writer = Env::options().open(&place.path).unwrap();
    put(&writer, "a", 3);
    assert_eq!(get(&guest, "a"), Some(3));
}

//! `delete-env`: both files go, but only on confirmation and while no process has them open.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use huon::Env;

use crate::common::{Place, Run};

fn names(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.dir()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn fruit() -> Place {
    let place = Place::new();
    place.good(&["put", "a.huon", "apple", "red"]);
    place.good(&["put", "a.huon", "ann", "1", "-t", "users"]);
    place
}

#[test]
fn files_go_when_it_is_confirmed() {
    let place = fruit();
    std::fs::write(place.path("a.huon.txt"), "mine").unwrap();
    let asked = place.run(&["delete-env", "a.huon"]);
    asked.fails(2, &["a.huon and its lock file", "KiB with 2 records in 2 tables", "--yes"]);
    assert_eq!(names(&place), ["a.huon", "a.huon-lock", "a.huon.txt"]);
    assert_eq!(place.good(&["delete-env", "a.huon", "--yes"]), "");
    assert_eq!(names(&place), ["a.huon.txt"]);
    for confirm in [&[][..], &["--yes"]] {
        let gone = place.run(&[&["delete-env", "a.huon"], confirm].concat());
        gone.fails(1, &["there is no a.huon"]);
    }
    // `del` deletes records, and a key that is too much does not make it another command.
    assert_eq!(place.run(&["delete-env", "a.huon", "apple"]).code, 2);
}

#[test]
fn what_is_open_stays() {
    let place = fruit();
    let env = Env::options().open(place.path("a.huon")).unwrap();
    for confirm in [&[][..], &["--yes"], &["--yes", "--wait", "1"]] {
        place.run(&[&["delete-env", "a.huon"], confirm].concat()).fails(3, &["a.huon", "open"]);
    }
    assert_eq!(place.good(&["get", "a.huon", "apple"]), "red\n");
    // A waiting command gets it as soon as it is closed.
    let child = place.command(&["delete-env", "a.huon", "--yes", "--wait", "60"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert!(place.path("a.huon").exists());
    drop(env);
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!((run.code, &*run.err), (0, ""));
    assert_eq!(names(&place), Vec::<String>::new());
}

#[test]
fn what_is_no_environment_stays() {
    let place = Place::new();
    std::fs::write(place.path("text"), "hello ".repeat(5000)).unwrap();
    std::fs::write(place.path("empty"), "").unwrap();
    std::fs::create_dir(place.path("dir")).unwrap();
    let before = names(&place);
    for name in ["text", "empty", "dir"] {
        for confirm in [&[][..], &["--yes"]] {
            place.run(&[&["delete-env", name], confirm].concat()).fails(4, &[name]);
        }
    }
    assert_eq!(names(&place), before);
}

#[test]
fn what_is_damaged_goes() {
    let place = fruit();
    let mut bytes = std::fs::read(place.path("a.huon")).unwrap();
    bytes[100..3 * 4096].fill(0xa5);
    std::fs::write(place.path("b.huon"), bytes).unwrap();
    place.run(&["delete-env", "b.huon"]).fails(2, &["cannot be read", "--yes"]);
    assert_eq!(place.good(&["delete-env", "b.huon", "--yes"]), "");
    assert_eq!(names(&place), ["a.huon", "a.huon-lock"]);
}

#[test]
fn a_file_without_permission_stays() {
    let place = fruit();
    let allow = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path("a.huon"), mode).unwrap();
    };
    allow(0);
    if std::fs::File::open(place.path("a.huon")).is_ok() {
        // Root is refused nothing.
        eprintln!("skipped: this user reads every file");
        return;
    }
    for confirm in [&[][..], &["--yes"]] {
        let refused = place.run(&[&["delete-env", "a.huon"], confirm].concat());
        refused.fails(5, &["a.huon", "permission"]);
    }
    allow(0o600);
    assert_eq!(place.good(&["get", "a.huon", "apple"]), "red\n");
}

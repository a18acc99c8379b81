//! What is written takes the place of no environment, whatever it is called.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::common::{Place, Run};

/// `a.huon` and `b.huon`, environments with a record and their lock files; all names of the first.
fn made() -> (Place, Vec<&'static str>) {
    let place = Place::new();
    for file in ["a.huon", "b.huon"] {
        place.good(&["put", file, "key", "value"]);
    }
    fs::hard_link(place.path("a.huon"), place.path("hard")).unwrap();
    fs::hard_link(place.path("a.huon-lock"), place.path("hard lock")).unwrap();
    symlink("a.huon", place.path("soft")).unwrap();
    symlink("soft", place.path("softer")).unwrap();
    fs::create_dir(place.path("dir")).unwrap();
    let names =
        vec!["a.huon", "./dir/../a.huon", "hard", "soft", "softer", "a.huon-lock", "hard lock"];
    (place, names)
}

/// Everything is as it was.
#[track_caller]
fn sound(place: &Place, names: usize) {
    for file in ["a.huon", "b.huon", "soft"] {
        assert_eq!(place.good(&["get", file, "key"]), "value\n");
        place.good(&["check", file]);
    }
    assert_eq!(fs::read_dir(place.dir()).unwrap().count(), names, "nothing was left behind");
}

#[test]
fn no_output_takes_the_place_of_what_it_is_made_of() {
    let (place, names) = made();
    let count = fs::read_dir(place.dir()).unwrap().count();
    for name in names {
        for input in ["a.huon", "soft", "hard"] {
            if input == "hard" && name.contains("lock") {
                // By that name it has another lock file.
                continue;
            }
            place.run(&["dump", input, name, "--force"]).fails(2, &[name]);
            place.run(&["dump", input, name]).fails(2, &[name]);
            place.run(&["copy", input, name, "--force"]).fails(2, &[name]);
            place.run(&["copy", input, name, "--force", "--compact"]).fails(2, &[name]);
            place.run(&["load", input, name]).fails(2, &[name, "nothing was changed"]);
        }
        let dumped = place.tool("dump", &["-f", name, "a.huon"]);
        assert!(dumped.code == 1 && dumped.err.contains(name), "{dumped:?}");
        let loaded = place.tool("load", &["-f", name, "a.huon"]);
        assert!(loaded.code == 1 && loaded.err.contains(name), "{loaded:?}");
        let copied = place.tool("copy", &["-f", "a.huon", name]);
        assert!(copied.code == 1 && copied.err.contains(name), "{copied:?}");
    }
    sound(&place, count);
}

#[test]
fn no_text_takes_the_place_of_an_environment() {
    let (place, _) = made();
    let count = fs::read_dir(place.dir()).unwrap().count();
    for target in ["b.huon", "b.huon-lock"] {
        place.run(&["dump", "a.huon", target, "--force"]).fails(2, &[target]);
        assert_eq!(place.tool("dump", &["-f", target, "a.huon"]).code, 1);
    }
    place
        .run(&["copy", "a.huon", "b.huon-lock", "--force"])
        .fails(2, &["b.huon-lock", "lock file"]);
    // The name of a lock file that is missed is no place for anything else, either.
    fs::remove_file(place.path("b.huon-lock")).unwrap();
    for force in [&[][..], &["--force"]] {
        for command in ["dump", "copy"] {
            let args = [&[command, "a.huon", "b.huon-lock"], force].concat();
            place.run(&args).fails(2, &["b.huon-lock", "lock file"]);
        }
    }
    place.run(&["put", "b.huon-lock", "k", "v"]).fails(4, &["b.huon"]);
    sound(&place, count);
}

#[test]
fn a_copy_deletes_no_file_of_others() {
    let (place, _) = made();
    fs::write(place.path("notes"), "a text").unwrap();
    fs::write(place.path("notes-lock"), "another text").unwrap();
    let count = fs::read_dir(place.dir()).unwrap().count();
    place.run(&["copy", "a.huon", "notes", "--force"]).fails(2, &["notes-lock"]);
    assert_eq!(fs::read(place.path("notes")).unwrap(), b"a text");
    assert_eq!(fs::read(place.path("notes-lock")).unwrap(), b"another text");
    sound(&place, count);
}

#[test]
fn no_stream_leads_into_the_environment() {
    let (place, _) = made();
    let count = fs::read_dir(place.dir()).unwrap().count();
    let into = |args: &[&str], name: &str| {
        let open = OpenOptions::new().append(true).open(place.path(name)).unwrap();
        Run::of(place.command(args).stdout(open).output().unwrap())
    };
    for name in ["a.huon", "hard", "a.huon-lock"] {
        for args in [&["dump", "a.huon"][..], &["get", "a.huon", "key"], &["copy", "a.huon", "-"]] {
            into(args, name).fails(2, &["standard output", "a.huon", "nothing was changed"]);
        }
        let input = fs::File::open(place.path(name)).unwrap();
        let mut command = place.command(&["load", "a.huon"]);
        Run::of(command.stdin(Stdio::from(input)).output().unwrap())
            .fails(2, &["standard input", "nothing was changed"]);
    }
    sound(&place, count);
    // A shell's `>` has emptied it before: at least that is said.
    let emptied = OpenOptions::new().write(true).truncate(true).open(place.path("b.huon")).unwrap();
    let run = Run::of(place.command(&["dump", "b.huon"]).stdout(emptied).output().unwrap());
    run.fails(2, &["standard output", "emptied"]);
}

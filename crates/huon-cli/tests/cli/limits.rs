//! Outputs that cannot be written: a limit of file sizes, a full device, a pipe that is closed.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Place, Run};

const TOOLS: [&str; 6] = ["chk", "stat", "copy", "dump", "load", "drop"];

/// A program with a limit of file sizes, in blocks of 512 bytes.
fn limited(place: &Place, blocks: u32, program: &str, args: &[&str]) -> Run {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\""), program]);
    command.args(args).current_dir(place.dir()).stdin(Stdio::null());
    Run::of(command.output().unwrap())
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// `a.huon` with some three megabytes, `text` with its dump and `old`, a file.
fn filled() -> Place {
    let place = Place::new();
    let mut text = String::from("VERSION=3\nformat=print\ntype=btree\nHEADER=END\n");
    for n in 0..3000 {
        text += &format!(" {n:06}\n {}\n", "v".repeat(1000));
    }
    fs::write(place.path("text"), text + "DATA=END\n").unwrap();
    place.good(&["load", "a.huon", "text"]);
    fs::write(place.path("old"), "an old file").unwrap();
    place
}

const HUON: &str = env!("CARGO_BIN_EXE_huon");
/// A megabyte: less than any file here needs.
const BLOCKS: u32 = 2048;

#[test]
fn a_limit_of_file_sizes_is_an_error_and_leaves_nothing_behind() {
    let place = filled();
    let before = names(place.dir());
    let commands: [&[&str]; 7] = [
        &["copy", "a.huon", "new"],
        &["copy", "a.huon", "new", "--compact"],
        &["copy", "a.huon", "old", "--force"],
        &["copy", "a.huon", "old", "--force", "--compact"],
        &["dump", "a.huon", "new"],
        &["dump", "a.huon", "new", "--print"],
        &["dump", "a.huon", "old", "--force"],
    ];
    for args in commands {
        limited(&place, BLOCKS, HUON, args).fails(5, &["File too large"]);
        assert_eq!(names(place.dir()), before, "{args:?}");
    }
    let tools: [(&str, &[&str]); 3] = [
        (env!("CARGO_BIN_EXE_huon_copy"), &["a.huon", "new"]),
        (env!("CARGO_BIN_EXE_huon_copy"), &["-f", "a.huon", "old"]),
        (env!("CARGO_BIN_EXE_huon_dump"), &["-f", "old", "a.huon"]),
    ];
    for (tool, args) in tools {
        let run = limited(&place, BLOCKS, tool, args);
        assert!(run.code == 1 && run.err.contains("File too large"), "{args:?}: {run:?}");
        assert_eq!(names(place.dir()), before, "{args:?}");
    }
    assert_eq!(fs::read(place.path("old")).unwrap(), b"an old file");
    // No room for a data file, nor for a lock file.
    for blocks in [0, 1, 16] {
        limited(&place, blocks, HUON, &["put", "new", "k", "v"]).fails(5, &["File too large"]);
        assert_eq!(names(place.dir()), before, "{blocks}");
    }
    place.good(&["check", "a.huon"]);
}

#[test]
fn a_limit_of_file_sizes_loses_nothing_that_was_committed() {
    let place = filled();
    let count = |file: &str| place.good(&["count", file]).trim().parse::<u64>().unwrap();
    place.good(&["put", "b.huon", "first", "value"]);
    limited(&place, BLOCKS, HUON, &["load", "b.huon", "text"]).fails(5, &["File too large"]);
    place.good(&["check", "b.huon"]);
    let loaded = count("b.huon");
    assert!((1..3001).contains(&loaded), "{loaded}");
    // A file that is longer than the limit is read, and refuses what it would have to write.
    place.good(&["put", "a.huon", "key", "value"]);
    let put = limited(&place, 16, HUON, &["put", "a.huon", "key", "other"]);
    put.fails(5, &["File too large"]);
    assert_eq!(limited(&place, 16, HUON, &["get", "a.huon", "key"]).out, "value\n");
    assert_eq!(place.good(&["get", "a.huon", "key"]), "value\n");
    place.good(&["load", "b.huon", "text"]);
    assert_eq!(count("b.huon"), 3001);
    place.good(&["check", "a.huon"]);
    place.good(&["check", "b.huon"]);
}

#[test]
fn standard_output_that_is_limited_is_an_error() {
    let place = filled();
    for args in [&["dump", "a.huon"][..], &["ls", "a.huon"], &["copy", "a.huon", "-"]] {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f {BLOCKS}; exec \"$0\" \"$@\" >> out"), HUON]);
        let run = Run::of(command.args(args).current_dir(place.dir()).output().unwrap());
        run.fails(5, &["File too large"]);
        fs::remove_file(place.path("out")).unwrap();
    }
}

/// What prints something, with its arguments.
const PRINTING: [&[&str]; 17] = [
    &["--help"],
    &["--version"],
    &["-h"],
    &["dump", "--help"],
    &["info", "a.huon"],
    &["info", "a.huon", "--json"],
    &["stat", "a.huon"],
    &["pages", "a.huon"],
    &["tables", "a.huon"],
    &["get", "a.huon", "key"],
    &["ls", "a.huon"],
    &["count", "a.huon"],
    &["readers", "a.huon", "--json"],
    &["check", "a.huon"],
    &["metas", "a.huon"],
    &["dump", "a.huon"],
    &["copy", "a.huon", "-"],
];

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_full_device_is_an_error_for_every_output() {
    let place = Place::new();
    place.good(&["put", "a.huon", "key", "value"]);
    for args in PRINTING {
        let run = Run::of(place.command(args).stdout(full()).output().unwrap());
        run.fails(5, &["No space left"]);
        // Whatever cannot be told, it is no success.
        let mute = Run::of(place.command(args).stdout(full()).stderr(full()).output().unwrap());
        assert_eq!(mute.code, 5, "{args:?}");
    }
    for tool in TOOLS {
        for args in [&["--help"][..], &["-V"]] {
            let run = Run::of(place.tool_command(tool, args).stdout(full()).output().unwrap());
            assert_ne!(run.code, 0, "{tool} {args:?}: {run:?}");
        }
    }
    let mute = place.command(&["get", "none", "key"]).stderr(full()).output().unwrap();
    assert_eq!(Run::of(mute).code, 5, "an error that cannot be told is the same one");
}

#[test]
fn a_closed_pipe_is_none() {
    let place = Place::new();
    place.good(&["put", "a.huon", "key", "value"]);
    for args in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let run = Run::of(place.command(args).stdout(writer).output().unwrap());
        assert_eq!((run.code, &run.err[..]), (0, ""), "{args:?}");
    }
}

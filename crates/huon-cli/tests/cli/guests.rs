//! Commands that only read, by a user without write permission, beside a writer.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::common::{Place, Run};

const OTHER: u32 = 65533;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_guest_reads_beside_a_writer() {
    let place = Place::new();
    let run_as_other = |args: &[&str]| place.command(args).uid(OTHER).gid(OTHER).output();
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    if !is_root || run_as_other(&["--version"]).is_err() {
        println!("skip a_guest_reads_beside_a_writer: no other user can run the command");
        return;
    }
    set_mode(place.dir(), 0o755);
    place.good(&["put", "a.huon", "k", "v"]);
    let path = place.path("a.huon");
    set_mode(&path, 0o644);
    set_mode(&place.path("a.huon-lock"), 0o644);
    let writer = huon::Env::options().open(&path).unwrap();
    let copy = std::env::temp_dir().join(format!("huon-guest-{}", std::process::id()));
    let copy_text = copy.to_str().unwrap();
    for args in [
        &["get", "a.huon", "k"][..],
        &["stat", "a.huon"],
        &["info", "a.huon"],
        &["check", "a.huon"],
        &["copy", "a.huon", copy_text],
    ] {
        let run = Run::of(run_as_other(args).unwrap());
        assert_eq!(run.code, 0, "{args:?}: {}", run.err);
    }
    std::fs::remove_file(&copy).unwrap();
    let refused = Run::of(run_as_other(&["put", "a.huon", "k", "w"]).unwrap());
    assert_ne!(refused.code, 0);
    let table = huon::TableDef::<huon::Str, huon::Str>::new("t");
    writer.update(|txn| txn.create_table(&table)?.put(txn, "still", "there")).unwrap();
}

//! Symbolic links: a data file is opened where its link leads, with the lock file beside it there.

use std::os::unix::fs::symlink;
use std::path::Path;

use huon::{CopyOptions, Env, Error, Str, TableDef, U64};

const T: TableDef<Str, U64> = TableDef::new("t");

fn put(env: &Env, key: &str, value: u64) {
    env.update(|txn| txn.create_table(&T)?.put(txn, key, value)).unwrap();
}

fn get(env: &Env, key: &str) -> Option<u64> {
    env.view(|txn| txn.open_table(&T)?.expect("the table is there").get(txn, key)).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// `real/` for files and `links/` for links to them.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("real")).unwrap();
    std::fs::create_dir(dir.path().join("links")).unwrap();
    dir
}

#[test]
fn all_names_of_a_file_lead_to_one_lock_file() {
    let dir = place();
    let (real, links) = (dir.path().join("real/f"), dir.path().join("links"));
    let env = Env::options().open(&real).unwrap();
    symlink(&real, links.join("absolute")).unwrap();
    symlink("../real/f", links.join("relative")).unwrap();
    symlink("relative", links.join("chain")).unwrap();
    symlink("../real", links.join("directory")).unwrap();
    for (n, name) in ["absolute", "relative", "chain", "directory/f"].into_iter().enumerate() {
        let link = links.join(name);
        let linked = Env::options().open(&link).unwrap();
        assert_eq!(linked.path(), link, "it is told as it was given");
        put(&linked, name, n as u64);
        assert_eq!(get(&env, name), Some(n as u64), "{name}: they see each other");
        assert!(Env::delete(&link).is_err(), "{name}");
        let lock = Env::lock_path(&link).canonicalize().unwrap();
        assert_eq!(lock, dir.path().canonicalize().unwrap().join("real/f-lock"), "{name}");
        assert_eq!(Env::metas_of(&link).unwrap(), env.metas().unwrap(), "{name}");
    }
    assert_eq!(names(&dir.path().join("real")), ["f", "f-lock"]);
    assert_eq!(names(&links), ["absolute", "chain", "directory", "relative"]);
}

#[test]
fn a_link_to_nothing_is_where_a_new_environment_is_made() {
    let dir = place();
    let (real, links) = (dir.path().join("real"), dir.path().join("links"));
    symlink("../real/new", links.join("first")).unwrap();
    symlink("first", links.join("second")).unwrap();
    let link = links.join("second");
    for not_made in
        [Env::options().create(false).open(&link), Env::options().read_only(true).open(&link)]
    {
        assert!(
            matches!(not_made, Err(Error::Io(e)) if e.source.kind() == std::io::ErrorKind::NotFound)
        );
    }
    assert!(names(&real).is_empty());
    put(&Env::options().open(&link).unwrap(), "a", 1);
    assert_eq!(names(&real), ["new", "new-lock"]);
    assert_eq!(names(&links), ["first", "second"]);
    assert_eq!(get(&Env::options().open(real.join("new")).unwrap(), "a"), Some(1));
}

#[test]
fn links_that_lead_to_no_file_are_refused() {
    let dir = place();
    let links = dir.path().join("links");
    symlink("one", links.join("other")).unwrap();
    symlink("other", links.join("one")).unwrap();
    symlink("../real", links.join("directory")).unwrap();
    symlink("../none/file", links.join("nowhere")).unwrap();
    symlink("/dev/null", links.join("device")).unwrap();
    let before = names(&links);
    let looped = Env::options().open(links.join("one"));
    let is_loop = |e: &huon::IoError| e.source.raw_os_error() == Some(libc::ELOOP);
    assert!(matches!(&looped, Err(Error::Io(e)) if is_loop(e)), "{:?}", looped.err());
    for name in ["directory", "device"] {
        let refused = Env::options().open(links.join(name));
        assert!(matches!(refused, Err(Error::NotADatabase(_))), "{name}: {:?}", refused.err());
    }
    assert!(matches!(Env::options().open(links.join("nowhere")), Err(Error::Io(_))));
    for name in ["one", "directory", "device"] {
        assert!(Env::delete(links.join(name)).is_err(), "{name}");
    }
    assert_eq!(names(&links), before);
    assert!(names(&dir.path().join("real")).is_empty());
}

#[test]
fn the_lock_file_is_never_followed() {
    let dir = place();
    let (real, links) = (dir.path().join("real/f"), dir.path().join("links/f"));
    put(&Env::options().open(&real).unwrap(), "a", 1);
    std::fs::copy(&real, &links).unwrap();
    symlink("../real/f-lock", dir.path().join("links/f-lock")).unwrap();
    let refused = Env::options().open(&links);
    assert!(matches!(refused, Err(Error::NotADatabase(_))), "{:?}", refused.err());
    assert!(matches!(Env::delete(&links), Err(Error::NotADatabase(_))));
    assert_eq!(names(&dir.path().join("real")), ["f", "f-lock"]);
}

#[test]
fn nothing_is_deleted_by_a_link() {
    let dir = place();
    let (real, links) = (dir.path().join("real"), dir.path().join("links"));
    put(&Env::options().open(real.join("f")).unwrap(), "a", 1);
    symlink("../real/f", links.join("link")).unwrap();
    symlink("nowhere", links.join("dangling")).unwrap();
    for name in ["link", "dangling"] {
        let deleted = Env::delete(links.join(name));
        assert!(matches!(deleted, Err(Error::NotADatabase(_))), "{name}: {deleted:?}");
    }
    assert_eq!(names(&real), ["f", "f-lock"]);
    assert_eq!(names(&links), ["dangling", "link"]);
    assert_eq!(get(&Env::options().open(links.join("link")).unwrap(), "a"), Some(1));
}

#[test]
fn a_copy_never_replaces_what_a_link_leads_to() {
    let dir = place();
    let (real, links) = (dir.path().join("real/f"), dir.path().join("links"));
    let env = Env::options().open(&real).unwrap();
    put(&env, "a", 1);
    symlink("../real/f", links.join("to_itself")).unwrap();
    symlink("nowhere", links.join("to_nothing")).unwrap();
    for name in ["to_itself", "to_nothing"] {
        for compact in [false, true] {
            let copied = env.copy_to(links.join(name), CopyOptions::new().compact(compact));
            assert!(matches!(copied, Err(Error::Io(_))), "{name}: {copied:?}");
        }
    }
    assert_eq!(names(&links), ["to_itself", "to_nothing"]);
    put(&env, "b", 2);
    assert!(env.check().unwrap().is_clean());
}

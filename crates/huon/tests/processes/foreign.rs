//! A file that is no environment is not written to, and no file is made beside it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use huon::{CheckOptions, Env, Error, Options, Str, TableDef, U64};

const T: TableDef<Str, U64> = TableDef::new("t");

fn put(env: &Env, key: &str, value: u64) {
    env.update(|txn| txn.create_table(&T)?.put(txn, key, value)).unwrap();
}

fn made(path: &Path) -> Env {
    let env = Env::options().open(path).unwrap();
    put(&env, "a", 1);
    env
}

/// All there is in a directory: names, kinds, and contents of files.
fn seen(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let one = |entry: std::fs::DirEntry| {
        let stat = entry.path().symlink_metadata().unwrap();
        let content = if stat.is_file() { std::fs::read(entry.path()).unwrap() } else { vec![] };
        (entry.file_name().into_string().unwrap(), (stat.mode(), content))
    };
    entries.map(one).collect()
}

type Try = fn(&Path) -> Result<(), Error>;

fn opened(options: &Options, path: &Path) -> Result<(), Error> {
    options.open(path).map(drop)
}

/// Every way in that takes a path.
fn ways() -> Vec<(&'static str, Try)> {
    vec![
        ("open", |path| opened(&Env::options(), path)),
        ("open to read", |path| opened(Env::options().read_only(true), path)),
        ("open what is there", |path| opened(Env::options().create(false), path)),
        ("open alone", |path| opened(Env::options().exclusive(true), path)),
        ("metas", |path| Env::metas_of(path).map(drop)),
        ("switch", |path| Env::switch_to_meta(path, 0, CheckOptions::new()).map(drop)),
        ("delete", |path| Env::delete(path).map(drop)),
    ]
}

fn all_refuse(dir: &Path, name: &str) {
    let before = seen(dir);
    for (way, attempt) in ways() {
        let result = attempt(&dir.join(name));
        assert!(matches!(result, Err(Error::NotADatabase(_))), "{way} of {name}: {result:?}");
        assert!(seen(dir) == before, "{way} of {name} changed {:?}", seen(dir).keys());
    }
}

#[test]
fn a_lock_file_never_passes_for_an_environment() {
    let dir = tempfile::tempdir().unwrap();
    let names = [("f", "f-lock"), ("data.mdb", "lock.mdb"), ("mdbx.dat", "mdbx.lck")];
    for (data, lock) in names {
        let env = made(&dir.path().join(data));
        // While a client has it open.
        let others = seen(dir.path()).into_keys().filter(|name| name != lock).count();
        for (way, attempt) in ways() {
            let result = attempt(&dir.path().join(lock));
            assert!(matches!(result, Err(Error::NotADatabase(_))), "{way} of {lock}: {result:?}");
            assert_eq!(seen(dir.path()).len(), others + 1, "{way} of {lock} left something");
        }
        put(&env, "b", 2);
        assert!(env.check().unwrap().is_clean());
        env.close().unwrap();
        all_refuse(dir.path(), lock);
        assert!(Env::options().open(dir.path().join(data)).is_ok());
    }
}

#[test]
fn nothing_is_made_at_the_name_of_a_lock_file() {
    let dir = tempfile::tempdir().unwrap();
    for (data, lock) in [("f", "f-lock"), ("data.mdb", "lock.mdb"), ("mdbx.dat", "mdbx.lck")] {
        made(&dir.path().join(data)).close().unwrap();
        std::fs::remove_file(dir.path().join(lock)).unwrap();
        for name in [lock.to_owned(), format!("{lock}-3")] {
            let path = dir.path().join(&name);
            for is_empty in [false, true] {
                if is_empty {
                    std::fs::write(&path, "").unwrap();
                }
                let before = seen(dir.path());
                let result = Env::options().open(&path);
                assert!(
                    matches!(result, Err(Error::NotADatabase(_))),
                    "{name}: {:?}",
                    result.err()
                );
                assert!(seen(dir.path()) == before, "{name}");
            }
            std::fs::remove_file(&path).unwrap();
        }
        let env = Env::options().open(dir.path().join(data)).unwrap();
        assert_eq!(
            env.view(|txn| txn.open_table(&T)?.expect("there").get(txn, "a")).unwrap(),
            Some(1)
        );
    }
    // Where there is no such environment the name is as good as any.
    made(&dir.path().join("g-lock")).close().unwrap();
}

#[test]
fn nothing_is_made_whose_lock_file_would_be_something_else() {
    let dir = tempfile::tempdir().unwrap();
    let contents: [(&str, &[u8]); 3] =
        [("text", b"a letter"), ("short", b"abc"), ("data", b"HUON")];
    for (name, content) in contents {
        std::fs::write(dir.path().join(format!("{name}-lock")), content).unwrap();
    }
    std::fs::create_dir(dir.path().join("directory-lock")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("link-lock")).unwrap();
    made(&dir.path().join("e-lock")).close().unwrap();
    let before = seen(dir.path());
    for name in ["text", "short", "data", "directory", "link", "e"] {
        let result = Env::options().open(dir.path().join(name));
        assert!(matches!(result, Err(Error::NotADatabase(_))), "{name}: {:?}", result.err());
        assert!(seen(dir.path()) == before, "{name}");
    }
}

#[test]
fn files_of_any_other_kind_stay_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("zeros"), vec![0; 20_000]).unwrap();
    std::fs::write(path("short"), "abc").unwrap();
    std::fs::write(path("letters"), "HUON").unwrap();
    std::fs::write(path("text"), "some text\n".repeat(5000)).unwrap();
    std::fs::write(path("lock"), b"LOCKHUON").unwrap();
    std::fs::create_dir(path("directory")).unwrap();
    std::os::unix::fs::symlink("text", path("link")).unwrap();
    std::os::unix::fs::symlink("loop", path("loop")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path("fifo")).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    for name in ["zeros", "short", "text", "lock", "directory", "link", "fifo", "socket"] {
        all_refuse(dir.path(), name);
    }
    let before = seen(dir.path());
    for (way, attempt) in ways() {
        // Letters of ours and nothing behind them: another version, as far as can be seen.
        let result = attempt(&path("letters"));
        let is_refused = matches!(result, Err(Error::NotADatabase(_) | Error::Version(_)));
        assert!(is_refused || (way, result.is_ok()) == ("metas", true), "{way}: {result:?}");
        assert!(attempt(&path("loop")).is_err(), "{way}");
        assert!(attempt(Path::new("/dev/null")).is_err(), "{way}");
    }
    assert!(seen(dir.path()) == before);
    // A lock file beside it, be it a sound one, does not let an opening go on.
    std::fs::write(path("text-lock"), "").unwrap();
    std::fs::write(path("zeros-lock"), "").unwrap();
    all_refuse(dir.path(), "text");
    all_refuse(dir.path(), "zeros");
}

#[test]
fn an_empty_file_becomes_an_environment_only_if_one_is_to_be_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("empty");
    std::fs::write(&path, "").unwrap();
    for (way, attempt) in ways() {
        if matches!(way, "open" | "open alone") {
            continue;
        }
        let before = seen(dir.path());
        let result = attempt(&path);
        assert!(matches!(result, Err(Error::NotADatabase(_))), "{way}: {result:?}");
        assert!(seen(dir.path()) == before, "{way}");
    }
    made(&path);
}

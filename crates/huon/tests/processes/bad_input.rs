//! Bad input gets a clear error that says what and where, and nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use huon::{Bytes, Durability, Env, Error, NativeU64, Str, TableDef};

const T: TableDef<Str, Bytes> = TableDef::new("t");

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    Place { _dir: dir, path }
}

fn put(env: &Env, key: &str, value: &[u8]) -> huon::Result<()> {
    env.update(|txn| txn.create_table(&T)?.put(txn, key, value).map(drop))
}

fn get(env: &Env, key: &str) -> Option<Vec<u8>> {
    let txn = env.read().unwrap();
    let t = txn.open_table(&T).unwrap().unwrap();
    t.get(&txn, key).unwrap().map(<[u8]>::to_vec)
}

fn open(path: &Path) -> huon::Result<Env> {
    Env::options().open(path)
}

/// The error of an open that must fail, as an operator reads it.
fn refusal(path: &Path) -> (Error, String) {
    let error = open(path).expect_err("it opens");
    let text = error.to_string();
    (error, text)
}

#[test]
fn lengths_over_the_limits() {
    let place = place();
    let env = Env::options().page_bytes(256).open(&place.path).unwrap();
    let max = env.info().unwrap().key_bytes_max as usize;
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    let long = "k".repeat(max + 1);
    let error = t.put(&mut txn, &long, b"v").unwrap_err();
    let Error::KeyTooLong { bytes, max: limit } = error else { panic!("{error}") };
    assert_eq!((bytes as usize, limit as usize), (max + 1, max));
    assert!(error.to_string().contains(&format!("{max}")), "{error}");
    // The refusal has changed nothing, and the transaction goes on.
    t.put(&mut txn, &long[1..], b"v").unwrap();
    t.put(&mut txn, "", b"").unwrap();
    assert!(matches!(t.reserve(&mut txn, "k", 0x7FF0_0001, |_| ()), Err(Error::ValueTooLong)));
    let n = txn.create_table(&TableDef::<NativeU64, Bytes>::new("n")).unwrap();
    assert!(matches!(n.raw().put(&mut txn, b"short", b""), Err(Error::KeyLength)));
    n.put(&mut txn, 5, b"five").unwrap();
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
    assert_eq!(get(&env, ""), Some(vec![]));
}

#[test]
fn a_file_that_is_not_ours() {
    for content in [&b"SQLite format 3\0"[..], &[0x5A; 20_000], b"x"] {
        let place = place();
        fs::write(&place.path, content).unwrap();
        let (error, text) = refusal(&place.path);
        assert!(matches!(error, Error::NotADatabase(_)), "{text}");
        assert!(text.contains("not a Huon environment"), "{text}");
        assert_eq!(fs::read(&place.path).unwrap(), content, "it is left as it was");
    }
}

#[test]
fn a_newer_format_and_unknown_features() {
    for (at, byte) in [(4usize, 9u8), (8, 1)] {
        let place = place();
        drop(open(&place.path).unwrap());
        let mut bytes = fs::read(&place.path).unwrap();
        (0..3).for_each(|slot| bytes[slot * 4096 + at] = byte);
        fs::write(&place.path, &bytes).unwrap();
        let (error, text) = refusal(&place.path);
        assert!(matches!(error, Error::Version(_)), "{text}");
    }
}

#[test]
fn another_page_size_than_asked_for() {
    let place = place();
    put(&open(&place.path).unwrap(), "k", b"v").unwrap();
    let error = Env::options().page_bytes(8192).open(&place.path).unwrap_err();
    assert!(matches!(error, Error::PageSize { found: 4096, wanted: 8192 }));
    assert!(matches!(Env::options().page_bytes(1000).open(&place.path), Err(Error::Invalid(_))));
    assert_eq!(get(&open(&place.path).unwrap(), "k"), Some(b"v".to_vec()));
}

#[test]
fn a_truncated_file() {
    let place = place();
    let env = open(&place.path).unwrap();
    for n in 0..2000 {
        put(&env, &format!("key {n}"), &[7; 200]).unwrap();
        if n % 100 == 0 {
            env.sync().unwrap();
        }
    }
    drop(env);
    let whole = fs::read(&place.path).unwrap();
    for keep in [0, 1, 100, 4095, 4096, 12_287, 12_288, 20_000, 100_000] {
        fs::write(&place.path, &whole[..keep.min(whole.len())]).unwrap();
        if lock(&place.path).exists() {
            fs::remove_file(lock(&place.path)).unwrap();
        }
        match open(&place.path) {
            // An empty file is taken as one to be made.
            Ok(_) if keep == 0 => {}
            Ok(env) => {
                let report = env.check().unwrap();
                assert!(!report.is_clean(), "cut to {keep} bytes and nothing found");
                read_what_is_left(&env);
            }
            Err(error) => assert!(
                matches!(error, Error::Corrupt(_) | Error::NotADatabase(_)),
                "cut to {keep} bytes: {error}"
            ),
        }
    }
}

/// Every answer is right, or says that the file is damaged.
fn read_what_is_left(env: &Env) {
    let txn = env.read().unwrap();
    let Ok(Some(t)) = txn.open_table(&T) else { return };
    for n in 0..2000 {
        match t.get(&txn, &format!("key {n}")) {
            Ok(value) => assert!(value.is_none_or(|v| v == [7; 200])),
            Err(error) => assert!(matches!(error, Error::Corrupt(_)), "{error}"),
        }
    }
}

fn lock(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-lock", path.display()))
}

#[test]
fn things_that_are_no_files() {
    let place = place();
    fs::create_dir(&place.path).unwrap();
    let (error, text) = refusal(&place.path);
    assert!(matches!(error, Error::NotADatabase(_) | Error::Io(_)), "{text}");

    let fifo = place.path.with_extension("fifo");
    let name = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
    // SAFETY: the name ends with a NUL.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let (error, text) = refusal(&fifo);
    assert!(matches!(error, Error::NotADatabase(_)), "{text}");
    assert!(text.contains("FIFO") || text.contains("pipe"), "{text}");

    let nowhere = place.path.with_extension("no").join("such").join("dir");
    let (error, text) = refusal(&nowhere);
    assert!(matches!(error, Error::Io(_)), "{text}");
    assert!(text.contains("such"), "it says where: {text}");
    assert!(Env::options().create(false).open(place.path.with_extension("missing")).is_err());
}

/// Root may write anywhere, so the test steps down to another user in a child process.
#[test]
fn a_directory_that_cannot_be_written() {
    const CHILD: &str = "HUON_TEST_READ_ONLY_DIR";
    if let Ok(path) = std::env::var(CHILD) {
        let path = Path::new(&path);
        // SAFETY: changes the identity of this process only, which does nothing else.
        assert_eq!(unsafe { libc::setgid(65534) | libc::setuid(65534) }, 0);
        let env = open(path).unwrap();
        assert_eq!(get(&env, "k"), Some(b"v".to_vec()));
        assert!(matches!(env.write(), Err(Error::ReadOnly)));
        assert!(env.check().unwrap().is_clean());
        let error = open(&path.with_extension("new")).unwrap_err();
        assert!(matches!(error, Error::Io(_)), "{error}");
        return;
    }
    let place = place();
    put(&open(&place.path).unwrap(), "k", b"v").unwrap();
    fs::remove_file(lock(&place.path)).unwrap();
    let dir = place.path.parent().unwrap();
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o555)).unwrap();
    child("bad_input::a_directory_that_cannot_be_written", CHILD, &place.path);
    assert!(!lock(&place.path).exists(), "nothing was made beside it");
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs one test of this binary in a child process with a variable set.
fn child(test: &str, variable: &str, value: &Path) {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(variable, value)
        .status()
        .unwrap();
    assert!(status.success(), "the child of {test} failed");
}

#[test]
fn a_second_open_that_cannot_be_shared() {
    let place = place();
    let alone = Env::options().exclusive(true).open(&place.path).unwrap();
    put(&alone, "k", b"v").unwrap();
    let (error, text) = refusal(&place.path);
    assert!(matches!(error, Error::Busy(_)), "{text}");
    put(&alone, "l", b"w").unwrap();
    drop(alone);
    let first = open(&place.path).unwrap();
    let second = open(&place.path).unwrap();
    assert!(matches!(Env::options().exclusive(true).open(&place.path), Err(Error::Busy(_))));
    // Two opens in one process are two clients: what one does the other sees, and closing one does
    // not harm the other.
    put(&first, "m", b"x").unwrap();
    assert_eq!(get(&second, "m"), Some(b"x".to_vec()));
    let reader = second.read().unwrap();
    drop(first);
    put(&second, "m", b"y").unwrap();
    let t = reader.open_table(&T).unwrap().unwrap();
    assert_eq!(t.get(&reader, "m").unwrap(), Some(&b"x"[..]));
}

#[test]
fn a_writer_that_does_not_end_is_named() {
    let place = place();
    let env = open(&place.path).unwrap();
    let held = env.write().unwrap();
    let error = env.write_within(Duration::from_millis(80)).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Busy(_)), "{text}");
    assert!(text.contains("of this environment, thread"), "it names the holder: {text}");
    let other = open(&place.path).unwrap();
    let text = other.write_within(Duration::from_millis(80)).unwrap_err().to_string();
    assert!(text.contains("another environment of this process"), "{text}");
    drop(held);
    drop(env.write_within(Duration::from_millis(80)).unwrap());
    // A leaked transaction is named by the next waiter too.
    std::mem::forget(env.write().unwrap());
    assert!(matches!(env.write_within(Duration::from_millis(80)), Err(Error::Busy(_))));
}

#[test]
fn use_after_fork() {
    let place = place();
    let env = open(&place.path).unwrap();
    put(&env, "k", b"v").unwrap();
    let reader = env.read().unwrap();
    // SAFETY: the child only calls into this library and leaves without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let refused = matches!(reader.open_table(&T), Err(Error::Forked));
        let reads = env.view(|txn| {
            let t = txn.open_table(&T)?.expect("it was made");
            Ok(t.get(txn, "k")? == Some(&b"v"[..]))
        });
        let writes = put(&env, "m", b"x").is_ok();
        drop(reader);
        drop(env);
        // SAFETY: leaves at once.
        unsafe { libc::_exit(if refused && reads.unwrap_or(false) && writes { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0, "what was open at the fork is dead, and the environment works");
    put(&env, "l", b"w").unwrap();
    let t = reader.open_table(&T).unwrap().unwrap();
    assert_eq!(t.get(&reader, "k").unwrap(), Some(&b"v"[..]));
    assert_eq!(env.info().unwrap().readers.len(), 1, "the parent's reader is still there");
}

/// Pages that a lazy transaction edits lie in the file: a child would edit its parent's.
#[test]
fn a_child_forked_while_a_table_is_built_builds_nothing() {
    let place = place();
    let env = open(&place.path).unwrap();
    let numbers = TableDef::<NativeU64, Bytes>::new("numbers");
    for round in 0..8 {
        let mut txn = env.write().unwrap();
        let t = txn.create_table(&numbers).unwrap();
        t.clear(&mut txn).unwrap();
        t.bulk_load(&mut txn, |append| {
            for n in 0..100 {
                append(n, &[round; 20])?;
            }
            // SAFETY: the child only calls into this library and leaves without unwinding.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                let refused = (100..110).all(|n| matches!(append(n, b"-"), Err(Error::Forked)));
                // SAFETY: leaves at once.
                unsafe { libc::_exit(if refused { 0 } else { 1 }) };
            }
            let mut status = 0;
            // SAFETY: waits for the child made above.
            unsafe { libc::waitpid(pid, &mut status, 0) };
            assert_eq!(status, 0, "the child is refused");
            (100..200).try_for_each(|n| append(n, &[round; 20]))
        })
        .unwrap();
        txn.commit_with(Durability::Lazy).unwrap();
        let txn = env.read().unwrap();
        let t = txn.open_table(&numbers).unwrap().unwrap();
        assert_eq!(t.len(&txn).unwrap(), 200);
        assert!(t.iter(&txn).unwrap().all(|record| record.unwrap().1 == [round; 20]));
    }
    assert!(env.check().unwrap().is_clean());
}

/// A child made by fork outlives its parent: it must not keep the file locked.
#[test]
fn a_forked_child_does_not_keep_the_file() {
    const CHILD: &str = "HUON_TEST_FORKING_PARENT";
    if let Ok(path) = std::env::var(CHILD) {
        let env = open(Path::new(&path)).unwrap();
        put(&env, "k", b"v").unwrap();
        // From the third on, pages are edited in a mapping of the file, which the child inherits.
        let lazily = |n: u8| -> huon::Result<huon::WriteTxn> {
            let mut txn = env.write()?;
            txn.create_table(&T)?.put(&mut txn, "n", &[n])?;
            Ok(txn)
        };
        for n in 0..4 {
            lazily(n).unwrap().commit_with(Durability::Lazy).unwrap();
        }
        let _unfinished = lazily(4).unwrap();
        // SAFETY: the child only sleeps and leaves; the parent ends at once, as if it were killed.
        unsafe {
            if libc::fork() == 0 {
                libc::close(1);
                libc::close(2);
                libc::sleep(10);
                libc::_exit(0);
            }
            libc::kill(libc::getpid(), libc::SIGKILL);
        }
    }
    let place = place();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["bad_input::a_forked_child_does_not_keep_the_file", "--exact", "--nocapture"])
        .env(CHILD, &place.path)
        .status()
        .unwrap();
    assert!(!status.success(), "the parent was killed");
    let start = std::time::Instant::now();
    let env = open(&place.path).unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "it waited for the child");
    assert_eq!(get(&env, "k"), Some(b"v".to_vec()));
    put(&env, "l", b"w").unwrap();
}

/// The descriptors of this process that are open on `path`.
#[cfg(target_os = "linux")]
fn descriptors_on(path: &Path) -> Vec<i32> {
    let path = fs::canonicalize(path).unwrap();
    let open = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    open.filter(|link| fs::read_link(link).is_ok_and(|target| target == path))
        .map(|link| link.file_name().unwrap().to_str().unwrap().parse().unwrap())
        .collect()
}

/// A process that closed all descriptors writes nothing, also where files of others have their
/// numbers by then.
#[test]
#[cfg(target_os = "linux")]
fn a_process_without_its_descriptors_writes_nothing() {
    const CHILD: &str = "HUON_TEST_HAS_NO_DESCRIPTORS";
    // In a process of its own: another test may be given the number that was closed.
    if std::env::var_os(CHILD).is_none() {
        let test = "bad_input::a_process_without_its_descriptors_writes_nothing";
        return child(test, CHILD, &place().path);
    }
    for durability in [Durability::Durable, Durability::Lazy] {
        let place = place();
        let daemon = open(&place.path).unwrap();
        for value in [&b"first"[..], b"kept"] {
            let mut txn = daemon.write().unwrap();
            txn.create_table(&T).unwrap().put(&mut txn, "key", value).unwrap();
            txn.commit_with(durability).unwrap();
        }
        // The file may have grown since, so the daemon has to ask how long it is.
        put(&open(&place.path).unwrap(), "another", b"of the heir").unwrap();
        let reader = daemon.read().unwrap();
        let mut descriptors = descriptors_on(&place.path.with_extension("huon-lock"));
        descriptors.extend(descriptors_on(&place.path));
        for descriptor in &descriptors {
            // SAFETY: only the environment uses it, which is to notice.
            unsafe { libc::close(*descriptor) };
        }
        let others = descriptors.iter().map(|n| place.path.with_extension(n.to_string()));
        let others: Vec<_> = others.map(|path| fs::File::create(path).unwrap()).collect();
        let put = daemon.write().and_then(|mut txn| {
            txn.create_table(&T)?.put(&mut txn, "key", b"never seen")?;
            txn.commit_with(durability)
        });
        assert!(put.is_err(), "{durability:?}");
        let marked = daemon.write().and_then(|mut txn| {
            txn.set_markers([1; 3])?;
            txn.commit_with(Durability::Durable)
        });
        assert!(marked.is_err(), "{durability:?}");
        assert!(others.iter().all(|file| file.metadata().unwrap().len() == 0));
        let t = reader.open_table(&T).unwrap().unwrap();
        assert_eq!(t.get(&reader, "key").unwrap().map(<[u8]>::to_vec), Some(b"kept".to_vec()));
        drop(reader);
        let heir = open(&place.path).unwrap();
        assert_eq!(get(&heir, "key"), Some(b"kept".to_vec()));
        put_and_check(&heir);
        drop(daemon);
        put_and_check(&heir);
    }
}

#[cfg(target_os = "linux")]
fn put_and_check(env: &Env) {
    put(env, "another", b"goes on").unwrap();
    assert!(env.check().unwrap().is_clean());
}

/// A process that becomes a daemon in the middle of a write transaction closes the descriptor that
/// its lock is on. It lives on; where its lock does not, the next writer succeeds it and takes the
/// same free pages.
#[test]
#[cfg(target_os = "linux")]
fn a_process_that_lost_its_descriptors_harms_no_other() {
    const CHILD: &str = "HUON_TEST_LOSES_DESCRIPTORS";
    // In a process of its own: another test may be given the number that was closed.
    if std::env::var_os(CHILD).is_none() {
        let place = place();
        return child(
            "bad_input::a_process_that_lost_its_descriptors_harms_no_other",
            CHILD,
            &place.path,
        );
    }
    let early_or_late = ["the heir is there before", "the heir comes after"];
    let cases = [Durability::Durable, Durability::Lazy]
        .into_iter()
        .flat_map(|durability| [60, 100_000].map(|bytes| (durability, bytes)))
        .flat_map(|(durability, bytes)| early_or_late.map(|early| (durability, bytes, early)));
    for (durability, bytes, early) in cases {
        let what = format!("{durability:?}, {bytes} bytes, {early}");
        let place = place();
        let daemon = open(&place.path).unwrap();
        let fill = |txn: &mut huon::WriteTxn, value: &[u8]| {
            let t = txn.create_table(&T)?;
            (0..20).try_for_each(|n| t.put(txn, &format!("key {n}"), value).map(drop))
        };
        // The lazy ones leave pages that the next transaction edits in the file.
        for value in [&b"first"[..], b"second", b"third"] {
            let mut txn = daemon.write().unwrap();
            fill(&mut txn, value).unwrap();
            txn.commit_with(durability).unwrap();
        }
        let mut descriptors = descriptors_on(&place.path.with_extension("huon-lock"));
        descriptors.extend(descriptors_on(&place.path));
        let mut txn = daemon.write().unwrap();
        fill(&mut txn, b"never seen").unwrap();
        let early = (early == "the heir is there before").then(|| open(&place.path).unwrap());
        for descriptor in &descriptors {
            // SAFETY: only the environment uses it, which is to notice.
            unsafe { libc::close(*descriptor) };
        }
        assert!(descriptors.len() >= 2, "{what}: {descriptors:?}");
        let heir = early.unwrap_or_else(|| open(&place.path).unwrap());
        let succeed = |timeout: Duration| {
            let mut txn = heir.write_within(timeout)?;
            fill(&mut txn, b"of the heir")?;
            txn.commit()
        };
        // Waits, where the daemon's lock is still there.
        let early = succeed(Duration::from_millis(100));
        assert!(matches!(early, Ok(_) | Err(Error::Busy(_))), "{what}: {early:?}");
        let lost = fill(&mut txn, &vec![1; bytes]).and_then(|()| txn.commit());
        let text = lost.expect_err("it has no lock").to_string();
        // The last: the file has to grow, and cannot be asked how long it is.
        let known = ["taken over", "closed", "Bad file descriptor"];
        assert!(known.iter().any(|known| text.contains(known)), "{text}");
        succeed(Duration::from_secs(10)).unwrap();
        assert_eq!(get(&heir, "key 7"), Some(b"of the heir".to_vec()));
        assert!(heir.check().unwrap().is_clean(), "{what}");
        put(&heir, "key 7", b"goes on").unwrap();
        drop(daemon);
        put(&heir, "key 8", b"goes on").unwrap();
    }
}

#[test]
fn a_panic_aborts_the_transaction_and_nothing_more() {
    let place = place();
    let env = open(&place.path).unwrap();
    put(&env, "k", b"v").unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        env.update(|txn| {
            let t = txn.create_table(&T)?;
            t.put(txn, "l", b"lost")?;
            let trap =
                TableDef::<Str, Bytes>::new("trap").ordered(huon::Order::custom("trap", |a, b| {
                    if a == b"boom" { panic!("compared") } else { a.cmp(b) }
                }));
            let trap = txn.create_table(&trap)?;
            trap.put(txn, "a", b"1")?;
            trap.put(txn, "boom", b"2").map(drop)
        })
    }));
    assert!(caught.is_err());
    assert_eq!(get(&env, "l"), None);
    put(&env, "m", b"w").unwrap();
    assert!(env.check().unwrap().is_clean());

    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        t.reserve(&mut txn, "n", 10, |_| panic!("filling"))
    }));
    assert!(caught.is_err());
    assert!(matches!(t.put(&mut txn, "n", b"v"), Err(Error::TxnBroken)));
    assert!(matches!(txn.commit(), Err(Error::TxnBroken)));
    assert_eq!(get(&env, "n"), None);
}

/// A full disk, on a small file system of its own where one can be mounted.
#[test]
fn a_full_disk() {
    const CHILD: &str = "HUON_TEST_FULL_DISK";
    if let Ok(dir) = std::env::var(CHILD) {
        return on_a_full_disk(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=3m tmpfs {0} && \
         exec {1} bad_input::a_full_disk --exact --nocapture",
        dir.path().display(),
        std::env::current_exe().unwrap().display()
    );
    let run = std::process::Command::new("unshare")
        .args(["-Urm", "sh", "-c", &script])
        .env(CHILD, dir.path())
        .output();
    match run {
        Ok(out) if out.status.success() => {}
        Ok(out) => {
            let text = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(text.contains("ermitted") || text.contains("unshare"), "{text}");
            skip("a_full_disk", "no small file system can be mounted here");
        }
        Err(_) => skip("a_full_disk", "there is no unshare command here"),
    }
}

fn skip(name: &str, reason: &str) {
    use std::io::Write;
    let Some(path) = std::env::var_os("HUON_FIGURES") else { return };
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(format!("skip {name}: {reason}\n").as_bytes()).unwrap();
}

fn on_a_full_disk(dir: &Path) {
    let env = open(&dir.join("a.huon")).unwrap();
    let mut kept = 0;
    let full = loop {
        match put(&env, &format!("key {kept:06}"), &[kept as u8; 3000]) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    let text = full.to_string();
    assert!(matches!(full, Error::Io(_)), "{text}");
    assert!(text.contains("space"), "{text}");
    assert!(kept > 100, "{kept} records fitted");
    // Nothing is lost, readers go on, and deleting works without a byte to spare.
    assert!(env.check().unwrap().is_clean());
    for n in 0..kept {
        assert_eq!(get(&env, &format!("key {n:06}")), Some(vec![n as u8; 3000]));
    }
    for n in 0..kept / 2 {
        env.update(|txn| {
            let t = txn.create_table(&T)?;
            assert!(t.remove(txn, &format!("key {n:06}"))?);
            Ok(())
        })
        .unwrap();
    }
    put(&env, "again", &[1; 3000]).unwrap();
    assert!(env.check().unwrap().is_clean());
    drop(env);
    let env = open(&dir.join("a.huon")).unwrap();
    assert_eq!(get(&env, "again"), Some(vec![1; 3000]));
}

//! Modes of opening and closing, and deleting: what one process may do beside another.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use huon::{Closed, Durability, Env, Error, Options, Str, TableDef, U64};

const T: TableDef<Str, U64> = TableDef::new("t");
const PART: &str = "HUON_MODES_PART";
const PATH: &str = "HUON_MODES_PATH";

struct Place {
    dir: tempfile::TempDir,
    path: PathBuf,
    lock: PathBuf,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.huon");
        let lock = dir.path().join("a.huon-lock");
        Place { dir, path, lock }
    }

    /// With a record, and closed.
    fn made() -> Place {
        let place = Place::new();
        let env = Env::options().open(&place.path).unwrap();
        put(&env, "a", 1);
        env.close().unwrap();
        place
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.dir).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn set_mode(&self, path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn put(env: &Env, key: &str, value: u64) {
    env.update(|txn| txn.create_table(&T)?.put(txn, key, value)).unwrap();
}

fn get(env: &Env, key: &str) -> Option<u64> {
    env.view(|txn| txn.open_table(&T)?.expect("the table is there").get(txn, key)).unwrap()
}

/// A child: opens as `part` says, reports the result, and stays until it is told to end.
fn play(part: &str) {
    let mut options = Env::options();
    options.create(false);
    if part.contains("reads") {
        options.read_only(true);
    }
    let opened = options.open(std::env::var_os(PATH).unwrap());
    let said = match &opened {
        Ok(env) if part.contains("reads") => format!("opened {:?}", get(env, "a")),
        Ok(env) => {
            put(env, "child", 5);
            "opened".into()
        }
        Err(error) => format!("{} {error}", error.code()),
    };
    println!("\n@{said}");
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    if part.contains("dies") {
        std::process::abort();
    }
}

/// A child process that has opened, or has not.
struct Child {
    process: std::process::Child,
    said: String,
    /// Kept open: the test harness of the child goes on to write.
    out: BufReader<std::process::ChildStdout>,
}

impl Child {
    /// `other_user`: as a user that owns nothing here, where that is possible.
    fn start(test: &str, part: &str, path: &Path, other_user: bool) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture"]).env(PART, part).env(PATH, path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if other_user && is_root() {
            command.uid(65534).gid(65534);
        }
        let mut process = command.spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        let mut child = Child { process, said: String::new(), out };
        child.hear();
        child
    }

    fn hear(&mut self) {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "the child ended: {all}");
            if let Some((_, said)) = line.split_once('@') {
                self.said = said.trim().to_owned();
                return;
            }
            all.push_str(&line);
        }
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        self.process.wait().unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

/// Whether this process is a child with a part, which it has played then.
fn is_child() -> bool {
    let part = std::env::var(PART);
    part.as_ref().is_ok_and(|part| {
        play(part);
        true
    })
}

/// Where another user can run this test and reach its files.
fn others_may_come(place: &Place) -> bool {
    place.set_mode(place.dir.path(), 0o755);
    let status = Command::new("test")
        .args(["-x".as_ref(), std::env::current_exe().unwrap().as_os_str()])
        .uid(if is_root() { 65534 } else { std::fs::metadata("/proc/self").map(uid).unwrap() })
        .status();
    let can = status.is_ok_and(|status| status.success());
    if !can {
        println!("skipped: another user cannot run this test");
    }
    can
}

fn uid(found: std::fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(&found)
}

const TEST_MEDIA: &str = "modes::readers_without_a_lock_file_share_with_readers_only";

#[test]
fn readers_without_a_lock_file_share_with_readers_only() {
    if is_child() {
        return;
    }
    let place = Place::made();
    if !others_may_come(&place) {
        return;
    }
    for (data_mode, why) in [(0o644, "may not write"), (0o666, "may write, and makes no file")] {
        std::fs::remove_file(&place.lock).unwrap();
        place.set_mode(&place.path, data_mode);
        place.set_mode(place.dir.path(), 0o555);
        let start = |part| Child::start(TEST_MEDIA, part, &place.path, true);
        let (one, two) = (start("reads"), start("reads, too"));
        assert_eq!((&*one.said, &*two.said), ("opened Some(1)", "opened Some(1)"), "{why}");
        assert_eq!(place.names(), ["a.huon"]);
        if data_mode == 0o666 {
            let writer = start("writes");
            assert!(writer.said.starts_with("19 "), "{why}: {}", writer.said);
            writer.end();
        }
        // Even a user with all permissions cannot write beside them.
        place.set_mode(place.dir.path(), 0o755);
        let refused = Env::options().open(&place.path);
        assert!(matches!(refused, Err(Error::Busy(_))), "{why}: {refused:?}");
        assert!(matches!(Env::delete(&place.path), Err(Error::Busy(_))));
        one.end();
        two.end();
        let env = Env::options().open(&place.path).unwrap();
        put(&env, "b", 2);
    }
}

const TEST_BESIDE: &str = "modes::a_process_without_the_lock_file_never_reads_beside_a_writer";

#[test]
fn a_process_without_the_lock_file_never_reads_beside_a_writer() {
    if is_child() {
        return;
    }
    let place = Place::made();
    if !others_may_come(&place) {
        return;
    }
    place.set_mode(&place.path, 0o644);
    place.set_mode(&place.lock, 0o600);
    let writer = Env::options().open(&place.path).unwrap();
    let beside = Child::start(TEST_BESIDE, "reads", &place.path, true);
    assert!(beside.said.starts_with("13 "), "{}", beside.said);
    beside.end();
    put(&writer, "a", 1);
    drop(writer);
    let alone = Child::start(TEST_BESIDE, "reads", &place.path, true);
    assert_eq!(alone.said, "opened Some(1)");
    alone.end();
}

const TEST_DELETE: &str = "modes::files_go_when_no_process_has_them_open";

#[test]
fn files_go_when_no_process_has_them_open() {
    if is_child() {
        return;
    }
    let place = Place::made();
    let other = place.dir.path().join("a.huon-lock-not");
    std::fs::write(&other, "").unwrap();
    for part in ["writes", "reads", "reads and dies", "writes and dies"] {
        let child = Child::start(TEST_DELETE, part, &place.path, false);
        assert!(child.said.starts_with("opened"), "{}", child.said);
        assert!(matches!(Env::delete(&place.path), Err(Error::Busy(_))), "{part}");
        let start = Instant::now();
        let refused = Env::delete_within(&place.path, Duration::from_millis(100));
        assert!(matches!(refused, Err(Error::Busy(_))) && start.elapsed().as_millis() >= 100);
        let path = place.path.clone();
        let waits = std::thread::spawn(move || Env::delete_within(path, Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(50));
        assert!(place.path.exists());
        child.end();
        assert!(waits.join().unwrap().unwrap(), "{part}");
        assert_eq!(place.names(), ["a.huon-lock-not"]);
        assert!(!Env::delete(&place.path).unwrap());
        put(&Env::options().open(&place.path).unwrap(), "a", 1);
    }
}

#[test]
fn only_what_was_never_written_is_unused() {
    let place = Place::new();
    assert!(!Env::delete_unused(&place.path).unwrap(), "there is none");
    let env = Env::options().open(&place.path).unwrap();
    assert!(!Env::delete_unused(&place.path).unwrap(), "it is open");
    env.close().unwrap();
    assert!(Env::delete_unused(&place.path).unwrap());
    assert!(place.names().is_empty());
    let env = Env::options().open(&place.path).unwrap();
    let mut txn = env.write().unwrap();
    txn.create_table(&T).unwrap().put(&mut txn, "a", 1).unwrap();
    txn.commit_with(Durability::Lazy).unwrap();
    drop(env);
    assert!(!Env::delete_unused(&place.path).unwrap(), "it has a record");
    assert_eq!(get(&Env::options().open(&place.path).unwrap(), "a"), Some(1));
}

#[test]
fn what_is_no_environment_is_not_deleted() {
    let place = Place::new();
    for text in [&b""[..], b"HUO", b"a letter", &[0; 50_000]] {
        std::fs::write(&place.path, text).unwrap();
        assert!(matches!(Env::delete(&place.path), Err(Error::NotADatabase(_))));
        assert_eq!(std::fs::read(&place.path).unwrap(), text);
        assert_eq!(place.names(), ["a.huon"]);
    }
    std::fs::remove_file(&place.path).unwrap();
    std::fs::create_dir(&place.path).unwrap();
    assert!(matches!(Env::delete(&place.path), Err(Error::NotADatabase(_))));

    let place = Place::made();
    let link = place.dir.path().join("link");
    std::os::unix::fs::symlink(&place.path, &link).unwrap();
    assert!(matches!(Env::delete(&link), Err(Error::NotADatabase(_))));
    // A lock file that is none.
    std::fs::write(&place.lock, "a private diary").unwrap();
    assert!(matches!(Env::delete(&place.path), Err(Error::NotADatabase(_))));
    assert_eq!(std::fs::read(&place.lock).unwrap(), b"a private diary");
    std::fs::remove_file(&place.lock).unwrap();
    // A newer format may lock in another way.
    let mut bytes = std::fs::read(&place.path).unwrap();
    (0..3).for_each(|slot| bytes[slot * 4096 + 4] = 99);
    std::fs::write(&place.path, &bytes).unwrap();
    assert!(matches!(Env::delete(&place.path), Err(Error::Version(_))));
    // A damaged one goes.
    (0..3).for_each(|slot| bytes[slot * 4096 + 4] = 1);
    (0..3).for_each(|slot| bytes[slot * 4096 + 99] ^= 1);
    std::fs::write(&place.path, &bytes).unwrap();
    assert!(Env::delete(&place.path).unwrap());
    assert_eq!(place.names(), ["link"]);
}

#[test]
fn a_process_that_opens_during_a_delete_has_a_file_with_a_name() {
    let place = Place::made();
    let done = Arc::new(AtomicBool::new(false));
    let deletes = std::thread::spawn({
        let (path, done) = (place.path.clone(), done.clone());
        move || {
            let mut deleted = 0;
            while !done.load(Ordering::Relaxed) {
                match Env::delete(&path) {
                    Ok(gone) => deleted += u32::from(gone),
                    Err(Error::Busy(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            deleted
        }
    });
    for n in 0..100 {
        let env = match Env::options().open(&place.path) {
            Ok(env) => env,
            Err(error @ (Error::Busy(_) | Error::Io(_))) => {
                // It was gone between two steps of the opening.
                assert!(!error.to_string().is_empty());
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        put(&env, "a", n);
        let again = Env::options().create(false).open(&place.path).unwrap();
        assert_eq!(get(&again, "a"), Some(n), "both have the same file");
    }
    done.store(true, Ordering::Relaxed);
    assert!(deletes.join().unwrap() > 0);
}

fn modes(options: &mut Options, place: &Place) -> Durability {
    options.open(&place.path).unwrap().durability()
}

#[test]
fn the_first_writer_says_what_others_take_over() {
    let place = Place::made();
    let own = |durability| {
        let mut options = Env::options();
        options.durability(durability);
        options
    };
    let mut heir = own(Durability::NoMetaSync);
    heir.inherit_durability(true);
    assert_eq!(modes(&mut heir, &place), Durability::NoMetaSync, "there is no other client");
    let all = [Durability::Durable, Durability::NoMetaSync, Durability::Lazy, Durability::Unsynced];
    for first in all {
        let reader = Env::options().read_only(true).open(&place.path).unwrap();
        let writer = own(first).flush_after_bytes(1).open(&place.path).unwrap();
        let third = own(Durability::Durable).open(&place.path).unwrap();
        assert_eq!((writer.durability(), third.durability()), (first, Durability::Durable));
        let taken = heir.open(&place.path).unwrap();
        assert_eq!(taken.durability(), first);
        if first == Durability::Lazy {
            put(&taken, "flushed by its bytes", 1);
            assert_eq!(taken.durable_id(), taken.read().unwrap().id());
        }
        // They stay while any client is there.
        drop((writer, third));
        assert_eq!(modes(&mut heir, &place), first);
        drop((reader, taken));
    }
}

#[test]
fn a_close_tells_what_a_drop_cannot() {
    let place = Place::made();
    let env = Env::options().durability(Durability::Lazy).open(&place.path).unwrap();
    put(&env, "a", 2);
    let other = env.clone();
    assert_eq!(env.close().unwrap(), Closed::StillShared);
    assert_eq!(other.durable_id(), other.read().unwrap().id(), "flushed, though a clone lives");
    put(&other, "a", 3);
    let reader = other.read().unwrap();
    assert_eq!(other.close().unwrap(), Closed::StillShared, "a transaction lives");
    drop(reader);
    let env = Env::open(&place.path).unwrap();
    assert_eq!((env.recovery(), get(&env, "a")), (huon::Recovery::Clean, Some(3)));
    assert_eq!(env.path(), place.path);
    assert_eq!(env.close().unwrap(), Closed::Fully);
}

#[test]
fn a_copy_goes_down_a_pipe() {
    let place = Place::made();
    let env = Env::options().open(&place.path).unwrap();
    env.update(|txn| {
        let t = txn.create_table(&T)?;
        (0..50_000).try_for_each(|n| t.put(txn, &format!("{n}"), n).map(drop))
    })
    .unwrap();
    for compact in [false, true] {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let receives = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let (mut calls, mut last) = (0, huon::Progress::default());
        let mut show = |progress: &huon::Progress| {
            assert!(progress.done_bytes >= last.done_bytes);
            assert!(progress.done_bytes <= progress.total_bytes);
            (calls, last) = (calls + 1, *progress);
            std::ops::ControlFlow::Continue(())
        };
        let options = huon::CopyOptions::new().compact(compact).progress(&mut show);
        let report = env.copy_to_fd(&writer, options).unwrap();
        drop(writer);
        assert!(calls > 1 && last.done_bytes == last.total_bytes);
        let bytes = receives.join().unwrap();
        assert_eq!(report.bytes, bytes.len() as u64);
        let copy = place.dir.path().join(format!("{compact}.huon"));
        std::fs::write(&copy, bytes).unwrap();
        let copy = Env::options().open(&copy).unwrap();
        assert!(copy.check().unwrap().is_clean());
        assert_eq!(get(&copy, "49999"), Some(49999));

        // A file gets it from where it stands on.
        let path = place.dir.path().join(format!("{compact}.tar"));
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"head").unwrap();
        env.copy_to_fd(&file, huon::CopyOptions::new().compact(compact)).unwrap();
        let found = std::fs::read(&path).unwrap();
        assert_eq!((&found[..4], found.len() as u64), (&b"head"[..], report.bytes + 4));

        // No reader is left.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let gone = env.copy_to_fd(&writer, huon::CopyOptions::new().compact(compact));
        assert!(matches!(gone, Err(Error::Io(_))), "{gone:?}");
    }
}

//! Processes that a test directs: of this user or another one, a line at a time.
//!
//! Each is this very test binary, told to run one test alone, which calls [`act`] first. A test is
//! skipped, by name, where it may not become another user.

#![allow(dead_code, reason = "no test file needs all of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use huon::{Durability, Env, ReadTxn, Str, TableDef, U64};

pub(crate) const T: TableDef<Str, U64> = TableDef::new("t");
/// Users that own nothing on any machine.
pub(crate) const OWNER: u32 = 65534;
pub(crate) const OTHER: u32 = 65533;

const PATH: &str = "HUON_ACTOR_PATH";

/// A directory with a data file, or room for one.
pub(crate) struct Place {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) path: PathBuf,
    pub(crate) lock: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let (path, lock) = (dir.path().join("a.huon"), dir.path().join("a.huon-lock"));
        Place { dir, path, lock }
    }

    /// With the record `a` of 1, closed, and of that user and mode.
    pub(crate) fn made(user: u32, mode: u32) -> Place {
        let place = Place::new();
        let env = Env::options().open(&place.path).unwrap();
        put(&env, "a", 1);
        env.close().unwrap();
        for (path, mode) in [(&place.path, mode), (&place.lock, mode)] {
            give(path, user, mode);
        }
        give(place.dir.path(), user, 0o755);
        place
    }

    pub(crate) fn names(&self) -> Vec<String> {
        names(self.dir.path())
    }
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Owner, group and permissions.
pub(crate) fn give(path: &Path, user: u32, mode: u32) {
    std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
    set_mode(path, mode);
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Owner, group and permissions.
pub(crate) fn access(path: &Path) -> (u32, u32, u32) {
    let found = std::fs::symlink_metadata(path).unwrap();
    (found.uid(), found.gid(), found.mode() & 0o7777)
}

pub(crate) fn put(env: &Env, key: &str, value: u64) {
    env.update(|txn| txn.create_table(&T)?.put(txn, key, value)).unwrap();
}

pub(crate) fn get(env: &Env, key: &str) -> Option<u64> {
    value(&env.read().unwrap(), key).unwrap()
}

fn value(txn: &ReadTxn, key: &str) -> huon::Result<Option<u64>> {
    txn.open_table(&T)?.expect("the table is there").get(txn, key)
}

/// Whether this test may be run by root and by another user; if not, it says so.
pub(crate) fn users_can_be_changed(test: &str) -> bool {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    if !is_root {
        return skip(test, "not run by root");
    }
    let binary = std::env::current_exe().unwrap();
    let status = Command::new("test")
        .args(["-x".as_ref(), binary.as_os_str()])
        .uid(OTHER)
        .gid(OTHER)
        .status();
    if status.is_ok_and(|status| status.success()) {
        true
    } else {
        skip(test, "another user cannot run this test's binary")
    }
}

/// Notes why a test could not do its work here; always `false`.
pub(crate) fn skip(test: &str, reason: &str) -> bool {
    println!("skip {test}: {reason}");
    if let Some(path) = std::env::var_os("HUON_FIGURES") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "skip {test}: {reason}"));
    }
    false
}

/// A process that does what it is told.
pub(crate) struct Actor {
    process: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Actor {
    /// Runs `test` as `user`, on the file at `path`.
    pub(crate) fn start(test: &str, user: u32, path: &Path) -> Actor {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture"]).env(PATH, path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if user != 0 {
            command.uid(user).gid(user);
        }
        let mut process = command.spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        Actor { process, out }
    }

    /// The same, and it opens the file: what came of it.
    pub(crate) fn opens(test: &str, user: u32, path: &Path, how: &str) -> (Actor, String) {
        let mut actor = Actor::start(test, user, path);
        let said = actor.ask(how);
        (actor, said)
    }

    /// Gives it a command; returns its answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, what: &str) -> String {
        writeln!(self.process.stdin.as_mut().unwrap(), "{what}").unwrap();
        let mut all = String::new();
        loop {
            let mut line = String::new();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "{what}: the actor ended: {all}");
            if let Some((_, said)) = line.split_once('@') {
                return said.trim().to_owned();
            }
            all.push_str(&line);
        }
    }

    /// Ends it in order.
    pub(crate) fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }

    /// Ends it as the kernel does.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The state of an actor.
#[derive(Default)]
struct Hands {
    env: Option<Env>,
    /// Read transactions, in the order in which they began.
    txns: Vec<ReadTxn>,
}

/// Acts, if this process is an actor: to be called first in each test that has any.
pub(crate) fn act() -> bool {
    let Some(path) = std::env::var_os(PATH) else { return false };
    let mut hands = Hands::default();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let said = match hands.obey(&line, Path::new(&path)) {
            Ok(said) => said,
            Err(error) => format!("{} {error}", error.code()),
        };
        println!("\n@{said}");
        std::io::stdout().flush().unwrap();
    }
    true
}

impl Hands {
    fn obey(&mut self, line: &str, path: &Path) -> huon::Result<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let env = || self.env.as_ref().expect("it has opened the file");
        Ok(match words[..] {
            [how @ ("open" | "look")] => {
                let mut options = Env::options();
                options.create(false).read_only(how == "look");
                self.env = Some(options.open(path)?);
                "opened".into()
            }
            ["get", key] => format!("{:?}", value(&env().read()?, key)?),
            ["begin"] => {
                let txn = env().read()?;
                let id = txn.id();
                self.txns.push(txn);
                id.to_string()
            }
            ["see", key] => {
                let txn = self.txns.last().expect("a transaction");
                format!("{:?}", value(txn, key)?)
            }
            ["finish"] => {
                self.txns.pop();
                "finished".into()
            }
            ["put", key, number] => {
                put(env(), key, number.parse().unwrap());
                "put".into()
            }
            ["lazily", key, number] => {
                let mut txn = env().write()?;
                txn.create_table(&T)?.put(&mut txn, key, number.parse().unwrap())?;
                txn.commit_with(Durability::Lazy)?.to_string()
            }
            ["check"] => format!("clean: {}", env().check()?.is_clean()),
            ["readers"] => {
                let readers = env().info()?.readers;
                format!("{:?}", readers.iter().map(|r| (r.txnid, r.pid)).collect::<Vec<_>>())
            }
            ["close"] => {
                self.txns.clear();
                self.env.take().map(Env::close).transpose()?;
                "closed".into()
            }
            ["become", user, ref rest @ ..] => {
                let user = user.parse().unwrap();
                // SAFETY: the calls touch no memory of this process.
                assert_eq!(unsafe { (libc::setgid(user), libc::setuid(user)) }, (0, 0));
                self.obey(&rest.join(" "), path)?
            }
            // In a forked child.
            ["child", ..] => {
                let rest = line.trim_start().strip_prefix("child").unwrap_or_default();
                let (_, said) = forked(|| self.obey(rest, path), false);
                said
            }
            // The same, and the child stays: its number goes before what it says.
            ["stay", ..] => {
                let rest = line.trim_start().strip_prefix("stay").unwrap_or_default();
                let (child, said) = forked(|| self.obey(rest, path), true);
                format!("{child} {said}")
            }
            _ => panic!("no actor knows {line:?}"),
        })
    }
}

/// What a forked child says, and its number. One that stays does so until it is killed, or for a
/// minute.
fn forked(work: impl FnOnce() -> huon::Result<String>, stays: bool) -> (i32, String) {
    let (mut from, mut to) = std::io::pipe().unwrap();
    // SAFETY: the child calls this library and ends without unwinding.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends a process that hangs.
        unsafe { libc::alarm(60) };
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let said = said.map(|said| said.unwrap_or_else(|e| format!("{} {e}", e.code())));
        let _ = to.write_all(said.as_deref().unwrap_or("a panic").as_bytes());
        drop(to);
        if stays {
            loop {
                std::thread::park();
            }
        }
        // SAFETY: leaves at once.
        unsafe { libc::_exit(0) };
    }
    drop(to);
    let mut said = String::new();
    from.read_to_string(&mut said).unwrap();
    if !stays {
        // SAFETY: waits for the child that was made here.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
    (child, said)
}

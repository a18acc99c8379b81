//! Environments in memory, and what is outside of them: descriptors, directories, forked children.

use std::path::Path;
use std::process::Command;

use huon::{Closed, Durability, Env, Error, Str, TableDef, U64};

const T: TableDef<Str, U64> = TableDef::new("t");
const CHILD: &str = "HUON_TEST_IN_MEMORY";

fn put(env: &Env, key: &str, value: u64) -> huon::Result<()> {
    env.update(|txn| txn.create_table(&T)?.put(txn, key, value).map(drop))
}

fn get(env: &Env, key: &str) -> huon::Result<Option<u64>> {
    env.view(|txn| match txn.open_table(&T)? {
        Some(t) => t.get(txn, key),
        None => Ok(None),
    })
}

/// How many descriptors this process has, and the one that counts them; `None` where no directory
/// shows them.
fn descriptors() -> Option<usize> {
    let shown = ["/proc/self/fd", "/dev/fd"].iter().find(|path| Path::new(path).is_dir())?;
    Some(std::fs::read_dir(shown).ok()?.count())
}

fn names(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

/// In a process of its own, whose descriptors no other test opens and whose temporary files are in
/// a directory of its own.
#[test]
fn nothing_is_left_behind() {
    if let Some(dir) = std::env::var_os(CHILD) {
        let dir = Path::new(&dir);
        let count = || {
            let [here, temporary] = ["here", "temporary"].map(|name| names(&dir.join(name)));
            (descriptors(), here + temporary)
        };
        let before = count();
        assert_eq!(before.1, 0);
        let env = Env::in_memory().unwrap();
        let opened = count();
        assert_eq!(opened.0, before.0.map(|before| before + 1), "one descriptor each");
        assert_eq!(opened.1, 0, "no name in any directory");
        for n in 0..100 {
            put(&env, &"k".repeat(n), n as u64).unwrap();
        }
        // With pages that are edited in a mapping of their own.
        for n in 0..20 {
            let mut txn = env.write().unwrap();
            txn.create_table(&T).unwrap().put(&mut txn, "lazy", n).unwrap();
            txn.commit_with(Durability::Lazy).unwrap();
        }
        assert_eq!(count(), opened);
        let clone = env.clone();
        assert_eq!(env.close().unwrap(), Closed::StillShared);
        assert_eq!(count(), opened);
        assert_eq!(clone.close().unwrap(), Closed::Fully);
        assert_eq!(count(), before);
        for _ in 0..50 {
            drop(Env::in_memory().unwrap());
        }
        assert_eq!(count(), before);
        println!("\n@nothing is left");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let [here, temporary] = ["here", "temporary"].map(|name| dir.path().join(name));
    std::fs::create_dir(&here).unwrap();
    std::fs::create_dir(&temporary).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["in_memory::nothing_is_left_behind", "--exact", "--nocapture"]);
    command.current_dir(&here).env(CHILD, dir.path()).env("TMPDIR", &temporary);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("@nothing is left"), "{text}\n{errors}");
}

/// There is no path that a child could open it by, and it must not write into its parent's memory.
#[test]
fn a_forked_child_is_refused_and_changes_nothing() {
    let env = Env::in_memory().unwrap();
    put(&env, "k", 1).unwrap();
    let reader = env.read().unwrap();
    let table = reader.open_table(&T).unwrap().unwrap();
    let mut open = env.write().unwrap();
    open.create_table(&T).unwrap().put(&mut open, "open", 2).unwrap();
    // SAFETY: the child only calls into this library and leaves without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let forked = |refused: huon::Result<()>| matches!(refused, Err(Error::Forked));
        let refusals = [
            forked(table.get(&reader, "k").map(drop)),
            forked(get(&env, "k").map(drop)),
            forked(put(&env, "child", 3)),
            forked(env.attach()),
            forked(env.sync().map(drop)),
            forked(env.check().map(drop)),
            forked(open.commit().map(drop)),
        ];
        // Another one is the child's own.
        let own = Env::in_memory();
        let works = own.is_ok_and(|own| put(&own, "own", 4).is_ok());
        drop(reader);
        let closed = env.close();
        let good = refusals == [true; 7] && works && closed.is_ok();
        // SAFETY: leaves at once.
        unsafe { libc::_exit(if good { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(status, 0, "the child is refused everything, and has its own");
    open.commit().unwrap();
    put(&env, "after", 5).unwrap();
    assert_eq!(table.get(&reader, "k").unwrap(), Some(1));
    let found = ["k", "open", "child", "after"].map(|key| get(&env, key).unwrap());
    assert_eq!(found, [Some(1), Some(2), None, Some(5)]);
    assert_eq!(env.info().unwrap().readers.len(), 1, "the parent's reader is still there");
    assert!(env.check().unwrap().is_clean());
}

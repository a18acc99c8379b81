//! Reading copies nothing and makes no system call, nor does a write transaction that changes
//! nothing.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::actors::skip;
use huon::{Bytes, Durability, Env, TableDef, U64};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const CHILD: &str = "HUON_TEST_SEALED_READER";
const RECORDS: u64 = 20_000;

fn fill(path: &std::path::Path) {
    let env = Env::options().open(path).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&T).unwrap();
    for n in 0..RECORDS {
        let bytes = if n % 500 == 0 { 9000 } else { 60 };
        t.put(&mut txn, n, &vec![n as u8; bytes]).unwrap();
    }
    txn.commit().unwrap();
}

#[test]
fn keys_and_values_lie_in_the_map() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    fill(&path);
    let env = Env::options().open(&path).unwrap();
    let txn = env.read().unwrap();
    let t = txn.open_table(&T).unwrap().unwrap();
    let raw = t.raw();
    for n in 0..RECORDS {
        assert!(txn.is_mapped(t.get(&txn, n).unwrap().unwrap()));
    }
    for item in raw.iter(&txn).unwrap() {
        let (key, value) = item.unwrap();
        assert!(txn.is_mapped(key) && txn.is_mapped(value));
    }
    assert!(!txn.is_mapped(&[0u8; 4]), "memory of this program does not");
}

/// From here on the thread may only write and exit: other system calls kill it.
fn seal_thread() {
    // SAFETY: strict mode takes no further arguments.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) }, 0);
}

/// Says how it went, and leaves the thread.
fn say_and_leave(is_right: bool) {
    let said: &[u8] = if is_right { b"\nsealed: right\n" } else { b"\nsealed: wrong\n" };
    // SAFETY: the buffer is as long as is said; leaving the thread this way is the call that
    // remains.
    unsafe {
        libc::write(1, said.as_ptr().cast(), said.len());
        libc::syscall(libc::SYS_exit, 0);
    }
}

/// Runs in a process of its own.
fn read_under_seccomp(path: &str) {
    let env = Env::options().open(path).unwrap();
    let txn = env.read().unwrap();
    let t = txn.open_table(&T).unwrap().unwrap();
    let warm: usize = t.iter(&txn).unwrap().map(|item| item.unwrap().1.len()).sum();
    seal_thread();
    let mut keys = [0; 100];
    let mut many = 0;
    for first in (0..RECORDS).step_by(keys.len()) {
        keys.iter_mut().zip(first..).for_each(|(key, n)| *key = n);
        t.get_many(&txn, &keys, |_, value| many += value.unwrap().len()).unwrap();
    }
    let mut leaves = 0;
    for leaf in t.iter(&txn).unwrap().leaves() {
        leaves += leaf.unwrap().iter().map(|item| item.unwrap().1.len()).sum::<usize>();
    }
    let mut sum = 0;
    for n in 0..RECORDS {
        sum += t.get(&txn, n).unwrap().unwrap().len();
    }
    let mut forward = 0;
    for item in t.iter(&txn).unwrap() {
        forward += item.unwrap().1.len();
    }
    let mut backward = 0;
    let mut range = t.iter(&txn).unwrap();
    while let Some(item) = range.next_back() {
        backward += item.unwrap().1.len();
    }
    say_and_leave([sum, many, leaves, forward, backward] == [warm; 5]);
}

/// Runs in a process of its own.
fn write_under_seccomp(path: &str) {
    let env = Env::options().open(path).unwrap();
    let t = env.read().unwrap().open_table(&T).unwrap().unwrap();
    // The first one of a client finds out how things are.
    env.write().unwrap().abort();
    seal_thread();
    let mut found = 0;
    for n in 0..1000 {
        let txn = env.write().unwrap();
        found += usize::from(t.get(&txn, n).unwrap().is_some());
        // They end in either way.
        if n % 2 == 0 {
            txn.abort();
        } else {
            txn.commit_with(Durability::Unsynced).unwrap();
        }
    }
    say_and_leave(found == 1000);
}

/// Runs the test of that name in a process of its own, on a file with records.
fn run_sealed(name: &str, sealed: fn(&str)) {
    if let Ok(path) = std::env::var(CHILD) {
        return sealed(&path);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    fill(&path);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([&format!("zero_copy::{name}"), "--exact", "--nocapture"])
        .env(CHILD, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The child's main thread waits for one that has left: it is ended once it has said its word.
    let mut out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let mut byte = [0];
        while out.read(&mut byte).unwrap() == 1 {
            text.push(byte[0]);
            if text.ends_with(b"sealed: right\n") || text.ends_with(b"sealed: wrong\n") {
                break;
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let start = std::time::Instant::now();
    while !reader.is_finished() && start.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let text = reader.join().unwrap();
    assert!(text.contains("sealed: right"), "it was stopped by the filter: {text}");
}

#[test]
fn no_way_of_reading_makes_a_system_call() {
    run_sealed("no_way_of_reading_makes_a_system_call", read_under_seccomp);
}

/// Whether locks on files in this directory outlive their descriptors: they do unless whole files
/// are locked, or one file system lies on top of another.
fn locks_last(dir: &std::path::Path) -> bool {
    let dir = std::ffi::CString::new(dir.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: zeros are a valid `statfs`, which the call fills in; the path ends with a zero byte.
    let kind = unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        assert_eq!(libc::statfs(dir.as_ptr(), &mut about), 0);
        about.f_type
    };
    let whole_files = std::env::var("HUON_LOCKS").is_ok_and(|way| way == "files");
    !whole_files && kind != libc::OVERLAYFS_SUPER_MAGIC
}

/// Where a client's lock outlives its descriptor, that is not looked at before it is used.
#[test]
fn a_write_transaction_that_changes_nothing_makes_no_system_call() {
    const NAME: &str = "a_write_transaction_that_changes_nothing_makes_no_system_call";
    if !locks_last(&std::env::temp_dir()) {
        skip(NAME, "locks end with their descriptors here");
        return;
    }
    run_sealed(NAME, write_under_seccomp);
}

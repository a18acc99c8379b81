//! Reading copies nothing and makes no system call.

use std::io::Read;
use std::process::{Command, Stdio};

use huon::{Bytes, Env, TableDef, U64};

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

/// Runs in a process of its own: after the first line of output the thread may only write and exit.
fn read_under_seccomp(path: &str) {
    let env = Env::options().open(path).unwrap();
    let txn = env.read().unwrap();
    let t = txn.open_table(&T).unwrap().unwrap();
    let warm: usize = t.iter(&txn).unwrap().map(|item| item.unwrap().1.len()).sum();
    // SAFETY: strict mode takes no further arguments; from here on other system calls kill the
    // thread.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) }, 0);
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
    let said: &[u8] = if [sum, many, leaves, forward, backward] == [warm; 5] {
        b"\nsealed reader: all read\n"
    } else {
        b"\nsealed reader: wrong sums\n"
    };
    // SAFETY: the buffer is as long as is said; leaving the thread this way is the call that
    // remains.
    unsafe {
        libc::write(1, said.as_ptr().cast(), said.len());
        libc::syscall(libc::SYS_exit, 0);
    }
}

#[test]
fn no_way_of_reading_makes_a_system_call() {
    if let Ok(path) = std::env::var(CHILD) {
        return read_under_seccomp(&path);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    fill(&path);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["zero_copy::no_way_of_reading_makes_a_system_call", "--exact", "--nocapture"])
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
            if text.ends_with(b"sealed reader: all read\n") || text.ends_with(b"wrong sums\n") {
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
    assert!(text.contains("all read"), "the reader was stopped by the filter: {text}");
}

//! Processes without standard streams: no descriptor of ours takes their places, so what is printed
//! never ends in a file, and what is put into their places later is nothing of ours.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::IntoRawFd;
use std::path::Path;

use huon::{CopyOptions, Env, Str, TableDef, U64};

const T: TableDef<Str, U64> = TableDef::new("t");
const LINE: &[u8] = b"a line of a log\n";

/// Each set of standard streams that may be closed, as bits.
const SETS: std::ops::Range<u32> = 1..8;
/// What a child puts.
const RECORDS: u64 = 5;

/// Runs `work` in a forked child, which says what went wrong, if anything.
fn in_child(what: &str, work: impl FnOnce() -> Result<(), String>) {
    let (mut hears, says) = std::io::pipe().unwrap();
    // SAFETY: the child calls this library and leaves without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let told = told.unwrap_or_else(|_| Err("a panic".into()));
        let mut says = says;
        let text = told.err().unwrap_or("fine".into());
        let _ = says.write_all(text.as_bytes());
        // SAFETY: leaves at once.
        unsafe { libc::_exit(0) };
    }
    drop(says);
    let mut told = String::new();
    hears.read_to_string(&mut told).unwrap();
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(pid, &mut 0, 0) };
    assert_eq!(told, "fine", "{what}");
}

fn close(set: u32) {
    for stream in (0..3).filter(|stream| set >> stream & 1 != 0) {
        // SAFETY: nothing of this process is left that uses the stream.
        unsafe { libc::close(stream) };
    }
}

/// Whether a stream that was closed still is.
fn check_closed(set: u32) -> Result<(), String> {
    for stream in (0..3).filter(|stream| set >> stream & 1 != 0) {
        // SAFETY: the call only asks.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } != -1 {
            return Err(format!("{stream} is in use"));
        }
    }
    Ok(())
}

/// As a program prints that does not know where to.
fn print() {
    for stream in [1, 2] {
        // SAFETY: the buffer is as long as is said; the stream may be closed.
        unsafe { libc::write(stream, LINE.as_ptr().cast(), LINE.len()) };
    }
}

/// Puts a file into the places of the standard streams, as a daemon does with `/dev/null`.
fn put_in_place(path: &Path) {
    let file = File::options().create(true).append(true).open(path).unwrap().into_raw_fd();
    for stream in 0..3 {
        // SAFETY: both are descriptors of this process, and no standard stream is used meanwhile.
        unsafe { libc::dup2(file, stream) };
    }
}

fn put(env: &Env, n: u64) -> huon::Result<()> {
    print();
    env.update(|txn| txn.create_table(&T)?.put(txn, &format!("key {n}"), n).map(drop))
}

fn use_all(env: &Env, copies: &Path, set: u32) -> Result<(), String> {
    let text = |error: huon::Error| error.to_string();
    for n in 0..RECORDS {
        put(env, n).map_err(text)?;
        check_closed(set)?;
    }
    let read = env.view(|txn| txn.open_table(&T)?.expect("it was made").len(txn)).map_err(text)?;
    if read != RECORDS {
        return Err(format!("{read} records"));
    }
    env.copy_to(copies.join(format!("{set}")), CopyOptions::new()).map_err(text)?;
    let compact = copies.join(format!("{set}-compact"));
    env.copy_to(compact, CopyOptions::new().compact(true)).map_err(text)?;
    check_closed(set)?;
    if env.check().map_err(text)?.is_clean() { Ok(()) } else { Err("it is damaged".into()) }
}

/// Nothing but what was put is in the file, and each copy is as good.
fn assert_whole(path: &Path) {
    let env = Env::options().create(false).open(path).unwrap();
    assert!(env.check().unwrap().is_clean());
    assert_eq!(env.view(|txn| txn.open_table(&T)?.unwrap().len(txn)).unwrap(), RECORDS);
    drop(env);
    for file in [path.to_owned(), Env::lock_path(path)] {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!bytes.windows(LINE.len()).any(|bytes| bytes == LINE), "{}", file.display());
    }
}

#[test]
fn a_process_without_standard_streams_keeps_its_files() {
    let dir = tempfile::tempdir().unwrap();
    for set in SETS {
        let path = dir.path().join(format!("{set}.huon"));
        let (log, copies) = (dir.path().join("log"), dir.path().join(format!("copies-{set}")));
        std::fs::create_dir(&copies).unwrap();
        in_child(&format!("closed before: {set:03b}"), || {
            put_in_place(&log);
            close(set);
            let env = Env::options().open(&path).map_err(|error| error.to_string())?;
            check_closed(set)?;
            use_all(&env, &copies, set)
        });
        assert_whole(&path);
        for copy in std::fs::read_dir(&copies).unwrap() {
            let copy = copy.unwrap().path();
            if !copy.to_string_lossy().ends_with("-lock") {
                assert_whole(&copy);
            }
        }
    }
}

/// Programs that put themselves into the background once all is open.
#[test]
fn standard_streams_may_go_and_come_after_the_opening() {
    let dir = tempfile::tempdir().unwrap();
    for (set, later) in [0, 6, 7].into_iter().flat_map(|set| SETS.map(move |later| (set, later))) {
        let path = dir.path().join(format!("{set}-{later}.huon"));
        let (log, copies) = (dir.path().join("log"), dir.path().join(format!("{set}-{later}")));
        std::fs::create_dir(&copies).unwrap();
        in_child(&format!("closed before: {set:03b}, after: {later:03b}"), || {
            close(set);
            let env = Env::options().open(&path).map_err(|error| error.to_string())?;
            put_in_place(&log);
            put(&env, 1).map_err(|error| error.to_string())?;
            close(later);
            use_all(&env, &copies, later)
        });
        assert_whole(&path);
    }
}

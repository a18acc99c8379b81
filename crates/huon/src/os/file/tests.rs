//! The real data file against a real system, and against calls that fail as scripted.

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use super::*;
use crate::os::testing::{
    ScratchDir, child_command, in_both_ways, in_child, is_child, limit, skip,
};

const MIB: u64 = 1 << 20;

/// Names a test of this file in full, for [`in_child`].
macro_rules! this {
    ($name:literal) => {
        concat!(module_path!(), "::", $name)
    };
}

fn options(create: Create) -> FileOptions {
    FileOptions { read_only: false, create, mode: 0o600, reserve_bytes: 64 * MIB, inherited: None }
}

fn read_only() -> FileOptions {
    FileOptions { read_only: true, ..options(Create::Never) }
}

/// A new file of `bytes` in `scratch`.
fn made(scratch: &ScratchDir, name: &str, bytes: u64) -> RealFile {
    let file = RealFile::open(&scratch.join(name), &options(Create::Fresh)).unwrap();
    file.grow(bytes).unwrap();
    file
}

/// The operation and the kernel's error number.
fn io_error<T>(result: Result<T>) -> (&'static str, Option<i32>) {
    match result {
        Err(Error::Io(e)) => (e.operation, e.source.raw_os_error()),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

fn not_ours(path: &Path, options: &FileOptions) -> String {
    match RealFile::open(path, options) {
        Err(Error::NotADatabase(text)) => text.into(),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("{} was opened", path.display()),
    }
}

fn contents(file: &RealFile) -> Vec<u8> {
    let mut bytes = vec![0; file.file_bytes().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

#[test]
fn creating_is_as_asked() {
    let scratch = ScratchDir::new();
    let path = scratch.join("a.huon");
    let missing = io_error(RealFile::open(&path, &options(Create::Never)));
    assert_eq!(missing, ("open", Some(libc::ENOENT)));
    let file = RealFile::open(&path, &options(Create::Fresh)).unwrap();
    assert!(file.writable());
    let mode = file.file.metadata().unwrap().mode() & 0o777;
    assert_eq!((mode, file.file_bytes().unwrap()), (0o600, 0));
    sync_directory(&path).unwrap();
    RealFile::open(&path, &options(Create::Never)).unwrap();
    let twice = io_error(RealFile::open(&path, &options(Create::Fresh)));
    assert_eq!(twice, ("create", Some(libc::EEXIST)));
    let both = FileOptions { read_only: true, ..options(Create::Fresh) };
    assert!(matches!(RealFile::open(&path, &both), Err(Error::Invalid(_))));
}

#[test]
fn anything_but_a_regular_file_is_refused_by_name() {
    let scratch = ScratchDir::new();
    let fifo = scratch.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let socket = scratch.join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    made(&scratch, "real.huon", 0);
    let link = scratch.join("link");
    std::os::unix::fs::symlink(scratch.join("real.huon"), &link).unwrap();
    let dangling = scratch.join("dangling");
    std::os::unix::fs::symlink(scratch.join("nowhere"), &dangling).unwrap();
    let cases = [
        (scratch.path(), "a directory"),
        (&fifo, "a FIFO"),
        (&socket, "a socket"),
        (&link, "a symbolic link"),
        (&dangling, "a symbolic link"),
        (Path::new("/dev/null"), "a character device"),
    ];
    for (path, what) in cases {
        let wanted = format!("{} is {what}, not a regular file", path.display());
        for options in [options(Create::Never), read_only()] {
            assert_eq!(not_ours(path, &options), wanted);
        }
    }
    assert!(!scratch.join("nowhere").exists());
}

#[test]
fn descriptors_are_closed_on_exec() {
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", 0);
    // SAFETY: the descriptor is open.
    let flags = unsafe { libc::fcntl(file.file.as_raw_fd(), libc::F_GETFD) };
    assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
}

#[test]
fn writes_are_seen_by_reads_and_by_the_map() {
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", 2 * MIB);
    let big = vec![7; 300_000];
    file.write_at(&[b"abc", b"", &big, b"xyz"], 4095).unwrap();
    file.write_at(&[], 2 * MIB).unwrap();
    file.sync().unwrap();
    assert_eq!(file.map().page(4095, 3), Some(&b"abc"[..]));
    assert_eq!(file.map().page(4098 + 300_000, 4), Some(&b"xyz\0"[..]));
    let mut buffer = [1; 6];
    assert_eq!(file.read_at(&mut buffer, 4094).unwrap(), 6);
    assert_eq!(&buffer, b"\0abc\x07\x07");
    assert_eq!(file.read_at(&mut buffer, 2 * MIB - 2).unwrap(), 2);
    assert_eq!(file.read_at(&mut buffer, 2 * MIB).unwrap(), 0);
    file.forget_cache();
    assert_eq!(file.map().page(4095, 3), Some(&b"abc"[..]));
    let counts = IoCounts { syncs: 1, writes: 2, stores: 0, written_bytes: 300_006, grows: 1 };
    assert_eq!(file.counts(), counts);
}

#[test]
fn a_write_never_extends_the_file() {
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", 8192);
    for offset in [8190, 8192, 1 << 40, u64::MAX - 1] {
        assert_eq!(io_error(file.write_at(&[b"a", b"bc"], offset)).0, "write");
    }
    assert_eq!(contents(&file), vec![0; 8192]);
    // Another process grows the file, and later cuts it.
    let other = RealFile::open(&scratch.join("a.huon"), &options(Create::Never)).unwrap();
    other.grow(16384).unwrap();
    file.write_at(&[b"new"], 16381).unwrap();
    other.shrink(4096).unwrap();
    assert_eq!(file.file_bytes().unwrap(), 4096);
    assert_eq!(io_error(file.write_at(&[b"late"], 4096)).0, "write");
    assert_eq!(other.file_bytes().unwrap(), 4096);
    assert_eq!((file.counts().writes, file.counts().written_bytes), (1, 3));
}

#[test]
fn growing_allocates_and_shrinking_cuts() {
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", 3 * MIB);
    assert!(file.file.metadata().unwrap().blocks() * 512 >= 3 * MIB);
    file.grow(MIB).unwrap();
    assert_eq!(file.file_bytes().unwrap(), 3 * MIB);
    file.write_at(&[b"end"], 3 * MIB - 3).unwrap();
    file.shrink(MIB).unwrap();
    file.shrink(2 * MIB).unwrap();
    assert_eq!(file.file_bytes().unwrap(), MIB);
    file.grow(3 * MIB).unwrap();
    assert_eq!(file.map().page(3 * MIB - 3, 3), Some(&[0; 3][..]));
    assert_eq!(file.counts().grows, 2);
    assert_eq!(io_error(file.grow(u64::MAX)).0, "grow");
    assert_eq!(file.file_bytes().unwrap(), 3 * MIB);
}

#[test]
fn growing_writes_zeros_where_the_file_system_cannot_allocate() {
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", 100);
    for (errno, bytes) in
        [(libc::EOPNOTSUPP, MIB + 5), (libc::EINVAL, 2 * MIB), (libc::ENOSYS, 3 * MIB)]
    {
        file.grow_by(bytes, |_, _, _| Err(io::Error::from_raw_os_error(errno))).unwrap();
        assert_eq!(file.file_bytes().unwrap(), bytes);
        assert!(file.file.metadata().unwrap().blocks() * 512 >= bytes);
    }
    assert_eq!(file.counts().grows, 4);
    assert_eq!(file.counts().writes, 0);
}

#[test]
fn a_growth_that_fails_halfway_is_cut_back() {
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", 4096);
    let half = |file: &File, offset, bytes: u64| {
        files::allocate(file, offset, bytes / 2)?;
        Err(io::Error::from_raw_os_error(libc::ENOSPC))
    };
    assert_eq!(io_error(file.grow_by(MIB, half)), ("grow", Some(libc::ENOSPC)));
    assert_eq!(file.file_bytes().unwrap(), 4096);
    assert_eq!(file.counts().grows, 1);
}

/// Where a child of [`on_a_small_disk`] finds its file system.
const DIRECTORY: &str = "HUON_TEST_DIRECTORY";

fn small_disk() -> PathBuf {
    PathBuf::from(std::env::var_os(DIRECTORY).unwrap())
}

/// Runs `test` in a child that has a file system of 1 MiB to itself.
fn on_a_small_disk(test: &str) {
    let scratch = ScratchDir::new();
    // A mount that only the child sees, and that ends with it.
    let script = "mount -t tmpfs -o size=1m huon \"$HUON_TEST_DIRECTORY\" && echo mounted \
                  && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", script]).arg(std::env::current_exe().unwrap());
    command.env(DIRECTORY, scratch.path());
    let output = match child_command(command, test).output() {
        Ok(output) => output,
        Err(e) => return skip(test, &format!("no unshare: {e}")),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if !text.contains("mounted") {
        return skip(test, &format!("a tmpfs cannot be mounted: {}", errors.trim()));
    }
    assert!(output.status.success() && text.contains("the child is done"), "{text}\n{errors}");
}

#[test]
fn a_full_disk_is_an_error_of_growing_and_of_nothing_else() {
    let test = this!("a_full_disk_is_an_error_of_growing_and_of_nothing_else");
    if is_child(test) {
        let path = small_disk().join("a.huon");
        let file = RealFile::open(&path, &options(Create::Fresh)).unwrap();
        file.grow(MIB / 2).unwrap();
        file.write_at(&[b"kept"], 0).unwrap();
        for _ in 0..2 {
            assert_eq!(io_error(file.grow(4 * MIB)), ("grow", Some(libc::ENOSPC)));
            let cannot = |_: &File, _, _| Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
            assert_eq!(io_error(file.grow_by(4 * MIB, cannot)), ("grow", Some(libc::ENOSPC)));
            assert_eq!(file.file_bytes().unwrap(), MIB / 2);
        }
        file.write_at(&[b"end"], MIB / 2 - 3).unwrap();
        file.sync().unwrap();
        file.grow(MIB / 4 * 3).unwrap();
        assert_eq!(file.map().page(0, 4), Some(&b"kept"[..]));
        return println!("the child is done");
    }
    on_a_small_disk(test);
}

#[test]
fn writes_cut_short_by_the_system_go_on_or_fail() {
    in_child(this!("writes_cut_short_by_the_system_go_on_or_fail"), || {
        let scratch = ScratchDir::new();
        let file = made(&scratch, "a.huon", 65536);
        // SAFETY: ignoring a signal changes no memory.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        limit(libc::RLIMIT_FSIZE, 20_000);
        // The kernel writes up to the limit and says so; only the next try is refused.
        let part = vec![5; 8000];
        let result = file.write_at(&[&part, &part, &part, &part], 0);
        assert_eq!(io_error(result), ("write", Some(libc::EFBIG)));
        let bytes = contents(&file);
        assert!(bytes[..20_000].iter().all(|&b| b == 5) && bytes[20_000..].iter().all(|&b| b == 0));
        assert_eq!(io_error(file.grow(1 << 20)), ("grow", Some(libc::EFBIG)));
        assert_eq!(file.file_bytes().unwrap(), 65536);
        assert_eq!(file.counts().writes, 0);
    });
}

/// Runs `write_parts` against a file in memory that takes what `script` allows; `None` interrupts.
fn scripted(parts: &[&[u8]], script: &[Option<usize>]) -> (io::Result<()>, Vec<u8>) {
    let mut written = Vec::new();
    let mut steps = script.iter().copied();
    let result = write_parts(parts, 1000, |slices, offset| {
        assert_eq!(offset, 1000 + written.len() as u64);
        assert!(slices.len() <= WRITE_PARTS_MAX && slices.iter().all(|s| !s.is_empty()));
        let offered: Vec<u8> = slices.iter().flat_map(|s| s.iter().copied()).collect();
        assert!(!offered.is_empty() && offered.len() <= WRITE_BYTES_MAX);
        let Some(taken) = steps.next().unwrap_or(Some(usize::MAX)) else {
            return Err(io::ErrorKind::Interrupted.into());
        };
        written.extend_from_slice(&offered[..taken.min(offered.len())]);
        Ok(taken.min(offered.len()))
    });
    (result, written)
}

#[test]
fn short_and_interrupted_writes_go_on_where_they_stopped() {
    let parts: [&[u8]; 6] = [b"", b"abc", b"", b"defgh", b"i", b""];
    let whole = parts.concat();
    // Every pair of short writes, with and without an interruption between them.
    for first in 1..=whole.len() {
        for second in 1..=whole.len() {
            let script = [None, Some(first), None, None, Some(second), Some(1)];
            for script in [&script[..], &[Some(first), Some(second)]] {
                let (result, written) = scripted(&parts, script);
                result.unwrap();
                assert_eq!(written, whole);
            }
        }
    }
    let (result, _) = scripted(&parts, &[Some(2), Some(0)]);
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::WriteZero);
    scripted(&[], &[]).0.unwrap();
    scripted(&[b"", b""], &[Some(0)]).0.unwrap();
}

#[test]
fn many_and_large_parts_are_written_in_pieces() {
    let bytes: Vec<u8> = (0..=255).cycle().take(40 << 20).collect();
    let small: Vec<&[u8]> = bytes[..3 << 20].chunks(1021).collect();
    let (result, written) = scripted(&small, &[None, Some(100_001)]);
    result.unwrap();
    assert!(written == bytes[..3 << 20]);
    let (result, written) = scripted(&[&bytes[..5], &bytes[5..], b"end"], &[Some(7)]);
    result.unwrap();
    assert!(written[..bytes.len()] == bytes[..] && &written[bytes.len()..] == b"end");
}

#[test]
fn a_read_only_handle_refuses_to_write() {
    let scratch = ScratchDir::new();
    made(&scratch, "a.huon", 4096);
    let file = RealFile::open(&scratch.join("a.huon"), &read_only()).unwrap();
    assert!(!file.writable());
    assert!(matches!(file.write_at(&[b"x"], 0), Err(Error::ReadOnly)));
    assert!(matches!(file.grow(8192), Err(Error::ReadOnly)));
    assert!(matches!(file.shrink(0), Err(Error::ReadOnly)));
    assert!(!file.try_alone().unwrap() && file.try_join().unwrap());
    assert_eq!(contents(&file), vec![0; 4096]);
}

#[test]
fn one_alone_or_many_joined() {
    in_both_ways(this!("one_alone_or_many_joined"), || {
        let scratch = ScratchDir::new();
        let path = scratch.join("a.huon");
        let a = made(&scratch, "a.huon", 4096);
        let b = RealFile::open(&path, &options(Create::Never)).unwrap();
        assert!(a.try_alone().unwrap() && a.try_alone().unwrap());
        assert!(!b.try_alone().unwrap() && !b.try_join().unwrap());
        assert!(a.try_join().unwrap() && b.try_join().unwrap());
        assert!(!a.try_alone().unwrap() && !b.try_alone().unwrap());
        // A failed try_alone has not given up the shared hold.
        let c = RealFile::open(&path, &options(Create::Never)).unwrap();
        assert!(!c.try_alone().unwrap());
        let reader = RealFile::open(&path, &read_only()).unwrap();
        assert!(reader.has_others().unwrap() && a.has_others().unwrap());
        drop(a);
        assert!(!b.has_others().unwrap() && reader.has_others().unwrap());
        assert!(b.try_alone().unwrap());
        assert!(!b.has_others().unwrap() && reader.has_others().unwrap());
        drop(b);
        assert!(c.try_alone().unwrap());
        assert_eq!(a_identity(&c), a_identity(&RealFile::open(&path, &read_only()).unwrap()));
        assert_ne!(a_identity(&c), a_identity(&made(&scratch, "b.huon", 0)));
    });
}

fn a_identity(file: &RealFile) -> Identity {
    file.identity().unwrap()
}

#[test]
fn a_killed_process_is_no_client_any_more() {
    let test = this!("a_killed_process_is_no_client_any_more");
    const FILE: &str = "HUON_TEST_FILE";
    if is_child(test) {
        let path = PathBuf::from(std::env::var_os(FILE).unwrap());
        let file = RealFile::open(&path, &options(Create::Never)).unwrap();
        assert!(file.try_alone().unwrap());
        println!("alone");
        std::thread::sleep(std::time::Duration::from_secs(60));
        return;
    }
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", 4096);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(FILE, scratch.join("a.huon")).stdout(Stdio::piped());
    let mut child = child_command(command, test).spawn().unwrap();
    let lines = io::BufRead::lines(io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.map_while(io::Result::ok).any(|line| line.ends_with("alone")));
    assert!(!file.try_join().unwrap() && !file.try_alone().unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(file.try_alone().unwrap());
}

#[test]
fn a_reservation_takes_a_part_of_what_is_left_and_then_it_is_an_error() {
    in_child(this!("a_reservation_takes_a_part_of_what_is_left_and_then_it_is_an_error"), || {
        let scratch = ScratchDir::new();
        let file = made(&scratch, "a.huon", 8192);
        // Sparse: only its length counts here.
        file.file.set_len(512 * MIB).unwrap();
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
        limit(libc::RLIMIT_AS, pages * crate::os::system_page() as u64 + 96 * MIB);
        let huge = |create| FileOptions { reserve_bytes: 1 << 40, ..options(create) };
        let error = RealFile::open(&scratch.join("a.huon"), &huge(Create::Never)).err().unwrap();
        assert_eq!(io_error::<()>(Err(error)), ("map", Some(libc::ENOMEM)));
        let small = RealFile::open(&scratch.join("b.huon"), &huge(Create::Fresh)).unwrap();
        let part = small.map().bytes();
        assert!((8 * MIB..=48 * MIB).contains(&part), "at most half of what is left: {part}");
        small.grow(4096).unwrap();
        assert_eq!(small.map().page(4000, 96), Some(&[0; 96][..]));
        // A file that is longer than asked for is mapped whole all the same.
        file.file.set_len(24 * MIB + 1).unwrap();
        let asked = FileOptions { reserve_bytes: 0, ..options(Create::Never) };
        let longer = RealFile::open(&scratch.join("a.huon"), &asked).unwrap();
        assert_eq!(longer.map().bytes(), 24 * MIB + crate::os::system_page() as u64);
    });
}

#[test]
fn an_impossible_reservation_takes_what_there_is() {
    let scratch = ScratchDir::new();
    made(&scratch, "a.huon", 4096);
    let most = FileOptions { reserve_bytes: u64::MAX, ..options(Create::Never) };
    let file = RealFile::open(&scratch.join("a.huon"), &most).unwrap();
    let much = if usize::BITS < 64 { 64 * MIB } else { 1 << 30 };
    assert!(file.map().bytes() >= much && file.map().page(0, 4096).is_some());
    let least = FileOptions { reserve_bytes: 1, ..options(Create::Never) };
    let file = RealFile::open(&scratch.join("a.huon"), &least).unwrap();
    assert_eq!(file.map().bytes(), MIB);
}

#[test]
fn errors_say_what_and_where() {
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", 4096);
    let text = file.write_at(&[b"12345678"], 4090).unwrap_err().to_string();
    let wanted =
        "write failed at offset 4090: 8 bytes would reach past the end of the file at 4096";
    assert_eq!(text, wanted);
    let path = scratch.join("missing/a.huon");
    let text = RealFile::open(&path, &options(Create::Fresh)).err().unwrap().to_string();
    assert!(text.starts_with(&format!("create failed at {}: ", path.display())), "{text}");
    assert_eq!(io_error(sync_directory(&path)), ("open", Some(libc::ENOENT)));
    sync_directory(Path::new("no-directory-named")).unwrap();
}

/// The lines of this process's mappings that may write to `path`: flags of the kernel among them.
fn views(path: &Path) -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let of_path = format!(" {}\n", path.display());
    let mut views = Vec::new();
    for (at, _) in maps.match_indices(&of_path) {
        let first = maps[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = maps[at..].find("VmFlags").map(|flags| at + flags).unwrap();
        let end = maps[end..].find('\n').map_or(maps.len(), |line| end + line);
        let view = &maps[first..end];
        if view.split_whitespace().nth(1).is_some_and(|access| access.starts_with("rw-s")) {
            views.push(view.to_owned());
        }
    }
    views
}

/// Whether there is a view of the place, and stores the bytes there if so.
fn stored(file: &RealFile, bytes: &[u8], offset: u64) -> bool {
    let page = file.view(offset, bytes.len());
    page.map(|mut page| page.copy_from_slice(bytes)).is_some()
}

#[test]
fn what_is_stored_is_what_would_be_written() {
    let test = this!("what_is_stored_is_what_would_be_written");
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", MIB);
    let path = std::fs::canonicalize(scratch.join("a.huon")).unwrap();
    assert_eq!(views(&path).len(), 0, "no view before it is wanted");
    if !stored(&file, b"twoparts", 4095) {
        return skip(test, "a store could fail on this file system, so there is no view");
    }
    let mut expected = vec![0; MIB as usize];
    expected[4095..4103].copy_from_slice(b"twoparts");
    assert!(contents(&file) == expected);
    assert_eq!(file.map().page(4095, 8), Some(&b"twoparts"[..]));
    assert_eq!(file.counts().written_bytes, 8);
    assert_eq!((file.counts().writes, file.counts().stores), (0, 1));

    assert!(!stored(&file, b"ab", MIB - 1), "past the end");
    file.shrink(4096).unwrap();
    assert!(!stored(&file, b"ab", 4095), "past the new end");
    assert!(stored(&file, b"c", 4095));
    file.sync().unwrap();
    assert!(contents(&file).ends_with(b"\0c"));
    let reader = RealFile::open(&path, &read_only()).unwrap();
    assert!(!stored(&reader, b"d", 0));
}

#[test]
fn a_view_follows_growth_and_is_inherited() {
    let test = this!("a_view_follows_growth_and_is_inherited");
    let scratch = ScratchDir::new();
    let file = made(&scratch, "a.huon", MIB);
    let path = std::fs::canonicalize(scratch.join("a.huon")).unwrap();
    let Some(mut page) = file.view(5000, 1) else {
        return skip(test, "a store could fail on this file system, so there is no view");
    };
    let view = views(&path).pop().unwrap();
    // Else a child could have something else there, and would unmap that with its handle.
    assert!(!view.split_whitespace().any(|flag| flag == "dc"), "kept from children: {view}");

    // Further than the first view reaches.
    file.grow(65 * MIB).unwrap();
    assert!(stored(&file, b"end", 65 * MIB - 3));
    let mut end = [0; 3];
    file.read_at(&mut end, 65 * MIB - 3).unwrap();
    assert_eq!(&end, b"end");
    assert_eq!((file.counts().stores, file.counts().writes), (2, 0));
    assert_eq!(views(&path).len(), 2, "the owner of a page keeps its view");
    page[0] = b'x';
    drop(page);
    assert_eq!(views(&path).len(), 1, "the old view is gone");
    assert_eq!(contents(&file)[5000], b'x');
    drop(file);
    assert_eq!(views(&path).len(), 0);
}

/// As a copy leaves it that skips zeros. Filling the holes could take all the disk there is.
#[test]
fn a_file_with_holes_has_no_view_and_stays_as_small() {
    let scratch = ScratchDir::new();
    let path = scratch.join("a.huon");
    let bytes = if usize::BITS < 64 { 256 * MIB } else { 64 << 30 };
    File::create(&path).unwrap().set_len(bytes).unwrap();
    let file = RealFile::open(&path, &options(Create::Never)).unwrap();
    assert!(file.view(5000, 1).is_none());
    assert_eq!(file.counts().stores, 0);
    assert!(std::fs::metadata(&path).unwrap().blocks() * 512 <= MIB);
}

/// A file with holes on a full disk: a store would be a SIGBUS, a write is an error.
#[test]
fn a_full_disk_under_a_hole_is_an_error() {
    let test = this!("a_full_disk_under_a_hole_is_an_error");
    if !is_child(test) {
        return on_a_small_disk(test);
    }
    let path = small_disk().join("a.huon");
    File::create(&path).unwrap().set_len(MIB).unwrap();
    let mut filler = File::create(small_disk().join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[1; 4096]).is_ok() {}
    let file = RealFile::open(&path, &options(Create::Never)).unwrap();
    assert!(file.view(5000, 1).is_none());
    assert_eq!(io_error(file.write_at(&[b"x"], 5000)), ("write", Some(libc::ENOSPC)));
    assert_eq!(views(&std::fs::canonicalize(path).unwrap()).len(), 0);
    println!("the child is done");
}

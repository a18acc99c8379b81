//! Processes that are killed while they work on one file: see `huon_testkit::torture`.

use std::time::Instant;

use huon_testkit::figures;
use huon_testkit::scale::{self, goes_on, share};
use huon_testkit::torture::{
    Session, System, Tally, child, kill_readers_that_hold, stop_processes, strangers_can_be_started,
};

/// At least 3,000 of each are promised.
const WRITER_KILLS: u64 = 6000;
const READER_KILLS: u64 = 6000;

const SYSTEM: System = System { fork, exit };

fn fork() -> bool {
    // SAFETY: the child calls into this library alone and leaves by `exit`; what other threads had
    // locked it does not need.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    pid == 0
}

fn exit(code: i32) -> ! {
    // SAFETY: ends the process, and nothing else.
    unsafe { libc::_exit(code) }
}

/// What a child process does; nothing in the run itself.
#[test]
fn child_process() {
    child(SYSTEM);
}

#[test]
fn killed_processes_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let guests = usize::from(strangers_can_be_started("killed_processes_lose_nothing"));
    let session = |n, name: &str, page_bytes, threads, lazy, journal| Session {
        name: name.to_owned(),
        dir: dir.path().to_owned(),
        seed: scale::seed("kills", n),
        page_bytes,
        writers: 3,
        readers: 3,
        guests,
        threads,
        lazy,
        journal,
    };
    let sessions = [
        session(0, "mixed", 512, 1, 50, false),
        session(1, "group", 512, 2, 10, false),
        session(2, "lazy", 1024, 1, 90, false),
        session(3, "pages-of-4096", 4096, 1, 30, true),
        session(4, "journal", 512, 1, 2, true),
    ];
    let (writers, readers) = (share(WRITER_KILLS), share(READER_KILLS));
    let part = |kills: u64| kills.div_ceil(sessions.len() as u64);
    let mut all = Tally::default();
    let start = Instant::now();
    let seconds = scale::until().map(|end| (end - start) / sessions.len() as u32);
    for session in &sessions {
        let until = seconds.map(|seconds| Instant::now() + seconds);
        all.add(session.run(part(writers), part(readers), until));
    }
    let timed = seconds.is_some();
    for n in sessions.len() as u64.. {
        if timed || !goes_on(all.writers, writers, || !all.lacks(guests > 0).is_empty()) {
            break;
        }
        let more = match n % 2 {
            0 => session(n, &format!("more-{n}"), 512, 1, 2, true),
            _ => session(n, &format!("more-{n}"), 512, 1, 50, false),
        };
        all.add(more.run(part(writers), part(readers), None));
    }
    println!("in {}, {:.1} s", dir.path().display(), start.elapsed().as_secs_f64());
    all.report();
    if timed {
        return;
    }
    assert!(all.writers >= writers && all.readers >= readers);
    if !scale::has_minimums() {
        return;
    }
    assert!(all.within * 2 >= all.writers, "{} of {} writers", all.within, all.writers);
    assert_eq!(all.lacks(guests > 0), [""; 0], "none was killed in, or there were none of");
}

#[test]
fn dead_readers_hold_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let seed = scale::seed("dead readers", 0);
    let (killed, parents) = kill_readers_that_hold(dir.path(), seed, share(1000));
    figures::add("kill", killed);
    figures::named("kills.reader_that_held", killed);
    figures::named("kills.fork_parent", parents);
}

#[test]
fn a_stopped_process_holds_no_other_up_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let seed = scale::seed("stopped", 0);
    let (stops, killed) = stop_processes(dir.path(), seed, share(280));
    figures::add("kill", killed);
    figures::named("kills.stops", stops);
}

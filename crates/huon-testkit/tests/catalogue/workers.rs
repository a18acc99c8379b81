//! Forked children and their children: workers of a server, programs that go into the background.

use huon::Durability;

use super::heirs::{LONG, RECORDS, end_of, fill, forked, has, is_whole, put};
use super::{Place, assert_clean, def, small};

/// C3: what a child opened is closed in its own children.
#[test]
fn a_child_of_a_child_keeps_nothing_of_it() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    fill(&env).unwrap();
    let mut pipe = [0; 2];
    // SAFETY: the array has room for two descriptors.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    let child = forked(|| {
        put(&env, b"of the child", Durability::Durable).unwrap();
        forked(|| {
            // SAFETY: says which it is, once what a fork does in it is done.
            unsafe { libc::write(pipe[1], libc::getpid().to_ne_bytes().as_ptr().cast(), 4) };
            loop {
                // SAFETY: waits for its end.
                unsafe { libc::pause() };
            }
        });
        loop {
            // SAFETY: waits for its end.
            unsafe { libc::pause() };
        }
    });
    let mut idle = [0; 4];
    // SAFETY: the buffer is as long as is said; ends the child, which this test has made.
    unsafe {
        assert_eq!(libc::read(pipe[0], idle.as_mut_ptr().cast(), 4), 4);
        libc::kill(child, libc::SIGKILL);
    }
    assert_eq!(end_of(child), 200 + libc::SIGKILL);
    let clients = env.info().unwrap().clients;
    // SAFETY: ends the idle process and closes the pipe.
    unsafe {
        libc::kill(i32::from_ne_bytes(idle), libc::SIGKILL);
        pipe.iter().for_each(|end| _ = libc::close(*end));
    }
    assert_eq!(clients, 1, "the child is dead, and its child no client");
}

/// C9: a program that goes into the background attaches before its parent ends.
#[test]
fn a_process_that_goes_into_the_background_attaches_first() {
    let place = Place::new();
    let mut pipe = [0; 2];
    // SAFETY: the array has room for two descriptors.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    let parent = forked(|| {
        let env = small().durability(Durability::Lazy).open(&place.path).unwrap();
        fill(&env).unwrap();
        let mut attached = [0; 2];
        // SAFETY: the array has room for two descriptors.
        assert_eq!(unsafe { libc::pipe(attached.as_mut_ptr()) }, 0);
        let daemon = forked(|| {
            let done = env.attach().is_ok();
            // SAFETY: a byte is there; then it waits for its end.
            unsafe {
                libc::write(attached[1], [u8::from(done)].as_ptr().cast(), 1);
                loop {
                    libc::pause();
                }
            }
        });
        let mut done = [0_u8];
        // SAFETY: buffers are as long as is said.
        unsafe {
            assert_eq!(libc::read(attached[0], done.as_mut_ptr().cast(), 1), 1);
            libc::write(pipe[1], daemon.to_ne_bytes().as_ptr().cast(), 4);
            libc::kill(libc::getpid(), libc::SIGKILL);
        }
        i32::from(done[0] != 1)
    });
    let mut daemon = [0; 4];
    // SAFETY: the buffer is as long as is said.
    assert_eq!(unsafe { libc::read(pipe[0], daemon.as_mut_ptr().cast(), 4) }, 4);
    assert_eq!(end_of(parent), 200 + libc::SIGKILL);
    let env = small().open(&place.path).unwrap();
    let (clients, recovery) = (env.info().unwrap().clients, env.recovery());
    // SAFETY: ends the daemon and closes the pipe.
    unsafe {
        libc::kill(i32::from_ne_bytes(daemon), libc::SIGKILL);
        pipe.iter().for_each(|end| _ = libc::close(*end));
    }
    assert_eq!((clients, recovery), (2, huon::Recovery::Clean), "it was open all the time");
    assert!(is_whole(&env).unwrap());
}

/// As the data loaders of machine learning have it: opened once, by a process that then forks its
/// workers.
#[test]
fn four_workers_of_a_reader_read_everything() {
    let place = Place::new();
    let writer = small().open(&place.path).unwrap();
    fill(&writer).unwrap();
    let env = small().read_only(true).open(&place.path).unwrap();
    let reader = env.read().unwrap();
    let workers: Vec<i32> = (0..4)
        .map(|_| forked(|| i32::from(!(0..50).all(|_| is_whole(&env).is_ok_and(|whole| whole)))))
        .collect();
    // The parent writes meanwhile.
    for round in 0..200_u8 {
        put(&writer, &[250, round], Durability::Lazy).unwrap();
    }
    for worker in workers {
        assert_eq!(end_of(worker), 0);
    }
    let t = reader.open_table(&def()).unwrap().unwrap();
    assert_eq!(t.len(&reader).unwrap(), u64::from(RECORDS), "its snapshot was its own");
    assert_eq!(writer.info().unwrap().clients, 2);
    assert_clean(&writer, "in the end");
}

/// Children that end with all kinds of things open, or by an accident, leave nothing in the way.
#[test]
fn workers_that_end_in_the_middle_leave_nothing_behind() {
    let place = Place::new();
    let env = small().open(&place.path).unwrap();
    fill(&env).unwrap();
    for round in 0..12_u8 {
        let worker = forked(|| {
            let reader = env.read().unwrap();
            let mut txn = env.write_within(LONG).unwrap();
            txn.create_table(&def()).unwrap().put(&mut txn, b"never", &[round; 50]).unwrap();
            if round % 3 == 0 {
                // SAFETY: ends this process as by an accident.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            }
            std::mem::forget(txn);
            drop(reader);
            0
        });
        put(&env, &[251, round], Durability::Lazy).unwrap();
        let end = end_of(worker);
        assert!(end == 0 || end == 200 + libc::SIGKILL, "{end}");
    }
    assert!(!has(&env, b"never"));
    env.clear_dead_readers().unwrap();
    let info = env.info().unwrap();
    assert_eq!((info.clients, info.readers.len()), (1, 0));
    assert_clean(&env, "in the end");
}

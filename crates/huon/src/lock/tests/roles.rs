use super::*;
use crate::error::Error;
use crate::os::testing::ScratchDir;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

fn busy_text(got: crate::error::Result<Acquired>) -> String {
    match got {
        Err(Error::Busy(text)) => text.into(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_role_is_taken_and_given_back() {
    let file = MemoryFile::new(BOOT);
    let (a, _) = Seat::memory(&file);
    let (b, _) = Seat::memory(&file);
    assert!(!a.writer.still_ours());
    assert!(!a.writer.acquire(NOW).unwrap().took_over_from_dead);
    assert!(a.writer.still_ours() && !b.writer.still_ours());
    assert_eq!(b.writer.try_acquire().unwrap(), None);
    let holder = b.writer.holder().unwrap();
    assert_eq!((holder.client, holder.pid), (a.clients.me(), std::process::id()));
    assert!(!holder.me && a.writer.holder().unwrap().me);
    // The other role is another lock.
    b.flusher.acquire(NOW).unwrap();
    a.writer.release();
    assert_eq!(a.writer.holder(), None);
    assert!(b.writer.try_acquire().unwrap().is_some());
}

#[test]
fn a_time_out_names_the_holder() {
    let file = MemoryFile::new(BOOT);
    let (a, _) = Seat::memory(&file);
    let (b, _) = Seat::memory(&file);
    a.writer.acquire(NOW).unwrap();
    let text = busy_text(b.writer.acquire(SOON));
    assert!(text.contains("client 0 of another environment of this process"), "{text}");
    let began = Instant::now();
    let text = busy_text(a.writer.acquire(SOON));
    assert!(began.elapsed() >= SOON);
    assert!(text.contains("client 0 of this environment"), "{text}");
    assert!(text.contains(&format!("thread {}", clock::thread_id())), "{text}");
}

#[test]
fn the_lock_is_left_to_sleeping_clients_only() {
    let file = MemoryFile::new(BOOT);
    let (a, _) = Seat::memory(&file);
    let (b, _) = Seat::memory(&file);
    a.writer.acquire(NOW).unwrap();
    // Leaves its note behind.
    busy_text(b.writer.acquire(SOON));
    a.writer.release();
    assert!(!a.writer.gives_way());
    a.writer.acquire(NOW).unwrap();
    let asleep = std::thread::spawn(move || b.writer.acquire(LONG).map(|_| b.writer.release()));
    std::thread::sleep(SOON);
    a.writer.release();
    assert!(a.writer.gives_way());
    asleep.join().unwrap().unwrap();
}

#[test]
fn another_thread_may_release() {
    let (a, _) = Seat::memory(&MemoryFile::new(BOOT));
    a.writer.acquire(NOW).unwrap();
    let writer = a.writer.clone();
    std::thread::spawn(move || writer.release()).join().unwrap();
    assert!(a.writer.try_acquire().unwrap().is_some());
}

#[test]
fn the_dead_are_succeeded_also_by_one_with_their_number() {
    let file = MemoryFile::new(BOOT);
    let (dead, memory) = Seat::memory(&file);
    let (other, _) = Seat::memory(&file);
    dead.writer.acquire(NOW).unwrap();
    memory.kill();
    assert!(dead.writer.check_ours().is_err(), "P5");
    let (heir, _) = Seat::memory(&file);
    assert_eq!(heir.clients.me().number, dead.clients.me().number);
    assert_ne!(heir.clients.me().generation, dead.clients.me().generation);
    assert!(!other.clients.is_alive(dead.clients.me()).unwrap(), "P1");
    assert!(other.clients.is_alive(heir.clients.me()).unwrap());
    assert!(!heir.writer.still_ours(), "P1: an inherited name");
    assert!(other.writer.acquire(NOW).unwrap().took_over_from_dead);
    assert!(heir.writer.try_acquire().unwrap().is_none());
    other.writer.release();
    assert!(!heir.writer.acquire(NOW).unwrap().took_over_from_dead);
    // What the dead one still tries to do changes nothing.
    dead.writer.release();
    assert!(heir.writer.still_ours());
}

#[test]
fn a_sleeper_notices_a_death() {
    let file = MemoryFile::new(BOOT);
    let (dead, memory) = Seat::memory(&file);
    let (heir, _) = Seat::memory(&file);
    dead.writer.acquire(NOW).unwrap();
    let waiting = std::thread::spawn(move || heir.writer.acquire(LONG).unwrap());
    std::thread::sleep(SOON);
    let killed = Instant::now();
    memory.kill();
    assert!(waiting.join().unwrap().took_over_from_dead);
    assert!(killed.elapsed() < Duration::from_secs(1));
}

/// Many threads of some clients, some of them impatient: one at a time, and none is forgotten.
fn exclusion(seats: Vec<Seat>) {
    const THREADS: usize = 4;
    let counter = Arc::new(AtomicU64::new(0));
    let mut threads = Vec::new();
    for seat in &seats {
        for thread in 0..THREADS {
            let (writer, counter) = (seat.writer.clone(), counter.clone());
            threads.push(std::thread::spawn(move || {
                let mut turns = 0;
                while turns < 150 {
                    let timeout = if thread == 0 { Duration::from_micros(20) } else { LONG };
                    match writer.acquire(timeout) {
                        Ok(acquired) => assert!(!acquired.took_over_from_dead),
                        Err(Error::Busy(_)) if thread == 0 => continue,
                        Err(e) => panic!("{e}"),
                    }
                    let seen = counter.load(Ordering::Relaxed);
                    if turns % 8 == 0 {
                        std::thread::yield_now();
                    }
                    counter.store(seen + 1, Ordering::Relaxed);
                    writer.release();
                    turns += 1;
                }
            }));
        }
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(counter.load(Ordering::Relaxed), (seats.len() * THREADS * 150) as u64);
    assert_eq!(seats[0].writer.holder(), None);
}

#[test]
fn one_writer_at_a_time() {
    let file = MemoryFile::new(BOOT);
    exclusion((0..2).map(|_| Seat::memory(&file).0).collect());
    let scratch = crate::os::testing::ScratchDir::new();
    exclusion((0..2).map(|_| Seat::real(&scratch.join("lock"))).collect());
}

#[test]
fn a_busy_client_gives_way() {
    let scratch = crate::os::testing::ScratchDir::new();
    let greedy = Seat::real(&scratch.join("lock"));
    let patient = Seat::real(&scratch.join("lock"));
    let end = Arc::new(AtomicU64::new(0));
    let greed = {
        let end = end.clone();
        std::thread::spawn(move || {
            while end.load(Ordering::Relaxed) == 0 {
                greedy.writer.acquire(LONG).unwrap();
                std::thread::sleep(Duration::from_millis(5));
                greedy.writer.release();
            }
        })
    };
    std::thread::sleep(SOON);
    let began = Instant::now();
    for _ in 0..10 {
        patient.writer.acquire(LONG).unwrap();
        patient.writer.release();
    }
    let waited = began.elapsed();
    end.store(1, Ordering::Relaxed);
    greed.join().unwrap();
    assert!(waited < Duration::from_secs(2), "ten turns took {waited:?}");
}

/// A committer that waits for a flush hears of its end, also of one that was for others.
#[test]
fn a_released_flusher_rings() {
    let file = MemoryFile::new(BOOT);
    let (a, _) = Seat::memory(&file);
    let (b, _) = Seat::memory(&file);
    a.flusher.acquire(NOW).unwrap();
    let seen = b.board.events();
    assert!(b.flusher.try_acquire().unwrap().is_none());
    let waiting = std::thread::spawn(move || {
        b.board.wait_events(seen, LONG, None);
        b.flusher.try_acquire().unwrap()
    });
    std::thread::sleep(SOON);
    a.flusher.release();
    assert!(waiting.join().unwrap().is_some());
}

/// A wake reaches the sleepers that have its mark, and of them only the first if it is for one.
#[test]
fn a_wake_reaches_the_clients_it_is_for() {
    let scratch = ScratchDir::new();
    let real =
        RealShared::open(&scratch.join("lock"), Some(&Beside::of_mode(0o600, 0))).unwrap().unwrap();
    real.grow(1).unwrap();
    let memory = MemoryFile::new(BOOT).open();
    memory.grow(1).unwrap();
    for shared in [Arc::new(real) as Arc<dyn Shared>, Arc::new(memory)] {
        let mut sleepers: Vec<_> = [0b001, 0b010, 0b110, 0b010, 0b001]
            .map(|marks| {
                let shared = shared.clone();
                let sleeper = std::thread::spawn(move || shared.wait(0, 0, LONG, marks));
                std::thread::sleep(SOON);
                Some(sleeper)
            })
            .into();
        let mut awake = [false; 5];
        let mut look = || {
            for (sleeper, awake) in sleepers.iter_mut().zip(&mut awake) {
                *awake |= sleeper.take_if(|sleeper| sleeper.is_finished()).is_some();
            }
            awake
        };
        for (which, meant) in [
            (Wake::Marked(0b1000), [false, false, false, false, false]),
            (Wake::First(0b110), [false, true, false, false, false]),
            (Wake::Marked(0b101), [true, true, true, false, true]),
            (Wake::All, [true; 5]),
        ] {
            shared.wake(0, which);
            let woken = Instant::now();
            while look() != meant && woken.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(1));
            }
            // No other sleeper wakes, either.
            std::thread::sleep(SOON);
            assert_eq!(look(), meant, "{which:?}");
        }
    }
}

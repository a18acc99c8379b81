//! Two and more processes. Each test runs in a child of its own, which forks: so nothing else of
//! the test binary is forked, and the atfork handler is what the tests see.

use super::*;
use crate::error::Error;
use crate::os::testing::process::{Child, fork_and, fork_until};
use crate::os::testing::{ScratchDir, in_all_ways, in_both_ways};
use std::time::Instant;

fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(LONG);
    }
}

/// A process that does `body` with a client of its own and then sleeps until it is killed.
fn sleeper(path: &Path, body: impl FnOnce(&Seat)) -> Child {
    fork_until(|done| {
        let seat = Seat::real(path);
        body(&seat);
        done();
        sleep_for_ever();
    })
}

#[test]
fn a_killed_holder_is_succeeded_at_once() {
    in_both_ways(concat!(module_path!(), "::a_killed_holder_is_succeeded_at_once"), || {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let a = Seat::real(&path);
        let child = sleeper(&path, |seat| {
            seat.writer.acquire(NOW).unwrap();
            seat.read();
        });
        let pid = child.pid();
        let Err(Error::Busy(text)) = a.writer.acquire(SOON) else { panic!("not busy") };
        assert!(text.contains(&format!("client 1 of process {pid}, thread ")), "{text}");
        let holder = a.writer.holder().unwrap();
        assert_eq!(holder.pid, pid as u32);
        assert!(a.clients.is_alive(holder.client).unwrap() && a.shared.held(1).unwrap());
        a.board.publish(a.seal(2));
        a.board.publish(a.seal(3));
        assert_eq!(a.protected(), [1, 3]);
        assert_eq!(a.slots.list().unwrap().len(), 1);
        let killed = Instant::now();
        child.kill();
        assert!(!a.shared.held(1).unwrap(), "the byte is free");
        assert!(a.writer.acquire(LONG).unwrap().took_over_from_dead);
        assert!(killed.elapsed() < Duration::from_secs(1));
        a.protected();
        assert_eq!(a.slots.list().unwrap(), []);
    });
}

#[test]
fn a_waiting_process_notices_a_death() {
    in_both_ways(concat!(module_path!(), "::a_waiting_process_notices_a_death"), || {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let holder = sleeper(&path, |seat| {
            seat.writer.acquire(NOW).unwrap();
        });
        let waiter = fork_until(|done| {
            let seat = Seat::real(&path);
            done();
            assert!(seat.writer.acquire(LONG).unwrap().took_over_from_dead);
        });
        std::thread::sleep(SOON);
        let killed = Instant::now();
        holder.kill();
        assert!(waiter.wait());
        assert!(killed.elapsed() < Duration::from_secs(1));
    });
}

#[test]
fn a_forked_child_is_refused_and_harmless() {
    in_both_ways(concat!(module_path!(), "::a_forked_child_is_refused_and_harmless"), || {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let parent = Seat::real(&path);
        let other = Seat::real(&path);
        parent.writer.acquire(NOW).unwrap();
        let (slot, _) = parent.read();
        let pooled = parent.read().0;
        parent.slots.release(pooled);
        let before = parent.shared.words().iter().map(|w| w.load(word::Ordering::Relaxed));
        let before: Vec<u64> = before.collect();
        // What the child takes out of these stays in its parent's.
        let (mut both, mut slot) = (Some(parent), Some(slot));
        let child = fork_until(|done| {
            let parent = both.take().unwrap();
            let refused = [
                parent.writer.acquire(NOW).err(),
                parent.flusher.acquire(LONG).err(),
                parent.slots.claim().err(),
                Gate::lock(&parent.shared, NOW).err(),
            ];
            assert!(refused.iter().all(|e| matches!(e, Some(Error::Forked))), "{refused:?}");
            assert!(!parent.shared.intact() && parent.writer.check_ours().is_err());
            parent.writer.release();
            parent.slots.release(slot.take().unwrap());
            drop(parent);
            // The child may open for itself.
            let own = Seat::real(&path);
            assert_eq!(own.clients.me().number, 2);
            own.leave();
            done();
            sleep_for_ever();
        });
        let parent = both.take().unwrap();
        // Another child touches nothing, and so keeps the mapping too.
        let idle = fork_until(|done| {
            done();
            sleep_for_ever();
        });
        parent.writer.check_ours().unwrap();
        assert_eq!(parent.slots.list().unwrap().len(), 1);
        let now: Vec<u64> =
            parent.shared.words().iter().map(|w| w.load(word::Ordering::Relaxed)).collect();
        // Its own entry in the table is all that the child has changed.
        let entry = layout::words_of_rows(2) + layout::LINE;
        let changed: Vec<usize> = (0..now.len()).filter(|n| now[*n] != before[*n]).collect();
        let allowed =
            |n: &usize| *n == layout::CLIENT_HIGH || (entry..entry + layout::LINE).contains(n);
        assert!(changed.iter().all(allowed), "{changed:?}");
        // The children live on, the parent's byte does not.
        let me = parent.clients.me();
        assert!(other.clients.is_alive(me).unwrap());
        drop(parent);
        assert!(!other.clients.is_alive(me).unwrap(), "P5: a child kept the lock");
        assert!(other.writer.acquire(NOW).unwrap().took_over_from_dead);
        child.kill();
        idle.kill();
    });
}

#[test]
fn ten_thousand_killed_readers_leave_no_slots() {
    in_both_ways(concat!(module_path!(), "::ten_thousand_killed_readers_leave_no_slots"), || {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let a = Seat::real(&path);
        a.board.publish(a.seal(2));
        for _ in 0..100 {
            let child = sleeper(&path, |seat| {
                for _ in 0..100 {
                    seat.read();
                }
            });
            child.kill();
        }
        a.board.publish(a.seal(3));
        assert_eq!(a.protected(), [1, 3]);
        assert_eq!(a.slots.list().unwrap(), []);
        let high = a.board.fixed()[layout::SLOT_HIGH].load(word::Ordering::Relaxed);
        assert!(high <= 101, "{high} slots");
        assert!(!a.clients.others_alive(&a.gate()).unwrap());
    });
}

/// Processes that take turns and are killed in the middle: never two at once, and it goes on.
#[test]
fn turns_survive_kills() {
    in_both_ways(concat!(module_path!(), "::turns_survive_kills"), || {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let a = Seat::real(&path);
        // Words that nothing else uses.
        let (inside, turns) = (layout::IMAGES - 1, layout::IMAGES - 2);
        let work = |seat: &Seat| {
            let words = seat.board.fixed();
            seat.writer.acquire(LONG).unwrap();
            let me = seat.clients.me().word();
            words[inside].store(me, word::Ordering::Relaxed);
            std::thread::yield_now();
            assert_eq!(words[inside].load(word::Ordering::Relaxed), me, "two writers");
            seat.writer.check_ours().unwrap();
            let seen = words[turns].load(word::Ordering::Relaxed);
            words[turns].store(seen + 1, word::Ordering::Relaxed);
            seat.writer.release();
        };
        let worker = || {
            fork_and(|| {
                let seat = Seat::real(&path);
                loop {
                    work(&seat);
                }
            })
        };
        let mut workers: Vec<Child> = (0..3).map(|_| worker()).collect();
        for round in 0..60 {
            std::thread::sleep(Duration::from_millis(3 + round % 5));
            let began = Instant::now();
            workers.remove(0).kill();
            work(&a);
            assert!(began.elapsed() < Duration::from_secs(1), "P2");
            workers.push(worker());
        }
        drop(workers);
        work(&a);
        let turns = a.board.fixed()[turns].load(word::Ordering::Relaxed);
        assert!(turns > 60, "{turns} turns");
        assert_eq!(a.clients.list().unwrap().len(), 1);
    });
}

#[test]
fn durability_is_heard_in_other_processes() {
    in_all_ways(concat!(module_path!(), "::durability_is_heard_in_other_processes"), || {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let a = Seat::real(&path);
        let waiter = fork_until(|done| {
            let seat = Seat::real(&path);
            done();
            assert!(board::wait_durable(&seat.board, 2, LONG));
            assert_eq!(seat.board.published().txnid(), 2);
        });
        a.seal(2);
        std::thread::sleep(SOON);
        let began = Instant::now();
        a.flush(1);
        assert!(waiter.wait());
        assert!(began.elapsed() < Duration::from_secs(5));
    });
}

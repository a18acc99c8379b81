//! Power losses and kills of a follower.

use std::cell::RefCell;

use huon::Replica;
use huon::sim::{Point, SimDisk, on_points};
use huon_testkit::crash::{Caps, Losses};
use huon_testkit::follow::{Source, Step, options};
use huon_testkit::{figures, scale, trail};

use super::{audited, replica_on};

/// What is noted at a point of the run.
struct Moment {
    at: usize,
    point: Point,
    lock: Vec<u64>,
}

thread_local! {
    static NOTES: RefCell<Option<(SimDisk, Vec<Moment>)>> = const { RefCell::new(None) };
}

fn note(point: Point) {
    NOTES.with_borrow_mut(|notes| {
        if let Some((disk, moments)) = notes {
            moments.push(Moment { at: disk.event_count(), point, lock: disk.lock_image() });
        }
    });
}

/// What is left must show one of these steps, and follow from there to the last one.
fn judge(disk: &SimDisk, steps: &[Step], may_show: std::ops::RangeInclusive<usize>) {
    let last = &steps[steps.len() - 1].segment.image;
    let env = options(last.page_bytes() as usize)
        .replica_of(last)
        .open_simulated(disk)
        .expect("what a crash leaves opens");
    audited(&env);
    let mut replica = Replica::of(env, last).expect("it follows");
    let at = replica.at().expect("a name");
    let is_at = |step: &Step| step.segment.image.name() == at;
    // Step 0 is the new, empty file.
    let shown = steps.iter().position(is_at).map_or(0, |step| step + 1);
    assert!(may_show.contains(&shown), "shows {at}, step {shown}, not one of {may_show:?}");
    match shown {
        0 => assert_eq!(at.id, 1, "a snapshot of no step: {at}"),
        _ => {
            let txn = replica.env().read().expect("read");
            steps[shown - 1].model.compare(&txn).expect("what the source showed");
        }
    }
    for step in &steps[shown..] {
        step.segment.apply(&mut replica).expect("it goes on");
    }
    let txn = replica.env().read().expect("read");
    steps[steps.len() - 1].model.compare(&txn).expect("what the source showed");
    drop(txn);
    audited(replica.env());
}

/// One course of a follower; returns how many images were judged.
fn course(page_bytes: usize, seed: u64) -> u64 {
    let mut source = Source::new(page_bytes, seed);
    let steps: Vec<Step> = (0..4).map(|_| source.step()).collect();
    let disk = SimDisk::new(8 << 20).expect("a machine");
    let mut replica = replica_on(&disk, &steps[0].segment.image);
    let first = disk.image();
    disk.clear_events();
    NOTES.set(Some((disk.clone(), Vec::new())));
    // When each step was begun, and when it was done.
    let mut spans = Vec::new();
    for step in &steps {
        let begun = disk.event_count();
        step.segment.apply(&mut replica).expect("it follows");
        spans.push(begun..disk.event_count());
    }
    let moments = NOTES.take().expect("they were noted").1;
    let (events, boot) = (disk.events(), disk.boot());
    std::mem::forget(replica);
    let machine = disk.after_crash(&[], true).expect("a machine").quiet();
    let shown = |at: usize, upto: usize| {
        let oldest = spans.iter().take_while(|span| span.end <= at).count();
        let newest = spans.iter().take_while(|span| span.start < upto).count();
        oldest..=newest.max(oldest)
    };
    let mut judged = 0;
    let losses = Losses::new(page_bytes, &disk, first.clone(), events.clone(), spans.clone());
    let key = |loss: &huon_testkit::crash::Loss<'_>| *shown(loss.at, loss.upto).start() as u64;
    losses.each(caps(), seed, key, &mut |loss| {
        machine.restart(loss.image, None, None);
        judge(&machine, &steps, shown(loss.at, loss.upto));
        judged += 1;
    });
    let (mut image, mut done) = (first, 0);
    for moment in &moments {
        let events = &events[done..moment.at];
        events.iter().for_each(|event| trail::apply(&mut image, event));
        done = moment.at;
        machine.restart(&image, Some(boot), Some(&moment.lock));
        let span = shown(moment.at, moment.at + 1);
        assert!(span.end() - span.start() <= 1, "{:?}", moment.point);
        judge(&machine, &steps, span);
        judged += 1;
    }
    judged
}

fn caps() -> Caps {
    if scale::is_full() { Caps::FULL } else { Caps::FEW }
}

#[test]
fn what_a_crash_leaves_of_a_follower_goes_on_following() {
    on_points(note);
    let mut images = 0;
    for round in 0..scale::share(40) {
        let seed = scale::seed("follow: crashes", round);
        images += course([256, 512, 4096][round as usize % 3], seed);
    }
    println!("{images} images");
    assert!(!scale::has_minimums() || images > 400, "{images}");
    figures::add("crash", images);
    figures::named("follow.crash.images", images);
}

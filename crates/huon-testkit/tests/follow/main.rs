//! A file that follows another: what it shows, what it refuses, and what a crash leaves of it.

mod crashes;
mod differences;
mod refusals;
mod shipping;

use huon::sim::SimDisk;
use huon::{Env, Image, Replica};
use huon_testkit::follow::{Source, options};
use huon_testkit::{audit, figures, scale};

/// Page sizes of the tests.
const PAGE_BYTES: [usize; 3] = [256, 512, 4096];

/// A new replica on a machine of its own.
fn replica_on(disk: &SimDisk, image: &Image) -> Replica {
    let mut options = options(image.page_bytes() as usize);
    options.lock_timeout(std::time::Duration::from_millis(20));
    let env = options.replica_of(image).open_simulated(disk).expect("the replica's file");
    Replica::of(env, image).expect("it follows")
}

fn audited(env: &Env) {
    audit::audit(env).unwrap_or_else(|problem| panic!("{problem}"));
}

#[test]
fn a_follower_shows_each_snapshot_and_can_be_promoted() {
    let (mut segments, mut pages, mut wholes) = (0u64, 0, 0);
    for round in 0..scale::share(300) {
        let seed = scale::seed("follow", round);
        let page_bytes = PAGE_BYTES[round as usize % 3];
        let mut source = Source::new(page_bytes, seed);
        let disk = SimDisk::new(8 << 20).expect("a machine").quiet();
        let first = source.step();
        let mut replica = replica_on(&disk, &first.segment.image);
        let mut steps = vec![first];
        steps.extend((0..8).map(|_| source.step()));
        let mut before = None;
        for step in &steps {
            let segment = &step.segment;
            assert_eq!(segment.apply(&mut replica).expect("it follows"), segment.image.id());
            assert_eq!(replica.at().expect("a name"), segment.image.name());
            let txn = replica.env().read().expect("read");
            step.model.compare(&txn).unwrap_or_else(|other| panic!("seed {seed}: {other}"));
            drop(txn);
            audited(replica.env());
            segments += 1;
            let whole = replica.env().capture().expect("a capture");
            if segment.from.is_some() {
                pages += segment.page_count();
                wholes += huon_testkit::follow::Segment::take(&whole, None).page_count();
            }
            assert_eq!(whole.image(), &segment.image, "the same in each file");
            before = Some(step);
        }
        let last = before.expect("there were steps");
        let env = replica.promote().expect("it becomes a file of its own");
        let id = env.write().expect("begin").id();
        assert!(id > last.segment.image.id() + (1 << 32), "{id} is above all of the source's");
        last.model.compare(&env.read().expect("read")).expect("nothing is lost");
        audited(&env);
    }
    println!("{segments} segments; later ones of {pages} pages, whole ones of {wholes}");
    assert!(2 * wholes > 3 * pages, "a segment costs what changed");
    figures::named("follow.segments", segments);
}

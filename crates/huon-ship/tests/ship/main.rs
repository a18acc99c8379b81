//! Shipping to a bucket: what is restored, what follows, and what is refused.

mod faults;
mod keeping;
mod shop;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use huon::{CompactOptions, Env};
use huon_ship::{
    Bucket, Directory, Error, Follower, Key, Memory, Point, RemoteOptions, ShipOptions,
};

use shop::{Shop, WAIT};

#[test]
fn every_point_is_restored_as_it_was() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let shipper = shop.shipper();
    let mut shown = Vec::new();
    for round in 0..24 {
        let id = shop.change(round);
        if round % 7 == 6 {
            let options = CompactOptions::new().step_bytes(64 << 10);
            shop.env.compact(options).expect("compact");
        }
        shipper.wait(id, WAIT).expect("it is shipped");
        // A compaction has made commits of its own.
        let shipped = shipper.progress().expect("it lives").snapshot.id;
        shown.push((shipped, shop.shown()));
    }
    shipper.stop().expect("it ends");
    let moments = shop.remote.history().expect("the history");
    assert!(moments.len() >= shown.len(), "{} of {}", moments.len(), shown.len());
    for (id, shown) in &shown {
        assert!(shop.restored(Point::Id(*id)) == *shown, "snapshot {id}");
    }
    assert_eq!(shop.restored(Point::Latest), shown.last().expect("the last one").1);
    let before = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let none = shop.remote.restore(shop.dir.path().join("none"), Point::Time(before));
    assert!(matches!(none, Err(Error::NothingShipped(_))), "{none:?}");
    let found = shop.remote.check().expect("the check");
    assert_eq!((found.problems, found.bases), (vec![], 1));
}

#[test]
fn a_segment_costs_what_changed_and_nothing_is_shipped_for_nothing() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    shop.fill(100_000);
    let shipper = shop.shipper();
    let id = shop.put(77, "changed");
    shipper.wait(id, WAIT).expect("it is shipped");
    let progress = shipper.progress().expect("it lives");
    assert_eq!(progress.segments, 1);
    assert!(progress.bytes < 40_000, "{} bytes for one put", progress.bytes);
    let records = shop.objects("log/");
    drop(shipper);
    // What the shipper itself writes, the names of snapshots, is nothing to be shipped.
    let options = ShipOptions::new().every(Duration::from_millis(5));
    let shipper = options.start(shop.remote.clone(), &shop.env).expect("it starts");
    std::thread::sleep(Duration::from_millis(100));
    let progress = shipper.stop().expect("it ends");
    assert_eq!(progress.segments, 0);
    assert_eq!(shop.objects("log/"), records + 1, "the takeover");
}

#[test]
fn a_shipper_goes_on_where_the_one_before_has_ended() {
    let dir = tempfile::tempdir().expect("a directory");
    let bucket = Directory::open(dir.path().join("bucket")).expect("a bucket");
    let mut shop = Shop::new(Arc::new(bucket));
    for round in 0..6 {
        let shipper = shop.shipper();
        let id = shop.change(round);
        if round % 2 == 0 {
            shipper.wait(id, WAIT).expect("it is shipped");
        }
        // Without an end in order, and with what was not shipped.
        drop(shipper);
        shop.reopen();
    }
    shop.shipper().stop().expect("it ends");
    assert_eq!(shop.restored(Point::Latest), shop.shown());
    assert_eq!(shop.objects("base/"), 1, "the file was shipped whole but once");
    let names = shop.env.named_snapshots().expect("the names");
    assert!(names.len() <= 2, "{names:?}");
}

#[test]
fn a_file_that_does_not_know_the_log_is_refused() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let shipper = shop.shipper();
    let id = shop.change(1);
    shipper.wait(id, WAIT).expect("it is shipped");
    let copied = shop.dir.path().join("copied.huon");
    std::fs::copy(&shop.path, &copied).expect("a byte copy");
    let id = shop.change(2);
    shipper.wait(id, WAIT).expect("it is shipped");
    let (last, time) = (shop.shown(), SystemTime::now());
    let options = ShipOptions::new();
    let older = Env::open(&copied).expect("the older copy");
    let refused = options.start(shop.remote.clone(), &older).map(drop);
    let Err(Error::Diverged(text)) = refused else { panic!("{refused:?}") };
    assert!(text.contains("does not know"), "{text}");
    shipper.progress().expect("the shipper was not fenced off for it");

    std::thread::sleep(Duration::from_millis(20));
    let anew = options.rebase(true).start(shop.remote.clone(), &older).expect("it begins anew");
    anew.stop().expect("it ends");
    let fenced = shipper.wait(shop.change(3), WAIT);
    assert!(matches!(fenced, Err(Error::Fenced { .. })), "{fenced:?}");
    assert_eq!(shop.restored(Point::Time(time)), last);
    assert_eq!(shop.restored(Point::Latest), shop::shown(&older));
    let names = shop.env.named_snapshots().expect("the names");
    assert!(names.is_empty(), "one that was fenced off leaves none: {names:?}");

    let stranger = Env::in_memory().expect("another file");
    let refused = RemoteOptions::new().open_for(shop.bucket.clone(), &stranger).map(drop);
    assert!(matches!(refused, Err(Error::Diverged(_))), "{refused:?}");
}

#[test]
fn the_later_shipper_has_the_log() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let first = shop.shipper();
    let second = shop.shipper();
    let id = shop.change(1);
    second.wait(id, WAIT).expect("it is shipped");
    let id = shop.change(2);
    let fenced = first.wait(id, WAIT);
    let Err(Error::Fenced { by, .. }) = fenced else { panic!("{fenced:?}") };
    assert!(by.contains(&std::process::id().to_string()), "{by}");
    assert!(matches!(first.progress(), Err(Error::Fenced { .. })));
    second.wait(id, WAIT).expect("it is shipped");
    drop(second);
    // Its names are there, whatever the first one has done to its own.
    shop.shipper().stop().expect("a third one goes on");
    assert_eq!(shop.restored(Point::Latest), shop.shown());
    assert_eq!(shop.remote.check().expect("the check").problems, Vec::<String>::new());
}

#[test]
fn a_follower_shows_what_was_shipped_and_takes_over() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let shipper = shop.shipper();
    shipper.wait(shop.change(0), WAIT).expect("it is shipped");
    let path = shop.dir.path().join("replica.huon");
    let mut follower = Follower::open(shop.remote.clone(), &path).expect("it follows");
    assert_eq!(shop::shown(follower.env()), shop.shown());
    for round in 1..12 {
        let (reader, was) = (Env::open(&path).expect("it opens"), shop.shown());
        let txn = reader.read().expect("a reader of another client");
        shipper.wait(shop.change(round), WAIT).expect("it is shipped");
        assert_eq!(follower.advance().expect("it follows"), 1);
        assert_eq!(shop::shown_in(&txn), was, "the reader is not disturbed");
        assert_eq!(shop::shown(follower.env()), shop.shown());
        if round == 6 {
            drop((txn, reader, follower));
            follower = Follower::open(shop.remote.clone(), &path).expect("it goes on");
        }
    }
    assert_eq!(follower.advance().expect("there is nothing"), 0);
    let replica = follower.promote().expect("it is a file of its own");
    let promoted = ShipOptions::new().start(shop.remote.clone(), &replica).expect("it ships");
    let id = shop::put_in(&replica, 5, "of the new one");
    promoted.wait(id, WAIT).expect("it is shipped");
    let fenced = shipper.wait(shop.change(13), WAIT);
    assert!(matches!(fenced, Err(Error::Fenced { .. })), "{fenced:?}");
    assert_eq!(shop.restored(Point::Latest), shop::shown(&replica));
    let refused = ShipOptions::new().start(shop.remote.clone(), &shop.env).map(drop);
    assert!(matches!(refused, Err(Error::Diverged(_))), "the old one has gone its own way");
}

#[test]
fn what_is_shipped_with_a_key_needs_it() {
    let key = |byte: u8| Key::from_hex(&format!("{byte:02x}").repeat(32)).expect("a key");
    let bucket: Arc<dyn Bucket> = Arc::new(Memory::default());
    let options = RemoteOptions::new().key(key(7));
    let mut shop = Shop::with(bucket.clone(), &options);
    let shipper = shop.shipper();
    shipper.wait(shop.put(1, "a secret that must not be seen"), WAIT).expect("it is shipped");
    shipper.stop().expect("it ends");
    assert_eq!(shop.restored(Point::Latest), shop.shown());
    for listed in bucket.list("").expect("a list") {
        let object = bucket.get(&listed.name).expect("get").expect("an object");
        let is_there = object.bytes.windows(8).any(|bytes| bytes == b"a secret");
        assert!(!is_there, "{} shows it", listed.name);
    }
    for wrong in [RemoteOptions::new(), RemoteOptions::new().key(key(8))] {
        let refused = wrong.open(bucket.clone()).map(drop);
        assert!(matches!(refused, Err(Error::Key(_))), "{refused:?}");
    }
    let plain = Shop::new(Arc::new(Memory::default()));
    let refused = options.open(plain.bucket.clone()).map(drop);
    assert!(matches!(refused, Err(Error::Key(_))), "{refused:?}");
    let nothing = options.open(Arc::new(Memory::default())).map(drop);
    assert!(matches!(nothing, Err(Error::NothingShipped(_))), "{nothing:?}");
}

#[test]
fn long_segments_are_cut_and_pieces_without_an_end_are_passed_over() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let shipper = shop.shipper();
    let id = shop.put_noise(40 << 20);
    shipper.wait(id, WAIT).expect("it is shipped");
    assert!(shop.objects("log/") >= 7, "{} records", shop.objects("log/"));
    shipper.stop().expect("it ends");
    assert_eq!(shop.restored(Point::Latest), shop.shown());

    // Of the next one, the last piece is not made: another shipper has begun.
    let last = shop.remote.history().expect("the history").last().expect("a moment").n;
    let shipper = shop.shipper();
    let id = shop.put_noise(20 << 20);
    shipper.wait(id, WAIT).expect("it is shipped");
    drop(shipper);
    let cut = last + 3;
    for n in cut..cut + 4 {
        shop.bucket.delete(&format!("log/{n:016x}")).expect("deleted");
    }
    let path = shop.dir.path().join("replica.huon");
    let mut follower = Follower::open(shop.remote.clone(), &path).expect("it follows");
    assert_eq!(follower.advance().expect("the last piece may come"), 0);
    let options = ShipOptions::new().rebase(true);
    let named = shop.env.named_snapshots().expect("the names");
    assert_eq!(named.len(), 2, "the log's, and the one that was on its way");
    let shipper = options.start(shop.remote.clone(), &shop.env).expect("it goes on");
    shipper.stop().expect("it ends");
    assert_eq!(shop.objects("base/"), 1, "it knew where the log was");
    assert_eq!(follower.advance().expect("it follows"), 1);
    assert_eq!(shop::shown(follower.env()), shop.shown());
    assert_eq!(shop.restored(Point::Latest), shop.shown());
}

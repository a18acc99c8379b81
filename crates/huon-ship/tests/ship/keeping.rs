//! What is kept, and what is deleted.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use huon_ship::{CollectOptions, Error, Follower, Memory, Point};

use crate::shop::{Shop, WAIT};

#[test]
fn what_is_older_is_deleted_and_holds_stay() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let shipper = shop.shipper();
    let mut points = Vec::new();
    for round in 0..10 {
        let id = shop.change(round);
        shipper.wait(id, WAIT).expect("it is shipped");
        points.push((id, shop.shown()));
    }
    let path = shop.dir.path().join("replica.huon");
    let mut follower = Follower::open(shop.remote.clone(), &path).expect("it follows");
    let held = shop.remote.hold("before the sale", Point::Id(points[3].0), None).expect("held");
    assert_eq!(held.snapshot.id, points[3].0);
    let soon = SystemTime::now() + Duration::from_millis(1);
    shop.remote.hold("for a moment", Point::Id(points[5].0), Some(soon)).expect("held");
    std::thread::sleep(Duration::from_millis(30));

    let options = CollectOptions::new().keep(Duration::ZERO).grace(Duration::ZERO);
    let scratch = shop.dir.path().join("scratch");
    let first = shop.remote.collect(&options, &scratch).expect("the first go");
    assert_eq!((first.deleted, first.bases), (0, 2), "one for the hold, and one for the rest");
    // Until the second go everything is there.
    assert_eq!(shop.remote.check().expect("the check").problems, Vec::<String>::new());
    let id = shop.change(11);
    shipper.wait(id, WAIT).expect("the shipper goes on");
    let second = shop.remote.collect(&options, &scratch).expect("the second go");
    assert!(second.deleted >= 10, "{second:?}");
    assert_eq!(shop.remote.check().expect("the check").problems, Vec::<String>::new());

    assert_eq!(shop.restored(Point::Latest), shop.shown());
    assert_eq!(shop.restored(Point::Id(points[3].0)), points[3].1, "it was held");
    for gone in [1, 2] {
        let path = shop.dir.path().join("gone.huon");
        let restored = shop.remote.restore(&path, Point::Id(points[gone].0));
        assert!(matches!(restored, Err(Error::NothingShipped(_))), "{restored:?}");
    }
    assert_eq!(shop.restored(Point::Id(points[5].0)), points[3].1, "the newest before that");
    follower.advance().expect("it is not that far behind");
    let held = shop.remote.holds().expect("the holds");
    assert_eq!(held.len(), 1, "{held:?}");
    assert!(shop.remote.release("before the sale").expect("it is released"));
    assert!(!shop.remote.release("before the sale").expect("it is gone"));

    // Records of takeovers stay, and a new shipper finds its place.
    drop(shipper);
    let shipper = shop.shipper();
    shipper.wait(shop.change(12), WAIT).expect("it is shipped");
    assert_eq!(shop.restored(Point::Latest), shop.shown());
    let scratch: Vec<_> = std::fs::read_dir(shop.dir.path()).expect("a directory").collect();
    let left = |entry: &std::io::Result<std::fs::DirEntry>| {
        let entry = entry.as_ref().expect("an entry");
        entry.file_name().to_string_lossy().starts_with("scratch")
    };
    assert!(!scratch.iter().any(left), "a collection leaves nothing behind: {scratch:?}");
}

#[test]
fn what_is_deleted_waits_for_its_grace() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let shipper = shop.shipper();
    for round in 0..4 {
        shipper.wait(shop.change(round), WAIT).expect("it is shipped");
    }
    std::thread::sleep(Duration::from_millis(10));
    let options = CollectOptions::new().keep(Duration::ZERO).grace(Duration::from_secs(3600));
    let scratch = shop.dir.path().join("scratch");
    let objects = shop.objects("log/");
    let first = shop.remote.collect(&options, &scratch).expect("the first go");
    assert_eq!(first.bases, 1);
    let second = shop.remote.collect(&options, &scratch).expect("the second go");
    assert_eq!((second.deleted, second.bases), (0, 0), "the hour is not over");
    assert_eq!(shop.objects("log/"), objects);
    let kept = CollectOptions::new();
    let mut other = Shop::new(Arc::new(Memory::default()));
    let shipper = other.shipper();
    shipper.wait(other.change(1), WAIT).expect("it is shipped");
    let report = other.remote.collect(&kept, &scratch).expect("nothing is older");
    assert_eq!((report.deleted, report.bases, report.lowest), (0, 0, 1));
}

#[test]
fn a_follower_that_is_too_far_behind_is_told() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let shipper = shop.shipper();
    shipper.wait(shop.change(0), WAIT).expect("it is shipped");
    let path = shop.dir.path().join("replica.huon");
    let mut follower = Follower::open(shop.remote.clone(), &path).expect("it follows");
    for round in 1..5 {
        shipper.wait(shop.change(round), WAIT).expect("it is shipped");
    }
    std::thread::sleep(Duration::from_millis(10));
    let options = CollectOptions::new().keep(Duration::ZERO).grace(Duration::ZERO);
    for _ in 0..2 {
        shop.remote.collect(&options, &shop.dir.path().join("scratch")).expect("collected");
    }
    let told = follower.advance();
    let Err(Error::Diverged(text)) = told else { panic!("{told:?}") };
    assert!(text.contains("deleted"), "{text}");
    drop(follower);
    let told = Follower::open(shop.remote.clone(), &path).map(drop);
    assert!(matches!(told, Err(Error::Diverged(_))), "{told:?}");
}

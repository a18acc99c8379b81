//! What is kept, and what is deleted.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use huon_ship::{
    Bucket, CollectOptions, Error, Follower, Key, Listed, Memory, Object, Point, RemoteOptions,
    Version,
};

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

/// What is done once, before the next part of a base is made.
type Before = Box<dyn FnOnce() + Send>;

/// A bucket in which something else happens before a part of a base is made, and no further part is
/// made after that one.
#[derive(Default)]
struct Interrupted {
    memory: Memory,
    before: Mutex<Option<Before>>,
    is_killed: AtomicBool,
}

impl Bucket for Interrupted {
    fn get(&self, name: &str) -> io::Result<Option<Object>> {
        self.memory.get(name)
    }

    fn get_range(&self, name: &str, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
        self.memory.get_range(name, range)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        if !name.starts_with("base/") {
            return self.memory.create(name, bytes);
        }
        if self.is_killed.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it was killed"));
        }
        let before = self.before.lock().expect("no panic").take();
        if let Some(before) = before {
            before();
            self.is_killed.store(true, Ordering::Relaxed);
        }
        self.memory.create(name, bytes)
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> io::Result<bool> {
        self.memory.swap(name, version, bytes)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.memory.delete(name)
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<Listed>> {
        self.memory.list(prefix)
    }
}

#[test]
fn a_collection_that_is_killed_beside_another_breaks_nothing() {
    let bucket = Arc::new(Interrupted::default());
    let key = Key::from_bytes([9; 32]);
    let mut shop = Shop::with(bucket.clone(), &RemoteOptions::new().key(key));
    let shipper = shop.shipper();
    for round in 0..4 {
        shipper.wait(shop.change(round), WAIT).expect("it is shipped");
    }
    std::thread::sleep(Duration::from_millis(10));
    let options = CollectOptions::new().keep(Duration::ZERO).grace(Duration::ZERO);
    let scratch = shop.dir.path().join("scratch");
    let (remote, at, other) = (shop.remote.clone(), scratch.clone(), options.clone());
    let whole = move || {
        let report = remote.collect(&other, &at).expect("it is whole");
        assert_eq!(report.bases, 1);
    };
    *bucket.before.lock().expect("no panic") = Some(Box::new(whole));
    // Whether it comes to its end is not the matter.
    let _ = shop.remote.collect(&options, &scratch);
    assert!(bucket.is_killed.swap(false, Ordering::Relaxed), "they met");
    for _ in 0..2 {
        assert_eq!(shop.remote.check().expect("the check").problems, Vec::<String>::new());
        assert_eq!(shop.restored(Point::Latest), shop.shown());
        std::thread::sleep(Duration::from_millis(10));
        shop.remote.collect(&options, &scratch).expect("what is older goes");
    }
}

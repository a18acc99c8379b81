//! Buckets that fail, lie, or have lost something.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use huon_ship::{
    Bucket, Error, Follower, Listed, Memory, Object, Point, RemoteOptions, ShipOptions, Version,
};

use crate::shop::{Shop, WAIT};

/// How a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It does not arrive.
    Refused,
    /// It is carried out, and the answer is lost.
    AnswerLost,
    /// It is carried out twice, and the second answer arrives.
    Twice,
}

/// One request of all fails.
struct Faulty {
    inner: Memory,
    count: AtomicU64,
    at: AtomicU64,
    fault: Fault,
}

impl Faulty {
    fn run<T>(&self, request: &dyn Fn() -> io::Result<T>) -> io::Result<T> {
        if self.count.fetch_add(1, Ordering::Relaxed) != self.at.load(Ordering::Relaxed) {
            return request();
        }
        match self.fault {
            Fault::Refused => Err(io::Error::other("503 slow down")),
            Fault::AnswerLost => {
                request()?;
                Err(io::Error::other("the connection was closed"))
            }
            Fault::Twice => {
                request()?;
                request()
            }
        }
    }
}

impl Bucket for Faulty {
    fn get(&self, name: &str) -> io::Result<Option<Object>> {
        self.run(&|| self.inner.get(name))
    }

    fn get_range(&self, name: &str, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
        self.run(&|| self.inner.get_range(name, range.clone()))
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        self.run(&|| self.inner.create(name, bytes))
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> io::Result<bool> {
        self.run(&|| self.inner.swap(name, version, bytes))
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.run(&|| self.inner.delete(name))
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<Listed>> {
        self.run(&|| self.inner.list(prefix))
    }
}

/// Ships, follows, is taken over, and restores, while request `at` fails. The requests there were.
fn run_with(fault: Fault, at: u64) -> u64 {
    let faulty = Arc::new(Faulty {
        inner: Memory::default(),
        count: AtomicU64::new(0),
        at: AtomicU64::new(at),
        fault,
    });
    let mut shop = Shop::new(faulty.clone());
    let shipper = shop.shipper();
    shipper.wait(shop.change(1), WAIT).expect("it is shipped");
    let path = shop.dir.path().join("replica.huon");
    let mut follower = Follower::open(shop.remote.clone(), &path).expect("it follows");
    shipper.wait(shop.change(2), WAIT).expect("it is shipped");
    let second = shop.shipper();
    let id = shop.change(3);
    second.wait(id, WAIT).expect("it is shipped");
    assert!(matches!(shipper.wait(id, WAIT), Err(Error::Fenced { .. })), "{fault:?} {at}");
    let held = shop.remote.hold("held", Point::Id(id), None).expect("it is held");
    assert_eq!(held.snapshot.id, id);
    let requests = faulty.count.load(Ordering::Relaxed);
    faulty.at.store(u64::MAX, Ordering::Relaxed);
    follower.advance().expect("it follows");
    assert_eq!(crate::shop::shown(follower.env()), shop.shown(), "{fault:?} {at}");
    assert_eq!(shop.restored(Point::Latest), shop.shown(), "{fault:?} {at}");
    let found = shop.remote.check().expect("the check");
    assert_eq!(found.problems, Vec::<String>::new(), "{fault:?} {at}");
    assert_eq!(shop.objects("probe/"), 0, "{fault:?} {at}");
    requests
}

#[test]
fn a_lost_answer_loses_nothing_whichever_it_is() {
    let mut tried = 0;
    for fault in [Fault::Refused, Fault::AnswerLost, Fault::Twice] {
        let requests = run_with(fault, u64::MAX);
        for at in 0..requests {
            run_with(fault, at);
            tried += 1;
        }
    }
    println!("{tried} faults");
    assert!(tried > 90, "{tried}");
}

/// A bucket that does not look at conditions.
struct Liar(Memory, &'static str);

impl Bucket for Liar {
    fn get(&self, name: &str) -> io::Result<Option<Object>> {
        self.0.get(name)
    }

    fn get_range(&self, name: &str, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
        let range = if self.1 == "ranges" { 0..u64::MAX } else { range };
        self.0.get_range(name, range)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        if self.1 == "create" {
            self.0.delete(name)?;
        }
        self.0.create(name, bytes)
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> io::Result<bool> {
        match self.1 {
            "swap" => self.0.delete(name).and_then(|()| self.0.create(name, bytes)),
            "never" => Ok(false),
            _ => self.0.swap(name, version, bytes),
        }
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.delete(name)
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<Listed>> {
        if self.1 == "list" { Ok(Vec::new()) } else { self.0.list(prefix) }
    }
}

#[test]
fn a_bucket_that_breaks_a_promise_is_refused() {
    let env = huon::Env::in_memory().expect("a file");
    for lie in ["create", "swap", "never", "ranges", "list"] {
        let bucket = Arc::new(Liar(Memory::default(), lie));
        let refused = RemoteOptions::new().open_for(bucket.clone(), &env).map(drop);
        assert!(matches!(refused, Err(Error::Unfit(_))), "{lie}: {refused:?}");
        assert!(bucket.0.list("format").expect("a list").is_empty(), "{lie}");
    }
    let honest = Arc::new(Liar(Memory::default(), "none"));
    RemoteOptions::new().open_for(honest, &env).expect("it keeps them all");
}

/// A bucket that cannot be reached from some moment on.
struct Away(Memory, AtomicU64);

impl Away {
    fn here(&self) -> io::Result<&Memory> {
        match self.1.load(Ordering::Relaxed) {
            0 => Ok(&self.0),
            _ => Err(io::Error::other("no route to host")),
        }
    }
}

impl Bucket for Away {
    fn get(&self, name: &str) -> io::Result<Option<Object>> {
        self.here()?.get(name)
    }

    fn get_range(&self, name: &str, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
        self.here()?.get_range(name, range)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        self.here()?.create(name, bytes)
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> io::Result<bool> {
        self.here()?.swap(name, version, bytes)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.here()?.delete(name)
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<Listed>> {
        self.here()?.list(prefix)
    }
}

#[test]
fn commits_go_on_while_the_bucket_is_away() {
    let away = Arc::new(Away(Memory::default(), AtomicU64::new(0)));
    let options = RemoteOptions::new().patience(Duration::from_millis(50));
    let mut shop = Shop::with(away.clone(), &options);
    let shipper = shop.shipper();
    away.1.store(1, Ordering::Relaxed);
    let id = shop.change(1);
    let waited = shipper.wait(id, Duration::from_millis(200));
    assert!(matches!(waited, Err(Error::Timeout)), "{waited:?}");
    let later = shop.change(2);
    away.1.store(0, Ordering::Relaxed);
    shipper.wait(later, WAIT).expect("it comes back");
    assert_eq!(shop.restored(Point::Latest), shop.shown());

    away.1.store(1, Ordering::Relaxed);
    shop.change(3);
    let stopped = shipper.stop();
    assert!(matches!(stopped, Err(Error::Bucket { .. } | Error::Ended(_))), "{stopped:?}");
    let refused = ShipOptions::new().start(shop.remote.clone(), &shop.env).map(drop);
    assert!(matches!(refused, Err(Error::Bucket { .. })), "{refused:?}");
    away.1.store(0, Ordering::Relaxed);
    shop.shipper().stop().expect("the next one ships what was left");
    assert_eq!(shop.restored(Point::Latest), shop.shown());
}

#[test]
fn damage_is_named_wherever_it_is() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let shipper = shop.shipper();
    for round in 0..6 {
        shipper.wait(shop.change(round), WAIT).expect("it is shipped");
    }
    shipper.stop().expect("it ends");
    let listed = shop.bucket.list("").expect("a list");
    let kept: Vec<_> = listed.iter().map(|listed| &listed.name).collect();
    for name in kept {
        let whole = shop.bucket.get(name).expect("get").expect("an object").bytes;
        let mut wrong: Vec<Option<Vec<u8>>> = vec![None];
        for part in [0, 1, 3, 5, 8, 9] {
            let mut flipped = whole.clone();
            let at = (whole.len() - 1) * part / 9;
            flipped[at] ^= 0x40;
            wrong.push(Some(flipped));
        }
        for bytes in wrong {
            shop.bucket.delete(name).expect("deleted");
            if let Some(bytes) = &bytes {
                shop.bucket.create(name, bytes).expect("made");
            }
            if name != "format" && name != "floor" {
                let is_end = bytes.is_none() && *name == last_of_log(&listed);
                let found = shop.remote.check().expect("the check");
                let is_named = found.problems.iter().any(|problem| problem.contains(name.as_str()));
                assert!(is_named || is_end, "{name}: {:?}", found.problems);
            }
            let path = shop.dir.path().join("damaged.huon");
            let restored = shop.remote.restore(&path, Point::Latest);
            // What is restored is whole, of an earlier moment if need be.
            if restored.is_ok() {
                let env = huon::Env::open(&path).expect("it opens");
                assert!(env.check().expect("a check").is_clean());
                drop(env);
                std::fs::remove_file(&path).expect("it goes");
                let _ = std::fs::remove_file(shop.dir.path().join("damaged.huon-lock"));
            }
        }
        shop.bucket.delete(name).expect("deleted");
        shop.bucket.create(name, &whole).expect("made");
    }
    assert_eq!(shop.restored(Point::Latest), shop.shown());
}

#[test]
fn a_log_with_a_hole_is_not_taken_over_there() {
    let mut shop = Shop::new(Arc::new(Memory::default()));
    let shipper = shop.shipper();
    for round in 0..6 {
        shipper.wait(shop.change(round), WAIT).expect("it is shipped");
    }
    drop(shipper);
    let name = "log/0000000000000003";
    shop.bucket.delete(name).expect("deleted");
    let refused = ShipOptions::new().start(shop.remote.clone(), &shop.env).map(drop);
    let Err(Error::Damaged { name: told, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(told, name);
    assert!(shop.bucket.get(name).expect("get").is_none(), "no takeover lies in the hole");
}

fn last_of_log(listed: &[Listed]) -> String {
    let log = listed.iter().filter(|listed| listed.name.starts_with("log/"));
    log.map(|listed| listed.name.clone()).next_back().expect("a record")
}

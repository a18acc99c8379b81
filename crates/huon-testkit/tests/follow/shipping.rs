//! Power losses of a machine whose file is shipped: the shipper that begins afterwards knows the
//! snapshot that the log is at, whatever was lost (T1), and nothing that was shipped is lost there.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use huon::sim::SimDisk;
use huon::{Bytes, Durability, Env, ReadTxn, TableDef, U64};
use huon_ship::{
    Bucket, Listed, Memory, Object, Point, Remote, RemoteOptions, ShipOptions, Shipper, Version,
};
use huon_testkit::crash::{Caps, Losses};
use huon_testkit::follow::options;
use huon_testkit::{figures, scale};

const T: TableDef<U64, Bytes> = TableDef::new("t");
const WAIT: Duration = Duration::from_secs(60);

/// All objects of a bucket.
type Objects = BTreeMap<String, Vec<u8>>;

/// A bucket that notes what is in it, and how many events of the disk came before that.
struct Noted {
    memory: Memory,
    disk: SimDisk,
    states: Mutex<Vec<(usize, Objects)>>,
}

impl Noted {
    fn changed<T>(&self, result: io::Result<T>) -> io::Result<T> {
        let mut objects = Objects::new();
        for listed in self.memory.list("")? {
            let object = self.memory.get(&listed.name)?.expect("it is listed");
            objects.insert(listed.name, object.bytes);
        }
        self.states.lock().expect("no panic").push((self.disk.event_count(), objects));
        result
    }
}

impl Bucket for Noted {
    fn get(&self, name: &str) -> io::Result<Option<Object>> {
        self.memory.get(name)
    }

    fn get_range(&self, name: &str, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
        self.memory.get_range(name, range)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        self.changed(self.memory.create(name, bytes))
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> io::Result<bool> {
        self.changed(self.memory.swap(name, version, bytes))
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.changed(self.memory.delete(name))
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<Listed>> {
        self.memory.list(prefix)
    }
}

fn start(remote: &Arc<Remote>, env: &Env) -> Shipper {
    let options = ShipOptions::new().every(Duration::from_secs(3600));
    options.start(remote.clone(), env).expect("the file knows where the log is")
}

fn change(env: &Env, round: u64, durability: Durability) -> u64 {
    let mut txn = env.write().expect("begin");
    let table = txn.create_table(&T).expect("a table");
    for n in 0..8 {
        table.put(&mut txn, (n * 7 + round) % 40, &[round as u8; 60]).expect("put");
    }
    txn.commit_with(durability).expect("commit")
}

fn shown(txn: &ReadTxn) -> Vec<(u64, Vec<u8>)> {
    let Some(table) = txn.open_table(&T).expect("open") else { return Vec::new() };
    let records = table.iter(txn).expect("iterate");
    records.map(|record| record.map(|(key, value)| (key, value.to_vec())).expect("one")).collect()
}

/// A shipper begins again with what a power loss has left, and with what was in the bucket.
fn judge(machine: &SimDisk, page_bytes: usize, objects: &Objects) {
    let memory = Memory::default();
    for (name, bytes) in objects {
        memory.create(name, bytes).expect("made");
    }
    let env = options(page_bytes).open_simulated(machine).expect("what is left opens");
    let remote = RemoteOptions::new().open_for(Arc::new(memory), &env).expect("the prefix");
    let remote = Arc::new(remote);
    start(&remote, &env).stop().expect("it ships what was not shipped");
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("restored.huon");
    remote.restore(&path, Point::Latest).expect("it is restored");
    let restored = Env::open(&path).expect("it opens").read().expect("read");
    assert_eq!(shown(&restored), shown(&env.read().expect("read")));
    assert_eq!(remote.check().expect("the check").problems, Vec::<String>::new());
    let bases = remote.history().expect("the history").len();
    assert!(bases > 0, "there is something to restore");
}

/// Returns how many images were judged.
fn course(page_bytes: usize, seed: u64) -> u64 {
    let disk = SimDisk::new(8 << 20).expect("a machine");
    let env = options(page_bytes).open_simulated(&disk).expect("a file");
    change(&env, 0, Durability::Durable);
    let first = disk.image();
    disk.clear_events();
    let states = Mutex::new(Vec::new());
    let bucket = Arc::new(Noted { memory: Memory::default(), disk: disk.clone(), states });
    let remote = RemoteOptions::new().open_for(bucket.clone(), &env).expect("a prefix");
    let remote = Arc::new(remote);
    let shipper = start(&remote, &env);
    let mut spans = Vec::new();
    for round in 1..5 {
        let begun = disk.event_count();
        let id = change(&env, round * 3, Durability::Lazy);
        shipper.wait(id, WAIT).expect("it is shipped");
        // After what was shipped, and not to be shipped by then.
        change(&env, round * 3 + 1, Durability::Lazy);
        if round % 2 == 0 {
            env.sync().expect("flush");
        }
        spans.push(begun..disk.event_count());
    }
    drop(shipper);
    let events = disk.events();
    drop(env);
    let states = bucket.states.lock().expect("no panic");
    let begun = states.iter().position(|(_, objects)| objects.contains_key("log/0000000000000002"));
    let begun = begun.expect("the log begins");
    let now = |at: usize| states.iter().rposition(|(count, _)| *count <= at);
    let machine = disk.after_crash(&[], true).expect("a machine").quiet();
    let losses = Losses::new(page_bytes, &disk, first, events, spans);
    let caps = if scale::is_full() { Caps::FULL } else { Caps::FEW };
    let mut judged = 0;
    losses.each(caps, seed, |loss| now(loss.at).unwrap_or(0) as u64, &mut |loss| {
        let Some(now) = now(loss.at).filter(|now| *now >= begun) else { return };
        machine.restart(loss.image, None, None);
        judge(&machine, page_bytes, &states[now].1);
        judged += 1;
    });
    judged
}

#[test]
fn a_power_loss_leaves_a_file_that_knows_what_was_shipped() {
    let mut images = 0;
    for round in 0..scale::share(8) {
        let seed = scale::seed("ship: crashes", round);
        images += course([512, 4096][round as usize % 2], seed);
    }
    println!("{images} images");
    assert!(!scale::has_minimums() || images > 40, "{images}");
    figures::add("crash", images);
    figures::named("ship.crash.images", images);
}

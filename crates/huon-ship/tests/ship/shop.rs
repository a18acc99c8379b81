//! A file with some tables, and the bucket that it is shipped to.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use huon::{Bytes, Env, ReadTxn, TableDef, U64};
use huon_ship::{Bucket, Point, Remote, RemoteOptions, ShipOptions, Shipper};
use tempfile::TempDir;

/// How long to wait for what takes milliseconds.
pub(crate) const WAIT: Duration = Duration::from_secs(60);

const STOCK: TableDef<U64, Bytes> = TableDef::new("stock");
const NOISE: TableDef<U64, Bytes> = TableDef::new("noise");

/// What a snapshot shows: each record as its table, key, and a digest of its value.
pub(crate) type Shown = Vec<(&'static str, u64, u64, usize)>;

pub(crate) struct Shop {
    pub(crate) dir: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) env: Env,
    pub(crate) bucket: Arc<dyn Bucket>,
    pub(crate) remote: Arc<Remote>,
    restored: u32,
}

impl Shop {
    pub(crate) fn new(bucket: Arc<dyn Bucket>) -> Shop {
        Shop::with(bucket, &RemoteOptions::new().patience(Duration::from_secs(20)))
    }

    pub(crate) fn with(bucket: Arc<dyn Bucket>, options: &RemoteOptions) -> Shop {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("shop.huon");
        let env = Env::open(&path).expect("a file");
        let remote = Arc::new(options.open_for(bucket.clone(), &env).expect("a prefix"));
        Shop { dir, path, env, bucket, remote, restored: 0 }
    }

    /// As another process that opens the file.
    pub(crate) fn reopen(&mut self) {
        self.env = Env::in_memory().expect("another file");
        self.env = Env::open(&self.path).expect("it opens");
    }

    /// One that ships what is waited for, and nothing of its own accord.
    pub(crate) fn shipper(&self) -> Shipper {
        let options = ShipOptions::new().every(Duration::from_secs(3600));
        options.start(self.remote.clone(), &self.env).expect("it starts")
    }

    pub(crate) fn fill(&mut self, count: u64) {
        let filled = self.env.update(|txn| {
            let stock = txn.create_table(&STOCK)?;
            (0..count).try_for_each(|n| stock.put(txn, n, b"in stock").map(drop))
        });
        filled.expect("a commit");
    }

    /// A commit that differs from round to round, with large values now and then.
    pub(crate) fn change(&mut self, round: u64) -> u64 {
        let changed = self.env.update(|txn| {
            let stock = txn.create_table(&STOCK)?;
            for n in 0..20 {
                let value = vec![round as u8; (n as usize * 37 + round as usize) % 200];
                stock.put(txn, (n * 131 + round * 17) % 1000, &value)?;
                stock.remove(txn, (n * 57 + round * 91) % 1000)?;
            }
            if round % 5 == 2 {
                stock.put(txn, 1000 + round, &vec![round as u8; 100_000])?;
            }
            Ok(txn.id())
        });
        changed.expect("a commit")
    }

    pub(crate) fn put(&mut self, key: u64, value: &str) -> u64 {
        put_in(&self.env, key, value)
    }

    /// Some bytes that nothing compresses.
    pub(crate) fn put_noise(&mut self, bytes: usize) -> u64 {
        let mut word = self.restored as u64 + bytes as u64;
        let mut noise = Vec::with_capacity(bytes);
        while noise.len() < bytes {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            noise.extend_from_slice(&(word ^ word >> 31).to_le_bytes());
        }
        let put = self.env.update(|txn| {
            txn.create_table(&NOISE)?.put(txn, bytes as u64, &noise)?;
            Ok(txn.id())
        });
        put.expect("a commit")
    }

    pub(crate) fn shown(&self) -> Shown {
        shown(&self.env)
    }

    /// What the snapshot of a point shows.
    pub(crate) fn restored(&mut self, point: Point) -> Shown {
        self.restored += 1;
        let path = self.dir.path().join(format!("restored-{}.huon", self.restored));
        self.remote.restore(&path, point).expect("it is restored");
        let env = Env::open(&path).expect("it opens");
        let report = env.check().expect("the check");
        assert!(report.is_clean(), "{report:?}");
        shown(&env)
    }

    /// How many objects there are.
    pub(crate) fn objects(&self, prefix: &str) -> usize {
        self.bucket.list(prefix).expect("a list").len()
    }
}

pub(crate) fn put_in(env: &Env, key: u64, value: &str) -> u64 {
    let put = env.update(|txn| {
        txn.create_table(&STOCK)?.put(txn, key, value.as_bytes())?;
        Ok(txn.id())
    });
    put.expect("a commit")
}

pub(crate) fn shown(env: &Env) -> Shown {
    shown_in(&env.read().expect("read"))
}

pub(crate) fn shown_in(txn: &ReadTxn) -> Shown {
    let mut shown = Vec::new();
    for (name, def) in [("stock", &STOCK), ("noise", &NOISE)] {
        let Some(table) = txn.open_table(def).expect("open") else { continue };
        for record in table.iter(txn).expect("iterate") {
            let (key, value) = record.expect("a record");
            let digest = value.iter().fold(7u64, |sum, byte| sum * 31 % 0xFFFF_FFFB + *byte as u64);
            shown.push((name, key, digest, value.len()));
        }
    }
    shown
}

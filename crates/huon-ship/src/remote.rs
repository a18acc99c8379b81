//! A prefix of a bucket that a file is shipped to.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use huon::{Env, SnapshotName};
use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, Object};
use crate::cipher::{Cipher, Key, hex, random, unhex};
use crate::error::{Error, Result};
use crate::object::Digest;

const FORMAT: &str = "format";
const FLOOR: &str = "floor";
const VERSION: u32 = 1;

/// Options of a [`Remote`].
#[derive(Debug, Clone)]
#[must_use = "options do nothing until they are opened"]
pub struct RemoteOptions {
    key: Option<Key>,
    level: i32,
    patience: Duration,
}

impl Default for RemoteOptions {
    fn default() -> RemoteOptions {
        RemoteOptions { key: None, level: 3, patience: Duration::from_secs(30) }
    }
}

impl RemoteOptions {
    /// No key, zstd at level 3, and half a minute of patience.
    pub fn new() -> RemoteOptions {
        RemoteOptions::default()
    }

    /// Encrypts what is shipped. A prefix that was made with a key needs it ever after, and one
    /// that was made without takes none.
    pub fn key(mut self, key: Key) -> RemoteOptions {
        self.key = Some(key);
        self
    }

    /// Level of zstd, 1 to 19. Default: 3.
    pub fn level(mut self, level: i32) -> RemoteOptions {
        self.level = level.clamp(1, 19);
        self
    }

    /// For how long a request is tried again that the bucket does not answer; a shipper that runs
    /// tries until it is stopped. Default: 30 seconds.
    pub fn patience(mut self, patience: Duration) -> RemoteOptions {
        self.patience = patience;
        self
    }

    /// Opens a prefix that was shipped to.
    ///
    /// # Errors
    /// [`Error::NothingShipped`]; [`Error::Key`]; [`Error::Bucket`].
    pub fn open(&self, bucket: Arc<dyn Bucket>) -> Result<Remote> {
        let raw = RawRemote { bucket, patience: self.patience };
        match raw.get(FORMAT)? {
            Some(object) => self.with(raw, &object),
            None => Err(Error::NothingShipped("nothing was shipped here yet".into())),
        }
    }

    /// Opens the prefix for a file, and makes it if nothing was shipped there yet: whether the
    /// bucket keeps its promises is tried first.
    ///
    /// # Errors
    /// [`Error::Unfit`] names the promise that the bucket breaks; [`Error::Diverged`] if another
    /// file was shipped there; [`Error::Key`]; [`Error::Bucket`].
    pub fn open_for(&self, bucket: Arc<dyn Bucket>, env: &Env) -> Result<Remote> {
        let image = env.capture()?.image().clone();
        let raw = RawRemote { bucket, patience: self.patience };
        raw.probe()?;
        if raw.get(FORMAT)?.is_none() {
            raw.make(FLOOR, &json(&Floor { lowest: 1, ..Floor::default() }))?;
            let cipher = Cipher::of(self.key.as_ref());
            let id = hex(&random::<8>());
            let format = Format {
                format: "huon-ship".into(),
                version: VERSION,
                file: hex(&image.uuid()),
                page_bytes: image.page_bytes(),
                cipher: cipher.name().into(),
                key_check: hex(&cipher.seal(id.as_bytes(), KEY_CHECK.to_vec())),
                id,
            };
            raw.make(FORMAT, &json(&format))?;
        }
        let made = raw.get(FORMAT)?.ok_or_else(|| lost(FORMAT))?;
        let remote = self.with(raw, &made)?;
        if remote.uuid != image.uuid() {
            return Err(Error::Diverged("another file was shipped to this prefix".into()));
        }
        Ok(remote)
    }

    fn with(&self, raw: RawRemote, object: &Object) -> Result<Remote> {
        let damaged = |reason| Error::Damaged { name: FORMAT.into(), reason };
        let format: Format =
            serde_json::from_slice(&object.bytes).map_err(|_| damaged("it cannot be read"))?;
        if format.version != VERSION {
            return Err(damaged("it is one of another version"));
        }
        let cipher = Cipher::of(self.key.as_ref());
        if format.cipher != cipher.name() {
            return Err(Error::Key(match cipher {
                Cipher::None => "what was shipped is encrypted: its key is needed",
                Cipher::XChaCha(_) => "what was shipped is not encrypted: it needs no key",
            }));
        }
        let check = unhex(&format.key_check).unwrap_or_default();
        if cipher.open(format.id.as_bytes(), &check).as_deref() != Some(KEY_CHECK) {
            return Err(Error::Key("what was shipped was encrypted with another key"));
        }
        let uuid = unhex(&format.file).and_then(|bytes| bytes.try_into().ok());
        let uuid = uuid.ok_or_else(|| damaged("it has no id of a file"))?;
        Ok(Remote { raw, uuid, id: format.id, cipher, level: self.level })
    }
}

/// What a key encrypts so that another one is noticed at once.
const KEY_CHECK: &[u8] = b"huon";

/// What was shipped, as it says itself.
#[derive(Serialize, Deserialize)]
struct Format {
    format: String,
    version: u32,
    /// Id of the file, and all its copies.
    file: String,
    page_bytes: u32,
    cipher: String,
    key_check: String,
    /// Id of the prefix.
    id: String,
}

/// The one object that changes: what must be there.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Floor {
    /// The lowest record of the log that is there, besides takeovers.
    pub(crate) lowest: u64,
    /// When it was raised, milliseconds since 1970.
    pub(crate) raised_millis: u64,
    pub(crate) bases: Vec<BaseEntry>,
    pub(crate) holds: Vec<Hold>,
}

/// A whole snapshot in the bucket.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseEntry {
    /// The record of the log whose state it is.
    pub(crate) n: u64,
    pub(crate) id: u64,
    pub(crate) checksum: u64,
    pub(crate) millis: u64,
    pub(crate) parts: u64,
    pub(crate) bytes: u64,
    /// Digest of its last part, which has those of the others.
    pub(crate) digest: String,
    /// Its parts have names that begin so.
    pub(crate) folder: String,
}

impl BaseEntry {
    pub(crate) fn name(&self) -> SnapshotName {
        SnapshotName { id: self.id, checksum: self.checksum }
    }

    /// Whether it is the snapshot of a record.
    pub(crate) fn is(&self, n: u64, name: SnapshotName) -> bool {
        self.n == n && self.name() == name
    }

    pub(crate) fn part(&self, part: u64) -> String {
        base_part(&self.folder, part)
    }
}

/// A point that is kept whatever the retention says.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// What it is called.
    pub name: String,
    /// The record of the log.
    pub n: u64,
    /// The snapshot.
    pub id: u64,
    /// The checksum of its image.
    pub checksum: u64,
    /// Until when, in milliseconds since 1970; `None`: until it is taken away.
    pub until_millis: Option<u64>,
}

impl Hold {
    pub(crate) fn snapshot(&self) -> SnapshotName {
        SnapshotName { id: self.id, checksum: self.checksum }
    }
}

pub(crate) fn log_name(n: u64) -> String {
    format!("log/{n:016x}")
}

pub(crate) fn base_part(folder: &str, part: u64) -> String {
    format!("{folder}{part:08x}")
}

/// The folder of a base that is begun now. Each attempt has its own: two that make the same base at
/// the same moment do not meet.
pub(crate) fn new_folder(n: u64, id: u64) -> String {
    format!("base/{n:016x}-{id:016x}-{}/", hex(&random::<8>()))
}

/// JSON of something that has no maps with strange keys.
fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec_pretty(value).expect("it can be said in JSON")
}

#[cold]
pub(crate) fn lost(name: &str) -> Error {
    Error::Damaged { name: name.into(), reason: "it is missing" }
}

/// What a file was shipped to: open it by [`RemoteOptions`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use huon::{Env, Str, TableDef, U64};
/// use huon_ship::{Memory, Point, RemoteOptions, ShipOptions};
/// use std::sync::Arc;
/// const STOCK: TableDef<Str, U64> = TableDef::new("stock");
///
/// let bucket = Arc::new(Memory::default());
/// let env = Env::open(dir.path().join("shop.huon"))?;
/// let remote = Arc::new(RemoteOptions::new().open_for(bucket, &env)?);
/// let shipper = ShipOptions::new().start(remote.clone(), &env)?;
/// env.update(|txn| txn.create_table(&STOCK)?.put(txn, "apple", 12))?;
/// shipper.stop()?;
///
/// let path = dir.path().join("restored.huon");
/// remote.restore(&path, Point::Latest)?;
/// let restored = Env::open(&path)?;
/// assert_eq!(restored.table(&STOCK)?.get(&restored.read()?, "apple")?, Some(12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Remote {
    pub(crate) raw: RawRemote,
    pub(crate) uuid: [u8; 16],
    pub(crate) id: String,
    pub(crate) cipher: Cipher,
    pub(crate) level: i32,
}

impl Remote {
    pub(crate) fn floor(&self) -> Result<Floor> {
        let object = self.raw.get(FLOOR)?.ok_or_else(|| lost(FLOOR))?;
        floor_of(&object)
    }

    /// Changes the floor, against all others that do.
    pub(crate) fn edit_floor(&self, edit: &mut dyn FnMut(&mut Floor) -> Result<()>) -> Result<()> {
        loop {
            let object = self.raw.get(FLOOR)?.ok_or_else(|| lost(FLOOR))?;
            let was = floor_of(&object)?;
            let mut floor = was.clone();
            edit(&mut floor)?;
            let bytes = json(&floor);
            // A swap whose answer was lost is found to be done by the next round.
            if floor == was {
                return Ok(());
            }
            let swap = || self.raw.bucket.swap(FLOOR, &object.version, &bytes);
            if self.raw.ask("swap", FLOOR, swap)? {
                return Ok(());
            }
        }
    }
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("id", &self.id).finish_non_exhaustive()
    }
}

fn floor_of(object: &Object) -> Result<Floor> {
    let read = serde_json::from_slice(&object.bytes);
    read.map_err(|_| Error::Damaged { name: FLOOR.into(), reason: "it cannot be read" })
}

/// A bucket that is asked again.
pub(crate) struct RawRemote {
    pub(crate) bucket: Arc<dyn Bucket>,
    pub(crate) patience: Duration,
}

/// How long to wait before a request is made again: longer each time.
pub(crate) struct Pauses(Duration);

impl Pauses {
    pub(crate) const fn new() -> Pauses {
        Pauses(Duration::from_millis(10))
    }

    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(Duration::from_secs(2));
        pause
    }
}

impl RawRemote {
    /// Asks until there is an answer, or the patience is over.
    pub(crate) fn ask<T>(
        &self,
        request: &'static str,
        name: &str,
        mut ask: impl FnMut() -> io::Result<T>,
    ) -> Result<T> {
        let end = Instant::now() + self.patience;
        let mut pauses = Pauses::new();
        loop {
            let source = match ask() {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let pause = pauses.next();
            let is_wrong = source.kind() == io::ErrorKind::InvalidInput;
            if is_wrong || Instant::now() + pause > end {
                return Err(Error::Bucket { request, name: name.into(), source });
            }
            std::thread::sleep(pause);
        }
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<Object>> {
        self.ask("get", name, || self.bucket.get(name))
    }

    /// Makes an object, or finds that there is one of the name.
    pub(crate) fn make(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.ask("create", name, || self.bucket.create(name, bytes)).map(drop)
    }

    pub(crate) fn delete(&self, name: &str) -> Result<()> {
        self.ask("delete", name, || self.bucket.delete(name))
    }

    /// Whether the bucket keeps its promises. (It cannot be seen here whether two that come at the
    /// same moment win both.)
    fn probe(&self) -> Result<()> {
        let mut names = Vec::new();
        let tried = self.ask("create", "probe/", || {
            // An error tells nothing of what is there: then another name is tried.
            let name = format!("probe/{}", hex(&random::<8>()));
            names.push(name.clone());
            probe_at(self.bucket.as_ref(), &name)
        });
        for name in &names {
            self.delete(name)?;
        }
        tried?.map_err(Error::Unfit)
    }
}

fn probe_at(bucket: &dyn Bucket, name: &str) -> io::Result<Result<(), &'static str>> {
    if bucket.get(name)?.is_some() {
        return Ok(Err("it says that an object is there that was never made"));
    }
    // Made twice, by a retry on the way, the second answer is that it is there.
    bucket.create(name, b"first")?;
    let Some(first) = bucket.get(name)?.filter(|object| object.bytes == b"first") else {
        return Ok(Err("an object is not as it was made"));
    };
    bucket.create(name, b"second")?;
    if bucket.get(name)?.is_none_or(|object| object.bytes != b"first") {
        return Ok(Err("it makes an object that is there already (If-None-Match)"));
    }
    bucket.swap(name, &first.version, b"third")?;
    let Some(third) = bucket.get(name)?.filter(|object| object.bytes == b"third") else {
        return Ok(Err("it does not replace an object by its version (If-Match)"));
    };
    bucket.swap(name, &first.version, b"fourth")?;
    if bucket.get(name)? != Some(third) {
        return Ok(Err("it replaces an object that has changed meanwhile (If-Match)"));
    }
    let part = bucket.get_range(name, 1..3)?;
    if part.as_deref() != Some(b"hi") {
        return Ok(Err("it does not give the bytes of an object that were asked for"));
    }
    if !bucket.list("probe/")?.iter().any(|listed| listed.name == name) {
        return Ok(Err("it does not list an object that is there"));
    }
    Ok(Ok(()))
}

/// A digest as it is written in the floor.
pub(crate) fn digest_text(digest: &Digest) -> String {
    hex(digest)
}

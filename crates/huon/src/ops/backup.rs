//! Backups: what changed since an earlier snapshot as a stream of bytes, and a file made of such
//! streams. FORMAT.md defines every byte.
//!
//! ```text
//!    0  8 bytes  "PAGEHUON"          24  u64  checksum of its image
//!    8  u32  version, 1              32  4096 bytes  the image of the snapshot
//!   12  u32  0                     4128  frames
//!   16  u64  the snapshot before
//! frame: u32 pgno, u32 pages, u64 checksum of these 8 bytes and the pages, pages
//! ```
//!
//! The last frame has page number 0 and no pages. The snapshot before is 0 where all pages follow.
//!
//! B1. A stream is written from front to back and read so: it goes through a pipe.
//! B2. A file that is made of streams gets its name when all its pages were verified, as the file
//!     has them, and flushed. It never replaces a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use crate::alloc::TryGrow;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::changes::{Capture, Changed};
use crate::ops::copy::target::Draft;
use crate::ops::progress::{Meter, OnProgress, Progress};
use crate::ops::replica::Replica;
use crate::os::QuietFile;
use crate::page::{META_BYTES, Meta, Txnid};
use crate::txn::image::{Image, SnapshotName};
use crate::txn::recovery::tail;

const MAGIC: &[u8; 8] = b"PAGEHUON";
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 32;
const FRAME_BYTES: usize = 16;
/// Bytes of pages in a frame at most.
const FRAME_PAGES_MAX: usize = 1 << 20;

/// Options of a backup; see [`Capture::backup_to`].
#[must_use = "options do nothing until they are passed to `Capture::backup_to`"]
#[derive(Default)]
pub struct BackupOptions<'a> {
    since: Option<SnapshotName>,
    progress: OnProgress<'a>,
}

impl<'a> BackupOptions<'a> {
    /// All pages of the snapshot, without a progress callback.
    pub fn new() -> BackupOptions<'a> {
        BackupOptions::default()
    }

    /// Only what changed since this snapshot, which another backup has: an incremental backup.
    pub fn since(mut self, name: SnapshotName) -> BackupOptions<'a> {
        self.since = Some(name);
        self
    }

    /// Calls `report` about once a megabyte; the backup ends with an error if it breaks.
    pub fn progress(
        mut self,
        report: impl FnMut(&Progress) -> ControlFlow<()> + 'a,
    ) -> BackupOptions<'a> {
        self.progress = OnProgress::call(report);
        self
    }
}

impl std::fmt::Debug for BackupOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackupOptions").field("since", &self.since).finish_non_exhaustive()
    }
}

/// What a backup holds.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Its snapshot.
    pub snapshot: SnapshotName,
    /// The snapshot that it follows; `None`: it has all pages.
    pub since: Option<SnapshotName>,
    /// Pages in it.
    pub pages: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Capture {
    /// Writes the pages of the snapshot, or those that changed since an earlier one, to `out`, from
    /// front to back: a backup, from which [`Restore`] makes a file and a [`Replica`] goes on.
    ///
    /// Costs what it writes: pages that did not change are not read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] names a damaged page; [`Error::Io`] if `out` fails. What was written by
    /// then is of no use. [`Error::Invalid`] if the earlier snapshot is not earlier.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use huon::{BackupOptions, Env, Restore, Str, TableDef, U64};
    /// const STOCK: TableDef<Str, U64> = TableDef::new("stock");
    /// let env = Env::in_memory()?;
    /// env.update(|txn| txn.create_table(&STOCK)?.put(txn, "apple", 12))?;
    /// let mut whole = Vec::new();
    /// let first = env.capture()?.backup_to(&mut whole, BackupOptions::new())?;
    ///
    /// env.update(|txn| txn.create_table(&STOCK)?.put(txn, "pear", 7))?;
    /// let mut more = Vec::new();
    /// let since = BackupOptions::new().since(first.snapshot);
    /// let second = env.capture()?.backup_to(&mut more, since)?;
    /// assert_eq!(second.since, Some(first.snapshot));
    ///
    /// let path = dir.path().join("restored.huon");
    /// let mut restore = Restore::begin(&path)?;
    /// restore.add(&mut &whole[..])?;
    /// restore.add(&mut &more[..])?;
    /// restore.finish()?;
    /// let txn = Env::open(&path)?.read()?;
    /// assert_eq!(txn.open_table(&STOCK)?.expect("it was there").get(&txn, "pear")?, Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_to(
        &self,
        out: &mut dyn Write,
        mut options: BackupOptions<'_>,
    ) -> Result<BackupReport> {
        let since = options.since;
        if since.is_some_and(|since| since.id == 0 || since.id > self.id()) {
            return Err(Error::Invalid("a backup follows a snapshot that is earlier than its own"));
        }
        let page_bytes = self.image().page_bytes() as usize;
        let mut writer = FrameWriter { out, pages: 0, bytes: 0, meter: options.progress.meter(0) };
        writer.head(since, self.image())?;
        let mut written = Ok(());
        self.changes(since.map_or(0, |since| since.id), &mut |changed| {
            written = writer.frames(&changed, page_bytes);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        written?;
        writer.frame(0, &[], page_bytes)?;
        writer.out.flush().map_err(write_error)?;
        writer.meter.tell()?;
        let (snapshot, FrameWriter { pages, bytes, .. }) = (self.image().name(), writer);
        Ok(BackupReport { snapshot, since, pages, bytes })
    }
}

fn write_error(error: std::io::Error) -> Error {
    Error::io("write the backup", "", error)
}

struct FrameWriter<'o> {
    out: &'o mut dyn Write,
    pages: u64,
    bytes: u64,
    meter: Meter<'o>,
}

impl FrameWriter<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(write_error)?;
        self.bytes += bytes.len() as u64;
        self.meter.advance(bytes.len() as u64)
    }

    fn head(&mut self, since: Option<SnapshotName>, image: &Image) -> Result<()> {
        let since = since.unwrap_or(SnapshotName { id: 0, checksum: 0 });
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        head[16..24].copy_from_slice(&since.id.to_le_bytes());
        head[24..].copy_from_slice(&since.checksum.to_le_bytes());
        self.put(&head)?;
        self.put(image.as_bytes())
    }

    fn frames(&mut self, changed: &Changed<'_>, page_bytes: usize) -> Result<()> {
        let mut pgno = changed.pgno;
        for pages in changed.bytes.chunks(FRAME_PAGES_MAX) {
            self.frame(pgno, pages, page_bytes)?;
            pgno += (pages.len() / page_bytes) as u32;
        }
        Ok(())
    }

    fn frame(&mut self, pgno: u32, pages: &[u8], page_bytes: usize) -> Result<()> {
        let count = (pages.len() / page_bytes) as u32;
        let mut head = [0; FRAME_BYTES];
        head[..4].copy_from_slice(&pgno.to_le_bytes());
        head[4..8].copy_from_slice(&count.to_le_bytes());
        let checksum = frame_checksum(&head[..8], pages);
        head[8..].copy_from_slice(&checksum.to_le_bytes());
        self.pages += u64::from(count);
        self.put(&head)?;
        self.put(pages)
    }
}

/// The pages' checksum with the frame's own numbers as its seed.
fn frame_checksum(numbers: &[u8], pages: &[u8]) -> u64 {
    let seed = numbers.first_chunk().map_or(0, |numbers| u64::from_le_bytes(*numbers));
    XxHash3_64::oneshot_with_seed(seed, pages)
}

/// A backup, while it is read.
pub(crate) struct BackupReader<'i> {
    input: &'i mut dyn Read,
    at: u64,
    pub(crate) since: Option<SnapshotName>,
    pub(crate) image: Image,
    pages: Vec<u8>,
}

impl<'i> BackupReader<'i> {
    pub(crate) fn begin(input: &'i mut dyn Read) -> Result<BackupReader<'i>> {
        let mut head = [0; HEAD_BYTES];
        let mut at = 0;
        fill(input, &mut at, &mut head)?;
        if !head.starts_with(MAGIC) {
            return Err(Error::NotADatabase("it does not begin as a backup does".into()));
        }
        let half = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| head[at + i]));
        let word = |at| u64::from(half(at)) | u64::from(half(at + 4)) << 32;
        if half(8) != VERSION || half(12) != 0 {
            let text = format!("the backup has version {}, and this is version {VERSION}", half(8));
            return Err(Error::Version(text.into()));
        }
        let since = SnapshotName { id: word(16), checksum: word(24) };
        if since.id == 0 && since.checksum != 0 {
            return Err(damaged_at(0));
        }
        let mut image = [0; META_BYTES];
        fill(input, &mut at, &mut image)?;
        let since = Some(since).filter(|since| since.id != 0);
        Ok(BackupReader { input, at, since, image: Image::from_bytes(&image)?, pages: Vec::new() })
    }

    /// The next pages, and the number of the first; `None`: the backup has ended, whole.
    pub(crate) fn next(&mut self) -> Result<Option<(u32, &[u8])>> {
        let frame_at = self.at;
        let mut head = [0; FRAME_BYTES];
        fill(self.input, &mut self.at, &mut head)?;
        let half = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| head[at + i]));
        let (pgno, count) = (half(0), half(4));
        let bytes = u64::from(count) * u64::from(self.image.page_bytes());
        let is_sound = bytes <= FRAME_PAGES_MAX as u64 && (pgno == 0) == (count == 0);
        if is_sound {
            self.pages.clear();
            self.pages.try_extend(std::iter::repeat_n(0, bytes as usize))?;
            fill(self.input, &mut self.at, &mut self.pages)?;
        }
        let said = u64::from(half(8)) | u64::from(half(12)) << 32;
        if !is_sound || frame_checksum(&head[..8], &self.pages) != said {
            return Err(damaged_at(frame_at));
        }
        Ok((pgno != 0).then_some((pgno, &self.pages[..])))
    }
}

/// Reads all of it, and counts.
fn fill(input: &mut dyn Read, at: &mut u64, bytes: &mut [u8]) -> Result<()> {
    let place = || format!("byte {} of the backup", *at);
    input.read_exact(bytes).map_err(|error| Error::io("read", place(), error))?;
    *at += bytes.len() as u64;
    Ok(())
}

#[cold]
fn damaged_at(at: u64) -> Error {
    let source = std::io::Error::new(std::io::ErrorKind::InvalidData, "the backup is damaged");
    Error::io("read", format!("byte {at} of the backup"), source)
}

impl Restore {
    /// The snapshot that a backup follows, and its own, from its first 4128 bytes.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// use huon::{BackupOptions, Restore};
    /// let mut bytes = Vec::new();
    /// let report = env.capture()?.backup_to(&mut bytes, BackupOptions::new())?;
    /// assert_eq!(Restore::look_at(&mut &bytes[..])?, (None, report.snapshot));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::Version`], [`Error::Io`].
    pub fn look_at(backup: &mut dyn Read) -> Result<(Option<SnapshotName>, SnapshotName)> {
        let reader = BackupReader::begin(backup)?;
        Ok((reader.since, reader.image.name()))
    }
}

/// A new file that is made of backups: a whole one, and any number of incremental ones, each of
/// which follows the one before.
///
/// It has its name, and is flushed, when [`Restore::finish`] returns; dropped before that, it
/// leaves nothing behind. See [`Capture::backup_to`] for an example.
pub struct Restore {
    path: PathBuf,
    draft: Draft,
    file: File,
    at: Option<Image>,
}

/// What a restored file holds.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// Its snapshot.
    pub snapshot: SnapshotName,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Restore {
    /// Begins to make the file at `path`, which must not exist.
    ///
    /// # Errors
    /// [`Error::Io`] if it exists or cannot be made there.
    pub fn begin(path: impl AsRef<Path>) -> Result<Restore> {
        let path = path.as_ref().to_owned();
        let draft = Draft::beside(&path)?;
        let file = draft.create(0o600)?;
        Ok(Restore { path, draft, file, at: None })
    }

    /// Adds a backup: the first must be a whole one, each other must follow the one before. Returns
    /// its snapshot.
    ///
    /// # Errors
    /// [`Error::Diverged`] if it does not follow; [`Error::Io`] names the byte from which on it is
    /// damaged or missing. What was added is of no use then.
    pub fn add(&mut self, backup: &mut dyn Read) -> Result<SnapshotName> {
        let mut reader = BackupReader::begin(backup)?;
        let at = self.at.as_ref().map(Image::name);
        let same = self.at.as_ref().is_none_or(|at| at.uuid() == reader.image.uuid());
        if reader.since != at || !same {
            return Err(does_not_follow(reader.since, reader.image.name(), at));
        }
        let page_bytes = u64::from(reader.image.page_bytes());
        let used_bytes = reader.image.used_bytes();
        while let Some((pgno, pages)) = reader.next()? {
            let offset = u64::from(pgno) * page_bytes;
            if offset + pages.len() as u64 > used_bytes {
                return Err(Error::corrupt(pgno, "a page of the backup lies outside its snapshot"));
            }
            self.write(offset, pages)?;
        }
        let name = reader.image.name();
        self.at = Some(reader.image);
        Ok(name)
    }

    /// Verifies every page, flushes the file, and gives it its name.
    ///
    /// # Errors
    /// [`Error::Corrupt`] names a page that is damaged or missing; [`Error::Invalid`] if no backup
    /// was added; [`Error::Io`].
    pub fn finish(self) -> Result<RestoreReport> {
        let Some(image) = &self.at else {
            return Err(Error::Invalid("no backup was added to the file that is restored"));
        };
        let meta = Meta { before: image.meta.txnid, ..image.meta.as_image() };
        let pages = meta.used.max(meta.geometry.min_pages);
        let bytes = u64::from(pages) * u64::from(meta.page_bytes);
        let block = meta.try_encode()?;
        self.file.set_len(bytes).map_err(|error| self.error("grow", error))?;
        self.write(0, &block)?;
        let env = Env::options().read_only(true).open(self.draft.path())?;
        let store = &env.core()?.store;
        tail::visit(store, &meta, Txnid(0), &mut |_| Ok(()))?;
        drop(env);
        self.draft.flush(&self.file)?;
        let snapshot = image.name();
        Ok(RestoreReport { snapshot, bytes: self.draft.finish(&self.path)? })
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut file = &self.file;
        let sought = file.seek(SeekFrom::Start(offset));
        let written = sought.and_then(|_| QuietFile(file).write_all(bytes));
        written.map_err(|error| self.error("write", error))
    }

    fn error(&self, operation: &'static str, error: std::io::Error) -> Error {
        Error::io(operation, self.path.display().to_string(), error)
    }
}

impl std::fmt::Debug for Restore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restore").field("path", &self.path).field("at", &self.at).finish()
    }
}

impl Replica {
    /// Takes over the snapshot of a backup, whose snapshot before is the one that the file is at.
    ///
    /// # Errors
    /// Those of [`Replica::begin`], [`Applying::write`](crate::Applying::write) and
    /// [`Applying::publish`](crate::Applying::publish), and of [`Restore::add`]. The file is where
    /// it was.
    pub fn add(&mut self, backup: &mut dyn Read) -> Result<SnapshotName> {
        let mut reader = BackupReader::begin(backup)?;
        let image = reader.image.clone();
        let mut applying = self.begin(reader.since, &image)?;
        while let Some((pgno, pages)) = reader.next()? {
            applying.write(pgno, pages)?;
        }
        applying.publish()?;
        Ok(image.name())
    }
}

#[cold]
fn does_not_follow(
    since: Option<SnapshotName>,
    to: SnapshotName,
    at: Option<SnapshotName>,
) -> Error {
    let text = match (since, at) {
        (Some(since), Some(at)) => {
            format!("the backup leads from snapshot {since} to {to}, and the file is at {at}")
        }
        (Some(since), None) => {
            format!(
                "the backup has only what changed from snapshot {since} to {to}; add the one \
                     before first"
            )
        }
        (None, _) => format!("the backup of snapshot {to} is a whole one, and others were added"),
    };
    Error::Diverged(text.into())
}

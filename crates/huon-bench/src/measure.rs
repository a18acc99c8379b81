//! What one run measures and writes: the clock around a closure, what the process used meanwhile,
//! and what its database takes on the disk.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use nix::sys::resource::{Usage, UsageWho, getrusage};

use crate::data::Data;
use crate::engine::{Engine, Mode, Result, Setup};
use crate::record::{Latency, LeftOut, Measurement};

/// Bytes that an engine with a cache of its own may keep, unless a workload says otherwise.
pub(crate) const CACHE_BYTES: usize = 4 << 30;

/// What a run is to do, as the suite says to its child.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Order {
    #[arg(long)]
    pub(crate) engine: String,
    #[arg(long)]
    pub(crate) workload: String,
    #[arg(long)]
    pub(crate) mode: Mode,
    /// What share of the full numbers of records and operations
    #[arg(long, default_value_t = 1.0)]
    pub(crate) scale: f64,
    #[arg(long, default_value_t = 0)]
    pub(crate) repeat: u32,
    /// Bytes of a page, for engines that have a choice
    #[arg(long)]
    pub(crate) page_bytes: Option<usize>,
    /// An empty directory for the databases
    #[arg(long)]
    pub(crate) dir: PathBuf,
}

/// One run of one workload on one engine.
pub(crate) struct Session<'o> {
    pub(crate) order: &'o Order,
    setup: Setup,
    /// The directory of the database that is being measured.
    dir: PathBuf,
    /// All that the measurements of this run have in common, and what the last one found.
    last: Measurement,
    out: &'o mut dyn std::io::Write,
}

impl<'o> Session<'o> {
    pub(crate) fn new<E: Engine>(order: &'o Order, out: &'o mut dyn std::io::Write) -> Session<'o> {
        let (mode, page_bytes) = (order.mode, order.page_bytes);
        let setup = Setup { mode, cache_bytes: CACHE_BYTES, page_bytes, background: true };
        let last = Measurement {
            engine: E::NAME.to_owned(),
            version: E::version(),
            options: E::options(&setup),
            workload: order.workload.clone(),
            mode: order.mode.name().to_owned(),
            repeat: order.repeat,
            ..Measurement::default()
        };
        Session { order, setup, dir: order.dir.clone(), last, out }
    }

    /// `full`, or less at a smaller scale.
    pub(crate) fn scaled(&self, full: u32) -> u32 {
        ((f64::from(full) * self.order.scale) as u32).max(1)
    }

    /// The same for what takes long each time, as a commit that waits for the disk: less by the
    /// root of the scale only, so that the clock still has something to see.
    pub(crate) fn scaled_gently(&self, full: u32) -> u32 {
        ((f64::from(full) * self.order.scale.sqrt()) as u32).max(1)
    }

    pub(crate) fn mode(&self) -> Mode {
        self.order.mode
    }

    /// Opens a database of its own, whose size is measured from now on.
    pub(crate) fn open<E: Engine>(&mut self, name: &str) -> Result<E> {
        self.dir = self.order.dir.join(name);
        std::fs::create_dir_all(&self.dir)?;
        E::open(&self.dir, &self.setup)
    }

    /// The same to fill it as fast as it goes, before anything is measured: with so much memory for
    /// an engine's own cache, and without a flush if it can do without.
    pub(crate) fn open_to_fill<E: Engine>(&mut self, name: &str, cache_bytes: usize) -> Result<E> {
        let mode = if E::offers(Mode::Unsynced) { Mode::Unsynced } else { self.setup.mode };
        let setup = Setup { mode, cache_bytes, ..self.setup.clone() };
        let measured = std::mem::replace(&mut self.setup, setup);
        let opened = self.open(name);
        self.setup = measured;
        opened
    }

    /// Lets an engine with a cache of its own keep no more than this.
    pub(crate) fn limit_cache<E: Engine>(&mut self, bytes: usize) {
        self.setup.cache_bytes = bytes;
        self.last.options = E::options(&self.setup);
    }

    /// Leaves to another process what an engine does in threads of its own.
    pub(crate) fn without_threads<E: Engine>(&mut self) {
        self.setup.background = false;
        self.last.options = E::options(&self.setup);
    }

    /// Says what records the following cells are about.
    pub(crate) fn describe(&mut self, data: &Data) {
        self.last.records = data.count.into();
        self.last.key_bytes = data.key_bytes() as u64;
        self.last.value_bytes = data.value_bytes as u64;
    }

    /// Bytes on the disk of the database that is being measured.
    pub(crate) fn file_bytes(&self) -> Result<u64> {
        disk_bytes(&self.dir)
    }

    /// Runs `work` with the clock on and writes down what it took. `work` answers how many
    /// operations it did.
    pub(crate) fn measure(
        &mut self,
        cell: &str,
        unit: &str,
        work: impl FnOnce(&mut Probe) -> Result<u64>,
    ) -> Result<()> {
        self.measure_since(&Stretch::begin(&self.dir)?, cell, unit, work)
    }

    /// The beginning of a cell that other cells are parts of.
    pub(crate) fn begin(&self) -> Result<Stretch> {
        Stretch::begin(&self.dir)
    }

    /// As [`Session::measure`], with all that happened since the beginning of `stretch`.
    pub(crate) fn measure_since(
        &mut self,
        stretch: &Stretch,
        cell: &str,
        unit: &str,
        work: impl FnOnce(&mut Probe) -> Result<u64>,
    ) -> Result<()> {
        let mut probe = Probe::default();
        let Stretch { started, used: before } = stretch;
        let operations = work(&mut probe).map_err(|e| format!("{cell}: {e}"))?;
        let elapsed = probe.spent.unwrap_or_else(|| started.elapsed());
        let after = Used::now(&self.dir)?;
        self.last.threads = probe.threads.max(1);
        self.last.seconds = elapsed.as_secs_f64();
        self.last.latency_ns = probe.latencies.map(|latencies| quantiles(&latencies));
        self.last.series = probe.series;
        self.last.remarks = probe.remarks;
        self.last.user_seconds = after.user_seconds - before.user_seconds;
        self.last.system_seconds = after.system_seconds - before.system_seconds;
        self.last.written_bytes = after.written_bytes - before.written_bytes;
        self.last.dirtied_bytes = after.dirtied_bytes - before.dirtied_bytes;
        self.last.disk_flushes = after.disk_flushes.zip(before.disk_flushes).map(|(a, b)| a - b);
        self.last.file_bytes = self.file_bytes()?;
        self.last.peak_rss_bytes = peak_rss()?;
        self.also(cell, unit, operations)
    }

    /// Writes down the same stretch of time under another name: what others did in it.
    pub(crate) fn also(&mut self, cell: &str, unit: &str, operations: u64) -> Result<()> {
        self.last.cell = cell.to_owned();
        self.last.unit = unit.to_owned();
        self.last.operations = operations;
        serde_json::to_writer(&mut *self.out, &self.last)?;
        writeln!(self.out)?;
        Ok(())
    }

    /// Writes down that a cell is not measured; an empty name stands for all of them.
    pub(crate) fn left_out(&mut self, cell: &str, reason: &str) -> Result<()> {
        let left_out = LeftOut {
            engine: self.last.engine.clone(),
            workload: self.last.workload.clone(),
            cell: cell.to_owned(),
            mode: self.last.mode.clone(),
            left_out: reason.to_owned(),
        };
        serde_json::to_writer(&mut *self.out, &left_out)?;
        writeln!(self.out)?;
        Ok(())
    }
}

/// What the clock and the process's counters showed when a cell began.
pub(crate) struct Stretch {
    started: Instant,
    used: Used,
}

impl Stretch {
    fn begin(dir: &Path) -> Result<Stretch> {
        forget_peak();
        let used = Used::now(dir)?;
        Ok(Stretch { started: Instant::now(), used })
    }
}

/// What a closure under the clock may say about itself.
#[derive(Default)]
pub(crate) struct Probe {
    pub(crate) threads: u64,
    /// Only cells that ask for latencies take them: it costs some 20 ns an operation.
    latencies: Option<Histogram<u64>>,
    pub(crate) series: Vec<(f64, f64)>,
    /// The time that counts, where it is not all of it.
    pub(crate) spent: Option<Duration>,
    /// What the engine tells about itself at the end.
    pub(crate) remarks: String,
}

impl Probe {
    /// Runs `work` in so many threads, and answers what each of them says.
    pub(crate) fn in_threads<T: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        self.threads = threads as u64;
        std::thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> =
                (0..threads).map(|number| scope.spawn(move || work(number))).collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, Result<T>>| {
                worker.join().map_err(|_| "a thread panicked")?
            };
            workers.into_iter().map(join).collect()
        })
    }

    /// Takes what a thread has timed.
    pub(crate) fn add(&mut self, timed: &Timed) -> Result<()> {
        match &mut self.latencies {
            Some(sum) => sum.add(&timed.0)?,
            none => *none = Some(timed.0.clone()),
        }
        Ok(())
    }
}

/// The latencies of one thread's operations.
pub(crate) struct Timed(Histogram<u64>);

impl Timed {
    pub(crate) fn new() -> Result<Timed> {
        Ok(Timed(Histogram::new(3)?))
    }

    /// Times one operation.
    #[inline]
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let result = work();
        self.0.record(started.elapsed().as_nanos() as u64)?;
        result
    }

    /// The longest of them.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }
}

fn quantiles(latencies: &Histogram<u64>) -> Latency {
    Latency {
        p50: latencies.value_at_quantile(0.5),
        p99: latencies.value_at_quantile(0.99),
        p999: latencies.value_at_quantile(0.999),
        p9999: Some(latencies.value_at_quantile(0.9999)),
        max: latencies.max(),
    }
}

/// What the process has used so far, with its children that have ended.
struct Used {
    user_seconds: f64,
    system_seconds: f64,
    written_bytes: u64,
    dirtied_bytes: u64,
    disk_flushes: Option<u64>,
}

impl Used {
    fn now(dir: &Path) -> Result<Used> {
        let own: Usage = getrusage(UsageWho::RUSAGE_SELF)?;
        let ended = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        // The kernel adds that of children itself, once they have been waited for.
        let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
        let seconds =
            |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        Ok(Used {
            user_seconds: seconds(own.user_time()) + seconds(ended.user_time()),
            system_seconds: seconds(own.system_time()) + seconds(ended.system_time()),
            written_bytes: field(&io, "wchar:").unwrap_or(0),
            dirtied_bytes: field(&io, "write_bytes:").unwrap_or(0),
            disk_flushes: flushes(dir),
        })
    }
}

/// The number behind `name` at the beginning of a line.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Flushes that the disk has done, which `dir` lies on.
fn flushes(dir: &Path) -> Option<u64> {
    let device = std::fs::metadata(dir).ok()?.dev();
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let mut disk = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    if disk.join("partition").exists() {
        disk = disk.canonicalize().ok()?.parent()?.to_path_buf();
    }
    let stat = std::fs::read_to_string(disk.join("stat")).ok()?;
    stat.split_whitespace().nth(15)?.parse().ok()
}

/// Bytes of blocks under `dir`.
pub(crate) fn disk_bytes(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        // An engine may be removing files meanwhile.
        let Ok(entry) = entry else { continue };
        bytes += match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path())?,
            Ok(metadata) => metadata.blocks() * 512,
            Err(_) => 0,
        };
    }
    Ok(bytes)
}

/// Resets the highest memory use, where the kernel can.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn peak_rss() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    Ok(field(&status, "VmHWM:").unwrap_or(0) * 1024)
}

//! What an LSM table consists of, and what it has cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use huon::{Result, Txn};

use crate::manifest::{Filter, Run, Shared, View};
use crate::policy::RunSize;
use crate::table::LsmTable;

/// What a process has done to a table.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) put_bytes: AtomicU64,
    pub(crate) merged_bytes: AtomicU64,
    pub(crate) merges: AtomicU64,
    pub(crate) steps: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) stalls: AtomicU64,
    pub(crate) stall_nanos: AtomicU64,
}

/// Runs of about the same size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassStat {
    /// Runs of class 0 are the smallest; those of the next are as many times as large as the fan
    /// says.
    pub class: u32,
    /// How many there are.
    pub runs: u64,
    /// Their records, tombstones included.
    pub records: u64,
    /// Their bytes, about.
    pub bytes: u64,
}

/// What a snapshot has of a table, and what this handle's process has done to it; see
/// [`LsmTable::stat`].
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LsmStat {
    /// The names of the types of keys and values, which are stored with the table; empty where none
    /// is.
    pub types: (String, String),
    /// The name of the merge operator, which is stored with the table; empty where there is none.
    pub operator: String,
    /// [`LsmOptions::fan`](crate::LsmOptions::fan) of the table.
    pub fan: u16,
    /// [`LsmOptions::filter_bits`](crate::LsmOptions::filter_bits) of the table.
    pub filter_bits: u16,
    /// The frozen runs by size, the smallest class first. Classes without runs are left out.
    pub classes: Vec<ClassStat>,
    /// Whether there is an open run, which takes small transactions.
    pub has_open_run: bool,
    /// Records of the open run.
    pub open_records: u64,
    /// Records of all runs. Keys that are in several runs count in each of them, as tombstones do:
    /// how many keys the table has is known only by reading it.
    pub records: u64,
    /// Tombstones of the frozen runs.
    pub tombstones: u64,
    /// Bytes of the frozen runs, about.
    pub bytes: u64,
    /// Bytes of the filters, about.
    pub filter_bytes: u64,
    /// Bytes of the filters that this process keeps in memory.
    pub filter_bytes_in_memory: u64,
    /// Deletes of ranges that merges have not yet made in all runs.
    pub range_deletes: u64,
    /// Bytes that are to be merged until the policy is content.
    pub debt_bytes: u64,
    /// Bytes that are left in the inputs of merges that have begun, about.
    pub merging_bytes: u64,
    /// Bytes of records that commits of all processes have put since the table was made: in runs of
    /// their own, or in the open run.
    pub total_put_bytes: u64,
    /// Bytes of records that merges of all processes have written since then.
    pub total_merged_bytes: u64,
    /// Bytes of keys and values that this handle's commits have put.
    pub put_bytes: u64,
    /// Bytes that its merges have written.
    pub merged_bytes: u64,
    /// Its merges.
    pub merges: u64,
    /// The steps of its merges.
    pub steps: u64,
    /// Steps that it made in vain, as another compactor was faster or the runs were dropped.
    pub lost_steps: u64,
    /// Merges after commits that failed.
    pub failures: u64,
    /// Commits that waited, as there were too many runs.
    pub stalls: u64,
    /// For how long they did, all together.
    pub stall_time: Duration,
}

impl LsmStat {
    /// How many runs there are.
    pub fn runs(&self) -> u64 {
        let frozen: u64 = self.classes.iter().map(|class| class.runs).sum();
        frozen + u64::from(self.has_open_run)
    }

    /// How often a record that this handle has put was written: once for its run, and once for each
    /// merge. `None`: nothing was put.
    pub fn write_amplification(&self) -> Option<f64> {
        times_written(self.put_bytes, self.merged_bytes)
    }

    /// The same of all records that were put into the table since it was made, by any process.
    pub fn total_write_amplification(&self) -> Option<f64> {
        times_written(self.total_put_bytes, self.total_merged_bytes)
    }
}

fn times_written(put: u64, merged: u64) -> Option<f64> {
    (put > 0).then(|| (put + merged) as f64 / put as f64)
}

impl<K, V> LsmTable<K, V> {
    /// What the table consists of, as the transaction shows it without what it has only collected.
    ///
    /// ```
    /// # use huon::{Env, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let t = Lsm::open(&env)?.table(&LsmDef::<U64, U64>::new("t"))?;
    /// env.update(|txn| (0..1000).try_for_each(|n| t.put(txn, n, n)))?;
    /// let stat = t.stat(&env.read()?)?;
    /// assert_eq!((stat.runs(), stat.records, stat.debt_bytes), (1, 1000, 0));
    /// assert_eq!(stat.total_write_amplification(), Some(1.0), "nothing was merged");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// The manifest is read if it has changed, and no run.
    ///
    /// # Errors
    /// As [`LsmTable::get`].
    pub fn stat(&self, txn: &impl Txn) -> Result<LsmStat> {
        let shared = self.shared();
        let view = shared.view(txn)?;
        let mut stat = LsmStat { range_deletes: view.deletes.len() as u64, ..LsmStat::default() };
        let header = view.header.as_deref().unwrap_or(&shared.header);
        (stat.fan, stat.filter_bits) = (header.fan, header.filter_bits);
        (stat.types, stat.operator) = (header.types.clone(), header.operator.clone());
        let written = shared.written(txn)?;
        (stat.total_put_bytes, stat.total_merged_bytes) = (written.put, written.merged);
        if let Some(open) = view.open_run() {
            (stat.has_open_run, stat.open_records) = (true, open.table.len(txn)?);
            // They are counted when it is frozen.
            stat.total_put_bytes += open.table.sequence(txn)?;
        }
        stat.records = stat.open_records;
        add_runs(&mut stat, shared, &view);
        let is_input = |run: &&Arc<Run>| {
            let id = run.record.id;
            view.merge_of(id).is_some_and(|claim| claim.output != id)
        };
        stat.merging_bytes = view.runs.iter().filter(is_input).map(|run| run.record.bytes).sum();
        stat.debt_bytes = stat.merging_bytes + debt(shared, &view, view.sizes());
        add_counts(&mut stat, &shared.counts);
        Ok(stat)
    }
}

fn add_runs(stat: &mut LsmStat, shared: &Shared, view: &View) {
    let policy = shared.policy(view);
    let bits = view.header.as_ref().map_or(0, |header| u64::from(header.filter_bits));
    for run in view.frozen() {
        let record = &run.record;
        stat.records += record.records;
        stat.tombstones += record.tombstones;
        stat.bytes += record.bytes;
        stat.filter_bytes += match &run.filter {
            Filter::None => 0,
            Filter::Memory(filter) => filter.len() as u64,
            Filter::File => record.records * bits / 8,
        };
        let class = policy.class(record.bytes);
        let at = stat.classes.partition_point(|known| known.class < class);
        if stat.classes.get(at).is_none_or(|known| known.class != class) {
            stat.classes.insert(at, ClassStat { class, ..ClassStat::default() });
        }
        let known = &mut stat.classes[at];
        known.runs += 1;
        known.records += record.records;
        known.bytes += record.bytes;
    }
    stat.filter_bytes_in_memory = view.filter_bytes_in_memory() as u64;
}

/// Bytes that merges beside those that have begun would take in.
fn debt(shared: &Shared, view: &View, mut sizes: Vec<RunSize>) -> u64 {
    let policy = shared.policy(view);
    let mut debt = 0;
    while let Some(range) = policy.pick_any(&sizes, 0) {
        let bytes = sizes[range.clone()].iter().map(|run| run.bytes).sum();
        debt += bytes;
        sizes.splice(range, [RunSize { bytes, is_busy: false }]);
    }
    debt
}

fn add_counts(stat: &mut LsmStat, counts: &Counts) {
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    stat.put_bytes = of(&counts.put_bytes);
    stat.merged_bytes = of(&counts.merged_bytes);
    stat.merges = of(&counts.merges);
    stat.steps = of(&counts.steps);
    stat.lost_steps = of(&counts.lost);
    stat.failures = of(&counts.failures);
    stat.stalls = of(&counts.stalls);
    stat.stall_time = Duration::from_nanos(of(&counts.stall_nanos));
}

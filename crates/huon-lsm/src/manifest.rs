//! The runs of an LSM table, as a snapshot has them, and what a process keeps of them.
//!
//! L1. A run that is not open never changes under its id, but that the inputs of a merge lose their
//!     lowest keys to its output, in the transaction that adds these there. No id is ever given to
//!     another run.
//! L2. Runs with ascending numbers hold ascending ages of any key; a merge replaces adjacent runs
//!     by one with the highest of their numbers. While it is made, its output has the next higher
//!     number, which nothing else has: all that are given out are even.
//! L3. At most one run is open, and it has the highest number.
//! L5. Every run is whole in the snapshot that names it: it was made by that transaction or an
//!     earlier one.
//! L6. The version changes with every change of runs, filters, deletes and merges; equal versions
//!     of committed snapshots mean equal manifests. A process keeps a view only after the commit
//!     that made it: the sequence of an aborted transaction is given out again.
//! L7. A view is used only with a transaction of its own version.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use huon::{AnyTxn, Env, Error, ForkLock, RawTable, ReadTxn, Result, Txn, hold_off};

use crate::compact::Lanes;
use crate::filter;
use crate::format::{
    self, Claim, DeleteRecord, Header, RunRecord, State, Written, damaged, key, kind, manifest_def,
    run_def,
};
use crate::operator::{Folder, Operator, merged_otherwise};
use crate::options::LsmOptions;
use crate::per_process::PerProcess;
use crate::planted::{self, Bug};
use crate::policy::{Lane, Policy, RunSize};
use crate::stat::Counts;

/// Commits wait for merges of no fewer steps.
const STEPS_OWED: u64 = 32;

/// Where the filter of a run is.
#[derive(Debug, Clone)]
pub(crate) enum Filter {
    /// It has none: the run is open, or was made without.
    None,
    /// In memory, since small runs are asked again and again.
    Memory(Arc<[u8]>),
    /// In the file, where it is used.
    File,
}

/// A run.
#[derive(Debug)]
pub(crate) struct Run {
    /// Its age: higher is newer.
    pub(crate) number: u64,
    pub(crate) record: RunRecord,
    pub(crate) filter: Filter,
    pub(crate) table: RawTable,
}

impl Run {
    /// The same run with another record: its table has changed.
    pub(crate) fn with(&self, record: RunRecord) -> Run {
        Run { record, number: self.number, filter: self.filter.clone(), table: self.table }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.record.state == State::Open
    }

    /// Whether the delete of a range with this number hides the keys of the run that it covers.
    #[inline]
    pub(crate) fn is_hidden_by(&self, delete: u64) -> bool {
        delete > self.number && delete > self.record.deletes_made
    }

    /// Whether the run may hold the key. `false` is sure.
    #[inline]
    pub(crate) fn may_hold(
        &self,
        manifest: RawTable,
        txn: &impl Txn,
        key: &[u8],
        hash: u64,
    ) -> Result<bool> {
        let in_filter = match &self.filter {
            Filter::None => return Ok(self.is_open() || self.record.bounds.may_hold(key)),
            Filter::Memory(filter) => filter::may_hold(filter, hash),
            Filter::File => {
                let bytes = manifest.get(txn, &format::key(kind::FILTER, self.number))?;
                let bytes = bytes.filter(|bytes| filter::is_sound(bytes));
                filter::may_hold(bytes.ok_or_else(|| damaged("a filter is missing"))?, hash)
            }
        };
        let filtered_to = &self.record.filtered_to[..];
        let was_appended =
            || !filtered_to.is_empty() && key > filtered_to && !self.record.bounds.is_below(key);
        Ok(in_filter || was_appended())
    }
}

/// A deleted range.
#[derive(Debug, Clone)]
pub(crate) struct RangeDelete {
    /// Runs of lower numbers are meant.
    pub(crate) number: u64,
    pub(crate) range: DeleteRecord,
}

impl RangeDelete {
    /// Whether the delete hides keys of the run.
    #[inline]
    pub(crate) fn hides(&self, run: &Run) -> bool {
        run.is_hidden_by(self.number)
    }
}

/// The runs of one version.
#[derive(Debug, Default, Clone)]
pub(crate) struct View {
    pub(crate) version: u64,
    pub(crate) header: Option<Arc<Header>>,
    /// From the newest to the oldest.
    pub(crate) runs: Vec<Arc<Run>>,
    /// From the oldest to the newest.
    pub(crate) deletes: Vec<RangeDelete>,
    pub(crate) claims: Claims,
}

impl View {
    /// The number of the newest delete of a range that covers the key; 0: none.
    #[inline]
    pub(crate) fn deleted_before(&self, key: &[u8]) -> u64 {
        let newest = self.deletes.iter().rev().find(|delete| delete.range.covers(key));
        newest.map_or(0, |delete| delete.number)
    }

    /// Batches of fewer records go to the open run.
    pub(crate) fn small(&self) -> usize {
        self.header.as_ref().map_or(0, |header| header.small as usize)
    }

    /// The open run.
    pub(crate) fn open_run(&self) -> Option<&Arc<Run>> {
        self.runs.first().filter(|run| run.is_open())
    }

    /// The frozen runs, from the newest to the oldest.
    pub(crate) fn frozen(&self) -> &[Arc<Run>] {
        &self.runs[usize::from(self.open_run().is_some())..]
    }

    /// Whether what a handle with this operator has collected may become a part of the table. A
    /// transaction may have made the table by another handle, which had none.
    pub(crate) fn check_operator(&self, operator: Option<&Operator>) -> Result<()> {
        match (operator, &self.header) {
            (Some(operator), Some(header)) if operator.name() != header.operator => {
                Err(merged_otherwise(&header.operator, operator.name()))
            }
            _ => Ok(()),
        }
    }

    /// The number of the newest delete of a range.
    pub(crate) fn newest_delete(&self) -> u64 {
        self.deletes.last().map_or(0, |delete| delete.number)
    }

    /// Whether there is so much to merge that commits wait for it: too many runs, or twice as many
    /// bytes outside of the oldest run as in it, and at least some steps.
    pub(crate) fn is_overloaded(&self, options: &LsmOptions) -> bool {
        let Some(oldest) = self.runs.last() else { return false };
        let all: u64 = self.runs.iter().map(|run| run.record.bytes).sum();
        // What it has lost to a merge that goes on is no debt.
        let merge = self.merge_of(oldest.record.id);
        let output =
            merge.and_then(|claim| self.runs.iter().find(|run| run.record.id == claim.output));
        let level = oldest.record.bytes + output.map_or(0, |run| run.record.bytes);
        self.runs.len() >= options.runs_max
            || all - level.min(all) > 2 * level + STEPS_OWED * options.step_bytes as u64
    }

    /// The merge that has begun in which a run takes part.
    pub(crate) fn merge_of(&self, id: u64) -> Option<&Claim> {
        self.claims.iter().flatten().find(|claim| claim.has(id))
    }

    /// Whether a merge of all frozen runs leaves less than there is.
    pub(crate) fn is_mergeable(&self) -> bool {
        match self.frozen() {
            [] => false,
            [run] => {
                run.record.tombstones > 0 || self.deletes.iter().any(|delete| delete.hides(run))
            }
            _ => true,
        }
    }

    /// Bytes of the filters that are in memory.
    pub(crate) fn filter_bytes_in_memory(&self) -> usize {
        let bytes = |run: &Arc<Run>| match &run.filter {
            Filter::Memory(filter) => filter.len(),
            Filter::None | Filter::File => 0,
        };
        self.runs.iter().map(bytes).sum()
    }

    /// Where the inputs of a merge lie among the frozen runs; `None`: they are not all there.
    pub(crate) fn inputs_of(&self, claim: &Claim) -> Option<std::ops::Range<usize>> {
        let frozen = self.frozen();
        let first = frozen.iter().position(|run| Some(&run.record.id) == claim.inputs.first())?;
        let range = first..first + claim.inputs.len();
        let ids = frozen.get(range.clone())?.iter().map(|run| run.record.id);
        let is_same = planted::is(Bug::InputsByPlace) || ids.eq(claim.inputs.iter().copied());
        is_same.then_some(range)
    }

    /// The frozen runs for the policy, with those that take part in merges marked.
    pub(crate) fn sizes(&self) -> Vec<RunSize> {
        let size = |run: &Arc<Run>| {
            let is_busy = self.merge_of(run.record.id).is_some();
            RunSize { bytes: run.record.bytes, is_busy }
        };
        self.frozen().iter().map(size).collect()
    }

    /// L2, L3, L8: what every manifest keeps.
    pub(crate) fn check(&self) -> Result<()> {
        let descending = self.runs.windows(2).all(|pair| pair[0].number > pair[1].number);
        let one_open = self.runs.iter().skip(1).all(|run| !run.is_open());
        let merges = self.claims.iter().flatten().all(|claim| self.parts_of(claim).is_some());
        match (descending, one_open, merges) {
            (true, true, true) => Ok(()),
            (false, ..) => Err(damaged("runs are not in order (L2)")),
            (_, false, _) => Err(damaged("an open run is not the newest (L3)")),
            (.., false) => Err(damaged("the runs of a merge are not there (L8)")),
        }
    }

    /// L8: the output of a merge that has begun, and where its inputs lie among the frozen runs.
    /// `None`: they are not what they must be.
    pub(crate) fn parts_of(&self, claim: &Claim) -> Option<(&Arc<Run>, std::ops::Range<usize>)> {
        let inputs = self.inputs_of(claim)?;
        let output = &self.frozen()[inputs.start.checked_sub(1)?];
        (output.record.id == claim.output && is_of_output(output.number))
            .then_some((output, inputs))
    }
}

/// The merges that have begun, by lane.
pub(crate) type Claims = [Option<Claim>; 2];

/// L2: whether a number is that of the output of a merge that has begun.
pub(crate) fn is_of_output(number: u64) -> bool {
    !number.is_multiple_of(2)
}

/// What a process keeps of an LSM table.
pub(crate) struct Shared {
    /// Unlike that of any other in the process, also one that is gone.
    pub(crate) unique: u64,
    pub(crate) env: Env,
    pub(crate) name: Box<[u8]>,
    pub(crate) header: Header,
    pub(crate) options: LsmOptions,
    pub(crate) manifest: RawTable,
    pub(crate) key_bytes_max: u32,
    /// Changed while forks are held off.
    slots: ForkLock<HashMap<u32, RawTable>>,
    newest: ForkLock<Arc<View>>,
    /// These are one for all handles of the table that an `Lsm` has given out.
    pub(crate) lanes: Arc<PerProcess<Lanes>>,
    pub(crate) counts: Arc<Counts>,
    /// Once a definition has named it.
    operator: Arc<OnceLock<Operator>>,
}

impl Shared {
    pub(crate) fn new(
        env: &Env,
        name: &[u8],
        options: LsmOptions,
        types: (String, String),
        other: Option<&Shared>,
    ) -> Result<Shared> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        options.check()?;
        let page_bytes = env.info()?.page_bytes as usize;
        Ok(Shared {
            unique: NEXT.fetch_add(1, Ordering::Relaxed),
            env: env.clone(),
            name: name.into(),
            header: options.header(types),
            options,
            manifest: env.table(&manifest_def(name))?,
            key_bytes_max: huon::limits::key_bytes_max(page_bytes)? as u32,
            slots: ForkLock::default(),
            newest: ForkLock::default(),
            lanes: other.map(|other| other.lanes.clone()).unwrap_or_default(),
            counts: other.map(|other| other.counts.clone()).unwrap_or_default(),
            operator: other.map(|other| other.operator.clone()).unwrap_or_default(),
        })
    }

    pub(crate) fn operator(&self) -> Option<&Operator> {
        self.operator.get()
    }

    /// Reads the table's manifest, if it exists; then it is what the definition says. With an
    /// operator: values are merged by it from now on.
    pub(crate) fn open(&self, txn: &ReadTxn, operator: Option<&Operator>) -> Result<()> {
        if let Some(operator) = operator {
            if operator.name().is_empty() {
                return Err(Error::Invalid("a merge operator has a name"));
            }
            let stored = self.manifest.get(txn, &[kind::HEADER])?.map(Header::decode);
            let stored = stored.transpose()?.map(|header| header.operator);
            let known = self.operator().map(|known| known.name().to_owned());
            if let Some(other) = stored.into_iter().chain(known).find(|it| it != operator.name()) {
                return Err(merged_otherwise(&other, operator.name()));
            }
            // A child would wait for a thread that it does not have.
            let _held_off = hold_off();
            self.operator.get_or_init(|| operator.clone());
        }
        self.view(txn).map(drop)
    }

    /// What folds the records that a transaction sees.
    #[inline]
    pub(crate) fn folder<'t>(&self, txn: AnyTxn<'t>) -> Result<Folder<'t>> {
        Folder::in_txn(self.operator(), txn)
    }

    /// Whether a process that has this operator, or none, can merge the table's runs.
    pub(crate) fn can_fold(&self, view: &View) -> bool {
        let is_merged = view.header.as_ref().is_some_and(|header| !header.operator.is_empty());
        !is_merged || self.operator().is_some()
    }

    /// The header of a table that is made.
    pub(crate) fn new_header(&self) -> Header {
        let operator = self.operator().map_or(String::new(), |operator| operator.name().to_owned());
        Header { operator, ..self.header.clone() }
    }

    pub(crate) fn policy(&self, view: &View) -> Policy {
        let fan = view.header.as_ref().map_or(self.header.fan, |header| header.fan);
        // A merge of few steps is never held up by one of many.
        let small_lane_bytes = 8 * self.options.step_bytes as u64;
        Policy { fan: fan.into(), base_bytes: self.options.base_bytes, small_lane_bytes }
    }

    /// The runs that a transaction sees. For one that has changed the table: as it was before.
    pub(crate) fn view(&self, txn: &impl Txn) -> Result<Arc<View>> {
        let version = self.manifest.sequence(txn)?;
        // Version 0 is that of a table that does not exist.
        if version == 0 && self.manifest.len(txn)? > 0 {
            return Err(damaged("a manifest without a version (L6)"));
        }
        let known = self.newest.copied();
        if known.version == version {
            return Ok(known);
        }
        let view = Arc::new(self.load(txn, version, &known)?);
        self.keep(&view);
        Ok(view)
    }

    /// The newest view that the process knows.
    pub(crate) fn newest(&self) -> Arc<View> {
        self.newest.copied()
    }

    /// L6: the view is one that was committed.
    pub(crate) fn keep(&self, view: &Arc<View>) {
        let replace = || {
            let mut newest = self.newest.lock();
            // One store, for a child that is forked meanwhile.
            let is_newer = newest.version < view.version;
            is_newer.then(|| std::mem::replace(&mut *newest, view.clone()))
        };
        // It may be the last to know its runs, which takes longer than a lock is to be held.
        drop(replace());
    }

    /// Reads the manifest. Runs that an older view has are taken from it (L1).
    fn load(&self, txn: &impl Txn, version: u64, known: &View) -> Result<View> {
        let manifest = self.manifest;
        let mut view = View { version, ..View::default() };
        if let Some(bytes) = manifest.get(txn, &[kind::HEADER])? {
            let header = Header::decode(bytes)?;
            self.check_header(&header)?;
            view.header = Some(Arc::new(header));
        }
        let (runs, filters) = (key(kind::RUN, 0), key(kind::FILTER, 0));
        for record in manifest.range(txn, &runs[..]..&filters[..])?.rev() {
            let (key, value) = record?;
            let number = format::number_of(key)?;
            let record = RunRecord::decode(value)?;
            let same = known.runs.binary_search_by(|run| number.cmp(&run.number));
            let same = same.ok().map(|at| &known.runs[at]);
            let run = match same.filter(|run| run.record.id == record.id) {
                Some(run) if run.record == record => run.clone(),
                Some(run) => Arc::new(run.with(record)),
                None => {
                    let filter_bytes = view.filter_bytes_in_memory();
                    Arc::new(self.load_run(txn, number, record, filter_bytes)?)
                }
            };
            view.runs.push(run);
        }
        let (deletes, end) = (key(kind::DELETE, 0), key(kind::DELETE + 1, 0));
        for record in manifest.range(txn, &deletes[..]..&end[..])? {
            let (key, value) = record?;
            let (number, range) = (format::number_of(key)?, DeleteRecord::decode(value)?);
            view.deletes.push(RangeDelete { number, range });
        }
        for lane in Lane::ALL {
            let bytes = manifest.get(txn, &key(kind::CLAIM, lane as u64))?;
            view.claims[lane as usize] = bytes.map(Claim::decode).transpose()?;
        }
        view.check()?;
        Ok(view)
    }

    /// `filter_bytes`: of the filters of newer runs that are in memory.
    fn load_run(
        &self,
        txn: &impl Txn,
        number: u64,
        record: RunRecord,
        filter_bytes: usize,
    ) -> Result<Run> {
        let filter = match self.manifest.get(txn, &key(kind::FILTER, number))? {
            None => Filter::None,
            Some(bytes) if !filter::is_sound(bytes) => return Err(damaged("a filter's length")),
            Some(bytes) => self.place_filter(bytes.into(), filter_bytes),
        };
        let table = self.slot(record.slot)?;
        Ok(Run { number, record, filter, table })
    }

    /// Keeps a filter in memory as long as there is room for it.
    pub(crate) fn place_filter(&self, filter: Arc<[u8]>, others: usize) -> Filter {
        if others + filter.len() <= self.options.filter_memory {
            Filter::Memory(filter)
        } else {
            Filter::File
        }
    }

    /// Whether the table is what the definition says.
    fn check_header(&self, stored: &Header) -> Result<()> {
        let wanted = &self.header.types;
        let fits =
            |stored: &str, wanted: &str| stored == wanted || stored.is_empty() || wanted.is_empty();
        if !fits(&stored.types.0, &wanted.0) || !fits(&stored.types.1, &wanted.1) {
            let (key, value) = &stored.types;
            let text =
                format!("the LSM table holds <{key}, {value}>, not <{}, {}>", wanted.0, wanted.1);
            return Err(Error::Decode(text.into()));
        }
        match self.operator().map(Operator::name) {
            // What sees bytes may be a tool, and is told where it would have to fold.
            None if wanted.1.is_empty() => Ok(()),
            operator if operator.unwrap_or_default() == stored.operator => Ok(()),
            operator => Err(merged_otherwise(&stored.operator, operator.unwrap_or_default())),
        }
    }

    /// The table of a run.
    pub(crate) fn slot(&self, slot: u32) -> Result<RawTable> {
        let mut slots = self.slots.lock();
        if let Some(table) = slots.get(&slot) {
            return Ok(*table);
        }
        let table = self.env.table(&run_def(&self.name, slot))?;
        let _held_off = hold_off();
        slots.insert(slot, table);
        Ok(table)
    }

    /// What was written since the table was made.
    pub(crate) fn written(&self, txn: &impl Txn) -> Result<Written> {
        let bytes = self.manifest.get(txn, &[kind::WRITTEN])?;
        bytes.map_or(Ok(Written::default()), Written::decode)
    }
}

/// A view that a read transaction keeps, or one that is kept beside it.
pub(crate) enum ViewRef<'t> {
    Kept(&'t View),
    Shared(Arc<View>),
}

impl Deref for ViewRef<'_> {
    type Target = View;

    fn deref(&self) -> &View {
        match self {
            ViewRef::Kept(view) => view,
            ViewRef::Shared(view) => view,
        }
    }
}

/// Views that a read transaction keeps.
const KEPT: usize = 8;

/// The views of a read transaction, so that each is found once in it.
#[derive(Default)]
struct Views([OnceLock<(u64, Arc<View>)>; KEPT]);

/// The runs that a snapshot has.
#[inline]
pub(crate) fn view_in<'t>(shared: &Shared, txn: &'t ReadTxn) -> Result<ViewRef<'t>> {
    let views = txn.attach(|| Ok(Views::default()))?;
    let mut kept = views.0.iter().map_while(OnceLock::get);
    match kept.find(|(unique, _)| *unique == shared.unique) {
        Some((_, view)) => Ok(ViewRef::Kept(view)),
        None => view_new_in(shared, txn, views),
    }
}

#[cold]
fn view_new_in<'t>(shared: &Shared, txn: &'t ReadTxn, views: &'t Views) -> Result<ViewRef<'t>> {
    let view = shared.view(txn)?;
    for place in &views.0 {
        let (unique, kept) = place.get_or_init(|| (shared.unique, view.clone()));
        if *unique == shared.unique {
            return Ok(ViewRef::Kept(kept));
        }
    }
    Ok(ViewRef::Shared(view))
}

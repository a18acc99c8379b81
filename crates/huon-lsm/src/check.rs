//! Verifying an LSM table: its manifest, its runs, their filters, and what lies about.

use std::sync::Arc;

use huon::{AnyTxn, Result, Txn};

use crate::edit::Content;
use crate::filter;
use crate::format::{self, Claim, kind, run_prefix};
use crate::manifest::{RangeDelete, Run, Shared, View, is_of_output};
use crate::record::{is_merged, is_operand, says};
use crate::table::LsmTable;

/// What [`LsmTable::check`] has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LsmCheck {
    /// The runs, from the newest to the oldest.
    pub runs: Vec<RunCheck>,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
}

impl LsmCheck {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// A run, as a check has read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunCheck {
    /// No other run of the table has ever had it, or will.
    pub id: u64,
    /// Its age among the runs: higher is newer.
    pub number: u64,
    /// The ordinary table that has its records.
    pub table: Vec<u8>,
    /// Whether it still takes records.
    pub is_open: bool,
    /// Whether a merge that has begun takes its records.
    pub is_input: bool,
    /// Its records, tombstones included.
    pub records: u64,
    /// Its tombstones.
    pub tombstones: u64,
    /// A hash of all keys and values. It stays the same as long as the run lives, if that is not
    /// open and no merge has begun to take its records.
    pub digest: u64,
}

impl<K, V> LsmTable<K, V> {
    /// Reads every run, and verifies what [`huon::Env::check`] cannot know: that the manifest is in
    /// order, that runs hold what it says, that filters have every key, and that no table lies
    /// about that no run names.
    ///
    /// ```
    /// # use huon::{Env, U64};
    /// # use huon_lsm::{Lsm, LsmDef};
    /// # let env = Env::in_memory()?;
    /// let t = Lsm::open(&env)?.table(&LsmDef::<U64, U64>::new("t"))?;
    /// env.update(|txn| (0..1000).try_for_each(|n| t.put(txn, n, n)))?;
    /// let check = t.check(&env.read()?)?;
    /// assert!(check.is_clean() && check.runs[0].records == 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// A scan of all runs and a question to a filter for each record.
    ///
    /// # Errors
    /// [`huon::Error::Corrupt`] if a page is damaged, and [`huon::Error::Decode`] if a record of
    /// the manifest is none. What is wrong otherwise is no error, but a problem.
    pub fn check(&self, txn: &impl Txn) -> Result<LsmCheck> {
        let shared = self.shared();
        let view = shared.view(txn)?;
        let mut check = LsmCheck::default();
        for run in &view.runs {
            check_run(&mut check, shared, txn, &view, run)?;
        }
        check_order(&mut check, &view);
        for claim in view.claims.iter().flatten() {
            check_claim(&mut check, txn, &view, claim)?;
        }
        let named = view.runs.iter().map(|run| run.record.slot).collect();
        check_tables(&mut check, shared, txn, named)?;
        check_manifest(&mut check, shared, txn, &view)?;
        Ok(check)
    }
}

fn check_run(
    check: &mut LsmCheck,
    shared: &Shared,
    txn: &impl Txn,
    view: &View,
    run: &Run,
) -> Result<()> {
    let id = run.record.id;
    let (mut content, mut digest) = (Content::new(None), 0u64);
    let made = |delete: &&RangeDelete| delete.number > run.number && !delete.hides(run);
    let made: Vec<&RangeDelete> = view.deletes.iter().filter(made).collect();
    let (mut missing, mut untagged, mut merged, mut covered) = (0, 0, 0, 0);
    for record in run.table.iter(txn)? {
        let (key, tagged) = record?;
        content.note(key, tagged);
        digest = digest.rotate_left(5).wrapping_add(filter::hash(key));
        digest = digest.rotate_left(5).wrapping_add(filter::hash(tagged));
        untagged += u64::from(says(tagged).is_err());
        merged += u64::from(is_merged(tagged));
        covered += u64::from(made.iter().any(|delete| delete.range.covers(key)));
        missing += u64::from(!run.may_hold(shared.manifest, txn, key, filter::hash(key))?);
    }
    let Content { records, tombstones, bytes, low, high, .. } = content;
    let is_open = run.is_open();
    let is_input = view.merge_of(id).is_some_and(|claim| claim.output != id);
    let table = format::run_def(&shared.name, run.record.slot).name().to_vec();
    let number = run.number;
    check.runs.push(RunCheck { id, number, table, is_open, is_input, records, tombstones, digest });
    let mut problem = |text: String| check.problems.push(format!("run {id}: {text}"));
    if untagged > 0 {
        problem(format!("{untagged} values have no tag"));
    }
    if merged > 0 && view.header.as_ref().is_none_or(|header| header.operator.is_empty()) {
        problem(format!("{merged} operands, and no merge operator is named (L9)"));
    }
    if covered > 0 {
        problem(format!("L10: it has {covered} keys of ranges that it has deleted"));
    }
    if missing > 0 {
        problem(format!("its filter denies {missing} of its keys"));
    }
    let said = (run.record.records, run.record.tombstones, run.record.bytes);
    // Of what is left of an input, tombstones and bytes are not counted.
    let is_said = said == (records, tombstones, bytes) || is_input && said.0 == records;
    if !is_open && !is_said {
        let found = (records, tombstones, bytes);
        problem(format!("L1: it has {found:?} records, tombstones, bytes, not {said:?}"));
    }
    if run.number > id || run.record.deletes_made >= view.version {
        problem("L2: it is numbered as no version numbers it".to_owned());
    }
    let bounds = &run.record.bounds;
    if !is_open && (*bounds != format::Bounds::of(&low, &high)) {
        problem("its keys are not those that its bounds say".to_owned());
    }
    if !is_open && records == 0 {
        problem("it is empty".to_owned());
    }
    Ok(())
}

/// L1, L2, L3.
fn check_order(check: &mut LsmCheck, view: &View) {
    if let Err(error) = view.check() {
        check.problems.push(error.to_string());
    }
    let mut ids: Vec<u64> = view.runs.iter().map(|run| run.record.id).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        check.problems.push("L1: two runs have one id".to_owned());
    }
    if ids.last().is_some_and(|id| *id >= view.version) {
        check.problems.push("L6: a run has an id that is still to be given".to_owned());
    }
    let is_stray =
        |run: &&Arc<Run>| is_of_output(run.number) && view.merge_of(run.record.id).is_none();
    if view.runs.iter().any(|run| is_stray(&run)) {
        check.problems.push("L2: a run has the number of an output, and no merge".to_owned());
    }
    if view.header.is_none() && !view.runs.is_empty() {
        check.problems.push("there are runs, and no header".to_owned());
    }
    let numbers = view.deletes.iter().map(|delete| delete.number);
    if numbers.clone().any(|delete| view.runs.iter().any(|run| run.number == delete)) {
        check.problems.push("L2: a delete of a range has the number of a run".to_owned());
    }
    if numbers.max().is_some_and(|delete| delete >= view.version) {
        check.problems.push("L6: a delete has a number that is still to be given".to_owned());
    }
}

/// L4, L8, L9.
fn check_claim(check: &mut LsmCheck, txn: &impl Txn, view: &View, claim: &Claim) -> Result<()> {
    let mut problem = |text: &str| check.problems.push(format!("a merge that has begun: {text}"));
    let Some((output, inputs)) = view.parts_of(claim) else {
        problem("its runs are not all there (L8)");
        return Ok(());
    };
    if claim.drops_tombstones && inputs.end < view.frozen().len() {
        problem("it drops tombstones above other runs (L4)");
    }
    if claim.deletes_made >= view.version || claim.deletes_made != output.record.deletes_made {
        problem("it has made other deletes than its output says");
    }
    let last = output.table.last(txn)?.map(|(key, _)| key);
    for run in &view.frozen()[inputs] {
        let first = run.table.first(txn)?.map(|(key, _)| key);
        if last.zip(first).is_none_or(|(last, first)| last >= first) {
            problem("an input has keys that the output has taken (L8)");
        }
    }
    if claim.drops_tombstones && output.record.tombstones > 0 {
        problem("its output keeps a tombstone (L4)");
    }
    let operand = |record: Result<(_, &[u8])>| record.map(|(_, tagged)| is_operand(tagged));
    let operands = output.table.iter(txn)?.map(operand).collect::<Result<Vec<bool>>>()?;
    if claim.drops_tombstones && operands.contains(&true) {
        problem("its output keeps an operand above nothing (L9)");
    }
    Ok(())
}

/// Every table of a run is named, and every name is that of a table.
fn check_tables(
    check: &mut LsmCheck,
    shared: &Shared,
    txn: &impl Txn,
    mut named: Vec<u32>,
) -> Result<()> {
    let all = match txn.any() {
        AnyTxn::Read(txn) => txn.table_names(),
        AnyTxn::Write(txn) => txn.table_names(),
    };
    let prefix = run_prefix(&shared.name);
    let slots = all?.into_iter().filter_map(|name| {
        let slot = name.strip_prefix(&prefix[..])?;
        std::str::from_utf8(slot).ok()?.parse::<u32>().ok()
    });
    let mut there: Vec<u32> = slots.collect();
    named.sort_unstable();
    there.sort_unstable();
    if named != there {
        let text =
            format!("L5, L8: runs and merges name the tables {named:?}; there are {there:?}");
        check.problems.push(text);
    }
    Ok(())
}

/// Filters are those of runs, and every record is of a known kind.
fn check_manifest(
    check: &mut LsmCheck,
    shared: &Shared,
    txn: &impl Txn,
    view: &View,
) -> Result<()> {
    for record in shared.manifest.iter(txn)? {
        let (key, _) = record?;
        let of_run = |number| view.runs.iter().any(|run| run.number == number && !run.is_open());
        let is_known = match key {
            [kind::HEADER] => true,
            [kind::WRITTEN] => shared.written(txn).is_ok(),
            [kind::FILTER, ..] => of_run(format::number_of(key)?),
            [kind::RUN | kind::CLAIM | kind::DELETE, ..] => key.len() == 9,
            _ => false,
        };
        if !is_known {
            let text = format!("the manifest has a record {} of nothing", key.escape_ascii());
            check.problems.push(text);
        }
    }
    Ok(())
}

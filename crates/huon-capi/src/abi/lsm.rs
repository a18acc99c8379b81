//! Write-optimised tables.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ::huon_lsm::{Lsm, LsmDef, LsmOptions, RawLsmTable, WriteBatch};
use huon_c::Handles;

use super::batch::in_pieces;
use super::care::hear;
use super::def::text;
use super::env::{answer, env_of, huon_env};
use super::range::{InBytes, huon_range, within};
use super::txn::{huon_txn, in_view, inside, write};
use crate::border::{Fault, Own, Res, border, close, done, enter, found, give, object};
use crate::bytes::{huon_bytes, items, nothing, options, report, room, shown};
use crate::callback::{huon_merge_fn, huon_problem_fn, merge};

/// The write-optimised tables of an environment. All threads may use it, and its tables.
pub struct huon_lsm(());

/// A write-optimised table: puts in random order cost several times less than in an ordinary
/// one, and runs that are merged later make up for it. It is used in the same transactions.
pub struct huon_lsm_table(());

/// Changes of write-optimised tables that are collected outside of a transaction. One thread at
/// a time uses it.
pub struct huon_batch(());

pub(super) static LSMS: Handles<Lsm> = Handles::new(6);
static TABLES: Handles<RawLsmTable> = Handles::new(7);
static BATCHES: Handles<Own<WriteBatch>> = Handles::new(8);

/// No filters: a value of huon_lsm_options.filter_bits.
pub const HUON_LSM_NO_FILTERS: u32 = 65535;

/// How write-optimised tables are kept; NULL, and 0 in each field: as by default. Set `bytes` to
/// sizeof(huon_lsm_options) and the rest to zero first. The first four are stored with a table when
/// it is made.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_lsm_options {
    /// sizeof(huon_lsm_options).
    pub bytes: usize,
    /// Runs of about the same size that are merged at a time: 2 to 1024; 8.
    pub fan: u32,
    /// Bits of filters for each key: 1 to 64, or HUON_LSM_NO_FILTERS; 12.
    pub filter_bits: u32,
    /// A transaction that puts fewer records adds them to the open run; 128.
    pub small: u32,
    /// Bytes at which the open run is frozen; 256 KiB.
    pub open_bytes: u32,
    /// Bytes up to which runs count as small; 64 KiB.
    pub base_bytes: u64,
    /// Bytes that a merge hands over in one transaction; 4 MiB.
    pub step_bytes: u64,
    /// Bytes that a transaction collects before it makes a run of them; 64 MiB.
    pub batch_bytes: u64,
    /// Bytes of filters kept in memory for a table; 64 MiB.
    pub filter_memory: u64,
    /// Runs at which a program that commits waits for compaction, or helps; 512.
    pub runs_max: u32,
    /// Milliseconds for which a merge is left to the process that made its last step; 10000.
    pub lease_ms: u32,
}

const NO_OPTIONS: Fault = Fault::argument("an option of write-optimised tables is out of range");

fn lsm_options(with: &huon_lsm_options) -> Res<LsmOptions> {
    fn or<T, U: TryFrom<T>>(value: T, zero: T, default: U) -> Res<U>
    where
        T: PartialEq,
    {
        if value == zero { Ok(default) } else { U::try_from(value).map_err(|_| NO_OPTIONS) }
    }
    let base = LsmOptions::default();
    let filter_bits = match with.filter_bits {
        HUON_LSM_NO_FILTERS => 0,
        bits => or(bits, 0, base.filter_bits)?,
    };
    Ok(LsmOptions {
        fan: or(with.fan, 0, base.fan)?,
        filter_bits,
        small: or(with.small, 0, base.small)?,
        open_bytes: or(with.open_bytes, 0, base.open_bytes)?,
        base_bytes: or(with.base_bytes, 0, base.base_bytes)?,
        step_bytes: or(with.step_bytes, 0, base.step_bytes)?,
        batch_bytes: or(with.batch_bytes, 0, base.batch_bytes)?,
        filter_memory: or(with.filter_memory, 0, base.filter_memory)?,
        runs_max: or(u64::from(with.runs_max), 0, base.runs_max)?,
        lease: match with.lease_ms {
            0 => base.lease,
            ms => Duration::from_millis(ms.into()),
        },
        slack: base.slack,
    })
}

/// The write-optimised tables of an environment, which stays open for them. Close it by
/// huon_lsm_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_lsm_open(
    env: *mut huon_env,
    with: *const huon_lsm_options,
    lsm: Option<&mut MaybeUninit<*mut huon_lsm>>,
) -> c_int {
    border("huon_lsm_open", || {
        enter(&LSMS, lsm, || {
            let env = env_of(env)?;
            // SAFETY: A2, and all zero are options.
            Ok(match unsafe { options(with) }? {
                None => Lsm::open(&env)?,
                Some(with) => Lsm::with_options(&env, lsm_options(&with)?)?,
            })
        })
    })
}

/// Gives the tables of an environment back; NULL is none, and fine.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_close(lsm: *mut huon_lsm) -> c_int {
    border("huon_lsm_close", || close(&LSMS, lsm).map(drop))
}

/// How a table merges; its name is stored with the table, which other programs open without it only
/// to put and delete.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_lsm_merger<'a> {
    /// A name of UTF-8.
    pub name: huon_bytes<'a>,
    /// Makes one value of two; good as long as the environment is open.
    pub merge: huon_merge_fn,
    /// What that is handed, in any thread.
    pub context: *mut c_void,
}

/// The write-optimised table of that name, whether it exists or not: it is made by the first put.
/// `merger`, which may be NULL, says how huon_lsm_merge works. Close it by huon_lsm_table_close.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_table_open(
    lsm: *mut huon_lsm,
    name: huon_bytes<'_>,
    merger: Option<&huon_lsm_merger<'_>>,
    table: Option<&mut MaybeUninit<*mut huon_lsm_table>>,
) -> c_int {
    border("huon_lsm_table_open", || {
        enter(&TABLES, table, || {
            let (lsm, name) = (object(&LSMS, lsm)?, name.get()?);
            let Some(merger) = merger else { return Ok(lsm.raw_table(name)?) };
            let def = LsmDef::<huon::Bytes, huon::Bytes>::named(name);
            let merge = merge(merger.merge, merger.context)?;
            Ok(lsm.table(&def.merged_by(text(merger.name)?, merge))?.raw())
        })
    })
}

/// Gives a table back; NULL is none, and fine.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_table_close(table: *mut huon_lsm_table) -> c_int {
    border("huon_lsm_table_close", || close(&TABLES, table).map(drop))
}

pub(super) fn lsm_table_of(table: *mut huon_lsm_table) -> Res<Arc<RawLsmTable>> {
    object(&TABLES, table)
}

/// The value of a key. HUON_NOT_FOUND if there is none; `value` may be NULL, to ask only that.
/// Costs a lookup in each run whose filter lets it pass.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_get(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
    value: Option<&mut MaybeUninit<huon_bytes<'_>>>,
) -> c_int {
    border("huon_lsm_get", || {
        let (table, key) = (lsm_table_of(table)?, key.get()?);
        in_view!(txn, txn => {
            let found = found(table.get(txn, key)?)?;
            if let Some(value) = value {
                *value = shown(found);
            }
            Ok(())
        })
    })
}

/// The values of many keys: see huon_get_many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_lsm_get_many(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    keys: *const huon_bytes<'_>,
    count: usize,
    values: *mut huon_bytes<'static>,
    found: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    border("huon_lsm_get_many", || {
        let table = lsm_table_of(table)?;
        // SAFETY: A2.
        let (keys, values) = unsafe { (items(keys, count)?, room(values, count)?) };
        let keys = keys.iter().map(|key| key.get());
        let mut there = 0;
        in_view!(txn, txn => in_pieces(keys, |first, keys| {
            Ok(table.get_many(txn, keys, |at, value| {
                there += usize::from(value.is_some());
                values[first + at] = value.map_or_else(nothing, shown);
            })?)
        }))?;
        give(found, there);
        Ok(())
    })
}

/// A change of one record.
fn change(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    (key, value): (huon_bytes<'_>, huon_bytes<'_>),
    work: impl FnOnce(&RawLsmTable, &mut huon::WriteTxn, &[u8], &[u8]) -> huon::Result<()>,
) -> Res<()> {
    let (table, pair) = (lsm_table_of(table)?, (key.get()?, value.get()?));
    inside(txn, |inside| inside.change(pair, |txn, key, value| work(&table, txn, key, value)))
}

/// Stores a value under a key, without looking whether it has one.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_put(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_lsm_put", || change(txn, table, (key, value), RawLsmTable::put))
}

/// The same for a value that is absent from a time on: `until_ms` is in milliseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_put_until(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
    until_ms: u64,
) -> c_int {
    border("huon_lsm_put_until", || {
        let until = time(until_ms)?;
        change(txn, table, (key, value), |table, txn, key, value| {
            table.put_until(txn, key, value, until)
        })
    })
}

fn time(ms: u64) -> Res<SystemTime> {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms));
    time.ok_or(Fault::argument("there is no such time"))
}

/// Merges an operand onto what a key has, as the table's merger says, without looking at it.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_merge(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
    operand: huon_bytes<'_>,
) -> c_int {
    border("huon_lsm_merge", || change(txn, table, (key, operand), RawLsmTable::merge))
}

/// Deletes a key, without looking whether it is there.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_delete(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
) -> c_int {
    border("huon_lsm_delete", || {
        let nothing = huon_bytes::of(&[]);
        change(txn, table, (key, nothing), |table, txn, key, _| table.delete(txn, key))
    })
}

/// Deletes all keys of a range; NULL: all there are. Costs as much as one delete.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_delete_range(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    range: Option<&huon_range<'_>>,
) -> c_int {
    border("huon_lsm_delete_range", || {
        let (table, range) = (lsm_table_of(table)?, within(txn, range, InBytes)?);
        write(txn, |txn| Ok(table.delete_range(txn, range.bounds())?))
    })
}

/// Stores a value under a key that has none, which takes a lookup; HUON_EXISTS if it has one.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_put_if_absent(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_lsm_put_if_absent", || {
        let mut is_new = false;
        change(txn, table, (key, value), |table, txn, key, value| {
            is_new = table.put_if_absent(txn, key, value)?;
            Ok(())
        })?;
        done(is_new, Fault::EXISTS)
    })
}

/// Stores a value under a key that has one, which takes a lookup; HUON_NOT_FOUND if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_update(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_lsm_update", || {
        let mut is_there = false;
        change(txn, table, (key, value), |table, txn, key, value| {
            is_there = table.update(txn, key, value)?;
            Ok(())
        })?;
        done(is_there, Fault::NOT_FOUND)
    })
}

/// Deletes all records of a table.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_clear(txn: *mut huon_txn, table: *mut huon_lsm_table) -> c_int {
    border("huon_lsm_clear", || {
        let table = lsm_table_of(table)?;
        write(txn, |txn| Ok(table.clear(txn)?))
    })
}

/// Deletes a table. Its handle stays good, and makes it anew with the next put.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_drop(txn: *mut huon_txn, table: *mut huon_lsm_table) -> c_int {
    border("huon_lsm_drop", || {
        let table = lsm_table_of(table)?;
        write(txn, |txn| Ok(table.drop_table(txn)?))
    })
}

/// A batch without changes. huon_lsm_write writes it and takes it back; else huon_batch_free does.
#[unsafe(no_mangle)]
pub extern "C" fn huon_batch_new(
    lsm: *mut huon_lsm,
    batch: Option<&mut MaybeUninit<*mut huon_batch>>,
) -> c_int {
    border("huon_batch_new", || {
        enter(&BATCHES, batch, || Ok(Own::new(object(&LSMS, lsm)?.batch())))
    })
}

/// Adds to a batch.
fn add(
    batch: *mut huon_batch,
    table: *mut huon_lsm_table,
    work: impl FnOnce(&mut WriteBatch, &RawLsmTable) -> huon::Result<()>,
) -> Res<()> {
    let (own, table) = (object(&BATCHES, batch)?, lsm_table_of(table)?);
    Ok(work(&mut *own.get()?, &table)?)
}

/// Adds a put to a batch.
#[unsafe(no_mangle)]
pub extern "C" fn huon_batch_put(
    batch: *mut huon_batch,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
) -> c_int {
    border("huon_batch_put", || {
        let (key, value) = (key.get()?, value.get()?);
        add(batch, table, |batch, table| batch.put(table, key, value))
    })
}

/// Adds a put to a batch of a value that is absent from a time on.
#[unsafe(no_mangle)]
pub extern "C" fn huon_batch_put_until(
    batch: *mut huon_batch,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
    value: huon_bytes<'_>,
    until_ms: u64,
) -> c_int {
    border("huon_batch_put_until", || {
        let (key, value, until) = (key.get()?, value.get()?, time(until_ms)?);
        add(batch, table, |batch, table| batch.put_until(table, key, value, until))
    })
}

/// Adds an operand to a batch.
#[unsafe(no_mangle)]
pub extern "C" fn huon_batch_merge(
    batch: *mut huon_batch,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
    operand: huon_bytes<'_>,
) -> c_int {
    border("huon_batch_merge", || {
        let (key, operand) = (key.get()?, operand.get()?);
        add(batch, table, |batch, table| batch.merge(table, key, operand))
    })
}

/// Adds a delete to a batch.
#[unsafe(no_mangle)]
pub extern "C" fn huon_batch_delete(
    batch: *mut huon_batch,
    table: *mut huon_lsm_table,
    key: huon_bytes<'_>,
) -> c_int {
    border("huon_batch_delete", || {
        let key = key.get()?;
        add(batch, table, |batch, table| batch.delete(table, key))
    })
}

/// Gives a batch back that is not to be written; NULL is none, and fine.
#[unsafe(no_mangle)]
pub extern "C" fn huon_batch_free(batch: *mut huon_batch) -> c_int {
    border("huon_batch_free", || {
        Own::end(close(&BATCHES, batch)?);
        Ok(())
    })
}

/// Writes a batch in a transaction of its own, which it shares with those of other threads that
/// wait at the same time. The batch is none any more, whatever the answer. `id`, which may be NULL,
/// tells the id of the commit.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_write(
    lsm: *mut huon_lsm,
    batch: *mut huon_batch,
    id: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_lsm_write", || {
        let own = object(&BATCHES, batch)?;
        let mut held = own.get()?;
        close(&BATCHES, batch)?;
        let lsm = object(&LSMS, lsm)?;
        let taken = std::mem::replace(&mut *held, lsm.batch());
        give(id, lsm.write(taken)?);
        Ok(())
    })
}

/// What a write-optimised table consists of, and what it has cost.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_lsm_stat {
    /// Runs.
    pub runs: u64,
    /// Records of all runs: a key that is in several counts in each of them.
    pub records: u64,
    /// Deletes among them.
    pub tombstones: u64,
    /// Bytes of runs, about.
    pub bytes: u64,
    /// Bytes of filters, about.
    pub filter_bytes: u64,
    /// Bytes that are to be merged.
    pub debt_bytes: u64,
    /// Bytes that commits of all processes have put.
    pub total_put_bytes: u64,
    /// Bytes that merges of all processes have written.
    pub total_merged_bytes: u64,
    /// Commits that waited, as there were too many runs.
    pub stalls: u64,
}

/// Tells what a table consists of; `bytes` is sizeof(huon_lsm_stat).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_get_lsm_stat(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    stat: *mut huon_lsm_stat,
    bytes: usize,
) -> c_int {
    border("huon_get_lsm_stat", || {
        let table = lsm_table_of(table)?;
        let found = in_view!(txn, txn => Ok(table.stat(txn)?))?;
        let told = huon_lsm_stat {
            runs: found.runs(),
            records: found.records,
            tombstones: found.tombstones,
            bytes: found.bytes,
            filter_bytes: found.filter_bytes,
            debt_bytes: found.debt_bytes,
            total_put_bytes: found.total_put_bytes,
            total_merged_bytes: found.total_merged_bytes,
            stalls: found.stalls,
        };
        // SAFETY: A2.
        unsafe { report(stat, bytes, told) }
    })
}

/// Reads every run of a table, and verifies what huon_check cannot know. `problem`, which may be
/// NULL, hears what is wrong; `problems` tells how many there are.
#[unsafe(no_mangle)]
pub extern "C" fn huon_lsm_check(
    txn: *mut huon_txn,
    table: *mut huon_lsm_table,
    problem: huon_problem_fn,
    context: *mut c_void,
    problems: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_lsm_check", || {
        let table = lsm_table_of(table)?;
        let found = in_view!(txn, txn => Ok(table.check(txn)?))?.problems;
        if let Some(call) = problem {
            found.iter().for_each(|problem| hear(call, context, problem));
        }
        answer(problems, found.len() as u64)
    })
}

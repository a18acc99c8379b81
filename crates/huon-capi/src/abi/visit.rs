//! Walks over all pages or records of a snapshot, with every checksum verified.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;

use huon::{Env, PageInfo, PageKind, Problem, RecordVisitor, TableStat};

use super::care::hear;
use super::env::{env_of, huon_env};
use super::report::{huon_table_stat, table_stat};
use crate::border::{Fault, Res, border, give, wanted};
use crate::bytes::{huon_bytes, nothing, options, shown};
use crate::callback::{STOPPED, huon_problem_fn};

/// The metas, at the start of the file.
pub const HUON_PAGE_META: c_int = 0;
/// A branch of a tree: it leads to pages a level below.
pub const HUON_PAGE_BRANCH: c_int = 1;
/// A leaf: it holds records, or values of one key of a multimap.
pub const HUON_PAGE_LEAF: c_int = 2;
/// A leaf of values of one length.
pub const HUON_PAGE_FIXED_LEAF: c_int = 3;
/// A large value, in consecutive pages.
pub const HUON_PAGE_LARGE_VALUE: c_int = 4;
/// A page of the free list.
pub const HUON_PAGE_FREE_LIST: c_int = 5;
/// Free, in consecutive pages: the next write transaction may use them.
pub const HUON_PAGE_FREE: c_int = 6;
/// Free, in consecutive pages that some older snapshot still sees.
pub const HUON_PAGE_RETAINED: c_int = 7;

/// A page, or consecutive pages that belong together.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_page {
    /// Number of the first: it lies at this number times the page size.
    pub pgno: u32,
    /// How many they are.
    pub page_count: u32,
    /// What they are for: one of HUON_PAGE_META to HUON_PAGE_RETAINED.
    pub kind: c_int,
    /// Levels between a page and the leaves of its tree.
    pub level: u32,
    /// The transaction that wrote it.
    pub birth: u64,
    /// Bytes that hold something, headers included.
    pub used_bytes: u64,
    /// The other bytes.
    pub unused_bytes: u64,
    /// The name of its table, the main table's being empty; `data` is NULL if it is no table's.
    pub table: huon_bytes<'static>,
    /// Records or values of a leaf, children of a branch, items of a page of the free list.
    pub count: u32,
    /// It belongs to the values of one key of a multimap.
    pub is_of_values: bool,
}

/// Sees a page. Returns 0, or anything else to end the walk with HUON_STOPPED.
pub type huon_page_fn =
    Option<extern "C" fn(context: *mut c_void, page: *const huon_page) -> c_int>;

/// Shows all pages of the newest snapshot, each once: the metas, the free space, then the tables,
/// each from its root downwards. `id`, which may be NULL, tells the snapshot. Blocks no writer.
/// HUON_CORRUPT at the first damage: huon_check goes on.
#[unsafe(no_mangle)]
pub extern "C" fn huon_visit_pages(
    env: *mut huon_env,
    each: huon_page_fn,
    context: *mut c_void,
    id: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    border("huon_visit_pages", || {
        let (env, each) = (env_of(env)?, wanted(each)?);
        let mut has_stopped = false;
        let txnid = env.visit_pages(&mut |page| {
            has_stopped = each(context, &page_of(page)) != 0;
            if has_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        give(id, txnid);
        if has_stopped { Err(STOPPED) } else { Ok(()) }
    })
}

fn page_of(page: &PageInfo<'_>) -> huon_page {
    let table = page.table.map_or_else(nothing, shown);
    huon_page {
        pgno: page.pgno,
        page_count: page.page_count,
        kind: match page.kind {
            PageKind::Meta => HUON_PAGE_META,
            PageKind::Branch => HUON_PAGE_BRANCH,
            PageKind::Leaf => HUON_PAGE_LEAF,
            PageKind::FixedLeaf => HUON_PAGE_FIXED_LEAF,
            PageKind::LargeValue => HUON_PAGE_LARGE_VALUE,
            PageKind::FreeList => HUON_PAGE_FREE_LIST,
            PageKind::Free => HUON_PAGE_FREE,
            _ => HUON_PAGE_RETAINED,
        },
        level: page.level.into(),
        birth: page.birth,
        used_bytes: page.used_bytes,
        unused_bytes: page.unused_bytes,
        // SAFETY: both ways to make it write it.
        table: unsafe { table.assume_init() },
        count: page.count,
        is_of_values: page.of_values,
    }
}

/// Goes on; of a table: shows its records.
pub const HUON_VISIT: c_int = 0;
/// Of a table: passes over its records.
pub const HUON_VISIT_SKIP: c_int = 1;
/// Ends the walk with HUON_STOPPED.
pub const HUON_VISIT_STOP: c_int = 2;

/// A table begins. Returns HUON_VISIT, HUON_VISIT_SKIP or HUON_VISIT_STOP.
pub type huon_visit_table_fn = Option<
    extern "C" fn(
        context: *mut c_void,
        name: huon_bytes<'_>,
        stat: *const huon_table_stat,
    ) -> c_int,
>;

/// A record of the table that began last, or a key of a multimap with one of its values. Returns
/// HUON_VISIT or HUON_VISIT_STOP.
pub type huon_visit_record_fn = Option<
    extern "C" fn(context: *mut c_void, key: huon_bytes<'_>, value: huon_bytes<'_>) -> c_int,
>;

/// What a walk over records calls, where it is not NULL. Set `bytes` to sizeof(huon_visitor) and
/// the rest to zero first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct huon_visitor {
    /// sizeof(huon_visitor).
    pub bytes: usize,
    /// A table begins; NULL: the records of all are shown.
    pub table: huon_visit_table_fn,
    /// A record.
    pub record: huon_visit_record_fn,
    /// Something that huon_salvage cannot read, and leaves out.
    pub lost: huon_problem_fn,
    /// What all are handed.
    pub context: *mut c_void,
}

/// A visitor under way.
struct Visit {
    with: huon_visitor,
    has_stopped: bool,
}

impl Visit {
    /// What an answer of the caller's asks for: whether to go on, and to look into a table.
    fn flow(&mut self, answer: c_int) -> ControlFlow<(), bool> {
        match answer {
            HUON_VISIT => ControlFlow::Continue(true),
            HUON_VISIT_SKIP => ControlFlow::Continue(false),
            _ => {
                self.has_stopped = true;
                ControlFlow::Break(())
            }
        }
    }
}

impl RecordVisitor for Visit {
    fn table(&mut self, table: &TableStat) -> ControlFlow<(), bool> {
        let Some(call) = self.with.table else { return ControlFlow::Continue(true) };
        let answer = call(self.with.context, huon_bytes::of(&table.name), &table_stat(table));
        self.flow(answer)
    }

    fn record(&mut self, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        let Some(call) = self.with.record else { return ControlFlow::Continue(()) };
        let answer = call(self.with.context, huon_bytes::of(key), huon_bytes::of(value));
        match self.flow(answer) {
            ControlFlow::Continue(_) => ControlFlow::Continue(()),
            ControlFlow::Break(()) => ControlFlow::Break(()),
        }
    }

    fn lost(&mut self, problem: &Problem) -> ControlFlow<()> {
        if let Some(call) = self.with.lost {
            hear(call, self.with.context, problem);
        }
        ControlFlow::Continue(())
    }
}

/// Walks over the records of an environment.
///
/// # Safety
/// That of [`options`].
unsafe fn walk(
    env: *mut huon_env,
    visitor: *const huon_visitor,
    id: Option<&mut MaybeUninit<u64>>,
    work: impl FnOnce(&Env, &mut Visit) -> huon::Result<u64>,
) -> Res<()> {
    let env = env_of(env)?;
    // SAFETY: A2, and all zero is a visitor.
    let with = unsafe { options(visitor) }?.ok_or(Fault::NULL)?;
    let mut visit = Visit { with, has_stopped: false };
    give(id, work(&env, &mut visit)?);
    if visit.has_stopped { Err(STOPPED) } else { Ok(()) }
}

/// Shows every record of the newest snapshot, the main table's first, without those that name
/// tables. No comparator is needed, and no writer is blocked. `id`, which may be NULL, tells the
/// snapshot. HUON_CORRUPT at the first damage: huon_salvage goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_visit_records(
    env: *mut huon_env,
    visitor: *const huon_visitor,
    id: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    // SAFETY: A2.
    border("huon_visit_records", || unsafe {
        walk(env, visitor, id, |env, visit| env.visit_records(visit))
    })
}

/// Shows every record of the newest snapshot that can be read. Damaged parts are left out, and told
/// to `lost`. Leaves below a damaged branch are shown, too: of the table that lost them, which
/// begins a second time, or of one called `huon_rescued`, where old versions of a record may be
/// among them, the youngest last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn huon_salvage(
    env: *mut huon_env,
    visitor: *const huon_visitor,
    id: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    // SAFETY: A2.
    border("huon_salvage", || unsafe { walk(env, visitor, id, |env, visit| env.salvage(visit)) })
}

//! Moving pages towards the front of the file, in place and in steps.
//!
//! All trees of a snapshot are walked as one: the main table's leaves lead to named tables, leaves
//! of multimaps to trees of values, and leaves of all to large values. A step walks them from where
//! the last one stopped, moves the pages that lie behind the line to free places before it, and
//! lets the pages above point there. A page is moved by touching it, as for any change, except that
//! its new place is chosen.
//!
//! M1. No key is compared. A step stops at a path of indices, and the next one begins there: what
//!     others have changed meanwhile may be left out or visited twice, and the next pass finds it.
//! M2. A page is moved only when there is room before the line for all the pages above it, too. So
//!     moving takes nothing from behind the line.
//! M3. A leaf is read only if it may lead to something: a large value, a table, a tree of values.

use std::time::Instant;

use crate::alloc::TryGrow;
use crate::error::Result;
use crate::page::{
    BranchMut, LeafMut, PayloadKind, Ptr, RUN_REF_BYTES, Reason, RunRef, TREE_BYTES, Tree,
};
use crate::planted::{self, Bug};
use crate::store::pages::Pages;
use crate::store::source::{OnPage, PageSource, damaged};
use crate::tree::read;

/// Pages looked at between two looks at the clock.
const LOOKS_PER_CLOCK: u64 = 64;

/// What is to be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Large values of more than one page, which need a gap of their length.
    Runs,
    /// Everything.
    All,
}

/// One step: its bounds, and then what it did.
pub(crate) struct Step {
    pub(crate) what: What,
    /// No page is left from here on, if that is possible.
    pub(crate) line: u32,
    /// Pages that it writes, but for the last of them.
    pub(crate) pages_max: usize,
    /// When it stops, if the clock says so.
    pub(crate) deadline: Option<Instant>,
    /// Where it begins, and then where the next one does: nowhere if all was gone through.
    pub(crate) place: Vec<usize>,
    pub(crate) moved_pages: u64,
    /// Pages that were looked at.
    pub(crate) looks: u64,
}

/// Goes one step through all trees below `main`, whose root may move.
pub(crate) fn step(pages: &mut Pages, main: &mut Tree, step: &mut Step) -> Result<()> {
    let from = std::mem::take(&mut step.place);
    let mut mover =
        Mover { pages, step, from, written: 0, resuming: true, at: Vec::new(), stopped: false };
    if main.depth > 0 {
        main.root = mover.subtree(&TreeKind::Main, main.root, main.depth - 1)?;
    }
    if mover.stopped {
        step.place = mover.at;
    }
    Ok(())
}

/// What the leaves of a tree may lead to.
enum TreeKind {
    Main,
    /// A table, as its record has it.
    Table(Tree),
    /// The values of a key.
    Values,
}

impl TreeKind {
    /// M3.
    fn leads_on(&self, what: What) -> bool {
        match self {
            TreeKind::Main => true,
            TreeKind::Table(tree) => {
                tree.overflow_pages > 0 || tree.many.is_some() && what == What::All
            }
            TreeKind::Values => false,
        }
    }
}

/// What a record holds anew, as long as before.
enum Payload {
    Run([u8; RUN_REF_BYTES]),
    Tree([u8; TREE_BYTES]),
}

impl Payload {
    fn bytes(&self) -> &[u8] {
        match self {
            Payload::Run(bytes) => bytes,
            Payload::Tree(bytes) => bytes,
        }
    }
}

struct Mover<'p, 's> {
    pages: &'p mut Pages,
    step: &'s mut Step,
    /// M1: where to begin.
    from: Vec<usize>,
    resuming: bool,
    /// The index on each page from the root to where the walk is.
    at: Vec<usize>,
    stopped: bool,
    /// Pages of large values that were written.
    written: usize,
}

impl Mover<'_, '_> {
    /// The index at which the walk begins a page of this depth.
    fn begin(&mut self) -> Result<usize> {
        let depth = self.at.len();
        let from = self.from.get(depth).filter(|_| self.resuming).copied().unwrap_or(0);
        self.at.try_push(from)?;
        Ok(from)
    }

    /// Whether the step ends before what the path leads to.
    fn is_over(&mut self) -> bool {
        self.step.looks += 1;
        let full = self.pages.dirty_count() + self.written >= self.step.pages_max;
        let late = self.step.looks.is_multiple_of(LOOKS_PER_CLOCK)
            && self.step.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        self.stopped |= full || late;
        self.stopped
    }

    /// All below a page, and then the page; where it is now.
    fn subtree(&mut self, kind: &TreeKind, ptr: Ptr, level: u8) -> Result<Ptr> {
        let start = self.begin()?;
        let here = match level {
            0 => self.leaf(kind, ptr, start)?,
            _ => self.branch(kind, ptr, level, start)?,
        };
        // Pages behind the first that is left were not begun before.
        self.resuming = false;
        if self.stopped {
            return Ok(here);
        }
        self.at.pop();
        if here == ptr && self.step.what == What::All { self.moved(ptr) } else { Ok(here) }
    }

    fn branch(&mut self, kind: &TreeKind, mut here: Ptr, level: u8, start: usize) -> Result<Ptr> {
        let reads_leaves = kind.leads_on(self.step.what);
        let count = self.pages.branch(here, level)?.count();
        for index in start..count {
            *self.at.last_mut().expect("the page is on the path") = index;
            if self.is_over() {
                break;
            }
            let child = self.pages.branch(here, level)?.child(index);
            let now = if level == 1 && !reads_leaves {
                self.moved(child)?
            } else {
                self.subtree(kind, child, level - 1)?
            };
            if now != child {
                here = self.pages.touch_below(here, self.step.line)?;
                let mut branch = BranchMut::view(self.pages.edit(here)).on(here)?;
                if !planted::is(Bug::MovedPointer) {
                    branch.set_child(index, now);
                }
            }
            if self.stopped {
                break;
            }
        }
        Ok(here)
    }

    fn leaf(&mut self, kind: &TreeKind, mut here: Ptr, start: usize) -> Result<Ptr> {
        if !kind.leads_on(self.step.what) {
            return Ok(here);
        }
        let count = self.pages.leaf(here)?.count();
        for index in start..count {
            *self.at.last_mut().expect("the page is on the path") = index;
            let Some(payload) = self.lead(kind, here, index)? else {
                if self.stopped {
                    break;
                }
                continue;
            };
            here = self.pages.touch_below(here, self.step.line)?;
            let mut leaf = LeafMut::view(self.pages.edit(here)).on(here)?;
            let place = leaf.payload_mut(index).on(here)?;
            let bytes = payload.bytes();
            // The names behind the record of a table stay.
            let place = place.get_mut(..bytes.len()).ok_or_else(|| damaged(here, Reason::Cell))?;
            place.copy_from_slice(bytes);
            if self.stopped {
                break;
            }
        }
        Ok(here)
    }

    /// Moves what a record leads to; its new payload, if that has changed.
    fn lead(&mut self, kind: &TreeKind, leaf: Ptr, index: usize) -> Result<Option<Payload>> {
        let cell = self.pages.leaf(leaf)?.cell(index).on(leaf)?;
        let (tree, below) = match (cell.kind, kind) {
            (PayloadKind::Run, TreeKind::Main | TreeKind::Table(_)) => {
                let run = read::run_ref(&cell)?;
                return self.run(&run);
            }
            (PayloadKind::Table, TreeKind::Main) => {
                let tree = Tree::decode(cell.payload).on(leaf)?;
                (tree, TreeKind::Table(tree))
            }
            (PayloadKind::DuplicateTree, TreeKind::Table(table)) => {
                (table.decode_values(cell.payload).on(leaf)?, TreeKind::Values)
            }
            _ => return Ok(None),
        };
        let skips = self.step.what == What::Runs && !below.leads_on(What::Runs);
        if tree.depth == 0 || skips || self.is_over() {
            return Ok(None);
        }
        let root = self.subtree(&below, tree.root, tree.depth - 1)?;
        Ok((root != tree.root).then(|| Payload::Tree(Tree { root, ..tree }.encode())))
    }

    /// A large value: moved if it reaches behind the line and there is a gap for it.
    fn run(&mut self, run: &RunRef) -> Result<Option<Payload>> {
        let pages = run.pages(self.pages.page_bytes());
        let behind = u64::from(run.pgno.0) + u64::from(pages) > u64::from(self.step.line);
        let wanted = behind && (pages > 1 || self.step.what == What::All);
        if !wanted || self.is_over() || !self.has_room()? {
            return Ok(None);
        }
        match self.pages.move_run_below(run, self.step.line)? {
            Some(moved) => {
                self.step.moved_pages += u64::from(pages);
                self.written += pages as usize;
                Ok(Some(Payload::Run(moved.encode())))
            }
            None => Ok(None),
        }
    }

    /// Where the page is after it was moved, if it lies behind the line and there is room.
    fn moved(&mut self, ptr: Ptr) -> Result<Ptr> {
        if ptr.pgno.0 < self.step.line || !self.has_room()? {
            return Ok(ptr);
        }
        self.step.moved_pages += 1;
        self.pages.touch_below(ptr, self.step.line)
    }

    /// M2.
    fn has_room(&mut self) -> Result<bool> {
        let path_pages = self.at.len() as u32 + 2;
        self.pages.has_room_below(path_pages, self.step.line)
    }
}

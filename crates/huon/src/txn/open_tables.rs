//! The tables that a write transaction has used, and what its nested levels have to restore.
//!
//! O1. The state of a table is kept under its name: all handles of a name share it, and no number
//!     that is released meanwhile can stand for another table.
//! O2. The cost of a level follows what was changed in it: the state that a table had is saved when
//!     it is changed in the level for the first time. Undoing goes from the newest to the oldest.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::alloc::{TryGrow, copied};
use crate::error::Result;
use crate::page::{Tree, Txnid};
use crate::txn::meaning::TableShape;
use crate::txn::names::TableNo;

/// A table as the transaction has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableState {
    /// The catalog says it.
    Unknown,
    /// It does not exist (any more).
    Missing,
    /// It exists.
    Found {
        tree: Tree,
        /// Its record in the catalog is out of date.
        changed: bool,
    },
}

struct OpenTable {
    name: Arc<[u8]>,
    state: TableState,
    /// The newest level that has saved the state, or an outer one since; 0: none.
    saved_by: u64,
    /// The table was made, dropped or renamed, in a level that was undone perhaps.
    remade: bool,
}

/// What a handle stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// Of the table.
    pub(super) at: usize,
    /// What the handle expects of it.
    pub(super) shape: TableShape,
}

/// A state that is restored when a level is undone.
struct Saved {
    at: usize,
    state: TableState,
    saved_by: u64,
}

/// A level of nesting.
#[derive(Clone, Copy)]
pub(super) struct LevelMark {
    /// Levels are numbered as they begin, from 1.
    level: u64,
    /// So much had been saved when it began.
    saved: usize,
}

/// The tables of a write transaction.
#[derive(Default)]
pub(super) struct OpenTables {
    tables: Vec<OpenTable>,
    /// All but the first, which is the only one in most transactions.
    by_name: BTreeMap<Arc<[u8]>, usize>,
    first_use: Option<(TableNo, Use)>,
    /// All but the first.
    uses: BTreeMap<TableNo, Use>,
    /// The handle that was used last, which mostly is the next one too.
    last: Option<(TableNo, Use)>,
    saved: Vec<Saved>,
    levels: u64,
}

impl OpenTables {
    /// The table of a handle, if it was used before.
    #[inline]
    pub(super) fn used(&mut self, no: TableNo) -> Option<Use> {
        for (near, used) in self.last.iter().chain(&self.first_use) {
            if *near == no {
                return Some(*used);
            }
        }
        let used = *self.uses.get(&no)?;
        self.last = Some((no, used));
        Some(used)
    }

    /// Notes what a handle stands for.
    pub(super) fn bind(&mut self, no: TableNo, used: Use) {
        match self.first_use {
            Some((first, _)) if first != no => drop(self.uses.insert(no, used)),
            _ => self.first_use = Some((no, used)),
        }
        self.last = Some((no, used));
    }

    /// The table of a name, if it was used before.
    pub(super) fn named(&self, name: &[u8]) -> Option<usize> {
        match self.tables.first() {
            Some(first) if *first.name == *name => Some(0),
            _ => self.by_name.get(name).copied(),
        }
    }

    /// The table of a name, with room for its state: a change must not be forgotten for want of
    /// memory.
    pub(super) fn enter(&mut self, name: &[u8]) -> Result<usize> {
        if let Some(at) = self.named(name) {
            return Ok(at);
        }
        let at = self.tables.len();
        let name: Arc<[u8]> = match name.len() {
            // Where there is no memory for more than this, that is an error.
            ..2048 => name.into(),
            _ => copied(name)?.into(),
        };
        let table = OpenTable {
            name: name.clone(),
            state: TableState::Unknown,
            saved_by: 0,
            remade: false,
        };
        self.tables.try_push(table)?;
        if at > 0 {
            self.by_name.insert(name, at);
        }
        Ok(at)
    }

    pub(super) fn name(&self, at: usize) -> Arc<[u8]> {
        self.tables[at].name.clone()
    }

    #[inline]
    pub(super) fn state(&self, at: usize) -> TableState {
        self.tables[at].state
    }

    /// Notes what is known of a table, in the level of this mark; `None`: in the transaction
    /// itself. There must be room to save what was known before: see [`OpenTables::make_room`].
    #[inline]
    pub(super) fn set(&mut self, at: usize, state: TableState, within: Option<LevelMark>) {
        let table = &mut self.tables[at];
        if let Some(mark) = within
            && table.saved_by < mark.level
        {
            self.saved.push(Saved { at, state: table.state, saved_by: table.saved_by });
            table.saved_by = mark.level;
        }
        table.state = state;
    }

    /// Notes what an edit has made of a table, if it has changed, in the same way.
    #[inline]
    pub(super) fn note_edited(
        &mut self,
        no: TableNo,
        tree: &Tree,
        changed: Txnid,
        within: Option<LevelMark>,
    ) {
        let at = self.used(no).expect("the edit began with it").at;
        let before = &self.tables[at].state;
        if !matches!(before, TableState::Found { tree: before, .. } if before == tree) {
            let tree = Tree { changed, ..*tree };
            self.set(at, TableState::Found { tree, changed: true }, within);
        }
    }

    /// Makes room for saving one state.
    #[inline]
    pub(super) fn make_room(&mut self) -> Result<()> {
        Ok(self.saved.try_reserve(1)?)
    }

    /// The table was made, dropped or renamed.
    pub(super) fn set_remade(&mut self, at: usize) {
        self.tables[at].remade = true;
    }

    /// The tables that were made, dropped or renamed, and whether they exist as far as is known.
    pub(super) fn remade(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let remade = self.tables.iter().filter(|table| table.remade);
        remade.map(|table| (&*table.name, matches!(table.state, TableState::Found { .. })))
    }

    /// Name and record of each table whose record in the catalog is out of date, all but
    /// the first in the order of their names.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&[u8], &Tree)> {
        let others = self.by_name.values().map(|at| &self.tables[*at]);
        self.tables.first().into_iter().chain(others).filter_map(|table| match &table.state {
            TableState::Found { tree, changed: true } => Some((&*table.name, tree)),
            _ => None,
        })
    }

    /// A level begins.
    pub(super) fn begin_level(&mut self) -> LevelMark {
        self.levels += 1;
        LevelMark { level: self.levels, saved: self.saved.len() }
    }

    /// The changes since the level began become the outer level's; `None`: there is none.
    pub(super) fn commit_level(&mut self, mark: LevelMark, outer: Option<LevelMark>) {
        let Some(outer) = outer else { return self.saved.truncate(mark.saved) };
        // The states that the outer level has saved itself are older, and all that it needs.
        let mut kept = mark.saved;
        for at in mark.saved..self.saved.len() {
            if self.saved[at].saved_by < outer.level {
                self.saved.swap(kept, at);
                kept += 1;
            }
        }
        self.saved.truncate(kept);
    }

    /// The changes since the level began are undone.
    pub(super) fn abort_level(&mut self, mark: LevelMark) {
        for Saved { at, state, saved_by } in self.saved.drain(mark.saved..).rev() {
            let table = &mut self.tables[at];
            (table.state, table.saved_by) = (state, saved_by);
        }
    }

    /// How many tables are known, and how many states are saved.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.tables.len(), self.saved.len())
    }
}

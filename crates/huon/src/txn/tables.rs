//! The tables of a write transaction: found, made, dropped, renamed, and written back.

use std::cell::RefCell;
use std::sync::Arc;

use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::page::{Labels, Tree};
use crate::tree::view::TreeView;
use crate::txn::catalog::{self, NAMES};
use crate::txn::meaning::{TableInfo, TableShape, TableSpec};
use crate::txn::names::{self, TableNo};
use crate::txn::open_tables::{TableState, Use};
use crate::txn::write::{How, WriteTxn};

impl WriteTxn {
    /// What a handle means, functions included.
    pub(crate) fn info(&self, no: TableNo) -> Result<&Arc<TableInfo>> {
        self.core.info(&self.kept, no)
    }

    /// The table behind a handle as this transaction has it. `None`: it does not exist here.
    #[inline]
    pub(crate) fn tree(&self, no: TableNo) -> Result<Option<Tree>> {
        self.tree_of(no)
    }

    /// The same in the midst of the caller's code: so the tree is copied once.
    #[inline(always)]
    pub(super) fn tree_of(&self, no: TableNo) -> Result<Option<Tree>> {
        self.check_usable()?;
        if no == TableNo::MAIN {
            return Ok(Some(self.main));
        }
        let used = self.tables.borrow_mut().used(no);
        let used = match used {
            Some(used) => used,
            None => self.bind(no)?,
        };
        let tree = self.tree_at(used.at)?;
        if let Some(tree) = &tree {
            used.shape.check(tree)?;
            if used.shape.names_differ(tree) {
                let name = self.tables.borrow().name(used.at);
                self.check_labels(&name, &self.info(no)?.labels()?)?;
            }
        }
        Ok(tree)
    }

    /// A handle is used for the first time.
    #[cold]
    fn bind(&self, no: TableNo) -> Result<Use> {
        let (name, shape) = self.core.names.read(no).ok_or(Error::TableNotFound)?;
        self.check_not_names(&name)?;
        let mut tables = self.tables.borrow_mut();
        let used = Use { at: tables.enter(&name)?, shape };
        tables.bind(no, used);
        Ok(used)
    }

    /// A table that was used before, as the transaction has it now.
    #[inline(always)]
    fn tree_at(&self, at: usize) -> Result<Option<Tree>> {
        let state = self.tables.borrow().state(at);
        match state {
            TableState::Found { tree, .. } => Ok(Some(tree)),
            TableState::Missing => Ok(None),
            TableState::Unknown => self.find(at),
        }
    }

    #[cold]
    fn find(&self, at: usize) -> Result<Option<Tree>> {
        let name = self.tables.borrow().name(at);
        let tree = catalog::find(self.pages(), &self.main, &name)?;
        self.tables.borrow_mut().make_room()?;
        let changed = false;
        self.remember(
            at,
            tree.map_or(TableState::Missing, |tree| TableState::Found { tree, changed }),
        );
        Ok(tree)
    }

    /// The table of a name as this transaction has it, whatever its kind; an empty name is that of
    /// the main table.
    pub(crate) fn tree_named(&self, name: &[u8]) -> Result<Option<Tree>> {
        self.check_usable()?;
        if name.is_empty() {
            return Ok(Some(self.main));
        }
        let known = self.tables.borrow().named(name);
        if let Some(at) = known
            && let Some(tree) = self.tree_at(at)?
        {
            return Ok(Some(tree));
        }
        // Where there is no table of the name, a record may have it since that was noted.
        catalog::find(self.pages(), &self.main, name)
    }

    /// The number of a table, if it exists.
    pub(crate) fn open_spec(&self, wanted: &TableSpec<'_>) -> Result<Option<TableNo>> {
        self.core.check_forked()?;
        if wanted.name.is_empty() {
            return Ok(Some(TableNo::MAIN));
        }
        self.check_not_names(wanted.name)?;
        let shape = wanted.shape()?;
        let Some(tree) = self.tree_named(wanted.name)? else { return Ok(None) };
        shape.check(&tree)?;
        if shape.names_differ(&tree) {
            self.check_labels(wanted.name, &wanted.labels()?)?;
        }
        self.opened(wanted, shape, None).map(Some)
    }

    fn check_labels(&self, name: &[u8], wanted: &Labels<'_>) -> Result<()> {
        catalog::check_labels(self.pages(), &self.main, name, wanted)
    }

    /// The number of a table that exists.
    fn opened(
        &self,
        wanted: &TableSpec<'_>,
        shape: TableShape,
        made_by: Option<u64>,
    ) -> Result<TableNo> {
        let at = self.tables.borrow_mut().enter(wanted.name)?;
        let no = self.core.intern(wanted, &shape, made_by)?;
        self.tables.borrow_mut().bind(no, Use { at, shape });
        Ok(no)
    }

    #[cfg(test)]
    pub(super) fn tables_touched(&self) -> (usize, usize) {
        self.tables.borrow().counts()
    }

    /// All handles of one name share the state of the table. There is room for it: a change must
    /// not be forgotten for want of memory.
    pub(super) fn remember(&self, at: usize, state: TableState) {
        let level = self.levels.last().map(|level| level.tables);
        self.tables.borrow_mut().set(at, state, level);
    }

    /// An edit of a table has ended well, for which room was made: perhaps it has changed.
    #[inline]
    pub(super) fn note_edited(&mut self, no: TableNo, tree: &Tree) {
        let changed = self.txnid();
        if no != TableNo::MAIN {
            let level = self.levels.last().map(|level| level.tables);
            self.tables.get_mut().note_edited(no, tree, changed, level);
        } else if *tree != self.main {
            self.main = Tree { changed, ..*tree };
        }
    }

    /// Creates the table unless it exists; its number.
    pub(crate) fn create_spec(&mut self, wanted: &TableSpec<'_>) -> Result<TableNo> {
        if let Some(no) = self.open_spec(wanted)? {
            return Ok(no);
        }
        self.make_table(wanted.name, wanted.empty(), &wanted.labels()?.encode())?;
        self.opened(wanted, wanted.shape()?, Some(self.txnid().0))
    }

    /// Makes a table as a record says that is free of pages, with the names of its comparators.
    pub(crate) fn make_table(&mut self, name: &[u8], empty: Tree, labels: &[u8]) -> Result<()> {
        let at = self.prepare_remaking(name)?;
        let tree =
            self.edit_catalog(How::Grow, |main| catalog::create(main, name, empty, labels))?;
        self.remember(at, TableState::Found { tree, changed: false });
        Ok(())
    }

    /// The table of this name is about to be made, dropped or renamed.
    fn prepare_remaking(&mut self, name: &[u8]) -> Result<usize> {
        let tables = self.tables.get_mut();
        let at = tables.enter(name)?;
        tables.make_room()?;
        tables.set_remade(at);
        Ok(at)
    }

    /// The name of a table that this handle has found, which is about to be dropped or renamed.
    fn name_to_remake(&mut self, no: TableNo) -> Result<(usize, Arc<[u8]>)> {
        let tables = self.tables.get_mut();
        let used = tables.used(no).expect("its tree was looked for");
        let name = tables.name(used.at);
        Ok((self.prepare_remaking(&name)?, name))
    }

    /// Deletes the table and everything in it; whether it existed.
    pub(crate) fn drop_table(&mut self, no: TableNo) -> Result<bool> {
        if no == TableNo::MAIN {
            return Err(Error::Invalid("the main table cannot be dropped; clear it"));
        }
        let Some(mut tree) = self.tree(no)? else { return Ok(false) };
        let (at, name) = self.name_to_remake(no)?;
        self.edit_catalog(How::Shrink, |main| {
            main.beside(&mut tree).clear()?;
            catalog::remove(main, &name)
        })?;
        self.remember(at, TableState::Missing);
        Ok(true)
    }

    /// Gives the table another name; the old handle stands for a missing table then.
    pub(crate) fn rename_table(&mut self, no: TableNo, to: &[u8]) -> Result<()> {
        if no == TableNo::MAIN || to.is_empty() {
            return Err(Error::Invalid("the main table has no name to change"));
        }
        self.check_not_names(to)?;
        let tree = self.tree(no)?.ok_or(Error::TableNotFound)?;
        if TreeView::new(self.pages(), &self.main, NAMES).get(to)?.is_some() {
            return Err(Error::TableExists);
        }
        let (at, name) = self.name_to_remake(no)?;
        let to_at = self.prepare_remaking(to)?;
        // For both of them.
        self.tables.get_mut().make_room()?;
        let labels = copied(catalog::labels(self.pages(), &self.main, &name)?)?;
        // Errors are returned before the old name is gone.
        catalog::check_length(self.pages(), to, &labels)?;
        let tree = self.edit_catalog(How::Shrink, |main| {
            catalog::remove(main, &name)?;
            catalog::create(main, to, tree, &labels)
        })?;
        self.remember(at, TableState::Missing);
        self.remember(to_at, TableState::Found { tree, changed: false });
        Ok(())
    }

    /// Writes the records of all changed tables into the catalog, for the seal.
    pub(crate) fn store_tables(&mut self) -> Result<()> {
        if self.tables.get_mut().changed().next().is_none() {
            return Ok(());
        }
        let tables = self.tables.take();
        let stored = self.edit_catalog(How::Seal, |main| {
            let before = *main.tree;
            for (name, tree) in tables.changed() {
                catalog::store(main, name, tree)?;
            }
            if *main.tree != before {
                main.tree.changed = main.pages.txnid();
            }
            Ok(())
        });
        // Which of them were made or dropped is asked when the transaction is over.
        self.tables = RefCell::new(tables);
        stored
    }

    /// Tables that were made or dropped are so for all clients now, or it has not happened: `names`
    /// learns it.
    pub(super) fn settle_names(&self) {
        let at = self.sealed.unwrap_or_else(|| self.base().meta.txnid).0;
        for (name, exists) in self.tables.borrow().remade() {
            let is_there = exists && self.sealed.is_some();
            let state = if is_there { names::NameState::There } else { names::NameState::Gone(at) };
            self.core.names.settle(name, state);
        }
    }
}

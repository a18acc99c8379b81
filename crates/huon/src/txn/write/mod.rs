//! Write transactions: begin, change, abort. How one ends well is in `commit`.
//!
//! X1. An error or a panic in the middle of a change leaves the transaction broken: it can only be
//!     dropped.
//! X2. The changes of a dropped transaction have not happened; its id is burnt if it wrote a page
//!     (P7).

pub(crate) mod extension;
mod nested;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::page::{AnyOrder, PageGeometry, Tree, Txnid};
use crate::store::pages::Pages;
use crate::tree::edit::TreeMut;
use crate::tree::values::Orders;
use crate::txn::catalog::{Catalog, NAMES};
use crate::txn::meaning::{TableInfo, has_own_values, value_order};
use crate::txn::names::TableNo;
use crate::txn::notes::Notes;
use crate::txn::once_list::Attachments;
use crate::txn::open_tables::OpenTables;
use crate::txn::order::built_in;
use crate::txn::{Base, Core, KeptInfos, Release};
use extension::Extensions;
use nested::TxnLevel;

/// Why the base of a write transaction is there.
pub(super) const BASE_THERE: &str = "the base is there until the commit";

/// The handle of a table, whose functions are borrowed from what is kept beside the pages.
struct Handle<'k> {
    core: &'k Core,
    kept: &'k KeptInfos,
    no: TableNo,
}

impl<'k> Handle<'k> {
    fn info(&self) -> Result<&'k TableInfo> {
        Ok(self.core.info(self.kept, self.no)?)
    }
}

/// The manner of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// It may take space.
    Grow,
    /// It gives space back, so it may use the last pages.
    Shrink,
    /// The same, and no key is compared: the table's order need not be known.
    Unordered,
    /// It is made of many, so that a refusal in the middle breaks the transaction too.
    AllOrNothing,
    /// The seal comes next, which writes the pages: nothing is spilled here, so that the id stays
    /// the one that was returned (I12).
    Seal,
}

impl How {
    fn uses_reserve(self) -> bool {
        matches!(self, How::Shrink | How::Unordered | How::Seal)
    }
}

/// The one transaction that may change the environment at a time.
///
/// No reader sees its changes before [`WriteTxn::commit`]; dropping it undoes them. It can be sent
/// to another thread.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// let mut txn = env.write()?;
/// let ages = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("ages"))?;
/// ages.put(&mut txn, "ada", 36)?;
/// txn.commit()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Values read from it borrow it, so that they can be held neither across a change nor beyond the
/// end. This is refused by the compiler:
///
/// ```compile_fail,E0502
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?;
/// if let Some(name) = t.get(&txn, "name")? {
///     t.put(&mut txn, "copy", name)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// and so is this:
///
/// ```compile_fail,E0505
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?;
/// let records = t.iter(&txn)?;
/// txn.commit()?;
/// records.for_each(drop);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A copy is fine, and so is a value used before the end:
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// # let mut txn = env.write()?;
/// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?;
/// if let Some(name) = t.get(&txn, "name")?.map(str::to_owned) {
///     t.put(&mut txn, "copy", &name)?;
/// }
/// let records = t.iter(&txn)?;
/// records.for_each(drop);
/// txn.commit()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a write transaction that is dropped is undone"]
pub struct WriteTxn {
    pub(crate) core: Arc<Core>,
    /// The snapshot that the transaction started from; `None` once it has committed.
    pub(super) base: Option<Box<Base>>,
    pub(crate) main: Tree,
    pub(crate) geometry: PageGeometry,
    pub(super) tables: RefCell<OpenTables>,
    pub(super) kept: KeptInfos,
    pub(super) levels: Vec<TxnLevel>,
    pub(super) extensions: Extensions,
    attachments: Attachments,
    pub(super) notes: Notes,
    pub(super) broken: bool,
    /// The commit gives back all that is free at the end of the file, but for slack up to so many
    /// pages.
    pub(crate) give_back_to: Option<u32>,
    /// The writer lock is still held.
    pub(crate) holds_role: bool,
    /// Its snapshot, once that is sealed: its changes have happened.
    pub(super) sealed: Option<Txnid>,
}

impl WriteTxn {
    pub(crate) fn begin(core: &Arc<Core>, timeout: Duration) -> Result<WriteTxn> {
        core.check_writable()?;
        reach(Point::WriterWanted);
        let again = core.take_writer(timeout)?;
        reach(Point::WriterTaken);
        let role = Release(&core.store.writer);
        if !again {
            core.store.measure()?;
        }
        let begun = Self::begin_as_writer(core)?;
        // From here on the transaction's own drop releases the lock.
        std::mem::forget(role);
        Ok(WriteTxn {
            core: core.clone(),
            main: begun.meta.main,
            notes: Notes::of(&begun.meta),
            geometry: begun.meta.geometry,
            base: Some(begun),
            tables: RefCell::default(),
            kept: KeptInfos::default(),
            levels: Vec::new(),
            extensions: Extensions::default(),
            attachments: Attachments::default(),
            broken: false,
            give_back_to: None,
            holds_role: true,
            sealed: None,
        })
    }

    fn begin_as_writer(core: &Core) -> Result<Box<Base>> {
        core.check_writable()?;
        core.repair_if_due()?;
        assert!(core.check_forked().is_ok(), "P5: a forked child never gets the writer lock");
        // P16: the repair comes before anything is allocated.
        if core.is_repair_due() {
            return Err(Error::corrupt_file("the lock file asks for a repair that was made (P16)"));
        }
        let mut begun = core.base()?;
        let base = &begun.meta;
        let id = core.next_id(base)?;
        core.store.board.forget_close()?;
        if base.used > core.store.map_pages() {
            return Err(core.store.map_too_small(base.used));
        }
        core.store.set_geometry(&base.geometry);
        core.store.cover(base.used)?;
        // A power loss may have made it shorter than was promised. On a full disk it stays so.
        let _ = core.store.cover(base.geometry.min_pages.min(core.store.map_pages()));
        core.shrink_file(base)?;
        let place = core.place_to_edit(base.used);
        let named = core.named_ids(base)?;
        begun.pages.begin(id, place, named);
        begun.renew_stamp(core);
        reach(Point::Begun);
        Ok(begun)
    }

    /// Whether these bytes, read from a table, lie on a page that this transaction has written, or
    /// a large value that it has: its next change may write over them. Others stay what they are as
    /// long as the transaction lives. For bindings to languages that cannot keep a borrow across a
    /// change.
    ///
    /// Costs a look at each page that is buffered.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::Str, huon::Str> = huon::TableDef::new("t");
    /// let t = env.update(|txn| {
    ///     let t = txn.create_table(&T)?;
    ///     t.put(txn, "key", "value").map(|_| t)
    /// })?;
    /// let mut txn = env.write()?;
    /// assert!(!txn.is_dirty(t.get(&txn, "key")?.unwrap().as_bytes()));
    /// t.put(&mut txn, "other", "")?;
    /// assert!(txn.is_dirty(t.get(&txn, "key")?.unwrap().as_bytes()), "they are neighbours");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn is_dirty(&self, bytes: &[u8]) -> bool {
        self.pages().may_change_at(bytes)
    }

    /// As [`ReadTxn::is_mapped`](crate::ReadTxn::is_mapped).
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # const T: huon::TableDef<huon::Str, huon::Str> = huon::TableDef::new("t");
    /// let t = env.update(|txn| {
    ///     let t = txn.create_table(&T)?;
    ///     t.put(txn, "key", "value").map(|_| t)
    /// })?;
    /// let txn = env.write()?;
    /// assert!(txn.is_mapped(t.get(&txn, "key")?.unwrap().as_bytes()));
    /// assert!(!txn.is_mapped(b"the program's own"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn is_mapped(&self, bytes: &[u8]) -> bool {
        self.core.store.storage.map().contains(bytes)
    }

    /// The id of this transaction at the moment, and of the snapshot that it makes if it commits
    /// now. A transaction that writes more than it buffers goes on under higher ids, so that pages
    /// that it wrote and dropped can serve it again: [`WriteTxn::commit`] says which the last was.
    pub fn id(&self) -> u64 {
        self.pages().txnid().0
    }

    /// The id that the transaction began with: whatever it changes bears this one or a higher one.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let txn = env.write()?;
    /// assert_eq!(txn.first_id(), txn.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn first_id(&self) -> u64 {
        self.pages().first().0
    }

    /// The id of the snapshot that this transaction makes, if it makes one: it rises no more. For
    /// records that bear the number of their snapshot.
    ///
    /// Costs nothing at once; but pages that are written before the commit, by a transaction of
    /// more than [`Options::write_buffer_bytes`](crate::Options::write_buffer_bytes) or by large
    /// values, and dropped again, serve others only after the commit.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// let def = huon::TableDef::<huon::Str, huon::U64>::new("changed in");
    /// let mut txn = env.write()?;
    /// let t = txn.create_table(&def)?;
    /// let id = txn.fix_id();
    /// t.put(&mut txn, "key", id)?;
    /// assert_eq!(txn.commit()?, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fix_id(&mut self) -> u64 {
        self.pages_mut().fix_id().0
    }

    #[inline]
    pub(super) fn base(&self) -> &Base {
        self.base.as_deref().expect(BASE_THERE)
    }

    #[inline]
    fn base_mut(&mut self) -> &mut Base {
        self.base.as_deref_mut().expect(BASE_THERE)
    }

    #[inline]
    pub(crate) fn pages(&self) -> &Pages {
        &self.base().pages
    }

    #[inline]
    pub(crate) fn pages_mut(&mut self) -> &mut Pages {
        &mut self.base_mut().pages
    }

    /// The number of the state that the transaction shows, by which detached cursors notice
    /// changes: another one after each.
    pub(crate) fn stamp(&self) -> u64 {
        self.base().stamps.start
    }

    /// The contents of the transaction may differ from now on.
    #[inline]
    fn renew_stamp(&mut self) {
        let WriteTxn { core, base, .. } = self;
        base.as_deref_mut().expect(BASE_THERE).renew_stamp(core);
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether there is anything to commit: pages were touched, or the catalog. A put of what is
    /// there already touches nothing, nor does a delete of what is not there.
    pub(crate) fn is_changed(&self) -> bool {
        self.notes.changed
            || !self.pages().is_untouched()
            || self.main != self.base().meta.main
            || self.geometry != self.base().meta.geometry
            || self.give_back_to.is_some()
            || self.tables.borrow().changed().next().is_some()
    }

    pub(crate) fn check_usable(&self) -> Result<()> {
        self.core.store.writer.used_here();
        if self.broken {
            return Err(Error::TxnBroken);
        }
        self.core.check_forked()
    }

    /// Changes a table; what `act` returns.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], and those of `act`: the table is as it was then, and the
    /// transaction broken unless the error is a refusal (X1).
    pub(crate) fn edit<R>(
        &mut self,
        no: TableNo,
        how: How,
        act: impl FnOnce(&mut TreeMut<'_, AnyOrder<'_>>) -> Result<R>,
    ) -> Result<R> {
        self.edit_by_handle(no, how, |tree, _| act(tree))
    }

    /// Changes a multimap, of which values are compared, too; as [`WriteTxn::edit`].
    pub(crate) fn edit_pairs<R>(
        &mut self,
        no: TableNo,
        how: How,
        act: impl FnOnce(&mut TreeMut<'_, Orders<'_>>) -> Result<R>,
    ) -> Result<R> {
        self.edit_by_handle(no, how, |tree, handle| {
            let own = if has_own_values(tree.tree) { Some(handle.info()?) } else { None };
            let orders = Orders { keys: tree.order, values: value_order(tree.tree, own)? };
            act(&mut tree.ordered_by(orders))
        })
    }

    /// The same for an `act` that may ask what the handle means.
    fn edit_by_handle<R>(
        &mut self,
        no: TableNo,
        how: How,
        act: impl FnOnce(&mut TreeMut<'_, AnyOrder<'_>>, &Handle<'_>) -> Result<R>,
    ) -> Result<R> {
        let Some(mut tree) = self.tree_of(no)? else { return Err(Error::TableNotFound) };
        self.tables.get_mut().make_room()?;
        let done = self.run(how, |txn| {
            let WriteTxn { core, kept, base, .. } = txn;
            let handle = Handle { core, kept, no };
            let order = match built_in(tree.order) {
                Some(order) => order,
                None if how == How::Unordered => AnyOrder::UNORDERED,
                None => handle.info()?.order.resolve(tree.order).ok_or(Error::OrderUnknown)?,
            };
            let Base { pages, finger, .. } = base.as_deref_mut().expect(BASE_THERE);
            act(&mut TreeMut { pages, tree: &mut tree, order, finger }, &handle)
        })?;
        self.note_edited(no, &tree);
        Ok(done)
    }

    /// Changes the catalog; what `act` returns. On an error the catalog is as it was.
    pub(super) fn edit_catalog<R>(
        &mut self,
        how: How,
        act: impl FnOnce(&mut Catalog<'_>) -> Result<R>,
    ) -> Result<R> {
        self.guarded(how, |txn| {
            let mut main = txn.main;
            let Base { pages, finger, .. } = txn.base_mut();
            let done = act(&mut TreeMut { pages, tree: &mut main, order: NAMES, finger })?;
            txn.main = main;
            Ok(done)
        })
    }

    /// Runs a change of anything else (X1).
    pub(crate) fn guarded<R>(
        &mut self,
        how: How,
        act: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.check_usable()?;
        self.run(how, act)
    }

    /// X1: the transaction counts as broken while `act` runs, and stays so unless it ends well or
    /// refuses before it has changed anything.
    #[inline]
    fn run<R>(&mut self, how: How, act: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.broken = true;
        self.renew_stamp();
        self.pages_mut().set_frugal(how.uses_reserve());
        let done = match act(self) {
            Ok(done) => done,
            Err(error) => {
                self.broken = how == How::AllOrNothing || !is_refusal(&error);
                return Err(error);
            }
        };
        if how != How::Seal {
            self.pages_mut().settle()?;
            if self.pages().is_lost() {
                return Err(Error::OutOfMemory);
            }
        }
        self.broken = false;
        Ok(done)
    }

    /// Undoes everything. The same as dropping the transaction, but says so.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 1)?;
    /// txn.abort();
    /// assert!(env.read()?.table_names()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abort(self) {}

    pub(crate) fn txnid(&self) -> Txnid {
        self.pages().txnid()
    }
}

/// Errors that are found before anything is changed.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::KeyTooLong { .. }
            | Error::ValueTooLong
            | Error::SortedValueTooLong { .. }
            | Error::ValueLength
            | Error::ManyValues
            | Error::KeyLength
            | Error::KeyOutOfOrder
            | Error::TableNotFound
            | Error::TableKind
            | Error::NameTaken
            | Error::OrderUnknown
            | Error::TablesInside
            | Error::WrongOrder(_)
            | Error::TableType(_)
            | Error::TableExists
            | Error::Invalid(_)
            | Error::Decode(_)
            | Error::Encode(_)
    )
}

impl Drop for WriteTxn {
    fn drop(&mut self) {
        if self.core.check_forked().is_err() {
            // They are the parent's, half changed it may be, and some lie in the file.
            std::mem::forget(self.base.take());
            return;
        }
        self.settle_names();
        // The next writer takes these pages.
        if let Some(base) = self.base.take() {
            self.core.count_shapes(&base.pages.counts());
            if base.pages.are_as_they_began() && self.holds_role && !self.broken {
                self.core.remember(base);
            }
        }
        if self.holds_role {
            self.core.end_writing();
        }
    }
}

impl std::fmt::Debug for WriteTxn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let base = self.base.as_ref().map(|base| base.meta.txnid.0);
        f.debug_struct("WriteTxn").field("base", &base).finish_non_exhaustive()
    }
}

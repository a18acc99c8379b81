//! Write transactions: begin, change, nest, abort. How one ends well is in `commit`.
//!
//! X1. An error or a panic in the middle of a change leaves the transaction broken: it can only be
//!     dropped.
//! X2. What a dropped transaction did has not happened; its id is burnt if it wrote a page (P7).

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::os::Mark;
use crate::page::{AnyOrder, Geometry, Meta, Tree, Txnid};
use crate::store::pages::{EditPlace, Pages};
use crate::tree::finger::Finger;
use crate::txn::kept::Kept;
use crate::txn::names::TableNo;
use crate::txn::notes::Notes;
use crate::txn::open_tables::{self, OpenTables, State};
use crate::txn::order::built_in;
use crate::txn::{Base, Core, Release};

/// Why the pages of a write transaction are there.
const PAGES_THERE: &str = "pages are there until the commit";

/// What a nested level restores when it is aborted.
pub(super) struct Level {
    /// Of a savepoint; `None` for a nested transaction.
    name: Option<Box<[u8]>>,
    main: Tree,
    geometry: Geometry,
    pub(super) tables: open_tables::Mark,
    notes: Notes,
}

/// The one transaction that may change the environment at a time.
///
/// Nobody sees its changes before [`WriteTxn::commit`]; dropping it undoes them. It can be sent to
/// another thread.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
/// let mut txn = env.write()?;
/// let ages = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("ages"))?;
/// ages.put(&mut txn, "ada", &36)?;
/// txn.commit()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What is got from it borrows it, so that it can be held neither across a change nor beyond the
/// end. This is refused by the compiler:
///
/// ```compile_fail,E0502
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
/// # let mut txn = env.write()?;
/// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::Str>::new("t"))?;
/// let records = t.iter(&txn)?;
/// txn.commit()?;
/// records.for_each(drop);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A copy is fine, and so is what was got before the end:
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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
pub struct WriteTxn {
    pub(crate) core: Arc<Core>,
    /// `None` only while the commit takes it apart.
    pub(crate) pages: Option<Box<Pages>>,
    /// What the transaction started from, as [`Base`] has it.
    pub(crate) base: Meta,
    pub(crate) base_mark: Mark,
    pub(crate) main: Tree,
    pub(crate) geometry: Geometry,
    pub(super) tables: RefCell<OpenTables>,
    /// Functions of the caller's that order the tables it has used.
    pub(super) kept: Kept,
    pub(super) levels: Vec<Level>,
    /// Where the last put was made, from the second change on.
    finger: Option<Box<Finger>>,
    /// Numbers for the states that the transaction shows, so that detached cursors notice changes;
    /// the first is that of the state it shows now.
    stamps: Range<u64>,
    pub(super) notes: Notes,
    broken: bool,
    /// The commit gives back all that is free at the end of the file, but for slack up to so many
    /// pages.
    pub(crate) give_back_to: Option<u32>,
    /// The writer's role is still held.
    pub(crate) holds_role: bool,
    /// Its snapshot, once that is sealed: what it did has happened.
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
        let txn = Self::begin_as_writer(core)?;
        // From here on the transaction's own drop gives the role back.
        std::mem::forget(role);
        Ok(txn)
    }

    fn begin_as_writer(core: &Arc<Core>) -> Result<WriteTxn> {
        core.check_writable()?;
        core.repair_if_due()?;
        assert!(core.check_forked().is_ok(), "P5: a forked child never gets the writer's role");
        // P16: the repair comes before anything is allocated.
        if core.is_repair_due() {
            return Err(Error::corrupt_file("the lock file asks for a repair that was made (P16)"));
        }
        let Base { mark: base_mark, meta: base, mut pages } = core.base()?;
        let id = core.next_id(&base)?;
        core.store.board.forget_close()?;
        if base.used > core.store.map_pages() {
            return Err(core.store.map_too_small(base.used));
        }
        core.store.set_geometry(&base.geometry);
        core.store.cover(base.used)?;
        // A power cut may have made it shorter than was promised. On a full disk it stays so.
        let _ = core.store.cover(base.geometry.lower.min(core.store.map_pages()));
        core.shrink_file(&base)?;
        let place = if core.edits_in_place.load(Ordering::Relaxed) {
            EditPlace::File
        } else {
            EditPlace::Memory
        };
        pages.begin(id, place);
        reach(Point::Begun);
        Ok(WriteTxn {
            core: core.clone(),
            pages: Some(pages),
            main: base.main,
            notes: Notes::of(&base),
            geometry: base.geometry,
            base,
            base_mark,
            tables: RefCell::default(),
            kept: Kept::default(),
            levels: Vec::new(),
            finger: None,
            stamps: core.take_stamps(),
            broken: false,
            give_back_to: None,
            holds_role: true,
            sealed: None,
        })
    }

    /// Whether these bytes, got from a table, lie on a page that this transaction has written, or a
    /// large value that it has: its next change may write over them. Others stay what they are as
    /// long as the transaction lives. For bindings to languages that cannot keep a borrow across a
    /// change.
    ///
    /// Costs a look at each page that is buffered.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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
    pub fn is_dirty(&self, bytes: &[u8]) -> bool {
        self.pages().may_change_at(bytes)
    }

    /// As [`ReadTxn::is_mapped`](crate::ReadTxn::is_mapped).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
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
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// let txn = env.write()?;
    /// assert_eq!(txn.first_id(), txn.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// let def = huon::TableDef::<huon::Str, huon::U64>::new("changed in");
    /// let mut txn = env.write()?;
    /// let t = txn.create_table(&def)?;
    /// let id = txn.fix_id();
    /// t.put(&mut txn, "key", &id)?;
    /// assert_eq!(txn.commit()?, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fix_id(&mut self) -> u64 {
        self.pages_mut().fix_id().0
    }

    #[inline]
    pub(crate) fn pages(&self) -> &Pages {
        self.pages.as_deref().expect(PAGES_THERE)
    }

    pub(crate) fn pages_mut(&mut self) -> &mut Pages {
        self.pages.as_deref_mut().expect(PAGES_THERE)
    }

    /// The number of the state that the transaction shows: another one after each change.
    pub(crate) fn stamp(&self) -> u64 {
        self.stamps.start
    }

    /// What the transaction shows may differ from now on. No counter is touched that others share,
    /// but once in many changes.
    fn renew_stamp(&mut self) {
        self.stamps.start += 1;
        if self.stamps.is_empty() {
            self.stamps = self.core.take_stamps();
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether there is anything to commit: pages were touched, or the catalog. A put of what is
    /// there already touches nothing, nor does a delete of what is not there.
    pub(crate) fn is_changed(&self) -> bool {
        self.notes.changed
            || !self.pages().is_untouched()
            || self.main != self.base.main
            || self.geometry != self.base.geometry
            || self.give_back_to.is_some()
            || self.tables.borrow().changed().next().is_some()
    }

    /// Whether a nested transaction is open: a panic in its work has left it.
    pub(crate) fn is_nested(&self) -> bool {
        self.levels.iter().any(|level| level.name.is_none())
    }

    pub(crate) fn check_usable(&self) -> Result<()> {
        self.core.store.writer.used_here();
        if self.broken {
            return Err(Error::TxnBroken);
        }
        self.core.check_forked()
    }

    /// Runs one change of a table (X1). `frugal`: it gives space back, so it may use the last
    /// pages.
    pub(crate) fn change<R>(
        &mut self,
        no: TableNo,
        frugal: bool,
        edit: impl FnOnce(&mut Pages, &mut Tree, AnyOrder<'_>) -> Result<R>,
    ) -> Result<R> {
        let before = self.begin_change(no, frugal)?;
        let mut tree = before;
        // A function borrows what is kept beside the pages: nothing is cloned.
        let order = match built_in(tree.order) {
            Some(order) => Ok(order),
            None => self
                .kept
                .get(no, || self.core.names.info(no).ok_or(Error::TableNotFound))
                .and_then(|info| info.order.resolve(tree.order).ok_or(Error::OrderUnknown)),
        };
        let result = order.and_then(|order| {
            edit(self.pages.as_deref_mut().expect(PAGES_THERE), &mut tree, order)
        });
        self.end_change(no, &before, tree, result.as_ref().err()).and(result)
    }

    /// The same for a put, which may begin where the last one was made.
    pub(crate) fn change_near<R>(
        &mut self,
        no: TableNo,
        edit: impl FnOnce(&mut Pages, &mut Tree, AnyOrder<'_>, &mut Finger) -> Result<R>,
    ) -> Result<R> {
        let mut kept = match self.finger.take() {
            None if !self.pages().is_untouched() => Some(Box::new(Finger::new())),
            finger => finger,
        };
        let mut first = None;
        let result = self.change(no, false, |pages, tree, order| {
            let finger = match &mut kept {
                Some(finger) => finger,
                None => first.insert(Finger::new()),
            };
            edit(pages, tree, order, finger)
        });
        self.finger = kept;
        result
    }

    /// The same for a change that compares no keys.
    pub(crate) fn change_unordered<R>(
        &mut self,
        no: TableNo,
        frugal: bool,
        edit: impl FnOnce(&mut Pages, &mut Tree) -> Result<R>,
    ) -> Result<R> {
        let before = self.begin_change(no, frugal)?;
        let mut tree = before;
        let result = edit(self.pages_mut(), &mut tree);
        self.end_change(no, &before, tree, result.as_ref().err()).and(result)
    }

    /// The same for a change that is made of many: a refusal in the middle breaks the transaction
    /// too.
    pub(crate) fn change_firmly(
        &mut self,
        no: TableNo,
        edit: impl FnOnce(&mut Pages, &mut Tree, AnyOrder<'_>) -> Result<()>,
    ) -> Result<()> {
        let changed = self.change(no, false, edit);
        self.broken |= changed.is_err();
        changed
    }

    /// The table that a change is about to be made of. From here to [`WriteTxn::end_change`] the
    /// transaction counts as broken (X1).
    fn begin_change(&mut self, no: TableNo, frugal: bool) -> Result<Tree> {
        let tree = self.tree(no)?.ok_or(Error::TableNotFound)?;
        self.tables.get_mut().make_room()?;
        self.begin_guarded(frugal);
        Ok(tree)
    }

    /// The change of a table that was `before` has ended, with an error or with a `tree`.
    fn end_change(
        &mut self,
        no: TableNo,
        before: &Tree,
        mut tree: Tree,
        failed: Option<&Error>,
    ) -> Result<()> {
        self.end_guarded(failed)?;
        if failed.is_some() || tree == *before {
            return Ok(());
        }
        tree.changed = self.pages().txnid();
        if no == TableNo::MAIN {
            self.main = tree;
            return Ok(());
        }
        let used = self.tables.get_mut().used(no).expect("it was used when the change began");
        self.remember(used.at, State::Found { tree, changed: true });
        Ok(())
    }

    /// X1: the transaction counts as broken while `act` runs, and stays so unless it ends well or
    /// refuses before it has changed anything.
    pub(crate) fn guarded<R>(
        &mut self,
        frugal: bool,
        act: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.check_usable()?;
        self.begin_guarded(frugal);
        let result = act(self);
        self.end_guarded(result.as_ref().err()).and(result)
    }

    /// The first half of [`WriteTxn::guarded`].
    pub(super) fn begin_guarded(&mut self, frugal: bool) {
        self.broken = true;
        self.renew_stamp();
        self.pages_mut().set_frugal(frugal);
    }

    /// The second half after a success, where the seal comes next.
    pub(super) fn end_unspilled(&mut self) {
        self.broken = false;
    }

    /// The second half, after an error or a success, which may turn out to be none.
    fn end_guarded(&mut self, failed: Option<&Error>) -> Result<()> {
        if let Some(error) = failed {
            self.broken = !is_refusal(error);
            return Ok(());
        }
        self.pages_mut().settle()?;
        if self.pages().is_lost() {
            return Err(Error::OutOfMemory);
        }
        self.broken = false;
        Ok(())
    }

    /// Runs `work` as a nested transaction: on an error everything it did is undone, and only that.
    ///
    /// Nesting may go to any depth. The cost of undoing is proportional to the pages the work
    /// touched.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "kept", &1)?;
    /// let failed = txn.nested(|child| {
    ///     t.put(child, "lost", &2)?;
    ///     t.append(child, "above kept", &3)
    /// });
    /// assert!(matches!(failed, Err(huon::Error::KeyOutOfOrder)));
    /// assert_eq!(t.get(&txn, "lost")?, None);
    /// assert_eq!(t.get(&txn, "kept")?, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The outer transaction cannot be used meanwhile; the compiler refuses it:
    ///
    /// ```compile_fail,E0499
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// txn.nested(|child| t.put(&mut txn, "kept", &1))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nested<R>(&mut self, work: impl FnOnce(&mut WriteTxn) -> Result<R>) -> Result<R> {
        self.try_nested(work)
    }

    /// As [`WriteTxn::nested`], with an error of the caller's.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// let parsed = txn.try_nested(|child| -> Result<u64, Box<dyn std::error::Error>> {
    ///     t.put(child, "pear", &0)?;
    ///     Ok("seven".parse()?)
    /// });
    /// assert_eq!(parsed.unwrap_err().to_string(), "invalid digit found in string");
    /// assert_eq!(t.get(&txn, "pear")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_nested<R, E: From<Error>>(
        &mut self,
        work: impl FnOnce(&mut WriteTxn) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.check_usable()?;
        let depth = self.levels.len();
        self.push_level(None)?;
        // A panic in `work` leaves levels behind: the transaction is broken then, and is only
        // dropped.
        let core = self.core.clone();
        let bound = core.store.writer.bind();
        let result = work(self);
        drop(bound);
        assert!(self.levels.len() > depth, "W3: nested levels end in order");
        match result {
            Ok(result) if !self.broken => {
                self.commit_levels(depth)?;
                Ok(result)
            }
            Ok(_) => {
                self.abort_levels(depth);
                Err(E::from(Error::TxnBroken))
            }
            Err(error) => {
                self.abort_levels(depth);
                Err(error)
            }
        }
    }

    /// Sets a savepoint: from now on everything can be undone up to here, and what came before
    /// stays. Savepoints may have the same name; the newest counts. They end with the transaction,
    /// or with the nested one they were set in, whose changes theirs become.
    ///
    /// The same as [`WriteTxn::nested`], for programs whose nesting is not that of their functions.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "kept", &1)?;
    /// txn.savepoint("before the import")?;
    /// t.put(&mut txn, "lost", &2)?;
    /// txn.roll_back_to("before the import")?;
    /// assert_eq!(t.get(&txn, "lost")?, None);
    /// t.put(&mut txn, "second try", &3)?;
    /// txn.release("before the import")?;
    /// assert_eq!(t.count(&txn)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::TxnBroken`].
    pub fn savepoint(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        self.check_usable()?;
        let name = copied(name.as_ref())?.into_boxed_slice();
        self.push_level(Some(name))
    }

    /// Undoes everything since the savepoint was set, which stays. Savepoints that were set later
    /// are gone. A failure in the middle of a change that came later is undone, too.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no savepoint of that name in this (nested) transaction.
    pub fn roll_back_to(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        self.core.check_forked()?;
        let depth = self.savepoint_depth(name.as_ref())?;
        self.abort_levels(depth + 1);
        let name = self.levels.last_mut().and_then(|level| level.name.take());
        self.abort_levels(depth);
        if self.broken {
            return Err(Error::TxnBroken);
        }
        self.push_level(name)
    }

    /// Forgets a savepoint, and those that were set later; what was changed stays.
    ///
    /// # Errors
    /// As [`WriteTxn::roll_back_to`].
    pub fn release(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        self.check_usable()?;
        let depth = self.savepoint_depth(name.as_ref())?;
        self.commit_levels(depth)
    }

    /// How many levels lie below the newest savepoint of that name.
    fn savepoint_depth(&self, name: &[u8]) -> Result<usize> {
        let own = self.levels.iter().rposition(|level| level.name.is_none()).map_or(0, |at| at + 1);
        let named = |level: &Level| level.name.as_deref() == Some(name);
        match self.levels[own..].iter().rposition(named) {
            Some(at) => Ok(own + at),
            None => Err(Error::Invalid("there is no savepoint of that name")),
        }
    }

    fn push_level(&mut self, name: Option<Box<[u8]>>) -> Result<()> {
        self.levels.try_reserve(1)?;
        self.pages_mut().push_level()?;
        let tables = self.tables.get_mut().begin_level();
        let Self { main, geometry, notes, .. } = *self;
        self.levels.push(Level { name, main, geometry, tables, notes });
        Ok(())
    }

    /// Ends levels, the newest first, until only so many are left.
    pub(crate) fn commit_levels(&mut self, depth: usize) -> Result<()> {
        while self.levels.len() > depth {
            self.commit_level()?;
        }
        Ok(())
    }

    fn abort_levels(&mut self, depth: usize) {
        while self.levels.len() > depth {
            self.abort_level();
        }
    }

    fn commit_level(&mut self) -> Result<()> {
        let level = self.levels.pop().expect("W3: a level is open");
        let outer = self.levels.last().map(|level| level.tables);
        self.tables.get_mut().commit_level(level.tables, outer);
        self.pages_mut().commit_level();
        self.renew_stamp();
        self.broken = self.pages().is_lost();
        if self.broken { Err(Error::OutOfMemory) } else { Ok(()) }
    }

    /// A level that failed in the middle of a change is whole again once it is undone.
    fn abort_level(&mut self) {
        let level = self.levels.pop().expect("W3: a level is open");
        self.pages_mut().abort_level(level.geometry.upper);
        (self.main, self.geometry, self.notes) = (level.main, level.geometry, level.notes);
        self.core.store.set_geometry(&level.geometry);
        self.tables.get_mut().abort_level(level.tables);
        self.renew_stamp();
        // What outer levels have lost is gone for good.
        self.broken = self.pages().is_lost();
    }

    /// Undoes everything. The same as dropping the transaction, but says so.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", &1)?;
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
            | Error::TableExists
            | Error::Invalid(_)
            | Error::Decode(_)
    )
}

impl Drop for WriteTxn {
    fn drop(&mut self) {
        if self.core.check_forked().is_err() {
            // They are the parent's, half changed it may be, and some lie in the file.
            std::mem::forget(self.pages.take());
            return;
        }
        self.settle_names();
        // The next writer takes these pages.
        if let Some(pages) = self.pages.take() {
            self.core.count_shapes(&pages.counts());
            if pages.are_as_they_began() && self.holds_role && !self.broken {
                let items = std::mem::take(&mut self.base.items);
                let meta = Meta { items, ..self.base.clone() };
                self.core.remember(Base { mark: self.base_mark, meta, pages });
            }
        }
        if self.holds_role {
            self.core.end_writing();
        }
    }
}

impl std::fmt::Debug for WriteTxn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteTxn").field("base", &self.base.txnid.0).finish_non_exhaustive()
    }
}

//! Nested transactions and savepoints: levels of a write transaction, ended from the newest on.
//!
//! W3. Levels end in order, and an aborted one leaves nothing behind.

use super::WriteTxn;
use crate::alloc::copied;
use crate::error::{Error, Result};
use crate::page::{PageGeometry, Tree};
use crate::txn::notes::Notes;
use crate::txn::open_tables;

/// The state that a nested level restores when it is aborted.
pub(in crate::txn) struct TxnLevel {
    /// Of a savepoint; `None` for a nested transaction.
    name: Option<Box<[u8]>>,
    main: Tree,
    geometry: PageGeometry,
    pub(in crate::txn) tables: open_tables::LevelMark,
    notes: Notes,
}

impl WriteTxn {
    /// Whether a nested transaction is open: a panic in its work has left it.
    pub(crate) fn is_nested(&self) -> bool {
        self.levels.iter().any(|level| level.name.is_none())
    }

    /// Runs `work` as a nested transaction: on an error everything it did is undone, and only that.
    ///
    /// Nesting may go to any depth. The cost of undoing is proportional to the pages the work
    /// touched.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "kept", 1)?;
    /// let failed = txn.nested(|child| {
    ///     t.put(child, "lost", 2)?;
    ///     t.append(child, "above kept", 3)
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
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// txn.nested(|child| t.put(&mut txn, "kept", 1))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nested<R>(&mut self, work: impl FnOnce(&mut WriteTxn) -> Result<R>) -> Result<R> {
        self.try_nested(work)
    }

    /// As [`WriteTxn::nested`], with an error of the caller's.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// let parsed = txn.try_nested(|child| -> Result<u64, Box<dyn std::error::Error>> {
    ///     t.put(child, "pear", 0)?;
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

    /// Sets a savepoint: from now on all changes can be undone up to here, and earlier ones stay.
    /// Savepoints may have the same name; the newest counts. They end with the transaction, or with
    /// the nested one they were set in, whose changes theirs become.
    ///
    /// The same as [`WriteTxn::nested`], for programs whose nesting is not that of their functions.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "kept", 1)?;
    /// txn.savepoint("before the import")?;
    /// t.put(&mut txn, "lost", 2)?;
    /// txn.roll_back_to("before the import")?;
    /// assert_eq!(t.get(&txn, "lost")?, None);
    /// t.put(&mut txn, "second try", 3)?;
    /// txn.release("before the import")?;
    /// assert_eq!(t.len(&txn)?, 2);
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

    /// Forgets a savepoint, and those that were set later; the changes stay.
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
        let named = |level: &TxnLevel| level.name.as_deref() == Some(name);
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
        self.levels.push(TxnLevel { name, main, geometry, tables, notes });
        self.extensions.begin_level();
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
        self.extensions.end_level(self.levels.len() + 1, true);
        self.renew_stamp();
        self.broken = self.pages().is_lost();
        if self.broken { Err(Error::OutOfMemory) } else { Ok(()) }
    }

    /// A level that failed in the middle of a change is whole again once it is undone.
    fn abort_level(&mut self) {
        let level = self.levels.pop().expect("W3: a level is open");
        self.pages_mut().abort_level(level.geometry.max_pages);
        (self.main, self.geometry, self.notes) = (level.main, level.geometry, level.notes);
        self.core.store.set_geometry(&level.geometry);
        self.tables.get_mut().abort_level(level.tables);
        self.extensions.end_level(self.levels.len() + 1, false);
        self.renew_stamp();
        // Pages that outer levels have lost are gone for good.
        self.broken = self.pages().is_lost();
    }
}

//! State that a layer on top of Huon keeps with a write transaction.

use std::any::Any;

use super::WriteTxn;
use crate::error::{Error, Result};

/// What a layer on top of Huon keeps with a write transaction: changes that it collects and makes
/// at the commit, say. [`WriteTxn::extend`] adds one.
///
/// It follows the transaction's levels, so that what a layer collected in a nested transaction is
/// gone when that one is undone. An extension that was added in a level goes with it if it is
/// undone. So no layer needs a transaction type of its own, and none can be forgotten by a program
/// that commits.
///
/// ```
/// use huon::{Env, Extension, Result, Str, TableDef, U64, WriteTxn};
/// const COUNTS: TableDef<Str, U64> = TableDef::new("counts");
///
/// /// Counts words in memory, and adds them to the table at the commit.
/// #[derive(Default)]
/// struct Counter {
///     words: Vec<String>,
///     /// How many there were when each level began.
///     marks: Vec<usize>,
/// }
///
/// impl Extension for Counter {
///     fn begin_level(&mut self) {
///         self.marks.push(self.words.len());
///     }
///     fn end_level(&mut self, kept: bool) {
///         let mark = self.marks.pop().expect("each level begins");
///         if !kept {
///             self.words.truncate(mark);
///         }
///     }
///     fn before_commit(&mut self, txn: &mut WriteTxn) -> Result<()> {
///         let counts = txn.create_table(&COUNTS)?;
///         for word in &self.words {
///             counts.update_with(txn, word, |old, count| count.set(old.unwrap_or(0) + 1))?;
///         }
///         Ok(())
///     }
/// }
///
/// fn count(txn: &mut WriteTxn, word: &str) {
///     txn.extend(Counter::default).words.push(word.to_owned());
/// }
/// # let env = Env::in_memory()?;
/// env.update(|txn| {
///     count(txn, "pear");
///     let undone: Result<()> = txn.nested(|child| {
///         count(child, "plum");
///         Err(huon::Error::Invalid("no plums"))
///     });
///     assert!(undone.is_err());
///     count(txn, "pear");
///     Ok(())
/// })?;
/// let txn = env.read()?;
/// let counts = txn.open_table(&COUNTS)?.expect("made at the commit");
/// assert_eq!(counts.get(&txn, "pear")?, Some(2));
/// assert_eq!(counts.get(&txn, "plum")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Extension: Any + Send {
    /// A nested transaction begins, or a savepoint is set.
    fn begin_level(&mut self) {}

    /// The newest level that has begun since the extension was added ends: its changes become those
    /// of the level around it (`kept`), or are undone.
    fn end_level(&mut self, kept: bool) {
        let _ = kept;
    }

    /// The transaction is about to commit; what the extension changes is part of it. No level is
    /// open, and the transaction does not show its extensions. An error is the commit's, and
    /// nothing has happened then.
    ///
    /// Extensions are called in the order in which they were added. Not called for one whose
    /// transaction is dropped.
    ///
    /// # Errors
    /// Any, as the layer likes.
    fn before_commit(&mut self, txn: &mut WriteTxn) -> Result<()> {
        let _ = txn;
        Ok(())
    }

    /// The transaction has committed as `id`, and is as durable as was asked for. The thread that
    /// committed may begin others here. Not called where the commit failed, also if that was only
    /// the flush.
    fn after_commit(&mut self, id: u64) {
        let _ = id;
    }
}

/// The extensions of a write transaction, one of each type.
#[derive(Default)]
pub(in crate::txn) struct Extensions(Vec<AddedExtension>);

struct AddedExtension {
    /// The level that it was added in, or the one that this became part of.
    level: usize,
    extension: Box<dyn Extension>,
}

impl Extensions {
    fn find<T: Extension>(&self) -> Option<usize> {
        self.0.iter().position(|added| (&*added.extension as &dyn Any).is::<T>())
    }

    /// A level begins.
    pub(super) fn begin_level(&mut self) {
        self.0.iter_mut().for_each(|added| added.extension.begin_level());
    }

    /// The transaction has committed.
    pub(in crate::txn) fn after_commit(self, id: u64) {
        self.0.into_iter().for_each(|mut added| added.extension.after_commit(id));
    }

    /// Level number `level` ends.
    pub(super) fn end_level(&mut self, level: usize, kept: bool) {
        self.0.retain_mut(|added| {
            if added.level < level {
                added.extension.end_level(kept);
                return true;
            }
            added.level = level - 1;
            kept
        });
    }
}

impl WriteTxn {
    /// The extension of this type, which `make` makes if there is none yet: it belongs to the level
    /// that the transaction is in.
    ///
    /// See [`Extension`] for an example.
    pub fn extend<T: Extension>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let at = match self.extensions.find::<T>() {
            Some(at) => at,
            None => {
                let level = self.levels.len();
                self.extensions.0.push(AddedExtension { level, extension: Box::new(make()) });
                self.extensions.0.len() - 1
            }
        };
        let extension = &mut *self.extensions.0[at].extension as &mut dyn Any;
        extension.downcast_mut().expect("it was found by its type")
    }

    /// The extension of this type, if there is one.
    ///
    /// ```
    /// struct Name(&'static str);
    /// impl huon::Extension for Name {}
    /// # let env = huon::Env::in_memory()?;
    /// let mut txn = env.write()?;
    /// assert!(txn.extension::<Name>().is_none());
    /// txn.extend(|| Name("importer"));
    /// assert_eq!(txn.extension::<Name>().map(|name| name.0), Some("importer"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extension<T: Extension>(&self) -> Option<&T> {
        let at = self.extensions.find::<T>()?;
        (&*self.extensions.0[at].extension as &dyn Any).downcast_ref()
    }

    /// As [`ReadTxn::attach`](crate::ReadTxn::attach): an item that can be made and looked at while
    /// values are borrowed from the transaction. It follows no levels, and knows of no changes.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// struct Buffers(Vec<u8>);
    /// let txn = env.write()?;
    /// let buffers = txn.attach(|| Ok(Buffers(vec![7])))?;
    /// assert_eq!(txn.attach(|| Ok(Buffers(Vec::new())))?.0, buffers.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `make`; nothing is kept then.
    pub fn attach<T: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        self.attachments.get_or_make(make)
    }

    /// Lets the extensions make their changes, before a commit.
    pub(in crate::txn) fn finish_extensions(&mut self) -> Result<Extensions> {
        let mut extensions = std::mem::take(&mut self.extensions);
        for added in &mut extensions.0 {
            added.extension.before_commit(self)?;
        }
        // One may have set a savepoint, or passed over an error that broke the transaction.
        if self.is_broken() {
            return Err(Error::TxnBroken);
        }
        self.commit_levels(0)?;
        Ok(extensions)
    }
}

//! What an application notes in the snapshots themselves, beside its tables: three markers.
//!
//! I12. Markers name the snapshot that they were committed with. Its id is known at the seal only,
//!     since the transaction may go on under higher ids: until then it is the current one.

use crate::error::Result;
use crate::page::Meta;
use crate::planted;
use crate::txn::write::WriteTxn;

/// Three numbers for the application, and the transaction that changed them last; see
/// [`WriteTxn::set_markers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Markers {
    /// The numbers; 0 in a new environment.
    pub values: [u64; 3],
    /// The id of the transaction that changed them last; 0: none has.
    pub txnid: u64,
}

/// The notes as a write transaction has them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notes {
    pub(super) markers: Markers,
    pub(super) app_flags: u32,
    /// They are not those of the base.
    pub(super) changed: bool,
    /// The markers are this transaction's.
    own_markers: bool,
}

impl Notes {
    pub(super) fn of(meta: &Meta) -> Notes {
        let markers = Markers { values: meta.markers, txnid: meta.markers_txnid };
        Notes { markers, app_flags: meta.app_flags, changed: false, own_markers: false }
    }
}

impl WriteTxn {
    /// The application's markers.
    pub fn markers(&self) -> Markers {
        let Notes { markers, own_markers, .. } = self.notes;
        if own_markers && !planted::is(212) {
            Markers { txnid: self.id(), ..markers }
        } else {
            markers
        }
    }

    /// Sets the application's markers: they are committed with the transaction, and every snapshot
    /// has its own. What is the same already is no change. Costs no page.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// let before = env.read()?;
    /// let id = env.update(|txn| {
    ///     txn.set_markers([7, 0, u64::MAX])?;
    ///     Ok(txn.id())
    /// })?;
    /// let markers = env.read()?.markers();
    /// assert_eq!((markers.values, markers.txnid), ([7, 0, u64::MAX], id));
    /// assert_eq!(before.markers().values, [0; 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TxnBroken`](crate::Error::TxnBroken).
    pub fn set_markers(&mut self, values: [u64; 3]) -> Result<()> {
        if self.notes.markers.values != values {
            self.touch_markers(values)?;
        }
        Ok(())
    }

    /// Sets the markers, and notes this transaction as the one that changed them, even if they are
    /// the same.
    ///
    /// # Errors
    /// As [`WriteTxn::set_markers`].
    #[doc(hidden)]
    pub fn touch_markers(&mut self, values: [u64; 3]) -> Result<()> {
        self.check_usable()?;
        self.notes.markers = Markers { values, txnid: self.id() };
        (self.notes.changed, self.notes.own_markers) = (true, true);
        Ok(())
    }

    /// Takes over the notes of another environment.
    pub(crate) fn take_notes(&mut self, meta: &Meta) {
        self.notes = Notes { changed: true, ..Notes::of(meta) };
    }
}

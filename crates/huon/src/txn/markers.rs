//! A write transaction's markers (I12, see `notes`).

use crate::error::Result;
use crate::page::Meta;
use crate::planted::{self, Bug};
use crate::txn::notes::{Markers, Notes};
use crate::txn::write::WriteTxn;

impl WriteTxn {
    /// The application's markers.
    pub fn markers(&self) -> Markers {
        let Notes { markers, own_markers, .. } = self.notes;
        if own_markers && !planted::is(Bug::MarkerId) {
            Markers { txnid: self.id(), ..markers }
        } else {
            markers
        }
    }

    /// Sets the application's markers: they are committed with the transaction, and every snapshot
    /// has its own. Setting the same values is no change. Costs no page.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
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
        self.notes = Notes { changed: true, names: false, ..Notes::of(meta) };
    }
}

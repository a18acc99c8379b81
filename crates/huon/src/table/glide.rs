//! Steps of cursors that remember nothing of where they come to. For the C interfaces, whose
//! cursors belong to one transaction: in a read transaction no page moves, so the path is enough.
//!
//! A cursor that was moved so stands on its path ([`Gap::OnPath`]), as long as it is used in what
//! the transaction shows now; in anything else it stands before the first record. In a write
//! transaction, whose next change may move the pages, it remembers the record all the same.

use crate::error::Result;
use crate::table::codec::Bytes;
use crate::table::cursor::{Cursor, Entry, MultiCursor, Shape};
use crate::table::standing::Gap;
use crate::table::txn::{AnyTxn, Txn};
use crate::tree::pair_path::Stride;
use crate::tree::view::TreeView;
use crate::txn::read::ReadTxn;

/// A step within the values of a key: `Some(None)` if it has no more that way.
type ValueStep<'t> = Option<Option<Entry<'t>>>;

impl<S: Shape> Cursor<Bytes, Bytes, S> {
    /// As [`Cursor::next`], or as [`Cursor::prev`], but that a read transaction's cursor remembers
    /// no key, and stops at the names of tables too, which are keys of the main table.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// use huon::{Bytes, TableDef};
    /// let main = txn.create_table(&TableDef::<Bytes, Bytes>::main())?;
    /// txn.create_table(&TableDef::<Bytes, Bytes>::new("users"))?;
    /// main.put(&mut txn, b"version", b"3")?;
    /// txn.commit()?;
    /// let (txn, mut cursor) = (env.read()?, main.cursor());
    /// assert_eq!(cursor.glide(&txn, true)?, Some((&b"users"[..], None)));
    /// assert_eq!(cursor.glide(&txn, true)?, Some((&b"version"[..], Some(&b"3"[..]))));
    /// assert_eq!(cursor.glide(&txn, true)?, None);
    /// assert_eq!(cursor.position(), None);
    /// cursor.remember(&txn)?;
    /// assert_eq!(cursor.position(), Some(&b"version"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    #[inline]
    pub fn glide<'t>(&mut self, txn: &'t impl Txn, forward: bool) -> Result<Option<Entry<'t>>> {
        let txn = txn.any();
        self.place(txn)?;
        let found = self.pass(txn, forward)?;
        if let Some(entry) = found {
            self.stand_on_path(txn, entry, forward);
        }
        Ok(found)
    }

    /// As [`Cursor::glide`] where that goes on as the cursor came, and is a look at the next slot
    /// of a leaf, or in a multimap at a value in its cell. `None`, and nothing has moved: it is
    /// more.
    #[doc(hidden)]
    #[inline(always)]
    pub fn glide_in_leaf<'t>(
        &mut self,
        txn: &'t ReadTxn,
        forward: bool,
        stride: Stride,
    ) -> Option<(&'t [u8], &'t [u8])> {
        if !self.standing.is_on_path(txn, forward) {
            return None;
        }
        if S::MANY {
            let fixed_bytes = self.standing.tree().fixed_bytes as usize;
            return self.path.pass_in_leaf(&txn.snapshot, fixed_bytes, forward, stride);
        }
        let mut passed = None;
        self.path.keys.pass_in_leaf(&txn.snapshot, forward, 1, |key, value| {
            passed = Some((key, value));
        });
        passed
    }

    /// Remembers the record that was passed last, where it does not yet.
    #[doc(hidden)]
    pub fn remember(&mut self, txn: &impl Txn) -> Result<()> {
        let Gap::OnPath { behind } = self.standing.gap else { return Ok(()) };
        let txn = txn.any();
        self.place(txn)?;
        // There and back.
        self.pass(txn, !behind)?;
        if let Some((key, value)) = self.pass(txn, behind)? {
            self.stand_beyond((key, value.unwrap_or_default()), behind);
        }
        Ok(())
    }

    #[inline(always)]
    fn stand_on_path(&mut self, txn: AnyTxn<'_>, (key, value): Entry<'_>, behind: bool) {
        match txn {
            AnyTxn::Read(_) => self.standing.glide(behind),
            AnyTxn::Write(_) => self.stand_beyond((key, value.unwrap_or_default()), behind),
        }
    }
}

impl Cursor<Bytes, Bytes> {
    /// As [`Cursor::glide_in_leaf`], over `most` records at most.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # use huon::{Bytes, TableDef};
    /// let table = txn.create_table(&TableDef::<Bytes, Bytes>::new("t"))?;
    /// (b'a'..=b'z').try_for_each(|n| table.put(&mut txn, &[n], b"").map(drop))?;
    /// txn.commit()?;
    /// let (txn, mut cursor) = (env.read()?, table.cursor());
    /// let mut keys = Vec::new();
    /// cursor.glide_in_row(&txn, true, 3, |key, _| keys.push(key));
    /// assert!(keys.is_empty(), "it has not come that way yet");
    /// cursor.glide(&txn, true)?;
    /// cursor.glide_in_row(&txn, true, 3, |key, _| keys.push(key));
    /// assert_eq!(keys, [b"b", b"c", b"d"]);
    /// cursor.glide_back(2);
    /// assert_eq!(cursor.glide(&txn, true)?, Some((&b"c"[..], Some(&b""[..]))));
    /// cursor.glide_in_row(&txn, true, 100, |key, _| keys.push(key));
    /// assert_eq!(keys.last(), Some(&&b"z"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    #[inline]
    pub fn glide_in_row<'t>(
        &mut self,
        txn: &'t ReadTxn,
        forward: bool,
        most: usize,
        each: impl FnMut(&'t [u8], &'t [u8]),
    ) {
        if self.standing.is_on_path(txn, forward) {
            self.path.keys.pass_in_leaf(&txn.snapshot, forward, most, each);
        }
    }

    /// Takes back so many of the last steps in a leaf.
    #[doc(hidden)]
    pub fn glide_back(&mut self, count: usize) {
        if let Gap::OnPath { behind } = self.standing.gap {
            self.path.keys.step_back_in_leaf(behind, count);
        }
    }
}

impl MultiCursor<Bytes, Bytes> {
    /// As [`Cursor::glide`], over a value of the key that was passed last, where that was the same
    /// way. `None`, and nothing has moved: it was not, or the cursor was moved otherwise since.
    #[doc(hidden)]
    #[inline]
    pub fn glide_value<'t>(&mut self, txn: &'t impl Txn, forward: bool) -> Result<ValueStep<'t>> {
        let (any, wanted) = (txn.any(), Gap::OnPath { behind: forward });
        let AnyTxn::Read(read) = any else { return Ok(None) };
        if self.standing.gap != wanted || !self.standing.is_placed(any)? {
            return Ok(None);
        }
        let view = TreeView::unordered(&read.snapshot, self.standing.tree());
        let found = self.path.step_value(view, forward)?;
        Ok(Some(found.map(|(key, value)| (key, Some(value)))))
    }
}

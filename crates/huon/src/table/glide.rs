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
use crate::tree::path::{InLeaf, Passed};
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

    /// As [`Cursor::glide`] over `most` records at most, or pairs, where that goes on as the cursor
    /// came; where in its leaf it began, and how many it passed. Stops at the end of the leaf, and
    /// before a value that lies elsewhere, and where it has passed some the last one is the last of
    /// its key then. At the end of a leaf it goes on in the next one if it `leaves` this one: then
    /// no value is the cursor's until it has passed one.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # use huon::{Bytes, TableDef};
    /// let table = txn.create_table(&TableDef::<Bytes, Bytes>::new("t"))?;
    /// (b'a'..=b'z').try_for_each(|n| table.put(&mut txn, &[n], b"").map(drop))?;
    /// txn.commit()?;
    /// let (txn, mut cursor) = (env.read()?, table.cursor());
    /// let mut keys: Vec<&[u8]> = Vec::new();
    /// cursor.glide_in_row(&txn, true, true, 3, |key, _, _| keys.push(key))?;
    /// assert!(keys.is_empty(), "it has not come that way yet");
    /// cursor.glide(&txn, true)?;
    /// let row = cursor.glide_in_row(&txn, true, true, 3, |key, _, _| keys.push(key))?;
    /// let (began, count) = row.expect("it came that way");
    /// assert_eq!((&keys[..], count), (&[&b"b"[..], b"c", b"d"][..], 3));
    /// cursor.go_in_leaf(began.keys_on(1, true));
    /// assert_eq!(cursor.glide(&txn, true)?, Some((&b"c"[..], Some(&b""[..]))));
    /// let mut rest = Vec::new();
    /// cursor.glide_in_row(&txn, true, true, 100, |key, _, _| rest.push(key))?;
    /// assert_eq!(rest.last(), Some(&&b"z"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// In a multimap:
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # use huon::{Bytes, MultiDef};
    /// let table = txn.create_table(&MultiDef::<Bytes, Bytes>::new("t"))?;
    /// for (key, value) in [(b"a", b"1"), (b"a", b"2"), (b"b", b"1"), (b"c", b"1"), (b"c", b"2")] {
    ///     table.put(&mut txn, key, value)?;
    /// }
    /// txn.commit()?;
    /// let (txn, mut cursor) = (env.read()?, table.cursor());
    /// cursor.glide(&txn, true)?;
    /// let mut rest = Vec::new();
    /// cursor.glide_in_row(&txn, true, true, 9, |_, _, passed| rest.push(passed))?;
    /// let same: Vec<bool> = rest.iter().map(|passed| passed.is_same_key).collect();
    /// assert_eq!(same, [true, false, false, true]);
    /// cursor.go_in_leaf(rest[1].place.expect("it is of a multimap"));
    /// assert_eq!(cursor.glide_value(&txn, true)?, Some(None), "`b` has no more");
    /// assert_eq!(cursor.glide(&txn, true)?, Some((&b"c"[..], Some(&b"1"[..]))));
    /// cursor.glide(&txn, false)?;
    /// let mut back = Vec::new();
    /// cursor.glide_in_row(&txn, false, true, 9, |key, value, passed| {
    ///     back.push((key[0], value[0], passed.is_same_key));
    /// })?;
    /// assert_eq!(back, [(b'b', b'1', false), (b'a', b'2', false), (b'a', b'1', true)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    #[inline]
    pub fn glide_in_row<'t>(
        &mut self,
        txn: &'t ReadTxn,
        forward: bool,
        leaves: bool,
        most: usize,
        each: impl FnMut(&'t [u8], &'t [u8], Passed),
    ) -> Result<Option<(InLeaf, usize)>> {
        if !self.standing.is_on_path(txn, forward) {
            return Ok(None);
        }
        if leaves && let Err(error) = self.leave_leaf(txn, forward) {
            self.standing.lose_path();
            return Err(error);
        }
        let began = self.path.in_leaf();
        Ok(Some((began, self.pass_in_leaf(txn, forward, most, each))))
    }

    #[inline]
    fn leave_leaf(&mut self, txn: &ReadTxn, forward: bool) -> Result<()> {
        let view = TreeView::unordered(&txn.snapshot, self.standing.tree());
        if S::MANY {
            self.path.leave_leaf(view, forward)
        } else if self.path.keys.is_at_end_of_leaf(forward) {
            self.path.keys.leave_leaf(view, forward)
        } else {
            Ok(())
        }
    }

    /// As [`Cursor::glide_in_row`] over the record that was passed last, that way, and back.
    #[doc(hidden)]
    pub fn look_back<'t>(
        &mut self,
        txn: &'t ReadTxn,
        forward: bool,
        each: impl FnMut(&'t [u8], &'t [u8], Passed),
    ) -> Option<InLeaf> {
        if !self.standing.is_on_path(txn, forward) {
            return None;
        }
        let stands = self.path.in_leaf();
        self.pass_in_leaf(txn, !forward, 1, each);
        self.path.go_in_leaf(stands);
        Some(stands)
    }

    #[inline(always)]
    fn pass_in_leaf<'t>(
        &mut self,
        txn: &'t ReadTxn,
        forward: bool,
        most: usize,
        each: impl FnMut(&'t [u8], &'t [u8], Passed),
    ) -> usize {
        if S::MANY {
            let view = TreeView::unordered(&txn.snapshot, self.standing.tree());
            self.path.pass_in_leaf(view, forward, most, each)
        } else {
            self.path.keys.pass_in_leaf(&txn.snapshot, forward, most, each)
        }
    }

    /// Goes to a place of [`Cursor::glide_in_row`], while it is in the same leaf.
    #[doc(hidden)]
    pub fn go_in_leaf(&mut self, place: InLeaf) {
        if matches!(self.standing.gap, Gap::OnPath { .. }) {
            self.path.go_in_leaf(place);
        }
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
    /// As [`Cursor::glide`], to another key, where the pair passed last, that way, was the last one
    /// of its key. `None`, and nothing has moved: it was not, or nothing tells, or there is no key.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # use huon::{Bytes, MultiDef};
    /// let table = txn.create_table(&MultiDef::<Bytes, Bytes>::new("t"))?;
    /// for (key, value) in [(b"a", b"1"), (b"a", b"2"), (b"b", b"1")] {
    ///     table.put(&mut txn, key, value)?;
    /// }
    /// txn.commit()?;
    /// let (txn, mut cursor) = (env.read()?, table.cursor());
    /// cursor.glide(&txn, true)?;
    /// assert_eq!(cursor.glide_key(&txn, true)?, None, "`a` has another value");
    /// cursor.glide(&txn, true)?;
    /// assert_eq!(cursor.glide_key(&txn, true)?, Some((&b"b"[..], Some(&b"1"[..]))));
    /// assert_eq!(cursor.glide_key(&txn, true)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn glide_key<'t>(&mut self, txn: &'t impl Txn, forward: bool) -> Result<Option<Entry<'t>>> {
        let AnyTxn::Read(read) = txn.any() else { return Ok(None) };
        if !self.standing.is_on_path(read, forward) {
            return Ok(None);
        }
        let view = TreeView::unordered(&read.snapshot, self.standing.tree());
        if self.path.has_passed_key(view, forward)? { self.glide(txn, forward) } else { Ok(None) }
    }
}

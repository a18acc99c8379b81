//! Many steps of a cursor in one call, for the C interface: along a leaf where the records lie in
//! it, so that the cursor remembers a key for each leaf, and not for each record.

use std::ops::Bound;

use crate::error::Result;
use crate::store::source::PageSource;
use crate::table::codec::Bytes;
use crate::table::cursor::{Cursor, Shape};
use crate::table::txn::{AnyTxn, Txn};
use crate::tree::path::Passed;
use crate::tree::view::TreeView;

impl<S: Shape> Cursor<Bytes, Bytes, S> {
    /// As [`Cursor::next_until`], or as [`Cursor::prev_until`], for `most` records at most, as long
    /// as `take` takes what it is shown. How many it took; the cursor stands beside the last one.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// use std::ops::Bound;
    /// use huon::{Bytes, TableDef};
    /// let table = txn.create_table(&TableDef::<Bytes, Bytes>::new("t"))?;
    /// (b'a'..=b'z').try_for_each(|n| table.put(&mut txn, &[n], b"").map(drop))?;
    /// let (mut cursor, mut keys) = (table.cursor(), Vec::new());
    /// let mut take = |key: &[u8], _: &[u8]| {
    ///     let is_wanted = key != b"d";
    ///     keys.extend(is_wanted.then_some(key[0]));
    ///     is_wanted
    /// };
    /// assert_eq!(cursor.walk(&txn, true, Bound::Unbounded, 2, &mut take)?, 2);
    /// assert_eq!(cursor.walk(&txn, true, Bound::Unbounded, 9, &mut take)?, 1);
    /// assert_eq!(keys, b"abc");
    /// assert_eq!(cursor.next(&txn)?, Some((&b"d"[..], &b""[..])));
    /// assert_eq!(cursor.walk(&txn, true, Bound::Excluded(b"g"), 9, |_, _| true)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Cursor::next_until`]; the cursor stands beside the last one that was taken.
    #[doc(hidden)]
    #[inline]
    pub fn walk<'t>(
        &mut self,
        txn: &'t impl Txn,
        forward: bool,
        end: Bound<&[u8]>,
        most: usize,
        mut take: impl FnMut(&'t [u8], &'t [u8]) -> bool,
    ) -> Result<usize> {
        let (txn, mut taken) = (txn.any(), 0);
        while taken < most {
            self.place(txn)?;
            let limit = self.limit(txn, forward, end)?;
            let is_within = |key: &[u8]| limit.as_ref().is_none_or(|limit| limit.has(key));
            let mut takes = |key, value| is_within(key) && take(key, value);
            if self.step_if(txn, forward, &mut takes)?.is_none() {
                break;
            }
            taken += 1;
            let (more, goes_on) = match txn {
                _ if self.standing.is_lost() => break,
                AnyTxn::Read(read) => {
                    self.walk_in_leaf(&read.snapshot, forward, most - taken, takes)
                }
                AnyTxn::Write(write) => {
                    self.walk_in_leaf(write.pages(), forward, most - taken, takes)
                }
            };
            taken += more;
            if !goes_on {
                break;
            }
        }
        Ok(taken)
    }

    /// Goes on along the leaf, in which it has just come that way. How many records were taken, and
    /// whether the next one may be.
    #[inline(always)]
    fn walk_in_leaf<'t, P: PageSource>(
        &mut self,
        source: &'t P,
        forward: bool,
        most: usize,
        mut takes: impl FnMut(&'t [u8], &'t [u8]) -> bool,
    ) -> (usize, bool) {
        let (mut taken, mut goes_on) = (0, true);
        let (mut last, mut stands) = (None, self.path.in_leaf());
        let began = stands;
        let each = |key: &'t [u8], value: &'t [u8], passed: Passed| {
            goes_on = goes_on && takes(key, value);
            if goes_on {
                taken += 1;
                stands = passed.place.unwrap_or_else(|| began.keys_on(taken, forward));
                last = Some((key, value));
            }
        };
        if S::MANY {
            let view = TreeView::unordered(source, self.standing.tree());
            self.path.pass_in_leaf(view, forward, most, each);
        } else {
            self.path.keys.pass_in_leaf(source, forward, most, each);
        }
        self.path.go_in_leaf(stands);
        if let Some(record) = last {
            self.stand_beyond(record, forward);
        }
        (taken, goes_on)
    }
}

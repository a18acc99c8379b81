//! Single records for their place: at the ends of a table, and nearest to a key.

use std::ops::Bound::{Included, Unbounded};

use crate::error::Result;
use crate::page::{BytesOrder, Cell, OrderKind, PayloadKind};
use crate::table::codec::{Codec, KeyCodec, Scratch};
use crate::table::def::Table;
use crate::table::iter::{Range, Record};
use crate::table::txn::{AnyTxn, Txn};
use crate::tree::nearest::Nearest;
use crate::tree::view::TreeView;
use crate::txn::names::TableId;

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// The record with the lowest key.
    ///
    /// Costs one descent, as [`Table::get`]: no allocation, no system call.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (n, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
    ///     t.put(&mut txn, name, n as u64)?;
    /// }
    /// assert_eq!(t.first(&txn)?, Some(("ann", 0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first<'t>(self, txn: &'t impl Txn) -> Result<Option<Record<'t, K, V>>> {
        self.nearest(txn.any(), Nearest::First)
    }

    /// The record with the highest key; see [`Table::first`].
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// for (n, name) in ["ann", "bob", "cid"].into_iter().enumerate() {
    ///     t.put(&mut txn, name, n as u64)?;
    /// }
    /// assert_eq!(t.last(&txn)?, Some(("cid", 2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last<'t>(self, txn: &'t impl Txn) -> Result<Option<Record<'t, K, V>>> {
        self.nearest(txn.any(), Nearest::Last)
    }

    /// The record with the lowest key that is not below `key`.
    ///
    /// Costs one descent, as [`Table::get`], and the way to the next leaf where the record begins
    /// it: no allocation, no system call.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// # let t = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("t"))?;
    /// t.put(&mut txn, "ann", 1)?;
    /// t.put(&mut txn, "cid", 3)?;
    /// assert_eq!(t.at_or_above(&txn, "bob")?, Some(("cid", 3)));
    /// assert_eq!(t.at_or_below(&txn, "bob")?, Some(("ann", 1)));
    /// assert_eq!(t.at_or_above(&txn, "dan")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn at_or_above<'t>(
        self,
        txn: &'t impl Txn,
        key: K::In<'_>,
    ) -> Result<Option<Record<'t, K, V>>> {
        let mut scratch = Scratch::default();
        self.nearest(txn.any(), Nearest::AtOrAbove(K::encode(&key, &mut scratch)?))
    }

    /// The record with the highest key that is not above `key`; see [`Table::at_or_above`].
    pub fn at_or_below<'t>(
        self,
        txn: &'t impl Txn,
        key: K::In<'_>,
    ) -> Result<Option<Record<'t, K, V>>> {
        let mut scratch = Scratch::default();
        self.nearest(txn.any(), Nearest::AtOrBelow(K::encode(&key, &mut scratch)?))
    }

    /// Each of the four has code of its own for where most of them go.
    #[inline(always)]
    fn nearest<'t>(self, txn: AnyTxn<'t>, wanted: Nearest<'_>) -> Result<Option<Record<'t, K, V>>> {
        let value = match txn.fast_nearest(self.id, wanted) {
            Some(None) => return Ok(None),
            Some(Some(cell)) if cell.kind == PayloadKind::Inline => Some((cell.key, cell.payload)),
            Some(Some(cell)) => txn.value(&cell)?.map(|value| (cell.key, value)),
            None => None,
        };
        match value {
            Some((key, value)) => Ok(Some((K::decode(key)?, V::decode(value)?))),
            None => self.walk_to(txn, wanted),
        }
    }

    /// As [`Table::nearest`], in every case: also where the record of a named table is passed over,
    /// and with the reason where it fails.
    #[cold]
    #[inline(never)]
    fn walk_to<'t>(self, txn: AnyTxn<'t>, wanted: Nearest<'_>) -> Result<Option<Record<'t, K, V>>> {
        let (from, to, forward) = match wanted {
            Nearest::First => (Unbounded, Unbounded, true),
            Nearest::Last => (Unbounded, Unbounded, false),
            Nearest::AtOrAbove(key) => (Included(key), Unbounded, true),
            Nearest::AtOrBelow(key) => (Unbounded, Included(key), false),
        };
        Range::<K, V>::new(txn, self.id, from, to)?.step(forward)
    }
}

impl<'t> AnyTxn<'t> {
    /// As [`TreeView::fast_nearest`].
    #[inline(always)]
    fn fast_nearest(self, id: TableId, wanted: Nearest<'_>) -> Option<Option<Cell<'t>>> {
        // As most gets: a table at hand, and keys that are bytes.
        if let AnyTxn::Read(txn) = self
            && let Some(Some(tree)) = txn.tree_at_hand(txn.core().names.number(id).ok()?)
            && tree.order == OrderKind::Bytes
        {
            return TreeView::new(&txn.snapshot, tree, BytesOrder).fast_nearest(wanted);
        }
        self.nearest_in_any(id, wanted)
    }

    /// The same for keys of any order, and in transactions of either kind.
    #[inline(never)]
    fn nearest_in_any(self, id: TableId, wanted: Nearest<'_>) -> Option<Option<Cell<'t>>> {
        let tree = self.tree(id).ok()?;
        let order = self.order(id, &tree).ok()?;
        TreeView::new(self.source(), &tree, order).fast_nearest(wanted)
    }
}

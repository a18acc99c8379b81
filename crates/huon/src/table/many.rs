//! Getting many keys at once.

use crate::error::Result;
use crate::page::{Cell, PayloadKind, Tree};
use crate::store::source::OnPage;
use crate::table::codec::{Codec, KeyCodec, Scratch};
use crate::table::def::Table;
use crate::table::multi::Multi;
use crate::table::pairs::Values;
use crate::table::txn::{AnyTxn, Txn};
use crate::tree::many::BATCH;
use crate::tree::values::KeyValues;
use crate::tree::view::TreeView;
use crate::txn::names::TableId;

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// The values of many keys, each given to `found` with the key's place in `keys`, in that
    /// order.
    ///
    /// Returns for each key what [`Table::get`] returns. It is several times faster where the table
    /// does not fit the processor's caches: 16 keys at a time look for their pages together, so
    /// that one waits for memory while the others go on. Keys may come in any order and more than
    /// once; an order of their own makes it faster still. No allocation; no system call, except
    /// where the kernel does not read ahead (see [`ReadAhead`](crate::ReadAhead)): there pages are
    /// read from the disk for 16 keys at once. In a write transaction the gain is small.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let ages = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("ages"))?;
    /// ages.put(&mut txn, "ann", 31)?;
    /// ages.put(&mut txn, "bob", 47)?;
    ///
    /// let names = ["bob", "cid", "ann"];
    /// let mut found = [None; 3];
    /// ages.get_many(&txn, &names, |i, age| found[i] = age)?;
    /// assert_eq!(found, [Some(47), None, Some(31)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let blobs = txn.create_table(&huon::TableDef::<huon::Bytes, huon::Bytes>::new("blobs"))?;
    /// blobs.put(&mut txn, &[7; 16], b"seven")?;
    /// txn.commit()?;
    ///
    /// let txn = env.read()?;
    /// let all: Vec<[u8; 16]> = (0..100).map(|n| [n; 16]).collect();
    /// let wanted: Vec<&[u8]> = all.iter().map(|key| &key[..]).collect();
    /// let mut hits = Vec::new();
    /// blobs.get_many(&txn, &wanted, |i, blob| hits.extend(blob.map(|blob| (i, blob))))?;
    /// assert_eq!(hits, [(7, &b"seven"[..])]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Table::get`]. The first key that gives an error ends the call; `found` has then been
    /// called for the keys before it.
    pub fn get_many<'t>(
        self,
        txn: &'t impl Txn,
        keys: &[K::In<'_>],
        mut found: impl FnMut(usize, Option<V::Out<'t>>),
    ) -> Result<()> {
        let txn = txn.any();
        let tree = txn.tree(self.id)?;
        in_batches::<K>(txn, (self.id, &tree), keys, |i, cell| {
            let value = match cell {
                Some(cell) if cell.kind == PayloadKind::Inline => Some(cell.payload),
                Some(cell) => txn.value(cell)?,
                None => None,
            };
            found(i, value.map(V::decode).transpose()?);
            Ok(())
        })
    }
}

impl<K: KeyCodec, V: KeyCodec> Multi<K, V> {
    /// The values of many keys: hands `found` the number of each key and its values, key by key.
    ///
    /// The keys are looked up as by [`Table::get_many`]. Values that have a tree of their own are
    /// read when they are asked for.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// # let mut txn = env.write()?;
    /// let tags = txn.create_table(&huon::MultiDef::<huon::Str, huon::U64>::new("tags"))?;
    /// for (tag, document) in [("blue", 7), ("red", 3), ("red", 5)] {
    ///     tags.put(&mut txn, tag, document)?;
    /// }
    /// let mut counts = [0; 3];
    /// tags.get_many(&txn, &["red", "green", "blue"], |i, values| counts[i] = values.count())?;
    /// assert_eq!(counts, [2, 0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Table::get_many`].
    pub fn get_many<'t>(
        self,
        txn: &'t impl Txn,
        keys: &[K::In<'_>],
        mut found: impl FnMut(usize, Values<'t, V>),
    ) -> Result<()> {
        let txn = txn.any();
        let tree = txn.tree(self.id)?;
        in_batches::<K>(txn, (self.id, &tree), keys, |i, cell| {
            let held = cell.map(|cell| KeyValues::of(&tree, cell).on(tree.root)).transpose()?;
            found(i, Values::all(txn, held)?);
            Ok(())
        })
    }
}

/// Looks keys up, a batch at a time, and hands on the number and the cell of each.
#[inline]
fn in_batches<'t, K: Codec>(
    txn: AnyTxn<'t>,
    (id, tree): (TableId, &Tree),
    keys: &[K::In<'_>],
    mut found: impl FnMut(usize, Option<&Cell<'t>>) -> Result<()>,
) -> Result<()> {
    let order = txn.order(id, tree)?;
    let mut rooms: [Scratch; BATCH] = Default::default();
    let mut cells = [None; BATCH];
    for (round, keys) in keys.chunks(BATCH).enumerate() {
        let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
        for ((bytes, key), room) in batch.iter_mut().zip(keys).zip(&mut rooms) {
            *bytes = K::encode(key, room)?;
        }
        let batch = &batch[..keys.len()];
        let whole = txn.get_batch(tree, order, batch, &mut cells).is_some();
        for (i, key) in batch.iter().enumerate() {
            if !whole {
                // Damage on the way to one key is no reason to withhold those before it.
                cells[i] = TreeView::new(txn.source(), tree, order).get(key)?;
            }
            found(round * BATCH + i, cells[i].as_ref())?;
        }
    }
    Ok(())
}

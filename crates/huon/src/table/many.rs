//! Getting many keys at once.

use std::borrow::Borrow;

use crate::error::Result;
use crate::page::PayloadKind;
use crate::table::codec::{Codec, KeyCodec, Scratch};
use crate::table::def::Table;
use crate::table::txn::Txn;
use crate::tree::many::BATCH;

impl<K: KeyCodec, V: Codec> Table<K, V> {
    /// The values of many keys, each given to `found` with the key's place in `keys`, in that
    /// order.
    ///
    /// Answers what [`Table::get`] answers for each key. It is several times faster where the table
    /// does not fit the processor's caches: 16 keys at a time look for their pages together, so
    /// that one waits for memory while the others go on. Keys may come in any order and more than
    /// once; an order of their own makes it faster still. No allocation; no system call, but where
    /// the system does not read ahead (see [`ReadAhead`](crate::ReadAhead)): there pages of the
    /// disk are read for 16 keys at once. In a write transaction the gain is small.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let ages = txn.create_table(&huon::TableDef::<huon::Str, huon::U64>::new("ages"))?;
    /// ages.put(&mut txn, "ann", &31)?;
    /// ages.put(&mut txn, "bob", &47)?;
    ///
    /// let names = ["bob", "cid", "ann"];
    /// let mut found = [None; 3];
    /// ages.get_many(&txn, &names, |i, age| found[i] = age)?;
    /// assert_eq!(found, [Some(47), None, Some(31)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// `keys` is a slice of anything that can be borrowed as a key: for a table of bytes, of
    /// slices, arrays or vectors.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let env = huon::Env::options().open(dir.path().join("a.huon"))?;
    /// # let mut txn = env.write()?;
    /// let blobs = txn.create_table(&huon::TableDef::<huon::Bytes, huon::Bytes>::new("blobs"))?;
    /// blobs.put(&mut txn, &[7; 16], b"seven")?;
    /// txn.commit()?;
    ///
    /// let txn = env.read()?;
    /// let wanted: Vec<[u8; 16]> = (0..100).map(|n| [n; 16]).collect();
    /// let mut hits = Vec::new();
    /// blobs.get_many(&txn, &wanted, |i, blob| hits.extend(blob.map(|blob| (i, blob))))?;
    /// assert_eq!(hits, [(7, &b"seven"[..])]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Table::get`]. The first key that gives an error ends the call; `found` has then been
    /// given what came before it.
    pub fn get_many<'t, Q: Borrow<K::In>>(
        self,
        txn: &'t impl Txn,
        keys: &[Q],
        mut found: impl FnMut(usize, Option<V::Out<'t>>),
    ) -> Result<()> {
        let seat = txn.seat().0;
        let tree = seat.tree(self.id)?;
        let order = seat.order(self.id, &tree)?;
        let mut rooms: [Scratch; BATCH] = Default::default();
        let mut cells = [None; BATCH];
        for (round, keys) in keys.chunks(BATCH).enumerate() {
            let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
            for ((bytes, key), room) in batch.iter_mut().zip(keys).zip(&mut rooms) {
                *bytes = K::encode(key.borrow(), room);
            }
            let batch = &batch[..keys.len()];
            let whole = seat.get_batch(&tree, order, batch, &mut cells).is_some();
            for (i, key) in batch.iter().enumerate() {
                let value = match &cells[i] {
                    // Damage that one key meets is no reason to withhold those before it.
                    _ if !whole => seat.get(self.id, key)?,
                    Some(cell) if cell.kind == PayloadKind::Inline => Some(cell.payload),
                    Some(cell) => seat.value(cell)?,
                    None => None,
                };
                found(round * BATCH + i, value.map(V::decode).transpose()?);
            }
        }
        Ok(())
    }
}

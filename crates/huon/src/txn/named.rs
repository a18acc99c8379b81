//! Named snapshots: those that the file itself retains, for all processes and over restarts, until
//! they are dropped.
//!
//! A table of the catalog has a row for each: its id and name, and its image. A bit of the meta
//! says that they are there (Y2); copies of the file have none.
//!
//! Y1. A snapshot gets a name only once the data file's durable snapshot is not older: so whatever
//!     a recovery chooses, all pages of the snapshots that it names are on the disk.
//! Y2. The writer protects the snapshots that its base names (P11).
//! Y3. A dropped one stays protected until the drop is durable: the recovery after a power loss may
//!     choose a snapshot that names it still.
//! Y4. A reader of a named snapshot pins it, and then looks whether the newest published snapshot
//!     names it. If so, no writer has passed it over: one that does has seen the drop durable,
//!     which is published before (P9), and scans after that.
//! Y5. A snapshot that gets a name is pinned, and protected by the transaction itself from then on.

use std::ops::Bound;
use std::sync::Mutex;

use crate::alloc::{TryGrow, copied};
use crate::error::{Error, Result};
use crate::lock::Slot;
use crate::os::locked;
use crate::page::{BytesOrder, Labels, META_BYTES, Meta, OrderKind, Ptr, Reason, Tree};
use crate::planted::{self, Bug};
use crate::store::source::PageSource;
use crate::store::verified::Verified;
use crate::tree::cursor::Span;
use crate::tree::put::{NewValue, PutMode};
use crate::tree::read;
use crate::tree::shrink::Whose;
use crate::tree::view::TreeView;
use crate::txn::catalog;
use crate::txn::image::Image;
use crate::txn::write::{How, WriteTxn};
use crate::txn::{Core, Pin};

/// The name of the table.
pub(crate) const TABLE: &[u8] = b"huon.snapshots";
/// Bytes of a name at most.
pub(crate) const NAME_BYTES_MAX: usize = 255;
/// Named snapshots at most: each is looked at by every write transaction that wants pages.
pub(crate) const NAMED_MAX: usize = 1000;

/// By these types the table is told from one of a program's that has its name.
const LABELS: Labels<'static> = Labels {
    keys: None,
    values: None,
    key_type: Some("huon.SnapshotKey"),
    value_type: Some("huon.Image"),
};

/// A row of the table.
pub(crate) struct Row<'s> {
    pub(crate) id: u64,
    /// The transaction that dropped it; 0: it is there.
    dropped: u64,
    pub(crate) name: &'s str,
    /// Its image, without the zeros at its end.
    image: &'s [u8],
}

impl<'s> Row<'s> {
    fn decode(key: &'s [u8], value: &'s [u8]) -> Option<Row<'s>> {
        let (id, name) = key.split_first_chunk()?;
        let (dropped, image) = value.split_first_chunk()?;
        let name = std::str::from_utf8(name).ok()?;
        let (id, dropped) = (u64::from_be_bytes(*id), u64::from_le_bytes(*dropped));
        Some(Row { id, dropped, name, image })
    }

    pub(crate) fn is_there(&self) -> bool {
        self.dropped == 0
    }

    /// The image of the snapshot.
    pub(crate) fn image(&self) -> Result<Image> {
        let wrong = || Error::corrupt_file("the image of a named snapshot makes no sense");
        let mut block = [0; META_BYTES];
        block.get_mut(..self.image.len()).ok_or_else(wrong)?.copy_from_slice(self.image);
        let image = Image::from_bytes(&block).map_err(|_| wrong())?;
        if image.id() == self.id { Ok(image) } else { Err(wrong()) }
    }

    fn key(&self) -> Result<Vec<u8>> {
        let mut key = copied(&self.id.to_be_bytes())?;
        key.try_extend(self.name.bytes())?;
        Ok(key)
    }

    fn value(&self) -> Result<Vec<u8>> {
        let mut value = copied(&self.dropped.to_le_bytes())?;
        value.try_extend(self.image.iter().copied())?;
        Ok(value)
    }
}

/// Whether a table is the engine's own.
pub(crate) fn is_own(name: &[u8], tree: &Tree) -> bool {
    name == TABLE && tree.labels == LABELS.fingerprint()
}

/// The table of a snapshot with names, in its catalog `main`.
fn table<S: PageSource>(source: &S, main: &Tree) -> Result<Option<Tree>> {
    let found = catalog::find(source, main, TABLE)?;
    Ok(found.filter(|tree| is_own(TABLE, tree)))
}

/// All rows of the table.
fn rows_of<'s, S: PageSource>(source: &'s S, tree: &Tree) -> Result<Vec<Row<'s>>> {
    let (view, open) = (TreeView::new(source, tree, BytesOrder), Bound::Unbounded);
    let mut span: Span<'_, S> = Span::new(view, open, open)?;
    let mut rows = Vec::new();
    while let Some(cell) = span.next()? {
        let value = read::value(source, &cell)?.unwrap_or_default();
        let row = Row::decode(cell.key, value).filter(|_| rows.len() < NAMED_MAX * 2);
        rows.try_push(row.ok_or_else(|| Error::corrupt(tree.root.pgno.0, Reason::Cell.text()))?)?;
    }
    Ok(rows)
}

/// The named snapshots of a snapshot, those whose drop may not be durable among them.
pub(crate) fn rows<'s, S: PageSource>(source: &'s S, meta: &Meta) -> Result<Vec<Row<'s>>> {
    match meta.names.then(|| table(source, &meta.main)).transpose()?.flatten() {
        Some(tree) => rows_of(source, &tree),
        None => Ok(Vec::new()),
    }
}

/// What a table of names said last: its root, and each id with that of its drop.
#[derive(Default)]
pub(crate) struct NamedIds(Mutex<(Ptr, Vec<(u64, u64)>)>);

impl Core {
    /// Y2, Y3: the snapshots that are to be protected for the sake of their names, where `meta` is
    /// the newest. Read from the table only where that has changed.
    pub(crate) fn named_ids(&self, meta: &Meta) -> Result<Vec<u64>> {
        if !meta.names || planted::is(Bug::NamesUnprotected) {
            return Ok(Vec::new());
        }
        let source = Verified { store: &self.store, used: meta.used };
        let Some(tree) = table(&source, &meta.main)? else { return Ok(Vec::new()) };
        let mut known = locked(&self.named.0);
        if known.0 != tree.root {
            let mut ids = Vec::new();
            let rows = rows_of(&source, &tree)?;
            ids.try_extend(rows.iter().map(|row| (row.id, row.dropped)))?;
            *known = (tree.root, ids);
        }
        // Before the scan of the reader slots: Y4.
        let durable = self.store.board.durable().txnid();
        let stays = |dropped: u64| {
            dropped == 0 || dropped > durable && !planted::is(Bug::DroppedNameUnprotected)
        };
        let mut ids = Vec::new();
        ids.try_extend(known.1.iter().filter(|(_, dropped)| stays(*dropped)).map(|row| row.0))?;
        Ok(ids)
    }

    /// Y4: pins a snapshot of which the caller asks afterwards whether it is protected.
    pub(crate) fn pin_named(&self, txnid: u64) -> Result<Pin> {
        match &self.store.guest {
            None => {
                let slot: Slot = self.store.slots.claim()?;
                self.store.board.pin(&slot, txnid);
                Ok(Pin::Slot(slot))
            }
            Some(guest) => guest.pin(txnid).map(|()| Pin::Byte(txnid)),
        }
    }
}

/// A change of a row: its key, and its new value, or none.
type RowChange = (Vec<u8>, Option<Vec<u8>>);

impl WriteTxn {
    /// Y1, Y5: gives a snapshot a name. The caller has pinned it; one that has the name so far is
    /// dropped.
    pub(crate) fn name_image(&mut self, name: &str, image: &Image) -> Result<()> {
        self.check_usable()?;
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(Error::Invalid("the name of a snapshot has 1 to 255 bytes"));
        }
        if !planted::is(Bug::NamedBeforeDurable) {
            self.core.checkpoint_up_to(image.id())?;
        }
        if !planted::is(Bug::NameUnretained) {
            self.pages_mut().retain(image.id())?;
        }
        self.edit_names(name, Some(image)).map(drop)
    }

    /// Takes the name away from its snapshot; whether there was one.
    pub(crate) fn drop_name(&mut self, name: &str) -> Result<bool> {
        self.check_usable()?;
        Ok(self.notes.names && self.edit_names(name, None)?)
    }

    /// Drops what has the name, gives it to the snapshot of `image`, and forgets the rows of
    /// which nothing is needed any more. Whether a snapshot had the name.
    fn edit_names(&mut self, name: &str, image: Option<&Image>) -> Result<bool> {
        if self.tables.borrow().named(TABLE).is_some() {
            return Err(Error::Invalid("the transaction has opened the table of the snapshots"));
        }
        let own = self.fix_id();
        let (changes, had_it) = self.changes_of_names(name, image, own)?;
        let had_names = self.notes.names;
        if changes.is_empty() {
            return Ok(had_it);
        }
        self.edit_catalog(How::Grow, |main| {
            let mut tree = match table(main.pages, main.tree)? {
                Some(tree) => tree,
                None => {
                    let empty = Tree::new(OrderKind::Bytes);
                    catalog::create(main, TABLE, empty, &LABELS.encode())?
                }
            };
            let mut rows = main.beside(&mut tree);
            if !had_names {
                // What a copy has brought along.
                rows.clear()?;
            }
            for (key, value) in &changes {
                match value {
                    Some(value) => drop(rows.put(key, NewValue::Bytes(value), PutMode::Upsert)?),
                    None => drop(rows.delete(key, Whose::Engine)?),
                }
            }
            tree.changed = main.pages.txnid();
            catalog::store(main, TABLE, &tree)
        })?;
        self.notes.names = true;
        self.notes.changed = true;
        Ok(had_it)
    }

    /// The changes of the table, and whether a snapshot has the name.
    fn changes_of_names(
        &self,
        name: &str,
        image: Option<&Image>,
        own: u64,
    ) -> Result<(Vec<RowChange>, bool)> {
        let durable = self.core.store.board.durable().txnid();
        let (mut changes, mut there, mut had_it) = (Vec::new(), 0, false);
        let tree = table(self.pages(), &self.main)?.filter(|_| self.notes.names);
        let rows = tree.map(|tree| rows_of(self.pages(), &tree)).transpose()?.unwrap_or_default();
        for row in rows {
            there += usize::from(row.is_there());
            if row.is_there() && row.name == name {
                had_it = true;
                if image.is_some_and(|image| image.id() == row.id) {
                    return Ok((Vec::new(), true));
                }
                changes.try_push((row.key()?, Some(Row { dropped: own, ..row }.value()?)))?;
            } else if !row.is_there() && row.dropped <= durable {
                changes.try_push((row.key()?, None))?;
            }
        }
        let Some(image) = image else { return Ok((changes, had_it)) };
        if there - usize::from(had_it) >= NAMED_MAX {
            return Err(Error::Invalid("1000 snapshots have names: drop one first"));
        }
        let bytes = image.as_bytes();
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let row = Row { id: image.id(), dropped: 0, name, image: &bytes[..end] };
        changes.try_push((row.key()?, Some(row.value()?)))?;
        Ok((changes, had_it))
    }

    /// The table of the snapshots is the engine's to change.
    pub(super) fn check_not_names(&self, name: &[u8]) -> Result<()> {
        if name == TABLE && self.notes.names {
            return Err(Error::Invalid("this table is changed by naming and dropping snapshots"));
        }
        Ok(())
    }
}

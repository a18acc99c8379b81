//! The difference of two snapshots of one file, as records.
//!
//! D2. What is shown makes the later snapshot of the earlier one: first what a table has lost and
//!     what has changed in it, in its order, then what it has gained.
//! D3. Keys are equal if their bytes are: no comparator is needed.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crate::alloc::TryGrow;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::ops::progress::stopped;
use crate::page::{AnyLeaf, Cell, LeafItems, PayloadKind, Ptr, Tree};
use crate::planted::{self, Bug};
use crate::store::source::{OnPage, PageSource};
use crate::store::verified::Verified;
use crate::tree::apart::{apart, leaves};
use crate::tree::read;
use crate::tree::values::KeyValues;
use crate::txn::named::is_own;
use crate::txn::read::ReadTxn;

/// One difference of two snapshots; see [`ReadTxn::difference`]. A table without a name is the main
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference<'t> {
    /// The table is new, or has another kind or order than the one that had its name. What it has
    /// follows.
    TableCreated {
        /// Its name.
        table: &'t [u8],
    },
    /// The table is gone. What it had comes before.
    TableDropped {
        /// Its name.
        table: &'t [u8],
    },
    /// A record is gone; of a multimap, a value of the key.
    Removed {
        /// The name of its table.
        table: &'t [u8],
        /// Its key.
        key: &'t [u8],
        /// Its value.
        old: &'t [u8],
    },
    /// A record has another value. In a multimap that is a value less and one more.
    Changed {
        /// The name of its table.
        table: &'t [u8],
        /// Its key.
        key: &'t [u8],
        /// The value that it had.
        old: &'t [u8],
        /// The value that it has.
        new: &'t [u8],
    },
    /// A record is new; of a multimap, a value of the key.
    Added {
        /// The name of its table.
        table: &'t [u8],
        /// Its key.
        key: &'t [u8],
        /// Its value.
        new: &'t [u8],
    },
}

/// What is done with each difference.
type EachDifference<'f> = dyn FnMut(&Difference<'_>) -> ControlFlow<()> + 'f;

impl ReadTxn {
    /// Shows how this snapshot differs from an earlier one of the same environment, over all
    /// tables. `false`: `each` broke.
    ///
    /// In each table first come the records that are gone or have another value, in its order, then
    /// those that are new: a copy of the earlier snapshot that follows becomes one of this.
    ///
    /// ```
    /// # let env = huon::Env::in_memory()?;
    /// use std::ops::ControlFlow;
    /// use huon::{Difference, Str, TableDef};
    /// const T: TableDef<Str, Str> = TableDef::new("t");
    /// env.update(|txn| {
    ///     let t = txn.create_table(&T)?;
    ///     t.put(txn, "ann", "in Hobart")?;
    ///     t.put(txn, "bob", "at sea")
    /// })?;
    /// let before = env.read()?;
    /// env.update(|txn| {
    ///     let t = txn.create_table(&T)?;
    ///     t.put(txn, "bob", "in Hobart")?;
    ///     t.put(txn, "cat", "on the mat")
    /// })?;
    /// let mut lines = Vec::new();
    /// env.read()?.difference(&before, &mut |difference| {
    ///     let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    ///     lines.push(match *difference {
    ///         Difference::Changed { key, new, .. } => format!("{} is {}", text(key), text(new)),
    ///         Difference::Added { key, .. } => format!("there is {}", text(key)),
    ///         _ => "more".into(),
    ///     });
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(lines, ["bob is in Hobart", "there is cat"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// That of the pages in which the two differ, and of the branches above them. Memory: about 64
    /// bytes for each record of a leaf that only this snapshot has.
    ///
    /// # Errors
    /// [`Error::Corrupt`] names a damaged page; [`Error::Invalid`] if the other transaction is one
    /// of another environment, or of a later snapshot.
    pub fn difference(&self, earlier: &ReadTxn, each: &mut EachDifference<'_>) -> Result<bool> {
        self.core().check_forked()?;
        if !Arc::ptr_eq(self.core(), earlier.core()) || earlier.id() > self.id() {
            return Err(Error::Invalid("the snapshot is none of this environment's earlier ones"));
        }
        let store = &self.core().store;
        let of = |txn: &ReadTxn| Verified { store, used: txn.snapshot.used };
        let mut walk = Walk { old: &of(earlier), new: &of(self), each, has_stopped: false };
        match walk.table(b"", earlier.main(), self.main()) {
            Err(_) if walk.has_stopped => Ok(false),
            walked => walked.map(|()| true),
        }
    }
}

struct Walk<'s, 'f> {
    old: &'s Verified<'s>,
    new: &'s Verified<'s>,
    each: &'f mut EachDifference<'f>,
    has_stopped: bool,
}

/// A table as one of the two snapshots has it, and a record of it.
type Of<'a, 's> = (&'a Tree, Cell<'s>);

impl<'s> Walk<'s, '_> {
    fn show(&mut self, difference: &Difference<'_>) -> Result<()> {
        if (self.each)(difference).is_break() {
            self.has_stopped = true;
            return Err(stopped());
        }
        Ok(())
    }

    /// The difference of two states of a table.
    fn table(&mut self, table: &'s [u8], old: &Tree, new: &Tree) -> Result<()> {
        let apart = apart((self.old, old), (self.new, new))?;
        let mut gained = HashMap::new();
        for cell in cells(self.new, &apart.new) {
            let cell = cell?;
            gained.try_reserve(1)?;
            gained.insert(cell.key, cell);
        }
        for cell in cells(self.old, &apart.old) {
            let cell = cell?;
            match gained.remove(cell.key) {
                None => self.lost(table, (old, cell))?,
                Some(now) => self.changed(table, (old, cell), (new, now))?,
            }
        }
        if gained.is_empty() || planted::is(Bug::AddedUnshown) {
            return Ok(());
        }
        for cell in cells(self.new, &apart.new) {
            let cell = cell?;
            if gained.contains_key(cell.key) {
                self.gained(table, (new, cell))?;
            }
        }
        Ok(())
    }

    /// A key that only the earlier snapshot has.
    fn lost(&mut self, table: &'s [u8], (tree, cell): Of<'_, 's>) -> Result<()> {
        if cell.kind == PayloadKind::Table {
            let named = named(table, &cell)?;
            if is_own(cell.key, &named) {
                return Ok(());
            }
            self.table(cell.key, &named, &Tree::default())?;
            return self.show(&Difference::TableDropped { table: cell.key });
        }
        let key = cell.key;
        let mut values = values(self.old, tree, &cell)?.into_iter();
        values.try_for_each(|old| self.show(&Difference::Removed { table, key, old }))
    }

    /// A key that only the later snapshot has.
    fn gained(&mut self, table: &'s [u8], (tree, cell): Of<'_, 's>) -> Result<()> {
        if cell.kind == PayloadKind::Table {
            let named = named(table, &cell)?;
            if is_own(cell.key, &named) {
                return Ok(());
            }
            self.show(&Difference::TableCreated { table: cell.key })?;
            return self.table(cell.key, &Tree::default(), &named);
        }
        let key = cell.key;
        let mut values = values(self.new, tree, &cell)?.into_iter();
        values.try_for_each(|new| self.show(&Difference::Added { table, key, new }))
    }

    /// A key that both have.
    fn changed(&mut self, table: &'s [u8], old: Of<'_, 's>, new: Of<'_, 's>) -> Result<()> {
        if (old.1.kind, old.1.payload) == (new.1.kind, new.1.payload) {
            return Ok(());
        }
        match [old, new].map(|(_, cell)| cell.kind == PayloadKind::Table) {
            [true, true] => {
                let (before, now) = (named(table, &old.1)?, named(table, &new.1)?);
                if is_own(new.1.key, &now) {
                    return Ok(());
                }
                if (before.order, before.many) == (now.order, now.many) {
                    return self.table(new.1.key, &before, &now);
                }
            }
            [false, false] if new.0.many.is_some() => return self.values(table, old, new),
            [false, false] => {
                let key = new.1.key;
                let [old, new] = [(self.old, old), (self.new, new)]
                    .map(|(source, (_, cell))| read::value(source, &cell));
                return match (old?, new?) {
                    (Some(old), Some(new)) if old != new => {
                        self.show(&Difference::Changed { table, key, old, new })
                    }
                    _ => Ok(()),
                };
            }
            _ => {}
        }
        self.lost(table, old)?;
        self.gained(table, new)
    }

    /// The values of a key of a multimap that only one of the two has.
    fn values(&mut self, table: &'s [u8], old: Of<'_, 's>, new: Of<'_, 's>) -> Result<()> {
        let key = new.1.key;
        let [before, now] = self.values_apart(old, new)?;
        let had: HashSet<&[u8]> = before.iter().copied().collect();
        let has: HashSet<&[u8]> = now.iter().copied().collect();
        for old in before.into_iter().filter(|value| !has.contains(value)) {
            self.show(&Difference::Removed { table, key, old })?;
        }
        for new in now.into_iter().filter(|value| !had.contains(value)) {
            self.show(&Difference::Added { table, key, new })?;
        }
        Ok(())
    }

    /// Values of a key among which are all that only one of the two has.
    fn values_apart(&self, old: Of<'_, 's>, new: Of<'_, 's>) -> Result<[Vec<&'s [u8]>; 2]> {
        let held = |(tree, cell): Of<'_, 's>| KeyValues::of(tree, &cell).in_file();
        if let (KeyValues::Tree(before), KeyValues::Tree(now)) = (held(old)?, held(new)?) {
            let apart = apart((self.old, &before), (self.new, &now))?;
            return Ok([keys(self.old, &before, &apart.old)?, keys(self.new, &now, &apart.new)?]);
        }
        Ok([values(self.old, old.0, &old.1)?, values(self.new, new.0, &new.1)?])
    }
}

/// The record of a table, which only the main table may hold.
fn named(table: &[u8], cell: &Cell<'_>) -> Result<Tree> {
    if table.is_empty() {
        Tree::decode(cell.payload).in_file()
    } else {
        Err(Error::corrupt_file("a named table holds a table's record"))
    }
}

/// The records of leaves.
fn cells<'s>(source: &'s Verified<'s>, leaves: &[Ptr]) -> impl Iterator<Item = Result<Cell<'s>>> {
    leaves.iter().flat_map(move |&ptr| {
        let (leaf, error) = match source.leaf(ptr) {
            Ok(leaf) => (Some(leaf), None),
            Err(error) => (None, Some(Err(error))),
        };
        let cells =
            leaf.into_iter().flat_map(move |leaf| leaf.cells().map(move |cell| cell.on(ptr)));
        cells.chain(error)
    })
}

/// The values of a key, or the value of a record.
fn values<'s>(source: &'s Verified<'s>, tree: &Tree, cell: &Cell<'s>) -> Result<Vec<&'s [u8]>> {
    if tree.many.is_none() {
        let value = read::value(source, cell)?;
        return Ok(value.into_iter().collect());
    }
    match KeyValues::of(tree, cell).in_file()? {
        KeyValues::Tree(values) => keys(source, &values, &leaves(source, &values)?),
        KeyValues::Few(set) => {
            let (mut items, mut values) = (set.items(), Vec::new());
            while let Some(value) = items.next() {
                values.try_push(value)?;
            }
            Ok(values)
        }
    }
}

/// The values in leaves of a tree of values.
fn keys<'s>(source: &'s Verified<'s>, tree: &Tree, leaves: &[Ptr]) -> Result<Vec<&'s [u8]>> {
    let mut keys = Vec::new();
    for &ptr in leaves {
        let leaf: AnyLeaf<'s> = source.any_leaf(tree, ptr)?;
        for i in 0..leaf.count() {
            keys.try_push(leaf.key(i).on(ptr)?)?;
        }
    }
    Ok(keys)
}

/// The changes of an environment, commit after commit or several at once, without a log: by the
/// difference of two snapshots, of which the earlier one is kept until its differences were shown.
///
/// ```
/// # let env = huon::Env::in_memory()?;
/// use std::ops::ControlFlow;
/// use std::time::Duration;
/// use huon::{Difference, Str, TableDef, U64};
/// const T: TableDef<Str, U64> = TableDef::new("t");
/// let mut feed = env.feed()?;
/// env.update(|txn| txn.create_table(&T)?.put(txn, "apple", 1))?;
/// let mut added = 0;
/// let id = feed.next(Duration::from_secs(10), &mut |difference| {
///     added += u64::from(matches!(difference, Difference::Added { table: b"t", .. }));
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!((id, added), (Some(env.read()?.id()), 1));
/// let nothing = feed.next(Duration::ZERO, &mut |_| ControlFlow::Continue(()))?;
/// assert_eq!(nothing, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Feed {
    env: Env,
    seen: ReadTxn,
}

impl Env {
    /// Begins to follow what changes from the newest visible snapshot on, by whatever process.
    ///
    /// The feed keeps one snapshot, as a read transaction does.
    ///
    /// # Errors
    /// Those of [`Env::read`].
    pub fn feed(&self) -> Result<Feed> {
        Ok(self.feed_from(self.read()?))
    }

    /// The same from the snapshot of a read transaction on.
    pub fn feed_from(&self, seen: ReadTxn) -> Feed {
        Feed { env: self.clone(), seen }
    }
}

impl Feed {
    /// The snapshot up to which differences were shown.
    pub fn seen(&self) -> &ReadTxn {
        &self.seen
    }

    /// Waits until there is a newer snapshot, shows how it differs from the one before, and returns
    /// its id. `None`: there was none within `timeout`, or `each` broke; then all of it is shown
    /// again the next time.
    ///
    /// # Errors
    /// Those of [`Env::wait_for_commit`] and [`ReadTxn::difference`]; the feed stays where it was.
    pub fn next(
        &mut self,
        timeout: Duration,
        each: &mut EachDifference<'_>,
    ) -> Result<Option<u64>> {
        if self.env.wait_for_commit(self.seen.id(), timeout)?.is_none() {
            return Ok(None);
        }
        let newer = self.env.read()?;
        if !newer.difference(&self.seen, each)? {
            return Ok(None);
        }
        self.seen = newer;
        Ok(Some(self.seen.id()))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::page::RunRef;
    use crate::{TableDef, U64};

    /// Counts the pages that are read.
    struct Counted<'s> {
        source: Verified<'s>,
        count: Cell<usize>,
    }

    impl PageSource for Counted<'_> {
        fn bytes(&self, ptr: Ptr) -> Result<&[u8]> {
            self.count.set(self.count.get() + 1);
            self.source.bytes(ptr)
        }

        fn run(&self, run: &RunRef) -> Result<&[u8]> {
            self.source.run(run)
        }

        fn pages_max(&self) -> u32 {
            self.source.pages_max()
        }

        fn bytes_max(&self) -> u64 {
            self.source.bytes_max()
        }
    }

    #[test]
    fn only_pages_in_which_two_snapshots_differ_are_read() {
        const T: TableDef<U64, U64> = TableDef::new("t");
        let env = Env::options().page_bytes(512).open_in_memory().unwrap();
        let t = env.update(|txn| txn.create_table(&T)).unwrap();
        env.update(|txn| (0..50_000).try_for_each(|n| t.put(txn, n, n).map(drop))).unwrap();
        let mut before = env.read().unwrap();
        let tree_of = |txn: &ReadTxn| {
            let store = &txn.core().store;
            let source = Verified { store, used: txn.snapshot.used };
            let cell = cells(&source, &[txn.main().root]).next().unwrap().unwrap();
            Tree::decode(cell.payload).unwrap()
        };
        let pages = tree_of(&before).leaf_pages;
        assert!(pages > 1000, "{pages}");
        for changes in [1, 10, 100] {
            let put = |txn: &mut crate::WriteTxn| {
                (0..changes).try_for_each(|n| t.put(txn, n * 499, changes).map(drop))
            };
            env.update(put).unwrap();
            let after = env.read().unwrap();
            let counted = [&before, &after].map(|txn| Counted {
                source: Verified { store: &txn.core().store, used: txn.snapshot.used },
                count: Cell::new(0),
            });
            let [old, new] = [&before, &after].map(tree_of);
            let apart = apart((&counted[0], &old), (&counted[1], &new)).unwrap();
            assert_eq!(apart.new.len() as u64, changes, "a leaf for each");
            let read = counted.iter().map(|side| side.count.get()).sum::<usize>();
            let most = 2 * changes as usize * usize::from(new.depth - 1);
            assert!(read <= most, "{read} branches read for {changes} changes, not {most}");
            before = after;
        }
    }
}

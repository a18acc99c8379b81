//! Where a detached cursor stands, and whether its path still leads there.

use crate::error::Result;
use crate::page::Tree;
use crate::table::kept::Kept;
use crate::table::txn::AnyTxn;
use crate::tree::values::Pair;
use crate::txn::names::TableId;
use crate::txn::read::ReadTxn;

/// Where a cursor stands: always between two records, or two pairs of a multimap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gap {
    Start,
    End,
    /// Before the first record of the key, or where it would be.
    BeforeKey,
    /// Behind the last record of the key, or where it would be.
    AfterKey,
    /// Before the pair, whether it is there or not.
    BeforePair,
    AfterPair,
    /// On that side of the record that the path passed last, of which nothing is remembered.
    OnPath {
        behind: bool,
    },
    /// There was no memory to remember the key.
    Lost,
}

impl Gap {
    /// Whether a key says where it is.
    #[inline]
    pub(super) fn is_beside_key(self) -> bool {
        !matches!(self, Gap::Start | Gap::End | Gap::OnPath { .. } | Gap::Lost)
    }

    /// Whether a key and a value say where it is.
    #[inline]
    pub(super) fn is_beside_pair(self) -> bool {
        matches!(self, Gap::BeforePair | Gap::AfterPair)
    }
}

/// A gap, remembered by key or by pair, so that it outlives what happens to the pages beside it.
#[derive(Clone)]
pub(super) struct Standing {
    pub(super) id: TableId,
    pub(super) gap: Gap,
    key: Kept,
    value: Kept,
    /// The tree in which the cursor's path leads to the gap, and which version of the table that
    /// is, in the environment of the table's handle; `None` before the gap was looked for.
    placed: Option<(Tree, (u64, u64))>,
}

impl Standing {
    /// Before everything.
    pub(super) fn new(id: TableId) -> Standing {
        let (key, value) = (Kept::default(), Kept::default());
        Standing { id, gap: Gap::Start, key, value, placed: None }
    }

    /// The key and the value that the gap is remembered by.
    pub(super) fn pair(&self) -> Pair<'_> {
        (self.key.bytes(), self.value.bytes())
    }

    /// Whether there was no memory to remember the gap by.
    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        self.gap == Gap::Lost
    }

    /// Moves to another gap beside the same pair, which must be looked for.
    pub(super) fn turn(&mut self, gap: Gap) {
        (self.gap, self.placed) = (gap, None);
    }

    /// Moves to a gap that must be looked for.
    pub(super) fn aim(&mut self, pair: Pair<'_>, gap: Gap) {
        self.stand(pair, gap);
        self.placed = None;
    }

    /// Moves to the gap that the path has just been led to.
    #[inline(always)]
    pub(super) fn stand(&mut self, (key, value): Pair<'_>, gap: Gap) {
        let kept = self.key.set(key).and_then(|()| self.value.set(value));
        match kept {
            Ok(()) => self.gap = gap,
            Err(_) => self.turn(Gap::Lost),
        }
    }

    /// The path may lead anywhere from now on. A gap that nothing else leads to becomes the end
    /// that the cursor was on its way to: a loop that steps on after an error ends.
    #[cold]
    pub(super) fn lose_path(&mut self) {
        match self.gap {
            Gap::OnPath { behind: true } => self.gap = Gap::End,
            Gap::OnPath { behind: false } => self.gap = Gap::Start,
            _ => {}
        }
        self.placed = None;
    }

    /// Moves to the gap that the path has just been led to, as long as it leads there.
    #[inline]
    pub(super) fn glide(&mut self, behind: bool) {
        self.gap = Gap::OnPath { behind };
    }

    /// Whether nothing else than the path leads to the gap, on that side of what it passed last,
    /// and still does: only a read transaction puts a gap there.
    #[inline(always)]
    pub(super) fn is_on_path(&self, txn: &ReadTxn, behind: bool) -> bool {
        let is_placed = self.placed.as_ref().is_some_and(|placed| placed.1.0 == txn.id());
        let is_known = is_placed && txn.core().names.has_made(self.id);
        self.gap == Gap::OnPath { behind } && is_known && txn.is_own()
    }

    /// Whether the path still leads to the gap, in [`Standing::tree`].
    #[inline(always)]
    pub(super) fn is_placed(&self, txn: AnyTxn<'_>) -> Result<bool> {
        txn.check_alive()?;
        let is_placed = self.placed.as_ref().is_some_and(|placed| placed.1 == txn.version());
        // Another environment may have come to the same version.
        Ok(is_placed && txn.names().has_made(self.id))
    }

    /// The tree that the path leads to the gap in.
    #[inline(always)]
    pub(super) fn tree(&self) -> &Tree {
        &self.placed.as_ref().expect("a gap that was placed").0
    }

    /// The path leads to the gap from now on, until the table changes.
    pub(super) fn place(&mut self, txn: AnyTxn<'_>, tree: Tree) {
        self.placed = Some((tree, txn.version()));
    }
}

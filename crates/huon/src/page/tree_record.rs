//! A tree as a value: the record of a table in the catalog, and of the main table in the meta.
//!
//! ```text
//!  0  u32  pgno of the root     40  u32  branch_pages
//!  4  u8   depth                44  u32  leaf_pages
//!  5  u8   order                48  u32  overflow_pages
//!  6  u16  flags                52  u32  fixed_bytes
//!  8  u64  birth of the root    56  u64  labels
//! 16  u64  entries
//! 24  u64  sequence
//! 32  u64  changed (txnid)
//! ```
//!
//! Names of comparators lie behind the record of a named table; `labels` is their fingerprint.

use super::labels::{Labels, fingerprint};
use super::types::{Pgno, Ptr, Reason, Txnid};

/// The deepest tree that is believed.
pub(crate) const MAX_DEPTH: u8 = 40;
/// Bytes of an encoded [`Tree`].
pub(crate) const TREE_BYTES: usize = 64;

/// Which order a tree has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub(crate) enum OrderKind {
    #[default]
    Bytes = 0,
    Reversed = 1,
    /// Little-endian integers of four bytes.
    Native4 = 2,
    /// Little-endian integers of eight bytes.
    Native8 = 3,
    /// A caller's comparator.
    Custom = 4,
}

impl OrderKind {
    pub(crate) fn decode(byte: u8) -> Option<OrderKind> {
        Some(match byte {
            0 => OrderKind::Bytes,
            1 => OrderKind::Reversed,
            2 => OrderKind::Native4,
            3 => OrderKind::Native8,
            4 => OrderKind::Custom,
            _ => return None,
        })
    }

    /// The only key length that the order allows, in bytes.
    pub(crate) fn key_bytes(self) -> Option<usize> {
        match self {
            OrderKind::Native4 => Some(4),
            OrderKind::Native8 => Some(8),
            _ => None,
        }
    }
}

/// How the values of a key are kept where it may have many: in order, none twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ManyValues {
    pub(crate) order: OrderKind,
    /// All of them have one length.
    pub(crate) equal: bool,
}

const FLAG_MANY: u16 = 1;
const FLAG_EQUAL: u16 = 2;
const VALUE_ORDER_SHIFT: u32 = 8;

impl ManyValues {
    fn encode(this: Option<ManyValues>) -> u16 {
        this.map_or(0, |many| {
            let equal = if many.equal { FLAG_EQUAL } else { 0 };
            FLAG_MANY | equal | u16::from(many.order as u8) << VALUE_ORDER_SHIFT
        })
    }

    /// `None`: no such flags.
    #[inline]
    fn decode(flags: u16) -> Option<Option<ManyValues>> {
        if flags == 0 {
            return Some(None);
        }
        let order = OrderKind::decode((flags >> VALUE_ORDER_SHIFT) as u8)?;
        let many = Some(ManyValues { order, equal: flags & FLAG_EQUAL != 0 });
        (ManyValues::encode(many) == flags).then_some(many)
    }
}

/// A tree: where it starts, and what is known about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) root: Ptr,
    /// Levels of pages: 0 for an empty tree, 1 for a single leaf.
    pub(crate) depth: u8,
    pub(crate) order: OrderKind,
    /// A key may have many values.
    pub(crate) many: Option<ManyValues>,
    /// In a table of many values: the length of each, where all have one and it is known. In a
    /// tree of values: the same, and its leaves are fixed ones. 0 elsewhere.
    pub(crate) fixed_bytes: u32,
    /// Records; of a table of many values, the values.
    pub(crate) entries: u64,
    /// Those of its trees of values count too.
    pub(crate) branch_pages: u32,
    pub(crate) leaf_pages: u32,
    /// Pages of large values.
    pub(crate) overflow_pages: u32,
    /// A counter for the caller.
    pub(crate) sequence: u64,
    /// The transaction that changed the tree last.
    pub(crate) changed: Txnid,
    /// The fingerprint of the names behind the record; 0: there are none.
    pub(crate) labels: u64,
}

impl Tree {
    /// An empty tree.
    pub(crate) fn new(order: OrderKind) -> Tree {
        Tree { order, ..Tree::default() }
    }

    fn is_sound(&self) -> bool {
        self.depth <= MAX_DEPTH
            && (self.depth == 0) == self.root.is_none()
            && (self.depth != 0 || (self.root == Ptr::NONE && self.entries == 0))
    }

    /// Whether the record can be that of a table, as far as lengths of values go.
    fn has_sound_lengths(&self) -> bool {
        match self.many {
            Some(ManyValues { order, equal }) => match order.key_bytes() {
                Some(bytes) => equal && self.fixed_bytes as usize == bytes,
                // It is known from the first value on.
                None if equal => self.fixed_bytes != 0 || self.entries == 0,
                None => self.fixed_bytes == 0,
            },
            None => self.fixed_bytes == 0,
        }
    }

    /// An empty tree for the values of a key of this table.
    pub(crate) fn of_values(&self) -> Tree {
        let order = self.many.map(|many| many.order).unwrap_or_default();
        Tree { fixed_bytes: self.fixed_bytes, ..Tree::new(order) }
    }

    /// Whether this is a tree of values in fixed leaves.
    #[inline(always)]
    pub(crate) fn has_fixed_leaves(&self) -> bool {
        self.fixed_bytes != 0 && self.many.is_none()
    }

    /// Reads the record of a tree of values from the cell of a key of this table.
    pub(crate) fn decode_values(&self, payload: &[u8]) -> Result<Tree, Reason> {
        let bytes: &[u8; TREE_BYTES] = payload.try_into().map_err(|_| Reason::Tree)?;
        let words = bytes.as_chunks::<8>().0;
        let tree = Tree::of_any_words(&std::array::from_fn(|i| u64::from_le_bytes(words[i])))?;
        let empty = Tree { changed: tree.changed, ..self.of_values() };
        let bare =
            Tree { root: Ptr::NONE, depth: 0, entries: 0, branch_pages: 0, leaf_pages: 0, ..tree };
        if self.many.is_some() && bare == empty && tree.entries != 0 {
            Ok(tree)
        } else {
            Err(Reason::Tree)
        }
    }

    pub(crate) fn encode(&self) -> [u8; TREE_BYTES] {
        assert!(self.is_sound(), "a tree that would not be believed: {self:?}");
        let mut out = [0; TREE_BYTES];
        out[..4].copy_from_slice(&self.root.pgno.0.to_le_bytes());
        out[4] = self.depth;
        out[5] = self.order as u8;
        out[6..8].copy_from_slice(&ManyValues::encode(self.many).to_le_bytes());
        out[8..16].copy_from_slice(&self.root.birth.0.to_le_bytes());
        out[16..24].copy_from_slice(&self.entries.to_le_bytes());
        out[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        out[32..40].copy_from_slice(&self.changed.0.to_le_bytes());
        out[40..44].copy_from_slice(&self.branch_pages.to_le_bytes());
        out[44..48].copy_from_slice(&self.leaf_pages.to_le_bytes());
        out[48..52].copy_from_slice(&self.overflow_pages.to_le_bytes());
        out[52..56].copy_from_slice(&self.fixed_bytes.to_le_bytes());
        out[56..].copy_from_slice(&self.labels.to_le_bytes());
        out
    }

    /// Reads the payload of a table cell, or the main table of a meta.
    pub(crate) fn decode(payload: &[u8]) -> Result<Tree, Reason> {
        let (record, labels) = Tree::split(payload)?;
        let words = record.as_chunks::<8>().0;
        let tree = Tree::of_any_words(&std::array::from_fn(|i| u64::from_le_bytes(words[i])))?;
        if !tree.has_sound_lengths() || tree.labels != fingerprint(labels) {
            return Err(Reason::Tree);
        }
        Labels::decode(labels).map(|_| tree)
    }

    /// The record in the payload of a table cell, and the names behind it.
    pub(crate) fn split(payload: &[u8]) -> Result<(&[u8; TREE_BYTES], &[u8]), Reason> {
        payload.split_first_chunk().ok_or(Reason::Tree)
    }

    /// The main table, from the same bytes as words. It has no names.
    #[inline]
    pub(crate) fn of_words(words: &[u64; TREE_BYTES / 8]) -> Result<Tree, Reason> {
        let tree = Tree::of_any_words(words)?;
        if tree.has_sound_lengths() && tree.labels == 0 { Ok(tree) } else { Err(Reason::Tree) }
    }

    #[inline]
    fn of_any_words(words: &[u64; TREE_BYTES / 8]) -> Result<Tree, Reason> {
        let tree = Tree {
            root: Ptr { pgno: Pgno(words[0] as u32), birth: Txnid(words[1]) },
            depth: (words[0] >> 32) as u8,
            order: OrderKind::decode((words[0] >> 40) as u8).ok_or(Reason::Tree)?,
            many: ManyValues::decode((words[0] >> 48) as u16).ok_or(Reason::Tree)?,
            fixed_bytes: (words[6] >> 32) as u32,
            entries: words[2],
            sequence: words[3],
            changed: Txnid(words[4]),
            branch_pages: words[5] as u32,
            leaf_pages: (words[5] >> 32) as u32,
            overflow_pages: words[6] as u32,
            labels: words[7],
        };
        if tree.is_sound() { Ok(tree) } else { Err(Reason::Tree) }
    }
}

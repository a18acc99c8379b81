//! A tree as a value: the record of a table in the catalog, and of the main table in the meta.
//!
//! ```text
//!  0  u32  pgno of the root     40  u32  branch_pages
//!  4  u8   depth                44  u32  leaf_pages
//!  5  u8   order                48  u32  run_pages
//!  6  u16  flags                52  u32  zero
//!  8  u64  birth of the root    56  u64  zero
//! 16  u64  entries
//! 24  u64  sequence
//! 32  u64  changed (txnid)
//! ```

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

/// A tree: where it starts, and what is known about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) root: Ptr,
    /// Levels of pages: 0 for an empty tree, 1 for a single leaf.
    pub(crate) depth: u8,
    pub(crate) order: OrderKind,
    /// Reserved for duplicates: zero.
    pub(crate) flags: u16,
    pub(crate) entries: u64,
    pub(crate) branch_pages: u32,
    pub(crate) leaf_pages: u32,
    /// Pages of large values.
    pub(crate) run_pages: u32,
    /// A counter for the caller.
    pub(crate) sequence: u64,
    /// The transaction that changed the tree last.
    pub(crate) changed: Txnid,
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
            && self.flags == 0
    }

    pub(crate) fn encode(&self) -> [u8; TREE_BYTES] {
        assert!(self.is_sound(), "a tree that would not be believed: {self:?}");
        let mut out = [0; TREE_BYTES];
        out[..4].copy_from_slice(&self.root.pgno.0.to_le_bytes());
        out[4] = self.depth;
        out[5] = self.order as u8;
        out[6..8].copy_from_slice(&self.flags.to_le_bytes());
        out[8..16].copy_from_slice(&self.root.birth.0.to_le_bytes());
        out[16..24].copy_from_slice(&self.entries.to_le_bytes());
        out[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        out[32..40].copy_from_slice(&self.changed.0.to_le_bytes());
        out[40..44].copy_from_slice(&self.branch_pages.to_le_bytes());
        out[44..48].copy_from_slice(&self.leaf_pages.to_le_bytes());
        out[48..52].copy_from_slice(&self.run_pages.to_le_bytes());
        out
    }

    /// Reads the payload of a table cell, or the main table of a meta.
    pub(crate) fn decode(payload: &[u8]) -> Result<Tree, Reason> {
        let bytes: &[u8; TREE_BYTES] = payload.try_into().map_err(|_| Reason::Tree)?;
        let words = bytes.as_chunks::<8>().0;
        let word = |i: usize| u64::from_le_bytes(words[i]);
        let tree = Tree {
            root: Ptr { pgno: Pgno(word(0) as u32), birth: Txnid(word(1)) },
            depth: bytes[4],
            order: OrderKind::decode(bytes[5]).ok_or(Reason::Tree)?,
            flags: (word(0) >> 48) as u16,
            entries: word(2),
            sequence: word(3),
            changed: Txnid(word(4)),
            branch_pages: word(5) as u32,
            leaf_pages: (word(5) >> 32) as u32,
            run_pages: word(6) as u32,
        };
        let sound = tree.is_sound() && word(6) >> 32 == 0 && word(7) == 0;
        if sound { Ok(tree) } else { Err(Reason::Tree) }
    }
}

//! Pages: bytes to meaning, and back. Pure: no file, no memory but what is passed in.
//!
//! Every page starts with the same header, 32 bytes, little-endian:
//!
//! ```text
//!  0  u64  checksum of all bytes that follow, seeded with the file's uuid
//!  8  u32  pgno
//! 12  u8   kind           1 branch, 2 leaf, 3 fixed, 4 chunk
//! 13  u8   level          0 for leaves, counting upward; 0 for chunks
//! 14  u16  count          slots, or items of a chunk
//! 16  u64  birth          txnid that wrote the page
//! 24  u16  heap_bytes     bytes of the heap, which ends at the end of the page
//! 26  u16  dead_bytes     bytes of the heap that no slot names
//! 28  u16  prefix_bytes   leading bytes (in key order) that all keys of the page share; in a fixed
//!                         leaf the length of each key
//! 30  u16  flags          bit 0: edited since it was packed (never set on a page in the file); of
//!                         leaves also where records came last
//! ```
//!
//! A [`Ptr`] names one content for ever; a page whose pgno or birth differ from its pointer is
//! damage.

mod branch;
mod branch_edit;
mod checksum;
mod chunk;
mod compare;
pub(crate) mod difference;
mod divide;
mod fixed;
pub(crate) mod header;
mod labels;
mod leaf;
mod leaf_edit;
mod leaf_fill;
mod limits;
mod meta;
mod order;
mod pack;
mod probe;
mod run;
#[cfg(test)]
mod tests;
mod tree_record;
mod types;
mod value_set;

pub(crate) use branch::Branch;
pub(crate) use branch_edit::BranchMut;
pub(crate) use checksum::Seal;
#[cfg(any(test, feature = "simulation"))]
pub use checksum::Sealer;
pub(crate) use chunk::{Chunk, Item, chunk_capacity, write_chunk};
pub(crate) use divide::{
    NewChild, choose_split, merge_branch, merge_leaf, split_branch_insert, split_leaf,
};
pub(crate) use fixed::{AnyLeaf, FixedLeaf, FixedMut, LeafItems, merge_fixed, split_fixed};
pub(crate) use header::{HEADER_BYTES, PAGE_BYTES_MAX, PAGE_BYTES_MIN, admit};
pub(crate) use labels::{Conflict, LABEL_BYTES_MAX, Labels, fingerprint};
pub(crate) use leaf::{Cell, PayloadKind, SlottedLeaf, leaf_cell_bytes};
pub(crate) use leaf_edit::LeafMut;
pub(crate) use leaf_fill::LeafFill;
pub(crate) use limits::{MAX_VALUE_BYTES, RUN_REF_BYTES, fits_inline, key_bytes_max};
pub(crate) use meta::{
    CEILING_AHEAD, CommitKind, ID_MAX, META_BYTES, META_HEAD_WORDS, META_ITEMS_MAX, META_SLOTS,
    Meta, MetaFault, MetaHead, PageGeometry, Sweep, ceiling_after, first_data_page, meta_checksum,
};
pub(crate) use order::{AnyOrder, BytesOrder, CustomOrder, KeyOrder, ReversedOrder};
pub(crate) use pack::pack_for_writing;
pub(crate) use probe::{Probe, Tie};
pub(crate) use run::{RunRef, overflow_pages};
pub(crate) use tree_record::{MAX_DEPTH, ManyValues, OrderKind, TREE_BYTES, Tree};
pub(crate) use types::{Kind, Pgno, Ptr, Reason, Txnid};
pub(crate) use value_set::{Growth, SetItems, ValueSet, write_values};

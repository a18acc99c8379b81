//! Pages: bytes to meaning, and back. Pure: no file, no memory but what is passed in.
//!
//! Every page starts with the same header, 32 bytes, little-endian:
//!
//! ```text
//!  0  u64  checksum of all bytes that follow, seeded with the file's uuid
//!  8  u32  pgno
//! 12  u8   kind           1 branch, 2 leaf, 3 fixed (reserved for duplicates), 4 chunk
//! 13  u8   level          0 for leaves, counting upward; 0 for chunks
//! 14  u16  count          slots, or items of a chunk
//! 16  u64  birth          txnid that wrote the page
//! 24  u16  heap_bytes     bytes of the heap, which ends at the end of the page
//! 26  u16  dead_bytes     bytes of the heap that no slot names
//! 28  u16  prefix_bytes   leading bytes (in key order) that all keys of the page share
//! 30  u16  flags          bit 0: cells are not in key order (never set on a page in the file)
//! ```
//!
//! A [`Ptr`] names one content for ever; a page whose pgno or birth differ from its pointer is damage.

mod types;

pub(crate) use types::{Kind, Pgno, Ptr, Reason, Txnid};

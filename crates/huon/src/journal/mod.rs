//! The journal: what transactions did, in a file beside the data file, so that a durable commit is
//! one append.
//!
//! A durable commit leaves a *record* of the pages that it wrote. All records of snapshots that are
//! sealed, and not in the journal yet, go there together as a *batch* of whole blocks, and one
//! flush of the journal makes all of them durable. A flush of the data file is a checkpoint: its
//! meta names the *place* in the journal from which a recovery goes on.
//!
//! The journal is a ring of blocks of [`BLOCK_BYTES`]. Places count blocks through all laps; place
//! `p` lies in block `p mod blocks`. Rules with the letter J are those of docs/INVARIANTS.md.
//!
//! Pure: bytes to meaning, and back.

mod batch;
mod record;
#[cfg(test)]
mod tests;

pub(crate) use crate::lock::Place;
pub(crate) use batch::{
    BATCH_HEADER_BYTES, Batch, BatchFault, BatchHead, bind, checksum, is_begun, said_checksum,
    seal_batch,
};
pub(crate) use record::{BaseName, PageRecord, RecordWriter, TxnRecord, count_records};

/// Bytes of a block: a batch begins with one of its own, so that no block that holds acknowledged
/// records is written again (J2.7).
pub(crate) use crate::os::JOURNAL_BLOCK_BYTES as BLOCK_BYTES;

/// The smallest journal.
pub(crate) const JOURNAL_BYTES_MIN: u64 = 64 << 10;
/// The largest.
pub(crate) const JOURNAL_BYTES_MAX: u64 = 64 << 30;
/// One that serves most programs.
pub(crate) const JOURNAL_BYTES_USUAL: u64 = 16 << 20;

/// How many blocks hold so many bytes.
pub(crate) fn blocks_of(bytes: usize) -> u64 {
    bytes.div_ceil(BLOCK_BYTES) as u64
}

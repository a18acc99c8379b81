//! A batch: the records of one flush of the journal, in whole blocks.
//!
//! ```text
//!  0  8 bytes  "JRNLHUON"        40  u64  place
//!  8  u64  checksum of what       48  u64  checksum of the batch before (J2.5)
//!          follows, to the end    56  u64  txnid of the newest snapshot that it makes durable
//!          of the records         64  u32  bytes of all records
//! 16  u32  version                68  12 zeros
//! 20  u32  records                80  records, one behind the other
//! 24  16 bytes  uuid of the file      zeros to the end of the block
//! ```
//!
//! J2.5: one checksum over the whole batch. It covers the uuid, the place and the checksum of the
//! batch before: a batch is believed only behind that very one, and whole.

use super::record::TxnRecord;
use super::{BLOCK_BYTES, Place, blocks_of};
use crate::alloc::{Reserved, TryGrow};
use crate::os::JOURNAL_MAGIC;
use crate::page::{Seal, Txnid};
use crate::planted::{self, Bug};

/// Bytes before the records.
pub(crate) const BATCH_HEADER_BYTES: usize = 80;

/// The version of this picture.
const VERSION: u32 = 1;
const CHECKSUM: usize = 8;
const VERSION_AT: usize = 16;
const RECORDS: usize = 20;
const UUID: usize = 24;
const PLACE: usize = 40;
const CHAIN: usize = 48;
const TXNID: usize = 56;
const BYTES: usize = 64;
const ZERO: usize = 68;

/// What the header of a batch says beside its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchHead {
    pub(crate) uuid: [u8; 16],
    /// Where it begins.
    pub(crate) at: u64,
    /// The checksum of the batch before it.
    pub(crate) chain: u64,
    pub(crate) txnid: Txnid,
    pub(crate) records: u32,
}

/// Makes a batch of `bytes`, which hold room for the header and then the records, and pads them to
/// whole blocks. Returns the place behind it.
pub(crate) fn seal_batch(head: &BatchHead, bytes: &mut Vec<u8>) -> Reserved<Place> {
    let end = bytes.len();
    bytes[..CHECKSUM].copy_from_slice(&JOURNAL_MAGIC);
    bytes[VERSION_AT..RECORDS].copy_from_slice(&VERSION.to_le_bytes());
    bytes[RECORDS..UUID].copy_from_slice(&head.records.to_le_bytes());
    bytes[UUID..PLACE].copy_from_slice(&head.uuid);
    bytes[PLACE..CHAIN].copy_from_slice(&head.at.to_le_bytes());
    bytes[CHAIN..TXNID].copy_from_slice(&head.chain.to_le_bytes());
    bytes[TXNID..BYTES].copy_from_slice(&head.txnid.0.to_le_bytes());
    bytes[BYTES..ZERO].copy_from_slice(&((end - BATCH_HEADER_BYTES) as u32).to_le_bytes());
    bytes[ZERO..BATCH_HEADER_BYTES].fill(0);
    let chain = checksum(bytes);
    bytes[CHECKSUM..VERSION_AT].copy_from_slice(&chain.to_le_bytes());
    let padding = end.next_multiple_of(BLOCK_BYTES) - end;
    bytes.try_extend(std::iter::repeat_n(0, padding))?;
    let blocks = blocks_of(end);
    // J2.7.
    let blocks = if planted::is(Bug::BlockReused) { blocks.max(2) - 1 } else { blocks };
    Ok(Place { next: head.at + blocks, anchor: head.at, chain })
}

/// J2.5: the checksum of a whole batch, without padding, whatever it says that this is.
pub(crate) fn checksum(batch: &[u8]) -> u64 {
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&batch[UUID..PLACE]);
    Seal::new(&uuid).run(&batch[VERSION_AT..])
}

/// The checksum that the batch says it has whose first block this is.
pub(crate) fn said_checksum(block: &[u8]) -> u64 {
    word(block, CHECKSUM)
}

/// Binds a batch to the one before a place.
pub(crate) fn bind(batch: &mut [u8], place: Place) {
    batch[CHAIN..TXNID].copy_from_slice(&place.chain.to_le_bytes());
}

/// Whether a block looks like the first of the batch behind `before`: it is bound to that, and of
/// three other signs one may be damaged.
pub(crate) fn is_begun(block: &[u8], uuid: &[u8; 16], before: Place) -> bool {
    let signs = [
        block.starts_with(&JOURNAL_MAGIC),
        block[UUID..PLACE] == *uuid,
        word(block, PLACE) == before.next,
    ];
    let count = signs.iter().filter(|there| **there).count();
    word(block, CHAIN) == before.chain && count >= 2
}

/// A batch that is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Batch<'b> {
    pub(crate) head: BatchHead,
    pub(crate) checksum: u64,
    records: &'b [u8],
}

/// Why a block does not begin a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BatchFault {
    /// There is none that is whole.
    None,
    /// It looks like one of a version that this one does not know (J5.5).
    Version(u32),
}

impl<'b> Batch<'b> {
    /// Bytes of the batch that a block begins, without padding, as its header says.
    pub(crate) fn bytes_at(block: &[u8]) -> Result<usize, BatchFault> {
        if !block.starts_with(&JOURNAL_MAGIC) || block.len() < BATCH_HEADER_BYTES {
            return Err(BatchFault::None);
        }
        match half(block, VERSION_AT) {
            VERSION => Ok(BATCH_HEADER_BYTES + half(block, BYTES) as usize),
            other => Err(BatchFault::Version(other)),
        }
    }

    /// The batch in `bytes`, which have the length that its header says.
    pub(crate) fn read(bytes: &'b [u8]) -> Result<Batch<'b>, BatchFault> {
        if Batch::bytes_at(bytes)? != bytes.len() {
            return Err(BatchFault::None);
        }
        let checksum = said_checksum(bytes);
        if self::checksum(bytes) != checksum {
            return Err(BatchFault::None);
        }
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&bytes[UUID..PLACE]);
        let head = BatchHead {
            uuid,
            at: word(bytes, PLACE),
            chain: word(bytes, CHAIN),
            txnid: Txnid(word(bytes, TXNID)),
            records: half(bytes, RECORDS),
        };
        Ok(Batch { head, checksum, records: &bytes[BATCH_HEADER_BYTES..] })
    }

    /// Where the next batch begins.
    pub(crate) fn behind(&self) -> Place {
        let blocks = blocks_of(BATCH_HEADER_BYTES + self.records.len());
        let BatchHead { at, .. } = self.head;
        Place { next: at.saturating_add(blocks), anchor: at, chain: self.checksum }
    }

    /// All records; `None` in the place of one that is none.
    pub(crate) fn records(&self) -> impl Iterator<Item = Option<TxnRecord<'b>>> {
        let mut rest = self.records;
        (0..self.head.records).map(move |_| TxnRecord::take(&mut rest))
    }
}

fn half(bytes: &[u8], at: usize) -> u32 {
    let mut half = [0; 4];
    half.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(half)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

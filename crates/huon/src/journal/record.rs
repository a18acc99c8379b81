//! A record: what one transaction did, as pages.
//!
//! ```text
//!  0  u32  bytes of the record, a multiple of 8
//!  4  u32  pages
//!  8  u64  txnid
//! 16  u64  txnid of the base
//! 24  u64  checksum of the base's image
//! 32  pages, each:
//!          u32 pgno, u32 pgno of its predecessor (0: none), u64 birth of that,
//!          u32 bytes of the difference, difference
//!     u32 bytes of the image's difference, difference
//!     zeros to a multiple of 8
//! ```
//!
//! J1.1: a record holds every page that was born in its transaction, or there is none. The page
//! itself, made from the difference, says its birth and carries its checksum.

use crate::alloc::{Reserved, TryGrow};
use crate::error::{Error, Result};
use crate::page::{Pgno, Ptr, Txnid, difference};

/// Bytes of the longest record; a transaction with more is made durable by its pages (J1.1).
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;

const HEADER_BYTES: usize = 32;
const PAGES: usize = 4;
const TXNID: usize = 8;
const BASE: usize = 16;
const BASE_CHECKSUM: usize = 24;
const ALIGNMENT: usize = 8;

/// The snapshot that a transaction began with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BaseName {
    pub(crate) txnid: Txnid,
    /// The checksum of its image: a snapshot of the same id may have been lost and made anew.
    pub(crate) checksum: u64,
}

/// A record that is being written.
#[derive(Default)]
pub(crate) struct RecordWriter {
    bytes: Vec<u8>,
    pages: u32,
    /// There is more than a record holds, or something that it cannot hold.
    given_up: bool,
}

impl RecordWriter {
    /// A transaction begins to write its pages. Not `wanted`: it has no record.
    pub(crate) fn begin(&mut self, wanted: bool) -> Reserved<()> {
        self.bytes.clear();
        (self.pages, self.given_up) = (0, !wanted);
        self.bytes.try_append(&[0; HEADER_BYTES])
    }

    /// Bytes of the record so far.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there may be a record.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.given_up
    }

    /// J1.1: the transaction has no record.
    pub(crate) fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Adds a page that is sealed, and the one that it was copied from.
    pub(crate) fn page(
        &mut self,
        (pgno, page): (Pgno, &[u8]),
        before: Option<(Ptr, &[u8])>,
    ) -> Reserved<()> {
        if self.given_up {
            return Ok(());
        }
        let (ptr, old) = match before {
            Some((ptr, old)) => (ptr, Some(old)),
            None => (Ptr::NONE, None),
        };
        self.bytes.try_append(&pgno.0.to_le_bytes())?;
        self.bytes.try_append(&ptr.pgno.0.to_le_bytes())?;
        self.bytes.try_append(&ptr.birth.0.to_le_bytes())?;
        self.difference(old, page)?;
        self.pages += 1;
        Ok(())
    }

    fn difference(&mut self, old: Option<&[u8]>, new: &[u8]) -> Reserved<()> {
        if self.given_up {
            return Ok(());
        }
        let at = self.bytes.len();
        self.bytes.try_append(&[0; 4])?;
        difference::write(old, new, &mut self.bytes)?;
        let bytes = (self.bytes.len() - at - 4) as u32;
        self.bytes[at..at + 4].copy_from_slice(&bytes.to_le_bytes());
        self.given_up |= self.bytes.len() > RECORD_BYTES_MAX;
        Ok(())
    }

    /// The whole record, once the image is known. `None`: there is none (J1.1).
    pub(crate) fn end(
        &mut self,
        txnid: Txnid,
        base: BaseName,
        images: (&[u8], &[u8]),
    ) -> Reserved<Option<&[u8]>> {
        self.difference(Some(images.0), images.1)?;
        let padding = self.bytes.len().next_multiple_of(ALIGNMENT) - self.bytes.len();
        self.bytes.try_extend(std::iter::repeat_n(0, padding))?;
        if self.given_up || self.bytes.len() > RECORD_BYTES_MAX {
            return Ok(None);
        }
        let bytes = self.bytes.len() as u32;
        self.bytes[..PAGES].copy_from_slice(&bytes.to_le_bytes());
        self.bytes[PAGES..TXNID].copy_from_slice(&self.pages.to_le_bytes());
        self.bytes[TXNID..BASE].copy_from_slice(&txnid.0.to_le_bytes());
        self.bytes[BASE..BASE_CHECKSUM].copy_from_slice(&base.txnid.0.to_le_bytes());
        self.bytes[BASE_CHECKSUM..HEADER_BYTES].copy_from_slice(&base.checksum.to_le_bytes());
        Ok(Some(&self.bytes))
    }
}

/// A record, as a batch holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TxnRecord<'b> {
    pub(crate) txnid: Txnid,
    pub(crate) base: BaseName,
    pages: u32,
    /// Pages, image and padding.
    rest: &'b [u8],
}

/// A page of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageRecord<'b> {
    pub(crate) pgno: Pgno,
    /// What it was copied from, or none.
    pub(crate) before: Ptr,
    pub(crate) difference: &'b [u8],
}

impl<'b> TxnRecord<'b> {
    /// Takes the record that `bytes` begins with. `None`: there is none, or it is damaged.
    pub(crate) fn take(bytes: &mut &'b [u8]) -> Option<TxnRecord<'b>> {
        let whole = word(bytes, 0)? as u32 as usize;
        if whole < HEADER_BYTES || !whole.is_multiple_of(ALIGNMENT) {
            return None;
        }
        let (record, rest) = bytes.split_at_checked(whole)?;
        *bytes = rest;
        Some(TxnRecord {
            txnid: Txnid(word(record, TXNID)?),
            base: BaseName {
                txnid: Txnid(word(record, BASE)?),
                checksum: word(record, BASE_CHECKSUM)?,
            },
            pages: (word(record, 0)? >> 32) as u32,
            rest: &record[HEADER_BYTES..],
        })
    }

    /// All pages, and the difference of the images. `None`: the record is damaged.
    pub(crate) fn parts(&self) -> Option<(Vec<PageRecord<'b>>, &'b [u8])> {
        let (mut rest, mut pages) = (self.rest, Vec::new());
        for _ in 0..self.pages {
            let numbers = word(rest, 0)?;
            let before = Ptr { pgno: Pgno((numbers >> 32) as u32), birth: Txnid(word(rest, 8)?) };
            rest = &rest[16..];
            let difference = part(&mut rest)?;
            pages.push(PageRecord { pgno: Pgno(numbers as u32), before, difference });
        }
        let image = part(&mut rest)?;
        let is_padding = rest.len() < ALIGNMENT && rest.iter().all(|byte| *byte == 0);
        is_padding.then_some((pages, image))
    }
}

/// How many records lie in these bytes, one behind the other.
pub(crate) fn count_records(mut bytes: &[u8]) -> Result<u32> {
    let mut count = 0;
    while !bytes.is_empty() {
        let damaged = "a record for the journal is damaged in the lock file";
        TxnRecord::take(&mut bytes).ok_or_else(|| Error::corrupt_file(damaged))?;
        count += 1;
    }
    Ok(count)
}

/// Takes a part that begins with its length.
fn part<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(part)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

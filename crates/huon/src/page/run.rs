//! The reference to a run: a large value in consecutive pages without headers.
//!
//! ```text
//!  0  u32  pgno of the first page
//!  4  u32  bytes of the value
//!  8  u64  birth
//! 16  u64  checksum of the value's bytes
//! 24  u32  zero
//! ```

use super::limits::{MAX_VALUE_BYTES, RUN_REF_BYTES};
use super::types::{Pgno, Ptr, Reason, Txnid};

/// Where a large value lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RunRef {
    pub(crate) pgno: Pgno,
    pub(crate) birth: Txnid,
    pub(crate) bytes: u32,
    pub(crate) checksum: u64,
}

impl RunRef {
    /// How many pages the value takes.
    #[inline(always)]
    pub(crate) fn pages(&self, page_bytes: usize) -> u32 {
        overflow_pages(u64::from(self.bytes), page_bytes)
    }

    /// Its first page.
    pub(crate) fn ptr(&self) -> Ptr {
        Ptr { pgno: self.pgno, birth: self.birth }
    }

    pub(crate) fn encode(&self) -> [u8; RUN_REF_BYTES] {
        let mut out = [0; RUN_REF_BYTES];
        out[..4].copy_from_slice(&self.pgno.0.to_le_bytes());
        out[4..8].copy_from_slice(&self.bytes.to_le_bytes());
        out[8..16].copy_from_slice(&self.birth.0.to_le_bytes());
        out[16..24].copy_from_slice(&self.checksum.to_le_bytes());
        out
    }

    /// Reads the payload of a run cell.
    #[inline(always)]
    pub(crate) fn decode(payload: &[u8]) -> Result<RunRef, Reason> {
        let bytes: &[u8; RUN_REF_BYTES] = payload.try_into().map_err(|_| Reason::Run)?;
        let (words, tail) = bytes.as_chunks::<8>();
        let word = |i: usize| u64::from_le_bytes(words[i]);
        let run = RunRef {
            pgno: Pgno(word(0) as u32),
            bytes: (word(0) >> 32) as u32,
            birth: Txnid(word(1)),
            checksum: word(2),
        };
        let sound = run.pgno.0 != 0
            && run.bytes != 0
            && u64::from(run.bytes) <= MAX_VALUE_BYTES as u64
            && tail == [0; 4];
        if sound { Ok(run) } else { Err(Reason::Run) }
    }
}

/// How many pages a value of so many bytes takes.
#[inline(always)]
pub(crate) fn overflow_pages(bytes: u64, page_bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(page_bytes as u64)).expect("values are bounded")
}

//! Large values: written straight from the caller's memory, or buffered until pages are spilled.
//!
//! A write call costs as much as some ten pages of it. So a short value waits in memory, as pages
//! of trees do: it is written together with its neighbours in the file, and one that is replaced
//! before is never written at all. A longer one is not worth the copy.

use super::{Body, Pages};
use crate::alloc::filled;
use crate::error::{Error, Result};
use crate::page::{Pgno, RunRef};
use crate::planted::{self, Bug};
use crate::store::Buffer;

/// Bytes of a value that is written at once, in whole pages.
const STRAIGHT_BYTES_MIN: usize = 64 << 10;

impl Pages {
    /// Stores a large value on consecutive pages of its own.
    pub(crate) fn write_run(&mut self, bytes: &[u8]) -> Result<RunRef> {
        let page_bytes = self.page_bytes();
        let len = u32::try_from(bytes.len()).map_err(|_| Error::ValueTooLong)?;
        let checksum = self.store.seal.run(bytes);
        let mut run = RunRef { pgno: Pgno(0), birth: self.txnid(), bytes: len, checksum };
        let pages = run.pages(page_bytes);
        if pages as usize * page_bytes >= STRAIGHT_BYTES_MIN {
            let tail = self.tail_of_run(pages, bytes)?;
            run.pgno = self.space.take_run(&*self.store, pages)?;
            self.write_run_to(&run, [bytes, &tail])?;
            return Ok(run);
        }
        let buffer = self.copied(bytes, pages)?;
        run.pgno = self.space.take_run(&*self.store, pages)?;
        self.buffers.check_free(run.pgno, pages)?;
        let kept = self.buffers.insert_value(run.pgno, pages, buffer);
        kept.inspect_err(|_| self.space.give_back(run.pgno, pages))?;
        Ok(run)
    }

    /// The value in as many whole pages.
    fn copied(&self, bytes: &[u8], pages: u32) -> Result<Buffer> {
        if pages == 1 {
            let mut buffer = self.store.buffer()?;
            let (value, tail) = buffer.split_at_mut(bytes.len());
            value.copy_from_slice(bytes);
            tail.fill(0);
            return Ok(buffer);
        }
        let mut whole = Vec::new();
        let whole_bytes = pages as usize * self.page_bytes();
        whole.try_reserve_exact(whole_bytes).map_err(|_| Error::OutOfMemory)?;
        whole.extend_from_slice(bytes);
        whole.resize(whole_bytes, 0);
        Ok(Buffer::Own(whole.into_boxed_slice()))
    }

    /// Copies a large value of the file to consecutive pages before `line`, if there are such, and
    /// frees those where it was.
    pub(crate) fn move_run_below(&mut self, run: &RunRef, line: u32) -> Result<Option<RunRef>> {
        let store = self.store.clone();
        let bytes = store.run_verified(run, self.space.used())?;
        let pages = run.pages(self.page_bytes());
        let tail = self.tail_of_run(pages, bytes)?;
        let Some(pgno) = self.space.take_run_below(&*self.store, pages, line)? else {
            return Ok(None);
        };
        let moved = RunRef { pgno, birth: self.txnid(), ..*run };
        self.write_run_to(&moved, [bytes, &tail])?;
        if !planted::is(Bug::MovedValueLeaked) {
            self.free_run(run)?;
        }
        Ok(Some(moved))
    }

    /// What follows the bytes of a large value in its last page.
    fn tail_of_run(&self, pages: u32, bytes: &[u8]) -> Result<Vec<u8>> {
        Ok(filled(0, pages as usize * self.page_bytes() - bytes.len())?)
    }

    fn write_run_to(&mut self, run: &RunRef, parts: [&[u8]; 2]) -> Result<()> {
        let page_bytes = self.page_bytes();
        let pages = run.pages(page_bytes);
        self.buffers.check_free(run.pgno, pages)?;
        self.before_write()?;
        self.note_written(run.ptr(), pages, self.buffers.level(), Body::Value);
        let offset = u64::from(run.pgno.0) * page_bytes as u64;
        self.counts.written_bytes += u64::from(pages) * page_bytes as u64;
        self.store.storage.write_at(&parts, offset)
    }
}

//! The free space of a snapshot: the items of its image, and the chunk pages they lead to.

use super::Check;
use crate::alloc::{Reserved, TryGrow};
use crate::error::Result;
use crate::page::{Chunk, Item, Meta, Ptr, Txnid};
use crate::store::space::Backend;
use crate::store::space::Protected;

impl Check<'_, '_> {
    /// Marks everything that is listed as free, and says how much work the trees will be.
    pub(super) fn space(&mut self, meta: &Meta) -> Result<()> {
        // What is wrong with the names is found where they are read.
        let named = self.core.named_ids(meta).unwrap_or_default();
        let protected = self.core.store.protected(&named)?;
        let mut walk = SpaceWalk {
            protected,
            chains: Vec::new(),
            marks_left: u64::from(self.free.limit()) * 2,
            past_pages: 0,
        };
        for item in &meta.items {
            self.item(&mut walk, item, self.snapshot, None)?;
        }
        while let Some((ptr, above)) = walk.chains.pop() {
            self.chunk(&mut walk, ptr, above)?;
        }
        self.past_end(&walk);
        let listed =
            self.report.free_pages + self.report.retained_pages + self.report.free_list_pages;
        let pages = self.report.pages_total.saturating_sub(listed);
        self.meter.now.total_bytes = self.meter.now.done_bytes + pages * self.page_bytes();
        Ok(())
    }

    /// A snapshot may span more than the file, after the file was cut, but nothing in use lies
    /// there.
    fn past_end(&mut self, walk: &SpaceWalk) {
        let limit = self.free.limit();
        let past = u64::from(self.source.used - limit);
        if past == 0 {
            return;
        }
        if walk.past_pages == past {
            self.report.notes.push(format!("the last {past} pages, all free, are cut off"));
        } else {
            self.report.add(Some(limit), None, || {
                format!("the file ends here, but {past} more pages are not all listed as free")
            });
        }
    }

    fn item(
        &mut self,
        walk: &mut SpaceWalk,
        item: &Item,
        above: Txnid,
        on: Option<u32>,
    ) -> Reserved<()> {
        if item.is_chain() {
            if item.freed > self.snapshot.0 {
                let waits = || "the entries wait for a snapshot that was not made yet".to_string();
                self.report.add(Some(item.pgno), None, waits);
            }
            return walk.chains.try_push((item.ptr(), above));
        }
        let (first, pages) = (item.pgno, item.page_count());
        let end = u64::from(first) + u64::from(pages);
        if first < self.first || end > u64::from(self.source.used) {
            self.report.add(on, None, || {
                format!("free pages {first} to {} lie outside the file", end - 1)
            });
            return Ok(());
        }
        if item.birth > item.freed || item.freed > above.0 {
            self.report.add(Some(first), None, || {
                format!("its life from {} to {} makes no sense", item.birth, item.freed)
            });
        }
        if walk.protected.retains(item.birth, item.freed) {
            self.report.retained_pages += u64::from(pages);
        } else {
            self.report.free_pages += u64::from(pages);
        }
        self.mark(walk, first, end as u32);
        Ok(())
    }

    fn mark(&mut self, walk: &mut SpaceWalk, first: u32, end: u32) {
        let limit = self.free.limit();
        walk.past_pages += u64::from(end - first.max(limit).min(end));
        let mut clash = None;
        for pgno in first..end.min(limit) {
            // Each page may be listed twice on average: an honest file stays far below that.
            if walk.marks_left == 0 {
                break;
            }
            walk.marks_left -= 1;
            if self.free.put(pgno) && clash.is_none() {
                clash = Some(pgno);
            }
        }
        if let Some(pgno) = clash {
            self.report.add(Some(pgno), None, || "it is listed as free twice".to_string());
        }
    }

    fn chunk(&mut self, walk: &mut SpaceWalk, ptr: Ptr, above: Txnid) -> Result<()> {
        if !self.enter(ptr, above, None) {
            return Ok(());
        }
        self.report.free_list_pages += 1;
        self.meter.advance(self.page_bytes())?;
        let store = self.source.store;
        let chunk: Chunk<'_> = match store.chunk(ptr, self.source.used) {
            Ok(chunk) => chunk,
            Err(error) => {
                self.incomplete = true;
                return self.trouble(ptr.pgno.0, None, error);
            }
        };
        if !chunk.next().is_none() {
            walk.chains.try_push((chunk.next(), ptr.birth))?;
        }
        for item in chunk.items() {
            match item {
                Ok(item) => self.item(walk, &item, ptr.birth, Some(ptr.pgno.0))?,
                Err(reason) => {
                    self.incomplete = true;
                    self.report.add(Some(ptr.pgno.0), None, || reason.text().to_string());
                }
            }
        }
        Ok(())
    }
}

struct SpaceWalk {
    protected: Protected,
    /// Chunk pages to read, with the birth of what points to them.
    chains: Vec<(Ptr, Txnid)>,
    /// Pages that may still be marked: bounds the work on a hostile file.
    marks_left: u64,
    /// Free pages past the end of the file.
    past_pages: u64,
}

//! The evidence: the tail of a snapshot, which is every page, large value and chunk that was born
//! after some earlier one.
//!
//! After an unclean end only the tail is in doubt, and the births in the pointers lead straight to
//! it: pages born earlier are not even read. The cost is proportional to the pages written since.
//! The tail is also all that a copy of the earlier snapshot lacks (`ops/changes`).

use std::collections::HashSet;

use crate::alloc::{TryGrow, inserted};
use crate::error::{Error, Result};
use crate::page::{
    Chunk, Item, Kind, Meta, PayloadKind, Pgno, Ptr, Reason, RunRef, Tree, Txnid, admit,
};
use crate::planted::{self, Bug};
use crate::store::Store;
use crate::store::source::{OnPage, damaged};
use crate::store::space::{Backend, PageSet};
use crate::tree::read;

/// Bytes that are copied and written at once.
const PIECE_BYTES: usize = 1 << 20;

/// A part of the tail, verified: a page, or a large value without the rest of its last page.
pub(crate) struct Piece<'s> {
    pub(crate) ptr: Ptr,
    pub(crate) bytes: &'s [u8],
}

/// Verifies everything in snapshot `meta` that was born after `since`.
pub(crate) fn verify(store: &Store, meta: &Meta, since: Txnid) -> Result<()> {
    if planted::is(Bug::UnflushedUnverified) {
        return Ok(());
    }
    Tail::new(store, meta, since, &mut |_| Ok(())).run(meta)
}

/// Verifies it and writes the same bytes to the same places again.
pub(crate) fn write_again(store: &Store, meta: &Meta, since: Txnid) -> Result<()> {
    let mut copy = Vec::new();
    let mut rewrite = |piece: Piece<'_>| {
        let mut offset = store.offset(piece.ptr.pgno.0);
        for part in piece.bytes.chunks(PIECE_BYTES) {
            // The map shows the very page that is written: a copy keeps the kernel from reading
            // what it writes.
            copy.try_set(part)?;
            store.storage.write_at(&[&copy], offset)?;
            offset += part.len() as u64;
        }
        Ok(())
    };
    Tail::new(store, meta, since, &mut rewrite).run(meta)
}

/// Verifies it and hands it out, each page once. Costs what it holds, and a few bytes of memory for
/// each of its pages.
pub(crate) fn visit<'s>(
    store: &'s Store,
    meta: &Meta,
    since: Txnid,
    each: &mut dyn FnMut(Piece<'s>) -> Result<()>,
) -> Result<()> {
    Tail::new(store, meta, since, each).run(meta)
}

struct Tail<'s, 'f> {
    store: &'s Store,
    used: u32,
    newest: Txnid,
    since: Txnid,
    seen: PageSet,
    each: &'f mut dyn FnMut(Piece<'s>) -> Result<()>,
}

/// Which kind of tree is walked: each may hold records of the next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Main,
    Named,
    Values,
}

impl<'s, 'f> Tail<'s, 'f> {
    fn new(
        store: &'s Store,
        meta: &Meta,
        since: Txnid,
        each: &'f mut dyn FnMut(Piece<'s>) -> Result<()>,
    ) -> Tail<'s, 'f> {
        Tail { store, used: meta.used, newest: meta.txnid, since, seen: PageSet::default(), each }
    }

    fn run(&mut self, meta: &Meta) -> Result<()> {
        self.tree(&meta.main, Part::Main)?;
        self.items(&meta.items)
    }

    fn tree(&mut self, tree: &Tree, part: Part) -> Result<()> {
        match tree.depth {
            0 => Ok(()),
            depth => self.node(tree, tree.root, depth - 1, part),
        }
    }

    /// Whether `ptr` belongs to the tail; then it must not be reached twice.
    fn enters(&mut self, ptr: Ptr, pages: u32) -> Result<bool> {
        if ptr.birth <= self.since {
            return Ok(false);
        }
        if ptr.birth > self.newest {
            return Err(damaged(ptr, Reason::Header));
        }
        self.enter_once(ptr.pgno.0, pages).map(|()| true)
    }

    /// Each page is reached at most once, so no work is done twice.
    fn enter_once(&mut self, pgno: u32, pages: u32) -> Result<()> {
        if pgno.checked_add(pages).is_none_or(|end| end > self.used) {
            return Err(Error::corrupt(pgno, Reason::OutOfRange.text()));
        }
        if self.seen.meets(Pgno(pgno), pages) {
            return Err(Error::corrupt(pgno, Reason::Cycle.text()));
        }
        Ok(self.seen.insert(Pgno(pgno), pages)?)
    }

    fn page(&mut self, ptr: Ptr) -> Result<&'s [u8]> {
        let bytes = self.store.page_verified(ptr, self.used)?;
        (self.each)(Piece { ptr, bytes })?;
        Ok(bytes)
    }

    fn node(&mut self, tree: &Tree, ptr: Ptr, level: u8, part: Part) -> Result<()> {
        if !self.enters(ptr, 1)? {
            return Ok(());
        }
        let page = self.page(ptr)?;
        if level > 0 {
            let count = admit(page, ptr, Kind::Branch, level).on(ptr)?;
            let branch = crate::page::Branch::view(page, count).on(ptr)?;
            return (0..count).try_for_each(|i| self.node(tree, branch.child(i), level - 1, part));
        }
        if tree.has_fixed_leaves() {
            let count = admit(page, ptr, Kind::Fixed, 0).on(ptr)?;
            let leaf = crate::page::FixedLeaf::view(page, count, tree.fixed_bytes as usize);
            return leaf.map(drop).on(ptr);
        }
        let count = admit(page, ptr, Kind::Leaf, 0).on(ptr)?;
        let leaf = crate::page::SlottedLeaf::view(page, count).on(ptr)?;
        for cell in leaf.cells() {
            let cell = cell.on(ptr)?;
            match cell.kind {
                PayloadKind::Run => self.run_value(&read::run_ref(&cell)?)?,
                PayloadKind::Table if part == Part::Main => {
                    self.tree(&Tree::decode(cell.payload).on(ptr)?, Part::Named)?;
                }
                PayloadKind::DuplicateTree if part == Part::Named => {
                    self.tree(&tree.decode_values(cell.payload).on(ptr)?, Part::Values)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn run_value(&mut self, run: &RunRef) -> Result<()> {
        let ptr = Ptr { pgno: run.pgno, birth: run.birth };
        if !self.enters(ptr, run.pages(self.store.page_bytes))? {
            return Ok(());
        }
        let bytes = self.store.run_verified(run, self.used)?;
        (self.each)(Piece { ptr, bytes })
    }

    fn items(&mut self, items: &[Item]) -> Result<()> {
        let mut chains: Vec<Ptr> =
            items.iter().filter(|item| item.is_chain()).map(Item::ptr).collect();
        while let Some(ptr) = chains.pop() {
            if !self.enters(ptr, 1)? {
                continue;
            }
            let page = self.page(ptr)?;
            let chunk = admit(page, ptr, Kind::Chunk, 0).and_then(|count| Chunk::view(page, count));
            let chunk = chunk.on(ptr)?;
            if !chunk.next().is_none() {
                chains.try_push(chunk.next())?;
            }
            for item in chunk.items() {
                let item = item.on(ptr)?;
                if item.is_chain() {
                    chains.try_push(item.ptr())?;
                }
            }
        }
        Ok(())
    }
}

/// Whether every page with a header that `meta` retired from snapshot `before` still carries its
/// pair: only then has nothing that `before` sees been written over.
pub(crate) fn retired_are_intact(store: &Store, meta: &Meta, before: Txnid) -> Result<()> {
    let mut items = meta.items.clone();
    let mut seen = HashSet::new();
    while let Some(item) = items.pop() {
        if item.is_chain() {
            let ptr = item.ptr();
            if !inserted(&mut seen, ptr.pgno.0)? {
                return Err(damaged(ptr, Reason::Cycle));
            }
            let chunk = store.chunk(ptr, meta.used)?;
            for item in chunk.items() {
                items.try_push(item.on(ptr)?)?;
            }
            if !chunk.next().is_none() {
                items.try_push(Item::chain(chunk.next(), Txnid(0)))?;
            }
        } else if item.has_headers() && item.birth <= before.0 && before.0 < item.freed {
            let end = u64::from(item.pgno) + u64::from(item.page_count());
            if end > u64::from(meta.used) {
                return Err(Error::corrupt(item.pgno, Reason::Space.text()));
            }
            for pgno in item.pgno..end as u32 {
                let ptr = Ptr { pgno: Pgno(pgno), birth: Txnid(item.birth) };
                if !inserted(&mut seen, pgno)? {
                    return Err(damaged(ptr, Reason::Cycle));
                }
                store.page_verified(ptr, meta.used)?;
            }
        }
    }
    Ok(())
}

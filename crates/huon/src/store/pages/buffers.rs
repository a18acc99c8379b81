//! What is buffered, and by which level: W1 is kept here.

use super::levels::Level;
use super::{Body, Dirty, ROOM_KEPT};
use crate::alloc::{Reserved, TryGrow};
use crate::error::{Error, Result};
use crate::page::{Pgno, Ptr, Reason, Txnid};
use crate::store::Buffer;
use crate::store::by_pgno::ByPgno;
use crate::store::space::PageSet;

/// All that is buffered, by page number; values by their first ones.
pub(super) struct Buffers {
    page_bytes: usize,
    /// Pages of trees and of the free list.
    nodes: ByPgno<Dirty>,
    /// Large values.
    values: ByPgno<Dirty>,
    /// All pages of the values.
    taken: PageSet,
    value_pages: usize,
    /// Level 0 is the transaction itself.
    levels: Vec<Level>,
}

impl Buffers {
    pub(super) fn new(page_bytes: usize) -> Buffers {
        Buffers {
            page_bytes,
            nodes: ByPgno::default(),
            values: ByPgno::default(),
            taken: PageSet::default(),
            value_pages: 0,
            levels: vec![Level::new(Txnid::default(), 0)],
        }
    }

    /// A transaction begins, with nothing buffered.
    pub(super) fn begin(&mut self, txnid: Txnid) {
        debug_assert!(self.is_empty(), "what is kept was sealed");
        if self.nodes.capacity() > ROOM_KEPT {
            self.nodes = ByPgno::default();
        }
        (self.values, self.taken) = (ByPgno::default(), PageSet::default());
        self.levels[0] = Level::new(txnid, 0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.values.is_empty()
    }

    /// How many pages are buffered.
    pub(super) fn pages(&self) -> usize {
        self.nodes.len() + self.value_pages
    }

    /// How many of them belong to large values.
    pub(super) fn value_pages(&self) -> usize {
        self.value_pages
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Dirty> {
        self.nodes.values().chain(self.values.values())
    }

    /// The number of each page, and of each value's first.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.nodes.keys().copied().chain(self.value_numbers())
    }

    pub(super) fn value_numbers(&self) -> impl Iterator<Item = u32> {
        self.values.keys().copied()
    }

    #[inline(always)]
    pub(super) fn get(&self, pgno: Pgno, what: Body) -> Option<&Dirty> {
        match what {
            Body::Node => self.nodes.get(&pgno.0),
            Body::Value => self.values.get(&pgno.0),
        }
    }

    #[inline(always)]
    pub(super) fn edit(&mut self, pgno: Pgno) -> &mut [u8] {
        &mut self.nodes.get_mut(&pgno.0).expect("W1: edited without touch").buffer
    }

    pub(super) fn edit_two(&mut self, a: Pgno, b: Pgno) -> (&mut [u8], &mut [u8]) {
        let both = self.nodes.get_disjoint_mut([&a.0, &b.0]);
        let [a, b] = both.map(|dirty| dirty.expect("W1: edited without touch"));
        (&mut a.buffer, &mut b.buffer)
    }

    /// Makes room for so many pages.
    #[inline]
    pub(super) fn reserve(&mut self, pages: usize) -> Reserved<()> {
        self.nodes.try_reserve(pages)
    }

    /// W1: a page of the current level, for which there is room; `from`: the page of the base that
    /// it was copied from, if it was.
    #[inline]
    pub(super) fn insert(&mut self, pgno: Pgno, buffer: Buffer, from: Ptr) {
        let dirty = Dirty { buffer, level: self.level(), what: Body::Node, from };
        self.nodes.insert(pgno.0, dirty);
    }

    /// W1: a large value of the current level.
    pub(super) fn insert_value(&mut self, pgno: Pgno, pages: u32, buffer: Buffer) -> Reserved<()> {
        self.values.try_reserve(1)?;
        self.taken.insert(pgno, pages)?;
        let dirty = Dirty { buffer, level: self.level(), what: Body::Value, from: Ptr::NONE };
        self.values.insert(pgno.0, dirty);
        self.value_pages += pages as usize;
        Ok(())
    }

    /// Takes out what has this number.
    pub(super) fn take(&mut self, pgno: u32) -> Option<Dirty> {
        self.nodes.remove(&pgno).or_else(|| {
            let dirty = self.values.remove(&pgno)?;
            let pages = dirty.pages(self.page_bytes);
            self.taken.remove(Pgno(pgno), pages);
            self.value_pages -= pages as usize;
            Some(dirty)
        })
    }

    /// F1: only a free-space list that names a page twice leads to one that is buffered.
    #[inline]
    pub(super) fn check_free(&self, pgno: Pgno, pages: u32) -> Result<()> {
        let twice = (pgno.0..pgno.0.saturating_add(pages))
            .find(|pgno| self.nodes.contains_key(pgno) || self.taken.meets(Pgno(*pgno), 1));
        match twice {
            Some(pgno) => Err(Error::corrupt(pgno, Reason::Space.text())),
            None => Ok(()),
        }
    }

    /// The number of the current level.
    #[inline]
    pub(super) fn level(&self) -> usize {
        self.levels.len() - 1
    }

    pub(super) fn level_mut(&mut self, level: usize) -> &mut Level {
        &mut self.levels[level]
    }

    pub(super) fn current(&mut self) -> &mut Level {
        self.level_mut(self.level())
    }

    pub(super) fn push_level(&mut self, level: Level) -> Reserved<()> {
        self.levels.try_push(level)
    }

    /// W1: what the current level made is its parent's now.
    pub(super) fn commit_level(&mut self) -> Level {
        let level = self.pop_level();
        let parent = self.level();
        let all = self.nodes.values_mut().chain(self.values.values_mut());
        all.for_each(|dirty| dirty.level = dirty.level.min(parent));
        level
    }

    /// W3: the current level, and what it made, which is buffered no more.
    pub(super) fn abort_level(&mut self) -> (Level, impl Iterator<Item = (u32, Dirty)>) {
        let level = self.pop_level();
        let parent = self.level();
        let Buffers { page_bytes, nodes, values, taken, value_pages, .. } = self;
        let is_aborted = move |_: &u32, dirty: &mut Dirty| dirty.level > parent;
        let values = values.extract_if(is_aborted).inspect(move |(pgno, dirty)| {
            let pages = dirty.pages(*page_bytes);
            taken.remove(Pgno(*pgno), pages);
            *value_pages -= pages as usize;
        });
        (level, nodes.extract_if(is_aborted).chain(values))
    }

    fn pop_level(&mut self) -> Level {
        assert!(self.level() > 0, "the transaction itself is no nested level");
        self.levels.pop().expect("there is a level")
    }
}

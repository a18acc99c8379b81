//! Moving items from the list of a snapshot to chunk pages.
//!
//! 1. A chain that waits for no snapshot holds items that were looked through: items on top of it
//!    are noted in the sweep's roof.
//! 2. While a sweep is running, such a chain lists either pages behind the sweep's line or pages
//!    before it, never both.
//! 3. The highest free runs stay in the list. So what comes free beside them shows at once.

use super::sweep::Swept;
use super::{Backend, INLINE_ITEMS_LOW, Protected, Space};
use crate::alloc::{Reserved, TryGrow, collected, filled};
use crate::error::Result;
use crate::page::{Item, Pgno, Ptr, Sweep, Txnid, chunk_capacity, write_chunk};

/// A group smaller than this is not worth a chunk of its own.
const GROUP_ITEMS_MIN: usize = 4;
/// The highest free runs, which no commit moves.
const HIGH_RUNS_KEPT: usize = 32;

/// What belongs in one chain: the snapshot that it waits for, or 0, and whether it lies behind the
/// line of a sweep.
type ChainKey = (u64, bool);

impl Space {
    /// Moves groups of items into chunks, the largest first, until what is left fits the meta
    /// comfortably.
    pub(super) fn move_to_chunks(
        &mut self,
        backend: &impl Backend,
        items: Vec<Item>,
        page_bytes: usize,
        swept: &mut Swept,
        chunks: &mut Vec<(Ptr, Vec<u8>)>,
    ) -> Result<Vec<Item>> {
        if !self.judged {
            backend.read_protected(&self.named, &mut self.protected)?;
        }
        let protected = std::mem::take(&mut self.protected);
        let mut groups = Groups(self.group(backend, &protected, items, &swept.now)?);
        let capacity = chunk_capacity(page_bytes);
        while groups.inline_items() + self.pool.len() > INLINE_ITEMS_LOW {
            let ptr =
                Ptr { pgno: self.take_for_chunk(backend, swept.opened > 0)?, birth: self.txnid };
            let (at, moved) = self.next_items(&mut groups, capacity, &swept.now)?;
            let group = &mut groups.0[at];
            debug_assert!(
                group.place.0 == 0 || moved.iter().all(|item| protected.owner(item) != 0),
                "P15: a chain that no snapshot retains is not waited for"
            );
            let mut page = filled(0, page_bytes)?;
            write_chunk(&mut page, ptr, group.chain, &moved);
            chunks.try_push((ptr, page))?;
            group.chain = ptr;
            if group.place.0 == 0 {
                swept.now.raise_roof(ptr, &moved);
            }
        }
        let mut left = collected(groups.0.into_iter().flat_map(Group::into_items))?;
        left.sort_unstable_by_key(|item| item.pgno);
        self.protected = protected;
        Ok(left)
    }

    /// The items for the next chunk, and the group whose chain it joins: free runs if they are more
    /// than the items of any group; else items of the largest; the retained items of all owners
    /// together when none has enough for a chunk of its own (then the oldest owner stands for all).
    fn next_items(
        &mut self,
        groups: &mut Groups,
        capacity: usize,
        sweep: &Sweep,
    ) -> Result<(usize, Vec<Item>)> {
        let largest = groups.0.iter().map(|group| group.items.len()).max().unwrap_or(0);
        let movable = self.pool.len().saturating_sub(HIGH_RUNS_KEPT);
        if movable > largest.max(GROUP_ITEMS_MIN) {
            let line = sweep.is_running().then_some(sweep.line);
            let free = self.pool.take_below(HIGH_RUNS_KEPT, capacity, line)?;
            let zone = sweep.is_running() && free.iter().any(|item| sweep.is_behind(item));
            return Ok((groups.at((0, zone))?, free));
        }
        if largest < GROUP_ITEMS_MIN {
            groups.join_retained()?;
        }
        let at = (0..groups.0.len()).max_by_key(|&i| groups.0[i].items.len());
        let at = at.expect("there are items to move");
        let items = &mut groups.0[at].items;
        let keep = items.len().saturating_sub(capacity);
        Ok((at, collected(items.drain(keep..))?))
    }

    /// F2: from the pool, or from the high-water mark on. A sweep clears the end of the file of
    /// chunks too.
    fn take_for_chunk(&mut self, backend: &impl Backend, sweeps: bool) -> Result<Pgno> {
        let low = if sweeps { self.pool.take_lowest() } else { None };
        match low.or_else(|| self.pool.take_from_longest()) {
            Some(pgno) => self.check_unwritten(pgno, 1),
            None => self.advance(backend, 1),
        }
    }

    /// The items by where they belong. In a group chains come first: they are moved last.
    fn group(
        &self,
        backend: &impl Backend,
        protected: &Protected,
        items: Vec<Item>,
        sweep: &Sweep,
    ) -> Result<Vec<Group>> {
        let mut placed: Vec<(ChainKey, Item)> = Vec::new();
        placed.try_reserve_exact(items.len())?;
        for item in items {
            let owner = protected.owner(&item);
            let zone = owner == 0 && sweep.is_running() && self.is_zone(backend, &item, sweep)?;
            placed.push(((owner, zone), item));
        }
        placed.sort_unstable_by_key(|(place, i)| (*place, !i.is_chain(), i.freed, i.pgno));
        let mut groups: Vec<Group> = Vec::new();
        for (place, item) in placed {
            if groups.last().is_none_or(|group| group.place != place) {
                groups.try_push(Group::new(place))?;
            }
            let group = groups.last_mut().expect("it was just added");
            let heads = item.is_chain() && item.freed == place.0 && group.chain.is_none();
            if heads && (place.0 != 0 || sweep.has_seen(&item)) {
                group.chain = item.ptr();
            } else {
                group.items.try_push(item)?;
            }
        }
        Ok(groups)
    }
}

/// Items that belong in one chain.
struct Group {
    place: ChainKey,
    items: Vec<Item>,
    /// On top of which a new chunk goes.
    chain: Ptr,
}

impl Group {
    fn new(place: ChainKey) -> Group {
        Group { place, items: Vec::new(), chain: Ptr::NONE }
    }

    fn inline_items(&self) -> usize {
        self.items.len() + usize::from(!self.chain.is_none())
    }

    fn into_items(self) -> impl Iterator<Item = Item> {
        let owner = Txnid(self.place.0);
        let chain = (!self.chain.is_none()).then(|| Item::chain(self.chain, owner));
        chain.into_iter().chain(self.items)
    }
}

/// Ascending by their places.
struct Groups(Vec<Group>);

impl Groups {
    fn inline_items(&self) -> usize {
        self.0.iter().map(Group::inline_items).sum()
    }

    /// Where the group with this place is; it is made if there is none.
    fn at(&mut self, place: ChainKey) -> Reserved<usize> {
        let at = self.0.partition_point(|group| group.place < place);
        if self.0.get(at).is_none_or(|group| group.place != place) {
            self.0.try_reserve(1)?;
            self.0.insert(at, Group::new(place));
        }
        Ok(at)
    }

    /// Makes one group of all that wait for a snapshot: the oldest stands for all.
    fn join_retained(&mut self) -> Reserved<()> {
        let first = self.0.partition_point(|group| group.place.0 == 0);
        let Some(oldest) = self.0.get(first) else { return Ok(()) };
        let mut joined = Group::new(oldest.place);
        joined.items = collected(self.0.drain(first..).flat_map(Group::into_items))?;
        self.0.try_push(joined)
    }
}

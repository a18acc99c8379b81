//! The allocator against a model of every page, and its bounds counted.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::*;
use crate::page::{Kind, admit, write_chunk};

const PAGE_BYTES: usize = 4096;
const FIRST: u32 = 3;
const NO_SHRINK: Shrink = Shrink {
    pages: 0,
    max_pages: u32::MAX,
    behind: 0,
    all_to: None,
    sweep: Sweep { owed: 0, since: Txnid(0), line: 0, roof: 0 },
};

/// A file that has every page, chunks kept in memory, and a protected set to choose.
#[derive(Default)]
struct Plain {
    chunks: HashMap<u32, (u64, Vec<u8>)>,
    readers: RefCell<Vec<u64>>,
    durable: RefCell<u64>,
    newest: RefCell<u64>,
    page_bytes: usize,
}

impl Backend for Plain {
    fn read_protected(&self, named: &[u64], into: &mut Protected) -> Result<()> {
        let mut lasting = self.readers.borrow().clone();
        lasting.extend(named);
        lasting.push(*self.durable.borrow());
        let mut all = lasting.clone();
        all.push(*self.newest.borrow());
        for ids in [&mut lasting, &mut all] {
            ids.sort_unstable();
            ids.dedup();
        }
        *into = Protected { all, lasting, spans: Vec::new() };
        Ok(())
    }

    fn chunk(&self, ptr: Ptr, _: u32) -> Result<Chunk<'_>> {
        let (birth, page) = self.chunks.get(&ptr.pgno.0).expect("a chunk was written there");
        assert_eq!(*birth, ptr.birth.0, "a chunk was written over while its list needed it");
        let count = admit(page, ptr, Kind::Chunk, 0).expect("a chunk");
        Ok(Chunk::view(page, count).expect("a chunk"))
    }

    fn extend(&self, _: u64, _: bool) -> Result<()> {
        Ok(())
    }
}

/// All snapshots of a simulated environment, at the level of page numbers.
struct World {
    backend: Plain,
    items: Vec<Item>,
    /// What the last transaction left; `None`: the next one knows the list only.
    space: Option<Space>,
    used: u32,
    txnid: u64,
    /// Live pages of the newest snapshot and their births.
    live: BTreeMap<u32, u64>,
    /// How commits look for a free tail.
    shrink: Shrink,
    /// How often the next transaction writes pages, drops some, and goes on under another id.
    rises: u64,
    /// P8: each number with each birth that it was written with.
    pairs: BTreeSet<(u32, u64)>,
}

impl World {
    fn new(page_bytes: usize) -> World {
        let backend = Plain { page_bytes, ..Plain::default() };
        World {
            backend,
            items: Vec::new(),
            space: None,
            used: FIRST,
            txnid: 1,
            live: BTreeMap::new(),
            shrink: NO_SHRINK,
            rises: 0,
            pairs: BTreeSet::new(),
        }
    }

    /// Takes and writes pages, drops two thirds of them, and rises, several times; what is left of
    /// them.
    fn churn(&mut self, space: &mut Space, takes: usize) -> Vec<(u32, u64)> {
        let mut own = Vec::new();
        for _ in 0..self.rises {
            let id = space.txnid;
            for n in 0..takes {
                let run = 1 + n as u32 % 3;
                let pgno = match run {
                    1 => space.take(&self.backend, Stay::Short),
                    _ => space.take_run(&self.backend, run),
                };
                let pgno = pgno.unwrap();
                space.note_written(pgno, run);
                for pgno in pgno.0..pgno.0 + run {
                    assert!(!self.live.contains_key(&pgno), "F1: a live page is handed out");
                    assert!(self.pairs.insert((pgno, id.0)), "P8: page {pgno} under {id:?} twice");
                    match pgno % 3 {
                        0 => own.push((pgno, id.0)),
                        _ => space.bury(Pgno(pgno), 1, id, true).unwrap(),
                    }
                }
            }
            own.retain(|&(pgno, birth)| {
                let dies = pgno % 4 == 1 && birth < id.0;
                if dies {
                    space.bury(Pgno(pgno), 1, Txnid(birth), true).unwrap();
                }
                !dies
            });
            space.rise(Txnid(id.0 + 1)).unwrap();
        }
        own
    }

    /// One transaction: takes `takes` pages, retires what `pick` says of the pages that were there.
    fn run(&mut self, takes: usize, retires: &[u32], durable: bool) -> SpaceCounts {
        let txnid = self.txnid + 1;
        *self.backend.newest.borrow_mut() = self.txnid;
        let anew = || Space::new(FIRST, self.used, self.items.clone());
        let mut space = self.space.take().unwrap_or_else(anew);
        space.begin(Txnid(txnid), Vec::new());
        let (early, late) = retires.split_at(retires.len() / 2);
        self.retire(&mut space, early);
        let own = self.churn(&mut space, takes);
        let txnid = space.txnid.0;
        let mut taken = Vec::new();
        for _ in 0..takes {
            let pgno = space.take(&self.backend, Stay::Short).unwrap().0;
            assert!(
                pgno >= FIRST && !self.live.contains_key(&pgno),
                "F1: a live page is handed out"
            );
            taken.push(pgno);
        }
        self.retire(&mut space, late);
        self.live.extend(taken.iter().map(|&pgno| (pgno, txnid)));
        self.live.extend(own);
        let sealed = space.seal(&self.backend, self.backend.page_bytes, self.shrink).unwrap();
        self.shrink.sweep = sealed.sweep;
        let counts = space.counts;
        for (ptr, page) in sealed.chunks {
            assert!(!self.live.contains_key(&ptr.pgno.0), "F1: a chunk lies on a live page");
            assert!(self.pairs.insert((ptr.pgno.0, ptr.birth.0)), "P8: a chunk's pair twice");
            self.backend.chunks.insert(ptr.pgno.0, (ptr.birth.0, page));
        }
        self.items = space.recorded().collect();
        assert_eq!(space.used(), sealed.used);
        self.space = Some(space);
        (self.used, self.txnid) = (sealed.used, txnid);
        if durable {
            *self.backend.durable.borrow_mut() = txnid;
        }
        counts
    }

    fn retire(&mut self, space: &mut Space, pages: &[u32]) {
        for &pgno in pages {
            let birth = self.live.remove(&pgno).expect("only live pages are retired");
            space.retire(Pgno(pgno), 1, Txnid(birth), true);
        }
    }

    /// Every item of the newest snapshot, chains opened, with the chunk pages themselves.
    fn all_items(&self) -> Vec<Item> {
        let mut all = Vec::new();
        let mut todo = self.items.clone();
        while let Some(item) = todo.pop() {
            if item.is_chain() {
                let chunk = self.backend.chunk(item.ptr(), self.used).unwrap();
                todo.extend(chunk.items().map(|item| item.unwrap()));
                if !chunk.next().is_none() {
                    todo.push(Item::chain(chunk.next(), Txnid(item.freed)));
                }
            }
            all.push(item);
        }
        all
    }

    /// F6: a transaction that starts from what the last one knew finds what a fresh scan finds.
    fn compare(&mut self) {
        *self.backend.newest.borrow_mut() = self.txnid;
        let Some(mut warm) = self.space.take() else { return };
        let mut cold = Space::new(FIRST, self.used, self.items.clone());
        for space in [&mut warm, &mut cold] {
            space.begin(Txnid(self.txnid + 1), Vec::new());
            // Nothing is added to make room: only a taker of pages does that.
            space.frugal = true;
            space.judge_once(&self.backend).unwrap();
        }
        let free = |space: &Space| space.pool.items().collect::<Vec<_>>();
        assert_eq!((free(&warm), &warm.items), (free(&cold), &cold.items), "F6");
        assert!(warm.counts.items_judged <= cold.counts.items_judged);
        self.space = Some(warm);
    }

    /// F1: each page is live, or in one item, or a chunk.
    fn audit(&self) {
        let mut seen: BTreeSet<u32> = self.live.keys().copied().collect();
        for item in self.all_items() {
            for pgno in item.pgno..item.pgno + item.page_count() {
                assert!(seen.insert(pgno), "F1: page {pgno} is in two places");
            }
        }
        assert_eq!(seen.len() as u32, self.used - FIRST, "F1: a page is lost");
    }
}

#[test]
fn random_histories_never_touch_what_a_snapshot_sees() {
    let mut steps = 0;
    for seed in 0..15 {
        let mut random = crate::testing::Random::new(seed);
        let page_bytes = [256, 512, 4096][seed as usize % 3];
        let mut world = World::new(page_bytes);
        // What each pinned snapshot sees: pgno and birth.
        let mut pinned: Vec<(u64, BTreeMap<u32, u64>)> = Vec::new();
        let mut durable: BTreeMap<u32, u64> = BTreeMap::new();
        for _ in 0..250 {
            steps += 1;
            let size = random.below(40) as usize;
            let live: Vec<u32> = world.live.keys().copied().collect();
            let retires: BTreeSet<u32> = (0..random.below(size as u64 + 8))
                .filter(|_| !live.is_empty())
                .map(|_| live[random.below(live.len() as u64) as usize])
                .collect();
            let flush = random.below(4) == 0;
            let retires: Vec<u32> = retires.into_iter().collect();
            let before = world.live.clone();
            let newest = world.txnid;
            if random.below(4) == 0 {
                // Another client has written.
                world.space = None;
            }
            world.compare();
            world.rises = random.below(4) / 2 * random.below(4);
            world.run(size, &retires, flush);
            for (txnid, seen) in
                pinned.iter().map(|(t, s)| (*t, s)).chain([(0, &durable), (newest, &before)])
            {
                for (pgno, birth) in seen {
                    let now = world.live.get(pgno).copied();
                    assert!(
                        now.is_none_or(|now| now == *birth),
                        "P12: page {pgno} that snapshot {txnid} sees was reused"
                    );
                    let chunk = world.backend.chunks.get(pgno).map(|(b, _)| *b);
                    assert!(
                        chunk.is_none_or(|b| b < *birth),
                        "P12: a chunk was written over page {pgno}"
                    );
                }
            }
            world.audit();
            if flush {
                durable = world.live.clone();
            }
            if random.below(6) == 0 && pinned.len() < 8 {
                pinned.push((world.txnid, world.live.clone()));
            }
            if random.below(7) == 0 && !pinned.is_empty() {
                pinned.remove(random.below(pinned.len() as u64) as usize);
            }
            *world.backend.readers.borrow_mut() = pinned.iter().map(|(t, _)| *t).collect();
        }
        world.rises = 0;
        // Exactness: once nothing is pinned and all is durable, all free pages can be allocated.
        world.backend.readers.borrow_mut().clear();
        world.run(1, &[], true);
        world.run(1, &[], true);
        let free: u32 = world.all_items().iter().map(Item::page_count).sum();
        let used = world.used;
        let chunks = world.all_items().iter().filter(|item| item.is_chain()).count() as u32;
        let counts = world.run((free - chunks) as usize, &[], true);
        // The chunks that were opened are items of chunks in turn, for which nothing was left.
        let grown = u64::from(world.used - used);
        assert_eq!(grown, counts.chunks_written, "P12: a free page was not found by the next scan");
    }
    crate::figure("model", steps);
}

/// Two million pages, of which every second one is free, and half of those held by a reader.
fn riddled() -> World {
    let mut world = World::new(PAGE_BYTES);
    world.run(1_000_000, &[], true);
    let held: Vec<u32> = world.live.keys().copied().filter(|pgno| pgno % 2 == 0).collect();
    world.backend.readers.borrow_mut().push(world.txnid);
    world.run(1_000_000, &[], true);
    let young: Vec<u32> =
        world.live.iter().filter(|(_, b)| **b == world.txnid).map(|(p, _)| *p).collect();
    let young: Vec<u32> = young.into_iter().filter(|pgno| pgno % 2 == 1).collect();
    world.run(4, &[held, young].concat(), true);
    world.run(4, &[], true);
    let items = world.all_items().len();
    assert!(items > 900_000, "there are {items} items");
    world
}

/// So many commits that each write four pages; what they did for the free space, in all.
fn small_commits(world: &mut World, rounds: u64, each: impl Fn(&SpaceCounts)) -> SpaceCounts {
    let mut all = SpaceCounts::default();
    for _ in 0..rounds {
        let retires: Vec<u32> = world.live.keys().copied().take(4).collect();
        let counts = world.run(4, &retires, true);
        each(&counts);
        all.chunks_opened += counts.chunks_opened;
        all.chunks_written += counts.chunks_written;
        all.items_judged += counts.items_judged;
    }
    println!("over {rounds} commits: {all:?}");
    all
}

/// Bound 4: a million free runs interleaved with held ones do not slow a small commit, of this
/// client or another.
#[test]
fn work_is_bounded_by_what_a_transaction_uses() {
    let mut world = riddled();
    let all = small_commits(&mut world, 1000, |counts| {
        assert!(counts.chunks_opened <= 4, "bound 4: {} chunks opened", counts.chunks_opened);
        assert!(counts.chunks_written <= 4, "bound 3: {} chunks written", counts.chunks_written);
        assert!(counts.items_judged <= 800, "bound 4: {} items judged", counts.items_judged);
    });
    let written = all.chunks_written;
    assert!(written <= 1000 / 5, "bound 3: {written} chunk pages in 1000 commits");
}

/// F6: what a reader retains is judged once; after that a commit judges what the one before has
/// freed.
#[test]
fn what_is_retained_is_judged_once() {
    let mut world = World::new(PAGE_BYTES);
    world.run(2000, &[], true);
    world.backend.readers.borrow_mut().push(world.txnid);
    let held = world.live.keys().copied().filter(|pgno| pgno % 4 == 0).take(100);
    let held: Vec<u32> = held.collect();
    world.run(1, &held, false);
    let mut young = Vec::new();
    for round in 0..20 {
        let before = world.live.clone();
        let judged = world.run(4, &young, false).items_judged;
        let most = if round == 0 { 101 } else { young.len() as u64 };
        assert!(judged <= most, "{judged} of {most} judged in round {round}");
        young = world.live.keys().copied().filter(|pgno| !before.contains_key(pgno)).collect();
        world.audit();
    }
    // Once the reader is gone, and a younger snapshot is durable, all of them are free.
    world.backend.readers.borrow_mut().clear();
    world.run(4, &[], true);
    assert!(world.run(4, &[], true).items_judged >= 100);
}

/// The same while commits look for a free tail: the chunks that a sweep opens were paid for when
/// they were written, and when that is used up, small commits are as small as ever.
#[test]
fn a_sweep_is_paid_for_by_what_was_freed() {
    let mut world = riddled();
    world.shrink.pages = 2048;
    let owed = u64::from(world.shrink.sweep.owed);
    assert!(owed > 20_000, "{owed}");
    let all = small_commits(&mut world, 500, |counts| {
        assert!(counts.chunks_opened <= 240, "bound 4: {} chunks opened", counts.chunks_opened);
        assert!(counts.chunks_written <= 240, "bound 3: {} chunks written", counts.chunks_written);
    });
    assert!(all.chunks_opened > 5000, "nothing was swept");
    assert!(all.chunks_opened <= owed + 500, "more than was paid for");
    world.shrink.sweep = Sweep { owed: 0, roof: world.used, ..Sweep::default() };
    let all = small_commits(&mut world, 3000, |_| ());
    let written = all.chunks_written;
    assert!(written <= 3000 / 5, "bound 3: {written} chunk pages in 3000 commits");
    world.audit();
}

/// Bound 5: a large value searches a bounded number of chunks, then the file grows.
#[test]
fn a_run_is_searched_for_within_bounds() {
    let mut world = World::new(PAGE_BYTES);
    world.run(200_000, &[], true);
    let odd: Vec<u32> = world.live.keys().copied().filter(|pgno| pgno % 2 == 1).collect();
    world.run(0, &odd, true);
    *world.backend.newest.borrow_mut() = world.txnid;
    let mut space = Space::new(FIRST, world.used, world.items.clone());
    space.begin(Txnid(world.txnid + 1), Vec::new());
    let run = space.take_run(&world.backend, 10).unwrap();
    assert_eq!(run.0, world.used, "no such run is free, so the file grows");
    assert!(space.counts.chunks_opened <= chunks_for_run(10).into());
}

/// Bound 6: of what the meta lists, what was freed last is used first; bound 1: a held page never.
#[test]
fn the_youngest_free_pages_are_taken_first() {
    let mut world = World::new(PAGE_BYTES);
    world.run(2000, &[], true);
    let old: Vec<u32> = world.live.keys().copied().filter(|p| p % 2 == 0).take(900).collect();
    world.run(0, &old, true);
    world.run(0, &[], true);
    // None of them lies beside an older free page: a longer run would go first.
    let young = world.live.keys().copied().filter(|p| p % 2 == 0).skip(1).take(60);
    let young: Vec<u32> = young.collect();
    world.run(0, &young, true);
    let before = world.live.clone();
    world.run(40, &[], true);
    let taken: Vec<u32> = world.live.keys().copied().filter(|p| !before.contains_key(p)).collect();
    let fresh = taken.iter().filter(|pgno| young.contains(pgno)).count();
    assert_eq!(fresh, taken.len(), "bound 6: older pages were taken while younger ones were free");
}

/// F6: free items that do not fit the meta go to chunks, and the part that is left is free for the
/// next transaction, whatever that knows of the last one.
#[test]
fn what_is_left_of_the_free_runs_is_free() {
    let mut world = World::new(PAGE_BYTES);
    world.run(1000, &[], true);
    let odd: Vec<u32> = world.live.keys().copied().filter(|pgno| pgno % 2 == 1).collect();
    let (free, held) = odd.split_at(101);
    world.run(0, free, true);
    world.backend.readers.borrow_mut().push(world.txnid);
    // A chunk takes 67 of the 99 runs that are free, another one all that the reader holds.
    world.run(1, &held[..62], true);
    let inline = |item: &&Item| !item.is_chain();
    assert_eq!(world.items.iter().filter(inline).count(), 31);
    assert_eq!(world.items.len(), 33, "there are two chains");
    world.compare();
    world.run(31, &[], true);
    assert!(world.items.iter().all(Item::is_chain), "all 31 were taken");
    world.audit();
}

/// M10: whatever the history, small commits give the free tail back, and none of them is large.
#[test]
fn a_free_tail_goes_back_after_any_history() {
    let (mut worlds, mut cuts) = (0, 0);
    for seed in 0..24 {
        let mut random = crate::testing::Random::new(seed);
        let page_bytes = [256, 512, 4096][seed as usize % 3];
        let mut world = World::new(page_bytes);
        world.shrink.pages = [1, 20, 300, 2000][seed as usize % 4];
        let mut readers: Vec<u64> = Vec::new();
        for _ in 0..120 {
            let size = [4, 30, 300, 1500][random.below(4) as usize];
            let live: Vec<u32> = world.live.keys().copied().collect();
            let retires: Vec<u32> = match random.below(5) {
                // From the front, from the end, here and there, every second one, all.
                0 => live.iter().copied().take(size).collect(),
                1 => live.iter().rev().copied().take(size).collect(),
                2 => live.iter().copied().filter(|_| random.below(4) == 0).collect(),
                3 => live.iter().copied().filter(|pgno| pgno % 2 == 0).collect(),
                _ if random.below(8) == 0 => live,
                _ => Vec::new(),
            };
            world.run(random.below(size as u64) as usize, &retires, random.below(3) == 0);
            match random.below(6) {
                0 if readers.len() < 5 => readers.push(world.txnid),
                1 if !readers.is_empty() => {
                    readers.remove(random.below(readers.len() as u64) as usize);
                }
                2 => world.space = None,
                _ => {}
            }
            *world.backend.readers.borrow_mut() = readers.clone();
        }
        world.backend.readers.borrow_mut().clear();
        // Most of it goes; what is left lies in front, if anywhere.
        let live: Vec<u32> = world.live.keys().copied().skip(seed as usize % 60).collect();
        world.run(2, &live, true);
        let full = world.used;
        let mut commits = 0;
        let last = loop {
            // Pages that are written again and again are the last ones as readily as others.
            let live: Vec<u32> = world.live.keys().copied().collect();
            let old = live[random.below(live.len() as u64) as usize];
            world.run(1, &[old], true);
            let last = *world.live.keys().next_back().expect("there is one");
            let tail = world.used - last - 1;
            commits += 1;
            if tail < world.shrink.pages + slack(world.used) || commits == 100 {
                break last;
            }
            if commits % 5 == 0 {
                world.space = None;
            }
        };
        world.audit();
        let tail = world.used - last - 1;
        assert!(
            tail < world.shrink.pages + slack(world.used),
            "M10: seed {seed}: {tail} of {} pages lie free behind the last after {commits} commits",
            world.used
        );
        worlds += 1;
        cuts += u32::from(world.used < full);
    }
    assert!(cuts > worlds / 3, "{cuts} of {worlds}");
}

/// A transaction over a list that is one chain of one chunk, at page 60 of 100, with these items.
fn misled(items: &[Item]) -> (Plain, Space) {
    let chunk = Ptr { pgno: Pgno(60), birth: Txnid(5) };
    let mut page = vec![0; PAGE_BYTES];
    write_chunk(&mut page, chunk, Ptr::NONE, items);
    let mut backend = Plain { page_bytes: PAGE_BYTES, ..Plain::default() };
    backend.chunks.insert(60, (5, page));
    *backend.newest.borrow_mut() = 9;
    let list = vec![Item::free(Pgno(50), 1), Item::chain(chunk, Txnid(0))];
    let mut space = Space::new(FIRST, 100, list);
    space.begin(Txnid(10), Vec::new());
    (backend, space)
}

#[track_caller]
fn is_corrupt<T: std::fmt::Debug>(result: Result<T>) {
    assert!(matches!(result, Err(Error::Corrupt(_))), "{result:?}");
}

/// F1: what no list may name as free.
#[test]
fn chunks_that_name_metas_or_themselves_are_refused() {
    let run = |pgno, pages| Item::run(Pgno(pgno), pages, Txnid(2), Txnid(3), true);
    for item in [run(1, 1), run(FIRST - 1, 2), run(60, 1), run(58, 3), run(60, 5), run(99, 2)] {
        let (backend, mut space) = misled(&[run(20, 2), item]);
        assert_eq!(space.take(&backend, Stay::Short).unwrap(), Pgno(50));
        is_corrupt(space.take(&backend, Stay::Short));
        let (backend, mut space) = misled(&[run(20, 2), item]);
        is_corrupt(space.take_run(&backend, 2));
        // A commit that opens chains to look for a free tail.
        let (backend, mut space) = misled(&[run(20, 2), item]);
        assert_eq!(space.take(&backend, Stay::Short).unwrap(), Pgno(50));
        let sweep = Sweep { roof: 100, ..Sweep::default() };
        let shrink = Shrink { pages: 1, sweep, ..NO_SHRINK };
        is_corrupt(space.seal(&backend, PAGE_BYTES, shrink).map(drop));
    }
    let (backend, mut space) = misled(&[run(FIRST, 2), run(61, 39)]);
    let taken: Vec<u32> = (0..42).map(|_| space.take(&backend, Stay::Short).unwrap().0).collect();
    let sound: Vec<u32> = [50].into_iter().chain(61..100).chain(FIRST..FIRST + 2).collect();
    assert_eq!(taken, sound);
}

/// P8: a list names a page that this transaction took from it and has written.
#[test]
fn what_was_written_is_not_taken_from_a_list_that_names_it_again() {
    let again = Item::run(Pgno(50), 1, Txnid(2), Txnid(3), true);
    let (backend, mut space) = misled(&[again]);
    let pgno = space.take(&backend, Stay::Short).unwrap();
    assert_eq!(pgno, Pgno(50));
    space.note_written(pgno, 1);
    is_corrupt(space.take(&backend, Stay::Short));
}

#[test]
#[should_panic(expected = "P8, F3")]
fn what_was_written_is_not_given_back() {
    let (backend, mut space) = misled(&[]);
    let pgno = space.take(&backend, Stay::Short).unwrap();
    space.note_written(pgno, 1);
    space.give_back(pgno, 1);
}

#[test]
fn the_high_water_mark_does_not_move_back_over_written_pages() {
    let (backend, mut space) = misled(&[]);
    let run = space.take_run(&backend, 5).unwrap();
    assert_eq!(run, Pgno(100));
    space.note_written(run, 5);
    space.used -= 1;
    is_corrupt(space.take_run(&backend, 5));
}

/// F1: two pointers of a damaged tree lead to one page, and both are followed in freeing it.
#[test]
fn a_page_that_was_freed_twice_is_not_recorded() {
    for (first, second) in [((20, 1), (20, 1)), ((20, 8), (24, 1)), ((24, 1), (20, 8))] {
        let (backend, mut space) = misled(&[]);
        space.retire(Pgno(first.0), first.1, Txnid(4), true);
        space.retire(Pgno(second.0), second.1, Txnid(6), true);
        is_corrupt(space.seal(&backend, PAGE_BYTES, NO_SHRINK).map(drop));
    }
}

//! Lists of page runs in the order of the file: merged in one pass, and checked by it.

use std::collections::BinaryHeap;

use crate::alloc::Reserved;
use crate::error::{Error, Result};
use crate::page::{Item, Pgno, Reason};

/// Longer runs are kept in parts: an item has one bit of its page count for something else.
const FREE_RUN_PAGES_MAX: u32 = 1 << 31;

/// Ranks that mean nothing any more, beyond one for each run, before all are made anew.
const OLD_RANKS_MAX: usize = 64;

/// A run with fewer pages is not preferred to the last one of the file, nor does the next
/// transaction go on with it.
const CONVENIENT_PAGES_MIN: u32 = 16;

/// Consecutive pages.
pub(super) trait Run: Copy {
    /// The first of them.
    fn first(&self) -> u32;
    /// The first page after them.
    fn end(&self) -> u32;
    /// Takes in the run that follows, if the two can be one.
    fn absorb(&mut self, next: &Self) -> bool;
}

impl Run for Item {
    fn first(&self) -> u32 {
        self.pgno
    }

    fn end(&self) -> u32 {
        self.pgno + self.page_count()
    }

    fn absorb(&mut self, next: &Item) -> bool {
        Item::absorb(self, next)
    }
}

/// `into`, which is in order, with `more` merged into it. F1: a page that is there twice was freed
/// twice, as two pointers of a damaged tree lead to it, or a damaged list names it.
///
/// Costs sorting `more`, a search for each of it, and copying the stretches of `into` between them;
/// a look at each of `more` if that is all and they are merged.
pub(super) fn merge<T: Run>(into: Vec<T>, mut more: Vec<T>) -> Result<Vec<T>> {
    if more.is_empty() {
        return Ok(into);
    }
    if into.is_empty() && are_merged(&more) {
        return Ok(more);
    }
    more.sort_unstable_by_key(T::first);
    if into.is_empty() {
        return joined(more);
    }
    let mut all: Vec<T> = Vec::new();
    all.try_reserve_exact(into.len() + more.len())?;
    let mut rest = &into[..];
    for next in more {
        let before = rest.partition_point(|run| run.first() < next.first());
        push_all(&mut all, &rest[..before])?;
        push(&mut all, next)?;
        rest = &rest[before..];
    }
    push_all(&mut all, rest)?;
    Ok(all)
}

/// Puts a run into a list that is in order, and returns where it lies then; F1 as for [`merge`].
/// Costs a search, and moving what lies behind.
pub(super) fn insert<T: Run>(into: &mut Vec<T>, run: T) -> Result<usize> {
    let at = check_apart(into, &run)?;
    let mut joined = at;
    if at > 0 && into[at - 1].absorb(&run) {
        joined -= 1;
    } else {
        into.try_reserve(1)?;
        into.insert(at, run);
    }
    if let Some(next) = into.get(joined + 1).copied()
        && into[joined].absorb(&next)
    {
        into.remove(joined + 1);
    }
    Ok(joined)
}

/// Where the run belongs in a list that is in order, none of which may have a page of it (F1).
pub(super) fn check_apart<T: Run>(list: &[T], run: &T) -> Result<usize> {
    let at = list.partition_point(|before| before.first() < run.first());
    let (before, after) = list.split_at(at);
    if before.last().is_some_and(|last| last.end() > run.first())
        || after.first().is_some_and(|next| run.end() > next.first())
    {
        return Err(twice(run.first()));
    }
    Ok(at)
}

/// Whether the runs are in order, and none touches the next: then there is nothing to join, and no
/// page is there twice.
fn are_merged<T: Run>(runs: &[T]) -> bool {
    runs.windows(2).all(|pair| pair[0].end() < pair[1].first())
}

/// The same runs, which are in order, with those joined that can be one.
pub(super) fn joined<T: Run>(mut runs: Vec<T>) -> Result<Vec<T>> {
    let mut last = 0;
    for i in 1..runs.len() {
        let next = runs[i];
        if runs[last].end() > next.first() {
            return Err(twice(next.first()));
        }
        if !runs[last].absorb(&next) {
            last += 1;
            runs[last] = next;
        }
    }
    runs.truncate(last + 1);
    Ok(runs)
}

/// Appends a stretch that is in order; there is room. Only its first run can meet the last one.
fn push_all<T: Run>(all: &mut Vec<T>, stretch: &[T]) -> Result<()> {
    let Some((first, others)) = stretch.split_first() else { return Ok(()) };
    push(all, *first)?;
    all.extend_from_slice(others);
    Ok(())
}

/// Appends a run, or has the last one take it in; there is room.
fn push<T: Run>(all: &mut Vec<T>, next: T) -> Result<()> {
    if let Some(last) = all.last_mut() {
        if last.end() > next.first() {
            return Err(twice(next.first()));
        }
        if last.absorb(&next) {
            return Ok(());
        }
    }
    all.push(next);
    Ok(())
}

/// Where a list begins that is in order, and where it ends.
pub(super) fn bounds<T: Run>(list: &[T]) -> Option<(u32, u32)> {
    Some((list.first()?.first(), list.last()?.end()))
}

#[cold]
fn twice(pgno: u32) -> Error {
    Error::corrupt(pgno, Reason::Space.text())
}

/// Consecutive pages that may be taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreeRun {
    pub(super) pgno: u32,
    pub(super) pages: u32,
    /// When the youngest of them was freed.
    pub(super) freed: u64,
}

impl FreeRun {
    /// Pages, freed, end, in one number: the first counts most.
    fn rank(&self) -> u128 {
        u128::from(self.pages) << 96 | u128::from(self.freed) << 32 | u128::from(self.end())
    }

    pub(super) fn of(item: &Item) -> FreeRun {
        FreeRun { pgno: item.pgno, pages: item.page_count(), freed: item.freed }
    }

    pub(super) fn item(&self) -> Item {
        Item::free(Pgno(self.pgno), self.pages)
    }
}

impl Run for FreeRun {
    fn first(&self) -> u32 {
        self.pgno
    }

    fn end(&self) -> u32 {
        self.pgno + self.pages
    }

    fn absorb(&mut self, next: &FreeRun) -> bool {
        let joins = self.end() == next.pgno && self.pages + next.pages < FREE_RUN_PAGES_MAX;
        if joins {
            self.pages += next.pages;
            self.freed = self.freed.max(next.freed);
        }
        joins
    }
}

/// The runs that may be taken now, in the order of the file.
#[derive(Default)]
pub(super) struct Pool {
    runs: Vec<FreeRun>,
    /// If `is_ranked`, a rank of each run but the one that `taking` names, its own or a higher one,
    /// and some that no run has any more; else nothing. The longest is on top. It has room for all.
    ranks: BinaryHeap<u128>,
    is_ranked: bool,
    /// Runs that were looked at for the longest.
    #[cfg(test)]
    looks: usize,
    /// Where the run ends that single pages are being taken off; runs are taken from the front, so
    /// this stays what it is until the run is used up, or joined to the next.
    taking: Option<u32>,
}

impl Pool {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    pub(super) fn pages(&self) -> u32 {
        self.runs.iter().map(|run| run.pages).sum()
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Item> + Clone + '_ {
        self.runs.iter().map(FreeRun::item)
    }

    /// Whether so many consecutive pages are there.
    pub(super) fn fits(&self, pages: u32) -> bool {
        self.runs.iter().any(|run| run.pages >= pages)
    }

    /// A transaction begins: it goes on with the run that the last one took from, if a small commit
    /// finds room in it, and looks for the longest anew if not.
    pub(super) fn begin(&mut self) {
        let left = self.taking.and_then(|end| self.ending(end));
        if left.is_none_or(|at| self.runs[at].pages < CONVENIENT_PAGES_MIN) {
            self.taking = None;
            if let Some(at) = left {
                self.rank(at);
            }
        }
    }

    /// More runs. Costs a look at all of them, here and when the longest is next looked for.
    pub(super) fn add(&mut self, more: Vec<FreeRun>) -> Result<()> {
        self.runs = merge(std::mem::take(&mut self.runs), more)?;
        self.unrank();
        Ok(self.ranks.try_reserve(self.runs.len())?)
    }

    /// One run more. Costs two searches, and moving what lies behind.
    pub(super) fn add_one(&mut self, run: FreeRun) -> Result<()> {
        let at = insert(&mut self.runs, run)?;
        self.ranks.try_reserve(self.runs.len())?;
        self.rank(at);
        Ok(())
    }

    /// A run has another end, or more pages than before, or may be the longest again.
    fn rank(&mut self, at: usize) {
        let room = self.ranks.capacity().min(2 * self.runs.len() + OLD_RANKS_MAX);
        if self.is_ranked && self.ranks.len() < room {
            self.ranks.push(self.runs[at].rank());
        } else {
            self.unrank();
        }
    }

    fn unrank(&mut self) {
        self.is_ranked = false;
        self.ranks.clear();
    }

    /// The longest run is used up page by page before the next longest is begun: a commit's pages
    /// are few contiguous writes. Among equals the youngest goes first: a short cycle keeps caches
    /// warm. The last run of the file waits as long as there is another convenient one, so that the
    /// pages that go round do not keep the end of the file.
    fn longest(&mut self) -> Option<usize> {
        if let Some(at) = self.taking.and_then(|end| self.ending(end)) {
            return Some(at);
        }
        if !std::mem::replace(&mut self.is_ranked, true) {
            self.note_looks(self.runs.len());
            self.ranks.extend(self.runs.iter().map(FreeRun::rank));
        }
        let at = self.next_but_last()?;
        self.taking = Some(self.runs[at].end());
        Some(at)
    }

    /// The longest, or the next if that is the last of the file and need not be taken.
    fn next_but_last(&mut self) -> Option<usize> {
        let first = self.next_ranked()?;
        if first + 1 < self.runs.len() {
            return Some(first);
        }
        let second = loop {
            match self.next_ranked() {
                // It was ranked twice.
                Some(again) if again == first => {}
                Some(second) => break second,
                None => return Some(first),
            }
        };
        let (taken, put_back) = if self.runs[second].pages >= CONVENIENT_PAGES_MIN {
            (second, first)
        } else {
            (first, second)
        };
        self.ranks.push(self.runs[put_back].rank());
        Some(taken)
    }

    fn next_ranked(&mut self) -> Option<usize> {
        loop {
            let rank = self.ranks.pop()?;
            self.note_looks(1);
            // Its lowest part is the end.
            let Some(at) = self.ending(rank as u32) else { continue };
            if self.runs[at].rank() == rank {
                return Some(at);
            }
            // Pages were taken off it meanwhile, or this is the rank of another that ended here.
            self.ranks.push(self.runs[at].rank());
        }
    }

    fn note_looks(&mut self, _runs: usize) {
        #[cfg(test)]
        (self.looks += _runs);
    }

    /// The run that ends there.
    fn ending(&self, end: u32) -> Option<usize> {
        let at = self.runs.partition_point(|run| run.end() < end);
        self.runs.get(at).is_some_and(|run| run.end() == end).then_some(at)
    }

    /// One page of the longest run.
    pub(super) fn take_from_longest(&mut self) -> Option<Pgno> {
        let at = self.longest()?;
        Some(self.take_at(at, 1))
    }

    /// One page of the first gap of the file, unless that is the longest run.
    pub(super) fn take_from_gap(&mut self) -> Option<Pgno> {
        (self.longest()? > 0).then(|| self.take_at(0, 1))
    }

    /// Consecutive pages, of the shortest run that has so many.
    pub(super) fn take_run(&mut self, pages: u32) -> Option<Pgno> {
        let long_enough = (0..self.runs.len()).filter(|&i| self.runs[i].pages >= pages);
        let best = long_enough.min_by_key(|&i| self.runs[i].pages)?;
        Some(self.take_at(best, pages))
    }

    fn take_at(&mut self, at: usize, pages: u32) -> Pgno {
        let run = &mut self.runs[at];
        let pgno = Pgno(run.pgno);
        run.pgno += pages;
        run.pages -= pages;
        if run.pages == 0 {
            self.taking.take_if(|end| *end == run.end());
            self.runs.remove(at);
        }
        pgno
    }

    /// One page of the first run of the file.
    pub(super) fn take_lowest(&mut self) -> Option<Pgno> {
        (!self.runs.is_empty()).then(|| self.take_at(0, 1))
    }

    /// Whether so many pages lie before `line`.
    pub(super) fn has_below(&self, pages: u32, line: u32) -> bool {
        let mut missing = pages;
        for run in self.runs.iter().take_while(|run| run.pgno < line) {
            missing = missing.saturating_sub(run.end().min(line) - run.pgno);
            if missing == 0 {
                break;
            }
        }
        missing == 0
    }

    /// Consecutive pages before `line`, of the shortest run that has so many there.
    pub(super) fn take_run_below(&mut self, pages: u32, line: u32) -> Option<Pgno> {
        let enough = |run: &FreeRun| {
            u64::from(run.pgno) + u64::from(pages) <= u64::from(line.min(run.end()))
        };
        let long_enough = (0..self.runs.len()).filter(|&i| enough(&self.runs[i]));
        let best = long_enough.min_by_key(|&i| self.runs[i].pages)?;
        Some(self.take_at(best, pages))
    }

    /// Takes out at most `count` runs, as items: the highest but for `kept` of them, and for the
    /// longest, which pages are being taken off. They end on one side of the line if there is one.
    pub(super) fn take_below(
        &mut self,
        kept: usize,
        count: usize,
        line: Option<u32>,
    ) -> Reserved<Vec<Item>> {
        let Some(longest) = self.longest().map(|at| self.runs[at].pgno) else {
            return Ok(Vec::new());
        };
        let end = self.runs.len().saturating_sub(kept);
        let mut from = end.saturating_sub(count);
        let before_line = line.map_or(0, |line| self.runs.partition_point(|r| r.end() <= line));
        if before_line < end {
            from = from.max(before_line);
        }
        let mut taken = Vec::new();
        taken.try_reserve_exact(end - from)?;
        let out = self.runs.extract_if(from..end, |run| run.pgno != longest);
        taken.extend(out.map(|run| run.item()));
        Ok(taken)
    }

    /// The first page of all, and the end of the last run.
    pub(super) fn bounds(&self) -> Option<(u32, u32)> {
        bounds(&self.runs)
    }

    /// The run that ends at `end`, the last of all if there is one.
    pub(super) fn tail(&self, end: u32) -> Option<FreeRun> {
        self.runs.last().copied().filter(|run| run.end() == end)
    }

    /// Takes away the last run, or the part of it that lies behind `max_pages`.
    pub(super) fn pop_behind(&mut self, max_pages: u32) -> Option<FreeRun> {
        let mut run = *self.runs.last().filter(|run| run.end() > max_pages)?;
        let kept = max_pages.saturating_sub(run.pgno);
        run.pgno += kept;
        run.pages -= kept;
        self.cut_tail(run.pages);
        Some(run)
    }

    /// Cuts so many pages off the last run.
    pub(super) fn cut_tail(&mut self, pages: u32) {
        if let Some(run) = self.runs.last_mut() {
            run.pages -= pages;
            if self.runs.pop_if(|run| run.pages == 0).is_none() {
                self.rank(self.runs.len() - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a pool should take next, as each look at all runs finds it.
    fn expected(pool: &Pool) -> Option<u32> {
        let (last, others) = pool.runs.split_last()?;
        let convenient = others.iter().filter(|run| run.pages >= CONVENIENT_PAGES_MIN);
        let longest = convenient.map(FreeRun::rank).max();
        let longest = longest.or_else(|| others.iter().chain([last]).map(FreeRun::rank).max());
        let end = pool.taking.filter(|end| pool.ending(*end).is_some());
        let end = end.or_else(|| longest.map(|rank| rank as u32))?;
        pool.runs.iter().find(|run| run.end() == end).map(|run| run.pgno)
    }

    /// Lists that come merged, touching, out of order, or with a page twice: the merged list holds
    /// the same pages, in order and joined, or names a page that is there twice.
    #[test]
    fn however_a_list_comes_it_is_merged_or_refused() {
        let mut random = crate::testing::Random::new(2);
        let mut below = |n: u64| random.below(n) as usize;
        let (mut taken_over, mut joined, mut refused) = (0, 0, 0);
        for _ in 0..3000 {
            let (mut runs, mut pgno) = (Vec::new(), 3);
            let (touching, swapped, doubled) = (below(3) == 0, below(3) == 0, below(3) == 0);
            for _ in 0..below(8) {
                pgno += if touching { below(2) } else { 1 + below(3) } as u32;
                let run = FreeRun { pgno, pages: 1 + below(3) as u32, freed: below(4) as u64 };
                pgno += run.pages;
                runs.push(run);
            }
            if swapped && runs.len() > 1 {
                let (a, b) = (below(runs.len() as u64), below(runs.len() as u64));
                runs.swap(a, b);
            }
            if doubled && !runs.is_empty() {
                let mut twice = runs[below(runs.len() as u64)];
                (twice.pgno, twice.pages) = (twice.pgno + twice.pages - 1, 1 + below(2) as u32);
                let at = below(runs.len() as u64 + 1);
                runs.insert(at, twice);
            }
            let pages = |runs: &[FreeRun]| {
                let mut pages: Vec<u32> =
                    runs.iter().flat_map(|run| run.pgno..run.pgno + run.pages).collect();
                pages.sort_unstable();
                pages
            };
            let mut distinct = pages(&runs);
            distinct.dedup();
            taken_over += u64::from(are_merged(&runs));
            match merge(Vec::new(), runs.clone()) {
                Ok(merged) => {
                    assert!(are_merged(&merged), "{merged:?}");
                    assert_eq!(pages(&merged), pages(&runs));
                    assert_eq!(distinct, pages(&runs), "a page was there twice: {runs:?}");
                    joined += u64::from(merged.len() < runs.len());
                }
                Err(_) => {
                    assert_ne!(distinct, pages(&runs), "{runs:?}");
                    refused += 1;
                }
            }
        }
        assert!(taken_over.min(joined).min(refused) > 100, "{taken_over} {joined} {refused}");
    }

    #[test]
    fn the_longest_run_is_used_up_before_the_next_longest() {
        let mut random = crate::testing::Random::new(1);
        let mut below = |n: usize| random.below(n as u64) as usize;
        for _ in 0..200 {
            let mut pool = Pool::default();
            let mut taken: Vec<u32> = (0..300).collect();
            for _ in 0..300 {
                match below(8) {
                    0 => {
                        for _ in 0..taken.len().min(below(30)) {
                            let pgno = taken.swap_remove(below(taken.len()));
                            let run = FreeRun { pgno, pages: 1, freed: below(3) as u64 };
                            pool.add_one(run).unwrap();
                        }
                    }
                    1 => {
                        let run = pool.take_run(2).map_or(0..0, |first| first.0..first.0 + 2);
                        taken.extend(run);
                    }
                    2 => taken.extend(pool.take_from_gap().map(|page| page.0)),
                    3 if pool.tail(300).is_some() => {
                        pool.cut_tail(1);
                        taken.push(299);
                    }
                    _ => {
                        let wanted = expected(&pool);
                        let page = pool.take_from_longest().map(|page| page.0);
                        assert_eq!(page, wanted);
                        taken.extend(page);
                    }
                }
            }
            assert_eq!(taken.len() as u32 + pool.pages(), 300);
        }
    }

    /// Small transactions free pages and take as many, and look at a few runs, however many there
    /// are.
    #[test]
    fn the_longest_run_is_known_without_a_look_at_all() {
        const RUNS: u32 = 5000;
        const TRANSACTIONS: u32 = 1000;
        let mut random = crate::testing::Random::new(3);
        let run = |at, pages| FreeRun { pgno: 4 * at, pages, freed: 1 };
        let mut pool = Pool::default();
        pool.add((0..RUNS).map(|at| run(at, 1 + at % 3)).collect()).unwrap();
        for _ in 0..TRANSACTIONS {
            pool.begin();
            let taken: Vec<u32> = (0..4)
                .map(|_| {
                    let wanted = expected(&pool);
                    let page = pool.take_from_longest().map(|page| page.0);
                    assert_eq!(page, wanted);
                    page.unwrap()
                })
                .collect();
            for pgno in taken {
                pool.add_one(FreeRun { pgno, pages: 1, freed: random.below(9) }).unwrap();
            }
        }
        let looks = pool.looks as u32 / TRANSACTIONS;
        assert!(looks <= 20, "{looks} looks a transaction");
    }
}

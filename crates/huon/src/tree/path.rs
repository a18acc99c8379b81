//! A path: the way from the root of a tree to one place in a leaf.
//!
//! A path holds page numbers, never pointers into pages, so it stays valid across spills and copies
//! of other pages; after a change of the tree, seek again.
//!
//! T1. A path stands on an item (`index < count` of its leaf), or at the end of the tree (last
//!     leaf, `index == count`), or nowhere (empty tree).

use crate::error::Result;
use crate::os::Ahead;
use crate::page::{
    AnyLeaf, Branch, BranchMut, Cell, KeyOrder, LeafItems, PayloadKind, Ptr, Reason, SlottedLeaf,
    Tree,
};
use crate::store::pages::Pages;
use crate::store::source::{OnPage, PageSource, damaged};
use crate::tree::frames::{Frame, Frames};
use crate::tree::view::TreeView;
use crate::tree::window::Window;

/// What a path has that is asked for its last page.
const SOMEWHERE: &str = "a path with a leaf";

/// The frames from the root down to a leaf (or to a branch, for writers).
#[derive(Clone, Debug)]
pub(crate) struct Path {
    frames: Frames,
    /// Level of the last frame: 0 for a leaf.
    floor: u8,
    /// Whether the last turn led forward, and how many before it did likewise.
    forward: bool,
    turns: u32,
    /// The leaf that the next turn leads to, if the branch above the last one knows it.
    pub(crate) ahead: Ahead,
    window: Window,
}

/// Two of them are made and moved with each range.
const _: () = assert!(size_of::<Path>() <= 280);

/// A place in a leaf: before which key, and before which of the values in its cell.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InLeaf(u32);

impl InLeaf {
    /// A leaf has fewer keys than this, and a cell fewer values.
    const BASE: u32 = 1 << 16;
    /// Before all.
    pub const START: InLeaf = InLeaf(0);

    #[inline(always)]
    pub(crate) fn new(key: usize, value: usize) -> InLeaf {
        debug_assert!(key.max(value) < Self::BASE as usize);
        InLeaf(key as u32 * Self::BASE + value as u32)
    }

    /// So many keys further on, or back.
    pub fn keys_on(self, count: usize, forward: bool) -> InLeaf {
        let keys = count as u32 * Self::BASE;
        InLeaf(if forward { self.0 + keys } else { self.0.saturating_sub(keys) })
    }

    pub(crate) fn key(self) -> usize {
        (self.0 / Self::BASE) as usize
    }

    pub(crate) fn value(self) -> usize {
        (self.0 % Self::BASE) as usize
    }
}

/// What a walk along a leaf says of a record, beside the record.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// How many it has passed before.
    pub count: usize,
    /// Where the walk is then. `None`: as many keys on as it has passed records.
    pub place: Option<InLeaf>,
    /// In a multimap: it is a value of the key of the one before.
    pub is_same_key: bool,
}

/// Where a descent goes on each page.
enum Aim<'k> {
    First,
    Last,
    Key(&'k [u8]),
}

impl Path {
    /// A constant, as [`Frames::NONE`].
    const NOWHERE: Path = Path {
        frames: Frames::NONE,
        floor: 0,
        forward: true,
        turns: 0,
        ahead: Ahead::NONE,
        window: Window::NONE,
    };

    #[inline(always)]
    pub(crate) fn new() -> Path {
        Path::NOWHERE
    }

    pub(crate) fn is_nowhere(&self) -> bool {
        self.frames().is_empty()
    }

    #[inline(always)]
    pub(crate) fn frames(&self) -> &[Frame] {
        self.frames.all()
    }

    #[inline(always)]
    pub(crate) fn frames_mut(&mut self) -> &mut [Frame] {
        self.frames.all_mut()
    }

    /// The last frame.
    #[inline(always)]
    pub(crate) fn last(&self) -> &Frame {
        self.frames().last().expect(SOMEWHERE)
    }

    #[inline(always)]
    pub(crate) fn last_mut(&mut self) -> &mut Frame {
        self.frames_mut().last_mut().expect(SOMEWHERE)
    }

    /// The level of the page in frame `at`.
    pub(crate) fn level(&self, at: usize) -> u8 {
        self.floor + (self.frames().len() - 1 - at) as u8
    }

    /// Whether the path stands on an item.
    pub(crate) fn on_item(&self) -> bool {
        self.frames().last().is_some_and(|frame| frame.index < frame.count)
    }

    /// Where in the leaf `ptr` the path stands, if it does.
    #[inline]
    pub(crate) fn index_in(&self, ptr: Ptr) -> Option<usize> {
        self.frames().last().filter(|frame| frame.ptr == ptr).map(|frame| frame.index)
    }

    /// Whether two paths of one tree stand at the same place.
    pub(crate) fn same_place(&self, other: &Path) -> bool {
        let place = |path: &Path| path.frames().last().map(|frame| (frame.ptr, frame.index));
        place(self) == place(other)
    }

    /// Leaves the last page for the one above it.
    pub(crate) fn rise(&mut self) {
        let above = self.frames.all().len() - 1;
        self.frames.truncate(above);
        self.floor += 1;
    }

    /// Whether every page of the path is the last (or first) of its level.
    pub(crate) fn on_right_edge(&self) -> bool {
        let (_, branches) = self.frames().split_last().expect(SOMEWHERE);
        branches.iter().all(|frame| frame.index + 1 == frame.count)
    }

    pub(crate) fn on_left_edge(&self) -> bool {
        let (_, branches) = self.frames().split_last().expect(SOMEWHERE);
        branches.iter().all(|frame| frame.index == 0)
    }

    /// Goes to the first item whose key is not below `key`; whether its key is equal.
    /// The leaf may be left at its end: see [`Path::settle`].
    pub(crate) fn seek<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
        key: &[u8],
    ) -> Result<bool> {
        self.start(view.tree, 0, true);
        self.descend(view, &Aim::Key(key))
    }

    /// The same within the leaf that the path leads to. `None`: the key may be elsewhere, and the
    /// path stands anywhere in the leaf. Tries the place behind the last record first: puts in key
    /// order go there. `ends_tree`: the path is on the right edge.
    pub(crate) fn seek_in_leaf<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
        key: &[u8],
        ends_tree: bool,
    ) -> Result<Option<bool>> {
        let frame = self.last_mut();
        let leaf = view.leaf(frame.ptr)?;
        if leaf.ends_below(view.order, key).on(frame.ptr)? {
            (frame.count, frame.index) = (leaf.count(), leaf.count());
            return Ok(ends_tree.then_some(false));
        }
        let found = aim_leaf(leaf, frame, view.order, &Aim::Key(key))?;
        let inside = frame.index > 0 && (ends_tree || frame.index < frame.count);
        Ok((found || inside).then_some(found))
    }

    /// Whether the path stands on `key` in its slotted leaf, which may have changed.
    pub(crate) fn is_on<S: PageSource + ?Sized>(&mut self, source: &S, key: &[u8]) -> Result<bool> {
        let frame = self.last_mut();
        let leaf = source.leaf(frame.ptr)?;
        frame.count = leaf.count();
        Ok(frame.index < frame.count && leaf.key(frame.index).on(frame.ptr)? == key)
    }

    /// Goes to the branch of `level` whose range holds `key`; its index is the child for the key.
    pub(crate) fn seek_branch<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
        key: &[u8],
        level: u8,
    ) -> Result<()> {
        self.start(view.tree, level, true);
        self.descend(view, &Aim::Key(key))?;
        Ok(())
    }

    /// Goes to the first item.
    pub(crate) fn first<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
    ) -> Result<()> {
        self.start(view.tree, 0, true);
        self.descend(view, &Aim::First).map(drop)
    }

    /// Goes behind the last item.
    pub(crate) fn end<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
    ) -> Result<()> {
        self.start(view.tree, 0, false);
        self.descend(view, &Aim::Last).map(drop)
    }

    fn start(&mut self, tree: &Tree, floor: u8, forward: bool) {
        self.frames.truncate(0);
        self.turns = 0;
        self.forward = forward;
        self.ahead = Ahead::NONE;
        self.window = Window::NONE;
        self.floor = floor;
        if tree.depth > floor {
            self.frames.push(Frame::new(tree.root));
        }
    }

    /// Completes the path from its last frame down to the floor.
    fn descend<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
        aim: &Aim<'_>,
    ) -> Result<bool> {
        let mut level = view.tree.depth - self.frames().len() as u8;
        while let Some(frame) = self.frames.all_mut().last_mut() {
            if level == 0 {
                return aim_leaf(view.leaf(frame.ptr)?, frame, view.order, aim);
            }
            let branch = view.source.branch(frame.ptr, level)?;
            frame.count = branch.count();
            frame.index = match aim {
                Aim::First => 0,
                Aim::Last => frame.count - 1,
                Aim::Key(key) => branch.find(view.order, key).on(frame.ptr)?,
            };
            if level == self.floor {
                return Ok(false);
            }
            let index = frame.index;
            if level == 1 {
                self.window.enter();
                self.look_beyond(view.source, &branch, index);
            }
            let child = branch.child(index);
            view.source.prefetch(child);
            self.frames.push(Frame::new(child));
            level -= 1;
        }
        Ok(false)
    }

    /// Leaves the end of a leaf for the start of the next one, if there is one (T1).
    #[inline]
    pub(crate) fn settle<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
    ) -> Result<()> {
        while self.frames().last().is_some_and(|frame| frame.index >= frame.count) {
            if !self.turn(view, &Aim::First)? {
                break;
            }
        }
        Ok(())
    }

    /// Leaves the start of a leaf for the end of the one before, if there is one.
    #[inline]
    pub(crate) fn settle_back<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
    ) -> Result<()> {
        while self.frames().last().is_some_and(|frame| frame.index == 0) {
            if !self.turn(view, &Aim::Last)? {
                break;
            }
        }
        Ok(())
    }

    /// One item on; the leaf may be left at its end: see [`Path::settle`].
    #[inline]
    pub(crate) fn step(&mut self) {
        self.ahead.ask_on();
        self.last_mut().index += 1;
    }

    /// One item back. `false`: the path stands on the first item (or nowhere) and stays there.
    #[inline]
    pub(crate) fn step_back<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
    ) -> Result<bool> {
        self.settle_back(view)?;
        let Some(frame) = self.frames_mut().last_mut().filter(|frame| frame.index > 0) else {
            return Ok(false);
        };
        frame.index -= 1;
        self.ahead.ask_on();
        Ok(true)
    }

    /// Steps over one record. The path may be left at an end of its leaf.
    #[inline(always)]
    pub(crate) fn pass<'s, S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'s, '_, S, O>,
        forward: bool,
    ) -> Result<Option<Cell<'s>>> {
        let mut may_leave = true;
        while let Some(frame) = self.frames.all_mut().last_mut() {
            let at = if forward { frame.index } else { frame.index.wrapping_sub(1) };
            if at < frame.count {
                let leaf = view.source.leaf_again(frame.ptr, frame.count)?;
                let cell = leaf.cell(at).on(frame.ptr)?;
                frame.index = if forward { at + 1 } else { at };
                self.ahead.ask_on();
                return Ok(Some(cell));
            }
            if !std::mem::replace(&mut may_leave, false) {
                break;
            }
            self.leave_leaf(view, forward)?;
        }
        Ok(None)
    }

    /// As [`Path::pass`] within a leaf, over `most` records at most that lie in it whole. Stops
    /// before one that does not, or cannot be read, and at the end of the leaf. How many it passed.
    #[inline(always)]
    pub(crate) fn pass_in_leaf<'s, S: PageSource + ?Sized>(
        &mut self,
        source: &'s S,
        forward: bool,
        most: usize,
        each: impl FnMut(&'s [u8], &'s [u8], Passed),
    ) -> usize {
        let Some(frame) = self.frames.all_mut().last_mut() else { return 0 };
        let Some(page) = source.bytes_again(frame.ptr) else { return 0 };
        let Ok(leaf) = SlottedLeaf::view(page, frame.count) else { return 0 };
        let (from, until) = if forward {
            (frame.index, frame.count.min(frame.index.saturating_add(most)))
        } else {
            (frame.index.saturating_sub(most), frame.index)
        };
        let Some(left) = leaf.slice(from, until) else { return 0 };
        let count =
            if forward { each_whole::<true>(left, each) } else { each_whole::<false>(left, each) };
        self.ahead.ask_many(count);
        frame.index = if forward { frame.index + count } else { frame.index - count };
        count
    }

    /// Whether there is nothing more in its leaf that way.
    #[inline(always)]
    pub(crate) fn is_at_end_of_leaf(&self, forward: bool) -> bool {
        let frame = self.last();
        if forward { frame.index >= frame.count } else { frame.index == 0 }
    }

    /// Goes to another place in its leaf.
    pub(crate) fn go_in_leaf(&mut self, place: InLeaf) {
        if let Some(frame) = self.frames.all_mut().last_mut() {
            frame.index = place.key().min(frame.count);
        }
    }

    /// At the end of a leaf, goes to the near end of the next one, or of the one before. Out of
    /// line: a step seldom needs it.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_leaf<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
        forward: bool,
    ) -> Result<()> {
        if forward { self.settle(view) } else { self.settle_back(view) }
    }

    /// Moves to the neighbouring leaf: the next one for `Aim::First`, the one before for
    /// `Aim::Last`.
    fn turn<S: PageSource + ?Sized, O: KeyOrder>(
        &mut self,
        view: TreeView<'_, '_, S, O>,
        aim: &Aim<'_>,
    ) -> Result<bool> {
        let forward = matches!(aim, Aim::First);
        let (_, branches) = self.frames().split_last().expect(SOMEWHERE);
        let turning = branches.iter().rposition(|frame| {
            if forward { frame.index + 1 < frame.count } else { frame.index > 0 }
        });
        let Some(at) = turning else { return Ok(false) };
        // A walk in one direction visits no leaf twice, except in a damaged file whose branches
        // name one repeatedly.
        if forward != self.forward {
            self.forward = forward;
            self.turns = 0;
            self.window = Window::NONE;
        }
        self.turns += 1;
        if self.turns > view.source.pages_max() {
            return Err(damaged(self.last().ptr, Reason::Cycle));
        }
        let level = self.level(at);
        let frame = &mut self.frames_mut()[at];
        frame.index = if forward { frame.index + 1 } else { frame.index - 1 };
        let index = frame.index;
        let branch = view.source.branch(frame.ptr, level)?;
        let child = branch.child(index);
        if level == 1 {
            self.look_beyond(view.source, &branch, index);
        }
        self.frames.truncate(at + 1);
        self.frames.push(Frame::new(child));
        self.descend(view, aim)?;
        // No operation leaves an empty leaf beside others, and stepping over them would have no end
        // in a file whose branches name one a million times.
        let leaf = self.last();
        match leaf.count {
            0 => Err(damaged(leaf.ptr, Reason::Count)),
            _ => Ok(true),
        }
    }

    /// The record that the path stands on, in a tree of slotted leaves.
    #[inline(always)]
    pub(crate) fn cell<'s, S: PageSource + ?Sized>(&self, source: &'s S) -> Result<Cell<'s>> {
        let frame = self.last();
        source.leaf(frame.ptr)?.cell(frame.index).on(frame.ptr)
    }

    /// Makes every page of the path this level's own, top down: each parent learns where its child
    /// went.
    pub(crate) fn touch(&mut self, pages: &mut Pages, tree: &mut Tree) -> Result<()> {
        let mut parent: Option<(Ptr, usize)> = None;
        for frame in self.frames_mut() {
            let fresh = pages.touch(frame.ptr)?;
            if fresh != frame.ptr {
                match parent {
                    None => tree.root = fresh,
                    Some((ptr, index)) => {
                        BranchMut::view(pages.edit(ptr)).on(ptr)?.set_child(index, fresh);
                    }
                }
                frame.ptr = fresh;
            }
            parent = Some((fresh, frame.index));
        }
        Ok(())
    }

    /// At child `index` of the branch above the leaves: prefetches the leaves after it.
    #[inline]
    fn look_beyond<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        branch: &Branch<'_>,
        index: usize,
    ) {
        self.ahead = beside(source, branch, index, self.forward);
        if self.turns > 0
            && let Some(disk) = source.disk()
        {
            self.window.move_to(disk, branch, index, self.forward);
        }
    }
}

/// The loop of [`Path::pass_in_leaf`]. Out of line: so it has the registers.
#[inline(never)]
fn each_whole<'s, const FORWARD: bool>(
    mut left: SlottedLeaf<'s>,
    mut each: impl FnMut(&'s [u8], &'s [u8], Passed),
) -> usize {
    let mut count = 0;
    while let Some(Ok(cell)) = if FORWARD { left.take_first() } else { left.take_last() } {
        if cell.kind != PayloadKind::Inline {
            break;
        }
        each(cell.key, cell.payload, Passed { count, place: None, is_same_key: false });
        count += 1;
    }
    count
}

/// The leaf beside child `index` of a branch, as far as the branch knows: it will be there when it
/// is needed.
#[inline]
fn beside<S: PageSource + ?Sized>(
    source: &S,
    branch: &Branch<'_>,
    index: usize,
    forward: bool,
) -> Ahead {
    let beside = if forward { index.wrapping_add(1) } else { index.wrapping_sub(1) };
    if beside < branch.count() { source.ahead(branch.child(beside)) } else { Ahead::NONE }
}

fn aim_leaf<O: KeyOrder>(
    leaf: AnyLeaf<'_>,
    frame: &mut Frame,
    order: O,
    aim: &Aim<'_>,
) -> Result<bool> {
    frame.count = leaf.count();
    let (index, found) = match aim {
        Aim::First => (0, false),
        Aim::Last => (frame.count, false),
        Aim::Key(key) => match leaf.search(order, key).on(frame.ptr)? {
            Ok(index) => (index, true),
            Err(index) => (index, false),
        },
    };
    frame.index = index;
    Ok(found)
}

//! Read-ahead of a walk along the leaves: how far it has asked for leaves that may still be on the
//! disk.
//!
//! A walk that asks for each leaf when it needs it waits once per leaf. So after its first step a
//! walk asks for the next leaves of the branch, and for twice as many each time: a short walk reads
//! little in vain, and a long one waits seldom. It asks again before it has come to the last of
//! them, so that the disk always has work.

use crate::os::Disk;
use crate::page::Branch;

/// Leaves that are asked for at first, and at most, at once.
const WIDTH_MIN: usize = 4;
const WIDTH_MAX: usize = 32;

/// The leaves that a walk has asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    width: usize,
    /// Children at the far end of the branch that were not asked for; `None` in a new branch.
    unasked: Option<usize>,
}

impl Window {
    /// Before the first turn.
    pub(super) const NONE: Window = Window { width: 0, unasked: None };

    /// The walk has come to another branch.
    pub(super) fn enter(&mut self) {
        self.unasked = None;
    }

    /// The walk has come to child `at`: asks for those after it, if it is time to, and if leaves
    /// may have to be waited for.
    pub(super) fn move_to(
        &mut self,
        disk: Disk<'_>,
        branch: &Branch<'_>,
        at: usize,
        forward: bool,
    ) {
        let left = if forward { branch.count() - 1 - at } else { at };
        let unasked = self.unasked.unwrap_or(left).min(left);
        let asked = left - unasked;
        if asked > self.width / 2 || unasked == 0 {
            return;
        }
        self.width = (self.width * 2).clamp(WIDTH_MIN, WIDTH_MAX);
        let now = unasked.min(self.width);
        self.unasked = Some(unasked - now);
        if disk.is_slow() {
            let child = |step| if forward { at + step } else { at - step };
            disk.ask((asked + 1..=asked + now).map(|step| branch.child(child(step)).pgno.0));
        }
    }
}

//! Branches: reading.
use super::order::KeyOrder;
use super::probe::{Probe, Slot};
use super::types::{Ptr, Reason};

/// A separator in its two parts; [`KeyOrder::join`] says where each belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SeparatorRef<'p> {
    pub(crate) prefix: &'p [u8],
    pub(crate) rest: &'p [u8],
}

impl SeparatorRef<'_> {
    pub(crate) fn bytes(&self) -> usize {
        self.prefix.len() + self.rest.len()
    }
    /// The whole separator, into `out` (which is cleared).
    pub(crate) fn build<O: KeyOrder>(&self, order: O, out: &mut Vec<u8>) {
        out.clear();
        out.resize(self.bytes(), 0);
        order.join(self.prefix, self.rest, out);
    }
    pub(crate) fn to_vec<O: KeyOrder>(&self, order: O) -> Vec<u8> {
        let mut out = Vec::new();
        self.build(order, &mut out);
        out
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Branch<'p> {
    page: &'p [u8],
    slots: &'p [Slot],
}

impl<'p> Branch<'p> {
    /// `count` is what `header::admit` returned; at least one child.
    #[inline]
    pub(crate) fn view(page: &'p [u8], count: usize) -> Result<Branch<'p>, Reason> {
        todo!()
    }
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }
    pub(crate) fn prefix_bytes(&self) -> usize {
        todo!()
    }
    /// Panics if `i` is no child: an internal mistake.
    pub(crate) fn child(&self, i: usize) -> Ptr {
        todo!()
    }
    /// The separator below child `i`, empty for child 0.
    pub(crate) fn separator(&self, i: usize) -> Result<SeparatorRef<'p>, Reason> {
        todo!()
    }
    /// The child that the key belongs to.
    pub(crate) fn find<O: KeyOrder>(&self, order: O, key: &[u8]) -> Result<usize, Reason> {
        self.find_probe(&Probe::new(order, key))
    }
    pub(crate) fn find_probe<O: KeyOrder>(&self, probe: &Probe<'_, O>) -> Result<usize, Reason> {
        todo!()
    }
    pub(crate) fn live_bytes(&self) -> usize {
        todo!()
    }
    pub(crate) fn free_bytes(&self) -> usize {
        todo!()
    }
    pub(crate) fn audit<O: KeyOrder>(&self, order: O) -> Result<(), Reason> {
        todo!()
    }
}

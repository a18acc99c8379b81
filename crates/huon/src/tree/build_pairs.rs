//! Building a packed multimap bottom-up from pairs in order.
//!
//! The values of the key that is being read are kept aside as long as they may fit its cell, and go
//! into a tree of their own from there on (V2): so memory does not depend on how many there are.

use crate::alloc::TryGrow;
use crate::error::{Error, Result};
use crate::page::{AnyOrder, KeyOrder, PayloadKind, Tree, write_values};
use crate::store::pages::Pages;
use crate::store::source::OnPage;
use crate::tree::build::Builder;
use crate::tree::multi::{Flat, cell_bytes_max, check_pair};
use crate::tree::values::{Orders, Pair};

/// A multimap under construction.
pub(crate) struct PairBuilder<'o> {
    orders: Orders<'o>,
    /// The record of the multimap as far as it is known, for the lengths of its values (V4).
    empty: Tree,
    keys: Builder<AnyOrder<'o>>,
    /// The key whose values are being read, if any was.
    key: Option<Vec<u8>>,
    few: Flat,
    many: Option<Builder<AnyOrder<'o>>>,
}

impl<'o> PairBuilder<'o> {
    /// Starts from an empty multimap, whose kind and flags the new one keeps.
    pub(crate) fn new(empty: Tree, orders: Orders<'o>) -> PairBuilder<'o> {
        let keys = Builder::new(empty, orders.keys);
        PairBuilder { orders, empty, keys, key: None, few: Flat::default(), many: None }
    }

    /// Adds the next pair, which must be above the last one.
    pub(crate) fn push(&mut self, pages: &mut Pages, (key, value): Pair<'_>) -> Result<()> {
        check_pair(pages, &self.empty, (key, value))?;
        if self.empty.many.is_some_and(|many| many.equal) {
            self.empty.fixed_bytes = value.len() as u32;
        }
        let order = self.key.as_ref().map(|last| self.orders.keys.compare(key, last));
        match order {
            Some(order) if order.is_lt() => return Err(Error::KeyOutOfOrder),
            Some(order) if order.is_eq() => return self.push_value(pages, value),
            _ => self.end_key(pages)?,
        }
        self.key.get_or_insert_default().try_set(key)?;
        self.push_value(pages, value)
    }

    /// Adds another value of the key.
    fn push_value(&mut self, pages: &mut Pages, value: &[u8]) -> Result<()> {
        if let Some(values) = &mut self.many {
            return values.push(pages, value, &[]);
        }
        let last = self.few.last().map(|last| self.orders.values.compare(value, last));
        if last.is_some_and(|order| order.is_le()) {
            return Err(Error::KeyOutOfOrder);
        }
        self.few.push(value)?;
        let key = self.key.as_deref().unwrap_or_default();
        if self.few.bytes() > cell_bytes_max(pages, key) {
            self.plant(pages)?;
        }
        Ok(())
    }

    /// Moves the few values into a tree.
    fn plant(&mut self, pages: &mut Pages) -> Result<()> {
        let mut values = Builder::new(self.empty.of_values(), self.orders.values);
        self.few.iter().try_for_each(|value| values.push(pages, value, &[]))?;
        self.many = Some(values);
        Ok(())
    }

    /// Writes the cell of the key, as all its values have been read.
    fn end_key(&mut self, pages: &mut Pages) -> Result<()> {
        let Some(key) = &self.key else { return Ok(()) };
        let (fixed_bytes, max) = (self.empty.fixed_bytes as usize, cell_bytes_max(pages, key));
        let mut payload = Vec::new();
        if self.many.is_none() {
            let few = self.few.iter();
            let kind = write_values(&mut payload, few, fixed_bytes, max).on(self.empty.root)?;
            if let Some(kind) = kind {
                let count = self.few.count() as u64;
                self.few.clear();
                return self.keys.push_values(pages, key, kind, &payload, count);
            }
            self.plant(pages)?;
        }
        self.few.clear();
        let (Some(values), Some(key)) = (self.many.take(), &self.key) else { return Ok(()) };
        let values = Tree { changed: pages.txnid(), ..values.finish(pages)? };
        payload.try_set(&values.encode())?;
        self.keys.count_values(&values);
        let kind = PayloadKind::DuplicateTree;
        self.keys.push_values(pages, key, kind, &payload, values.entries)
    }

    /// The finished multimap.
    pub(crate) fn finish(mut self, pages: &mut Pages) -> Result<Tree> {
        self.end_key(pages)?;
        let fixed_bytes = self.empty.fixed_bytes;
        Ok(Tree { fixed_bytes, ..self.keys.finish(pages)? })
    }
}

//! The runs of free pages that a snapshot lists.

use crate::alloc::TryGrow;
use crate::error::Result;
use crate::ops::bitmap::Bitmap;
use crate::page::{Item, Meta, Ptr, Reason};
use crate::store::Store;
use crate::store::source::{OnPage, damaged};
use crate::store::space::Backend;

/// Calls `each` for all runs of free pages of a snapshot; returns how many chunk pages list them.
pub(crate) fn free_items(store: &Store, meta: &Meta, mut each: impl FnMut(&Item)) -> Result<u64> {
    let mut visited = Bitmap::new(meta.used.min(store.measure()?))?;
    let mut chains: Vec<Ptr> = Vec::new();
    let mut take = |item: &Item, chains: &mut Vec<Ptr>| {
        if item.is_chain() {
            chains.try_push(item.ptr())
        } else {
            each(item);
            Ok(())
        }
    };
    meta.items.iter().try_for_each(|item| take(item, &mut chains))?;
    let mut free_list_pages = 0;
    while let Some(ptr) = chains.pop() {
        if visited.put(ptr.pgno.0) {
            return Err(damaged(ptr, Reason::Cycle));
        }
        free_list_pages += 1;
        let chunk = store.chunk(ptr, meta.used)?;
        if !chunk.next().is_none() {
            chains.try_push(chunk.next())?;
        }
        for item in chunk.items() {
            let item = item.on(ptr)?;
            take(&item, &mut chains)?;
        }
    }
    Ok(free_list_pages)
}

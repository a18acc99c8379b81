//! Order: a tree over pages, given as a value.
//!
//! A [`Tree`](crate::page::Tree) is a record: root, depth, counts. All functions take a page source
//! (or the writer's pages) and such a record, so that tables, the catalog and the trees of a
//! multimap's values share one set.

pub(crate) mod build;
pub(crate) mod change;
pub(crate) mod compact;
pub(crate) mod cursor;
#[cfg(test)]
mod cursor_tests;
pub(crate) mod estimate;
pub(crate) mod finger;
pub(crate) mod many;
pub(crate) mod multi;
pub(crate) mod path;
pub(crate) mod read;
pub(crate) mod values;
pub(crate) mod walk;
mod window;
pub(crate) mod write;

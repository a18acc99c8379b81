//! Order: a tree over pages, given as a value.
//!
//! A [`Tree`](crate::page::Tree) is a record: root, depth, counts. With a source of pages and an
//! order it is a [`TreeView`](view::TreeView), which is read, and with the writer's pages a
//! [`TreeMut`](edit::TreeMut), which is changed: tables, the catalog and the trees of a multimap's
//! values share one set of methods.

pub(crate) mod apart;
pub(crate) mod build;
pub(crate) mod build_pairs;
pub(crate) mod change;
mod clear;
pub(crate) mod compact;
pub(crate) mod cursor;
#[cfg(test)]
mod cursor_tests;
pub(crate) mod edit;
mod estimate;
pub(crate) mod finger;
mod frames;
pub(crate) mod many;
pub(crate) mod multi;
pub(crate) mod nearest;
#[cfg(test)]
mod nearest_tests;
pub(crate) mod pair_path;
pub(crate) mod path;
pub(crate) mod put;
#[cfg(test)]
mod put_tests;
pub(crate) mod read;
pub(crate) mod shrink;
#[cfg(test)]
mod shrink_tests;
pub(crate) mod values;
pub(crate) mod view;
pub(crate) mod walk;
#[cfg(test)]
mod watched;
mod window;

//! The engine through its public interface: a module for each part. What forks, runs processes or
//! closes descriptors is in `processes`.

mod basic;
mod bulk;
mod compact;
mod comparators;
mod durability;
mod extensions;
mod file;
mod geometry;
mod golden;
mod groups;
mod handles;
mod in_memory;
mod iterators;
mod journal;
mod links;
mod many;
mod metas;
mod multi;
mod notes;
mod ops_check;
mod ops_copy;
mod ops_stat;
mod pages;
mod park;
mod places;
mod read_only;
mod reclaim;
mod reuse;
mod settings;
mod slow_readers;
mod tail;
mod types;
mod unknown;
mod verbs;
mod waiting;

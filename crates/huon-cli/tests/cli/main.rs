//! The commands, as a user at a terminal sees them: what they print, and how they end.

mod aliases;
mod backups;
mod commands;
mod common;
mod compacting;
mod deleting;
mod differing;
mod guests;
mod guide;
mod journal;
mod limits;
mod lmdb_utils;
mod lsm;
mod metas;
mod multimaps;
mod others;
mod outputs;
mod pages;
mod replacing;
mod shipping;
mod snapshots;
mod tables;
mod typed;
mod types;
mod watch;

//! The commands, as somebody at a terminal meets them: what they print, and how they end.

mod aliases;
mod commands;
mod common;
mod deleting;
mod guests;
mod metas;
mod multimaps;
mod pages;
mod replacing;
mod tables;
mod watch;

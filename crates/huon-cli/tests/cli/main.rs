//! The commands, as somebody at a terminal meets them: what they print, and how they end.

mod aliases;
mod commands;
mod common;
mod multimaps;
mod replacing;
mod tables;
mod watch;

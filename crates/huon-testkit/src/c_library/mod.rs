//! The libraries with an interface in C, as programs in C find them: what cargo has built, and what
//! `make install` installs.

pub mod package;
pub mod programs;

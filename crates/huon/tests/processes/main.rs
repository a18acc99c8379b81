//! The engine among processes: tests that fork, run processes, change users or close descriptors.
//! They stand apart from `api`, since a process that is just being made holds the locks of all
//! environments that are open.

mod actors;
mod bad_input;
mod descriptors;
mod foreign;
mod guests;
mod in_memory;
mod lock_file;
mod modes;
mod zero_copy;

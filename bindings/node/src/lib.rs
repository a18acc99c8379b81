//! The native part of Huon for Node: what `lib/*.js` calls, and nothing that a program calls.
//!
//! JavaScript has numbers for what lies here: environments, seats (a transaction, or the place from
//! which a table is read outside of one), tables. Each carries a generation, so that a number that
//! was given back is refused. All of it belongs to one JavaScript thread, `state::State`.
//!
//! What a program does a million times a second (`get`, `has`, `getMany`, `nextBatch`, `write`) are
//! bare N-API functions over memory that both sides share (`raw`, with all that is unsafe), of six
//! nanoseconds a call. Everything else are functions of napi-rs (`rare`, `named`). What may wait or
//! works long (`care`, `backup`) is done by another thread (`jobs`), which answers by a number
//! again: JavaScript keeps its promises itself.

#![deny(unsafe_code)]

mod answers;
mod backup;
mod care;
mod change;
mod failure;
mod jobs;
mod lsm;
mod named;
mod options;
mod pipe;
mod rare;
#[allow(unsafe_code)]
mod raw;
mod reading;
mod slab;
mod state;

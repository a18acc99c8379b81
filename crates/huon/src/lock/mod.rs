//! The protocol between processes: what all clients of an environment say to each other, through
//! the words of the lock file.
//!
//! `os` gives the words (a [`Shared`](crate::os::Shared)) and a byte to lock for each client; what
//! they mean is defined here. [`Board`] is the typed face of the words: which snapshots there are,
//! and what is being flushed. [`Clients`] says which clients are alive, [`Slots`] what living
//! readers can see, [`Role`] which client writes and which flushes, [`Guest`] what readers do that
//! may not write here. [`Gate`] serialises joining, leaving and growing. `layout` has the picture
//! of it all.

mod board;
mod clients;
mod gate;
mod guests;
mod layout;
#[cfg(all(test, loom))]
#[allow(unsafe_code, reason = "a model's pages are cells that loom watches")]
mod loom_models;
mod memory;
mod modes;
mod role;
mod slots;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use crate::os::RealShared;
pub(crate) use board::{
    Board, BoardIdentity, Durable, Flag, FlushPlan, JournalFlag, Journaled, Mark, Place,
    RecordMark, Sound, Start, WrittenAfterClose,
};
pub(crate) use clients::Clients;
pub(crate) use gate::{GATE_TIMEOUT, Gate};
pub(crate) use guests::{Guest, scan as scan_guests};
pub(crate) use layout::{CLIENTS_MAX, LOCK_BYTES};
#[cfg(any(test, feature = "simulation"))]
pub(crate) use layout::{IMAGE_WORDS, IMAGES, IMAGES_COUNT, SEALED};
pub(crate) use memory::MemoryFile;
#[cfg(any(loom, shuttle))]
pub(crate) use memory::MemoryShared as RealShared;
#[cfg(any(test, feature = "simulation"))]
pub(crate) use memory::MemoryShared;
pub(crate) use modes::Modes;
pub(crate) use role::{Role, RoleKind};
pub(crate) use slots::{ReaderEntry, Slot, Slots};

//! The modes that a client takes over, or that others may take over from it.

use std::sync::Arc;

use crate::env::Options;
use crate::lock::{Board, Modes};
use crate::txn::commit::Durability;

/// The modes that options may be about to take over.
pub(crate) struct Agreed {
    pub(crate) durability: Durability,
    pub(crate) flush_bytes: u64,
    pub(crate) flush_ms: u64,
}

/// The modes of a client, which the first that may write notes. Under the gate.
pub(crate) fn agreed(board: &Arc<Board>, options: &Options, read_only: bool) -> Agreed {
    let Options { durability, flush_bytes, flush_ms, .. } = *options;
    let noted = board.modes();
    if let Some(modes) = noted.filter(|_| options.inherit_durability)
        && let Some(durability) = durability_of(modes.durability)
    {
        return Agreed { durability, flush_bytes: modes.flush_bytes, flush_ms: modes.flush_ms };
    }
    if noted.is_none() && !read_only {
        board.set_modes(&Modes { durability: number_of(durability), flush_bytes, flush_ms });
    }
    Agreed { durability, flush_bytes, flush_ms }
}

/// What stands for it in the lock file.
fn number_of(durability: Durability) -> u64 {
    match durability {
        Durability::Durable => 1,
        Durability::NoMetaSync => 2,
        Durability::Lazy => 3,
        Durability::Unsynced => 4,
    }
}

/// The lock file is not trusted: any other number says nothing.
fn durability_of(number: u64) -> Option<Durability> {
    use Durability::{Durable, Lazy, NoMetaSync, Unsynced};
    [Durable, NoMetaSync, Lazy, Unsynced].into_iter().find(|&found| number_of(found) == number)
}

//! Opening an environment after an unclean end: a kill, a crash, a power loss.
//!
//! The file holds up to three metas, each with a whole snapshot below it, and the question is which
//! of them to believe. Without a journal nothing was logged, and nothing is replayed.
//!
//! 1. `choose`: the first client to open the file takes, under the gate, the newest snapshot that
//!    is known to be whole. A clean close says so itself; a lock file of this boot still knows what
//!    was sealed last; a meta of two flushes was written after all that it leads to. Any other
//!    snapshot is in doubt, and there is evidence.
//! 2. `tail`: the pages in doubt are those born since the snapshot before. Their births lead
//!    straight to them, and each carries a checksum. If one is missing, the snapshot before is the
//!    one, and never an older: its pages are not used again until its successor is durable.
//!    Opening reads, and writes nothing.
//! 3. `repair`: before the first writer takes a page, it writes the tail again and a meta of two
//!    flushes, with an id above every id that the lost timeline may have used. From there on
//!    nothing is in doubt any more.
//!
//! A chosen meta that names a place in the journal is only where `replay` begins: it goes on from
//! there, before the repair, which the same opening makes at once (J5).
//!
//! The cost of all of them is in proportion to what was written since the last flush, whatever the
//! length of the file.

mod choose;
mod repair;
mod replay;
pub(crate) mod tail;

use crate::error::{Error, Result};
use crate::lock::Place;
use crate::os::{JournalFile, Storage};
use crate::page::{META_BYTES, META_SLOTS, Meta, MetaFault};
use crate::planted::{self, Bug};
use crate::store::Store;

pub use choose::Recovery;
pub(crate) use choose::{
    Chosen, FIRST_ID, Left, check_ours, choose, is_blank, is_unwritten, left_by_others, newest,
};
pub(crate) use replay::JournalReader;

/// What to do with a snapshot whose newer commits are in the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    /// A journal that is not the right one is an error.
    Refused,
    /// J5.1: then the commits that it holds are given up.
    GivenUp,
    /// J5.4: they are, whatever the journal is: nothing may be written.
    NotLookedAt,
}

/// J5.1: if the snapshot is one of the file's metas, and that names a place in the journal, the
/// newest that the journal leads to.
pub(crate) fn go_on_by_journal(
    store: &Store,
    journal: Option<&dyn JournalFile>,
    chosen: Chosen,
    missing: Missing,
) -> Result<Chosen> {
    if chosen.sealed || chosen.place.is_none() || chosen.recovery == Recovery::ByHand {
        return Ok(chosen);
    }
    if chosen.recovery == Recovery::Clean {
        // A client that flushes nothing was the last to close, and all was flushed.
        let newest = journal.map(|journal| replay::newest(store, journal, chosen.place));
        let newest = newest.transpose();
        if newest.is_ok_and(|newest| newest.flatten() <= Some(chosen.meta.txnid)) {
            return Ok(chosen);
        }
    }
    let replayed = match journal {
        _ if missing == Missing::NotLookedAt => Ok(None),
        Some(journal) => replay::replay(store, journal, &chosen.meta).map(Some),
        // J5.4.
        None if planted::is(Bug::ReplayLeftOut) => Ok(None),
        None => Err(replay::not_writable()),
    };
    let lost =
        |error: &Error| matches!(error, Error::Journal(_) | Error::Corrupt(_) | Error::Version(_));
    let (meta, recovery) = match replayed {
        Ok(Some(replayed)) => {
            let stepped_back = replayed.torn || chosen.recovery == Recovery::SteppedBack;
            let recovery = if stepped_back { Recovery::SteppedBack } else { Recovery::Replayed };
            (replayed.newest, recovery)
        }
        Err(error) if missing == Missing::Refused || !lost(&error) => return Err(error),
        _ => (None, Recovery::JournalGivenUp),
    };
    let meta = meta.unwrap_or_else(|| chosen.meta.clone());
    Ok(Chosen { meta, place: Place::default(), recovery, by_journal: true, ..chosen })
}

/// Whether the journal is there that the lock file says is used. One that was put back may have a
/// place in a journal that was begun anew.
pub(crate) fn has_journal(store: &Store, journal: Option<&dyn JournalFile>) -> Result<bool> {
    let place = store.board.journaled().map(|journaled| journaled.place);
    if place.is_none() && store.board.journal_blocks() == 0 {
        return Ok(true);
    }
    let Some(journal) = journal else { return Ok(false) };
    let mut reader = JournalReader::of(store, journal)?;
    let is_there = place.map_or(Ok(true), |place| reader.has_anchor(place))?;
    let is_as_long = reader.blocks() == store.board.journal_blocks();
    Ok(is_there && is_as_long || planted::is(Bug::JournalPutBack))
}

/// What each meta slot of a file holds.
pub(crate) type Metas = [std::result::Result<Meta, MetaFault>; META_SLOTS];

/// The metas, of a file that this version knows: a whole block that says what it does not know may
/// be the newest snapshot, and every decision without it would be one about an older state.
pub(crate) fn known_metas(storage: &dyn Storage) -> Result<Metas> {
    let metas = read_metas(storage)?;
    for (slot, meta) in metas.iter().enumerate() {
        if let Err(fault) = meta
            && fault.is_unknown()
            && !planted::is(Bug::NewerVersion)
        {
            return Err(fault.refuse(format_args!("meta slot {slot}")));
        }
    }
    Ok(metas)
}

/// Reads the three meta blocks past the map. A meta that is whole, but of another file than the
/// newest or with another page size, is none of this file's.
pub(crate) fn read_metas(storage: &dyn Storage) -> Result<Metas> {
    let mut blocks = [[0; META_BYTES]; META_SLOTS];
    for (slot, block) in blocks.iter_mut().enumerate() {
        storage.read_at(block, (slot * META_BYTES) as u64)?;
    }
    let metas = blocks.map(|block| Meta::decode(&block));
    let newest = metas.iter().flatten().max_by_key(|meta| meta.txnid);
    let Some((uuid, page_bytes)) = newest.map(|meta| (meta.uuid, meta.page_bytes)) else {
        return Ok(metas);
    };
    Ok(metas.map(|meta| match meta {
        Ok(meta) if meta.uuid != uuid || meta.page_bytes != page_bytes => {
            Err(MetaFault::Corrupt("a meta is of another file"))
        }
        meta => meta,
    }))
}

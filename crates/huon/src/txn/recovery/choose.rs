//! The first act: choosing the snapshot that the first client starts from.
//!
//! In the order of trust: a clean close; the lock file's newest sealed image, if
//! everything born since the meta it builds on verifies; the newest whole meta, if it was flushed
//! on its own or its tail verifies; one step back from it, if nothing that the predecessor sees has
//! been written over. Never further. Only damage speaks against a snapshot: what cannot be read
//! ends the opening, and decides nothing.

use crate::alloc::filled;
use crate::error::{Error, Result};
use crate::lock::{Board, Place};
use crate::os::{JournalFile, Storage};
use crate::page::{CommitKind, META_BYTES, Meta, MetaFault, Txnid, meta_checksum};
use crate::planted::{self, Bug};
use crate::store::Store;
use crate::txn::recovery::{JournalReader, Metas, known_metas, replay, tail};

/// So much of a new file is looked at to see that nothing was written.
const BLANK_BYTES_MAX: usize = 1 << 20;

/// How the snapshot of an opening was found.
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// Nothing has ever been committed to the file.
    New,
    /// The environment was closed cleanly, or other clients had it open.
    Clean,
    /// It was not, and the newest commit that any process had made is there.
    Newest,
    /// It was not; the newest flushed snapshot is there. Commits that never became durable may be
    /// missing.
    Flushed,
    /// The newest flushed snapshot is damaged, or its flush had not ended, and the one before it is
    /// there.
    SteppedBack,
    /// The caller named the meta to start from.
    ByHand,
    /// It was not, and commits that were durable in the journal were replayed: all of them, unless
    /// it says [`Recovery::SteppedBack`].
    Replayed,
    /// It was not, and the journal is not the one that goes with the file, or was not looked at:
    /// the last checkpoint is there. Commits that were durable are missing; the caller allowed that
    /// with [`Options::give_up_journal`](crate::Options::give_up_journal).
    JournalGivenUp,
}

/// The id that a file is created with.
pub(crate) const FIRST_ID: Txnid = Txnid(1);

/// A snapshot to start from.
pub(crate) struct Chosen {
    pub(crate) meta: Meta,
    /// It is what the lock file names as newest sealed.
    pub(crate) sealed: bool,
    /// The slot of the meta that is, or that the snapshot builds on.
    pub(crate) meta_slot: u8,
    pub(crate) checksum: u64,
    /// The place in the journal that this meta names.
    pub(crate) place: Place,
    pub(crate) recovery: Recovery,
    /// It was reached by the journal: this opening repairs at once (J5.3).
    pub(crate) by_journal: bool,
}

/// A sealed image that an earlier lock file holds, and the durable meta it builds on.
pub(crate) struct Left {
    image: Meta,
    durable_txnid: u64,
    durable_checksum: u64,
}

impl Left {
    /// The durable meta that the image builds on, if it is whole, and its slot.
    fn durable_in<'m>(&self, whole: &[(u8, &'m Meta)]) -> Option<(u8, &'m Meta)> {
        whole.iter().copied().find(|(_, meta)| {
            meta.txnid.0 == self.durable_txnid
                && meta_checksum(&meta.encode()) == self.durable_checksum
        })
    }

    fn chosen(&self, meta_slot: u8, place: Place, recovery: Recovery) -> Chosen {
        Chosen {
            meta: self.image.clone(),
            sealed: true,
            meta_slot,
            checksum: self.durable_checksum,
            place,
            recovery,
            by_journal: false,
        }
    }
}

/// Where each whole meta lies.
fn whole(metas: &Metas) -> Vec<(u8, &Meta)> {
    let mut whole: Vec<(u8, &Meta)> = metas
        .iter()
        .enumerate()
        .filter_map(|(slot, meta)| Some((slot as u8, meta.as_ref().ok()?)))
        .collect();
    whole.sort_by_key(|(_, meta)| std::cmp::Reverse(meta.txnid));
    whole
}

/// The newest whole meta, or why the file has none.
pub(crate) fn newest(metas: &Metas) -> Result<&Meta> {
    if let Some((_, meta)) = whole(metas).first() {
        return Ok(meta);
    }
    let faults = metas.iter().filter_map(|meta| meta.as_ref().err().copied());
    // The fault that says most.
    let telling = faults.max_by_key(|fault| match fault {
        MetaFault::NotADatabase => 0,
        MetaFault::Corrupt(_) => 1,
        _ => 2,
    });
    Err(telling.map_or(Error::corrupt_file("no meta"), Error::from))
}

/// Whether it is an environment, be it a damaged one.
pub(crate) fn check_ours(storage: &dyn Storage) -> Result<()> {
    match newest(&known_metas(storage)?) {
        Err(error @ (Error::NotADatabase(_) | Error::Version(_))) => Err(error),
        _ => Ok(()),
    }
}

/// What an earlier lock file of this boot still knows, or one that notes a clean close; `None` if
/// it does not count.
pub(crate) fn left_by_others(
    board: &Board,
    storage: &dyn Storage,
    uuid: &[u8; 16],
    clean: bool,
) -> Result<Option<Left>> {
    let data = storage.identity()?;
    let same = (clean || board.same_boot())
        && board.identity().is_some_and(|its| its.data == data && its.uuid == *uuid)
        && !board.is_poisoned();
    let mut block = [0; META_BYTES];
    let sealed = board.sealed();
    if !same || !board.copy_image(sealed, &mut block) {
        return Ok(None);
    }
    let named = |meta: &Meta| meta.uuid == *uuid && meta.txnid.0 == sealed.txnid();
    let image = match Meta::decode(&block) {
        Err(fault) if fault.is_unknown() => {
            return Err(fault.refuse(format_args!("the newest snapshot in the lock file")));
        }
        image => image.ok().filter(named),
    };
    // P9: the durable snapshot was sealed before, or is the one sealed last.
    let durable = board.durable_info().filter(|durable| durable.mark <= sealed);
    let left = image.zip(durable).map(|(image, durable)| Left {
        image,
        durable_txnid: durable.mark.txnid(),
        durable_checksum: durable.checksum,
    });
    Ok(left)
}

/// Chooses. `clean`: the lock file notes a clean close that counts.
pub(crate) fn choose(
    store: &Store,
    journal: Option<&dyn JournalFile>,
    metas: &Metas,
    left: Option<&Left>,
    clean: bool,
    by_hand: Option<u8>,
) -> Result<Chosen> {
    if let Some(slot) = by_hand {
        let meta = metas[usize::from(slot)].clone().map_err(Error::from)?;
        return Ok(chosen(store, &meta, slot, Recovery::ByHand));
    }
    let whole = whole(metas);
    let Some(&(slot, newest)) = whole.first() else { return Err(newest_error(metas)) };
    let found = chosen(store, newest, slot, Recovery::Clean);
    let closed = |left: &Left| {
        left.image.txnid == newest.txnid
            && left.durable_txnid == newest.txnid.0
            && left.durable_checksum == found.checksum
    };
    if clean && left.is_some_and(closed) {
        return Ok(found);
    }
    // A client that rejected the newest meta, or had one chosen by hand, and never wrote decided
    // nothing: what it started from does not count.
    let left = left.filter(|left| left.image.txnid >= newest.txnid);
    if let Some(left) = left
        && let Some(found) = sealed_image(store, journal, &whole, left)?
    {
        // Closed in order and never flushed on purpose, and the running system has all of it: a
        // file system that was mounted anew may not.
        let is_clean = clean && found.meta.txnid == newest.txnid;
        let recovery = if is_clean { Recovery::Clean } else { found.recovery };
        return Ok(Chosen { recovery, ..found });
    }
    if stands(store, newest)? {
        let is_new = left.is_none() && newest.txnid == FIRST_ID;
        let recovery = if is_new { Recovery::New } else { Recovery::Flushed };
        return Ok(chosen(store, newest, slot, recovery));
    }
    let before = whole.iter().find(|(_, meta)| meta.txnid == newest.before);
    match before {
        Some((slot, meta)) if is_intact(store, newest, meta)? => {
            Ok(chosen(store, meta, *slot, Recovery::SteppedBack))
        }
        _ => Err(Error::corrupt_file(
            "the newest snapshot is damaged and the one before it is not known to be whole; \
             run a check against each meta slot, then open with the one that is best",
        )),
    }
}

fn newest_error(metas: &Metas) -> Error {
    newest(metas).err().unwrap_or(Error::corrupt_file("no meta"))
}

fn chosen(store: &Store, meta: &Meta, meta_slot: u8, recovery: Recovery) -> Chosen {
    let block = meta.encode();
    debug_assert_eq!(meta.uuid, store.uuid);
    Chosen {
        meta: meta.clone(),
        sealed: false,
        meta_slot,
        checksum: meta_checksum(&block),
        place: meta.place,
        recovery,
        by_journal: false,
    }
}

/// Whether something was found whole: an error that is not about damage says nothing.
fn is_whole(verified: Result<()>) -> Result<bool> {
    match verified {
        Err(error) if error.is_damage() => Ok(false),
        verified => verified.map(|()| true),
    }
}

/// Whether nothing that `before` sees has been written over. The free-space chunks that tell may
/// belong to the damaged tail themselves; then everything is read.
fn is_intact(store: &Store, newest: &Meta, before: &Meta) -> Result<bool> {
    Ok(is_whole(tail::retired_are_intact(store, newest, before.txnid))?
        || is_whole(tail::verify(store, before, Txnid(0)))?)
}

/// A two-flush meta stands by its checksum, a one-flush meta if everything born since its
/// predecessor is there.
fn stands(store: &Store, meta: &Meta) -> Result<bool> {
    Ok(meta.commit == CommitKind::TwoFlush || is_whole(tail::verify(store, meta, meta.before))?)
}

/// The sealed image counts if the durable meta below it is whole and everything born since
/// verifies; and if neither the metas nor the journal say that the lock file was put back.
fn sealed_image(
    store: &Store,
    journal: Option<&dyn JournalFile>,
    whole: &[(u8, &Meta)],
    left: &Left,
) -> Result<Option<Chosen>> {
    let Some((slot, durable)) = left.durable_in(whole) else { return Ok(None) };
    let fits = left.image.txnid >= durable.txnid && left.image.page_bytes == durable.page_bytes;
    let since = Txnid(left.durable_txnid);
    if !fits || !stands(store, durable)? {
        return Ok(None);
    }
    // Whether or not the lock file knows of it.
    let newest = whole.first().map_or(durable, |(_, newest)| newest);
    if let Some(journal) = journal
        && was_put_back(store, journal, newest, durable, left.image.txnid)?
    {
        return Ok(None);
    }
    let is_there = is_whole(tail::verify(store, &left.image, since))?;
    Ok(is_there.then(|| left.chosen(slot, durable.place, Recovery::Newest)))
}

/// Whether a lock file, in which snapshot `sealed` is the newest and `durable` the durable meta, is
/// older than the files: the journal leads to a newer snapshot; or the batch before the place that
/// this meta names is gone, which it may be only once a newer meta is durable (J4.2). From the
/// older one nothing could be recovered any more.
fn was_put_back(
    store: &Store,
    journal: &dyn JournalFile,
    newest: &Meta,
    durable: &Meta,
    sealed: Txnid,
) -> Result<bool> {
    if !newest.place.is_none()
        && replay::newest(store, journal, newest.place)? > Some(sealed)
        && !planted::is(Bug::JournalNewer)
    {
        return Ok(true);
    }
    if durable.place.is_none() || durable.place == newest.place {
        return Ok(false);
    }
    let has_anchor = JournalReader::of(store, journal)?.has_anchor(durable.place)?;
    Ok(!has_anchor && !planted::is(Bug::AnchorForgotten))
}

/// Whether no client ever wrote behind the first meta: then no page bears any id, and there is no
/// other timeline that a repair would have to leave behind (P16). Long files are not looked
/// through.
pub(crate) fn is_blank(storage: &dyn Storage) -> Result<bool> {
    let mut bytes = filled(0u8, BLANK_BYTES_MAX)?;
    let read = storage.read_at(&mut bytes, META_BYTES as u64)?;
    Ok(read < BLANK_BYTES_MAX && bytes[..read].iter().all(|&byte| byte == 0))
}

/// Whether the place of the first meta was never written.
pub(crate) fn is_unwritten(storage: &dyn Storage) -> Result<bool> {
    let mut block = [0; META_BYTES];
    storage.read_at(&mut block, 0)?;
    Ok(block == [0; META_BYTES])
}

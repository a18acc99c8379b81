//! Replaying the journal: what was made durable since the meta was flushed (J5).
//!
//! A record leads from one snapshot to the next: each page from its predecessor to its own number,
//! against its checksum. Nothing is allocated, and no page is written that the chosen snapshot or
//! the one before it sees, since the transactions did not, when they were made. So a replay that is
//! cut short is begun again, and nothing has to be flushed before it.

use crate::alloc::filled;
use crate::error::{Error, Result};
use crate::failpoint::{Point, reach};
use crate::journal::{
    BATCH_HEADER_BYTES, BLOCK_BYTES, BaseName, Batch, BatchFault, PageRecord, TxnRecord, bind,
    checksum, is_begun, said_checksum,
};
use crate::lock::Place;
use crate::os::{JOURNAL_BATCH_BYTES_MAX, JournalFile};
use crate::page::{META_BYTES, Meta, Ptr, Txnid, difference, header, meta_checksum};
use crate::planted::{self, Bug};
use crate::store::Store;
use crate::txn::recovery::known_metas;

/// So much of a write is on a disk whole, or not at all.
const SECTOR_BYTES: usize = 512;

/// A snapshot on its way: its meta, as an image has it.
struct State {
    meta: Meta,
    image: [u8; META_BYTES],
}

/// What a journal leads to.
pub(crate) struct Replayed {
    /// The newest snapshot, if there is a newer one than the meta's.
    pub(crate) newest: Option<Meta>,
    /// Behind it lies a part of another batch, which was being written, or is damaged.
    pub(crate) torn: bool,
}

/// Replays what lies behind the place that `meta` names. J5.1: where the batch before the place is
/// not there, that is an error which names the file.
pub(crate) fn replay(store: &Store, journal: &dyn JournalFile, meta: &Meta) -> Result<Replayed> {
    let mut reader = JournalReader::of(store, journal)?;
    if !reader.has_anchor(meta.place)? && !planted::is(Bug::AnchorUnchecked) {
        return Err(missing());
    }
    let mut state = State { image: meta.as_image().encode(), meta: meta.as_image() };
    let (mut place, mut replayed) = (meta.place, false);
    while let Some(batch) = reader.next(place)? {
        for record in batch.records() {
            let record = record.ok_or_else(|| damaged("a record in the journal makes no sense"))?;
            if record.txnid > state.meta.txnid {
                if !replayed {
                    end_torn_metas(store)?;
                }
                state = apply(store, &state, &record)?;
                replayed = true;
            }
        }
        place = batch.behind();
    }
    let torn = reader.ends_in_part(place)?;
    Ok(Replayed { newest: replayed.then_some(state.meta), torn })
}

/// The newest snapshot that the journal makes durable behind a place; `None` if there is none, or
/// the journal is not the one that was meant.
pub(crate) fn newest(
    store: &Store,
    journal: &dyn JournalFile,
    mut place: Place,
) -> Result<Option<Txnid>> {
    let mut reader = JournalReader::of(store, journal)?;
    let mut newest = None;
    if reader.has_anchor(place)? {
        while let Some(batch) = reader.next(place)? {
            newest = newest.max(Some(batch.head.txnid));
            place = batch.behind();
        }
    }
    Ok(newest)
}

/// J5.4: the error of a process that would have to replay, and may not write the data file.
#[cold]
pub(super) fn not_writable() -> Error {
    let text = "the newest commits of this file are in its journal, the file with -journal \
                appended to its name, and have to be written to the data file first, which this \
                process may not do: open it once in a process that may";
    Error::Journal(text.into())
}

/// J5.1: the error for a journal that is not the one that goes with the data file.
#[cold]
fn missing() -> Error {
    let text = "the newest commits of this file are in its journal, the file with -journal \
                appended to its name, and that is missing, older, or of another file: put the \
                journal back that goes with it";
    Error::Journal(text.into())
}

#[cold]
fn damaged(what: &'static str) -> Error {
    Error::corrupt_file(what)
}

/// The journal as batches.
pub(crate) struct JournalReader<'j> {
    journal: &'j dyn JournalFile,
    blocks: u64,
    uuid: &'j [u8; 16],
    bytes: Vec<u8>,
}

impl<'j> JournalReader<'j> {
    pub(crate) fn of(store: &'j Store, journal: &'j dyn JournalFile) -> Result<JournalReader<'j>> {
        let blocks = journal.bytes()? / BLOCK_BYTES as u64;
        Ok(JournalReader { journal, blocks, uuid: &store.uuid, bytes: Vec::new() })
    }

    /// How many blocks the journal has.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// J5.1: whether the batch before a place is there, whole.
    pub(crate) fn has_anchor(&mut self, place: Place) -> Result<bool> {
        let found = self.batch(place.anchor, |block| said_checksum(block) == place.chain)?;
        Ok(found.is_some_and(|batch| batch.behind() == place))
    }

    /// J2.5: the batch at a place, if it is bound to the one before.
    pub(crate) fn next(&mut self, place: Place) -> Result<Option<Batch<'_>>> {
        let uuid = self.uuid;
        let batch = self.batch(place.next, |block| is_begun(block, uuid, place))?;
        Ok(batch.filter(|it| it.head.chain == place.chain || planted::is(Bug::ChainUnchecked)))
    }

    /// The batch at a place, if one of this file is there, whole. J5.5: one of an unknown version
    /// is an error, if its block `is_meant`: the bytes of a value may look like one.
    fn batch(&mut self, at: u64, is_meant: impl Fn(&[u8]) -> bool) -> Result<Option<Batch<'_>>> {
        let Some(length) = self.length_at(at, is_meant)? else { return Ok(None) };
        self.read(at, length)?;
        let is_ours = |batch: &Batch<'_>| batch.head.uuid == *self.uuid && batch.head.at == at;
        Ok(Batch::read(&self.bytes).ok().filter(is_ours))
    }

    /// Bytes of the batch that begins at a place, if one does; it may not be whole. `is_meant`: as
    /// above.
    fn length_at(&mut self, at: u64, is_meant: impl Fn(&[u8]) -> bool) -> Result<Option<usize>> {
        if self.blocks == 0 {
            return Ok(None);
        }
        self.read(at, BLOCK_BYTES)?;
        match Batch::bytes_at(&self.bytes) {
            Ok(length) => Ok(Some(length).filter(|length| self.may_have(*length))),
            Err(BatchFault::Version(found))
                if is_meant(&self.bytes) && !planted::is(Bug::BatchVersionUnread) =>
            {
                let text = format!("the journal has version {found}, which this one does not know");
                Err(Error::Version(text.into()))
            }
            Err(_) => Ok(None),
        }
    }

    fn may_have(&self, length: usize) -> bool {
        let room = (self.blocks as usize).saturating_mul(BLOCK_BYTES).min(JOURNAL_BATCH_BYTES_MAX);
        (BATCH_HEADER_BYTES..=room).contains(&length)
    }

    /// Whether a batch was begun where the chain ends. One that another is bound to was whole: it
    /// was flushed before that one was written, so it is damaged.
    fn ends_in_part(&mut self, end: Place) -> Result<bool> {
        // One that is whole is bound to another: it is left of an earlier journal.
        if self.blocks == 0 || self.batch(end.next, |_| false)?.is_some() {
            return Ok(false);
        }
        self.read(end.next, BLOCK_BYTES)?;
        let (is_begun, said) = (is_begun(&self.bytes, self.uuid, end), said_checksum(&self.bytes));
        let found = self.checksum_behind(end)?;
        // All but the word that binds it may be there.
        if !is_begun && found != Some(said) {
            return Ok(false);
        }
        for at in end.next.saturating_add(1)..end.next.saturating_add(self.blocks) {
            let Some(batch) = self.batch(at, |_| false)? else { continue };
            let is_bound = batch.head.chain == said || Some(batch.head.chain) == found;
            if is_bound && !planted::is(Bug::DamagedBatch) {
                return Err(damaged("a batch in the journal is damaged, and later ones are there"));
            }
        }
        Ok(true)
    }

    /// The checksum of the batch behind a place as it would be, were it bound to the one before.
    fn checksum_behind(&mut self, place: Place) -> Result<Option<u64>> {
        let Some(length) = self.length_at(place.next, |_| false)? else { return Ok(None) };
        self.read(place.next, length)?;
        bind(&mut self.bytes, place);
        Ok(Some(checksum(&self.bytes)))
    }

    /// J2.6: around the end of the file.
    fn read(&mut self, at: u64, length: usize) -> Result<()> {
        self.bytes = filled(0, length.next_multiple_of(BLOCK_BYTES))?;
        let first = at % self.blocks;
        let fit = ((self.blocks - first) as usize * BLOCK_BYTES).min(self.bytes.len());
        let (now, around) = self.bytes.split_at_mut(fit);
        self.journal.read_at(now, first * BLOCK_BYTES as u64)?;
        if !around.is_empty() {
            self.journal.read_at(around, 0)?;
        }
        self.bytes.truncate(length);
        Ok(())
    }
}

/// J5.9: takes its first sector from each meta that is not whole, before any page is written. The
/// sectors that such a meta lacks may be those of the meta that ends the repair, of which a second
/// power loss may leave only these: they would complete a meta whose pages the replay has written
/// over. No write of the other sectors, as zeros or else, may do the same.
fn end_torn_metas(store: &Store) -> Result<()> {
    if planted::is(Bug::TornMetaKept) {
        return Ok(());
    }
    let metas = known_metas(&*store.storage)?;
    let torn = (0..metas.len()).filter(|&slot| metas[slot].is_err());
    for slot in torn.clone() {
        store.storage.write_at(&[&[0; SECTOR_BYTES]], (slot * META_BYTES) as u64)?;
    }
    if torn.count() > 0 { store.storage.sync() } else { Ok(()) }
}

/// The snapshot that a record leads to, with its pages written.
fn apply(store: &Store, state: &State, record: &TxnRecord<'_>) -> Result<State> {
    let name = BaseName { txnid: state.meta.txnid, checksum: meta_checksum(&state.image) };
    if record.base != name {
        // J3.1: never, but in a journal that another program has written.
        return Err(damaged("a record in the journal is of another base (J3.1)"));
    }
    let (pages, image) =
        record.parts().ok_or_else(|| damaged("a record in the journal makes no sense"))?;
    let mut block = [0; META_BYTES];
    difference::apply(&state.image, image, &mut block)?;
    let meta = Meta::decode(&block)?;
    if meta.txnid != record.txnid || meta.uuid != store.uuid {
        return Err(damaged("the image of a record in the journal makes no sense"));
    }
    if !planted::is(Bug::UngrownReplay) {
        store.storage.grow(store.offset(meta.used))?;
        // It was as long as was promised when the record was sealed, and no flush has made that
        // durable. On a full disk it stays shorter, until the next writer.
        let _ = store.storage.grow(store.offset(meta.geometry.min_pages.min(store.map_pages())));
    }
    for page in &pages {
        write_page(store, record, page, meta.used)?;
        reach(Point::PageReplayed);
    }
    Ok(State { meta, image: block })
}

fn write_page(
    store: &Store,
    record: &TxnRecord<'_>,
    page: &PageRecord<'_>,
    used: u32,
) -> Result<()> {
    let mut before = Vec::new();
    if !page.before.is_none() {
        before = filled(0, store.page_bytes)?;
        store.storage.read_at(&mut before, store.offset(page.before.pgno.0))?;
        if header::ptr(&before) != page.before || store.seal.verify(&before).is_err() {
            return Err(damaged("a page that a record in the journal changes is not there"));
        }
    }
    let mut whole = filled(0, store.page_bytes)?;
    difference::apply(&before, page.difference, &mut whole)?;
    let ptr = Ptr { pgno: page.pgno, birth: record.txnid };
    let first = crate::page::first_data_page(store.page_bytes);
    let is_inside = (first..used).contains(&page.pgno.0);
    if !is_inside || header::ptr(&whole) != ptr || store.seal.verify(&whole).is_err() {
        return Err(damaged("a page of a record in the journal makes no sense"));
    }
    store.storage.write_at(&[&whole], store.offset(page.pgno.0))
}

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
    BATCH_HEADER_BYTES, BLOCK_BYTES, BaseName, Batch, BatchFault, PageRecord, Record,
};
use crate::lock::Place;
use crate::os::JournalFile;
use crate::page::{META_BYTES, Meta, Ptr, difference, header, meta_checksum};
use crate::store::Store;

/// Bytes of the longest batch: what the ring holds.
const BATCH_BYTES_MAX: usize = 64 << 20;

/// A snapshot on its way: its meta, as an image has it.
struct State {
    meta: Meta,
    image: [u8; META_BYTES],
}

/// Replays what lies behind the place that `meta` names; the newest snapshot, if there is a newer
/// one. J5.1: where the batch before the place is not there, that is an error which names the file.
pub(crate) fn replay(
    store: &Store,
    journal: &dyn JournalFile,
    meta: &Meta,
) -> Result<Option<Meta>> {
    let reader =
        Reader { journal, blocks: journal.bytes()? / BLOCK_BYTES as u64, uuid: &store.uuid };
    let Place { next, anchor, chain } = meta.place;
    let found = reader.batch(anchor)?;
    let is_there = found.is_some_and(|bytes| {
        Batch::read(&bytes)
            .is_ok_and(|batch| batch.checksum == chain && batch.behind().next == next)
    });
    if !is_there {
        return Err(missing());
    }
    let mut state = State { image: meta.as_image().encode(), meta: meta.as_image() };
    let (mut place, mut replayed) = (meta.place, false);
    while let Some(bytes) = reader.batch(place.next)? {
        let Ok(batch) = Batch::read(&bytes) else { break };
        if batch.head.chain != place.chain {
            break;
        }
        for record in batch.records() {
            let record = record.ok_or_else(|| damaged("a record in the journal makes no sense"))?;
            if record.txnid > state.meta.txnid {
                state = apply(store, &state, &record)?;
                replayed = true;
            }
        }
        place = batch.behind();
    }
    Ok(replayed.then_some(state.meta))
}

/// The error for a journal that is not the one that goes with the data file.
#[cold]
pub(crate) fn missing() -> Error {
    let text = "the newest commits of this file are in its journal, the file with -journal appended \
                to its name, and that is missing, older, or of another file: put the journal back \
                that goes with it";
    Error::Journal(text.into())
}

#[cold]
fn damaged(what: &'static str) -> Error {
    Error::corrupt_file(what)
}

/// The journal as batches.
struct Reader<'j> {
    journal: &'j dyn JournalFile,
    blocks: u64,
    uuid: &'j [u8; 16],
}

impl Reader<'_> {
    /// The bytes of the batch at a place, if one of this file is there that says so. It may still
    /// not be whole.
    fn batch(&self, at: u64) -> Result<Option<Vec<u8>>> {
        if self.blocks == 0 {
            return Ok(None);
        }
        let mut bytes = filled(0, BLOCK_BYTES)?;
        self.read(&mut bytes, at)?;
        let length = match Batch::bytes_at(&bytes) {
            Ok(length) => length,
            Err(BatchFault::None) => return Ok(None),
            Err(BatchFault::Version(found)) => {
                let text = format!("the journal has version {found}, which this one does not know");
                return Err(Error::Version(text.into()));
            }
        };
        let room = (self.blocks as usize * BLOCK_BYTES).min(BATCH_BYTES_MAX);
        if !(BATCH_HEADER_BYTES..=room).contains(&length) {
            return Ok(None);
        }
        let mut whole = filled(0, length.next_multiple_of(BLOCK_BYTES))?;
        self.read(&mut whole, at)?;
        whole.truncate(length);
        let is_ours = |batch: Batch<'_>| batch.head.uuid == *self.uuid && batch.head.at == at;
        Ok(Batch::read(&whole).is_ok_and(is_ours).then_some(whole))
    }

    /// J2.6: around the end of the file.
    fn read(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        let first = at % self.blocks;
        let fit = ((self.blocks - first) as usize * BLOCK_BYTES).min(bytes.len());
        let (now, around) = bytes.split_at_mut(fit);
        self.journal.read_at(now, first * BLOCK_BYTES as u64)?;
        if around.is_empty() { Ok(()) } else { self.journal.read_at(around, 0) }
    }
}

/// The snapshot that a record leads to, with its pages written.
fn apply(store: &Store, state: &State, record: &Record<'_>) -> Result<State> {
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
    store.storage.grow(store.offset(meta.used))?;
    for page in &pages {
        write_page(store, record, page, meta.used)?;
        reach(Point::PageReplayed);
    }
    Ok(State { meta, image: block })
}

fn write_page(store: &Store, record: &Record<'_>, page: &PageRecord<'_>, used: u32) -> Result<()> {
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

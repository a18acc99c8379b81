//! Data files with anything in them.

use std::sync::OnceLock;

use huon::sim::Sealer;

use super::Choices;
use crate::hostile::attempt::{Depth, attempt};
use crate::hostile::file::{CHUNK_ITEMS, File, HEADER_BYTES, ITEM_BYTES, Kind, META_BYTES, Page};
use crate::hostile::file::{header, meta, tree};
use crate::hostile::fixture::Fixture;

/// Most bytes that are looked at.
const BYTES_MAX: usize = 1 << 16;

/// Opens a file that consists of these bytes: as they are, or as the contents of pages whose names
/// and checksums are right.
pub fn open_bytes(data: &[u8]) {
    let mut choices = Choices::new(&data[..data.len().min(BYTES_MAX)]);
    let image = match choices.below(4) {
        0 => choices.rest().to_vec(),
        _ => pages_of(&mut choices),
    };
    attempt(&image, Depth::Quick);
}

/// A file of small pages: a meta whose fields are chosen, and pages of the bytes that are left.
fn pages_of(choices: &mut Choices<'_>) -> Vec<u8> {
    const UUID: [u8; 16] = [7; 16];
    let page_bytes = choices.pick(&[256usize, 512, 1024]);
    let first = (3 * META_BYTES).div_ceil(page_bytes);
    let txnid = 5u64;
    let mut root = [0; 64];
    let fields = choices.take(24);
    root[..fields.len()].copy_from_slice(fields);
    let (depth, order) = (1 + choices.below(4) as u8, choices.below(6) as u8);
    let items = choices.below(4);
    let listed = choices.take(items * ITEM_BYTES).to_vec();
    let rest = choices.rest();
    let count = rest.len().div_ceil(page_bytes - HEADER_BYTES).max(1);
    let mut image = vec![0; (first + count) * page_bytes];
    let sealer = Sealer::new(&UUID);
    for (pgno, contents) in (first..).zip(rest.chunks(page_bytes - HEADER_BYTES)) {
        let page = &mut image[pgno * page_bytes..][..page_bytes];
        page[HEADER_BYTES..HEADER_BYTES + contents.len()].copy_from_slice(contents);
        let kind = [2, 1, 2, 4][usize::from(contents[0]) % 4];
        page[header::PGNO..header::PGNO + 4].copy_from_slice(&(pgno as u32).to_le_bytes());
        page[header::KIND] = kind;
        page[header::LEVEL] = if kind == 1 { contents[0] >> 2 & 3 } else { 0 };
        page[header::COUNT] = contents.last().copied().unwrap_or(0) % 24;
        page[header::BIRTH] = txnid as u8;
        page[header::HEAP] = contents.get(1).copied().unwrap_or(0);
        sealer.page(page);
    }
    let main = meta::MAIN;
    image[main..main + 64].copy_from_slice(&root);
    image[main..main + 4].copy_from_slice(&(first as u32 + u32::from(root[0])).to_le_bytes());
    image[main + tree::DEPTH..main + 8].copy_from_slice(&[depth, order, 0, 0]);
    image[main + tree::BIRTH..main + 16].copy_from_slice(&txnid.to_le_bytes());
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"HUON\x01");
    put(meta::UUID, &UUID);
    put(meta::PAGE_BYTES, &(page_bytes as u32).to_le_bytes());
    put(meta::COMMIT, &2u32.to_le_bytes());
    put(meta::TXNID, &txnid.to_le_bytes());
    put(meta::CEILING, &100u64.to_le_bytes());
    put(meta::UPPER, &4000u32.to_le_bytes());
    put(meta::USED, &((first + count) as u32).to_le_bytes());
    put(meta::ITEM_COUNT, &((listed.len() / ITEM_BYTES) as u32).to_le_bytes());
    put(meta::ITEMS, &listed[..listed.len() / ITEM_BYTES * ITEM_BYTES]);
    Sealer::meta(image.first_chunk_mut().expect("a block"));
    image
}

/// A sound file, and where everything lies in it.
struct Base {
    file: File,
    pages: Vec<Page>,
    trees: Vec<usize>,
}

fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        let base = |(page_bytes, keys, tail): (usize, u64, bool)| {
            let mut file = Fixture::new(page_bytes, keys, tail).file;
            if !tail {
                file.single_meta();
            }
            Base { pages: file.pages(), trees: file.trees(), file }
        };
        [(512, 60, false), (512, 30, true), (4096, 30, false)].map(base).into()
    })
}

/// Changes fields and bytes of a sound file, sets checksums right again, and tries everything.
pub fn mutate_valid(data: &[u8]) {
    let mut choices = Choices::new(data);
    let bases = bases();
    let base = &bases[choices.below(bases.len())];
    let mut file = base.file.clone();
    let mut edited = Vec::new();
    for _ in 0..12 {
        let at = place(&mut choices, base);
        let width = choices.pick(&[1usize, 2, 4, 8]).min(file.bytes.len() - at);
        let mut old = [0; 8];
        old[..width].copy_from_slice(&file.bytes[at..at + width]);
        let new = match choices.below(4) {
            // What stands elsewhere.
            0 => {
                let from = place(&mut choices, base);
                let bytes = file.bytes[from..].iter().copied().take(8);
                bytes.rev().fold(0, |number, byte| number << 8 | u64::from(byte))
            }
            _ => choices.trouble(u64::from_le_bytes(old)),
        };
        file.put(at, &new.to_le_bytes()[..width]);
        edited.push(at);
        if choices.is_empty() {
            break;
        }
    }
    // Now and then a checksum stays wrong, or a large value's is set right with its bytes.
    if !choices.once_in(16) {
        let sealed = |at: usize| {
            let page = base.pages.iter().find(|page| {
                file.at(page.pgno) / base.file.page_bytes == at / base.file.page_bytes
            });
            at < 3 * META_BYTES || page.is_some_and(|page| page.kind != Kind::Run)
        };
        edited.retain(|&at| sealed(at));
        edited.into_iter().for_each(|at| file.seal(at));
    }
    if choices.once_in(8) {
        let end = choices.below(file.bytes.len());
        file.bytes.truncate(end);
    }
    attempt(&file.bytes, Depth::Quick);
}

/// A place in a sound file, mostly one that means something.
fn place(choices: &mut Choices<'_>, base: &Base) -> usize {
    let file = &base.file;
    let page = base.pages[choices.below(base.pages.len())];
    let at = file.at(page.pgno);
    let place = match choices.below(8) {
        0 => file.newest_meta() * META_BYTES + meta::UUID + choices.below(meta::ITEMS + 48),
        1 => base.trees[choices.below(base.trees.len())] + choices.below(56),
        2 => at + header::PGNO + choices.below(HEADER_BYTES - header::PGNO),
        3 => page.pointer + choices.below(16),
        4 | 5 => match page.kind {
            Kind::Leaf => {
                let cells = file.cells(page.pgno);
                let cell = cells[choices.below(cells.len())];
                choices.pick(&[cell.slot, cell.at, cell.payload]) + choices.below(8)
            }
            Kind::Branch => {
                at + HEADER_BYTES + choices.below(20 * usize::from(file.u16(at + header::COUNT)))
            }
            Kind::Chunk => at + CHUNK_ITEMS - 16 + choices.below(64),
            Kind::Fixed => at + HEADER_BYTES + choices.below(64),
            Kind::Run => page.pointer + choices.below(28),
        },
        6 => at + choices.below(file.page_bytes),
        _ => choices.below(file.bytes.len()),
    };
    place.min(file.bytes.len() - 1)
}

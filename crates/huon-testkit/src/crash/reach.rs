//! What of an image counts: its metas, and all that whole metas reach.
//!
//! A reader of the format of its own (FORMAT.md), so that images are told apart by what a reader of
//! the file could see of them and not by leftovers in free pages. It follows a pointer only to a
//! page that carries the pointer's pair and its checksum; the bytes of a page that does not are
//! counted, and not read.

use std::collections::HashSet;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

const BLOCK_BYTES: usize = 4096;
const HEADER_BYTES: usize = 32;

/// See the module. It keeps its memory between images.
#[derive(Default)]
pub(super) struct Reach {
    /// By page number: the round in which it was last met, and what it was found to be.
    met: Vec<(u32, Met)>,
    round: u32,
    sum: u64,
    stack: Vec<Ptr>,
    /// Large values that were met, by first page and length.
    runs: HashSet<(u32, u32)>,
    /// The bytes that were reached, if [`Reach::spans`] asks.
    spans: Option<Vec<Range<usize>>>,
}

/// What is known of a page number in an image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Met {
    /// Its bytes were counted, and carry no checksum of a page.
    Counted,
    /// They do, and were not followed yet.
    Whole,
    /// They do, and what they point to was met.
    Followed,
}

#[derive(Clone, Copy)]
struct Ptr {
    pgno: u32,
    birth: u64,
}

/// An image, as one of its metas describes it.
struct File<'i> {
    image: &'i [u8],
    page_bytes: usize,
    seed: u64,
}

impl Reach {
    /// A digest of what counts. `sealed`: a meta that lies in the lock file and counts, too.
    pub(super) fn digest(&mut self, image: &[u8], sealed: Option<&[u8]>) -> u64 {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.met.clear();
            self.round = 1;
        }
        self.sum = 0;
        self.runs.clear();
        for slot in 0..3 {
            let start = (slot * BLOCK_BYTES).min(image.len());
            let range = start..(start + BLOCK_BYTES).min(image.len());
            self.meta(image, &image[range.clone()]);
            self.note_span(range);
        }
        sealed.into_iter().for_each(|block| self.meta(image, block));
        self.sum
    }

    /// The same with a journal, whose every byte counts.
    pub(super) fn digest_of(&mut self, image: &[u8], journal: &[u8], sealed: Option<&[u8]>) -> u64 {
        match (self.digest(image, sealed), journal.is_empty()) {
            (sum, true) => sum,
            (sum, false) => xxh3_64_with_seed(journal, sum),
        }
    }

    /// All ranges of the image that count.
    pub(super) fn spans(&mut self, image: &[u8]) -> Vec<Range<usize>> {
        self.spans = Some(Vec::new());
        self.digest(image, None);
        self.spans.take().unwrap_or_default()
    }

    fn note_span(&mut self, range: Range<usize>) {
        if let Some(spans) = &mut self.spans
            && !range.is_empty()
        {
            spans.push(range);
        }
    }

    /// One more number that counts (the mixing of splitmix64).
    fn add(&mut self, number: u64) {
        let mut z = (self.sum ^ number).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        self.sum = z ^ (z >> 31);
    }

    fn meta(&mut self, image: &[u8], block: &[u8]) {
        self.add(xxh3_64_with_seed(block, 0));
        if block.len() < BLOCK_BYTES || !block.starts_with(b"HUON\x01\0\0\0\0\0\0\0\0\0\0\0") {
            return;
        }
        let seed = xxh3_64_with_seed(&block[24..40], 0);
        if xxh3_64_with_seed(&block[24..], seed) != word(block, 16) {
            return;
        }
        let file = File { image, page_bytes: half(block, 40) as usize, seed };
        self.tree(&block[96..160]);
        self.items(&block[256..], half(block, 192) as usize);
        while let Some(ptr) = self.stack.pop() {
            self.page(&file, ptr);
        }
    }

    /// Follows a tree record.
    fn tree(&mut self, record: &[u8]) {
        self.push(Ptr { pgno: half(record, 0), birth: word(record, 8) });
    }

    /// Follows the chains among free-space items.
    fn items(&mut self, places: &[u8], count: usize) {
        for item in places.chunks_exact(24).take(count) {
            if half(item, 4) == 0 {
                self.push(Ptr { pgno: half(item, 0), birth: word(item, 8) });
            }
        }
    }

    fn push(&mut self, ptr: Ptr) {
        if ptr.pgno != 0 {
            self.stack.push(ptr);
        }
    }

    /// What this image is known to hold at that number, if it was met.
    fn known(&self, pgno: u32) -> Option<Met> {
        let (round, met) = *self.met.get(pgno as usize)?;
        (round == self.round).then_some(met)
    }

    fn know(&mut self, pgno: u32, met: Met) {
        let index = pgno as usize;
        if index >= self.met.len() {
            self.met.resize(index + 1, (0, Met::Counted));
        }
        self.met[index] = (self.round, met);
    }

    /// Counts the bytes of a page, if there are any.
    fn count(&mut self, file: &File<'_>, pgno: u32) -> Met {
        let start = pgno as usize * file.page_bytes;
        let range = start..start + file.page_bytes;
        self.add(u64::from(pgno));
        let Some(page) = file.image.get(range.clone()) else { return Met::Counted };
        let sum = xxh3_64_with_seed(&page[8..], file.seed);
        self.add(sum);
        self.add(word(page, 0));
        let is_whole = sum == word(page, 0) && half(page, 8) == pgno;
        let met = if is_whole { Met::Whole } else { Met::Counted };
        self.know(pgno, met);
        self.note_span(range);
        met
    }

    fn page(&mut self, file: &File<'_>, ptr: Ptr) {
        let met = self.known(ptr.pgno).unwrap_or_else(|| self.count(file, ptr.pgno));
        if met != Met::Whole {
            return;
        }
        let page = &file.image[ptr.pgno as usize * file.page_bytes..][..file.page_bytes];
        if word(page, 16) != ptr.birth {
            return;
        }
        self.know(ptr.pgno, Met::Followed);
        let count = usize::from(u16::from_le_bytes([page[14], page[15]]));
        match page[12] {
            1 => self.branch(page, count),
            2 => self.leaf(file, page, count),
            4 => {
                self.push(Ptr { pgno: half(page, 32), birth: word(page, 36) });
                self.items(&page[48..], count);
            }
            _ => {}
        }
    }

    fn branch(&mut self, page: &[u8], count: usize) {
        let pointers = page.get(HEADER_BYTES + 8 * count..).unwrap_or_default();
        for pointer in pointers.chunks_exact(12).take(count) {
            self.push(Ptr { pgno: half(pointer, 0), birth: word(pointer, 4) });
        }
    }

    fn leaf(&mut self, file: &File<'_>, page: &[u8], count: usize) {
        for slot in page[HEADER_BYTES..].chunks_exact(8).take(count) {
            let offset = usize::from(u16::from_le_bytes([slot[4], slot[5]]));
            let key_bytes = usize::from(u16::from_le_bytes([slot[6], slot[7]]));
            let Some(tag) = page.get(offset..offset + 4) else { continue };
            let payload = page.get(offset + 4 + key_bytes..).unwrap_or_default();
            match half(tag, 0) >> 28 {
                // A table, or a tree of values.
                1 | 4 if payload.len() >= 64 => self.tree(payload),
                2 if payload.len() >= 28 => self.run(file, payload),
                _ => {}
            }
        }
    }

    fn run(&mut self, file: &File<'_>, reference: &[u8]) {
        let pgno = half(reference, 0);
        let start = pgno as usize * file.page_bytes;
        let range = start..start + half(reference, 4) as usize;
        self.add(u64::from(pgno));
        if let Some(value) = file.image.get(range.clone())
            && self.runs.insert((pgno, half(reference, 4)))
        {
            self.add(xxh3_64_with_seed(value, file.seed));
            self.note_span(range);
        }
    }
}

/// Where batches lie in a journal, of this or an earlier lap; one that goes on at the file's start
/// as far as its end.
pub(super) fn batches(journal: &[u8]) -> Vec<Range<usize>> {
    let begin = |block: &usize| journal[*block..].starts_with(b"JRNLHUON");
    let starts = (0..journal.len()).step_by(BLOCK_BYTES).filter(begin);
    starts.map(|at| at..(at + 80 + half(journal, at + 64) as usize).min(journal.len())).collect()
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

//! Memory that is taken for a file made to mislead: a small multiple of the file.

use huon_testkit::figures;
use huon_testkit::hostile::attempt::{Depth, attempt};
use huon_testkit::hostile::crowds;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What any file may cost: the lock file in memory, a transaction's buffers, the test's own files.
const FIXED_BYTES: usize = 16 << 20;
/// What a file of so many bytes may cost besides.
const TIMES: usize = 4;

#[test]
fn crowds_take_no_more_than_their_file() {
    let _alone = crate::alone();
    let mut tried = 0;
    for (name, file) in crowds::each() {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let outcome = attempt(&file, Depth::Quick);
        let taken = MEMORY.peak_usage() - before;
        println!("{name}: {} bytes, {taken} taken, {outcome:?}", file.len());
        assert!(outcome.opened && !outcome.clean, "{name}: {outcome:?}");
        assert!(taken <= FIXED_BYTES + TIMES * file.len(), "{name}: {taken} for {}", file.len());
        tried += 1;
    }
    figures::add("flip", tried);
}

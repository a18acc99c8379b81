//! Records and batches: what is written is read, and no bytes do harm.

use super::record::RECORD_BYTES_MAX;
use super::*;
use crate::page::{META_BYTES, Pgno, Ptr, Txnid};

const UUID: [u8; 16] = [7; 16];
const BASE: BaseName = BaseName { txnid: Txnid(41), checksum: 0xABCD };

/// A page that is none of ours: it is kept plain.
fn page(of: u8) -> Vec<u8> {
    (0..256_usize).map(|at| of.wrapping_mul(31) ^ at as u8).collect()
}

/// The record of two pages, of which one has a predecessor.
fn record(writer: &mut RecordWriter) -> Vec<u8> {
    writer.begin(true).unwrap();
    let before = Ptr { pgno: Pgno(5), birth: Txnid(40) };
    writer.page((Pgno(9), &page(1)), Some((before, &page(2)))).unwrap();
    writer.page((Pgno(10), &page(3)), None).unwrap();
    let (old, new) = (vec![1; META_BYTES], vec![2; META_BYTES]);
    let whole = writer.end(Txnid(42), BASE, (&old, &new)).unwrap();
    whole.expect("two pages fit").to_vec()
}

/// A batch at a place, with so many records.
fn batch(at: Place, records: u32) -> (Vec<u8>, Place) {
    let mut writer = RecordWriter::default();
    let mut bytes = vec![0; BATCH_HEADER_BYTES];
    (0..records).for_each(|_| bytes.extend(record(&mut writer)));
    let head = BatchHead { uuid: UUID, at: at.next, chain: at.chain, txnid: Txnid(42), records };
    let behind = seal_batch(&head, &mut bytes).unwrap();
    (bytes, behind)
}

#[test]
fn a_record_says_what_was_put_into_it() {
    let bytes = record(&mut RecordWriter::default());
    let mut rest = &bytes[..];
    let found = TxnRecord::take(&mut rest).unwrap();
    assert!(rest.is_empty() && bytes.len().is_multiple_of(8));
    assert_eq!((found.txnid, found.base), (Txnid(42), BASE));
    let (pages, image) = found.parts().unwrap();
    let names: Vec<_> = pages.iter().map(|page| (page.pgno.0, page.before.pgno.0)).collect();
    assert_eq!(names, [(9, 5), (10, 0)]);
    let mut out = vec![0; 256];
    crate::page::difference::apply(&page(2), pages[0].difference, &mut out).unwrap();
    assert_eq!(out, page(1));
    let mut out = vec![0; META_BYTES];
    crate::page::difference::apply(&[1; META_BYTES], image, &mut out).unwrap();
    assert_eq!(out, [2; META_BYTES]);
}

#[test]
fn what_is_too_long_or_not_all_has_no_record() {
    let mut writer = RecordWriter::default();
    let image = vec![1; META_BYTES];
    writer.begin(true).unwrap();
    writer.give_up();
    assert_eq!(writer.end(Txnid(1), BASE, (&image, &image)), Ok(None));
    writer.begin(true).unwrap();
    for n in 0..=RECORD_BYTES_MAX / 65536 {
        let page = vec![n as u8 | 1; 65536];
        writer.page((Pgno(9), &page), None).unwrap();
    }
    assert_eq!(writer.end(Txnid(1), BASE, (&image, &image)), Ok(None));
    assert!(writer.bytes() <= RECORD_BYTES_MAX + 65536 + META_BYTES + 64, "it stops growing");
    assert!(!record(&mut writer).is_empty(), "the next one is not concerned");
}

#[test]
fn batches_are_chained() {
    let start = Place { next: 12, anchor: 3, chain: 99 };
    let (first, behind) = batch(start, 3);
    assert!(first.len().is_multiple_of(BLOCK_BYTES));
    assert_eq!((behind.next, behind.anchor), (12 + blocks_of(first.len()), 12));
    let length = Batch::bytes_at(&first[..BLOCK_BYTES]).unwrap();
    let found = Batch::read(&first[..length]).unwrap();
    assert_eq!((found.head.at, found.head.chain, found.behind()), (12, 99, behind));
    assert_eq!(found.records().filter(Option::is_some).count(), 3);
    // An empty one, as a journal begins.
    let (second, after) = batch(behind, 0);
    let found = Batch::read(&second[..BATCH_HEADER_BYTES]).unwrap();
    assert_eq!((found.head.chain, found.records().count()), (behind.chain, 0));
    assert_eq!(found.behind(), after);
}

#[test]
fn every_flipped_bit_of_a_batch_is_seen() {
    let (bytes, _) = batch(Place { next: 12, anchor: 3, chain: 99 }, 1);
    let length = Batch::bytes_at(&bytes).unwrap();
    for bit in 0..length * 8 {
        let mut bad = bytes.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let length = Batch::bytes_at(&bad[..BLOCK_BYTES]).ok();
        let found = length.and_then(|length| Batch::read(bad.get(..length)?).ok());
        assert_eq!(found, None, "bit {bit}");
    }
    crate::figure("flip", (length * 8) as u64);
}

#[test]
fn hostile_records_are_refused_or_say_something() {
    let good = record(&mut RecordWriter::default());
    for at in 0..good.len() {
        for value in [0, 1, 7, 0x80, 0xFF] {
            let mut bad = good.clone();
            bad[at] = value;
            let found = TxnRecord::take(&mut &bad[..]);
            let Some((pages, image)) = found.and_then(|record| record.parts()) else { continue };
            assert!(pages.len() < good.len());
            let mut out = vec![0; 256];
            for difference in pages.iter().map(|page| page.difference).chain([image]) {
                let _ = crate::page::difference::apply(&page(2), difference, &mut out);
            }
        }
        assert_eq!(TxnRecord::take(&mut &good[..at]), None, "cut to {at}");
    }
}

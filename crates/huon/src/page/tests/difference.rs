//! Differences between pages: what is written leads back to the same bytes, and no bytes do harm.

use super::*;
use crate::page::difference::{apply, write};

/// Writes the difference, and sees that it leads from `old` to `new`; its bytes.
fn there_and_back(old: Option<&[u8]>, new: &[u8]) -> Vec<u8> {
    let mut out = b"before".to_vec();
    write(old, new, &mut out).unwrap();
    assert_eq!(&out[..6], b"before");
    let difference = out.split_off(6);
    let mut made = vec![0xDD; new.len()];
    apply(old.unwrap_or(&[]), &difference, &mut made).unwrap();
    assert_eq!(made, new);
    difference
}

fn is_plain(difference: &[u8]) -> bool {
    difference[0] == 0
}

fn packed(page: &[u8]) -> Vec<u8> {
    let mut packed = page.to_vec();
    pack_for_writing(&mut packed, &mut page.to_vec());
    packed
}

/// A leaf, edited at random and packed again and again.
fn leaves<O: KeyOrder>(case: &Case<O>, page_bytes: usize, rounds: usize) -> u64 {
    let (order, mut rng) = (case.order, Rng(page_bytes as u64));
    let mut page = vec![0; page_bytes];
    LeafMut::init(&mut page, ptr(7));
    for round in 0..rounds {
        let old = page.clone();
        for _ in 0..1 + rng.below(4) {
            let key = rng.key(key_bytes_max(page_bytes));
            let place = leaf(&page).search(order, &key).unwrap();
            let mut edit = LeafMut::view(&mut page).unwrap();
            let bytes = rng.below(40);
            let payload = rng.bytes(bytes);
            let kind = PayloadKind::Inline;
            match place {
                Ok(at) if rng.chance(2) => edit.remove(at).unwrap(),
                Ok(at) => drop(edit.replace(order, at, kind, &payload).unwrap()),
                Err(at) if edit.insert(order, at, &key, kind, &payload).unwrap() => {}
                Err(at) => edit.remove_range(at / 2..at.div_ceil(2)).unwrap(),
            }
        }
        page = packed(&page);
        header::set_ptr(&mut page, ptr(8 + round as u32));
        assert!(!is_plain(&there_and_back(Some(&old), &page)));
        assert!(!is_plain(&there_and_back(None, &page)));
    }
    rounds as u64
}

fn branches<O: KeyOrder>(case: &Case<O>, page_bytes: usize, rounds: usize) -> u64 {
    let (order, mut rng) = (case.order, Rng(page_bytes as u64));
    let mut page = vec![0; page_bytes];
    BranchMut::init(&mut page, ptr(7), 1, ptr(1));
    for round in 0..rounds {
        let old = page.clone();
        let key = rng.key(key_bytes_max(page_bytes));
        let at = branch(&page).find(order, &key).unwrap();
        let is_new = at == 0 || branch(&page).separator(at).unwrap().whole(order).unwrap() != key;
        let mut edit = BranchMut::view(&mut page).unwrap();
        let fits = is_new && edit.insert(order, at + 1, &key, ptr(round as u32 + 9)).unwrap();
        edit.set_child(at, ptr(round as u32 + 3));
        if !fits && edit.as_branch().count() > 1 {
            edit.remove(at).unwrap();
        }
        page = packed(&page);
        assert!(!is_plain(&there_and_back(Some(&old), &page)));
        assert!(!is_plain(&there_and_back(None, &page)));
    }
    rounds as u64
}

#[test]
fn edited_pages_come_back_from_what_they_were_copied_from() {
    let mut done = 0;
    for (page_bytes, rounds) in [(256, 3000), (4096, 1000), (65536, 60)] {
        done += each_order!(leaves(page_bytes, sized(rounds, rounds / 20)));
        done += each_order!(branches(page_bytes, sized(rounds, rounds / 20)));
    }
    figure("model", "differences of edited pages", done);
}

/// A leaf of records in order.
fn filled_leaf(records: u32) -> Vec<u8> {
    let mut page = vec![0; 4096];
    let mut edit = LeafMut::init(&mut page, ptr(7));
    for n in 0..records {
        let key = (2 * n).to_be_bytes();
        assert!(edit.insert(BytesOrder, n as usize, &key, PayloadKind::Inline, &[7; 20]).unwrap());
    }
    packed(&page)
}

#[test]
fn a_record_more_costs_its_bytes_and_a_header() {
    let old = filled_leaf(90);
    let mut new = old.clone();
    let key = 61_u32.to_be_bytes();
    let mut edit = LeafMut::view(&mut new).unwrap();
    assert!(edit.insert(BytesOrder, 31, &key, PayloadKind::Inline, &[8; 20]).unwrap());
    let new = packed(&new);
    // Form, header, two runs, and the record: head, length, tag, key, value.
    assert_eq!(there_and_back(Some(&old), &new).len(), 1 + 32 + 2 * 6 + (4 + 2 + 4 + 4 + 20));
    // And one less, two runs.
    assert_eq!(there_and_back(Some(&new), &old).len(), 1 + 32 + 2 * 6);
    // The same page under another name.
    let mut renamed = old.clone();
    header::set_ptr(&mut renamed, ptr(99));
    assert_eq!(there_and_back(Some(&old), &renamed).len(), 1 + 32 + 6);
}

#[test]
fn fixed_leaves_chunks_and_metas_come_back() {
    let mut page = vec![0; 4096];
    FixedMut::init(&mut page, ptr(9), 8);
    for n in 0..300_u64 {
        let old = page.clone();
        let key = (n * 7919 % 1009).to_be_bytes();
        let mut edit = FixedMut::view(&mut page, 8).unwrap();
        let view = FixedLeaf::view(&old, header::count(&old), 8).unwrap();
        match view.search(BytesOrder, &key) {
            Err(at) => assert!(edit.insert(at, &key)),
            Ok(at) => edit.remove_range(at..at + 1),
        }
        let difference = there_and_back(Some(&old), &page);
        assert!(!is_plain(&difference) && difference.len() <= 1 + 32 + 2 * 6 + 8);
    }
    let items = |pages: std::ops::Range<u32>| -> Vec<Item> {
        pages.map(|page| Item::run(Pgno(page), 1, Txnid(3), Txnid(9), true)).collect()
    };
    let (mut old, mut new) = (vec![0; 4096], vec![0; 4096]);
    let mut all = items(100..160);
    write_chunk(&mut old, ptr(9), ptr(3), &all);
    all.drain(10..20);
    all.splice(30..30, items(900..909));
    write_chunk(&mut new, ptr(10), ptr(4), &all);
    let difference = there_and_back(Some(&old), &new);
    assert_eq!((difference[0], difference.len()), (4, 1 + 48 + 3 * 6 + 9 * 24));
    assert!(!is_plain(&there_and_back(None, &new)));
    let meta =
        |items: &[Item]| Meta { used: 1000, items: items.to_vec(), ..super::records::meta() };
    let (old, new) = (meta(&all[..40]).encode(), meta(&all[3..44]).encode());
    let difference = there_and_back(Some(&old), &new);
    assert_eq!(difference.len(), 1 + 256 + 6 + 4 * 24);
    assert!(there_and_back(None, &new).len() < 1 + 256 + 6 * 5 + 41 * 24);
}

#[test]
fn what_is_no_page_that_is_known_comes_back_plain() {
    let mut rng = Rng(3);
    for bytes in [vec![0; 256], rng.bytes(256), rng.bytes(4096)] {
        let difference = there_and_back(Some(&filled_leaf(9)), &bytes);
        assert!(is_plain(&difference) && difference.len() <= 5 + bytes.len());
    }
    // Not packed, and bytes where none should be.
    let mut page = filled_leaf(90);
    LeafMut::view(&mut page).unwrap().remove_range(3..5).unwrap();
    assert!(is_plain(&there_and_back(None, &page)));
    let mut page = filled_leaf(20);
    page[1000] = 1;
    assert!(is_plain(&there_and_back(None, &page)));
    assert_eq!(there_and_back(None, &vec![0; 512]), [0; 5]);
}

#[test]
fn hostile_differences_fail_or_make_some_page() {
    let (old, mut rng) = (filled_leaf(80), Rng(11));
    let mut new = old.clone();
    LeafMut::view(&mut new).unwrap().remove(40).unwrap();
    let mut edit = LeafMut::view(&mut new).unwrap();
    assert!(edit.insert(BytesOrder, 9, &[0, 0, 0, 17], PayloadKind::Inline, &[1; 9]).unwrap());
    let good = there_and_back(Some(&old), &packed(&new));
    let (mut made, mut failed) = (vec![0; 4096], 0);
    for bytes in 0..good.len() {
        assert!(apply(&old, &good[..bytes], &mut made).is_err(), "cut to {bytes}");
    }
    assert!(apply(&old, &[&good[..], &[0]].concat(), &mut made).is_err());
    for _ in 0..sized(200_000, 10_000) {
        let mut bad = good.clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bad.len());
            bad[at] = if rng.chance(2) { rng.next() as u8 } else { [0, 1, 0xFF][rng.below(3)] };
        }
        let mut other = old.clone();
        if rng.chance(3) {
            let at = rng.below(other.len());
            other[at] = rng.next() as u8;
        }
        let mut out = vec![0; [256, 4096, 8192][rng.below(3)]];
        failed += u64::from(apply(&other, &bad, &mut out).is_err());
    }
    assert!(failed > 0);
    figure("fuzz", "hostile differences of pages", sized(200_000, 10_000) as u64);
}

/// The old page comes to its end first, since elements that change are taken for ones that go.
#[test]
fn pages_without_anything_in_common_are_written_anew() {
    let image = |first: u8| {
        let mut block = vec![0; META_BYTES];
        block[..4].copy_from_slice(b"HUON");
        block[192..196].copy_from_slice(&160_u32.to_le_bytes());
        block[256..].fill(first);
        block
    };
    for bytes in [24 * 40, 24 * 150, 24 * 160] {
        let mut new = image(2);
        new[4096 - bytes..].fill(3);
        assert!(!is_plain(&there_and_back(Some(&image(1)), &new)));
        assert!(!is_plain(&there_and_back(Some(&image(3)), &new)));
    }
}

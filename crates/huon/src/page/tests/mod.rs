//! Tests of the page layer: exhaustive at 256 bytes, random against plain vectors at every page
//! size.

mod branch;
mod difference;
mod divide;
mod fixed;
mod hostile;
mod leaf;
mod orders;
mod records;
mod value_sets;

use super::branch_edit::{entries, write_branch};
use super::divide::{Side, SplitPoint, split_branch};
use super::leaf::SLOT_BYTES;
use super::leaf_edit::pack_cells;
use super::limits::RUN_REF_BYTES;
use super::run::overflow_pages;
use super::tree_record::TREE_BYTES;
use super::*;
use crate::testing::sized;
use std::cmp::Ordering;

/// Adds to a figure of the test run's summary, and prints it.
fn figure(kind: &str, what: &str, count: u64) {
    println!("{count} {what}");
    crate::figure(kind, count);
}

/// A small generator (splitmix64), so that a failing case can be repeated from its seed.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }

    /// A key that often shares leading and trailing bytes with others, and is sometimes very long.
    fn key(&mut self, max: usize) -> Vec<u8> {
        let bytes = match self.below(12) {
            0 => max - self.below(max.min(8)),
            1 => self.below(max + 1),
            2..=4 => self.below(4),
            _ => self.below(24),
        };
        let bytes = bytes.min(max);
        let alphabet: &[u8] = if self.chance(3) { &[0, 1, 0xFE, 0xFF] } else { b"ab" };
        let mut key: Vec<u8> = (0..bytes).map(|_| alphabet[self.below(alphabet.len())]).collect();
        let same = if self.chance(2) { bytes - self.below(bytes.min(12) + 1) } else { 0 };
        key[..same].fill(b'k');
        if self.chance(2) {
            key.reverse();
        }
        key
    }
}

/// An order of the engine beside a plain statement of the same order.
struct Case<O> {
    order: O,
    plain: fn(&[u8], &[u8]) -> Ordering,
}

impl<O: KeyOrder> Case<O> {
    fn sort(&self, keys: &mut Vec<Vec<u8>>) {
        keys.sort_by(|a, b| (self.plain)(a, b));
        keys.dedup();
    }

    fn place(&self, keys: &[Vec<u8>], key: &[u8]) -> Result<usize, usize> {
        keys.binary_search_by(|probe| (self.plain)(probe, key))
    }
}

fn reversed(a: &[u8], b: &[u8]) -> Ordering {
    let turned = |key: &[u8]| key.iter().rev().copied().collect::<Vec<u8>>();
    turned(a).cmp(&turned(b))
}

/// An order that no prefix and no head could follow.
fn odd(a: &[u8], b: &[u8]) -> Ordering {
    let sum = |key: &[u8]| key.iter().map(|byte| usize::from(*byte)).sum::<usize>() % 7;
    sum(a).cmp(&sum(b)).then(b.cmp(a))
}

/// Runs a generic function for every order.
macro_rules! each_order {
    ($run:ident ( $($arg:expr),* )) => {{
        let plain: fn(&[u8], &[u8]) -> std::cmp::Ordering = |a, b| a.cmp(b);
        let odd = crate::page::tests::odd;
        let reversed = crate::page::tests::reversed;
        $run(&Case { order: BytesOrder, plain }, $($arg),*)
            + $run(&Case { order: ReversedOrder, plain: reversed }, $($arg),*)
            + $run(&Case { order: CustomOrder(&odd), plain: odd }, $($arg),*)
            + $run(&Case { order: AnyOrder::Reversed(ReversedOrder), plain: reversed }, $($arg),*)
    }};
}
use each_order;

/// All keys of at most `bytes_max` bytes over an alphabet.
fn all_keys(alphabet: &[u8], bytes_max: usize) -> Vec<Vec<u8>> {
    let (mut out, mut last) = (vec![Vec::new()], vec![Vec::new()]);
    for _ in 0..bytes_max {
        let longer = |key: &Vec<u8>| {
            alphabet.iter().map(move |byte| [&key[..], &[*byte]].concat()).collect::<Vec<_>>()
        };
        last = last.iter().flat_map(longer).collect();
        out.extend(last.iter().cloned());
    }
    out
}

/// All orders in which `n` things can come.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut out = Vec::new();
    for shorter in permutations(n - 1) {
        for at in 0..n {
            let mut longer = shorter.clone();
            longer.insert(at, n - 1);
            out.push(longer);
        }
    }
    out
}

fn ptr(n: u32) -> Ptr {
    Ptr { pgno: Pgno(n), birth: Txnid(u64::from(n) * 3 + 1) }
}

fn leaf(page: &[u8]) -> SlottedLeaf<'_> {
    SlottedLeaf::view(page, header::count(page)).unwrap()
}

fn branch(page: &[u8]) -> Branch<'_> {
    Branch::view(page, header::count(page)).unwrap()
}

/// Writes the page into `out`, packed and with the best prefix. The checksum is not set.
fn pack<O: KeyOrder>(order: O, page: &[u8], out: &mut [u8]) -> Result<(), Reason> {
    assert!(page.len() == out.len(), "pack: pages of one size");
    let count = header::count(page);
    let edited = header::is_edited(page);
    match header::kind(page) {
        Some(Kind::Leaf) if edited => {
            out[..HEADER_BYTES].copy_from_slice(&page[..HEADER_BYTES]);
            pack_cells(order, out, &[SlottedLeaf::view(page, count)?])
        }
        Some(Kind::Branch) if edited => {
            out[..HEADER_BYTES].copy_from_slice(&page[..HEADER_BYTES]);
            let entries = entries(Branch::view(page, count)?)?;
            if write_branch(order, out, &entries)? { Ok(()) } else { Err(Reason::Cell) }
        }
        _ => {
            out.copy_from_slice(page);
            Ok(())
        }
    }
}

/// One cell after another, in the order of the slots, up to the end of the page.
fn assert_in_key_order(page: &[u8]) {
    let (mut at, places): (usize, Vec<(usize, usize)>) = match header::kind(page) {
        Some(Kind::Leaf) => {
            let leaf = leaf(page);
            let place = |i| (leaf.offset(i), leaf.cell(i).unwrap().bytes());
            (page.len(), (0..leaf.count()).map(place).collect())
        }
        _ => {
            let branch = branch(page);
            let place = |i| branch.rest_place(i).unwrap();
            (page.len() - branch.prefix_bytes(), (1..branch.count()).map(place).collect())
        }
    };
    for (offset, bytes) in places.into_iter().rev() {
        // An empty rest of a separator lies nowhere.
        assert_eq!(offset, if bytes == 0 { 0 } else { at - bytes });
        at -= bytes;
    }
    assert_eq!(at, page.len() - header::heap_bytes(page));
}

/// Every packed form of a page must say the same, and be packed.
fn packed_forms<O: KeyOrder>(order: O, page: &[u8]) -> [Vec<u8>; 2] {
    let mut best = vec![0xEE; page.len()];
    pack(order, page, &mut best).unwrap();
    let (mut kept, mut scratch) = (page.to_vec(), vec![0xDD; page.len()]);
    pack_for_writing(&mut kept, &mut scratch);
    for form in [&best, &kept] {
        assert!(!header::is_edited(form) && header::dead_bytes(form) == 0);
        assert_eq!(header::ptr(form), header::ptr(page));
        let slot = if header::kind(form) == Some(Kind::Leaf) { 8 } else { 20 };
        let gap = HEADER_BYTES + slot * header::count(form)..page.len() - header::heap_bytes(form);
        assert!(form[gap].iter().all(|byte| *byte == 0), "old bytes in a packed page");
        assert_in_key_order(form);
        let mut again = vec![0; page.len()];
        pack(order, form, &mut again).unwrap();
        assert_eq!(&again, form);
    }
    [best, kept]
}

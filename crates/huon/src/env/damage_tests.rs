//! Trees that are no trees: what changing and clearing them comes to.

use super::hostile_tests::{forge_metas, forge_pages, set, set_half};
use super::tests::options;
use crate::page::{HEADER_BYTES, Item, Pgno, Ptr, Txnid, header, write_chunk};
use crate::sim::SimDisk;
use crate::{Bytes, Env, Error, TableDef, WriteTxn};

const TREE: TableDef<Bytes, Bytes> = TableDef::new("tree");
const OTHER: TableDef<Bytes, Bytes> = TableDef::new("other");
const BRANCH: u8 = 1;
const LEAF: u8 = 2;
/// Where a page says its level.
const LEVEL: usize = 13;

/// A file whose table `tree` has these keys, put one by one, and pages of 256 bytes.
fn file_of(keys: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    let mut txn = env.write().unwrap();
    txn.create_table(&OTHER).unwrap();
    let tree = txn.create_table(&TREE).unwrap();
    for key in keys {
        tree.put(&mut txn, &key, b"value").unwrap();
    }
    txn.commit().unwrap();
    drop(env);
    let mut image = disk.image();
    // Its metas become two-flush ones, which stand without a look at what they lead to.
    forge_metas(&mut image, |_| ());
    image
}

fn numbered(count: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|n| n.to_be_bytes().to_vec())
}

fn depth(env: &Env) -> u8 {
    let stat = env.stat().unwrap();
    stat.tables.iter().find(|table| table.name == b"tree").unwrap().depth
}

fn open(image: &[u8]) -> Env {
    options().open_simulated(&SimDisk::from_image(image, 8 << 20).unwrap()).unwrap()
}

/// The children that a branch names.
fn children(page: &[u8]) -> Vec<Ptr> {
    let count = header::count(page);
    let at = |n| HEADER_BYTES + 8 * count + 12 * n;
    (0..count).map(|n| Ptr::decode(page[at(n)..at(n) + 12].try_into().unwrap())).collect()
}

fn set_child(page: &mut [u8], n: usize, ptr: Ptr) {
    let at = HEADER_BYTES + 8 * header::count(page) + 12 * n;
    set_half(page, at, ptr.pgno.0);
    set(page, at + 4, ptr.birth.0);
}

/// Applies `change` to the branches of that level, and recomputes the checksums.
fn forge_branches(image: &mut [u8], level: u8, mut change: impl FnMut(&mut [u8])) {
    forge_pages(image, BRANCH, |page| {
        if header::level(page) == level {
            change(page);
        }
    });
}

fn clear(txn: &mut WriteTxn) -> Result<(), Error> {
    let tree = txn.create_table(&TREE)?;
    tree.clear(txn)
}

/// The damaged table is refused, and all else goes on.
fn others_go_on(env: &Env) {
    for round in 0..40u8 {
        let mut txn = env.write().unwrap();
        let other = txn.create_table(&OTHER).unwrap();
        for key in 0..40 {
            other.put(&mut txn, &[key], &[round; 30]).unwrap();
        }
        txn.commit().unwrap();
    }
}

/// F1: a page that two parents name is not freed twice.
#[test]
fn a_shared_leaf_is_never_freed_twice() {
    let model = file_of(numbered(300));
    assert_eq!(depth(&open(&model)), 3);
    type Share = fn(&mut Option<Ptr>, &mut [u8]);
    let shared: [Share; 2] = [
        // Each parent's first child is the last one of another.
        |last, page| {
            if let Some(last) = last.take() {
                set_child(page, 0, last);
            }
            *last = children(page).last().copied();
        },
        // One parent, twice.
        |_, page| {
            let first = children(page)[0];
            set_child(page, 1, first);
        },
    ];
    for (which, share) in shared.into_iter().enumerate() {
        let mut image = model.clone();
        let mut last = None;
        forge_branches(&mut image, 1, |page| share(&mut last, page));
        let env = open(&image);
        let mut txn = env.write().unwrap();
        let cleared = clear(&mut txn).and_then(|()| txn.commit());
        assert!(matches!(cleared, Err(Error::Corrupt(_))), "{cleared:?}");
        others_go_on(&env);
        // Touching the leaf on both ways retires it twice as well.
        let mut txn = env.write().unwrap();
        let tree = txn.create_table(&TREE).unwrap();
        let put = numbered(300).try_for_each(|key| tree.put(&mut txn, &key, b"other").map(drop));
        let put = put.and_then(|()| txn.commit());
        assert!(matches!(put, Err(Error::Corrupt(_))), "{which}: {put:?}");
        others_go_on(&env);
    }
}

/// A few branches that name each other's children many times lead to more paths than any walk can
/// follow.
#[test]
fn clearing_does_not_follow_a_shared_branch_twice() {
    let mut image = file_of(numbered(4000));
    let levels = depth(&open(&image)) - 1;
    assert!(levels >= 3, "{levels}");
    for level in 2..=levels {
        forge_branches(&mut image, level, |page| {
            let first = children(page)[0];
            (1..header::count(page)).for_each(|n| set_child(page, n, first));
        });
    }
    let env = open(&image);
    let mut txn = env.write().unwrap();
    let cleared = clear(&mut txn);
    assert!(
        cleared.as_ref().is_err_and(|e| e.to_string().contains("referenced twice")),
        "{cleared:?}"
    );
    drop(txn);
    others_go_on(&env);
}

/// A branch whose last child holds keys that belong to its first: an insert above all keys ends in
/// that leaf, where no split makes room for it, since what is split off is linked elsewhere.
#[test]
fn an_insert_that_finds_no_room_gives_up() {
    let long = |high: u8, low: u8| [&[high, low][..], &[7; 40]].concat();
    let keys = (0..8).map(|n| long(1, n)).chain((100..108).map(|n| long(2, n)));
    let mut image = file_of(keys);
    assert_eq!(depth(&open(&image)), 2);
    forge_branches(&mut image, 1, |page| {
        let all = children(page);
        set_child(page, 0, all[all.len() - 1]);
        set_child(page, all.len() - 1, all[0]);
    });
    let env = open(&image);
    let mut txn = env.write().unwrap();
    let tree = txn.create_table(&TREE).unwrap();
    let put = tree.put(&mut txn, &long(2, 255), &[1; 50]);
    assert!(matches!(put, Err(Error::Corrupt(_))), "{put:?}");
    drop(txn);
    let splits = env.info().unwrap().io.leaf_splits;
    assert!(splits > 1 && splits <= 16, "{splits} splits");
    others_go_on(&env);
}

/// F1: a chain of the free space names a page that the list itself has given out. The pages that a
/// large value would overwrite are not: the transaction has them in memory.
#[test]
fn a_page_of_the_transaction_is_not_given_to_a_large_value() {
    let mut image = file_of(numbered(9));
    let used = u32::from_le_bytes(image[88..92].try_into().unwrap())
        .max(u32::from_le_bytes(image[4096 + 88..4096 + 92].try_into().unwrap()));
    let txnid = u64::from_le_bytes(image[48..56].try_into().unwrap());
    image.resize((used as usize + 20) * 256, 0);
    let chunk = Ptr { pgno: Pgno(used + 19), birth: Txnid(txnid) };
    let page = &mut image[(used as usize + 19) * 256..];
    write_chunk(page, chunk, Ptr::NONE, &[Item::free(Pgno(used), 8)]);
    forge_pages(&mut image, 4, |_| ());
    forge_metas(&mut image, |meta| {
        set_half(meta, 88, used + 20);
        set_half(meta, 192, 2);
        meta[256..304].fill(0);
        meta[256..280].copy_from_slice(&Item::free(Pgno(used), 1).encode());
        meta[280..304].copy_from_slice(&Item::chain(chunk, Txnid(0)).encode());
    });
    let env = open(&image);
    let mut txn = env.write().unwrap();
    let other = txn.create_table(&OTHER).unwrap();
    other.put(&mut txn, b"key", b"in the page that is free").unwrap();
    let large = other.put(&mut txn, b"large", &[7; 5 * 256]);
    assert!(matches!(large, Err(Error::Corrupt(_))), "{large:?}");
}

/// Records of trees of values that say there are more than a number holds, together.
#[test]
fn sums_of_false_counts_are_errors() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options().open_simulated(&disk).unwrap();
    let def = crate::MultiDef::<Bytes, Bytes>::new("tree");
    let mut txn = env.write().unwrap();
    let tree = txn.create_table(&def).unwrap();
    for key in [b"a", b"b"] {
        for value in numbered(300) {
            tree.put(&mut txn, key, &value).unwrap();
        }
    }
    txn.commit().unwrap();
    drop(env);
    let mut image = disk.image();
    let (mut is, mut found) = ([0; 16], 0);
    is[..8].copy_from_slice(&300u64.to_le_bytes());
    forge_pages(&mut image, 2, |page| {
        for at in 0..page.len() - 16 {
            if page[at..at + 16] == is {
                set(page, at, u64::MAX);
                found += 1;
            }
        }
    });
    forge_metas(&mut image, |_| ());
    assert_eq!(found, 2, "entries, and a sequence of 0");
    let env = open(&image);
    assert!(!env.check().unwrap().is_clean());
    let dir = tempfile::tempdir().unwrap();
    let compact = env.copy_to(dir.path().join("copy"), crate::CopyOptions::new().compact(true));
    drop(compact);
    let mut txn = env.write().unwrap();
    let tree = txn.create_table(&def).unwrap();
    let removed = tree.remove_range(&mut txn, ..);
    assert!(matches!(removed, Err(Error::Corrupt(_))), "{removed:?}");
}

/// Readers get all that lies before a damaged leaf, and a cursor stays where it was.
#[test]
fn what_lies_before_a_damaged_leaf_is_read() {
    let mut image = file_of(numbered(300));
    let inside = 150_u32.to_be_bytes();
    forge_pages(&mut image, LEAF, |page| {
        if page.windows(4).any(|bytes| bytes == inside) {
            page[LEVEL] = 9;
        }
    });
    let env = open(&image);
    let txn = env.read().unwrap();
    let tree = txn.open_table(&TREE).unwrap().unwrap();
    for forward in [true, false] {
        let range = tree.iter(&txn).unwrap();
        let before: Vec<_> = if forward {
            range.map_while(Result::ok).collect()
        } else {
            range.rev().map_while(Result::ok).collect()
        };
        let mut cursor = tree.cursor();
        if !forward {
            cursor.to_end();
        }
        let mut step = || {
            let found = if forward { cursor.next(&txn) } else { cursor.prev(&txn) };
            (found, cursor.position().map(<[u8]>::to_vec))
        };
        let last = before.last().expect("there are leaves before it").0;
        assert!(if forward { last < &inside[..] } else { last > &inside[..] });
        for record in &before {
            assert_eq!(step().0.unwrap().as_ref(), Some(record));
        }
        for _ in 0..3 {
            let (found, position) = step();
            assert!(found.unwrap_err().is_damage());
            assert_eq!(position.as_deref(), Some(last));
        }
    }
    assert_eq!(tree.first(&txn).unwrap().unwrap().0, 0_u32.to_be_bytes());
    assert_eq!(tree.last(&txn).unwrap().unwrap().0, 299_u32.to_be_bytes());
    assert!(tree.at_or_above(&txn, &inside).unwrap_err().is_damage());
    assert!(tree.at_or_below(&txn, &inside).unwrap_err().is_damage());
}

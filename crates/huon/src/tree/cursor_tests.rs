//! Pages that a span asks for before it gets there, and those that a path looks at on its way.

use std::ops::Bound;

use crate::page::{Ptr, Tree};
use crate::sim::SimDisk;
use crate::store::source::PageSource;
use crate::table::cursor::{Cursor, Shape};
use crate::tree::cursor::{Cells, LeafSpan};
use crate::tree::pair_path::PairPath;
use crate::tree::path::Path;
use crate::tree::view::TreeView;
use crate::tree::watched::Watched;
use crate::txn::read::ReadTxn;
use crate::txn::snapshot::Snapshot;
use crate::{Bytes, Env, MultiDef, Order, Range, ReadAhead, Table, TableDef, U64, Unit};

/// The leaves of a whole walk, each with whether it was asked for before it was entered.
fn walk(source: &Snapshot, tree: &Tree, forward: bool) -> Vec<(Ptr, bool)> {
    let watched = Watched::new(source);
    let open = Bound::Unbounded;
    let mut span = LeafSpan::new(TreeView::unordered(&watched, tree), open, open).unwrap();
    let mut entered = Vec::new();
    loop {
        let before = watched.ahead.borrow().clone();
        let mut leaf = Cells::NONE;
        if forward { span.next(&mut leaf) } else { span.next_back(&mut leaf) }.unwrap();
        if leaf.is_empty() {
            return entered;
        }
        entered.push((leaf.ptr(), before.contains(&leaf.ptr())));
    }
}

/// A table of many leaves, of which a walk has to wait for some.
fn env_and_tree(options: &crate::Options) -> (Env, Table<U64, Bytes>, Tree) {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = options.open_simulated(&disk).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&TableDef::<U64, Bytes>::new("t")).unwrap();
    (0..1000).try_for_each(|key| t.put(&mut txn, key, &[1; 40]).map(drop)).unwrap();
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    let number = txn.core().names.number(t.id).unwrap();
    let tree = txn.tree(number).unwrap().expect("the table is there");
    assert!(tree.depth > 2, "branches over branches");
    drop(txn);
    (env, t, tree)
}

#[test]
fn a_leaf_is_asked_for_while_the_one_before_it_is_read() {
    let (env, _, tree) = env_and_tree(Env::options().page_bytes(256));
    let txn = env.read().unwrap();
    let up = walk(&txn.snapshot, &tree, true);
    let down = walk(&txn.snapshot, &tree, false);
    assert!(up.iter().map(|leaf| leaf.0).eq(down.iter().rev().map(|leaf| leaf.0)));
    // Only the first leaf of a branch is read without a prefetch: the branch before it does not
    // know it.
    let branches = branches_over_leaves(&txn.snapshot, tree.root, tree.depth - 1);
    for leaves in [up, down] {
        assert!(leaves.len() > 2 * branches);
        assert_eq!(leaves.iter().filter(|(_, asked)| !asked).count(), branches);
    }
}

fn branches_over_leaves(source: &Snapshot, ptr: Ptr, level: u8) -> usize {
    let branch = source.branch(ptr, level).unwrap();
    match level {
        1 => 1,
        _ => (0..branch.count())
            .map(|i| branches_over_leaves(source, branch.child(i), level - 1))
            .sum(),
    }
}

/// Bytes that `work` asked the disk for, in pages of 256 bytes, while pages have to be waited for.
fn pages_asked(env: &Env, slow: bool, mut work: impl FnMut()) -> u64 {
    let requests = || env.info().unwrap().io.requested_bytes / 256;
    let before = requests();
    env.core().unwrap().store.disk().unwrap().set_slow(slow);
    work();
    requests() - before
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no getrusage")]
fn a_walk_asks_the_disk_for_each_leaf_once() {
    let (env, t, tree) = env_and_tree(Env::options().page_bytes(256).read_ahead(ReadAhead::Never));
    let txn = env.read().unwrap();
    let branches = branches_over_leaves(&txn.snapshot, tree.root, tree.depth - 1) as u64;
    let leaves = walk(&txn.snapshot, &tree, true).len() as u64;
    let slow = || env.core().unwrap().store.disk().unwrap().set_slow(true);
    // Of the first branch, the leaves that the walk was in when it made its first turn; of others,
    // the first leaf.
    let expected = leaves - branches - 1;
    let up = || t.iter(&txn).unwrap().for_each(|_| slow());
    assert_eq!(pages_asked(&env, true, up), expected);
    let down = || t.iter(&txn).unwrap().rev().for_each(|_| slow());
    assert_eq!(pages_asked(&env, true, down), expected);
    let detached = || {
        let mut scan = t.cursor();
        while scan.next(&txn).unwrap().is_some() {
            slow();
        }
    };
    assert_eq!(pages_asked(&env, true, detached), expected);
    let some = pages_asked(&env, true, || assert_eq!(t.iter(&txn).unwrap().take(10).count(), 10));
    assert!((1..20).contains(&some), "a short walk asks for little: {some} of {leaves}");
    let one = || assert!(t.get(&txn, 500).unwrap().is_some());
    assert_eq!(pages_asked(&env, true, one), 0, "a lookup reads only what it needs");
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no getrusage")]
fn many_keys_ask_the_disk_together() {
    let (env, t, tree) = env_and_tree(Env::options().page_bytes(256).read_ahead(ReadAhead::Never));
    let txn = env.read().unwrap();
    let keys: Vec<u64> = (0..16).map(|key| key * 60).collect();
    let many = || t.get_many(&txn, &keys, |_, value| assert!(value.is_some())).unwrap();
    let levels = u64::from(tree.depth) - 1;
    assert_eq!(pages_asked(&env, true, many), levels * 16);
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no getrusage")]
fn a_large_value_is_asked_for_whole() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let options = &mut Env::options();
    let env = options.page_bytes(256).read_ahead(ReadAhead::Never).open_simulated(&disk).unwrap();
    let t = TableDef::<U64, Bytes>::new("t");
    let t = env.update(|txn| {
        let t = txn.create_table(&t)?;
        t.put(txn, 1, &[7; 10_000])?;
        Ok::<_, crate::Error>(t)
    });
    let (t, txn) = (t.unwrap(), env.read().unwrap());
    let get = || assert_eq!(t.get(&txn, 1).unwrap().unwrap().len(), 10_000);
    assert_eq!(pages_asked(&env, true, get), 10_000 / 256);
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no getrusage")]
fn nothing_is_prefetched_where_no_thread_waits_or_the_kernel_reads_ahead() {
    let (env, t, _) = env_and_tree(Env::options().page_bytes(256).read_ahead(ReadAhead::Never));
    let txn = env.read().unwrap();
    let fast = || env.core().unwrap().store.disk().unwrap().set_slow(false);
    let up = || t.iter(&txn).unwrap().for_each(|_| fast());
    // The test itself may have to wait for a page of its program.
    assert_eq!((0..3).map(|_| pages_asked(&env, false, up)).min(), Some(0));
    assert!(!env.info().unwrap().reads_ahead);
    let (env, t, _) = env_and_tree(Env::options().page_bytes(256));
    let txn = env.read().unwrap();
    assert_eq!(t.iter(&txn).unwrap().count(), 1000);
    let info = env.info().unwrap();
    assert_eq!((info.io.requests, info.reads_ahead), (0, true));
}

#[test]
fn a_step_within_a_leaf_does_not_check_it_again() {
    let (env, _, tree) = env_and_tree(Env::options().page_bytes(256));
    let txn = env.read().unwrap();
    for forward in [true, false] {
        let source = Watched::new(&txn.snapshot);
        let view = TreeView::unordered(&source, &tree);
        let mut path = Path::new();
        if forward { path.first(view) } else { path.end(view) }.unwrap();
        let passed = std::iter::from_fn(|| path.pass(view, forward).unwrap());
        assert_eq!(passed.count(), 1000);
        assert_eq!(source.headers.get(), tree.leaf_pages);
        // A turn reads a branch, and all pages below that.
        assert!(source.pages.get() <= 2 * (tree.leaf_pages + tree.branch_pages));
    }
}

#[test]
fn the_pairs_of_a_leaf_are_passed_without_checking_its_page_again() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = Env::options().open_simulated(&disk).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&MultiDef::<U64, Bytes>::new("t")).unwrap();
    for n in 0..90_u64 {
        t.put(&mut txn, n / 9, &n.to_be_bytes()).unwrap();
    }
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    let number = txn.core().names.number(t.id).unwrap();
    let tree = txn.tree(number).unwrap().expect("the table is there");
    let watched = Watched::new(&txn.snapshot);
    let view = TreeView::unordered(&watched, &tree);
    let mut path = PairPath::new();
    path.first(view).unwrap();
    path.step(view, true).unwrap().expect("the first pair");
    for (forward, keys) in [(true, 9), (false, 10)] {
        watched.pages.set(0);
        let (mut passed, mut others) = (Vec::new(), 0);
        path.pass_in_leaf(view, forward, 1000, |_, value, passing| {
            let key = passing.place.map(|place| place.key() as u64);
            assert_eq!(key, Some(u64::from(value[7]) / 9));
            others += u32::from(!passing.is_same_key);
            passed.push(value[7]);
        });
        assert_eq!((passed.len(), others), (if forward { 89 } else { 90 }, keys));
        assert!(passed.is_sorted_by(|a, b| (a < b) == forward));
        assert_eq!(watched.pages.get(), 0);
    }
}

/// How many rows a cursor passes all records in, that way, and how many records these have.
fn in_rows<S: Shape>(
    mut cursor: Cursor<Bytes, Bytes, S>,
    txn: &ReadTxn,
    forward: bool,
) -> (usize, usize) {
    if forward {
        cursor.to_start()
    } else {
        cursor.to_end()
    }
    let (mut row_count, mut record_count) = (0, 1);
    cursor.glide(txn, forward).unwrap().expect("a record");
    loop {
        let row = cursor.glide_in_row(txn, forward, true, usize::MAX, |_, _, _| record_count += 1);
        match row.unwrap() {
            Some((_, 1..)) => row_count += 1,
            _ => break,
        }
    }
    assert_eq!(cursor.glide(txn, forward).unwrap(), None);
    (row_count, record_count)
}

#[test]
fn a_walk_takes_a_row_for_each_leaf() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = Env::options().open_simulated(&disk).unwrap();
    let mut txn = env.write().unwrap();
    let one = txn.create_table(&TableDef::<Bytes, Bytes>::new("one")).unwrap();
    let many = txn.create_table(&MultiDef::<Bytes, Bytes>::new("many")).unwrap();
    for n in 0..2000_u32 {
        one.put(&mut txn, &n.to_be_bytes(), &[7; 40]).unwrap();
        many.put(&mut txn, &(n / 3).to_be_bytes(), &n.to_be_bytes()).unwrap();
    }
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    let leaves = |name: &[u8]| txn.table_stat(name).unwrap().unwrap().leaf_pages as usize;
    for forward in [true, false] {
        assert_eq!(in_rows(one.cursor(), &txn, forward), (leaves(b"one"), 2000));
        assert_eq!(in_rows(many.cursor(), &txn, forward), (leaves(b"many"), 2000));
    }
}

fn keys_of<'t>(range: Range<'t, Bytes, Unit>) -> impl DoubleEndedIterator<Item = &'t [u8]> {
    range.map(|record| record.unwrap().0)
}

/// Where separators are as long as keys, branches have two children: paths have more frames than
/// they have room for in themselves.
#[test]
#[cfg_attr(miri, ignore = "thousands of pages")]
fn a_tree_of_many_levels_is_walked_and_changed() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = Env::options().page_bytes(256).open_simulated(&disk).unwrap();
    let order = Order::custom("as bytes", |a, b| a.cmp(b));
    let mut txn = env.write().unwrap();
    let t = txn.create_table(&TableDef::<Bytes, Unit>::new("t").ordered(order)).unwrap();
    let mut keys: Vec<String> = (0..2000).map(|number| format!("{number:0100}")).collect();
    keys.iter().try_for_each(|key| t.put(&mut txn, key.as_bytes(), ()).map(drop)).unwrap();
    assert!(txn.table_stat(b"t").unwrap().unwrap().depth > 8);
    for round in 0.. {
        assert!(keys_of(t.iter(&txn).unwrap()).eq(keys.iter().map(String::as_bytes)));
        assert!(keys_of(t.iter(&txn).unwrap()).rev().eq(keys.iter().rev().map(String::as_bytes)));
        let mut cursor = t.cursor();
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(cursor.next(&txn).unwrap(), Some((key.as_bytes(), ())));
            let next = keys.get(at + 1).map(String::as_bytes);
            let other = cursor.clone().next(&txn).unwrap().map(|record| record.0);
            assert_eq!(other, next);
            assert_eq!(keys_of(t.range(&txn, key.as_bytes()..).unwrap()).nth(1), next);
        }
        if round == 1 {
            break;
        }
        let (gone, kept) =
            keys.into_iter().enumerate().partition::<Vec<_>, _>(|(at, _)| at % 3 == 0);
        gone.iter().for_each(|(_, key)| assert!(t.remove(&mut txn, key.as_bytes()).unwrap()));
        keys = kept.into_iter().map(|(_, key)| key).collect();
    }
    txn.commit().unwrap();
    assert!(env.check().unwrap().is_clean());
}

//! What a span asks for before it gets there.

use std::cell::RefCell;
use std::ops::Bound;

use crate::error::Result;
use crate::os::{Ahead, SimDisk};
use crate::page::{BytesOrder, Leaf, Ptr, RunRef, Tree};
use crate::store::source::PageSource;
use crate::tree::cursor::LeafSpan;
use crate::txn::snapshot::Snapshot;
use crate::{Bytes, Env, TableDef, U64};

/// A snapshot that remembers which leaves were asked for.
struct Asked<'t> {
    source: &'t Snapshot,
    leaves: RefCell<Vec<Ptr>>,
}

impl PageSource for Asked<'_> {
    fn bytes(&self, ptr: Ptr) -> Result<&[u8]> {
        self.source.bytes(ptr)
    }

    fn run(&self, run: &RunRef) -> Result<&[u8]> {
        self.source.run(run)
    }

    fn pages_max(&self) -> u32 {
        self.source.pages_max()
    }

    fn bytes_max(&self) -> u64 {
        self.source.bytes_max()
    }

    fn ahead(&self, ptr: Ptr) -> Ahead {
        self.leaves.borrow_mut().push(ptr);
        Ahead::NONE
    }
}

/// The leaves of a whole walk, each with whether it was asked for before it was entered.
fn walk(source: &Snapshot, tree: &Tree, forward: bool) -> Vec<(Ptr, bool)> {
    let asked = Asked { source, leaves: RefCell::default() };
    let open = Bound::Unbounded;
    let mut span = LeafSpan::new(&asked, tree, BytesOrder, open, open).unwrap();
    let mut met = Vec::new();
    loop {
        let before = asked.leaves.borrow().clone();
        let leaf = match forward {
            true => span.next::<Leaf<'_>>().unwrap(),
            false => span.next_back::<Leaf<'_>>().unwrap(),
        };
        let Some(leaf) = leaf else { return met };
        met.push((leaf.ptr(), before.contains(&leaf.ptr())));
    }
}

#[test]
fn a_leaf_is_asked_for_while_the_one_before_it_is_read() {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = Env::options().page_bytes(256).open_simulated(&disk).unwrap();
    let mut txn = env.write().unwrap();
    let t = txn.create(&TableDef::<U64, Bytes>::new("t")).unwrap();
    (0..1000).try_for_each(|key| t.put(&mut txn, &key, &[1; 40]).map(drop)).unwrap();
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    let number = txn.core().names.number(t.id).unwrap();
    let tree = txn.tree(number).unwrap().expect("the table is there");
    assert!(tree.depth > 2, "branches over branches");
    let up = walk(&txn.snapshot, &tree, true);
    let down = walk(&txn.snapshot, &tree, false);
    assert!(up.iter().map(|leaf| leaf.0).eq(down.iter().rev().map(|leaf| leaf.0)));
    // Only the first leaf of a branch is met unasked: the branch before it does not know it.
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

//! Records that are found without a path, and the pages that this costs.

use std::collections::BTreeMap;

use crate::page::{BytesOrder, KeyOrder, ReversedOrder};
use crate::sim::SimDisk;
use crate::tree::nearest::Nearest;
use crate::tree::view::TreeView;
use crate::tree::watched::Watched;
use crate::{Bytes, Env, Order, TableDef};

/// Keys that begin and end alike, and keys next to each of them.
fn keys(count: u32) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let key = |n: u32| format!("a/{:02}/b/{:05}/c", n % 20, n * 7).into_bytes();
    let stored: Vec<Vec<u8>> = (0..count).map(key).collect();
    let mut asked = vec![Vec::new(), vec![0], vec![0xFF; 30], b"a/".to_vec()];
    for key in &stored {
        let (front, back) = (key[0], key[key.len() - 1]);
        asked.push(key.clone());
        asked.push([key, &[0][..]].concat());
        asked.push(key[..key.len() - 1].to_vec());
        asked.push([&[front - 1], &key[1..]].concat());
        asked.push([&key[..key.len() - 1], &[back + 1]].concat());
    }
    (stored, asked)
}

/// Everything that can be asked of a table of so many records, in an order in which keys sort as
/// what `sorted` makes of them; how often another leaf than that of the key had to be read.
fn all_places<O: KeyOrder>(
    (name, order): (Order, O),
    count: u32,
    sorted: impl Fn(&[u8]) -> Vec<u8>,
) -> u32 {
    let disk = SimDisk::new(8 << 20).unwrap();
    let env = Env::options().page_bytes(256).open_simulated(&disk).unwrap();
    let mut txn = env.write().unwrap();
    let def = TableDef::<Bytes, Bytes>::new("t").ordered(name);
    let t = txn.create_table(&def).unwrap();
    let (stored, asked) = keys(count);
    stored.iter().try_for_each(|key| t.put(&mut txn, key, &[1; 9]).map(drop)).unwrap();
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    let tree = txn.tree(txn.core().names.number(t.id).unwrap()).unwrap().unwrap();
    assert!(count < 1000 || tree.depth > 3, "branches over branches over branches");
    let source = Watched::new(&txn.snapshot);
    let view = TreeView::new(&source, &tree, order);
    let model: BTreeMap<Vec<u8>, &Vec<u8>> = stored.iter().map(|key| (sorted(key), key)).collect();
    let (levels, mut elsewhere) = (u32::from(tree.depth), 0);
    let mut find = |wanted| {
        source.pages.set(0);
        let found = view.fast_nearest(wanted).expect("nothing is wrong");
        let more = source.pages.get() - levels;
        assert!(more < levels.max(1), "{wanted:?} costs {more} pages more than {levels} levels");
        elsewhere += u32::from(more > 0);
        found.map(|cell| cell.key.to_vec())
    };
    assert_eq!(find(Nearest::First).as_ref(), model.values().next().copied());
    assert_eq!(find(Nearest::Last).as_ref(), model.values().next_back().copied());
    for key in &asked {
        let place = sorted(key);
        let above = model.range(place.clone()..).next().map(|record| *record.1);
        let below = model.range(..=place).next_back().map(|record| *record.1);
        assert_eq!(find(Nearest::AtOrAbove(key)).as_ref(), above, "{key:x?}");
        assert_eq!(find(Nearest::AtOrBelow(key)).as_ref(), below, "{key:x?}");
    }
    elsewhere
}

#[test]
fn each_place_is_found_at_the_cost_of_a_descent_or_two() {
    for count in [0, 1, 5, 40, 1200] {
        let bytes = all_places((Order::Bytes, BytesOrder), count, <[u8]>::to_vec);
        let reversed = |key: &[u8]| key.iter().rev().copied().collect();
        let reversed = all_places((Order::Reversed, ReversedOrder), count, reversed);
        assert!(count < 40 || bytes > 0 && reversed > 0, "no place was in another leaf");
    }
}

//! Many steps of a cursor in one call are as many single ones.

use std::ops::Bound;

use huon::{Bytes, Cursor, Env, MultiDef, Order, Shape, TableDef, Txn};

use crate::multi::Random;

const WALKS: usize = 400;

fn key(n: u64) -> Vec<u8> {
    format!("{n:04}").into_bytes()
}

/// A main table with names of tables among its records, and values of one page and of several; and
/// a multimap of keys with few values and with many.
fn filled() -> Env {
    let env = Env::options().page_bytes(256).open_in_memory().unwrap();
    let mut txn = env.write().unwrap();
    let main = txn.create_table(&TableDef::<Bytes, Bytes>::main()).unwrap();
    let multi = txn.create_table(&MultiDef::<Bytes, Bytes>::new("0111")).unwrap();
    let mut random = Random(1);
    for n in 0..300 {
        let bytes = if n % 13 == 0 { 700 } else { random.next() % 40 };
        main.put(&mut txn, &key(n * 2), &vec![n as u8; bytes as usize]).unwrap();
        let values = if n % 17 == 0 { 90 } else { random.next() % 5 };
        for value in 0..values {
            multi.put(&mut txn, &key(n * 2), &key(value)).unwrap();
        }
    }
    for name in ["0003", "0005", "0201", "0333"] {
        txn.create_table(&TableDef::<Bytes, Bytes>::new(name)).unwrap();
    }
    txn.commit().unwrap();
    env
}

fn bound(random: &mut Random) -> Bound<Vec<u8>> {
    let end = key(random.next() % 620);
    match random.next() % 3 {
        0 => Bound::Unbounded,
        1 => Bound::Included(end),
        _ => Bound::Excluded(end),
    }
}

fn step<'t, S: Shape>(
    cursor: &mut Cursor<Bytes, Bytes, S>,
    txn: &'t impl Txn,
    forward: bool,
    end: Bound<&[u8]>,
) -> Option<(&'t [u8], &'t [u8])> {
    if forward { cursor.next_until(txn, end) } else { cursor.prev_until(txn, end) }.unwrap()
}

/// From anywhere, both ways, to any bound, for any number, up to a record that is not taken: in
/// `txn`, and where both stand then in `later`, which shows something else.
fn are_steps<S: Shape>(cursor: &Cursor<Bytes, Bytes, S>, txn: &impl Txn, later: &impl Txn) {
    let mut random = Random(7);
    let mut longest = 0;
    for _ in 0..WALKS {
        let (mut walks, forward) = (cursor.clone(), random.next().is_multiple_of(2));
        match random.next() % 4 {
            0 if forward => walks.to_start(),
            0 => walks.to_end(),
            1 => walks.seek(&key(random.next() % 620)).unwrap(),
            _ => walks.seek_after(&key(random.next() % 620)).unwrap(),
        }
        let (mut steps, end) = (walks.clone(), bound(&mut random));
        let end = end.as_ref().map(Vec::as_slice);
        let most = [0, 1, 2, 30, usize::MAX][random.next() as usize % 5];
        let refused = [5, 40, usize::MAX][random.next() as usize % 3];

        let mut wanted = Vec::new();
        let mut ahead = steps.clone();
        while wanted.len() < most.min(refused)
            && let Some(record) = step(&mut ahead, txn, forward, end)
        {
            wanted.push(record);
            steps = ahead.clone();
        }
        let mut taken = Vec::new();
        let count = walks.walk(txn, forward, end, most, |key, value| {
            let takes = taken.len() < refused;
            taken.extend(takes.then_some((key, value)));
            takes
        });
        assert_eq!((count.unwrap(), &taken), (wanted.len(), &wanted));
        longest = longest.max(taken.len());
        for way in [true, false, false] {
            let mut both = [walks.clone(), steps.clone()];
            let [a, b] = both.each_mut().map(|it| step(it, later, way, Bound::Unbounded));
            assert_eq!(a, b, "another transaction sees them at one place");
            let [a, b] = [&mut walks, &mut steps].map(|it| step(it, txn, way, Bound::Unbounded));
            assert_eq!(a, b, "they stand at one place");
        }
    }
    assert!(longest > 200, "no walk was longer than {longest} records");
}

#[test]
fn walks_are_steps() {
    let env = filled();
    let before = env.read().unwrap();
    let mut txn = env.write().unwrap();
    let main = env.table(&TableDef::<Bytes, Bytes>::main()).unwrap();
    let multi = env.table(&MultiDef::<Bytes, Bytes>::new("0111")).unwrap();
    for n in 0..100 {
        main.remove(&mut txn, &key(n * 6)).unwrap();
        main.put(&mut txn, &key(n * 6 + 1), b"new").unwrap();
        multi.put(&mut txn, &key(n * 6), b"new").unwrap();
        multi.remove(&mut txn, &key(n * 6 + 2), &key(0)).unwrap();
    }
    are_steps(&main.cursor(), &before, &txn);
    are_steps(&main.cursor(), &txn, &before);
    are_steps(&multi.cursor(), &before, &txn);
    are_steps(&multi.cursor(), &txn, &before);
}

/// In the order of a comparator, too.
#[test]
fn a_walk_ends_where_the_order_says() {
    let env = Env::in_memory().unwrap();
    let mut txn = env.write().unwrap();
    let def = TableDef::<Bytes, Bytes>::new("t").ordered(Order::Reversed);
    let table = txn.create_table(&def).unwrap();
    for text in ["ab", "ca", "bc", "cb"] {
        table.put(&mut txn, text.as_bytes(), b"").unwrap();
    }
    let (mut cursor, mut found) = (table.cursor(), Vec::new());
    let take = |key: &[u8], _: &[u8]| {
        found.push(String::from_utf8_lossy(key).into_owned());
        true
    };
    cursor.walk(&txn, true, Bound::Included(b"ab"), 9, take).unwrap();
    assert_eq!(found, ["ca", "ab"]);
}

/// At the end of a range a cursor stays behind what it returned last.
#[test]
fn what_is_put_at_the_end_of_a_range_is_shown() {
    let env = Env::in_memory().unwrap();
    let mut txn = env.write().unwrap();
    let table = txn.create_table(&TableDef::<Bytes, Bytes>::new("t")).unwrap();
    for text in ["a", "x"] {
        table.put(&mut txn, text.as_bytes(), b"").unwrap();
    }
    let mut both = [table.cursor(), table.cursor()];
    let end = Bound::Excluded(&b"m"[..]);
    for wanted in ["a", "b", "c"] {
        table.put(&mut txn, wanted.as_bytes(), b"").unwrap();
        let [steps, walks] = &mut both;
        assert_eq!(steps.next_until(&txn, end).unwrap(), Some((wanted.as_bytes(), &b""[..])));
        assert_eq!(steps.next_until(&txn, end).unwrap(), None);
        assert_eq!(walks.walk(&txn, true, end, 9, |key, _| key == wanted.as_bytes()).unwrap(), 1);
    }
}

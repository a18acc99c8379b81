//! What iterators promise beside their records: where they may go, how they end, what they keep.

use std::collections::VecDeque;

use huon::{Bytes, Env, MultiDef, RawMulti, RawTable, ReadTxn, Result, Str, Table, TableDef, U64};

const NUMBERS: TableDef<U64, U64> = TableDef::new("numbers");
const MANY: MultiDef<Bytes, Bytes> = MultiDef::new("many");

/// An environment whose table holds `count` numbers with their squares.
fn squares(count: u64) -> (tempfile::TempDir, Env, Table<U64, U64>) {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::options().open(dir.path().join("a.huon")).unwrap();
    let table = env
        .update(|txn| {
            let table = txn.create_table(&NUMBERS)?;
            (0..count).try_for_each(|n| table.put(txn, n, n * n).map(drop))?;
            Ok(table)
        })
        .unwrap();
    (dir, env, table)
}

async fn elsewhere() {}

/// What a task does that moves between threads.
async fn through_everything(env: Env, table: RawTable, multi: RawMulti) -> Result<usize> {
    let txn = env.read()?;
    let mut count = 0;
    for record in table.iter(&txn)? {
        elsewhere().await;
        count += record?.1.len();
    }
    for leaf in table.range(&txn, &b"a"[..]..)?.leaves() {
        for record in leaf? {
            elsewhere().await;
            count += record?.1.len();
        }
    }
    for pair in multi.iter(&txn)? {
        elsewhere().await;
        count += pair?.1.len();
    }
    for key in multi.keys(&txn)? {
        elsewhere().await;
        count += key?.0.len();
    }
    for value in multi.values(&txn, b"a")? {
        elsewhere().await;
        count += value?.len();
    }
    let mut cursor = table.cursor();
    while let Some((_, value)) = cursor.next(&txn)? {
        elsewhere().await;
        count += value.len();
    }
    let mut range = table.into_iter(txn)?;
    while let Some((_, value)) = range.next()? {
        count += value.len();
        elsewhere().await;
    }
    let mut values = multi.into_values(range.into_txn(), b"a")?;
    while let Some(value) = values.next()? {
        count += value.len();
        elsewhere().await;
    }
    let mut pairs = multi.into_iter(values.into_txn())?;
    while let Some((_, value)) = pairs.next()? {
        count += value.len();
        elsewhere().await;
    }
    Ok(count)
}

#[test]
fn a_task_that_iterates_may_move_between_threads() {
    fn spawn<F: Future<Output = Result<usize>> + Send + 'static>(future: F) -> usize {
        let mut future = std::pin::pin!(future);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        loop {
            if let std::task::Poll::Ready(count) = future.as_mut().poll(&mut context) {
                return count.unwrap();
            }
        }
    }
    let (_dir, env, table) = squares(1000);
    let multi = env
        .update(|txn| {
            let multi = txn.create_table(&MANY)?;
            multi.put(txn, b"a", b"one")?;
            multi.put(txn, b"a", b"two")?;
            Ok(multi)
        })
        .unwrap();
    // Forwards, by leaves, with a cursor, and owned; of keys below "a" there is every number.
    let (numbers, pairs) = (3 * 1000 * 8, 2 * 3 + 1 + 2 * 3 + 2 * 3 + 2 * 3);
    assert_eq!(spawn(through_everything(env, table.raw(), multi)), numbers + pairs);
}

#[test]
fn iterators_that_have_ended_stay_so() {
    fn ends<T>(mut iter: impl std::iter::FusedIterator<Item = Result<T>> + Send) {
        iter.by_ref().for_each(|item| drop(item.unwrap()));
        (0..3).for_each(|_| assert!(iter.next().is_none()));
    }
    let (_dir, env, table) = squares(1000);
    let mut txn = env.write().unwrap();
    let multi = txn.create_table(&MANY).unwrap();
    for n in 0..2000u32 {
        multi.put(&mut txn, &(n / 1000).to_be_bytes(), &n.to_be_bytes()).unwrap();
    }
    txn.commit().unwrap();
    let txn = env.read().unwrap();
    let key = 1u32.to_be_bytes();
    ends(table.iter(&txn).unwrap());
    ends(table.range(&txn, 10..20).unwrap().rev());
    ends(table.iter(&txn).unwrap().leaves());
    ends(table.iter(&txn).unwrap().leaves().next().unwrap().unwrap().iter());
    ends(multi.iter(&txn).unwrap());
    ends(multi.keys(&txn).unwrap());
    ends(multi.values(&txn, &key).unwrap());
    ends(multi.values(&txn, &key).unwrap().batches());
}

/// The numbers that are left of a range after as many steps from each end.
fn rest(txn: ReadTxn, table: Table<U64, U64>, front: usize, back: usize) -> (Vec<u64>, ReadTxn) {
    let mut range = table.into_range(txn, 100..=1100).unwrap();
    for _ in 0..front {
        range.next().unwrap();
    }
    for _ in 0..back {
        range.next_back().unwrap();
    }
    let mut rest = Vec::new();
    while let Some((n, square)) = range.next().unwrap() {
        assert_eq!(square, n * n);
        rest.push(n);
    }
    assert_eq!(range.next_back().unwrap(), None);
    (rest, range.into_txn())
}

#[test]
fn a_range_that_keeps_its_transaction_shows_its_snapshot() {
    let (_dir, env, table) = squares(1200);
    let mut txn = env.read().unwrap();
    env.update(|txn| table.clear(txn)).unwrap();
    for (front, back) in [(0, 0), (1, 0), (0, 1), (500, 500), (1000, 0), (0, 1000), (1001, 1001)] {
        let all: Vec<u64> = (100..=1100).collect();
        let (from, until) = (front.min(1001), 1001usize.saturating_sub(back));
        let (left, back_again) = rest(txn, table, front, back);
        assert_eq!(left, all.get(from..until).unwrap_or_default(), "{front} and {back}");
        txn = back_again;
    }
    let mut none = table.into_iter(env.read().unwrap()).unwrap();
    assert_eq!((none.next().unwrap(), none.next_back().unwrap()), (None, None));
}

/// Values of one length, and of several, of keys that have one, few, and so many that they have a
/// tree of one level or of two.
fn multimaps(txn: &mut huon::WriteTxn) -> Result<[RawMulti; 2]> {
    let numbers = txn.create_table(&MultiDef::<U64, U64>::new("numbers of numbers"))?;
    let words = txn.create_table(&MultiDef::<U64, Str>::new("words of numbers"))?;
    for key in 0..20 {
        for n in 0..[1, 3, 700, 2, 3000][key as usize % 5] {
            numbers.put(txn, key, n)?;
            let width = 4 + n as usize % 9;
            words.put(txn, key, &format!("{n:>width$}"))?;
        }
    }
    Ok([numbers.raw(), words.raw()])
}

/// A pair as bytes.
type RawPair = (Vec<u8>, Vec<u8>);

fn copied((key, value): (&[u8], &[u8])) -> RawPair {
    (key.to_vec(), value.to_vec())
}

/// Whether the next step is one from the front: always, never, or by turns of chance.
fn turns(seed: u64) -> impl FnMut() -> bool {
    let mut state = seed;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match seed {
            0 => true,
            1 => false,
            _ => (state >> 33).is_multiple_of(seed),
        }
    }
}

#[test]
fn pairs_that_keep_their_transaction_are_those_of_its_snapshot() {
    let (_dir, env, _) = squares(1);
    let multis = env.update(multimaps).unwrap();
    for multi in multis {
        let mut txn = env.read().unwrap();
        let (from, to) = (3u64.to_be_bytes(), 17u64.to_be_bytes());
        let all: Result<VecDeque<RawPair>> =
            multi.range(&txn, &from[..]..&to[..]).unwrap().map(|pair| pair.map(copied)).collect();
        let all = all.unwrap();
        env.update(|txn| multi.clear(txn)).unwrap();
        for seed in 0..6 {
            let (mut left, mut is_front) = (all.clone(), turns(seed));
            let mut pairs = multi.into_range(txn, &from[..]..&to[..]).unwrap();
            while !left.is_empty() {
                let front = is_front();
                let right = if front { left.pop_front() } else { left.pop_back() };
                let found = if front { pairs.next() } else { pairs.next_back() };
                assert_eq!(found.unwrap().map(copied), right, "seed {seed}");
            }
            assert!(pairs.next().unwrap().is_none() && pairs.next_back().unwrap().is_none());
            txn = pairs.into_txn();
        }
        let mut none = multi.into_iter(env.read().unwrap()).unwrap();
        assert!(none.next_back().unwrap().is_none() && none.next().unwrap().is_none());
    }
}

#[test]
fn values_that_keep_their_transaction_are_those_of_the_key() {
    let (_dir, env, _) = squares(1);
    for multi in env.update(multimaps).unwrap() {
        let mut txn = env.read().unwrap();
        for key in 0..21u64 {
            let key = key.to_be_bytes();
            let all: Result<VecDeque<Vec<u8>>> =
                multi.values(&txn, &key).unwrap().map(|value| value.map(<[u8]>::to_vec)).collect();
            for seed in 0..4 {
                let (mut left, mut is_front) = (all.as_ref().unwrap().clone(), turns(seed));
                let mut values = multi.into_values(txn, &key).unwrap();
                while !left.is_empty() {
                    let front = is_front();
                    let right = if front { left.pop_front() } else { left.pop_back() };
                    let found = if front { values.next() } else { values.next_back() };
                    assert_eq!(found.unwrap().map(<[u8]>::to_vec), right, "{key:?}, seed {seed}");
                }
                assert!(values.next().unwrap().is_none() && values.next_back().unwrap().is_none());
                txn = values.into_txn();
            }
        }
        let key = 4u64.to_be_bytes();
        let mut pairs = multi.into_prefix(txn, &key[..]).unwrap();
        let mut count = 0;
        while pairs.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 3000);
    }
}

#[test]
fn an_owned_range_of_the_main_table_passes_over_named_ones() {
    let (_dir, env, _) = squares(1);
    let main = env
        .update(|txn| {
            let main = txn.create_table(&TableDef::<Str, Str>::main())?;
            main.put(txn, "a", "first")?;
            main.put(txn, "z", "last")?;
            Ok(main)
        })
        .unwrap();
    let mut range = main.into_iter(env.read().unwrap()).unwrap();
    assert_eq!(range.next().unwrap(), Some(("a", "first")));
    assert_eq!(range.next().unwrap(), Some(("z", "last")));
    assert_eq!(range.next().unwrap(), None);
}

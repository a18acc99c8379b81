//! Differences of snapshots as records, and feeds of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Duration;

use huon::{Difference, Env, ReadTxn, RecordVisitor, TableDef, TableStat, U64};
use huon_testkit::follow::Source;
use huon_testkit::{figures, scale};

use super::PAGE_BYTES;

type Pairs = BTreeSet<(Vec<u8>, Vec<u8>)>;

/// All records of a snapshot, by table.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Records {
    tables: BTreeMap<Vec<u8>, Pairs>,
    now: Vec<u8>,
}

impl RecordVisitor for Records {
    fn table(&mut self, table: &TableStat) -> ControlFlow<(), bool> {
        self.now = table.name.clone();
        self.tables.insert(self.now.clone(), Pairs::new());
        ControlFlow::Continue(true)
    }

    fn record(&mut self, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        let table = self.tables.get_mut(&self.now).expect("it has begun");
        assert!(table.insert((key.to_vec(), value.to_vec())), "a record twice");
        ControlFlow::Continue(())
    }
}

impl Records {
    fn of(env: &Env) -> Records {
        let mut records = Records::default();
        env.visit_records(&mut records).expect("the source is whole");
        Records { now: Vec::new(), ..records }
    }

    /// Makes one change, which must be possible.
    fn apply(&mut self, difference: &Difference<'_>) {
        let pair = |key: &[u8], value: &[u8]| (key.to_vec(), value.to_vec());
        match *difference {
            Difference::TableCreated { table } => {
                let before = self.tables.insert(table.to_vec(), Pairs::new());
                assert_eq!(before, None, "the table was there");
            }
            Difference::TableDropped { table } => {
                let before = self.tables.remove(table);
                assert_eq!(before, Some(Pairs::new()), "it was there, and had nothing left");
            }
            Difference::Removed { table, key, old } => {
                let records = self.tables.get_mut(table).expect("the table is there");
                assert!(records.remove(&pair(key, old)), "what is removed was there");
            }
            Difference::Changed { table, key, old, new } => {
                assert_ne!(old, new);
                let records = self.tables.get_mut(table).expect("the table is there");
                assert!(records.remove(&pair(key, old)), "what changed was there");
                assert!(records.insert(pair(key, new)), "as something else");
            }
            Difference::Added { table, key, new } => {
                let records = self.tables.get_mut(table).expect("the table is there");
                assert!(records.insert(pair(key, new)), "what is added was not there");
            }
            other => panic!("an unknown difference: {other:?}"),
        }
    }
}

/// Applies a difference; returns how much was shown.
fn shown(newer: &ReadTxn, older: &ReadTxn, records: &mut Records) -> u64 {
    let mut count = 0;
    let all = newer.difference(older, &mut |difference| {
        records.apply(difference);
        count += 1;
        ControlFlow::Continue(())
    });
    assert!(all.expect("both are whole"), "nothing stopped it");
    count
}

#[test]
fn a_difference_makes_the_later_snapshot_of_the_earlier_one() {
    let (mut differences, mut of_ends) = (0, 0);
    for round in 0..scale::share(300) {
        let seed = scale::seed("follow: differences", round);
        let mut source = Source::new(PAGE_BYTES[round as usize % 3], seed);
        let begin = source.env.read().expect("read");
        let (mut before, mut records) =
            (source.env.read().expect("read"), Records::of(&source.env));
        let first = records.clone();
        for _ in 0..10 {
            source.step();
            let now = source.env.read().expect("read");
            differences += shown(&now, &before, &mut records);
            assert_eq!(records, Records::of(&source.env), "seed {seed}");
            before = now;
        }
        // Over all of them at once: what came and went is not shown.
        let mut at_once = first;
        of_ends += shown(&before, &begin, &mut at_once);
        assert_eq!(at_once, records, "seed {seed}");
        assert_eq!(shown(&before, &before, &mut records), 0, "none from itself");
        let refused = begin.difference(&before, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(refused, Err(huon::Error::Invalid(_))), "{refused:?}");
    }
    println!("{differences} differences, {of_ends} from beginnings to ends");
    assert!(differences > 10 * scale::share(300) && of_ends < differences);
    figures::add("model", differences);
    figures::named("follow.differences", differences);
}

#[test]
fn a_feed_shows_each_change_once_whatever_comes_between() {
    const T: TableDef<U64, U64> = TableDef::new("t");
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.huon");
    let env = Env::open(&path).expect("open");
    let other = Env::open(&path).expect("open");
    let mut feed = env.feed().expect("a feed");
    let writer = std::thread::spawn(move || {
        for n in 0..200 {
            let put = |txn: &mut huon::WriteTxn| txn.create_table(&T)?.put(txn, n, n * n);
            other.update(put).expect("put");
        }
    });
    let mut seen = BTreeMap::new();
    while seen.len() < 200 {
        let next = feed.next(Duration::from_secs(60), &mut |difference| {
            if let Difference::Added { table: b"t", key, new } = *difference {
                assert_eq!(seen.insert(key.to_vec(), new.to_vec()), None, "shown twice");
            }
            ControlFlow::Continue(())
        });
        assert!(next.expect("the feed goes on").is_some(), "commits are still to come");
    }
    writer.join().expect("it wrote");
    // What breaks is shown again.
    env.update(|txn| txn.create_table(&T)?.put(txn, 7, 0)).expect("put");
    let mut times = 0;
    let mut once = |flow: ControlFlow<()>| {
        feed.next(Duration::ZERO, &mut |_| {
            times += 1;
            flow
        })
        .expect("the feed goes on")
    };
    assert_eq!(once(ControlFlow::Break(())), None);
    assert!(once(ControlFlow::Continue(())).is_some());
    assert_eq!(once(ControlFlow::Continue(())), None);
    assert_eq!(times, 2);
}

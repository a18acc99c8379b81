//! The walk over all pages: each one once, and what is damaged is named.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use huon::{Bytes, Durability, Env, Error, MultiDef, NativeU64, PageInfo, PageKind, TableDef, U64};

const MAIN: TableDef<Bytes, Bytes> = TableDef::main();
const PLAIN: TableDef<Bytes, Bytes> = TableDef::new("plain");
const WORDS: MultiDef<Bytes, Bytes> = MultiDef::new("words");
const NUMBERS: MultiDef<U64, NativeU64> = MultiDef::new("numbers");

fn open(path: &Path, page_bytes: usize) -> Env {
    let mut options = Env::options();
    options.page_bytes(page_bytes).durability(Durability::Lazy).open(path).unwrap()
}

/// All kinds of pages, with free ones between them.
fn fill(env: &Env) {
    for round in 0..6u64 {
        env.update(|txn| {
            let (main, plain) = (txn.create_table(&MAIN)?, txn.create_table(&PLAIN)?);
            let (words, numbers) = (txn.create_table(&WORDS)?, txn.create_table(&NUMBERS)?);
            for n in 0..300u64 {
                let key = (n * 7919 % 300).to_be_bytes();
                main.put(txn, &key, &vec![1; (n % 50) as usize])?;
                let long = if n % 50 == round { 9000 } else { n as usize % 60 };
                plain.put(txn, &key, &vec![round as u8; long])?;
                words.put(txn, &key[..7], &key)?;
                words.put(txn, b"one key", format!("{n} and {round}").as_bytes())?;
                numbers.put(txn, n % 3, n * 6 + round)?;
            }
            for n in (round * 40)..(round * 40 + 30) {
                plain.remove(txn, &n.to_be_bytes())?;
            }
            Ok(())
        })
        .unwrap();
    }
}

/// What is remembered of a page.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    pgno: u32,
    pages: u32,
    birth: u64,
    kind: PageKind,
    table: Option<Vec<u8>>,
    of_values: bool,
    level: u8,
    count: u32,
    used: u64,
    unused: u64,
}

fn visit(env: &Env) -> Result<Vec<Seen>, Error> {
    let mut seen = Vec::new();
    let id = env.visit_pages(&mut |page: &PageInfo<'_>| {
        seen.push(Seen {
            pgno: page.pgno,
            pages: page.page_count,
            birth: page.birth,
            kind: page.kind,
            table: page.table.map(<[u8]>::to_vec),
            of_values: page.of_values,
            level: page.level,
            count: page.count,
            used: page.used_bytes,
            unused: page.unused_bytes,
        });
        ControlFlow::Continue(())
    })?;
    assert_eq!(id, env.read().unwrap().id());
    Ok(seen)
}

fn pages_of(seen: &[Seen], is: impl Fn(&Seen) -> bool) -> u64 {
    seen.iter().filter(|page| is(page)).map(|page| u64::from(page.pages)).sum()
}

/// The walk agrees with check and stat about every table and every page.
fn compare(env: &Env) {
    let seen = visit(env).unwrap();
    let (report, stat) = (env.check().unwrap(), env.stat().unwrap());
    assert!(report.is_clean(), "{:?}", report.problems);
    let page_bytes = u64::from(report.page_bytes);
    let mut met = BTreeMap::new();
    for page in &seen {
        assert_eq!(page.used + page.unused, u64::from(page.pages) * page_bytes, "{page:?}");
        for pgno in page.pgno..page.pgno + page.pages {
            assert!(met.insert(pgno, page.kind).is_none(), "page {pgno} twice");
        }
    }
    let used = env.info().unwrap().used_bytes / page_bytes;
    assert!(met.into_keys().eq(0..used as u32), "every page once");
    let of = |kind| pages_of(&seen, |page| page.kind == kind);
    assert_eq!(of(PageKind::Meta), stat.meta_pages);
    assert_eq!(of(PageKind::FreeList), stat.free_list_pages);
    assert_eq!(of(PageKind::Free), stat.reusable_pages);
    assert_eq!(of(PageKind::Retained), stat.retained_pages);
    for table in &report.tables {
        let own: Vec<Seen> =
            seen.iter().filter(|page| page.table.as_ref() == Some(&table.name)).cloned().collect();
        let of = |kind| pages_of(&own, |page| page.kind == kind);
        assert_eq!(of(PageKind::Branch), u64::from(table.branch_pages));
        let leaves = of(PageKind::Leaf) + of(PageKind::FixedLeaf);
        assert_eq!(leaves, u64::from(table.leaf_pages));
        assert_eq!(of(PageKind::LargeValue), u64::from(table.overflow_pages));
        assert_eq!(own.iter().map(|page| page.used).sum::<u64>(), table.used_bytes);
        let top = own.iter().filter(|page| !page.of_values).map(|page| page.level + 1).max();
        assert_eq!(top.unwrap_or(0), table.depth);
        if table.values.is_none() {
            let leaves = own.iter().filter(|page| page.kind == PageKind::Leaf);
            assert_eq!(leaves.map(|page| u64::from(page.count)).sum::<u64>(), table.entries);
        }
    }
}

#[test]
fn every_page_is_shown_once() {
    for page_bytes in [256, 1024, 4096, 65536] {
        let dir = tempfile::tempdir().unwrap();
        let env = open(&dir.path().join("a.huon"), page_bytes);
        compare(&env);
        fill(&env);
        compare(&env);
        let reader = env.read().unwrap();
        fill(&env);
        compare(&env);
        let kinds: Vec<_> = visit(&env).unwrap().into_iter().map(|page| page.kind).collect();
        let all = [
            PageKind::Meta,
            PageKind::Branch,
            PageKind::Leaf,
            PageKind::FixedLeaf,
            PageKind::LargeValue,
            PageKind::FreeList,
            PageKind::Free,
            PageKind::Retained,
        ];
        let few = page_bytes == 256;
        let missing: Vec<_> = all.iter().filter(|kind| !kinds.contains(kind)).collect();
        assert!(!few || missing.is_empty(), "pages of {page_bytes}: no {missing:?}");
        drop(reader);
        env.sync().unwrap();
        fill(&env);
        compare(&env);
    }
}

#[test]
fn it_is_one_snapshot_while_others_write() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"), 256);
    fill(&env);
    let before = visit(&env).unwrap();
    let is_use = |page: &Seen| !matches!(page.kind, PageKind::Free | PageKind::Retained);
    let mut during = Vec::new();
    let id = env.read().unwrap().id();
    let seen = env.visit_pages(&mut |page| {
        if during.len() % 200 == 0 {
            env.update(|txn| {
                txn.create_table(&PLAIN)?.put(txn, &during.len().to_be_bytes(), b"changed")
            })
            .unwrap();
        }
        during.push((page.pgno, page.birth, page.kind));
        ControlFlow::Continue(())
    });
    assert_eq!(seen.unwrap(), id);
    let used = |kind: &PageKind| !matches!(kind, PageKind::Free | PageKind::Retained);
    let before = before.iter().filter(|page| is_use(page)).map(|p| (p.pgno, p.birth, p.kind));
    assert!(before.eq(during.into_iter().filter(|(_, _, kind)| used(kind))));
    compare(&env);
}

#[test]
fn it_ends_where_the_visitor_says() {
    let dir = tempfile::tempdir().unwrap();
    let env = open(&dir.path().join("a.huon"), 256);
    fill(&env);
    let all = visit(&env).unwrap().len();
    for stop in [1, 2, 10, all / 2, all - 1, all] {
        let mut count = 0;
        env.visit_pages(&mut |_| {
            count += 1;
            if count == stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!(count, stop);
    }
}

#[test]
fn damage_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.huon");
    let env = open(&path, 512);
    fill(&env);
    let seen = visit(&env).unwrap();
    env.close().unwrap();
    let whole = std::fs::read(&path).unwrap();
    let headed = |page: &&Seen| {
        let headless = [PageKind::Meta, PageKind::LargeValue, PageKind::Free, PageKind::Retained];
        !headless.contains(&page.kind)
    };
    for page in seen.iter().filter(headed).step_by(7) {
        let mut bytes = whole.clone();
        bytes[page.pgno as usize * 512 + 100] ^= 4;
        std::fs::write(&path, bytes).unwrap();
        let env = Env::options().open(&path).unwrap();
        let error = visit(&env).unwrap_err();
        let named = matches!(&error, Error::Corrupt(found) if found.pgno == Some(page.pgno));
        assert!(named, "{page:?}: {error}");
    }
}

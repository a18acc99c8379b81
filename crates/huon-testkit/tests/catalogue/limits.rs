//! Limits that one process changes and others meet.

use huon::{Env, Error};

use super::child::{self, Child, listen, say};
use super::{Place, assert_clean, def, small};

fn fill(env: &Env, first: u32, count: u32) -> huon::Result<()> {
    env.update(|txn| {
        let t = txn.create_table(&def())?;
        (first..first + count).try_for_each(|n| t.put(txn, &n.to_be_bytes(), &[7; 1000]).map(drop))
    })
}

fn raise(env: &Env, max_bytes: u64) -> huon::Result<()> {
    let mut geometry = env.info()?.geometry;
    geometry.max_bytes = max_bytes;
    env.set_geometry(geometry)
}

fn answer(result: huon::Result<()>) {
    say(&match result {
        Ok(()) => "done".into(),
        Err(error) => format!("{} {error}", error.code()),
    });
}

/// E15. LMDB: a process whose map was made before another one raised the size gets `MAP_RESIZED`
/// and has to find out itself, with no transaction of any thread open, or its map moves under its
/// readers.
#[test]
fn another_process_raises_the_maximum_size() {
    if let Some(part) = child::part() {
        let reserve = if part == "short" { 2 << 20 } else { 64 << 20 };
        let env = small().max_bytes(reserve).open(child::path()).unwrap();
        let reader = env.read().unwrap();
        say("ready");
        while let Some(order) = listen() {
            match order.as_str() {
                "fill" => answer(fill(&env, 0, 1500)),
                "raise" => answer(raise(&env, 8 << 20)),
                "lower" => answer(raise(&env, 1 << 20)),
                "read" => answer(env.read().map(drop)),
                "old" => answer(reader.table_names().map(drop)),
                _ => say(&env.info().unwrap().max_bytes.to_string()),
            }
        }
        return;
    }
    let name = "limits::another_process_raises_the_maximum_size";
    let place = Place::new();
    drop(small().max_bytes(1 << 20).open(&place.path).unwrap());
    let mut long = Child::start(name, "long", &place.path);
    assert_eq!(long.hear(), "ready");
    let mut short = Child::start(name, "short", &place.path);
    assert_eq!(short.hear(), "ready");
    let full = long.ask("fill");
    assert!(full.starts_with("11 "), "MapFull: {full}");
    assert_eq!(long.ask("raise"), "done");
    assert_eq!(short.ask("maximum"), (8 << 20).to_string());
    let refused = short.ask("raise");
    assert_eq!(refused, "done", "it is so already");
    assert_eq!(long.ask("fill"), "done");
    assert_eq!(short.ask("read"), "done", "it has room for that");
    let env = small().max_bytes(64 << 20).open(&place.path).unwrap();
    fill(&env, 1500, 1500).unwrap();
    let small_map = short.ask("read");
    assert!(small_map.starts_with("26 ") && small_map.contains("open it again"), "{small_map}");
    assert_eq!(short.ask("old"), "done", "what it reads already it can read");
    assert_eq!(long.ask("read"), "done");
    assert!(long.ask("lower").starts_with("11 "), "more is in use");
    assert!(matches!(raise(&env, 65 << 20), Err(Error::MapTooSmall { .. })));
    short.finish();
    long.finish();
    assert_clean(&env, "after all");
}

/// Every record anew: what was before is kept for readers only.
fn rewrite(env: &Env, byte: u8) -> huon::Result<()> {
    env.update(|txn| {
        let t = txn.create_table(&def())?;
        (0u32..400).try_for_each(|n| t.put(txn, &n.to_be_bytes(), &[byte; 60]).map(drop))
    })?;
    env.sync().map(drop)
}

fn first_byte(txn: &huon::ReadTxn) -> u8 {
    let t = txn.open_table(&def()).unwrap().expect("the table");
    let all: Vec<u8> = (t.iter(txn).unwrap()).map(|record| record.unwrap().1[0]).collect();
    assert!(all.len() == 400 && all.iter().all(|&byte| byte == all[0]), "one snapshot");
    all[0]
}

/// E12. LMDB and libmdbx: a process that sleeps in a read transaction makes the file grow to its
/// limit, and then no process can write. Here the writer can name the reader, wait, end its
/// process, or evict its transaction, if it is parked.
#[test]
fn readers_of_other_processes_in_the_way() {
    if child::part().is_some() {
        let env = small().max_bytes(1 << 20).open(child::path()).unwrap();
        let (mut txn, mut parked) = (Some(env.read().unwrap()), None);
        say("reading");
        while let Some(order) = listen() {
            say(&match order.as_str() {
                "park" => {
                    parked = Some(txn.take().unwrap().park().unwrap());
                    "parked".into()
                }
                "unpark" => match parked.take().unwrap().unpark() {
                    Ok(back) => first_byte(txn.insert(back)).to_string(),
                    Err(error) => error.code().to_string(),
                },
                _ => first_byte(txn.insert(env.read().unwrap())).to_string(),
            });
        }
        return;
    }
    let name = "limits::readers_of_other_processes_in_the_way";
    let place = Place::new();
    let env = small().max_bytes(1 << 20).open(&place.path).unwrap();
    rewrite(&env, 0).unwrap();
    rewrite(&env, 1).unwrap();
    // Two versions have room, and no third.
    raise(&env, env.info().unwrap().used_bytes + (16 << 10)).unwrap();
    let mut child = Child::start(name, "child", &place.path);
    assert_eq!(child.hear(), "reading");
    let full = (2..8).find_map(|byte| rewrite(&env, byte).err());
    let Some(Error::MapFull(full)) = full else { panic!("it keeps what it reads: {full:?}") };
    assert_eq!(full.readers.len(), 1);
    assert_ne!(full.readers[0].pid, std::process::id());
    // Parked and not in the way: it comes back. Parked and in the way: it does not.
    assert_eq!(child.ask("park"), "parked");
    assert_eq!(child.ask("unpark"), "1");
    assert_eq!(child.ask("park"), "parked");
    (2..8).for_each(|byte| rewrite(&env, byte).unwrap());
    assert_eq!(child.ask("unpark"), "27", "Evicted");
    assert_eq!(child.ask("read"), "7");
    // It is live again, and the writer that needs the pages ends its process.
    let child = std::sync::Mutex::new(Some(child));
    env.set_on_slow_reader(move |slow| match child.lock().unwrap().take() {
        Some(child) if !slow.own && slow.full => {
            child.kill();
            huon::SlowReaderAnswer::Retry
        }
        _ => huon::SlowReaderAnswer::GiveUp,
    });
    (8..14).for_each(|byte| rewrite(&env, byte).unwrap());
    assert_clean(&env, "after all");
}

/// Address space for 200 environments of 500 GiB each is not there. LMDB and libmdbx fail with
/// `ENOMEM`; here later ones reserve less, and something is left for threads and allocations.
#[test]
fn large_reservations_leave_room_for_each_other() {
    const UPPER: u64 = 500 << 30;
    let name = "limits::large_reservations_leave_room_for_each_other";
    if child::part().is_some() {
        let open = |number: u32| {
            let path = child::path().join(number.to_string());
            Env::options().max_bytes(UPPER).map_bytes(1 << 40).open(path).unwrap()
        };
        let all: Vec<Env> = (0..200).map(open).collect();
        for env in &all {
            rewrite(env, 1).unwrap();
            let info = env.info().unwrap();
            assert!(info.max_bytes == UPPER && info.map_bytes >= UPPER, "{}", info.map_bytes);
        }
        assert_eq!(all[0].info().unwrap().map_bytes, 1 << 40, "the first has all it wants");
        let reader = all[199].clone();
        std::thread::spawn(move || first_byte(&reader.read().unwrap())).join().unwrap();
        drop(all);
        assert_eq!(open(3).info().unwrap().map_bytes, 1 << 40, "it is given back");
        say("done");
        return;
    }
    let place = Place::new();
    let mut child = Child::start(name, "child", place.path.parent().unwrap());
    assert_eq!(child.hear(), "done");
    child.finish();
}

/// A process that may have 1 GiB of addresses reserves less than it would like. Where that is too
/// little the error says so, and what was committed stays.
#[test]
fn a_limit_of_address_space() {
    const ROOM: u64 = 1 << 30;
    let name = "limits::a_limit_of_address_space";
    if child::part().is_some() {
        let open =
            |number: u32| Env::options().open(child::path().join(number.to_string())).unwrap();
        let all: Vec<Env> = (0..20).map(open).collect();
        let bytes: Vec<u64> = all.iter().map(|env| env.info().unwrap().map_bytes).collect();
        assert!(bytes.iter().sum::<u64>() < ROOM && bytes[0] > bytes[19], "{bytes:?}");
        all.iter().for_each(|env| rewrite(env, 1).unwrap());
        let small = &all[19];
        let value = vec![7; 1 << 20];
        let fill = |key: u32| {
            small.update(|txn| {
                let t = txn.create_table(&def())?;
                t.put(txn, &(1000 + key).to_be_bytes(), &value).map(drop)
            })
        };
        let mut kept = 0;
        let error = loop {
            match fill(kept) {
                Ok(()) => kept += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::MapTooSmall { map_bytes, .. } if map_bytes == bytes[19]));
        let count = small.view(|txn| txn.open_table(&def())?.unwrap().len(txn)).unwrap();
        assert!(count == 400 + u64::from(kept) && small.check().unwrap().is_clean());
        say(&kept.to_string());
        return;
    }
    let place = Place::new();
    let limit = format!("ulimit -v {}; exec \"$0\" \"$@\"", ROOM >> 10);
    let program = ["sh", "-c", &limit];
    let mut child = Child::start_under(&program, name, "child", place.path.parent().unwrap());
    let kept: u32 = child.hear().parse().unwrap();
    child.finish();
    // Without a limit it goes on.
    let env = Env::options().open(place.path.parent().unwrap().join("19")).unwrap();
    env.update(|txn| {
        let t = txn.create_table(&def())?;
        t.put(txn, &(1000 + kept).to_be_bytes(), &vec![7; 1 << 20]).map(drop)
    })
    .unwrap();
}

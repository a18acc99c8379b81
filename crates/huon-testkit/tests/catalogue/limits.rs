//! Limits that one process changes and others meet.

use huon::{Env, Error};

use super::child::{self, Child, listen, say};
use super::{Place, assert_clean, def, small};

fn fill(env: &Env, first: u32, count: u32) -> huon::Result<()> {
    env.update(|txn| {
        let t = txn.create(&def())?;
        (first..first + count).try_for_each(|n| t.put(txn, &n.to_be_bytes(), &[7; 1000]).map(drop))
    })
}

fn raise(env: &Env, upper_bytes: u64) -> huon::Result<()> {
    let mut geometry = env.info()?.geometry;
    geometry.upper_bytes = upper_bytes;
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
fn another_process_raises_the_upper_size() {
    if let Some(part) = child::part() {
        let reserve = if part == "short" { 2 << 20 } else { 64 << 20 };
        let env = small().upper_bytes(reserve).open(child::path()).unwrap();
        let reader = env.read().unwrap();
        say("ready");
        while let Some(order) = listen() {
            match order.as_str() {
                "fill" => answer(fill(&env, 0, 1500)),
                "raise" => answer(raise(&env, 8 << 20)),
                "lower" => answer(raise(&env, 1 << 20)),
                "read" => answer(env.read().map(drop)),
                "old" => answer(reader.table_names().map(drop)),
                _ => say(&env.info().unwrap().upper_bytes.to_string()),
            }
        }
        return;
    }
    let name = "limits::another_process_raises_the_upper_size";
    let place = Place::new();
    drop(small().upper_bytes(1 << 20).open(&place.path).unwrap());
    let mut long = Child::start(name, "long", &place.path);
    assert_eq!(long.hear(), "ready");
    let mut short = Child::start(name, "short", &place.path);
    assert_eq!(short.hear(), "ready");
    let full = long.ask("fill");
    assert!(full.starts_with("11 "), "MapFull: {full}");
    assert_eq!(long.ask("raise"), "done");
    assert_eq!(short.ask("upper"), (8 << 20).to_string());
    let refused = short.ask("raise");
    assert_eq!(refused, "done", "it is so already");
    assert_eq!(long.ask("fill"), "done");
    assert_eq!(short.ask("read"), "done", "it has room for that");
    let env = small().upper_bytes(64 << 20).open(&place.path).unwrap();
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
        let t = txn.create(&def())?;
        (0u32..400).try_for_each(|n| t.put(txn, &n.to_be_bytes(), &[byte; 60]).map(drop))
    })?;
    env.sync().map(drop)
}

fn first_byte(txn: &huon::ReadTxn) -> u8 {
    let t = txn.open(&def()).unwrap().expect("the table");
    let all: Vec<u8> = (t.iter(txn).unwrap()).map(|record| record.unwrap().1[0]).collect();
    assert!(all.len() == 400 && all.iter().all(|&byte| byte == all[0]), "one snapshot");
    all[0]
}

/// E12. LMDB and libmdbx: a process that sleeps in a read transaction makes the file grow to its
/// limit, and then nobody can write. Here the writer can say who it is, wait, end that process, or
/// break its transaction, if it is parked.
#[test]
fn readers_of_other_processes_in_the_way() {
    if child::part().is_some() {
        let env = small().upper_bytes(1 << 20).open(child::path()).unwrap();
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
    let env = small().upper_bytes(1 << 20).open(&place.path).unwrap();
    rewrite(&env, 0).unwrap();
    rewrite(&env, 1).unwrap();
    // Two versions have room, and no third.
    raise(&env, env.info().unwrap().used_bytes + (16 << 10)).unwrap();
    let mut child = Child::start(name, "child", &place.path);
    assert_eq!(child.hear(), "reading");
    let full = (2..8).find_map(|byte| rewrite(&env, byte).err());
    let Some(Error::MapFull(full)) = full else { panic!("it keeps what it reads: {full:?}") };
    assert_eq!(full.keepers.len(), 1);
    assert_ne!(full.keepers[0].pid, std::process::id());
    // Parked and not in the way: it comes back. Parked and in the way: it does not.
    assert_eq!(child.ask("park"), "parked");
    assert_eq!(child.ask("unpark"), "1");
    assert_eq!(child.ask("park"), "parked");
    (2..8).for_each(|byte| rewrite(&env, byte).unwrap());
    assert_eq!(child.ask("unpark"), "27", "Ousted");
    assert_eq!(child.ask("read"), "7");
    // It is live again, and its process is ended by who needs the pages.
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

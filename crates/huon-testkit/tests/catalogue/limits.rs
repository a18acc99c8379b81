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

/// LMDB: a process whose map was made before another one raised the size gets `MAP_RESIZED` and has
/// to find out itself, with no transaction of any thread open, or its map moves under its readers.
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
    assert!(small_map.starts_with("25 ") && small_map.contains("open it again"), "{small_map}");
    assert_eq!(short.ask("old"), "done", "what it reads already it can read");
    assert_eq!(long.ask("read"), "done");
    assert!(long.ask("lower").starts_with("11 "), "more is in use");
    assert!(matches!(raise(&env, 65 << 20), Err(Error::MapTooSmall { .. })));
    short.finish();
    long.finish();
    assert_clean(&env, "after all");
}

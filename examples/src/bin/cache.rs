//! A cache with a time to live and a limit of entries, shared by any number of processes.
//!
//! ```text
//! cargo run -p huon-examples --bin cache -- /tmp/cache.huon set greeting hello 60   # seconds
//! cargo run -p huon-examples --bin cache -- /tmp/cache.huon get greeting
//! cargo run -p huon-examples --bin cache -- /tmp/cache.huon watch greeting
//! ```
//!
//! `watch` prints each new value, whichever process sets it, until the key has none. Tuples make
//! the value of an entry and the key of the index that says which entry ends first. A cache may
//! lose its last entries in a power failure, so commits are lazy and wait for no disk.

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use huon::{Bytes, Durability, Env, Str, Table, TableDef, U64, Unit, WriteTxn};

/// When each entry ends, in milliseconds since 1970, and its value.
const ENTRIES: TableDef<Str, (U64, Bytes)> = TableDef::new("entries");
/// The keys of the entries, those that end first at the front.
const ENDS: TableDef<(U64, Str), Unit> = TableDef::new("ends");

const ENTRIES_MAX: u64 = 10_000;

struct Cache {
    env: Env,
    entries: Table<Str, (U64, Bytes)>,
    ends: Table<(U64, Str), Unit>,
}

impl Cache {
    fn new(env: Env) -> huon::Result<Cache> {
        let (entries, ends) =
            env.update(|txn| Ok((txn.create_table(&ENTRIES)?, txn.create_table(&ENDS)?)))?;
        Ok(Cache { env, entries, ends })
    }

    fn set(&self, key: &str, value: &[u8], now: u64, life: Duration) -> huon::Result<()> {
        let end = now + life.as_millis() as u64;
        self.env.update(|txn| {
            if let Some(old) = self.entries.replace(txn, key, (end, value))? {
                self.ends.remove(txn, (old.get()?.0, key))?;
            }
            self.ends.put(txn, (end, key), ())?;
            self.evict(txn, now)
        })
    }

    /// Removes entries that have ended, and the next to end while there are too many.
    fn evict(&self, txn: &mut WriteTxn, now: u64) -> huon::Result<()> {
        while let Some(((end, _), ())) = self.ends.first(txn)?
            && (end <= now || self.entries.len(txn)? > ENTRIES_MAX)
            && let Some((first, _)) = self.ends.pop_first(txn)?
        {
            let (_, key) = first.get()?;
            self.entries.remove(txn, key)?;
        }
        Ok(())
    }

    fn get(&self, key: &str, now: u64) -> huon::Result<Option<Vec<u8>>> {
        self.env.view(|txn| match self.entries.get(txn, key)? {
            Some((end, value)) if end > now => Ok(Some(value.to_vec())),
            _ => Ok(None),
        })
    }

    fn delete(&self, key: &str) -> huon::Result<bool> {
        self.env.update(|txn| {
            let Some(old) = self.entries.take(txn, key)? else { return Ok(false) };
            self.ends.remove(txn, (old.get()?.0, key))
        })
    }

    /// Hands each new value of a key to `show`, until the key has none.
    fn watch(&self, key: &str, mut show: impl FnMut(&[u8])) -> huon::Result<()> {
        let mut shown = None;
        loop {
            // Taken before the look, so that no commit falls between the look and the sleep.
            let seen = self.env.read()?.id();
            let Some(value) = self.get(key, now_ms())? else { return Ok(()) };
            if shown.as_ref() != Some(&value) {
                show(&value);
                shown = Some(value);
            }
            self.env.wait_for_commit(seen, Duration::from_secs(1))?;
        }
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let [path, command @ ..] = &args[..] else { return Err("cache FILE COMMAND ..".into()) };
    let cache = Cache::new(Env::options().durability(Durability::Lazy).open(path)?)?;
    let show = |value: &[u8]| println!("{}", String::from_utf8_lossy(value));
    match command {
        ["set", key, value, seconds] => {
            let life = Duration::try_from_secs_f64(seconds.parse()?)?;
            cache.set(key, value.as_bytes(), now_ms(), life)?;
        }
        ["get", key] => show(&cache.get(key, now_ms())?.ok_or("there is no such entry")?),
        ["delete", key] => println!("{}", cache.delete(key)?),
        ["watch", key] => cache.watch(key, show)?,
        _ => {
            return Err(
                "cache FILE set KEY VALUE SECONDS | get KEY | delete KEY | watch KEY".into()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_end_and_make_room() -> huon::Result<()> {
        let cache = Cache::new(Env::in_memory()?)?;
        let minute = Duration::from_secs(60);
        cache.set("short", b"1", 0, Duration::from_secs(1))?;
        cache.set("long", b"2", 0, minute)?;
        assert_eq!(cache.get("short", 999)?.as_deref(), Some(&b"1"[..]));
        assert_eq!(cache.get("short", 1000)?, None);
        // A new value has a life of its own, and sweeps out what has ended.
        cache.set("long", b"3", 1000, minute)?;
        assert_eq!(cache.get("long", 60_500)?.as_deref(), Some(&b"3"[..]));
        let txn = cache.env.read()?;
        assert_eq!((cache.entries.len(&txn)?, cache.ends.len(&txn)?), (1, 1));
        for n in 0..ENTRIES_MAX {
            cache.set(&n.to_string(), b"", 2000 + n, minute)?;
        }
        assert_eq!(cache.get("long", 2000)?, None, "the first to end makes room");
        assert_eq!(cache.entries.len(&cache.env.read()?)?, ENTRIES_MAX);
        Ok(())
    }
}

//! A cache with a time to live and a limit of entries, shared by processes.
//!
//! ```text
//! cache /tmp/cache.huon set greeting hello 60     # seconds
//! cache /tmp/cache.huon get greeting
//! cache /tmp/cache.huon watch greeting            # prints each new value, from any process
//! ```
//!
//! A cache may lose what was written last, so commits are lazy: no flush, about a microsecond. What
//! has run out is not shown, and is removed when something is put; the entry that runs out first
//! goes first where there are too many.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use huon::{Bytes, Durability, Env, Result, Str, Table, TableDef, U64, Unit, WriteTxn};

/// Value and time of its end, by key.
const ENTRIES: TableDef<Str, Bytes> = TableDef::new("entries");
/// Which entry ends when, in milliseconds since 1970.
const ENDS: TableDef<(U64, Str), Unit> = TableDef::new("ends");

const ENTRIES_MAX: u64 = 10_000;

#[derive(Clone, Copy)]
struct Cache {
    entries: Table<Str, Bytes>,
    ends: Table<(U64, Str), Unit>,
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// The end of an entry, and its value.
fn parts(entry: &[u8]) -> Option<(u64, &[u8])> {
    let (end, value) = entry.split_first_chunk()?;
    Some((u64::from_be_bytes(*end), value))
}

impl Cache {
    fn open(env: &Env) -> Result<Cache> {
        env.update(|txn| {
            Ok(Cache { entries: txn.create_table(&ENTRIES)?, ends: txn.create_table(&ENDS)? })
        })
    }

    fn remove(&self, txn: &mut WriteTxn, key: &str) -> Result<bool> {
        let end = self.entries.get(txn, key)?.and_then(parts).map(|(end, _)| end);
        let Some(end) = end else { return Ok(false) };
        self.ends.remove(txn, (end, key))?;
        self.entries.remove(txn, key)
    }

    fn set(&self, txn: &mut WriteTxn, key: &str, value: &[u8], time: Duration) -> Result<()> {
        self.remove(txn, key)?;
        self.make_room(txn)?;
        let end = now_ms() + time.as_millis() as u64;
        let entry = [&end.to_be_bytes(), value].concat();
        self.entries.put(txn, key, &entry)?;
        self.ends.put(txn, (end, key), ())?;
        Ok(())
    }

    /// Removes what has run out, and what runs out first if there are too many entries.
    fn make_room(&self, txn: &mut WriteTxn) -> Result<()> {
        let now = now_ms();
        while let Some(((end, key), ())) = self.ends.first(txn)? {
            if end > now && self.entries.len(txn)? < ENTRIES_MAX {
                break;
            }
            let key = key.to_owned();
            self.remove(txn, &key)?;
        }
        Ok(())
    }

    fn get(&self, env: &Env, key: &str) -> Result<Option<Vec<u8>>> {
        env.view(|txn| {
            let entry = self.entries.get(txn, key)?.and_then(parts);
            Ok(entry.filter(|(end, _)| *end > now_ms()).map(|(_, value)| value.to_vec()))
        })
    }

    /// Shows each new value of a key, until it has run out.
    fn watch(&self, env: &Env, key: &str) -> Result<()> {
        let mut shown = None;
        loop {
            let seen = env.read()?.id();
            let now = self.get(env, key)?;
            if now.is_some() && now != shown {
                println!("{}", String::from_utf8_lossy(now.as_deref().unwrap_or_default()));
            } else if now.is_none() && shown.is_some() {
                return Ok(());
            }
            shown = now;
            env.wait_for_commit(seen, Duration::from_secs(1))?;
        }
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    const USAGE: &str = "usage: cache FILE set KEY VALUE SECONDS | get KEY | del KEY | watch KEY";
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (path, order) = words.split_first().ok_or(USAGE)?;
    let env = Env::options().durability(Durability::Lazy).open(path)?;
    let cache = Cache::open(&env)?;
    match order {
        ["set", key, value, seconds] => {
            let time = Duration::from_secs_f64(seconds.parse()?);
            env.update(|txn| cache.set(txn, key, value.as_bytes(), time))?;
        }
        ["get", key] => match cache.get(&env, key)? {
            Some(value) => println!("{}", String::from_utf8_lossy(&value)),
            None => return Err(format!("{key} is not there").into()),
        },
        ["del", key] => drop(env.update(|txn| cache.remove(txn, key))?),
        ["watch", key] => cache.watch(&env, key)?,
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

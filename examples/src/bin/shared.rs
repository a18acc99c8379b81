//! Several processes share one file: each counts in a record of its own and in one that all share,
//! while their parent reads.
//!
//! ```text
//! cargo run -p huon-examples --bin shared -- counts.huon 4 1000   # 4 processes, 1000 counts each
//! ```
//!
//! Nothing has to be said for that: a process opens the file, and it has joined the others.
//! Writers queue, so that no count is lost. A reader waits for none of them, and each of its
//! snapshots is whole: the shared count is the sum of the others.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use huon::{Durability, Env, Str, Table, TableDef, U32, U64};

/// The count of all processes.
const TOTAL: TableDef<Str, U64> = TableDef::new("total");
/// The count of each process, by its number.
const COUNTS: TableDef<U32, U64> = TableDef::new("counts");

struct Counters {
    env: Env,
    total: Table<Str, U64>,
    counts: Table<U32, U64>,
}

impl Counters {
    fn open(path: &str) -> huon::Result<Counters> {
        // Lazy: a count that was committed outlives its process, and waits for no disk.
        let env = Env::options().durability(Durability::Lazy).open(path)?;
        let (total, counts) =
            env.update(|txn| Ok((txn.create_table(&TOTAL)?, txn.create_table(&COUNTS)?)))?;
        Ok(Counters { env, total, counts })
    }

    /// What each of the processes does.
    fn count(&self, rounds: u64) -> huon::Result<()> {
        for _ in 0..rounds {
            self.env.update(|txn| {
                self.total.update_with(txn, "all", |old, new| new.set(old.unwrap_or(0) + 1))?;
                let process = std::process::id();
                self.counts.update_with(txn, process, |old, new| new.set(old.unwrap_or(0) + 1))
            })?;
        }
        Ok(())
    }

    /// The newest snapshot and its count.
    fn look(&self) -> huon::Result<(u64, u64)> {
        self.env.view(|txn| {
            let total = self.total.get(txn, "all")?.unwrap_or(0);
            let sum =
                self.counts.iter(txn)?.map(|count| Ok(count?.1)).sum::<huon::Result<u64>>()?;
            assert_eq!(total, sum, "a snapshot is never half of a transaction");
            Ok((txn.id(), total))
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [path, processes, rounds] => {
            let counters = Counters::open(path)?;
            let (processes, rounds): (u64, u64) = (processes.parse()?, rounds.parse()?);
            let (mut snapshot, mut total) = counters.look()?;
            let end = total + processes * rounds;
            let mut children = Vec::new();
            for _ in 0..processes {
                let program = std::env::current_exe()?;
                children.push(Command::new(program).args([path, &rounds.to_string()]).spawn()?);
            }
            let mut looks = 0;
            while total < end {
                // A second without a commit: has a process failed?
                if counters.env.wait_for_commit(snapshot, Duration::from_secs(1))?.is_none() {
                    for child in &mut children {
                        if child.try_wait()?.is_some_and(|status| !status.success()) {
                            return Err("a process has failed".into());
                        }
                    }
                }
                (snapshot, total) = counters.look()?;
                looks += 1;
            }
            for mut child in children {
                child.wait()?;
            }
            println!("{total} counted; {looks} snapshots read meanwhile");
        }
        [path, rounds] => Counters::open(path)?.count(rounds.parse()?)?,
        _ => return Err("shared FILE PROCESSES ROUNDS".into()),
    }
    Ok(())
}

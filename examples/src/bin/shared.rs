//! Several processes share one file: each counts in a table of its own and in one that is shared,
//! while another reads.
//!
//! ```text
//! shared counts.huon 4 1000      # four processes, a thousand increments each
//! ```

use std::process::Command;

use huon::{Durability, Env, Result, Str, TableDef, U32, U64};

const TOTAL: TableDef<Str, U64> = TableDef::new("total");
const BY_PROCESS: TableDef<U32, U64> = TableDef::new("by-process");

/// A process of the four: one writer at a time, so no increment is lost.
fn count(env: &Env, rounds: u64) -> Result<()> {
    let (total, by_process) = env.update(|txn| {
        Ok((txn.create_table(&TOTAL)?, txn.create_table(&BY_PROCESS)?))
    })?;
    let me = std::process::id();
    for _ in 0..rounds {
        env.update(|txn| {
            let all = total.get(txn, "all")?.unwrap_or(0);
            total.put(txn, "all", all + 1)?;
            let own = by_process.get(txn, me)?.unwrap_or(0);
            by_process.put(txn, me, own + 1)
        })?;
    }
    Ok(())
}

/// In any snapshot the total is the sum of all that the processes have counted.
fn look(env: &Env) -> Result<u64> {
    let (total, by_process) = (env.table(&TOTAL)?, env.table(&BY_PROCESS)?);
    env.view(|txn| {
        let Some(all) = total.get(txn, "all")? else { return Ok(0) };
        let counts: Result<Vec<u64>> =
            by_process.iter(txn)?.map(|count| count.map(|(_, own)| own)).collect();
        assert_eq!(counts?.iter().sum::<u64>(), all, "a snapshot is never half a transaction");
        Ok(all)
    })
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (path, rest) = args.split_first().ok_or("usage: shared FILE PROCESSES ROUNDS")?;
    // Lazy: the counts outlive a process, and the last to close the file flushes them.
    let env = Env::options().durability(Durability::Lazy).open(path)?;
    match rest {
        [processes, rounds] => {
            let (processes, expected): (u64, u64) = (processes.parse()?, rounds.parse()?);
            let expected = look(&env)? + processes * expected;
            let mut children = Vec::new();
            for _ in 0..processes {
                let me = std::env::current_exe()?;
                children.push(Command::new(me).args([path, rounds]).spawn()?);
            }
            let mut looks = 0;
            while look(&env)? < expected {
                looks += 1;
                if children.iter_mut().all(|child| matches!(child.try_wait(), Ok(Some(_)))) {
                    break;
                }
            }
            for mut child in children {
                assert!(child.wait()?.success());
            }
            println!("{} counted, {looks} looks at whole snapshots", look(&env)?);
            assert_eq!(look(&env)?, expected);
        }
        [rounds] => count(&env, rounds.parse()?)?,
        _ => return Err("usage: shared FILE PROCESSES ROUNDS".into()),
    }
    Ok(())
}

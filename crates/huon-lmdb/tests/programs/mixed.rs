//! Programs in C and one in Rust work on the same environment at the same time, and the one in Rust
//! on another beside it, while both are checked again and again.
//!
//! 1. What a program in C sees must hold is said at the head of `tests/c/mixed.c`; here the same is
//!    looked at by Rust, in one snapshot for the tables of both.
//! 2. Now and then one of the programs is killed, without notice to the others.
//! 3. Checks open the environment anew, as the `huon` command does, and find nothing.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::library::LIBRARY;
use huon::{Bytes, Durability, Env, MultiDef, TableDef, WriteTxn};
use huon_testkit::audit::audit;
use huon_testkit::c_library::programs::{Built, Library, are_installed};
use huon_testkit::random::Random;
use huon_testkit::{figures, scale};

/// A program in C, `tests/c/mixed.c` of a library.
struct Interface {
    library: Library,
    /// The data file that it makes in its directory.
    file: &'static str,
    /// What runs at the same time, each in a process of its own.
    roles: &'static [&'static str],
    /// The role whose process is killed now and then, and started again.
    killed: &'static str,
}

/// Each works in a directory of its own. Another interface is another line, and a program.
const INTERFACES: [Interface; 2] = [
    Interface {
        library: LIBRARY,
        file: "data.mdb",
        roles: &["writer", "cursors", "readers"],
        killed: "lazy-writer",
    },
    Interface {
        library: Library {
            name: "huon_mdbx",
            built: "huon_mdbx",
            crate_dir: concat!(env!("CARGO_MANIFEST_DIR"), "/../huon-mdbx"),
            header: "mdbx.h",
        },
        file: "db/mdbx.dat",
        roles: &["writer", "readers"],
        killed: "lazy-writer",
    },
];

type Def = TableDef<Bytes, Bytes>;
const OF_RUST: Def = TableDef::new("rust-accounts");
const OF_C: Def = TableDef::new("c-accounts");
const INDEX: MultiDef<Bytes, Bytes> = MultiDef::new("c-index");
const ACCOUNTS: u64 = 100;
const SUM: u64 = 1000 * ACCOUNTS;

/// How long all of it works, in a proof.
const SECONDS: u64 = 30;
const KILLED_EACH: Duration = Duration::from_millis(250);

/// A program that was built, and a place for its files.
struct Program<'i> {
    path: PathBuf,
    built: Built<'i>,
    of: &'i Interface,
}

impl Program<'_> {
    fn dir(&self) -> PathBuf {
        self.built.path().join("files")
    }

    fn file(&self) -> PathBuf {
        self.dir().join(self.of.file)
    }
}

/// A process in a role. It works until its standard input ends.
struct Worker {
    role: &'static str,
    child: Child,
}

impl Worker {
    fn start(program: &Program<'_>, role: &'static str) -> Worker {
        let mut command = program.built.command(&program.path);
        command.arg(role).arg(program.dir()).stdin(Stdio::piped()).stdout(Stdio::piped());
        Worker { role, child: command.spawn().expect("a program that starts") }
    }

    /// Ends it, and says how many rounds it made.
    fn end(mut self) -> u64 {
        drop(self.child.stdin.take());
        let mut said = String::new();
        let out = self.child.stdout.as_mut().expect("a pipe");
        out.read_to_string(&mut said).expect("what it says");
        let status = self.child.wait().expect("an end");
        assert!(status.success(), "{}: {status}\n{said}", self.role);
        let rounds = said.trim().strip_suffix(" rounds").and_then(|count| count.parse().ok());
        rounds.unwrap_or_else(|| panic!("{}: {said}", self.role))
    }

    fn kill(mut self) {
        let ended = self.child.try_wait().expect("a state");
        assert!(ended.is_none(), "{}: {ended:?}, see above", self.role);
        self.child.kill().expect("a process that can be killed");
        self.child.wait().expect("an end");
    }
}

fn amount(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

fn open(path: &Path) -> Env {
    let mut options = Env::options();
    options.lock_timeout(Duration::from_secs(60));
    options.open(path).expect("an environment")
}

fn fill(env: &Env) {
    let filled = env.update(|txn| {
        let table = txn.create_table(&OF_RUST)?;
        (0..ACCOUNTS as u32).try_for_each(|account| {
            table.put(txn, &account.to_be_bytes(), &1000u64.to_le_bytes()).map(drop)
        })
    });
    filled.expect("a commit");
}

/// Moves an amount from one account to another.
fn transfer(txn: &mut WriteTxn, random: &mut Random) -> huon::Result<()> {
    let table = txn.create_table(&OF_RUST)?;
    let [from, to] = [0; 2].map(|_| (random.below(ACCOUNTS) as u32).to_be_bytes());
    let held = amount(table.get(txn, &from)?.expect("an account"));
    let moved = random.below(held + 1);
    table.put(txn, &from, &(held - moved).to_le_bytes())?;
    let held = amount(table.get(txn, &to)?.expect("an account"));
    table.put(txn, &to, &(held + moved).to_le_bytes())?;
    Ok(())
}

/// Asserts in one snapshot what must hold in each, for the tables that are there.
fn look(env: &Env, defs: &[Def]) {
    let txn = env.read().expect("a transaction");
    for def in defs {
        let table = txn.open_table(def).expect("it opens").expect("a table");
        let amounts = table.iter(&txn).expect("an iterator");
        let sum: u64 = amounts.map(|record| amount(record.expect("a record").1)).sum();
        assert_eq!(sum, SUM, "{def:?} in snapshot {}", txn.id());
    }
    if let Some(index) = txn.open_table(&INDEX).expect("it opens") {
        assert_eq!(index.len(&txn).expect("a count"), ACCOUNTS, "snapshot {}", txn.id());
    }
}

/// Work in Rust: what is done again and again until `stop`, and how often it was.
struct Work<'a> {
    stop: &'a AtomicBool,
    count: AtomicU64,
}

impl<'a> Work<'a> {
    fn new(stop: &'a AtomicBool) -> Work<'a> {
        Work { stop, count: AtomicU64::new(0) }
    }

    fn repeat(&self, mut round: impl FnMut(u64)) {
        while !self.stop.load(Ordering::Relaxed) {
            round(self.count.fetch_add(1, Ordering::Relaxed));
        }
    }

    fn write(&self, path: &Path) {
        let env = open(path);
        let mut random = Random::new(scale::seed("mixed", 0));
        self.repeat(|n| {
            let mut txn = env.write().expect("a transaction");
            transfer(&mut txn, &mut random).expect("a transfer");
            let modes = [Durability::Durable, Durability::Lazy, Durability::NoMetaSync];
            match n % 4 {
                3 => txn.abort(),
                mode => txn.commit_with(modes[mode as usize]).map(drop).expect("a commit"),
            }
        });
    }

    fn read(&self, path: &Path, defs: &[Def]) {
        let env = open(path);
        self.repeat(|_| look(&env, defs));
    }

    fn check(&self, paths: &[PathBuf]) {
        self.repeat(|n| {
            let path = &paths[n as usize % paths.len()];
            let found = audit(&open(path));
            assert!(found.is_ok(), "{}: {found:?}", path.display());
        });
    }
}

/// Sets the flag when dropped, so that no thread works for ever beside one that has failed.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets the programs work for a while; how many rounds each role made.
fn run_programs(programs: &[Program<'_>]) -> Vec<(String, u64)> {
    let mut steady = Vec::new();
    for program in programs {
        steady.extend(program.of.roles.iter().map(|role| Worker::start(program, role)));
    }
    let until = Instant::now() + Duration::from_secs(scale::share(SECONDS));
    let mut kills_count = 0;
    while Instant::now() < until {
        let short = programs.iter().map(|program| Worker::start(program, program.of.killed));
        let short: Vec<Worker> = short.collect();
        thread::sleep(KILLED_EACH);
        kills_count += short.len() as u64;
        short.into_iter().for_each(Worker::kill);
    }
    let ended = steady.into_iter().map(|worker| (worker.role.to_owned(), worker.end()));
    ended.chain([("killed".to_owned(), kills_count)]).collect()
}

#[test]
fn programs_in_c_and_rust_work_beside_each_other() {
    if !are_installed(&["cc"], "programs_in_c_and_rust_work_beside_each_other") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let own = dir.path().join("own.huon");
    fill(&open(&own));
    let programs = INTERFACES.each_ref().map(|of| {
        let built = of.library.built();
        let program = Program { path: built.shared("mixed"), built, of };
        fs::create_dir(program.dir()).expect("a directory");
        Worker::start(&program, "fill").end();
        fill(&open(&program.file()));
        program
    });
    let shared: Vec<PathBuf> = programs.iter().map(Program::file).collect();
    let all: Vec<PathBuf> = shared.iter().chain([&own]).cloned().collect();

    let stop = AtomicBool::new(false);
    let [writes, reads, checks] = [0; 3].map(|_| Work::new(&stop));
    let mut made = thread::scope(|scope| {
        let stop = Stop(&stop);
        for path in &all {
            scope.spawn(|| writes.write(path));
        }
        for path in &shared {
            scope.spawn(|| reads.read(path, &[OF_RUST, OF_C]));
        }
        scope.spawn(|| reads.read(&own, &[OF_RUST]));
        scope.spawn(|| checks.check(&all));
        let made = run_programs(&programs);
        drop(stop);
        made
    });
    let counted = [("writes", &writes), ("reads", &reads), ("checks", &checks)];
    made.extend(
        counted.map(|(name, work)| (format!("{name} in Rust"), work.count.load(Ordering::Relaxed))),
    );
    println!("{made:?}");
    assert!(made.iter().all(|&(_, count)| count > 1), "{made:?}");
    figures::add("audit", checks.count.load(Ordering::Relaxed));

    for path in &all {
        audit(&open(path)).expect("nothing is found");
        look(&open(path), &[OF_RUST]);
    }
}

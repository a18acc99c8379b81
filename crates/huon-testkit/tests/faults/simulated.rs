//! Every call of the data file and of the lock file fails, once and from then on, with each error,
//! on a simulated machine whose failed flushes lose data.
//!
//! `HUON_CASE` runs the one case of that name.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use huon::sim::{FaultCall, FaultPlan, SimDisk, Torn};
use huon::{Bytes, Env, Error, Options, TableDef};
use huon_testkit::faults::workloads;
use huon_testkit::faults::{Crash, Ground, Manner, Run, Switch};
use huon_testkit::figures;
use huon_testkit::history::panic_text;
use huon_testkit::scale;

/// The errors that a call may give. The lowest layer passes on the kernel's error, and a file
/// system may give any: so every call is tried with all of them.
const ERRORS: [(&str, i32); 7] = [
    ("EIO", 5),
    ("ENOSPC", 28),
    ("EINTR", 4),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EDQUOT", 122),
    ("EFBIG", 27),
];
/// What a failing write has written.
const TORN: [(&str, Torn); 4] = [
    ("nothing", Torn::First(0)),
    ("1 byte", Torn::First(1)),
    ("700 bytes", Torn::First(700)),
    ("all but 1 byte", Torn::AllBut(1)),
];
const RESERVE_BYTES: u64 = 8 << 20;

#[derive(Clone, Copy, Debug)]
struct Setup {
    page_bytes: usize,
    spill_pages: usize,
    shrink_pages: usize,
}

const SETUPS: [Setup; 3] = [
    Setup { page_bytes: 256, spill_pages: 8, shrink_pages: 4 },
    Setup { page_bytes: 512, spill_pages: 1000, shrink_pages: 4 },
    Setup { page_bytes: 4096, spill_pages: 8, shrink_pages: 0 },
];

impl Setup {
    fn options(&self) -> Options {
        let mut options = Env::options();
        options
            .page_bytes(self.page_bytes)
            .max_bytes(RESERVE_BYTES)
            .grow_bytes(8 * self.page_bytes as u64)
            .shrink_bytes((self.shrink_pages * self.page_bytes) as u64)
            .write_buffer_bytes(self.spill_pages * self.page_bytes);
        options
    }
}

/// A simulated machine, and the plan of its client under test.
struct Simulated {
    disk: RefCell<SimDisk>,
    plan: FaultPlan,
}

impl Simulated {
    fn new(plan: &FaultPlan) -> Simulated {
        plan.pause(true);
        let disk = SimDisk::new(RESERVE_BYTES).expect("a machine").quiet().lossy();
        Simulated { disk: RefCell::new(disk), plan: plan.clone() }
    }

    fn crashed(&self, how: Crash) -> SimDisk {
        let disk = self.disk.borrow();
        let later = match how {
            Crash::Kill => disk.after_crash(&disk.image(), true),
            Crash::PowerLoss => disk.after_crash(&disk.flushed_image(), false),
        };
        let journal = match how {
            Crash::Kill => disk.journal_image(),
            Crash::PowerLoss => disk.flushed_journal_image(),
        };
        let later = later.expect("a machine").with_journal_image(&journal);
        later.with_lock_image(&disk.lock_image()).quiet()
    }
}

impl Switch for Simulated {
    fn arm(&self, on: bool) {
        self.plan.pause(!on);
    }
}

impl Ground for Simulated {
    fn open(&self, options: &Options) -> Result<Env, Error> {
        options.open_faulty(&self.disk.borrow(), &self.plan)
    }

    fn open_healthy(&self, options: &Options) -> Result<Env, Error> {
        options.open_simulated(&self.disk.borrow())
    }

    fn open_guest(&self, options: &Options) -> Option<Result<Env, Error>> {
        Some(options.open_faulty_to_read(&self.disk.borrow(), &self.plan))
    }

    fn reads_fail(&self) -> bool {
        true
    }

    fn fired(&self) -> u64 {
        self.plan.fired()
    }

    fn image(&self) -> Vec<u8> {
        self.disk.borrow().image()
    }

    fn after_kill(&self, options: &Options) -> Option<Result<Env, Error>> {
        Some(options.open_simulated(&self.crashed(Crash::Kill)))
    }

    fn after_power_loss(&self, options: &Options) -> Option<Result<Env, Error>> {
        Some(options.open_simulated(&self.crashed(Crash::PowerLoss)))
    }

    fn crash(&self, how: Crash) -> bool {
        let later = self.crashed(how).lossy();
        *self.disk.borrow_mut() = later;
        true
    }

    fn directory(&self) -> Option<&Path> {
        None
    }
}

/// Openings that are refused, so that nothing else is done.
const REFUSED: [(&str, Refused); 2] = [
    ("open with the lock file lost", |options, disk, plan| {
        disk.lose_lock_file();
        options.open_faulty(disk, plan)
    }),
    ("open by hand", |options, disk, plan| {
        options.clone().read_only(true).meta_slot(0).open_faulty(disk, plan)
    }),
];

type Refused = fn(&Options, &SimDisk, &FaultPlan) -> Result<Env, Error>;

/// While another client has the file open an opening is refused, whatever fails; the other goes on.
fn run_refused(open: Refused, setup: &Setup, plan: &FaultPlan) {
    const MAIN: TableDef<Bytes, Bytes> = TableDef::main();
    let disk = SimDisk::new(RESERVE_BYTES).expect("a machine").quiet().lossy();
    let env = setup.options().open_simulated(&disk).expect("an environment");
    let put = |env: &Env, key: &[u8]| {
        env.update(|txn| txn.create_table(&MAIN)?.put(txn, key, key).map(drop)).expect("a commit");
    };
    put(&env, b"before");
    let error = open(&setup.options(), &disk, plan).expect_err("it is refused");
    assert!(matches!(error, Error::Io(_) | Error::Busy(_)), "{error}");
    put(&env, b"after");
    drop(env);
    let env = setup.options().open_simulated(&disk).expect("an environment");
    let txn = env.read().expect("a reader");
    let main = txn.open_table(&MAIN).expect("the main table").expect("there always is one");
    assert_eq!(main.len(&txn).expect("a count"), 2);
    assert!(env.check().expect("a check").is_clean());
}

/// One fault: in which workload, which call, how.
#[derive(Clone, Copy)]
struct Case {
    workload: usize,
    setup: usize,
    number: u64,
    call: FaultCall,
    error: usize,
    torn: usize,
    for_good: bool,
    manner: Manner,
}

impl Case {
    fn name(&self) -> String {
        format!(
            "{}/{}/call {} ({})/{}/{}/{}/{}",
            name_of(self.workload),
            SETUPS[self.setup].page_bytes,
            self.number,
            self.call.operation(),
            ERRORS[self.error].0,
            TORN[self.torn].0,
            if self.for_good { "from then on" } else { "once" },
            self.manner,
        )
    }

    fn plan(&self) -> FaultPlan {
        let plan = FaultPlan::new();
        let errno = ERRORS[self.error].1;
        if self.for_good {
            plan.fail_from(self.number, errno);
        } else {
            plan.fail_once(self.number, errno);
        }
        plan.tear_writes(TORN[self.torn].1);
        plan
    }

    fn run(&self) {
        let plan = self.plan();
        run(self.workload, &SETUPS[self.setup], &plan, self.manner, &self.name());
        assert!(plan.fired() > 0, "{}: nothing failed", self.name());
        assert_eq!(plan.first_fired(), Some(self.call), "{}", self.name());
    }
}

/// The name of a workload; refused openings come after all others.
fn name_of(workload: usize) -> &'static str {
    let refused = |n: usize| REFUSED[n - workloads::ALL.len()].0;
    workloads::ALL.get(workload).map_or_else(|| refused(workload), |its| its.name)
}

/// Runs a workload; panics with its name if anything is wrong.
fn run(workload: usize, setup: &Setup, plan: &FaultPlan, manner: Manner, name: &str) {
    let mut errors = Vec::new();
    let ran = catch_unwind(AssertUnwindSafe(|| match workloads::ALL.get(workload) {
        Some(workload) => {
            let ground = Simulated::new(plan);
            let options = setup.options();
            let mut run = Run::new(&ground, setup.page_bytes, &options);
            let ran = catch_unwind(AssertUnwindSafe(|| run.whole(workload, manner)));
            errors = run.errors().to_vec();
            ran.unwrap_or_else(|panic| resume_unwind(panic));
        }
        None => run_refused(REFUSED[workload - workloads::ALL.len()].1, setup, plan),
    }));
    if let Err(panic) = ran {
        panic!(
            "{name}: {}\nerrors: {errors:#?}\nagain: HUON_CASE='{name}' \
             cargo test -p huon-testkit --test faults",
            panic_text(&*panic),
        );
    }
}

/// Every case there is, from runs in which nothing fails. The manners take turns, and so do half of
/// the errors with all setups but the first.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (setup, workload, manner) in runs() {
        let plan = FaultPlan::new();
        let name = format!("{}/{}/{manner}", name_of(workload), SETUPS[setup].page_bytes);
        run(workload, &SETUPS[setup], &plan, manner, &name);
        // A client that waits in vain makes the same calls again and again.
        let calls = if workload < workloads::ALL.len() { usize::MAX } else { 12 };
        for (number, call) in plan.calls_made().into_iter().enumerate().take(calls) {
            for (error, for_good) in (0..ERRORS.len()).flat_map(|e| [(e, false), (e, true)]) {
                // Torn writes take turns.
                let torn = (number + error) % TORN.len() * usize::from(call == FaultCall::Write);
                let number = number as u64;
                let turn = number + error as u64 + 3 * u64::from(for_good);
                let case = Case { workload, setup, number, call, error, torn, for_good, manner };
                if Manner::of(turn) == manner && (setup == 0 || turn / 4 % 2 == setup as u64 % 2) {
                    cases.push(case);
                }
            }
        }
    }
    cases
}

/// Setups, workloads, and manners.
fn runs() -> impl Iterator<Item = (usize, usize, Manner)> {
    let workloads = 0..workloads::ALL.len();
    let all = (0..SETUPS.len())
        .flat_map(move |setup| workloads.clone().map(move |workload| (setup, workload)));
    let refused = workloads::ALL.len()..workloads::ALL.len() + REFUSED.len();
    all.chain(refused.map(|workload| (0, workload)))
        .flat_map(|(setup, workload)| Manner::ALL.map(|manner| (setup, workload, manner)))
}

/// All cases in a proof; else a part of them, every tenth unless told otherwise, and as many more
/// as it takes to try each call with each error, once and for good.
fn chosen(all: Vec<Case>) -> Vec<Case> {
    if let Ok(name) = std::env::var("HUON_CASE") {
        return all.into_iter().filter(|case| case.name() == name).collect();
    }
    let count = all.len() as u64;
    let step = count.div_ceil(scale::share(count)).max(1);
    let first = scale::seed("faults", 0) % step;
    let mut met = BTreeSet::new();
    let (mut chosen, rest): (Vec<_>, Vec<_>) =
        all.into_iter().enumerate().partition(|(n, _)| *n as u64 % step == first);
    let kind = |case: &Case| (case.call, case.error, case.torn, case.for_good);
    met.extend(chosen.iter().map(|(_, case)| kind(case)));
    chosen.extend(rest.into_iter().filter(|(_, case)| met.insert(kind(case))));
    chosen.into_iter().map(|(_, case)| case).collect()
}

/// Runs all cases on all cores; returns those that failed.
fn run_all(cases: &[Case]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(panic) = catch_unwind(|| case.run()) {
                        failed.lock().unwrap().push(panic_text(&*panic));
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

/// How often each call failed with each error.
fn table(cases: &[Case]) -> String {
    let mut counts: BTreeMap<(FaultCall, usize), u64> = BTreeMap::new();
    for case in cases {
        *counts.entry((case.call, case.error)).or_default() += 1;
    }
    let names: Vec<&str> = ERRORS.iter().map(|(name, _)| *name).collect();
    let mut text = format!("| call | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(7));
    for call in FaultCall::ALL {
        text += &format!("| {} |", call.operation());
        for (error, (name, _)) in ERRORS.iter().enumerate() {
            let count = counts.get(&(call, error)).copied().unwrap_or(0);
            assert!(count > 0, "{} never failed with {name}", call.operation());
            text += &format!(" {count} |");
        }
        text.push('\n');
    }
    text
}

#[test]
fn every_call_fails_in_turn() {
    let cases = chosen(cases());
    let failed = run_all(&cases);
    if let Some(first) = failed.first() {
        panic!("{} of {} cases failed; the first: {first}", failed.len(), cases.len());
    }
    if std::env::var_os("HUON_CASE").is_some() {
        return assert_eq!(cases.len(), 1, "no case has that name");
    }
    figures::table("faults by call and error", &table(&cases));
    let lock = cases.iter().filter(|case| case.call.is_lock()).count() as u64;
    let storage = cases.len() as u64 - lock;
    figures::named("faults.storage", storage);
    figures::named("faults.lock", lock);
    figures::add("fault", storage + lock);
}

/// A failed flush may have lost what it should have written, and the next one succeeds without it:
/// so the commit is not acknowledged, and no client commits before the environment was opened anew.
#[test]
fn a_failed_flush_is_final_for_all_clients() {
    const MAIN: TableDef<Bytes, Bytes> = TableDef::main();
    for large in [false, true] {
        let disk = SimDisk::new(16 << 20).unwrap().lossy();
        let open = || Env::options().open_simulated(&disk).unwrap();
        let (first, second) = (open(), open());
        let put = |env: &Env, key: &[u8]| {
            let bytes = if large { 2 << 20 } else { 10 };
            env.update(|txn| txn.create_table(&MAIN)?.put(txn, key, &vec![1; bytes]).map(drop))
        };
        put(&first, b"kept").unwrap();
        let reader = second.read().unwrap();
        disk.fail_syncs(1);
        assert!(put(&first, b"lost").is_err(), "a commit whose flush failed is acknowledged");
        for env in [&first, &second] {
            assert!(matches!(env.write(), Err(Error::Poisoned)));
            assert!(matches!(env.sync(), Err(Error::Poisoned)));
        }
        let main = reader.open_table(&MAIN).unwrap().unwrap();
        assert!(main.contains(&reader, b"kept").unwrap(), "readers go on");
        drop((reader, first, second));
        let env = open();
        let txn = env.read().unwrap();
        let main = txn.open_table(&MAIN).unwrap().unwrap();
        assert!(main.contains(&txn, b"kept").unwrap());
        assert!(env.check().unwrap().is_clean());
        put(&env, b"again").unwrap();
    }
}

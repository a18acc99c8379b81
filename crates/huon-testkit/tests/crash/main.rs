//! Crash images of small scripts.
//!
//! `HUON_SECONDS` goes on with new seeds for so long; `HUON_SCRIPT` picks the scripts whose name
//! and page size, as in `spilling@512`, contain it; `HUON_CRASH` replays one image.

mod compact;
mod ids;
mod journal;
mod limits;
mod metas;
mod multi;
mod scripts;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use huon_testkit::crash::{Caps, Level, Scope, Script, Tally, Target, judge};
use huon_testkit::{figures, scale};

use scripts::{SCRIPTS, is_random};

/// Of a random script, so many are played in a proof.
const RANDOM_ROUNDS: u64 = 10;

/// A script with one page size and one seed.
#[derive(Clone, Copy)]
struct Job {
    script: &'static Script,
    page_bytes: usize,
    round: u64,
}

impl Job {
    fn name(&self) -> String {
        format!("{}@{}", self.script.name, self.page_bytes)
    }
}

/// What is to be judged, in order: every script, random ones several times.
fn jobs() -> Vec<Job> {
    let rounds = |script| if is_random(script) { scale::share(RANDOM_ROUNDS) } else { 1 };
    let mut jobs = Vec::new();
    for (number, script) in SCRIPTS.iter().enumerate() {
        for (i, &page_bytes) in script.pages.iter().enumerate() {
            // A small run takes one page size of each script.
            if scale::has_minimums() || i == number % script.pages.len() {
                jobs.extend((0..rounds(script)).map(|round| Job { script, page_bytes, round }));
            }
        }
    }
    jobs
}

fn run(job: Job, target: Option<&Target>) -> Tally {
    let name = job.name();
    let seed = target.and_then(Target::seed).unwrap_or_else(|| scale::seed(&name, job.round));
    let page_bytes = job.page_bytes;
    let (caps, twice, failed_step) = if !scale::has_minimums() {
        (Caps::FEW, (4, 20), 16)
    } else if scale::is_full() {
        (Caps::FULL, (80, 200), 1)
    } else {
        (Caps::TENTH, (16, 40), 8)
    };
    let scope = Scope { page_bytes, seed, caps, twice, failed_step };
    let start = Instant::now();
    let tally = judge(job.script, scope, target);
    let images = tally.distinct.len();
    println!("{name:45} {images:6} distinct, {:6} opened, {:?}", tally.cases, start.elapsed());
    tally
}

/// Says that a thread has panicked, so that others need not go on.
struct NoticeOfPanic<'f>(&'f AtomicBool);

impl Drop for NoticeOfPanic<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(std::thread::panicking(), Ordering::Relaxed);
    }
}

/// Runs all jobs on all cores, and again with new seeds for as long as there is time.
fn run_all(jobs: &[Job], target: Option<&Target>) -> Tally {
    let next = AtomicUsize::new(0);
    let until = scale::until();
    let total = Mutex::new(Tally::default());
    let failed = AtomicBool::new(false);
    let work = || {
        let _notice = NoticeOfPanic(&failed);
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let again = (number / jobs.len()) as u64;
            let is_due = match until {
                Some(until) => Instant::now() < until,
                None => again == 0,
            };
            if !is_due {
                return;
            }
            let job = jobs[number % jobs.len()];
            let round = job.round + again * RANDOM_ROUNDS;
            let tally = run(Job { round, ..job }, target);
            // A panic of another job ends the test anyway.
            total.lock().unwrap_or_else(|e| e.into_inner()).merge(tally);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    total.into_inner().expect("no job failed")
}

#[test]
fn what_a_crash_leaves_opens_and_is_right() {
    let target = Target::asked();
    let only = std::env::var("HUON_SCRIPT").unwrap_or_default();
    let mut jobs = jobs();
    jobs.retain(|job| job.name().contains(&only));
    if let Some(target) = &target {
        jobs.retain(|job| job.name() == target.script() && job.round == 0);
    }
    assert!(!jobs.is_empty(), "no such script");
    let start = Instant::now();
    let tally = run_all(&jobs, target.as_ref());
    let seconds = start.elapsed().as_secs_f64();
    let distinct = tally.distinct.len() as u64;
    println!(
        "{distinct} distinct images, {} opened in {seconds:.1} s, {} kills, {} flips noticed, \
         recovered {:?}",
        tally.cases, tally.kills, tally.noticed, tally.recovered
    );
    if target.is_some() {
        return;
    }
    figures::table("crash images by script and level", &tally.table.markdown());
    figures::named("crash.images.distinct", distinct);
    figures::named("crash.images.opened", tally.cases);
    figures::add("crash", distinct);
    if only.is_empty() {
        assert_nothing_missing(&tally);
    }
}

fn assert_nothing_missing(tally: &Tally) {
    let (table, distinct) = (&tally.table, tally.distinct.len() as u64);
    if !scale::has_minimums() {
        return;
    }
    assert!(distinct >= scale::share(500_000), "only {distinct} distinct images");
    assert!(table.scripts().count() >= 40);
    for level in Level::ALL {
        assert!(table.total(level) > 0, "no image of {}", level.heading());
    }
    // What every script must have, whatever it does.
    let always = [
        Level::Prefix,
        Level::Subset,
        Level::Torn,
        Level::FailedFlush,
        Level::Twice,
        Level::Reboot,
    ];
    for script in table.scripts() {
        for level in always {
            let count = table.of(script, level);
            assert!(count > 0, "\"{script}\" has no image of {}", level.heading());
        }
    }
}

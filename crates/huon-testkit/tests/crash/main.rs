//! Crash images of small scripts.

mod scripts;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use huon_testkit::crash::{Caps, Level, Scope, Script, Tally, Target, judge};
use huon_testkit::{figures, scale};

use scripts::SCRIPTS;

/// A script with one page size.
#[derive(Clone, Copy)]
struct Job {
    script: &'static Script,
    page_bytes: usize,
}

fn run(job: Job, target: Option<&Target>) -> Tally {
    let name = format!("{}@{}", job.script.name, job.page_bytes);
    let seed = target.and_then(Target::seed).unwrap_or_else(|| scale::seed(&name, 0));
    let page_bytes = job.page_bytes;
    let scope = match scale::is_full() {
        true => Scope { page_bytes, seed, caps: Caps::FULL, twice: (40, 200), failed_step: 1 },
        false => Scope { page_bytes, seed, caps: Caps::TENTH, twice: (8, 40), failed_step: 8 },
    };
    let start = Instant::now();
    let tally = judge(job.script, scope, target);
    let images = tally.distinct.len();
    println!("{name:45} {images:6} distinct, {:6} opened, {:?}", tally.cases, start.elapsed());
    tally
}

/// Runs all jobs on all cores.
fn run_all(jobs: &[Job], target: Option<&Target>) -> Tally {
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Tally::default());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tally = run(*job, target);
                    total.lock().expect("no other job failed").merge(tally);
                }
            });
        }
    });
    total.into_inner().expect("no job failed")
}

#[test]
fn what_a_crash_leaves_opens_and_is_right() {
    let target = Target::asked();
    let pages = |script: &'static Script| {
        script.pages.iter().map(move |&page_bytes| Job { script, page_bytes })
    };
    let mut jobs: Vec<Job> = SCRIPTS.iter().flat_map(pages).collect();
    let only = std::env::var("HUON_SCRIPT").unwrap_or_default();
    jobs.retain(|job| format!("{}@{}", job.script.name, job.page_bytes).contains(&only));
    if let Some(target) = &target {
        jobs.retain(|job| target.is_of(job.script, job.page_bytes));
    }
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
    if !only.is_empty() {
        return;
    }
    assert!(distinct >= scale::share(500_000), "{distinct} distinct images");
    assert!(tally.table.scripts().count() >= 40);
    for level in Level::ALL {
        assert!(tally.table.total(level) > 0, "no image of {}", level.heading());
    }
    for script in tally.table.scripts() {
        for level in [Level::Prefix, Level::Subset, Level::Torn, Level::Twice, Level::Reboot] {
            let count = tally.table.of(script, level);
            assert!(count > 0, "\"{script}\" has no image of {}", level.heading());
        }
    }
}

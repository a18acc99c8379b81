//! Every large allocation of the engine fails, once and from then on.
//!
//! Large is what takes 4096 bytes or more: what grows with the data. Smaller allocations end the
//! process where they fail, as anywhere in Rust, and so would a large one that the engine makes
//! without asking: then this process dies, and says in which case.
//!
//! `HUON_CASE` runs the one case of that name.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use huon::{Env, Options};
use huon_testkit::faults::real::{Files, Trigger};
use huon_testkit::faults::workloads;
use huon_testkit::faults::{Manner, Run};
use huon_testkit::figures;
use huon_testkit::history::panic_text;
use huon_testkit::scale;

const LARGE_BYTES: usize = 4096;

/// The system's allocator, which refuses the allocations that a thread has chosen.
struct Refusing;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

thread_local! {
    static ARMED: Cell<bool> = const { Cell::new(false) };
    /// Large allocations met while armed.
    static MET: Cell<u64> = const { Cell::new(0) };
    static FIRED: Cell<u64> = const { Cell::new(0) };
    /// The number of the one to refuse, and whether those after it are refused too.
    static ORDER: Cell<(u64, bool)> = const { Cell::new((u64::MAX, false)) };
}

/// Counts an allocation; whether it is to be refused.
fn is_refused(bytes: usize) -> bool {
    if bytes < LARGE_BYTES || !ARMED.get() {
        return false;
    }
    let number = MET.replace(MET.get() + 1);
    let (first, for_good) = ORDER.get();
    let refused = number == first || for_good && number > first;
    FIRED.set(FIRED.get() + u64::from(refused));
    refused
}

// SAFETY: every call goes to the system's allocator as it came, or is answered by null, which an
// allocator may always do.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            std::ptr::null_mut()
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.alloc(layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            std::ptr::null_mut()
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.alloc_zeroed(layout) }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if bytes > layout.size() && is_refused(bytes) {
            std::ptr::null_mut()
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.realloc(pointer, layout, bytes) }
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) };
    }
}

/// The allocations of this thread.
struct Allocations;

impl Trigger for Allocations {
    fn arm(&self, on: bool) {
        ARMED.set(on);
    }

    fn fired(&self) -> u64 {
        FIRED.get()
    }

    fn reads_fail(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    page_bytes: usize,
    spill_pages: usize,
    shrink_pages: usize,
}

const SETUPS: [Setup; 4] = [
    Setup { page_bytes: 4096, spill_pages: 8, shrink_pages: 8 },
    Setup { page_bytes: 4096, spill_pages: 10_000, shrink_pages: 0 },
    Setup { page_bytes: 16384, spill_pages: 16, shrink_pages: 0 },
    Setup { page_bytes: 65536, spill_pages: 8, shrink_pages: 0 },
];

impl Setup {
    fn options(&self) -> Options {
        let mut options = Env::options();
        options
            .page_bytes(self.page_bytes)
            .max_bytes(128 << 20)
            .grow_bytes(8 * self.page_bytes as u64)
            .shrink_bytes((self.shrink_pages * self.page_bytes) as u64)
            .write_buffer_bytes(self.spill_pages * self.page_bytes);
        options
    }
}

#[derive(Clone, Copy)]
struct Case {
    workload: usize,
    setup: usize,
    number: u64,
    for_good: bool,
    manner: Manner,
}

impl Case {
    fn name(&self) -> String {
        format!(
            "{}/{} spilling at {}/allocation {}/{}/{}",
            workloads::ALL[self.workload].name,
            SETUPS[self.setup].page_bytes,
            SETUPS[self.setup].spill_pages,
            self.number,
            if self.for_good { "from then on" } else { "once" },
            self.manner,
        )
    }

    /// Runs it; how many large allocations were met, and whether any was refused.
    fn run(&self) -> (u64, bool) {
        let name = self.name();
        now_running(&name);
        MET.set(0);
        FIRED.set(0);
        ORDER.set((self.number, self.for_good));
        let setup = &SETUPS[self.setup];
        let files = Files::new(Allocations);
        let mut run = Run::new(&files, setup.page_bytes, &setup.options());
        let workload = &workloads::ALL[self.workload];
        let ran = catch_unwind(AssertUnwindSafe(|| run.whole(workload, self.manner)));
        ARMED.set(false);
        now_running("");
        if let Err(panic) = ran {
            panic!(
                "{name}: {}\nerrors: {:#?}\nagain: HUON_CASE='{name}' \
                 cargo test -p huon-testkit --test alloc",
                panic_text(&*panic),
                run.errors()
            );
        }
        (MET.get(), FIRED.get() > 0)
    }
}

/// What a thread is at, for [`died`]: bytes behind their length.
static RUNNING: [Mutex<String>; 8] = [const { Mutex::new(String::new()) }; 8];
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static PLACE: usize = THREADS.fetch_add(1, Ordering::Relaxed) % RUNNING.len();
}

fn now_running(name: &str) {
    let mut place = RUNNING[PLACE.with(|place| *place)].lock().unwrap();
    place.clear();
    place.push_str(name);
}

/// The process ends since an infallible allocation was refused: says where.
extern "C" fn died(_: libc::c_int) {
    let names = RUNNING.iter().filter_map(|place| place.try_lock().ok());
    for name in names.filter(|name| !name.is_empty()) {
        for text in ["\nit died in the case: ", &name, "\n"] {
            // SAFETY: the bytes are as many as is said.
            unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        }
    }
}

/// Every case there is, from runs in which nothing is refused.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for setup in 0..SETUPS.len() {
        for workload in 0..workloads::ALL.len() {
            for manner in Manner::ALL {
                let none = Case { workload, setup, number: u64::MAX, for_good: false, manner };
                let (met, _) = none.run();
                let both = |number| [(number, false), (number, true)];
                let all = (0..met).flat_map(both).map(|(number, for_good)| Case {
                    number,
                    for_good,
                    ..none
                });
                // The manners take turns.
                let its = |case: &Case| {
                    Manner::of(case.number + 3 * u64::from(case.for_good)) == case.manner
                };
                cases.extend(all.filter(its));
            }
        }
    }
    cases
}

#[test]
fn every_large_allocation_fails_in_turn() {
    // SAFETY: the handler only writes, and the process ends after it as it would have.
    unsafe { libc::signal(libc::SIGABRT, died as *const () as libc::sighandler_t) };
    let mut all = cases();
    let named = std::env::var("HUON_CASE").ok();
    match &named {
        Some(name) => all.retain(|case| case.name() == *name),
        None => {
            let count = all.len() as u64;
            let step = count.div_ceil(scale::share(count)).max(1);
            let first = scale::seed("alloc", 0) % step;
            let mut number = 0;
            all.retain(|_| {
                number += 1;
                number % step == first
            });
        }
    }
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                while let Some(case) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match catch_unwind(|| case.run()) {
                        Ok((_, true)) => drop(refused.fetch_add(1, Ordering::Relaxed)),
                        Ok((_, false)) => {}
                        Err(panic) => failed.lock().unwrap().push(panic_text(&*panic)),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    if let Some(first) = failed.first() {
        panic!("{} of {} cases failed; the first: {first}", failed.len(), all.len());
    }
    let refused = refused.into_inner() as u64;
    // What is kept from one run to the next may spare an allocation.
    assert!(refused * 10 >= all.len() as u64 * 9, "{refused} of {} refused", all.len());
    figures::named("faults.alloc", refused);
    figures::add("fault", refused);
}

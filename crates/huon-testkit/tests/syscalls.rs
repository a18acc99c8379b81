//! Every system call fails, on real files: this file has its own versions of the C library's
//! functions that the engine and the standard library call, and they fail when they are told to.
//!
//! What `faults.rs` does above the lowest layer is done below it: what is tried here is that no
//! call's error is lost on its way up, that what was begun is undone, and that interrupted and
//! short calls go on.
//!
//! `HUON_CASE` runs the one case of that name.
#![cfg(target_os = "linux")]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
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
use libc::{
    EAGAIN, EDQUOT, EFBIG, EINTR, EIO, EMFILE, ENFILE, ENOLCK, ENOMEM, ENOSPC, EOPNOTSUPP, EPERM,
};

/// Not an error: half of it is done.
const SHORT: i32 = -1;
/// How often a case is run at most until its call fails.
const TRIES: usize = 5;

/// A call, and the errors that it is tried with.
struct Call {
    name: &'static str,
    errors: &'static [i32],
}

const CALLS: [Call; 12] = [
    Call { name: "open", errors: &[EIO, ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE, EINTR] },
    Call { name: "statx", errors: &[EIO, ENOMEM] },
    Call { name: "fstat", errors: &[EIO, ENOMEM] },
    Call { name: "pread", errors: &[EIO, EAGAIN, ENOMEM, EINTR, SHORT] },
    Call { name: "pwritev", errors: &[EIO, ENOSPC, EDQUOT, EFBIG, EAGAIN, ENOMEM, EINTR, SHORT] },
    Call { name: "fallocate", errors: &[EIO, ENOSPC, EDQUOT, EFBIG, ENOMEM, EINTR, EOPNOTSUPP] },
    Call { name: "ftruncate", errors: &[EIO, EFBIG, EPERM, ENOMEM, EINTR] },
    Call { name: "fdatasync", errors: &[EIO, ENOSPC, EDQUOT, ENOMEM, EINTR] },
    Call { name: "fsync", errors: &[EIO, ENOSPC, EDQUOT, EINTR] },
    Call { name: "lock", errors: &[EIO, ENOLCK, ENOMEM, EINTR] },
    Call { name: "mmap", errors: &[ENOMEM, EAGAIN, ENFILE] },
    Call { name: "lseek", errors: &[EIO] },
];
const OPEN: usize = 0;
const STATX: usize = 1;
const FSTAT: usize = 2;
const PREAD: usize = 3;
const PWRITEV: usize = 4;
const FALLOCATE: usize = 5;
const FTRUNCATE: usize = 6;
const FDATASYNC: usize = 7;
const FSYNC: usize = 8;
const LOCK: usize = 9;
const MMAP: usize = 10;
const LSEEK: usize = 11;

/// Which call fails, of all that a thread makes while armed, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fault {
    number: usize,
    error: i32,
    times: usize,
    /// Calls of this kind only, those after the first.
    call: usize,
}

thread_local! {
    static ARMED: Cell<bool> = const { Cell::new(false) };
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    static FIRED: Cell<usize> = const { Cell::new(0) };
    static MET: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Counts a call; what is to become of it.
fn meet(call: usize) -> Option<i32> {
    if !ARMED.get() {
        return None;
    }
    let number = MET.with_borrow_mut(|met| {
        met.push(call);
        met.len() - 1
    });
    let fault = FAULT.get()?;
    let due = number == fault.number || number > fault.number && call == fault.call;
    if !due || FIRED.get() >= fault.times {
        return None;
    }
    FIRED.set(FIRED.get() + 1);
    Some(fault.error)
}

/// The call fails, as told, or is made.
fn pass(call: usize, made: impl FnOnce(bool) -> libc::c_long) -> libc::c_long {
    match meet(call) {
        None => made(false),
        Some(SHORT) => made(true),
        Some(error) => {
            // SAFETY: the place of this thread's error number is always there.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

/// The calls themselves, under the names by which everything in this program calls them.
mod calls {
    use libc::{c_char, c_int, c_long, c_void, off64_t, size_t, ssize_t, syscall};

    use super::*;

    /// A call: its name and arguments, and the number of the system call with its arguments.
    macro_rules! call {
        (
            $name:ident($($arg:ident: $kind:ty),*) -> $result:ty,
            $call:expr,
            $short:ident,
            $do:expr
        ) => {
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $kind),*) -> $result {
                // SAFETY: the caller's arguments, as they came or with a smaller count.
                pass($call, |$short: bool| unsafe { $do }) as $result
            }
        };
    }

    fn half(bytes: size_t, short: bool) -> size_t {
        if short { bytes.div_ceil(2) } else { bytes }
    }

    call!(open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int, OPEN, _short,
        syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags | libc::O_LARGEFILE, mode));
    call!(statx(at: c_int, path: *const c_char, flags: c_int, mask: libc::c_uint,
                into: *mut libc::statx) -> c_int, STATX, _short,
        syscall(libc::SYS_statx, at, path, flags, mask, into));
    call!(fstat(file: c_int, into: *mut libc::stat) -> c_int, FSTAT, _short,
        syscall(libc::SYS_fstat, file, into));
    call!(pread64(file: c_int, into: *mut c_void, bytes: size_t, at: off64_t) -> ssize_t, PREAD,
        short, syscall(libc::SYS_pread64, file, into, half(bytes, short), at));
    call!(pwritev(file: c_int, parts: *const libc::iovec, count: c_int, at: libc::off_t) -> ssize_t,
    PWRITEV, short, if !short {
        syscall(libc::SYS_pwritev, file, parts, count as c_long, at, 0 as c_long)
    } else {
        let part = *parts;
        syscall(libc::SYS_pwrite64, file, part.iov_base, half(part.iov_len, true), at)
    });
    call!(fallocate(file: c_int, mode: c_int, at: libc::off_t, bytes: libc::off_t) -> c_int,
        FALLOCATE, _short, syscall(libc::SYS_fallocate, file, mode, at, bytes));
    call!(ftruncate64(file: c_int, bytes: off64_t) -> c_int, FTRUNCATE, _short,
        syscall(libc::SYS_ftruncate, file, bytes));
    call!(fdatasync(file: c_int) -> c_int, FDATASYNC, _short,
        syscall(libc::SYS_fdatasync, file));
    call!(fsync(file: c_int) -> c_int, FSYNC, _short, syscall(libc::SYS_fsync, file));
    call!(mmap(at: *mut c_void, bytes: size_t, how: c_int, flags: c_int, file: c_int,
               from: libc::off_t) -> *mut c_void, MMAP, _short,
        syscall(libc::SYS_mmap, at, bytes, how, flags, file, from));

    call!(lseek(file: c_int, to: libc::off_t, from: c_int) -> libc::off_t, LSEEK, _short,
        syscall(libc::SYS_lseek, file, to, from as c_long));

    /// Giving a lock up does not fail on local files.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn fcntl(file: c_int, command: c_int, arg: usize) -> c_int {
        // SAFETY: the caller's arguments, as they came.
        let made = |_| unsafe { syscall(libc::SYS_fcntl, file, command, arg) };
        let wants = match command {
            libc::F_OFD_GETLK => true,
            libc::F_OFD_SETLK => {
                // SAFETY: this command comes with such a structure.
                let kind = unsafe { (*(arg as *const libc::flock)).l_type };
                c_int::from(kind) != libc::F_UNLCK
            }
            _ => false,
        };
        let result = if wants { pass(LOCK, made) } else { made(false) };
        result as c_int
    }
}

/// The calls of this thread.
struct Calls;

impl Trigger for Calls {
    fn arm(&self, on: bool) {
        ARMED.set(on);
    }

    fn fired(&self) -> u64 {
        FIRED.get() as u64
    }

    fn reads_fail(&self) -> bool {
        false
    }
}

const PAGE_BYTES: usize = 4096;

fn options() -> Options {
    let mut options = Env::options();
    options
        .page_bytes(PAGE_BYTES)
        .max_bytes(32 << 20)
        .grow_bytes(8 * PAGE_BYTES as u64)
        .shrink_bytes(8 * PAGE_BYTES as u64)
        .write_buffer_bytes(8 * PAGE_BYTES);
    options
}

#[derive(Clone, Copy)]
struct Case {
    workload: usize,
    fault: Option<Fault>,
    manner: Manner,
}

impl Case {
    fn name(&self) -> String {
        let workload = workloads::ALL[self.workload].name;
        let Some(fault) = self.fault else { return format!("{workload}/{}", self.manner) };
        let call = CALLS[fault.call].name;
        let times = if fault.times == 1 { "once" } else { "from then on" };
        format!("{workload}/{call} {}/{}/{times}/{}", fault.number, text(fault.error), self.manner)
    }

    /// Runs it; which calls it met.
    fn run(&self) -> Vec<usize> {
        MET.take();
        FIRED.set(0);
        FAULT.set(self.fault);
        let files = Files::new(Calls);
        let mut run = Run::new(&files, PAGE_BYTES, &options());
        let ran = catch_unwind(AssertUnwindSafe(|| {
            run.whole(&workloads::ALL[self.workload], self.manner);
        }));
        ARMED.set(false);
        if let Err(panic) = ran {
            let (name, what, errors) = (self.name(), panic_text(&*panic), run.errors());
            panic!(
                "{name}: {what}\nerrors: {errors:#?}\nagain: HUON_CASE='{name}' \
                 cargo test -p huon-testkit --test syscalls"
            );
        }
        MET.take()
    }

    /// Runs it until its call has failed; how often that is depends a little on time, so that a
    /// run may not come to its last calls. `false`: it never did.
    fn fails(&self) -> bool {
        (0..TRIES).any(|_| {
            self.run();
            FIRED.get() > 0
        })
    }
}

fn text(error: i32) -> String {
    match error {
        SHORT => "half of it".to_string(),
        _ => std::io::Error::from_raw_os_error(error).to_string(),
    }
}

/// Every case there is, from runs in which nothing fails. The manners take turns.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for workload in 0..workloads::ALL.len() {
        for manner in Manner::ALL {
            for (number, call) in (Case { workload, fault: None, manner }).run().iter().enumerate()
            {
                for (turn, &error) in CALLS[*call].errors.iter().enumerate() {
                    // An interrupted call is tried again, for ever.
                    let many = if error == EINTR { 5 } else { usize::MAX };
                    for (more, times) in [1, many].into_iter().enumerate() {
                        let fault = Fault { number, error, times, call: *call };
                        if Manner::of((number + turn + 3 * more) as u64) == manner {
                            cases.push(Case { workload, fault: Some(fault), manner });
                        }
                    }
                }
            }
        }
    }
    cases
}

/// As many as are wanted, and as many more as it takes to try each call with each error, once and
/// from then on.
fn chosen(all: Vec<Case>) -> Vec<Case> {
    if let Ok(name) = std::env::var("HUON_CASE") {
        return all.into_iter().filter(|case| case.name() == name).collect();
    }
    let step = (all.len() as u64).div_ceil(scale::share(8000)).max(1);
    let first = scale::seed("syscalls", 0) % step;
    let (mut chosen, rest): (Vec<_>, Vec<_>) =
        all.into_iter().enumerate().partition(|(n, _)| *n as u64 % step == first);
    let kind = |case: &Case| case.fault.map(|fault| (fault.call, fault.error, fault.times));
    let mut met: BTreeSet<_> = chosen.iter().map(|(_, case)| kind(case)).collect();
    chosen.extend(rest.into_iter().filter(|(_, case)| met.insert(kind(case))));
    chosen.into_iter().map(|(_, case)| case).collect()
}

/// How often each call was tried with each error.
fn table(cases: &[Case]) -> String {
    let mut counts: BTreeMap<(usize, i32), u64> = BTreeMap::new();
    for fault in cases.iter().filter_map(|case| case.fault) {
        *counts.entry((fault.call, fault.error)).or_default() += 1;
    }
    let mut lines = "| call | error | times |\n|---|---|---|\n".to_string();
    for (number, call) in CALLS.iter().enumerate() {
        for &error in call.errors {
            let count = counts.get(&(number, error)).copied().unwrap_or(0);
            assert!(count > 0, "{} never failed with {}", call.name, text(error));
            lines += &format!("| {} | {} | {count} |\n", call.name, text(error));
        }
    }
    lines
}

#[test]
fn every_system_call_fails_in_turn() {
    let cases = chosen(cases());
    let next = AtomicUsize::new(0);
    let (failed, met) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match catch_unwind(|| case.fails()) {
                        Ok(true) => met.lock().unwrap().push(*case),
                        Ok(false) => println!("{}: nothing failed", case.name()),
                        Err(panic) => failed.lock().unwrap().push(panic_text(&*panic)),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    if let Some(first) = failed.first() {
        panic!("{} of {} cases failed; the first: {first}", failed.len(), cases.len());
    }
    if std::env::var_os("HUON_CASE").is_some() {
        return assert_eq!(cases.len(), 1, "no case has that name");
    }
    let met = met.into_inner().unwrap();
    assert!(met.len() * 100 >= cases.len() * 99, "{} of {} failed", met.len(), cases.len());
    figures::table("system calls by error", &table(&met));
    figures::named("faults.system_calls", met.len() as u64);
    figures::add("fault", met.len() as u64);
}

//! The processes of a run: one to a seat, started anew when it was killed.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
};

use tempfile::TempPath;

use super::ledger::{Acked, Ledger, SEATS, SeatWord};
use super::orders::{Act, DATA_PATH, LEDGER_PATH, ORDERS, Orders, Role};
use super::orphan;
use super::phase::Phase;
use crate::support::figures;

/// Longer than anything takes on the slowest machine; a process that is not done by then hangs.
pub(crate) const HANG: Duration = Duration::from_secs(60);
/// A user that owns nothing on any machine.
const STRANGER: u32 = 65534;

/// A living process.
pub(crate) struct Process {
    pub(crate) orders: Orders,
    child: Child,
}

/// What was found of a killed process.
pub(crate) struct Remains {
    pub(crate) orders: Orders,
    /// The phase that counts: of the thread that came where it was told to, or of the first.
    pub(crate) phase: Phase,
    /// It left a forked child.
    pub(crate) has_orphan: bool,
    /// When it was dead, on the clock of all processes.
    pub(crate) dead_at: u64,
}

/// Whether processes of another user can be started; if not, `test` does without them.
pub fn strangers_can_be_started(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        figures::skip(test, "no readers without write permission: not run by root");
        return false;
    }
    let binary = std::env::current_exe().expect("this binary");
    let mut command = Command::new("test");
    let status = command.arg("-x").arg(binary).uid(STRANGER).gid(STRANGER).status();
    let may = status.is_ok_and(|status| status.success());
    if !may {
        figures::skip(test, "another user cannot run this test's binary");
    }
    may
}

/// All of them, and the ledger.
pub(crate) struct Crew {
    pub(crate) ledger: Ledger,
    pub(crate) path: PathBuf,
    ledger_path: TempPath,
    seats: [Option<Process>; SEATS],
    /// Forked children whose parents are dead, by the seat of those.
    orphans: [Option<(Pid, Instant)>; SEATS],
}

impl Crew {
    /// A crew without processes, for the data file `path`.
    pub(crate) fn new(path: &Path) -> Crew {
        // Orphans come to this process, which then sees how they end.
        set_child_subreaper(Some(getpid())).expect("a system that lets us adopt orphans");
        let dir = path.parent().expect("a directory");
        let (ledger, ledger_path) = Ledger::create(dir);
        for (path, mode) in [(dir, 0o755), (&*ledger_path, 0o666)] {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
        }
        Crew {
            ledger,
            path: path.to_owned(),
            ledger_path,
            seats: [const { None }; SEATS],
            orphans: [None; SEATS],
        }
    }

    pub(crate) fn start(&mut self, orders: Orders) {
        assert!(self.is_vacant(orders.seat));
        self.ledger.clear_seat(orders.seat);
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        if orders.role == Role::Guest {
            command.uid(STRANGER).gid(STRANGER);
        }
        let child = command
            .args(["--exact", "child_process", "--nocapture", "--test-threads=1"])
            .env(ORDERS, orders.to_text())
            .env(DATA_PATH, &self.path)
            .env(LEDGER_PATH, &self.ledger_path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a child process");
        self.seats[orders.seat] = Some(Process { orders, child });
    }

    /// No process lives there, not even an orphan.
    pub(crate) fn is_vacant(&self, seat: usize) -> bool {
        self.seats[seat].is_none() && self.orphans[seat].is_none()
    }

    pub(crate) fn living(&self) -> impl Iterator<Item = &Process> {
        self.seats.iter().flatten()
    }

    pub(crate) fn process(&self, seat: usize) -> Option<&Process> {
        self.seats[seat].as_ref()
    }

    pub(crate) fn pid(&self, seat: usize) -> Pid {
        let process = self.seats[seat].as_ref().expect("a process in that seat");
        pid(process.child.id())
    }

    pub(crate) fn has_arrived(&self, seat: usize) -> bool {
        self.ledger.get(seat, SeatWord::Arrived) != 0
    }

    /// Commits or snapshots of the process in that seat.
    pub(crate) fn work(&self, seat: usize) -> u64 {
        self.ledger.get(seat, SeatWord::Commits) + self.ledger.get(seat, SeatWord::Snapshots)
    }

    pub(crate) fn signal(&self, seat: usize, signal: Signal) {
        kill_process(self.pid(seat), signal).expect("a living process");
    }

    /// Kills the process in that seat.
    pub(crate) fn kill(&mut self, seat: usize) -> Remains {
        self.look_for_trouble();
        let mut process = self.seats[seat].take().expect("a process in that seat");
        process.child.kill().expect("SIGKILL");
        let status = process.child.wait().expect("its end");
        if status.code().is_some() {
            self.seats[seat] = Some(process);
            self.ended(seat, &status.to_string());
        }
        let dead_at = super::child::now();
        let arrived = self.ledger.get(seat, SeatWord::Arrived);
        let thread = (arrived as usize).saturating_sub(1);
        let fork = self.ledger.get(seat, SeatWord::Fork);
        self.orphans[seat] = (fork != 0).then(|| (pid(fork as u32), Instant::now()));
        Remains {
            orders: process.orders,
            phase: self.ledger.phases(seat)[thread],
            has_orphan: fork != 0,
            dead_at,
        }
    }

    /// Panics if a process says that something is wrong, or ended by itself.
    pub(crate) fn look_for_trouble(&mut self) {
        for seat in 0..SEATS {
            if let Some(text) = self.ledger.trouble(seat) {
                let orders = self.seats[seat].as_ref().map(|process| process.orders);
                panic!("seat {seat}: {text}\n{orders:?}\n{}", self.report());
            }
            let ended =
                self.seats[seat].as_mut().and_then(|p| p.child.try_wait().expect("a child"));
            if let Some(status) = ended {
                self.ended(seat, &status.to_string());
            }
        }
    }

    fn ended(&self, seat: usize, status: &str) -> ! {
        let text = self.ledger.trouble(seat).unwrap_or_default();
        let orders = self.seats[seat].as_ref().map(|process| process.orders);
        panic!("seat {seat} ended by itself, {status}: {text}\n{orders:?}\n{}", self.report());
    }

    /// What every process is about, for a run that has failed.
    pub(crate) fn report(&self) -> String {
        let mut text = format!("acknowledged: {:?}\n", self.ledger.acked());
        for process in self.living() {
            let seat = process.orders.seat;
            let phases = self.ledger.phases(seat);
            let pid = process.child.id();
            let stop = process.orders.stop;
            text += &format!("seat {seat}, process {pid}: {phases:?}, to stop at {stop:?}\n");
        }
        text
    }

    /// Waits until `done`; what hangs is a failure.
    pub(crate) fn wait_until(&mut self, what: &str, mut done: impl FnMut(&mut Crew) -> bool) {
        let start = Instant::now();
        while !done(self) {
            self.look_for_trouble();
            if start.elapsed() > HANG {
                panic!("{what}: not after {HANG:?}\n{}", self.report());
            }
            std::thread::sleep(Duration::from_micros(300));
        }
    }

    /// Lets the orphans of dead parents end, and sees that all was well with those that have.
    pub(crate) fn release_orphans(&mut self) {
        for seat in 0..SEATS {
            let Some((orphan, since)) = self.orphans[seat] else { continue };
            self.ledger.set(seat, SeatWord::ForkOrder, orphan::END);
            let Some((_, status)) =
                waitpid(Some(orphan), WaitOptions::NOHANG).expect("an orphan of ours")
            else {
                assert!(since.elapsed() < HANG, "an orphan hangs\n{}", self.report());
                continue;
            };
            let (code, text) = (status.exit_status(), self.ledger.trouble(seat));
            assert!(code == Some(0), "an orphan of seat {seat}: {code:?}, {text:?}");
            self.orphans[seat] = None;
        }
    }

    /// The same, until there is none. No process may wait meanwhile to be killed: an orphan may
    /// wait for any of them.
    pub(crate) fn end_orphans(&mut self) {
        self.wait_until("the end of orphans", |crew| {
            crew.release_orphans();
            crew.orphans.iter().all(Option::is_none)
        });
    }

    /// The highest commit that any process has seen acknowledged.
    pub(crate) fn acked(&self) -> Acked {
        self.ledger.acked()
    }

    /// When a living process took the writer lock last.
    pub(crate) fn taken_at(&self) -> u64 {
        let taken = |p: &Process| self.ledger.get(p.orders.seat, SeatWord::TakenAt);
        self.living().map(taken).max().unwrap_or(0)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for (seat, process) in self.seats.iter_mut().enumerate() {
            let Some(process) = process else { continue };
            let _ = process.child.kill();
            let _ = process.child.wait();
            // It may have forked without having been found out yet.
            let fork = self.ledger.get(seat, SeatWord::Fork);
            self.orphans[seat] = (fork != 0).then(|| (pid(fork as u32), Instant::now()));
        }
        for (orphan, _) in self.orphans.iter().flatten() {
            let _ = kill_process(*orphan, Signal::KILL);
            let _ = waitpid(Some(*orphan), WaitOptions::empty());
        }
    }
}

impl Process {
    pub(crate) fn act(&self) -> Option<Act> {
        self.orders.stop.map(|stop| stop.act)
    }
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number as i32).expect("a process id")
}

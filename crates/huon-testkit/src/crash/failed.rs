//! Flushes that fail. A script is played once for each of its flushes, which then fails with EIO
//! and loses some blocks for good, while the page cache goes on showing them. Afterwards
//!
//! 1. the run goes on: no client may write any more, and all may read;
//! 2. the machine crashes: what the disk holds is an image like any other;
//! 3. the processes end, in order, killed, or killed before they could say that a flush had failed;
//!    others open, repair, and write; and at every point of that the machine may crash.

use huon::sim::SimDisk;
use huon::{Durability, Error};

use super::judge::Run;
use super::oracle::{Case, Oracle, has_limits, more_work, shown};
use super::record::Trace;
use super::script::{Setup, Stage};
use super::table::Level;
use crate::support::audit::audit;
use crate::support::random::Random;

/// Which blocks a failing flush loses.
#[derive(Clone, Copy)]
enum Loses {
    Nothing,
    Everything,
    Metas,
    AllButMetas,
    Half,
    Quarter,
}

const LOSES: [Loses; 6] = [
    Loses::Nothing,
    Loses::Everything,
    Loses::Metas,
    Loses::AllButMetas,
    Loses::Half,
    Loses::Quarter,
];

impl Loses {
    fn block(self, block: u64, random: &mut Random) -> bool {
        let is_meta = block < 3;
        match self {
            Loses::Nothing => false,
            Loses::Everything => true,
            Loses::Metas => is_meta,
            Loses::AllButMetas => !is_meta,
            Loses::Half => random.chance(50),
            Loses::Quarter => random.chance(25),
        }
    }
}

/// How the processes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Killed when the environment was poisoned.
    Killed,
    /// Killed when the flush had failed, and the lock file did not say so yet.
    KilledBefore,
    /// Closed.
    Closed,
}

/// Plays the script with each of its flushes failing; of the ways to fail, one in `step`.
pub(super) fn failed_flushes(run: &mut Run<'_>, setup: Setup, step: u64) {
    // Evenly, so that a script of few flushes has some, too.
    let first = run.dice("L5").below(step);
    for good in 0.. {
        let mut reached = false;
        for (i, loses) in LOSES.into_iter().enumerate() {
            let number = good * LOSES.len() as u64 + i as u64;
            let name = format!("L5.{number}");
            let dice = run.dice(&name);
            let is_drawn = number % step == first || run.is_targeted();
            let wanted = is_drawn && !run.passes_over(&name, 0);
            // Whether there is such a flush at all shows in any way to fail.
            if wanted || i == 0 {
                reached |= failed_flush(run, setup, good, loses, wanted.then_some(&name), dice);
            }
        }
        if !reached {
            return;
        }
    }
}

/// Whether the script has a flush of that number.
fn failed_flush(
    run: &mut Run<'_>,
    setup: Setup,
    good: u64,
    loses: Loses,
    name: Option<&String>,
    mut dice: Random,
) -> bool {
    let mut random = Random::new(dice.next());
    let mut stage =
        Stage::failing(setup, run.scope.seed, good, move |block| loses.block(block, &mut random));
    let done = (run.script.play)(&mut stage).and_then(|()| stage.close());
    let reached = stage.disk().failing_syncs() == 0;
    let Some(name) = name.filter(|_| reached) else {
        stage.trace(0);
        return reached;
    };
    if done.is_ok() {
        run.fail(None, name, "a flush failed, and no commit said so");
    }
    let durable = stage.owed();
    let lock_before = stage.lock_before_the_failure();
    let disk = stage.disk().clone();
    let journal = disk.journal_image();
    let trace = stage.trace(0);
    let failure = Failure { trace: &trace, durable, name };
    failure.goes_on(run, &stage);
    let oracle = Oracle::new(&trace);
    for keeps in [0, 50, 100] {
        let image = disk.disk_image(|_| dice.chance(keeps));
        failure.judge(run, &oracle, (&image, &journal), durable, "power loss");
    }
    let killed = disk.after_kill(None).expect("a machine");
    let killed_before = disk.after_kill(Some(&lock_before)).expect("a machine");
    drop(stage);
    let closed = disk.after_kill(None).expect("a machine");
    for (end, disk) in
        [(End::Killed, killed), (End::KilledBefore, killed_before), (End::Closed, closed)]
    {
        failure.restarts(run, disk, end);
    }
    true
}

struct Failure<'f> {
    trace: &'f Trace,
    /// The newest state acknowledged as durable.
    durable: usize,
    name: &'f str,
}

impl Failure<'_> {
    fn newest(&self) -> usize {
        self.trace.states.len() - 1
    }

    /// No client writes, all read.
    fn goes_on(&self, run: &mut Run<'_>, stage: &Stage) {
        for env in &stage.envs {
            let refused = |result: huon::Result<()>| matches!(result, Err(Error::Poisoned));
            if !refused(env.write().map(drop)) || !refused(env.sync().map(drop)) {
                run.fail(None, self.name, "after a failed flush a client may still write");
            }
            match shown(env, self.trace, self.newest()) {
                Ok(state) if state >= self.durable => {}
                Ok(state) => {
                    let what = format!("readers see state {state}, {} was durable", self.durable);
                    run.fail(None, self.name, &what)
                }
                Err(what) => run.fail(None, self.name, &what.to_string()),
            }
        }
    }

    /// What a disk holds, as an image.
    fn judge(
        &self,
        run: &mut Run<'_>,
        oracle: &Oracle<'_>,
        (image, journal): (&[u8], &[u8]),
        oldest: usize,
        point: &str,
    ) {
        let newest = oracle.trace.states.len() - 1;
        let sum = run.reach.digest_of(image, journal, None);
        run.count(Level::FailedFlush, sum);
        // Images of different failures may look alike and owe different things.
        if !run.failed.insert((sum, image.len(), oldest, newest)) {
            return;
        }
        run.tally.cases += 1;
        let case = Case { image, journal, lock: None, same_boot: false, oldest, newest, at: 0 };
        if let Err(what) = oracle.judge(&case) {
            run.fail(None, &format!("{} ({point})", self.name), &what);
        }
    }

    /// Others open what is left, and the machine crashes while they repair and write.
    fn restarts(&self, run: &mut Run<'_>, disk: SimDisk, end: End) {
        let fail = |run: &Run<'_>, what: &str| -> ! {
            run.fail(None, self.name, &format!("{end:?} after a failed flush: {what}"))
        };
        run.tally.cases += 1;
        let _context = run.context(self.name);
        let mut stage = Stage::after_failure(self.trace, disk, self.durable);
        let state = match shown(&stage.envs[0], self.trace, self.newest()) {
            Ok(state) if (self.durable..=self.newest()).contains(&state) => state,
            Ok(state) => {
                let (oldest, newest) = (self.durable, self.newest());
                fail(run, &format!("shows state {state}, not one of {oldest} to {newest}"))
            }
            Err(what) => fail(run, &what.to_string()),
        };
        let env = &stage.envs[0];
        if let Err(what) = has_limits(env, self.trace, state).and_then(|()| audit(env)) {
            fail(run, &what);
        }
        stage.go_on_from(state);
        let worked = (0..2).try_for_each(|round| {
            let durability = if round == 0 { Durability::Durable } else { Durability::Lazy };
            stage.commit(0, durability, |edit| more_work(edit, round))
        });
        worked.expect("no more flush fails");
        let disks = stage.take_disks();
        let trace = stage.trace(0);
        let oracle = Oracle::new(&trace);
        for held in disks {
            let files = (&held.image[..], &held.journal[..]);
            self.judge(run, &oracle, files, held.durable, held.point);
        }
    }
}

//! Goes through the images of a script, judges each that differs from those before, and counts.
//!
//! 1. Images are told apart by what counts in them (`reach`). One is judged again where more must
//!    be in it, or where its length differs; and one in a few where only leftovers differ.
//! 2. What is done to an image follows from its number, so that one can be replayed alone.

use std::collections::HashSet;

use huon::sim::sealed_image;
use huon::{Durability, Recovery};

use super::canvas::File;
use super::failed::failed_flushes;
use super::images::{Caps, Images, Shot};
use super::oracle::{Case, Oracle, Verdict, more_work};
use super::reach::{Reach, batches};
use super::record::Trace;
use super::script::{Play, Setup, Stage};
use super::table::{Level, Table};
use crate::support::random::{Random, digest};

/// A script: what is done, how the environment is made, and with which page sizes.
#[derive(Clone, Copy)]
pub struct Script {
    /// Its name.
    pub name: &'static str,
    /// What is done.
    pub play: fn(&mut Stage) -> Play,
    /// Changes the setup of [`Setup::small`].
    pub setup: fn(&mut Setup),
    /// Page sizes that it makes sense with.
    pub pages: &'static [usize],
}

/// How much of a script is judged.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// Page size.
    pub page_bytes: usize,
    /// Where random choices start.
    pub seed: u64,
    /// Images of each kind.
    pub caps: Caps,
    /// First crashes that are crashed again, and images of each second one.
    pub twice: (usize, usize),
    /// Of the ways in which a flush may fail, one in so many.
    pub failed_step: u64,
}

/// What judging a script came to.
#[derive(Default)]
pub struct Tally {
    /// Distinct images, by level.
    pub table: Table,
    /// What tells the distinct images apart.
    pub distinct: HashSet<u64>,
    /// Images that were opened, each under each circumstance.
    pub cases: u64,
    /// Kills among them.
    pub kills: u64,
    /// How openings found their snapshot.
    pub recovered: [u64; 6],
    /// Flipped bits that were noticed.
    pub noticed: u64,
}

impl Tally {
    /// Adds another script's.
    pub fn merge(&mut self, other: Tally) {
        self.table.merge(&other.table);
        self.distinct.extend(other.distinct);
        self.cases += other.cases;
        self.kills += other.kills;
        self.noticed += other.noticed;
        let both = self.recovered.iter_mut().zip(other.recovered);
        both.for_each(|(sum, count)| *sum += count);
    }
}

/// The one image that is to be replayed: `script@page/seed/image`, with one more image for a second
/// crash.
#[derive(Clone)]
pub struct Target(Vec<String>);

impl Target {
    /// What `HUON_CRASH` asks for.
    pub fn asked() -> Option<Target> {
        let text = std::env::var("HUON_CRASH").ok()?;
        Some(Target(text.split('/').map(str::to_owned).collect()))
    }

    /// The script and its page size, as in `spilling@512`.
    pub fn script(&self) -> &str {
        &self.0[0]
    }

    /// The seed that the run had.
    pub fn seed(&self) -> Option<u64> {
        self.0.get(1)?.parse().ok()
    }

    fn image(&self, depth: usize) -> Option<&str> {
        self.0.get(2 + depth).map(String::as_str)
    }
}

/// Plays a script, judges all its images, and gives the figures.
///
/// # Panics
/// If an image is not as it must be; the message says how to replay it.
pub fn judge(script: &Script, scope: Scope, target: Option<&Target>) -> Tally {
    let mut setup = Setup::small(scope.page_bytes);
    (script.setup)(&mut setup);
    let mut stage = Stage::new(setup, scope.seed);
    (script.play)(&mut stage).expect("nothing fails in this run");
    let trace = stage.finish(0);
    let mut run = Run {
        script,
        scope,
        target,
        tally: Tally::default(),
        reach: Reach::default(),
        twice_left: scope.twice.0,
        failed: HashSet::new(),
    };
    Judge::new(&mut run, &trace, None).all(scope.caps);
    failed_flushes(&mut run, setup, scope.failed_step);
    run.tally
}

/// What all judges of a script share.
pub(super) struct Run<'r> {
    pub(super) script: &'r Script,
    pub(super) scope: Scope,
    target: Option<&'r Target>,
    pub(super) tally: Tally,
    pub(super) reach: Reach,
    /// First crashes that may still be crashed again.
    twice_left: usize,
    /// Images of failed flushes that were judged.
    pub(super) failed: HashSet<(u64, usize, usize, usize)>,
}

impl Run<'_> {
    /// The random choices of an image.
    pub(super) fn dice(&self, name: &str) -> Random {
        Random::new(self.scope.seed ^ digest(name.as_bytes()))
    }

    /// Whether only another image is to be looked at.
    pub(super) fn passes_over(&self, name: &str, depth: usize) -> bool {
        let asked = self.target.and_then(|target| target.image(depth));
        asked.is_some_and(|asked| asked != name)
    }

    /// Whether the image that is to be looked at is this one with another boot or lock file.
    fn asks_for_reboot(&self, name: &str) -> bool {
        let asked = self.target.and_then(|target| target.image(0));
        asked.and_then(|asked| asked.strip_prefix(name)).is_some_and(|rest| rest.starts_with('r'))
    }

    /// Whether this crash is to be followed by another, as so many of a thousand are.
    fn wants_again(&mut self, name: &str, likely: u64, dice: &mut Random) -> bool {
        let wanted = dice.below(1000) < likely;
        if let Some(target) = self.target {
            return target.image(0) == Some(name) && target.image(1).is_some();
        }
        let may = wanted && self.twice_left > 0;
        self.twice_left -= usize::from(may);
        may
    }

    pub(super) fn is_targeted(&self) -> bool {
        self.target.is_some()
    }

    /// Counts an image, if there was none like it.
    pub(super) fn count(&mut self, level: Level, digest: u64) {
        if self.tally.distinct.insert(digest) {
            self.tally.table.add(self.script.name, level, 1);
        }
    }

    /// Ends the test, and says how to come to this image again.
    pub(super) fn fail(&self, first: Option<&str>, name: &str, what: &str) -> ! {
        // What more is said of an image is not a part of its name.
        let (name, more) = name.split_once(' ').unwrap_or((name, ""));
        panic!("{what}\n  in {} {more}", self.place(first, name))
    }

    fn place(&self, first: Option<&str>, name: &str) -> String {
        let (script, page_bytes) = (self.script.name, self.scope.page_bytes);
        let first = first.map_or(String::new(), |first| format!("{first}/"));
        let proof = if crate::support::scale::is_full() { "HUON_PROOF=1 " } else { "" };
        let seed = self.scope.seed;
        format!(
            "script \"{script}\" with pages of {page_bytes} bytes, image {first}{name}; replay:\n  \
             {proof}HUON_CRASH='{script}@{page_bytes}/{seed}/{first}{name}' \
             cargo test -p huon-testkit --test crash\n "
        )
    }

    /// Says where a panic came from that no other message explains.
    pub(super) fn context(&self, name: &str) -> Context {
        Context(self.place(None, name))
    }
}

/// See [`Run::context`].
pub(super) struct Context(String);

impl Drop for Context {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {}", self.0);
        }
    }
}

struct Judge<'r, 'j, 't> {
    run: &'j mut Run<'r>,
    trace: &'t Trace,
    oracle: Oracle<'t>,
    /// The first crash, if this judges a second one.
    first: Option<String>,
    /// Images that may still be judged.
    left: usize,
    /// The next number of each level.
    numbers: [u64; Level::ALL.len()],
    checked: HashSet<(u64, usize, usize, usize, u64)>,
    reboots: HashSet<(u64, usize, u64)>,
    words: Vec<u64>,
    strangers: Vec<Vec<u64>>,
    damaged: Vec<u8>,
}

impl<'r, 'j, 't> Judge<'r, 'j, 't> {
    fn new(run: &'j mut Run<'r>, trace: &'t Trace, first: Option<String>) -> Self {
        let left = if first.is_some() { run.scope.twice.1 } else { usize::MAX };
        let strangers = if first.is_some() { Vec::new() } else { strangers(trace) };
        Judge {
            run,
            trace,
            oracle: Oracle::new(trace),
            first,
            left,
            numbers: Default::default(),
            checked: HashSet::new(),
            reboots: HashSet::new(),
            words: Vec::new(),
            strangers,
            damaged: Vec::new(),
        }
    }

    fn all(&mut self, caps: Caps) {
        let random = Random::new(self.run.scope.seed);
        Images::new(self.trace, caps, random, &mut |shot| self.take(&shot)).make();
    }

    fn depth(&self) -> usize {
        usize::from(self.first.is_some())
    }

    /// The column that an image is counted in.
    fn column(&self, level: Level) -> Level {
        if self.first.is_some() { Level::Twice } else { level }
    }

    fn judge(&mut self, name: &str, case: &Case<'_>) -> Verdict {
        self.run.tally.cases += 1;
        let verdict = self.oracle.judge(case).unwrap_or_else(|what| {
            let how = match (case.lock, case.same_boot) {
                (None, false) => "power loss",
                (None, true) => "lock file lost",
                (Some(_), false) => "power loss, old lock file",
                (Some(_), true) => "same boot, with a lock file",
            };
            self.run.fail(self.first.as_deref(), name, &format!("{how}: {what}"))
        });
        self.run.tally.recovered[kind(verdict.recovery)] += 1;
        verdict
    }

    fn take(&mut self, shot: &Shot<'_>) {
        let number = self.numbers[shot.level as usize];
        self.numbers[shot.level as usize] += 1;
        let name = &format!("{}.{number}", shot.level);
        if self.left == 0 {
            return;
        }
        let mut dice = self.run.dice(name);
        if !self.run.passes_over(name, self.depth()) || self.run.asks_for_reboot(name) {
            self.power_loss(name, shot, &mut dice);
        }
        if shot.whole {
            self.kills(name, shot, &mut dice);
        }
    }

    fn power_loss(&mut self, name: &str, shot: &Shot<'_>, dice: &mut Random) {
        let (oldest, newest) = (self.trace.oldest(shot.at), self.trace.newest(shot.upto));
        let &Shot { image, journal, at, .. } = shot;
        let case = Case { image, journal, lock: None, same_boot: false, oldest, newest, at };
        let digest = self.run.reach.digest_of(image, journal, None);
        self.run.count(self.column(shot.level), digest);
        let is_new = self.checked.insert((digest, shot.image.len(), oldest, newest, 0));
        if !is_new && !dice.chance(6) {
            return;
        }
        self.left -= 1;
        let verdict = self.judge(name, &case);
        if self.first.is_some() || !is_new {
            return;
        }
        if dice.chance(10) || self.run.asks_for_reboot(name) {
            self.reboots(name, &case, digest, shot.at, dice);
        }
        if dice.chance(5) {
            self.flip(name, &case, dice);
        }
        if self.run.wants_again(name, 15, dice) {
            let stage = Stage::after(self.trace, &case, verdict.state);
            self.again(name, stage, 0);
        }
    }

    /// Kills at this moment, at each point that was come to.
    fn kills(&mut self, name: &str, shot: &Shot<'_>, dice: &mut Random) {
        let trace = self.trace;
        let first = trace.kills.partition_point(|kill| kill.at < shot.at);
        let here = trace.kills[first..].iter().take_while(|kill| kill.at == shot.at);
        for (i, kill) in here.enumerate() {
            let name = &format!("{name}k{i}");
            if self.left == 0 || self.run.passes_over(name, self.depth()) {
                continue;
            }
            kill.lock.words(&mut self.words);
            let words = std::mem::take(&mut self.words);
            let &Shot { image, journal, .. } = shot;
            let sealed = sealed_image(&words);
            let digest = self.run.reach.digest_of(image, journal, sealed.as_deref());
            self.run.count(self.column(Level::Prefix), digest);
            let key = (digest, shot.image.len(), kill.state, kill.state, kill.lock.digest);
            if self.checked.insert(key) {
                let lock = Some(&words[..]);
                let replays = trace.setup.journal_bytes.is_some();
                let newest = if replays { kill.newest } else { kill.state };
                let (oldest, at) = (kill.state, kill.at);
                let same_boot = true;
                let case = Case { image, journal, lock, same_boot, oldest, newest, at };
                self.left -= 1;
                self.run.tally.kills += 1;
                self.judge(&format!("{name} ({})", kill.point), &case);
                if self.first.is_none() && self.run.wants_again(name, 25, dice) {
                    let stage = Stage::after_kill(trace, (image, journal), kill);
                    self.again(name, stage, kill.at);
                }
            }
            self.words = words;
        }
    }

    /// Crashes again while what a crash left is opened, repaired and written to.
    fn again(&mut self, name: &str, mut stage: Stage, from: usize) {
        let _context = self.run.context(name);
        let work = |stage: &mut Stage| -> Play {
            stage.commit(0, Durability::Durable, |edit| more_work(edit, 0))?;
            stage.commit(0, Durability::Lazy, |edit| more_work(edit, 1))
        };
        work(&mut stage).expect("nothing fails in this run");
        let trace = stage.finish(from);
        Judge::new(&mut *self.run, &trace, Some(name.to_owned())).all(Caps::FEW);
    }

    /// The same image with another boot or another lock file.
    fn reboots(&mut self, name: &str, case: &Case<'_>, digest: u64, at: usize, dice: &mut Random) {
        let trace = self.trace;
        let kills = &trace.kills[..trace.kills.partition_point(|kill| kill.at <= at)];
        let Some(last) = kills.last() else { return };
        let stale = &kills[dice.index(kills.len())];
        let mut words = Vec::new();
        for (variant, kill) in [None, Some(last), Some(last), Some(stale)].into_iter().enumerate() {
            if let Some(kill) = kill {
                kill.lock.words(&mut words);
            }
            let lock = kill.map(|_| &words[..]);
            // What the lock file calls sealed may show if all of it is there.
            let newest = case.newest.max(kill.map_or(0, |kill| kill.state));
            // Without a lock file a new boot is nothing new.
            let case = Case { lock, same_boot: variant != 1, newest, ..*case };
            let lock_digest = kill.map_or(0, |kill| kill.lock.digest);
            self.reboot(name, &case, (digest, variant, lock_digest), dice);
        }
        for i in 0..self.strangers.len() {
            let stranger = std::mem::take(&mut self.strangers[i]);
            let case = Case { lock: Some(&stranger), same_boot: true, ..*case };
            self.reboot(name, &case, (digest, 4 + i, 0), dice);
            self.strangers[i] = stranger;
        }
    }

    fn reboot(&mut self, name: &str, case: &Case<'_>, key: (u64, usize, u64), dice: &mut Random) {
        if !self.reboots.insert(key) {
            return;
        }
        self.run.tally.table.add(self.run.script.name, Level::Reboot, 1);
        let name = &format!("{name}r{}", key.1);
        let verdict = self.judge(name, case);
        if self.run.wants_again(name, 20, dice) {
            let stage = Stage::after(self.trace, case, verdict.state);
            self.again(name, stage, 0);
        }
    }

    /// One flipped bit on top, in something that counts.
    fn flip(&mut self, name: &str, case: &Case<'_>, dice: &mut Random) {
        let batches = batches(case.journal);
        let file = if batches.is_empty() || dice.chance(50) { File::Data } else { File::Journal };
        let (bytes, spans) = match file {
            File::Data => (case.image, self.run.reach.spans(case.image)),
            File::Journal => (case.journal, batches),
        };
        let span = spans[dice.index(spans.len())].clone();
        let byte = span.start + dice.index(span.len());
        self.damaged.clear();
        self.damaged.extend_from_slice(bytes);
        self.damaged[byte] ^= 1 << dice.below(8);
        let damaged = std::mem::take(&mut self.damaged);
        let case = match file {
            File::Data => Case { image: &damaged, ..*case },
            File::Journal => Case { journal: &damaged, ..*case },
        };
        let digest = self.run.reach.digest_of(case.image, case.journal, None);
        self.run.count(self.column(Level::Flip), digest);
        self.run.tally.cases += 1;
        let anything = file == File::Data && byte < super::canvas::METAS_END;
        match self.oracle.judge_damaged(&case, anything) {
            Ok(noticed) => self.run.tally.noticed += u64::from(noticed),
            Err(what) => self.run.fail(
                self.first.as_deref(),
                name,
                &format!("a flipped bit in byte {byte} ({file:?}): {what}"),
            ),
        }
        self.damaged = damaged;
    }
}

/// Lock files that belong to other data files: one with this file's inode, one with another.
fn strangers(trace: &Trace) -> Vec<Vec<u64>> {
    let same = trace.machine.after_crash(&[], true).expect("a machine");
    let other = huon::sim::SimDisk::new(trace.setup.reserve_bytes).expect("a machine");
    other.set_boot(trace.machine.boot());
    let busy = |disk: huon::sim::SimDisk| {
        let env = trace.setup.options().open_simulated(&disk).expect("a new environment");
        for _ in 0..3 {
            let mut txn = env.write().expect("begin");
            let main =
                txn.create_table(&crate::model::TableId::MAIN.def()).expect("the main table");
            main.put(&mut txn, b"somewhere else", b"").expect("put");
            txn.commit_with(Durability::Lazy).expect("commit");
        }
        disk.lock_image()
    };
    vec![busy(same), busy(other)]
}

/// The place of a way to recover in [`Tally::recovered`].
fn kind(recovery: Recovery) -> usize {
    match recovery {
        Recovery::New => 0,
        Recovery::Clean => 1,
        Recovery::Newest => 2,
        Recovery::Flushed => 3,
        Recovery::SteppedBack => 4,
        _ => 5,
    }
}

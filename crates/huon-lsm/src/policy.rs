//! Which runs are merged: a pure function of their sizes.
//!
//! Runs have classes by size, each `fan` times as large as the one below. When a class has `fan`
//! runs of its own, they are merged with all smaller and newer ones (tiering), so a record is
//! written once a class. When all runs but the oldest hold more than half as much as that one does,
//! it is merged, too (lazy levelling: Dayan, Idreos: Dostoevsky, 2018), which bounds the space by
//! one and a half times the data.

use std::ops::Range;

/// What the policy knows of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunSize {
    pub(crate) bytes: u64,
    /// A merge that has begun takes it.
    pub(crate) is_busy: bool,
}

/// How runs are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Runs of a class that are merged at a time.
    pub(crate) fan: usize,
    /// Runs up to this size are of the lowest class.
    pub(crate) base_bytes: u64,
}

/// Merges of less belong to the small lane.
pub(crate) const SMALL_LANE_BYTES: u64 = 32 << 20;

/// Merges are made in two lanes at a time, so that a large one never holds up small ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Small,
    Large,
}

impl Lane {
    pub(crate) const ALL: [Lane; 2] = [Lane::Small, Lane::Large];

    pub(crate) fn of(bytes: u64) -> Lane {
        if bytes < SMALL_LANE_BYTES { Lane::Small } else { Lane::Large }
    }
}

impl Policy {
    fn class(&self, bytes: u64) -> u32 {
        let ratio = bytes / self.base_bytes.max(1);
        ratio.checked_ilog(self.fan.max(2) as u64).unwrap_or(0)
    }

    /// The runs to merge, of `runs`, which are frozen and ordered from the newest to the oldest.
    /// `slack`: so many runs more than the fan are borne.
    pub(crate) fn pick(&self, runs: &[RunSize], slack: usize) -> Option<Range<usize>> {
        self.all_due(runs, slack).next()
    }

    /// Merges that are due in one lane.
    pub(crate) fn pick_in(&self, runs: &[RunSize], slack: usize, lane: Lane) -> Option<Range<usize>> {
        let bytes = |range: &Range<usize>| runs[range.clone()].iter().map(|run| run.bytes).sum();
        self.all_due(runs, slack).find(|range| Lane::of(bytes(range)) == lane)
    }

    fn all_due<'r>(
        &self,
        runs: &'r [RunSize],
        slack: usize,
    ) -> impl Iterator<Item = Range<usize>> + use<'r> {
        let policy = *self;
        let top = runs.iter().map(|run| policy.class(run.bytes)).max();
        let classes = top.map_or(0, |top| top + 1);
        let tiers = (0..classes).filter_map(move |class| policy.tier(runs, slack, class));
        tiers.chain(policy.levelling(runs, slack))
    }

    /// The newest runs up to a class, if it has enough runs of its own. (Counting all runs instead
    /// lets one small run drag all larger ones along, again and again.)
    fn tier(&self, runs: &[RunSize], slack: usize, class: u32) -> Option<Range<usize>> {
        let fits = |run: &&RunSize| !run.is_busy && self.class(run.bytes) <= class;
        let count = runs.iter().take_while(fits).count();
        let own = runs[..count].iter().filter(|run| self.class(run.bytes) == class).count();
        (own >= self.fan + slack).then_some(0..count)
    }

    /// All runs, if the oldest is small beside the others.
    fn levelling(&self, runs: &[RunSize], slack: usize) -> Option<Range<usize>> {
        let (oldest, others) = runs.split_last()?;
        let bytes: u64 = others.iter().map(|run| run.bytes).sum();
        let is_due = others.len() > slack && bytes > oldest.bytes / 2 && bytes > self.base_bytes * self.fan as u64;
        let is_free = runs.iter().all(|run| !run.is_busy);
        (is_due && is_free).then_some(0..runs.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy { fan: 8, base_bytes: 64 << 10 };

    /// What a sequence of runs costs.
    struct Outcome {
        put: u64,
        merged: u64,
        most_runs: usize,
        /// Bytes of all runs, for each byte of the oldest once the policy is content.
        space: f64,
    }

    /// Puts runs of these sizes, of keys that are all different, and merges as the policy says.
    fn play(sizes: impl Iterator<Item = u64>, policy: Policy, slack: usize) -> Outcome {
        let mut runs: Vec<RunSize> = Vec::new();
        let mut outcome = Outcome { put: 0, merged: 0, most_runs: 0, space: 1.0 };
        for bytes in sizes {
            runs.insert(0, RunSize { bytes, is_busy: false });
            outcome.put += bytes;
            while let Some(range) = policy.pick(&runs, slack) {
                assert!(range.len() > 1, "a merge takes two runs at least");
                let bytes = runs[range.clone()].iter().map(|run| run.bytes).sum();
                outcome.merged += bytes;
                runs.splice(range, [RunSize { bytes, is_busy: false }]);
            }
            outcome.most_runs = outcome.most_runs.max(runs.len());
        }
        let all: u64 = runs.iter().map(|run| run.bytes).sum();
        outcome.space = all as f64 / runs.last().unwrap().bytes as f64;
        outcome
    }

    fn random(seed: u64, below: u64) -> impl Iterator<Item = u64> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            1 + (state >> 33) % below
        })
    }

    #[test]
    fn amplification_and_runs_are_bounded_whatever_the_sizes() {
        for (name, sizes) in [
            ("alike", vec![40 << 10; 20_000]),
            ("random", random(1, 4 << 20).take(5000).collect()),
            ("small and large", random(2, 1 << 10).zip(random(3, 8 << 20)).take(3000).map(|(a, b)| if b % 7 == 0 { b } else { a }).collect()),
            ("growing", (1..3000).map(|n| n * 1000).collect()),
            ("shrinking", (1..3000).rev().map(|n| n * 1000).collect()),
            ("one large first", std::iter::once(4 << 30).chain(random(4, 100 << 10).take(20_000)).collect()),
        ] {
            for slack in [0, 4] {
                let outcome = play(sizes.iter().copied(), POLICY, slack);
                let amplification = outcome.merged as f64 / outcome.put as f64;
                // One write a class, and a share of levelling.
                assert!(amplification < 9.0, "{name} {slack}: {amplification}");
                assert!(outcome.most_runs <= 60 + 6 * slack, "{name} {slack}: {}", outcome.most_runs);
                if slack == 0 && name != "one large first" {
                    assert!(outcome.space <= 1.6, "{name}: {}", outcome.space);
                }
            }
        }
    }

    #[test]
    fn a_content_policy_bounds_the_space() {
        for seed in 0..50 {
            let sizes: Vec<u64> = random(seed, 1 << 20).take(500).collect();
            let outcome = play(sizes.into_iter(), POLICY, 0);
            assert!(outcome.space <= 1.5 + 0.05, "{seed}: {}", outcome.space);
        }
    }

    #[test]
    fn runs_of_another_merge_are_left_alone() {
        let run = |bytes, is_busy| RunSize { bytes, is_busy };
        let mut runs = vec![run(1000, false); 8];
        runs.push(run(1 << 30, true));
        assert_eq!(POLICY.pick(&runs, 0), Some(0..8));
        runs[7].is_busy = true;
        assert_eq!(POLICY.pick(&runs, 0), None, "seven are not enough");
        let large = vec![run(20 << 20, false); 9];
        assert_eq!(POLICY.pick_in(&large, 0, Lane::Small), None);
        assert_eq!(POLICY.pick_in(&large, 0, Lane::Large), Some(0..9));
    }

    #[test]
    fn classes_grow_by_the_fan() {
        let class = |bytes| POLICY.class(bytes);
        assert_eq!([class(0), class(64 << 10), class((512 << 10) - 1)], [0, 0, 0]);
        assert_eq!([class(512 << 10), class(4 << 20), class(32 << 20)], [1, 2, 3]);
    }
}

//! Which snapshots retain pages, and which pages they retain.

use std::ops::RangeInclusive;

use crate::page::Item;
use crate::planted::{self, Bug};

/// The snapshots of P11 as the writer read them, in the order of P10.
#[derive(Debug, Clone, Default)]
pub(crate) struct Protected {
    /// All of them, ascending.
    pub(crate) all: Vec<u64>,
    /// Those that tend to stay (readers, durable, in flight), ascending: they own chains.
    pub(crate) lasting: Vec<u64>,
    /// Snapshots from one to another that count as pinned, each and every one, ascending and apart:
    /// where guests pin so many that not all were asked for (R4). Rarely any.
    pub(crate) spans: Vec<RangeInclusive<u64>>,
}

impl Protected {
    /// The oldest snapshot of `ids` that sees a page with this birth and end.
    fn oldest_retaining(ids: &[u64], birth: u64, freed: u64) -> Option<u64> {
        let at = ids.partition_point(|&s| s < birth + u64::from(planted::is(Bug::BirthSnapshot)));
        ids.get(at).copied().filter(|&s| s + u64::from(planted::is(Bug::FreedOffByOne)) < freed)
    }

    /// P12, the one sentence.
    pub(crate) fn retains(&self, birth: u64, freed: u64) -> bool {
        self.oldest_of(&self.all, birth, freed).is_some()
    }

    /// The same of `ids` and of the spans.
    pub(super) fn oldest_of(&self, ids: &[u64], birth: u64, freed: u64) -> Option<u64> {
        let single = Self::oldest_retaining(ids, birth, freed);
        let at = self.spans.partition_point(|span| *span.end() < birth);
        let of_span = self.spans.get(at).map(|span| birth.max(*span.start()));
        let of_span = of_span.filter(|&s| s < freed);
        single.into_iter().chain(of_span).min()
    }

    /// Whether the snapshot is protected.
    pub(super) fn contains(&self, txnid: u64) -> bool {
        let in_span = || self.spans.iter().any(|span| span.contains(&txnid));
        self.all.binary_search(&txnid).is_ok() || in_span()
    }

    pub(super) fn owner(&self, item: &Item) -> u64 {
        if item.is_chain() {
            if self.contains(item.freed) { item.freed } else { 0 }
        } else if planted::is(Bug::NewestOwner) {
            let seen = self.lasting.iter().rev().find(|&&s| item.birth <= s && s < item.freed);
            seen.copied().unwrap_or(0)
        } else {
            self.oldest_of(&self.lasting, item.birth, item.freed).unwrap_or(0)
        }
    }
}

//! Planted bugs: rules that can be left out, to show that the tests notice.
//!
//! Only with the feature `planted`, and then only the bug that the environment variable
//! `HUON_PLANTED` numbers, as in the engine; without it every question is answered `false` at
//! compile time. The tests know nothing of this.

/// What is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "planted"), allow(dead_code))]
#[repr(u32)]
pub(crate) enum Bug {
    /// L4: the oldest run among the inputs of a merge that drops tombstones.
    TombstoneEarly = 301,
    /// The ids of the inputs in the last step of a merge: their places count.
    InputsByPlace = 302,
    /// L6: keeping a view only after the commit that made it.
    ViewBeforeCommit = 303,
    /// L6: the new version of a manifest whose open run was frozen.
    FrozenUnnoticed = 304,
    /// The filter of the output of a merge: it is that of the newest input's size, and empty.
    FilterOfInput = 305,
    /// L2: the newest of equal keys in a merge: the oldest counts.
    OldestCounts = 306,
    /// The first record of a step that goes on with a merge.
    ResumedLate = 307,
    /// The deletes of ranges that a merge has not made, at its end: they count as made.
    DeletesForgotten = 308,
    /// The comparison of the claim in the manifest with the one that a step goes on from.
    ClaimUnchecked = 309,
    /// L9: older runs below a merge that makes a value of an operand.
    OperandEarly = 310,
    /// L9: the order of a value and of an operand on it.
    OperandsTurned = 311,
    /// L10: a delete that the oldest run has made, when something is appended to that.
    AppendIntoDeleted = 312,
    /// L8: the oldest of the inputs, when a step takes keys out of them.
    InputKept = 313,
    /// L8: the end of the keys that a step takes out of the inputs: one more goes.
    TrimmedTooFar = 314,
    /// L8: the transaction in which the inputs lose what the output takes: it is the next one.
    TrimmedApart = 315,
}

/// Whether a bug is planted.
#[cfg(feature = "planted")]
pub(crate) fn is(bug: Bug) -> bool {
    use std::sync::OnceLock;
    static PLANTED: OnceLock<u32> = OnceLock::new();
    let planted = PLANTED.get_or_init(|| {
        let named = std::env::var("HUON_PLANTED").ok();
        named.and_then(|number| number.parse().ok()).unwrap_or(0)
    });
    *planted == bug as u32
}

/// Whether a bug is planted.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn is(_: Bug) -> bool {
    false
}

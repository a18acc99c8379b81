//! How a check outside the test run went.

/// How a check went.
pub(crate) enum Outcome {
    /// Well; with figures, by name.
    Passed(Vec<(String, u64)>),
    /// It found something wrong, and printed what.
    Failed,
}

impl Outcome {
    /// Whether nothing was found wrong.
    pub(crate) fn good(&self) -> bool {
        !matches!(self, Outcome::Failed)
    }
}

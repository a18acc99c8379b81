//! How a check outside the test run went.

/// How a check went that not every machine can run.
pub(crate) enum Outcome {
    /// Well; with figures, by name.
    Passed(Vec<(String, u64)>),
    /// It found something wrong, and printed what.
    Failed,
    /// It did not run; why.
    Skipped(String),
}

impl Outcome {
    /// Whether nothing was found wrong; says why nothing was looked for.
    pub(crate) fn good(&self, check: &str) -> bool {
        if let Outcome::Skipped(why) = self {
            println!("skipped: {check}: {why}");
        }
        !matches!(self, Outcome::Failed)
    }
}

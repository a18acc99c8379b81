//! The full check of an environment, as tests want it: numbers, or what is wrong.

use huon::Env;

/// What a clean environment holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Audit {
    /// Branch pages of all tables.
    pub branch_pages: u64,
    /// Leaf pages of all tables.
    pub leaf_pages: u64,
    /// Pages of large values.
    pub overflow_pages: u64,
    /// Pages of the free-space list.
    pub free_list_pages: u64,
    /// Depth of the deepest tree.
    pub depth_max: u64,
    /// Multimaps of a single leaf, but for trees of values.
    pub value_trees: u64,
    /// Those among them with branches in a tree of values.
    pub deep_value_trees: u64,
}

/// Checks the newest snapshot; the error names the first problems.
pub fn audit(env: &Env) -> Result<Audit, String> {
    let report = env.check().map_err(|error| format!("the check failed: {error}"))?;
    if !report.is_clean() {
        let problems: Vec<String> =
            report.problems.iter().take(8).map(ToString::to_string).collect();
        return Err(format!("{} problems: {}", report.problem_count, problems.join("; ")));
    }
    let mut audit = Audit { free_list_pages: report.free_list_pages, ..Audit::default() };
    for table in &report.tables {
        audit.branch_pages += u64::from(table.branch_pages);
        audit.leaf_pages += u64::from(table.leaf_pages);
        audit.overflow_pages += u64::from(table.overflow_pages);
        let single = table.values.is_some() && table.depth == 1;
        audit.value_trees += u64::from(single && table.leaf_pages > 1);
        audit.deep_value_trees += u64::from(single && table.branch_pages > 0);
        audit.depth_max = audit.depth_max.max(u64::from(table.depth));
    }
    Ok(audit)
}

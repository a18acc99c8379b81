//! What a test run said, read from cargo's output and from the file of figures, and the verdict.
//!
//! 1. The last line and the exit code agree: every problem counts as a failed test.
//! 2. A test binary that ends without a result is a failure.
//! 3. A test that skipped itself is not counted as passed.
//! 4. What a test prints is not taken for the run's own words, also when it starts test binaries
//!    itself: a result counts if its sum is the number of tests that its binary announced.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::outcome;

/// The kinds tests report, in the file of figures and in words.
const KINDS: [(&str, &str); 8] = [
    ("exhaustive", "exhaustive cases"),
    ("model", "model operations"),
    ("audit", "audits"),
    ("crash", "crash images"),
    ("fault", "faults"),
    ("flip", "flips"),
    ("fuzz", "fuzz inputs"),
    ("kill", "kills"),
];

/// What a proof must reach at least, by the name of the figure; a test run a tenth of it.
const MINIMUMS: [(&str, u64); 3] =
    [("crash.images.distinct", 500_000), ("kills.writer", 3_000), ("kills.reader", 3_000)];

/// Named figures and tables.
#[derive(Default)]
pub(crate) struct Details {
    pub(crate) named: BTreeMap<String, u64>,
    pub(crate) tables: BTreeMap<String, String>,
}

impl Details {
    /// Takes in a line of the file of figures; false if it is none of ours.
    fn take(&mut self, line: &str) -> bool {
        if let Some((name, count)) = line.strip_prefix("named ").and_then(|l| l.split_once(' '))
            && let Ok(count) = count.parse::<u64>()
        {
            *self.named.entry(name.to_owned()).or_default() += count;
            return true;
        }
        if let Some((name, row)) = line.strip_prefix("table ").and_then(|l| l.split_once('|')) {
            let table = self.tables.entry(name.to_owned()).or_default();
            *table += row;
            table.push('\n');
            return true;
        }
        false
    }
}

/// The figures of one run.
#[derive(Default)]
pub(crate) struct Summary {
    passed: u64,
    failed: u64,
    failures: Vec<String>,
    ignored: u64,
    ignored_names: Vec<String>,
    skips: Vec<String>,
    counts: [u64; KINDS.len()],
    /// Steps of the conformance file that each language has run.
    languages: BTreeMap<String, u64>,
    problems: Vec<String>,
    /// What a figures file holds beside the sums by kind.
    pub(crate) details: Details,
    /// The number of tests a binary has announced, until it gives its result.
    running: Option<u64>,
}

impl Summary {
    /// Takes in one line that `cargo test` wrote, to either of its outputs, in their true order.
    pub(crate) fn line(&mut self, line: &str) {
        if line.starts_with("     Running ") || line.starts_with("   Doc-tests ") {
            self.binary_ended();
        } else if let Some(result) = Outcome::parse(line) {
            if self.running == Some(result.passed + result.failed + result.ignored) {
                self.running = None;
                self.passed += result.passed;
                self.failed += result.failed;
                self.ignored += result.ignored;
            }
        } else if let Some(count) = announced(line) {
            // While one runs, another is a child of it.
            self.running.get_or_insert(count);
        } else if let Some((name, end)) =
            line.strip_prefix("test ").and_then(|test| test.rsplit_once(" ... "))
        {
            if end == "FAILED" {
                self.failures.push(name.to_string());
            } else if let Some(reason) = end.strip_prefix("ignored") {
                let reason = reason.trim_start_matches([',', ' ']);
                self.ignored_test(name, reason);
            }
        }
    }

    /// Ends the run of `name`, which has said whether it succeeded.
    pub(crate) fn end(&mut self, name: &str, success: bool) {
        self.binary_ended();
        if !success && self.failed == 0 && self.problems.is_empty() {
            self.problem(format!("{name} failed: see above"));
        }
    }

    /// Takes in another run, which has ended.
    pub(crate) fn absorb(&mut self, other: Summary) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.ignored += other.ignored;
        self.ignored_names.extend(other.ignored_names);
        self.problems.extend(other.problems);
    }

    /// Takes in the file of figures.
    pub(crate) fn figures(&mut self, text: &str) {
        for line in text.lines() {
            if let Some(skip) = line.strip_prefix("skip ") {
                let known = self.skips.iter().any(|s| s == skip);
                if skip.split_once(": ").is_none_or(|(_, reason)| reason.trim().is_empty()) {
                    self.problem(format!("a skip without a reason: {skip}"));
                } else if !known {
                    self.skips.push(skip.to_string());
                }
                continue;
            }
            if self.details.take(line) || self.language(line) {
                continue;
            }
            let figure = line.split_once(' ').and_then(|(kind, count)| {
                let kind = KINDS.iter().position(|(name, _)| *name == kind)?;
                Some((kind, count.trim().parse::<u64>().ok()?))
            });
            match figure {
                Some((kind, count)) => self.counts[kind] += count,
                None => self.problem(format!("not a figure: {line}")),
            }
        }
    }

    /// Takes in what a language has run; false if a line of figures is not about that.
    fn language(&mut self, line: &str) -> bool {
        let told = line.strip_prefix("language ").and_then(|told| told.rsplit_once(' '));
        let Some((name, Ok(steps))) = told.map(|(name, steps)| (name, steps.parse())) else {
            return false;
        };
        self.languages.insert(name.to_owned(), steps);
        true
    }

    /// A test of the run itself passed.
    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    /// A test of the run itself could not be done here.
    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        // Counted as passed first, as a test that skips itself is.
        self.passed += 1;
        self.skips.push(format!("{name}: {reason}"));
    }

    /// A check outside the test run has ended; false if it found something wrong.
    pub(crate) fn check(&mut self, name: &str, outcome: outcome::Outcome) -> bool {
        let good = outcome.good(name);
        match outcome {
            outcome::Outcome::Passed(figures) => {
                self.pass();
                self.details.named.extend(figures);
            }
            outcome::Outcome::Failed => self.problem(format!("{name} found something")),
            outcome::Outcome::Skipped(why) => self.skip(name, &why),
        }
        good
    }

    /// Something is wrong that no test said.
    pub(crate) fn problem(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }

    /// Makes a problem of a run in which no test passed.
    pub(crate) fn judge_passed(&mut self) {
        if self.passed() == 0 {
            self.problem("no test passed");
        }
    }

    /// Makes a problem of every kind of test that did nothing.
    pub(crate) fn judge_kinds(&mut self) {
        self.judge_passed();
        for (i, (_, words)) in KINDS.iter().enumerate() {
            if self.counts[i] == 0 {
                self.problem(format!("no {words}: tests of this kind did nothing"));
            }
        }
    }

    /// Makes a problem of every named figure that stays below its minimum divided by `share`.
    pub(crate) fn judge_minimums(&mut self, share: u64) {
        for (name, minimum) in MINIMUMS {
            let (found, wanted) = (self.details.named.get(name).copied(), minimum / share);
            if found.unwrap_or(0) < wanted {
                self.problem(format!("{name}: {} of {wanted}", found.unwrap_or(0)));
            }
        }
    }

    /// The sums by kind, in words.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        KINDS.iter().map(|(_, words)| *words).zip(self.counts)
    }

    /// The text that ends the run.
    pub(crate) fn report(&self) -> String {
        let mut text = String::from("\n");
        let mut row = |words: &str, count: u64| {
            let _ = writeln!(text, "{words:<18} {:>15}", grouped(count));
        };
        row("unit", self.passed());
        for ((_, words), count) in KINDS.iter().zip(self.counts) {
            row(words, count);
        }
        self.languages.iter().for_each(|(name, steps)| row(&format!("steps in {name}"), *steps));
        text.push('\n');
        text + &self.verdict() + "\n"
    }

    /// What was skipped and what failed, and the line of totals.
    pub(crate) fn verdict(&self) -> String {
        let mut text = String::new();
        for list in [&self.ignored_names, &self.skips] {
            list.iter().for_each(|skip| text += &format!("skipped: {skip}\n"));
        }
        self.failures.iter().for_each(|name| text += &format!("failed: {name}\n"));
        self.problems.iter().for_each(|what| text += &format!("failed: {what}\n"));
        let _ = write!(text, "{} passed, {} failed", self.passed(), self.failed());
        if self.skipped() > 0 {
            let _ = write!(text, ", {} skipped", self.skipped());
        }
        text
    }

    /// True if everything passed.
    pub(crate) fn good(&self) -> bool {
        self.failed() == 0
    }

    pub(crate) fn passed(&self) -> u64 {
        self.passed.saturating_sub(self.skips.len() as u64)
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failed + self.problems.len() as u64
    }

    /// Each skip with its reason.
    pub(crate) fn skips(&self) -> impl Iterator<Item = &String> {
        self.ignored_names.iter().chain(&self.skips)
    }

    fn skipped(&self) -> u64 {
        self.ignored + self.skips.len() as u64
    }

    fn ignored_test(&mut self, name: &str, reason: &str) {
        match reason {
            "" => self.problem(format!("{name} is ignored without a reason")),
            reason => self.ignored_names.push(format!("{name}: {reason}")),
        }
    }

    fn binary_ended(&mut self) {
        if let Some(count) = self.running.take() {
            self.problem(format!("a test binary of {count} tests ended without a result"));
        }
    }
}

/// A line `test result: ok. 5 passed; 0 failed; 1 ignored; ..`.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Outcome {
    /// Finds the result also behind the output of a test that did not end its line.
    fn parse(line: &str) -> Option<Outcome> {
        let at = line.rfind("test result: ")?;
        let rest = &line[at + "test result: ".len()..];
        let rest = rest.strip_prefix("ok. ").or_else(|| rest.strip_prefix("FAILED. "))?;
        let mut parts = rest.split("; ");
        let mut number = |word: &str| parts.next()?.strip_suffix(word)?.trim().parse().ok();
        Some(Outcome {
            passed: number("passed")?,
            failed: number("failed")?,
            ignored: number("ignored")?,
        })
    }
}

/// The number in `running 5 tests`.
fn announced(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("running ")?;
    rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?.parse().ok()
}

/// A number with a comma between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
     Running unittests src/lib.rs (target/debug/deps/huon-1)

running 3 tests
test a ... ok
test b ... ignored, needs a tape
test c - should panic ... ok

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

   Doc-tests huon

running 1 test
test d ... ok
half a line test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished
";

    const FIGURES: &str = "exhaustive 1\nmodel 1000\nmodel 234567\naudit 3\ncrash 4\nfault 5\n\
        flip 6\nfuzz 8\nkill 7\nskip d: no such device: /dev/x\nskip d: no such device: /dev/x\n";

    fn read(output: &str, success: bool) -> Summary {
        let mut summary = Summary::default();
        output.lines().for_each(|line| summary.line(line));
        summary.end("cargo test", success);
        summary
    }

    fn last(summary: &Summary) -> String {
        summary.report().lines().last().unwrap().to_string()
    }

    #[test]
    fn a_good_run() {
        let mut summary = read(GOOD, true);
        summary.figures(FIGURES);
        summary.judge_kinds();
        assert!(summary.good());
        let report = summary.report();
        assert!(report.contains("\nmodel operations           235,567\n"), "{report}");
        assert!(report.contains("\nskipped: b: needs a tape\n"), "{report}");
        assert!(report.contains("\nskipped: d: no such device: /dev/x\n"), "{report}");
        assert!(report.ends_with("\n2 passed, 0 failed, 2 skipped\n"), "{report}");
    }

    #[test]
    fn nothing_skipped_is_not_mentioned() {
        let summary = read(
            "running 5 tests\ntest result: ok. 5 passed; 0 failed; 0 ignored; 0 measured",
            true,
        );
        assert_eq!(last(&summary), "5 passed, 0 failed");
    }

    #[test]
    fn a_failed_test() {
        let output = "running 2 tests\ntest x::y ... FAILED\ntest z ... ok\n\
            test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        let summary = read(output, false);
        assert!(!summary.good());
        assert!(summary.report().contains("failed: x::y\n"));
        assert_eq!(last(&summary), "1 passed, 1 failed");
    }

    #[test]
    fn languages_have_rows_of_their_own() {
        let mut summary = read(GOOD, true);
        summary.figures("language Go 7150\nlanguage C and C++ 7150\n");
        let report = summary.report();
        assert!(report.contains("\nsteps in C and C++           7,150\nsteps in Go "), "{report}");
        assert!(summary.good());
        summary.figures("language Go many\n");
        assert!(!summary.good());
    }

    #[test]
    fn a_kind_at_zero_is_a_failure() {
        let mut summary = read(GOOD, true);
        summary.figures(&FIGURES.replace("crash 4", "crash 0"));
        summary.judge_kinds();
        assert!(!summary.good());
        assert!(summary.report().contains("failed: no crash images"));
        assert_eq!(last(&summary), "2 passed, 1 failed, 2 skipped");
    }

    #[test]
    fn a_crash_and_a_compile_error_are_failures() {
        let output = "running 3 tests\ntest a ... ok\n     Running b (c)\nrunning 9 tests\n";
        assert_eq!(last(&read(output, false)), "0 passed, 2 failed");
        assert_eq!(last(&read("", false)), "0 passed, 1 failed");
        // A binary of ours that is not libtest failed after others were fine.
        assert_eq!(last(&read(GOOD, false)), "3 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn binaries_that_tests_start_are_not_counted() {
        let child = "running 1 test\ntest child ... ok\n\
            test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out\n";
        let killed = "running 1 test\n";
        let end = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured";
        let output = format!("running 3 tests\n{child}{killed}{child}{end}\n");
        assert_eq!(last(&read(&output, true)), "3 passed, 0 failed");
        // A parent that looks like its child, and fails.
        let end = "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured";
        let summary = read(&format!("running 1 test\n{child}{end}\n"), false);
        assert!(!summary.good());
    }

    #[test]
    fn runs_are_put_together() {
        let mut all = read(GOOD, true);
        all.absorb(read(GOOD, true));
        all.absorb(read("running 3 tests\n", false));
        all.absorb(read(
            "running 1 test\ntest x ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored",
            false,
        ));
        assert!(all.report().contains("failed: x\n"));
        assert_eq!(last(&all), "6 passed, 2 failed, 2 skipped");
    }

    #[test]
    fn reasons_and_figures_must_be_right() {
        let mut summary = read("test a ... ignored", true);
        assert!(!summary.good());
        summary = Summary::default();
        summary.figures("luck 3\nmodel many\nskip x\n");
        assert_eq!(last(&summary), "0 passed, 3 failed");
    }

    #[test]
    fn a_figure_below_its_minimum_is_a_failure() {
        let mut summary = read(GOOD, true);
        summary.figures("named crash.images.distinct 50000\nnamed kills.writer 300\n");
        summary.figures("named kills.reader 299\n");
        summary.judge_minimums(10);
        assert!(summary.report().contains("failed: kills.reader: 299 of 300\n"));
        assert_eq!(last(&summary), "3 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn details_are_kept() {
        let mut summary = Summary::default();
        summary.figures("named kills.all 2\nnamed kills.all 3\ntable t|| a |\ntable t|| b |\n");
        assert_eq!(summary.details.named["kills.all"], 5);
        assert_eq!(summary.details.tables["t"], "| a |\n| b |\n");
        assert!(summary.problems.is_empty());
    }

    #[test]
    fn numbers_are_grouped() {
        let shown = [0, 999, 1000, 1234567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}

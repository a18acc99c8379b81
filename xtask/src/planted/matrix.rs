//! What was found: kept between runs, printed, and written down for readers.
//!
//! Runs keep their results in the target directory. Writing puts them over those that were written
//! before, trial by trial, so that a new bug does not ask for the others to be tried again: each
//! trial has the commit and the day that it is of.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Bug, kinds};
use crate::proof::said;
use crate::shell::Shell;
use crate::source::Source;

/// Where readers find it.
const PAGE: &str = "docs/PLANTED.md";
/// What the page is made of.
const DATA: &str = "docs/planted.json";

/// One kind against one bug.
#[derive(Serialize, Deserialize)]
pub(crate) struct Trial {
    /// It ran an n-th of the full figures.
    pub(crate) share: u32,
    /// Until the first failure, or the end.
    pub(crate) seconds: f64,
    /// The test that failed first.
    pub(crate) caught_by: Option<String>,
    /// It was cut short before that.
    pub(crate) is_cut: bool,
    pub(crate) commit: String,
    pub(crate) date: String,
}

/// The last trial of each kind against each bug.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Matrix(BTreeMap<u32, BTreeMap<String, Trial>>);

/// The commit that is tried; it says so if there are changes on top.
pub(crate) fn commit(shell: &Shell) -> Result<String, String> {
    said(shell, "git", &["describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"])
}

pub(crate) fn date(shell: &Shell) -> Result<String, String> {
    said(shell, "date", &["-u", "+%Y-%m-%d"])
}

impl Matrix {
    /// What earlier runs found.
    pub(crate) fn load(shell: &Shell) -> Result<Matrix, String> {
        let path = kept(shell);
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(Matrix::default()) };
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    pub(crate) fn save(&self, shell: &Shell) -> Result<(), String> {
        let path = kept(shell);
        let text = serde_json::to_string_pretty(self).map_err(|e| e.to_string())?;
        std::fs::write(&path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))
    }

    pub(crate) fn note(&mut self, bug: u32, kind: &str, trial: Trial) {
        self.0.entry(bug).or_default().insert(kind.to_owned(), trial);
    }

    /// Whether there is a result of that size, or a larger one.
    pub(crate) fn was_tried(&self, bug: u32, kind: &str, share: u32) -> bool {
        let trial = self.0.get(&bug).and_then(|trials| trials.get(kind));
        trial.is_some_and(|trial| trial.share <= share)
    }

    /// Whether any kind has caught it.
    pub(crate) fn is_caught(&self, bug: u32) -> bool {
        self.catches(bug).next().is_some()
    }

    /// The kinds that have caught it.
    fn catches(&self, bug: u32) -> impl Iterator<Item = (&str, f64, &str)> {
        self.0.get(&bug).into_iter().flatten().filter_map(|(kind, trial)| {
            Some((kind.as_str(), trial.seconds, trial.caught_by.as_deref()?))
        })
    }

    /// A row for each bug, a column for each kind.
    pub(crate) fn table(&self, bugs: &[&Bug]) -> String {
        let heads: String = kinds::names().map(|name| format!(" {name} |")).collect();
        let rules = "---:|".repeat(kinds::names().count());
        let mut text = format!("| no. | name | what is left out |{heads}\n|---:|---|---|{rules}\n");
        for bug in bugs {
            let none = BTreeMap::new();
            let trials = self.0.get(&bug.number).unwrap_or(&none);
            let _ = write!(text, "| {} | `{}` | {} |", bug.number, bug.name, bug.what);
            for kind in kinds::names() {
                let _ = write!(text, " {} |", cell(trials.get(kind)));
            }
            text.push('\n');
        }
        text
    }

    /// What was written down before.
    fn written(root: &Path) -> Result<Matrix, String> {
        let Ok(text) = std::fs::read_to_string(root.join(DATA)) else {
            return Ok(Matrix::default());
        };
        serde_json::from_str(&text).map_err(|e| format!("{DATA}: {e}"))
    }

    /// Puts later trials in the place of the same ones here, and drops bugs that are not planted.
    fn renew(&mut self, later: Matrix, bugs: &[Bug]) {
        for (bug, trials) in later.0 {
            self.0.entry(bug).or_default().extend(trials);
        }
        self.0.retain(|number, _| bugs.iter().any(|bug| bug.number == *number));
    }

    /// Writes what was found over what was written before, and the page of all of it; false, and
    /// nothing written, if there is a bug that no test has caught.
    pub(crate) fn write(self, shell: &Shell, bugs: &[Bug]) -> Result<bool, String> {
        let mut all = Matrix::written(&shell.root)?;
        all.renew(self, bugs);
        let missed = bugs.iter().filter(|bug| !all.is_caught(bug.number));
        let missed: Vec<String> = missed.map(|bug| bug.number.to_string()).collect();
        if !missed.is_empty() {
            println!("not caught, or not tried: {}", missed.join(", "));
            return Ok(false);
        }
        for (name, text) in [(DATA, all.lines()?), (PAGE, all.page(bugs))] {
            std::fs::write(shell.root.join(name), text).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(true)
    }

    /// Each trial on a line of its own.
    fn lines(&self) -> Result<String, String> {
        let bug = |(number, trials): (&u32, &BTreeMap<String, Trial>)| {
            let line = |(kind, trial): (&String, &Trial)| {
                Ok(format!("    \"{kind}\": {}", serde_json::to_string(trial)?))
            };
            let lines: serde_json::Result<Vec<String>> = trials.iter().map(line).collect();
            Ok(format!("  \"{number}\": {{\n{}\n  }}", lines?.join(",\n")))
        };
        let bugs: serde_json::Result<Vec<String>> = self.0.iter().map(bug).collect();
        let bugs = bugs.map_err(|e| format!("{DATA}: {e}"))?;
        Ok(format!("{{\n{}\n}}\n", bugs.join(",\n")))
    }

    fn page(&self, bugs: &[Bug]) -> String {
        let trials = || bugs.iter().filter_map(|bug| self.0.get(&bug.number)).flatten();
        let all: Vec<&Bug> = bugs.iter().collect();
        let mut text = format!("{HEAD}\n{} bugs, each caught.\n\n{}", bugs.len(), self.table(&all));
        text.push_str(FIRST);
        for bug in bugs {
            let soonest = self.catches(bug.number).min_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((kind, _, test)) = soonest {
                let (number, count) = (bug.number, self.catches(bug.number).count());
                let Trial { commit, date, .. } = &self.0[&number][kind];
                let _ =
                    writeln!(text, "| {number} | {count} | {kind} | `{test}` | {date}, {commit} |");
            }
        }
        text.push_str(KINDS);
        for kind in kinds::names() {
            let has = |bug: &&Bug| self.catches(bug.number).any(|(name, ..)| name == kind);
            let is_alone = |bug: &&Bug| has(bug) && self.catches(bug.number).count() == 1;
            let alone = bugs.iter().filter(is_alone).map(|bug| bug.number.to_string());
            let alone = alone.collect::<Vec<_>>().join(", ");
            let tried = trials().filter(|(name, _)| *name == kind).count();
            let count = bugs.iter().filter(has).count();
            let _ = writeln!(text, "| {kind} | {tried} | {count} | {alone} |");
        }
        text
    }
}

const HEAD: &str = "\
# Planted bugs

Written by `cargo xtask planted --write`; not to be changed by hand.

Each of these bugs was built into the engine, one at a time, and kinds of tests ran up to their
first failure. No test knows which bug is there. A cell holds the seconds until a test failed, or
`hangs` if one did not end. `-` means that the kind passed, `..` that it was cut short after 20 s
without a failure; an empty cell, that it was not tried. Tests ran a hundredth of the full figures
(`HUON_SHARE=100`), or where it says `(1/10)` as much as in `make test`. Times are of one run and
say no more than whether a bug is found soon. Not all are of one commit; which it was stands with
the test that was soonest, with `+` if there were changes on top.
";
const FIRST: &str = "\n## Which test notices first\n\n\
                     | no. | kinds | the soonest | its test | tried on, at |\n\
                     |---:|---:|---|---|---|\n";
const KINDS: &str = "\n## What each kind is good for\n\n\
                     | kind | bugs tried | caught | caught by no other that was tried |\n\
                     |---|---:|---:|---|\n";

fn cell(trial: Option<&Trial>) -> String {
    let Some(trial) = trial else { return String::new() };
    let share = match trial.share {
        super::SMALL => String::new(),
        other => format!(" (1/{other})"),
    };
    match &trial.caught_by {
        None if trial.is_cut => "..".to_owned(),
        None => "-".to_owned(),
        Some(test) if test.ends_with("hangs") => format!("hangs{share}"),
        Some(_) => format!("{:.1}{share}", trial.seconds),
    }
}

/// Where results are kept.
fn kept(shell: &Shell) -> PathBuf {
    shell.target.join("planted/matrix.json")
}

/// Complains about a bug in the list that the page does not show as caught, in the same words.
pub(crate) fn check(root: &Path, files: &[Source]) -> Vec<String> {
    let list =
        super::LISTS.map(|list| std::fs::read_to_string(root.join(list)).unwrap_or_default());
    let page = files.iter().find(|file| file.path == PAGE).map_or("", |file| &file.text);
    let mut complaints = Vec::new();
    let bugs: Vec<Bug> = super::listed(&list.concat());
    match Matrix::written(root) {
        Ok(written) if written.page(&bugs) != page => complaints.push(format!(
            "{PAGE} is not what {DATA} and the list make; cargo xtask planted --write"
        )),
        Ok(_) => {}
        Err(text) => complaints.push(text),
    }
    for bug in bugs {
        let head = format!("| {} | `{}` | {} |", bug.number, bug.name, bug.what);
        let row = page.lines().find_map(|line| line.strip_prefix(&head));
        let is_caught = |row: &str| row.contains("hangs") || row.contains(|c: char| c.is_numeric());
        if !row.is_some_and(is_caught) {
            complaints.push(format!("{PAGE} does not show bug {} as caught", bug.number));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(share: u32, caught_by: Option<&str>) -> Trial {
        let caught_by = caught_by.map(str::to_owned);
        let is_cut = false;
        Trial { share, seconds: 1.26, caught_by, is_cut, commit: "c".into(), date: "d".into() }
    }

    #[test]
    fn cells_tell_how_it_went() {
        assert_eq!(cell(None), "");
        assert_eq!(cell(Some(&trial(100, None))), "-");
        assert_eq!(cell(Some(&Trial { is_cut: true, ..trial(100, None) })), "..");
        assert_eq!(cell(Some(&trial(100, Some("a::b")))), "1.3");
        assert_eq!(cell(Some(&trial(10, Some("a::b")))), "1.3 (1/10)");
        assert_eq!(cell(Some(&trial(100, Some("x, which hangs")))), "hangs");
    }

    #[test]
    fn the_page_shows_the_kinds_that_are_alone() {
        let bugs = [1, 2].map(|number| Bug {
            number,
            name: format!("N{number}"),
            what: format!("w{number}"),
        });
        let mut matrix = Matrix::default();
        matrix.note(1, "model", trial(100, Some("a")));
        matrix.note(1, "crash", trial(100, None));
        matrix.note(2, "model", trial(100, Some("a")));
        matrix.note(2, "crash", trial(100, Some("b")));
        let page = matrix.page(&bugs);
        assert!(
            page.contains("| model | 2 | 2 | 1 |\n") && page.contains("| crash | 2 | 1 |  |\n")
        );
        assert!(page.contains("| 1 | 1 | model | `a` | d, c |\n"));
        assert!(matrix.is_caught(1) && !matrix.is_caught(3));
    }

    #[test]
    fn what_was_tried_anew_counts_and_the_rest_stays() {
        let bugs = [1, 2].map(|number| Bug {
            number,
            name: format!("N{number}"),
            what: format!("w{number}"),
        });
        let (mut before, mut later) = (Matrix::default(), Matrix::default());
        before.note(1, "model", trial(100, Some("a")));
        before.note(1, "crash", trial(100, Some("a")));
        before.note(3, "crash", trial(100, Some("a")));
        later.note(1, "crash", trial(100, None));
        later.note(2, "crash", trial(10, Some("b")));
        before.renew(later, &bugs);
        let text = before.lines().unwrap();
        let Matrix(found) = serde_json::from_str(&text).unwrap();
        assert_eq!(text.lines().count(), 2 + 2 * 2 + 3);
        assert!(found[&1]["model"].caught_by.is_some() && found[&1]["crash"].caught_by.is_none());
        assert!(found[&2]["crash"].share == 10 && !found.contains_key(&3));
    }
}

//! `cargo xtask planted`: do the tests notice the bugs that are planted for them?
//!
//! 1. The tests are built once with the feature that holds the bugs, and once more each for the
//!    models of loom and shuttle; with no bug planted they pass.
//! 2. Each kind of tests, cheapest first, runs against each bug, at a small size, up to its first
//!    failure. It has caught a bug when a test fails, dies or does not end. The tests do not know
//!    what is planted.
//! 3. A kind that takes long with no bug planted is cut short, which says nothing.
//! 4. A bug that no kind catches so is tried again at the usual size, and nothing is cut short.
//! 5. Every result is kept as soon as it is there: bugs and kinds can be tried in any parts, and a
//!    run that was ended goes on where it was.

mod attempt;
mod kinds;
mod matrix;

use std::time::Duration;

use attempt::{Attempt, TimeLimit};
use kinds::Kind;
use matrix::{Matrix, Trial};

use crate::shell::Shell;
pub(crate) use matrix::check;

/// Where the bugs are listed: those of the engine, and of its LSM tables.
const LISTS: [&str; 2] = ["crates/huon/src/planted.rs", "crates/huon-lsm/src/planted.rs"];
/// The part of the full figures that the first try runs, and the usual one.
const SMALL: u32 = 100;
const USUAL: u32 = 10;
/// A kind that takes long is cut short after this.
const CUT: Duration = Duration::from_secs(20);

pub(crate) struct Bug {
    number: u32,
    name: String,
    what: String,
}

/// What the command line asks for.
pub(crate) struct Wish {
    /// The bugs to try, or all.
    pub(crate) bugs: Vec<u32>,
    /// The kinds to try, or all.
    pub(crate) kinds: Vec<String>,
    /// A bug that any kind has caught is not tried with others.
    pub(crate) first: bool,
    /// What was tried before is tried again.
    pub(crate) again: bool,
    /// Nothing is tried; what earlier runs found becomes the page.
    pub(crate) write: bool,
}

/// Tries and prints the matrix; false if a bug was not caught, or something is caught where nothing
/// is.
pub(crate) fn run(shell: &Shell, wish: &Wish) -> Result<bool, String> {
    let all = bugs(shell)?;
    let mut matrix = Matrix::load(shell)?;
    if wish.write {
        return matrix.write(shell, &all);
    }
    if let Some(unknown) = wish.bugs.iter().find(|n| all.iter().all(|bug| bug.number != **n)) {
        return Err(format!("{} have no bug {unknown}", LISTS.join(" and ")));
    }
    let is_wanted = |bug: &&Bug| wish.bugs.is_empty() || wish.bugs.contains(&bug.number);
    let bugs: Vec<&Bug> = all.iter().filter(is_wanted).collect();
    let kinds = kinds::build(shell, &wish.kinds)?;
    let (commit, date) = (matrix::commit(shell)?, matrix::date(shell)?);
    let mut trier = Trier { shell, wish, commit, date, matrix: &mut matrix };
    for kind in &kinds {
        let Some(time_limit) = trier.time_limit(kind)? else { return Ok(false) };
        for bug in &bugs {
            trier.try_one(kind, bug, SMALL, time_limit)?;
        }
    }
    let missed: Vec<&&Bug> =
        bugs.iter().filter(|bug| !trier.matrix.is_caught(bug.number)).collect();
    for kind in &kinds {
        for bug in &missed {
            trier.try_one(kind, bug, USUAL, TimeLimit::ALL)?;
        }
    }
    print!("\n{}", matrix.table(&bugs));
    Ok(bugs.iter().all(|bug| matrix.is_caught(bug.number)))
}

/// What a run does, and what it notes with each result.
struct Trier<'s> {
    shell: &'s Shell,
    wish: &'s Wish,
    commit: String,
    date: String,
    matrix: &'s mut Matrix,
}

impl Trier<'_> {
    /// How long a kind may take, from what it takes with no bug planted; `None` if it fails then.
    fn time_limit(&self, kind: &Kind) -> Result<Option<TimeLimit>, String> {
        let attempt = Attempt::new(self.shell, kind, 0, SMALL, TimeLimit::ALL)?;
        println!("{:10}   0  {}", kind.name, attempt.in_words());
        if attempt.caught_by.is_some() {
            println!("{} fails with no bug planted", kind.name);
            return Ok(None);
        }
        Ok(Some(TimeLimit::of(attempt.seconds)))
    }

    fn try_one(
        &mut self,
        kind: &Kind,
        bug: &Bug,
        share: u32,
        time_limit: TimeLimit,
    ) -> Result<(), String> {
        let was_tried = self.matrix.was_tried(bug.number, kind.name, share) && !self.wish.again;
        if was_tried || self.wish.first && self.matrix.is_caught(bug.number) {
            return Ok(());
        }
        let attempt = Attempt::new(self.shell, kind, bug.number, share, time_limit)?;
        println!("{:10} {:3}  {}", kind.name, bug.number, attempt.in_words());
        let (commit, date) = (self.commit.clone(), self.date.clone());
        let Attempt { seconds, caught_by, is_cut } = attempt;
        let trial = Trial { share, seconds, caught_by, is_cut, commit, date };
        // Another run may have tried others meanwhile.
        *self.matrix = Matrix::load(self.shell)?;
        self.matrix.note(bug.number, kind.name, trial);
        self.matrix.save(self.shell)
    }
}

/// Reads the lists.
fn bugs(shell: &Shell) -> Result<Vec<Bug>, String> {
    let mut bugs = Vec::new();
    for list in LISTS {
        let text = std::fs::read_to_string(shell.root.join(list));
        let found = listed(&text.map_err(|e| format!("{list}: {e}"))?);
        if found.is_empty() {
            return Err(format!("{list} lists no bugs"));
        }
        bugs.extend(found);
    }
    Ok(bugs)
}

/// Reads the variants `Name = 7,` of an enum, each behind a comment that says what is left out.
fn listed(text: &str) -> Vec<Bug> {
    let (mut bugs, mut comment) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("/// ") {
            comment.push(words);
            continue;
        }
        let words = std::mem::take(&mut comment).join(" ");
        let variant = line.strip_suffix(',').and_then(|line| line.split_once(" = "));
        let Some((name, Ok(number))) = variant.map(|(name, number)| (name, number.parse())) else {
            continue;
        };
        let what = lowered(words.trim_end_matches('.'));
        bugs.push(Bug { number, name: name.to_owned(), what });
    }
    bugs
}

/// A sentence as it stands in a row; one that begins with the name of a rule stays as it is.
fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().unwrap_or_default();
    if letters.as_str().starts_with(|letter: char| letter.is_ascii_digit()) {
        return sentence.to_owned();
    }
    format!("{}{}", first.to_ascii_lowercase(), letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read() {
        let bugs = listed(
            "enum Bug {
                /// The first flush of a
                /// two-flush commit.
                First = 1,
                /// P1: the new generation.
                Generation = 101,
            }
            let x = 7;",
        );
        let found: Vec<_> = bugs.iter().map(|bug| (bug.number, &*bug.name, &*bug.what)).collect();
        let first = (1, "First", "the first flush of a two-flush commit");
        assert_eq!(found, [first, (101, "Generation", "P1: the new generation")]);
    }

    #[test]
    fn every_bug_in_the_list_is_planted_somewhere() {
        let shell = Shell::new().unwrap();
        let sources = crate::source::files(&shell.root).unwrap();
        for bug in bugs(&shell).unwrap() {
            let call = format!("planted::is(Bug::{})", bug.name);
            assert!(sources.iter().any(|file| file.text.contains(&call)), "{call} is nowhere");
        }
    }
}

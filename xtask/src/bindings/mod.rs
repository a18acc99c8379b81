//! `cargo xtask bindings`: builds and tests what other languages have, as far as their tools are
//! here.
//!
//! 1. A language whose tools are missing is left out, with a line that says so; one that was asked
//!    for by its name, or by `HUON_REQUIRE`, is a failure then.
//! 2. Each language runs all of the conformance file: as many cases and steps as it has.
//! 3. A file that one language makes is read by all others.

mod exchange;
mod languages;
mod suite;
mod tools;

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::shell::Shell;
use crate::summary::Summary;
use crate::test;
use languages::{LANGUAGES, Language};

pub(crate) use suite::Suite;

/// What to do with the bindings.
pub(crate) struct Wish {
    /// The languages; all if there is none.
    pub(crate) names: Vec<String>,
    pub(crate) test: bool,
    /// Another program has them exchange files.
    pub(crate) alone: bool,
}

/// A language that can be built here, and what its commands find in their environment.
struct Present {
    language: &'static Language,
    environment: Vec<(&'static str, PathBuf)>,
}

/// Builds, and tests if that is wished.
pub(crate) fn run(shell: &Shell, wish: &Wish) -> Result<bool, String> {
    let mut good = true;
    let mut done = Vec::new();
    for language in named(&wish.names)? {
        match present(shell, language) {
            Err(why) => {
                println!("{}", left_out(language, &why));
                good &= wish.names.is_empty() && !is_required(language);
            }
            Ok(present) => {
                good &= do_all(shell, &present, language.build)?
                    && (!wish.test || has_passed(shell, &present)?);
                done.push(present);
            }
        }
    }
    if good && wish.test && !wish.alone && done.len() > 1 {
        good &= exchange::run(shell, &done)?;
    }
    Ok(good)
}

fn named(names: &[String]) -> Result<Vec<&'static Language>, String> {
    if names.is_empty() {
        return Ok(LANGUAGES.iter().collect());
    }
    let language = |name: &String| {
        let known = LANGUAGES.iter().find(|language| language.name == name);
        let all: Vec<&str> = LANGUAGES.iter().map(|language| language.name).collect();
        known.ok_or_else(|| format!("there is no `{name}`: {}", all.join(", ")))
    };
    names.iter().map(language).collect()
}

fn left_out(language: &Language, why: &str) -> String {
    format!("left out: {}: {why}", language.shown)
}

/// Whether a language must not be left out: `HUON_REQUIRE` has its name.
fn is_required(language: &Language) -> bool {
    let names = std::env::var("HUON_REQUIRE").unwrap_or_default();
    names.split([' ', ',']).any(|name| name == language.name)
}

/// The language, if its tools are here.
fn present(shell: &Shell, language: &'static Language) -> Result<Present, String> {
    let environment = tools::environment(shell, language)?;
    Ok(Present { language, environment })
}

impl Present {
    /// A line of the language, to be run in its folder.
    fn command(&self, shell: &Shell, line: &str) -> Command {
        let mut command = shell.command("sh", ["-euc", line]);
        command.current_dir(shell.root.join("bindings").join(self.language.name));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Whether all of these commands succeed; none is run after one that did not.
fn do_all(shell: &Shell, present: &Present, lines: &[&str]) -> Result<bool, String> {
    for line in lines {
        if !shell.run(&mut present.command(shell, line))? {
            println!("{}: failed: {line}", present.language.shown);
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs the tests of a language, which must have run the whole conformance file.
fn has_passed(shell: &Shell, present: &Present) -> Result<bool, String> {
    let shown = present.language.shown;
    let mut said = None;
    for line in present.language.test {
        let mut show = |line: &str| {
            println!("{line}");
            said = conformance(line).or(said);
        };
        let (mut command, mut ignored) = (present.command(shell, line), Summary::default());
        let status = test::listen(&mut command, &mut ignored, &mut show);
        if !status.map_err(|e| format!("{line}: {e}"))?.success() {
            println!("{shown}: failed: {line}");
            return Ok(false);
        }
    }
    let there_are = counts(shell)?;
    if said != Some(there_are) {
        println!("{shown}: failed: of {there_are:?} cases and steps it says it ran {said:?}");
        return Ok(false);
    }
    tell(shown, there_are.1)?;
    println!("{shown}: passed");
    Ok(true)
}

/// Cases and steps.
type Counts = (u64, u64);

/// What a line says of the conformance file: how much of it was run.
fn conformance(line: &str) -> Option<Counts> {
    let (_, said) = line.split_once("conformance: ")?;
    let (cases, said) = said.split_once(" cases, ")?;
    let (steps, _) = said.split_once(" steps")?;
    Some((cases.parse().ok()?, steps.parse().ok()?))
}

/// How much there is of the conformance file.
fn counts(shell: &Shell) -> Result<Counts, String> {
    let path = shell.root.join("bindings/conformance/cases.json");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file: Value =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let cases = file["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let steps = cases.iter().filter_map(|case| case["steps"].as_array()).map(Vec::len);
    Ok((cases.len() as u64, steps.sum::<usize>() as u64))
}

/// Adds a line to the file of figures, if there is one.
fn tell(shown: &str, steps: u64) -> Result<(), String> {
    let Some(path) = std::env::var_os("HUON_FIGURES") else { return Ok(()) };
    let file = std::fs::File::options().append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("language {shown} {steps}\n").as_bytes()))
        .map_err(|e| format!("HUON_FIGURES: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runners_say_is_found_in_their_output() {
        assert_eq!(conformance("conformance: 3 cases, 40 steps"), Some((3, 40)));
        assert_eq!(conformance("# conformance: 3 cases, 40 steps (1.2 s)"), Some((3, 40)));
        assert_eq!(conformance("conformance: it failed"), None);
    }

    #[test]
    fn the_file_is_counted() {
        let (cases, steps) = counts(&Shell::new().unwrap()).unwrap();
        assert!(cases > 50 && steps > 50 * cases, "{cases} cases, {steps} steps");
    }

    #[test]
    fn languages_are_known_by_their_names() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            named(&names).map(|found| found.len())
        };
        assert_eq!((names(&[]), names(&["go", "node"])), (Ok(5), Ok(2)));
        let why = names(&["perl"]).unwrap_err();
        assert_eq!(why, "there is no `perl`: cpp, go, java, node, python");
    }
}

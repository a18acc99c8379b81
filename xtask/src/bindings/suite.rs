//! The languages as a part of all tests: each is a job beside the test binaries.

use std::process::Command;

use super::languages::LANGUAGES;
use super::{Present, exchange, is_required, left_out, present};
use crate::built::Binary;
use crate::shell::Shell;
use crate::summary::Summary;

/// The test binary that runs the conformance file over the interface in C.
const RUNNER: &str = "huon-capi api";

/// The languages that can be tested here.
pub(crate) struct Suite<'s> {
    shell: &'s Shell,
    languages: Vec<Present>,
}

impl<'s> Suite<'s> {
    /// Looks which ones can, and tells `summary` of the others. The runner of the workspace is
    /// among the `binaries` that are built: cargo alone would build it in another way.
    pub(crate) fn new(shell: &'s Shell, binaries: &[Binary], summary: &mut Summary) -> Suite<'s> {
        let mut languages = Vec::new();
        let runner = binaries.iter().find(|binary| binary.name() == RUNNER);
        for language in &LANGUAGES {
            match present(shell, language) {
                Ok(mut present) => {
                    if let Some(runner) = runner.filter(|_| language.is_of_workspace) {
                        present.environment.push(("HUON_RUNNER", runner.path.clone()));
                    }
                    languages.push(present);
                }
                Err(why) if is_required(language) => {
                    summary.problem(left_out(language, &why));
                }
                Err(why) => summary.skip(&job(language.name), &left_out(language, &why)),
            }
        }
        Suite { shell, languages }
    }

    /// A job for each that is not tested with the workspace.
    pub(crate) fn jobs(&self) -> Result<Vec<(String, Command)>, String> {
        let own = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
        let others = self.languages.iter().map(|it| it.language).filter(|it| !it.is_of_workspace);
        let job_of = |name: &str| {
            let args = ["bindings", name, "--test", "--alone"];
            (job(name), self.shell.command(&own.to_string_lossy(), args))
        };
        Ok(others.map(|language| job_of(language.name)).collect())
    }

    /// Whether a job is one of these.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.languages.iter().any(|present| job(present.language.name) == name)
    }

    /// Has all of them exchange files, once they are built: a test of its own.
    pub(crate) fn exchange(&self, summary: &mut Summary) -> Result<(), String> {
        if exchange::run(self.shell, &self.languages)? {
            summary.pass();
        } else {
            summary.problem("the languages do not read each other's files");
        }
        Ok(())
    }
}

/// The name of the job of a language.
fn job(name: &str) -> String {
    format!("bindings {name}")
}

//! The targets of the Makefile, for people: each is in `make help` and in CONTRIBUTING.md.

use crate::source::Source;

const MAKEFILE: &str = "Makefile";
const GUIDE: &str = "CONTRIBUTING.md";

/// Complains about every target without a line for `make help`, or that the guide does not explain:
/// in a row of a table, or among the commands of a block.
pub(crate) fn check(files: &[Source]) -> Vec<String> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| &file.text);
    let (Some(makefile), Some(guide)) = (text(MAKEFILE), text(GUIDE)) else {
        return vec![format!("{MAKEFILE} or {GUIDE} is missing")];
    };
    let mut complaints = Vec::new();
    for target in targets(makefile) {
        let is_named = |text: &str, mark: &str| {
            text.lines().any(|line| line.starts_with(mark) && names(line, target))
        };
        if !is_named(makefile, "## ") {
            complaints.push(format!("{MAKEFILE}:1: no line `## make {target}: ..` for the help"));
        }
        let is_explained = is_named(guide, "| ") || is_named(guide, "make ");
        if !is_explained {
            complaints.push(format!("{GUIDE}:1: nothing says what `make {target}` does"));
        }
    }
    if complaints.is_empty() && targets(makefile).next().is_none() {
        complaints.push(format!("{MAKEFILE}:1: there are no phony targets"));
    }
    complaints
}

/// What `.PHONY` lists, over several lines.
fn targets(makefile: &str) -> impl Iterator<Item = &str> {
    let from = makefile.split_once(".PHONY:").map_or("", |(_, rest)| rest);
    let mut goes_on = true;
    let lines = from.lines().take_while(move |line| {
        let is_part = goes_on;
        goes_on = line.ends_with('\\');
        is_part
    });
    lines.flat_map(|line| line.trim_end_matches('\\').split_whitespace())
}

/// Whether a line has `make target`, and not only a longer name.
fn names(line: &str, target: &str) -> bool {
    let call = format!("make {target}");
    line.match_indices(&call).any(|(at, _)| {
        let after = line[at + call.len()..].chars().next();
        !after.is_some_and(|c| c.is_alphanumeric() || c == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::sources;

    const GOOD: &str = ".PHONY: help test \\\n\ttest-all\n\n## make help: this\nhelp:\n\
                        ## make test [A=]: tests\n## make test-all: more\ntest test-all:\n";

    fn complaints(makefile: &str, guide: &str) -> Vec<String> {
        check(&sources(&[(MAKEFILE, makefile), (GUIDE, guide)]))
    }

    #[test]
    fn every_target_is_explained_twice() {
        let guide = "make help  # this\n| `make test`, `make test-all` | tests |";
        assert_eq!(complaints(GOOD, guide), [""; 0]);
        let prose = "make help\n| `make test-all` | tests |\n`make test` in prose";
        let found = complaints(GOOD, prose);
        assert_eq!(found, ["CONTRIBUTING.md:1: nothing says what `make test` does"]);
        let found = complaints(&GOOD.replace("## make test [", "# make test ["), guide);
        assert_eq!(found, ["Makefile:1: no line `## make test: ..` for the help"]);
        assert_eq!(complaints("", guide), ["Makefile:1: there are no phony targets"]);
        assert_eq!(check(&[]).len(), 1);
    }
}

//! Words that the field does not use, or that name no actor: refused, with the word to say instead.
//! docs/GLOSSARY.md has the others.

use crate::source::Source;

/// The words, and what to say.
const WORDS: [(&str, &str); 9] = [
    ("anybody", "name the actor: any thread, any process"),
    ("everybody", "name the actors: all clients, all processes"),
    ("flush point", "checkpoint"),
    ("frontier", "high-water mark"),
    ("glance", "fast path"),
    ("nobody", "name the actor: no client, no process"),
    ("power cut", "power loss"),
    ("somebody", "name the actor: another process, a caller"),
    ("whoever", "name the actor: the client that"),
];

/// Files of text that people write; not the history, generated pages or names of measurements.
const ENDS: [&str; 5] = [".c", ".h", ".md", ".rs", ".toml"];
const SPARED: [&str; 5] = [
    "CHANGELOG.md",
    "crates/huon-bench/",
    "docs/PROOF.md",
    "docs/benchmarks/results.md",
    "xtask/src/words.rs",
];

/// Complains about every such word, as `path:line: what`.
pub(crate) fn check(files: &[Source]) -> Vec<String> {
    let is_ours = |file: &&Source| {
        ENDS.iter().any(|end| file.path.ends_with(end))
            && !SPARED.iter().any(|spared| file.path.starts_with(spared))
    };
    let mut complaints = Vec::new();
    for file in files.iter().filter(is_ours) {
        for (at, line) in file.text.lines().enumerate() {
            let line = line.to_ascii_lowercase().replace('_', " ");
            for (word, instead) in WORDS.iter().filter(|(word, _)| has(&line, word)) {
                complaints.push(format!("{}:{}: `{word}`: {instead}", file.path, at + 1));
            }
        }
    }
    complaints
}

/// Whether the line has the word, and no letter before or behind it but that of a plural.
fn has(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_part = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let behind = &line[at + word.len()..];
        let behind = behind.strip_prefix('s').unwrap_or(behind);
        !is_part(line[..at].chars().next_back()) && !is_part(behind.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::sources;

    #[test]
    fn words_are_found_in_names_and_prose() {
        let files = sources(&[
            ("a.rs", "/// Nobody's.\nfn it_outlives_power_cuts() {}\nfn powerful_cut() {}"),
            ("b.md", "At a glance.\nGlanced at."),
            ("CHANGELOG.md", "nobody"),
            ("c.json", "nobody"),
        ]);
        assert_eq!(
            check(&files),
            [
                "a.rs:1: `nobody`: name the actor: no client, no process",
                "a.rs:2: `power cut`: power loss",
                "b.md:1: `glance`: fast path",
            ]
        );
    }
}

//! `cargo xtask proof`: everything at full size, and a file of figures that says what it came to.
//!
//! 1. The figures belong to one commit: with changes that are not committed there is no proof.
//! 2. Seeds follow from the commit, so each commit is tried with others, and a failure is found
//!    again.
//! 3. `docs/PROOF.md` shows the figures between two marks, which are not edited by hand: `make
//!    lint` compares.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::miri;
use crate::sanitize;
use crate::shell::Shell;
use crate::summary::Summary;
use crate::test::{self, Size};

/// Where the figures lie, and where they are shown.
const FIGURES: &str = "docs/proof.json";
const SHOWN: &str = "docs/PROOF.md";
const BEGIN: &str = "<!-- figures: written by `make proof` -->";
const END: &str = "<!-- figures: end -->";

/// What a proof came to.
#[derive(Serialize, Deserialize)]
struct Figures {
    commit: String,
    date: String,
    seconds: u64,
    passed: u64,
    failed: u64,
    skipped: Vec<String>,
    kinds: BTreeMap<String, u64>,
    named: BTreeMap<String, u64>,
    tables: BTreeMap<String, String>,
}

/// Runs everything; false if anything failed, and then the figures are not written.
pub(crate) fn run(shell: &Shell) -> Result<bool, String> {
    let commit = said(shell, "git", &["rev-parse", "HEAD"])?;
    if !said(shell, "git", &["status", "--porcelain"])?.is_empty() {
        return Err("there are changes that are not committed; figures name a commit".into());
    }
    let rotate = u64::from_str_radix(&commit[..12], 16).map_err(|e| format!("{commit}: {e}"))?;
    let date = said(shell, "date", &["-u", "+%Y-%m-%d %H:%M UTC"])?;
    let started = Instant::now();
    let mut summary = test::suite(shell, Size::Full(rotate))?;
    print!("{}", summary.report());
    if !summary.good() {
        return Ok(false);
    }
    let mut good = summary.check("loom", crate::loom(shell, &[])?);
    good &= summary.check("shuttle", crate::shuttle(shell, &[], rotate)?);
    good &= summary.check("miri", miri::run(shell, "")?);
    good &= summary.check("asan", sanitize::run(shell, rotate)?);
    let figures = collect(summary, commit, date, started.elapsed().as_secs());
    if good {
        write(shell, &figures)?;
    }
    println!("{} s in all", figures.seconds);
    Ok(good)
}

fn collect(summary: Summary, commit: String, date: String, seconds: u64) -> Figures {
    Figures {
        commit,
        date,
        seconds,
        passed: summary.passed(),
        failed: summary.failed(),
        skipped: summary.skips().cloned().collect(),
        kinds: summary.kinds().map(|(words, count)| (words.to_owned(), count)).collect(),
        named: summary.details.named,
        tables: summary.details.tables,
    }
}

fn write(shell: &Shell, figures: &Figures) -> Result<(), String> {
    let path = shell.root.join(FIGURES);
    let text = serde_json::to_string_pretty(figures).map_err(|e| e.to_string())?;
    std::fs::write(&path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
    let path = shell.root.join(SHOWN);
    let page = std::fs::read_to_string(&path).map_err(|e| format!("{SHOWN}: {e}"))?;
    let page = with_figures(&page, figures).ok_or(format!("{SHOWN} has no place for figures"))?;
    std::fs::write(&path, page).map_err(|e| format!("{SHOWN}: {e}"))
}

/// Complains when the page shows other figures than the file holds.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let Ok(text) = std::fs::read_to_string(root.join(FIGURES)) else { return Ok(Vec::new()) };
    let figures: Figures = serde_json::from_str(&text).map_err(|e| format!("{FIGURES}: {e}"))?;
    let page = std::fs::read_to_string(root.join(SHOWN)).map_err(|e| format!("{SHOWN}: {e}"))?;
    Ok(match with_figures(&page, &figures) {
        Some(right) if right == page => Vec::new(),
        _ => vec![format!("{SHOWN}: its figures are not those of {FIGURES}")],
    })
}

/// The page with these figures between the marks.
fn with_figures(page: &str, figures: &Figures) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n{END}{after}", shown(figures)))
}

fn shown(figures: &Figures) -> String {
    let mut text = format!(
        "Commit {}, {}: {} tests passed, {} failed, {} skipped, in {} s.\n\n| figure | count |\n\
         |---|---:|\n",
        &figures.commit[..12],
        figures.date,
        figures.passed,
        figures.failed,
        figures.skipped.len(),
        figures.seconds
    );
    for (name, count) in figures.kinds.iter().chain(&figures.named) {
        let _ = writeln!(text, "| {name} | {count} |");
    }
    for skip in &figures.skipped {
        let _ = write!(text, "\nSkipped: {skip}\n");
    }
    for (name, table) in &figures.tables {
        let _ = write!(text, "\n### {name}\n\n{table}");
    }
    text
}

/// What a program prints, without the end of its last line.
pub(crate) fn said(shell: &Shell, program: &str, args: &[&str]) -> Result<String, String> {
    let output = shell
        .command(program, args)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("{program}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{program} {}: {}", args.join(" "), output.status));
    }
    String::from_utf8(output.stdout)
        .map(|text| text.trim_end().to_owned())
        .map_err(|e| format!("{program}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_go_between_the_marks_and_only_there() {
        let figures = Figures {
            commit: "0123456789abcdef".into(),
            date: "today".into(),
            seconds: 7,
            passed: 1,
            failed: 0,
            skipped: vec!["x: why".into()],
            kinds: BTreeMap::from([("kills".into(), 5)]),
            named: BTreeMap::from([("a.b".into(), 6)]),
            tables: BTreeMap::from([("t".into(), "| 1 |\n".into())]),
        };
        let page = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        let once = with_figures(&page, &figures).unwrap();
        assert!(once.starts_with("above\n") && once.ends_with("\nbelow\n"));
        assert!(!once.contains("old") && once.contains("| a.b | 6 |\n"));
        assert!(once.contains("### t\n\n| 1 |\n") && once.contains("Skipped: x: why"));
        assert_eq!(with_figures(&once, &figures).unwrap(), once);
        assert_eq!(with_figures("no marks", &figures), None);
    }
}

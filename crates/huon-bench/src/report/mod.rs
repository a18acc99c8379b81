//! Makes a page of tables and charts of a run's file.
//!
//! 1. A figure is the median of its repeats, and is shown with the least and the greatest of them.
//! 2. One engine is called faster only where medians differ by more than the repeats of either do.
//! 3. What was not measured is named, with the reason; a target without figures is not met.

mod baseline;
mod charts;
mod figures;
mod markdown;
mod run;
mod targets;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::engine::Result;

/// The page's name in the directory it is written to.
const PAGE: &str = "results.md";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The lines of a run; of one that was made in parts, those of one part after another
    run: PathBuf,
    /// Directory for the page and its charts
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
}

/// Writes page and charts, and says where.
pub(crate) fn run(args: &Args) -> Result<()> {
    let page = write(&args.run, &args.out)?;
    println!("{}", page.display());
    Ok(())
}

/// Writes page and charts into `out`; the path of the page.
pub(crate) fn write(lines: &Path, out: &Path) -> Result<PathBuf> {
    let file = File::open(lines).map_err(|error| format!("{}: {error}", lines.display()))?;
    let run = run::Run::read(BufReader::new(file))
        .map_err(|error| format!("{}: {error}", lines.display()))?;
    fs::create_dir_all(out)?;
    let charts = charts::of(&run)?;
    for chart in &charts {
        fs::write(out.join(&chart.file), &chart.svg)?;
    }
    let page = out.join(PAGE);
    fs::write(&page, markdown::page(&run, &charts))?;
    Ok(page)
}

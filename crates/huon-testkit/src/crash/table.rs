//! Levels of crash images, and the table of how many of each there were for each script.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What is done to the writes of a script to make an image.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Level {
    /// Everything up to some event, and a kill at every event and point.
    Prefix,
    /// Some of the writes since the last flush.
    Subset,
    /// Writes torn at the borders of sectors or pages.
    Torn,
    /// The length of the file, old, new or between, and what its new part holds.
    Length,
    /// Writes of a transaction that was still running.
    Late,
    /// A flush that failed, and lost some of what it should have written.
    FailedFlush,
    /// A second crash, while the first is recovered from.
    Twice,
    /// Another boot or another lock file. The image itself is counted elsewhere.
    Reboot,
    /// One flipped bit on top.
    Flip,
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 9] = [
        Level::Prefix,
        Level::Subset,
        Level::Torn,
        Level::Length,
        Level::Late,
        Level::FailedFlush,
        Level::Twice,
        Level::Reboot,
        Level::Flip,
    ];

    /// Its heading in the table.
    pub fn heading(self) -> &'static str {
        match self {
            Level::Prefix => "L0 prefix",
            Level::Subset => "L1 subset",
            Level::Torn => "L2 torn",
            Level::Length => "L3 length",
            Level::Late => "L4 late flush",
            Level::FailedFlush => "L5 failed flush",
            Level::Twice => "L6 twice",
            Level::Reboot => "L7 reboot (cases)",
            Level::Flip => "L8 flipped bit",
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.heading()[..2])
    }
}

/// How many images there were, by script and level.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: BTreeMap<String, [u64; Level::ALL.len()]>,
}

impl Table {
    /// Adds images of a script.
    pub fn add(&mut self, script: &str, level: Level, count: u64) {
        let row = self.rows.entry(script.to_owned()).or_default();
        row[level as usize] += count;
    }

    /// Adds all of another table.
    pub fn merge(&mut self, other: &Table) {
        for (script, row) in &other.rows {
            Level::ALL.iter().for_each(|&level| self.add(script, level, row[level as usize]));
        }
    }

    /// Images of a level, of all scripts.
    pub fn total(&self, level: Level) -> u64 {
        self.rows.values().map(|row| row[level as usize]).sum()
    }

    /// Images of a script at a level.
    pub fn of(&self, script: &str, level: Level) -> u64 {
        self.rows.get(script).map_or(0, |row| row[level as usize])
    }

    /// Names of the scripts.
    pub fn scripts(&self) -> impl Iterator<Item = &str> {
        self.rows.keys().map(String::as_str)
    }

    /// The table as Markdown, with a line of totals.
    pub fn markdown(&self) -> String {
        let mut text = String::from("| script |");
        Level::ALL.iter().for_each(|level| _ = write!(text, " {} |", level.heading()));
        text.push_str("\n|---|");
        Level::ALL.iter().for_each(|_| text.push_str("---:|"));
        for (script, row) in &self.rows {
            _ = write!(text, "\n| {script} |");
            row.iter().for_each(|count| _ = write!(text, " {count} |"));
        }
        text.push_str("\n| all |");
        Level::ALL.iter().for_each(|&level| _ = write!(text, " {} |", self.total(level)));
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_sums_by_script_and_level() {
        let mut table = Table::default();
        table.add("a", Level::Prefix, 2);
        let mut other = Table::default();
        other.add("a", Level::Prefix, 3);
        other.add("b", Level::Flip, 1);
        table.merge(&other);
        assert_eq!((table.of("a", Level::Prefix), table.of("b", Level::Prefix)), (5, 0));
        assert_eq!((table.total(Level::Prefix), table.total(Level::Flip)), (5, 1));
        assert_eq!(table.scripts().collect::<Vec<_>>(), ["a", "b"]);
        let lines: Vec<String> = table.markdown().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 5);
        assert!(lines[0].starts_with("| script | L0 prefix | L1 subset |"));
        assert_eq!(lines[4], "| all | 5 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |");
    }

    #[test]
    fn levels_are_in_order() {
        for (number, level) in Level::ALL.iter().enumerate() {
            assert_eq!(*level as usize, number);
        }
        assert_eq!(Level::Late.to_string(), "L4");
    }
}

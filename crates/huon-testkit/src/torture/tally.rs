//! What a run of kills went through.

use std::collections::BTreeMap;

use super::crew::Remains;
use super::orders::Role;
use super::phase::{READING_POINTS, reader_rows, writer_rows};
use crate::support::figures;

/// Counts of kills and of what they hit.
#[derive(Default)]
pub struct Tally {
    /// Writers killed.
    pub writers: u64,
    /// Readers killed.
    pub readers: u64,
    /// Readers killed that may not write.
    pub guests: u64,
    /// Times that such a reader outlived all others.
    pub guests_alone: u64,
    /// Writers killed between the begin of a transaction and the return of its commit.
    pub within: u64,
    /// Killed with the flusher's or the journaller's role.
    pub flushers: u64,
    /// Those of them that another process waited for.
    pub flushers_awaited: u64,
    /// Killed while they waited for another's flush.
    pub flush_waiters: u64,
    /// Killed while they waited for the writer lock.
    pub role_waiters: u64,
    /// Killed parents of a forked child that lived on.
    pub fork_parents: u64,
    /// Killed in an opening after all were dead, or before the first write after it.
    pub recovering: u64,
    /// Killed while they were stopped.
    pub stopped: u64,
    /// Stopped for a while.
    pub stops: u64,
    /// Times that all were dead at once.
    pub collapses: u64,
    /// Times that the lock file was lost with them.
    pub lock_files_lost: u64,
    /// Full checks.
    pub audits: u64,
    pub(crate) commits: u64,
    pub(crate) snapshots: u64,
    /// From a writer's death to the next one's role, in microseconds.
    latencies: Vec<u64>,
    writer_phases: BTreeMap<&'static str, u64>,
    reader_phases: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts a kill. `awaited`: another process waited for a flush at that moment.
    pub(crate) fn kill(&mut self, remains: &Remains, awaited: bool) {
        let phase = remains.phase;
        let rows = match remains.orders.role {
            Role::Writer => {
                self.writers += 1;
                &mut self.writer_phases
            }
            role => {
                self.readers += 1;
                self.guests += u64::from(role == Role::Guest);
                &mut self.reader_phases
            }
        };
        *rows.entry(phase.row()).or_default() += 1;
        self.within += u64::from(phase.is_within_transaction());
        self.flushers += u64::from(phase.is_flushing());
        self.flushers_awaited += u64::from(phase.is_flushing() && awaited);
        self.flush_waiters += u64::from(phase.waits_for_flush());
        self.role_waiters += u64::from(phase.waits_for_role());
        self.fork_parents += u64::from(remains.has_orphan);
    }

    pub(crate) fn latency(&mut self, nanoseconds: u64) {
        self.latencies.push(nanoseconds / 1000);
    }

    /// Adds another run.
    pub fn add(&mut self, other: Tally) {
        for (sum, more) in [
            (&mut self.writers, other.writers),
            (&mut self.readers, other.readers),
            (&mut self.guests, other.guests),
            (&mut self.guests_alone, other.guests_alone),
            (&mut self.within, other.within),
            (&mut self.flushers, other.flushers),
            (&mut self.flushers_awaited, other.flushers_awaited),
            (&mut self.flush_waiters, other.flush_waiters),
            (&mut self.role_waiters, other.role_waiters),
            (&mut self.fork_parents, other.fork_parents),
            (&mut self.recovering, other.recovering),
            (&mut self.stopped, other.stopped),
            (&mut self.stops, other.stops),
            (&mut self.collapses, other.collapses),
            (&mut self.lock_files_lost, other.lock_files_lost),
            (&mut self.audits, other.audits),
            (&mut self.commits, other.commits),
            (&mut self.snapshots, other.snapshots),
        ] {
            *sum += more;
        }
        self.latencies.extend(other.latencies);
        for (rows, more) in [
            (&mut self.writer_phases, other.writer_phases),
            (&mut self.reader_phases, other.reader_phases),
        ] {
            more.into_iter().for_each(|(row, count)| *rows.entry(row).or_default() += count);
        }
    }

    /// What each run has to hit and this one did not: rows of the writers' table, and other cases.
    /// `with_guests`: guests could be started.
    pub fn lacks(&self, with_guests: bool) -> Vec<&'static str> {
        let empty = |row: &&str| !self.writer_phases.contains_key(row);
        let phases = writer_rows().into_iter().filter(empty);
        let guests = if with_guests { [self.guests, self.guests_alone] } else { [1, 1] };
        let cases = [
            ("flushers that others waited for", self.flushers_awaited),
            ("clients that waited for a flush", self.flush_waiters),
            ("clients that waited for the writer lock", self.role_waiters),
            ("parents of a living fork", self.fork_parents),
            ("clients that recovered", self.recovering),
            ("clients that were stopped", self.stopped),
            ("readers that were beginning", self.beginning_readers()),
            ("guests", guests[0]),
            ("guests that outlived all others", guests[1]),
            ("full checks", self.audits),
            ("lost lock files", self.lock_files_lost),
            ("times until the next writer", self.latencies.len() as u64),
        ];
        phases.chain(cases.into_iter().filter(|case| case.1 == 0).map(|case| case.0)).collect()
    }

    /// Readers killed while they began.
    fn beginning_readers(&self) -> u64 {
        READING_POINTS.iter().filter_map(|point| self.reader_phases.get(point.name())).sum()
    }

    /// The time from a writer's death to the next one's role: half of them, 99 of 100, and all were
    /// as quick, in microseconds; and how many were measured.
    fn next_writer_us(&self) -> (u64, u64, u64, usize) {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let at = |hundredth: usize| {
            let last = sorted.len().saturating_sub(1);
            sorted.get(last * hundredth / 100).copied().unwrap_or(0)
        };
        (at(50), at(99), at(100), sorted.len())
    }

    /// Prints it all, and adds it to the figures.
    pub fn report(&self) {
        figures::add("kill", self.writers + self.readers);
        let counts = [
            ("writer", self.writers),
            ("reader", self.readers),
            ("guest", self.guests),
            ("guest_alone", self.guests_alone),
            ("within", self.within),
            ("flusher", self.flushers),
            ("flusher_awaited", self.flushers_awaited),
            ("waiter", self.flush_waiters + self.role_waiters),
            ("waiter_for_flush", self.flush_waiters),
            ("waiter_for_role", self.role_waiters),
            ("fork_parent", self.fork_parents),
            ("recovering", self.recovering),
            ("stopped", self.stopped),
            ("stops", self.stops),
            ("all_dead", self.collapses),
            ("lock_file_lost", self.lock_files_lost),
            ("audits", self.audits),
            ("commits", self.commits),
            ("snapshots_verified", self.snapshots),
        ];
        for (name, count) in counts {
            println!("{name:>20} {count}");
            figures::named(&format!("kills.{name}"), count);
        }
        let (half, most, all, count) = self.next_writer_us();
        let row = format!("| {count} | {half} | {most} | {all} |\n");
        let head = "| times | median us | p99 us | max us |\n|--:|--:|--:|--:|\n";
        figures::table("from a writer's death to the next writer", &format!("{head}{row}"));
        let writers = table(&writer_rows(), &self.writer_phases);
        figures::table("writer kills by phase", &writers);
        figures::table("reader kills by phase", &table(&reader_rows(), &self.reader_phases));
    }
}

fn table(rows: &[&str], counts: &BTreeMap<&str, u64>) -> String {
    let others = counts.keys().copied().filter(|row| !rows.contains(row));
    let all = rows.iter().copied().chain(others);
    let line = |row| format!("| {row} | {} |\n", counts.get(row).copied().unwrap_or(0));
    "| phase | kills |\n|---|--:|\n".to_owned() + &all.map(line).collect::<String>()
}

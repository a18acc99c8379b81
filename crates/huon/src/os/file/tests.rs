//! The real data file against a real system, and against calls that fail as scripted.

//! The read-only view of the data file. Replaced by the os back ends.

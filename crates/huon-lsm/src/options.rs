//! Options of LSM tables.

use std::time::Duration;

use huon::{Error, Result};

use crate::format::Header;

/// How LSM tables are kept. The first four are stored with a table when it is made, and hold for
/// every process; the others are the process's own.
///
/// ```
/// use huon_lsm::{Lsm, LsmOptions};
/// # let env = huon::Env::in_memory()?;
/// let options = LsmOptions { fan: 4, ..LsmOptions::default() };
/// let lsm = Lsm::with_options(&env, options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LsmOptions {
    /// Runs of about the same size that are merged at a time: 2 to 1024, 8 unless said otherwise.
    /// More make writes cheaper and reads dearer. Of runs that are smaller than `base_bytes` up to
    /// twice as many.
    pub fan: u16,
    /// Bits of filters for each key: 0 to 64, 12 unless said otherwise. 0: there are no filters.
    pub filter_bits: u16,
    /// A transaction that puts fewer records adds them to the open run; one that puts as many or
    /// more makes a run of its own. 128 unless said otherwise.
    pub small: u32,
    /// Bytes at which the open run is frozen: 256 KiB unless said otherwise.
    pub open_bytes: u32,
    /// Bytes up to which runs count as small: 64 KiB unless said otherwise.
    pub base_bytes: u64,
    /// Bytes that a merge hands over in one transaction: 4 MiB unless said otherwise. Merges of
    /// eight times as much or more have a lane of their own.
    pub step_bytes: usize,
    /// Bytes that a transaction collects in memory before it makes a run of them: 64 MiB unless
    /// said otherwise.
    pub batch_bytes: usize,
    /// Bytes of filters that the process keeps in memory for a table: 64 MiB unless said otherwise.
    /// Others are used where they lie in the file.
    pub filter_memory: usize,
    /// Runs beyond the fan that are borne before a program that commits merges itself: 4 unless
    /// said otherwise. A compactor that keeps up never lets it come to that.
    pub slack: usize,
    /// Runs at which a program that commits waits for compaction, or helps with it, before it goes
    /// on: 512 unless said otherwise. It does so, too, where the runs hold three times as much as
    /// the oldest of them and 32 steps are owed. It waits for a second at most.
    pub runs_max: usize,
    /// For so long others leave a merge that has begun to the compactor that made its last step: 10
    /// seconds unless said otherwise, a minute at most. Then they take it that it is gone. If it is
    /// not, one of the two has worked in vain.
    pub lease: Duration,
}

/// No lease is longer.
pub(crate) const LEASE_MAX: Duration = Duration::from_secs(60);

impl Default for LsmOptions {
    fn default() -> LsmOptions {
        LsmOptions {
            fan: 8,
            filter_bits: 12,
            small: 128,
            open_bytes: 256 << 10,
            base_bytes: 64 << 10,
            step_bytes: 4 << 20,
            batch_bytes: 64 << 20,
            filter_memory: 64 << 20,
            slack: 4,
            runs_max: 512,
            lease: Duration::from_secs(10),
        }
    }
}

impl LsmOptions {
    pub(crate) fn check(&self) -> Result<()> {
        if !(2..=1024).contains(&self.fan) {
            return Err(Error::Invalid("the fan of an LSM table is 2 to 1024"));
        }
        if self.filter_bits > 64 {
            return Err(Error::Invalid("a filter has at most 64 bits a key"));
        }
        if self.runs_max < 2 * usize::from(self.fan) {
            return Err(Error::Invalid("an LSM table has at least twice as many runs as its fan"));
        }
        let is_size = |bytes: u64| (1..=1 << 40).contains(&bytes);
        if !is_size(self.step_bytes as u64) || !is_size(self.base_bytes) {
            return Err(Error::Invalid(
                "steps and small runs of an LSM table have 1 byte to 1 TiB",
            ));
        }
        if self.lease > LEASE_MAX {
            return Err(Error::Invalid("the lease of a merge is a minute at most"));
        }
        Ok(())
    }

    pub(crate) fn header(&self, types: (String, String)) -> Header {
        let LsmOptions { fan, filter_bits, small, open_bytes, .. } = *self;
        Header { fan, filter_bits, small, open_bytes, types, operator: String::new() }
    }
}

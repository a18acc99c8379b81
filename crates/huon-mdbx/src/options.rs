//! What `mdbx_env_set_option` sets. Options of details that Huon has not are kept and given back.

use std::time::Duration;

use huon::Settings;
use huon_c::{Fault, Res};

use crate::env::{Env, NOT_NOW};
use crate::flags::env::RDONLY;
use crate::flags::option::*;

const COUNT: usize = OPT_MERGE_THRESHOLD_16DOT16_PERCENT as usize + 1;

/// What each option may be, and is by itself.
const KINDS: [Kind; COUNT] = [
    Kind::new(OPT_MAX_DB, 0, 32765, 42),
    Kind::new(OPT_MAX_READERS, 1, 32767, 126),
    Kind::new(OPT_SYNC_BYTES, 0, u64::MAX - 1, 0),
    Kind::new(OPT_SYNC_PERIOD, 0, u32::MAX as u64, 0),
    Kind::new(OPT_RP_AUGMENT_LIMIT, 0, u32::MAX as u64 >> 1, 262_144),
    Kind::new(OPT_LOOSE_LIMIT, 0, 255, 64),
    Kind::new(OPT_DP_RESERVE_LIMIT, 0, u32::MAX as u64 >> 1, 1024),
    Kind::new(OPT_TXN_DP_LIMIT, 1, u32::MAX as u64 >> 1, 65_536),
    Kind::new(OPT_TXN_DP_INITIAL, 0, u32::MAX as u64 >> 1, 1024),
    Kind::new(OPT_SPILL_MAX_DENOMINATOR, 0, 255, 8),
    Kind::new(OPT_SPILL_MIN_DENOMINATOR, 0, 255, 8),
    Kind::new(OPT_SPILL_PARENT4CHILD_DENOMINATOR, 0, 255, 0),
    Kind::new(OPT_MERGE_THRESHOLD_16DOT16_PERCENT, 8192, 32768, 16384),
];

struct Kind {
    least: u64,
    most: u64,
    default: u64,
}

impl Kind {
    /// The number of the option is for the reader of this table.
    const fn new(_number: u32, least: u64, most: u64, default: u64) -> Kind {
        Kind { least, most, default }
    }
}

/// All options of an environment.
pub(crate) struct Options([u64; COUNT]);

impl Default for Options {
    fn default() -> Options {
        let mut values = KINDS.each_ref().map(|kind| kind.default);
        // A program that sets nothing gets none.
        values[OPT_MAX_DB as usize] = 0;
        Options(values)
    }
}

impl Options {
    fn get(&self, option: u32) -> u64 {
        self.0[option as usize]
    }

    pub(crate) fn readers_max(&self) -> u32 {
        self.get(OPT_MAX_READERS) as u32
    }

    /// From so many unflushed bytes on a commit flushes; 0: never.
    pub(crate) fn sync_bytes(&self) -> u64 {
        self.get(OPT_SYNC_BYTES)
    }

    /// After so long a commit flushes, in seconds with 16 bits behind the point; 0: never.
    pub(crate) fn sync_period(&self) -> u64 {
        self.get(OPT_SYNC_PERIOD)
    }

    /// Sets those that others use, which the engine has taken over.
    pub(crate) fn take_over(&mut self, settings: &Settings) {
        let kept = |value: u64, never: u64| if value >= never { 0 } else { value };
        let period = (settings.flush_after.as_micros() << 16) / 1_000_000;
        let period = u64::try_from(period).unwrap_or(u64::MAX);
        self.0[OPT_SYNC_BYTES as usize] = kept(settings.flush_after_bytes, u64::MAX);
        self.0[OPT_SYNC_PERIOD as usize] = kept(period, u32::MAX.into());
    }

    /// Sets those that the engine has.
    pub(crate) fn carry_out(&self, settings: &mut Settings, page_bytes: u32) {
        settings.flush_after_bytes = match self.sync_bytes() {
            0 => u64::MAX,
            bytes => bytes,
        };
        settings.flush_after = match self.sync_period() {
            0 => Duration::MAX,
            period => Duration::from_micros(period.saturating_mul(1_000_000) >> 16),
        };
        let dirty_bytes = self.get(OPT_TXN_DP_LIMIT).saturating_mul(page_bytes.into());
        settings.write_buffer_bytes = usize::try_from(dirty_bytes).unwrap_or(usize::MAX);
    }
}

impl Env {
    pub(crate) fn option(&self, option: u32) -> Res<u64> {
        let setup = self.setup();
        let value = setup.options.0.get(option as usize).ok_or(Fault::Invalid)?;
        match option {
            OPT_SYNC_BYTES | OPT_SYNC_PERIOD if !setup.is_open() => Err(NOT_NOW),
            _ => Ok(*value),
        }
    }

    pub(crate) fn set_option(&self, option: u32, value: u64) -> Res<()> {
        let kind = KINDS.get(option as usize).ok_or(Fault::Invalid)?;
        let value = if value == u64::MAX { kind.default } else { value };
        let mut setup = self.setup();
        match option {
            OPT_MAX_DB | OPT_MAX_READERS if setup.is_open() => return Err(NOT_NOW),
            OPT_SYNC_BYTES | OPT_SYNC_PERIOD if !setup.is_open() => return Err(NOT_NOW),
            OPT_SYNC_BYTES | OPT_SYNC_PERIOD if setup.flags & RDONLY != 0 => {
                return Err(Fault::ReadOnly);
            }
            _ => {}
        }
        if !(kind.least..=kind.most).contains(&value) {
            return Err(Fault::Invalid);
        }
        setup.options.0[option as usize] = value;
        drop(setup);
        match option {
            OPT_MAX_DB => self.shared.dbis_mut().max = value as u32,
            OPT_MAX_READERS => self.shared.set_readers_max(value as u32),
            _ => self.settings_changed()?,
        }
        Ok(())
    }
}

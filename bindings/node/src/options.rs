//! Options of an environment, as JavaScript gives them.

use std::time::Duration;

use huon::{Durability, Options, ReadAhead, Verify};
use huon_lsm::LsmOptions;
use napi_derive::napi;

use crate::failure::{Failure, Result};

/// All may be left out.
#[napi(object)]
pub struct OpenOptions {
    pub read_only: Option<bool>,
    pub create: Option<bool>,
    pub exclusive: Option<bool>,
    pub durability: Option<String>,
    pub page_bytes: Option<f64>,
    pub min_bytes: Option<f64>,
    pub max_bytes: Option<f64>,
    pub map_bytes: Option<f64>,
    pub grow_bytes: Option<f64>,
    pub shrink_bytes: Option<f64>,
    pub write_buffer_bytes: Option<f64>,
    pub journal_bytes: Option<f64>,
    pub flush_after_bytes: Option<f64>,
    pub flush_after: Option<f64>,
    pub lock_timeout: Option<f64>,
    pub mode: Option<f64>,
    pub verify: Option<String>,
    pub read_ahead: Option<String>,
    pub lsm: Option<LsmOptionsGiven>,
}

/// The same of LSM tables.
#[napi(object)]
pub struct LsmOptionsGiven {
    pub fan: Option<f64>,
    pub filter_bits: Option<f64>,
    pub small: Option<f64>,
    pub open_bytes: Option<f64>,
    pub base_bytes: Option<f64>,
    pub step_bytes: Option<f64>,
    pub batch_bytes: Option<f64>,
    pub filter_memory: Option<f64>,
    pub runs_max: Option<f64>,
    pub lease: Option<f64>,
}

impl LsmOptionsGiven {
    pub(crate) fn options(&self) -> Result<LsmOptions> {
        let base = LsmOptions::default();
        Ok(LsmOptions {
            fan: whole(self.fan, base.fan)?,
            filter_bits: whole(self.filter_bits, base.filter_bits)?,
            small: whole(self.small, base.small)?,
            open_bytes: whole(self.open_bytes, base.open_bytes)?,
            base_bytes: whole(self.base_bytes, base.base_bytes)?,
            step_bytes: whole(self.step_bytes, base.step_bytes)?,
            batch_bytes: whole(self.batch_bytes, base.batch_bytes)?,
            filter_memory: whole(self.filter_memory, base.filter_memory)?,
            runs_max: whole(self.runs_max, base.runs_max)?,
            lease: self.lease.map_or(Ok(base.lease), millis)?,
            ..base
        })
    }
}

/// A number that must be a whole one, in the range of its type.
fn whole<T: TryFrom<u64>>(given: Option<f64>, default: T) -> Result<T> {
    let Some(number) = given else { return Ok(default) };
    let is_whole = number >= 0.0 && number.fract() == 0.0 && number < u64::MAX as f64;
    let fitting = is_whole.then_some(number as u64).and_then(|number| T::try_from(number).ok());
    fitting.ok_or_else(|| Failure {
        code: "Invalid",
        text: format!("an option of LSM tables is {number}, which is out of its range"),
    })
}

impl OpenOptions {
    pub(crate) fn options(&self) -> Result<Options> {
        let mut options = huon::Env::options();
        self.set_limits(&mut options);
        self.read_only.map(|yes| options.read_only(yes));
        self.create.map(|yes| options.create(yes));
        self.exclusive.map(|yes| options.exclusive(yes));
        self.mode.map(|mode| options.mode(mode as u32));
        if let Some(ms) = self.flush_after {
            options.flush_after(millis(ms)?);
        }
        if let Some(ms) = self.lock_timeout {
            options.lock_timeout(millis(ms)?);
        }
        if let Some(name) = &self.durability {
            options.durability(durability(name)?);
        }
        if let Some(name) = &self.verify {
            options.verify(match &**name {
                "pages" => Verify::Pages,
                "pagesAndValues" => Verify::PagesAndValues,
                "never" => Verify::Never,
                other => return Err(no_such("verify", other)),
            });
        }
        if let Some(name) = &self.read_ahead {
            options.read_ahead(match &**name {
                "ifItFits" => ReadAhead::IfItFits,
                "always" => ReadAhead::Always,
                "never" => ReadAhead::Never,
                other => return Err(no_such("readAhead", other)),
            });
        }
        Ok(options)
    }

    fn set_limits(&self, options: &mut Options) {
        self.page_bytes.map(|bytes| options.page_bytes(bytes as usize));
        self.min_bytes.map(|bytes| options.min_bytes(bytes as u64));
        self.max_bytes.map(|bytes| options.max_bytes(bytes as u64));
        self.map_bytes.map(|bytes| options.map_bytes(bytes as u64));
        self.grow_bytes.map(|bytes| options.grow_bytes(bytes as u64));
        self.shrink_bytes.map(|bytes| options.shrink_bytes(bytes as u64));
        self.write_buffer_bytes.map(|bytes| options.write_buffer_bytes(bytes as usize));
        self.journal_bytes.map(|bytes| options.journal(bytes as u64));
        self.flush_after_bytes.map(|bytes| options.flush_after_bytes(bytes as u64));
    }
}

/// So many milliseconds: none where that is in the past, no end where it is too long.
pub(crate) fn millis(ms: f64) -> Result<Duration> {
    if ms.is_nan() {
        return Err(Failure { code: "Invalid", text: "NaN is no time".to_owned() });
    }
    Ok(Duration::try_from_secs_f64(ms.max(0.0) / 1000.0).unwrap_or(Duration::MAX))
}

pub(crate) fn durability(name: &str) -> Result<Durability> {
    Ok(match name {
        "durable" => Durability::Durable,
        "noMetaSync" => Durability::NoMetaSync,
        "lazy" => Durability::Lazy,
        "unsynced" => Durability::Unsynced,
        other => return Err(no_such("durability", other)),
    })
}

fn no_such(option: &str, name: &str) -> Failure {
    Failure { code: "Invalid", text: format!("{option}: there is no {name:?}") }
}

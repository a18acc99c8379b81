//! How large the file may become, and in which steps.

use huon::{EnvInfo, Error, Geometry, WriteTxn};
use huon_c::{Fault, Res, me, objects, reserve_bytes};

use crate::env::Env;
use crate::flags::env::RDONLY;
use crate::limits;

/// What `mdbx_env_set_geometry` is given: -1 leaves each as it is, or as it is by itself; 0 is the
/// least, and `isize::MAX` the most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) lower: isize,
    /// The file is made so long, and stays so until it shrinks.
    pub(crate) now: isize,
    pub(crate) upper: isize,
    pub(crate) grow: isize,
    pub(crate) shrink: isize,
    pub(crate) page: isize,
}

/// The sizes of a file; `None`: as it is, or as it is by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) lower: Option<u64>,
    pub(crate) now: Option<u64>,
    pub(crate) upper: Option<u64>,
    pub(crate) grow: Option<u64>,
    pub(crate) shrink: Option<u64>,
}

impl Wanted {
    /// The wanted page size.
    pub(crate) fn page_bytes(&self) -> Res<Option<usize>> {
        let bytes = match self.page {
            ..0 => return Ok(None),
            0 => huon::limits::PAGE_BYTES_MIN,
            isize::MAX => huon::limits::PAGE_BYTES_MAX,
            bytes => limits::page_bytes(bytes).ok_or(Fault::Invalid)?,
        };
        Ok(Some(bytes))
    }

    /// The sizes that are asked for, of a file with such pages.
    pub(crate) fn sizes(&self, page_bytes: usize) -> Res<Sizes> {
        let most = limits::file_bytes_max(page_bytes);
        let least = limits::file_bytes_min(page_bytes);
        let size = |wanted: isize, least: u64| match wanted {
            ..0 => Ok(None),
            isize::MAX => Ok(Some(most)),
            bytes if bytes as u64 > most => Err(Fault::TooLarge),
            bytes => Ok(Some((bytes as u64).max(least))),
        };
        let sizes = Sizes {
            lower: size(self.lower, least)?,
            now: size(self.now, least)?,
            upper: size(self.upper, least)?,
            // 0 is for the engine to choose.
            grow: size(self.grow, page_bytes as u64)?,
            shrink: size(self.shrink, 0)?,
        };
        if sizes.upper.zip(sizes.lower).is_some_and(|(upper, lower)| upper < lower) {
            Err(Fault::Invalid)
        } else {
            Ok(sizes)
        }
    }

    /// Refuses what contradicts itself.
    fn check(&self) -> Res<()> {
        self.sizes(self.page_bytes()?.unwrap_or(limits::PAGE_BYTES)).map(drop)
    }

    /// Sets the options for a new file, if there is none.
    pub(crate) fn of_a_new_file(&self, options: &mut huon::Options) -> Res<()> {
        let page_bytes = self.page_bytes()?;
        page_bytes.map(|bytes| options.page_bytes(bytes));
        let sizes = self.sizes(page_bytes.unwrap_or(limits::PAGE_BYTES))?;
        sizes.lower.map(|bytes| options.min_bytes(bytes));
        if let Some(upper) = sizes.upper {
            options.max_bytes(upper).map_bytes(reserve_bytes(upper));
        }
        sizes.grow.map(|bytes| options.grow_bytes(bytes));
        sizes.shrink.map(|bytes| options.shrink_bytes(bytes));
        Ok(())
    }
}

impl Sizes {
    /// Carries them out in a transaction.
    fn apply(&self, txn: &mut WriteTxn) -> huon::Result<()> {
        let geometry = self.over(txn.geometry());
        if let Some(now) = self.now {
            // A file shorter than its minimum size grows, and no other.
            let mut long = geometry;
            long.min_bytes = now.clamp(geometry.min_bytes, geometry.max_bytes);
            txn.set_geometry(long)?;
        }
        txn.set_geometry(geometry)
    }

    /// What a file has, with these in place of some.
    fn over(&self, mut geometry: Geometry) -> Geometry {
        geometry.min_bytes = self.lower.unwrap_or(geometry.min_bytes);
        geometry.max_bytes = self.upper.unwrap_or(geometry.max_bytes);
        geometry.grow_bytes = self.grow.unwrap_or(geometry.grow_bytes);
        geometry.shrink_bytes = self.shrink.unwrap_or(geometry.shrink_bytes);
        // Moving one bound moves the other along.
        if self.lower.is_none() {
            geometry.min_bytes = geometry.min_bytes.min(geometry.max_bytes);
        }
        if self.upper.is_none() {
            geometry.max_bytes = geometry.max_bytes.max(geometry.min_bytes);
        }
        geometry
    }
}

/// Applies the geometry that was set before the environment was open, if no other client has it
/// open. An old file keeps its length.
pub(crate) fn apply_at_open(
    huon: &huon::Env,
    info: &EnvInfo,
    wanted: &Wanted,
    is_new: bool,
) -> Res<()> {
    if info.clients > 1 {
        return Ok(());
    }
    let mut sizes = wanted.sizes(info.page_bytes as usize)?;
    if !is_new {
        sizes.now = None;
    }
    match huon.update(|txn| sizes.apply(txn)) {
        // More is in use already; then that is the limit.
        Err(Error::MapFull(_)) => {
            sizes.upper = None;
            Ok(huon.update(|txn| sizes.apply(txn))?)
        }
        result => Ok(result?),
    }
}

impl Env {
    pub(crate) fn set_geometry(&self, wanted: Wanted) -> Res<()> {
        let mut setup = self.setup();
        let Some(page_bytes) = setup.page_bytes() else {
            wanted.check()?;
            setup.geometry = Some(wanted);
            return Ok(());
        };
        if setup.flags & RDONLY != 0 {
            return Err(Fault::ReadOnly);
        }
        // The engine's commit may take its time.
        drop(setup);
        if wanted.page_bytes()?.is_some_and(|bytes| bytes != page_bytes as usize) {
            return Err(Fault::Invalid);
        }
        let sizes = wanted.sizes(page_bytes as usize)?;
        if self.shared.writer() == me() {
            let txn = objects::txn(self.shared.write_txn())?;
            let mut writer = txn.writer()?;
            return Ok(sizes.apply(writer.txn_mut()?)?);
        }
        Ok(self.huon()?.update(|txn| sizes.apply(txn))?)
    }
}

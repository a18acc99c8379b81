//! Flushes, copies, and the metas of a file.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::Arc;

use huon::{CheckOptions, CopyOptions, ReadTxn};
use huon_c::{Fault, Res, Txn, View};

use crate::env::{Env, NOT_NOW, open_engine};
use crate::files::path_of;
use crate::flags::copy::*;
use crate::flags::env::{EXCLUSIVE, RDONLY};

/// A file has so many metas.
const METAS: u32 = 3;

impl Env {
    /// Flushes what is committed, without `force` if that is due; whether there was nothing.
    pub(crate) fn sync(&self, force: bool) -> Res<bool> {
        let huon = self.huon()?;
        if self.flags() & RDONLY != 0 {
            return Err(Fault::ReadOnly);
        }
        if huon.info()?.newest == huon.durable_id() {
            return Ok(true);
        }
        if force {
            huon.sync()?;
        } else {
            huon.flush_if_due()?;
        }
        Ok(false)
    }

    pub(crate) fn copy(&self, path: &CStr, flags: u32) -> Res<()> {
        let options = copy_options(flags)?.mode(0o640);
        self.huon()?.copy_to(path_of(path), options)?;
        Ok(())
    }

    pub(crate) fn copy_to(&self, out: impl AsFd, flags: u32) -> Res<()> {
        self.huon()?.copy_to_fd(out, copy_options(flags)?)?;
        Ok(())
    }

    /// Copies what a read transaction sees.
    pub(crate) fn copy_of(&self, txn: &Txn, path: &CStr, flags: u32) -> Res<()> {
        let access = txn.access()?;
        let options = copy_options(flags)?.mode(0o640).snapshot(reader(access.view()?)?);
        self.huon()?.copy_to(path_of(path), options)?;
        Ok(())
    }

    /// The same to a descriptor.
    pub(crate) fn copy_of_to(&self, txn: &Txn, out: impl AsFd, flags: u32) -> Res<()> {
        let access = txn.access()?;
        let options = copy_options(flags)?.snapshot(reader(access.view()?)?);
        self.huon()?.copy_to_fd(out, options)?;
        Ok(())
    }

    /// Opens what one of the metas shows.
    pub(crate) fn open_for_recovery(&self, path: &CStr, meta: u32, writable: bool) -> Res<()> {
        if meta >= METAS {
            return Err(Fault::Invalid);
        }
        let flags = if writable { EXCLUSIVE } else { EXCLUSIVE | RDONLY };
        self.open_as(path, flags, 0, Some(meta as u8))
    }

    /// Makes what one of the metas shows the newest.
    pub(crate) fn turn_for_recovery(&self, meta: u32) -> Res<()> {
        if meta >= METAS {
            return Err(Fault::Invalid);
        }
        let setup = self.setup();
        let opened = setup.opened()?;
        let is_alone = setup.flags & (EXCLUSIVE | RDONLY) == EXCLUSIVE;
        if !is_alone || self.shared.live_count() > 0 {
            return Err(NOT_NOW);
        }
        let mut turned = Ok(());
        self.shared.reopen(|huon| {
            // Not with a flush, which would write down the meta that was chosen before.
            huon.close_without_flush();
            let file = Arc::clone(&opened.file);
            let switched = huon::Env::switch_to_meta(&*file, meta as u8, CheckOptions::new());
            let opened = open_engine(&file, setup.flags, None, None, None);
            turned = switched.map(drop).map_err(Fault::from);
            opened.map_err(|fault| turned = turned.and(Err(fault))).ok()
        });
        drop(setup);
        // What was set is for the one that is open now, whichever that is.
        turned.and(self.settings_changed())
    }
}

fn reader(view: View<'_>) -> Res<&ReadTxn> {
    match view {
        View::Read(txn) => Ok(txn),
        View::Write(_) => Err(Fault::BadTxn),
    }
}

fn copy_options<'a>(flags: u32) -> Res<CopyOptions<'a>> {
    match flags & !(CP_COMPACT | CP_FORCE_DYNAMIC_SIZE) {
        0 => Ok(CopyOptions::new().compact(flags & CP_COMPACT != 0)),
        _ => Err(Fault::Invalid),
    }
}

//! What an environment and a transaction say about themselves.

use std::ffi::CStr;
use std::fs;
use std::sync::Arc;

use huon::{EnvInfo, MetaInfo, ReaderInfo, RetainedBy, RetainedSnapshot, TableStat};
use huon_c::{Fault, Res, Txn, View, in_txn};

use crate::abi::{
    MDBX_bootid, MDBX_envinfo, MDBX_envinfo_geo, MDBX_pgop_stat, MDBX_stat, MDBX_txn_info,
    system_page_bytes,
};
use crate::env::Env;
use crate::files::Place;
use crate::geometry::Wanted;
use crate::limits;

/// How libmdbx marks a meta that was flushed.
const FLUSHED: u64 = 2;

impl Env {
    /// All tables together, as a transaction sees them, or as last committed.
    pub(crate) fn stat(&self, txn: Option<&Txn>) -> Res<MDBX_stat> {
        let huon = self.huon()?;
        let page_bytes = huon.info()?.page_bytes;
        let tables = match txn {
            Some(txn) => tables_of(txn.access()?.view()?)?,
            None => tables_of(View::Read(&huon.read()?))?,
        };
        let mut all = MDBX_stat { ms_psize: page_bytes, ..MDBX_stat::default() };
        for table in &tables {
            let stat = stat_of(table, page_bytes);
            all.ms_branch_pages += stat.ms_branch_pages;
            all.ms_leaf_pages += stat.ms_leaf_pages;
            all.ms_overflow_pages += stat.ms_overflow_pages;
            all.ms_entries += stat.ms_entries;
        }
        // It says when any of them was changed.
        if let Some(main) = tables.first() {
            all.ms_depth = main.depth.into();
            all.ms_mod_txnid = main.changed;
        }
        Ok(all)
    }

    /// What is known of the environment, as a transaction sees it, or now.
    pub(crate) fn info(&self, txn: Option<&Txn>) -> Res<MDBX_envinfo> {
        let mut told = self.info_of_options();
        if self.check_opened().is_err() {
            return Ok(told);
        }
        let huon = self.huon()?;
        let info = huon.info()?;
        let mut used_bytes = info.used_bytes;
        told.mi_geo = geo_of(&info);
        if let Some(txn) = txn {
            match txn.access()?.view()? {
                View::Read(txn) => used_bytes = txn.used_bytes(),
                View::Write(txn) => {
                    let geometry = txn.geometry();
                    used_bytes = txn.costs().used_bytes;
                    told.mi_geo.lower = geometry.min_bytes;
                    told.mi_geo.upper = geometry.max_bytes;
                    told.mi_geo.shrink = geometry.shrink_bytes;
                }
            }
        }
        told.mi_mapsize = info.map_bytes;
        told.mi_last_pgno = (used_bytes / u64::from(info.page_bytes)).saturating_sub(1);
        told.mi_recent_txnid = info.visible;
        let pid = std::process::id();
        let mut own = info.readers.iter().filter(|reader| reader.pid == pid);
        told.mi_latter_reader_txnid = info.oldest_reader().map_or(info.visible, |r| r.txnid);
        told.mi_self_latter_reader_txnid = own.next().map_or(info.visible, |r| r.txnid);
        for (to, meta) in told.mi_meta_txnid_sign.iter_mut().zip(huon.metas()?) {
            *to = meta_of(&meta);
        }
        told.mi_numreaders = self.shared.readers_high(info.readers.len() as u32);
        told.mi_dxb_pagesize = info.page_bytes;
        told.mi_unsync_volume = info.unflushed_bytes;
        told.mi_pgop_stat = pages_of(&info);
        Ok(told)
    }

    /// The page size that it has, or will have.
    pub(crate) fn page_bytes(&self) -> Res<usize> {
        let setup = self.setup();
        if let Some(bytes) = setup.page_bytes() {
            return Ok(bytes as usize);
        }
        let wanted = setup.geometry.and_then(|wanted| wanted.page_bytes().transpose());
        wanted.unwrap_or(Ok(limits::PAGE_BYTES))
    }

    /// What is known of it before it is open.
    fn info_of_options(&self) -> MDBX_envinfo {
        let page_bytes = self.page_bytes().unwrap_or(limits::PAGE_BYTES);
        let setup = self.setup();
        MDBX_envinfo {
            mi_geo: setup.geometry.as_ref().map(geo_wanted).unwrap_or_default(),
            mi_maxreaders: setup.options.readers_max(),
            mi_dxb_pagesize: page_bytes as u32,
            mi_sys_pagesize: system_page_bytes(),
            mi_bootid: boots(),
            mi_autosync_threshold: setup.options.sync_bytes(),
            mi_autosync_period_seconds16dot16: setup.options.sync_period() as u32,
            mi_mode: setup.flags,
            ..MDBX_envinfo::default()
        }
    }

    /// What is known of a transaction; `scan` asks for what takes a look at all readers.
    pub(crate) fn txn_info(&self, txn: &Arc<Txn>, scan: bool) -> Res<MDBX_txn_info> {
        let huon = self.huon()?;
        let access = txn.access()?;
        let view = access.view()?;
        let info = huon.info()?;
        let mut told = MDBX_txn_info {
            txn_space_limit_soft: info.file_bytes,
            txn_space_limit_hard: info.max_bytes,
            ..MDBX_txn_info::default()
        };
        match view {
            View::Read(txn) => {
                let retained = self.retained_by(&huon, txn.id())?;
                let page_bytes = u64::from(info.page_bytes);
                told.txn_id = txn.id();
                told.txn_reader_lag = txn.ids_behind();
                told.txn_space_used = txn.used_bytes();
                told.txn_space_leftover = info.file_bytes.saturating_sub(info.used_bytes);
                told.txn_space_retired = retained.map_or(0, |retained| retained.pages * page_bytes);
                if scan {
                    told.txn_space_dirty =
                        retained.map_or(0, |retained| retained.alone_pages * page_bytes);
                }
            }
            View::Write(txn) => {
                let costs = txn.costs();
                told.txn_id = costs.id;
                if scan {
                    told.txn_reader_lag =
                        info.oldest_reader().map_or(0, |reader| reader.ids_behind);
                }
                told.txn_space_used = costs.used_bytes;
                told.txn_space_limit_hard = costs.max_bytes;
                told.txn_space_retired = costs.retired_bytes;
                told.txn_space_leftover = costs.max_bytes.saturating_sub(costs.used_bytes);
                told.txn_space_dirty = costs.dirty_bytes + costs.written_bytes;
            }
        }
        Ok(told)
    }

    /// All readers, and how many bytes of free pages each retains.
    pub(crate) fn readers(&self) -> Res<Vec<(ReaderInfo, u64)>> {
        let huon = self.huon()?;
        let page_bytes = u64::from(self.opened()?.page_bytes);
        let reader = |retained: RetainedSnapshot| match retained.by {
            RetainedBy::Reader(reader) => Some((reader, retained.pages * page_bytes)),
            _ => None,
        };
        Ok(huon.retained_snapshots()?.into_iter().filter_map(reader).collect())
    }

    /// What a reader of this process retains.
    fn retained_by(&self, huon: &huon::Env, txnid: u64) -> Res<Option<RetainedSnapshot>> {
        let is_own = |retained: &RetainedSnapshot| {
            matches!(retained.by, RetainedBy::Reader(info)
                if info.pid == std::process::id() && info.txnid == txnid)
        };
        Ok(huon.retained_snapshots()?.into_iter().find(is_own))
    }
}

/// What is known of a file that is not opened.
pub(crate) fn of_file(path: &CStr) -> Res<MDBX_envinfo> {
    let place = Place::find(path, false);
    let metas = huon::Env::metas_of(&place.file)?;
    let file_bytes = place.file.metadata()?.len();
    let mut told = MDBX_envinfo { mi_sys_pagesize: system_page_bytes(), ..MDBX_envinfo::default() };
    told.mi_geo.current = file_bytes;
    told.mi_bootid = boots();
    for (to, meta) in told.mi_meta_txnid_sign.iter_mut().zip(&metas) {
        *to = meta_of(meta);
    }
    if let Some(newest) = metas.iter().filter_map(MetaInfo::snapshot).find(|meta| meta.is_newest) {
        let pages = newest.used_bytes / u64::from(newest.page_bytes);
        told.mi_last_pgno = pages.saturating_sub(1);
        told.mi_recent_txnid = newest.txnid;
        told.mi_latter_reader_txnid = newest.txnid;
        told.mi_self_latter_reader_txnid = newest.txnid;
        told.mi_dxb_pagesize = newest.page_bytes;
    }
    Ok(told)
}

/// The main table and the named ones.
fn tables_of(view: View<'_>) -> Res<Vec<TableStat>> {
    in_txn!(view, txn => {
        let mut tables = vec![txn.table_stat(b"")?.ok_or(Fault::TableMissing)?];
        for name in txn.table_names()? {
            // What stands for the main table is no record of it.
            tables[0].entries -= u64::from(huon_c::dbi::is_hidden(&name));
            tables.extend(txn.table_stat(&name)?);
        }
        Ok(tables)
    })
}

/// What there is of a table.
pub(crate) fn stat_of(table: &TableStat, page_bytes: u32) -> MDBX_stat {
    MDBX_stat {
        ms_psize: page_bytes,
        ms_depth: table.depth.into(),
        ms_branch_pages: table.branch_pages.into(),
        ms_leaf_pages: table.leaf_pages.into(),
        ms_overflow_pages: table.overflow_pages.into(),
        ms_entries: table.entries,
        ms_mod_txnid: table.changed,
    }
}

fn geo_of(info: &EnvInfo) -> MDBX_envinfo_geo {
    let grow = match info.geometry.grow_bytes {
        // What the engine chooses by itself.
        0 => (info.file_bytes / 8).clamp(1 << 20, 64 << 20),
        bytes => bytes,
    };
    MDBX_envinfo_geo {
        lower: info.geometry.min_bytes,
        upper: info.geometry.max_bytes,
        current: info.file_bytes,
        shrink: info.geometry.shrink_bytes,
        grow,
    }
}

fn geo_wanted(wanted: &Wanted) -> MDBX_envinfo_geo {
    let bytes = |wanted: isize| u64::try_from(wanted).unwrap_or(0);
    MDBX_envinfo_geo {
        lower: bytes(wanted.lower),
        upper: bytes(wanted.upper),
        current: bytes(wanted.now),
        shrink: bytes(wanted.shrink),
        grow: bytes(wanted.grow),
    }
}

/// Which snapshot a meta is of, and whether it was flushed: Huon's always were.
fn meta_of(meta: &MetaInfo) -> [u64; 2] {
    meta.snapshot().map_or([0, 0], |snapshot| [snapshot.txnid, FLUSHED])
}

fn pages_of(info: &EnvInfo) -> MDBX_pgop_stat {
    let io = &info.io;
    MDBX_pgop_stat {
        cow: io.pages_written,
        split: io.leaf_splits + io.branch_splits,
        merge: io.leaf_merges + io.branch_merges,
        spill: io.spills,
        wops: io.writes,
        ..MDBX_pgop_stat::default()
    }
}

/// This run of the machine, zero if it does not say; Huon's metas do not.
fn boots() -> [MDBX_bootid; 4] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let whole = u128::from_str_radix(&digits, 16).unwrap_or(0);
    let mut boots = [MDBX_bootid::default(); 4];
    boots[0] = MDBX_bootid { x: (whole >> 64) as u64, y: whole as u64 };
    boots
}

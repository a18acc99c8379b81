//! A walk over the pages of a snapshot, as libmdbx's programs know it.

use std::ffi::CString;
use std::ops::ControlFlow;

use huon::{PageInfo, PageKind};
use huon_c::{Fault, Res, Txn, View};

use crate::env::Env;
use crate::flags::page::*;

/// The owner of a page.
pub(crate) enum Owner {
    Main,
    FreeSpace,
    Metas,
    Table(CString),
}

/// A page, or many that belong together.
pub(crate) struct Page<'p> {
    pub(crate) info: &'p PageInfo<'p>,
    pub(crate) owner: &'p Owner,
    pub(crate) kind: u32,
    /// Levels above it in its table.
    pub(crate) depth: u8,
    pub(crate) page_bytes: u32,
}

impl Env {
    /// Shows all pages that are not free, as long as the answer is 0; the last answer. Only for a
    /// transaction that sees what was committed last, and has changed nothing.
    pub(crate) fn walk(&self, txn: &Txn, each: &mut dyn FnMut(&Page<'_>) -> i32) -> Res<i32> {
        let huon = self.huon()?;
        let access = txn.access()?;
        let sees = match access.view()? {
            View::Read(txn) => txn.id(),
            View::Write(txn) if txn.costs().dirty_bytes > 0 => return Err(Fault::BadTxn),
            View::Write(_) => huon.info()?.visible,
        };
        if sees != huon.info()?.visible {
            return Err(Fault::BadTxn);
        }
        // The program may use it from within.
        drop(access);
        let page_bytes = self.opened()?.page_bytes;
        let (mut answer, mut owner, mut top) = (0, Owner::Metas, 0);
        huon.visit_pages(&mut |info| {
            let Some(kind) = kind_of(info.kind) else { return ControlFlow::Continue(()) };
            if !owner.is_of(info) {
                (owner, top) = (Owner::of(info), info.level);
            }
            let depth = top.saturating_sub(info.level);
            answer = each(&Page { info, owner: &owner, kind, depth, page_bytes });
            if answer == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(answer)
    }
}

impl Owner {
    fn of(info: &PageInfo<'_>) -> Owner {
        match info.table {
            Some(b"") => Owner::Main,
            Some(name) => Owner::Table(CString::new(name).unwrap_or_default()),
            None if info.kind == PageKind::Meta => Owner::Metas,
            None => Owner::FreeSpace,
        }
    }

    fn is_of(&self, info: &PageInfo<'_>) -> bool {
        match (self, info.table) {
            (Owner::Main, table) => table == Some(b""),
            (Owner::Table(own), Some(name)) => own.as_bytes() == name,
            (Owner::Metas, None) => info.kind == PageKind::Meta,
            (Owner::FreeSpace, None) => info.kind != PageKind::Meta,
            _ => false,
        }
    }
}

/// What libmdbx calls it; `None`: it is free.
fn kind_of(kind: PageKind) -> Option<u32> {
    match kind {
        PageKind::Meta => Some(PAGE_META),
        PageKind::Branch => Some(PAGE_BRANCH),
        PageKind::Leaf | PageKind::FreeList => Some(PAGE_LEAF),
        PageKind::FixedLeaf => Some(PAGE_DUPFIXED_LEAF),
        PageKind::LargeValue => Some(PAGE_LARGE),
        _ => None,
    }
}

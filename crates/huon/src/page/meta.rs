//! The meta block.
use super::chunk::Item;
use super::tree_record::Tree;
use super::types::Txnid;
use crate::error::Error;

pub(crate) const META_BYTES: usize = 4096;
pub(crate) const META_ITEMS_MAX: usize = 160;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum CommitKind {
    OneFlush = 1,
    TwoFlush = 2,
}

/// Sizes of the file, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Geometry {
    pub(crate) lower: u32,
    pub(crate) upper: u32,
    pub(crate) grow: u32,
    pub(crate) shrink: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Meta {
    pub(crate) uuid: [u8; 16],
    pub(crate) page_bytes: u32,
    pub(crate) commit: CommitKind,
    pub(crate) txnid: Txnid,
    pub(crate) before: Txnid,
    pub(crate) ceiling: u64,
    pub(crate) geometry: Geometry,
    pub(crate) used: u32,
    pub(crate) main: Tree,
    pub(crate) markers: [u64; 3],
    pub(crate) markers_txnid: u64,
    pub(crate) app_flags: u32,
    pub(crate) items: Vec<Item>,
}

/// Why a block is no meta of this file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetaFault {
    NotOurs,
    Version(u32),
    Features(u64),
    PageSize(u32),
    Corrupt(&'static str),
}

impl From<MetaFault> for Error {
    fn from(fault: MetaFault) -> Error {
        todo!()
    }
}

impl Meta {
    pub(crate) fn encode(&self) -> [u8; META_BYTES] {
        todo!()
    }
    pub(crate) fn decode(block: &[u8; META_BYTES]) -> Result<Meta, MetaFault> {
        todo!()
    }
}

/// The first page that is not covered by the three metas.
pub(crate) const fn first_data_page(page_bytes: usize) -> u32 {
    (3 * META_BYTES).div_ceil(page_bytes) as u32
}

//! Numbers that must not mix, and the reasons a page can be refused for.

use std::collections::TryReserveError;

/// A page number. Page `n` lies at byte `n * page_bytes` of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Pgno(pub(crate) u32);

/// The id of a write transaction, and of the snapshot it made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct Txnid(pub(crate) u64);

/// A page number and the id of the transaction that wrote it: names one content for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Ptr {
    pub(crate) pgno: Pgno,
    pub(crate) birth: Txnid,
}

impl Ptr {
    pub(crate) const BYTES: usize = 12;
    /// The root of an empty tree: page 0 always holds a meta.
    pub(crate) const NONE: Ptr = Ptr { pgno: Pgno(0), birth: Txnid(0) };

    pub(crate) fn is_none(self) -> bool {
        self.pgno.0 == 0
    }

    pub(crate) fn encode(self) -> [u8; Ptr::BYTES] {
        let mut out = [0; Ptr::BYTES];
        out[..4].copy_from_slice(&self.pgno.0.to_le_bytes());
        out[4..].copy_from_slice(&self.birth.0.to_le_bytes());
        out
    }

    pub(crate) fn decode(bytes: &[u8; Ptr::BYTES]) -> Ptr {
        let (pgno, birth) = bytes.split_first_chunk::<4>().expect("twelve bytes");
        let birth: [u8; 8] = birth.try_into().expect("eight bytes");
        Ptr { pgno: Pgno(u32::from_le_bytes(*pgno)), birth: Txnid(u64::from_le_bytes(birth)) }
    }
}

/// What a page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Branch = 1,
    Leaf = 2,
    /// Values of one length, in order and without slots: a leaf of a multimap's tree of values.
    Fixed = 3,
    Chunk = 4,
}

/// Why a page was refused; small, so that checks on the read path cost nothing when they pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Reason {
    OutOfRange,
    Header,
    Checksum,
    Count,
    Cell,
    CellKind,
    Order,
    Depth,
    Run,
    Tree,
    Space,
    Cycle,
    /// Nothing is wrong with the page: there was no memory to work on it.
    Memory,
}

impl From<TryReserveError> for Reason {
    #[cold]
    fn from(_: TryReserveError) -> Reason {
        Reason::Memory
    }
}

impl Reason {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Reason::OutOfRange => "page number lies outside the file",
            Reason::Header => "header does not match the pointer (stale, lost or misplaced write)",
            Reason::Checksum => "checksum does not match the contents",
            Reason::Count => "slots do not fit the page",
            Reason::Cell => "a cell does not fit the page",
            Reason::CellKind => "a cell has an unknown kind",
            Reason::Order => "keys are out of order",
            Reason::Depth => "the tree is deeper than its record says",
            Reason::Run => "a large value does not match its checksum",
            Reason::Tree => "a tree record makes no sense",
            Reason::Space => "the free-space list makes no sense",
            Reason::Cycle => "a page is referenced twice",
            Reason::Memory => "there is no memory to look at it",
        }
    }
}

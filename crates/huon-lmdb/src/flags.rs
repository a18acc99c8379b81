//! LMDB's flags, as its programs spell them out in bits.

/// Of environments.
pub(crate) mod env {
    pub(crate) const FIXEDMAP: u32 = 0x01;
    pub(crate) const NOSUBDIR: u32 = 0x4000;
    pub(crate) const NOSYNC: u32 = 0x1_0000;
    pub(crate) const RDONLY: u32 = 0x2_0000;
    pub(crate) const NOMETASYNC: u32 = 0x4_0000;
    pub(crate) const WRITEMAP: u32 = 0x8_0000;
    pub(crate) const MAPASYNC: u32 = 0x10_0000;
    pub(crate) const NOTLS: u32 = 0x20_0000;
    pub(crate) const NOLOCK: u32 = 0x40_0000;
    pub(crate) const NORDAHEAD: u32 = 0x80_0000;
    pub(crate) const NOMEMINIT: u32 = 0x100_0000;
    /// Of LMDB's master line.
    pub(crate) const PREVSNAPSHOT: u32 = 0x200_0000;

    /// Those that can be changed while the environment is open.
    pub(crate) const CHANGEABLE: u32 = NOSYNC | NOMETASYNC | MAPASYNC | NOMEMINIT;
    pub(crate) const ALL: u32 = CHANGEABLE
        | FIXEDMAP
        | NOSUBDIR
        | RDONLY
        | WRITEMAP
        | NOTLS
        | NOLOCK
        | NORDAHEAD
        | PREVSNAPSHOT;
}

/// Of copies.
pub(crate) const COPY_COMPACT: u32 = 0x01;

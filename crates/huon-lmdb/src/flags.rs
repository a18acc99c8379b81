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

    /// Those that can be changed while the environment is open.
    pub(crate) const CHANGEABLE: u32 = NOSYNC | NOMETASYNC | MAPASYNC | NOMEMINIT;
    pub(crate) const ALL: u32 =
        CHANGEABLE | FIXEDMAP | NOSUBDIR | RDONLY | WRITEMAP | NOTLS | NOLOCK | NORDAHEAD;
}

/// Of databases.
pub(crate) mod dbi {
    pub(crate) const REVERSEKEY: u32 = 0x02;
    pub(crate) const DUPSORT: u32 = 0x04;
    pub(crate) const INTEGERKEY: u32 = 0x08;
    pub(crate) const DUPFIXED: u32 = 0x10;
    pub(crate) const INTEGERDUP: u32 = 0x20;
    pub(crate) const REVERSEDUP: u32 = 0x40;
    pub(crate) const CREATE: u32 = 0x4_0000;

    /// Those that say of which kind a database is.
    pub(crate) const KIND: u32 =
        REVERSEKEY | DUPSORT | INTEGERKEY | DUPFIXED | INTEGERDUP | REVERSEDUP;
}

/// Of writes.
pub(crate) mod put {
    pub(crate) const NOOVERWRITE: u32 = 0x10;
    pub(crate) const NODUPDATA: u32 = 0x20;
    pub(crate) const CURRENT: u32 = 0x40;
    pub(crate) const RESERVE: u32 = 0x1_0000;
    pub(crate) const APPEND: u32 = 0x2_0000;
    pub(crate) const APPENDDUP: u32 = 0x4_0000;
    pub(crate) const MULTIPLE: u32 = 0x8_0000;

    /// What a put without a cursor may ask for.
    pub(crate) const PLAIN: u32 = NOOVERWRITE | NODUPDATA | RESERVE | APPEND | APPENDDUP;
}

/// Of copies.
pub(crate) const COPY_COMPACT: u32 = 0x01;

//! Flags that LMDB and libmdbx spell with the same bits.

/// Of transactions.
pub mod txn {
    /// Only reads.
    pub const RDONLY: u32 = 0x2_0000;
}

/// Of tables.
pub mod dbi {
    /// Keys are compared from their last byte on.
    pub const REVERSEKEY: u32 = 0x02;
    /// A key may have many values, in order.
    pub const DUPSORT: u32 = 0x04;
    /// Keys are integers in the machine's order of bytes.
    pub const INTEGERKEY: u32 = 0x08;
    /// All values have one length.
    pub const DUPFIXED: u32 = 0x10;
    /// Values are integers in the machine's order of bytes.
    pub const INTEGERDUP: u32 = 0x20;
    /// Values are compared from their last byte on.
    pub const REVERSEDUP: u32 = 0x40;
    /// Makes the table, if it is not there.
    pub const CREATE: u32 = 0x4_0000;

    /// Those that say of which kind a table is.
    pub const KIND: u32 = REVERSEKEY | DUPSORT | INTEGERKEY | DUPFIXED | INTEGERDUP | REVERSEDUP;
}

/// Of changes.
pub mod put {
    /// Not if the key is there.
    pub const NOOVERWRITE: u32 = 0x10;
    /// Not if the key has this value. When deleting: all values.
    pub const NODUPDATA: u32 = 0x20;
    /// The record that the cursor stands on.
    pub const CURRENT: u32 = 0x40;
    /// All values of the key.
    pub const ALLDUPS: u32 = 0x80;
    /// Only makes room; the caller writes the value.
    pub const RESERVE: u32 = 0x1_0000;
    /// The key comes behind all others.
    pub const APPEND: u32 = 0x2_0000;
    /// The value comes behind all others of its key.
    pub const APPENDDUP: u32 = 0x4_0000;
    /// Many values at once.
    pub const MULTIPLE: u32 = 0x8_0000;

    /// What a put without a cursor may ask for.
    pub const PLAIN: u32 = NOOVERWRITE | NODUPDATA | RESERVE | APPEND | APPENDDUP;
}

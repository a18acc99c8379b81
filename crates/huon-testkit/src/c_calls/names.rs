//! The numbers of the interfaces: those of LMDB, and what libmdbx has beside them.

/// Flags of environments.
pub mod env {
    pub const NOSUBDIR: u32 = 0x4000;
    pub const NOSYNC: u32 = 0x1_0000;
    /// libmdbx's word for `NOSYNC`.
    pub const SAFE_NOSYNC: u32 = NOSYNC;
    /// libmdbx's; `NOSYNC` is half of it.
    pub const UTTERLY_NOSYNC: u32 = 0x11_0000;
    pub const RDONLY: u32 = 0x2_0000;
    pub const NOMETASYNC: u32 = 0x4_0000;
    pub const WRITEMAP: u32 = 0x8_0000;
    pub const MAPASYNC: u32 = 0x10_0000;
    pub const NOTLS: u32 = 0x20_0000;
    pub const NOLOCK: u32 = 0x40_0000;
    /// libmdbx's, in the place of `NOLOCK`.
    pub const EXCLUSIVE: u32 = 0x40_0000;
    pub const NORDAHEAD: u32 = 0x80_0000;
    pub const NOMEMINIT: u32 = 0x100_0000;
    pub const COALESCE: u32 = 0x200_0000;
    pub const LIFORECLAIM: u32 = 0x400_0000;
    /// libmdbx's.
    pub const ACCEDE: u32 = 0x4000_0000;
    /// Those that may change while it is open.
    pub const CHANGEABLE: u32 = NOSYNC | NOMETASYNC | MAPASYNC | NOMEMINIT;
    pub const CHANGEABLE_OF_MDBX: u32 = UTTERLY_NOSYNC | NOMETASYNC | NOMEMINIT | COALESCE;
}

/// Flags of transactions, which libmdbx has beside `RDONLY`.
pub mod txn {
    pub const PREPARE: u32 = 0x102_0000;
    pub const TRY: u32 = 0x1000_0000;
}

/// Flags of tables.
pub mod kind {
    pub const REVERSEKEY: u32 = 0x02;
    pub const DUPSORT: u32 = 0x04;
    pub const INTEGERKEY: u32 = 0x08;
    pub const DUPFIXED: u32 = 0x10;
    pub const INTEGERDUP: u32 = 0x20;
    pub const REVERSEDUP: u32 = 0x40;
    pub const CREATE: u32 = 0x4_0000;
    /// libmdbx's.
    pub const DB_ACCEDE: u32 = 0x4000_0000;
    /// All but `CREATE`.
    pub const ALL: u32 = REVERSEKEY | DUPSORT | INTEGERKEY | DUPFIXED | INTEGERDUP | REVERSEDUP;
}

/// Flags of puts.
pub mod put {
    pub const NOOVERWRITE: u32 = 0x10;
    pub const NODUPDATA: u32 = 0x20;
    pub const CURRENT: u32 = 0x40;
    /// libmdbx's.
    pub const ALLDUPS: u32 = 0x80;
    pub const RESERVE: u32 = 0x1_0000;
    pub const APPEND: u32 = 0x2_0000;
    pub const APPENDDUP: u32 = 0x4_0000;
    pub const MULTIPLE: u32 = 0x8_0000;
    /// Each, and what it is called.
    pub const EACH: [(u32, &str); 8] = [
        (NOOVERWRITE, "NOOVERWRITE"),
        (NODUPDATA, "NODUPDATA"),
        (CURRENT, "CURRENT"),
        (ALLDUPS, "ALLDUPS"),
        (RESERVE, "RESERVE"),
        (APPEND, "APPEND"),
        (APPENDDUP, "APPENDDUP"),
        (MULTIPLE, "MULTIPLE"),
    ];
}

/// Where a cursor is to go.
pub mod go {
    pub const FIRST: u32 = 0;
    pub const FIRST_DUP: u32 = 1;
    pub const GET_BOTH: u32 = 2;
    pub const GET_BOTH_RANGE: u32 = 3;
    pub const GET_CURRENT: u32 = 4;
    pub const GET_MULTIPLE: u32 = 5;
    pub const LAST: u32 = 6;
    pub const LAST_DUP: u32 = 7;
    pub const NEXT: u32 = 8;
    pub const NEXT_DUP: u32 = 9;
    pub const NEXT_MULTIPLE: u32 = 10;
    pub const NEXT_NODUP: u32 = 11;
    pub const PREV: u32 = 12;
    pub const PREV_DUP: u32 = 13;
    pub const PREV_NODUP: u32 = 14;
    pub const SET: u32 = 15;
    pub const SET_KEY: u32 = 16;
    pub const SET_RANGE: u32 = 17;
    pub const PREV_MULTIPLE: u32 = 18;
    /// libmdbx's, as all that follow.
    pub const SET_LOWERBOUND: u32 = 19;
    pub const SET_UPPERBOUND: u32 = 20;
    /// What each is called.
    pub const NAMES: [&str; 21] = [
        "FIRST",
        "FIRST_DUP",
        "GET_BOTH",
        "GET_BOTH_RANGE",
        "GET_CURRENT",
        "GET_MULTIPLE",
        "LAST",
        "LAST_DUP",
        "NEXT",
        "NEXT_DUP",
        "NEXT_MULTIPLE",
        "NEXT_NODUP",
        "PREV",
        "PREV_DUP",
        "PREV_NODUP",
        "SET",
        "SET_KEY",
        "SET_RANGE",
        "PREV_MULTIPLE",
        "SET_LOWERBOUND",
        "SET_UPPERBOUND",
    ];
}

/// Results.
pub mod code {
    pub const KEYEXIST: i32 = -30799;
    pub const NOTFOUND: i32 = -30798;
    pub const PANIC: i32 = -30795;
    pub const VERSION_MISMATCH: i32 = -30794;
    pub const INVALID: i32 = -30793;
    pub const MAP_FULL: i32 = -30792;
    pub const DBS_FULL: i32 = -30791;
    pub const READERS_FULL: i32 = -30790;
    pub const MAP_RESIZED: i32 = -30785;
    pub const INCOMPATIBLE: i32 = -30784;
    pub const BAD_RSLOT: i32 = -30783;
    pub const BAD_TXN: i32 = -30782;
    pub const BAD_VALSIZE: i32 = -30781;
    pub const BAD_DBI: i32 = -30780;
    pub const BUSY: i32 = -30778;
    pub const EMULTIVAL: i32 = -30421;
    pub const EBADSIGN: i32 = -30420;
    pub const EKEYMISMATCH: i32 = -30418;
    pub const TOO_LARGE: i32 = -30417;
    pub const THREAD_MISMATCH: i32 = -30416;
    pub const TXN_OVERLAPPING: i32 = -30415;
    pub const RESULT_TRUE: i32 = -1;
    pub const EPERM: i32 = 1;
    pub const EACCES: i32 = 13;
    pub const EINVAL: i32 = 22;
    pub const EDEADLK: i32 = 35;
    pub const ENODATA: i32 = 61;
    /// Each that may come, and what it is called.
    pub const EACH: [(i32, &str); 21] = [
        (0, "success"),
        (KEYEXIST, "KEYEXIST"),
        (NOTFOUND, "NOTFOUND"),
        (DBS_FULL, "DBS_FULL"),
        (READERS_FULL, "READERS_FULL"),
        (INCOMPATIBLE, "INCOMPATIBLE"),
        (BAD_RSLOT, "BAD_RSLOT"),
        (BAD_TXN, "BAD_TXN"),
        (BAD_VALSIZE, "BAD_VALSIZE"),
        (BAD_DBI, "BAD_DBI"),
        (BUSY, "BUSY"),
        (EMULTIVAL, "EMULTIVAL"),
        (EBADSIGN, "EBADSIGN"),
        (EKEYMISMATCH, "EKEYMISMATCH"),
        (TXN_OVERLAPPING, "TXN_OVERLAPPING"),
        (RESULT_TRUE, "RESULT_TRUE"),
        (EPERM, "EPERM"),
        (EACCES, "EACCES"),
        (EINVAL, "EINVAL"),
        (EDEADLK, "EDEADLK"),
        (ENODATA, "ENODATA"),
    ];
}

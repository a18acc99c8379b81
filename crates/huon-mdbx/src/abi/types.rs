//! What C and we see alike: handles, and structures whose layout is the interface's.

use std::marker::PhantomData;
use std::mem::{offset_of, size_of};

use libc::{c_char, c_int, c_uint, c_void, pid_t, pthread_t, size_t};

/// What C has pointers to and never looks into.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])* #[repr(C)] pub struct $name { _inside: [u8; 0], _pin: PhantomData<*mut u8> })*
    };
}

opaque! {
    /// An environment.
    MDBX_env;
    /// A transaction.
    MDBX_txn;
    /// A cursor.
    MDBX_cursor;
}

/// A table's handle.
pub type MDBX_dbi = u32;

/// Bytes that are passed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MDBX_val {
    /// Where.
    pub iov_base: *mut c_void,
    /// How many.
    pub iov_len: usize,
}

/// Which interface it is, and which library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MDBX_version_info {
    /// Of the interface.
    pub major: u8,
    /// Of the interface.
    pub minor: u8,
    /// Of the interface.
    pub release: u16,
    /// Of the interface.
    pub revision: u32,
    /// When, from what, and what it is called.
    pub git: MDBX_version_git,
    /// The name and version of the library.
    pub sourcery: *const c_char,
}

/// Where the library's source comes from.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MDBX_version_git {
    /// When; empty.
    pub datetime: *const c_char,
    /// The tree; empty.
    pub tree: *const c_char,
    /// The commit; empty.
    pub commit: *const c_char,
    /// The version of Huon.
    pub describe: *const c_char,
}

/// How the library was built.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MDBX_build_info {
    /// When; empty.
    pub datetime: *const c_char,
    /// For which machines.
    pub target: *const c_char,
    /// With which features.
    pub options: *const c_char,
    /// By what.
    pub compiler: *const c_char,
    /// How.
    pub flags: *const c_char,
}

/// Numbers about a table, or all of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MDBX_stat {
    /// Bytes of a page.
    pub ms_psize: u32,
    /// Levels of the tree.
    pub ms_depth: u32,
    /// Pages of the upper levels.
    pub ms_branch_pages: u64,
    /// Pages with records.
    pub ms_leaf_pages: u64,
    /// Pages with long values.
    pub ms_overflow_pages: u64,
    /// Records.
    pub ms_entries: u64,
    /// The transaction that changed it last.
    pub ms_mod_txnid: u64,
}

/// How large the file is and may be.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MDBX_envinfo_geo {
    /// Bytes that it keeps.
    pub lower: u64,
    /// Bytes that it may have.
    pub upper: u64,
    /// Bytes that it has.
    pub current: u64,
    /// Free bytes at the end from which on it is cut.
    pub shrink: u64,
    /// Bytes that it grows by.
    pub grow: u64,
}

/// A run of the machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MDBX_bootid {
    /// One half.
    pub x: u64,
    /// The other.
    pub y: u64,
}

/// What was done with pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MDBX_pgop_stat {
    /// Added.
    pub newly: u64,
    /// Copied for a change.
    pub cow: u64,
    /// Copied for a child.
    pub clone: u64,
    /// Split.
    pub split: u64,
    /// Merged.
    pub merge: u64,
    /// Written early.
    pub spill: u64,
    /// Read again after that.
    pub unspill: u64,
    /// Calls that wrote.
    pub wops: u64,
}

/// Numbers about an environment.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MDBX_envinfo {
    /// The file's size.
    pub mi_geo: MDBX_envinfo_geo,
    /// Bytes of the map.
    pub mi_mapsize: u64,
    /// The last page that is used.
    pub mi_last_pgno: u64,
    /// The last transaction that was committed.
    pub mi_recent_txnid: u64,
    /// The oldest that is read.
    pub mi_latter_reader_txnid: u64,
    /// The oldest that is read here.
    pub mi_self_latter_reader_txnid: u64,
    /// Of the three metas: which transaction, and whether it was flushed.
    pub mi_meta_txnid_sign: [[u64; 2]; 3],
    /// How many readers there may be.
    pub mi_maxreaders: u32,
    /// How many there were at most.
    pub mi_numreaders: u32,
    /// Bytes of a page of the file.
    pub mi_dxb_pagesize: u32,
    /// Bytes of a page of the kernel.
    pub mi_sys_pagesize: u32,
    /// This run of the machine, and those of the metas.
    pub mi_bootid: [MDBX_bootid; 4],
    /// Bytes that were not flushed.
    pub mi_unsync_volume: u64,
    /// How many of them have a commit flush.
    pub mi_autosync_threshold: u64,
    /// Since the last flush.
    pub mi_since_sync_seconds16dot16: u32,
    /// After which a commit flushes.
    pub mi_autosync_period_seconds16dot16: u32,
    /// Since dead readers were looked for.
    pub mi_since_reader_check_seconds16dot16: u32,
    /// The flags in force.
    pub mi_mode: u32,
    /// What was done with pages.
    pub mi_pgop_stat: MDBX_pgop_stat,
}

/// Numbers about a transaction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MDBX_txn_info {
    /// What a reader sees, or a writer will have committed.
    pub txn_id: u64,
    /// Commits since, or since the oldest reader.
    pub txn_reader_lag: u64,
    /// Bytes up to the last page in use.
    pub txn_space_used: u64,
    /// Bytes of the file.
    pub txn_space_limit_soft: u64,
    /// Bytes that it may have.
    pub txn_space_limit_hard: u64,
    /// Bytes that are kept, or were replaced.
    pub txn_space_retired: u64,
    /// Bytes that are left.
    pub txn_space_leftover: u64,
    /// Bytes that no other transaction retains, or that are buffered.
    pub txn_space_dirty: u64,
}

/// What a commit spent its time on, in seconds with 16 bits behind the point.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MDBX_commit_latency {
    /// Children, tables' records.
    pub preparation: u32,
    /// Free pages.
    pub gc: u32,
    /// Looking for errors; 0.
    pub audit: u32,
    /// Writing.
    pub write: u32,
    /// Flushing.
    pub sync: u32,
    /// Giving back.
    pub ending: u32,
    /// All of it.
    pub whole: u32,
}

/// Numbers of the program's.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MDBX_canary {
    /// The first.
    pub x: u64,
    /// The second.
    pub y: u64,
    /// The third.
    pub z: u64,
    /// The transaction that set them.
    pub v: u64,
}

/// Orders two values.
pub type MDBX_cmp_func =
    Option<unsafe extern "C" fn(a: *const MDBX_val, b: *const MDBX_val) -> c_int>;
/// Takes what is logged; its last argument is a `va_list`.
pub type MDBX_debug_func =
    Option<unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char, *mut c_void)>;
/// Takes what is logged, as one text.
pub type MDBX_debug_func_nofmt =
    Option<unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char, c_uint)>;
/// Called for a failed assertion.
pub type MDBX_assert_func =
    Option<unsafe extern "C" fn(*const MDBX_env, *const c_char, *const c_char, c_uint)>;
/// Keeps an old value.
pub type MDBX_preserve_func =
    Option<unsafe extern "C" fn(*mut c_void, *mut MDBX_val, *const c_void, size_t) -> c_int>;
/// Takes a reader.
pub type MDBX_reader_list_func = Option<
    unsafe extern "C" fn(
        ctx: *mut c_void,
        num: c_int,
        slot: c_int,
        pid: pid_t,
        thread: pthread_t,
        txnid: u64,
        lag: u64,
        bytes_used: size_t,
        bytes_retained: size_t,
    ) -> c_int,
>;
/// Is asked about a slow reader.
pub type MDBX_hsr_func = Option<
    unsafe extern "C" fn(
        env: *const MDBX_env,
        txn: *const MDBX_txn,
        pid: pid_t,
        tid: pthread_t,
        laggard: u64,
        gap: c_uint,
        space: size_t,
        retry: c_int,
    ) -> c_int,
>;
/// Takes a page.
pub type MDBX_pgvisitor_func = Option<
    unsafe extern "C" fn(
        pgno: u64,
        number: c_uint,
        ctx: *mut c_void,
        deep: c_int,
        dbi: *const c_char,
        page_size: size_t,
        kind: c_uint,
        err: c_int,
        nentries: size_t,
        payload_bytes: size_t,
        header_bytes: size_t,
        unused_bytes: size_t,
    ) -> c_int,
>;
/// Takes a table.
pub type MDBX_table_enum_func = Option<
    unsafe extern "C" fn(
        ctx: *mut c_void,
        txn: *const MDBX_txn,
        name: *const MDBX_val,
        flags: c_uint,
        stat: *const MDBX_stat,
        dbi: MDBX_dbi,
    ) -> c_int,
>;

/// Sizes and places, as `tests/c/layout.c` has them for the header.
macro_rules! layouts {
    ($($name:ty: $bytes:literal { $($field:ident at $offset:literal,)* })*) => {
        const _: () = {
            $(assert!(size_of::<$name>() == $bytes);
            $(assert!(offset_of!($name, $field) == $offset);)*)*
        };
    };
}

layouts! {
    MDBX_val: 16 { iov_base at 0, iov_len at 8, }
    MDBX_version_info: 48 {
        major at 0, minor at 1, release at 2, revision at 4, git at 8, sourcery at 40,
    }
    MDBX_version_git: 32 { datetime at 0, tree at 8, commit at 16, describe at 24, }
    MDBX_build_info: 40 { datetime at 0, target at 8, options at 16, compiler at 24, flags at 32, }
    MDBX_stat: 48 {
        ms_psize at 0, ms_depth at 4, ms_branch_pages at 8, ms_leaf_pages at 16,
        ms_overflow_pages at 24, ms_entries at 32, ms_mod_txnid at 40,
    }
    MDBX_envinfo_geo: 40 { lower at 0, upper at 8, current at 16, shrink at 24, grow at 32, }
    MDBX_envinfo: 304 {
        mi_geo at 0, mi_mapsize at 40, mi_last_pgno at 48, mi_recent_txnid at 56,
        mi_latter_reader_txnid at 64, mi_self_latter_reader_txnid at 72, mi_meta_txnid_sign at 80,
        mi_maxreaders at 128, mi_numreaders at 132, mi_dxb_pagesize at 136,
        mi_sys_pagesize at 140, mi_bootid at 144, mi_unsync_volume at 208,
        mi_autosync_threshold at 216, mi_since_sync_seconds16dot16 at 224,
        mi_autosync_period_seconds16dot16 at 228, mi_since_reader_check_seconds16dot16 at 232,
        mi_mode at 236, mi_pgop_stat at 240,
    }
    MDBX_pgop_stat: 64 {
        newly at 0, cow at 8, clone at 16, split at 24, merge at 32, spill at 40, unspill at 48,
        wops at 56,
    }
    MDBX_txn_info: 64 {
        txn_id at 0, txn_reader_lag at 8, txn_space_used at 16, txn_space_limit_soft at 24,
        txn_space_limit_hard at 32, txn_space_retired at 40, txn_space_leftover at 48,
        txn_space_dirty at 56,
    }
    MDBX_commit_latency: 28 {
        preparation at 0, gc at 4, audit at 8, write at 12, sync at 16, ending at 20, whole at 24,
    }
    MDBX_canary: 32 { x at 0, y at 8, z at 16, v at 24, }
}

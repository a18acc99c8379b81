//! libmdbx's flags, steps and options, as its programs spell them out in numbers.

/// Modules of constants; tests also get a list of them, to compare with the header.
macro_rules! numbers {
    ($($(#[$doc:meta])* mod $kind:ident: $type:ty { $($name:ident = $number:expr,)* })*) => {
        $($(#[$doc])* #[allow(dead_code)] pub(crate) mod $kind {
            $(pub(crate) const $name: $type = $number;)*
        })*

        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &[(&str, i64)])] = &[
            $((stringify!($kind), &[$((stringify!($name), $kind::$name as i64),)*]),)*
        ];
    };
}

numbers! {
    /// Of environments.
    mod env: u32 {
        NOSUBDIR = 0x4000,
        SAFE_NOSYNC = 0x1_0000,
        RDONLY = 0x2_0000,
        NOMETASYNC = 0x4_0000,
        WRITEMAP = 0x8_0000,
        UTTERLY_NOSYNC = 0x11_0000,
        NOTLS = 0x20_0000,
        EXCLUSIVE = 0x40_0000,
        NORDAHEAD = 0x80_0000,
        NOMEMINIT = 0x100_0000,
        COALESCE = 0x200_0000,
        LIFORECLAIM = 0x400_0000,
        PAGEPERTURB = 0x800_0000,
        ACCEDE = 0x4000_0000,
    }

    /// Of transactions, when they begin, and of what has become of them.
    mod txn: u32 {
        TXN_RDONLY = 0x2_0000,
        TXN_RDONLY_PREPARE = 0x102_0000,
        TXN_TRY = 0x1000_0000,
        TXN_NOMETASYNC = 0x4_0000,
        TXN_NOSYNC = 0x1_0000,
        TXN_FINISHED = 0x01,
        TXN_ERROR = 0x02,
        TXN_DIRTY = 0x04,
        TXN_SPILLS = 0x08,
        TXN_HAS_CHILD = 0x10,
        TXN_INVALID = 0x8000_0000,
    }

    /// Of tables.
    mod dbi: u32 {
        REVERSEKEY = 0x02,
        DUPSORT = 0x04,
        INTEGERKEY = 0x08,
        DUPFIXED = 0x10,
        INTEGERDUP = 0x20,
        REVERSEDUP = 0x40,
        CREATE = 0x4_0000,
        DB_ACCEDE = 0x4000_0000,
    }

    /// What a table is to a transaction.
    mod state: u32 {
        DBI_DIRTY = 0x01,
        DBI_STALE = 0x02,
        DBI_FRESH = 0x04,
        DBI_CREAT = 0x08,
    }

    /// Of writes.
    mod put: u32 {
        NOOVERWRITE = 0x10,
        NODUPDATA = 0x20,
        CURRENT = 0x40,
        ALLDUPS = 0x80,
        RESERVE = 0x1_0000,
        APPEND = 0x2_0000,
        APPENDDUP = 0x4_0000,
        MULTIPLE = 0x8_0000,
    }

    /// Of copies.
    mod copy: u32 {
        CP_COMPACT = 0x01,
        CP_FORCE_DYNAMIC_SIZE = 0x02,
    }

    /// How files are deleted.
    mod delete: u32 {
        ENV_JUST_DELETE = 0,
        ENV_ENSURE_UNUSED = 1,
        ENV_WAIT_FOR_UNUSED = 2,
    }

    /// How the library behaves.
    mod debug: i32 {
        DBG_ASSERT = 1,
        DBG_AUDIT = 2,
        DBG_JITTER = 4,
        DBG_DUMP = 8,
        DBG_LEGACY_MULTIOPEN = 16,
        DBG_LEGACY_OVERLAP = 32,
        DBG_DONT_UPGRADE = 64,
        DBG_DONTCHANGE = -1,
    }

    /// How much is logged.
    mod log: i32 {
        LOG_FATAL = 0,
        LOG_EXTRA = 7,
        LOG_DONTCHANGE = -1,
    }

    /// Where a cursor goes.
    mod op: u32 {
        FIRST = 0,
        FIRST_DUP = 1,
        GET_BOTH = 2,
        GET_BOTH_RANGE = 3,
        GET_CURRENT = 4,
        GET_MULTIPLE = 5,
        LAST = 6,
        LAST_DUP = 7,
        NEXT = 8,
        NEXT_DUP = 9,
        NEXT_MULTIPLE = 10,
        NEXT_NODUP = 11,
        PREV = 12,
        PREV_DUP = 13,
        PREV_NODUP = 14,
        SET = 15,
        SET_KEY = 16,
        SET_RANGE = 17,
        PREV_MULTIPLE = 18,
        SET_LOWERBOUND = 19,
        SET_UPPERBOUND = 20,
    }

    /// Of pages that are walked.
    mod page: u32 {
        PAGE_BROKEN = 0,
        PAGE_META = 1,
        PAGE_LARGE = 2,
        PAGE_BRANCH = 3,
        PAGE_LEAF = 4,
        PAGE_DUPFIXED_LEAF = 5,
        SUBPAGE_LEAF = 6,
        SUBPAGE_DUPFIXED_LEAF = 7,
        SUBPAGE_BROKEN = 8,
    }

    /// What can be set for an environment.
    mod option: u32 {
        OPT_MAX_DB = 0,
        OPT_MAX_READERS = 1,
        OPT_SYNC_BYTES = 2,
        OPT_SYNC_PERIOD = 3,
        OPT_RP_AUGMENT_LIMIT = 4,
        OPT_LOOSE_LIMIT = 5,
        OPT_DP_RESERVE_LIMIT = 6,
        OPT_TXN_DP_LIMIT = 7,
        OPT_TXN_DP_INITIAL = 8,
        OPT_SPILL_MAX_DENOMINATOR = 9,
        OPT_SPILL_MIN_DENOMINATOR = 10,
        OPT_SPILL_PARENT4CHILD_DENOMINATOR = 11,
        OPT_MERGE_THRESHOLD_16DOT16_PERCENT = 12,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn numbers_are_those_of_the_header() {
        let header: BTreeMap<String, i64> = crate::numbers::of_the_header()
            .into_iter()
            .map(|(name, number)| (name.to_uppercase(), number & 0xffff_ffff))
            .collect();
        for (kind, names) in ALL {
            assert!(!names.is_empty());
            for (name, number) in *names {
                assert_eq!(header.get(*name), Some(&(number & 0xffff_ffff)), "{kind}::{name}");
            }
        }
    }
}

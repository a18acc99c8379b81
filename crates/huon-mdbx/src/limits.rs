//! How long keys and values may be: the results of the functions that ask, and the limits of puts.

use huon::limits;

use crate::flags::dbi;

/// The pages of a new file, where nothing else was asked for.
pub(crate) const PAGE_BYTES: usize = 4096;
/// Larger files have no room in the addresses of a process, beside all else.
const FILE_BYTES_MAX: u64 = 1 << 46;

/// Tables whose keys have many values.
const MANY: u32 = dbi::DUPSORT | dbi::DUPFIXED | dbi::INTEGERDUP | dbi::REVERSEDUP;

/// The page size that a caller means; `None`: there is none such.
pub(crate) fn page_bytes(asked: isize) -> Option<usize> {
    match asked {
        ..1 => Some(PAGE_BYTES),
        asked => limits::key_bytes_max(asked as usize).ok().map(|_| asked as usize),
    }
}

/// The longest key of a table with these flags, for pages of so many bytes.
pub(crate) fn key_bytes_max(page_bytes: usize, flags: u32) -> usize {
    match flags & dbi::INTEGERKEY {
        0 => limits::key_bytes_max(page_bytes).unwrap_or(0),
        _ => 8,
    }
}

/// The shortest.
pub(crate) fn key_bytes_min(flags: u32) -> usize {
    if flags & dbi::INTEGERKEY != 0 { 4 } else { 0 }
}

/// The longest value.
pub(crate) fn value_bytes_max(page_bytes: usize, flags: u32) -> usize {
    match flags {
        _ if flags & dbi::INTEGERDUP != 0 => 8,
        _ if flags & MANY != 0 => limits::many_value_bytes_max(page_bytes).unwrap_or(0),
        _ => limits::VALUE_BYTES_MAX,
    }
}

/// The shortest; a table of values of one length has some length.
pub(crate) fn value_bytes_min(flags: u32) -> usize {
    match flags {
        _ if flags & dbi::INTEGERDUP != 0 => 4,
        _ if flags & dbi::DUPFIXED != 0 => 1,
        _ => 0,
    }
}

/// Key and value together that need no page of their own, at most.
pub(crate) fn pair_in_page_bytes_max(page_bytes: usize, flags: u32) -> usize {
    match flags & MANY {
        0 => page_bytes / 2 - 28,
        _ => key_bytes_max(page_bytes, flags) + value_bytes_max(page_bytes, flags),
    }
}

/// A value that needs no page of its own, beside an empty key.
pub(crate) fn value_in_page_bytes_max(page_bytes: usize, flags: u32) -> usize {
    value_bytes_max(page_bytes, flags).min(pair_in_page_bytes_max(page_bytes, flags))
}

/// The smallest file.
pub(crate) fn file_bytes_min(page_bytes: usize) -> u64 {
    limits::file_bytes_min(page_bytes).unwrap_or(0)
}

/// The largest file.
pub(crate) fn file_bytes_max(page_bytes: usize) -> u64 {
    limits::file_bytes_max(page_bytes).unwrap_or(0).min(FILE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use huon::{Bytes, Env, Error, MultiDef, TableDef};

    use super::*;

    const PLAIN: TableDef<Bytes, Bytes> = TableDef::new("plain");
    const SORTED: MultiDef<Bytes, Bytes> = MultiDef::new("sorted");

    fn page_sizes() -> impl Iterator<Item = usize> {
        (8..=16).map(|bits| 1 << bits)
    }

    fn env(page_bytes: usize) -> (tempfile::TempDir, Env) {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::options().page_bytes(page_bytes).open(dir.path().join("a")).unwrap();
        (dir, env)
    }

    #[test]
    fn huon_takes_what_is_promised_and_no_more() {
        for page_bytes in page_sizes() {
            let (_dir, env) = env(page_bytes);
            let many = dbi::DUPSORT;
            let bytes = |n: usize| vec![7; n];
            let (key, sorted) = (key_bytes_max(page_bytes, 0), key_bytes_max(page_bytes, many));
            let value = value_bytes_max(page_bytes, many);
            let mut txn = env.write().unwrap();
            let plain = txn.create_table(&PLAIN).unwrap();
            plain.put(&mut txn, &bytes(key), b"").unwrap();
            plain.put(&mut txn, b"", &bytes(3 * page_bytes)).unwrap();
            let refused = plain.put(&mut txn, &bytes(key + 1), b"");
            assert!(matches!(refused, Err(Error::KeyTooLong { .. })), "{page_bytes}");
            let table = txn.create_table(&SORTED).unwrap();
            for byte in [b"", b"a".as_slice()] {
                table.put(&mut txn, &bytes(sorted), byte).unwrap();
                table.put(&mut txn, byte, &bytes(value)).unwrap();
                table.put(&mut txn, byte, b"").unwrap();
            }
            let refused = table.put(&mut txn, b"a", &bytes(value + 1));
            assert!(matches!(refused, Err(Error::SortedValueTooLong { .. })), "{page_bytes}");
            let refused = table.put(&mut txn, &bytes(sorted + 1), b"");
            assert!(matches!(refused, Err(Error::KeyTooLong { .. })), "{page_bytes}");
            txn.commit().unwrap();
        }
    }

    #[test]
    fn pairs_up_to_the_limit_lie_in_a_page_with_others() {
        for page_bytes in page_sizes() {
            let pair = pair_in_page_bytes_max(page_bytes, 0);
            for (key_bytes, beyond) in [(0, 0), (9, 0), (0, 1), (9, 1)] {
                let (_dir, env) = env(page_bytes);
                let mut txn = env.write().unwrap();
                let plain = txn.create_table(&PLAIN).unwrap();
                let value = vec![7; pair - key_bytes + beyond];
                plain.put(&mut txn, &vec![7; key_bytes], &value).unwrap();
                txn.commit().unwrap();
                let stat = env.stat().unwrap();
                let runs: u32 = stat.tables.iter().map(|table| table.overflow_pages).sum();
                assert_eq!(runs, beyond as u32, "{page_bytes}: {key_bytes} and {}", value.len());
            }
        }
    }

    #[test]
    fn page_sizes_are_powers_of_two() {
        for asked in [-5, -1, 0] {
            assert_eq!(page_bytes(asked), Some(4096));
        }
        assert!(page_sizes().all(|bytes| page_bytes(bytes as isize) == Some(bytes)));
        for wrong in [1, 128, 4095, 5000, 1 << 17, isize::MAX] {
            assert_eq!(page_bytes(wrong), None, "{wrong}");
        }
    }
}

//! How long things may be, and what the machine has.

use libc::{c_int, c_uint};

use crate::{codes, limits};

/// What `answer` says for the page size that a caller means; -1 if there is none such.
fn of_pages(page_bytes: isize, answer: impl FnOnce(usize) -> u64) -> isize {
    let answered = limits::page_bytes(page_bytes).map(answer);
    answered.map_or(-1, |bytes| isize::try_from(bytes).unwrap_or(isize::MAX))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_pgsize_min() -> isize {
    huon::limits::PAGE_BYTES_MIN as isize
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_pgsize_max() -> isize {
    huon::limits::PAGE_BYTES_MAX as isize
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_dbsize_min(page_bytes: isize) -> isize {
    of_pages(page_bytes, limits::file_bytes_min)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_dbsize_max(page_bytes: isize) -> isize {
    of_pages(page_bytes, limits::file_bytes_max)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_keysize_max(page_bytes: isize, flags: c_uint) -> isize {
    of_pages(page_bytes, |bytes| limits::key_bytes_max(bytes, flags) as u64)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_keysize_min(flags: c_uint) -> isize {
    limits::key_bytes_min(flags) as isize
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_valsize_max(page_bytes: isize, flags: c_uint) -> isize {
    of_pages(page_bytes, |bytes| limits::value_bytes_max(bytes, flags) as u64)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_valsize_min(flags: c_uint) -> isize {
    limits::value_bytes_min(flags) as isize
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_pairsize4page_max(page_bytes: isize, flags: c_uint) -> isize {
    of_pages(page_bytes, |bytes| limits::pair_in_page_bytes_max(bytes, flags) as u64)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_valsize4page_max(page_bytes: isize, flags: c_uint) -> isize {
    of_pages(page_bytes, |bytes| limits::value_in_page_bytes_max(bytes, flags) as u64)
}

/// A transaction may change all that a file can have.
#[unsafe(no_mangle)]
pub extern "C" fn mdbx_limits_txnsize_max(page_bytes: isize) -> isize {
    of_pages(page_bytes, limits::file_bytes_max)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_default_pagesize() -> usize {
    limits::PAGE_BYTES
}

/// # Safety
/// The pointers are null, or good for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_get_sysraminfo(
    page_size: *mut isize,
    total_pages: *mut isize,
    avail_pages: *mut isize,
) -> c_int {
    if page_size.is_null() && total_pages.is_null() && avail_pages.is_null() {
        return libc::EINVAL;
    }
    let asked = [
        (page_size, libc::_SC_PAGESIZE),
        (total_pages, libc::_SC_PHYS_PAGES),
        (avail_pages, libc::_SC_AVPHYS_PAGES),
    ];
    for (to, what) in asked.into_iter().filter(|(to, _)| !to.is_null()) {
        let Some(number) = of_system(what) else { return libc::ENOSYS };
        // SAFETY: the caller's promise.
        unsafe { to.write(number) };
    }
    0
}

/// The bytes of a page of memory.
pub(crate) fn system_page_bytes() -> u32 {
    of_system(libc::_SC_PAGESIZE).map_or(4096, |bytes| bytes as u32)
}

/// A number of `sysconf`.
fn of_system(what: c_int) -> Option<isize> {
    // SAFETY: `sysconf` takes any number; it returns -1 for those it does not know.
    let number = unsafe { libc::sysconf(what) };
    (number >= 0).then_some(number as isize)
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_is_readahead_reasonable(volume: usize, redundancy: isize) -> c_int {
    let pages = of_system(libc::_SC_PHYS_PAGES).zip(of_system(libc::_SC_PAGESIZE));
    let Some((pages, page_bytes)) = pages else { return libc::ENOSYS };
    let memory = pages as i128 * page_bytes as i128;
    if volume as i128 + redundancy as i128 <= memory { codes::RESULT_TRUE } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::dbi;

    #[test]
    fn limits_of_4_kib_pages() {
        assert_eq!(mdbx_limits_keysize_max(-1, 0), 2022);
        assert_eq!(mdbx_limits_keysize_max(0, dbi::INTEGERKEY), 8);
        assert_eq!(mdbx_limits_keysize_min(dbi::INTEGERKEY), 4);
        assert_eq!(mdbx_limits_valsize_max(4096, 0), 0x7ff0_0000);
        assert_eq!(mdbx_limits_valsize_max(4096, dbi::DUPSORT), 2022);
        assert_eq!(mdbx_limits_valsize_min(dbi::DUPSORT | dbi::INTEGERDUP), 4);
        assert_eq!(mdbx_limits_pairsize4page_max(4096, 0), 2020);
        assert_eq!(mdbx_limits_valsize4page_max(4096, 0), 2020);
        assert_eq!(mdbx_limits_valsize4page_max(4096, dbi::DUPSORT), 2022);
        assert_eq!(mdbx_limits_dbsize_max(4096), ((1 << 32) - 1) * 4096);
        assert_eq!(mdbx_limits_dbsize_max(65536), 1 << 46);
        assert_eq!((mdbx_limits_pgsize_min(), mdbx_limits_pgsize_max()), (256, 65536));
        assert_eq!(mdbx_default_pagesize(), 4096);
    }

    #[test]
    fn limits_of_what_is_no_page_are_none() {
        for answer in [mdbx_limits_dbsize_min, mdbx_limits_dbsize_max, mdbx_limits_txnsize_max] {
            assert!(answer(4096) >= mdbx_limits_dbsize_min(4096));
            assert_eq!([answer(100), answer(1 << 20)], [-1, -1]);
        }
        assert_eq!(mdbx_limits_keysize_max(3, 0), -1);
        assert_eq!(mdbx_limits_valsize_max(3, 0), -1);
    }

    #[test]
    fn memory_is_counted() {
        let (mut page, mut total, mut avail) = (0, 0, 0);
        // SAFETY: places of ours.
        let found = unsafe { mdbx_get_sysraminfo(&mut page, &mut total, &mut avail) };
        assert_eq!(found, 0);
        assert!(page >= 4096 && total > avail && avail > 0, "{page} {total} {avail}");
        let none = std::ptr::null_mut();
        // SAFETY: null pointers.
        assert_eq!(unsafe { mdbx_get_sysraminfo(none, none, none) }, libc::EINVAL);
        let memory = page * total;
        assert_eq!(mdbx_is_readahead_reasonable(memory as usize, 0), -1);
        assert_eq!(mdbx_is_readahead_reasonable(memory as usize, 1), 0);
        assert_eq!(mdbx_is_readahead_reasonable(memory as usize + 1, -1), -1);
        assert_eq!(mdbx_is_readahead_reasonable(usize::MAX, isize::MAX), 0);
    }
}

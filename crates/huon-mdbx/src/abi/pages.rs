//! The pages of a snapshot.

use std::ptr;

use huon_c::Fault;
use libc::{c_char, c_int, c_uint, c_void};

use super::{MDBX_env, MDBX_pgvisitor_func, MDBX_txn, code, env_of, txn_of};
use crate::pages::Owner;

/// The name that stands for the free space.
const FREE_SPACE: *const c_char = ptr::without_provenance(usize::MAX);
/// The name that stands for the metas.
const METAS: *const c_char = ptr::without_provenance(usize::MAX - 1);

/// # Safety
/// `visitor` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdbx_env_pgwalk(
    txn: *mut MDBX_txn,
    visitor: MDBX_pgvisitor_func,
    context: *mut c_void,
    _dont_check_keys_ordering: bool,
) -> c_int {
    let mut last = 0;
    let failed = code(|| {
        let txn = txn_of(txn)?;
        let visitor = visitor.ok_or(Fault::Invalid)?;
        let env = env_of(txn.env_handle as *const MDBX_env)?;
        last = env.walk(&txn, &mut |page| {
            let name = match page.owner {
                Owner::Main => ptr::null(),
                Owner::FreeSpace => FREE_SPACE,
                Owner::Metas => METAS,
                Owner::Table(name) => name.as_ptr(),
            };
            let info = page.info;
            let sizes = [u64::from(info.count), info.used_bytes, info.unused_bytes];
            let [count, used, unused] = sizes.map(|number| number as usize);
            let (pages, depth) = (info.page_count as c_uint, c_int::from(page.depth));
            let (bytes, kind) = (page.page_bytes as usize, page.kind);
            let pgno = u64::from(info.pgno);
            // SAFETY: the caller's promise; the name lives until the call is over.
            unsafe {
                visitor(pgno, pages, context, depth, name, bytes, kind, 0, count, used, 0, unused)
            }
        })?;
        Ok(())
    });
    if failed != 0 { failed } else { last }
}

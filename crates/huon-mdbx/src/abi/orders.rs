//! The orders of keys and values as functions that C can call.

use std::cmp::Ordering;

use libc::{c_int, c_uint};

use super::{MDBX_cmp_func, MDBX_val, bytes_or_none};
use crate::orders;

/// An order as a function of C's.
macro_rules! in_c {
    ($($name:ident)*) => {
        $(unsafe extern "C" fn $name(a: *const MDBX_val, b: *const MDBX_val) -> c_int {
            // SAFETY: the caller's promise: both point to values, which can be read.
            orders::$name(unsafe { bytes_or_none(a) }, unsafe { bytes_or_none(b) }) as c_int
        })*
    };
}

in_c! { by_bytes backwards integers shorter_first }

fn pointer_to(order: orders::Order) -> MDBX_cmp_func {
    let all: [(orders::Order, MDBX_cmp_func); 4] = [
        (orders::by_bytes, Some(by_bytes)),
        (orders::backwards, Some(backwards)),
        (orders::integers, Some(integers)),
        (orders::shorter_first, Some(shorter_first)),
    ];
    all.into_iter().find(|(other, _)| std::ptr::fn_addr_eq(*other, order))?.1
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_get_keycmp(flags: c_uint) -> MDBX_cmp_func {
    pointer_to(orders::of_keys(flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn mdbx_get_datacmp(flags: c_uint) -> MDBX_cmp_func {
    pointer_to(orders::of_values(flags))
}

const _: () = assert!(Ordering::Less as c_int == -1 && Ordering::Greater as c_int == 1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::dbi;

    #[test]
    fn functions_in_c_order_as_those_in_rust() {
        let words: [&[u8]; 6] = [b"", b"ab", b"ba", b"abcd", b"dcba", b"aaaaaaaa"];
        let val = |word: &[u8]| MDBX_val {
            iov_base: word.as_ptr().cast_mut().cast(),
            iov_len: word.len(),
        };
        for flags in 0..0x80 {
            let pairs = [
                (mdbx_get_keycmp(flags).unwrap(), orders::of_keys(flags)),
                (mdbx_get_datacmp(flags).unwrap(), orders::of_values(flags)),
            ];
            for (c, rust) in pairs {
                for (a, b) in words.iter().flat_map(|a| words.iter().map(move |b| (a, b))) {
                    // SAFETY: both are values.
                    let order = unsafe { c(&val(a), &val(b)) };
                    assert_eq!(order.cmp(&0), rust(a, b), "{flags:x}: {a:?} {b:?}");
                }
            }
        }
        let (keys, values) = (mdbx_get_keycmp(0), mdbx_get_datacmp(dbi::DUPSORT));
        assert!(std::ptr::fn_addr_eq(keys.unwrap(), values.unwrap()));
    }
}
